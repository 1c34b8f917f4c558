//! **The spine**: how a transaction commits, one call per step of the design's life of a transaction.
//!
//! ```text
//! lock -> S-point (epoch) -> validate, stamp + reserve -> fill -> install + unlock -> receipt
//!                            (or: stamp + reserve, raise what was read, validate)
//! ```
//!
//! The order is the correctness argument (docs/protocols.md):
//! - The epoch is drawn after every write lock is held and before any read is validated, so that `{T : epoch <= E}` is
//!   closed under all dependencies.
//! - Whether validation or the stamp comes first is the protocol's choice ([`StampOrder`]). Where the stamp does, a skip takes
//!   the place of the record of a transaction that does not commit. Where stamps cover reads, what was read is raised to the
//!   stamp in between: whoever overwrites it draws a greater one, or is seen by the validation.
//! - The stamp is drawn while all locks are held, so stamps strictly increase per key, absent keys included.
//! - Nothing can fail once a transaction is validated and has its stamp: it is in the log. A thread that dies while it holds
//!   locks ends the process ([`critical`](mod@super::critical)).
//! - What is too large for one record is in the log before, in parts that mean nothing until the record names them
//!   ([`parts`](super::parts)).
//! - Nobody waits for a device with the locks of a commit held: where the log has no room they are given back, and the commit
//!   locks again when there is some.
//! - What is overwritten or deleted beyond the boundary of a snapshot is kept for it; the epoch says so, hence the
//!   announcement is read after it.
//! - Locks are released with the install, before anything is durable; who reads the new rows inherits the stamp as
//!   `raw_dep` and is acknowledged no earlier.

use osier_memory::Pin;

use super::faults::{self, Announced};
use super::payload::Payload;
use super::shares::{Admitted, Extent, Prepared, Shares, Slots};
use crate::concurrency::write_set::WriteSet;
use crate::concurrency::{ConcurrencyControl, GatheringOf};
use crate::error::{Error, LogError, TransactionError};
use crate::failpoint::{Point, yield_at};
use crate::ids::{Epoch, Stamp, StreamId};
use crate::log::format::dependency::Dependency;
use crate::log::format::payload::share::Participants;
use crate::log::format::record::{self, RecordHeader};
use crate::log::gathering::Gathering;
use crate::log::persist::Slot;
use crate::log::protocol::{Committed, LogProtocol, StampOrder};
use crate::sizes::whole_record_bytes_max;
use crate::transaction::memory_limit::MemoryLimit;

/// Where and under which limits a transaction commits.
pub(crate) struct Commit<'c, 'p> {
    pub(crate) pin: &'c Pin<'p>,
    pub(crate) stream: StreamId,
    pub(crate) snapshots: Announced<'c>,
    pub(crate) transaction_log_bytes_max: usize,
    pub(crate) memory: &'c MemoryLimit,
}

impl Commit<'_, '_> {
    /// Commits the writes. `None`: the log has no room for them just now, and nothing took effect.
    pub(crate) fn run<C: ConcurrencyControl, P: LogProtocol<Dependency = C::Dependency>>(
        &self,
        control: &mut C,
        protocol: &P,
        writes: &mut WriteSet,
        (payload, admitted): (&impl Payload, &Admitted),
        definitions_hold: impl FnOnce(&WriteSet) -> Result<(), TransactionError>,
    ) -> Result<Option<Committed<C::Dependency>>, Error> {
        assert!(!writes.is_empty(), "a transaction without writes only observes");

        control.lock(self.pin, writes)?;
        yield_at(Point::Locked);

        control.order();
        // Until it is dropped, the epoch has not ended for those who wait for that.
        let (_s_point, epoch) = faults::s_point(self.pin);
        assert!(epoch >= self.pin.epoch(), "epochs only rise");
        yield_at(Point::Ordered);

        control.close(self.pin, writes, protocol.source(), self.stream);
        let header = header(control, admitted.prepared, epoch);
        let draw = |base| self.draw(protocol, &header, admitted, base);
        let slots = match self.order(control, protocol, writes, definitions_hold, draw) {
            Ok(Some(slots)) => slots,
            Ok(None) => {
                control.unlock(self.pin, writes);
                return Ok(None);
            }
            Err(refusal) => {
                faults::log_aborted(self, control, protocol, (writes, payload), (header, admitted));
                control.unlock(self.pin, writes);
                return Err(refusal);
            }
        };
        let epoch = protocol.epoch(faults::epoch(&self.snapshots, self.pin, epoch));
        let stamp = slots.stamp();
        yield_at(Point::Reserved);

        let committer = self.snapshots.committer(self.pin, epoch);
        let rows = writes.iter().filter(|write| write.tree_ref.index.is_none());
        committer.expect(rows.map(|write| self.pin.get(write.record)));

        self.write_records(slots, RecordHeader { epoch, ..header }, (protocol, admitted), writes, payload);
        yield_at(Point::Filled);

        let keys = writes.iter().map(|write| self.pin.get(write.record).key());
        control.gathered().publish(protocol.source(), (self.stream, stamp), keys);
        control.install(self.pin, writes, stamp, &committer);
        let raw_dep = control.gathered().dependency().clone();
        Ok(Some(Committed { stamp, stream: admitted.stream(self.stream), epoch, raw_dep }))
    }

