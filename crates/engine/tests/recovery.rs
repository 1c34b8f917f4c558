//! Databases that are closed, or cut off, and opened again, through the public API on the file system.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use osier::config::Create;
use osier::recovery::RecoveryPhase;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, RecoveryError, Session, Table};
use support::config;

fn directory(name: &str) -> PathBuf {
    support::directory("recovery", name)
}

fn schema() -> Schema {
    let schema = Schema::builder("city").column("id", Type::Int64).column("name", Type::Text).primary_key(["id"]);
    schema.index("by_name", ["name"]).build().expect("a schema")
}

fn put(session: &mut Session, table: &Table, id: i64, name: &str) {
    let row = [Value::Int(id), Value::Text(name)];
    let ((), receipt) = session.run(|tx| tx.upsert(table, &row)).expect("an upsert");
    receipt.wait().expect("durable");
}

fn cities(db: &Database) -> Vec<(i64, String)> {
    let table = db.table("city").expect("the table");
    let (id, name) = (table.column("id").expect("id"), table.column("name").expect("name"));
    let rows = db.run(|tx| -> Result<Vec<_>, Error> {
        let by_key = tx.scan(&table, KeyRange::all())?.collect::<Result<Vec<_>, _>>()?;
        let by_name = tx.scan_index(&table, "by_name", KeyRange::all())?.count();
        assert_eq!(by_name, by_key.len(), "an index that is not what its table is");
        Ok(by_key.iter().map(|row| (row.int(id), row.text(name).to_owned())).collect())
    });
    rows.expect("a scan").0
}

/// What a kill leaves: the files as they are while the database is open. They are copied again where a log has begun another
/// segment meanwhile: the file that names the newest one would be of a later moment than those beside it, as after no kill.
fn snapshot(from: &Path, to: &Path) {
    loop {
        let before = names(from);
        copy(from, to);
        if names(from) == before {
            return;
        }
        fs::remove_dir_all(to).expect("the copy is removed");
    }
}

/// The files below a directory.
fn names(home: &Path) -> BTreeSet<PathBuf> {
    let (mut names, mut open) = (BTreeSet::new(), vec![home.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("a listing") {
            let entry = entry.expect("an entry");
            match entry.file_type().expect("a type").is_dir() {
                true => open.push(entry.path()),
                false => _ = names.insert(entry.path()),
            }
        }
    }
    names
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a listing") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &target),
            // A spare file may be renamed meanwhile.
            false => drop(fs::copy(entry.path(), target)),
        }
    }
}

/// Protocols and numbers of streams.
const LOGS: [(Protocol, u32); 7] = [
    (Protocol::Serial, 1),
    (Protocol::Poplar, 1),
    (Protocol::Poplar, 3),
    (Protocol::Gsn, 3),
    (Protocol::Silo, 3),
    (Protocol::Plover, 3),
    (Protocol::Taurus, 3),
];

#[test]
fn a_closed_database_is_as_it_was() {
    for (protocol, streams) in LOGS {
        let home = directory(&format!("closed-{protocol:?}-{streams}"));
        let mut expected = Vec::new();
        for round in 0..4 {
            let db = Database::open(config(&home, protocol, streams)).expect("opened");
            match round {
                0 => drop(db.create_table(schema()).expect("a table")),
                _ => assert!(db.recovery().expect("recovered").clean),
            }
            let table = db.table("city").expect("the table");
            let mut session = db.session().expect("a session");
            for id in 0..300 {
                put(&mut session, &table, id, &format!("city {round} {}", id % 7));
            }
            session.run(|tx| tx.delete(&table, &[Value::Int(round)])).expect("a delete").1.wait().expect("durable");
            expected = cities(&db);
            drop(session);
            db.close().expect("closed");
        }
        let db = Database::open(config(&home, protocol, streams)).expect("opened");
        assert_eq!(cities(&db), expected);
        assert_eq!((expected.len(), db.recovery().expect("recovered").generations), (299, 4));
    }
}

