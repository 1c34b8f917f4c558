//! Tests of the tree, over an entry that is as simple as can be and counts how often it is freed.
//!
//! Deliberately absent: timing; see the bench `tree` of the bench crate.

#[cfg(not(any(loom, shuttle)))]
mod expect;
#[cfg(not(any(loom, shuttle)))]
mod keys;
#[cfg(not(any(loom, shuttle)))]
mod model;
#[cfg(not(any(loom, shuttle)))]
mod runs;
#[cfg(all(feature = "simulated", not(any(loom, shuttle))))]
mod small;
#[cfg(not(any(loom, shuttle)))]
mod stress;

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::epoch::{Epochs, Pin};
use crate::ids::Stamp;
use crate::sync::{Arc, RaceCell};
use crate::thin::{Entry, Keyed};
use crate::usage::Tally;

use super::{Inserted, Lookup, ScanFrom, Tree};

/// An entry: a key, a value, and a counter of the living.
pub(crate) struct Item {
    race: RaceCell,
    key: Box<[u8]>,
    value: u64,
    alive: Arc<AtomicUsize>,
}

/// An item that no tree holds yet.
pub(crate) struct ItemBox(Box<Item>);

impl ItemBox {
    pub(crate) fn new(key: &[u8], value: u64, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        ItemBox(Box::new(Item { race: RaceCell::new(), key: key.into(), value, alive: Arc::clone(alive) }))
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.race.write();
        let before = self.alive.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "an item is freed once");
    }
}

impl Deref for ItemBox {
    type Target = Item;

    fn deref(&self) -> &Item {
        &self.0
    }
}

impl Keyed for Item {
    fn key(&self) -> &[u8] {
        self.race.read();
        &self.key
    }
}

// SAFETY: a boxed item is found at its address until the box is made again and dropped.
unsafe impl Entry for Item {
    type Owned = ItemBox;

    fn into_raw(owned: ItemBox, _epochs: &Epochs, _tally: &Tally) -> NonNull<()> {
        NonNull::from(Box::leak(owned.0)).cast()
    }

    unsafe fn free(raw: NonNull<()>, _tally: &Tally) {
        // SAFETY: the caller owns what `into_raw` gave up.
        drop(unsafe { Box::from_raw(raw.cast::<Item>().as_ptr()) });
    }
}

/// A tree of items with what the tests need beside it.
pub(crate) struct Fixture<const N: usize> {
    pub(crate) tree: Tree<Item, N, N>,
    pub(crate) epochs: Arc<Epochs>,
    pub(crate) alive: Arc<AtomicUsize>,
}

impl<const N: usize> Fixture<N> {
    pub(crate) fn new() -> Self {
        let epochs = Epochs::new(8);
        Fixture { tree: Tree::new(Arc::clone(&epochs)), epochs, alive: Arc::default() }
    }

    pub(crate) fn insert(&self, pin: &Pin<'_>, key: &[u8], value: u64) -> Inserted<Item, N> {
        let make = |_| ItemBox::new(key, value, &self.alive);
        match value % 2 {
            0 => self.tree.insert_or_get(pin, key, make),
            _ => self.tree.get_or_insert(pin, key, make),
        }
    }

    pub(crate) fn remove(&self, pin: &Pin<'_>, key: &[u8], stamp: u64) -> bool {
        self.tree.remove_if(pin, key, |_, _| Some(Stamp(stamp)))
    }

    pub(crate) fn value(&self, pin: &Pin<'_>, key: &[u8]) -> Option<u64> {
        match self.tree.get(pin, key) {
            Lookup::Found(held) => {
                let item = pin.get(held);
                assert_eq!(&*item.key, key, "the entry found has the key that was looked for");
                Some(item.value)
            }
            Lookup::Absent(_) => None,
        }
    }

    /// Everything from `from` on, in the order of the scan.
    pub(crate) fn scan(&self, pin: &Pin<'_>, from: ScanFrom<'_>) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let mut leaf = super::LeafScan::new();
        self.tree.scan_leaf(pin, from, &mut leaf);
        loop {
            found.extend(leaf.entries.iter().map(|&held| pin.get(held).key.to_vec()));
            if !self.tree.scan_next(pin, &mut leaf) {
                return found;
            }
        }
    }
}
