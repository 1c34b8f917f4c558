//! Why a backup or a restore failed. Every variant names the file and says what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::ids::Stamp;
use crate::io::error::{cause, copy_cure, io_sqlstate};

/// A backup that was not written, or cannot be restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The operating system refused.
    #[error("cannot {action} {}: {}{}", path.display(), cause(source, path), copy_cure(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The target holds something else.
    #[error("{} is in the way; name a directory that is empty, or holds a backup of this database", path.display())]
    Foreign {
        /// What is in the target.
        path: PathBuf,
    },
    /// Another backup is being written there.
    #[error("another backup is being written to {}{}; wait until that ends, or name another directory", target.display(),
        process.map_or_else(String::new, |process| format!(" by process {process}")))]
    Busy {
        /// The target.
        target: PathBuf,
        /// The process that writes it, where that is known.
        process: Option<u32>,
    },
    /// What is written through a link falls into another place.
    #[error(
        "{} is a symbolic link; a backup is written to one place: put what it points to there, or name another directory",
        path.display())]
    Link {
        /// What is in the target.
        path: PathBuf,
    },
    /// The target holds a backup of another database.
    #[error("{} holds a backup of database {found}, not of {expected}; name another directory", target.display())]
    OtherDatabase {
        /// The target.
        target: PathBuf,
        /// Of the backup.
        found: String,
        /// Of the database.
        expected: String,
    },
    /// The target holds a backup of the same database as it was elsewhere: of a copy, or of what was restored from another
    /// backup.
    #[error(
        "{} holds a backup of another copy of this database, in which other transactions followed; name another directory",
        target.display())]
    OtherCopy {
        /// The target.
        target: PathBuf,
    },
    /// There is no whole backup.
    #[error("{} holds no whole backup: {} is missing; name another one, or write the backup again", path.display(), index)]
    NotWhole {
        /// The directory.
        path: PathBuf,
        /// The file that is missing.
        index: &'static str,
    },
    /// There is nothing where a backup should be.
    #[error("{} does not exist; check the path", path.display())]
    NotThere {
        /// The directory.
        path: PathBuf,
    },
    /// There is something else where a backup should be, or nothing in the directory.
    #[error("{} holds no backup; check the path", path.display())]
    NoBackup {
        /// The directory.
        path: PathBuf,
    },
    /// There is a database where a backup should be.
    #[error("{} holds a database, not a backup; name the backup first, and then new directories for it", path.display())]
    Database {
        /// The directory.
        path: PathBuf,
    },
    /// Bytes that are not what was written.
    #[error(
        "{} is damaged: {what}; use another backup, or write this one anew: to another place, or with a checkpoint",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Written by a newer program.
    #[error(
        "{} has format version {found}, this program reads up to {}: use a newer osier",
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
    /// What was copied is nothing that recovery would take.
    #[error(
        "the database in {} is damaged, or its copy in {}: osier log verify {} tells which. In the copy {error}",
        home.display(), target.display(), home.display()
    )]
    Unsound {
        /// The first directory of the database.
        home: PathBuf,
        /// The target, which holds the backup before this one, or none.
        target: PathBuf,
        /// What is wrong with the copy.
        error: Box<Error>,
    },
    /// What is durable did not show up in the files.
    #[error("the log in {} does not reach stamp {stamp}, which is durable; try again", home.display())]
    Unsettled {
        /// The database.
        home: PathBuf,
        /// What was waited for.
        stamp: Stamp,
    },
    /// A restore goes to empty directories only.
    #[error("{} is not empty; restore to a new directory", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// What was restored so far does not open, and keeps its place until it is removed by hand.
    #[error("{error}; the restore did not end: remove {}, and restore again", joined(dirs))]
    RestoreFailed {
        /// The directories of the new database.
        dirs: Vec<PathBuf>,
        /// Why it did not end.
        error: Box<Error>,
    },
    /// The database was closed meanwhile.
    #[error("the database was closed before the backup in {} was whole; write it again", target.display())]
    Closed {
        /// The target.
        target: PathBuf,
    },
}

fn joined(dirs: &[PathBuf]) -> String {
    dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(" and ")
}

impl BackupError {
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> BackupError + 'a {
        move |source| BackupError::Io { action, path: path.to_owned(), source }
    }

    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &str {
        match self {
            BackupError::Io { source, .. } => io_sqlstate(source),
            BackupError::Foreign { .. }
            | BackupError::Link { .. }
            | BackupError::OtherDatabase { .. }
            | BackupError::OtherCopy { .. }
            | BackupError::Database { .. }
            | BackupError::NotEmpty { .. } => "42P04",
            BackupError::Busy { .. } => "55006",
            BackupError::NotWhole { .. } => "58P01",
            BackupError::NotThere { .. } | BackupError::NoBackup { .. } => "3D000",
            BackupError::Damaged { .. } => "XX001",
            BackupError::Version { .. } => "0A000",
            BackupError::Unsettled { .. } => "55000",
            BackupError::Unsound { error, .. } | BackupError::RestoreFailed { error, .. } => error.sqlstate(),
            BackupError::Closed { .. } => "57P01",
        }
    }
}
