//! `memory_limit` and the limits of one transaction: what is refused, what goes on, what comes back, what recovery needs.

#[path = "support/copying.rs"]
mod copying;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use osier::table::{KeyRange, Schema, Table, Type, Value};
use osier::{Config, Database, Error, Protocol, Session, Transaction, TransactionError};
use proptest::prelude::*;

const LIMIT: u64 = 4 << 20;
/// What the limit leaves for rows that are replaced, checkpoints and recovery.
const HEADROOM: u64 = LIMIT / 8;

fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("osier-memory-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn config(home: &Path, protocol: Protocol) -> Config {
    let mut config = Config::new(home).protocol(protocol);
    config.memory_limit = LIMIT;
    config.epoch_interval = Duration::from_millis(1);
    config.recovery_threads = 2;
    config
}

fn blobs(db: &Database) -> Table {
    let schema = Schema::builder("blob")
        .column("id", Type::Int64)
        .column("content", Type::Bytes)
        .primary_key(["id"])
        .build()
        .expect("a schema");
    db.create_table(schema).expect("a table")
}

fn put(session: &mut Session, table: &Table, id: i64, len: usize) -> Result<(), Error> {
    let content = vec![id as u8; len];
    session.run(|tx| tx.upsert(table, &[Value::Int(id), Value::Bytes(&content)])).map(|_| ())
}

fn delete(session: &mut Session, table: &Table, id: i64) -> bool {
    session.run(|tx| tx.delete(table, &[Value::Int(id)])).expect("deletes go on").0
}

fn is_refused(result: &Result<(), Error>) -> bool {
    match result {
        Ok(()) => false,
        Err(Error::Transaction(error @ TransactionError::MemoryLimit { .. })) => {
            let text = error.to_string();
            assert!(text.contains("raise memory_limit"), "{text}");
            assert_eq!(error.sqlstate(), "53200");
            true
        }
        Err(error) => panic!("{error}"),
    }
}

/// Adds rows until one is refused; returns how many there are.
fn fill(session: &mut Session, table: &Table, len: usize) -> i64 {
    (0..).find(|id| is_refused(&put(session, table, *id, len))).expect("a limit")
}

fn count(tx: &Transaction<'_>, table: &Table) -> Result<i64, Error> {
    Ok(tx.scan(table, KeyRange::all())?.count() as i64)
}

fn used(db: &Database) -> u64 {
    db.metrics().memory.used.total()
}

/// Waits until `done`, for memory comes back with the epochs.
fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn at_the_limit_only_growth_is_refused() {
    let db = Database::open(config(Path::new("unused"), Protocol::None)).expect("a database");
    let table = blobs(&db);
    let mut session = db.session().expect("a session");
    let rows = fill(&mut session, &table, 1000);
    assert!(used(&db) > LIMIT - (100 << 10) && used(&db) <= LIMIT + (100 << 10), "{} bytes", used(&db));
    assert!(db.metrics().memory.refused > 0);
    for _ in 0..20 {
        for id in 0..rows {
            put(&mut session, &table, id, 1000).expect("an update that does not grow");
        }
        assert!(used(&db) <= LIMIT + HEADROOM, "{} bytes", used(&db));
    }
    assert!(is_refused(&put(&mut session, &table, 0, 100_000)), "a row that grows");
    let content = session.run(|tx| {
        let row = tx.get(&table, &[Value::Int(0)])?.expect("a row");
        Ok::<_, Error>(row.bytes(table.column("content")?).len())
    });
    assert_eq!(content.expect("reads go on").0, 1000);
    let mixed = session.run(|tx| {
        tx.delete(&table, &[Value::Int(1)])?;
        tx.upsert(&table, &[Value::Int(rows + 1), Value::Bytes(&[1; 800])])
    });
    mixed.expect("a transaction that frees more than it takes");

    let before = used(&db);
    (0..rows).for_each(|id| assert!(delete(&mut session, &table, id) != (id == 1)));
    eventually("memory comes back after deletes", || {
        session.run(|tx| tx.get(&table, &[Value::Int(0)]).map(|_| ())).expect("a read");
        used(&db) < before / 10
    });
    assert!(fill(&mut session, &table, 1000) > rows / 10 * 8, "about as much fits as before");
}

