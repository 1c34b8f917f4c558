//! Backups taken while transactions go on, continued, restored to points in time, interrupted and damaged.

mod support;
#[path = "support/writers.rs"]
mod writers;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use osier::config::CheckpointKind;
use osier::io::{Disk, Environment, File, FileStatus, Lock, OpenMode, OsDisk};
use osier::{BackupError, Config, Database, DirectoryError, Error, Protocol, Table, backup_closed, restore};
use support::config;
use writers::{WRITERS, counts, insert, insert_rows, open};

fn directory(name: &str) -> PathBuf {
    support::directory("backup", name)
}

fn restored(backup: &Path, name: &str, until: Option<u64>) -> Result<Vec<i64>, Error> {
    writers::restored(backup, &directory(name), until)
}

/// Runs `body` beside the writers; `body` is told what is acknowledged.
fn under_load<T>(db: &Database, table: &Table, body: impl FnOnce(&dyn Fn() -> Vec<i64>) -> T) -> T {
    let (stop, durable) = (AtomicBool::new(false), [const { AtomicI64::new(0) }; WRITERS]);
    std::thread::scope(|scope| {
        for (writer, durable) in durable.iter().enumerate() {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let inserted = insert(db, table, writer as i64) + 1;
                    durable.store(inserted, Ordering::SeqCst);
                    if inserted % 32 == 0 {
                        // Without a log nothing else holds it up, and a slow machine would run out of memory.
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            });
        }
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _stop = Stop(&stop);
        std::thread::sleep(Duration::from_millis(50));
        body(&|| durable.iter().map(|count| count.load(Ordering::SeqCst)).collect())
    })
}

fn at_least(found: &[i64], acknowledged: &[i64]) {
    assert!(found.iter().zip(acknowledged).all(|(found, durable)| found >= durable), "{found:?} {acknowledged:?}");
}

#[test]
fn a_backup_under_load_holds_what_was_acknowledged_and_is_continued() {
    let kinds = [
        (Protocol::Poplar, 3, CheckpointKind::Epoch),
        (Protocol::Poplar, 2, CheckpointKind::Fuzzy),
        (Protocol::Serial, 1, CheckpointKind::Epoch),
        (Protocol::Gsn, 3, CheckpointKind::Epoch),
        (Protocol::Taurus, 3, CheckpointKind::Epoch),
        (Protocol::Silo, 2, CheckpointKind::Fuzzy),
        (Protocol::Plover, 3, CheckpointKind::Epoch),
        (Protocol::None, 1, CheckpointKind::Epoch),
    ];
    for (protocol, streams, kind) in kinds {
        let name = format!("load-{protocol}-{streams}-{kind:?}");
        let (home, target) = (directory(&name), directory(&format!("{name}-target")));
        let mut config = config(&home, protocol, streams);
        config.checkpoint_kind = kind;
        let (db, table) = open(config.clone());
        under_load(&db, &table, |acknowledged| {
            for round in 0..4 {
                let before = acknowledged();
                // The third one has to begin anew or continues over a checkpoint, as the segments allow.
                if round == 2 {
                    db.checkpoint().expect("a checkpoint");
                }
                let report = db.backup(&target, round == 3).expect("a backup");
                let continues = round == 1 && protocol != Protocol::None;
                assert!(report.continues == continues || round == 2, "round {round}: {report}");
                assert!(report.copied_bytes <= report.bytes * 2 && report.checkpoint.is_some(), "{report}");
                at_least(&restored(&target, &format!("{name}-{round}"), None).expect("restored"), &before);
            }
        });
        assert!(db.status().map_or(true, |status| status.live.expect("open").backups.is_empty()));
        db.close().expect("closed");
        if protocol != Protocol::None {
            let report = backup_closed(&config, &target).expect("a backup of a closed database");
            assert!(report.continues, "{report}");
            let (db, _) = open(config.clone());
            assert_eq!(restored(&target, &format!("{name}-closed"), None).expect("restored"), counts(&db));
        }
    }
}

