//! The directory of an open database: its lock and its manifest, from the open to the clean close.
//!
//! Invariants:
//! - The lock is held from before the manifest is read until after the generation is frozen.
//! - The manifest has one owner, [`Home`]: checkpoints and the close replace it one after the other.
//! - A directory without a manifest is taken for a new database only if it is empty.
//! - What no durable manifest needs any more is removed in pieces, later, and the rest of it by the next checkpoint, at the close or
//!   by the next open.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::backup::BackupError;
use crate::checkpoint::{CheckpointError, files};
use crate::config::{Config, Create, Protocol};
use crate::control::SOCKET_NAME;
use crate::error::Error;
use crate::failpoint::{Mutation, has};
use crate::ids::{DatabaseId, Epoch, StreamId};
use crate::io::{Disk, OpenMode};
use crate::log::LogLayout;
use crate::persist::manifest::{
    self, CheckpointEntry, FrozenGeneration, Manifest, ManifestError, StreamBegin, StreamEnd,
};
use crate::persist::segment::{FileName, io_sqlstate};
use crate::recovery::{self, RecoveryReport};
use crate::status::Status;
use crate::table::store::Store;

/// The name of the lock file in the first directory.
const LOCK_NAME: &str = "LOCK";
/// Lies in the first directory of a database that is being made by a restore or a salvage.
const UNFINISHED_NAME: &str = "UNFINISHED";

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
    /// A restore, or a salvage, was interrupted.
    #[error("{} was being restored, or salvaged into, which was not finished; remove the directory and do that again", home.display())]
    Unfinished {
        /// The first directory.
        home: PathBuf,
    },
    /// The control socket.
    #[error("cannot listen on {}: {source}; set control_socket to no where the file system takes no sockets", path.display())]
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

impl DirectoryError {
    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            DirectoryError::NoDatabase { .. } => "3D000",
            DirectoryError::Exists { .. } => "42P04",
            DirectoryError::InUse { .. } => "55006",
            DirectoryError::Unfinished { .. } => "55000",
            DirectoryError::ForeignFile { .. } => "42P04",
            DirectoryError::Io { source, .. } | DirectoryError::Socket { source, .. } => io_sqlstate(source),
            DirectoryError::Manifest(error) => error.sqlstate(),
        }
    }
}

/// Marks a directory that is being filled: no open takes it for a database until the mark is gone.
pub(crate) fn mark_unfinished(disk: &dyn Disk, home: &Path) -> Result<(), DirectoryError> {
    let path = home.join(UNFINISHED_NAME);
    let marked = disk.open(&path, OpenMode::Create).and_then(|file| file.sync()).and_then(|()| disk.sync_dir(home));
    marked.map_err(|source| DirectoryError::Io { action: "create", path, source })
}

/// Everything is in place.
pub(crate) fn unmark(disk: &dyn Disk, home: &Path) -> Result<(), DirectoryError> {
    let path = home.join(UNFINISHED_NAME);
    let unmarked = disk.remove(&path).and_then(|()| disk.sync_dir(home));
    unmarked.map_err(|source| DirectoryError::Io { action: "remove", path, source })
}