    pub(super) fn write_record<D: Dependency, L: Payload>(
        &self,
        slot: Slot<'_>,
        header: RecordHeader<D>,
        writes: &WriteSet,
        payload: &L,
    ) {
        let header = RecordHeader { stamp: slot.stamp(), ..header };
        slot.fill(|buffer, seal| {
            let encode = |bytes: &mut [u8]| payload.encode(self.pin, writes, Extent::Whole, bytes);
            record::encode(buffer, &header, payload.kind(), seal, encode);
        });
    }

    /// Writes the record of a commit, or of each stream its own.
    fn write_records<D: Dependency, P: LogProtocol, L: Payload>(
        &self,
        slots: Slots<'_>,
        header: RecordHeader<D>,
        (protocol, Admitted { shares, .. }): (&P, &Admitted),
        writes: &WriteSet,
        payload: &L,
    ) {
        let partitions = match protocol.partitions().filter(|_| shares.are_divided()) {
            None => return slots.into_iter().for_each(|slot| self.write_record(slot, header.clone(), writes, payload)),
            Some(partitions) => partitions,
        };
        let named = shares.named();
        for (slot, (stream, share)) in slots.into_iter().zip(shares.iter()) {
            let Some(slot) = faults::share(slot, &named, stream) else { continue };
            let header = RecordHeader { stamp: slot.stamp(), write_count: share.write_count, ..header.clone() };
            slot.fill(|buffer, seal| {
                let kind = if named.is_some() { payload.kind().share() } else { payload.kind() };
                record::encode(buffer, &header, kind, seal, |bytes| {
                    let at = named.map_or(0, |participants| participants.encode(bytes));
                    at + payload.encode(self.pin, writes, Extent::Share(partitions, stream), &mut bytes[at..])
                });
            });
        }
    }