#[test]
fn a_backup_is_restored_to_points_in_time() {
    let (home, target) = (directory("time"), directory("time-target"));
    let (db, table) = open(config(&home, Protocol::Poplar, 2));
    let live = |db: &Database| db.status().expect("a status").live.expect("open");
    let mut points = Vec::new();
    let mut step = |db: &Database, table: &Table, count: i64| {
        insert(db, table, 0);
        let epoch = live(db).epoch;
        while live(db).ended_epoch <= epoch {
            std::thread::sleep(Duration::from_millis(1));
        }
        points.push((epoch, count));
    };
    (1..4).for_each(|count| step(&db, &table, count));
    let first = db.backup(&target, true).expect("a backup");
    assert_eq!(first.first_epoch.map(|epoch| epoch >= 1), Some(true));
    (4..8).for_each(|count| step(&db, &table, count));
    let report = db.backup(&target, false).expect("a backup");
    assert!(report.continues, "{report}");
    db.close().expect("closed");
    let begin = report.first_epoch.expect("it has a checkpoint");
    let last = points.pop().expect("a point").0;
    for (epoch, count) in points {
        match restored(&target, &format!("time-{epoch}"), Some(epoch)) {
            Ok(found) => assert_eq!((found[0], epoch >= begin), (count, true), "epoch {epoch}"),
            Err(error) => {
                assert!(epoch < begin && error.to_string().contains("restore a backup from before"), "{error}")
            }
        }
    }
    for (epoch, says) in [(last + 100_000, "it ends with epoch"), (begin - 1, "restore a backup from before")] {
        let error = restored(&target, "time-end", Some(epoch)).expect_err("it is not in the backup");
        assert!(error.to_string().contains(says), "{error}");
    }
    let early = config(&directory("time-end"), Protocol::Poplar, 1).until("@1".parse().expect("a time"));
    let error = restore(early, &target).expect_err("there was no computer");
    assert!(error.to_string().contains("may hold what came later"), "{error}");
    assert!(!directory("unrelated").with_file_name("time-end").exists(), "nothing is created for what is refused");
}

/// What survives of a database whose checkpoints are lost continues its backup.
#[test]
fn surviving_segments_continue_a_backup() {
    let (home, target) = (directory("lost"), directory("lost-target"));
    let config = config(&home, Protocol::Poplar, 2);
    let (db, table) = open(config.clone());
    insert_rows(&db, &table, 0, 20);
    db.backup(&target, false).expect("a backup");
    insert_rows(&db, &table, 1, 500);
    db.close().expect("closed");
    fs::remove_dir_all(home.join("checkpoints")).expect("removed");
    assert!(Database::open(config.clone()).is_err(), "its checkpoint is gone");
    let report = backup_closed(&config, &target).expect("the log is there");
    assert!(report.continues, "{report}");
    assert_eq!(restored(&target, "lost-restored", None).expect("restored"), [20, 500]);
    let fresh = directory("lost-fresh");
    let error = backup_closed(&config, &fresh).expect_err("there is nothing to begin with");
    assert!(error.to_string().contains("checkpoints"), "{error}");
    assert!(matches!(restored(&fresh, "lost-none", None), Err(Error::Backup(BackupError::NotWhole { .. }))));
}

