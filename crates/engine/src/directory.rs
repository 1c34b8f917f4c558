//! The directory of an open database: its lock and its manifest, from the open to the clean close.
//!
//! Invariants:
//! - The lock is held from before the manifest is read until after the generation is frozen.
//! - A directory without a manifest is taken for a new database only if it is empty.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{Config, Create};
use crate::error::Error;
use crate::ids::{DatabaseId, Epoch, StreamId};
use crate::io::Disk;
use crate::log::LogLayout;
use crate::persist::manifest::{self, Manifest, ManifestError, StreamEnd};
use crate::recovery::{self, RecoveryReport};
use crate::table::store::Store;

/// The name of the lock file in the first directory.
const LOCK_NAME: &str = "LOCK";

/// Why the directories cannot be opened as a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// There is no database, and none is to be created.
    #[error("{} holds no database; check the path", home.display())]
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
    /// Another process has it open.
    #[error("the database in {} is open in another process; stop that one first", home.display())]
    InUse {
        /// The first directory.
        home: PathBuf,
    },
    /// The directory holds something else.
    #[error("{} holds no database, but {}; choose an empty directory for a new one", home.display(), file.display())]
    ForeignFile {
        /// The first directory.
        home: PathBuf,
        /// What is in it.
        file: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}; check the path, its permissions and the space left", path.display())]
    Io {
        /// What was to be done.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl DirectoryError {
    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            DirectoryError::NoDatabase { .. } => "3D000",
            DirectoryError::Exists { .. } => "42P04",
            DirectoryError::InUse { .. } => "55006",
            DirectoryError::ForeignFile { .. } => "42P04",
            DirectoryError::Io { .. } => "58030",
            DirectoryError::Manifest(error) => error.sqlstate(),
        }
    }
}

/// A database's files, held for as long as it is open.
pub(crate) struct Directory {
    disk: Arc<dyn Disk>,
    home: PathBuf,
    manifest: Manifest,
    /// `None` where the database was created.
    pub(crate) report: Option<RecoveryReport>,
    _lock: Box<dyn Any + Send + Sync>,
}

impl Directory {
    /// Locks the directories, and recovers the database in them into `store`, or creates one.
    pub(crate) fn open(config: &Config, store: &Store) -> Result<Directory, Error> {
        let (disk, home) = (config.environment.disk.clone(), config.dirs[0].clone());
        if config.create == Create::Never && !Directory::holds_database(config)? {
            return Err(DirectoryError::NoDatabase { home }.into());
        }
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| DirectoryError::Io { action, path, source }
        };
        disk.create_dir_all(&home).map_err(io("create", &home))?;
        let lock_path = home.join(LOCK_NAME);
        let _lock = disk.lock(&lock_path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => DirectoryError::InUse { home: home.clone() },
            _ => io("lock", &lock_path)(error),
        })?;
        let manifest = Manifest::load(&*disk, &home, &config.dirs).map_err(DirectoryError::from)?;
        let (manifest, report) = match manifest {
            Some(_) if config.create == Create::New => return Err(DirectoryError::Exists { home }.into()),
            Some(manifest) => {
                let recovered = recovery::run(config, manifest, store)?;
                (recovered.manifest, Some(recovered.report))
            }
            None => (Directory::create(config, &*disk, &home)?, None),
        };
        Ok(Directory { disk, home, manifest, report, _lock })
    }

    fn create(config: &Config, disk: &dyn Disk, home: &Path) -> Result<Manifest, DirectoryError> {
        let listing =
            disk.list(home).map_err(|source| DirectoryError::Io { action: "list", path: home.to_owned(), source })?;
        let is_foreign = |path: &&PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name != LOCK_NAME && name != manifest::TEMPORARY_NAME && !name.starts_with("stream-")
        };
        if let Some(file) = listing.iter().find(is_foreign) {
            return Err(DirectoryError::ForeignFile { home: home.to_owned(), file: file.clone() });
        }
        let database = DatabaseId(fastrand::u128(1..));
        let manifest = Manifest::new(database, config.protocol, config.streams, &config.dirs);
        manifest.create(disk, home)?;
        Ok(manifest)
    }

    /// Whether there is a manifest.
    pub(crate) fn holds_database(config: &Config) -> Result<bool, DirectoryError> {
        let path = config.dirs[0].join(manifest::FILE_NAME);
        let exists = config.environment.disk.exists(&path);
        exists.map_err(|source| DirectoryError::Io { action: "look for", path, source })
    }

    /// Every epoch of earlier generations is at or below this.
    pub(crate) fn epoch_floor(&self) -> Epoch {
        self.manifest.current.epoch_floor
    }

    /// Where the new generation of the log goes.
    pub(crate) fn log_layout(&self) -> LogLayout {
        let layout = &self.manifest.current;
        let streams = (0..layout.streams.len() as u32).map(StreamId);
        LogLayout {
            database: self.manifest.database,
            generation: layout.generation,
            floor: layout.floor,
            dirs: streams.map(|stream| self.manifest.stream_directory(&self.home, layout, stream)).collect(),
        }
    }

    /// The log is closed: everything up to `ends` counts.
    pub(crate) fn freeze(self, ends: &[StreamEnd], epoch: Epoch) -> Result<(), Error> {
        manifest::freeze_clean(&self.manifest, &*self.disk, &self.home, ends, epoch).map_err(DirectoryError::from)?;
        Ok(())
    }
}
