//! Partial indexes, which have no entries of rows whose first indexed column is NULL: against a map, through changes, rollbacks,
//! restarts and checkpoints, under every protocol.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;

use fastrand::Rng;
use osier::config::Logged;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Database, Error, Protocol, Session, Table, Transaction, TransactionError};

const KEYS: i64 = 40;

/// Whether the row is in the index, and what else the index has.
type Rows = BTreeMap<i64, (bool, i64)>;

fn schema() -> Schema {
    let columns = Schema::builder("t").column("id", Type::Int64).nullable_column("is", Type::Bool);
    let columns = columns.column("n", Type::Int64).primary_key(["id"]);
    columns.partial_index("some", ["is", "n"], false).build().unwrap()
}

fn is(is_in: bool) -> Value<'static> {
    if is_in { Value::Bool(true) } else { Value::Null }
}

/// One operation, on `rows` as well. `n` is that of a row of `one`, as far as it is in the index.
fn operate(tx: &Transaction<'_>, table: &Table, rows: &mut Rows, rng: &mut Rng) -> Result<(), Error> {
    let (id, is_in, n) = (rng.i64(..KEYS), rng.bool(), rng.i64(..9));
    let row = [Value::Int(id), is(is_in), Value::Int(n)];
    let columns = (table.column("is")?, table.column("n")?);
    match rng.u8(..6) {
        0 => drop((tx.delete(table, &[Value::Int(id)])?, rows.remove(&id))),
        1 if tx.update(table, &[Value::Int(id)], &[(columns.0, is(is_in))])? => rows.get_mut(&id).unwrap().0 = is_in,
        2 if tx.update(table, &[Value::Int(id)], &[(columns.1, Value::Int(n))])? => rows.get_mut(&id).unwrap().1 = n,
        3 if tx.replace(table, &row)? => drop(rows.insert(id, (is_in, n))),
        _ => {
            tx.upsert(table, &row)?;
            rows.insert(id, (is_in, n));
        }
    }
    Ok(())
}

/// What an index leads to, in its order.
fn entries(tx: &Transaction<'_>, table: &Table, index: &str) -> Result<Vec<(i64, i64)>, Error> {
    let (id, n) = (table.column("id")?, table.column("n")?);
    let rows = tx.scan_index(table, index, KeyRange::all())?;
    rows.map(|row| row.map(|row| (row.int(n), row.int(id)))).collect()
}

fn expected(rows: &Rows) -> Vec<(i64, i64)> {
    let mut all: Vec<_> = rows.iter().filter(|(_, (is_in, _))| *is_in).map(|(id, (_, n))| (*n, *id)).collect();
    all.sort_unstable();
    all
}

fn check(db: &Database, rows: &Rows, index: &str) {
    let table = db.table("t").unwrap();
    let (found, _) = db.run(|tx| entries(tx, &table, index)).unwrap();
    assert_eq!(found, expected(rows));
}

/// Some transactions, of which some are rolled back in part or as a whole.
fn work(session: &mut Session, rows: &mut Rows, rng: &mut Rng) {
    for _ in 0..60 {
        let mut now = rows.clone();
        let tx = session.begin();
        let table = tx.table("t").unwrap();
        (0..rng.usize(1..6)).for_each(|_| operate(&tx, &table, &mut now, rng).unwrap());
        let (savepoint, before) = (tx.savepoint(), now.clone());
        (0..rng.usize(..4)).for_each(|_| operate(&tx, &table, &mut now, rng).unwrap());
        assert_eq!(entries(&tx, &table, "some").unwrap(), expected(&now), "its own rows");
        if rng.bool() {
            tx.rollback_to(savepoint).unwrap();
            now = before;
        }
        if rng.u8(..4) == 0 {
            drop(tx);
        } else {
            tx.commit().unwrap();
            *rows = now;
        }
    }
}

#[test]
fn entries_are_those_of_rows_that_have_the_first_column() {
    use Protocol::{Gsn, Plover, Poplar, Serial, Silo, Taurus};
    let rows = [Serial, Poplar, Gsn, Plover, Silo, Taurus].map(|protocol| (protocol, Logged::Values));
    // Where calls may be logged rows are written again one after the other.
    let calls = [Serial, Taurus].map(|protocol| (protocol, Logged::Commands));
    for (protocol, logged) in rows.into_iter().chain(calls) {
        let home = support::directory("partial", &format!("{protocol:?} {logged:?}"));
        let streams = if protocol == Serial { 1 } else { 2 };
        let open = || Database::open(support::config(&home, protocol, streams).logged(logged)).unwrap();
        let (mut rows, mut rng) = (Rows::new(), Rng::with_seed(7));
        let db = open();
        db.create_table(schema()).unwrap();
        work(&mut db.session().unwrap(), &mut rows, &mut rng);
        check(&db, &rows, "some");
        drop(db);
        for round in 0..3 {
            let db = open();
            check(&db, &rows, "some");
            work(&mut db.session().unwrap(), &mut rows, &mut rng);
            if round == 1 {
                db.checkpoint().unwrap();
            }
            // One that is filled with the rows that are there.
            let table = db.table("t").unwrap();
            let name = format!("later{round}");
            let ((), receipt) =
                db.run(|tx| tx.create_partial_index(&table, &name, &["is", "n"], false).map(drop)).unwrap();
            receipt.wait().unwrap();
            check(&db, &rows, &name);
            work(&mut db.session().unwrap(), &mut rows, &mut rng);
            check(&db, &rows, &name);
        }
        let db = open();
        ["some", "later0", "later2"].into_iter().for_each(|index| check(&db, &rows, index));
    }
}

#[test]
fn a_unique_one_is_unique_among_its_rows() {
    let db = Database::open(osier::Config::new("unused").protocol(Protocol::None)).unwrap();
    let columns = Schema::builder("t").column("id", Type::Int64).nullable_column("is", Type::Bool);
    let columns = columns.nullable_column("n", Type::Int64).primary_key(["id"]);
    let table = db.create_table(columns.partial_index("one", ["is", "n"], true).build().unwrap()).unwrap();
    let index = &table.schema().indexes()[0];
    assert!(index.is_unique() && index.is_partial());
    let put = |id, is_in, n| db.run(|tx| tx.insert(&table, &[Value::Int(id), is(is_in), n])).map(drop);
    put(1, true, Value::Int(5)).unwrap();
    put(2, false, Value::Int(5)).unwrap();
    put(3, false, Value::Int(5)).unwrap();
    put(4, true, Value::Null).unwrap();
    put(5, true, Value::Null).unwrap();
    let error = put(6, true, Value::Int(5)).unwrap_err();
    assert!(matches!(error, Error::Transaction(TransactionError::DuplicateKey { .. })), "{error}");
    let set = |id, is_in| {
        let column = table.column("is")?;
        db.run(|tx| tx.update(&table, &[Value::Int(id)], &[(column, is(is_in))])).map(drop)
    };
    let error = set(2, true).unwrap_err();
    assert!(matches!(error, Error::Transaction(TransactionError::DuplicateKey { .. })), "{error}");
    set(1, false).unwrap();
    set(2, true).unwrap();
}
