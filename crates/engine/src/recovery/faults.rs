//! Where the simulation makes recovery wrong. What ships gets back what it gave, and does what it meant to.

use std::collections::{BTreeSet, VecDeque};

use osier_memory::Replayed;

use crate::catalog::TABLES;
use crate::failpoint::{Mutation, has, unless};
use crate::ids::{Epoch, Stamp, TableId};
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::table::{KeyBuf, KeyCodec, Row, Schema, Value};

/// Returns what certainly lives before the cut is known; `everything` is a cut under which every record lives
/// ([`Mutation::NoGenerationFreeze`], [`Mutation::ReplayBeforeCut`]).
#[inline(always)]
pub(super) fn certain<C>(certain: C, is_frozen: bool, everything: impl FnOnce() -> C) -> C {
    let fault = if is_frozen { Mutation::NoGenerationFreeze } else { Mutation::ReplayBeforeCut };
    if has(fault) { everything() } else { certain }
}

/// Whether a stream without a record of its generation is an older one ([`Mutation::StaleStreamTaken`]).
#[inline(always)]
pub(super) fn misses_begin(records_begin: bool) -> bool {
    records_begin && !has(Mutation::StaleStreamTaken)
}

/// Whether a record is of a later epoch than the one that the database is taken back to ([`Mutation::UntilIgnored`]).
#[inline(always)]
pub(super) fn is_after(is_after: bool) -> bool {
    is_after && !has(Mutation::UntilIgnored)
}

/// Whether that holds in the second pass ([`Mutation::LateUntilIgnored`]).
#[inline(always)]
pub(super) fn is_deferred_after(is_after: bool) -> bool {
    is_after && !has(Mutation::LateUntilIgnored)
}

/// Takes the ids of procedures that were defined by what was run again ([`Mutation::ProcedureIdReused`]).
#[inline(always)]
pub(super) fn take_procedure_ids<E>(take: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::ProcedureIdReused, take)
}

/// Whether a command is covered by the checkpoint ([`Mutation::CoveredRunAgain`]).
#[inline(always)]
pub(super) fn is_covered(is_covered: bool) -> bool {
    is_covered && !has(Mutation::CoveredRunAgain)
}

/// Whether a command lives ([`Mutation::DeadRunAgain`]).
#[inline(always)]
pub(super) fn lives(lives: bool) -> bool {
    lives || has(Mutation::DeadRunAgain)
}

/// What the first records of streams are ordered by ([`Mutation::StreamsUnmerged`]).
#[inline(always)]
pub(super) fn place(stamp: Stamp) -> Stamp {
    if has(Mutation::StreamsUnmerged) { Stamp::ZERO } else { stamp }
}

/// Whether a record goes on with the transaction of the one before ([`Mutation::SharesRunApart`]).
#[inline(always)]
pub(super) fn continues(continues: bool) -> bool {
    continues && !has(Mutation::SharesRunApart)
}

/// Whether the order in which transactions are run again is that of their stamps ([`Mutation::ValuesRunFirst`]).
#[inline(always)]
pub(super) fn follows(follows: bool) -> bool {
    follows || has(Mutation::ValuesRunFirst)
}

/// Leaves what was found of a stream in its order ([`Mutation::ValuesRunFirst`]).
#[inline(always)]
pub(super) fn in_order<T>(found: &mut VecDeque<T>, is_command: impl Fn(&T) -> bool) {
    if has(Mutation::ValuesRunFirst) {
        found.make_contiguous().sort_by_key(is_command);
    }
}

/// Whether a fuzzy checkpoint is no base for commands ([`Mutation::FuzzyBaseTaken`]).
#[inline(always)]
pub(super) fn is_no_base(is_no_base: bool) -> bool {
    is_no_base && !has(Mutation::FuzzyBaseTaken)
}

/// Returns the birth of a row of a checkpoint, which was written last with `stamp` ([`Mutation::BornInCheckpoint`]).
#[inline(always)]
pub(super) fn birth_in_checkpoint(stamp: Stamp) -> Stamp {
    if has(Mutation::BornInCheckpoint) { stamp } else { Stamp::ZERO }
}

/// Returns how what a command wrote again differs from what it had written ([`Mutation::HashUncompared`]).
#[inline(always)]
pub(super) fn difference<D>(difference: Option<D>) -> Option<D> {
    difference.filter(|_| !has(Mutation::HashUncompared))
}

/// Whether a segment is read to its end ([`Mutation::ChunkEndsSegment`]).
#[inline(always)]
pub(super) fn is_exhausted(is_exhausted: bool) -> bool {
    is_exhausted || has(Mutation::ChunkEndsSegment)
}

