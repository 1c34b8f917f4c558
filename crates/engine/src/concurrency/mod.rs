//! Seam 1: how transactions are kept apart. A [`ConcurrencyControl`] is the state of one transaction; the spine of
//! `transaction/lifecycle.rs` calls its steps in the order in which they stand here.

pub(crate) mod optimistic;

use osier_memory::{Held, Interval, LeafChange, LeafRead, Pin, Record, Stamp, Version};

use crate::transaction::TransactionError;
use crate::transaction::write_set::WriteSet;

/// What a read found.
pub(crate) enum Found<'a> {
    /// A row.
    Present(&'a Version),
    /// No row: never there, deleted, or not yet committed.
    Absent,
    /// The record has left the index: look the key up again.
    Gone,
}

/// The steps of one concurrency control scheme, for one transaction at a time.
pub(crate) trait ConcurrencyControl: Default {
    /// Forgets the previous transaction.
    fn begin(&mut self);

    /// Observes a record's content or absence.
    fn read<'a>(&mut self, pin: &'a Pin<'_>, record: Held<Record>) -> Found<'a>;

    /// Observes only that a row exists, for a write that replaces all of it (Poplar's *birth* rule).
    fn read_existence<'a>(&mut self, pin: &'a Pin<'_>, record: Held<Record>) -> Found<'a>;

    /// Observes an absence or a stretch of a range.
    fn scan(&mut self, leaf: LeafRead);

    /// Depends on what committed with `stamp`, which the caller validates by other means.
    fn depend(&mut self, stamp: Stamp);

    /// The transaction indexed a placeholder of its own, absent as of `stamp`.
    fn inserted(&mut self, change: &LeafChange, placeholder: Held<Record>, stamp: Stamp);

    /// A write of this record is rolled back. Until now the transaction saw its own write in the record's place, which
    /// holds only if the record was in its tree all the while.
    fn discarded(&mut self, pin: &Pin<'_>, record: Held<Record>);

    /// The largest stamp observed so far: `raw_dep`.
    fn observed(&self) -> Stamp;

    /// Takes the write locks, all or none.
    fn lock(&mut self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError>;

    /// Checks, after the S-point, that everything observed is still so.
    fn validate(&self, pin: &Pin<'_>, writes: &WriteSet) -> Result<(), TransactionError>;

    /// The largest stamp that the commit must exceed: of everything observed and overwritten. Locks are held.
    fn base(&self, pin: &Pin<'_>, writes: &WriteSet) -> Stamp;

    /// Makes the writes visible under `stamp` and releases their locks. Old versions of rows that the snapshot before
    /// `interval` needs go to it.
    fn install(&mut self, pin: &Pin<'_>, writes: &mut WriteSet, stamp: Stamp, interval: &Interval<'_>);

    /// Releases the locks without a trace.
    fn abort(&mut self, pin: &Pin<'_>, writes: &WriteSet);
}
