//! Recovery by a rule that no protocol has: what a transaction depends on is a vector of LSNs, one for each stream, and so is the
//! cut.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use osier_memory::Epochs;

use super::world::{TABLE, World, plain, put, rows};
use crate::config::Protocol;
use crate::directory::manifest::{FrozenGeneration, NEVER};
use crate::ids::{Stamp, WallTime};
use crate::log::format::dependency::Dependency;
use crate::log::protocol::recovery_rule::{Cut, RecoveryRule, StreamEvidence, with_rule};
use crate::log::protocol::replay_order::ReplayOrder;
use crate::recovery::first_pass::SegmentReader;
use crate::recovery::log_scan::LogScan;
use crate::recovery::replay::machine::{NullMachine, expect_order};
use crate::recovery::replay::values::ValueMachine;
use crate::recovery::replay::waiting::WaitingDeltas;
use crate::recovery::{cut, find_generations, second_pass};
use crate::table::store::Store;

/// An LSN of each stream up to the last that is not zero. Those of stream b leave b where they are divided by [`STREAMS`].
#[derive(Clone, Debug, Default, PartialEq)]
struct Lsns(Vec<Stamp>);

const STREAMS: u64 = 2;

impl Dependency for Lsns {
    fn add(&mut self, stamp: Stamp) {
        let stream = (stamp.0 % STREAMS) as usize;
        self.0.resize(self.0.len().max(stream + 1), Stamp::ZERO);
        self.0[stream] = self.0[stream].max(stamp);
    }

    fn greatest(&self) -> Stamp {
        self.0.iter().copied().max().unwrap_or_default()
    }

    fn encoded_len(&self) -> usize {
        8 + 8 * self.0.len()
    }

    fn encode(&self, bytes: &mut [u8]) {
        assert_eq!(bytes.len(), self.encoded_len());
        let words = [self.0.len() as u64].into_iter().chain(self.0.iter().map(|lsn| lsn.0));
        bytes.chunks_exact_mut(8).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
    }

    fn split(bytes: &[u8]) -> Option<(Lsns, &[u8])> {
        let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(8 * at..)?.first_chunk()?));
        let lsns: Option<Vec<Stamp>> = (1..=word(0)? as usize).map(|at| word(at).map(Stamp)).collect();
        let lsns = Lsns(lsns?);
        let rest = &bytes[lsns.encoded_len()..];
        Some((lsns, rest))
    }

    fn split_fixed(_bytes: &[u8]) -> Option<(Lsns, &[u8])> {
        None
    }
}

impl fmt::Display for Lsns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl Lsns {
    fn of(&self, stream: usize) -> Stamp {
        self.0.get(stream).copied().unwrap_or_default()
    }
}

/// By stream, so that most of them are neither above nor below each other.
impl PartialOrd for Lsns {
    fn partial_cmp(&self, other: &Lsns) -> Option<Ordering> {
        let streams = || 0..self.0.len().max(other.0.len());
        let is_below = streams().all(|stream| self.of(stream) <= other.of(stream));
        let is_above = streams().all(|stream| self.of(stream) >= other.of(stream));
        match (is_below, is_above) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}

impl Cut for Lsns {
    fn stamp(&self) -> Stamp {
        self.0.iter().copied().min().unwrap_or_default()
    }
}

/// A record lives if what it read from each stream is there.
enum VectorRule {}

impl RecoveryRule for VectorRule {
    type Dependency = Lsns;
    type Cut = Lsns;

    const ORDER: ReplayOrder = ReplayOrder::PerKey;

    fn durable(stream: &StreamEvidence) -> Stamp {
        stream.reached.max(stream.floor)
    }

    fn cut(_floor: Stamp, durable: &[Stamp]) -> Lsns {
        Lsns(durable.to_vec())
    }

    fn certain(floors: &[Stamp], _csn: Stamp) -> Lsns {
        Lsns(floors.to_vec())
    }

    fn frozen(_generation: &FrozenGeneration) -> Lsns {
        unreachable!("the generation crashed")
    }

    fn lives(_stamp: Stamp, raw_dep: &Lsns, cut: &Lsns) -> bool {
        raw_dep <= cut
    }
}

/// Stream 0 ends with 4, stream 1 with 11. What 9 read is there in both; 11 read what stream 0 has lost.
#[test]
fn a_vector_decides_in_both_passes_what_a_scalar_would_decide_otherwise() {
    let world = World::new(Protocol::Poplar, STREAMS as u32);
    // The hundreds of a dependency are of stream 0.
    let lsns = |read: u64| {
        let mut raw_dep = Lsns::default();
        [read / 100, read % 100].into_iter().filter(|lsn| *lsn > 0).for_each(|lsn| raw_dep.add(Stamp(lsn)));
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
            reader.replay::<VectorRule>(&chunk, Stamp::ZERO).unwrap();
        }
    }
    assert_eq!((reader.tallies[0].records, reader.tallies[0].replayed), (5, 1), "only the blind write is certain");

    let verdict = cut::judge_by::<VectorRule>(&scan, 0, &reader.tallies[0]).unwrap();
    assert_eq!((verdict.cut, verdict.max_seen), (Stamp(4), Stamp(11)));
    let cut = verdict.cut::<VectorRule>(Stamp::ZERO);
    let deferred = std::mem::take(&mut reader.deferred);
    let machines = vec![reader.machine];
    let (tally, machines) = second_pass::run_by::<VectorRule, _>(config, &scan, deferred, cut, machines).unwrap();
    second_pass::merge(config, machines).unwrap();
    assert_eq!(tally.replayed, 3);
    assert_eq!(plain(&rows(&store)), [("a", "2"), ("b", "4"), ("c", "3"), ("d", "9")]);
    assert_eq!(store.table_ids(), [TABLE]);
    with_rule!(Protocol::Poplar, Rule => {
        assert!(!Rule::lives(Stamp(9), &Stamp(7), &Stamp(4)), "a scalar does not know from which stream 7 is");
    });
}

#[test]
fn no_machine_is_fed_that_needs_more_order_than_the_stamps_give() {
    with_rule!(Protocol::None, Rule => expect_order::<Rule, NullMachine>());
    with_rule!(Protocol::Poplar, Rule => expect_order::<Rule, ValueMachine>());
    let unfit = || with_rule!(Protocol::None, Rule => expect_order::<Rule, ValueMachine>());
    assert!(std::panic::catch_unwind(unfit).is_err());
}
