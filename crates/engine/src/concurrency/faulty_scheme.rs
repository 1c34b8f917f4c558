//! A scheme that the simulation makes wrong, step by step.
//!
//! Absent: what ships. It has no such wrapper (scheme.rs).

use std::cell::Cell;
use std::sync::atomic::{Ordering, fence};

use osier_memory::sync::Arc;
use osier_memory::{
    Committer, Held, KeyHash, KeyStamps, LeafChange, LeafRead, LockWord, Observed, Owner, Pin, Record, RecordBox,
    Stamp, Version,
};

use crate::concurrency::optimistic::{Optimistic, RowRead, Seen, install, may_change};
use crate::concurrency::write_set::{Write, WriteSet};
use crate::concurrency::{ConcurrencyControl, Found, GatheringOf, Intent};
use crate::error::TransactionError;
use crate::failpoint::{Mutation, Point, has, yield_at};
use crate::ids::{Epoch, StreamId};
use crate::log::gathering::{Gathered, lane};
use crate::log::protocol::SourceOf;
use crate::table::store::RecordTree;

/// A scheme with the faults that are built into the calling thread.
pub(crate) struct Built<C>(C, Judged);

/// What a validation said that came too early ([`Mutation::ReadsRaisedLate`]).
type Judged = Cell<Option<Result<(), TransactionError>>>;

impl<C> From<C> for Built<C> {
    fn from(control: C) -> Built<C> {
        Built(control, Judged::default())
    }
}

/// A scheme that observes as optimistic control does, if need be beside its locks.
pub(crate) trait Observing: ConcurrencyControl {
    fn observed(&self) -> &Optimistic<Self::Dependency>;

    fn observed_mut(&mut self) -> &mut Optimistic<Self::Dependency>;

    /// Installs one write.
    fn install_write(&self, pin: &Pin<'_>, write: &mut Write, stamp: Stamp, committer: &Committer<'_>) {
        install(pin, write, stamp, committer);
    }

    /// Every write was installed.
    fn installed(&mut self, _pin: &Pin<'_>) {}
}

impl<D: Gathered> Observing for Optimistic<D> {
    fn observed(&self) -> &Optimistic<D> {
        self
    }

    fn observed_mut(&mut self) -> &mut Optimistic<D> {
        self
    }
}

impl<C: Observing> Built<C> {
    /// Runs an access, and forgets what it depends on where `mutation` is built in.
    fn without_dependency<T>(&mut self, mutation: Mutation, access: impl FnOnce(&mut C) -> T) -> T {
        let before = has(mutation).then(|| self.0.observed().reads.raw_dep.clone());
        let result = access(&mut self.0);
        if let Some(before) = before {
            self.0.observed_mut().reads.raw_dep = before;
        }
        result
    }
}

impl<C: Observing> ConcurrencyControl for Built<C> {
    type Dependency = C::Dependency;

    fn owner(&self) -> Option<&Arc<Owner>> {
        self.0.owner()
    }

    fn begin(&mut self, pin: &Pin<'_>, durable: impl FnOnce() -> Stamp) {
        self.0.begin(pin, durable);
    }

