//! The commands for whoever runs databases: status, checkpoint, backup and restore, the plan of a recovery, and taking a
//! database back.
//!
//! Invariant: where another process has the database open, it is asked over its control socket; the files are left to it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use osier::call::Procedures;
use osier::config::RecoveryKind;
use osier::control::{self, Answer, CheckpointTaken, Request};
use osier::ids::Stamp;
use osier::{Config, Create, DirectoryError, Error, RecoveryPlan, SalvageError};
use osier_bench::engine::{EngineOptions, accounted, open, recovery_figures, settings};
use osier_bench::error::BenchError;
use osier_bench::machine::resident_bytes;
use osier_bench::progress::recovery_callback;
use osier_bench::report::{MemoryFigures, Report};

use crate::cli::{AskArgs, BackupArgs, CheckpointArgs, RecoverArgs, RestoreArgs, SalvageArgs, SettingArgs};
use crate::commands::{directories, say};
use crate::exit;

/// Exit status where nothing was done because the user has to agree first.
const NOT_AGREED: u8 = 4;

/// Prints how a database stands.
pub fn status(args: &AskArgs) -> Result<ExitCode, BenchError> {
    let dirs = &args.dirs.dirs;
    let status = match ask(dirs, &Request::Status)? {
        Some(Answer::Status(status)) => *status,
        Some(other) => return Err(unexpected(&other)),
        None => osier::status(&directories(dirs)).map_err(osier::Error::from)?,
    };
    say(&mut *args.output.text(), status.to_string().trim_end())?;
    args.output.write(&status)?;
    Ok(ExitCode::SUCCESS)
}

