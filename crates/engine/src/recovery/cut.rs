//! Decides which transactions of a generation count as committed.
//!
//! Invariants (docs/protocols.md):
//! - A stream's *durable stamp* is the greatest of: what the manifest says of it (at least the floor of its generation; more
//!   once segments, and the certificates in them, were truncated), the floor of its newest segment, the stamp of its last
//!   sound batch (or of the last sound record of a torn one), and every certificate about it in any sound batch header.
//!   Every record of the stream at or below it was read.
//! - The protocol that wrote the generation says what follows: the cut, and which records live
//!   ([`RecoveryRule`]).
//! - No frontier that a batch recorded exceeds any stream's durable stamp, and no stream ends before any other one's batches
//!   say that it was durable; else durable bytes were lost, and recovery refuses to open.
//!
//! A pure function of what the scan found: the same bytes give the same cut, at every attempt.

use super::generation_scan::{ReadBatch, SegmentId, Torn};
use super::log_scan::LogScan;
use super::tally::Tally;
use crate::error::RecoveryError;
use crate::ids::{Epoch, LogOffset, Stamp};
use crate::log::format::promises::{Broken, Promises};
use crate::log::protocol::recovery_rule::{Cut, RecoveryRule, StreamEvidence, with_rule};

/// What was decided about a generation.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// The stamp of the cut.
    pub(crate) cut: Stamp,
    /// The greatest stamp in it, discarded records included.
    pub(crate) max_seen: Stamp,
    pub(crate) max_epoch: Epoch,
    pub(crate) streams: Vec<StreamVerdict>,
}

/// What was decided about one stream.
#[derive(Clone, Debug)]
pub(crate) struct StreamVerdict {
    pub(crate) durable: Stamp,
    /// Where the stream ends before its tail is re-persisted.
    pub(crate) end: LogOffset,
    /// The last batch, where it lies in the newest segment: nothing proves that it is durable.
    pub(crate) tail: Option<Tail>,
}

/// A batch that recovery must write again.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    pub(crate) segment: SegmentId,
    pub(crate) batch: ReadBatch,
    pub(crate) torn: Option<Torn>,
}

impl Verdict {
    /// Returns the cut of the generation, which crashed and whose stamps are all above `floor`.
    pub(crate) fn cut<R: RecoveryRule>(&self, floor: Stamp) -> R::Cut {
        let cut = cut_of::<R>(floor, &self.streams);
        assert_eq!(cut.stamp(), self.cut, "a verdict has the cut of its streams");
        cut
    }
}

fn cut_of<R: RecoveryRule>(floor: Stamp, streams: &[StreamVerdict]) -> R::Cut {
    R::cut(floor, &streams.iter().map(|stream| stream.durable).collect::<Vec<_>>())
}

/// Judges the generation at `index` of the scan, of which `tally` was read, by the rule of its protocol.
pub(crate) fn judge(scan: &LogScan, index: usize, tally: &Tally) -> Result<Verdict, RecoveryError> {
    with_rule!(scan.generations[index].layout.protocol, Rule => judge_by::<Rule>(scan, index, tally))
}

/// Does so by the rule `R`.
pub(super) fn judge_by<R: RecoveryRule>(scan: &LogScan, index: usize, tally: &Tally) -> Result<Verdict, RecoveryError> {
    let generation = &scan.generations[index];
    let promises = generation.promises();
    let csn = promises.csn;
    let streams = 0..generation.streams.len();
    let streams = streams.map(|stream| judge_stream::<R>(scan, index, stream, &promises));
    let streams = streams.collect::<Result<Vec<_>, _>>()?;
    assert_eq!(streams.len(), generation.layout.streams.len(), "every stream is judged");
    let floor = generation.layout.floor;
    let cut = cut_of::<R>(floor, &streams).stamp();
    assert!(
        floor <= cut && (csn <= cut || generation.is_salvaged),
        "a cut of {cut} above the floor {floor} and CSN {csn}"
    );
    let durable = streams.iter().map(|stream| stream.durable).max();
    let max_seen = durable.unwrap_or(floor).max(tally.max_stamp);
    assert!(cut <= max_seen, "a cut of {cut} above the greatest stamp seen, {max_seen}");
    let max_epoch = tally.max_epoch.max(generation.layout.epoch_floor);
    let verdict = Verdict { cut, max_seen, max_epoch, streams };
    match &generation.frozen {
        Some(_) => confirm(scan, index, verdict),
        None => Ok(verdict),
    }
}

