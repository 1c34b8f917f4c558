//! Epochs: the coarse clock that transactions announce, and the reclamation of shared memory that rides on it.
//!
//! A participant announces the global epoch while it works (a [`Pin`]) and nothing that is retired meanwhile is freed
//! before it stops. Invariants:
//! - **E1** `safe()` is smaller than the epoch that any active pin announces.
//! - **E2** a value retired with epoch r <= `safe()` can be reached by no active and no later pin.
//! - **E3** a [`Held`] is followed only through the pin that made it: ids of pins are unique in the process.
//! - **E4** pinning writes nothing but the participant's own cache line.
//!
//! Why E1 and E2 hold. Pin: store slot := e; fence P; read global, which must still be e. Advance: raise global to g; fence A;
//! read all slots; safe := min(g, slots) - 1. Retire: unlink; fence R; read global = r, the value's epoch. (The fence R
//! and the read are those of the participant's next pin, or of its drop: values wait untagged until then.)
//! - An advance that misses the slot has A before P in the order of the fences, so the pin's second read sees >= g and
//!   the pin announces >= g > safe. An advance that sees the slot takes the minimum. That is E1.
//! - A value freed because of that advance has r <= safe < g: its read of the global epoch did not see the raise, so R is
//!   before A. With the slot missed, R < A < P: the pin's reads come after the unlink. With the slot seen, r < e: the
//!   retirer's read missed the raise to e that the pin read before P, so again R < P. That is E2.
//! - Freeing happens after the readers' last access: unpin and pin store the slot with Release, advance reads it with
//!   Acquire and publishes `safe` with Release, the one who frees reads `safe` with Acquire.
//!
//! A slot has a second word, in which a participant announces that it commits, from before it reads its epoch at the
//! serialization point until what it installed is there ([`SPoint`]). A transaction that is open and does not commit
//! holds nothing up that waits for an epoch to end:
//! - **E5** where [`Epochs::has_ended`] is true of an epoch, every transaction of that epoch or an earlier one has ended, and
//!   what it installed is seen.
//!
//! Why E5 holds. Commit: store word := a global epoch read before; fence C; read global = e, the transaction's epoch. Ask: read
//! global, which must be beyond E; fence D; read all words, which must be beyond E. With e <= E the read of e missed the raise
//! that the question saw, so C is before D and the word was seen: it was IDLE again, stored with Release behind what was
//! installed.
//!
//! The slots lie in chunks that are added as participants come and never move, so that a pin needs no more than the chunk of its
//! participant. An advance goes through all chunks under the lock under which one is added. One that misses a chunk had that
//! lock before the chunk was added, and with it A before any P of a participant in it: the first case above.
//!
//! Deliberately absent: threads. The embedding program calls [`Epochs::advance`] every epoch interval.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crossbeam_utils::CachePadded;

use crate::Epoch;
use crate::limbo::{Limbo, Retired};
use crate::recycle::{Recycler, Replaced, Spares};
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::{Arc, Mutex, Unique, lock};
use crate::thin::Thin;
use crate::usage::{Account, Kind, MemoryUse, Tally};
use crate::version::{self, Extent, VersionBox};

/// What a slot holds while its participant is not pinned: later than every epoch.
const IDLE: u64 = u64::MAX;

/// How many slots are added at a time; in models each is added by itself.
const SLOTS_PER_CHUNK: usize = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// How many pin ids a participant takes from the process at a time.
const PIN_IDS_PER_BLOCK: u64 = 1 << 24;

static CLOCK_IDS: Unique = Unique::new();
static PIN_ID_BLOCKS: Unique = Unique::new();

/// The epoch clock of one database and the slots in which its participants announce what they work in.
pub struct Epochs {
    clock: CachePadded<Clock>,
    chunks: Mutex<Vec<Arc<Chunk>>>,
    participants_max: usize,
    /// Whether versions have histories.
    has_histories: bool,
    registry: Mutex<Registry>,
    spares: Spares,
    account: Account,
    id: u32,
}

/// Read by every pin, written only by `advance`.
struct Clock {
    global: AtomicU64,
    safe: AtomicU64,
}

/// Slots side by side.
type Chunk = [CachePadded<Words>];

/// What a participant announces.
struct Words {
    /// The epoch of its pin.
    pinned: AtomicU64,
    /// An epoch no later than that of the transaction that it is committing.
    commits: AtomicU64,
}

impl Words {
    fn idle() -> Words {
        Words { pinned: AtomicU64::new(IDLE), commits: AtomicU64::new(IDLE) }
    }
}

