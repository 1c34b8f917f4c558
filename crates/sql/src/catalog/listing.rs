//! What the catalog of the engine lists: tables by name, and sequences.

use osier::table::KeyRange;
use osier::{Error, Row, Table, Transaction, TransactionError, Value};

use super::name::{Name, PUBLIC};
use crate::error::Result;
use crate::run::store::{Scanned, Store};

/// The engine's table of tables.
const TABLES: &str = "osier_tables";
/// That of sequences.
const SEQUENCES: &str = "osier_sequences";

/// Returns the names of all tables, as the engine has them: those of SQL itself, too.
pub(crate) fn table_names(store: &dyn Store) -> Result<Vec<String>> {
    let system = store.table(TABLES)?;
    let column = system.column("name")?;
    let rows = store.scan(&system, None, KeyRange::all(), false)?;
    rows.map(|row| Ok(row?.text(column).to_owned())).collect()
}

/// Returns the names of tables that may be in a schema, with `None` in any. Others come and go meanwhile, which is no conflict.
pub(crate) fn table_names_now(transaction: &Transaction<'_>, schema: Option<&str>) -> Result<Vec<String>> {
    // The names of tables in `public` are among all others.
    let schema = schema.filter(|schema| *schema != PUBLIC);
    // A slash comes next to a full stop.
    let bounds = schema.map(|schema| (format!("{schema}."), format!("{schema}/")));
    let keys = bounds.as_ref().map(|(low, high)| ([Value::Text(low)], [Value::Text(high)]));
    let range = match &keys {
        Some((low, high)) => KeyRange::all().from_included(low).to_excluded(high),
        None => KeyRange::all(),
    };
    let system = transaction.table(TABLES)?;
    let column = system.column("name")?;
    let rows = transaction.scan_unvalidated(&system, range)?;
    rows.map(|row| Ok(row?.text(column).to_owned())).collect()
}

/// Returns the tables of users. Others come, go and change meanwhile, which is no conflict.
pub(crate) fn tables_now(store: &dyn Store) -> Result<Vec<Table>> {
    let system = store.table(TABLES)?;
    let column = system.column("name")?;
    let mut tables = Vec::new();
    for row in store.scan_unvalidated(&system)? {
        let row = row?;
        let name = row.text(column);
        if Name::of_engine(name).is_own() {
            continue;
        }
        match store.table_unvalidated(name) {
            Ok(table) => tables.push(table),
            // It has gone since.
            Err(Error::Transaction(TransactionError::UnknownTable { .. })) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(tables)
}

/// A sequence, with what it will give next.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) id: i64,
    pub(crate) name: Name,
    pub(crate) increment: i64,
    pub(crate) minimum: i64,
    pub(crate) maximum: i64,
    pub(crate) start: i64,
    pub(crate) cycles: bool,
    pub(crate) cache: i64,
    /// `None`: it is exhausted.
    pub(crate) next: Option<i64>,
}

impl Sequence {
    /// What it has given last: the value before the next one that no session has taken. `None`: it has given none.
    pub(crate) fn last_value(&self) -> Option<i64> {
        match self.next {
            Some(next) if next == self.start => None,
            Some(next) => Some(next.wrapping_sub(self.increment)),
            None => Some(if self.increment > 0 { self.maximum } else { self.minimum }),
        }
    }
}

/// Returns the sequences that statements see. That others come or go, or give values, is a conflict.
pub(crate) fn sequences(store: &dyn Store) -> Result<Vec<Sequence>> {
    let system = store.table(SEQUENCES)?;
    sequences_in(&system, store.scan(&system, None, KeyRange::all(), false)?)
}

/// As [`sequences`]; but others come, go and give values meanwhile, which is no conflict, nor are values that the transaction
/// itself draws.
pub(crate) fn sequences_now(store: &dyn Store) -> Result<Vec<Sequence>> {
    let system = store.table(SEQUENCES)?;
    sequences_in(&system, store.scan_unvalidated(&system)?)
}

fn sequences_in(system: &Table, rows: Scanned<'_>) -> Result<Vec<Sequence>> {
    let column = |name: &str| system.column(name);
    let [id, name, increment] = [column("id")?, column("name")?, column("increment")?];
    let [minimum, maximum, start] = [column("minimum")?, column("maximum")?, column("start")?];
    let [cycle, cache, next] = [column("cycle")?, column("cache")?, column("next")?];
    let read = |row: Row<'_>| Sequence {
        id: row.int(id),
        name: Name::of_engine(row.text(name)),
        increment: row.int(increment),
        minimum: row.int(minimum),
        maximum: row.int(maximum),
        start: row.int(start),
        cycles: row.boolean(cycle),
        cache: row.int(cache),
        next: (!row.is_null(next)).then(|| row.int(next)),
    };
    let mut sequences = rows.map(|row| Ok(read(row?))).collect::<Result<Vec<_>>>()?;
    sequences.retain(|sequence| !sequence.name.is_own());
    Ok(sequences)
}
