//! Opening the catalog after recovery: handles from rows, then secondary indexes from the rows of their tables.
//!
//! Invariants:
//! - Every table with a catalog row is opened, or the open fails; rows of tables without one belonged to dropped tables
//!   and are let go.
//! - A table is published when its indexes are complete.
//! - The ids of all tables that there are, and of all that have a row in the log, stay taken.

use osier_memory::{LeafScan, Observed, Pin, ScanFrom};

use super::{faults, indexes, workers};
use crate::catalog::{Catalog, TABLES};
use crate::config::Config;
use crate::error::Error;
use crate::ids::TableId;
use crate::table::store::Store;
use crate::table::{Schema, Table};

impl Catalog {
    /// Opens every table that the recovered catalog names and fills its secondary indexes. Returns how many rows the tables
    /// with indexes have.
    pub(crate) fn load(&self, config: &Config, store: &Store) -> Result<u64, Error> {
        let ids = store.table_ids();
        let tables = self.open_all(store, &workers::register(store)?.pin())?;
        // A table without a row has left nothing behind but its row of the catalog; one that is gone, nothing but rows.
        let taken = tables.iter().map(|table| table.id).chain(faults::with_rows(&ids).iter().copied());
        self.take_ids(taken);
        let is_open = |id: &TableId| *id == TABLES || tables.iter().any(|table| table.id == *id);
        ids.into_iter().filter(|id| !is_open(id)).for_each(|id| store.discard(id));
        let rows = indexes::build(config, store, &tables)?;
        tables.into_iter().for_each(|table| self.publish(table));
        Ok(rows)
    }

    /// Returns a handle for each row of the catalog, which nobody else writes.
    pub(crate) fn open_all(&self, store: &Store, pin: &Pin<'_>) -> Result<Vec<Table>, Error> {
        let catalog = self.tables();
        let (id, definition) = (catalog.column("id")?, catalog.column("definition")?);
        let mut opened = Vec::new();
        let mut leaf = LeafScan::new();
        catalog.primary.scan_leaf(pin, ScanFrom::AtLeast(&[]), &mut leaf);
        loop {
            for record in &leaf.entries {
                let Observed::Present(version) = pin.get(*record).read(pin) else { continue };
                catalog.rows.check(version.bytes())?;
                let row = catalog.rows.row(version.bytes());
                let (id, schema) = (TableId(row.int(id) as u32), Schema::decode(row.bytes(definition))?);
                opened.push(Table::new(id, schema, store.tree(id), |_| store.new_tree(), Some(version.stamp()))?);
            }
            if !catalog.primary.scan_next(pin, &mut leaf) {
                return Ok(opened);
            }
        }
    }
}
