//! Write sets of all sizes beside a model: a list that is searched from its beginning. With the sizes that ship.

use std::collections::HashMap;

use fastrand::Rng;
use osier_memory::{Epochs, Held, Pin, Record, Stamp, Tree, VersionBox};

use super::{Mark, TreeRef, Write, WriteSet};

const RECORDS: u32 = 60;
const PRIMARY: TreeRef = TreeRef { table: 0, index: None };

fn write(record: Held<Record>, value: u64) -> Write {
    let pending = Some(VersionBox::copy_of(&value.to_be_bytes()));
    Write::new(record, PRIMARY, pending)
}

/// What a transaction is to write, and what it was to write at each savepoint.
#[derive(Default)]
struct Model {
    writes: HashMap<u32, u64>,
    savepoints: Vec<(Mark, HashMap<u32, u64>)>,
}

fn pending(set: &WriteSet, record: Held<Record>) -> Option<u64> {
    let bytes = set.find(record)?.pending.as_ref().expect("nothing is deleted").bytes();
    Some(u64::from_be_bytes(bytes.try_into().expect("eight bytes")))
}

fn assert_agrees(set: &WriteSet, model: &Model, records: &[Held<Record>]) {
    assert_eq!(set.len(), model.writes.len());
    for (number, record) in (0..).zip(records) {
        assert_eq!(pending(set, *record), model.writes.get(&number).copied(), "record {number}");
    }
}

/// One transaction: writes, operations of several that may fail, savepoints and ways back to them. Outside of savepoints the set
/// keeps nothing of what it replaced.
fn transaction(rng: &mut Rng, pin: &Pin<'_>, set: &mut WriteSet, records: &[Held<Record>]) {
    let mut model = Model::default();
    set.clear();
    let steps = rng.usize(1..150);
    for value in 0..steps as u64 {
        match rng.u8(0..12) {
            0 => model.savepoints.push((set.mark(), model.writes.clone())),
            1 if !model.savepoints.is_empty() => {
                let at = rng.usize(0..model.savepoints.len());
                model.savepoints.truncate(at + 1);
                let (mark, writes) = &model.savepoints[at];
                set.rollback_to(*mark);
                model.writes.clone_from(writes);
                assert_agrees(set, &model, records);
            }
            2 => {
                let (before, attempt, succeeds) = (model.writes.clone(), set.begin_attempt(), rng.bool());
                for _ in 0..rng.u8(1..4) {
                    put(rng, set, &mut model, records, value);
                }
                set.end_attempt(attempt, succeeds);
                if !succeeds {
                    model.writes = before;
                    assert_agrees(set, &model, records);
                }
            }
            _ => put(rng, set, &mut model, records, value),
        }
    }
    assert_agrees(set, &model, records);
    assert!(!model.savepoints.is_empty() || set.undo.is_empty(), "no savepoint needs what was replaced");
    set.sort_for_locking(pin);
    for (number, record) in (0..).zip(records) {
        let is_written = model.writes.contains_key(&number);
        assert_eq!(set.contains_sorted(pin, *record), is_written, "record {number} of {}", set.len());
    }
}

fn put(rng: &mut Rng, set: &mut WriteSet, model: &mut Model, records: &[Held<Record>], value: u64) {
    let number = rng.u32(0..RECORDS);
    set.put(write(records[number as usize], value));
    model.writes.insert(number, value);
}

fn run(seeds: std::ops::Range<u64>) {
    let epochs = Epochs::new(1);
    let tree: Tree<Record> = Tree::new(epochs.clone());
    let mut participant = epochs.register().expect("room");
    let pin = participant.pin();
    let key = |number: u32| number.to_be_bytes();
    let insert = |number| tree.get_or_insert(&pin, &key(number), |_| Record::new_absent(&key(number), Stamp::ZERO));
    let mut records: Vec<Held<Record>> = (0..RECORDS).map(|number| insert(number).entry).collect();
    let mut set = WriteSet::default();
    for seed in seeds {
        let mut rng = Rng::with_seed(seed);
        rng.shuffle(&mut records);
        transaction(&mut rng, &pin, &mut set, &records);
    }
}

#[test]
fn a_write_set_of_any_size_is_what_was_written() {
    run(0..300);
}

/// In builds with the feature: the test above fails with each of these.
#[cfg(feature = "mutations")]
#[test]
fn faults_of_large_write_sets_are_found() {
    use crate::failpoint::Mutation;
    use crate::failpoint::simulated::build_in;

    for mutation in [Mutation::StalePlaces, Mutation::BisectionTrusted] {
        build_in(&[mutation]);
        let found = std::panic::catch_unwind(|| run(0..300)).is_err();
        build_in(&[]);
        assert!(found, "{mutation:?}");
    }
}