/// Judges one stream. A crash takes nothing of what batches promised, torn ones included.
fn judge_stream<R: RecoveryRule>(
    scan: &LogScan,
    generation: usize,
    stream: usize,
    promises: &Promises,
) -> Result<StreamVerdict, RecoveryError> {
    let of = &scan.generations[generation];
    let found = &of.streams[stream];
    let torn = scan.torn(found)?;
    let newest = found.newest();
    let reached = match (&torn, newest) {
        (Some(torn), _) => torn.stamp,
        (None, Some(read_end)) => read_end.stamp,
        (None, None) => Stamp::ZERO,
    };
    let evidence = StreamEvidence { reached, floor: found.chain.floor(), certified: promises.certified[stream] };
    let durable = R::durable(&evidence);
    let sound_end = torn.as_ref().map_or(found.end(), |torn| torn.batch);
    match promises.broken(stream, durable, sound_end).filter(|_| !of.is_salvaged) {
        None => {}
        Some(Broken::Reach(promised)) => return Err(falls_short(scan, generation, stream, torn.as_ref(), promised)),
        Some(Broken::Csn(promised)) => {
            let path = found.chain.directory.clone();
            return Err(RecoveryError::LostDurable { path, found: durable, promised });
        }
    }
    let tail = newest.and_then(|read_end| read_end.last).map(|batch| {
        assert_eq!(batch.header.end(), found.end(), "the stream was read to the end of its last batch");
        let index = found.chain.segments.len() - 1;
        Tail { segment: SegmentId { generation, stream, index }, batch, torn }
    });
    Ok(StreamVerdict { durable, end: found.end(), tail })
}

/// Returns the error for a stream that ends before `promised`, up to where others knew it to be durable.
fn falls_short(
    scan: &LogScan,
    generation: usize,
    stream: usize,
    torn: Option<&Torn>,
    promised: LogOffset,
) -> RecoveryError {
    let found = &scan.generations[generation].streams[stream];
    match found.chain.segments.last() {
        Some(newest) if promised <= newest.header.capacity_end() => {
            let segment = SegmentId { generation, stream, index: found.chain.segments.len() - 1 };
            let end = torn.map_or(found.end(), |torn| LogOffset(torn.batch.0 + torn.record_bytes));
            let what = format!("stream {stream} ends there, but another one knew it to be durable up to {promised}");
            scan.damaged(segment, end, what)
        }
        _ => found.chain.missing(found.chain.next_sequence(), Some(promised)),
    }
}

/// Gives a frozen generation the cut that was written down; the logs must agree with it.
fn confirm(scan: &LogScan, index: usize, found: Verdict) -> Result<Verdict, RecoveryError> {
    let generation = &scan.generations[index];
    let Some(frozen) = &generation.frozen else { return Ok(found) };
    let contradiction = |stream: usize, what| {
        let path = generation.streams[stream].chain.directory.clone();
        Err(RecoveryError::Contradiction { path, what })
    };
    assert!(generation.layout.floor <= frozen.cut && frozen.cut <= frozen.max_seen, "{frozen:?} was not checked");
    for (stream, (verdict, stream_then)) in found.streams.iter().zip(&frozen.streams).enumerate() {
        if verdict.end != stream_then.end {
            return contradiction(stream, format!("it ends at {} and was frozen at {}", verdict.end, stream_then.end));
        }
    }
    if found.max_seen > frozen.max_seen {
        let (seen, frozen) = (found.max_seen, frozen.max_seen);
        return contradiction(0, format!("it holds stamp {seen}, but its generation was frozen with {frozen}"));
    }
    if found.max_epoch > frozen.max_epoch {
        let (seen, frozen) = (found.max_epoch, frozen.max_epoch);
        return contradiction(0, format!("it holds epoch {seen}, but its generation was frozen with epoch {frozen}"));
    }
    if generation.csn() > frozen.cut && !generation.is_salvaged {
        let (csn, cut) = (generation.csn(), frozen.cut);
        return contradiction(0, format!("stamp {csn} was known to be durable, but its generation was cut at {cut}"));
    }
    Ok(Verdict { cut: frozen.cut, max_seen: frozen.max_seen, max_epoch: frozen.max_epoch, ..found })
}
