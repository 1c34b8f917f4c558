//! Databases that log physiologically, with either kind of images and with or without those before, through the public API:
//! what is recovered, what takes how many bytes, what a log shows, and what a write then depends on.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/copying.rs"]
mod copying;
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use osier::config::{CheckpointKind, Logged, PhysiologicalImages};
use osier::inspect::{Detail, dump, verify};
use osier::procedure::program::Program;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Create, Database, Error, Protocol, Session, Table, Transaction, salvage};

type Rows = BTreeMap<i64, (i64, String)>;
type Write<'w> = dyn Fn(&Transaction<'_>) -> Result<(), Error> + 'w;
type BlindWrite = fn(&Transaction<'_>, &Table) -> Result<(), Error>;

const KEYS: i64 = 12;

const IMAGES: [(PhysiologicalImages, bool); 4] = [
    (PhysiologicalImages::Changed, false),
    (PhysiologicalImages::Changed, true),
    (PhysiologicalImages::Full, false),
    (PhysiologicalImages::Full, true),
];

fn directory(name: &str) -> PathBuf {
    support::directory("physiological", name)
}

fn config(home: &Path, protocol: Protocol, (after, before): (PhysiologicalImages, bool)) -> Config {
    let streams = if protocol == Protocol::Serial { 1 } else { 2 };
    let config = support::config(home, protocol, streams).logged(Logged::Physiological);
    config.physiological_images(after).physiological_before_images(before)
}

fn open(config: Config, is_indexed: bool) -> (Database, Table) {
    let db = Database::open(config).unwrap();
    let columns = Schema::builder("t").column("id", Type::Int64).column("n", Type::Int64).column("text", Type::Text);
    let columns = columns.primary_key(["id"]);
    let schema = if is_indexed { columns.index("by_n", ["n"]) } else { columns }.build().unwrap();
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

/// One operation of any kind, on `rows` as well.
fn operate(tx: &Transaction<'_>, table: &Table, rows: &mut Rows, rng: &mut Rng) -> Result<(), Error> {
    let (key, n) = (rng.i64(..KEYS), rng.i64(..));
    let id = [Value::Int(key)];
    let n_column = table.column("n")?;
    let whole = (n, "abcdefghij".repeat(rng.usize(5..12)));
    match rng.u8(..9) {
        0 | 1 => tx.upsert(table, &values(key, &whole)).map(|()| drop(rows.insert(key, whole)))?,
        2 => {
            if tx.replace(table, &values(key, &whole))? {
                rows.insert(key, whole);
            }
        }
        3 => drop((tx.delete(table, &id)?, rows.remove(&key))),
        4 => drop((tx.delete_blind(table, &id)?, rows.remove(&key))),
        5 if !rows.contains_key(&key) => {
            tx.insert(table, &values(key, &whole)).map(|()| drop(rows.insert(key, whole)))?
        }
        _ => {
            tx.update(table, &id, &[(n_column, Value::Int(n))])?;
            rows.entry(key).and_modify(|row| row.0 = n);
        }
    }
    Ok(())
}

/// One transaction with some operations, of which some are rolled back, now and then all; some are too large for one record.
fn transaction(session: &mut Session, table: &Table, rows: &mut Rows, rng: &mut Rng) {
    let tx = session.begin();
    let mut changed = rows.clone();
    if rng.u8(..30) == 0 {
        for id in KEYS..KEYS + 40 {
            let row = (rng.i64(..), "z".repeat(rng.usize(100..1000)));
            tx.upsert(table, &values(id, &row)).unwrap();
            changed.insert(id, row);
        }
    }
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

/// What a round logs: each kind of images, then values, and calls of procedures where they can be run again.
fn logged(config: Config, round: usize) -> Config {
    match round % 6 {
        4 => config.logged(Logged::Values),
        5 if matches!(config.protocol, Protocol::Serial | Protocol::Gsn | Protocol::Taurus) => {
            config.logged(Logged::Commands)
        }
        _ => config,
    }
}

#[test]
fn whatever_was_done_to_rows_is_recovered() {
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
        for round in 0..13 {
            let mut config = logged(config(&at, protocol, IMAGES[round % 4]), round);
            if round % 3 == 1 && protocol == Protocol::Poplar {
                config = config.checkpoint_kind(CheckpointKind::Fuzzy);
            }
            let logs = config.logged;
            verify(&config).map_or_else(|error| assert_eq!(round, 0, "{error}"), drop);
            let (db, table) = open(config, seed % 2 == 1);
            assert_eq!(rows(&db), expected, "seed {seed}, round {round}");
            let program = "procedure put(k bigint) { upsert into t (id, n, text) values (k, k, 'called'); }";
            db.run(|tx| tx.replace_procedure(&Program::parse(program).unwrap())).unwrap();
            let mut sessions = [db.session().unwrap(), db.session().unwrap()];
            for count in 0..60 {
                let session = rng.usize(..2);
                transaction(&mut sessions[session], &table, &mut expected, &mut rng);
                if count % 10 == 0 {
                    sessions[session].call("put", &[count.into()]).unwrap().1.wait().unwrap();
                    expected.insert(count, (count, "called".to_owned()));
                }
                if count == 30 && round % 3 > 0 && logs != Logged::Commands {
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
        let target = directory(&format!("random-{seed}-salvaged"));
        let of = |home: &Path| config(home, protocol, IMAGES[0]);
        salvage(&of(&at), Config { create: Create::New, ..of(&target) }, false).unwrap();
        let (db, _) = open(of(&target), seed % 2 == 1);
        assert_eq!(rows(&db), expected, "seed {seed}, salvaged");
    }
}

/// What the same transactions take of the log.
fn bytes_of(name: &str, images: (PhysiologicalImages, bool)) -> u64 {
    let (db, table) = open(config(&directory(name), Protocol::Serial, images), false);
    let n = table.column("n").unwrap();
    let text = "x".repeat(200);
    for id in 0..20 {
        db.run(|tx| tx.insert(&table, &values(id, &(0, text.clone())))).unwrap();
        db.run(|tx| tx.update(&table, &[Value::Int(id)], &[(n, Value::Int(7))])).unwrap();
        db.run(|tx| tx.update(&table, &[Value::Int(id)], &[(n, Value::Int(8))])).unwrap();
    }
    db.run(|tx| tx.delete(&table, &[Value::Int(3)])).unwrap().1.wait().unwrap();
    db.metrics().log.total().record_bytes
}

#[test]
fn full_images_and_images_before_take_more_bytes() {
    let [changed, changed_both, full, full_both] =
        IMAGES.map(|images| bytes_of(&format!("bytes-{:?}-{}", images.0, images.1), images));
    assert!(changed < changed_both && full < full_both, "{changed} {changed_both} {full} {full_both}");
    assert!(changed_both < full && 2 * changed < full, "{changed} {changed_both} {full} {full_both}");
    // Of two updates of a row the row before takes as much as what became of it.
    assert!(full_both > full + 20 * 2 * 200, "{full} {full_both}");
}

/// Each way to write a row, with and without a row before.
#[test]
fn a_log_shows_what_rows_were() {
    for (after, wanted) in [
        (PhysiologicalImages::Changed, ["before: no row", " bytes of ranges, "]),
        (PhysiologicalImages::Full, ["before: no row", "before: 60 bytes, "]),
    ] {
        let config = || config(&directory_of(after), Protocol::Serial, (after, true));
        let _ = std::fs::remove_dir_all(directory_of(after));
        let (db, table) = open(config(), false);
        let n = table.column("n").unwrap();
        let row = |n: i64| (n, "y".repeat(40));
        let id = [Value::Int(1)];
        let writes: [&Write<'_>; 7] = [
            &|tx| tx.insert(&table, &values(1, &row(1))),
            &|tx| tx.update(&table, &id, &[(n, Value::Int(2))]).map(drop),
            &|tx| tx.replace(&table, &values(1, &row(3))).map(drop),
            &|tx| tx.upsert(&table, &values(1, &row(4))),
            &|tx| tx.delete_blind(&table, &id),
            &|tx| tx.delete_blind(&table, &id),
            &|tx| tx.upsert(&table, &values(1, &row(5))),
        ];
        let mut lines = Vec::new();
        for write in writes {
            db.run(write).unwrap().1.wait().unwrap();
        }
        db.close().unwrap();
        let mut out = Vec::new();
        dump(&config(), Detail::Records, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let of_table = format!(" table {} ", 16);
        lines.extend(text.lines().filter(|line| line.contains(&of_table)).map(str::trim));
        assert_eq!(lines.len(), 7, "{text}");
        let has_row = [false, true, true, true, true, false, false];
        for (line, has_row) in lines.iter().zip(has_row) {
            assert_eq!(line.contains(wanted[0]), !has_row, "{line}");
        }
        assert!(lines[1..4].iter().all(|line| line.contains(wanted[1])), "{lines:?}");
        assert!(lines[4].starts_with("delete") && lines[4].contains("before: 60 bytes, "), "{lines:?}");
        let kind = if after == PhysiologicalImages::Full { "put" } else { "change" };
        assert!(lines[1..4].iter().all(|line| line.starts_with(kind)), "{lines:?}");
        assert!(text.contains("physiological"), "{text}");
    }
}

fn directory_of(after: PhysiologicalImages) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("physiological/shown-{after:?}"))
}

/// A write whose row before is logged has read that row: whoever changes it first makes the transaction run again.
#[test]
fn what_is_logged_as_the_row_before_was_read() {
    let blind: [BlindWrite; 3] = [
        |tx, table| tx.upsert(table, &values(1, &(5, String::new()))),
        |tx, table| tx.replace(table, &values(1, &(5, String::new()))).map(drop),
        |tx, table| tx.delete_blind(table, &[Value::Int(1)]),
    ];
    for (kind, write) in blind.into_iter().enumerate() {
        for before in [false, true] {
            let images = (PhysiologicalImages::Changed, before);
            let home = directory(&format!("read-{kind}-{before}"));
            let (db, table) = open(config(&home, Protocol::Poplar, images), false);
            db.run(|tx| tx.insert(&table, &values(1, &(0, String::new())))).unwrap();
            let n = table.column("n").unwrap();
            let (mut one, mut other) = (db.session().unwrap(), db.session().unwrap());
            let tx = one.begin();
            write(&tx, &table).unwrap();
            other.run(|tx| tx.update(&table, &[Value::Int(1)], &[(n, Value::Int(1))])).unwrap();
            let outcome = tx.commit().map(drop);
            assert_eq!(outcome.is_err(), before, "write {kind}: {outcome:?}");
            assert!(outcome.err().is_none_or(|error| error.is_conflict()));
        }
    }
}

/// The payload goes with every protocol that has a log.
#[test]
fn a_database_without_a_log_refuses_images() {
    let config = config(&directory("none"), Protocol::None, IMAGES[0]);
    let refused = Database::open(config.streams(1)).map(drop).unwrap_err();
    assert!(refused.to_string().contains("log values"), "{refused}");
}
