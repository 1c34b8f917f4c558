//! A scheme that the simulation makes wrong, step by step.
//!
//! Absent: what ships. It has no such wrapper (scheme.rs).

use std::cell::Cell;
use std::sync::atomic::{Ordering, fence};

use osier_memory::{Committer, Held, LeafChange, LeafRead, Observed, Pin, ReadStamps, Record, Stamp, Version};

use crate::concurrency::optimistic::{Optimistic, RowRead, Seen, install, may_change};
use crate::concurrency::write_set::{Write, WriteSet};
use crate::concurrency::{ConcurrencyControl, Found};
use crate::error::TransactionError;
use crate::failpoint::{Mutation, Point, has, yield_at};
use crate::log::format::dependency::Dependency;

/// A scheme with the faults that are built into the calling thread.
#[derive(Default)]
pub(crate) struct Built<C>(C, Judged);

/// What a validation said that came too early ([`Mutation::ReadsRaisedLate`]).
type Judged = Cell<Option<Result<(), TransactionError>>>;

impl<D: Dependency> Built<Optimistic<D>> {
    /// Runs an access, and forgets what it depends on where `mutation` is built in.
    fn without_dependency<T>(&mut self, mutation: Mutation, access: impl FnOnce(&mut Optimistic<D>) -> T) -> T {
        let before = has(mutation).then(|| self.0.reads.raw_dep.clone());
        let result = access(&mut self.0);
        if let Some(before) = before {
            self.0.reads.raw_dep = before;
        }
        result
    }
}

impl<D: Dependency> ConcurrencyControl for Built<Optimistic<D>> {
    type Dependency = D;

    fn begin(&mut self) {
        self.0.begin();
    }

    fn read<'a>(&mut self, pin: &'a Pin<'_>, record: Held<Record>) -> Result<Found<'a>, TransactionError> {
        match pin.get(record).read(pin) {
            Observed::Absent(_) if has(Mutation::PlaceholderUnobserved) => Ok(Found::Absent),
            Observed::Absent(_) => {
                self.without_dependency(Mutation::AbsencesIgnored, |control| control.read(pin, record))
            }
            _ => self.0.read(pin, record),
        }
    }

    fn read_existence(
        &mut self,
        pin: &Pin<'_>,
        record: Held<Record>,
        is_durable: impl FnOnce(Stamp) -> bool,
    ) -> Result<Option<Stamp>, TransactionError> {
        self.without_dependency(Mutation::BirthIgnored, |control| control.read_existence(pin, record, is_durable))
    }

    fn scan(&mut self, leaf: LeafRead) -> Result<(), TransactionError> {
        self.without_dependency(Mutation::AbsencesIgnored, |control| control.scan(leaf))
    }

    fn depend(&mut self, stamp: Stamp) {
        self.0.depend(stamp);
    }

    fn write(&mut self, pin: &Pin<'_>, record: Held<Record>) -> Result<(), TransactionError> {
        self.0.write(pin, record)
    }

    fn inserted(
        &mut self,
        change: &LeafChange,
        placeholder: Held<Record>,
        stamp: Stamp,
    ) -> Result<(), TransactionError> {
        self.0.inserted(change, placeholder, stamp)?;
        if has(Mutation::SplitHalfForgotten)
            && let Some(half) = change.after().nth(1)
        {
            self.0.reads.leaves.remove(&half);
        }
        Ok(())
    }

    fn discarded(&mut self, pin: &Pin<'_>, record: Held<Record>) {
        self.0.discarded(pin, record);
    }

    fn dependency(&self) -> &D {
        self.0.dependency()
    }

    fn lock(&mut self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        self.0.lock(pin, writes)
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
            if !self.0.reads.rows.iter().all(|read| is_unchanged_wrongly(pin, read, writes)) {
                return Err(TransactionError::ROW_CONFLICT);
            }
            return match self.0.reads.leaves_unchanged(pin) {
                true => Ok(()),
                false => Err(TransactionError::RANGE_CONFLICT),
            };
        }
        match self.0.validate(pin, writes) {
            Err(TransactionError::RANGE_CONFLICT) if has(Mutation::NoLeafValidation) => Ok(()),
            validated => validated,
        }
    }

    fn base(&self, pin: &Pin<'_>, writes: &WriteSet, reads: Option<&ReadStamps>) -> Stamp {
        self.0.base(pin, writes, reads.filter(|_| !has(Mutation::ReadsUnordered)))
    }

    fn raise_reads(&self, pin: &Pin<'_>, writes: &WriteSet, reads: &ReadStamps, stamp: Stamp) {
        if has(Mutation::ReadsRaisedLate) {
            let judged = self.validate(pin, writes);
            yield_at(Point::Validated);
            self.1.set(Some(judged));
        }
        if has(Mutation::LeavesUnraised) {
            let keys = self.0.reads.rows.iter().map(|read| pin.get(read.record).key());
            return reads.raise(keys, stamp);
        }
        self.0.raise_reads(pin, writes, reads, stamp);
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
            install(pin, write, stamp, committer);
        }
        for write in writes.iter_mut().filter(|write| is_early(write)) {
            // Others get in between.
            yield_at(Point::Installed);
            let version = write.take_version(stamp);
            pin.get(write.record).replay(pin, stamp, version);
        }
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
