//! The log record of one transaction: its order numbers, what it depends on, and a payload.
//!
//! ```text
//! length 4, checksum 4, stamp 8, count of writes and kind of payload, epoch, dependency, payload, zeros
//! ```
//!
//! Invariants:
//! - A record is a multiple of [`ALIGNMENT`] long, starts at such an offset and is contiguous.
//! - A record that [`parse`] accepts is well formed to its last byte: reading its payload cannot fail.
//! - The length is marked where the dependency is a vector.
//! - Whatever takes the place of a record without being one, a *skip*, is zero but for its length.
//!
//! Absent: the order numbers' meaning (the log protocol), payloads (payload/).

use std::fmt;
use std::marker::PhantomData;

use crate::ids::{Epoch, Stamp};
pub use crate::log::format::bytes::ALIGNMENT;
use crate::log::format::bytes::{u32_at, u64_at};
use crate::log::format::dependency::Dependency;
use crate::log::format::faults;
use crate::log::format::layout::RecordLayout;
use crate::log::format::part::{self, PART, PartError, PartReader};
use crate::log::format::payload::share::{self, Participants};
use crate::log::format::payload::{PayloadError, PayloadKind, PayloadReader};
use crate::log::format::seal::Seal;
use crate::log::format::varint::{put_varint, split_varint, varint_len};

/// The bit of the length that marks a skip.
pub const SKIP: u32 = 1 << 31;

/// The bit of the length that marks a record whose dependency is a vector.
const VECTOR: u32 = 1 << 29;
/// What the checksum of such a record differs by, so that a flipped mark is found.
const CHECKSUM_OF_VECTORS: u32 = u32::from_le_bytes(*b"LSNV");

/// Length, checksum and stamp: the length of what follows is known before the stamp is.
const STAMPED_BYTES: usize = 16;
/// The bits of the kind of payload below the count.
const KIND_BITS: u32 = 3;
/// The bytes between dependency and payload in [`RecordLayout::Fixed`]: epoch, count of writes, kind of payload.
const FIXED_REST_BYTES: usize = 16;

/// What stands before the payload of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader<D = Stamp> {
    /// The transaction's order number.
    pub stamp: Stamp,
    /// What the transaction depends on (docs/protocols.md).
    pub raw_dep: D,
    /// The epoch at the serialization point.
    pub epoch: Epoch,
    /// The number that a payload has in the header: of values, how many writes there are; of a command, how many arguments.
    pub write_count: u32,
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
    /// The checksum holds, and the payload is of a kind that this version does not know.
    #[error("its payload is of kind {tag}, which is not known")]
    PayloadKind {
        /// The number of the kind.
        tag: u8,
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

impl From<PayloadError> for RecordError {
    fn from(PayloadError { what }: PayloadError) -> RecordError {
        RecordError::Malformed { what }
    }
}

impl From<PartError> for RecordError {
    fn from(error: PartError) -> RecordError {
        match error {
            PartError::Checksum { found, expected } => RecordError::Checksum { found, expected },
            PartError::Malformed { what } => RecordError::Malformed { what },
        }
    }
}

impl<D: Dependency> RecordHeader<D> {
    /// Returns how many bytes stand before the payload. The stamp may be another one.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        let numbers = varint_len(u64::from(self.write_count) << KIND_BITS) + varint_len(self.epoch.0);
        STAMPED_BYTES + numbers + self.raw_dep.encoded_len()
    }
}

/// Returns the length of a record with this header, whatever its stamp, and a payload of so many bytes.
#[inline]
pub fn encoded_len<D: Dependency>(header: &RecordHeader<D>, payload_bytes: usize) -> usize {
    (header.encoded_len() + payload_bytes).next_multiple_of(ALIGNMENT)
}

