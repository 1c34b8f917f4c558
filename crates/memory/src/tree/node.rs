//! Nodes: what leaves and inner nodes share, how a node is laid out, read, built and freed.
//!
//! Invariants:
//! - The fences, the level and the prefix of a node never change. A key belongs to the node iff `low <= key < high`.
//! - Every key of a node starts with its prefix. Where both fences are finite the prefix is what they share, so every key
//!   that belongs to the node starts with it. Where one is infinite the fences share nothing; the prefix is then taken
//!   from the keys (`Fences::explicit`), every search compares it, and a key outside it needs a new node.
//! - Slots below the count hold the entries in order; slots beyond it hold anything, also pointers to freed memory. A
//!   pointer read from a slot is followed only after the version was validated.
//! - Contents change only under the node's lock, by relaxed stores; see `lock.rs` for what readers do.
//! - A separator belongs to the one live inner node that points to it. Replaced nodes may still show it to readers that
//!   were pinned before it was retired.
//!
//! Deliberately absent: links between siblings. A scan goes on by a descent from the fence, which never changes.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::Entry;
use crate::Stamp;
use crate::locks::LockWord;
#[cfg(not(any(loom, shuttle)))]
use crate::prefetch::LINE_BYTES;
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::usage::{Kind, Tally};

use super::lock::VersionLock;
use super::search::{HEAD_BYTES, SAMPLES, UNUSED, common_prefix_len, head, stride};

/// Level of a leaf.
pub(super) const LEAF_LEVEL: u8 = 0;

/// The bounds of a node and its explicit prefix.
pub(super) struct Fences {
    /// Inclusive; empty for the first node of a level, since no key is below the empty one.
    pub(super) low: Box<[u8]>,
    /// Exclusive; `None` for the last node of a level.
    pub(super) high: Option<Box<[u8]>>,
    /// The prefix where the fences do not imply it.
    pub(super) explicit: Box<[u8]>,
}

impl Fences {
    /// The fences of a node that covers every key.
    pub(super) fn unbounded() -> Self {
        Fences { low: Box::default(), high: None, explicit: Box::default() }
    }

    pub(super) fn new(low: &[u8], high: Option<&[u8]>) -> Self {
        debug_assert!(high.is_none_or(|high| low < high), "a node covers something");
        Fences { low: low.into(), high: high.map(Into::into), explicit: Box::default() }
    }

    /// Chooses the prefix of a node that holds keys from `first` to `last` and will be asked to hold `cover`.
    fn choose_prefix(&mut self, first: Option<&[u8]>, last: Option<&[u8]>, cover: Option<&[u8]>) -> Prefix {
        let implied = self.high.as_ref().map_or(0, |high| common_prefix_len(&self.low, high));
        if implied > 0 {
            return Prefix::new(implied, false);
        }
        let (Some(first), Some(last)) = (first, last) else { return Prefix::new(0, false) };
        let mut len = common_prefix_len(first, last);
        if first == last {
            // One key: its neighbours will share what it shares with the key that the low fence was cut off from.
            len = common_prefix_len(first, &self.low[..self.low.len().saturating_sub(1)]);
        }
        if let Some(cover) = cover {
            len = len.min(common_prefix_len(first, cover));
        }
        let prefix = Prefix::new(len, len > 0);
        self.explicit = first[..usize::from(prefix.len)].into();
        prefix
    }
}

/// The length of a prefix, and whether searches must compare it.
#[derive(Clone, Copy)]
struct Prefix {
    len: u16,
    is_explicit: bool,
}

impl Prefix {
    /// A longer prefix than the header has room for is cut off: that is one too.
    fn new(len: usize, is_explicit: bool) -> Self {
        Prefix { len: u16::try_from(len).unwrap_or(u16::MAX), is_explicit }
    }
}

/// What every node starts with: one cache line, which is all of a node that a search reads besides the lines that it
/// ends in.
#[repr(C, align(64))]
pub(super) struct Header {
    pub(super) lock: VersionLock,
    count: AtomicU32,
    prefix_len: u16,
    prefix_is_explicit: bool,
    pub(super) level: u8,
    samples: [AtomicU64; SAMPLES],
    pub(super) fences: Box<Fences>,
}

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Header>() == LINE_BYTES, "a header is one cache line");

