//! Threads that own their keys, in one tree with all the others'.
//!
//! Every thread inserts, removes, gets and scans at random and knows what must be there of its own keys, which lie between
//! the others' in every leaf: nothing of it may be lost, found again after its removal, or missed by a scan.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fastrand::Rng;

use super::Fixture;
use super::keys::Keys;
use crate::sync::thread;
use crate::tree::{LeafScan, Lookup, ScanFrom};

const THREADS: u8 = if cfg!(miri) { 2 } else { 4 };

fn own(thread: u8, mut key: Vec<u8>) -> Vec<u8> {
    key.push(thread);
    key
}

struct Owner<'f, const N: usize> {
    fixture: &'f Fixture<N>,
    thread: u8,
    keys: Keys,
    rng: Rng,
    model: BTreeMap<Vec<u8>, u64>,
}

impl<const N: usize> Owner<'_, N> {
    fn run(&mut self, steps: usize) {
        let mut participant = self.fixture.epochs.register().unwrap();
        let variety = if cfg!(miri) { 32 } else { 1 << self.rng.u32(4..10) };
        for step in 0..steps {
            let growing = step / 256 % 2 == 0;
            let pin = participant.pin();
            let key = own(self.thread, self.keys.draw(&mut self.rng, variety));
            match self.rng.u8(..12) {
                op @ 0..7 if (op < 5) == growing => {
                    let inserted = self.fixture.insert(&pin, &key, step as u64);
                    assert_eq!(inserted.change.is_none(), self.model.contains_key(&key));
                    let value = *self.model.entry(key).or_insert(step as u64);
                    assert_eq!(pin.get(inserted.entry).value, value);
                }
                0..7 => {
                    let expected = self.model.remove(&key);
                    assert_eq!(self.fixture.remove(&pin, &key, step as u64), expected.is_some(), "a lost remove");
                    assert_eq!(self.fixture.value(&pin, &key), None);
                }
                7 => self.scan(&pin, &key),
                8 => {
                    let other = own(self.rng.u8(..THREADS), self.keys.draw(&mut self.rng, variety));
                    if let Lookup::Absent(read) = self.fixture.tree.get(&pin, &other) {
                        self.fixture.tree.is_unchanged(&pin, &read);
                    }
                }
                _ => assert_eq!(self.fixture.value(&pin, &key), self.model.get(&key).copied()),
            }
        }
    }

    fn scan(&mut self, pin: &crate::Pin<'_>, key: &[u8]) {
        let forward = self.rng.bool();
        let from = if forward { ScanFrom::AtLeast(key) } else { ScanFrom::Below(key) };
        let mut expected: Vec<&Vec<u8>> = if forward {
            self.model.range(key.to_vec()..).map(|(key, _)| key).collect()
        } else {
            self.model.range(..key.to_vec()).rev().map(|(key, _)| key).collect()
        };
        expected.reverse();
        let mut leaf = LeafScan::new();
        self.fixture.tree.scan_leaf(pin, from, &mut leaf);
        let mut last: Option<Vec<u8>> = None;
        loop {
            for &held in &leaf.entries {
                let item = pin.get(held);
                if let Some(last) = &last {
                    assert!(if forward { **last < *item.key } else { **last > *item.key }, "a scan is in order");
                }
                last = Some(item.key.to_vec());
                if item.key.last() == Some(&self.thread) {
                    assert_eq!(expected.pop().map(|key| &**key), Some(&*item.key), "a scan sees every own key once");
                }
            }
            if !self.fixture.tree.scan_next(pin, &mut leaf) {
                break;
            }
        }
        assert!(expected.is_empty(), "a scan missed {expected:?}");
    }
}

fn stress<const N: usize>(keys: Keys, seed: u64, steps: usize) {
    let fixture = Fixture::<N>::new();
    thread::scope(|scope| {
        let owners: Vec<_> = (0..THREADS)
            .map(|thread| {
                let rng = Rng::with_seed(seed * 31 + u64::from(thread));
                let mut owner = Owner { fixture: &fixture, thread, keys, rng, model: BTreeMap::new() };
                scope.spawn(move || {
                    owner.run(steps);
                    owner.model
                })
            })
            .collect();
        while !owners.iter().all(thread::ScopedJoinHandle::is_finished) {
            fixture.epochs.advance();
            thread::sleep(Duration::from_micros(200));
        }
        let mut model = BTreeMap::new();
        for owner in owners {
            model.extend(owner.join().unwrap());
        }
        let mut participant = fixture.epochs.register().unwrap();
        let pin = participant.pin();
        let all: Vec<_> = model.keys().cloned().collect();
        assert_eq!(fixture.scan(&pin, ScanFrom::AtLeast(&[])), all);
        assert_eq!(fixture.tree.assert_sound(&pin).entries, all.len());
    });
    let Fixture { tree, epochs, alive } = fixture;
    drop(tree);
    for _ in 0..4 {
        epochs.advance();
    }
    assert_eq!(alive.load(Ordering::Relaxed), 0, "everything is freed");
}

#[test]
fn threads_that_own_their_keys_lose_nothing() {
    let steps = if cfg!(miri) { 40 } else { 20_000 };
    let rounds = std::env::var("OSIER_STRESS_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    for round in 0..rounds {
        for keys in Keys::ALL {
            println!("round {round}, {keys:?}");
            stress::<4>(keys, round * 2, steps);
            if !cfg!(miri) {
                stress::<60>(keys, round * 2 + 1, steps);
            }
        }
    }
}
