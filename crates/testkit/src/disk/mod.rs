//! A disk in memory that keeps what POSIX promises and nothing more.
//!
//! Invariants:
//! - Bytes are durable after `File::sync`, or on return where the file is open for the log and
//!   [`LogWrites::Synchronous`]; entries are durable after `Disk::sync_dir`, one directory at a time.
//! - At a power loss every other sector, length and entry is kept or lost on its own; an operation in flight tears.
//! - After a crash every operation fails with an error that [`is_simulated_crash`] knows and changes nothing, so that
//!   the image is settled by [`SimDisk::survive`] or [`SimDisk::kill`] alone.
//!
//! Deliberately absent: symbolic links, permissions, renames between directories (each may be a device of its own).

mod content;
mod directory;
mod faults;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;
use osier::io::{BLOCK_BYTES, Disk, File, FileStatus, Lock, OpenMode};

use content::Content;
pub use content::SECTOR_BYTES;
use directory::{Directory, NodeId};
use faults::{Counts, Need, Verdict, crash, full, io_error};
pub use faults::{Faults, Kind, is_simulated_crash};

const ROOT: NodeId = NodeId(0);

/// What a write to a file opened with [`OpenMode::Log`] promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogWrites {
    /// Durable when it returns, as with `O_DIRECT | O_DSYNC`.
    Synchronous,
    /// Durable after [`File::sync`], as where the file system refuses `O_DIRECT`.
    Buffered,
}

/// Sees every changing operation, for traces.
pub type Observer = Arc<dyn Fn(&str) + Send + Sync>;

/// A simulated disk. Clones share it.
#[derive(Clone)]
pub struct SimDisk {
    shared: Arc<SharedDisk>,
}

struct SharedDisk {
    log_writes: LogWrites,
    state: Mutex<SimDiskState>,
}

struct SimDiskState {
    nodes: BTreeMap<NodeId, Node>,
    /// Never given twice, because a pending change may name a node that is gone.
    last_node: NodeId,
    locked: BTreeSet<NodeId>,
    faults: Faults,
    /// Changing operations since the faults were set.
    counts: Counts,
    /// Reads since the faults were set.
    reads: u64,
    /// Syncs of files since the faults were set.
    syncs: u64,
    fault_met: bool,
    crashed: bool,
    /// The operation that the power failed in.
    crashed_in: Option<(Kind, String)>,
    rng: Rng,
    observer: Option<Observer>,
}

#[derive(Clone)]
enum Node {
    File(Content),
    Directory(Directory),
}

struct SimFile {
    shared: Arc<SharedDisk>,
    node: NodeId,
    /// As it was opened.
    path: PathBuf,
    mode: OpenMode,
}

struct SimLock {
    shared: Arc<SharedDisk>,
    node: NodeId,
    path: PathBuf,
}

impl SimDisk {
    /// An empty disk; `seed` decides how an operation tears.
    pub fn new(seed: u64, log_writes: LogWrites) -> SimDisk {
        let nodes = BTreeMap::from([(ROOT, Node::Directory(Directory::default()))]);
        SimDisk::with_nodes(nodes, ROOT, seed, log_writes)
    }

    fn with_nodes(nodes: BTreeMap<NodeId, Node>, last_node: NodeId, seed: u64, log_writes: LogWrites) -> SimDisk {
        let state = SimDiskState {
            nodes,
            last_node,
            locked: BTreeSet::new(),
            faults: Faults::default(),
            counts: Counts::default(),
            reads: 0,
            syncs: 0,
            fault_met: false,
            crashed: false,
            crashed_in: None,
            rng: Rng::with_seed(seed),
            observer: None,
        };
        SimDisk { shared: Arc::new(SharedDisk { log_writes, state: Mutex::new(state) }) }
    }

    /// Sets the faults to come and counts operations from zero again.
    pub fn set_faults(&self, faults: Faults) {
        let mut state = self.shared.state();
        state.faults = faults;
        state.counts = Counts::default();
        (state.reads, state.syncs) = (0, 0);
        state.fault_met = false;
    }

    /// Has every changing operation told to `observer`.
    pub fn observe(&self, observer: Observer) {
        self.shared.state().observer = Some(observer);
    }

    /// Lets the power fail now.
    pub fn crash(&self) {
        self.shared.state().crashed = true;
    }

    /// Whether the power has failed.
    pub fn is_crashed(&self) -> bool {
        self.shared.state().crashed
    }

