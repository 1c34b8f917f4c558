//! A database: opened from its directory, shared by sessions, closed.
//!
//! ```text
//! open:  lock -> manifest -> recover -> open the catalog -> start the log -> start the epoch ticker
//! close: stop checkpoints -> refuse new commits -> drain the log -> freeze the generation as clean -> unlock
//! ```
//!
//! Invariants:
//! - One process has a directory open at a time.
//! - A directory that holds anything but a readable database is never treated as an empty one.
//! - Concurrency control and log protocol are erased here once, by an enum that is matched once per commit.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use osier_memory::sync::{Mutex, lock};
use osier_memory::{Epochs, Pin, Snapshots};

use crate::acknowledge::{Receipt, ReceiptSource};
use crate::catalog::Catalog;
use crate::checkpoint::{CheckpointReport, Checkpoints, Inherited};
use crate::config::{Config, ConfigError, Protocol};
use crate::control;
use crate::directory::{Directory, Home};
use crate::error::Error;
use crate::failpoint::{Mutation, has};
use crate::ids::{Epoch, LogOffset, Stamp, StreamId};
use crate::io::socket::Listening;
use crate::limits::MemoryLimit;
use crate::log::protocol::{Poplar, Serial, Unlogged};
use crate::log::{LogError, LogFailure, LogMetrics, LogProtocol, Observed, StreamMetrics};
use crate::metrics::{Counters, Metrics};
use crate::persist::manifest::StreamBegin;
use crate::recovery::RecoveryReport;
use crate::status::{DatabaseState, LiveStatus, LiveStream, Status};
use crate::table::store::Store;
use crate::table::{Schema, Table};
use crate::ticker::Ticker;
use crate::transaction::lifecycle::{Commit, Committed};
use crate::transaction::{Purge, Session, State, Transaction};

/// The log protocol of an open database.
enum Engine {
    None(Unlogged),
    Serial(Serial),
    Poplar(Poplar),
}

/// Calls a [`LogProtocol`] method on whichever protocol there is.
macro_rules! with_protocol {
    ($engine:expr, $protocol:ident => $body:expr) => {
        match $engine {
            Engine::None($protocol) => $body,
            Engine::Serial($protocol) => $body,
            Engine::Poplar($protocol) => $body,
        }
    };
}

/// What sessions share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    engine: Engine,
    counters: Counters,
    next_stream: AtomicU32,
    /// The snapshot that a checkpoint reads.
    pub(crate) snapshots: Snapshots,
    pub(crate) memory: MemoryLimit,
    /// Keys to purge that sessions left behind.
    orphans: Mutex<Vec<Purge>>,
    has_orphans: AtomicBool,
    /// Epochs go on no more, and nothing that waits for one ever ends.
    pub(crate) has_no_ticker: AtomicBool,
}

impl Shared {
    /// The last step of a transaction: commits what `state` holds, or validates it where it holds no writes.
    pub(crate) fn commit(&self, pin: &Pin<'_>, stream: StreamId, state: &mut State) -> Result<Committed, Error> {
        let transaction_log_bytes_max = self.config.transaction_log_bytes_max;
        let Shared { snapshots, memory, .. } = self;
        let commit = Commit { pin, stream, snapshots, transaction_log_bytes_max, memory };
        let committed = with_protocol!(&self.engine, protocol => state.commit(&commit, protocol, &self.catalog))
            .inspect_err(|_| self.counters.aborted(stream))?;
        state.settle(self, pin, committed.observed.stamp);
        self.counters.committed(stream);
        Ok(committed)
    }

    /// Makes the receipts of one session.
    pub(crate) fn receipts(&self) -> ReceiptSource {
        with_protocol!(&self.engine, protocol => protocol.receipts())
    }

    /// What was written to the log so far.
    pub(crate) fn log_metrics(&self) -> LogMetrics {
        with_protocol!(&self.engine, protocol => protocol.metrics())
    }

    /// Every transaction that has ended has a stamp at or below this one.
    pub(crate) fn last_stamp(&self) -> Stamp {
        with_protocol!(&self.engine, protocol => protocol.last_stamp())
    }

    /// See [`LogProtocol::begins`].
    pub(crate) fn log_begins(&self, floor: Option<Stamp>) -> Vec<StreamBegin> {
        with_protocol!(&self.engine, protocol => protocol.begins(floor))
    }

    /// See [`LogProtocol::durable_ends`].
    pub(crate) fn durable_ends(&self) -> Vec<LogOffset> {
        with_protocol!(&self.engine, protocol => protocol.durable_ends())
    }

    /// Of everything up to `stamp`, on every stream.
    pub(crate) fn durable(&self, stamp: Stamp) -> Receipt {
        let observed = Observed { stamp: Stamp::ZERO, stream: StreamId(0), raw_dep: stamp };
        self.receipts().durable(observed, Epoch(0))
    }

