//! Those who hold a lock and those who wait for it, where a word has no room for that; and who may wait for whom.

use super::slot::{Age, Slot};
use super::word::{Holders, INLINE, LockMode, OwnerId};
use super::{Locking, Locks};
use crate::sync::Arc;

/// So many may take a lock, at most, while the first who waits for it wakes up: that takes longer than most transactions.
const PASSES_MAX: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 64 };

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Granted,
    Waits,
    Refused,
}

/// Who asks for a lock.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) id: OwnerId,
    pub(super) slot: &'a Arc<Slot>,
    pub(super) mode: LockMode,
}

struct Holder {
    id: OwnerId,
    slot: Arc<Slot>,
    mode: LockMode,
}

struct Waiter {
    id: OwnerId,
    slot: Arc<Slot>,
    mode: LockMode,
    age: Age,
    /// Whether it shares the lock.
    is_upgrade: bool,
}

/// Whom another one waits for.
pub(super) struct Blocker {
    pub(super) id: OwnerId,
    pub(super) slot: Arc<Slot>,
    /// Of its own waits, the one that it was in, or was in last: [`Slot::waits`].
    pub(super) wait: u64,
}

impl Blocker {
    pub(super) fn of(id: OwnerId, slot: &Arc<Slot>) -> Blocker {
        Blocker { id, slot: slot.clone(), wait: slot.waits() }
    }
}

/// The queue of one lock.
pub(super) struct Queue {
    /// Of the lock's word.
    pub(super) address: usize,
    holders: Vec<Holder>,
    /// In the order in which they get the lock.
    waiters: Vec<Waiter>,
    /// Whether the first of them was called since the lock was free.
    is_called: bool,
    /// How many have passed the waiters since one of them got the lock.
    passes: u32,
    /// To be told when a holder has given it back.
    watchers: Vec<Arc<Slot>>,
    /// Whether who came first gets the lock first.
    is_in_turn: bool,
}

fn are_compatible(one: LockMode, other: LockMode) -> bool {
    (one, other) == (LockMode::Shared, LockMode::Shared)
}

impl Queue {
    /// The queue of a lock whose word said this.
    pub(super) fn of(address: usize, word: Holders, locks: &Locks, is_in_turn: bool) -> Queue {
        let mode = if word.is_exclusive() { LockMode::Exclusive } else { LockMode::Shared };
        let holders = word.owners().map(|id| Holder { id, slot: locks.slot(id), mode }).collect();
        let (waiters, watchers) = (Vec::new(), Vec::new());
        Queue { address, holders, waiters, is_called: false, passes: 0, watchers, is_in_turn }
    }

    /// What the word would say, if it has room for all.
    pub(super) fn as_word(&self) -> Option<Holders> {
        if !self.waiters.is_empty() || !self.watchers.is_empty() || self.holders.len() > INLINE {
            return None;
        }
        self.holders.iter().try_fold(Holders::NONE, |word, holder| match holder.mode {
            LockMode::Shared => word.sharing(holder.id),
            LockMode::Exclusive => Some(Holders::alone(holder.id)),
        })
    }

    /// Whether somebody holds the lock, or is about to.
    pub(super) fn is_in_use(&self) -> bool {
        !self.holders.is_empty() || self.is_called
    }

    /// How `owner` holds the lock.
    pub(super) fn mode_of(&self, owner: OwnerId) -> Option<LockMode> {
        self.holders.iter().find(|holder| holder.id == owner).map(|holder| holder.mode)
    }

    /// Whether nobody but `owner` holds the lock.
    pub(super) fn is_free_for(&self, owner: OwnerId) -> bool {
        self.holders.iter().all(|holder| holder.id == owner)
    }

