//! What changed in a row against the version that its transaction read, as ranges of bytes. Nobody needs the row's schema.
//!
//! ```text
//! head 1: number of ranges << 1 | 1 if the row has another length
//! where the length is another one: new length, suffix: so many bytes at the end are those at the end of the old row
//! ranges: unchanged bytes before it, length, bytes
//! ```
//!
//! Numbers are varints. Ranges lie in what precedes the suffix. There the new row is the old one, cut off or continued by ranges,
//! with the ranges in their places.
//!
//! Invariant: a delta that [`Delta::split`] accepts is well formed; whether it fits a row is seen when it is applied.
//!
//! Absent: which row it fits (recovery/replay/values.rs), when a transaction may log one (transaction/payload.rs).

use std::ops::Range;

use super::PayloadError;
use crate::ids::Stamp;
use crate::log::format::varint::{push_varint, split_varint, varint_len};

/// So many equal bytes end a range: a new one costs two bytes, and time.
const GAP_BYTES: usize = 4;
/// More ranges than fit in the head are not worth it.
const RANGES_MAX: u8 = 0x3f;
/// The bit of the head that says that the length is another one.
const RESIZED: u8 = 1;
/// How many bytes are compared at once.
const BLOCK_BYTES: usize = 32;
/// Shorter rows are logged as they are.
const ROW_BYTES_MIN: usize = 16;

/// A row as what changed in an earlier version of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta<'a> {
    /// The version that it changes, by its stamp: the one right before.
    pub base: Stamp,
    /// The ranges with their head.
    pub body: &'a [u8],
}

/// Appends to `out` the body of a delta that makes `new` out of `old`. Returns whether it did: the delta must save a quarter of
/// the row, so that what replay pays for it is paid back in bytes that it need not read.
#[inline]
pub(crate) fn push_body(base: Stamp, old: &[u8], new: &[u8], out: &mut Vec<u8>) -> bool {
    if new.len() < ROW_BYTES_MIN {
        return false;
    }
    let begin = out.len();
    let room = begin + (new.len() - new.len() / 4).saturating_sub(varint_len(base.0));
    let is_pushed = push_ranges(old, new, out, room).is_some() && out.len() <= room;
    if !is_pushed {
        out.truncate(begin);
    }
    is_pushed
}

/// Appends to `out` the ranges that make `old` out of `new`. Returns whether it did: they may be too many.
pub(crate) fn push_inverse(old: &[u8], new: &[u8], out: &mut Vec<u8>) -> bool {
    let begin = out.len();
    let is_pushed = push_ranges(new, old, out, usize::MAX).is_some();
    if !is_pushed {
        out.truncate(begin);
    }
    is_pushed
}

/// `None` where they end beyond `room`, or are too many.
fn push_ranges(old: &[u8], new: &[u8], out: &mut Vec<u8>, room: usize) -> Option<()> {
    let (head, is_resized) = (out.len(), old.len() != new.len());
    out.push(0);
    let suffix = if is_resized { common_suffix(old, new) } else { 0 };
    if is_resized {
        push_varint(out, new.len() as u64);
        push_varint(out, suffix as u64);
    }
    let (old, new) = (&old[..old.len() - suffix], &new[..new.len() - suffix]);
    let shared = old.len().min(new.len());
    let (mut ranges, mut last_end) = (0, 0);
    let mut push = |begin: usize, end: usize| {
        push_varint(out, (begin - last_end) as u64);
        push_varint(out, (end - begin) as u64);
        last_end = end;
        ranges += 1;
        let fits = out.len() + (end - begin) <= room && ranges <= RANGES_MAX;
        fits.then(|| out.extend_from_slice(&new[begin..end]))
    };
    let (old, kept) = (&old[..shared], &new[..shared]);
    let mut begin = first_difference(old, kept, 0);
    while begin < shared {
        let end = range_end(old, kept, begin);
        if end == shared {
            break;
        }
        push(begin, end)?;
        begin = first_difference(old, kept, end);
    }
    if begin < new.len() {
        push(begin, new.len())?;
    }
    out[head] = ranges << 1 | if is_resized { RESIZED } else { 0 };
    Some(())
}

/// The bytes from `at` on as a number, zero beyond the end.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes[at..].first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => bytes[at..].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// A block of the bytes from `at` on.
#[inline]
fn block(bytes: &[u8], at: usize) -> Option<&[u8; BLOCK_BYTES]> {
    bytes.get(at..)?.first_chunk()
}

/// Where two rows of one length differ first, at `at` or behind it; their length where they do not.
#[inline]
fn first_difference(old: &[u8], new: &[u8], mut at: usize) -> usize {
    // Blocks at first: most of a row is as it was.
    while let (Some(one), Some(other)) = (block(old, at), block(new, at))
        && one == other
    {
        at += BLOCK_BYTES;
    }
    while at < new.len() {
        let differs = word(old, at) ^ word(new, at);
        if differs != 0 {
            return at + (differs.trailing_zeros() / 8) as usize;
        }
        at += size_of::<u64>();
    }
    new.len()
}

