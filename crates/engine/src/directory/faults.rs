//! Where the simulation makes directories and manifests wrong. What ships gets back what it gave, and does what it meant to.

use osier_memory::Stamp;

use crate::failpoint::{Mutation, has, unless};
use crate::ids::Epoch;

/// Syncs an identity before it is renamed ([`Mutation::IdentityUnsynced`]).
#[inline(always)]
pub(super) fn sync_identity<E>(sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::IdentityUnsynced, sync)
}

/// Syncs a manifest before it is renamed ([`Mutation::ManifestNotSynced`]).
#[inline(always)]
pub(super) fn sync_manifest<E>(sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::ManifestNotSynced, sync)
}

/// Makes the name of the manifest durable that an open goes on from ([`Mutation::ManifestUnsettled`]).
#[inline(always)]
pub(super) fn settle_manifest<E>(settle: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::ManifestUnsettled, settle)
}

/// Writes the identities that fit the manifest before and the next one ([`Mutation::IdentityLate`]).
#[inline(always)]
pub(super) fn identify_first<E>(identify: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::IdentityLate, identify)
}

/// Whether an identity fits a manifest ([`Mutation::IncarnationIgnored`]).
#[inline(always)]
pub(super) fn fits(fits: bool) -> bool {
    fits || has(Mutation::IncarnationIgnored)
}

/// The directory that is there under another name ([`Mutation::DirectoryTwice`]).
#[inline(always)]
pub(super) fn twice<T>(first: Option<T>) -> Option<T> {
    first.filter(|_| !has(Mutation::DirectoryTwice))
}

/// How many of the directories above a new one are synced ([`Mutation::DeepDirectoryUnsynced`]).
#[inline(always)]
pub(super) fn depth_max() -> usize {
    if has(Mutation::DeepDirectoryUnsynced) { 3 } else { usize::MAX }
}

/// The greatest stamp in a checkpoint that was loaded ([`Mutation::RowStampsUnseen`]).
#[inline(always)]
pub(super) fn loaded(greatest: Stamp) -> Stamp {
    if has(Mutation::RowStampsUnseen) { Stamp::ZERO } else { greatest }
}

/// The greatest epoch that a checkpoint makes recovery skip ([`Mutation::EpochFloorForgotten`]).
#[inline(always)]
pub(super) fn skipped(epoch: Epoch) -> Epoch {
    if has(Mutation::EpochFloorForgotten) { Epoch(0) } else { epoch }
}
