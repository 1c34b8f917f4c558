//! Transactions in parts in a log of bytes: put together again, and everything refused that is not one of them.

use super::*;
use crate::ids::{DatabaseId, Generation, StreamId, TableId};
use crate::log::format::part::PartHeader;
use crate::log::format::payload::WriteForm;
use crate::log::format::payload::in_parts::PayloadSum;
use crate::log::format::payload::values::{Change, ValuesWriter};

/// A log in memory.
struct Bytes {
    log: LogIdentity,
    bytes: Vec<u8>,
    stamp: u64,
}

impl PartSource for Bytes {
    type Error = (LogOffset, String);

    fn log(&self) -> &LogIdentity {
        &self.log
    }

    fn read(&self, offset: LogOffset, buffer: &mut [u8]) -> Result<(), Self::Error> {
        let from = offset.0 as usize;
        let bytes = self.bytes.get(from..from + buffer.len()).ok_or((offset, "the log ends".to_owned()))?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn damaged(&self, offset: LogOffset, what: String) -> Self::Error {
        (offset, what)
    }
}

/// A key, and its row unless it is deleted.
type Owned = (Vec<u8>, Option<Vec<u8>>);

fn write(at: usize, row: usize) -> Owned {
    (vec![at as u8; 3], (row > 0).then(|| vec![at as u8; row]))
}

impl Bytes {
    fn new() -> Bytes {
        let log = LogIdentity::new(DatabaseId(9), Generation(1), StreamId(0), 1);
        Bytes { log, bytes: vec![0; 64], stamp: 0 }
    }

    /// Appends the parts of some writes, `room` bytes in each, and lets `between` append what comes in between.
    fn append(&mut self, rows: &[usize], room: usize, mut between: impl FnMut(&mut Bytes)) -> RecordInParts {
        let mut payload = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let (key, row) = write(at, *row);
            let start = payload.len();
            let write = LoggedWrite { table: TableId(17), key: &key, change: row.as_deref().into() };
            payload.resize(start + write.encoded_len(), 0);
            let mut writer = ValuesWriter::new(&mut payload[start..]);
            writer.write(write);
            writer.finish();
        }
        let mut sum = PayloadSum::new();
        sum.add(&payload);
        let (mut first, mut last, mut position, mut parts) = (None, None, 0, 0);
        for content in payload.chunks(room) {
            let offset = LogOffset(self.bytes.len() as u64);
            self.stamp += 1;
            let header = PartHeader {
                stamp: Stamp(self.stamp),
                first: *first.get_or_insert(offset),
                previous: last.unwrap_or(offset),
                position,
                bytes: content.len() as u32,
            };
            let end = self.bytes.len();
            self.bytes.resize(end + part::encoded_len(content.len()), 0);
            part::encode(&mut self.bytes[end..], &header, self.log.seal(offset), content);
            (last, position, parts) = (Some(offset), position + content.len() as u64, parts + 1);
            between(self);
        }
        let (first, last) = (first.unwrap(), last.unwrap());
        let named = InParts { first, last, bytes: position, parts, checksum: sum.value(), form: WriteForm::Values };
        let offset = LogOffset(self.bytes.len() as u64);
        self.stamp += 1;
        RecordInParts { offset, stamp: Stamp(self.stamp), writes: rows.len() as u32, named }
    }

    fn read_writes(&self, record: &RecordInParts) -> Result<Vec<Owned>, (LogOffset, String)> {
        let mut found = Vec::new();
        for_each_write(self, record, |write| {
            assert_eq!(write.table, TableId(17));
            let row = match write.change {
                Change::Put(row) => Some(row.to_vec()),
                Change::Delete => None,
                Change::Delta(_) => panic!("{write:?}"),
            };
            found.push((write.key.to_vec(), row));
        })?;
        Ok(found)
    }
}

const ROWS: [usize; 6] = [5, 0, 300, 1, 0, 40];

fn expected(rows: &[usize]) -> Vec<Owned> {
    rows.iter().enumerate().map(|(at, row)| write(at, *row)).collect()
}

#[test]
fn writes_come_out_of_parts_of_any_size() {
    for room in [1, 7, 12, 13, 64, 1000] {
        let mut log = Bytes::new();
        let record = log.append(&ROWS, room, |_| {});
        assert_eq!(log.read_writes(&record), Ok(expected(&ROWS)), "{room} bytes in a part");
    }
}

#[test]
fn parts_of_other_transactions_in_between_are_passed_over() {
    let mut log = Bytes::new();
    let mut others = Vec::new();
    let record = log.append(&ROWS, 20, |log| others.push(log.append(&[9, 9], 10, |_| {})));
    assert_eq!(log.read_writes(&record), Ok(expected(&ROWS)));
    for other in &others {
        assert_eq!(log.read_writes(other), Ok(expected(&[9, 9])));
    }
    // A record that begins with its own parts and ends with those of another one.
    let (other, last) = (others[1].named, others[2].named.last);
    for named in [
        InParts { last, ..record.named },
        InParts { first: other.first, ..record.named },
        InParts { last, ..other },
        InParts { first: record.named.last, ..record.named },
    ] {
        log.read_writes(&RecordInParts { named, ..record }).expect_err("parts of two transactions");
    }
}

#[test]
fn whatever_is_not_all_of_it_is_refused() {
    let mut log = Bytes::new();
    let record = log.append(&ROWS, 30, |_| {});
    let InParts { last, bytes, parts, checksum, .. } = record.named;
    let refused = |named: InParts, writes: u32| {
        let error = log.read_writes(&RecordInParts { named, writes, ..record }).expect_err("it does not fit");
        assert!(error.0 <= record.offset, "{error:?}");
    };
    let named = record.named;
    refused(InParts { bytes: bytes - 1, ..named }, record.writes);
    refused(InParts { parts: parts + 1, ..named }, record.writes);
    refused(InParts { checksum: checksum ^ 1, ..named }, record.writes);
    refused(named, record.writes + 1);
    refused(named, record.writes - 1);
    refused(InParts { last: LogOffset(last.0 - 8), ..named }, record.writes);
    refused(InParts { last: record.offset, ..named }, record.writes);
    // The last part is left out.
    let (header, _) = part::peek(&log.bytes[last.0 as usize..]).unwrap();
    refused(InParts { last: header.previous, ..named }, record.writes);
    refused(InParts { last: header.previous, bytes: header.position, parts: parts - 1, ..named }, record.writes);
}

#[test]
fn every_flipped_bit_of_a_part_is_found() {
    let mut log = Bytes::new();
    let record = log.append(&[40, 3], 25, |_| {});
    for bit in 64 * 8..log.bytes.len() * 8 {
        log.bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(log.read_writes(&record).is_err(), "bit {bit}");
        log.bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert_eq!(log.read_writes(&record), Ok(expected(&[40, 3])));
}