/// Takes a checkpoint: the process that has the database open does, or this one opens it.
pub fn checkpoint(args: &CheckpointArgs) -> Result<ExitCode, BenchError> {
    let dirs = &args.dirs.dirs;
    let taken = match ask(dirs, &Request::Checkpoint)? {
        Some(_) if !args.leaving.is_empty() => {
            let what = "a directory is left out by an open, and the database is open: close it first";
            return Err(BenchError::Usage(what.to_owned()));
        }
        Some(Answer::Checkpoint(taken)) => taken,
        Some(other) => return Err(unexpected(&other)),
        None => {
            let all: Vec<PathBuf> = dirs.iter().chain(&args.leaving).cloned().collect();
            let config = own_config(&all, &args.settings)?.dirs(dirs).leaving(&args.leaving);
            let db = open(config).map_err(name_socket)?;
            let taken = CheckpointTaken::new(&db.checkpoint()?, SystemTime::now().into());
            db.close()?;
            taken
        }
    };
    say(&mut *args.output.text(), &describe(&taken))?;
    args.output.write(&taken)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a backup: the process that has the database open does, or this one reads the files.
pub fn backup(args: &BackupArgs) -> Result<ExitCode, BenchError> {
    let dirs = &args.dirs.dirs;
    expect_own_log(&args.settings, "backup")?;
    let target = std::path::absolute(&args.target).unwrap_or_else(|_| args.target.clone());
    let request = Request::Backup { target: target.clone(), checkpoint: args.checkpoint };
    let report = match ask(dirs, &request)? {
        Some(Answer::Backup(report)) => report,
        Some(other) => return Err(unexpected(&other)),
        None if args.checkpoint => {
            let db = open(own_config(dirs, &args.settings)?).map_err(name_socket)?;
            let report = db.backup(&target, true)?;
            db.close()?;
            report
        }
        None => osier::backup_closed(&directories(dirs), &target).map_err(|error| name_socket(error.into()))?,
    };
    say(&mut *args.output.text(), &report.to_string())?;
    args.output.write(&report)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes a database of a backup.
pub fn restore(args: &RestoreArgs) -> Result<ExitCode, BenchError> {
    expect_own_log(&args.settings, "restore")?;
    let settings = args.settings.settings.iter().cloned().collect();
    let mut config =
        EngineOptions { dirs: args.dirs.clone(), settings, is_relaxed: false }.config(Create::IfMissing)?;
    config.until = args.until;
    let report = osier::restore(config.progress(recovery_callback()), &args.backup)?;
    say(&mut *args.output.text(), &report.to_string())?;
    args.output.write(&report)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes a database of what a damaged one provably held.
pub fn salvage(args: &SalvageArgs) -> Result<ExitCode, BenchError> {
    let (dirs, target) = (&args.dirs.dirs, &args.target);
    let settings = args.settings.settings.iter().cloned().collect();
    let config = EngineOptions { dirs: vec![target.clone()], settings, is_relaxed: false }.config(Create::New)?;
    let was_begun = is_unfinished(target);
    let report = osier::salvage(&directories(dirs), config, args.rows);
    let report = report.map_err(|error| if was_begun { error.into() } else { name_rest(error, target) })?;
    say(&mut *args.output.text(), &report.to_string())?;
    args.output.write(&report)?;
    Ok(if report.saved_nothing() { ExitCode::from(exit::DAMAGED) } else { ExitCode::SUCCESS })
}

fn describe(taken: &CheckpointTaken) -> String {
    let CheckpointTaken { checkpoint, seconds, waited_seconds, .. } = taken;
    format!("{checkpoint}, in {seconds:.3} s, of which {waited_seconds:.3} s waited for open transactions")
}

/// Recovers, or says what that would do.
pub fn recover(args: &RecoverArgs) -> Result<ExitCode, BenchError> {
    let mut config = own_config(&args.dirs.dirs, &args.settings)?.recovery(RecoveryKind::Whole);
    config.until = args.until;
    config.accept_divergence = args.accept_divergence.map(Stamp);
    for (name, chosen) in [("recovery_replay", &args.replay), ("recovery_rows", &args.replay_rows)] {
        if let Some(kind) = chosen.as_ref().filter(|_| !args.settings.has(name)) {
            config = config.set(name, kind).map_err(osier::Error::from)?;
        }
    }
    let out = &mut *args.output.text();
    if !args.simulate.is_empty() {
        return simulate(args, config, out);
    }
    if args.explain || args.until.is_some() {
        let plan = osier::explain(&config).map_err(osier::Error::from)?;
        let is_agreed = args.yes || plan.after == 0;
        if args.explain || !is_agreed {
            return explain(args, &plan, is_agreed, out);
        }
    }
    let db = open(config)?;
    let recovery = db.recovery();
    let mut report = Report::new("recover");
    report.recovery = recovery.map(recovery_figures);
    let (end_bytes, peak_bytes) = resident_bytes();
    report.memory = MemoryFigures { start_bytes: 0, end_bytes, peak_bytes, accounted: accounted(&db) };
    report.configuration = settings(db.config());
    if let Some(recovery) = recovery {
        say(out, &recovery.to_string())?;
    }
    db.close()?;
    args.output.write(&report)?;
    Ok(ExitCode::SUCCESS)
}

/// Says how long a replay would take with other numbers of threads.
fn simulate(args: &RecoverArgs, config: Config, out: &mut dyn Write) -> Result<ExitCode, BenchError> {
    let threads: Vec<usize> = args.simulate.iter().copied().map(usize::from).collect();
    let config = config.progress(recovery_callback());
    let simulation = osier::simulate_replay(&config, Procedures::new(), &threads, args.rounds)?;
    say(out, &simulation.to_string())?;
    args.output.write(&simulation)?;
    Ok(ExitCode::SUCCESS)
}

fn explain(
    args: &RecoverArgs,
    plan: &RecoveryPlan,
    is_agreed: bool,
    out: &mut dyn Write,
) -> Result<ExitCode, BenchError> {
    say(out, &plan.to_string())?;
    args.output.write(plan)?;
    if args.explain || is_agreed {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "error: this would discard {} {} for ever; nothing was changed. Add --yes to do it",
        plan.after,
        if plan.after == 1 { "transaction" } else { "transactions" }
    );
    Ok(ExitCode::from(NOT_AGREED))
}

/// Asks the process that has the database open; `None` where none does.
pub fn ask(dirs: &[PathBuf], request: &Request) -> Result<Option<Answer>, BenchError> {
    match control::ask(&dirs[0], request) {
        Ok(Some(Answer::Failed { message, sqlstate })) => Err(BenchError::Asked { message, sqlstate }),
        Ok(answer) => Ok(answer),
        Err(error) => Err(BenchError::Asked { message: error.to_string(), sqlstate: error.sqlstate().to_owned() }),
    }
}

/// Says how a database could be asked that another process has open.
pub fn name_socket(error: BenchError) -> BenchError {
    let BenchError::Engine(Error::Directory(DirectoryError::InUse { .. })) = &error else { return error };
    let message = format!("{error}, or let it open with control_socket=yes and ask again");
    BenchError::Asked { message, sqlstate: error.sqlstate().unwrap_or_default().to_owned() }
}

/// Whether a restore, or a salvage, to `target` has not ended.
fn is_unfinished(target: &Path) -> bool {
    target.join("UNFINISHED").exists()
}

/// Says that what a salvage left in `target` is in the way of another one.
fn name_rest(error: Error, target: &Path) -> BenchError {
    use DirectoryError::{InUse, SameDirectory, Within};
    let is_early = match &error {
        Error::Directory(error) => matches!(error, InUse { .. } | SameDirectory { .. } | Within { .. }),
        error => matches!(error, Error::Salvage(SalvageError::NotEmpty { .. })),
    };
    if is_early || !is_unfinished(target) {
        return error.into();
    }
    let message = format!("{error}; the salvage did not end: remove {}, and salvage again", target.display());
    BenchError::Asked { message, sqlstate: error.sqlstate().to_owned() }
}

/// Says that `home` holds a backup, where that is why there is no database.
pub fn name_backup(error: BenchError, home: &Path) -> BenchError {
    let is_missing = matches!(error.sqlstate(), Some("3D000" | "58P01"));
    let holds = |name: &str| home.join(name).exists();
    if !is_missing || !holds("BACKUP") || holds("MANIFEST") {
        return error;
    }
    let message = format!("{} holds a backup, not a database; osier restore makes a database of it", home.display());
    BenchError::Asked { message, sqlstate: "3D000".to_owned() }
}

pub fn unexpected(answer: &Answer) -> BenchError {
    let message = format!("the process that has the database open answered another question: {answer:?}");
    BenchError::Asked { message, sqlstate: "08P01".to_owned() }
}

/// How this process opens a database that is there: with the protocol and the streams that it has, and logging what it logs, but
/// for what is set. With another protocol it logs values, which every protocol can, and with `serial` on one stream.
pub fn own_config(dirs: &[PathBuf], given: &SettingArgs) -> Result<Config, BenchError> {
    let status = osier::status(&directories(dirs)).map_err(osier::Error::from)?;
    let has_other = given.has("protocol");
    let is_serial = given.settings.iter().any(|(name, value)| name == "protocol" && value == "serial");
    let streams = if is_serial { 1 } else { status.stream_count.max(1) };
    let own = [("protocol", status.protocol.to_string()), ("streams", streams.to_string())];
    let payload = match (status.logs_commands, status.logs_physiologically) {
        (true, _) => Some("commands"),
        (false, true) => Some("physiological"),
        (false, false) => None,
    };
    let payload = payload.filter(|_| !has_other).map(|payload| ("logged", payload.to_owned()));
    let own = own.into_iter().chain(payload).map(|(name, value)| (name.to_owned(), value));
    let settings = own.chain(given.settings.iter().cloned()).collect();
    Ok(EngineOptions { dirs: dirs.to_vec(), settings, is_relaxed: false }.config(Create::Never)?)
}

/// Refuses to set what a database logs, and how, for a command that does not change it.
pub fn expect_own_log(given: &SettingArgs, command: &str) -> Result<(), BenchError> {
    let Some(name) = ["protocol", "streams", "logged"].into_iter().find(|name| given.has(name)) else { return Ok(()) };
    let text = format!(
        "osier {command} does not change setting `{name}` of a database: leave out --set {name}, and use \
         osier recover DIR... --set {name}=... for that"
    );
    Err(BenchError::Usage(text))
}
