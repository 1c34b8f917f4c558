//! What the tests of locking share: a table, the accesses to it, who must wait, and what would change an observation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use osier::config::{ConcurrencyControlKind, Locking};
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{
    Config, Contended, Database, Durability, Error, Protocol, Scan, Session, Table, Transaction, TransactionError,
    TransactionOptions,
};

/// The policies.
pub(crate) const POLICIES: [Locking; 4] = [Locking::NoWait, Locking::WaitDie, Locking::WoundWait, Locking::Detect];
/// Those that let transactions wait.
pub(crate) const WAITING: [Locking; 3] = [Locking::WaitDie, Locking::WoundWait, Locking::Detect];

/// Whoever has not come to an end in this time waits.
pub(crate) const PAUSE: Duration = Duration::from_millis(40);
/// A lock that is not given back in this time is held by the test itself.
pub(crate) const SHORT: Duration = Duration::from_millis(5);

/// The table has rows with the ids 10, 20, and so on, of which each holds its id: some leaves of them.
pub(crate) const ROWS: i64 = 200;

pub(crate) const READ_ONLY: TransactionOptions =
    TransactionOptions { read_only: true, snapshot: false, durability: Durability::Durable };
pub(crate) const AT_SNAPSHOT: TransactionOptions = TransactionOptions { snapshot: true, ..READ_ONLY };

pub(crate) fn locking(config: Config, locking: Locking) -> Config {
    config.concurrency_control(ConcurrencyControlKind::TwoPhaseLocking).locking(locking)
}

pub(crate) fn in_memory(policy: Locking) -> Config {
    locking(Config::new("unused").protocol(Protocol::None), policy)
}

pub(crate) fn schema(name: &str) -> Schema {
    let schema = Schema::builder(name).column("id", Type::Int64).column("value", Type::Int64);
    schema.primary_key(["id"]).index("by_value", ["value"]).build().expect("a schema")
}

pub(crate) fn open(config: Config) -> (Database, Table) {
    let db = Database::open(config).expect("opened");
    let table = db.create_table(schema("t")).expect("a table");
    db.run(|tx| (1..=ROWS).try_for_each(|row| insert(tx, &table, row * 10, row * 10))).expect("rows");
    (db, table)
}

/// A database in which nobody waits long.
pub(crate) fn open_short(policy: Locking) -> (Database, Table) {
    open(in_memory(policy).lock_timeout(SHORT))
}

pub(crate) fn sessions<const N: usize>(db: &Database) -> [Session; N] {
    std::array::from_fn(|_| db.session().expect("a session"))
}

pub(crate) fn insert(tx: &Transaction<'_>, table: &Table, id: i64, value: i64) -> Result<(), Error> {
    tx.insert(table, &[Value::Int(id), Value::Int(value)])
}

pub(crate) fn delete(tx: &Transaction<'_>, table: &Table, id: i64) -> Result<bool, Error> {
    tx.delete(table, &[Value::Int(id)])
}

pub(crate) fn get(tx: &Transaction<'_>, table: &Table, id: i64) -> Result<Option<i64>, Error> {
    let value = table.column("value")?;
    Ok(tx.get(table, &[Value::Int(id)])?.map(|row| row.int(value)))
}

pub(crate) fn get_for_update(tx: &Transaction<'_>, table: &Table, id: i64) -> Result<Option<i64>, Error> {
    let value = table.column("value")?;
    Ok(tx.get_for_update(table, &[Value::Int(id)])?.map(|row| row.int(value)))
}

pub(crate) fn set(tx: &Transaction<'_>, table: &Table, id: i64, value: i64) -> Result<bool, Error> {
    tx.update(table, &[Value::Int(id)], &[(table.column("value")?, Value::Int(value))])
}

/// Adds 1 to a row that is read first.
pub(crate) fn increment(tx: &Transaction<'_>, table: &Table, id: i64) -> Result<(), Error> {
    let value = get(tx, table, id)?.expect("a row");
    thread::yield_now();
    set(tx, table, id, value + 1).map(drop)
}

/// Ids and values.
pub(crate) type Found = Vec<(i64, i64)>;

pub(crate) fn rows(table: &Table, scan: Scan<'_, '_>) -> Result<Found, Error> {
    let (id, value) = (table.column("id")?, table.column("value")?);
    scan.map(|row| row.map(|row| (row.int(id), row.int(value)))).collect()
}

/// The rows with these ids.
pub(crate) fn scan(tx: &Transaction<'_>, table: &Table, from: i64, to: i64) -> Result<Found, Error> {
    let (from, to) = ([Value::Int(from)], [Value::Int(to)]);
    rows(table, tx.scan(table, KeyRange::all().from_included(&from).to_included(&to))?)
}