/// Whether a write of `stamp` loses against what its key has ([`Mutation::StampsIgnored`],
/// [`Mutation::TombstonesNotReplayed`]).
#[inline(always)]
pub(super) fn is_superseded(found: Stamp, stamp: Stamp, is_delete: bool) -> bool {
    let is_first = found == Stamp::ZERO;
    let is_forgotten = is_delete && is_first && has(Mutation::TombstonesNotReplayed);
    found >= stamp || is_forgotten || (!is_first && has(Mutation::StampsIgnored))
}

/// Whether a row stands at the version that a delta changes ([`Mutation::BaseIgnored`]).
#[inline(always)]
pub(super) fn is_base(is_base: bool) -> bool {
    is_base || has(Mutation::BaseIgnored)
}

/// Lets a delta wait for its base, and returns what becomes of the row ([`Mutation::DeltaDropped`]).
#[inline(always)]
pub(super) fn waiting(wait: impl FnOnce()) -> Replayed {
    if has(Mutation::DeltaDropped) {
        return Replayed::Superseded;
    }
    wait();
    Replayed::Waits
}

/// Whether what is newer than an image waits on ([`Mutation::WaitingForgotten`]).
#[inline(always)]
pub(super) fn still_waits(is_newer: bool) -> bool {
    is_newer && !has(Mutation::WaitingForgotten)
}

/// Returns the entry that a row leaves in an index which is kept in step ([`Mutation::ReplacedEntryKept`]).
#[inline(always)]
pub(super) fn leaving_entry(entry: Option<KeyBuf>) -> Option<KeyBuf> {
    entry.filter(|_| !has(Mutation::ReplacedEntryKept))
}

/// Returns the thread that owns a row, of so many, as `own` sees it ([`Mutation::OwnersDisagree`]).
#[inline(always)]
pub(super) fn owner(owner: usize, own: usize, threads: usize) -> usize {
    if has(Mutation::OwnersDisagree) { (owner + own) % threads } else { owner }
}

/// Whether the owner of a row forgets that it was deleted ([`Mutation::OwnedTombstoneDropped`]).
#[inline(always)]
pub(super) fn forgets_tombstone(is_delete: bool) -> bool {
    is_delete && has(Mutation::OwnedTombstoneDropped)
}

/// Returns what streams of a frozen generation had durably reached: its cut ([`Mutation::BeginsForgotten`]).
#[inline(always)]
pub(super) fn frozen_durable(cut: Stamp, floor: Stamp) -> Stamp {
    if has(Mutation::BeginsForgotten) { floor } else { cut }
}

/// Returns the tail of a stream, which is to be written again ([`Mutation::TailNotPersisted`]).
#[inline(always)]
pub(super) fn tail<T>(tail: Option<T>) -> Option<T> {
    tail.filter(|_| !has(Mutation::TailNotPersisted))
}

/// Whether a frozen generation has epochs that are given up ([`Mutation::UntilForgotten`]).
#[inline(always)]
pub(super) fn is_given_up(is_given_up: bool) -> bool {
    is_given_up && !has(Mutation::UntilForgotten)
}

/// Syncs the names in a directory before any of them changes ([`Mutation::RenamedTwice`]).
#[inline(always)]
pub(super) fn sync_names<E>(sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    unless(Mutation::RenamedTwice, sync)
}

/// Returns the last epoch before a time, of which `later` is the first one that is not ([`Mutation::TimeOvershot`]).
#[inline(always)]
pub(super) fn last_epoch(last: Epoch, later: Epoch) -> Epoch {
    if has(Mutation::TimeOvershot) { later } else { last }
}

/// Whether a checkpoint holds later epochs than the one that is asked for ([`Mutation::MaxEpochIgnored`]).
#[inline(always)]
pub(super) fn reaches_beyond(reaches_beyond: bool) -> bool {
    reaches_beyond && !has(Mutation::MaxEpochIgnored)
}

/// Returns the ids of tables that have rows ([`Mutation::TableIdReused`]).
#[inline(always)]
pub(super) fn with_rows(ids: &[TableId]) -> &[TableId] {
    if has(Mutation::TableIdReused) { &[] } else { ids }
}

/// Whether the last of several pieces of an index is built ([`Mutation::IndexPieceLost`]).
#[inline(always)]
pub(super) fn builds_last_piece() -> bool {
    !has(Mutation::IndexPieceLost)
}

/// The entry of a row in an index that is built ([`Mutation::ExcludedIndexed`], [`Mutation::IncludedLeftOut`]).
#[inline(always)]
pub(super) fn entry(codec: &KeyCodec, row: &Row<'_>) -> Option<KeyBuf> {
    let is_zero = |column| matches!(row.value(column), Value::Int(0));
    match codec.entry_of_row(row) {
        None if has(Mutation::ExcludedIndexed) => Some(codec.of_row(row)),
        Some(_)
            if has(Mutation::IncludedLeftOut) && codec.is_partial() && codec.columns().next().is_some_and(is_zero) =>
        {
            None
        }
        entry => entry,
    }
}

