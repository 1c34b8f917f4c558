//! The right to step a stream's logger, which the logger's own thread shares with the committers that wait for it.
//!
//! A committer that waits while the logger sleeps does the logger's work itself: no thread is switched to write its
//! record, and none to tell it. While the logger is awake it goes on alone and committers sleep.
//!
//! Invariants:
//! - The logger's state is in the baton, under a lock, so the next thread that steps it goes on where the last one stopped.
//! - One committer *leads* at a time. It takes the lead, steps the logger, gives the lead back, and only then looks whether
//!   anything is left for the logger's own thread. A committer that does not get the lead had reserved its record before it
//!   tried, so one of the two sees the other.
//! - A committer that finds the logger at work and no committer in the lead wakes its thread. That sleeps only after it
//!   announced so and looked once more ([`Signal`]).
//! - A panic in a step drops the logger, whose drop fails the log.

use std::fmt;
use std::sync::{Arc, TryLockError};

use osier_memory::sync::atomic::{AtomicBool, Ordering, fence};
use osier_memory::sync::{Mutex, lock};

use crate::io::{Signal, Step, Task};

/// The baton of one logger.
pub(crate) struct Baton {
    /// Wakes the logger's own thread.
    pub(crate) signal: Arc<Signal>,
    /// `None` once it is over.
    logger: Mutex<Option<Box<dyn Task>>>,
    /// A committer leads.
    is_led: AtomicBool,
}

/// The logger's own thread, as a task.
pub(crate) struct OwnThread(Arc<Baton>);

impl fmt::Debug for Baton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Baton").finish_non_exhaustive()
    }
}

impl Baton {
    /// Makes the baton of a logger that does not run yet.
    pub(crate) fn new() -> Arc<Baton> {
        Arc::new(Baton { signal: Arc::new(Signal::new()), logger: Mutex::default(), is_led: AtomicBool::new(false) })
    }

    /// Puts the logger under the baton; returns what its own thread is to run.
    pub(crate) fn start(self: &Arc<Baton>, logger: Box<dyn Task>) -> OwnThread {
        let before = lock(&self.logger).replace(logger);
        assert!(before.is_none(), "one logger per stream");
        OwnThread(Arc::clone(self))
    }

