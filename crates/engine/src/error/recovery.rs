//! What stops recovery. Every variant names the file and says what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::config::Until;
use crate::directory::DirectoryError;
use crate::directory::manifest::ManifestError;
use crate::error::CheckpointError;
use crate::ids::{Epoch, Generation, LogOffset, ProcedureId, ProcedureVersion, Stamp, StreamId};
use crate::io::error::{cause, io_cure, io_sqlstate};
use crate::log::format::newest;
use crate::log::format::segment::SegmentError;

/// What explains most logs that end too early, or not everywhere at the same moment.
const COPIED: &str = "if the files were copied while the database was open, copy it with osier backup instead";

/// Why a database could not be recovered. Nothing was acknowledged, nothing removed: once the cause is mended, opening it
/// again finds what there was.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// The manifest could not be read or replaced.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The checkpoint that the manifest names cannot be loaded.
    #[error(transparent)]
    Checkpoint(Box<CheckpointError>),
    /// A segment could not be opened, is damaged in its header, truncated, or of another database.
    #[error("{0}; restore the file from a copy of this database")]
    Segment(SegmentError),
    /// A segment could not be created or written.
    #[error("{0}{cure}", cure = cure(.0))]
    Write(SegmentError),
    /// The operating system refused.
    #[error("cannot {action} {}: {}{}", path.display(), cause(source, path), io_cure(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing to inspect.
    #[error("{} holds no database; check the path", path.display())]
    NoDatabase {
        /// The first directory.
        path: PathBuf,
    },
    /// The directory of a stream is gone.
    #[error(
        "the directory {} of log stream {stream} is missing: mount its device, or restore it from a copy of this database",
        path.display())]
    MissingDirectory {
        /// The directory.
        path: PathBuf,
        /// The stream.
        stream: StreamId,
    },
    /// The directories are not those of one database.
    #[error(transparent)]
    Directory(Box<DirectoryError>),
    /// The record of a stream's newest segment cannot be used.
    #[error("{} {what}; restore a backup, or make a new database of what is left with osier salvage", path.display())]
    Newest {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The record of a stream's newest segment was written by a newer program.
    #[error("{} has format version {found}, this program reads up to {}: use a newer osier", path.display(), newest::VERSION)]
    NewestVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A file of the chain is gone.
    #[error("log segment {} is missing{}: restore it from a copy of this database", path.display(), known(.promised))]
    MissingSegment {
        /// The file.
        path: PathBuf,
        /// How far other streams knew its stream to be durable, where that is what tells.
        promised: Option<LogOffset>,
    },
    /// A log is newer than the manifest.
    #[error(
        "log segment {} is of a later generation than {generation}, the manifest's: the manifest is old; restore the one \
         that was last written", path.display())]
    ManifestTooOld {
        /// The file.
        path: PathBuf,
        /// The manifest's generation.
        generation: Generation,
    },
    /// Segments that do not follow each other.
    #[error("log segment {} does not continue its stream: {what}; restore it from a copy of this database", path.display())]
    Chain {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Bytes that were durable and are not what was written.
    #[error(
        "log segment {} is damaged at byte {position} (log offset {offset}): {what}; restore the file from a copy of this \
         database; {COPIED}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        position: u64,
        /// Where in the log.
        offset: LogOffset,
        /// What is wrong.
        what: String,
    },
    /// The log says what changed in a version of a row that neither a checkpoint nor the log holds.
    #[error(
        "row {key} of table `{table}` cannot be recovered: what transaction {stamp} changed in it is there, version {base} of \
         the row is not; restore a backup, or make a new database of what is left with osier salvage"
    )]
    MissingVersion {
        /// The table.
        table: String,
        /// The row's primary key.
        key: String,
        /// The version that is missing, by the stamp of its transaction.
        base: Stamp,
        /// Of the transaction that changed it.
        stamp: Stamp,
    },
    /// Of a transaction one stream has its record and another one does not.
    #[error(
        "the log of {} has transactions of generation {generation} of which one stream has its share and another one lacks it: \
         the directories are not of one moment, or a device lost writes; restore all of them from one copy, or make a new \
         database of what is left with osier salvage", path.display())]
    TornTransaction {
        /// The first directory.
        path: PathBuf,
        /// The generation.
        generation: Generation,
    },
    /// Less than what was known to be durable.
    #[error(
        "the log in {} ends at stamp {found}, but {promised} was known to be durable: its device lost writes it had \
         confirmed, or files are missing; restore the directory from a copy; {COPIED}", path.display())]
    LostDurable {
        /// The stream's directory.
        path: PathBuf,
        /// The stream's last durable stamp.
        found: Stamp,
        /// The frontier that another batch recorded.
        promised: Stamp,
    },
    /// A log that contradicts the manifest.
    #[error("the log in {} contradicts the manifest: {what}; restore both from one copy", path.display())]
    Contradiction {
        /// The stream's directory.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// What the database is to be taken back to cannot be reached.
    #[error("{} cannot be taken back to {until}: {what}", path.display())]
    Until {
        /// The first directory.
        path: PathBuf,
        /// What was asked for.
        until: Until,
        /// Why not, and what to ask for instead.
        what: String,
    },
    /// A command was run again and did something else than before.
    #[error(
        "transaction {stamp} cannot be run again as it was: {}: {what}; restore a backup{}{}; if the procedure looks at nothing \
         but its arguments and tables, this is a defect, please report it",
        called(*procedure, name, *version, arguments),
        acceptable(*can_be_accepted, *stamp),
        until_before(*epoch, "give up its epoch and all later ones with osier recover"),
    )]
    Diverged {
        /// Of the transaction.
        stamp: Stamp,
        /// Of the transaction, too. The database can be taken back to the end of the epoch before.
        epoch: Epoch,
        /// What it ran.
        procedure: ProcedureId,
        /// The name of that, where the catalog knows it.
        name: Option<String>,
        /// Which definition of that.
        version: ProcedureVersion,
        /// Its arguments, the long ones shortened.
        arguments: String,
        /// What was different.
        what: String,
        /// The first row that was, where the log says which.
        row: Option<Box<DivergedRow>>,
        /// Whether [`Config::accept_divergence`](crate::Config::accept_divergence) lets recovery go on.
        can_be_accepted: bool,
    },
    /// Rows were logged upon what a command had done, and that was accepted to be something else.
    #[error(
        "what was accepted from transaction {from} on leaves no place for the rows that transaction {stamp} wrote: {what}; \
         restore a backup{}",
        until_before(
            *epoch,
            &format!("give up its epoch and all later ones, too, with osier recover --accept-divergence {from}")
        )
    )]
    Unacceptable {
        /// Of the transaction.
        stamp: Stamp,
        /// Of the transaction, too.
        epoch: Epoch,
        /// From where on divergence is accepted.
        from: Stamp,
        /// What does not fit.
        what: String,
    },
    /// There is no such procedure.
    #[error(
        "transaction {stamp} cannot be run again: there is no procedure {procedure}{} with version {version}, and {commands} \
         transactions of the log ran it; open the database, or restore or salvage it, with a program that has it",
        quoted(name)
    )]
    MissingProcedure {
        /// Of the first transaction that ran it.
        stamp: Stamp,
        /// The procedure.
        procedure: ProcedureId,
        /// Its name, where the catalog knows it.
        name: Option<String>,
        /// The definition that is asked for.
        version: ProcedureVersion,
        /// How many transactions that are yet to be run again ran that definition, this one included.
        commands: u64,
    },
    /// There is no such transaction to run again.
    #[error("transaction {stamp} of the database in {} cannot be replayed: {what}", path.display())]
    NoReplay {
        /// The first directory.
        path: PathBuf,
        /// What was asked for.
        stamp: Stamp,
        /// Why not.
        what: String,
    },
    /// There is nothing to simulate.
    #[error("the replay of the database in {} cannot be simulated: {what}", path.display())]
    NoSimulation {
        /// The first directory.
        path: PathBuf,
        /// Why not.
        what: String,
    },
    /// The rows that a transaction wrote do not fit what those before it left.
    #[error(
        "the rows that transaction {stamp} wrote do not fit what the transactions before it left: {what}; restore a backup, or \
         make a new database of what is left with osier salvage"
    )]
    Unfit {
        /// Of the transaction.
        stamp: Stamp,
        /// Why not.
        what: String,
    },
    /// A thread of recovery could not be started or died.
    #[error("recovery could not go on: {what}")]
    Thread {
        /// What happened.
        what: String,
    },
}

