//! What a pass over the log counted of one generation.

use osier_memory::KeyHash;

use super::base::Base;
use crate::directory::manifest::NEVER;
use crate::ids::{Epoch, Stamp, StreamId, WallTime};
use crate::log::format::dependency::Dependency;
use crate::log::format::payload::PayloadKind;
use crate::log::format::payload::share::Participants;
use crate::log::format::record::{RecordHeader, RecordReader};

/// What was read of one generation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    pub(crate) bytes: u64,
    pub(crate) batches: u64,
    pub(crate) records: u64,
    pub(crate) replayed: u64,
    /// Of these, how many are commands.
    pub(crate) commands: u64,
    /// In the checkpoint already.
    pub(crate) covered: u64,
    /// After the epoch that the database is taken back to now.
    pub(crate) after: u64,
    /// After an epoch that it was taken back to before.
    pub(crate) given_up: u64,
    /// In the replayed records; what commands wrote is not in them.
    pub(crate) writes: u64,
    pub(crate) replayed_bytes: u64,
    /// Of the replayed records.
    pub(crate) shares: SharesSum,
    pub(crate) max_stamp: Stamp,
    pub(crate) min_epoch: Epoch,
    pub(crate) max_epoch: Epoch,
    /// The least epoch of a record that is not beyond the cut, in a batch that was closed after
    /// [`LogScan::time`](super::log_scan::LogScan::time).
    pub(crate) late: Epoch,
    /// The greatest epoch of such a record in a batch that does not say when it was closed.
    pub(crate) untimed: Epoch,
    /// When the last batch was closed.
    pub(crate) closed: WallTime,
    /// By then everything in the checkpoint was durable: when a batch was closed that knew so.
    pub(crate) borne_out: WallTime,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            bytes: 0,
            batches: 0,
            records: 0,
            replayed: 0,
            commands: 0,
            covered: 0,
            after: 0,
            given_up: 0,
            writes: 0,
            replayed_bytes: 0,
            shares: SharesSum::default(),
            max_stamp: Stamp::ZERO,
            min_epoch: NEVER,
            max_epoch: Epoch(0),
            late: NEVER,
            untimed: Epoch(0),
            closed: WallTime::UNKNOWN,
            borne_out: WallTime(u64::MAX),
        }
    }
}

/// What records that are one of several add up to, whoever reads them, in whatever order: zero where each transaction has all of
/// its records. The first one of a transaction adds what all others take away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SharesSum(u64);

impl SharesSum {
    /// Whether no record is without the others of its transaction.
    pub(crate) fn is_whole(self) -> bool {
        self.0 == 0
    }

    fn note(&mut self, stamp: Stamp, participants: Participants, stream: StreamId) {
        let mut transaction = [0; 16];
        transaction[..8].copy_from_slice(&stamp.0.to_le_bytes());
        transaction[8..].copy_from_slice(&participants.bits().to_le_bytes());
        let of_one = u64::from(KeyHash::of(&transaction).bits());
        self.0 = match stream == participants.first() {
            true => self.0.wrapping_add(of_one * u64::from(participants.count() - 1)),
            false => self.0.wrapping_sub(of_one),
        };
    }
}

impl Tally {
    /// Counts a record of `stream` that is replayed. Of a transaction that is in the checkpoint `held` some records may have
    /// been given up with the log before it.
    pub(super) fn replay<D: Dependency>(&mut self, record: &RecordReader<'_, D>, stream: StreamId, held: &Base) {
        let RecordHeader { stamp, write_count, epoch, .. } = record.header();
        self.replayed += 1;
        self.replayed_bytes += record.len() as u64;
        if let Some(participants) = record.participants().filter(|_| !held.covers(stamp, epoch)) {
            self.shares.note(stamp, participants, stream);
        }
        match record.kind() {
            PayloadKind::Command => self.commands += 1,
            PayloadKind::Values
            | PayloadKind::InParts
            | PayloadKind::Physiological
            | PayloadKind::PhysiologicalInParts
            | PayloadKind::Share
            | PayloadKind::PhysiologicalShare => self.writes += u64::from(write_count),
        }
    }

    /// Notes the epoch of a record.
    pub(super) fn note_epoch(&mut self, epoch: Epoch) {
        self.min_epoch = self.min_epoch.min(epoch);
        self.max_epoch = self.max_epoch.max(epoch);
    }

    /// Notes when the batch of a record that is not beyond the cut was closed; `time` is the one that is asked for.
    pub(super) fn note_closed(&mut self, epoch: Epoch, closed: WallTime, time: WallTime) {
        if closed > time {
            self.late = self.late.min(epoch);
        } else if closed == WallTime::UNKNOWN {
            self.untimed = self.untimed.max(epoch);
        }
    }

    /// Returns how many records are neither replayed nor covered nor after an epoch gone back to.
    pub(crate) fn beyond_cut(&self) -> u64 {
        let decided = self.replayed + self.covered + self.after + self.given_up;
        assert!(decided <= self.records, "{decided} fates of {} records", self.records);
        self.records - decided
    }

    /// Adds what another thread counted.
    pub(crate) fn add(&mut self, other: &Tally) {
        self.bytes += other.bytes;
        self.batches += other.batches;
        self.records += other.records;
        self.replayed += other.replayed;
        self.commands += other.commands;
        self.covered += other.covered;
        self.after += other.after;
        self.given_up += other.given_up;
        self.writes += other.writes;
        self.replayed_bytes += other.replayed_bytes;
        self.shares.0 = self.shares.0.wrapping_add(other.shares.0);
        self.max_stamp = self.max_stamp.max(other.max_stamp);
        self.min_epoch = self.min_epoch.min(other.min_epoch);
        self.max_epoch = self.max_epoch.max(other.max_epoch);
        self.late = self.late.min(other.late);
        self.untimed = self.untimed.max(other.untimed);
        self.closed = self.closed.max(other.closed);
        self.borne_out = self.borne_out.min(other.borne_out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_is_missing_is_noticed() {
        let streams = [0, 2, 5].map(StreamId);
        let participants = Participants::of(streams);
        let sum = |of: &[(u64, usize)]| {
            let mut sum = SharesSum::default();
            of.iter().for_each(|&(stamp, at)| sum.note(Stamp(stamp), participants, streams[at]));
            sum.is_whole()
        };
        assert!(sum(&[]) && sum(&[(7, 2), (9, 0), (7, 0), (9, 1), (7, 1), (9, 2)]));
        assert!(!sum(&[(7, 0)]) && !sum(&[(7, 1)]) && !sum(&[(7, 0), (7, 1)]) && !sum(&[(7, 1), (7, 2)]));
        assert!(!sum(&[(7, 0), (7, 1), (9, 2)]), "the share of another transaction");
    }
}
