//! The backlog: transactions of the log that have to run again while the database is open already.
//!
//! Invariants (docs/protocols.md, "Instant recovery"):
//! - Whoever reads a row has waited for every transaction of the backlog that may write it; whoever writes one, for every
//!   transaction that may access it. Of a key whose turn that was the backlog accesses nothing any more.
//! - Checkpoints and changes of definitions wait for all of it.
//!
//! Absent: what is in the backlog, and who runs it (recovery/ordered/instant).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::faults;
use super::shared::Shared;
use crate::error::LogError;
use crate::table::{KeyBounds, Table};

/// The rows of a table that an access may come to.
#[derive(Clone, Copy)]
pub(crate) enum Reach<'k> {
    /// One, with this key.
    Key(&'k [u8]),
    /// Those whose keys lie between these, or whose entries of an index do. So many columns are the first ones of the primary key.
    Range(&'k KeyBounds, usize),
}

impl<'k> Reach<'k> {
    /// Returns what the keys of all these rows begin with, as far as the first `columns`; `None` where they do not begin alike.
    pub(crate) fn prefix(self, table: &Table, columns: usize) -> Option<&'k [u8]> {
        let (key, bounds) = match self {
            _ if columns == 0 => return None,
            Reach::Range(_, known) if known < columns => return None,
            Reach::Range(bounds, _) => (bounds.low.as_bytes(), Some(bounds)),
            Reach::Key(key) => (key, None),
        };
        let prefix = &key[..table.keys.prefix_len(key, columns).ok()?];
        faults::begin_alike(bounds.is_none_or(|bounds| bounds.begin_with(prefix))).then_some(prefix)
    }
}

/// What is done with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
}

/// What runs again of the log while the database is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BacklogMetrics {
    /// How many transactions it had when the database was opened.
    pub transactions: u64,
    /// How many of them have not run yet.
    pub left: u64,
    /// How often an access had to wait for some of them.
    pub waits: u64,
}

/// A backlog.
pub(crate) trait Backlog: Send + Sync {
    /// Waits until no transaction is left that this access has to wait for, and has those run first.
    ///
    /// # Errors
    /// The database is closed, or has failed.
    fn settle(&self, shared: &Shared, table: &Table, reach: Reach<'_>, to: Use) -> Result<(), LogError>;

    /// Waits until no transaction is left at all.
    ///
    /// # Errors
    /// As [`Backlog::settle`].
    fn settle_all(&self, shared: &Shared) -> Result<(), LogError>;

    /// What it had and has.
    fn metrics(&self) -> BacklogMetrics;
}

/// The backlog of a database, if it has one.
#[derive(Default)]
pub(crate) struct OfDatabase {
    is_there: AtomicBool,
    backlog: OnceLock<Arc<dyn Backlog>>,
}

impl OfDatabase {
    /// There is one, before anybody uses the database.
    pub(crate) fn begin(&self, backlog: Arc<dyn Backlog>) {
        assert!(self.backlog.set(backlog).is_ok(), "a database has one backlog");
        self.is_there.store(true, Ordering::Release);
    }

    /// All of it has run.
    pub(crate) fn is_done(&self) {
        self.is_there.store(false, Ordering::Release);
    }

    /// Returns it, until it is over.
    #[inline]
    pub(crate) fn get(&self) -> Option<&dyn Backlog> {
        if !self.is_there.load(Ordering::Acquire) {
            return None;
        }
        self.backlog.get().map(|backlog| &**backlog)
    }

    /// What it had and has.
    pub(crate) fn metrics(&self) -> BacklogMetrics {
        self.backlog.get().map_or_else(BacklogMetrics::default, |backlog| backlog.metrics())
    }
}

impl Shared {
    /// Before an access to rows: the backlog has none of them any more.
    ///
    /// # Errors
    /// As [`Backlog::settle`].
    #[inline]
    pub(super) fn settle(&self, table: &Table, reach: Reach<'_>, to: Use) -> Result<(), LogError> {
        match self.backlog.get().filter(|_| faults::settles(to)) {
            None => Ok(()),
            Some(backlog) => backlog.settle(self, table, reach, to),
        }
    }

    /// Waits until the backlog is over.
    ///
    /// # Errors
    /// As [`Backlog::settle`].
    pub(crate) fn settle_all(&self) -> Result<(), LogError> {
        self.backlog.get().map_or(Ok(()), |backlog| backlog.settle_all(self))
    }
}
