//! A disk in memory for unit tests: it remembers what was synced, can forget the rest, and notes the order of calls.
//!
//! Absent: torn and reordered writes, errors at chosen moments (the simulated disk of osier-testkit has them).

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::io::{Disk, File, FileStatus, Lock, OpenMode};

#[derive(Clone, Default)]
struct Content {
    volatile: Vec<u8>,
    durable: Vec<u8>,
}

type SharedContent = Arc<Mutex<Content>>;

#[derive(Default)]
struct TestDiskState {
    volatile: BTreeMap<PathBuf, SharedContent>,
    durable: BTreeMap<PathBuf, SharedContent>,
    directories: Vec<PathBuf>,
    calls: Vec<String>,
    read_only: bool,
    fail_after: Option<usize>,
}

/// The disk.
#[derive(Clone, Default)]
pub(crate) struct TestDisk {
    state: Arc<Mutex<TestDiskState>>,
}

impl TestDisk {
    pub(crate) fn new() -> TestDisk {
        TestDisk::default()
    }

    /// Power is lost: everything not synced is gone.
    pub(crate) fn crash(&self) {
        let mut state = self.lock();
        state.fail_after = None;
        let durable = state.durable.clone();
        state.volatile = durable.clone();
        for content in durable.values() {
            let mut content = content.lock().unwrap();
            content.volatile = content.durable.clone();
        }
    }

    /// A disk with the same content, for another future.
    pub(crate) fn fork(&self) -> TestDisk {
        let state = self.lock();
        let mut copies = BTreeMap::new();
        let mut copy = |files: &BTreeMap<PathBuf, SharedContent>| {
            let mut result = BTreeMap::new();
            for (path, content) in files {
                let copied = copies.entry(Arc::as_ptr(content) as usize);
                let copied = copied.or_insert_with(|| Arc::new(Mutex::new(content.lock().unwrap().clone())));
                result.insert(path.clone(), copied.clone());
            }
            result
        };
        let (volatile, durable) = (copy(&state.volatile), copy(&state.durable));
        let directories = state.directories.clone();
        let state = TestDiskState { volatile, durable, directories, ..TestDiskState::default() };
        TestDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// Every change fails from the `changes`-th on, as if the process died there.
    pub(crate) fn fail_after(&self, changes: usize) {
        self.lock().fail_after = Some(changes);
    }

    pub(crate) fn set_read_only(&self, read_only: bool) {
        self.lock().read_only = read_only;
    }

    /// The changes since the last call, in order.
    pub(crate) fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().calls)
    }

    /// Changes a file's bytes behind everybody's back, durably.
    pub(crate) fn edit(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let content = self.lock().volatile.get(path).unwrap_or_else(|| panic!("{}", path.display())).clone();
        let mut content = content.lock().unwrap();
        change(&mut content.volatile);
        content.durable = content.volatile.clone();
    }

    pub(crate) fn bytes(&self, path: &Path) -> Vec<u8> {
        let content = self.lock().volatile[path].clone();
        let content = content.lock().unwrap();
        content.volatile.clone()
    }

    /// Puts a file there, durably.
    pub(crate) fn put(&self, path: &Path, bytes: &[u8]) {
        let content = Content { volatile: bytes.to_vec(), durable: bytes.to_vec() };
        let content = Arc::new(Mutex::new(content));
        let mut state = self.lock();
        state.volatile.insert(path.to_owned(), content.clone());
        state.durable.insert(path.to_owned(), content);
    }

    /// Removes a file or a directory, durably.
    pub(crate) fn delete(&self, path: &Path) {
        let mut state = self.lock();
        state.volatile.retain(|file, _| !file.starts_with(path));
        state.durable.retain(|file, _| !file.starts_with(path));
        state.directories.retain(|directory| !directory.starts_with(path));
    }

    fn lock(&self) -> MutexGuard<'_, TestDiskState> {
        self.state.lock().unwrap()
    }

    fn change(&self, call: &str, path: &Path) -> io::Result<MutexGuard<'_, TestDiskState>> {
        let mut state = self.lock();
        if state.read_only {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        if let Some(left) = &mut state.fail_after {
            *left = left.checked_sub(1).ok_or_else(|| io::Error::other("the machine is off"))?;
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        state.calls.push(format!("{call} {name}"));
        Ok(state)
    }
}

impl Disk for TestDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.change("mkdir", dir)?;
        for dir in dir.ancestors() {
            if !state.directories.iter().any(|known| known == dir) {
                state.directories.push(dir.to_owned());
            }
        }
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.lock();
        if !state.directories.iter().any(|known| known == dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let entries = state.volatile.keys().chain(&state.directories);
        let mut entries: Vec<_> = entries.filter(|path| path.parent() == Some(dir)).cloned().collect();
        entries.sort();
        Ok(entries)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let state = self.lock();
        Ok(state.volatile.contains_key(path) || state.directories.iter().any(|known| known == path))
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        let state = self.lock();
        let number = match state.volatile.get(path) {
            Some(content) => Arc::as_ptr(content) as u64,
            None => state.directories.iter().position(|known| known == path).ok_or(io::ErrorKind::NotFound)? as u64,
        };
        Ok(FileStatus { id: (0, number), links: 1, is_symbolic_link: false })
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let known = self.lock().volatile.get(path).cloned();
        let content = match (mode, known) {
            (mode, Some(_)) if mode.is_new() => return Err(io::ErrorKind::AlreadyExists.into()),
            (mode, None) if mode.is_new() => {
                let mut state = self.change("create", path)?;
                state.volatile.entry(path.to_owned()).or_default().clone()
            }
            (_, None) => return Err(io::ErrorKind::NotFound.into()),
            (_, Some(content)) => content,
        };
        Ok(Arc::new(TestFile { disk: self.clone(), path: path.to_owned(), content }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.change("rename", to)?;
        let content = state.volatile.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.volatile.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.change("remove", path)?;
        state.volatile.remove(path).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.change("sync_dir", dir)?;
        let volatile: Vec<_> = state.volatile.iter().map(|(path, content)| (path.clone(), content.clone())).collect();
        state.durable.retain(|path, _| path.parent() != Some(dir));
        state.durable.extend(volatile.into_iter().filter(|(path, _)| path.parent() == Some(dir)));
        Ok(())
    }

    fn lock(&self, _path: &Path) -> io::Result<Box<dyn Lock>> {
        Ok(Box::new(TestLock))
    }
}

struct TestLock;

impl Lock for TestLock {
    fn is_in_place(&self) -> io::Result<bool> {
        Ok(true)
    }
}

struct TestFile {
    disk: TestDisk,
    path: PathBuf,
    content: SharedContent,
}

impl File for TestFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock().unwrap().volatile.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = self.content.lock().unwrap();
        let rest = content.volatile.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        drop(self.disk.change("write", &self.path)?);
        let mut content = self.content.lock().unwrap();
        let end = offset as usize + bytes.len();
        if content.volatile.len() < end {
            content.volatile.resize(end, 0);
        }
        content.volatile[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        drop(self.disk.change("allocate", &self.path)?);
        let mut content = self.content.lock().unwrap();
        if content.volatile.len() < length as usize {
            content.volatile.resize(length as usize, 0);
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        drop(self.disk.change("sync", &self.path)?);
        let mut content = self.content.lock().unwrap();
        content.durable = content.volatile.clone();
        Ok(())
    }
}
