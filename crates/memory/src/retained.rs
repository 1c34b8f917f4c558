//! Snapshots: the state at the end of an epoch, read while transactions go on (docs/protocols.md, copy on write).
//!
//! A snapshot has a number n and a boundary, an epoch E: it is what the transactions with an epoch up to E left behind. It
//! is *announced* before any transaction can have read an epoch beyond E. From then on whoever overwrites or deletes, with an
//! epoch beyond E, a version that belongs to the snapshot hands it to the snapshot's *retained* store. The scan begins
//! when every transaction up to E has ended, finds each record's version of E in the record or in the store, and
//! then releases the store.
//!
//! Invariants:
//! - **U1** Who reads an epoch beyond E before a `SeqCst` fence sees the announcement, or a later one, after it: `announce`
//!   stores, fences, and then the clock still shows E or less; so of the two fences that of `announce` is first. An
//!   announcement that the clock overtook is void and the next one has another number, because versions may carry it.
//! - **U2** A version's interval is below n iff its transaction's epoch is at most E and the scan has not taken it. One that
//!   does not see announcement n has an epoch up to E by U1, and gives n - 1 or less. One that does compares.
//! - **U3** A record's version of E is in the record while that one's interval is below n; else, until the scan takes it, in
//!   the store; else there was none. The exchange and the entry into the store are one step under the store's lock.
//! - **U4** The scan takes each version of E once. It marks a version that it finds in the record, fences and looks at
//!   the record again; the overwriter exchanges, fences and looks at the mark: so either he sees the mark and keeps nothing, or
//!   the scan sees the exchange and takes the version out of the store, too.
//! - **U5** Before a record leaves its index, its version is moved from the store to the *orphans*, with its key. So the scan
//!   finds every version of E in a record, in the store or among the orphans; at its end the store is empty.
//! - **U6** The store owns versions that are unlinked. It is closed piece by piece when the scan is over, and what it held is
//!   retired; who finds a piece closed retires the version himself. An announcement goes only when all pieces are closed.
//!
//! Memory safety rests on U6 and on pins alone, not on what callers do.
//!
//! Deliberately absent: chains of versions. A chain would cost every version a word for ever; this costs nothing but a
//! read of a rarely written pointer per commit while no snapshot is active.

use std::collections::hash_map::Entry;
use std::ptr::{self, NonNull};

use crate::address_map::AddressMap;
use crate::limbo::Retired;
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use crate::sync::{Arc, Mutex, lock};
use crate::thin::Thin;
use crate::usage::{Kind, Tally};
use crate::version::{self, Version};
use crate::{Epoch, Epochs, Held, Pin, Record};

/// Pieces of a store, so that committers seldom meet at one lock.
const SHARDS: usize = if cfg!(any(loom, shuttle)) { 1 } else { 256 };

/// The snapshots of one database, one at a time.
pub struct Snapshots {
    epochs: Arc<Epochs>,
    /// Never null.
    current: AtomicPtr<Announcement>,
}

struct Announcement {
    number: u32,
    boundary: Epoch,
    /// `None`: the snapshot is over.
    retained: Option<Retained>,
}

/// Old versions by the address of their record.
pub(crate) struct Retained {
    shards: Box<[Mutex<Shard>]>,
    /// Shards that are closed: the first ones.
    closed: AtomicUsize,
    /// Of records that have left their index. Locked after a shard.
    orphans: Mutex<Vec<Orphan>>,
}

#[derive(Default)]
struct Shard {
    is_closed: bool,
    versions: AddressMap<NonNull<version::Header>>,
}

// SAFETY: a shard owns versions, which may be freed on any thread.
unsafe impl Send for Shard {}

/// A version whose record is gone.
struct Orphan {
    table: u32,
    key: Box<[u8]>,
    version: NonNull<version::Header>,
}

// SAFETY: as for a shard.
unsafe impl Send for Orphan {}

/// The rows of a snapshot whose records left their index before the scan came to them, in the order of table and key.
pub struct Orphans {
    epochs: Arc<Epochs>,
    rows: Vec<Orphan>,
}

/// What a kept version becomes when its owner lets go of it.
fn retired(version: NonNull<version::Header>) -> Retired {
    Retired::new(version.cast(), version::free_kept)
}

/// Where a transaction stands between the snapshots, for [`Record::install_in`].
pub struct Interval<'a> {
    announcement: &'a Announcement,
    is_beyond: bool,
    /// The clock through which what the snapshot keeps is retired.
    epochs: u32,
}

/// The snapshot that is active, under a pin.
pub struct Snapshot<'a> {
    announcement: &'a Announcement,
    retained: &'a Retained,
    pin: &'a Pin<'a>,
}

impl Snapshots {
    /// No snapshot yet.
    pub fn new(epochs: Arc<Epochs>) -> Snapshots {
        let before_all = Announcement { number: 0, boundary: Epoch(u64::MAX), retained: None };
        Snapshots { epochs, current: AtomicPtr::new(Box::into_raw(Box::new(before_all))) }
    }

