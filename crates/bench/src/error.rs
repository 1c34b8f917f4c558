//! What can go wrong around a run; what goes wrong within one is a [`TargetError`].

use std::io;
use std::path::{Path, PathBuf};

use osier::LogError;

use crate::TargetError;
use crate::attempt::Failure;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The database.
    #[error(transparent)]
    Engine(#[from] osier::Error),
    /// A transaction, or the loading.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The database was filled by another run.
    #[error("{} holds {found}, this run needs {wanted}; give it another --dir, or the options it was made with", dir.display())]
    OtherContents {
        /// The first directory.
        dir: PathBuf,
        /// What was loaded.
        found: String,
        /// What this run loads.
        wanted: String,
    },
    /// A run was interrupted while it loaded.
    #[error("{} holds a database whose loading was not finished; remove the directory or give another --dir", dir.display())]
    Unfinished {
        /// The first directory.
        dir: PathBuf,
    },
    /// The process that has the database open could not be asked, or could not do it.
    #[error("{message}")]
    Asked {
        /// Why not, and what to do about it.
        message: String,
        /// The SQLSTATE.
        sqlstate: String,
    },
    /// Options that do not go together.
    #[error("{0}")]
    Usage(String),
    /// The operating system.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was to be done.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The process that was to be killed ended by itself.
    #[error("the worker process ended by itself ({status}) in round {round}; what it said is above")]
    Worker {
        /// The round.
        round: u32,
        /// How it ended.
        status: String,
    },
}

impl BenchError {
    /// The SQLSTATE of the database's error, or that of the operating system's; `None` for what is neither.
    pub fn sqlstate(&self) -> Option<&str> {
        match self {
            BenchError::Engine(error) => Some(error.sqlstate()),
            BenchError::Target(error) => {
                let log = error.get().downcast_ref::<LogError>().map(LogError::sqlstate);
                let engine = match error.get().downcast_ref() {
                    Some(Failure::Engine(error)) => Some(error),
                    _ => error.get().downcast_ref::<osier::Error>(),
                };
                log.or(engine.map(osier::Error::sqlstate))
            }
            BenchError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => Some("53100"),
            BenchError::Io { .. } => Some("58030"),
            BenchError::Usage(_) => Some("22023"),
            BenchError::Asked { sqlstate, .. } => Some(sqlstate),
            _ => None,
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BenchError {
        let path = path.to_owned();
        move |source| BenchError::Io { action, path, source }
    }
}
