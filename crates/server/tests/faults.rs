//! Faults on the real binary: files that are damaged, swapped or gone, a device that is full or closed to writing, a process
//! that stands still. Each is an error that names the object, with its exit status, or nothing is lost; a database is never
//! taken for an empty one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use osier::table::KeyRange;
use osier::{Config, Create, Database, Error};
use support::{Directory, Running, fails, osier, succeeds};

const DAMAGED: i32 = 10;
const IN_USE: i32 = 11;
const FULL: i32 = 12;
const DEVICE: i32 = 13;
const NO_DATABASE: i32 = 14;

/// Files so small that there are many.
const TINY_FILES: &str = "--set ring_bytes=65536 --set segment_bytes=131072 --set transaction_log_bytes_max=16384";
const YCSB: &str = "ycsb --records 200 --streams 2 --variant two-access --fields 2 --field-bytes 16";

/// A closed database in `db`: a checkpoint, and log that it does not cover, in several segments.
fn database(directory: &Directory, dir: &str) {
    let line = format!("bench {YCSB} --dir {dir} {TINY_FILES}");
    succeeds(directory, &format!("{line} --transactions 2000 --set checkpoint_at_close=yes"));
    succeeds(directory, &format!("{line} --transactions 4000"));
}

/// The files below a directory, in order.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap().map(|entry| entry.unwrap()) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files(&entry.path())),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => copy(&entry.path(), &target),
            kind if kind.is_file() => put(&entry.path(), &target),
            _ => {}
        }
    }
}

type Rows = BTreeMap<Vec<String>, Vec<String>>;

/// All rows of all tables that a run of YCSB makes.
fn content(home: &Path) -> Result<Vec<Rows>, Error> {
    let config = Config::new(home).create(Create::Never).set("recovery_threads", "2").unwrap();
    let config =
        TINY_FILES.split(" --set ").map(|part| part.trim_start_matches("--set ")).fold(config, |config, part| {
            let (name, value) = part.split_once('=').unwrap();
            config.set(name, value).unwrap()
        });
    let db = Database::open(config.streams(2))?;
    let mut session = db.session()?;
    let mut tables = Vec::new();
    for name in ["usertable", "bench_notes"] {
        let table = db.table(name)?;
        let rows = session.run(|tx| {
            let rows = tx.scan(&table, KeyRange::all())?.map(|row| {
                row.map(|row| {
                    let values: Vec<_> = row.values().map(|value| format!("{value:?}")).collect();
                    (values[..1].to_vec(), values)
                })
            });
            rows.collect::<Result<Rows, Error>>()
        });
        tables.push(rows?.0);
    }
    db.close()?;
    Ok(tables)
}

/// Damages a file; the others are one of the same kind (itself, where there is none), and that of another database.
type Damage = fn(&Path, &Path, &Path);

fn flip(path: &Path, at: impl FnOnce(usize) -> usize) {
    let mut bytes = fs::read(path).unwrap();
    let at = at(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 0x10;
    }
    fs::write(path, bytes).unwrap();
}

fn cut(path: &Path, length: impl FnOnce(u64) -> u64) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    let before = file.metadata().unwrap().len();
    file.set_len(length(before)).unwrap();
}

const DAMAGES: &[(&str, Damage)] = &[
    ("missing", |path, _, _| fs::remove_file(path).unwrap()),
    ("empty", |path, _, _| cut(path, |_| 0)),
    ("half of it", |path, _, _| cut(path, |length| length / 2)),
    ("a byte short", |path, _, _| cut(path, |length| length.saturating_sub(1))),
    ("too long", |path, _, _| cut(path, |length| length + 4096)),
    ("zeros", |path, _, _| fs::write(path, vec![0; fs::metadata(path).unwrap().len() as usize]).unwrap()),
    ("a bit flipped at the start", |path, _, _| flip(path, |_| 9)),
    ("a bit flipped in the header", |path, _, _| flip(path, |_| 40)),
    ("a bit flipped in the first block", |path, _, _| flip(path, |_| 4096 + 150)),
    ("a bit flipped in the middle", |path, _, _| flip(path, |length| length / 2)),
    ("a bit flipped at the end", |path, _, _| flip(path, |length| length.saturating_sub(1))),
    ("another file in its place", |path, other, _| put(other, path)),
    ("two files swapped", |path, other, _| {
        let [one, two] = [path, other].map(|path| fs::read(path).unwrap());
        fs::write(path, two).unwrap();
        fs::write(other, one).unwrap();
    }),
    ("the file twice", |path, _, _| put(path, &twin(path))),
    ("that of another database", |path, _, foreign| put(foreign, path)),
];

