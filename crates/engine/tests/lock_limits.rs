//! Waits for locks that take too long: what a transaction can rely on that goes on, and one that does not.

#[path = "support/locks.rs"]
#[expect(dead_code, reason = "a part of what the tests of locking share")]
mod locks;

use std::time::Instant;

use locks::*;
use osier::table::Value;
use osier::{Error, Table, Transaction};

#[test]
fn a_wait_ends_with_the_limit() {
    for policy in WAITING {
        let (db, table) = open_short(policy);
        let [mut one, mut two, mut three] = sessions(&db);
        let holder = one.begin();
        set(&holder, &table, 10, 11).expect("a write");
        let tx = two.begin();
        set(&tx, &table, 20, 21).expect("a write");
        let begun = Instant::now();
        let error = get(&tx, &table, 10).expect_err("nobody gives the lock back");
        assert!(begun.elapsed() >= SHORT && !error.is_conflict(), "to run it again at once would be in vain");
        assert_eq!(error.sqlstate(), "55P03");
        let message = error.to_string();
        assert!(message.contains("held a lock") && message.contains("lock_timeout"), "{message}");
        assert!(is_timeout::<()>(Err(error)));
        assert!(is_locked(&db, |tx| get(tx, &table, 20)), "what it has locked stays locked");
        drop(tx);

        // What it has locked is free, and nothing of it was done.
        let tx = three.begin();
        assert_eq!(get(&tx, &table, 20).expect("a read"), Some(20));
        assert!(set(&tx, &table, 20, 22).expect("a write"));
        tx.commit().expect("committed");
        holder.commit().expect("nobody disturbs the holder");
        let tx = two.begin();
        assert_eq!(get(&tx, &table, 10).expect("a read"), Some(11), "the session goes on");
        tx.commit().expect("committed");
    }
}

#[test]
fn a_wait_that_is_over_is_not_run_again() {
    for policy in WAITING {
        let (db, table) = open_short(policy);
        let [mut one, mut two] = sessions(&db);
        let holder = one.begin();
        set(&holder, &table, 10, 11).expect("a write");
        let mut attempts = 0;
        let result = two.run(|tx| {
            attempts += 1;
            set(tx, &table, 20, 21)?;
            get(tx, &table, 10)
        });
        assert!(is_timeout(result) && attempts == 1, "{policy:?}: {attempts} attempts");
        drop(holder);
        assert_eq!((value(&db, &table, 10), value(&db, &table, 20)), (Some(10), Some(20)));
    }
}

#[test]
fn a_transaction_goes_on_after_waits_in_vain() {
    type Access = fn(&Transaction<'_>, &Table) -> Result<(), Error>;
    let accesses: [(&str, Access); 9] = [
        ("get", |tx, table| get(tx, table, 10).map(drop)),
        ("get for update", |tx, table| get_for_update(tx, table, 10).map(drop)),
        ("update", |tx, table| set(tx, table, 10, 12).map(drop)),
        ("delete", |tx, table| delete(tx, table, 10).map(drop)),
        ("upsert", |tx, table| tx.upsert(table, &[Value::Int(10), Value::Int(12)])),
        ("insert of a key in a range that is locked", |tx, table| insert(tx, table, 105, 12)),
        ("update, with an index entry in a range that is locked", |tx, table| set(tx, table, 20, 1005).map(drop)),
        ("scan", |tx, table| scan(tx, table, 5, 20).map(drop)),
        ("scan of an index", |tx, table| scan_index(tx, table, 5, 20).map(drop)),
    ];
    for policy in WAITING {
        let (db, table) = open_short(policy);
        let [mut one, mut two] = sessions(&db);
        // Leaves of their own.
        db.run(|tx| (1..500).try_for_each(|id| insert(tx, &table, 2000 + id, 2000 + id))).expect("rows");
        let holder = one.begin();
        set(&holder, &table, 10, 11).expect("a write");
        scan(&holder, &table, 101, 109).expect("a scan");
        scan_index(&holder, &table, 1001, 1009).expect("a scan");
        let tx = two.begin();
        set(&tx, &table, 2001, 1).expect("a write");
        for (name, access) in accesses {
            let savepoint = tx.savepoint();
            set(&tx, &table, 2002, 2).expect("a write");
            assert!(is_timeout(access(&tx, &table)), "{policy:?}, {name}");
            tx.rollback_to(savepoint).expect("rolled back");
        }
        holder.commit().expect("nobody disturbs the holder");
        set(&tx, &table, 10, 13).expect("now there is no need to wait");
        insert(&tx, &table, 105, 105).expect("nor here");
        tx.commit().expect("committed");
        let found = [10, 20, 105, 2001, 2002].map(|id| value(&db, &table, id));
        assert_eq!(found, [Some(13), Some(20), Some(105), Some(1), Some(2002)], "{policy:?}");
        let (by_key, mut by_value) = db
            .run(|tx| Ok::<_, Error>((scan(tx, &table, 0, 9999)?, scan_index(tx, &table, 0, 9999)?)))
            .expect("scans")
            .0;
        by_value.sort_unstable();
        assert_eq!(by_key, by_value, "{policy:?}");
    }
}
