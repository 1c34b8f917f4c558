//! Why directories cannot be opened as a database. Every error names the directory and the cure.

use std::io;
use std::path::{Path, PathBuf};

use super::{IDENTITY_NAME, manifest};
use crate::directory::manifest::ManifestError;
use crate::ids::DatabaseId;
use crate::io::error::{cause, io_cure, io_sqlstate};

/// An identity of a copy would be that of another state.
const LOST_IDENTITY: &str = "restore a backup, or make a new database of what is left with osier salvage";

/// Why the directories cannot be opened as a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// There is no database, and none is to be created.
    #[error("{} holds no database; check the path", named(home))]
    NoDatabase {
        /// The first directory.
        home: PathBuf,
    },
    /// There is a database where a new one was to be created.
    #[error("{} holds a database already; choose another directory", home.display())]
    Exists {
        /// The first directory.
        home: PathBuf,
    },
    /// A directory does not exist, and nothing is to be created.
    #[error("the directory {} does not exist; check the path", path.display())]
    NotThere {
        /// The directory.
        path: PathBuf,
    },
    /// Another process, or another database of this one, has a directory open.
    #[error("the directory {} is open in {}; close that database first", path.display(), holder(*process))]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process, where the system says.
        process: Option<u32>,
    },
    /// Two paths name one directory.
    #[error("{} and {} are the same directory; name each directory once", first.display(), second.display())]
    SameDirectory {
        /// One path.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A directory was removed, or replaced, while the database was opened.
    #[error("what was just written to {} is gone: the directory was removed meanwhile; open the database again", path.display())]
    Vanished {
        /// The directory.
        path: PathBuf,
    },
    /// A directory lies in another one that it must not lie in.
    #[error("{} lies in {}; name a directory outside of it", path.display(), within.display())]
    Within {
        /// The directory.
        path: PathBuf,
        /// What it lies in.
        within: PathBuf,
    },
    /// A directory that is new to the database holds something else.
    #[error("{} is not a directory of this database, but holds {}; name an empty directory", path.display(), file.display())]
    ForeignFile {
        /// The directory.
        path: PathBuf,
        /// What is in it.
        file: PathBuf,
    },
    /// A directory of another database.
    #[error("{}", other_database(path, home, *found, *expected))]
    OtherDatabase {
        /// The directory.
        path: PathBuf,
        /// The first directory.
        home: PathBuf,
        /// The database that it belongs to.
        found: DatabaseId,
        /// The database in the first directory.
        expected: DatabaseId,
    },
    /// A directory of another copy of the database.
    #[error(
        "{} does not fit {}: one of them belongs to another copy of the database, or to an earlier or later state of it; since \
         they were copied one was opened without the other; name the directories of one copy, or restore all of them from one",
        path.join(IDENTITY_NAME).display(), home.join(manifest::FILE_NAME).display())]
    OtherCopy {
        /// The directory.
        path: PathBuf,
        /// The first directory.
        home: PathBuf,
    },
    /// Two directories with one identity.
    #[error(
        "{} and {} are both directory {index} of the database, copies of each other; name the one that was used last",
        first.display(), second.display())]
    SameIdentity {
        /// One directory.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// Their index.
        index: u32,
    },
    /// The first directory is none that holds a manifest.
    #[error("{} is directory {index} of database {:032x}; name the one with the file MANIFEST first", path.display(), database.0)]
    NotHome {
        /// The directory.
        path: PathBuf,
        /// Its index.
        index: u32,
        /// The database that it belongs to.
        database: DatabaseId,
    },
    /// A directory that the database needs was not named.
    #[error(
        "directory {index} of the database in {} is not among those named, and {what}; it was last at {}: name it where it lies \
         now", home.display(), last.display())]
    Missing {
        /// The first directory.
        home: PathBuf,
        /// The index of the directory that is missing.
        index: u32,
        /// Where it was when the database was last opened.
        last: PathBuf,
        /// What it holds.
        what: String,
    },
    /// A directory that the database needs is not what it was.
    #[error(
        "{} holds nothing of the database in {}, where its directory {index} was, and {what}: mount its device, or name the \
         directory where it lies now", path.display(), home.display())]
    Emptied {
        /// What lies there now.
        path: PathBuf,
        /// The first directory.
        home: PathBuf,
        /// The index of the directory that was there.
        index: u32,
        /// What that holds.
        what: String,
    },
    /// The files of the first directory are not of one database.
    #[error(
        "{} and {} do not belong together: {what}; put back the one that was here",
        home.join(IDENTITY_NAME).display(), home.join(manifest::FILE_NAME).display())]
    Mixed {
        /// The first directory.
        home: PathBuf,
        /// How that shows.
        what: String,
    },
    /// The directory of a log stream is gone.
    #[error(
        "the directory {} of log stream {stream} is missing: mount its device, or restore it from a copy of this database",
        path.display())]
    StreamMissing {
        /// The directory.
        path: PathBuf,
        /// The stream.
        stream: u32,
    },
    /// A directory that the database went on without.
    #[error(
        "{} was a directory of the database in {} and was left out; nothing in it is needed: empty it to use it again",
        path.display(), home.display())]
    Retired {
        /// The directory.
        path: PathBuf,
        /// The first directory.
        home: PathBuf,
    },
    /// A directory that is to be left out, and is none of the database.
    #[error("{} is not a directory of the database in {}, so that it cannot be left out", path.display(), home.display())]
    NotPart {
        /// The directory.
        path: PathBuf,
        /// The first directory.
        home: PathBuf,
    },
    /// Files of the database lie behind a symbolic link.
    #[error(
        "{} is a symbolic link, and a copy of its directory would lead into the original; move what it points to in its place, \
         or spread the database over several directories", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A directory lost its identity.
    #[error("{} is missing, although {} holds files of a database; {LOST_IDENTITY}",
        path.display(), path.parent().unwrap_or(path).display())]
    IdentityMissing {
        /// The file.
        path: PathBuf,
    },
    /// The identity of a directory cannot be read.
    #[error("{} is damaged: {what}; {LOST_IDENTITY}", path.display())]
    IdentityDamaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// The identity of a directory was written by a newer program.
    #[error("{} has format version {found}, this program reads up to {known}: use a newer osier", path.display())]
    IdentityVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program reads.
        known: u32,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {}{}", named(path), cause(source, path), cure(source))]
    Io {
        /// What was to be done.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A restore, a salvage or an import was interrupted.
    #[error(
        "{} was being restored, salvaged or imported into, which was not finished; if that does not go on any more, remove the \
         directory and do it again",
        home.display()
    )]
    Unfinished {
        /// The first directory.
        home: PathBuf,
    },
    /// The control socket.
    #[error("cannot listen on {}: {}; set control_socket to no where the file system takes no sockets", path.display(),
        cause(source, path))]
    Socket {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

fn holder(process: Option<u32>) -> String {
    process.map_or_else(|| "another process, or in this one".to_owned(), |process| format!("process {process}"))
}

/// A path as a message shows it.
fn named(path: &Path) -> std::path::Display<'_> {
    if path.as_os_str().is_empty() { Path::new("the directory whose name is empty").display() } else { path.display() }
}

