//! The law of [`ReplayMachine`] for values: random histories, fed to several machines in random orders, against an oracle.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use osier_memory::Epochs;

use super::world::{Rows, TABLE, Txn, World, encoded, rows};
use crate::config::Protocol;
use crate::ids::{DatabaseId, Generation, LogOffset, Stamp, StreamId};
use crate::log::format::LogIdentity;
use crate::log::format::record::{self, Entry};
use crate::recovery::replay::machine::{ReplayBatch, ReplayMachine};
use crate::recovery::replay::values::ValueMachine;
use crate::table::store::Store;

/// Records of few keys. Two of them may have one stamp where they have no key in common (P1).
fn history(rng: &mut Rng) -> Vec<Txn> {
    let mut taken = BTreeSet::new();
    let txn = |_| {
        let (stamp, mut writes) = (rng.u64(1..60), BTreeMap::new());
        for _ in 0..rng.usize(1..4) {
            let key = vec![rng.u8(..24)];
            if taken.insert((stamp, key.clone())) {
                writes.insert(key, (rng.u8(..3) > 0).then(|| vec![rng.u8(..); rng.usize(..40)]));
            }
        }
        Txn { stamp, raw_dep: 0, writes: writes.into_iter().collect() }
    };
    (0..60).map(txn).collect()
}

/// For each key the write of the greatest stamp.
fn expected(history: &[Txn]) -> Rows {
    let mut last: BTreeMap<_, (u64, Option<Vec<u8>>)> = BTreeMap::new();
    for Txn { stamp, writes, .. } in history {
        for (key, row) in writes {
            let found = last.entry((TABLE, key.clone())).or_default();
            if *stamp > found.0 {
                *found = (*stamp, row.clone());
            }
        }
    }
    last.into_iter().filter_map(|(key, (stamp, row))| Some((key, (Stamp(stamp), row?)))).collect()
}

/// Feeds records to a machine, in batches.
fn feed(machine: &mut ValueMachine, log: &LogIdentity, records: &[Vec<u8>], rng: &mut Rng) {
    let mut records = records.iter().peekable();
    while records.peek().is_some() {
        let mut batch = machine.batch();
        for bytes in records.by_ref().take(rng.usize(1..8)) {
            match record::parse::<Stamp>(bytes, log.seal(LogOffset(0))).unwrap() {
                Entry::Record(record) => batch.replay(&record),
                Entry::Skip(_) => unreachable!("no skip was written"),
            }
        }
    }
}

/// What several machines leave of a random history, and what they should; `in_turns`: without threads.
fn replayed(seed: u64, in_turns: bool) -> (Rows, Rows) {
    let mut rng = Rng::with_seed(seed);
    let history = history(&mut rng);
    let log = LogIdentity::new(DatabaseId(1), Generation(1), StreamId(0), 1);
    let mut fed: Vec<Vec<u8>> = Vec::new();
    for txn in &history {
        fed.extend(vec![encoded(txn, &log, LogOffset(0)); rng.usize(1..3)]);
    }
    rng.shuffle(&mut fed);

    let (world, store) = (World::new(Protocol::Poplar, 1), Store::new(Epochs::new(8)));
    let machine = |_| ValueMachine::new(&store, &world.config).unwrap();
    let mut machines: Vec<_> = (0..rng.usize(1..5)).map(machine).collect();
    if in_turns {
        while !fed.is_empty() {
            let rest = fed.split_off(rng.usize(..fed.len()));
            let at = rng.usize(..machines.len());
            feed(&mut machines[at], &log, &rest, &mut rng);
        }
    } else {
        let share = fed.len().div_ceil(machines.len());
        std::thread::scope(|scope| {
            for (machine, fed) in machines.iter_mut().zip(fed.chunks(share)) {
                let mut rng = rng.fork();
                scope.spawn(move || feed(machine, &log, fed, &mut rng));
            }
        });
    }
    while !machines.is_empty() {
        let at = rng.usize(..machines.len());
        if !machines[at].merge() {
            machines.swap_remove(at);
        }
    }
    (rows(&store), expected(&history))
}

#[test]
fn any_order_split_and_repetition_leaves_the_last_writes() {
    for seed in 0..200 {
        let (rows, expected) = replayed(seed, seed % 4 > 0);
        assert!(!expected.is_empty(), "seed {seed} deletes everything");
        assert_eq!(rows, expected, "seed {seed}");
    }
}

#[cfg(feature = "mutations")]
#[test]
fn the_law_tells_machines_that_break_it() {
    use std::panic::catch_unwind;

    use crate::failpoint::Mutation;
    use crate::failpoint::simulated::build_in;

    for mutation in [Mutation::StampsIgnored, Mutation::TombstonesNotReplayed] {
        build_in(&[mutation]);
        let is_broken = |seed| match catch_unwind(|| replayed(seed, true)) {
            Ok((rows, expected)) => rows != expected,
            Err(_) => true,
        };
        let is_seen = (0..20).any(is_broken);
        build_in(&[]);
        assert!(is_seen, "{mutation:?} is not seen");
    }
}
