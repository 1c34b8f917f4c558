//! Trees that are filled from sorted runs.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use fastrand::Rng;

use super::keys::Keys;
use super::{Fixture, Item, ItemBox};
use crate::MemoryUse;
use crate::epoch::Pin;
use crate::sync::Arc;
use crate::tree::{Duplicate, Run, ScanFrom};

/// Fills the tree of `fixture` from runs that come in no order.
pub(super) fn fill<const N: usize>(fixture: &Fixture<N>, pin: &Pin<'_>, model: &BTreeMap<Vec<u8>, u64>, rng: &mut Rng) {
    let mut runs = vec![Run::new(Arc::clone(&fixture.epochs))];
    for (key, value) in model {
        if rng.usize(..3 * N) == 0 {
            runs.push(Run::new(Arc::clone(&fixture.epochs)));
        }
        let run = runs.last_mut().expect("there is a run");
        assert!(run.push(pin, ItemBox::new(key, *value, &fixture.alive)).is_ok(), "keys ascend");
        let again = run.push(pin, ItemBox::new(key, 0, &fixture.alive));
        assert!(again.is_err_and(|entry: ItemBox| *entry.key == **key), "the same key is given back");
    }
    rng.shuffle(&mut runs);
    assert_eq!(fixture.tree.fill(pin, runs), Ok(()));
}

fn run_of<const N: usize>(fixture: &Fixture<N>, pin: &Pin<'_>, keys: impl Iterator<Item = u32>) -> Run<Item, N> {
    let mut run = Run::new(Arc::clone(&fixture.epochs));
    for key in keys {
        assert!(run.push(pin, ItemBox::new(&key.to_be_bytes(), 1, &fixture.alive)).is_ok(), "keys ascend");
    }
    run
}

#[test]
fn a_tree_holds_what_its_runs_held() {
    let mut rng = Rng::with_seed(11);
    for keys in Keys::ALL {
        for many in [0, 1, 3, 4, 5, 17, 300, if cfg!(miri) { 300 } else { 5000 }] {
            let model: BTreeMap<_, _> = (0..many).map(|value| (keys.draw(&mut rng, many), value)).collect();
            let fixture = Fixture::<4>::new();
            let mut participant = fixture.epochs.register().unwrap();
            let pin = participant.pin();
            fill(&fixture, &pin, &model, &mut rng);
            fixture.tree.assert_sound(&pin);
            assert_eq!(fixture.scan(&pin, ScanFrom::AtLeast(&[])), model.keys().cloned().collect::<Vec<_>>());
            for (key, value) in &model {
                assert_eq!(fixture.value(&pin, key), Some(*value));
            }
        }
    }
}

#[test]
fn a_run_fills_its_leaves_and_leaves_room_above() {
    let fixture = Fixture::<16>::new();
    let mut participant = fixture.epochs.register().unwrap();
    let pin = participant.pin();
    assert_eq!(fixture.tree.fill(&pin, vec![run_of(&fixture, &pin, 0..16 * 100)]), Ok(()));
    let shape = fixture.tree.assert_sound(&pin);
    assert_eq!((shape.leaves, shape.inner_nodes, shape.height), (100, 9 + 1, 3), "12 of 16 slots are used above");
}

#[test]
fn runs_may_lie_within_each_other() {
    let mut rng = Rng::with_seed(12);
    for _ in 0..if cfg!(miri) { 3 } else { 200 } {
        let fixture = Fixture::<4>::new();
        let mut participant = fixture.epochs.register().unwrap();
        let pin = participant.pin();
        let mut runs: Vec<Vec<u32>> = vec![Vec::new(); rng.usize(2..6)];
        let (mut at, count) = (0, runs.len());
        for key in 0..rng.u32(1..300) {
            at = if rng.u8(..8) == 0 { rng.usize(..count) } else { at };
            runs[at].push(key);
        }
        let runs = runs.into_iter().map(|keys| run_of(&fixture, &pin, keys.into_iter())).collect();
        assert_eq!(fixture.tree.fill(&pin, runs), Ok(()));
        let entries = fixture.tree.assert_sound(&pin).entries;
        assert_eq!(entries, fixture.alive.load(Ordering::Relaxed));
        let keys = fixture.scan(&pin, ScanFrom::AtLeast(&[]));
        assert!((0..entries as u32).map(|key| key.to_be_bytes().to_vec()).eq(keys), "all keys are there");
    }
}

#[test]
fn a_key_in_two_runs_is_an_error_and_leaks_nothing() {
    for (first, second) in [(0..20, 19..30), (0..20, 5..6), (7..8, 7..8), (5..30, 0..40)] {
        let fixture = Fixture::<4>::new();
        let mut participant = fixture.epochs.register().unwrap();
        let pin = participant.pin();
        let runs = vec![run_of(&fixture, &pin, second), run_of(&fixture, &pin, first)];
        assert_eq!(fixture.tree.fill(&pin, runs), Err(Duplicate));
        assert_eq!(fixture.tree.assert_sound(&pin).entries, fixture.alive.load(Ordering::Relaxed));
        let Fixture { tree, epochs, alive } = fixture;
        drop((pin, tree));
        for _ in 0..3 {
            epochs.advance();
            participant.reclaim_all();
        }
        assert_eq!((alive.load(Ordering::Relaxed), epochs.memory()), (0, MemoryUse::default()));
    }
}

#[test]
fn what_a_filled_tree_takes_is_counted() {
    let fixture = Fixture::<4>::new();
    let mut participant = fixture.epochs.register().unwrap();
    let pin = participant.pin();
    assert_eq!(fixture.tree.fill(&pin, vec![run_of(&fixture, &pin, 0..50), run_of(&fixture, &pin, 50..51)]), Ok(()));
    drop(pin);
    for _ in 0..3 {
        fixture.epochs.advance();
        participant.reclaim_all();
    }
    let nodes = fixture.tree.memory_bytes(&participant.pin()) as u64;
    assert_eq!(fixture.epochs.memory(), MemoryUse { nodes, ..MemoryUse::default() });
}

#[test]
#[should_panic(expected = "only an empty tree is filled")]
fn a_tree_that_holds_something_is_not_filled() {
    let fixture = Fixture::<4>::new();
    let mut participant = fixture.epochs.register().unwrap();
    let pin = participant.pin();
    fixture.insert(&pin, b"key", 1);
    let _ = fixture.tree.fill(&pin, vec![run_of(&fixture, &pin, 0..9)]);
}