/// Where a participant announces.
#[derive(Clone)]
struct Slot {
    chunk: Arc<Chunk>,
    at: usize,
}

impl Slot {
    #[inline]
    fn word(&self) -> &AtomicU64 {
        &self.chunk[self.at].pinned
    }

    #[inline]
    fn commits(&self) -> &AtomicU64 {
        &self.chunk[self.at].commits
    }
}

struct Registry {
    vacant: Vec<Slot>,
    /// How many participants there are.
    taken: usize,
    orphans: Vec<(Epoch, Retired)>,
    /// Structures that are freed in pieces.
    dismantled: Vec<(Epoch, FreeSome)>,
}

/// Frees a piece of what nobody can reach; returns whether there is more.
pub(crate) type FreeSome = Box<dyn FnMut(&Tally) -> bool + Send>;

impl Epochs {
    /// A clock at epoch 1 for at most `participants_max` registered participants at a time. Room for them is made as they come.
    pub fn new(participants_max: usize) -> Arc<Epochs> {
        Epochs::with(participants_max, false)
    }

    /// As [`Epochs::new`], where transactions read rows of the past: versions that participants make have room for what
    /// [`Record::install_at`](crate::Record::install_at) notes.
    pub fn with_histories(participants_max: usize) -> Arc<Epochs> {
        Epochs::with(participants_max, true)
    }

    fn with(participants_max: usize, has_histories: bool) -> Arc<Epochs> {
        assert!(participants_max > 0, "somebody must be able to take part");
        let id = u32::try_from(CLOCK_IDS.take()).expect("fewer than 4 billion epoch clocks per process");
        Arc::new(Epochs {
            clock: CachePadded::new(Clock { global: AtomicU64::new(1), safe: AtomicU64::new(0) }),
            chunks: Mutex::new(Vec::new()),
            participants_max,
            has_histories,
            registry: Mutex::new(Registry {
                vacant: Vec::new(),
                taken: 0,
                orphans: Vec::new(),
                dismantled: Vec::new(),
            }),
            spares: Spares::default(),
            account: Account::default(),
            id,
        })
    }

    /// The global epoch.
    pub fn current(&self) -> Epoch {
        Epoch(self.clock.global.load(Ordering::Acquire))
    }

    /// Every active pin announced an epoch greater than this; what was retired at or before it may be freed. As of the
    /// last [`Epochs::advance`].
    pub fn safe(&self) -> Epoch {
        Epoch(self.clock.safe.load(Ordering::Acquire))
    }

    /// Raises the global epoch by one, recomputes [`Epochs::safe`] and frees what dropped participants left behind.
    pub fn advance(&self) -> Epoch {
        let raised = self.clock.global.fetch_add(1, Ordering::AcqRel) + 1;
        self.raised(raised);
        self.free_orphans(self.safe());
        self.free_more();
        Epoch(raised)
    }

    /// Raises the global epoch to at least `epoch`, and recomputes [`Epochs::safe`]: epochs go on where the recovered log ended.
    pub fn resume_at(&self, epoch: Epoch) {
        raise(&self.clock.global, epoch.0);
        self.raised(epoch.0);
    }

    /// Recomputes [`Epochs::safe`] once the global epoch is at least `raised`.
    fn raised(&self, raised: u64) {
        assert!(raised < IDLE, "epochs are exhausted");
        // Fence A of the module's argument: the raise is seen by every pin whose announcement is missed below.
        fence(Ordering::SeqCst);
        let oldest = self.oldest(|slot| &slot.pinned);
        raise(&self.clock.safe, oldest.min(raised).saturating_sub(1));
    }

    /// The earliest epoch that the slots have in one of their words.
    fn oldest(&self, word: impl Fn(&Words) -> &AtomicU64) -> u64 {
        let chunks = lock(&self.chunks);
        let slots = chunks.iter().flat_map(|chunk| chunk.iter());
        slots.map(|slot| word(slot).load(Ordering::Acquire)).min().unwrap_or(IDLE)
    }

    /// Whether every transaction that drew `epoch`, or an earlier one, at its serialization point has ended (E5). It asks all
    /// participants.
    pub fn has_ended(&self, epoch: Epoch) -> bool {
        if self.current() <= epoch {
            return false;
        }
        // Fence D of the module's argument.
        fence(Ordering::SeqCst);
        self.oldest(|slot| &slot.commits) > epoch.0
    }

