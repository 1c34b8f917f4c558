//! Where the simulation makes the writing of a log wrong. What ships gets back what it gave, and does what it meant to.

use std::sync::Arc;
use std::time::Duration;

use osier_memory::{Batch, Ring};

use super::Log;
use super::frontier::{Frontier, Lag};
use crate::error::LogFailure;
use crate::failpoint::{Mutation, has, unless};
use crate::ids::{Stamp, StreamId};
use crate::io::OpenMode;
use crate::log::acknowledge::queue::{Waiter, wake_all};
use crate::log::format::batch::Certificate;

/// Waits for room, with the locks of the transaction held ([`Mutation::RoomAwaitedWithLocks`]).
#[inline(always)]
pub(super) fn await_room(ring: &Ring, record_bytes: usize) {
    if has(Mutation::RoomAwaitedWithLocks) {
        // Where the ring is closed, the reservation finds that too.
        let _ = ring.wait_for_room(record_bytes);
    }
}

/// The stamp of a batch that was closed ([`Mutation::CloseOutsideLatch`]).
#[inline(always)]
pub(super) fn stamp(batch: &Batch, ring: &Ring) -> Stamp {
    if has(Mutation::CloseOutsideLatch) { ring.last() } else { batch.stamp() }
}

/// The floor of a new segment ([`Mutation::NoFloor`]).
#[inline(always)]
pub(super) fn floor(durable: Stamp) -> Stamp {
    if has(Mutation::NoFloor) { Stamp::ZERO } else { durable }
}

/// How a segment is opened to be written: [`Mutation::SkipLogSync`] must also bite where writes to a log are synchronous.
#[inline(always)]
pub(super) fn open_mode() -> OpenMode {
    if has(Mutation::SkipLogSync) { OpenMode::Write } else { OpenMode::Log }
}

/// Syncs a batch ([`Mutation::SkipLogSync`], [`Mutation::SyncErrorIgnored`], [`Mutation::SyncRetried`]).
#[inline(always)]
pub(super) fn sync(sync: impl Fn() -> Result<(), LogFailure>) -> Result<(), LogFailure> {
    if has(Mutation::SkipLogSync) {
        return Ok(());
    }
    match sync() {
        Err(_) if has(Mutation::SyncErrorIgnored) => Ok(()),
        Err(_) if has(Mutation::SyncRetried) => sync(),
        synced => synced,
    }
}

/// Records a segment as the newest before it is installed ([`Mutation::NewestRecordedFirst`]).
#[inline(always)]
pub(super) fn record_early(record: impl FnOnce() -> Result<(), LogFailure>) -> Result<(), LogFailure> {
    if has(Mutation::NewestRecordedFirst) { record() } else { Ok(()) }
}

/// Records a segment as the newest ([`Mutation::NewestUnrecorded`]).
#[inline(always)]
pub(super) fn record(record: impl FnOnce() -> Result<(), LogFailure>) -> Result<(), LogFailure> {
    unless(Mutation::NewestUnrecorded, record)
}

/// Counts a stream as durable up to a heartbeat of which no marker is written ([`Mutation::VolatileHeartbeat`]).
#[inline(always)]
pub(super) fn beat_in_memory<F: Frontier>(log: &Log, own: StreamId, lag: Lag, covered: &mut Vec<Arc<Waiter>>) {
    if has(Mutation::VolatileHeartbeat) && lag != Lag::None {
        let stamp = F::raise(log);
        if log.stream(own).ring.certify_idle(stamp) {
            log.acknowledger.publish(own, stamp, &[], covered);
            wake_all(covered);
        }
    }
}

/// The same fault, for the streams that a batch certifies which is not written yet.
#[inline(always)]
pub(super) fn count_early(log: &Log, certificates: &[Certificate]) {
    if has(Mutation::VolatileHeartbeat) {
        let watermark = log.acknowledger.watermark();
        certificates.iter().for_each(|certificate| watermark.raise(certificate.stream, certificate.stamp));
        watermark.settle();
    }
}

/// How long a logger may still rest ([`Mutation::RestUnending`]).
#[inline(always)]
pub(super) fn rest(left: Duration) -> Duration {
    if has(Mutation::RestUnending) { Duration::from_secs(3600) } else { left }
}

/// Whether a task that ends has died ([`Mutation::DeathIgnored`]).
#[inline(always)]
pub(super) fn has_died(finished: bool) -> bool {
    !finished && !has(Mutation::DeathIgnored)
}

/// Fails where a full device leaves a blank without zeros ([`Mutation::ZerosDemanded`]).
#[inline(always)]
pub(super) fn demand_zeros(failure: LogFailure) -> Result<(), LogFailure> {
    if has(Mutation::ZerosDemanded) { Err(failure) } else { Ok(()) }
}

/// Syncs a directory before a name in it changes again ([`Mutation::RenamedTwice`]).
#[inline(always)]
pub(super) fn sync_names<E>(sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::RenamedTwice, sync)
}

/// The segments with which the log begins for a checkpoint; `parts` gives those of the parts that it needs
/// ([`Mutation::PartsUnheld`]).
#[inline(always)]
pub(super) fn before_parts(begins: Vec<u64>, parts: impl FnOnce() -> Vec<u64>) -> Vec<u64> {
    if has(Mutation::PartsUnheld) {
        return begins;
    }
    begins.into_iter().zip(parts()).map(|(begin, parts)| begin.min(parts)).collect()
}
