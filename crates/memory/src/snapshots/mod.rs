//! Snapshots: the states at the ends of epochs, read while transactions go on (docs/protocols.md, snapshots).
//!
//! A snapshot has a boundary, an epoch E: it is what the transactions with an epoch up to E left behind. It is *announced*
//! before any transaction can have read an epoch beyond E, and can be read when E has ended ([`Epochs::has_ended`]). A version
//! carries the epoch of its transaction. Whoever overwrites or deletes one hands it to the *store* if an open snapshot sees it:
//! one whose boundary is no earlier than the version's epoch, and earlier than his own.
//!
//! Invariants:
//! - **U1** Who reads an epoch beyond E before a `SeqCst` fence sees the announcement after it, unless the snapshot is closed:
//!   `open` stores, fences, and then the clock still shows E; so of the two fences that of `open` is first. An announcement
//!   that the clock overtook is void.
//! - **U2** Of an open snapshot that can be read, each record's version of E is in the record, if that one's epoch is at most
//!   E; else in the store, if there was one. The exchange and the entry into the store are one step under the lock of a shard.
//! - **U3** A kept version has an *owner*: the earliest open snapshot that sees it. When its owner is gone it goes to the next
//!   one, or is let go. A snapshot is taken off the list of the open ones before the shards are searched for what it owned, and
//!   under a shard's lock the list is read anew: so nothing is kept for a snapshot behind the search.
//! - **U4** Before a record leaves its index, what the store has of it moves to the *orphans*, by index and key. A reader looks
//!   at them after the index: so it finds a version in the record, in the store under its address, or among the orphans. An
//!   address names one record for as long as the store has versions under it that an open snapshot sees.
//! - **U5** A *scan*, a snapshot of which one reader reads each record once, marks the records that it has passed: their
//!   versions are not kept for it. Whoever unlinks a version looks for the mark before, so that the scan has read the record by
//!   then. A mark that is seen late costs a version that is kept in vain. Marks come again only after a scan that was completed
//!   in between, and so has replaced the old ones.
//! - **U6** The store owns versions that are unlinked, and retires what it lets go of; writers take over its memory
//!   (`recycle.rs`).
//! - **U7** A snapshot that is *ended* says so before it is taken off the list. A reader asks after it has read; what it missed
//!   was not kept, or was let go of, by one who found the list without it.
//!
//! Memory safety rests on U6 and on pins alone, not on what callers do.
//!
//! Deliberately absent: chains of versions. A chain would cost every version a word for ever; this costs a commit a read of
//! a rarely written pointer while no snapshot is open. And when a snapshot is to be ended: the engine decides that.

mod store;

use std::collections::BTreeMap;
use std::mem;
use std::ops::Bound;
use std::ptr::NonNull;

use self::store::{KEPT_BYTES, Kept, Linked, OrphanKey, Orphaned, Places, Shard};
use crate::limbo::Retired;
use crate::recycle::Replaced;
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, fence};
use crate::sync::{Arc, Mutex, lock};
use crate::thin::Thin;
use crate::usage::{Kind, Tally};
use crate::version::{self, Version};
use crate::{Epoch, Epochs, Held, Pin, Record};

/// Pieces of the store, so that committers seldom meet at one lock.
const SHARDS: usize = if cfg!(any(loom, shuttle)) { 1 } else { 256 };

/// Pieces of the orphans, by index.
const ORPHANAGES: usize = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// How many places one piece of a sweep goes through.
const SWEPT_AT_ONCE: usize = 256;

/// Marks of scans are 1 to this.
const MARKS: u64 = u16::MAX as u64;

/// The snapshots of one database.
pub struct Snapshots {
    epochs: Arc<Epochs>,
    /// Never null.
    open: AtomicPtr<Open>,
    /// Locked by whoever changes `open`.
    registry: Mutex<Registry>,
    /// Old versions by the address of their record.
    shards: Box<[Mutex<Linked>]>,
    /// Those of records that have left their index.
    orphans: Box<[Mutex<Orphaned>]>,
    /// Whether there may be any.
    has_orphans: AtomicBool,
    /// How many snapshots were closed.
    closed: AtomicU64,
    /// Whether the store may hold anything.
    is_used: AtomicBool,
    sweep: Mutex<Sweep>,
}