/// Where a key lies relative to the prefix of a node.
pub(super) enum Alignment {
    /// Below every key with the prefix.
    Below,
    /// The key starts with the prefix.
    Inside,
    /// Above every key with the prefix.
    Above,
}

impl Header {
    fn new(level: u8, fences: Fences, prefix: Prefix) -> Self {
        Header {
            lock: VersionLock::new(),
            count: AtomicU32::new(0),
            prefix_len: prefix.len,
            prefix_is_explicit: prefix.is_explicit,
            level,
            samples: unused_heads(),
            fences: Box::new(fences),
        }
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed) as usize
    }

    #[inline]
    pub(super) fn prefix_len(&self) -> usize {
        usize::from(self.prefix_len)
    }

    /// Records how many slots are in use and what their heads are; for the holder of the lock.
    fn set_used<const N: usize>(&self, count: usize, heads: &[AtomicU64; N]) {
        self.count.store(count as u32, Ordering::Relaxed);
        for (index, sample) in self.samples.iter().enumerate() {
            let head = heads.get((index + 1) * stride(N)).map_or(UNUSED, |head| head.load(Ordering::Relaxed));
            sample.store(head, Ordering::Relaxed);
        }
    }

    /// The heads at each multiple of the stride.
    #[inline]
    pub(super) fn samples(&self) -> &[AtomicU64; SAMPLES] {
        &self.samples
    }

    pub(super) fn low(&self) -> &[u8] {
        &self.fences.low
    }

    pub(super) fn high(&self) -> Option<&[u8]> {
        self.fences.high.as_deref()
    }

    /// Where `key` lies; every key that belongs to the node and a node's own high fence may be asked for.
    #[inline]
    pub(super) fn align(&self, key: &[u8]) -> Alignment {
        if self.prefix_is_explicit { self.align_explicit(key) } else { Alignment::Inside }
    }

    fn align_explicit(&self, key: &[u8]) -> Alignment {
        let prefix = &*self.fences.explicit;
        let shared = &key[..key.len().min(prefix.len())];
        match shared.cmp(prefix) {
            std::cmp::Ordering::Less => Alignment::Below,
            std::cmp::Ordering::Equal => Alignment::Inside,
            std::cmp::Ordering::Greater => Alignment::Above,
        }
    }

    /// Whether the node can hold `key`, which lies between its fences, without losing its prefix.
    pub(super) fn covers(&self, key: &[u8]) -> bool {
        matches!(self.align(key), Alignment::Inside)
    }
}

/// The key that tells two neighbouring children of an inner node apart.
pub(super) struct Separator(Box<[u8]>);

impl Separator {
    /// A new separator; owned by the inner node that it is put into.
    pub(super) fn allocate(key: &[u8], tally: &Tally) -> NonNull<Separator> {
        tally.add(Kind::Nodes, Separator::memory_bytes(key));
        NonNull::from(Box::leak(Box::new(Separator(key.into()))))
    }

    /// What a separator of this key takes of memory.
    pub(super) fn memory_bytes(key: &[u8]) -> usize {
        size_of::<Separator>() + key.len()
    }

    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        &self.0
    }
}

/// The address of an entry.
pub(super) type Raw = NonNull<()>;

/// The key of an entry.
///
/// # Safety
/// The entry is a `T` that lives throughout `'a`.
#[inline]
pub(super) unsafe fn key_of<'a, T: Entry + ?Sized>(entry: Raw) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { T::from_raw(entry) }.key()
}

/// A node of either kind; its level tells which.
pub(super) type AnyNode = NonNull<Header>;

/// A leaf: entries in the order of their keys.
#[repr(C)]
pub(super) struct Leaf<T: ?Sized, const N: usize> {
    pub(super) header: Header,
    heads: [AtomicU64; N],
    entries: [AtomicPtr<()>; N],
    /// No entry that was removed from this range of keys had a later stamp. Readers raise it without the lock.
    max_stamp: AtomicU64,
    /// The number of the table that got the hints of all entries, at some time.
    hinted_in: AtomicU32,
    /// The slot behind the entry that was inserted last.
    behind_last: AtomicU32,
    /// The lock of the gaps between the entries.
    gap: LockWord,
    kind: PhantomData<*const T>,
}

