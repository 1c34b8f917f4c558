//! The path of a commit through the public API: stamps over changes of protocol, what a refusal may tell and when, waiting for
//! room in the log, and a log that cannot be started.

#[path = "support/stalling.rs"]
mod stalling;
mod support;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use osier::ids::Stamp;
use osier::io::{Joiner, OsSpawn, Signal, Spawn, Step, Task};
use osier::table::{Schema, Table, Type, Value};
use osier::{Config, Database, Error, Protocol, Receipt, Session, TransactionError};
use stalling::Stalling;
use support::config;

/// How long a step may take that nothing holds up.
const PATIENCE: Duration = Duration::from_secs(60);
/// A group commit interval beside which other steps take no time.
const SLOW_GROUP: Duration = Duration::from_millis(300);

fn directory(name: &str) -> PathBuf {
    support::directory("commit_path", name)
}

fn rows(db: &Database) -> Table {
    let schema = Schema::builder("rows").column("id", Type::Int64).column("content", Type::Bytes).primary_key(["id"]);
    db.create_table(schema.build().expect("a schema")).expect("a table")
}

fn put(session: &mut Session, table: &Table, id: i64, content: &[u8]) -> Receipt {
    session.run(|tx| tx.upsert(table, &[Value::Int(id), Value::Bytes(content)])).expect("an upsert").1
}

/// The content of a row, durable when it is returned.
fn content(db: &Database, table: &Table, id: i64) -> Option<Vec<u8>> {
    let column = table.column("content").expect("the column");
    let read = db
        .run(|tx| -> Result<_, Error> { Ok(tx.get(table, &[Value::Int(id)])?.map(|row| row.bytes(column).to_vec())) });
    let (content, receipt) = read.expect("a read");
    receipt.wait().expect("what was read is durable");
    content
}

/// Runs `body` in a thread; what it returns arrives here.
fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = channel();
    thread::spawn(move || drop(sender.send(body())));
    receiver
}

/// Writes one row until its stamp is far beyond the length of a small log, and keeps it in a checkpoint.
fn stamp_without_a_log(home: &Path) -> Stamp {
    let db = Database::open(config(home, Protocol::None, 1)).expect("opened");
    let (table, mut session) = (rows(&db), db.session().expect("a session"));
    let last = (0..20_000_u32).map(|round| put(&mut session, &table, 7, &round.to_le_bytes()).stamp()).last();
    db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    last.expect("there were rounds")
}

#[test]
fn stamps_without_a_log_outlive_it() {
    let ways: [&[(Protocol, u32)]; 5] = [
        &[(Protocol::Serial, 1)],
        &[(Protocol::None, 1), (Protocol::Serial, 1), (Protocol::Poplar, 3)],
        &[(Protocol::Poplar, 3), (Protocol::Poplar, 1), (Protocol::Serial, 1)],
        &[(Protocol::None, 2), (Protocol::Poplar, 4), (Protocol::Poplar, 2)],
        &[
            (Protocol::Gsn, 3),
            (Protocol::Poplar, 2),
            (Protocol::Gsn, 2),
            (Protocol::Serial, 1),
            (Protocol::Gsn, 1),
            (Protocol::Silo, 3),
            (Protocol::Plover, 3),
            (Protocol::Taurus, 3),
        ],
    ];
    for (way, steps) in ways.iter().enumerate() {
        let home = directory(&format!("stamps-{way}"));
        let mut last = stamp_without_a_log(&home);
        for (step, (protocol, streams)) in steps.iter().enumerate() {
            let db = Database::open(config(&home, *protocol, *streams)).expect("opened");
            let floor = db.recovery().expect("it was recovered").max_seen;
            assert!(floor >= last, "way {way}, step {step}: stamps go on from {floor}, {last} was given");
            let (table, mut session) = (db.table("rows").expect("the table"), db.session().expect("a session"));
            assert!(content(&db, &table, 7).is_some());
            let receipt = put(&mut session, &table, 7, b"again");
            receipt.wait().expect("durable");
            assert!(receipt.stamp() > last);
            if *protocol == Protocol::None {
                db.checkpoint().expect("a checkpoint");
            }
            last = receipt.stamp();
            assert_eq!(content(&db, &table, 7).as_deref(), Some(&b"again"[..]));
            db.close().expect("closed");
            if *protocol != Protocol::None {
                let back = Database::open(config(&home, Protocol::None, 1)).map(drop).expect_err("it logs by now");
                assert!(back.to_string().contains("or any other than none"), "{back}");
            }
        }
    }
}

