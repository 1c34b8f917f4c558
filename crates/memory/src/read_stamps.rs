//! Read stamps: how far keys have been read, for protocols whose order of commits covers anti-dependencies (a read before the
//! write that follows it).
//!
//! A fixed table of stamps, indexed by a hash of the key's bytes. A record has no word for them, so that protocols which need
//! none pay nothing; and a key whose record is purged and made anew finds the stamp of those that read it before.
//!
//! Invariants:
//! - **Q1** A slot never falls. It is at least every stamp to which it was raised for one of its keys.
//! - **Q2** A reader raises the slot, fences, and then finds the record unlocked (or the leaf unchanged); a writer locks the
//!   record, fences, and then reads the slot. One of the two sees the other: either the reader does not validate, or the writer
//!   reads a stamp that is at least the reader's.
//!
//! Keys share slots, those of different trees too. A slot that is higher than it need be gives a writer a greater stamp than it
//! needs, which is right all the same: a stamp has to exceed others, and nothing has to be above it. What sharing costs is cache
//! lines that threads take from each other.
//!
//! Deliberately absent: ranges and keys without a record. The stamp of their leaf is raised instead
//! ([`LeafRead::raise_max_stamp`](crate::LeafRead::raise_max_stamp)).

use std::fmt;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use crate::Stamp;
use crate::sync::atomic::{AtomicU64, Ordering, fence};

/// See the module.
pub struct ReadStamps {
    slots: Box<[AtomicU64]>,
    hasher: FixedState,
}

impl ReadStamps {
    /// A table of so many slots, a power of two: nothing was read yet.
    ///
    /// # Panics
    /// Where it is not a power of two.
    pub fn new(slots: usize) -> ReadStamps {
        assert!(slots.is_power_of_two(), "a slot is found by the lowest bits of a hash: {slots} slots");
        ReadStamps { slots: (0..slots).map(|_| AtomicU64::new(0)).collect(), hasher: FixedState::default() }
    }

    /// Raises the stamps of keys that were read: every later writer of one of them is above `stamp`, if the reader fences and
    /// then finds the record unlocked (Q2).
    #[inline]
    pub fn raise<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>, stamp: Stamp) {
        for key in keys {
            let slot = self.slot(key);
            // Who finds it high enough writes nothing: slots are shared by threads.
            if slot.load(Ordering::Relaxed) < stamp.0 {
                slot.fetch_max(stamp.0, Ordering::Relaxed);
            }
        }
    }

    /// The greatest stamp up to which one of the keys was read, or a greater one; zero for no keys. The caller has locked their
    /// records (Q2).
    #[inline]
    pub fn greatest<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) -> Stamp {
        // Pairs with the fence between the raise and the validation of every reader.
        fence(Ordering::SeqCst);
        let stamps = keys.into_iter().map(|key| Stamp(self.slot(key).load(Ordering::Relaxed)));
        stamps.fold(Stamp::ZERO, Stamp::max)
    }

    #[inline]
    fn slot(&self, key: &[u8]) -> &AtomicU64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        &self.slots[hasher.finish() as usize & (self.slots.len() - 1)]
    }
}

impl fmt::Debug for ReadStamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadStamps").field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn keys(count: u32) -> Vec<[u8; 4]> {
        (0..count).map(u32::to_be_bytes).collect()
    }

    #[test]
    fn a_key_has_at_least_the_stamps_it_was_raised_to() {
        let (stamps, keys) = (ReadStamps::new(16), keys(100));
        assert_eq!(stamps.greatest(keys.iter().map(|key| &key[..])), Stamp::ZERO);
        for (index, key) in keys.iter().enumerate() {
            stamps.raise([&key[..]], Stamp(1000 - index as u64));
        }
        for (index, key) in keys.iter().enumerate() {
            assert!(stamps.greatest([&key[..]]) >= Stamp(1000 - index as u64));
        }
        assert_eq!(stamps.greatest(keys.iter().map(|key| &key[..])), Stamp(1000));
        assert_eq!(stamps.greatest([]), Stamp::ZERO);
    }

    #[test]
    fn what_was_not_read_is_not_raised_for_the_most_part() {
        let stamps = ReadStamps::new(1 << 12);
        let (read, other) = (b"read", keys(1000));
        stamps.raise([&read[..]], Stamp(7));
        let raised = other.iter().filter(|key| stamps.greatest([&key[..]]) > Stamp::ZERO).count();
        assert!(raised < 10, "{raised} of 1000 share one of 4096 slots");
    }

    #[test]
    #[should_panic(expected = "12 slots")]
    fn slots_are_a_power_of_two() {
        let _ = ReadStamps::new(12);
    }
}