/// An inner node: children in the order of their low fences, and the separators between them. Slot `i` of the separators
/// is between the children `i` and `i + 1`.
#[repr(C)]
pub(super) struct Inner<const N: usize> {
    pub(super) header: Header,
    heads: [AtomicU64; N],
    children: [AtomicPtr<Header>; N],
    /// The eight bytes after the head of each separator: numbers in a row have heads that are mostly zeros.
    tails: [AtomicU64; N],
    separators: [AtomicPtr<Separator>; N],
}

/// A child and the separator below it (`None` for the first).
#[derive(Clone, Copy)]
pub(super) struct Branch {
    pub(super) separator: Option<NonNull<Separator>>,
    pub(super) child: AnyNode,
}

fn unused_heads<const N: usize>() -> [AtomicU64; N] {
    std::array::from_fn(|_| AtomicU64::new(UNUSED))
}

fn null_pointers<P, const N: usize>() -> [AtomicPtr<P>; N] {
    std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()))
}

impl<T: Entry + ?Sized, const N: usize> Leaf<T, N> {
    /// Allocates a leaf that holds `entries`.
    pub(super) fn build(mut fences: Fences, entries: &[Raw], max_stamp: Stamp) -> NonNull<Self> {
        assert!(entries.len() <= N, "a leaf holds at most {N} entries");
        // SAFETY: the caller passes entries that it just unlinked or made; none is freed while it is pinned.
        let key_of = |entry: &Raw| unsafe { key_of::<T>(*entry) };
        let prefix = fences.choose_prefix(entries.first().map(key_of), entries.last().map(key_of), None);
        let leaf = Leaf {
            header: Header::new(LEAF_LEVEL, fences, prefix),
            heads: unused_heads(),
            entries: null_pointers(),
            max_stamp: AtomicU64::new(max_stamp.0),
            hinted_in: AtomicU32::new(0),
            behind_last: AtomicU32::new(u32::MAX),
            gap: LockWord::new(),
            kind: PhantomData,
        };
        for (slot, entry) in entries.iter().enumerate() {
            leaf.heads[slot].store(head(key_of(entry), leaf.header.prefix_len()), Ordering::Relaxed);
            leaf.entries[slot].store(entry.as_ptr(), Ordering::Relaxed);
        }
        leaf.header.set_used(entries.len(), &leaf.heads);
        NonNull::from(Box::leak(Box::new(leaf)))
    }

    /// The heads of the keys; those of slots that are not in use are `UNUSED`.
    #[inline]
    pub(super) fn heads(&self) -> &[AtomicU64; N] {
        &self.heads
    }

    pub(super) fn hinted_in(&self) -> u32 {
        self.hinted_in.load(Ordering::Relaxed)
    }

    /// Records which table got the hints of all entries.
    pub(super) fn set_hinted_in(&self, table: u32) {
        self.hinted_in.store(table, Ordering::Relaxed);
    }

    /// Whether the entry that was inserted last is the one before `slot`; for the holder of the lock.
    pub(super) fn is_behind_last(&self, slot: usize) -> bool {
        self.behind_last.load(Ordering::Relaxed) as usize == slot
    }

    #[inline]
    pub(super) fn entry(&self, slot: usize) -> *mut () {
        self.entries[slot].load(Ordering::Relaxed)
    }

