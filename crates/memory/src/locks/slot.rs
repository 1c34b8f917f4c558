//! What others see of an owner: its age, whether it is wounded, and what it waits for.

use std::task::Waker;
use std::time::Duration;

use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait_for};
use crate::task;

/// When an owner's transaction first met another one, in the order of all such events; a small one is old. Who has met nobody is
/// younger than all who have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Age(pub(super) u64);

impl Age {
    pub(super) const YOUNGEST: Age = Age(u64::MAX);
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    Granted,
    /// The lock is free, unless somebody was faster.
    Called,
    Wounded,
    TimedOut,
}

/// An older owner wants what this one holds.
const BY_AGE: u32 = 1;
/// It waited in a circle.
const IN_CIRCLE: u32 = 2;

/// See the module. On cache lines of its own: an owner looks at it with every access.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// 0: none yet.
    age: AtomicU64,
    /// 0: it is not.
    wounds: AtomicU32,
    /// It holds a lock that others were waiting for: it waits for none.
    has_passed: AtomicBool,
    /// The address of the lock that it waits for, or waited for last.
    waits_at: AtomicUsize,
    /// How many waits it has begun.
    begun: AtomicU64,
    waits: Mutex<Waits>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waits {
    /// What was waited for is held now.
    is_granted: bool,
    /// What was waited for was free.
    is_called: bool,
    /// A lock that was refused has not been given back since.
    is_watching: bool,
    /// Of the task that waits.
    waker: Option<Waker>,
}

impl Slot {
    pub(super) fn age(&self) -> Age {
        match self.age.load(Ordering::Relaxed) {
            0 => Age::YOUNGEST,
            age => Age(age),
        }
    }

    /// Gives an age to an owner that has none.
    pub(super) fn give_age(&self, next: &AtomicU64) -> Age {
        if self.age() == Age::YOUNGEST {
            let age = next.fetch_add(1, Ordering::Relaxed);
            // Where somebody else was faster it has that age.
            let _ = self.age.compare_exchange(0, age, Ordering::Relaxed, Ordering::Relaxed);
        }
        self.age()
    }

    pub(super) fn forget_age(&self) {
        self.age.store(0, Ordering::Relaxed);
    }

    /// Whether an older owner wants what this one holds, or its wait closed a circle.
    #[inline]
    pub(super) fn is_wounded(&self) -> bool {
        self.wounds.load(Ordering::Relaxed) != 0
    }

    /// An older owner wants what this one holds.
    pub(super) fn wound(&self) {
        // Under the mutex: who is about to wait sees it, or is woken.
        self.change(|_| _ = self.wounds.fetch_or(BY_AGE, Ordering::Relaxed));
    }

    /// Its wait is part of a circle, and is to end.
    pub(super) fn break_circle(&self) {
        self.change(|_| _ = self.wounds.fetch_or(IN_CIRCLE, Ordering::Relaxed));
    }

    /// It waits no more: the circle is open.
    pub(super) fn has_left_circle(&self) {
        self.wounds.fetch_and(!IN_CIRCLE, Ordering::Relaxed);
    }

    pub(super) fn has_passed(&self) -> bool {
        self.has_passed.load(Ordering::Relaxed)
    }

    pub(super) fn pass(&self) {
        self.has_passed.store(true, Ordering::Relaxed);
    }

    /// Its transaction is over.
    pub(super) fn end(&self) {
        self.wounds.store(0, Ordering::Relaxed);
        self.has_passed.store(false, Ordering::Relaxed);
    }

    /// To be called before the owner is in the queue of the lock at this address.
    pub(super) fn begin_wait(&self, address: usize) {
        self.waits_at.store(address, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Relaxed);
        let mut waits = lock(&self.waits);
        (waits.is_granted, waits.is_called) = (false, false);
    }

    /// The address of the lock in whose queue the owner may be.
    pub(super) fn waits_at(&self) -> usize {
        self.waits_at.load(Ordering::Relaxed)
    }

    /// How many waits the owner has begun. From one to the next it may have given back what it holds.
    pub(super) fn waits(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Changes what is waited for, and wakes who waits.
    fn change(&self, change: impl FnOnce(&mut Waits)) {
        let mut waits = lock(&self.waits);
        change(&mut waits);
        let waker = waits.waker.take();
        drop(waits);
        match waker {
            None => self.changed.notify_one(),
            Some(waker) => waker.wake(),
        }
    }

    /// Waits until something has changed, or for so long: `false`. May return early.
    fn pause<'a>(&'a self, mut waits: MutexGuard<'a, Waits>, limit: Duration) -> (MutexGuard<'a, Waits>, bool) {
        let Some(waker) = task::waker() else { return wait_for(&self.changed, &self.waits, waits, limit) };
        waits.waker = Some(waker);
        drop(waits);
        let has_time = task::pause(limit);
        let mut waits = lock(&self.waits);
        waits.waker = None;
        (waits, has_time)
    }

    /// The lock that is waited for is free.
    pub(super) fn call(&self) {
        self.change(|waits| waits.is_called = true);
    }

    pub(super) fn grant(&self) {
        self.change(|waits| waits.is_granted = true);
    }

    /// Waits for a grant, or to be called; who gives up looks in the queue whether one came.
    pub(super) fn wait(&self, limit: Duration) -> Woken {
        let mut waits = lock(&self.waits);
        let mut has_time = true;
        loop {
            match () {
                () if waits.is_granted => return Woken::Granted,
                () if std::mem::take(&mut waits.is_called) => return Woken::Called,
                () if self.is_wounded() => return Woken::Wounded,
                () if !has_time => return Woken::TimedOut,
                () => (waits, has_time) = self.pause(waits, limit),
            }
        }
    }

    /// Whether a grant came.
    pub(super) fn is_granted(&self) -> bool {
        lock(&self.waits).is_granted
    }

    /// A lock was refused whose holder tells when it has given it back.
    pub(super) fn begin_watch(&self) {
        lock(&self.waits).is_watching = true;
    }

    pub(super) fn end_watch(&self) {
        self.change(|waits| waits.is_watching = false);
    }

    /// Waits until a lock that was refused was given back once, or for so long: `false`.
    pub(super) fn watch(&self, limit: Duration) -> bool {
        let mut waits = lock(&self.waits);
        let mut has_time = true;
        while waits.is_watching && has_time {
            (waits, has_time) = self.pause(waits, limit);
        }
        !std::mem::take(&mut waits.is_watching)
    }
}
