//! Reads the batches of every segment, in parallel over streams and segments.
//!
//! Invariants:
//! - A batch counts as read only if its header and all its records are sound. An unsound one ends the stream where it is the
//!   last of a generation that crashed (a torn write: the valid prefix of its records counts); anywhere else it is damage.
//! - A segment is read in order, by one thread at a time; what was read is checked and replayed outside that lock, so
//!   that one stream keeps several threads busy.
//! - The newest segments are read first: older images of a row then find a newer one in place and cost no copy.
//!
//! Absent: the records (first_pass.rs), what was read (generation_scan.rs), the decision what lives (cut.rs), any change on
//! disk (freeze.rs).

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use osier_memory::sync::lock;

use super::RecoveryPhase;
use super::base::Base;
use super::chain::Limit;
use super::faults;
use super::generation_scan::{GenerationScan, ReadBatch, ReadEnd, SegmentId, StreamScan, Torn};
use super::report::ProgressReporter;
use crate::config::Config;
use crate::error::RecoveryError;
use crate::ids::{LogOffset, WallTime};
use crate::io::BLOCK_BYTES;
use crate::log::format::batch::BatchHeader;
use crate::log::format::segment::Segment;
use crate::sizes::scanned_chunk_bytes;
use crate::transaction::memory_limit;

/// The scan of all generations, shared by its threads.
pub(crate) struct LogScan {
    pub(crate) generations: Vec<GenerationScan>,
    /// Records that it covers are checked and not replayed.
    pub(crate) base: Base,
    /// Batches that were closed later are told apart ([`Tally::late`](super::tally::Tally::late)).
    pub(crate) time: WallTime,
    /// All segments, newest first.
    order: Vec<SegmentId>,
    next: AtomicUsize,
    /// How many more bytes may be kept for the second pass.
    keep_bytes: AtomicU64,
    done_bytes: AtomicU64,
    total_bytes: u64,
    progress: Option<ProgressReporter>,
}

/// Batches that were read and not checked yet.
pub(crate) struct Chunk {
    pub(crate) segment: SegmentId,
    /// The offset of the first byte.
    pub(crate) begin: LogOffset,
    pub(crate) bytes: Vec<u8>,
    pub(crate) batches: Vec<ReadBatch>,
}

impl LogScan {
    /// Returns a scan that has read nothing. Records that `base` covers will not be replayed.
    pub(crate) fn new(generations: Vec<GenerationScan>, base: Base, time: WallTime, config: &Config) -> Arc<LogScan> {
        let ascend = generations.is_sorted_by_key(|generation| generation.layout.generation);
        assert!(ascend, "generations are read from the oldest to the newest");
        let older = generations.iter().rev().skip(1);
        assert!(older.into_iter().all(|generation| generation.frozen.is_some()), "only the newest is not frozen");
        let mut order = Vec::new();
        let mut total_bytes = 0;
        for (generation, scan) in generations.iter().enumerate() {
            for (stream, scan) in scan.streams.iter().enumerate() {
                for index in 0..scan.segments.len() {
                    order.push(SegmentId { generation, stream, index });
                    total_bytes += scan.chain.limit(index).end.0 - scan.chain.segments[index].header.base.0;
                }
            }
        }
        order.sort_by_key(|id| Reverse((id.generation, id.index)));
        Arc::new(LogScan {
            generations,
            base,
            time,
            order,
            next: AtomicUsize::new(0),
            keep_bytes: AtomicU64::new(memory_limit::log_kept_bytes(config)),
            done_bytes: AtomicU64::new(0),
            total_bytes,
            progress: ProgressReporter::of(config),
        })
    }

    /// Returns how many segments there are.
    pub(crate) fn segments(&self) -> usize {
        self.order.len()
    }

    /// Returns the stream of a segment.
    pub(crate) fn stream(&self, id: SegmentId) -> &StreamScan {
        &self.generations[id.generation].streams[id.stream]
    }

    /// Returns the file of a segment.
    pub(crate) fn segment(&self, id: SegmentId) -> &Segment {
        &self.stream(id).chain.segments[id.index]
    }

