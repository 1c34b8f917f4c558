//! What users of two-phase locking can rely on: who waits for whom, what is locked and for how long, and that nothing is lost
//! where transactions of many threads meet.
//!
//! Where two transactions meet on a lock for the first time the one that asks may wait for the one that holds it, by either
//! policy that lets anybody wait.

#[path = "support/locks.rs"]
mod locks;
mod support;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locks::*;
use osier::config::{ConcurrencyControlKind, Locking};
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Database, Error, Protocol, SequenceOptions, Table, Transaction, TransactionError};

#[test]
fn who_asks_first_waits_and_goes_on() {
    for policy in WAITING {
        let (db, table) = open(in_memory(policy));
        let mut session = db.session().expect("a session");
        // A writer waits for a reader.
        let reader = session.begin();
        assert_eq!(get(&reader, &table, 10).expect("a read"), Some(10));
        let write = || commit_once(&db, |tx| set(tx, &table, 10, 11).map(drop));
        let written = waits("a writer", write, || {
            assert_eq!(get(&reader, &table, 10).expect("a read"), Some(10), "it reads the same again");
            reader.commit().expect("committed");
        });
        written.expect("it goes on without an error");

        // A reader waits for a writer, and for one that gives up.
        for (commits, expected) in [(true, 12), (false, 12)] {
            let writer = session.begin();
            set(&writer, &table, 10, if commits { 12 } else { 13 }).expect("a write");
            let read = || {
                let mut session = db.session().expect("a session");
                let tx = session.begin();
                let found = get(&tx, &table, 10).expect("a read");
                tx.commit().map(|_| found)
            };
            let end = || if commits { drop(writer.commit().expect("committed")) } else { drop(writer) };
            assert_eq!(waits("a reader", read, end).expect("it goes on"), Some(expected), "{policy:?}");
        }
        // Two readers do not wait.
        let reader = session.begin();
        get(&reader, &table, 10).expect("a read");
        commit_once(&db, |tx| get(tx, &table, 10).map(drop)).expect("beside the other");
    }
}