/// The keys and nodes of its new rows are there before it commits, in one record or in parts.
#[test]
fn one_transaction_does_not_pass_the_limit() {
    for log_bytes_max in [64 << 20, 1 << 20] {
        let home = directory(&format!("one-{log_bytes_max}"));
        let mut config = config(&home, Protocol::Serial);
        (config.transaction_log_bytes_max, config.ring_bytes) = (log_bytes_max, 4 * log_bytes_max);
        config.segment_bytes = 2 * config.ring_bytes as u64;
        let db = Database::open(config).expect("opened");
        let schema =
            Schema::builder("numbers").column("id", Type::Int64).primary_key(["id"]).build().expect("a schema");
        let table = db.create_table(schema).expect("a table");
        let insert = |tx: &Transaction<'_>| (0..100_000).try_for_each(|id| tx.insert(&table, &[Value::Int(id)]));
        let outcome = db.session().expect("a session").run(insert).map(|_| ());
        assert!(is_refused(&outcome));
        // Transactions that begin later purge its keys.
        eventually("what it took comes back", || {
            db.run(|tx| tx.get(&table, &[Value::Int(0)]).map(drop)).expect("a read");
            used(&db) < LIMIT
        });
        db.close().expect("closed");
        let _ = std::fs::remove_dir_all(&home);
    }
}

#[test]
fn an_idle_session_does_not_keep_what_it_deleted() {
    let db = Database::open(config(Path::new("unused"), Protocol::None)).expect("a database");
    let table = blobs(&db);
    let (mut idle, mut session) = (db.session().expect("a session"), db.session().expect("a session"));
    let rows = fill(&mut idle, &table, 200);
    let deleted = idle.run(|tx| (0..rows).try_for_each(|id| tx.delete(&table, &[Value::Int(id)]).map(|_| ())));
    deleted.expect("deletes go on");
    eventually("others can write", || !is_refused(&put(&mut session, &table, -1, 100_000)));
    eventually("all of it comes back", || {
        put(&mut session, &table, -1, 10).expect("a row that shrinks");
        used(&db) < LIMIT / 10
    });
}

/// A row that a unique index refuses has its key indexed by then.
#[test]
fn a_refused_row_keeps_no_memory() {
    let db = Database::open(config(Path::new("unused"), Protocol::None)).expect("a database");
    let schema = Schema::builder("account")
        .column("id", Type::Text)
        .column("number", Type::Int64)
        .primary_key(["id"])
        .unique_index("by_number", ["number"])
        .build()
        .expect("a schema");
    let table = db.create_table(schema).expect("a table");
    let mut session = db.session().expect("a session");
    session.run(|tx| tx.insert(&table, &[Value::Text("first"), Value::Int(7)])).expect("a row");
    let before = used(&db);
    for id in 0..5_000 {
        let id = format!("{id:0>200}");
        let row = [Value::Text(&id), Value::Int(7)];
        let refused = |result: Result<(), Error>| {
            let error = result.expect_err("the number is taken");
            assert!(matches!(error, Error::Transaction(TransactionError::DuplicateKey { .. })), "{error}");
        };
        match id.ends_with('0') {
            // The transaction goes on, and commits.
            true => drop(session.run(|tx| {
                refused(tx.insert(&table, &row));
                refused(tx.upsert(&table, &row));
                refused(tx.update(&table, &[Value::Text("first")], &[]).map(|_| ()).and(tx.insert(&table, &row)));
                Ok::<_, Error>(())
            })),
            false => refused(session.run(|tx| tx.insert(&table, &row)).map(|_| ())),
        }
    }
    eventually("what was refused goes", || {
        session.run(|tx| tx.get(&table, &[Value::Text("first")]).map(|_| ())).expect("a read");
        used(&db) < before + (100 << 10)
    });
}

/// What was accepted under a limit is recovered under it, from the log and from a checkpoint.
#[test]
fn what_was_accepted_is_recovered_within_the_limit() {
    // Large beside what the threads of recovery have at hand.
    let limit = 8 * LIMIT;
    for (name, len, checkpoint) in [("log", 40, false), ("checkpoint", 40, true), ("large", 20_000, true)] {
        let (home, copy) = (directory(name), directory(&format!("{name}-crashed")));
        let open = |home: &Path| {
            let mut config = config(home, Protocol::Poplar).streams(2);
            config.memory_limit = limit;
            Database::open(config).expect("a database")
        };
        let db = open(&home);
        let table = blobs(&db);
        let mut session = db.session().expect("a session");
        let mut rows = fill(&mut session, &table, len);
        if checkpoint {
            db.checkpoint().expect("a checkpoint");
            // The log has updates, deletes and new rows for what was deleted.
            (0..rows / 2).for_each(|id| put(&mut session, &table, id, len).expect("an update"));
            (0..rows / 8).for_each(|id| assert!(delete(&mut session, &table, id)));
            eventually("room for new rows", || !is_refused(&put(&mut session, &table, rows, len)));
            rows -= rows / 8 - 1;
        }
        let (found, receipt) = session.run(|tx| count(tx, &table)).expect("a scan");
        assert_eq!(found, rows);
        receipt.wait().expect("durable");
        // What a killed process leaves.
        copying::copy(&home, &copy);
        let accepted = db.metrics().memory;
        drop((session, db));

        let db = open(&copy);
        let recovered = db.metrics().memory;
        let what = format!("{name}: {recovered:?} where there was {accepted:?}");
        assert!(recovered.peak_bytes <= limit + limit / 8, "{what}");
        assert!(recovered.used.total() <= accepted.used.total() + limit / 32, "{what}");
        let (table, mut session) = (db.table("blob").expect("a table"), db.session().expect("a session"));
        assert_eq!(session.run(|tx| count(tx, &table)).expect("a scan").0, rows, "{name}");
        put(&mut session, &table, rows / 2, len).expect("an update goes on");
        assert!(delete(&mut session, &table, rows / 2));
        drop((session, db));
        for path in [home, copy] {
            std::fs::remove_dir_all(path).expect("removed");
        }
    }
}

