//! The law of [`ReplayMachine`] for values: random histories of which something may be missing, fed to several machines in random
//! orders, against an oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fastrand::Rng;
use osier_memory::Epochs;

use super::world::{Rows, TABLE, World, encoded_writes, rows};
use crate::config::Protocol;
use crate::ids::{DatabaseId, Generation, LogOffset, Stamp, StreamId};
use crate::log::format::LogIdentity;
use crate::log::format::layout::RecordLayout;
use crate::log::format::payload::delta::{self, Delta};
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::log::format::record::{self, Entry};
use crate::recovery::replay::machine::{ReplayBatch, ReplayMachine};
use crate::recovery::replay::values::ValueMachine;
use crate::recovery::replay::waiting::WaitingDeltas;
use crate::table::store::Store;

/// What becomes of a row, as it is logged.
#[derive(Clone, Debug)]
enum Logged {
    Image(Option<Vec<u8>>),
    /// What changed in the version of stamp `base`.
    Delta {
        base: u64,
        body: Vec<u8>,
    },
}

type Key = Vec<u8>;

/// The writes of a transaction.
#[derive(Clone, Debug)]
struct Txn {
    stamp: u64,
    writes: BTreeMap<Key, Logged>,
}

/// What there is of rows: the stamp of each, and its content; absent ones have a stamp, too.
type Versions = BTreeMap<Key, (u64, Option<Vec<u8>>)>;

/// What a history should leave: rows, and those for which something waits.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    rows: Rows,
    waited_for: BTreeSet<Key>,
}

/// Changes some bytes of a row, and its length now and then.
fn changed(row: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut row = row.to_vec();
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..row.len());
        row[at] ^= rng.u8(1..);
    }
    match rng.u8(..6) {
        0 => row.truncate(row.len() - rng.usize(..4)),
        1 => row.extend(vec![rng.u8(..); rng.usize(1..5)]),
        _ => {}
    }
    row
}

/// Transactions over few keys, in the order of their stamps. Two of them may have one stamp where they have no key in common
/// (P1).
fn history(rng: &mut Rng) -> Vec<Txn> {
    let (mut versions, mut taken) = (Versions::new(), BTreeSet::new());
    let mut stamps: Vec<u64> = (0..60).map(|_| rng.u64(1..60)).collect();
    stamps.sort_unstable();
    let mut txns = Vec::new();
    for stamp in stamps {
        let mut writes = BTreeMap::new();
        for _ in 0..rng.usize(1..4) {
            let key = vec![rng.u8(..12)];
            if !taken.insert((stamp, key.clone())) {
                continue;
            }
            let before = versions.get(&key).cloned().unwrap_or_default();
            let (row, logged) = written(before, rng);
            versions.insert(key.clone(), (stamp, row));
            writes.insert(key, logged);
        }
        txns.push(Txn { stamp, writes });
    }
    txns
}

/// The next version of a row, and how it is logged.
fn written((base, before): (u64, Option<Vec<u8>>), rng: &mut Rng) -> (Option<Vec<u8>>, Logged) {
    let image = |row: Option<Vec<u8>>| (row.clone(), Logged::Image(row));
    match (rng.u8(..8), before) {
        (0, _) => image(None),
        (2.., Some(before)) => {
            let (row, mut body) = (changed(&before, rng), Vec::new());
            match delta::push_body(Stamp(base), &before, &row, &mut body) {
                true => (Some(row), Logged::Delta { base, body }),
                false => image(Some(row)),
            }
        }
        _ => image(Some((0..rng.usize(20..60)).map(|_| rng.u8(..)).collect())),
    }
}

/// What replay in the order of stamps leaves, without any machinery.
fn expected(history: &[Txn]) -> Left {
    let (mut versions, mut waited_for) = (Versions::new(), BTreeSet::new());
    for Txn { stamp, writes } in history {
        for (key, logged) in writes {
            let version = versions.entry(key.clone()).or_default();
            match logged {
                Logged::Image(row) => {
                    *version = (*stamp, row.clone());
                    waited_for.remove(key);
                }
                Logged::Delta { base, body } => match &version.1 {
                    Some(row) if version.0 == *base => {
                        let delta = Delta { base: Stamp(*base), body };
                        let mut new = vec![0; delta.new_len(row.len()).unwrap()];
                        delta.apply(row, &mut new);
                        *version = (*stamp, Some(new));
                    }
                    _ => drop(waited_for.insert(key.clone())),
                },
            }
        }
    }
    let present = |(key, (stamp, row)): (Key, (u64, Option<Vec<u8>>))| Some(((TABLE, key), (Stamp(stamp), row?)));
    Left { rows: versions.into_iter().filter_map(present).collect(), waited_for }
}

