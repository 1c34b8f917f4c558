//! Where the simulation makes transactions wrong. What ships gets back what it gave, and does what it meant to.

#[cfg(not(feature = "mutations"))]
use osier_memory::Snapshots;
use osier_memory::{Held, LockWord, Pin, Record, SPoint, Stamp};

use super::access::{Content, Looked};
use super::payload::Payload;
use super::shares::Admitted;
use super::{Commit, Transaction, TransactionState};
use crate::concurrency::write_set::{TreeRef, WriteSet};
use crate::concurrency::{ConcurrencyControl, Found, Intent};
use crate::error::TransactionError;
use crate::failpoint::{Mutation, has, unless};
use crate::ids::{Epoch, StreamId, TableId};
use crate::log::format::payload::delta::Delta;
use crate::log::format::payload::in_parts::InParts;
use crate::log::format::payload::physiological::{Before, ImagedWrite};
use crate::log::format::payload::share::Participants;
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::log::format::record::{self, RecordHeader};
use crate::log::persist::Slot;
use crate::log::protocol::{LogProtocol, StampOrder};
use crate::table::store::RecordTree;
use crate::table::{KeyBuf, KeyCodec, Row};

/// The epoch of a transaction that has validated ([`Mutation::LateEpoch`], [`Mutation::EpochBeforeLocks`]).
#[inline(always)]
pub(super) fn epoch(announced: &Announced<'_>, pin: &Pin<'_>, epoch: Epoch) -> Epoch {
    #[cfg(feature = "mutations")]
    if let Some(early) = announced.early {
        return early;
    }
    let _ = announced;
    if has(Mutation::LateEpoch) { pin.current_epoch() } else { epoch }
}

/// The serialization point of a transaction, and its epoch ([`Mutation::CommitUnannounced`]).
#[inline(always)]
pub(super) fn s_point<'p>(pin: &'p Pin<'_>) -> (Option<SPoint<'p>>, Epoch) {
    let s_point = pin.s_point();
    let epoch = s_point.epoch();
    (Some(s_point).filter(|_| !has(Mutation::CommitUnannounced)), epoch)
}

/// Whether the epoch of a snapshot has ended ([`Mutation::SnapshotBeforeEnd`]).
#[inline(always)]
pub(super) fn is_readable(is_readable: bool) -> bool {
    is_readable || has(Mutation::SnapshotBeforeEnd)
}

/// What must be durable before what a snapshot holds is told ([`Mutation::SnapshotToldAtOnce`]).
#[inline(always)]
pub(super) fn snapshot_stamp(stamp: Stamp) -> Stamp {
    if has(Mutation::SnapshotToldAtOnce) { Stamp::ZERO } else { stamp }
}

/// Whether a thread that dies with locks held ends the process ([`Mutation::DeathWithLocks`]).
#[inline(always)]
pub(super) fn ends_process(ends_process: bool) -> bool {
    ends_process && !has(Mutation::DeathWithLocks)
}

/// Kills a thread that has committed definitions and has not published them ([`Mutation::DeathUnpublished`]).
#[inline(always)]
pub(super) fn die_unpublished(is_defining: bool) {
    assert!(!(is_defining && has(Mutation::DeathUnpublished)), "the test kills this thread");
}

/// Waits until what an error tells of is durable ([`Mutation::ErrorToldAtOnce`]).
#[inline(always)]
pub(super) fn wait_for_errors<E>(wait: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::ErrorToldAtOnce, wait)
}

/// The stamp up to which transactions may have used a definition that is changed ([`Mutation::UsersUnordered`]).
#[inline(always)]
pub(super) fn used_until(stamp: Stamp) -> Stamp {
    if has(Mutation::UsersUnordered) { Stamp::ZERO } else { stamp }
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

/// The stamp of the reservation of a value that a transaction uses ([`Mutation::ReservationIgnored`]).
#[inline(always)]
pub(super) fn reservation(stamp: Stamp) -> Stamp {
    if has(Mutation::ReservationIgnored) { Stamp::ZERO } else { stamp }
}

/// Observes a leaf to which a scan goes on ([`Mutation::LaterLeavesUnobserved`]).
#[inline(always)]
pub(super) fn observe_later_leaf<E>(observe: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::LaterLeavesUnobserved, observe)
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
    let (record, is_placeholder) = transaction.index_record(state, tree, tree_ref, key, (false, Intent::Write))?;
    let content = match state.writes.find(record) {
        Some(_) => transaction.read(state, record, Intent::Write)?.flatten(),
        None => transaction.pin().get(record).version(transaction.pin()).map(Content::Committed),
    };
    Ok(Some(((record, content), is_placeholder)))
}

