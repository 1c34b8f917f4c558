//! Round trips of records, and every single-bit error in one.

use super::*;
use crate::ids::{DatabaseId, Generation, LogOffset, StreamId, TableId};
use crate::log::format::LogIdentity;
use crate::log::format::fixed_for_tests;
use crate::log::format::payload::delta::Delta;
use crate::log::format::payload::values::{self, Change, LoggedWrite, ValuesWriter, Writes};

/// Of the sample, whose numbers are small.
const HEADER_BYTES: usize = 19;

fn seal() -> Seal {
    LogIdentity::new(DatabaseId(9), Generation(1), StreamId(0), 1).seal(LogOffset(64))
}

fn header(write_count: u32) -> RecordHeader {
    RecordHeader { stamp: Stamp(11), raw_dep: Stamp(7), epoch: Epoch(3), write_count }
}

fn sample_writes() -> [LoggedWrite<'static>; 5] {
    let delta = Delta { base: Stamp(6), body: &[1 << 1, 4, 2, 1, 2] };
    [
        LoggedWrite { table: TableId(1), key: b"abc", change: Change::Put(b"hello") },
        LoggedWrite { table: TableId(2), key: b"gone", change: Change::Delete },
        LoggedWrite { table: TableId(3), key: b"", change: Change::Put(b"") },
        LoggedWrite { table: TableId(4), key: b"new", change: Change::Delta(delta) },
        LoggedWrite { table: TableId(u32::MAX), key: b"123456789", change: Change::Put(&[7; 200]) },
    ]
}

fn sample() -> Vec<u8> {
    let (header, writes) = (header(5), sample_writes());
    let mut bytes = vec![0xff; encoded_len(&header, values::encoded_len(&writes))];
    encode(&mut bytes, &header, PayloadKind::Values, seal(), |payload| ValuesWriter::new(payload).write_all(&writes));
    bytes
}

/// The same but for the delta, as it was written when all fields had a fixed width.
fn fixed_sample() -> Vec<u8> {
    let is_image = |write: &LoggedWrite<'_>| !matches!(write.change, Change::Delta(_));
    let writes: Vec<_> = sample_writes().into_iter().filter(is_image).collect();
    fixed_for_tests::encoded(&header(4), &writes, seal())
}

fn reseal(bytes: &mut [u8]) {
    let checksum = seal().checksum(&bytes[8..]);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
}

fn parse(bytes: &[u8], seal: Seal) -> Result<Entry<'_>, RecordError> {
    super::parse(bytes, seal, RecordLayout::Compact)
}

fn record(bytes: &[u8], seal: Seal) -> RecordReader<'_> {
    match parse(bytes, seal).unwrap() {
        Entry::Record(record) => record,
        Entry::Part(part) => panic!("{part:?}"),
        Entry::Skip(length) => panic!("a skip of {length}"),
    }
}

fn writes<'a>(record: &RecordReader<'a>) -> Writes<'a> {
    match record.payload() {
        PayloadReader::Values(writes) => writes,
        PayloadReader::InParts(named) => panic!("{named:?}"),
        PayloadReader::Command(command) => panic!("{}", command.command()),
        PayloadReader::Physiological(images) => panic!("{} writes with images", images.count()),
    }
}

#[test]
fn what_is_written_is_read() {
    let bytes = sample();
    let record = record(&bytes, seal());
    assert_eq!(record.header(), header(5));
    assert_eq!(writes(&record).len(), 5);
    assert_eq!(writes(&record).collect::<Vec<_>>(), sample_writes());
}

#[test]
fn records_of_fixed_width_are_read() {
    let bytes = fixed_sample();
    let Ok(Entry::Record(record)) = super::parse::<Stamp>(&bytes, seal(), RecordLayout::Fixed) else {
        panic!("it is sound")
    };
    assert_eq!(record.header(), header(4));
    let is_image = |write: &LoggedWrite<'_>| !matches!(write.change, Change::Delta(_));
    let expected: Vec<_> = sample_writes().into_iter().filter(is_image).collect();
    assert_eq!(writes(&record).collect::<Vec<_>>(), expected);
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(super::parse::<Stamp>(&bytes, seal(), RecordLayout::Fixed).is_err(), "bit {bit}");
    }
}

