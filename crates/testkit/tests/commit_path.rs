//! Directed schedules of the commit path, each as the engine is and with the deliberate fault that it is there for. The
//! simulation hardly comes through here: these schedules need a certain order of steps in several sessions, or end the
//! process.

#[path = "../../engine/tests/support/stalling.rs"]
mod stalling;

use std::cell::RefCell;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use osier::failpoint::Mutation;
use osier::failpoint::{Point, simulated};
use osier::table::{KeyRange, Schema, Table, Type, Value};
use osier::{Config, Database, Error, Protocol, Receipt, Session};
use osier_testkit::threads::faults::with_faults;
use stalling::Stalling;

/// A group commit interval beside which other steps take no time.
const SLOW_GROUP: Duration = Duration::from_millis(300);
/// How long a step may take that nothing holds up.
const PATIENCE: Duration = Duration::from_secs(60);
/// After so long a step that should not end has not.
const IMPATIENCE: Duration = Duration::from_secs(3);
/// A fault that shows only while a batch is on its way is given this many chances.
const ROUNDS: u8 = 5;

type Act = Box<dyn FnMut(Point)>;

thread_local! {
    /// What this thread does at each point of a commit.
    static AT_POINT: RefCell<Option<Act>> = const { RefCell::new(None) };
}

/// Where the thread of a checkpoint stops when it begins.
struct Gate {
    /// Points that it passes before.
    passes: u32,
    is_there: Sender<()>,
    may_go_on: Receiver<()>,
}

static AT_BEGIN: Mutex<Option<Gate>> = Mutex::new(None);

