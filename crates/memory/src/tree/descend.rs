//! The way down: from the root to the node of some level that a bound belongs to, and the search inside a node.
//!
//! Invariants:
//! - A child is followed only after its parent was validated, so it was linked under the parent at that moment. Fences
//!   never change and a node that loses its place is marked obsolete, so a child whose word is stable afterwards is the
//!   right one for the bound: the parent need not be looked at again.
//! - An entry or separator is followed only after the node it was read from was validated.
//!
//! Deliberately absent: writes. The words that were seen on the way are what writers lock by.

use std::cmp::Ordering as Order;
use std::ptr::NonNull;

use crate::Entry;
use crate::epoch::Pin;
use crate::prefetch::{LINE_BYTES, prefetch};
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::Tree;
use super::lock::Retry;
use super::node::{Alignment, AnyNode, Header, Inner, LEAF_LEVEL, Leaf, Raw, Separator, key_of};
use super::search::{HEAD_BYTES, compare, count_up_to, head};

/// Which node of a level is looked for.
#[derive(Clone, Copy)]
pub(super) enum Bound<'k> {
    /// The one that the key belongs to.
    At(&'k [u8]),
    /// The one that the keys just below this one belong to.
    Below(&'k [u8]),
    /// The last one.
    Last,
}

/// Where a key is in a leaf.
pub(super) enum Place {
    /// In this slot.
    At(usize, Raw),
    /// Nowhere; it would go into this slot.
    Gap(usize),
}

/// A node, the word it was found at, and the inner node above it in the same terms (`None` for the root).
pub(super) struct Reached<'p, const I: usize> {
    pub(super) node: AnyNode,
    pub(super) word: u64,
    pub(super) parent: Option<Above<'p, I>>,
}

/// The inner node above a node, the word it was validated at, and the node's slot in it.
#[derive(Clone, Copy)]
pub(super) struct Above<'p, const I: usize> {
    pub(super) inner: &'p Inner<I>,
    pub(super) word: u64,
    pub(super) slot: usize,
}

/// The header of a node that was reached under a pin.
#[inline]
pub(super) fn header<'p>(_pin: &'p Pin<'_>, node: AnyNode) -> &'p Header {
    // SAFETY: nodes are reached through validated parents or the root, hence were linked under this pin and are not
    // freed while it lasts.
    unsafe { node.as_ref() }
}

/// The leaf that a node of level 0 is.
#[inline]
pub(super) fn as_leaf<'p, T: Entry + ?Sized, const L: usize>(pin: &'p Pin<'_>, node: AnyNode) -> &'p Leaf<T, L> {
    debug_assert_eq!(header(pin, node).level, LEAF_LEVEL);
    // SAFETY: as for `header`; nodes of level 0 are allocated as leaves of the tree's own `T` and `L`.
    unsafe { node.cast::<Leaf<T, L>>().as_ref() }
}

/// The inner node that a node of a higher level is.
#[inline]
pub(super) fn as_inner<'p, const I: usize>(pin: &'p Pin<'_>, node: AnyNode) -> &'p Inner<I> {
    debug_assert_ne!(header(pin, node).level, LEAF_LEVEL);
    // SAFETY: as for `header`; nodes above level 0 are allocated as inner nodes of the tree's own `I`.
    unsafe { node.cast::<Inner<I>>().as_ref() }
}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Tree<T, L, I> {
    /// The leaf for `bound` and its version.
    #[inline]
    pub(super) fn leaf_for<'p>(&self, pin: &'p Pin<'_>, bound: Bound<'_>) -> Result<(&'p Leaf<T, L>, u64), Retry> {
        let reached = self.descend(pin, bound, LEAF_LEVEL)?;
        Ok((as_leaf(pin, reached.node), reached.word))
    }

    /// The node of `level` for `bound`; the root, where the tree is lower than that.
    #[inline]
    pub(super) fn descend<'p>(&self, pin: &'p Pin<'_>, bound: Bound<'_>, level: u8) -> Result<Reached<'p, I>, Retry> {
        let mut node = self.root();
        let mut word = header(pin, node).lock.stable()?;
        let mut parent = None;
        while header(pin, node).level > level {
            let inner = as_inner::<I>(pin, node);
            let (slot, child) = inner.child_for(bound, word)?;
            prefetch_node(child, if inner.header.level == LEAF_LEVEL + 1 { L } else { I });
            parent = Some(Above { inner, word, slot });
            node = child;
            word = header(pin, node).lock.stable()?;
        }
        Ok(Reached { node, word, parent })
    }
}

/// Asks for all the lines of a node that a search may read. Which ones it will read is known only line by line, and each
/// of these steps would wait for memory.
#[inline(always)]
pub(super) fn prefetch_node(node: AnyNode, slots: usize) {
    let lines = 1 + (slots * (size_of::<AtomicU64>() + size_of::<AtomicPtr<()>>())).div_ceil(LINE_BYTES);
    for line in 0..lines {
        prefetch(node.as_ptr().cast::<u8>().wrapping_add(line * LINE_BYTES));
    }
}