#[test]
fn whatever_is_damaged_in_a_backup_is_named_and_nothing_opens() {
    let (home, target) = (directory("damage"), directory("damage-target"));
    let (db, table) = open(config(&home, Protocol::Poplar, 2));
    insert_rows(&db, &table, 0, 25);
    insert_rows(&db, &table, 1, 25);
    db.backup(&target, false).expect("a backup");
    let mut files: Vec<PathBuf> = ["", "checkpoints", "stream-0", "stream-1"]
        .iter()
        .flat_map(|dir| fs::read_dir(target.join(dir)).expect("a listing"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file() && !path.ends_with("LOCK"))
        .collect();
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    for path in files {
        let sound = fs::read(&path).expect("read");
        let mut flipped = sound.clone();
        flipped[4097.min(sound.len() / 2)] ^= 1;
        for bytes in [Some(flipped), Some(sound[..sound.len().min(5000) / 2].to_vec()), None] {
            match &bytes {
                Some(bytes) => fs::write(&path, bytes).expect("written"),
                None => fs::remove_file(&path).expect("removed"),
            }
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let error = restored(&target, "damage-restored", None).expect_err(&name).to_string();
            assert!(error.contains(&name), "{name}: {error}");
            let left = config(&directory("x").with_file_name("damage-restored"), Protocol::Poplar, 1);
            if left.dirs[0].exists() && fs::read_dir(&left.dirs[0]).expect("a listing").count() > 0 {
                assert!(matches!(Database::open(left), Err(Error::Directory(DirectoryError::Unfinished { .. }))));
            }
        }
        fs::write(&path, &sound).expect("written");
    }
    assert_eq!(restored(&target, "damage-sound", None).expect("restored"), [25, 25]);
    // Wrong places are named, too.
    let error = restore(config(&home, Protocol::Poplar, 1), &target).expect_err("it holds a database");
    assert!(matches!(error, Error::Backup(BackupError::NotEmpty { .. })), "{error}");
    let error = db.backup(&home, false).expect_err("it is the database");
    assert!(matches!(error, Error::Directory(DirectoryError::SameDirectory { .. })), "{error}");
    let held = fs::read_dir(&home).expect("a directory").count();
    for inner in ["checkpoints", "checkpoints/copy", "stream-0/copy", "copy"] {
        let error = db.backup(&home.join(inner), false).expect_err("it lies in the database");
        assert!(matches!(error, Error::Directory(DirectoryError::Within { .. })), "{inner}: {error}");
    }
    let error = db.backup(home.parent().expect("a parent"), false).expect_err("the database lies in it");
    assert!(matches!(error, Error::Directory(DirectoryError::Within { .. })), "{error}");
    let error = restore(config(&target.join("new"), Protocol::Poplar, 1), &target).expect_err("it lies in the backup");
    assert!(matches!(error, Error::Directory(DirectoryError::Within { .. })), "{error}");
    assert!(!home.join("stream-0/copy").exists() && !target.join("new").exists());
    assert_eq!(fs::read_dir(&home).expect("a directory").count(), held, "nothing was written");
    // What is somebody else's keeps its directory as it is, too.
    let foreign = directory("damage-foreign");
    fs::create_dir_all(&foreign).expect("a directory");
    fs::write(foreign.join("letter"), "dear").expect("written");
    let error = db.backup(&foreign, false).expect_err("it holds something else");
    assert!(matches!(error, Error::Backup(BackupError::Foreign { .. })), "{error}");
    assert_eq!(fs::read_dir(&foreign).expect("a directory").count(), 1, "nothing was written");
    let (other, _) = open(config(&directory("damage-other"), Protocol::Poplar, 1));
    let error = other.backup(&target, false).expect_err("it holds another backup");
    assert!(matches!(error, Error::Backup(BackupError::OtherDatabase { .. })), "{error}");
}

/// An index whose checksum is right is not believed in everything.
#[test]
fn an_index_that_cannot_be_is_refused() {
    let (home, target) = (directory("index"), directory("index-target"));
    let (db, table) = open(config(&home, Protocol::Poplar, 1));
    insert_rows(&db, &table, 0, 25);
    db.backup(&target, false).expect("a backup");
    let path = target.join("BACKUP");
    let sound = fs::read_to_string(&path).expect("read");
    let index: serde_json::Value = serde_json::from_str(sound.lines().next().expect("a line")).expect("JSON");
    let write = |index: &serde_json::Value| {
        let json = index.to_string();
        let text = format!("{json}\ncrc32c {:08x}\n", crc_fast::crc32_iscsi(json.as_bytes()));
        fs::write(&path, text).expect("written");
    };
    let (mut longer, mut twice) = (index.clone(), index.clone());
    longer["files"][0]["length"] = 1.into();
    let first = twice["files"][0].clone();
    twice["files"].as_array_mut().expect("a list").push(first);
    for wrong in [longer, twice] {
        write(&wrong);
        let error = restored(&target, "index-restored", None).expect_err("it cannot be").to_string();
        assert!(error.contains("BACKUP") && error.contains("is in it twice, or counts further"), "{error}");
    }
    write(&index);
    assert_eq!(restored(&target, "index-sound", None).expect("restored"), [25, 0]);
}

/// The file system, where writes below `prefix` wait for the gate, and changes there fail when they are used up.
#[derive(Clone)]
struct Gated {
    prefix: PathBuf,
    gate: Arc<Mutex<()>>,
    left: Arc<AtomicUsize>,
}

struct GatedFile(Arc<dyn File>, Gated);

impl Gated {
    fn pass(&self, path: &Path) -> io::Result<()> {
        if !path.starts_with(&self.prefix) {
            return Ok(());
        }
        drop(self.gate.lock());
        let take = |left: usize| left.checked_sub(1);
        let taken = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        taken.map(drop).map_err(|_| io::Error::other("the device is gone"))
    }
}

impl Disk for Gated {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.pass(dir).and_then(|()| OsDisk.create_dir_all(dir))
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        OsDisk.list(dir)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        OsDisk.exists(path)
    }
    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        OsDisk.status(path)
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if mode == OpenMode::Read || !path.starts_with(&self.prefix) {
            return OsDisk.open(path, mode);
        }
        self.pass(path)?;
        let mut gated = self.clone();
        gated.prefix = path.to_owned();
        Ok(Arc::new(GatedFile(OsDisk.open(path, mode)?, gated)))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pass(from).and_then(|()| OsDisk.rename(from, to))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.pass(path).and_then(|()| OsDisk.remove(path))
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.pass(dir).and_then(|()| OsDisk.sync_dir(dir))
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        OsDisk.lock(path)
    }
}

