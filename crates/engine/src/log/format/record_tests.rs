//! Round trips of records, and every single-bit error in one.

use super::*;
use crate::ids::{DatabaseId, Generation, LogOffset, StreamId, TableId};
use crate::log::format::LogIdentity;
use crate::log::format::payload::values::{self, LoggedWrite, ValuesWriter, Writes};

/// With a scalar dependency.
const HEADER_BYTES: usize = 40;

fn seal() -> Seal {
    LogIdentity::new(DatabaseId(9), Generation(1), StreamId(0), 1).seal(LogOffset(64))
}

fn header(write_count: u32) -> RecordHeader {
    RecordHeader { stamp: Stamp(11), raw_dep: Stamp(7), epoch: Epoch(3), write_count }
}

fn sample() -> Vec<u8> {
    let shapes = [(3, Some(5)), (4, None), (0, Some(0)), (9, Some(100))];
    let mut bytes = vec![0xff; encoded_len(&Stamp(7), values::encoded_len(shapes))];
    encode(&mut bytes, &header(4), PayloadKind::Values, seal(), |payload| {
        let mut writer = ValuesWriter::new(payload);
        writer.write(LoggedWrite { table: TableId(1), key: b"abc", row: Some(b"hello") });
        writer.write(LoggedWrite { table: TableId(2), key: b"gone", row: None });
        writer.write(LoggedWrite { table: TableId(3), key: b"", row: Some(b"") });
        writer.write(LoggedWrite { table: TableId(u32::MAX), key: b"123456789", row: Some(&[7; 100]) });
        writer.finish()
    });
    bytes
}

fn record(bytes: &[u8], seal: Seal) -> RecordReader<'_> {
    match parse::<Stamp>(bytes, seal).unwrap() {
        Entry::Record(record) => record,
        Entry::Skip(length) => panic!("a skip of {length}"),
    }
}

fn writes<'a>(record: &RecordReader<'a>) -> Writes<'a> {
    match record.payload() {
        PayloadReader::Values(writes) => writes,
    }
}

#[test]
fn what_is_written_is_read() {
    let bytes = sample();
    let record = record(&bytes, seal());
    assert_eq!(record.header(), header(4));
    assert_eq!(writes(&record).len(), 4);
    let writes: Vec<_> = writes(&record).collect();
    assert_eq!(writes[0], LoggedWrite { table: TableId(1), key: b"abc", row: Some(b"hello") });
    assert_eq!(writes[1], LoggedWrite { table: TableId(2), key: b"gone", row: None });
    assert_eq!(writes[2], LoggedWrite { table: TableId(3), key: b"", row: Some(b"") });
    assert_eq!(writes[3], LoggedWrite { table: TableId(u32::MAX), key: b"123456789", row: Some(&[7; 100]) });
}

#[test]
fn bytes_behind_a_record_do_not_matter() {
    let mut bytes = sample();
    let length = bytes.len();
    bytes.extend_from_slice(&[0xaa; 64]);
    assert_eq!(parse::<Stamp>(&bytes, seal()).unwrap().len(), length);
}

#[test]
fn a_record_without_writes_is_a_record() {
    let mut bytes = vec![0; encoded_len(&Stamp(7), 0)];
    encode(&mut bytes, &header(0), PayloadKind::Values, seal(), |_| 0);
    assert_eq!(bytes.len(), HEADER_BYTES);
    assert_eq!(writes(&record(&bytes, seal())).count(), 0);
}

