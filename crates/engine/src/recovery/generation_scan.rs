//! What the first pass has read of each generation, stream and segment, shared by its threads.
//!
//! Invariants:
//! - What lives under [`GenerationScan::certain`], before everything is read, lives under the cut that will be decided.
//! - What is kept is evidence: cuts are derived from it, under the rule of the protocol that wrote the generation.
//!
//! Absent: reading (log_scan.rs), the decision what lives (cut.rs).

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use osier_memory::sync::{Mutex, lock};

use super::chain::Chain;
use super::faults;
use crate::config::Logged;
use crate::directory::manifest::{FrozenGeneration, Layout, NEVER};
use crate::ids::{Epoch, LogOffset, Stamp};
use crate::log::format::batch::{BatchHeader, Certificate, Certificates};
use crate::log::format::promises::Promises;
use crate::log::format::segment::{FIRST_OFFSET, Segment};
use crate::log::protocol::recovery_rule::RecoveryRule;

/// Which segment of those that are read, by indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentId {
    pub(crate) generation: usize,
    pub(crate) stream: usize,
    /// In the chain of its stream.
    pub(crate) index: usize,
}

/// One generation.
pub(crate) struct GenerationScan {
    pub(crate) layout: Layout,
    pub(crate) frozen: Option<FrozenGeneration>,
    /// Records of later epochs do not count.
    pub(crate) until: Epoch,
    /// Whether more may be missing than a crash explains: what batches promised to be durable does not count.
    pub(crate) is_salvaged: bool,
    /// Whether its records are replayed in their order: it logs commands, or somebody asks for the state before one of them.
    pub(crate) is_ordered: bool,
    pub(crate) streams: Vec<StreamScan>,
    /// The greatest CSN in any batch header.
    csn: AtomicU64,
    /// For each stream the greatest certificate about it, and how far others knew it to be durable.
    certified: Box<[AtomicU64]>,
    reached: Box<[AtomicU64]>,
    /// Of the streams' chains.
    floors: Box<[Stamp]>,
    /// The greatest CSN that was known before the first record was read.
    foreseen: AtomicU64,
}

/// One stream of one generation.
pub(crate) struct StreamScan {
    pub(crate) chain: Chain,
    pub(super) segments: Vec<SegmentScan>,
    /// All segments before it were read to their ends.
    pub(super) first_open: AtomicUsize,
    pub(super) torn: Mutex<Option<Torn>>,
}

/// One segment.
#[derive(Debug)]
pub(super) struct SegmentScan {
    pub(super) read_end: Mutex<ReadEnd>,
    pub(super) exhausted: AtomicBool,
    /// Up to which it was read, and whether a thread is about to read on: both for the choice of what to read next.
    pub(super) stamp: AtomicU64,
    pub(super) is_busy: AtomicBool,
}

/// How far a segment was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadEnd {
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
    pub(crate) segment: SegmentId,
    /// Where the batch begins.
    pub(crate) batch: LogOffset,
    /// From the batch's start to the end of its last valid record.
    pub(crate) record_bytes: u64,
    /// The last valid record's stamp, or the stream's before the batch.
    pub(crate) stamp: Stamp,
    /// What ended it.
    pub(crate) what: String,
}

impl GenerationScan {
    /// Returns a generation of which nothing was read. Records of epochs after `until` do not count, nor do those after the
    /// epoch to which the database was taken back when the generation was frozen.
    pub(crate) fn new(
        layout: Layout,
        frozen: Option<FrozenGeneration>,
        chains: Vec<Chain>,
        until: Epoch,
    ) -> GenerationScan {
        assert_eq!(layout.streams.len(), chains.len(), "each stream has a chain");
        assert!(frozen.as_ref().is_none_or(|frozen| frozen.layout == layout), "a frozen generation of another layout");
        let is_exact = |chain: &Chain| chain.frozen_end.is_some() == frozen.is_some();
        assert!(chains.iter().all(is_exact), "the streams of a frozen generation have ends, those of another none");
        GenerationScan {
            floors: chains.iter().map(Chain::floor).collect(),
            csn: AtomicU64::new(layout.floor.0),
            foreseen: AtomicU64::new(layout.floor.0),
            certified: chains.iter().map(|_| AtomicU64::new(0)).collect(),
            reached: chains.iter().map(|_| AtomicU64::new(0)).collect(),
            streams: chains.into_iter().map(StreamScan::new).collect(),
            is_salvaged: false,
            is_ordered: layout.logged == Logged::Commands,
            until: frozen.as_ref().map_or(NEVER, |frozen| frozen.until).min(until),
            layout,
            frozen,
        }
    }

