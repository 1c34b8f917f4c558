//! The anomalies of isolation by their names (Adya; the cases are those that Hermitage tries on other databases): none of them
//! commits. Two or three transactions of as many sessions, step by step; where a serial order is impossible, one of them must
//! have failed with a conflict.

mod support;

use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Database, Error, Protocol, Session, Table, Transaction};

/// Rows 1 and 2 hold 10 and 20.
fn open(name: &str) -> (Database, Table) {
    let home = support::directory("anomalies", name);
    let db = Database::open(support::config(&home, Protocol::Gsn, 2)).expect("opened");
    let schema = Schema::builder("test").column("id", Type::Int64).column("value", Type::Int64);
    let schema = schema.primary_key(["id"]).index("by_value", ["value"]).build().expect("a schema");
    let table = db.create_table(schema).expect("a table");
    db.run(|tx| -> Result<(), Error> {
        [(1, 10), (2, 20)].iter().try_for_each(|(id, value)| tx.insert(&table, &[Value::Int(*id), Value::Int(*value)]))
    })
    .expect("rows");
    (db, table)
}

fn sessions<const N: usize>(db: &Database) -> [Session; N] {
    std::array::from_fn(|_| db.session().expect("a session"))
}

fn get(tx: &Transaction<'_>, table: &Table, id: i64) -> Option<i64> {
    let value = table.column("value").expect("value");
    tx.get(table, &[Value::Int(id)]).expect("a read").map(|row| row.int(value))
}

fn set(tx: &Transaction<'_>, table: &Table, id: i64, value: i64) {
    let column = table.column("value").expect("value");
    assert!(tx.update(table, &[Value::Int(id)], &[(column, Value::Int(value))]).expect("an update"));
}

/// How many rows have this value, by a scan of all or of the index.
fn count(tx: &Transaction<'_>, table: &Table, value: i64, by_index: bool) -> usize {
    let column = table.column("value").expect("value");
    if by_index {
        let key = [Value::Int(value)];
        return tx.scan_index(table, "by_value", KeyRange::prefix(&key)).expect("a scan").count();
    }
    let rows = tx.scan(table, KeyRange::all()).expect("a scan");
    rows.filter(|row| row.as_ref().is_ok_and(|row| row.int(column) == value)).count()
}

/// Whether it commits; what it does not is a conflict.
fn commits(tx: Transaction<'_>) -> bool {
    match tx.commit() {
        Ok(_) => true,
        Err(error) => {
            assert!(error.is_conflict(), "{error}");
            false
        }
    }
}

/// What there is in the end.
fn left(db: &Database, table: &Table) -> (Option<i64>, Option<i64>) {
    db.run(|tx| Ok::<_, Error>((get(tx, table, 1), get(tx, table, 2)))).expect("a read").0
}

/// Write cycles: both write both rows, the other way round.
#[test]
fn g0() {
    let (db, table) = open("g0");
    let [mut one, mut two] = sessions(&db);
    let (a, b) = (one.begin(), two.begin());
    set(&a, &table, 1, 11);
    set(&b, &table, 1, 12);
    set(&a, &table, 2, 21);
    let a = commits(a);
    set(&b, &table, 2, 22);
    let b = commits(b);
    let expected = match (a, b) {
        (_, true) => (Some(12), Some(22)),
        (true, false) => (Some(11), Some(21)),
        (false, false) => panic!("nobody commits"),
    };
    assert_eq!(left(&db, &table), expected);
}

/// Aborted reads: what was rolled back was never there.
#[test]
fn g1a() {
    let (db, table) = open("g1a");
    let [mut one, mut two] = sessions(&db);
    let (a, b) = (one.begin(), two.begin());
    set(&a, &table, 1, 101);
    assert_eq!((get(&b, &table, 1), count(&b, &table, 101, true)), (Some(10), 0));
    drop(a);
    assert_eq!((get(&b, &table, 1), count(&b, &table, 101, false)), (Some(10), 0));
    assert!(commits(b));
}

