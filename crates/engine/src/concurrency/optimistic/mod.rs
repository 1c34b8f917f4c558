//! Optimistic concurrency control after Silo (Tu et al., SOSP 2013, section 4.4), serializable with phantom protection.
//!
//! Reads take no lock and write no shared memory: they load the version pointer and remember its stamp. At commit:
//! lock the write set in address order -> S-point -> validate -> stamp -> install -> unlock.
//!
//! Invariants:
//! - Whatever a version pointer shows is committed: versions are installed only after validation.
//! - A record's stamp changes with each install and never returns to an old value, so an equal stamp on an unlocked word
//!   means unchanged content.
//! - Placeholders are indexed before the S-point: a scanner either sees the placeholder in its read set or finds its
//!   leaf's version changed.
//!
//! - Where the protocol has stamps of reads: they are raised between the stamp and the validation, and a committer takes those of
//!   its write set into its stamp after it has locked. Of a reader that validates and a writer of what it read one sees the
//!   other, so the writer's stamp is the greater one (docs/protocols.md).
//!
//! Where this leaves Silo: the epoch is read at the S-point between two full fences, because the record words and the
//! epoch form a Dekker pattern with other committers; a compiler barrier would do on x86 only.

use std::sync::atomic::{Ordering, fence};

mod leaf_set;
mod read_set;

use osier_memory::sync::{Arc, Backoff};
use osier_memory::{
    Committer, Held, KeyHash, KeyStamps, LeafChange, LeafRead, LockWord, Observed, Pin, Record, RecordBox, Stamp,
    Version, Word,
};

pub(super) use read_set::ReadSet;
pub(crate) use read_set::{RowRead, Seen};

use super::{ConcurrencyControl, Found, GatheringOf, Intent};
use crate::concurrency::write_set::{Write, WriteSet};
use crate::error::TransactionError;
use crate::failpoint::{Point, yield_at};
use crate::ids::StreamId;
use crate::log::gathering::{Gathered, Gathering, Overwritten, lane};
use crate::log::protocol::SourceOf;
use crate::table::store::RecordTree;

/// How often a validation that asks for existence looks whether a commit of others is over: with free processors for about a
/// millisecond, which one of some thousand rows does not take.
const REST_WAITS_MAX: u32 = 260;

/// The reads of one optimistic transaction.
pub(crate) struct Optimistic<D: Gathered> {
    pub(super) reads: ReadSet<D>,
}

impl<D: Gathered> Default for Optimistic<D> {
    fn default() -> Optimistic<D> {
        Optimistic { reads: ReadSet::default() }
    }
}

impl<D: Gathered> Optimistic<D> {
    /// Depends on the version of a record, which others keep from changing.
    #[inline]
    pub(super) fn depend_on_row(&mut self, pin: &Pin<'_>, record: Held<Record>, stamp: Stamp) {
        self.reads.raw_dep.add_row(stamp, || KeyHash::of(pin.get(record).key()));
    }

    /// Waits for those who are committing a change of a row that was read; the caller holds no lock.
    pub(super) fn await_commits(&self, pin: &Pin<'_>) {
        let mut backoff = Backoff::new();
        for read in &self.reads.rows {
            while pin.get(read.record).word().is_locked() {
                backoff.wait();
            }
        }
    }
}

impl<D: Gathered> ConcurrencyControl for Optimistic<D> {
    type Dependency = D;

    #[inline]
    fn begin(&mut self, _pin: &Pin<'_>, durable: impl FnOnce() -> Stamp) {
        self.reads.clear();
        self.reads.raw_dep.begin(durable);
    }

