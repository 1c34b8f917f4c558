//! Hints of the tree: lookups beside those who store, clear and outgrow them.
//!
//! Two leaves are enough for a table, and a third makes it grow. Keys are such that their hints do not share a place.
//!
//! Absent: evictions, which are a lookup and a removal's exchange at one place.

use super::explore;
use super::tree::{Model, assert_found, beside, insert, tree_of};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, thread};
use crate::{Keyed, Lookup, Participant, Pin, Stamp};

/// Two leaves, the second of which can lose a key without being joined.
const KEYS: &[u8] = &[10, 20, 30, 40, 50, 60];

/// A key of the second leaf.
const KEY: u8 = 60;

/// What makes a third leaf.
const GROWS: u8 = 25;

fn remove(model: &Model, pin: &Pin<'_>) {
    assert!(model.remove(pin, &[KEY], 1), "it is there");
}

/// Looks for the key, in whatever way it is found.
fn look(model: &Model, pin: &Pin<'_>) {
    if let Lookup::Found(held) = model.tree.get(pin, &[KEY]) {
        assert_eq!(pin.get(held).key(), [KEY]);
    }
}

/// [`look`] in a thread of its own.
fn look_meanwhile(model: &Arc<Model>, mut reader: Participant) -> thread::JoinHandle<()> {
    let model = Arc::clone(model);
    thread::spawn(move || look(&model, &reader.pin()))
}

/// Gives the key a hint.
fn hint(model: &Model, pin: &Pin<'_>) {
    assert_found(model, pin, KEY);
    assert!(model.tree.is_hinted(pin, &[KEY]), "the key has a place of its own");
}

/// The leaf has no hints yet: it gets all of them.
#[test]
fn a_removal_beside_the_first_lookup() {
    beside((KEYS, &[10, 20, 30, 40, 50]), remove, look);
}

/// The leaf has hints, but the key is newer than they are.
#[test]
fn a_removal_beside_a_lookup() {
    explore(2, || {
        let (model, mut writer, reader) = tree_of(&KEYS[..5]);
        let pin = writer.pin();
        assert_found(&model, &pin, 50);
        insert(&model, &pin, KEY);
        let looking = look_meanwhile(&model, reader);
        remove(&model, &pin);
        looking.join().expect("the reader is content");
        assert_eq!(model.value(&pin, &[KEY]), None, "it was removed");
    });
}

/// The remover must clear the hint in the table that it was stored in.
#[test]
fn a_removal_beside_growth() {
    beside((KEYS, &[10, 20, 25, 30, 40, 50]), remove, |model, pin| {
        insert(model, pin, GROWS);
        look(model, pin);
    });
}

/// What a hint leads to has been written before, also where the table is older. (The lookup of the one may keep the other from
/// storing the hint.)
#[test]
fn a_lookup_beside_a_new_hint() {
    explore(1, || {
        let (model, mut writer, reader) = tree_of(&KEYS[..5]);
        let pin = writer.pin();
        assert_found(&model, &pin, 50);
        let looking = look_meanwhile(&model, reader);
        insert(&model, &pin, KEY);
        assert_found(&model, &pin, KEY);
        looking.join().expect("the reader is content");
    });
}

/// What is found in a table that has just come has been written before.
#[test]
fn a_lookup_beside_growth() {
    explore(1, || {
        let (model, mut writer, mut reader) = tree_of(KEYS);
        let looking = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                let found = model.value(&reader.pin(), &[GROWS]);
                assert!(found.is_none_or(|value| value == u64::from(GROWS)));
            })
        };
        let pin = writer.pin();
        insert(&model, &pin, GROWS);
        assert_found(&model, &pin, GROWS);
        looking.join().expect("the reader is content");
    });
}

/// An entry that was found by its hint stays as long as the pin, and so does the table.
#[test]
fn what_a_hint_leads_to_is_not_freed() {
    explore(2, || {
        let (model, mut writer, reader) = tree_of(KEYS);
        hint(&model, &writer.pin());
        let reading = look_meanwhile(&model, reader);
        let pin = writer.pin();
        remove(&model, &pin);
        insert(&model, &pin, GROWS);
        drop(pin);
        drop(writer.pin());
        model.epochs.advance();
        drop(writer.pin());
        reading.join().expect("the reader is content");
    });
}

/// So does one that was expected.
#[test]
fn what_is_expected_is_not_freed() {
    explore(2, || {
        let (model, mut writer, mut reader) = tree_of(KEYS);
        hint(&model, &writer.pin());
        let expecting = {
            let model = Arc::clone(&model);
            thread::spawn(move || model.tree.expect(&reader.pin(), [[KEY]], |item| assert_eq!(item.key(), [KEY])))
        };
        let pin = writer.pin();
        remove(&model, &pin);
        drop(pin);
        drop(writer.pin());
        model.epochs.advance();
        drop(writer.pin());
        expecting.join().expect("the reader is content");
    });
}

/// Who sees that an entry was given up does not find it again.
#[test]
fn an_entry_that_was_given_up_is_not_found() {
    explore(2, || {
        let (model, mut writer, mut reader) = tree_of(KEYS);
        hint(&model, &writer.pin());
        let is_given_up = Arc::new(AtomicBool::new(false));
        let reading = {
            let (model, is_given_up) = (Arc::clone(&model), Arc::clone(&is_given_up));
            thread::spawn(move || {
                let pin = reader.pin();
                let was_given_up = is_given_up.load(Ordering::Acquire);
                assert!(!(was_given_up && model.value(&pin, &[KEY]).is_some()), "it was given up");
            })
        };
        let removed = model.tree.remove_if(&writer.pin(), &[KEY], |_, _| {
            is_given_up.store(true, Ordering::Release);
            Some(Stamp(1))
        });
        assert!(removed, "it is there");
        reading.join().expect("the reader is content");
    });
}
