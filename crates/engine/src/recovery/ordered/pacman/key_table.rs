//! Who accesses each key space last: a hash table that is filled in the order of the log.
//!
//! Made for planning, where most of the time goes into lines that are in no cache: a slot is a quarter of a line, which can be
//! asked for ahead, and who reads a key space is a list within one vector.
//!
//! Invariants:
//! - A key space is its hash. Two with the same one are one.
//! - At most half of the slots are taken, so that a search ends at a free one.

use osier_memory::prefetch_to_write;

use super::waits::{Runs, Waits};
use crate::recovery::faults;

/// No transaction, and no place in a list.
const NONE: u32 = u32::MAX;

const SLOTS_MIN: usize = 1 << 10;

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The key space; zero: the slot is free.
    key: u64,
    /// The last that modifies it.
    writer: u32,
    /// The list of those that have read it since: of the last one the place. Once it is [closed](KeyTable::close), the place of
    /// all of them.
    readers: u32,
}

const FREE: Slot = Slot { key: 0, writer: NONE, readers: NONE };

/// The table.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    /// A power of two, or none.
    slots: Vec<Slot>,
    taken: usize,
    /// Those who read a key space: the number, and the place of the one before.
    readers: Vec<(u32, u32)>,
}

impl KeyTable {
    /// Forgets everything, but keeps the memory.
    pub(super) fn clear(&mut self) {
        if self.taken > 0 {
            self.slots.fill(FREE);
        }
        self.readers.clear();
        self.taken = 0;
    }

    /// Asks for the memory of a key space.
    pub(super) fn prefetch(&self, key: u64) {
        if let Some(slot) = self.slots.get(self.first_place(key.max(1))) {
            prefetch_to_write(slot);
        }
    }

    /// The transaction with this number reads a key space: tells `wait` who has modified it.
    pub(super) fn read(&mut self, key: u64, number: u32, wait: impl FnMut(u32)) {
        let slot = self.slot(key);
        let Slot { writer, readers, .. } = self.slots[slot];
        some(writer).into_iter().for_each(wait);
        if self.readers.get(readers as usize).is_none_or(|(last, _)| *last != number) {
            self.slots[slot].readers = self.readers.len() as u32;
            self.readers.push((number, readers));
        }
    }

    /// The transaction with this number modifies a key space: tells `wait` who has modified it, and who has read it since.
    pub(super) fn modify(&mut self, key: u64, number: u32, mut wait: impl FnMut(u32)) {
        let slot = self.slot(key);
        let Slot { writer, readers, .. } = self.slots[slot];
        some(writer).into_iter().for_each(&mut wait);
        self.list(readers).filter(|_| faults::awaits_readers()).for_each(wait);
        (self.slots[slot].writer, self.slots[slot].readers) = (number, NONE);
    }

    /// The readers of a list, the last one first.
    fn list(&self, mut at: u32) -> impl Iterator<Item = u32> {
        std::iter::from_fn(move || {
            let (number, before) = self.readers.get(at as usize)?;
            at = *before;
            Some(*number)
        })
    }

    fn first_place(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & self.slots.len().wrapping_sub(1)
    }

    /// Returns the place of a key space, or of the free slot where it would be; of an empty table none.
    fn place(&self, key: u64) -> usize {
        let mut at = self.first_place(key);
        while self.slots.get(at).is_some_and(|slot| slot.key != key && slot.key != 0) {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// Returns the place of a key space, new or not.
    fn slot(&mut self, key: u64) -> usize {
        if 2 * self.taken >= self.slots.len() {
            let slots = vec![FREE; (2 * self.slots.len()).max(SLOTS_MIN)];
            for slot in std::mem::replace(&mut self.slots, slots).into_iter().filter(|slot| slot.key != 0) {
                let at = self.place(slot.key);
                self.slots[at] = slot;
            }
        }
        let key = key.max(1);
        let at = self.place(key);
        self.taken += usize::from(self.slots[at].key == 0);
        self.slots[at].key = key;
        at
    }

    /// Nothing is added any more: now others may wait.
    pub(super) fn close(mut self) -> ClosedKeyTable {
        let mut waits = Vec::new();
        for at in 0..self.slots.len() {
            if self.slots[at].readers != NONE {
                let mut numbers: Vec<u32> = self.list(self.slots[at].readers).collect();
                numbers.reverse();
                self.slots[at].readers = waits.len() as u32;
                waits.push(Waits::new(numbers));
            }
        }
        self.readers = Vec::new();
        ClosedKeyTable { table: self, waits }
    }
}

fn some(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

/// A table in which users of the database look for whom they wait.
#[derive(Debug, Default)]
pub(super) struct ClosedKeyTable {
    table: KeyTable,
    waits: Vec<Waits>,
}

impl ClosedKeyTable {
    /// Returns the last one that modifies a key space, if it has not run, and asks for it; or else, where readers count, the
    /// first of those that have read it since and have not run, and asks for all of them.
    pub(super) fn first_left(&self, key: u64, graph: &impl Runs, readers_count: bool) -> Option<u32> {
        let key = key.max(1);
        let slot = self.table.slots.get(self.table.place(key)).filter(|slot| slot.key == key)?;
        let writer = some(slot.writer).filter(|number| !graph.has_run(*number)).inspect(|at| graph.ask_for(*at));
        writer.or_else(|| self.waits.get(slot.readers as usize).filter(|_| readers_count)?.first_left(graph))
    }
}
