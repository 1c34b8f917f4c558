//! Reads every batch of every stream, in parallel over streams and segments.
//!
//! Invariants:
//! - A batch counts as read only if its header and all its records are sound. An unsound one ends the stream where it is the
//!   last of a generation that crashed (a torn write: the valid prefix of its records counts); anywhere else it is damage.
//! - What is known to live before everything is read, [`GenerationScan::certain`], is at or below the cut that will be
//!   decided.
//! - A segment is read in order, by one thread at a time; what was read is checked and replayed outside that lock, so
//!   that one stream keeps several threads busy.
//! - The newest segments are read first: older images of a row then find a newer one in place and cost no copy.
//!
//! Absent: the records (check.rs), the decision what lives (cut.rs), any change on disk (freeze.rs).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use osier_memory::sync::{Mutex, lock};

use super::base::Base;
use super::chain::{Chain, Limit};
use super::replay_values::Replayer;
use super::report::Pace;
use super::{RecoveryError, RecoveryPhase};
use crate::config::Config;
use crate::failpoint::{Mutation, has};
use crate::ids::{Epoch, LogOffset, Stamp, WallTime};
use crate::io::BLOCK_BYTES;
use crate::limits;
use crate::log::batch::{BatchHeader, Certificate, Certificates};
use crate::persist::manifest::{FrozenGeneration, Layout, NEVER};
use crate::persist::segment::{FIRST_OFFSET, Segment};

/// How much of a segment is read at once.
const CHUNK_BYTES: u64 = 2 << 20;

/// The scan of all generations, shared by its threads.
pub(crate) struct Scan {
    pub(crate) generations: Vec<GenerationScan>,
    /// Records that it covers are checked and not replayed.
    pub(crate) base: Base,
    /// Batches that were closed later are told apart ([`Tally::late`]).
    pub(crate) time: WallTime,
    /// All segments, newest first.
    order: Vec<Place>,
    next: AtomicUsize,
    /// How many more bytes may be kept for the second pass.
    keep_bytes: AtomicU64,
    done_bytes: AtomicU64,
    total_bytes: u64,
    progress: Option<Pace>,
    finished: Mutex<Vec<Finished>>,
}

/// A segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) generation: usize,
    pub(crate) stream: usize,
    pub(crate) segment: usize,
}

/// One generation.
pub(crate) struct GenerationScan {
    pub(crate) layout: Layout,
    pub(crate) frozen: Option<FrozenGeneration>,
    /// Records of later epochs do not count.
    pub(crate) until: Epoch,
    /// Whether more may be missing than a crash explains: what batches promised to be durable does not count.
    pub(crate) is_salvaged: bool,
    pub(crate) streams: Vec<StreamScan>,
    /// The greatest frontier in any batch header.
    stable: AtomicU64,
    /// For each stream the greatest certificate about it, and how far others knew it to be durable.
    certified: Box<[AtomicU64]>,
    reached: Box<[AtomicU64]>,
    /// See [`GenerationScan::certain`].
    certain: AtomicU64,
}

/// One stream of one generation.
pub(crate) struct StreamScan {
    pub(crate) chain: Chain,
    segments: Vec<SegmentScan>,
    torn: Mutex<Option<Torn>>,
}

#[derive(Debug)]
struct SegmentScan {
    cursor: Mutex<Cursor>,
    exhausted: AtomicBool,
}

/// How far a segment was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub(crate) offset: LogOffset,
    /// The stream's stamp there.
    pub(crate) stamp: Stamp,
    /// The last batch.
    pub(crate) last: Option<ReadBatch>,
}

/// A batch with a sound header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadBatch {
    pub(crate) header: BatchHeader,
    /// The stream's stamp before it.
    pub(crate) before: Stamp,
}

/// A batch of which only a prefix was written.
#[derive(Clone, Debug)]
pub(crate) struct Torn {
    pub(crate) place: Place,
    /// Where the batch begins.
    pub(crate) batch: LogOffset,
    /// From the batch's start to the end of its last valid record.
    pub(crate) record_bytes: u64,
    /// The last valid record's stamp, or the stream's before the batch.
    pub(crate) stamp: Stamp,
    /// What ended it.
    pub(crate) what: String,
}

