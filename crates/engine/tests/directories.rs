//! What a database's directories are: copies, other spellings, other databases, directories that moved, are missing or were
//! left out, and files that were removed by hand. A database is never changed through the paths of another one.

#[path = "support/copying.rs"]
mod copying;
mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use copying::copy;
use osier::config::Create;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Database, DirectoryError, Error, Protocol, RecoveryError, Table};

fn directory(name: &str) -> PathBuf {
    support::directory("directories", name)
}

/// A configuration with one stream in each of `dirs`, below `root`.
fn config(root: &Path, dirs: &[&str]) -> Config {
    let config = support::config(root, Protocol::Poplar, dirs.len() as u32);
    config.dirs(dirs.iter().map(|dir| root.join(dir)))
}

fn table(db: &Database) -> Table {
    db.table("word")
        .or_else(|_| {
            let schema =
                Schema::builder("word").column("id", Type::Int64).column("text", Type::Text).primary_key(["id"]);
            db.create_table(schema.build()?)
        })
        .expect("the table")
}

/// Rows that every stream has a part of, each acknowledged.
fn write(db: &Database, ids: std::ops::Range<i64>) {
    let table = table(db);
    let streams = db.config().streams as usize;
    let mut sessions: Vec<_> = (0..streams).map(|_| db.session().expect("a session")).collect();
    for id in ids {
        let session = &mut sessions[id as usize % streams];
        let row = [Value::Int(id), Value::Text("a word that takes some room in the log")];
        session.run(|tx| tx.upsert(&table, &row)).expect("an upsert").1.wait().expect("durable");
    }
}

fn ids(db: &Database) -> Vec<i64> {
    let table = table(db);
    let id = table.column("id").expect("id");
    let rows = db
        .run(|tx| -> Result<Vec<_>, Error> { tx.scan(&table, KeyRange::all())?.map(|row| Ok(row?.int(id))).collect() });
    rows.expect("a scan").0
}

fn all(ids: std::ops::Range<i64>) -> Vec<i64> {
    ids.collect()
}

/// A database whose process was killed after it acknowledged the rows 0 to 299: a copy of it while it was open.
fn killed(root: &Path, dirs: &[&str]) -> Config {
    let db = Database::open(config(root, dirs)).expect("created");
    write(&db, 0..300);
    let copies = root.join("copies");
    dirs.iter().for_each(|dir| copy(&root.join(dir), &copies.join(dir)));
    drop(db);
    for dir in dirs {
        fs::remove_dir_all(root.join(dir)).expect("removed");
        fs::rename(copies.join(dir), root.join(dir)).expect("renamed");
    }
    fs::remove_dir_all(copies).expect("removed");
    config(root, dirs)
}

/// Copies a directory by hard links, as `cp -al` does.
fn link(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a listing") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => link(&entry.path(), &target),
            false => fs::hard_link(entry.path(), target).expect("a link"),
        }
    }
}

/// Every file below `path` with its content.
fn content(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).expect("a listing") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(content(&path)),
            false => found.push((path.clone(), fs::read(&path).expect("a file"))),
        }
    }
    found.sort();
    found
}

/// An open that must fail, and what it says.
fn refused(config: Config) -> Error {
    match Database::open(config.create(Create::IfMissing)) {
        Ok(db) => panic!("it opened with {} rows", ids(&db).len()),
        Err(error) => error,
    }
}

#[test]
fn a_copy_does_not_touch_its_original() {
    let root = directory("copy");
    let original = killed(&root.join("o"), &["a", "b"]);
    copy(&root.join("o"), &root.join("c"));
    let before = content(&root.join("o"));
    let copied = config(&root.join("c"), &["a", "b"]);
    for round in 0..3 {
        let db = Database::open(copied.clone()).expect("the copy opens");
        write(&db, 300 + 100 * round..400 + 100 * round);
        db.checkpoint().expect("a checkpoint");
        db.close().expect("closed");
    }
    assert!(content(&root.join("o")) == before, "the original was written to");
    // Both live on, each by itself and at the same time.
    let (one, other) = (Database::open(original).expect("opened"), Database::open(copied).expect("opened"));
    assert_eq!(ids(&one), all(0..300));
    assert_eq!(ids(&other), all(0..600));
    write(&one, 1000..1100);
    for db in [&one, &other] {
        db.checkpoint().expect("a checkpoint");
    }
    assert_eq!(ids(&other), all(0..600));
}

