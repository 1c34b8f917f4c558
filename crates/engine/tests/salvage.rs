//! Salvage of damaged databases: what is written is a state that there was, or nothing.
//!
//! Sessions on two streams take turns. Every transaction reads a counter, raises it, adds a row with its number, and removes the
//! row before it where that has a multiple of ten: whatever state there was says which of them there were, which is a prefix.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use osier::config::{CheckpointKind, Until};
use osier::inspect::{Detail, dump, verify};
use osier::salvage::{LostRows, RowName};
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Create, Database, Error, Protocol, SalvageError, SalvageReport, Session, Table, salvage};

const COUNTER: i64 = -1;

fn directory(name: &str) -> PathBuf {
    support::directory("salvage", name)
}

fn config(home: &Path) -> Config {
    support::config(home, Protocol::Poplar, 2)
}

fn open(home: &Path) -> (Database, Table) {
    open_with(config(home))
}

fn open_with(config: Config) -> (Database, Table) {
    let db = Database::open(config).unwrap();
    let schema = Schema::builder("t").column("id", Type::Int64).column("n", Type::Int64).column("text", Type::Text);
    let schema = schema.primary_key(["id"]).unique_index("by_n", ["n", "id"]).build().unwrap();
    let table = db.table("t").or_else(|_| db.create_table(schema)).unwrap();
    (db, table)
}

fn step(session: &mut Session, table: &Table) {
    let n = table.column("n").unwrap();
    let body = |tx: &osier::Transaction<'_>| -> Result<(), Error> {
        let next = tx.get(table, &[Value::Int(COUNTER)])?.map_or(0, |row| row.int(n) + 1);
        tx.upsert(table, &[Value::Int(COUNTER), Value::Int(next), Value::Text("")])?;
        tx.insert(table, &[Value::Int(next), Value::Int(next), Value::Text(&"x".repeat(700))])?;
        if next % 10 == 1 {
            tx.delete(table, &[Value::Int(next - 1)])?;
        }
        Ok(())
    };
    session.run(body).unwrap().1.wait().unwrap();
}

fn steps(db: &Database, table: &Table, count: usize) {
    let mut sessions = [db.session().unwrap(), db.session().unwrap()];
    (0..count).for_each(|at| step(&mut sessions[at % 2], table));
}

/// How many transactions there were; what they left is there and nothing else.
fn count(home: &Path) -> i64 {
    let db = Database::open(Config::new(home).create(Create::Never)).unwrap();
    let Ok(table) = db.table("t") else { return 0 };
    let (id, n) = (table.column("id").unwrap(), table.column("n").unwrap());
    let rows = db.run(|tx| -> Result<Vec<_>, Error> {
        tx.scan(&table, KeyRange::all())?.map(|row| row.map(|row| (row.int(id), row.int(n)))).collect()
    });
    let rows = rows.unwrap().0;
    let last = rows.iter().find(|row| row.0 == COUNTER).map_or(-1, |row| row.1);
    let expected = (0..=last).filter(|n| n % 10 != 0 || *n == last).map(|n| (n, n));
    let counter = (last >= 0).then_some((COUNTER, last));
    assert_eq!(rows, counter.into_iter().chain(expected).collect::<Vec<_>>(), "a state that there was");
    last + 1
}

fn files(home: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![home.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => match fs::read(&path) {
                    Ok(bytes) => drop(found.insert(path.strip_prefix(home).unwrap().to_owned(), bytes)),
                    // A spare file may be renamed meanwhile; nobody reads it.
                    Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{}", path.display()),
                },
            }
        }
    }
    found
}

