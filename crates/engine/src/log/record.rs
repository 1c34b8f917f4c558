//! The log record of one transaction: its order numbers and the full images of everything it wrote.
//!
//! Invariants:
//! - A record is a multiple of [`ALIGNMENT`] long, starts at such an offset and is contiguous.
//! - A record that [`parse`] accepts is well formed to its last byte: reading its writes cannot fail.
//! - Whatever takes the place of a record without being one, a *skip*, is zero but for its length.
//!
//! Absent: the order numbers' meaning (the log protocol), rows' structure (table/row.rs).

use std::fmt;

use crate::failpoint::{Mutation, has};
use crate::ids::{Epoch, Stamp, TableId};
use crate::log::Seal;
use crate::log::bytes::{u32_at, u64_at};

/// Records start at multiples of this, in bytes.
pub const ALIGNMENT: usize = 8;
/// The bytes before a record's first write.
pub const HEADER_BYTES: usize = 40;
/// The bytes before a write's key.
pub const WRITE_HEADER_BYTES: usize = 12;
/// The bit of the length that marks a skip.
pub const SKIP: u32 = 1 << 31;

const KIND_PUT: u8 = 1;
const KIND_DELETE: u8 = 2;

/// The fixed part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The transaction's order number.
    pub stamp: Stamp,
    /// The greatest stamp that the transaction read, absences included (docs/protocols.md); zero when blind.
    pub raw_dep: Stamp,
    /// The epoch at the serialization point.
    pub epoch: Epoch,
    /// How many writes follow.
    pub write_count: u32,
}

/// One write of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedWrite<'a> {
    /// The table.
    pub table: TableId,
    /// The primary key.
    pub key: &'a [u8],
    /// The full image of the row; `None` where it was deleted.
    pub row: Option<&'a [u8]>,
}

/// Why bytes are not a record.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The length is no record's.
    #[error("a record cannot be {length} bytes long")]
    Length {
        /// The length found.
        length: u32,
    },
    /// The record reaches beyond the bytes at hand.
    #[error("a record of {length} bytes does not fit in the {room} bytes left")]
    Room {
        /// The record's length.
        length: u32,
        /// The bytes left.
        room: usize,
    },
    /// Damaged, or written at another place.
    #[error("the checksum is {found:08x} and should be {expected:08x}")]
    Checksum {
        /// The checksum in the record.
        found: u32,
        /// The checksum of its bytes at this place.
        expected: u32,
    },
    /// A skip holds something.
    #[error("a skipped range of {length} bytes is not empty")]
    Skip {
        /// The skip's length.
        length: u32,
    },
    /// The checksum holds but the content makes no sense.
    #[error("the record is malformed: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
}

/// The length of the record of `writes`, given as (key bytes, row bytes or `None` for a delete).
pub fn encoded_len(writes: impl IntoIterator<Item = (usize, Option<usize>)>) -> usize {
    let writes = writes.into_iter().map(|(key, row)| WRITE_HEADER_BYTES + key + row.unwrap_or(0));
    (HEADER_BYTES + writes.sum::<usize>()).next_multiple_of(ALIGNMENT)
}

/// Encodes a record in place.
pub struct RecordWriter<'b> {
    buffer: &'b mut [u8],
    seal: Seal,
    position: usize,
    writes_left: u32,
}