/// A checkpoint gives way to the transactions that go on.
#[test]
fn a_checkpoint_is_given_up_where_it_keeps_too_much() {
    let home = directory("snapshot");
    let mut config = config(&home, Protocol::None);
    config.checkpoint_bytes_per_second = 64 << 10;
    let db = Database::open(config).expect("a database");
    let table = blobs(&db);
    let mut session = db.session().expect("a session");
    let rows = fill(&mut session, &table, 1000);
    std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| db.checkpoint().expect_err("it keeps too much"));
        let mut id = 0;
        while !checkpoint.is_finished() {
            put(&mut session, &table, id % rows, 1000).expect("updates go on");
            id += 1;
        }
        let error = checkpoint.join().expect("no panic");
        assert!(error.to_string().contains("was given up") && error.sqlstate() == "53200", "{error}");
    });
    eventually("what was kept comes back", || db.metrics().memory.used.retained == 0);
    assert_eq!(db.metrics().checkpoints.failed, 1);
    std::fs::remove_dir_all(home).ok();
}

#[test]
fn a_transaction_is_bounded() {
    let mut config = Config::new("unused").protocol(Protocol::None);
    (config.transaction_bytes_max, config.transaction_writes_max) = (100_000, 500);
    let db = Database::open(config).expect("a database");
    let table = blobs(&db);
    let mut session = db.session().expect("a session");
    let tx = session.begin();
    let write = |id: i64, len: usize| tx.upsert(&table, &[Value::Int(id), Value::Bytes(&vec![0; len])]);
    let error = (0..).find_map(|id| write(id, 10_000).err()).expect("a limit");
    assert!(matches!(error, Error::Transaction(TransactionError::TransactionBytes { limit: 100_000, .. })), "{error}");
    assert_eq!(error.sqlstate(), "54000");
    assert!(tx.get(&table, &[Value::Int(9)]).expect("reads go on").is_some());
    drop(tx);

    let tx = session.begin();
    let savepoint = tx.savepoint();
    let write = |id: i64| tx.upsert(&table, &[Value::Int(id), Value::Bytes(&[])]);
    let error = (0..).find_map(|id| write(id).err()).expect("a limit");
    assert!(matches!(error, Error::Transaction(TransactionError::TransactionWrites { writes: 500, .. })), "{error}");
    tx.rollback_to(savepoint).expect("a savepoint");
    write(7).expect("room again");
    // What savepoints keep counts.
    let error = (0..).find_map(|_| {
        tx.savepoint();
        tx.upsert(&table, &[Value::Int(7), Value::Bytes(&[0; 20_000])]).err()
    });
    assert!(error.expect("a limit").to_string().contains("transaction_bytes_max"));
    tx.rollback_to(savepoint).expect("a savepoint");
    write(8).expect("room again");
    tx.commit().expect("a commit");
    assert_eq!(session.run(|tx| count(tx, &table)).expect("a scan").0, 1);
}