/// The rows with these values.
pub(crate) fn scan_index(tx: &Transaction<'_>, table: &Table, from: i64, to: i64) -> Result<Found, Error> {
    let (from, to) = ([Value::Int(from)], [Value::Int(to)]);
    rows(table, tx.scan_index(table, "by_value", KeyRange::all().from_included(&from).to_included(&to))?)
}

pub(crate) fn value(db: &Database, table: &Table, id: i64) -> Option<i64> {
    db.run(|tx| get(tx, table, id)).expect("a read").0
}

pub(crate) fn error<T>(result: Result<T, Error>) -> TransactionError {
    match result {
        Err(Error::Transaction(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it is no error"),
    }
}

pub(crate) fn is_lock_conflict<T>(result: Result<T, Error>) -> bool {
    error(result) == TransactionError::Conflict { what: Contended::Lock }
}

/// Whether an access is refused, at once or when it has waited: another transaction has a lock. In databases where nobody
/// waits long; the transaction of the access has met nobody before.
pub(crate) fn is_locked<T>(db: &Database, access: impl FnOnce(&Transaction<'_>) -> Result<T, Error>) -> bool {
    let mut session = db.session().expect("a session");
    let result = access(&session.begin());
    match result.map_err(|refused| error::<()>(Err(refused))) {
        Ok(_) => false,
        Err(TransactionError::Conflict { what: Contended::Lock } | TransactionError::LockTimeout { limit: SHORT }) => {
            true
        }
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn is_timeout<T>(result: Result<T, Error>) -> bool {
    error(result) == TransactionError::LockTimeout { limit: SHORT }
}

/// Runs `wait` in a thread of its own, which must not come to its end before `release` has.
pub(crate) fn waits<T: Send>(what: &str, wait: impl FnOnce() -> T + Send, release: impl FnOnce()) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let result = wait();
            is_over.store(true, Ordering::Release);
            result
        });
        thread::sleep(PAUSE);
        assert!(!is_over.load(Ordering::Acquire), "{what}: it waits");
        release();
        waiting.join().expect("it goes on")
    })
}

/// Runs one transaction and commits it; it must come through at once.
pub(crate) fn commit_once(
    db: &Database,
    body: impl FnOnce(&Transaction<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut session = db.session()?;
    let tx = session.begin();
    body(&tx)?;
    tx.commit().map(drop)
}

/// Runs a body in so many threads at the same time.
pub(crate) fn in_threads(threads: usize, body: impl Fn(usize) + Sync) {
    let (start, body) = (Barrier::new(threads), &body);
    thread::scope(|scope| {
        for thread in 0..threads {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                body(thread);
            });
        }
    });
}

