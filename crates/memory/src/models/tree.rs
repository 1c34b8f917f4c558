//! The tree's optimistic lock coupling: searches and scans beside inserts, splits and joins, and writers beside each other.
//!
//! Nodes have four slots, so five keys make two levels. A key is one byte.
//!
//! Absent: three levels. What happens there is the same code one level up; the stress test of the tree reaches it.

use super::explore;
use crate::sync::atomic::{Ordering, fence};
use crate::sync::{Arc, thread};
use crate::tree::tests::Fixture;
use crate::{Keyed, LeafRead, LeafScan, Lookup, Participant, Pin, ScanFrom, Stamp};

pub(super) type Model = Fixture<4>;

/// Fills one leaf.
pub(super) const ONE_LEAF: &[u8] = &[10, 20, 30, 40];

/// The last of them alone in a second leaf.
pub(super) const TWO_LEAVES: &[u8] = &[10, 20, 30, 40, 50];

/// The stamp of what was removed before a scenario begins.
const REMOVED: Stamp = Stamp(1);

/// A tree into which each of `keys` was put, or out of which it was taken where it comes again, and two who use it.
pub(super) fn tree_of(keys: &[u8]) -> (Arc<Model>, Participant, Participant) {
    let model = Arc::new(Model::new());
    let mut first = model.epochs.register().expect("a slot");
    let second = model.epochs.register().expect("a slot");
    let pin = first.pin();
    for (index, &key) in keys.iter().enumerate() {
        if keys[..index].contains(&key) { remove(&model, &pin, key, REMOVED.0) } else { insert(&model, &pin, key) }
    }
    drop(pin);
    (model, first, second)
}

pub(super) fn insert(model: &Model, pin: &Pin<'_>, key: u8) {
    assert!(model.insert(pin, &[key], u64::from(key)).change.is_some(), "{key} is new");
}

pub(super) fn remove(model: &Model, pin: &Pin<'_>, key: u8, stamp: u64) {
    assert!(model.remove(pin, &[key], stamp), "{key} is there");
}

pub(super) fn assert_found(model: &Model, pin: &Pin<'_>, key: u8) {
    assert_eq!(model.value(pin, &[key]), Some(u64::from(key)), "{key} is there all the time");
}

/// The state of the leaf in which `key` is not.
pub(super) fn absence(model: &Model, pin: &Pin<'_>, key: u8) -> Option<LeafRead<4>> {
    match model.tree.get(pin, &[key]) {
        Lookup::Found(_) => None,
        Lookup::Absent(read) => Some(read),
    }
}

