//! A transaction: begin -> execute -> commit or abort. The spine of a commit is [`lifecycle`]; rows are read and written
//! in [`access`], ranges in [`scan`], definitions in [`definition`].
//!
//! Invariants:
//! - Nothing is visible to others before the commit installs it; dropping a transaction undoes it.
//! - Dropping it is also its end, on every path: committed or refused, it is dropped where the call that ends it returns.
//! - A conflict that an access met is the outcome of the transaction, whatever its caller makes of it.
//! - Rows handed out borrow from the transaction: its pin keeps their versions alive, and it must be gone before the
//!   session begins the next one.

mod access;
pub mod advisory;
mod ahead;
pub(crate) mod backlog;
mod counters;
mod critical;
pub(crate) mod debt;
mod definition;
mod duplicate;
#[cfg(test)]
mod end_tests;
mod faults;
pub(crate) mod figures;
#[cfg(test)]
mod handle_tests;
mod index_maintenance;
pub(crate) mod lifecycle;
pub(crate) mod memory_limit;
pub(crate) mod open_snapshots;
mod own_sequence;
mod parts;
mod payload;
mod physiological;
mod procedure;
#[cfg(test)]
mod procedure_tests;
mod purge;
pub(crate) mod replayed;
mod reservation;
mod sample;
mod savepoint;
mod scan;
mod sequence;
mod session;
pub(crate) mod shared;
mod shares;
pub(crate) mod snapshot;
mod snapshot_scan;
mod superseded;
pub(crate) mod ticker;
pub(crate) mod written;

use std::any::Any;
use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use osier_memory::{LeafScan, Lookup, Pin, Record};

pub use access::Changes;
pub(crate) use access::RowAhead;
use counters::SessionCounters;
pub(crate) use counters::Totals;
pub(crate) use definition::index_entry;
pub(crate) use duplicate::duplicate_entry;
pub(crate) use purge::Purge;
pub use sample::SampleLimits;
pub use savepoint::Savepoint;
pub use scan::Scan;
pub use sequence::SequenceOptions;
pub use session::Session;

use crate::catalog::handles::Handle;
use crate::catalog::{Catalog, DefinitionHandle};
use crate::concurrency::optimistic::{RowRead, Seen, is_unchanged};
use crate::concurrency::write_set::{Mark, TreeRef, WriteSet};
use crate::concurrency::{ConcurrencyControl, Intent, Scheme, with_pair, with_scheme};
use crate::config::Config;
use crate::error::{Error, LogError, ProcedureError, TransactionError};
use crate::ids::{Stamp, StreamId, TableId};
use crate::log::CommitLog;
use crate::log::acknowledge::{Outcome, Receipt, ReceiptSource};
use crate::log::format::payload::command::Command;
use crate::log::protocol::{Committed, LogProtocol};
use crate::table::store::RecordTree;
use crate::table::{Table, Value};
use crate::transaction::shared::Shared;
pub(crate) use critical::critical;
use debt::{LogEntry, OwnDebt};
use lifecycle::Commit;
use payload::{Called, Payload};
use physiological::Rows;
use reservation::Reservations;
use shares::Admitted;
use snapshot::AtSnapshot;

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
    /// Read a [`Snapshot`](crate::Snapshot) that is opened by the first access, and nothing later: no conflict aborts the
    /// transaction, and it holds nobody up. It refuses writes, too, and calls of procedures.
    pub snapshot: bool,
    /// When the commit is acknowledged.
    pub durability: Durability,
}

/// A transaction in progress. All operations take `&self`; rows they return live as long as the transaction. Dropping
/// it rolls it back.
pub struct Transaction<'s> {
    view: View<'s>,
    shared: &'s Shared,
    stream: StreamId,
    receipts: &'s ReceiptSource,
    options: TransactionOptions,
    /// Whether an operation failed by what a recovery does not know, as a setting: who goes on after that may do something else
    /// when it is called again, so that what it wrote is logged.
    logs_rows: Cell<bool>,
    state: RefCell<&'s mut TransactionState>,
}

