//! Where the simulation makes the write set and locks wrong. What ships gets back what it gave.

use osier_memory::{AsOf, Held, LockMode, Lost, Pin, Record};

use crate::failpoint::{Mutation, has};

/// What a transaction sees in a record ([`Mutation::PastUnseen`]).
#[inline(always)]
pub(super) fn as_of<'a>(pin: &'a Pin<'_>, record: Held<Record>, found: AsOf<'a>) -> AsOf<'a> {
    if has(Mutation::PastUnseen) { AsOf::Newest(pin.get(record).read(pin)) } else { found }
}

/// Whether a transaction has seen the past, so that it may not write ([`Mutation::PastWritten`]).
#[inline(always)]
pub(super) fn has_seen_past(is_past: bool) -> bool {
    is_past && !has(Mutation::PastWritten)
}

/// Whether what was read is there, so that its reader goes on to the present ([`Mutation::PastLeftUnchecked`]).
#[inline(always)]
pub(super) fn is_still_there(is_there: bool) -> bool {
    is_there || has(Mutation::PastLeftUnchecked)
}

/// Whether a transaction validates its reads of rows ([`Mutation::PastUnvalidated`]).
#[inline(always)]
pub(super) fn is_validated(writes: bool) -> bool {
    writes && !has(Mutation::PastUnvalidated)
}

/// Draws a timestamp too early ([`Mutation::TimestampBeforeLocks`]).
#[inline(always)]
pub(super) fn before_locks(draw: impl FnOnce()) {
    if has(Mutation::TimestampBeforeLocks) {
        draw();
    }
}

/// Draws a timestamp when the locks are held, unless that was done before ([`Mutation::TimestampBeforeLocks`]).
#[inline(always)]
pub(super) fn after_locks(draw: impl FnOnce()) {
    if !has(Mutation::TimestampBeforeLocks) {
        draw();
    }
}

/// How a record is locked for an access, if it is ([`Mutation::ReadsUnlocked`]).
#[inline(always)]
pub(super) fn row_mode(mode: Option<LockMode>) -> Option<LockMode> {
    mode.filter(|mode| *mode == LockMode::Exclusive || !has(Mutation::ReadsUnlocked))
}

/// Whether an owner goes on as if it had a lock that it has waited for in vain ([`Mutation::TimedOutHeld`]).
#[inline(always)]
pub(super) fn is_held(lost: Lost, mode: LockMode) -> bool {
    (lost, mode) == (Lost::TimedOut, LockMode::Shared) && has(Mutation::TimedOutHeld)
}

/// Whether the gaps of a leaf are locked ([`Mutation::GapsUnlocked`]).
#[inline(always)]
pub(super) fn locks_gap(locks_gap: bool) -> bool {
    locks_gap && !has(Mutation::GapsUnlocked)
}

/// Gives locks back too early ([`Mutation::LocksReleasedEarly`]).
#[inline(always)]
pub(super) fn release_early(release: impl FnOnce()) {
    if has(Mutation::LocksReleasedEarly) {
        release();
    }
}

/// Whether a write goes when a savepoint is rolled back to ([`Mutation::SavepointKeepsEntries`]).
#[inline(always)]
pub(super) fn goes(index: Option<u16>) -> bool {
    index.is_none() || !has(Mutation::SavepointKeepsEntries)
}

/// Forgets the place of a write that goes ([`Mutation::StalePlaces`]).
#[inline(always)]
pub(super) fn forget<T>(forget: impl FnOnce() -> T) {
    if !has(Mutation::StalePlaces) {
        forget();
    }
}

/// Whether who replaces a row has read what is in it ([`Mutation::ExistenceAsBase`]).
#[inline(always)]
pub(super) fn is_read(is_read: bool) -> bool {
    is_read || has(Mutation::ExistenceAsBase)
}

/// Whether a delta rests on the version that it replaces ([`Mutation::ExistenceAsBase`], [`Mutation::OverwrittenUnread`],
/// [`Mutation::AbortedLogged`], [`Mutation::PastUnvalidated`] and [`Mutation::PastWritten`], which log what did not validate).
#[inline(always)]
pub(super) fn rests_on(rests_on: bool) -> bool {
    rests_on
        || has(Mutation::ExistenceAsBase)
        || has(Mutation::OverwrittenUnread)
        || has(Mutation::AbortedLogged)
        || has(Mutation::PastUnvalidated)
        || has(Mutation::PastWritten)
}

/// Whether the row before is logged. One that nobody has read ([`Mutation::OverwrittenUnread`]) would have another length by the
/// time that the record is filled; what changed in it is logged all the same.
#[inline(always)]
pub(super) fn is_shown(is_shown: bool) -> bool {
    is_shown && !has(Mutation::OverwrittenUnread)
}

/// Whether the bisection of a large write set has found a record ([`Mutation::BisectionTrusted`]).
#[inline(always)]
pub(super) fn is_found(is_found: bool) -> bool {
    is_found || has(Mutation::BisectionTrusted)
}
