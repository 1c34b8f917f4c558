//! The anomalies of isolation by their names (Adya; the cases are those that Hermitage tries on other databases): under no
//! scheme do they commit. Two or three transactions of as many sessions, step by step in one thread; where a serial order is
//! impossible, one of them must have failed: at its commit, or at a step for which it would have to wait.
//!
//! Where two transactions meet on a lock for the first time, the one that asks fails here, by each of the three policies: it is
//! refused, or it may wait and nobody goes on.

mod support;

use std::time::Duration;

use osier::config::{ConcurrencyControlKind, Locking};
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Database, Error, Protocol, Session, Table, Transaction, TransactionError, TransactionOptions};

/// How transactions are isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Optimistic,
    TwoPhaseLocking(Locking),
    Multiversion,
}

const SCHEMES: [Scheme; 6] = [
    Scheme::Optimistic,
    Scheme::Multiversion,
    Scheme::TwoPhaseLocking(Locking::NoWait),
    Scheme::TwoPhaseLocking(Locking::WaitDie),
    Scheme::TwoPhaseLocking(Locking::WoundWait),
    Scheme::TwoPhaseLocking(Locking::Detect),
];

/// One database, and its table: rows 1 and 2 hold 10 and 20.
struct Stage {
    scheme: Scheme,
    db: Database,
    table: Table,
}

/// Runs a test under every scheme.
fn each(name: &str, test: impl Fn(&Stage)) {
    for scheme in SCHEMES {
        test(&Stage::open(name, scheme));
    }
}

impl Stage {
    fn open(name: &str, scheme: Scheme) -> Stage {
        let home = support::directory("anomalies", name);
        let config = support::config(&home, Protocol::Gsn, 2).lock_timeout(Duration::from_millis(2));
        let config = match scheme {
            Scheme::Optimistic => config,
            Scheme::Multiversion => config.concurrency_control(ConcurrencyControlKind::Multiversion),
            Scheme::TwoPhaseLocking(locking) => {
                config.concurrency_control(ConcurrencyControlKind::TwoPhaseLocking).locking(locking)
            }
        };
        let db = Database::open(config).expect("opened");
        let schema = Schema::builder("test").column("id", Type::Int64).column("value", Type::Int64);
        let schema = schema.primary_key(["id"]).index("by_value", ["value"]).build().expect("a schema");
        let table = db.create_table(schema).expect("a table");
        db.run(|tx| -> Result<(), Error> {
            [(1, 10), (2, 20)]
                .iter()
                .try_for_each(|(id, value)| tx.insert(&table, &[Value::Int(*id), Value::Int(*value)]))
        })
        .expect("rows");
        Stage { scheme, db, table }
    }

    fn sessions<const N: usize>(&self) -> [Session; N] {
        std::array::from_fn(|_| self.db.session().expect("a session"))
    }

    /// Whether nobody waits, and conflicts are met late.
    fn is_optimistic(&self) -> bool {
        matches!(self.scheme, Scheme::Optimistic | Scheme::Multiversion)
    }

    /// What becomes of one that reads on after another has changed what it read, and of the other.
    fn reader_and_writer(&self) -> (bool, bool) {
        match self.scheme {
            Scheme::Optimistic => (false, true),
            Scheme::TwoPhaseLocking(_) => (true, false),
            // It reads what there was.
            Scheme::Multiversion => (true, true),
        }
    }

    fn begin<'s>(&'s self, session: &'s mut Session) -> Actor<'s> {
        self.begin_with(session, TransactionOptions::default())
    }

    fn begin_with<'s>(&'s self, session: &'s mut Session, options: TransactionOptions) -> Actor<'s> {
        Actor { stage: self, tx: Some(session.begin_with(options)) }
    }

    /// What there is in the end.
    fn left(&self) -> (Option<i64>, Option<i64>) {
        self.db.run(|tx| Ok::<_, Error>((get(tx, &self.table, 1)?, get(tx, &self.table, 2)?))).expect("a read").0
    }
}

fn get(tx: &Transaction<'_>, table: &Table, id: i64) -> Result<Option<i64>, Error> {
    let value = table.column("value")?;
    Ok(tx.get(table, &[Value::Int(id)])?.map(|row| row.int(value)))
}