/// The snapshots that are open.
#[derive(Clone, Default)]
struct Open {
    /// In the order of their boundaries, which differ.
    all: Vec<Arc<State>>,
}

struct State {
    boundary: Epoch,
    reads: Reads,
    /// Of a scan; 0: none.
    mark: u16,
    has_ended: AtomicBool,
}

/// What a snapshot is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Each record of the primary indexes, once, by one reader: one such snapshot is open at a time.
    RowsOnce,
    /// Anything, by anybody.
    All,
}

#[derive(Default)]
struct Registry {
    /// Handles on the snapshot of each boundary.
    handles: BTreeMap<Epoch, usize>,
    /// How many scans there were.
    scans: u64,
    /// The last one that was completed.
    completed: u64,
}

/// How far the search for what closed snapshots owned is.
#[derive(Default)]
struct Sweep {
    /// The next shard.
    at: usize,
    /// How many snapshots were closed when it began, and when the last one did that has ended.
    of: u64,
    done: u64,
    /// The boundary of the earliest that was open when it began, or that may have been opened since.
    earliest: Epoch,
}

/// A transaction that commits, as snapshots see it: [`Record::install_in`].
pub struct Committer<'a> {
    snapshots: &'a Snapshots,
    open: &'a Open,
    epoch: Epoch,
}

/// A handle on an open snapshot; the last one dropped closes it.
pub struct Snapshot {
    snapshots: Arc<Snapshots>,
    state: Arc<State>,
}

/// The snapshot was ended while somebody could still read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

/// An open snapshot, and what is kept because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSnapshot {
    /// Its boundary.
    pub boundary: Epoch,
    /// What it reads.
    pub reads: Reads,
    /// How many handles there are.
    pub handles: usize,
    /// Versions that would go, or be kept for a later snapshot alone, if it were closed.
    pub versions: usize,
    /// The memory that they take.
    pub bytes: usize,
}

/// What [`Snapshots::sweep`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// There is nothing to do.
    Nothing,
    /// A piece; there is more.
    Piece,
    /// The last piece of what snapshots owned that had been closed before the first one. No snapshot that is open, or is opened
    /// from now on, has an earlier boundary than this.
    All(Epoch),
}

/// What a kept version becomes when its owner lets go of it.
fn retired(version: NonNull<version::Header>) -> Retired {
    Retired::new(version.cast(), version::free_kept)
}

