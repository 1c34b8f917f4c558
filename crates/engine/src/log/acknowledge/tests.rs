//! Publishing, waiting and failing, without loggers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use super::*;
use crate::error::LogFailure;
use crate::ids::Epoch;

#[derive(Default)]
struct Bell(AtomicU32);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Bell {
    fn rings(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

pub(super) fn acknowledger(streams: usize) -> Arc<Acknowledger> {
    let signals = (0..streams).map(|_| Arc::new(Signal::new())).collect();
    Acknowledger::new(signals, Stamp::ZERO)
}

pub(super) fn receipt(acknowledger: &Arc<Acknowledger>, stamp: u64, stream: u32, raw_dep: u64) -> Receipt {
    let requirement = Requirement { dsn: Stamp(stamp), csn: Stamp(raw_dep), ..Requirement::none(StreamId(stream)) };
    let outcome = Outcome { stamp: Stamp(stamp), epoch: Epoch(1), requirement };
    let acknowledger = Arc::clone(acknowledger) as Arc<dyn Loggers>;
    ReceiptSource::new(acknowledger).durable(outcome)
}

/// Loggers that never sleep.
impl Loggers for Acknowledger {
    fn acknowledger(&self) -> &Acknowledger {
        self
    }

    fn take_lead(&self, _stream: StreamId) -> bool {
        false
    }

    fn lead(&self, _stream: StreamId) -> bool {
        unreachable!("nobody leads")
    }

    fn hand_over(&self, _stream: StreamId) {}

    fn remind(&self, _stream: StreamId) {}

    fn hint(&self, _stream: StreamId) {}
}

pub(super) fn publish(acknowledger: &Acknowledger, stream: u32, stamp: u64) {
    let mut covered = Vec::new();
    acknowledger.publish(StreamId(stream), Stamp(stamp), &[], &mut covered);
    wake_all(&mut covered);
}

fn poll(receipt: &mut Receipt, bell: &Arc<Bell>) -> Poll<Result<(), LogError>> {
    Pin::new(receipt).poll(&mut Context::from_waker(&Waker::from(Arc::clone(bell))))
}

#[test]
fn a_future_waits_for_its_stream_and_then_for_all() {
    let acknowledger = acknowledger(2);
    let (mut receipt, bell) = (receipt(&acknowledger, 5, 0, 4), Arc::default());
    assert!(poll(&mut receipt, &bell).is_pending());
    publish(&acknowledger, 0, 9);
    assert_eq!(bell.rings(), 0, "stream 1 may hold what it read");
    assert_eq!(acknowledger.demand(), Stamp(4), "and stream 1 is asked");
    publish(&acknowledger, 1, 3);
    assert_eq!(bell.rings(), 0);
    publish(&acknowledger, 1, 4);
    assert_eq!(bell.rings(), 1);
    assert!(poll(&mut receipt, &bell).is_ready());
}

#[test]
fn the_latest_waker_counts_and_a_dropped_future_is_not_woken() {
    let acknowledger = acknowledger(1);
    let (mut moved, mut dropped) = (receipt(&acknowledger, 1, 0, 0), receipt(&acknowledger, 1, 0, 0));
    let (old, new, gone) = (Arc::default(), Arc::default(), Arc::default());
    assert!(poll(&mut moved, &old).is_pending());
    assert!(poll(&mut moved, &new).is_pending());
    assert!(poll(&mut dropped, &gone).is_pending());
    drop(dropped);
    publish(&acknowledger, 0, 1);
    assert_eq!((old.rings(), new.rings(), gone.rings()), (0, 1, 0));
}

#[test]
fn only_those_who_are_covered_are_woken() {
    let acknowledger = acknowledger(1);
    let mut waiting: Vec<(Receipt, Arc<Bell>)> =
        (1..=10).map(|stamp| (receipt(&acknowledger, stamp, 0, stamp - 1), Arc::default())).collect();
    for (receipt, bell) in &mut waiting {
        assert!(poll(receipt, bell).is_pending());
    }
    publish(&acknowledger, 0, 6);
    let rings: Vec<u32> = waiting.iter().map(|(_, bell)| bell.rings()).collect();
    assert_eq!(rings, [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]);
}

#[test]
fn a_failure_reaches_every_waiter_and_stops_the_frontier() {
    let acknowledger = acknowledger(2);
    let covered = receipt(&acknowledger, 1, 0, 0);
    publish(&acknowledger, 0, 1);
    let mut futures = [receipt(&acknowledger, 2, 0, 0), receipt(&acknowledger, 0, 0, 1)];
    let bell = Arc::default();
    for future in &mut futures {
        assert!(poll(future, &bell).is_pending());
    }
    thread::scope(|scope| {
        let blocked = scope.spawn(|| receipt(&acknowledger, 3, 1, 0).wait());
        acknowledger.fail(LogFailure::Stopped("first".to_owned()).into());
        acknowledger.fail(LogFailure::Stopped("second".to_owned()).into());
        assert!(blocked.join().unwrap().unwrap_err().to_string().contains("first"));
    });
    assert_eq!(bell.rings(), 2);
    publish(&acknowledger, 0, 50);
    publish(&acknowledger, 1, 50);
    for future in &mut futures {
        assert!(matches!(poll(future, &bell), Poll::Ready(Err(LogError::Failed(_)))));
        assert!(future.is_acknowledged().is_err());
    }
    assert!(covered.is_acknowledged().unwrap(), "it was durable before");
}

#[test]
fn a_receipt_can_be_awaited_by_reference_and_asked_afterwards() {
    let acknowledger = acknowledger(1);
    let mut receipt = receipt(&acknowledger, 1, 0, 0);
    publish(&acknowledger, 0, 1);
    let by_reference = Pin::new(&mut receipt).poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(by_reference, Poll::Ready(Ok(()))));
    assert!(receipt.is_acknowledged().unwrap());
}

/// Waiters register while the frontier moves past them: whoever registers last must see it, or be woken.
#[test]
fn no_wake_up_is_lost() {
    const STREAMS: u64 = 2;
    const ROUNDS: u64 = 300;
    const WAITERS: u64 = 12;
    let acknowledger = acknowledger(STREAMS as usize);
    let drawn: Vec<AtomicU64> = (0..STREAMS).map(|_| AtomicU64::new(0)).collect();
    let waiting = AtomicU64::new(WAITERS);
    thread::scope(|scope| {
        for waiter in 0..WAITERS {
            let (acknowledger, drawn, waiting) = (&acknowledger, &drawn, &waiting);
            scope.spawn(move || {
                let stream = waiter % STREAMS;
                for _ in 0..ROUNDS {
                    let stamp = drawn[stream as usize].fetch_add(1, Ordering::SeqCst) + 1;
                    receipt(acknowledger, stamp, stream as u32, stamp / 2).wait().unwrap();
                }
                waiting.fetch_sub(1, Ordering::SeqCst);
            });
        }
        for stream in 0..STREAMS {
            let (acknowledger, drawn, waiting) = (&acknowledger, &drawn, &waiting);
            scope.spawn(move || {
                while waiting.load(Ordering::SeqCst) > 0 {
                    // As a heartbeat does: up to the greatest stamp of all streams.
                    let stamp = drawn.iter().map(|drawn| drawn.load(Ordering::SeqCst)).max().unwrap_or(0);
                    publish(acknowledger, stream as u32, stamp);
                    thread::yield_now();
                }
            });
        }
    });
    // Who found the frontier past it did not wait, and is still queued.
    (0..STREAMS).for_each(|stream| publish(&acknowledger, stream as u32, WAITERS * ROUNDS));
    assert!(acknowledger.for_csn.iter().chain(&acknowledger.for_dsn).all(|queue| queue.is_empty()));
}

/// Loggers that fail when somebody comes to wait.
#[derive(Debug)]
struct Failing(Arc<Acknowledger>);

impl Loggers for Failing {
    fn acknowledger(&self) -> &Acknowledger {
        &self.0
    }

