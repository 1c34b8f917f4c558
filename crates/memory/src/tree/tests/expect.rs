//! Expected keys: which entries are asked for.

use std::collections::BTreeSet;

use super::Fixture;
use crate::Keyed;

/// The values of the entries that an expectation of `keys` leads to.
fn expected<const L: usize>(fixture: &Fixture<L>, keys: impl IntoIterator<Item = u64>) -> BTreeSet<u64> {
    let mut participant = fixture.epochs.register().unwrap();
    let mut values = BTreeSet::new();
    let keys = keys.into_iter().map(u64::to_be_bytes);
    fixture.tree.expect(&participant.pin(), keys, |item| {
        assert_eq!(item.key(), item.value.to_be_bytes());
        values.insert(item.value);
    });
    values
}

/// A tree of these keys, each of which was looked for.
fn looked_through<const L: usize>(keys: u64) -> Fixture<L> {
    let fixture = Fixture::<L>::new();
    let mut participant = fixture.epochs.register().unwrap();
    let pin = participant.pin();
    for key in 0..keys {
        fixture.insert(&pin, &key.to_be_bytes(), key);
    }
    for _ in 0..2 {
        for key in 0..keys {
            assert_eq!(fixture.value(&pin, &key.to_be_bytes()), Some(key));
        }
    }
    drop(pin);
    drop(participant);
    fixture
}

/// Of 500 keys so many may be taken for others: a part of a hash has 15 bits, and a bucket 8 of them.
const STRANGERS_MAX: usize = 4;

#[test]
fn as_many_as_there_are_are_asked_for() {
    let fixture = looked_through::<8>(500);
    for count in [0, 1, 15, 16, 17, 32, 100] {
        let found = expected(&fixture, 200..200 + count);
        let strangers = found.iter().filter(|value| !(200..200 + count).contains(*value)).count();
        assert!(strangers <= STRANGERS_MAX, "{found:?} of {count}");
        // A bucket may be full, so that a key has no hint: one in a hundred.
        assert!(found.len() as u64 >= count.saturating_sub(1 + count / 4), "{found:?} of {count}");
    }
}

#[test]
fn absent_keys_and_small_trees_ask_for_nothing() {
    let absent = expected(&looked_through::<8>(500), 1000..1100);
    assert!(absent.len() <= STRANGERS_MAX, "{absent:?}");
    assert!(expected(&looked_through::<8>(5), 0..5).is_empty(), "one leaf has no hints");
}

/// The value of the entry that one key leads to, asked for step by step.
fn ahead<const L: usize>(fixture: &Fixture<L>, key: u64) -> Option<u64> {
    let mut participant = fixture.epochs.register().unwrap();
    let pin = participant.pin();
    let mut ahead = fixture.tree.ask_ahead(&pin, &key.to_be_bytes());
    let mut found = None;
    let mut steps = 0;
    while ahead.advance(|item| found = Some(item.value)) {
        steps += 1;
    }
    assert_eq!(steps, if found.is_some() { 2 } else { 0 }, "the entry, then what is behind it");
    assert!(!ahead.advance(|_| panic!("nothing is asked for twice")));
    found
}

#[test]
fn one_key_is_asked_for_in_steps() {
    let fixture = looked_through::<8>(500);
    let found: Vec<_> = (0..500).filter_map(|key| Some((key, ahead(&fixture, key)?))).collect();
    let strangers = found.iter().filter(|(key, value)| key != value).count();
    assert!(strangers <= STRANGERS_MAX, "{strangers} keys lead to others");
    assert!(found.len() >= 375, "{} of 500 have hints", found.len());
    assert_eq!(ahead(&looked_through::<8>(5), 3), None, "one leaf has no hints");
}

#[test]
fn what_was_asked_for_outlives_the_tree() {
    let Fixture { tree, epochs, .. } = looked_through::<8>(500);
    let mut participant = epochs.register().unwrap();
    let pin = participant.pin();
    let mut asked: Vec<_> = (0..500_u64).map(|key| tree.ask_ahead(&pin, &key.to_be_bytes())).collect();
    drop(tree);
    (0..4).for_each(|_| _ = epochs.advance());
    let mut found = 0;
    while asked.iter_mut().fold(false, |goes_on, ahead| ahead.advance(|_| found += 1) | goes_on) {}
    assert!(found >= 375, "{found} of 500 have hints");
}
