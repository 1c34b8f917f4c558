//! The operating system behind the seams: files through `pread` and `pwrite`, the monotonic clock.
//!
//! Invariants:
//! - Every error names the operation and the path, and keeps the kind of the system's error.
//! - A file opened with [`OpenMode::Log`] whose writes are synchronous stays so when direct writes turn out to be refused:
//!   only `O_DIRECT` is dropped from it, never `O_DSYNC`.
//! - An interrupted or short transfer is continued; a failed one is reported, never repeated.
//!
//! Deliberately absent: `io_uring`, and memory-mapped files (a page fault cannot report a full disk).

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::{BLOCK_BYTES, Clock, Disk, File, FileStatus, Lock, OpenMode, Process, faults, system};

/// `O_DSYNC`. For Linux rustix 1.1 calls `O_SYNC` so, with which a write waits for the file's times as well.
const DSYNC: OFlags = if cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))) {
    OFlags::from_bits_retain(0o10000)
} else {
    OFlags::DSYNC
};

/// How many zero bytes one write carries where the file system cannot reserve space.
const ZERO_FILL_BYTES: usize = 64 * BLOCK_BYTES;

/// What went wrong, and with which file. It travels inside an [`io::Error`] of the same kind as `source`.
#[derive(Debug)]
struct PathError {
    operation: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PathError { operation, path, source } = self;
        write!(f, "cannot {operation} {}: {source}", path.display())?;
        let cure = match source.kind() {
            io::ErrorKind::StorageFull => "make room on that file system",
            io::ErrorKind::QuotaExceeded => "raise the quota of this user there",
            io::ErrorKind::ReadOnlyFilesystem => "mount that file system for writing or choose another directory",
            io::ErrorKind::PermissionDenied => "give this user the right to it or choose another directory",
            _ => return Ok(()),
        };
        write!(f, "; {cure}")
    }
}

impl std::error::Error for PathError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// What the system said, where the error names `path`, which the caller names itself, and the operation.
pub(super) fn said_of<'e>(error: &'e io::Error, path: &Path) -> Option<&'e io::Error> {
    let error = error.get_ref()?.downcast_ref::<PathError>()?;
    (error.path == path).then_some(&error.source)
}

/// Adds the operation and the path to an error.
fn at(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |source| {
        let kind = source.kind();
        io::Error::new(kind, PathError { operation, path: path.to_owned(), source })
    }
}

/// The file systems that the operating system mounts.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsDisk;

impl Disk for OsDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir).map_err(at("create the directory", dir))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let entries = || fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
        let mut paths = entries().map_err(at("list the directory", dir))?;
        paths.sort_unstable();
        Ok(paths)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists().map_err(at("look for", path))
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        let look = || {
            let is_symbolic_link = fs::symlink_metadata(path)?.is_symlink();
            let of = fs::metadata(path)?;
            Ok(FileStatus { id: (of.dev(), of.ino()), links: of.nlink(), is_symbolic_link })
        };
        look().map_err(at("look at", path))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let file = OsFile::open(path, mode).map_err(at(opening(mode), path))?;
        if mode.is_new() {
            system::named(path);
        }
        Ok(Arc::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        system::rename(from, to).map_err(at("rename", from))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path).map_err(at("remove", path))
    }

    fn remove_piece(&self, path: &Path, bytes: u64) -> io::Result<bool> {
        let cut = || {
            let of = fs::symlink_metadata(path)?;
            let length = of.len();
            if length > bytes && of.is_file() && of.nlink() == 1 {
                let flags = OFlags::NOFOLLOW.bits().cast_signed();
                let file = fs::OpenOptions::new().write(true).custom_flags(flags).open(path)?;
                file.set_len(length - bytes).map(|()| false)
            } else {
                fs::remove_file(path).map(|()| true)
            }
        };
        cut().map_err(at("remove", path))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir).and_then(|file| system::sync_all(&file, dir)).map_err(at("sync the directory", dir))
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        if path.is_absolute() { Ok(path.to_owned()) } else { std::path::absolute(path).map_err(at("look for", path)) }
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        let open = fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        // Who may only read the file can lock it all the same.
        let file = match open {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => fs::File::open(path).map_err(|_| error),
            opened => opened,
        };
        let file = file.map_err(at("open the lock file", path))?;
        match file.try_lock() {
            Ok(()) => {
                let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let (held, file, path) = match try_lock_directory(directory)? {
                    Some(held) => (held, Some(file), directory),
                    None => (file, None, path),
                };
                Ok(Box::new(OsLock { held, file, path: self.absolute(path)?, process: Process::this() }))
            }
            Err(fs::TryLockError::Error(error)) => Err(at("lock", path)(error)),
            Err(fs::TryLockError::WouldBlock) => {
                let held = io::Error::new(io::ErrorKind::WouldBlock, "another opener holds it; close that one first");
                Err(at("lock", path)(held))
            }
        }
    }

    fn lock_directory(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        let Some(held) = try_lock_directory(path)? else { return Ok(None) };
        Ok(Some(Box::new(OsLock { held, file: None, path: self.absolute(path)?, process: Process::this() })))
    }

    fn lock_holder(&self, path: &Path) -> Option<u32> {
        let of = fs::metadata(path).ok()?;
        holder_in(&fs::read_to_string("/proc/locks").ok()?, of.dev(), of.ino())
    }
}