#[test]
fn directories_of_two_copies_do_not_mix() {
    let root = directory("mixed");
    killed(&root.join("o"), &["a", "b"]);
    copy(&root.join("o"), &root.join("c"));
    for side in ["o", "c"] {
        let db = Database::open(config(&root.join(side), &["a", "b"])).expect("opened");
        write(&db, 300..310);
        db.close().expect("closed");
    }
    let before = content(&root);
    for dirs in [["o/a", "c/b"], ["c/a", "o/b"]] {
        let error = refused(config(&root, &dirs));
        assert!(error.to_string().contains("another copy"), "{error}");
    }
    // Nor does a manifest of the other copy.
    fs::copy(root.join("c/a/MANIFEST"), root.join("o/a/MANIFEST")).expect("a copy");
    let error = refused(config(&root.join("o"), &["a", "b"]));
    assert!(error.to_string().contains("another copy"), "{error}");
    fs::remove_file(root.join("o/a/MANIFEST")).expect("removed");
    let error = refused(config(&root.join("o"), &["a", "b"]));
    assert!(error.to_string().contains("MANIFEST"), "{error}");
    let changed = content(&root).iter().filter(|file| !before.contains(file)).count();
    assert_eq!(changed, 0, "what was refused was written to");
}

#[test]
fn one_directory_under_two_names_is_refused() {
    let root = directory("spelled");
    let db = Database::open(config(&root, &["a", "b"])).expect("created");
    write(&db, 0..100);
    db.close().expect("closed");
    symlink(root.join("b"), root.join("link")).expect("a link");
    symlink(root.join("a"), root.join("home")).expect("a link");
    for dirs in [
        vec!["a", "b", "a/../b"],
        vec!["a", "b", "link"],
        vec!["a", "link", "b"],
        vec!["a", "b", "./a"],
        vec!["home", "b", "a"],
        vec!["a", "b", "b/"],
    ] {
        let error = refused(config(&root, &dirs));
        let is_said = matches!(error, Error::Directory(DirectoryError::SameDirectory { .. }));
        assert!(is_said, "{dirs:?}: {error}");
    }
    // Any one spelling is as good as another, in any order.
    for (round, dirs) in [["home", "link"], ["./a", "a/../b"], ["home/../a/", "link/"], ["a", "b"]].iter().enumerate() {
        let db = Database::open(config(&root, dirs)).unwrap_or_else(|error| panic!("{dirs:?}: {error}"));
        let from = 100 + 100 * round as i64;
        assert_eq!(ids(&db), all(0..from));
        write(&db, from..from + 100);
        db.checkpoint().expect("a checkpoint");
        db.close().expect("closed");
    }
    let new = directory("spelled-new");
    fs::create_dir_all(new.join("b")).expect("a directory");
    let error = refused(config(&new, &["a", "b", "b/../b"]));
    assert!(matches!(error, Error::Directory(DirectoryError::SameDirectory { .. })), "{error}");
}

#[test]
fn a_relative_path_is_a_spelling() {
    let root = directory("relative");
    let db = Database::open(config(&root, &["a", "b"])).expect("created");
    write(&db, 0..100);
    db.close().expect("closed");
    let here = std::env::current_dir().expect("a directory");
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let relative = up.join(root.strip_prefix("/").expect("an absolute path"));
    let mut config = config(&root, &["a", "b"]);
    config.dirs = vec![relative.join("a"), relative.join("b"), root.join("b")];
    let error = refused(config.clone());
    assert!(matches!(error, Error::Directory(DirectoryError::SameDirectory { .. })), "{error}");
    config.dirs.pop();
    assert_eq!(ids(&Database::open(config).expect("opened")), all(0..100));
}

