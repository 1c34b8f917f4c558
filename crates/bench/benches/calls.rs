//! Calls of a procedure of two accesses, one after the other and interleaved, against the same by hand: processor time on one
//! thread, without a log. `cargo bench -p osier-bench --bench calls -- [ROWS] [SECONDS] [NAME]`; a name measures what contains
//! it.

use std::time::{Duration, Instant};

use osier::call::Call;
use osier::procedure::program::Program;
use osier::table::{Argument, ColumnId, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Session, Table, Transaction, TransactionOptions};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCH: usize = 256;

const PROGRAM: &str = "
procedure two(a bigint, b bigint) returns (seen bigint) {
    get rows (a) as first;
    update rows (b) as second set n = (second.n + first.n) % 1000;
    return first.n;
}
procedure chase(a bigint, rounds bigint, many bigint) returns (last bigint) {
    let at = a;
    for round = 1 to rounds {
        get rows (at) as row;
        set at = (row.n * 7919 + row.id * 31) % many;
    }
    update rows (at) as row set n = (row.n + 1) % 1000;
    return at;
}";

struct Bench {
    db: Database,
    table: Table,
    rows: i64,
    seconds: f64,
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<f64>().ok());
    let (rows, seconds) = (numbers.next().unwrap_or(2e6) as i64, numbers.next().unwrap_or(1.5));
    let db = Database::open(Config::new("unused").protocol(Protocol::None)).expect("a database");
    let schema = Schema::builder("rows").column("id", Type::Int64).column("n", Type::Int64).column("pad", Type::Text);
    let table = db.create_table(schema.primary_key(["id"]).build().expect("a schema")).expect("a table");
    let pad = "x".repeat(80);
    for from in (0..rows).step_by(10_000) {
        let fill = |tx: &Transaction<'_>| {
            let ids = from..(from + 10_000).min(rows);
            ids.into_iter()
                .try_for_each(|id| tx.insert(&table, &[Value::Int(id), Value::Int(id % 97), Value::Text(&pad)]))
        };
        db.run(fill).expect("rows");
    }
    for program in Program::parse_all(PROGRAM).expect("programs") {
        db.create_procedure(&program).expect("a procedure");
    }
    let bench = Bench { db, table, rows, seconds };
    for round in 0..4 {
        println!("round {round}, {rows} rows");
        bench.two();
        bench.chase();
    }
}

impl Bench {
    fn measure(&self, what: &str, mut batch: impl FnMut(&mut Session, &mut fastrand::Rng)) {
        let wanted =
            std::env::args().skip(1).find(|argument| argument.parse::<f64>().is_err() && argument != "--bench");
        if wanted.is_some_and(|name| !what.contains(&name)) {
            return;
        }
        let mut session = self.db.session().expect("a session");
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut calls, mut longest) = (0, Duration::ZERO);
        let begun = Instant::now();
        while begun.elapsed().as_secs_f64() < self.seconds {
            let before = Instant::now();
            batch(&mut session, &mut rng);
            longest = longest.max(before.elapsed());
            calls += BATCH;
        }
        let each = begun.elapsed() / calls as u32;
        println!("  {what:<28} {:>8.3} us a call", each.as_nanos() as f64 / 1000.0);
    }

    fn two(&self) {
        let (rows, table) = (self.rows, &self.table);
        let draw = move |rng: &mut fastrand::Rng| (rng.i64(0..rows), rng.i64(0..rows));
        self.measure("two, by hand", |session, rng| {
            for _ in 0..BATCH {
                let (a, b) = draw(rng);
                let body = |tx: &Transaction<'_>| {
                    tx.expect(table, [[Value::Int(a)], [Value::Int(b)]])?;
                    let n = tx.get(table, &[Value::Int(a)])?.map_or(0, |row| row.int(ColumnId(1)));
                    tx.update_with(table, &[Value::Int(b)], |row, changes| {
                        changes.set(ColumnId(1), Value::Int((row.int(ColumnId(1)) + n) % 1000));
                        Ok::<_, Error>(())
                    })?;
                    Ok::<_, Error>(n)
                };
                std::hint::black_box(session.run(body).expect("committed"));
            }
        });
        self.measure("two, called", |session, rng| {
            for _ in 0..BATCH {
                let (a, b) = draw(rng);
                std::hint::black_box(session.call("two", &[a.into(), b.into()]).expect("committed"));
            }
        });
        self.measure("two, interleaved", |session, rng| {
            let arguments: Vec<[Argument<'_>; 2]> =
                (0..BATCH).map(|_| draw(rng)).map(|(a, b)| [a.into(), b.into()]).collect();
            let calls: Vec<_> = arguments.iter().map(|arguments| Call { procedure: "two", arguments }).collect();
            for ended in session.call_all(TransactionOptions::default(), &calls) {
                std::hint::black_box(ended.expect("committed"));
            }
        });
    }

    fn chase(&self) {
        let rows = self.rows;
        let draw = move |rng: &mut fastrand::Rng| rng.i64(0..rows);
        self.measure("chase of 8, called", |session, rng| {
            for _ in 0..BATCH {
                let arguments = [draw(rng).into(), 8.into(), rows.into()];
                std::hint::black_box(session.call("chase", &arguments).expect("committed"));
            }
        });
        self.measure("chase of 8, interleaved", |session, rng| {
            let arguments: Vec<[Argument<'_>; 3]> =
                (0..BATCH).map(|_| [draw(rng).into(), 8.into(), rows.into()]).collect();
            let calls: Vec<_> = arguments.iter().map(|arguments| Call { procedure: "chase", arguments }).collect();
            for ended in session.call_all(TransactionOptions::default(), &calls) {
                std::hint::black_box(ended.expect("committed"));
            }
        });
    }
}
