//! The backlog: transactions of the log that have to run again while the database is open already.
//!
//! Invariants (docs/protocols.md, "Instant recovery"):
//! - Whoever reads a row has waited for every transaction of the backlog that may write it; whoever writes one, for every
//!   transaction that may access it. Of a key whose turn that was the backlog accesses nothing any more.
//! - Checkpoints and changes of definitions wait for all of it.
//!
//! Absent: what is in the backlog, and who runs it (recovery/ordered/instant).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use osier_memory::sync::{Mutex, lock};

use crate::concurrency::Intent;
use crate::error::{Error, LogError};
use crate::table::{KeyBounds, Table};

/// The rows of a table that an access may come to.
#[derive(Clone, Copy)]
pub(crate) enum Reach<'k> {
    /// One, with this key.
    Key(&'k [u8]),
    /// Those whose keys lie between these, or whose entries of an index do. So many columns are the first ones of the primary
    /// key.
    Range(&'k KeyBounds, usize),
}

/// What is done with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
}

impl Use {
    /// That of an access with this intent: who locks a row to write it waits as if he wrote it at once.
    pub(crate) fn of(intent: Intent) -> Use {
        if intent == Intent::Write { Use::Write } else { Use::Read }
    }
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

/// Says why who waits for the backlog may not wait any longer.
pub(crate) type GoesOn<'d> = &'d dyn Fn() -> Result<(), LogError>;

/// A backlog.
pub(crate) trait Backlog: Send + Sync {
    /// Waits until no transaction is left that this access has to wait for, and has those run first.
    ///
    /// # Errors
    /// The database is closed, or has failed; [`BacklogTimeout`](crate::error::TransactionError::BacklogTimeout) where the task
    /// is to end.
    fn settle(&self, goes_on: GoesOn<'_>, table: &Table, reach: Reach<'_>, to: Use) -> Result<(), Error>;

    /// Waits until no transaction is left at all.
    ///
    /// # Errors
    /// As [`Backlog::settle`].
    fn settle_all(&self, goes_on: GoesOn<'_>) -> Result<(), Error>;

    /// What it had and has.
    fn metrics(&self) -> BacklogMetrics;
}

/// The backlog of a database, if it has one.
#[derive(Default)]
pub(crate) struct OfDatabase {
    is_there: AtomicBool,
    backlog: Mutex<Option<Arc<dyn Backlog>>>,
    /// When it was over.
    last: Mutex<BacklogMetrics>,
}

impl OfDatabase {
    /// There is one, before anybody uses the database.
    pub(crate) fn begin(&self, backlog: Arc<dyn Backlog>) {
        assert!(lock(&self.backlog).replace(backlog).is_none(), "a database has one backlog");
        self.is_there.store(true, Ordering::Release);
    }

    /// All of it has run; its memory is free when nobody waits for it any more.
    pub(crate) fn is_done(&self) {
        let backlog = lock(&self.backlog).take();
        if let Some(backlog) = backlog {
            *lock(&self.last) = backlog.metrics();
        }
        self.is_there.store(false, Ordering::Release);
    }

    /// Whether there is one that is not over.
    #[inline]
    pub(crate) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Acquire)
    }

    /// Returns it, until it is over.
    #[inline]
    pub(crate) fn get(&self) -> Option<Arc<dyn Backlog>> {
        if self.is_there() { lock(&self.backlog).clone() } else { None }
    }

    /// What it had and has.
    pub(crate) fn metrics(&self) -> BacklogMetrics {
        self.get().map_or_else(|| *lock(&self.last), |backlog| backlog.metrics())
    }
}