    #[inline]
    fn read<'a>(
        &mut self,
        pin: &'a Pin<'_>,
        record: Held<Record>,
        intent: Intent,
    ) -> Result<Found<'a>, TransactionError> {
        let is_ordered = intent != Intent::Unordered;
        let is_observed = is_ordered && intent != Intent::Unvalidated;
        Ok(match pin.get(record).read(pin) {
            Observed::Present(version) => {
                if is_observed {
                    self.reads.row(record, Seen::Stamp(version.stamp()));
                }
                if is_ordered {
                    self.depend_on_row(pin, record, version.stamp());
                }
                Found::Present(version)
            }
            Observed::Absent(stamp) => {
                if is_observed {
                    self.reads.row(record, Seen::Stamp(stamp));
                }
                if is_ordered {
                    self.depend(stamp);
                }
                Found::Absent
            }
            Observed::Dead => Found::Gone,
        })
    }

    #[inline]
    fn read_existence(
        &mut self,
        pin: &Pin<'_>,
        held: Held<Record>,
        _intent: Intent,
        is_durable: impl FnOnce(Stamp) -> bool,
    ) -> Result<Option<Stamp>, TransactionError> {
        let record = pin.get(held);
        let Some(word) = record.existing() else { return Ok(None) };
        let birth = match is_durable(word.stamp()) {
            true => Some(word.stamp()),
            false => record.version(pin).map(Version::birth),
        };
        if let Some(birth) = birth {
            self.reads.row(held, Seen::Existence(birth));
            self.depend_on_row(pin, held, birth);
        }
        Ok(birth)
    }

    #[inline]
    fn scan(&mut self, _pin: &Pin<'_>, leaf: LeafRead, intent: Intent) -> Result<bool, TransactionError> {
        match intent {
            Intent::Unordered => {}
            Intent::Unvalidated => self.depend(leaf.max_stamp()),
            Intent::Read | Intent::Write | Intent::Definition => self.reads.leaf(leaf),
        }
        Ok(true)
    }

    fn name_absent(&mut self, _pin: &Pin<'_>, tree: &Arc<RecordTree>, key: &[u8], leaf: LeafRead) {
        self.reads.absent(tree, key, leaf);
    }

    #[inline]
    fn depend(&mut self, stamp: Stamp) {
        self.reads.raw_dep.add(stamp);
    }

    #[inline]
    fn write(&mut self, _pin: &Pin<'_>, _record: Held<Record>, _intent: Intent) -> Result<(), TransactionError> {
        Ok(())
    }

    /// Whoever has observed the leaf will find it changed.
    #[inline]
    fn may_insert(&self, _gap: &LockWord, _intent: Intent) -> bool {
        true
    }

    fn wait_to_insert(&mut self, _pin: &Pin<'_>, _leaf: LeafRead) -> Result<(), TransactionError> {
        Ok(())
    }

    #[inline]
    fn placeholder(&self, key: &[u8], stamp: Stamp, _intent: Intent) -> RecordBox {
        Record::new_absent(key, stamp)
    }

    fn inserted(
        &mut self,
        _pin: &Pin<'_>,
        change: &LeafChange,
        placeholder: Held<Record>,
        stamp: Stamp,
        _intent: Intent,
    ) -> Result<(), TransactionError> {
        self.reads.own_insert(change, placeholder, stamp);
        Ok(())
    }

    fn discarded(&mut self, pin: &Pin<'_>, record: Held<Record>) {
        // A dead record fails validation; one that is alive was so whenever its key was looked up.
        if pin.get(record).word().is_dead() {
            self.reads.row(record, Seen::Stamp(Stamp::ZERO));
        }
    }

    #[inline]
    fn gathered(&self) -> &GatheringOf<Self> {
        &self.reads.raw_dep
    }

    #[inline]
    fn close(&mut self, pin: &Pin<'_>, writes: &WriteSet, source: &SourceOf<D>, own: StreamId) {
        let overwritten = writes.iter().map(|write| {
            let record = pin.get(write.record);
            Overwritten { key: record.key(), stamp: record.word().stamp(), is_absent: record.version(pin).is_none() }
        });
        self.reads.raw_dep.close(source, own, overwritten);
    }

    fn prevalidate(&self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        writes.sort_for_locking(pin);
        self.validate(pin, writes)
    }

    fn lock(&mut self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        writes.sort_for_locking(pin);
        let records = writes.sorted();
        for (at, record) in records.iter().enumerate() {
            if pin.get(*record).lock().is_err() {
                records[..at].iter().for_each(|locked| pin.get(*locked).unlock());
                return Err(TransactionError::ROW_CONFLICT);
            }
        }
        Ok(())
    }

    fn validate(&self, pin: &Pin<'_>, writes: &WriteSet) -> Result<(), TransactionError> {
        // Pairs with the same fence of every other committer: either we see its lock, or it sees ours.
        fence(Ordering::SeqCst);
        if !self.reads.rows.iter().all(|read| is_unchanged(pin, read, writes)) {
            return Err(TransactionError::ROW_CONFLICT);
        }
        if !self.reads.leaves_unchanged(pin) || !self.reads.names_absent(pin) {
            return Err(TransactionError::RANGE_CONFLICT);
        }
        Ok(())
    }

    fn base(&self, pin: &Pin<'_>, writes: &WriteSet, reads: Option<&KeyStamps>) -> Stamp {
        let records = || writes.iter().map(|write| pin.get(write.record));
        let base = records().map(|record| record.word().stamp()).fold(self.reads.raw_dep.greatest(), Stamp::max);
        reads.map_or(base, |reads| base.max(reads.greatest(records().map(Record::key))))
    }

    fn base_of_rows(&self, pin: &Pin<'_>, writes: &WriteSet) -> Stamp {
        let overwritten = writes.iter().map(|write| pin.get(write.record).word().stamp());
        let read = self.reads.rows.iter().map(|read| match read.seen {
            Seen::Stamp(stamp) | Seen::Existence(stamp) => stamp,
        });
        overwritten.chain(read).fold(Stamp::ZERO, Stamp::max)
    }

    fn raise_reads(&self, pin: &Pin<'_>, writes: &WriteSet, reads: &KeyStamps, (stream, stamp): (StreamId, Stamp)) {
        // Whoever overwrites what this transaction writes is above its stamp in any case.
        let is_own =
            |read: &RowRead| pin.get(read.record).word().is_locked() && writes.contains_sorted(pin, read.record);
        let rows = self.reads.rows.iter().filter(|read| !is_own(read));
        let lane = lane(reads, stream);
        rows.for_each(|read| reads.raise(KeyHash::of(pin.get(read.record).key()), lane, stamp));
        self.reads.leaves.raise(pin, stamp);
        self.reads.names.iter().for_each(|name| reads.raise(KeyHash::of(&name.key), lane, stamp));
    }

    fn unlock(&mut self, pin: &Pin<'_>, writes: &WriteSet) {
        writes.iter().for_each(|write| pin.get(write.record).unlock());
    }

    fn install(&mut self, pin: &Pin<'_>, writes: &mut WriteSet, stamp: Stamp, committer: &Committer<'_>) {
        for write in writes.iter_mut() {
            install(pin, write, stamp, committer);
        }
    }

    fn await_met(&mut self) -> Result<bool, TransactionError> {
        Ok(false)
    }

    /// Nothing is locked outside of a commit.
    #[inline]
    fn end(&mut self, _pin: &Pin<'_>) {}
}

