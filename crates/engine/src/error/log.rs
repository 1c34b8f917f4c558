//! What can go wrong between a commit and its durability.
//!
//! Invariant: the first failure is the failure. It is recorded once, every receipt not yet covered reports it, and
//! nothing is tried again: after a failed sync the operating system may have dropped the very pages that failed,
//! so only a restart, which reads what is on the device, can say what survived (docs/protocols.md).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::ids::Stamp;
use crate::io::error::{cause, is_full};
use crate::io::in_place::Displaced;

/// Settings that fit together.
const SMALL_FILES: &str = "such as segment_bytes=2097152, ring_bytes=1048576 and transaction_log_bytes_max=262144";

/// Why a commit cannot be logged or will never be durable.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The log failed earlier; the database takes no more commits.
    #[error("the log has failed and nothing more becomes durable: {0}{cure}", cure = cure(.0))]
    Failed(Arc<LogFailure>),
    /// The log is closing or closed.
    #[error("the database is closed")]
    Closed,
    /// A record that no ring can hold.
    #[error(
        "the transaction's log record takes {bytes} bytes, the limit is {limit}; \
         write less in one transaction or raise transaction_log_bytes_max and ring_bytes"
    )]
    RecordTooLarge {
        /// What it takes.
        bytes: usize,
        /// What is allowed.
        limit: usize,
    },
    /// A transaction that recovery runs again rests on what came after it.
    #[error("transaction {stamp} rests on a row of transaction {base}, which came after it")]
    OutOfOrder {
        /// Of the transaction.
        stamp: Stamp,
        /// The greatest stamp that it read or overwrites.
        base: Stamp,
    },
}

/// The event that ended a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogFailure {
    /// The device has no room for the next segment.
    #[error(
        "no space for the next log segment {}: {}; free space on that device, or let the files be smaller ({SMALL_FILES}), and \
         open the database again",
        path.display(), cause(source, path)
    )]
    DeviceFull {
        /// The file that could not be made.
        path: PathBuf,
        /// From the operating system.
        source: io::Error,
    },
    /// A log file could not be prepared, written or made durable.
    #[error("cannot {action} {}: {}; check that device", path.display(), cause(source, path))]
    Device {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// From the operating system.
        source: io::Error,
    },
    /// A directory, or a segment that is being written, is no longer where it was.
    #[error(
        "{} was moved, removed or replaced while the database had it open, and nothing is written to what lies \
         there now", path.display()
    )]
    Displaced {
        /// The directory, or the segment.
        path: PathBuf,
    },
    /// A background thread could not be started.
    #[error("cannot start the thread {task}: {source}; raise the limit of threads")]
    Spawn {
        /// The thread.
        task: String,
        /// From the operating system.
        source: io::Error,
    },
    /// A background thread panicked; its message went to standard error.
    #[error("the background task {task} ended without finishing; this is a defect, please report it")]
    TaskDied {
        /// The thread.
        task: String,
    },
    /// A transaction of the log could not be run again while the database was open already.
    #[error("the recovery that went on while the database was open has failed: {what}")]
    Recovery {
        /// The error of that recovery.
        what: String,
        /// Its SQLSTATE.
        sqlstate: &'static str,
    },
    /// The engine stopped the log.
    #[error("{0}")]
    Stopped(String),
}

impl LogFailure {
    /// Classifies an I/O error on a log file.
    pub(crate) fn device(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> LogFailure {
        let path = path.into();
        if let Some(Displaced { directory }) = Displaced::of(&source) {
            return LogFailure::Displaced { path: directory.clone() };
        }
        match is_full(&source) {
            true => LogFailure::DeviceFull { path, source },
            false => LogFailure::Device { action, path, source },
        }
    }

    /// Whether space on the device would have helped.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, LogFailure::DeviceFull { .. })
    }

    fn sqlstate(&self) -> &'static str {
        match self {
            LogFailure::DeviceFull { .. } => "53100",
            LogFailure::Device { .. } | LogFailure::Displaced { .. } => "58030",
            LogFailure::Spawn { .. } => "53000",
            LogFailure::Recovery { sqlstate, .. } => sqlstate,
            LogFailure::TaskDied { .. } | LogFailure::Stopped(_) => "XX000",
        }
    }
}

/// What there is to do beside the failure's own cure.
fn cure(failure: &LogFailure) -> &'static str {
    if failure.is_full() { "" } else { ". Close the database and open it again to recover" }
}

impl LogError {
    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            LogError::Failed(failure) => failure.sqlstate(),
            LogError::Closed => "57P01",
            LogError::RecordTooLarge { .. } => "54000",
            LogError::OutOfOrder { .. } => "XX001",
        }
    }
}

impl From<LogFailure> for LogError {
    fn from(failure: LogFailure) -> LogError {
        LogError::Failed(Arc::new(failure))
    }
}
