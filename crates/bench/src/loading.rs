//! Fills tables from several threads, one transaction per task, and waits until all of it is durable.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use osier::{Database, Durability, Session, Transaction};

use crate::TargetError;
use crate::attempt::{Decision, Failure, execute, options};

/// Receipts a loading thread keeps before it waits for the oldest.
const OUTSTANDING_MAX: usize = 64;

/// What the loading threads share.
struct Load<'a, T, B> {
    tasks: &'a [T],
    body: B,
    next: AtomicUsize,
    rows: AtomicU64,
    failed: AtomicBool,
    failure: Mutex<Option<TargetError>>,
}

/// Runs `body` as a transaction for each of `tasks` with its number; it returns how many rows it added and may run again
/// after a conflict. `observe` is called with all rows so far. Returns the number of rows.
pub fn run<T: Sync>(
    db: &Database,
    threads: u32,
    tasks: &[T],
    observe: &(impl Fn(u64) + Sync),
    body: impl Fn(&Transaction<'_>, u32, &T) -> Result<u64, Failure> + Sync,
) -> Result<u64, TargetError> {
    let shared = Load {
        tasks,
        body,
        next: AtomicUsize::new(0),
        rows: AtomicU64::new(0),
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let loaded = db.session().map_err(TargetError::new).and_then(|session| shared.load(session, observe));
                if let Err(error) = loaded {
                    shared.failed.store(true, Ordering::Relaxed);
                    shared.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(error);
                }
            });
        }
    });
    match shared.failure.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        Some(error) => Err(error),
        None => Ok(shared.rows.into_inner()),
    }
}

impl<T, B> Load<'_, T, B>
where
    B: Fn(&Transaction<'_>, u32, &T) -> Result<u64, Failure>,
{
    /// One thread's share: whatever task is next.
    fn load(&self, mut session: Session, observe: &impl Fn(u64)) -> Result<(), TargetError> {
        let mut receipts = std::collections::VecDeque::with_capacity(OUTSTANDING_MAX);
        while !self.failed.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.tasks.get(number) else { break };
            let loaded = execute(&mut session, options(false, Durability::Durable), |tx| {
                (self.body)(tx, number as u32, task).map(Decision::Commit)
            })?;
            observe(self.rows.fetch_add(loaded.evidence, Ordering::Relaxed) + loaded.evidence);
            if receipts.len() == OUTSTANDING_MAX {
                let oldest: osier::Receipt = receipts.pop_front().expect("the queue is full");
                oldest.wait().map_err(TargetError::new)?;
            }
            receipts.push_back(loaded.receipt);
        }
        receipts.iter().try_for_each(|receipt| receipt.wait().map_err(TargetError::new))
    }
}