    /// Memory that the structures of this clock hold; see [`crate::FOLD_BYTES`] for how exactly.
    pub fn memory(&self) -> MemoryUse {
        self.account.read()
    }

    /// The total of [`Epochs::memory`], for who asks often.
    #[inline]
    pub fn memory_bytes(&self) -> u64 {
        self.account.total()
    }

    /// The largest total that was seen.
    pub fn memory_peak_bytes(&self) -> u64 {
        self.account.peak()
    }

    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// A place among the participants; `None` when there are as many as there may be. It is given back when the participant is
    /// dropped.
    pub fn register(self: &Arc<Self>) -> Option<Participant> {
        let slot = {
            let mut registry = lock(&self.registry);
            if registry.taken == self.participants_max {
                return None;
            }
            registry.taken += 1;
            registry.vacant.pop().unwrap_or_else(|| self.add_chunk(&mut registry.vacant))
        };
        let announced = slot.word().load(Ordering::Relaxed);
        assert_eq!(announced, IDLE, "a vacant slot announces nothing");
        Some(Participant {
            epochs: Arc::clone(self),
            slot,
            limbo: RefCell::default(),
            versions: RefCell::default(),
            tally: Tally::default(),
            pin_next: Cell::new(0),
            pin_end: Cell::new(0),
        })
    }

    /// Adds slots; returns one of them, and the others to `vacant`.
    #[cold]
    fn add_chunk(&self, vacant: &mut Vec<Slot>) -> Slot {
        assert!(vacant.is_empty(), "slots are added when all are taken");
        let chunk: Arc<Chunk> = (0..SLOTS_PER_CHUNK).map(|_| CachePadded::new(Words::idle())).collect();
        // Before any of them is used: see the module's argument.
        lock(&self.chunks).push(Arc::clone(&chunk));
        vacant.extend((1..SLOTS_PER_CHUNK).rev().map(|at| Slot { chunk: Arc::clone(&chunk), at }));
        Slot { chunk, at: 0 }
    }

    /// Hands over a value that was unlinked outside any pin, such as what a dropped structure owned.
    ///
    /// # Safety
    /// As for [`Pin::retire`].
    pub(crate) unsafe fn retire_unpinned(&self, retired: Retired) {
        let epoch = self.epoch_after_unlink();
        lock(&self.registry).orphans.push((epoch, retired));
    }

    /// Hands over a structure that was unlinked outside any pin. `free_some` is called when no pin can hold anything of it, once
    /// for each [`advance`](Epochs::advance) and [`free_more`](Epochs::free_more) until it returns `false`, so that a large one
    /// holds no epoch up.
    pub(crate) fn retire_in_pieces(&self, free_some: FreeSome) {
        let epoch = self.epoch_after_unlink();
        lock(&self.registry).dismantled.push((epoch, free_some));
    }

    /// Hands over versions that snapshots have let go of, for whoever writes next. They were counted as kept.
    ///
    /// # Safety
    /// As for [`Pin::retire`].
    pub(crate) unsafe fn spare(&self, versions: Vec<Replaced>) {
        self.spares.put(self.epoch_after_unlink(), versions);
    }

    /// Frees what snapshots have let go of and nobody can reach, where memory is short.
    pub fn free_spares(&self) {
        let tally = Tally::default();
        while self.spares.free(self.safe(), &tally) {}
        self.account.fold(&tally);
    }

    /// The epoch to tag values with that this thread has unlinked (fence R of the module's argument).
    fn epoch_after_unlink(&self) -> Epoch {
        fence(Ordering::SeqCst);
        self.current()
    }

    fn free_orphans(&self, safe: Epoch) {
        let free: Vec<_> = {
            let mut registry = lock(&self.registry);
            if registry.orphans.is_empty() {
                return;
            }
            registry.orphans.extract_if(.., |(epoch, _)| *epoch <= safe).collect()
        };
        let tally = Tally::default();
        for (_, retired) in free {
            // SAFETY: E2 for its epoch; it has left the list, so this happens once.
            unsafe { retired.free(&tally) }
        }
        self.account.fold(&tally);
    }

    /// Frees a piece of each structure that was dropped and that no pin can hold anything of, and of what snapshots have let go
    /// of and nobody wanted; returns whether there is more.
    pub fn free_more(&self) -> bool {
        let (safe, tally) = (self.safe(), Tally::default());
        let are_spares = self.spares.free_unused(safe, &tally);
        let mut dismantled: Vec<_> = {
            let mut registry = lock(&self.registry);
            registry.dismantled.extract_if(.., |(epoch, _)| *epoch <= safe).collect()
        };
        dismantled.retain_mut(|(_, free_some)| free_some(&tally));
        let is_more = !dismantled.is_empty();
        if is_more {
            lock(&self.registry).dismantled.append(&mut dismantled);
        }
        self.account.fold(&tally);
        is_more || are_spares
    }
}

