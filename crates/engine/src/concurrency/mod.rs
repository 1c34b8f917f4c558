//! Seam 1: how transactions are kept apart. A [`ConcurrencyControl`] is the state of one transaction: its beginning, its
//! accesses, the steps of its commit, which the spine of `transaction/lifecycle.rs` calls in the order in which they stand
//! here, and its end.
//!
//! Invariant: every transaction that begins also ends, once, on whatever path: committed, refused, rolled back or dropped.

mod faults;
#[cfg(feature = "mutations")]
mod faulty_scheme;
pub(crate) mod multiversion;
pub(crate) mod optimistic;
mod scheme;
pub(crate) mod two_phase_locking;
#[cfg(test)]
pub(crate) mod watched_for_tests;
pub(crate) mod write_set;

use osier_memory::sync::Arc;
use osier_memory::{
    Committer, Held, KeyStamps, LeafChange, LeafRead, LockWord, Owner, Pin, Record, RecordBox, Stamp, Version,
};

pub(crate) use scheme::{Scheme, with_pair, with_scheme};

use crate::concurrency::write_set::WriteSet;
use crate::error::TransactionError;
use crate::failpoint::{Point, yield_at};
use crate::ids::{Epoch, StreamId, TableId};
use crate::log::gathering::Gathered;
use crate::log::protocol::SourceOf;
use crate::table::Table;
use crate::table::store::RecordTree;

/// A session keeps the memory of so many writes, reads or locks from one transaction to the next.
const KEPT_CAPACITY: usize = 16 << 10;

/// What a read found.
pub(crate) enum Found<'a> {
    /// A row.
    Present(&'a Version),
    /// No row: never there, deleted, or not yet committed.
    Absent,
    /// The record has left the index: look the key up again.
    Gone,
}

/// What an access is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// To read.
    Read,
    /// To read what nobody changes meanwhile, in a recovery that knows that: it is neither observed nor depended on.
    Unordered,
    /// To see what may be otherwise when the transaction commits: it is depended on, and not observed.
    Unvalidated,
    /// To write what is read, most likely.
    Write,
    /// To learn or to change a definition. Nearly every transaction does the one and hardly any the other, and what follows from
    /// a definition is remembered by sessions: under every scheme the catalog is observed and validated, and nobody waits for it.
    Definition,
}

impl Intent {
    /// The intent of a write, or of a read that leads to one, of this table.
    pub(crate) fn to_write(table: &Table) -> Intent {
        if table.id < TableId::FIRST_USER { Intent::Definition } else { Intent::Write }
    }

    /// The intent of a read of this table.
    pub(crate) fn to_read(table: &Table) -> Intent {
        if table.id < TableId::FIRST_USER { Intent::Definition } else { Intent::Read }
    }
}

/// What the transactions of a scheme depend on, as it is gathered.
pub(crate) type GatheringOf<C> = <<C as ConcurrencyControl>::Dependency as Gathered>::Gathering;

/// A concurrency control scheme, as the state of one transaction after the other.
///
/// Every access may wait for another transaction, and may fail: with a conflict, after which the transaction can only be rolled
/// back (transaction/mod.rs sees to that). An access may lock; what it locked stays locked until the commit installs or the
/// transaction ends. What a transaction depends on ([`Gathering`](crate::log::gathering::Gathering)) is gathered by the
/// accesses.
pub(crate) trait ConcurrencyControl {
    /// What a transaction depends on, as the protocol wants it.
    type Dependency: Gathered;

    /// Returns what its locks are held by, if it holds some.
    fn owner(&self) -> Option<&Arc<Owner>> {
        None
    }

    /// Begins a transaction; the previous one has ended. Everything up to `durable` is durable on every stream.
    fn begin(&mut self, pin: &Pin<'_>, durable: impl FnOnce() -> Stamp);

    /// Observes a record's content or absence.
    fn read<'a>(
        &mut self,
        pin: &'a Pin<'_>,
        record: Held<Record>,
        intent: Intent,
    ) -> Result<Found<'a>, TransactionError>;

    /// Observes only that a row exists, for a write that replaces all of it (Poplar's *birth* rule). Returns a stamp at or above
    /// the one at which it came to exist; `None`, where nothing was observed: there is no row, or the record has left the index.
    ///
    /// To depend on a stamp that `is_durable` costs nothing, so that the row itself need not be looked at.
    fn read_existence(
        &mut self,
        pin: &Pin<'_>,
        record: Held<Record>,
        intent: Intent,
        is_durable: impl FnOnce(Stamp) -> bool,
    ) -> Result<Option<Stamp>, TransactionError>;

