//! The version word of a node: a lock, a counter and the mark of a node that has been replaced, in one atomic word.
//!
//! Invariants:
//! - The word of a node changes for good exactly when what the node holds changes: a lock that is given back unused
//!   restores the word it took.
//! - OBSOLETE is never taken back. An obsolete node is not linked in the tree any more and never changes again.
//! - A reader that loads the word with [`VersionLock::stable`], reads with relaxed loads and then passes
//!   [`VersionLock::validate`] has read one state of the node: the writer's release fence after taking the lock, and the
//!   reader's acquire fence before it looks again, make a reader that saw any later write see the later word too.
//!
//! Deliberately absent: waiting for a lock. Writers try, give everything back and start again, so no order of locks is
//! needed and nothing can deadlock.

use crate::sync::Backoff;
use crate::sync::atomic::{AtomicU64, Ordering, fence};

const LOCKED: u64 = 1;
const OBSOLETE: u64 = 2;
const STEP: u64 = 4;

/// What was read is not one state of the node, or the node is not part of the tree any more: start again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry;

/// See the module.
pub(super) struct VersionLock(AtomicU64);

impl VersionLock {
    pub(super) fn new() -> Self {
        VersionLock(AtomicU64::new(STEP))
    }

    /// The word as it is, for a comparison with one that was validated earlier.
    ///
    /// SeqCst beyond Acquire: who has locked the gaps of a leaf before sees who holds this lock, or is seen (`locks`).
    #[inline]
    pub(super) fn load(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// The word once nobody holds the lock; `Retry` where the node is obsolete.
    #[inline]
    pub(super) fn stable(&self) -> Result<u64, Retry> {
        let word = self.0.load(Ordering::Acquire);
        if word & (LOCKED | OBSOLETE) == 0 { Ok(word) } else { self.wait_until_stable() }
    }

    #[cold]
    fn wait_until_stable(&self) -> Result<u64, Retry> {
        let mut backoff = Backoff::new();
        loop {
            let word = self.0.load(Ordering::Acquire);
            if word & OBSOLETE != 0 {
                return Err(Retry);
            }
            if word & LOCKED == 0 {
                return Ok(word);
            }
            backoff.wait();
        }
    }

    /// Whether everything read since `word` was loaded is one state of the node.
    #[inline]
    pub(super) fn validate(&self, word: u64) -> Result<(), Retry> {
        fence(Ordering::Acquire);
        if self.0.load(Ordering::Relaxed) == word { Ok(()) } else { Err(Retry) }
    }

    /// Takes the lock if the word is still `word`.
    pub(super) fn try_lock(&self, word: u64) -> Result<Guard<'_>, Retry> {
        debug_assert!(word & (LOCKED | OBSOLETE) == 0, "only a stable word can be locked");
        // SeqCst beyond Acquire: what the holder then reads of a leaf's stamp is not older than its lock (node.rs).
        if self.0.compare_exchange(word, word | LOCKED, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return Err(Retry);
        }
        fence(Ordering::Release);
        Ok(Guard { lock: self, before: word, after: word })
    }

    /// Takes the lock if it is free and the node is part of the tree.
    pub(super) fn try_lock_any(&self) -> Result<Guard<'_>, Retry> {
        let word = self.0.load(Ordering::Relaxed);
        if word & (LOCKED | OBSOLETE) == 0 { self.try_lock(word) } else { Err(Retry) }
    }

    /// Whether the node has been replaced.
    pub(super) fn is_obsolete(&self) -> bool {
        self.load() & OBSOLETE != 0
    }

    /// Whether somebody holds the lock at this moment.
    pub(super) fn is_locked(&self) -> bool {
        self.load() & LOCKED != 0
    }
}

/// The lock of one node, held. Dropped without more it restores the word: nothing was changed.
pub(super) struct Guard<'a> {
    lock: &'a VersionLock,
    before: u64,
    after: u64,
}

impl Guard<'_> {
    /// The word that was locked.
    pub(super) fn before(&self) -> u64 {
        self.before
    }

    /// Gives the lock back with a new version and returns it.
    pub(super) fn unlock_changed(mut self) -> u64 {
        self.after = self.before + STEP;
        self.after
    }

    /// Gives the lock back and marks the node as replaced.
    pub(super) fn unlock_obsolete(mut self) {
        self.after = (self.before + STEP) | OBSOLETE;
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        debug_assert_eq!(self.lock.load(), self.before | LOCKED, "only the holder writes a locked word");
        self.lock.0.store(self.after, Ordering::Release);
    }
}
