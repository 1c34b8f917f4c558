//! The receipt of a commit: asks whether it is durable, waits for that, or is awaited.
//!
//! Invariants:
//! - A commit does not have its record written, its receipt does. To wait for the receipt is to step the logger where its own
//!   thread sleeps. To await it wakes the logger, to poll or drop it wakes one that does not rest. For a receipt that is only
//!   kept the next tick of the epoch does.
//! - Making one writes no memory that sessions share: the reference count it holds is its session's own.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use super::queue::Waiter;
use super::{Acknowledger, Outcome};
use crate::error::LogError;
use crate::ids::{Epoch, Stamp, StreamId};

/// What a receipt asks of the loggers.
pub(crate) trait Loggers: fmt::Debug + Send + Sync {
    /// What they publish.
    fn acknowledger(&self) -> &Acknowledger;

    /// Takes the lead of `stream` if its logger sleeps and no other committer leads; tells whether it did.
    fn take_lead(&self, stream: StreamId) -> bool;

    /// Takes one step of the logger of `stream`; tells whether it did something.
    fn lead(&self, stream: StreamId) -> bool;

    /// Gives the lead of `stream` back, and wakes its logger if there is anything left to do.
    fn hand_over(&self, stream: StreamId);

    /// Makes sure that what was reserved in `stream` is written: by the leader, or by the logger, which is woken.
    fn remind(&self, stream: StreamId);

    /// As [`Loggers::remind`], where nobody waits: a logger that rests writes it when its rest is over.
    fn hint(&self, stream: StreamId);

    /// Fails everything that waits, where this process was forked from the one that has the loggers.
    fn fail_in_child(&self) {}
}

/// A committer in the lead: it steps a logger.
struct Lead<'l> {
    loggers: &'l dyn Loggers,
    stream: StreamId,
}

impl<'l> Lead<'l> {
    fn take(loggers: &'l dyn Loggers, stream: StreamId) -> Option<Lead<'l>> {
        loggers.take_lead(stream).then_some(Lead { loggers, stream })
    }

    fn step(&self) -> bool {
        self.loggers.lead(self.stream)
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.loggers.hand_over(self.stream);
    }
}

/// Makes the receipts of one session.
#[derive(Clone, Debug)]
pub(crate) struct ReceiptSource {
    /// `None` without a log.
    share: Option<Arc<SessionShare>>,
}

/// A session's hold on the log: counting its receipts touches this and not what all sessions share.
#[derive(Debug)]
struct SessionShare {
    loggers: Arc<dyn Loggers>,
}

impl ReceiptSource {
    /// Makes the receipts of a session over a log.
    pub(crate) fn new(loggers: Arc<dyn Loggers>) -> ReceiptSource {
        ReceiptSource { share: Some(Arc::new(SessionShare { loggers })) }
    }

    /// Makes the receipts of a session without a log: every one is acknowledged from the start.
    pub(crate) fn unlogged() -> ReceiptSource {
        ReceiptSource { share: None }
    }

    /// A receipt that is acknowledged when everything observed is durable.
    pub(crate) fn durable(&self, outcome: Outcome) -> Receipt {
        Receipt { share: self.share.clone(), outcome, is_hinted: AtomicBool::new(false), waiter: None }
    }

    /// A receipt that is born acknowledged: the user chose not to wait for durability.
    pub(crate) fn relaxed(&self, outcome: Outcome) -> Receipt {
        if let Some(share) = &self.share {
            share.loggers.hint(outcome.requirement.stream);
        }
        Receipt { share: None, outcome, is_hinted: AtomicBool::new(true), waiter: None }
    }
}

/// The outcome of a commit, or of an abort whose reads were validated.
///
/// The transaction is committed in memory; the receipt says when everything it wrote and everything it read is durable.
/// Wait with [`wait`](Receipt::wait), poll with [`is_acknowledged`](Receipt::is_acknowledged), `.await` it in any
/// runtime, or drop it. To await it and keep it, await `&mut receipt`.
#[derive(Debug)]
pub struct Receipt {
    /// `None`: born acknowledged.
    share: Option<Arc<SessionShare>>,
    outcome: Outcome,
    /// The logger was told of the record. Once is enough: it is not asleep then, or rests, and sleeps again only when the
    /// record is written. What the receipt needs of other streams their loggers see to ([`Acknowledger::wake_laggards`]).
    is_hinted: AtomicBool,
    /// Registered by the first poll that found nothing.
    waiter: Option<Arc<Waiter>>,
}

impl Receipt {
    /// Returns the transaction's order number; zero where it wrote nothing.
    pub fn stamp(&self) -> Stamp {
        self.outcome.stamp
    }

