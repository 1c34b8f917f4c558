//! One worker thread of a run: draws, executes, polls, drains.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Length, MEASURE, Published, RunConfig, Shared, WARM_UP};
use crate::latency::Latencies;
use crate::{Acknowledge, Client, Executed, Ledger, Outcome, Target, TargetError, Workload};

/// Acknowledgements between two publications to the observer.
const PUBLISH_EVERY: u64 = 64;
/// How long a worker that is ahead of its rate sleeps at most between two looks at its receipts.
const IDLE: Duration = Duration::from_micros(50);

/// What one worker did in the measured phase.
pub(super) struct Part {
    pub committed: u64,
    pub rolled_back: u64,
    pub aborted: u64,
    pub acknowledged: u64,
    pub kinds: Vec<u64>,
    pub latencies: Latencies,
    pub end: Instant,
}

impl Part {
    fn new(kinds: usize) -> Part {
        let latencies = Latencies::new();
        let end = Instant::now();
        Part { committed: 0, rolled_back: 0, aborted: 0, acknowledged: 0, kinds: vec![0; kinds], latencies, end }
    }
}

/// A committed transaction whose acknowledgement is awaited.
struct Pending<R, N> {
    receipt: R,
    /// Set for those that are timed.
    start: Option<Instant>,
    entry: N,
}

/// When the transactions of one worker are due.
struct Schedule {
    interval: Duration,
    due: Instant,
}

struct Worker<'a, R, L: Ledger<E>, E> {
    config: &'a RunConfig,
    shared: &'a Shared,
    published: &'a Published,
    ledger: L,
    queue: VecDeque<Pending<R, L::Entry>>,
    part: Part,
}

/// Tells the others when this worker panics: they must not wait for it.
struct FailOnPanic<'a>(&'a Shared);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(TargetError::new("a worker thread panicked"));
        }
    }
}

/// The body of a worker thread. Errors go to `shared`.
pub(super) fn run<W, T, L>(
    id: u32,
    workload: &W,
    target: &T,
    config: &RunConfig,
    ledger: L,
    shared: &Shared,
    published: &Published,
) -> Part
where
    W: Workload,
    T: Target<W>,
    L: Ledger<W::Evidence>,
{
    let _guard = FailOnPanic(shared);
    let part = Part::new(workload.kinds().len());
    let queue = VecDeque::with_capacity(config.outstanding_max);
    let mut worker = Worker { config, shared, published, ledger, queue, part };
    let outcome = target.client(id).and_then(|mut client| {
        let mut requests = workload.requests(id, config.workers, config.seed);
        shared.arrive(WARM_UP);
        let without = config.warmup.is_zero().then_some(0);
        worker.phase(WARM_UP, workload, &mut client, &mut requests, without)?;
        shared.arrive(MEASURE);
        worker.part = Part::new(workload.kinds().len());
        published.0.store(0, Ordering::Relaxed);
        worker.phase(MEASURE, workload, &mut client, &mut requests, share(config.length, id, config.workers))
    });
    if let Err(error) = outcome {
        shared.fail(error);
    }
    worker.part.end = Instant::now();
    worker.part
}

/// How many transactions are this worker's.
fn share(length: Length, id: u32, workers: u32) -> Option<u64> {
    match length {
        Length::Time(_) => None,
        Length::Transactions(n) => {
            let (id, workers) = (u64::from(id), u64::from(workers));
            Some(n / workers + u64::from(id < n % workers))
        }
    }
}

/// Whether the next transaction is timed.
fn is_timed(until_timed: &mut u32, config: &RunConfig) -> bool {
    let is_timed = *until_timed == 0;
    *until_timed = if is_timed { config.latency_every - 1 } else { *until_timed - 1 };
    is_timed
}

