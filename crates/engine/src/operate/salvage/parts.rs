//! The transactions in parts that a salvage of rows finds: their parts may lie in other segments of the stream than their
//! records.
//!
//! Invariant: a transaction of which a part is lost is left out as a whole, and reported. What is readable of it would be rows of
//! a transaction that never took effect without the others.

use std::cell::RefCell;
use std::path::PathBuf;

use super::damage::Damage;
use super::report::SalvageReport;
use super::sound;
use crate::error::RecoveryError;
use crate::ids::LogOffset;
use crate::io::{Disk, OpenMode};
use crate::log::format::LogIdentity;
use crate::log::format::parts_reader::{self, PartSource, RecordInParts};
use crate::log::format::segment::{Segment, SegmentHeader};
use crate::recovery::replay::machine::{ReplayBatch, ReplayMachine};

/// What a salvage has found so far.
#[derive(Default)]
pub(super) struct FoundInParts {
    /// The segments that were read.
    segments: Vec<(PathBuf, SegmentHeader)>,
    /// The records, and by index the segment in which each is.
    records: Vec<(usize, RecordInParts)>,
}

impl FoundInParts {
    /// Notes that the records that come next are in this segment.
    pub(super) fn enter(&mut self, segment: &Segment) {
        self.segments.push((segment.path.clone(), segment.header));
    }

    /// Notes a record of the last segment.
    pub(super) fn note(&mut self, record: RecordInParts) {
        assert!(!self.segments.is_empty(), "a record is in a segment");
        self.records.push((self.segments.len() - 1, record));
    }

    /// Replays the transactions all of whose parts are found, and reports the others.
    pub(super) fn replay<M: ReplayMachine>(
        &self,
        disk: &dyn Disk,
        machine: &mut M,
        report: &mut SalvageReport,
    ) -> Result<(), RecoveryError> {
        for (segment, record) in &self.records {
            let source =
                FoundStream { disk, found: self, segment: *segment, record: record.offset, open: RefCell::new(None) };
            match parts_reader::for_each_write(&source, record, |_| {}) {
                Ok(()) => {
                    let mut replay = machine.batch();
                    parts_reader::for_each_write(&source, record, |write| replay.replay_write(record.stamp, write))?;
                    report.replayed += 1;
                }
                Err(damage @ RecoveryError::Damaged { .. }) => {
                    report.damages.push(Damage::of(&self.segments[*segment].0, &damage));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }
}

/// The segments that were found of the stream of a record.
struct FoundStream<'f> {
    disk: &'f dyn Disk,
    found: &'f FoundInParts,
    /// The one with the record.
    segment: usize,
    record: LogOffset,
    /// The one that was read last.
    open: RefCell<Option<(usize, Segment)>>,
}

impl FoundStream<'_> {
    /// Returns the newest segment that holds `offset`, as readers of the chain choose.
    fn holding(&self, offset: LogOffset) -> Option<usize> {
        let (_, own) = &self.found.segments[self.segment];
        let holds =
            |header: &SegmentHeader| header.log == own.log && header.base <= offset && offset < header.capacity_end();
        let held = self.found.segments.iter().enumerate().filter(|(_, (_, header))| holds(header));
        held.max_by_key(|(_, (_, header))| header.sequence).map(|(at, _)| at)
    }
}

impl PartSource for FoundStream<'_> {
    type Error = RecoveryError;

    fn log(&self) -> &LogIdentity {
        &self.found.segments[self.segment].1.log
    }

    fn read(&self, offset: LogOffset, buffer: &mut [u8]) -> Result<(), RecoveryError> {
        let Some(holding) = self.holding(offset) else {
            return Err(self.damaged(offset, "no segment that can be read holds it".to_owned()));
        };
        let mut open = self.open.borrow_mut();
        if open.as_ref().is_none_or(|(opened, _)| *opened != holding) {
            let (path, header) = &self.found.segments[holding];
            let file = self.disk.open(path, OpenMode::Read).map_err(RecoveryError::io("open", path))?;
            *open = Some((holding, Segment { path: path.clone(), header: *header, file }));
        }
        let (_, segment) = open.as_ref().expect("it was opened");
        sound::read(segment, buffer, offset)
    }

    fn damaged(&self, offset: LogOffset, what: String) -> RecoveryError {
        let (holding, offset, what) = match self.holding(offset) {
            Some(holding) => (holding, offset, what),
            None => (self.segment, self.record, format!("it names a part at {offset}: {what}")),
        };
        let (path, header) = &self.found.segments[holding];
        RecoveryError::Damaged { path: path.clone(), position: header.position(offset), offset, what }
    }
}
