//! What users of multiversion control can rely on: a transaction sees one state; who only reads commits, whatever others do; and
//! who writes meets a conflict where what it has read is not there any more.

#[path = "support/locks.rs"]
#[expect(dead_code, reason = "a part of what the tests of locking share")]
mod locks;
mod support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use locks::{
    Found, ROWS, delete, error, get, get_for_update, increment, insert, open, rows, scan, scan_index, set, value,
};
use osier::config::{ConcurrencyControlKind, Locking};
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{
    Config, Contended, Database, Error, Protocol, SequenceOptions, Session, Table, Transaction, TransactionError,
};

const PROTOCOLS: [Protocol; 7] = [
    Protocol::None,
    Protocol::Serial,
    Protocol::Poplar,
    Protocol::Gsn,
    Protocol::Plover,
    Protocol::Silo,
    Protocol::Taurus,
];

fn config(name: &str, protocol: Protocol) -> Config {
    let streams = if protocol == Protocol::Serial { 1 } else { 2 };
    support::config(&support::directory("multiversion", name), protocol, streams)
        .concurrency_control(ConcurrencyControlKind::Multiversion)
}

fn sessions<const N: usize>(db: &Database) -> [Session; N] {
    std::array::from_fn(|_| db.session().expect("a session"))
}

fn commit(db: &Database, write: impl Fn(&Transaction<'_>) -> Result<(), Error>) {
    db.run(write).expect("committed");
}

/// All rows, by the table and by its index.
fn all(tx: &Transaction<'_>, table: &Table) -> [Found; 2] {
    [
        scan(tx, table, 0, 100 * ROWS).expect("a scan"),
        scan_index(tx, table, i64::MIN, i64::MAX).expect("a scan of the index"),
    ]
}

fn is_row_conflict<T>(result: Result<T, Error>) -> bool {
    error(result) == TransactionError::Conflict { what: Contended::Row }
}

/// Changes, removes and adds rows, many times, so that what was removed is purged where it may be.
fn change_everything(db: &Database, table: &Table) {
    for round in 1..=20 {
        commit(db, |tx| {
            for id in (10..=10 * ROWS).step_by(20) {
                match round % 3 {
                    0 => drop(delete(tx, table, id)?),
                    1 if get(tx, table, id)?.is_none() => insert(tx, table, id, 7 * id)?,
                    _ => drop(set(tx, table, id, round * id)?),
                }
            }
            insert(tx, table, 10 * ROWS + round, round)
        });
        thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn a_transaction_sees_one_state_however_long_it_lasts() {
    for protocol in PROTOCOLS {
        let (db, table) = open(config("one-state", protocol));
        let [mut one, mut two, mut three] = sessions(&db);
        let before = one.begin();
        let seen = all(&before, &table);
        change_everything(&db, &table);
        let between = two.begin();
        let seen_between = all(&between, &table);
        assert_ne!(seen, seen_between);
        assert_eq!(seen_between[0].len(), seen_between[1].len());
        change_everything_back(&db, &table);

        assert_eq!(all(&before, &table), seen, "{protocol:?}");
        assert_eq!(all(&between, &table), seen_between, "{protocol:?}");
        for (id, value) in &seen[0] {
            assert_eq!(get(&before, &table, *id).expect("a read"), Some(*value));
        }
        assert_eq!(get(&before, &table, 10 * ROWS + 1).expect("a read"), None, "it came later");
        assert_eq!(get(&between, &table, 10 * ROWS + 1).expect("a read"), Some(1), "it went later");
        let by_index = before.get_by_index(&table, "by_value", &[Value::Int(20)]).expect("a read");
        assert!(by_index.is_some());
        before.commit().expect("who only reads commits").wait().expect("durable");
        between.abort().expect("what it saw holds").wait().expect("durable");
        assert_ne!(all(&three.begin(), &table), seen_between);
    }
}

fn change_everything_back(db: &Database, table: &Table) {
    change_everything_but_add(db, table);
    for _ in 0..3 {
        commit(db, |tx| set(tx, table, 20, 20).map(drop));
        thread::sleep(std::time::Duration::from_millis(2));
    }
}

fn change_everything_but_add(db: &Database, table: &Table) {
    commit(db, |tx| (1..=20).try_for_each(|round| delete(tx, table, 10 * ROWS + round).map(drop)));
}

#[test]
fn who_has_seen_the_past_may_not_write() {
    let (db, table) = open(config("no-write", Protocol::Poplar));
    let [mut session] = sessions(&db);
    type Write = fn(&Transaction<'_>, &Table) -> Result<(), Error>;
    let writes: [Write; 6] = [
        |tx, table| set(tx, table, 50, 51).map(drop),
        |tx, table| insert(tx, table, 55, 55),
        |tx, table| tx.upsert(table, &[Value::Int(50), Value::Int(51)]),
        |tx, table| delete(tx, table, 50).map(drop),
        |tx, table| get_for_update(tx, table, 10).map(drop),
        |tx, table| tx.replace(table, &[Value::Int(10), Value::Int(11)]).map(drop),
    ];
    for write in writes {
        let tx = session.begin();
        let first = get(&tx, &table, 10).expect("a read");
        commit(&db, |tx| increment(tx, &table, 10));
        assert_eq!(get(&tx, &table, 10).expect("a read"), first, "the past");
        assert!(is_row_conflict(write(&tx, &table)));
        assert!(is_row_conflict(tx.commit()), "an access has met a conflict");
    }
    // Nor the other way round.
    let tx = session.begin();
    get(&tx, &table, 10).expect("a read");
    commit(&db, |tx| increment(tx, &table, 10));
    set(&tx, &table, 60, 61).expect("nothing of the past was seen yet");
    assert!(is_row_conflict(get(&tx, &table, 10)), "who has written needs the present");
    assert!(is_row_conflict(tx.commit()));
    assert_eq!(value(&db, &table, 60), Some(60));
}

/// A value of a sequence is of now: so is everything else, before it and after it.
#[test]
fn who_draws_a_value_is_of_the_present() {
    let (db, table) = open(config("draws", Protocol::Poplar));
    let [mut session] = sessions(&db);
    let (sequence, _) = db.run(|tx| tx.create_sequence(&SequenceOptions::new("numbers"))).expect("a sequence");
    for draws_first in [false, true] {
        let tx = session.begin();
        get(&tx, &table, 10).expect("a read");
        if draws_first {
            tx.next_value(&sequence).expect("a value");
        }
        commit(&db, |tx| increment(tx, &table, 10));
        let later = match draws_first {
            true => get(&tx, &table, 10).map(drop),
            false => {
                get(&tx, &table, 10).expect("the past");
                tx.next_value(&sequence).map(drop)
            }
        };
        assert!(is_row_conflict(later));
        assert!(is_row_conflict(tx.commit()));
    }
}

#[test]
fn who_has_read_nothing_that_changed_goes_on_to_the_present() {
    let (db, table) = open(config("present", Protocol::Gsn));
    let [mut session] = sessions(&db);
    let tx = session.begin();
    commit(&db, |tx| increment(tx, &table, 10));
    assert_eq!(get(&tx, &table, 10).expect("a read"), Some(11), "it has read nothing before");
    commit(&db, |tx| increment(tx, &table, 20));
    assert_eq!(get(&tx, &table, 20).expect("a read"), Some(21), "row 10 is as it was");
    commit(&db, |tx| insert(tx, &table, 15, 0));
    assert_eq!(get(&tx, &table, 15).expect("a read"), Some(0));
    set(&tx, &table, 30, 31).expect("a write");
    tx.commit().expect("all that was read is there");
    assert_eq!(value(&db, &table, 30), Some(31));

    // It goes on only where all is as it was, a range too.
    let tx = session.begin();
    assert_eq!(scan(&tx, &table, 100, 120).expect("a scan"), [(100, 100), (110, 110), (120, 120)]);
    commit(&db, |tx| insert(tx, &table, 115, 0).and_then(|()| increment(tx, &table, 130)));
    assert_eq!(get(&tx, &table, 130).expect("a read"), Some(130), "as of the scan");
    assert_eq!(scan(&tx, &table, 100, 120).expect("a scan").len(), 3);
    assert!(is_row_conflict(set(&tx, &table, 130, 0)));
}

#[test]
fn definitions_are_no_later_than_what_is_seen() {
    let (db, table) = open(config("definitions", Protocol::Poplar));
    let [mut one, mut two] = sessions(&db);
    let tx = one.begin();
    get(&tx, &table, 10).expect("a read");
    commit(&db, |tx| increment(tx, &table, 10));
    let create = |tx: &Transaction<'_>| tx.create_index(&table, "by_both", &["value", "id"], false);
    let (altered, _) = db.run(create).expect("an index");
    assert_eq!(get(&tx, &table, 10).expect("a read"), Some(10), "the past");
    let found = tx.scan_index(&altered, "by_both", KeyRange::all()).map(|scan| rows(&altered, scan));
    assert!(found.is_err(), "the index was made later");
    drop(tx);

    // Who relies on a definition that changed does not commit.
    let tx = two.begin();
    assert_eq!(get(&tx, &altered, 10).expect("a read"), Some(11));
    commit(&db, |tx| tx.drop_table(&altered));
    let read = get(&tx, &altered, 20);
    assert!(read.is_err() || tx.commit().is_err(), "the table is gone");
}

/// Whoever only reads commits, and sees the sum that there always is; whoever writes loses no update.
#[test]
fn readers_commit_beside_writers() {
    for protocol in [Protocol::None, Protocol::Poplar, Protocol::Taurus] {
        let (db, table) = open(config("beside", protocol));
        let (is_over, refused) = (AtomicBool::new(false), AtomicU64::new(0));
        let expected = (1..=ROWS).map(|row| row * 10).sum::<i64>();
        thread::scope(|scope| {
            let writer = |seed: i64| {
                let (db, table) = (&db, &table);
                move || {
                    for round in 0..400 {
                        let (from, to) = (10 * (1 + (7 * round + seed) % ROWS), 10 * (1 + (11 * round + 3) % ROWS));
                        if from != to {
                            commit(db, |tx| transfer(tx, table, from, to, round));
                        }
                    }
                }
            };
            let reader = || {
                let mut session = db.session().expect("a session");
                while !is_over.load(Ordering::Relaxed) {
                    let tx = session.begin();
                    for by_index in [false, true] {
                        let found = match by_index {
                            false => scan(&tx, &table, 0, 100 * ROWS),
                            true => scan_index(&tx, &table, i64::MIN, i64::MAX),
                        };
                        let sum = found.expect("a scan").iter().map(|(_, value)| value).sum::<i64>();
                        assert_eq!(sum, expected, "{protocol:?}");
                    }
                    refused.fetch_add(u64::from(tx.commit().is_err()), Ordering::Relaxed);
                }
            };
            let readers = [scope.spawn(reader), scope.spawn(reader)];
            let writers = [scope.spawn(writer(0)), scope.spawn(writer(1))];
            writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
            is_over.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|reader| reader.join().expect("a reader"));
        });
        assert_eq!(refused.into_inner(), 0, "{protocol:?}");
    }
}

/// Moves an amount; a row that gives all goes, and comes again when it is given something.
fn transfer(tx: &Transaction<'_>, table: &Table, from: i64, to: i64, round: i64) -> Result<(), Error> {
    let Some(has) = get(tx, table, from)? else { return Ok(()) };
    let amount = if round % 4 == 0 { has } else { has / 3 };
    match amount == has {
        true => drop(delete(tx, table, from)?),
        false => drop(set(tx, table, from, has - amount)?),
    }
    match get(tx, table, to)? {
        Some(value) => set(tx, table, to, value + amount).map(drop),
        None => insert(tx, table, to, amount),
    }
}

/// A row that was recovered has room for a history as well: what takes its place is no larger.
#[test]
fn rows_are_replaced_at_the_limit_after_an_open() {
    let home = support::directory("multiversion", "limit");
    let open = || {
        let mut config = support::config(&home, Protocol::Poplar, 2);
        config.memory_limit = 4 << 20;
        Database::open(config.concurrency_control(ConcurrencyControlKind::Multiversion)).expect("opened")
    };
    let put = |session: &mut Session, table: &Table, id| {
        session.run(|tx| tx.upsert(table, &[Value::Int(id), Value::Bytes(&[1; 24])])).map(drop)
    };
    let fill = |session: &mut Session, table: &Table, from: i64| {
        (from..).find(|id| put(session, table, *id).is_err()).expect("there is a limit")
    };
    let schema = Schema::builder("full").column("id", Type::Int64).column("content", Type::Bytes).primary_key(["id"]);
    let db = open();
    let table = db.create_table(schema.build().expect("a schema")).expect("a table");
    let rows = fill(&mut db.session().expect("a session"), &table, 0);
    db.close().expect("closed");

    let db = open();
    let (table, mut session) = (db.table("full").expect("the table"), db.session().expect("a session"));
    fill(&mut session, &table, rows);
    (0..rows).for_each(|id| put(&mut session, &table, id).expect("no more than there was"));
}

/// What is on disk does not tell how transactions were isolated.
#[test]
fn each_open_isolates_as_it_likes() {
    for protocol in [Protocol::Poplar, Protocol::Taurus] {
        let home = support::directory("multiversion", "reopened");
        let config = |home: &Path, control| support::config(home, protocol, 2).concurrency_control(control);
        let controls = [
            ConcurrencyControlKind::Multiversion,
            ConcurrencyControlKind::Optimistic,
            ConcurrencyControlKind::Multiversion,
            ConcurrencyControlKind::TwoPhaseLocking,
            ConcurrencyControlKind::Multiversion,
        ];
        let (db, table) = open(config(&home, controls[0]));
        change_everything(&db, &table);
        let mut expected = all(&db.session().expect("a session").begin(), &table);
        db.close().expect("closed");
        for control in controls {
            let db = Database::open(config(&home, control).locking(Locking::WoundWait)).expect("opened again");
            let table = db.table("t").expect("the table");
            let mut session = db.session().expect("a session");
            assert_eq!(all(&session.begin(), &table), expected, "{protocol:?} {control:?}");
            commit(&db, |tx| increment(tx, &table, 20).and_then(|()| delete(tx, &table, 40).map(drop)));
            commit(&db, |tx| insert(tx, &table, 40, 1));
            expected = all(&session.begin(), &table);
            drop(session);
            db.close().expect("closed");
        }
    }
}