/// A row that a command wrote otherwise than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DivergedRow {
    /// Its table.
    pub table: String,
    /// Its primary key, as `(id)=(1)`.
    pub key: String,
    /// What it holds now, as `(1, 'Ada')`; `None`: it was deleted.
    pub now: Option<String>,
}

impl From<DirectoryError> for RecoveryError {
    fn from(error: DirectoryError) -> RecoveryError {
        match error {
            DirectoryError::Manifest(error) => RecoveryError::Manifest(error),
            error => RecoveryError::Directory(Box::new(error)),
        }
    }
}

impl RecoveryError {
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> RecoveryError + 'a {
        move |source| RecoveryError::Io { action, path: path.to_owned(), source }
    }

    /// The call that has diverged, for people.
    pub(crate) fn call(&self) -> Option<String> {
        let RecoveryError::Diverged { procedure, name, version, arguments, .. } = self else { return None };
        Some(called(*procedure, name, *version, arguments))
    }

    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            RecoveryError::Manifest(error) => error.sqlstate(),
            RecoveryError::Checkpoint(error) => error.sqlstate(),
            RecoveryError::Directory(error) => error.sqlstate(),
            RecoveryError::Segment(error) | RecoveryError::Write(error) => error.sqlstate(),
            RecoveryError::Io { source, .. } => io_sqlstate(source),
            RecoveryError::NoDatabase { .. } => "3D000",
            RecoveryError::MissingDirectory { .. } | RecoveryError::MissingSegment { .. } => "58P01",
            RecoveryError::Until { .. } | RecoveryError::NoReplay { .. } | RecoveryError::NoSimulation { .. } => {
                "22023"
            }
            RecoveryError::Thread { .. } => "53000",
            RecoveryError::NewestVersion { .. } => "0A000",
            RecoveryError::MissingProcedure { .. } => "42883",
            _ => "XX001",
        }
    }
}