/// What a transaction sees.
enum View<'s> {
    /// What is committed now.
    Current(Pin<'s>),
    AtSnapshot(AtSnapshot<'s>),
}

/// The memory of a transaction, kept by its session from one to the next.
pub(crate) struct TransactionState {
    /// Distinguishes this session's transactions.
    sequence: u64,
    scheme: Scheme,
    /// The conflict that one of the transaction's accesses met: it can only be rolled back.
    conflict: Option<TransactionError>,
    writes: WriteSet,
    /// How many records this session has put into trees. A leaf that a scan has read may lack those that came since.
    placeholders_made: u64,
    tables: Vec<TouchedTable>,
    used: Vec<UsedDefinition>,
    /// Version of the catalog that `tables` and `used` were filled under.
    catalog_version: u64,
    /// Whether the transaction relies on the catalog's not having changed since.
    relies_on_version: bool,
    definitions: Vec<definition::Definition>,
    reservations: Reservations,
    savepoints: Vec<savepoint::Active>,
    savepoints_made: u64,
    /// Everything up to it is durable on every stream, by the last look.
    known_durable: Stamp,
    /// Those of scans that are over, for their memory.
    leaf_scans: Vec<LeafScan<Record>>,
    /// What is kept for calls of procedures, which this floor does not know.
    workspace: Option<Box<dyn Any + Send>>,
    /// Whether a function that is a procedure has the transaction: what it draws must be noted by its call.
    is_in_function: bool,
    purges: VecDeque<Purge>,
    /// How many of them the last transaction has added.
    purges_noted: usize,
    counters: SessionCounters,
    debt: OwnDebt,
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

/// A definition other than a table's that this session knows; see [`TouchedTable`].
struct UsedDefinition {
    handle: DefinitionHandle,
    sequence: u64,
    is_known: bool,
    relied_on_in: u64,
}

/// Makes an access by the scheme of the transaction whose state `$state` is. A conflict that it meets becomes the outcome of the
/// transaction, which can then only be rolled back; after a wait that took too long it can go on.
macro_rules! try_access {
    ($state:expr, $control:ident => $access:expr) => {
        match $crate::concurrency::with_scheme!(&mut $state.scheme, $control => $access) {
            Err(error) if !matches!(error, $crate::error::TransactionError::LockTimeout { .. }) => Err($state.lose(error)),
            accessed => accessed,
        }
    };
}
use try_access;

impl<'s> Transaction<'s> {
    fn begin(
        pin: Pin<'s>,
        shared: &'s Shared,
        stream: StreamId,
        receipts: &'s ReceiptSource,
        options: TransactionOptions,
        state: &'s mut TransactionState,
    ) -> Transaction<'s> {
        let is_over = state.writes.is_clear() && state.definitions.is_empty();
        assert!(is_over, "a session runs one transaction after the other");
        state.sequence += 1;
        state.is_in_function = false;
        state.conflict = None;
        state.writes.clear();
        state.savepoints.clear();
        state.definitions.clear();
        state.relies_on_version = false;
        let catalog_version = shared.catalog.version();
        state.forget_tables_but_of(catalog_version);
        state.catalog_version = catalog_version;
        purge::purge_some(&pin, shared, &mut state.purges, std::mem::take(&mut state.purges_noted));
        // From here on a transaction is there to be dropped, which is its end.
        with_scheme!(&mut state.scheme, control => control.begin(&pin, || shared.log.csn()));
        let logs_rows = Cell::new(false);
        Transaction {
            view: View::Current(pin),
            shared,
            stream,
            receipts,
            options,
            logs_rows,
            state: RefCell::new(state),
        }
    }

    /// Begins a transaction at a snapshot.
    fn begin_at(
        at: AtSnapshot<'s>,
        shared: &'s Shared,
        stream: StreamId,
        receipts: &'s ReceiptSource,
        options: TransactionOptions,
        state: &'s mut TransactionState,
    ) -> Transaction<'s> {
        assert!(
            state.writes.is_clear() && state.definitions.is_empty(),
            "a session runs one transaction after the other"
        );
        state.sequence += 1;
        state.savepoints.clear();
        let options = TransactionOptions { read_only: true, ..options };
        let (view, logs_rows) = (View::AtSnapshot(at), Cell::new(false));
        Transaction { view, shared, stream, receipts, options, logs_rows, state: RefCell::new(state) }
    }

    /// The pin of the transaction.
    #[inline]
    fn pin(&self) -> &Pin<'s> {
        match &self.view {
            View::Current(pin) => pin,
            View::AtSnapshot(_) => unreachable!("what a transaction at a snapshot does has pins of its own"),
        }
    }

    /// The snapshot that the transaction reads, if it reads one.
    #[inline]
    fn at_snapshot(&self) -> Option<&AtSnapshot<'s>> {
        match &self.view {
            View::Current(_) => None,
            View::AtSnapshot(at) => Some(at),
        }
    }

    /// Refuses what a transaction at a snapshot cannot do.
    pub(crate) fn refuse_at_snapshot(&self, what: &'static str) -> Result<(), TransactionError> {
        self.at_snapshot().map_or(Ok(()), |_| Err(TransactionError::NotAtSnapshot { what }))
    }

    /// Makes the transaction's writes visible to all. The receipt tells when they, and everything the transaction
    /// observed, are durable.
    ///
    /// # Errors
    /// [`TransactionError::Conflict`] where another transaction changed what this one read, or where an operation met one:
    /// nothing took effect, run it again. [`TransactionError::MemoryLimit`], which tells of what it read: it is returned when
    /// that was valid and, unless the transaction is relaxed, is durable.
    /// Any error of the log, once the database is closed or poisoned.
    pub fn commit(self) -> Result<Receipt, Error> {
        self.commit_as(None, 0).map(|(receipt, _)| receipt)
    }

    /// As [`Transaction::commit`], and tells what was logged.
    pub(crate) fn commit_values(self) -> Result<(Receipt, LogEntry), Error> {
        self.commit_as(None, 0)
    }

    /// As [`Transaction::commit_values`], of what a stored procedure did, which takes `execution_ns`. Where the database logs
    /// commands, the log gets `command` in place of what was written, with the hash of that, if it is to be `with_hash`.
    /// Where the transaction has changed definitions or met a limit of the settings, and where the command would not fit in one
    /// record, it gets what was written.
    pub(crate) fn commit_command(
        self,
        command: Command<'_>,
        with_hash: bool,
        execution_ns: u64,
    ) -> Result<(Receipt, LogEntry), Error> {
        let hash = with_hash.then(|| self.write_hash());
        self.commit_as(Some(&Command { hash, ..command }), execution_ns)
    }

    /// Returns how many rows the transaction has written so far, and how long they are as values.
    pub(crate) fn values_size(&self) -> (u32, usize) {
        let TransactionState { writes, tables, .. } = &mut **self.state();
        let payload = payload::Values { table_id: |tree_ref| logged_table(tables, tree_ref) };
        let prepared = payload.prepare(self.pin(), writes);
        (prepared.write_count, prepared.bytes)
    }

    /// Commits; the log gets `command`, which takes `execution_ns`, if there is one and it can.
    fn commit_as(self, command: Option<&Command<'_>>, execution_ns: u64) -> Result<(Receipt, LogEntry), Error> {
        match self.finish(command) {
            Err(refusal) if refusal.is_refusal() => self.refuse(refusal),
            outcome => self.counted(outcome, execution_ns),
        }
    }

    /// Gives the transaction up, as its own decision: what it observed is validated first, so that the reason for
    /// giving up may be told to others as soon as the receipt is acknowledged.
    ///
    /// # Errors
    /// [`TransactionError::Conflict`] where what was observed no longer holds, or where an operation met a conflict: the
    /// reason is void, run it again.
    pub fn abort(self) -> Result<Receipt, Error> {
        self.roll_back();
        self.state().counters.aborted();
        self.finish(None).map(|(receipt, _)| receipt)
    }

    /// Gives the transaction up for an error that its caller is told: what it observed holds and is durable when this returns.
    pub(crate) fn give_up(self) -> Result<(), Error> {
        self.abort().and_then(|observed| wait_until_durable(&observed))
    }

    /// Takes what the session keeps for calls of procedures.
    pub(crate) fn take_workspace<W: Any + Send + Default>(&self) -> Box<W> {
        self.state().take_workspace()
    }

    /// Gives it back.
    pub(crate) fn keep_workspace<W: Any + Send>(&self, workspace: Box<W>) {
        self.state().workspace = Some(workspace);
    }

    /// A function that is a procedure begins or ends to use the transaction; see [`Transaction::refuse_in_function`].
    pub(crate) fn set_in_function(&self, is_in_function: bool) {
        self.state().is_in_function = is_in_function;
    }

    /// Refuses, while a function that is a procedure uses the transaction, what a replay of its call could not repeat.
    ///
    /// # Errors
    /// [`ProcedureError::WithinFunction`].
    pub(crate) fn refuse_in_function(&self, what: &'static str, cure: &'static str) -> Result<(), ProcedureError> {
        match self.state().is_in_function {
            true => Err(ProcedureError::WithinFunction { what, cure }),
            false => Ok(()),
        }
    }

    /// An operation fails by what a recovery does not know: no command can stand for this transaction.
    #[cold]
    pub(crate) fn log_rows(&self) {
        self.logs_rows.set(true);
    }

    /// The settings of the database.
    pub(crate) fn config(&self) -> &'s Config {
        &self.shared.config
    }

    /// What the sessions of the database share.
    pub(crate) fn shared(&self) -> &'s Shared {
        self.shared
    }

    /// What was registered when the database was opened.
    pub(crate) fn registered<R: Any>(&self) -> &'s R {
        self.shared.registered.downcast_ref().expect("the one kind of registry")
    }

    /// Gives the transaction up because its writes are beyond a limit, which may follow from what it read.
    fn refuse<T>(self, refusal: Error) -> Result<T, Error> {
        self.roll_back();
        let observed = self.finish(None).map(|(receipt, _)| receipt);
        self.state().counters.aborted();
        // The wait is for a device: no memory waits for this pin meanwhile.
        drop(self);
        wait_until_durable(&observed?)?;
        Err(refusal)
    }

    fn counted(
        &self,
        outcome: Result<(Receipt, LogEntry), Error>,
        execution_ns: u64,
    ) -> Result<(Receipt, LogEntry), Error> {
        let state = &mut **self.state();
        match &outcome {
            Ok((_, entry)) => {
                state.counters.committed();
                state.debt.add(&self.shared.debt, *entry, execution_ns);
            }
            Err(error) => {
                state.counters.aborted();
                // One that an access met is counted there.
                if error.is_conflict() && state.conflict.is_none() {
                    state.counters.conflicted();
                }
            }
        }
        outcome
    }

    /// Commits the writes, or validates what was observed where there are none.
    fn finish(&self, command: Option<&Command<'_>>) -> Result<(Receipt, LogEntry), Error> {
        let (outcome, entry) = self.conclude(command)?;
        let receipt = match self.options.durability {
            Durability::Durable => self.receipts.durable(outcome),
            Durability::Relaxed => self.receipts.relaxed(outcome),
        };
        Ok((receipt, entry))
    }

    /// As [`Transaction::finish`], for who asks for no receipt.
    fn conclude(&self, command: Option<&Command<'_>>) -> Result<(Outcome, LogEntry), Error> {
        let (state, shared) = (&mut **self.state(), self.shared);
        assert!(!self.options.read_only || state.writes.is_clear(), "a transaction that may not write has written");
        if shared.is_closed() {
            return Err(LogError::Closed.into());
        }
        if let Some(at) = self.at_snapshot() {
            return Ok((at.outcome(), LogEntry::Nothing));
        }

        self.write_drawn(state)?;
        let commit = Commit {
            pin: self.pin(),
            stream: self.stream,
            snapshots: faults::announced(&shared.snapshots, self.pin()),
            transaction_log_bytes_max: shared.config.transaction_log_bytes_max,
            memory: &shared.memory,
        };
        let command = command.filter(|_| shared.config.logged.has_commands() && !self.logs_rows.get());
        let is_defining = !state.definitions.is_empty();
        let mut conclude = || {
            let (outcome, entry) = state.commit(&commit, (&shared.log, &shared.config), &shared.catalog, command)?;
            faults::die_unpublished(is_defining);
            state.settle(shared, self.pin(), outcome.stamp);
            Ok((outcome, entry))
        };
        // Others wait for the handles of what it has defined as soon as it has committed.
        if is_defining { critical(conclude) } else { conclude() }
    }

    fn roll_back(&self) {
        if self.at_snapshot().is_some() {
            return;
        }
        let state = &mut **self.state();
        state.undo_definitions(self.shared, 0);
        purge::roll_back(self.pin(), state);
    }

    fn state(&self) -> RefMut<'_, &'s mut TransactionState> {
        self.state.borrow_mut()
    }
}