#[test]
fn nobody_waits_where_nobody_may() {
    let (db, table) = open(in_memory(Locking::NoWait));
    let [mut one, mut two] = sessions(&db);
    let holder = one.begin();
    set(&holder, &table, 10, 11).expect("a write");
    get(&holder, &table, 20).expect("a read");
    type Access = fn(&Transaction<'_>, &Table) -> Result<(), Error>;
    let accesses: [Access; 4] = [
        |tx, table| get(tx, table, 10).map(drop),
        |tx, table| set(tx, table, 20, 21).map(drop),
        |tx, table| scan(tx, table, 10, 30).map(drop),
        |tx, table| delete(tx, table, 20).map(drop),
    ];
    for access in accesses {
        let tx = two.begin();
        assert!(is_lock_conflict(access(&tx, &table)));
        assert!(is_lock_conflict(tx.commit()), "it can only be rolled back");
    }
    holder.commit().expect("the others have changed nothing for it");
    assert_eq!(value(&db, &table, 10), Some(11));
}

/// Two transactions hold a row each and want the other one's: one of them fails at once, the other one goes on.
#[test]
fn no_circle_of_waits_closes() {
    for policy in WAITING {
        let (db, table) = open(in_memory(policy));
        let start = Barrier::new(2);
        let run = |(own, other)| {
            let mut session = db.session().expect("a session");
            let tx = session.begin();
            set(&tx, &table, own, 0).expect("a write");
            start.wait();
            let result = set(&tx, &table, other, 0).and_then(|_| tx.commit());
            result.inspect_err(|error| assert!(error.is_conflict(), "{error}")).is_ok()
        };
        let begun = Instant::now();
        let (one, two) = thread::scope(|scope| {
            let (one, two) = (scope.spawn(|| run((10, 20))), scope.spawn(|| run((20, 10))));
            (one.join().expect("one"), two.join().expect("the other"))
        });
        assert!(one ^ two, "{policy:?}: {one} and {two}");
        assert!(begun.elapsed() < Duration::from_secs(5), "nobody waited for the limit");
    }
}

#[test]
fn opposite_orders_come_through() {
    const ROUNDS: i64 = 500;
    for policy in POLICIES {
        let (db, table) = open(in_memory(policy));
        in_threads(2, |thread| {
            let mut session = db.session().expect("a session");
            let ids = if thread == 0 { [10, 20] } else { [20, 10] };
            for _ in 0..ROUNDS {
                session.run(|tx| ids.iter().try_for_each(|id| increment(tx, &table, *id))).expect("it comes through");
            }
        });
        let found = (value(&db, &table, 10), value(&db, &table, 20));
        assert_eq!(found, (Some(10 + 2 * ROUNDS), Some(20 + 2 * ROUNDS)), "{policy:?}");
    }
}

#[test]
fn increments_of_a_hot_row_are_all_counted() {
    const ROUNDS: i64 = 100;
    for (policy, for_update) in POLICIES.into_iter().flat_map(|policy| [(policy, true), (policy, false)]) {
        let (db, table) = open(in_memory(policy));
        let (attempts, longest_wait_us) = (AtomicU64::new(0), AtomicU64::new(0));
        let body = |tx: &Transaction<'_>| {
            attempts.fetch_add(1, Ordering::Relaxed);
            let begun = Instant::now();
            let read = for_update.then(|| get_for_update(tx, &table, 10)).transpose();
            longest_wait_us.fetch_max(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
            read.and_then(|_row| increment(tx, &table, 10))
        };
        in_threads(8, |_| {
            let mut session = db.session().expect("a session");
            (0..ROUNDS).for_each(|_| drop(session.run(body).expect("an increment")));
        });
        assert_eq!(value(&db, &table, 10), Some(10 + 8 * ROUNDS), "{policy:?}");
        let conflicts = attempts.load(Ordering::Relaxed) - 8 * ROUNDS as u64;
        let aborted = db.metrics().aborted;
        match (policy, for_update) {
            // No upgrade: only who has passed one that has waited for its grace of a millisecond is run again.
            (Locking::WoundWait, true) => {
                assert_eq!(conflicts, aborted, "each conflict ends one attempt");
                assert!(conflicts == 0 || longest_wait_us.into_inner() >= 1000, "no upgrade, {conflicts} conflicts");
            }
            (Locking::Detect, true) => assert_eq!((conflicts, aborted), (0, 0), "no circle"),
            (_, false) => assert!(conflicts > 0, "{policy:?}: two that have read the row cannot both change it"),
            // The younger ones are refused.
            _ => {}
        }
    }
}

/// Of two that have read a row for update the second one has waited with its read, and sees what the first one has written.
#[test]
fn reads_for_update_wait_for_each_other() {
    type Read = fn(&Transaction<'_>, &Table) -> Result<Option<i64>, Error>;
    let reads: [(&str, Read); 2] = [
        ("get", |tx, table| get_for_update(tx, table, 10)),
        ("scan", |tx, table| {
            let range = KeyRange::prefix(&[Value::Int(10)]);
            Ok(rows(table, tx.scan_for_update(table, range)?)?.first().map(|row| row.1))
        }),
    ];
    for policy in WAITING {
        for (name, read) in reads {
            let (db, table) = open(in_memory(policy));
            let mut session = db.session().expect("a session");
            let add = |tx: &Transaction<'_>| {
                let value = read(tx, &table)?.expect("a row");
                set(tx, &table, 10, value + 1).map(drop)
            };
            let tx = session.begin();
            read(&tx, &table).expect("a read");
            let release = || {
                add(&tx).expect("nobody else has the row");
                tx.commit().expect("committed");
            };
            waits(name, || commit_once(&db, add), release).expect("no upgrade, no conflict");
            assert_eq!(value(&db, &table, 10), Some(12), "{policy:?}: {name}");
        }
    }
}

#[test]
fn what_would_change_an_observation_waits() {
    for policy in WAITING {
        for phantom in &PHANTOMS {
            let (db, table) = open(in_memory(policy));
            let mut session = db.session().expect("a session");
            let reader = session.begin();
            let mut found = (phantom.read)(&reader, &table).expect("a read");
            let write = || commit_once(&db, |tx| (phantom.write)(tx, &table));
            let written = waits(phantom.name, write, || {
                let again = (phantom.read)(&reader, &table).expect("a read");
                assert_eq!(again, found, "{policy:?}: {}", phantom.name);
                reader.commit().expect("committed");
            });
            written.expect("it goes on without an error");
            (phantom.after)(&mut found);
            let after = db.run(|tx| (phantom.read)(tx, &table)).expect("a read").0;
            assert_eq!(after, found, "{policy:?}: {}", phantom.name);
        }
    }
}

/// Who inserts a key that another transaction has inserted waits for its end, and learns whether the key is taken.
#[test]
fn who_inserts_the_same_key_waits() {
    for (policy, commits) in WAITING.into_iter().flat_map(|policy| [(policy, false), (policy, true)]) {
        let db = Database::open(in_memory(policy)).expect("opened");
        let unique = Schema::builder("t").column("id", Type::Int64).column("value", Type::Int64).primary_key(["id"]);
        let unique = unique.unique_index("by_value", ["value"]).build().expect("a schema");
        let table = db.create_table(unique).expect("a table");
        // The same primary key, and another one with the same value.
        for (at, id, value) in [(0, 1, 100), (10, 2, 1)] {
            let mut session = db.session().expect("a session");
            let first = session.begin();
            insert(&first, &table, at + 1, at + 1).expect("an insertion");
            let write = || commit_once(&db, |tx| insert(tx, &table, at + id, at + value));
            let end = || if commits { drop(first.commit().expect("committed")) } else { drop(first) };
            let written = waits("an insertion", write, end);
            match commits {
                true => assert!(matches!(error(written), TransactionError::DuplicateKey { .. }), "{policy:?}"),
                false => written.expect("the key is free"),
            }
        }
    }
}

/// The other way round: who observes waits for the transaction whose write it would see.
#[test]
fn observations_wait_for_what_would_change_them() {
    for policy in WAITING {
        for phantom in &PHANTOMS {
            let (db, table) = open(in_memory(policy));
            let mut session = db.session().expect("a session");
            let mut found = db.run(|tx| (phantom.read)(tx, &table)).expect("a read").0;
            let writer = session.begin();
            (phantom.write)(&writer, &table).expect("a write");
            let read = || {
                let mut session = db.session().expect("a session");
                let tx = session.begin();
                let found = (phantom.read)(&tx, &table)?;
                tx.commit().map(|_| found)
            };
            let read = waits(phantom.name, read, || drop(writer.commit().expect("committed")));
            (phantom.after)(&mut found);
            assert_eq!(read.expect("it goes on"), found, "{policy:?}: {}", phantom.name);
        }
    }
}

/// Leaves that come of a transaction's own insertions are locked as the one was that it has read.
#[test]
fn a_range_stays_locked_where_its_leaves_split() {
    for policy in WAITING {
        let (db, table) = open_short(policy);
        let mut session = db.session().expect("a session");
        let tx = session.begin();
        assert_eq!(scan(&tx, &table, 1001, 1009).expect("a scan"), []);
        assert!(!is_locked(&db, |tx| insert(tx, &table, 15, 0)), "{policy:?}: that is far away");
        for range in [1010..1500, 900..1000] {
            range.filter(|id| id % 10 != 0).try_for_each(|id| insert(&tx, &table, id, id)).expect("insertions");
            assert!(is_locked(&db, |tx| insert(tx, &table, 1005, 0)), "{policy:?}");
        }
        tx.commit().expect("nobody has changed what it read");
    }
}

#[test]
fn who_ends_gives_its_locks_back() {
    type End = fn(Transaction<'_>, &Table);
    let ends: [(&str, End); 4] = [
        ("drop", |tx, _| drop(tx)),
        ("commit", |tx, _| drop(tx.commit().expect("committed"))),
        ("abort", |tx, _| drop(tx.abort().expect("aborted"))),
        ("a duplicate key, and drop", |tx, table| {
            let error = error(insert(&tx, table, 10, 0));
            assert!(matches!(error, TransactionError::DuplicateKey { .. }), "{error}");
        }),
    ];
    for policy in POLICIES {
        let (db, table) = open_short(policy);
        let [mut one, mut two] = sessions(&db);
        for (at, (name, end)) in ends.into_iter().enumerate() {
            let tx = one.begin();
            scan(&tx, &table, 10, 10 * ROWS).expect("a scan");
            assert_eq!(get(&tx, &table, 1).expect("a read"), None);
            set(&tx, &table, 10, 11).expect("a write");
            delete(&tx, &table, 20).expect("a delete");
            insert(&tx, &table, 20, 20).expect("an insertion");
            insert(&tx, &table, 3000 + at as i64, 0).expect("an insertion");
            end(tx, &table);

            let tx = two.begin();
            let write = |id| tx.upsert(&table, &[Value::Int(id), Value::Int(id)]);
            [10, 20, 1000, 1, 3000 + at as i64].into_iter().try_for_each(write).expect(name);
            assert!(delete(&tx, &table, 1).expect(name) && delete(&tx, &table, 3000 + at as i64).expect(name));
            tx.commit().expect(name);
        }
    }
}

#[test]
fn a_rollback_to_a_savepoint_keeps_locks() {
    for policy in WAITING {
        let (db, table) = open_short(policy);
        let [mut one, mut two] = sessions(&db);
        let tx = one.begin();
        let savepoint = tx.savepoint();
        set(&tx, &table, 10, 11).expect("a write");
        insert(&tx, &table, 15, 0).expect("an insertion");
        assert_eq!(get(&tx, &table, 20).expect("a read"), Some(20));
        tx.rollback_to(savepoint).expect("rolled back");
        assert_eq!((get(&tx, &table, 10).expect("a read"), get(&tx, &table, 15).expect("a read")), (Some(10), None));
        for id in [10, 15] {
            assert!(is_locked(&db, |tx| get(tx, &table, id)), "{policy:?}: {id}");
        }
        assert!(is_locked(&db, |tx| set(tx, &table, 20, 21)), "{policy:?}");
        tx.commit().expect("committed");
        let tx = two.begin();
        assert!(set(&tx, &table, 10, 12).expect("a write") && set(&tx, &table, 20, 21).expect("a write"));
        insert(&tx, &table, 15, 1).expect("an insertion");
        tx.commit().expect("committed");
        assert_eq!(value(&db, &table, 15), Some(1));
    }
}

#[test]
fn reads_for_update_are_refused_where_writes_are() {
    use ConcurrencyControlKind::{Multiversion, Optimistic, TwoPhaseLocking};
    for control in [Optimistic, TwoPhaseLocking, Multiversion] {
        let (db, table) = open(in_memory(Locking::WoundWait).concurrency_control(control));
        let mut session = db.session().expect("a session");
        let read_for_update = |tx: &Transaction<'_>, table: &Table, key: Value<'_>, index| {
            let scan = tx.scan_for_update(table, KeyRange::all()).map(drop);
            let scan_index = tx.scan_index_for_update(table, index, KeyRange::all()).map(drop);
            [tx.get_for_update(table, &[key]).map(drop), scan, scan_index].map(error)
        };
        for options in [READ_ONLY, AT_SNAPSHOT] {
            let tx = session.begin_with(options);
            for error in read_for_update(&tx, &table, Value::Int(10), "by_value") {
                assert_eq!(error, TransactionError::ReadOnly { table: "t".to_owned() });
            }
            assert_eq!(get(&tx, &table, 10).expect("it goes on"), Some(10));
        }
        let tx = session.begin();
        let system = tx.table("osier_tables").expect("a system table");
        for error in read_for_update(&tx, &system, Value::Text("t"), "none") {
            assert_eq!(error, TransactionError::SystemTable { table: "osier_tables".to_owned() });
        }
        assert_eq!(get_for_update(&tx, &table, 10).expect("it goes on"), Some(10));
        let all = tx.scan_for_update(&table, KeyRange::all()).expect("a scan");
        assert_eq!(rows(&table, all).expect("rows").len() as i64, ROWS);
        tx.commit().expect("committed");
    }
}

#[test]
fn scans_lock_what_they_are_for() {
    for policy in WAITING {
        let (db, table) = open_short(policy);
        let [mut one] = sessions(&db);
        for (for_update, by_index) in [(false, false), (false, true), (true, false), (true, true)] {
            let tx = one.begin();
            let (key, range) = ([Value::Int(100)], KeyRange::prefix);
            let scan = match (for_update, by_index) {
                (false, false) => tx.scan(&table, range(&key)),
                (false, true) => tx.scan_index(&table, "by_value", range(&key)),
                (true, false) => tx.scan_for_update(&table, range(&key)),
                (true, true) => tx.scan_index_for_update(&table, "by_value", range(&key)),
            };
            assert_eq!(rows(&table, scan.expect("a scan")).expect("rows"), [(100, 100)]);
            let is_exclusive = is_locked(&db, |tx| get(tx, &table, 100));
            assert_eq!(is_exclusive, for_update, "{policy:?}, by index {by_index}");
            assert!(is_locked(&db, |tx| set(tx, &table, 100, 101)), "{policy:?}");
            assert!(!is_locked(&db, |tx| set(tx, &table, 1500, 1501)), "it is not in the range");
        }
    }
}

/// Whatever locks there are: snapshots are read beside them, and hold nobody up.
#[test]
fn snapshots_wait_for_nobody() {
    for policy in POLICIES {
        let (db, table) = open_short(policy);
        let [mut one, mut two] = sessions(&db);
        let before = db.snapshot().expect("a snapshot");
        let writer = one.begin();
        set(&writer, &table, 10, 11).expect("a write");
        insert(&writer, &table, 15, 0).expect("an insertion");
        delete(&writer, &table, 20).expect("a deletion");
        let check = |tx: Transaction<'_>| {
            let found = (scan(&tx, &table, 10, 30).expect("a scan"), scan_index(&tx, &table, 0, 30).expect("a scan"));
            assert_eq!(found.0, [(10, 10), (20, 20), (30, 30)], "{policy:?}");
            assert_eq!(found.1, found.0);
            assert_eq!(get(&tx, &table, 10).expect("a read"), Some(10));
            tx.commit().expect("nothing aborts it");
        };
        check(two.begin_at(&before).expect("its own snapshot"));
        check(two.begin_with(AT_SNAPSHOT));
        writer.commit().expect("committed");
        check(two.begin_at(&before).expect("its own snapshot"));

        let reader = two.begin_with(AT_SNAPSHOT);
        assert_eq!(scan(&reader, &table, 10, 20).expect("a scan"), [(10, 11), (15, 0)]);
        commit_once(&db, |tx| set(tx, &table, 10, 12).and_then(|_| insert(tx, &table, 20, 20))).expect("nobody waits");
        assert_eq!(scan(&reader, &table, 10, 20).expect("a scan"), [(10, 11), (15, 0)]);
    }
}

#[test]
fn read_only_transactions_lock_what_they_read() {
    for policy in WAITING {
        let (db, table) = open_short(policy);
        let [mut one, mut two] = sessions(&db);
        let reader = one.begin_with(READ_ONLY);
        assert_eq!(get(&reader, &table, 10).expect("a read"), Some(10));
        assert_eq!(scan(&reader, &table, 2000, 3000).expect("a scan"), [(2000, 2000)]);
        let other = two.begin_with(READ_ONLY);
        assert_eq!(get(&other, &table, 10).expect("beside the first"), Some(10));
        other.commit().expect("committed");
        assert!(is_locked(&db, |tx| set(tx, &table, 10, 11)), "{policy:?}");
        assert!(is_locked(&db, |tx| insert(tx, &table, 2500, 0)), "{policy:?}");
        reader.commit().expect("committed").wait().expect("acknowledged");

        let writer = two.begin();
        set(&writer, &table, 10, 11).expect("nobody has it");
        assert!(get(&one.begin_with(READ_ONLY), &table, 10).is_err(), "{policy:?}");
        writer.commit().expect("committed");
        assert_eq!(get(&one.begin_with(READ_ONLY), &table, 10).expect("a read"), Some(11));
    }
}

#[test]
fn an_index_has_what_others_were_writing() {
    for policy in WAITING {
        let (db, table) = open(in_memory(policy));
        let mut session = db.session().expect("a session");
        let writer = session.begin();
        set(&writer, &table, 100, 7).expect("a write");
        insert(&writer, &table, 105, 7).expect("an insertion");
        delete(&writer, &table, 110).expect("a deletion");
        let create = || {
            let mut session = db.session().expect("a session");
            let tx = session.begin();
            let altered = tx.create_index(&table, "second", &["value"], false)?;
            tx.commit().map(|_| altered)
        };
        let altered = waits("an index", create, || drop(writer.commit().expect("committed"))).expect("an index");
        let by_second = |range: KeyRange<'_>| -> Vec<(i64, i64)> {
            db.run(|tx| rows(&altered, tx.scan_index(&altered, "second", range)?)).expect("a scan").0
        };
        assert_eq!(by_second(KeyRange::prefix(&[Value::Int(7)])), [(100, 7), (105, 7)], "{policy:?}");
        assert_eq!(by_second(KeyRange::all()).len() as i64, ROWS);

        // The other way round: a writer waits for the one that fills an index, and has an old handle then.
        let tx = session.begin();
        let newest = tx.create_index(&altered, "third", &["value"], false).expect("an index");
        let write = || commit_once(&db, |tx| set(tx, &altered, 100, 8).map(drop));
        let written = waits("a writer", write, || drop(tx.commit().expect("committed")));
        assert!(written.expect_err("the table has changed").is_conflict());
        let refused = error(db.run(|tx| set(tx, &altered, 100, 8)));
        assert_eq!(refused, TransactionError::TableChanged { table: "t".to_owned() });
        db.run(|tx| set(tx, &newest, 100, 9)).expect("a write");
        let third = |tx: &Transaction<'_>| tx.get_by_index(&newest, "third", &[Value::Int(9)]).map(|row| row.is_some());
        assert!(db.run(third).expect("a read").0);
    }
}