impl Drop for Epochs {
    fn drop(&mut self) {
        // Participants own the clock, so there is none, and nobody holds anything.
        let registry = &mut *lock(&self.registry);
        for (_, retired) in registry.orphans.drain(..) {
            // SAFETY: no pin exists or can come to exist; the list is emptied, so this happens once.
            unsafe { retired.free(&Tally::default()) }
        }
        for (_, mut free_some) in registry.dismantled.drain(..) {
            while free_some(&Tally::default()) {}
        }
    }
}

impl fmt::Debug for Epochs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epochs").field("current", &self.current()).field("safe", &self.safe()).finish_non_exhaustive()
    }
}

/// Makes a clock's hand show at least `value`. (Not `fetch_max`, which ThreadSanitizer does not see.)
fn raise(hand: &AtomicU64, value: u64) {
    let mut seen = hand.load(Ordering::Relaxed);
    while seen < value {
        match hand.compare_exchange_weak(seen, value, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return,
            Err(newer) => seen = newer,
        }
    }
}

/// One who reads and changes shared structures, such as a session. It may move between threads, but is used by one at a time.
pub struct Participant {
    epochs: Arc<Epochs>,
    slot: Slot,
    limbo: RefCell<Limbo<Retired>>,
    versions: RefCell<Recycler>,
    tally: Tally,
    pin_next: Cell<u64>,
    pin_end: Cell<u64>,
}

impl Participant {
    /// Starts to work in the current epoch, and frees some of what this participant retired earlier.
    pub fn pin(&mut self) -> Pin<'_> {
        let epoch = self.announce();
        // `announce` has passed a fence since the last value was retired, so its epoch is a right tag.
        self.limbo.get_mut().tag(epoch);
        self.versions.get_mut().tag(epoch);
        let safe = self.epochs.safe();
        self.versions.get_mut().free_unused(safe, &self.tally);
        self.free_some(safe);
        Pin { participant: self, id: self.next_pin_id(), epoch }
    }

    /// Frees some of what this participant retired, as far as it is safe; each pin does it too. An idle participant may
    /// call it to give memory back. Returns the number of values that are still waiting.
    pub fn reclaim(&mut self) -> usize {
        let safe = self.epochs.safe();
        self.versions.get_mut().reclaim(safe, &self.tally);
        self.free_some(safe);
        self.epochs.account.fold(&self.tally);
        self.waiting()
    }

    /// How many retired values wait.
    pub fn waiting(&self) -> usize {
        self.limbo.borrow().len() + self.versions.borrow().len()
    }

    /// Frees all that is safe, what the last pin retired included. Returns the number of values that are still waiting.
    pub fn reclaim_all(&mut self) -> usize {
        // Tags what is not tagged.
        drop(self.pin());
        let mut waiting = usize::MAX;
        loop {
            match self.reclaim() {
                left if left == waiting => return left,
                left => waiting = left,
            }
        }
    }

    /// Hands what is retired to whoever advances the clock, and perhaps the slot.
    fn leave_retired(&self, vacated: Option<Slot>) {
        let epoch = self.epochs.epoch_after_unlink();
        let mut registry = lock(&self.epochs.registry);
        registry.orphans.extend(self.limbo.borrow_mut().drain().map(|retired| (epoch, retired)));
        let mut versions = self.versions.borrow_mut();
        let versions = versions.drain(&self.tally);
        registry.orphans.extend(versions.map(|version| (epoch, Retired::new(version.into_raw(), version::free))));
        registry.taken -= usize::from(vacated.is_some());
        registry.vacant.extend(vacated);
        self.epochs.account.fold(&self.tally);
    }

    fn free_some(&mut self, safe: Epoch) {
        // SAFETY: E2 for the epoch that the value was tagged with; it has left limbo, so this happens once.
        self.limbo.get_mut().free_some(safe, |retired| unsafe { retired.free(&self.tally) });
    }

    /// The clock this participant takes part in.
    pub fn epochs(&self) -> &Arc<Epochs> {
        &self.epochs
    }

    fn announce(&self) -> Epoch {
        let slot = self.slot.word();
        let mut epoch = self.epochs.current();
        loop {
            // Release: see the last point of the module's argument; the store may hide the release of the last unpin.
            slot.store(epoch.0, Ordering::Release);
            // Fence P (and R) of the module's argument.
            fence(Ordering::SeqCst);
            let again = self.epochs.current();
            if again == epoch {
                return epoch;
            }
            epoch = again;
        }
    }

    fn next_pin_id(&self) -> u64 {
        if self.pin_next.get() == self.pin_end.get() {
            let block = PIN_ID_BLOCKS.take();
            assert!(block < u64::MAX / PIN_IDS_PER_BLOCK, "ids of pins are exhausted");
            self.pin_next.set(block * PIN_IDS_PER_BLOCK);
            self.pin_end.set((block + 1) * PIN_IDS_PER_BLOCK);
        }
        let id = self.pin_next.get();
        self.pin_next.set(id + 1);
        id
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        // A pin that was forgotten, not dropped, left its announcement; nothing can be held under it any more.
        self.slot.word().store(IDLE, Ordering::Release);
        self.slot.commits().store(IDLE, Ordering::Release);
        self.leave_retired(Some(self.slot.clone()));
    }
}

