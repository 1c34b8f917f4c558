//! A payload that is too large for one record: written to the log in parts, before the transaction commits.
//!
//! Invariants:
//! - Parts are written with no lock held, and only while little is on its way to the device, so that the commits of others come
//!   in between and wait for no more than that.
//! - Nobody takes a part for anything until the record that names it is in the log. A transaction that does not commit leaves
//!   parts behind that mean nothing.
//! - What is in the parts is what is installed: nobody but the transaction can change what it has written.
//! - From before the first part until the record is in the log, truncation stays behind the first part ([`PartsHold`]).
//!
//! Absent: what a part looks like (log/format/part.rs), and who puts them together (log/format/parts_reader.rs).

use osier_memory::Pin;

use super::faults;
use super::lifecycle::Commit;
use super::payload::Payload;
use super::shares::Extent;
use super::shares::Prepared;
use crate::concurrency::write_set::WriteSet;
use crate::error::Error;
use crate::failpoint::{Point, yield_at};
use crate::ids::{LogOffset, Stamp};
use crate::log::CommitLog;
use crate::log::format::part::{self, PartHeader};
use crate::log::format::payload::in_parts::{ENCODED_BYTES, InParts, PayloadSum};
use crate::log::format::payload::{PayloadKind, WriteForm};
use crate::log::format::record::ALIGNMENT;
use crate::log::persist::parts::PartsHold;
use crate::log::protocol::LogProtocol;
use crate::sizes::{part_bytes, parts_in_flight_bytes};

/// The parts of a transaction, all of which have their place in the log.
pub(crate) struct WrittenParts {
    pub(crate) payload: NamedParts,
    pub(crate) hold: PartsHold,
}

/// What the record of a transaction in parts holds.
pub(crate) struct NamedParts {
    named: InParts,
    writes: u32,
}

impl Payload for NamedParts {
    fn kind(&self) -> PayloadKind {
        self.named.kind()
    }

    fn prepare(&self, _pin: &Pin<'_>, _writes: &mut WriteSet) -> Prepared {
        Prepared { bytes: ENCODED_BYTES, write_count: self.writes }
    }

    fn encode(&self, pin: &Pin<'_>, writes: &WriteSet, _extent: Extent<'_>, buffer: &mut [u8]) -> usize {
        // When the parts were written nothing was locked.
        writes.assert_bases(pin);
        self.named.encode(buffer)
    }

    fn pieces<E>(
        &self,
        _pin: &Pin<'_>,
        _writes: &WriteSet,
        _take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        unreachable!("what names the parts is in one piece")
    }
}

impl Commit<'_, '_> {
    /// Writes a payload that is prepared to the log in parts. `None` where nothing is logged.
    pub(crate) fn write_parts<P: LogProtocol, L: Payload>(
        &self,
        protocol: &P,
        log: &CommitLog,
        writes: &WriteSet,
        (payload, prepared): (&L, Prepared),
    ) -> Result<Option<WrittenParts>, Error> {
        let form = match payload.kind() {
            PayloadKind::Values => WriteForm::Values,
            PayloadKind::Physiological => WriteForm::Physiological,
            kind => unreachable!("what is put together again are the rows that were written, not {kind:?}"),
        };
        yield_at(Point::InParts);
        let Some(hold) = log.hold_parts(self.stream) else { return Ok(None) };
        let longest = part_bytes().min(self.transaction_log_bytes_max);
        let room = part::room(longest - longest % ALIGNMENT);
        let sum = PayloadSum::new();
        let mut parts = PartsWriter { commit: self, protocol, log, form, sum, named: None, last: None };
        let mut waiting: Vec<u8> = Vec::with_capacity(room);
        payload.pieces(self.pin, writes, |piece| {
            waiting.extend_from_slice(piece);
            let whole = waiting.len() / room * room;
            waiting[..whole].chunks(room).try_for_each(|bytes| parts.write(bytes, false))?;
            waiting.drain(..whole);
            Ok::<_, Error>(())
        })?;
        if !waiting.is_empty() {
            parts.write(&waiting, true)?;
        }
        let named = parts.finish();
        let named = faults::named_parts(named);
        Ok(Some(WrittenParts { payload: NamedParts { named, writes: prepared.write_count }, hold }))
    }
}

/// Writes one part behind the other.
struct PartsWriter<'w, 'c, 'p, P> {
    commit: &'w Commit<'c, 'p>,
    protocol: &'w P,
    log: &'w CommitLog,
    form: WriteForm,
    sum: PayloadSum,
    /// What was written so far; its checksum comes last.
    named: Option<InParts>,
    last: Option<LogOffset>,
}

impl<P: LogProtocol> PartsWriter<'_, '_, '_, P> {
    fn write(&mut self, bytes: &[u8], is_last: bool) -> Result<(), Error> {
        let length = part::encoded_len(bytes.len());
        self.sum.add(bytes);
        if let Some(named) = &mut self.named
            && faults::is_left_out(is_last && named.parts > 1)
        {
            (named.bytes, named.parts) = (named.bytes + bytes.len() as u64, named.parts + 1);
            return Ok(());
        }
        let slot = loop {
            self.log.wait_until_calm(self.commit.stream, parts_in_flight_bytes())?;
            // A part depends on nothing: its number only has to be its own.
            if let Some(slot) = self.protocol.stamp(self.commit.stream, Stamp::ZERO, length)? {
                break slot;
            }
            self.log.wait_for_room(self.commit.stream, length)?;
        };
        let (offset, stamp) = (slot.offset(), slot.stamp());
        let (first, last, form) = (offset, offset, self.form);
        let named = self.named.get_or_insert(InParts { first, last, bytes: 0, parts: 0, checksum: 0, form });
        let header = PartHeader {
            stamp,
            first: named.first,
            previous: self.last.unwrap_or(offset),
            position: named.bytes,
            bytes: bytes.len() as u32,
        };
        slot.fill(|buffer, seal| part::encode(buffer, &header, seal, bytes));
        assert!(offset > header.previous || named.parts == 0, "parts follow each other in their stream");
        (named.last, named.bytes, named.parts) = (offset, named.bytes + bytes.len() as u64, named.parts + 1);
        self.last = Some(offset);
        yield_at(Point::InParts);
        Ok(())
    }

    fn finish(self) -> InParts {
        let named = self.named.expect("a payload that is large has a part");
        InParts { checksum: self.sum.value(), ..named }
    }
}
