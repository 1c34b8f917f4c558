//! What `commit()` hands back: proof of a commit, from which its durability can be asked, waited for or awaited.
//!
//! Invariants:
//! - A receipt that is dropped costs its stream nothing; one that is polled loads two words.
//! - Making one writes no memory that sessions share: the reference count it holds is its session's own.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::Acknowledger;
use super::queue::Waiter;
use crate::ids::{Epoch, Stamp};
use crate::log::{LogError, Observed};

/// Makes the receipts of one session.
#[derive(Clone, Debug)]
pub(crate) struct ReceiptSource {
    /// `None` without a log.
    share: Option<Arc<SessionShare>>,
}

/// A session's hold on the log: counting its receipts touches this and not what all sessions share.
#[derive(Debug)]
struct SessionShare {
    acknowledger: Arc<Acknowledger>,
}

impl ReceiptSource {
    /// Of a session over a log.
    pub(crate) fn new(acknowledger: Arc<Acknowledger>) -> ReceiptSource {
        ReceiptSource { share: Some(Arc::new(SessionShare { acknowledger })) }
    }

    /// Of a session without a log: every receipt is born acknowledged.
    pub(crate) fn unlogged() -> ReceiptSource {
        ReceiptSource { share: None }
    }

    /// A receipt that is acknowledged when everything observed is durable.
    pub(crate) fn durable(&self, observed: Observed, epoch: Epoch) -> Receipt {
        assert!(observed.stamp == Stamp::ZERO || observed.stamp > observed.raw_dep, "a commit follows what it read");
        Receipt { share: self.share.clone(), observed, epoch, waiter: None }
    }

    /// A receipt that is born acknowledged: the user chose not to wait for durability.
    pub(crate) fn relaxed(&self, observed: Observed, epoch: Epoch) -> Receipt {
        Receipt { share: None, observed, epoch, waiter: None }
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
    observed: Observed,
    epoch: Epoch,
    /// Registered by the first poll that found nothing.
    waiter: Option<Arc<Waiter>>,
}

impl Receipt {
    /// The transaction's order number; zero where it wrote nothing.
    pub fn stamp(&self) -> Stamp {
        self.observed.stamp
    }

    /// The epoch of its serialization point.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether everything it wrote and read is durable. Fails where it never will be: the log failed or was closed before.
    pub fn is_acknowledged(&self) -> Result<bool, LogError> {
        self.share.as_ref().map_or(Ok(true), |share| share.acknowledger.status(&self.observed))
    }

    /// Blocks the thread until everything it wrote and read is durable. Fails where it never will be.
    pub fn wait(&self) -> Result<(), LogError> {
        let Some(SessionShare { acknowledger }) = self.share.as_deref() else { return Ok(()) };
        if acknowledger.status(&self.observed)? {
            return Ok(());
        }
        let waiter = Waiter::new(self.observed);
        acknowledger.register(&waiter);
        loop {
            if acknowledger.status(&self.observed)? {
                waiter.abandon();
                return Ok(());
            }
            waiter.block();
        }
    }
}

impl Future for Receipt {
    type Output = Result<(), LogError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(SessionShare { acknowledger }) = this.share.as_deref() else { return Poll::Ready(Ok(())) };
        match acknowledger.status(&this.observed) {
            Ok(false) => {}
            Ok(true) => return Poll::Ready(Ok(())),
            Err(error) => return Poll::Ready(Err(error)),
        }
        match &this.waiter {
            Some(waiter) => waiter.set_waker(context.waker()),
            None => {
                let waiter = Waiter::new(this.observed);
                waiter.set_waker(context.waker());
                acknowledger.register(&waiter);
                this.waiter = Some(waiter);
            }
        }
        // Whatever was published before the waker was in place is seen here; what comes later finds the waker.
        match acknowledger.status(&this.observed) {
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
        }
    }
}