impl Snapshots {
    /// No snapshot yet.
    pub fn new(epochs: Arc<Epochs>) -> Arc<Snapshots> {
        Arc::new(Snapshots {
            epochs,
            open: AtomicPtr::new(Box::into_raw(Box::default())),
            registry: Mutex::default(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            orphans: (0..ORPHANAGES).map(|_| Mutex::default()).collect(),
            has_orphans: AtomicBool::new(false),
            closed: AtomicU64::new(0),
            is_used: AtomicBool::new(false),
            sweep: Mutex::default(),
        })
    }

    fn current<'a>(&self, pin: &'a Pin<'_>) -> &'a Open {
        assert!(pin.is_of(&self.epochs), "a pin of other epochs does not protect the list of snapshots");
        // Acquire: what the list holds is seen.
        let current = self.open.load(Ordering::Acquire);
        // SAFETY: it was current under this pin and is retired through its clock when it is replaced.
        unsafe { &*current }
    }

    /// The list, for whoever has the registry: nobody replaces it meanwhile.
    fn listed<'a>(&'a self, _registry: &'a Registry) -> &'a Open {
        // SAFETY: it is replaced, and then retired, with the registry locked.
        unsafe { &*self.open.load(Ordering::Acquire) }
    }

    fn replace(&self, registry: &Registry, change: impl FnOnce(&mut Vec<Arc<State>>)) {
        let mut open = self.listed(registry).clone();
        change(&mut open.all);
        assert!(open.all.is_sorted_by(|one, next| one.boundary < next.boundary), "boundaries rise");
        // AcqRel: publishes the new list, and the old one is ours to free.
        let old = self.open.swap(Box::into_raw(Box::new(open)), Ordering::AcqRel);
        let old = NonNull::new(old).expect("there is always a list");
        // SAFETY: the exchange unlinked it, and only this thread did; it came from a box, and readers are under pins of this
        // clock.
        unsafe { self.epochs.retire_unpinned(Retired::new(old.cast(), free)) }
    }

    /// A transaction that commits in `epoch`. To be asked under the pin and after the fence that [`Pin::s_point`] ends with (U1).
    #[inline]
    pub fn committer<'a>(&'a self, pin: &'a Pin<'_>, epoch: Epoch) -> Committer<'a> {
        Committer { snapshots: self, open: self.current(pin), epoch }
    }

    /// Opens a snapshot of everything that has committed. It can be read when [`Snapshot::is_readable`] says so; for that the
    /// epoch must advance, and commits that are on their way must end. Who comes in the same epoch shares one. `None`: versions
    /// do not tell later epochs from the present one any more ([`Version::EPOCH_MAX`]).
    ///
    /// # Panics
    /// Where a snapshot is to be read once and there is one such.
    pub fn open(self: &Arc<Snapshots>, reads: Reads) -> Option<Snapshot> {
        loop {
            let mut registry = lock(&self.registry);
            self.is_used.store(true, Ordering::Release);
            let boundary = self.epochs.current();
            if boundary >= Version::EPOCH_MAX {
                return None;
            }
            let all = &self.listed(&registry).all;
            if let Some(last) = all.last().filter(|last| last.boundary == boundary) {
                if last.reads == Reads::All && reads == Reads::All {
                    let state = Arc::clone(last);
                    *registry.handles.get_mut(&boundary).expect("it is open") += 1;
                    return Some(Snapshot { snapshots: Arc::clone(self), state });
                }
                drop(registry);
                self.epochs.advance();
                continue;
            }
            let is_scanned = all.iter().any(|state| state.reads == Reads::RowsOnce);
            assert!(reads == Reads::All || !is_scanned, "one scan at a time");
            let mark = if reads == Reads::RowsOnce { registry.next_mark() } else { 0 };
            let state = Arc::new(State { boundary, reads, mark, has_ended: AtomicBool::new(false) });
            self.replace(&registry, |all| all.push(Arc::clone(&state)));
            fence(Ordering::SeqCst);
            registry.handles.insert(boundary, 1);
            if self.epochs.current() == boundary {
                return Some(Snapshot { snapshots: Arc::clone(self), state });
            }
            self.close(&mut registry, boundary);
        }
    }

    /// Takes a snapshot off the list; nothing is kept for it from now on.
    fn close(&self, registry: &mut Registry, boundary: Epoch) {
        if registry.handles.remove(&boundary).is_some() {
            self.replace(registry, |all| all.retain(|state| state.boundary != boundary));
            self.closed.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Ends the snapshot of a boundary, though there are handles: who reads it is told so. `false`: there is none.
    pub fn end(&self, boundary: Epoch) -> bool {
        let mut registry = lock(&self.registry);
        let Some(state) = self.listed(&registry).all.iter().find(|state| state.boundary == boundary) else {
            return false;
        };
        // Before it leaves the list (U7).
        state.has_ended.store(true, Ordering::SeqCst);
        self.close(&mut registry, boundary);
        true
    }

    /// Has [`Snapshots::sweep`] go through everything once more: something may have been kept for a snapshot that was about to
    /// close.
    pub fn sweep_again(&self) {
        self.closed.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether any snapshot is open.
    pub fn is_open(&self, pin: &Pin<'_>) -> bool {
        !self.current(pin).all.is_empty()
    }

    /// The snapshots that are open, the earliest first.
    pub fn list(&self) -> Vec<OpenSnapshot> {
        let mut all: Vec<OpenSnapshot> = {
            let registry = lock(&self.registry);
            let open = self.listed(&registry).all.iter();
            open.map(|state| OpenSnapshot {
                boundary: state.boundary,
                reads: state.reads,
                handles: registry.handles.get(&state.boundary).copied().unwrap_or(0),
                versions: 0,
                bytes: 0,
            })
            .collect()
        };
        if !all.is_empty() {
            self.shards.iter().for_each(|shard| lock(shard).count(&mut all));
            self.orphans.iter().for_each(|shard| lock(shard).count(&mut all));
        }
        all
    }

    /// The owner of a record's lock is about to take it out of the index `tree`: what the store has of it is kept by its key
    /// (U4).
    pub fn orphan(&self, record: &Record, tree: u64) {
        // What was kept of this record was so under its lock, and later than this was set.
        if !self.is_used.load(Ordering::Acquire) {
            return;
        }
        let mut shard = lock(self.shard(record.address()));
        let kept = shard.take(&record.address(), |_| true);
        if kept.is_empty() {
            return;
        }
        // Before the record leaves its index.
        self.has_orphans.store(true, Ordering::Release);
        let mut orphans = lock(self.orphanage(tree));
        for kept in kept.into_iter().rev() {
            shard.disown(kept.owner, kept.bytes());
            orphans.keep((tree, record.key().into()), kept);
        }
    }

    /// Lets go of a piece of what closed snapshots own and no other one sees. For one caller at a time; others find nothing to
    /// do.
    pub fn sweep(&self) -> Swept {
        let mut sweep = lock(&self.sweep);
        if sweep.at == 0 {
            let registry = lock(&self.registry);
            sweep.of = self.closed.load(Ordering::Acquire);
            let first = self.listed(&registry).all.first();
            sweep.earliest = first.map_or_else(|| self.epochs.current(), |state| state.boundary);
            if sweep.of == sweep.done {
                return Swept::Nothing;
            }
        }
        // The orphans are last: what is among them was elsewhere before.
        let is_done = match sweep.at.checked_sub(self.shards.len()) {
            None => self.sweep_shard(&self.shards[sweep.at]),
            Some(at) => self.sweep_shard(&self.orphans[at]),
        };
        sweep.at += usize::from(is_done);
        if sweep.at < self.shards.len() + self.orphans.len() {
            return Swept::Piece;
        }
        (sweep.at, sweep.done) = (0, sweep.of);
        let registry = lock(&self.registry);
        // Under the registry nobody opens one, and all that were closed were closed before the shards were swept.
        if self.listed(&registry).all.is_empty() && self.closed.load(Ordering::Acquire) == sweep.done {
            self.is_used.store(false, Ordering::Release);
            self.has_orphans.store(false, Ordering::Release);
        }
        Swept::All(sweep.earliest)
    }

    /// Lets go of some of what closed snapshots own in a shard; returns whether that was all.
    fn sweep_shard<P: Places>(&self, shard: &Mutex<Shard<P>>) -> bool {
        let tally = Tally::default();
        let mut freed = Vec::new();
        let is_done = {
            let mut shard = lock(shard);
            // Under the lock of the shard (U3).
            let open = {
                let registry = lock(&self.registry);
                self.listed(&registry).clone()
            };
            let is_closed = |owner: &Epoch| open.all.binary_search_by_key(owner, |state| state.boundary).is_err();
            let closed: Vec<Epoch> = shard.owned.keys().copied().filter(is_closed).collect();
            let mut budget = SWEPT_AT_ONCE;
            for owner in closed {
                shard.let_go(owner, &open, &tally, &mut budget, |version| freed.push(Replaced::new(version.cast())));
            }
            // Committers wait for the lock.
            budget > 0
        };
        self.epochs.account().fold(&tally);
        if !freed.is_empty() {
            // SAFETY: U6: they were unlinked before they came into the store, and left it once.
            unsafe { self.epochs.spare(freed) }
        }
        is_done
    }

    fn shard(&self, address: usize) -> &Mutex<Linked> {
        // Records are at least 16 bytes apart; their addresses' upper bits hardly differ.
        &self.shards[(address >> 5) % SHARDS]
    }

    fn orphanage(&self, tree: u64) -> &Mutex<Orphaned> {
        &self.orphans[tree as usize % ORPHANAGES]
    }
}

/// Frees a list.
///
/// # Safety
/// `raw` came from a box and nobody refers to it.
unsafe fn free(raw: NonNull<()>, _: &Tally) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(raw.cast::<Open>().as_ptr()) });
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        // SAFETY: it is never null, came from a box, and what borrows it borrows `self`.
        drop(unsafe { Box::from_raw(self.open.load(Ordering::Acquire)) });
        let tally = Tally::default();
        let shards = self.shards.iter().flat_map(|shard| mem::take(&mut *lock(shard)).chains.into_chains());
        let orphans = self.orphans.iter().flat_map(|shard| mem::take(&mut *lock(shard)).chains.into_chains());
        for kept in shards.chain(orphans).flat_map(Kept::into_chain) {
            tally.take_off(Kind::Retained, KEPT_BYTES);
            // SAFETY: U6; readers may hold versions under pins of this clock.
            unsafe { self.epochs.retire_unpinned(retired(kept.version)) }
        }
        self.epochs.account().fold(&tally);
    }
}

