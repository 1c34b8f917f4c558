//! Why nothing was salvaged. Every variant names the object and says what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::ids::DatabaseId;
use crate::io::error::{cause, copy_cure, io_sqlstate};

/// A salvage that wrote nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SalvageError {
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
    /// Rows may be left, but no consistent state.
    #[error(
        "no consistent state of the database in {} is proven: {what}; restore a backup, or ask for the rows that can still be \
         read, which promise no consistency (--rows)", path.display())]
    NothingProven {
        /// The first directory.
        path: PathBuf,
        /// Why not.
        what: String,
    },
    /// Nothing of a database is there.
    #[error("{} holds no file of a database that can be read; check the path", path.display())]
    NothingFound {
        /// The first directory.
        path: PathBuf,
    },
    /// The manifest is not the one of the files beside it.
    #[error(
        "{} is of database {manifest}, but {} is of database {database}: put the manifest of that database in its place, or \
         ask for the rows that can still be read, which promise no consistency (--rows)", path.display(), file.display())]
    OtherManifest {
        /// The manifest.
        path: PathBuf,
        /// The database that it is of.
        manifest: DatabaseId,
        /// A file of another database, in a directory of which the manifest's has no other file.
        file: PathBuf,
        /// The database that this one is of.
        database: DatabaseId,
    },
    /// Nothing tells which of several databases is meant.
    #[error(
        "the directories named with {} hold as many files of one database as of another ({}); name directories that hold \
         files of one database", path.display(), listed(databases))]
    SeveralDatabases {
        /// The first directory.
        path: PathBuf,
        /// The databases.
        databases: Vec<DatabaseId>,
    },
    /// A salvage goes to empty directories only.
    #[error(
        "{} is not empty; salvage to a new directory, or remove this one first, if its file UNFINISHED says that a restore or \
         salvage to it did not end", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
}

impl SalvageError {
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> SalvageError + 'a {
        move |source| SalvageError::Io { action, path: path.to_owned(), source }
    }

    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            SalvageError::Io { source, .. } => io_sqlstate(source),
            SalvageError::NothingProven { .. }
            | SalvageError::OtherManifest { .. }
            | SalvageError::SeveralDatabases { .. } => "XX001",
            SalvageError::NothingFound { .. } => "3D000",
            SalvageError::NotEmpty { .. } => "42P04",
        }
    }
}

fn listed(databases: &[DatabaseId]) -> String {
    databases.iter().map(|database| database.to_string()).collect::<Vec<_>>().join(", ")
}
