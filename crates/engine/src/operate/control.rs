//! The control socket: another process asks the one that has the database open.
//!
//! A question is one line of JSON, the answer another; then the connection ends. With the setting `control_socket` the
//! socket is `CONTROL` in the first directory (docs/operations.md); it is removed when the database is closed.
//!
//! Invariants:
//! - A process answers for its own directory only. A copy of a directory may hold another name of the socket, or a link to it:
//!   so [`ask`] says which directory it means, by device and number, and a process that has another one open does nothing.
//! - Whatever can be asked is a method of [`Database`], and does what that does.
//! - The socket does not keep the database open: it answers for as long as another handle does.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use osier_memory::sync::lock;
use serde::{Deserialize, Serialize};

use crate::checkpoint::CheckpointReport;
use crate::config::Config;
use crate::database::{Database, Inner};
use crate::directory::DirectoryError;
pub use crate::directory::SOCKET_NAME;
use crate::error::Error;
use crate::ids::WallTime;
use crate::io::error::io_sqlstate;
use crate::io::{Disk, OsDisk, process_id, socket};
use crate::operate::backup::BackupReport;
use crate::operate::export::{ExportReport, ImportReport};
use crate::operate::status::{CheckpointStatus, Status};

/// The SQLSTATE of a question that is not understood.
const NOT_UNDERSTOOD: &str = "08P01";

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Request {
    /// How the database stands.
    Status,
    /// Take a checkpoint, and answer when it is valid.
    Checkpoint,
    /// Write a backup, and answer when it is whole.
    Backup {
        /// Where to; an absolute path.
        target: PathBuf,
        /// Whether it is to begin with a new checkpoint.
        checkpoint: bool,
    },
    /// Export the rows that are committed now, and answer when the export is whole.
    Export {
        /// Where to; an absolute path.
        target: PathBuf,
    },
    /// Import an export, and answer when all of it is durable.
    Import {
        /// Where it is; an absolute path.
        source: PathBuf,
    },
}

/// A request, and for which first directory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The device of the directory, and its number there.
    home: (u64, u64),
    request: Request,
}

/// What a process reads: a request alone is for the directory that the socket is in.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Asked {
    Of(Question),
    Alone(Request),
}

/// What is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// How the database stands.
    Status(Box<Status>),
    /// The checkpoint that was taken.
    Checkpoint(CheckpointTaken),
    /// The backup that was written.
    Backup(BackupReport),
    /// The export that was written.
    Export(ExportReport),
    /// What was imported.
    Import(ImportReport),
    /// Nothing was done: the process has another directory open than the one that was asked about.
    Elsewhere {
        /// Its first directory.
        home: PathBuf,
        /// The process.
        process: u32,
    },
    /// It could not be done.
    Failed {
        /// Why not, and what to do about it.
        message: String,
        /// The class of the failure.
        sqlstate: String,
    },
}

/// A checkpoint that was taken on demand.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CheckpointTaken {
    /// The checkpoint.
    #[serde(flatten)]
    pub checkpoint: CheckpointStatus,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Of these, until transactions that were open had ended.
    pub waited_seconds: f64,
}

impl CheckpointTaken {
    /// Of a checkpoint that became valid now.
    pub fn new(report: &CheckpointReport, now: WallTime) -> CheckpointTaken {
        CheckpointTaken {
            checkpoint: CheckpointStatus::taken(report, now),
            seconds: report.seconds,
            waited_seconds: report.waited_seconds,
        }
    }
}

/// Why a process could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The socket.
    #[error(
        "cannot ask the process that has the database open, over {}: {source}; {}",
        path.display(), cure(source)
    )]
    Io {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The process is of another version.
    #[error(
        "the process that has the database open answers over {} what this program does not understand: \
         {what}; use the osier that it runs",
        path.display()
    )]
    Protocol {
        /// The socket.
        path: PathBuf,
        /// What was wrong.
        what: String,
    },
    /// The socket is another name of, or a link to, that of another database.
    #[error(
        "{} leads to process {process}, which has {} open and not this directory: a copy of it; remove {}, and ask again",
        path.display(), home.display(), path.display()
    )]
    Elsewhere {
        /// The socket.
        path: PathBuf,
        /// The first directory that the process has open.
        home: PathBuf,
        /// The process.
        process: u32,
    },
}

/// What to do where a process cannot be asked.
fn cure(source: &io::Error) -> &'static str {
    match has_ended(source) {
        true => "what it was asked for may be done in part or as a whole: osier status tells",
        false => "run this as the same user",
    }
}

