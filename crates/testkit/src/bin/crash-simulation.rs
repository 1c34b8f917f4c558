//! Runs the crash simulation over a range of seeds, or repeats one with its trace (docs/testing.md).
//!
//! Invariant: the exit status is zero only where every seed passed; with `--mutation` it is zero only where one failed.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::{Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use osier::Protocol;
use osier::config::{CheckpointKind, ConcurrencyControlKind, Locking, Logged, RowReplayKind};
use osier_testkit::simulation::mutations::{CASES, Case, table};
use osier_testkit::simulation::{Choices, Failure, Profile, Summary, run};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Crashes a simulated database over and over and judges what it recovers.
#[derive(Parser)]
struct Options {
    /// How many seeds to run.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Runs this seed only.
    #[arg(long)]
    seed: Option<u64>,
    /// Prints everything that happens; needs --seed.
    #[arg(long, requires = "seed")]
    trace: bool,
    /// The log protocol; otherwise each seed draws one.
    #[arg(long)]
    protocol: Option<LogProtocol>,
    /// How transactions are isolated; otherwise each seed draws that.
    #[arg(long)]
    cc: Option<Control>,
    /// Who waits for whom where transactions lock; otherwise each seed draws that.
    #[arg(long)]
    locking: Option<Waits>,
    /// The number of log streams; otherwise each seed draws it.
    #[arg(long)]
    streams: Option<u32>,
    /// What calls of procedures log, or, where it is physiological, all transactions; otherwise each seed draws that.
    #[arg(long)]
    logged: Option<Payload>,
    /// The kind of checkpoints that are taken; otherwise each seed draws whether there are any.
    #[arg(long)]
    checkpoints: Option<Kind>,
    /// How recovery replays rows; otherwise each seed draws that, and faults have it as it ships.
    #[arg(long)]
    rows: Option<Rows>,
    /// What the seeds concentrate on; otherwise drawn.
    #[arg(long)]
    profile: Option<Profile>,
    /// Builds a fault into the engine, which the seeds must catch. Repeatable.
    #[arg(long)]
    mutation: Vec<String>,
    /// Catches every mutation and writes the table in docs/testing.md.
    #[arg(long)]
    mutations: bool,
    /// Threads, each with seeds of its own; 0 takes one per core.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogProtocol {
    None,
    Serial,
    Poplar,
    Gsn,
    Plover,
    Silo,
    Taurus,
}

#[derive(Clone, Copy, ValueEnum)]
enum Control {
    Optimistic,
    #[value(name = "2pl")]
    TwoPhaseLocking,
    #[value(name = "mvcc")]
    Multiversion,
}

#[derive(Clone, Copy, ValueEnum)]
enum Waits {
    NoWait,
    WaitDie,
    WoundWait,
    Detect,
}

#[derive(Clone, Copy, ValueEnum)]
enum Payload {
    Values,
    Commands,
    Adaptive,
    Physiological,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Epoch,
    Fuzzy,
}

#[derive(Clone, Copy, ValueEnum)]
enum Rows {
    Plr,
    Llr,
    LlrP,
}

impl Options {
    fn choices(&self) -> Choices {
        let protocol = self.protocol.map(|protocol| match protocol {
            LogProtocol::None => Protocol::None,
            LogProtocol::Serial => Protocol::Serial,
            LogProtocol::Poplar => Protocol::Poplar,
            LogProtocol::Gsn => Protocol::Gsn,
            LogProtocol::Plover => Protocol::Plover,
            LogProtocol::Silo => Protocol::Silo,
            LogProtocol::Taurus => Protocol::Taurus,
        });
        let named = |name: &String| CASES.iter().find(|case| case.name() == *name).map(|case| case.mutation);
        let mutations: Vec<_> = self.mutation.iter().filter_map(named).collect();
        let names = || CASES.iter().map(Case::name).collect::<Vec<_>>().join(", ");
        assert_eq!(mutations.len(), self.mutation.len(), "the mutations are {}", names());
        let checkpoints = self.checkpoints.map(|kind| match kind {
            Kind::Epoch => CheckpointKind::Epoch,
            Kind::Fuzzy => CheckpointKind::Fuzzy,
        });
        let logged = self.logged.map(|payload| match payload {
            Payload::Values => Logged::Values,
            Payload::Commands => Logged::Commands,
            Payload::Adaptive => Logged::Adaptive,
            Payload::Physiological => Logged::Physiological,
        });
        let control = self.cc.map(|control| match control {
            Control::Optimistic => ConcurrencyControlKind::Optimistic,
            Control::TwoPhaseLocking => ConcurrencyControlKind::TwoPhaseLocking,
            Control::Multiversion => ConcurrencyControlKind::Multiversion,
        });
        let locking = self.locking.map(|locking| match locking {
            Waits::NoWait => Locking::NoWait,
            Waits::WaitDie => Locking::WaitDie,
            Waits::WoundWait => Locking::WoundWait,
            Waits::Detect => Locking::Detect,
        });
        let rows = self.rows.map(|rows| match rows {
            Rows::Plr => RowReplayKind::Plr,
            Rows::Llr => RowReplayKind::Llr,
            Rows::LlrP => RowReplayKind::LlrP,
        });
        let (streams, profile) = (self.streams, self.profile);
        Choices { protocol, control, locking, streams, logged, checkpoints, rows, profile, mutations }
    }
}