    /// Returns the epoch of its serialization point.
    pub fn epoch(&self) -> Epoch {
        self.outcome.epoch
    }

    /// Returns another receipt of the same outcome, for whoever else waits for it.
    pub fn another(&self) -> Receipt {
        let is_hinted = AtomicBool::new(self.is_hinted.load(Ordering::Relaxed));
        Receipt { share: self.share.clone(), outcome: self.outcome.clone(), is_hinted, waiter: None }
    }

    /// Whether everything it wrote and read is durable. Fails where it never will be: the log failed or was closed before.
    ///
    /// To ask is not to wait: where the processors are short, a record that nobody waits for is written up to 2 ms later. Who has
    /// nothing else to do calls [`wait`](Receipt::wait) or awaits the receipt.
    pub fn is_acknowledged(&self) -> Result<bool, LogError> {
        let Some(SessionShare { loggers }) = self.share.as_deref() else { return Ok(true) };
        let acknowledged = loggers.acknowledger().status(&self.outcome.requirement)?;
        if !acknowledged && !self.is_hinted.swap(true, Ordering::Relaxed) {
            loggers.hint(self.outcome.requirement.stream);
        }
        Ok(acknowledged)
    }

    /// Blocks the thread until everything it wrote and read is durable. Fails where it never will be.
    pub fn wait(&self) -> Result<(), LogError> {
        let Some(SessionShare { loggers }) = self.share.as_deref() else { return Ok(()) };
        let acknowledger = loggers.acknowledger();
        if acknowledger.status(&self.outcome.requirement)? {
            return Ok(());
        }
        if let Some(lead) = Lead::take(&**loggers, self.outcome.requirement.stream) {
            while lead.step() {
                if acknowledger.status(&self.outcome.requirement)? {
                    return Ok(());
                }
            }
        }
        let waiter = Waiter::new(self.outcome.requirement.clone());
        acknowledger.register(&waiter);
        loggers.remind(self.outcome.requirement.stream);
        let told = loop {
            match acknowledger.status(&self.outcome.requirement) {
                Ok(false) => waiter.block(),
                told => break told.map(|_| ()),
            }
        };
        // It may have been woken before it slept, with others that it is to wake in turn.
        waiter.abandon();
        told
    }

    /// As [`Receipt::wait`] where there is no thread to block: `pause` lets others run after each step in the lead.
    #[cfg(feature = "mutations")]
    pub async fn wait_in_steps<P: Future<Output = ()>>(&mut self, pause: impl Fn() -> P) -> Result<(), LogError> {
        if let Some(share) = &self.share
            && let Some(lead) = Lead::take(&*share.loggers, self.outcome.requirement.stream)
        {
            while !share.loggers.acknowledger().status(&self.outcome.requirement)? && lead.step() {
                if super::faults::answers_unsynced() {
                    return Ok(());
                }
                pause().await;
            }
        }
        self.await
    }
}

impl Future for Receipt {
    type Output = Result<(), LogError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(SessionShare { loggers }) = this.share.as_deref() else { return Poll::Ready(Ok(())) };
        let acknowledger = loggers.acknowledger();
        match acknowledger.status(&this.outcome.requirement) {
            Ok(false) => {}
            Ok(true) => return Poll::Ready(Ok(())),
            Err(error) => return Poll::Ready(Err(error)),
        }
        match &this.waiter {
            Some(waiter) => waiter.set_waker(context.waker()),
            None => {
                loggers.fail_in_child();
                let waiter = Waiter::new(this.outcome.requirement.clone());
                waiter.set_waker(context.waker());
                acknowledger.register(&waiter);
                this.waiter = Some(waiter);
                loggers.remind(this.outcome.requirement.stream);
            }
        }
        // Whatever was published before the waker was in place is seen here; what comes later finds the waker.
        match acknowledger.status(&this.outcome.requirement) {
            Ok(false) => Poll::Pending,
            Ok(true) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(waiter) = &self.waiter {
            waiter.abandon();
        } else {
            // Nobody asks for it any more, so the logger is woken.
            let _ = self.is_acknowledged();
        }
    }
}
