//! Errors of the device at every operation of a database's life, threads and all: each is told with the file and an SQLSTATE, or
//! does no harm, and whatever was acknowledged is found afterwards. (The simulation draws them too, and judges more; it does
//! not look at what an error says.)

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use osier::failpoint::Mutation;
use osier::failpoint::simulated::build_in;
use osier::table::{KeyRange, Schema, Table, Type, Value};
use osier::{Config, Database, Error, Protocol};
use osier_testkit::disk::{Faults, Kind, LogWrites, SimDisk};

/// Of the operations of each kind so many fail, one in each run.
const POSITIONS_MAX: u64 = 24;
/// Rows that are there when faults begin, and rows that are inserted then.
const ROWS: i64 = 20;

fn config(disk: &SimDisk) -> Config {
    let mut config = Config::new("db").protocol(Protocol::Poplar).streams(2);
    (config.ring_bytes, config.segment_bytes, config.transaction_log_bytes_max) = (64 << 10, 128 << 10, 16 << 10);
    config.recovery_threads = 2;
    config.environment.disk = Arc::new(disk.clone());
    config
}

fn insert(db: &Database, table: &Table, id: i64) -> Result<(), Error> {
    Ok(db.run(|tx| tx.insert(table, &[Value::Int(id), Value::Bytes(&[id as u8; 4000])]))?.1.wait()?)
}

/// A closed database with a checkpoint and log behind it.
fn prepare(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed, LogWrites::Synchronous);
    let db = Database::open(config(&disk)).expect("a database");
    let schema = Schema::builder("t").column("id", Type::Int64).column("content", Type::Bytes).primary_key(["id"]);
    let table = db.create_table(schema.build().expect("a schema")).expect("a table");
    for id in 0..ROWS {
        insert(&db, &table, id).expect("an insert");
        if id == ROWS / 2 {
            db.checkpoint().expect("a checkpoint");
        }
    }
    db.close().expect("closed");
    disk
}

/// Opens, inserts, takes a checkpoint, inserts, closes. Returns how many rows were acknowledged, and the first error.
fn live(disk: &SimDisk) -> (i64, Option<Error>) {
    let mut acknowledged = ROWS;
    let mut work = || {
        let db = Database::open(config(disk))?;
        let table = db.table("t")?;
        let outcome = (ROWS..3 * ROWS).try_for_each(|id| {
            insert(&db, &table, id)?;
            acknowledged = id + 1;
            if id == 2 * ROWS { db.checkpoint().map(|_| ()) } else { Ok(()) }
        });
        outcome.and(db.close())
    };
    let error = work().err();
    (acknowledged, error)
}

/// One run in which `faults` come, and what is found afterwards. Returns whether there was an error.
fn survives(faults: Faults, expected: &str) -> bool {
    let disk = prepare(1);
    disk.set_faults(faults);
    let (acknowledged, error) = live(&disk);
    assert!(disk.fault_met() || error.is_none(), "{faults:?}: {error:?}");
    if let Some(error) = &error {
        let text = error.to_string();
        assert!(
            error.sqlstate() == expected && (text.contains("db") || text.contains("the directory .")),
            "{faults:?}: {} {text}",
            error.sqlstate()
        );
    }
    for (what, after) in [("killed", disk.kill(2)), ("power lost", disk.survive(3))] {
        let db = Database::open(config(&after)).unwrap_or_else(|error| panic!("{faults:?}, {what}: {error}"));
        let table = db.table("t").unwrap_or_else(|error| panic!("{faults:?}, {what}: {error}"));
        for id in 0..acknowledged {
            let is_there = db.run(|tx| -> Result<bool, Error> { Ok(tx.get(&table, &[Value::Int(id)])?.is_some()) });
            assert!(is_there.expect("a read").0, "{faults:?}, {what}: {id} of {acknowledged} was acknowledged");
        }
    }
    error.is_some()
}

fn rows(db: &Database) -> i64 {
    let count = db.run(|tx| -> Result<usize, Error> { Ok(tx.scan(&tx.table("t")?, KeyRange::all())?.count()) });
    count.expect("a scan").0 as i64
}

/// A sync that fails takes what was written with it, and the next one says nothing of that.
#[test]
fn a_backup_after_a_failed_one_is_whole() {
    let mut told = 0;
    for at in 1.. {
        let disk = prepare(at);
        let db = Database::open(config(&disk)).expect("open");
        // Of the backup's own files: threads of the database sync others meanwhile, as many as they come to.
        let below = Some("backup");
        disk.set_faults(Faults { sync_error_at: Some(at), sync_error_below: below, ..Faults::default() });
        let outcome = db.backup(Path::new("backup"), false);
        assert_eq!(outcome.is_err(), disk.fault_met(), "{at}: {outcome:?}");
        disk.set_faults(Faults::default());
        if outcome.is_ok() {
            break;
        }
        told += 1;
        db.backup(Path::new("backup"), false).expect("a backup");
        drop(db);
        for after in [disk.survive(at), disk.kill(at)] {
            let db = Database::open(config(&after)).unwrap_or_else(|error| panic!("{at}: {error}"));
            db.backup(Path::new("backup"), false).unwrap_or_else(|error| panic!("{at}, going on: {error}"));
            drop(db);
            let mut restored = config(&after);
            restored.dirs = vec!["restored".into()];
            osier::backup::restore(restored.clone(), Path::new("backup"))
                .unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_eq!(rows(&Database::open(restored).expect("the restored one")), ROWS, "{at}");
        }
    }
    assert!(told > 3, "{told} backups failed");
}