/// What the threads have found so far.
#[derive(Default)]
struct Findings {
    total: Summary,
    failed: Vec<(u64, Failure)>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.mutations {
        return show_mutations(&options);
    }
    let choices = options.choices();
    if let Some(seed) = options.seed {
        return match run(seed, &choices, options.trace) {
            Ok(summary) => {
                println!("seed {seed} passed: {summary:?}");
                ExitCode::SUCCESS
            }
            Err(failure) => {
                println!("seed {seed} failed: {failure}");
                ExitCode::FAILURE
            }
        };
    }
    let begun = Instant::now();
    let findings = run_all(&options, &choices);
    report(&options, &findings, begun.elapsed().as_secs_f64());
    if findings.failed.is_empty() == choices.mutations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Catches all mutations and puts their table between its marks; of those that are named the rows are only shown.
fn show_mutations(options: &Options) -> ExitCode {
    const MARKS: [&str; 2] = ["<!-- mutations: begin -->\n", "<!-- mutations: end -->\n"];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/testing.md");
    let named: Vec<Case> = CASES.iter().filter(|case| options.mutation.contains(&case.name())).copied().collect();
    let (table, all) = table(if named.is_empty() { CASES } else { &named });
    print!("{table}");
    if !named.is_empty() {
        return if all { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let text = std::fs::read_to_string(path).expect("docs/testing.md can be read");
    let (before, rest) = text.split_once(MARKS[0]).expect("docs/testing.md has the first mark");
    let (_, after) = rest.split_once(MARKS[1]).expect("docs/testing.md has the second mark");
    std::fs::write(path, [before, MARKS[0], &table, MARKS[1], after].concat()).expect("docs/testing.md can be written");
    if all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_all(options: &Options, choices: &Choices) -> Findings {
    let jobs = match options.jobs {
        0 => std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        jobs => jobs,
    };
    let bar = ProgressBar::new(options.seeds);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} seeds, {per_sec}, {eta} left {msg}") {
        bar.set_style(style);
    }
    let (next, findings) = (AtomicU64::new(0), Mutex::new(Findings::default()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= options.seeds {
                        return;
                    }
                    let seed = options.first + number;
                    let result = run(seed, choices, false);
                    let mut findings = findings.lock().expect("no thread panics");
                    match result {
                        Ok(summary) => findings.total.add(&summary),
                        Err(failure) => {
                            bar.suspend(|| println!("seed {seed} failed: {}", first_line(&failure)));
                            findings.failed.push((seed, failure));
                        }
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let mut findings = findings.into_inner().expect("no thread panics");
    findings.failed.sort_by_key(|(seed, _)| *seed);
    findings
}

fn first_line(failure: &Failure) -> String {
    failure.to_string().lines().next().unwrap_or_default().to_owned()
}

fn report(options: &Options, findings: &Findings, seconds: f64) {
    let Summary { opens, failed_opens, finished, acknowledged, lost, checkpoints, compared, .. } = findings.total;
    let failed = findings.failed.len();
    println!("{} seeds in {seconds:.1} s, {failed} failed", options.seeds);
    println!(
        "{opens} opens, {failed_opens} more ended by a fault; {finished} transactions, {acknowledged} acknowledged,"
    );
    println!("{lost} legally lost; {checkpoints} checkpoints, {compared} of them compared with their epochs");
    println!("reached: {}", findings.total.coverage);
    if let Some((seed, _)) = findings.failed.first() {
        println!("repeat the first with --seed {seed} --trace");
    }
}