/// Runs one transaction. A step that fails ends it at once, and it does not commit; its steps from then on do nothing, and
/// return `None`.
struct Actor<'s> {
    stage: &'s Stage,
    tx: Option<Transaction<'s>>,
}

impl Actor<'_> {
    fn step<T>(&mut self, step: impl FnOnce(&Transaction<'_>, &Table) -> Result<T, Error>) -> Option<T> {
        let result = step(self.tx.as_ref()?, &self.stage.table);
        result.inspect_err(|error| self.fail(error)).ok()
    }

    fn fail(&mut self, error: &Error) {
        let has_timed_out = matches!(error, Error::Transaction(TransactionError::LockTimeout { .. }));
        let may = match self.stage.scheme {
            Scheme::Optimistic => false,
            Scheme::TwoPhaseLocking(Locking::NoWait) | Scheme::Multiversion => error.is_conflict(),
            Scheme::TwoPhaseLocking(_) => error.is_conflict() || has_timed_out,
        };
        assert!(may, "{:?}: {error}", self.stage.scheme);
        self.tx = None;
    }

    /// The value of a row, where there is one.
    fn get(&mut self, id: i64) -> Option<Option<i64>> {
        self.step(|tx, table| get(tx, table, id))
    }

    fn set(&mut self, id: i64, value: i64) {
        self.step(|tx, table| {
            let column = table.column("value")?;
            assert!(tx.update(table, &[Value::Int(id)], &[(column, Value::Int(value))])?);
            Ok(())
        });
    }

    fn insert(&mut self, id: i64, value: i64) {
        self.step(|tx, table| tx.insert(table, &[Value::Int(id), Value::Int(value)]));
    }

    fn delete(&mut self, id: i64) {
        self.step(|tx, table| tx.delete(table, &[Value::Int(id)]).map(|is_gone| assert!(is_gone)));
    }

    /// How many rows have this value, by a scan of all or of the index.
    fn count(&mut self, value: i64, by_index: bool) -> Option<usize> {
        self.step(|tx, table| {
            let column = table.column("value")?;
            let key = [Value::Int(value)];
            let rows = match by_index {
                true => tx.scan_index(table, "by_value", KeyRange::prefix(&key))?,
                false => tx.scan(table, KeyRange::all())?,
            };
            let values = rows.map(|row| row.map(|row| row.int(column))).collect::<Result<Vec<_>, _>>()?;
            Ok(values.into_iter().filter(|found| *found == value).count())
        })
    }

    /// Whether it commits.
    fn commits(self) -> bool {
        let Some(tx) = self.tx else { return false };
        match tx.commit() {
            Ok(_) => true,
            Err(error) => {
                assert!(error.is_conflict(), "{error}");
                false
            }
        }
    }
}

/// Write cycles: both write both rows, the other way round.
#[test]
fn g0() {
    each("g0", |stage| {
        let [mut one, mut two] = stage.sessions();
        let (mut a, mut b) = (stage.begin(&mut one), stage.begin(&mut two));
        a.set(1, 11);
        b.set(1, 12);
        a.set(2, 21);
        let a = a.commits();
        b.set(2, 22);
        let b = b.commits();
        let expected = match (a, b) {
            (_, true) => (Some(12), Some(22)),
            (true, false) => (Some(11), Some(21)),
            (false, false) => panic!("nobody commits"),
        };
        assert_eq!(stage.left(), expected);
    });
}

/// Aborted reads: what was rolled back was never there.
#[test]
fn g1a() {
    each("g1a", |stage| {
        let [mut one, mut two, mut three] = stage.sessions();
        let (mut a, mut b, mut c) = (stage.begin(&mut one), stage.begin(&mut two), stage.begin(&mut three));
        a.set(1, 101);
        let (value, count) = (b.get(1), c.count(101, true));
        let expected = if stage.is_optimistic() { (Some(Some(10)), Some(0)) } else { (None, None) };
        assert_eq!((value, count), expected, "{:?}: what is not committed is not read", stage.scheme);
        drop(a);

        let later = (b.get(1), c.count(101, false));
        assert_eq!(later, expected);
        assert_eq!((b.commits(), c.commits()), (stage.is_optimistic(), stage.is_optimistic()));
        let mut d = stage.begin(&mut one);
        assert_eq!((d.get(1), d.count(101, true), d.count(101, false)), (Some(Some(10)), Some(0), Some(0)));
        assert!(d.commits());
    });
}

