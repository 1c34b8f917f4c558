//! Stamps of keys: how far keys have been read, or written, for protocols that record it beside the stamps in records.
//!
//! A fixed table, indexed by a hash of the key's bytes. A slot has a *lane* for each log stream, or one for all. A record has no
//! word for them, so that protocols which need none pay nothing; and a key whose record is purged and made anew finds the
//! stamps of before.
//!
//! Invariants:
//! - **Q1** A lane never falls. It is at least every stamp to which it was raised for one of its keys.
//! - **Q2** A reader raises the slot, fences, and then finds the record unlocked (or the leaf unchanged); a writer locks the
//!   record, fences, and then reads the slot. One of the two sees the other: either the reader does not validate, or the writer
//!   reads a stamp that is at least the reader's.
//! - **Q3** A writer raises the slot before it installs. Who sees what it installed, and then reads the slot, reads stamps that
//!   are at least the writer's.
//!
//! Keys share slots, those of different trees too. A slot that is higher than it need be gives a writer a greater stamp than it
//! needs, or a transaction one more to wait for, which is right all the same. What sharing costs is cache lines that threads
//! take from each other.
//!
//! Deliberately absent: ranges and keys without a record. The stamp of their leaf is raised instead
//! ([`LeafRead::raise_max_stamp`](crate::LeafRead::raise_max_stamp)).

use std::fmt;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use crate::Stamp;
use crate::lanes::{Isa, LANES_MAX, WIDE_LANES_MIN};
use crate::sync::atomic::{AtomicU64, Ordering, fence};

/// See the module.
pub struct KeyStamps {
    /// Slot after slot.
    lanes: Box<[AtomicU64]>,
    lanes_per_slot: usize,
    slots: usize,
}

/// The slot of a key, in every table alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHash(u32);

impl KeyHash {
    /// The slot of `key`.
    #[inline]
    pub fn of(key: &[u8]) -> KeyHash {
        let mut hasher = FixedState::default().build_hasher();
        hasher.write(key);
        KeyHash(hasher.finish() as u32)
    }

    /// All of the hash. The bits are as good as each other.
    #[inline]
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl KeyStamps {
    /// A table of so many slots, a power of two, with so many lanes each: nothing was read or written yet.
    ///
    /// # Panics
    /// Where the slots are not a power of two, or there is no lane.
    pub fn new(slots: usize, lanes: usize) -> KeyStamps {
        assert!(slots.is_power_of_two(), "a slot is found by the lowest bits of a hash: {slots} slots");
        assert!(lanes > 0, "a slot has a lane");
        let all = (0..slots * lanes).map(|_| AtomicU64::new(0)).collect();
        KeyStamps { lanes: all, lanes_per_slot: lanes, slots }
    }

    /// The lanes of a slot.
    #[inline]
    fn slot(&self, hash: KeyHash) -> &[AtomicU64] {
        let at = (hash.0 as usize & (self.slots - 1)) * self.lanes_per_slot;
        &self.lanes[at..at + self.lanes_per_slot]
    }

    /// Raises a lane of a key.
    #[inline]
    pub fn raise(&self, key: KeyHash, lane: usize, stamp: Stamp) {
        let word = &self.slot(key)[lane];
        // Who finds it high enough writes nothing: slots are shared by threads.
        if word.load(Ordering::Relaxed) < stamp.0 {
            word.fetch_max(stamp.0, Ordering::Relaxed);
        }
    }

    /// The greatest stamp in any lane of one of the keys, or a greater one; zero for no keys. The caller has locked their
    /// records (Q2).
    #[inline]
    pub fn greatest<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) -> Stamp {
        // Pairs with the fence between the raise and the validation of every reader.
        fence(Ordering::SeqCst);
        let lanes = keys.into_iter().flat_map(|key| self.slot(KeyHash::of(key)));
        Stamp(lanes.map(|word| word.load(Ordering::Relaxed)).fold(0, u64::max))
    }

