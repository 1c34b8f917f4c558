//! Snapshots through the public API: what they hold, who they hinder, what they keep, and how they end.

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use osier::procedure::program::Program;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{
    Database, Error, Protocol, SequenceOptions, Snapshot, SnapshotEnd, Table, Transaction, TransactionError,
    TransactionOptions,
};

const ACCOUNTS: i64 = 300;
const AT_SNAPSHOT: TransactionOptions =
    TransactionOptions { snapshot: true, read_only: true, durability: osier::Durability::Durable };

fn directory(name: &str) -> PathBuf {
    support::directory("snapshots", name)
}

fn accounts() -> Schema {
    let schema = Schema::builder("account").column("id", Type::Int64).column("cents", Type::Int64);
    let schema = schema.column("owner", Type::Int64).primary_key(["id"]).index("by_owner", ["owner"]);
    schema.build().expect("a schema")
}

fn open(name: &str, protocol: Protocol, settings: &[(&str, &str)]) -> (Database, Table) {
    let config = support::config(&directory(name), protocol, 1);
    let set = |config: osier::Config, (name, value): &(&str, &str)| config.set(name, value).expect("a setting");
    let db = Database::open(settings.iter().fold(config, set)).expect("opened");
    let table = db.create_table(accounts()).expect("a table");
    let fill = |tx: &Transaction<'_>| -> Result<(), Error> {
        (0..ACCOUNTS).try_for_each(|id| tx.insert(&table, &[Value::Int(id), Value::Int(100), Value::Int(id % 9)]))
    };
    db.run(fill).expect("rows").1.wait().expect("durable");
    (db, table)
}

fn put(db: &Database, table: &Table, id: i64, cents: i64, owner: i64) {
    db.run(|tx| tx.upsert(table, &[Value::Int(id), Value::Int(cents), Value::Int(owner)])).expect("a write");
}

type State = BTreeMap<i64, (i64, i64)>;

/// All rows by a scan, checked against gets, a scan backward, and scans of the index.
fn state(tx: &Transaction<'_>, table: &Table) -> Result<State, Error> {
    let column = |name| table.column(name).expect(name);
    let (id, cents, owner) = (column("id"), column("cents"), column("owner"));
    let all = |range: KeyRange<'_>| -> Result<Vec<_>, Error> {
        tx.scan(table, range)?.map(|row| row.map(|row| (row.int(id), (row.int(cents), row.int(owner))))).collect()
    };
    let rows = all(KeyRange::all())?;
    let mut backward = all(KeyRange::all().reverse())?;
    backward.reverse();
    assert_eq!(rows, backward);
    let mut by_owner = Vec::new();
    let mut last = i64::MIN;
    for row in tx.scan_index(table, "by_owner", KeyRange::all())? {
        let row = row?;
        assert!(row.int(owner) >= last, "an index is in its order");
        last = row.int(owner);
        by_owner.push((row.int(id), (row.int(cents), row.int(owner))));
    }
    by_owner.sort_unstable();
    assert_eq!(rows, by_owner);
    let keys: Vec<[Value<'_>; 1]> = (0..ACCOUNTS + 20).map(|id| [Value::Int(id)]).collect();
    let many = tx.get_many(table, &keys)?;
    for (key, row) in keys.iter().zip(many) {
        let one = tx.get(table, key)?;
        assert_eq!(one.as_ref().map(|row| row.as_bytes()), row.as_ref().map(|row| row.as_bytes()));
        let Value::Int(key) = key[0] else { unreachable!() };
        let expected = rows.iter().find(|(id, _)| *id == key).map(|(_, rest)| *rest);
        assert_eq!(one.map(|row| (row.int(cents), row.int(owner))), expected);
    }
    Ok(rows.into_iter().collect())
}

fn at(db: &Database, snapshot: &Snapshot, table: &Table) -> State {
    let mut session = db.session().expect("a session");
    let tx = session.begin_at(snapshot).expect("its own snapshot");
    let state = state(&tx, table).expect("a snapshot is read without errors");
    tx.commit().expect("nothing aborts it").wait().expect("durable");
    state
}

fn now(db: &Database, table: &Table) -> State {
    db.run(|tx| state(tx, table)).expect("a read").0
}

