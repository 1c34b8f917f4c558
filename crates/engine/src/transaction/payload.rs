//! What the record of a transaction holds (log/format/payload), as the spine sees it.
//!
//! The seam is orthogonal to concurrency control and protocol: a payload knows how long it is and how to write itself.
//!
//! A command is logged in place of what it wrote. Whoever runs it again compares the hash of that ([`written`](super::written)).

use osier_memory::{Pin, VersionBox};

use super::shares::{Extent, Prepared, Shares};
use crate::concurrency::write_set::{TreeRef, Write, WriteSet};
use crate::ids::TableId;
use crate::log::format::payload::PayloadKind;
use crate::log::format::payload::command::Command;
use crate::log::format::payload::delta::Delta;
use crate::log::format::payload::values::{Change, LoggedWrite, ValuesWriter};
use crate::log::protocol::plover::Partitions;

/// What a transaction logs.
pub(crate) trait Payload {
    /// Returns which kind of payload it is.
    fn kind(&self) -> PayloadKind;

    /// Decides what of the writes is logged, before anything is locked. Until the transaction ends it stays so.
    fn prepare(&self, pin: &Pin<'_>, writes: &mut WriteSet) -> Prepared;

    /// Returns the share of each stream in what is prepared; none where it is not divided.
    fn divide(&self, _pin: &Pin<'_>, _writes: &WriteSet, _partitions: &Partitions) -> Shares {
        Shares::default()
    }

    /// Writes so much of it to the start of `buffer`, and returns how many bytes it took.
    fn encode(&self, pin: &Pin<'_>, writes: &WriteSet, extent: Extent<'_>, buffer: &mut [u8]) -> usize;

    /// Gives the same bytes to `take`, piece by piece.
    fn pieces<E>(&self, pin: &Pin<'_>, writes: &WriteSet, take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E>;
}

/// The rows that a transaction wrote: of those that it changed what is new, where it has read them and that is shorter, else
/// their images. `table_id` gives the table under whose id a write is logged, `None` where it is not.
pub(crate) struct Values<F> {
    pub(crate) table_id: F,
}

/// A write as it is logged.
#[inline]
pub(super) fn logged<'w>(table: TableId, key: &'w [u8], write: &'w Write, delta: Option<Delta<'w>>) -> LoggedWrite<'w> {
    let image = || Change::from(write.pending.as_ref().map(VersionBox::bytes));
    LoggedWrite { table, key, change: delta.map_or_else(image, Change::Delta) }
}

impl<F: Fn(TreeRef) -> Option<TableId>> Values<F> {
    /// The writes as they are logged, once that is decided.
    fn logged<'w>(&self, pin: &'w Pin<'_>, writes: &'w WriteSet) -> impl Iterator<Item = LoggedWrite<'w>> {
        writes.iter().filter_map(|write| {
            let table = (self.table_id)(write.tree_ref)?;
            Some(logged(table, pin.get(write.record).key(), write, writes.delta(write)))
        })
    }
}

impl<F: Fn(TreeRef) -> Option<TableId>> Payload for Values<F> {
    fn kind(&self) -> PayloadKind {
        PayloadKind::Values
    }

    fn prepare(&self, pin: &Pin<'_>, writes: &mut WriteSet) -> Prepared {
        let mut prepared = Prepared::default();
        writes.find_deltas(pin, |write, key, delta| {
            if let Some(table) = (self.table_id)(write.tree_ref) {
                prepared.bytes += logged(table, key, write, delta).encoded_len();
                prepared.write_count += 1;
            }
        });
        prepared
    }

    fn divide(&self, pin: &Pin<'_>, writes: &WriteSet, partitions: &Partitions) -> Shares {
        Shares::of(partitions, self.logged(pin, writes).map(|write| (write.key, write.encoded_len())))
    }

    fn encode(&self, pin: &Pin<'_>, writes: &WriteSet, extent: Extent<'_>, buffer: &mut [u8]) -> usize {
        writes.assert_bases(pin);
        let room = buffer.len();
        let mut writer = ValuesWriter::new(buffer);
        self.logged(pin, writes).filter(|write| extent.holds(write.key)).for_each(|write| writer.write(write));
        let length = writer.finish();
        assert!(length <= room, "{length} bytes of rows in room for {room}");
        length
    }

    fn pieces<E>(
        &self,
        pin: &Pin<'_>,
        writes: &WriteSet,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut piece = Vec::new();
        for write in self.logged(pin, writes) {
            piece.resize(write.encoded_len(), 0);
            let mut writer = ValuesWriter::new(&mut piece);
            writer.write(write);
            let length = writer.finish();
            take(&piece[..length])?;
        }
        Ok(())
    }
}

/// How a transaction was called.
pub(crate) struct Called<'c, 'a> {
    pub(crate) command: &'c Command<'a>,
}

impl Payload for Called<'_, '_> {
    fn kind(&self) -> PayloadKind {
        PayloadKind::Command
    }

    fn prepare(&self, _pin: &Pin<'_>, _writes: &mut WriteSet) -> Prepared {
        let arguments = u32::try_from(self.command.arguments.len()).expect("a procedure has few parameters");
        Prepared { bytes: self.command.encoded_len(), write_count: arguments }
    }

    fn encode(&self, _pin: &Pin<'_>, _writes: &WriteSet, _extent: Extent<'_>, buffer: &mut [u8]) -> usize {
        self.command.encode(buffer)
    }

    fn pieces<E>(
        &self,
        _pin: &Pin<'_>,
        _writes: &WriteSet,
        _take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        unreachable!("a command is in one piece, or the rows that it wrote are logged")
    }
}
