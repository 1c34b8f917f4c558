//! The command line. What an option means is said here once, in its help text; those of workloads are in [`workloads`],
//! those of the commands about procedures in [`procedures`], about exports in [`exports`], of `osier serve` in [`serve`], of
//! its clients in [`clients`].

mod clients;
mod exports;
pub mod procedures;
mod serve;
mod workloads;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use osier::config::SETTINGS;
use osier::{Config, Create, Until};
use osier_bench::calls::Issue;
use osier_bench::driver::{Length, RunConfig};
use osier_bench::engine::EngineOptions;
use osier_bench::fixture::WorkloadConfig;
use osier_bench::machine::cores;

pub use clients::{ConnectionArgs, DumpArgs as LogicalDumpArgs, ImportFormat, ShellArgs};
pub use exports::{ExportArgs, ImportArgs};
use procedures::ProcedureCommand;
pub use serve::{AuthArg, ServeArgs};
pub use workloads::{BankArgs, SmallBankArgs, TpccArgs, VoterArgs, YcsbArgs};

/// A serializable main-memory database whose durability is parallel from end to end.
#[derive(Debug, Parser)]
#[command(name = "osier", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure a workload: load, run, report what was acknowledged
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Kill a process that runs a workload, recover, look for everything it had acknowledged, and again
    #[command(subcommand)]
    Crash(CrashCommand),
    /// Serve a database to clients of PostgreSQL, until a signal ends it
    Serve(ServeArgs),
    /// Print how a database stands: checkpoints, logs, what keeps them, and what the process does that has it open
    Status(AskArgs),
    /// Take a checkpoint, in the process that has the database open, or by opening it
    Checkpoint(CheckpointArgs),
    /// Copy a database to a directory, while it is used or not; again into the same directory continues the copy
    Backup(BackupArgs),
    /// Make a database of a backup, in new directories
    Restore(RestoreArgs),
    /// Make a new database of what a damaged one provably held, and say what is missing; the damaged one is only read
    Salvage(SalvageArgs),
    /// Write the rows of all tables, as of one moment, to files of JSON lines, while the database is used or not
    Export(ExportArgs),
    /// Read a file of rows (CSV or COPY's text) or of SQL into a database, or an export into one that is there or a new one
    Import(ImportArgs),
    /// Write the definitions and rows of a database, as of one moment, as SQL that `import` and PostgreSQL read
    Dump(LogicalDumpArgs),
    /// Run statements of SQL, on a server or in a database that no process has open
    Shell(ShellArgs),
    /// Open a database as after a crash and report its recovery, or what that would do
    Recover(RecoverArgs),
    /// Create, list, print, drop and call stored procedures of a database, which must be closed
    #[command(subcommand)]
    Procedure(ProcedureCommand),
    /// Look into a log without opening the database, which must be closed
    #[command(subcommand)]
    Log(LogCommand),
    /// What `crash` kills
    #[command(hide = true)]
    CrashWorker {
        /// The experiment, as JSON
        experiment: String,
    },
}

impl Command {
    /// The first directory of the database that the command needs; `None` where it may create one.
    pub fn home(&self) -> Option<&Path> {
        let dirs = match self {
            Command::Status(args) => &args.dirs.dirs,
            Command::Checkpoint(args) => &args.dirs.dirs,
            Command::Backup(args) => &args.dirs.dirs,
            Command::Salvage(args) => &args.dirs.dirs,
            Command::Export(args) => &args.home.dirs,
            Command::Recover(args) => &args.dirs.dirs,
            Command::Log(LogCommand::Dump(args)) => &args.dirs.dirs,
            Command::Log(LogCommand::Replay(args)) => &args.dirs.dirs,
            Command::Log(LogCommand::Verify(args)) => &args.dirs,
            Command::Procedure(command) => return command.home(),
            Command::Bench(_) | Command::Crash(_) | Command::CrashWorker { .. } => return None,
            Command::Restore(_) | Command::Import(_) | Command::Serve(_) => return None,
            Command::Dump(_) | Command::Shell(_) => return None,
        };
        dirs.first().map(PathBuf::as_path)
    }
}

