//! Round trips of segment headers, every single-bit error in one, and the order of calls that creates a segment.

use super::*;
use crate::io::disk_for_tests::TestDisk;

fn log(database: u128, generation: u64, stream: u32) -> LogIdentity {
    LogIdentity::new(DatabaseId(database), Generation(generation), StreamId(stream), 3)
}

fn header() -> SegmentHeader {
    SegmentHeader { log: log(5, 2, 1), sequence: 4, base: LogOffset(8192), floor: Stamp(77), bytes: 5 * 4096 }
}

fn block() -> Vec<u8> {
    let mut block = vec![0xff; HEADER_BYTES];
    header().encode(&mut block);
    block
}

#[test]
fn what_is_written_is_read() {
    assert_eq!(SegmentHeader::decode(&block()), Ok(header()));
    assert_eq!(header().expect(&log(5, 2, 1), 4), Ok(()));
    assert_eq!(header().capacity_end(), LogOffset(8192 + 4 * 4096));
    assert_eq!(header().position(LogOffset(8192)), 4096);
}

#[test]
fn every_flipped_bit_is_found() {
    let mut block = block();
    for bit in 0..block.len() * 8 {
        block[bit / 8] ^= 1 << (bit % 8);
        let error = SegmentHeader::decode(&block).unwrap_err();
        let expected = match bit / 8 {
            0..8 => matches!(error, HeaderError::Magic),
            8..12 => matches!(error, HeaderError::Version { .. } | HeaderError::Checksum { .. }),
            _ => matches!(error, HeaderError::Checksum { .. }),
        };
        assert!(expected, "bit {bit}: {error}");
        block[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn blank_and_short_blocks_are_told_apart() {
    assert_eq!(SegmentHeader::decode(&[0; HEADER_BYTES]), Err(HeaderError::Blank));
    for length in [1, 8, 80, HEADER_BYTES - 1] {
        assert_eq!(SegmentHeader::decode(&block()[..length]), Err(HeaderError::Truncated { found: length as u64 }));
    }
}

#[test]
fn the_error_says_what_is_wrong() {
    let expect = |log, sequence| header().expect(&log, sequence).unwrap_err();
    assert!(matches!(expect(log(6, 2, 1), 4), HeaderError::Database { found: DatabaseId(5), .. }));
    assert!(matches!(expect(log(5, 3, 1), 4), HeaderError::Generation { found: Generation(2), .. }));
    assert!(matches!(expect(log(5, 2, 0), 4), HeaderError::Stream { found: StreamId(1), .. }));
    assert!(matches!(expect(log(5, 2, 1), 5), HeaderError::Sequence { found: 4, expected: 5 }));
    let wider = LogIdentity::new(DatabaseId(5), Generation(2), StreamId(1), 4);
    assert!(matches!(expect(wider, 4), HeaderError::Malformed { .. }));
}

#[test]
fn a_resealed_header_without_sense_is_refused() {
    let damage: [(&str, usize, &[u8]); 6] = [
        ("stream beyond its streams", 32, &[3]),
        ("too many streams", 36, &[0xff, 0xff]),
        ("sequence zero", 48, &[0; 8]),
        ("base within a block", 56, &[1]),
        ("length within a block", 72, &[1]),
        ("floor out of range", 71, &[0xff]),
    ];
    for (what, at, new) in damage {
        let mut block = block();
        block[at..at + new.len()].copy_from_slice(new);
        let checksum = checksum(&block);
        block[12..16].copy_from_slice(&checksum.to_le_bytes());
        let error = SegmentHeader::decode(&block).unwrap_err();
        assert!(matches!(error, HeaderError::Malformed { .. }), "{what}: {error}");
    }
}

#[test]
fn names_are_read_as_they_are_written() {
    let directory = stream_directory(Path::new("/db"), StreamId(3));
    assert_eq!(directory, Path::new("/db/stream-3"));
    let path = segment_path(&directory, Generation(12), 345);
    assert_eq!(path, Path::new("/db/stream-3/00000012-00000345.log"));
    assert_eq!(FileName::parse(&path), Some(FileName::Segment { generation: Generation(12), sequence: 345 }));
    let long = segment_path(&directory, Generation(u64::MAX), u64::MAX);
    let name = FileName::Segment { generation: Generation(u64::MAX), sequence: u64::MAX };
    assert_eq!(FileName::parse(&long), Some(name));
    assert_eq!(FileName::parse(&prepared_path(&directory, 7)), Some(FileName::Prepared(7)));
    assert_eq!(FileName::parse(Path::new("00000001-00000001.log.tmp")), Some(FileName::Temporary));
    for other in ["MANIFEST", "a-b.log", "1-2.log", "00000001.log", "prepared-.log", "+0000001-00000001.log", "x"] {
        assert_eq!(FileName::parse(Path::new(other)), None, "{other}");
    }
}

#[test]
fn a_segment_is_durable_before_it_has_its_name() {
    let disk = TestDisk::new();
    let directory = Path::new("/db/stream-1");
    disk.create_dir_all(directory).unwrap();
    disk.take_calls();
    let path = create(&disk, directory, &header(), &[7; 4096]).unwrap();
    let temporary = "00000002-00000004.log.tmp";
    let expected = [
        format!("create {temporary}"),
        format!("allocate {temporary}"),
        format!("write {temporary}"),
        "sync_dir stream-1".to_owned(),
        format!("write {temporary}"),
        format!("sync {temporary}"),
        "rename 00000002-00000004.log".to_owned(),
        "sync_dir stream-1".to_owned(),
    ];
    assert_eq!(disk.take_calls(), expected);
    disk.crash();
    let segment = Segment::open(&disk, directory, &log(5, 2, 1), 4).unwrap();
    assert_eq!((segment.header, &segment.path), (header(), &path));
    assert_eq!(disk.bytes(&path)[4096..8192], [7; 4096]);
    assert_eq!(disk.bytes(&path).len(), 5 * 4096);
}

#[test]
fn a_crash_while_creating_leaves_nothing_or_all_and_can_be_repeated() {
    let directory = Path::new("/db/stream-1");
    for changes in 0..=8 {
        for power in [false, true] {
            let disk = TestDisk::new();
            disk.create_dir_all(directory).unwrap();
            disk.fail_after(changes);
            let result = create(&disk, directory, &header(), &[7; 4096]);
            assert_eq!(result.is_ok(), changes == 8);
            if power {
                disk.crash();
            } else {
                disk.fail_after(usize::MAX);
            }
            match Segment::open(&disk, directory, &log(5, 2, 1), 4) {
                Ok(segment) => assert_eq!(segment.header, header()),
                Err(SegmentError::Io { source, .. }) => assert_eq!(source.kind(), io::ErrorKind::NotFound),
                Err(error) => panic!("after {changes} changes: {error}"),
            }
            create(&disk, directory, &header(), &[7; 4096]).unwrap();
        }
    }
}

#[test]
fn opening_names_the_file_and_the_fault() {
    let disk = TestDisk::new();
    let directory = Path::new("/db/stream-1");
    disk.create_dir_all(directory).unwrap();
    let path = create(&disk, directory, &header(), &[]).unwrap();
    let open = || Segment::open(&disk, directory, &log(5, 2, 1), 4).unwrap_err();
    disk.edit(&path, |bytes| bytes.truncate(5 * 4096 - 1));
    assert!(matches!(open(), SegmentError::Short { found: 20479, expected: 20480, .. }));
    assert!(open().to_string().contains("/db/stream-1/00000002-00000004.log"));
    disk.edit(&path, |bytes| bytes.truncate(100));
    assert!(matches!(open(), SegmentError::Header { source: HeaderError::Truncated { found: 100 }, .. }));
    disk.edit(&path, |bytes| bytes.clear());
    assert!(matches!(open(), SegmentError::Header { source: HeaderError::Blank, .. }));
    disk.edit(&path, |bytes| *bytes = vec![1; 4096]);
    assert!(matches!(open(), SegmentError::Header { source: HeaderError::Magic, .. }));
    assert_eq!(open().sqlstate(), "XX001");
    disk.delete(&path);
    assert_eq!(open().sqlstate(), "58P01");
}
