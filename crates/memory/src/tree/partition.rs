//! Bounds that cut a tree into ranges of about the same size, for those who walk it in parallel.
//!
//! Invariant: the bounds rise. They are fences of nodes that the tree had while it was asked; any set of keys is a right
//! partition, so nothing more is promised.
//!
//! Deliberately absent: counting entries. Nodes of one level are about equally full.

use crate::epoch::Pin;
use crate::simulated::inner_slots;
use crate::sync::Backoff;
use crate::thin::Entry;

use super::descend::{Bound, header};
use super::{INNER_SLOTS, Tree};

/// Children of an inner node, on average.
fn children() -> usize {
    inner_slots(INNER_SLOTS) * 2 / 3
}

impl<T: Entry + ?Sized, const N: usize> Tree<T, N> {
    /// At most `parts - 1` keys between which about equally many entries lie; fewer where the tree is small.
    ///
    /// # Panics
    /// Where `pin` belongs to other epochs than the tree.
    pub fn partition(&self, pin: &Pin<'_>, parts: usize) -> Vec<Box<[u8]>> {
        self.check(pin);
        let mut fences = Vec::new();
        for level in (0..header(pin, self.root()).level).rev() {
            fences = self.fences(pin, level);
            if fences.len() + 1 >= parts {
                break;
            }
        }
        let parts = parts.clamp(1, fences.len() + 1);
        (1..parts).map(|part| fences[part * (fences.len() + 1) / parts - 1].clone()).collect()
    }

    /// About how many leaves there are: counted in a small tree, in a large one estimated from their parents.
    ///
    /// # Panics
    /// As for [`Tree::partition`].
    pub fn leaves(&self, pin: &Pin<'_>) -> usize {
        self.check(pin);
        match header(pin, self.root()).level {
            0 => 1,
            1 => self.fences(pin, 0).len() + 1,
            _ => (self.fences(pin, 1).len() + 1) * children(),
        }
    }

    /// What separates the nodes of a level.
    fn fences(&self, pin: &Pin<'_>, level: u8) -> Vec<Box<[u8]>> {
        let mut fences: Vec<Box<[u8]>> = Vec::new();
        let mut backoff = Backoff::new();
        loop {
            let from = fences.last().map_or(&[][..], |fence| fence);
            match self.descend(pin, Bound::At(from), level) {
                Ok(reached) => match header(pin, reached.node).high() {
                    Some(high) => fences.push(high.into()),
                    None => return fences,
                },
                Err(_) => backoff.wait(),
            }
        }
    }
}
