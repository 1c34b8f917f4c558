//! A backup as a restore finds it: the files that its index lists, each as far as it counts, with zeros behind.
//!
//! Whatever else lies in the directory is of a backup that did not end, and of another copy of the database perhaps.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::index::ListedFile;
use crate::io::{Disk, File, FileStatus, Lock, OpenMode};
use crate::log::format::segment::is_stream_directory;

/// A disk that shows nothing else of a backup, and can be read only.
pub(super) struct Listed {
    disk: Arc<dyn Disk>,
    /// By path: how many bytes count, and the length.
    files: BTreeMap<PathBuf, (u64, u64)>,
}

impl Listed {
    pub(super) fn new(disk: Arc<dyn Disk>, target: &Path, entries: &[ListedFile]) -> Listed {
        assert!(entries.iter().all(|entry| entry.bytes <= entry.length), "an index counts what a file has");
        let file = |entry: &ListedFile| (target.join(&entry.name), (entry.bytes, entry.length));
        Listed { disk, files: entries.iter().map(file).collect() }
    }
}

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Disk for Listed {
    fn create_dir_all(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.files.keys().filter(|path| path.parent() == Some(dir)).cloned().collect())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        // A restore makes the directory of a stream that has no file.
        Ok(is_stream_directory(path) || self.files.keys().any(|file| file.starts_with(path)))
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        self.disk.status(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        assert!(matches!(mode, OpenMode::Read), "{} is only read", path.display());
        let (bytes, length) = *self.files.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(Counted { file: self.disk.open(path, mode)?, bytes, length }))
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

/// A file of which `bytes` count.
struct Counted {
    file: Arc<dyn File>,
    bytes: u64,
    length: u64,
}

impl File for Counted {
    fn len(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let within = |end: u64| buffer.len().min(end.saturating_sub(offset) as usize);
        let (counted, all) = (within(self.bytes), within(self.length));
        if counted > 0 {
            let read = self.file.read_at(&mut buffer[..counted], offset)?;
            if read < counted {
                return Ok(read);
            }
        }
        buffer[counted..all].fill(0);
        Ok(all)
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