impl File for GatedFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.1.pass(&self.1.prefix).and_then(|()| self.0.write_at(bytes, offset))
    }
    fn allocate(&self, length: u64) -> io::Result<()> {
        self.1.pass(&self.1.prefix).and_then(|()| self.0.allocate(length))
    }
    fn sync(&self) -> io::Result<()> {
        self.1.pass(&self.1.prefix).and_then(|()| self.0.sync())
    }
}

fn gated(config: &mut Config, prefix: &Path) -> Gated {
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let gated = Gated { prefix: prefix.to_owned(), gate: Arc::default(), left };
    config.environment = Environment { disk: Arc::new(gated.clone()), ..Environment::os() };
    gated
}

#[test]
fn nothing_is_removed_while_a_backup_is_written() {
    let (home, target) = (directory("hold"), directory("hold-target"));
    let mut config = config(&home, Protocol::Poplar, 1);
    let gate = gated(&mut config, &target);
    let (db, table) = open(config);
    insert_rows(&db, &table, 0, 100);
    let old = db.checkpoint().expect("a checkpoint").number;
    let part = |number: u64| home.join(format!("checkpoints/{number:08}-0000.ckpt"));
    std::thread::scope(|scope| {
        let held = gate.gate.lock().expect("the gate");
        fs::create_dir_all(&target).expect("created");
        let backup = scope.spawn(|| db.backup(&target, false));
        std::thread::sleep(Duration::from_millis(50));
        drop(held);
        let status = loop {
            let status = db.status().expect("a status");
            if !status.live.as_ref().expect("open").backups.is_empty() || backup.is_finished() {
                break status;
            }
        };
        let held = gate.gate.lock().expect("the gate");
        if !backup.is_finished() {
            assert!(status.to_string().contains("nothing is removed until it ends"), "{status}");
            insert_rows(&db, &table, 0, 400);
            let new = db.checkpoint().expect("a checkpoint").number;
            assert!(part(old).exists() && part(new).exists(), "the backup still reads the old one");
            drop(held);
        }
        backup.join().expect("no panic").expect("a backup");
    });
    at_least(&restored(&target, "hold-restored", None).expect("restored"), &[100]);
    let number = db.checkpoint().expect("a checkpoint").number;
    db.close().expect("closed");
    let files = fs::read_dir(home.join("checkpoints")).expect("a listing").map(|entry| entry.expect("an entry"));
    let names: Vec<_> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().all(|name| name.starts_with(&format!("{number:08}-"))), "{names:?}");
}

