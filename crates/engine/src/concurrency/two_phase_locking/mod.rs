//! Strict two-phase locking: what a transaction reads it locks shared, what it writes exclusive, until it commits or gives up.
//!
//! Locks are words in records and queues behind them ([`osier_memory::Locks`]); no circle of waits closes. A write takes its lock
//! when it is made, so that nobody waits for a lock during a commit but for those of definitions.
//!
//! Ranges: a scan, and a lookup that finds nothing, locks the gaps of the leaf shared and looks whether the leaf is as it was.
//! Whoever would put a record there waits. A record that was there before is locked by whoever made it, so that the scan waits
//! for it. What the tree does to a leaf for reasons of its own (a neighbour is joined to it) no lock keeps it from: leaves are
//! validated at the commit, too, as optimistic control does it, and so is the catalog, which nobody locks.
//!
//! Invariants:
//! - Every row and every entry that was read is locked from before the read to the commit's S-point; every record that is written
//!   exclusively, placeholders from before they are indexed.
//! - Locks are given back by the install, or at the end, and none is taken after that: all are held at the S-point.
//! - An access that waits for its lock in vain has observed nothing, and the transaction can go on without it. Where that is the
//!   lock of a gap that a split made, the leaf is observed all the same: the commit validates it.
//! - A record whose lock is held does not leave its tree ([`purge`](crate::transaction)).
//!
//! Where stamps cover reads they are raised at the stamp, with the locks held: who overwrites what was read has waited for that.

use std::cell::Cell;
use std::time::Duration;

use osier_memory::sync::{Arc, Backoff};
use osier_memory::{
    Committer, Held, KeyHash, KeyStamps, LeafChange, LeafRead, LockMode, LockWord, Locks, Lost, Observed, Owner, Pin,
    Record, RecordBox, Stamp, Taken, Version,
};

use super::optimistic::Optimistic;
use super::write_set::WriteSet;
use super::{ConcurrencyControl, Found, GatheringOf, Intent, KEPT_CAPACITY, faults};
use crate::error::TransactionError;
use crate::ids::StreamId;
use crate::log::gathering::{Gathered, lane};
use crate::log::protocol::SourceOf;
use crate::table::store::RecordTree;

/// The locks of one transaction.
pub(crate) struct TwoPhaseLocking<D: Gathered> {
    owner: Arc<Owner>,
    /// How long a lock is waited for.
    timeout: Duration,
    rows: Vec<Held<Record>>,
    gaps: Vec<LeafRead>,
    /// What is observed beside the locks, and what the transaction depends on.
    observed: Optimistic<D>,
    /// The transaction cannot go on, because of others: nothing more is locked.
    lost: Option<Lost>,
    /// Whether others stood in its way, and it has not committed: whatever its session runs next is the older for it.
    is_beaten: Cell<bool>,
}

impl<D: Gathered> TwoPhaseLocking<D> {
    pub(crate) fn new(locks: &Arc<Locks>, timeout: Duration) -> TwoPhaseLocking<D> {
        let owner = Arc::new(locks.register().expect("there are fewer sessions than owners"));
        let (rows, gaps, observed) = (Vec::new(), Vec::new(), Optimistic::default());
        TwoPhaseLocking { owner, timeout, rows, gaps, observed, lost: None, is_beaten: Cell::new(false) }
    }

    /// Locks a record; `false`: it has left its tree.
    #[inline]
    fn lock_row(&mut self, pin: &Pin<'_>, held: Held<Record>, mode: LockMode) -> Result<bool, TransactionError> {
        self.check()?;
        let record = pin.get(held);
        let mut backoff = Backoff::new();
        loop {
            match self.owner.lock(record.lock_word(), mode, self.timeout) {
                Ok(Taken::New) => {
                    self.rows.push(held);
                    return Ok(true);
                }
                Ok(Taken::Before) => return Ok(true),
                Ok(Taken::Closed) if record.word().is_dead() => return Ok(false),
                // It stays, perhaps.
                Ok(Taken::Closed) => backoff.wait(),
                Err(lost) if faults::is_held(lost, mode) => return Ok(true),
                Err(lost) => return Err(self.lose(lost)),
            }
        }
    }

    fn lock_gap(&mut self, pin: &Pin<'_>, leaf: LeafRead, mode: LockMode) -> Result<(), TransactionError> {
        self.check()?;
        match self.owner.lock(leaf.gap(pin), mode, self.timeout) {
            Ok(Taken::New) => self.gaps.push(leaf),
            Ok(Taken::Before) => {}
            Ok(Taken::Closed) => unreachable!("nobody closes the gaps of a leaf"),
            Err(lost) => return Err(self.lose(lost)),
        }
        Ok(())
    }

    /// Whether the transaction may go on: an older one may want what it holds.
    #[inline]
    fn check(&self) -> Result<(), TransactionError> {
        match self.lost {
            None if !self.owner.is_wounded() => Ok(()),
            lost => Err(self.error(lost.unwrap_or(Lost::Wounded))),
        }
    }

