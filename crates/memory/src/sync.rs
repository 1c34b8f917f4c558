//! The one import point for atomics, locks and threads: `std`, or `loom` / `shuttle` under `--cfg loom` / `--cfg shuttle`.
//!
//! Invariants:
//! - No other file of the crate names `std::sync` or `std::thread`: what the models explore is the code that ships.
//! - Spinning goes through [`Backoff`], which yields to the model's scheduler, so that a spin loop ends there too.
//! - Shared bytes that are not atomics (a row version, a piece of the log ring) are accompanied by a [`RaceCell`], which is
//!   nothing in the shipped code and which loom checks for unordered accesses.
//!
//! Under `--cfg tsan` [`fence`](atomic::fence) is a read-modify-write of one global word, because ThreadSanitizer does not
//! model fences: it would report every hand-over that rests on one. The substitute orders at least as much as the fence.
//!
//! Deliberately absent: `Arc`s that the models track. [`Arc`] is always `std`'s, because a model's `Arc` cannot be a
//! method receiver; models join their threads before the last owner goes.

pub use std::sync::Arc;

#[cfg(not(any(loom, shuttle)))]
mod chosen {
    pub use std::hint;
    pub use std::sync::{Condvar, Mutex, MutexGuard};
    pub use std::thread;

    /// Atomics and fences.
    pub mod atomic {
        #[cfg(not(tsan))]
        pub use std::sync::atomic::fence;
        pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};

        #[cfg(tsan)]
        pub fn fence(order: Ordering) {
            static ORDER: AtomicU64 = AtomicU64::new(0);
            assert_ne!(order, Ordering::Relaxed, "a relaxed fence orders nothing");
            ORDER.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[cfg(loom)]
mod chosen {
    pub use loom::hint;
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    pub use loom::thread;

    /// Atomics and fences.
    pub mod atomic {
        pub use loom::sync::atomic::{
            AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
        };
    }
}

#[cfg(all(shuttle, not(loom)))]
mod chosen {
    pub use shuttle::hint;
    pub use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub use shuttle::thread;

    /// Atomics and fences.
    pub mod atomic {
        pub use shuttle::sync::atomic::{
            AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
        };
    }
}

pub use chosen::{Condvar, Mutex, MutexGuard, atomic, hint, thread};

/// Takes a lock that guards state which every step leaves consistent, so that a panic elsewhere does not matter.
///
/// A simulated holder may have been switched away from: whoever waits for it lets others run.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(all(feature = "simulated", not(any(loom, shuttle))))]
    if let Some(pause) = simulated_pause() {
        loop {
            match mutex.try_lock() {
                Ok(guard) => return guard,
                Err(std::sync::TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(std::sync::TryLockError::WouldBlock) => pause(),
            }
        }
    }
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Lets a simulator that runs many threads as one take the place of every wait.
#[cfg(feature = "simulated")]
#[derive(Clone, Copy, Debug)]
pub struct Simulator {
    /// Whether the caller is one of its threads.
    pub is_here: fn() -> bool,
    /// Runs others.
    pub pause: fn(),
}

/// Set once, by a test.
#[cfg(feature = "simulated")]
pub static SIMULATOR: std::sync::OnceLock<Simulator> = std::sync::OnceLock::new();

/// What runs others while the caller waits, where it is simulated. Nothing is in builds that ship.
#[inline(always)]
fn simulated_pause() -> Option<fn()> {
    #[cfg(feature = "simulated")]
    return SIMULATOR.get().filter(|simulator| (simulator.is_here)()).map(|simulator| simulator.pause);
    #[cfg(not(feature = "simulated"))]
    None
}

/// Waits on a condition variable; like [`lock`], a panic of another holder is not passed on. May return early.
pub fn wait<'a, T>(condition: &Condvar, mutex: &'a Mutex<T>, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    if let Some(pause) = simulated_pause() {
        drop(guard);
        pause();
        return lock(mutex);
    }
    condition.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// As [`wait()`], up to `limit`: `false`, where that has passed. For threads of a model it never does, for those of a simulator
/// when it says so.
#[cfg(not(any(loom, shuttle)))]
pub fn wait_for<'a, T>(
    condition: &Condvar,
    mutex: &'a Mutex<T>,
    guard: MutexGuard<'a, T>,
    limit: std::time::Duration,
) -> (MutexGuard<'a, T>, bool) {
    if simulated_pause().is_some() {
        return (wait(condition, mutex, guard), !crate::simulated::times_out());
    }
    let (guard, timeout) = condition.wait_timeout(guard, limit).unwrap_or_else(|poisoned| poisoned.into_inner());
    (guard, !timeout.timed_out())
}

/// As [`wait()`]: in a model no time passes.
#[cfg(any(loom, shuttle))]
pub fn wait_for<'a, T>(
    condition: &Condvar,
    mutex: &'a Mutex<T>,
    guard: MutexGuard<'a, T>,
    _limit: std::time::Duration,
) -> (MutexGuard<'a, T>, bool) {
    (wait(condition, mutex, guard), true)
}

/// Spins for a short while, then yields the processor a number of times, then sleeps at each further wait.
///
/// With fewer cores than threads the thread that is waited for may not be running, so spinning is kept short. Whoever waits for
/// longer than a step takes leaves the processor to others, and is up to a millisecond late.
#[derive(Debug)]
#[cfg_attr(any(loom, shuttle), expect(dead_code, reason = "a model yields at every wait"))]
pub struct Backoff {
    waits: u32,
    /// So often it yields before it sleeps.
    yields: u32,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff::new()
    }
}

