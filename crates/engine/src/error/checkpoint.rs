//! Why a checkpoint could not be taken or loaded. Every variant names the file and says what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::directory::DirectoryError;
use crate::directory::manifest::ManifestError;
use crate::error::{LogError, LogFailure};
use crate::io::error::{cause, io_cure, io_sqlstate};
use crate::io::in_place::Displaced;

/// A checkpoint that failed. The one before it stays valid, and the log misses nothing.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
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
    /// A part that the manifest names is gone.
    #[error(
        "checkpoint part {} is missing: mount its device or restore it from a copy of this database",
        path.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A sound part, but not the one that belongs there.
    #[error(
        "{} is not the checkpoint part that belongs there: {what}; restore it from a copy of this database",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// Written by a newer program.
    #[error(
        "checkpoint part {} has format version {found}, this program reads up to {}: use a newer osier",
        path.display(), newest
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program reads.
        newest: u32,
    },
    /// Bytes that are not what was written.
    #[error(
        "checkpoint part {} is damaged at byte {position}: {what}; restore it from a copy of this database",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        position: u64,
        /// What is wrong.
        what: String,
    },
    /// Somebody has changed what a checkpoint was writing.
    #[error(
        "{} was moved, removed or replaced while it was written, and the checkpoint was given up; what was there before still \
         holds: leave the directories of an open database alone, and take the checkpoint again",
        path.display()
    )]
    PartDisplaced {
        /// The part.
        path: PathBuf,
    },
    /// Epochs have reached the last one that rows can name.
    #[error("the database has used up its epochs for snapshots; restore its rows into a new database")]
    EpochsExhausted,
    /// The manifest could not be replaced.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// An earlier checkpoint met a failure of the device while it replaced the manifest.
    #[error(
        "it is not known which of two manifests is in {}, since its device failed: no checkpoint is taken until the \
         database is closed and opened again", home.display())]
    InDoubt {
        /// The first directory.
        home: PathBuf,
    },
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
    /// A background task that checkpoints need panicked; its message went to standard error.
    #[error(
        "the background task {task} ended without finishing, and no checkpoint is taken any more: close the database and open \
         it again; this is a defect, please report it"
    )]
    TaskDied {
        /// The task.
        task: &'static str,
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
    /// What ends the log together with the checkpoint: a failure of the device while the manifest was replaced. A part that
    /// could not be written or synced is no such failure. It is abandoned with the checkpoint, nothing was promised of
    /// it, the next one writes other files, and the log still has everything.
    pub(crate) fn log_failure(&self) -> Option<LogFailure> {
        let CheckpointError::Manifest(error) = self else { return None };
        let (action, path, source) = error.device_failure()?;
        if let Some(Displaced { directory }) = Displaced::of(source) {
            return Some(LogFailure::Displaced { path: directory.clone() });
        }
        let copied = source.raw_os_error().map_or_else(|| source.kind().into(), io::Error::from_raw_os_error);
        Some(LogFailure::Device { action, path: path.to_owned(), source: copied })
    }

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
            CheckpointError::InDoubt { .. } => "58030",
            CheckpointError::Directory(error) => error.sqlstate(),
            CheckpointError::Log(error) => error.sqlstate(),
            CheckpointError::PartDisplaced { .. } => "58030",
            CheckpointError::EpochsExhausted => "54000",
            CheckpointError::TaskDied { .. } => "XX000",
            CheckpointError::Thread { .. } => "53000",
            CheckpointError::MemoryLimit { .. } => "53200",
            CheckpointError::Closed => "57P01",
        }
    }
}