#[test]
fn a_directory_of_another_database_is_refused() {
    let root = directory("foreign");
    let one = Database::open(config(&root.join("one"), &["a", "b"])).expect("created");
    write(&one, 0..100);
    let other = Database::open(config(&root.join("other"), &["a", "b"])).expect("created");
    write(&other, 0..50);
    other.close().expect("closed");
    let before = content(&root.join("one/b/stream-1"));
    // Open in this process, and then closed.
    let dirs = ["other/a", "other/b", "one/b"];
    let error = refused(config(&root, &dirs));
    assert!(matches!(error, Error::Directory(DirectoryError::InUse { .. })), "{error}");
    one.close().expect("closed");
    for dirs in [vec!["other/a", "other/b", "one/b"], vec!["other/a", "one/b"], vec!["other/a", "other/b", "one/a"]] {
        let error = refused(config(&root, &dirs));
        let is_said = matches!(error, Error::Directory(DirectoryError::OtherDatabase { .. }));
        assert!(is_said, "{dirs:?}: {error}");
    }
    assert!(content(&root.join("one/b/stream-1")).iter().all(|file| before.contains(file)));
    for (side, rows) in [("one", 100), ("other", 50)] {
        let db = Database::open(config(&root.join(side), &["a", "b"])).expect("opened");
        assert_eq!(ids(&db), all(0..rows));
    }
}

#[test]
fn a_directory_with_other_files_is_refused() {
    let root = directory("occupied");
    let db = Database::open(config(&root, &["a"])).expect("created");
    write(&db, 0..10);
    db.close().expect("closed");
    fs::create_dir_all(root.join("b/holidays")).expect("a directory");
    let error = refused(config(&root, &["a", "b"]));
    assert!(matches!(error, Error::Directory(DirectoryError::ForeignFile { .. })), "{error}");
    assert!(error.to_string().contains("holidays"), "{error}");
    assert_eq!(ids(&Database::open(config(&root, &["a"])).expect("opened")), all(0..10));
}

#[test]
fn directories_move_come_and_are_left_out() {
    let root = directory("moved");
    killed(&root, &["a", "b", "c"]);
    fs::rename(root.join("b"), root.join("elsewhere")).expect("moved");
    // What is needed and not named is named by the error.
    let error = refused(config(&root, &["a", "c"]));
    assert!(matches!(&error, Error::Directory(DirectoryError::Missing { .. })), "{error}");
    assert!(error.to_string().contains("/b"), "{error}");
    // In any order, with home first.
    let error = refused(config(&root, &["c", "a", "elsewhere"]));
    assert!(matches!(&error, Error::Directory(DirectoryError::NotHome { .. })), "{error}");
    let dirs = ["a", "c", "elsewhere"];
    let db = Database::open(config(&root, &dirs)).expect("opened");
    assert_eq!(ids(&db), all(0..300));
    write(&db, 300..310);
    db.close().expect("closed");
    // Another one comes, and nothing new is written to two that are leaving.
    let moving = config(&root, &["a", "d"]).leaving(["c", "elsewhere"].map(|dir| root.join(dir)));
    let db = Database::open(moving.clone()).expect("opened");
    write(&db, 310..320);
    db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    for dir in ["c", "elsewhere"] {
        let log = content(&root.join(dir)).into_iter().filter(|(path, _)| path.extension().is_some());
        assert_eq!(log.count(), 0, "{dir} still has files");
    }
    let db = Database::open(config(&root, &["a", "d"])).expect("opened without what was left out");
    assert_eq!(ids(&db), all(0..320));
    db.close().expect("closed");
    let error = refused(config(&root, &["a", "d", "c"]));
    assert!(matches!(&error, Error::Directory(DirectoryError::Retired { .. })), "{error}");
    fs::remove_dir_all(root.join("c")).expect("removed");
    assert_eq!(ids(&Database::open(config(&root, &["a", "d", "c"])).expect("opened")), all(0..320));
}

