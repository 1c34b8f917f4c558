//! Keeps secondary indexes in step with rows.
//!
//! An index is a tree of records of its own: the key is the indexed columns (and the primary key, where that is needed
//! to tell entries apart), the content is the primary key. Entries are read, locked, stamped and turned into tombstones
//! exactly as rows are, which gives unique checks and index scans the same isolation and the same dependencies as point
//! reads. They are never logged: recovery derives them from the rows.

use osier_memory::Lookup;

use super::write_set::{Place, Write};
use super::{State, Transaction, TransactionError};
use crate::error::Error;
use crate::failpoint::{Mutation, has};
use crate::table::handle::OpenIndex;
use crate::table::{KeyCodec, Row, Table};

impl Transaction<'_> {
    /// Replaces the entries of the row `old` by those of the row `new`; where an entry stays the same it is left alone.
    pub(super) fn maintain_indexes(
        &self,
        state: &mut State,
        table: &Table,
        place: Place,
        old: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<(), Error> {
        let (old, new) = (old.map(|row| table.rows.row(row)), new.map(|row| table.rows.row(row)));
        let key_of = |row: &Option<Row<'_>>, codec: &KeyCodec| row.as_ref().map(|row| codec.of_row(row));
        let (old_primary, new_primary) = (key_of(&old, &table.keys), key_of(&new, &table.keys));
        for (at, index) in table.indexes.iter().enumerate() {
            let place = Place { index: Some(at as u16), ..place };
            let (old_key, new_key) = (key_of(&old, &index.codec), key_of(&new, &index.codec));
            if old_key == new_key && old_primary == new_primary {
                continue;
            }
            if let Some(key) = old_key {
                self.remove_entry(state, index, place, key.as_bytes());
            }
            if let (Some(key), Some(primary_key)) = (&new_key, &new_primary) {
                self.check_key(table, key)?;
                self.add_entry(state, table, index, place, key.as_bytes(), primary_key.as_bytes())?;
            }
        }
        Ok(())
    }

    fn remove_entry(&self, state: &mut State, index: &OpenIndex, place: Place, key: &[u8]) {
        // The row was read, so its entry is there, or a concurrent commit removed both and validation will tell.
        if let Lookup::Found(record) = index.tree.get(&self.pin, key) {
            state.writes.put(Write { record, place, pending: None, birth: None, is_placeholder: false });
        }
    }

    fn add_entry(
        &self,
        state: &mut State,
        table: &Table,
        index: &OpenIndex,
        place: Place,
        key: &[u8],
        primary_key: &[u8],
    ) -> Result<(), Error> {
        let (record, is_taken, is_placeholder) = if has(Mutation::UniqueUnobserved) {
            let (record, is_placeholder) = self.index_record(state, &index.tree, key, false);
            let own = state.writes.find(record).map(|write| write.pending.is_some());
            (record, own.unwrap_or_else(|| !self.pin.get(record).is_absent()), is_placeholder)
        } else {
            let ((record, entry), is_placeholder) = self.look_up_or_index(state, &index.tree, key);
            (record, entry.is_some(), is_placeholder)
        };
        if is_taken {
            let (table, key) = (table.name().to_owned(), index.codec.describe(key));
            let constraint = format!("index `{}`", index.name);
            return Err(TransactionError::DuplicateKey { table, constraint, key }.into());
        }
        let mut version = self.pin.new_version(primary_key.len());
        version.bytes_mut().copy_from_slice(primary_key);
        state.writes.put(Write { record, place, pending: Some(version), birth: None, is_placeholder });
        Ok(())
    }
}
