//! A whole tree out of sorted runs: nobody looks for the place of a key, and nothing is built twice.
//!
//! Several threads make runs; [`Tree::fill`] orders them and puts inner nodes on top. Of runs that lie within each other it
//! takes as many as it can and inserts the entries of the others.
//!
//! Invariants:
//! - The keys of a run ascend. Its leaves are full, save the last, which is built when it is known where the next run begins;
//!   the first begins with the run's first key.
//! - A run owns its leaves and entries until a tree takes them over.
//!
//! Deliberately absent: filling a tree that holds something.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use crate::epoch::{Epochs, Pin};
use crate::ids::Stamp;
use crate::prefetch::prefetch;
use crate::simulated::{inner_slots, leaf_slots};
use crate::sync::{Arc, Backoff};
use crate::thin::Entry;
use crate::usage::{Kind, Tally};

use super::descend::{as_leaf, header};
use super::node::{
    AnyNode, Branch, Fences, Header, Inner, LEAF_LEVEL, Leaf, Raw, Separator, free_node, free_separator, free_subtree,
    key_of, node_bytes,
};
use super::search::{is_below, shortest_separator};
use super::{LEAF_SLOTS, Tree};

/// How many runs ahead the entries of a last leaf are asked for.
const PREFETCHED_RUNS: usize = 4;

/// Entries in the order of their keys, to be a part of a tree.
pub struct Run<T: Entry + ?Sized, const L: usize = LEAF_SLOTS> {
    epochs: Arc<Epochs>,
    /// Each with its low fence as the separator below it: whoever puts nodes on top need not read the leaves.
    leaves: Vec<Branch>,
    /// The first key.
    first: Box<[u8]>,
    /// Those behind the leaves, one at least where there are any.
    rest: Vec<Raw>,
    /// Where the leaf of the rest begins.
    low: Box<[u8]>,
    /// The last key: that of the last entry is still on its way to the cache when the next one comes.
    last: Vec<u8>,
    kind: PhantomData<*const T>,
}

// SAFETY: a run owns its leaves, which nobody else knows, and its entries, which may be shared.
unsafe impl<T: Entry + ?Sized, const L: usize> Send for Run<T, L> {}

/// Two runs have a key in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate;

impl<T: Entry + ?Sized, const L: usize> Run<T, L> {
    /// An empty run for a tree whose memory is reclaimed through `epochs`.
    pub fn new(epochs: Arc<Epochs>) -> Self {
        let (leaves, rest, last) = (Vec::new(), Vec::with_capacity(L), Vec::new());
        Run { epochs, leaves, first: Box::default(), rest, low: Box::default(), last, kind: PhantomData }
    }

