//! Where the simulation makes transactions wrong. What ships gets back what it gave, and does what it meant to.

use osier_memory::{Interval, Pin, Snapshots, Stamp};

use super::access::{Content, Looked};
use super::{Transaction, TransactionState};
use crate::concurrency::write_set::TreeRef;
use crate::error::TransactionError;
use crate::failpoint::{Mutation, has, is_simulated};
use crate::ids::{Epoch, TableId};
use crate::log::persist::Slot;
use crate::table::store::RecordTree;

/// A look for a snapshot before the locks are held, which counts where it finds none ([`Mutation::StaleAnnouncement`]).
#[inline(always)]
pub(super) fn early_interval<'c>(snapshots: &'c Snapshots, pin: &'c Pin<'_>) -> Option<Interval<'c>> {
    let is_stale = has(Mutation::StaleAnnouncement) && !snapshots.is_active(pin);
    is_stale.then(|| snapshots.interval(pin, Epoch(u64::MAX)))
}

/// The epoch of a transaction that has validated ([`Mutation::LateEpoch`]).
#[inline(always)]
pub(super) fn epoch(pin: &Pin<'_>, epoch: Epoch) -> Epoch {
    if has(Mutation::LateEpoch) { pin.current_epoch() } else { epoch }
}

/// The epoch in which versions are overwritten, as a snapshot is told ([`Mutation::NotRetained`],
/// [`Mutation::RetainedForAnother`]).
#[inline(always)]
pub(super) fn overwritten_in(epoch: Epoch) -> Epoch {
    match epoch {
        _ if has(Mutation::NotRetained) => Epoch(0),
        Epoch(epoch) if has(Mutation::RetainedForAnother) => Epoch(epoch + 1),
        epoch => epoch,
    }
}

/// Whether a thread that dies with locks held ends the process: not where a simulator sees to it, nor with
/// [`Mutation::DeathWithLocks`].
#[inline(always)]
pub(super) fn ends_process() -> bool {
    !is_simulated() && !has(Mutation::DeathWithLocks)
}

/// Whether an error waits until what it tells of is durable ([`Mutation::ErrorToldAtOnce`]).
#[inline(always)]
pub(super) fn waits_for_errors() -> bool {
    !has(Mutation::ErrorToldAtOnce)
}

/// Whether definitions hold ([`Mutation::DefinitionUnchecked`]).
#[inline(always)]
pub(super) fn definitions_hold(hold: bool) -> bool {
    hold || has(Mutation::DefinitionUnchecked)
}

/// The table under whose id a write is logged ([`Mutation::CatalogUnlogged`]).
#[inline(always)]
pub(super) fn logged(id: TableId) -> Option<TableId> {
    (id >= TableId::FIRST_USER || !has(Mutation::CatalogUnlogged)).then_some(id)
}

/// Whether a scan observes a leaf to which it goes on ([`Mutation::LaterLeavesUnobserved`]).
#[inline(always)]
pub(super) fn observes_later_leaves() -> bool {
    !has(Mutation::LaterLeavesUnobserved)
}

/// The entry of a unique index, as it is now and without having been observed ([`Mutation::UniqueUnobserved`]); `None`: it is to
/// be looked up.
#[inline(always)]
pub(super) fn look_up_unobserved<'a>(
    transaction: &'a Transaction<'_>,
    state: &mut TransactionState,
    tree: &RecordTree,
    tree_ref: TreeRef,
    key: &[u8],
) -> Result<Option<(Looked<'a>, bool)>, TransactionError> {
    if !has(Mutation::UniqueUnobserved) {
        return Ok(None);
    }
    let (record, is_placeholder) = transaction.index_record(state, tree, tree_ref, key, false)?;
    let content = match state.writes.find(record) {
        Some(_) => transaction.read(state, record)?.flatten(),
        None => transaction.pin.get(record).version(&transaction.pin).map(Content::Committed),
    };
    Ok(Some(((record, content), is_placeholder)))
}

/// Whether a tombstone with this stamp may be purged ([`Mutation::EarlyPurge`]).
#[inline(always)]
pub(super) fn is_due(stamp: Stamp, stable: Stamp) -> bool {
    stamp <= stable || has(Mutation::EarlyPurge)
}

/// Whether a tombstone is the one that was noted ([`Mutation::LaterTombstonePurged`]).
#[inline(always)]
pub(super) fn is_noted(is_same: bool) -> bool {
    is_same || has(Mutation::LaterTombstonePurged)
}

/// Keeps for a snapshot what it has of a record that is purged ([`Mutation::OrphansForgotten`]).
#[inline(always)]
pub(super) fn keep(keep: impl FnOnce()) {
    if !has(Mutation::OrphansForgotten) {
        keep();
    }
}

/// The stamp that a leaf takes over from a purged tombstone ([`Mutation::EarlyPurge`]).
#[inline(always)]
pub(super) fn left_behind(stamp: Stamp) -> Stamp {
    if has(Mutation::EarlyPurge) { Stamp::ZERO } else { stamp }
}

/// Takes the number of a transaction that drew it and does not commit ([`Mutation::AbortedLogged`]).
#[inline(always)]
pub(super) fn give_up<'l>(slot: Slot<'l>, write_record: impl FnOnce(Slot<'l>)) {
    if has(Mutation::AbortedLogged) { write_record(slot) } else { slot.skip() }
}
