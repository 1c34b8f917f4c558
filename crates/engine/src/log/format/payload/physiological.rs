//! The payload of a transaction that logs images as ARIES-like systems do (Command logging, section IV): one group of all rows
//! that it wrote, of each by table and key what became of it and, if that is wanted, what it was before.
//!
//! ```text
//! head v: table << 4 | before << 2 | kind
//! key: length v, bytes
//! what became of the row, by its kind: as among values
//! the row before: 0 not logged, 1 there was none, 2 length v, bytes, 3 ranges that make it out of what became of it
//! ```
//!
//! Invariants:
//! - Of each write there is one encoding: [`check`] refuses every other one, and images before that cannot be. Only a change that
//!   is logged as ranges has a row before that is.
//! - A reader that wants no images before gets the writes that a payload of values would give.
//!
//! Absent: when a transaction knows what it overwrites (transaction/physiological.rs).

use super::delta;
use super::values::{LoggedWrite, ValuesWriter, malformed, split_change, split_key};
use super::write::{KIND_BITS, KIND_DELTA};
use super::{PayloadError, WriteForm};
use crate::ids::TableId;
use crate::log::format::varint::{split_varint, varint_len};

const NOT_LOGGED: u64 = 0;
const ABSENT: u64 = 1;
const IMAGE: u64 = 2;
const RANGES: u64 = 3;
/// The bits of the row before in a head.
const BEFORE_BITS: u32 = 2;

/// What a row was before its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before<'a> {
    /// It is not in the log.
    NotLogged,
    /// There was none.
    Absent,
    /// Its full image.
    Image(&'a [u8]),
    /// The ranges, with their head, of a delta that makes it out of what became of it.
    Ranges(&'a [u8]),
}

impl Before<'_> {
    fn tag(&self) -> u64 {
        match self {
            Before::NotLogged => NOT_LOGGED,
            Before::Absent => ABSENT,
            Before::Image(_) => IMAGE,
            Before::Ranges(_) => RANGES,
        }
    }
}

/// A write with what its row was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImagedWrite<'a> {
    /// The write.
    pub write: LoggedWrite<'a>,
    /// What was in its place.
    pub before: Before<'a>,
}

impl ImagedWrite<'_> {
    fn head(&self) -> u64 {
        let kind = self.write.kind();
        u64::from(self.write.table.0) << (KIND_BITS + BEFORE_BITS) | self.before.tag() << KIND_BITS | kind
    }

    /// Returns how many bytes it takes.
    pub fn encoded_len(&self) -> usize {
        let before = match self.before {
            Before::NotLogged | Before::Absent => 0,
            Before::Image(row) => varint_len(row.len() as u64) + row.len(),
            Before::Ranges(body) => body.len(),
        };
        varint_len(self.head()) + self.write.content_len() + before
    }
}

/// Writes the group to the start of `buffer`, and returns how many bytes it took.
pub(crate) fn encode<'a>(buffer: &mut [u8], writes: impl Iterator<Item = ImagedWrite<'a>>) -> usize {
    let mut writer = ValuesWriter::new(buffer);
    for imaged in writes {
        writer.number(imaged.head());
        writer.content(imaged.write);
        match imaged.before {
            Before::NotLogged | Before::Absent => {}
            Before::Image(row) => writer.string(row),
            Before::Ranges(body) => writer.bytes(body),
        }
    }
    writer.finish()
}

/// Checks that `bytes` begin with `count` writes, and returns how many bytes those take.
pub(in crate::log::format) fn check(bytes: &[u8], count: u32) -> Result<usize, PayloadError> {
    let mut rest = bytes;
    for _ in 0..count {
        rest = split(rest)?.1;
    }
    Ok(bytes.len() - rest.len())
}

/// The writes of one record, with what their rows were before.
#[derive(Clone)]
pub struct ImagedWrites<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> ImagedWrites<'a> {
    /// Returns the `count` writes at the start of `bytes`, which [`check`] has accepted.
    pub(in crate::log::format) fn new(bytes: &'a [u8], count: u32) -> ImagedWrites<'a> {
        ImagedWrites { rest: bytes, left: count }
    }

    /// Returns the writes alone, as a payload of values has them.
    pub fn writes(self) -> impl Iterator<Item = LoggedWrite<'a>> {
        self.map(|imaged| imaged.write)
    }
}

impl<'a> Iterator for ImagedWrites<'a> {
    type Item = ImagedWrite<'a>;

    fn next(&mut self) -> Option<ImagedWrite<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (write, rest) = split(self.rest).expect("every write was checked");
        self.rest = rest;
        Some(write)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for ImagedWrites<'_> {}

/// The write at the start of `bytes`, and what is behind it.
pub(super) fn split(bytes: &[u8]) -> Result<(ImagedWrite<'_>, &[u8]), PayloadError> {
    let (head, rest) = split_varint(bytes).ok_or(malformed("a write is cut short"))?;
    let table = u32::try_from(head >> (KIND_BITS + BEFORE_BITS));
    let table = TableId(table.map_err(|_| malformed("a table's number is out of range"))?);
    let (key, rest) = split_key(rest)?;
    let kind = head & ((1 << KIND_BITS) - 1);
    let (change, rest) = split_change(kind, rest)?;
    let (before, rest) = match head >> KIND_BITS & ((1 << BEFORE_BITS) - 1) {
        NOT_LOGGED => (Before::NotLogged, rest),
        ABSENT if kind == KIND_DELTA => return Err(malformed("a row is changed that was not there")),
        ABSENT => (Before::Absent, rest),
        IMAGE => {
            let (length, rest) = split_varint(rest).ok_or(malformed("the row before is cut short"))?;
            let row = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
            let (row, rest) = row.ok_or(malformed("the row before is cut short"))?;
            (Before::Image(row), rest)
        }
        _ if kind != KIND_DELTA => return Err(malformed("ranges make a row of none, or of its image")),
        _ => {
            let (body, rest) = delta::split_body(rest)?;
            (Before::Ranges(body), rest)
        }
    };
    Ok((ImagedWrite { write: LoggedWrite { table, key, change }, before }, rest))
}

impl WriteForm {
    /// Returns the write in this form at the start of `bytes`, and what is behind it.
    pub(in crate::log::format) fn split(self, bytes: &[u8]) -> Result<(LoggedWrite<'_>, &[u8]), PayloadError> {
        match self {
            WriteForm::Values => super::values::split_compact(bytes),
            WriteForm::Physiological => split(bytes).map(|(imaged, rest)| (imaged.write, rest)),
        }
    }
}

#[cfg(test)]
#[path = "physiological_tests.rs"]
mod tests;
