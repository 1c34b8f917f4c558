//! Records: the shared, lockable place of one key, with its row version and the stamp of its last writer.
//!
//! The header word is `stamp << 3 | WAITED_FOR | DEAD | LOCK`. Invariants:
//! - **W1** the word's stamp strictly increases with every install, absences included (P1).
//! - **W2** a null version, or a tombstone, means that the key is absent, and then the word's stamp is the tombstone's or
//!   placeholder's.
//! - **W3** a present version carries its own stamp, so one load of the pointer is a consistent read; an installed version
//!   is committed, and validation finds whatever is missing.
//! - **W4** a version is unlinked by exchanging the pointer, so it is retired once, whoever exchanges; and only into the
//!   clock of the structure that the record was given to, which `read` checks too. Snapshots may own it in between.
//! - **W5** a dead record is absent and stays dead; whoever finds it looks its key up again.
//! - **W6** only replay marks a record as waited for, and only a replayed write takes that back.
//!
//! - **W7** a version that was installed with a timestamp tells that, and what its exchange unlinked. Those of one record
//!   increase; a deletion leaves a tombstone that tells the same.
//!
//! Where there are timestamps, a reader of the past ([`Record::read_at`]) goes from version to version. Nothing is kept for it:
//! what an exchange has unlinked is retired in the epoch of that exchange or a later one, and so outlives every pin of no later
//! epoch. A version tells the epoch of its commit, which is no later than its exchange, so whoever has pinned that epoch or an
//! earlier one may follow it to what it replaced. Who reads as of a moment has pinned no later epoch than that of the moment, and
//! follows versions that are later than the moment.
//!
//! Neither memory safety nor W4 rests on the caller's locking; W1 to W3 and W7 do, and are asserted.
//!
//! Deliberately absent: locks that outlast a commit (`locks`): the word of one is in a record, for whoever needs it, and nothing
//! here looks at it.

use std::alloc::{self, Layout};
use std::fmt;
use std::mem;
use std::ops::Deref;
use std::ptr::{self, NonNull};

use crate::locks::LockWord;
use crate::prefetch::{LINE_BYTES, prefetch};
use crate::snapshots::Committer;
use crate::sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, Ordering};
use crate::sync::{Backoff, RaceCell};
use crate::thin::{Entry, Keyed, Thin};
use crate::usage::{Kind, Tally};
use crate::version::{self, Link, Version, VersionBox};
use crate::{Epochs, Moment, Pin, Stamp, Timestamp};

/// The value of `Header::epochs` before the record is given to a structure.
const UNSHARED: u32 = 0;

/// A record's header word: its last writer's stamp, and whether it is locked or dead.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word(u64);

impl Word {
    const LOCK: u64 = 1;
    const DEAD: u64 = 2;
    const WAITED_FOR: u64 = 4;
    const STAMP_SHIFT: u32 = 3;

    fn unlocked(stamp: Stamp) -> Word {
        assert!(stamp <= Stamp::MAX, "a stamp fits in 61 bits");
        Word(stamp.0 << Word::STAMP_SHIFT)
    }

    /// The stamp of the last writer.
    pub fn stamp(self) -> Stamp {
        Stamp(self.0 >> Word::STAMP_SHIFT)
    }

    /// Whether a transaction holds the lock.
    pub fn is_locked(self) -> bool {
        self.0 & Word::LOCK != 0
    }

    /// Whether the record has left its index for good.
    pub fn is_dead(self) -> bool {
        self.0 & Word::DEAD != 0
    }

    /// Whether somebody has something at hand that waits for a write of the record, see [`Record::replay_by`].
    pub fn is_waited_for(self) -> bool {
        self.0 & Word::WAITED_FOR != 0
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lock = if self.is_locked() { " locked" } else { "" };
        let dead = if self.is_dead() { " dead" } else { "" };
        let waited_for = if self.is_waited_for() { " waited for" } else { "" };
        write!(f, "Word({}{lock}{dead}{waited_for})", self.stamp())
    }
}

