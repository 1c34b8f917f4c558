//! Opening the catalog after recovery: handles from rows, then secondary indexes from the rows of their tables.
//!
//! Invariants:
//! - Every table, sequence and procedure with a catalog row is opened, or the open fails; rows of tables without one belonged to
//!   dropped tables and are let go.
//! - A table is published when its indexes are complete.
//! - The ids of all tables that there are, and of all that have a row in the log, stay taken; so do those of all procedures that
//!   have or had a version.

use std::sync::Arc;

use osier_memory::{LeafScan, Observed, Pin, ScanFrom, Version};

use super::replay::kept_indexes::KeptIndexes;
use super::{faults, indexes, workers};
use crate::catalog::Catalog;
use crate::catalog::procedure::{Procedure, VersionKey};
use crate::catalog::sequence::{Sequence, SequenceRow};
use crate::config::Config;
use crate::error::Error;
use crate::ids::{Stamp, TableId};
use crate::table::store::{RecordTree, Store};
use crate::table::{IndexId, Row, Schema, SchemaError, Table};

impl Catalog {
    /// Opens everything that the recovered catalog names and fills the secondary indexes of tables. Returns how many rows the
    /// tables with indexes have.
    ///
    /// Those that replay has kept in step are in `kept`.
    pub(crate) fn load(&self, config: &Config, store: &Store, kept: Option<&KeptIndexes>) -> Result<u64, Error> {
        let ids = store.table_ids();
        let mut participant = workers::register(store)?;
        let pin = participant.pin();
        let tree = |table, definition, index| kept.and_then(|kept| kept.tree(table, definition, index));
        let tables = self.open_all_with(store, &pin, tree)?;
        self.open_all_sequences(&pin)?;
        self.open_all_procedures(&pin)?;
        drop(pin);
        drop(participant);
        // A table without a row has left nothing behind but its row of the catalog; one that is gone, nothing but rows.
        let taken = tables.iter().map(|table| table.id).chain(faults::with_rows(&ids).iter().copied());
        self.take_ids(taken);
        let is_open = |id: &TableId| *id < TableId::FIRST_USER || tables.iter().any(|table| table.id == *id);
        ids.into_iter().filter(|id| !is_open(id)).for_each(|id| store.discard(id, None));
        let is_wanted = |table: &Table, index| tree(table.id, table.catalog_stamp(), index).is_none();
        let rows = indexes::build(config, store, &tables, is_wanted)?;
        tables.into_iter().for_each(|table| drop(self.open_tables.publish(table)));
        Ok(rows)
    }

    /// Returns a handle for each row of `osier_tables`, which nobody else writes.
    pub(crate) fn open_all(&self, store: &Store, pin: &Pin<'_>) -> Result<Vec<Table>, Error> {
        self.open_all_with(store, pin, |_, _, _| None)
    }

    /// Does so, where `tree` gives the trees that there are of indexes, by their table and the stamp of its definition.
    fn open_all_with(
        &self,
        store: &Store,
        pin: &Pin<'_>,
        tree: impl Fn(TableId, Stamp, IndexId) -> Option<Arc<RecordTree>>,
    ) -> Result<Vec<Table>, Error> {
        let catalog = self.tables();
        let (id, definition) = (catalog.column("id")?, catalog.column("definition")?);
        let mut opened = Vec::new();
        for_each_row(catalog, pin, |row, version| {
            let (id, schema) = (TableId(row.int(id) as u32), faults::schema(Schema::decode(row.bytes(definition))?));
            let tree = |index| tree(id, version.stamp(), index).unwrap_or_else(|| store.new_tree());
            opened.push(Table::new(id, schema, store.tree(id), tree, Some(version.stamp()))?);
            Ok(())
        })?;
        Ok(opened)
    }

    /// Follows transactions that were run again: opens the sequences that there are now, and forgets all others; the ids of the
    /// procedures that they defined stay taken.
    pub(super) fn follow_replay(&self, store: &Store) -> Result<(), Error> {
        self.open_sequences.clear();
        let mut participant = workers::register(store)?;
        let pin = participant.pin();
        self.open_all_sequences(&pin)?;
        faults::take_procedure_ids(|| self.take_procedure_ids(&pin))
    }

    fn open_all_sequences(&self, pin: &Pin<'_>) -> Result<(), Error> {
        let catalog = &self.system.sequences;
        for_each_row(catalog, pin, |row, version| {
            let (name, sequence) = (SequenceRow::name(row), SequenceRow::of(row));
            if !sequence.is_sound() {
                let reason = format!("sequence `{name}` cannot be declared so");
                return Err(SchemaError::CorruptRow { table: catalog.name().to_owned(), reason });
            }
            self.take_sequence_id(sequence.id);
            // Who uses it relies on its existence and not on the values that were reserved since.
            self.open_sequences.publish(Sequence::new(name, sequence.id, Some(version.birth())));
            Ok(())
        })
    }

    fn open_all_procedures(&self, pin: &Pin<'_>) -> Result<(), Error> {
        for_each_row(&self.system.procedures, pin, |row, version| {
            let (name, current) = VersionKey::of_current(row);
            self.take_procedure_id(current.id);
            self.open_procedures.publish(Procedure::new(name, current, Some(version.stamp())));
            Ok(())
        })?;
        self.take_procedure_ids(pin)
    }

    /// Versions of procedures that are gone are still there.
    fn take_procedure_ids(&self, pin: &Pin<'_>) -> Result<(), Error> {
        for_each_row(&self.system.procedure_versions, pin, |row, _| {
            self.take_procedure_id(VersionKey::of_version(row).id);
            Ok(())
        })
    }
}

/// Gives every row of a system table to `take`, once it is known to be one.
fn for_each_row(
    table: &Table,
    pin: &Pin<'_>,
    mut take: impl FnMut(&Row<'_>, &Version) -> Result<(), SchemaError>,
) -> Result<(), Error> {
    let mut leaf = LeafScan::new();
    table.primary.scan_leaf(pin, ScanFrom::AtLeast(&[]), &mut leaf);
    loop {
        for record in &leaf.entries {
            let Observed::Present(version) = pin.get(*record).read(pin) else { continue };
            table.rows.check(version.bytes())?;
            take(&table.rows.row(version.bytes()), version)?;
        }
        if !table.primary.scan_next(pin, &mut leaf) {
            return Ok(());
        }
    }
}
