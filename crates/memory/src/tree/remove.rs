//! Removal, and giving memory back: underfull nodes are joined with a neighbour under the same parent.
//!
//! Invariants:
//! - Whoever leaves a node underfull joins it before it returns, so when nobody is at work every leaf but the root holds
//!   an entry and every inner node has two children or more.
//! - Two nodes are joined under the locks of both and of their parent. What comes out, one node or two, is new.
//! - The root is never an inner node with one child: the last join under it makes the joined node the root.
//!
//! Deliberately absent: freeing at once. Readers may still look at what was unlinked.

use std::ptr::NonNull;

use crate::epoch::Pin;
use crate::ids::Stamp;
use crate::locks::LockWord;
use crate::simulated::{inner_slots, leaf_slots};
use crate::sync::Backoff;
use crate::thin::Entry;

use super::Tree;
use super::descend::{Above, Bound, Place, Reached, as_inner, as_leaf, header};
use super::lock::{Guard, Retry};
use super::node::{AnyNode, Branch, Fences, Inner, LEAF_LEVEL, Leaf, Raw, Separator, key_of};
use super::restructure::LockedAbove;
use super::search::shortest_separator;

/// Whether a join attempt left anything to do.
enum Joined {
    /// The node is full enough, or its neighbour is too full to take it.
    Enough,
    /// The parent lost a child.
    Fewer,
}

/// What the neighbours on both sides of a separator become.
enum Joining {
    One(AnyNode),
    Two(AnyNode, NonNull<Separator>, AnyNode),
}

