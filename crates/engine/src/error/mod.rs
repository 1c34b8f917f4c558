//! The one error of the public API: each stage of the engine has its own enum, gathered here and mapped once to an
//! SQLSTATE.

mod backup;
mod checkpoint;
mod export;
mod log;
mod procedure;
mod recovery;
mod salvage;
mod transaction;

pub use backup::BackupError;
pub use checkpoint::CheckpointError;
pub use export::ExportError;
pub use log::{LogError, LogFailure};
pub use procedure::ProcedureError;
pub use recovery::{DivergedRow, RecoveryError};
pub use salvage::SalvageError;
pub use transaction::{Contended, SnapshotEnd, TransactionError};

use std::sync::Arc;

use crate::config::ConfigError;
use crate::directory::DirectoryError;
use crate::table::SchemaError;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration cannot be opened.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The directories do not hold a database, or cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The database in the directories is damaged.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// A checkpoint could not be taken. What was committed is as safe as without it.
    #[error(transparent)]
    Checkpoint(#[from] Arc<CheckpointError>),
    /// A backup could not be written or restored.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// Rows could not be exported, or imported.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// Nothing was salvaged.
    #[error(transparent)]
    Salvage(#[from] SalvageError),
    /// A schema, or a value that does not fit one.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Within a transaction.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// A procedure, or a call of one.
    #[error(transparent)]
    Procedure(#[from] ProcedureError),
    /// A background task could not be started.
    #[error("cannot start the thread `{task}`: {source}; raise the limit of threads or free memory")]
    Spawn {
        /// The task.
        task: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// The log: a device failed, or the database is closed.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Error {
    /// Whether running the transaction again may succeed.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Error::Transaction(TransactionError::Conflict { .. }))
    }

    /// See [`TransactionError::is_refusal`].
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Error::Transaction(error) if error.is_refusal())
    }

    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &str {
        match self {
            Error::Config(error) => error.sqlstate(),
            Error::Directory(error) => error.sqlstate(),
            Error::Recovery(error) => error.sqlstate(),
            Error::Checkpoint(error) => error.sqlstate(),
            Error::Backup(error) => error.sqlstate(),
            Error::Export(error) => error.sqlstate(),
            Error::Salvage(error) => error.sqlstate(),
            Error::Schema(error) => error.sqlstate(),
            Error::Transaction(error) => error.sqlstate(),
            Error::Procedure(error) => error.sqlstate(),
            Error::Spawn { .. } => "53000",
            Error::Log(error) => error.sqlstate(),
        }
    }
}
