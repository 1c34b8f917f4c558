//! A transaction: begin -> execute -> commit or abort. The spine of a commit is [`lifecycle`]; rows are read and written
//! in [`access`], ranges in [`scan`], definitions in [`definition`].
//!
//! Invariants:
//! - Nothing is visible to others before the commit installs it; dropping a transaction undoes it.
//! - Rows handed out borrow from the transaction: its pin keeps their versions alive, and it must be gone before the
//!   session begins the next one.

mod access;
mod definition;
mod error;
mod index_maintenance;
pub(crate) mod lifecycle;
mod purge;
pub(crate) mod read_set;
mod savepoint;
mod scan;
mod session;
pub(crate) mod write_set;

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::sync::Arc;

use osier_memory::Pin;

pub use access::Changes;
pub(crate) use definition::{duplicate_entry, index_entry};
pub use error::{Contended, TransactionError};
pub(crate) use purge::Purge;
pub use savepoint::Savepoint;
pub use scan::Scan;
pub use session::Session;

use crate::acknowledge::{Receipt, ReceiptSource};
use crate::catalog::Catalog;
use crate::concurrency::ConcurrencyControl;
use crate::concurrency::optimistic::Optimistic;
use crate::database::Shared;
use crate::error::Error;
use crate::failpoint::{Mutation, has};
use crate::ids::{Stamp, StreamId, TableId};
use crate::log::LogProtocol;
use crate::table::Table;
use crate::table::store::RecordTree;
use lifecycle::{Commit, Committed};
use write_set::{Mark, Place, WriteSet};

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When everything the transaction wrote and observed is durable.
    #[default]
    Durable,
    /// At once. A crash may lose the transaction, never break another one.
    Relaxed,
}

/// How a transaction is begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionOptions {
    /// Refuse writes.
    pub read_only: bool,
    /// When the commit is acknowledged.
    pub durability: Durability,
}

/// A transaction in progress. All operations take `&self`; rows they return live as long as the transaction. Dropping
/// it rolls it back.
pub struct Transaction<'s> {
    pin: Pin<'s>,
    shared: &'s Shared,
    stream: StreamId,
    receipts: &'s ReceiptSource,
    options: TransactionOptions,
    state: RefCell<&'s mut State>,
}

/// The memory of a transaction, kept by its session from one to the next.
#[derive(Default)]
pub(crate) struct State {
    /// Distinguishes this session's transactions.
    sequence: u64,
    control: Optimistic,
    writes: WriteSet,
    tables: Vec<TouchedTable>,
    /// Version of the catalog that `tables` was filled under.
    catalog_version: u64,
    /// Whether the transaction relies on the catalog's not having changed since.
    relies_on_version: bool,
    definitions: Vec<definition::Definition>,
    savepoints: Vec<savepoint::Active>,
    savepoints_made: u64,
    purges: VecDeque<Purge>,
}

/// A table that this session knows.
struct TouchedTable {
    table: Table,
    /// The last transaction that used it.
    sequence: u64,
    /// Whether a transaction found its catalog row committed, under the session's version of the catalog.
    is_known: bool,
    /// The last transaction that took the session's word for it.
    relied_on_in: u64,
}

