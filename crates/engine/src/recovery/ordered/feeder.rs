//! Reads a log ahead of the thread that replays it, in a thread of its own.
//!
//! Invariants:
//! - Batches are given in the order in which the merge gathers them: who holds the merge adds to the queue before it lets go.
//! - Who replays waits for no more than the batch that is being gathered: where none is ready it gathers one itself. So nothing
//!   depends on the thread, which need not even exist.

use std::collections::VecDeque;
use std::sync::Arc;

use osier_memory::sync::{Mutex, lock};

use super::merge::{Batch, Merge};
use crate::config::Config;
use crate::error::RecoveryError;
use crate::io::{Joiner, Signal, Step, Task};
use crate::recovery::workers;

/// So many batches are gathered ahead.
const READY_MAX: usize = 8;

/// The batches of a log, in order.
pub(super) struct Feeder {
    shared: Arc<Shared>,
    reader: Option<Box<dyn Joiner>>,
}

struct Shared {
    merge: Mutex<Merge>,
    /// Locked after the merge.
    queue: Mutex<Queue>,
    signal: Arc<Signal>,
}

#[derive(Default)]
struct Queue {
    ready: VecDeque<Batch>,
    /// For their memory.
    spare: Vec<Batch>,
    /// Nothing comes any more, because the log is at its end, cannot be read, or nobody wants it.
    is_over: bool,
    failure: Option<RecoveryError>,
}

impl Shared {
    /// Adds the next batch to the queue, or why there is none.
    fn gather(&self, merge: &mut Merge) {
        let mut batch = lock(&self.queue).spare.pop().unwrap_or_default();
        let gathered = merge.gather(&mut batch);
        let queue = &mut *lock(&self.queue);
        match gathered {
            Ok(true) => queue.ready.push_back(batch),
            Ok(false) => queue.is_over = true,
            Err(error) => (queue.is_over, queue.failure) = (true, Some(error)),
        }
    }
}

/// The thread that reads.
struct Reader(Arc<Shared>);

impl Task for Reader {
    fn step(&mut self) -> Step {
        let merge = &mut *lock(&self.0.merge);
        {
            let queue = lock(&self.0.queue);
            if queue.is_over {
                return Step::Done;
            }
            if queue.ready.len() >= READY_MAX {
                return Step::Idle(None);
            }
        }
        self.0.gather(merge);
        Step::Again
    }
}

impl Feeder {
    /// Begins to read, ahead where there is more than one thread for recovery.
    pub(super) fn new(config: &Config, merge: Merge) -> Feeder {
        let signal = Arc::new(Signal::new());
        let shared = Arc::new(Shared { merge: Mutex::new(merge), queue: Mutex::default(), signal: signal.clone() });
        let spawn = || {
            let task = Box::new(Reader(shared.clone()));
            config.environment.spawn.spawn("osier-recovery-reader".to_owned(), task, signal).ok()
        };
        let reader = if workers::count(config) > 1 { spawn() } else { None };
        Feeder { shared, reader }
    }

    /// Returns the next batch, and takes one back whose records were replayed; `None` behind the last one.
    pub(super) fn next(&self, done: Option<Batch>) -> Result<Option<Batch>, RecoveryError> {
        lock(&self.shared.queue).spare.extend(done);
        loop {
            if let Some(next) = self.ready()? {
                return Ok(next);
            }
            // Whoever held it may have added one.
            let merge = &mut *lock(&self.shared.merge);
            if let Some(next) = self.ready()? {
                return Ok(next);
            }
            self.shared.gather(merge);
        }
    }

    /// Returns what comes next if that is known.
    fn ready(&self) -> Result<Option<Option<Batch>>, RecoveryError> {
        let queue = &mut *lock(&self.shared.queue);
        if let Some(batch) = queue.ready.pop_front() {
            if queue.ready.len() == READY_MAX / 2 {
                self.shared.signal.wake();
            }
            return Ok(Some(Some(batch)));
        }
        match (queue.is_over, queue.failure.take()) {
            (_, Some(error)) => Err(error),
            (true, None) => Ok(Some(None)),
            (false, None) => Ok(None),
        }
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        lock(&self.shared.queue).is_over = true;
        self.shared.signal.wake();
        if let Some(reader) = self.reader.take() {
            // What it has read does not count any more, nor why it has not.
            let _ = reader.join();
        }
    }
}