/// What was read of one generation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    pub(crate) bytes: u64,
    pub(crate) batches: u64,
    pub(crate) records: u64,
    pub(crate) replayed: u64,
    /// In the checkpoint already.
    pub(crate) covered: u64,
    /// After the epoch that the database is taken back to.
    pub(crate) after: u64,
    /// In the replayed records.
    pub(crate) writes: u64,
    pub(crate) replayed_bytes: u64,
    pub(crate) max_stamp: Stamp,
    pub(crate) min_epoch: Epoch,
    pub(crate) max_epoch: Epoch,
    /// The least epoch in a batch that was closed after [`Scan::time`].
    pub(crate) late: Epoch,
    /// The greatest epoch in a batch that does not say when it was closed.
    pub(crate) untimed: Epoch,
    /// When the last batch was closed.
    pub(crate) closed: WallTime,
    /// By then everything in the checkpoint was durable: when a batch was closed that knew so.
    pub(crate) borne_out: WallTime,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            bytes: 0,
            batches: 0,
            records: 0,
            replayed: 0,
            covered: 0,
            after: 0,
            writes: 0,
            replayed_bytes: 0,
            max_stamp: Stamp::ZERO,
            min_epoch: NEVER,
            max_epoch: Epoch(0),
            late: NEVER,
            untimed: Epoch(0),
            closed: WallTime::UNKNOWN,
            borne_out: WallTime(u64::MAX),
        }
    }
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        self.bytes += other.bytes;
        self.batches += other.batches;
        self.records += other.records;
        self.replayed += other.replayed;
        self.covered += other.covered;
        self.after += other.after;
        self.writes += other.writes;
        self.replayed_bytes += other.replayed_bytes;
        self.max_stamp = self.max_stamp.max(other.max_stamp);
        self.min_epoch = self.min_epoch.min(other.min_epoch);
        self.max_epoch = self.max_epoch.max(other.max_epoch);
        self.late = self.late.min(other.late);
        self.untimed = self.untimed.max(other.untimed);
        self.closed = self.closed.max(other.closed);
        self.borne_out = self.borne_out.min(other.borne_out);
    }
}

/// A batch with records whose fate the cut decides.
pub(crate) struct Deferred {
    pub(crate) place: Place,
    pub(crate) batch: ReadBatch,
    /// The end of its valid records.
    pub(crate) record_bytes: u64,
    /// What was certain when it was read: those records are replayed already.
    pub(crate) certain: Stamp,
    /// Its bytes up to `record_bytes`, where they were kept.
    pub(crate) bytes: Option<Box<[u8]>>,
}

/// What one thread hands back.
pub(crate) struct Finished {
    /// By generation.
    pub(crate) tallies: Vec<Tally>,
    pub(crate) deferred: Vec<Deferred>,
    pub(crate) replayer: Option<Replayer>,
}

/// Batches that were read and not checked yet.
pub(crate) struct Chunk {
    pub(crate) place: Place,
    /// The offset of the first byte.
    pub(crate) begin: LogOffset,
    pub(crate) bytes: Vec<u8>,
    pub(crate) batches: Vec<ReadBatch>,
}

impl Scan {
    pub(crate) fn new(generations: Vec<GenerationScan>, base: Base, time: WallTime, config: &Config) -> Arc<Scan> {
        let mut order = Vec::new();
        let mut total_bytes = 0;
        for (generation, scan) in generations.iter().enumerate() {
            for (stream, scan) in scan.streams.iter().enumerate() {
                for segment in 0..scan.segments.len() {
                    order.push(Place { generation, stream, segment });
                    total_bytes += scan.chain.limit(segment).end.0 - scan.chain.segments[segment].header.base.0;
                }
            }
        }
        order.sort_by_key(|place| std::cmp::Reverse((place.generation, place.segment)));
        Arc::new(Scan {
            generations,
            base,
            time,
            order,
            next: AtomicUsize::new(0),
            keep_bytes: AtomicU64::new(limits::log_kept_bytes(config)),
            done_bytes: AtomicU64::new(0),
            total_bytes,
            progress: Pace::of(config),
            finished: Mutex::default(),
        })
    }