/// What is overwritten, without having been read ([`Mutation::OverwrittenUnread`]); `None`: it is to be read.
#[inline(always)]
pub(super) fn unread<'a>(pin: &'a Pin<'_>, record: Held<Record>) -> Option<Found<'a>> {
    has(Mutation::OverwrittenUnread).then(|| pin.get(record).version(pin).map_or(Found::Absent, Found::Present))
}

/// A write as it is logged with the row before ([`Mutation::BeforeImageReplayed`]: what became of the row and what it was take
/// each other's places).
#[inline(always)]
pub(super) fn imaged(imaged: ImagedWrite<'_>) -> ImagedWrite<'_> {
    if !has(Mutation::BeforeImageReplayed) {
        return imaged;
    }
    let (change, before) = match (imaged.write.change, imaged.before) {
        (Change::Put(new), Before::Image(old)) => (Change::Put(old), Before::Image(new)),
        (Change::Delta(Delta { base, body }), Before::Ranges(undo)) => {
            (Change::Delta(Delta { base, body: undo }), Before::Ranges(body))
        }
        pair => pair,
    };
    ImagedWrite { write: LoggedWrite { change, ..imaged.write }, before }
}

/// The entry that a row is to lose; `is_left`: it stays and gets no other one ([`Mutation::LeftEntryStays`]).
#[inline(always)]
pub(super) fn leaving(entry: Option<KeyBuf>, is_left: bool) -> Option<KeyBuf> {
    entry.filter(|_| !is_left || !has(Mutation::LeftEntryStays))
}

/// As [`leaving`], where the change is made again ([`Mutation::ReplayedEntryStays`]).
#[inline(always)]
pub(super) fn leaving_again(entry: Option<KeyBuf>, is_left: bool) -> Option<KeyBuf> {
    entry.filter(|_| !is_left || !has(Mutation::ReplayedEntryStays))
}

/// The entry of a row in an index that is added ([`Mutation::ExcludedFilled`]).
#[inline(always)]
pub(super) fn filled(codec: &KeyCodec, row: &Row<'_>) -> Option<KeyBuf> {
    if has(Mutation::ExcludedFilled) { Some(codec.of_row(row)) } else { codec.entry_of_row(row) }
}

/// Whether a leaf that a scan has read lacks what was put into trees since ([`Mutation::LeafScannedOnce`]).
#[inline(always)]
pub(super) fn is_outdated(is_outdated: bool) -> bool {
    is_outdated && !has(Mutation::LeafScannedOnce)
}

/// Whether somebody has locked what is to be purged ([`Mutation::LockedPurged`]).
#[inline(always)]
pub(super) fn is_held(is_held: impl FnOnce() -> bool) -> bool {
    !has(Mutation::LockedPurged) && is_held()
}

/// Gives back the lock of what is not purged, if it was taken.
#[inline(always)]
pub(super) fn open(lock_word: &LockWord) {
    if !has(Mutation::LockedPurged) {
        lock_word.open();
    }
}

/// Whether a tombstone with this stamp may be purged ([`Mutation::EarlyPurge`]).
#[inline(always)]
pub(super) fn is_due(stamp: Stamp, stable: Stamp) -> bool {
    stamp <= stable || has(Mutation::EarlyPurge)
}

/// Whether nobody sees a row of a tombstone any more ([`Mutation::PastPurged`]).
#[inline(always)]
pub(super) fn is_unread(is_unread: bool) -> bool {
    is_unread || has(Mutation::PastPurged)
}

/// Whether a tombstone is the one that was noted ([`Mutation::LaterTombstonePurged`]).
#[inline(always)]
pub(super) fn is_noted(is_same: bool) -> bool {
    is_same || has(Mutation::LaterTombstonePurged)
}

/// Keeps for snapshots what they see of a record that is purged ([`Mutation::OrphansForgotten`]).
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

/// Logs a transaction that drew its number and did not validate, under another one: its own is skipped
/// ([`Mutation::AbortedLogged`]).
#[inline(always)]
pub(super) fn log_aborted<C: ConcurrencyControl, P: LogProtocol>(
    commit: &Commit<'_, '_>,
    control: &C,
    protocol: &P,
    (writes, payload): (&WriteSet, &impl Payload),
    (header, admitted): (RecordHeader<C::Dependency>, &Admitted),
) {
    if has(Mutation::AbortedLogged) && matches!(protocol.stamp_order(), StampOrder::BeforeValidation) {
        let base = control.base(commit.pin, writes, protocol.read_stamps());
        let record_bytes = record::encoded_len(&header, admitted.prepared.bytes);
        if let Ok(Some(slot)) = protocol.stamp(commit.stream, base, record_bytes) {
            commit.write_record(slot, header, writes, payload);
        }
    }
}

/// Gives up the room of a transaction that drew its number and does not commit ([`Mutation::SlotUnskipped`]).
#[inline(always)]
pub(super) fn skip<'l>(slots: impl IntoIterator<Item = Slot<'l>>) {
    for slot in slots {
        if has(Mutation::SlotUnskipped) { slot.fill(|_, _| ()) } else { slot.skip() }
    }
}

