//! Multiversion optimistic control after Hekaton (Larson et al., VLDB 2012, sections 2 and 3): a transaction reads the state as
//! of one moment, and if it writes, validates at its commit that what it read is what is there.
//!
//! The moment of a commit is its epoch, and a timestamp that it draws from one counter with its locks held ([`Timestamps`]). A
//! transaction asks for the moment of now when it begins, and sees in every record what the commits up to that one have left: the
//! newest version, or an older one that the newer ones lead to. So it sees one state, whatever others do. One that has written
//! nothing is over with that: it comes behind the commits that it sees and before all others, and nothing is validated but the
//! definitions that it relies on.
//!
//! Where a later version than the transaction's moment turns up, and everything that it has read so far is still there, it
//! goes on to the state of now. So it meets a conflict only where optimistic control would. Otherwise it stays in the past: it
//! reads on, and may not write. One that has written, and has made too many reads to check them for each later version, goes on
//! unchecked: it may then see rows of two moments, as under optimistic control, and is validated at its end.
//!
//! Invariants:
//! - What a transaction was shown of rows is the state as of `at`, or is validated in any case (`observes_now`). One that has to
//!   do with the present, because it has written or for that, is never in the past (`is_past`).
//! - Who writes has read nothing but what is there: nothing of the past, and validation finds it so after the S-point. So the
//!   serialization order is that of S-points, as in optimistic control, and epochs, stamps and the order of commands rest on it.
//! - A definition is read as it is, and no later than `at`: no table is used in a state in which it is not there yet.
//! - A record leaves its tree when nobody can see the row any more that it had ([`ConcurrencyControl::read_until`]).
//!
//! Where this leaves Hekaton: a version has a beginning and no end, locks are those of records, what is replaced is kept by the
//! epochs in which transactions are pinned (`osier_memory`, records) and not by collectors, and the epoch comes before the
//! timestamp, so that snapshots and this order agree. Timestamp ordering proper, in which the timestamp of the beginning is the
//! order, would order a commit before others that have committed meanwhile: then its epoch and its stamp could not be drawn at
//! the commit (docs/protocols.md).

use osier_memory::sync::Arc;
use osier_memory::{
    AsOf, Committer, Held, KeyStamps, LeafChange, LeafRead, LockWord, Moment, Observed, Pin, Record, RecordBox, Stamp,
    Timestamp, Timestamps,
};

use super::optimistic::{Optimistic, Seen};
use super::write_set::{Write, WriteSet};
use super::{ConcurrencyControl, Found, GatheringOf, Intent, faults};
use crate::error::TransactionError;
use crate::failpoint::{Place, Point, take_place, tell_place, yield_at};
use crate::ids::{Epoch, StreamId};
use crate::log::gathering::Gathered;
use crate::log::protocol::SourceOf;
use crate::sizes::checks_per_read;
use crate::table::store::RecordTree;

/// What a transaction reads counts as so many reads more when it is checked: short ones always check before they go on.
const READS_MIN: usize = 16;

/// The view of one transaction.
pub(crate) struct Multiversion<D: Gathered> {
    timestamps: Arc<Timestamps>,
    /// The transaction sees what the commits up to this one have left.
    at: Moment,
    /// Where that is in the serial order.
    place: Place,
    /// The commit's own.
    commit: Timestamp,
    /// What was read of rows, validated where the transaction writes, and what it depends on.
    rows: Optimistic<D>,
    /// What was read of definitions, validated in any case.
    definitions: Optimistic<Stamp>,
    /// Whether something was read that is not there any more: the transaction reads on, and its reads are not noted.
    is_past: bool,
    has_written: bool,
    /// Whether something was observed as it is, and not as of `at`: all reads are validated in any case.
    observes_now: bool,
    /// How many reads were checked again.
    checked: usize,
    /// What a transaction has written that only looks.
    nothing: WriteSet,
}

