//! Transactions through the public API, in memory: what each operation does, what conflicts, what a rollback undoes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use osier::table::{KeyRange, Schema, Table, Type, Value};
use osier::{Config, Database, Error, Protocol, Session, TransactionError, TransactionOptions};

fn database() -> Database {
    Database::open(Config::new("unused").protocol(Protocol::None)).expect("a database without a log")
}

/// People by id, with a unique index on their name and another one on their city.
fn people(db: &Database) -> Table {
    let schema = Schema::builder("people")
        .column("id", Type::Int64)
        .column("name", Type::Text)
        .nullable_column("city", Type::Text)
        .primary_key(["id"])
        .unique_index("by_name", ["name"])
        .index("by_city", ["city"])
        .build()
        .expect("a schema");
    db.create_table(schema).expect("a table")
}

/// Numbers by number, without indexes.
fn numbers(db: &Database) -> Table {
    let schema = Schema::builder("numbers")
        .column("key", Type::Int64)
        .column("value", Type::Int64)
        .primary_key(["key"])
        .build()
        .expect("a schema");
    db.create_table(schema).expect("a table")
}

fn put(session: &mut Session, table: &Table, key: i64, value: i64) {
    session.run(|tx| tx.upsert(table, &[Value::Int(key), Value::Int(value)])).expect("an upsert");
}

fn value(tx: &osier::Transaction<'_>, table: &Table, key: i64) -> Option<i64> {
    let column = table.column("value").expect("a column");
    tx.get(table, &[Value::Int(key)]).expect("a read").map(|row| row.int(column))
}

fn all(session: &mut Session, table: &Table) -> BTreeMap<i64, i64> {
    let (key, value) = (table.column("key").expect("key"), table.column("value").expect("value"));
    let rows = session.run(|tx| -> Result<_, Error> {
        tx.scan(table, KeyRange::all())?.map(|row| row.map(|row| (row.int(key), row.int(value)))).collect()
    });
    rows.expect("a scan").0
}

fn assert_conflict(result: Result<osier::Receipt, Error>) {
    let error = result.expect_err("must conflict");
    assert!(error.is_conflict(), "{error}");
    assert_eq!(error.sqlstate(), "40001");
}

#[test]
fn rows_are_written_read_and_removed() {
    let db = database();
    let table = numbers(&db);
    let mut session = db.session().expect("a session");
    let tx = session.begin();
    tx.insert(&table, &[Value::Int(1), Value::Int(10)]).expect("insert");
    assert_eq!(value(&tx, &table, 1), Some(10), "a transaction sees its own writes");
    tx.upsert(&table, &[Value::Int(1), Value::Int(11)]).expect("upsert");
    assert_eq!(value(&tx, &table, 1), Some(11));
    let column = table.column("value").expect("a column");
    assert!(tx.update(&table, &[Value::Int(1)], &[(column, Value::Int(12))]).expect("update"));
    assert!(!tx.update(&table, &[Value::Int(2)], &[(column, Value::Int(12))]).expect("update of nothing"));
    assert!(!tx.replace(&table, &[Value::Int(2), Value::Int(0)]).expect("replace of nothing"));
    tx.commit().expect("commit").wait().expect("acknowledged");
    let tx = session.begin();
    assert_eq!(value(&tx, &table, 1), Some(12));
    assert!(tx.replace(&table, &[Value::Int(1), Value::Int(13)]).expect("replace"));
    assert!(tx.delete(&table, &[Value::Int(1)]).expect("delete"));
    assert!(!tx.delete(&table, &[Value::Int(1)]).expect("delete twice"));
    assert_eq!(value(&tx, &table, 1), None);
    drop(tx);
    assert_eq!(all(&mut session, &table), BTreeMap::from([(1, 12)]), "a dropped transaction leaves nothing");
    session.run(|tx| tx.delete_blind(&table, &[Value::Int(1)])).expect("blind delete");
    session.run(|tx| tx.delete_blind(&table, &[Value::Int(7)])).expect("blind delete of nothing");
    assert_eq!(all(&mut session, &table), BTreeMap::new());
}