impl Gate {
    fn pass() {
        let mut place = lock(&AT_BEGIN);
        match place.take() {
            Some(gate) if gate.passes > 0 => *place = Some(Gate { passes: gate.passes - 1, ..gate }),
            Some(gate) => {
                gate.is_there.send(()).expect("the test waits");
                gate.may_go_on.recv_timeout(PATIENCE).expect("the test goes on");
            }
            None => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on this thread does `act` at each point.
fn at_points(act: impl FnMut(Point) + 'static) {
    let reached = |point| {
        if point == Point::HalfBegun {
            Gate::pass();
        }
        let act = AT_POINT.take();
        if let Some(mut act) = act {
            act(point);
            AT_POINT.set(Some(act));
        }
    };
    simulated::install(|| false, reached);
    AT_POINT.set(Some(Box::new(act)));
}

fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("commit_path").join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn config(home: &Path, protocol: Protocol, streams: u32) -> Config {
    let mut config = Config::new(home).protocol(protocol).streams(streams);
    (config.transaction_log_bytes_max, config.ring_bytes, config.segment_bytes) = (16 << 10, 64 << 10, 128 << 10);
    config.epoch_interval = Duration::from_millis(1);
    config
}

/// A database whose commits become durable late, and whose memory is small.
fn slow(name: &str) -> (Database, Table) {
    let mut config = config(&directory(name), Protocol::Poplar, 2);
    config.memory_limit = 1 << 20;
    config.group_commit_interval = SLOW_GROUP;
    let db = Database::open(config).expect("opened");
    let table = rows(&db);
    (db, table)
}

fn rows(db: &Database) -> Table {
    let schema = Schema::builder("rows").column("id", Type::Int64).column("content", Type::Bytes).primary_key(["id"]);
    db.create_table(schema.build().expect("a schema")).expect("a table")
}

fn row(id: i64, content: &[u8]) -> [Value<'_>; 2] {
    [Value::Int(id), Value::Bytes(content)]
}

fn put(session: &mut Session, table: &Table, id: i64, content: &[u8]) -> Receipt {
    session.run(|tx| tx.upsert(table, &row(id, content))).expect("an upsert").1
}

fn delete(session: &mut Session, table: &Table, id: i64) -> Receipt {
    let (was_there, receipt) = session.run(|tx| tx.delete(table, &[Value::Int(id)])).expect("a delete");
    assert!(was_there);
    receipt
}

fn session(db: &Database) -> Session {
    db.session().expect("a session")
}

fn is_durable(receipt: &Receipt) -> bool {
    receipt.is_acknowledged().expect("the log is sound")
}

/// Runs `body` in a thread; what it returns arrives here.
fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = channel();
    thread::spawn(move || drop(sender.send(body())));
    receiver
}

/// `is_right` must hold, and must not with any of these faults.
fn shows(faults: &[Mutation], is_right: impl Fn(&str) -> bool) {
    assert!(is_right("sound"), "it is wrong without any fault");
    for fault in faults {
        simulated::build_in(&[*fault]);
        let missed = is_right(&format!("{fault:?}"));
        simulated::build_in(&[]);
        assert!(!missed, "{fault:?} is not seen");
    }
}

#[test]
fn an_error_of_the_body_is_told_when_what_it_rests_on_is_durable() {
    shows(&[Mutation::ErrorToldAtOnce], |name| {
        let (db, table) = slow(&format!("body-{name}"));
        let (mut one, mut other) = (session(&db), session(&db));
        (0..ROUNDS).all(|round| {
            let written = put(&mut other, &table, 1, &[round]);
            let refused = one.run(|tx| -> Result<(), Error> {
                assert!(tx.get(&table, &[Value::Int(1)])?.is_some());
                tx.insert(&table, &row(1, b""))
            });
            let is_told_late = is_durable(&written);
            assert_eq!(refused.expect_err("there is such a row").sqlstate(), "23505");
            is_told_late
        })
    });
}

#[test]
fn an_error_of_the_body_is_told_where_what_it_rests_on_was_valid() {
    shows(&[Mutation::AbortNotValidated], |name| {
        let (db, table) = slow(&format!("valid-{name}"));
        let (mut one, mut other) = (session(&db), session(&db));
        let mut attempts = 0;
        let outcome = one.run(|tx| -> Result<(), Error> {
            attempts += 1;
            let is_there = tx.get(&table, &[Value::Int(1)])?.is_some();
            if attempts == 1 {
                put(&mut other, &table, 1, b"");
            }
            if is_there { Ok(()) } else { tx.table("there is none").map(drop) }
        });
        outcome.is_ok() && attempts == 2
    });
}

/// Writes more than fits into memory.
fn overfill(tx: &osier::Transaction<'_>, table: &Table) {
    (100..102).for_each(|id| tx.upsert(table, &row(id, &[0; 900_000])).expect("each fits"));
}

#[test]
fn a_refusal_at_commit_is_told_when_what_was_read_is_durable() {
    shows(&[Mutation::ErrorToldAtOnce], |name| {
        let (db, table) = slow(&format!("refused-{name}"));
        let (mut one, mut other) = (session(&db), session(&db));
        (0..ROUNDS).all(|round| {
            let written = put(&mut other, &table, 1, &[round]);
            let tx = one.begin();
            assert!(tx.get(&table, &[Value::Int(1)]).expect("a read").is_some());
            overfill(&tx, &table);
            let refused = tx.commit();
            let is_told_late = is_durable(&written);
            assert_eq!(refused.expect_err("it is too large").sqlstate(), "53200");
            is_told_late
        })
    });
}

#[test]
fn a_refusal_at_commit_is_told_where_what_was_read_was_valid() {
    shows(&[Mutation::AbortNotValidated], |name| {
        let (db, table) = slow(&format!("refused-valid-{name}"));
        let (mut one, mut other) = (session(&db), session(&db));
        let tx = one.begin();
        assert!(tx.get(&table, &[Value::Int(1)]).expect("a read").is_none());
        overfill(&tx, &table);
        put(&mut other, &table, 1, b"");
        tx.commit().expect_err("it is too large").is_conflict()
    });
}

/// The row was there, went and came back: the transaction depends on a birth that it does not know.
#[test]
fn a_row_that_is_replaced_may_not_have_gone_and_come_back() {
    shows(&[Mutation::BirthUnchecked], |name| {
        let (db, table) = slow(&format!("birth-{name}"));
        let (mut one, mut other) = (session(&db), session(&db));
        put(&mut one, &table, 1, b"first");
        let tx = one.begin();
        assert!(tx.replace(&table, &row(1, b"mine")).expect("a replace"));
        delete(&mut other, &table, 1);
        put(&mut other, &table, 1, b"second");
        tx.commit().is_err_and(|error| error.is_conflict())
    });
    // Its content may change meanwhile: that was not read.
    let (db, table) = slow("birth-content");
    let (mut one, mut other) = (session(&db), session(&db));
    put(&mut one, &table, 1, b"first");
    let tx = one.begin();
    assert!(tx.replace(&table, &row(1, b"mine")).expect("a replace"));
    let column = table.column("content").expect("the column");
    let changes = [(column, Value::Bytes(b"other"))];
    assert!(other.run(|tx| tx.update(&table, &[Value::Int(1)], &changes)).expect("an update").0);
    tx.commit().expect("nothing was read that has changed");
}

/// A session has noted a tombstone, to be purged; the key has come back and gone again since, and that is not durable yet.
#[test]
fn a_note_of_a_tombstone_does_not_purge_the_next_one() {
    shows(&[Mutation::LaterTombstonePurged], |name| {
        let (db, table) = slow(&format!("purge-{name}"));
        let (mut one, mut other) = (session(&db), session(&db));
        (0..ROUNDS).all(|_| {
            put(&mut one, &table, 1, b"first");
            delete(&mut one, &table, 1).wait().expect("durable");
            put(&mut other, &table, 1, b"second");
            let deleted = delete(&mut other, &table, 1);
            // Its begin purges.
            let tx = one.begin();
            assert!(tx.get(&table, &[Value::Int(1)]).expect("a read").is_none());
            let read = tx.commit().expect("a read");
            let is_told = is_durable(&read);
            !is_told || is_durable(&deleted)
        })
    });
}

/// One transaction deletes a row after it has read another one; a second writes that other one and relies on the row that goes,
/// without writing it: it replaced it and took that back. Whichever comes first, one of them must fail. The deleter has validated
/// and installs while the second one validates.
#[test]
fn validation_looks_whether_a_row_is_changed_before_it_looks_at_the_row() {
    shows(&[Mutation::RowBeforeWord], |name| {
        let (db, table) = slow(&format!("words-{name}"));
        let mut one = session(&db);
        put(&mut one, &table, 1, b"x");
        put(&mut one, &table, 2, b"y");
        let tx = one.begin();
        let savepoint = tx.savepoint();
        assert!(tx.replace(&table, &row(1, b"mine")).expect("a replace"));
        tx.rollback_to(savepoint).expect("rolled back");
        tx.upsert(&table, &row(2, b"mine")).expect("an upsert");

        let (validated, is_validated) = channel();
        let (go_on, may_go_on) = channel();
        let deleting = {
            let (db, table) = (db.clone(), table.clone());
            spawn(move || {
                let mut other = session(&db);
                let tx = other.begin();
                assert!(tx.get(&table, &[Value::Int(2)]).expect("a read").is_some());
                assert!(tx.delete(&table, &[Value::Int(1)]).expect("a delete"));
                at_points(move |point| {
                    if point == Point::Validated {
                        validated.send(()).expect("the other waits");
                        may_go_on.recv_timeout(PATIENCE).expect("the other goes on");
                    }
                });
                tx.commit().is_ok()
            })
        };
        is_validated.recv_timeout(PATIENCE).expect("it validates");
        let (go_on_later, is_deleted) = (go_on.clone(), channel());
        at_points(move |point| {
            if point == Point::HalfChecked {
                go_on.send(()).expect("the other waits");
                is_deleted.0.send(deleting.recv_timeout(PATIENCE)).expect("heard");
            }
        });
        let commits = tx.commit().is_ok();
        AT_POINT.set(None);
        // Where validation did not come so far, the other goes on now.
        let _ = go_on_later.send(());
        match is_deleted.1.try_recv() {
            Ok(deletes) => !(commits && deletes.expect("the other ends")),
            Err(_) => !commits,
        }
    });
}

#[test]
fn who_waits_for_room_in_the_log_holds_no_lock() {
    for (fault, name) in [(None, "sound"), (Some(Mutation::RoomAwaitedWithLocks), "faulty")] {
        let mut config = config(&directory(&format!("room-{name}")), Protocol::Poplar, 1);
        let stalling = Stalling::over(config.environment.disk.clone());
        config.environment.disk = Arc::new(stalling.clone());
        let db = Database::open(config).expect("opened");
        let table = rows(&db);
        stalling.stall(true);
        let inserting = |id: i64| {
            let (db, table) = (db.clone(), table.clone());
            spawn(move || {
                simulated::build_in(fault.as_slice());
                let mut session = session(&db);
                // Receipts wait for nobody; the ring takes three of these, and the device none.
                (id..id + 10)
                    .map(|id| put(&mut session, &table, id, &[0; 15_000]))
                    .last()
                    .map(|last| last.wait().is_ok())
            })
        };
        let (first, second) = (inserting(10), inserting(50));
        assert!(first.recv_timeout(IMPATIENCE).is_err(), "the ring is full");
        // Whether there is a row of that key can be asked only while nobody holds its record's lock.
        let asking = {
            let (db, table) = (db.clone(), table.clone());
            spawn(move || {
                let mut session = session(&db);
                let tx = session.begin();
                let ids = (10..20).chain(50..60);
                ids.filter(|id| tx.get(&table, &[Value::Int(*id)]).expect("a read").is_some()).count()
            })
        };
        let asked = asking.recv_timeout(if fault.is_none() { PATIENCE } else { IMPATIENCE });
        stalling.stall(false);
        assert_eq!(asked.is_ok(), fault.is_none(), "{name}: {asked:?}");
        assert_eq!((first.recv_timeout(PATIENCE), second.recv_timeout(PATIENCE)), (Ok(Some(true)), Ok(Some(true))));
        db.close().expect("closed");
    }
}

/// Stamps that were given without a log stay below those that come with one; also in databases of earlier versions, whose
/// checkpoints do not note them.
#[test]
fn the_greatest_stamp_without_a_log_is_known_to_the_next_open() {
    let fault = [Mutation::RowStampsUnseen];
    for (taken, loaded, is_known) in [(false, false, true), (true, false, true), (true, true, false)] {
        let home = directory(&format!("stamps-{taken}-{loaded}"));
        let mut without = config(&home, Protocol::None, 1);
        without.environment = with_faults(without.environment, if taken { &fault } else { &[] });
        let db = Database::open(without).expect("opened");
        let (table, mut one) = (rows(&db), session(&db));
        let last = (0..1000_u32).map(|round| put(&mut one, &table, 1, &round.to_le_bytes()).stamp()).last();
        db.checkpoint().expect("a checkpoint");
        db.close().expect("closed");
        drop((table, one, db));
        simulated::build_in(if loaded { &fault } else { &[] });
        let db = Database::open(config(&home, Protocol::Poplar, 2)).expect("opened");
        simulated::build_in(&[]);
        let floor = db.recovery().expect("it was recovered").max_seen;
        assert_eq!(Some(floor) >= last, is_known, "taken {taken}, loaded {loaded}: from {floor}, given {last:?}");
    }
}

/// Copies a directory, as a killed process leaves it. A spare segment may be renamed meanwhile; nobody reads it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a listing") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target)),
        }
    }
}

