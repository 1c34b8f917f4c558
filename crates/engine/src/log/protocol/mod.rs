//! The log protocols. Each folder holds the same files, so that comparing two folders compares two papers; only `none` has no
//! `frontier.rs`, because it has no stream whose frontier could move:
//!
//! | | depends on | stamp | frontier | cut: lives | replay order |
//! |---|---|---|---|---|---|
//! | none | `raw_dep`, not recorded | `max(base) + 1` | everything, at once | no record | no record |
//! | serial | `raw_dep` | LSN: the record's end in the log | the contiguous durable end | what can be read | any |
//! | poplar | `raw_dep` | SSN: `max(base, stream) + 1` | `CSN = min DSN` | `stamp` or `raw_dep <= RSNe` | any |
//! | silo | `raw_dep` | TID: `max(base, stream, epoch)` + 1 | `D`, whole epochs | `stamp <= D` | any |
//! | gsn | `raw_dep` | GSN: `max(base, readers, stream) + 1` | `CSN = min DSN` | `stamp <= RSNe` | any |
//! | plover | `raw_dep` | GSN: `max(base, streams) + 1` | `CSN = min DSN` | `stamp <= RSNe` | any |
//! | taurus | LSN vector | LSN: `max(base, readers, stream) + 1` | `PLV`: all `DSN` | `LV <= ELV` | any; commands by LV |
//!
//! `mod.rs` says what a transaction depends on and when it may be acknowledged; the other columns are files. The last two are the
//! protocol's rule for recovery, which finds generations of any protocol ([`recovery_rule`], [`replay_order`]).
//!
//! Beside them [`replayed`] is that of a recovery which runs transactions again: it orders them as they were ordered, and logs
//! nothing.
//!
//! Invariant: a protocol decides order, durability and what a crash leaves, and nothing else. Rings, files and waiting are the
//! same for all ([`CommitLog`](super::CommitLog)), and so is recovery.

pub(crate) mod faults;
pub(crate) mod gsn;
pub(crate) mod none;
pub(crate) mod plover;
pub(crate) mod poplar;
pub(crate) mod recovery_rule;
pub(crate) mod replay_order;
pub(crate) mod replayed;
pub(crate) mod serial;
pub(crate) mod silo;
pub(crate) mod taurus;

use osier_memory::KeyStamps;

use crate::error::LogError;
use crate::ids::{Epoch, Stamp, StreamId};
use crate::log::acknowledge::{Outcome, Requirement};
use crate::log::gathering::{Gathered, Gathering};
use crate::log::persist::Slot;
use plover::Partitions;
use recovery_rule::RecoveryRule;

/// When a commit draws its order number. All of its locks are held either way, and its epoch is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StampOrder {
    /// After it has validated what it read: no number and no room in the log is wasted.
    AfterValidation,
    /// Before it validates. Where all numbers are of one order, its number is then above that of what it overwrites *and* below
    /// that of what overwrites its reads.
    /// Where validation fails, a skip takes the place of the record. Commands need that; values do not.
    BeforeValidation,
}

/// A transaction that has committed, as far as the log is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Committed<D> {
    /// Its order number; zero where it logged nothing.
    pub(crate) stamp: Stamp,
    /// A stream with a record of it; that of its session where it has none.
    pub(crate) stream: StreamId,
    /// The epoch of its serialization point.
    pub(crate) epoch: Epoch,
    /// What it depends on.
    pub(crate) raw_dep: D,
}

impl<D: Gathered> Committed<D> {
    /// Returns what its receipt needs to know.
    pub(crate) fn outcome<P: LogProtocol<Dependency = D>>(&self, protocol: &P) -> Outcome {
        let rests_on = protocol.counted(self.raw_dep.greatest(), || Stamp::ZERO);
        assert!(self.stamp == Stamp::ZERO || self.stamp > rests_on, "a commit follows what it read");
        Outcome { stamp: self.stamp, epoch: self.epoch, requirement: protocol.requirement(self) }
    }
}

/// What protocols know of the dependencies of others.
pub(crate) type SourceOf<D> = <<D as Gathered>::Gathering as Gathering>::Source;

/// A log protocol: how commits are ordered, when they may be acknowledged, and by which rule a crash is recovered.
pub(crate) trait LogProtocol: Send + Sync + 'static {
    /// What a transaction depends on.
    type Dependency: Gathered;
    /// What recovery makes of the records of a crash.
    type Rule: RecoveryRule<Dependency = Self::Dependency>;
    /// Whether there are records.
    const IS_LOGGED: bool = true;

    /// When a commit draws its order number.
    #[inline]
    fn stamp_order(&self) -> StampOrder {
        StampOrder::AfterValidation
    }

    /// Returns the stamps up to which keys were read, where a commit's stamp is to be above those of everybody who read what it
    /// overwrites. `None`: the stamps say nothing of that, and reads leave no trace. A protocol that has them draws its
    /// stamps before validation ([`StampOrder::BeforeValidation`]).
    #[inline]
    fn read_stamps(&self) -> Option<&KeyStamps> {
        None
    }

    /// Returns what it knows of the dependencies of those whose rows a transaction reads.
    fn source(&self) -> &SourceOf<Self::Dependency>;

    /// Returns the stamp that a transaction rests on, as far as that counts for its own; `of_rows` leaves out what keys were
    /// absent.
    #[inline]
    fn counted(&self, base: Stamp, _of_rows: impl FnOnce() -> Stamp) -> Stamp {
        base
    }

    /// Returns the epoch that the versions of a commit are of, whose serialization point lies in `epoch`.
    #[inline]
    fn epoch(&self, epoch: Epoch) -> Epoch {
        epoch
    }

    /// Draws the order number of a commit and the room for its record, as one step.
    ///
    /// The caller holds every write lock; `base` is the greatest stamp of all that it read or overwrites, and of those who read
    /// what it overwrites where there are [`LogProtocol::read_stamps`]. `None` where the
    /// ring is full: see [`CommitLog::wait_for_room`](super::CommitLog::wait_for_room). The slot must be filled or skipped.
    /// Fails where the log failed or is closed, with nothing drawn.
    fn stamp(&self, stream: StreamId, base: Stamp, record_bytes: usize) -> Result<Option<Slot<'_>>, LogError>;

    /// Returns how the keys are divided among the streams, where a commit has a record in each stream whose keys it writes.
    /// `None`: it has one record, in the stream of its session.
    #[inline]
    fn partitions(&self) -> Option<&Partitions> {
        None
    }

    /// As [`LogProtocol::stamp`], for a commit with a record of so many bytes in each of several streams, in the order of their
    /// numbers: one order number for all of them. Only where there are [`LogProtocol::partitions`].
    fn stamp_shares(&self, shares: &[(StreamId, usize)], _base: Stamp) -> Result<Option<Vec<Slot<'_>>>, LogError> {
        unreachable!("no commit is divided among {} streams", shares.len())
    }

    /// Returns what must be durable before a transaction may be acknowledged.
    fn requirement(&self, committed: &Committed<Self::Dependency>) -> Requirement;
}
