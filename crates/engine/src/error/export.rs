//! Why an export or an import failed. Every variant names the object and says what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::io::error::{cause, copy_cure, io_sqlstate};

/// Rows that were not exported, or are not imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
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
    /// An export goes to a directory of its own.
    #[error(
        "{} is not empty; export to a new directory, or remove this one first, if its file EXPORT.tmp says that an export to it \
         did not end", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The directory of an export was moved, removed or replaced while it was written.
    #[error(
        "{} is no longer the directory that the export began in, and nothing more is written there; export again, and leave the \
         directory in its place", path.display())]
    Displaced {
        /// The directory.
        path: PathBuf,
    },
    /// There is nothing where an export should be.
    #[error("{} does not exist; check the path", path.display())]
    NotThere {
        /// The directory.
        path: PathBuf,
    },
    /// There is something else where an export should be, or nothing in the directory.
    #[error("{} holds no export: there is no file EXPORT in it; check the path", path.display())]
    NoExport {
        /// The directory.
        path: PathBuf,
    },
    /// An export was interrupted, or goes on.
    #[error(
        "{} holds an export that did not end; wait if it goes on, else remove the directory and export again", path.display())]
    NotWhole {
        /// The directory.
        path: PathBuf,
    },
    /// A file of the export is gone.
    #[error("{} is missing, which the export lists; put it back, or export again", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file lies in the export that it does not list.
    #[error("{} is not of this export; move it to another directory", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A file that is not what was written.
    #[error("{} is damaged: {what}; use another copy of the export, or export again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A line that is not what was written.
    #[error("{}, line {line}, is damaged: {what}; use another copy of the export, or export again", path.display())]
    DamagedLine {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// Written by a newer program.
    #[error("{} has format version {found}, this program reads up to {newest}: use a newer osier", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program reads.
        newest: u32,
    },
    /// The database has such an object already.
    #[error(
        "{kind} `{name}` exists in the database in {}, and an import replaces nothing; drop it, or import into a new directory",
        home.display())]
    Exists {
        /// What it is: a table, a sequence or a procedure.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The first directory of the database.
        home: PathBuf,
    },
    /// A new database goes to directories that hold nothing.
    #[error("{} is not empty and holds no database; import into a new directory", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
    },
}

impl ExportError {
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> ExportError + 'a {
        move |source| ExportError::Io { action, path: path.to_owned(), source }
    }

    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            ExportError::Io { source, .. } => io_sqlstate(source),
            ExportError::NotEmpty { .. } | ExportError::Foreign { .. } | ExportError::Occupied { .. } => "42P04",
            ExportError::NotThere { .. } | ExportError::NoExport { .. } => "3D000",
            ExportError::Displaced { .. } => "55000",
            ExportError::NotWhole { .. } | ExportError::Missing { .. } => "58P01",
            ExportError::Damaged { .. } | ExportError::DamagedLine { .. } => "XX001",
            ExportError::Version { .. } => "0A000",
            ExportError::Exists { .. } => "42710",
        }
    }
}
