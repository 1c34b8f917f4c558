//! Seam 4: the operating system, or the simulator in its place. All file access, all time and all threads of the
//! engine go through these three traits.
//!
//! Invariants:
//! - A file counts as created only after `create -> write header -> File::sync -> Disk::sync_dir`.
//! - Bytes written count as durable after [`File::sync`] returned; an error from it is final, never retried.

#[cfg(test)]
pub(crate) mod disk_for_tests;
pub(crate) mod error;
mod faults;
pub(crate) mod in_place;
mod os;
mod signal;
pub(crate) mod socket;
mod system;
mod threads;

pub use os::{OsClock, OsDisk};
pub use signal::Signal;
pub use threads::OsSpawn;
#[cfg(all(test, loom))]
pub(crate) use {signal::models::explore, threads::run};

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::ids::WallTime;

/// The unit of direct writes, in bytes: file offsets, lengths and buffer addresses given to a file opened with
/// [`OpenMode::Log`] or [`OpenMode::Stream`] are multiples of it.
pub const BLOCK_BYTES: usize = 4096;

/// The rest between two pieces of a file that [`Disk::remove_piece`] frees.
pub(crate) const REMOVAL_PAUSE: Duration = Duration::from_millis(10);
/// How long a removal for which a full device had no space waits before it is tried again.
pub(crate) const FULL_PAUSE: Duration = Duration::from_secs(1);

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading.
    Read,
    /// A new file, for reading and writing; fails with `AlreadyExists` where there is one.
    Create,
    /// An existing file, for reading and writing.
    Write,
    /// An existing file, for the logger: direct and synchronous writes (`O_DIRECT | O_DSYNC`) where the file system
    /// takes them, buffered ones made durable by [`File::sync`] elsewhere.
    Log,
    /// A new file as with `Create`, for large amounts written from front to back: direct writes (`O_DIRECT`) where the file
    /// system takes them, which leave the page cache to others. Durable by [`File::sync`] either way.
    Stream,
}

impl OpenMode {
    /// Whether the file must not exist yet.
    pub fn is_new(self) -> bool {
        matches!(self, OpenMode::Create | OpenMode::Stream)
    }

    /// Whether transfers keep to [`BLOCK_BYTES`].
    pub fn is_aligned(self) -> bool {
        matches!(self, OpenMode::Log | OpenMode::Stream)
    }
}

/// What a file or a directory is, however its path is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// The device that it lies on, and its number there: two paths with the same pair name the same file.
    pub id: (u64, u64),
    /// How many names it has.
    pub links: u64,
    /// Whether the path itself is a symbolic link; the other fields are those of what it points to.
    pub is_symbolic_link: bool,
}

impl FileStatus {
    /// Whether bytes written to the file can be seen through no other path.
    pub fn is_private(&self) -> bool {
        self.links <= 1 && !self.is_symbolic_link
    }
}