    /// How many segments there are.
    pub(crate) fn segments(&self) -> usize {
        self.order.len()
    }

    /// Takes what a thread hands back.
    pub(crate) fn finish(&self, finished: Finished) {
        lock(&self.finished).push(finished);
    }

    /// What the threads handed back, when the scan is over.
    pub(crate) fn take_finished(&self) -> Vec<Finished> {
        std::mem::take(&mut *lock(&self.finished))
    }

    pub(crate) fn stream(&self, place: Place) -> &StreamScan {
        &self.generations[place.generation].streams[place.stream]
    }

    pub(crate) fn segment(&self, place: Place) -> &Segment {
        &self.stream(place).chain.segments[place.segment]
    }

    /// The error for unsound bytes at `offset` of the log.
    pub(crate) fn damaged(&self, place: Place, offset: LogOffset, what: String) -> RecoveryError {
        let segment = self.segment(place);
        RecoveryError::Damaged { path: segment.path.clone(), position: segment.header.position(offset), offset, what }
    }

    /// A segment with something left to read: one that nobody reads yet, or else any.
    pub(crate) fn claim(&self) -> Option<Place> {
        let fresh = self.next.fetch_add(1, Ordering::Relaxed);
        let is_open = |place: &&Place| !self.stream(**place).segments[place.segment].exhausted.load(Ordering::Acquire);
        self.order.get(fresh).or_else(|| self.order.iter().find(is_open)).copied()
    }

    /// The next batches of a segment, in `buffer`; `None` at its end.
    pub(crate) fn read(&self, place: Place, mut buffer: Vec<u8>) -> Result<Option<Chunk>, RecoveryError> {
        let scan = &self.stream(place).segments[place.segment];
        let limit = self.stream(place).chain.limit(place.segment);
        let mut cursor = lock(&scan.cursor);
        if scan.exhausted.load(Ordering::Acquire) {
            return Ok(None);
        }
        let mut want = CHUNK_BYTES;
        let (batches, end) = loop {
            want = want.min(limit.end.0 - cursor.offset.0);
            buffer.resize(want as usize, 0);
            self.read_exactly(place, &mut buffer, cursor.offset)?;
            let (batches, end) = self.walk(place, &buffer, &cursor, limit)?;
            match end {
                End::Beyond { length } if batches.is_empty() => want = length,
                end => break (batches, end),
            }
        };
        let begin = cursor.offset;
        if let Some(last) = batches.last() {
            cursor.last = Some(*last);
            cursor.stamp = last.header.stamp;
            cursor.offset = last.header.end();
        }
        let mut done = cursor.offset.0 - begin.0;
        if let End::Invalid { what } = &end {
            self.expect_nothing_after(place, cursor.offset, limit, what)?;
        }
        if cursor.offset == limit.end || matches!(end, End::Invalid { .. }) {
            self.expect_continuation(place, &cursor)?;
            scan.exhausted.store(true, Ordering::Release);
            done += limit.end.0 - cursor.offset.0;
        }
        self.report(done);
        Ok(Some(Chunk { place, begin, bytes: buffer, batches }))
    }

    /// The headers in `bytes`, which begin at the cursor, and why there are no more.
    fn walk(
        &self,
        place: Place,
        bytes: &[u8],
        cursor: &Cursor,
        limit: Limit,
    ) -> Result<(Vec<ReadBatch>, End), RecoveryError> {
        let log = &self.stream(place).chain.log;
        let (mut batches, mut at, mut stamp) = (Vec::new(), 0, cursor.stamp);
        while at < bytes.len() {
            let offset = LogOffset(cursor.offset.0 + at as u64);
            let (header, certificates) = match BatchHeader::decode(&bytes[at..], log, offset) {
                Ok(decoded) => decoded,
                Err(error) if limit.exact => return Err(self.damaged(place, offset, error.to_string())),
                Err(error) => return Ok((batches, End::Invalid { what: error.to_string() })),
            };
            if header.end() > limit.end {
                let what = format!("a batch of {} bytes reaches beyond {}", header.length, limit.end);
                return Err(self.damaged(place, offset, what));
            }
            if header.stamp < stamp {
                let what = format!("a batch with stamp {} follows stamp {stamp}", header.stamp);
                return Err(self.damaged(place, offset, what));
            }
            if bytes.len() - at < header.length as usize {
                return Ok((batches, End::Beyond { length: header.length }));
            }
            self.generations[place.generation].note(&header, certificates);
            batches.push(ReadBatch { header, before: stamp });
            stamp = header.stamp;
            at += header.length as usize;
        }
        Ok((batches, End::Limit))
    }