impl<'b> RecordWriter<'b> {
    /// Starts a record that will fill `buffer` exactly; `seal` is its place in the log.
    #[inline]
    pub fn new(buffer: &'b mut [u8], header: RecordHeader, seal: Seal) -> RecordWriter<'b> {
        assert!(buffer.len() >= HEADER_BYTES && buffer.len().is_multiple_of(ALIGNMENT), "{} bytes", buffer.len());
        assert!(buffer.len() < SKIP as usize, "{} bytes", buffer.len());
        assert!(header.stamp > Stamp::ZERO && header.stamp <= Stamp::MAX, "stamp {}", header.stamp);
        assert!(header.raw_dep < header.stamp, "stamp {} read {}", header.stamp, header.raw_dep);
        let length = buffer.len() as u32;
        buffer[..4].copy_from_slice(&length.to_le_bytes());
        buffer[8..16].copy_from_slice(&header.stamp.0.to_le_bytes());
        buffer[16..24].copy_from_slice(&header.raw_dep.0.to_le_bytes());
        buffer[24..32].copy_from_slice(&header.epoch.0.to_le_bytes());
        buffer[32..36].copy_from_slice(&header.write_count.to_le_bytes());
        buffer[36..40].copy_from_slice(&0_u32.to_le_bytes());
        RecordWriter { buffer, seal, position: HEADER_BYTES, writes_left: header.write_count }
    }

    /// Appends the new image of a row.
    pub fn put(&mut self, table: TableId, key: &[u8], row: &[u8]) {
        self.write(table, KIND_PUT, key, row);
    }

    /// Appends a delete.
    pub fn delete(&mut self, table: TableId, key: &[u8]) {
        self.write(table, KIND_DELETE, key, &[]);
    }

    /// Pads and seals the record.
    pub fn finish(&mut self) {
        assert_eq!(self.writes_left, 0, "writes announced and not given");
        let padding = &mut self.buffer[self.position..];
        assert!(padding.len() < ALIGNMENT, "{} bytes left over", padding.len());
        padding.fill(0);
        let checksum = self.seal.checksum(&self.buffer[8..]);
        self.buffer[4..8].copy_from_slice(&checksum.to_le_bytes());
    }

    fn write(&mut self, table: TableId, kind: u8, key: &[u8], row: &[u8]) {
        let key_length = u16::try_from(key.len()).expect("the engine bounds keys far below 64 KiB");
        let row_length = u32::try_from(row.len()).expect("the engine bounds rows far below 4 GiB");
        self.writes_left = self.writes_left.checked_sub(1).expect("more writes than announced");
        let (header, rest) = self.buffer[self.position..].split_at_mut(WRITE_HEADER_BYTES);
        header[..4].copy_from_slice(&table.0.to_le_bytes());
        header[4] = kind;
        header[5] = 0;
        header[6..8].copy_from_slice(&key_length.to_le_bytes());
        header[8..12].copy_from_slice(&row_length.to_le_bytes());
        rest[..key.len()].copy_from_slice(key);
        rest[key.len()..key.len() + row.len()].copy_from_slice(row);
        self.position += WRITE_HEADER_BYTES + key.len() + row.len();
    }
}

/// Marks `buffer` as holding no record.
pub fn write_skip(buffer: &mut [u8]) {
    assert!(!buffer.is_empty() && buffer.len().is_multiple_of(ALIGNMENT), "{} bytes", buffer.len());
    buffer.fill(0);
    let length = u32::try_from(buffer.len()).ok().filter(|length| length & SKIP == 0).expect("a skip below 2 GiB");
    buffer[..4].copy_from_slice(&(length | SKIP).to_le_bytes());
}

/// What stands at one place of a batch.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// A transaction.
    Record(RecordReader<'a>),
    /// Nothing, for so many bytes.
    Skip(usize),
}

impl Entry<'_> {
    /// How many bytes it takes.
    pub fn len(&self) -> usize {
        match self {
            Entry::Record(record) => record.bytes.len(),
            Entry::Skip(length) => *length,
        }
    }

    /// Never: an entry has a length.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// Reads the entry at the start of `bytes`, which may go on behind it, and checks it wholly.
pub fn parse(bytes: &[u8], seal: Seal) -> Result<Entry<'_>, RecordError> {
    let word = match bytes.get(..4) {
        Some(word) => u32_at(word, 0),
        None => return Err(RecordError::Room { length: 4, room: bytes.len() }),
    };
    let length = word & !SKIP;
    if length == 0 || !(length as usize).is_multiple_of(ALIGNMENT) {
        return Err(RecordError::Length { length: word });
    }
    let bytes = bytes.get(..length as usize).ok_or(RecordError::Room { length, room: bytes.len() })?;
    if word & SKIP != 0 {
        // A flipped bit must not turn a record into a skip: a record has a stamp, a skip holds nothing.
        let empty = bytes[4..].iter().all(|byte| *byte == 0);
        return if empty { Ok(Entry::Skip(bytes.len())) } else { Err(RecordError::Skip { length }) };
    }
    if bytes.len() < HEADER_BYTES {
        return Err(RecordError::Length { length });
    }
    let (found, expected) = (u32_at(bytes, 4), seal.checksum(&bytes[8..]));
    if found != expected && !has(Mutation::RecordUnchecked) {
        if has(Mutation::GapSkipped) {
            return Ok(Entry::Skip(bytes.len()));
        }
        return Err(RecordError::Checksum { found, expected });
    }
    let record = RecordReader { bytes };
    record.check()?;
    Ok(Entry::Record(record))
}