    /// The count, never beyond the slots there are, whatever state the node is read in.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.header.count().min(N)
    }

    /// Every entry; for the holder of the lock.
    pub(super) fn entries(&self) -> impl Iterator<Item = Raw> {
        (0..self.count()).filter_map(|slot| NonNull::new(self.entry(slot)))
    }

    /// Puts an entry into `slot`; for the holder of the lock, where there is room.
    pub(super) fn insert_at(&self, slot: usize, entry: Raw, head: u64) {
        let count = self.count();
        assert!(slot <= count && count < N, "a leaf with room has {count} of {N} entries, slot {slot}");
        for to in (slot + 1..=count).rev() {
            self.heads[to].store(self.heads[to - 1].load(Ordering::Relaxed), Ordering::Relaxed);
            self.entries[to].store(self.entry(to - 1), Ordering::Relaxed);
        }
        self.heads[slot].store(head, Ordering::Relaxed);
        self.entries[slot].store(entry.as_ptr(), Ordering::Relaxed);
        self.behind_last.store(slot as u32 + 1, Ordering::Relaxed);
        self.header.set_used(count + 1, &self.heads);
    }

    /// Takes the entry out of `slot`; for the holder of the lock.
    pub(super) fn remove_at(&self, slot: usize) {
        let count = self.count();
        assert!(slot < count, "slot {slot} of {count} is in use");
        for to in slot..count - 1 {
            self.heads[to].store(self.heads[to + 1].load(Ordering::Relaxed), Ordering::Relaxed);
            self.entries[to].store(self.entry(to + 1), Ordering::Relaxed);
        }
        self.heads[count - 1].store(UNUSED, Ordering::Relaxed);
        self.header.set_used(count - 1, &self.heads);
    }
}

impl<T: ?Sized, const N: usize> Leaf<T, N> {
    #[inline]
    pub(super) fn max_stamp(&self) -> Stamp {
        Stamp(self.max_stamp.load(Ordering::Relaxed))
    }

    /// The stamp, with every raise whose reader goes on to find the lock free; for the holder of the lock. Lock and stamp are
    /// read sequentially consistently, which is free where the exchange that locks is a full barrier already.
    pub(super) fn max_stamp_locked(&self) -> Stamp {
        // Loom knows no sequentially consistent accesses, only fences.
        #[cfg(loom)]
        crate::sync::atomic::fence(Ordering::SeqCst);
        Stamp(self.max_stamp.load(Ordering::SeqCst))
    }

    /// Raises the stamp of the latest removal; for the holder of the lock. A raise by a reader that comes in between is lost, and
    /// its reader finds the leaf locked or changed.
    pub(super) fn raise_max_stamp(&self, stamp: Stamp) {
        if stamp > self.max_stamp_locked() {
            self.max_stamp.store(stamp.0, Ordering::Relaxed);
        }
    }

    /// The lock of the gaps between its entries.
    #[inline]
    pub(super) fn gap(&self) -> &LockWord {
        &self.gap
    }

    /// Raises the stamp; for a reader, see [`LeafRead::raise_max_stamp`](super::LeafRead::raise_max_stamp).
    #[inline]
    pub(super) fn raise_max_stamp_unlocked(&self, stamp: Stamp) {
        if self.max_stamp() < stamp {
            self.max_stamp.fetch_max(stamp.0, Ordering::Relaxed);
        }
    }
}

impl<const N: usize> Inner<N> {
    /// Allocates an inner node that holds `branches`. Its prefix is chosen so that `cover` can be added.
    pub(super) fn build(mut fences: Fences, level: u8, branches: &[Branch], cover: Option<&[u8]>) -> NonNull<Self> {
        assert!(!branches.is_empty() && branches.len() <= N, "an inner node has 1 to {N} children");
        assert!(level > LEAF_LEVEL, "inner nodes are above the leaves");
        let key_of = |branch: &Branch| {
            let separator = branch.separator.expect("every slot but the first has a separator");
            // SAFETY: the caller holds the lock of the node that owns the separator, or made it.
            unsafe { separator.as_ref() }.key()
        };
        let separated = &branches[1..];
        let prefix = fences.choose_prefix(separated.first().map(key_of), separated.last().map(key_of), cover);
        let inner = Inner {
            header: Header::new(level, fences, prefix),
            heads: unused_heads(),
            children: null_pointers(),
            tails: unused_heads(),
            separators: null_pointers(),
        };
        inner.children[0].store(branches[0].child.as_ptr(), Ordering::Relaxed);
        for (slot, branch) in separated.iter().enumerate() {
            inner.children[slot + 1].store(branch.child.as_ptr(), Ordering::Relaxed);
            inner.set_separator(slot, branch.separator.expect("every child but the first has a separator"));
        }
        inner.header.set_used(branches.len(), &inner.heads);
        NonNull::from(Box::leak(Box::new(inner)))
    }