impl<const I: usize> Inner<I> {
    /// The child for `bound` and its slot, validated at `word`.
    #[inline]
    pub(super) fn child_for(&self, bound: Bound<'_>, word: u64) -> Result<(usize, AnyNode), Retry> {
        let count = self.count();
        let slot = match bound {
            Bound::At(key) => self.separators_before(key, count, true, word)?,
            Bound::Below(key) => self.separators_before(key, count, false, word)?,
            Bound::Last => count - 1,
        };
        let child = self.child(slot);
        self.header.lock.validate(word)?;
        // SAFETY: in a validated state every slot below the count holds a child.
        Ok((slot, unsafe { NonNull::new_unchecked(child) }))
    }

    /// How many separators are below `key`, or equal to it where `inclusive`.
    #[inline]
    fn separators_before(&self, key: &[u8], count: usize, inclusive: bool, word: u64) -> Result<usize, Retry> {
        match self.header.align(key) {
            Alignment::Below => return Ok(0),
            Alignment::Above => return Ok(count - 1),
            Alignment::Inside => {}
        }
        let head = head(key, self.header.prefix_len());
        let up_to = count_up_to(self.header.samples(), self.heads(), head).min(count - 1);
        if up_to == 0 || self.heads()[up_to - 1].load(Ordering::Relaxed) != head {
            return Ok(up_to);
        }
        self.settle_tie(key, up_to, head, inclusive, word)
    }

    /// The last of the first `up_to` separators, and more of them maybe, share the head of `key`: how many are before it?
    #[inline(never)]
    fn settle_tie(&self, key: &[u8], up_to: usize, head: u64, inclusive: bool, word: u64) -> Result<usize, Retry> {
        let tail = self::head(key, self.header.prefix_len() + HEAD_BYTES);
        let has_head = |slot: usize| self.heads()[slot].load(Ordering::Relaxed) == head;
        let tail_at = |slot: usize| self.tails()[slot].load(Ordering::Relaxed);
        let mut high = up_to;
        while high > 0 && has_head(high - 1) && tail_at(high - 1) > tail {
            high -= 1;
        }
        let mut low = high;
        while low > 0 && has_head(low - 1) && tail_at(low - 1) == tail {
            low -= 1;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            let separator: *mut Separator = self.separator(middle);
            self.header.lock.validate(word)?;
            // SAFETY: in a validated state there is a separator between two children, and it lives as long as the node
            // is linked and the readers that were pinned then.
            let other = unsafe { &*separator }.key();
            match compare(other, key) {
                Order::Less => low = middle + 1,
                Order::Equal if inclusive => low = middle + 1,
                Order::Equal | Order::Greater => high = middle,
            }
        }
        Ok(low)
    }
}

impl<T: Entry + ?Sized, const L: usize> Leaf<T, L> {
    /// Where `key`, which belongs to this leaf, is; validated at `version`.
    #[inline]
    pub(super) fn find(&self, key: &[u8], version: u64) -> Result<Place, Retry> {
        let count = self.count();
        let place = match self.header.align(key) {
            Alignment::Below => Place::Gap(0),
            Alignment::Above => Place::Gap(count),
            Alignment::Inside => {
                let head = head(key, self.header.prefix_len());
                let up_to = count_up_to(self.header.samples(), self.heads(), head).min(count);
                if up_to > 0 && self.has_head(up_to - 1, head) {
                    return self.settle_tie(key, up_to, head, version);
                }
                Place::Gap(up_to)
            }
        };
        self.header.lock.validate(version)?;
        Ok(place)
    }

    #[inline]
    fn has_head(&self, slot: usize, head: u64) -> bool {
        self.heads()[slot].load(Ordering::Relaxed) == head
    }

    /// The last of the first `up_to` entries, and more of them maybe, share the head of `key`: which is it, or where would
    /// it be?
    #[inline]
    fn settle_tie(&self, key: &[u8], up_to: usize, head: u64, version: u64) -> Result<Place, Retry> {
        // Nearly always one entry has the head, and it is the one.
        match self.compare(up_to - 1, key, version)? {
            (Order::Equal, entry) => Ok(Place::At(up_to - 1, entry)),
            (Order::Less, _) => Ok(Place::Gap(up_to)),
            (Order::Greater, _) => self.settle_long_tie(key, up_to - 1, head, version),
        }
    }

    #[inline(never)]
    fn settle_long_tie(&self, key: &[u8], up_to: usize, head: u64, version: u64) -> Result<Place, Retry> {
        let (mut low, mut high) = (up_to, up_to);
        while low > 0 && self.has_head(low - 1, head) {
            low -= 1;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            match self.compare(middle, key, version)? {
                (Order::Less, _) => low = middle + 1,
                (Order::Equal, entry) => return Ok(Place::At(middle, entry)),
                (Order::Greater, _) => high = middle,
            }
        }
        self.header.lock.validate(version)?;
        Ok(Place::Gap(low))
    }

    /// Compares the entry in `slot`, which is in use, with `key`.
    #[inline]
    fn compare(&self, slot: usize, key: &[u8], version: u64) -> Result<(Order, Raw), Retry> {
        let entry = self.entry(slot);
        self.header.lock.validate(version)?;
        // SAFETY: in a validated state every slot below the count holds an entry that was linked under the caller's pin.
        let entry = unsafe { NonNull::new_unchecked(entry) };
        // SAFETY: see above; an entry lives until every pin that may have seen it linked has ended.
        let other = unsafe { key_of::<T>(entry) };
        Ok((compare(other, key), entry))
    }
}