impl<D: Gathered> Multiversion<D> {
    pub(crate) fn new(timestamps: &Arc<Timestamps>) -> Multiversion<D> {
        Multiversion {
            timestamps: timestamps.clone(),
            at: Moment::default(),
            place: Place::default(),
            commit: Timestamp::default(),
            rows: Optimistic::default(),
            definitions: Optimistic::default(),
            is_past: false,
            has_written: false,
            observes_now: false,
            checked: 0,
            nothing: WriteSet::default(),
        }
    }

    /// Goes on to the state of now, if everything that was read is still there.
    #[cold]
    fn advance(&mut self, pin: &Pin<'_>, is_needed: bool) -> bool {
        let reads = self.rows.reads.len() + self.definitions.reads.len();
        let is_affordable = self.checked + reads <= checks_per_read() * (READS_MIN + reads);
        if self.is_past || !(is_needed || is_affordable) {
            return false;
        }
        if !is_affordable {
            // From now on it is as under optimistic control: all that it reads is validated at its end.
            self.observes_now = true;
            (self.at, self.place) = (self.timestamps.now(pin), take_place());
            return true;
        }
        self.checked += reads;
        if is_needed {
            // Whoever fails and is run again would meet them again, and would not wait for them.
            self.rows.await_commits(pin);
        }
        // First: what is found unlocked and unchanged after that is what it was as of `now`.
        let (now, place) = (self.timestamps.now(pin), take_place());
        if faults::is_still_there(self.rows.validate(pin, &self.nothing).is_ok())
            && self.definitions.validate(pin, &self.nothing).is_ok()
        {
            (self.at, self.place) = (now, place);
            return true;
        }
        false
    }

    /// Looks at a record: the state of it that the transaction sees, and whether that is still there.
    #[inline]
    fn look<'a>(
        &mut self,
        pin: &'a Pin<'_>,
        record: Held<Record>,
        intent: Intent,
    ) -> Result<(Observed<'a>, bool), TransactionError> {
        loop {
            match faults::as_of(pin, record, pin.get(record).read_at(pin, self.at)) {
                AsOf::Newest(observed) => return Ok((observed, true)),
                AsOf::Lost => return Err(TransactionError::ROW_CONFLICT),
                AsOf::Older(observed) => {
                    let is_needed = self.has_written || self.observes_now || intent != Intent::Read;
                    if self.advance(pin, is_needed) {
                        continue;
                    }
                    if is_needed {
                        return Err(TransactionError::ROW_CONFLICT);
                    }
                    self.is_past = true;
                    return Ok((observed, false));
                }
            }
        }
    }

    /// Checks that what was read may lead to a write.
    fn check_present(&self) -> Result<(), TransactionError> {
        match faults::has_seen_past(self.is_past) {
            true => Err(TransactionError::ROW_CONFLICT),
            false => Ok(()),
        }
    }

    /// Notes what was seen of a record, unless the transaction will never validate it.
    #[inline]
    fn note(&mut self, record: Held<Record>, stamp: Stamp, intent: Intent) {
        if intent == Intent::Definition {
            self.definitions.reads.row(record, Seen::Stamp(stamp));
        } else if !self.is_past {
            self.rows.reads.row(record, Seen::Stamp(stamp));
        }
    }
}

impl<D: Gathered> ConcurrencyControl for Multiversion<D> {
    type Dependency = D;

    #[inline]
    fn begin(&mut self, pin: &Pin<'_>, durable: impl FnOnce() -> Stamp) {
        self.rows.begin(pin, durable);
        self.definitions.begin(pin, || Stamp::ZERO);
        (self.is_past, self.has_written, self.observes_now, self.checked) = (false, false, false, 0);
        (self.at, self.place) = (self.timestamps.now(pin), take_place());
    }

