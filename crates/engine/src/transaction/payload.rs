//! What the record of a transaction holds (log/format/payload), as the spine sees it.
//!
//! The seam is orthogonal to concurrency control and protocol: a payload knows how long it is and how to write itself.

use osier_memory::{Pin, VersionBox};

use crate::concurrency::write_set::{TreeRef, WriteSet};
use crate::ids::TableId;
use crate::log::format::payload::PayloadKind;
use crate::log::format::payload::values::{self, LoggedWrite, ValuesWriter};

/// What a transaction logs.
pub(crate) trait Payload {
    /// Which kind of payload it is.
    const KIND: PayloadKind;

    /// Returns how many bytes it takes.
    fn encoded_len(&self, pin: &Pin<'_>, writes: &WriteSet) -> usize;

    /// Returns how many writes it holds.
    fn write_count(&self, writes: &WriteSet) -> u32;

    /// Writes it to the start of `buffer`, and returns how many bytes it took.
    fn encode(&self, pin: &Pin<'_>, writes: &WriteSet, buffer: &mut [u8]) -> usize;
}

/// The rows that a transaction wrote. `table_id` gives the table under whose id a write is logged, `None` where it is not.
pub(crate) struct Values<F> {
    pub(crate) table_id: F,
}

impl<F: Fn(TreeRef) -> Option<TableId>> Payload for Values<F> {
    const KIND: PayloadKind = PayloadKind::Values;

    fn encoded_len(&self, pin: &Pin<'_>, writes: &WriteSet) -> usize {
        let logged = writes.iter().filter(|write| (self.table_id)(write.tree_ref).is_some());
        values::encoded_len(logged.map(|write| {
            (pin.get(write.record).key().len(), write.pending.as_ref().map(|version| version.bytes().len()))
        }))
    }

    fn write_count(&self, writes: &WriteSet) -> u32 {
        writes.iter().filter(|write| (self.table_id)(write.tree_ref).is_some()).count() as u32
    }

    fn encode(&self, pin: &Pin<'_>, writes: &WriteSet, buffer: &mut [u8]) -> usize {
        let room = buffer.len();
        let mut writer = ValuesWriter::new(buffer);
        for write in writes.iter() {
            let Some(table) = (self.table_id)(write.tree_ref) else { continue };
            let row = write.pending.as_ref().map(VersionBox::bytes);
            writer.write(LoggedWrite { table, key: pin.get(write.record).key(), row });
        }
        let length = writer.finish();
        assert!(length <= room, "{length} bytes of rows in room for {room}");
        length
    }
}
