//! Opening the catalog after recovery: handles from rows, secondary indexes from rows of their tables.
//!
//! Invariants:
//! - Every table with a catalog row is opened, or the open fails; rows of tables without one belonged to dropped tables
//!   and are let go.
//! - The ids of all tables that ever had a logged row stay taken.

use std::sync::atomic::Ordering;

use osier_memory::{LeafScan, Observed, Pin, ScanFrom, Stamp};

use super::{Catalog, TABLES};
use crate::error::Error;
use crate::ids::TableId;
use crate::table::store::{RecordTree, Store};
use crate::table::{Schema, Table};
use crate::transaction::fill_index;

impl Catalog {
    /// Opens every table that the recovered catalog names and fills its secondary indexes; `indexed` is told how many rows
    /// the filled indexes have gone through. Returns their number.
    pub(crate) fn load(&self, store: &Store, pin: &Pin<'_>, indexed: &dyn Fn(u64)) -> Result<u64, Error> {
        let highest = store.table_ids().last().copied().unwrap_or(TABLES).max(TableId(TableId::FIRST_USER.0 - 1));
        self.next_table_id.store(highest.0 + 1, Ordering::Relaxed);
        let mut opened = vec![TABLES];
        let mut rows = 0;
        self.each_definition(pin, |id, schema, stamp| {
            let table = Table::new(id, schema, store.tree(id), |_| store.new_tree(), Some(stamp))?;
            rows += fill_indexes(pin, &table)?;
            indexed(rows);
            opened.push(id);
            self.publish(table);
            Ok(())
        })?;
        for id in store.table_ids().into_iter().filter(|id| !opened.contains(id)) {
            store.discard(id);
        }
        Ok(rows)
    }

    fn each_definition(
        &self,
        pin: &Pin<'_>,
        mut open: impl FnMut(TableId, Schema, Stamp) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let tables = &self.tables;
        let (id, definition) = (tables.column("id")?, tables.column("definition")?);
        each_row(pin, &tables.primary, |row, stamp| {
            tables.rows.check(row)?;
            let row = tables.rows.row(row);
            open(TableId(row.int(id) as u32), Schema::decode(row.bytes(definition))?, stamp)
        })
    }
}

fn fill_indexes(pin: &Pin<'_>, table: &Table) -> Result<u64, Error> {
    if table.indexes.is_empty() {
        return Ok(0);
    }
    let mut rows = 0;
    each_row(pin, &table.primary, |row, _| {
        table.rows.check(row)?;
        rows += 1;
        Ok(table.indexes.iter().try_for_each(|index| fill_index(pin, table, index, row))?)
    })?;
    Ok(rows)
}

/// Walks a tree that nobody else writes.
fn each_row(
    pin: &Pin<'_>,
    tree: &RecordTree,
    mut visit: impl FnMut(&[u8], Stamp) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut leaf = LeafScan::default();
    tree.scan_leaf(pin, ScanFrom::AtLeast(&[]), &mut leaf);
    loop {
        for record in &leaf.entries {
            if let Observed::Present(version) = pin.get(*record).read(pin) {
                visit(version.bytes(), version.stamp())?;
            }
        }
        if !tree.scan_next(pin, &mut leaf) {
            return Ok(());
        }
    }
}