#[test]
fn a_snapshot_stays_as_it_was() {
    for protocol in [
        Protocol::None,
        Protocol::Serial,
        Protocol::Poplar,
        Protocol::Gsn,
        Protocol::Silo,
        Protocol::Plover,
        Protocol::Taurus,
    ] {
        let (db, table) = open(&format!("stays-{protocol:?}"), protocol, &[]);
        let mut rng = fastrand::Rng::with_seed(7);
        let mut open: Vec<(Snapshot, State)> = Vec::new();
        for step in 0..600 {
            match rng.u8(..40) {
                0 => open.push((db.snapshot().expect("a snapshot"), now(&db, &table))),
                1 if !open.is_empty() => drop(open.swap_remove(rng.usize(..open.len()))),
                2 => drop(db.checkpoint().expect("a checkpoint")),
                3..=15 => {
                    let id = rng.i64(0..ACCOUNTS + 20);
                    db.run(|tx| tx.delete(&table, &[Value::Int(id)])).expect("a delete");
                }
                _ => put(&db, &table, rng.i64(0..ACCOUNTS + 20), rng.i64(0..1000), rng.i64(0..9)),
            }
            if step % 50 == 0 {
                for (snapshot, expected) in &open {
                    assert_eq!(at(&db, snapshot, &table), *expected, "{protocol:?}, epoch {}", snapshot.epoch());
                }
            }
        }
        assert!(open.len() > 2, "there were several at a time");
    }
}

/// Who opens a snapshot sees what has committed, also where nothing has ticked since.
#[test]
fn a_snapshot_holds_what_was_committed_before_it() {
    let (db, table) = open("before", Protocol::Poplar, &[("epoch_interval_us", "1000000")]);
    let begun = Instant::now();
    for cents in 0..50 {
        put(&db, &table, 1, cents, 0);
        let snapshot = db.snapshot().expect("a snapshot");
        put(&db, &table, 1, -1, 0);
        assert_eq!(at(&db, &snapshot, &table)[&1], (cents, 0));
    }
    assert!(begun.elapsed() < Duration::from_secs(25), "a snapshot does not wait for the clock");
}

/// A long reader: writers go on, transfers keep the total, and nothing aborts the reader.
#[test]
fn readers_of_snapshots_and_writers_do_not_meet() {
    let (db, table) = open("meet", Protocol::Gsn, &[]);
    let is_over = AtomicBool::new(false);
    let column = table.column("cents").expect("cents");
    thread::scope(|scope| {
        for seed in 0..2 {
            let (db, table, is_over) = (&db, &table, &is_over);
            scope.spawn(move || {
                let (mut session, mut rng) = (db.session().expect("a session"), fastrand::Rng::with_seed(seed));
                while !is_over.load(Ordering::Relaxed) {
                    let (from, to) = (rng.i64(0..ACCOUNTS), rng.i64(0..ACCOUNTS));
                    let moved = session.run(|tx| -> Result<(), Error> {
                        for (id, change) in [(from, -3), (to, 3)] {
                            let old = tx.get(table, &[Value::Int(id)])?.map_or(0, |row| row.int(column));
                            match old + change {
                                0 => drop(tx.delete(table, &[Value::Int(id)])?),
                                new => tx.upsert(table, &[Value::Int(id), Value::Int(new), Value::Int(new % 7)])?,
                            }
                        }
                        Ok(())
                    });
                    moved.expect("a transfer");
                }
            });
        }
        let mut session = db.session().expect("a session");
        let held = db.snapshot().expect("a snapshot");
        let first = at(&db, &held, &table);
        for _ in 0..30 {
            let tx = session.begin_with(AT_SNAPSHOT);
            let total: i64 = state(&tx, &table).expect("no conflict").values().map(|(cents, _)| cents).sum();
            assert_eq!(total, 100 * ACCOUNTS);
            tx.commit().expect("no conflict").wait().expect("durable");
        }
        assert_eq!(at(&db, &held, &table), first);
        is_over.store(true, Ordering::Relaxed);
    });
}

