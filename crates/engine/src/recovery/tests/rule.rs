//! Recovery by a rule whose dependencies and cuts are vectors.

use std::sync::Arc;

use osier_memory::Epochs;

use super::world::{TABLE, World, plain, put, rows};
use crate::config::Protocol;
use crate::directory::manifest::NEVER;
use crate::ids::{Stamp, WallTime};
use crate::log::format::dependency::LsnVector;
use crate::log::protocol::LogProtocol;
use crate::log::protocol::poplar::Poplar;
use crate::log::protocol::recovery_rule::{RecoveryRule, with_rule};
use crate::log::protocol::taurus::Taurus;
use crate::recovery::first_pass::SegmentReader;
use crate::recovery::log_scan::LogScan;
use crate::recovery::replay::machine::{NullMachine, expect_order};
use crate::recovery::replay::values::ValueMachine;
use crate::recovery::replay::waiting::WaitingDeltas;
use crate::recovery::{cut, find_generations, second_pass};
use crate::table::store::Store;

type TaurusRule = <Taurus as LogProtocol>::Rule;
type PoplarRule = <Poplar as LogProtocol>::Rule;

/// Stream 0 ends with 4, stream 1 with 11. What 9 read is there in both; 11 read what stream 0 has lost.
#[test]
fn a_vector_decides_in_both_passes_what_a_scalar_would_decide_otherwise() {
    let world = World::new(Protocol::Taurus, 2);
    // The hundreds of a dependency are of stream 0.
    let lsns = |read: u64| {
        let (mut raw_dep, lanes) = (LsnVector::default(), [read / 100, read % 100]);
        raw_dep.set_above((0..2).filter(|at| lanes[*at] > 0).map(|at| 1 << at).sum(), &lanes);
        raw_dep
    };
    let first = [put(2, 0, "a", "2"), put(4, 200, "b", "4")];
    let second = [put(3, 200, "c", "3"), put(9, 407, "d", "9"), put(11, 600, "e", "dead")];
    world.writer(0).batch_as(&first, |txn| lsns(txn.raw_dep), 4, 0, &[]).flush();
    world.writer(1).batch_as(&second, |txn| lsns(txn.raw_dep), 11, 0, &[]).flush();

    let (store, config) = (Store::new(Epochs::new(4)), &world.config);
    let generations = find_generations(&world.disk, world.home(), &world.manifest(), NEVER).unwrap();
    let scan = LogScan::new(generations, Default::default(), WallTime(u64::MAX), config);
    let mut reader =
        SegmentReader::new(&scan, ValueMachine::new(&store, config, &Arc::new(WaitingDeltas::new())).unwrap());
    while let Some(segment) = scan.claim() {
        while let Some(chunk) = scan.read(segment, Vec::new()).unwrap() {
            reader.replay::<TaurusRule>(&chunk, Stamp::ZERO).unwrap();
        }
    }
    assert_eq!((reader.tallies[0].records, reader.tallies[0].replayed), (5, 1), "only the blind write is certain");

    let verdict = cut::judge_by::<TaurusRule>(&scan, 0, &reader.tallies[0]).unwrap();
    assert_eq!((verdict.cut, verdict.max_seen), (Stamp(4), Stamp(11)));
    let cut = verdict.cut::<TaurusRule>(Stamp::ZERO);
    let deferred = std::mem::take(&mut reader.deferred);
    let machines = vec![reader.machine];
    let (tally, machines) = second_pass::run_by::<TaurusRule, _>(config, &scan, deferred, cut, machines).unwrap();
    second_pass::merge(config, machines).unwrap();
    assert_eq!(tally.replayed, 3);
    assert_eq!(plain(&rows(&store)), [("a", "2"), ("b", "4"), ("c", "3"), ("d", "9")]);
    assert_eq!(store.table_ids(), [TABLE]);
    let scalar_lives = PoplarRule::lives(Stamp(9), &Stamp(7), &Stamp(4));
    assert!(!scalar_lives, "a scalar does not know from which stream 7 is");
}

#[test]
fn no_machine_is_fed_that_needs_more_order_than_the_stamps_give() {
    with_rule!(Protocol::None, Rule => expect_order::<Rule, NullMachine>());
    with_rule!(Protocol::Poplar, Rule => expect_order::<Rule, ValueMachine>());
    let unfit = || with_rule!(Protocol::None, Rule => expect_order::<Rule, ValueMachine>());
    assert!(std::panic::catch_unwind(unfit).is_err());
}