/// Intermediate reads: of what a transaction writes only the last counts.
#[test]
fn g1b() {
    let (db, table) = open("g1b");
    let [mut one, mut two] = sessions(&db);
    let (a, b) = (one.begin(), two.begin());
    set(&a, &table, 1, 101);
    assert_eq!(get(&b, &table, 1), Some(10));
    set(&a, &table, 1, 11);
    assert!(commits(a));
    let second = get(&b, &table, 1);
    assert!(second == Some(10) || second == Some(11), "{second:?}");
    assert!(!commits(b) || second == Some(10), "it has read two rows of one moment");
}

/// Circular information flow: each reads what the other writes.
#[test]
fn g1c() {
    let (db, table) = open("g1c");
    let [mut one, mut two] = sessions(&db);
    let (a, b) = (one.begin(), two.begin());
    set(&a, &table, 1, 11);
    set(&b, &table, 2, 22);
    assert_eq!((get(&a, &table, 2), get(&b, &table, 1)), (Some(20), Some(10)));
    assert!(!(commits(a) & commits(b)), "each is before the other");
}

/// Observed transaction vanishes: a reader sees all of a transaction, and goes on seeing it.
#[test]
fn otv() {
    let (db, table) = open("otv");
    let [mut one, mut two, mut three] = sessions(&db);
    let (a, b, c) = (one.begin(), two.begin(), three.begin());
    set(&a, &table, 1, 11);
    set(&a, &table, 2, 19);
    set(&b, &table, 1, 12);
    let a = commits(a);
    let first = get(&c, &table, 1);
    set(&b, &table, 2, 18);
    let b = commits(b);
    let second = get(&c, &table, 2);
    assert!(a || b);
    let is_whole = [(Some(10), Some(20)), (Some(11), Some(19)), (Some(12), Some(18))].contains(&(first, second));
    assert!(!commits(c) || is_whole, "it has seen {first:?} and {second:?}");
}

/// Predicate-many-preceders: who has looked for rows and found none cannot find some that were inserted since.
#[test]
fn pmp() {
    for by_index in [false, true] {
        let (db, table) = open("pmp");
        let [mut one, mut two] = sessions(&db);
        let (a, b) = (one.begin(), two.begin());
        let first = count(&a, &table, 30, by_index);
        b.insert(&table, &[Value::Int(3), Value::Int(30)]).expect("an insert");
        assert!(commits(b));
        let second = count(&a, &table, 30, by_index);
        assert!(!commits(a) || first == second, "{first} rows, and then {second}");
    }
}

/// The same where the second look is a write.
#[test]
fn pmp_of_a_write() {
    let (db, table) = open("pmp-write");
    let [mut one, mut two] = sessions(&db);
    let (a, b) = (one.begin(), two.begin());
    // All values become ten more; meanwhile the rows that have 20 go.
    for id in 1..=2 {
        let value = get(&a, &table, id).expect("a row");
        set(&a, &table, id, value + 10);
    }
    assert_eq!(count(&b, &table, 20, true), 1);
    assert!(b.delete(&table, &[Value::Int(2)]).expect("a delete"));
    let a = commits(a);
    let b = commits(b);
    assert!(a ^ b, "either all are raised, and none is deleted; or one is, and is not raised");
    assert_eq!(left(&db, &table), if a { (Some(20), Some(30)) } else { (Some(10), None) });
}

/// Lost update: both read, then both write.
#[test]
fn p4() {
    let (db, table) = open("p4");
    let [mut one, mut two] = sessions(&db);
    let (a, b) = (one.begin(), two.begin());
    let (read_a, read_b) = (get(&a, &table, 1).expect("a row"), get(&b, &table, 1).expect("a row"));
    set(&a, &table, 1, read_a + 1);
    set(&b, &table, 1, read_b + 1);
    let committed = usize::from(commits(a)) + usize::from(commits(b));
    assert_eq!(left(&db, &table).0, Some(10 + committed as i64), "no increment is lost");
    assert!(committed > 0);
}