/// Copies the content of a file, which may be the same.
fn put(from: &Path, to: &Path) {
    fs::write(to, fs::read(from).unwrap()).unwrap();
}

/// Another name of the same kind: its last digit is another one.
fn twin(path: &Path) -> PathBuf {
    let (stem, extension) = (path.file_stem().unwrap().to_str().unwrap(), extension(path).unwrap_or("old"));
    path.with_file_name(format!("{}9.{extension}", &stem[..stem.len() - 1]))
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

/// The error of a run that failed as it should, `None` where it succeeded.
fn damaged(output: &Output, what: &str) -> Option<String> {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return None;
    }
    assert_eq!(output.status.code(), Some(DAMAGED), "{what}: {error}");
    assert!(error.starts_with("error: ") && !error.contains("panicked"), "{what}: {error}");
    Some(error)
}

/// Every file of a database, damaged in every way: it opens with all that it had, or the error names the file, and `log verify`
/// says so too.
#[test]
fn every_damage_to_every_file_is_survived_or_named() {
    let directory = Directory::new();
    database(&directory, "db");
    database(&directory, "other");
    let (db, other, copied) = (directory.join("db"), directory.join("other"), directory.join("copy"));
    let expected = content(&db).unwrap();
    assert!(expected.iter().any(|rows| rows.len() >= 200), "{expected:?}");
    let (mut survived, mut named) = (0, 0);
    let all = files(&db);
    for kind in ["MANIFEST", "ckpt", "log"] {
        let is_there = all.iter().any(|path| path.ends_with(kind) || extension(path) == Some(kind));
        assert!(is_there, "there is a {kind}: {all:?}");
    }
    for file in &all {
        let relative = |path: &Path| path.strip_prefix(&db).unwrap().to_owned();
        let (path, foreign) = (copied.join(relative(file)), other.join(relative(file)));
        let is_peer = |peer: &&PathBuf| {
            let same = extension(file).is_some() && extension(peer) == extension(file);
            peer != &file && same && peer.parent() == file.parent()
        };
        let peer = copied.join(relative(all.iter().find(is_peer).unwrap_or(file)));
        for (what, damage) in DAMAGES {
            let what = format!("{}: {what}", relative(file).display());
            let _ = fs::remove_dir_all(&copied);
            copy(&db, &copied);
            damage(&path, &peer, if foreign.exists() { &foreign } else { file });
            let verified = damaged(&osier(&directory, "log verify copy"), &what);
            let recovered = damaged(&osier(&directory, &format!("recover copy {TINY_FILES} --set streams=2")), &what);
            assert_eq!(verified.is_some(), recovered.is_some(), "{what}: {verified:?} {recovered:?}");
            match recovered {
                Some(error) => {
                    // A gap is named by the directory of the stream; beside a foreign manifest all else is foreign or missing.
                    let place = if file.ends_with("MANIFEST") { file } else { file.parent().unwrap() };
                    let names = [place, file.as_path()].map(|path| path.file_name().unwrap().to_str().unwrap());
                    let is_named = names.into_iter().any(|name| error.contains(name));
                    let is_foreign = error.contains("belongs to database")
                        || error.contains("belongs to another copy")
                        || file.ends_with("MANIFEST") && error.contains("is missing: restore it");
                    assert!(is_named || is_foreign, "{what}: {error}");
                    named += 1;
                }
                None => {
                    assert_eq!(content(&copied).unwrap(), expected, "{what}");
                    survived += 1;
                }
            }
        }
    }
    println!("{} files: {named} damages named, {survived} survived", all.len());
    assert!(named > 20 && survived > 20, "{named} named, {survived} survived");
}