#[test]
fn a_changed_read_conflicts_and_an_unchanged_one_does_not() {
    let db = database();
    let table = numbers(&db);
    let (mut one, mut two) = (db.session().expect("one"), db.session().expect("two"));
    put(&mut one, &table, 1, 0);
    put(&mut one, &table, 2, 0);
    let tx = one.begin();
    assert_eq!(value(&tx, &table, 1), Some(0));
    tx.upsert(&table, &[Value::Int(2), Value::Int(1)]).expect("upsert");
    put(&mut two, &table, 1, 5);
    assert_conflict(tx.commit());
    let tx = one.begin();
    assert_eq!(value(&tx, &table, 1), Some(5));
    put(&mut two, &table, 2, 7);
    tx.upsert(&table, &[Value::Int(3), Value::Int(1)]).expect("upsert");
    tx.commit().expect("what it read is unchanged");
    assert_eq!(all(&mut one, &table), BTreeMap::from([(1, 5), (2, 7), (3, 1)]));
}

/// Write skew: each reads what the other writes. One of the two must fail.
#[test]
fn write_skew_is_refused() {
    let db = database();
    let table = numbers(&db);
    let (mut one, mut two) = (db.session().expect("one"), db.session().expect("two"));
    put(&mut one, &table, 1, 1);
    put(&mut one, &table, 2, 1);
    let (first, second) = (one.begin(), two.begin());
    assert_eq!(value(&first, &table, 2), Some(1));
    first.upsert(&table, &[Value::Int(1), Value::Int(0)]).expect("upsert");
    assert_eq!(value(&second, &table, 1), Some(1));
    second.upsert(&table, &[Value::Int(2), Value::Int(0)]).expect("upsert");
    first.commit().expect("the first commits");
    assert_conflict(second.commit());
}

#[test]
fn an_absence_and_a_range_are_reads_too() {
    let db = database();
    let table = numbers(&db);
    let (mut one, mut two) = (db.session().expect("one"), db.session().expect("two"));
    let tx = one.begin();
    assert_eq!(value(&tx, &table, 1), None);
    tx.upsert(&table, &[Value::Int(100), Value::Int(0)]).expect("upsert");
    put(&mut two, &table, 1, 5);
    assert_conflict(tx.commit());

    let tx = one.begin();
    assert_eq!(tx.scan(&table, KeyRange::all()).expect("scan").count(), 1);
    tx.upsert(&table, &[Value::Int(100), Value::Int(0)]).expect("upsert");
    put(&mut two, &table, 2, 5);
    assert_conflict(tx.commit());

    let tx = one.begin();
    assert_eq!(tx.scan(&table, KeyRange::all()).expect("scan").count(), 2);
    session_delete(&mut two, &table, 2);
    assert_conflict(tx.commit());

    // A transaction's own inserts into the range it read are no conflict.
    let tx = one.begin();
    assert_eq!(tx.scan(&table, KeyRange::all()).expect("scan").count(), 1);
    for key in 1000..1200 {
        tx.insert(&table, &[Value::Int(key), Value::Int(0)]).expect("insert");
    }
    assert_eq!(tx.scan(&table, KeyRange::all()).expect("scan").count(), 201);
    tx.commit().expect("own inserts do not conflict, splits included");
}

/// Found by seed 1668 of the crash simulation: one transaction found a key absent and then upserted it, which is blind
/// and leaves a placeholder under the leaf's new version. Another inserted the same key into that placeholder and
/// committed. The leaf had not changed any more, so the first committed as well, having seen an absence that was over.
#[test]
fn an_absence_outlives_the_readers_own_placeholder() {
    let db = database();
    let table = numbers(&db);
    let (mut one, mut two) = (db.session().expect("one"), db.session().expect("two"));
    for aborts in [false, true] {
        let key = 10 + i64::from(aborts);
        let tx = one.begin();
        assert_eq!(value(&tx, &table, key), None);
        tx.upsert(&table, &[Value::Int(key), Value::Int(1)]).expect("upsert");
        two.run(|tx| tx.insert(&table, &[Value::Int(key), Value::Int(2)])).expect("insert");
        assert_conflict(if aborts { tx.abort() } else { tx.commit() });
        assert_eq!(value(&two.begin(), &table, key), Some(2));
    }
}

