//! Acknowledges commits whose log is durable: the last step of a transaction's life.
//!
//! A response may leave when everything it observed is durable; the protocol says when that is, as a [`Requirement`].
//! [`Watermark`] knows what is durable, [`Receipt`] asks or waits, [`queue`] holds the waiters, and [`Acknowledger`] ties
//! them together: loggers publish here and wake the waiters that this covers.
//!
//! Invariants:
//! - Nothing beyond the frontier is acknowledged; after a failure no publication begins, and what the frontier
//!   covered by then stays acknowledged, because it is durable.
//! - A waiter is queued at the first threshold of its requirement that is not met: at its own stream, when that is met at
//!   others, and at last at `CSN`. The logger that finds it there moves it, or it does so itself where the logger had looked
//!   before.
//! - To wait for `CSN` is a demand: streams that are behind are woken and write a marker, so that a reader of an idle
//!   database is acknowledged without any further commit.

#[cfg(feature = "mutations")]
mod faults;
pub(crate) mod queue;
mod receipt;
mod requirement;
mod watermark;

pub use receipt::Receipt;
pub(crate) use receipt::{Loggers, ReceiptSource};
pub(crate) use requirement::{Outcome, Requirement, Unmet};
pub(crate) use watermark::Watermark;

use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;
use osier_memory::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use self::queue::{Queue, Waiter, wake_all};
use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::io::Signal;

/// The frontier of one log, those that wait for it, and what ended it.
#[derive(Debug)]
pub(crate) struct Acknowledger {
    watermark: Watermark,
    /// Per stream, those that wait for its `DSN`.
    for_dsn: Box<[CachePadded<Queue>]>,
    /// Per stream, those of its commits that wait for `CSN`: a queue for all would be one lock for all processors.
    for_csn: Box<[CachePadded<Queue>]>,
    /// The largest `CSN` that anybody waited for, or the last stamp of a closing log.
    demand: CachePadded<AtomicU64>,
    /// Wakes the loggers.
    signals: Box<[Arc<Signal>]>,
    has_failed: AtomicBool,
    failure: OnceLock<LogError>,
}

impl Acknowledger {
    /// One stream per signal, everything up to `floor` durable.
    pub(crate) fn new(signals: Vec<Arc<Signal>>, floor: Stamp) -> Arc<Acknowledger> {
        Arc::new(Acknowledger {
            watermark: Watermark::new(signals.len(), floor),
            for_dsn: signals.iter().map(|_| CachePadded::default()).collect(),
            for_csn: signals.iter().map(|_| CachePadded::default()).collect(),
            demand: CachePadded::new(AtomicU64::new(floor.0)),
            signals: signals.into(),
            has_failed: AtomicBool::new(false),
            failure: OnceLock::new(),
        })
    }

    /// Returns what is durable.
    pub(crate) fn watermark(&self) -> &Watermark {
        &self.watermark
    }

    /// Whether `requirement` is met; an error where it never will be.
    pub(crate) fn status(&self, requirement: &Requirement) -> Result<bool, LogError> {
        if requirement.unmet(&self.watermark).is_none() {
            return Ok(true);
        }
        self.failure().map_or(Ok(false), Err)
    }

    /// Returns what ended the log.
    pub(crate) fn failure(&self) -> Option<LogError> {
        if self.has_failed.load(Ordering::SeqCst) { self.failure.get().cloned() } else { None }
    }

    /// Returns the stamp up to which a waiter, or the close, needs every stream to be durable.
    pub(crate) fn demand(&self) -> Stamp {
        Stamp(self.demand.load(Ordering::SeqCst))
    }

    /// Whether anybody waits for a record of `stream` that is not durable, or for the stream to get as far.
    pub(crate) fn is_awaited(&self, stream: StreamId) -> bool {
        !self.for_dsn[stream.0 as usize].is_empty() || self.watermark.dsn(stream) < self.demand()
    }

    /// Wants every stream durable up to `stamp`; streams behind it are woken and write a marker.
    pub(crate) fn require(&self, stamp: Stamp) {
        self.demand.fetch_max(stamp.0, Ordering::SeqCst);
        for (stream, signal) in self.signals.iter().enumerate() {
            if self.watermark.dsn(StreamId(stream as u32)) < stamp {
                signal.wake();
            }
        }
    }

