//! Locks that transactions hold until they end: two-phase locking whose deadlocks are avoided, or found at once.
//!
//! A lock is one word beside what it protects. While the word has room it says who holds the lock, and to take and to give back
//! is one exchange each. Where somebody waits, or more share the lock than fit, a queue in a table says all; the word only says
//! that there is one.
//!
//! Who may wait for whom is decided by ages. An owner gets one when it meets another for the first time, and keeps it over all
//! attempts of its transaction; one that has met nobody writes nothing that others write.
//!
//! Invariants:
//! - **X1** Of the owners that hold a lock at the same time one shares it with all others, or it is alone.
//! - **X2** While a word says `QUEUED` its queue says who holds the lock, and both change under the mutex of the queue's bucket
//!   only. No queue without such a word, no such word without a queue.
//! - **X3** Nobody waits in a circle. Each waiter waits for holders and for those before it in the queue: under
//!   [`Locking::WaitDie`] all of them are younger than it, under [`Locking::WoundWait`] older, or wounded; but for those that
//!   have passed waiters, which wait for nothing themselves. Under [`Locking::Detect`] it looks for a circle as soon as it is in
//!   the queue: only that can close one, since all others that come to be waited for are not waiting. Who is compared has an age,
//!   and one that is given is younger than all that were given before.
//! - **X4** An owner waits for one lock at a time, and holds no mutex meanwhile. What it waits for is granted to it, or it is
//!   woken because it was wounded, or its time is over.
//! - **X5** The oldest of all owners is never wounded, and refused only where it has passed others while it was younger: it
//!   commits at last.
//!
//! A thread takes longer to wake up than most transactions to end. So a lock is not given to the first who waits, but that one is
//! called, and others may *pass*, up to a number, which are awake: else the lock would be held by sleeping threads all the time.
//!
//! A lock that is held for long is asked for *in turn* ([`Owner::lock_in_turn`]): nobody passes, who came first comes first, and
//! circles are looked for whatever the [`Locking`]. Where there are such locks, waits for others may close circles with them,
//! which ages do not avoid: then every wait looks for one.
//!
//! Deliberately absent: intention locks on tables.

mod circles;
mod queue;
mod slot;
mod word;

use std::fmt;
use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::address_map::AddressHasher;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Backoff, Mutex, lock};
use queue::{Asking, Decision, Queue};
use slot::{Age, Slot, Woken};
use word::{Holders, OwnerId};
pub use word::{LockMode, LockWord};

/// Buckets of the table of queues; a power of two.
const BUCKETS: usize = if cfg!(any(loom, shuttle, miri)) { 2 } else { 1 << 10 };

/// Who has passed an older owner that waits is wounded after so long.
const GRACE: Duration = Duration::from_millis(1);

/// What becomes of an owner that asks for a lock that another one holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Locking {
    /// It is refused.
    NoWait,
    /// It waits if it is older than those that it would wait for, and is refused otherwise (Rosenkrantz, Stearns and Lewis,
    /// 1978).
    WaitDie,
    /// It waits. Those that hold the lock and are younger are wounded: their transactions end as soon as they notice (same
    /// paper).
    #[default]
    WoundWait,
    /// It waits. Of those that would wait in a circle the youngest is wounded. Nobody else is, so transactions that take locks in
    /// the same order all come through.
    Detect,
}

/// An owner has a lock, or cannot have it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is to be given back.
    New,
    /// The owner had it already, perhaps shared; it is given back once.
    Before,
    /// The lock was closed: what it is of is about to go.
    Closed,
}

/// Why an owner did not get a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It may not wait for the holder.
    Refused,
    /// An older owner wants what it holds.
    Wounded,
    /// It has waited as long as it may.
    TimedOut,
}

/// The queues of locks, and the owners that wait in them.
pub struct Locks {
    locking: Locking,
    buckets: Box<[CachePadded<Mutex<Vec<Queue>>>]>,
    owners: Mutex<Owners>,
    next_age: AtomicU64,
    /// Held by whoever looks for circles: two that close one together find it one after the other.
    looking: Mutex<()>,
    /// Whether a lock was ever asked for in turn.
    has_turns: AtomicBool,
}

#[derive(Default)]
struct Owners {
    /// By number, from 1.
    slots: Vec<Arc<Slot>>,
    free: Vec<OwnerId>,
}

impl Locks {
    /// Locks that nobody holds.
    pub fn new(locking: Locking) -> Arc<Locks> {
        let buckets = (0..BUCKETS).map(|_| CachePadded::new(Mutex::new(Vec::new()))).collect();
        Arc::new(Locks {
            locking,
            buckets,
            owners: Mutex::default(),
            next_age: AtomicU64::new(1),
            looking: Mutex::default(),
            has_turns: AtomicBool::new(false),
        })
    }