#[test]
fn every_flipped_bit_is_found() {
    // Other records follow, as in a batch, so that a longer length finds bytes to read.
    let mut bytes = sample();
    let length = bytes.len();
    bytes.extend(sample());
    for bit in 0..length * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(parse::<Stamp>(&bytes, seal()).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(parse::<Stamp>(&bytes, seal()).is_ok());
}

#[test]
fn every_flipped_bit_of_a_skip_is_found_or_leads_to_no_record() {
    for length in [8, 16, 256] {
        let mut bytes = vec![0; length];
        write_skip(&mut bytes);
        bytes.extend(sample());
        for bit in 0..length * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            // A shorter skip is a skip; what follows it is zero, and no record is zero.
            if let Ok(entry) = parse::<Stamp>(&bytes, seal()) {
                assert!(entry.len() < length, "bit {bit} of {length}");
                assert!(matches!(entry, Entry::Skip(_)));
                assert_eq!(
                    parse::<Stamp>(&bytes[entry.len()..], seal()).err(),
                    Some(RecordError::Length { length: 0 })
                );
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(parse::<Stamp>(&bytes, seal()).unwrap().len(), length);
    }
}

#[test]
fn a_truncated_record_is_found() {
    let bytes = sample();
    for length in 0..bytes.len() {
        let error = parse::<Stamp>(&bytes[..length], seal()).unwrap_err();
        assert!(matches!(error, RecordError::Room { .. }), "{length}: {error}");
    }
}

#[test]
fn a_record_of_another_place_is_not_one() {
    let bytes = sample();
    for (database, generation, stream, offset) in [(8, 1, 0, 64), (9, 2, 0, 64), (9, 1, 1, 64), (9, 1, 0, 72)] {
        let other = LogIdentity::new(DatabaseId(database), Generation(generation), StreamId(stream), 2);
        let error = parse::<Stamp>(&bytes, other.seal(LogOffset(offset))).unwrap_err();
        assert!(matches!(error, RecordError::Checksum { .. }), "{error}");
    }
}

#[test]
fn zeros_are_not_a_record() {
    assert_eq!(parse::<Stamp>(&[0; 4096], seal()).err(), Some(RecordError::Length { length: 0 }));
}

#[test]
fn a_resealed_record_without_sense_is_refused() {
    type Damage = fn(&mut [u8]);
    let damage: [(&str, Damage); 6] = [
        ("stamp zero", |bytes| bytes[8..16].fill(0)),
        ("stamp too large", |bytes| bytes[15] = 0xff),
        ("depends on itself", |bytes| bytes[16] = 11),
        ("too many writes", |bytes| bytes[32] = 5),
        ("too few writes", |bytes| bytes[32] = 3),
        ("neither put nor delete", |bytes| bytes[HEADER_BYTES + 4] = 3),
    ];
    for (what, damage) in damage {
        let mut bytes = sample();
        damage(&mut bytes);
        let checksum = seal().checksum(&bytes[8..]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        let error = parse::<Stamp>(&bytes, seal()).unwrap_err();
        assert!(matches!(error, RecordError::Malformed { .. }), "{what}: {error}");
    }
}

#[test]
fn a_payload_of_an_unknown_kind_is_refused_by_its_number() {
    let mut bytes = sample();
    bytes[36] = 1;
    let checksum = seal().checksum(&bytes[8..]);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
    let error = parse::<Stamp>(&bytes, seal()).unwrap_err();
    assert_eq!(error, RecordError::PayloadKind { tag: 1 });
    assert_eq!(error.to_string(), "its payload is of kind 1, which is not known");
}

#[test]
fn random_bytes_never_panic() {
    let mut random = fastrand::Rng::with_seed(1);
    let sample = sample();
    for _ in 0..20_000 {
        let mut bytes = sample.clone();
        for _ in 0..random.usize(1..8) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        // Sealed again, so that the checks behind the checksum are reached too.
        if random.bool() {
            let length = (u32_at(&bytes, 0) & !SKIP) as usize;
            if let Some(payload) = bytes.get(8..length) {
                let checksum = seal().checksum(payload);
                bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
            }
        }
        if let Ok(Entry::Record(record)) = parse::<Stamp>(&bytes, seal()) {
            assert_eq!(writes(&record).count(), record.header().write_count as usize);
        }
    }
}

/// The simulation hardly meets a sound record behind one that is not.
#[cfg(feature = "mutations")]
#[test]
fn a_gap_that_is_skipped_is_no_longer_an_error() {
    use crate::failpoint::Mutation;
    use crate::failpoint::simulated::build_in;

    let (sound, mut bytes) = (sample(), sample());
    bytes[40] ^= 1;
    bytes.extend(&sound);
    assert!(matches!(parse::<Stamp>(&bytes, seal()), Err(RecordError::Checksum { .. })));
    build_in(&[Mutation::GapSkipped]);
    let skipped = parse::<Stamp>(&bytes, seal()).map(|entry| entry.len());
    build_in(&[]);
    assert_eq!(skipped, Ok(sound.len()), "what follows would be read");
}
