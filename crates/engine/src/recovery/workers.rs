//! Several threads at one stage of recovery.
//!
//! Invariant: the stage is over when [`run`] returns: every thread has ended, and the first error, if any, is the result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use osier_memory::Participant;

use super::RecoveryError;
use crate::io::{Environment, Signal, Step, Task};
use crate::table::store::Store;

/// One thread's part of a stage.
pub(crate) trait Work: Send + 'static {
    /// Why it may fail; threads fail as recovery does.
    type Error: From<RecoveryError> + Send;

    /// Does a bounded piece; `false` when nothing is left to do.
    fn advance(&mut self) -> Result<bool, Self::Error>;
}

struct Stage<E> {
    is_over: AtomicBool,
    failure: Mutex<Option<E>>,
}

impl<E> Stage<E> {
    fn fail(&self, error: E) {
        self.is_over.store(true, Ordering::Release);
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

struct Worker<W: Work> {
    work: W,
    stage: Arc<Stage<W::Error>>,
}

impl<W: Work> Task for Worker<W> {
    fn step(&mut self) -> Step {
        if self.stage.is_over.load(Ordering::Acquire) {
            return Step::Done;
        }
        match self.work.advance() {
            Ok(true) => Step::Again,
            Ok(false) => Step::Done,
            Err(error) => {
                self.stage.fail(error);
                Step::Done
            }
        }
    }
}

/// Runs each of `works` in a thread of its own, to the end.
pub(crate) fn run<W: Work>(environment: &Environment, works: Vec<W>) -> Result<(), W::Error> {
    let stage = Arc::new(Stage { is_over: AtomicBool::new(false), failure: Mutex::new(None) });
    let died = |what| RecoveryError::Thread { what }.into();
    let mut joiners = Vec::new();
    for (index, work) in works.into_iter().enumerate() {
        let task = Box::new(Worker { work, stage: stage.clone() });
        match environment.spawn.spawn(format!("osier-recovery-{index}"), task, Arc::new(Signal::new())) {
            Ok(joiner) => joiners.push(joiner),
            Err(error) => stage.fail(died(format!("a thread could not be started: {error}"))),
        }
    }
    for joiner in joiners {
        if let Err(message) = joiner.join() {
            stage.fail(died(format!("a thread panicked: {message}")));
        }
    }
    let failure = stage.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    failure.map_or(Ok(()), Err)
}

/// One thread's part in the epochs of `store`.
pub(crate) fn register(store: &Store) -> Result<Participant, RecoveryError> {
    store.epochs().register().ok_or_else(|| RecoveryError::Thread {
        what: "all sessions are taken: raise sessions_max above recovery_threads".to_owned(),
    })
}