impl Registry {
    /// The mark of the next scan; 0 where each other one might be on some record still (U5).
    fn next_mark(&mut self) -> u16 {
        self.scans += 1;
        if self.scans - self.completed < MARKS { (self.scans % MARKS) as u16 + 1 } else { 0 }
    }
}

impl Open {
    /// The earliest snapshot that sees a version of `epoch` which was replaced in `replaced_in`; `passed` is the mark of its
    /// record.
    fn first_that_sees(&self, epoch: Epoch, replaced_in: Epoch, is_entry: bool, passed: u16) -> Option<Epoch> {
        let from = self.all.partition_point(|state| state.boundary < epoch);
        let those = self.all[from..].iter().take_while(|state| state.boundary < replaced_in);
        let is_passed =
            |state: &State| state.reads == Reads::RowsOnce && (is_entry || passed != 0 && state.mark == passed);
        those.filter(|state| !is_passed(state)).map(|state| state.boundary).next()
    }

    /// Whether a snapshot other than a scan sees it.
    fn is_shared(&self, epoch: Epoch, replaced_in: Epoch) -> bool {
        let sees = |state: &State| epoch <= state.boundary && state.boundary < replaced_in;
        self.all.iter().any(|state| state.reads == Reads::All && sees(state))
    }
}

/// Whether no key lies between two, which a map does not want to be asked.
fn is_empty(low: &Bound<OrphanKey>, high: &Bound<OrphanKey>) -> bool {
    match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => low >= high,
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
    }
}