/// Makes one write visible and releases its lock.
#[inline]
pub(super) fn install(pin: &Pin<'_>, write: &mut Write, stamp: Stamp, committer: &Committer<'_>) {
    let record = pin.get(write.record);
    assert!(record.word().stamp() < stamp, "stamps of one key strictly increase");
    let version = write.take_version(stamp);
    record.install_in(pin, version, stamp, committer, write.tree_ref.index.is_some());
    yield_at(Point::Installed);
}

/// Whether what was learnt about a record is still so, and nobody else is committing a change of it.
pub(crate) fn is_unchanged(pin: &Pin<'_>, read: &RowRead, writes: &WriteSet) -> bool {
    let record = pin.get(read.record);
    match read.seen {
        Seen::Stamp(stamp) => {
            let word = record.word();
            !may_change(pin, read, word, writes) && word.stamp() == stamp
        }
        // The word comes first: a committer whose lock is seen no more has installed what it did, so that the row shows it.
        Seen::Existence(birth) => {
            let word = word_at_rest(pin, read, writes);
            let may_change = may_change(pin, read, word, writes);
            yield_at(Point::HalfChecked);
            let is_born = || record.version(pin).is_some_and(|version| version.birth() <= birth);
            // Nothing was installed since, or nothing that was born since.
            !may_change && (word.stamp() <= birth || is_born())
        }
    }
}

/// The word of a record when nobody else is committing a change of it, which mostly leaves the row there. The wait has an end:
/// two may wait for each other, as both hold locks.
fn word_at_rest(pin: &Pin<'_>, read: &RowRead, writes: &WriteSet) -> Word {
    let mut backoff = Backoff::new();
    for _ in 0..REST_WAITS_MAX {
        let word = pin.get(read.record).word();
        if word.is_dead() || !may_change(pin, read, word, writes) {
            return word;
        }
        backoff.wait();
    }
    pin.get(read.record).word()
}

/// Whether somebody else is committing a change of a record, or it has left its tree.
pub(super) fn may_change(pin: &Pin<'_>, read: &RowRead, word: Word, writes: &WriteSet) -> bool {
    word.is_dead() || (word.is_locked() && !writes.contains_sorted(pin, read.record))
}
