//! Insertion: into the gap of a leaf, or by replacing a leaf that is full or whose prefix does not cover the key.
//!
//! Invariants:
//! - `before` of a [`LeafChange`] is the leaf exactly as this insertion found it under the lock, `after` exactly what it
//!   left. A transaction that remembers `before` may put `after` in its place: anything that others did to the leaf in
//!   between makes `before` unequal to what the transaction remembers.
//! - The entry is made when nothing can fail any more, once.
//! - Whether the gaps of the leaf are locked is asked under the leaf's lock, so that who locks them, and then finds the leaf in
//!   the state in which it was read, has locked that state.
//!
//! Deliberately absent: replacing an entry. An entry stays until it is removed.

use std::ptr::NonNull;

use crate::epoch::{Held, Pin};
use crate::ids::Stamp;
use crate::locks::LockWord;
use crate::sync::Backoff;
use crate::thin::Entry;

use super::descend::{Above, Bound, Place, Reached, as_leaf};
use super::hints::Spot;
use super::lock::{Guard, Retry};
use super::node::{AnyNode, Fences, LEAF_LEVEL, Leaf, Raw, Separator, key_of};
use super::restructure::Replacement;
use super::search::{head, shortest_near_middle, shortest_separator};
use super::{LEAF_SLOTS, LeafRead, Tree, hold};

/// What [`Tree::get_or_insert`] did.
#[derive(Debug)]
pub struct Inserted<T: ?Sized, const L: usize = LEAF_SLOTS> {
    /// The entry of the key.
    pub entry: Held<T>,
    /// What became of the leaf; `None` where the key was there already.
    pub change: Option<LeafChange<L>>,
}

/// What an insertion did to the leaf that it hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafChange<const L: usize = LEAF_SLOTS> {
    /// The leaf as the insertion found it.
    pub before: LeafRead<L>,
    after: LeafRead<L>,
    after_split: Option<LeafRead<L>>,
}