#[test]
fn a_table_is_dropped_beside_open_transactions() {
    for policy in POLICIES {
        let (db, table) = open_short(policy);
        let [mut one, mut two, mut three] = sessions(&db);
        let (writer, reader) = (one.begin(), two.begin());
        set(&writer, &table, 10, 11).expect("a write");
        insert(&writer, &table, 15, 0).expect("an insertion");
        scan(&reader, &table, 1000, 10 * ROWS).expect("a scan");
        let tx = three.begin();
        tx.drop_table(&table).expect("definitions wait for nobody");
        tx.commit().expect("committed");
        assert!(writer.commit().expect_err("the table is gone").is_conflict());
        assert!(reader.commit().expect_err("the table is gone").is_conflict());
        let refused = error(db.run(|tx| get(tx, &table, 10)));
        assert_eq!(refused, TransactionError::TableChanged { table: "t".to_owned() });

        // One of the same name, at first by a transaction that gives up.
        for commits in [false, true] {
            let tx = one.begin();
            let table = tx.create_table(schema("t")).expect("a table");
            (0..1000).try_for_each(|id| insert(&tx, &table, id, id)).expect("rows");
            let savepoint = tx.savepoint();
            let altered = tx.create_index(&table, "second", &["value"], true).expect("an index");
            set(&tx, &altered, 5, 5000).expect("a write");
            tx.rollback_to(savepoint).expect("rolled back");
            assert_eq!(scan(&tx, &table, 4, 6).expect("a scan"), [(4, 4), (5, 5), (6, 6)]);
            if commits {
                tx.commit().expect("committed");
                assert_eq!(value(&db, &table, 999), Some(999));
            }
        }
    }
}

