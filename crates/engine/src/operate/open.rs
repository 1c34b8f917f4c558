//! Opening a database, from its directories to the socket at which it answers.
//!
//! ```text
//! claim the directories -> manifest -> recover or create, catalog -> log -> epoch ticker -> checkpoints -> control socket
//! ```
//!
//! A restore and a salvage claim and fill directories themselves, and enter after the claim ([`Database::open_claimed`]).
//!
//! Invariants:
//! - One process has a directory open at a time.
//! - A directory that holds anything but a readable database is never treated as an empty one, nor is one that is being filled.
//! - All of the past is in memory, and durable as it will count, before anything new is written.
//! - Where commands did something else than before and that was accepted, a checkpoint holds the result before anybody sees it or
//!   anything new is logged. Until then the next open comes to the same commands, and asks again.
//! - Where a step fails, the tasks that earlier steps started are stopped.

use std::sync::Arc;
use std::time::Duration;

use osier_memory::Epochs;

use super::faults;
use crate::call::{Procedures, Replayer};
use crate::catalog::Catalog;
use crate::checkpoint::retention::{OpenFiles, Retention};
use crate::checkpoint::{Checkpoints, Inherited};
use crate::config::{ConcurrencyControlKind, Config, ConfigError, Create, Protocol};
use crate::database::Database;
use crate::directory::manifest::Manifest;
use crate::directory::{self, Claim, DirectoryError};
use crate::error::Error;
use crate::log::CommitLog;
use crate::log::persist::LogLayout;
use crate::recovery::{self, CommandReplayer, Recovered, RecoveryReport, Replaying, workers};
use crate::table::store::Store;
use crate::transaction::shared::Shared;
use crate::transaction::ticker::Ticker;

/// Directories that are claimed, and the manifest of the database in them, if there is one.
type Claimed = (Claim, Option<Manifest>);

impl Database {
    /// Opens the database in `config.dirs`, recovering it where it was not closed, or creates one there.
    ///
    /// # Errors
    /// [`Error::Config`] for a configuration that cannot be opened. [`Error::Directory`] where the directories do not hold a
    /// database, cannot be used, or are in use by another process. [`Error::Recovery`] where the database in them is damaged.
    /// [`Error::Log`] where the log cannot be written.
    pub fn open(config: Config) -> Result<Database, Error> {
        Database::open_with(config, Procedures::new())
    }

    /// As [`Database::open`], with functions of the program that are procedures of the database. Each becomes one when the
    /// database is open, or another version of the one with its name.
    ///
    /// # Errors
    /// Those of [`Database::open`]; [`RecoveryError::MissingProcedure`](crate::RecoveryError::MissingProcedure) where the log
    /// needs a function that is not registered, [`ProcedureError`](crate::ProcedureError) where a name or version is taken.
    pub fn open_with(config: Config, procedures: Procedures) -> Result<Database, Error> {
        let mut replayer = Replayer::new(Arc::new(procedures));
        let database = Database::open_replaying(config, &mut replayer)?;
        database.define_registered(replayer.procedures())?;
        if database.config().control_socket {
            database.listen()?;
        }
        Ok(database)
    }

    /// Opens the database; `replayer` runs the commands again that a recovery comes to.
    pub(crate) fn open_replaying(config: Config, replayer: &mut dyn CommandReplayer) -> Result<Database, Error> {
        config.check()?;
        let claimed = claim(&config)?;
        Database::open_claimed(config, claimed, replayer)
    }

