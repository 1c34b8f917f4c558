//! Reads the batches of every segment, in parallel over streams and segments.
//!
//! Invariants:
//! - A batch counts as read only if its header and all its records are sound. An unsound one ends the stream where it is the
//!   last of a generation that crashed (a torn write: the valid prefix of its records counts); anywhere else it is damage.
//! - A segment is read in order, by one thread at a time; what was read is checked and replayed outside that lock, so
//!   that one stream keeps several threads busy.
//! - A log that holds what changed in rows is read in the order of stamps, about: changes then mostly find the version that they
//!   change, and few wait. No thread reads ahead in a stream or a generation.
//! - Any other log is read with the newest segments first: older images then find a newer one in place and cost no copy. Where
//!   more waits than is good all the same, the rest is read in the order of stamps.
//! - What is certain to live is known before the first record is read ([`LogScan::foresee`]).
//!
//! Absent: the records (first_pass.rs), what was read (generation_scan.rs), the decision what lives (cut.rs), any change on
//! disk (freeze.rs).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use osier_memory::sync::{Mutex, lock};

use super::RecoveryPhase;
use super::base::Base;
use super::chain::{Chain, Limit};
use super::faults;
use super::generation_scan::{GenerationScan, ReadBatch, ReadEnd, SegmentId, SegmentScan, StreamScan, Torn};
use super::report::ProgressReporter;
use crate::config::Config;
use crate::error::RecoveryError;
use crate::ids::{LogOffset, Stamp, WallTime};
use crate::io::{BLOCK_BYTES, Clock};
use crate::log::format::batch::BatchHeader;
use crate::log::format::payload::PayloadReader;
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::log::format::record::{Entry, RecordReader};
use crate::log::format::records::Records;
use crate::log::format::segment::Segment;
use crate::log::protocol::recovery_rule::{RecoveryRule, with_rule};
use crate::sizes::scanned_chunk_bytes;
use crate::transaction::memory_limit;

/// How long a thread waits that gives way to another one, before it looks again.
const WAY_PAUSE: Duration = Duration::from_micros(100);

/// The scan of all generations, shared by its threads.
pub(crate) struct LogScan {
    pub(crate) generations: Vec<GenerationScan>,
    /// The first generation that may hold commands; the number of generations where there is none.
    ordered_from: usize,
    /// Records that it covers are checked and not replayed.
    pub(crate) base: Base,
    /// What the checkpoint holds, whatever is replayed: the log may be given up to behind the parts of that.
    pub(crate) held: Base,
    /// Batches that were closed later are told apart ([`Tally::late`](super::tally::Tally::late)).
    pub(crate) time: WallTime,
    /// How many more bytes may be kept for the second pass.
    keep_bytes: AtomicU64,
    /// Of each thread that reads or replays just now the stamp that its stream was read up to before.
    at_work: Mutex<Vec<Stamp>>,
    clock: Arc<dyn Clock>,
    /// Whether the log is read in the order of stamps, else the newest segments first.
    is_by_stamp: AtomicBool,
    done_bytes: AtomicU64,
    total_bytes: u64,
    progress: Option<ProgressReporter>,
}

