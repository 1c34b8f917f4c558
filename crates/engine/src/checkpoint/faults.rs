//! Where the simulation makes checkpoints wrong. What ships gets back what it gave, and does what it meant to.

use osier_memory::{Observed, Pin, Record, Stamp};

use crate::directory::manifest::StreamBegin;
use crate::error::{CheckpointError, LogFailure};
use crate::failpoint::{Mutation, Point, has, yield_at};
use crate::log::CommitLog;

/// Where the log begins, read again after the boundary was announced ([`Mutation::AnnouncedBeforeBegins`]).
#[inline(always)]
pub(super) fn begins_after_boundary(begins: Vec<StreamBegin>, log: &CommitLog) -> Vec<StreamBegin> {
    if has(Mutation::AnnouncedBeforeBegins) {
        yield_at(Point::HalfBegun);
        return log.begins(None);
    }
    begins
}

/// Whether the transactions of the checkpoint have ended ([`Mutation::EarlyScan`]).
#[inline(always)]
pub(super) fn have_ended(have_ended: bool) -> bool {
    have_ended || has(Mutation::EarlyScan)
}

/// Syncs files or directories of a checkpoint ([`Mutation::CheckpointBeforeSync`]).
#[inline(always)]
pub(super) fn sync<E>(sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    if has(Mutation::CheckpointBeforeSync) { Ok(()) } else { sync() }
}

/// The greatest stamp in the rows of a checkpoint ([`Mutation::RowStampsUnseen`]).
#[inline(always)]
pub(super) fn greatest(written: Stamp) -> Stamp {
    if has(Mutation::RowStampsUnseen) { Stamp::ZERO } else { written }
}

/// RSN, which was read before the tuples ([`Mutation::LateReplayStart`]).
#[inline(always)]
pub(super) fn boundary(boundary: u64, log: &CommitLog) -> u64 {
    if has(Mutation::LateReplayStart) { log.csn().0 } else { boundary }
}

/// The boundary that a part names in its header, before [`boundary`] changes it.
#[inline(always)]
pub(super) fn named_boundary(boundary: u64) -> u64 {
    if has(Mutation::LateReplayStart) { 0 } else { boundary }
}

/// What must be stable before the manifest names a checkpoint ([`Mutation::CheckpointBeforeStable`]).
#[inline(always)]
pub(super) fn awaited(max_seen: Stamp) -> Stamp {
    if has(Mutation::CheckpointBeforeStable) { Stamp::ZERO } else { max_seen }
}

/// Where the log begins for recovery ([`Mutation::LateBegins`], [`Mutation::BeginsAhead`]).
#[inline(always)]
pub(super) fn begins(begins: Vec<StreamBegin>, log: &CommitLog) -> Vec<StreamBegin> {
    let mut begins = if has(Mutation::LateBegins) { log.begins(None) } else { begins };
    if has(Mutation::BeginsAhead) {
        begins.iter_mut().for_each(|begin| begin.durable = log.last_stamp());
    }
    begins
}

/// The failure of a device that kept a manifest from being stored ([`Mutation::ManifestFailureIgnored`]).
#[inline(always)]
pub(super) fn device_failure(error: &CheckpointError) -> Option<LogFailure> {
    error.log_failure().filter(|_| !has(Mutation::ManifestFailureIgnored))
}

/// Which files go before the manifest is stored that does not need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Early {
    /// None.
    Nothing,
    /// The checkpoint before ([`Mutation::CheckpointRemovedEarly`]).
    Checkpoint,
    /// The log as well ([`Mutation::UnlinkBeforeManifest`]).
    Log,
}

/// Which files go too early.
#[inline(always)]
pub(super) fn removed_early() -> Early {
    match () {
        () if has(Mutation::UnlinkBeforeManifest) => Early::Log,
        () if has(Mutation::CheckpointRemovedEarly) => Early::Checkpoint,
        () => Early::Nothing,
    }
}

/// Keeps what a backup reads ([`Mutation::BackupUnheld`]).
#[inline(always)]
pub(super) fn hold(hold: impl FnOnce()) {
    if !has(Mutation::BackupUnheld) {
        hold();
    }
}

/// What a fuzzy scan reads of a record that it locks ([`Mutation::NoTupleLock`], [`Mutation::TombstoneUnseen`]).
#[inline(always)]
pub(super) fn settled<'a>(
    pin: &'a Pin<'_>,
    record: &'a Record,
    read: impl FnOnce(&'a Record) -> Observed<'a>,
) -> Observed<'a> {
    let read_locked = || match record.version(pin) {
        Some(version) => Observed::Present(version),
        None => Observed::Absent(record.word().stamp()),
    };
    let observed = if has(Mutation::NoTupleLock) { read_locked() } else { read(record) };
    match observed {
        Observed::Absent(_) if has(Mutation::TombstoneUnseen) => Observed::Absent(Stamp::ZERO),
        observed => observed,
    }
}

/// Where a range goes on that a full block interrupted ([`Mutation::BlockEndsRange`]).
#[inline(always)]
pub(super) fn after_block<T>(place: T) -> Option<T> {
    (!has(Mutation::BlockEndsRange)).then_some(place)
}

/// Where a range goes on that the end of a step interrupted ([`Mutation::ScanPlaceLost`]).
#[inline(always)]
pub(super) fn after_step<T>(place: T) -> Option<T> {
    (!has(Mutation::ScanPlaceLost)).then_some(place)
}

/// Whether a file that is named like a part may go ([`Mutation::HeaderUnread`]).
#[inline(always)]
pub(super) fn may_go(is_ours: bool) -> bool {
    is_ours || has(Mutation::HeaderUnread)
}
