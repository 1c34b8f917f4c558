//! The store: versions that have been unlinked and that a snapshot sees, by the address of their record, or by its key.

use std::collections::BTreeMap;
use std::iter::{from_fn, successors};
use std::mem;
use std::ptr::NonNull;

use super::{Open, OpenSnapshot, Reads, Snapshot, retired};
use crate::address_map::AddressMap;
use crate::thin::Thin;
use crate::usage::{Kind, Tally};
use crate::version::{self, Version};
use crate::{Epoch, Pin};

/// What the store needs for a version beside it, about.
pub(super) const KEPT_BYTES: usize = mem::size_of::<(usize, Kept)>() + 2 * mem::size_of::<usize>();

/// The index and the key that a record had.
pub(super) type OrphanKey = (u64, Box<[u8]>);

/// Old versions by the address of their record.
pub(super) type Linked = Shard<AddressMap<Kept>>;

/// Old versions by what their record was called.
pub(super) type Orphaned = Shard<BTreeMap<OrphanKey, Kept>>;

/// A piece of the store.
pub(super) struct Shard<P: Places> {
    pub(super) chains: P,
    /// By the boundary of the owner.
    pub(super) owned: BTreeMap<Epoch, Owned<P::Place>>,
}

impl<P: Places> Default for Shard<P> {
    fn default() -> Self {
        Shard { chains: P::default(), owned: BTreeMap::new() }
    }
}

/// What one snapshot owns.
pub(super) struct Owned<T> {
    /// Where. Some may have nothing any more.
    places: Vec<T>,
    versions: usize,
    bytes: usize,
}

impl<T> Default for Owned<T> {
    fn default() -> Self {
        Owned { places: Vec::new(), versions: 0, bytes: 0 }
    }
}

/// A map to the versions of a record, the newest first.
pub(super) trait Places: Default {
    /// What names the record.
    type Place: Clone;

    fn chain(&self, place: &Self::Place) -> Option<&Kept>;
    fn chain_mut(&mut self, place: &Self::Place) -> Option<&mut Kept>;
    fn remove(&mut self, place: &Self::Place) -> Option<Kept>;
    fn insert(&mut self, place: Self::Place, chain: Kept);
    /// Gives all away.
    fn into_chains(self) -> impl Iterator<Item = Kept>;
}

impl Places for AddressMap<Kept> {
    type Place = usize;

    fn chain(&self, place: &usize) -> Option<&Kept> {
        self.get(place)
    }

    fn chain_mut(&mut self, place: &usize) -> Option<&mut Kept> {
        self.get_mut(place)
    }

    fn remove(&mut self, place: &usize) -> Option<Kept> {
        AddressMap::remove(self, place)
    }

    fn insert(&mut self, place: usize, chain: Kept) {
        AddressMap::insert(self, place, chain);
    }

    fn into_chains(self) -> impl Iterator<Item = Kept> {
        self.into_values()
    }
}

impl Places for BTreeMap<OrphanKey, Kept> {
    type Place = OrphanKey;

    fn chain(&self, place: &OrphanKey) -> Option<&Kept> {
        self.get(place)
    }

    fn chain_mut(&mut self, place: &OrphanKey) -> Option<&mut Kept> {
        self.get_mut(place)
    }

    fn remove(&mut self, place: &OrphanKey) -> Option<Kept> {
        BTreeMap::remove(self, place)
    }

    fn insert(&mut self, place: OrphanKey, chain: Kept) {
        BTreeMap::insert(self, place, chain);
    }

    fn into_chains(self) -> impl Iterator<Item = Kept> {
        self.into_values()
    }
}

/// An old version of a record.
pub(super) struct Kept {
    pub(super) version: NonNull<version::Header>,
    /// The epoch of whoever replaced it.
    pub(super) replaced_in: Epoch,
    pub(super) owner: Epoch,
    pub(super) is_entry: bool,
    pub(super) next: Option<Box<Kept>>,
}

// SAFETY: the store owns versions, which may be freed on any thread.
unsafe impl Send for Kept {}

