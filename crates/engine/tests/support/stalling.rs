//! A disk of the system on which writes of the log, or new files of one directory, can be made to wait.

#![allow(dead_code, reason = "each test file uses a part")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use osier::io::{Disk, File, FileStatus, Lock, OpenMode};

/// The disk; clones share what it is told.
#[derive(Clone)]
pub(crate) struct Stalling {
    disk: Arc<dyn Disk>,
    gate: Arc<Gate>,
}

/// What waits.
#[derive(PartialEq)]
enum Stalled {
    Nothing,
    LogWrites,
    NewFilesBelow(PathBuf),
}

struct Gate {
    stalled: Mutex<Stalled>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, stalled: Stalled) {
        *self.stalled.lock().expect("the gate") = stalled;
        self.changed.notify_all();
    }

    fn pass(&self, waits: impl Fn(&Stalled) -> bool) {
        let stalled = self.stalled.lock().expect("the gate");
        drop(self.changed.wait_while(stalled, |stalled| waits(stalled)));
    }
}

impl Stalling {
    /// Over `disk`, which goes on for the time being.
    pub(crate) fn over(disk: Arc<dyn Disk>) -> Stalling {
        let gate = Gate { stalled: Mutex::new(Stalled::Nothing), changed: Condvar::new() };
        Stalling { disk, gate: Arc::new(gate) }
    }

    /// Makes writes of the log wait, or go on.
    pub(crate) fn stall(&self, is_stalled: bool) {
        self.gate.set(if is_stalled { Stalled::LogWrites } else { Stalled::Nothing });
    }

    /// Makes new files below `directory` wait.
    pub(crate) fn stall_new_files(&self, directory: &Path) {
        self.gate.set(Stalled::NewFilesBelow(directory.to_owned()));
    }
}

impl Disk for Stalling {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir_all(dir)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.disk.list(dir)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }
    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        self.disk.status(path)
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if mode == OpenMode::Create {
            let waits = |stalled: &Stalled| matches!(stalled, Stalled::NewFilesBelow(home) if path.starts_with(home));
            self.gate.pass(waits);
        }
        let (file, gate) = (self.disk.open(path, mode)?, Arc::clone(&self.gate));
        Ok(if mode == OpenMode::Log { Arc::new(StallingFile { file, gate }) } else { file })
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        self.disk.lock(path)
    }
}

struct StallingFile {
    file: Arc<dyn File>,
    gate: Arc<Gate>,
}

impl File for StallingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.gate.pass(|stalled| *stalled == Stalled::LogWrites);
        self.file.write_at(bytes, offset)
    }
    fn allocate(&self, length: u64) -> io::Result<()> {
        self.file.allocate(length)
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}