    fn current<'a>(&self, pin: &'a Pin<'_>) -> &'a Announcement {
        assert!(pin.is_of(&self.epochs), "a pin of other epochs does not protect this announcement");
        // Acquire: what the announcement holds is seen.
        let current = self.current.load(Ordering::Acquire);
        // SAFETY: it was current under this pin and is retired through its clock when it is replaced.
        unsafe { &*current }
    }

    /// Where a transaction with this epoch stands. To be asked under the pin and after the fence that [`Pin::current_epoch`]
    /// ends with (U1).
    #[inline]
    pub fn interval<'a>(&'a self, pin: &'a Pin<'_>, epoch: Epoch) -> Interval<'a> {
        let announcement = self.current(pin);
        Interval { announcement, is_beyond: epoch > announcement.boundary, epochs: pin.epochs_id() }
    }

    /// Whether there is a snapshot.
    pub fn is_active(&self, pin: &Pin<'_>) -> bool {
        self.current(pin).retained.is_some()
    }

    /// The active snapshot, if there is one.
    pub fn active<'a>(&'a self, pin: &'a Pin<'_>) -> Option<Snapshot<'a>> {
        let announcement = self.current(pin);
        let retained = announcement.retained.as_ref()?;
        Some(Snapshot { announcement, retained, pin })
    }

    /// Begins a snapshot, and returns its boundary: the end of the epoch after the present one. It can be read once
    /// [`Epochs::safe`] has reached the boundary. For one caller at a time.
    ///
    /// # Panics
    /// Where a snapshot is active.
    pub fn announce(&self, pin: &Pin<'_>) -> Epoch {
        loop {
            let before = self.current(pin);
            assert!(before.retained.is_none(), "there is one snapshot at a time");
            let number = before.number.checked_add(1).expect("fewer than 4 billion snapshots per open");
            let boundary = Epoch(self.epochs.current().0 + 1);
            self.replace(pin, Announcement { number, boundary, retained: Some(Retained::new()) });
            fence(Ordering::SeqCst);
            if self.epochs.current() <= boundary {
                return boundary;
            }
            while self.release(pin) {}
        }
    }

    /// At the end of the scan of the active snapshot: the rows that it could not find.
    ///
    /// # Errors
    /// The number of versions that were kept and that nobody took: a fault of the scan.
    pub fn take_orphans(&self, pin: &Pin<'_>) -> Result<Orphans, usize> {
        let retained = self.current(pin).retained.as_ref();
        let left = retained.map_or(0, Retained::len);
        if left > 0 {
            return Err(left);
        }
        let mut rows = retained.map(|retained| std::mem::take(&mut *lock(&retained.orphans))).unwrap_or_default();
        rows.sort_unstable_by(|a, b| (a.table, &a.key).cmp(&(b.table, &b.key)));
        Ok(Orphans { epochs: Arc::clone(&self.epochs), rows })
    }

    /// Gives back some of what the active snapshot retained, and ends it when nothing is left. Returns whether there is
    /// more to do. Nobody may read the snapshot any more.
    pub fn release(&self, pin: &Pin<'_>) -> bool {
        let announcement = self.current(pin);
        let Some(retained) = &announcement.retained else { return false };
        if retained.close_next(|old| {
            // SAFETY: U6: it was unlinked before it came into the store, and left the store once, now.
            unsafe { pin.retire(old) }
        }) {
            return true;
        }
        let Announcement { number, boundary, .. } = *announcement;
        self.replace(pin, Announcement { number, boundary, retained: None });
        false
    }

    fn replace(&self, pin: &Pin<'_>, announcement: Announcement) {
        // AcqRel: publishes the new announcement, and the old one is ours to free.
        let old = self.current.swap(Box::into_raw(Box::new(announcement)), Ordering::AcqRel);
        let old = NonNull::new(old).expect("there is always an announcement");
        // SAFETY: the exchange unlinked it, and only this thread did; it came from a box.
        unsafe { pin.retire(Retired::new(old.cast(), free)) }
    }
}

/// Frees an announcement.
///
/// # Safety
/// `raw` came from a box and nobody refers to it.
unsafe fn free(raw: NonNull<()>, _: &Tally) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(raw.cast::<Announcement>().as_ptr()) });
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        // SAFETY: it is never null, came from a box, and what borrows it borrows `self`.
        let current = unsafe { Box::from_raw(self.current.load(Ordering::Acquire)) };
        if let Some(retained) = &current.retained {
            while retained.close_next(|old| {
                // SAFETY: U6, as in `release`; readers may hold versions under pins of this clock.
                unsafe { self.epochs.retire_unpinned(old) }
            }) {}
        }
    }
}

impl Retained {
    fn new() -> Retained {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Retained { shards, closed: AtomicUsize::new(0), orphans: Mutex::default() }
    }

    fn shard(&self, address: usize) -> &Mutex<Shard> {
        // Records are at least 16 bytes apart; their addresses' upper bits hardly differ.
        &self.shards[(address >> 5) % SHARDS]
    }