    /// Returns a cut under which no record lives that the final one will not let live, whatever the rest of the logs holds: of
    /// a frozen generation the cut itself, else what its protocol knows from the last batches. That may be contradicted by
    /// what the
    /// device lost; then recovery fails and nothing of the replay is used.
    pub(crate) fn certain<R: RecoveryRule>(&self) -> R::Cut {
        let certain = match &self.frozen {
            Some(frozen) => R::frozen(frozen),
            None => R::certain(&self.floors, Stamp(self.foreseen.load(Ordering::Acquire))),
        };
        faults::certain(certain, self.frozen.is_some(), || R::certain(&self.floors, Stamp::MAX))
    }

    /// What batches have recorded up to now says what is certain, in both passes.
    pub(super) fn fix_certain(&self) {
        self.foreseen.store(self.csn().0, Ordering::Release);
    }

    /// Whether the database was taken back before to an epoch before this one.
    pub(crate) fn gave_up(&self, epoch: Epoch) -> bool {
        self.frozen.as_ref().is_some_and(|frozen| epoch > frozen.until)
    }

    /// Returns the greatest CSN that any batch recorded.
    pub(crate) fn csn(&self) -> Stamp {
        Stamp(self.csn.load(Ordering::Acquire))
    }

    /// Returns what the batches that were read say of all streams.
    pub(crate) fn promises(&self) -> Promises {
        let load = |word: &AtomicU64| word.load(Ordering::Acquire);
        Promises {
            csn: self.csn(),
            certified: self.certified.iter().map(load).map(Stamp).collect(),
            reached: self.reached.iter().map(load).map(LogOffset).collect(),
        }
    }

    /// Notes what a batch says of all streams.
    pub(super) fn note(&self, header: &BatchHeader, certificates: Certificates<'_>) {
        self.csn.fetch_max(header.csn.0, Ordering::AcqRel);
        for Certificate { stream, stamp, reach } in certificates {
            self.certified[stream.0 as usize].fetch_max(stamp.0, Ordering::AcqRel);
            self.reached[stream.0 as usize].fetch_max(reach.0, Ordering::AcqRel);
        }
    }
}

impl ReadEnd {
    /// Nothing was read.
    pub(super) fn begin(segment: &Segment) -> ReadEnd {
        ReadEnd { offset: segment.header.base, stamp: segment.header.floor, last: None }
    }

    /// The next batches were read.
    pub(super) fn pass(&mut self, batches: &[ReadBatch]) {
        if let Some(last) = batches.last() {
            *self = ReadEnd { offset: last.header.end(), stamp: last.header.stamp, last: Some(*last) };
        }
    }
}

impl StreamScan {
    /// Returns a stream of which nothing was read.
    fn new(chain: Chain) -> StreamScan {
        let segment = |segment: &Segment| {
            let read_end = ReadEnd::begin(segment);
            SegmentScan {
                exhausted: AtomicBool::new(false),
                stamp: AtomicU64::new(read_end.stamp.0),
                is_busy: AtomicBool::new(false),
                read_end: Mutex::new(read_end),
            }
        };
        let segments = chain.segments.iter().map(segment).collect();
        StreamScan { segments, first_open: AtomicUsize::new(0), chain, torn: Mutex::default() }
    }

    /// Returns how far the newest segment was read; `None` where there is no segment.
    pub(crate) fn newest(&self) -> Option<ReadEnd> {
        self.segments.last().map(|segment| *lock(&segment.read_end))
    }

    /// Returns where the last segment ends that was read.
    pub(crate) fn end(&self) -> LogOffset {
        self.newest().map_or(FIRST_OFFSET, |read_end| read_end.offset)
    }

    /// Notes that only a prefix of a batch was written.
    pub(crate) fn tear(&self, torn: Torn) {
        assert!(self.chain.frozen_end.is_none(), "a frozen stream has no torn batch");
        let mut first = lock(&self.torn);
        if first.as_ref().is_none_or(|first| torn.batch < first.batch) {
            *first = Some(torn);
        }
    }
}
