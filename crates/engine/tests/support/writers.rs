//! Writers whose rows are counted: every one inserts rows with a counter that it reads from a row of its own, so that a state
//! that is restored holds a prefix of what each of them did.

use std::path::Path;

use osier::ids::Epoch;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Table, Until, restore};

use super::config;

pub(crate) const WRITERS: usize = 2;

pub(crate) fn open(config: Config) -> (Database, Table) {
    let db = Database::open(config).expect("opened");
    let schema = Schema::builder("t").column("writer", Type::Int64).column("n", Type::Int64);
    let schema = schema.column("text", Type::Text).primary_key(["writer", "n"]).build().expect("a schema");
    let table = db.table("t").or_else(|_| db.create_table(schema)).expect("a table");
    (db, table)
}

/// Inserts the writer's next row, and returns its number when it is durable.
pub(crate) fn insert(db: &Database, table: &Table, writer: i64) -> i64 {
    let text = table.column("text").expect("text");
    let body = |tx: &osier::Transaction<'_>| -> Result<i64, Error> {
        let key = [Value::Int(writer), Value::Int(-1)];
        let next = tx.get(table, &key)?.map_or(0, |row| row.text(text).parse::<i64>().expect("a number") + 1);
        tx.upsert(table, &[Value::Int(writer), Value::Int(-1), Value::Text(&next.to_string())])?;
        tx.insert(table, &[Value::Int(writer), Value::Int(next), Value::Text(&"x".repeat(100))])?;
        Ok(next)
    };
    let (next, receipt) = db.run(body).expect("an insert");
    receipt.wait().expect("durable");
    next
}

/// Inserts rows of one writer.
pub(crate) fn insert_rows(db: &Database, table: &Table, writer: i64, count: i64) {
    for _ in 0..count {
        insert(db, table, writer);
    }
}

/// How many rows each writer inserted; they are a prefix.
pub(crate) fn counts(db: &Database) -> Vec<i64> {
    let table = db.table("t").expect("the table");
    let (writer, n) = (table.column("writer").expect("writer"), table.column("n").expect("n"));
    let rows = db.run(|tx| -> Result<Vec<_>, Error> {
        tx.scan(&table, KeyRange::all())?.map(|row| row.map(|row| (row.int(writer), row.int(n)))).collect()
    });
    let rows = rows.expect("a scan").0;
    let of = |writer: i64| rows.iter().filter(move |row| row.0 == writer && row.1 >= 0).map(|row| row.1);
    (0..WRITERS as i64)
        .map(|writer| {
            let numbers: Vec<i64> = of(writer).collect();
            assert_eq!(numbers, (0..numbers.len() as i64).collect::<Vec<_>>(), "a prefix of writer {writer}");
            numbers.len() as i64
        })
        .collect()
}

/// Restores and counts; the database is closed again.
pub(crate) fn restored(backup: &Path, home: &Path, until: Option<u64>) -> Result<Vec<i64>, Error> {
    let mut config = config(home, Protocol::Poplar, 1);
    config.until = until.map(|epoch| Until::Epoch(Epoch(epoch)));
    restore(config.clone(), backup)?;
    config.until = None;
    let protocol = osier::status(&config).expect("a status").protocol;
    let (db, table) = open(Config { protocol, ..config });
    let found = counts(&db);
    insert(&db, &table, 0);
    assert_eq!(counts(&db)[0], found[0] + 1);
    db.close().expect("closed");
    Ok(found)
}
