//! The ways to replay the rows of a log leave the same rows and the same indexes, through the public API on the file system.

mod support;

use std::fs;
use std::path::Path;

use osier::config::RowReplayKind;
use osier::table::{KeyRange, NewColumn, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Session, Table};

const KINDS: [RowReplayKind; 4] = [RowReplayKind::Plr, RowReplayKind::Llr, RowReplayKind::LlrP, RowReplayKind::Auto];

/// Rows by key, and the keys in the order of each index.
type Found = (Vec<(i64, i64, i64)>, Vec<Vec<i64>>);

fn schema(is_unique: bool) -> Schema {
    let schema = Schema::builder("t").column("id", Type::Int64).column("n", Type::Int64).column("code", Type::Int64);
    let schema = schema.primary_key(["id"]).index("by_n", ["n"]);
    let schema = if is_unique { schema.unique_index("by_code", ["code"]) } else { schema };
    schema.build().expect("a schema")
}

fn config(home: &Path, streams: u32) -> Config {
    support::config(home, Protocol::Poplar, streams).checkpoint_log_bytes(0)
}

/// Writes some rows again and again, so that entries come, go and come back; no two rows ever have one code.
fn write(session: &mut Session, table: &Table, rng: &mut fastrand::Rng, transactions: usize) {
    for step in 0..transactions as i64 {
        let id = rng.i64(0..200);
        let delete = rng.u8(0..5) == 0;
        // Codes go round among the rows, one step later at the next.
        let (n, code) = (rng.i64(0..9), id * 1000 + step % 7);
        let done = session.run(|tx| match delete {
            true => tx.delete(table, &[Value::Int(id)]).map(drop),
            false => tx.upsert(table, &[Value::Int(id), Value::Int(n), Value::Int(code)]).map(drop),
        });
        done.expect("it commits");
    }
}