/// A directory that is not there is no damage to a database. One that cannot be created where there is nothing to create it in
/// is refused by the system.
fn directory_sqlstate(action: &str, source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound if action == "create" => "58030",
        io::ErrorKind::NotFound => "3D000",
        _ => io_sqlstate(source),
    }
}

fn cure(source: &io::Error) -> &'static str {
    match io_cure(source) {
        "" => "; check the path, its permissions and the space left",
        cure => cure,
    }
}

/// Where the first directory itself is of two databases, naming others does not help.
fn other_database(path: &Path, home: &Path, found: DatabaseId, expected: DatabaseId) -> String {
    let (found, expected) = (format!("{:032x}", found.0), format!("{:032x}", expected.0));
    if path == home {
        let what = format!("the first is of database {found}, the second of {expected}");
        return DirectoryError::Mixed { home: home.to_owned(), what }.to_string();
    }
    let home = home.display();
    format!(
        "{} belongs to database {found}, and not to {expected}, the one in {home}; name the directories of one database",
        path.display()
    )
}

impl DirectoryError {
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> DirectoryError + 'a {
        move |source| DirectoryError::Io { action, path: path.to_owned(), source }
    }

    /// Returns the SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            DirectoryError::NoDatabase { .. } | DirectoryError::NotThere { .. } => "3D000",
            DirectoryError::Exists { .. } | DirectoryError::ForeignFile { .. } => "42P04",
            DirectoryError::InUse { .. } => "55006",
            DirectoryError::Unfinished { .. } | DirectoryError::Link { .. } => "55000",
            DirectoryError::SameDirectory { .. }
            | DirectoryError::Within { .. }
            | DirectoryError::SameIdentity { .. }
            | DirectoryError::NotHome { .. }
            | DirectoryError::Retired { .. }
            | DirectoryError::NotPart { .. } => "22023",
            DirectoryError::Vanished { .. }
            | DirectoryError::Missing { .. }
            | DirectoryError::Emptied { .. }
            | DirectoryError::StreamMissing { .. }
            | DirectoryError::IdentityMissing { .. } => "58P01",
            DirectoryError::IdentityDamaged { .. }
            | DirectoryError::OtherDatabase { .. }
            | DirectoryError::Mixed { .. }
            | DirectoryError::OtherCopy { .. } => "XX001",
            DirectoryError::IdentityVersion { .. } => "0A000",
            DirectoryError::Io { action, source, .. } => directory_sqlstate(action, source),
            DirectoryError::Socket { source, .. } => io_sqlstate(source),
            DirectoryError::Manifest(error) => error.sqlstate(),
        }
    }
}
