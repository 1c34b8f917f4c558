//! What the commands do.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitCode};
use std::time::Duration;

use osier::call::Procedures;
use osier::config::Logged;
use osier::ids::Stamp;
use osier::inspect::{self, Detail};
use osier::{Config, Create};
use osier_bench::crash::{self, CrashPlan};
use osier_bench::driver::Length;
use osier_bench::error::BenchError;
use osier_bench::experiment::{self, Experiment, headline};
use osier_bench::fixture::WorkloadConfig;
use osier_bench::random::any_seed;
use osier_bench::report::Report;
use osier_bench::run_directories::RunDirectories;
use serde::Serialize;

use crate::cli::OutputArgs;
use crate::cli::{
    self, Bench, BenchCommand, Cli, Command, Crash, CrashCommand, DetailArg, DumpArgs, EngineArgs, LogCommand,
    ReplayArgs, RunArgs,
};
use crate::exit::{DAMAGED, UNSOUND};
use crate::{client, exports, operate, procedures, serve};

const SECONDS: Duration = Duration::from_secs(10);
const SEED: u64 = 1;

/// Runs a command.
pub fn run(cli: Cli) -> Result<ExitCode, BenchError> {
    let home = cli.command.home().map(Path::to_owned);
    let done = execute(cli.command);
    done.map_err(|error| match home {
        Some(home) => operate::name_backup(error, &home),
        None => error,
    })
}

fn execute(command: Command) -> Result<ExitCode, BenchError> {
    match command {
        Command::Bench(BenchCommand::Ycsb(args)) => bench(&args, args.workload.workload(false)?),
        Command::Bench(BenchCommand::Tpcc(args)) => bench(&args, args.workload.workload()),
        Command::Bench(BenchCommand::Smallbank(args)) => bench(&args, args.workload.workload(false)?),
        Command::Bench(BenchCommand::Voter(args)) => bench(&args, args.workload.workload(false)),
        Command::Bench(BenchCommand::Bank(args)) => bench(&args, args.workload.workload(false)),
        Command::Crash(CrashCommand::Ycsb(args)) => crash(&args, args.workload.workload(true)?),
        Command::Crash(CrashCommand::Tpcc(args)) => crash(&args, args.workload.workload()),
        Command::Crash(CrashCommand::Smallbank(args)) => crash(&args, args.workload.workload(true)?),
        Command::Crash(CrashCommand::Voter(args)) => crash(&args, args.workload.workload(true)),
        Command::Crash(CrashCommand::Bank(args)) => crash(&args, args.workload.workload(true)),
        Command::Serve(args) => serve::run(&args),
        Command::Status(args) => operate::status(&args),
        Command::Checkpoint(args) => operate::checkpoint(&args),
        Command::Backup(args) => operate::backup(&args),
        Command::Restore(args) => operate::restore(&args),
        Command::Salvage(args) => operate::salvage(&args),
        Command::Export(args) => exports::export(&args),
        Command::Import(args) => match &args.file {
            Some(file) => client::import(&args, file),
            None => exports::import(&args),
        },
        Command::Dump(args) => client::dump(&args),
        Command::Shell(args) => client::shell(&args),
        Command::Recover(args) => operate::recover(&args),
        Command::Procedure(command) => procedures::run(&command),
        Command::Log(LogCommand::Dump(args)) => dump(&args),
        Command::Log(LogCommand::Verify(args)) => verify(&args.dirs),
        Command::Log(LogCommand::Replay(args)) => replay(&args),
        Command::CrashWorker { experiment } => crash::work(&experiment).map(|()| ExitCode::SUCCESS),
    }
}

fn bench<W: clap::Args>(args: &Bench<W>, workload: WorkloadConfig) -> Result<ExitCode, BenchError> {
    let length = match (args.seconds, args.transactions) {
        (_, Some(transactions)) => Length::Transactions(transactions.get()),
        (seconds, None) => Length::Time(seconds.unwrap_or(SECONDS)),
    };
    let run = args.run.config(&workload, length, args.warmup, SEED);
    let out = &mut *args.output.text();
    let directories = run_directories(&args.engine, "bench", out)?;
    warn_of_rows(&args.engine, &args.run)?;
    let engine = args.engine.options(directories.dirs());
    let report = experiment::run(&Experiment {
        workload,
        engine,
        run,
        issue: args.run.issue(),
        snapshot_scans: args.snapshot_scans,
    })?;
    say(out, &headline(&report))?;
    say(out, report.to_string().trim_end())?;
    args.output.write(&report)?;
    Ok(exit_code(&report))
}

