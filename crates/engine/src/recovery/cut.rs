//! Decides which transactions of a generation count as committed.
//!
//! Invariants (docs/protocols.md):
//! - A stream's *durable stamp* is the greatest of: what the manifest says of it (at least the floor of its generation; more
//!   once segments, and the certificates in them, were truncated), the floor of its newest segment, the stamp of its last
//!   sound batch (or of the last sound record of a torn one), and every certificate about it in any sound batch header.
//!   Every record of the stream at or below it was read.
//! - The protocol that wrote the generation says what follows: the cut, and which records live
//!   ([`protocol::cut`](crate::log::protocol::cut)).
//! - No frontier that a batch recorded exceeds any stream's durable stamp, and no stream ends before any other one's batches
//!   say that it was durable; else durable bytes were lost, and recovery refuses to open.
//!
//! A pure function of what the scan found: the same bytes give the same cut, at every attempt.

use super::generation_scan::{ReadBatch, SegmentId, Torn};
use super::log_scan::LogScan;
use super::tally::Tally;
use crate::error::RecoveryError;
use crate::ids::{Epoch, LogOffset, Stamp};
use crate::log::protocol::cut::{self as rule, StreamEvidence};

/// What was decided about a generation.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
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

/// Judges the generation at `index` of the scan, of which `tally` was read.
pub(crate) fn judge(scan: &LogScan, index: usize, tally: &Tally) -> Result<Verdict, RecoveryError> {
    let generation = &scan.generations[index];
    let csn = generation.csn();
    let mut streams = Vec::with_capacity(generation.streams.len());
    for stream in 0..generation.streams.len() {
        let verdict = judge_stream(scan, index, stream)?;
        if verdict.durable < csn && !generation.is_salvaged {
            let path = generation.streams[stream].chain.directory.clone();
            return Err(RecoveryError::LostDurable { path, found: verdict.durable, promised: csn });
        }
        streams.push(verdict);
    }
    assert_eq!(streams.len(), generation.layout.streams.len(), "every stream is judged");
    let floor = generation.layout.floor;
    let durable: Vec<Stamp> = streams.iter().map(|stream: &StreamVerdict| stream.durable).collect();
    let cut = rule::cut(generation.layout.protocol, floor, &durable);
    assert!(
        floor <= cut && (csn <= cut || generation.is_salvaged),
        "a cut of {cut} above the floor {floor} and CSN {csn}"
    );
    let max_seen = durable.into_iter().max().unwrap_or(floor).max(tally.max_stamp);
    assert!(cut <= max_seen, "a cut of {cut} above the greatest stamp seen, {max_seen}");
    let max_epoch = tally.max_epoch.max(generation.layout.epoch_floor);
    let verdict = Verdict { cut, max_seen, max_epoch, streams };
    match &generation.frozen {
        Some(_) => confirm(scan, index, verdict),
        None => Ok(verdict),
    }
}

/// Judges one stream.
fn judge_stream(scan: &LogScan, generation: usize, stream: usize) -> Result<StreamVerdict, RecoveryError> {
    let of = &scan.generations[generation];
    let found = &of.streams[stream];
    let torn = scan.torn(found)?;
    if !of.is_salvaged {
        expect_reached(scan, generation, stream, torn.as_ref())?;
    }
    let newest = found.newest();
    let reached = match (&torn, newest) {
        (Some(torn), _) => torn.stamp,
        (None, Some(read_end)) => read_end.stamp,
        (None, None) => Stamp::ZERO,
    };
    let evidence = StreamEvidence { reached, floor: found.chain.floor(), certified: of.certified(stream) };
    let durable = rule::durable(of.layout.protocol, &evidence);
    let tail = newest.and_then(|read_end| read_end.last).map(|batch| {
        assert_eq!(batch.header.end(), found.end(), "the stream was read to the end of its last batch");
        let index = found.chain.segments.len() - 1;
        Tail { segment: SegmentId { generation, stream, index }, batch, torn }
    });
    Ok(StreamVerdict { durable, end: found.end(), tail })
}

/// Checks that what other streams knew to be durable is there: a crash takes none of it, torn batches included.
fn expect_reached(scan: &LogScan, generation: usize, stream: usize, torn: Option<&Torn>) -> Result<(), RecoveryError> {
    let of = &scan.generations[generation];
    let (found, promised) = (&of.streams[stream], of.reached(stream));
    if promised <= torn.map_or(found.end(), |torn| torn.batch) {
        return Ok(());
    }
    match found.chain.segments.last() {
        Some(newest) if promised <= newest.header.capacity_end() => {
            let segment = SegmentId { generation, stream, index: found.chain.segments.len() - 1 };
            let end = torn.map_or(found.end(), |torn| LogOffset(torn.batch.0 + torn.record_bytes));
            let what = format!("stream {stream} ends there, but another one knew it to be durable up to {promised}");
            Err(scan.damaged(segment, end, what))
        }
        _ => Err(found.chain.missing(found.chain.next_sequence(), Some(promised))),
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
