//! How much memory the structures of one database hold, by kind.
//!
//! Every participant keeps a [`Tally`] of its own and folds it into the [`Account`] in pieces of [`FOLD_BYTES`], so that
//! nothing shared is written for a transaction.
//!
//! Invariants:
//! - Bytes are counted when a structure takes an allocation over, and taken off when that is freed, or handed out again, by
//!   whoever does it: what waits in limbo counts.
//! - The account differs from the truth by less than [`FOLD_BYTES`] of each kind for each participant, besides what it takes
//!   and frees under its present pin; where every participant has gone or reclaimed, by nothing.
//! - Counted is what was asked of the allocator.
//!
//! Deliberately absent: a limit, and what transactions have not installed yet.

use std::cell::Cell;

use crossbeam_utils::CachePadded;

use crate::sync::Counter;

/// A participant tells the account of so many bytes at once.
pub const FOLD_BYTES: u64 = 64 << 10;

/// What memory is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Versions, linked or waiting for their last reader.
    Rows,
    /// Records, those of deleted rows and of indexes included.
    Keys,
    /// Nodes of trees.
    Nodes,
    /// Versions that a snapshot keeps.
    Retained,
}

const KINDS: usize = 4;

/// Bytes held, by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Row images, those that wait for their last reader or to be written again included.
    pub rows: u64,
    /// Keys with their headers, also of index entries and of deleted rows that are not purged yet.
    pub keys: u64,
    /// Nodes of the ordered indexes.
    pub nodes: u64,
    /// Row images that are kept for a snapshot.
    pub retained: u64,
}

impl MemoryUse {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.rows + self.keys + self.nodes + self.retained
    }
}

/// What was taken and freed, and not told to anybody yet.
#[derive(Debug, Default)]
pub struct Tally([Cell<i64>; KINDS]);

impl Tally {
    #[inline]
    pub(crate) fn add(&self, kind: Kind, bytes: usize) {
        let cell = &self.0[kind as usize];
        cell.set(cell.get() + bytes as i64);
    }

    #[inline]
    pub(crate) fn take_off(&self, kind: Kind, bytes: usize) {
        let cell = &self.0[kind as usize];
        cell.set(cell.get() - bytes as i64);
    }

    pub(crate) fn turn(&self, from: Kind, to: Kind, bytes: usize) {
        self.take_off(from, bytes);
        self.add(to, bytes);
    }

    #[inline]
    fn is_due(&self) -> bool {
        self.0.iter().any(|cell| (cell.get() + FOLD_BYTES as i64) as u64 > 2 * FOLD_BYTES)
    }
}

/// What all participants of a clock have told.
#[derive(Default)]
pub(crate) struct Account {
    kinds: CachePadded<[Counter; KINDS]>,
    peak: Counter,
}

impl Account {
    /// Takes the tally over if it is worth it.
    #[inline]
    pub(crate) fn fold_due(&self, tally: &Tally) {
        if tally.is_due() {
            self.fold(tally);
        }
    }

    #[cold]
    pub(crate) fn fold(&self, tally: &Tally) {
        for (kind, told) in self.kinds.iter().zip(&tally.0) {
            kind.add(told.take());
        }
        self.peak.raise(self.total() as i64);
    }

    /// Cheap: one line that is seldom written.
    #[inline]
    pub(crate) fn total(&self) -> u64 {
        self.kinds.iter().map(Counter::get).sum::<i64>().max(0) as u64
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak.get().max(0) as u64
    }

    pub(crate) fn read(&self) -> MemoryUse {
        // What one participant took another may have freed, and told first.
        let kind = |kind: Kind| self.kinds[kind as usize].get().max(0) as u64;
        MemoryUse {
            rows: kind(Kind::Rows),
            keys: kind(Kind::Keys),
            nodes: kind(Kind::Nodes),
            retained: kind(Kind::Retained),
        }
    }
}