/// Intermediate reads: of what a transaction writes only the last counts.
#[test]
fn g1b() {
    each("g1b", |stage| {
        let [mut one, mut two] = stage.sessions();
        let (mut a, mut b) = (stage.begin(&mut one), stage.begin(&mut two));
        a.set(1, 101);
        let first = b.get(1);
        assert_eq!(first, stage.is_optimistic().then_some(Some(10)), "{:?}", stage.scheme);
        a.set(1, 11);
        assert!(a.commits());
        let second = b.get(1);
        assert!([None, Some(Some(10)), Some(Some(11))].contains(&second), "{second:?}");
        assert!(!b.commits() || second == first, "it has read two rows of one moment");
        assert_eq!(stage.left().0, Some(11));
    });
}

/// Circular information flow: each reads what the other writes.
#[test]
fn g1c() {
    each("g1c", |stage| {
        let [mut one, mut two] = stage.sessions();
        let (mut a, mut b) = (stage.begin(&mut one), stage.begin(&mut two));
        a.set(1, 11);
        b.set(2, 22);
        let (seen_by_a, seen_by_b) = (a.get(2), b.get(1));
        assert!(seen_by_a.is_none_or(|seen| seen == Some(20)) && seen_by_b == Some(Some(10)));
        assert!(a.commits() ^ b.commits(), "each is before the other");
    });
}

/// Observed transaction vanishes: a reader sees all of a transaction, and goes on seeing it.
#[test]
fn otv() {
    each("otv", |stage| {
        let [mut one, mut two, mut three] = stage.sessions();
        let (mut a, mut b, mut c) = (stage.begin(&mut one), stage.begin(&mut two), stage.begin(&mut three));
        a.set(1, 11);
        a.set(2, 19);
        b.set(1, 12);
        let a = a.commits();
        let first = c.get(1).flatten();
        b.set(2, 18);
        let b = b.commits();
        let second = c.get(2).flatten();
        assert!(a && !b, "{:?}", stage.scheme);
        assert_eq!((first, second), (Some(11), Some(19)), "{:?}: it sees all of one transaction", stage.scheme);
        assert!(c.commits());
    });
}

/// Predicate-many-preceders: who has looked for rows and found none cannot find some that were inserted since.
#[test]
fn pmp() {
    for by_index in [false, true] {
        each("pmp", |stage| {
            let [mut one, mut two] = stage.sessions();
            let (mut a, mut b) = (stage.begin(&mut one), stage.begin(&mut two));
            let first = a.count(30, by_index);
            assert_eq!(first, Some(0));
            b.insert(3, 30);
            let b = b.commits();
            let second = a.count(30, by_index);
            let a = a.commits();
            assert!(!a || first == second, "{first:?} rows, and then {second:?}");
            assert_eq!((a, b), stage.reader_and_writer(), "{:?}", stage.scheme);
        });
    }
}

/// The same where the second look is a write.
#[test]
fn pmp_of_a_write() {
    each("pmp-write", |stage| {
        let [mut one, mut two] = stage.sessions();
        let (mut a, mut b) = (stage.begin(&mut one), stage.begin(&mut two));
        // All values become ten more; meanwhile the rows that have 20 go.
        for id in 1..=2 {
            let value = a.get(id).flatten().expect("a row");
            a.set(id, value + 10);
        }
        let found = b.count(20, true);
        assert_eq!(found, stage.is_optimistic().then_some(1), "{:?}", stage.scheme);
        b.delete(2);
        let a = a.commits();
        let b = b.commits();
        assert!(a ^ b, "either all are raised, and none is deleted; or one is, and is not raised");
        assert_eq!(stage.left(), if a { (Some(20), Some(30)) } else { (Some(10), None) });
    });
}

/// Lost update: both read, then both write.
#[test]
fn p4() {
    each("p4", |stage| {
        let [mut one, mut two] = stage.sessions();
        let (mut a, mut b) = (stage.begin(&mut one), stage.begin(&mut two));
        let (read_a, read_b) = (a.get(1).flatten().expect("a row"), b.get(1).flatten().expect("a row"));
        a.set(1, read_a + 1);
        b.set(1, read_b + 1);
        let (a, b) = (a.commits(), b.commits());
        let committed = i64::from(a) + i64::from(b);
        assert_eq!(stage.left().0, Some(10 + committed), "no increment is lost");
        assert_eq!(committed, 1, "{:?}", stage.scheme);
    });
}

