//! A disk that changes nothing below a directory, and opens no file there, unless that is still the one that was locked.
//!
//! A database goes on under the paths that it was opened with. A user may move what lies there, remove it, or put another
//! database in its place; a file that is created, renamed or removed by its path would then be that of another database. One that
//! is read would be, too: a backup would look for the end of its copy in a log that nobody writes.
//!
//! Invariant: below a guarded directory no name changes, and no file is opened, before the lock on the directory was found in its
//! place, and by the process that took it. What happens between that look and the change nobody can see.
//!
//! Absent: files that are open already. They are the database's own, wherever they lie.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::faults;
use super::{Disk, File, FileStatus, Lock, OpenMode, Process};

/// How often an open database looks whether its directories and segments lie where it opened them.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// A directory that is locked.
pub(crate) struct Guarded {
    /// Its path, in every way in which those of its files begin.
    paths: Vec<PathBuf>,
    lock: Box<dyn Lock>,
}

impl Guarded {
    /// The directory at `path`, which `lock` holds.
    pub(crate) fn new(path: &Path, lock: Box<dyn Lock>) -> Guarded {
        let mut paths = vec![path.to_owned()];
        paths.extend(std::path::absolute(path).ok().filter(|absolute| absolute != path));
        Guarded { paths, lock }
    }

    /// Fails where something else lies at its path, or nothing.
    pub(crate) fn expect_in_place(&self) -> io::Result<()> {
        match faults::is_in_place(self.lock.is_in_place()?) {
            true => Ok(()),
            false => Err(io::Error::other(Displaced { directory: self.paths[0].clone() })),
        }
    }

    fn holds(&self, path: &Path) -> bool {
        is_below(path, &self.paths)
    }
}

fn is_below(path: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

/// A directory no longer lies where it was locked. It travels inside an [`io::Error`].
#[derive(Clone, Debug)]
pub(crate) struct Displaced {
    pub(crate) directory: PathBuf,
}

impl Displaced {
    /// The one in `error`, if that is its cause.
    pub(crate) fn of(error: &io::Error) -> Option<&Displaced> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Displaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the directory {} was moved, removed or replaced while the database had it open, and nothing is written to what lies \
             there now; close the database, and open it where its directories lie",
            self.directory.display()
        )
    }
}

impl std::error::Error for Displaced {}

/// The disk through which an open database changes its files.
pub(crate) struct DiskInPlace {
    disk: Arc<dyn Disk>,
    /// The paths of all guarded directories.
    paths: Vec<PathBuf>,
    /// Whoever claimed them holds the locks: with that they go.
    guarded: Weak<[Guarded]>,
    /// The process that claimed them.
    process: Process,
}

impl DiskInPlace {
    /// `disk`, with the directories `guarded`.
    pub(crate) fn new(disk: Arc<dyn Disk>, guarded: &Arc<[Guarded]>) -> DiskInPlace {
        let paths = guarded.iter().flat_map(|guarded| guarded.paths.clone()).collect();
        DiskInPlace { disk, paths, guarded: Arc::downgrade(guarded), process: Process::this() }
    }

    fn expect_in_place(&self, path: &Path) -> io::Result<()> {
        if !is_below(path, &self.paths) {
            return Ok(());
        }
        if !self.process.is_this() {
            return Err(io::Error::other(Process::FORKED));
        }
        let guarded = self.guarded.upgrade().ok_or_else(|| io::Error::other("the directories are no longer locked"))?;
        guarded.iter().filter(|guarded| guarded.holds(path)).try_for_each(Guarded::expect_in_place)
    }

    /// What is missing may be so because its directory was moved: that is what to say then.
    fn found<T>(&self, path: &Path, found: io::Result<T>) -> io::Result<T> {
        found.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.expect_in_place(path).err().unwrap_or(error),
            _ => error,
        })
    }
}

impl Disk for DiskInPlace {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.expect_in_place(dir)?;
        self.disk.create_dir_all(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.found(dir, self.disk.list(dir))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        self.found(path, self.disk.status(path))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.expect_in_place(path)?;
        self.disk.open(path, mode)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.expect_in_place(from)?;
        self.expect_in_place(to)?;
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.expect_in_place(path)?;
        self.disk.remove(path)
    }

    fn remove_piece(&self, path: &Path, bytes: u64) -> io::Result<bool> {
        self.expect_in_place(path)?;
        self.disk.remove_piece(path, bytes)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.expect_in_place(dir)?;
        self.disk.sync_dir(dir)
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        self.disk.absolute(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        self.disk.lock(path)
    }

    fn lock_directory(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        self.disk.lock_directory(path)
    }

    fn lock_holder(&self, path: &Path) -> Option<u32> {
        self.disk.lock_holder(path)
    }
}