/// Why [`Record::try_lock`] did not take the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockFailed {
    /// Another transaction holds it.
    Locked,
    /// The record has left its index; the key must be looked up again.
    Dead,
}

/// The record has left its index; the key must be looked up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dead;

/// What becomes of a record when a write of it is replayed.
#[derive(Debug)]
pub enum Replayed {
    /// It stays as it is.
    Superseded,
    /// It stays as it is, and is marked: the write waits for another one.
    Waits,
    /// It gets this version (`None`: it is deleted) under this stamp.
    Installed {
        /// The row.
        version: Option<VersionBox>,
        /// Of the version.
        stamp: Stamp,
        /// Whether other writes still wait.
        is_waited_for: bool,
    },
}

/// What a read finds in a record.
#[derive(Clone, Copy, Debug)]
pub enum Observed<'a> {
    /// The row as last installed.
    Present(&'a Version),
    /// No row; the stamp is that of the tombstone or placeholder.
    Absent(Stamp),
    /// The record has left its index; the key must be looked up again.
    Dead,
}

/// What a read as of a moment finds in a record.
#[derive(Clone, Copy, Debug)]
pub enum AsOf<'a> {
    /// What is there now.
    Newest(Observed<'a>),
    /// What was replaced since. The stamp of an absence may be greater than that of the tombstone or placeholder, and is no
    /// greater than that of what came next.
    Older(Observed<'a>),
    /// What was there is not known any more: the pin does not protect it. No moment read under the pin comes to this, until
    /// epochs are exhausted ([`Version::EPOCH_MAX`]).
    Lost,
}

/// The fixed part of a record; its address is the record's thin pointer.
#[repr(C)]
struct Header {
    word: AtomicU64,
    /// A [`Link`].
    version: AtomicPtr<version::Header>,
    lock_word: LockWord,
    key_len: u16,
    /// The mark of the last scan of a snapshot that has passed; 0: none has.
    passed: AtomicU16,
    /// The clock through which versions are retired; `UNSHARED` while a `RecordBox` owns the record.
    epochs: u32,
    race: RaceCell,
}

/// The place of one key in a table: a word, a version pointer and the key, in one allocation.
#[repr(C)]
pub struct Record {
    header: Header,
    key: [u8],
}

impl Record {
    /// A record without a row, to be given to an index. `stamp` is what readers of the absence depend on.
    pub fn new_absent(key: &[u8], stamp: Stamp) -> RecordBox {
        Record::allocate(key, stamp, ptr::null_mut())
    }

    /// A record with a row, to be given to an index.
    pub fn new_present(key: &[u8], version: VersionBox) -> RecordBox {
        Record::allocate(key, version.stamp(), version.into_raw().as_ptr())
    }

    fn allocate(key: &[u8], stamp: Stamp, version: *mut version::Header) -> RecordBox {
        let key_len = u16::try_from(key.len()).expect("a key is shorter than 64 KiB");
        let layout = Record::layout(key.len());
        // SAFETY: the layout holds at least the header.
        let raw = unsafe { alloc::alloc(layout) }.cast::<Header>();
        let Some(header) = NonNull::new(raw) else { alloc::handle_alloc_error(layout) };
        let value = Header {
            word: AtomicU64::new(Word::unlocked(stamp).0),
            version: AtomicPtr::new(version),
            lock_word: LockWord::new(),
            key_len,
            passed: AtomicU16::new(0),
            epochs: UNSHARED,
            race: RaceCell::new(),
        };
        // SAFETY: the allocation is new, aligned for the header, and has room for the key behind it.
        unsafe {
            header.write(value);
            ptr::copy_nonoverlapping(key.as_ptr(), header.add(1).as_ptr().cast::<u8>(), key.len());
        }
        RecordBox { header }
    }

    /// The key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.header.race.read();
        &self.key
    }

    /// What it takes of memory, without its version.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self)
    }

    /// The row or its absence. A row costs one load; an absence waits for a writer that holds the lock, because only an
    /// unlocked word says which absence it is.
    #[inline]
    pub fn read<'a>(&'a self, pin: &'a Pin<'_>) -> Observed<'a> {
        match self.version(pin) {
            Some(version) => Observed::Present(version),
            None => self.read_settled(pin),
        }
    }

    /// The row, if there is one just now. Never waits, so that a holder of locks may ask.
    #[inline]
    pub fn version<'a>(&'a self, pin: &'a Pin<'_>) -> Option<&'a Version> {
        self.check(pin);
        let version = self.link().row()?;
        // SAFETY: W4: the version was reachable under `pin`, whose clock it is retired through, so it lives while
        // `pin` is borrowed.
        Some(unsafe { Version::from_raw(version.cast()) })
    }

    #[inline]
    fn link(&self) -> Link {
        // Acquire: pairs with the exchange in `install`, so that the version's bytes are seen.
        Link(self.header.version.load(Ordering::Acquire))
    }

    /// The row or its absence as of a moment, which was read under this pin. Waits for a committer that holds the lock, unless
    /// what is there is too new already.
    #[inline]
    pub fn read_at<'a>(&'a self, pin: &'a Pin<'_>, at: Moment) -> AsOf<'a> {
        self.check(pin);
        let mut backoff = Backoff::new();
        loop {
            // Acquire, and first: the link read next is at least as new as the one this word's writer installed.
            let word = self.word();
            let link = self.link();
            if let Some(newest) = link.version()
                // SAFETY: W4, as in `version`.
                && unsafe { version::moment(newest) } > at
            {
                return self.read_older(pin, newest, at);
            }
            if word.is_locked() {
                backoff.wait();
                continue;
            }
            if let Some(row) = link.row() {
                // SAFETY: W4, as in `version`.
                return AsOf::Newest(Observed::Present(unsafe { Version::from_raw(row.cast()) }));
            }
            if word.is_dead() {
                return AsOf::Newest(Observed::Dead);
            }
            if self.header.word.load(Ordering::Relaxed) == word.0 {
                return AsOf::Newest(Observed::Absent(word.stamp()));
            }
        }
    }

    /// Goes from a version that is too new to what was there as of `at`.
    #[cold]
    fn read_older<'a>(&'a self, pin: &'a Pin<'_>, newest: NonNull<version::Header>, at: Moment) -> AsOf<'a> {
        let mut newer = newest;
        loop {
            // SAFETY: it was reachable under the pin, or is protected by it as said below.
            let version = unsafe { Version::from_raw(newer.cast()) };
            if version.epoch() < pin.epoch() {
                return AsOf::Lost;
            }
            // SAFETY: as above.
            let older = unsafe { version::older(newer) };
            let Some(found) = older.version() else { return AsOf::Older(Observed::Absent(version.stamp())) };
            // SAFETY: W7: the exchange that installed `newer` unlinked it, in an epoch no earlier than the pin's: it was retired
            // no earlier than that, and outlives the pin.
            let (moment, version) = unsafe { (version::moment(found), Version::from_raw(found.cast())) };
            if moment <= at {
                return AsOf::Older(match older.row() {
                    Some(_) => Observed::Present(version),
                    None => Observed::Absent(version.stamp()),
                });
            }
            newer = found;
        }
    }

    /// The word, if there is a row, without a look at the row. The word may be older than the row; then the record is locked, or
    /// has a later stamp by the time that its lock is free.
    #[inline]
    pub fn existing(&self) -> Option<Word> {
        // Acquire, and first: the pointer read next is at least as new as the one this word's writer installed. If it is newer
        // the word's stamp is not the record's any more, or the lock is held.
        let word = self.word();
        (!self.is_absent()).then_some(word)
    }

    /// The row or its absence at a moment at which nobody held the lock: what the holder of the lock would find.
    #[cold]
    pub fn read_settled<'a>(&'a self, pin: &'a Pin<'_>) -> Observed<'a> {
        let mut backoff = Backoff::new();
        loop {
            // Acquire: the pointer read next is at least as new as the one this word's writer installed.
            let word = self.word();
            if word.is_dead() {
                return Observed::Dead;
            }
            if word.is_locked() {
                backoff.wait();
                continue;
            }
            // Acquire: if a later writer exchanged this pointer, the word read next is no longer `word`.
            let version = self.version(pin);
            if self.header.word.load(Ordering::Relaxed) == word.0 {
                return version.map_or(Observed::Absent(word.stamp()), Observed::Present);
            }
        }
    }

    /// The lock that transactions hold until they end, where they do. The lock bit of [`Record::word`] is another one: of those
    /// that change the record just now.
    #[inline]
    pub fn lock_word(&self) -> &LockWord {
        &self.header.lock_word
    }

    /// The header word now.
    #[inline]
    pub fn word(&self) -> Word {
        Word(self.header.word.load(Ordering::Acquire))
    }

    /// Whether no row is installed.
    pub fn is_absent(&self) -> bool {
        self.link().is_absent()
    }

    /// Takes the lock if nobody has it; returns the word as it was.
    #[inline]
    pub fn try_lock(&self) -> Result<Word, LockFailed> {
        let mut word = self.header.word.load(Ordering::Relaxed);
        loop {
            if Word(word).is_dead() {
                return Err(LockFailed::Dead);
            }
            if Word(word).is_locked() {
                return Err(LockFailed::Locked);
            }
            // Acquire: pairs with the Release of the last unlock.
            match self.header.word.compare_exchange(word, word | Word::LOCK, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(Word(word)),
                Err(seen) => word = seen,
            }
        }
    }

    /// Takes the lock, waiting for it; returns the word as it was. Callers lock in one order, or deadlock.
    pub fn lock(&self) -> Result<Word, Dead> {
        let mut backoff = Backoff::new();
        loop {
            match self.try_lock() {
                Ok(word) => return Ok(word),
                Err(LockFailed::Dead) => return Err(Dead),
                Err(LockFailed::Locked) => backoff.wait(),
            }
        }
    }

    /// Gives the lock back; nothing has changed.
    pub fn unlock(&self) {
        let word = self.locked_word();
        self.header.word.store(word.0 & !Word::LOCK, Ordering::Release);
    }

    /// For the holder of the lock: makes `version` the row (`None`: deletes it), where no snapshot is open, and unlocks.
    #[cfg(test)]
    pub(crate) fn install(&self, pin: &Pin<'_>, version: Option<VersionBox>, stamp: Stamp) {
        self.check_install(pin, version.as_ref(), stamp);
        let old = self.exchange(version);
        self.end_install(pin, old, Word::unlocked(stamp));
    }

    /// For the holder of the lock: makes `version` the row (`None`: deletes it) and unlocks. The old version is retired, or
    /// handed to the snapshots where an open one sees it. `is_entry`: the record is an entry of a secondary index.
    ///
    /// # Panics
    /// Where the record is not locked, where `stamp` does not follow the last writer's (W1) or is not the version's, or
    /// where `pin` or `committer` is of another clock than the index that holds the record.
    pub fn install_in(
        &self,
        pin: &Pin<'_>,
        version: Option<VersionBox>,
        stamp: Stamp,
        committer: &Committer<'_>,
        is_entry: bool,
    ) {
        let version = version.map(|mut version| {
            version.set_epoch(committer.epoch());
            version
        });
        self.check_install(pin, version.as_ref(), stamp);
        let old = committer.exchange(pin, self, is_entry, || self.exchange(version));
        self.end_install(pin, old, Word::unlocked(stamp));
    }

    /// As [`Record::install_in`], for a clock [with histories](Epochs::with_histories): readers of the past find what was there
    /// before `timestamp`, which was drawn with the record locked and before the epoch of `committer` was read.
    ///
    /// # Panics
    /// As for [`Record::install_in`], and where the epoch of `committer` is one to come, or the version has no history.
    pub fn install_at(
        &self,
        pin: &Pin<'_>,
        version: Option<VersionBox>,
        (stamp, timestamp): (Stamp, Timestamp),
        committer: &Committer<'_>,
        is_entry: bool,
    ) {
        // What the safety of readers rests on: what is unlinked now is retired in that epoch or a later one.
        assert!(committer.epoch() <= pin.latest_epoch(), "a commit is of an epoch that has begun");
        let is_tombstone = version.is_none();
        let mut version = version.unwrap_or_else(|| {
            let mut tombstone = pin.new_version(0);
            tombstone.set_order(stamp, stamp);
            tombstone
        });
        version.set_epoch(committer.epoch());
        self.check_install(pin, Some(&version), stamp);
        let old = committer.exchange(pin, self, is_entry, || self.exchange_at(version, is_tombstone, timestamp));
        self.end_install(pin, old, Word::unlocked(stamp));
    }

    /// The mark of the last scan that has passed.
    pub(crate) fn passed(&self) -> u16 {
        self.header.passed.load(Ordering::Acquire)
    }

    /// A scan has read what it needs of this record.
    pub(crate) fn set_passed(&self, mark: u16) {
        self.header.passed.store(mark, Ordering::Release);
    }

    fn check_install(&self, pin: &Pin<'_>, version: Option<&VersionBox>, stamp: Stamp) {
        assert_eq!(self.header.epochs, pin.epochs_id(), "a record changes under a pin of its index's clock");
        let word = self.locked_word();
        assert!(stamp > word.stamp(), "stamps of a key increase: {stamp} after {word:?}");
        if let Some(version) = version {
            assert_eq!(version.stamp(), stamp, "a version carries its installer's stamp");
            pin.count(Kind::Rows, version.memory_bytes());
        }
    }

    /// The version that was there, which nobody can reach any more but through the history of another.
    fn exchange(&self, new: Option<VersionBox>) -> Option<NonNull<version::Header>> {
        let new = new.map_or(Link::NONE, |version| Link::to(version.into_raw(), false));
        // Release: publishes the bytes, and the lock bit to `read_settled`. Acquire: the old version is ours to free.
        Link(self.header.version.swap(new.0, Ordering::AcqRel)).version()
    }

    /// As [`Record::exchange`], and `new` tells what it has replaced.
    fn exchange_at(
        &self,
        mut new: VersionBox,
        is_tombstone: bool,
        timestamp: Timestamp,
    ) -> Option<NonNull<version::Header>> {
        let link = Link::to(new.as_raw(), is_tombstone);
        let mut older = self.link();
        loop {
            new.set_history(timestamp, older);
            // As in `exchange`. What is told is what the exchange unlinks, whoever else may change the record.
            let exchange = (Ordering::AcqRel, Ordering::Acquire);
            match self.header.version.compare_exchange(older.0, link.0, exchange.0, exchange.1) {
                Ok(_) => break,
                Err(seen) => older = Link(seen),
            }
        }
        // The record owns it.
        let _ = new.into_raw();
        older.version()
    }

    fn end_install(&self, pin: &Pin<'_>, old: Option<NonNull<version::Header>>, unlocked: Word) {
        if let Some(old) = old {
            // SAFETY: W4: the exchange made this thread the only one to have unlinked `old`; readers are under pins of
            // the same clock.
            unsafe { pin.retire_version(old.cast()) };
        }
        self.header.word.store(unlocked.0, Ordering::Release);
    }

    /// For the holder of the lock, as the record leaves its index: marks it dead and unlocks.
    ///
    /// # Panics
    /// Where the record is not locked or has a row.
    pub fn kill(&self) {
        let word = self.locked_word();
        assert!(self.is_absent(), "a record with a row stays in its index");
        self.header.word.store(Word::unlocked(word.stamp()).0 | Word::DEAD, Ordering::Release);
    }

    /// Replays one logged write: the last writer by stamp wins, in whatever order they come. Returns whether this one did.
    ///
    /// # Panics
    /// As for [`Record::install_in`], and where the record is dead: nothing is purged during replay.
    pub fn replay(&self, pin: &Pin<'_>, stamp: Stamp, version: Option<VersionBox>) -> bool {
        self.replay_by(pin, |word, _| match stamp > word.stamp() {
            true => Replayed::Installed { version, stamp, is_waited_for: false },
            false => Replayed::Superseded,
        })
    }

    /// Replays one logged write as `decide` says, which is given the word and the row, and runs while the record is locked:
    /// what it
    /// keeps beside records of the writes that wait is then in step with the marks. Returns whether something was installed.
    ///
    /// # Panics
    /// As for [`Record::replay`].
    pub fn replay_by(&self, pin: &Pin<'_>, decide: impl FnOnce(Word, Option<&Version>) -> Replayed) -> bool {
        let word = self.lock().expect("nothing is purged during replay");
        match decide(word, self.version(pin)) {
            Replayed::Superseded => self.unlock(),
            Replayed::Waits => {
                self.header.word.store(word.0 | Word::WAITED_FOR, Ordering::Release);
            }
            Replayed::Installed { version, stamp, is_waited_for } => {
                self.check_install(pin, version.as_ref(), stamp);
                let old = self.exchange(version);
                let mark = if is_waited_for { Word::WAITED_FOR } else { 0 };
                self.end_install(pin, old, Word(Word::unlocked(stamp).0 | mark));
                return true;
            }
        }
        false
    }

    #[inline]
    fn check(&self, pin: &Pin<'_>) {
        let epochs = self.header.epochs;
        assert!(epochs == pin.epochs_id() || epochs == UNSHARED, "a record is read under a pin of its index's clock");
    }

    /// Asks for the record and the first bytes of its key, which will be read soon.
    pub fn prefetch(&self) {
        let header = &raw const self.header;
        prefetch(header);
        // As far behind the header as short keys reach, which may be the next line.
        prefetch(header.wrapping_add(2));
    }

    /// Asks for the first `bytes` of the row's version, and at least one line, which will be read soon.
    pub fn prefetch_version(&self, bytes: usize) {
        let version = self.header.version.load(Ordering::Relaxed).cast::<u8>();
        (0..bytes.max(1)).step_by(LINE_BYTES).for_each(|line| prefetch(version.wrapping_add(line)));
    }

    /// What [`Held::address`](crate::Held::address) is of it.
    pub(crate) fn address(&self) -> usize {
        ptr::from_ref(&self.header).addr()
    }

    fn locked_word(&self) -> Word {
        let word = Word(self.header.word.load(Ordering::Relaxed));
        assert!(word.is_locked() && !word.is_dead(), "only the holder of a record's lock changes it: {word:?}");
        word
    }

    fn layout(key_len: usize) -> Layout {
        let key = Layout::array::<u8>(key_len).expect("a key fits in memory");
        let (layout, offset) = Layout::new::<Header>().extend(key).expect("a key fits in memory");
        debug_assert_eq!(offset, mem::size_of::<Header>());
        layout.pad_to_align()
    }

    /// The full pointer to the record whose header is at `header`.
    ///
    /// # Safety
    /// `header` points to the header of a live record.
    #[inline]
    unsafe fn widen(header: NonNull<Header>) -> *mut Record {
        // SAFETY: the header is initialized, and its key's length never changes.
        let key_len = unsafe { (*header.as_ptr()).key_len }.into();
        ptr::slice_from_raw_parts_mut(header.as_ptr().cast::<u8>(), key_len) as *mut Record
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("key", &&self.key).field("word", &self.word()).finish_non_exhaustive()
    }
}