/// A call for a message.
fn called(procedure: ProcedureId, name: &Option<String>, version: ProcedureVersion, arguments: &str) -> String {
    format!("procedure {procedure}{} version {version} ({arguments})", quoted(name))
}

/// One of the ways on from a command that has diverged.
fn acceptable(can_be_accepted: bool, stamp: Stamp) -> String {
    match can_be_accepted {
        true => format!(
            ", or let what it and later ones do now count in place of what they did with osier recover --accept-divergence \
             {stamp} (in a program with functions, Config::accept_divergence)"
        ),
        false => String::new(),
    }
}

/// The way back to the epoch before, if there is one.
fn until_before(epoch: Epoch, how: &str) -> String {
    let before = epoch.0.saturating_sub(1);
    if before == 0 { String::new() } else { format!(", or {how} --until {before}") }
}

/// A name for a message, after an id.
fn quoted(name: &Option<String>) -> String {
    name.as_ref().map_or_else(String::new, |name| format!(" `{name}`"))
}

fn known(promised: &Option<LogOffset>) -> String {
    promised.map_or_else(String::new, |end| {
        format!(" (other streams knew its stream to be durable up to log offset {end}; {COPIED})")
    })
}

fn cure(error: &SegmentError) -> &'static str {
    match error {
        SegmentError::Io { source, .. } => io_cure(source),
        _ => "",
    }
}
