//! A database that opens before its log has run again: whatever a transaction comes to is as if all of it had.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::thread;

use osier::config::{ConcurrencyControlKind, Logged, RecoveryKind};
use osier::procedure::program::Program;
use osier::table::{KeyRange, Schema, Type};
use osier::task::{Fiber, Turn};
use osier::{Config, Database, Error, Protocol, SequenceOptions, Session, Transaction, TransactionError, Value};

mod support;

const ACCOUNTS: i64 = 400;
const CALLS: i64 = 12_000;

/// Every kind of control, and every protocol that logs commands.
const SCHEMES: [(ConcurrencyControlKind, Protocol); 5] = [
    (ConcurrencyControlKind::Optimistic, Protocol::Serial),
    (ConcurrencyControlKind::Optimistic, Protocol::Gsn),
    (ConcurrencyControlKind::TwoPhaseLocking, Protocol::Gsn),
    (ConcurrencyControlKind::TwoPhaseLocking, Protocol::Taurus),
    (ConcurrencyControlKind::Multiversion, Protocol::Taurus),
];

fn config(home: &Path, (control, protocol): (ConcurrencyControlKind, Protocol)) -> Config {
    let streams = if protocol == Protocol::Serial { 1 } else { 2 };
    support::config(home, protocol, streams).logged(Logged::Commands).concurrency_control(control)
}

fn instant(config: &Config, threads: usize) -> Config {
    config.clone().recovery(RecoveryKind::Instant).recovery_threads(threads)
}

/// Accounts with what they hold, an index over their owners, and notes of what was done.
fn create(config: &Config) -> Database {
    let db = Database::open(config.clone()).expect("a database");
    let accounts = Schema::builder("accounts").column("id", Type::Int64).column("owner", Type::Int64);
    let accounts = accounts.column("holds", Type::Int64).primary_key(["id"]).index("owners", ["owner"]);
    db.create_table(accounts.build().expect("a schema")).expect("a table");
    let notes = Schema::builder("notes").column("account", Type::Int64).column("number", Type::Int64);
    let notes = notes.column("amount", Type::Int64).primary_key(["account", "number"]);
    db.create_table(notes.build().expect("a schema")).expect("a table");
    let limits = Schema::builder("limits").column("id", Type::Int64).column("most", Type::Int64).primary_key(["id"]);
    db.create_table(limits.build().expect("a schema")).expect("a table");
    db.create_sequence(&SequenceOptions::new("numbers")).expect("a sequence");
    for text in PROCEDURES {
        db.create_procedure(&Program::parse(text).expect("a program")).expect("a procedure");
    }
    let fill = |tx: &Transaction<'_>| {
        let (accounts, limits) = (tx.table("accounts")?, tx.table("limits")?);
        (0..ACCOUNTS).try_for_each(|id| tx.insert(&accounts, &[id.into(), (id % 10).into(), 1000.into()]))?;
        (0..4).try_for_each(|id| tx.insert(&limits, &[id.into(), 1_000_000.into()]))
    };
    db.run(fill).expect("rows").1.wait().expect("it is durable");
    db
}

const PROCEDURES: [&str; 3] = [
    "procedure move(one bigint, other bigint, amount bigint) {
        get limits (one % 4) as of;
        if amount > of.most { return; }
        update accounts (one) as row set holds = row.holds - amount;
        update accounts (other) as second set holds = second.holds + amount;
        insert into notes (account, number, amount) values (one, nextval('numbers'), amount); }",
    "procedure forget(account bigint) {
        delete all notes (account) count gone;
        update accounts (account) as row set holds = row.holds + 0; }",
    "procedure rename(account bigint, owner bigint) { update accounts (account) set owner = owner; }",
];