/// Transactions go on, over several epochs and segments, while a checkpoint has read one of the two and not yet the other.
#[test]
fn a_checkpoint_knows_where_the_log_begins_before_its_boundary() {
    for (fault, passes) in [(None, 0), (None, 1), (Some(Mutation::AnnouncedBeforeBegins), 2)] {
        let name = format!("begins-{fault:?}-{passes}");
        let (home, left) = (directory(&name), directory(&format!("{name}-left")));
        let mut with_fault = config(&home, Protocol::Poplar, 1);
        with_fault.environment = with_faults(with_fault.environment, fault.as_slice());
        let db = Database::open(with_fault).expect("opened");
        let (table, mut one) = (rows(&db), session(&db));
        let mut ids = 0_i64..;
        let mut insert = || {
            let receipt = put(&mut one, &table, ids.next().expect("an id"), &[7; 12_000]);
            receipt.wait().expect("durable");
            receipt.epoch()
        };
        insert();
        at_points(|_| ());
        let ((is_there, it_is_there), (go_on, may_go_on)) = (channel(), channel());
        *lock(&AT_BEGIN) = Some(Gate { passes, is_there, may_go_on });
        db.request_checkpoint();
        it_is_there.recv_timeout(PATIENCE).expect("a checkpoint begins");
        let first = insert();
        while insert().0 < first.0 + 4 {}
        for _ in 0..40 {
            insert();
        }
        go_on.send(()).expect("it waits");
        let begun = Instant::now();
        while db.metrics().checkpoints.taken == 0 {
            assert!(begun.elapsed() < PATIENCE, "it ends");
            thread::sleep(Duration::from_millis(5));
        }
        let rows = ids.start;
        copy(&home, &left);
        let found = Database::open(config(&left, Protocol::Poplar, 1)).and_then(|db| {
            let table = db.table("rows")?;
            Ok(db.run(|tx| -> Result<_, Error> { Ok(tx.scan(&table, KeyRange::all())?.count() as i64) })?.0)
        });
        assert_eq!(found.is_ok_and(|found| found == rows), fault.is_none(), "{name}");
    }
}

