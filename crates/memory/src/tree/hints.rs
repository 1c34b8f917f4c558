//! Hints: a hash table from keys to entries beside the tree, which spares most lookups the way down.
//!
//! A hint is the address of an entry and some bits of its key's hash in one word; a bucket of them is a cache line. Whoever
//! follows a hint compares the key. An entry that has no hint is found by the way down.
//!
//! Invariants:
//! - **H1** A hint is stored by the holder of the lock of the entry's leaf. Whoever is about to take an entry out takes
//!   that lock, loads the table, clears the entry's hint in it, and only then decides about the entry and unlinks it.
//! - **H2** So an entry is never freed while a hint leads to it. All who stored its hint had the lock before, so the remover
//!   loads the table that they stored it in, where it sees and clears it, or a later one. In the second case every pin that
//!   begins after the entry is retired loads a later table than theirs too; those that began before keep the entry alive.
//! - **H3** Finding an entry by its hint means what finding it on the way down means: it was linked at a moment of the search.
//!   Whoever sees that the entry has been given up, which happens after the clearing, does not find the hint again.
//! - Readers write nothing where the hint is found, and seldom where the bucket has no room. Who stores a hint gives the leaf
//!   back with the version that it had. Only who checks a version meanwhile takes it for a change: an abort for nothing.
//! - The table follows the number of leaves, in both directions, and has 9 to 20 bytes per entry while it grows: 13 to 20
//!   where keys come in no order, 9 to 13 where they come in order. A new table is empty: hints come back a leaf at a time, as
//!   its entries are looked for.
//!
//! Deliberately absent: absences, since only the leaf proves one; hints to new entries, which come with the first lookup.

use std::hash::{BuildHasher, Hasher};
use std::ptr::NonNull;

use crossbeam_utils::CachePadded;
#[cfg(any(loom, shuttle))]
use foldhash::quality::FixedState as HashState;
#[cfg(not(any(loom, shuttle)))]
use foldhash::quality::RandomState as HashState;

use crate::Entry;
use crate::epoch::{Epochs, Pin};
use crate::limbo::Retired;
use crate::prefetch::prefetch;
use crate::simulated::hinted_leaves_min;
use crate::sync::RaceCell;
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use crate::usage::{Kind, Tally};

use super::node::{Leaf, Raw, key_of};
use super::search::compare;

/// Hints in one cache line. A model has fewer words to look at in every order.
const BUCKET: usize = if cfg!(loom) { 1 } else { 8 };

/// An address has fewer bits than this where hints are used; those above hold a part of the hash.
const ADDRESS_BITS: u32 = 48;

/// Of so many keys whose buckets are full one may put its hint in the place of another.
const EVICTIONS_ONE_IN: u64 = 8;

const _: () = assert!(usize::BITS == u64::BITS, "a hint is an address and 16 bits");

/// The hints of one tree.
pub(super) struct Hints {
    /// Null where the tree is small.
    table: AtomicPtr<Table>,
    hasher: HashState,
    size: CachePadded<Size>,
}

/// Written when leaves come and go.
struct Size {
    leaves: AtomicUsize,
    tables: AtomicU32,
}

struct Table {
    buckets: Box<[Bucket]>,
    /// Unlike that of any other table of the tree, and not 0.
    number: u32,
    race: RaceCell,
}

#[repr(align(64))]
struct Bucket([AtomicPtr<()>; BUCKET]);

/// Where the hint to a key is, if there is one. `T` is what it leads to.
#[derive(Clone, Copy)]
pub(super) struct Spot<'p> {
    table: &'p Table,
    bucket: &'p Bucket,
    /// The bits of the hash, in their place. Not 0, so that an empty slot has others.
    tag: usize,
}

impl Hints {
    pub(super) fn new() -> Hints {
        let size = Size { leaves: AtomicUsize::new(1), tables: AtomicU32::new(0) };
        Hints { table: AtomicPtr::default(), hasher: HashState::default(), size: CachePadded::new(size) }
    }

    #[inline]
    fn table<'p>(&self, _pin: &'p Pin<'_>) -> Option<&'p Table> {
        // SAFETY: a table is retired through the epochs when it is replaced, or its tree is dropped.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }.inspect(|table| table.race.read())
    }

    /// Where the hint to `key` is; `None` where the tree has no hints.
    #[inline]
    pub(super) fn spot<'p>(&self, pin: &'p Pin<'_>, key: &[u8]) -> Option<Spot<'p>> {
        self.table(pin).map(|table| self.spot_in(table, key))
    }

