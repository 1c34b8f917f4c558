//! What LSN vectors cost a transaction, for 1 to 64 streams, with each set of vector instructions that the processor has: Fig. 16
//! of Taurus, on the vectors of real runs. `cargo bench -p osier-bench --bench vectors -- [TRANSACTIONS]`.
//!
//! A run of two accesses over so many streams is logged, and its records are read back. Then, with one thread, the vectors of
//! these records are merged, compared and published as commits do it. Commits leave out what is durable already; here nothing
//! is, as in the paper, so that this is the most that vectors cost.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use osier::inspect::{Detail, dump};
use osier::table::{Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Receipt, Table, Transaction};
use osier_memory::{Isa, KeyHash, KeyStamps, Stamp};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const STREAMS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
const THREADS: usize = 2;
const ROWS: i64 = 10_000;
/// Of the table of vectors, as in the engine.
const SLOTS: usize = 1 << 15;
/// Turns over all vectors, of which the median counts.
const TURNS: usize = 9;

/// What one record depends on: an LSN for all streams, and greater ones of some.
#[derive(Debug)]
struct Vector {
    all: u64,
    above: Vec<(usize, u64)>,
}

fn main() {
    let transactions = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(100_000);
    let isas: Vec<Isa> = Isa::all().collect();
    let names: Vec<String> = isas.iter().map(|isa| format!("{} ns", isa.name())).collect();
    println!(
        "| streams | {} | scalar / {} | transaction ns | share | lanes named | bytes | of all lanes |",
        names.join(" | "),
        { isas[0].name() }
    );
    println!("{}|", "|---".repeat(isas.len() + 7));
    for streams in STREAMS {
        let home = std::env::temp_dir().join(format!("osier-vectors-{}", std::process::id()));
        let whole = run(&home, streams, transactions);
        let vectors = vectors(&home, streams);
        std::fs::remove_dir_all(&home).expect("removed");
        let costs: Vec<f64> = isas.iter().map(|isa| cost(&vectors, streams as usize, *isa)).collect();
        let (best, scalar) = (costs[0], costs[costs.len() - 1]);
        let shown: Vec<String> = costs.iter().map(|cost| format!("{cost:.1}")).collect();
        let mean = |of: fn(&Vector) -> usize| vectors.iter().map(of).sum::<usize>() as f64 / vectors.len() as f64;
        println!(
            "| {streams} | {} | {:.2} | {whole:.0} | {:.3} | {:.2} | {:.1} | {} |",
            shown.join(" | "),
            scalar / best,
            best / whole,
            mean(|vector| vector.above.len()),
            mean(encoded_bytes),
            8 * streams,
        );
    }
}

fn config(home: &Path, streams: u32) -> Config {
    let mut config = Config::new(home).protocol(Protocol::Taurus).streams(streams);
    config.transaction_log_bytes_max = 64 << 10;
    config.ring_bytes = 4 << 20;
    config.segment_bytes = 8 << 20;
    config
}

/// Runs transactions that read one row and change another, and returns how long a thread takes for one, in ns.
fn run(home: &Path, streams: u32, transactions: usize) -> f64 {
    let db = Database::open(config(home, streams)).expect("a database");
    let schema = Schema::builder("rows").column("id", Type::Int64).column("n", Type::Int64);
    let table = db.create_table(schema.primary_key(["id"]).build().expect("a schema")).expect("a table");
    let fill = |tx: &Transaction<'_>| (0..ROWS).try_for_each(|id| tx.insert(&table, &[Value::Int(id), Value::Int(0)]));
    db.run(fill).expect("rows").1.wait().expect("durable");
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, table) = (&db, &table);
            scope.spawn(move || work(db, table, (streams as usize).div_ceil(THREADS), transactions / THREADS, thread));
        }
    });
    let elapsed = begun.elapsed();
    db.close().expect("closed");
    elapsed.as_nanos() as f64 * THREADS as f64 / transactions as f64
}

/// The transactions of one thread, which go round its sessions, each of which logs to a stream of its own.
fn work(db: &Database, table: &Table, sessions: usize, transactions: usize, seed: usize) {
    let mut sessions: Vec<_> = (0..sessions).map(|_| db.session().expect("a session")).collect();
    let (n, mut rng) = (table.column("n").expect("a column"), fastrand::Rng::with_seed(seed as u64));
    let mut last: Option<Receipt> = None;
    for at in 0..transactions {
        let (from, to) = (rng.i64(0..ROWS), rng.i64(0..ROWS));
        let access = |tx: &Transaction<'_>| -> Result<(), Error> {
            let read = tx.get(table, &[Value::Int(from)])?.map_or(0, |row| row.int(n));
            tx.update(table, &[Value::Int(to)], &[(n, Value::Int(read + 1))]).map(drop)
        };
        let count = sessions.len();
        let (_, receipt) = sessions[at % count].run(access).expect("committed");
        last = Some(receipt);
    }
    last.as_ref().map(Receipt::wait).transpose().expect("durable");
}

/// The vectors in the log.
fn vectors(home: &Path, streams: u32) -> Vec<Vector> {
    let mut text = Vec::new();
    dump(&config(home, streams), Detail::Records, &mut text).expect("a log");
    let text = String::from_utf8(text).expect("text");
    let vectors = text.lines().filter_map(|line| {
        let (vector, _) = line.split_once("raw_dep ")?.1.split_once(", epoch")?;
        let mut words = vector.split(' ');
        let all = words.next()?.parse().ok()?;
        let above = words.map(|word| {
            let (stream, lsn) = word.trim_start_matches('[').split_once("]=").expect("a stream and its LSN");
            (stream.parse().expect("a stream"), lsn.parse().expect("an LSN"))
        });
        Some(Vector { all, above: above.collect() })
    });
    vectors.collect()
}

/// Merges, compares and publishes each vector in turn, and returns how long that takes for one, in ns: the median of some turns.
fn cost(vectors: &[Vector], streams: usize, isa: Isa) -> f64 {
    let table = KeyStamps::new(SLOTS, streams + 1);
    let mut lanes = vec![0; streams + 1];
    let mut turns: Vec<f64> = (0..TURNS)
        .map(|turn| {
            let mut rng = fastrand::Rng::with_seed(turn as u64);
            let begun = Instant::now();
            for vector in vectors {
                let key = |rng: &mut fastrand::Rng| KeyHash::of(&rng.i64(0..ROWS).to_be_bytes());
                let (read, written) = (key(&mut rng), key(&mut rng));
                lanes.fill(0);
                table.merge_into(read, &mut lanes, isa);
                table.merge_into(written, &mut lanes, isa);
                black_box(isa.above(&lanes[..streams], Stamp(vector.all)));
                table.raise(written, streams, Stamp(vector.all));
                vector.above.iter().for_each(|(stream, lsn)| table.raise(written, *stream, Stamp(*lsn)));
            }
            begun.elapsed().as_nanos() as f64 / vectors.len() as f64
        })
        .collect();
    turns.sort_by(f64::total_cmp);
    turns[TURNS / 2]
}

/// What a vector takes in the header of a record (docs/log-format.md).
fn encoded_bytes(vector: &Vector) -> usize {
    let varint = |number: u64| (64 - (number | 1).leading_zeros() as usize).div_ceil(7);
    varint(vector.all) + 1 + vector.above.iter().map(|(_, lsn)| 1 + varint(*lsn)).sum::<usize>()
}