/// In the process that is to die: where, in which directory, and whether it lives on.
const DEATH: &str = "OSIER_TEST_DEATH";

/// Where a thread dies whose definition has committed, which is no point of the engine.
const UNPUBLISHED: &str = "Unpublished";

/// How the process ended.
#[derive(Debug, PartialEq, Eq)]
enum Death {
    /// It ended itself.
    Aborted,
    /// It went on, and somebody waited for ever.
    Hung,
    /// It went on.
    Survived,
}

/// A thread dies at a point of its commit; another session then writes the same rows, and looks a table up that it has created.
fn die(order: &str) {
    let [point, home, lives_on] = order.split(',').collect::<Vec<_>>().try_into().expect("three words");
    let db = Database::open(config(Path::new(home), Protocol::Poplar, 2)).expect("opened");
    let (table, mut other) = (rows(&db), session(&db));
    for id in [1, 2] {
        put(&mut other, &table, id, b"before").wait().expect("durable");
    }
    let (victims, point, lives_on) = ((db.clone(), table.clone()), point.to_owned(), lives_on == "true");
    let victim = thread::spawn(move || {
        let ((db, table), is_unpublished) = (victims, point == UNPUBLISHED);
        let faults = [(Mutation::DeathWithLocks, lives_on), (Mutation::DeathUnpublished, is_unpublished)];
        let faults: Vec<_> =
            faults.into_iter().filter(|(_, is_built_in)| *is_built_in).map(|(fault, _)| fault).collect();
        simulated::build_in(&faults);
        let mut session = session(&db);
        at_points(move |reached| assert_ne!(format!("{reached:?}"), point, "the test kills this thread"));
        let created = Schema::builder("created").column("id", Type::Int64).primary_key(["id"]).build()?;
        session.run(|tx| {
            if is_unpublished {
                tx.create_table(created.clone())?;
            }
            tx.upsert(&table, &row(1, b"after"))?;
            tx.upsert(&table, &row(2, b"after"))
        })
    });
    assert!(victim.join().is_err(), "the thread dies");
    put(&mut other, &table, 1, b"later");
    put(&mut other, &table, 2, b"later");
    let _ = other.run(|tx| tx.table("created").map(drop));
}