#[test]
fn a_backup_that_fails_leaves_the_one_before_and_a_restore_that_fails_opens_never() {
    let (home, target) = (directory("fail"), directory("fail-target"));
    let mut of_db = config(&home, Protocol::Poplar, 2);
    let gate = gated(&mut of_db, &target);
    let (db, table) = open(of_db);
    insert_rows(&db, &table, 0, 20);
    db.backup(&target, false).expect("a backup");
    let mut steps = 0;
    for checkpoint in [false, true] {
        for left in (0..).step_by(4) {
            insert_rows(&db, &table, 0, 5);
            gate.left.store(left, Ordering::SeqCst);
            let result = db.backup(&target, checkpoint);
            gate.left.store(usize::MAX, Ordering::SeqCst);
            at_least(&restored(&target, "fail-restored", None).expect("the last whole one"), &[20]);
            steps += 1;
            if result.is_ok() {
                break;
            }
        }
    }
    assert!(steps > 10, "{steps}");
    let whole = restored(&target, "fail-whole", None).expect("restored");
    for left in 0.. {
        let home = directory("fail-half");
        let mut config = config(&home, Protocol::Poplar, 2);
        gated(&mut config, &home).left.store(left, Ordering::SeqCst);
        let result = restore(config, &target);
        let again = self::config(&home, Protocol::Poplar, 2);
        if result.is_ok() {
            assert!(left > 20, "{left}");
            assert_eq!(counts(&open(again).0), whole);
            break;
        }
        // A lock is taken before anything else, and is nothing of a database.
        let is_lock = |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == "LOCK");
        let is_bare = !home.exists() || fs::read_dir(&home).expect("a listing").all(is_lock);
        if !is_bare {
            match Database::open(again) {
                Ok(db) => assert_eq!(counts(&db), whole, "only the mark's removal was not made durable"),
                Err(error) => assert!(matches!(error, Error::Directory(DirectoryError::Unfinished { .. })), "{error}"),
            }
        }
    }
}

/// What is damaged in the database is found in its copy; the error leads to the database.
#[test]
fn a_backup_of_a_damaged_database_names_the_database() {
    let (home, target) = (directory("source"), directory("source-target"));
    let (db, table) = open(config(&home, Protocol::Poplar, 2));
    insert_rows(&db, &table, 0, 25);
    db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    let part = home.join("checkpoints/00000001-0000.ckpt");
    let mut bytes = fs::read(&part).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&part, bytes).expect("written");
    let error = backup_closed(&config(&home, Protocol::Poplar, 2), &target).expect_err("it is damaged");
    let start = format!("the database in {} is damaged, or its copy in {}: ", home.display(), target.display());
    let text = error.to_string();
    assert!(text.starts_with(&start) && text.contains(&format!("osier log verify {} tells", home.display())), "{text}");
    assert!(text.contains("00000001-0000.ckpt is damaged at byte"), "{text}");
    assert_eq!(error.sqlstate(), "XX001");
}

/// Nothing is created where one of the directories does not fit, and what does not fit is said, with what to do.
#[test]
fn a_restore_says_what_is_in_its_way() {
    let (home, backup, root) = (directory("way-db"), directory("way-backup"), directory("way"));
    let (db, table) = open(config(&home, Protocol::Poplar, 2));
    insert_rows(&db, &table, 0, 3);
    db.backup(&backup, false).expect("a backup");
    db.close().expect("closed");
    fs::create_dir_all(root.join("other")).expect("a directory");
    let restore_to = |names: &[&str]| {
        let dirs: Vec<PathBuf> = names.iter().map(|name| root.join(name)).collect();
        let mut config = config(&dirs[0], Protocol::Poplar, 2);
        config.dirs = dirs;
        restore(config, &backup).map(drop)
    };
    for spelled in ["twice", "./twice", "other/../twice", "twice/"] {
        let error = restore_to(&["twice", spelled]).expect_err("one directory twice").to_string();
        assert!(error.contains("are the same directory; name each directory once"), "{error}");
        assert!(spelled.contains("..") || !root.join("twice").exists(), "{spelled}: it was created");
        let _ = fs::remove_dir_all(root.join("twice"));
    }
    fs::write(root.join("other/notes"), "mine").expect("a file");
    let error = restore_to(&["first", "other"]).expect_err("it is not empty").to_string();
    assert!(error.contains("other is not empty; restore to a new directory"), "{error}");
    assert!(!root.join("first").exists(), "it was created");

    let half = root.join("half");
    let mut broken = config(&half, Protocol::Poplar, 2);
    gated(&mut broken, &half).left.store(12, Ordering::SeqCst);
    let error = restore(broken, &backup).map(drop).expect_err("a device that fails").to_string();
    let cure = format!("; the restore did not end: remove {}, and restore again", half.display());
    assert!(half.join("UNFINISHED").exists() && error.ends_with(&cure), "{error}");
    let error = restore_to(&["half"]).expect_err("it is there").to_string();
    assert!(error.contains("which was not finished") && error.contains("remove the directory"), "{error}");
    fs::remove_dir_all(&half).expect("removed");
    restore_to(&["half"]).expect("restored");
}

