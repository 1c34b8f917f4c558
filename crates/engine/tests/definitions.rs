//! Definitions of tables beside each other, beside data and across a restart, through the public API on the file system.

use std::fs;
use std::path::Path;

use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Table};

fn config(name: &str) -> Config {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("definitions").join(name);
    let _ = fs::remove_dir_all(&path);
    reopened(&path)
}

fn reopened(path: &Path) -> Config {
    let set = |config: Config, name, value| config.set(name, value).expect(name);
    let config = set(Config::new(path), "transaction_log_bytes_max", "16384");
    set(set(config, "ring_bytes", "65536"), "segment_bytes", "131072")
}

fn schema(name: &str) -> Schema {
    Schema::builder(name).column("id", Type::Int64).primary_key(["id"]).build().expect("a schema")
}

fn count(db: &Database, table: &Table) -> usize {
    let rows = db.run(|tx| -> Result<usize, Error> { Ok(tx.scan(table, KeyRange::all())?.count()) });
    rows.expect("a scan").0
}

/// Seed 97 of the simulation: after a restart the ids of tables without a row were given again, so that a new table shared
/// its rows with an old one.
#[test]
fn a_table_without_rows_keeps_its_id() {
    let config = config("ids");
    let home = config.dirs[0].clone();
    let db = Database::open(config).expect("a new database");
    for name in ["first", "second"] {
        db.create_table(schema(name)).expect("a table");
    }
    db.close().expect("closed");
    drop(db);
    let db = Database::open(reopened(&home)).expect("it opens again");
    let third = db.create_table(schema("third")).expect("a table");
    db.run(|tx| tx.insert(&third, &[Value::Int(1)])).expect("a row");
    for name in ["first", "second"] {
        let table = db.table(name).expect("the table");
        assert_ne!(table.id(), third.id());
        assert_eq!(count(&db, &table), 0, "{name} has a row of another table");
    }
    db.close().expect("closed");
}

/// Seed 188 of the simulation with tables that come and go: a transaction that relied on a table and then changed
/// definitions of its own did not notice that the table was dropped meanwhile.
#[test]
fn who_changes_definitions_still_relies_on_others() {
    let db = Database::open(config("relies")).expect("a new database");
    let table = db.create_table(schema("table")).expect("a table");
    let mut session = db.session().expect("a session");
    // From now on the session knows the table.
    session.run(|tx| tx.insert(&table, &[Value::Int(1)])).expect("a row");
    let tx = session.begin();
    tx.insert(&table, &[Value::Int(2)]).expect("a row");
    tx.create_table(schema("another")).expect("a table");
    db.run(|tx| tx.drop_table(&table)).expect("dropped");
    let error = tx.commit().expect_err("its row is in no table");
    assert!(error.is_conflict(), "{error}");
    db.close().expect("closed");
}

/// Seed 1615 of the simulation: this panicked.
#[test]
fn an_index_on_a_table_that_is_dropped_meanwhile_is_a_conflict() {
    let db = Database::open(config("index")).expect("a new database");
    let table = db.create_table(schema("table")).expect("a table");
    let mut session = db.session().expect("a session");
    session.run(|tx| tx.insert(&table, &[Value::Int(1)])).expect("a row");
    let tx = session.begin();
    assert!(tx.get(&table, &[Value::Int(1)]).expect("a look").is_some());
    db.run(|tx| tx.drop_table(&table)).expect("dropped");
    let error = tx.create_index(&table, "by_id", &["id"], false).map(|_| ()).expect_err("there is no table");
    assert!(error.is_conflict(), "{error}");
    drop(tx);
    drop(session);
    db.close().expect("closed");
}

/// Notes are a part of the definition: who relied on the table before conflicts, and a restart has them.
#[test]
fn notes_are_kept_with_their_table() {
    let config = config("notes");
    let home = config.dirs[0].clone();
    let db = Database::open(config).expect("a new database");
    let table = db.create_table(schema("table")).expect("a table");
    let mut session = db.session().expect("a session");
    session.run(|tx| tx.insert(&table, &[Value::Int(1)])).expect("a row");
    let tx = session.begin();
    tx.insert(&table, &[Value::Int(2)]).expect("a row");
    let (annotated, _) = db.run(|tx| tx.annotate_table(&table, "{\"owner\": \"é\"}")).expect("notes");
    assert!(tx.commit().expect_err("the definition has changed").is_conflict());
    assert_eq!(count(&db, &annotated), 1, "the rows stay");
    let rolled_back: Result<_, Error> = db.run(|tx| {
        tx.annotate_table(&annotated, "other")?;
        Err::<(), Error>(tx.table("nosuch").map(|_| ()).expect_err("there is none"))
    });
    rolled_back.expect_err("it gives up");
    drop(session);
    db.close().expect("closed");
    drop(db);
    let db = Database::open(reopened(&home)).expect("it opens again");
    let table = db.table("table").expect("the table");
    assert_eq!(table.schema().notes(), "{\"owner\": \"é\"}");
    assert_eq!(count(&db, &table), 1);
    let long = "x".repeat(osier::table::NOTES_BYTES_MAX + 1);
    let error = db.run(|tx| tx.annotate_table(&table, long.as_str())).map(|_| ()).expect_err("too long");
    assert_eq!(error.sqlstate(), "54000", "{error}");
    db.close().expect("closed");
}