/// A valid record.
#[derive(Clone, Copy)]
pub struct RecordReader<'a> {
    bytes: &'a [u8],
}

impl<'a> RecordReader<'a> {
    /// The order numbers.
    pub fn header(&self) -> RecordHeader {
        RecordHeader {
            stamp: Stamp(u64_at(self.bytes, 8)),
            raw_dep: Stamp(u64_at(self.bytes, 16)),
            epoch: Epoch(u64_at(self.bytes, 24)),
            write_count: u32_at(self.bytes, 32),
        }
    }

    /// The writes, in the order they were encoded.
    pub fn writes(&self) -> Writes<'a> {
        Writes { rest: &self.bytes[HEADER_BYTES..], left: u32_at(self.bytes, 32) }
    }

    fn check(&self) -> Result<(), RecordError> {
        let malformed = |what| Err(RecordError::Malformed { what });
        let header = self.header();
        if header.stamp == Stamp::ZERO || header.stamp > Stamp::MAX {
            return malformed("the stamp is out of range");
        }
        if header.raw_dep >= header.stamp {
            return malformed("it depends on what came after it");
        }
        if u32_at(self.bytes, 36) != 0 {
            return malformed("unknown flags");
        }
        let mut rest = &self.bytes[HEADER_BYTES..];
        for _ in 0..header.write_count {
            let (_, length) = decode_write(rest)?;
            rest = &rest[length..];
        }
        if rest.len() >= ALIGNMENT {
            return malformed("it is longer than its writes");
        }
        if rest.iter().any(|byte| *byte != 0) {
            return malformed("its padding is not empty");
        }
        Ok(())
    }
}

impl fmt::Debug for RecordReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordReader").field("bytes", &self.bytes.len()).field("header", &self.header()).finish()
    }
}

/// The writes of one record.
#[derive(Clone)]
pub struct Writes<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> Iterator for Writes<'a> {
    type Item = LoggedWrite<'a>;

    fn next(&mut self) -> Option<LoggedWrite<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (write, length) = decode_write(self.rest).expect("parse checked every write");
        self.rest = &self.rest[length..];
        Some(write)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Writes<'_> {}

/// The write at the start of `bytes`, and its length.
fn decode_write(bytes: &[u8]) -> Result<(LoggedWrite<'_>, usize), RecordError> {
    let malformed = |what| RecordError::Malformed { what };
    let (header, rest) = bytes.split_at_checked(WRITE_HEADER_BYTES).ok_or(malformed("a write is cut short"))?;
    let (kind, zero) = (header[4], header[5]);
    let key_length = usize::from(u16::from_le_bytes([header[6], header[7]]));
    let row_length = u32_at(header, 8) as usize;
    let (key, rest) = rest.split_at_checked(key_length).ok_or(malformed("a key is cut short"))?;
    let row = rest.get(..row_length).ok_or(malformed("a row is cut short"))?;
    let row = match (kind, zero, row_length) {
        (KIND_PUT, 0, _) => Some(row),
        (KIND_DELETE, 0, 0) => None,
        _ => return Err(malformed("a write is neither a put nor a delete")),
    };
    let length = WRITE_HEADER_BYTES + key_length + row_length;
    Ok((LoggedWrite { table: TableId(u32_at(header, 0)), key, row }, length))
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
