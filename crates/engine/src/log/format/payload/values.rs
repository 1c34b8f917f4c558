//! The full images of everything that a transaction wrote, one behind the other.
//!
//! Absent: rows' structure (table/row.rs), how they are replayed (recovery/).

use super::PayloadError;
use crate::ids::TableId;
use crate::log::format::bytes::u32_at;

/// The bytes before a write's key.
pub const WRITE_HEADER_BYTES: usize = 12;

const KIND_PUT: u8 = 1;
const KIND_DELETE: u8 = 2;

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

/// Returns how many bytes `writes` take, given as (key bytes, row bytes or `None` for a delete).
pub fn encoded_len(writes: impl IntoIterator<Item = (usize, Option<usize>)>) -> usize {
    writes.into_iter().map(|(key, row)| WRITE_HEADER_BYTES + key + row.unwrap_or(0)).sum()
}

/// Encodes writes in place.
pub struct ValuesWriter<'b> {
    buffer: &'b mut [u8],
    position: usize,
}

impl<'b> ValuesWriter<'b> {
    /// Starts at the beginning of `buffer`.
    #[inline]
    pub fn new(buffer: &'b mut [u8]) -> ValuesWriter<'b> {
        ValuesWriter { buffer, position: 0 }
    }

    /// Appends the new image of a row, or its delete.
    pub fn write(&mut self, LoggedWrite { table, key, row }: LoggedWrite<'_>) {
        let (kind, row) = row.map_or((KIND_DELETE, &[][..]), |row| (KIND_PUT, row));
        let key_length = u16::try_from(key.len()).expect("the engine bounds keys far below 64 KiB");
        let row_length = u32::try_from(row.len()).expect("the engine bounds rows far below 4 GiB");
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

    /// Returns how many bytes were written.
    pub fn finish(self) -> usize {
        self.position
    }
}

/// Checks that `bytes` begin with `count` writes, and returns how many bytes those take.
pub fn check(bytes: &[u8], count: u32) -> Result<usize, PayloadError> {
    let mut rest = bytes;
    for _ in 0..count {
        let (_, length) = decode(rest)?;
        rest = &rest[length..];
    }
    Ok(bytes.len() - rest.len())
}

/// The writes of one record.
#[derive(Clone)]
pub struct Writes<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> Writes<'a> {
    /// Returns the `count` writes at the start of `bytes`, which [`check`] has accepted.
    pub(in crate::log::format) fn new(bytes: &'a [u8], count: u32) -> Writes<'a> {
        Writes { rest: bytes, left: count }
    }
}

impl<'a> Iterator for Writes<'a> {
    type Item = LoggedWrite<'a>;

    fn next(&mut self) -> Option<LoggedWrite<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (write, length) = decode(self.rest).expect("every write was checked");
        self.rest = &self.rest[length..];
        Some(write)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Writes<'_> {}

/// The write at the start of `bytes`, and its length.
fn decode(bytes: &[u8]) -> Result<(LoggedWrite<'_>, usize), PayloadError> {
    let malformed = |what| PayloadError { what };
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
