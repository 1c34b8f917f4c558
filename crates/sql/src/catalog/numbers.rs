//! The numbers of tables in the catalog.
//!
//! Invariant: no two tables have the same number. That of a table follows from its id, which is never given again; one that was
//! made anew keeps its number in its notes. An import gives tables other ids, which may be what others have kept: then all go by
//! their ids.

use std::collections::HashSet;

use osier::{Database, Error, Table};

use super::notes::Notes;
use super::{listing, table_oid};
use crate::error::{Result, SqlError};

/// Takes the numbers from the notes of tables, if two tables have the same one.
pub(crate) fn prepare(db: &Database) -> Result<()> {
    let ((), receipt) = db.run(|transaction| -> Result<()> {
        let mut numbers = HashSet::new();
        let mut kept = Vec::new();
        let mut is_taken = false;
        for table in listing::tables_now(transaction)? {
            let notes = notes_with_number(&table);
            let number = notes.as_ref().and_then(|notes| notes.oid);
            is_taken |= !numbers.insert(number.unwrap_or_else(|| table_oid(table.id())));
            kept.extend(notes.map(|notes| (table, notes)));
        }
        for (table, mut notes) in kept.into_iter().filter(|_| is_taken) {
            notes.oid = None;
            transaction.annotate_table(&table, notes.text())?;
        }
        Ok(())
    })?;
    receipt.wait().map_err(|error| SqlError::from(Error::from(error)))?;
    Ok(())
}

/// The notes of a table that keeps a number in them. Those that cannot be read are refused when somebody uses the table.
fn notes_with_number(table: &Table) -> Option<Notes> {
    let schema = table.schema();
    // Few do, and there may be many tables.
    if !schema.notes().contains("\"oid\":") {
        return None;
    }
    Notes::of(schema).ok().flatten().filter(|notes| notes.oid.is_some())
}