    /// Who has waited for too long keeps what it has, and may go on.
    #[cold]
    fn lose(&mut self, lost: Lost) -> TransactionError {
        if lost != Lost::TimedOut {
            self.lost = Some(lost);
        }
        self.error(lost)
    }

    fn error(&self, lost: Lost) -> TransactionError {
        self.is_beaten.set(true);
        match lost {
            Lost::Refused | Lost::Wounded => TransactionError::LOCK_CONFLICT,
            Lost::TimedOut => TransactionError::LockTimeout { limit: self.timeout },
        }
    }

    /// Gives back what others may share.
    fn release_read(&mut self, pin: &Pin<'_>) {
        let is_read = |record: &mut Held<Record>| !self.owner.is_exclusive(pin.get(*record).lock_word());
        self.rows.extract_if(.., is_read).for_each(|record| self.owner.unlock(pin.get(record).lock_word()));
    }

    /// Gives every lock back.
    fn release(&mut self, pin: &Pin<'_>) {
        self.rows.drain(..).for_each(|record| self.owner.unlock(pin.get(record).lock_word()));
        self.gaps.drain(..).for_each(|leaf| self.owner.unlock(leaf.gap(pin)));
        self.rows.shrink_to(KEPT_CAPACITY);
        self.gaps.shrink_to(KEPT_CAPACITY);
    }
}

/// How a record is locked for an access, if it is.
fn mode(intent: Intent) -> Option<LockMode> {
    match intent {
        Intent::Read => Some(LockMode::Shared),
        Intent::Write => Some(LockMode::Exclusive),
        Intent::Definition | Intent::Unordered | Intent::Unvalidated => None,
    }
}

impl<D: Gathered> ConcurrencyControl for TwoPhaseLocking<D> {
    type Dependency = D;

    fn owner(&self) -> Option<&Arc<Owner>> {
        Some(&self.owner)
    }

    fn begin(&mut self, pin: &Pin<'_>, durable: impl FnOnce() -> Stamp) {
        assert!(self.rows.is_empty() && self.gaps.is_empty(), "a transaction begins without locks");
        self.lost = None;
        self.is_beaten.set(false);
        self.observed.begin(pin, durable);
    }