    #[inline]
    fn spot_in<'p>(&self, table: &'p Table, key: &[u8]) -> Spot<'p> {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        let hash = hasher.finish();
        let at = (u128::from(hash) * table.buckets.len() as u128) >> u64::BITS;
        let tag = (hash as usize | 1) << ADDRESS_BITS;
        Spot { table, bucket: &table.buckets[at as usize], tag }
    }

    /// Stores the hint to an entry that was found in `leaf` at `version`, if that is still the state of the leaf; where the
    /// table is new to the leaf, those of its other entries too.
    #[cold]
    pub(super) fn fill<T: Entry + ?Sized, const L: usize>(
        &self,
        pin: &Pin<'_>,
        spot: Spot<'_>,
        entry: Raw,
        (leaf, version): (&Leaf<T, L>, u64),
    ) {
        if leaf.hinted_in() == spot.table.number {
            // Another key has its turn in each epoch.
            let turn = pin.epoch().0 + (spot.tag >> ADDRESS_BITS) as u64;
            let evicts = turn.is_multiple_of(EVICTIONS_ONE_IN);
            if !evicts && !spot.has_room() {
                return;
            }
            if let Ok(_guard) = leaf.header.lock.try_lock(version) {
                spot.store(entry, evicts.then_some((turn / EVICTIONS_ONE_IN) as usize));
            }
            return;
        }
        let entries: Vec<Raw> = leaf.entries().inspect(|entry| prefetch(entry.as_ptr())).collect();
        if leaf.header.lock.validate(version).is_err() {
            return;
        }
        let spot_of = |&entry: &Raw| {
            // SAFETY: the leaf was validated, so its entries were linked under this pin.
            let spot = self.spot_in(spot.table, unsafe { key_of::<T>(entry) });
            spot.prefetch();
            spot
        };
        let spots: Vec<Spot<'_>> = entries.iter().map(spot_of).collect();
        if let Ok(_guard) = leaf.header.lock.try_lock(version) {
            spots.iter().zip(entries).for_each(|(spot, entry)| spot.store(entry, None));
            leaf.set_hinted_in(spot.table.number);
        }
    }

    /// The tree has `count` leaves more.
    pub(super) fn leaves_added<const L: usize>(&self, pin: &Pin<'_>, count: usize) {
        self.fit(pin, self.size.leaves.fetch_add(count, Ordering::Relaxed) + count, L);
    }

    /// The tree has one leaf less.
    pub(super) fn leaf_removed<const L: usize>(&self, pin: &Pin<'_>) {
        self.fit(pin, self.size.leaves.fetch_sub(1, Ordering::Relaxed) - 1, L);
    }

    /// About how many entries so many leaves of `slots` slots have: two thirds of the slots are used where keys come in no
    /// order, all where they come in order.
    fn entries(leaves: usize, slots: usize) -> usize {
        leaves * slots / 6 * 5
    }

    /// Replaces a table that is too small or much too large.
    fn fit(&self, pin: &Pin<'_>, leaves: usize, slots: usize) {
        let entries = Hints::entries(leaves, slots);
        let present = self.table(pin).map_or(0, |table| table.buckets.len());
        let wanted = if leaves < hinted_leaves_min() { 0 } else { (2 * entries).div_ceil(BUCKET) };
        if wanted * 2 <= present * 3 && present <= wanted * 4 {
            return;
        }
        self.replace(pin, wanted);
    }

    #[cold]
    fn replace(&self, pin: &Pin<'_>, buckets: usize) {
        let old = self.table.load(Ordering::Acquire);
        let number = self.size.tables.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
        let new = match buckets {
            0 => std::ptr::null_mut(),
            _ => Box::into_raw(Box::new(Table { buckets: empty(buckets), number, race: RaceCell::new() })),
        };
        match self.table.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => {
                pin.count(Kind::Nodes, if buckets > 0 { Table::bytes_of(buckets) } else { 0 });
                if let Some(old) = NonNull::new(old) {
                    // SAFETY: the exchange unlinked it, and only this thread did; it came from a box.
                    unsafe { pin.retire(Retired::new(old.cast(), free)) }
                }
            }
            // Somebody else has just done it; this one was never shared.
            // SAFETY: it came from a box a few lines above, or is null.
            Err(_) => drop((!new.is_null()).then(|| unsafe { Box::from_raw(new) })),
        }
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self, pin: &Pin<'_>) -> usize {
        self.table(pin).map_or(0, Table::bytes)
    }

    /// Retires the table of a tree that is being dropped: a key that was asked for under a pin may still lead to it.
    pub(super) fn close(&mut self, epochs: &Epochs) {
        if let Some(table) = NonNull::new(self.table.swap(std::ptr::null_mut(), Ordering::AcqRel)) {
            // SAFETY: the exchange unlinked it, and only this thread did; it came from a box.
            unsafe { epochs.retire_unpinned(Retired::new(table.cast(), free)) }
        }
    }
}

