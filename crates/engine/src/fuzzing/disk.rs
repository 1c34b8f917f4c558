//! A database in memory, for parsers that read files: it can be read and nothing else, by one thread.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Config;
use crate::directory::manifest::{self, Manifest, codec};
use crate::io::{Disk, Environment, File, FileStatus, Joiner, Lock, OpenMode, Signal, Spawn, Step, Task};
use crate::log::format::segment::is_stream_directory;

/// Where the database lies.
pub(super) const HOME: &str = "/db";

/// Files by their paths.
pub(super) struct ReadOnly(BTreeMap<PathBuf, Arc<Bytes>>);

struct Bytes(Vec<u8>);

impl ReadOnly {
    /// The database of `manifest` in which one file is `bytes`.
    pub(super) fn new(manifest: &Manifest, path: &Path, bytes: &[u8]) -> ReadOnly {
        let encoded = codec::encode(manifest).expect("names are UTF-8");
        let files = [(Path::new(HOME).join(manifest::FILE_NAME), encoded), (path.to_owned(), bytes.to_vec())];
        ReadOnly(files.map(|(path, bytes)| (path, Arc::new(Bytes(bytes)))).into())
    }

    /// Opens it so that a thread that panics does so in the caller's.
    pub(super) fn config(self) -> Config {
        let (disk, spawn) = (Arc::new(self), Arc::new(Inline));
        let mut config = Config::new(HOME).environment(Environment { disk, spawn, ..Environment::os() });
        config.recovery_threads = 1;
        config
    }
}

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Disk for ReadOnly {
    fn create_dir_all(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.0.keys().filter(|path| path.parent() == Some(dir)).cloned().collect())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        // Every stream has its directory, with a file or without.
        Ok(is_stream_directory(path) || self.0.keys().any(|known| known.starts_with(path)))
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        let number = self.0.keys().position(|known| known == path).unwrap_or(self.0.len());
        Ok(FileStatus { id: (0, number as u64), links: 1, is_symbolic_link: false })
    }

    fn open(&self, path: &Path, _: OpenMode) -> io::Result<Arc<dyn File>> {
        self.0.get(path).map(|file| file.clone() as Arc<dyn File>).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn lock(&self, _: &Path) -> io::Result<Box<dyn Lock>> {
        refused()
    }
}

impl File for Bytes {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = &self.0[self.0.len().min(offset as usize)..];
        let length = from.len().min(buffer.len());
        buffer[..length].copy_from_slice(&from[..length]);
        Ok(length)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        refused()
    }

    fn allocate(&self, _: u64) -> io::Result<()> {
        refused()
    }

    fn sync(&self) -> io::Result<()> {
        refused()
    }
}

/// Runs a task at once.
struct Inline;

impl Spawn for Inline {
    fn spawn(&self, _: String, mut task: Box<dyn Task>, _: Arc<Signal>) -> io::Result<Box<dyn Joiner>> {
        while task.step() != Step::Done {}
        Ok(Box::new(Inline))
    }
}

impl Joiner for Inline {
    fn join(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}
