//! One thread, every operation, every answer compared with a `BTreeMap`.
//!
//! Also checked: leaf versions change when and only when the entries of a leaf do, `before` and `after` of an insertion are
//! what they claim, `max_stamp` covers every removal, nothing leaks, and deletes give memory back.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::Ordering;

use fastrand::Rng;

use super::keys::Keys;
use super::runs::fill as fill_from_runs;
use super::{Fixture, ItemBox};
use crate::epoch::Pin;
use crate::ids::Stamp;
use crate::sync::Arc;
use crate::tree::node::FREED_AT_ONCE;
use crate::tree::{LeafRead, LeafScan, Lookup, ScanFrom};
use crate::usage::MemoryUse;

type Model = BTreeMap<Vec<u8>, u64>;

/// A leaf that was read: its range, what it held then, and how it was remembered.
struct SeenLeaf<const N: usize> {
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    keys: Vec<Vec<u8>>,
    read: LeafRead<N>,
}

impl<const N: usize> SeenLeaf<N> {
    fn covers(&self, key: &[u8]) -> bool {
        *key >= *self.low && self.high.as_ref().is_none_or(|high| *key < **high)
    }
}

fn rounds(full: usize) -> usize {
    if cfg!(miri) { full / 100 } else { full }
}

fn range_of(from: ScanFrom<'_>, model: &Model) -> Vec<Vec<u8>> {
    let up = |low| model.range::<[u8], _>((low, Bound::Unbounded)).map(|(key, _)| key.clone()).collect();
    let down = |high| model.range::<[u8], _>((Bound::Unbounded, high)).rev().map(|(key, _)| key.clone()).collect();
    match from {
        ScanFrom::AtLeast(key) => up(Bound::Included(key)),
        ScanFrom::Above(key) => up(Bound::Excluded(key)),
        ScanFrom::Below(key) => down(Bound::Excluded(key)),
        ScanFrom::AtMost(key) => down(Bound::Included(key)),
        ScanFrom::Last => down(Bound::Unbounded),
    }
}

fn a_bound<'k>(rng: &mut Rng, key: &'k [u8]) -> ScanFrom<'k> {
    match rng.u8(..5) {
        0 => ScanFrom::AtLeast(key),
        1 => ScanFrom::Above(key),
        2 => ScanFrom::Below(key),
        3 => ScanFrom::AtMost(key),
        _ => ScanFrom::Last,
    }
}

/// Reads every leaf.
fn see_all<const N: usize>(fixture: &Fixture<N>, pin: &Pin<'_>) -> Vec<SeenLeaf<N>> {
    let mut seen = Vec::new();
    let mut low = Vec::new();
    let mut leaf = LeafScan::new();
    fixture.tree.scan_leaf(pin, ScanFrom::AtLeast(&[]), &mut leaf);
    loop {
        let high = leaf.next(pin).map(<[u8]>::to_vec);
        let keys = leaf.entries.iter().map(|&held| pin.get(held).key.to_vec()).collect();
        seen.push(SeenLeaf { low: low.clone(), high: high.clone(), keys, read: leaf.read() });
        low = high.unwrap_or_default();
        if !fixture.tree.scan_next(pin, &mut leaf) {
            return seen;
        }
    }
}

/// Compares what was seen with what is there: unchanged leaves hold the same, leaves that nothing touched are unchanged.
fn compare_seen<const N: usize>(
    fixture: &Fixture<N>,
    pin: &Pin<'_>,
    seen: &[SeenLeaf<N>],
    touched: Option<&[u8]>,
    model: &Model,
) {
    for leaf in seen {
        let unchanged = fixture.tree.is_unchanged(pin, &leaf.read);
        let now: Vec<_> = model.keys().filter(|key| leaf.covers(key)).cloned().collect();
        if unchanged {
            assert_eq!(now, leaf.keys, "an unchanged leaf holds what it held");
        }
        if touched.is_some_and(|key| leaf.covers(key)) {
            assert!(!unchanged, "a leaf that lost or got an entry has changed");
        }
    }
    let changed = seen.iter().filter(|leaf| !fixture.tree.is_unchanged(pin, &leaf.read)).count();
    let most = if touched.is_some() { 2 } else { 0 };
    assert!(changed <= most, "one operation changes one leaf, or joins two: {changed} changed");
}

