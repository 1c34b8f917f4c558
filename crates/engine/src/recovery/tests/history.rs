//! Random histories of Poplar and GSN, written by a model of the protocol, cut off at a random moment, several times in a row.
//!
//! The oracle of docs/testing.md: (a) acknowledged transactions are recovered, (b) what is recovered is closed under
//! reads-from, (c) the state is what the recovered transactions wrote, last writer wins, (d) dead transactions stay dead
//! over later crashes, also crashes of recovery itself.

use std::collections::BTreeMap;

use fastrand::Rng;

use super::stamps;
use super::world::{Rows, TABLE, Txn, World, record_bytes};
use crate::config::{Protocol, RowReplayKind};
use crate::ids::Stamp;
use crate::io::BLOCK_BYTES;
use crate::log::format::batch::header_bytes;

const SECTOR_BYTES: usize = 512;

/// A transaction and the stamps of the writers it read from.
#[derive(Clone, Debug)]
struct Committed {
    txn: Txn,
    read_from: Vec<(Vec<u8>, u64)>,
}

#[derive(Clone, Debug, Default)]
struct Batch {
    txns: Vec<Committed>,
    stamp: u64,
    csn: u64,
    certificates: Vec<(u32, u64)>,
    rotate: bool,
}

#[derive(Default)]
struct Stream {
    stamp: u64,
    durable: u64,
    open: Vec<Committed>,
    in_flight: Option<Batch>,
    written: Vec<Batch>,
}

/// One generation of a database in memory.
struct Model {
    streams: Vec<Stream>,
    /// The last writer of each key, deletes included.
    last: BTreeMap<Vec<u8>, u64>,
    acknowledged: Vec<Committed>,
    pending: Vec<(usize, Committed)>,
    protocol: Protocol,
}

impl Model {
    fn new(protocol: Protocol, streams: usize, floor: u64, rows: &Rows) -> Model {
        let stream = |_| Stream { stamp: floor, durable: floor, ..Stream::default() };
        let last = rows.iter().map(|((_, key), (stamp, _))| (key.clone(), stamp.0)).collect();
        let streams = (0..streams).map(stream).collect();
        Model { streams, last, acknowledged: Vec::new(), pending: Vec::new(), protocol }
    }

    fn csn(&self) -> u64 {
        self.streams.iter().map(|stream| stream.durable).min().unwrap()
    }

    fn commit(&mut self, rng: &mut Rng) {
        let at = rng.usize(..self.streams.len());
        let key = |rng: &mut Rng| format!("key {}", rng.u8(..12)).into_bytes();
        let read: Vec<_> = (0..rng.usize(..3)).map(|_| key(rng)).collect();
        let stamp_of = |key: &Vec<u8>| self.last.get(key).copied().unwrap_or(0);
        let read_from: Vec<_> = read.iter().map(|key| (key.clone(), stamp_of(key))).collect();
        let raw_dep = read_from.iter().map(|(_, stamp)| *stamp).max().unwrap_or(0);
        let mut writes = BTreeMap::new();
        for _ in 0..rng.usize(1..4) {
            let row = (rng.u8(..4) > 0).then(|| vec![rng.u8(1..); rng.usize(..400)]);
            writes.insert(key(rng), row);
        }
        let base = writes.keys().map(stamp_of).max().unwrap().max(raw_dep);
        let stamp = base.max(self.streams[at].stamp) + 1;
        self.last.extend(writes.keys().map(|key| (key.clone(), stamp)));
        let txn = Txn { stamp, raw_dep, writes: writes.into_iter().collect(), in_parts: None };
        let committed = Committed { txn, read_from };
        self.streams[at].stamp = stamp;
        self.streams[at].open.push(committed.clone());
        self.pending.push((at, committed));
    }

    fn begin_flush(&mut self, rng: &mut Rng, at: usize) {
        if self.streams[at].in_flight.is_some() {
            return;
        }
        let highest = self.streams.iter().map(|stream| stream.stamp).max().unwrap();
        let stamp = if rng.bool() { highest } else { self.streams[at].stamp };
        let mut batch = Batch { stamp, csn: self.csn(), rotate: rng.u8(..8) == 0, ..Batch::default() };
        self.streams[at].stamp = stamp;
        batch.txns = std::mem::take(&mut self.streams[at].open);
        for other in 0..self.streams.len() {
            let idle = &mut self.streams[other];
            if other != at && idle.open.is_empty() && idle.in_flight.is_none() && rng.bool() {
                idle.stamp = idle.stamp.max(stamp);
                batch.certificates.push((other as u32, stamp));
            }
        }
        self.streams[at].in_flight = Some(batch);
    }