    /// Wakes the loggers, whatever they wait for.
    pub(crate) fn wake_loggers(&self) {
        self.signals.iter().for_each(|signal| signal.wake());
    }

    /// Wakes the loggers of streams that stayed behind `stamp`: they may have a marker to write. One that rests looks when
    /// its rest is over.
    pub(crate) fn wake_laggards(&self, stamp: Stamp) {
        for (stream, signal) in self.signals.iter().enumerate() {
            if self.watermark.dsn(StreamId(stream as u32)) < stamp {
                signal.hint();
            }
        }
    }

    /// Publishes what a synced batch of `stream` made durable: its own stamp, and that of the streams it certified.
    /// `covered` takes the waiters that the caller is to wake ([`wake_all`]), after what is more urgent and in any case.
    pub(crate) fn publish(
        &self,
        stream: StreamId,
        stamp: Stamp,
        certified: &[StreamId],
        covered: &mut Vec<Arc<Waiter>>,
    ) {
        if self.has_failed.load(Ordering::SeqCst) {
            return;
        }
        self.watermark.raise(stream, stamp);
        for &other in certified {
            assert_ne!(other, stream, "a stream does not certify itself");
            self.watermark.raise(other, stamp);
        }
        self.watermark.settle();
        fence(Ordering::SeqCst);
        self.collect(stream, covered);
    }

    /// Takes the waiters that the present frontier covers out of the queue of `stream` and of those for `CSN`.
    fn collect(&self, stream: StreamId, covered: &mut Vec<Arc<Waiter>>) {
        let own = &self.for_dsn[stream.0 as usize];
        if !own.is_empty() {
            let first = covered.len();
            own.take_due(self.watermark.dsn(stream), covered);
            let mut next = first;
            while let Some(waiter) = covered.get(next) {
                match self.queue(&Arc::clone(waiter)) {
                    false => next += 1,
                    true => drop(covered.swap_remove(next)),
                }
            }
        }
        // Loaded after the pushes above: the logger that raises CSN from here on sees them.
        for queue in self.for_csn.iter().filter(|queue| !queue.is_empty()) {
            queue.take_due(self.watermark.csn(), covered);
        }
    }

    /// Queues a waiter at what it misses, and at what it misses by then; returns whether it misses anything. An entry that it has
    /// left behind in another queue has no effect when its turn comes: the waiter is looked at again, or was woken before.
    fn queue(&self, waiter: &Arc<Waiter>) -> bool {
        let mut queued = None;
        loop {
            let unmet = waiter.requirement.unmet(&self.watermark);
            if unmet == queued {
                // The logger that raises what is missing finds it.
                return unmet.is_some();
            }
            match unmet {
                None => return false,
                Some(Unmet::Dsn(stream, stamp)) => {
                    self.for_dsn[stream.0 as usize].push(stamp, Arc::clone(waiter));
                    if stream != waiter.requirement.stream {
                        self.signals[stream.0 as usize].wake();
                    }
                }
                Some(Unmet::Csn(stamp)) => {
                    self.for_csn[waiter.requirement.stream.0 as usize].push(stamp, Arc::clone(waiter));
                    self.require(stamp);
                }
            }
            if self.has_failed.load(Ordering::SeqCst) {
                // The failure may have emptied the queue before.
                self.wake_everybody();
            }
            queued = unmet;
        }
    }

    /// Queues a waiter at what it misses. The caller asks for the [`status`](Acknowledger::status) again before it sleeps.
    pub(crate) fn register(&self, waiter: &Arc<Waiter>) {
        self.queue(waiter);
    }

    /// Ends the log: the first reason counts, every waiter is woken, nothing more is published.
    pub(crate) fn fail(&self, reason: LogError) {
        let _ = self.failure.set(reason);
        self.has_failed.store(true, Ordering::SeqCst);
        // A waiter that takes a queue's lock after this sees the failure.
        self.wake_everybody();
        self.wake_loggers();
    }

    fn wake_everybody(&self) {
        let mut waiters = Vec::new();
        let queues = self.for_dsn.iter().chain(&self.for_csn);
        queues.for_each(|queue| queue.take_due(Stamp::MAX, &mut waiters));
        wake_all(&mut waiters);
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests;