    /// Opens the database in directories that are claimed, or creates one there; without a claim, one of which nothing is
    /// written yet. `config` is checked.
    pub(crate) fn open_claimed(
        config: Config,
        claimed: Option<Claimed>,
        replayer: &mut dyn CommandReplayer,
    ) -> Result<Database, Error> {
        let given = directory::anchored(config)?;
        let mut config = given.clone();
        if let Some((claim, _)) = &claimed {
            config.environment.disk = claim.guard(config.environment.disk);
        }

        let store = Store::new(epochs(&config));
        let catalog = Catalog::new(&store)?;
        let mut rest = None;
        let (catalog, log, files, report) = match claimed {
            None => (catalog, CommitLog::unlogged(), None, None),
            Some((mut claim, found)) => {
                let (catalog, manifest, report) = match found {
                    None => {
                        let manifest = claim.create(&config)?;
                        store.epochs().resume_at(faults::first_epoch(manifest.current.epoch_floor));
                        (catalog, manifest, None)
                    }
                    Some(found) => {
                        let (catalog, mut recovered) = recover(&config, &mut claim, found, &store, catalog, replayer)?;
                        rest = recovered.rest.take();
                        (catalog, recovered.manifest, Some(recovered.report))
                    }
                };
                let layout = LogLayout::of(&config, &manifest, store.epochs());
                let files = OpenFiles::new(&config, claim, manifest).map_err(Arc::new)?;
                (catalog, CommitLog::start(&config, layout)?, Some(files), report)
            }
        };

        let shared = Arc::new(Shared::new(config, store, catalog, log, replayer.registered()));
        if let Some(report) = &report {
            let seconds = report.scan_seconds + report.replay_seconds + report.ordered_seconds;
            shared.debt.add(Duration::from_secs_f64(seconds).as_nanos() as u64);
        }
        let retention = Arc::new(Retention::new(files));
        let stop_log = |_: &Error| drop(shared.log.close());
        let no_ticker = |source| Error::Spawn { task: Ticker::NAME, source };
        let ticker = Ticker::start(&shared).map_err(no_ticker).inspect_err(stop_log)?;
        let no_replay = |source| Error::Spawn { task: Replaying::NAME, source };
        let replaying = rest.map(|rest| rest.begin(&shared)).transpose().map_err(no_replay).inspect_err(stop_log)?;
        let checkpoints = Checkpoints::start(&shared, &retention, inherited(report.as_ref())).inspect_err(stop_log)?;
        let has_accepted = report.as_ref().is_some_and(RecoveryReport::has_accepted);
        let database = Database::of(given, shared, (ticker, replaying), checkpoints, retention, report);
        if has_accepted {
            database.checkpoint()?;
        }
        Ok(database)
    }
}

/// Claims the directories and finds the manifest in them. `None`: with protocol `none` nothing is claimed before there is
/// something to write.
fn claim(config: &Config) -> Result<Option<Claimed>, Error> {
    // Before the claim, which would say of a directory that is half filled that it is locked, or holds foreign files.
    directory::refuse_unfinished(config)?;
    if config.protocol == Protocol::None && refuse_to_forget(config)?.is_none() {
        return Ok(None);
    }
    if config.create == Create::Never && !directory::holds_database(config)? {
        return Err(DirectoryError::NoDatabase { home: config.dirs[0].clone() }.into());
    }
    let (claim, found) = Claim::take(config)?;
    // Under the claim as well: whoever fills directories marks them under a claim of his own, perhaps since the first look.
    directory::refuse_unfinished(config)?;
    if found.is_some() && config.create == Create::New {
        return Err(DirectoryError::Exists { home: config.dirs[0].clone() }.into());
    }
    Ok(Some((claim, found)))
}

/// Returns the protocol of the database that is there. Protocol `none` beside one that logs would silently forget what is
/// written to it.
fn refuse_to_forget(config: &Config) -> Result<Option<Protocol>, Error> {
    match directory::protocol(config)? {
        Some(own) if own != Protocol::None => Err(ConfigError::BadValue {
            name: "protocol",
            value: "none".to_owned(),
            expected: format!(
                "{} holds a durable database, whose protocol is {own}: open it with that or any other than none; rows come \
                 to a database without a log by an export and an import",
                config.dirs[0].display()
            ),
        }
        .into()),
        protocol => Ok(protocol),
    }
}

/// Returns how many participants the epochs have: two for each session, of which one reserves values of sequences, those of a
/// replay, one for each thread of a checkpoint, and one for opening the catalog or later the checkpointer.
fn participants(config: &Config) -> usize {
    2 * config.sessions_max + workers::sessions(workers::count(config)) + config.checkpoint_threads + 1
}

/// The epochs of a database that nobody uses yet.
fn epochs(config: &Config) -> Arc<Epochs> {
    match config.concurrency_control {
        ConcurrencyControlKind::Multiversion => Epochs::with_histories(participants(config)),
        _ => Epochs::new(participants(config)),
    }
}

/// Recovers the database that is there: its manifest is that which counts from now on, and stored.
fn recover(
    config: &Config,
    claim: &mut Claim,
    found: Manifest,
    store: &Store,
    catalog: Catalog,
    replayer: &mut dyn CommandReplayer,
) -> Result<(Catalog, Recovered), Error> {
    let mut recovered = recovery::run(config, claim, found, store)?;
    store.epochs().resume_at(faults::first_epoch(recovered.manifest.current.epoch_floor));
    let catalog = recovery::open_tables(config, store, catalog, &mut recovered, replayer)?;
    Ok((catalog, recovered))
}

/// Returns what recovery leaves to checkpoints.
fn inherited(report: Option<&RecoveryReport>) -> Inherited {
    let of = |report: &RecoveryReport| Inherited { log_bytes: report.log_bytes, is_late: report.generations > 1 };
    report.map(of).unwrap_or_default()
}