    /// Returns the error for unsound bytes at `offset` of the log.
    pub(crate) fn damaged(&self, id: SegmentId, offset: LogOffset, what: String) -> RecoveryError {
        let segment = self.segment(id);
        RecoveryError::Damaged { path: segment.path.clone(), position: segment.header.position(offset), offset, what }
    }

    /// Returns a segment with something left to read: one that nobody reads yet, or else any.
    pub(crate) fn claim(&self) -> Option<SegmentId> {
        let fresh = self.next.fetch_add(1, Ordering::Relaxed);
        let is_open = |id: &&SegmentId| !self.stream(**id).segments[id.index].exhausted.load(Ordering::Acquire);
        self.order.get(fresh).or_else(|| self.order.iter().find(is_open)).copied()
    }

    /// Returns the next batches of a segment, in `buffer`; `None` at its end.
    pub(crate) fn read(&self, id: SegmentId, mut buffer: Vec<u8>) -> Result<Option<Chunk>, RecoveryError> {
        let scan = &self.stream(id).segments[id.index];
        let limit = self.stream(id).chain.limit(id.index);
        let mut read_end = lock(&scan.read_end);
        if scan.exhausted.load(Ordering::Acquire) {
            return Ok(None);
        }
        let mut want = scanned_chunk_bytes();
        let (batches, end) = loop {
            want = want.min(limit.end.0 - read_end.offset.0);
            buffer.resize(want as usize, 0);
            self.read_exactly(id, &mut buffer, read_end.offset)?;
            let (batches, end) = self.walk(id, &buffer, &read_end, limit)?;
            match end {
                WalkEnd::Beyond { length } if batches.is_empty() => want = length,
                end => break (batches, end),
            }
        };
        let begin = read_end.offset;
        if let Some(last) = batches.last() {
            read_end.last = Some(*last);
            read_end.stamp = last.header.stamp;
            read_end.offset = last.header.end();
        }
        let mut done = read_end.offset.0 - begin.0;
        if let WalkEnd::Invalid { what } = &end {
            self.expect_nothing_after(id, read_end.offset, limit, what)?;
        }
        assert!(read_end.offset <= limit.end, "{read_end:?} lies beyond {limit:?}");
        let is_exhausted = read_end.offset == limit.end || matches!(end, WalkEnd::Invalid { .. });
        assert!(is_exhausted || !batches.is_empty(), "a read that goes on has read something");
        if faults::is_exhausted(is_exhausted) {
            self.expect_continuation(id, &read_end)?;
            scan.exhausted.store(true, Ordering::Release);
            done += limit.end.0 - read_end.offset.0;
        }
        self.report(done);
        Ok(Some(Chunk { segment: id, begin, bytes: buffer, batches }))
    }

    /// Returns the headers in `bytes`, which begin at `read_end`, and why there are no more.
    fn walk(
        &self,
        id: SegmentId,
        bytes: &[u8],
        read_end: &ReadEnd,
        limit: Limit,
    ) -> Result<(Vec<ReadBatch>, WalkEnd), RecoveryError> {
        let log = &self.stream(id).chain.log;
        let (mut batches, mut at, mut stamp) = (Vec::new(), 0, read_end.stamp);
        while at < bytes.len() {
            let offset = LogOffset(read_end.offset.0 + at as u64);
            let (header, certificates) = match BatchHeader::decode(&bytes[at..], log, offset) {
                Ok(decoded) => decoded,
                Err(error) if limit.exact => return Err(self.damaged(id, offset, error.to_string())),
                Err(error) => return Ok((batches, WalkEnd::Invalid { what: error.to_string() })),
            };
            if header.end() > limit.end {
                let what = format!("a batch of {} bytes reaches beyond {}", header.length, limit.end);
                return Err(self.damaged(id, offset, what));
            }
            if header.stamp < stamp {
                let what = format!("a batch with stamp {} follows stamp {stamp}", header.stamp);
                return Err(self.damaged(id, offset, what));
            }
            if bytes.len() - at < header.length as usize {
                return Ok((batches, WalkEnd::Beyond { length: header.length }));
            }
            self.generations[id.generation].note(&header, certificates);
            batches.push(ReadBatch { header, before: stamp });
            stamp = header.stamp;
            at += header.length as usize;
        }
        Ok((batches, WalkEnd::Limit))
    }

