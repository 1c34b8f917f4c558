//! Where the simulation makes the writing of a log wrong. What ships gets back what it gave, and does what it meant to.

use osier_memory::{Batch, Closed, Reservation, Ring};

use crate::error::LogFailure;
use crate::failpoint::{Mutation, has};
use crate::ids::Stamp;
use crate::io::OpenMode;

/// Reserves room ([`Mutation::RoomAwaitedWithLocks`]).
#[inline(always)]
pub(super) fn reserve(
    ring: &Ring,
    record_bytes: usize,
    order: impl FnOnce(Stamp, u64) -> Stamp,
) -> Result<Option<Reservation<'_>>, Closed> {
    match has(Mutation::RoomAwaitedWithLocks) {
        true => ring.reserve(record_bytes, order).map(Some),
        false => ring.try_reserve(record_bytes, order),
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

/// Installs a segment and then records it as the newest ([`Mutation::NewestRecordedFirst`],
/// [`Mutation::NewestUnrecorded`]).
#[inline(always)]
pub(super) fn install_and_record<L, D>(
    logger: &mut L,
    install: impl FnOnce(&L) -> Result<D, LogFailure>,
    record: impl Fn(&mut L) -> Result<(), LogFailure>,
) -> Result<D, LogFailure> {
    if has(Mutation::NewestRecordedFirst) {
        record(logger)?;
    }
    let device = install(logger)?;
    if !has(Mutation::NewestUnrecorded) {
        record(logger)?;
    }
    Ok(device)
}

/// Whether streams count as durable up to a heartbeat before its marker is ([`Mutation::VolatileHeartbeat`]).
#[inline(always)]
pub(super) fn beats_in_memory() -> bool {
    has(Mutation::VolatileHeartbeat)
}

/// Whether a task that ends has died ([`Mutation::DeathIgnored`]).
#[inline(always)]
pub(super) fn has_died(finished: bool) -> bool {
    !finished && !has(Mutation::DeathIgnored)
}

/// Whether a blank that cannot be filled with zeros is of no use ([`Mutation::ZerosDemanded`]).
#[inline(always)]
pub(super) fn demands_zeros() -> bool {
    has(Mutation::ZerosDemanded)
}

/// Whether a directory is synced before a name in it changes again ([`Mutation::RenamedTwice`]).
#[inline(always)]
pub(super) fn syncs_names() -> bool {
    !has(Mutation::RenamedTwice)
}
