//! Wakes one idle task: an eventcount between many wakers and one sleeper.
//!
//! The sleeper's side is `listen`, look for work once more, then `wait` or `unlisten`; the waker's side is publish the
//! work, then `wake`. A waker of a task that is awake pays one fence and one load of a line that is seldom written. A sleeper
//! that has set itself a time, and work that can wait as long, have a quieter pair: `rest` and `hint`.
//!
//! Invariants:
//! - **No wake-up is lost.** The two sides are Dekker's pattern. The waker stores the work, fences, loads `sleep`; the
//!   sleeper stores `sleep`, fences, loads the work. Sequentially consistent fences are totally ordered: where the
//!   waker's comes first, the sleeper's second look finds the work; where the sleeper's comes first, the waker's load
//!   finds the sleep announced (or a later value, see below) and it takes the slow path.
//! - **A hint is lost on a task that rests, and on no other.** A hint that finds a rest announced does nothing. That rest ends
//!   at its time, and the task looks for work before it announces another sleep; where that was announced before the hint's
//!   fence, the hint's load finds it, or a later value, and not the rest.
//! - **A sleeper blocked in `wait` either has its sleep announced or a raise on its way.** After `listen` or `rest` only
//!   a waker's exchange takes that back before `wait` ends, and the same waker then sets `raised` under the mutex that
//!   `wait` checks it under. A later value that a waker may load instead is what another waker has written, whose raise
//!   is on its way, or that of an ended wait, after which the task looks for work again.
//! - A raise that arrives after its wait ended makes the next `wait` return at once: waits may end early, never late, so a
//!   task looks for work whatever ended its sleep.
//!
//! Deliberately absent: more than one sleeper per signal, and counting. A wake says "look again", not how often.

use std::sync::PoisonError;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use osier_memory::sync::atomic::{AtomicU64, Ordering, fence};
use osier_memory::sync::{Condvar, Mutex, lock, wait};

/// What a task has announced: that it is awake, sleeps until it is woken, or rests for a while.
const AWAKE: u64 = 0;
const ASLEEP: u64 = 1;
const RESTING: u64 = 2;

/// An eventcount between many wakers and one task.
#[derive(Debug)]
pub struct Signal {
    /// Whether a waker must take the slow path; read by every waker, written only around a sleep.
    sleep: CachePadded<AtomicU64>,
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
        Signal { sleep: CachePadded::new(AtomicU64::new(AWAKE)), raised: Mutex::new(false), changed: Condvar::new() }
    }

    /// Makes the task look for work again, if it sleeps, rests or is about to. Call it after publishing the work.
    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.is_listening() {
            self.raise();
        }
    }

    /// As [`Signal::wake`], of work that can wait as long as the task rests.
    pub fn hint(&self) {
        fence(Ordering::SeqCst);
        if self.sleep.load(Ordering::Relaxed) == ASLEEP {
            self.raise();
        }
    }

    /// Announces that the task is about to sleep. It must look for work once more between this and [`Signal::wait`].
    pub fn listen(&self) {
        self.announce(ASLEEP);
    }

    /// Announces that the task is about to rest, as [`Signal::listen`]; the wait that follows has a time.
    pub fn rest(&self) {
        self.announce(RESTING);
    }

    fn announce(&self, sleep: u64) {
        self.sleep.store(sleep, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Takes a [`Signal::listen`] or [`Signal::rest`] back: the second look found something else.
    pub fn unlisten(&self) {
        self.sleep.store(AWAKE, Ordering::Relaxed);
    }

    /// Whether the task sleeps, rests or is about to, as a waker sees it.
    pub fn is_listening(&self) -> bool {
        self.sleep.load(Ordering::Relaxed) != AWAKE
    }

    /// Sleeps until a wake that follows the announcement, or until `timeout` has passed, or, rarely, for no reason.
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

    /// The slow path of [`Signal::wake`]: of many wakers only the one that takes the announcement back pays for the mutex.
    #[cold]
    fn raise(&self) {
        // Nothing is written where that has been done: the models take no store for later than such a write.
        let announced = self.sleep.load(Ordering::Relaxed);
        if announced != AWAKE
            && self.sleep.compare_exchange(announced, AWAKE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
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

    /// A hint may be lost on a task that rests, not on the sleep that follows the rest.
    #[test]
    fn a_hint_outlives_a_rest() {
        explore(|| {
            let (work, signal) = (Arc::new(AtomicU64::new(0)), Arc::new(Signal::new()));
            let hinting = {
                let (work, signal) = (work.clone(), signal.clone());
                thread::spawn(move || {
                    work.fetch_add(1, Ordering::Relaxed);
                    signal.hint();
                })
            };
            // A rest without length.
            signal.rest();
            signal.unlisten();
            wait_for(&work, 1, &signal);
            hinting.join().unwrap();
        });
    }

    /// A waker ends a rest.
    #[test]
    fn a_waker_is_heard_by_who_rests() {
        explore(|| {
            let (work, signal) = (Arc::new(AtomicU64::new(0)), Arc::new(Signal::new()));
            let waker = {
                let (work, signal) = (work.clone(), signal.clone());
                thread::spawn(move || {
                    work.fetch_add(1, Ordering::Relaxed);
                    signal.wake();
                })
            };
            while work.load(Ordering::Relaxed) == 0 {
                signal.rest();
                match work.load(Ordering::Relaxed) {
                    // Its time never comes here.
                    0 => drop(signal.wait(None)),
                    _ => signal.unlisten(),
                }
            }
            waker.join().unwrap();
        });
    }

    /// A waker that stalls after it took the announcement back raises a later wait, and no wait for later work is lost by that.
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
