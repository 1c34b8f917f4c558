//! Wakes one idle task: an eventcount between many wakers and one sleeper.
//!
//! The sleeper's side is `listen`, look for work once more, then `wait` or `unlisten`; the waker's side is publish the
//! work, then `wake`. A waker of a task that is awake pays one fence and one load of a line that nobody writes.
//!
//! Invariants:
//! - **No wake-up is lost.** The two sides are Dekker's pattern. The waker stores the work, fences, loads `listening`; the
//!   sleeper stores `listening`, fences, loads the work. Sequentially consistent fences are totally ordered: where the
//!   waker's comes first, the sleeper's second look finds the work; where the sleeper's comes first, the waker's load
//!   finds `listening` raised (or a later value, see below) and it takes the slow path.
//! - **A sleeper blocked in `wait` either has `listening` raised or a raise on its way.** After `listen` only a waker's
//!   exchange lowers `listening` before `wait` ends, and the same waker then sets `raised` under the mutex that `wait` checks it
//!   under. A later value that a waker may load instead is the lowered flag of another waker, whose raise is on its way, or
//!   that of an ended wait, after which the task looks for work again.
//! - A raise that arrives after its wait ended makes the next `wait` return at once: waits may end early, never late, so a
//!   task looks for work whatever ended its sleep.
//!
//! Deliberately absent: more than one sleeper per signal, and counting. A wake says "look again", not how often.

use std::sync::PoisonError;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use osier_memory::sync::atomic::{AtomicBool, Ordering, fence};
use osier_memory::sync::{Condvar, Mutex, lock, wait};

/// An eventcount between many wakers and one task.
#[derive(Debug)]
pub struct Signal {
    /// Whether a waker must take the slow path; read by every waker, written only around a sleep.
    listening: CachePadded<AtomicBool>,
    /// Whether a wake arrived for the present or the next wait.
    raised: Mutex<bool>,
    changed: Condvar,
}

impl Default for Signal {
    fn default() -> Signal {
        Signal::new()
    }
}

impl Signal {
    /// A signal with nobody asleep.
    pub fn new() -> Signal {
        Signal {
            listening: CachePadded::new(AtomicBool::new(false)),
            raised: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    /// Makes the task look for work again, if it sleeps or is about to. Call it after publishing the work.
    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.is_listening() {
            self.raise();
        }
    }

    /// Announces that the task is about to sleep. It must look for work once more between this and [`Signal::wait`].
    pub fn listen(&self) {
        self.listening.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Takes a [`Signal::listen`] back: the second look found work.
    pub fn unlisten(&self) {
        self.listening.store(false, Ordering::Relaxed);
    }

    /// Whether the task sleeps or is about to, as a waker sees it.
    pub fn is_listening(&self) -> bool {
        self.listening.load(Ordering::Relaxed)
    }

    /// Sleeps until a wake that follows [`Signal::listen`], or until `timeout` has passed, or, rarely, for no reason.
    /// Returns whether it was a wake.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut raised = lock(&self.raised);
        if !*raised {
            raised = match timeout {
                None => wait(&self.changed, &self.raised, raised),
                Some(timeout) => self.changed.wait_timeout(raised, timeout).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        let woken = std::mem::replace(&mut *raised, false);
        self.unlisten();
        woken
    }

    /// Whether the next [`Signal::wait`] would return at once: for schedulers that run tasks without blocking.
    pub fn is_raised(&self) -> bool {
        *lock(&self.raised)
    }

    /// The slow path of [`Signal::wake`]: of many wakers only the one that lowers the flag pays for the mutex.
    #[cold]
    fn raise(&self) {
        // Nothing is written where the flag is lowered already: the models take no store for later than such a write.
        if self.listening.compare_exchange(true, false, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            *lock(&self.raised) = true;
            self.changed.notify_one();
        }
    }
}

/// Models of the file's invariants, explored by loom: `RUSTFLAGS="--cfg loom" cargo test -p osier --release --lib models`.
#[cfg(all(test, loom))]
pub(crate) mod models {
    use super::*;
    use osier_memory::sync::atomic::AtomicU64;
    use osier_memory::sync::{Arc, thread};

    /// Sleeps as a task does until `count` pieces of work are there. A lost wake-up is a deadlock, which loom reports.
    fn wait_for(work: &AtomicU64, count: u64, signal: &Signal) {
        loop {
            if work.load(Ordering::Relaxed) == count {
                return;
            }
            signal.listen();
            if work.load(Ordering::Relaxed) == count {
                return signal.unlisten();
            }
            signal.wait(None);
        }
    }

    /// Runs the scenario under all schedules with at most two preemptions.
    pub(crate) fn explore(scenario: impl Fn() + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = model.preemption_bound.or(Some(2));
        model.check(scenario);
    }

    fn explore_wakers(wakers: u64) {
        explore(move || {
            let (work, signal) = (Arc::new(AtomicU64::new(0)), Arc::new(Signal::new()));
            let threads = (0..wakers).map(|_| {
                let (work, signal) = (work.clone(), signal.clone());
                thread::spawn(move || {
                    work.fetch_add(1, Ordering::Relaxed);
                    signal.wake();
                })
            });
            let threads = threads.collect::<Vec<_>>();
            wait_for(&work, wakers, &signal);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }

    #[test]
    fn one_waker_is_heard() {
        explore_wakers(1);
    }

    #[test]
    fn two_wakers_are_heard() {
        explore_wakers(2);
    }

    /// A waker that stalls after it lowered the flag raises a later wait, and no wait for later work is lost by that.
    #[test]
    fn a_late_raise_ends_a_later_wait() {
        explore(|| {
            let (work, signal) = (Arc::new(AtomicU64::new(0)), Arc::new(Signal::new()));
            let waker = {
                let (work, signal) = (work.clone(), signal.clone());
                thread::spawn(move || {
                    for count in 1..=2 {
                        work.store(count, Ordering::Relaxed);
                        signal.wake();
                    }
                })
            };
            wait_for(&work, 2, &signal);
            waker.join().unwrap();
        });
    }
}
