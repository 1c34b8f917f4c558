//! Scans: the entries of one leaf per call, in either direction, from any bound.
//!
//! Invariants:
//! - What one call gives is one state of one leaf; `read` proves it. Leaves of different calls may be of different moments:
//!   a transaction that wants one moment checks all of them with [`Tree::is_unchanged`] when it ends.
//! - The leaves of a scan follow each other without a gap and without overlap: the next bound is the fence of the leaf
//!   that was read, and fences never change. While the word of the parent is what it was when the leaf was found under it,
//!   the leaf of the next slot is that leaf, and there is no way down.
//!
//! Deliberately absent: a limit. The caller stops when it has enough.

use std::ops::Range;
use std::ptr::NonNull;

use crate::epoch::{Held, Pin};
use crate::prefetch::prefetch;
use crate::simulated::{TreeFault, has};
use crate::sync::Backoff;
use crate::thin::Entry;

use super::descend::{Above, Bound, Place, Reached, as_inner, as_leaf, header, prefetch_node};
use super::lock::Retry;
use super::node::{Header, Inner, LEAF_LEVEL, Leaf};
use super::{INNER_SLOTS, LEAF_SLOTS, LeafRead, Tree, hold};

/// Where a scan starts and which way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanFrom<'k> {
    /// Upwards from the first key that is not below this one. The empty key is below all others.
    AtLeast(&'k [u8]),
    /// Upwards from the first key above this one.
    Above(&'k [u8]),
    /// Downwards from the last key below this one.
    Below(&'k [u8]),
    /// Downwards from the last key that is not above this one.
    AtMost(&'k [u8]),
    /// Downwards from the last key of all.
    Last,
}

/// What one call gave, and where the scan goes on. Reused from call to call, its buffers are too.
///
/// It goes on in trees with nodes of the same sizes only: it remembers where the next leaf lies.
///
/// ```compile_fail,E0308
/// use osier_memory::{Epochs, LeafScan, Record, ScanFrom, Tree};
///
/// let epochs = Epochs::new(1);
/// let (small, large) = (Tree::<Record, 4>::new(epochs.clone()), Tree::<Record, 8>::new(epochs.clone()));
/// let (mut participant, mut scan) = (epochs.register().unwrap(), LeafScan::new());
/// let pin = participant.pin();
/// small.scan_leaf(&pin, ScanFrom::Last, &mut scan);
/// large.scan_next(&pin, &mut scan);
/// ```
#[derive(Debug)]
pub struct LeafScan<T: ?Sized, const L: usize = LEAF_SLOTS, const I: usize = INNER_SLOTS> {
    /// The entries of the leaf beyond the bound, in the order of the scan; there may be none.
    pub entries: Vec<Held<T>>,
    read: Option<LeafRead<L>>,
    above: Option<Linked<I>>,
    is_forward: bool,
}

/// Where a leaf was linked: the inner node, its word then, and the slot.
#[derive(Clone, Copy, Debug)]
struct Linked<const I: usize> {
    inner: Held<Inner<I>>,
    word: u64,
    slot: usize,
}

impl<T: ?Sized, const L: usize, const I: usize> Default for LeafScan<T, L, I> {
    fn default() -> Self {
        LeafScan { entries: Vec::new(), read: None, above: None, is_forward: true }
    }
}

impl<T: ?Sized, const L: usize, const I: usize> LeafScan<T, L, I> {
    /// A scan that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// The leaf that the entries are from.
    ///
    /// # Panics
    /// Where nothing was scanned yet.
    pub fn read(&self) -> LeafRead<L> {
        self.read.expect("a leaf was scanned")
    }

    /// The bound at which the next leaf begins: inclusive upwards, exclusive downwards; `None` after the last leaf.
    pub fn next<'p>(&self, pin: &'p Pin<'_>) -> Option<&'p [u8]> {
        let header: &'p Header = &pin.get(self.read?.leaf).header;
        if self.is_forward { header.high() } else { Some(header.low()).filter(|low| !low.is_empty()) }
    }
}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Tree<T, L, I> {
    /// Reads the leaf in which a scan from `from` begins.
    ///
    /// # Panics
    /// Where `pin` belongs to other epochs than the tree.
    pub fn scan_leaf(&self, pin: &Pin<'_>, from: ScanFrom<'_>, out: &mut LeafScan<T, L, I>) {
        self.check(pin);
        out.is_forward = matches!(from, ScanFrom::AtLeast(_) | ScanFrom::Above(_));
        let mut backoff = Backoff::new();
        while self.try_scan_leaf(pin, from, out).is_err() {
            backoff.wait();
        }
    }

    /// Goes on with the leaf after the one in `out`, in the direction that it was read in. Returns `false`, with no
    /// entries, where that was the last.
    ///
    /// # Panics
    /// Where `out` was filled under another pin, or `pin` belongs to other epochs than the tree.
    pub fn scan_next(&self, pin: &Pin<'_>, out: &mut LeafScan<T, L, I>) -> bool {
        if self.try_scan_beside(pin, out).is_some() {
            return true;
        }
        let Some(bound) = out.next(pin) else {
            out.entries.clear();
            return false;
        };
        let from = if out.is_forward { ScanFrom::AtLeast(bound) } else { ScanFrom::Below(bound) };
        self.scan_leaf(pin, from, out);
        true
    }

    /// Reads a leaf to which `choose` leads, which picks one of so many children in each inner node. Returns how many leaves the
    /// tree has if each node has as many children as those on the way: over fair choices the mean of that is the number of
    /// leaves (random walks: Knuth).
    ///
    /// # Panics
    /// Where `pin` belongs to other epochs than the tree.
    pub fn sample_leaf(
        &self,
        pin: &Pin<'_>,
        choose: &mut dyn FnMut(usize) -> usize,
        out: &mut LeafScan<T, L, I>,
    ) -> f64 {
        self.check(pin);
        out.is_forward = true;
        let mut backoff = Backoff::new();
        loop {
            if let Ok(leaves) = self.try_sample_leaf(pin, choose, out) {
                return leaves;
            }
            backoff.wait();
        }
    }

    fn try_sample_leaf(
        &self,
        pin: &Pin<'_>,
        choose: &mut dyn FnMut(usize) -> usize,
        out: &mut LeafScan<T, L, I>,
    ) -> Result<f64, Retry> {
        let mut node = self.root();
        let mut word = header(pin, node).lock.stable()?;
        let mut leaves = 1.0;
        while header(pin, node).level > LEAF_LEVEL {
            let inner = as_inner::<I>(pin, node);
            let count = inner.count();
            let child = inner.child(choose(count).min(count - 1));
            inner.header.lock.validate(word)?;
            node = NonNull::new(child).ok_or(Retry)?;
            word = header(pin, node).lock.stable()?;
            leaves *= count as f64;
        }
        let slots = 0..as_leaf::<T, L>(pin, node).count();
        self.take(pin, Reached { node, word, parent: None }, slots, out)?;
        Ok(leaves)
    }

    /// Reads the neighbour under the same parent, if there is one and the parent has not changed.
    fn try_scan_beside(&self, pin: &Pin<'_>, out: &mut LeafScan<T, L, I>) -> Option<()> {
        let Linked { inner, word, slot } = out.above?;
        let inner = pin.get(inner);
        let beside = |slot: usize| if out.is_forward { Some(slot + 1) } else { slot.checked_sub(1) };
        let child_in = |slot: usize| NonNull::new(inner.child(slot));
        let slot = beside(slot).filter(|&slot| slot < inner.count())?;
        let (node, after) = (child_in(slot)?, beside(slot).filter(|&after| after < I).and_then(child_in));
        if !has(TreeFault::StaleParentScanned) {
            inner.header.lock.validate(word).ok()?;
        }
        if let Some(after) = after {
            prefetch_node(after, L);
        }
        let parent = Some(Above { inner, word, slot });
        let word = header(pin, node).lock.stable().ok()?;
        let slots = 0..as_leaf::<T, L>(pin, node).count();
        self.take(pin, Reached { node, word, parent }, slots, out).ok()
    }

    fn try_scan_leaf(&self, pin: &Pin<'_>, from: ScanFrom<'_>, out: &mut LeafScan<T, L, I>) -> Result<(), Retry> {
        let bound = match from {
            ScanFrom::AtLeast(key) | ScanFrom::Above(key) | ScanFrom::AtMost(key) => Bound::At(key),
            ScanFrom::Below(key) => Bound::Below(key),
            ScanFrom::Last => Bound::Last,
        };
        let reached = self.descend(pin, bound, LEAF_LEVEL)?;
        let (leaf, version) = (as_leaf::<T, L>(pin, reached.node), reached.word);
        let count = leaf.count();
        let slots = match from {
            // A bound that is the leaf's own low fence, as when a scan goes on, takes all of it.
            ScanFrom::AtLeast(key) if key == leaf.header.low() => 0..count,
            ScanFrom::AtLeast(key) => leaf.gaps(key, version)?.0..count,
            ScanFrom::Above(key) => leaf.gaps(key, version)?.1..count,
            ScanFrom::Below(key) if leaf.header.high() == Some(key) => 0..count,
            ScanFrom::Below(key) => 0..leaf.gaps(key, version)?.0,
            ScanFrom::AtMost(key) => 0..leaf.gaps(key, version)?.1,
            ScanFrom::Last => 0..count,
        };
        self.take(pin, reached, slots, out)
    }

    /// Makes `out` what these slots of the leaf hold.
    fn take(
        &self,
        pin: &Pin<'_>,
        Reached { node, word, parent }: Reached<'_, I>,
        slots: Range<usize>,
        out: &mut LeafScan<T, L, I>,
    ) -> Result<(), Retry> {
        let leaf = as_leaf::<T, L>(pin, node);
        out.entries.clear();
        let held = |slot| {
            let entry = leaf.entry(slot);
            prefetch(entry);
            NonNull::new(entry).map(|entry| hold(pin, entry))
        };
        if out.is_forward {
            out.entries.extend(slots.filter_map(held));
        } else {
            out.entries.extend(slots.rev().filter_map(held));
        }
        // Also what makes the handles right: until here they may be anything.
        out.read = Some(leaf.read_at(pin, word).inspect_err(|_| out.entries.clear())?);
        out.above = parent.map(|Above { inner, word, slot }| {
            let inner = hold(pin, NonNull::from(inner).cast());
            Linked { inner, word, slot }
        });
        Ok(())
    }
}

impl<T: Entry + ?Sized, const L: usize> Leaf<T, L> {
    /// The first slot that is not below `key` and the first that is above it.
    fn gaps(&self, key: &[u8], version: u64) -> Result<(usize, usize), Retry> {
        Ok(match self.find(key, version)? {
            Place::At(slot, _) => (slot, slot + 1),
            Place::Gap(slot) => (slot, slot),
        })
    }
}