#[test]
fn a_copy_by_hard_links_keeps_what_it_has() {
    let root = directory("linked");
    let original = killed(&root.join("o"), &["a", "b"]);
    link(&root.join("o"), &root.join("c"));
    let before = content(&root.join("c"));
    for round in 0..6 {
        let db = Database::open(original.clone()).expect("opened");
        write(&db, 300 + 500 * round..800 + 500 * round);
        db.checkpoint().expect("a checkpoint");
        db.close().expect("closed");
    }
    assert!(content(&root.join("c")) == before, "the copy was changed through its links");
    assert_eq!(ids(&Database::open(config(&root.join("c"), &["a", "b"])).expect("opened")), all(0..300));
}

#[test]
fn a_stream_behind_a_link_is_refused() {
    let root = directory("stream-link");
    killed(&root, &["a", "b"]);
    fs::rename(root.join("b/stream-1"), root.join("far")).expect("moved");
    symlink(root.join("far"), root.join("b/stream-1")).expect("a link");
    let error = refused(config(&root, &["a", "b"]));
    assert!(matches!(&error, Error::Directory(DirectoryError::Link { .. })), "{error}");
}

#[test]
fn a_segment_that_was_removed_is_missed() {
    let root = directory("removed");
    for (name, dirs) in [("one", vec!["a"]), ("two", vec!["a", "b"])] {
        let root = root.join(name);
        let db = Database::open(config(&root.join("live"), &dirs)).expect("created");
        // A lone writer: only its own stream knows what it wrote.
        let table = table(&db);
        let mut session = db.session().expect("a session");
        for id in 0..3000 {
            let row = [Value::Int(id), Value::Text("a word that takes some room in the log")];
            session.run(|tx| tx.upsert(&table, &row)).expect("an upsert").1.wait().expect("durable");
        }
        copy(&root.join("live"), &root.join("killed"));
        drop(session);
        drop(db);
        for stream in 0..dirs.len() {
            let directory = |name: &str| root.join(name).join(dirs[stream]).join(format!("stream-{stream}"));
            let mut logs: Vec<_> = fs::read_dir(directory("killed")).expect("a listing").flatten().collect();
            logs.retain(|entry| entry.file_name().to_string_lossy().starts_with('0'));
            logs.sort_by_key(|entry| entry.file_name());
            assert!(!logs.is_empty());
            for removed in [&logs[logs.len() - 1..], &logs[..]] {
                let copied = root.join("copied");
                let _ = fs::remove_dir_all(&copied);
                self::copy(&root.join("killed"), &copied);
                for entry in removed {
                    fs::remove_file(directory("copied").join(entry.file_name())).expect("removed");
                }
                let error = refused(config(&copied, &dirs));
                let is_missed = matches!(error, Error::Recovery(RecoveryError::MissingSegment { .. }));
                assert!(is_missed, "{name}, stream {stream}: {error}");
                assert!(osier::inspect::verify(&config(&copied, &dirs)).is_err(), "verify does not miss it");
            }
        }
        let copied = config(&root.join("killed"), &dirs);
        assert_eq!(ids(&Database::open(copied).expect("opened")).len(), 3000);
    }
}