#[test]
fn sequences_lock_nobody_out() {
    for policy in POLICIES {
        let (db, table) = open_short(policy);
        // Each value is reserved by a transaction beside the one that draws it.
        let sequence = db.create_sequence(&SequenceOptions::new("s").cache(1)).expect("a sequence");
        let [mut one, mut two] = sessions(&db);
        let (a, b) = (one.begin(), two.begin());
        for _ in 0..10 {
            for tx in [&a, &b] {
                let next = tx.next_value(&sequence).expect("a value");
                insert(tx, &table, 3000 + next, next).expect("an insertion");
            }
        }
        a.commit().expect("committed");
        b.commit().expect("committed");

        let tx = one.begin();
        let own = tx.create_sequence(&SequenceOptions::new("own")).expect("a sequence");
        assert_eq!([(); 3].map(|()| tx.next_value(&own).expect("a value")), [1, 2, 3], "{policy:?}");
        assert_eq!(tx.next_value(&sequence).expect("a value"), 21);
        tx.restart_sequence(&sequence, Some(100)).expect("restarted");
        assert_eq!([(); 2].map(|()| tx.next_value(&sequence).expect("a value")), [100, 101]);
        insert(&tx, &table, 3000, 0).expect("an insertion");
        tx.commit().expect("committed");
        let tx = two.begin();
        assert_eq!([&own, &sequence].map(|of| tx.next_value(of).expect("a value")), [4, 102], "{policy:?}");
        assert_eq!(scan(&tx, &table, 3000, 4000).expect("a scan").len(), 21);
        tx.commit().expect("committed");
    }
}

