//! Poplar and GSN against a power loss at any step of any task: what was acknowledged is recovered, and what is recovered is
//! closed under reads (P3).
//!
//! The disk forgets everything that was not synced. Recovery is the rule of docs/protocols.md, computed here
//! from the files alone. Absent: torn writes and real recovery (the simulation of osier-testkit).

use fastrand::Rng;

use super::world_for_tests::{FoundStream, World, commit_row, is_acknowledged, read_stream, reader};
use crate::config::Protocol;
use crate::ids::{Stamp, StreamId};
use crate::log::CommitLog;
use crate::log::protocol::Committed;

const KEYS: usize = 5;

const PROTOCOLS: [Protocol; 2] = [Protocol::Poplar, Protocol::Gsn];

struct CrashRun {
    world: World,
    log: CommitLog,
    protocol: Protocol,
    streams: u32,
    rng: Rng,
    /// Who wrote each key's row.
    keys: [Option<Writer>; KEYS],
    /// Every commit and every reader: what it observed, whom it read, whether it was acknowledged.
    history: Vec<(Committed<Stamp>, Vec<Writer>, bool)>,
}

/// Stamps of two streams may be equal; with the stream they name a transaction.
type Writer = (StreamId, Stamp);

impl CrashRun {
    fn new(protocol: Protocol, seed: u64, prepare: impl FnOnce(&mut World)) -> CrashRun {
        let mut rng = Rng::with_seed(seed);
        let streams = rng.u32(1..=4);
        let mut world = World::new();
        world.config.ring_bytes = 64 << 10;
        world.config.segment_bytes = 72 << 10;
        world.config.transaction_log_bytes_max = 4 << 10;
        prepare(&mut world);
        let log = if protocol == Protocol::Gsn { world.gsn(streams) } else { world.poplar(streams) };
        CrashRun { world, log, protocol, streams, rng, keys: [None; KEYS], history: Vec::new() }
    }

    fn transaction(&mut self) {
        let reads: Vec<Writer> = (0..self.rng.usize(0..3)).filter_map(|_| self.keys[self.rng.usize(0..KEYS)]).collect();
        let raw_dep = reads.iter().map(|read| read.1).max().unwrap_or(Stamp::ZERO);
        if self.rng.u32(0..4) == 0 {
            let observed = reader(raw_dep);
            return self.history.push((observed, reads, false));
        }
        let written = self.rng.usize(0..KEYS);
        let base = self.keys[written].map_or(raw_dep, |overwritten| raw_dep.max(overwritten.1));
        let stream = self.rng.u32(0..self.streams);
        let row_bytes = self.rng.usize(10..1000);
        let observed = commit_row(&self.log, stream, base.0, raw_dep.0, row_bytes).unwrap();
        self.keys[written] = Some((observed.stream, observed.stamp));
        self.history.push((observed, reads, false));
    }

    fn acknowledge(&mut self) {
        for (observed, _, told) in &mut self.history {
            let now = is_acknowledged(&self.log, observed);
            assert!(now || !*told, "an acknowledgement was taken back");
            *told |= now;
        }
    }

    fn run(&mut self) {
        for _ in 0..self.rng.u32(20..150) {
            match self.rng.u32(0..10) {
                0..3 => self.transaction(),
                3 => self.world.clock.advance(std::time::Duration::from_micros(self.rng.u64(0..1500))),
                4 => self.acknowledge(),
                _ => {
                    let rng = &mut self.rng;
                    self.world.spawn.step_any(|count| rng.usize(0..count));
                }
            }
        }
        self.acknowledge();
    }

    /// Lets the power fail; says what is wrong with what is left.
    fn crash(mut self) -> Result<(), String> {
        self.run();
        let stable = self.log.csn();
        self.world.disk.inner.crash();
        let read = |stream| read_stream(&self.world.disk, &World::identity(1, stream, self.streams));
        let found = (0..self.streams).map(read).collect::<Result<Vec<FoundStream>, _>>()?;
        let batches = || found.iter().flatten().flat_map(|(_, batches)| batches);
        let durable = |stream: u32| {
            let own = found[stream as usize]
                .iter()
                .flat_map(|(header, batches)| batches.iter().map(|batch| batch.header.stamp).chain([header.floor]));
            let certified = batches().flat_map(|batch| &batch.certificates);
            let certified = certified.filter(|word| word.stream.0 == stream).map(|word| word.stamp);
            own.chain(certified).max().unwrap_or(Stamp::ZERO)
        };
        let cut = (0..self.streams).map(durable).min().unwrap();
        if stable > cut {
            return Err(format!("CSN was {stable}, the cut is {cut}"));
        }
        let live = |(stream, stamp): Writer| {
            let own = found[stream.0 as usize].iter().flat_map(|(_, batches)| batches);
            let record = own.flat_map(|batch| &batch.records).find(|record| record.stamp == stamp);
            let is_beyond_the_prefix = |raw_dep| self.protocol == Protocol::Poplar && raw_dep <= cut;
            record.is_some_and(|record| record.stamp <= cut || is_beyond_the_prefix(record.raw_dep))
        };
        for (observed, reads, told) in &self.history {
            let is_writer = observed.stamp > Stamp::ZERO;
            let is_live = is_writer && live((observed.stream, observed.stamp));
            if *told && is_writer && !is_live {
                return Err(format!("{observed:?} was acknowledged and is lost; the cut is {cut}"));
            }
            if let Some(read) = reads.iter().find(|read| (is_live || *told) && !live(**read)) {
                return Err(format!("{observed:?} read {read:?}, which is lost; the cut is {cut}"));
            }
        }
        Ok(())
    }
}

#[test]
fn what_is_acknowledged_is_recovered() {
    for (protocol, seed) in (0..3000).flat_map(|seed| PROTOCOLS.map(|protocol| (protocol, seed))) {
        if let Err(fault) = CrashRun::new(protocol, seed, |_| {}).crash() {
            panic!("{protocol}, seed {seed}: {fault}");
        }
    }
}

#[test]
fn what_is_acknowledged_is_recovered_with_timed_group_commit() {
    for (protocol, seed) in (0..500).flat_map(|seed| PROTOCOLS.map(|protocol| (protocol, seed))) {
        let timed = |world: &mut World| world.config.group_commit_interval = std::time::Duration::from_millis(1);
        if let Err(fault) = CrashRun::new(protocol, seed, timed).crash() {
            panic!("{protocol}, seed {seed}: {fault}");
        }
    }
}

/// The test can fail: it finds each deliberate fault.
#[cfg(feature = "mutations")]
mod mutations {
    use super::*;
    use crate::failpoint::{Mutation, simulated};

    fn caught(protocol: Protocol, mutation: Mutation) -> usize {
        simulated::build_in(&[mutation]);
        let caught = (0..500).filter(|seed| CrashRun::new(protocol, *seed, |_| {}).crash().is_err()).count();
        simulated::build_in(&[]);
        caught
    }

    #[test]
    fn a_removed_sync_is_caught() {
        assert!(caught(Protocol::Poplar, Mutation::SkipLogSync) > 250);
    }

    #[test]
    fn a_volatile_heartbeat_is_caught() {
        let caught = caught(Protocol::Poplar, Mutation::VolatileHeartbeat);
        assert!(caught > 2, "{caught} of 500");
    }

    #[test]
    fn a_commit_of_a_total_order_that_waits_too_little_is_caught() {
        let caught = caught(Protocol::Gsn, Mutation::PrefixUnawaited);
        assert!(caught > 20, "{caught} of 500");
    }
}
