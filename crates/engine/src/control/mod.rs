//! The control socket: another process asks the one that has the database open.
//!
//! A question is one line of JSON, the answer another; then the connection ends. With the setting `control_socket` the
//! socket is `CONTROL` in the first directory (docs/operations.md); it goes when the database is closed.
//!
//! Invariants:
//! - Whatever can be asked is a method of [`Database`], and does what that does.
//! - The socket does not keep the database open: it answers for as long as somebody else does.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};

use crate::backup::BackupReport;
use crate::checkpoint::CheckpointReport;
use crate::config::Config;
use crate::database::{Database, Inner};
use crate::directory::DirectoryError;
use crate::error::Error;
use crate::ids::WallTime;
use crate::io::socket::{self, Listening};
use crate::status::{CheckpointStatus, Status};

/// The socket's name in the first directory.
pub const SOCKET_NAME: &str = "CONTROL";

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
    #[error("cannot ask the process that has the database open, over {}: {source}; run this as the same user", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The process is of another version.
    #[error("the process that has the database open answers over {} what this program does not understand: {what}; use the osier that it runs", path.display())]
    Protocol {
        /// The socket.
        path: PathBuf,
        /// What was wrong.
        what: String,
    },
}

/// Asks the process that has the database with this first directory open; `None` where none does, or it has no socket.
pub fn ask(home: &Path, request: &Request) -> Result<Option<Answer>, ControlError> {
    let path = home.join(SOCKET_NAME);
    let question = serde_json::to_string(request).expect("a request is JSON");
    let answer = socket::ask(&path, &question).map_err(|source| ControlError::Io { path: path.clone(), source })?;
    let parse = |answer: String| {
        serde_json::from_str(&answer).map_err(|error| ControlError::Protocol { path, what: error.to_string() })
    };
    answer.map(parse).transpose()
}

/// Serves the database until the value is dropped.
pub(crate) fn serve(config: &Config, database: Weak<Inner>) -> Result<Listening, DirectoryError> {
    let (disk, home) = (&config.environment.disk, &config.dirs[0]);
    let path = home.join(SOCKET_NAME);
    let answer = move |question: &str| {
        let answer = match (serde_json::from_str(question), database.upgrade()) {
            (Err(error), _) => failed(&format!("`{question}` is not understood: {error}"), "08P01"),
            (_, None) => failed("the database is being closed; ask again when it is", "57P01"),
            (Ok(request), Some(inner)) => Database { inner }.answer(&request),
        };
        serde_json::to_string(&answer).expect("an answer is JSON")
    };
    // Without a log there may be no directory yet.
    let listening = disk.create_dir_all(home).and_then(|()| socket::listen(&path, Arc::new(answer)));
    listening.map_err(|source| DirectoryError::Socket { path, source })
}

fn failed(message: &str, sqlstate: &str) -> Answer {
    Answer::Failed { message: message.to_owned(), sqlstate: sqlstate.to_owned() }
}

impl Database {
    fn answer(&self, request: &Request) -> Answer {
        let answer = match request {
            Request::Status => self.status().map(Box::new).map(Answer::Status),
            Request::Checkpoint => {
                let now = || self.config().environment.clock.wall().into();
                self.checkpoint().map(|report| Answer::Checkpoint(CheckpointTaken::new(&report, now())))
            }
            Request::Backup { target, checkpoint } => self.backup(target, *checkpoint).map(Answer::Backup),
        };
        answer.unwrap_or_else(|error: Error| failed(&error.to_string(), error.sqlstate()))
    }
}