    /// During which operation the power failed, if it was during one.
    pub fn crashed_in(&self) -> Option<(Kind, String)> {
        self.shared.state().crashed_in.clone()
    }

    /// Whether an injected EIO or ENOSPC has been returned since the faults were set.
    pub fn fault_met(&self) -> bool {
        self.shared.state().fault_met
    }

    /// Changing operations since the faults were set.
    pub fn changes(&self) -> u64 {
        self.shared.state().counts.changes
    }

    /// The disk after a power loss; `seed` decides what survived of all that was not synced.
    pub fn survive(&self, seed: u64) -> SimDisk {
        let mut rng = Rng::with_seed(seed);
        let (mut nodes, last_node) = self.nodes();
        for node in nodes.values_mut() {
            match node {
                Node::File(content) => content.power_loss(&mut rng),
                Node::Directory(directory) => directory.power_loss(&mut rng),
            }
        }
        retain_reachable(&mut nodes);
        SimDisk::with_nodes(nodes, last_node, rng.u64(..), self.shared.log_writes)
    }

    fn nodes(&self) -> (BTreeMap<NodeId, Node>, NodeId) {
        let state = self.shared.state();
        (state.nodes.clone(), state.last_node)
    }

    /// The disk after the process was killed: all that was written is still visible, and still not durable.
    pub fn kill(&self, seed: u64) -> SimDisk {
        let (mut nodes, last_node) = self.nodes();
        retain_reachable(&mut nodes);
        SimDisk::with_nodes(nodes, last_node, seed, self.shared.log_writes)
    }

    /// Copies a directory and everything in it, as somebody does who copies a database; the copy is durable.
    ///
    /// # Panics
    /// Where `from` is not there, or `to` is.
    pub fn copy_tree(&self, from: &Path, to: &Path) {
        let mut state = self.shared.state();
        let copied = state.lookup(from).map(|node| state.copy_node(node));
        state.graft(to, copied.expect("a directory to copy"));
    }

    /// Moves a directory, durably.
    ///
    /// # Panics
    /// Where `from` is not there, or `to` is.
    pub fn move_tree(&self, from: &Path, to: &Path) {
        let mut state = self.shared.state();
        let node = state.lookup(from).expect("a directory to move");
        state.graft(to, node);
        let (parent, name) = split(from).expect("a directory in another one");
        let parent = state.directory(parent).expect("it was found there");
        parent.unlink(name);
        parent.sync();
    }

    /// Every file below `path`, with its content.
    ///
    /// # Panics
    /// Where there is no directory at `path`.
    pub fn content(&self, path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for entry in self.list(path).expect("a directory") {
            let state = self.shared.state();
            let node = state.lookup(&entry).expect("it is listed");
            match &state.nodes[&node] {
                Node::Directory(_) => {
                    drop(state);
                    found.extend(self.content(&entry));
                }
                Node::File(content) => {
                    let mut bytes = vec![0; content.len()];
                    content.read(&mut bytes, 0);
                    found.insert(entry, bytes);
                }
            }
        }
        found
    }

    /// Puts a file there, durably, behind everybody's back.
    ///
    /// # Panics
    /// Where its directory is not there.
    pub fn put(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.shared.state();
        let mut content = Content::default();
        content.replace(|there| there.extend(bytes));
        state.create(path, Node::File(content)).expect("a directory for the file");
        let (parent, _) = split(path).expect("a file in a directory");
        state.directory(parent).expect("it was found there").sync();
    }

    /// Changes bytes of a file behind everybody's back, durably: corruption.
    ///
    /// # Panics
    /// Where there is no file at `path`.
    pub fn corrupt(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.shared.state();
        let node = state.lookup(path).expect("a file to corrupt");
        state.file(node).replace(change);
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.state();
        f.debug_struct("SimDisk")
            .field("changes", &state.counts.changes)
            .field("crashed", &state.crashed)
            .finish_non_exhaustive()
    }
}

/// Drops what a power loss or a kill left without a name for good.
fn retain_reachable(nodes: &mut BTreeMap<NodeId, Node>) {
    let mut reachable = BTreeSet::new();
    let mut open = vec![ROOT];
    while let Some(node) = open.pop() {
        if reachable.insert(node)
            && let Some(Node::Directory(directory)) = nodes.get(&node)
        {
            open.extend(directory.nodes());
        }
    }
    nodes.retain(|node, _| reachable.contains(node));
}