/// Found by seed 171 of the crash simulation: a blind upsert left a placeholder, another transaction that gave up on the
/// same key had it purged, and the first no longer found its own row. A commit meets the dead record when it locks; a
/// validated abort, and a commit after a rollback to a savepoint, reported what they had seen as if it were so.
#[test]
fn a_transaction_that_lost_sight_of_its_own_write_conflicts() {
    let db = database();
    let table = numbers(&db);
    let (mut one, mut two) = (db.session().expect("one"), db.session().expect("two"));
    for uses_savepoint in [false, true] {
        let tx = one.begin();
        let savepoint = tx.savepoint();
        tx.upsert(&table, &[Value::Int(1), Value::Int(7)]).expect("upsert");
        let other = two.begin();
        other.delete_blind(&table, &[Value::Int(1)]).expect("delete");
        drop(other);
        drop(two.begin());
        assert_eq!(value(&tx, &table, 1), None, "the placeholder was purged; else this test shows nothing");
        if uses_savepoint {
            tx.rollback_to(savepoint).expect("rollback");
            assert_conflict(tx.commit());
        } else {
            assert_conflict(tx.abort());
        }
    }
}

fn session_delete(session: &mut Session, table: &Table, key: i64) {
    assert!(session.run(|tx| tx.delete(table, &[Value::Int(key)])).expect("delete").0);
}

/// The birth rule: a replace depends on the row's existence, not on its content.
#[test]
fn a_replace_conflicts_with_a_delete_but_not_with_an_update() {
    let db = database();
    let table = numbers(&db);
    let column = table.column("value").expect("a column");
    let (mut one, mut two) = (db.session().expect("one"), db.session().expect("two"));
    put(&mut one, &table, 1, 0);
    let tx = one.begin();
    assert!(tx.replace(&table, &[Value::Int(1), Value::Int(9)]).expect("replace"));
    two.run(|tx| tx.update(&table, &[Value::Int(1)], &[(column, Value::Int(5))])).expect("update");
    tx.commit().expect("the row is still there");
    let tx = one.begin();
    assert!(tx.replace(&table, &[Value::Int(1), Value::Int(10)]).expect("replace"));
    session_delete(&mut two, &table, 1);
    assert_conflict(tx.commit());
    let tx = one.begin();
    assert!(!tx.replace(&table, &[Value::Int(1), Value::Int(10)]).expect("replace"));
    put(&mut two, &table, 1, 1);
    assert_conflict(tx.commit());
}

/// Nor with one that is being committed at that moment: the validation waits for it.
#[test]
fn existence_is_no_conflict_with_updates_in_their_commit() {
    const ATTEMPTS: usize = 5000;
    let db = database();
    let table = numbers(&db);
    let (mut one, mut two) = (db.session().expect("one"), db.session().expect("two"));
    // Many rows, which stay locked for long.
    (0..50).for_each(|key| put(&mut two, &table, key, 0));
    put(&mut one, &table, 1000, 0);
    let update = |session: &mut Session, value| {
        let replace = |tx: &osier::Transaction<'_>, key| tx.replace(&table, &[Value::Int(key), Value::Int(value)]);
        session.run(|tx| (0..50).try_for_each(|key| replace(tx, key).map(drop))).expect("an update");
    };
    let is_over = AtomicBool::new(false);
    let conflicts = std::thread::scope(|scope| {
        scope
            .spawn(|| (1..).take_while(|_| !is_over.load(Ordering::Relaxed)).for_each(|value| update(&mut two, value)));
        let conflicts = (0..ATTEMPTS).filter(|_| {
            let tx = one.begin();
            let is_there = tx.exists(&table, &[Value::Int(25)]).and_then(|is_there| {
                tx.replace(&table, &[Value::Int(1000), Value::Int(1)])?;
                Ok(is_there)
            });
            assert!(is_there.expect("no conflict before the commit"));
            tx.commit().is_err()
        });
        let conflicts = conflicts.count();
        is_over.store(true, Ordering::Relaxed);
        conflicts
    });
    assert!(conflicts <= ATTEMPTS / 10, "{conflicts} of {ATTEMPTS} conflicted");
}