    /// Draws the order number of a commit with its room in the log. `None`: the log has no room.
    fn draw<'l, D: Dependency, P: LogProtocol>(
        &self,
        protocol: &'l P,
        header: &RecordHeader<D>,
        Admitted { prepared, shares, .. }: &Admitted,
        base: Stamp,
    ) -> Result<Option<Slots<'l>>, LogError> {
        if shares.are_divided() {
            let slots = protocol.stamp_shares(&shares.record_bytes(header), base)?;
            return Ok(slots.map(Slots::of_shares));
        }
        let slot = protocol.stamp(self.stream, base, record::encoded_len(header, prepared.bytes))?;
        Ok(slot.map(Slots::one))
    }

    /// Validates what was read and draws the order number, in the order that the protocol asks for. `None`: the log has no room.
    fn order<'l, C: ConcurrencyControl, P: LogProtocol>(
        &self,
        control: &C,
        protocol: &P,
        writes: &WriteSet,
        definitions_hold: impl FnOnce(&WriteSet) -> Result<(), TransactionError>,
        draw: impl FnOnce(Stamp) -> Result<Option<Slots<'l>>, LogError>,
    ) -> Result<Option<Slots<'l>>, Error> {
        let validate = || control.validate(self.pin, writes).and_then(|()| definitions_hold(writes));
        let stamp = || {
            let reads = protocol.read_stamps();
            let readers = reads.filter(|_| !GatheringOf::<C>::COVERS_READERS);
            let base = control.base(self.pin, writes, readers);
            let base = protocol.counted(base, || control.base_of_rows(self.pin, writes));
            let slots = draw(base)?;
            assert!(
                slots.as_ref().is_none_or(|slots| slots.stamp() > base),
                "a stamp follows all that was read or overwritten"
            );
            if let (Some(reads), Some(slots)) = (reads, &slots) {
                control.raise_reads(self.pin, writes, reads, (self.stream, slots.stamp()));
            }
            Ok::<_, Error>(slots)
        };
        match protocol.stamp_order() {
            StampOrder::AfterValidation => {
                validate()?;
                yield_at(Point::Validated);
                stamp()
            }
            StampOrder::BeforeValidation => {
                let Some(slots) = stamp()? else { return Ok(None) };
                yield_at(Point::Validated);
                match validate() {
                    Ok(()) => Ok(Some(slots)),
                    Err(conflict) => {
                        faults::skip(slots);
                        Err(conflict.into())
                    }
                }
            }
        }
    }

    /// Ends a transaction without writes: validates what it read.
    pub(crate) fn observe<C: ConcurrencyControl, P: LogProtocol<Dependency = C::Dependency>>(
        &self,
        control: &mut C,
        protocol: &P,
        writes: &WriteSet,
        definitions_hold: impl FnOnce(&WriteSet) -> Result<(), TransactionError>,
    ) -> Result<Committed<C::Dependency>, Error> {
        assert!(writes.is_empty(), "writes are committed");
        let epoch = control.order_observer(self.pin);
        control.validate(self.pin, writes).and_then(|()| definitions_hold(writes))?;
        yield_at(Point::Validated);
        control.close(self.pin, writes, protocol.source(), self.stream);
        let epoch = faults::epoch(&self.snapshots, self.pin, epoch);
        Ok(Committed {
            stamp: Stamp::ZERO,
            stream: self.stream,
            epoch,
            raw_dep: control.gathered().dependency().clone(),
        })
    }

    /// Checks, before anything is locked, that the writes are within the limits, and prepares what is logged of them.
    pub(crate) fn admit<C: ConcurrencyControl, P: LogProtocol<Dependency = C::Dependency>>(
        &self,
        control: &C,
        protocol: &P,
        writes: &mut WriteSet,
        payload: &impl Payload,
    ) -> Result<Admitted, TransactionError> {
        self.memory.admit(self.pin, writes)?;
        let prepared = if P::IS_LOGGED { payload.prepare(self.pin, writes) } else { Prepared::default() };
        Ok(self.admitted(control, protocol, prepared))
    }

    /// Returns how long the record of a payload may become: the epoch may be a later one at the serialization point.
    pub(super) fn admitted<C: ConcurrencyControl, P: LogProtocol<Dependency = C::Dependency>>(
        &self,
        control: &C,
        protocol: &P,
        prepared: Prepared,
    ) -> Admitted {
        let (raw_dep, epoch, write_count) = (Stamp::ZERO, Epoch(u64::MAX), prepared.write_count);
        let header = RecordHeader { stamp: Stamp::ZERO, raw_dep, epoch, write_count };
        let dependency_bytes = control.gathered().encoded_len_max(protocol.source());
        let named_bytes = protocol.partitions().map_or(0, |_| Participants::ENCODED_BYTES_MAX);
        let record_bytes_max = record::encoded_len(&header, dependency_bytes + named_bytes + prepared.bytes);
        Admitted { prepared, record_bytes_max, shares: Shares::default() }
    }

    /// Divides what was admitted among the streams, where the protocol does so.
    pub(crate) fn divide<P: LogProtocol>(
        &self,
        protocol: &P,
        writes: &WriteSet,
        payload: &impl Payload,
        admitted: Admitted,
    ) -> Admitted {
        match protocol.partitions() {
            Some(partitions) => Admitted { shares: payload.divide(self.pin, writes, partitions), ..admitted },
            None => admitted,
        }
    }

    /// Whether a payload goes into its record, of so many bytes: others wait while a large one is written under locks.
    pub(super) fn is_whole(&self, record_bytes: usize) -> bool {
        record_bytes <= self.transaction_log_bytes_max.min(whole_record_bytes_max())
    }
}

/// The header of a record whose stamp is not drawn yet.
fn header<C: ConcurrencyControl>(control: &C, prepared: Prepared, epoch: Epoch) -> RecordHeader<C::Dependency> {
    let raw_dep = control.gathered().dependency().clone();
    RecordHeader { stamp: Stamp::ZERO, raw_dep, epoch, write_count: prepared.write_count }
}
