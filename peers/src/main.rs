//! Runs YCSB on Osier or on one of its peers: what `scripts/bench-compare` calls.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use osier_bench::driver::Length;
use osier_bench::error::BenchError;
use osier_bench::report::Report;
use osier_peers::comparison::{self, Plan};
use osier_peers::osier::Osier;
#[allow(unused_imports, reason = "which peers there are depends on the features")]
use osier_peers::{store::Peer, stores};

/// The allocator of the binary `osier`. Peers in C and C++ use that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures Osier or a peer: load, run with each number of threads, read back what was written.
#[derive(Debug, Parser)]
#[command(name = "osier-peers")]
struct Arguments {
    /// Who executes the transactions
    #[arg(value_enum)]
    subject: Name,
    /// The transactions
    #[arg(long, value_enum, default_value = "overwrite")]
    workload: Transactions,
    /// A new directory for the database, or that of the server with its socket
    #[arg(long)]
    dir: PathBuf,
    /// Rows
    #[arg(long, default_value = "100000")]
    records: NonZeroU64,
    /// Threads that execute transactions; a run for each number
    #[arg(long, value_delimiter = ',', default_value = "1,32")]
    workers: Vec<NonZeroU32>,
    /// Measure each run for so many seconds
    #[arg(long, value_parser = seconds, default_value = "1.5")]
    seconds: Duration,
    /// Run so many seconds before measuring
    #[arg(long, value_parser = seconds, default_value = "0.5")]
    warmup: Duration,
    /// Keep receipts outstanding instead of waiting for each commit; only Osier can
    #[arg(long)]
    pipelined: bool,
    /// Draw other requests
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Where to write the reports as JSON; `-` is the standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    json: PathBuf,
}

/// Osier and the peers that are built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    Osier,
    #[cfg(feature = "rocksdb")]
    Rocksdb,
    #[cfg(feature = "fjall")]
    Fjall,
    #[cfg(feature = "redb")]
    Redb,
    #[cfg(feature = "lmdb")]
    Lmdb,
    #[cfg(feature = "sqlite")]
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
    #[cfg(feature = "redis")]
    Redis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transactions {
    /// Overwrite one row of 1 KB
    Overwrite,
    /// Read or overwrite one row of 100 bytes
    Access,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn run(arguments: &Arguments) -> Result<Vec<Report>, BenchError> {
    let plan = Plan {
        workload: match arguments.workload {
            Transactions::Overwrite => comparison::overwrite(arguments.records.get()),
            Transactions::Access => comparison::access(arguments.records.get()),
        },
        workers: arguments.workers.iter().map(|workers| workers.get()).collect(),
        length: Length::Time(arguments.seconds),
        warmup: arguments.warmup,
        is_pipelined: arguments.pipelined,
        seed: arguments.seed,
    };
    if plan.is_pipelined && arguments.subject != Name::Osier {
        return Err(BenchError::Usage("peers are durable when a commit returns: leave out --pipelined".to_owned()));
    }
    run_on(arguments.subject, &arguments.dir, &plan)
}

fn run_on(name: Name, dir: &Path, plan: &Plan) -> Result<Vec<Report>, BenchError> {
    match name {
        Name::Osier => comparison::run::<Osier>("osier", dir, plan),
        #[cfg(feature = "rocksdb")]
        Name::Rocksdb => comparison::run::<Peer<stores::rocksdb::RocksDb>>("rocksdb", dir, plan),
        #[cfg(feature = "fjall")]
        Name::Fjall => comparison::run::<Peer<stores::fjall::Fjall>>("fjall", dir, plan),
        #[cfg(feature = "redb")]
        Name::Redb => comparison::run::<Peer<stores::redb::Redb>>("redb", dir, plan),
        #[cfg(feature = "lmdb")]
        Name::Lmdb => comparison::run::<Peer<stores::lmdb::Lmdb>>("lmdb", dir, plan),
        #[cfg(feature = "sqlite")]
        Name::Sqlite => comparison::run::<Peer<stores::sqlite::Sqlite>>("sqlite", dir, plan),
        #[cfg(feature = "postgres")]
        Name::Postgres => comparison::run::<Peer<stores::postgres::Postgres>>("postgres", dir, plan),
        #[cfg(feature = "redis")]
        Name::Redis => comparison::run::<Peer<stores::redis::Redis>>("redis", dir, plan),
    }
}

fn write(path: &Path, reports: &[Report]) -> Result<(), BenchError> {
    let json = serde_json::to_string_pretty(reports).expect("a report has string keys and finite numbers");
    if path == Path::new("-") {
        println!("{json}");
        return Ok(());
    }
    let failed = |source| BenchError::Io { action: "write", path: path.to_owned(), source };
    std::fs::write(path, json + "\n").map_err(failed)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments).and_then(|reports| write(&arguments.json, &reports)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