impl Table {
    fn bytes(&self) -> usize {
        Table::bytes_of(self.buckets.len())
    }

    fn bytes_of(buckets: usize) -> usize {
        size_of::<Table>() + buckets * size_of::<Bucket>()
    }
}

/// Frees a table.
///
/// # Safety
/// `raw` came from a box and nobody refers to it.
unsafe fn free(raw: NonNull<()>, tally: &Tally) {
    // SAFETY: the caller's promise.
    let table = unsafe { Box::from_raw(raw.cast::<Table>().as_ptr()) };
    tally.take_off(Kind::Nodes, table.bytes());
    table.race.write();
}

/// Buckets without hints, in memory that is not touched before it is used.
#[cfg(not(any(loom, shuttle)))]
fn empty(buckets: usize) -> Box<[Bucket]> {
    // SAFETY: a bucket is made of pointers that may be null.
    unsafe { Box::new_zeroed_slice(buckets).assume_init() }
}

/// Buckets without hints.
#[cfg(any(loom, shuttle))]
fn empty(buckets: usize) -> Box<[Bucket]> {
    (0..buckets).map(|_| Bucket(std::array::from_fn(|_| AtomicPtr::default()))).collect()
}

impl Spot<'_> {
    /// Asks for the hint.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(self.bucket);
    }

    /// The entry of `key`, if the hint leads to it.
    #[inline]
    pub(super) fn find<T: Entry + ?Sized>(&self, key: &[u8]) -> Option<Raw> {
        let entry = self.guess()?;
        // SAFETY: H2: the hint was stored when the entry was linked and found under the caller's pin.
        let other = unsafe { key_of::<T>(entry) };
        compare(other, key).is_eq().then_some(entry)
    }

    /// An entry whose hint is here, if there is one: that of the key, unless a part of its hash is another key's too.
    #[inline]
    pub(super) fn guess(&self) -> Option<Raw> {
        let untagged = |slot: &AtomicPtr<()>| slot.load(Ordering::Acquire).map_addr(|address| address ^ self.tag);
        // Of all slots at most one, nearly always, is an address without the tag; no branch depends on which.
        let [first, others @ ..] = &self.bucket.0;
        let lower = |best: *mut (), slot| {
            let other: *mut () = untagged(slot);
            if other.addr() < best.addr() { other } else { best }
        };
        let best = others.iter().fold(untagged(first), lower);
        NonNull::new(best).filter(|best| best.addr().get() >> ADDRESS_BITS == 0)
    }

    fn hint_to(&self, entry: Raw) -> *mut () {
        entry.as_ptr().map_addr(|address| address ^ self.tag)
    }

    fn has_room(&self) -> bool {
        self.bucket.0.iter().any(|slot| slot.load(Ordering::Relaxed).is_null())
    }

    /// Stores the hint to an entry where there is room, or in the place of some other; for the holder of the lock of the
    /// entry's leaf. (Or it does not, where somebody else is faster.)
    pub(super) fn store(&self, entry: Raw, evict: Option<usize>) {
        let hint = self.hint_to(entry);
        if entry.addr().get() >> ADDRESS_BITS != 0 {
            return;
        }
        let mut place = None;
        for slot in &self.bucket.0 {
            let other = slot.load(Ordering::Relaxed);
            if other == hint {
                return;
            }
            if other.is_null() {
                place = Some((slot, other));
            }
        }
        let evicted = || evict.map(|number| &self.bucket.0[number % BUCKET]);
        let place = place.or_else(|| evicted().map(|slot| (slot, slot.load(Ordering::Relaxed))));
        if let Some((slot, other)) = place {
            // Release: who follows the hint sees the entry.
            let _ = slot.compare_exchange(other, hint, Ordering::Release, Ordering::Relaxed);
        }
    }

    /// Clears the hint to an entry; for the holder of the lock of its leaf, before the entry is unlinked.
    pub(super) fn clear(&self, entry: Raw) {
        let hint = self.hint_to(entry);
        for slot in &self.bucket.0 {
            if slot.load(Ordering::Relaxed) == hint {
                // It fails where another hint took the place.
                let _ = slot.compare_exchange(hint, std::ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }
}
