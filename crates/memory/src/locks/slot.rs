//! What others see of an owner: its age, whether it is wounded, and what it waits for.

use std::time::Duration;

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, lock, wait_for};

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

/// See the module. On cache lines of its own: an owner looks at it with every access.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// 0: none yet.
    age: AtomicU64,
    is_wounded: AtomicBool,
    /// It holds a lock that others were waiting for: it waits for none.
    has_passed: AtomicBool,
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

    /// Whether an older owner wants what this one holds.
    #[inline]
    pub(super) fn is_wounded(&self) -> bool {
        self.is_wounded.load(Ordering::Relaxed)
    }

    pub(super) fn wound(&self) {
        // Under the mutex: who is about to wait sees it, or is woken.
        let waits = lock(&self.waits);
        self.is_wounded.store(true, Ordering::Relaxed);
        drop(waits);
        self.changed.notify_one();
    }

    pub(super) fn has_passed(&self) -> bool {
        self.has_passed.load(Ordering::Relaxed)
    }

    pub(super) fn pass(&self) {
        self.has_passed.store(true, Ordering::Relaxed);
    }

    /// Its transaction is over.
    pub(super) fn end(&self) {
        self.is_wounded.store(false, Ordering::Relaxed);
        self.has_passed.store(false, Ordering::Relaxed);
    }

    /// To be called before the owner is in a queue.
    pub(super) fn begin_wait(&self) {
        let mut waits = lock(&self.waits);
        (waits.is_granted, waits.is_called) = (false, false);
    }

    /// The lock that is waited for is free.
    pub(super) fn call(&self) {
        lock(&self.waits).is_called = true;
        self.changed.notify_one();
    }

    pub(super) fn grant(&self) {
        lock(&self.waits).is_granted = true;
        self.changed.notify_one();
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
                () => (waits, has_time) = wait_for(&self.changed, &self.waits, waits, limit),
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
        lock(&self.waits).is_watching = false;
        self.changed.notify_one();
    }

    /// Waits until a lock that was refused was given back once, or for so long: `false`.
    pub(super) fn watch(&self, limit: Duration) -> bool {
        let mut waits = lock(&self.waits);
        let mut has_time = true;
        while waits.is_watching && has_time {
            (waits, has_time) = wait_for(&self.changed, &self.waits, waits, limit);
        }
        !std::mem::take(&mut waits.is_watching)
    }
}
