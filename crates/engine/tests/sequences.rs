//! Sequences through the public API on the file system: their values, beside each other and across restarts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use osier::config::ConcurrencyControlKind;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{
    Config, Create, Database, Durability, Error, Protocol, Sequence, SequenceOptions, Session, Transaction,
    TransactionError, TransactionOptions, salvage,
};

fn home(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sequences").join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

fn open(home: &Path) -> Database {
    Database::open(Config::new(home)).expect("opened")
}

fn close(db: Database) {
    db.close().expect("closed");
}

fn next(session: &mut Session, sequence: &Sequence) -> i64 {
    session.run(|tx| tx.next_value(sequence)).expect("a value").0
}

fn take(session: &mut Session, sequence: &Sequence, count: usize) -> Vec<i64> {
    (0..count).map(|_| next(session, sequence)).collect()
}

fn error<T>(result: Result<T, Error>) -> TransactionError {
    match result {
        Err(Error::Transaction(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it is no error"),
    }
}

/// What the catalog says comes next.
fn left(db: &Database) -> Option<i64> {
    let read = db.run(|tx| -> Result<Option<i64>, Error> {
        let table = tx.table("osier_sequences")?;
        let next = table.column("next")?;
        let row = tx.get(&table, &[Value::Text("s")])?.expect("the sequence");
        Ok((!row.is_null(next)).then(|| row.int(next)))
    });
    read.expect("read").0
}

#[test]
fn values_follow_each_other_and_sessions_have_blocks_of_their_own() {
    let db = open(&home("blocks"));
    let sequence = db.create_sequence(&SequenceOptions::new("s").cache(3)).expect("a sequence");
    let (mut one, mut other) = (db.session().expect("one"), db.session().expect("another"));
    assert_eq!(take(&mut one, &sequence, 2), [1, 2]);
    assert_eq!(take(&mut other, &sequence, 2), [4, 5]);
    assert_eq!(take(&mut one, &sequence, 2), [3, 7]);
    assert_eq!(left(&db), Some(10));
    // A transaction that is given up gives nothing back.
    let tx = one.begin();
    assert_eq!(tx.next_value(&sequence).expect("a value"), 8);
    drop(tx);
    assert_eq!(next(&mut one, &sequence), 9);
    drop((one, other));
    close(db);
}

#[test]
fn directions_bounds_and_cycles() {
    let db = open(&home("bounds"));
    let mut session = db.session().expect("a session");
    let create = |options: SequenceOptions| db.create_sequence(&options).expect("a sequence");
    let down = create(SequenceOptions::new("down").increment(-5).cache(2));
    let cycling = create(SequenceOptions::new("cycling").minimum(1).maximum(3).start(2).cycle(true));
    let ending = create(SequenceOptions::new("ending").minimum(7).maximum(8).cache(1));
    assert_eq!(take(&mut session, &down, 3), [-1, -6, -11]);
    assert_eq!(take(&mut session, &cycling, 6), [2, 3, 1, 2, 3, 1]);
    assert_eq!(take(&mut session, &ending, 2), [7, 8]);
    for _ in 0..2 {
        let refused = error(session.run(|tx| tx.next_value(&ending)));
        assert_eq!(refused, TransactionError::SequenceExhausted { sequence: "ending".to_owned(), bound: 8 });
        assert_eq!(refused.sqlstate(), "2200H");
    }
    drop(session);
    close(db);
}

#[test]
fn what_cannot_be_declared_is_refused() {
    let db = open(&home("declared"));
    let options = || SequenceOptions::new("s");
    let wrong = [
        options().increment(0),
        options().minimum(5).maximum(5),
        options().minimum(5).start(4),
        options().maximum(5).start(6),
        options().increment(-1).start(1),
        options().cache(0),
        SequenceOptions::new(""),
    ];
    for options in wrong {
        assert_eq!(error(db.create_sequence(&options)).sqlstate(), "22023", "{options:?}");
    }
    assert_eq!(error(db.create_sequence(&SequenceOptions::new("osier_s"))).sqlstate(), "42939");
    assert_eq!(error(db.sequence("s")).sqlstate(), "42P01");
    let sequence = db.create_sequence(&options()).expect("a sequence");
    assert_eq!(error(db.create_sequence(&options())).sqlstate(), "42P07");
    assert_eq!(error(db.run(|tx| tx.restart_sequence(&sequence, Some(0)))).sqlstate(), "22023");
    let mut session = db.session().expect("a session");
    let read_only = TransactionOptions { read_only: true, ..TransactionOptions::default() };
    let refused = error(session.run_with(read_only, |tx| tx.next_value(&sequence)));
    assert_eq!((refused.sqlstate(), left(&db)), ("25006", Some(1)));
    drop(session);
    close(db);
}

#[test]
fn the_tables_of_the_catalog_are_read_and_not_written() {
    let db = open(&home("system"));
    db.create_sequence(&SequenceOptions::new("s")).expect("a sequence");
    for name in ["osier_tables", "osier_sequences", "osier_procedures", "osier_procedure_versions"] {
        let table = db.table(name).expect("a system table");
        let rows = db.run(|tx| -> Result<usize, Error> { Ok(tx.scan(&table, KeyRange::all())?.count()) });
        assert_eq!(rows.expect("a scan").0, usize::from(name == "osier_sequences"), "{name}");
        let key: Vec<Value<'_>> = match table.schema().primary_key().len() {
            1 => vec![Value::Text("s")],
            _ => vec![Value::Int(1), Value::Int(1)],
        };
        assert_eq!(error(db.run(|tx| tx.delete(&table, &key))).sqlstate(), "42501");
        assert_eq!(error(db.run(|tx| tx.drop_table(&table))).sqlstate(), "42501");
        assert_eq!(error(db.run(|tx| tx.create_index(&table, "i", &["id"], false).map(drop))).sqlstate(), "42501");
        let schema = Schema::builder(name).column("id", Type::Int64).primary_key(["id"]).build().expect("a schema");
        assert_eq!(error(db.create_table(schema)).sqlstate(), "42939");
    }
    assert_eq!(error(db.table("osier_nothing")).sqlstate(), "42P01");
    close(db);
}

#[test]
fn transactions_that_draw_do_not_conflict() {
    let db = open(&home("together"));
    let sequence = db.create_sequence(&SequenceOptions::new("s").cache(1)).expect("a sequence");
    let (mut one, mut other) = (db.session().expect("one"), db.session().expect("another"));
    let (first, second) = (one.begin(), other.begin());
    let mut values = BTreeSet::new();
    for _ in 0..3 {
        values.insert(first.next_value(&sequence).expect("a value"));
        values.insert(second.next_value(&sequence).expect("a value"));
    }
    first.commit().expect("committed");
    second.commit().expect("committed");
    assert_eq!(values, (1..=6).collect());
    drop((one, other));
    close(db);
}

#[test]
fn threads_are_given_different_values() {
    const VALUES: usize = 2000;
    let db = open(&home("threads"));
    let sequence = db.create_sequence(&SequenceOptions::new("s").cache(3)).expect("a sequence");
    let draw = |_| {
        let (mut session, sequence) = (db.session().expect("a session"), sequence.clone());
        std::thread::spawn(move || take(&mut session, &sequence, VALUES))
    };
    let threads: Vec<_> = (0..4).map(draw).collect();
    let mut all = BTreeSet::new();
    for thread in threads {
        let values = thread.join().expect("a thread");
        assert!(values.is_sorted(), "one session's values grow");
        all.extend(values);
    }
    assert_eq!(all.len(), 4 * VALUES);
    close(db);
}

#[test]
fn a_sequence_is_usable_where_it_is_created() {
    let db = open(&home("own"));
    let mut session = db.session().expect("a session");
    let tx = session.begin();
    let sequence = tx.create_sequence(&SequenceOptions::new("s")).expect("a sequence");
    assert_eq!(tx.sequence("s").expect("its own").name(), "s");
    assert_eq!(tx.next_value(&sequence).expect("a value"), 1);
    let savepoint = tx.savepoint();
    assert_eq!(tx.next_value(&sequence).expect("a value"), 2);
    tx.rollback_to(savepoint).expect("rolled back");
    assert_eq!(tx.next_value(&sequence).expect("a value"), 3);
    assert!(db.sequence("s").is_err(), "nobody else sees it");
    tx.commit().expect("committed");
    assert_eq!(left(&db), Some(4));
    assert_eq!(next(&mut session, &sequence), 4);

    // Rolled back with its creation.
    let tx = session.begin();
    let savepoint = tx.savepoint();
    let gone = tx.create_sequence(&SequenceOptions::new("gone")).expect("a sequence");
    tx.next_value(&gone).expect("a value");
    tx.rollback_to(savepoint).expect("rolled back");
    assert_eq!(error(tx.next_value(&gone)).sqlstate(), "42P01");
    tx.commit().expect("committed");
    drop(session);
    close(db);
}

#[test]
fn a_sequence_that_is_created_anew_begins_anew() {
    let db = open(&home("anew"));
    let mut session = db.session().expect("a session");
    let old = db.create_sequence(&SequenceOptions::new("s").start(100)).expect("a sequence");
    assert_eq!(take(&mut session, &old, 2), [100, 101]);
    let create = |tx: &osier::Transaction<'_>| {
        tx.drop_sequence(&old)?;
        assert_eq!(error(tx.next_value(&old)).sqlstate(), "42P01");
        tx.create_sequence(&SequenceOptions::new("s"))
    };
    let (new, _) = db.run(create).expect("created anew");
    assert_eq!(error(session.run(|tx| tx.next_value(&old))).sqlstate(), "42P01");
    assert_eq!(next(&mut session, &new), 1);
    assert_eq!(error(db.run(|tx| tx.drop_sequence(&old))).sqlstate(), "42P01");
    drop(session);
    close(db);
}

#[test]
fn who_draws_conflicts_with_who_drops() {
    let db = open(&home("dropped"));
    let mut session = db.session().expect("a session");
    let mut relies = |sequence: &Sequence| {
        let tx = session.begin();
        tx.next_value(sequence).expect("a value");
        db.run(|tx| tx.drop_sequence(sequence)).expect("dropped");
        let error = tx.commit().expect_err("there is no such sequence");
        assert!(error.is_conflict(), "{error}");
    };
    // The session has not looked at it before.
    relies(&db.create_sequence(&SequenceOptions::new("s")).expect("a sequence"));
    let sequence = db.create_sequence(&SequenceOptions::new("s")).expect("a sequence");
    // It has.
    next(&mut session, &sequence);
    let tx = session.begin();
    tx.next_value(&sequence).expect("a value");
    db.run(|tx| tx.drop_sequence(&sequence)).expect("dropped");
    assert!(tx.commit().expect_err("there is no such sequence").is_conflict());
    drop(session);
    close(db);
}

#[test]
fn a_restart_takes_reserved_values_back() {
    let db = open(&home("restart"));
    let sequence = db.create_sequence(&SequenceOptions::new("s").start(10)).expect("a sequence");
    let (mut one, mut other) = (db.session().expect("one"), db.session().expect("another"));
    assert_eq!((next(&mut one, &sequence), next(&mut other, &sequence)), (10, 42));
    let tx = one.begin();
    tx.restart_sequence(&sequence, Some(500)).expect("restarted");
    assert_eq!(tx.next_value(&sequence).expect("a value"), 500);
    drop(tx);
    assert_eq!(next(&mut one, &sequence), 11, "it was given up");
    let tx = one.begin();
    tx.restart_sequence(&sequence, Some(500)).expect("restarted");
    assert_eq!(tx.next_value(&sequence).expect("a value"), 500);
    tx.commit().expect("committed");
    assert_eq!(next(&mut other, &sequence), 501);
    assert_eq!(next(&mut one, &sequence), 533);
    db.run(|tx| tx.restart_sequence(&sequence, None)).expect("restarted");
    assert_eq!(next(&mut one, &sequence), 10);
    drop((one, other));
    close(db);
}

#[test]
fn a_sequence_goes_on_after_a_restart_of_the_database() {
    for (name, protocol) in [("poplar", Protocol::Poplar), ("serial", Protocol::Serial), ("none", Protocol::None)] {
        let home = home(&format!("reopened-{name}"));
        let config = || {
            let config = Config::new(&home).protocol(protocol);
            Config { checkpoint_at_close: protocol == Protocol::None, ..config }
        };
        let db = Database::open(config()).expect("opened");
        let sequence = db.create_sequence(&SequenceOptions::new("s").cache(10)).expect("a sequence");
        let mut session = db.session().expect("a session");
        assert_eq!(take(&mut session, &sequence, 3), [1, 2, 3]);
        drop(session);
        close(db);
        drop(sequence);
        let db = Database::open(config()).expect("opened again");
        let sequence = db.sequence("s").expect("the sequence");
        let mut session = db.session().expect("a session");
        assert_eq!(next(&mut session, &sequence), 11, "{name}");
        db.checkpoint().expect("a checkpoint");
        db.run(|tx| tx.drop_sequence(&sequence)).expect("dropped");
        drop(session);
        close(db);
        let db = Database::open(config()).expect("opened again");
        assert_eq!(error(db.sequence("s")).sqlstate(), "42P01", "{name}");
        close(db);
    }
}

#[test]
fn a_receipt_waits_for_the_reservation() {
    let db = open(&home("receipt"));
    let sequence = db.create_sequence(&SequenceOptions::new("s")).expect("a sequence");
    let mut session = db.session().expect("a session");
    let before = db.metrics().committed;
    // Nothing is written but the reservation, on which the receipt depends.
    let (value, receipt) = session.run(|tx| tx.next_value(&sequence)).expect("a value");
    receipt.wait().expect("durable");
    assert_eq!((value, db.metrics().committed - before), (1, 1), "a reservation is not the user's transaction");
    let relaxed = TransactionOptions { durability: Durability::Relaxed, ..TransactionOptions::default() };
    let (value, receipt) = session.run_with(relaxed, |tx| tx.next_value(&sequence)).expect("a value");
    assert_eq!((value, receipt.is_acknowledged().expect("a relaxed one is")), (2, true));
    drop(session);
    close(db);
}

#[test]
fn a_salvage_takes_sequences_along() {
    for rows in [false, true] {
        let (home, target) = (home(&format!("damaged-{rows}")), home(&format!("salvaged-{rows}")));
        let db = open(&home);
        let sequence = db.create_sequence(&SequenceOptions::new("s").cache(10)).expect("a sequence");
        let mut session = db.session().expect("a session");
        next(&mut session, &sequence);
        drop(session);
        close(db);
        let report = salvage(&Config::new(&home), Config::new(&target).create(Create::New), rows).expect("salvaged");
        assert_eq!((report.nameless_rows, report.tables.len(), report.tables[0].rows), (0, 1, 1), "{report}");
        let db = open(&target);
        let sequence = db.sequence("s").expect("the sequence");
        assert_eq!(next(&mut db.session().expect("a session"), &sequence), 11);
        let another = db.create_sequence(&SequenceOptions::new("another")).expect("a sequence");
        assert_eq!(next(&mut db.session().expect("a session"), &another), 1);
        close(db);
    }
}

#[test]
fn as_many_sessions_as_may_be_draw() {
    let home = home("many");
    let config = Config { sessions_max: 3, ..Config::new(&home) };
    let db = Database::open(config).expect("opened");
    let sequence = db.create_sequence(&SequenceOptions::new("s").cache(1)).expect("a sequence");
    for _ in 0..3 {
        let mut sessions: Vec<Session> = std::iter::from_fn(|| db.session().ok()).collect();
        assert!(sessions.len() >= 3);
        let values: BTreeSet<i64> = sessions.iter_mut().map(|session| next(session, &sequence)).collect();
        assert_eq!(values.len(), sessions.len());
        db.checkpoint().expect("a checkpoint");
    }
    close(db);
}

/// Each value is reserved by a transaction that changes the sequence's row, while others that draw commit.
#[test]
fn who_draws_by_name_is_not_run_again() {
    const ROUNDS: u64 = 300;
    const THREADS: i64 = 4;
    use ConcurrencyControlKind::{Multiversion, Optimistic, TwoPhaseLocking};
    for control in [Optimistic, TwoPhaseLocking, Multiversion] {
        let config = Config::new("unused").protocol(Protocol::None).concurrency_control(control);
        let db = Database::open(config).expect("opened");
        let schema = Schema::builder("t").column("id", Type::Int64).column("n", Type::Int64).primary_key(["id"]);
        let table = db.create_table(schema.build().expect("a schema")).expect("a table");
        db.create_sequence(&SequenceOptions::new("s").cache(1)).expect("a sequence");
        let (attempts, start) = (AtomicU64::new(0), Barrier::new(THREADS as usize));
        let draw = &|thread| {
            let mut session = db.session().expect("a session");
            let body = |tx: &Transaction<'_>| {
                let value = tx.next_value(&tx.sequence("s")?)?;
                tx.upsert(&table, &[Value::Int(thread), Value::Int(value)])
            };
            // What a session uses for the first time it looks up, and then the row counts as read.
            session.run(body).expect("a row");
            start.wait();
            let counted = |tx: &Transaction<'_>| {
                attempts.fetch_add(1, Ordering::Relaxed);
                body(tx)
            };
            (0..ROUNDS).for_each(|_| drop(session.run(counted).expect("a row")));
        };
        std::thread::scope(|scope| (0..THREADS).for_each(|thread| drop(scope.spawn(move || draw(thread)))));
        assert_eq!(attempts.into_inner(), THREADS as u64 * ROUNDS, "{control:?}");
    }
}
