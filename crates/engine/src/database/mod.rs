//! A database: opened from its directory, shared by sessions, closed.
//!
//! ```text
//! open:  claim the directories -> manifest -> recover -> confirm the claim -> open the catalog -> start the log
//!        -> start the epoch ticker, checkpoints and the control socket
//! close: refuse new commits -> stop checkpoints -> drain the log -> freeze the generation as clean -> unlock
//! ```
//!
//! Invariants:
//! - One process has a directory open at a time.
//! - A directory that holds anything but a readable database is never treated as an empty one.
//! - A database is closed once: whoever closes it waits until that is done, and is told how it ended.

mod faults;
mod metrics;

pub use metrics::Metrics;

use std::sync::Arc;

use osier_memory::Epochs;
use osier_memory::sync::{Mutex, lock};

use crate::catalog::Catalog;
use crate::checkpoint::retention::{OpenFiles, Retention};
use crate::checkpoint::{CheckpointReport, Checkpoints, Inherited};
use crate::config::{Config, ConfigError, Create, Protocol};
use crate::directory::manifest::Manifest;
use crate::directory::{self, Claim, DirectoryError};
use crate::error::{CheckpointError, Error, LogError, LogFailure};
use crate::io::socket::Listening;
use crate::log::CommitLog;
use crate::log::acknowledge::Receipt;
use crate::log::persist::LogLayout;
use crate::recovery::{self, RecoveryReport};
use crate::table::store::Store;
use crate::table::{Schema, Table};
use crate::transaction::shared::Shared;
use crate::transaction::ticker::Ticker;
use crate::transaction::{Session, Transaction};

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
    /// Claims the directories, which nobody is filling, and opens what is in them.
    pub(crate) fn claim_and_open(config: Config) -> Result<Database, Error> {
        config.check()?;
        if config.protocol == Protocol::None && refuse_to_forget(&config)?.is_none() {
            return Database::open_claimed(config, None);
        }
        if config.create == Create::Never && !directory::holds_database(&config)? {
            return Err(DirectoryError::NoDatabase { home: config.dirs[0].clone() }.into());
        }
        let claimed = Claim::take(&config)?;
        // Whoever fills them marks them under a claim of his own.
        directory::refuse_unfinished(&config)?;
        Database::open_claimed(config, Some(claimed))
    }

    /// Opens the database in directories that are claimed, or creates one there; without a claim one that nothing is written of
    /// yet.
    ///
    /// The order is that of the invariants: all of the past before anything new.
    pub(crate) fn open_claimed(config: Config, claimed: Option<(Claim, Option<Manifest>)>) -> Result<Database, Error> {
        config.check()?;
        let given = directory::anchored(config)?;
        let mut config = given.clone();
        if let Some((claim, _)) = &claimed {
            config.environment.disk = claim.guard(config.environment.disk);
        }
        // One participant for each session, for each replaying thread, for each thread of a checkpoint, and for opening the
        // catalog or later the checkpointer.
        let threads = config.effective_recovery_threads() + config.checkpoint_threads;
        let epochs = Epochs::new(config.sessions_max + threads + 1);
        let store = Store::new(epochs);
        let catalog = Catalog::new(&store)?;
        let Some((mut claim, manifest)) = claimed else {
            return Database::start((given, config), store, catalog, CommitLog::unlogged(), None, None);
        };
        let (manifest, mut report) = match manifest {
            Some(_) if config.create == Create::New => {
                return Err(DirectoryError::Exists { home: config.dirs[0].clone() }.into());
            }
            Some(manifest) => {
                let recovered = recovery::run(&config, &mut claim, manifest, &store)?;
                (recovered.manifest, Some(recovered.report))
            }
            None => (claim.create(&config)?, None),
        };
        store.epochs().resume_at(faults::first_epoch(manifest.current.epoch_floor));
        if let Some(report) = &mut report {
            open_catalog(&config, &store, &catalog, report)?;
        }
        let layout = LogLayout::of(&config, &manifest);
        let files = OpenFiles::new(&config, claim, manifest).map_err(Arc::new)?;
        // Its tasks are running when it returns; where a later step fails they are stopped.
        let log = CommitLog::start(&config, layout)?;
        Database::start((given, config), store, catalog, log, Some(files), report)
    }

    /// `config` has the disk of the claim, `given` that of the caller.
    fn start(
        (given, config): (Config, Config),
        store: Store,
        catalog: Catalog,
        log: CommitLog,
        files: Option<OpenFiles>,
        report: Option<RecoveryReport>,
    ) -> Result<Database, Error> {
        let shared = Arc::new(Shared::new(config, store, catalog, log));
        let retention = Arc::new(Retention::new(files));
        let stop_log = |_: &Error| drop(shared.log.close());
        let no_ticker = |source| Error::Spawn { task: Ticker::NAME, source };
        let ticker = Ticker::start(&shared).map_err(no_ticker).inspect_err(stop_log)?;
        let inherited =
            report.as_ref().map(|report| Inherited { log_bytes: report.log_bytes, is_late: report.generations > 1 });
        let inherited = inherited.unwrap_or_default();
        let checkpoints = Checkpoints::start(&shared, &retention, inherited).inspect_err(stop_log)?;
        let (idle, ticker) = (Mutex::default(), Mutex::new(ticker));
        let (control, closed) = Default::default();
        let inner = Arc::new(Inner { given, shared, idle, checkpoints, ticker, retention, report, control, closed });
        Ok(Database { inner })
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

    /// What was done since the database was opened.
    pub fn metrics(&self) -> Metrics {
        let Inner { shared, checkpoints, .. } = &*self.inner;
        let now = shared.config.environment.clock.now();
        let (committed, aborted) = shared.counters.totals();
        let (log, checkpoints, memory) = (shared.log.metrics(), checkpoints.metrics(now), shared.memory.metrics());
        Metrics { committed, aborted, log, checkpoints, memory }
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
        // Before the ticker: a last checkpoint needs epochs that go on.
        let checkpointed = self.checkpoints.stop().map_err(CloseError::Checkpoint);
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

/// The protocol of the database that is there. Protocol `none` beside one that logs would silently forget what is written
/// to it.
fn refuse_to_forget(config: &Config) -> Result<Option<Protocol>, Error> {
    match directory::protocol(config)? {
        Some(protocol) if protocol != Protocol::None => Err(ConfigError::BadValue {
            name: "protocol",
            value: "none".to_owned(),
            expected: format!("{} holds a durable database; open it with its own protocol", config.dirs[0].display()),
        }
        .into()),
        protocol => Ok(protocol),
    }
}

fn open_catalog(config: &Config, store: &Store, catalog: &Catalog, report: &mut RecoveryReport) -> Result<(), Error> {
    let clock = &config.environment.clock;
    let begun = clock.now();
    report.indexed = catalog.load(config, store)?;
    report.index_seconds = (clock.now() - begun).as_secs_f64();
    report.seconds += report.index_seconds;
    Ok(())
}
