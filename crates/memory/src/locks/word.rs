//! The word of a lock: who holds it, as long as that fits.
//!
//! ```text
//! bit 63      62        61          60     59..40   39..20   19..0
//! 0 | CLOSED | QUEUED | EXCLUSIVE | owner | owner | owner          0: nobody holds it
//! ```

use std::fmt;

use crate::sync::atomic::{AtomicU64, Ordering};

const OWNER_BITS: u32 = 20;
const OWNER_MASK: u64 = (1 << OWNER_BITS) - 1;
const EXCLUSIVE: u64 = 1 << 60;
const QUEUED: u64 = 1 << 61;
const CLOSED: u64 = 1 << 62;

/// So many owners fit into a word.
pub(super) const INLINE: usize = 3;

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Others may share it.
    Shared,
    /// By one owner alone.
    Exclusive,
}

/// Names an owner; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OwnerId(pub(super) u32);

impl OwnerId {
    /// The greatest one.
    pub(super) const MAX: OwnerId = OwnerId(OWNER_MASK as u32);
}

/// A lock: in a record, or in a leaf for the gaps between its entries. See the module `locks`.
#[derive(Default)]
pub struct LockWord(AtomicU64);

impl LockWord {
    /// A lock that nobody holds.
    pub fn new() -> LockWord {
        LockWord::default()
    }

    /// Whether nobody holds it or waits for it.
    ///
    /// Sequentially consistent: of who changes what the lock protects, and then asks, and of who takes the lock, and then looks
    /// whether that was changed, one sees the other.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.load() == Holders::NONE
    }

    /// Lets nobody take it from now on, if nobody holds it or waits for it; returns whether it did.
    pub fn close(&self) -> bool {
        self.0.compare_exchange(0, CLOSED, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Takes a [`LockWord::close`] back.
    pub fn open(&self) {
        assert!(self.load().is_closed(), "a lock that is opened was closed");
        self.0.store(0, Ordering::Release);
    }

    /// Where its queue is found.
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    #[inline]
    pub(super) fn load(&self) -> Holders {
        // Loom knows no sequentially consistent accesses, only fences.
        #[cfg(loom)]
        crate::sync::atomic::fence(Ordering::SeqCst);
        Holders(self.0.load(Ordering::SeqCst))
    }

    /// Changes the word if it is `before`.
    #[inline]
    pub(super) fn exchange(&self, before: Holders, after: Holders) -> Result<(), Holders> {
        // Acquire: what the last holder did. Release: what this one did. SeqCst beyond both: see `is_free`.
        let exchanged = self.0.compare_exchange(before.0, after.0, Ordering::SeqCst, Ordering::Relaxed);
        #[cfg(loom)]
        crate::sync::atomic::fence(Ordering::SeqCst);
        exchanged.map(drop).map_err(Holders)
    }

    /// Changes a word that says `QUEUED`; for the holder of its bucket.
    pub(super) fn store(&self, after: Holders) {
        self.0.store(after.0, Ordering::Release);
    }
}

impl fmt::Debug for LockWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

/// What a word says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Holders(u64);

impl Holders {
    pub(super) const NONE: Holders = Holders(0);
    /// Its queue says all.
    pub(super) const QUEUED: Holders = Holders(QUEUED);

    #[inline]
    pub(super) fn is_queued(self) -> bool {
        self.0 & QUEUED != 0
    }

    #[inline]
    pub(super) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    #[inline]
    pub(super) fn is_exclusive(self) -> bool {
        self.0 & EXCLUSIVE != 0
    }

    /// Those who hold it, as far as the word says.
    #[inline]
    pub(super) fn owners(self) -> impl Iterator<Item = OwnerId> {
        let owner = move |place: u32| OwnerId((self.0 >> (place * OWNER_BITS) & OWNER_MASK) as u32);
        (0..INLINE as u32).map(owner).filter(|owner| owner.0 != 0)
    }

    /// With one more that shares it; `None`: there is no room in a word, or somebody has it alone.
    #[inline]
    pub(super) fn sharing(self, owner: OwnerId) -> Option<Holders> {
        if self.is_exclusive() {
            return None;
        }
        let place = (0..INLINE as u32).find(|place| self.0 >> (place * OWNER_BITS) & OWNER_MASK == 0)?;
        Some(Holders(self.0 | u64::from(owner.0) << (place * OWNER_BITS)))
    }

    /// Held by one alone.
    #[inline]
    pub(super) fn alone(owner: OwnerId) -> Holders {
        Holders(EXCLUSIVE | u64::from(owner.0))
    }

    /// Without one of them.
    #[inline]
    pub(super) fn without(self, owner: OwnerId) -> Holders {
        let of = |place: u32| u64::from(owner.0) << (place * OWNER_BITS);
        let is_at = |place: &u32| self.0 & OWNER_MASK << (place * OWNER_BITS) == of(*place);
        let place = (0..INLINE as u32).find(is_at).expect("who gives a lock back holds it");
        Holders(self.0 & !of(place) & !EXCLUSIVE)
    }
}

impl fmt::Debug for Holders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.is_exclusive() { " exclusive" } else { "" };
        let queued = if self.is_queued() { " queued" } else { "" };
        let closed = if self.is_closed() { " closed" } else { "" };
        write!(f, "Lock({:?}{mode}{queued}{closed})", self.owners().map(|owner| owner.0).collect::<Vec<_>>())
    }
}