/// A process is killed and the newest segment of a stream is gone, or empty: batches of the other one tell, to every command.
#[test]
fn a_killed_database_without_a_newest_segment_is_refused() {
    let directory = Directory::new();
    Running::start(&directory, &format!("{YCSB} --seconds 300"), 20_000).kill();
    let empty: Damage = |path, _, _| {
        let mut bytes = fs::read(path).unwrap();
        bytes[4096..].fill(0);
        fs::write(path, bytes).unwrap();
    };
    let gone: Damage = |path, _, _| fs::remove_file(path).unwrap();
    for (stream, damage) in ["stream-0", "stream-1"].into_iter().flat_map(|stream| [(stream, gone), (stream, empty)]) {
        let _ = fs::remove_dir_all(directory.join("copy"));
        copy(&directory.join("db"), &directory.join("copy"));
        let logs = files(&directory.join("copy").join(stream));
        let is_segment =
            |path: &&PathBuf| extension(path) == Some("log") && !path.to_string_lossy().contains("prepared");
        let newest = logs.iter().rfind(is_segment).unwrap();
        damage(newest, newest, newest);
        for command in ["log verify copy", "recover copy --explain", "recover copy"] {
            let error = fails(&directory, command, DAMAGED);
            assert!(error.contains(newest.file_name().unwrap().to_str().unwrap()) && error.contains(stream), "{error}");
            // A copy of files that change looks like this.
            let is_told =
                error.contains("if the files were copied while the database was open, copy it with osier backup");
            assert!(is_told || !newest.exists(), "{error}");
        }
    }
    succeeds(&directory, "recover db --set streams=2");
}

/// Directories with nothing but leftovers, of a database or of somebody else.
#[test]
fn what_is_left_of_a_database_never_opens_empty() {
    let directory = Directory::new();
    database(&directory, "db");
    fs::remove_file(directory.join("db/MANIFEST")).unwrap();
    let again = format!("bench {YCSB} --dir db {TINY_FILES} --transactions 1");
    for command in [&again, "recover db", "log verify db", "log dump db"] {
        let error = fails(&directory, command, DAMAGED);
        assert!(error.contains("MANIFEST"), "{error}");
    }
    fs::remove_dir_all(directory.join("db/stream-0")).unwrap();
    fs::remove_dir_all(directory.join("db/stream-1")).unwrap();
    assert!(fails(&directory, &again, DAMAGED).contains("db/IDENTITY"), "that is left");
    fs::remove_file(directory.join("db/IDENTITY")).unwrap();
    assert!(fails(&directory, &again, NO_DATABASE).contains("db/checkpoints"), "that is left");
    assert!(fails(&directory, "recover nowhere", NO_DATABASE).contains("nowhere"));
    fs::create_dir(directory.join("notes")).unwrap();
    fs::write(directory.join("notes/notes.txt"), "mine").unwrap();
    let error = fails(&directory, &format!("bench {YCSB} --dir notes --transactions 1"), NO_DATABASE);
    assert!(error.contains("notes.txt"), "{error}");
}

/// Runs a script in a mount name space of its own; `None` where the machine does not allow it.
fn in_name_space(directory: &Directory, script: &str) -> Option<Output> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script]).current_dir(directory.path());
        command.env("OSIER", env!("CARGO_BIN_EXE_osier")).output().ok()
    };
    let is_allowed = unshare("mkdir -p probe && mount -t tmpfs tmpfs probe")?.status.success();
    is_allowed.then(|| unshare(script)).flatten()
}

fn assert_error(output: &Output, code: i32, name: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert!(error.contains("error: ") && error.contains(name) && !error.contains("panicked"), "{error}");
}

/// The device fills up while transactions run: the run ends with an error, and what it left opens elsewhere, every row there.
#[test]
fn a_full_device_is_named_and_what_it_holds_opens() {
    let directory = Directory::new();
    fs::create_dir_all(directory.join("full")).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=12m tmpfs full && $OSIER bench {YCSB} --dir full/db --seconds 20 --set segment_bytes=1048576 \
         --set ring_bytes=262144 --set transaction_log_bytes_max=16384; code=$?; cp -r full/db after; exit $code"
    );
    let Some(output) = in_name_space(&directory, &script) else {
        eprintln!("not shown: no mounts on this machine");
        return;
    };
    assert_error(&output, FULL, "full/db");
    succeeds(&directory, "log verify after");
    assert_eq!(content(&directory.join("after")).unwrap()[0].len(), 200);
}

