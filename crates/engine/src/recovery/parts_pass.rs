//! The transactions in parts that live: their parts are read again, put together and replayed, when the cut is known.
//!
//! Invariants:
//! - A record in parts is noted by the pass that would replay it, so it is judged as any other. Its parts are judged by nothing:
//!   those that no living record names are passed over.
//! - All parts of a record are there and fit, or recovery fails. That holds for records that a checkpoint does not cover; of the
//!   others the first parts may be given up already.
//! - One thread replays a transaction, and holds one part of it at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::base::Base;
use super::generation_scan::SegmentId;
use super::log_scan::LogScan;
use super::replay::machine::{ReplayBatch, ReplayMachine};
use super::workers::{self, Work};
use crate::config::Config;
use crate::error::RecoveryError;
use crate::ids::{Epoch, LogOffset};
use crate::log::format::LogIdentity;
use crate::log::format::dependency::Dependency;
use crate::log::format::parts_reader::{self, PartSource, RecordInParts};
use crate::log::format::payload::PayloadReader;
use crate::log::format::record::RecordReader;

/// A record in parts that lives.
#[derive(Clone, Copy, Debug)]
pub(super) struct LivingInParts {
    segment: SegmentId,
    epoch: Epoch,
    record: RecordInParts,
}

impl LivingInParts {
    /// Returns what is left to do about a record that lives; `None` where its payload is in it.
    pub(super) fn of<D: Dependency>(
        segment: SegmentId,
        offset: LogOffset,
        record: &RecordReader<'_, D>,
    ) -> Option<LivingInParts> {
        let PayloadReader::InParts(named) = record.payload() else { return None };
        let header = record.header();
        let record = RecordInParts { offset, stamp: header.stamp, writes: header.write_count, named };
        Some(LivingInParts { segment, epoch: header.epoch, record })
    }
}

/// Replays those of `living` that `base` does not cover, with a thread for each of `machines`; returns these.
pub(super) fn run<M: ReplayMachine>(
    config: &Config,
    scan: &Arc<LogScan>,
    mut living: Vec<LivingInParts>,
    base: &Base,
    machines: Vec<M>,
) -> Result<Vec<M>, RecoveryError> {
    living.retain(|living| !base.covers(living.record.stamp, living.epoch));
    if living.is_empty() {
        return Ok(machines);
    }
    let pass = Arc::new(PartsPass { scan: scan.clone(), living, next: AtomicUsize::new(0) });
    let replay = |machine| PartsReplay { pass: pass.clone(), machine };
    let finished = workers::run(&config.environment, machines.into_iter().map(replay).collect())?;
    Ok(finished.into_iter().map(|finished| finished.machine).collect())
}

/// What the threads of the pass share.
struct PartsPass {
    scan: Arc<LogScan>,
    living: Vec<LivingInParts>,
    next: AtomicUsize,
}

/// One thread of the pass.
struct PartsReplay<M> {
    pass: Arc<PartsPass>,
    machine: M,
}

impl<M: ReplayMachine> Work for PartsReplay<M> {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        let PartsPass { scan, living, next } = &*self.pass;
        let Some(living) = living.get(next.fetch_add(1, Ordering::Relaxed)) else { return Ok(false) };
        let mut machine = self.machine.batch();
        let source = ScannedStream { scan, record: living };
        let stamp = living.record.stamp;
        parts_reader::for_each_write(&source, &living.record, |write| machine.replay_write(stamp, write))?;
        Ok(true)
    }
}

/// The stream of a record.
struct ScannedStream<'s> {
    scan: &'s LogScan,
    record: &'s LivingInParts,
}

impl ScannedStream<'_> {
    /// Returns the segment that holds `offset`; `None` where the log begins behind it.
    fn segment(&self, offset: LogOffset) -> Option<SegmentId> {
        let segments = &self.scan.stream(self.record.segment).chain.segments;
        let behind = segments.partition_point(|segment| segment.header.base <= offset);
        Some(SegmentId { index: behind.checked_sub(1)?, ..self.record.segment })
    }
}

impl PartSource for ScannedStream<'_> {
    type Error = RecoveryError;

    fn log(&self) -> &LogIdentity {
        &self.scan.stream(self.record.segment).chain.log
    }

    fn read(&self, offset: LogOffset, buffer: &mut [u8]) -> Result<(), RecoveryError> {
        let Some(segment) = self.segment(offset) else {
            return Err(self.damaged(offset, "the log begins behind it".to_owned()));
        };
        self.scan.read_exactly(segment, buffer, offset)
    }

    fn damaged(&self, offset: LogOffset, what: String) -> RecoveryError {
        let LivingInParts { segment, record, .. } = self.record;
        match self.segment(offset) {
            Some(segment) => self.scan.damaged(segment, offset, what),
            None => self.scan.damaged(*segment, record.offset, format!("it names a part at {offset}: {what}")),
        }
    }
}