#[test]
fn savepoints_undo_writes_and_keep_reads() {
    let db = database();
    let table = numbers(&db);
    let (mut one, mut two) = (db.session().expect("one"), db.session().expect("two"));
    put(&mut one, &table, 1, 1);
    let tx = one.begin();
    tx.upsert(&table, &[Value::Int(1), Value::Int(2)]).expect("upsert");
    let outer = tx.savepoint();
    tx.upsert(&table, &[Value::Int(1), Value::Int(3)]).expect("upsert");
    let inner = tx.savepoint();
    for key in 0..100 {
        tx.upsert(&table, &[Value::Int(key), Value::Int(-1)]).expect("upsert");
    }
    assert_eq!(value(&tx, &table, 1), Some(-1));
    tx.rollback_to(inner).expect("inner");
    assert_eq!((value(&tx, &table, 1), value(&tx, &table, 50)), (Some(3), None));
    tx.delete(&table, &[Value::Int(1)]).expect("delete");
    tx.rollback_to(outer).expect("outer");
    assert_eq!(value(&tx, &table, 1), Some(2));
    assert_eq!(tx.rollback_to(inner), Err(TransactionError::UnknownSavepoint));
    tx.rollback_to(outer).expect("a savepoint stays usable");
    tx.commit().expect("commit");
    assert_eq!(all(&mut one, &table), BTreeMap::from([(1, 2)]));

    let tx = one.begin();
    let savepoint = tx.savepoint();
    assert_eq!(value(&tx, &table, 1), Some(2));
    tx.rollback_to(savepoint).expect("rollback");
    put(&mut two, &table, 1, 8);
    tx.upsert(&table, &[Value::Int(9), Value::Int(9)]).expect("upsert");
    assert_conflict(tx.commit());
}

#[test]
fn unique_indexes_hold_and_a_failed_operation_changes_nothing() {
    let db = database();
    let table = people(&db);
    let mut session = db.session().expect("a session");
    let row = |id, name, city| [Value::Int(id), Value::Text(name), city];
    session
        .run(|tx| {
            tx.insert(&table, &row(1, "Ada", Value::Text("London")))?;
            tx.insert(&table, &row(2, "Kurt", Value::Null))
        })
        .expect("insert");
    let tx = session.begin();
    let error = tx.insert(&table, &row(3, "Ada", Value::Null)).expect_err("the name is taken");
    assert_eq!(error.sqlstate(), "23505");
    assert!(error.to_string().contains("by_name") && error.to_string().contains("Ada"), "{error}");
    let error = tx.insert(&table, &row(1, "Emmy", Value::Null)).expect_err("the id is taken");
    assert!(error.to_string().contains("primary key"), "{error}");
    assert!(tx.get(&table, &[Value::Int(3)]).expect("get").is_none(), "the failed insert left nothing");
    let name = table.column("name").expect("a column");
    tx.update(&table, &[Value::Int(2)], &[(name, Value::Text("Ada"))]).expect_err("the name is taken");
    assert!(tx.get_by_index(&table, "by_name", &[Value::Text("Kurt")]).expect("get").is_some());
    // Freed and taken again within one transaction, by a change of the primary key too.
    let id = table.column("id").expect("a column");
    assert!(tx.update(&table, &[Value::Int(1)], &[(id, Value::Int(7))]).expect("move"));
    assert!(tx.delete(&table, &[Value::Int(2)]).expect("delete"));
    tx.insert(&table, &row(8, "Kurt", Value::Text("London"))).expect("the name is free");
    tx.commit().expect("commit");
    let in_london = session.run(|tx| -> Result<Vec<i64>, Error> {
        tx.scan_index(&table, "by_city", KeyRange::prefix(&[Value::Text("London")]))?
            .map(|row| row.map(|row| row.int(id)))
            .collect()
    });
    assert_eq!(in_london.expect("scan").0, vec![7, 8]);
    let backwards = session.run(|tx| -> Result<Vec<String>, Error> {
        let rows = tx.scan_index(&table, "by_name", KeyRange::all().reverse())?;
        rows.map(|row| row.map(|row| row.text(name).to_owned())).collect()
    });
    assert_eq!(backwards.expect("scan").0, vec!["Kurt", "Ada"]);
}

