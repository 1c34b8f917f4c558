//! Checkpoints through the public API on the file system: taken under load, recovered from, damaged.

#[path = "support/copying.rs"]
mod copying;
mod support;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use copying::copy;
use osier::checkpoint::CheckpointState;
use osier::config::{CheckpointKind, Compression};
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, RecoveryError, Session, Table};
use support::config;

const ACCOUNTS: i64 = 200;

fn directory(name: &str) -> PathBuf {
    support::directory("checkpoint", name)
}

/// Accounts and their total, which transfers keep; every account has an owner, by whom it is found.
fn open_accounts(config: Config) -> (Database, Table) {
    let db = Database::open(config).expect("opened");
    let schema = Schema::builder("account").column("id", Type::Int64).column("cents", Type::Int64);
    let schema = schema.column("owner", Type::Int64).primary_key(["id"]).index("by_owner", ["owner"]);
    let table = match db.table("account") {
        Ok(table) => table,
        Err(_) => db.create_table(schema.build().expect("a schema")).expect("a table"),
    };
    (db, table)
}

fn fill(db: &Database, table: &Table) {
    for id in 0..ACCOUNTS {
        let row = [Value::Int(id), Value::Int(100), Value::Int(id % 9)];
        db.run(|tx| tx.insert(table, &row)).expect("an insert").1.wait().expect("durable");
    }
}

/// The rows by key, checked against the index.
fn accounts(db: &Database) -> Vec<(i64, i64)> {
    let table = db.table("account").expect("the table");
    let (id, cents) = (table.column("id").expect("id"), table.column("cents").expect("cents"));
    let rows = db.run(|tx| -> Result<Vec<_>, Error> {
        let rows = tx.scan(&table, KeyRange::all())?.collect::<Result<Vec<_>, _>>()?;
        assert_eq!(tx.scan_index(&table, "by_owner", KeyRange::all())?.count(), rows.len());
        Ok(rows.iter().map(|row| (row.int(id), row.int(cents))).collect())
    });
    rows.expect("a scan").0
}

fn total(accounts: &[(i64, i64)]) -> i64 {
    accounts.iter().map(|(_, cents)| cents).sum()
}

/// Moves cents between two keys; an account without a cent is deleted and comes back when it is given some.
fn transfer(session: &mut Session, table: &Table, rng: &mut fastrand::Rng) {
    let (from, to, amount) = (rng.i64(0..ACCOUNTS + 40), rng.i64(0..ACCOUNTS + 40), rng.i64(1..40));
    let cents = table.column("cents").expect("cents");
    let result = session.run(|tx| -> Result<(), Error> {
        let Some(row) = tx.get(table, &[Value::Int(from)])? else { return Ok(()) };
        let amount = amount.min(row.int(cents));
        if from == to {
            return Ok(());
        }
        match row.int(cents) - amount {
            0 => drop(tx.delete(table, &[Value::Int(from)])?),
            left => drop(tx.update(table, &[Value::Int(from)], &[(cents, Value::Int(left))])?),
        }
        let before = tx.get(table, &[Value::Int(to)])?.map(|row| row.int(cents));
        match before {
            Some(before) => drop(tx.update(table, &[Value::Int(to)], &[(cents, Value::Int(before + amount))])?),
            None => tx.insert(table, &[Value::Int(to), Value::Int(amount), Value::Int(from % 9)])?,
        }
        Ok(())
    });
    result.expect("a transfer");
}

/// Also where the body panics: nobody waits for threads that go on.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs transfers in two threads while `body` runs.
fn under_load<T>(db: &Database, table: &Table, body: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (stop, mut session) = (&stop, db.session().expect("a session"));
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                while !stop.load(Ordering::Relaxed) {
                    transfer(&mut session, table, &mut rng);
                }
            });
        }
        let _stop = StopOnDrop(&stop);
        body()
    })
}