/// Writes a record that fills `buffer` exactly and is sealed for its place; `payload` writes into the bytes that it is given
/// and returns how many of them it took.
#[inline]
pub fn encode<D: Dependency>(
    buffer: &mut [u8],
    header: &RecordHeader<D>,
    kind: PayloadKind,
    seal: Seal,
    payload: impl FnOnce(&mut [u8]) -> usize,
) {
    let header_bytes = header.encoded_len();
    assert!(buffer.len() >= header_bytes && buffer.len().is_multiple_of(ALIGNMENT), "{} bytes", buffer.len());
    assert!(buffer.len() < VECTOR as usize, "{} bytes", buffer.len());
    assert!(header.stamp > Stamp::ZERO && header.stamp <= Stamp::MAX, "stamp {}", header.stamp);
    let greatest = header.raw_dep.greatest();
    assert!(greatest < header.stamp, "stamp {} depends on {greatest}", header.stamp);
    let (mark, marked) = if header.raw_dep.is_vector() { (VECTOR, CHECKSUM_OF_VECTORS) } else { (0, 0) };
    let length = buffer.len() as u32 | mark;
    buffer[..4].copy_from_slice(&length.to_le_bytes());
    buffer[8..16].copy_from_slice(&header.stamp.0.to_le_bytes());
    assert!(kind.tag() < 1 << KIND_BITS, "{kind:?} has no room");
    let mut at = STAMPED_BYTES;
    at += put_varint(&mut buffer[at..], u64::from(header.write_count) << KIND_BITS | u64::from(kind.tag()));
    at += put_varint(&mut buffer[at..], header.epoch.0);
    header.raw_dep.encode(&mut buffer[at..header_bytes]);
    let written = payload(&mut buffer[header_bytes..]);
    let padding = &mut buffer[header_bytes + written..];
    assert!(padding.len() < ALIGNMENT, "{} bytes left over", padding.len());
    padding.fill(0);
    let checksum = seal.checksum(&buffer[8..]) ^ marked;
    buffer[4..8].copy_from_slice(&checksum.to_le_bytes());
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
pub enum Entry<'a, D: Dependency = Stamp> {
    /// A transaction.
    Record(RecordReader<'a, D>),
    /// A part of a large transaction, which a later record may name.
    Part(PartReader<'a>),
    /// Nothing, for so many bytes.
    Skip(usize),
}

impl<D: Dependency> Entry<'_, D> {
    /// How many bytes it takes.
    pub fn len(&self) -> usize {
        match self {
            Entry::Record(record) => record.len(),
            Entry::Part(part) => part.len(),
            Entry::Skip(length) => *length,
        }
    }

    /// Never: an entry has a length.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// Reads the entry at the start of `bytes`, which may go on behind it, and checks it wholly.
pub fn parse<D: Dependency>(bytes: &[u8], seal: Seal, layout: RecordLayout) -> Result<Entry<'_, D>, RecordError> {
    let word = match bytes.get(..4) {
        Some(word) => u32_at(word, 0),
        None => return Err(RecordError::Room { length: 4, room: bytes.len() }),
    };
    // There are no parts in the earlier layout, nor records of such a length.
    let mark = if word & SKIP != 0 {
        SKIP
    } else if layout == RecordLayout::Compact {
        (PART | VECTOR) & word
    } else {
        0
    };
    let length = word & !mark;
    if length == 0 || !(length as usize).is_multiple_of(ALIGNMENT) {
        return Err(RecordError::Length { length: word });
    }
    let bytes = bytes.get(..length as usize).ok_or(RecordError::Room { length, room: bytes.len() })?;
    if word & SKIP != 0 {
        // A flipped bit must not turn a record into a skip: a record has a stamp, a skip holds nothing.
        let empty = bytes[4..].iter().all(|byte| *byte == 0);
        return if empty { Ok(Entry::Skip(bytes.len())) } else { Err(RecordError::Skip { length }) };
    }
    if mark & PART != 0 {
        return Ok(Entry::Part(part::parse(bytes, seal)?));
    }
    if bytes.len() <= STAMPED_BYTES {
        return Err(RecordError::Length { length });
    }
    let marked = if mark == VECTOR { CHECKSUM_OF_VECTORS } else { 0 };
    let (found, expected) = (u32_at(bytes, 4), seal.checksum(&bytes[8..]) ^ marked);
    if faults::is_unsound(found != expected) {
        return faults::unsound(RecordError::Checksum { found, expected }, Entry::Skip(bytes.len()));
    }
    let record = RecordReader { bytes, layout, dependency: PhantomData };
    record.check()?;
    Ok(Entry::Record(record))
}

/// A valid record.
#[derive(Clone, Copy)]
pub struct RecordReader<'a, D: Dependency = Stamp> {
    bytes: &'a [u8],
    layout: RecordLayout,
    dependency: PhantomData<D>,
}

