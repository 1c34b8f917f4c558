//! Reads a log ahead of the thread that replays it, in a thread of its own.
//!
//! Invariants:
//! - Batches are given in the order in which the merge gathers them: one thread at a time has the merge, and adds what it has
//!   gathered to the queue as it gives the merge back.
//! - Who replays waits for no more than the batch that is being gathered: where none is ready and nobody gathers, it does so
//!   itself. So the thread need not exist.
//! - A thread that panics while it has the merge ends the recovery: what it had taken is lost.

use std::collections::VecDeque;
use std::sync::Arc;

use osier_memory::sync::{Condvar, Mutex, MutexGuard, lock, wait};

use super::merge::{Batch, Merge};
use crate::config::Config;
use crate::error::RecoveryError;
use crate::io::{Joiner, Signal, Step, Task};
use crate::recovery::workers;

/// So many batches are gathered ahead, ...
const READY_MAX: usize = 64;
/// ... and none where they have so many bytes.
const READY_BYTES_MAX: usize = 16 << 20;

/// The batches of a log, in order.
pub(super) struct Feeder {
    shared: Arc<Shared>,
    reader: Option<Box<dyn Joiner>>,
}

struct Shared {
    queue: Mutex<Queue>,
    /// A batch was added, or none will be.
    gathered: Condvar,
    signal: Arc<Signal>,
}

struct Queue {
    /// `None` while a thread gathers.
    merge: Option<Merge>,
    ready: VecDeque<Batch>,
    /// For their memory.
    spare: Vec<Batch>,
    end: End,
}

/// What comes behind the batches that are ready.
enum End {
    /// Others.
    Open,
    /// Nothing: the log is at its end, or nobody wants more of it.
    Reached,
    /// An error, until it is told.
    Failed(Option<RecoveryError>),
}

impl Queue {
    fn is_full(&self) -> bool {
        let bytes: usize = self.ready.iter().map(Batch::bytes).sum();
        self.ready.len() >= READY_MAX || bytes >= READY_BYTES_MAX
    }
}

impl Shared {
    /// Adds the next batch to the queue, or why there is none.
    fn gather(&self, mut queue: MutexGuard<'_, Queue>, mut merge: Merge) {
        let mut batch = queue.spare.pop().unwrap_or_default();
        drop(queue);
        let gathering = Gathering(self);
        let gathered = merge.gather(&mut batch);
        std::mem::forget(gathering);
        let queue = &mut *lock(&self.queue);
        queue.merge = Some(merge);
        match gathered {
            Ok(true) => queue.ready.push_back(batch),
            Ok(false) => queue.end = End::Reached,
            Err(error) => queue.end = End::Failed(Some(error)),
        }
        self.gathered.notify_all();
    }
}

/// Dropped by a thread that panics while it has the merge.
struct Gathering<'s>(&'s Shared);

impl Drop for Gathering<'_> {
    fn drop(&mut self) {
        let what = "the thread that reads the log panicked".to_owned();
        lock(&self.0.queue).end = End::Failed(Some(RecoveryError::Thread { what }));
        self.0.gathered.notify_all();
    }
}

/// The thread that reads.
struct Reader(Arc<Shared>);

impl Task for Reader {
    fn step(&mut self) -> Step {
        let mut queue = lock(&self.0.queue);
        if !matches!(queue.end, End::Open) {
            return Step::Done;
        }
        if queue.is_full() {
            return Step::Idle(None);
        }
        let Some(merge) = queue.merge.take() else { return Step::Idle(None) };
        self.0.gather(queue, merge);
        Step::Again
    }
}

impl Feeder {
    /// Begins to read, ahead where there is more than one thread for recovery.
    pub(super) fn new(config: &Config, merge: Merge) -> Feeder {
        let signal = Arc::new(Signal::new());
        let queue = Queue { merge: Some(merge), ready: VecDeque::new(), spare: Vec::new(), end: End::Open };
        let shared = Arc::new(Shared { queue: Mutex::new(queue), gathered: Condvar::new(), signal: signal.clone() });
        let spawn = || {
            let task = Box::new(Reader(shared.clone()));
            config.environment.spawn.spawn("osier-recovery-reader".to_owned(), task, signal).ok()
        };
        let reader = if workers::count(config) > 1 { spawn() } else { None };
        Feeder { shared, reader }
    }

    /// Returns the next batch, and takes one back whose records were replayed; `None` behind the last one. Not to be called after
    /// an error.
    pub(super) fn next(&self, done: Option<Batch>) -> Result<Option<Batch>, RecoveryError> {
        let mut queue = lock(&self.shared.queue);
        queue.spare.extend(done.filter(|done| !done.is_large()));
        loop {
            if let Some(batch) = queue.ready.pop_front() {
                drop(queue);
                self.shared.signal.wake();
                return Ok(Some(batch));
            }
            match &mut queue.end {
                End::Open => {}
                End::Reached => return Ok(None),
                End::Failed(error) => return Err(error.take().expect("nobody goes on after an error")),
            }
            queue = match queue.merge.take() {
                Some(merge) => {
                    self.shared.gather(queue, merge);
                    lock(&self.shared.queue)
                }
                None => wait(&self.shared.gathered, &self.shared.queue, queue),
            };
        }
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        lock(&self.shared.queue).end = End::Reached;
        self.shared.signal.wake();
        if let Some(reader) = self.reader.take() {
            // What it has read does not count any more; that it has panicked was told.
            let _ = reader.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_thread_that_panics_while_it_reads_ends_the_recovery() {
        let queue = Queue { merge: None, ready: [Batch::default()].into(), spare: Vec::new(), end: End::Open };
        let shared =
            Arc::new(Shared { queue: Mutex::new(queue), gathered: Condvar::new(), signal: Arc::new(Signal::new()) });
        let feeder = Feeder { shared: shared.clone(), reader: None };
        let reader = std::thread::spawn(move || {
            let died = catch_unwind(AssertUnwindSafe(|| {
                let _gathering = Gathering(&shared);
                panic!("the test kills this thread");
            }));
            assert!(died.is_err());
        });
        assert!(feeder.next(None).expect("one was ready").is_some());
        let Err(error) = feeder.next(None) else { panic!("the log was not read to its end") };
        assert!(error.to_string().contains("panicked"), "{error}");
        reader.join().expect("it was caught");
    }
}