/// Read skew: two rows of different moments.
#[test]
fn g_single() {
    each("g-single", |stage| {
        let [mut one, mut two] = stage.sessions();
        let (mut a, mut b) = (stage.begin(&mut one), stage.begin(&mut two));
        assert_eq!(a.get(1), Some(Some(10)));
        assert_eq!((b.get(1), b.get(2)), (Some(Some(10)), Some(Some(20))));
        b.set(1, 12);
        b.set(2, 18);
        let b = b.commits();
        let second = a.get(2);
        let a = a.commits();
        assert!(!a || second == Some(Some(20)), "10 and {second:?}");
        assert_eq!((a, b), stage.reader_and_writer(), "{:?}", stage.scheme);
    });
}

/// The same by predicates.
#[test]
fn g_single_of_predicates() {
    for by_index in [false, true] {
        each("g-single-predicates", |stage| {
            let [mut one, mut two] = stage.sessions();
            let (mut a, mut b) = (stage.begin(&mut one), stage.begin(&mut two));
            assert_eq!(a.count(10, by_index), Some(1));
            b.set(1, 12);
            b.set(2, 10);
            let b = b.commits();
            let second = a.get(2);
            let a = a.commits();
            assert!(!a || second == Some(Some(20)), "one row of 10, and {second:?}");
            assert_eq!((a, b), stage.reader_and_writer(), "{:?}", stage.scheme);
        });
    }
}

/// Write skew: each reads both rows and writes one.
#[test]
fn g2_item() {
    each("g2-item", |stage| {
        let [mut one, mut two] = stage.sessions();
        let (mut a, mut b) = (stage.begin(&mut one), stage.begin(&mut two));
        for actor in [&mut a, &mut b] {
            assert_eq!((actor.get(1), actor.get(2)), (Some(Some(10)), Some(Some(20))));
        }
        a.set(1, 11);
        b.set(2, 21);
        assert!(a.commits() ^ b.commits(), "{:?}", stage.scheme);
    });
}

/// Anti-dependency cycles by predicates: each finds no row and inserts one that the other looked for.
#[test]
fn g2() {
    for by_index in [false, true] {
        each("g2", |stage| {
            let [mut one, mut two] = stage.sessions();
            let (mut a, mut b) = (stage.begin(&mut one), stage.begin(&mut two));
            assert_eq!((a.count(30, by_index), b.count(30, by_index)), (Some(0), Some(0)));
            a.insert(3, 30);
            b.insert(4, 30);
            let (a, b) = (a.commits(), b.commits());
            assert!(!(a && b), "each is before the other");
            // Where nobody waits neither may: each has put a key where the other one looked.
            assert_eq!((a, b), (false, !stage.is_optimistic()), "{:?}", stage.scheme);
        });
    }
}

/// A cycle of two anti-dependencies that a reader makes visible (Fekete, O'Neil, O'Neil 2004): the one that only reads sees
/// the second write and not the first. It reads what is current, or a snapshot.
#[test]
fn g2_with_a_reader() {
    for at_snapshot in [false, true] {
        each("g2-reader", |stage| {
            let [mut one, mut two, mut three] = stage.sessions();
            let (mut a, mut b) = (stage.begin(&mut one), stage.begin(&mut two));
            // A takes what it must not if both rows together are below; B pays into row 2.
            let sum = a.get(1).flatten().expect("a row") + a.get(2).flatten().expect("a row");
            let before = b.get(2).flatten().expect("a row");
            b.set(2, before + 20);
            let b = b.commits();
            let options = TransactionOptions { snapshot: at_snapshot, read_only: true, ..Default::default() };
            let mut c = stage.begin_with(&mut three, options);
            let seen = (c.get(1).flatten(), c.get(2).flatten());
            let c = c.commits();
            a.set(1, 10 - sum);
            let a = a.commits();
            let is_between = seen == (Some(10), Some(40));
            assert!(
                !(a && b && c && is_between),
                "A has read row 2 before B, and C has read row 1 after B: there is no order of all three"
            );
            let expected = if stage.is_optimistic() { (false, true, true, true) } else { (true, false, true, false) };
            assert_eq!((a, b, c, is_between), expected, "{:?}", stage.scheme);
        });
    }
}