/// Every stream, put back as it was before the last open.
#[test]
fn a_stream_from_before_the_last_open_is_missed() {
    let root = directory("stale");
    for (name, dirs) in [("one", vec!["a"]), ("two", vec!["a", "b"])] {
        let root = root.join(name);
        let live = config(&root.join("live"), &dirs);
        let db = Database::open(live.clone()).expect("created");
        write(&db, 0..100);
        db.close().expect("closed");
        copy(&root.join("live"), &root.join("old"));
        let db = Database::open(live).expect("opened");
        // The first row of each stream, and many: what there is of the present generation in an old directory is the same.
        for (written, until) in [("some", 102), ("many", 900)] {
            write(&db, 100..until);
            for (stream, dir) in dirs.iter().enumerate() {
                let (mixed, stream) = (root.join(format!("{written}-{stream}")), format!("{dir}/stream-{stream}"));
                copy(&root.join("live"), &mixed);
                fs::remove_dir_all(mixed.join(&stream)).expect("removed");
                copy(&root.join("old").join(&stream), &mixed.join(&stream));
                let config = config(&mixed, &dirs);
                let report = osier::salvage(&config, self::config(&root.join("salvaged"), &["a"]), false);
                assert!(!report.expect("what is proven").damages.is_empty(), "a salvage does not say so");
                fs::remove_dir_all(root.join("salvaged")).expect("removed");
                assert!(osier::inspect::verify(&config).is_err(), "verify does not miss it");
                let error = refused(config);
                assert!(error.to_string().contains("older than the manifest"), "{name}, {stream}: {error}");
            }
        }
    }
}

/// Copies a directory by symbolic links, as `cp -as` does.
fn link_softly(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a listing") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => link_softly(&entry.path(), &target),
            false => symlink(entry.path(), target).expect("a link"),
        }
    }
}

#[test]
fn a_copy_by_symbolic_links_leaves_its_original() {
    let root = directory("soft");
    let original = killed(&root.join("o"), &["a", "b"]);
    let db = Database::open(original.clone()).expect("opened");
    db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    link_softly(&root.join("o"), &root.join("c"));
    let before = content(&root.join("o"));
    let copied = config(&root.join("c"), &["a", "b"]);
    for round in 0..3 {
        let db = Database::open(copied.clone()).expect("opened");
        write(&db, 300 + 500 * round..800 + 500 * round);
        db.checkpoint().expect("a checkpoint");
        db.close().expect("closed");
    }
    assert!(content(&root.join("o")) == before, "the original was changed through links");
    assert_eq!(ids(&Database::open(original).expect("opened")), all(0..300));
}

#[test]
fn the_log_of_another_copy_is_not_taken() {
    let root = directory("log-of-copy");
    killed(&root.join("o"), &["a", "b"]);
    copy(&root.join("o"), &root.join("c"));
    for side in ["o", "c"] {
        let db = Database::open(config(&root.join(side), &["a", "b"])).expect("opened");
        write(&db, 300..340);
        for dir in ["a", "b"] {
            copy(&root.join(side).join(dir), &root.join(format!("killed-{side}")).join(dir));
        }
        db.close().expect("closed");
    }
    for (dir, stream) in [("a", "stream-0"), ("b", "stream-1")] {
        let mixed = root.join(format!("mixed-{dir}"));
        copy(&root.join("killed-o"), &mixed);
        fs::remove_dir_all(mixed.join(dir).join(stream)).expect("removed");
        copy(&root.join("killed-c").join(dir).join(stream), &mixed.join(dir).join(stream));
        let error = refused(config(&mixed, &["a", "b"]));
        assert!(error.to_string().contains("another copy"), "{error}");
    }
    // Nor by a salvage.
    let mut damaged = config(&root, &["killed-o/a", "killed-c/b"]);
    damaged.create = Create::Never;
    let report = osier::salvage(&damaged, config(&root.join("salvaged"), &["a"]), false).expect("what is proven");
    assert!(!report.damages.is_empty(), "{report}");
}

