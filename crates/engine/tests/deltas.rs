//! Rows of which the log holds what changed: databases that are cut off or closed, and opened again, through the public API.
//!
//! Two sessions on streams of their own change few rows in turns, in all the ways that there are, against a map.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/copying.rs"]
mod copying;
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use osier::config::{CheckpointKind, Until};
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Create, Database, Error, Protocol, Session, Table, Transaction, salvage};

type Rows = BTreeMap<i64, (i64, String)>;

const KEYS: i64 = 12;

fn directory(name: &str) -> PathBuf {
    support::directory("deltas", name)
}

fn config(home: &Path, protocol: Protocol) -> Config {
    support::config(home, protocol, if protocol == Protocol::Poplar { 2 } else { 1 })
}

fn open(config: Config) -> (Database, Table) {
    let db = Database::open(config).unwrap();
    let columns = Schema::builder("t").column("id", Type::Int64).column("n", Type::Int64).column("text", Type::Text);
    let schema = columns.primary_key(["id"]).build().unwrap();
    let table = db.table("t").or_else(|_| db.create_table(schema)).unwrap();
    (db, table)
}

fn rows(db: &Database) -> Rows {
    let table = db.table("t").unwrap();
    let (id, n, text) = (table.column("id").unwrap(), table.column("n").unwrap(), table.column("text").unwrap());
    let read = |tx: &Transaction<'_>| -> Result<Rows, Error> {
        let row = |row: Result<osier::table::Row<'_>, Error>| {
            row.map(|row| (row.int(id), (row.int(n), row.text(text).to_owned())))
        };
        tx.scan(&table, KeyRange::all())?.map(row).collect()
    };
    db.run(read).unwrap().0
}

fn values(id: i64, (n, text): &(i64, String)) -> [Value<'_>; 3] {
    [Value::Int(id), Value::Int(*n), Value::Text(text)]
}

/// One operation, on `rows` as well.
fn operate(tx: &Transaction<'_>, table: &Table, rows: &mut Rows, rng: &mut Rng) -> Result<(), Error> {
    let (key, n) = (rng.i64(..KEYS), rng.i64(..));
    let id = [Value::Int(key)];
    let (n_column, text_column) = (table.column("n")?, table.column("text")?);
    let whole = (n, "abcdefghij".repeat(rng.usize(5..12)));
    match rng.u8(..10) {
        0 => tx.upsert(table, &values(key, &whole)).map(|()| drop(rows.insert(key, whole)))?,
        1 => {
            if tx.replace(table, &values(key, &whole))? {
                rows.insert(key, whole);
            }
        }
        2 => drop((tx.delete(table, &id)?, rows.remove(&key))),
        3 => drop((tx.delete_blind(table, &id)?, rows.remove(&key))),
        4 if !rows.contains_key(&key) => {
            tx.insert(table, &values(key, &whole)).map(|()| drop(rows.insert(key, whole)))?
        }
        5 => {
            let mut text = rows.get(&key).map_or(String::new(), |(_, text)| text.clone());
            text.insert_str(rng.usize(..=text.len()), "changed");
            text.truncate(200);
            tx.update(table, &id, &[(text_column, Value::Text(&text))])?;
            rows.entry(key).and_modify(|row| row.1 = text);
        }
        _ => {
            tx.update(table, &id, &[(n_column, Value::Int(n))])?;
            rows.entry(key).and_modify(|row| row.0 = n);
        }
    }
    Ok(())
}

/// One transaction with some operations, of which some are rolled back, now and then all.
fn transaction(session: &mut Session, table: &Table, rows: &mut Rows, rng: &mut Rng) {
    let tx = session.begin();
    let mut changed = rows.clone();
    for _ in 0..rng.usize(1..6) {
        let (before, savepoint) = (changed.clone(), tx.savepoint());
        operate(&tx, table, &mut changed, rng).unwrap();
        if rng.u8(..6) == 0 {
            tx.rollback_to(savepoint).unwrap();
            changed = before;
        }
    }
    if rng.u8(..8) > 0 {
        tx.commit().unwrap().wait().unwrap();
        *rows = changed;
    }
}

#[test]
fn whatever_was_done_to_rows_is_recovered() {
    let kinds = [None, Some(CheckpointKind::Epoch), Some(CheckpointKind::Fuzzy)];
    for (seed, protocol) in (0..).zip([
        Protocol::Serial,
        Protocol::Poplar,
        Protocol::Silo,
        Protocol::Gsn,
        Protocol::Plover,
        Protocol::Taurus,
    ]) {
        let mut rng = Rng::with_seed(seed);
        let home = directory(&format!("random-{seed}"));
        let (mut expected, mut at) = (Rows::new(), home.clone());
        for round in 0..9 {
            // The protocol changes now and then: rows of one rest on versions of another.
            let protocol = if round % 4 == 3 { Protocol::Serial } else { protocol };
            let mut config = config(&at, protocol);
            // Only Poplar completes fuzzy checkpoints.
            let is_possible = |kind: &CheckpointKind| protocol == Protocol::Poplar || *kind == CheckpointKind::Epoch;
            if let Some(kind) = kinds[round % 3].filter(is_possible) {
                config = config.checkpoint_kind(kind);
            }
            let (db, table) = open(config);
            assert_eq!(rows(&db), expected, "seed {seed}, round {round}");
            let mut sessions = [db.session().unwrap(), db.session().unwrap()];
            for count in 0..120 {
                let session = rng.usize(..2);
                transaction(&mut sessions[session], &table, &mut expected, &mut rng);
                if count == 60 && kinds[round % 3].is_some() {
                    db.checkpoint().unwrap();
                }
            }
            if rng.bool() {
                // A crash: the files as they are.
                let copy = directory(&format!("random-{seed}-{round}"));
                copying::copy(&at, &copy);
                at = copy;
            }
            drop(sessions);
            db.close().unwrap();
        }
    }
}