impl Backoff {
    #[cfg(not(any(loom, shuttle)))]
    const DOUBLINGS: u32 = 6;

    /// A wait that has not begun.
    pub const fn new() -> Backoff {
        Backoff::yielding(250)
    }

    /// A wait that sleeps only after so many yields: where others wait in turn for whoever waits.
    pub const fn yielding(yields: u32) -> Backoff {
        Backoff { waits: 0, yields }
    }

    /// Spins, as [`Backoff::wait`] does at first; `false`, without a wait, where it would go on to something else.
    #[cfg(not(any(loom, shuttle)))]
    pub fn spin(&mut self) -> bool {
        let spins = self.waits <= Backoff::DOUBLINGS && simulated_pause().is_none();
        if spins {
            self.wait();
        }
        spins
    }

    /// In a model nothing comes of spinning.
    #[cfg(any(loom, shuttle))]
    pub fn spin(&mut self) -> bool {
        false
    }

    /// Waits a little: 1, 2, 4 .. 64 spins; then a yield, so often as was said; then 50, 100 .. 1000 microseconds of sleep.
    #[cfg(not(any(loom, shuttle)))]
    pub fn wait(&mut self) {
        const SLEEP_US: (u64, u64) = (50, 1000);
        if let Some(pause) = simulated_pause() {
            return pause();
        }
        if self.waits <= Backoff::DOUBLINGS {
            for _ in 0..1u32 << self.waits {
                hint::spin_loop();
            }
            self.waits += 1;
        } else if self.waits <= Backoff::DOUBLINGS + self.yields {
            thread::yield_now();
            self.waits += 1;
        } else {
            let sleeps = self.waits - Backoff::DOUBLINGS - self.yields - 1;
            let pause_us = (SLEEP_US.0 << sleeps.min(Backoff::DOUBLINGS)).min(SLEEP_US.1);
            thread::sleep(std::time::Duration::from_micros(pause_us));
            self.waits = self.waits.saturating_add(1);
        }
    }

    /// Lets the model run another thread.
    #[cfg(any(loom, shuttle))]
    pub fn wait(&mut self) {
        thread::yield_now();
    }
}

/// Stands for bytes that are not atomics: a model reports two accesses, one of them a write, that nothing orders.
#[derive(Debug, Default)]
pub struct RaceCell {
    #[cfg(loom)]
    cell: loom::cell::UnsafeCell<()>,
}

// SAFETY: the cell holds nothing; the model checks how accesses to it are ordered.
#[cfg(loom)]
unsafe impl Sync for RaceCell {}

impl RaceCell {
    /// The companion of newly allocated bytes.
    pub fn new() -> RaceCell {
        RaceCell::default()
    }

    /// The bytes are being read.
    #[inline(always)]
    pub fn read(&self) {
        #[cfg(loom)]
        self.cell.with(|_| ());
    }

    /// The bytes are being written or freed.
    #[inline(always)]
    pub fn write(&self) {
        #[cfg(loom)]
        self.cell.with_mut(|_| ());
    }
}

/// Hands out numbers that are unique in the process. Not part of any model's state, so it orders nothing.
pub struct Unique(std::sync::atomic::AtomicU64);

impl Unique {
    /// A source whose first number is 1.
    #[expect(clippy::new_without_default, reason = "statics need a const function")]
    pub const fn new() -> Unique {
        Unique(std::sync::atomic::AtomicU64::new(1))
    }

    /// A number that this source has not given before.
    pub fn take(&self) -> u64 {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }
}

/// A sum that orders nothing and that no decision of a structure rests on: not part of any model's state.
#[derive(Debug, Default)]
pub struct Counter(std::sync::atomic::AtomicI64);

impl Counter {
    /// Adds to the sum.
    pub fn add(&self, amount: i64) {
        self.0.fetch_add(amount, std::sync::atomic::Ordering::Relaxed);
    }

    /// Makes it at least `amount`.
    pub fn raise(&self, amount: i64) {
        self.0.fetch_max(amount, std::sync::atomic::Ordering::Relaxed);
    }

    /// The sum.
    #[inline]
    pub fn get(&self) -> i64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}