    /// Adds an owner; `None`: there are as many as there can be, a million.
    pub fn register(self: &Arc<Self>) -> Option<Owner> {
        let mut owners = lock(&self.owners);
        let id = match owners.free.pop() {
            Some(id) => id,
            None if owners.slots.len() >= OwnerId::MAX.0 as usize => return None,
            None => {
                owners.slots.push(Arc::default());
                OwnerId(owners.slots.len() as u32)
            }
        };
        let slot = owners.slots[id.0 as usize - 1].clone();
        Some(Owner { locks: self.clone(), id, slot })
    }

    fn slot(&self, id: OwnerId) -> Arc<Slot> {
        lock(&self.owners).slots[id.0 as usize - 1].clone()
    }

    fn bucket(&self, address: usize) -> &Mutex<Vec<Queue>> {
        use std::hash::Hasher;
        let mut hasher = AddressHasher::default();
        hasher.write_usize(address);
        &self.buckets[hasher.finish() as usize & (self.buckets.len() - 1)]
    }

    /// Changes the queue of a lock, if there is one; the word takes over what it has room for.
    fn with_queue<R>(&self, word: &LockWord, change: impl FnOnce(&mut Queue) -> R) -> Option<R> {
        let mut bucket = lock(self.bucket(word.address()));
        let at = bucket.iter().position(|queue| queue.address == word.address())?;
        Some(change_queue(&mut bucket, at, word, change))
    }

    /// Whether waits may close circles. Who holds a lock in turn has said so before, and waits for no other one before that.
    fn finds_circles(&self) -> bool {
        self.locking == Locking::Detect || self.has_turns.load(Ordering::SeqCst)
    }

    /// Changes the queue of a lock, which is made where there is none; `Err`: the lock is closed.
    fn with_new_queue<R>(
        &self,
        word: &LockWord,
        is_in_turn: bool,
        change: impl FnOnce(&mut Queue) -> R,
    ) -> Result<R, Holders> {
        let mut bucket = lock(self.bucket(word.address()));
        let at = match bucket.iter().position(|queue| queue.address == word.address()) {
            Some(at) => at,
            None => {
                let mut before = word.load();
                loop {
                    if before.is_closed() {
                        return Err(before);
                    }
                    match word.exchange(before, Holders::QUEUED) {
                        Ok(()) => break,
                        Err(seen) => before = seen,
                    }
                }
                bucket.push(Queue::of(word.address(), before, self, is_in_turn));
                bucket.len() - 1
            }
        };
        Ok(change_queue(&mut bucket, at, word, change))
    }
}

/// What tests look at.
#[cfg(test)]
impl Locks {
    /// Who waits for whom.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn locking(&self) -> Locking {
        self.locking
    }

    /// The queues that there are.
    pub(crate) fn queues(&self) -> usize {
        self.buckets.iter().map(|bucket| lock(bucket).len()).sum()
    }

    /// How many wait for this lock.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn waiting(&self, word: &LockWord) -> usize {
        let bucket = lock(self.bucket(word.address()));
        let queue = bucket.iter().find(|queue| queue.address == word.address());
        queue.map_or(0, Queue::waiting)
    }

    /// Whether the queues of two locks are in different buckets.
    #[cfg(any(loom, shuttle))]
    pub(crate) fn are_apart(&self, one: &LockWord, other: &LockWord) -> bool {
        !std::ptr::eq(self.bucket(one.address()), self.bucket(other.address()))
    }
}

#[cfg(test)]
impl Owner {
    /// Gives the owner an age, as if it had met another one.
    pub(crate) fn give_age(&self) {
        self.slot.give_age(&self.locks.next_age);
    }
}

fn change_queue<R>(bucket: &mut Vec<Queue>, at: usize, word: &LockWord, change: impl FnOnce(&mut Queue) -> R) -> R {
    assert!(word.load().is_queued(), "a word says that there is a queue");
    let result = change(&mut bucket[at]);
    if let Some(after) = bucket[at].as_word() {
        bucket.swap_remove(at);
        word.store(after);
    } else {
        assert!(bucket[at].is_in_use(), "a queue is of a lock that somebody holds, or is about to");
    }
    result
}

impl fmt::Debug for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locks").field("locking", &self.locking).finish_non_exhaustive()
    }
}

/// Who holds locks: one transaction after the other.
pub struct Owner {
    locks: Arc<Locks>,
    id: OwnerId,
    slot: Arc<Slot>,
}

