//! The checksum that ties bytes to one place in one log.
//!
//! Invariants:
//! - The same bytes have another checksum in another database, generation or stream and at another offset, so that what
//!   a recycled segment still holds from an earlier life never passes for a record.
//! - Computing it allocates nothing and reads the payload once.
//!
//! The payload goes through CRC-32C; the place goes through a 64-bit mix whose low half is added by exclusive or. A
//! CRC over the place as well would find the same errors and cost a second call for every small record.

use crate::ids::{DatabaseId, Generation, Incarnation, LogOffset, StreamId};
use crate::log::format::faults;

/// Which log: one stream of one generation of one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogIdentity {
    database: DatabaseId,
    generation: Generation,
    stream: StreamId,
    streams: u32,
    incarnation: Incarnation,
    salt: u64,
}

impl LogIdentity {
    /// Returns the log of `stream`, one of `streams`, in `generation`.
    pub fn new(database: DatabaseId, generation: Generation, stream: StreamId, streams: u32) -> LogIdentity {
        assert!(stream.0 < streams, "stream {stream} of {streams}");
        let database_salt = database_salt(database);
        let salt = mix(mix(database_salt ^ generation.0) ^ u64::from(stream.0));
        LogIdentity { database, generation, stream, streams, incarnation: Incarnation::NONE, salt }
    }

    /// Returns the same log as the open with this incarnation began it: copies of a database that were opened separately have
    /// generations of the same number.
    pub fn begun_by(self, incarnation: Incarnation) -> LogIdentity {
        LogIdentity { incarnation, ..self }
    }

    /// Returns the open that began the generation; [`Incarnation::NONE`] before there were identities.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Returns the database.
    pub fn database(&self) -> DatabaseId {
        self.database
    }

    /// Returns the generation.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Returns the stream.
    pub fn stream(&self) -> StreamId {
        self.stream
    }

    /// Returns how many streams the generation has.
    pub fn streams(&self) -> u32 {
        self.streams
    }

    /// Returns the seal of the record that starts at `offset`.
    pub fn seal(&self, offset: LogOffset) -> Seal {
        Seal(faults::seal(mix(self.salt ^ offset.0) as u32))
    }

    /// Returns the seal of batch headers. They name generation, stream and offset in the clear, so that a misplaced one can be
    /// reported for what it is.
    pub(crate) fn header_seal(&self) -> Seal {
        Seal(database_salt(self.database) as u32)
    }
}

/// One place in one log, as it enters a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal(u32);

impl Seal {
    /// Returns the seal of a block of a checkpoint's part, see docs/checkpoint-format.md.
    pub(crate) fn of_checkpoint(database: DatabaseId, checkpoint: u64, part: u32, block: u64) -> Seal {
        let salt = mix(mix(database_salt(database) ^ u64::from_le_bytes(*b"OSIERCKP")) ^ checkpoint);
        Seal(mix(mix(salt ^ u64::from(part)) ^ block) as u32)
    }

    /// Returns the checksum of `bytes` at this place.
    #[inline]
    pub fn checksum(self, bytes: &[u8]) -> u32 {
        crc_fast::crc32_iscsi(bytes) ^ self.0
    }
}

fn database_salt(database: DatabaseId) -> u64 {
    mix(mix(database.0 as u64) ^ (database.0 >> 64) as u64)
}

/// The finalizer of SplitMix64: a bijection in which every input bit changes every output bit with probability 1/2.
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(database: u128, generation: u64, stream: u32) -> LogIdentity {
        LogIdentity::new(DatabaseId(database), Generation(generation), StreamId(stream), 4)
    }

    #[test]
    fn every_part_of_the_place_changes_the_checksum() {
        let base = identity(7, 1, 0).seal(LogOffset(4096)).checksum(b"osier");
        let high = identity(7 | 1 << 100, 1, 0).seal(LogOffset(4096)).checksum(b"osier");
        assert_ne!(base, high);
        assert_ne!(base, identity(8, 1, 0).seal(LogOffset(4096)).checksum(b"osier"));
        assert_ne!(base, identity(7, 2, 0).seal(LogOffset(4096)).checksum(b"osier"));
        assert_ne!(base, identity(7, 1, 1).seal(LogOffset(4096)).checksum(b"osier"));
        assert_ne!(base, identity(7, 1, 0).seal(LogOffset(4104)).checksum(b"osier"));
        assert_ne!(base, identity(7, 1, 0).seal(LogOffset(4096)).checksum(b"Osier"));
    }

    #[test]
    fn the_definition_is_the_documented_one() {
        // docs/log-format.md gives these values; changing one changes the format.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(crc_fast::crc32_iscsi(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn seals_of_neighbouring_places_do_not_repeat() {
        let mut seen = std::collections::HashSet::new();
        for generation in 1..5 {
            for stream in 0..4 {
                for block in 0..256 {
                    seen.insert(identity(3, generation, stream).seal(LogOffset(block * 8)).0);
                }
            }
        }
        assert!(seen.len() >= 4 * 4 * 256 - 1, "{} of {}", seen.len(), 4 * 4 * 256);
    }
}
