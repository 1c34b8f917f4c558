//! Runs a workload against a target from many threads and counts what was acknowledged.
//!
//! A worker does not wait for its commits one by one. It keeps their receipts in a queue, looks at the oldest after
//! every transaction, and waits only when the queue is full, when the run asks for blocking commits, and at the end:
//! every transaction that counts is acknowledged before the clock stops.
//!
//! Invariants:
//! - `acknowledged == committed + rolled_back` at the end of a run without an error; throughput is over acknowledged.
//! - Transactions of the warm-up are acknowledged before the measured phase begins and are not counted.
//! - With a rate, latency runs from the moment a transaction was *due* (no coordinated omission).
//!
//! Receipts are polled in commit order, so one that is acknowledged early may be seen a moment late: latencies are
//! upper bounds. Deliberately absent: retries (they are the target's) and everything about particular workloads.

mod worker;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::latency::Latencies;
use crate::{Counters, Ledger, Target, TargetError, Workload};

/// How often the observer is called and the end of a phase looked for.
const OBSERVE_EVERY: Duration = Duration::from_millis(20);

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    /// After this long.
    Time(Duration),
    /// After so many transactions, shared out evenly among the workers.
    Transactions(u64),
}

/// How to drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// Threads that execute transactions.
    pub workers: u32,
    /// When to stop.
    pub length: Length,
    /// Not measured, before the measured phase.
    pub warmup: Duration,
    /// Wait for every commit before the next transaction.
    pub blocking: bool,
    /// Receipts a worker keeps unacknowledged before it waits.
    pub outstanding_max: usize,
    /// Requests that a worker hands over at a time. More than one cannot be paced or be waited for one by one.
    pub batch: usize,
    /// Transactions per second over all workers (open loop); none: as many as possible.
    pub rate: Option<f64>,
    /// One in so many transactions is timed.
    pub latency_every: u32,
    /// The report says how many were acknowledged by when.
    pub timeline: bool,
    /// Where the requests are drawn from.
    pub seed: u64,
}

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct RunResult {
    /// From the start to the last acknowledgement.
    pub seconds: f64,
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that rolled back because their request said so.
    pub rolled_back: u64,
    /// Conflicts: executions that were undone and tried again.
    pub aborted: u64,
    /// Outcomes acknowledged.
    pub acknowledged: u64,
    /// Committed transactions by type.
    pub kinds: Vec<u64>,
    /// From start (or due time) to acknowledgement.
    pub latencies: Latencies,
    /// What the target counted meanwhile.
    pub counters: Counters,
}

/// The state shared by the workers and their observer.
struct Shared {
    phase: AtomicU8,
    failed: AtomicBool,
    failure: Mutex<Option<TargetError>>,
    /// How many workers wait at a gate to the next phase.
    arrived: AtomicU32,
}

/// The phases of a run, in order. Before each of the two that execute transactions all workers meet.
const GATHER: u8 = 0;
const WARM_UP: u8 = 1;
const SETTLE: u8 = 2;
const MEASURE: u8 = 3;
const STOP: u8 = 4;

/// How often those who wait at a gate look.
const GATE_LOOK: Duration = Duration::from_micros(100);

/// What one worker has had acknowledged, published now and then for the observer; on a cache line of its own.
#[repr(align(128))]
#[derive(Default)]
struct Published(AtomicU64);

impl Shared {
    fn fail(&self, error: TargetError) {
        let mut failure = self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        failure.get_or_insert(error);
        self.failed.store(true, Ordering::Release);
    }

    /// Whether `phase` lasts.
    fn is_in(&self, phase: u8) -> bool {
        self.phase.load(Ordering::Relaxed) == phase && !self.failed.load(Ordering::Relaxed)
    }