    /// Observes an absence or a stretch of a range. `false`: the leaf has changed since it was read, look again.
    fn scan(&mut self, pin: &Pin<'_>, leaf: LeafRead, intent: Intent) -> Result<bool, TransactionError>;

    /// Observes that a tree of definitions has no record of `key`, by the leaf in which it would be. What else comes into the
    /// leaf changes nothing: else whoever looks for a name that is not there would be in the way of all who define something.
    fn name_absent(&mut self, pin: &Pin<'_>, tree: &Arc<RecordTree>, key: &[u8], leaf: LeafRead);

    /// Depends on what committed with `stamp`, which the caller validates by other means.
    fn depend(&mut self, stamp: Stamp);

    /// The transaction is about to observe something beside its reads, as it is now.
    fn observe_now(&mut self) -> Result<(), TransactionError> {
        Ok(())
    }

    /// The transaction is about to write a record that it may not have read.
    fn write(&mut self, pin: &Pin<'_>, record: Held<Record>, intent: Intent) -> Result<(), TransactionError>;

    /// Locks a record as a write does, if that needs no wait; returns whether it did. Where nothing is locked it is so at once.
    fn try_lock(&mut self, _pin: &Pin<'_>, _record: Held<Record>) -> Result<bool, TransactionError> {
        Ok(true)
    }

    /// Whether the transaction may put a record of its own into a leaf, by the lock of the leaf's gaps.
    fn may_insert(&self, gap: &LockWord, intent: Intent) -> bool;

    /// The transaction may not put a record into this leaf: waits until it may.
    fn wait_to_insert(&mut self, pin: &Pin<'_>, leaf: LeafRead) -> Result<(), TransactionError>;

    /// Makes a placeholder, absent as of `stamp`, that the transaction is about to index.
    fn placeholder(&self, key: &[u8], stamp: Stamp, intent: Intent) -> RecordBox;

    /// The transaction indexed a placeholder of its own, absent as of `stamp`.
    fn inserted(
        &mut self,
        pin: &Pin<'_>,
        change: &LeafChange,
        placeholder: Held<Record>,
        stamp: Stamp,
        intent: Intent,
    ) -> Result<(), TransactionError>;

    /// A write of this record, made by an operation that succeeded, is rolled back. Until now the transaction saw its own
    /// write in the record's place, which holds only if the record was in its tree all the while.
    fn discarded(&mut self, pin: &Pin<'_>, record: Held<Record>);

    /// Returns what the transaction depends on, as it is gathered.
    fn gathered(&self) -> &GatheringOf<Self>;

    /// Closes what the transaction depends on ([`Gathering::close`](crate::log::gathering::Gathering::close)), for a commit to
    /// the stream `own`. Where it writes, locks are held.
    fn close(&mut self, pin: &Pin<'_>, writes: &WriteSet, source: &SourceOf<Self::Dependency>, own: StreamId);

    /// Checks, before anything is locked, whether a commit would fail as things are: what a long commit does before it locks is
    /// in vain then. It decides nothing.
    fn prevalidate(&self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError>;

    /// Takes the write locks that accesses did not take. Where it fails, it has given back what it took itself.
    fn lock(&mut self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError>;

    /// The write locks are held, and the epoch is drawn next: draws what else orders the commit.
    fn order(&mut self) {}

    /// Returns the epoch of a transaction without writes, in which all that it observed was so.
    fn order_observer(&self, pin: &Pin<'_>) -> Epoch {
        let epoch = pin.current_epoch();
        yield_at(Point::Ordered);
        epoch
    }

    /// Checks, after the S-point, that everything observed is still so.
    fn validate(&self, pin: &Pin<'_>, writes: &WriteSet) -> Result<(), TransactionError>;

    /// Returns the largest stamp that the commit must exceed: of everything observed and overwritten, and where stamps cover
    /// reads, of everybody who read what is overwritten. Locks are held.
    fn base(&self, pin: &Pin<'_>, writes: &WriteSet, reads: Option<&KeyStamps>) -> Stamp;

    /// As [`ConcurrencyControl::base`], of rows alone: without what follows from keys that were absent.
    fn base_of_rows(&self, pin: &Pin<'_>, writes: &WriteSet) -> Stamp {
        self.base(pin, writes, None)
    }

    /// Makes whoever overwrites anything of what was observed exceed `stamp`, which is of this stream. Locks are held; what
    /// counts is what validation, which follows and begins with a full fence, then finds unchanged.
    fn raise_reads(&self, pin: &Pin<'_>, writes: &WriteSet, reads: &KeyStamps, at: (StreamId, Stamp));

    /// Undoes [`ConcurrencyControl::lock`], without a trace. What accesses locked stays locked. The transaction does not commit,
    /// and ends; or the log has no room, and it locks again when there is some.
    fn unlock(&mut self, pin: &Pin<'_>, writes: &WriteSet);

    /// Makes the writes visible under `stamp` and releases their locks. Old versions that a snapshot sees are kept for it.
    fn install(&mut self, pin: &Pin<'_>, writes: &mut WriteSet, stamp: Stamp, committer: &Committer<'_>);

    /// After a transaction that met a conflict, and before it is run again: waits until whatever it met is over, if that is
    /// known. Returns whether it may be run at once.
    ///
    /// # Errors
    /// It is not over, and has been waited for as long as may be.
    fn await_met(&mut self) -> Result<bool, TransactionError>;

    /// Returns the last epoch, as far as is known now, in which a transaction can have begun that sees the row which a record had
    /// until now. Zero: nobody sees a row that is not there any more.
    fn read_until(&self, _pin: &Pin<'_>) -> Epoch {
        Epoch(0)
    }

    /// Ends the transaction and releases every lock that it still holds. Called once for each [`ConcurrencyControl::begin`],
    /// after everything else: the writes are installed, or they are rolled back.
    fn end(&mut self, pin: &Pin<'_>);
}
