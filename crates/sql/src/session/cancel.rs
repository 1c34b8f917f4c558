//! What ends a running statement before its time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::error::{Result, SqlError, SqlState};
use crate::settings::Settings;

/// Ends the running statement of a session, from any thread, or when its time is over.
#[derive(Clone, Debug, Default)]
pub struct Canceller(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_cancelled: AtomicBool,
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    deadline: Option<Instant>,
    /// How long it may wait for a lock.
    lock_timeout: Option<Duration>,
    /// Whether it was told to wait for none.
    waits_not: bool,
    waker: Option<Waker>,
}

impl Canceller {
    /// Asks the session to end the statement that it runs.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
        let waker = self.running().waker.take();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Whether the statement is to end.
    pub fn is_due(&self) -> bool {
        self.is_cancelled() || self.time_left().is_some_and(|left| left.is_zero())
    }

    /// Returns how long the statement may run yet, if that is limited.
    pub fn time_left(&self) -> Option<Duration> {
        self.running().deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns how long the statement may wait for something, if that is limited.
    pub fn wait_max(&self) -> Option<Duration> {
        let lock_timeout = self.running().lock_timeout;
        self.time_left().into_iter().chain(lock_timeout).min()
    }

    /// Has this task woken when the statement is cancelled, and no other.
    pub fn wake(&self, waker: &Waker) {
        self.running().waker = Some(waker.clone());
    }

    /// Whether somebody has cancelled the statement since it began.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Relaxed)
    }

    /// Ends the statement, if it is to end.
    pub(crate) fn check(&self) -> Result<()> {
        let reason = match self.is_cancelled() {
            true => "user request",
            false if self.is_due() => "statement timeout",
            false => return Ok(()),
        };
        Err(SqlError::new(SqlState::QueryCanceled, format!("canceling statement due to {reason}")))
    }

    /// A statement begins.
    pub(super) fn begin(&self, settings: &Settings) {
        self.0.is_cancelled.store(false, Ordering::Relaxed);
        let deadline = settings.statement_timeout.map(|timeout| Instant::now() + timeout);
        *self.running() = Running { deadline, lock_timeout: settings.lock_timeout, waits_not: false, waker: None };
    }

    /// The statement waits so long for a lock from now on; without an end, if that is not limited.
    pub(super) fn wait_for_locks(&self, at_most: Option<Duration>) {
        self.running().lock_timeout = at_most;
    }

    /// The statement waits for no lock.
    pub(super) fn wait_not(&self) {
        let mut running = self.running();
        (running.lock_timeout, running.waits_not) = (Some(Duration::ZERO), true);
    }

    /// Says why a statement did not get a lock: because it is to end, or its own limit has passed, if it has one.
    pub(super) fn explain(&self, error: SqlError) -> SqlError {
        match self.check() {
            _ if error.state != SqlState::LockNotAvailable => error,
            Err(ended) => ended,
            // It names the table already.
            Ok(()) if error.table().is_some() => error,
            Ok(()) if self.running().waits_not => {
                SqlError::new(SqlState::LockNotAvailable, "could not obtain lock on row")
            }
            Ok(()) if self.running().lock_timeout.is_some() => {
                SqlError::new(SqlState::LockNotAvailable, "canceling statement due to lock timeout")
            }
            Ok(()) => error,
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
