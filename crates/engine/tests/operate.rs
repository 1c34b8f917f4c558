//! Status and the control socket through the public API on the file system, and taking a database back.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use osier::config::CheckpointKind;
use osier::control::{Answer, Request, SOCKET_NAME, ask};
use osier::ids::WallTime;
use osier::status::DatabaseState;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, RecoveryError, Table, Until, explain, status};

fn directory(name: &str) -> PathBuf {
    support::directory("operate", name)
}

fn config(home: &Path) -> Config {
    support::config(home, Protocol::Poplar, 2)
}

fn open(config: Config) -> (Database, Table) {
    let db = Database::open(config).expect("opened");
    let schema = Schema::builder("t").column("id", Type::Int64).primary_key(["id"]).build().expect("a schema");
    let table = db.table("t").or_else(|_| db.create_table(schema)).expect("a table");
    (db, table)
}

/// Inserts a row and returns the epoch in which that is certainly over.
fn insert(db: &Database, table: &Table, id: i64) -> u64 {
    db.run(|tx| tx.insert(table, &[Value::Int(id)])).expect("an insert").1.wait().expect("durable");
    let epoch = db.status().expect("a status").live.expect("it is open").epoch;
    while db.status().expect("a status").live.expect("it is open").ended_epoch <= epoch {
        std::thread::sleep(Duration::from_millis(1));
    }
    epoch
}

fn ids(db: &Database, table: &Table) -> Vec<i64> {
    let id = table.column("id").expect("id");
    let scan = db
        .run(|tx| -> Result<Vec<_>, Error> { tx.scan(table, KeyRange::all())?.map(|row| Ok(row?.int(id))).collect() });
    scan.expect("a scan").0
}

fn live(home: &Path) -> osier::Status {
    match ask(home, &Request::Status).expect("an answer").expect("somebody listens") {
        Answer::Status(status) => *status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_process_that_has_it_open_answers_and_the_socket_goes_with_it() {
    // Longer than the address of a socket may be.
    let home = directory(&"deep/".repeat(30));
    fs::create_dir_all(&home).expect("a directory");
    let mut config = config(&home);
    config.control_socket = true;
    let (db, table) = open(config.clone());
    let socket = home.join(SOCKET_NAME);
    assert_eq!(fs::metadata(&socket).expect("a socket").permissions().mode() & 0o777, 0o600);
    insert(&db, &table, 1);
    let status = live(&home);
    let process = status.live.as_ref().expect("it is open");
    assert_eq!((status.state, process.pid), (DatabaseState::Open, std::process::id()));
    assert!(process.committed >= 2 && process.stable > 0 && process.streams.len() == 2, "{status}");
    assert!(status.checkpoints.is_empty() && !status.blocks.is_empty(), "{status}");
    assert!(status.to_string().contains("no checkpoint was taken"), "{status}");
    let Some(Answer::Checkpoint(taken)) = ask(&home, &Request::Checkpoint).expect("an answer") else { panic!() };
    assert_eq!(taken.checkpoint.kind, CheckpointKind::Epoch);
    let status = live(&home);
    assert_eq!((status.checkpoints.len(), status.checkpoints[0].number), (1, taken.checkpoint.number));
    assert!(status.to_string().contains("what came after checkpoint"), "{status}");
    db.close().expect("closed");
    assert!(!socket.exists());
    assert!(ask(&home, &Request::Status).expect("no error").is_none());
    let closed = status_of(&config);
    assert_eq!((closed.state, closed.checkpoints.len(), closed.generation), (DatabaseState::Closed, 1, 1));
}

fn status_of(config: &Config) -> osier::Status {
    status(config).expect("a status")
}

#[test]
fn a_checkpoint_that_waits_says_for_what() {
    let home = directory("waits");
    let mut config = config(&home);
    (config.control_socket, config.epoch_interval) = (true, Duration::from_millis(500));
    let (_db, _table) = open(config);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&home, &Request::Checkpoint));
        while !live(&home).live.expect("it is open").checkpoint.contains("waits for the end of epoch") {
            assert!(!asked.is_finished());
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(matches!(asked.join().expect("no panic"), Ok(Some(Answer::Checkpoint(_)))));
    });
}

#[test]
fn a_stale_socket_is_replaced_and_nonsense_is_answered() {
    let home = directory("stale");
    fs::create_dir_all(&home).expect("a directory");
    let socket = home.join(SOCKET_NAME);
    drop(UnixListener::bind(&socket).expect("a socket"));
    assert!(ask(&home, &Request::Status).expect("no error").is_none(), "nobody listens");
    let mut config = config(&home);
    config.control_socket = true;
    let (db, _) = open(config);
    use std::io::{Read, Write};
    for nonsense in ["", "status", "{\"reboot\":1}", "\u{0}"] {
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).expect("connected");
        stream.write_all(format!("{nonsense}\n").as_bytes()).expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains("\"failed\"") && answer.contains("is not understood"), "{answer}");
    }
    // Whoever says nothing holds nobody up, nor the close.
    let silent = std::os::unix::net::UnixStream::connect(&socket).expect("connected");
    assert_eq!(live(&home).state, DatabaseState::Open);
    db.close().expect("closed");
    drop(silent);
}