/// Waits until what was observed is durable, before an error that rests on it is returned: no crash undoes its reason then.
pub(crate) fn wait_until_durable(observed: &Receipt) -> Result<(), Error> {
    Ok(faults::wait_for_errors(|| observed.wait())?)
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.roll_back();
        if let View::Current(pin) = &self.view {
            with_scheme!(&mut self.state().scheme, control => control.end(pin));
        }
        // A table that it has dropped is not to wait for the session's next transaction.
        let version = self.shared.catalog.version();
        self.state().forget_tables_but_of(version);
    }
}

impl TransactionState {
    /// Forgets the handles that were taken under another version of the catalog.
    fn forget_tables_but_of(&mut self, version: u64) {
        if self.catalog_version != version {
            self.tables.clear();
            self.used.clear();
        }
    }

    /// Runs the spine on this transaction, again where the log had no room. Logs `command` in place of the writes, if that can
    /// be.
    fn commit(
        &mut self,
        commit: &Commit<'_, '_>,
        (log, config): (&CommitLog, &Config),
        catalog: &Catalog,
        command: Option<&Command<'_>>,
    ) -> Result<(Outcome, LogEntry), Error> {
        if let Some(conflict) = &self.conflict {
            return Err(conflict.clone().into());
        }
        let used = UsedDefinitions {
            catalog,
            tables: &self.tables,
            others: &self.used,
            version: self.catalog_version,
            relies_on_version: self.relies_on_version,
            sequence: self.sequence,
            changes_own: !self.definitions.is_empty(),
        };
        let payload = Rows::of(config, |tree_ref| logged_table(used.tables, tree_ref));
        let called = command.filter(|_| !used.changes_own).map(|command| Called { command });
        let writes = &mut self.writes;
        with_pair!(&mut self.scheme, log, (control, protocol) => {
            if writes.is_empty() {
                let observed = commit.observe(control, protocol, writes, used.held(commit.pin, protocol))?;
                return Ok((observed.outcome(protocol), LogEntry::Nothing));
            }
            if let Some(called) = &called {
                let admitted = commit.admit(control, protocol, writes, called)?;
                if commit.is_whole(admitted.record_bytes_max) {
                    let record = (called, &admitted);
                    let committed = commit.run_until_there_is_room(control, protocol, log, writes, record, &used)?;
                    return Ok((committed.outcome(protocol), LogEntry::Command { rows: writes.len() as u64 }));
                }
            }
            let admitted = commit.admit(control, protocol, writes, &payload)?;
            let entry = admitted.prepared.as_values();
            if !commit.is_whole(admitted.record_bytes_max) {
                let _promised = commit.memory.promise(commit.pin, writes)?;
                control.prevalidate(commit.pin, writes)?;
                if let Some(parts) = commit.write_parts(protocol, log, writes, (&payload, admitted.prepared))? {
                    let named = parts.payload.prepare(commit.pin, writes);
                    let record = (&parts.payload, &commit.admitted(control, protocol, named));
                    let committed = commit.run_until_there_is_room(control, protocol, log, writes, record, &used)?;
                    parts.hold.committed(committed.stamp);
                    return Ok((committed.outcome(protocol), entry));
                }
            }
            let admitted = commit.divide(protocol, writes, &payload, admitted);
            let record = (&payload, &admitted);
            let committed = commit.run_until_there_is_room(control, protocol, log, writes, record, &used)?;
            Ok((committed.outcome(protocol), entry))
        })
    }

