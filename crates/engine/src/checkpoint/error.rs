//! Why a checkpoint could not be taken or loaded. Every variant names the file and says what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::directory::DirectoryError;
use crate::log::LogError;
use crate::persist::manifest::ManifestError;
use crate::persist::segment::{io_cure, io_sqlstate};

/// A checkpoint that failed. The one before it stays valid, and the log misses nothing.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}{}", path.display(), io_cure(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A part that the manifest names is gone.
    #[error("checkpoint part {} is missing: mount its device or restore it from a copy of this database", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A sound part, but not the one that belongs there.
    #[error("{} is not the checkpoint part that belongs there: {what}; restore it from a copy of this database", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// Written by a newer program.
    #[error("checkpoint part {} has format version {found}, this program reads up to {}: use a newer osier", path.display(), super::format::VERSION)]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// Bytes that are not what was written.
    #[error("checkpoint part {} is damaged at byte {position}: {what}; restore it from a copy of this database", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        position: u64,
        /// What is wrong.
        what: String,
    },
    /// Rows that were set aside for the scan were not met by it: a fault of this program, reported instead of a checkpoint.
    #[error("the scan of a checkpoint missed {rows} rows: the checkpoint is given up; report this fault")]
    Incomplete {
        /// How many.
        rows: usize,
    },
    /// The manifest could not be replaced.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The directories cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// What the checkpoint holds cannot become durable.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A thread could not be started or died.
    #[error("the checkpoint could not go on: {what}")]
    Thread {
        /// What happened.
        what: String,
    },
    /// Rows that were overwritten meanwhile had to be kept, and there is no more memory for them.
    #[error(
        "the checkpoint was given up: {retained} bytes are kept for it and {used} bytes of memory are in use where \
         memory_limit is {limit}; take it again when less is written, raise memory_limit or delete rows"
    )]
    MemoryLimit {
        /// What was kept for it.
        retained: u64,
        /// What is in use.
        used: u64,
        /// The limit.
        limit: u64,
    },
    /// The database was closed meanwhile.
    #[error("the database was closed before the checkpoint was complete; the previous one stays valid")]
    Closed,
}

impl CheckpointError {
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> CheckpointError + 'a {
        move |source| CheckpointError::Io { action, path: path.to_owned(), source }
    }

    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            CheckpointError::Io { source, .. } => io_sqlstate(source),
            CheckpointError::Missing { .. } => "58P01",
            CheckpointError::Foreign { .. } | CheckpointError::Damaged { .. } => "XX001",
            CheckpointError::Version { .. } => "0A000",
            CheckpointError::Manifest(error) => error.sqlstate(),
            CheckpointError::Directory(error) => error.sqlstate(),
            CheckpointError::Log(error) => error.sqlstate(),
            CheckpointError::Incomplete { .. } => "XX000",
            CheckpointError::Thread { .. } => "53000",
            CheckpointError::MemoryLimit { .. } => "53200",
            CheckpointError::Closed => "57P01",
        }
    }
}
