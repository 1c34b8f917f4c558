//! Closes of one database by several threads: every one of them returns when the database is closed, with the same outcome.

mod support;

use std::time::Duration;
use std::{fs, thread};

use osier::checkpoint::CheckpointState;
use osier::table::{Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Table};

/// Epochs that last, so that closes meet; shorter than a close waits.
const EPOCH: Duration = Duration::from_millis(300);

fn open(config: Config) -> (Database, Table) {
    let db = Database::open(config).expect("opened");
    let schema = Schema::builder("t").column("id", Type::Int64).primary_key(["id"]).build().expect("a schema");
    let table = db.table("t").or_else(|_| db.create_table(schema)).expect("a table");
    (db, table)
}

fn insert(db: &Database, table: &Table, id: i64) {
    db.run(|tx| tx.insert(table, &[Value::Int(id)])).expect("an insert").1.wait().expect("durable");
}

fn has(config: Config, id: i64) -> bool {
    let (db, table) = open(config);
    db.run(|tx| -> Result<bool, Error> { Ok(tx.get(&table, &[Value::Int(id)])?.is_some()) }).expect("a read").0
}

/// Two threads close, the second one while the first waits for the epoch of its last checkpoint.
fn close_twice(db: &Database) -> [Result<(), Error>; 2] {
    thread::scope(|scope| {
        let first = scope.spawn(|| db.close());
        while !matches!(db.metrics().checkpoints.state, CheckpointState::WaitsForCommits(_)) && !first.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        let second = db.close();
        assert_eq!(db.metrics().checkpoints.state, CheckpointState::Idle, "the second one returns when all is done");
        [first.join().expect("no panic"), second]
    })
}

#[test]
fn a_second_close_waits_for_the_first() {
    for protocol in [Protocol::None, Protocol::Poplar] {
        let home = support::directory("close", &format!("waits-{protocol:?}"));
        let mut config = support::config(&home, protocol, 1);
        (config.checkpoint_at_close, config.epoch_interval) = (true, EPOCH);
        let (db, table) = open(config.clone());
        insert(&db, &table, 0);
        db.checkpoint().expect("a checkpoint");
        insert(&db, &table, 1);
        for (which, closed) in ["first", "second"].into_iter().zip(close_twice(&db)) {
            closed.unwrap_or_else(|error| panic!("{protocol:?}, the {which} close: {error}"));
        }
        db.close().expect("it is closed already");
        drop((table, db));
        assert!(has(config, 1), "{protocol:?}: the last checkpoint was lost");
    }
}

#[test]
fn a_second_close_says_why_the_first_failed() {
    let home = support::directory("close", "fails");
    let mut config = support::config(&home, Protocol::None, 1);
    config.checkpoint_at_close = true;
    let (db, table) = open(config.clone());
    insert(&db, &table, 0);
    let before = db.checkpoint().expect("a checkpoint").number;
    insert(&db, &table, 1);
    // Where the next one is to be.
    let blocked = home.join(format!("checkpoints/{:08}-0000.ckpt", before + 1));
    fs::create_dir(&blocked).expect("a directory");
    let closed = close_twice(&db);
    let [first, second] = closed.map(|closed| closed.expect_err("the last checkpoint could not be taken").to_string());
    assert!(first.contains(&blocked.display().to_string()), "{first}");
    assert_eq!(second, first);
    let third = db.close().expect_err("it has failed").to_string();
    assert_eq!(third, first);
    drop((table, db));
    fs::remove_dir(&blocked).expect("removed");
    assert!(has(config, 0), "the checkpoint before is valid");
}