    /// The intent of a write in this tree.
    fn intent_to_write(&self, tree_ref: TreeRef) -> Intent {
        Intent::to_write(&self.tables[tree_ref.table as usize].table)
    }

    /// An access has met a conflict: from now on that is the transaction's outcome.
    #[cold]
    fn lose(&mut self, conflict: TransactionError) -> TransactionError {
        if self.conflict.replace(conflict.clone()).is_none() {
            self.counters.conflicted();
        }
        conflict
    }

    /// Tidies up after a commit with this stamp, [`Stamp::ZERO`] where nothing was written.
    fn settle(&mut self, shared: &Shared, pin: &Pin<'_>, stamp: Stamp) {
        assert_eq!(stamp == Stamp::ZERO, self.writes.is_empty(), "who writes has a stamp, and nobody else");
        if !self.definitions.is_empty() {
            critical(|| self.publish_definitions(shared, pin, stamp));
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
        let TransactionState { scheme, writes, .. } = self;
        with_scheme!(scheme, control => writes.records_since(mark).for_each(|record| control.discarded(pin, record)));
    }

    /// Takes what is kept for calls of procedures.
    fn take_workspace<W: Any + Send + Default>(&mut self) -> Box<W> {
        let kept = self.workspace.take();
        kept.map_or_else(Box::default, |kept| kept.downcast().expect("the one kind of workspace"))
    }

    /// The state of a new session, with the purges that an earlier one left behind.
    fn new(scheme: Scheme, purges: Vec<Purge>, counters: SessionCounters) -> TransactionState {
        TransactionState {
            sequence: 0,
            scheme,
            conflict: None,
            writes: WriteSet::default(),
            tables: Vec::new(),
            used: Vec::new(),
            catalog_version: 0,
            relies_on_version: false,
            definitions: Vec::new(),
            reservations: Reservations::default(),
            savepoints: Vec::new(),
            savepoints_made: 0,
            known_durable: Stamp::ZERO,
            leaf_scans: Vec::new(),
            placeholders_made: 0,
            workspace: None,
            is_in_function: false,
            purges: purges.into(),
            purges_noted: 0,
            counters,
            debt: OwnDebt::default(),
        }
    }

    /// The session ends.
    fn end(&mut self, shared: &Shared) {
        self.reservations.end(shared);
        shared.adopt_purges(self.purges.drain(..));
        shared.counters.end(&self.counters);
        self.debt.tell(&shared.debt);
    }
}

impl Commit<'_, '_> {
    /// Runs the spine with a payload and the size of its record, again where the log had no room.
    fn run_until_there_is_room<C: ConcurrencyControl, P: LogProtocol<Dependency = C::Dependency>>(
        &self,
        control: &mut C,
        protocol: &P,
        log: &CommitLog,
        writes: &mut WriteSet,
        (payload, admitted): (&impl Payload, &Admitted),
        used: &UsedDefinitions<'_>,
    ) -> Result<Committed<C::Dependency>, Error> {
        loop {
            let change = used.announce_change();
            if protocol.read_stamps().is_some() {
                used.follow_users(control, log);
            }
            let run = || self.run(control, protocol, writes, (payload, admitted), used.held(self.pin, protocol));
            if let Some(committed) = critical(run)? {
                change.has_committed();
                return Ok(committed);
            }
            drop(change);
            for (stream, bytes) in admitted.rooms(self.stream) {
                log.wait_for_room(stream, bytes)?;
            }
        }
    }
}

/// The definitions that a transaction relies on, and whether it changes some.
struct UsedDefinitions<'s> {
    catalog: &'s Catalog,
    tables: &'s [TouchedTable],
    others: &'s [UsedDefinition],
    /// Of the catalog when the session looked at it.
    version: u64,
    relies_on_version: bool,
    /// The transaction's.
    sequence: u64,
    changes_own: bool,
}