/// Two transactions that each find a unique name free must not both take it.
#[test]
fn a_race_for_a_unique_name_has_one_winner() {
    let db = database();
    let table = people(&db);
    let (mut one, mut two) = (db.session().expect("one"), db.session().expect("two"));
    let (first, second) = (one.begin(), two.begin());
    first.insert(&table, &[Value::Int(1), Value::Text("Ada"), Value::Null]).expect("insert");
    second.insert(&table, &[Value::Int(2), Value::Text("Ada"), Value::Null]).expect("insert");
    second.commit().expect("the first to commit wins");
    assert_conflict(first.commit());
}

#[test]
fn definitions_are_transactional() {
    let db = database();
    let mut session = db.session().expect("a session");
    let schema = |name: &str| {
        let builder = Schema::builder(name).column("key", Type::Int64).column("value", Type::Int64);
        builder.primary_key(["key"]).build().expect("a schema")
    };
    let tx = session.begin();
    let lost = tx.create_table(schema("lost")).expect("create");
    tx.insert(&lost, &[Value::Int(1), Value::Int(1)]).expect("usable at once");
    drop(tx);
    assert!(matches!(db.table("lost"), Err(Error::Transaction(TransactionError::UnknownTable { .. }))));
    let tx = session.begin();
    assert_eq!(tx.get(&lost, &[Value::Int(1)]).expect_err("rolled back").sqlstate(), "0A000");
    let savepoint = tx.savepoint();
    tx.create_table(schema("lost")).expect("create");
    tx.rollback_to(savepoint).expect("rollback");
    assert!(tx.table("lost").is_err());
    let kept = tx.create_table(schema("kept")).expect("create");
    tx.insert(&kept, &[Value::Int(1), Value::Int(1)]).expect("insert");
    assert!(tx.create_table(schema("kept")).is_err());
    tx.commit().expect("commit");
    let kept = db.table("kept").expect("kept");
    put(&mut session, &kept, 2, 2);
    assert_eq!(all(&mut session, &kept).len(), 2);
    assert!(db.table("lost").is_err());

    // An index over rows that are there, then a conflict between its definition and a concurrent write.
    let mut other = db.session().expect("another session");
    let writer = other.begin();
    writer.insert(&kept, &[Value::Int(3), Value::Int(3)]).expect("insert");
    let (indexed, _) = session.run(|tx| tx.create_index(&kept, "by_value", &["value"], true)).expect("index");
    assert_conflict(writer.commit());
    let found = session
        .run(|tx| -> Result<_, Error> { Ok(tx.get_by_index(&indexed, "by_value", &[Value::Int(2)])?.is_some()) });
    assert!(found.expect("get").0);
    assert_eq!(
        session.run(|tx| tx.upsert(&kept, &[Value::Int(4), Value::Int(4)])).expect_err("old handle").sqlstate(),
        "0A000"
    );
    let duplicate = session.run(|tx| tx.insert(&indexed, &[Value::Int(5), Value::Int(2)]));
    assert_eq!(duplicate.expect_err("unique").sqlstate(), "23505");
    let (plain, _) = session.run(|tx| tx.drop_index(&indexed, "by_value")).expect("drop index");
    put(&mut session, &plain, 5, 2);
    session.run(|tx| tx.drop_table(&plain)).expect("drop");
    assert!(db.table("kept").is_err());
    let kept = db.create_table(schema("kept")).expect("the name is free again");
    assert_eq!(all(&mut session, &kept), BTreeMap::new());
}

#[test]
fn read_only_transactions_refuse_writes() {
    let db = database();
    let table = numbers(&db);
    let mut session = db.session().expect("a session");
    let tx = session.begin_with(TransactionOptions { read_only: true, ..TransactionOptions::default() });
    let error = tx.upsert(&table, &[Value::Int(1), Value::Int(1)]).expect_err("read-only");
    assert_eq!(error.sqlstate(), "25006");
    assert_eq!(value(&tx, &table, 1), None);
    tx.commit().expect("commit");
}

#[test]
fn an_abort_is_validated_before_it_is_reported() {
    let db = database();
    let table = numbers(&db);
    let (mut one, mut two) = (db.session().expect("one"), db.session().expect("two"));
    let tx = one.begin();
    assert_eq!(value(&tx, &table, 1), None);
    put(&mut two, &table, 1, 1);
    assert_conflict(tx.abort());
    let mut attempts = 0;
    let refused: Result<((), _), Error> = one.run(|tx| {
        attempts += 1;
        let before = value(tx, &table, 2);
        if attempts == 1 {
            put(&mut two, &table, 2, 2);
        }
        match before {
            None => tx.insert(&table, &[Value::Int(1), Value::Int(1)]),
            Some(_) => tx.insert(&table, &[Value::Int(2), Value::Int(1)]),
        }
    });
    assert_eq!(refused.expect_err("duplicate").sqlstate(), "23505");
    assert!(attempts >= 2, "the first refusal rested on a read that had changed");
}

