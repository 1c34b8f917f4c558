//! A part of the payload of a transaction that is too large for one record: an entry of a stream, with a stamp, and no
//! transaction. The record of the transaction names its parts ([`InParts`](super::payload::in_parts::InParts)).
//!
//! Invariants:
//! - A part is a multiple of [`ALIGNMENT`] long, starts at such an offset and is contiguous, as a record is.
//! - Its number is the offset of the first part of its transaction, so that no two transactions of a stream share one.
//! - Each part names the one before it, so that the last one leads to all of them.
//! - No flipped bit makes a part of a record, or the other way round: their checksums differ.
//!
//! Absent: what the bytes of all parts together are (payload/), and how they are put together (parts_reader.rs).

use crate::ids::{LogOffset, Stamp};
use crate::log::format::bytes::{ALIGNMENT, u32_at, u64_at};
use crate::log::format::faults;
use crate::log::format::seal::Seal;

/// The bit of the length that marks a part.
pub const PART: u32 = 1 << 30;
/// What stands before the bytes of a part.
pub const HEADER_BYTES: usize = 48;

/// What distinguishes the checksum of a part from that of a record with the same bytes.
pub(crate) const CHECKSUM_OF_PARTS: u32 = u32::from_le_bytes(*b"PART");

/// What stands before the bytes of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartHeader {
    /// Its own order number in the stream.
    pub stamp: Stamp,
    /// The number of its transaction: the offset of the first part.
    pub first: LogOffset,
    /// The part before it; its own offset where it is the first one.
    pub previous: LogOffset,
    /// Where its bytes begin in the payload.
    pub position: u64,
    /// How many bytes of the payload it has.
    pub bytes: u32,
}

/// Why bytes are not a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// Damaged, or written at another place.
    #[error("the checksum is {found:08x} and should be {expected:08x}")]
    Checksum {
        /// The checksum in the part.
        found: u32,
        /// The checksum of its bytes at this place.
        expected: u32,
    },
    /// The content makes no sense.
    #[error("the part is malformed: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
}

/// Returns the length of a part of so many bytes.
pub fn encoded_len(bytes: usize) -> usize {
    (HEADER_BYTES + bytes).next_multiple_of(ALIGNMENT)
}

/// Returns how many bytes of a payload fit in a part of this length.
pub fn room(length: usize) -> usize {
    assert!(length > HEADER_BYTES && length.is_multiple_of(ALIGNMENT), "a part of {length} bytes");
    length - HEADER_BYTES
}

/// Writes a part that fills `buffer` exactly and is sealed for its place.
pub fn encode(buffer: &mut [u8], header: &PartHeader, seal: Seal, bytes: &[u8]) {
    assert!(!bytes.is_empty() && buffer.len() == encoded_len(bytes.len()), "{} bytes in {}", bytes.len(), buffer.len());
    assert!(buffer.len() < PART as usize && bytes.len() == header.bytes as usize, "{header:?}");
    assert!(header.stamp > Stamp::ZERO && header.stamp <= Stamp::MAX, "{header:?}");
    assert!(header.first <= header.previous, "{header:?}");
    let length = buffer.len() as u32 | PART;
    buffer[..4].copy_from_slice(&length.to_le_bytes());
    buffer[8..16].copy_from_slice(&header.stamp.0.to_le_bytes());
    buffer[16..24].copy_from_slice(&header.first.0.to_le_bytes());
    buffer[24..32].copy_from_slice(&header.previous.0.to_le_bytes());
    buffer[32..40].copy_from_slice(&header.position.to_le_bytes());
    buffer[40..44].copy_from_slice(&header.bytes.to_le_bytes());
    buffer[44..48].fill(0);
    buffer[HEADER_BYTES..HEADER_BYTES + bytes.len()].copy_from_slice(bytes);
    buffer[HEADER_BYTES + bytes.len()..].fill(0);
    let checksum = seal.checksum(&buffer[8..]) ^ CHECKSUM_OF_PARTS;
    buffer[4..8].copy_from_slice(&checksum.to_le_bytes());
}

