//! How long a transaction of many rows takes to commit, and what small commits of others wait for meanwhile.
//!
//! `cargo run --release -p osier --example large_transactions -- DIR [ROWS] [BYTES] [STREAMS]`
//!
//! One session overwrites single rows of 100 bytes and waits for each receipt. Beside it, another one does nothing, or inserts
//! ROWS rows of BYTES bytes: in transactions of a thousand rows, or in one. Then a row of 64 MB, and a recovery of all of it.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use osier::table::{Schema, Type, Value};
use osier::{Config, Database, Table, Transaction};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const SMALL_ROWS: i64 = 1000;
const ROWS_PER_PIECE: i64 = 1000;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("usage: large_transactions DIR [ROWS] [BYTES] [STREAMS]")?);
    let rows: i64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let bytes: usize = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let streams: u32 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let _ = std::fs::remove_dir_all(&dir);
    let db = Database::open(Config::new(&dir).streams(streams))?;
    let table = |name: &str| -> Outcome<Table> {
        let schema = Schema::builder(name).column("id", Type::Int64).column("data", Type::Bytes).primary_key(["id"]);
        Ok(db.create_table(schema.build()?)?)
    };
    let (small, pieces, whole) = (table("small")?, table("pieces")?, table("whole")?);

    println!("beside it                  | small commits |   p50 ms |   p99 ms | p99.9 ms |   max ms");
    beside(&db, &small, "nothing", || {
        thread::sleep(Duration::from_secs(4));
        Ok(())
    })?;
    let data = vec![7; bytes];
    beside(&db, &small, "in many transactions", || {
        let mut session = db.session()?;
        let begun = Instant::now();
        let mut last = None;
        for first in (0..rows).step_by(ROWS_PER_PIECE as usize) {
            let ids = first..(first + ROWS_PER_PIECE).min(rows);
            last = Some(session.run(|tx| insert(tx, &pieces, ids.clone(), &data))?.1);
        }
        last.map_or(Ok(()), |receipt| receipt.wait())?;
        println!("  {rows} rows of {bytes} bytes in pieces: durable after {:.2} s", begun.elapsed().as_secs_f64());
        Ok(())
    })?;
    beside(&db, &small, "in one transaction", || {
        let mut session = db.session()?;
        let tx = session.begin();
        let begun = Instant::now();
        insert(&tx, &whole, 0..rows, &data)?;
        let executed = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let receipt = tx.commit()?;
        let committed = begun.elapsed().as_secs_f64();
        receipt.wait()?;
        let durable = begun.elapsed().as_secs_f64();
        println!(
            "  in one: executed in {executed:.2} s, committed after {committed:.2} s more, durable after {durable:.2} s"
        );
        Ok(())
    })?;
    let row = vec![9; 64_000_000];
    let begun = Instant::now();
    db.run(|tx| insert(tx, &whole, rows..rows + 1, &row))?.1.wait()?;
    println!("a row of 64 MB: durable after {:.3} s", begun.elapsed().as_secs_f64());
    db.close()?;
    drop((small, pieces, whole, db));

    let begun = Instant::now();
    let db = Database::open(Config::new(&dir))?;
    println!("opened again after {:.2} s", begun.elapsed().as_secs_f64());
    if let Some(report) = db.recovery() {
        println!("{report}");
    }
    db.close()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

fn insert(tx: &Transaction<'_>, table: &Table, ids: std::ops::Range<i64>, data: &[u8]) -> Result<(), osier::Error> {
    ids.into_iter().try_for_each(|id| tx.insert(table, &[Value::Int(id), Value::Bytes(data)]))
}

/// Measures small commits for as long as `other` works.
fn beside(db: &Database, table: &Table, name: &str, other: impl FnOnce() -> Outcome<()> + Send) -> Outcome<()> {
    let (stop, waited) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    thread::scope(|scope| -> Outcome<()> {
        let small = scope.spawn(|| -> Outcome<()> {
            let (mut session, mut next, data) = (db.session()?, 0, [1; 100]);
            let mut times = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                next = (next * 7919 + 1) % SMALL_ROWS;
                let begun = Instant::now();
                session.run(|tx| tx.upsert(table, &[Value::Int(next), Value::Bytes(&data)]))?.1.wait()?;
                times.push(begun.elapsed());
            }
            *waited.lock().map_err(|_| "a thread panicked")? = times;
            Ok(())
        });
        let other = scope.spawn(other).join().map_err(|_| "a thread panicked");
        stop.store(true, Ordering::Relaxed);
        small.join().map_err(|_| "a thread panicked")??;
        other?
    })?;
    let mut waited = waited.into_inner()?;
    waited.sort();
    let at = |share: f64| waited[((waited.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let [p50, p99, p999, max] = [0.5, 0.99, 0.999, 1.0].map(at);
    println!("{name:26} | {:13} | {p50:8.3} | {p99:8.3} | {p999:8.3} | {max:8.3}", waited.len());
    Ok(())
}