/// What is kept is counted, shown, and given back.
#[test]
fn what_is_kept_goes_with_the_snapshot() {
    let (db, table) = open("kept", Protocol::Poplar, &[]);
    assert_eq!(db.metrics().snapshots.open, 0);
    let snapshot = db.snapshot().expect("a snapshot");
    let again = snapshot.clone();
    (0..100).for_each(|id| put(&db, &table, id, 7, id % 9));
    (0..50).for_each(|id| drop(db.run(|tx| tx.delete(&table, &[Value::Int(id)])).expect("a delete")));
    let metrics = db.metrics().snapshots;
    // 100 rows; what the deletes replaced nobody sees; and 50 entries of the index.
    let oldest = metrics.oldest.expect("one is open");
    assert_eq!((metrics.open, metrics.versions, oldest.versions, oldest.epoch), (1, 150, 150, snapshot.epoch()));
    assert!(oldest.bytes == metrics.bytes && metrics.bytes > 150 * 24);
    drop(snapshot);
    assert_eq!(at(&db, &again, &table).len() as i64, ACCOUNTS);
    drop(again);
    let given_back = || db.metrics().snapshots.versions == 0 && db.metrics().memory.used.retained == 0;
    let begun = Instant::now();
    while !given_back() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", db.metrics().snapshots);
        db.run(|tx| tx.get(&table, &[Value::Int(0)]).map(|_| ())).expect("a read");
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(now(&db, &table).len() as i64, ACCOUNTS - 50);
}

#[test]
fn an_old_snapshot_is_ended_with_an_error() {
    let (db, table) = open("age", Protocol::Poplar, &[("snapshot_age_max_us", "200000")]);
    let snapshot = db.snapshot().expect("a snapshot");
    let mut session = db.session().expect("a session");
    let tx = session.begin_at(&snapshot).expect("its own snapshot");
    let mut scan = tx.scan(&table, KeyRange::all()).expect("a scan");
    assert!(scan.next().is_some_and(|row| row.is_ok()));
    (0..ACCOUNTS).for_each(|id| drop(db.run(|tx| tx.delete(&table, &[Value::Int(id)])).expect("a delete")));
    thread::sleep(Duration::from_millis(400));
    let ended = |error: Error| match error {
        Error::Transaction(TransactionError::SnapshotEnded { epoch, end: SnapshotEnd::Age { age, limit } }) => {
            assert!(epoch == snapshot.epoch() && age > limit && limit == Duration::from_millis(200));
        }
        error => panic!("{error}"),
    };
    let rest: Result<Vec<_>, Error> = scan.collect();
    ended(rest.expect_err("it is over, and no row is left out in silence"));
    ended(tx.get(&table, &[Value::Int(1)]).expect_err("it is over"));
    drop(tx);
    assert_eq!(db.metrics().snapshots.ended, 1);
    assert_eq!(at(&db, &db.snapshot().expect("another one"), &table).len(), 0);
}

