//! The directories of a database: what each of them is, which process has it, and where it lies.
//!
//! A directory is what its identity says ([`identity`]), not how its path is spelled. To open a database is to claim its
//! directories ([`claim`]): they are locked, and found among those that the caller names.

mod claim;
mod create;
mod error;
mod faults;
mod identity;
pub mod manifest;
mod overlap;
mod state;
mod taken_back;

use std::path::{Path, PathBuf};

pub(crate) use claim::{Claim, Lock, anchored, find, find_damaged, lock, lock_to_read};
pub(crate) use create::{create_below, create_durably, create_streams};
pub use error::DirectoryError;
pub(crate) use overlap::refuse_overlap;
pub use state::DatabaseState;
pub use taken_back::TakenBack;

use crate::config::{Config, Protocol};
use crate::io::{Disk, OpenMode};
use manifest::Manifest;

/// The name of the control socket in the first directory.
pub const SOCKET_NAME: &str = "CONTROL";
/// The name of the directory of checkpoints in each directory.
pub(crate) const CHECKPOINTS_NAME: &str = "checkpoints";
/// The name of the identity in each directory.
const IDENTITY_NAME: &str = "IDENTITY";
/// The name of the lock file in each directory.
pub(crate) const LOCK_NAME: &str = "LOCK";
/// Lies in the first directory of a database that is being made by a restore or a salvage.
const UNFINISHED_NAME: &str = "UNFINISHED";

/// Marks a directory that is being filled: no open takes it for a database until the mark is gone.
pub(crate) fn mark_unfinished(disk: &dyn Disk, home: &Path) -> Result<(), DirectoryError> {
    let path = home.join(UNFINISHED_NAME);
    let marked = disk.open(&path, OpenMode::Create).and_then(|file| file.sync()).and_then(|()| disk.sync_dir(home));
    marked.map_err(DirectoryError::io("create", &path))
}

/// Removes the mark: everything is in place.
pub(crate) fn unmark(disk: &dyn Disk, home: &Path) -> Result<(), DirectoryError> {
    let path = home.join(UNFINISHED_NAME);
    disk.remove(&path).and_then(|()| disk.sync_dir(home)).map_err(DirectoryError::io("remove", &path))
}

/// Fails where the directory is being restored, or salvaged into, or was and that did not end.
pub(crate) fn refuse_unfinished(config: &Config) -> Result<(), DirectoryError> {
    let path = config.dirs.first().map_or(PathBuf::new(), |home| home.join(UNFINISHED_NAME));
    match config.environment.disk.exists(&path).map_err(DirectoryError::io("look for", &path))? {
        true => Err(DirectoryError::Unfinished { home: config.dirs[0].clone() }),
        false => Ok(()),
    }
}

/// Returns the protocol of the database that is there, if one is. A directory of a database whose manifest is not there is
/// refused.
pub(crate) fn protocol(config: &Config) -> Result<Option<Protocol>, DirectoryError> {
    let manifest = Manifest::load(&*config.environment.disk, &config.dirs[0], &config.dirs)?;
    if manifest.is_none() {
        claim::refuse_known(config)?;
    }
    Ok(manifest.map(|manifest| manifest.current.protocol))
}

/// Whether there is anything in a directory but a lock, which an open that is refused leaves behind.
pub(crate) fn holds_anything(disk: &dyn Disk, directory: &Path) -> Result<bool, DirectoryError> {
    let entries = disk.list(directory).map_err(DirectoryError::io("list", directory))?;
    Ok(entries.iter().any(|entry| !entry.ends_with(LOCK_NAME)))
}

/// Whether there is a manifest in the first directory.
pub(crate) fn holds_database(config: &Config) -> Result<bool, DirectoryError> {
    let path = config.dirs[0].join(manifest::FILE_NAME);
    config.environment.disk.exists(&path).map_err(DirectoryError::io("look for", &path))
}