impl Owner {
    /// Takes a lock, or makes one that is shared exclusive. Waits for others, as the [`Locking`] says, up to `limit` until one
    /// of them has given it back.
    ///
    /// # Errors
    /// The owner is to give back all that it holds.
    #[inline]
    pub fn lock(&self, word: &LockWord, mode: LockMode, limit: Duration) -> Result<Taken, Lost> {
        let mut backoff = Backoff::new();
        loop {
            match self.take(word, mode) {
                Ok(taken) => return Ok(taken),
                // Most holders are about to go, and a thread that sleeps takes long to wake up.
                Err(before) if self.locks.locking != Locking::NoWait && !before.is_queued() && backoff.spin() => {}
                Err(_) => return self.lock_queued(word, mode, limit, false),
            }
        }
    }

    /// Takes a lock alone if nobody has to be waited for; else `None`, and nobody is wounded.
    pub fn try_lock(&self, word: &LockWord) -> Option<Taken> {
        loop {
            match self.take(word, LockMode::Exclusive) {
                Ok(taken) => return Some(taken),
                Err(before) if !before.is_queued() => return None,
                Err(_) => {}
            }
            let asking = Asking { id: self.id, slot: &self.slot, mode: LockMode::Exclusive };
            let asked = self.locks.with_queue(word, |queue| match queue.mode_of(self.id) {
                Some(LockMode::Exclusive) => Some(Taken::Before),
                held => queue.hold_at_once(asking).then_some(if held.is_some() { Taken::Before } else { Taken::New }),
            });
            // Without a queue the word says more.
            if let Some(taken) = asked {
                return taken;
            }
        }
    }

    /// As [`Owner::lock`], of a lock that may be held for long, and that is asked for in no other way: see the module.
    ///
    /// # Errors
    /// Who is lost keeps what it has, and may go on if it can [`Owner::recover`].
    pub fn lock_in_turn(&self, word: &LockWord, mode: LockMode, limit: Duration) -> Result<Taken, Lost> {
        self.locks.has_turns.store(true, Ordering::SeqCst);
        self.take(word, mode).or_else(|_| self.lock_queued(word, mode, limit, true))
    }

    /// As [`Owner::lock_in_turn`], if nobody has to be waited for; else `None`.
    pub fn try_lock_in_turn(&self, word: &LockWord, mode: LockMode) -> Option<Taken> {
        self.locks.has_turns.store(true, Ordering::SeqCst);
        if let Ok(taken) = self.take(word, mode) {
            return Some(taken);
        }
        let asked = self.locks.with_new_queue(word, true, |queue| {
            let held = queue.mode_of(self.id);
            let is_held = held == Some(LockMode::Exclusive) || held == Some(mode);
            let taken = if held.is_some() { Taken::Before } else { Taken::New };
            (is_held || queue.hold_at_once(Asking { id: self.id, slot: &self.slot, mode })).then_some(taken)
        });
        asked.ok().flatten()
    }

    /// Takes a lock whose word says that it is free for this. `Err`: what the word says.
    #[inline]
    fn take(&self, word: &LockWord, mode: LockMode) -> Result<Taken, Holders> {
        let mut before = word.load();
        loop {
            let is_own = before.owners().any(|owner| owner == self.id);
            let after = match mode {
                _ if before.is_queued() => None,
                _ if before.is_closed() => return Ok(Taken::Closed),
                _ if is_own && (before.is_exclusive() || mode == LockMode::Shared) => return Ok(Taken::Before),
                LockMode::Shared => before.sharing(self.id),
                LockMode::Exclusive => {
                    let is_free = before.owners().all(|owner| owner == self.id);
                    is_free.then(|| Holders::alone(self.id))
                }
            };
            let Some(after) = after else { return Err(before) };
            match word.exchange(before, after) {
                Ok(()) if is_own => return Ok(Taken::Before),
                Ok(()) => return Ok(Taken::New),
                Err(seen) => before = seen,
            }
        }
    }

    #[cold]
    fn lock_queued(&self, word: &LockWord, mode: LockMode, limit: Duration, in_turn: bool) -> Result<Taken, Lost> {
        let asked = self.locks.with_new_queue(word, in_turn, |queue| {
            let held = queue.mode_of(self.id);
            if held == Some(LockMode::Exclusive) || held == Some(mode) {
                return (Taken::Before, Decision::Granted);
            }
            let asking = Asking { id: self.id, slot: &self.slot, mode };
            let taken = if held.is_some() { Taken::Before } else { Taken::New };
            if self.is_wounded() {
                return (taken, Decision::Refused);
            }
            let decision = queue.request(asking, &self.locks);
            if decision == Decision::Refused {
                queue.watch(&self.slot);
            }
            (taken, decision)
        });
        let Ok((taken, decision)) = asked else { return Ok(Taken::Closed) };
        match decision {
            Decision::Granted => Ok(taken),
            Decision::Refused if self.is_wounded() => Err(Lost::Wounded),
            Decision::Refused => Err(Lost::Refused),
            Decision::Waits => {
                if self.locks.finds_circles() {
                    self.locks.break_circles(self.id, &self.slot);
                }
                self.wait(word, limit).map(|()| taken)
            }
        }
    }