#[test]
fn a_snapshot_that_costs_too_much_memory_is_ended() {
    let home = directory("memory");
    let config = support::config(&home, Protocol::None, 1).set("memory_limit", "5000000").expect("a limit");
    let db = Database::open(config).expect("opened");
    let schema = Schema::builder("t").column("id", Type::Int64).column("bytes", Type::Bytes).primary_key(["id"]);
    let table = db.create_table(schema.build().expect("a schema")).expect("a table");
    let write = |id: i64, byte: u8| {
        let row = vec![byte; 1000];
        db.run(|tx| tx.upsert(&table, &[Value::Int(id), Value::Bytes(&row)])).map(|_| ())
    };
    (0..3000).try_for_each(|id| write(id, 1)).expect("within the limit");
    let snapshot = db.snapshot().expect("a snapshot");
    let mut refused = 0;
    for round in 0..3 {
        for id in 0..3000 {
            match write(id, round) {
                Ok(()) => {}
                Err(Error::Transaction(TransactionError::MemoryLimit { .. })) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    let mut session = db.session().expect("a session");
    let tx = session.begin_at(&snapshot).expect("its own snapshot");
    let read = tx.get(&table, &[Value::Int(1)]).map(|_| ());
    assert!(
        matches!(
            read,
            Err(Error::Transaction(TransactionError::SnapshotEnded { end: SnapshotEnd::Memory { .. }, .. }))
        ),
        "{read:?}"
    );
    drop(tx);
    assert!(refused < 3000, "writers go on: {refused} of 9,000 were refused");
    write(1, 9).expect("there is room again");
}

/// Of many, the one that costs, and that one alone: also while somebody's transaction keeps its rows from being freed.
#[test]
fn memory_ends_the_snapshot_that_costs_it() {
    let (db, table) = open("costs", Protocol::None, &[("memory_limit", "3000000")]);
    let write = |id: i64, cents: i64| {
        db.run(|tx| tx.upsert(&table, &[Value::Int(id), Value::Int(cents), Value::Int(1)])).map(|_| ())
    };
    let mut id = ACCOUNTS;
    while db.metrics().memory.used.total() < 2_400_000 {
        write(id, 1).expect("within the limit");
        id += 1;
    }
    let costly = db.snapshot().expect("a snapshot");
    let mut others = Vec::new();
    let mut idle = db.session().expect("a session");
    let _open = idle.begin();
    let begun = Instant::now();
    while db.metrics().snapshots.ended == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", db.metrics());
        (0..id).for_each(|id| drop(write(id, 2)));
        if others.len() < 4 {
            others.push(db.snapshot().expect("a snapshot"));
        }
    }
    thread::sleep(Duration::from_millis(100));
    assert_eq!(db.metrics().snapshots.ended, 1);
    let mut session = db.session().expect("a session");
    let tx = session.begin_at(&costly).expect("its own snapshot");
    assert!(tx.get(&table, &[Value::Int(1)]).is_err());
}

/// Whoever passes over an error gets no rows with gaps.
#[test]
fn nothing_comes_behind_an_error() {
    let (db, table) = open("behind", Protocol::None, &[("snapshot_age_max_us", "3000")]);
    let mut session = db.session().expect("a session");
    for _ in 0..50 {
        let snapshot = db.snapshot().expect("a snapshot");
        let tx = session.begin_at(&snapshot).expect("its own snapshot");
        'scans: loop {
            let Ok(mut scan) = tx.scan_index(&table, "by_owner", KeyRange::all()) else { break };
            while let Some(row) = scan.next() {
                if row.is_err() {
                    assert!(scan.next().is_none());
                    break 'scans;
                }
            }
        }
    }
}

#[test]
fn definitions_are_those_of_the_snapshot() {
    let (db, table) = open("definitions", Protocol::Poplar, &[]);
    let snapshot = db.snapshot().expect("a snapshot");
    let expected = now(&db, &table);
    let other = Schema::builder("other").column("id", Type::Int64).primary_key(["id"]).build().expect("a schema");
    let other = db.create_table(other).expect("a table");
    let (altered, _) = db.run(|tx| tx.create_index(&table, "by_cents", &["cents"], false)).expect("an index");
    let with_index = db.snapshot().expect("a snapshot");
    (0..ACCOUNTS).for_each(|id| put(&db, &altered, id, 7, 8));
    db.run(|tx| tx.drop_table(&altered)).expect("dropped");
    let after = db.snapshot().expect("a snapshot");

    let mut session = db.session().expect("a session");
    let tx = session.begin_at(&snapshot).expect("its own snapshot");
    let found = tx.table("account").expect("it was there");
    assert_eq!(state(&tx, &found).expect("a read"), expected);
    assert!(tx.scan_index(&found, "by_cents", KeyRange::all()).is_err(), "the index is younger");
    assert!(tx.table("other").is_err() && tx.get(&other, &[Value::Int(1)]).is_err(), "the table is younger");
    assert!(matches!(
        tx.get(&altered, &[Value::Int(1)]),
        Err(Error::Transaction(TransactionError::TableNotOfSnapshot { .. }))
    ));
    drop(tx);
    let tx = session.begin_at(&with_index).expect("its own snapshot");
    let found = tx.table("account").expect("it was there");
    assert_eq!(tx.scan_index(&found, "by_cents", KeyRange::all()).expect("a scan").count() as i64, ACCOUNTS);
    assert_eq!(state(&tx, &found).expect("a read"), expected);
    drop(tx);
    let tx = session.begin_at(&after).expect("its own snapshot");
    assert!(tx.table("account").is_err() && tx.table("other").is_ok());
}

#[test]
fn a_transaction_at_a_snapshot_reads_only() {
    let (db, table) = open("reads", Protocol::Poplar, &[]);
    let sequence = db.create_sequence(&SequenceOptions::new("s")).expect("a sequence");
    let program = Program::parse("procedure p() { }").expect("a program");
    db.create_procedure(&program).expect("a procedure");
    let mut session = db.session().expect("a session");
    let tx = session.begin_with(AT_SNAPSHOT);
    let (key, row) = ([Value::Int(1)], [Value::Int(1), Value::Int(1), Value::Int(1)]);
    let cents = table.column("cents").expect("cents");
    let refusals: Vec<Result<(), Error>> = vec![
        tx.insert(&table, &row),
        tx.upsert(&table, &row),
        tx.replace(&table, &row).map(|_| ()),
        tx.update(&table, &key, &[(cents, Value::Int(2))]).map(|_| ()),
        tx.update_with(&table, &key, |_, _| Ok::<_, Error>(())).map(|_| ()),
        tx.delete(&table, &key).map(|_| ()),
        tx.delete_blind(&table, &key),
        tx.create_table(accounts()).map(|_| ()),
        tx.create_index(&table, "i", &["cents"], false).map(|_| ()),
        tx.drop_index(&table, "by_owner").map(|_| ()),
        tx.drop_table(&table),
        tx.create_sequence(&SequenceOptions::new("t")).map(|_| ()),
        tx.sequence("s").map(|_| ()),
        tx.next_value(&sequence).map(|_| ()),
        tx.restart_sequence(&sequence, None),
        tx.drop_sequence(&sequence),
        tx.create_procedure(&program),
        tx.replace_procedure(&program),
        tx.drop_procedure("p"),
        tx.procedure("p").map(|_| ()),
        tx.procedure_of_version("p", 1).map(|_| ()),
        tx.procedures().map(|_| ()),
        tx.call("p", &[]).map(|_| ()),
    ];
    for (at, refused) in refusals.into_iter().enumerate() {
        let error = refused.expect_err(&format!("operation {at}"));
        assert_eq!(error.sqlstate(), "25006", "operation {at}: {error}");
    }
    let savepoint = tx.savepoint();
    assert!(tx.get(&table, &key).expect("a read").is_some());
    tx.rollback_to(savepoint).expect("there is nothing to undo");
    tx.expect(&table, [key]).expect("a hint");
    tx.abort().expect("given up").wait().expect("durable");
    let called = session.call_with(AT_SNAPSHOT, "p", &[]);
    assert_eq!(called.expect_err("no calls").sqlstate(), "25006");
}

#[test]
fn a_snapshot_of_another_database_is_refused() {
    let (db, _) = open("own", Protocol::Poplar, &[]);
    let (other, _) = open("other", Protocol::Poplar, &[]);
    let snapshot = other.snapshot().expect("a snapshot");
    let mut session = db.session().expect("a session");
    let refused = session.begin_at(&snapshot).map(|_| ()).expect_err("another database");
    assert!(matches!(refused, Error::Transaction(TransactionError::ForeignSnapshot { .. })), "{refused}");
}

#[test]
fn a_snapshot_outlives_the_database() {
    let (db, table) = open("outlives", Protocol::Poplar, &[]);
    let snapshot = db.snapshot().expect("a snapshot");
    let mut session = db.session().expect("a session");
    db.close().expect("closed");
    assert!(db.snapshot().is_err(), "a closed database has none");
    let tx = session.begin_at(&snapshot).expect("its own snapshot");
    // What is in memory is as it was, and nothing tells that it is durable.
    assert!(tx.get(&table, &[Value::Int(1)]).is_ok());
    assert!(tx.commit().is_err());
}

/// Somebody who has begun a transaction and thinks about it.
#[test]
fn an_open_transaction_holds_no_snapshot_up() {
    let (db, table) = open("idle", Protocol::Poplar, &[]);
    let mut session = db.session().expect("a session");
    let tx = session.begin();
    tx.delete(&table, &[Value::Int(1)]).expect("a delete");
    let snapshot = db.snapshot().expect("a snapshot");
    assert_eq!(at(&db, &snapshot, &table).len() as i64, ACCOUNTS);
    tx.commit().expect("a commit");
    assert_eq!(at(&db, &snapshot, &table).len() as i64, ACCOUNTS);
}
