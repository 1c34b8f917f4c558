//! Changes of the tree's shape above the leaves: a node gives way to one or two, an inner node gets room, an inner node is
//! split, the root grows.
//!
//! Invariants:
//! - A node is replaced by the holder of its lock and of its parent's lock; the root by the holder of its own, since a
//!   node that was the root and is not obsolete is the root.
//! - New nodes are complete before they are linked; the parent's release of its lock publishes them.
//! - A separator moves between inner nodes by its pointer and is retired when it separates nothing any more.
//!
//! Deliberately absent: waiting for locks.

use std::ptr::NonNull;

use crate::epoch::Pin;
use crate::limbo::Retired;
use crate::simulated::inner_slots;
use crate::sync::Backoff;
use crate::sync::atomic::Ordering;
use crate::thin::Entry;
use crate::usage::{Kind, Tally};

use super::Tree;
use super::descend::{Above, Bound, Reached, as_inner, header};
use super::lock::{Guard, Retry};
use super::node::{AnyNode, Branch, Fences, Inner, Raw, Separator, free_node, free_separator, node_bytes};
use super::search::shortest_near_middle;

/// An inner node whose lock is held, and the slot of the child that is about to change.
pub(super) struct LockedAbove<'p, const I: usize> {
    pub(super) inner: &'p Inner<I>,
    pub(super) slot: usize,
    pub(super) guard: Guard<'p>,
}

impl<'p, const I: usize> Above<'p, I> {
    pub(super) fn lock(self) -> Result<LockedAbove<'p, I>, Retry> {
        let guard = self.inner.header.lock.try_lock(self.word)?;
        Ok(LockedAbove { inner: self.inner, slot: self.slot, guard })
    }
}

impl<const I: usize> LockedAbove<'_, I> {
    /// Whether a child can be added behind this separator.
    pub(super) fn has_room_for(&self, separator: &[u8]) -> bool {
        self.inner.count() < inner_slots(I) && self.inner.header.covers(separator)
    }
}