impl SharedDisk {
    fn state(&self) -> MutexGuard<'_, SimDiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks something up, which neither counts nor fails unless the power is off.
    fn look(&self) -> io::Result<MutexGuard<'_, SimDiskState>> {
        let state = self.state();
        if state.crashed { Err(crash()) } else { Ok(state) }
    }

    /// Starts a read.
    fn read(&self) -> io::Result<MutexGuard<'_, SimDiskState>> {
        let mut state = self.state();
        if state.crashed {
            return Err(crash());
        }
        state.reads += 1;
        if state.faults.read_error_at == Some(state.reads) {
            state.fault_met = true;
            return Err(io_error());
        }
        Ok(state)
    }

    /// Starts a changing operation. A verdict other than `Proceed` is carried out by the caller, who then returns
    /// [`SimDiskState::end`].
    fn change(
        &self,
        kind: Kind,
        need: Need,
        name: impl Fn() -> String,
    ) -> io::Result<(MutexGuard<'_, SimDiskState>, Verdict)> {
        let mut state = self.state();
        if state.crashed {
            return Err(crash());
        }
        let faults = state.faults;
        let verdict = faults.judge(&mut state.counts, kind, need);
        if verdict == Verdict::Crash {
            state.crashed_in = Some((kind, name()));
        }
        if let Some(observer) = &state.observer {
            let suffix = if verdict == Verdict::Proceed { String::new() } else { format!(" -> {verdict:?}") };
            observer(&format!("disk {:>4} {}{suffix}", state.counts.changes, name()));
        }
        Ok((state, verdict))
    }
}

impl SimDiskState {
    /// Ends a changing operation whose effect, whole or torn, is in place.
    fn end(&mut self, verdict: Verdict) -> io::Result<()> {
        match verdict {
            Verdict::Proceed => Ok(()),
            Verdict::Crash => {
                self.crashed = true;
                Err(crash())
            }
            Verdict::IoError => {
                self.fault_met = true;
                Err(if self.faults.errors_are_full { full() } else { io_error() })
            }
            Verdict::Full => {
                self.fault_met = true;
                Err(full())
            }
        }
    }

    fn file(&mut self, node: NodeId) -> &mut Content {
        match self.nodes.get_mut(&node) {
            Some(Node::File(content)) => content,
            _ => unreachable!("an open file keeps its node"),
        }
    }

    fn directory(&mut self, path: &Path) -> io::Result<&mut Directory> {
        let node = self.lookup(path)?;
        match self.nodes.get_mut(&node) {
            Some(Node::Directory(directory)) => Ok(directory),
            _ => Err(ErrorKind::NotADirectory.into()),
        }
    }

    fn lookup(&self, path: &Path) -> io::Result<NodeId> {
        let mut node = ROOT;
        for name in names(path) {
            let Some(Node::Directory(directory)) = self.nodes.get(&node) else {
                return Err(ErrorKind::NotADirectory.into());
            };
            node = directory.get(&name).ok_or(ErrorKind::NotFound)?;
        }
        Ok(node)
    }

    fn lookup_file(&self, path: &Path) -> io::Result<NodeId> {
        let node = self.lookup(path)?;
        match self.nodes.get(&node) {
            Some(Node::File(_)) => Ok(node),
            _ => Err(ErrorKind::IsADirectory.into()),
        }
    }

    /// A copy of a file, or of a directory with everything in it.
    fn copy_node(&mut self, node: NodeId) -> NodeId {
        let copy = match &self.nodes[&node] {
            Node::File(content) => Node::File(content.copy()),
            Node::Directory(directory) => {
                let entries: Vec<_> = directory.entries().map(|(name, node)| (name.clone(), node)).collect();
                let mut copy = Directory::default();
                for (name, node) in entries {
                    let node = self.copy_node(node);
                    copy.link(name, node);
                }
                copy.sync();
                Node::Directory(copy)
            }
        };
        self.last_node = NodeId(self.last_node.0 + 1);
        self.nodes.insert(self.last_node, copy);
        self.last_node
    }

