//! The log: records, batches, and a segment as recovery scans it.

use std::path::{Path, PathBuf};

use super::disk::{HOME, ReadOnly};
use super::{DATABASE, put_sum};
use crate::config::Protocol;
use crate::directory::manifest::Manifest;
use crate::ids::{Epoch, Generation, LogOffset, ProcedureId, ProcedureVersion, Stamp, StreamId, TableId, WallTime};
use crate::log::format::batch::{self, BatchHeader, Certificate};
use crate::log::format::bytes::{u16_at, u32_at};
use crate::log::format::layout::RecordLayout;
use crate::log::format::part::{self, CHECKSUM_OF_PARTS, PART, PartHeader};
use crate::log::format::payload::command::{Command, WriteHash};
use crate::log::format::payload::delta::{self, Delta};
use crate::log::format::payload::in_parts::{self, InParts};
use crate::log::format::payload::physiological::{self, Before, ImagedWrite};
use crate::log::format::payload::share::Participants;
use crate::log::format::payload::values::{self, Change, LoggedWrite, ValuesWriter};
use crate::log::format::payload::{PayloadKind, PayloadReader, WriteForm};
use crate::log::format::record::{self, Entry, RecordHeader, RecordReader};
use crate::log::format::segment::{self, SegmentHeader};
use crate::log::format::{LogIdentity, Seal};
use crate::operate::inspect::{self, Detail};
use crate::table::{Argument, Value};

const OFFSET: LogOffset = LogOffset(0);

/// What deltas are against.
const OLD_ROW: [u8; 40] = [3; 40];

fn log() -> LogIdentity {
    LogIdentity::new(DATABASE, Generation(1), StreamId(1), 4)
}

fn record_seal() -> Seal {
    log().seal(LogOffset(64))
}