#[test]
fn a_checkpoint_taken_under_load_is_recovered_from() {
    let epoch = [
        (Protocol::Serial, 1),
        (Protocol::Poplar, 1),
        (Protocol::Poplar, 3),
        (Protocol::Gsn, 3),
        (Protocol::Silo, 3),
        (Protocol::Plover, 3),
        (Protocol::Taurus, 3),
    ]
    .map(|it| (it, CheckpointKind::Epoch));
    for ((protocol, streams), kind) in epoch.into_iter().chain([((Protocol::Poplar, 3), CheckpointKind::Fuzzy)]) {
        let home = directory(&format!("load-{protocol:?}-{streams}-{kind:?}"));
        let mut config = config(&home, protocol, streams);
        (config.checkpoint_kind, config.checkpoint_threads) = (kind, 2);
        let (db, table) = open_accounts(config.clone());
        fill(&db, &table);
        let mut number = 0;
        let mut images = Vec::new();
        for round in 0..3 {
            let report = under_load(&db, &table, || {
                let report = db.checkpoint().expect("a checkpoint");
                // Something for the log to add to it.
                std::thread::sleep(std::time::Duration::from_millis(10));
                report
            });
            assert!(report.number > number && report.rows > 1, "{report:?}");
            number = report.number;
            // What a kill leaves: files that nobody writes while they are copied.
            let image = home.with_extension(format!("image{round}"));
            let written = || db.metrics().log.total().bytes;
            let mut before = None;
            while before != Some(written()) {
                before = Some(written());
                let _ = fs::remove_dir_all(&image);
                copy(&home, &image);
                // A marker follows the last batch by a millisecond.
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            images.push(image);
        }
        db.run(|tx| tx.replace(&table, &[Value::Int(1), Value::Int(0), Value::Int(0)])).expect("a change");
        let expected = accounts(&db);
        assert_eq!(db.metrics().checkpoints.taken, 3);
        db.close().expect("closed");
        let (db, _) = open_accounts(config.clone());
        let report = db.recovery().expect("recovered");
        assert_eq!(report.checkpoint, number, "{report}");
        assert!(report.covered > 0, "{report}");
        assert_eq!(accounts(&db), expected);
        db.close().expect("closed");
        for image in images {
            config.dirs = vec![image];
            let (db, _) = open_accounts(config.clone());
            assert!(db.recovery().expect("recovered").checkpoint > 0);
            assert_eq!(total(&accounts(&db)), 100 * ACCOUNTS);
        }
    }
}

#[test]
fn epochs_go_on_above_a_checkpoint() {
    let home = directory("epochs");
    // Epochs that stand still: what follows the reopening would have the checkpoint's epoch if they went on below it.
    for round in 0..6 {
        let mut config = config(&home, Protocol::Poplar, 1);
        config.epoch_interval = std::time::Duration::from_millis(if round % 2 == 0 { 1 } else { 1000 });
        let (db, table) = open_accounts(config);
        let row = [Value::Int(round), Value::Int(round), Value::Int(round)];
        db.run(|tx| tx.insert(&table, &row)).expect("an insert").1.wait().expect("durable");
        assert_eq!(accounts(&db).len() as i64, round + 1);
        if round % 2 == 0 {
            db.checkpoint().expect("a checkpoint");
        }
    }
}

#[test]
fn without_a_log_the_last_checkpoint_is_what_is_left() {
    let home = directory("none");
    let mut config = config(&home, Protocol::None, 1);
    config.checkpoint_compression = Compression::Lz4;
    let (db, table) = open_accounts(config.clone());
    fill(&db, &table);
    assert!(!home.exists(), "nothing is on disk before the first checkpoint");
    let rows = under_load(&db, &table, || db.checkpoint().expect("a checkpoint").rows);
    assert!(home.join("MANIFEST").exists());
    db.close().expect("closed");
    for _ in 0..2 {
        let (db, table) = open_accounts(config.clone());
        let found = accounts(&db);
        // The catalog's row is one of the checkpoint's.
        assert_eq!((found.len() as u64 + 1, total(&found)), (rows, 100 * ACCOUNTS));
        db.run(|tx| tx.insert(&table, &[Value::Int(1000), Value::Int(1), Value::Int(1)])).expect("an insert");
        db.close().expect("closed");
    }
    // A last checkpoint at close keeps what there was.
    config.checkpoint_at_close = true;
    let (db, table) = open_accounts(config.clone());
    db.run(|tx| tx.insert(&table, &[Value::Int(1000), Value::Int(1), Value::Int(1)])).expect("an insert");
    db.close().expect("closed");
    let (db, _) = open_accounts(config.clone());
    assert_eq!(total(&accounts(&db)), 100 * ACCOUNTS + 1);
    db.close().expect("closed");
    // With a log it goes on from there; and then it cannot go back.
    let (db, _) = open_accounts(config.clone().protocol(Protocol::Poplar));
    assert_eq!(total(&accounts(&db)), 100 * ACCOUNTS + 1);
    db.close().expect("closed");
    let error = Database::open(config).map(drop).expect_err("it logs by now");
    assert!(error.to_string().contains("or any other than none"), "{error}");
}

#[test]
fn a_part_that_is_not_what_was_written_stops_recovery_by_name() {
    let home = directory("damage");
    let config = config(&home, Protocol::Poplar, 1);
    let (db, table) = open_accounts(config.clone());
    fill(&db, &table);
    let report = db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    let part = home.join(format!("checkpoints/{:08}-0000.ckpt", report.number));
    let sound = fs::read(&part).expect("the part");
    let fails = |bytes: Option<Vec<u8>>, says: &str| {
        match bytes {
            Some(bytes) => fs::write(&part, bytes).expect("written"),
            None => fs::remove_file(&part).expect("removed"),
        }
        let error = Database::open(config.clone()).map(drop).expect_err(says);
        assert!(matches!(error, Error::Recovery(RecoveryError::Checkpoint(_))), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(says) && text.contains(part.to_str().expect("a name")) && text.contains("copy"),
            "{text}"
        );
    };
    for at in [3, 13, 100, 4096, 4100, 4130, 8192, 8200, 9000, sound.len() - 4096, sound.len() - 4080] {
        let mut bytes = sound.clone();
        bytes[at] ^= 4;
        fails(Some(bytes), "damaged at byte");
    }
    fails(Some(sound[..sound.len() - 4096].to_vec()), "damaged at byte");
    fails(Some(Vec::new()), "damaged at byte");
    fails(None, "is missing");
    // A part of another checkpoint, and of another database.
    let other = directory("damage-other");
    let other_config = Config { dirs: vec![other.clone()], ..config.clone() };
    let (db, table) = open_accounts(other_config);
    fill(&db, &table);
    let foreign = db.checkpoint().expect("a checkpoint").number;
    let foreign = fs::read(other.join(format!("checkpoints/{foreign:08}-0000.ckpt"))).expect("the part");
    if foreign.len() == sound.len() {
        fails(Some(foreign), "another database");
    }
    fs::write(&part, &sound).expect("written");
    let (db, _) = open_accounts(config.clone());
    assert_eq!(total(&accounts(&db)), 100 * ACCOUNTS);
    let next = db.checkpoint().expect("a checkpoint").number;
    // In pieces; the close removes the rest.
    db.close().expect("closed");
    assert!(!part.exists(), "the superseded checkpoint is removed");
    // What no manifest names is removed by the next open.
    let leftover = home.join("checkpoints/00000077-0000.ckpt");
    fs::write(&leftover, b"what a crash left").expect("written");
    let (db, _) = open_accounts(config);
    assert!(!leftover.exists());
    assert!(db.checkpoint().expect("a checkpoint").number > 77.max(next));
}

/// Somebody who has begun a transaction and thinks about it.
#[test]
fn an_open_transaction_holds_no_checkpoint_up() {
    let home = directory("open");
    let (db, table) = open_accounts(config(&home, Protocol::Poplar, 2));
    fill(&db, &table);
    let mut session = db.session().expect("a session");
    let open = session.begin();
    assert_eq!(open.scan(&table, KeyRange::all()).expect("a scan").count() as i64, ACCOUNTS);
    open.delete(&table, &[Value::Int(0)]).expect("a delete");
    assert_eq!(db.checkpoint().expect("a checkpoint").rows as i64, ACCOUNTS + 1);
    open.commit().expect("a commit").wait().expect("durable");
}

#[test]
fn a_table_that_is_dropped_meanwhile_is_in_the_checkpoint_of_its_time() {
    let home = directory("drop");
    let config = config(&home, Protocol::Poplar, 2).set("checkpoint_bytes_per_second", "4000").expect("a rate");
    let (db, table) = open_accounts(config.clone());
    fill(&db, &table);
    let report = std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| db.checkpoint());
        while db.metrics().checkpoints.state != CheckpointState::Writes {
            assert!(!checkpoint.is_finished(), "a second is enough to see it");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        db.run(|tx| tx.drop_table(&table)).expect("dropped").1.wait().expect("durable");
        assert!(!checkpoint.is_finished(), "it writes slowly");
        checkpoint.join().expect("no panic").expect("a checkpoint")
    });
    assert_eq!(report.rows as i64, ACCOUNTS + 1, "{report}");
    db.close().expect("closed");
    let db = Database::open(config).expect("opened");
    assert!(db.table("account").is_err(), "the log says that it is gone");
}

