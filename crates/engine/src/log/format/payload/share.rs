//! The payload of one of several records of a transaction, each in another stream: which streams these are, and then the rows
//! that it wrote in the partition of this one.
//!
//! ```text
//! participants v: bit i stands for stream i
//! the writes: as in a payload of values, or of images
//! ```
//!
//! Invariant: there are at least two participants. A transaction of one partition has a record as any other.
//!
//! Absent: which rows belong to which stream (log/protocol/plover/partitions.rs).

use super::PayloadError;
use crate::ids::StreamId;
use crate::log::format::varint::{put_varint, split_varint, varint_len};

/// The streams that hold the records of one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Participants(u64);

impl Participants {
    /// How many bytes a set takes at most.
    pub(crate) const ENCODED_BYTES_MAX: usize = 10;

    /// Returns the set of these streams, of which there are at most 64.
    pub fn of(streams: impl IntoIterator<Item = StreamId>) -> Participants {
        Participants(streams.into_iter().fold(0, |set, StreamId(stream)| set | 1 << stream))
    }

    /// Returns how many there are.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether a stream is one of them.
    pub fn has(self, stream: StreamId) -> bool {
        self.0 >> stream.0 & 1 == 1
    }

    /// Returns the one with the least number.
    pub fn first(self) -> StreamId {
        StreamId(self.0.trailing_zeros())
    }

    /// Returns them in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = StreamId> {
        (0..u64::BITS).map(StreamId).filter(move |stream| self.has(*stream))
    }

    /// Returns a number that another set has another one of.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Returns how many bytes it takes.
    pub(crate) fn encoded_len(self) -> usize {
        varint_len(self.0)
    }

    /// Writes it to the start of `buffer`, and returns how many bytes it took.
    pub(crate) fn encode(self, buffer: &mut [u8]) -> usize {
        assert!(self.count() > 1, "a share of {} participants", self.count());
        put_varint(buffer, self.0)
    }

    /// The participants at the start of `bytes`, and what is behind them.
    fn split(bytes: &[u8]) -> Result<(Participants, &[u8]), PayloadError> {
        let (set, rest) = split_varint(bytes).ok_or(PayloadError { what: "its participants are cut short" })?;
        let participants = Participants(set);
        if participants.count() < 2 {
            return Err(PayloadError { what: "a share has no other one" });
        }
        Ok((participants, rest))
    }
}

/// Checks that `bytes` begin with a share and returns how many of them it takes; `writes` says so of the writes in it.
pub(in crate::log::format) fn check(
    bytes: &[u8],
    writes: impl FnOnce(&[u8]) -> Result<usize, PayloadError>,
) -> Result<usize, PayloadError> {
    let (_, rest) = Participants::split(bytes)?;
    Ok(bytes.len() - rest.len() + writes(rest)?)
}

/// Returns the participants of a share, which [`check`] has accepted.
pub(in crate::log::format) fn participants(bytes: &[u8]) -> Participants {
    Participants::split(bytes).expect("the payload was checked").0
}

/// Returns what is behind the participants of a share, which [`check`] has accepted.
pub(super) fn behind(bytes: &[u8]) -> &[u8] {
    Participants::split(bytes).expect("the payload was checked").1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_names_at_least_two_streams() {
        let participants = Participants::of([StreamId(63), StreamId(0), StreamId(5)]);
        assert!(participants.iter().eq([0, 5, 63].map(StreamId)));
        assert_eq!((participants.count(), participants.first()), (3, StreamId(0)));
        let mut bytes = vec![0xee; participants.encoded_len() + 2];
        assert_eq!(participants.encode(&mut bytes), bytes.len() - 2);
        assert_eq!(check(&bytes, |rest| Ok(rest.len() - 1)), Ok(bytes.len() - 1));
        assert_eq!(super::participants(&bytes), participants);
        assert_eq!(behind(&bytes), [0xee; 2]);
        for alone in [0u64, 4] {
            let mut bytes = [0; 1];
            put_varint(&mut bytes, alone);
            assert!(check(&bytes, |_| Ok(0)).is_err(), "{alone:b}");
        }
        assert!(check(&[0xff; 3], |_| Ok(0)).is_err());
    }
}
