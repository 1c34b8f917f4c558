//! The payload of a database that logs physiologically (Command logging, section IV), and the choice between it and values.
//!
//! As a system in memory needs no undo, the record of a transaction is written when that commits: one group, whole or not there.
//! So images before serve whoever reads the log, and a comparison of its bytes; recovery passes them over.
//!
//! Invariants:
//! - An image before is that of the version which the write replaces. The transaction has read that version, or that there was
//!   none ([`Transaction::observe_overwritten`]); validation has found it in place with the record locked, and
//!   [`WriteSet::assert_bases`] looks once more before the record is filled.
//! - So it depends on whoever wrote that version (`raw_dep`): where the record lives, the image before is that of a row that
//!   lived.
//!
//! Absent: the encoding (log/format/payload/physiological.rs).

use osier_memory::{Pin, Stamp};

use super::payload::{Payload, Values, logged};
use super::shares::{Extent, Prepared, Shares};
use super::{Transaction, TransactionState, faults, try_access};
use crate::concurrency::write_set::{TreeRef, Write, WriteSet};
use crate::concurrency::{ConcurrencyControl, Found};
use crate::config::{Config, Logged, PhysiologicalImages};
use crate::error::TransactionError;
use crate::ids::TableId;
use crate::log::format::payload::PayloadKind;
use crate::log::format::payload::physiological::{self, ImagedWrite};
use crate::log::protocol::plover::Partitions;

/// The rows that a transaction wrote, each as what became of it and perhaps what it was before. `table_id` is that of
/// [`Values`].
pub(crate) struct Physiological<F> {
    table_id: F,
    images: PhysiologicalImages,
    with_before: bool,
}

impl<F: Fn(TreeRef) -> Option<TableId>> Physiological<F> {
    /// The writes as they are logged, once that is decided.
    fn imaged<'w>(&self, pin: &'w Pin<'_>, writes: &'w WriteSet) -> impl Iterator<Item = ImagedWrite<'w>> {
        writes.iter().filter_map(|write| {
            let table = (self.table_id)(write.tree_ref)?;
            let logged = logged(table, pin.get(write.record).key(), write, writes.delta(write));
            Some(faults::imaged(ImagedWrite { write: logged, before: writes.before(pin, write) }))
        })
    }
}

impl<F: Fn(TreeRef) -> Option<TableId>> Payload for Physiological<F> {
    fn kind(&self) -> PayloadKind {
        PayloadKind::Physiological
    }

    fn prepare(&self, pin: &Pin<'_>, writes: &mut WriteSet) -> Prepared {
        match self.images {
            PhysiologicalImages::Changed => writes.find_deltas(pin, |_, _, _| ()),
            PhysiologicalImages::Full => writes.forget_deltas(),
        }
        if self.with_before {
            writes.find_undo(pin);
        }
        let mut prepared = Prepared::default();
        for imaged in self.imaged(pin, writes) {
            prepared.bytes += imaged.encoded_len();
            prepared.write_count += 1;
        }
        prepared
    }

    fn divide(&self, pin: &Pin<'_>, writes: &WriteSet, partitions: &Partitions) -> Shares {
        let imaged = self.imaged(pin, writes);
        Shares::of(partitions, imaged.map(|imaged| (imaged.write.key, imaged.encoded_len())))
    }

    fn encode(&self, pin: &Pin<'_>, writes: &WriteSet, extent: Extent<'_>, buffer: &mut [u8]) -> usize {
        writes.assert_bases(pin);
        let room = buffer.len();
        let imaged = self.imaged(pin, writes).filter(|imaged| extent.holds(imaged.write.key));
        let length = physiological::encode(buffer, imaged);
        assert!(length <= room, "{length} bytes of images in room for {room}");
        length
    }

    fn pieces<E>(
        &self,
        pin: &Pin<'_>,
        writes: &WriteSet,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut piece = Vec::new();
        for imaged in self.imaged(pin, writes) {
            piece.resize(imaged.encoded_len(), 0);
            let length = physiological::encode(&mut piece, std::iter::once(imaged));
            take(&piece[..length])?;
        }
        Ok(())
    }
}

impl Transaction<'_> {
    /// Where images before are logged, notes as read what a write of a row takes the place of: the content of the row, or that
    /// there is none. All writes come by here, so none is logged with another image than that of the version which validation
    /// finds in its place, and the transaction depends on whoever wrote that.
    pub(super) fn observe_overwritten(
        &self,
        state: &mut TransactionState,
        write: Write,
    ) -> Result<Write, TransactionError> {
        let is_known = write.base > Stamp::ZERO || write.tree_ref.index.is_some();
        if is_known || !self.shared.config.logs_before_images() || state.writes.find(write.record).is_some() {
            return Ok(write);
        }
        let found = match faults::unread(self.pin(), write.record) {
            Some(found) => found,
            None => {
                let intent = state.intent_to_write(write.tree_ref);
                try_access!(state, control => control.read(self.pin(), write.record, intent))?
            }
        };
        match found {
            Found::Present(version) => Ok(Write { base: version.stamp(), ..write }),
            // Whoever locks a record that has left its tree meets a conflict.
            Found::Absent | Found::Gone => Ok(write),
        }
    }
}

/// The rows that a transaction wrote, as its database logs rows.
pub(crate) enum Rows<F> {
    /// Where it logs values, and beside commands.
    Values(Values<F>),
    Physiological(Physiological<F>),
}

impl<F> Rows<F> {
    /// Returns what `config` asks for.
    pub(crate) fn of(config: &Config, table_id: F) -> Rows<F> {
        match config.logged {
            Logged::Values | Logged::Commands | Logged::Adaptive => Rows::Values(Values { table_id }),
            Logged::Physiological => Rows::Physiological(Physiological {
                table_id,
                images: config.physiological_images,
                with_before: config.logs_before_images(),
            }),
        }
    }
}

impl<F: Fn(TreeRef) -> Option<TableId>> Payload for Rows<F> {
    fn kind(&self) -> PayloadKind {
        match self {
            Rows::Values(values) => values.kind(),
            Rows::Physiological(images) => images.kind(),
        }
    }

    fn prepare(&self, pin: &Pin<'_>, writes: &mut WriteSet) -> Prepared {
        match self {
            Rows::Values(values) => values.prepare(pin, writes),
            Rows::Physiological(images) => images.prepare(pin, writes),
        }
    }

    fn divide(&self, pin: &Pin<'_>, writes: &WriteSet, partitions: &Partitions) -> Shares {
        match self {
            Rows::Values(values) => values.divide(pin, writes, partitions),
            Rows::Physiological(images) => images.divide(pin, writes, partitions),
        }
    }

    fn encode(&self, pin: &Pin<'_>, writes: &WriteSet, extent: Extent<'_>, buffer: &mut [u8]) -> usize {
        match self {
            Rows::Values(values) => values.encode(pin, writes, extent, buffer),
            Rows::Physiological(images) => images.encode(pin, writes, extent, buffer),
        }
    }

    fn pieces<E>(&self, pin: &Pin<'_>, writes: &WriteSet, take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match self {
            Rows::Values(values) => values.pieces(pin, writes, take),
            Rows::Physiological(images) => images.pieces(pin, writes, take),
        }
    }
}