/// A record's header, the number of its kind of payload, and its payload with the padding.
type Parts<'a, D> = (RecordHeader<D>, u8, &'a [u8]);

impl<'a, D: Dependency> RecordReader<'a, D> {
    /// Returns the record that `bytes` are, which [`parse`] has found sound.
    pub(crate) fn of_checked(bytes: &'a [u8], layout: RecordLayout) -> RecordReader<'a, D> {
        RecordReader { bytes, layout, dependency: PhantomData }
    }

    /// Returns the order numbers.
    pub fn header(&self) -> RecordHeader<D> {
        self.decode().expect("parse checked the header").0
    }

    /// How many bytes it takes.
    #[expect(clippy::len_without_is_empty, reason = "a record has a length")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the kind of the payload.
    pub fn kind(&self) -> PayloadKind {
        let (_, tag, _) = self.decode().expect("parse checked the header");
        PayloadKind::of(tag).expect("parse checked the kind of the payload")
    }

    /// Returns the streams that hold the records of its transaction, where there are several.
    pub fn participants(&self) -> Option<Participants> {
        let (_, tag, payload) = self.decode().expect("parse checked the header");
        let kind = PayloadKind::of(tag).expect("parse checked the kind of the payload");
        kind.is_share().then(|| share::participants(payload))
    }

    /// Returns the payload.
    pub fn payload(&self) -> PayloadReader<'a> {
        let (header, tag, payload) = self.decode().expect("parse checked the header");
        let kind = PayloadKind::of(tag).expect("parse checked the kind of the payload");
        PayloadReader::new(kind, payload, header.write_count, self.layout)
    }

    /// `None` where the record is too short or a number in it makes no sense.
    #[inline]
    fn decode(&self) -> Option<Parts<'a, D>> {
        let stamp = Stamp(u64_at(self.bytes, 8));
        let rest = &self.bytes[STAMPED_BYTES..];
        match self.layout {
            RecordLayout::Fixed => {
                let (raw_dep, rest) = D::split_fixed(rest)?;
                let (numbers, payload) = rest.split_at_checked(FIXED_REST_BYTES)?;
                let (epoch, write_count) = (Epoch(u64_at(numbers, 0)), u32_at(numbers, 8));
                let tag = u8::try_from(u32_at(numbers, 12)).unwrap_or(u8::MAX);
                Some((RecordHeader { stamp, raw_dep, epoch, write_count }, tag, payload))
            }
            RecordLayout::Compact => {
                let (head, rest) = split_varint(rest)?;
                let (epoch, rest) = split_varint(rest)?;
                let is_vector = u32_at(self.bytes, 0) & VECTOR != 0;
                let (raw_dep, payload) = D::split(rest, is_vector)?;
                let tag = head as u8 & ((1 << KIND_BITS) - 1);
                let (epoch, write_count) = (Epoch(epoch), u32::try_from(head >> KIND_BITS).ok()?);
                Some((RecordHeader { stamp, raw_dep, epoch, write_count }, tag, payload))
            }
        }
    }

    fn check(&self) -> Result<(), RecordError> {
        let malformed = |what| Err(RecordError::Malformed { what });
        let Some((header, tag, payload)) = self.decode() else { return malformed("its header is cut short") };
        if header.stamp == Stamp::ZERO || header.stamp > Stamp::MAX {
            return malformed("the stamp is out of range");
        }
        if header.raw_dep.greatest() >= header.stamp {
            return malformed("it depends on what came after it");
        }
        // Of the earlier layout there is one kind.
        let is_known = |kind: &PayloadKind| self.layout == RecordLayout::Compact || *kind == PayloadKind::Values;
        let kind = PayloadKind::of(tag).filter(is_known).ok_or(RecordError::PayloadKind { tag })?;
        let padding = &payload[kind.check(payload, header.write_count, self.layout)?..];
        if padding.len() >= ALIGNMENT {
            return malformed("it is longer than its payload");
        }
        if padding.iter().any(|byte| *byte != 0) {
            return malformed("its padding is not empty");
        }
        Ok(())
    }
}

impl<D: Dependency> fmt::Debug for RecordReader<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordReader").field("bytes", &self.bytes.len()).field("header", &self.header()).finish()
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