    /// Unlinks a record's version and keeps it unless the scan took it; returns what the caller is to retire instead.
    pub(crate) fn keep(
        &self,
        address: usize,
        interval: &Interval<'_>,
        tally: &Tally,
        unlink: impl FnOnce() -> Option<NonNull<version::Header>>,
    ) -> Option<NonNull<version::Header>> {
        let mut shard = lock(self.shard(address));
        let old = unlink()?;
        // U4, with the fence in `Snapshot::take`.
        fence(Ordering::SeqCst);
        // SAFETY: this thread has just unlinked it.
        let version = unsafe { Version::from_raw(old.cast()) };
        if !interval.precedes(version) || shard.is_closed {
            return Some(old);
        }
        match shard.versions.entry(address) {
            Entry::Occupied(_) => Some(old),
            Entry::Vacant(place) => {
                tally.turn(Kind::Rows, Kind::Retained, version.memory_bytes());
                place.insert(old);
                None
            }
        }
    }

    fn has_orphan(&self, version: &Version) -> bool {
        let address = ptr::from_ref(version).addr();
        lock(&self.orphans).iter().any(|orphan| orphan.version.addr().get() == address)
    }

    /// How many versions wait for the scan.
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).versions.len()).sum()
    }

    /// Closes one more shard and gives away what it held; `false` where all were closed.
    fn close_next(&self, mut retire: impl FnMut(Retired)) -> bool {
        let next = self.closed.fetch_add(1, Ordering::Relaxed);
        let Some(shard) = self.shards.get(next) else {
            lock(&self.orphans).drain(..).for_each(|orphan| retire(retired(orphan.version)));
            return false;
        };
        let versions = {
            let mut shard = lock(shard);
            shard.is_closed = true;
            std::mem::take(&mut shard.versions)
        };
        versions.into_values().for_each(|old| retire(retired(old)));
        true
    }
}

impl<'a> Interval<'a> {
    /// What versions of the transaction carry.
    pub(crate) fn number(&self) -> u32 {
        if self.is_beyond { self.announcement.number } else { self.announcement.number.saturating_sub(1) }
    }

    /// Asks for the memory that [`Record::install_in`] of `records` will look at.
    #[inline]
    pub fn expect<'r>(&self, records: impl Iterator<Item = &'r Record>) {
        if self.retained().is_some() {
            records.for_each(|record| record.prefetch_version(1));
        }
    }

    /// Where the old versions go, if a snapshot needs any.
    pub(crate) fn retained(&self) -> Option<&'a Retained> {
        self.announcement.retained.as_ref().filter(|_| self.is_beyond)
    }

    /// Names the clock of the snapshots.
    #[inline]
    pub(crate) fn epochs_id(&self) -> u32 {
        self.epochs
    }

    /// Whether the announced snapshot contains `version`.
    pub(crate) fn precedes(&self, version: &Version) -> bool {
        version.interval() < self.announcement.number
    }
}

impl<'a> Snapshot<'a> {
    /// The epoch at whose end the state is read.
    pub fn boundary(&self) -> Epoch {
        self.announcement.boundary
    }

    /// Takes the row of a record in this snapshot, if it has one that was not taken yet. Right once [`Epochs::safe`] has
    /// reached the boundary, until [`Snapshots::release`] is called.
    pub fn take(&self, record: Held<Record>) -> Option<&'a Version> {
        let number = self.announcement.number;
        let current = self.pin.get(record).version(self.pin);
        let found = current.filter(|version| version.interval() < number);
        if let Some(version) = found {
            version.set_taken(number);
            // U4, with the fence in `Retained::keep`.
            fence(Ordering::SeqCst);
            if self.pin.get(record).version(self.pin).is_some_and(|again| ptr::eq(again, version)) {
                return found;
            }
        }
        let mut shard = lock(self.retained.shard(record.address()));
        let Some(version) = shard.versions.remove(&record.address()) else {
            // The overwriter saw the mark; or he came before it, and a purge has been here since.
            return found.filter(|version| !self.retained.has_orphan(version));
        };
        // SAFETY: U6: the store owned it under this pin, and it left the store once, now; so it lives while `pin` does.
        unsafe {
            self.pin.retire(retired(version));
            Some(Version::from_raw(version.cast()))
        }
    }

    /// The owner of a record's lock is about to take it out of its index, the primary one of `table`: what the snapshot
    /// needs of it is kept in another way (U5).
    pub fn orphan(&self, record: &Record, table: u32) {
        let mut shard = lock(self.retained.shard(record.address()));
        if let Some(version) = shard.versions.remove(&record.address()) {
            lock(&self.retained.orphans).push(Orphan { table, key: record.key().into(), version });
        }
    }
}

impl Orphans {
    /// Table, key and row of each.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (u32, &[u8], &Version)> {
        // SAFETY: `self` owns the versions.
        self.rows.iter().map(|row| (row.table, &*row.key, unsafe { Version::from_raw(row.version.cast()) }))
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        // SAFETY: they were unlinked and belong to `self` alone; readers may hold them under pins of this clock.
        self.rows.drain(..).for_each(|row| unsafe { self.epochs.retire_unpinned(retired(row.version)) });
    }
}
