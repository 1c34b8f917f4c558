//! How many rows a table has, about, and some of them: for whoever chooses how to read it.
//!
//! Invariants:
//! - What is given is committed, and of no one moment. It is no part of what the transaction has read: nothing is noted, locked
//!   or validated, so nobody conflicts with it, and no other row may be written by what it says.
//! - A small tree is counted. In a large one, leaves are reached by chance ([`osier_memory::Tree::sample_leaf`]), and a row of
//!   each leaf has the same chance to be given (acceptance and rejection: Olken and Rotem).
//! - A call reads a bounded number of leaves and rows, under one pin.

use osier_memory::{Held, LeafScan, Pin, Record, ScanFrom};

use super::Transaction;
use crate::table::store::RecordTree;
use crate::table::{Row, Table};

/// A tree of so many leaves is counted.
const LEAVES_COUNTED_MAX: usize = 1024;
/// So many leaves are looked at to see how many there are.
const LEAVES_TRIED: usize = 64;
/// Of so many entries is looked whether there is a row.
const ENTRIES_TRIED: usize = 1024;
/// So many rows are taken of one leaf of a large tree.
const ROWS_OF_LEAF: usize = 3;

/// How much a sample may hold.
#[derive(Clone, Copy, Debug)]
pub struct SampleLimits {
    /// How many rows.
    pub rows_max: usize,
    /// How many encoded bytes of rows. A single row may go beyond that.
    pub bytes_max: usize,
}

/// What is known of a tree. Of a large one, entries without a row are among these.
struct Entries {
    count: f64,
    /// Some of them, in no order; all of them, where the tree is small.
    some: Vec<Held<Record>>,
}

impl Transaction<'_> {
    /// Returns about how many committed rows a table has: exactly, where these are few and nobody changes them.
    pub fn estimate_rows(&self, table: &Table) -> f64 {
        self.look(|pin| {
            let entries = entries(pin, &table.primary, ENTRIES_TRIED);
            let present = entries.some.iter().filter(|entry| pin.get(**entry).version(pin).is_some()).count();
            rows_of(&entries, entries.some.len(), present)
        })
    }

    /// Calls `visit` with some committed rows of a table, each with the same chance, and returns about how many rows the table
    /// has.
    pub fn sample(&self, table: &Table, limits: SampleLimits, visit: &mut dyn FnMut(&Row<'_>)) -> f64 {
        self.look(|pin| {
            let entries = entries(pin, &table.primary, limits.rows_max);
            let (mut looked_at, mut present, mut bytes) = (0, 0, 0);
            for entry in &entries.some {
                if bytes >= limits.bytes_max {
                    break;
                }
                looked_at += 1;
                if let Some(version) = pin.get(*entry).version(pin) {
                    present += 1;
                    bytes += version.bytes().len();
                    visit(&table.rows.row(version.bytes()));
                }
            }
            rows_of(&entries, looked_at, present)
        })
    }

    fn look<T>(&self, look: impl FnOnce(&Pin<'_>) -> T) -> T {
        match self.at_snapshot() {
            Some(at) => at.pinned(look),
            None => look(self.pin()),
        }
    }
}

/// How many rows there are, where so many of the entries that were looked at have one.
fn rows_of(entries: &Entries, looked_at: usize, present: usize) -> f64 {
    if looked_at == 0 { 0.0 } else { entries.count * present as f64 / looked_at as f64 }
}

/// Reads how many entries a tree has, and up to `wanted` of them.
fn entries(pin: &Pin<'_>, tree: &RecordTree, wanted: usize) -> Entries {
    // The same table gives the same sample, so that the same query is planned in the same way.
    let mut random = fastrand::Rng::with_seed(0);
    let mut leaf = LeafScan::default();
    let first = tree.sample_leaf(pin, &mut |count| random.usize(..count), &mut leaf);
    let is_small = first <= LEAVES_COUNTED_MAX as f64 * 2.0;
    if is_small && let Some(counted) = counted(pin, tree, wanted, &mut random) {
        return counted;
    }
    drawn(pin, tree, wanted, &mut random)
}

/// All entries of a small tree that have a row, or some of those; `None` of a large one.
fn counted(pin: &Pin<'_>, tree: &RecordTree, wanted: usize, random: &mut fastrand::Rng) -> Option<Entries> {
    let mut some = Vec::new();
    let mut leaf = LeafScan::default();
    tree.scan_leaf(pin, ScanFrom::AtLeast(&[]), &mut leaf);
    for _ in 0..LEAVES_COUNTED_MAX {
        some.extend(leaf.entries.iter().filter(|entry| pin.get(**entry).version(pin).is_some()));
        if !tree.scan_next(pin, &mut leaf) {
            let count = some.len() as f64;
            if some.len() > wanted {
                shuffle_front(&mut some, wanted, random);
                some.truncate(wanted);
            }
            return Some(Entries { count, some });
        }
    }
    None
}

/// Entries of leaves to which chance leads.
fn drawn(pin: &Pin<'_>, tree: &RecordTree, wanted: usize, random: &mut fastrand::Rng) -> Entries {
    let mut leaf = LeafScan::default();
    let mut drawn: Vec<(f64, Vec<Held<Record>>)> = Vec::new();
    let mut sum = 0.0;
    let tries = LEAVES_TRIED.max(wanted.div_ceil(ROWS_OF_LEAF));
    for _ in 0..tries {
        let leaves = tree.sample_leaf(pin, &mut |count| random.usize(..count), &mut leaf);
        // The more leaves it stands for, the less was the chance to come to it; and an entry of a full leaf has to be taken as
        // often as one of another.
        let weight = leaves * leaf.entries.len() as f64;
        sum += weight;
        let taken = ROWS_OF_LEAF.min(leaf.entries.len());
        shuffle_front(&mut leaf.entries, taken, random);
        drawn.push((weight, leaf.entries[..taken].to_vec()));
    }
    let heaviest = drawn.iter().map(|(weight, _)| *weight).fold(0.0, f64::max);
    let mut some = Vec::with_capacity(wanted);
    for (weight, entries) in drawn {
        some.extend(entries.into_iter().filter(|_| random.f64() * heaviest < weight));
    }
    // One entry may have been drawn twice.
    some.sort_unstable_by_key(Held::address);
    some.dedup_by_key(|entry| entry.address());
    let count = some.len();
    shuffle_front(&mut some, count, random);
    Entries { count: sum / tries as f64, some }
}

/// Puts entries that are drawn by chance to the front.
fn shuffle_front(entries: &mut [Held<Record>], count: usize, random: &mut fastrand::Rng) {
    for at in 0..count.min(entries.len()) {
        entries.swap(at, random.usize(at..entries.len()));
    }
}