impl<'s> UsedDefinitions<'s> {
    /// The check that the definitions are as they were, for a validation.
    fn held(
        &self,
        pin: &Pin<'_>,
        protocol: &impl LogProtocol,
    ) -> impl FnOnce(&WriteSet) -> Result<(), TransactionError> {
        // Where reads leave stamps, who used a definition has left none at its row.
        let may_look = protocol.read_stamps().is_none();
        move |writes| match faults::definitions_hold(self.hold(pin, writes, may_look)) {
            true => Ok(()),
            false => Err(TransactionError::ROW_CONFLICT),
        }
    }

    /// Whether the definitions are as they were. While others change some, `may_look` at the rows of those that count.
    fn hold(&self, pin: &Pin<'_>, writes: &WriteSet, may_look: bool) -> bool {
        let own = u64::from(self.changes_own);
        if !self.relies_on_version || self.catalog.is_unchanged(self.version, own) {
            return true;
        }
        let is_there = |system: &Table, name: &str, seen: Option<Seen>| {
            may_look && seen.is_some_and(|seen| is_row_unchanged(pin, system, name, seen, writes))
        };
        let mut tables = self.tables.iter().filter(|touched| touched.relied_on_in == self.sequence);
        let mut others = self.others.iter().filter(|used| used.relied_on_in == self.sequence);
        let system = &self.catalog.system;
        tables.all(|TouchedTable { table, .. }| {
            self.catalog.is_current(table, own)
                || system.holds(table)
                || is_there(&system.tables, table.name(), Some(Seen::Stamp(table.catalog_stamp())))
        }) && others.all(|UsedDefinition { handle, .. }| {
            self.catalog.is_current_definition(handle, own)
                || match handle {
                    // Values that are reserved change the row, and no more than that.
                    DefinitionHandle::Sequence(sequence) => {
                        is_there(&system.sequences, sequence.name(), handle.stamp().map(Seen::Existence))
                    }
                    DefinitionHandle::Procedure(procedure) => {
                        is_there(&system.procedures, procedure.name(), handle.stamp().map(Seen::Stamp))
                    }
                }
        })
    }