/// Nobody reads the padding of a batch but a restore, which compares checksums.
#[test]
fn a_backup_does_not_continue_one_that_is_damaged() {
    let (home, target) = (directory("padding-db"), directory("padding-target"));
    let (db, table) = open(config(&home, Protocol::Poplar, 1));
    db.checkpoint().expect("a checkpoint");
    insert_rows(&db, &table, 0, 5);
    db.close().expect("closed");
    backup_closed(&config(&home, Protocol::Poplar, 1), &target).expect("a backup");
    let file = target.join("stream-0/00000001-00000001.log");
    let sound = fs::read(&file).expect("read");
    let mut bytes = sound.clone();
    bytes[8191] ^= 0x55;
    fs::write(&file, bytes).expect("written");
    let (db, table) = open(config(&home, Protocol::Poplar, 1));
    insert_rows(&db, &table, 0, 5);
    let error = db.backup(&target, false).expect_err("it cannot be restored").to_string();
    assert!(error.contains("00000001-00000001.log is damaged: its checksum is not the one in the index"), "{error}");
    // A new one takes nothing from it, and puts right what both have.
    fs::write(&file, &sound[..4000]).expect("written");
    assert!(!db.backup(&target, true).expect("a backup").continues);
    assert_eq!(restored(&target, "padding-restored", None).expect("restored"), [10, 0]);
}

/// Files that a backup left behind which did not end are nothing of the next one.
#[test]
fn what_no_index_lists_is_not_judged() {
    let (home, target) = (directory("stray-db"), directory("stray-target"));
    let (db, table) = open(config(&home, Protocol::Poplar, 1));
    insert_rows(&db, &table, 0, 5);
    db.backup(&target, false).expect("a backup");
    for stray in ["00000009-00000001.log", "00000001-00000002.log"] {
        fs::copy(target.join("stream-0/00000001-00000001.log"), target.join("stream-0").join(stray)).expect("copied");
    }
    let error = restored(&target, "stray-until", Some(1_000_000)).expect_err("it is not in the backup").to_string();
    let none = directory("unrelated").with_file_name("stray-until");
    assert!(error.contains("it ends with epoch") && !none.exists(), "{error}");
    insert_rows(&db, &table, 0, 5);
    assert!(db.backup(&target, false).expect("a backup").continues);
    assert_eq!(restored(&target, "stray-restored", None).expect("restored"), [10, 0]);
}

/// A restore that was killed just before it was done left all files, and a mark.
#[test]
fn what_is_not_finished_is_not_backed_up_or_called_sound() {
    let (home, backup) = (directory("unfinished-db"), directory("unfinished-backup"));
    let (db, table) = open(config(&home, Protocol::Poplar, 2));
    insert_rows(&db, &table, 0, 3);
    db.close().expect("closed");
    fs::write(home.join("UNFINISHED"), "").expect("a mark");
    let refused = [
        backup_closed(&config(&home, Protocol::Poplar, 2), &backup).map(drop).expect_err("backed up").to_string(),
        osier::inspect::verify(&config(&home, Protocol::Poplar, 2)).map(drop).expect_err("sound").to_string(),
        osier::explain(&config(&home, Protocol::Poplar, 2)).map(drop).expect_err("explained").to_string(),
    ];
    for error in refused {
        assert!(error.contains("which was not finished"), "{error}");
    }
    let saved = |rows: bool| {
        let target = directory(if rows { "unfinished-rows" } else { "unfinished-saved" });
        osier::salvage(&config(&home, Protocol::Poplar, 2), config(&target, Protocol::Poplar, 2), rows)
    };
    assert!(saved(false).expect_err("proven").to_string().contains("which was not finished"));
    let report = saved(true).expect("what there is");
    assert!(report.damages.iter().any(|damage| damage.what.contains("which was not finished")), "{report}");
    fs::remove_file(home.join("UNFINISHED")).expect("the mark goes");
    backup_closed(&config(&home, Protocol::Poplar, 2), &backup).expect("a backup");
    // Whoever came too late for one of the directories left locks in the others.
    let target = directory("unfinished-target");
    fs::create_dir_all(&target).expect("a directory");
    fs::write(target.join("LOCK"), "").expect("a lock");
    restore(config(&target, Protocol::Poplar, 2), &backup).expect("restored to a directory with nothing but a lock");
}