fn run<const N: usize>(keys: Keys, seed: u64, steps: usize) {
    let fixture = Fixture::<N>::new();
    let mut participant = fixture.epochs.register().unwrap();
    let mut rng = Rng::with_seed(seed);
    let variety = 1 << rng.u32(4..12);
    let mut model = Model::new();
    let mut removed: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    let mut stamp = 0;
    let mut growing = true;
    if rng.bool() {
        model = (0..variety).map(|value| (keys.draw(&mut rng, variety), value)).collect();
        fill_from_runs(&fixture, &participant.pin(), &model, &mut rng);
    }
    for step in 0..steps {
        if step % 97 == 0 {
            fixture.epochs.advance();
            growing = rng.bool();
        }
        let pin = participant.pin();
        let key = keys.draw(&mut rng, variety);
        let watch = rng.u8(..16) == 0;
        let seen = if watch { see_all(&fixture, &pin) } else { Vec::new() };
        let mut touched = None;
        match rng.u8(..10) {
            op @ 0..6 if (op < 4) == growing => {
                let removed_at = removed.get(&key).copied().unwrap_or(0);
                if insert(&fixture, &pin, &key, step as u64, removed_at) {
                    model.insert(key.clone(), step as u64);
                    touched = Some(&*key);
                }
            }
            0..6 => {
                stamp += 1;
                let was = model.remove(&key);
                assert_eq!(fixture.remove(&pin, &key, stamp), was.is_some());
                if was.is_some() {
                    removed.insert(key.clone(), stamp);
                    touched = Some(&*key);
                }
            }
            6 => {
                let kept = fixture.tree.remove_if(&pin, &key, |item, _| {
                    assert_eq!(&*item.key, &*key);
                    None
                });
                assert!(!kept, "nothing is removed without a stamp");
            }
            7 => {
                let from = a_bound(&mut rng, &key);
                assert_eq!(fixture.scan(&pin, from), range_of(from, &model), "{from:?}");
            }
            _ => {
                assert_eq!(fixture.value(&pin, &key), model.get(&key).copied());
                if let Lookup::Absent(read) = fixture.tree.get(&pin, &key) {
                    assert!(fixture.tree.is_unchanged(&pin, &read));
                    assert!(read.max_stamp().0 >= removed.get(&key).copied().unwrap_or(0));
                }
            }
        }
        if watch {
            compare_seen(&fixture, &pin, &seen, touched, &model);
        }
        if rng.u8(..32) == 0 {
            assert_eq!(fixture.tree.assert_sound(&pin).entries, model.len());
        }
    }
    drop(participant);
    finish(fixture, model, &mut rng);
}

/// Looks a key up and then puts it in; returns whether it was new. `removed_at` is the stamp of its last removal.
fn insert<const N: usize>(fixture: &Fixture<N>, pin: &Pin<'_>, key: &[u8], value: u64, removed_at: u64) -> bool {
    let before = fixture.tree.get(pin, key);
    let mut max_stamp = Stamp::ZERO;
    let inserted = fixture.tree.get_or_insert(pin, key, |stamp| {
        max_stamp = stamp;
        ItemBox::new(key, value, &fixture.alive)
    });
    assert_eq!(&*pin.get(inserted.entry).key, key);
    match (before, inserted.change) {
        (Lookup::Found(held), None) => {
            assert!(held == inserted.entry);
            false
        }
        (Lookup::Absent(read), Some(change)) => {
            assert_eq!(change.before, read);
            assert_eq!(read.max_stamp(), max_stamp);
            assert!(max_stamp.0 >= removed_at);
            assert!(!fixture.tree.is_unchanged(pin, &read));
            assert!(change.after().all(|after| fixture.tree.is_unchanged(pin, &after)));
            assert!(change.after().all(|after| after.max_stamp() == max_stamp));
            true
        }
        _ => panic!("found and then inserted, or absent and then found"),
    }
}

