//! Keeps secondary indexes in step with rows.
//!
//! An index is a tree of records of its own: the key is the indexed columns (and the primary key, where that is needed to
//! tell entries apart), the content is the primary key. A partial index has none where its first column is NULL. Entries are
//! read, locked, stamped and turned into tombstones exactly as rows are, which gives unique checks and index scans the same
//! isolation and the same dependencies as point reads. They are never logged: recovery derives them from the rows.

use osier_memory::Lookup;

use super::duplicate::duplicate_entry;
use super::{Transaction, TransactionState, faults};
use crate::concurrency::Intent;
use crate::concurrency::write_set::{TreeRef, Write};
use crate::error::Error;
use crate::table::handle::OpenIndex;
use crate::table::{KeyCodec, Row, Table};

impl Transaction<'_> {
    /// Replaces the entries of the row `old` by those of the row `new`; where an entry stays the same it is left alone.
    pub(super) fn maintain_indexes(
        &self,
        state: &mut TransactionState,
        table: &Table,
        tree_ref: TreeRef,
        old: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<(), Error> {
        assert!(tree_ref.index.is_none(), "rows are in the primary tree");
        let (old, new) = (old.map(|row| table.rows.row(row)), new.map(|row| table.rows.row(row)));
        let primary_of = |row: &Option<Row<'_>>| row.as_ref().map(|row| table.keys.of_row(row));
        let entry_of = |row: &Option<Row<'_>>, codec: &KeyCodec| row.as_ref().and_then(|row| codec.entry_of_row(row));
        let (old_primary, new_primary) = (primary_of(&old), primary_of(&new));
        for (at, index) in table.indexes.iter().enumerate() {
            let tree_ref = TreeRef { index: Some(u16::try_from(at).expect("a table has fewer indexes")), ..tree_ref };
            let (old_key, new_key) = (entry_of(&old, &index.codec), entry_of(&new, &index.codec));
            if old_key == new_key && old_primary == new_primary {
                continue;
            }
            let is_left = new.is_some() && new_key.is_none();
            if let Some(key) = faults::leaving(old_key, is_left) {
                self.remove_entry(state, index, tree_ref, key.as_bytes())?;
            }
            if let (Some(key), Some(primary_key)) = (&new_key, &new_primary) {
                self.check_key(table, key)?;
                self.add_entry(state, table, index, tree_ref, key.as_bytes(), primary_key.as_bytes())?;
            }
        }
        Ok(())
    }

    pub(super) fn remove_entry(
        &self,
        state: &mut TransactionState,
        index: &OpenIndex,
        tree_ref: TreeRef,
        key: &[u8],
    ) -> Result<(), Error> {
        // The row was read, so its entry is there, or a concurrent commit removed both and validation will tell.
        if let Lookup::Found(record) = index.tree.get(self.pin(), key) {
            self.put(state, Write::new(record, tree_ref, None))?;
        }
        Ok(())
    }

    pub(super) fn add_entry(
        &self,
        state: &mut TransactionState,
        table: &Table,
        index: &OpenIndex,
        tree_ref: TreeRef,
        key: &[u8],
        primary_key: &[u8],
    ) -> Result<(), Error> {
        let observed = match faults::look_up_unobserved(self, state, &index.tree, tree_ref, key)? {
            Some(unobserved) => unobserved,
            None => self.look_up_or_index(state, &index.tree, tree_ref, key, Intent::to_write(table))?,
        };
        let ((record, entry), is_placeholder) = observed;
        if entry.is_some() {
            return Err(duplicate_entry(table, index, key).into());
        }
        let mut version = self.pin().new_version(primary_key.len());
        version.bytes_mut().copy_from_slice(primary_key);
        self.put(state, Write { is_placeholder, ..Write::new(record, tree_ref, Some(version)) })
    }
}