impl<const L: usize> LeafChange<L> {
    /// The one or two leaves that took the place of `before`, as the insertion left them.
    pub fn after(&self) -> impl Iterator<Item = LeafRead<L>> {
        std::iter::once(self.after).chain(self.after_split)
    }
}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Tree<T, L, I> {
    /// The entry of `key`; where there is none, the one that `make` makes. It is given the leaf's `max_stamp` and must
    /// return an entry with exactly this key.
    ///
    /// # Panics
    /// Where `pin` belongs to other epochs than the tree, or the entry has another key.
    pub fn get_or_insert(&self, pin: &Pin<'_>, key: &[u8], make: impl FnOnce(Stamp) -> T::Owned) -> Inserted<T, L> {
        self.check(pin);
        let spot = self.hints.spot(pin, key);
        match spot.and_then(|spot| spot.find::<T>(key)) {
            Some(entry) => Inserted { entry: hold(pin, entry), change: None },
            None => self.insert_at_leaf(pin, key, spot, make),
        }
    }

    /// As [`Tree::get_or_insert`], or as [`Tree::insert_or_get`] where the entry `is_expected` not to be there; but inserts only
    /// if `may_insert` allows it, which is given the lock of the leaf's gaps before and under the leaf's lock. Otherwise returns
    /// the leaf, as an error.
    ///
    /// # Panics
    /// As for [`Tree::get_or_insert`].
    pub fn get_or_insert_if(
        &self,
        pin: &Pin<'_>,
        key: &[u8],
        is_expected: bool,
        may_insert: impl Fn(&LockWord) -> bool,
        make: impl FnOnce(Stamp) -> T::Owned,
    ) -> Result<Inserted<T, L>, LeafRead<L>> {
        self.check(pin);
        let spot = if is_expected { self.hints.spot(pin, key) } else { None };
        match spot.and_then(|spot| spot.find::<T>(key)) {
            Some(entry) => Ok(Inserted { entry: hold(pin, entry), change: None }),
            None => self.insert_raw_if(pin, (key, spot), may_insert, |max_stamp| self.own(pin, key, make(max_stamp))),
        }
    }

    /// As [`Tree::get_or_insert`], but faster where there is no such entry, and slower where there is.
    ///
    /// # Panics
    /// As for [`Tree::get_or_insert`].
    pub fn insert_or_get(&self, pin: &Pin<'_>, key: &[u8], make: impl FnOnce(Stamp) -> T::Owned) -> Inserted<T, L> {
        self.check(pin);
        self.insert_at_leaf(pin, key, None, make)
    }

    fn insert_at_leaf(
        &self,
        pin: &Pin<'_>,
        key: &[u8],
        spot: Option<Spot<'_>>,
        make: impl FnOnce(Stamp) -> T::Owned,
    ) -> Inserted<T, L> {
        self.insert_raw(pin, (key, spot), |max_stamp| self.own(pin, key, make(max_stamp)))
    }

    pub(super) fn insert_raw(
        &self,
        pin: &Pin<'_>,
        place: (&[u8], Option<Spot<'_>>),
        make: impl FnOnce(Stamp) -> Raw,
    ) -> Inserted<T, L> {
        self.insert_raw_if(pin, place, |_| true, make).expect("an insertion that is always allowed")
    }

    fn insert_raw_if(
        &self,
        pin: &Pin<'_>,
        place: (&[u8], Option<Spot<'_>>),
        may_insert: impl Fn(&LockWord) -> bool,
        make: impl FnOnce(Stamp) -> Raw,
    ) -> Result<Inserted<T, L>, LeafRead<L>> {
        let mut make = Some(make);
        let mut backoff = Backoff::new();
        loop {
            match self.try_insert(pin, place, &may_insert, &mut make) {
                Ok(inserted) => return inserted,
                Err(_) => backoff.wait(),
            }
        }
    }

    /// Takes over an entry that is to be inserted under `key`.
    pub(super) fn own(&self, pin: &Pin<'_>, key: &[u8], entry: T::Owned) -> Raw {
        assert!(entry.key() == key, "the entry has the key that it is inserted under");
        T::into_raw(entry, &self.epochs, pin.tally())
    }

    fn try_insert(
        &self,
        pin: &Pin<'_>,
        (key, spot): (&[u8], Option<Spot<'_>>),
        may_insert: &impl Fn(&LockWord) -> bool,
        make: &mut Option<impl FnOnce(Stamp) -> Raw>,
    ) -> Result<Result<Inserted<T, L>, LeafRead<L>>, Retry> {
        let Reached { node, word, parent } = self.descend(pin, Bound::At(key), LEAF_LEVEL)?;
        let leaf = as_leaf::<T, L>(pin, node);
        let slot = match leaf.find(key, word)? {
            Place::At(_, entry) => {
                if let Some(spot) = spot {
                    self.hints.fill(pin, spot, entry, (leaf, word));
                }
                return Ok(Ok(Inserted { entry: hold(pin, entry), change: None }));
            }
            Place::Gap(slot) => slot,
        };
        if !may_insert(leaf.gap()) {
            // Before the leaf's lock: who has locked the gaps would find that taken, and take the leaf for another one.
            return Ok(Err(leaf.read_at(pin, word)?));
        }
        let guard = leaf.header.lock.try_lock(word)?;
        if !may_insert(leaf.gap()) {
            return Ok(Err(leaf.remember(pin, word, leaf.max_stamp_locked())));
        }
        if leaf.count() >= Self::slots(LEAF_LEVEL) || !leaf.header.covers(key) {
            return self.insert_by_replacing(pin, node, guard, parent, (slot, key), make).map(Ok);
        }
        let make = make.take().expect("an entry is made once");
        Ok(Ok(self.insert_in_gap(pin, leaf, guard, (slot, key), make)))
    }

    /// Inserts into a leaf that has room and whose prefix covers the key.
    pub(super) fn insert_in_gap(
        &self,
        pin: &Pin<'_>,
        leaf: &Leaf<T, L>,
        guard: Guard<'_>,
        (slot, key): (usize, &[u8]),
        make: impl FnOnce(Stamp) -> Raw,
    ) -> Inserted<T, L> {
        let (before, max_stamp) = (guard.before(), leaf.max_stamp_locked());
        let entry = make(max_stamp);
        leaf.insert_at(slot, entry, head(key, leaf.header.prefix_len()));
        let change = LeafChange {
            before: leaf.remember(pin, before, max_stamp),
            after: leaf.remember(pin, guard.unlock_changed(), max_stamp),
            after_split: None,
        };
        Inserted { entry: hold(pin, entry), change: Some(change) }
    }

    /// Builds the leaf anew, with the entry, as one leaf or two.
    fn insert_by_replacing(
        &self,
        pin: &Pin<'_>,
        node: AnyNode,
        guard: Guard<'_>,
        parent: Option<Above<'_, I>>,
        (slot, key): (usize, &[u8]),
        make: &mut Option<impl FnOnce(Stamp) -> Raw>,
    ) -> Result<Inserted<T, L>, Retry> {
        let leaf = as_leaf::<T, L>(pin, node);
        let parent = parent.map(|above| above.lock()).transpose()?;
        let mut entries: Vec<Raw> = leaf.entries().collect();
        let separator_of = |split| separator_at::<T>(&entries, slot, key, split);
        let is_run = leaf.is_behind_last(slot);
        let is_full_leaf = entries.len() >= Self::slots(LEAF_LEVEL);
        let split = is_full_leaf.then(|| split_point(slot, entries.len(), is_run, |split| separator_of(split).len()));
        let separator = split.map(separator_of);
        let is_full = |separator| parent.as_ref().is_some_and(|parent| !parent.has_room_for(separator));
        if let Some(separator) = separator.filter(|separator| is_full(separator)) {
            let separator = Box::<[u8]>::from(separator);
            drop(parent);
            drop(guard);
            self.make_room(pin, key, LEAF_LEVEL + 1, &separator);
            return Err(Retry);
        }
        let separator = separator.map(|key| Separator::allocate(key, pin.tally()));
        let version = guard.before();
        let max_stamp = leaf.max_stamp_locked();
        let make = make.take().expect("an entry is made once");
        let entry = make(max_stamp);
        entries.insert(slot, entry);

        let at = split.unwrap_or(entries.len());
        // SAFETY: the separator was just allocated and is linked nowhere yet.
        let boundary = separator.as_ref().map(|separator| unsafe { separator.as_ref() }.key());
        let left_high = boundary.or(leaf.header.high());
        let left = Leaf::<T, L>::build(Fences::new(leaf.header.low(), left_high), &entries[..at], max_stamp);
        let right = boundary.map(|boundary| {
            let fences = Fences::new(boundary, leaf.header.high());
            Leaf::<T, L>::build(fences, &entries[at..], max_stamp)
        });
        let change = LeafChange {
            before: leaf.remember(pin, version, max_stamp),
            after: first_read(pin, left),
            after_split: right.map(|right| first_read(pin, right)),
        };
        let replacement = Replacement { left: left.cast(), right: separator.zip(right.map(NonNull::cast)) };
        self.replace(pin, node, guard, parent, replacement);
        if right.is_some() {
            self.hints.leaves_added::<L>(pin, 1);
        }
        Ok(Inserted { entry: hold(pin, entry), change: Some(change) })
    }
}

/// The state of a leaf that was just built and is not linked yet.
fn first_read<T: Entry + ?Sized, const L: usize>(pin: &Pin<'_>, leaf: NonNull<Leaf<T, L>>) -> LeafRead<L> {
    // SAFETY: the caller just built it.
    let leaf = unsafe { leaf.as_ref() };
    leaf.remember(pin, leaf.header.lock.load(), leaf.max_stamp())
}

/// How many of `slots + 1` entries go left when the one in `slot` is new. Keys that arrive in order, up or down, leave
/// full leaves behind, also where they ascend in front of others (`is_run`: behind the key before); else the halves are
/// about equal.
fn split_point(slot: usize, slots: usize, is_run: bool, separator_len: impl Fn(usize) -> usize) -> usize {
    if slot == slots {
        slots
    } else if slot == 0 {
        1
    } else if is_run {
        slot + 1
    } else {
        shortest_near_middle(slots + 1, separator_len)
    }
}

/// The separator of the leaves that `entries` fall into when `key` is put into `slot` and `split` entries go left.
fn separator_at<'k, T: Entry + ?Sized>(entries: &'k [Raw], slot: usize, key: &'k [u8], split: usize) -> &'k [u8] {
    let key_at = |index: usize| match index.cmp(&slot) {
        // SAFETY: entries of a locked leaf are linked; the pin of the caller keeps them.
        std::cmp::Ordering::Less => unsafe { key_of::<T>(entries[index]) },
        std::cmp::Ordering::Equal => key,
        // SAFETY: see above.
        std::cmp::Ordering::Greater => unsafe { key_of::<T>(entries[index - 1]) },
    };
    shortest_separator(key_at(split - 1), key_at(split))
}
