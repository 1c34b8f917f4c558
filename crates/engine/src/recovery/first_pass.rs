//! The first pass over the log: checks every record, and replays at once what certainly lives.
//!
//! Invariants:
//! - Stamps rise strictly within a stream, and those of a batch lie above everything before it and not above its own.
//! - A record is replayed here only if it lives under [`GenerationScan::certain`]: it lives whatever the cut turns out to be.
//!   The others wait for the cut ([`Deferred`]), those of a frozen generation are dropped.
//! - Nothing behind an unsound record of a batch is used.
//! - Of generations that are replayed in order ([`ordered`](super::ordered)) records are checked and counted, and none is
//!   replayed.
//!
//! Replay by last writer wins may come in any order, which is what makes this single pass possible: log bytes are replayed
//! while they are in the cache, and only parts and batches around the cut are kept or read twice. Where too much waits for what
//! is yet to be read, only the thread goes on that reads what comes first, until less waits.

use std::sync::Arc;
use std::time::Duration;

use super::base::Base;
use super::faults;
use super::generation_scan::{GenerationScan, ReadBatch, SegmentId, StreamScan, Torn};
use super::log_scan::{Chunk, LogScan};
use super::parts;
use super::replay::machine::{NullMachine, ReplayBatch, ReplayMachine, expect_order};
use super::second_pass::Deferred;
use super::tally::Tally;
use super::workers::{self, Work};
use crate::config::{Config, Logged, Protocol};
use crate::error::RecoveryError;
use crate::failpoint::{Point, yield_at};
use crate::ids::{LogOffset, Stamp, WallTime};
use crate::log::format::dependency::Dependency;
use crate::log::format::payload::PayloadKind;
use crate::log::format::payload::values::LoggedWrite;
use crate::log::format::record::{Entry, RecordReader};
use crate::log::format::records::Records;
use crate::log::protocol::recovery_rule::{RecoveryRule, with_rule};
use crate::log::protocol::replay_order::ReplayOrder;

/// What the first pass read.
pub(super) struct ScannedLog {
    pub(super) scan: Arc<LogScan>,
    /// By generation.
    pub(super) tallies: Vec<Tally>,
    /// What waits for the cut.
    pub(super) deferred: Vec<Deferred>,
    pub(super) times: PassTimes,
}

/// What the threads of a pass did not replay for, all together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PassTimes {
    /// They read.
    pub(super) loading: Duration,
    /// They waited for others, also those that ended before the last one.
    pub(super) waiting: Duration,
}

impl PassTimes {
    /// Returns what the threads of a pass say that is over.
    fn of<M: ReplayMachine>(readers: &[SegmentReader<M>], now: Duration) -> PassTimes {
        let waited = |reader: &SegmentReader<M>| {
            let idle = reader.ended.map_or(Duration::ZERO, |ended| now.saturating_sub(ended));
            reader.waited + reader.machine.waited() + idle
        };
        PassTimes {
            loading: readers.iter().map(|reader| reader.loading).sum(),
            waiting: readers.iter().map(waited).sum(),
        }
    }
}

impl ScannedLog {
    /// Returns what was counted over all generations.
    pub(super) fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.tallies.iter().for_each(|tally| total.add(tally));
        total
    }
}

