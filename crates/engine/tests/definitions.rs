//! Definitions of tables beside each other, beside data and across a restart, through the public API on the file system.

use std::fs;
use std::path::Path;

use osier::config::ConcurrencyControlKind;
use osier::config::ConcurrencyControlKind::{Multiversion, Optimistic, TwoPhaseLocking};
use osier::table::{KeyRange, NewColumn, Row, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Table};

const CONTROLS: [ConcurrencyControlKind; 3] = [Optimistic, TwoPhaseLocking, Multiversion];

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

/// Has `check` look at what `make` has made after a restart, under every scheme and several protocols.
fn with_a_restart(name: &str, make: fn(&Database), check: fn(&Database)) {
    for control in CONTROLS {
        for protocol in [Protocol::Poplar, Protocol::Serial, Protocol::Gsn, Protocol::Taurus, Protocol::Silo] {
            let config = config(&format!("{name}-{control}-{protocol}"));
            let home = config.dirs[0].clone();
            let db = Database::open(config.concurrency_control(control).protocol(protocol)).expect("a new database");
            make(&db);
            db.close().expect("closed");
            drop(db);
            let db = Database::open(reopened(&home)).expect("it opens again");
            check(&db);
            db.close().expect("closed");
        }
    }
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

/// Whoever has looked for a table that is not there is in nobody's way, but of who makes that one.
#[test]
fn a_name_that_is_absent_is_observed_by_itself() {
    for control in CONTROLS {
        for protocol in [Protocol::Poplar, Protocol::Gsn, Protocol::Taurus] {
            let name = format!("absent-{control}-{protocol}");
            let db =
                Database::open(config(&name).concurrency_control(control).protocol(protocol)).expect("a new database");
            let kept = db.create_table(schema("kept")).expect("a table");
            let (mut session, mut looking) = (db.session().expect("a session"), db.session().expect("another"));
            let mut looks_while = |meanwhile: &mut dyn FnMut()| {
                let tx = looking.begin();
                let missing = tx.table("m").map(|_| ()).expect_err("there is none");
                assert!(!missing.is_conflict(), "{missing}");
                tx.upsert(&kept, &[Value::Int(1)]).expect("a row");
                meanwhile();
                tx.commit().map(|receipt| receipt.wait().expect("it is durable"))
            };
            let mut make_and_drop = |names: &[&str], drops: bool| {
                for name in names {
                    let (table, _) = session.run(|tx| tx.create_table(schema(name))).expect("a table");
                    if drops {
                        let (_, receipt) = session.run(|tx| tx.drop_table(&table)).expect("dropped");
                        receipt.wait().expect("it is durable");
                    }
                }
                // Each begin gives back what earlier transactions have left.
                for _ in 0..10 {
                    session.run(|_| Ok::<(), Error>(())).expect("a look at nothing");
                }
            };
            looks_while(&mut || make_and_drop(&["l", "n"], true)).expect("others come and go");
            looks_while(&mut || make_and_drop(&["k", "o"], false)).expect("others come");
            let error = looks_while(&mut || make_and_drop(&["m"], true)).expect_err("it was there for a while");
            assert!(error.is_conflict(), "{name}: {error}");
            looks_while(&mut || ()).expect("it is gone");
            let error = looks_while(&mut || make_and_drop(&["m"], false)).expect_err("it is there");
            assert!(error.is_conflict(), "{name}: {error}");
            drop((session, looking));
            db.close().expect("closed");
        }
    }
}

/// A table that a transaction makes itself, where it found none before, and gives up again.
#[test]
fn an_absent_name_may_be_made_by_who_missed_it() {
    for control in CONTROLS {
        let name = format!("missed-{control}");
        let db = Database::open(config(&name).concurrency_control(control)).expect("a new database");
        let mut session = db.session().expect("a session");
        let tx = session.begin();
        tx.table("m").map(|_| ()).expect_err("there is none");
        let savepoint = tx.savepoint();
        tx.create_table(schema("m")).expect("a table");
        tx.rollback_to(savepoint).expect("rolled back");
        tx.table("m").map(|_| ()).expect_err("there is none again");
        tx.create_table(schema("n")).expect("another");
        tx.commit().expect("committed");
        let tx = session.begin();
        tx.table("m").map(|_| ()).expect_err("there is none");
        tx.create_table(schema("m")).expect("a table");
        tx.commit().expect("committed");
        db.table("m").expect("it is there");
        drop(session);
        db.close().expect("closed");
    }
}

/// A table that somebody else makes between two looks of a transaction: it has seen two states.
#[test]
fn a_name_that_is_absent_and_then_there_is_a_conflict() {
    for control in CONTROLS {
        let db =
            Database::open(config(&format!("then-{control}")).concurrency_control(control)).expect("a new database");
        let (mut session, mut another) = (db.session().expect("a session"), db.session().expect("another"));
        for drops in [false, true] {
            let name = if drops { "dropped" } else { "met" };
            let tx = session.begin();
            tx.table(name).map(|_| ()).expect_err("there is none");
            another.run(|tx| tx.create_table(schema(name))).expect("a table");
            let is_over = match tx.table(name) {
                Ok(table) if drops => tx.drop_table(&table).is_err_and(|error| error.is_conflict()),
                Ok(_) => false,
                Err(error) => error.is_conflict(),
            };
            assert!(is_over || tx.commit().expect_err("it was not there").is_conflict(), "{control}");
        }
        drop((session, another));
        db.close().expect("closed");
    }
}

/// Seed 44 of the simulation with tables that come and go: a transaction that had changed a table met it under the name that
/// somebody else had given it, and was told again and again that its handle was out of date.
#[test]
fn who_has_changed_a_table_loses_to_who_renames_it() {
    for control in CONTROLS {
        let config = config(&format!("renamed-meanwhile-{control}")).concurrency_control(control);
        let db = Database::open(config).expect("a new database");
        let table = db.create_table(schema("table")).expect("a table");
        let mut session = db.session().expect("a session");
        let tx = session.begin();
        tx.create_index(&table, "by_id", &["id"], false).expect("an index");
        let renamed = db.run(|tx| tx.rename_table(&tx.table("table")?, "other")).map(|_| ());
        match renamed {
            Ok(()) => assert!(tx.table("other").map(|_| ()).expect_err("it has lost").is_conflict(), "{control}"),
            // It waits for who came first, and not for ever.
            Err(error) => assert!(control == TwoPhaseLocking, "{control}: {error}"),
        }
        drop(tx);
        drop(session);
        db.close().expect("closed");
    }
}

/// Other names of a table, a column and an index leave the rows where they are, and hold after a restart.
#[test]
fn names_change_and_rows_stay() {
    with_a_restart("renamed", rename_beside_others, assert_renamed);
}

fn rename_beside_others(db: &Database) {
    let schema = Schema::builder("one").column("id", Type::Int64).column("n", Type::Int64).primary_key(["id"]);
    let one = db.create_table(schema.index("by_n", ["n"]).build().expect("a schema")).expect("a table");
    let two = db.create_table(self::schema("two")).expect("another");
    db.run(|tx| {
        tx.insert(&two, &[Value::Int(7)])?;
        tx.insert(&one, &[Value::Int(1), Value::Int(10)])
    })
    .expect("rows");
    let snapshot = db.snapshot().expect("a snapshot");
    let mut session = db.session().expect("a session");
    let tx = session.begin();
    tx.insert(&one, &[Value::Int(2), Value::Int(20)]).expect("a row");
    let (one, _) = db.run(|tx| tx.rename_column(&one, "n", "m")).expect("another name");
    assert!(tx.commit().expect_err("the definition has changed").is_conflict());
    // All at once: both tables change their names, and what was made in between is gone.
    db.run(|tx| {
        let moved = tx.rename_table(&one, "three")?;
        assert_eq!(tx.table("one").map(|_| ()).expect_err("it has another name").sqlstate(), "42P01");
        assert_eq!(tx.rename_table(&moved, "three").map(|_| ()).expect_err("it has that name").sqlstate(), "42P07");
        assert_eq!(tx.rename_table(&moved, "two").map(|_| ()).expect_err("there is one").sqlstate(), "42P07");
        let before = tx.savepoint();
        tx.drop_table(&tx.rename_table(&moved, "four")?)?;
        tx.rollback_to(before)?;
        tx.rename_table(&two, "one")?;
        let moved = tx.rename_table(&moved, "two")?;
        let moved = tx.rename_column(&moved, "m", "number")?;
        let moved = tx.rename_index(&moved, "by_n", "by_number")?;
        let found = tx.scan_index(&moved, "by_number", KeyRange::all())?.count();
        assert_eq!(found, 1, "the index is that of the rows");
        tx.insert(&moved, &[Value::Int(3), Value::Int(30)])
    })
    .expect("other names");
    let mut reader = db.session().expect("a session");
    let then = reader.begin_at(&snapshot).expect("its own snapshot");
    assert_eq!(then.scan(&then.table("one").expect("as it was"), KeyRange::all()).expect("a scan").count(), 1);
    assert_eq!(then.table("three").map(|_| ()).expect_err("not yet").sqlstate(), "42P01");
    drop(then);
    drop(snapshot);
    // One that gets another name and goes is gone; its first name is free.
    let gone = db.create_table(self::schema("gone")).expect("a table");
    db.run(|tx| tx.drop_table(&tx.rename_table(&gone, "going")?)).expect("it goes");
    db.create_table(self::schema("gone")).expect("the name is free");
    let error = db.run(|tx| tx.rename_table(&tx.table("gone")?, "osier_gone")).map(|_| ()).expect_err("reserved");
    assert_eq!(error.sqlstate(), "42939", "{error}");
    assert_renamed(db);
}

fn assert_renamed(db: &Database) {
    let two = db.table("two").expect("it was the first table");
    assert_eq!(count(db, &two), 2);
    let (found, _) = db
        .run(|tx| -> Result<_, Error> {
            let number = [Value::Int(30)];
            let range = KeyRange::all().from_included(&number).to_included(&number);
            let id = two.column("id")?;
            let ids = tx.scan_index(&two, "by_number", range)?.map(|row| row.map(|row| row.int(id)));
            ids.collect::<Result<Vec<i64>, Error>>()
        })
        .expect("by the index");
    assert_eq!(found, [3]);
    assert_eq!(two.schema().columns()[1].name(), "number");
    assert_eq!(count(db, &db.table("one").expect("it was the second one")), 1);
    assert_eq!(count(db, &db.table("gone").expect("a new one")), 0);
    for name in ["three", "four", "going"] {
        assert_eq!(db.table(name).map(|_| ()).expect_err("nothing is called so").sqlstate(), "42P01");
    }
}

/// Columns are added and rows stay as they are, also those that are written beside it, and hold what was given for them.
#[test]
fn columns_are_added_and_rows_stay() {
    with_a_restart("added", add_beside_others, assert_added);
}

fn new_column<'v>(name: &'v str, ty: Type, value: Value<'v>) -> NewColumn<'v> {
    NewColumn { name, ty, is_nullable: true, value }
}

fn add_beside_others(db: &Database) {
    let schema = Schema::builder("t").column("id", Type::Int64).column("key", Type::Int64).primary_key(["key"]);
    let old = db.create_table(schema.index("by_id", ["id"]).build().expect("a schema")).expect("a table");
    let key = [Value::Int(-1)];
    db.run(|tx| (1..4).try_for_each(|id| tx.insert(&old, &[Value::Int(id), Value::Int(-id)]))).expect("rows");
    let snapshot = db.snapshot().expect("a snapshot");
    let mut session = db.session().expect("a session");
    let beside = session.begin();
    beside.insert(&old, &[Value::Int(7), Value::Int(-7)]).expect("a row");
    // Before the key, so that columns have other numbers, and behind it, with an index.
    let size = new_column("size", Type::Int32, Value::Int(5));
    let added = db.run(|tx| {
        tx.insert(&old, &[Value::Int(4), Value::Int(-4)])?;
        let table = tx.add_columns(&old, Some("key"), &[size])?;
        tx.insert(&table, &[Value::Int(5), Value::Int(50), Value::Int(-5)])?;
        Ok::<_, Error>(table)
    });
    let (table, _) = added.expect("a column");
    assert!(beside.commit().expect_err("the definition has changed").is_conflict());
    let (table, _) = db
        .run(|tx| {
            let before = tx.savepoint();
            let gone = tx.add_columns(&table, None, &[new_column("gone", Type::Bool, Value::Null)])?;
            tx.insert(&gone, &[Value::Int(6), Value::Int(6), Value::Int(-6), Value::Bool(true)])?;
            tx.rollback_to(before)?;
            let color = new_column("color", Type::Text, Value::Text("red"));
            let table = tx.add_columns(&table, None, &[color, new_column("note", Type::Bytes, Value::Null)])?;
            let table = tx.create_index(&table, "by_color", &["color", "size"], false)?;
            let (size, color) = (table.column("size")?, table.column("color")?);
            tx.update(&table, &[Value::Int(-2)], &[(size, Value::Int(20))])?;
            tx.update(&table, &[Value::Int(-3)], &[(color, Value::Text("blue"))])?;
            Ok::<_, Error>(table)
        })
        .expect("columns");
    let error = db.run(|tx| tx.get(&old, &key).map(|_| ())).expect_err("the handle is out of date");
    assert_eq!(error.sqlstate(), "0A000", "{error}");
    // Back to what is missing, and away from it.
    let (size, color) = (table.column("size").expect("it is there"), table.column("color").expect("it is there"));
    let set = |column, value| {
        db.run(|tx| tx.update(&table, &[Value::Int(-5)], &[(column, value)])).expect("a change");
    };
    set(size, Value::Int(5));
    set(color, Value::Null);
    set(color, Value::Text("red"));
    db.run(|tx| tx.delete(&table, &[Value::Int(-4)])).expect("one goes");
    change_columns(db, &table);
    let mut reader = db.session().expect("a session");
    let then = reader.begin_at(&snapshot).expect("its own snapshot");
    let known = then.table("t").expect("as it was");
    assert_eq!(known.schema().columns().len(), 2);
    assert_eq!(then.scan(&known, KeyRange::all()).expect("a scan").count(), 3);
    drop(then);
    drop(snapshot);
    assert_added(db);
}

/// Columns go, and take NULL or not.
fn change_columns(db: &Database, table: &Table) {
    let new = [new_column("spare", Type::Bool, Value::Null), new_column("extra", Type::Text, Value::Null)];
    let (table, _) = db.run(|tx| tx.add_columns(table, Some("key"), &new)).expect("columns");
    let mut session = db.session().expect("a session");
    let beside = session.begin();
    let values =
        [Value::Int(1), Value::Int(1), Value::Null, Value::Text("lost"), Value::Int(-9), Value::Null, Value::Null];
    beside.insert(&table, &values).expect("a row");
    let (table, _) = db.run(|tx| tx.drop_column(&table, "spare")).expect("it goes");
    assert!(beside.commit().expect_err("the definition has changed").is_conflict());
    let extra = table.column("extra").expect("it is there");
    let refused = db.run(|tx| tx.set_nullable(&table, "extra", false)).map(|_| ()).expect_err("it is NULL");
    assert_eq!(refused.sqlstate(), "23502", "{refused}");
    let refused = db.run(|tx| tx.drop_column(&table, "id")).map(|_| ()).expect_err("it is in an index");
    assert_eq!(refused.sqlstate(), "2BP01", "{refused}");
    let changed = db.run(|tx| {
        for key in [-1, -2, -3, -5] {
            tx.update(&table, &[Value::Int(key)], &[(extra, Value::Text("x"))])?;
        }
        let table = tx.set_nullable(&table, "extra", false)?;
        let refused = tx.update(&table, &[Value::Int(-1)], &[(extra, Value::Null)]).map(|_| ());
        assert_eq!(refused.expect_err("it takes none").sqlstate(), "23502");
        let before = tx.savepoint();
        tx.drop_column(&table, "color").map(|_| ()).expect_err("it is in an index");
        let less = tx.drop_column(&tx.drop_column(&tx.drop_index(&table, "by_color")?, "color")?, "size")?;
        tx.insert(&less, &[Value::Int(8), Value::Text("y"), Value::Int(-8), Value::Null])?;
        tx.rollback_to(before)?;
        tx.drop_column(&table, "extra").map(|_| ())
    });
    changed.expect("other columns");
}

fn assert_added(db: &Database) {
    let table = db.table("t").expect("a table");
    let shown = |index: Option<&str>| {
        let rows = db.run(|tx| -> Result<_, Error> {
            let rows = match index {
                None => tx.scan(&table, KeyRange::all())?.map(|row| row.map(|row| shown(&row))).collect::<Vec<_>>(),
                Some(index) => {
                    tx.scan_index(&table, index, KeyRange::all())?.map(|row| row.map(|row| shown(&row))).collect()
                }
            };
            rows.into_iter().collect::<Result<Vec<String>, Error>>()
        });
        rows.expect("rows").0
    };
    let rows = ["5 5 -5 red", "3 5 -3 blue", "2 20 -2 red", "1 5 -1 red"];
    assert_eq!(shown(None), rows);
    assert_eq!(shown(Some("by_id")), [rows[3], rows[2], rows[1], rows[0]]);
    assert_eq!(shown(Some("by_color")), [rows[1], rows[0], rows[3], rows[2]]);
}

fn shown(row: &Row<'_>) -> String {
    let number = |name| row.int(row.schema().column_id(name).expect("a column"));
    let color = row.schema().column_id("color").expect("a column");
    assert!(row.is_null(row.schema().column_id("note").expect("a column")));
    format!("{} {} {} {}", number("id"), number("size"), number("key"), row.text(color))
}