#[test]
fn what_is_too_large_is_refused_before_anything_happens() {
    let mut config = Config::new("unused").protocol(Protocol::None);
    config.row_bytes_max = 1000;
    config.key_bytes_max = 16;
    let db = Database::open(config).expect("a database");
    let schema = Schema::builder("texts").column("key", Type::Text).column("text", Type::Text).primary_key(["key"]);
    let table = db.create_table(schema.build().expect("a schema")).expect("a table");
    let mut session = db.session().expect("a session");
    let long = "x".repeat(2000);
    let tx = session.begin();
    assert_eq!(tx.insert(&table, &[Value::Text("a"), Value::Text(&long)]).expect_err("row").sqlstate(), "54000");
    assert_eq!(tx.insert(&table, &[Value::Text(&long[..20]), Value::Text("")]).expect_err("key").sqlstate(), "54000");
    drop(tx);
    let tx = session.begin();
    assert_eq!(tx.scan(&table, KeyRange::all()).expect("scan").count(), 0);
}

/// Transfers between accounts from many threads keep the sum, which a reader checks all the while.
#[test]
fn concurrent_transfers_keep_the_sum() {
    const ACCOUNTS: i64 = 20;
    let db = database();
    let table = numbers(&db);
    let mut session = db.session().expect("a session");
    (0..ACCOUNTS).for_each(|key| put(&mut session, &table, key, 100));
    let column = table.column("value").expect("a column");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|seed| {
                let (db, table) = (&db, &table);
                scope.spawn(move || {
                    let mut session = db.session().expect("a session");
                    let mut random = fastrand::Rng::with_seed(seed);
                    for _ in 0..2000 {
                        let (from, to) = (random.i64(..ACCOUNTS), random.i64(..ACCOUNTS));
                        let add = |tx: &osier::Transaction<'_>, key, amount| {
                            tx.update_with(table, &[Value::Int(key)], |row, changes| -> Result<(), Error> {
                                changes.set(column, Value::Int(row.int(column) + amount));
                                Ok(())
                            })
                        };
                        session.run(|tx| Ok::<_, Error>((add(tx, from, -1)?, add(tx, to, 1)?))).expect("a transfer");
                    }
                })
            })
            .collect();
        let (db, table, done) = (&db, &table, &done);
        scope.spawn(move || {
            let mut session = db.session().expect("a session");
            while !done.load(Ordering::Relaxed) {
                let sum: i64 = all(&mut session, table).values().sum();
                assert_eq!(sum, ACCOUNTS * 100);
            }
        });
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(all(&mut session, &table).values().sum::<i64>(), ACCOUNTS * 100);
}

/// Queues: inserts at one end, deletes at the other, from several threads. Every element is taken exactly once, and the
/// index gives its memory back.
#[test]
fn concurrent_queue_takes_every_element_once() {
    const ELEMENTS: i64 = 3000;
    let db = database();
    let table = numbers(&db);
    let key = table.column("key").expect("a column");
    let taken = std::thread::scope(|scope| {
        let (db, table) = (&db, &table);
        for producer in 0..2 {
            scope.spawn(move || {
                let mut session = db.session().expect("a session");
                for element in 0..ELEMENTS / 2 {
                    let row = [Value::Int(2 * element + producer), Value::Int(producer)];
                    session.run(|tx| tx.insert(table, &row)).expect("insert");
                }
            });
        }
        let consumers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(move || {
                    let mut session = db.session().expect("a session");
                    let mut taken = Vec::new();
                    let mut empty = 0;
                    while empty < 10_000 {
                        let (first, _) = session
                            .run(|tx| -> Result<_, Error> {
                                let mut rows = tx.scan(table, KeyRange::all())?;
                                let Some(first) = rows.next().transpose()?.map(|row| row.int(key)) else {
                                    return Ok(None);
                                };
                                // Without the row the two looks differ, and validation will refuse the commit.
                                tx.delete(table, &[Value::Int(first)])?;
                                Ok(Some(first))
                            })
                            .expect("take");
                        empty = if first.is_some() { 0 } else { empty + 1 };
                        taken.extend(first);
                        if taken.len() as i64 > ELEMENTS {
                            break;
                        }
                        if first.is_none() {
                            std::thread::yield_now();
                        }
                    }
                    taken
                })
            })
            .collect();
        consumers.into_iter().flat_map(|consumer| consumer.join().expect("a consumer")).collect::<Vec<i64>>()
    });
    let mut session = db.session().expect("a session");
    let mut seen = taken;
    seen.extend(all(&mut session, &table).keys());
    seen.sort_unstable();
    assert_eq!(seen, (0..ELEMENTS).collect::<Vec<_>>());
}