impl fmt::Debug for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Participant").field("announces", self.slot.word()).finish_non_exhaustive()
    }
}

/// The right to follow what is [`Held`]: while it lives, nothing that was reachable since it began is freed.
///
/// It belongs to the thread that made it (it is neither `Send` nor `Sync`, because the participant is not `Sync`).
pub struct Pin<'p> {
    participant: &'p Participant,
    id: u64,
    epoch: Epoch,
}

impl Pin<'_> {
    /// The epoch that this pin announces: the global one when it began.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The global epoch now, ordered after everything this thread did before and before everything it does afterwards:
    /// what a transaction reads at its serialization point.
    pub fn current_epoch(&self) -> Epoch {
        fence(Ordering::SeqCst);
        let epoch = self.participant.epochs.current();
        fence(Ordering::SeqCst);
        epoch
    }

    /// The serialization point of a transaction: its epoch, ordered as [`Pin::current_epoch`] is. Until what is returned is
    /// dropped, nobody takes that epoch for ended: what the transaction installs is installed by then.
    pub fn s_point(&self) -> SPoint<'_> {
        let Participant { epochs, slot, .. } = self.participant;
        slot.commits().store(epochs.current().0, Ordering::Release);
        // Its first fence is fence C of the module's argument.
        SPoint { commits: slot.commits(), epoch: self.current_epoch() }
    }

    /// Ends this pin and begins another, for work that is long: what was obtained before cannot be followed any more. Frees
    /// some of what was retired.
    pub fn renew(&mut self) {
        let Participant { epochs, limbo, versions, tally, .. } = self.participant;
        (self.epoch, self.id) = (self.participant.announce(), self.participant.next_pin_id());
        let (mut limbo, mut versions) = (limbo.borrow_mut(), versions.borrow_mut());
        limbo.tag(self.epoch);
        versions.tag(self.epoch);
        let safe = epochs.safe();
        versions.reclaim(safe, tally);
        // SAFETY: E2, as in `Participant::free_some`. What this pin obtained before is followed no more: references into it
        // borrowed the pin, and handles carry its former id.
        limbo.free_some(safe, |retired| unsafe { retired.free(tally) });
        epochs.account.fold_due(tally);
    }

    /// How many values wait that this participant retired.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.participant.waiting()
    }

    /// Whether structures of `epochs` may be used under this pin.
    pub fn is_of(&self, epochs: &Epochs) -> bool {
        std::ptr::eq(&*self.participant.epochs, epochs)
    }

    /// The value that is held.
    ///
    /// # Panics
    /// Where `held` was obtained under another pin: the value may have been freed since.
    #[inline]
    pub fn get<T: Thin + ?Sized>(&self, held: Held<T>) -> &T {
        assert_eq!(held.pin, self.id, "a held value is followed under the pin that found it");
        // SAFETY: E3: `hold` was called on this very pin, whose caller promised that the value lives until unpinned,
        // which the borrow of `self` prevents.
        unsafe { T::from_raw(held.raw) }
    }

    /// A handle to a shared value that may be followed while this pin lives.
    ///
    /// # Safety
    /// `raw` is the thin pointer of a live `T` that was reachable at some moment since the pin began, in a structure that
    /// frees through [`Pin::retire`] of the same clock (or that was not unlinked at all).
    #[inline]
    pub(crate) unsafe fn hold<T: Thin + ?Sized>(&self, raw: NonNull<()>) -> Held<T> {
        Held { raw, pin: self.id, value: PhantomData }
    }

    /// Frees a value once nobody can hold it.
    ///
    /// # Safety
    /// The value has been unlinked: no pin that begins from now on can reach it. It is retired once, its structure belongs to
    /// this pin's clock, and it may be freed on any thread.
    #[inline]
    pub(crate) unsafe fn retire(&self, retired: Retired) {
        self.participant.limbo.borrow_mut().push(retired);
    }

    /// Frees a version once nobody can hold it, or makes it another one: see [`Pin::new_version`].
    ///
    /// # Safety
    /// As for [`Pin::retire`].
    #[inline]
    pub(crate) unsafe fn retire_version(&self, version: NonNull<()>) {
        // SAFETY: passed on to the caller.
        unsafe { self.participant.versions.borrow_mut().push(version) }
    }

    /// Leaves what this participant retired to whoever advances the clock: it may be idle for long.
    pub fn leave_retired(&self) {
        self.participant.leave_retired(None);
    }

    /// A version of `len` bytes, in the memory of one that this participant replaced, if there is such a one. What its bytes
    /// hold is not specified: write all of them.
    pub fn new_version(&self, len: usize) -> VersionBox {
        let Participant { versions, epochs, tally, .. } = self.participant;
        let extent = Extent { len, has_history: epochs.has_histories };
        versions.borrow_mut().version(extent, epochs.safe(), &epochs.spares, tally)
    }

    /// A version that is a copy of `bytes`, in new memory: see [`VersionBox::copy_of`].
    pub fn copy_of(&self, bytes: &[u8]) -> VersionBox {
        VersionBox::copy(bytes, self.participant.epochs.has_histories)
    }

    /// Tells the clock what was taken and given back since, where that is much: else that is told when the pin ends.
    #[inline]
    pub fn tell_memory(&self) {
        let Participant { epochs, tally, .. } = self.participant;
        epochs.account.fold_due(tally);
    }

    /// Where what is freed or handed over under this pin is noted.
    #[inline]
    pub(crate) fn tally(&self) -> &Tally {
        &self.participant.tally
    }

    /// Notes that a structure took memory over.
    #[inline]
    pub(crate) fn count(&self, kind: Kind, bytes: usize) {
        self.participant.tally.add(kind, bytes);
    }

    /// The global epoch, in no order with what else this thread does.
    pub(crate) fn latest_epoch(&self) -> Epoch {
        self.participant.epochs.current()
    }

    /// Names the clock in structures that have room for half a word only.
    #[inline]
    pub(crate) fn epochs_id(&self) -> u32 {
        self.participant.epochs.id
    }
}

