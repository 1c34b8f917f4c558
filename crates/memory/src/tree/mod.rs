//! The ordered index: a B+tree over byte strings with optimistic lock coupling (Leis et al., 2019), whose leaves also carry what
//! serializable transactions need.
//!
//! Invariants:
//! - A leaf's version changes exactly when its set of entries changes: insert, remove, split, merge; never when the
//!   content of an entry changes. An unchanged version (see [`Tree::is_unchanged`]) therefore proves that a range that
//!   was scanned, or a key that was looked for and not found, still holds what it held.
//! - A leaf's `max_stamp` is at least the stamp of every removal from its range of keys: kept on split, the larger one on
//!   merge, raised by [`Tree::remove_if`] (Poplar's stamp of an absent key; see docs/protocols.md).
//! - It is at least every stamp to which a reader raised it ([`LeafRead::raise_max_stamp`]) that then found the leaf unchanged:
//!   what is inserted into the leaf's range of keys afterwards is given that stamp or a greater one.
//! - Readers write nothing but hints, where one is missing (`hints.rs`). Writers lock at most a parent and two of its
//!   children, by trying; no lock is waited for.
//! - What is unlinked is retired through the epochs, so a pinned reader never sees freed memory.
//!
//! Deliberately absent: sibling links (a scan goes on from the leaf's fence), values (an entry is a pointer to something
//! that carries its key) and any idea of a transaction.

mod descend;
mod expect;
mod hints;
mod insert;
mod lock;
mod node;
mod partition;
mod remove;
mod restructure;
mod run;
mod scan;
mod search;
mod shape;
#[cfg(test)]
pub(crate) mod tests;

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::epoch::{Epochs, Held, Pin};
use crate::ids::Stamp;
use crate::locks::LockWord;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::{Arc, Backoff, Unique};
use crate::thin::{Entry, Thin};
use crate::usage::{Kind, Tally};

pub use expect::{Ahead, EXPECTED_AT_ONCE};
pub use insert::{Inserted, LeafChange};
pub use run::{Duplicate, Run};
pub use scan::{LeafScan, ScanFrom};
pub use shape::Shape;

use descend::{Bound, Place};
use hints::Hints;
use node::{AnyNode, Fences, Header, Leaf, Raw, Remainder, node_bytes};

/// Slots of a leaf where nothing else is asked for; the bench `tree` of the bench crate is how it was chosen.
pub const LEAF_SLOTS: usize = 48;

/// Slots of an inner node where nothing else is asked for.
pub const INNER_SLOTS: usize = 48;

static TREE_IDS: Unique = Unique::new();

/// Fewest slots that let a full node be split into two that are not empty, inner nodes included.
const NODE_SLOTS_MIN: usize = 4;

/// An ordered, concurrent index of entries that carry their own keys. See the module.
///
/// `L` is the number of slots of a leaf, `I` that of an inner node.
pub struct Tree<T: Entry + ?Sized, const L: usize = LEAF_SLOTS, const I: usize = INNER_SLOTS> {
    epochs: Arc<Epochs>,
    /// Unique in the process.
    id: u64,
    root: AtomicPtr<Header>,
    hints: Hints,
    entries: PhantomData<fn(&T)>,
}

/// What a search for one key found.
#[derive(Debug)]
pub enum Lookup<T: ?Sized, const L: usize = LEAF_SLOTS> {
    /// The entry.
    Found(Held<T>),
    /// There is none; the leaf in which it would be, for the proof that it stays away.
    Absent(LeafRead<L>),
}

impl<T: ?Sized, const L: usize> Lookup<T, L> {
    /// The entry, if there is one.
    pub fn found(self) -> Option<Held<T>> {
        match self {
            Lookup::Found(entry) => Some(entry),
            Lookup::Absent(_) => None,
        }
    }
}

