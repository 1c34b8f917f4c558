//! Decides which transactions of a generation count as committed.
//!
//! Invariants (docs/protocols.md):
//! - A stream's *durable stamp* is the greatest of: what the manifest says of it (at least the floor of its generation; more
//!   once segments, and the certificates in them, were truncated), the floor of its newest segment, the stamp of its last sound batch (or of the last sound record of a torn one), and every certificate about it in any sound
//!   batch header. Every record of the stream at or below it was read.
//! - Poplar's cut is RSNe, the least durable stamp. A record lives iff `stamp <= cut || raw_dep <= cut`. Serial has one
//!   stream, so the same formula lets everything live that was read.
//! - No frontier that a batch recorded exceeds any stream's durable stamp, and no stream ends before any other one's batches
//!   say that it was durable; else durable bytes were lost, and recovery refuses to open.
//!
//! A pure function of what the scan found: the same bytes give the same cut, at every attempt.

use super::RecoveryError;
use super::scan::{Place, ReadBatch, Scan, Tally, Torn};
use crate::ids::{Epoch, LogOffset, Stamp};

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
    pub(crate) place: Place,
    pub(crate) batch: ReadBatch,
    pub(crate) torn: Option<Torn>,
}

/// Judges the generation at `index` of the scan, of which `tally` was read.
pub(crate) fn judge(scan: &Scan, index: usize, tally: &Tally) -> Result<Verdict, RecoveryError> {
    let generation = &scan.generations[index];
    let stable = generation.stable();
    let mut streams = Vec::with_capacity(generation.streams.len());
    for stream in 0..generation.streams.len() {
        let verdict = judge_stream(scan, index, stream)?;
        if verdict.durable < stable && !generation.is_salvaged {
            let path = generation.streams[stream].chain.directory.clone();
            return Err(RecoveryError::LostDurable { path, found: verdict.durable, promised: stable });
        }
        streams.push(verdict);
    }
    let floor = generation.layout.floor;
    let durable = || streams.iter().map(|stream| stream.durable);
    let cut = durable().min().unwrap_or(floor);
    assert!(
        floor <= cut && (stable <= cut || generation.is_salvaged),
        "a cut of {cut} above the floor {floor} and the frontier {stable}"
    );
    let max_seen = durable().max().unwrap_or(floor).max(tally.max_stamp);
    let max_epoch = tally.max_epoch.max(generation.layout.epoch_floor);
    let verdict = Verdict { cut, max_seen, max_epoch, streams };
    match &generation.frozen {
        Some(_) => confirm(scan, index, verdict),
        None => Ok(verdict),
    }
}

fn judge_stream(scan: &Scan, generation: usize, stream: usize) -> Result<StreamVerdict, RecoveryError> {
    let of = &scan.generations[generation];
    let found = &of.streams[stream];
    let torn = found.torn(scan)?;
    if !of.is_salvaged {
        expect_reached(scan, generation, stream, torn.as_ref())?;
    }
    let newest = found.newest();
    let reached = match (&torn, newest) {
        (Some(torn), _) => torn.stamp,
        (None, Some(cursor)) => cursor.stamp,
        (None, None) => Stamp::ZERO,
    };
    let durable = reached.max(found.chain.floor()).max(of.certified(stream));
    let tail = newest.and_then(|cursor| cursor.last).map(|batch| {
        let segment = found.chain.segments.len() - 1;
        Tail { place: Place { generation, stream, segment }, batch, torn }
    });
    Ok(StreamVerdict { durable, end: found.end(), tail })
}

/// What other streams knew to be durable is there: a crash takes none of it, torn batches included.
fn expect_reached(scan: &Scan, generation: usize, stream: usize, torn: Option<&Torn>) -> Result<(), RecoveryError> {
    let of = &scan.generations[generation];
    let (found, promised) = (&of.streams[stream], of.reached(stream));
    if promised <= torn.map_or(found.end(), |torn| torn.batch) {
        return Ok(());
    }
    match found.chain.segments.last() {
        Some(newest) if promised <= newest.header.capacity_end() => {
            let place = Place { generation, stream, segment: found.chain.segments.len() - 1 };
            let end = torn.map_or(found.end(), |torn| LogOffset(torn.batch.0 + torn.record_bytes));
            let what = format!("stream {stream} ends there, but another one knew it to be durable up to {promised}");
            Err(scan.damaged(place, end, what))
        }
        _ => Err(found.chain.missing(found.chain.next_sequence(), Some(promised))),
    }
}

/// A frozen generation keeps the cut that was written down; the logs must agree with it.
fn confirm(scan: &Scan, index: usize, found: Verdict) -> Result<Verdict, RecoveryError> {
    let generation = &scan.generations[index];
    let Some(frozen) = &generation.frozen else { return Ok(found) };
    let contradiction = |stream: usize, what| {
        let path = generation.streams[stream].chain.directory.clone();
        Err(RecoveryError::Contradiction { path, what })
    };
    for (stream, (verdict, place)) in found.streams.iter().zip(&frozen.streams).enumerate() {
        if verdict.end != place.end {
            return contradiction(stream, format!("it ends at {} and was frozen at {}", verdict.end, place.end));
        }
    }
    if found.max_seen > frozen.max_seen || found.max_epoch > frozen.max_epoch {
        let (seen, frozen) = (found.max_seen, frozen.max_seen);
        return contradiction(0, format!("it holds stamp {seen}, but its generation was frozen with {frozen}"));
    }
    if generation.stable() > frozen.cut && !generation.is_salvaged {
        let (stable, cut) = (generation.stable(), frozen.cut);
        return contradiction(
            0,
            format!("stamp {stable} was known to be durable, but its generation was cut at {cut}"),
        );
    }
    Ok(Verdict { cut: frozen.cut, max_seen: frozen.max_seen, max_epoch: frozen.max_epoch, ..found })
}