impl Keyed for Record {
    #[inline]
    fn key(&self) -> &[u8] {
        Record::key(self)
    }
}

// SAFETY: the address of a record is that of its header, which holds the length of the key behind it.
unsafe impl Thin for Record {
    #[inline]
    unsafe fn from_raw<'a>(raw: NonNull<()>) -> &'a Record {
        // SAFETY: the caller passes the address of a live record, with the provenance of the whole allocation.
        unsafe { &*Record::widen(raw.cast()) }
    }
}

// SAFETY: `into_raw` gives up the one owner of an allocation that only `free` frees; a record is made of atomics, bytes
// that do not change, and a version that may be freed anywhere.
unsafe impl Entry for Record {
    type Owned = RecordBox;

    fn into_raw(owned: RecordBox, epochs: &Epochs, tally: &Tally) -> NonNull<()> {
        tally.add(Kind::Keys, owned.memory_bytes());
        let version = Link((*owned).header.version.load(Ordering::Relaxed)).version();
        // SAFETY: the box owned the record alone, and with it the version.
        tally.add(Kind::Rows, version.map_or(0, |version| unsafe { version::memory_bytes(version) }));
        let header = owned.header;
        mem::forget(owned);
        // SAFETY: the box owned the record alone, so nobody else sees the write.
        unsafe { (*header.as_ptr()).epochs = epochs.id() };
        header.cast()
    }