/// A link in the target leads to what is not the backup's.
#[test]
fn a_backup_follows_no_link() {
    let (home, backup, elsewhere) = (directory("link-db"), directory("link-backup"), directory("link-elsewhere"));
    let (db, table) = open(config(&home, Protocol::Poplar, 2));
    insert_rows(&db, &table, 0, 3);
    db.backup(&backup, false).expect("a backup");
    insert_rows(&db, &table, 0, 3);
    for name in ["stream-0", "checkpoints"] {
        let (inside, outside) = (backup.join(name), elsewhere.join(name));
        fs::create_dir_all(&elsewhere).expect("a directory");
        fs::rename(&inside, &outside).expect("moved");
        std::os::unix::fs::symlink(&outside, &inside).expect("a link");
        let error = db.backup(&backup, false).expect_err("a link is followed").to_string();
        assert!(error.contains(&format!("{} is a symbolic link", inside.display())), "{error}");
        fs::remove_file(&inside).expect("the link goes");
        fs::rename(&outside, &inside).expect("moved back");
    }
    let file = fs::read_dir(backup.join("stream-0")).expect("files").next().expect("a file").expect("a file").path();
    let outside = elsewhere.join("file");
    fs::rename(&file, &outside).expect("moved");
    std::os::unix::fs::symlink(&outside, &file).expect("a link");
    let error = db.backup(&backup, false).expect_err("a link is followed").to_string();
    assert!(error.contains("is a symbolic link"), "{error}");
    fs::remove_file(&file).expect("the link goes");
    fs::rename(&outside, &file).expect("moved back");
    assert!(db.backup(&backup, false).expect("a backup").continues);
}

/// What is in the way, or at work, is told before anything is copied.
#[test]
fn a_target_that_is_not_free_is_refused_at_once() {
    let (home, backup) = (directory("free-db"), directory("free-backup"));
    let (db, table) = open(config(&home, Protocol::Poplar, 1));
    insert_rows(&db, &table, 0, 3);
    let first = db.backup(&backup, false).expect("a backup");
    insert_rows(&db, &table, 0, 3);
    let index = || fs::read(backup.join("BACKUP")).expect("an index");
    let before = index();
    let stray = backup.join("checkpoints/notes");
    fs::create_dir(&stray).expect("a directory");
    let error = db.backup(&backup, false).expect_err("it cannot be removed").to_string();
    assert!(error.contains(&format!("{} is in the way", stray.display())), "{error}");
    fs::remove_dir(&stray).expect("it goes");
    let lock = Environment::os().disk.lock(&backup.join("LOCK")).expect("a lock");
    let error = db.backup(&backup, false).expect_err("another one is written");
    assert!(error.to_string().contains("another backup is being written to"), "{error}");
    assert_eq!(error.sqlstate(), "55006");
    assert_eq!(index(), before, "nothing has changed");
    drop(lock);
    let second = db.backup(&backup, false).expect("a backup");
    assert!(second.continues && second.epoch > first.epoch, "{second}");
}

/// Everything of the epochs before the open has ended.
#[test]
fn a_backup_right_after_an_open_reaches_what_was_there() {
    let (home, target) = (directory("early"), directory("early-target"));
    let mut slow = config(&home, Protocol::Poplar, 1);
    slow.epoch_interval = Duration::from_secs(1);
    let (db, table) = open(config(&home, Protocol::Poplar, 1));
    insert_rows(&db, &table, 0, 5);
    std::thread::sleep(Duration::from_millis(20));
    insert_rows(&db, &table, 0, 5);
    let epoch = db.run(|_| Ok::<_, Error>(())).expect("nothing").1.epoch().0;
    db.close().expect("closed");
    let (db, _) = open(slow);
    let report = db.backup(&target, false).expect("a backup");
    assert!(report.epoch + 1 >= epoch && epoch > 2, "{report} of {epoch}");
    db.close().expect("closed");
}
