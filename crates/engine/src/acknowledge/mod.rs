//! From durable to told: the last step of a transaction's life.
//!
//! A response may leave when everything it observed is durable (correctness rule 1.3); the protocol's frontier.rs says
//! when that is. [`Watermark`] knows what is durable, [`Receipt`] asks or waits, [`queue`] holds who waits, and
//! [`Acknowledger`] ties them together: loggers publish here and wake whom that covers.
//!
//! Invariants:
//! - Nothing beyond the frontier is acknowledged; after a failure the frontier stands still for ever, and what it covered
//!   by then stays acknowledged, because it is durable.
//! - A waiter is first queued at its own stream by its stamp, and when that is covered at `CSN` by its `raw_dep`: by the logger that
//!   finds it, or by itself where the logger had looked before.
//! - Whoever waits for `CSN` is a demand: streams behind it are woken and write a marker, so that a reader of an idle
//!   database is answered without any further commit.

pub(crate) mod queue;
mod receipt;
mod watermark;

pub use receipt::Receipt;
pub(crate) use receipt::{Loggers, ReceiptSource};
pub(crate) use watermark::Watermark;

use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;
use osier_memory::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use self::queue::{Queue, Waiter, wake_all};
use crate::failpoint::{Mutation, has};
use crate::ids::{Stamp, StreamId};
use crate::io::Signal;
use crate::log::{LogError, Observed};

/// Whether everything that was observed is durable: one or two loads.
pub(crate) type Rule = fn(&Watermark, &Observed) -> bool;

/// The frontier of one log, who waits for it, and what ended it.
#[derive(Debug)]
pub(crate) struct Acknowledger {
    watermark: Watermark,
    /// The protocol's word on whether a commit may be told.
    rule: Rule,
    /// Per stream, by own stamp.
    own: Box<[CachePadded<Queue>]>,
    /// By `raw_dep`.
    stable: CachePadded<Queue>,
    /// The largest `raw_dep` that anybody waited for, or the last stamp of a closing log.
    demand: CachePadded<AtomicU64>,
    /// Wakes the loggers.
    signals: Box<[Arc<Signal>]>,
    has_failed: AtomicBool,
    failure: OnceLock<LogError>,
}

impl Acknowledger {
    /// One stream per signal, everything up to `floor` durable.
    pub(crate) fn new(signals: Vec<Arc<Signal>>, floor: Stamp, rule: Rule) -> Arc<Acknowledger> {
        Arc::new(Acknowledger {
            rule,
            watermark: Watermark::new(signals.len(), floor),
            own: signals.iter().map(|_| CachePadded::default()).collect(),
            stable: CachePadded::default(),
            demand: CachePadded::new(AtomicU64::new(floor.0)),
            signals: signals.into(),
            has_failed: AtomicBool::new(false),
            failure: OnceLock::new(),
        })
    }

    /// What is durable.
    pub(crate) fn watermark(&self) -> &Watermark {
        &self.watermark
    }

    /// Whether `observed` may be told; an error where it never will be.
    pub(crate) fn status(&self, observed: &Observed) -> Result<bool, LogError> {
        let is_reader = observed.stamp == Stamp::ZERO && has(Mutation::ReadersAtOnce);
        if is_reader || (self.rule)(&self.watermark, observed) {
            return Ok(true);
        }
        self.failure().map_or(Ok(false), Err)
    }

    /// What ended the log.
    pub(crate) fn failure(&self) -> Option<LogError> {
        if self.has_failed.load(Ordering::SeqCst) { self.failure.get().cloned() } else { None }
    }

    /// How far somebody needs every stream to be durable.
    pub(crate) fn demand(&self) -> Stamp {
        Stamp(self.demand.load(Ordering::SeqCst))
    }

    /// Wants every stream durable up to `stamp`; streams behind it are woken and write a marker.
    pub(crate) fn require(&self, stamp: Stamp) {
        self.demand.fetch_max(stamp.0, Ordering::SeqCst);
        for (stream, signal) in self.signals.iter().enumerate() {
            if self.watermark.durable(StreamId(stream as u32)) < stamp {
                signal.wake();
            }
        }
    }

    /// Wakes the loggers, whatever they wait for.
    pub(crate) fn wake_loggers(&self) {
        self.signals.iter().for_each(|signal| signal.wake());
    }

    /// Wakes the loggers of streams that stayed behind `stamp`: they may have a marker to write.
    pub(crate) fn wake_laggards(&self, stamp: Stamp) {
        for (stream, signal) in self.signals.iter().enumerate() {
            if self.watermark.durable(StreamId(stream as u32)) < stamp {
                signal.wake();
            }
        }
    }

    /// Publishes what a synced batch of `stream` made durable: its own stamp, and that of the streams it certified.
    /// `covered` takes who is to be woken: by [`wake_all`], after the caller has done what is more urgent, whatever becomes of it.
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

    /// Takes the waiters that the present frontier covers out of the queue of `stream` and of that for `CSN`.
    fn collect(&self, stream: StreamId, covered: &mut Vec<Arc<Waiter>>) {
        let own = &self.own[stream.0 as usize];
        if !own.is_empty() {
            let first = covered.len();
            own.take_due(self.watermark.durable(stream), covered);
            let stable = self.watermark.stable();
            let mut next = first;
            while let Some(waiter) = covered.get(next) {
                if waiter.observed.raw_dep <= stable {
                    next += 1;
                } else {
                    let waiter = covered.swap_remove(next);
                    self.queue_for_stable(waiter);
                }
            }
        }
        // Loaded after the pushes above: the logger that raises CSN from here on sees them.
        if !self.stable.is_empty() {
            self.stable.take_due(self.watermark.stable(), covered);
        }
    }

    fn queue_for_stable(&self, waiter: Arc<Waiter>) {
        let raw_dep = waiter.observed.raw_dep;
        self.stable.push(raw_dep, waiter);
        if self.has_failed.load(Ordering::SeqCst) {
            // The failure may have emptied the queue before.
            self.wake_everybody();
        }
        self.require(raw_dep);
    }

    /// Queues a waiter. The caller asks for the [`status`](Acknowledger::status) again before it sleeps.
    pub(crate) fn register(&self, waiter: &Arc<Waiter>) {
        let observed = &waiter.observed;
        let is_own_durable = || self.watermark.durable(observed.stream) >= observed.stamp;
        if !is_own_durable() {
            self.own[observed.stream.0 as usize].push(observed.stamp, Arc::clone(waiter));
            if !is_own_durable() {
                return;
            }
            // The logger may have looked at its queue before, and the next one to look may be that of another stream.
        }
        self.queue_for_stable(Arc::clone(waiter));
    }

    /// Ends the log: the first reason counts, every waiter is woken, nothing more is published.
    pub(crate) fn fail(&self, reason: LogError) {
        let _ = self.failure.set(reason);
        self.has_failed.store(true, Ordering::SeqCst);
        // Whoever comes to a queue's lock later than this sees the failure.
        self.wake_everybody();
        self.wake_loggers();
    }

    fn wake_everybody(&self) {
        let mut waiters = Vec::new();
        self.own.iter().for_each(|queue| queue.take_due(Stamp::MAX, &mut waiters));
        self.stable.take_due(Stamp::MAX, &mut waiters);
        wake_all(&mut waiters);
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests;