    #[inline]
    fn read<'a>(
        &mut self,
        pin: &'a Pin<'_>,
        record: Held<Record>,
        intent: Intent,
    ) -> Result<Found<'a>, TransactionError> {
        if intent == Intent::Unvalidated {
            return self.rows.read(pin, record, intent);
        }
        let (observed, is_there) = self.look(pin, record, intent)?;
        Ok(match observed {
            Observed::Present(version) => {
                self.rows.depend_on_row(pin, record, version.stamp());
                if is_there {
                    self.note(record, version.stamp(), intent);
                }
                Found::Present(version)
            }
            Observed::Absent(stamp) => {
                self.rows.depend(stamp);
                if is_there {
                    self.note(record, stamp, intent);
                }
                Found::Absent
            }
            Observed::Dead => Found::Gone,
        })
    }

    /// That a row exists is observed as it is now, so that its version need not be looked at. Definitions that exist may change
    /// in the meantime: sequences do with their values.
    #[inline]
    fn read_existence(
        &mut self,
        pin: &Pin<'_>,
        record: Held<Record>,
        intent: Intent,
        is_durable: impl FnOnce(Stamp) -> bool,
    ) -> Result<Option<Stamp>, TransactionError> {
        if intent == Intent::Definition {
            let seen = pin.get(record).read_at(pin, self.at);
            if pin.get(record).is_absent() {
                return Ok(None);
            }
            let (AsOf::Newest(Observed::Present(row)) | AsOf::Older(Observed::Present(row))) = seen else {
                return Ok(None);
            };
            self.definitions.reads.row(record, Seen::Existence(row.birth()));
            self.rows.depend_on_row(pin, record, row.birth());
            return Ok(Some(row.birth()));
        }
        self.observe_now()?;
        self.rows.read_existence(pin, record, intent, is_durable)
    }

    #[inline]
    fn scan(&mut self, pin: &Pin<'_>, leaf: LeafRead, intent: Intent) -> Result<bool, TransactionError> {
        if intent == Intent::Definition || self.is_past {
            self.rows.depend(leaf.max_stamp());
        }
        match intent {
            Intent::Definition => self.definitions.scan(pin, leaf, intent),
            Intent::Unvalidated => self.rows.scan(pin, leaf, intent),
            _ if self.is_past => Ok(true),
            _ => self.rows.scan(pin, leaf, intent),
        }
    }

    fn name_absent(&mut self, pin: &Pin<'_>, tree: &Arc<RecordTree>, key: &[u8], leaf: LeafRead) {
        self.rows.depend(leaf.max_stamp());
        self.definitions.name_absent(pin, tree, key, leaf);
    }

    #[inline]
    fn depend(&mut self, stamp: Stamp) {
        self.rows.depend(stamp);
    }

    fn observe_now(&mut self) -> Result<(), TransactionError> {
        self.observes_now = true;
        self.check_present()
    }

    #[inline]
    fn write(&mut self, _pin: &Pin<'_>, _record: Held<Record>, _intent: Intent) -> Result<(), TransactionError> {
        self.has_written = true;
        self.check_present()
    }

    /// Whoever has observed the leaf will find it changed, or sees no row that comes later.
    #[inline]
    fn may_insert(&self, _gap: &LockWord, _intent: Intent) -> bool {
        true
    }

    fn wait_to_insert(&mut self, _pin: &Pin<'_>, _leaf: LeafRead) -> Result<(), TransactionError> {
        Ok(())
    }

    #[inline]
    fn placeholder(&self, key: &[u8], stamp: Stamp, intent: Intent) -> RecordBox {
        self.rows.placeholder(key, stamp, intent)
    }

    fn inserted(
        &mut self,
        pin: &Pin<'_>,
        change: &LeafChange,
        placeholder: Held<Record>,
        stamp: Stamp,
        intent: Intent,
    ) -> Result<(), TransactionError> {
        self.has_written = true;
        self.check_present()?;
        if intent == Intent::Definition {
            self.rows.depend(stamp);
            return self.definitions.inserted(pin, change, placeholder, stamp, intent);
        }
        self.rows.inserted(pin, change, placeholder, stamp, intent)
    }

    fn discarded(&mut self, pin: &Pin<'_>, record: Held<Record>) {
        // The transaction may have seen another record of the key beside its write.
        self.observes_now |= pin.get(record).word().is_dead();
        self.rows.discarded(pin, record);
    }

    #[inline]
    fn gathered(&self) -> &GatheringOf<Self> {
        self.rows.gathered()
    }

    #[inline]
    fn close(&mut self, pin: &Pin<'_>, writes: &WriteSet, source: &SourceOf<D>, own: StreamId) {
        self.rows.close(pin, writes, source, own);
    }

    fn prevalidate(&self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        writes.sort_for_locking(pin);
        self.validate(pin, writes)
    }

    fn lock(&mut self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        self.check_present()?;
        faults::before_locks(|| self.commit = self.timestamps.draw());
        self.rows.lock(pin, writes)
    }

    #[inline]
    fn order(&mut self) {
        faults::after_locks(|| self.commit = self.timestamps.draw());
    }

    fn order_observer(&self, pin: &Pin<'_>) -> Epoch {
        if self.observes_now {
            return self.rows.order_observer(pin);
        }
        tell_place(self.place);
        self.at.epoch
    }

    fn validate(&self, pin: &Pin<'_>, writes: &WriteSet) -> Result<(), TransactionError> {
        self.definitions.validate(pin, writes)?;
        match self.observes_now || faults::is_validated(!writes.is_empty()) {
            true => self.rows.validate(pin, writes),
            false => Ok(()),
        }
    }

    fn base(&self, pin: &Pin<'_>, writes: &WriteSet, reads: Option<&KeyStamps>) -> Stamp {
        self.rows.base(pin, writes, reads)
    }

    fn raise_reads(&self, pin: &Pin<'_>, writes: &WriteSet, reads: &KeyStamps, at: (StreamId, Stamp)) {
        self.rows.raise_reads(pin, writes, reads, at);
        self.definitions.raise_reads(pin, writes, reads, at);
    }

    fn unlock(&mut self, pin: &Pin<'_>, writes: &WriteSet) {
        self.rows.unlock(pin, writes);
    }

    fn install(&mut self, pin: &Pin<'_>, writes: &mut WriteSet, stamp: Stamp, committer: &Committer<'_>) {
        writes.iter_mut().for_each(|write| install(pin, write, (stamp, self.commit), committer));
    }

    fn await_met(&mut self) -> Result<bool, TransactionError> {
        Ok(false)
    }

    /// Whoever began by now may see the row that a record had.
    fn read_until(&self, pin: &Pin<'_>) -> Epoch {
        pin.current_epoch()
    }

    /// Nothing is locked outside of a commit.
    #[inline]
    fn end(&mut self, _pin: &Pin<'_>) {}
}

/// Makes one write visible to those who look from its timestamp on, and releases its lock.
#[inline]
fn install(pin: &Pin<'_>, write: &mut Write, at: (Stamp, Timestamp), committer: &Committer<'_>) {
    let record = pin.get(write.record);
    assert!(record.word().stamp() < at.0, "stamps of one key strictly increase");
    let version = write.take_version(at.0);
    record.install_at(pin, version, at, committer, write.tree_ref.index.is_some());
    yield_at(Point::Installed);
}

#[cfg(feature = "mutations")]
impl<D: Gathered> super::faulty_scheme::Observing for Multiversion<D> {
    fn observed(&self) -> &Optimistic<D> {
        &self.rows
    }

    fn observed_mut(&mut self) -> &mut Optimistic<D> {
        &mut self.rows
    }

    fn install_write(&self, pin: &Pin<'_>, write: &mut Write, stamp: Stamp, committer: &Committer<'_>) {
        install(pin, write, (stamp, self.commit), committer);
    }
}