    fn end_flush(&mut self, at: usize) {
        let Some(batch) = self.streams[at].in_flight.take() else { return };
        self.streams[at].durable = self.streams[at].durable.max(batch.stamp);
        for (other, stamp) in &batch.certificates {
            let other = &mut self.streams[*other as usize];
            other.durable = other.durable.max(*stamp);
        }
        self.streams[at].written.push(batch);
        let csn = self.csn();
        let (streams, protocol) = (&self.streams, self.protocol);
        let (done, pending) =
            std::mem::take(&mut self.pending).into_iter().partition(|(stream, committed)| match protocol {
                Protocol::Gsn => csn >= committed.txn.stamp,
                _ => streams[*stream].durable >= committed.txn.stamp && csn >= committed.txn.raw_dep,
            });
        self.pending = pending;
        let done: Vec<(usize, Committed)> = done;
        self.acknowledged.extend(done.into_iter().map(|(_, committed)| committed));
    }

    fn run(&mut self, rng: &mut Rng) {
        for _ in 0..rng.usize(..120) {
            let at = rng.usize(..self.streams.len());
            match rng.u8(..6) {
                0..3 => self.commit(rng),
                3 => self.begin_flush(rng, at),
                _ => self.end_flush(at),
            }
        }
    }
}

/// Writes the logs as the crash leaves them. Returns what can be read of each stream, batch by batch.
fn crash(model: &mut Model, world: &World, rng: &mut Rng) -> Vec<Vec<Batch>> {
    let mut readable = Vec::new();
    for (at, stream) in model.streams.iter_mut().enumerate() {
        let mut writer = world.writer(at as u32);
        let mut batches = std::mem::take(&mut stream.written);
        for batch in &batches {
            write(&mut writer, batch);
            if batch.rotate {
                writer.rotate();
            }
        }
        match stream.in_flight.take().filter(|_| rng.u8(..4) > 0) {
            Some(batch) => {
                let begin = writer.end();
                write(&mut writer, &batch);
                let length = (writer.end().0 - begin.0) as usize;
                let path = writer.flush();
                let lost: Vec<_> = (0..length / SECTOR_BYTES).filter(|_| rng.u8(..5) == 0).collect();
                let tear = rng.bool();
                world.disk.edit(&path, |bytes| {
                    let position = bytes.len() - 8 * BLOCK_BYTES - length;
                    for sector in lost.iter().filter(|_| tear) {
                        let from = position + sector * SECTOR_BYTES;
                        bytes[from..from + SECTOR_BYTES].fill(0);
                    }
                });
                batches.extend(if tear { valid_prefix(model_streams(world), batch, &lost) } else { Some(batch) });
            }
            None => drop(writer.flush()),
        }
        readable.push(batches);
    }
    readable
}

fn model_streams(world: &World) -> u32 {
    world.manifest().current.streams.len() as u32
}

fn write(writer: &mut super::world::Writer, batch: &Batch) {
    let txns: Vec<_> = batch.txns.iter().map(|committed| committed.txn.clone()).collect();
    writer.batch_with(&txns, batch.stamp, batch.csn, &batch.certificates);
}

/// What is left of a batch without the sectors in `lost`.
fn valid_prefix(streams: u32, mut batch: Batch, lost: &[usize]) -> Option<Batch> {
    let is_whole =
        |from: usize, to: usize| !lost.iter().any(|at| at * SECTOR_BYTES < to && from < (at + 1) * SECTOR_BYTES);
    let mut at = header_bytes(streams);
    if !is_whole(0, at) {
        return None;
    }
    for (index, committed) in batch.txns.iter().enumerate() {
        let length = record_bytes(&committed.txn);
        if !is_whole(at, at + length) {
            batch.stamp = 0;
            batch.txns.truncate(index);
            break;
        }
        at += length;
    }
    Some(batch)
}

/// The cut by its definition, and which transactions live.
fn judge(protocol: Protocol, floor: u64, readable: &[Vec<Batch>]) -> (u64, Vec<Committed>) {
    let mut durable = vec![floor; readable.len()];
    for (at, batches) in readable.iter().enumerate() {
        for batch in batches {
            let last = batch.txns.last().map_or(0, |committed| committed.txn.stamp);
            durable[at] = durable[at].max(batch.stamp).max(last);
            batch.certificates.iter().for_each(|(of, stamp)| durable[*of as usize] = durable[*of as usize].max(*stamp));
        }
    }
    let cut = durable.into_iter().min().unwrap();
    let all = readable.iter().flatten().flat_map(|batch| batch.txns.iter().cloned());
    let live = all.filter(|committed| {
        let (stamp, raw_dep) = (Stamp(committed.txn.stamp), Stamp(committed.txn.raw_dep));
        stamp <= Stamp(cut) || protocol == Protocol::Poplar && raw_dep <= Stamp(cut)
    });
    (cut, live.collect())
}