/// What is locked: a directory with the lock file in it, or one of the two.
#[derive(Debug)]
struct OsLock {
    /// What shows whether it is in its place: the directory, where that could be locked.
    held: fs::File,
    /// Where that was.
    path: PathBuf,
    /// The lock file in a directory that is held.
    file: Option<fs::File>,
    /// The process that took it.
    process: Process,
}

impl Drop for OsLock {
    /// A child that this process has just started has the files, too, until it runs its own program; the lock would last as long.
    fn drop(&mut self) {
        if self.process.is_this() {
            for file in self.file.iter().chain([&self.held]) {
                let _ = file.unlock();
            }
        }
    }
}

impl Lock for OsLock {
    fn is_in_place(&self) -> io::Result<bool> {
        // Both are asked now: a file system may number what nobody holds anew.
        let look = || {
            let (held, found) = (self.held.metadata()?, fs::metadata(&self.path)?);
            Ok::<_, io::Error>((held.dev(), held.ino()) == (found.dev(), found.ino()))
        };
        match look() {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
            looked => looked.map_err(at("look at", &self.path)),
        }
    }
}

/// The holder of a lock in what Linux lists: `1: FLOCK  ADVISORY  WRITE 4711 fd:01:131092 0 EOF`, with the device in hexadecimal.
fn holder_in(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let file = format!("{:02x}:{:02x}:{inode}", rustix::fs::major(device), rustix::fs::minor(device));
    let holder = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [_, "FLOCK", _, _, process, of, ..] if of == file => process.parse().ok(),
        _ => None,
    };
    locks.lines().find_map(holder)
}

/// Locks a directory, where the file system lets it: somebody may remove the lock file in it.
fn try_lock_directory(directory: &Path) -> io::Result<Option<fs::File>> {
    let Ok(file) = fs::File::open(directory) else { return Ok(None) };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::Error(_)) => Ok(None),
        Err(fs::TryLockError::WouldBlock) => {
            let held =
                io::Error::new(io::ErrorKind::WouldBlock, "another opener holds its directory; close that one first");
            Err(at("lock", directory)(held))
        }
    }
}

/// What [`Disk::open`] says it could not do.
fn opening(mode: OpenMode) -> &'static str {
    match mode {
        OpenMode::Read => "open for reading",
        OpenMode::Create | OpenMode::Stream => "create",
        OpenMode::Write | OpenMode::Log => "open for writing",
    }
}

/// An open file descriptor.
#[derive(Debug)]
struct OsFile {
    file: fs::File,
    path: PathBuf,
    mode: OpenMode,
    /// `O_DIRECT` is in force: lowered for good when the file system refuses a write.
    is_direct: AtomicBool,
    /// `O_DSYNC` is in force: [`File::sync`] has only the allocation to make durable.
    is_synchronous: bool,
    /// The allocation changed since the last sync.
    is_allocated: AtomicBool,
}