    /// Raises `vector`, which has as many lanes, to the lanes of a key. For Q2 the caller has fenced after it locked.
    #[inline]
    pub fn merge_into(&self, key: KeyHash, vector: &mut [u64], isa: Isa) {
        let slot = self.slot(key);
        assert_eq!(slot.len(), vector.len(), "a lane for each lane");
        if slot.len() < WIDE_LANES_MIN {
            return vector
                .iter_mut()
                .zip(slot)
                .for_each(|(lane, word)| *lane = (*lane).max(word.load(Ordering::Relaxed)));
        }
        for (vector, slot) in vector.chunks_mut(LANES_MAX).zip(slot.chunks(LANES_MAX)) {
            let mut found = [0; LANES_MAX];
            let found = &mut found[..slot.len()];
            found.iter_mut().zip(slot).for_each(|(to, word)| *to = word.load(Ordering::Relaxed));
            isa.raise(vector, found);
        }
    }

    /// How many lanes a slot has.
    #[inline]
    pub fn lanes(&self) -> usize {
        self.lanes_per_slot
    }
}

impl fmt::Debug for KeyStamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyStamps").field("slots", &self.slots).field("lanes", &self.lanes()).finish_non_exhaustive()
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
        let (stamps, keys) = (KeyStamps::new(16, 3), keys(100));
        assert_eq!(stamps.greatest(keys.iter().map(|key| &key[..])), Stamp::ZERO);
        let hash = |key: &[u8; 4]| KeyHash::of(key);
        for (index, key) in keys.iter().enumerate() {
            stamps.raise(hash(key), index % 3, Stamp(1000 - index as u64));
        }
        let mut lanes = [0; 3];
        for (index, key) in keys.iter().enumerate() {
            assert!(stamps.greatest([&key[..]]) >= Stamp(1000 - index as u64));
            lanes.fill(0);
            stamps.merge_into(hash(key), &mut lanes, Isa::best());
            assert!(lanes[index % 3] >= 1000 - index as u64);
        }
        assert_eq!(stamps.greatest(keys.iter().map(|key| &key[..])), Stamp(1000));
        assert_eq!(stamps.greatest([]), Stamp::ZERO);
    }

    #[test]
    fn lanes_are_apart() {
        let (stamps, mut lanes) = (KeyStamps::new(1, 2), [3, 3]);
        stamps.raise(KeyHash::of(b"key"), 1, Stamp(7));
        stamps.raise(KeyHash::of(b"key"), 1, Stamp(5));
        stamps.merge_into(KeyHash::of(b"key"), &mut lanes, Isa::best());
        assert_eq!(lanes, [3, 7]);
    }

    /// Also where a slot has more lanes than are merged at a time.
    #[test]
    fn slots_of_every_width_are_merged() {
        for (width, isa) in (1..=2 * LANES_MAX + 1).flat_map(|width| Isa::all().map(move |isa| (width, isa))) {
            let (stamps, mut lanes) = (KeyStamps::new(1, width), vec![5; width]);
            (0..width).for_each(|lane| stamps.raise(KeyHash::of(b"key"), lane, Stamp(lane as u64)));
            stamps.merge_into(KeyHash::of(b"key"), &mut lanes, isa);
            assert!(lanes.iter().enumerate().all(|(at, lane)| *lane == 5.max(at as u64)), "{isa:?} {lanes:?}");
        }
    }

    #[test]
    fn what_was_not_read_is_not_raised_for_the_most_part() {
        let stamps = KeyStamps::new(1 << 12, 1);
        let other = keys(1000);
        stamps.raise(KeyHash::of(b"read"), 0, Stamp(7));
        let raised = other.iter().filter(|key| stamps.greatest([&key[..]]) > Stamp::ZERO).count();
        assert!(raised < 10, "{raised} of 1000 share one of 4096 slots");
    }

    #[test]
    #[should_panic(expected = "12 slots")]
    fn slots_are_a_power_of_two() {
        let _ = KeyStamps::new(12, 1);
    }
}