/// Reads the header at the start of `bytes` without its checksum, and the length of the part.
pub fn peek(bytes: &[u8]) -> Result<(PartHeader, usize), PartError> {
    if bytes.len() < HEADER_BYTES {
        return Err(PartError::Malformed { what: "its header is cut short" });
    }
    let (word, zero) = (u32_at(bytes, 0), u32_at(bytes, 44));
    let header = PartHeader {
        stamp: Stamp(u64_at(bytes, 8)),
        first: LogOffset(u64_at(bytes, 16)),
        previous: LogOffset(u64_at(bytes, 24)),
        position: u64_at(bytes, 32),
        bytes: u32_at(bytes, 40),
    };
    let length = (word & !PART) as usize;
    let malformed = |what| Err(PartError::Malformed { what });
    if word & PART == 0 || header.bytes == 0 || header.bytes >= PART || length != encoded_len(header.bytes as usize) {
        return malformed("its length is none of a part");
    }
    if header.stamp == Stamp::ZERO || header.stamp > Stamp::MAX {
        return malformed("the stamp is out of range");
    }
    let is_first_with_another_before = header.position == 0 && header.previous != header.first;
    if zero != 0 || header.previous < header.first || is_first_with_another_before {
        return malformed("its header makes no sense");
    }
    Ok((header, length))
}

/// Reads the part that `bytes` are and checks it wholly.
pub(in crate::log::format) fn parse(bytes: &[u8], seal: Seal) -> Result<PartReader<'_>, PartError> {
    let (found, expected) = (u32_at(bytes, 4), seal.checksum(&bytes[8..]) ^ CHECKSUM_OF_PARTS);
    if faults::is_unsound(found != expected) {
        return Err(PartError::Checksum { found, expected });
    }
    let (header, length) = peek(bytes)?;
    if length != bytes.len() {
        return Err(PartError::Malformed { what: "it is longer than its bytes" });
    }
    let (content, padding) = bytes[HEADER_BYTES..].split_at(header.bytes as usize);
    if padding.iter().any(|byte| *byte != 0) {
        return Err(PartError::Malformed { what: "its padding is not empty" });
    }
    Ok(PartReader { header, content, length })
}

/// A valid part.
#[derive(Clone, Copy, Debug)]
pub struct PartReader<'a> {
    header: PartHeader,
    content: &'a [u8],
    length: usize,
}

impl<'a> PartReader<'a> {
    /// Returns what it is a part of, and where.
    pub fn header(&self) -> PartHeader {
        self.header
    }

    /// Returns its bytes of the payload.
    pub fn content(&self) -> &'a [u8] {
        self.content
    }

    /// How many bytes it takes.
    #[expect(clippy::len_without_is_empty, reason = "a part has a length")]
    pub fn len(&self) -> usize {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{DatabaseId, Generation, StreamId};
    use crate::log::format::LogIdentity;
    use crate::log::format::layout::RecordLayout;
    use crate::log::format::record::{self, Entry};

    const OFFSET: LogOffset = LogOffset(4160);

    fn seal() -> Seal {
        LogIdentity::new(DatabaseId(9), Generation(1), StreamId(0), 1).seal(OFFSET)
    }

    fn part(bytes: &[u8]) -> (PartHeader, Vec<u8>) {
        let header = PartHeader {
            stamp: Stamp(7),
            first: LogOffset(64),
            previous: LogOffset(2048),
            position: 1900,
            bytes: bytes.len() as u32,
        };
        let mut buffer = vec![0xff; encoded_len(bytes.len())];
        encode(&mut buffer, &header, seal(), bytes);
        (header, buffer)
    }

    #[test]
    fn a_part_is_read_as_it_was_written() {
        for length in [1, 7, 8, 9, 500] {
            let (header, bytes) = part(&vec![5; length]);
            let Ok(Entry::Part(read)) = record::parse::<Stamp>(&bytes, seal(), RecordLayout::Compact) else {
                panic!("{length} bytes")
            };
            assert_eq!((read.header(), read.len()), (header, bytes.len()));
            assert_eq!(read.content(), vec![5; length]);
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let (_, bytes) = part(&[5; 21]);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(record::parse::<Stamp>(&flipped, seal(), RecordLayout::Compact).is_err(), "bit {bit}");
        }
    }
}