/// Keys whose rows were deleted leave their trees, but none that a transaction has looked up.
#[test]
fn keys_go_and_come_back() {
    let ids = || (10..=500).step_by(10);
    for policy in POLICIES {
        let (db, table) = open_short(policy);
        let [mut one, mut two] = sessions(&db);
        for round in 0..10 {
            one.run(|tx| ids().try_for_each(|id| delete(tx, &table, id).map(|is_gone| assert!(is_gone))))
                .expect("deleted");
            let reader = two.begin();
            let looks_up = |id: &i64| round % 2 == 0 || id % 30 == 0;
            for id in ids().filter(looks_up) {
                assert_eq!(get(&reader, &table, id).expect("a read"), None);
            }
            // Each beginning purges some.
            (0..100).for_each(|_| drop(one.begin()));
            for id in ids().filter(looks_up) {
                assert_eq!(get(&reader, &table, id).expect("a read"), None);
                assert!(is_locked(&db, |tx| insert(tx, &table, id, id)), "{policy:?}: {id}");
            }
            assert_eq!(scan(&reader, &table, 0, 600).expect("a scan").len(), 10);
            // The leaves may have changed, as far as the reader had not locked them.
            assert!(reader.commit().is_ok() || round % 2 == 1, "{policy:?}");
            (0..100).for_each(|_| drop(one.begin()));
            let (odd, even): (Vec<i64>, Vec<i64>) = ids().partition(|id| id % 20 == 10);
            one.run(|tx| odd.iter().try_for_each(|id| insert(tx, &table, *id, *id))).expect("inserted");
            two.run(|tx| even.iter().try_for_each(|id| insert(tx, &table, *id, *id))).expect("inserted");
            let found = db.run(|tx| scan(tx, &table, 0, 10 * ROWS)).expect("a scan").0;
            assert_eq!(found, (1..=ROWS).map(|row| (row * 10, row * 10)).collect::<Vec<_>>(), "{policy:?}");
        }
    }
}

