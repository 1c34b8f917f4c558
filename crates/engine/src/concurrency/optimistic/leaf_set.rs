//! The leaves that a transaction has observed, each in the state in which it was.
//!
//! Invariants:
//! - A leaf that was observed stays in the set until the transaction ends, in the state in which it was observed or in which the
//!   transaction itself left it.
//! - In a large set every leaf is found by its address, in the state that was added last. An earlier state of the same leaf
//!   may be there too: then somebody else has changed it, and validation fails whatever becomes of the later one.

use osier_memory::{AddressMap, LeafRead, Pin, Stamp};

use crate::concurrency::KEPT_CAPACITY;
use crate::sizes::linear_writes_max;

/// The leaves of one transaction.
#[derive(Default)]
pub(crate) struct LeafSet {
    leaves: Vec<LeafRead>,
    /// Where each leaf is, if the set is large.
    places: AddressMap<usize>,
}

impl LeafSet {
    pub(super) fn clear(&mut self) {
        self.leaves.clear();
        self.places.clear();
        if self.leaves.capacity() > KEPT_CAPACITY {
            *self = LeafSet::default();
        }
    }

    /// Adds a leaf. Repeats are common (a range walked twice, neighbouring absences).
    pub(super) fn add(&mut self, leaf: LeafRead) {
        if self.leaves.last() == Some(&leaf) || self.place(&leaf).is_some() {
            return;
        }
        if !self.places.is_empty() {
            return self.add_hashed(leaf);
        }
        self.leaves.push(leaf);
        if self.leaves.len() > linear_writes_max() {
            let leaves = std::mem::take(&mut self.leaves);
            leaves.into_iter().for_each(|leaf| self.add_hashed(leaf));
        }
    }

    fn add_hashed(&mut self, leaf: LeafRead) {
        if self.place(&leaf).is_none() {
            self.places.insert(leaf.address(), self.leaves.len());
            self.leaves.push(leaf);
        }
    }

    /// Where a leaf is, in a large set.
    fn place(&self, leaf: &LeafRead) -> Option<usize> {
        let at = *self.places.get(&leaf.address())?;
        (self.leaves[at] == *leaf).then_some(at)
    }

    /// Takes a leaf out, in this state; returns whether it was there.
    pub(crate) fn remove(&mut self, leaf: &LeafRead) -> bool {
        if self.places.is_empty() {
            let before = self.leaves.len();
            self.leaves.retain(|other| other != leaf);
            return self.leaves.len() < before;
        }
        let Some(at) = self.place(leaf) else { return false };
        self.places.remove(&leaf.address());
        self.leaves.swap_remove(at);
        if let Some(moved) = self.leaves.get(at)
            && let Some(place) = self.places.get_mut(&moved.address())
            && *place == self.leaves.len()
        {
            *place = at;
        }
        true
    }

    pub(super) fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Makes whatever comes into the leaves exceed `stamp`; where a leaf has changed, that may have no effect.
    pub(super) fn raise(&self, pin: &Pin<'_>, stamp: Stamp) {
        self.leaves.iter().for_each(|leaf| leaf.raise_max_stamp(pin, stamp));
    }

    /// Whether every leaf is as it was.
    pub(super) fn are_unchanged(&self, pin: &Pin<'_>) -> bool {
        self.leaves.iter().all(|leaf| leaf.is_unchanged(pin))
    }
}