/// Reads everything, with a thread for each of `machines`, to which goes what certainly lives; returns them for the second
/// pass. Records that `base` covers are not replayed; the checkpoint holds what `held` covers; batches that were closed after
/// `time` are told apart ([`Tally::late`]).
pub(super) fn run<M: ReplayMachine>(
    config: &Config,
    generations: Vec<GenerationScan>,
    (base, held): (Base, Base),
    time: WallTime,
    mut machines: Vec<M>,
) -> Result<(ScannedLog, Vec<M>), RecoveryError> {
    assert!(!machines.is_empty(), "there is a thread to read with");
    for generation in generations.iter().filter(|generation| !generation.streams.is_empty()) {
        with_rule!(generation.layout.protocol, Rule => expect_order::<Rule, M>());
    }
    let scan = LogScan::new(generations, (base, held), time, config);
    scan.foresee();
    scan.choose_order();
    let begin = |each: &mut dyn FnMut(Stamp, LoggedWrite<'_>)| scan.for_each_first_write(each);
    machines.iter_mut().try_for_each(|machine| machine.learn(&begin))?;
    machines.iter_mut().for_each(ReplayMachine::begin);
    let readers = machines.into_iter().map(|machine| SegmentReader::new(&scan, machine)).collect();
    let finished = workers::run(&config.environment, readers)?;
    scan.assert_is_read();
    let tallies = vec![Tally::default(); scan.generations.len()];
    let times = PassTimes::of(&finished, scan.now());
    let mut scanned = ScannedLog { scan, tallies, deferred: Vec::new(), times };
    let machines = finished.into_iter().map(|reader| {
        scanned.tallies.iter_mut().zip(&reader.tallies).for_each(|(sum, tally)| sum.add(tally));
        scanned.deferred.extend(reader.deferred);
        reader.machine
    });
    let machines = machines.collect();
    Ok((scanned, machines))
}

/// Reads everything, and replays nothing.
pub(super) fn read(
    config: &Config,
    generations: Vec<GenerationScan>,
    bases: (Base, Base),
    time: WallTime,
) -> Result<(ScannedLog, Vec<NullMachine>), RecoveryError> {
    run(config, generations, bases, time, vec![NullMachine; workers::count(config)])
}

/// One thread of the pass.
pub(super) struct SegmentReader<M> {
    scan: Arc<LogScan>,
    buffer: Vec<u8>,
    /// By generation.
    pub(super) tallies: Vec<Tally>,
    pub(super) deferred: Vec<Deferred>,
    pub(super) machine: M,
    loading: Duration,
    waited: Duration,
    /// When it had nothing left to do.
    ended: Option<Duration>,
}

impl<M: ReplayMachine> SegmentReader<M> {
    /// Returns a thread that has read nothing.
    pub(super) fn new(scan: &Arc<LogScan>, machine: M) -> SegmentReader<M> {
        let tallies = vec![Tally::default(); scan.generations.len()];
        SegmentReader {
            scan: scan.clone(),
            buffer: Vec::new(),
            tallies,
            deferred: Vec::new(),
            machine,
            loading: Duration::ZERO,
            waited: Duration::ZERO,
            ended: None,
        }
    }

    /// Checks the records of a chunk and replays what certainly lives, by the rule `R` of its generation. The thread is at work
    /// on what comes after `at_work`.
    pub(super) fn replay<R: RecoveryRule>(&mut self, chunk: &Chunk, at_work: Stamp) -> Result<(), RecoveryError> {
        let segment = chunk.segment;
        let begins = |first: &ReadBatch| first.header.offset == chunk.begin;
        assert!(chunk.batches.first().is_none_or(begins), "bytes before the first batch of a chunk");
        for batch in &chunk.batches {
            let begin = (batch.header.offset.0 - chunk.begin.0) as usize;
            let generation = &self.scan.generations[segment.generation];
            let mut replay = BatchReplay::<R, _> {
                scan: &self.scan,
                generation,
                stream: self.scan.stream(segment),
                segment,
                batch: *batch,
                bytes: &chunk.bytes[begin..begin + batch.header.record_bytes as usize],
                certain: generation.certain::<R>(),
                tally: &mut self.tallies[segment.generation],
                machine: self.machine.batch(),
                at_work,
                stamp: batch.before,
                is_undecided: false,
            };
            let read = replay.run()?;
            assert!(
                replay.stamp <= batch.header.stamp && read <= replay.bytes.len(),
                "{:?} was exceeded",
                batch.header
            );
            yield_at(Point::Sifted);
            if replay.is_undecided {
                let bytes = self.scan.keep(read as u64).then(|| Box::from(&replay.bytes[..read]));
                self.deferred.push(Deferred { segment, batch: *batch, record_bytes: read as u64, bytes });
            }
        }
        Ok(())
    }
}

impl<M: ReplayMachine> SegmentReader<M> {
    /// Takes a step towards the end of the pass; returns whether there is another one.
    fn finish(&mut self) -> bool {
        let goes_on = self.machine.finish();
        if !goes_on {
            self.ended = Some(self.scan.now());
        }
        goes_on
    }
}

impl<M: ReplayMachine> Work for SegmentReader<M> {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        let scan = self.scan.clone();
        if self.machine.is_waiting() {
            scan.read_by_stamp();
        }
        let Some(segment) = scan.claim() else { return Ok(self.finish()) };
        let (before, begun) = (scan.stamp_before(segment), scan.now());
        if self.machine.is_ahead() && scan.gives_way(before.next()) {
            self.waited += scan.now().saturating_sub(begun);
            self.machine.tend(true);
            return Ok(true);
        }
        self.machine.tend(false);
        let at_work = scan.work(before);
        let begun = scan.now();
        let chunk = scan.read(segment, std::mem::take(&mut self.buffer))?;
        self.loading += scan.now().saturating_sub(begun);
        if let Some(chunk) = chunk {
            yield_at(Point::Read);
            let protocol = scan.generations[segment.generation].layout.protocol;
            with_rule!(protocol, Rule => self.replay::<Rule>(&chunk, at_work.stamp))?;
            self.buffer = chunk.bytes;
        }
        Ok(true)
    }
}