#[test]
fn a_lock_file_that_is_removed_is_still_held() {
    let root = directory("lock");
    let db = Database::open(config(&root, &["a", "b"])).expect("created");
    for dir in ["a", "b"] {
        fs::remove_file(root.join(dir).join("LOCK")).expect("removed");
    }
    // Who only reads creates none, and comes first here.
    let reads = config(&root, &["a", "b"]);
    let in_use = |error: Error| {
        let is_so = |error: &DirectoryError| matches!(error, DirectoryError::InUse { .. });
        let is_in_use = match &error {
            Error::Directory(error) => is_so(error),
            Error::Recovery(RecoveryError::Directory(error)) => is_so(error),
            _ => false,
        };
        assert!(is_in_use, "{error}");
    };
    in_use(osier::inspect::verify(&reads).expect_err("a database that is open is read").into());
    in_use(osier::salvage(&reads, config(&root.join("saved"), &["a"]), false).expect_err("it is salvaged"));
    assert!(!root.join("a/LOCK").exists() && !root.join("b/LOCK").exists());
    in_use(refused(config(&root, &["a", "b"])));
    write(&db, 0..10);
    db.close().expect("closed");
    assert_eq!(ids(&Database::open(config(&root, &["a", "b"])).expect("opened")), all(0..10));
}

/// As an open leaves it that was to add it, and ended between its identities and its manifest.
#[test]
fn a_directory_whose_addition_was_cut_off_is_added_later() {
    let root = directory("cut-off");
    let one = config(&root, &["a"]);
    Database::open(one.clone()).expect("created").close().expect("closed");
    let before = content(&root.join("a"));
    Database::open(config(&root, &["a", "b"])).expect("added").close().expect("closed");
    for name in ["stream-1", "checkpoints"] {
        let _ = fs::remove_dir_all(root.join("b").join(name));
    }
    fs::remove_dir_all(root.join("a")).expect("removed");
    for (path, bytes) in before {
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, bytes).expect("as it was");
    }
    let db = Database::open(one).expect("opened without it");
    write(&db, 0..10);
    db.close().expect("closed");
    // Its number is another one's.
    let db = Database::open(config(&root, &["a", "c"])).expect("another one is added");
    write(&db, 10..20);
    db.close().expect("closed");
    let error = refused(config(&root, &["a", "b"]));
    assert!(matches!(error, Error::Directory(DirectoryError::OtherCopy { .. })), "in the place of another: {error}");
    let db = Database::open(config(&root, &["a", "c", "b"])).expect("it is added, too");
    write(&db, 20..30);
    db.close().expect("closed");
    assert_eq!(ids(&Database::open(config(&root, &["a", "b", "c"])).expect("opened")), all(0..30));
}

#[test]
fn a_directory_without_its_identity_is_named() {
    let root = directory("identity");
    let killed = killed(&root, &["a", "b"]);
    for dir in ["a", "b"] {
        let path = root.join(dir).join("IDENTITY");
        let sound = fs::read(&path).expect("the identity");
        fs::remove_file(&path).expect("removed");
        let error = refused(killed.clone());
        assert!(matches!(error, Error::Directory(DirectoryError::IdentityMissing { .. })), "{error}");
        assert!(error.to_string().contains(&format!("{dir}/IDENTITY")), "{error}");
        fs::write(&path, sound).expect("restored");
    }
    assert_eq!(ids(&Database::open(killed).expect("opened")), all(0..300));
}

#[test]
fn a_backup_of_one_copy_is_not_written_over_by_another() {
    let root = directory("backups");
    let db = Database::open(config(&root.join("o"), &["a"])).expect("created");
    write(&db, 0..10);
    db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    copy(&root.join("o"), &root.join("c"));
    let target = root.join("backup");
    for (side, base) in [("o", 100), ("c", 200)] {
        let db = Database::open(config(&root.join(side), &["a"])).expect("opened");
        write(&db, base..base + 10);
        db.close().expect("closed");
    }
    let side = |side: &str| config(&root.join(side), &["a"]);
    osier::backup_closed(&side("o"), &target).expect("a backup");
    let error = osier::backup_closed(&side("c"), &target).expect_err("another copy").to_string();
    assert!(error.contains("holds a backup of another copy of this database"), "{error}");
    osier::backup_closed(&side("c"), &root.join("other")).expect("a backup");
    for (backup, base) in [("backup", 100), ("other", 200)] {
        let restored = config(&root.join(format!("restored-{backup}")), &["a"]);
        osier::restore(restored.clone(), &root.join(backup)).expect("restored");
        let expected: Vec<i64> = (0..10).chain(base..base + 10).collect();
        assert_eq!(ids(&Database::open(restored).expect("opened")), expected);
    }
}