#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// One table of rows with equal fields
    Ycsb(Bench<YcsbArgs>),
    /// The order entry of a wholesale supplier, all five transactions
    Tpcc(Bench<TpccArgs>),
    /// Customers with a savings and a checking account, six short transactions
    Smallbank(Bench<SmallBankArgs>),
    /// Votes by telephone, one short transaction
    Voter(Bench<VoterArgs>),
    /// Transfers between spouses and deposits, the example of PACMAN
    Bank(Bench<BankArgs>),
}

#[derive(Debug, Subcommand)]
pub enum CrashCommand {
    /// One table of rows that carry their versions
    Ycsb(Crash<YcsbArgs>),
    /// Orders, payments and deliveries, and conditions 1 to 4 of the specification
    Tpcc(Crash<TpccArgs>),
    /// Two accounts per customer, and what each has is the sum of what a journal says
    Smallbank(Crash<SmallBankArgs>),
    /// Votes by telephone, none of them lost and no telephone with too many
    Voter(Crash<VoterArgs>),
    /// Transfers and deposits, and what each person has is the sum of what a journal says
    Bank(Crash<BankArgs>),
}

#[derive(Debug, Subcommand)]
pub enum LogCommand {
    /// Print what the log holds
    Dump(DumpArgs),
    /// Check every byte that opening the database would rely on
    Verify(DirArgs),
    /// Run one transaction again upon the state just before it, in memory, and print what it does; nothing is written
    Replay(ReplayArgs),
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub dirs: DirArgs,
    /// The stamp of the transaction, as `log dump` and errors print it
    #[arg(long, value_name = "STAMP")]
    pub to: u64,
    /// Print each statement with the rows that it reads and writes
    #[arg(long)]
    pub trace: bool,
}