/// Fails operations of a kind, far ones and near ones, until none is met; some must be told.
fn sweep(expected: &str, faults: impl Fn(u64) -> Faults) {
    let disk = prepare(1);
    disk.set_faults(Faults::default());
    live(&disk);
    let step = (disk.changes() / POSITIONS_MAX).max(1);
    let told = (0..POSITIONS_MAX).filter(|n| survives(faults(1 + n * step), expected)).count();
    assert!(told > 1, "{told} errors were told");
}

#[test]
fn a_failed_write_is_named_and_loses_nothing() {
    sweep("58030", |at| Faults { io_error_at: Some(at), ..Faults::default() });
}

#[test]
fn a_full_device_is_named_and_loses_nothing() {
    sweep("53100", |at| Faults { full_at: Some(at), ..Faults::default() });
}

#[test]
fn a_failed_sync_or_read_is_named_and_loses_nothing() {
    let mut told = [0; 3];
    for at in 1..=POSITIONS_MAX {
        told[0] += u32::from(survives(Faults { sync_error_at: Some(at), ..Faults::default() }, "58030"));
        told[1] += u32::from(survives(Faults { dir_sync_error_at: Some(at), ..Faults::default() }, "58030"));
        told[2] += u32::from(survives(Faults { read_error_at: Some(at), ..Faults::default() }, "58030"));
    }
    assert!(told.iter().all(|told| *told > 1), "{told:?} errors were told");
}

/// Opens, inserts a row, and dies.
fn short_life(disk: &SimDisk, faults: Faults, id: i64) -> Result<(), Error> {
    disk.set_faults(faults);
    let db = Database::open(config(disk))?;
    insert(&db, &db.table("t")?, id)
}

/// Syncs of a directory fail in two lives, a life later the power fails in one, and what it keeps is drawn by seed. What the
/// lives after that say of it.
fn after_a_directory_that_failed(seeds: Range<u64>) -> Vec<String> {
    let prepared = prepare(1);
    let positions = || 5..8;
    let choices = positions().flat_map(|a| positions().flat_map(move |b| positions().map(move |c| (a, b, c))));
    let lives = |((first, second, crashed), seed)| {
        let mut disk = prepared.clone();
        for failed in [first, second] {
            disk = disk.kill(seed);
            let _ = short_life(&disk, Faults { dir_sync_error_at: Some(failed), ..Faults::default() }, ROWS);
        }
        let disk = disk.kill(seed);
        let _ = short_life(&disk, Faults { crash_in: Some((Kind::DirSync, crashed)), ..Faults::default() }, ROWS + 1);
        let mut disk = disk.survive(seed);
        let told = |error| format!("{first}, {second}, {crashed}, {seed}: {error}");
        for id in ROWS + 2..ROWS + 5 {
            short_life(&disk, Faults::default(), id).map_err(told)?;
            disk = disk.kill(seed);
        }
        let found = rows(&Database::open(config(&disk)).map_err(told)?);
        assert!(found >= ROWS + 3, "{first}, {second}, {crashed}, {seed}: {found} rows");
        Ok(())
    };
    let draws = choices.flat_map(|choice| seeds.clone().map(move |seed| (choice, seed)));
    draws.filter_map(|draw| lives(draw).err()).collect()
}

/// The sync of a directory fails, perhaps that which names the manifest; in the life after that the power fails, and what it
/// keeps is drawn by seed. What the next life says of it.
fn after_a_manifest_that_was_not_named() -> Result<(), String> {
    let prepared = prepare(1);
    for (failed, crashed, seed) in (4..8).flat_map(|a| (1..3).flat_map(move |b| (0..32).map(move |seed| (a, b, seed))))
    {
        let disk = prepared.kill(seed);
        let _ = short_life(&disk, Faults { dir_sync_error_at: Some(failed), ..Faults::default() }, ROWS);
        let disk = disk.kill(seed);
        let _ = short_life(&disk, Faults { crash_in: Some((Kind::DirSync, crashed)), ..Faults::default() }, ROWS + 1);
        let disk = disk.survive(seed);
        short_life(&disk, Faults::default(), ROWS + 2)
            .map_err(|error| format!("{failed}, {crashed}, {seed}: {error}"))?;
    }
    Ok(())
}

#[test]
fn an_identity_does_not_outlive_its_manifest() {
    after_a_manifest_that_was_not_named().unwrap();
    build_in(&[Mutation::ManifestUnsettled]);
    let error = after_a_manifest_that_was_not_named().expect_err("it does");
    assert!(error.contains("IDENTITY does not fit"), "{error}");
}

#[test]
fn a_file_has_one_name_after_a_directory_failed() {
    assert_eq!(after_a_directory_that_failed(0..8), Vec::<String>::new());
    build_in(&[Mutation::RenamedTwice]);
    // The records of begun generations are lost more often than a name is doubled, and threads decide with the seed.
    let mut errors = (0..32).flat_map(|round| after_a_directory_that_failed(8 * round..8 * round + 8));
    assert!(errors.any(|error| error.contains("belongs to generation")), "no file had two names");
}
