//! Where the simulation makes backups and restores wrong. What ships gets back what it gave, and does what it meant to.

use osier_memory::Stamp;

use crate::directory::manifest::StreamBegin;
use crate::failpoint::{Mutation, has, unless};
use crate::ids::Epoch;
use crate::log::CommitLog;

/// Where a backup takes the log from ([`Mutation::BackupBeginsLate`]).
#[inline(always)]
pub(super) fn begins(begins: Vec<StreamBegin>, log: &CommitLog) -> Vec<StreamBegin> {
    if has(Mutation::BackupBeginsLate) { log.begins(None) } else { begins }
}

/// The epoch that a backup says it reaches ([`Mutation::BackupEpochAhead`]).
#[inline(always)]
pub(super) fn ended(safe: Epoch, current: Epoch) -> Epoch {
    if has(Mutation::BackupEpochAhead) { current } else { safe }
}

/// The stamp with which a backup ends ([`Mutation::BackupEndsEarly`]).
#[inline(always)]
pub(super) fn last_stamp(log: &CommitLog) -> Stamp {
    if has(Mutation::BackupEndsEarly) { log.csn() } else { log.last_stamp() }
}

/// Whether the ends of the streams fit together ([`Mutation::BackupEndsUnfit`]).
#[inline(always)]
pub(super) fn fit(fit: impl FnOnce() -> bool) -> bool {
    has(Mutation::BackupEndsUnfit) || fit()
}

/// Whether the segments that a backup has and those that are there follow each other ([`Mutation::BackupGapIgnored`]).
#[inline(always)]
pub(super) fn follows(follows: bool) -> bool {
    follows || has(Mutation::BackupGapIgnored)
}

/// Refuses to replace a backup of another copy ([`Mutation::BackupOfOtherCopyReplaced`]).
#[inline(always)]
pub(super) fn expect_past<E>(expect: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::BackupOfOtherCopyReplaced, expect)
}

/// Syncs the index of a backup before it is renamed ([`Mutation::BackupIndexUnsynced`]).
#[inline(always)]
pub(super) fn sync_index<E>(sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::BackupIndexUnsynced, sync)
}

/// Syncs a file of a backup ([`Mutation::BackupUnsynced`]).
#[inline(always)]
pub(super) fn sync_file<E>(sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::BackupUnsynced, sync)
}

/// Syncs a directory of a backup ([`Mutation::BackupDirectoriesUnsynced`]).
#[inline(always)]
pub(super) fn sync_directory<E>(sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::BackupDirectoriesUnsynced, sync)
}

/// Syncs a file that was copied back ([`Mutation::RestoreUnsynced`]).
#[inline(always)]
pub(super) fn sync_restored<E>(sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::RestoreUnsynced, sync)
}

/// Refuses a database that is not finished ([`Mutation::UnfinishedBackedUp`]).
#[inline(always)]
pub(super) fn refuse<E>(refuse: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::UnfinishedBackedUp, refuse)
}

/// Marks a directory that is being restored, or takes the mark away ([`Mutation::RestoreUnmarked`]).
#[inline(always)]
pub(super) fn mark<E>(mark: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::RestoreUnmarked, mark)
}
