//! The tree as a whole: how large it is, and whether it is what it should be.
//!
//! Deliberately absent: counters that every insert would have to write. Sizes are found by walking.

use std::ptr::NonNull;

use crate::epoch::Pin;
use crate::sync::Backoff;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::thin::Entry;

use super::Tree;
use super::descend::{Bound, Reached, as_inner, as_leaf, header};
use super::lock::Retry;
use super::node::{AnyNode, Header, LEAF_LEVEL, Separator, key_of, node_bytes};
use super::search::{UNUSED, head, stride};

/// How many nodes a tree has and what they hold. Exact where nobody changes the tree meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Entries.
    pub entries: usize,
    /// Leaves.
    pub leaves: usize,
    /// Nodes above the leaves.
    pub inner_nodes: usize,
    /// Levels; 1 where the root is a leaf.
    pub height: usize,
    /// Bytes of all nodes, their fences and separators, and of the hints; entries not included.
    pub bytes: usize,
}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Tree<T, L, I> {
    /// The number of entries, found by walking all leaves.
    pub fn len(&self, pin: &Pin<'_>) -> usize {
        self.shape(pin).entries
    }

    /// Whether the tree holds no entry at this moment.
    pub fn is_empty(&self, pin: &Pin<'_>) -> bool {
        self.len(pin) == 0
    }

    /// Bytes of the nodes, found by walking all of them; entries not included.
    pub fn memory_bytes(&self, pin: &Pin<'_>) -> usize {
        self.shape(pin).bytes
    }

    /// Walks all nodes, level by level. Safe beside readers and writers.
    pub fn shape(&self, pin: &Pin<'_>) -> Shape {
        self.check(pin);
        let mut shape = Shape { height: header(pin, self.root()).level as usize + 1, ..Shape::default() };
        for level in 0..shape.height as u8 {
            let mut bound: Option<&[u8]> = Some(&[]);
            while let Some(low) = bound {
                let (node, count) = self.node_for(pin, low, level);
                if node.level == LEAF_LEVEL {
                    shape.entries += count;
                    shape.leaves += 1;
                    // There is one separator between each two leaves, the fence of the second.
                    shape.bytes += if low.is_empty() { 0 } else { Separator::memory_bytes(node.low()) };
                } else {
                    shape.inner_nodes += 1;
                }
                // SAFETY: the node was reached under this pin.
                shape.bytes += unsafe { node_bytes::<T, L, I>(NonNull::from(node)) };
                bound = node.high();
            }
        }
        shape.bytes += self.hints.bytes(pin);
        shape
    }

    fn node_for<'p>(&self, pin: &'p Pin<'_>, low: &[u8], level: u8) -> (&'p Header, usize) {
        let mut backoff = Backoff::new();
        loop {
            let found = self.descend(pin, Bound::At(low), level).and_then(|Reached { node, word, .. }| {
                let header = header(pin, node);
                let count = header.count();
                header.lock.validate(word)?;
                Ok::<_, Retry>((header, count))
            });
            match found {
                Ok(found) => return found,
                Err(_) => backoff.wait(),
            }
        }
    }

    /// Panics where an invariant of the tree does not hold; for tests, while nobody changes the tree.
    pub fn assert_sound(&self, pin: &Pin<'_>) -> Shape {
        self.check(pin);
        let root = header(pin, self.root());
        assert!(root.low().is_empty() && root.high().is_none(), "the root covers every key");
        let mut seen = Shape { height: root.level as usize + 1, ..Shape::default() };
        self.assert_node_sound(pin, self.root(), true, &mut seen);
        let shape = self.shape(pin);
        assert_eq!((seen.entries, seen.leaves, seen.inner_nodes), (shape.entries, shape.leaves, shape.inner_nodes));
        shape
    }

    fn assert_node_sound(&self, pin: &Pin<'_>, node: AnyNode, is_root: bool, seen: &mut Shape) {
        let header = header(pin, node);
        assert!(!header.lock.is_locked() && !header.lock.is_obsolete(), "a linked node at rest is neither");
        let keys: Vec<&[u8]> = if header.level == LEAF_LEVEL {
            seen.leaves += 1;
            seen.entries += header.count();
            // SAFETY: the entries of a leaf at rest are linked.
            as_leaf::<T, L>(pin, node).entries().map(|entry| unsafe { key_of::<T>(entry) }).collect()
        } else {
            seen.inner_nodes += 1;
            self.assert_children_sound(pin, node, seen)
        };
        assert_eq!(keys.len() + usize::from(header.level != LEAF_LEVEL), header.count(), "no slot in use is empty");
        assert!(
            header.count() <= Self::slots(header.level) && (is_root || header.count() >= Self::fewest(header.level)),
            "occupancy"
        );
        assert!(header.level == LEAF_LEVEL || header.count() >= 2, "an inner root has two children");
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "keys ascend");
        let heads: &[AtomicU64] = match header.level {
            LEAF_LEVEL => as_leaf::<T, L>(pin, node).heads(),
            _ => as_inner::<I>(pin, node).heads(),
        };
        for unused in &heads[keys.len()..] {
            assert_eq!(unused.load(Ordering::Relaxed), UNUSED, "an unused slot never counts as below");
        }
        let slots = if header.level == LEAF_LEVEL { L } else { I };
        for (index, sample) in header.samples().iter().enumerate() {
            let stands_for = heads.get((index + 1) * stride(slots)).map_or(UNUSED, |head| head.load(Ordering::Relaxed));
            assert_eq!(sample.load(Ordering::Relaxed), stands_for, "samples are the heads they stand for");
        }
        for (key, stored) in keys.iter().zip(heads) {
            assert!(
                *key >= header.low() && header.high().is_none_or(|high| *key < high),
                "keys lie between the fences"
            );
            assert!(header.covers(key), "keys start with the prefix");
            let stored = stored.load(Ordering::Relaxed);
            assert_eq!(stored, head(key, header.prefix_len()), "heads are those of the keys");
        }
    }

    /// The separators of an inner node, after its children were looked at.
    fn assert_children_sound<'p>(&self, pin: &'p Pin<'_>, node: AnyNode, seen: &mut Shape) -> Vec<&'p [u8]> {
        let inner = as_inner::<I>(pin, node);
        let mut separators = Vec::new();
        let mut low = inner.header.low();
        for branch in inner.branches() {
            if let Some(separator) = branch.separator {
                // SAFETY: the separators of a node at rest are its own.
                let separator: &'p [u8] = unsafe { &*separator.as_ptr() }.key();
                separators.push(separator);
                low = separator;
            }
            let child = header(pin, branch.child);
            assert_eq!(child.low(), low, "a child begins at its separator");
            assert_eq!(child.level + 1, inner.header.level, "levels follow each other");
            let slot = separators.len();
            let next = (slot + 1 < inner.count()).then(|| inner.separator(slot));
            // SAFETY: as above.
            let high = next.map(|next| unsafe { &*next }.key()).or(inner.header.high());
            assert_eq!(child.high(), high, "a child ends where the next begins");
            self.assert_node_sound(pin, branch.child, false, seen);
        }
        separators
    }
}
