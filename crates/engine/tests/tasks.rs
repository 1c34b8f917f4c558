//! A background task that dies of a panic stops acknowledgements and checkpoints, and says why. (Loggers die in the simulation.)

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use osier::io::Clock;
use osier::table::{Schema, Type, Value};
use osier::{Database, Error, Protocol};

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

#[test]
fn a_dead_ticker_stops_acknowledgements_and_checkpoints() {
    let victim = "osier-epoch";
    let home = support::directory("tasks", "ticker");
    let mut config = support::config(&home, Protocol::Poplar, 2);
    let clock = config.environment.clock.clone();
    let deadly = Arc::new(DeadlyClock { clock, victim, is_armed: AtomicBool::new(false) });
    config.environment.clock = deadly.clone();
    let db = Database::open(config).expect("opened");
    let schema = Schema::builder("t").column("id", Type::Int64).primary_key(["id"]).build().expect("a schema");
    let table = db.create_table(schema).expect("a table");
    deadly.is_armed.store(true, Ordering::SeqCst);
    let mut acknowledged = 0;
    let failure = loop {
        let inserted: Result<_, Error> = db.run(|tx| tx.insert(&table, &[Value::Int(acknowledged)]));
        match inserted.and_then(|(_, receipt)| Ok(receipt.wait()?)) {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(failure.to_string().contains(victim), "{failure}");
    let failure = db.checkpoint().expect_err("epochs stand still");
    assert!(failure.to_string().contains(victim), "{failure}");
    assert!(db.close().is_err(), "it cannot be closed as if nothing had happened");
    drop((table, db));

    let db = Database::open(support::config(&home, Protocol::Poplar, 2)).expect("opened again");
    let table = db.table("t").expect("the table");
    for id in 0..acknowledged {
        let is_there = db.run(|tx| -> Result<bool, Error> { Ok(tx.get(&table, &[Value::Int(id)])?.is_some()) });
        assert!(is_there.expect("a read").0, "{id} was acknowledged");
    }
}