fn found(db: &Database) -> Found {
    let table = db.table("t").expect("the table");
    let columns = ["id", "n", "code"].map(|name| table.column(name).expect("a column"));
    let indexes: Vec<String> = table.schema().indexes().iter().map(|index| index.name().to_owned()).collect();
    let rows = db.run(|tx| -> Result<Found, Error> {
        let rows = tx.scan(&table, KeyRange::all())?.map(|row| row.map(|row| columns.map(|column| row.int(column))));
        let rows = rows.map(|row| row.map(|[id, n, code]| (id, n, code))).collect::<Result<Vec<_>, _>>()?;
        let by = |index: &String| -> Result<Vec<i64>, Error> {
            let entries = tx.scan_index(&table, index, KeyRange::all())?;
            entries.map(|row| Ok(row?.int(columns[0]))).collect()
        };
        Ok((rows, indexes.iter().map(by).collect::<Result<_, _>>()?))
    });
    let (rows, by_index) = rows.expect("a scan").0;
    assert!(by_index.iter().all(|keys| keys.len() == rows.len()), "an index is not what its table is");
    (rows, by_index)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a listing") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}

/// How many rows had their indexes built at the end, of a database that was closed: by each way and number of threads.
fn recover(home: &Path, streams: u32, expected: &Found) -> Vec<(RowReplayKind, u64)> {
    let mut indexed = Vec::new();
    for kind in KINDS {
        for threads in [1, 2, 4] {
            let copied = home.with_extension(format!("{kind}-{threads}"));
            let _ = fs::remove_dir_all(&copied);
            copy(home, &copied);
            let config = config(&copied, streams).recovery_rows(kind).recovery_threads(threads);
            let db = Database::open(config.clone()).unwrap_or_else(|error| panic!("{kind}, {threads}: {error}"));
            let report = db.recovery().expect("it was recovered").clone();
            assert_eq!(&found(&db), expected, "{kind} with {threads} threads");
            assert!(kind == RowReplayKind::Auto || report.rows == kind, "{report}");
            assert!(report.execution_seconds() > 0.0 && report.to_string().contains("rows by"), "{report}");
            indexed.push((report.rows, report.indexed));
            // What was recovered can be changed, and is recovered again.
            let table = db.table("t").expect("the table");
            let mut session = db.session().expect("a session");
            write(&mut session, &table, &mut fastrand::Rng::with_seed(threads as u64), 200);
            drop(session);
            let expected = found(&db);
            db.close().expect("it closes");
            let db = Database::open(config).expect("it opens again");
            assert_eq!(found(&db), expected, "{kind} with {threads} threads, again");
            db.close().expect("it closes");
            fs::remove_dir_all(&copied).expect("it goes");
        }
    }
    indexed
}

/// A database of two rounds of writes, with `between` them; recovered in each way.
fn replayed(name: &str, (schema, streams): (Schema, u32), between: impl Fn(&Database)) -> Vec<(RowReplayKind, u64)> {
    let home = support::directory("replayed_rows", name);
    let db = Database::open(config(&home, streams)).expect("a database");
    db.create_table(schema).expect("a table");
    let mut rng = fastrand::Rng::with_seed(7);
    for round in 0..2 {
        let table = db.table("t").expect("the table");
        let mut session = db.session().expect("a session");
        write(&mut session, &table, &mut rng, 1500);
        drop(session);
        if round == 0 {
            between(&db);
        }
    }
    let expected = found(&db);
    assert!(expected.0.len() > 100, "{} rows", expected.0.len());
    db.close().expect("it closes");
    recover(&home, streams, &expected)
}

/// Only where nothing else is wanted entries come with rows and nothing is built.
fn expect_built(indexed: &[(RowReplayKind, u64)], llr_builds: bool) {
    for (kind, rows) in indexed {
        assert_eq!(*rows > 0, *kind != RowReplayKind::Llr || llr_builds, "{kind}: {rows} rows");
    }
}

#[test]
fn indexes_are_kept_or_built_and_say_the_same() {
    let nothing = |_: &Database| {};
    let checkpoint = |db: &Database| {
        db.checkpoint().expect("a checkpoint");
    };
    expect_built(&replayed("log", (schema(false), 3), nothing), false);
    expect_built(&replayed("checkpoint", (schema(false), 3), checkpoint), false);
    // Of a unique index two rows may want one entry, out of order.
    expect_built(&replayed("unique", (schema(true), 3), nothing), true);
    expect_built(&replayed("unique-checkpoint", (schema(true), 3), checkpoint), true);
}

#[test]
fn indexes_of_a_definition_that_comes_late_are_built() {
    let indexed = replayed("late", (schema(false), 3), |db| {
        db.run(|tx| tx.create_index(&tx.table("t")?, "late", &["code", "n"], false).map(drop)).expect("an index");
    });
    // The begin of the log holds both definitions.
    expect_built(&indexed, false);
    let indexed = replayed("behind", (schema(false), 1), |db| {
        // So much log lies between that the begin does not tell.
        let schema = Schema::builder("other").column("id", Type::Int64).column("text", Type::Text).primary_key(["id"]);
        let other = db.create_table(schema.build().expect("a schema")).expect("a table");
        let text = "x".repeat(4000);
        let mut session = db.session().expect("a session");
        for id in 0..2000 {
            session.run(|tx| tx.upsert(&other, &[Value::Int(id), Value::Text(&text)])).expect("it commits");
        }
        drop(session);
        db.run(|tx| tx.create_index(&tx.table("t")?, "late", &["code", "n"], false).map(drop)).expect("an index");
        let added = NewColumn { name: "more", ty: Type::Int64, is_nullable: true, value: Value::Null };
        db.run(|tx| tx.add_columns(&tx.table("t")?, None, &[added]).map(drop)).expect("a column");
        db.run(|tx| tx.drop_column(&tx.table("t")?, "more").map(drop)).expect("no column");
    });
    expect_built(&indexed, true);
}
