//! A database that is open: shared by sessions, closed.
//!
//! ```text
//! close: end the control socket -> refuse new commits -> stop checkpoints -> stop the epoch ticker -> drain the log
//!        -> freeze the generation as clean -> unlock
//! ```
//!
//! Invariants:
//! - A database is closed once: whoever closes it waits until that is done, and is told how it ended.
//!
//! Absent: how it is opened (operate/open.rs).

mod metrics;

pub use metrics::Metrics;

use std::sync::Arc;

use osier_memory::sync::{Mutex, lock};

use crate::call::Procedures;
use crate::catalog::sequence::Sequence;
use crate::checkpoint::retention::Retention;
use crate::checkpoint::{CheckpointReport, Checkpoints};
use crate::config::Config;
use crate::error::{CheckpointError, Error, LogError, LogFailure};
use crate::io::socket::Listening;
use crate::log::acknowledge::Receipt;
use crate::procedure::program::Program;
use crate::recovery::{RecoveryReport, Replaying};
use crate::table::{Schema, Table};
use crate::transaction::debt::RecoveryDebt;
use crate::transaction::shared::Shared;
use crate::transaction::snapshot::Snapshot;
use crate::transaction::ticker::Ticker;
use crate::transaction::{SequenceOptions, Session, Totals, Transaction};

/// A database. Clones share it; the last one dropped closes it.
#[derive(Clone)]
pub struct Database {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    /// What it was opened with; relative paths are absolute.
    given: Config,
    pub(crate) shared: Arc<Shared>,
    /// Sessions for [`Database::run`], as many as threads were in it at the same time.
    idle: Mutex<Vec<Session>>,
    pub(crate) checkpoints: Checkpoints,
    ticker: Mutex<Ticker>,
    /// What recovery left to do.
    replaying: Mutex<Option<Replaying>>,
    pub(crate) retention: Arc<Retention>,
    report: Option<RecoveryReport>,
    /// Where another process can ask; `None` once closed.
    pub(crate) control: Mutex<Option<Listening>>,
    /// How the close ended; locked while it goes on.
    closed: Mutex<Option<Result<(), CloseError>>>,
}

/// Why a database could not be closed: for everybody who closes it.
#[derive(Clone)]
enum CloseError {
    Checkpoint(Arc<CheckpointError>),
    Log(LogError),
}

impl From<CloseError> for Error {
    fn from(error: CloseError) -> Error {
        match error {
            CloseError::Checkpoint(error) => error.into(),
            CloseError::Log(error) => error.into(),
        }
    }
}

impl Database {
    /// Puts a database together of parts that run. `given` is what it was opened with.
    pub(crate) fn of(
        given: Config,
        shared: Arc<Shared>,
        (ticker, replaying): (Ticker, Option<Replaying>),
        checkpoints: Checkpoints,
        retention: Arc<Retention>,
        report: Option<RecoveryReport>,
    ) -> Database {
        let (idle, ticker, replaying) = (Mutex::default(), Mutex::new(ticker), Mutex::new(replaying));
        let (control, closed) = Default::default();
        let inner = Inner { given, shared, idle, checkpoints, ticker, replaying, retention, report, control, closed };
        Database { inner: Arc::new(inner) }
    }

    /// A session, for one thread at a time.
    ///
    /// # Errors
    /// [`TransactionError::TooManySessions`](crate::TransactionError::TooManySessions).
    pub fn session(&self) -> Result<Session, Error> {
        // Those of `run` that nobody uses are as good.
        let idle = || lock(&self.inner.idle).pop();
        Session::new(self.inner.shared.clone()).or_else(|error| idle().ok_or(error.into()))
    }