    /// The next segment's floor is a promise about this one.
    fn expect_continuation(&self, place: Place, cursor: &Cursor) -> Result<(), RecoveryError> {
        match self.stream(place).chain.segments.get(place.segment + 1) {
            Some(next) if next.header.floor < cursor.stamp => Err(RecoveryError::Chain {
                path: next.path.clone(),
                what: format!(
                    "its floor is {}, but the one before it reached stamp {}",
                    next.header.floor, cursor.stamp
                ),
            }),
            _ => Ok(()),
        }
    }

    /// A batch is written only after the one before is durable: a sound one behind an unsound one shows damage.
    fn expect_nothing_after(
        &self,
        place: Place,
        end: LogOffset,
        limit: Limit,
        what: &str,
    ) -> Result<(), RecoveryError> {
        let log = &self.stream(place).chain.log;
        let mut offset = LogOffset(end.0 + BLOCK_BYTES as u64);
        let mut buffer = Vec::new();
        while offset < limit.end {
            buffer.resize(CHUNK_BYTES.min(limit.end.0 - offset.0) as usize, 0);
            self.read_exactly(place, &mut buffer, offset)?;
            for block in buffer.chunks_exact(BLOCK_BYTES) {
                if BatchHeader::names(block, log, offset) && BatchHeader::decode(block, log, offset).is_ok() {
                    let what = format!("{what}, although a sound batch follows at log offset {offset}");
                    return Err(self.damaged(place, end, what));
                }
                offset.0 += BLOCK_BYTES as u64;
            }
        }
        Ok(())
    }

    /// Reads `buffer` full from `offset` of the log.
    pub(crate) fn read_exactly(&self, place: Place, buffer: &mut [u8], offset: LogOffset) -> Result<(), RecoveryError> {
        let segment = self.segment(place);
        let position = segment.header.position(offset);
        let mut read = 0;
        while read < buffer.len() {
            let some = segment.file.read_at(&mut buffer[read..], position + read as u64);
            match some.map_err(RecoveryError::io("read", &segment.path))? {
                0 => return Err(self.damaged(place, offset, "the file ends here".to_owned())),
                some => read += some,
            }
        }
        Ok(())
    }

    fn report(&self, bytes: u64) {
        let done = self.done_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(progress) = &self.progress {
            progress.report(RecoveryPhase::Scan, done, self.total_bytes);
        }
    }