/// A database's files, held for as long as it is open.
pub(crate) struct Directory {
    disk: Arc<dyn Disk>,
    home: PathBuf,
    manifest: Manifest,
    next_checkpoint: u64,
    /// The backups that are being written: meanwhile nothing is removed.
    holds: Vec<PathBuf>,
    /// What waits for their end.
    held: Vec<(Manifest, Vec<FrozenGeneration>)>,
    /// Files that nobody needs, to be removed piece by piece.
    doomed: VecDeque<PathBuf>,
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
        let _lock = Directory::lock(&*disk, &home)?;
        let manifest = Manifest::load(&*disk, &home, &config.dirs).map_err(DirectoryError::from)?;
        let (manifest, report) = match manifest {
            Some(_) if config.create == Create::New => return Err(DirectoryError::Exists { home }.into()),
            Some(manifest) => {
                let recovered = recovery::run(config, manifest, store)?;
                (recovered.manifest, Some(recovered.report))
            }
            None => (Directory::create(config, &*disk, &home)?, None),
        };
        let next_checkpoint = 1 + files::remove_leftovers(&*disk, &home, &manifest).map_err(Arc::new)?;
        let (holds, held, doomed) = Default::default();
        Ok(Directory { disk, home, manifest, next_checkpoint, holds, held, doomed, report, _lock })
    }

    /// Creates the directory of a database that runs without one.
    fn open_new(config: &Config) -> Result<Directory, DirectoryError> {
        let (disk, home) = (config.environment.disk.clone(), config.dirs[0].clone());
        let _lock = Directory::lock(&*disk, &home)?;
        if Manifest::load(&*disk, &home, &config.dirs)?.is_some() {
            return Err(DirectoryError::Exists { home });
        }
        let manifest = Directory::create(config, &*disk, &home)?;
        let (holds, held, doomed) = Default::default();
        Ok(Directory { disk, home, manifest, next_checkpoint: 1, holds, held, doomed, report: None, _lock })
    }

    /// Fails where the directory is being restored, or salvaged into, or was and that did not end.
    pub(crate) fn refuse_unfinished(config: &Config) -> Result<(), DirectoryError> {
        let path = config.dirs.first().map_or(PathBuf::new(), |home| home.join(UNFINISHED_NAME));
        match config.environment.disk.exists(&path) {
            Ok(true) => Err(DirectoryError::Unfinished { home: config.dirs[0].clone() }),
            Ok(false) => Ok(()),
            Err(source) => Err(DirectoryError::Io { action: "look for", path, source }),
        }
    }

    pub(crate) fn lock(disk: &dyn Disk, home: &Path) -> Result<Box<dyn Any + Send + Sync>, DirectoryError> {
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| DirectoryError::Io { action, path, source }
        };
        disk.create_dir_all(home).map_err(io("create", home))?;
        let lock_path = home.join(LOCK_NAME);
        disk.lock(&lock_path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => DirectoryError::InUse { home: home.to_owned() },
            _ => io("lock", &lock_path)(error),
        })
    }

    /// Locks a directory that is only read: nothing is created there.
    pub(crate) fn lock_if_there(
        disk: &dyn Disk,
        home: &Path,
    ) -> Result<Option<Box<dyn Any + Send + Sync>>, DirectoryError> {
        let path = home.join(LOCK_NAME);
        match disk.exists(&path) {
            Ok(true) => Directory::lock(disk, home).map(Some),
            Ok(false) => Ok(None),
            Err(source) => Err(DirectoryError::Io { action: "look for", path, source }),
        }
    }

    fn create(config: &Config, disk: &dyn Disk, home: &Path) -> Result<Manifest, DirectoryError> {
        let listing =
            disk.list(home).map_err(|source| DirectoryError::Io { action: "list", path: home.to_owned(), source })?;
        let is_foreign = |path: &&PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_ours = [LOCK_NAME, SOCKET_NAME, UNFINISHED_NAME, manifest::TEMPORARY_NAME].contains(&name);
            !is_ours && !name.starts_with("stream-")
        };
        if let Some(file) = listing.iter().find(is_foreign) {
            return Err(DirectoryError::ForeignFile { home: home.to_owned(), file: file.clone() });
        }
        let database = DatabaseId(fastrand::u128(1..));
        let manifest = Manifest::new(database, config.protocol, config.streams, &config.dirs);
        manifest.create(disk, home)?;
        Ok(manifest)
    }

    /// The protocol of the database that is there, if one is.
    pub(crate) fn protocol(config: &Config) -> Result<Option<Protocol>, DirectoryError> {
        let manifest = Manifest::load(&*config.environment.disk, &config.dirs[0], &[])?;
        Ok(manifest.map(|manifest| manifest.current.protocol))
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

    /// Names the files of a new checkpoint, dealt over the configured directories, and creates those directories.
    fn begin_checkpoint(&mut self, config: &Config) -> Result<NewCheckpoint, CheckpointError> {
        let number = self.next_checkpoint;
        self.next_checkpoint += 1;
        let mut parts = Vec::new();
        for (part, dir) in (0..config.checkpoint_parts()).zip(config.dirs.iter().cycle()) {
            let index = self.manifest.directory_index(&self.home, dir);
            let dir = self.home.join(&self.manifest.directories[index as usize]);
            let directory = files::part_directory(&dir);
            manifest::create_directory(&*self.disk, &directory)?;
            parts.push((index, files::part_path(&dir, number, part)));
        }
        Ok(NewCheckpoint { database: self.manifest.database, number, parts })
    }

    /// Stores a manifest in which `entry` is the one checkpoint and recovery begins with the segments `begins`. Then dooms
    /// what it needs no more: the checkpoint before, and the logs of earlier generations, of which it returns the segments that
    /// the present streams can use. `None`: a backup is written, so that the log may not be cut. What was doomed before is
    /// removed by then.
    fn commit_checkpoint(
        &mut self,
        entry: &CheckpointEntry,
        begins: Vec<StreamBegin>,
    ) -> Result<Option<Vec<PathBuf>>, CheckpointError> {
        let mut next = self.manifest.clone();
        let superseded = next.supersede(entry.clone(), begins);
        if has(Mutation::UnlinkBeforeManifest) {
            self.doom(&self.manifest.clone(), &superseded);
            self.remove_doomed();
        }
        if has(Mutation::CheckpointRemovedEarly) {
            self.doom(&self.manifest.clone(), &[]);
            self.remove_doomed();
        }
        next.store(&*self.disk, &self.home)?;
        self.remove_doomed();
        let before = std::mem::replace(&mut self.manifest, next);
        if !self.holds.is_empty() {
            self.held.push((before, superseded));
            return Ok(None);
        }
        self.doom(&before, &[]);
        let used = self.manifest.current_directories(&self.home);
        let segments = superseded.iter().flat_map(|generation| self.segments_of(generation));
        let is_usable = |path: &PathBuf| path.parent().is_some_and(|parent| used.iter().any(|used| used == parent));
        let (usable, others): (Vec<_>, Vec<_>) = segments.partition(is_usable);
        self.doomed.extend(others);
        Ok(Some(usable))
    }

    /// The checkpoints of a manifest, and generations, are to be removed. What stays is removed by the next open.
    fn doom(&mut self, before: &Manifest, generations: &[FrozenGeneration]) {
        for generation in generations {
            self.doomed.extend(self.segments_of(generation));
        }
        for old in &before.checkpoints {
            self.doomed.extend(files::parts_of(&self.home, before, old).into_iter().map(|(path, ..)| path));
        }
    }

    /// Removes a piece of what is to be removed; whether there is more.
    fn remove_piece(&mut self, bytes: u64) -> bool {
        if let Some(path) = self.doomed.front()
            && self.disk.remove_piece(path, bytes).unwrap_or(true)
        {
            self.doomed.pop_front();
        }
        !self.doomed.is_empty()
    }

    /// Removes all of it.
    fn remove_doomed(&mut self) {
        for path in self.doomed.drain(..) {
            let _ = self.disk.remove(&path);
        }
    }

    /// What is left of a generation's log.
    fn segments_of(&self, superseded: &FrozenGeneration) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for stream in (0..superseded.streams.len() as u32).map(StreamId) {
            let directory = self.manifest.stream_directory(&self.home, &superseded.layout, stream);
            let is_superseded = |path: &PathBuf| {
                matches!(FileName::parse(path), Some(FileName::Segment { generation, .. })
                    if generation == superseded.layout.generation)
            };
            found.extend(self.disk.list(&directory).unwrap_or_default().into_iter().filter(is_superseded));
        }
        found
    }

    /// The log is closed: everything up to `ends` counts.
    pub(crate) fn freeze(mut self, ends: &[StreamEnd], epoch: Epoch) -> Result<(), Error> {
        self.remove_doomed();
        manifest::freeze_clean(&self.manifest, &*self.disk, &self.home, ends, epoch).map_err(DirectoryError::from)?;
        Ok(())
    }
}