/// A session that knows a table relies on the catalog's version, not on its row: that must conflict all the same.
#[test]
fn a_known_table_conflicts_with_its_definition_only() {
    let db = database();
    let table = numbers(&db);
    let mut session = db.session().expect("a session");
    put(&mut session, &table, 1, 10);
    put(&mut session, &table, 2, 20);

    // Another table comes and goes: nobody minds.
    let unrelated = session.begin();
    assert_eq!(value(&unrelated, &table, 1), Some(10));
    people(&db);
    unrelated.commit().expect("no conflict with another table");

    // The table is indexed while a transaction that uses it is in progress: one writes, one only reads.
    for writes in [true, false] {
        let table = db.table("numbers").expect("the table");
        put(&mut session, &table, 2, 20);
        let transaction = session.begin();
        assert_eq!(value(&transaction, &table, 1), Some(10));
        if writes {
            transaction.upsert(&table, &[Value::Int(3), Value::Int(30)]).expect("an upsert");
        }
        db.run(|tx| tx.create_index(&tx.table("numbers")?, "by_value", &["value"], true)).expect("an index");
        assert_conflict(transaction.commit());
        db.run(|tx| tx.drop_index(&tx.table("numbers")?, "by_value")).expect("no index");
    }
    let stale = session.run(|tx| tx.get(&table, &[Value::Int(1)]).map(|_| ()));
    assert!(matches!(stale, Err(Error::Transaction(TransactionError::TableChanged { .. }))));
}

/// Writers go on while indexes come and go: every row is in the index of the definition that it was written under.
#[test]
fn definitions_race_with_writers() {
    const ROWS: i64 = if cfg!(debug_assertions) { 300 } else { 3000 };
    let db = database();
    numbers(&db);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (db, stop) = (&db, &stop);
            scope.spawn(move || {
                let mut session = db.session().expect("a session");
                for key in (0..ROWS).map(|key| key * 2 + writer) {
                    let row = [Value::Int(key), Value::Int(key)];
                    loop {
                        match session.run(|tx| tx.upsert(&tx.table("numbers")?, &row)) {
                            Ok(_) => break,
                            Err(Error::Transaction(TransactionError::TableChanged { .. })) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
                stop.store(true, Ordering::Relaxed);
            });
        }
        let mut session = db.session().expect("a session");
        while !stop.load(Ordering::Relaxed) {
            let (indexed, _) = session
                .run(|tx| tx.create_index(&tx.table("numbers")?, "by_value", &["value"], true))
                .expect("an index");
            std::thread::yield_now();
            let (rows, found) = session
                .run(|tx| -> Result<_, Error> {
                    let rows = tx.scan(&indexed, KeyRange::all())?.count();
                    Ok((rows, tx.scan_index(&indexed, "by_value", KeyRange::all())?.count()))
                })
                .expect("a scan")
                .0;
            assert_eq!(rows, found, "the index has every row");
            session.run(|tx| tx.drop_index(&tx.table("numbers")?, "by_value")).expect("no index");
        }
    });
    let mut session = db.session().expect("a session");
    let table = db.table("numbers").expect("the table");
    assert_eq!(all(&mut session, &table).len() as i64, 2 * ROWS);
}