    /// See [`LogProtocol::recycle`].
    pub(crate) fn recycle_log(&self, begins: &[StreamBegin], others: &[PathBuf]) {
        with_protocol!(&self.engine, protocol => protocol.recycle(begins, others));
    }

    /// See [`LogProtocol::nudge`].
    pub(crate) fn nudge_log(&self) {
        with_protocol!(&self.engine, protocol => protocol.nudge());
    }

    /// See [`LogProtocol::fail`].
    pub(crate) fn fail_log(&self, failure: LogFailure) {
        with_protocol!(&self.engine, protocol => protocol.fail(failure));
    }

    fn failure(&self) -> Option<LogError> {
        with_protocol!(&self.engine, protocol => protocol.failure())
    }

    /// Everything up to this stamp is durable on every stream, and every later stamp exceeds it.
    pub(crate) fn stable(&self) -> Stamp {
        with_protocol!(&self.engine, protocol => protocol.stable())
    }

    /// Sessions are dealt to the streams in turn.
    pub(crate) fn next_stream(&self) -> StreamId {
        StreamId(self.next_stream.fetch_add(1, Ordering::Relaxed) % self.config.streams)
    }

    /// A session ends with keys left to purge; another one takes them over.
    pub(crate) fn adopt_purges(&self, purges: impl IntoIterator<Item = Purge>) {
        let mut orphans = lock(&self.orphans);
        orphans.extend(purges);
        self.has_orphans.store(!orphans.is_empty(), Ordering::Relaxed);
    }

    pub(crate) fn take_orphans(&self) -> Vec<Purge> {
        let mut orphans = lock(&self.orphans);
        self.has_orphans.store(false, Ordering::Relaxed);
        std::mem::take(&mut *orphans)
    }

    /// Whether [`Shared::take_orphans`] may find something.
    #[inline]
    pub(crate) fn has_orphans(&self) -> bool {
        self.has_orphans.load(Ordering::Relaxed)
    }
}

/// A database. Clones share it; the last one dropped closes it.
#[derive(Clone)]
pub struct Database {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    /// Sessions for [`Database::run`], as many as threads were in it at the same time.
    idle: Mutex<Vec<Session>>,
    pub(crate) checkpoints: Checkpoints,
    ticker: Mutex<Ticker>,
    pub(crate) home: Arc<Home>,
    report: Option<RecoveryReport>,
    /// Where another process can ask; `None` once closed.
    control: Mutex<Option<Listening>>,
}

impl Database {
    /// Opens the database in `config.dirs`, recovering it where it was not closed, or creates one there.
    ///
    /// # Errors
    /// [`Error::Config`] for a configuration that cannot be opened, [`Error::Recovery`] where the directories do not hold
    /// a sound database or are in use by another process, [`Error::Log`] where they cannot be written.
    pub fn open(config: Config) -> Result<Database, Error> {
        Directory::refuse_unfinished(&config)?;
        Database::open_unfinished(config)
    }

    /// Opens also what is marked as not finished: the last step of whoever finishes it.
    pub(crate) fn open_unfinished(config: Config) -> Result<Database, Error> {
        config.check()?;
        // One participant for each session, for each replaying thread, for each thread of a checkpoint, and for opening the
        // catalog or later the checkpointer.
        let threads = config.effective_recovery_threads() + config.checkpoint_threads;
        let epochs = Epochs::new(config.sessions_max + threads + 1);
        let store = Store::new(epochs);
        let catalog = Catalog::new(&store)?;
        if config.protocol == Protocol::None && refuse_to_forget(&config)?.is_none() {
            return Database::start(config, store, catalog, Engine::None(Unlogged), None, None);
        }
        let directory = Directory::open(&config, &store)?;
        // Beyond the floor: a checkpoint makes recovery skip epochs up to its boundary.
        store.epochs().resume_at(Epoch(directory.epoch_floor().0 + u64::from(!has(Mutation::EpochReused))));
        let mut report = directory.report.clone();
        if let Some(report) = &mut report {
            open_catalog(&config, &store, &catalog, report)?;
        }
        let engine = match config.protocol {
            Protocol::None => Engine::None(Unlogged),
            Protocol::Serial => Engine::Serial(Serial::start(&config, directory.log_layout())?),
            Protocol::Poplar => Engine::Poplar(Poplar::start(&config, directory.log_layout())?),
        };
        Database::start(config, store, catalog, engine, Some(directory), report)
    }