/// Removes everything, looks at what is left, and sees that all entries are freed with the tree.
fn finish<const N: usize>(fixture: Fixture<N>, model: Model, rng: &mut Rng) {
    let Fixture { epochs, alive, .. } = &fixture;
    let (epochs, alive) = (Arc::clone(epochs), Arc::clone(alive));
    let mut participant = epochs.register().unwrap();
    let mut keys: Vec<_> = model.into_keys().collect();
    {
        let pin = participant.pin();
        assert_eq!(fixture.scan(&pin, ScanFrom::AtLeast(&[])), keys);
        fixture.tree.assert_sound(&pin);
        rng.shuffle(&mut keys);
        let kept = keys.len() / 10;
        for key in keys.drain(kept..) {
            assert!(fixture.remove(&pin, &key, 1));
        }
        let shape = fixture.tree.assert_sound(&pin);
        assert_eq!(shape.entries, kept);
        assert!(shape.leaves <= 1 + kept, "no leaf is empty: {shape:?}");
        if rng.bool() {
            keys.drain(..).for_each(|key| assert!(fixture.remove(&pin, &key, 1)));
            let shape = fixture.tree.assert_sound(&pin);
            assert_eq!((shape.entries, shape.leaves, shape.inner_nodes, shape.height), (0, 1, 0, 1));
        }
    }
    drop(fixture);
    drop(participant);
    for _ in 0..4 {
        epochs.advance();
    }
    assert_eq!(alive.load(Ordering::Relaxed), 0, "everything is freed");
}