    fn take_lead(&self, _stream: StreamId) -> bool {
        false
    }

    fn lead(&self, _stream: StreamId) -> bool {
        unreachable!("nobody leads")
    }

    fn hand_over(&self, _stream: StreamId) {}

    fn remind(&self, _stream: StreamId) {
        self.0.fail(LogFailure::TaskDied { task: "a logger".to_owned() }.into());
    }

    fn hint(&self, stream: StreamId) {
        self.remind(stream);
    }
}

#[test]
fn who_fails_before_it_sleeps_wakes_its_followers() {
    let acknowledger = acknowledger(1);
    let sleepers: Vec<_> = [3, 4, 5]
        .map(|stamp| {
            let receipt = receipt(&acknowledger, stamp, 0, 0);
            thread::spawn(move || receipt.wait())
        })
        .into();
    while acknowledger.for_dsn[0].len() < sleepers.len() {
        thread::yield_now();
    }
    // The failure finds the one with the latest stamp first and leaves it others to wake; it is registered and does not sleep.
    let requirement = Requirement { dsn: Stamp(9), ..Requirement::none(StreamId(0)) };
    let outcome = Outcome { stamp: Stamp(9), epoch: Epoch(1), requirement };
    let failing = ReceiptSource::new(Arc::new(Failing(Arc::clone(&acknowledger)))).durable(outcome);
    assert!(failing.wait().is_err());
    assert!(sleepers.into_iter().all(|sleeper| sleeper.join().unwrap().is_err()), "everybody is told");
}

#[test]
fn who_is_queued_once_more_after_a_failure_is_woken() {
    let acknowledger = acknowledger(2);
    let (mut receipt, bell) = (receipt(&acknowledger, 5, 0, 4), Arc::default());
    assert!(poll(&mut receipt, &bell).is_pending());
    // A logger has taken it out of its stream's queue when another one fails.
    let mut taken = Vec::new();
    acknowledger.for_dsn[0].take_due(Stamp(5), &mut taken);
    acknowledger.fail(LogFailure::TaskDied { task: "osier-logger-1".to_owned() }.into());
    assert_eq!(bell.rings(), 0, "nobody finds it in a queue");
    acknowledger.queue(&taken.pop().unwrap());
    assert_eq!(bell.rings(), 1);
    assert!(matches!(poll(&mut receipt, &bell), Poll::Ready(Err(_))));
}