    /// Gives a node the name `path`, and creates what is missing above it, durably.
    fn graft(&mut self, path: &Path, node: NodeId) {
        let above: Vec<PathBuf> = path.ancestors().skip(1).map(Path::to_owned).collect();
        for directory in above.iter().rev().filter(|directory| directory.file_name().is_some()) {
            if self.lookup(directory).is_err() {
                self.create(directory, Node::Directory(Directory::default())).expect("its parent was made");
                let (parent, _) = split(directory).expect("a directory in another one");
                self.directory(parent).expect("it was made").sync();
            }
        }
        assert!(self.lookup(path).is_err(), "{} is there already", path.display());
        let (parent, name) = split(path).expect("a directory in another one");
        let parent = self.directory(parent).expect("it was made");
        parent.link(name, node);
        parent.sync();
    }

    /// Adds `node` at `path`, whose parent exists.
    fn create(&mut self, path: &Path, node: Node) -> io::Result<NodeId> {
        let (parent, name) = split(path)?;
        let id = NodeId(self.last_node.0 + 1);
        self.directory(parent)?.link(name, id);
        self.last_node = id;
        self.nodes.insert(id, node);
        Ok(id)
    }
}

/// The names on the way to `path`, however it is spelled.
fn names(path: &Path) -> Vec<OsString> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir => drop(names.pop()),
            _ => {}
        }
    }
    names
}

fn split(path: &Path) -> io::Result<(&Path, OsString)> {
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    Ok((path.parent().unwrap_or(Path::new("")), name.to_owned()))
}

impl Disk for SimDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        let mut path = PathBuf::new();
        for name in names(dir) {
            path.push(name);
            if self.exists(&path)? {
                continue;
            }
            let (mut state, verdict) =
                self.shared.change(Kind::Other, Need::Always, || format!("mkdir {}", path.display()))?;
            if matches!(verdict, Verdict::Proceed | Verdict::Crash) {
                state.create(&path, Node::Directory(Directory::default()))?;
            }
            state.end(verdict)?;
        }
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let mut state = self.shared.read()?;
        Ok(state.directory(dir)?.entries().map(|(name, _)| dir.join(name)).collect())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        match self.shared.look()?.lookup(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        let node = self.shared.look()?.lookup(path)?;
        Ok(FileStatus { id: (0, node.0 as u64), links: 1, is_symbolic_link: false })
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let node = if mode.is_new() {
            let (mut state, verdict) =
                self.shared.change(Kind::Other, Need::Always, || format!("create {}", path.display()))?;
            if state.lookup(path).is_ok() {
                return Err(ErrorKind::AlreadyExists.into());
            }
            if !matches!(verdict, Verdict::Proceed | Verdict::Crash) {
                return Err(state.end(verdict).expect_err("a fault"));
            }
            let node = state.create(path, Node::File(Content::default()))?;
            state.end(verdict)?;
            node
        } else {
            self.shared.look()?.lookup_file(path)?
        };
        Ok(Arc::new(SimFile { shared: Arc::clone(&self.shared), node, path: path.to_owned(), mode }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let becomes_spare = to.file_name().is_some_and(|name| name.to_string_lossy().starts_with("prepared-"));
        let kind = if becomes_spare { Kind::Removal } else { Kind::Other };
        let (mut state, verdict) =
            self.shared.change(kind, Need::Nothing, || format!("rename {} {}", from.display(), to.display()))?;
        let node = state.lookup_file(from)?;
        let ((parent, from), (to_parent, to)) = (split(from)?, split(to)?);
        if parent != to_parent {
            return Err(ErrorKind::CrossesDevices.into());
        }
        if verdict != Verdict::IoError {
            state.directory(parent)?.rename(from, to, node);
        }
        state.end(verdict)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let (mut state, verdict) =
            self.shared.change(Kind::Removal, Need::Copy, || format!("unlink {}", path.display()))?;
        state.lookup_file(path)?;
        let (parent, name) = split(path)?;
        if matches!(verdict, Verdict::Proceed | Verdict::Crash) {
            state.directory(parent)?.unlink(name);
        }
        state.end(verdict)
    }

    /// Now and then half of the file is cut off, however short it is: at once and for good.
    fn remove_piece(&self, path: &Path, _: u64) -> io::Result<bool> {
        let (mut state, verdict) =
            self.shared.change(Kind::Removal, Need::Copy, || format!("cut {}", path.display()))?;
        let node = state.lookup_file(path)?;
        let is_gone = state.rng.bool();
        if matches!(verdict, Verdict::Proceed | Verdict::Crash) {
            if is_gone {
                let (parent, name) = split(path)?;
                state.directory(parent)?.unlink(name);
            } else {
                state.file(node).replace(|bytes| bytes.truncate(bytes.len() / 2));
            }
        }
        state.end(verdict).map(|()| is_gone)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let (mut state, verdict) =
            self.shared.change(Kind::DirSync, Need::Nothing, || format!("syncdir {}", dir.display()))?;
        let directory = state.directory(dir)?;
        if verdict == Verdict::Proceed {
            directory.sync();
        }
        state.end(verdict)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        let found = self.shared.look()?.lookup_file(path);
        let node = match found {
            Ok(node) => node,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (mut state, verdict) =
                    self.shared.change(Kind::Other, Need::Always, || format!("create {}", path.display()))?;
                let node = state.create(path, Node::File(Content::default()))?;
                state.end(verdict)?;
                node
            }
            Err(error) => return Err(error),
        };
        if !self.shared.state().locked.insert(node) {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(SimLock { shared: Arc::clone(&self.shared), node, path: path.to_owned() }))
    }
}