/// Neighbours under a locked parent, locked themselves. `parent.slot` is the left one's.
struct Neighbours<'p, const I: usize> {
    parent: LockedAbove<'p, I>,
    left: AnyNode,
    right: AnyNode,
    left_guard: Guard<'p>,
    right_guard: Guard<'p>,
}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Tree<T, L, I> {
    /// The slots of a node of `level`.
    pub(super) fn slots(level: u8) -> usize {
        if level == LEAF_LEVEL { leaf_slots(L) } else { inner_slots(I) }
    }

    /// The fewest slots that a node of `level` which is not the root uses when nobody is at work.
    pub(super) const fn fewest(level: u8) -> usize {
        if level == LEAF_LEVEL { 1 } else { 2 }
    }

    /// Below this many slots in use a node looks for a neighbour to join.
    fn underfull(level: u8) -> usize {
        Self::fewest(level).max(Self::slots(level) / 4)
    }

    /// Below this many slots in use a node takes entries from a neighbour that is too full to be joined.
    fn starving(level: u8) -> usize {
        Self::fewest(level).max(Self::slots(level) / 8)
    }

    /// Two nodes that use no more slots than this together become one.
    fn joined_max(level: u8) -> usize {
        Self::slots(level) / 4 * 3
    }

    /// Removes the entry of `key` if `decide`, which runs under the leaf's lock and is given the entry and the lock of the
    /// leaf's gaps, gives the stamp of the removal; the leaf's `max_stamp` is raised to it. Returns whether an entry was
    /// removed. `decide` must not use the tree.
    ///
    /// # Panics
    /// Where `pin` belongs to other epochs than the tree.
    pub fn remove_if(&self, pin: &Pin<'_>, key: &[u8], decide: impl FnOnce(&T, &LockWord) -> Option<Stamp>) -> bool {
        self.check(pin);
        let mut decide = Some(decide);
        let mut backoff = Backoff::new();
        loop {
            match self.try_remove(pin, key, &mut decide) {
                Ok(removed) => return removed,
                Err(_) => backoff.wait(),
            }
        }
    }

    fn try_remove(
        &self,
        pin: &Pin<'_>,
        key: &[u8],
        decide: &mut Option<impl FnOnce(&T, &LockWord) -> Option<Stamp>>,
    ) -> Result<bool, Retry> {
        let (leaf, version) = self.leaf_for(pin, Bound::At(key))?;
        let Place::At(slot, entry) = leaf.find(key, version)? else { return Ok(false) };
        let guard = leaf.header.lock.try_lock(version)?;
        if let Some(spot) = self.hints.spot(pin, key) {
            spot.clear(entry);
        }
        let decide = decide.take().expect("the decision is asked for once");
        // SAFETY: the leaf is locked at the version at which the entry was found, so the entry is linked.
        let Some(stamp) = decide(unsafe { T::from_raw(entry) }, leaf.gap()) else { return Ok(false) };
        leaf.remove_at(slot);
        leaf.raise_max_stamp(stamp);
        let left = leaf.count();
        guard.unlock_changed();
        self.retire_entry(pin, entry);
        if left < Self::underfull(LEAF_LEVEL) {
            self.join(pin, key, LEAF_LEVEL);
        }
        Ok(true)
    }

    /// Joins the node of `level` for `key` with a neighbour if it is underfull, and then its parent, up to the root.
    #[cold]
    fn join(&self, pin: &Pin<'_>, key: &[u8], level: u8) {
        let mut level = level;
        let mut backoff = Backoff::new();
        loop {
            match self.try_join(pin, key, level) {
                Ok(Joined::Enough) => return,
                Ok(Joined::Fewer) => level += 1,
                Err(_) => backoff.wait(),
            }
        }
    }

    fn try_join(&self, pin: &Pin<'_>, key: &[u8], level: u8) -> Result<Joined, Retry> {
        let Reached { node, word, parent } = self.descend(pin, Bound::At(key), level)?;
        let used = header(pin, node).count();
        header(pin, node).lock.validate(word)?;
        let Some(above) = parent.filter(|_| used < Self::underfull(level)) else { return Ok(Joined::Enough) };
        let siblings = above.inner.count();
        above.inner.header.lock.validate(above.word)?;
        if siblings == 1 {
            // Somebody is about to join the parent; do it for them, since without a neighbour nothing can be done here.
            self.join(pin, key, level + 1);
            return Err(Retry);
        }
        let pair = Self::lock_pair(pin, above)?;
        let total = header(pin, pair.left).count() + header(pin, pair.right).count();
        if total > Self::joined_max(level) && used >= Self::starving(level) {
            return Ok(Joined::Enough);
        }
        let outcome = if level == LEAF_LEVEL { self.join_leaves(pin, &pair) } else { self.join_inner(pin, &pair) };
        match outcome {
            Ok(outcome) => Ok(self.link(pin, pair, outcome)),
            Err(separator) => {
                drop(pair);
                self.make_room(pin, key, level + 1, &separator);
                Err(Retry)
            }
        }
    }

    /// Locks the parent, the child in its slot and a neighbour of that.
    fn lock_pair<'p>(pin: &'p Pin<'_>, above: Above<'p, I>) -> Result<Neighbours<'p, I>, Retry> {
        let mut parent = above.lock()?;
        if parent.slot + 1 == parent.inner.count() {
            parent.slot -= 1;
        }
        let child = |slot| NonNull::new(parent.inner.child(slot)).expect("a slot in use holds a child");
        let (left, right) = (child(parent.slot), child(parent.slot + 1));
        let left_guard = header(pin, left).lock.try_lock_any()?;
        let right_guard = header(pin, right).lock.try_lock_any()?;
        Ok(Neighbours { parent, left, right, left_guard, right_guard })
    }

    /// One leaf or two out of two; fails with the separator that the parent's prefix does not cover.
    fn join_leaves(&self, pin: &Pin<'_>, pair: &Neighbours<'_, I>) -> Result<Joining, Box<[u8]>> {
        let (left, right) = (as_leaf::<T, L>(pin, pair.left), as_leaf::<T, L>(pin, pair.right));
        let entries: Vec<Raw> = left.entries().chain(right.entries()).collect();
        let max_stamp = left.max_stamp_locked().max(right.max_stamp_locked());
        let (low, high) = (left.header.low(), right.header.high());
        if entries.len() <= Self::joined_max(LEAF_LEVEL) {
            let joined = Leaf::<T, L>::build(Fences::new(low, high), &entries, max_stamp);
            return Ok(Joining::One(joined.cast()));
        }
        let split = entries.len() / 2;
        // SAFETY: entries of locked leaves are linked, and the caller is pinned.
        let (before, after) = unsafe { (key_of::<T>(entries[split - 1]), key_of::<T>(entries[split])) };
        let separator = shortest_separator(before, after);
        if !pair.parent.inner.header.covers(separator) {
            return Err(separator.into());
        }
        let left = Leaf::<T, L>::build(Fences::new(low, Some(separator)), &entries[..split], max_stamp);
        let right = Leaf::<T, L>::build(Fences::new(separator, high), &entries[split..], max_stamp);
        Ok(Joining::Two(left.cast(), Separator::allocate(separator, pin.tally()), right.cast()))
    }

    /// One inner node or two out of two; fails with the separator that the parent's prefix does not cover.
    fn join_inner(&self, pin: &Pin<'_>, pair: &Neighbours<'_, I>) -> Result<Joining, Box<[u8]>> {
        let (left, right) = (as_inner::<I>(pin, pair.left), as_inner::<I>(pin, pair.right));
        let level = left.header.level;
        let between = NonNull::new(pair.parent.inner.separator(pair.parent.slot));
        let between = between.expect("there is a separator between neighbours");
        let mut branches: Vec<Branch> = left.branches().chain(right.branches()).collect();
        branches[left.count()].separator = Some(between);
        let (low, high) = (left.header.low(), right.header.high());
        if branches.len() <= Self::joined_max(level) {
            let joined = Inner::<I>::build(Fences::new(low, high), level, &branches, None);
            return Ok(Joining::One(joined.cast()));
        }
        let split = branches.len() / 2;
        let middle = branches[split].separator.take().expect("only slot 0 has no separator");
        // SAFETY: the nodes that own the separators are locked.
        let boundary = unsafe { middle.as_ref() }.key();
        if !pair.parent.inner.header.covers(boundary) {
            return Err(boundary.into());
        }
        let left = Inner::<I>::build(Fences::new(low, Some(boundary)), level, &branches[..split], None);
        let right = Inner::<I>::build(Fences::new(boundary, high), level, &branches[split..], None);
        Ok(Joining::Two(left.cast(), middle, right.cast()))
    }

    /// Links what came out of a join and retires what went in.
    fn link(&self, pin: &Pin<'_>, pair: Neighbours<'_, I>, outcome: Joining) -> Joined {
        let Neighbours { parent, left, right, left_guard, right_guard } = pair;
        let LockedAbove { inner, slot, guard } = parent;
        let between = NonNull::new(inner.separator(slot)).expect("there is a separator between neighbours");
        let is_leaf = header(pin, left).level == LEAF_LEVEL;
        let is_one_leaf_less = is_leaf && matches!(outcome, Joining::One(_));
        match outcome {
            Joining::One(node) => self.count(pin, node),
            Joining::Two(left, _, right) => [left, right].into_iter().for_each(|node| self.count(pin, node)),
        }
        let joined = match outcome {
            Joining::Two(new_left, separator, new_right) => {
                inner.replace_child(slot, new_left);
                inner.replace_branch(slot + 1, separator, new_right);
                guard.unlock_changed();
                Joined::Enough
            }
            Joining::One(node) if inner.count() == 2 && self.root() == NonNull::from(&inner.header) => {
                let root = self.root();
                self.set_root(root, node);
                guard.unlock_obsolete();
                self.retire_node(pin, root);
                Joined::Enough
            }
            Joining::One(node) => {
                inner.replace_child(slot, node);
                inner.remove_branch(slot + 1);
                guard.unlock_changed();
                Joined::Fewer
            }
        };
        left_guard.unlock_obsolete();
        right_guard.unlock_obsolete();
        self.retire_node(pin, left);
        self.retire_node(pin, right);
        if is_leaf {
            // An inner join moved it into a new node instead.
            self.retire_separator(pin, between);
        }
        if is_one_leaf_less {
            self.hints.leaf_removed::<L>(pin);
        }
        joined
    }
}