    unsafe fn free(raw: NonNull<()>, tally: &Tally) {
        // SAFETY: the caller owns a live record that nobody refers to, and with it the version that is still linked.
        unsafe {
            let record = Record::widen(raw.cast());
            (*record).header.race.write();
            if let Some(version) = (*record).link().version() {
                version::free(version.cast(), tally);
            }
            let layout = Layout::for_value(&*record);
            tally.take_off(Kind::Keys, layout.size());
            ptr::drop_in_place(record);
            alloc::dealloc(raw.as_ptr().cast(), layout);
        }
    }
}

/// A record that no index holds yet; freed when dropped.
pub struct RecordBox {
    header: NonNull<Header>,
}

impl RecordBox {
    /// Replays one logged write as [`Record::replay_by`] does, for the record's only owner: without a lock, and what is replaced
    /// is freed at once.
    ///
    /// # Panics
    /// Where the stamp of what is installed does not follow the last writer's (W1), or is not the version's.
    pub fn replay_alone(&mut self, decide: impl FnOnce(Word, Option<&Version>) -> Replayed) -> bool {
        let header = &(**self).header;
        let (word, old) = (header.word.load(Ordering::Relaxed), Link(header.version.load(Ordering::Relaxed)));
        // SAFETY: the box owns the record alone, and with it the version.
        let row = old.row().map(|row| unsafe { Version::from_raw(row.cast()) });
        let (version, stamp, is_waited_for) = match decide(Word(word), row) {
            Replayed::Superseded => return false,
            Replayed::Waits => {
                header.word.store(word | Word::WAITED_FOR, Ordering::Relaxed);
                return false;
            }
            Replayed::Installed { version, stamp, is_waited_for } => (version, stamp, is_waited_for),
        };
        assert!(stamp > Word(word).stamp(), "stamps of a key increase: {stamp} after {:?}", Word(word));
        let is_own = version.as_ref().is_none_or(|version| version.stamp() == stamp);
        assert!(is_own, "a version carries its installer's stamp");
        let new = version.map_or(Link::NONE, |version| Link::to(version.into_raw(), false));
        let mark = if is_waited_for { Word::WAITED_FOR } else { 0 };
        header.version.store(new.0, Ordering::Relaxed);
        header.word.store(Word::unlocked(stamp).0 | mark, Ordering::Relaxed);
        if let Some(old) = old.version() {
            // SAFETY: as above; the record does not refer to it any more, nor does anybody else.
            drop(unsafe { VersionBox::from_raw(old) });
        }
        true
    }

    /// Where the record is, as long as it lives: also when an index has taken it.
    pub fn address(&self) -> usize {
        (**self).address()
    }

    /// Gives up the record for the row that is in it.
    pub fn into_version(self) -> Option<VersionBox> {
        let record: &Record = &self;
        let link = Link(record.header.version.swap(ptr::null_mut(), Ordering::Relaxed));
        // SAFETY: the box owned the record alone, and with it the row, to which nothing refers any more.
        link.row().map(|row| unsafe { VersionBox::from_raw(row) })
    }
}

// SAFETY: the box is the only owner of a record, which is `Send` and `Sync` itself.
unsafe impl Send for RecordBox {}
// SAFETY: as above.
unsafe impl Sync for RecordBox {}

impl Deref for RecordBox {
    type Target = Record;

    fn deref(&self) -> &Record {
        // SAFETY: the box owns a live record.
        unsafe { &*Record::widen(self.header) }
    }
}

impl Drop for RecordBox {
    fn drop(&mut self) {
        // SAFETY: the box owns the record and is gone after this.
        unsafe { Record::free(self.header.cast(), &Tally::default()) }
    }
}

impl fmt::Debug for RecordBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