#[test]
fn a_database_is_taken_back_with_its_checkpoint_or_not_at_all() {
    for kind in [CheckpointKind::Epoch, CheckpointKind::Fuzzy] {
        let home = directory(&format!("back-{kind:?}"));
        let mut config = config(&home);
        config.checkpoint_kind = kind;
        let (db, table) = open(config.clone());
        let early = insert(&db, &table, 1);
        db.checkpoint().expect("a checkpoint");
        let epochs: Vec<u64> = (2..6).map(|id| insert(&db, &table, id)).collect();
        db.close().expect("closed");
        let back = |epoch| Config { until: Some(Until::Epoch(osier::ids::Epoch(epoch))), ..config.clone() };
        let error = Database::open(back(early)).map(drop).expect_err("it is before the checkpoint");
        assert!(matches!(error, Error::Recovery(RecoveryError::Until { .. })), "{error}");
        assert!(error.to_string().contains("restore a backup from before"), "{error}");
        let plan = explain(&back(epochs[1])).expect("a plan");
        assert!(plan.after >= 2 && plan.checkpoint.is_some(), "{plan}");
        let (db, table) = open(back(epochs[1]));
        assert_eq!(ids(&db, &table), [1, 2, 3]);
        insert(&db, &table, 9);
        db.close().expect("closed");
        for _ in 0..2 {
            let (db, table) = open(config.clone());
            assert_eq!(ids(&db, &table), [1, 2, 3, 9]);
            db.checkpoint().expect("a checkpoint");
            db.close().expect("closed");
        }
    }
}

/// What only a checkpoint holds may be of any time up to the one at which it was taken.
#[test]
fn a_time_before_what_only_the_checkpoint_holds_is_refused() {
    let home = directory("checkpoint-time");
    let (db, table) = open(config(&home));
    let empty = WallTime::now(&*db.config().environment.clock);
    insert(&db, &table, 1);
    db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    let (db, _) = open(config(&home));
    db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    // Where the log is empty it is the checkpoint that the database ends with.
    for (until, says) in
        [(empty, "may hold what came later"), (WallTime::of_second(1 << 33), "in its checkpoint 2, which was")]
    {
        let error = explain(&config(&home).until(Until::Time(until))).expect_err("no such time").to_string();
        assert!(error.contains(says), "{error}");
    }
    let (db, table) = open(config(&home));
    insert(&db, &table, 2);
    let two = WallTime::now(&*db.config().environment.clock);
    insert(&db, &table, 3);
    db.close().expect("closed");
    let error = explain(&config(&home).until(Until::Time(empty))).expect_err("it had no row by then");
    assert!(error.to_string().contains("may hold what came later"), "{error}");
    let (db, table) = open(config(&home).until(Until::Time(two)));
    assert_eq!(ids(&db, &table), [1, 2]);
}

#[test]
fn snapshots_and_what_is_kept_for_them_are_shown() {
    let home = directory("snapshots");
    let mut config = config(&home).set("snapshot_age_max_us", "600000000").expect("a limit");
    config.control_socket = true;
    let (db, table) = open(config);
    (0..20).for_each(|id| assert!(insert(&db, &table, id) > 0));
    assert!(!live(&home).to_string().contains("\n  snapshots "), "there is nothing to say");
    let (first, second) = (db.snapshot().expect("a snapshot"), db.snapshot().expect("another one"));
    (0..10).for_each(|id| drop(db.run(|tx| tx.delete(&table, &[Value::Int(id)])).expect("a delete")));
    let shown = live(&home);
    let text = shown.to_string();
    let snapshots = &shown.live.as_ref().expect("it is open").snapshots;
    let oldest = snapshots.oldest.expect("one is open");
    assert!(snapshots.open >= 1 && snapshots.versions >= 10 && snapshots.bytes > 0, "{snapshots:?}");
    assert_eq!((oldest.epoch, snapshots.ended), (first.epoch().0, 0));
    assert!(oldest.seconds > 0.0 && oldest.bytes <= snapshots.bytes, "{snapshots:?}");
    let parts = ["\n  snapshots ", " kept for them; 0 ended by limits", "the oldest  of epoch "];
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    drop((first, second));
    assert_eq!(live(&home).live.expect("it is open").snapshots.open, 0);
    db.close().expect("closed");
    assert!(status(&support::config(&home, Protocol::Poplar, 2)).expect("its files").live.is_none());
}