fn death(point: &str, lives_on: bool) -> (Death, PathBuf) {
    let home = directory(&format!("death-{point}-{lives_on}"));
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["a_thread_that_dies_with_locks_held_ends_the_process", "--exact", "--nocapture"])
        .env(DEATH, format!("{point},{},{lives_on}", home.display()))
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().expect("a process") {
            Some(status) => break Some(status),
            None if begun.elapsed() > if lives_on { IMPATIENCE } else { PATIENCE } => break None,
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    if status.is_none() {
        child.kill().expect("killed");
        child.wait().expect("ended");
    }
    let mut told = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut told).expect("text");
    let death = match status {
        None => Death::Hung,
        Some(status) if status.success() => Death::Survived,
        Some(status) => {
            const ABORT: i32 = 6;
            assert_eq!(status.signal(), Some(ABORT), "{told}");
            assert!(told.contains("osier: a ") && told.contains(" died "), "{told}");
            Death::Aborted
        }
    };
    (death, home)
}

#[test]
fn a_thread_that_dies_with_locks_held_ends_the_process() {
    if let Ok(order) = std::env::var(DEATH) {
        return die(&order);
    }
    for point in ["Locked", "Ordered", "Validated", "Reserved", "Filled", "Installed", UNPUBLISHED] {
        let (death, home) = death(point, false);
        assert_eq!(death, Death::Aborted, "at {point}");
        // What was acknowledged is there, and of the rest all or nothing.
        let db = Database::open(config(&home, Protocol::Poplar, 2)).expect("opened");
        let (table, mut one) = (db.table("rows").expect("the table"), session(&db));
        let column = table.column("content").expect("the column");
        let read = |id| -> Vec<u8> {
            let content = db.run(|tx| -> Result<_, Error> {
                Ok(tx.get(&table, &[Value::Int(id)])?.map(|row| row.bytes(column).to_vec()))
            });
            content.expect("a read").0.expect("the row")
        };
        assert!(read(1) == read(2) && [&b"before"[..], b"after"].contains(&&read(1)[..]), "at {point}");
        put(&mut one, &table, 1, b"again").wait().expect("durable");
    }
    for point in ["Locked", "Installed", UNPUBLISHED] {
        assert_eq!(death(point, true).0, Death::Hung, "{:?} at {point} is not seen", Mutation::DeathWithLocks);
    }
}
