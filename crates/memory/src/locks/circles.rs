//! The search for those that wait for each other in a circle.
//!
//! Owners and whom they wait for are a graph. Its edges are read from the queues one after the other, not at one moment. A circle
//! stays until somebody breaks it, so none is missed; one that never was may be seen, which costs an attempt of a transaction.

use super::queue::Queue;
use super::slot::Slot;
use super::word::OwnerId;
use super::{Locks, lock};
use crate::sync::Arc;

/// An owner, and those that it waits for which were not looked at yet.
struct Step {
    slot: Arc<Slot>,
    left: Vec<(OwnerId, Arc<Slot>)>,
}

impl Locks {
    /// Wounds the youngest of each circle that an owner has closed which is in a queue now.
    pub(super) fn break_circles(&self, id: OwnerId, slot: &Arc<Slot>) {
        let looking = lock(&self.looking);
        while !slot.is_wounded()
            && let Some(victim) = self.youngest_of_circle(id, slot)
        {
            victim.wound();
        }
        drop(looking);
    }

    /// Follows the waits from an owner until one leads back to it.
    fn youngest_of_circle(&self, start: OwnerId, slot: &Arc<Slot>) -> Option<Arc<Slot>> {
        let mut seen = vec![start];
        let mut path = vec![self.step(start, slot.clone())];
        while let Some(last) = path.last_mut() {
            match last.left.pop() {
                None => drop(path.pop()),
                Some((id, _)) if id == start => {
                    return path.into_iter().map(|step| step.slot).max_by_key(|slot| slot.age());
                }
                // Who is wounded waits no more.
                Some((id, slot)) if !seen.contains(&id) && !slot.is_wounded() => {
                    seen.push(id);
                    path.push(self.step(id, slot));
                }
                Some(_) => {}
            }
        }
        None
    }

    fn step(&self, id: OwnerId, slot: Arc<Slot>) -> Step {
        let address = slot.waits_at();
        let bucket = lock(self.bucket(address));
        let queue: Option<&Queue> = bucket.iter().find(|queue| queue.address == address);
        let left = queue.map_or(Vec::new(), |queue| queue.blockers(id));
        drop(bucket);
        Step { slot, left }
    }
}