/// Runs `write` and `other` at the same time on a tree of `keys`; then it is sound and holds the keys `after`.
///
/// The writer's thread comes first: loom tries another order of a load and a later store only where the storing thread has
/// not loaded the same word in between, which a writer does before it locks.
pub(super) fn beside(
    (keys, after): (&'static [u8], &'static [u8]),
    write: impl Fn(&Model, &Pin<'_>) + Send + Sync + 'static,
    other: impl Fn(&Model, &Pin<'_>) + Copy + Send + Sync + 'static,
) {
    explore(2, move || {
        let (model, mut first, mut second) = tree_of(keys);
        let running = {
            let model = Arc::clone(&model);
            thread::spawn(move || other(&model, &second.pin()))
        };
        write(&model, &first.pin());
        running.join().expect("the other is content");
        let pin = first.pin();
        model.tree.assert_sound(&pin);
        let found = model.scan(&pin, ScanFrom::AtLeast(&[])).concat();
        assert_eq!(found, after);
        for &key in keys {
            assert_eq!(model.value(&pin, &[key]).is_some(), after.contains(&key), "{key} is found if it is there");
        }
    });
}

#[test]
fn a_search_beside_an_insert() {
    beside(
        (&[10, 20, 30], &[10, 20, 25, 30]),
        |model, pin| insert(model, pin, 25),
        |model, pin| assert_found(model, pin, 30),
    );
}

#[test]
fn a_removal_beside_an_insert() {
    beside((&[10, 20, 30], &[10, 20, 25]), |model, pin| insert(model, pin, 25), |model, pin| remove(model, pin, 30, 1));
}

#[test]
fn a_search_beside_a_new_root() {
    beside(
        (ONE_LEAF, &[10, 20, 25, 30, 40]),
        |model, pin| insert(model, pin, 25),
        |model, pin| {
            assert_found(model, pin, 20);
            assert_found(model, pin, 40);
        },
    );
}

#[test]
fn a_search_beside_a_split() {
    beside(
        (TWO_LEAVES, &[10, 20, 25, 30, 40, 50]),
        |model, pin| insert(model, pin, 25),
        |model, pin| assert_found(model, pin, 50),
    );
}

/// The empty leaf takes half of its neighbour's entries.
#[test]
fn a_search_beside_a_balanced_join() {
    beside(
        (TWO_LEAVES, &[10, 20, 30, 40]),
        |model, pin| remove(model, pin, 50, 9),
        |model, pin| assert_found(model, pin, 40),
    );
}

/// The stamp of a removal stays with its range: here the leaf is split after it.
#[test]
fn a_split_keeps_the_stamp_of_a_removal() {
    beside(
        (&[10, 20, 30, 40, 20, 22], &[10, 22, 25, 30, 40]),
        |model, pin| insert(model, pin, 25),
        |model, pin| {
            let absence = absence(model, pin, 20).expect("it was removed");
            assert!(absence.max_stamp() >= REMOVED);
        },
    );
}

/// As above; here the leaf is joined because of it, and becomes the root.
#[test]
fn a_join_keeps_the_stamp_of_a_removal() {
    beside(
        (&[10, 20, 30, 40, 50, 40], &[10, 20, 30]),
        |model, pin| remove(model, pin, 50, 9),
        |model, pin| assert!(absence(model, pin, 50).is_none_or(|read| read.max_stamp() >= Stamp(9))),
    );
}

/// A leaf that has not changed since it was scanned holds what it held.
#[test]
fn an_unchanged_leaf_holds_what_it_held() {
    beside(
        (&[10, 20], &[10, 15, 20]),
        |model, pin| insert(model, pin, 15),
        |model, pin| {
            let mut leaf = LeafScan::new();
            model.tree.scan_leaf(pin, ScanFrom::AtLeast(&[12]), &mut leaf);
            let keys: Vec<u8> = leaf.entries.iter().map(|&held| pin.get(held).key()[0]).collect();
            assert!(keys == [20] || keys == [15, 20]);
            let is_there = model.value(pin, &[15]).is_some();
            assert!(is_there == keys.contains(&15) || !model.tree.is_unchanged(pin, &leaf.read()));
        },
    );
}

/// Two splits of the same leaf, one of them after the other.
#[test]
fn two_inserts_lose_nothing() {
    beside(
        (ONE_LEAF, &[10, 20, 25, 30, 35, 40]),
        |model, pin| insert(model, pin, 25),
        |model, pin| insert(model, pin, 35),
    );
}

/// A join takes over a leaf that somebody inserts into.
#[test]
fn an_insert_beside_a_join_loses_nothing() {
    beside(
        (&[10, 20, 30, 40, 50, 40], &[10, 15, 20, 30]),
        |model, pin| remove(model, pin, 50, 1),
        |model, pin| insert(model, pin, 15),
    );
}

/// Two who find the other's key absent and insert their own, in one leaf or in two: at most one finds at its end that the
/// absence has lasted.
#[test]
fn of_two_phantoms_one_is_seen() {
    for (left, right) in [(15, 45), (15, 16)] {
        explore(2, move || {
            let (model, first, second) = tree_of(&[10, 20, 40, 50, 30]);
            let transaction = |model: &Model, mut participant: Participant, own: u8, other: u8| {
                let pin = participant.pin();
                let Some(mut read) = absence(model, &pin, other) else { return false };
                let change = model.insert(&pin, &[own], 1).change.expect("the key is new");
                if change.before.is_same_leaf(&read) {
                    if change.before != read {
                        return false;
                    }
                    read = change.after().next().expect("a leaf is left");
                }
                fence(Ordering::SeqCst);
                model.tree.is_unchanged(&pin, &read)
            };
            let shared = Arc::clone(&model);
            let running = thread::spawn(move || transaction(&shared, first, left, right));
            let committed = transaction(&model, second, right, left);
            let both = running.join().expect("the other is content") && committed;
            assert!(!both, "neither saw the other");
        });
    }
}

/// An entry, and the leaf it was found in, stay as long as the pin; what a split and a removal leave behind is freed after.
#[test]
fn what_is_found_is_not_freed() {
    explore(2, || {
        let (model, mut writer, mut reader) = tree_of(ONE_LEAF);
        let reading = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                let pin = reader.pin();
                if let Lookup::Found(held) = model.tree.get(&pin, &[20]) {
                    assert_eq!(pin.get(held).key(), [20]);
                }
            })
        };
        let pin = writer.pin();
        remove(&model, &pin, 20, 1);
        drop(pin);
        drop(writer.pin());
        model.epochs.advance();
        drop(writer.pin());
        reading.join().expect("the reader is content");
    });
}
