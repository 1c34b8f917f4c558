//! Checks every record that the scan reads, and replays at once what certainly lives.
//!
//! Invariants:
//! - Stamps rise strictly within a stream, and those of a batch lie above everything before it and not above its own.
//! - A record is replayed here only if its stamp or its `raw_dep` is at or below [`GenerationScan::certain`], which is at or
//!   below the cut: it lives whatever the cut turns out to be. The others wait for the cut ([`Deferred`]), those of a
//!   frozen generation are dropped.
//! - Nothing behind an unsound record of a batch is used.
//!
//! Replay by last writer wins may come in any order, which is what makes this single pass possible: log bytes are replayed
//! while they are in the cache, and only batches around the cut are kept or read twice.

use std::sync::Arc;

use super::RecoveryError;
use super::replay_values::{Replayer, Session};
use super::scan::{Chunk, Deferred, Finished, GenerationScan, Place, ReadBatch, Scan, StreamScan, Tally, Torn};
use super::workers::Work;
use crate::failpoint::{Mutation, has};
use crate::ids::{Epoch, LogOffset, Stamp, WallTime};
use crate::log::batch::header_bytes;
use crate::log::record::{self, Entry, RecordHeader, RecordReader};

/// One thread of the scan.
pub(crate) struct Scanner {
    scan: Arc<Scan>,
    place: Option<Place>,
    buffer: Vec<u8>,
    /// By generation.
    tallies: Vec<Tally>,
    deferred: Vec<Deferred>,
    replayer: Option<Replayer>,
}

impl Scanner {
    /// Without a `replayer` the log is only checked and counted.
    pub(crate) fn new(scan: &Arc<Scan>, replayer: Option<Replayer>) -> Scanner {
        Scanner {
            scan: scan.clone(),
            place: None,
            buffer: Vec::new(),
            tallies: vec![Tally::default(); scan.generations.len()],
            deferred: Vec::new(),
            replayer,
        }
    }

    fn check(&mut self, chunk: &Chunk) -> Result<(), RecoveryError> {
        let place = chunk.place;
        for batch in &chunk.batches {
            let begin = (batch.header.offset.0 - chunk.begin.0) as usize;
            let mut check = Check {
                scan: &self.scan,
                generation: &self.scan.generations[place.generation],
                stream: self.scan.stream(place),
                place,
                batch: *batch,
                bytes: &chunk.bytes[begin..begin + batch.header.record_bytes as usize],
                certain: self.scan.generations[place.generation].certain(),
                tally: &mut self.tallies[place.generation],
                session: self.replayer.as_mut().map(Replayer::session),
                stamp: batch.before,
                undecided: false,
            };
            let read = check.run()?;
            if check.undecided {
                let certain = check.certain;
                let bytes = self.scan.keep(read as u64).then(|| Box::from(&check.bytes[..read]));
                let deferred = Deferred { place, batch: *batch, record_bytes: read as u64, certain, bytes };
                self.deferred.push(deferred);
            }
        }
        Ok(())
    }
}

impl Work for Scanner {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        let Some(place) = self.place.or_else(|| self.scan.claim()) else {
            let (tallies, deferred) = (std::mem::take(&mut self.tallies), std::mem::take(&mut self.deferred));
            self.scan.finish(Finished { tallies, deferred, replayer: self.replayer.take() });
            return Ok(false);
        };
        self.place = None;
        if let Some(chunk) = self.scan.read(place, std::mem::take(&mut self.buffer))? {
            self.check(&chunk)?;
            self.buffer = chunk.bytes;
            self.place = Some(place);
        }
        Ok(true)
    }
}

/// The check of one batch.
struct Check<'s> {
    scan: &'s Scan,
    generation: &'s GenerationScan,
    stream: &'s StreamScan,
    place: Place,
    batch: ReadBatch,
    /// Header and records.
    bytes: &'s [u8],
    certain: Stamp,
    tally: &'s mut Tally,
    session: Option<Session<'s>>,
    /// Of the last record.
    stamp: Stamp,
    /// Whether there is a record whose fate the cut decides.
    undecided: bool,
}

impl Check<'_> {
    /// Returns the end of the valid records.
    fn run(&mut self) -> Result<usize, RecoveryError> {
        self.tally.batches += 1;
        self.tally.bytes += self.batch.header.length;
        self.tally.max_stamp = self.tally.max_stamp.max(self.batch.header.stamp);
        self.note_time();
        let log = &self.stream.chain.log;
        let mut at = header_bytes(log.streams());
        while at < self.bytes.len() {
            let offset = LogOffset(self.batch.header.offset.0 + at as u64);
            let entry = match record::parse(&self.bytes[at..], log.seal(offset)) {
                Ok(entry) => entry,
                Err(error) => {
                    self.tear(at, offset, error.to_string())?;
                    break;
                }
            };
            if let Entry::Record(record) = &entry {
                self.take(record, offset, entry.len() as u64)?;
            }
            at += entry.len();
        }
        Ok(at)
    }

    fn take(&mut self, record: &RecordReader<'_>, offset: LogOffset, bytes: u64) -> Result<(), RecoveryError> {
        let order = record.header();
        if order.stamp <= self.stamp || order.stamp > self.batch.header.stamp {
            let (before, last) = (self.stamp, self.batch.header.stamp);
            let what = format!("stamp {} follows {before} in a batch up to {last}", order.stamp);
            return Err(self.scan.damaged(self.place, offset, what));
        }
        self.stamp = order.stamp;
        self.tally.records += 1;
        self.note_epoch(order.epoch);
        if self.scan.base.covers(order.stamp, order.epoch) {
            self.tally.covered += 1;
        } else if order.epoch > self.generation.until && !has(Mutation::UntilIgnored) {
            self.tally.after += 1;
        } else if lives(&order, self.certain) {
            self.tally.replayed += 1;
            self.tally.writes += u64::from(order.write_count);
            self.tally.replayed_bytes += bytes;
            if let Some(session) = &mut self.session {
                session.replay(record);
            }
        } else {
            self.undecided |= self.generation.frozen.is_none();
        }
        Ok(())
    }

    fn note_time(&mut self) {
        let (tally, header) = (&mut *self.tally, &self.batch.header);
        tally.closed = tally.closed.max(header.closed);
        if header.closed != WallTime::UNKNOWN && header.stable >= self.scan.base.max_seen() {
            tally.borne_out = tally.borne_out.min(header.closed);
        }
    }

    fn note_epoch(&mut self, epoch: Epoch) {
        let (tally, closed) = (&mut *self.tally, self.batch.header.closed);
        tally.min_epoch = tally.min_epoch.min(epoch);
        tally.max_epoch = tally.max_epoch.max(epoch);
        if closed > self.scan.time {
            tally.late = tally.late.min(epoch);
        } else if closed == WallTime::UNKNOWN {
            tally.untimed = tally.untimed.max(epoch);
        }
    }

    fn tear(&mut self, at: usize, offset: LogOffset, what: String) -> Result<(), RecoveryError> {
        if self.stream.chain.limit(self.place.segment).exact {
            return Err(self.scan.damaged(self.place, offset, what));
        }
        let (batch, stamp) = (self.batch.header.offset, self.stamp);
        self.stream.tear(Torn { place: self.place, batch, record_bytes: at as u64, stamp, what });
        Ok(())
    }
}

/// Whether a record counts as committed under `cut`.
pub(crate) fn lives(record: &RecordHeader, cut: Stamp) -> bool {
    record.stamp <= cut || record.raw_dep <= cut
}