impl<'s> Transaction<'s> {
    fn begin(
        pin: Pin<'s>,
        shared: &'s Shared,
        stream: StreamId,
        receipts: &'s ReceiptSource,
        options: TransactionOptions,
        state: &'s mut State,
    ) -> Transaction<'s> {
        state.sequence += 1;
        state.control.begin();
        state.writes.clear();
        state.savepoints.clear();
        state.definitions.clear();
        state.relies_on_version = false;
        let catalog_version = shared.catalog.version();
        if state.catalog_version != catalog_version {
            state.tables.clear();
            state.catalog_version = catalog_version;
        }
        purge::purge_some(&pin, shared, &mut state.purges);
        Transaction { pin, shared, stream, receipts, options, state: RefCell::new(state) }
    }

    /// Makes the transaction's writes visible to all. The receipt tells when they, and everything the transaction
    /// observed, are durable.
    ///
    /// # Errors
    /// [`TransactionError::Conflict`] where another transaction changed what this one read: nothing took effect, run it
    /// again. [`TransactionError::TransactionTooLarge`]. Any error of the log, once the database is closed or poisoned.
    pub fn commit(self) -> Result<Receipt, Error> {
        self.finish()
    }

    /// Gives the transaction up, as its own decision: what it observed is validated first, so that the reason for
    /// giving up may be told to others as soon as the receipt is acknowledged.
    ///
    /// # Errors
    /// [`TransactionError::Conflict`] where what was observed no longer holds: the reason is void, run it again.
    pub fn abort(self) -> Result<Receipt, Error> {
        self.roll_back();
        self.finish()
    }

    fn finish(self) -> Result<Receipt, Error> {
        let committed = self.shared.commit(&self.pin, self.stream, &mut self.state())?;
        Ok(match self.options.durability {
            Durability::Durable => self.receipts.durable(committed.observed, committed.epoch),
            Durability::Relaxed => self.receipts.relaxed(committed.observed, committed.epoch),
        })
    }

    fn roll_back(&self) {
        let state = &mut **self.state();
        state.undo_definitions(self.shared, 0);
        purge::roll_back(&self.pin, state);
    }

    fn state(&self) -> RefMut<'_, &'s mut State> {
        self.state.borrow_mut()
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.roll_back();
    }
}

impl State {
    /// Runs the spine on this transaction.
    pub(crate) fn commit<P: LogProtocol>(
        &mut self,
        commit: &Commit<'_, '_>,
        protocol: &P,
        catalog: &Catalog,
    ) -> Result<Committed, Error> {
        let own_change = !self.definitions.is_empty();
        if own_change {
            catalog.begin_change();
        }
        let State { control, writes, tables, .. } = self;
        let logged_table = |place: Place| {
            let id = place.index.is_none().then(|| tables[place.table as usize].table.id);
            id.filter(|id| *id >= TableId::FIRST_USER || !has(Mutation::CatalogUnlogged))
        };
        let (version, sequence, own) = (self.catalog_version, self.sequence, u64::from(own_change));
        let definitions_hold = || {
            let relied_on = |touched: &&TouchedTable| touched.relied_on_in == sequence;
            let is_current = |touched: &TouchedTable| catalog.is_current(&touched.table, own);
            if !self.relies_on_version
                || has(Mutation::DefinitionUnchecked)
                || catalog.is_unchanged(version, own)
                || tables.iter().filter(relied_on).all(is_current)
            {
                return Ok(());
            }
            Err(TransactionError::ROW_CONFLICT)
        };
        let committed = commit.run(control, protocol, writes, logged_table, definitions_hold);
        if own_change && committed.is_err() {
            catalog.end_change(false);
        }
        committed
    }

    /// Tidies up after a commit with this stamp, [`Stamp::ZERO`] where nothing was written.
    pub(crate) fn settle(&mut self, shared: &Shared, pin: &Pin<'_>, stamp: Stamp) {
        if !self.definitions.is_empty() {
            self.publish_definitions(shared, stamp);
        }
        purge::note_absent(pin, self);
        self.writes.clear();
        if shared.memory.wants(self.purges.len()) {
            shared.adopt_purges(self.purges.drain(..));
            pin.leave_retired();
        }
    }

    /// To be called before the writes since `mark` are dropped: a commit would meet their dead records when it locks them,
    /// this leaves them to validation.
    fn observe_discarded(&mut self, pin: &Pin<'_>, mark: Mark) {
        let State { control, writes, .. } = self;
        writes.records_since(mark).for_each(|record| control.discarded(pin, record));
    }

    /// The state of a new session, with the purges that an earlier one left behind.
    fn adopting(purges: Vec<Purge>) -> State {
        State { purges: purges.into(), ..State::default() }
    }

    fn take_purges(&mut self) -> VecDeque<Purge> {
        std::mem::take(&mut self.purges)
    }
}

/// The tree that a write's record is in.
fn tree(tables: &[TouchedTable], place: Place) -> &Arc<RecordTree> {
    let table = &tables[place.table as usize].table;
    match place.index {
        None => &table.primary,
        Some(at) => &table.indexes[usize::from(at)].tree,
    }
}