impl<R: Acknowledge, L: Ledger<E>, E> Worker<'_, R, L, E> {
    /// Executes transactions while `phase` lasts, at most `count`, then waits for all of them.
    fn phase<W, C>(
        &mut self,
        phase: u8,
        workload: &W,
        client: &mut C,
        requests: &mut impl Iterator<Item = W::Request>,
        count: Option<u64>,
    ) -> Result<(), TargetError>
    where
        W: Workload<Evidence = E>,
        C: Client<W, Receipt = R>,
    {
        let mut pace = self.config.rate.map(|rate| Schedule {
            interval: Duration::from_secs_f64(f64::from(self.config.workers) / rate),
            due: Instant::now(),
        });
        let mut left = count.unwrap_or(u64::MAX);
        let mut until_timed = 0;
        while self.config.batch > 1 && left > 0 && self.shared.is_in(phase) {
            let size = left.min(self.config.batch as u64);
            left -= size;
            self.batch(workload, client, requests, size as usize, &mut until_timed)?;
        }
        while left > 0 && self.shared.is_in(phase) {
            left -= 1;
            let timed = is_timed(&mut until_timed, self.config);
            let due = match &mut pace {
                Some(pace) => match self.await_due(pace, phase)? {
                    Some(due) => Some(due),
                    None => break,
                },
                None => None,
            };
            let start = timed.then(|| due.unwrap_or_else(Instant::now));
            let request = requests.next().expect("a workload has requests without end");
            let executed = client.execute(&request)?;
            self.count(workload.kind(&request), &executed);
            let entry = self.ledger.committed(executed.evidence);
            self.queue.push_back(Pending { receipt: executed.receipt, start, entry });
            let full = self.config.blocking || self.queue.len() >= self.config.outstanding_max;
            if full {
                self.wait_oldest()?;
            }
            // Also then: what was acknowledged together goes together, or the queue would stay full.
            self.poll()?;
        }
        while !self.queue.is_empty() {
            self.wait_oldest()?;
        }
        self.ledger.flush()
    }

    /// Executes so many requests at a time.
    fn batch<W, C>(
        &mut self,
        workload: &W,
        client: &mut C,
        requests: &mut impl Iterator<Item = W::Request>,
        size: usize,
        until_timed: &mut u32,
    ) -> Result<(), TargetError>
    where
        W: Workload<Evidence = E>,
        C: Client<W, Receipt = R>,
    {
        while self.queue.len() + size > self.config.outstanding_max {
            self.wait_oldest()?;
            self.poll()?;
        }
        let start = Instant::now();
        let requests: Vec<_> = requests.take(size).collect();
        for (request, executed) in requests.iter().zip(client.execute_all(&requests)?) {
            self.count(workload.kind(request), &executed);
            let entry = self.ledger.committed(executed.evidence);
            let start = is_timed(until_timed, self.config).then_some(start);
            self.queue.push_back(Pending { receipt: executed.receipt, start, entry });
        }
        self.poll()
    }

    fn count(&mut self, kind: usize, executed: &Executed<R, E>) {
        self.part.aborted += u64::from(executed.conflicts);
        match executed.outcome {
            Outcome::Committed => {
                self.part.committed += 1;
                self.part.kinds[kind] += 1;
            }
            Outcome::RolledBack => self.part.rolled_back += 1,
        }
    }

    /// Looks at receipts until the next transaction is due; `None` when the phase is over first.
    fn await_due(&mut self, pace: &mut Schedule, phase: u8) -> Result<Option<Instant>, TargetError> {
        let due = pace.due;
        pace.due += pace.interval;
        loop {
            let now = Instant::now();
            if now >= due {
                return Ok(Some(due));
            }
            if !self.shared.is_in(phase) {
                return Ok(None);
            }
            self.poll()?;
            std::thread::sleep((due - now).min(IDLE));
        }
    }

    /// Takes what is acknowledged from the front of the queue.
    fn poll(&mut self) -> Result<(), TargetError> {
        let before = self.part.acknowledged;
        let mut now = None;
        while let Some(oldest) = self.queue.front() {
            if !oldest.receipt.is_acknowledged()? {
                break;
            }
            self.pop(&mut now);
        }
        if self.part.acknowledged > before { self.ledger.flush() } else { Ok(()) }
    }

    /// Waits for the oldest receipt and takes it.
    fn wait_oldest(&mut self) -> Result<(), TargetError> {
        if let Some(oldest) = self.queue.front() {
            oldest.receipt.wait()?;
            self.pop(&mut None);
        }
        self.ledger.flush()
    }

    /// Counts the oldest as acknowledged. The clock is read once, for the first timed one of a call of `poll`.
    fn pop(&mut self, now: &mut Option<Instant>) {
        let oldest = self.queue.pop_front().expect("the caller has looked at it");
        let latency = oldest.start.map(|start| now.get_or_insert_with(Instant::now).saturating_duration_since(start));
        if let Some(latency) = latency {
            self.part.latencies.record(latency);
        }
        self.ledger.acknowledged(oldest.entry, latency);
        self.part.acknowledged += 1;
        if self.part.acknowledged.is_multiple_of(PUBLISH_EVERY) {
            self.published.0.store(self.part.acknowledged, Ordering::Relaxed);
        }
    }
}