/// Calls procedures, and changes rows among them.
fn use_up(db: &Database, calls: i64) {
    let mut session = db.session().expect("a session");
    let mut rng = fastrand::Rng::with_seed(7);
    for at in 0..calls {
        let (one, other) = (rng.i64(0..ACCOUNTS), rng.i64(0..ACCOUNTS));
        match rng.u8(0..20) {
            0 => _ = session.call("forget", &[one.into()]).expect("a call"),
            1 => _ = session.call("rename", &[one.into(), (at % 10).into()]).expect("a call"),
            2 => _ = session.run(|tx| add(tx, one, at)).expect("a transaction"),
            _ => _ = session.call("move", &[one.into(), other.into(), (at % 9).into()]).expect("a call"),
        }
    }
}

/// Adds to what an account holds, which is logged as a row.
fn add(tx: &Transaction<'_>, id: i64, amount: i64) -> Result<(), Error> {
    let accounts = tx.table("accounts")?;
    let holds = accounts.column("holds")?;
    let row = tx.get_for_update(&accounts, &[id.into()])?.expect("an account");
    let sum = row.int(holds) + amount;
    drop(row);
    tx.update(&accounts, &[id.into()], &[(holds, sum.into())]).map(drop)
}

/// The owner of an account, what it holds, and the notes about it.
type State = (i64, i64, Vec<(i64, i64)>);

fn state(tx: &Transaction<'_>, id: i64) -> Result<State, Error> {
    let (accounts, notes) = (tx.table("accounts")?, tx.table("notes")?);
    let row = tx.get(&accounts, &[id.into()])?.expect("an account");
    let (owner, holds) = (row.int(accounts.column("owner")?), row.int(accounts.column("holds")?));
    let (number, amount) = (notes.column("number")?, notes.column("amount")?);
    let prefix = [Value::Int(id)];
    let of = tx.scan(&notes, KeyRange::prefix(&prefix))?.map(|row| row.map(|row| (row.int(number), row.int(amount))));
    Ok((owner, holds, of.collect::<Result<_, _>>()?))
}

fn states(db: &Database) -> Vec<State> {
    db.run(|tx| (0..ACCOUNTS).map(|id| state(tx, id)).collect::<Result<Vec<_>, Error>>()).expect("states").0
}

fn by_owner(tx: &Transaction<'_>, owner: i64) -> Result<Vec<i64>, Error> {
    let accounts = tx.table("accounts")?;
    let (id, owner) = (accounts.column("id")?, [Value::Int(owner)]);
    tx.scan_index(&accounts, "owners", KeyRange::prefix(&owner))?.map(|row| row.map(|row| row.int(id))).collect()
}

/// A database whose log has calls, closed; and what is in it.
fn closed(home: &Path, scheme: (ConcurrencyControlKind, Protocol)) -> (Config, Vec<State>) {
    let config = config(home, scheme).checkpoint_at_close(false);
    let db = create(&config);
    use_up(&db, CALLS);
    let expected = states(&db);
    db.close().expect("it closes");
    (config, expected)
}

/// Works on accounts of its own as soon as the database is open, and checks that each was as expected.
fn work(mut session: Session, expected: &[State], (part, parts): (i64, i64)) {
    let mut rng = fastrand::Rng::with_seed(part as u64);
    let mut own: Vec<i64> = (0..ACCOUNTS).filter(|id| id % parts == part).collect();
    rng.shuffle(&mut own);
    for id in own {
        let as_expected = |tx: &Transaction<'_>| {
            let found = state(tx, id)?;
            assert_eq!(found, expected[id as usize], "account {id}");
            add(tx, id, 7)
        };
        session.run(as_expected).expect("a transaction");
        session.call("rename", &[id.into(), 77.into()]).expect("a call");
        session.call("forget", &[id.into()]).expect("a call");
    }
}

