//! The transactions of TPC-C as procedures beside the same in Rust: what a declared procedure costs.
//!
//! One thread, one database without a log. For each transaction, a batch in Rust and one of calls take turns, and the order
//! within a pair changes from round to round, so that a disturbance of the machine or a table that grows hits both alike. The
//! table gives medians over the rounds and the median of the ratios within a round. Times are processor time of the thread,
//! from the request to the evidence: the making of arguments is a part of a call.
//!
//! Run with `cargo bench -p osier-bench --bench procedures -- [--rounds N] [--only KIND] [--side rust|calls]`; one side alone
//! is for a profiler. Without `--bench` (which cargo adds) it only shows that it works.
//!
//! Deliberately absent: a harness. Ratios within one run are the result, not the times.

use std::collections::VecDeque;

use osier::{Config, Database, Durability, Protocol};
use osier_bench::calls::{self, Issue};
use osier_bench::in_process::{InProcess, InProcessClient, InProcessTarget};
use osier_bench::tpcc::input::{KINDS, Request};
use osier_bench::tpcc::{Mix, Scale, Tpcc};
use osier_bench::{Client, Target, Workload};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Requests of a batch, of each kind: about as long for all of them.
const BATCHES: [usize; 5] = [200, 400, 800, 25, 100];
/// Rounds before those that count.
const WARM_UP: usize = 5;

struct Options {
    rounds: usize,
    only: Option<String>,
    side: Option<String>,
    is_bench: bool,
}

fn options() -> Options {
    let mut options = Options { rounds: 40, only: None, side: None, is_bench: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("an option has a value");
        match argument.as_str() {
            "--rounds" => options.rounds = value().parse().expect("a number of rounds"),
            "--only" => options.only = Some(value()),
            "--side" => options.side = Some(value()),
            "--bench" => options.is_bench = true,
            other => panic!("unknown option {other}"),
        }
    }
    if !options.is_bench {
        options.rounds = 2;
    }
    options
}

/// Processor time of this thread in nanoseconds.
fn processor_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Requests by kind, without end.
struct Supply<I> {
    requests: I,
    waiting: [VecDeque<Request>; KINDS.len()],
}

impl<I: Iterator<Item = Request>> Supply<I> {
    fn batch(&mut self, kind: usize, count: usize) -> Vec<Request> {
        while self.waiting[kind].len() < count {
            let request = self.requests.next().expect("requests have no end");
            self.waiting[request.kind()].push_back(request);
        }
        self.waiting[kind].drain(..count).collect()
    }
}

/// Nanoseconds for each request.
fn time(client: &mut InProcessClient<Tpcc>, requests: &[Request]) -> f64 {
    let start = processor_ns();
    for request in requests {
        std::hint::black_box(client.execute(request).expect("a transaction").evidence);
    }
    (processor_ns() - start) as f64 / requests.len() as f64
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let options = options();
    let scale = if options.is_bench { Scale::standard(2) } else { Scale { warehouses: 1, items: 200, customers: 60 } };
    let tpcc = Tpcc { scale, mix: Mix::Standard };
    let config = Config::new("no-directory-is-made-without-a-log").protocol(Protocol::None);
    let db = Database::open(config).expect("a database");
    let tables = tpcc.create(&db).expect("tables");
    tpcc.load(&db, &tables, 2, 7, &|_| ()).expect("rows");
    calls::create(&db, &tpcc.procedures()).expect("procedures");
    let target = |issue| {
        InProcessTarget::new(db.clone(), tpcc.clone(), Durability::Durable, 1).expect("a target").issuing(issue)
    };
    let mut rust = target(Issue::Rust).client(0).expect("a client");
    let mut calls = target(Issue::Calls { ad_hoc_percent: 0 }).client(1).expect("a client");
    let waiting = std::array::from_fn(|_| VecDeque::new());
    let mut supply = Supply { requests: tpcc.requests(0, 1, 1), waiting };

    println!("{:>14} {:>10} {:>10} {:>7}", "transaction", "Rust us", "call us", "ratio");
    for (kind, name) in KINDS.iter().enumerate() {
        if options.only.as_deref().is_some_and(|only| only != *name) {
            continue;
        }
        let count = if options.is_bench { BATCHES[kind] } else { 5 };
        let mut pairs = Vec::new();
        for round in 0..WARM_UP + options.rounds {
            let (first, second) = (supply.batch(kind, count), supply.batch(kind, count));
            let pair = match options.side.as_deref() {
                Some("rust") => (time(&mut rust, &first), time(&mut rust, &second)),
                Some("calls") => (time(&mut calls, &first), time(&mut calls, &second)),
                _ if round % 2 == 0 => (time(&mut rust, &first), time(&mut calls, &second)),
                _ => {
                    let called = time(&mut calls, &first);
                    (time(&mut rust, &second), called)
                }
            };
            pairs.push(pair);
        }
        let pairs = &pairs[WARM_UP..];
        let us = |of: fn(&(f64, f64)) -> f64| median(pairs.iter().map(of)) / 1000.0;
        let ratio = median(pairs.iter().map(|(rust, called)| called / rust));
        println!("{name:>14} {:>10.2} {:>10.2} {ratio:>7.3}", us(|pair| pair.0), us(|pair| pair.1));
    }
}