/// The check of one batch, and the replay of its records that certainly live.
struct BatchReplay<'s, R: RecoveryRule, B> {
    scan: &'s LogScan,
    generation: &'s GenerationScan,
    stream: &'s StreamScan,
    segment: SegmentId,
    batch: ReadBatch,
    /// Header and records.
    bytes: &'s [u8],
    certain: R::Cut,
    tally: &'s mut Tally,
    machine: B,
    at_work: Stamp,
    /// Of the last record or part.
    stamp: Stamp,
    /// Whether there is a record whose fate the cut decides.
    is_undecided: bool,
}

impl<R: RecoveryRule, B: ReplayBatch> BatchReplay<'_, R, B> {
    /// Returns the end of the valid records.
    fn run(&mut self) -> Result<usize, RecoveryError> {
        assert!(self.batch.before <= self.batch.header.stamp, "stamps fall in {:?}", self.batch);
        self.tally.batches += 1;
        self.tally.bytes += self.batch.header.length;
        self.tally.max_stamp = self.tally.max_stamp.max(self.batch.header.stamp);
        self.note_time();
        let mut records = Records::<R::Dependency>::new(&self.stream.chain.log, self.batch.header.offset, self.bytes);
        while let Some((offset, entry)) = records.next() {
            match &entry {
                Ok(Entry::Record(record)) => self.take(record, offset)?,
                Ok(Entry::Part(part)) => self.pass(part.header().stamp, offset)?,
                Ok(Entry::Skip(_)) => {}
                Err(error) => self.tear(records.sound_bytes(), offset, error.to_string())?,
            }
        }
        Ok(records.sound_bytes())
    }

    /// Checks the order of a record, counts it, and decides what becomes of it.
    fn take(&mut self, record: &RecordReader<'_, R::Dependency>, offset: LogOffset) -> Result<(), RecoveryError> {
        let order = record.header();
        self.pass(order.stamp, offset)?;
        let kind = record.kind();
        self.expect_kind(kind, offset)?;
        if !order.raw_dep.names_streams_below(self.generation.streams.len()) {
            return Err(self.scan.damaged(self.segment, offset, "it depends on a stream that there is not".to_owned()));
        }
        self.expect_participants(record, offset)?;
        self.tally.records += 1;
        self.tally.note_epoch(order.epoch);
        let lives = R::lives(order.stamp, &order.raw_dep, &self.certain);
        let is_dead = !lives && self.generation.frozen.is_some();
        let mut is_undecided = false;
        if self.scan.base.covers(order.stamp, order.epoch) {
            self.tally.covered += 1;
        } else if faults::is_after(order.epoch > self.generation.until) {
            match self.generation.gave_up(order.epoch) {
                true => self.tally.given_up += 1,
                false if is_dead => {}
                false => self.tally.after += 1,
            }
        } else if lives {
            self.tally.replay(record, self.stream.chain.log.stream(), &self.scan.held);
            if !self.scan.is_ordered(self.segment.generation) {
                let place = (self.segment, offset);
                parts::replay(self.scan, place, record, &mut self.machine, self.at_work)?;
            }
        } else {
            is_undecided = !is_dead;
        }
        if !is_dead && !is_undecided {
            self.tally.note_closed(order.epoch, self.batch.header.closed, self.scan.time);
        }
        self.is_undecided |= is_undecided;
        Ok(())
    }

    /// Checks that a command, or what physiological logging wrote, stands where there may be some.
    fn expect_kind(&self, kind: PayloadKind, offset: LogOffset) -> Result<(), RecoveryError> {
        let damaged = |what: &str| Err(self.scan.damaged(self.segment, offset, what.to_owned()));
        let logged = self.generation.layout.logged;
        let is_command = kind == PayloadKind::Command;
        if is_command && (logged != Logged::Commands || R::ORDER < ReplayOrder::Total) {
            return damaged("it holds a command, and its generation none by the manifest");
        }
        match (kind.is_physiological(), logged == Logged::Physiological) {
            (true, false) => damaged("it holds images before, and its generation none by the manifest"),
            (false, true) => damaged("it holds no images before, and its generation does by the manifest"),
            _ => Ok(()),
        }
    }

    /// Checks that a record which is one of several is that of its stream, and that the other streams are there.
    fn expect_participants(
        &self,
        record: &RecordReader<'_, R::Dependency>,
        offset: LogOffset,
    ) -> Result<(), RecoveryError> {
        let Some(participants) = record.participants() else { return Ok(()) };
        if self.generation.layout.protocol != Protocol::Plover {
            let what = "it is a share of a transaction, and its generation has none by the manifest".to_owned();
            return Err(self.scan.damaged(self.segment, offset, what));
        }
        let (own, streams) = (self.stream.chain.log.stream(), self.generation.streams.len() as u32);
        if participants.has(own) && participants.iter().all(|stream| stream.0 < streams) {
            return Ok(());
        }
        Err(self.scan.damaged(self.segment, offset, "it is a share of a transaction of other streams".to_owned()))
    }

    /// Checks that stamps rise.
    fn pass(&mut self, stamp: Stamp, offset: LogOffset) -> Result<(), RecoveryError> {
        let (before, last) = (self.stamp, self.batch.header.stamp);
        if stamp <= before || stamp > last {
            let what = format!("stamp {stamp} follows {before} in a batch up to {last}");
            return Err(self.scan.damaged(self.segment, offset, what));
        }
        self.stamp = stamp;
        Ok(())
    }

    /// Notes when the batch was closed.
    fn note_time(&mut self) {
        let (tally, header) = (&mut *self.tally, &self.batch.header);
        tally.closed = tally.closed.max(header.closed);
        if header.closed != WallTime::UNKNOWN && header.csn >= self.scan.base.max_seen() {
            tally.borne_out = tally.borne_out.min(header.closed);
        }
    }

    /// Notes that the batch ends `at` so many bytes, or refuses it where it must not be torn.
    fn tear(&mut self, at: usize, offset: LogOffset, what: String) -> Result<(), RecoveryError> {
        if self.stream.chain.limit(self.segment.index).exact {
            return Err(self.scan.damaged(self.segment, offset, what));
        }
        let (batch, stamp) = (self.batch.header.offset, self.stamp);
        assert!(self.generation.frozen.is_none(), "a frozen stream has an exact end");
        assert!((at as u64) < self.batch.header.record_bytes, "a torn batch lacks a record");
        self.stream.tear(Torn { segment: self.segment, batch, record_bytes: at as u64, stamp, what });
        Ok(())
    }
}