fn crash<W: clap::Args>(args: &Crash<W>, workload: WorkloadConfig) -> Result<ExitCode, BenchError> {
    let needs = |what: &str| Err(BenchError::Usage(format!("a crash test needs {what}")));
    if args.engine.options(&[]).settings.get("protocol").is_some_and(|protocol| protocol == "none") {
        return needs("a log: choose another protocol than none");
    }
    if args.engine.durability == cli::DurabilityArg::Relaxed {
        return needs("durable commits: leave out --durability relaxed");
    }
    if args.seconds.is_zero() {
        return needs("time to commit something: choose --seconds above 0");
    }
    let run = args.run.config(&workload, Length::Time(args.seconds), Duration::ZERO, any_seed());
    let out = &mut *args.output.text();
    let mut directories = run_directories(&args.engine, "crash", out)?;
    warn_of_rows(&args.engine, &args.run)?;
    let engine = args.engine.options(directories.dirs());
    let experiment = Experiment { workload, engine, run, issue: args.run.issue(), snapshot_scans: 0 };
    let plan = CrashPlan { experiment, rounds: args.rounds.get() };
    let program = std::env::current_exe().map_err(|source| BenchError::Io {
        action: "find the program to start again",
        path: PathBuf::from("osier"),
        source,
    })?;
    let worker = |argument: &str| {
        let mut process = Process::new(&program);
        process.arg("crash-worker").arg(argument);
        process
    };
    let result = crash::run(&plan, &worker, out);
    // What went wrong is to be looked at.
    if directories.is_temporary() && !result.as_ref().is_ok_and(Report::is_sound) {
        directories.keep();
        eprintln!("the database is left in {}", directories.home().display());
    }
    let report = result?;
    say(out, report.to_string().trim_end())?;
    args.output.write(&report)?;
    Ok(exit_code(&report))
}

fn dump(args: &DumpArgs) -> Result<ExitCode, BenchError> {
    let detail = match args.detail {
        DetailArg::Segments => Detail::Segments,
        DetailArg::Batches => Detail::Batches,
        DetailArg::Records => Detail::Records,
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let damages = inspect::dump(&directories(&args.dirs.dirs), detail, &mut out).map_err(osier::Error::from)?;
    out.flush().map_err(cannot_write(Path::new("standard output")))?;
    if damages == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "error: {damages} {} damaged, marked with `!`; osier salvage saves what is sound",
        if damages == 1 { "place is" } else { "places are" }
    );
    Ok(ExitCode::from(DAMAGED))
}

/// Prints what a transaction does when it is run again; the status says whether that is what it did.
fn replay(args: &ReplayArgs) -> Result<ExitCode, BenchError> {
    let shown = inspect::replay(&directories(&args.dirs.dirs), Procedures::new(), Stamp(args.to), args.trace)?;
    for transaction in &shown {
        say(&mut std::io::stdout(), &transaction.to_string())?;
    }
    if shown.iter().all(|transaction| transaction.is_same) {
        return Ok(ExitCode::SUCCESS);
    }
    // As of a recovery that comes to it.
    eprintln!("error: transaction {} does something else when it is run again", args.to);
    Ok(ExitCode::from(DAMAGED))
}

fn verify(dirs: &[PathBuf]) -> Result<ExitCode, BenchError> {
    let report = inspect::verify(&directories(dirs)).map_err(osier::Error::from)?;
    say(&mut std::io::stdout(), &report.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// The configuration of whoever only reads.
pub fn directories(dirs: &[PathBuf]) -> Config {
    Config::new("").dirs(dirs).create(Create::Never)
}

/// Where the run keeps its database, said to the user where it was not the user's choice.
fn run_directories(args: &EngineArgs, what: &str, out: &mut dyn Write) -> Result<RunDirectories, BenchError> {
    // What cannot be opened is refused before anything is created.
    args.options(&[PathBuf::from(".")]).config(Create::IfMissing)?;
    let mut directories = RunDirectories::new(&args.dirs, what)?;
    if directories.is_temporary() {
        let fate = if args.keep { "kept" } else { "removed at the end" };
        say(out, &format!("database in {}, {fate}", directories.home().display()))?;
    }
    if args.keep {
        directories.keep();
    }
    Ok(directories)
}

/// Says that a log of commands gets rows, where no transaction is a call.
fn warn_of_rows(engine: &EngineArgs, run: &RunArgs) -> Result<(), BenchError> {
    let config = engine.options(&[PathBuf::from(".")]).config(Create::IfMissing)?;
    if config.logged == Logged::Commands && !run.procedures {
        eprintln!(
            "warning: the log gets rows and no commands: no transaction is a call of a procedure; add --procedures"
        );
    }
    Ok(())
}

fn exit_code(report: &Report) -> ExitCode {
    if report.is_sound() { ExitCode::SUCCESS } else { ExitCode::from(UNSOUND) }
}

/// Prints a line.
pub fn say(out: &mut dyn Write, text: &str) -> Result<(), BenchError> {
    writeln!(out, "{text}").map_err(cannot_write(Path::new("standard output")))
}

fn cannot_write(path: &Path) -> impl FnOnce(std::io::Error) -> BenchError {
    let path = path.to_owned();
    move |source| BenchError::Io { action: "write", path, source }
}

impl OutputArgs {
    /// Where text for people goes: not where the JSON goes.
    pub fn text(&self) -> Box<dyn Write> {
        if self.is_standard_output() { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout()) }
    }

    pub fn is_standard_output(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// Writes figures as JSON, if that is asked for.
    pub fn write(&self, figures: &impl Serialize) -> Result<(), BenchError> {
        let json = || serde_json::to_string_pretty(figures).expect("figures have string keys and finite numbers");
        match &self.json {
            None => Ok(()),
            Some(_) if self.is_standard_output() => say(&mut std::io::stdout(), &json()),
            Some(path) => std::fs::write(path, json() + "\n").map_err(cannot_write(path)),
        }
    }
}
