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
//!   swap lowers `listening` before `wait` ends, and the same waker then sets `raised` under the mutex that `wait` checks it
//!   under. A later value that a waker may load instead is the lowered flag of another waker, whose raise is on its way, or
//!   that of an ended wait, after which the task looks for work again.
//! - A raise that arrives after its wait ended makes the next `wait` return at once: waits may end early, never late.
//!
//! Deliberately absent: more than one sleeper per signal, and counting. A wake says "look again", not how often.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_utils::CachePadded;

/// An eventcount between many wakers and one task.
#[derive(Debug, Default)]
pub struct Signal {
    /// Whether a waker must take the slow path; read by every waker, written only around a sleep.
    listening: CachePadded<AtomicBool>,
    /// Whether a wake arrived for the present or the next wait.
    raised: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// A signal with nobody asleep.
    pub fn new() -> Signal {
        Signal::default()
    }

    /// Makes the task look for work again, if it sleeps or is about to. Call it after publishing the work.
    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.listening.load(Ordering::Relaxed) {
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

    /// Sleeps until a wake that follows [`Signal::listen`], or until `timeout` has passed. Returns whether it was a wake.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let raised = self.lock();
        let mut raised = match timeout {
            None => self.changed.wait_while(raised, |raised| !*raised).unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                let waited = self.changed.wait_timeout_while(raised, timeout, |raised| !*raised);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        let woken = std::mem::replace(&mut *raised, false);
        self.unlisten();
        woken
    }

    /// Whether the next [`Signal::wait`] would return at once: for schedulers that run tasks without blocking.
    pub fn is_raised(&self) -> bool {
        *self.lock()
    }

    /// The slow path of [`Signal::wake`]: of many wakers only the one that lowers the flag pays for the mutex.
    #[cold]
    fn raise(&self) {
        if self.listening.swap(false, Ordering::AcqRel) {
            *self.lock() = true;
            self.changed.notify_one();
        }
    }

    /// The flag is valid at every instant, so a holder's panic does not spoil it.
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
