//! Truncation: a checkpoint lets go of the log that recovery no longer needs, and of no more.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use osier::config::CheckpointKind;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Table};

fn config(home: &Path, kind: CheckpointKind) -> Config {
    let mut config = support::config(home, Protocol::Poplar, 2);
    config.checkpoint_kind = kind;
    config
}

fn numbers(db: &Database) -> Table {
    let schema = Schema::builder("numbers").column("key", Type::Int64).column("text", Type::Text).primary_key(["key"]);
    match db.table("numbers") {
        Ok(table) => table,
        Err(_) => db.create_table(schema.build().expect("a schema")).expect("a table"),
    }
}

/// Writes more than two segments of log.
fn write(db: &Database, table: &Table, round: i64) {
    let text = format!("{round:>1000}");
    let mut sessions = [db.session().expect("a session"), db.session().expect("a session")];
    for key in 0..400 {
        let row = [Value::Int(key), Value::Text(&text)];
        let session = &mut sessions[key as usize % 2];
        let (_, receipt) = session.run(|tx| tx.upsert(table, &row)).expect("an upsert");
        if key % 10 == 0 {
            receipt.wait().expect("durable");
        }
    }
    sessions[0]
        .run(|tx| tx.insert(table, &[Value::Int(1000 + round), Value::Text("")]))
        .expect("insert")
        .1
        .wait()
        .expect("durable");
}

fn files(home: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![home.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => pending.push(path),
                false if path.to_string_lossy().ends_with(suffix) => found.push(path),
                false => {}
            }
        }
    }
    found.retain(|path| !path.to_string_lossy().contains("prepared"));
    found
}

/// A copy of the files as they are at this moment: what a crash leaves.
fn crash(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("an entry");
        match path.is_dir() {
            true => crash(&path, &to.join(name)),
            // What is superseded may go meanwhile.
            false if let Err(error) = fs::copy(path, to.join(name)) => {
                assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
            }
            false => {}
        }
    }
}

fn rows(db: &Database) -> Vec<(i64, String)> {
    let table = numbers(db);
    let (key, text) = (table.column("key").expect("key"), table.column("text").expect("text"));
    let rows = db.run(|tx| -> Result<Vec<_>, Error> {
        tx.scan(&table, KeyRange::all())?.map(|row| row.map(|row| (row.int(key), row.text(text).to_owned()))).collect()
    });
    rows.expect("a scan").0
}

fn truncates(kind: CheckpointKind, name: &str) {
    let home = support::directory("truncation", name);
    let copy = home.with_extension("copy");
    let mut most = 0;
    for life in 0..3 {
        let db = Database::open(config(&home, kind)).expect("opened");
        let table = numbers(&db);
        for round in 0..6 {
            write(&db, &table, life * 7 + round);
            let retained = db.metrics().log.retained_bytes;
            assert!(db.checkpoint().expect("a checkpoint").rows > 400);
            assert!(db.metrics().log.retained_bytes < retained, "a checkpoint lets segments go");
            most = most.max(files(&home, ".log").len());
            crash(&home, &copy);
            let recovered = Database::open(config(&copy, kind)).expect("recovered");
            assert_eq!(rows(&recovered), rows(&db), "life {life}, round {round}");
        }
        // One more of them between the checkpoint and the end.
        write(&db, &table, life * 7 + 6);
        if life != 1 {
            db.close().expect("closed");
        }
    }
    assert!(most <= 2 * 9, "{most} segments at once of more than 70 written");
    let db = Database::open(config(&home, kind)).expect("opened");
    assert_eq!(rows(&db).len(), 400 + 21);
}

#[test]
fn an_epoch_checkpoint_truncates_the_log() {
    truncates(CheckpointKind::Epoch, "epoch");
}

#[test]
fn a_fuzzy_checkpoint_truncates_the_log() {
    truncates(CheckpointKind::Fuzzy, "fuzzy");
}
