//! Several threads at one stage of recovery.
//!
//! Invariants:
//! - The stage is over when [`run`] returns: every thread has ended. The result is what each of them did, or the first error.
//! - The first error ends the stage, and so does a thread that panics: the others take no further step. A panic is an error
//!   of recovery, whose store is then dropped. Where others would wait for what the thread holds it ends the process instead
//!   ([`critical`](crate::transaction::critical())).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use osier_memory::Participant;
use osier_memory::sync::{Mutex, lock};

use crate::config::Config;
use crate::error::RecoveryError;
use crate::io::{Environment, Joiner, Signal, Step, Task};
use crate::table::store::Store;

/// One thread's part of a stage.
pub(crate) trait Work: Send + 'static {
    /// Why it may fail; threads fail as recovery does.
    type Error: From<RecoveryError> + Send;

    /// Does a bounded piece; `false` when nothing is left to do.
    fn advance(&mut self) -> Result<bool, Self::Error>;
}

/// What the threads of a stage share.
struct Stage<W: Work> {
    is_over: AtomicBool,
    failure: Mutex<Option<W::Error>>,
    /// The parts that are done.
    finished: Mutex<Vec<W>>,
}

impl<W: Work> Stage<W> {
    /// Ends the stage; the first error counts.
    fn fail(&self, error: W::Error) {
        self.is_over.store(true, Ordering::Release);
        lock(&self.failure).get_or_insert(error);
    }
}

impl<W: Work> Default for Stage<W> {
    fn default() -> Stage<W> {
        Stage { is_over: AtomicBool::new(false), failure: Mutex::default(), finished: Mutex::default() }
    }
}

/// One thread of a stage.
struct Worker<W: Work> {
    /// `None` when nothing is left to do.
    work: Option<W>,
    stage: Arc<Stage<W>>,
}

impl<W: Work> Task for Worker<W> {
    fn step(&mut self) -> Step {
        if self.stage.is_over.load(Ordering::Acquire) {
            return Step::Done;
        }
        match self.work.as_mut().expect("a worker that is done takes no step").advance() {
            Ok(true) => Step::Again,
            Ok(false) => {
                lock(&self.stage.finished).extend(self.work.take());
                Step::Done
            }
            Err(error) => {
                self.stage.fail(error);
                Step::Done
            }
        }
    }
}

/// A thread that dies before its part is done ends the stage.
impl<W: Work> Drop for Worker<W> {
    fn drop(&mut self) {
        if self.work.is_some() {
            self.stage.is_over.store(true, Ordering::Release);
        }
    }
}

/// Runs each of `works` in a thread of its own, to the end, and returns them, in any order.
///
/// # Errors
/// The first error of a part; [`RecoveryError::Thread`] where a thread could not be started, or panicked.
pub(crate) fn run<W: Work>(environment: &Environment, works: Vec<W>) -> Result<Vec<W>, W::Error> {
    begin(environment, works).end()
}

/// Begins to run each of `works` in a thread of its own.
pub(crate) fn begin<W: Work>(environment: &Environment, works: Vec<W>) -> Running<W> {
    let mut running = Running { stage: Arc::new(Stage::default()), threads: 0, joiners: Vec::new() };
    works.into_iter().for_each(|work| running.add(environment, work));
    running
}

/// A stage that has begun. Where it is dropped its threads take no further step.
pub(crate) struct Running<W: Work> {
    stage: Arc<Stage<W>>,
    threads: usize,
    joiners: Vec<Box<dyn Joiner>>,
}

fn died<E: From<RecoveryError>>(what: String) -> E {
    RecoveryError::Thread { what }.into()
}

impl<W: Work> Running<W> {
    /// Begins to run one more, in a thread of its own.
    pub(crate) fn add(&mut self, environment: &Environment, work: W) {
        let task = Box::new(Worker { work: Some(work), stage: self.stage.clone() });
        let name = format!("osier-recovery-{}", self.threads);
        self.threads += 1;
        match environment.spawn.spawn(name, task, Arc::new(Signal::new())) {
            Ok(joiner) => self.joiners.push(joiner),
            Err(error) => self.stage.fail(died(format!("a thread could not be started: {error}"))),
        }
    }

    /// Whether one of the threads has failed, or died.
    pub(crate) fn has_failed(&self) -> bool {
        self.stage.is_over.load(Ordering::Acquire)
    }

    /// Waits until all threads have ended, and returns what [`run`] does.
    pub(crate) fn end(mut self) -> Result<Vec<W>, W::Error> {
        self.join();
        if let Some(failure) = lock(&self.stage.failure).take() {
            return Err(failure);
        }
        let finished = std::mem::take(&mut *lock(&self.stage.finished));
        assert_eq!(finished.len(), self.threads, "a thread neither failed nor handed back its part");
        Ok(finished)
    }

    fn join(&mut self) {
        for joiner in self.joiners.drain(..) {
            if let Err(message) = joiner.join() {
                self.stage.fail(died(format!("a thread panicked: {message}")));
            }
        }
    }
}

impl<W: Work> Drop for Running<W> {
    fn drop(&mut self) {
        self.stage.is_over.store(true, Ordering::Release);
        self.join();
    }
}

/// Returns how many threads replay.
pub(crate) fn count(config: &Config) -> usize {
    config.effective_recovery_threads().max(1)
}

/// Returns how many sessions a replay by so many threads has at most, each a participant of epochs: for each thread one that runs
/// transactions, one that asks ahead and one that plans, and two for whoever runs them in order.
pub(crate) fn sessions(threads: usize) -> usize {
    3 * threads + 2
}

/// One thread's part in the epochs of `store`.
pub(crate) fn register(store: &Store) -> Result<Participant, RecoveryError> {
    store.epochs().register().ok_or_else(|| RecoveryError::Thread {
        what: "all sessions are taken: raise sessions_max above recovery_threads".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a thread does in every step.
    enum Part {
        Works,
        Fails,
        Panics,
    }

    impl Work for Part {
        type Error = RecoveryError;

        fn advance(&mut self) -> Result<bool, RecoveryError> {
            match self {
                Part::Works => Ok(true),
                Part::Fails => Err(RecoveryError::Thread { what: "it failed".to_owned() }),
                Part::Panics => panic!("the test kills this thread"),
            }
        }
    }

    /// The others would work for ever.
    #[test]
    fn a_thread_that_fails_or_panics_ends_the_stage() {
        for (part, told) in [(Part::Fails, "it failed"), (Part::Panics, "the test kills this thread")] {
            let ended = run(&Environment::os(), vec![Part::Works, part, Part::Works]);
            let error = ended.err().expect("a part has failed").to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
