//! Every transaction that begins also ends, once, on whatever path; and a conflict that an access met is its outcome. What the
//! scheme was asked is counted by the one that watches its callers (concurrency/watched_for_tests.rs).

use std::path::PathBuf;

use super::{Durability, Session, Transaction, TransactionOptions};
use crate::concurrency::watched_for_tests::{Lost, Watch, lose_next, watched};
use crate::config::{Config, Protocol};
use crate::database::Database;
use crate::error::{Error, TransactionError};
use crate::table::{KeyRange, Schema, Table, Type, Value};

/// Rows that are too long for one record of the log.
const IN_PARTS: usize = 50_000;
/// Rows that are too long for memory.
const TOO_LONG: usize = 9 << 20;
/// Four of these fill the ring.
const LONG: usize = 15_000;

/// A table that is known to a session, and another session beside it.
struct World {
    home: PathBuf,
    db: Database,
    table: Table,
    session: Session,
    other: Session,
}

impl World {
    fn new(name: &str, protocol: Protocol) -> World {
        let home = std::env::temp_dir().join(format!("osier-end-{name}-{}", std::process::id()));
        let mut config = Config::new(&home).protocol(protocol);
        (config.transaction_log_bytes_max, config.ring_bytes) = (16 << 10, 64 << 10);
        config.memory_limit = 8 << 20;
        let db = Database::open(config).expect("opened");
        let schema =
            Schema::builder("rows").column("id", Type::Int64).column("content", Type::Bytes).primary_key(["id"]);
        let table = db.create_table(schema.build().expect("a schema")).expect("a table");
        let mut world =
            World { home, table, session: db.session().expect("one"), other: db.session().expect("another"), db };
        world.put(1).expect("an upsert");
        watched();
        world
    }

    /// In the other session.
    fn put(&mut self, id: i64) -> Result<(), Error> {
        let table = &self.table;
        self.other.run(|tx| tx.upsert(table, &[Value::Int(id), Value::Bytes(&[])])).map(drop)
    }

    fn end(self) {
        let World { home, db, session, other, .. } = self;
        drop((session, other));
        db.close().expect("closed");
        drop(db);
        let _ = std::fs::remove_dir_all(home);
    }
}

fn row(id: i64, content: &[u8]) -> [Value<'_>; 2] {
    [Value::Int(id), Value::Bytes(content)]
}

/// So many transactions began, and ended; what else there is, is `rest`.
fn assert_ended(transactions: u32, rest: Watch, path: &str) {
    assert_eq!(watched(), Watch { begun: transactions, ended: transactions, ..rest }, "{path}");
}

const NOTHING: Watch = Watch { begun: 0, ended: 0, locked: 0, unlocked: 0, installed: 0 };
const COMMIT: Watch = Watch { locked: 1, installed: 1, ..NOTHING };

#[test]
fn a_transaction_ends_once_when_it_commits_or_is_rolled_back() {
    let mut world = World::new("paths", Protocol::None);
    let World { table, session, .. } = &mut world;

    let tx = session.begin();
    tx.upsert(table, &row(1, &[])).expect("an upsert");
    tx.commit().expect("a commit");
    assert_ended(1, COMMIT, "a commit");

    let tx = session.begin();
    assert!(tx.get(table, &[Value::Int(1)]).expect("a read").is_some());
    tx.commit().expect("a commit");
    assert_ended(1, NOTHING, "a reader");

    for reads in [false, true] {
        let tx = session.begin();
        if reads {
            assert!(tx.get(table, &[Value::Int(1)]).expect("a read").is_some());
        }
        tx.upsert(table, &row(2, &[])).expect("an upsert");
        tx.abort().expect("an abort");
        assert_ended(1, NOTHING, "an abort");
    }

    for id in [1, 3] {
        let tx = session.begin();
        tx.upsert(table, &row(id, &[])).expect("an upsert");
        let savepoint = tx.savepoint();
        tx.upsert(table, &row(id + 10, &[])).expect("an upsert");
        tx.rollback_to(savepoint).expect("a rollback");
        drop(tx);
        assert_ended(1, NOTHING, "a drop");
    }

    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let tx = session.begin();
        tx.upsert(table, &row(1, &[])).expect("an upsert");
        panic!("in the middle of a transaction");
    }));
    assert!(died.is_err());
    assert_ended(1, NOTHING, "a panic");
    world.end();
}

