//! Directories that are moved, removed or replaced while a process has their database open, and a process that goes elsewhere:
//! what lies under a path now is not changed unless it is the database's own.

#[path = "support/copying.rs"]
mod copying;
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use copying::copy;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Create, Database, Error, Protocol, Table};

/// How long the database may take until it notices.
const PATIENCE: Duration = Duration::from_secs(60);
const SAYS: &str = "was moved, removed or replaced while the database had it open";

fn directory(name: &str) -> PathBuf {
    support::directory("displaced", name)
}

fn config(root: &Path, dirs: &[&str], protocol: Protocol) -> Config {
    support::config(root, protocol, dirs.len() as u32).dirs(dirs.iter().map(|dir| root.join(dir)))
}

fn table(db: &Database) -> Table {
    db.table("t")
        .or_else(|_| {
            let schema = Schema::builder("t").column("id", Type::Int64).column("text", Type::Bytes).primary_key(["id"]);
            db.create_table(schema.build()?)
        })
        .expect("the table")
}

/// Inserts a row of 1 KB; durable when it returns.
fn insert(db: &Database, table: &Table, id: i64) -> Result<(), Error> {
    let (_, receipt) = db.run(|tx| tx.insert(table, &[Value::Int(id), Value::Bytes(&[7; 1000])]))?;
    Ok(receipt.wait()?)
}

fn rows(config: Config) -> usize {
    let db = Database::open(config.create(Create::Never)).expect("opened");
    let table = table(&db);
    let count = |tx: &osier::Transaction<'_>| -> Result<_, Error> { Ok(tx.scan(&table, KeyRange::all())?.count()) };
    let rows = db.run(count).expect("a scan").0;
    db.close().expect("closed");
    rows
}

/// Every file below `path` with its content.
fn content(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(content(&path)),
            false => drop(found.insert(path.clone(), fs::read(&path).expect("a file"))),
        }
    }
    found
}

/// A closed database with so many rows.
fn closed(root: &Path, dirs: &[&str], count: i64) {
    let db = Database::open(config(root, dirs, Protocol::Poplar)).expect("created");
    let table = table(&db);
    (0..count).for_each(|id| insert(&db, &table, id).expect("durable"));
    db.close().expect("closed");
}

/// The one test that changes the working directory: the others name absolute paths.
#[test]
fn a_process_that_goes_elsewhere_keeps_its_database() {
    for protocol in [Protocol::Poplar, Protocol::None] {
        let root = directory(&format!("elsewhere-{protocol:?}"));
        let (one, other) = (root.join("one"), root.join("other"));
        fs::create_dir_all(&one).expect("a directory");
        closed(&other, &["db"], 100);
        let before = content(&other);
        std::env::set_current_dir(&one).expect("here");
        let db = Database::open(config(Path::new(""), &["db"], protocol)).expect("created");
        std::env::set_current_dir(&other).expect("there");
        let table = table(&db);
        (0..500).for_each(|id| insert(&db, &table, id).expect("durable"));
        db.checkpoint().expect("a checkpoint");
        if protocol == Protocol::Poplar {
            (500..600).for_each(|id| insert(&db, &table, id).expect("durable"));
        }
        let again = db.config().clone();
        db.close().expect("closed");
        assert_eq!(content(&other), before, "somebody else's database has changed");
        assert!(rows(again) >= 500, "the configuration of a database opens it again");
        assert_eq!(rows(config(&one, &["db"], protocol)), if protocol == Protocol::Poplar { 600 } else { 500 });
    }
    relative_paths_are_spellings();
}

/// Of directories beside one another and within one another, also of a restore.
fn relative_paths_are_spellings() {
    let root = directory("relative");
    fs::create_dir_all(&root).expect("a directory");
    std::env::set_current_dir(&root).expect("here");
    for (name, dirs) in [("beside", ["beside/first", "beside/second"]), ("within", ["within", "within/second"])] {
        let spelled = |root: &Path| config(root, &dirs, Protocol::Poplar);
        let db = Database::open(spelled(Path::new(""))).expect("created");
        let table = table(&db);
        (0..100).for_each(|id| insert(&db, &table, id).expect("durable"));
        db.backup(&root.join("backup").join(name), true).expect("a backup");
        db.close().expect("closed");
        for root in [Path::new(""), &root, Path::new("."), Path::new("")] {
            assert_eq!(rows(spelled(root)), 100, "{name} {root:?}");
        }
        let mixed = spelled(&root).dirs([root.join(dirs[0]), PathBuf::from(dirs[1])]);
        assert_eq!(rows(mixed), 100, "{name}");
        let restored = config(Path::new(""), &[&format!("{name}-one"), &format!("{name}-two")], Protocol::Poplar);
        osier::restore(restored.clone(), &Path::new("backup").join(name)).expect("restored");
        assert_eq!(rows(restored), 100, "{name}");
    }
}

/// What somebody does with a directory that is open, `first` or `second`, and what is at its path then.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Moved,
    Removed,
    /// A copy of it lies there.
    Copied,
    /// Another database lies there.
    Replaced,
}