    /// Waits in the queue of a lock.
    fn wait(&self, word: &LockWord, limit: Duration) -> Result<(), Lost> {
        let mut is_passed = false;
        loop {
            let lost = match self.slot.wait(if is_passed { limit.min(GRACE) } else { limit }) {
                Woken::Granted => return Ok(()),
                Woken::Called => None,
                Woken::Wounded => Some(Lost::Wounded),
                Woken::TimedOut if is_passed => {
                    is_passed = false;
                    self.locks.with_queue(word, |queue| queue.wound_younger_than(self.id));
                    continue;
                }
                Woken::TimedOut => Some(Lost::TimedOut),
            };
            is_passed = self.locks.locking == Locking::WoundWait;
            let is_granted = self.locks.with_queue(word, |queue| match lost {
                None => queue.answer(self.id),
                Some(_) if self.slot.is_granted() => true,
                Some(_) => {
                    queue.leave(self.id);
                    false
                }
            });
            // Without a queue nobody waits.
            match (is_granted.unwrap_or(true), lost) {
                (true, _) => return Ok(()),
                (false, None) => {}
                (false, Some(lost)) => return Err(lost),
            }
        }
    }

    /// Gives a lock back.
    ///
    /// # Panics
    /// Where the owner does not hold it.
    #[inline]
    pub fn unlock(&self, word: &LockWord) {
        let mut before = word.load();
        while !before.is_queued() {
            match word.exchange(before, before.without(self.id)) {
                Ok(()) => return,
                Err(seen) => before = seen,
            }
        }
        self.unlock_queued(word);
    }

    #[cold]
    fn unlock_queued(&self, word: &LockWord) {
        let released = self.locks.with_queue(word, |queue| queue.release(self.id));
        if released.is_none() {
            // The word has taken the queue over in between.
            self.unlock(word);
        }
    }

    /// Shares a lock from now on that the owner has alone.
    ///
    /// # Panics
    /// Where the owner does not hold it.
    pub fn share(&self, word: &LockWord) {
        loop {
            let before = word.load();
            if before.is_queued() {
                if self.locks.with_queue(word, |queue| queue.share(self.id)).is_some() {
                    return;
                }
                continue;
            }
            let after = before.without(self.id).sharing(self.id).expect("who had it alone shares it with nobody yet");
            if word.exchange(before, after).is_ok() {
                return;
            }
        }
    }

    /// Whether nobody else holds the lock. See [`LockWord::is_free`] on what that is worth.
    #[inline]
    pub fn is_free_for(&self, word: &LockWord) -> bool {
        loop {
            let holders = word.load();
            if !holders.is_queued() {
                return holders.owners().all(|owner| owner == self.id);
            }
            if let Some(is_free) = self.locks.with_queue(word, |queue| queue.is_free_for(self.id)) {
                return is_free;
            }
        }
    }

    /// Whether the owner has the lock alone.
    pub fn is_exclusive(&self, word: &LockWord) -> bool {
        loop {
            let holders = word.load();
            if !holders.is_queued() {
                return holders == Holders::alone(self.id);
            }
            let mode = self.locks.with_queue(word, |queue| queue.mode_of(self.id));
            if let Some(mode) = mode {
                return mode == Some(LockMode::Exclusive);
            }
        }
    }

    /// Whether an older owner wants what this one holds, or its wait closed a circle.
    #[inline]
    pub fn is_wounded(&self) -> bool {
        self.slot.is_wounded()
    }

    /// Goes on although its last wait closed a circle: it waits no more. Returns whether it may: no older owner wants what this
    /// one holds.
    pub fn recover(&self) -> bool {
        self.slot.has_left_circle();
        !self.is_wounded()
    }

    /// Whether the owner has met another one under a policy that compares ages.
    pub fn is_aged(&self) -> bool {
        self.slot.age() != Age::YOUNGEST
    }

    /// The transaction is over and holds nothing. One that will be tried again keeps its age.
    pub fn end(&self, keeps_age: bool) {
        self.slot.end();
        if !keeps_age {
            self.slot.forget_age();
        }
    }

    /// Waits until a lock that was refused was given back once, or for `limit`: `false`. The owner holds nothing.
    pub fn wait_for_refused(&self, limit: Duration) -> bool {
        self.slot.watch(limit)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.end(false);
        lock(&self.locks.owners).free.push(self.id);
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("id", &self.id.0).field("age", &self.slot.age()).finish_non_exhaustive()
    }
}
