//! Expecting keys: what lookups of several keys will read is asked for side by side, where the lookups themselves wait for
//! one line after the other.
//!
//! Invariants:
//! - An expectation is a guess: it observes nothing, its hints may lead to other keys' entries or nowhere, and leaving it out
//!   changes no result.
//! - An entry that a hint leads to is alive while the caller's pin lasts (H2 in `hints.rs`), whichever key it has.
//!
//! Deliberately absent: the way down. Trees that are so small that they have no hints are in the cache, and keys without a
//! hint are few.

use crate::Entry;
use crate::epoch::Pin;
use crate::prefetch::prefetch;

use std::marker::PhantomData;

use super::Tree;
use super::hints::Spot;
use super::node::Raw;

/// Keys that [`Tree::expect`] asks for at once: about as many lines as a core waits for at a time.
pub const EXPECTED_AT_ONCE: usize = 16;

/// As far behind an entry as short keys reach, which may be the next line.
const KEY_REACH_BYTES: usize = 48;

impl<T: Entry + ?Sized, const L: usize, const I: usize> Tree<T, L, I> {
    /// Asks for what lookups of `keys` will read up to their entries. Then `soon` is called with each entry that seems to be
    /// one of theirs, to ask for what will be read behind it.
    ///
    /// # Panics
    /// Where `pin` belongs to other epochs than the tree.
    pub fn expect<K: AsRef<[u8]>>(&self, pin: &Pin<'_>, keys: impl IntoIterator<Item = K>, mut soon: impl FnMut(&T)) {
        self.check(pin);
        let mut keys = keys.into_iter().fuse();
        loop {
            let mut spots = [None; EXPECTED_AT_ONCE];
            for (spot, key) in spots.iter_mut().zip(&mut keys) {
                *spot = self.hints.spot(pin, key.as_ref());
                spot.iter().for_each(|spot| spot.prefetch());
            }
            let entries = spots.map(|spot| spot?.guess());
            entries.iter().flatten().for_each(|entry| {
                prefetch(entry.as_ptr());
                prefetch(entry.as_ptr().wrapping_byte_add(KEY_REACH_BYTES));
            });
            // SAFETY: H2: each hint was stored when its entry was linked, and found under this pin.
            entries.iter().flatten().for_each(|entry| soon(unsafe { T::from_raw(*entry) }));
            if spots[EXPECTED_AT_ONCE - 1].is_none() {
                return;
            }
        }
    }
}

/// A lookup to come, of which one line after the other is asked for: who has other work does that in between.
pub struct Ahead<'p, T: ?Sized> {
    stage: Stage<'p>,
    entry: PhantomData<&'p T>,
}

/// What was asked for.
enum Stage<'p> {
    Bucket(Spot<'p>),
    Entry(Raw),
    /// All, or nothing: there is no hint.
    Over,
}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Tree<T, L, I> {
    /// Begins to ask for what a lookup of `key` will read, as [`Tree::expect`] does for several keys.
    ///
    /// # Panics
    /// Where `pin` belongs to other epochs than the tree.
    pub fn ask_ahead<'p>(&self, pin: &'p Pin<'_>, key: &[u8]) -> Ahead<'p, T> {
        self.check(pin);
        let spot = self.hints.spot(pin, key);
        spot.iter().for_each(|spot| spot.prefetch());
        Ahead { stage: spot.map_or(Stage::Over, Stage::Bucket), entry: PhantomData }
    }
}

impl<T: Entry + ?Sized> Ahead<'_, T> {
    /// Asks for what comes next, once what was asked for is there. At last `soon` is called with the entry that seems to be that
    /// of the key, to ask for what will be read behind it. Returns whether anything was asked for.
    pub fn advance(&mut self, soon: impl FnOnce(&T)) -> bool {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Bucket(spot) => {
                let Some(entry) = spot.guess() else { return false };
                prefetch(entry.as_ptr());
                prefetch(entry.as_ptr().wrapping_byte_add(KEY_REACH_BYTES));
                self.stage = Stage::Entry(entry);
                true
            }
            Stage::Entry(entry) => {
                // SAFETY: H2: the hint was stored when the entry was linked, and found under the pin that this borrows.
                soon(unsafe { T::from_raw(entry) });
                true
            }
            Stage::Over => false,
        }
    }
}