/// A database in whose memory one row fits, and not two; they fit in one record or are in parts.
fn narrow(name: &str, log: &str) -> (Database, Table, Vec<u8>) {
    let mut config = config(&directory(name), Protocol::Poplar, 2);
    config.group_commit_interval = SLOW_GROUP;
    config.memory_limit = 1 << 20;
    config.ring_bytes = 16 << 20;
    config.segment_bytes = 32 << 20;
    if log == "whole" {
        config.transaction_log_bytes_max = 4 << 20;
    }
    let large = 3 << 19;
    let db = Database::open(config).expect("opened");
    let table = rows(&db);
    (db, table, vec![1; large])
}

/// Writes more than one transaction may.
fn overfill(tx: &osier::Transaction<'_>, table: &Table, large: &[u8]) {
    for id in 100..102 {
        tx.upsert(table, &[Value::Int(id), Value::Bytes(large)]).expect("each fits");
    }
}

fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Transaction(TransactionError::MemoryLimit { .. }))
}

#[test]
fn a_refusal_that_rests_on_what_has_changed_is_a_conflict() {
    for limit in ["whole", "in parts"] {
        let (db, table, large) = narrow(&format!("conflict-{limit}"), limit);
        let (mut one, mut other) = (db.session().expect("a session"), db.session().expect("a session"));
        put(&mut one, &table, 1, b"before");
        let tx = one.begin();
        assert!(tx.get(&table, &[Value::Int(1)]).expect("a read").is_some());
        overfill(&tx, &table, &large);
        put(&mut other, &table, 1, b"after");
        let error = tx.commit().expect_err("refused");
        assert!(error.is_conflict(), "{limit}: the reason rests on a row that has changed: {error}");
        // Nothing of it took effect, and it is refused for good where what it read holds.
        let tx = one.begin();
        assert!(tx.get(&table, &[Value::Int(1)]).expect("a read").is_some());
        assert!(tx.get(&table, &[Value::Int(100)]).expect("a read").is_none());
        overfill(&tx, &table, &large);
        let error = tx.commit().expect_err("refused");
        assert!(is_refusal(&error), "{limit}: {error}");
        assert_eq!(db.metrics().aborted, 2, "{limit}");
    }
}

#[test]
fn a_refusal_is_told_when_what_it_rests_on_is_durable() {
    for limit in ["whole", "in parts"] {
        let (db, table, large) = narrow(&format!("durable-{limit}"), limit);
        let (mut one, mut other) = (db.session().expect("a session"), db.session().expect("a session"));
        for round in 0..2_u8 {
            let written = put(&mut other, &table, 1, &[round]);
            let tx = one.begin();
            assert!(tx.get(&table, &[Value::Int(1)]).expect("a read").is_some());
            overfill(&tx, &table, &large);
            let error = tx.commit().expect_err("refused");
            assert!(written.is_acknowledged().expect("the log is sound"), "{limit}: it was told too early: {error}");
            assert!(is_refusal(&error), "{limit}: {error}");
        }
    }
}

/// Threads of the system, of which one cannot be started.
struct ShortOfThreads {
    /// How many can be.
    left: AtomicU32,
    running: Arc<AtomicI64>,
}

struct Counted {
    task: Box<dyn Task>,
    running: Arc<AtomicI64>,
}