impl Epochs {
    /// Names this clock in structures that have room for half a word only; never 0.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        // Release: what was read under this pin was read before whoever sees the slot idle frees it.
        let Participant { epochs, slot, tally, .. } = self.participant;
        slot.word().store(IDLE, Ordering::Release);
        epochs.account.fold_due(tally);
    }
}

impl fmt::Debug for Pin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pin").field("id", &self.id).field("epoch", &self.epoch).finish()
    }
}

/// A transaction between its serialization point and its end.
#[derive(Debug)]
pub struct SPoint<'p> {
    commits: &'p AtomicU64,
    epoch: Epoch,
}

impl SPoint<'_> {
    /// The epoch of the transaction.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }
}

impl Drop for SPoint<'_> {
    fn drop(&mut self) {
        // Release: who sees this sees what was installed.
        self.commits.store(IDLE, Ordering::Release);
    }
}

/// A shared value's address, followed with [`Pin::get`] under the pin that it was obtained under.
pub struct Held<T: ?Sized> {
    raw: NonNull<()>,
    pin: u64,
    value: PhantomData<*const T>,
}

// SAFETY: a handle is an address and a number; it is followed only through its pin, which stays on one thread.
unsafe impl<T: ?Sized> Send for Held<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized> Sync for Held<T> {}

impl<T: ?Sized> Held<T> {
    /// The value's address, which orders and names values while they live.
    #[inline]
    pub fn address(&self) -> usize {
        self.raw.addr().get()
    }
}

impl<T: ?Sized> Clone for Held<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Held<T> {}

impl<T: ?Sized> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl<T: ?Sized> Eq for Held<T> {}

impl<T: ?Sized> Hash for Held<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

impl<T: ?Sized> fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held({:#x} under pin {})", self.address(), self.pin)
    }
}
