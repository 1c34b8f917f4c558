//! Trees of which a simulation uses few slots of each node, and those of threads that nobody has told anything.

use std::collections::BTreeSet;

use fastrand::Rng;

use super::Fixture;
use crate::tree::{LEAF_SLOTS, ScanFrom, Shape};
use crate::{TreeSizes, set_tree_sizes};

fn grown(keys: u64) -> Shape {
    let fixture = Fixture::<LEAF_SLOTS>::new();
    let mut participant = fixture.epochs.register().unwrap();
    let pin = participant.pin();
    for number in 0..keys {
        fixture.insert(&pin, &number.to_be_bytes(), number);
    }
    fixture.tree.assert_sound(&pin)
}

#[test]
fn sizes_are_those_of_the_thread() {
    assert_eq!(grown(LEAF_SLOTS as u64).leaves, 1, "a thread that was told nothing has the sizes that ship");
    set_tree_sizes(TreeSizes { leaf_slots: 4, inner_slots: 4, hinted_leaves_min: 2 });
    let small = grown(LEAF_SLOTS as u64);
    assert!(small.leaves >= LEAF_SLOTS / 4 && small.height >= 3, "{small:?}");
    let other = std::thread::spawn(|| grown(LEAF_SLOTS as u64)).join().unwrap();
    assert_eq!(other.leaves, 1);
    set_tree_sizes(TreeSizes::SHIPPED);
    assert_eq!(grown(LEAF_SLOTS as u64).leaves, 1);
}

#[test]
fn small_nodes_keep_what_large_ones_keep() {
    for (leaf_slots, inner_slots) in [(4, 4), (4, 7), (5, 4), (8, 5), (13, 12)] {
        set_tree_sizes(TreeSizes { leaf_slots, inner_slots, hinted_leaves_min: 2 });
        let fixture = Fixture::<LEAF_SLOTS>::new();
        let mut participant = fixture.epochs.register().unwrap();
        let (mut rng, mut present) = (Rng::with_seed(leaf_slots as u64), BTreeSet::new());
        for round in 0..40 {
            let pin = participant.pin();
            for _ in 0..50 {
                let key = rng.u16(0..600).to_be_bytes();
                // It grows, and then it shrinks.
                if rng.u8(0..10) < if round < 20 { 8 } else { 2 } {
                    let number = rng.u64(..);
                    assert_eq!(fixture.insert(&pin, &key, number).change.is_some(), present.insert(key.to_vec()));
                } else {
                    assert_eq!(fixture.remove(&pin, &key, 1), present.remove(&key[..]));
                }
                assert_eq!(fixture.value(&pin, &key).is_some(), present.contains(&key[..]));
            }
            fixture.tree.assert_sound(&pin);
            assert!(fixture.scan(&pin, ScanFrom::AtLeast(&[])).iter().eq(&present));
            assert!(fixture.scan(&pin, ScanFrom::Last).iter().eq(present.iter().rev()));
        }
    }
    set_tree_sizes(TreeSizes::SHIPPED);
}