/// A thread that reads or replays.
pub(crate) struct AtWork<'s> {
    scan: &'s LogScan,
    pub(crate) stamp: Stamp,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let mut at_work = lock(&self.scan.at_work);
        let own = at_work.iter().position(|stamp| *stamp == self.stamp);
        at_work.swap_remove(own.expect("a thread is at work until it has ended"));
    }
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
    /// Returns a scan that has read nothing. Records that `base` covers will not be replayed; the checkpoint holds what `held`
    /// covers.
    pub(crate) fn new(
        generations: Vec<GenerationScan>,
        (base, held): (Base, Base),
        time: WallTime,
        config: &Config,
    ) -> Arc<LogScan> {
        let ascend = generations.is_sorted_by_key(|generation| generation.layout.generation);
        assert!(ascend, "generations are read from the oldest to the newest");
        let older = generations.iter().rev().skip(1);
        assert!(older.into_iter().all(|generation| generation.frozen.is_some()), "only the newest is not frozen");
        let length = |chain: &Chain, index| chain.limit(index).end.0 - chain.segments[index].header.base.0;
        let of_stream =
            |scan: &StreamScan| (0..scan.segments.len()).map(|index| length(&scan.chain, index)).sum::<u64>();
        let total_bytes = generations.iter().flat_map(|generation| &generation.streams).map(of_stream).sum();
        let ordered_from = generations.iter().position(|scan| scan.is_ordered).unwrap_or(generations.len());
        Arc::new(LogScan {
            generations,
            ordered_from,
            base,
            held,
            time,
            keep_bytes: AtomicU64::new(memory_limit::log_kept_bytes(config)),
            at_work: Mutex::default(),
            clock: config.environment.clock.clone(),
            is_by_stamp: AtomicBool::new(false),
            done_bytes: AtomicU64::new(0),
            total_bytes,
            progress: ProgressReporter::of(config),
        })
    }

    /// Returns the time, to measure by.
    pub(super) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Returns how many segments there are.
    pub(crate) fn segments(&self) -> usize {
        self.generations.iter().flat_map(|generation| &generation.streams).map(|stream| stream.segments.len()).sum()
    }

    /// Whether the generation of this index is replayed in the order of its transactions, when everything before it is.
    pub(crate) fn is_ordered(&self, generation: usize) -> bool {
        generation >= self.ordered_from
    }

    /// Returns the generations that are.
    pub(crate) fn ordered(&self) -> Range<usize> {
        self.ordered_from..self.generations.len()
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

    /// Waits a moment, if a thread is at work on what comes before `stamp`; returns whether it did.
    pub(crate) fn gives_way(&self, stamp: Stamp) -> bool {
        let gives_way = lock(&self.at_work).iter().any(|other| *other < stamp);
        if gives_way {
            self.clock.sleep(WAY_PAUSE);
        }
        gives_way
    }

    /// A thread is at work on what comes after `stamp` for as long as the answer lives.
    pub(crate) fn work(&self, stamp: Stamp) -> AtWork<'_> {
        lock(&self.at_work).push(stamp);
        AtWork { scan: self, stamp }
    }

    /// Returns the stamp up to which the segment was read.
    pub(crate) fn stamp_before(&self, id: SegmentId) -> Stamp {
        Stamp(self.stream(id).segments[id.index].stamp.load(Ordering::Acquire))
    }

    /// Returns the segment to read from next.
    pub(crate) fn claim(&self) -> Option<SegmentId> {
        if self.is_by_stamp.load(Ordering::Relaxed) { self.claim_first() } else { self.claim_newest() }
    }

    /// From here on the log is read in the order of stamps.
    pub(crate) fn read_by_stamp(&self) {
        self.is_by_stamp.store(true, Ordering::Relaxed);
    }

    /// Has the log read in the order of stamps if the newest segments hold what changed in rows, or what is in parts.
    pub(crate) fn choose_order(&self) {
        let machines_replay = self.generations[..self.ordered_from].iter().enumerate();
        let newest = machines_replay.rev().find_map(|(generation, scan)| {
            let protocol = scan.layout.protocol;
            let of_stream = |stream: usize| {
                let segments = 0..scan.streams[stream].segments.len();
                let probe = |index| {
                    let id = SegmentId { generation, stream, index };
                    with_rule!(protocol, Rule => self.holds_changes::<Rule>(id))
                };
                segments.rev().find_map(probe)
            };
            let found: Vec<bool> = (0..scan.streams.len()).filter_map(of_stream).collect();
            (!found.is_empty()).then(|| found.contains(&true))
        });
        if newest.unwrap_or(false) {
            self.read_by_stamp();
        }
    }

    /// Whether the first batches of a segment hold anything but images and deletes; `None` where there are no records.
    fn holds_changes<R: RecoveryRule>(&self, id: SegmentId) -> Option<bool> {
        let mut holds_changes = None;
        self.for_each_first_record::<R>(id, |record| {
            let holds = match record.payload() {
                PayloadReader::Values(mut writes) => writes.any(|write| matches!(write.change, Change::Delta(_))),
                PayloadReader::Physiological(images) => {
                    images.writes().any(|write| matches!(write.change, Change::Delta(_)))
                }
                PayloadReader::InParts(_) => true,
                // Whatever the order in which it is read: it is replayed later.
                PayloadReader::Command(_) => false,
            };
            holds_changes = Some(holds || holds_changes.unwrap_or(false));
        });
        holds_changes
    }

    /// Gives the records of the first batches of a segment to `each`. What is wrong with a batch is found when it is read.
    fn for_each_first_record<R: RecoveryRule>(
        &self,
        id: SegmentId,
        mut each: impl FnMut(&RecordReader<'_, R::Dependency>),
    ) {
        let (limit, read_end) = (self.stream(id).chain.limit(id.index), ReadEnd::begin(self.segment(id)));
        let mut bytes = vec![0; scanned_chunk_bytes().min(limit.end.0 - read_end.offset.0) as usize];
        if self.read_exactly(id, &mut bytes, read_end.offset).is_err() {
            return;
        }
        let Ok((batches, _)) = self.walk(id, &bytes, &read_end, limit) else { return };
        for ReadBatch { header, .. } in batches {
            let begin = (header.offset.0 - read_end.offset.0) as usize;
            let records = &bytes[begin..begin + header.record_bytes as usize];
            for (_, entry) in Records::<R::Dependency>::new(&self.stream(id).chain.log, header.offset, records) {
                if let Ok(Entry::Record(record)) = entry {
                    each(&record);
                }
            }
        }
    }

    /// Gives the writes in the first batches of each stream to `each`, of all generations whose rows machines replay. They may be
    /// of transactions that do not count.
    pub(super) fn for_each_first_write(&self, each: &mut dyn FnMut(Stamp, LoggedWrite<'_>)) {
        for (generation, scan) in self.generations[..self.ordered_from].iter().enumerate() {
            let streams = scan.streams.iter().enumerate().filter(|(_, stream)| !stream.segments.is_empty());
            for (stream, _) in streams {
                let id = SegmentId { generation, stream, index: 0 };
                with_rule!(scan.layout.protocol, Rule => self.for_each_first_record::<Rule>(id, |record| {
                    let stamp = record.header().stamp;
                    match record.payload() {
                        PayloadReader::Values(writes) => writes.for_each(|write| each(stamp, write)),
                        PayloadReader::Physiological(images) => images.writes().for_each(|write| each(stamp, write)),
                        PayloadReader::InParts(_) | PayloadReader::Command(_) => {}
                    }
                }));
            }
        }
    }

    /// Returns the newest segment that was not read to its end, rather one from which nobody reads just now.
    fn claim_newest(&self) -> Option<SegmentId> {
        let mut busy = None;
        for (generation, scan) in self.generations.iter().enumerate().rev() {
            let longest = scan.streams.iter().map(|stream| stream.segments.len()).max().unwrap_or(0);
            for (index, stream) in
                (0..longest).rev().flat_map(|index| (0..scan.streams.len()).map(move |stream| (index, stream)))
            {
                let Some(segment) = scan.streams[stream].segments.get(index) else { continue };
                if segment.exhausted.load(Ordering::Acquire) {
                    continue;
                }
                let id = SegmentId { generation, stream, index };
                if !segment.is_busy.load(Ordering::Relaxed) {
                    return Some(id);
                }
                busy.get_or_insert(id);
            }
        }
        busy
    }

    /// Returns the segment that comes next in the order of stamps: of the streams of the oldest generation that is not read, that
    /// which was read up to the least stamp, and rather one from which nobody reads just now.
    fn claim_first(&self) -> Option<SegmentId> {
        let mut first: Option<((bool, u64), SegmentId)> = None;
        for (generation, scan) in self.generations.iter().enumerate() {
            for (stream, scan) in scan.streams.iter().enumerate() {
                let first_open = scan.first_open.load(Ordering::Acquire);
                let is_open = |segment: &SegmentScan| !segment.exhausted.load(Ordering::Acquire);
                let Some(begin) = (first_open..scan.segments.len()).find(|&at| is_open(&scan.segments[at])) else {
                    continue;
                };
                scan.first_open.fetch_max(begin, Ordering::AcqRel);
                let segment = &scan.segments[begin];
                let at = (segment.is_busy.load(Ordering::Relaxed), segment.stamp.load(Ordering::Acquire));
                if first.is_none_or(|(least, _)| at < least) {
                    first = Some((at, SegmentId { generation, stream, index: begin }));
                }
            }
            // Every later stamp is greater, and may change what is not read yet.
            if first.is_some() {
                break;
            }
        }
        first.map(|(_, id)| id)
    }

    /// Notes what the last batches of a generation that crashed say of all streams, before any record is read: the greatest CSN
    /// is among that, so that few records have to wait for the cut. What is wrong with a batch is found when it is read.
    pub(crate) fn foresee(&self) {
        let Some((generation, scan)) = self.generations.iter().enumerate().next_back() else { return };
        for (stream, scan) in scan.streams.iter().enumerate().filter(|_| scan.frozen.is_none()) {
            let last = |index: &usize| self.walk_segment(SegmentId { generation, stream, index: *index });
            (0..scan.segments.len()).rev().find(last);
        }
        scan.fix_certain();
    }

    /// Notes what the batches of a segment say; returns whether there is one.
    fn walk_segment(&self, id: SegmentId) -> bool {
        let limit = self.stream(id).chain.limit(id.index);
        let mut read_end = ReadEnd::begin(self.segment(id));
        let (mut bytes, mut want) = (Vec::new(), scanned_chunk_bytes());
        while read_end.offset < limit.end {
            bytes.resize(want.min(limit.end.0 - read_end.offset.0) as usize, 0);
            if self.read_exactly(id, &mut bytes, read_end.offset).is_err() {
                break;
            }
            let Ok((batches, end)) = self.walk(id, &bytes, &read_end, limit) else { break };
            read_end.pass(&batches);
            want = match end {
                WalkEnd::Limit => scanned_chunk_bytes(),
                WalkEnd::Beyond { length } => length.max(scanned_chunk_bytes()),
                WalkEnd::Invalid { .. } => break,
            };
        }
        read_end.last.is_some()
    }

    /// Returns the next batches of a segment, in `buffer`; `None` at its end.
    pub(crate) fn read(&self, id: SegmentId, mut buffer: Vec<u8>) -> Result<Option<Chunk>, RecoveryError> {
        let scan = &self.stream(id).segments[id.index];
        let limit = self.stream(id).chain.limit(id.index);
        let mut read_end = lock(&scan.read_end);
        let _busy = Busy::of(&scan.is_busy);
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
        read_end.pass(&batches);
        scan.stamp.store(read_end.stamp.0, Ordering::Release);
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
    pub(super) fn walk(
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

/// A segment from which a thread reads.
struct Busy<'s>(&'s AtomicBool);

impl<'s> Busy<'s> {
    fn of(flag: &'s AtomicBool) -> Busy<'s> {
        flag.store(true, Ordering::Relaxed);
        Busy(flag)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Why a walk over batch headers ended.
pub(super) enum WalkEnd {
    /// The buffer is used up.
    Limit,
    /// The next batch is longer than what is left of the buffer.
    Beyond { length: u64 },
    /// There is no batch.
    Invalid { what: String },
}