    fn set_separator(&self, slot: usize, separator: NonNull<Separator>) {
        // SAFETY: the caller holds the lock of this node, or builds it, and owns the separator that it puts in.
        let key = unsafe { separator.as_ref() }.key();
        assert!(self.header.covers(key), "a separator starts with the prefix of its node");
        let prefix_len = self.header.prefix_len();
        self.heads[slot].store(head(key, prefix_len), Ordering::Relaxed);
        self.tails[slot].store(head(key, prefix_len + HEAD_BYTES), Ordering::Relaxed);
        self.separators[slot].store(separator.as_ptr(), Ordering::Relaxed);
    }

    fn move_separator(&self, from: usize, to: usize) {
        self.heads[to].store(self.heads[from].load(Ordering::Relaxed), Ordering::Relaxed);
        self.tails[to].store(self.tails[from].load(Ordering::Relaxed), Ordering::Relaxed);
        self.separators[to].store(self.separator(from), Ordering::Relaxed);
    }

    /// The heads of the separators; those of slots that are not in use are `UNUSED`.
    #[inline]
    pub(super) fn heads(&self) -> &[AtomicU64; N] {
        &self.heads
    }

    /// What follows the heads of the separators.
    #[inline]
    pub(super) fn tails(&self) -> &[AtomicU64; N] {
        &self.tails
    }

    #[inline]
    pub(super) fn child(&self, slot: usize) -> *mut Header {
        self.children[slot].load(Ordering::Relaxed)
    }

    /// The separator between the children `slot` and `slot + 1`.
    #[inline]
    pub(super) fn separator(&self, slot: usize) -> *mut Separator {
        self.separators[slot].load(Ordering::Relaxed)
    }

    /// The number of children, between 1 and the slots there are, whatever state the node is read in.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.header.count().clamp(1, N)
    }

    /// Every child; for the holder of the lock.
    pub(super) fn branches(&self) -> impl Iterator<Item = Branch> {
        (0..self.count()).filter_map(|slot| {
            let separator = slot.checked_sub(1).and_then(|below| NonNull::new(self.separator(below)));
            NonNull::new(self.child(slot)).map(|child| Branch { separator, child })
        })
    }

    /// Replaces the child in `slot` by one with the same low fence; for the holder of the lock.
    pub(super) fn replace_child(&self, slot: usize, child: AnyNode) {
        assert!(slot < self.count(), "the slot is in use");
        self.children[slot].store(child.as_ptr(), Ordering::Relaxed);
    }

    /// Replaces the child in `slot` and the separator below it; for the holder of the lock.
    pub(super) fn replace_branch(&self, slot: usize, separator: NonNull<Separator>, child: AnyNode) {
        assert!(slot > 0 && slot < self.count(), "the slot is in use and has a separator");
        self.children[slot].store(child.as_ptr(), Ordering::Relaxed);
        self.set_separator(slot - 1, separator);
        self.header.set_used(self.count(), &self.heads);
    }

    /// Adds a child in `slot` and the separator below it; for the holder of the lock, where there is room and the prefix
    /// covers the separator.
    pub(super) fn insert_branch(&self, slot: usize, separator: NonNull<Separator>, child: AnyNode) {
        let count = self.count();
        assert!(slot > 0 && slot <= count && count < N, "an inner node has room: {count} of {N}, slot {slot}");
        for to in (slot + 1..=count).rev() {
            self.children[to].store(self.child(to - 1), Ordering::Relaxed);
            self.move_separator(to - 2, to - 1);
        }
        self.children[slot].store(child.as_ptr(), Ordering::Relaxed);
        self.set_separator(slot - 1, separator);
        self.header.set_used(count + 1, &self.heads);
    }

    /// Takes out the child in `slot` and the separator below it; for the holder of the lock.
    pub(super) fn remove_branch(&self, slot: usize) {
        let count = self.count();
        assert!(slot > 0 && slot < count, "slot {slot} of {count} is in use and has a separator");
        for to in slot..count - 1 {
            self.children[to].store(self.child(to + 1), Ordering::Relaxed);
            self.move_separator(to, to - 1);
        }
        self.heads[count - 2].store(UNUSED, Ordering::Relaxed);
        self.header.set_used(count - 1, &self.heads);
    }
}