/// Threads at the limit: it holds, and nothing that was accepted is lost or refused wrongly for ever.
#[test]
fn threads_share_the_limit() {
    const THREADS: i64 = 4;
    let db = Database::open(config(Path::new("unused"), Protocol::None)).expect("a database");
    let table = blobs(&db);
    let is_over = AtomicBool::new(false);
    let (models, refused): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
        let work = |thread: i64| {
            let (db, table, is_over) = (&db, &table, &is_over);
            move || {
                let (mut session, mut rng) =
                    (db.session().expect("a session"), fastrand::Rng::with_seed(thread as u64));
                let (mut model, mut refused) = (BTreeMap::new(), 0);
                while !is_over.load(Ordering::Relaxed) {
                    let id = rng.i64(0..3000) * THREADS + thread;
                    if rng.u8(..4) == 0 {
                        assert_eq!(delete(&mut session, table, id), model.remove(&id).is_some());
                        continue;
                    }
                    let len = rng.usize(..2000);
                    match is_refused(&put(&mut session, table, id, len)) {
                        true => refused += 1,
                        false => drop(model.insert(id, len)),
                    }
                }
                (model, refused)
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(work(thread))).collect();
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(10));
            // 64 KiB for each session that are not told yet, and a row that each commits at once.
            assert!(used(&db) <= LIMIT + HEADROOM + (THREADS as u64 + 1) * (66 << 10), "{} bytes", used(&db));
        }
        is_over.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().expect("no panic")).unzip()
    });
    assert!(refused.iter().all(|refused| *refused > 0), "{refused:?}");
    let mut session = db.session().expect("a session");
    for (id, len) in models.into_iter().flatten() {
        let found = session.run(|tx| {
            let row = tx.get(&table, &[Value::Int(id)])?;
            Ok::<_, Error>(row.map(|row| row.bytes(table.column("content").expect("a column")).len()))
        });
        assert_eq!(found.expect("a read").0, Some(len));
    }
}

#[derive(Clone, Debug)]
enum Op {
    Put(i64, usize),
    Delete(i64),
}

fn op() -> impl Strategy<Value = Op> {
    let id = 0..400_i64;
    prop_oneof![3 => (id.clone(), 0..60_000_usize).prop_map(|(id, len)| Op::Put(id, len)), 1 => id.prop_map(Op::Delete)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any operations: what was accepted is there, what was refused changed nothing, and a refusal was for growth beyond the
    /// limit.
    #[test]
    fn any_operations_at_the_limit_are_those_of_a_model(ops in proptest::collection::vec(op(), 300..600)) {
        let db = Database::open(config(Path::new("unused"), Protocol::None)).expect("a database");
        let table = blobs(&db);
        let mut session = db.session().expect("a session");
        let mut model: BTreeMap<i64, usize> = BTreeMap::new();
        for op in ops {
            match op {
                Op::Put(id, len) => {
                    let before = model.get(&id).copied();
                    if is_refused(&put(&mut session, &table, id, len)) {
                        prop_assert!(before.is_none_or(|before| len > before), "{before:?} -> {len}");
                        // An eighth for rounding up; what is deleted takes a while to come back.
                        let held: usize = model.values().map(|len| len + len / 4 + 200).sum();
                        eventually("a refusal is for want of memory", || {
                            let is_full = held as u64 + len as u64 + len as u64 / 4 + (64 << 10) > LIMIT;
                            is_full || !is_refused(&put(&mut session, &table, id, len))
                        });
                        let now = session.run(|tx| {
                            let row = tx.get(&table, &[Value::Int(id)])?;
                            Ok::<_, Error>(row.map(|row| row.bytes(table.column("content").expect("a column")).len()))
                        }).expect("a read").0;
                        prop_assert!(now == before || now == Some(len));
                        model.extend(now.map(|len| (id, len)));
                    } else {
                        model.insert(id, len);
                    }
                }
                Op::Delete(id) => prop_assert_eq!(delete(&mut session, &table, id), model.remove(&id).is_some()),
            }
        }
        let content = table.column("content").expect("a column");
        let id = table.column("id").expect("a column");
        let found = session.run(|tx| -> Result<BTreeMap<i64, usize>, Error> {
            let rows = tx.scan(&table, KeyRange::all())?;
            rows.map(|row| row.map(|row| (row.int(id), row.bytes(content).len()))).collect()
        });
        prop_assert_eq!(found.expect("a scan").0, model);
    }
}

/// An index is refused when it is beyond the limit, and not when it is whole.
#[test]
fn an_index_that_does_not_fit_is_refused_early() {
    let home = directory("index");
    let config = config(&home, Protocol::Poplar);
    let db = Database::open(config).expect("a database");
    let table = blobs(&db);
    let mut session = db.session().expect("a session");
    fill(&mut session, &table, 16);
    let before = db.metrics().memory.used.total();
    let tx = session.begin();
    let refused = tx.create_index(&table, "by_content", &["content", "id"], false).map(drop);
    assert!(is_refused(&refused), "an index of as many entries as there are rows");
    let used = db.metrics().memory.used.total();
    assert!(used < before + before / 4, "{before} bytes were in use, and then {used}");
    drop(tx);
    drop(session);
    db.close().expect("closed");
    let _ = std::fs::remove_dir_all(&home);
}
