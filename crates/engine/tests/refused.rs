//! A file system that refuses what checkpoints ask of it, for lack of space: nothing is left behind for longer than that lasts,
//! and the next attempt succeeds.

mod support;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use osier::io::{Disk, File, FileStatus, Lock, OpenMode};
use osier::table::{Schema, Type, Value};
use osier::{Config, Database, Error, Protocol};

/// How long superseded files may take to go.
const PATIENCE: Duration = Duration::from_secs(60);
/// No space left on a device, and within a quota.
const FULL: [i32; 2] = [28, 122];
/// No permission.
const DENIED: i32 = 13;

/// What is refused, and how.
#[derive(Clone, Copy, Debug)]
enum Refused {
    /// A new file of this name where there is a manifest, or whether or not there is one.
    Create { name: &'static str, beside_manifest: bool },
    /// The removal of a part of a checkpoint.
    Remove,
}

/// The disk of the system; clones share what is refused.
#[derive(Clone)]
struct Refusing {
    disk: Arc<dyn Disk>,
    refused: Arc<Mutex<Option<(Refused, i32)>>>,
}

impl Refusing {
    fn within(config: &mut Config) -> Refusing {
        let refusing = Refusing { disk: config.environment.disk.clone(), refused: Arc::default() };
        config.environment.disk = Arc::new(refusing.clone());
        refusing
    }

    /// Refuses this from now on, or nothing.
    fn refuse(&self, refused: Option<(Refused, i32)>) {
        *self.refused.lock().expect("what is refused") = refused;
    }

    fn ask(&self, is_refused: impl FnOnce(Refused) -> bool) -> io::Result<()> {
        match *self.refused.lock().expect("what is refused") {
            Some((refused, code)) if is_refused(refused) => Err(io::Error::from_raw_os_error(code)),
            _ => Ok(()),
        }
    }

    fn ask_to_remove(&self, path: &Path) -> io::Result<()> {
        let is_part = path.extension().is_some_and(|extension| extension == "ckpt");
        self.ask(|refused| is_part && matches!(refused, Refused::Remove))
    }
}

impl Disk for Refusing {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir_all(dir)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.disk.list(dir)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }
    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        self.disk.status(path)
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let has_manifest = path.with_file_name("MANIFEST").exists();
        self.ask(|refused| {
            matches!(refused, Refused::Create { name, beside_manifest }
                if path.ends_with(name) && mode.is_new() && (has_manifest || !beside_manifest))
        })?;
        self.disk.open(path, mode)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.ask_to_remove(path)?;
        self.disk.remove(path)
    }
    fn remove_piece(&self, path: &Path, bytes: u64) -> io::Result<bool> {
        self.ask_to_remove(path)?;
        self.disk.remove_piece(path, bytes)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        self.disk.lock(path)
    }
}

/// Inserts a row, into a table that is created where it is missing.
fn insert(db: &Database, id: i64) {
    let schema = Schema::builder("t").column("id", Type::Int64).primary_key(["id"]).build().expect("a schema");
    let table = db.table("t").or_else(|_| db.create_table(schema)).expect("a table");
    db.run(|tx| tx.insert(&table, &[Value::Int(id)])).expect("an insert").1.wait().expect("durable");
}

fn has(db: &Database, id: i64) -> bool {
    let found = db.run(|tx| -> Result<bool, Error> { Ok(tx.get(&tx.table("t")?, &[Value::Int(id)])?.is_some()) });
    found.expect("a read").0
}

fn parts(home: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<_> = fs::read_dir(home.join("checkpoints"))
        .expect("a listing")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    parts.sort();
    parts
}

