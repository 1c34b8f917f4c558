//! A commit whose record is divided among streams: one record for each stream in whose partition of the keys it writes (Plover).
//!
//! Invariants:
//! - The records have one stamp, one epoch and one dependency, and each names all streams that have one.
//! - A commit with rows of one partition has one record as any other, in the stream of that.
//! - What is in parts, being too large for a record, is not divided: the record that names the parts is one.
//!
//! Absent: how keys are divided (log/protocol/plover/partitions.rs), what a record of several looks like
//! (log/format/payload/share.rs).

use smallvec::SmallVec;

use super::debt::LogEntry;
use crate::ids::{Stamp, StreamId};
use crate::log::format::dependency::Dependency;
use crate::log::format::payload::share::Participants;
use crate::log::format::record::{self, RecordHeader};
use crate::log::persist::Slot;
use crate::log::protocol::plover::Partitions;

/// The size of what is to be logged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prepared {
    pub(crate) bytes: usize,
    pub(crate) write_count: u32,
}

impl Prepared {
    /// What the log gets, if it is values.
    pub(crate) fn as_values(self) -> LogEntry {
        match self.write_count {
            0 => LogEntry::Nothing,
            rows => LogEntry::Values { rows: rows.into(), bytes: self.bytes as u64 },
        }
    }
}

/// How much of a transaction a record holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent<'s> {
    /// Everything.
    Whole,
    /// The rows of one partition.
    Share(&'s Partitions, StreamId),
}

impl Extent<'_> {
    /// Whether the row with this key is in it.
    #[inline]
    pub(crate) fn holds(self, key: &[u8]) -> bool {
        match self {
            Extent::Whole => true,
            Extent::Share(partitions, stream) => partitions.of(key) == stream,
        }
    }
}

/// What of a payload each stream gets, in the order of their numbers; empty where it is not divided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares(SmallVec<[(StreamId, Prepared); 4]>);

impl Shares {
    /// Divides rows, each of which is logged with so many bytes.
    pub(super) fn of<'w>(partitions: &Partitions, rows: impl Iterator<Item = (&'w [u8], usize)>) -> Shares {
        let mut all: SmallVec<[_; 4]> =
            (0..partitions.count()).map(|stream| (StreamId(stream), Prepared::default())).collect();
        for (key, bytes) in rows {
            let (_, share) = &mut all[partitions.of(key).0 as usize];
            share.bytes += bytes;
            share.write_count += 1;
        }
        all.retain(|(_, share)| share.write_count > 0);
        Shares(all)
    }

    /// Whether there is a record for each stream.
    pub(super) fn are_divided(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns the streams.
    pub(super) fn participants(&self) -> Participants {
        Participants::of(self.0.iter().map(|(stream, _)| *stream))
    }

    /// Returns the streams, and what each gets.
    pub(super) fn iter(&self) -> impl Iterator<Item = (StreamId, Prepared)> {
        self.0.iter().copied()
    }

    /// Returns how long each record becomes, under a header like this one.
    pub(super) fn record_bytes<D: Dependency>(&self, header: &RecordHeader<D>) -> Vec<(StreamId, usize)> {
        let participants = self.named();
        let named_bytes = participants.map_or(0, Participants::encoded_len);
        let of_share = |(stream, share): (StreamId, Prepared)| {
            let header = RecordHeader { write_count: share.write_count, ..header.clone() };
            (stream, record::encoded_len(&header, named_bytes + share.bytes))
        };
        self.iter().map(of_share).collect()
    }

    /// The streams, where there are several: then each record names them.
    pub(super) fn named(&self) -> Option<Participants> {
        (self.0.len() > 1).then(|| self.participants())
    }
}

/// What is to be logged of a transaction, in records of what length.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    pub(crate) prepared: Prepared,
    /// Of the record; its header may be shorter.
    pub(crate) record_bytes_max: usize,
    /// What of it each stream gets, where it is divided.
    pub(super) shares: Shares,
}

impl Admitted {
    /// Returns a stream that gets a record; `own` is that of the session.
    pub(super) fn stream(&self, own: StreamId) -> StreamId {
        self.shares.iter().next().map_or(own, |(first, _)| first)
    }

    /// Returns the streams in which there must be room, and for how many bytes at most; `own` is that of the session.
    pub(crate) fn rooms(&self, own: StreamId) -> Vec<(StreamId, usize)> {
        match self.shares.are_divided() {
            true => self.shares.iter().map(|(stream, _)| (stream, self.record_bytes_max)).collect(),
            false => vec![(own, self.record_bytes_max)],
        }
    }
}

/// The room for the records of a commit, under one order number.
#[must_use = "an unfilled slot is a hole in the log"]
pub(super) struct Slots<'l> {
    first: Slot<'l>,
    /// Of the shares after the first one.
    others: Vec<Slot<'l>>,
}

impl<'l> Slots<'l> {
    /// Returns the room for one record.
    #[inline]
    pub(super) fn one(slot: Slot<'l>) -> Slots<'l> {
        Slots { first: slot, others: Vec::new() }
    }

    /// Returns the order number.
    #[inline]
    pub(super) fn stamp(&self) -> Stamp {
        self.first.stamp()
    }

    /// Returns the room for shares, of which there is at least one.
    pub(super) fn of_shares(mut slots: Vec<Slot<'l>>) -> Slots<'l> {
        let first = slots.remove(0);
        Slots { first, others: slots }
    }
}

impl<'l> IntoIterator for Slots<'l> {
    type Item = Slot<'l>;
    type IntoIter = std::iter::Chain<std::iter::Once<Slot<'l>>, std::vec::IntoIter<Slot<'l>>>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self.first).chain(self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_sees_to_a_stream_that_has_a_record() {
        let (partitions, own) = (Partitions::new(4), StreamId(2));
        for key in 0..64_u8 {
            let keys = [[key], [key ^ 0x55]];
            let shares = Shares::of(&partitions, keys.iter().map(|key| (&key[..], 10)));
            let divided = Admitted { prepared: Prepared::default(), record_bytes_max: 100, shares };
            assert!(keys.iter().any(|key| partitions.of(key) == divided.stream(own)));
            let whole = Admitted { shares: Shares::default(), ..divided };
            assert_eq!(whole.stream(own), own);
        }
    }
}
