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
//! Where this leaves Silo: the epoch is read at the S-point between two full fences, because the record words and the
//! epoch form a Dekker pattern with other committers; a compiler barrier would do on x86 only.

use std::sync::atomic::{Ordering, fence};

use osier_memory::{Held, Interval, LeafChange, LeafRead, Observed, Pin, Record, Stamp};

use super::{ConcurrencyControl, Found};
use crate::failpoint::{Mutation, Point, has, reach};
use crate::transaction::TransactionError;
use crate::transaction::read_set::{ReadSet, RowRead, Seen};
use crate::transaction::write_set::{Write, WriteSet};

/// The reads of one optimistic transaction.
#[derive(Default)]
pub(crate) struct Optimistic {
    reads: ReadSet,
}

impl ConcurrencyControl for Optimistic {
    fn begin(&mut self) {
        self.reads.clear();
    }

    fn read<'a>(&mut self, pin: &'a Pin<'_>, record: Held<Record>) -> Found<'a> {
        match pin.get(record).read(pin) {
            Observed::Present(version) => {
                self.reads.row(record, Seen::Stamp(version.stamp()));
                Found::Present(version)
            }
            Observed::Absent(_) if has(Mutation::PlaceholderUnobserved) => Found::Absent,
            Observed::Absent(stamp) => {
                if has(Mutation::AbsencesIgnored) {
                    self.reads.rows.push(RowRead { record, seen: Seen::Stamp(stamp) });
                    return Found::Absent;
                }
                self.reads.row(record, Seen::Stamp(stamp));
                Found::Absent
            }
            Observed::Dead => Found::Gone,
        }
    }

    fn read_existence<'a>(&mut self, pin: &'a Pin<'_>, record: Held<Record>) -> Found<'a> {
        match pin.get(record).read(pin) {
            Observed::Present(version) => {
                let seen = Seen::Existence(version.birth());
                match has(Mutation::BirthIgnored) {
                    true => self.reads.rows.push(RowRead { record, seen }),
                    false => self.reads.row(record, seen),
                }
                Found::Present(version)
            }
            _ => self.read(pin, record),
        }
    }

    fn scan(&mut self, leaf: LeafRead) {
        self.reads.leaf(leaf);
    }

    fn depend(&mut self, stamp: Stamp) {
        self.reads.raw_dep = self.reads.raw_dep.max(stamp);
    }

    fn inserted(&mut self, change: &LeafChange, placeholder: Held<Record>, stamp: Stamp) {
        self.reads.own_insert(change, placeholder, stamp);
    }

    fn discarded(&mut self, pin: &Pin<'_>, record: Held<Record>) {
        // A dead record fails validation; one that is alive was so whenever its key was looked up.
        if pin.get(record).word().is_dead() {
            self.reads.row(record, Seen::Stamp(Stamp::ZERO));
        }
    }

    fn observed(&self) -> Stamp {
        self.reads.raw_dep
    }

    fn lock(&mut self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        writes.sort_for_locking(pin);
        for (at, write) in writes.iter().enumerate() {
            if pin.get(write.record).lock().is_err() {
                writes.iter().take(at).for_each(|locked| pin.get(locked.record).unlock());
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
        if !has(Mutation::NoLeafValidation) && !self.reads.leaves_unchanged(pin) {
            return Err(TransactionError::RANGE_CONFLICT);
        }
        Ok(())
    }

    fn base(&self, pin: &Pin<'_>, writes: &WriteSet) -> Stamp {
        writes.iter().map(|write| pin.get(write.record).word().stamp()).fold(self.reads.raw_dep, Stamp::max)
    }

    fn install(&mut self, pin: &Pin<'_>, writes: &mut WriteSet, stamp: Stamp, interval: &Interval<'_>) {
        let is_early = |write: &Write| {
            has(Mutation::UnlockBeforeInstall) || has(Mutation::LateIndexInsert) && write.is_placeholder
        };
        writes.iter().filter(|write| is_early(write)).for_each(|write| pin.get(write.record).unlock());
        for write in writes.iter_mut().filter(|write| !is_early(write)) {
            let record = pin.get(write.record);
            assert!(record.word().stamp() < stamp, "stamps of one key strictly increase");
            let version = write.pending.take().map(|mut version| {
                version.set_order(stamp, write.birth.unwrap_or(stamp));
                version
            });
            write.is_placeholder &= version.is_none();
            match write.place.index {
                None => record.install_in(pin, version, stamp, interval),
                Some(_) => record.install(pin, version, stamp),
            }
            reach(Point::Installed);
        }
        for write in writes.iter_mut().filter(|write| is_early(write)) {
            Optimistic::install_unlocked(pin, write, stamp);
        }
    }

    fn abort(&mut self, pin: &Pin<'_>, writes: &WriteSet) {
        writes.iter().for_each(|write| pin.get(write.record).unlock());
    }
}

impl Optimistic {
    /// The deliberate fault: others get in between.
    fn install_unlocked(pin: &Pin<'_>, write: &mut Write, stamp: Stamp) {
        reach(Point::Installed);
        let version = write.pending.take().map(|mut version| {
            version.set_order(stamp, write.birth.unwrap_or(stamp));
            version
        });
        write.is_placeholder &= version.is_none();
        pin.get(write.record).replay(pin, stamp, version);
    }
}

fn is_unchanged(pin: &Pin<'_>, read: &RowRead, writes: &WriteSet) -> bool {
    let record = pin.get(read.record);
    let word = record.word();
    if word.is_dead() || (word.is_locked() && !writes.contains_sorted(read.record)) {
        return false;
    }
    match read.seen {
        Seen::Stamp(stamp) => word.stamp() == stamp,
        Seen::Existence(birth) => record.version(pin).is_some_and(|version| version.birth() == birth),
    }
}