/// The files of a checkpoint that is being taken.
pub(crate) struct NewCheckpoint {
    pub(crate) database: DatabaseId,
    pub(crate) number: u64,
    /// The index of the directory, and the path.
    pub(crate) parts: Vec<(u32, PathBuf)>,
}

impl NewCheckpoint {
    /// Makes the names of the files durable.
    pub(crate) fn sync_directories(&self, disk: &dyn Disk) -> Result<(), CheckpointError> {
        let mut directories: Vec<&Path> = self.parts.iter().filter_map(|(_, path)| path.parent()).collect();
        directories.sort_unstable();
        directories.dedup();
        let sync = |dir| disk.sync_dir(dir).map_err(CheckpointError::io("sync the directory", dir));
        directories.into_iter().try_for_each(sync)
    }

    /// Removes what was written, as far as that goes; the next open removes the rest.
    pub(crate) fn remove(&self, disk: &dyn Disk) {
        for (_, path) in &self.parts {
            if disk.exists(path).unwrap_or(false) {
                let _ = disk.remove(path);
            }
        }
    }
}

/// The place of an open database's directory, and of its manifest.
pub(crate) struct Home {
    state: Mutex<State>,
}

enum State {
    /// Nothing is logged, and no checkpoint was taken yet: nothing is on disk.
    Nowhere,
    Open(Box<Directory>),
    Closed,
}