fn change(logged: &Logged) -> Change<'_> {
    match logged {
        Logged::Image(row) => Change::from(row.as_deref()),
        Logged::Delta { base, body } => Change::Delta(Delta { base: Stamp(*base), body }),
    }
}

fn encoded(Txn { stamp, writes }: &Txn, log: &LogIdentity) -> Vec<u8> {
    let write = |(key, logged)| LoggedWrite { table: TABLE, key, change: change(logged) };
    let writes: Vec<_> = writes.iter().map(|(key, logged)| write((&**key, logged))).collect();
    encoded_writes(*stamp, Stamp::ZERO, &writes, log.seal(LogOffset(0)))
}

/// Feeds records to a machine, in batches.
fn feed(machine: &mut ValueMachine, log: &LogIdentity, records: &[Vec<u8>], rng: &mut Rng) {
    let mut records = records.iter().peekable();
    while records.peek().is_some() {
        let mut batch = machine.batch();
        for bytes in records.by_ref().take(rng.usize(1..8)) {
            match record::parse::<Stamp>(bytes, log.seal(LogOffset(0)), RecordLayout::Compact).unwrap() {
                Entry::Record(record) => batch.replay(&record),
                Entry::Part(_) | Entry::Skip(_) => unreachable!("no skip was written"),
            }
        }
    }
}

/// What several machines leave of a random history, and what they should; `in_turns`: without threads; `is_whole`: nothing is
/// missing.
fn replayed(seed: u64, in_turns: bool, is_whole: bool) -> (Left, Left) {
    let mut rng = Rng::with_seed(seed);
    let mut history = history(&mut rng);
    if !is_whole {
        history.retain(|_| rng.u8(..10) > 0);
    }
    let log = LogIdentity::new(DatabaseId(1), Generation(1), StreamId(0), 1);
    let mut fed: Vec<Vec<u8>> = Vec::new();
    for txn in &history {
        fed.extend(vec![encoded(txn, &log); rng.usize(1..3)]);
    }
    rng.shuffle(&mut fed);

    let (world, store) = (World::new(Protocol::Poplar, 1), Store::new(Epochs::new(8)));
    let waiting = Arc::new(WaitingDeltas::new());
    let machine = |_| ValueMachine::new(&store, &world.config, &waiting).unwrap();
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
    let waited_for = waiting.left().into_iter().map(|row| row.key.into()).collect();
    (Left { rows: rows(&store), waited_for }, expected(&history))
}

#[test]
fn any_order_split_and_repetition_leaves_the_last_writes() {
    let mut without_base = 0;
    for seed in 0..400 {
        let is_whole = seed % 2 > 0;
        let (left, expected) = replayed(seed, seed % 4 > 0, is_whole);
        assert!(!expected.rows.is_empty(), "seed {seed} deletes everything");
        assert!(!is_whole || expected.waited_for.is_empty(), "seed {seed}: nothing is missing");
        without_base += expected.waited_for.len();
        assert_eq!(left, expected, "seed {seed}");
    }
    assert!(without_base > 100, "{without_base} rows without a base");
}

#[cfg(feature = "mutations")]
#[test]
fn the_law_tells_machines_that_break_it() {
    use std::panic::catch_unwind;

    use crate::failpoint::Mutation;
    use crate::failpoint::simulated::build_in;

    let mutations = [
        Mutation::StampsIgnored,
        Mutation::TombstonesNotReplayed,
        Mutation::BaseIgnored,
        Mutation::DeltaDropped,
        Mutation::WaitingForgotten,
    ];
    for mutation in mutations {
        build_in(&[mutation]);
        let is_broken = |seed| match catch_unwind(|| replayed(seed, true, true)) {
            Ok((left, expected)) => left != expected,
            Err(_) => true,
        };
        let is_seen = (0..20).any(is_broken);
        build_in(&[]);
        assert!(is_seen, "{mutation:?} is not seen");
    }
}