#[test]
fn a_decision_may_use_its_transaction() {
    let db = database();
    let table = numbers(&db);
    let mut session = db.session().expect("a session");
    put(&mut session, &table, 1, 10);
    put(&mut session, &table, 2, 20);
    let (column, key) = (table.column("value").expect("value"), [Value::Int(1)]);
    let outcome = session.run(|tx| {
        let is_there = tx.update_with(&table, &key, |row, changes| {
            changes.set(column, Value::Int(row.int(column) + value(tx, &table, 2).expect("a row")));
            tx.upsert(&table, &[Value::Int(3), Value::Int(30)])
        })?;
        let is_gone = tx.update_with(&table, &key, |_, changes| {
            changes.set(column, Value::Int(0));
            tx.delete(&table, &key).map(drop)
        })?;
        tx.insert(&table, &[Value::Int(1), Value::Int(40)])?;
        let is_replaced = tx.update_with(&table, &key, |_, _| tx.upsert(&table, &[Value::Int(1), Value::Int(50)]))?;
        Ok::<_, Error>((is_there, is_gone, is_replaced))
    });
    assert_eq!(outcome.expect("committed").0, (true, false, true));
    assert_eq!(all(&mut session, &table), BTreeMap::from([(1, 50), (2, 20), (3, 30)]));
}

/// Without a savepoint nothing needs what was replaced, with indexes or without.
#[test]
fn a_row_may_be_replaced_any_number_of_times() {
    let db = database();
    let (table, mut session) = (people(&db), db.session().expect("a session"));
    let name = "n".repeat(1000);
    let updates = session.run(|tx| {
        tx.insert(&table, &[Value::Int(1), Value::Text("first"), Value::Null])?;
        // More than `transaction_bytes_max` if each were kept.
        for round in 0..100_000 {
            let city = format!("{name}{round}");
            tx.replace(&table, &[Value::Int(1), Value::Text("first"), Value::Text(&city[..1000])])?;
        }
        Ok::<_, Error>(())
    });
    updates.expect("committed");
}

#[test]
fn many_keys_are_read_at_once() {
    let db = database();
    let table = numbers(&db);
    let (mut session, mut other) = (db.session().expect("a session"), db.session().expect("a session"));
    for first in (0..3000).step_by(100) {
        let put = |tx: &osier::Transaction<'_>| {
            (first..first + 100).try_for_each(|key| tx.upsert(&table, &[Value::Int(2 * key), Value::Int(key)]))
        };
        session.run(put).expect("upserts");
    }
    let column = table.column("value").expect("a column");
    let key = |key: i64| [Value::Int(key)];
    let tx = session.begin();
    tx.upsert(&table, &[Value::Int(10), Value::Int(-1)]).expect("an upsert");
    tx.expect(&table, (0..200).map(key)).expect("keys");
    for count in [0, 1, 16, 17, 100] {
        let rows = tx.get_many(&table, (0..count).map(key)).expect("rows");
        let values: Vec<_> = rows.iter().map(|row| row.as_ref().map(|row| row.int(column))).collect();
        let value = |key: i64| (key % 2 == 0).then_some(if key == 10 { -1 } else { key / 2 });
        assert_eq!(values, (0..count).map(value).collect::<Vec<_>>());
    }
    let twice = tx.get_many(&table, [key(4), key(4)]).expect("rows");
    assert!(twice.iter().all(|row| row.as_ref().is_some_and(|row| row.int(column) == 2)));
    let wrong = [[Value::Text("four")]];
    let error = tx.expect(&table, wrong).expect_err("no key of the table").to_string();
    assert!(error.contains("numbers") && tx.get_many(&table, wrong).is_err(), "{error}");
    drop(tx);

    // What is read is observed, absences too; what is expected is not.
    let tx = session.begin();
    tx.expect(&table, [key(2001)]).expect("a key");
    tx.get_many(&table, [key(1), key(2)]).expect("rows");
    tx.upsert(&table, &[Value::Int(5000), Value::Int(0)]).expect("an upsert");
    put(&mut other, &table, 2001, 0);
    tx.commit().expect("nothing it read has changed");
    for changed in [1, 2] {
        let tx = session.begin();
        tx.get_many(&table, [key(1), key(2)]).expect("rows");
        tx.upsert(&table, &[Value::Int(5000), Value::Int(0)]).expect("an upsert");
        put(&mut other, &table, changed, 0);
        assert_conflict(tx.commit());
    }
}