impl Kept {
    pub(super) fn version(&self) -> &Version {
        // SAFETY: the store owns it while it has it.
        unsafe { Version::from_raw(self.version.cast()) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.version().memory_bytes() + KEPT_BYTES
    }

    /// This one and the older ones of the record.
    pub(super) fn chain(&self) -> impl Iterator<Item = &Kept> {
        successors(Some(self), |kept| kept.next.as_deref())
    }

    /// The one that a snapshot of `boundary` sees.
    pub(super) fn seen_at(&self, boundary: Epoch) -> Option<&Kept> {
        self.chain().find(|kept| kept.version().epoch() <= boundary && boundary < kept.replaced_in)
    }

    /// Takes the chain apart.
    pub(super) fn into_chain(self) -> impl Iterator<Item = Kept> {
        let mut next = Some(self);
        from_fn(move || {
            let mut kept = next.take()?;
            next = kept.next.take().map(|kept| *kept);
            Some(kept)
        })
    }
}

impl<P: Places> Shard<P> {
    pub(super) fn keep(&mut self, place: P::Place, kept: Kept) {
        let owned = self.owned.entry(kept.owner).or_default();
        owned.places.push(place.clone());
        owned.versions += 1;
        owned.bytes += kept.bytes();
        match self.chains.chain_mut(&place) {
            Some(newest) => kept_before(newest, kept),
            None => self.chains.insert(place, kept),
        }
    }

    pub(super) fn disown(&mut self, owner: Epoch, bytes: usize) {
        if let Some(owned) = self.owned.get_mut(&owner) {
            owned.versions -= 1;
            owned.bytes -= bytes;
        }
    }

    /// Adds what snapshots own here.
    pub(super) fn count(&self, all: &mut [OpenSnapshot]) {
        for (owner, owned) in &self.owned {
            if let Ok(at) = all.binary_search_by_key(owner, |open| open.boundary) {
                all[at].versions += owned.versions;
                all[at].bytes += owned.bytes;
            }
        }
    }

    /// Takes versions of a record out of the store, the newest first.
    pub(super) fn take(&mut self, place: &P::Place, is_taken: impl FnMut(&Kept) -> bool) -> Vec<Kept> {
        let Some(chain) = self.chains.remove(place) else { return Vec::new() };
        let (taken, left): (Vec<Kept>, Vec<Kept>) = chain.into_chain().partition(is_taken);
        let rest = left.into_iter().rev().reduce(|older, kept| Kept { next: Some(Box::new(older)), ..kept });
        rest.into_iter().for_each(|rest| self.chains.insert(place.clone(), rest));
        taken
    }

    /// The snapshot `owner` is closed: as far as the budget allows, what it owned goes to the next one that sees it, or is freed.
    pub(super) fn let_go(
        &mut self,
        owner: Epoch,
        open: &Open,
        tally: &Tally,
        budget: &mut usize,
        mut free: impl FnMut(NonNull<version::Header>),
    ) {
        loop {
            let Some(place) = self.owned.get_mut(&owner).and_then(|owned| owned.places.pop()) else {
                self.owned.remove(&owner);
                return;
            };
            if *budget == 0 {
                self.owned.entry(owner).or_default().places.push(place);
                return;
            }
            *budget -= 1;
            for kept in self.take(&place, |kept| kept.owner == owner) {
                // Whether a scan has passed the record is not known here.
                self.disown(owner, kept.bytes());
                match open.first_that_sees(kept.version().epoch(), kept.replaced_in, kept.is_entry, 0) {
                    Some(owner) => self.keep(place.clone(), Kept { owner, ..kept }),
                    None => {
                        tally.take_off(Kind::Retained, KEPT_BYTES);
                        free(kept.version);
                    }
                }
            }
        }
    }

    /// The version of a record that `snapshot` sees, which lives while `pin` does. Where that is a scan, and nobody else sees
    /// it, it leaves the store.
    pub(super) fn read<'a>(&mut self, pin: &'a Pin<'_>, place: &P::Place, snapshot: &Snapshot) -> Option<&'a Version> {
        let kept = self.chains.chain(place)?.seen_at(snapshot.state.boundary)?;
        let (version, epoch, replaced_in) = (kept.version, kept.version().epoch(), kept.replaced_in);
        if snapshot.state.reads == Reads::RowsOnce && !snapshot.snapshots.current(pin).is_shared(epoch, replaced_in) {
            for kept in self.take(place, |kept| kept.version == version) {
                self.disown(kept.owner, kept.bytes());
                pin.tally().take_off(Kind::Retained, KEPT_BYTES);
                // SAFETY: U6: it left the store once, now.
                unsafe { pin.retire(retired(kept.version)) }
            }
        }
        // SAFETY: U6: the store owned it under this pin, and retires it through its clock.
        Some(unsafe { Version::from_raw(version.cast()) })
    }
}

/// Puts one more version of a record beside those that there are.
fn kept_before(newest: &mut Kept, mut kept: Kept) {
    mem::swap(newest, &mut kept);
    newest.next = Some(Box::new(kept));
}