/// What one node takes of memory, its fences included.
///
/// # Safety
/// `node` is alive and comes from a `build` with the same `T` and sizes.
pub(super) unsafe fn node_bytes<T: Entry + ?Sized, const L: usize, const I: usize>(node: AnyNode) -> usize {
    // SAFETY: the caller's promise; the level and the fences never change.
    let Header { level, fences, .. } = unsafe { node.as_ref() };
    let slots = if *level == LEAF_LEVEL { size_of::<Leaf<T, L>>() } else { size_of::<Inner<I>>() };
    let keys = fences.low.len() + fences.high.as_ref().map_or(0, |high| high.len()) + fences.explicit.len();
    slots + size_of::<Fences>() + keys
}

/// Frees one node, not what it points to.
///
/// # Safety
/// `node` comes from a `build` with the same `T` and sizes, no reader can reach it, and it is freed only once.
pub(super) unsafe fn free_node<T: Entry + ?Sized, const L: usize, const I: usize>(node: AnyNode, tally: &Tally) {
    // SAFETY: the caller's promise; the level says which kind was allocated.
    unsafe {
        tally.take_off(Kind::Nodes, node_bytes::<T, L, I>(node));
        if node.as_ref().level == LEAF_LEVEL {
            drop(Box::from_raw(node.cast::<Leaf<T, L>>().as_ptr()));
        } else {
            drop(Box::from_raw(node.cast::<Inner<I>>().as_ptr()));
        }
    }
}

/// Frees a separator.
///
/// # Safety
/// It comes from [`Separator::allocate`], no reader can reach it, and it is freed only once.
pub(super) unsafe fn free_separator(separator: NonNull<Separator>, tally: &Tally) {
    // SAFETY: the caller's promise.
    let separator = unsafe { Box::from_raw(separator.as_ptr()) };
    tally.take_off(Kind::Nodes, Separator::memory_bytes(separator.key()));
}

/// Nodes that are freed in one piece: with their records a millisecond's work.
pub(super) const FREED_AT_ONCE: usize = 512;

/// A subtree that nobody can reach, on its way to being freed: nodes, separators and entries.
pub(super) struct Remainder<T: ?Sized, const L: usize, const I: usize> {
    pending: Vec<AnyNode>,
    entries: PhantomData<fn(&T)>,
}

// SAFETY: nobody else can reach the nodes, and entries may be freed on any thread (`Entry::free`).
unsafe impl<T: ?Sized, const L: usize, const I: usize> Send for Remainder<T, L, I> {}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Remainder<T, L, I> {
    /// The whole subtree below `root`.
    ///
    /// # Safety
    /// As for [`free_node`], for the node and everything below it, from the first call of [`Remainder::free_some`] on.
    pub(super) unsafe fn new(root: AnyNode) -> Remainder<T, L, I> {
        Remainder { pending: vec![root], entries: PhantomData }
    }

    /// Frees a bounded number of nodes; returns whether there are more.
    pub(super) fn free_some(&mut self, tally: &Tally) -> bool {
        for _ in 0..FREED_AT_ONCE {
            let Some(node) = self.pending.pop() else { return false };
            // SAFETY: the promise of `new`: nothing below the root is shared any more, and the levels tell the kinds. A node
            // leaves the list once.
            unsafe {
                if node.as_ref().level == LEAF_LEVEL {
                    node.cast::<Leaf<T, L>>().as_ref().entries().for_each(|entry| T::free(entry, tally));
                } else {
                    for branch in node.cast::<Inner<I>>().as_ref().branches() {
                        self.pending.push(branch.child);
                        if let Some(separator) = branch.separator {
                            free_separator(separator, tally);
                        }
                    }
                }
                free_node::<T, L, I>(node, tally);
            }
        }
        !self.pending.is_empty()
    }
}

/// Frees a subtree: nodes, separators and entries.
///
/// # Safety
/// As for [`free_node`], for the node and everything below it.
pub(super) unsafe fn free_subtree<T: Entry + ?Sized, const L: usize, const I: usize>(root: AnyNode, tally: &Tally) {
    // SAFETY: passed on to the caller.
    let mut remainder = unsafe { Remainder::<T, L, I>::new(root) };
    while remainder.free_some(tally) {}
}