#[test]
fn a_checkpoint_is_taken_when_it_is_due() {
    for (name, trigger, value) in
        [("bytes", "checkpoint_log_bytes", "100000"), ("time", "checkpoint_interval_us", "50000")]
    {
        let config = config(&directory(name), Protocol::Poplar, 1).set(trigger, value).expect(trigger);
        let (db, table) = open_accounts(config);
        fill(&db, &table);
        under_load(&db, &table, || {
            wait_for_checkpoints(&db, 2);
        });
        assert!(db.metrics().checkpoints.failure.is_none());
    }
}

fn wait_for_checkpoints(db: &Database, count: u64) {
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while db.metrics().checkpoints.taken < count {
        assert!(std::time::Instant::now() < patience, "no checkpoint: {:?}", db.metrics().checkpoints);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// However long the interval: lives that are shorter must not pile up log.
#[test]
fn log_that_recovery_had_to_read_makes_a_checkpoint_due() {
    let home = directory("inherited");
    let config = || config(&home, Protocol::Poplar, 2).set("checkpoint_interval_us", "3600000000").expect("an hour");
    let (db, table) = open_accounts(config());
    fill(&db, &table);
    let state = accounts(&db);
    assert_eq!(db.metrics().checkpoints.taken, 0, "nothing was left to a new database");
    db.close().expect("closed");
    let db = Database::open(config()).expect("opened");
    wait_for_checkpoints(&db, 1);
    db.close().expect("closed");
    let db = Database::open(config()).expect("opened");
    assert_eq!(db.recovery().expect("a recovery").replayed, 0, "everything is covered");
    assert_eq!(accounts(&db), state);
}

/// What sessions may not take is there for a checkpoint.
#[test]
fn a_checkpoint_goes_on_beside_as_many_sessions_as_there_may_be() {
    let mut config = config(&directory("sessions"), Protocol::Poplar, 2);
    (config.sessions_max, config.checkpoint_threads) = (3, 4);
    let (db, table) = open_accounts(config);
    fill(&db, &table);
    let sessions: Vec<_> = (0..3).map(|_| db.session().expect("a session")).collect();
    let error = db.session().err().expect("there are three").to_string();
    assert!(error.contains("all 3 sessions are in use"), "{error}");
    assert!(db.run(|tx| tx.table("account")).is_err(), "that takes a session, too");
    db.checkpoint().expect("a checkpoint");
    drop(sessions);
    db.run(|tx| tx.table("account")).expect("there is room again");
    (0..3).map(|_| db.session().expect("as many as before")).for_each(drop);
}

/// A restore to the same place was killed after it had begun, or goes on.
#[test]
fn a_first_checkpoint_keeps_out_of_a_directory_that_is_being_restored() {
    let home = directory("unfinished");
    let (db, table) = open_accounts(config(&home, Protocol::None, 1));
    fill(&db, &table);
    fs::create_dir_all(&home).expect("a directory");
    let mark = home.join("UNFINISHED");
    fs::write(&mark, b"").expect("marked");
    let error = db.checkpoint().expect_err("it is not ours").to_string();
    assert!(error.contains("was being restored"), "{error}");
    assert!(!home.join("MANIFEST").exists(), "nothing of the database is there");
    fs::remove_file(&mark).expect("removed");
    db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    let (db, _) = open_accounts(config(&home, Protocol::None, 1));
    assert_eq!(total(&accounts(&db)), 100 * ACCOUNTS);
}