/// What a directory keeps for itself is no place for another one: who removes that when it was left out removes a checkpoint.
#[test]
fn a_directory_among_the_files_of_another_is_refused() {
    let root = directory("among");
    Database::open(config(&root, &["a"])).expect("created").checkpoint().expect("a checkpoint");
    fs::create_dir_all(root.join("a/checkpoints/deep")).expect("created");
    fs::create_dir_all(root.join("a/stream-7")).expect("created");
    for within in ["a/checkpoints/deep", "a/stream-7", "new/checkpoints", "new/stream-0"] {
        let home = within.split('/').next().expect("a name");
        let error = refused(config(&root, &[home, within]).streams(1));
        assert!(matches!(error, Error::Directory(DirectoryError::Within { .. })), "{error}");
        assert!(error.to_string().contains("name a directory outside of it"), "{error}");
    }
    Database::open(config(&root, &["a", "a/own"])).expect("any other name").close().expect("closed");
}

#[test]
fn without_a_log_a_database_whose_manifest_is_elsewhere_is_refused() {
    let root = directory("elsewhere");
    let none = |dirs: &[&str]| config(&root, dirs).protocol(Protocol::None).streams(1);
    let db = Database::open(none(&["a", "b"])).expect("created");
    write(&db, 0..5);
    db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    let error = refused(none(&["b", "a"]));
    assert!(error.to_string().contains("name the one with the file MANIFEST first"), "{error}");
    let (manifest, aside) = (root.join("a/MANIFEST"), root.join("aside"));
    fs::rename(&manifest, &aside).expect("moved");
    let error = refused(none(&["a", "b"]));
    assert!(error.to_string().contains("a/MANIFEST"), "{error}");
    fs::rename(&aside, &manifest).expect("moved back");
    assert_eq!(ids(&Database::open(none(&["a", "b"])).expect("opened")), all(0..5));
}

#[test]
fn what_is_wrong_with_a_directory_is_said() {
    let root = directory("said");
    let killed = killed(&root, &["a", "b"]);
    let error = |config: Config| osier::backup_closed(&config, &root.join("backup")).expect_err("refused").to_string();
    let twice = config(&root, &["a", "b", "b"]).streams(2);
    assert!(error(twice).contains("are the same directory; name each directory once"), "it does not hold its own lock");
    // A device that was not mounted.
    fs::rename(root.join("b"), root.join("away")).expect("moved");
    fs::create_dir(root.join("b")).expect("created");
    let emptied = error(killed.clone());
    assert!(emptied.contains("b holds nothing of the database") && emptied.contains("mount its device"), "{emptied}");
    fs::remove_dir(root.join("b")).expect("removed");
    fs::rename(root.join("away"), root.join("b")).expect("moved back");
    // Files of one directory that are not of one database.
    Database::open(config(&root, &["other"])).expect("created").close().expect("closed");
    for (name, from) in [("MANIFEST", "other"), ("IDENTITY", "other"), ("IDENTITY", "b")] {
        let path = root.join("a").join(name);
        let sound = fs::read(&path).expect("read");
        fs::copy(root.join(from).join(name), &path).expect("copied");
        let mixed = error(killed.clone());
        assert!(mixed.contains("a/IDENTITY and") && mixed.contains("do not belong together"), "{mixed}");
        fs::write(&path, sound).expect("put back");
    }
    fs::rename(root.join("b/stream-1"), root.join("aside")).expect("moved");
    let missing = osier::status(&killed).expect_err("refused").to_string();
    assert!(missing.contains("b/stream-1 of log stream 1 is missing: mount its device"), "{missing}");
    fs::rename(root.join("aside"), root.join("b/stream-1")).expect("moved back");
    assert_eq!(ids(&Database::open(killed).expect("opened")), all(0..300));
}