#[test]
fn whatever_is_come_to_has_run() {
    for (at, scheme) in SCHEMES.into_iter().enumerate() {
        let home = support::directory("instant", &format!("work{at}"));
        let (config, mut expected) = closed(&home, scheme);
        for threads in [1, 2] {
            let db = Database::open(instant(&config, threads)).unwrap_or_else(|error| panic!("{scheme:?}: {error}"));
            let report = db.recovery().expect("it was recovered");
            assert!(report.left > CALLS as u64 / 2, "{scheme:?}: {report}");
            thread::scope(|scope| {
                for part in 0..3 {
                    let (session, expected) = (db.session().expect("a session"), &expected);
                    scope.spawn(move || work(session, expected, (part, 3)));
                }
            });
            expected.iter_mut().for_each(|(owner, holds, notes)| {
                (*owner, *holds) = (77, *holds + 7);
                notes.clear();
            });
            assert!(states(&db) == expected, "{scheme:?}, {threads} threads");
            db.wait_for_replay().expect("it ends");
            assert_eq!(db.metrics().backlog.left, 0);
            db.close().expect("it closes");
            let db = Database::open(config.clone()).expect("it opens");
            assert!(states(&db) == expected, "{scheme:?}, {threads} threads: after another recovery");
            use_up(&db, CALLS);
            expected = states(&db);
            db.close().expect("it closes");
        }
    }
}

#[test]
fn scans_snapshots_checkpoints_and_definitions_see_all() {
    let home = support::directory("instant", "wholes");
    for (at, scheme) in SCHEMES.into_iter().enumerate() {
        let (config, expected) = closed(&home.join(at.to_string()), scheme);
        let session_at = |work: &dyn Fn(&Database)| {
            let db = Database::open(instant(&config, 2)).expect("it opens");
            assert!(db.metrics().backlog.transactions > 0);
            work(&db);
            db.close().expect("it closes");
        };
        session_at(&|db| assert!(states(db) == expected));
        session_at(&|db| {
            for owner in (0..10).rev() {
                let found = db.run(|tx| by_owner(tx, owner)).expect("an index").0;
                let of = (0..ACCOUNTS).filter(|id| expected[*id as usize].0 == owner);
                assert_eq!(found, of.collect::<Vec<_>>(), "{scheme:?}: owner {owner}");
            }
        });
        session_at(&|db| {
            let snapshot = db.snapshot().expect("a snapshot");
            let mut session = db.session().expect("a session");
            let tx = session.begin_at(&snapshot).expect("a transaction");
            (0..ACCOUNTS).for_each(|id| assert_eq!(state(&tx, id).expect("a state"), expected[id as usize]));
        });
        session_at(&|db| {
            db.checkpoint().expect("a checkpoint");
            assert_eq!(db.metrics().backlog.left, 0, "a checkpoint holds all");
            assert!(states(db) == expected);
        });
        let db = Database::open(config.clone()).expect("it opens");
        assert!(states(&db) == expected, "{scheme:?}: after the checkpoint");
        use_up(&db, CALLS);
        let expected = states(&db);
        db.close().expect("it closes");
        session_at(&|db| {
            db.run(|tx| tx.create_index(&tx.table("accounts")?, "sums", &["holds"], false)).expect("an index");
            assert_eq!(db.metrics().backlog.left, 0, "a definition comes last");
            assert!(states(db) == expected);
        });
        // Whatever stands before a definition has run before the database opens.
        let db = Database::open(instant(&config, 2)).expect("it opens");
        assert_eq!(db.metrics().backlog.transactions, 0);
        assert!(states(&db) == expected);
    }
}

/// A row that many of the log read and none of them writes.
#[test]
fn who_writes_waits_for_those_that_read() {
    for (at, scheme) in SCHEMES.into_iter().enumerate() {
        let home = support::directory("instant", &format!("reads{at}"));
        let (config, expected) = closed(&home, scheme);
        let db = Database::open(instant(&config, 2)).expect("it opens");
        let forbid = |tx: &Transaction<'_>| {
            let limits = tx.table("limits")?;
            (0..4).try_for_each(|id| tx.upsert(&limits, &[id.into(), (-1).into()]))
        };
        db.run(forbid).expect("limits");
        assert!(states(&db) == expected, "{scheme:?}: a transaction of the log saw a limit that came after it");
        db.close().expect("it closes");
        assert!(states(&Database::open(config).expect("it opens")) == expected, "{scheme:?}");
    }
}