impl Task for Counted {
    fn step(&mut self) -> Step {
        self.task.step()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Spawn for ShortOfThreads {
    fn spawn(&self, name: String, task: Box<dyn Task>, signal: Arc<Signal>) -> io::Result<Box<dyn Joiner>> {
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err() {
            return Err(io::Error::from(io::ErrorKind::WouldBlock));
        }
        self.running.fetch_add(1, Ordering::SeqCst);
        let task = Box::new(Counted { task, running: Arc::clone(&self.running) });
        OsSpawn.spawn(name, task, signal)
    }
}

#[test]
fn a_database_that_cannot_start_leaves_no_thread() {
    let home = directory("threads");
    let mut threads = 0;
    loop {
        let (left, running) = (AtomicU32::new(threads), Arc::new(AtomicI64::new(0)));
        let mut config = config(&home, Protocol::Poplar, 3);
        config.environment.spawn = Arc::new(ShortOfThreads { left, running: Arc::clone(&running) });
        let Err(error) = Database::open(config) else { break };
        let text = error.to_string();
        assert!(text.contains("cannot start the thread") || text.contains("thread could not be started"), "{text}");
        assert_eq!(running.load(Ordering::SeqCst), 0, "with {threads} threads, when `{text}` was returned");
        threads += 1;
        assert!(threads < 20, "it starts in the end");
    }
    // Three loggers, a preparer, the ticker and the checkpointer: each of them was refused once.
    assert!(threads >= 6, "{threads} threads were enough");
}

/// Opens a database whose device then stands still and whose log ring is full: commits wait.
fn full(name: &str) -> (Database, Table, Stalling) {
    let mut config: Config = config(&directory(name), Protocol::Poplar, 1);
    let stalling = Stalling::over(config.environment.disk.clone());
    config.environment.disk = Arc::new(stalling.clone());
    let db = Database::open(config).expect("opened");
    let (table, mut session) = (rows(&db), db.session().expect("a session"));
    put(&mut session, &table, 1, b"first").wait().expect("durable");
    stalling.stall(true);
    // Receipts wait for nobody; the ring takes three of these, and the device none.
    let (filled, filling) = channel();
    let (filler, rows) = (db.clone(), table.clone());
    thread::spawn(move || {
        let mut session = filler.session().expect("a session");
        (10..20).all(|id| {
            drop(put(&mut session, &rows, id, &[0; 15_000]));
            filled.send(id).is_ok()
        })
    });
    (10..13).for_each(|id| assert_eq!(filling.recv_timeout(PATIENCE), Ok(id)));
    assert!(filling.recv_timeout(Duration::from_millis(500)).is_err(), "the ring is full");
    (db, table, stalling)
}

#[test]
fn who_waits_for_room_in_the_log_holds_no_lock() {
    let (db, table, stalling) = full("room");
    let inserting = {
        let (db, table) = (db.clone(), table.clone());
        spawn(move || put(&mut db.session().expect("a session"), &table, 50, &[0; 15_000]).wait().is_ok())
    };
    assert!(inserting.recv_timeout(Duration::from_millis(500)).is_err(), "it waits for room");
    // Whether there is a row of that key can be asked only while nobody holds its record's lock.
    let asking = {
        let (db, table) = (db.clone(), table.clone());
        spawn(move || {
            let mut session = db.session().expect("a session");
            let tx = session.begin();
            tx.get(&table, &[Value::Int(50)]).expect("a read").is_some()
        })
    };
    let asked = asking.recv_timeout(PATIENCE);
    stalling.stall(false);
    assert_eq!(asked, Ok(false), "a reader waits for a committer that waits for the device");
    assert_eq!(inserting.recv_timeout(PATIENCE), Ok(true));
    db.close().expect("closed");
}

/// Its own streams wait for their next segment, and nobody else does.
#[test]
fn a_device_that_has_no_next_segment_stops_no_other_stream() {
    let (home, other) = (directory("devices"), directory("devices-other"));
    let mut config: Config = config(&home, Protocol::Poplar, 2).dirs([&home, &other]);
    let stalling = Stalling::over(config.environment.disk.clone());
    config.environment.disk = Arc::new(stalling.clone());
    let db = Database::open(config).expect("opened");
    let (table, mut sessions) = (rows(&db), [(); 2].map(|()| db.session().expect("a session")));
    sessions.sort_by_key(|session| session.stream());
    for session in &mut sessions {
        put(session, &table, 1, b"first").wait().expect("durable");
    }
    stalling.stall_new_files(&other);
    // Each takes several segments.
    let write = |mut session: Session| {
        let table = table.clone();
        spawn(move || (10..60).all(|id| put(&mut session, &table, id, &[0; 15_000]).wait().is_ok()))
    };
    let [of_home, of_other] = sessions.map(write);
    let (done, waiting) = (of_home.recv_timeout(PATIENCE), of_other.recv_timeout(Duration::from_millis(100)));
    stalling.stall(false);
    assert_eq!(done, Ok(true), "it waits for the other device");
    assert!(waiting.is_err(), "its device stands still");
    assert_eq!(of_other.recv_timeout(PATIENCE), Ok(true));
    db.close().expect("closed");
}

/// Another process may have the database by then, and have changed what this one still has in memory.
#[test]
fn nothing_is_confirmed_after_the_close() {
    for protocol in [Protocol::None, Protocol::Poplar] {
        let home = directory(&format!("closed-{protocol:?}"));
        let db = Database::open(config(&home, protocol, 1)).expect("opened");
        let (table, mut session) = (rows(&db), db.session().expect("a session"));
        put(&mut session, &table, 1, b"first").wait().expect("durable");
        let mut reader = db.session().expect("a session");
        let before = reader.begin();
        assert!(before.get(&table, &[Value::Int(1)]).expect("a read").is_some());
        db.clone().close().expect("closed");
        let closed = |error: Error| assert_eq!(error.sqlstate(), "57P01", "{error}");
        closed(before.commit().expect_err("it may have changed since"));
        let read =
            |tx: &osier::Transaction<'_>| -> Result<_, Error> { Ok(tx.get(&table, &[Value::Int(1)])?.is_some()) };
        closed(db.run(read).expect_err("a read"));
        closed(session.run(read).expect_err("a read"));
        let insert = |tx: &osier::Transaction<'_>| tx.insert(&table, &[Value::Int(1), Value::Bytes(b"again")]);
        closed(session.run(insert).expect_err("the key may be free by now"));
        closed(db.table("rows").expect_err("it may be gone"));
    }
}
