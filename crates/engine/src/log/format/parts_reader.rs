//! Reads the payload of a transaction that is in parts: finds them from the last one backwards, then reads them forwards, one at
//! a time, and gives their writes.
//!
//! Invariants:
//! - No more is in memory than one part, the longest write, and the places of the parts. Of parts that are sound and hold
//!   something else than writes, all are, until that is found.
//! - A part is taken only if its checksum holds for its place, it has the number of the transaction, and its bytes go on where
//!   those of the part before ended. All of them together have the length and the checksum that the record names.
//! - Whoever acts on writes as they come has to undo them where a later part is unsound: it fails then.
//!
//! Absent: which transactions live (recovery/), and where bytes are read from (whoever implements [`PartSource`]).

use super::faults;
use super::layout::RecordLayout;
use super::part;
use super::payload::in_parts::{InParts, PayloadSum};
use super::payload::values::LoggedWrite;
use super::record::{self, Entry};
use super::seal::LogIdentity;
use crate::ids::{LogOffset, Stamp};

/// A stream whose bytes can be read anywhere.
pub(crate) trait PartSource {
    /// Why it may fail.
    type Error;

    /// Returns which log it is.
    fn log(&self) -> &LogIdentity;

    /// Reads `buffer` full from `offset` of the log.
    fn read(&self, offset: LogOffset, buffer: &mut [u8]) -> Result<(), Self::Error>;

    /// Returns the error for bytes at `offset` that are not what they should be.
    fn damaged(&self, offset: LogOffset, what: String) -> Self::Error;
}

/// The record of a transaction whose payload is in parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordInParts {
    /// Where the record is.
    pub(crate) offset: LogOffset,
    pub(crate) stamp: Stamp,
    /// How many writes all parts hold.
    pub(crate) writes: u32,
    pub(crate) named: InParts,
}

/// Gives all writes of a transaction to `each`, in the order in which they were encoded.
pub(crate) fn for_each_write<S: PartSource>(
    source: &S,
    record: &RecordInParts,
    mut each: impl FnMut(LoggedWrite<'_>),
) -> Result<(), S::Error> {
    let (mut waiting, mut buffer) = (Vec::new(), Vec::new());
    let (mut found, mut sum, mut writes) = (InParts { bytes: 0, parts: 0, ..record.named }, PayloadSum::new(), 0);
    for Place { offset, length } in places(source, record)? {
        buffer.resize(length, 0);
        source.read(offset, &mut buffer)?;
        let entry = record::parse::<Stamp>(&buffer, source.log().seal(offset), RecordLayout::Compact);
        let part = match entry.map_err(|error| source.damaged(offset, error.to_string()))? {
            Entry::Part(part) => part,
            _ => return Err(source.damaged(offset, "it is no part of a transaction".to_owned())),
        };
        if part.header().position != found.bytes {
            return Err(source.damaged(offset, "it changed while it was read".to_owned()));
        }
        found.bytes += u64::from(part.header().bytes);
        found.parts += 1;
        sum.add(part.content());
        waiting.extend_from_slice(part.content());

        let mut rest = &waiting[..];
        while let Ok((write, behind)) = record.named.form.split(rest) {
            rest = behind;
            writes += 1;
            each(write);
        }
        let left = rest.len();
        waiting.drain(..waiting.len() - left);
    }
    found.checksum = sum.value();
    let is_whole = found == record.named && waiting.is_empty() && writes == record.writes;
    if faults::is_whole(is_whole) {
        return Ok(());
    }
    let RecordInParts { offset, writes: named, .. } = record;
    let what =
        format!("the record there names {named} writes in {:?}, but there are {writes} in {found:?}", record.named);
    Err(source.damaged(*offset, what))
}

/// Where a part is.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: LogOffset,
    length: usize,
}

/// Returns where the parts are that `record` names, the first one first. Only what leads from one to the next was checked.
fn places<S: PartSource>(source: &S, record: &RecordInParts) -> Result<Vec<Place>, S::Error> {
    let InParts { first, last, .. } = record.named;
    let (mut places, mut offset, mut end, mut behind) = (Vec::new(), last, None, record.offset);
    loop {
        let damaged = |what: String| Err(source.damaged(offset, what));
        if offset >= record.offset || !offset.0.is_multiple_of(record::ALIGNMENT as u64) {
            return damaged(format!("the record at {} cannot have a part there", record.offset));
        }
        let mut header = [0; part::HEADER_BYTES];
        source.read(offset, &mut header)?;
        let (header, length) = match part::peek(&header) {
            Ok(peeked) => peeked,
            Err(error) => return damaged(format!("{error}; the record at {} names a part there", record.offset)),
        };
        let follows = header.position.saturating_add(u64::from(header.bytes));
        if header.first != first || end.is_some_and(|end| end != follows) {
            return damaged(format!("a part of {} up to byte {follows}, not of {first} up to {end:?}", header.first));
        }
        if offset.0 + length as u64 > behind.0 {
            return damaged(format!("a part of {length} bytes there reaches beyond {behind}"));
        }
        places.push(Place { offset, length });
        if header.position == 0 {
            break;
        }
        if header.previous >= offset {
            return damaged("the part before it lies behind it".to_owned());
        }
        (behind, offset, end) = (offset, header.previous, Some(header.position));
    }
    if offset != first {
        return Err(source.damaged(offset, format!("the first part lies there and not at {first}")));
    }
    places.reverse();
    Ok(places)
}

#[cfg(test)]
#[path = "parts_reader_tests.rs"]
mod tests;
