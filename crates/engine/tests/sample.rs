//! Samples of tables: about how many rows there are, and rows of which each has the same chance.

use osier::table::{Schema, Type, Value};
use osier::{Database, SampleLimits, Table, TransactionOptions};

mod support;

const LIMITS: SampleLimits = SampleLimits { rows_max: 2000, bytes_max: 1 << 20 };

fn filled(test: &str, rows: i64) -> (Database, Table) {
    let config = support::config(&support::directory("sample", test), osier::Protocol::Poplar, 1);
    let db = Database::open(config).expect("a database");
    let schema = Schema::builder("t").column("id", Type::Int64).column("v", Type::Int64).primary_key(["id"]);
    let table = db.create_table(schema.build().expect("a schema")).expect("a table");
    let mut next = 0;
    while next < rows {
        let until = (next + 200).min(rows);
        // In the order of a shuffle, so that leaves are as full as they happen to be.
        let written = db.run(|tx| {
            (next..until).try_for_each(|id| tx.insert(&table, &[Value::Int(id * 7919 % 100_003), Value::Int(id)]))
        });
        written.expect("rows");
        next = until;
    }
    (db, table)
}

fn ids(db: &Database, table: &Table, limits: SampleLimits) -> (f64, Vec<i64>) {
    let id = table.column("id").expect("a column");
    let mut ids = Vec::new();
    let (rows, _) = db
        .run(|tx| {
            ids.clear();
            Ok::<_, osier::Error>(tx.sample(table, limits, &mut |row| ids.push(row.int(id))))
        })
        .expect("a sample");
    ids.sort_unstable();
    (rows, ids)
}

#[test]
fn a_small_table_is_counted() {
    let (db, table) = filled("small", 300);
    let (rows, found) = ids(&db, &table, LIMITS);
    assert_eq!((rows, found.len()), (300.0, 300));
    db.run(|tx| (0..100).try_for_each(|id| tx.delete(&table, &[Value::Int(id * 7919 % 100_003)]).map(drop)))
        .expect("deletes");
    let (rows, found) = ids(&db, &table, LIMITS);
    assert_eq!((rows, found.len()), (200.0, 200));
    let (rows, found) = ids(&db, &table, SampleLimits { rows_max: 50, bytes_max: 1 << 20 });
    assert_eq!(found.len(), 50);
    assert!((150.0..=300.0).contains(&rows), "{rows}");
    let (_, found) = ids(&db, &table, SampleLimits { rows_max: 50, bytes_max: 1 });
    assert_eq!(found.len(), 1, "a row goes beyond the bytes, and is the last one");
}

#[test]
fn an_empty_table_has_no_rows() {
    let (db, table) = filled("empty", 0);
    assert_eq!(ids(&db, &table, LIMITS), (0.0, Vec::new()));
}

#[test]
fn each_row_of_a_large_table_has_the_same_chance() {
    const ROWS: i64 = 90_000;
    let (db, table) = filled("large", ROWS);
    let (rows, found) = ids(&db, &table, LIMITS);
    assert!((rows / ROWS as f64 - 1.0).abs() < 0.1, "{rows} rows");
    assert!(found.len() > 700, "{} of 2000", found.len());
    assert!(found.is_sorted_by(|one, next| one < next), "no row is given twice");
    // Each tenth of the keys has about a tenth of the sample.
    for tenth in 0..10 {
        let own = found.iter().filter(|id| **id / 10_001 == tenth).count() as f64;
        let part = own / found.len() as f64;
        assert!((0.06..=0.14).contains(&part), "tenth {tenth} has {part}");
    }
}

#[test]
fn nobody_conflicts_with_a_sample() {
    let (db, table) = filled("conflict", 300);
    let (mut one, mut other) = (db.session().expect("a session"), db.session().expect("a session"));
    let reader = one.begin();
    assert_eq!(reader.sample(&table, LIMITS, &mut |_| {}), 300.0);
    let writer = other.begin();
    writer.insert(&table, &[Value::Int(-1), Value::Int(0)]).expect("a row");
    writer.delete(&table, &[Value::Int(0)]).expect("a row");
    assert_eq!(reader.estimate_rows(&table), 300.0, "nothing is committed yet");
    writer.commit().expect("no conflict");
    // It has read nothing that was written since.
    reader.insert(&table, &[Value::Int(-2), Value::Int(0)]).expect("a row");
    reader.commit().expect("no conflict");
    let at_snapshot = one.begin_with(TransactionOptions { snapshot: true, ..TransactionOptions::default() });
    assert_eq!(at_snapshot.estimate_rows(&table), 301.0);
}