#[derive(Debug, Args)]
pub struct DumpArgs {
    #[command(flatten)]
    pub dirs: DirArgs,
    /// How much to print
    #[arg(long, value_enum, default_value = "records")]
    pub detail: DetailArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DetailArg {
    /// The manifest and the segment files
    Segments,
    /// Each batch, too
    Batches,
    /// Each transaction, too
    Records,
}

#[derive(Debug, Args)]
pub struct DirArgs {
    /// The database's directories, the one with MANIFEST first
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
}

/// As [`DirArgs`], with another argument behind them.
#[derive(Debug, Args)]
pub struct FirstDirArgs {
    /// The database's directories, the one with MANIFEST first
    #[arg(required = true, num_args = 1.., value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct AskArgs {
    #[command(flatten)]
    pub dirs: DirArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct CheckpointArgs {
    #[command(flatten)]
    pub dirs: DirArgs,
    /// A directory of the database that is to be left out, named here and not among the others: nothing new is written to it,
    /// and after the checkpoint nothing in it is needed
    #[arg(long, value_name = "OLD")]
    pub leaving: Vec<PathBuf>,
    #[command(flatten)]
    pub settings: SettingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct BackupArgs {
    #[command(flatten)]
    pub dirs: FirstDirArgs,
    /// The directory of the backup
    pub target: PathBuf,
    /// Begin with a new checkpoint, whatever the directory of the backup holds
    #[arg(long)]
    pub checkpoint: bool,
    #[command(flatten)]
    pub settings: SettingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The directory of the backup
    pub backup: PathBuf,
    /// The directories of the new database, empty or missing
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Restore the state at the end of an epoch (a whole number), or at a time (2026-01-31T23:59:00Z, or @ and seconds since
    /// 1970)
    #[arg(long, value_name = "EPOCH|TIME")]
    pub until: Option<Until>,
    #[command(flatten)]
    pub settings: SettingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct SalvageArgs {
    #[command(flatten)]
    pub dirs: FirstDirArgs,
    /// The directory of the new database, empty or missing
    pub target: PathBuf,
    /// Take every row that can be read in its newest version instead of a consistent state
    #[arg(long)]
    pub rows: bool,
    #[command(flatten)]
    pub settings: SettingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct RecoverArgs {
    #[command(flatten)]
    pub dirs: DirArgs,
    /// Print what recovery would read, keep and discard, and why; change nothing
    #[arg(long)]
    pub explain: bool,
    /// Take the database back to the end of an epoch (a whole number), or to a time (2026-01-31T23:59:00Z, or @ and seconds
    /// since 1970); what came later is gone for ever
    #[arg(long, value_name = "EPOCH|TIME")]
    pub until: Option<Until>,
    /// Accept that calls of procedures which were logged as commands, from the transaction with this stamp on, do something else
    /// when they are run again: what they do now counts, and nothing of those that fail. Each is printed, and a checkpoint holds
    /// the result
    #[arg(long, value_name = "STAMP", conflicts_with = "explain")]
    pub accept_divergence: Option<u64>,
    /// How to run calls again that the log holds: in order, or at once as LSN vectors or procedures allow [default: auto]
    #[arg(long, value_name = "KIND", value_parser = named("recovery_replay"))]
    pub replay: Option<String>,
    /// How to replay the rows that the log holds: under latches, with secondary indexes built last or kept in step, or by the
    /// threads that own them [default: auto]
    #[arg(long, value_name = "KIND", value_parser = named("recovery_rows"))]
    pub replay_rows: Option<String>,
    /// Say how long running calls again by procedures would take with each of these numbers of threads, as in 1,2,4,8,16: by a
    /// simulation that is calibrated on this log, and compared with replays by as many threads as there are cores. It works in
    /// memory, as much as opening the database takes, and changes nothing
    #[arg(long, value_name = "THREADS", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024),
        conflicts_with_all = ["explain", "until", "accept_divergence", "replay_rows"])]
    pub simulate: Vec<u16>,
    /// Calibrate and measure so often for --simulate, and print medians
    #[arg(long, default_value = "3", requires = "simulate", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Agree to lose what --until discards
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub settings: SettingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct Bench<W: Args> {
    #[command(flatten)]
    pub workload: W,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub run: RunArgs,
    /// End after so many seconds [default: 10]
    #[arg(long, value_parser = seconds, conflicts_with = "transactions")]
    pub seconds: Option<Duration>,
    /// End after so many transactions
    #[arg(long)]
    pub transactions: Option<NonZeroU64>,
    /// Run so many seconds before measuring
    #[arg(long, value_parser = seconds, default_value = "0")]
    pub warmup: Duration,
    /// Beside the workers, read all rows of all tables with so many threads, over and over, each time at a new snapshot
    #[arg(long, value_name = "THREADS", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub snapshot_scans: u32,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct Crash<W: Args> {
    #[command(flatten)]
    pub workload: W,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub run: RunArgs,
    /// Kill after so many seconds on average: a random moment between half and one and a half times of it
    #[arg(long, value_parser = seconds, default_value = "3")]
    pub seconds: Duration,
    /// How often to kill and recover
    #[arg(long, default_value = "3")]
    pub rounds: NonZeroU32,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Write the figures to a file as JSON; `-` is the standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
pub struct SettingArgs {
    /// Set any setting of the database, such as ring_bytes=16777216; --help lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, long_help = settings_help())]
    pub settings: Vec<(String, String)>,
}

impl SettingArgs {
    /// Whether a setting is given.
    pub fn has(&self, name: &str) -> bool {
        self.settings.iter().any(|(given, _)| given == name)
    }

    /// Adds settings that are not given.
    pub fn or(mut self, defaults: &[(&str, &str)]) -> SettingArgs {
        for (name, value) in defaults {
            if !self.has(name) {
                self.settings.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        self
    }
}

/// The database.
#[derive(Debug, Args)]
pub struct EngineArgs {
    /// How the log is ordered; `none` logs nothing [default: poplar; gsn where the log is to hold commands]
    #[arg(long, value_parser = named("protocol"))]
    pub protocol: Option<String>,
    /// How transactions are isolated [default: optimistic]
    #[arg(long, value_parser = named("cc"))]
    pub cc: Option<String>,
    /// What becomes of a transaction that wants a lock which another one holds, with `--cc 2pl` [default: wound-wait]
    #[arg(long, value_parser = named("locking"))]
    pub locking: Option<String>,
    /// What the log holds: the rows that were written; the calls of procedures, which recovery runs again (`commands`); for each
    /// call the one of these that is better (`adaptive`); or what changed in rows, as ARIES-like systems log it. Commands, also
    /// adaptive ones, go with protocol serial, gsn or taurus [default: values]
    #[arg(long, visible_alias = "logged", value_name = "PAYLOAD", value_parser = named("logged"))]
    pub payload: Option<String>,
    /// How recovery runs calls again that the log holds: in order, or at once as LSN vectors or procedures allow [default: auto]
    #[arg(long, value_name = "KIND", value_parser = named("recovery_replay"))]
    pub replay: Option<String>,
    /// How to replay the rows that the log holds: under latches, with secondary indexes built last or kept in step, or by the
    /// threads that own them [default: auto]
    #[arg(long, value_name = "KIND", value_parser = named("recovery_rows"))]
    pub replay_rows: Option<String>,
    /// Log streams that work in parallel [default: 1]
    #[arg(long, value_parser = named("streams"))]
    pub streams: Option<String>,
    /// Where to keep the database; repeat it to spread the streams [default: a new directory, removed at the end]
    #[arg(long = "dir", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Leave the new directory where it is
    #[arg(long)]
    pub keep: bool,
    /// When a commit is acknowledged
    #[arg(long, value_enum, default_value = "durable")]
    pub durability: DurabilityArg,
    /// Let the loggers gather commits for so many microseconds; 0 writes whenever the device is idle [default: 0]
    #[arg(long, value_name = "US", value_parser = named("group_commit_interval_us"))]
    pub group_commit_interval: Option<String>,
    /// Take a checkpoint so often, as in 500ms, 1s or 5m [default: by the amount of log]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub checkpoint_interval: Option<Duration>,
    /// End snapshots that are open for longer, as in 500ms, 1s or 5m [default: never]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub snapshot_age_max: Option<Duration>,
    #[command(flatten)]
    pub settings: SettingArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DurabilityArg {
    /// When everything that the transaction wrote and saw is on disk
    Durable,
    /// At once
    Relaxed,
}

/// How to drive.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Threads that execute transactions [default: one per core]
    #[arg(long)]
    pub workers: Option<NonZeroU32>,
    /// Wait for every commit before the next transaction
    #[arg(long)]
    pub blocking: bool,
    /// Transactions per second over all workers; latency then counts from when each is due [default: as many as possible]
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    pub rate: Option<f64>,
    /// Commits that a worker keeps unacknowledged before it waits
    #[arg(long, value_name = "COMMITS", default_value = "8192")]
    pub outstanding: NonZeroU32,
    /// Time one in so many transactions [default: 16 as fast as possible, otherwise and for tpcc 1]
    #[arg(long, value_name = "TRANSACTIONS")]
    pub latency_every: Option<NonZeroU32>,
    /// Write into the JSON how many transactions were acknowledged by when, in steps of 20 ms
    #[arg(long)]
    pub timeline: bool,
    /// Issue each transaction as a call of a stored procedure, which is created where it is missing
    #[arg(long)]
    pub procedures: bool,
    /// Issue so many of 100 transactions as Rust code nevertheless
    #[arg(long, value_name = "PERCENT", default_value = "0", requires = "procedures",
        value_parser = clap::value_parser!(u8).range(0..=100))]
    pub ad_hoc: u8,
    /// Hand so many calls over at a time, which take turns on a worker while they wait for memory
    #[arg(long, value_name = "CALLS", default_value = "1", requires = "procedures",
        conflicts_with_all = ["blocking", "rate", "ad_hoc"], value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub batch: u16,
    /// Draw other requests [default: 1; in crash tests a random one]
    #[arg(long)]
    pub seed: Option<u64>,
}

/// The protocol of a log that is to hold commands, where none is named: the default one does not order them.
const COMMANDS_PROTOCOL: &str = "gsn";

impl EngineArgs {
    /// The database in `dirs`.
    pub fn options(&self, dirs: &[PathBuf]) -> EngineOptions {
        let microseconds = |time: Option<Duration>| time.map(|time| time.as_micros().to_string());
        let named = [
            ("protocol", self.protocol.clone()),
            ("cc", self.cc.clone()),
            ("locking", self.locking.clone()),
            ("logged", self.payload.clone()),
            ("recovery_replay", self.replay.clone()),
            ("recovery_rows", self.replay_rows.clone()),
            ("streams", self.streams.clone()),
            ("group_commit_interval_us", self.group_commit_interval.clone()),
            ("checkpoint_interval_us", microseconds(self.checkpoint_interval)),
            ("snapshot_age_max_us", microseconds(self.snapshot_age_max)),
        ];
        let named = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let mut settings: BTreeMap<_, _> = named.chain(self.settings.settings.iter().cloned()).collect();
        if settings.get("logged").is_some_and(|logged| ["commands", "adaptive"].contains(&logged.as_str())) {
            settings.entry("protocol".to_owned()).or_insert_with(|| COMMANDS_PROTOCOL.to_owned());
        }
        EngineOptions { dirs: dirs.to_vec(), settings, is_relaxed: self.durability == DurabilityArg::Relaxed }
    }
}

impl RunArgs {
    /// How requests are issued.
    pub fn issue(&self) -> Issue {
        if self.procedures { Issue::Calls { ad_hoc_percent: self.ad_hoc } } else { Issue::Rust }
    }

    /// How to drive `workload`.
    pub fn config(&self, workload: &WorkloadConfig, length: Length, warmup: Duration, seed: u64) -> RunConfig {
        let is_fast = !matches!(workload, WorkloadConfig::Tpcc(_)) && !self.blocking && self.rate.is_none();
        RunConfig {
            workers: self.workers.map_or(cores() as u32, NonZeroU32::get),
            length,
            warmup,
            blocking: self.blocking,
            outstanding_max: self.outstanding.get().max(self.batch.into()) as usize,
            batch: self.batch.into(),
            rate: self.rate,
            latency_every: self.latency_every.map_or(if is_fast { 16 } else { 1 }, NonZeroU32::get),
            timeline: self.timeline,
            seed: self.seed.unwrap_or(seed),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// A time with its unit.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let second = match &text[digits.len()..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("a time with its unit is needed: us, ms, s, m or h".to_owned()),
    };
    let number: f64 = digits.parse().map_err(|_| "a number with a unit is needed, as in 1.5s".to_owned())?;
    Duration::try_from_secs_f64(number * second).map_err(|error| error.to_string())
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("a number above 0 is needed".to_owned()),
    }
}

/// Parses `NAME=VALUE` for a setting that the engine has and a value that it takes.
fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is needed, as in ring_bytes=16777216")?;
    let (name, value) = (name.trim().replace('-', "_"), value.trim().to_owned());
    Config::new("").set(&name, &value).map_err(|error| error.to_string())?;
    Ok((name, value))
}

/// Returns a parser for the values of one setting.
fn named(name: &'static str) -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync + 'static {
    move |value| setting(&format!("{name}={value}")).map(|(_, value)| value)
}

/// Describes all settings, as the engine's registry does, with the defaults of the commands.
fn settings_help() -> String {
    let mut help = "Set any setting of the database, such as ring_bytes=16777216. It counts more than another option that says \
                    the same. A database that is there keeps its protocol, its number of streams and its payload (logged) \
                    unless they are set; in bench and crash those that are not set have their defaults.\n"
        .to_owned();
    let defaults = EngineOptions { dirs: vec![PathBuf::from(".")], ..EngineOptions::default() };
    let defaults = defaults.config(Create::Never).expect("the defaults fit together");
    for setting in SETTINGS {
        let default = (setting.get)(&defaults);
        help += &format!("\n{} [default: {default}; {}]\n  {}\n", setting.name, setting.values(), setting.doc);
    }
    help
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn later_settings_replace_named_options() {
        let line = "osier bench ycsb --checkpoint-interval 1.5s --snapshot-age-max 2m --streams 4 --set streams=2 \
                    --set ring-bytes=16777216";
        let Command::Bench(BenchCommand::Ycsb(bench)) = Cli::parse_from(line.split_whitespace()).command else {
            panic!()
        };
        let options = bench.engine.options(&[]);
        assert_eq!(options.settings["streams"], "2");
        assert_eq!(options.settings["ring_bytes"], "16777216");
        assert_eq!(options.settings["checkpoint_interval_us"], "1500000");
        assert_eq!(options.settings["snapshot_age_max_us"], "120000000");
    }

    #[test]
    fn commands_have_a_protocol_that_orders_them() {
        let protocol = |line: &str| {
            let line = format!("osier bench tpcc --procedures {line}");
            let Command::Bench(BenchCommand::Tpcc(bench)) = Cli::parse_from(line.split_whitespace()).command else {
                panic!()
            };
            bench.engine.options(&[]).settings.get("protocol").cloned()
        };
        assert_eq!(protocol("--payload commands").as_deref(), Some(COMMANDS_PROTOCOL));
        assert_eq!(protocol("--set logged=adaptive").as_deref(), Some(COMMANDS_PROTOCOL));
        assert_eq!(protocol("--payload commands --protocol taurus").as_deref(), Some("taurus"));
        assert_eq!(protocol("--payload commands --set protocol=serial").as_deref(), Some("serial"));
        assert_eq!(protocol("--payload values"), None);
    }

    #[test]
    fn the_help_names_every_setting() {
        let help = settings_help();
        for setting in SETTINGS {
            let default = if setting.name == "control_socket" { "yes".to_owned() } else { setting.default_value() };
            assert!(help.contains(&format!("\n{} [default: {default};", setting.name)), "{help}");
        }
        assert!(
            help.contains("\nlogged [default: values; one of: values, commands, adaptive, physiological]"),
            "{help}"
        );
        assert!(
            help.contains("\nprotocol [default: poplar; one of: none, serial, poplar, gsn, plover, silo, taurus]"),
            "{help}"
        );
    }

    #[test]
    fn the_last_of_several_directories_is_the_target() {
        for command in ["backup", "salvage"] {
            let line = format!("osier {command} a b c");
            let (dirs, target) = match Cli::parse_from(line.split(' ')).command {
                Command::Backup(args) => (args.dirs.dirs, args.target),
                Command::Salvage(args) => (args.dirs.dirs, args.target),
                other => panic!("{other:?}"),
            };
            assert_eq!((dirs, target), (vec![PathBuf::from("a"), PathBuf::from("b")], PathBuf::from("c")));
            let mut definition = Cli::command();
            let usage = definition.find_subcommand_mut(command).unwrap().render_usage().to_string();
            assert!(usage.ends_with("[OPTIONS] <DIR>... <TARGET>"), "{usage}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "osier bench",
            "osier bench ycsb --protocol sillo",
            "osier bench ycsb --cc snapshot",
            "osier bench ycsb --locking wait",
            "osier bench ycsb --seconds 1 --transactions 5",
            "osier bench ycsb --theta 2.5",
            "osier bench ycsb --warehouses 2",
            "osier bench tpcc --mix half",
            "osier bench tpcc --warehouses 0",
            "osier bench smallbank --accounts 1",
            "osier bench smallbank --hot-percent 101",
            "osier bench voter --phones 10000001",
            "osier bench voter --contestants 999",
            "osier bench bank --nations 0",
            "osier bench voter --journal",
            "osier crash tpcc --transactions 5",
            "osier crash tpcc --snapshot-scans 1",
            "osier bench tpcc --snapshot-scans -1",
            "osier recover",
            "osier recover x --until yesterday",
            "osier recover x --accept-divergence",
            "osier recover x --accept-divergence 3 --explain",
            "osier recover x --set accept_divergence=3",
            "osier recover x --simulate",
            "osier recover x --simulate 0",
            "osier recover x --simulate 1,two",
            "osier recover x --simulate 2 --explain",
            "osier recover x --simulate 2 --until 3",
            "osier recover x --rounds 2",
            "osier recover x --simulate 2 --rounds 0",
            "osier status",
            "osier serve",
            "osier serve --dir x --tls-cert y",
            "osier serve --dir x --connections-max 0",
            "osier backup x",
            "osier restore x",
            "osier export --dir x",
            "osier export x --to y",
            "osier import --from y",
            "osier log verify",
            "osier log replay x",
            "osier log replay --to 3",
            "osier log replay x --to now",
            "osier procedure",
            "osier procedure load x",
            "osier procedure call --dir x",
            "osier log dump x --detail bits",
            "osier bench ycsb --set ring_bytes",
            "osier bench ycsb --set ring_bits=5",
            "osier bench ycsb --set streams=0",
            "osier bench ycsb --streams 65",
            "osier bench ycsb --rate -5",
            "osier bench ycsb --checkpoint-interval 5",
            "osier bench ycsb --snapshot-age-max 5",
            "osier crash tpcc --checkpoint-interval -1s",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }
}