    /// A snapshot of everything that has committed, whole transactions only. It is kept until it is dropped: read it with
    /// [`Session::begin_at`], in any number of sessions.
    ///
    /// # Errors
    /// Any error of the log, once the database is closed or poisoned.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        Snapshot::open(&self.inner.shared)
    }

    /// Runs a transaction in a session of its own, see [`Session::run`].
    pub fn run<T, E: From<Error>>(
        &self,
        body: impl FnMut(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Receipt), E> {
        let idle = lock(&self.inner.idle).pop();
        let mut session = idle.map_or_else(|| self.session(), Ok)?;
        let result = session.run(body);
        lock(&self.inner.idle).push(session);
        result
    }

    /// Creates a table, durably.
    pub fn create_table(&self, schema: Schema) -> Result<Table, Error> {
        let (table, receipt) = self.run(|tx| tx.create_table(schema.clone()))?;
        receipt.wait()?;
        Ok(table)
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Result<Table, Error> {
        let (table, receipt) = self.run(|tx| tx.table(name))?;
        receipt.wait()?;
        Ok(table)
    }

    /// Whether a handle is the current one of a table: the table is there, and has not been changed since. Whoever keeps handles
    /// asks now and then, for the memory of a dropped table is freed with the last one.
    pub fn is_current(&self, table: &Table) -> bool {
        self.inner.shared.catalog.open_tables.holds(table)
    }

    /// Creates a sequence, durably.
    pub fn create_sequence(&self, options: &SequenceOptions) -> Result<Sequence, Error> {
        let (sequence, receipt) = self.run(|tx| tx.create_sequence(options))?;
        receipt.wait()?;
        Ok(sequence)
    }

    /// The sequence of this name.
    pub fn sequence(&self, name: &str) -> Result<Sequence, Error> {
        let (sequence, receipt) = self.run(|tx| tx.sequence(name))?;
        receipt.wait()?;
        Ok(sequence)
    }

    /// Creates a procedure, durably: [`Transaction::create_procedure`].
    ///
    /// # Errors
    /// Those of [`Transaction::create_procedure`].
    pub fn create_procedure(&self, program: &Program) -> Result<(), Error> {
        let ((), receipt) = self.run(|tx| tx.create_procedure(program))?;
        Ok(receipt.wait()?)
    }

    /// Creates a procedure or puts it in place of the one with its name, durably: [`Transaction::replace_procedure`].
    ///
    /// # Errors
    /// Those of [`Transaction::replace_procedure`].
    pub fn replace_procedure(&self, program: &Program) -> Result<(), Error> {
        let ((), receipt) = self.run(|tx| tx.replace_procedure(program))?;
        Ok(receipt.wait()?)
    }

    /// Removes a procedure, durably: [`Transaction::drop_procedure`].
    ///
    /// # Errors
    /// Those of [`Transaction::drop_procedure`].
    pub fn drop_procedure(&self, name: &str) -> Result<(), Error> {
        let ((), receipt) = self.run(|tx| tx.drop_procedure(name))?;
        Ok(receipt.wait()?)
    }

    /// Makes procedures of functions that are registered. What calls them depends on that, so that nobody need wait for it.
    pub(crate) fn define_registered(&self, registered: &Procedures) -> Result<(), Error> {
        if registered.is_empty() {
            return Ok(());
        }
        self.run(|tx| tx.define_registered(registered)).map(|_| ())
    }

    /// What was done since the database was opened.
    pub fn metrics(&self) -> Metrics {
        let Inner { shared, checkpoints, .. } = &*self.inner;
        let now = shared.config.environment.clock.now();
        let Totals { committed, aborted, conflicts } = shared.counters.totals();
        let (log, checkpoints, memory) = (shared.log.metrics(), checkpoints.metrics(now), shared.memory.metrics());
        let (procedures, recovery) = (shared.figures.metrics(), RecoveryDebt::of(&shared.debt));
        let snapshots = shared.open_snapshots.metrics(now, &shared.snapshots);
        let backlog = shared.backlog.metrics();
        Metrics { committed, aborted, conflicts, log, checkpoints, memory, snapshots, procedures, recovery, backlog }
    }

    /// Takes a checkpoint, and waits until it is valid. Transactions go on meanwhile; one that is open, and that began
    /// before, holds it up: do not call this within a transaction.
    ///
    /// With protocol `none` the checkpoint is all that a later open finds: what was committed after its boundary is lost
    /// with the process.
    ///
    /// # Errors
    /// [`Error::Checkpoint`]: the checkpoint before stays the valid one.
    pub fn checkpoint(&self) -> Result<CheckpointReport, Error> {
        let checkpoints = &self.inner.checkpoints;
        Ok(checkpoints.wait(checkpoints.request())?)
    }

    /// Asks for a checkpoint and does not wait for it; [`Database::metrics`] tells what became of it.
    pub fn request_checkpoint(&self) {
        self.inner.checkpoints.request();
    }

    /// What recovery did when the database was opened; `None` where it was created, or logs nothing.
    pub fn recovery(&self) -> Option<&RecoveryReport> {
        self.inner.report.as_ref()
    }

    /// Waits until all has run again that recovery left to do while the database is open (`recovery = instant`).
    ///
    /// # Errors
    /// The database is closed, or has failed: perhaps because a transaction of the log did something else than before.
    /// [`BacklogTimeout`](crate::TransactionError::BacklogTimeout) where the [task](crate::task) is to end.
    pub fn wait_for_replay(&self) -> Result<(), Error> {
        self.inner.shared.settle_all()
    }

    /// The configuration that it was opened with, with absolute paths.
    pub fn config(&self) -> &Config {
        &self.inner.given
    }

    /// Why the log stopped, if it did.
    pub fn failure(&self) -> Option<LogError> {
        self.inner.shared.log.failure()
    }

    /// Makes everything durable and closes the database. Sessions and clones that are left fail from then on. A second
    /// close waits for the first and returns what that returned.
    ///
    /// # Errors
    /// Where something could not be made durable; the next open recovers as after a crash.
    pub fn close(&self) -> Result<(), Error> {
        self.inner.close()
    }
}

impl Inner {
    fn close(&self) -> Result<(), Error> {
        let mut closed = lock(&self.closed);
        if closed.is_none() {
            // What stays where it panics.
            *closed = Some(Err(CloseError::Log(LogFailure::TaskDied { task: "close".to_owned() }.into())));
            *closed = Some(self.close_once());
        }
        Ok(closed.clone().expect("it was closed")?)
    }

    fn close_once(&self) -> Result<(), CloseError> {
        drop(lock(&self.control).take());
        self.shared.close();
        lock(&self.idle).clear();
        drop(lock(&self.replaying).take());
        // Before the ticker: a last checkpoint needs epochs that go on.
        let checkpointed = self.checkpoints.stop(self.shared.backlog.is_there()).map_err(CloseError::Checkpoint);
        lock(&self.ticker).stop();
        let Some(files) = self.retention.close() else { return checkpointed };
        let ends = self.shared.log.close().map_err(CloseError::Log)?;
        let frozen = files.freeze(&ends, self.shared.store.epochs().current());
        frozen.map_err(|error| CloseError::Checkpoint(Arc::new(error)))?;
        checkpointed
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // An error here leaves what a crash leaves; who wants to know calls `close`.
        let _ = self.close();
    }
}
