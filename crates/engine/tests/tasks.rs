//! A background task that dies of a panic stops acknowledgements and checkpoints, and says why. (Loggers die in the simulation.)

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use osier::io::Clock;
use osier::table::{Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Table};

/// How long the database may take until it notices.
const PATIENCE: Duration = Duration::from_secs(60);

/// Kills the thread of this name when it next asks for the time.
struct DeadlyClock {
    clock: Arc<dyn Clock>,
    victim: &'static str,
    is_armed: AtomicBool,
}

impl Clock for DeadlyClock {
    fn now(&self) -> Duration {
        let is_victim = thread::current().name() == Some(self.victim);
        assert!(!(is_victim && self.is_armed.load(Ordering::SeqCst)), "the test kills {}", self.victim);
        self.clock.now()
    }

    fn wall(&self) -> SystemTime {
        self.clock.wall()
    }

    fn sleep(&self, duration: Duration) {
        self.clock.sleep(duration);
    }
}

/// A database whose thread `victim` dies when the clock is armed, and its table.
fn with_victim(home: &Path, protocol: Protocol, victim: &'static str) -> (Database, Table, Arc<DeadlyClock>) {
    let mut config = support::config(home, protocol, 2);
    config.checkpoint_at_close = protocol == Protocol::None;
    let clock = config.environment.clock.clone();
    let deadly = Arc::new(DeadlyClock { clock, victim, is_armed: AtomicBool::new(false) });
    config.environment.clock = deadly.clone();
    let db = Database::open(config).expect("opened");
    let schema = Schema::builder("t").column("id", Type::Int64).primary_key(["id"]).build().expect("a schema");
    let table = db.create_table(schema).expect("a table");
    (db, table, deadly)
}

fn insert(db: &Database, table: &Table, id: i64) -> Result<(), Error> {
    let (_, receipt) = db.run(|tx| tx.insert(table, &[Value::Int(id)]))?;
    Ok(receipt.wait()?)
}

/// Inserts until that fails; how many rows were acknowledged, and the error.
fn insert_until_it_fails(db: &Database, table: &Table) -> (i64, Error) {
    let begun = Instant::now();
    for id in 0.. {
        if let Err(error) = insert(db, table, id) {
            return (id, error);
        }
        assert!(begun.elapsed() < PATIENCE, "commits go on");
    }
    unreachable!("it fails, or there is no patience left")
}

fn expect_rows(config: Config, count: i64) {
    let db = Database::open(config).expect("opened again");
    let table = db.table("t").expect("the table");
    for id in 0..count {
        let is_there = db.run(|tx| -> Result<bool, Error> { Ok(tx.get(&table, &[Value::Int(id)])?.is_some()) });
        assert!(is_there.expect("a read").0, "{id} was acknowledged");
    }
}

#[test]
fn a_dead_ticker_stops_acknowledgements_and_checkpoints() {
    let victim = "osier-epoch";
    let home = support::directory("tasks", "ticker");
    let (db, table, deadly) = with_victim(&home, Protocol::Poplar, victim);
    deadly.is_armed.store(true, Ordering::SeqCst);
    let (acknowledged, failure) = insert_until_it_fails(&db, &table);
    assert!(failure.to_string().contains(victim), "{failure}");
    let failure = db.checkpoint().expect_err("epochs stand still");
    assert!(failure.to_string().contains(victim), "{failure}");
    assert!(db.close().is_err(), "it cannot be closed as if nothing had happened");
    drop((table, db));
    expect_rows(support::config(&home, Protocol::Poplar, 2), acknowledged);
}

/// It looks after the directories, too.
#[test]
fn a_dead_checkpointer_stops_acknowledgements_and_checkpoints() {
    let victim = "osier-checkpoint";
    let home = support::directory("tasks", "checkpointer");
    let (db, table, deadly) = with_victim(&home, Protocol::Poplar, victim);
    deadly.is_armed.store(true, Ordering::SeqCst);
    let (acknowledged, failure) = insert_until_it_fails(&db, &table);
    assert!(failure.to_string().contains(victim), "{failure}");
    assert_eq!(failure.sqlstate(), "XX000");
    let failure = db.checkpoint().expect_err("nobody takes one");
    assert!(failure.to_string().contains(victim), "{failure}");
    assert_eq!(failure.sqlstate(), "XX000");
    assert!(db.metrics().checkpoints.failure.is_some_and(|failure| failure.to_string().contains(victim)));
    assert!(db.close().is_err(), "it cannot be closed as if nothing had happened");
    drop((table, db));
    expect_rows(support::config(&home, Protocol::Poplar, 2), acknowledged);
}

/// A checkpoint before was valid, and the one that the close wanted never came.
#[test]
fn a_close_tells_that_its_checkpoint_died() {
    let home = support::directory("tasks", "close");
    let (db, table, deadly) = with_victim(&home, Protocol::None, "osier-checkpoint");
    insert(&db, &table, 0).expect("a row");
    db.checkpoint().expect("a checkpoint");
    insert(&db, &table, 1).expect("a row");
    deadly.is_armed.store(true, Ordering::SeqCst);
    let failure = db.close().expect_err("a row is lost");
    assert!(failure.to_string().contains("osier-checkpoint"), "{failure}");
    drop((table, db));
    expect_rows(support::config(&home, Protocol::None, 2), 1);
}
