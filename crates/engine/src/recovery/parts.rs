//! Replays a record that lives: what is in it, or in the parts that it names, which are read again and put together.
//!
//! Invariants:
//! - A record in parts is judged as any other. Its parts are judged by nothing: those that no living record names are passed
//!   over.
//! - All parts of a record are there and fit, or recovery fails. That holds for records that the checkpoint does not hold; of the
//!   others the first parts may be given up already.
//! - Parts lie before their record in its stream, so they can be read when it has been. They are replayed at once: what changed
//!   in their rows later waits for them.
//! - One thread replays a transaction, and holds one part of it at a time.

use super::generation_scan::SegmentId;
use super::log_scan::LogScan;
use super::replay::machine::ReplayBatch;
use crate::error::RecoveryError;
use crate::ids::{LogOffset, Stamp};
use crate::log::format::LogIdentity;
use crate::log::format::dependency::Dependency;
use crate::log::format::parts_reader::{self, PartSource, RecordInParts};
use crate::log::format::payload::PayloadReader;
use crate::log::format::payload::values::LoggedWrite;
use crate::log::format::record::RecordReader;

/// Replays a record that lives and begins at this place, and gives way meanwhile, where too much waits, to threads at work on
/// what comes before `at_work`.
pub(super) fn replay<D: Dependency>(
    scan: &LogScan,
    (segment, offset): (SegmentId, LogOffset),
    record: &RecordReader<'_, D>,
    machine: &mut impl ReplayBatch,
    at_work: Stamp,
) -> Result<(), RecoveryError> {
    let PayloadReader::InParts(named) = record.payload() else {
        machine.replay(record);
        return Ok(());
    };
    let header = record.header();
    if scan.held.covers(header.stamp, header.epoch) {
        return Ok(());
    }
    let record = RecordInParts { offset, stamp: header.stamp, writes: header.write_count, named };
    for_each_write(scan, segment, &record, |write| {
        while machine.is_ahead() && scan.gives_way(at_work) {
            machine.renew();
        }
        machine.replay_write(record.stamp, write);
    })
}

/// Gives the writes of a record in parts, in this segment, to `each`.
pub(super) fn for_each_write(
    scan: &LogScan,
    segment: SegmentId,
    record: &RecordInParts,
    each: impl FnMut(LoggedWrite<'_>),
) -> Result<(), RecoveryError> {
    let source = ScannedStream { scan, segment, offset: record.offset };
    parts_reader::for_each_write(&source, record, each)
}

/// The stream of a record, and where that is.
struct ScannedStream<'s> {
    scan: &'s LogScan,
    segment: SegmentId,
    offset: LogOffset,
}

impl ScannedStream<'_> {
    /// Returns the segment that holds `offset`; `None` where no part of the record can be there.
    fn segment(&self, offset: LogOffset) -> Option<SegmentId> {
        if offset >= self.offset {
            return None;
        }
        let segments = &self.scan.stream(self.segment).chain.segments;
        let behind = segments.partition_point(|segment| segment.header.base <= offset);
        Some(SegmentId { index: behind.checked_sub(1)?, ..self.segment })
    }
}

impl PartSource for ScannedStream<'_> {
    type Error = RecoveryError;

    fn log(&self) -> &LogIdentity {
        &self.scan.stream(self.segment).chain.log
    }

    fn read(&self, offset: LogOffset, buffer: &mut [u8]) -> Result<(), RecoveryError> {
        let Some(segment) = self.segment(offset) else {
            return Err(self.damaged(offset, "the log begins behind it".to_owned()));
        };
        self.scan.read_exactly(segment, buffer, offset)
    }

    fn damaged(&self, offset: LogOffset, what: String) -> RecoveryError {
        match self.segment(offset) {
            Some(segment) => self.scan.damaged(segment, offset, what),
            None => self.scan.damaged(self.segment, self.offset, format!("it names a part at {offset}: {what}")),
        }
    }
}
