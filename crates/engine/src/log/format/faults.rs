//! Where the simulation makes the log's format wrong. What ships gets back what it gave.

use std::io;

use crate::failpoint::{Mutation, has};

/// The number that binds a record to its place ([`Mutation::UnboundSeal`]).
#[inline(always)]
pub(super) fn seal(of_place: u32) -> u32 {
    if has(Mutation::UnboundSeal) { 0 } else { of_place }
}

/// Whether a batch header names another place ([`Mutation::UnboundSeal`]).
#[inline(always)]
pub(super) fn is_elsewhere(differs: bool) -> bool {
    differs && !has(Mutation::UnboundSeal)
}

/// Whether a checksum is wrong ([`Mutation::RecordUnchecked`]).
#[inline(always)]
pub(super) fn is_unsound(differs: bool) -> bool {
    differs && !has(Mutation::RecordUnchecked)
}

/// What becomes of an unsound record ([`Mutation::GapSkipped`]).
#[inline(always)]
pub(super) fn unsound<T, E>(error: E, skip: T) -> Result<T, E> {
    if has(Mutation::GapSkipped) { Ok(skip) } else { Err(error) }
}

/// Syncs a directory before a segment in it gets its name ([`Mutation::TailNamedFirst`]).
#[inline(always)]
pub(super) fn sync_before_naming(sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    if has(Mutation::TailNamedFirst) { Ok(()) } else { sync() }
}

/// Syncs the directory in which a segment has got its name ([`Mutation::DirectoryNotSynced`]).
#[inline(always)]
pub(super) fn sync_name(sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    if has(Mutation::DirectoryNotSynced) { Ok(()) } else { sync() }
}

/// Syncs the record of a begun generation ([`Mutation::BegunUnsynced`]). That makes the names of segments durable, too
/// ([`Mutation::RenamedTwice`]).
#[inline(always)]
pub(super) fn sync_begun(sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    if has(Mutation::BegunUnsynced) || has(Mutation::RenamedTwice) { Ok(()) } else { sync() }
}

/// Whether a file may be renamed, cut or removed ([`Mutation::HeaderUnread`]).
#[inline(always)]
pub(super) fn may_go(is_ours: bool) -> bool {
    is_ours || has(Mutation::HeaderUnread)
}

/// Whether all of a transaction in parts is there ([`Mutation::PartMissing`]).
#[inline(always)]
pub(super) fn is_whole(is_whole: bool) -> bool {
    is_whole || has(Mutation::PartMissing)
}