#[test]
fn a_transaction_ends_once_when_it_conflicts_or_is_refused() {
    let mut world = World::new("refusals", Protocol::Poplar);

    for writes in [false, true] {
        let tx = world.session.begin();
        assert!(tx.get(&world.table, &[Value::Int(1)]).expect("a read").is_some());
        if writes {
            tx.upsert(&world.table, &row(2, &[])).expect("an upsert");
        }
        let table = &world.table;
        world.other.run(|tx| tx.upsert(table, &row(1, &[]))).expect("an upsert");
        assert_eq!(watched(), Watch { begun: 2, ended: 1, ..COMMIT }, "the other one has ended");
        assert!(tx.commit().expect_err("a conflict").is_conflict());
        let rest = if writes { Watch { locked: 1, unlocked: 1, ..NOTHING } } else { NOTHING };
        assert_eq!(watched(), Watch { ended: 1, ..rest }, "a transaction whose validation fails");
    }

    let tx = world.session.begin();
    tx.upsert(&world.table, &row(2, &[])).expect("an upsert");
    lose_next(Lost::Lock);
    assert!(tx.commit().expect_err("a conflict").is_conflict());
    assert_ended(1, NOTHING, "a transaction that cannot lock");

    let tx = world.session.begin();
    tx.upsert(&world.table, &row(2, &[0; TOO_LONG])).expect("an upsert");
    let refused = tx.commit().expect_err("a refusal");
    assert!(matches!(refused, Error::Transaction(TransactionError::MemoryLimit { .. })), "{refused}");
    assert_ended(1, NOTHING, "a refusal");

    let tx = world.session.begin();
    tx.upsert(&world.table, &row(2, &[0; IN_PARTS])).expect("an upsert");
    tx.commit().expect("a commit");
    assert_ended(1, COMMIT, "a transaction in parts");

    let tx = world.session.begin();
    assert!(tx.get(&world.table, &[Value::Int(1)]).expect("a read").is_some());
    tx.upsert(&world.table, &row(2, &[0; IN_PARTS])).expect("an upsert");
    let table = &world.table;
    world.other.run(|tx| tx.upsert(table, &row(1, &[]))).expect("an upsert");
    watched();
    assert!(tx.commit().expect_err("a conflict").is_conflict());
    assert_eq!(watched(), Watch { ended: 1, ..NOTHING }, "a transaction in parts that has lost before the first one");

    world.db.close().expect("closed");
    let tx = world.session.begin();
    assert!(matches!(tx.commit(), Err(Error::Log(_))));
    assert_ended(1, NOTHING, "a transaction of a closed database");
    world.end();
}

#[test]
fn a_transaction_that_finds_no_room_in_the_log_locks_again_and_ends_once() {
    let mut world = World::new("room", Protocol::Poplar);
    let options = TransactionOptions { durability: Durability::Relaxed, ..TransactionOptions::default() };
    let (mut seen, mut transactions) = (NOTHING, 0);
    while seen.unlocked == 0 {
        assert!(transactions < 100_000, "the device is faster than one thread that writes");
        transactions += 1;
        let tx = world.session.begin_with(options);
        tx.upsert(&world.table, &row(2, &[0; LONG])).expect("an upsert");
        tx.commit().expect("a commit");
        seen = watched();
        assert_eq!((seen.begun, seen.ended, seen.installed), (1, 1, 1));
        assert_eq!(seen.locked, 1 + seen.unlocked, "locks are given back before the wait");
    }
    world.end();
}

#[test]
fn a_conflict_that_an_access_met_is_the_outcome_of_the_transaction() {
    let mut world = World::new("accesses", Protocol::None);
    let World { table, session, .. } = &mut world;

    // Its validation would succeed: nobody has changed anything.
    for commits in [false, true] {
        let tx = session.begin();
        tx.upsert(table, &row(2, &[])).expect("an upsert");
        lose_next(Lost::Access);
        let error = tx.get(table, &[Value::Int(1)]).expect_err("a conflict");
        assert!(error.is_conflict(), "{error}");
        let ended = if commits { tx.commit() } else { tx.abort() };
        assert!(ended.expect_err("it stays one").is_conflict());
        assert_ended(1, NOTHING, "a conflict of an access");
    }

    // Whatever the body makes of the conflict, it runs again.
    type Access = fn(&Transaction<'_>, &Table) -> Result<(), Error>;
    let accesses: [Access; 4] = [
        |tx, table| tx.get(table, &[Value::Int(1)]).map(drop),
        |tx, table| tx.replace(table, &row(1, &[])).map(drop),
        |tx, table| tx.upsert(table, &row(1, &[])),
        |tx, table| tx.scan(table, KeyRange::all()).map(|rows| rows.for_each(drop)),
    ];
    for access in accesses {
        for swallows in [false, true] {
            let mut attempts = 0;
            let run = session.run(|tx| {
                attempts += 1;
                if attempts == 1 {
                    lose_next(Lost::Access);
                }
                match access(tx, table) {
                    Err(_) if swallows => Ok(()),
                    accessed => accessed,
                }
            });
            run.expect("the second attempt commits");
            assert_eq!((attempts, watched().ended), (2, 2));
        }
    }
    world.end();
}