fn expected_rows(live: &[Committed]) -> Rows {
    let mut last: BTreeMap<_, (u64, Option<Vec<u8>>)> = BTreeMap::new();
    for committed in live {
        for (key, row) in &committed.txn.writes {
            let entry = last.entry((TABLE, key.clone())).or_default();
            assert_ne!(entry.0, committed.txn.stamp, "two writers of a key with one stamp");
            if committed.txn.stamp > entry.0 {
                *entry = (committed.txn.stamp, row.clone());
            }
        }
    }
    last.into_iter().filter_map(|(key, (stamp, row))| Some((key, (Stamp(stamp), row?)))).collect()
}

fn assert_closed(live: &[Committed], before: &Rows, seed: u64) {
    for committed in live {
        for (key, from) in &committed.read_from {
            let wrote = |other: &Committed| {
                other.txn.stamp == *from && other.txn.writes.iter().any(|(written, _)| written == key)
            };
            let known = before.get(&(TABLE, key.clone())).is_some_and(|(stamp, _)| stamp.0 == *from);
            let is_there = *from == 0 || known || live.iter().any(wrote);
            assert!(is_there, "seed {seed}: {} read {from} of {key:?}, which is lost", committed.txn.stamp);
        }
    }
}

/// Several generations of one database; returns how many transactions died.
fn check(protocol: Protocol, seed: u64) -> usize {
    let mut rng = Rng::with_seed(seed);
    let mut world = World::new(protocol, rng.u32(1..5));
    world.config.recovery_buffer_bytes = if rng.bool() { 0 } else { 1 << 20 };
    world.config.recovery_threads = rng.usize(1..4);
    world.config.recovery_rows = [RowReplayKind::Plr, RowReplayKind::Llr, RowReplayKind::LlrP][seed as usize % 3];
    let (mut survivors, mut rows, mut dead) = (Vec::new(), Rows::new(), 0);
    for _ in 0..4 {
        let floor = world.manifest().current.floor.0;
        let mut model = Model::new(protocol, model_streams(&world) as usize, floor, &rows);
        model.run(&mut rng);
        let readable = crash(&mut model, &world, &mut rng);
        let (cut, live) = judge(protocol, floor, &readable);
        for acknowledged in &model.acknowledged {
            let stamp = acknowledged.txn.stamp;
            let is_live = live.iter().any(|live| live.txn.stamp == stamp && live.txn.writes == acknowledged.txn.writes);
            assert!(is_live, "seed {seed}: acknowledged {stamp} is lost");
        }
        assert_closed(&live, &rows, seed);
        dead += readable.iter().flatten().map(|batch| batch.txns.len()).sum::<usize>() - live.len();
        survivors.extend(live);
        for _ in 0..rng.usize(..3) {
            world.disk.fail_after(rng.usize(..20));
            let _ = world.recover();
            if rng.bool() { world.disk.crash() } else { world.disk.fail_after(usize::MAX) }
        }
        let was_frozen = world.manifest().current.floor.0 != floor;
        let (report, recovered) = world.recover().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let expected = expected_rows(&survivors);
        assert_eq!(stamps(&recovered), stamps(&expected), "seed {seed}");
        assert!(recovered == expected, "seed {seed}: other rows");
        assert!(was_frozen || report.cut == Stamp(cut) || report.records == 0, "seed {seed}: {} not {cut}", report.cut);
        rows = recovered;
        world.config.streams = rng.u32(1..5);
        world.disk.crash();
        world.recover().unwrap();
    }
    dead
}

#[test]
fn random_histories_satisfy_the_oracle() {
    for protocol in [Protocol::Poplar, Protocol::Gsn] {
        let dead: usize = (0..400).map(|seed| check(protocol, seed)).sum();
        assert!(dead > 1000, "only {dead} transactions died: the histories of {protocol} are too tame");
    }
}

/// `OSIER_SEEDS=a..b cargo test -p osier --release -- --ignored more_random_histories`
#[test]
#[ignore = "long"]
fn more_random_histories() {
    let range = std::env::var("OSIER_SEEDS").unwrap_or_else(|_| "1000..21000".to_owned());
    let (from, to) = range.split_once("..").expect("a range");
    for seed in from.parse().unwrap()..to.parse().unwrap() {
        check(Protocol::Poplar, seed);
        check(Protocol::Gsn, seed);
    }
}