/// The room for the share of `stream`, unless it gets none ([`Mutation::ShareMissing`]: that of the last stream).
#[inline(always)]
pub(super) fn share<'l>(slot: Slot<'l>, named: &Option<Participants>, stream: StreamId) -> Option<Slot<'l>> {
    if has(Mutation::ShareMissing) && named.is_some_and(|named| named.iter().last() == Some(stream)) {
        slot.skip();
        return None;
    }
    Some(slot)
}

/// Whether the last part of several is not written ([`Mutation::PartMissing`]).
#[inline(always)]
pub(super) fn is_left_out(is_last: bool) -> bool {
    is_last && has(Mutation::PartMissing)
}

/// The parts that a record names ([`Mutation::PartOfAnother`]: those of the transaction before).
#[inline(always)]
pub(super) fn named_parts(named: InParts) -> InParts {
    #[cfg(feature = "mutations")]
    if has(Mutation::PartOfAnother) {
        thread_local! {
            static BEFORE: std::cell::Cell<Option<InParts>> = const { std::cell::Cell::new(None) };
        }
        let before = BEFORE.replace(Some(named)).filter(|before| before.last < named.first);
        return before.unwrap_or(named);
    }
    named
}

/// The snapshots, as a commit asks about them.
#[cfg(not(feature = "mutations"))]
pub(super) type Announced<'c> = &'c Snapshots;

/// Returns the snapshots for a commit.
#[cfg(not(feature = "mutations"))]
pub(super) fn announced<'c>(snapshots: &'c Snapshots, _pin: &'c Pin<'_>) -> Announced<'c> {
    snapshots
}

#[cfg(feature = "mutations")]
pub(super) use wrapped::{Announced, announced};

#[cfg(feature = "mutations")]
mod wrapped {
    use std::cell::Cell;

    use osier_memory::{Committer, Pin, Snapshots};

    use crate::failpoint::{Mutation, Point, has, yield_at};
    use crate::ids::Epoch;

    /// The snapshots, with the faults that are built into the calling thread.
    pub(crate) struct Announced<'c> {
        snapshots: &'c Snapshots,
        /// What was found before the locks were held ([`Mutation::StaleAnnouncement`]).
        stale: Cell<Option<Committer<'c>>>,
        /// The epoch by then ([`Mutation::EpochBeforeLocks`]).
        pub(super) early: Option<Epoch>,
    }

    /// Wraps the snapshots, before the locks are held.
    pub(crate) fn announced<'c>(snapshots: &'c Snapshots, pin: &'c Pin<'_>) -> Announced<'c> {
        // A look that finds a snapshot does no harm.
        let is_stale = has(Mutation::StaleAnnouncement) && !snapshots.is_open(pin);
        let stale = is_stale.then(|| snapshots.committer(pin, Epoch(u64::MAX)));
        let early = has(Mutation::EpochBeforeLocks).then(|| pin.current_epoch());
        if early.is_some() {
            // Others get in between.
            yield_at(Point::Ordered);
        }
        Announced { snapshots, stale: Cell::new(stale), early }
    }

    impl<'c> Announced<'c> {
        /// As [`Snapshots::committer`] ([`Mutation::NotRetained`], [`Mutation::RetainedForAnother`]).
        pub(crate) fn committer(&self, pin: &'c Pin<'_>, epoch: Epoch) -> Committer<'c> {
            let overwritten_in = match epoch {
                _ if has(Mutation::NotRetained) => Epoch(0),
                Epoch(epoch) if has(Mutation::RetainedForAnother) => Epoch(epoch + 1),
                epoch => epoch,
            };
            self.stale.take().unwrap_or_else(|| self.snapshots.committer(pin, overwritten_in))
        }
    }
}