/// Read skew: two rows of different moments.
#[test]
fn g_single() {
    let (db, table) = open("g-single");
    let [mut one, mut two] = sessions(&db);
    let (a, b) = (one.begin(), two.begin());
    assert_eq!(get(&a, &table, 1), Some(10));
    assert_eq!((get(&b, &table, 1), get(&b, &table, 2)), (Some(10), Some(20)));
    set(&b, &table, 1, 12);
    set(&b, &table, 2, 18);
    assert!(commits(b));
    let second = get(&a, &table, 2);
    assert!(!commits(a) || second == Some(20), "10 and {second:?}");
}

/// The same by predicates.
#[test]
fn g_single_of_predicates() {
    for by_index in [false, true] {
        let (db, table) = open("g-single-predicates");
        let [mut one, mut two] = sessions(&db);
        let (a, b) = (one.begin(), two.begin());
        assert_eq!(count(&a, &table, 10, by_index), 1);
        set(&b, &table, 1, 12);
        set(&b, &table, 2, 10);
        assert!(commits(b));
        let second = get(&a, &table, 2);
        assert!(!commits(a) || second == Some(20), "one row of 10, and {second:?}");
    }
}

/// Write skew: each reads both rows and writes one.
#[test]
fn g2_item() {
    let (db, table) = open("g2-item");
    let [mut one, mut two] = sessions(&db);
    let (a, b) = (one.begin(), two.begin());
    for tx in [&a, &b] {
        assert_eq!((get(tx, &table, 1), get(tx, &table, 2)), (Some(10), Some(20)));
    }
    set(&a, &table, 1, 11);
    set(&b, &table, 2, 21);
    assert!(commits(a) ^ commits(b));
}

/// Anti-dependency cycles by predicates: each finds no row and inserts one that the other looked for.
#[test]
fn g2() {
    for by_index in [false, true] {
        let (db, table) = open("g2");
        let [mut one, mut two] = sessions(&db);
        let (a, b) = (one.begin(), two.begin());
        assert_eq!(count(&a, &table, 30, by_index) + count(&b, &table, 30, by_index), 0);
        a.insert(&table, &[Value::Int(3), Value::Int(30)]).expect("an insert");
        b.insert(&table, &[Value::Int(4), Value::Int(30)]).expect("an insert");
        // Neither may: each has put a key where the other one looked.
        assert!(!(commits(a) & commits(b)), "each is before the other");
    }
}

/// A cycle of two anti-dependencies that a reader makes visible (Fekete, O'Neil, O'Neil 2004): the one that only reads sees
/// the second write and not the first. It reads what is current, or a snapshot.
#[test]
fn g2_with_a_reader() {
    for at_snapshot in [false, true] {
        let (db, table) = open("g2-reader");
        let [mut one, mut two, mut three] = sessions(&db);
        let (a, b) = (one.begin(), two.begin());
        // A takes what it must not if both rows together are below; B pays into row 2.
        let sum = get(&a, &table, 1).expect("a row") + get(&a, &table, 2).expect("a row");
        let before = get(&b, &table, 2).expect("a row");
        set(&b, &table, 2, before + 20);
        let b = commits(b);
        let options = osier::TransactionOptions { snapshot: at_snapshot, read_only: true, ..Default::default() };
        let c = three.begin_with(options);
        let seen = (get(&c, &table, 1), get(&c, &table, 2));
        let c = commits(c);
        set(&a, &table, 1, 10 - sum);
        let a = commits(a);
        assert!(b && c && seen == (Some(10), Some(40)));
        assert!(!a, "it has read row 2 before B, and C has read row 1 after B: there is no order of all three");
    }
}