impl<'a> Committer<'a> {
    /// Of the transaction.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Asks for the memory that [`Record::install_in`] of `records` will look at.
    #[inline]
    pub fn expect<'r>(&self, records: impl Iterator<Item = &'r Record>) {
        if !self.open.all.is_empty() {
            records.for_each(|record| record.prefetch_version(1));
        }
    }

    /// Unlinks a record's version, and keeps it where an open snapshot sees it; returns what the caller is to retire instead.
    #[inline]
    pub(crate) fn exchange(
        &self,
        pin: &Pin<'_>,
        record: &Record,
        is_entry: bool,
        unlink: impl FnOnce() -> Option<NonNull<version::Header>>,
    ) -> Option<NonNull<version::Header>> {
        assert!(pin.is_of(&self.snapshots.epochs), "snapshots keep versions of their own clock");
        // The holder of the lock sees the version that it will unlink.
        let sees = |old: &Version| self.open.first_that_sees(old.epoch(), self.epoch, is_entry, record.passed());
        if self.open.all.is_empty() || record.version(pin).and_then(sees).is_none() {
            return unlink();
        }
        self.keep(pin, record, is_entry, unlink)
    }

    #[cold]
    fn keep(
        &self,
        pin: &Pin<'_>,
        record: &Record,
        is_entry: bool,
        unlink: impl FnOnce() -> Option<NonNull<version::Header>>,
    ) -> Option<NonNull<version::Header>> {
        let mut shard = lock(self.snapshots.shard(record.address()));
        // Before the exchange: whose mark is seen has read the record before it.
        let passed = record.passed();
        let old = unlink()?;
        // SAFETY: this thread has just unlinked it, under a pin.
        let version = unsafe { Version::from_raw(old.cast()) };
        // Under the lock of the shard (U3).
        let open = self.snapshots.current(pin);
        let Some(owner) = open.first_that_sees(version.epoch(), self.epoch, is_entry, passed) else {
            return Some(old);
        };
        pin.tally().turn(Kind::Rows, Kind::Retained, version.memory_bytes());
        pin.tally().add(Kind::Retained, KEPT_BYTES);
        shard.keep(record.address(), Kept { version: old, replaced_in: self.epoch, owner, is_entry, next: None });
        None
    }
}