/// A file system.
pub trait Disk: Send + Sync + 'static {
    /// Creates `dir` and its parents; durable after the parents' [`Disk::sync_dir`].
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;
    /// The entries of `dir`, sorted by name, as full paths.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;
    /// Whether there is anything at `path`.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// What lies at `path`; `NotFound` where nothing does.
    fn status(&self, path: &Path) -> io::Result<FileStatus>;
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Replaces `to` by `from`, atomically; durable after [`Disk::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Unlinks a file; durable after [`Disk::sync_dir`].
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Takes up to `bytes` off the end of a file that nobody needs, and unlinks it with the last of them: a file system that
    /// frees much at once, and tells the device so, keeps syncs waiting meanwhile. A file with another name is not cut, it
    /// only loses this one. Returns whether the file is gone.
    fn remove_piece(&self, path: &Path, bytes: u64) -> io::Result<bool> {
        let _ = bytes;
        self.remove(path).map(|()| true)
    }
    /// Makes the entries of `dir` durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes the exclusive lock on the file at `path` (created where missing), held until the value is dropped;
    /// `WouldBlock` where another process holds it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>>;
    /// Takes the lock on the directory at `path` that [`Disk::lock`] takes beside that on a file in it; `None` where directories
    /// cannot be locked.
    fn lock_directory(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        let _ = path;
        Ok(None)
    }
    /// A path that names what `path` names now also when the process has another working directory.
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
    /// The process that holds the lock on the file at `path`, where that can be told.
    fn lock_holder(&self, path: &Path) -> Option<u32> {
        let _ = path;
        None
    }
}

/// A lock, held until it is dropped.
pub trait Lock: Send + Sync {
    /// Whether what was locked, or the directory that it was in, still lies at its path.
    ///
    /// # Errors
    /// Where that cannot be told; that nothing is there is none.
    fn is_in_place(&self) -> io::Result<bool>;
}

/// An open file.
pub trait File: Send + Sync {
    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Reads up to `buffer.len()` bytes at `offset`; fewer only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Reserves disk space for `[0, length)` and extends the file to it, so that later writes cannot fail for want of
    /// space.
    fn allocate(&self, length: u64) -> io::Result<()>;
    /// Makes everything written so far durable. Free for a file whose writes are synchronous.
    fn sync(&self) -> io::Result<()>;
    /// Whether the file lies at `path`: `false` where that was moved, removed or replaced. `true` where nobody can tell.
    fn lies_at(&self, path: &Path) -> io::Result<bool> {
        let _ = path;
        Ok(true)
    }
}

/// Time.
pub trait Clock: Send + Sync + 'static {
    /// Time since an arbitrary start; never goes back.
    fn now(&self) -> Duration;
    /// The time of day.
    fn wall(&self) -> SystemTime;
    /// Lets `duration` pass.
    fn sleep(&self, duration: Duration);
}

impl WallTime {
    /// The present.
    pub fn now(clock: &dyn Clock) -> WallTime {
        clock.wall().into()
    }
}

/// What a background task did in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something; call again at once.
    Again,
    /// Nothing; call again when the task's [`Signal`] is raised or the duration, where given, has passed.
    Idle(Option<Duration>),
    /// Nothing, though there is work that can wait: call again when somebody waits for it and raises the signal, or the duration
    /// has passed.
    Rest(Duration),
    /// The task is over.
    Done,
}

/// A background activity, written as steps so that a simulator can interleave them by seed.
pub trait Task: Send + 'static {
    /// Does one bounded piece of work.
    fn step(&mut self) -> Step;
}

/// The number of this process, as others know it.
pub(crate) fn process_id() -> u32 {
    std::process::id()
}

/// The process that opened a database. A child that it forks inherits its memory and its open files, and none of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// Why nothing goes on in a child.
    pub(crate) const FORKED: &'static str = "this process was forked from the one that opened the database: open it here, \
                                             after the other one has closed it";

    /// The one that asks.
    pub(crate) fn this() -> Process {
        #[cfg(test)]
        if IS_CHILD.get() {
            return Process(process_id() ^ 1);
        }
        Process(process_id())
    }

    /// Whether this one asks, and not a child of it.
    pub(crate) fn is_this(self) -> bool {
        self == Process::this()
    }
}

#[cfg(test)]
thread_local! {
    static IS_CHILD: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Does something as a child of this process would.
#[cfg(test)]
pub(crate) fn as_child<T>(act: impl FnOnce() -> T) -> T {
    IS_CHILD.set(true);
    let done = act();
    IS_CHILD.set(false);
    done
}

/// Ends this process at once, without unwinding, and says why on standard error.
pub(crate) fn end_process(why: &str) -> ! {
    eprintln!("osier: {why}");
    std::process::abort()
}

/// Waits for a spawned task.
pub trait Joiner: Send + Sync {
    /// Returns when the task is over; `Err` with its message where it panicked.
    fn join(self: Box<Self>) -> Result<(), String>;
}

/// Threads.
pub trait Spawn: Send + Sync + 'static {
    /// Runs `task` until it is done; `signal` wakes it when idle.
    fn spawn(&self, name: String, task: Box<dyn Task>, signal: Arc<Signal>) -> io::Result<Box<dyn Joiner>>;
    /// Returns what runs tasks that come one after the other in threads that it keeps until it is dropped; `None`: each has a
    /// thread of its own.
    fn keeping(&self) -> Option<Arc<dyn Spawn>> {
        None
    }
    /// How many tasks can run at the same time.
    fn parallelism(&self) -> usize {
        std::thread::available_parallelism().map_or(1, |cores| cores.get())
    }
    /// Returns how much time the threads of this process have had of all processors together; `None` where nobody can tell.
    fn processor_time(&self) -> Option<Duration> {
        None
    }
}

/// The outside world of one database.
#[derive(Clone)]
pub struct Environment {
    /// Files.
    pub disk: Arc<dyn Disk>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Threads.
    pub spawn: Arc<dyn Spawn>,
}

impl Environment {
    /// The operating system.
    pub fn os() -> Environment {
        Environment { disk: Arc::new(OsDisk), clock: Arc::new(OsClock::new()), spawn: Arc::new(OsSpawn) }
    }

    /// The same, with threads that are kept from one task to the next where that is possible ([`Spawn::keeping`]).
    pub(crate) fn keeping_threads(&self) -> Environment {
        let spawn = self.spawn.keeping().unwrap_or_else(|| self.spawn.clone());
        Environment { spawn, ..self.clone() }
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment")
    }
}