fn put(home: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    let _ = fs::remove_dir_all(home);
    for (name, bytes) in files {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Salvages, and checks that nothing was changed.
fn salvaged(home: &Path, name: &str, rows: bool) -> Result<(SalvageReport, PathBuf), Error> {
    let (target, before) = (directory(name), files(home));
    let report = salvage(&Config::new(home), config(&target).create(Create::New), rows);
    assert_eq!(files(home), before, "the damaged database is only read");
    if let Err(error) = &report {
        assert!(!target.exists() || fs::read_dir(&target).unwrap().next().is_none(), "{error}: something was written");
    }
    Ok((report?, target))
}

fn is_log(name: &Path) -> bool {
    let text = name.to_string_lossy();
    text.contains("stream-") && !text.contains("prepared") && text.ends_with(".log")
}

/// A database that crashed after 60 transactions, with 30 of them in an earlier life; with a checkpoint after 45.
fn crashed(name: &str, checkpoint: bool) -> BTreeMap<PathBuf, Vec<u8>> {
    let home = directory(name);
    let (db, table) = open(&home);
    steps(&db, &table, 30);
    db.close().unwrap();
    let (db, table) = open(&home);
    steps(&db, &table, 15);
    if checkpoint {
        db.checkpoint().unwrap();
    }
    steps(&db, &table, 15);
    let image = files(&home);
    db.close().unwrap();
    image
}

/// What [`crashed`] left when it was closed.
fn closed(name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    files(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("salvage").join(name))
}

#[test]
fn what_is_not_damaged_is_all_there() {
    for checkpoint in [false, true] {
        let home = directory(&format!("whole-{checkpoint}"));
        let image = crashed("whole-source", checkpoint);
        for image in [image, closed("whole-source")] {
            put(&home, &image);
            let (report, target) = salvaged(&home, "whole-target", false).unwrap();
            assert!(report.consistent && report.damages.is_empty(), "{report}");
            assert_eq!((count(&target), report.tables[0].rows), (60, 55), "{report}");
        }
    }
}

#[test]
fn a_flipped_byte_ends_its_stream_there() {
    let (home, image) = (directory("flipped"), crashed("flipped-source", false));
    let (mut least, mut most) = (i64::MAX, 0);
    for name in image.keys().filter(|name| is_log(name)) {
        let mut damaged = image.clone();
        damaged.get_mut(name).unwrap()[4096 + 3 * 4096 + 200] ^= 1;
        put(&home, &damaged);
        let (report, target) = salvaged(&home, "flipped-target", false).unwrap();
        assert_eq!(report.damages.len(), 1, "{report}");
        assert_eq!(report.damages[0].path, home.join(name), "{report}");
        assert_eq!(report.damages[0].position, Some(4 * 4096), "{report}");
        (least, most) = (least.min(count(&target)), most.max(count(&target)));
        let (report, target) = salvaged(&home, "flipped-rows", true).unwrap();
        let db = Database::open(config(&target)).unwrap();
        assert!(db.table("t").is_ok() && report.tables[0].rows > 40, "{report}");
    }
    assert!(0 < least && least < 30 && 30 < most && most < 60, "{least} to {most}");
}

#[test]
fn a_missing_stream_leaves_what_came_before() {
    let (home, mut image) = (directory("stream"), crashed("stream-source", false));
    image.retain(|name, _| !name.starts_with("stream-1"));
    put(&home, &image);
    let (report, target) = salvaged(&home, "stream-target", false).unwrap();
    assert!(report.damages[0].path.ends_with("stream-1"), "{report}");
    assert_eq!((count(&target), &report.skipped_generations), (0, &vec![2]), "{report}");
    let text = report.to_string();
    assert!(text.starts_with("salvaged no row") && text.ends_with("the new database holds none"), "{text}");
    assert!(report.left_out >= 28, "those of the other stream: {text}");
    let (report, _) = salvaged(&home, "stream-rows", true).unwrap();
    assert!(report.records > 20, "{report}");
}

#[test]
fn whatever_an_open_refuses_is_named_as_damage() {
    let (home, image) = (directory("named"), crashed("named-source", false));
    let logs = || image.keys().filter(|name| is_log(name));
    let others = ["IDENTITY", "stream-1/NEWEST"].map(PathBuf::from);
    let removed = logs().chain(&others).map(|name| (name, None));
    for (name, length) in removed.chain(logs().map(|name| (name, Some(3 * 4096)))) {
        let mut damaged = image.clone();
        match length {
            Some(length) => damaged.get_mut(name).unwrap().truncate(length),
            None => drop(damaged.remove(name)),
        }
        put(&home, &damaged);
        assert!(verify(&Config::new(&home)).is_err(), "{}: {length:?}", name.display());
        for rows in [false, true] {
            let report = salvaged(&home, "named-target", rows).unwrap().0;
            let named = report.damages.iter().filter(|damage| damage.path == home.join(name)).count();
            assert_eq!(named, 1, "{}: {length:?}\n{report}", name.display());
            assert!(!report.to_string().contains("no damage was found"), "{report}");
        }
    }
}

#[test]
fn a_truncated_segment_counts_up_to_its_end() {
    let (home, image) = (directory("truncated"), crashed("truncated-source", false));
    for name in image.keys().filter(|name| is_log(name)) {
        let is_old = name.to_string_lossy().contains("00000001-");
        let mut damaged = image.clone();
        let log = damaged.get_mut(name).unwrap();
        let used = log.chunks(4096).rposition(|block| block.iter().any(|byte| *byte != 0)).unwrap() + 1;
        // In the middle of a block: the batch in it does not count.
        log.truncate(9 * 4096 + 100);
        put(&home, &damaged);
        let (report, target) = salvaged(&home, "truncated-target", false).unwrap();
        let position = report.damages.iter().find(|damage| damage.path == home.join(name)).unwrap().position;
        assert_eq!(position, Some(9 * 4096 + 100), "{report}");
        let range = if is_old { 8..30 } else { 40..60 };
        assert!(range.contains(&count(&target)), "{}: {report}", name.display());
        let left_out = u64::try_from(60 - count(&target)).unwrap();
        assert!((1..=left_out).contains(&report.left_out), "{left_out} {report}");
        // Nothing that a generation holds which ended is lost with the room behind it.
        damaged.insert(name.clone(), image[name][..used * 4096].to_vec());
        put(&home, &damaged);
        let (report, target) = salvaged(&home, "truncated-room", false).unwrap();
        let expected = if is_old { 60..61 } else { 57..61 };
        assert!(report.damages.len() == 1 && expected.contains(&count(&target)), "{used} {report}");
    }
}

#[test]
fn a_report_says_how_far_it_reaches_and_what_is_left_out() {
    let (home, mut image) = (directory("reach"), crashed("reach-source", false));
    put(&home, &image);
    let whole = salvaged(&home, "reach-whole", false).unwrap().0;
    let reach = whole.reach.as_ref().unwrap();
    assert_eq!((whole.left_out, reach.time.is_some()), (0, true), "{whole}");
    assert!(whole.to_string().contains(&format!("is of epoch {}", reach.epoch)), "{whole}");
    image.get_mut(Path::new("stream-0/00000002-00000001.log")).unwrap()[4 * 4096 + 200] ^= 1;
    put(&home, &image);
    let (report, target) = salvaged(&home, "reach-target", false).unwrap();
    // One was in the batch that is damaged.
    assert_eq!(report.left_out, u64::try_from(59 - count(&target)).unwrap(), "{report}");
    assert!(report.reach.as_ref().unwrap().epoch < reach.epoch, "{report}");
    assert!(report.to_string().contains(&format!("left out {} transactions", report.left_out)), "{report}");
}

#[test]
fn a_directory_that_is_not_named_is_named_where_it_was() {
    let [home, other] = ["unnamed", "unnamed-other"].map(directory);
    let mut config = config(&home);
    config.dirs = vec![home.clone(), other.clone()];
    // So that a part of the checkpoint lies in the other directory.
    config.checkpoint_threads = 2;
    let (db, table) = open_with(config.clone());
    steps(&db, &table, 20);
    db.close().unwrap();
    let last = other.display().to_string();
    let expect = |text: &str| {
        assert!(text.contains("directory 1") && text.contains(&last) && !text.contains("was-not-named"), "{text}");
    };
    for rows in [false, true] {
        let report = salvaged(&home, "unnamed-target", rows).unwrap().0;
        assert_eq!(report.damages.len(), 1, "{report}");
        expect(&report.to_string());
    }
    let (db, table) = open_with(config);
    steps(&db, &table, 20);
    db.checkpoint().unwrap();
    db.close().unwrap();
    expect(&salvaged(&home, "unnamed-target", false).unwrap_err().to_string());
    expect(&salvaged(&home, "unnamed-target", true).unwrap().0.to_string());
    let mut dumped = Vec::new();
    assert_eq!(dump(&Config::new(&home), Detail::Batches, &mut dumped).unwrap(), 1);
    expect(&String::from_utf8(dumped).unwrap());
}

#[test]
fn a_manifest_of_another_database_is_told_and_not_used() {
    let home = directory("foreign");
    let images = ["foreign-one", "foreign-two"].map(|name| crashed(name, false));
    let [one, two] = ["foreign-one", "foreign-two"].map(|name| {
        let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("salvage").join(name);
        verify(&Config::new(source)).unwrap().database
    });
    let [one, two] = [one, two].map(|database| format!("{:032x}", database.0));
    let mut image = images[1].clone();
    image.insert("MANIFEST".into(), images[0][Path::new("MANIFEST")].clone());
    // One whose log is gone, too, is known by its identity.
    let mut bare = image.clone();
    bare.retain(|name, _| !is_log(name));
    for image in [&image, &bare] {
        put(&home, image);
        let error = salvaged(&home, "foreign-target", false).unwrap_err();
        assert!(matches!(error, Error::Salvage(SalvageError::OtherManifest { .. })), "{error}");
        for part in ["MANIFEST", &one, &two] {
            assert!(error.to_string().contains(part), "`{part}` is not in {error}");
        }
    }
    put(&home, &image);
    let (report, target) = salvaged(&home, "foreign-rows", true).unwrap();
    assert_eq!((count(&target), report.database.as_ref()), (60, Some(&two)), "{report}");
    assert!(report.damages[0].path.ends_with("MANIFEST") && report.damages[0].what.contains(&one), "{report}");
    // A file of another database beside it is left out, and as many leave no choice.
    let strangers = images[0].iter().filter(|(name, _)| is_log(name));
    for (name, bytes) in strangers {
        image.remove(Path::new("MANIFEST"));
        put(&home, &image);
        let (report, target) = salvaged(&home, "foreign-rows", true).unwrap();
        assert_eq!((count(&target), report.database.as_ref()), (60, Some(&two)), "{report}");
        image.insert(name.to_string_lossy().replace("stream-", "stream-1").into(), bytes.clone());
    }
    put(&home, &image);
    let error = salvaged(&home, "foreign-rows", true).unwrap_err();
    assert!(matches!(error, Error::Salvage(SalvageError::SeveralDatabases { .. })), "{error}");
    assert!(error.to_string().contains(&one) && error.to_string().contains(&two), "{error}");
}

#[test]
fn a_damaged_checkpoint_proves_nothing_and_leaves_rows() {
    let (home, mut image) = (directory("checkpoint"), crashed("checkpoint-source", true));
    let part =
        image.iter_mut().find(|(name, bytes)| name.extension().unwrap_or_default() == "ckpt" && bytes.len() > 12_288);
    let (part, bytes) = part.unwrap();
    bytes[4096 + 100] ^= 1;
    let part = part.clone();
    put(&home, &image);
    let error = salvaged(&home, "checkpoint-target", false).unwrap_err();
    assert!(matches!(error, Error::Salvage(SalvageError::NothingProven { .. })), "{error}");
    assert!(error.to_string().contains(part.file_name().unwrap().to_str().unwrap()), "{error}");
    let (report, _) = salvaged(&home, "checkpoint-rows", true).unwrap();
    assert!(!report.consistent && report.damages.iter().any(|damage| damage.path.ends_with(&part)), "{report}");
    assert!(
        report.records >= 15 && report.nameless_rows + report.tables.iter().map(|t| t.rows).sum::<u64>() > 10,
        "{report}"
    );
}

/// A block of the log is flipped: what the checkpoint holds is there, and what came before the damage.
#[test]
fn every_protocol_and_kind_of_checkpoint_is_salvaged() {
    let kinds = [
        ("fuzzy", Protocol::Poplar, 2, CheckpointKind::Fuzzy),
        ("serial", Protocol::Serial, 1, CheckpointKind::Epoch),
        ("gsn", Protocol::Gsn, 2, CheckpointKind::Epoch),
        ("silo", Protocol::Silo, 2, CheckpointKind::Fuzzy),
        ("plover", Protocol::Plover, 2, CheckpointKind::Epoch),
        ("taurus", Protocol::Taurus, 2, CheckpointKind::Epoch),
        ("none", Protocol::None, 1, CheckpointKind::Epoch),
    ];
    for (name, protocol, streams, kind) in kinds {
        let (source, home) = (directory(&format!("{name}-source")), directory(name));
        let mut config = support::config(&source, protocol, streams);
        config.checkpoint_kind = kind;
        let (db, table) = open_with(config);
        steps(&db, &table, 45);
        db.checkpoint().unwrap();
        steps(&db, &table, 16);
        let image = files(&source);
        db.close().unwrap();
        put(&home, &image);
        let (report, target) = salvaged(&home, &format!("{name}-target"), false).unwrap();
        let (expected, mut hits) = (if protocol == Protocol::None { 45 } else { 61 }, 0);
        assert!(report.consistent && report.damages.is_empty(), "{report}");
        assert_eq!(count(&target), expected, "{report}");
        for log in image.keys().filter(|name| is_log(name)) {
            for block in (4096..image[log].len()).step_by(5 * 4096).filter(|at| image[log][at + 200] != 0) {
                let mut damaged = image.clone();
                damaged.get_mut(log).unwrap()[block + 200] ^= 1;
                put(&home, &damaged);
                let (report, target) = match salvaged(&home, &format!("{name}-flipped"), false) {
                    Ok(salvaged) => salvaged,
                    // It may hold parts of transactions whose log is damaged.
                    Err(Error::Salvage(SalvageError::NothingProven { .. })) if kind == CheckpointKind::Fuzzy => {
                        continue;
                    }
                    Err(error) => panic!("{name}: {error}"),
                };
                // The last batch may be torn; behind it is what the file held before it was recycled.
                let (left, found) = (count(&target), report.damages.len());
                assert!(found == 1 && left < expected || found == 0 && left + 1 >= expected, "{report}");
                assert!((45..=expected).contains(&left), "{report}");
                hits += found;
            }
        }
        assert_eq!(hits > 0, protocol != Protocol::None, "{name}: {hits} blocks mattered");
        let mut damaged = image.clone();
        for (_, bytes) in damaged.iter_mut().filter(|(name, _)| name.extension().unwrap_or_default() == "ckpt") {
            bytes[100] ^= 1;
        }
        put(&home, &damaged);
        let error = salvaged(&home, &format!("{name}-refused"), false).unwrap_err();
        assert!(matches!(error, Error::Salvage(SalvageError::NothingProven { .. })), "{error}");
    }
}

#[test]
fn without_a_manifest_rows_are_left() {
    let (home, mut image) = (directory("manifest"), crashed("manifest-source", true));
    image.remove(Path::new("MANIFEST"));
    put(&home, &image);
    let error = salvaged(&home, "manifest-target", false).unwrap_err();
    assert!(error.to_string().contains("MANIFEST"), "{error}");
    let (report, target) = salvaged(&home, "manifest-rows", true).unwrap();
    assert_eq!((count(&target), report.tables[0].rows), (60, 55), "{report}");
}

/// What was given up does not take the place of what was changed later.
#[test]
fn what_was_given_up_is_no_row() {
    let home = directory("given-up");
    let (db, table) = open(&home);
    let row = |n| [Value::Int(1), Value::Int(n), Value::Text("as long as a row that is changed and not replaced")];
    let receipt = db.run(|tx| tx.insert(&table, &row(0))).unwrap().1;
    receipt.wait().unwrap();
    // What comes now is of a later epoch.
    std::thread::sleep(std::time::Duration::from_millis(20));
    db.run(|tx| tx.upsert(&table, &row(666))).unwrap().1.wait().unwrap();
    db.close().unwrap();
    let (db, table) = open_with(Config { until: Some(Until::Epoch(receipt.epoch())), ..config(&home) });
    let n = table.column("n").unwrap();
    for value in [7, 8, 9] {
        db.run(|tx| tx.update(&table, &[Value::Int(1)], &[(n, Value::Int(value))])).unwrap().1.wait().unwrap();
    }
    db.close().unwrap();
    for is_rows in [false, true] {
        let (report, target) = salvaged(&home, &format!("given-up-{is_rows}"), is_rows).unwrap();
        let (db, table) = open(&target);
        let read = |tx: &osier::Transaction<'_>| -> Result<_, Error> {
            Ok(tx.get(&table, &[Value::Int(1)])?.map(|row| row.int(n)))
        };
        assert_eq!(db.run(read).unwrap().0, Some(9), "{report}");
        assert!(report.outdated.is_empty(), "{report}");
    }
}

/// What the manifest needs no more is left out, unless something that the checkpoint held is lost.
#[test]
fn superseded_files_are_left_out_of_rows() {
    let (source, home) = (directory("superseded-source"), directory("superseded"));
    let (db, table) = open(&source);
    steps(&db, &table, 500);
    let before = files(&source);
    db.checkpoint().unwrap();
    steps(&db, &table, 5);
    db.close().unwrap();
    let (mut image, first) = (files(&source), PathBuf::from("stream-0/00000001-00000001.log"));
    image.insert(first.clone(), before[&first].clone());
    put(&home, &image);
    let (report, target) = salvaged(&home, "superseded-rows", true).unwrap();
    assert_eq!((count(&target), report.damages.len()), (505, 0), "{report}");
    assert!(report.superseded_files >= 1 && report.to_string().contains("that the manifest needs no more"), "{report}");
    // It is read where something that the checkpoint held is lost.
    let part = |name: &&PathBuf| name.extension().unwrap_or_default() == "ckpt";
    let part = image.keys().filter(part).max_by_key(|name| image[*name].len()).unwrap().clone();
    let part = image.get_mut(&part).unwrap();
    let last = blocks(part).pop().unwrap();
    part[last + 100] ^= 1;
    put(&home, &image);
    let all = salvaged(&home, "superseded-all", true).unwrap().0;
    assert!(all.superseded_files == 0 && all.records > report.records, "{all}");
}

/// Where the blocks of rows of a part begin.
fn blocks(part: &[u8]) -> Vec<usize> {
    let field = |at: usize| u32::from_le_bytes(*part[at..].first_chunk().unwrap());
    let next = |at: &usize| Some(at + (32 + field(at + 4) as usize).next_multiple_of(4096));
    std::iter::successors(Some(4096), next).take_while(|at| field(at + 20) != 2).collect()
}

fn id(row: &Option<RowName>) -> Option<i64> {
    let row = row.as_ref().filter(|row| row.table.as_deref() == Some("t"))?;
    Some(row.key.strip_prefix("(id)=(").unwrap().strip_suffix(")").unwrap().parse().unwrap())
}

/// Which rows of 200 the salvaged database lacks, and how many rows the ranges contain that are said to be lost.
fn lost(report: &SalvageReport, target: &Path) -> (BTreeSet<i64>, usize) {
    let db = Database::open(Config::new(target).create(Create::Never)).unwrap();
    let table = db.table("t").unwrap();
    let column = table.column("id").unwrap();
    let saved = db.run(|tx| -> Result<BTreeSet<_>, Error> {
        tx.scan(&table, KeyRange::all())?.map(|row| row.map(|row| row.int(column))).collect()
    });
    let missing: BTreeSet<i64> = &(0..200).collect() - &saved.unwrap().0;
    let ends = |lost: &LostRows| (id(&lost.after).map_or(0, |id| id + 1), id(&lost.before).unwrap_or(200));
    let ranges: Vec<_> = report.lost.iter().map(ends).collect();
    let contains = |id: &i64| ranges.iter().any(|(from, to)| (from..to).contains(&id));
    assert!(missing.iter().all(contains), "{missing:?} {report}");
    (missing, (0..200).filter(contains).count())
}

#[test]
fn lost_ranges_are_named() {
    let (source, home) = (directory("ranges-source"), directory("ranges"));
    let (db, table) = open(&source);
    let write = |id: i64| {
        let text = "x".repeat(8000);
        let row = [Value::Int(id), Value::Int(id), Value::Text(&text)];
        db.run(|tx| tx.upsert(&table, &row)).unwrap().1.wait().unwrap();
    };
    (0..200).for_each(write);
    db.checkpoint().unwrap();
    (0..200).step_by(3).for_each(write);
    let image = files(&source);
    db.close().unwrap();
    let is_part = |name: &&PathBuf| name.extension().unwrap_or_default() == "ckpt";
    let part = image.keys().filter(is_part).max_by_key(|name| image[*name].len()).unwrap();
    let blocks = blocks(&image[part]);
    assert!(blocks.len() > 6, "the catalog's and several of rows: {blocks:?}");
    let (first, last) = (blocks[1], blocks[blocks.len() - 1]);
    let harmed = |name: &str, with_log: bool, harm: &dyn Fn(&mut Vec<u8>)| {
        let mut damaged = image.clone();
        damaged.retain(|name, _| with_log || !is_log(name));
        harm(damaged.get_mut(part).unwrap());
        put(&home, &damaged);
        salvaged(&home, name, true).unwrap()
    };
    for block in [first, blocks[2], last] {
        // In a row, and in the length, without which the next block is looked for.
        for at in [block + 100, block + 5] {
            let (report, target) = harmed("ranges-target", false, &|part| part[at] ^= 1);
            let (missing, said) = lost(&report, &target);
            assert!(report.lost.len() == 1 && !missing.is_empty() && missing.len() == said, "{missing:?} {report}");
            let LostRows { after, before, .. } = &report.lost[0];
            assert_eq!((id(after).is_none(), before.is_none()), (block == first, block == last), "{report}");
            assert!(after.is_some(), "the catalog's row, where there is no other: {report}");
        }
        let (report, target) = harmed("ranges-log", true, &|part| part[block + 100] ^= 1);
        let (missing, said) = lost(&report, &target);
        assert!(missing.len() < said, "some are in the log: {missing:?} {report}");
    }
    let two = |part: &mut Vec<u8>| part[blocks[2]..blocks[4]].fill(0);
    let (report, target) = harmed("ranges-two", false, &two);
    let (missing, said) = lost(&report, &target);
    assert!(report.lost.len() == 1 && missing.len() == said, "{missing:?} {report}");
    let (report, target) = harmed("ranges-cut", false, &|part| part.truncate(last + 4096));
    let (missing, said) = lost(&report, &target);
    assert!(report.lost[0].before.is_none() && missing.len() == said, "{missing:?} {report}");
    // Without the definition.
    let (report, _) = harmed("ranges-catalog", false, &|part| part[4096 + 100] ^= 1);
    let before = report.lost[0].before.as_ref().unwrap();
    assert!(report.lost[0].after.is_none() && before.table.is_none() && before.table_id == 16, "{report}");
    assert_eq!((&before.key[..], report.nameless_rows), ("8000000000000000", 200), "{report}");
    assert!(report.to_string().contains("held from its beginning, before table 16 key 80"), "{report}");
    // Without the part, or its header.
    let (report, _) = harmed("ranges-header", true, &|part| part[20] ^= 1);
    assert!(report.lost.len() == 1 && report.lost[0].after.is_none() && report.lost[0].before.is_none(), "{report}");
    fs::remove_file(home.join(part)).unwrap();
    let (report, _) = salvaged(&home, "ranges-missing", true).unwrap();
    assert!(report.lost.len() == 1 && report.lost[0].path.ends_with(part), "{report}");
}

#[test]
fn whatever_is_damaged_the_state_is_one_that_there_was() {
    let seeds = std::env::var("OSIER_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(40);
    let images = [crashed("random-plain", false), crashed("random-checkpoint", true)];
    let home = directory("random");
    let (mut saved, mut less, mut refused) = (0, 0, 0);
    for seed in 0..seeds {
        let mut rng = Rng::with_seed(seed);
        let mut image = images[rng.usize(..2)].clone();
        for _ in 0..rng.usize(1..3) {
            damage(&mut rng, &mut image);
        }
        put(&home, &image);
        match salvaged(&home, "random-target", false) {
            Ok((report, target)) => {
                let found = count(&target);
                assert!(!report.damages.is_empty() || found >= 57, "seed {seed}: {found} {report}");
                saved += 1;
                less += u64::from(found < 60);
            }
            Err(error) => {
                assert!(
                    error.sqlstate().starts_with("XX") || error.sqlstate().starts_with("58P"),
                    "seed {seed}: {error}"
                );
                refused += 1;
            }
        }
        let rows = salvaged(&home, "random-rows", true);
        assert!(rows.is_ok(), "seed {seed}: {rows:?}");
    }
    println!("{saved} saved, {less} of them with less, {refused} refused");
    assert!(less > 0 && saved > less, "{saved} {less} {refused}");
}

fn damage(rng: &mut Rng, image: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let names: Vec<PathBuf> = image.keys().filter(|name| name.extension().is_some()).cloned().collect();
    let name = &names[rng.usize(..names.len())];
    let bytes = image.get_mut(name).unwrap();
    let at = rng.usize(..bytes.len().clamp(1, 80_000));
    match rng.u8(..5) {
        0 => drop(image.remove(name)),
        1 => bytes.truncate(at),
        2 => bytes.iter_mut().skip(at).take(5000).for_each(|byte| *byte = 0),
        _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << rng.u8(..8)),
    }
}

/// Transactions that did not validate leave stamps that no record has, and a definition depends on the last one.
#[test]
fn a_stamp_without_a_record_is_no_loss() {
    let home = directory("skips");
    let (db, table) = open_with(support::config(&home, Protocol::Gsn, 2));
    steps(&db, &table, 3);
    let mut losers: Vec<_> = (0..20).map(|_| db.session().unwrap()).collect();
    let begun = losers.iter_mut().map(|session| {
        let tx = session.begin();
        let seen = tx.get(&table, &[Value::Int(COUNTER)]).map(|row| row.is_some());
        tx.upsert(&table, &[Value::Int(1000), Value::Int(1000), Value::Text("")]).unwrap();
        assert!(seen.unwrap());
        tx
    });
    let begun: Vec<_> = begun.collect();
    steps(&db, &table, 1);
    assert!(begun.into_iter().all(|tx| tx.commit().is_err()), "they read what was changed");
    let schema = Schema::builder("other").column("id", Type::Int64).primary_key(["id"]).build().unwrap();
    db.create_table(schema).unwrap();
    steps(&db, &table, 1);
    let copy = directory("skips_copy");
    put(&copy, &files(&home));

    let (report, target) = salvaged(&copy, "skips_salvaged", false).unwrap();
    assert!(report.damages.is_empty() && report.left_out == 0, "{report}");
    assert_eq!(count(&target), 5);
    drop(losers);
}