    fn start(
        config: Config,
        store: Store,
        catalog: Catalog,
        engine: Engine,
        directory: Option<Directory>,
        report: Option<RecoveryReport>,
    ) -> Result<Database, Error> {
        let counters = Counters::new(config.streams);
        let (next_stream, orphans, has_orphans) = (AtomicU32::new(0), Mutex::default(), AtomicBool::new(false));
        let has_no_ticker = AtomicBool::new(false);
        let snapshots = Snapshots::new(store.epochs().clone());
        let memory = MemoryLimit::new(store.epochs(), &config);
        let shared = Shared {
            config,
            store,
            catalog,
            engine,
            counters,
            next_stream,
            snapshots,
            memory,
            orphans,
            has_orphans,
            has_no_ticker,
        };
        let (shared, home) = (Arc::new(shared), Arc::new(Home::new(directory)));
        let ticker = Ticker::start(&shared).map_err(|source| Error::Spawn { task: Ticker::NAME, source })?;
        let inherited =
            report.as_ref().map(|report| Inherited { log_bytes: report.log_bytes, is_late: report.generations > 1 });
        let inherited = inherited.unwrap_or_default();
        let checkpoints = Checkpoints::start(&shared, &home, inherited)?;
        let (idle, ticker) = (Mutex::default(), Mutex::new(ticker));
        let control = Mutex::default();
        let inner = Arc::new(Inner { shared, idle, checkpoints, ticker, home, report, control });
        if inner.shared.config.control_socket {
            *lock(&inner.control) = Some(control::serve(&inner.shared.config, Arc::downgrade(&inner))?);
        }
        Ok(Database { inner })
    }

    /// A session, for one thread at a time.
    ///
    /// # Errors
    /// [`TransactionError::TooManySessions`](crate::TransactionError::TooManySessions).
    pub fn session(&self) -> Result<Session, Error> {
        Ok(Session::new(self.inner.shared.clone())?)
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
        Ok(self.run(|tx| tx.table(name))?.0)
    }

    /// What was done since the database was opened.
    pub fn metrics(&self) -> Metrics {
        let Inner { shared, checkpoints, .. } = &*self.inner;
        let now = shared.config.environment.clock.now();
        shared.counters.read(shared.log_metrics(), checkpoints.metrics(now), shared.memory.metrics())
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

    /// How the database stands: what its files are for, and what it does.
    ///
    /// # Errors
    /// [`Error::Directory`] where nothing of it is on disk yet, or its directories cannot be listed.
    pub fn status(&self) -> Result<Status, Error> {
        let Inner { shared, home, .. } = &*self.inner;
        let mut status = home.status(&shared.config)?;
        status.state = DatabaseState::Open;
        status.live = Some(self.live_status());
        Ok(status)
    }

    fn live_status(&self) -> LiveStatus {
        let (shared, metrics) = (&self.inner.shared, self.metrics());
        let epochs = shared.store.epochs();
        let durable = shared.log_begins(None);
        let stream = |(stream, begin): (&StreamMetrics, &StreamBegin)| LiveStream {
            durable: begin.durable.0,
            bytes: stream.bytes,
            records: stream.records,
            batches: stream.batches,
            syncs: stream.syncs,
        };
        LiveStatus {
            pid: crate::io::process_id(),
            committed: metrics.committed,
            aborted: metrics.aborted,
            epoch: epochs.current().0,
            ended_epoch: epochs.safe().0,
            stable: shared.stable().0,
            last_stamp: shared.last_stamp().0,
            streams: metrics.log.streams.iter().zip(&durable).map(stream).collect(),
            retained_bytes: metrics.log.retained_bytes,
            checkpoint: metrics.checkpoints.state.to_string(),
            checkpoints_taken: metrics.checkpoints.taken,
            checkpoints_failed: metrics.checkpoints.failed,
            checkpoint_failure: metrics.checkpoints.failure.map(|failure| failure.to_string()),
            backups: self.inner.home.holds(),
            failure: self.failure().map(|failure| failure.to_string()),
        }
    }

    /// What recovery did when the database was opened; `None` where it was created, or logs nothing.
    pub fn recovery(&self) -> Option<&RecoveryReport> {
        self.inner.report.as_ref()
    }

    /// The configuration that it was opened with.
    pub fn config(&self) -> &Config {
        &self.inner.shared.config
    }

    /// Why the log stopped, if it did.
    pub fn failure(&self) -> Option<LogError> {
        self.inner.shared.failure()
    }

    /// Makes everything durable and closes the database. Sessions and clones that are left fail from then on. A second
    /// close does nothing.
    ///
    /// # Errors
    /// Where something could not be made durable; the next open recovers as after a crash.
    pub fn close(&self) -> Result<(), Error> {
        self.inner.close()
    }
}

impl Inner {
    fn close(&self) -> Result<(), Error> {
        drop(lock(&self.control).take());
        lock(&self.idle).clear();
        // Before the ticker: a last checkpoint needs epochs that go on.
        let checkpointed = self.checkpoints.stop();
        lock(&self.ticker).stop();
        let Some(directory) = self.home.close() else { return Ok(checkpointed?) };
        let ends = with_protocol!(&self.shared.engine, protocol => protocol.close())?;
        directory.freeze(&ends, self.shared.store.epochs().current())?;
        Ok(checkpointed?)
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
    match Directory::protocol(config)? {
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