    /// Checks that this segment did not go beyond the next one's floor.
    fn expect_continuation(&self, id: SegmentId, read_end: &ReadEnd) -> Result<(), RecoveryError> {
        match self.stream(id).chain.segments.get(id.index + 1) {
            Some(next) if next.header.floor < read_end.stamp => Err(RecoveryError::Chain {
                path: next.path.clone(),
                what: format!(
                    "its floor is {}, but the one before it reached stamp {}",
                    next.header.floor, read_end.stamp
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Checks that no sound batch is behind an unsound one: a batch is written only after the one before is durable.
    fn expect_nothing_after(
        &self,
        id: SegmentId,
        end: LogOffset,
        limit: Limit,
        what: &str,
    ) -> Result<(), RecoveryError> {
        let log = &self.stream(id).chain.log;
        let behind = LogOffset(end.0 + BLOCK_BYTES as u64);
        let read = |buffer: &mut [u8], offset| self.read_exactly(id, buffer, offset);
        match BatchHeader::find(log, behind, limit.end, read)? {
            Some(offset) => {
                let what = format!("{what}, although a sound batch follows at log offset {offset}");
                Err(self.damaged(id, end, what))
            }
            None => Ok(()),
        }
    }

    /// Reads `buffer` full from `offset` of the log.
    pub(crate) fn read_exactly(
        &self,
        id: SegmentId,
        buffer: &mut [u8],
        offset: LogOffset,
    ) -> Result<(), RecoveryError> {
        let segment = self.segment(id);
        let position = segment.header.position(offset);
        let mut read = 0;
        while read < buffer.len() {
            let some = segment.file.read_at(&mut buffer[read..], position + read as u64);
            match some.map_err(RecoveryError::io("read", &segment.path))? {
                0 => return Err(self.damaged(id, offset, "the file ends here".to_owned())),
                some => read += some,
            }
        }
        Ok(())
    }

    /// Reports that so many more bytes were read.
    fn report(&self, bytes: u64) {
        let done = self.done_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        assert!(done <= self.total_bytes, "{done} of {} bytes were read", self.total_bytes);
        if let Some(progress) = &self.progress {
            progress.report(RecoveryPhase::Scan, done, self.total_bytes);
        }
    }

    /// Returns the torn batch of a stream, which must be the last.
    pub(crate) fn torn(&self, stream: &StreamScan) -> Result<Option<Torn>, RecoveryError> {
        let Some(torn) = lock(&stream.torn).clone() else { return Ok(None) };
        let last = stream.newest().and_then(|read_end| read_end.last);
        if last.is_some_and(|last| last.header.offset == torn.batch) {
            return Ok(Some(torn));
        }
        let what = format!("{}, although a sound batch follows", torn.what);
        Err(self.damaged(torn.segment, LogOffset(torn.batch.0 + torn.record_bytes), what))
    }

    /// Checks, when all threads have ended, that every segment was read to its end.
    pub(super) fn assert_is_read(&self) {
        assert!(self.claim().is_none(), "a segment was left");
        assert_eq!(self.done_bytes.load(Ordering::Relaxed), self.total_bytes, "bytes were left, or read twice");
    }

    /// Whether `bytes` more may be kept in memory.
    pub(crate) fn keep(&self, bytes: u64) -> bool {
        let take = |left: u64| left.checked_sub(bytes);
        self.keep_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

/// Why a walk over batch headers ended.
enum WalkEnd {
    /// The buffer is used up.
    Limit,
    /// The next batch is longer than what is left of the buffer.
    Beyond { length: u64 },
    /// There is no batch.
    Invalid { what: String },
}