fn wait_until_gone(home: &Path, superseded: &[PathBuf]) {
    let begun = Instant::now();
    while superseded.iter().any(|part| parts(home).contains(part)) {
        assert!(begun.elapsed() < PATIENCE, "superseded parts are forgotten: {:?}", parts(home));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_checkpoint_whose_manifest_is_refused_leaves_no_files() {
    for protocol in [Protocol::Poplar, Protocol::None] {
        let home = support::directory("refused", &format!("manifest-{protocol:?}"));
        let mut config = support::config(&home, protocol, 1);
        let refusing = Refusing::within(&mut config);
        let db = Database::open(config.clone()).expect("opened");
        insert(&db, 0);
        db.checkpoint().expect("a checkpoint");
        let before = parts(&home);
        for code in FULL.into_iter().chain([DENIED]) {
            refusing.refuse(Some((Refused::Create { name: "MANIFEST.tmp", beside_manifest: true }, code)));
            db.checkpoint().expect_err("the manifest is refused");
            assert_eq!(parts(&home), before, "{protocol:?}: the parts of a checkpoint that failed are left behind");
        }
        refusing.refuse(None);
        insert(&db, 1);
        db.checkpoint().expect("a checkpoint");
        db.close().expect("closed");
        assert!(has(&Database::open(config).expect("opened again"), 1));
    }
}

/// What a checkpoint of a full device that copies on write leaves behind goes when there is room again.
#[test]
fn files_whose_removal_is_refused_are_removed_later() {
    for code in FULL {
        let home = support::directory("refused", &format!("removal-{code}"));
        let mut config = support::config(&home, Protocol::Poplar, 1);
        let refusing = Refusing::within(&mut config);
        let db = Database::open(config).expect("opened");
        insert(&db, 0);
        db.checkpoint().expect("a checkpoint");
        let mut superseded = parts(&home);
        refusing.refuse(Some((Refused::Remove, code)));
        for id in 1..3 {
            insert(&db, id);
            db.checkpoint().expect("a checkpoint");
            // Some pieces are tried, and the next checkpoint tries all.
            thread::sleep(Duration::from_millis(100));
        }
        let (newest, all) = (db.metrics().checkpoints.last.expect("a checkpoint").number, parts(&home));
        assert!(superseded.iter().all(|part| all.contains(part)), "a removal was not refused");
        let is_newest = |part: &PathBuf| part.to_string_lossy().contains(&format!("{newest:08}-"));
        superseded = all.into_iter().filter(|part| !is_newest(part)).collect();
        refusing.refuse(None);
        wait_until_gone(&home, &superseded);
        assert!(db.failure().is_none());
        db.close().expect("closed");
    }
}

/// Of a database without a log, which creates its directories; the last identity comes after the manifest.
#[test]
fn a_first_checkpoint_goes_on_where_the_one_before_stopped() {
    for (name, beside_manifest) in [("IDENTITY.tmp", false), ("MANIFEST.tmp", false), ("IDENTITY.tmp", true)] {
        let home = support::directory("refused", &format!("first-{name}-{beside_manifest}"));
        let mut config = support::config(&home, Protocol::None, 1);
        let second = home.with_extension("second");
        let _ = fs::remove_dir_all(&second);
        config.dirs.push(second);
        config.checkpoint_at_close = true;
        let refusing = Refusing::within(&mut config);
        let db = Database::open(config.clone()).expect("opened");
        insert(&db, 0);
        refusing.refuse(Some((Refused::Create { name, beside_manifest }, FULL[0])));
        for _ in 0..2 {
            let error = db.checkpoint().expect_err("a file is refused").to_string();
            assert!(error.contains("No space left"), "{name}: {error}");
        }
        refusing.refuse(None);
        db.checkpoint().unwrap_or_else(|error| panic!("{name}: there is room again: {error}"));
        insert(&db, 1);
        db.close().expect("closed");
        assert!(has(&Database::open(config).expect("opened again"), 1), "{name}");
    }
}

/// What was begun is begun again.
#[test]
fn a_first_checkpoint_that_failed_may_be_removed() {
    let home = support::directory("refused", "removed");
    let mut config = support::config(&home, Protocol::None, 1);
    let refusing = Refusing::within(&mut config);
    let db = Database::open(config.clone()).expect("opened");
    insert(&db, 0);
    refusing.refuse(Some((Refused::Create { name: "IDENTITY.tmp", beside_manifest: true }, FULL[0])));
    db.checkpoint().expect_err("a file is refused");
    refusing.refuse(None);
    fs::remove_dir_all(&home).expect("removed");
    db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    assert!(has(&Database::open(config).expect("opened again"), 0));
}