impl OsFile {
    fn open(path: &Path, mode: OpenMode) -> io::Result<OsFile> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(mode != OpenMode::Read).create_new(mode.is_new());
        let mut is_direct = false;
        let file = if mode.is_aligned() {
            let flags = if mode == OpenMode::Log { OFlags::DIRECT | DSYNC } else { OFlags::DIRECT };
            let mut direct = options.clone();
            direct.custom_flags(flags.bits().cast_signed());
            match direct.open(path) {
                Ok(file) => {
                    is_direct = true;
                    file
                }
                // A new file may be there all the same.
                Err(error) if is_refused(&error) => options.create_new(false).create(mode.is_new()).open(path)?,
                Err(error) => return Err(error),
            }
        } else {
            options.open(path)?
        };
        Ok(OsFile {
            file,
            path: path.to_owned(),
            mode,
            is_direct: AtomicBool::new(is_direct),
            is_synchronous: is_direct && mode == OpenMode::Log,
            is_allocated: AtomicBool::new(false),
        })
    }

    /// The caller's side of direct writes, checked on every file system so that a breach shows on all of them.
    fn check_alignment(&self, bytes: &[u8], offset: u64) {
        if self.mode.is_aligned() {
            assert_eq!(offset % BLOCK_BYTES as u64, 0, "{}: offset {offset} is not aligned", self.path.display());
            assert_eq!(bytes.len() % BLOCK_BYTES, 0, "{}: length {} is not aligned", self.path.display(), bytes.len());
            assert_eq!(bytes.as_ptr().addr() % BLOCK_BYTES, 0, "{}: the buffer is not aligned", self.path.display());
        }
    }

    /// Drops `O_DIRECT` after a refused write; `false` where it was not in force.
    fn fall_back(&self) -> io::Result<bool> {
        if !self.is_direct.swap(false, Ordering::Relaxed) {
            return Ok(false);
        }
        let flags = fcntl_getfl(&self.file)?;
        let stays = flags.contains(DSYNC) == self.is_synchronous;
        assert!(stays, "{}: opened for the log without O_DSYNC", self.path.display());
        fcntl_setfl(&self.file, flags - OFlags::DIRECT)?;
        Ok(true)
    }

    /// Writes zeros from the end of the file to `length`: what reserves space where `fallocate` is not known.
    fn zero_fill(&self, length: u64) -> io::Result<()> {
        let buffer = vec![0; ZERO_FILL_BYTES + BLOCK_BYTES];
        let start = buffer.as_ptr().align_offset(BLOCK_BYTES);
        let zeros = &buffer[start..start + ZERO_FILL_BYTES];
        let mut offset = self.file.metadata()?.len();
        while offset < length {
            let bytes = zeros.len().min((length - offset).try_into().unwrap_or(usize::MAX));
            self.write(&zeros[..bytes], offset)?;
            offset += bytes as u64;
        }
        Ok(())
    }

    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let write = || system::write(&self.file, bytes, offset, &self.path, self.is_synchronous);
        match write() {
            // Some file systems take the flag at open and refuse the transfer; another thread may have fallen back.
            Err(error) if self.mode.is_aligned() && is_refused(&error) => {
                self.fall_back()?;
                write()
            }
            result => result,
        }
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            // A direct read that ends inside a block met the end of the file; going on from there would be refused.
            if self.mode.is_aligned() && filled % BLOCK_BYTES != 0 {
                break;
            }
        }
        Ok(filled)
    }
}

/// Whether the file system says that it does not know `O_DIRECT`.
fn is_refused(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::OPNOTSUPP))
}