/// What a transaction observes, and what changes it.
pub(crate) struct Phantom {
    pub(crate) name: &'static str,
    pub(crate) read: fn(&Transaction<'_>, &Table) -> Result<Found, Error>,
    pub(crate) write: fn(&Transaction<'_>, &Table) -> Result<(), Error>,
    /// What is found afterwards, in place of what was found before.
    pub(crate) after: fn(&mut Found),
}

pub(crate) const PHANTOMS: [Phantom; 9] = [
    Phantom {
        name: "an insertion into a range",
        read: |tx, table| scan(tx, table, 90, 120),
        write: |tx, table| insert(tx, table, 105, 0),
        after: |found| found.insert(2, (105, 0)),
    },
    Phantom {
        name: "an insertion into a long range",
        read: |tx, table| scan(tx, table, 10, 10 * ROWS),
        write: |tx, table| insert(tx, table, 1905, 0),
        after: |found| found.insert(190, (1905, 0)),
    },
    Phantom {
        name: "an insertion into an empty range",
        read: |tx, table| scan(tx, table, 91, 99),
        write: |tx, table| tx.upsert(table, &[Value::Int(95), Value::Int(0)]),
        after: |found| found.push((95, 0)),
    },
    Phantom {
        name: "an insertion of a row that was not found",
        read: |tx, table| Ok(get(tx, table, 105)?.map(|value| (105, value)).into_iter().collect()),
        write: |tx, table| insert(tx, table, 105, 0),
        after: |found| found.push((105, 0)),
    },
    Phantom {
        name: "an insertion into a range of an index",
        read: |tx, table| scan_index(tx, table, 90, 120),
        write: |tx, table| insert(tx, table, 5000, 105),
        after: |found| found.insert(2, (5000, 105)),
    },
    Phantom {
        name: "an update that brings a row into a range of an index",
        read: |tx, table| scan_index(tx, table, 90, 120),
        write: |tx, table| set(tx, table, 1500, 105).map(drop),
        after: |found| found.insert(2, (1500, 105)),
    },
    Phantom {
        name: "an update of a row in a range",
        read: |tx, table| scan(tx, table, 90, 120),
        write: |tx, table| set(tx, table, 100, 101).map(drop),
        after: |found| found[1] = (100, 101),
    },
    Phantom {
        name: "a deletion from a range",
        read: |tx, table| scan(tx, table, 90, 120),
        write: |tx, table| delete(tx, table, 100).map(drop),
        after: |found| found.retain(|row| row.0 != 100),
    },
    Phantom {
        name: "a deletion from a range of an index",
        read: |tx, table| scan_index(tx, table, 90, 120),
        write: |tx, table| delete(tx, table, 100).map(drop),
        after: |found| found.retain(|row| row.0 != 100),
    },
];

/// One transaction gets an age, because another one waits for it, and then wants what a younger one holds. Returns how the
/// younger one ends, which goes on with an access or with its commit.
pub(crate) fn meet_an_older(commits: bool) -> Result<(), Error> {
    let (db, table) = open(in_memory(Locking::WoundWait));
    thread::scope(|scope| {
        let mut session = db.session().expect("a session");
        let older = session.begin();
        set(&older, &table, 10, 11).expect("a write");
        let waiting = scope.spawn(|| commit_once(&db, |tx| set(tx, &table, 10, 12).map(drop)));
        thread::sleep(PAUSE);
        let (has_locked, is_locked) = mpsc::channel();
        let (db, table) = (&db, &table);
        let younger = scope.spawn(move || {
            let mut session = db.session()?;
            let tx = session.begin();
            set(&tx, table, 20, 21)?;
            has_locked.send(()).expect("somebody listens");
            thread::sleep(PAUSE);
            if commits { tx.commit().map(drop) } else { get(&tx, table, 30).map(drop) }
        });
        is_locked.recv().expect("the row is locked");
        set(&older, table, 20, 22).expect("the older one gets the row");
        older.commit().expect("nobody stops the oldest");
        waiting.join().expect("a thread").expect("it goes on");
        younger.join().expect("a thread")
    })
}

/// Adds 1 to a row that is locked at once.
pub(crate) fn add_for_update(tx: &Transaction<'_>, table: &Table, id: i64) -> Result<(), Error> {
    let value = get_for_update(tx, table, id)?.expect("a row");
    set(tx, table, id, value + 1).map(drop)
}

/// Adds 1 to some of the first `hot` rows in each of many short transactions, and returns how much in all.
pub(crate) fn add_to_some(db: &Database, table: &Table, hot: i64, is_over: &AtomicBool) -> i64 {
    let (mut session, mut added) = (db.session().expect("a session"), 0);
    while !is_over.load(Ordering::Relaxed) {
        let ids = [(); 3].map(|()| 10 * fastrand::i64(1..=hot));
        let body = |tx: &Transaction<'_>| {
            ids.iter().try_for_each(|id| {
                add_for_update(tx, table, *id)?;
                thread::sleep(Duration::from_micros(100));
                Ok::<_, Error>(())
            })
        };
        session.run(body).expect("a short one");
        added += ids.len() as i64;
    }
    added
}

/// Moves money from a row to another one, to a new one, or all that the row has: it is deleted. Returns which, or 0 for none of
/// these. Where rows are not locked they may be gone, and the transaction fails at its commit.
pub(crate) fn move_money(tx: &Transaction<'_>, table: &Table, rng: &mut fastrand::Rng) -> Result<usize, Error> {
    let from = rng.i64(0..10 * ROWS);
    let found = scan(tx, table, from, from + 200)?;
    let (Some(&(first, has)), Some(&(last, had))) = (found.first(), found.last()) else { return Ok(0) };
    let (new, amount) = (rng.i64(from..from + 200), rng.i64(-50..50));
    let what = if first == last { 2 } else { rng.usize(1..4) };
    match what {
        1 => {
            set(tx, table, first, has - amount)?;
            set(tx, table, last, had + amount)?;
        }
        2 if found.iter().all(|(id, _)| *id != new) => {
            set(tx, table, first, has - amount)?;
            insert(tx, table, new, amount)?;
        }
        3 => {
            set(tx, table, last, has + had)?;
            delete(tx, table, first)?;
        }
        _ => return Ok(0),
    }
    Ok(what)
}

/// The sums of all rows by the primary key and by the index.
pub(crate) fn sums(tx: &Transaction<'_>, table: &Table) -> Result<[i64; 2], Error> {
    let sum = |rows: Vec<(i64, i64)>| rows.iter().map(|row| row.1).sum();
    let by_value = rows(table, tx.scan_index(table, "by_value", KeyRange::all())?)?;
    Ok([sum(rows(table, tx.scan(table, KeyRange::all())?)?), sum(by_value)])
}