    #[inline]
    fn read<'a>(
        &mut self,
        pin: &'a Pin<'_>,
        record: Held<Record>,
        intent: Intent,
    ) -> Result<Found<'a>, TransactionError> {
        let Some(mode) = mode(intent) else { return self.observed.read(pin, record, intent) };
        if let Some(mode) = faults::row_mode(Some(mode))
            && !self.lock_row(pin, record, mode)?
        {
            return Ok(Found::Gone);
        }
        Ok(match pin.get(record).read(pin) {
            Observed::Present(version) => {
                self.observed.depend_on_row(pin, record, version.stamp());
                Found::Present(version)
            }
            Observed::Absent(stamp) => {
                self.observed.depend(stamp);
                Found::Absent
            }
            // None whose lock is held.
            Observed::Dead => Found::Gone,
        })
    }

    #[inline]
    fn read_existence(
        &mut self,
        pin: &Pin<'_>,
        held: Held<Record>,
        intent: Intent,
        is_durable: impl FnOnce(Stamp) -> bool,
    ) -> Result<Option<Stamp>, TransactionError> {
        let Some(mode) = mode(intent) else {
            return self.observed.read_existence(pin, held, intent, is_durable);
        };
        if !self.lock_row(pin, held, mode)? {
            return Ok(None);
        }
        let record = pin.get(held);
        let Some(word) = record.existing() else { return Ok(None) };
        let birth = match is_durable(word.stamp()) {
            true => Some(word.stamp()),
            false => record.version(pin).map(Version::birth),
        };
        birth.into_iter().for_each(|birth| self.observed.depend_on_row(pin, held, birth));
        Ok(birth)
    }

    fn scan(&mut self, pin: &Pin<'_>, leaf: LeafRead, intent: Intent) -> Result<bool, TransactionError> {
        if faults::locks_gap(mode(intent).is_some()) {
            self.lock_gap(pin, leaf, LockMode::Shared)?;
            if !leaf.is_unchanged(pin) {
                return Ok(false);
            }
        }
        self.observed.scan(pin, leaf, intent)
    }

    fn name_absent(&mut self, pin: &Pin<'_>, tree: &Arc<RecordTree>, key: &[u8], leaf: LeafRead) {
        self.observed.name_absent(pin, tree, key, leaf);
    }

    #[inline]
    fn depend(&mut self, stamp: Stamp) {
        self.observed.depend(stamp);
    }

    #[inline]
    fn write(&mut self, pin: &Pin<'_>, record: Held<Record>, intent: Intent) -> Result<(), TransactionError> {
        let Some(mode) = mode(intent) else { return self.observed.write(pin, record, intent) };
        match self.lock_row(pin, record, mode)? {
            true => Ok(()),
            // It was looked up this very moment.
            false => Err(TransactionError::ROW_CONFLICT),
        }
    }

    fn try_lock(&mut self, pin: &Pin<'_>, held: Held<Record>) -> Result<bool, TransactionError> {
        self.check()?;
        let taken = self.owner.try_lock(pin.get(held).lock_word());
        if taken == Some(Taken::New) {
            self.rows.push(held);
        }
        Ok(matches!(taken, Some(Taken::New | Taken::Before)))
    }

    #[inline]
    fn may_insert(&self, gap: &LockWord, intent: Intent) -> bool {
        mode(intent).is_none() || self.owner.is_free_for(gap)
    }

    /// The lock is kept until the end, so that the insertion comes through.
    fn wait_to_insert(&mut self, pin: &Pin<'_>, leaf: LeafRead) -> Result<(), TransactionError> {
        self.lock_gap(pin, leaf, LockMode::Exclusive)
    }

    fn placeholder(&self, key: &[u8], stamp: Stamp, intent: Intent) -> RecordBox {
        let record = Record::new_absent(key, stamp);
        if let Some(mode) = mode(intent) {
            let taken = self.owner.lock(record.lock_word(), mode, self.timeout);
            assert_eq!(taken, Ok(Taken::New), "nobody else knows the record");
        }
        record
    }

    fn inserted(
        &mut self,
        pin: &Pin<'_>,
        change: &LeafChange,
        placeholder: Held<Record>,
        stamp: Stamp,
        intent: Intent,
    ) -> Result<(), TransactionError> {
        let is_observed = self.observed.reads.own_insert(change, placeholder, stamp);
        if mode(intent).is_none() {
            return Ok(());
        }
        self.rows.push(placeholder);
        if is_observed {
            for leaf in change.after().filter(|leaf| !leaf.is_same_leaf(&change.before)) {
                self.lock_gap(pin, leaf, LockMode::Shared)?;
                if !leaf.is_unchanged(pin) {
                    return Err(TransactionError::RANGE_CONFLICT);
                }
            }
        }
        Ok(())
    }

    fn discarded(&mut self, pin: &Pin<'_>, record: Held<Record>) {
        self.observed.discarded(pin, record);
    }

    fn gathered(&self) -> &GatheringOf<Self> {
        self.observed.gathered()
    }

    fn close(&mut self, pin: &Pin<'_>, writes: &WriteSet, source: &SourceOf<D>, own: StreamId) {
        self.observed.close(pin, writes, source, own);
    }

    fn prevalidate(&self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        self.check()?;
        self.observed.prevalidate(pin, writes).inspect_err(|_| self.is_beaten.set(true))
    }

    /// Says in the records that they are about to change, for those that read without locks: snapshots, checkpoints, and whoever
    /// uses definitions.
    fn lock(&mut self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        self.check()?;
        faults::release_early(|| self.release_read(pin));
        self.observed.lock(pin, writes)
    }

    fn validate(&self, pin: &Pin<'_>, writes: &WriteSet) -> Result<(), TransactionError> {
        self.observed.validate(pin, writes).inspect_err(|_| self.is_beaten.set(true))
    }

    fn base(&self, pin: &Pin<'_>, writes: &WriteSet, reads: Option<&KeyStamps>) -> Stamp {
        self.observed.base(pin, writes, reads)
    }

    fn raise_reads(&self, pin: &Pin<'_>, writes: &WriteSet, reads: &KeyStamps, (stream, stamp): (StreamId, Stamp)) {
        self.observed.raise_reads(pin, writes, reads, (stream, stamp));
        // What the transaction writes has the stamp itself.
        let rows = self.rows.iter().map(|record| pin.get(*record)).filter(|record| !record.word().is_locked());
        let lane = lane(reads, stream);
        rows.for_each(|record| reads.raise(KeyHash::of(record.key()), lane, stamp));
    }

    fn unlock(&mut self, pin: &Pin<'_>, writes: &WriteSet) {
        self.observed.unlock(pin, writes);
    }

    fn install(&mut self, pin: &Pin<'_>, writes: &mut WriteSet, stamp: Stamp, committer: &Committer<'_>) {
        self.observed.install(pin, writes, stamp, committer);
        self.release(pin);
        self.is_beaten.set(false);
    }

    fn await_met(&mut self) -> Result<bool, TransactionError> {
        let is_refused = self.lost.take() == Some(Lost::Refused);
        if is_refused && !self.owner.wait_for_refused(self.timeout) {
            return Err(self.error(Lost::TimedOut));
        }
        // Where nobody is older, those that were refused by each other come back together.
        Ok(is_refused && self.owner.is_aged())
    }

    fn end(&mut self, pin: &Pin<'_>) {
        self.release(pin);
        // Who is run again is the older for it.
        self.owner.end(self.is_beaten.get());
    }
}

#[cfg(feature = "mutations")]
impl<D: Gathered> super::faulty_scheme::Observing for TwoPhaseLocking<D> {
    fn observed(&self) -> &Optimistic<D> {
        &self.observed
    }

    fn observed_mut(&mut self) -> &mut Optimistic<D> {
        &mut self.observed
    }

    fn installed(&mut self, pin: &Pin<'_>) {
        self.release(pin);
    }
}