    /// Adds an entry; gives it back where its key is not above all keys of the run.
    ///
    /// # Panics
    /// Where `pin` belongs to other epochs than the run.
    pub fn push(&mut self, pin: &Pin<'_>, entry: T::Owned) -> Result<(), T::Owned> {
        assert!(pin.is_of(&self.epochs), "a pin of other epochs does not count for this run");
        let key = entry.key();
        if self.rest.is_empty() {
            self.first = key.into();
            self.low = key.into();
        } else if !is_below(&self.last, key) {
            return Err(entry);
        } else if self.rest.len() >= leaf_slots(L) {
            let boundary = Box::<[u8]>::from(shortest_separator(&self.last, key));
            self.end_leaf(pin, Some(&boundary));
            self.low = boundary;
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        self.rest.push(T::into_raw(entry, &self.epochs, pin.tally()));
        Ok(())
    }

    /// Builds the leaf of the rest, which ends before `high`.
    fn end_leaf(&mut self, pin: &Pin<'_>, high: Option<&[u8]>) {
        let child = Self::leaf(pin, Fences::new(&self.low, high), &self.rest);
        self.leaves.push(Branch { separator: Some(Separator::allocate(&self.low, pin.tally())), child });
        self.rest.clear();
    }

    fn leaf(pin: &Pin<'_>, fences: Fences, entries: &[Raw]) -> AnyNode {
        let leaf = Leaf::<T, L>::build(fences, entries, Stamp::ZERO).cast();
        // SAFETY: the leaf was just built. It is not an inner node, whose slots would matter.
        pin.count(Kind::Nodes, unsafe { node_bytes::<T, L, L>(leaf) });
        leaf
    }

    /// Lets the run begin below every key.
    fn begin_at_bottom(&mut self, pin: &Pin<'_>) {
        let Some(first) = self.leaves.first_mut() else {
            self.low = Box::default();
            return;
        };
        // SAFETY: the run owns its leaves; nobody else knows this one.
        let old = unsafe { first.child.cast::<Leaf<T, L>>().as_ref() };
        let entries: Vec<Raw> = old.entries().collect();
        let new = Self::leaf(pin, Fences::new(&[], old.header.high()), &entries);
        let old = std::mem::replace(&mut first.child, new);
        // SAFETY: see above. Its entries went over to the new one.
        unsafe { free_node::<T, L, L>(old, pin.tally()) }
    }

    /// Takes the leaves apart again.
    fn take_apart(&mut self, pin: &Pin<'_>) {
        let mut entries = Vec::with_capacity((self.leaves.len() + 1) * L);
        for leaf in self.leaves.drain(..) {
            // SAFETY: the run owned the leaf and its separator, and owns the entries.
            unsafe {
                entries.extend(leaf.child.cast::<Leaf<T, L>>().as_ref().entries());
                free_node::<T, L, L>(leaf.child, pin.tally());
                leaf.separator.inspect(|separator| free_separator(*separator, pin.tally()));
            }
        }
        entries.append(&mut self.rest);
        self.rest = entries;
    }
}

impl<T: Entry + ?Sized, const L: usize> Drop for Run<T, L> {
    fn drop(&mut self) {
        let tally = Tally::default();
        // SAFETY: nobody else knows the leaves and entries of a run.
        unsafe {
            for leaf in &self.leaves {
                free_subtree::<T, L, L>(leaf.child, &tally);
                leaf.separator.inspect(|separator| free_separator(*separator, &tally));
            }
            self.rest.iter().for_each(|entry| T::free(*entry, &tally));
        }
        self.epochs.account().fold(&tally);
    }
}

impl<T: Entry + ?Sized, const L: usize> fmt::Debug for Run<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Run({} leaves, {} entries behind them)", self.leaves.len(), self.rest.len())
    }
}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Tree<T, L, I> {
    /// Moves all entries of `runs`, whatever their order, into this tree, which is empty. Where a key comes twice only some.
    ///
    /// # Panics
    /// Where the tree holds something, or the pin or a run belongs to other epochs.
    pub fn fill(&self, pin: &Pin<'_>, mut runs: Vec<Run<T, L>>) -> Result<(), Duplicate> {
        self.check(pin);
        assert!(runs.iter().all(|run| pin.is_of(&run.epochs)), "a run of other epochs cannot be reclaimed");
        runs.retain(|run| !run.rest.is_empty());
        // Whoever ends first is in the way of the fewest.
        runs.sort_unstable_by(|a, b| a.last.cmp(&b.last));
        let (mut apart, mut others): (Vec<Run<T, L>>, _) = (Vec::with_capacity(runs.len()), Vec::new());
        for run in runs {
            match apart.last().is_none_or(|before| *before.last < *run.first) {
                true => apart.push(run),
                false => others.push(run),
            }
        }
        if let Some(first) = apart.first_mut() {
            first.begin_at_bottom(pin);
            self.fill_in_order(pin, apart);
        }
        others.into_iter().try_for_each(|run| self.insert_all(pin, run))
    }

    fn insert_all(&self, pin: &Pin<'_>, mut run: Run<T, L>) -> Result<(), Duplicate> {
        run.take_apart(pin);
        while let Some(entry) = run.rest.pop() {
            // SAFETY: the run owned the entry, and the tree frees none before the pin ends.
            let key = unsafe { key_of::<T>(entry) };
            if self.insert_raw(pin, (key, None), |_| entry).change.is_none() {
                run.rest.push(entry);
                return Err(Duplicate);
            }
        }
        Ok(())
    }

    fn fill_in_order(&self, pin: &Pin<'_>, mut runs: Vec<Run<T, L>>) {
        let mut backoff = Backoff::new();
        let (old, guard) = loop {
            let root = self.root();
            match header(pin, root).lock.try_lock_any() {
                Ok(guard) => break (root, guard),
                Err(_) => backoff.wait(),
            }
        };
        let Header { level, .. } = header(pin, old);
        assert!(*level == LEAF_LEVEL && header(pin, old).count() == 0, "only an empty tree is filled");
        for at in 0..runs.len() {
            if let Some(soon) = runs.get(at + PREFETCHED_RUNS) {
                soon.rest.iter().for_each(|entry| prefetch(entry.as_ptr()));
            }
            let (run, later) = runs[at..].split_first_mut().expect("a run is there");
            run.end_leaf(pin, later.first().map(|next| &*next.first));
        }
        let mut nodes: Vec<Branch> = Vec::with_capacity(runs.iter().map(|run| run.leaves.len()).sum());
        runs.iter_mut().for_each(|run| nodes.append(&mut run.leaves));
        let max_stamp = as_leaf::<T, L>(pin, old).max_stamp();
        if max_stamp > Stamp::ZERO {
            // SAFETY: the runs owned the leaves, now we do.
            nodes
                .iter()
                .for_each(|leaf| unsafe { leaf.child.cast::<Leaf<T, L>>().as_ref() }.raise_max_stamp(max_stamp));
        }
        // SAFETY: the first leaf begins below every key. No node was built with its separator.
        nodes[0].separator.take().inspect(|separator| unsafe { free_separator(*separator, pin.tally()) });
        let leaves = nodes.len();
        for level in LEAF_LEVEL + 1.. {
            if nodes.len() == 1 {
                break;
            }
            nodes = evenly(nodes.len(), inner_slots(I) * 3 / 4)
                .map(|range| self.parent(pin, level, &nodes, range))
                .collect();
        }
        self.set_root(old, nodes[0].child);
        guard.unlock_obsolete();
        self.retire_node(pin, old);
        self.hints.leaves_added::<L>(pin, leaves - 1);
    }

    /// Builds the inner node above a range of the nodes of the level below.
    fn parent(&self, pin: &Pin<'_>, level: u8, below: &[Branch], range: Range<usize>) -> Branch {
        // SAFETY: separators live as long as the node that they are put into, or are on their way up.
        let low = |branch: &Branch| branch.separator.map(|separator| unsafe { separator.as_ref() }.key());
        let Branch { separator, .. } = below[range.start];
        let fences = Fences::new(low(&below[range.start]).unwrap_or_default(), below.get(range.end).and_then(low));
        let child = Inner::<I>::build(fences, level, &below[range], None).cast();
        self.count(pin, child);
        Branch { separator, child }
    }
}

/// Cuts `nodes` nodes, two or more, into groups of about the same size, at most `size`, which leaves room for the next.
fn evenly(nodes: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    let groups = nodes.div_ceil(size);
    (0..groups).map(move |group| group * nodes / groups..(group + 1) * nodes / groups)
}