/// What takes the place of a node.
pub(super) struct Replacement {
    pub(super) left: AnyNode,
    pub(super) right: Option<(NonNull<Separator>, AnyNode)>,
}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Tree<T, L, I> {
    /// Links `replacement` in the place of `old`, whose lock `guard` is, and retires `old`. `parent` is `None` for the
    /// root and has room.
    pub(super) fn replace(
        &self,
        pin: &Pin<'_>,
        old: AnyNode,
        guard: Guard<'_>,
        parent: Option<LockedAbove<'_, I>>,
        replacement: Replacement,
    ) {
        let Replacement { left, right } = replacement;
        [Some(left), right.map(|(_, right)| right)].into_iter().flatten().for_each(|node| self.count(pin, node));
        match parent {
            Some(LockedAbove { inner, slot, guard }) => {
                inner.replace_child(slot, left);
                if let Some((separator, right)) = right {
                    inner.insert_branch(slot + 1, separator, right);
                }
                guard.unlock_changed();
            }
            None => self.set_root(old, self.root_of(pin, left, right)),
        }
        guard.unlock_obsolete();
        self.retire_node(pin, old);
    }

    fn root_of(&self, pin: &Pin<'_>, left: AnyNode, right: Option<(NonNull<Separator>, AnyNode)>) -> AnyNode {
        let Some((separator, right)) = right else { return left };
        // SAFETY: the node was just built and is ours.
        let level = unsafe { left.as_ref() }.level + 1;
        let branches = [Branch { separator: None, child: left }, Branch { separator: Some(separator), child: right }];
        let root = Inner::<I>::build(Fences::unbounded(), level, &branches, None).cast();
        self.count(pin, root);
        root
    }

    /// Counts a node that is about to be linked.
    pub(super) fn count(&self, pin: &Pin<'_>, node: AnyNode) {
        // SAFETY: the caller built it for this tree.
        pin.count(Kind::Nodes, unsafe { node_bytes::<T, L, I>(node) });
    }

    /// Puts `new` in the place of the root `old`, whose lock the caller holds.
    pub(super) fn set_root(&self, old: AnyNode, new: AnyNode) {
        let before = self.root.swap(new.as_ptr(), Ordering::AcqRel);
        assert_eq!(before, old.as_ptr(), "a node without a parent is the root");
    }

    /// Frees a node, which is not linked any more, when its last reader has gone.
    pub(super) fn retire_node(&self, pin: &Pin<'_>, node: AnyNode) {
        /// Frees a node of this tree.
        unsafe fn free<T: Entry + ?Sized, const L: usize, const I: usize>(node: NonNull<()>, tally: &Tally) {
            // SAFETY: passed on from `retire`, which calls it once and only when nobody can reach the node.
            unsafe { free_node::<T, L, I>(node.cast(), tally) }
        }
        // SAFETY: the caller unlinked the node.
        unsafe { pin.retire(Retired::new(node.cast(), free::<T, L, I>)) }
    }

    /// Frees a separator, which separates nothing any more, when its last reader has gone.
    pub(super) fn retire_separator(&self, pin: &Pin<'_>, separator: NonNull<Separator>) {
        /// Frees a separator.
        unsafe fn free(separator: NonNull<()>, tally: &Tally) {
            // SAFETY: passed on from `retire`, which calls it once and only when nobody can reach the separator.
            unsafe { free_separator(separator.cast(), tally) }
        }
        // SAFETY: the caller took it out of the only live node that had it.
        unsafe { pin.retire(Retired::new(separator.cast(), free)) }
    }

    /// Frees an entry, which is not linked any more, when its last reader has gone.
    pub(super) fn retire_entry(&self, pin: &Pin<'_>, entry: Raw) {
        // SAFETY: the caller took it out of its leaf.
        unsafe { pin.retire(Retired::new(entry, T::free)) }
    }

    /// Sees to it that the inner node of `level` for `key` has room for a child behind `separator`. Others may take the
    /// room again.
    #[cold]
    pub(super) fn make_room(&self, pin: &Pin<'_>, key: &[u8], level: u8, separator: &[u8]) {
        let mut backoff = Backoff::new();
        while self.try_make_room(pin, key, level, separator).is_err() {
            backoff.wait();
        }
    }

    fn try_make_room(&self, pin: &Pin<'_>, key: &[u8], level: u8, separator: &[u8]) -> Result<(), Retry> {
        let Reached { node, word, parent } = self.descend(pin, Bound::At(key), level)?;
        if header(pin, node).level < level {
            // The tree has become lower meanwhile; the caller will see.
            return Ok(());
        }
        let inner = as_inner::<I>(pin, node);
        let guard = inner.header.lock.try_lock(word)?;
        if inner.count() < inner_slots(I) && inner.header.covers(separator) {
            return Ok(());
        }
        let parent = parent.map(|above| above.lock()).transpose()?;
        let branches: Vec<Branch> = inner.branches().collect();
        assert_eq!(branches.len(), inner.count(), "a locked node has no holes");
        let replacement = if branches.len() < inner_slots(I) {
            let fences = Fences::new(inner.header.low(), inner.header.high());
            Replacement { left: Inner::<I>::build(fences, level, &branches, Some(separator)).cast(), right: None }
        } else {
            let split = if is_for_last(inner, key) { branches.len() - 2 } else { split_point(&branches) };
            let middle = branches[split].separator.expect("only slot 0 has no separator");
            // SAFETY: the node that owns the separator is locked.
            let middle_key = unsafe { middle.as_ref() }.key();
            if parent.as_ref().is_some_and(|parent| !parent.has_room_for(middle_key)) {
                let middle_key = Box::<[u8]>::from(middle_key);
                drop(parent);
                drop(guard);
                self.make_room(pin, key, level + 1, &middle_key);
                return Err(Retry);
            }
            split_inner::<I>(inner, &branches, split, middle)
        };
        self.replace(pin, node, guard, parent, replacement);
        Err(Retry)
    }
}

/// Whether `key` goes to the last child, as keys that arrive in order do. For the holder of the lock.
fn is_for_last<const I: usize>(inner: &Inner<I>, key: &[u8]) -> bool {
    let last = inner.separator(inner.count() - 2);
    // SAFETY: the caller holds the lock of the node, which has more than one child, and is pinned.
    NonNull::new(last).is_some_and(|last| unsafe { last.as_ref() }.key() <= key)
}

/// Where to split an inner node; for the holder of its lock.
fn split_point(branches: &[Branch]) -> usize {
    shortest_near_middle(branches.len(), |split| {
        let separator = branches[split].separator.expect("every child but the first has a separator");
        // SAFETY: the caller holds the lock of the node that owns the separator.
        unsafe { separator.as_ref() }.key().len()
    })
}

/// Two inner nodes out of the branches of one; the separator between them goes up.
fn split_inner<const I: usize>(
    inner: &Inner<I>,
    branches: &[Branch],
    split: usize,
    middle: NonNull<Separator>,
) -> Replacement {
    assert!(split > 1 && split < branches.len() - 1, "both halves have two children or more");
    // SAFETY: the caller holds the lock of the node that owns the separator.
    let boundary = unsafe { middle.as_ref() }.key();
    let level = inner.header.level;
    let left = Inner::<I>::build(Fences::new(inner.header.low(), Some(boundary)), level, &branches[..split], None);
    let mut right_branches = branches[split..].to_vec();
    right_branches[0].separator = None;
    let right = Inner::<I>::build(Fences::new(boundary, inner.header.high()), level, &right_branches, None);
    Replacement { left: left.cast(), right: Some((middle, right.cast())) }
}