    /// How many wait.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    fn in_the_way(&self, id: OwnerId, mode: LockMode) -> impl Iterator<Item = &Holder> {
        self.holders.iter().filter(move |holder| holder.id != id && !are_compatible(holder.mode, mode))
    }

    /// Grants the lock, lets the owner wait for it, or refuses it.
    pub(super) fn request(&mut self, asking: Asking<'_>, locks: &Locks) -> Decision {
        let Asking { id, slot, mode } = asking;
        let is_upgrade = self.mode_of(id).is_some();
        // Who shares the lock already waits for those only that are about to share it, too.
        let is_called = |waiter: &&Waiter| self.is_called && waiter.mode == LockMode::Shared;
        let first = self.waiters.iter().take_while(|waiter| !is_upgrade || is_called(waiter));
        let oldest = first.filter(|waiter| !are_compatible(waiter.mode, mode)).map(|waiter| waiter.age).min();
        let is_free = self.in_the_way(id, mode).next().is_none();
        if is_free && (oldest.is_none() || self.passes_by(slot)) {
            self.hold(id, slot, mode);
            return Decision::Granted;
        }
        let locking = if self.is_in_turn { Locking::Detect } else { locks.locking };
        match locking {
            Locking::NoWait => return Decision::Refused,
            Locking::WaitDie => {
                // Who is compared has an age: two that have none would each find the other one younger, in two queues.
                let age = slot.give_age(&locks.next_age);
                for holder in self.in_the_way(id, mode) {
                    holder.slot.give_age(&locks.next_age);
                }
                let is_older = |other: Age| age < other;
                let is_oldest = self.in_the_way(id, mode).all(|holder| is_older(holder.slot.age()));
                if slot.has_passed() || !is_oldest || !oldest.is_none_or(is_older) {
                    return Decision::Refused;
                }
            }
            Locking::WoundWait | Locking::Detect => {
                for holder in self.in_the_way(id, mode) {
                    holder.slot.give_age(&locks.next_age);
                }
                let age = slot.give_age(&locks.next_age);
                if is_free && !self.is_in_turn && oldest.is_none_or(|oldest| age < oldest) {
                    self.hold(id, slot, mode);
                    return Decision::Granted;
                }
                if locking == Locking::WoundWait {
                    if slot.has_passed() {
                        return Decision::Refused;
                    }
                    let younger = self.in_the_way(id, mode).filter(|holder| age < holder.slot.age());
                    younger.for_each(|holder| holder.slot.wound());
                }
            }
        }
        slot.begin_wait(self.address);
        self.enqueue(Waiter { id, slot: slot.clone(), mode, age: slot.age(), is_upgrade }, locking);
        Decision::Waits
    }

    /// Gives the lock to an owner that waits for nobody; `false`: it would have to.
    pub(super) fn hold_at_once(&mut self, Asking { id, slot, mode }: Asking<'_>) -> bool {
        let is_free = self.in_the_way(id, mode).next().is_none();
        let is_first = self.waiters.iter().all(|waiter| are_compatible(waiter.mode, mode));
        if is_free && is_first {
            self.hold(id, slot, mode);
        }
        is_free && is_first
    }

    /// The owner, which has the lock alone, shares it.
    pub(super) fn share(&mut self, owner: OwnerId) {
        let held = self.holders.iter_mut().find(|holder| holder.id == owner);
        held.expect("who shares a lock holds it").mode = LockMode::Shared;
        self.grant();
    }

    /// Whether an owner takes the lock, which is free, before those that wait: while the first of them wakes up, and if it is
    /// younger than all of them.
    fn passes_by(&mut self, slot: &Slot) -> bool {
        let passes =
            self.is_called && self.passes < PASSES_MAX && self.waiters.iter().all(|waiter| waiter.age < slot.age());
        if passes {
            self.passes += 1;
            slot.pass();
        }
        passes
    }

    /// Each waits for those before it: by age, so that no circle of waits closes, or that the oldest comes first.
    fn enqueue(&mut self, waiter: Waiter, locking: Locking) {
        let is_before = |other: &Waiter| match locking {
            Locking::WoundWait => other.age < waiter.age,
            Locking::WaitDie | Locking::NoWait => other.age > waiter.age,
            Locking::Detect if self.is_in_turn => other.is_upgrade || !waiter.is_upgrade,
            // Those before it would wait for one that shares the lock.
            Locking::Detect => (!other.is_upgrade, other.age) < (!waiter.is_upgrade, waiter.age),
        };
        let at = self.waiters.iter().position(|other| !is_before(other)).unwrap_or(self.waiters.len());
        self.waiters.insert(at, waiter);
    }

    fn hold(&mut self, id: OwnerId, slot: &Arc<Slot>, mode: LockMode) {
        match self.holders.iter_mut().find(|holder| holder.id == id) {
            Some(held) => held.mode = mode,
            None => self.holders.push(Holder { id, slot: slot.clone(), mode }),
        }
        let is_exclusive = self.holders.iter().any(|holder| holder.mode == LockMode::Exclusive);
        assert!(!is_exclusive || self.holders.len() == 1, "who has a lock alone shares it with nobody");
    }

    /// Tells the owner when another holder has given the lock back.
    pub(super) fn watch(&mut self, slot: &Arc<Slot>) {
        slot.begin_watch();
        if !self.watchers.iter().any(|watcher| Arc::ptr_eq(watcher, slot)) {
            self.watchers.push(slot.clone());
        }
    }

    /// The owner gives the lock back.
    pub(super) fn release(&mut self, owner: OwnerId) {
        let at = self.holders.iter().position(|holder| holder.id == owner);
        let Holder { slot, .. } = self.holders.swap_remove(at.expect("who gives a lock back holds it"));
        // Whose upgrade was refused holds the lock itself, and waits for the others.
        let is_told = |watcher: &mut Arc<Slot>| !Arc::ptr_eq(watcher, &slot);
        self.watchers.extract_if(.., is_told).for_each(|watcher| watcher.end_watch());
        self.grant();
    }

    /// The owner, which waits, was called: gives it the lock, if it is the first and nobody was faster. Returns whether it has
    /// it.
    pub(super) fn answer(&mut self, owner: OwnerId) -> bool {
        let Some(at) = self.waiters.iter().position(|waiter| waiter.id == owner) else { return true };
        self.is_called = false;
        if at == 0 && self.is_first_free() {
            self.hand_over();
        }
        self.grant();
        self.waiters.iter().all(|waiter| waiter.id != owner)
    }

    /// Wounds those that keep the owner, which waits, from the lock and are younger.
    pub(super) fn wound_younger_than(&self, owner: OwnerId) {
        if let Some(waiter) = self.waiters.iter().find(|waiter| waiter.id == owner) {
            let younger = self.in_the_way(owner, waiter.mode).filter(|holder| waiter.age < holder.slot.age());
            younger.for_each(|holder| holder.slot.wound());
        }
    }

    /// Those that the owner, which waits, waits for, as far as that leads to `goal`: the holders, also those that only who waits
    /// before it waits for, and `goal` where it waits before it. The others before it wait in this very queue, for the same ones.
    pub(super) fn blockers(&self, owner: OwnerId, goal: OwnerId) -> Vec<Blocker> {
        let Some(at) = self.waiters.iter().position(|waiter| waiter.id == owner) else { return Vec::new() };
        let is_exclusive = self.waiters[..=at].iter().any(|waiter| waiter.mode == LockMode::Exclusive);
        let mode = if is_exclusive { LockMode::Exclusive } else { LockMode::Shared };
        let holders = self.in_the_way(owner, mode).map(|holder| Blocker::of(holder.id, &holder.slot));
        let before = self.waiters[..at].iter().filter(|waiter| waiter.id == goal);
        holders.chain(before.map(|waiter| Blocker::of(waiter.id, &waiter.slot))).collect()
    }

    /// The owner waits no more.
    pub(super) fn leave(&mut self, owner: OwnerId) {
        self.waiters.retain(|waiter| waiter.id != owner);
        self.is_called = false;
        self.grant();
    }

    /// Whether nobody keeps the first who waits from the lock.
    fn is_first_free(&self) -> bool {
        self.waiters.first().is_some_and(|first| self.in_the_way(first.id, first.mode).next().is_none())
    }

    /// Calls the first who waits, if the lock is free. Where enough have passed, gives it to those who are first.
    fn grant(&mut self) {
        while self.is_first_free() {
            if !self.is_in_turn && self.passes < PASSES_MAX {
                if !std::mem::replace(&mut self.is_called, true) {
                    self.waiters[0].slot.call();
                }
                return;
            }
            self.hand_over();
        }
        if !self.is_in_use() {
            // Nobody else will tell them.
            self.watchers.drain(..).for_each(|watcher| watcher.end_watch());
        }
    }

    fn hand_over(&mut self) {
        let Waiter { id, slot, mode, .. } = self.waiters.remove(0);
        (self.passes, self.is_called) = (0, false);
        self.hold(id, &slot, mode);
        slot.grant();
    }
}