    /// Whether `bytes` more may be kept in memory.
    pub(crate) fn keep(&self, bytes: u64) -> bool {
        let take = |left: u64| left.checked_sub(bytes);
        self.keep_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

/// Why a walk over batch headers ended.
enum End {
    /// The buffer is used up.
    Limit,
    /// The next batch is longer than what is left of the buffer.
    Beyond { length: u64 },
    /// There is no batch.
    Invalid { what: String },
}

impl GenerationScan {
    /// Where the database is taken back to the end of `until`, records of later epochs do not count, as with a frozen
    /// generation that it was taken back in before.
    pub(crate) fn new(
        layout: Layout,
        frozen: Option<FrozenGeneration>,
        chains: Vec<Chain>,
        until: Epoch,
    ) -> GenerationScan {
        assert_eq!(layout.streams.len(), chains.len());
        let certain = match &frozen {
            Some(frozen) => frozen.cut,
            None if chains.len() == 1 => Stamp::MAX,
            None => chains.iter().map(Chain::floor).min().unwrap_or(layout.floor),
        };
        GenerationScan {
            stable: AtomicU64::new(layout.floor.0),
            certified: chains.iter().map(|_| AtomicU64::new(0)).collect(),
            reached: chains.iter().map(|_| AtomicU64::new(0)).collect(),
            certain: AtomicU64::new(certain.0),
            streams: chains.into_iter().map(StreamScan::new).collect(),
            is_salvaged: false,
            until: frozen.as_ref().map_or(NEVER, |frozen| frozen.until).min(until),
            layout,
            frozen,
        }
    }

    /// Whatever the rest of the logs holds, the cut will not be below this.
    ///
    /// - Of a frozen generation it is the cut.
    /// - Of a generation with one stream everything valid lives: serial by definition, Poplar because the cut is the
    ///   stream's last stamp.
    /// - Else the cut is the least over streams of what each reached durably. Each reached the floor in the header of its
    ///   newest segment; and each had reached the `stable` of every batch header when that batch was closed. Either may
    ///   be contradicted by what the device lost; then recovery fails and nothing of the replay is used.
    pub(crate) fn certain(&self) -> Stamp {
        let is_frozen = self.frozen.is_some();
        if is_frozen && has(Mutation::NoGenerationFreeze) || !is_frozen && has(Mutation::ReplayBeforeCut) {
            return Stamp::MAX;
        }
        Stamp(self.certain.load(Ordering::Relaxed))
    }

    /// The greatest frontier that any batch recorded.
    pub(crate) fn stable(&self) -> Stamp {
        Stamp(self.stable.load(Ordering::Acquire))
    }

    /// The greatest certificate about a stream.
    pub(crate) fn certified(&self, stream: usize) -> Stamp {
        Stamp(self.certified[stream].load(Ordering::Acquire))
    }

    /// How far any batch of another stream says that a stream is durable.
    pub(crate) fn reached(&self, stream: usize) -> LogOffset {
        LogOffset(self.reached[stream].load(Ordering::Acquire))
    }

    fn note(&self, header: &BatchHeader, certificates: Certificates<'_>) {
        self.stable.fetch_max(header.stable.0, Ordering::AcqRel);
        for Certificate { stream, stamp, reach } in certificates {
            self.certified[stream.0 as usize].fetch_max(stamp.0, Ordering::AcqRel);
            self.reached[stream.0 as usize].fetch_max(reach.0, Ordering::AcqRel);
        }
        if self.frozen.is_none() {
            self.certain.fetch_max(header.stable.0, Ordering::AcqRel);
        }
    }
}

impl StreamScan {
    fn new(chain: Chain) -> StreamScan {
        let segment = |segment: &Segment| {
            let cursor = Cursor { offset: segment.header.base, stamp: segment.header.floor, last: None };
            SegmentScan { cursor: Mutex::new(cursor), exhausted: AtomicBool::new(false) }
        };
        StreamScan { segments: chain.segments.iter().map(segment).collect(), chain, torn: Mutex::default() }
    }

    /// How far the newest segment was read; `None` where there is no segment.
    pub(crate) fn newest(&self) -> Option<Cursor> {
        self.segments.last().map(|segment| *lock(&segment.cursor))
    }

    /// Where the last segment ends that was read.
    pub(crate) fn end(&self) -> LogOffset {
        self.newest().map_or(FIRST_OFFSET, |cursor| cursor.offset)
    }

    /// The torn batch, which must be the last.
    pub(crate) fn torn(&self, scan: &Scan) -> Result<Option<Torn>, RecoveryError> {
        let Some(torn) = lock(&self.torn).clone() else { return Ok(None) };
        let last = self.newest().and_then(|cursor| cursor.last);
        if last.is_some_and(|last| last.header.offset == torn.batch) {
            return Ok(Some(torn));
        }
        let what = format!("{}, although a sound batch follows", torn.what);
        Err(scan.damaged(torn.place, LogOffset(torn.batch.0 + torn.record_bytes), what))
    }

    /// Notes that only a prefix of a batch was written.
    pub(crate) fn tear(&self, torn: Torn) {
        let mut first = lock(&self.torn);
        if first.as_ref().is_none_or(|first| torn.batch < first.batch) {
            *first = Some(torn);
        }
    }
}