    fn read<'a>(
        &mut self,
        pin: &'a Pin<'_>,
        record: Held<Record>,
        intent: Intent,
    ) -> Result<Found<'a>, TransactionError> {
        match pin.get(record).read(pin) {
            // Names of the catalog are observed beside their records.
            Observed::Absent(_) if has(Mutation::PlaceholderUnobserved) && intent != Intent::Definition => {
                Ok(Found::Absent)
            }
            Observed::Absent(_) => {
                self.without_dependency(Mutation::AbsencesIgnored, |control| control.read(pin, record, intent))
            }
            _ => self.0.read(pin, record, intent),
        }
    }

    fn read_existence(
        &mut self,
        pin: &Pin<'_>,
        record: Held<Record>,
        intent: Intent,
        is_durable: impl FnOnce(Stamp) -> bool,
    ) -> Result<Option<Stamp>, TransactionError> {
        let read = |control: &mut C| control.read_existence(pin, record, intent, is_durable);
        self.without_dependency(Mutation::BirthIgnored, read)
    }

    fn scan(&mut self, pin: &Pin<'_>, leaf: LeafRead, intent: Intent) -> Result<bool, TransactionError> {
        self.without_dependency(Mutation::AbsencesIgnored, |control| control.scan(pin, leaf, intent))
    }

    fn name_absent(&mut self, pin: &Pin<'_>, tree: &Arc<RecordTree>, key: &[u8], leaf: LeafRead) {
        if has(Mutation::NameUnobserved) {
            return self.0.depend(leaf.max_stamp());
        }
        self.without_dependency(Mutation::AbsencesIgnored, |control| control.name_absent(pin, tree, key, leaf));
    }

    fn depend(&mut self, stamp: Stamp) {
        self.0.depend(stamp);
    }

    fn observe_now(&mut self) -> Result<(), TransactionError> {
        self.0.observe_now()
    }

    fn write(&mut self, pin: &Pin<'_>, record: Held<Record>, intent: Intent) -> Result<(), TransactionError> {
        self.0.write(pin, record, intent)
    }

    fn try_lock(&mut self, pin: &Pin<'_>, record: Held<Record>) -> Result<bool, TransactionError> {
        self.0.try_lock(pin, record)
    }

    fn may_insert(&self, gap: &LockWord, intent: Intent) -> bool {
        self.0.may_insert(gap, intent)
    }

    fn wait_to_insert(&mut self, pin: &Pin<'_>, leaf: LeafRead) -> Result<(), TransactionError> {
        self.0.wait_to_insert(pin, leaf)
    }

    fn placeholder(&self, key: &[u8], stamp: Stamp, intent: Intent) -> RecordBox {
        self.0.placeholder(key, stamp, intent)
    }

    fn inserted(
        &mut self,
        pin: &Pin<'_>,
        change: &LeafChange,
        placeholder: Held<Record>,
        stamp: Stamp,
        intent: Intent,
    ) -> Result<(), TransactionError> {
        self.0.inserted(pin, change, placeholder, stamp, intent)?;
        if has(Mutation::SplitHalfForgotten)
            && let Some(half) = change.after().nth(1)
        {
            self.0.observed_mut().reads.leaves.remove(&half);
        }
        Ok(())
    }

    fn discarded(&mut self, pin: &Pin<'_>, record: Held<Record>) {
        self.0.discarded(pin, record);
    }

    fn gathered(&self) -> &GatheringOf<C> {
        self.0.gathered()
    }

    fn close(&mut self, pin: &Pin<'_>, writes: &WriteSet, source: &SourceOf<C::Dependency>, own: StreamId) {
        self.0.close(pin, writes, source, own);
    }

    fn lock(&mut self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        self.0.lock(pin, writes)
    }

    fn order(&mut self) {
        self.0.order();
    }

    fn order_observer(&self, pin: &Pin<'_>) -> Epoch {
        self.0.order_observer(pin)
    }

    fn prevalidate(&self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        writes.sort_for_locking(pin);
        self.validate(pin, writes)
    }

    fn validate(&self, pin: &Pin<'_>, writes: &WriteSet) -> Result<(), TransactionError> {
        if let Some(judged) = self.1.take() {
            return judged;
        }
        if writes.is_empty() && has(Mutation::AbortNotValidated) {
            return Ok(());
        }
        if has(Mutation::BirthUnchecked) || has(Mutation::RowBeforeWord) {
            fence(Ordering::SeqCst);
            let reads = &self.0.observed().reads;
            if !reads.rows.iter().all(|read| is_unchanged_wrongly(pin, read, writes)) {
                return Err(TransactionError::ROW_CONFLICT);
            }
            return match reads.leaves_unchanged(pin) {
                true => Ok(()),
                false => Err(TransactionError::RANGE_CONFLICT),
            };
        }
        match self.0.validate(pin, writes) {
            Err(TransactionError::RANGE_CONFLICT) if has(Mutation::NoLeafValidation) || has(Mutation::GapsUnlocked) => {
                Ok(())
            }
            validated => validated,
        }
    }

    fn base(&self, pin: &Pin<'_>, writes: &WriteSet, reads: Option<&KeyStamps>) -> Stamp {
        self.0.base(pin, writes, reads.filter(|_| !has(Mutation::ReadsUnordered)))
    }

    fn base_of_rows(&self, pin: &Pin<'_>, writes: &WriteSet) -> Stamp {
        self.0.base_of_rows(pin, writes)
    }

    fn raise_reads(&self, pin: &Pin<'_>, writes: &WriteSet, reads: &KeyStamps, at: (StreamId, Stamp)) {
        if has(Mutation::ReadsRaisedLate) {
            let judged = self.validate(pin, writes);
            yield_at(Point::Validated);
            self.1.set(Some(judged));
        }
        if has(Mutation::LeavesUnraised) {
            let keys = self.0.observed().reads.rows.iter().map(|read| KeyHash::of(pin.get(read.record).key()));
            return keys.for_each(|key| reads.raise(key, lane(reads, at.0), at.1));
        }
        self.0.raise_reads(pin, writes, reads, at);
    }

    fn unlock(&mut self, pin: &Pin<'_>, writes: &WriteSet) {
        self.0.unlock(pin, writes);
    }

    fn install(&mut self, pin: &Pin<'_>, writes: &mut WriteSet, stamp: Stamp, committer: &Committer<'_>) {
        let is_early = |write: &Write| {
            has(Mutation::UnlockBeforeInstall) || has(Mutation::LateIndexInsert) && write.is_placeholder
        };
        writes.iter().filter(|write| is_early(write)).for_each(|write| pin.get(write.record).unlock());
        for write in writes.iter_mut().filter(|write| !is_early(write)) {
            self.0.install_write(pin, write, stamp, committer);
        }
        for write in writes.iter_mut().filter(|write| is_early(write)) {
            // Others get in between.
            yield_at(Point::Installed);
            let version = write.take_version(stamp);
            pin.get(write.record).replay(pin, stamp, version);
        }
        self.0.installed(pin);
    }

    fn await_met(&mut self) -> Result<bool, TransactionError> {
        self.0.await_met()
    }

    fn read_until(&self, pin: &Pin<'_>) -> Epoch {
        self.0.read_until(pin)
    }

    fn end(&mut self, pin: &Pin<'_>) {
        self.0.end(pin);
    }
}

/// Looks at one word too few, or at the two in the wrong order.
fn is_unchanged_wrongly(pin: &Pin<'_>, read: &RowRead, writes: &WriteSet) -> bool {
    let record = pin.get(read.record);
    let may_change = || may_change(pin, read, record.word(), writes);
    match read.seen {
        Seen::Stamp(stamp) => !may_change() && record.word().stamp() == stamp,
        Seen::Existence(_) if has(Mutation::BirthUnchecked) => !may_change() && record.version(pin).is_some(),
        Seen::Existence(birth) => {
            let is_there = record.version(pin).is_some_and(|version: &Version| version.birth() <= birth);
            yield_at(Point::HalfChecked);
            is_there && !may_change()
        }
    }
}