/// The schema with which a table is opened ([`Mutation::LayoutForgotten`], [`Mutation::MissingForgotten`]).
#[inline(always)]
pub(super) fn schema(schema: Schema) -> Schema {
    #[cfg(feature = "mutations")]
    if has(Mutation::LayoutForgotten) {
        return schema.without_layout();
    } else if has(Mutation::MissingForgotten) {
        return schema.without_missing_nulls();
    }
    schema
}

/// Which row of the table of tables is lost of a transaction that gives a table another name: the one that goes, or else the one
/// that comes ([`Mutation::OldNameKept`], [`Mutation::NewNameLost`]). `feed` gives the writes.
#[inline(always)]
pub(super) fn lost_name(feed: impl FnOnce(&mut dyn FnMut(LoggedWrite<'_>))) -> Option<Change<'static>> {
    let lost = match (has(Mutation::OldNameKept), has(Mutation::NewNameLost)) {
        (true, _) => Change::Delete,
        (_, true) => Change::Put(&[]),
        _ => return None,
    };
    let (mut goes, mut comes) = (false, false);
    feed(&mut |write| {
        goes |= is_lost(Some(Change::Delete), &write);
        comes |= is_lost(Some(Change::Put(&[])), &write);
    });
    Some(lost).filter(|_| goes && comes)
}

/// Whether a write is what is lost.
#[inline(always)]
pub(super) fn is_lost(lost: Option<Change<'static>>, write: &LoggedWrite<'_>) -> bool {
    lost.is_some_and(|lost| write.table == TABLES && (write.change == Change::Delete) == (lost == Change::Delete))
}

/// Takes a transaction that was taken for one that has run ([`Mutation::TakenForRun`]).
#[inline(always)]
pub(super) fn run_ahead(ran: impl FnOnce()) {
    if has(Mutation::TakenForRun) {
        ran();
    }
}

/// The key space of a row that was logged as values; one of its own with [`Mutation::AdHocUnordered`].
#[inline(always)]
pub(super) fn place_of_values(key: Option<u64>) -> Option<u64> {
    if has(Mutation::AdHocUnordered) { key.map(|key| !key) } else { key }
}

/// Whether those are waited for that have read a row which is modified ([`Mutation::ReadersUnawaited`]).
#[inline(always)]
pub(super) fn awaits_readers() -> bool {
    !has(Mutation::ReadersUnawaited)
}

/// Whether those are waited for that have accessed rows of a table which is accessed as a whole
/// ([`Mutation::TablesUnawaited`]).
#[inline(always)]
pub(super) fn awaits_rows() -> bool {
    !has(Mutation::TablesUnawaited)
}

/// Whether an access waits for the backlog ([`Mutation::BacklogUnread`]).
#[inline(always)]
pub(super) fn settles(writes: bool) -> bool {
    writes || !has(Mutation::BacklogUnread)
}

/// Whether the keys of a range begin alike ([`Mutation::BacklogRangeAsKey`]).
#[inline(always)]
pub(super) fn begin_alike(begin_alike: bool) -> bool {
    begin_alike || has(Mutation::BacklogRangeAsKey)
}

/// Whether who writes a row that the backlog reads waits for that ([`Mutation::BacklogOverwritten`]).
#[inline(always)]
pub(super) fn settles_readers(writes: bool) -> bool {
    writes && !has(Mutation::BacklogOverwritten)
}

/// Whether that holds, too, where nobody of the backlog changes what is read ([`Mutation::BacklogColumnsOverwritten`]).
#[inline(always)]
pub(super) fn settles_mere_readers(writes: bool) -> bool {
    writes && !has(Mutation::BacklogColumnsOverwritten)
}

/// Whether a row is changed that is read where calls are planned ([`Mutation::ChangedRowsRead`]).
#[inline(always)]
pub(super) fn is_changed(is_changed: bool) -> bool {
    is_changed && !has(Mutation::ChangedRowsRead)
}

/// What changes rows of a segment, with what changes those of the one that is running ([`Mutation::RunningForgotten`]).
pub(super) fn beside<T: Clone + Ord>(now: &BTreeSet<T>, running: &BTreeSet<T>) -> BTreeSet<T> {
    if has(Mutation::RunningForgotten) { now.clone() } else { now | running }
}

/// Whether what changes definitions runs alone ([`Mutation::DefinitionsBeside`]).
#[inline(always)]
pub(super) fn runs_alone(defines: bool) -> bool {
    defines && !has(Mutation::DefinitionsBeside)
}

/// Whether transactions are run at once. The simulation has them run so whatever the log shows.
#[inline(always)]
pub(super) fn is_parallel(is_parallel: bool) -> bool {
    is_parallel || cfg!(feature = "mutations")
}