#[test]
fn large_transactions_and_many_tables() {
    const LARGE: i64 = 10_000;
    for policy in POLICIES {
        let (db, table) = open_short(policy);
        let [mut one, mut two] = sessions(&db);
        let tx = one.begin();
        (0..LARGE).try_for_each(|id| insert(&tx, &table, 10_000 + id, id)).expect("insertions");
        assert_eq!(scan(&tx, &table, 10_000, 30_000).expect("a scan").len() as i64, LARGE);
        assert!(is_locked(&db, |tx| get(tx, &table, 15_000)), "each of them is locked");
        tx.commit().expect("committed");
        let tx = two.begin();
        for (id, value) in scan(&tx, &table, 10_000, 30_000).expect("a scan") {
            assert!(set(&tx, &table, id, -value).expect("a write"));
        }
        tx.commit().expect("committed");
        let tx = one.begin();
        (0..LARGE).for_each(|id| assert!(delete(&tx, &table, 10_000 + id).expect("a deletion")));
        drop(tx);
        let found = db.run(|tx| scan_index(tx, &table, -LARGE, 0)).expect("a scan").0;
        assert!(found.len() as i64 == LARGE && found.iter().all(|(id, value)| 10_000 - value == *id), "{policy:?}");

        let create = |number| db.create_table(schema(&format!("t{number}"))).expect("a table");
        let tables: Vec<Table> = (0..100).map(create).collect();
        for round in 0..3 {
            let session = if round % 2 == 0 { &mut one } else { &mut two };
            let tx = session.begin();
            for table in &tables {
                assert_eq!(get(&tx, table, round - 1).expect("a read"), (round > 0).then_some(round));
                insert(&tx, table, round, round + 1).expect("an insertion");
            }
            tx.commit().expect("committed");
        }
    }
}