/// One state of one leaf, as it was read.
///
/// Two of them are equal iff they name the same state of the same leaf.
#[derive(Clone, Copy, Debug)]
pub struct LeafRead<const L: usize = LEAF_SLOTS> {
    /// Whatever it holds: the kind of its entries is no part of a leaf's layout.
    leaf: Held<Leaf<(), L>>,
    version: u64,
    max_stamp: Stamp,
}

impl<const L: usize> LeafRead<L> {
    /// No entry that was removed from this leaf's range of keys had a later stamp.
    pub fn max_stamp(&self) -> Stamp {
        self.max_stamp
    }

    /// Raises the leaf's `max_stamp`: whatever is inserted into its range of keys after the leaf was found unchanged is given
    /// `stamp` or a greater one. For a reader that is about to decide, with a `SeqCst` fence in between, whether the leaf is
    /// unchanged ([`Tree::is_unchanged`]); where it is not, the call may have no effect.
    ///
    /// Why that is enough: an inserter takes the leaf's lock and then reads the stamp, both sequentially consistent; the reader
    /// raises the stamp, fences and then reads the lock. One of the two sees the other. A split, a join or a removal does the
    /// same, so what it hands on, or writes over the stamp, holds every raise whose reader finds the leaf unchanged.
    ///
    /// # Panics
    /// Where the read was made under another pin.
    pub fn raise_max_stamp(&self, pin: &Pin<'_>, stamp: Stamp) {
        pin.get(self.leaf).raise_max_stamp_unlocked(stamp);
    }

    /// Whether the leaf is still in this state; see [`Tree::is_unchanged`].
    ///
    /// # Panics
    /// Where the read was made under another pin.
    pub fn is_unchanged(&self, pin: &Pin<'_>) -> bool {
        pin.get(self.leaf).header.lock.load() == self.version
    }

    /// The lock of the gaps between the leaf's entries: whoever holds it, and then finds the leaf unchanged, keeps others from
    /// inserting into its range of keys, as far as they ask it ([`Tree::get_or_insert_if`]). The leaves of a split have locks of
    /// their own, which nobody holds.
    ///
    /// # Panics
    /// Where the read was made under another pin.
    pub fn gap<'p>(&self, pin: &'p Pin<'_>) -> &'p LockWord {
        pin.get(self.leaf).gap()
    }

    /// The version of the leaf.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether both were read from the same leaf, in whatever states.
    pub fn is_same_leaf(&self, other: &Self) -> bool {
        self.leaf == other.leaf
    }

    /// The address of the leaf, to sort and hash by.
    pub fn address(&self) -> usize {
        self.leaf.address()
    }
}

impl<const L: usize> PartialEq for LeafRead<L> {
    fn eq(&self, other: &Self) -> bool {
        self.leaf == other.leaf && self.version == other.version
    }
}

impl<const L: usize> Eq for LeafRead<L> {}