fn encode_record(header: RecordHeader, writes: &[LoggedWrite<'_>], seal: Seal) -> Vec<u8> {
    let mut bytes = vec![0; record::encoded_len(&header, values::encoded_len(writes))];
    record::encode(&mut bytes, &header, PayloadKind::Values, seal, |payload| {
        ValuesWriter::new(payload).write_all(writes)
    });
    bytes
}

fn encode_in_parts(header: RecordHeader, named: &InParts, seal: Seal) -> Vec<u8> {
    let mut bytes = vec![0; record::encoded_len(&header, in_parts::ENCODED_BYTES)];
    record::encode(&mut bytes, &header, named.kind(), seal, |payload| named.encode(payload));
    bytes
}

/// As one of the records of a transaction, where that has several.
fn encode_images(
    header: RecordHeader,
    participants: Option<Participants>,
    writes: &[ImagedWrite<'_>],
    seal: Seal,
) -> Vec<u8> {
    let named_bytes = participants.map_or(0, Participants::encoded_len);
    let length = named_bytes + writes.iter().map(ImagedWrite::encoded_len).sum::<usize>();
    let kind = PayloadKind::Physiological;
    let kind = if participants.is_some() { kind.share() } else { kind };
    let mut bytes = vec![0; record::encoded_len(&header, length)];
    record::encode(&mut bytes, &header, kind, seal, |payload| {
        let at = participants.map_or(0, |participants| participants.encode(payload));
        at + physiological::encode(&mut payload[at..], writes.iter().copied())
    });
    bytes
}

fn encode_share(header: RecordHeader, participants: Participants, writes: &[LoggedWrite<'_>], seal: Seal) -> Vec<u8> {
    let length = participants.encoded_len() + values::encoded_len(writes);
    let mut bytes = vec![0; record::encoded_len(&header, length)];
    record::encode(&mut bytes, &header, PayloadKind::Share, seal, |payload| {
        let at = participants.encode(payload);
        at + ValuesWriter::new(&mut payload[at..]).write_all(writes)
    });
    bytes
}

fn encode_command(header: RecordHeader, command: &Command<'_>, seal: Seal) -> Vec<u8> {
    let mut bytes = vec![0; record::encoded_len(&header, command.encoded_len())];
    record::encode(&mut bytes, &header, PayloadKind::Command, seal, |payload| command.encode(payload));
    bytes
}

/// A command with an argument of each kind, and arrays of one kind and of several.
fn command() -> Vec<u8> {
    let scalars = [
        Value::Null,
        Value::Bool(true),
        Value::Int(-5),
        Value::Float(0.5),
        Value::Numeric(150),
        Value::Text("straße"),
        Value::Bytes(&[0, 255]),
        Value::Timestamp(12),
    ];
    let alike = [Value::Bool(true), Value::Bool(false)];
    let arrays = [&scalars[..], &alike[..], &scalars[2..3], &[]].map(|elements| Argument::Array(elements.to_vec()));
    let arguments: Vec<_> = scalars.map(Argument::Scalar).into_iter().chain(arrays).collect();
    let write_count = arguments.len() as u32;
    let command = Command {
        procedure: ProcedureId(3),
        version: ProcedureVersion(1),
        time: Some(1_700_000_000_000_000),
        seed: Some(7),
        sequence_values: (&[9, 10, -4]).into(),
        hash: Some(WriteHash { all: 0xfeed, rows: (&[1, 0, 255]).into() }),
        arguments: arguments.into(),
    };
    let header = RecordHeader { stamp: Stamp(9), raw_dep: Stamp(1), epoch: Epoch(3), write_count };
    encode_command(header, &command, record_seal())
}

/// An insert, an update by ranges and one by an image, and deletes, each as it is logged with the row before.
fn images(participants: Option<Participants>) -> Vec<u8> {
    let new = [5; OLD_ROW.len()];
    let mut changed = OLD_ROW;
    changed[9..12].fill(9);
    let (mut body, mut undo) = (Vec::new(), Vec::new());
    assert!(delta::push_body(Stamp(1), &OLD_ROW, &changed, &mut body), "it saves something");
    assert!(delta::push_inverse(&OLD_ROW, &changed, &mut undo), "there are few ranges");
    let change = Change::Delta(Delta { base: Stamp(1), body: &body });
    let writes = [
        (Change::Put(&new), Before::Absent),
        (Change::Put(&new), Before::Image(&OLD_ROW)),
        (Change::Put(&new), Before::NotLogged),
        (change, Before::Ranges(&undo)),
        (change, Before::Image(&OLD_ROW)),
        (change, Before::NotLogged),
        (Change::Delete, Before::Image(&OLD_ROW)),
        (Change::Delete, Before::Absent),
    ];
    let writes = writes
        .map(|(change, before)| ImagedWrite { write: LoggedWrite { table: TableId(17), key: b"key", change }, before });
    let write_count = writes.len() as u32;
    encode_images(
        RecordHeader { stamp: Stamp(9), raw_dep: Stamp(1), epoch: Epoch(3), write_count },
        participants,
        &writes,
        record_seal(),
    )
}

fn encode_part(header: &PartHeader, content: &[u8], seal: Seal) -> Vec<u8> {
    let mut bytes = vec![0; part::encoded_len(content.len())];
    part::encode(&mut bytes, header, seal, content);
    bytes
}

fn record(stamp: u64, rows: usize, seal: Seal) -> Vec<u8> {
    let mut content = [3; 300];
    content[9..12].fill(9);
    let mut body = Vec::new();
    assert!(delta::push_body(Stamp(1), &OLD_ROW, &content[..OLD_ROW.len() + 3], &mut body), "it saves something");
    let write = |row| {
        let key = &content[..row % 7];
        let change = match row % 5 {
            0 => Change::Delete,
            1 => Change::Delta(Delta { base: Stamp(1), body: &body }),
            _ => Change::Put(&content[..row]),
        };
        LoggedWrite { table: TableId(1), key, change }
    };
    let header = RecordHeader { stamp: Stamp(stamp), raw_dep: Stamp(1), epoch: Epoch(3), write_count: rows as u32 };
    encode_record(header, &(0..rows).map(write).collect::<Vec<_>>(), seal)
}

pub(super) fn records() -> Vec<Vec<u8>> {
    let mut skip = vec![0; 64];
    record::write_skip(&mut skip);
    let (first, last) = (LogOffset(8), LogOffset(24));
    let header = RecordHeader { stamp: Stamp(9), raw_dep: Stamp(1), epoch: Epoch(3), write_count: 2 };
    let in_parts = [WriteForm::Values, WriteForm::Physiological]
        .map(|form| InParts { first, last, bytes: 90, parts: 2, checksum: 7, form })
        .map(|named| encode_in_parts(header, &named, record_seal()));
    let header = PartHeader { stamp: Stamp(9), first, previous: last, position: 9, bytes: 5 };
    let part = encode_part(&header, &[7; 5], record_seal());
    let records = [0, 1, 3, 20].map(|rows| record(9, rows, record_seal()));
    let participants = Participants::of([StreamId(1), StreamId(3)]);
    let header = RecordHeader { stamp: Stamp(9), raw_dep: Stamp(1), epoch: Epoch(3), write_count: 1 };
    let write = LoggedWrite { table: TableId(1), key: b"key", change: Change::Put(&[7; 40]) };
    let share = encode_share(header, participants, &[write], record_seal());
    let others = [skip, part, command(), images(None), images(Some(participants)), share];
    records.into_iter().chain(in_parts).chain(others).collect()
}

fn seal_one_record(bytes: &mut [u8], seal: Seal) {
    let word = bytes.get(..4).map_or(0, |word| u32_at(word, 0));
    let length = (word & !PART) as usize;
    if let Some(bytes) = bytes.get_mut(..length).filter(|bytes| bytes.len() >= 8) {
        let sum = seal.checksum(&bytes[8..]) ^ if word & PART == 0 { 0 } else { CHECKSUM_OF_PARTS };
        put_sum(bytes, 4, sum);
    }
}

pub(super) fn seal_record(bytes: &mut [u8]) {
    seal_one_record(bytes, record_seal());
}

/// Applies a delta to rows that it fits, and to none else.
fn apply(write: &LoggedWrite<'_>) {
    let Change::Delta(delta) = write.change else { return };
    for old in [&OLD_ROW[..], &OLD_ROW[..7], &[]] {
        let Some(length) = delta.new_len(old.len()) else { continue };
        assert!(length <= old.len() + delta.body.len(), "a row has the bytes of the old one and of the delta");
        delta.apply(old, &mut vec![0; length]);
    }
}

fn assert_same_record(record: &RecordReader<'_>, bytes: &[u8], seal: Seal) {
    let again = match record.payload() {
        PayloadReader::Values(writes) => {
            let writes: Vec<_> = writes.collect();
            writes.iter().for_each(apply);
            match record.participants() {
                None => encode_record(record.header(), &writes, seal),
                Some(participants) => encode_share(record.header(), participants, &writes, seal),
            }
        }
        PayloadReader::InParts(named) => encode_in_parts(record.header(), &named, seal),
        PayloadReader::Command(command) => encode_command(record.header(), &command.command(), seal),
        PayloadReader::Physiological(images) => {
            let writes: Vec<_> = images.collect();
            writes.iter().for_each(|imaged| apply(&imaged.write));
            encode_images(record.header(), record.participants(), &writes, seal)
        }
    };
    assert_eq!(again, bytes, "a record is what is encoded again");
}

pub(super) fn check_record(bytes: &[u8]) -> bool {
    if let Ok(entry) = record::parse(bytes, record_seal(), RecordLayout::Compact) {
        let bytes = &bytes[..entry.len()];
        match &entry {
            Entry::Record(record) => assert_same_record(record, bytes, record_seal()),
            Entry::Part(part) => assert_eq!(encode_part(&part.header(), part.content(), record_seal()), bytes),
            Entry::Skip(_) => {}
        }
        return true;
    }
    match record::parse::<Stamp>(bytes, record_seal(), RecordLayout::Fixed) {
        Ok(Entry::Record(record)) => {
            let PayloadReader::Values(writes) = record.payload() else { panic!("{record:?} names parts") };
            assert_eq!(writes.count(), record.header().write_count as usize, "as many as it says");
            true
        }
        entry => entry.is_ok(),
    }
}

fn encode_batch(header: &BatchHeader, log: &LogIdentity, certificates: &[Certificate]) -> Vec<u8> {
    let mut bytes = vec![0; batch::header_bytes(log.streams())];
    header.encode(log, certificates, &mut bytes);
    bytes
}

fn batch(offset: LogOffset, stamp: u64, records: &[Vec<u8>], reach: LogOffset) -> Vec<u8> {
    let record_bytes = (batch::header_bytes(4) + records.iter().map(Vec::len).sum::<usize>()) as u64;
    let (length, stamp) = (record_bytes.next_multiple_of(4096), Stamp(stamp));
    let header = BatchHeader {
        offset,
        length,
        record_bytes,
        stamp,
        csn: Stamp::ZERO,
        closed: WallTime(77),
        layout: RecordLayout::Compact,
    };
    let certificate = |stream| Certificate { stream: StreamId(stream), stamp: Stamp(5), reach };
    let certificates = [0, 3].map(certificate);
    let mut bytes = encode_batch(&header, &log(), &certificates);
    bytes.extend(records.concat());
    bytes.resize(length as usize, 0);
    bytes
}

pub(super) fn batches() -> Vec<Vec<u8>> {
    vec![batch(OFFSET, 9, &[], LogOffset(8192))]
}

pub(super) fn seal_batch(bytes: &mut [u8]) {
    if let Some(header) = bytes.get_mut(..batch::header_bytes(4)) {
        let sum = log().header_seal().checksum(&header[4..]);
        put_sum(header, 0, sum);
    }
}

pub(super) fn check_batch(bytes: &[u8]) -> bool {
    let Ok((header, certificates)) = BatchHeader::decode(bytes, &log(), OFFSET) else { return false };
    let certificates: Vec<_> = certificates.collect();
    let again = encode_batch(&header, &log(), &certificates);
    let (read, once_more) = BatchHeader::decode(&again, &log(), OFFSET).expect("what is encoded is accepted");
    assert_eq!((read, once_more.collect::<Vec<_>>()), (header, certificates));
    assert!(bytes.starts_with(&again) || u16_at(bytes, 6) < 2, "of the present format there is one encoding");
    true
}

pub(super) fn segments() -> Vec<Vec<u8>> {
    let header = SegmentHeader { log: log(), sequence: 1, base: OFFSET, floor: Stamp::ZERO, bytes: 5 * 4096 };
    let mut bytes = vec![0; segment::HEADER_BYTES];
    header.encode(&mut bytes);
    for (offset, stamp) in [(0, 20), (4096, 40)] {
        let mut at = offset + batch::header_bytes(4) as u64;
        let mut records = Vec::new();
        for stamp in stamp - 3..=stamp {
            records.push(record(stamp, 3, log().seal(LogOffset(at))));
            at += records.last().map_or(0, Vec::len) as u64;
        }
        bytes.extend(batch(LogOffset(offset), stamp, &records, LogOffset(0)));
    }
    bytes.resize(5 * 4096, 0);
    vec![bytes]
}

pub(super) fn seal_segment(bytes: &mut [u8]) {
    let Some(header) = bytes.get_mut(..segment::HEADER_BYTES) else { return };
    let sum = segment::checksum(header);
    put_sum(header, 12, sum);
    let (mut at, header_bytes) = (segment::HEADER_BYTES, batch::header_bytes(4));
    while bytes.len() - at >= header_bytes {
        seal_batch(&mut bytes[at..]);
        let offset = LogOffset((at - segment::HEADER_BYTES) as u64);
        let Ok((header, _)) = BatchHeader::decode(&bytes[at..], &log(), offset) else { return };
        let mut record = header_bytes;
        while record < header.record_bytes as usize && at + record + 8 <= bytes.len() {
            let seal = log().seal(LogOffset(offset.0 + record as u64));
            seal_one_record(&mut bytes[at + record..], seal);
            record += u32_at(&bytes[at + record..], 0).max(8) as usize;
        }
        at = at.saturating_add(header.length as usize).min(bytes.len());
    }
}

/// A segment as recovery scans it, where it is all that is left of a database that crashed.
pub(super) fn check_segment(bytes: &[u8]) -> bool {
    if let Ok(header) = SegmentHeader::decode(bytes) {
        let mut again = vec![0; segment::HEADER_BYTES];
        header.encode(&mut again);
        assert_eq!(SegmentHeader::decode(&again), Ok(header), "a header is what is encoded again");
        assert!(
            bytes.starts_with(&again) || u32_at(bytes, 8) < segment::FORMAT_VERSION,
            "of the present format there is one encoding"
        );
    }
    let mut manifest = Manifest::new(DATABASE, Protocol::Poplar, log().streams(), &[PathBuf::from(HOME)]);
    // As before there were identities and records of newest segments: there is no other file.
    (manifest.current.incarnation, manifest.records_newest) = (log().incarnation(), false);
    let directory = segment::stream_directory(Path::new(HOME), log().stream());
    let path = segment::segment_path(&directory, log().generation(), segment::FIRST_SEQUENCE);
    let config = ReadOnly::new(&manifest, &path, bytes).config();
    inspect::dump(&config, Detail::Records, &mut std::io::sink()).expect("the manifest is sound");
    inspect::verify(&config).is_ok()
}