#[test]
fn bytes_behind_a_record_do_not_matter() {
    let mut bytes = sample();
    let length = bytes.len();
    bytes.extend_from_slice(&[0xaa; 64]);
    assert_eq!(parse(&bytes, seal()).unwrap().len(), length);
}

#[test]
fn a_record_without_writes_is_a_record() {
    let mut bytes = vec![0; encoded_len(&header(0), 0)];
    encode(&mut bytes, &header(0), PayloadKind::Values, seal(), |_| 0);
    assert_eq!(bytes.len(), HEADER_BYTES.next_multiple_of(ALIGNMENT));
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
        assert!(parse(&bytes, seal()).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(parse(&bytes, seal()).is_ok());
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
            if let Ok(entry) = parse(&bytes, seal()) {
                assert!(entry.len() < length, "bit {bit} of {length}");
                assert!(matches!(entry, Entry::Skip(_)));
                assert_eq!(parse(&bytes[entry.len()..], seal()).err(), Some(RecordError::Length { length: 0 }));
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(parse(&bytes, seal()).unwrap().len(), length);
    }
}

#[test]
fn a_truncated_record_is_found() {
    let bytes = sample();
    for length in 0..bytes.len() {
        let error = parse(&bytes[..length], seal()).unwrap_err();
        assert!(matches!(error, RecordError::Room { .. }), "{length}: {error}");
    }
}

#[test]
fn a_record_of_another_place_is_not_one() {
    let bytes = sample();
    for (database, generation, stream, offset) in [(8, 1, 0, 64), (9, 2, 0, 64), (9, 1, 1, 64), (9, 1, 0, 72)] {
        let other = LogIdentity::new(DatabaseId(database), Generation(generation), StreamId(stream), 2);
        let error = parse(&bytes, other.seal(LogOffset(offset))).unwrap_err();
        assert!(matches!(error, RecordError::Checksum { .. }), "{error}");
    }
}

#[test]
fn zeros_are_not_a_record() {
    assert_eq!(parse(&[0; 4096], seal()).err(), Some(RecordError::Length { length: 0 }));
}

#[test]
fn a_resealed_record_without_sense_is_refused() {
    type Damage = fn(&mut [u8]);
    let damage: [(&str, Damage); 8] = [
        ("stamp zero", |bytes| bytes[8..16].fill(0)),
        ("stamp too large", |bytes| bytes[15] = 0xff),
        ("too many writes", |bytes| bytes[16] = 6 << KIND_BITS),
        ("too few writes", |bytes| bytes[16] = 4 << KIND_BITS),
        ("an overlong number", |bytes| bytes[17] = 0x80),
        ("depends on itself", |bytes| bytes[18] = 11),
        ("neither put nor delete nor delta", |bytes| bytes[HEADER_BYTES] &= !3),
        ("a delta against nothing", |bytes| bytes[HEADER_BYTES + 11 + 6 + 3 + 5] = 0),
    ];
    for (what, damage) in damage {
        let mut bytes = sample();
        damage(&mut bytes);
        reseal(&mut bytes);
        let error = parse(&bytes, seal()).unwrap_err();
        assert!(matches!(error, RecordError::Malformed { .. }), "{what}: {error}");
    }
}

#[test]
fn a_payload_of_an_unknown_kind_is_refused_by_its_number() {
    let mut bytes = sample();
    bytes[STAMPED_BYTES] |= 7;
    reseal(&mut bytes);
    let error = parse(&bytes, seal()).unwrap_err();
    assert_eq!(error, RecordError::PayloadKind { tag: 7 });
    assert_eq!(error.to_string(), "its payload is of kind 7, which is not known");
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
        if let Ok(Entry::Record(record)) = parse(&bytes, seal()) {
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
    assert!(matches!(parse(&bytes, seal()), Err(RecordError::Checksum { .. })));
    build_in(&[Mutation::GapSkipped]);
    let skipped = parse(&bytes, seal()).map(|entry| entry.len());
    build_in(&[]);
    assert_eq!(skipped, Ok(sound.len()), "what follows would be read");
}