#[test]
fn what_lies_in_the_place_of_a_directory_is_not_changed() {
    use Deed::{Copied, Moved, Removed, Replaced};
    for (deed, which) in
        [Moved, Removed, Copied, Replaced].into_iter().flat_map(|deed| [(deed, "first"), (deed, "second")])
    {
        let name = format!("{deed:?} {which}");
        let root = directory(&name);
        let dirs = ["first", "second"];
        let db = Database::open(config(&root, &dirs, Protocol::Poplar)).expect("created");
        let table = table(&db);
        (0..300).for_each(|id| insert(&db, &table, id).expect("durable"));
        let (place, moved) = (root.join(which), root.join("moved"));
        fs::rename(&place, &moved).expect("moved");
        match deed {
            Moved => {}
            Removed => fs::remove_dir_all(&moved).expect("removed"),
            Copied => copy(&moved, &place),
            Replaced => {
                closed(&root.join("another"), &dirs, 50);
                fs::rename(root.join("another").join(which), &place).expect("put there");
            }
        }
        let before = content(&place);
        let error = db.checkpoint().expect_err("there is no place for it").to_string();
        assert!(error.contains(SAYS) && error.contains(which), "{name}: {error}");
        let error = db.backup(&root.join("backup"), false).expect_err("another log is not copied").to_string();
        assert!(error.contains(SAYS) && error.contains(which), "{name}: {error}");
        let (begun, mut acknowledged) = (Instant::now(), 300);
        let error = loop {
            assert!(begun.elapsed() < PATIENCE, "{name}: commits go on");
            match insert(&db, &table, acknowledged) {
                Ok(()) => acknowledged += 1,
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains(SAYS) && error.contains(which), "{name}: {error}");
        assert!(db.close().is_err(), "{name}: what could not be done was not done");
        drop((table, db));
        assert_eq!(content(&place), before, "{name}: somebody else's files have changed");
        if !matches!(deed, Removed) {
            let _ = fs::remove_dir_all(&place);
            fs::rename(&moved, &place).expect("back in its place");
            assert!(rows(config(&root, &dirs, Protocol::Poplar)) as i64 >= acknowledged, "{name}");
        }
    }
}

/// Nobody writes, and it is noticed all the same.
#[test]
fn a_directory_that_is_gone_ends_the_log() {
    let root = directory("quiet");
    let db = Database::open(config(&root, &["db"], Protocol::Serial)).expect("created");
    insert(&db, &table(&db), 0).expect("durable");
    fs::rename(root.join("db"), root.join("away")).expect("moved");
    let begun = Instant::now();
    while db.failure().is_none() {
        assert!(begun.elapsed() < PATIENCE, "nobody looks after the directories");
        std::thread::sleep(Duration::from_millis(10));
    }
    let error = db.failure().expect("a failure").to_string();
    assert!(error.contains(SAYS), "{error}");
    assert!(db.close().is_err());
}

/// Only a stream's directory is replaced, or the segment in it removed: the database's own directory lies where it was.
#[test]
fn a_segment_that_is_replaced_ends_the_log() {
    for is_replaced in [true, false] {
        let root = directory(&format!("segment-{is_replaced}"));
        let db = Database::open(config(&root, &["db"], Protocol::Serial)).expect("created");
        let table = table(&db);
        insert(&db, &table, 0).expect("durable");
        let stream = root.join("db/stream-0");
        fs::rename(&stream, root.join("away")).expect("moved");
        copy(&root.join("away"), &stream);
        if !is_replaced {
            fs::remove_file(stream.join("00000001-00000001.log")).expect("removed");
        }
        let begun = Instant::now();
        let error = (1..).find_map(|id| {
            assert!(begun.elapsed() < PATIENCE, "nobody looks after the segment");
            std::thread::sleep(Duration::from_millis(10));
            insert(&db, &table, id).err()
        });
        let error = error.expect("a failure").to_string();
        assert!(error.contains(SAYS) && error.contains("00000001-00000001.log"), "{error}");
        assert!(db.close().is_err());
    }
}

/// What a checkpoint has written is gone, and the log that it would have replaced holds everything.
#[test]
fn a_checkpoint_that_lost_a_file_is_given_up() {
    let root = directory("part");
    let slow =
        config(&root, &["db"], Protocol::Poplar).set("checkpoint_bytes_per_second", "100000").expect("a setting");
    let db = Database::open(slow).expect("created");
    let table = table(&db);
    (0..100).for_each(|id| insert(&db, &table, id).expect("durable"));
    let parts = root.join("db/checkpoints");
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| db.checkpoint());
        let begun = Instant::now();
        while content(&parts).is_empty() {
            assert!(begun.elapsed() < PATIENCE && !taken.is_finished(), "nothing is written");
        }
        for part in content(&parts).into_keys() {
            fs::remove_file(part).expect("removed");
        }
        let error = taken.join().expect("no panic").expect_err("a part is gone").to_string();
        assert!(error.contains(".ckpt was moved, removed or replaced while it was written"), "{error}");
    });
    insert(&db, &table, 100).expect("the log goes on");
    db.close().expect("closed");
    assert_eq!(rows(config(&root, &["db"], Protocol::Poplar)), 101);
}
