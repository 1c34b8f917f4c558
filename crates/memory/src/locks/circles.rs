//! The search for those that wait for each other in a circle.
//!
//! Owners and whom they wait for are a graph. Its edges are read from the queues one after the other, not at one moment; so a
//! holder may have given the lock back, and wait for it again in its next transaction, when its own edges are read. That would be
//! a circle that never was. Therefore each owner counts its waits. An edge is read together with the number of the holder's
//! wait, and followed only if the holder is still in the wait with that number: then it has released nothing in between, and the
//! edge still stands. So a circle that is found is there, unless somebody in it has just given up waiting.
//!
//! None is missed: whoever closes a circle searches after it has entered its queue, when all others of the circle are in theirs.
//!
//! Who waits behind others of the same queue waits for the holders that they wait for. So the search goes from holders to
//! holders, and does not take longer where many wait for one lock.

use super::queue::{Blocker, Queue};
use super::slot::Slot;
use super::word::OwnerId;
use super::{Locks, lock};
use crate::sync::Arc;

/// An owner, and those that it waits for which were not looked at yet.
struct Step {
    slot: Arc<Slot>,
    left: Vec<Blocker>,
}

impl Locks {
    /// Wounds the youngest of each circle that an owner has closed which is in a queue now.
    pub(super) fn break_circles(&self, id: OwnerId, slot: &Arc<Slot>) {
        let looking = lock(&self.looking);
        while !slot.is_wounded()
            && let Some(victim) = self.youngest_of_circle(Blocker::of(id, slot))
        {
            victim.break_circle();
        }
        drop(looking);
    }

    /// Follows the waits from an owner until one leads back to it.
    fn youngest_of_circle(&self, start: Blocker) -> Option<Arc<Slot>> {
        let goal = start.id;
        let mut seen = vec![goal];
        let mut path = vec![self.step(start, goal)];
        while let Some(last) = path.last_mut() {
            match last.left.pop() {
                None => drop(path.pop()),
                Some(next) if next.id == goal => {
                    return path.into_iter().map(|step| step.slot).max_by_key(|slot| slot.age());
                }
                // Who is wounded waits no more.
                Some(next) if !seen.contains(&next.id) && !next.slot.is_wounded() => {
                    seen.push(next.id);
                    path.push(self.step(next, goal));
                }
                Some(_) => {}
            }
        }
        None
    }

    /// The owner, with those that it waits for on the way to `goal`: with none where it waits no more as it did.
    fn step(&self, Blocker { id, slot, wait }: Blocker, goal: OwnerId) -> Step {
        let address = slot.waits_at();
        let bucket = lock(self.bucket(address));
        let queue: Option<&Queue> = bucket.iter().find(|queue| queue.address == address);
        let left = queue.filter(|_| slot.waits() == wait).map_or(Vec::new(), |queue| queue.blockers(id, goal));
        drop(bucket);
        Step { slot, left }
    }
}