impl Snapshot {
    /// The epoch at whose end the state is read.
    pub fn boundary(&self) -> Epoch {
        self.state.boundary
    }

    /// Whether every transaction that belongs to it has ended.
    pub fn is_readable(&self) -> bool {
        self.snapshots.epochs.has_ended(self.state.boundary)
    }

    /// Whether it was ended by [`Snapshots::end`].
    pub fn has_ended(&self) -> bool {
        self.state.has_ended.load(Ordering::SeqCst)
    }

    /// The row of a record of the index `tree` in this snapshot, if it has one. Right once it is readable. A scan does not come
    /// to the record again: nothing of it is kept for that from now on.
    ///
    /// # Errors
    /// The snapshot was ended.
    pub fn read<'a>(&self, pin: &'a Pin<'_>, tree: u64, held: Held<Record>) -> Result<Option<&'a Version>, Ended> {
        let record = pin.get(held);
        let current = record.version(pin).filter(|version| version.epoch() <= self.state.boundary);
        if self.state.reads == Reads::RowsOnce {
            record.set_passed(self.state.mark);
        }
        let kept = || lock(self.snapshots.shard(record.address())).read(pin, &record.address(), self);
        match current.or_else(kept) {
            found @ Some(_) if !self.has_ended() => Ok(found),
            _ => self.read_orphan(pin, tree, record.key()),
        }
    }

    /// The row of a key of the index `tree` of which that has no record, or none with a row that this snapshot sees. To be
    /// asked after the index.
    ///
    /// # Errors
    /// The snapshot was ended.
    pub fn read_orphan<'a>(&self, pin: &'a Pin<'_>, tree: u64, key: &[u8]) -> Result<Option<&'a Version>, Ended> {
        let found = match self.snapshots.has_orphans.load(Ordering::Acquire) {
            true => lock(self.snapshots.orphanage(tree)).read(pin, &(tree, key.into()), self),
            false => None,
        };
        if self.has_ended() { Err(Ended) } else { Ok(found) }
    }

    /// The first keys between two, or the last ones where `is_reversed`, in that order, that may have a row in this snapshot
    /// that is not in the index `tree` any more. To be asked after the index.
    pub fn orphans(
        &self,
        tree: u64,
        (low, high): (Bound<&[u8]>, Bound<&[u8]>),
        is_reversed: bool,
        keys_max: usize,
    ) -> Vec<Box<[u8]>> {
        if !self.snapshots.has_orphans.load(Ordering::Acquire) {
            return Vec::new();
        }
        let place = |bound: Bound<&[u8]>| bound.map(|key| (tree, Box::from(key)));
        let low = if low == Bound::Unbounded { Bound::Included((tree, Box::default())) } else { place(low) };
        let high = if high == Bound::Unbounded { Bound::Excluded((tree + 1, Box::default())) } else { place(high) };
        if is_empty(&low, &high) {
            return Vec::new();
        }
        let shard = lock(self.snapshots.orphanage(tree));
        let seen = shard.chains.range((low, high)).filter(|(_, kept)| kept.seen_at(self.state.boundary).is_some());
        let key = |((_, key), _): (&OrphanKey, &Kept)| key.clone();
        match is_reversed {
            false => seen.take(keys_max).map(key).collect(),
            true => seen.rev().take(keys_max).map(key).collect(),
        }
    }

    /// Notes that a scan has read every record: its mark is on all of them.
    pub fn complete(&self) {
        let mut registry = lock(&self.snapshots.registry);
        registry.completed = registry.scans;
    }
}

impl Clone for Snapshot {
    fn clone(&self) -> Snapshot {
        let mut registry = lock(&self.snapshots.registry);
        if !self.has_ended() {
            *registry.handles.get_mut(&self.state.boundary).expect("it is open") += 1;
        }
        Snapshot { snapshots: Arc::clone(&self.snapshots), state: Arc::clone(&self.state) }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut registry = lock(&self.snapshots.registry);
        if self.has_ended() {
            return;
        }
        let boundary = self.state.boundary;
        let handles = registry.handles.get_mut(&boundary).expect("it is open");
        *handles -= 1;
        if *handles == 0 {
            self.snapshots.close(&mut registry, boundary);
        }
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("boundary", &self.state.boundary).finish_non_exhaustive()
    }
}