    /// Orders a change behind everybody who used the definitions before it. They read no row for that, so there is no read stamp
    /// of theirs. Who uses a definition draws its stamp, fences and then looks for a change that is coming; who changes one
    /// announces that, fences and then looks for the greatest stamp drawn so far. One of the two sees the other.
    fn follow_users(&self, control: &mut impl ConcurrencyControl, log: &CommitLog) {
        if self.changes_own {
            fence(Ordering::SeqCst);
            control.depend(faults::used_until(log.last_stamp()));
        }
    }

    /// Before a commit: where it changes definitions, others that commit see that from now on.
    fn announce_change(&self) -> AnnouncedChange<'s> {
        if self.changes_own {
            self.catalog.begin_change();
        }
        AnnouncedChange(self.changes_own.then_some(self.catalog))
    }
}

/// Whether the row of a definition is what was learnt about it, and nobody else is committing a change of it.
fn is_row_unchanged(pin: &Pin<'_>, system: &Table, name: &str, seen: Seen, writes: &WriteSet) -> bool {
    let Ok(key) = system.keys.of_key(&[Value::Text(name)]) else { return false };
    match system.primary.get(pin, key.as_bytes()) {
        Lookup::Found(record) => is_unchanged(pin, &RowRead { record, seen }, writes),
        Lookup::Absent(_) => false,
    }
}

/// A change of definitions, if there is one, that others see coming until this is dropped.
struct AnnouncedChange<'s>(Option<&'s Catalog>);

impl AnnouncedChange<'_> {
    /// Others see the change until its definitions are published.
    fn has_committed(mut self) {
        self.0 = None;
    }
}

impl Drop for AnnouncedChange<'_> {
    fn drop(&mut self) {
        if let Some(catalog) = self.0 {
            catalog.end_change(false);
        }
    }
}

/// The table under whose id a write is logged; `None` where it is not.
fn logged_table(tables: &[TouchedTable], tree_ref: TreeRef) -> Option<TableId> {
    if tree_ref.index.is_some() {
        return None;
    }
    faults::logged(tables[tree_ref.table as usize].table.id)
}

/// The tree that a write's record is in.
fn tree(tables: &[TouchedTable], tree_ref: TreeRef) -> &Arc<RecordTree> {
    let table = &tables[tree_ref.table as usize].table;
    match tree_ref.index {
        None => &table.primary,
        Some(at) => &table.indexes[usize::from(at)].tree,
    }
}