/// Whether the connection ended before there was an answer.
fn has_ended(source: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(source.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

impl ControlError {
    /// Returns the SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            ControlError::Io { source, .. } if has_ended(source) => "57P01",
            ControlError::Io { source, .. } => io_sqlstate(source),
            ControlError::Protocol { .. } => NOT_UNDERSTOOD,
            ControlError::Elsewhere { .. } => "42P04",
        }
    }
}

/// Asks the process that has the database with this first directory open; `None` where none does, or it has no socket.
pub fn ask(home: &Path, request: &Request) -> Result<Option<Answer>, ControlError> {
    let path = home.join(SOCKET_NAME);
    let of = match OsDisk.status(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        status => status.map_err(|source| ControlError::Io { path: path.clone(), source })?,
    };
    let question = Question { home: of.id, request: request.clone() };
    let question = serde_json::to_string(&question)
        .map_err(|error| ControlError::Protocol { path: path.clone(), what: format!("the question: {error}") })?;
    let answer = socket::ask(&path, &question).map_err(|source| ControlError::Io { path: path.clone(), source })?;
    let Some(answer) = answer else { return Ok(None) };
    match serde_json::from_str(&answer) {
        Ok(Answer::Elsewhere { home, process }) => Err(ControlError::Elsewhere { path, home, process }),
        Ok(Answer::Failed { message, sqlstate }) if sqlstate == NOT_UNDERSTOOD => {
            Err(ControlError::Protocol { path, what: message })
        }
        Ok(answer) => Ok(Some(answer)),
        Err(error) => Err(ControlError::Protocol { path, what: error.to_string() }),
    }
}

/// What answers for the database, whose first directory is `home`.
fn serve(database: Weak<Inner>, home: (u64, u64)) -> impl Fn(&str) -> String + Send + Sync + 'static {
    move |question: &str| {
        let answer = match (serde_json::from_str(question), database.upgrade()) {
            (Err(error), _) => failed(&format!("`{question}` is not understood: {error}"), NOT_UNDERSTOOD),
            (_, None) => failed("the database is being closed; ask again when it is", "57P01"),
            (Ok(Asked::Of(question)), Some(inner)) if question.home != home => Database { inner }.elsewhere(),
            (Ok(Asked::Of(Question { request, .. }) | Asked::Alone(request)), Some(inner)) => {
                Database { inner }.answer(&request)
            }
        };
        serde_json::to_string(&answer).unwrap_or_else(|error| {
            let answer = failed(&format!("it was done, and the answer cannot be told: {error}"), NOT_UNDERSTOOD);
            serde_json::to_string(&answer).expect("a text is JSON")
        })
    }
}

fn failed(message: &str, sqlstate: &str) -> Answer {
    Answer::Failed { message: message.to_owned(), sqlstate: sqlstate.to_owned() }
}

impl Database {
    /// Answers over the socket from now on, until the database is closed.
    pub(crate) fn listen(&self) -> Result<(), DirectoryError> {
        let Config { environment, dirs, .. } = self.config();
        let path = dirs[0].join(SOCKET_NAME);
        let listen = || {
            // Without a log there may be no directory yet.
            environment.disk.create_dir_all(&dirs[0])?;
            let home = OsDisk.status(&dirs[0])?;
            socket::listen(&path, Arc::new(serve(Arc::downgrade(&self.inner), home.id)))
        };
        let listening = listen();
        *lock(&self.inner.control) = Some(listening.map_err(|source| DirectoryError::Socket { path, source })?);
        Ok(())
    }

    fn elsewhere(&self) -> Answer {
        let home = &self.config().dirs[0];
        let home = std::path::absolute(home).unwrap_or_else(|_| home.clone());
        Answer::Elsewhere { home, process: process_id() }
    }

    fn answer(&self, request: &Request) -> Answer {
        let answer = match request {
            Request::Status => self.status().map(Box::new).map(Answer::Status),
            Request::Checkpoint => {
                let now = || self.config().environment.clock.wall().into();
                self.checkpoint().map(|report| Answer::Checkpoint(CheckpointTaken::new(&report, now())))
            }
            Request::Backup { target, checkpoint } => self.backup(target, *checkpoint).map(Answer::Backup),
            Request::Export { target } => {
                self.snapshot().and_then(|snapshot| self.export(&snapshot, target)).map(Answer::Export)
            }
            Request::Import { source } => self.import(source).map(Answer::Import),
        };
        answer.unwrap_or_else(|error: Error| failed(&error.to_string(), error.sqlstate()))
    }
}