/// Where the range ends that begins at `begin`: behind its last byte that differs.
#[inline]
fn range_end(old: &[u8], new: &[u8], begin: usize) -> usize {
    let mut end = begin;
    while end < new.len() {
        let differs = word(old, end) ^ word(new, end);
        if differs.trailing_zeros() as usize >= 8 * GAP_BYTES {
            break;
        }
        end += size_of::<u64>() - (differs.leading_zeros() / 8) as usize;
    }
    assert!(end > begin && end <= new.len(), "a range has bytes of the row");
    end
}

/// How many bytes the rows have in common at their ends.
fn common_suffix(old: &[u8], new: &[u8]) -> usize {
    old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count()
}

impl<'a> Delta<'a> {
    /// Reads the delta at the start of `bytes`, and returns what is behind it.
    pub(super) fn split(bytes: &'a [u8]) -> Result<(Delta<'a>, &'a [u8]), PayloadError> {
        let malformed = || PayloadError { what: "a delta is malformed" };
        let (base, body) = split_varint(bytes).ok_or_else(malformed)?;
        let base = Stamp(base);
        if base == Stamp::ZERO || base > Stamp::MAX {
            return Err(malformed());
        }
        let (body, rest) = split_body(body)?;
        Ok((Delta { base, body }, rest))
    }

    /// Returns the length of the new row where the old one has `old` bytes; `None` where the delta does not fit it.
    pub fn new_len(&self, old: usize) -> Option<usize> {
        let mut ranges = Ranges::begin(self.body)?;
        let new = ranges.new_len.unwrap_or(old);
        let room = new.checked_sub(ranges.suffix)?;
        // As far as the new row is known.
        let mut known = old.checked_sub(ranges.suffix)?;
        while ranges.left > 0 {
            let bytes = ranges.next_range()?;
            if ranges.at - bytes.len() > known {
                return None;
            }
            known = known.max(ranges.at);
        }
        (ranges.at <= room && room <= known).then_some(new)
    }

    /// Returns whether a byte of `range` may be another one in the new row.
    pub(crate) fn touches(&self, range: &Range<usize>) -> bool {
        let Some(mut ranges) = Ranges::begin(self.body).filter(|ranges| ranges.new_len.is_none()) else { return true };
        while ranges.left > 0 {
            let Some(bytes) = ranges.next_range() else { return true };
            if range.start < ranges.at && ranges.at - bytes.len() < range.end {
                return true;
            }
        }
        false
    }

    /// Makes the new row in `new`, which has [`Delta::new_len`] bytes.
    pub fn apply(&self, old: &[u8], new: &mut [u8]) {
        assert_eq!(self.new_len(old.len()), Some(new.len()), "a delta is applied to a row that it fits");
        let mut ranges = Ranges::begin(self.body).expect("it fits");
        let (head, tail) = new.split_at_mut(new.len() - ranges.suffix);
        let (old_head, old_tail) = old.split_at(old.len() - ranges.suffix);
        let shared = old_head.len().min(head.len());
        head[..shared].copy_from_slice(&old_head[..shared]);
        tail.copy_from_slice(old_tail);
        while ranges.left > 0 {
            let bytes = ranges.next_range().expect("it fits");
            head[ranges.at - bytes.len()..ranges.at].copy_from_slice(bytes);
        }
    }
}

/// The ranges with their head at the start of `bytes`, and what is behind them.
pub(super) fn split_body(bytes: &[u8]) -> Result<(&[u8], &[u8]), PayloadError> {
    let malformed = || PayloadError { what: "a delta is malformed" };
    let mut ranges = Ranges::begin(bytes).ok_or_else(malformed)?;
    while ranges.left > 0 {
        ranges.next_range().ok_or_else(malformed)?;
    }
    Ok(bytes.split_at(bytes.len() - ranges.rest.len()))
}

/// A walk over the ranges of a body.
struct Ranges<'a> {
    /// Of the new row, where it is not that of the old one.
    new_len: Option<usize>,
    suffix: usize,
    left: u8,
    /// Where the last range ends.
    at: usize,
    rest: &'a [u8],
}

impl<'a> Ranges<'a> {
    fn begin(body: &'a [u8]) -> Option<Ranges<'a>> {
        let (head, rest) = body.split_first()?;
        let mut ranges = Ranges { new_len: None, suffix: 0, left: head >> 1, at: 0, rest };
        if head & RESIZED != 0 {
            let new_len = ranges.length()?;
            ranges.suffix = ranges.length().filter(|suffix| *suffix <= new_len)?;
            ranges.new_len = Some(new_len);
        }
        (ranges.left <= RANGES_MAX).then_some(ranges)
    }

    fn length(&mut self) -> Option<usize> {
        let (length, rest) = split_varint(self.rest)?;
        self.rest = rest;
        u32::try_from(length).ok().map(|length| length as usize)
    }

    /// The bytes of the next range, which ends at `at`.
    fn next_range(&mut self) -> Option<&'a [u8]> {
        self.left -= 1;
        let (unchanged, length) = (self.length()?, self.length().filter(|length| *length > 0)?);
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        (self.at, self.rest) = (self.at + unchanged + length, rest);
        Some(bytes)
    }
}

#[cfg(test)]
#[path = "delta_tests.rs"]
mod tests;
