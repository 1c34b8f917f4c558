//! Insertion of keys that come in ascending order: while they stay in one leaf nobody descends for them.
//!
//! Invariant: a leaf that is not obsolete holds the keys between its fences, so one that is remembered from the insertion
//! before serves as well as one that was just reached.

use crate::epoch::{Held, Pin};
use crate::ids::Stamp;
use crate::thin::Entry;

use super::descend::{Place, as_leaf};
use super::insert::Inserted;
use super::node::{Header, Raw};
use super::{Tree, hold};

/// Where a run of keys has come to. It lasts as long as its pin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    leaf: Option<Held<Header>>,
}

impl<T: Entry + ?Sized, const L: usize, const I: usize> Tree<T, L, I> {
    /// As [`Tree::get_or_insert`], and faster where `key` follows the keys that `run` had before.
    ///
    /// # Panics
    /// As for [`Tree::get_or_insert`], and where `run` is of another pin.
    pub fn get_or_insert_next(
        &self,
        pin: &Pin<'_>,
        run: &mut Run,
        key: &[u8],
        make: impl FnOnce(Stamp) -> T::Owned,
    ) -> Inserted<T> {
        let mut make = Some(make);
        let mut once = |stamp| make.take().expect("an entry is made once")(stamp);
        if let Some(inserted) = run.leaf.and_then(|leaf| self.insert_into(pin, leaf, key, &mut once)) {
            return inserted;
        }
        let inserted = self.insert_or_get(pin, key, once);
        run.leaf = inserted.change.and_then(|change| {
            let holds = |leaf: &Held<Header>| pin.get(*leaf).low() <= key;
            change.leaves().filter(holds).last()
        });
        inserted
    }

    /// `None`: the key has to find its way from the root.
    fn insert_into(
        &self,
        pin: &Pin<'_>,
        leaf: Held<Header>,
        key: &[u8],
        make: &mut impl FnMut(Stamp) -> T::Owned,
    ) -> Option<Inserted<T>> {
        let header = pin.get(leaf);
        if header.high().is_some_and(|high| key >= high) || !header.covers(key) {
            return None;
        }
        let word = header.lock.stable().ok()?;
        let leaf = as_leaf::<T, L>(pin, pin.raw(leaf).cast());
        match leaf.find(key, word).ok()? {
            Place::At(_, entry) => Some(Inserted { entry: hold(pin, entry), change: None }),
            // Behind one of its entries the key is above the low fence.
            Place::Gap(slot) if leaf.count() == L || slot == 0 && key < header.low() => None,
            Place::Gap(slot) => {
                let guard = leaf.header.lock.try_lock(word).ok()?;
                Some(
                    self.insert_in_gap(pin, leaf, guard, (slot, key), |stamp| -> Raw {
                        self.own(pin, key, make(stamp))
                    }),
                )
            }
        }
    }
}
