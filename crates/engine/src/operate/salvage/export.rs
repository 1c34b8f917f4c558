//! Writes recovered rows to a new database, by its own transactions.
//!
//! Invariants:
//! - The target is marked until everything is in it, durably: until then nothing opens it.
//! - A row that the new database refuses is counted and does not keep others out.

use osier_memory::{LeafScan, Observed, Pin, ScanFrom};

use super::report::{SalvageReport, SalvagedTable};
use crate::call::Replayer;
use crate::catalog::{Catalog, TABLES};
use crate::config::Config;
use crate::database::Database;
use crate::directory::{self, Claim};
use crate::error::{Error, SalvageError, TransactionError};
use crate::ids::TableId;
use crate::recovery::workers;
use crate::table::store::{RecordTree, Store};
use crate::table::{Table, Value};

/// Rows of a transaction.
const ROWS_PER_TRANSACTION: usize = 64;

/// Writes every table of `store` that has a definition.
pub(super) fn write(store: &Store, target: Config, report: &mut SalvageReport) -> Result<(), Error> {
    target.check()?;
    let (disk, home) = (target.environment.disk.clone(), target.dirs[0].clone());
    let (claim, found) = Claim::take(&target)?;
    if found.is_some() || claim.occupant()?.is_some() {
        return Err(SalvageError::NotEmpty { path: home }.into());
    }
    directory::mark_unfinished(&*disk, &home)?;
    let db = Database::open_claimed(target, Some((claim, None)), &mut Replayer::default())?;
    let mut participant = workers::register(store)?;
    let pin = participant.pin();
    let catalog = Catalog::new(store)?;
    let system = catalog.system.all();
    let mut known: Vec<_> = system.iter().map(|table| table.id).collect();
    system.into_iter().for_each(|table| report.name_rows(table));
    for table in catalog.open_all(store, &pin)? {
        known.push(table.id);
        report.name_rows(&table);
        // Closing the database makes all of it durable.
        let (to, _) = db.run(|tx| tx.create_table((*table.schema).clone()))?;
        report.tables.push(copy(&db, &table, &to, &pin)?);
    }
    assert_eq!(known.len(), report.tables.len() + system.len(), "every table that has a definition, and the catalog");
    // The rows of tables were written with the tables.
    for from in system.into_iter().filter(|from| from.id != TABLES) {
        let (to, _) = db.run(|tx| tx.table(from.name()))?;
        let copied = copy(&db, from, &to, &pin)?;
        report.tables.extend((copied.rows + copied.refused > 0).then_some(copied));
    }
    for id in store.table_ids().into_iter().filter(|id| !known.contains(id)) {
        report.nameless_rows += count(store, id, &pin);
    }
    db.close()?;
    directory::unmark(&*disk, &home)?;
    Ok(())
}

fn for_each_row(
    tree: &RecordTree,
    pin: &Pin<'_>,
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut leaf = LeafScan::new();
    tree.scan_leaf(pin, ScanFrom::AtLeast(&[]), &mut leaf);
    loop {
        for record in &leaf.entries {
            if let Observed::Present(version) = pin.get(*record).read(pin) {
                take(version.bytes())?;
            }
        }
        if !tree.scan_next(pin, &mut leaf) {
            return Ok(());
        }
    }
}

fn count(store: &Store, table: TableId, pin: &Pin<'_>) -> u64 {
    let mut rows = 0;
    let counted = for_each_row(&store.tree(table), pin, |_| {
        rows += 1;
        Ok(())
    });
    assert!(counted.is_ok(), "counting refuses nothing");
    rows
}

/// Copies the rows of a table, those of a system table as they are: a sequence goes on where it was.
fn copy(db: &Database, from: &Table, to: &Table, pin: &Pin<'_>) -> Result<SalvagedTable, Error> {
    let mut saved = SalvagedTable { name: from.name().to_owned(), rows: 0, refused: 0 };
    let (mut batch, mut found) = (Vec::with_capacity(ROWS_PER_TRANSACTION), 0);
    for_each_row(&from.primary, pin, |row| {
        found += 1;
        if from.rows.check(row).is_err() {
            saved.refused += 1;
            return Ok(());
        }
        batch.push(row.to_vec());
        if batch.len() == ROWS_PER_TRANSACTION {
            insert(db, to, &std::mem::take(&mut batch), &mut saved)?;
        }
        Ok(())
    })?;
    insert(db, to, &batch, &mut saved)?;
    assert_eq!(saved.rows + saved.refused, found, "a row is written or counted as refused");
    Ok(saved)
}

/// Inserts rows; those that have to be refused are found one by one.
fn insert(db: &Database, table: &Table, rows: &[Vec<u8>], saved: &mut SalvagedTable) -> Result<(), Error> {
    let inserted = db.run(|tx| -> Result<(), Error> {
        for row in rows {
            let row = table.rows.row(&row[..]);
            let values = row.values().collect::<Vec<Value<'_>>>();
            match table.id < TableId::FIRST_USER {
                true => tx.copy_system_row(table, &values)?,
                false => tx.insert(table, &values)?,
            }
        }
        Ok(())
    });
    match inserted {
        Ok(_) => {
            saved.rows += rows.len() as u64;
            Ok(())
        }
        Err(Error::Transaction(TransactionError::DuplicateKey { .. })) if rows.len() == 1 => {
            saved.refused += 1;
            Ok(())
        }
        Err(Error::Transaction(error)) if rows.len() > 1 && !matches!(error, TransactionError::Conflict { .. }) => {
            rows.chunks(1).try_for_each(|row| insert(db, table, row, saved))
        }
        Err(error) => Err(error),
    }
}