impl File for OsFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata().map_err(at("read the length of", &self.path))?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.check_alignment(buffer, offset);
        self.read(buffer, offset).map_err(at("read", &self.path))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.check_alignment(bytes, offset);
        self.write(bytes, offset).map_err(at("write", &self.path))
    }

    fn lies_at(&self, path: &Path) -> io::Result<bool> {
        let own = self.file.metadata().map_err(at("look at", &self.path))?;
        match fs::metadata(path) {
            Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(at("look at", path)(error)),
        }
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        if self.mode.is_aligned() {
            assert_eq!(length % BLOCK_BYTES as u64, 0, "{}: length {length} is not aligned", self.path.display());
        }
        self.is_allocated.store(true, Ordering::Relaxed);
        let reserved = loop {
            match system::allocate(&self.file, length, &self.path) {
                Err(Errno::INTR) => {}
                result => break result,
            }
        };
        match reserved {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.zero_fill(length),
            Err(error) => Err(error.into()),
        }
        .map_err(at("reserve space for", &self.path))
    }

    fn sync(&self) -> io::Result<()> {
        let is_allocated = self.is_allocated.swap(false, Ordering::Relaxed);
        let result = match self.mode {
            _ if faults::is_unsynced(self.mode.is_aligned()) => Ok(()),
            OpenMode::Log if is_allocated => system::sync_all(&self.file, &self.path),
            OpenMode::Log if self.is_synchronous => Ok(()),
            OpenMode::Log => system::sync_data(&self.file, &self.path),
            OpenMode::Read | OpenMode::Create | OpenMode::Write | OpenMode::Stream => {
                system::sync_all(&self.file, &self.path)
            }
        };
        result.map_err(at("sync", &self.path))
    }
}

/// The monotonic clock and the time of day.
#[derive(Clone, Copy, Debug)]
pub struct OsClock {
    start: Instant,
}

impl OsClock {
    /// A clock that starts now.
    pub fn new() -> OsClock {
        OsClock { start: Instant::now() }
    }
}

impl Default for OsClock {
    fn default() -> OsClock {
        OsClock::new()
    }
}

impl Clock for OsClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) {
        thread::sleep(duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_by_its_file() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fd:01:12 0 EOF\n2: FLOCK  ADVISORY  WRITE 8 fd:01:13 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 9 fd:01:12 0 EOF\n";
        let device = rustix::fs::makedev(0xfd, 1);
        assert_eq!(holder_in(locks, device, 12), Some(9));
        assert_eq!(holder_in(locks, device, 14), None);
    }

    /// An unaligned write is the one refusal that every file system with `O_DIRECT` gives.
    #[test]
    fn a_refused_direct_write_falls_back_and_stays_synchronous() {
        let path = std::env::temp_dir().join(format!("osier-os-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        OsFile::open(&path, OpenMode::Create).unwrap();
        let file = OsFile::open(&path, OpenMode::Log).unwrap();
        let was_direct = file.is_direct.load(Ordering::Relaxed);
        file.write(b"neither length nor address is aligned", 5).unwrap();
        let flags = fcntl_getfl(&file.file).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!flags.contains(OFlags::DIRECT));
        assert_eq!(flags.contains(DSYNC), was_direct);
        assert_eq!(flags.contains(OFlags::SYNC), DSYNC == OFlags::SYNC && was_direct, "{flags:?}");
        let mut bytes = [0; 37];
        assert_eq!(file.read(&mut bytes, 5).unwrap(), 37);
        assert_eq!(&bytes, b"neither length nor address is aligned");
        // Only the first refusal is the flag's fault.
        assert!(!file.fall_back().unwrap());
    }

    #[test]
    fn a_file_is_removed_in_pieces() {
        let path = std::env::temp_dir().join(format!("osier-os-pieces-{}", std::process::id()));
        fs::write(&path, [7; 250]).unwrap();
        for left in [150, 50] {
            assert!(!OsDisk.remove_piece(&path, 100).unwrap());
            assert_eq!(fs::read(&path).unwrap(), vec![7; left]);
        }
        assert!(OsDisk.remove_piece(&path, 100).unwrap());
        assert!(!OsDisk.exists(&path).unwrap());
        let error = OsDisk.remove_piece(&path, 100).unwrap_err();
        assert!(error.kind() == io::ErrorKind::NotFound && error.to_string().contains("osier-os-pieces"), "{error}");
    }
}