/// A transaction that is run again keeps its age: it is the oldest of all at some time, and then nobody stops it.
#[test]
fn a_long_transaction_commits_at_last() {
    const HOT: i64 = 8;
    for policy in WAITING {
        let (db, table) = open(in_memory(policy));
        let (is_over, mut attempts) = (AtomicBool::new(false), 0_u64);
        let others = thread::scope(|scope| {
            let short = [(); 8].map(|()| scope.spawn(|| add_to_some(&db, &table, HOT, &is_over)));
            thread::sleep(PAUSE);
            let mut session = db.session().expect("a session");
            let long = session.run(|tx| {
                attempts += 1;
                (1..=HOT).try_for_each(|row| {
                    add_for_update(tx, &table, row * 10)?;
                    thread::sleep(Duration::from_micros(200));
                    Ok::<_, Error>(())
                })
            });
            is_over.store(true, Ordering::Relaxed);
            long.expect("it commits");
            short.map(|short| short.join().expect("a thread")).iter().sum::<i64>()
        });
        let expected = (1..=HOT).map(|row| row * 10).sum::<i64>() + others + HOT;
        let found = db.run(|tx| scan(tx, &table, 10, 10 * HOT)).expect("a scan").0;
        assert_eq!(found.iter().map(|row| row.1).sum::<i64>(), expected, "{policy:?}");
        assert!(attempts <= 64, "{policy:?}: {attempts} attempts");
    }
}

/// A transaction that has not committed leaves its age to the next one of its session, which is the older for it.
#[test]
fn who_is_run_again_keeps_its_age() {
    for policy in WAITING {
        let (db, table) = open_short(policy);
        let [mut one, mut two, mut three] = sessions(&db);
        let holder = one.begin();
        set(&holder, &table, 10, 11).expect("a write");
        assert!(is_timeout(get(&two.begin(), &table, 10)), "they get their ages");
        drop(holder);

        for commits in [false, true] {
            let newer = three.begin();
            set(&newer, &table, 20, 21).expect("a write");
            assert!(is_locked(&db, |tx| get(tx, &table, 20)), "it gets its age");
            let tx = two.begin();
            let result = get(&tx, &table, 20);
            drop(tx);
            let (is_refused, is_wounded) = match commits {
                // It waits because it is older, or the other one gives way.
                false => (false, policy == Locking::WoundWait),
                true => (policy == Locking::WaitDie, false),
            };
            assert_eq!(is_timeout(result), !is_refused, "{policy:?}, after a commit: {commits}");
            assert_eq!(get(&newer, &table, 30).is_err(), is_wounded, "{policy:?}, after a commit: {commits}");
            drop(newer);
            three = db.session().expect("a session");
            two.begin().commit().expect("its age is forgotten");
        }
    }
}

