//! The law of [`ReplayMachine`] for values: random histories of which something may be missing, or is in a checkpoint, fed to
//! several machines of each kind in random orders, against an oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fastrand::Rng;
use osier_memory::{Epochs, Record};

use super::world::{Rows, TABLE, World, encoded_writes, rows};
use crate::config::{Protocol, RowReplayKind};
use crate::ids::{DatabaseId, Generation, LogOffset, Stamp, StreamId};
use crate::log::format::LogIdentity;
use crate::log::format::layout::RecordLayout;
use crate::log::format::payload::delta::{self, Delta};
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::log::format::record::{self, Entry};
use crate::recovery::replay::machine::{ReplayBatch, ReplayMachine};
use crate::recovery::replay::rows::RowMachine;
use crate::recovery::replay::values::version_of;
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
fn feed(machine: &mut RowMachine, log: &LogIdentity, records: &[Vec<u8>], rng: &mut Rng) {
    let mut records = records.iter().peekable();
    while records.peek().is_some() {
        let mut batch = machine.batch();
        for bytes in records.by_ref().take(rng.usize(1..8)) {
            match record::parse::<Stamp>(bytes, log.seal(LogOffset(0)), RecordLayout::Compact).unwrap() {
                Entry::Record(record) => batch.replay(&record),
                Entry::Part(_) | Entry::Skip(_) => unreachable!("no skip was written"),
            }
        }
        drop(batch);
        machine.tend(rng.bool());
    }
}

/// Puts what `history` leaves into the store, as a checkpoint does.
fn load(store: &Store, history: &[Txn]) {
    let mut participant = store.epochs().register().unwrap();
    let pin = participant.pin();
    for ((table, key), (stamp, row)) in expected(history).rows {
        let row = version_of(&pin, (stamp, Stamp::ZERO), &row);
        store.tree(table).get_or_insert(&pin, &key, |_| Record::new_present(&key, row));
    }
}

/// How a history is replayed.
#[derive(Clone, Copy, Debug)]
struct Way {
    kind: RowReplayKind,
    /// Without threads.
    in_turns: bool,
    /// Nothing is missing.
    is_whole: bool,
}

/// What several machines leave of a random history, and what they should.
fn replayed(seed: u64, Way { kind, in_turns, is_whole }: Way) -> (Left, Left) {
    let mut rng = Rng::with_seed(seed);
    let mut history = history(&mut rng);
    if !is_whole {
        history.retain(|_| rng.u8(..10) > 0);
    }
    let log = LogIdentity::new(DatabaseId(1), Generation(1), StreamId(0), 1);
    // What comes first is in a checkpoint, in some seeds.
    let loaded = if is_whole && seed.is_multiple_of(3) { rng.u64(1..60) } else { 0 };
    let loaded = history.partition_point(|txn| txn.stamp <= loaded);
    let mut fed: Vec<Vec<u8>> = Vec::new();
    for txn in &history[loaded..] {
        fed.extend(vec![encoded(txn, &log); rng.usize(1..3)]);
    }
    rng.shuffle(&mut fed);

    let (mut world, store) = (World::new(Protocol::Poplar, 1), Store::new(Epochs::new(8)));
    world.config.recovery_rows = kind;
    load(&store, &history[..loaded]);
    let waiting = Arc::new(WaitingDeltas::new());
    let (mut machines, _) = RowMachine::for_threads(&store, &world.config, &waiting, rng.usize(1..5)).unwrap();
    machines.iter_mut().for_each(RowMachine::begin);
    if in_turns {
        while !fed.is_empty() {
            let rest = fed.split_off(rng.usize(..fed.len()));
            let at = rng.usize(..machines.len());
            feed(&mut machines[at], &log, &rest, &mut rng);
        }
        while machines.iter_mut().filter_map(|machine| machine.finish().then_some(())).count() > 0 {}
    } else {
        let share = fed.len().div_ceil(machines.len()).max(1);
        let mut shares: Vec<_> = fed.chunks(share).collect();
        shares.resize(machines.len(), &[]);
        std::thread::scope(|scope| {
            for (machine, fed) in machines.iter_mut().zip(shares) {
                let mut rng = rng.fork();
                scope.spawn(move || {
                    feed(machine, &log, fed, &mut rng);
                    while machine.finish() {}
                });
            }
        });
    }
    let mut merged = Vec::new();
    while !machines.is_empty() {
        let at = rng.usize(..machines.len());
        if !machines[at].merge() {
            merged.push(machines.swap_remove(at));
        }
    }
    RowMachine::complete(&world.config, merged).unwrap();
    let waited_for = waiting.left().into_iter().map(|row| row.key.into()).collect();
    (Left { rows: rows(&store), waited_for }, expected(&history))
}

const KINDS: [RowReplayKind; 3] = [RowReplayKind::Plr, RowReplayKind::Llr, RowReplayKind::LlrP];

#[test]
fn any_order_split_and_repetition_leaves_the_last_writes() {
    for kind in KINDS {
        let mut without_base = 0;
        for seed in 0..400 {
            let way = Way { kind, in_turns: seed % 4 > 0, is_whole: seed % 2 > 0 };
            let (left, expected) = replayed(seed, way);
            assert!(!expected.rows.is_empty(), "seed {seed} deletes everything");
            assert!(!way.is_whole || expected.waited_for.is_empty(), "seed {seed}: nothing is missing");
            without_base += expected.waited_for.len();
            assert_eq!(left, expected, "seed {seed}, {way:?}");
        }
        assert!(without_base > 100, "{without_base} rows without a base");
    }
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
    let of_owners = [Mutation::OwnersDisagree, Mutation::OwnedTombstoneDropped];
    let of_owners = of_owners.map(|mutation| (RowReplayKind::LlrP, mutation));
    let of_all = KINDS.into_iter().flat_map(|kind| mutations.map(|mutation| (kind, mutation)));
    for (kind, mutation) in of_all.chain(of_owners) {
        build_in(&[mutation]);
        let way = Way { kind, in_turns: true, is_whole: true };
        let is_broken = |seed| match catch_unwind(|| replayed(seed, way)) {
            Ok((left, expected)) => left != expected,
            Err(_) => true,
        };
        let is_seen = (0..20).any(is_broken);
        build_in(&[]);
        assert!(is_seen, "{mutation:?} is not seen by {kind}");
    }
}
