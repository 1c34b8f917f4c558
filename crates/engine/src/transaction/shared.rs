//! What the sessions of an open database share, and what its checkpointer, its ticker and its backups work with.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use osier_memory::sync::{Backoff, Mutex, lock};
use osier_memory::{Locks, Snapshots, Swept, Timestamps};

use super::Purge;
use super::advisory::AdvisoryLocks;
use super::backlog::{self, Reach, Use};
use super::counters::Counters;
use super::debt::Debt;
use super::figures::Figures;
use super::open_snapshots::OpenSnapshots;
use super::superseded::Superseded;
use crate::catalog::Catalog;
use crate::concurrency::Scheme;
use crate::config::Config;
use crate::error::{Error, LogError, TransactionError};
use crate::ids::{Stamp, StreamId};
use crate::log::CommitLog;
use crate::log::acknowledge::{Outcome, Receipt};
use crate::table::Table;
use crate::table::store::Store;
use crate::transaction::memory_limit::MemoryLimit;

/// What sessions share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    pub(crate) log: CommitLog,
    pub(crate) counters: Counters,
    pub(crate) figures: Figures,
    pub(crate) debt: Debt,
    pub(crate) superseded: Superseded,
    /// What was registered for calls of procedures, which this floor does not know.
    pub(crate) registered: Arc<dyn Any + Send + Sync>,
    next_stream: AtomicU32,
    /// How many sessions there are.
    sessions: AtomicUsize,
    /// What checkpoints and transactions at a snapshot read.
    pub(crate) snapshots: Arc<Snapshots>,
    pub(crate) open_snapshots: OpenSnapshots,
    pub(crate) memory: MemoryLimit,
    /// What transactions wait for each other in, where they lock, and sessions for advisory locks.
    locks: Arc<Locks>,
    pub(crate) advisory: Arc<AdvisoryLocks>,
    /// What has to run again while transactions go on.
    pub(crate) backlog: backlog::OfDatabase,
    /// The order of commits, where transactions see rows of the past.
    timestamps: Arc<Timestamps>,
    /// Keys to purge that sessions left behind.
    orphans: Mutex<Vec<Purge>>,
    has_orphans: AtomicBool,
    /// Whether the database is closed: no transaction commits or validates any more, because another process may have the
    /// directories open by now.
    is_closed: AtomicBool,
    /// Whether the ticker has died: the epoch no longer rises, so whoever waits for one to end has to give up.
    pub(crate) has_no_ticker: AtomicBool,
}

impl Shared {
    /// Returns the shared state of a database that nobody uses yet.
    pub(crate) fn new(
        config: Config,
        store: Store,
        catalog: Catalog,
        log: CommitLog,
        registered: Arc<dyn Any + Send + Sync>,
    ) -> Shared {
        let locks = Locks::new(config.locking);
        Shared {
            registered,
            counters: Counters::default(),
            figures: Figures::default(),
            debt: Debt::new(&config),
            superseded: Superseded::new(&catalog),
            next_stream: AtomicU32::new(0),
            sessions: AtomicUsize::new(0),
            snapshots: Snapshots::new(store.epochs().clone()),
            open_snapshots: OpenSnapshots::default(),
            memory: MemoryLimit::new(store.epochs(), &config),
            advisory: AdvisoryLocks::new(&locks),
            locks,
            backlog: backlog::OfDatabase::default(),
            timestamps: Arc::default(),
            orphans: Mutex::default(),
            has_orphans: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            has_no_ticker: AtomicBool::new(false),
            config,
            store,
            catalog,
            log,
        }
    }

    /// Refuses every commit from now on, also of transactions in progress.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Whether [`Shared::close`] was called.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Waits a little for the handle of a definition that a commit is about to publish.
    ///
    /// # Errors
    /// Why the database has failed, or that it is closed. The wait would have no end where nobody is left to publish it.
    pub(super) fn wait_for_handle(&self, backoff: &mut Backoff) -> Result<(), LogError> {
        self.goes_on()?;
        backoff.wait();
        Ok(())
    }

    /// Before an access to rows: the backlog has none of them any more.
    ///
    /// # Errors
    /// As [`Backlog::settle`](backlog::Backlog::settle).
    #[inline]
    pub(super) fn settle(&self, table: &Table, reach: Reach<'_>, to: Use) -> Result<(), Error> {
        match self.backlog.get() {
            None => Ok(()),
            Some(backlog) => backlog.settle(&|| self.goes_on(), table, reach, to),
        }
    }

    /// Waits until the backlog is over.
    ///
    /// # Errors
    /// As [`Backlog::settle`](backlog::Backlog::settle).
    pub(crate) fn settle_all(&self) -> Result<(), Error> {
        self.backlog.get().map_or(Ok(()), |backlog| backlog.settle_all(&|| self.goes_on()))
    }

    /// Whether there is something to wait for: why the database has failed, or that it is closed.
    fn goes_on(&self) -> Result<(), LogError> {
        match self.log.failure() {
            _ if self.is_closed() => Err(LogError::Closed),
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Returns the state of concurrency control for a new session.
    pub(crate) fn scheme(&self) -> Scheme {
        Scheme::new(&self.config, &self.locks, &self.timestamps)
    }

    /// Returns a receipt for everything up to `stamp`, on every stream.
    pub(crate) fn durable(&self, stamp: Stamp) -> Receipt {
        self.log.receipts().durable(Outcome::stable(stamp))
    }

    /// Admits a session, unless there are as many as there may be: what remains of the participants of epochs is for
    /// checkpoints.
    pub(crate) fn admit_session(&self) -> Result<(), TransactionError> {
        let limit = self.config.sessions_max;
        let one_more = |sessions| (sessions < limit).then_some(sessions + 1);
        let admitted = self.sessions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        admitted.map(drop).map_err(|_| TransactionError::TooManySessions { limit })
    }

    /// A session that was admitted has ended.
    pub(crate) fn session_ended(&self) {
        let before = self.sessions.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "a session ends once");
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

    /// Lets go of a piece of what only snapshots needed that are over; `false`: there is nothing.
    pub(crate) fn sweep_snapshots(&self) -> bool {
        match self.snapshots.sweep() {
            Swept::Nothing => return false,
            Swept::Piece => {}
            Swept::All(earliest) => {
                self.store.forget_discarded(earliest);
                self.catalog.forget_past(earliest);
            }
        }
        true
    }

    /// Whether [`Shared::take_orphans`] may find something.
    #[inline]
    pub(crate) fn has_orphans(&self) -> bool {
        self.has_orphans.load(Ordering::Relaxed)
    }
}