impl Home {
    pub(crate) fn new(directory: Option<Directory>) -> Home {
        let state = directory.map_or(State::Nowhere, |directory| State::Open(Box::new(directory)));
        Home { state: Mutex::new(state) }
    }

    /// Prepares a checkpoint; the first one of a database without a log creates the directory.
    pub(crate) fn begin_checkpoint(&self, config: &Config) -> Result<NewCheckpoint, CheckpointError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Nowhere) {
            *state = State::Open(Box::new(Directory::open_new(config)?));
        }
        match &mut *state {
            State::Open(directory) => directory.begin_checkpoint(config),
            State::Nowhere | State::Closed => Err(CheckpointError::Closed),
        }
    }

    /// Makes a checkpoint valid. Returns what `Shared::recycle_log` is to get; where it is
    /// `None` that waits for [`Home::release`].
    pub(crate) fn commit_checkpoint(
        &self,
        entry: &CheckpointEntry,
        begins: Vec<StreamBegin>,
    ) -> Result<Option<Vec<PathBuf>>, CheckpointError> {
        match &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Open(directory) => directory.commit_checkpoint(entry, begins),
            State::Nowhere | State::Closed => Err(CheckpointError::Closed),
        }
    }

    /// Removes a piece of what nobody needs any more; whether there is more.
    pub(crate) fn remove_piece(&self, bytes: u64) -> bool {
        self.directory(|directory| directory.remove_piece(bytes)).unwrap_or(false)
    }

    /// Whether there is a valid checkpoint.
    pub(crate) fn has_checkpoint(&self) -> bool {
        self.directory(|directory| !directory.manifest.checkpoints.is_empty()).unwrap_or(false)
    }

    /// Whether the directory was given out, to be closed.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(*self.state.lock().unwrap_or_else(PoisonError::into_inner), State::Closed)
    }

    /// Keeps everything that the manifest speaks of, for the backup to `target`, and returns the manifest.
    pub(crate) fn hold(&self, target: &Path) -> Result<Manifest, BackupError> {
        let hold = |directory: &mut Directory| {
            if !has(Mutation::BackupUnheld) {
                directory.holds.push(target.to_owned());
            }
            directory.manifest.clone()
        };
        self.directory(hold).ok_or_else(|| BackupError::Closed { target: target.to_owned() })
    }

    /// The backup to `target` has ended. Where it was the last one, what waited for that is removed, and the log may be cut
    /// to the begins that are returned.
    pub(crate) fn release(&self, target: &Path) -> Option<Vec<StreamBegin>> {
        let release = |directory: &mut Directory| {
            let place = directory.holds.iter().position(|held| held == target)?;
            directory.holds.swap_remove(place);
            if !directory.holds.is_empty() || directory.held.is_empty() {
                return None;
            }
            for (before, generations) in std::mem::take(&mut directory.held) {
                directory.doom(&before, &generations);
            }
            Some(directory.manifest.begins.clone())
        };
        self.directory(release).flatten()
    }

    /// Where backups are being written to.
    pub(crate) fn holds(&self) -> Vec<PathBuf> {
        self.directory(|directory| directory.holds.clone()).unwrap_or_default()
    }

    fn directory<T>(&self, with: impl FnOnce(&mut Directory) -> T) -> Option<T> {
        match &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Open(directory) => Some(with(directory)),
            State::Nowhere | State::Closed => None,
        }
    }

    /// How the files stand.
    pub(crate) fn status(&self, config: &Config) -> Result<Status, DirectoryError> {
        let now = config.environment.clock.wall().into();
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Open(directory) => Status::of(&*directory.disk, &directory.home, &directory.manifest, now),
            State::Nowhere | State::Closed => Err(DirectoryError::NoDatabase { home: config.dirs[0].clone() }),
        }
    }

    /// Ends the life of the manifest; the directory is given out once.
    pub(crate) fn close(&self) -> Option<Directory> {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(state, State::Closed) {
            State::Open(directory) => Some(*directory),
            State::Nowhere | State::Closed => None,
        }
    }
}