impl<const L: usize> std::hash::Hash for LeafRead<L> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.address().hash(state);
        self.version.hash(state);
    }
}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Tree<T, L, I> {
    /// An empty tree whose memory is reclaimed through `epochs`.
    pub fn new(epochs: Arc<Epochs>) -> Self {
        const { assert!(L >= NODE_SLOTS_MIN && I >= NODE_SLOTS_MIN, "a node has at least four slots") };
        let root = Leaf::<T, L>::build(Fences::unbounded(), &[], Stamp::ZERO);
        let tally = Tally::default();
        // SAFETY: the node was just built.
        tally.add(Kind::Nodes, unsafe { node_bytes::<T, L, I>(root.cast()) });
        epochs.account().fold(&tally);
        let root = AtomicPtr::new(root.cast::<Header>().as_ptr());
        Tree { epochs, id: TREE_IDS.take(), root, hints: Hints::new(), entries: PhantomData }
    }

    /// Names this tree: no other one of the process has or had the number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Looks for `key`.
    ///
    /// # Panics
    /// Where `pin` belongs to other epochs than the tree.
    pub fn get(&self, pin: &Pin<'_>, key: &[u8]) -> Lookup<T, L> {
        self.check(pin);
        let spot = self.hints.spot(pin, key);
        if let Some(entry) = spot.and_then(|spot| spot.find::<T>(key)) {
            return Lookup::Found(hold(pin, entry));
        }
        let mut backoff = Backoff::new();
        loop {
            let found = self.leaf_for(pin, Bound::At(key)).and_then(|(leaf, version)| {
                Ok(match leaf.find(key, version)? {
                    Place::At(_, entry) => {
                        if let Some(spot) = spot {
                            self.hints.fill(pin, spot, entry, (leaf, version));
                        }
                        Lookup::Found(hold(pin, entry))
                    }
                    Place::Gap(_) => Lookup::Absent(leaf.read_at(pin, version)?),
                })
            });
            match found {
                Ok(found) => return found,
                Err(_) => backoff.wait(),
            }
        }
    }

    /// Whether the leaf is still in the state that was read: nothing was inserted into it, removed from it, and nobody is
    /// about to.
    ///
    /// To decide a transaction, call it with every write lock held and a `SeqCst` fence after the locks: an inserter
    /// links its entry before it does the same, so of two that are in each other's way at least one sees the other.
    ///
    /// # Panics
    /// Where the read was made under another pin.
    pub fn is_unchanged(&self, pin: &Pin<'_>, read: &LeafRead<L>) -> bool {
        self.check(pin);
        read.is_unchanged(pin)
    }

    /// Whether a lookup of `key` needs no way down.
    #[cfg(all(test, any(loom, shuttle)))]
    pub(crate) fn is_hinted(&self, pin: &Pin<'_>, key: &[u8]) -> bool {
        self.hints.spot(pin, key).is_some_and(|spot| spot.find::<T>(key).is_some())
    }

    /// Whether the pin protects it, because both are of the same epochs. All else panics where it does not.
    pub fn is_protected(&self, pin: &Pin<'_>) -> bool {
        pin.is_of(&self.epochs)
    }

    fn check(&self, pin: &Pin<'_>) {
        assert!(self.is_protected(pin), "a pin of other epochs does not protect this tree");
    }

    fn root(&self) -> AnyNode {
        let root = self.root.load(Ordering::Acquire);
        // SAFETY: the root is never null: `new` sets it and only nodes are stored afterwards.
        unsafe { NonNull::new_unchecked(root) }
    }
}

impl<T: Entry + ?Sized, const L: usize> Leaf<T, L> {
    /// What a reader remembers of this leaf, if it is still in the state of `version`.
    fn read_at(&self, pin: &Pin<'_>, version: u64) -> Result<LeafRead<L>, lock::Retry> {
        let max_stamp = self.max_stamp();
        self.header.lock.validate(version)?;
        Ok(self.remember(pin, version, max_stamp))
    }

    /// The state `version` of this leaf; for the holder of the lock.
    fn remember(&self, pin: &Pin<'_>, version: u64, max_stamp: Stamp) -> LeafRead<L> {
        // The same layout, whatever the entries are: they are pointers.
        LeafRead { leaf: hold(pin, NonNull::from(self).cast()), version, max_stamp }
    }
}

/// Ties a pointer that was just read from the tree to the pin.
#[inline]
fn hold<V: Thin + ?Sized>(pin: &Pin<'_>, raw: Raw) -> Held<V> {
    // SAFETY: every caller read the pointer from a validated or locked node under this pin, or from a hint, so what it
    // points to was linked after the pin was taken and is not freed before the pin ends.
    unsafe { pin.hold(raw) }
}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Drop for Tree<T, L, I> {
    fn drop(&mut self) {
        self.hints.close(&self.epochs);
        // SAFETY: the tree is unreachable from here on, and the first piece is freed once no pin can hold anything of it.
        let mut remainder = unsafe { Remainder::<T, L, I>::new(self.root().cast()) };
        self.epochs.retire_in_pieces(Box::new(move |tally| remainder.free_some(tally)));
    }
}