/// Every row is as it was at the end of some epoch.
#[test]
fn a_database_is_taken_back_to_what_rows_were() {
    let home = directory("until");
    let (db, table) = open(config(&home, Protocol::Poplar));
    let mut sessions = [db.session().unwrap(), db.session().unwrap()];
    let (mut rng, mut expected, mut states) = (Rng::with_seed(5), Rows::new(), Vec::new());
    for _ in 0..20 {
        for at in 0..20 {
            transaction(&mut sessions[at % 2], &table, &mut expected, &mut rng);
        }
        let epoch = sessions[0].run(|tx| tx.upsert(&table, &values(KEYS, &(0, String::new())))).unwrap().1.epoch();
        expected.insert(KEYS, (0, String::new()));
        // Nothing else is of this epoch or of an earlier one.
        while sessions[0].run(|_| Ok::<_, Error>(())).unwrap().1.epoch() == epoch {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        states.push((epoch, expected.clone()));
    }
    drop(sessions);
    db.close().unwrap();
    for (epoch, state) in states.into_iter().rev().step_by(4) {
        let (db, _) = open(Config { until: Some(Until::Epoch(epoch)), ..config(&home, Protocol::Poplar) });
        assert_eq!(rows(&db), state, "back to {epoch}");
        db.close().unwrap();
    }
}

#[test]
fn an_update_logs_what_it_changes() {
    let home = directory("bytes");
    let (db, table) = open(config(&home, Protocol::Poplar));
    let n = table.column("n").unwrap();
    db.run(|tx| tx.insert(&table, &values(1, &(0, "x".repeat(1000))))).unwrap().1.wait().unwrap();
    let before = db.metrics().log.total();
    for count in 1..=50 {
        db.run(|tx| tx.update(&table, &[Value::Int(1)], &[(n, Value::Int(count))])).unwrap().1.wait().unwrap();
    }
    let after = db.metrics().log.total();
    let (bytes, records) = (after.record_bytes - before.record_bytes, after.records - before.records);
    assert_eq!(records, 50);
    assert!(bytes <= 50 * 48, "{bytes} bytes for {records} small changes");
    let text = "y".repeat(1000);
    db.run(|tx| tx.replace(&table, &values(1, &(7, text.clone())))).unwrap().1.wait().unwrap();
    let replaced = db.metrics().log.total().record_bytes - after.record_bytes;
    assert!(replaced > 1000, "{replaced} bytes for a row of which only existence was read");
    db.close().unwrap();
    let (db, _) = open(config(&home, Protocol::Poplar));
    assert_eq!(rows(&db), Rows::from([(1, (7, text))]));
}

/// The first batch behind the row's insert is gone.
#[test]
fn rows_whose_base_is_lost_are_named() {
    let home = directory("lost");
    let (db, table) = open(config(&home, Protocol::Serial));
    let n = table.column("n").unwrap();
    for id in [1, 2] {
        db.run(|tx| tx.insert(&table, &values(id, &(0, "x".repeat(100))))).unwrap().1.wait().unwrap();
    }
    let set = |id, value| {
        let changed = db.run(|tx| tx.update(&table, &[Value::Int(id)], &[(n, Value::Int(value))]));
        changed.unwrap().1.wait().unwrap();
    };
    [(1, 11), (2, 12), (1, 21)].iter().for_each(|(id, value)| set(*id, *value));
    let copy = directory("lost-copy");
    copying::copy(&home, &copy);
    db.close().unwrap();
    // Batches of one block each follow the segment's header: the table, two rows, the first change.
    let path = copy.join("stream-0/00000001-00000001.log");
    let mut bytes = std::fs::read(&path).unwrap();
    let change =
        (0..bytes.len() / 4096).find(|block| bytes[block * 4096..][..4096].windows(3).any(|at| at == [1, 11, 0]));
    let damaged = change.unwrap_or(4) * 4096;
    bytes[damaged + 70] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let target = directory("lost-target");
    let config_of = |home: &Path| Config { create: Create::New, ..config(home, Protocol::Serial) };
    let report = salvage(&config(&copy, Protocol::Serial), config_of(&target), true).unwrap();
    assert_eq!(report.outdated.len(), 1, "{report}");
    assert_eq!((report.outdated[0].table.as_deref(), &*report.outdated[0].key), (Some("t"), "(id)=(1)"));
    assert!(report.to_string().contains("outdated t (id)=(1)"), "{report}");
    let (db, _) = open(config(&target, Protocol::Serial));
    let expected = [(1, 0), (2, 12)].map(|(id, n)| (id, (n, "x".repeat(100))));
    assert_eq!(rows(&db), Rows::from(expected), "never a mixture");
}