    /// Steps the logger; `None` where another thread does.
    fn step(&self) -> Option<Step> {
        let mut place = match self.logger.try_lock() {
            Ok(place) => place,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        // Out of its place: a panic drops it.
        let Some(mut logger) = place.take() else { return Some(Step::Done) };
        let step = logger.step();
        if step != Step::Done {
            *place = Some(logger);
        }
        Some(step)
    }

    /// Takes the lead if the logger's own thread sleeps and no committer leads; tells whether it did.
    pub(crate) fn take_lead(&self) -> bool {
        self.signal.is_listening() && !self.is_led.swap(true, Ordering::SeqCst)
    }

    /// Takes a step in the lead; tells whether it did something.
    pub(crate) fn lead(&self) -> bool {
        self.step() == Some(Step::Again)
    }

    /// Gives the lead back. What the caller looks at afterwards includes the records of committers that did not get it.
    pub(crate) fn give_lead_back(&self) {
        self.is_led.store(false, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Whether a committer leads, and waits.
    pub(crate) fn is_led(&self) -> bool {
        self.is_led.load(Ordering::SeqCst)
    }

    /// Wakes the logger's own thread, unless a committer leads, which does so itself when it is done.
    pub(crate) fn remind(&self) {
        fence(Ordering::SeqCst);
        if !self.is_led() {
            self.signal.wake();
        }
    }

    /// As [`Baton::remind`], of a record for which nobody waits yet: a logger that rests goes on resting.
    pub(crate) fn hint(&self) {
        fence(Ordering::SeqCst);
        if !self.is_led() {
            self.signal.hint();
        }
    }
}

impl Task for OwnThread {
    fn step(&mut self) -> Step {
        // Where another thread has the logger, that one wakes this task when it is done.
        self.0.step().unwrap_or(Step::Idle(None))
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        // A thread that ends early takes the logger along.
        drop(lock(&self.0.logger).take());
    }
}

/// Models of the file's invariants, explored by loom: `RUSTFLAGS="--cfg loom" cargo test -p osier --release --lib models`.
#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::io::{explore, run};
    use osier_memory::sync::atomic::AtomicU64;
    use osier_memory::sync::thread;

    /// Records that were reserved, and how many of them are durable.
    #[derive(Default)]
    struct ModelStream {
        reserved: AtomicU64,
        durable: AtomicU64,
        is_over: AtomicBool,
    }

    impl ModelStream {
        fn is_idle(&self) -> bool {
            self.reserved.load(Ordering::Relaxed) == self.durable.load(Ordering::Relaxed)
        }
    }

    struct Logger(Arc<ModelStream>);

    impl Task for Logger {
        fn step(&mut self) -> Step {
            let reserved = self.0.reserved.load(Ordering::Relaxed);
            if self.0.durable.load(Ordering::Relaxed) < reserved {
                self.0.durable.store(reserved, Ordering::Relaxed);
                return Step::Again;
            }
            if self.0.is_over.load(Ordering::Relaxed) { Step::Done } else { Step::Idle(None) }
        }
    }

    /// As a receipt waits, up to where it would sleep.
    fn commit(baton: &Baton, stream: &ModelStream) {
        let mine = stream.reserved.fetch_add(1, Ordering::Relaxed) + 1;
        if baton.take_lead() {
            while baton.lead() {}
            baton.give_lead_back();
            if !stream.is_idle() {
                baton.signal.wake();
            }
        }
        if stream.durable.load(Ordering::Relaxed) < mine {
            baton.remind();
        }
    }

    /// A record that nobody writes is a thread that yields for ever, which loom reports.
    fn explore_committers(committers: usize) {
        explore(move || {
            let (baton, stream) = (Baton::new(), Arc::new(ModelStream::default()));
            let own = Box::new(baton.start(Box::new(Logger(stream.clone()))));
            let logger = thread::spawn({
                let baton = baton.clone();
                move || run(own, &baton.signal)
            });
            let committer = |_| {
                let (baton, stream) = (baton.clone(), stream.clone());
                thread::spawn(move || commit(&baton, &stream))
            };
            let others: Vec<_> = (1..committers).map(committer).collect();
            commit(&baton, &stream);
            others.into_iter().for_each(|other| other.join().unwrap());
            while stream.durable.load(Ordering::Relaxed) < committers as u64 {
                thread::yield_now();
            }
            stream.is_over.store(true, Ordering::Relaxed);
            baton.signal.wake();
            logger.join().unwrap();
        });
    }

    #[test]
    fn one_committer_and_the_logger() {
        explore_committers(1);
    }

    #[test]
    fn two_committers_and_the_logger() {
        explore_committers(2);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use crate::io::as_child;
    use crate::log::CommitLog;
    use crate::log::acknowledge::Receipt;
    use crate::log::world_for_tests::{World, commit_row, receipt_of, write_row};

    /// A log whose loggers have a segment each and sleep.
    fn asleep(streams: u32) -> (World, CommitLog) {
        let world = World::new();
        let log = world.poplar(streams);
        for stream in 0..streams {
            commit_row(&log, stream, 0, 0, 20).unwrap();
        }
        world.spawn.settle_for_good();
        (world, log)
    }

    fn receipt(log: &CommitLog, stream: u32, base: u64) -> Receipt {
        receipt_of(log, &write_row(log, stream, base, base, 20).unwrap())
    }

    /// No task is stepped here: whoever waits has only itself.
    #[test]
    fn who_waits_while_the_logger_sleeps_writes_its_record() {
        for streams in [1, 3] {
            let (world, log) = asleep(streams);
            for round in 0..20 {
                let receipt = receipt(&log, round % streams, log.csn().0);
                receipt.wait().unwrap();
                assert!(receipt.is_acknowledged().unwrap());
            }
            assert!(world.spawn.awake().is_empty(), "nothing is left for the loggers");
            assert_eq!(log.metrics().total().records, u64::from(streams) + 20);
        }
    }

    #[test]
    fn a_record_that_nobody_asks_about_is_written_after_a_nudge() {
        let (world, log) = asleep(1);
        let kept = receipt(&log, 0, 1);
        assert!(world.spawn.awake().is_empty());
        log.nudge();
        world.spawn.settle();
        assert!(kept.is_acknowledged().unwrap());
        // Asked about, or dropped, it needs none.
        let asked = receipt(&log, 0, kept.stamp().0);
        assert!(!asked.is_acknowledged().unwrap());
        world.spawn.settle();
        assert!(asked.is_acknowledged().unwrap());
        let dropped = receipt(&log, 0, asked.stamp().0);
        let stamp = dropped.stamp();
        drop(dropped);
        world.spawn.settle();
        assert!(log.csn() >= stamp);
    }

    #[test]
    fn a_child_of_the_process_writes_nothing() {
        let (world, log) = asleep(2);
        world.disk.inner.take_calls();
        let inherited = receipt(&log, 0, 1);
        as_child(|| {
            let error = inherited.wait().unwrap_err().to_string();
            assert!(error.contains("this process was forked from the one that opened the database"), "{error}");
            assert!(log.close().unwrap_err().to_string().contains("forked"));
        });
        drop(inherited);
        assert_eq!(world.disk.inner.take_calls(), Vec::<String>::new());
    }

    #[test]
    fn a_child_that_awaits_is_told() {
        let (_world, log) = asleep(1);
        let mut inherited = receipt(&log, 0, 1);
        let mut context = Context::from_waker(Waker::noop());
        let polled = as_child(|| Pin::new(&mut inherited).poll(&mut context));
        assert!(matches!(polled, Poll::Ready(Err(_))), "{polled:?}");
    }

    #[test]
    fn a_child_that_only_closes_is_told() {
        let (world, log) = asleep(1);
        world.disk.inner.take_calls();
        let error = as_child(|| log.close()).unwrap_err().to_string();
        assert!(error.contains("open it here, after the other one has closed it"), "{error}");
        assert_eq!(world.disk.inner.take_calls(), Vec::<String>::new());
    }

    #[test]
    fn a_leader_that_panics_fails_the_log() {
        let (world, log) = asleep(2);
        let (led, other) = (receipt(&log, 0, 1), receipt(&log, 1, 1));
        world.disk.set_rule(|call| if call.starts_with("write 0") { panic!("on purpose") } else { None });
        assert!(catch_unwind(AssertUnwindSafe(|| led.wait())).is_err());
        for receipt in [led, other] {
            let error = receipt.is_acknowledged().unwrap_err();
            assert!(error.to_string().contains("osier-logger-0"), "{error}");
        }
        world.spawn.settle_for_good();
        assert_eq!(world.spawn.live(), 0);
    }

    #[test]
    fn a_leader_whose_device_fails_is_told_and_so_is_everybody() {
        let (world, log) = asleep(2);
        let (led, other) = (receipt(&log, 0, 1), receipt(&log, 1, 1));
        world.disk.set_rule(|call| call.starts_with("sync 0").then(|| std::io::Error::from_raw_os_error(5)));
        assert!(led.wait().is_err() && other.is_acknowledged().is_err());
        world.spawn.settle_for_good();
        assert_eq!(world.spawn.live(), 0);
    }
}
