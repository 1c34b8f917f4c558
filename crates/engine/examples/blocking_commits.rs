//! How many durable commits per second blocking threads reach: each overwrites a row of 1 KB and waits for its receipt.
//!
//! `cargo run --release -p osier --example blocking_commits -- DIR [SECONDS] [STREAMS] [THREADS ...]`

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use osier::table::{Schema, Type, Value};
use osier::{Config, Database};

const ROWS: i64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("usage: blocking_commits DIR [SECONDS] [STREAMS] [THREADS ...]")?);
    let seconds: u64 = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let streams: u32 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let mut threads = arguments.map(|text| text.parse::<u32>()).collect::<Result<Vec<_>, _>>()?;
    if threads.is_empty() {
        threads = vec![1, 2, 8, 32];
    }
    for threads in threads {
        let _ = std::fs::remove_dir_all(&dir);
        measure(Database::open(Config::new(&dir).streams(streams))?, threads, Duration::from_secs(seconds))?;
    }
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

fn measure(db: Database, threads: u32, time: Duration) -> Result<(), Box<dyn Error>> {
    let schema = Schema::builder("t").column("id", Type::Int64).column("data", Type::Bytes).primary_key(["id"]);
    let table = db.create_table(schema.build()?)?;
    let before = db.metrics().log.total();
    let (stop, commits, waited_us) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let begun = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            let (db, table, stop, commits, waited_us) = (&db, &table, &stop, &commits, &waited_us);
            scope.spawn(move || -> Result<(), osier::Error> {
                let mut session = db.session()?;
                let row = vec![thread as u8; 1000];
                let mut next = i64::from(thread);
                while !stop.load(Ordering::Relaxed) {
                    next = (next * 7919 + 1) % ROWS;
                    let start = Instant::now();
                    let upsert = |tx: &osier::Transaction<'_>| -> Result<(), osier::Error> {
                        tx.upsert(table, &[Value::Int(next), Value::Bytes(&row)])
                    };
                    session.run(upsert)?.1.wait()?;
                    commits.fetch_add(1, Ordering::Relaxed);
                    waited_us.fetch_add(start.elapsed().as_micros() as u64, Ordering::Relaxed);
                }
                Ok(())
            });
        }
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
    });
    let seconds = begun.elapsed().as_secs_f64();
    let (commits, waited_us) = (commits.into_inner(), waited_us.into_inner());
    let log = db.metrics().log.total();
    let (batches, syncs) = (log.batches - before.batches, log.syncs - before.syncs);
    println!(
        "{threads} threads: {:.0} commits/s, {:.0} us each, {:.1} commits and {:.0} us per batch, {syncs} syncs, {} markers",
        commits as f64 / seconds,
        waited_us as f64 / commits as f64,
        commits as f64 / batches as f64,
        seconds * 1e6 / batches as f64,
        log.markers - before.markers,
    );
    db.close()?;
    Ok(())
}