#[test]
fn a_killed_database_has_what_was_acknowledged() {
    for (protocol, streams) in LOGS {
        let mut home = directory(&format!("killed-{protocol:?}-{streams}"));
        let mut next = 0;
        for round in 0..4 {
            let db = Database::open(config(&home, protocol, streams)).expect("opened");
            let table = match round {
                0 => db.create_table(schema()).expect("a table"),
                _ => db.table("city").expect("the table"),
            };
            let known: Vec<_> = (0..next).map(|id| (id, format!("city {id}"))).collect();
            assert_eq!(cities(&db), known);
            let mut sessions: Vec<_> = (0..streams).map(|_| db.session().expect("a session")).collect();
            for _ in 0..400 {
                let at = next as usize % sessions.len();
                put(&mut sessions[at], &table, next, &format!("city {next}"));
                next += 1;
            }
            let copy = directory(&format!("killed-{protocol:?}-{streams}-{round}"));
            snapshot(&home, &copy);
            drop(sessions);
            db.close().expect("closed");
            home = copy;
        }
        let db = Database::open(config(&home, protocol, streams)).expect("opened");
        assert_eq!(cities(&db).len() as i64, next);
        let report = db.recovery().expect("recovered");
        assert!(!report.clean && report.segments > 4, "{report}");
    }
}