#[test]
fn every_answer_is_that_of_a_map() {
    let base = std::env::var("OSIER_TREE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let model_rounds = std::env::var("OSIER_TREE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    for (round, keys) in (0..model_rounds).flat_map(|round| Keys::ALL.map(|keys| (round, keys))) {
        let seed = base + round;
        println!("OSIER_TREE_SEED={seed} {keys:?}");
        run::<4>(keys, seed, rounds(6000));
        run::<7>(keys, seed, rounds(6000));
        run::<60>(keys, seed, rounds(12000));
    }
}

/// Fills a tree in an order and looks at how full its nodes are.
fn fill(order: impl Iterator<Item = u64>) -> f64 {
    let fixture = Fixture::<16>::new();
    let mut participant = fixture.epochs.register().unwrap();
    let pin = participant.pin();
    for number in order {
        fixture.insert(&pin, format!("row{number:08}").as_bytes(), number);
    }
    let shape = fixture.tree.assert_sound(&pin);
    shape.entries as f64 / (shape.leaves * 16) as f64
}

#[test]
fn keys_in_order_fill_the_leaves() {
    let many = rounds(20_000) as u64;
    assert!(fill(0..many) > 0.95, "upwards");
    assert!(fill((0..many).rev()) > 0.95, "downwards");
    assert!(fill((many..2 * many).chain(0..many)) > 0.95, "upwards in front of others");
    let runs = (0..many).map(|at| at % 20 * many + at);
    // Under Miri too few come in each place.
    assert!(fill(runs) > if cfg!(miri) { 0.5 } else { 0.9 }, "upwards in twenty places by turns");
    let mut rng = Rng::with_seed(7);
    assert!(fill(std::iter::repeat_with(|| rng.u64(..)).take(many as usize)) > 0.6, "in no order");
}

#[test]
fn deletes_give_memory_back() {
    let fixture = Fixture::<8>::new();
    let mut participant = fixture.epochs.register().unwrap();
    let many = rounds(20_000) as u64;
    let empty = fixture.tree.memory_bytes(&participant.pin());
    for round in 0..3 {
        let pin = participant.pin();
        for number in 0..many {
            fixture.insert(&pin, &number.to_be_bytes(), number);
        }
        let full = fixture.tree.assert_sound(&pin);
        // From the front, from the back, and every other one first.
        let order: Vec<u64> = match round {
            0 => (0..many).collect(),
            1 => (0..many).rev().collect(),
            _ => (0..many).step_by(2).chain((1..many).step_by(2)).collect(),
        };
        for (index, number) in order.iter().enumerate() {
            assert!(fixture.remove(&pin, &number.to_be_bytes(), 1));
            if index == order.len() * 9 / 10 {
                let left = fixture.tree.assert_sound(&pin);
                assert!(left.bytes < full.bytes / 3, "a tenth of the entries: {left:?} of {full:?}");
            }
        }
        assert_eq!(fixture.tree.len(&pin), 0);
        let prefix = size_of::<u64>();
        assert!(fixture.tree.memory_bytes(&pin) <= empty + prefix, "an empty leaf with the prefix of its last keys");
    }
}

#[test]
#[should_panic(expected = "other epochs")]
fn a_pin_of_other_epochs_is_refused() {
    let fixture = Fixture::<4>::new();
    let other = Fixture::<4>::new();
    let mut participant = other.epochs.register().unwrap();
    fixture.tree.get(&participant.pin(), b"key");
}

#[test]
#[should_panic(expected = "has the key")]
fn an_entry_with_another_key_is_refused() {
    let fixture = Fixture::<4>::new();
    let mut participant = fixture.epochs.register().unwrap();
    fixture.tree.get_or_insert(&participant.pin(), b"key", |_| ItemBox::new(b"other", 0, &fixture.alive));
}

#[test]
fn a_panic_in_a_decision_unlocks_the_leaf() {
    let fixture = Fixture::<4>::new();
    let mut participant = fixture.epochs.register().unwrap();
    let pin = participant.pin();
    fixture.insert(&pin, b"key", 1);
    let Lookup::Absent(read) = fixture.tree.get(&pin, b"other") else { panic!("the key is absent") };
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        fixture.tree.remove_if(&pin, b"key", |_, _| panic!("the decision panics"))
    }));
    assert!(panicked.is_err());
    assert!(fixture.tree.is_unchanged(&pin, &read), "nothing was changed");
    assert!(fixture.remove(&pin, b"key", 9));
    let Lookup::Absent(read) = fixture.tree.get(&pin, b"key") else { panic!("the key is absent") };
    assert_eq!(read.max_stamp(), Stamp(9));
}

/// No call of `advance` frees all of a large tree, and the first piece goes only when no pin is left that saw it.
#[test]
fn a_large_tree_is_freed_in_pieces() {
    let keys: u64 = if cfg!(miri) { 2_000 } else { 100_000 };
    let fixture = Fixture::<4>::new();
    let mut participant = fixture.epochs.register().unwrap();
    let pin = participant.pin();
    for key in 0..keys {
        fixture.insert(&pin, &key.to_be_bytes(), key);
    }
    let Fixture { tree, epochs, alive } = fixture;
    drop(tree);
    (0..5).for_each(|_| {
        epochs.advance();
    });
    assert_eq!(alive.load(Ordering::Relaxed) as u64, keys, "a pin may still read it");
    drop(pin);
    let mut left = vec![keys as usize];
    while *left.last().unwrap() > 0 {
        epochs.advance();
        left.push(alive.load(Ordering::Relaxed));
        assert!(left.len() < 1_000, "{left:?}");
    }
    let most = left.windows(2).map(|pair| pair[0] - pair[1]).max().unwrap();
    assert!(most <= keys as usize / 2 && most <= 4 * FREED_AT_ONCE, "{most} of {keys} at once");
    drop(participant);
    (0..5).for_each(|_| {
        epochs.advance();
    });
    assert_eq!(epochs.memory(), MemoryUse::default(), "nothing is counted any more");
}
