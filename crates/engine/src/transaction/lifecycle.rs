//! **The spine**: how a transaction commits, one call per step of the design's life of a transaction.
//!
//! ```text
//! lock -> S-point (epoch) -> validate -> stamp + reserve -> fill -> install + unlock -> receipt
//! ```
//!
//! The order is the correctness argument (docs/protocols.md):
//! - The epoch is drawn after every write lock is held and before any read is validated, so that `{T : epoch <= E}` is
//!   closed under all dependencies.
//! - Validation precedes the stamp: no log space is reserved for a transaction that will not commit.
//! - The stamp is drawn while all locks are held, so stamps strictly increase per key, absent keys included.
//! - From the reservation on nothing can fail: a transaction that reserved is in the log.
//! - What is overwritten or deleted beyond the boundary of a snapshot is kept for it; the epoch says so, hence the
//!   announcement is read after it.
//! - Locks are released with the install, before anything is durable; who reads the new rows inherits the stamp as
//!   `raw_dep` and is acknowledged no earlier.

use osier_memory::{Interval, Pin, Snapshots};

use super::error::TransactionError;
use super::write_set::WriteSet;
use crate::concurrency::ConcurrencyControl;
use crate::error::Error;
use crate::failpoint::{Mutation, Point, has, reach};
use crate::ids::{Epoch, Stamp, StreamId, TableId};
use crate::limits::MemoryLimit;
use crate::log::record::{self, RecordHeader, RecordWriter};
use crate::log::{LogProtocol, Observed};
use crate::transaction::write_set::Place;

/// Where and under which limits a transaction commits.
pub(crate) struct Commit<'c, 'p> {
    pub(crate) pin: &'c Pin<'p>,
    pub(crate) stream: StreamId,
    pub(crate) snapshots: &'c Snapshots,
    pub(crate) transaction_log_bytes_max: usize,
    pub(crate) memory: &'c MemoryLimit,
}

/// A transaction that has committed, and what must be durable before that may be told.
pub(crate) struct Committed {
    pub(crate) observed: Observed,
    pub(crate) epoch: Epoch,
}

impl Commit<'_, '_> {
    /// Commits the writes; where there are none, validates what was read.
    pub(crate) fn run<C: ConcurrencyControl, P: LogProtocol>(
        &self,
        control: &mut C,
        protocol: &P,
        writes: &mut WriteSet,
        table_id: impl Fn(Place) -> Option<TableId>,
        definitions_hold: impl FnOnce() -> Result<(), TransactionError>,
    ) -> Result<Committed, Error> {
        let record_bytes = self.record_bytes(writes, &table_id)?;
        self.memory.admit(self.pin, writes)?;
        let is_stale = has(Mutation::StaleAnnouncement) && !self.snapshots.is_active(self.pin);
        let stale = is_stale.then(|| self.snapshots.interval(self.pin, Epoch(u64::MAX)));
        control.lock(self.pin, writes)?;
        reach(Point::Locked);
        let epoch = self.pin.current_epoch();
        reach(Point::Ordered);
        let validated = control.validate(self.pin, writes).and_then(|()| definitions_hold());
        if let (Err(conflict), false) = (validated, writes.is_empty() && has(Mutation::AbortNotValidated)) {
            control.abort(self.pin, writes);
            return Err(conflict.into());
        }
        reach(Point::Validated);
        let epoch = if has(Mutation::LateEpoch) { self.pin.current_epoch() } else { epoch };
        let raw_dep = control.observed();
        if writes.is_empty() {
            return Ok(Committed { observed: Observed { stamp: Stamp::ZERO, stream: self.stream, raw_dep }, epoch });
        }
        let slot = match protocol.stamp(self.stream, control.base(self.pin, writes), record_bytes) {
            Ok(slot) => slot,
            Err(closed) => {
                control.abort(self.pin, writes);
                return Err(closed.into());
            }
        };
        let stamp = slot.stamp();
        reach(Point::Reserved);
        let interval = stale.unwrap_or_else(|| self.interval(epoch));
        let rows = writes.iter().filter(|write| write.place.index.is_none());
        interval.expect(rows.map(|write| self.pin.get(write.record)));
        slot.fill(|buffer, seal| {
            let write_count = writes.iter().filter(|write| table_id(write.place).is_some()).count() as u32;
            let header = RecordHeader { stamp, raw_dep, epoch, write_count };
            self.write_record(&mut RecordWriter::new(buffer, header, seal), writes, &table_id);
        });
        reach(Point::Filled);
        control.install(self.pin, writes, stamp, &interval);
        Ok(Committed { observed: Observed { stamp, stream: self.stream, raw_dep }, epoch })
    }

    fn interval(&self, epoch: Epoch) -> Interval<'_> {
        let epoch = match epoch {
            _ if has(Mutation::NotRetained) => Epoch(0),
            Epoch(epoch) if has(Mutation::RetainedForAnother) => Epoch(epoch + 1),
            epoch => epoch,
        };
        self.snapshots.interval(self.pin, epoch)
    }

    /// The size of the log record, checked against the limit before anything is locked.
    fn record_bytes(
        &self,
        writes: &WriteSet,
        table_id: &impl Fn(Place) -> Option<TableId>,
    ) -> Result<usize, TransactionError> {
        let logged = writes.iter().filter(|write| table_id(write.place).is_some());
        let bytes = record::encoded_len(logged.map(|write| {
            (self.pin.get(write.record).key().len(), write.pending.as_ref().map(|version| version.bytes().len()))
        }));
        let limit = self.transaction_log_bytes_max;
        if bytes > limit {
            return Err(TransactionError::TransactionTooLarge { bytes, limit });
        }
        Ok(bytes)
    }

    fn write_record(
        &self,
        record: &mut RecordWriter<'_>,
        writes: &WriteSet,
        table_id: &impl Fn(Place) -> Option<TableId>,
    ) {
        for write in writes.iter() {
            let Some(table) = table_id(write.place) else { continue };
            let key = self.pin.get(write.record).key();
            match &write.pending {
                Some(version) => record.put(table, key, version.bytes()),
                None => record.delete(table, key),
            }
        }
        record.finish();
    }
}