#[test]
fn the_younger_gives_way() {
    for commits in [false, true] {
        // A younger one that went on before the older one asked has not met it.
        let is_wounded = (0..10).any(|_| match meet_an_older(commits) {
            Ok(()) => false,
            Err(error) => is_lock_conflict::<()>(Err(error)),
        });
        assert!(is_wounded, "at its commit: {commits}");
    }
}

#[test]
fn no_money_is_lost() {
    const TOTAL: i64 = 10 * ROWS * (ROWS + 1) / 2;
    let policies = POLICIES.map(in_memory);
    let optimistic = in_memory(Locking::default()).concurrency_control(ConcurrencyControlKind::Optimistic);
    for config in policies.into_iter().chain([optimistic]) {
        let name = format!("{} {:?}", config.concurrency_control, config.locking);
        let (db, table) = open(config.conflict_retries_max(u32::MAX));
        let done = [(); 5].map(|()| AtomicU64::new(0));
        let end = Instant::now() + Duration::from_millis(400);
        in_threads(4, |thread| {
            let (mut session, mut rng) = (db.session().expect("a session"), fastrand::Rng::with_seed(thread as u64));
            while Instant::now() < end {
                let what = if rng.u8(..8) == 0 {
                    let found = session.run(|tx| sums(tx, &table)).expect("sums").0;
                    assert_eq!(found, [TOTAL; 2], "{name}");
                    4
                } else {
                    session.run(|tx| move_money(tx, &table, &mut rng)).expect("moved").0
                };
                done[what].fetch_add(1, Ordering::Relaxed);
            }
        });
        assert_eq!(db.run(|tx| sums(tx, &table)).expect("sums").0, [TOTAL; 2], "{name}");
        let done = done.map(AtomicU64::into_inner);
        assert!(done[1..].iter().all(|count| *count > 0), "{name}: {done:?}");
    }
}

/// Each transaction takes the next number, adds a row for it and removes the one of three numbers ago.
#[test]
fn what_was_acknowledged_is_there_after_a_reopen() {
    const EACH: i64 = 40;
    for (protocol, policy) in POLICIES.into_iter().flat_map(|by| [(Protocol::Poplar, by), (Protocol::Gsn, by)]) {
        let home = support::directory("locking", &format!("{protocol:?}-{policy:?}"));
        let config = support::config(&home, protocol, 2);
        let (db, table) = open(locking(config.clone(), policy));
        let take = |tx: &Transaction<'_>| -> Result<usize, Error> {
            let next = get_for_update(tx, &table, 10)?.expect("a row") + 1;
            set(tx, &table, 10, next)?;
            insert(tx, &table, 10_000 + next, next)?;
            delete(tx, &table, 10_000 + next - 3)?;
            Ok(scan(tx, &table, 10_000, 20_000)?.len())
        };
        in_threads(4, |_| {
            let mut session = db.session().expect("a session");
            for _ in 0..EACH {
                let (count, receipt) = session.run(take).expect("the next number");
                assert!((1..=3).contains(&count), "{count}");
                receipt.wait().expect("durable");
            }
        });
        // One that is logged in parts.
        let large = db.run(|tx| (0..1000).try_for_each(|id| insert(tx, &table, 50_000 + id, 0)));
        large.expect("a large one").1.wait().expect("durable");
        db.close().expect("closed");
        drop(db);

        let db = Database::open(config).expect("opened");
        let (table, last) = (db.table("t").expect("the table"), 10 + 4 * EACH);
        assert_eq!(value(&db, &table, 10), Some(last), "{protocol:?} {policy:?}");
        let expected: Found = (last - 2..=last).map(|number| (10_000 + number, number)).collect();
        let by_key = db.run(|tx| scan(tx, &table, 10_000, 20_000)).expect("a scan").0;
        assert_eq!(by_key, expected, "{protocol:?} {policy:?}");
        let by_value = |tx: &Transaction<'_>| rows(&table, tx.scan_index(&table, "by_value", KeyRange::all())?);
        assert_eq!(db.run(by_value).expect("a scan").0.len() as i64, ROWS + 3 + 1000);
    }
}