/// A device without room for what is copied to it: the error says what is in the way of doing it again.
#[test]
fn what_did_not_fit_is_to_be_removed() {
    let directory = Directory::new();
    database(&directory, "db");
    succeeds(&directory, "backup db bk");
    fs::create_dir_all(directory.join("full")).unwrap();
    for (command, verb) in [("restore bk full/new", "restore"), ("salvage db full/new", "salvage")] {
        let command = format!("{command} {TINY_FILES}");
        let script = format!(
            "mount -t tmpfs -o size=12m tmpfs full && head -c 12582912 /dev/zero > full/fill; \
             $OSIER {command}; code=$?; rm full/fill; $OSIER {command}; exit $code"
        );
        let Some(output) = in_name_space(&directory, &script) else {
            eprintln!("not shown: no mounts on this machine");
            return;
        };
        assert_error(&output, FULL, "full/new");
        let errors = String::from_utf8_lossy(&output.stderr);
        let (first, again) = errors.trim_end().split_once('\n').unwrap();
        let cure = [format!("the {verb} did not end: remove "), format!("full/new, and {verb} again")];
        assert!(first.contains("make room on the device") && cure.iter().all(|part| first.contains(part)), "{first}");
        assert!(!first.contains("open the database again"), "{first}");
        assert!(again.contains("UNFINISHED") || again.contains("which was not finished"), "{again}");
        assert!(again.contains("remove"), "{again}");
    }
}

/// A device that has the database, and no room for the next segment of its log: the error says how it opens.
#[test]
fn an_open_without_room_says_which_settings_need_less() {
    let directory = Directory::new();
    database(&directory, "db");
    fs::create_dir_all(directory.join("full")).unwrap();
    let script = "mount -t tmpfs -o size=12m tmpfs full && cp -r db full/db && $OSIER recover full/db";
    let Some(output) = in_name_space(&directory, script) else {
        eprintln!("not shown: no mounts on this machine");
        return;
    };
    assert_error(&output, FULL, "full/db");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("free space on that device") && !error.contains("open it again to recover"), "{error}");
    let (_, settings) = error.split_once("such as ").unwrap();
    let settings = settings.split_once(')').unwrap().0.replace(", ", " --set ").replace(" and ", " --set ");
    let output = in_name_space(&directory, &format!("{script} --set {settings}")).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_directory_closed_to_writing_is_named() {
    let directory = Directory::new();
    database(&directory, "db");
    let script = "mount --bind db db && mount -o remount,ro,bind db && exec $OSIER recover db";
    let Some(output) = in_name_space(&directory, script) else {
        eprintln!("not shown: no mounts on this machine");
        return;
    };
    assert_error(&output, DEVICE, "db");
    succeeds(&directory, &format!("recover db {TINY_FILES} --set streams=2"));
}

/// A process that is stopped for a while: others cannot open its database, and it loses nothing when it goes on.
#[test]
fn a_process_that_stands_still_goes_on() {
    let directory = Directory::new();
    let run = Running::start(&directory, &format!("{YCSB} --blocking --seconds 3 --json report.json"), 100);
    run.signal(rustix::process::Signal::STOP);
    assert!(fails(&directory, "recover db", IN_USE).contains("the directory db is open in "));
    std::thread::sleep(Duration::from_millis(500));
    run.signal(rustix::process::Signal::CONT);
    run.wait();
    let report = fs::read_to_string(directory.join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["acknowledged"], report["committed"], "{report}");
    let recovered = succeeds(&directory, "recover db --set streams=2 --json -");
    let recovered: serde_json::Value = serde_json::from_str(&recovered).unwrap();
    assert!(recovered["recovery"]["records"].as_u64().unwrap() > 0, "{recovered}");
}