impl Lock for SimLock {
    fn is_in_place(&self) -> io::Result<bool> {
        Ok(self.shared.state().lookup_file(&self.path).is_ok_and(|node| node == self.node))
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.shared.state().locked.remove(&self.node);
    }
}

impl SimFile {
    fn is_synchronous(&self) -> bool {
        self.mode == OpenMode::Log && self.shared.log_writes == LogWrites::Synchronous
    }

    /// What `O_DIRECT` asks of every transfer.
    fn check_alignment(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let aligned = bytes.as_ptr().addr().is_multiple_of(BLOCK_BYTES)
            && bytes.len().is_multiple_of(BLOCK_BYTES)
            && offset.is_multiple_of(BLOCK_BYTES as u64);
        if self.mode.is_aligned() && !aligned {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a direct transfer that is not aligned to blocks"));
        }
        Ok(())
    }
}

impl File for SimFile {
    fn lies_at(&self, path: &Path) -> io::Result<bool> {
        match self.shared.look()?.lookup(path) {
            Ok(node) => Ok(node == self.node),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.shared.look()?.file(self.node).len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.check_alignment(buffer, offset)?;
        Ok(self.shared.read()?.file(self.node).read(buffer, position(offset)?))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.mode == OpenMode::Read {
            return Err(ErrorKind::PermissionDenied.into());
        }
        self.check_alignment(bytes, offset)?;
        let offset = position(offset)?;
        let extends = offset + bytes.len() > self.shared.look()?.file(self.node).len();
        let need = if extends { Need::Always } else { Need::Copy };
        let name = || format!("write node {} at {offset} length {}", self.node.0, bytes.len());
        let kind = if self.mode == OpenMode::Log { Kind::LogWrite } else { Kind::Other };
        let (mut state, verdict) = self.shared.change(kind, need, name)?;
        let mut rng = state.rng.fork();
        let content = state.file(self.node);
        match verdict {
            Verdict::Proceed => content.write(bytes, offset, self.is_synchronous()),
            Verdict::Crash => content.write(bytes, offset, false),
            Verdict::IoError if self.is_synchronous() => content.write_torn(bytes, offset, &mut rng),
            Verdict::IoError | Verdict::Full => {}
        }
        state.end(verdict)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        if self.mode == OpenMode::Read {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let length = position(length)?;
        let (mut state, verdict) = self
            .shared
            .change(Kind::Other, Need::Always, || format!("allocate node {} length {length}", self.node.0))?;
        if matches!(verdict, Verdict::Proceed | Verdict::Crash) {
            state.file(self.node).extend(length);
        }
        state.end(verdict)
    }

    fn sync(&self) -> io::Result<()> {
        let (mut state, mut verdict) =
            self.shared.change(Kind::Other, Need::Nothing, || format!("sync node {}", self.node.0))?;
        state.syncs += u64::from(state.faults.sync_error_below.is_none_or(|below| self.path.starts_with(below)));
        if state.faults.sync_error_at == Some(state.syncs) && verdict == Verdict::Proceed {
            verdict = Verdict::IoError;
        }
        let mut rng = state.rng.fork();
        match verdict {
            Verdict::Proceed => state.file(self.node).sync(),
            Verdict::IoError => state.file(self.node).sync_failed(&mut rng),
            Verdict::Crash | Verdict::Full => {}
        }
        state.end(verdict)
    }
}

fn position(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| ErrorKind::FileTooLarge.into())
}