/// Whatever is done to the end of one stream, batches of the other one tell.
#[test]
fn a_killed_database_without_the_end_of_a_stream_is_refused() {
    let (home, copy) = (directory("end"), directory("end-copy"));
    let db = Database::open(config(&home, Protocol::Poplar, 2)).expect("created");
    let table = db.create_table(schema()).expect("a table");
    let mut sessions = [0, 1].map(|_| db.session().expect("a session"));
    (0..150).for_each(|id| put(&mut sessions[id % 2], &table, id as i64, "a city"));
    let zeros = |from: usize| move |bytes: &mut Vec<u8>| bytes[from..].fill(0);
    let flip = |bytes: &mut Vec<u8>| {
        let end = bytes.iter().rposition(|byte| *byte != 0).expect("a batch");
        bytes[end / 4096 * 4096 + 100] ^= 1;
    };
    // The last batch is of stream 0: nobody knows of that.
    type Damage<'d> = &'d dyn Fn(&mut Vec<u8>);
    let damages: [(&str, &[u32], Damage<'_>); 5] = [
        ("is missing", &[0, 1], &Vec::clear),
        ("truncated", &[0, 1], &|bytes| bytes.truncate(8192)),
        ("it has no header", &[0, 1], &zeros(0)),
        ("another one knew it to be durable", &[0, 1], &zeros(8192)),
        ("another one knew it to be durable", &[1], &flip),
    ];
    for (what, streams, damage) in damages {
        for stream in streams {
            let _ = fs::remove_dir_all(&copy);
            snapshot(&home, &copy);
            let newest = copy.join(format!("stream-{stream}/00000001-00000003.log"));
            let mut bytes = fs::read(&newest).expect("the newest segment");
            damage(&mut bytes);
            match bytes.is_empty() {
                true => fs::remove_file(&newest).expect("removed"),
                false => fs::write(&newest, bytes).expect("written"),
            }
            let error = Database::open(config(&copy, Protocol::Poplar, 2)).err().expect(what);
            let text = error.to_string();
            assert!(text.contains(newest.to_str().expect("a name")) && text.contains(what), "{what}: {text}");
            assert!(["XX001", "58P01"].contains(&error.sqlstate()), "{text}");
        }
    }
    drop(sessions);
    db.close().expect("closed");
}

#[test]
fn what_is_wrong_is_named() {
    let home = directory("wrong");
    let open = |home: &Path| Database::open(config(home, Protocol::Poplar, 2).create(Create::Never));
    let error = open(&home).err().expect("there is none");
    assert!(error.to_string().contains(home.to_str().expect("a name")), "{error}");
    let db = Database::open(config(&home, Protocol::Poplar, 2)).expect("created");
    let table = db.create_table(schema()).expect("a table");
    let mut session = db.session().expect("a session");
    (0..100).for_each(|id| put(&mut session, &table, id, "a city"));
    drop(session);
    db.close().expect("closed");

    // The second session writes to the second stream.
    let segment = home.join("stream-1").join("00000001-00000001.log");
    let sound = fs::read(&segment).expect("a segment");
    let refused = |bytes: &[u8], part: &str| {
        fs::write(&segment, bytes).expect("written");
        let error = open(&home).err().expect("damaged");
        assert!(matches!(error, Error::Recovery(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains(segment.to_str().expect("a name")) && text.contains(part), "{text}");
        assert_eq!(error.sqlstate(), "XX001");
    };
    refused(&sound[..sound.len() / 2], "truncated");
    let mut flipped = sound.clone();
    flipped[2 * 4096 + 20] ^= 1;
    refused(&flipped, "at byte");
    fs::write(&segment, &sound).expect("written");

    let moved = home.join("elsewhere");
    fs::rename(home.join("stream-1"), &moved).expect("moved");
    let error = open(&home).err().expect("a stream is missing");
    assert!(matches!(&error, Error::Recovery(RecoveryError::MissingDirectory { .. })), "{error}");
    fs::rename(&moved, home.join("stream-1")).expect("moved back");
    let db = open(&home).expect("sound again");
    assert_eq!(cities(&db).len(), 100);
}

#[test]
fn indexes_are_built_by_ranges_of_several_tables() {
    const ROWS: i64 = 10_000;
    let home = directory("indexes");
    let base = || Config::new(&home).streams(2).set("recovery_threads", "4").expect("threads");
    let table_of = |name: &str, is_unique: bool| {
        let schema = Schema::builder(name).column("id", Type::Int64).column("value", Type::Int64).primary_key(["id"]);
        if is_unique { schema.unique_index("by_value", ["value"]) } else { schema.index("by_value", ["value"]) }
    };
    let db = Database::open(base()).expect("opened");
    for (name, is_unique) in [("one", true), ("two", false)] {
        let table = db.create_table(table_of(name, is_unique).build().expect("a schema")).expect("a table");
        db.run(|tx| (0..ROWS).try_for_each(|id| tx.insert(&table, &[Value::Int(id), Value::Int(ROWS - id)])))
            .expect("inserts");
        db.run(|tx| (0..ROWS).step_by(3).try_for_each(|id| tx.delete(&table, &[Value::Int(id)]).map(drop)))
            .expect("deletes");
    }
    db.close().expect("closed");

    let reported = Arc::new(Mutex::new(Vec::new()));
    let sink = reported.clone();
    let db = Database::open(base().progress(move |progress| {
        if progress.phase == RecoveryPhase::Index {
            sink.lock().expect("unpoisoned").push((progress.done, progress.total));
        }
    }));
    let db = db.expect("recovered");
    let rows: Vec<i64> = (0..ROWS).filter(|id| id % 3 != 0).collect();
    let indexed = 2 * rows.len() as u64;
    assert_eq!(db.recovery().expect("a report").indexed, indexed);
    let reported = reported.lock().expect("unpoisoned");
    assert!(reported.len() > 2 && reported.contains(&(2 * indexed, 2 * indexed)), "{reported:?}");
    for name in ["one", "two"] {
        let table = db.table(name).expect("the table");
        let id = table.column("id").expect("id");
        let by_value = db.run(|tx| -> Result<Vec<i64>, Error> {
            tx.scan_index(&table, "by_value", KeyRange::all())?.map(|row| Ok(row?.int(id))).collect()
        });
        assert!(by_value.expect("a scan").0.iter().eq(rows.iter().rev()), "{name}");
    }
}