/// What waits for a long call ends when its task is to end, and can come again.
#[test]
fn who_is_to_end_waits_no_more() {
    let home = support::directory("instant", "ends");
    let config = config(&home, SCHEMES[1]).checkpoint_at_close(false);
    let db = create(&config);
    let long = "procedure long(account bigint, rounds bigint) {
        let sum bigint = 0;
        let round bigint = 0;
        while round < rounds { set sum = (sum * 31 + round) % 1000003; set round = round + 1; }
        update accounts (account) as row set holds = sum; }";
    db.create_procedure(&Program::parse(long).expect("a program")).expect("a procedure");
    let rounds = 1_000_000_i64;
    let mut session = db.session().expect("a session");
    session.call("long", &[1.into(), rounds.into()]).expect("a call");
    let expected = states(&db).swap_remove(1);
    drop(session);
    db.close().expect("it closes");

    let db = Database::open(instant(&config, 1)).expect("it opens");
    let mut session = db.session().expect("a session");
    let mut ending = Fiber::new(|| session.run(|tx| state(tx, 1)).map(drop));
    ending.set_to_end(true);
    // What ended something before it does not count.
    assert!(matches!(ending.resume(Waker::noop(), true), Turn::Paused(_)), "it waits");
    let Turn::Over(Ok(Err(error))) = ending.resume(Waker::noop(), true) else {
        panic!("it goes on, or waits for more")
    };
    assert!(matches!(error, Error::Transaction(TransactionError::BacklogTimeout)), "{error}");
    assert_eq!(error.sqlstate(), "55P03");
    drop(ending);
    assert_eq!(session.run(|tx| state(tx, 2)).expect("nothing to wait for").0.1, 1000);
    assert_eq!(session.run(|tx| state(tx, 1)).expect("it waits").0, expected);
}

/// A close does not wait, and the next open finds what was there.
#[test]
fn a_close_on_the_way_loses_nothing() {
    let home = support::directory("instant", "close");
    let (config, mut expected) = closed(&home, SCHEMES[2]);
    let config = config.checkpoint_at_close(true);
    for at in 0..6 {
        let db = Database::open(instant(&config, 1)).expect("it opens");
        // Where all had run the last time, there is a checkpoint.
        assert!(at > 0 || db.metrics().backlog.transactions > CALLS as u64 / 2);
        for id in [at, at + 100] {
            db.run(|tx| add(tx, id, 3)).expect("a transaction").1.wait().expect("it is durable");
            expected[id as usize].1 += 3;
        }
        db.close().expect("it closes");
    }
    assert!(states(&Database::open(config).expect("it opens")) == expected);
}

/// Sessions that come and go in the middle of keys which transactions of the log insert and remove.
#[test]
fn inserts_beside_the_log_meet_none_of_it() {
    for (at, scheme) in SCHEMES.into_iter().enumerate() {
        let home = support::directory("instant", &format!("inserts{at}"));
        let (config, expected) = closed(&home, scheme);
        let db = Database::open(instant(&config, 2)).expect("it opens");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let notes = |tx: &Transaction<'_>, account: i64| {
                let notes = tx.table("notes")?;
                tx.insert(&notes, &[account.into(), (-1).into(), 0.into()])?;
                tx.delete(&notes, &[account.into(), (-1).into()]).map(drop)
            };
            for part in 0..2 {
                let (db, is_over) = (&db, &is_over);
                scope.spawn(move || {
                    let mut session = db.session().expect("a session");
                    for account in (0..).map(|at| ACCOUNTS + at * 2 + part) {
                        session.run(|tx| notes(tx, account % (2 * ACCOUNTS))).expect("a transaction");
                        if is_over.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                });
            }
            db.wait_for_replay().expect("it ends");
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(states(&db) == expected, "{scheme:?}");
    }
}
