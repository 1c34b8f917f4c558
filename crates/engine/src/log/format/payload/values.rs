//! Everything that a transaction wrote, one write behind the other: of each row its image, what changed in it, or its delete.
//!
//! Absent: rows' structure (table/row.rs), how they are replayed (recovery/).

use super::delta::Delta;
pub use super::write::{Change, LoggedWrite};
use super::write::{KIND_BITS, KIND_DELETE, KIND_DELTA, KIND_PUT};
use super::{PayloadError, fixed};
use crate::ids::TableId;
use crate::log::format::layout::RecordLayout;
use crate::log::format::varint::{put_varint, split_varint};

/// Returns how many bytes writes take.
pub fn encoded_len(writes: &[LoggedWrite<'_>]) -> usize {
    writes.iter().map(LoggedWrite::encoded_len).sum()
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

    /// Appends what became of a row.
    pub fn write(&mut self, write: LoggedWrite<'_>) {
        self.number(write.head());
        self.content(write);
    }

    /// Appends what follows the head of a write.
    pub(super) fn content(&mut self, write: LoggedWrite<'_>) {
        assert!(write.key.len() <= usize::from(u16::MAX), "the engine bounds keys far below 64 KiB");
        self.string(write.key);
        match write.change {
            Change::Put(row) => {
                assert!(row.len() <= u32::MAX as usize, "the engine bounds rows far below 4 GiB");
                self.string(row);
            }
            Change::Delete => {}
            Change::Delta(Delta { base, body }) => {
                self.number(base.0);
                self.bytes(body);
            }
        }
    }

    pub(super) fn number(&mut self, value: u64) {
        self.position += put_varint(&mut self.buffer[self.position..], value);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.buffer[self.position..self.position + bytes.len()].copy_from_slice(bytes);
        self.position += bytes.len();
    }

    /// Bytes with their length before them.
    pub(super) fn string(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes(bytes);
    }

    /// Appends all of them.
    pub fn write_all(mut self, writes: &[LoggedWrite<'_>]) -> usize {
        writes.iter().for_each(|write| self.write(*write));
        self.finish()
    }

    /// Returns how many bytes were written.
    pub fn finish(self) -> usize {
        self.position
    }
}

/// Checks that `bytes` begin with `count` writes of `layout`, and returns how many bytes those take.
pub(in crate::log::format) fn check(bytes: &[u8], count: u32, layout: RecordLayout) -> Result<usize, PayloadError> {
    let mut rest = bytes;
    for _ in 0..count {
        rest = split(rest, layout)?.1;
    }
    Ok(bytes.len() - rest.len())
}

/// The writes of one record.
#[derive(Clone)]
pub struct Writes<'a> {
    rest: &'a [u8],
    left: u32,
    layout: RecordLayout,
}

impl<'a> Writes<'a> {
    /// Returns the `count` writes at the start of `bytes`, which [`check`] has accepted.
    pub(in crate::log::format) fn new(bytes: &'a [u8], count: u32, layout: RecordLayout) -> Writes<'a> {
        Writes { rest: bytes, left: count, layout }
    }
}

impl<'a> Iterator for Writes<'a> {
    type Item = LoggedWrite<'a>;

    #[inline]
    fn next(&mut self) -> Option<LoggedWrite<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (write, rest) = split(self.rest, self.layout).expect("every write was checked");
        self.rest = rest;
        Some(write)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Writes<'_> {}

/// The write at the start of `bytes`, and what is behind it.
#[inline]
fn split(bytes: &[u8], layout: RecordLayout) -> Result<(LoggedWrite<'_>, &[u8]), PayloadError> {
    match layout {
        RecordLayout::Fixed => fixed::split(bytes),
        RecordLayout::Compact => split_compact(bytes),
    }
}

/// That of a write as this program encodes it, as it stands in parts, too.
#[inline]
pub(in crate::log::format) fn split_compact(bytes: &[u8]) -> Result<(LoggedWrite<'_>, &[u8]), PayloadError> {
    let (head, rest) = number(bytes)?;
    let table = u32::try_from(head >> KIND_BITS).map_err(|_| malformed("a table's number is out of range"))?;
    let (key, rest) = split_key(rest)?;
    let (change, rest) = split_change(head & ((1 << KIND_BITS) - 1), rest)?;
    Ok((LoggedWrite { table: TableId(table), key, change }, rest))
}

/// The key at the start of `bytes`, and what is behind it.
#[inline]
pub(super) fn split_key(bytes: &[u8]) -> Result<(&[u8], &[u8]), PayloadError> {
    let (length, rest) = number(bytes)?;
    let length = u16::try_from(length).map_err(|_| malformed("a key is longer than any"))?;
    rest.split_at_checked(length.into()).ok_or(malformed("a key is cut short"))
}

/// What became of a row, by the number of its kind, at the start of `bytes`, and what is behind it.
#[inline]
pub(super) fn split_change(kind: u64, bytes: &[u8]) -> Result<(Change<'_>, &[u8]), PayloadError> {
    Ok(match kind {
        KIND_PUT => {
            let (length, rest) = number(bytes)?;
            let row = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
            let (row, rest) = row.ok_or(malformed("a row is cut short"))?;
            (Change::Put(row), rest)
        }
        KIND_DELETE => (Change::Delete, bytes),
        KIND_DELTA => {
            let (delta, rest) = Delta::split(bytes)?;
            (Change::Delta(delta), rest)
        }
        _ => return Err(malformed("a write is neither a put nor a delete nor a delta")),
    })
}

#[inline]
fn number(bytes: &[u8]) -> Result<(u64, &[u8]), PayloadError> {
    split_varint(bytes).ok_or(malformed("a write is cut short"))
}

pub(super) const fn malformed(what: &'static str) -> PayloadError {
    PayloadError { what }
}