    /// A worker is ready for `phase`: returns when it begins, or when the run has failed.
    fn arrive(&self, phase: u8) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        while self.phase.load(Ordering::Acquire) < phase && !self.failed.load(Ordering::Acquire) {
            std::thread::sleep(GATE_LOOK);
        }
    }

    /// The driver: returns when all workers have arrived at a gate, or when the run has failed.
    fn wait_all(&self, workers: u32) {
        while self.arrived.load(Ordering::Acquire) < workers && !self.failed.load(Ordering::Acquire) {
            std::thread::sleep(GATE_LOOK);
        }
        self.arrived.store(0, Ordering::Relaxed);
    }

    /// The driver: lets the warm-up pass.
    fn sleep(&self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time && !self.failed.load(Ordering::Relaxed) {
            std::thread::sleep(time.saturating_sub(start.elapsed()).min(OBSERVE_EVERY));
        }
    }
}

/// Runs `workload` against `target`. Every worker gets a ledger from `ledger`; `observe` is called now and then with
/// what has been acknowledged and the measured time so far.
///
/// # Errors
/// The first error of any worker; the others stop at once and nothing more is counted.
pub fn run<W, T, L>(
    workload: &W,
    target: &T,
    config: &RunConfig,
    ledger: impl Fn(u32) -> L + Sync,
    mut observe: impl FnMut(u64, Duration),
) -> Result<RunResult, TargetError>
where
    W: Workload,
    T: Target<W>,
    L: Ledger<W::Evidence>,
{
    assert!(config.workers > 0 && config.outstanding_max > 0 && config.latency_every > 0, "{config:?}");
    let shared = Shared {
        phase: AtomicU8::new(GATHER),
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
        arrived: AtomicU32::new(0),
    };
    let published: Vec<Published> = (0..config.workers).map(|_| Published::default()).collect();
    let (before, start, parts) = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..config.workers)
            .map(|id| {
                let (shared, ledger, published) = (&shared, &ledger, &published[id as usize]);
                scope.spawn(move || worker::run(id, workload, target, config, ledger(id), shared, published))
            })
            .collect();
        shared.wait_all(config.workers);
        shared.phase.store(WARM_UP, Ordering::Release);
        shared.sleep(config.warmup);
        shared.phase.store(SETTLE, Ordering::Release);
        shared.wait_all(config.workers);
        let before = target.counters();
        let start = Instant::now();
        shared.phase.store(MEASURE, Ordering::Release);
        loop {
            let (left, over) = match config.length {
                Length::Time(time) => (time.saturating_sub(start.elapsed()), start.elapsed() >= time),
                Length::Transactions(_) => (OBSERVE_EVERY, handles.iter().all(|handle| handle.is_finished())),
            };
            if over || shared.failed.load(Ordering::Relaxed) {
                break;
            }
            std::thread::sleep(left.min(OBSERVE_EVERY));
            observe(published.iter().map(|p| p.0.load(Ordering::Relaxed)).sum(), start.elapsed());
        }
        shared.phase.store(STOP, Ordering::Release);
        let parts: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
        (before, start, parts)
    });
    let parts: Vec<_> =
        parts.into_iter().map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect();
    if let Some(error) = shared.failure.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        return Err(error);
    }
    let mut result = RunResult { kinds: vec![0; workload.kinds().len()], ..RunResult::default() };
    parts.iter().for_each(|part| add(&mut result, part));
    assert_eq!(result.acknowledged, result.committed + result.rolled_back, "a run ends when all is acknowledged");
    let end = parts.iter().map(|part| part.end).max().expect("there is a worker");
    result.seconds = (end - start).as_secs_f64();
    result.counters = target.counters().since(&before);
    Ok(result)
}

fn add(result: &mut RunResult, part: &worker::Part) {
    result.committed += part.committed;
    result.rolled_back += part.rolled_back;
    result.aborted += part.aborted;
    result.acknowledged += part.acknowledged;
    result.kinds.iter_mut().zip(&part.kinds).for_each(|(sum, n)| *sum += n);
    result.latencies.add(&part.latencies);
}

#[cfg(test)]
mod tests;
