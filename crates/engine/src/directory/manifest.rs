//! The manifest: which database this is, where its streams lie, and how far each of its generations counts.
//!
//! Invariants:
//! - It is replaced as a whole: temporary -> sync -> rename -> sync of the directory ([`Manifest::store`]). Whatever a
//!   new manifest no longer needs is removed only afterwards.
//! - A generation is *frozen* before any record of a later one is written. Its records are judged by the frozen cut and
//!   read up to the frozen ends for ever; without that, discarded transactions would come back after the next crash.
//! - The floor of the current generation is at or above every stamp ever seen, discarded records included.
//! - Generations grow; a directory, once listed, keeps its index, which is not given again when it is left out.
//!
//! Absent: any knowledge of what the logs hold (recovery/cut.rs decides, recovery/freeze.rs writes).

use std::io;
use std::path::{Path, PathBuf};

use super::taken_back::TakenBack;
use crate::config::{CheckpointKind, Logged, Protocol};
use crate::directory::faults;
use crate::ids::{DatabaseId, Epoch, Generation, Incarnation, LogOffset, Stamp, StreamId};
use crate::io::error::{cause, io_cure, io_sqlstate, is_device_failure};
use crate::io::{Disk, OpenMode};
use crate::log::format::LogIdentity;
use crate::log::format::segment::{self, FIRST_SEQUENCE, FileName, stream_directory};

pub(crate) mod codec;

/// The manifest's name in the home directory.
pub const FILE_NAME: &str = "MANIFEST";
/// What the manifest is written as before it takes its place.
pub(crate) const TEMPORARY_NAME: &str = "MANIFEST.tmp";

/// Stands for "none" where an epoch is asked for: above every epoch there can be.
pub(crate) const NEVER: Epoch = Epoch(u64::MAX);

/// What the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The database.
    pub database: DatabaseId,
    /// Where streams and checkpoints lie. The first one is home.
    pub directories: Vec<DirectoryEntry>,
    /// Whether each stream of `current` records which of its segments is the newest.
    pub records_newest: bool,
    /// Whether it did so before the manifest of the generation was stored, when it had no segment yet: else a version before 5
    /// began the generation, and a stream may have no record of it.
    pub records_begin: bool,
    /// The newest generation. It is being written, or crashed, unless it is also the last of `frozen`.
    pub current: Layout,
    /// Generations that ended and whose logs are still needed, in order.
    pub frozen: Vec<FrozenGeneration>,
    /// Where recovery begins to read each stream of the newest generation.
    pub begins: Vec<StreamBegin>,
    /// Valid checkpoints, oldest first. So far there is at most one: the newest is what recovery begins with.
    pub checkpoints: Vec<CheckpointEntry>,
}

/// A directory of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Where it was when the database was last opened: absolute, or relative to home where it lies in it.
    pub path: PathBuf,
    /// It was left out; nothing in it is needed.
    pub is_retired: bool,
}

/// A checkpoint that is complete and stable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointEntry {
    /// Its number.
    pub number: u64,
    /// Which state it holds.
    pub kind: CheckpointKind,
    /// The epoch at whose end that was, or RSN of a fuzzy checkpoint: what recovery need not replay.
    pub boundary: u64,
    /// Everything in it has a stamp at or below this one, and was stable when the entry was written.
    pub max_seen: Stamp,
    /// Everything in it is of this epoch or an earlier one; [`NEVER`] where that is not known, which may be so for a fuzzy one
    /// that an earlier version took.
    pub max_epoch: Epoch,
    /// When, in seconds since 1970.
    pub taken_seconds: u64,
    /// How many rows it has.
    pub rows: u64,
    /// Of these, before compression.
    pub raw_bytes: u64,
    /// Its files.
    pub parts: Vec<CheckpointPart>,
}

impl CheckpointEntry {
    /// Whether what a record of the log with this place in the order did is in the checkpoint, or was undone in it.
    pub fn covers(&self, stamp: Stamp, epoch: Epoch) -> bool {
        match self.kind {
            CheckpointKind::Epoch => epoch.0 <= self.boundary,
            CheckpointKind::Fuzzy => stamp.0 <= self.boundary,
        }
    }
}

/// One file of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointPart {
    /// The index of its directory in [`Manifest::directories`].
    pub directory: u32,
    /// Its length.
    pub bytes: u64,
}

/// Where recovery begins to read a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamBegin {
    /// The sequence number of the first segment.
    pub sequence: u64,
    /// When the segments before were given up, every record of the stream at or below this was durable, and every later one
    /// would be above: what the certificates in them said.
    pub durable: Stamp,
}

impl StreamBegin {
    /// Returns the begin of a whole generation.
    pub(crate) fn of(layout: &Layout) -> Vec<StreamBegin> {
        vec![StreamBegin { sequence: FIRST_SEQUENCE, durable: layout.floor }; layout.streams.len()]
    }
}

/// How a generation is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The open that began it; [`Incarnation::NONE`] before there were identities.
    pub incarnation: Incarnation,
    /// Its number.
    pub generation: Generation,
    /// How it orders its log.
    pub protocol: Protocol,
    /// What its records hold. Where that is commands, there may be values as well: of transactions that changed definitions, or
    /// that no procedure ran.
    pub logged: Logged,
    /// Every earlier stamp is at or below this, every one of this generation above.
    pub floor: Stamp,
    /// Every earlier epoch is at or below this.
    pub epoch_floor: Epoch,
    /// For each stream the index of its directory in [`Manifest::directories`]. Empty where nothing is logged.
    pub streams: Vec<u32>,
}

impl Layout {
    /// Returns the log of `stream`.
    pub fn log(&self, database: DatabaseId, stream: StreamId) -> LogIdentity {
        LogIdentity::new(database, self.generation, stream, self.streams.len() as u32).begun_by(self.incarnation)
    }
}

/// A generation that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenGeneration {
    /// How it was laid out.
    pub layout: Layout,
    /// What decides which of its records live, by the rule of its protocol: for Poplar RSNe. A rule that needs more than a stamp
    /// has those of the streams.
    pub cut: Stamp,
    /// The greatest stamp in it, discarded records included.
    pub max_seen: Stamp,
    /// The greatest epoch in it.
    pub max_epoch: Epoch,
    /// Whether it was closed, and not cut off by a crash.
    pub clean: bool,
    /// Records of later epochs do not count either: the database was taken back to this one. [`NEVER`] where it was not.
    pub until: Epoch,
    /// What there is to read of each stream.
    pub streams: Vec<FrozenStream>,
}

/// What there is to read of one stream of a frozen generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrozenStream {
    /// The sequence number of the first segment.
    pub first_sequence: u64,
    /// Exactly the batches before this are sound and count.
    pub end: LogOffset,
    /// Every record of the stream at or below it is in it: of Taurus the stream's place in ELV. At least the cut.
    pub durable: Stamp,
}

/// Where the log of a stream ended when it was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEnd {
    /// The stream.
    pub stream: StreamId,
    /// The end of its last batch, which is durable.
    pub end: LogOffset,
    /// Its last stamp; certificates about it count.
    pub stamp: Stamp,
}

/// Why there is no manifest to work with.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The operating system refused.
    #[error("cannot {action} {}: {}{}", path.display(), cause(source, path), io_cure(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The device failed while the manifest was replaced: the old or the new one is on disk, and which is not known.
    #[error(
        "cannot {action} {}: {}; it is not known which of two manifests is there: close the database, check the device and \
         open it again", path.display(), cause(source, path))]
    InDoubt {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no manifest, but there are logs.
    #[error(
        "there is no {} but {} holds a log: a database without its manifest; restore the manifest, or name the \
         directory that was given first when the database was created", path.display(), log.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
        /// What shows that there was a database.
        log: PathBuf,
    },
    /// Damaged or not a manifest.
    #[error("{} is damaged: {what}; restore a backup, or save the rows that are left with osier salvage --rows", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Written by a newer program.
    #[error("{} has format version {found}, this program reads up to {}: use a newer osier", path.display(), codec::VERSION)]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A directory whose name cannot be written down.
    #[error("the directory {} cannot be named in the manifest: its name is not UTF-8; rename it", path.display())]
    DirectoryName {
        /// The directory.
        path: PathBuf,
    },
}

impl ManifestError {
    fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> ManifestError + 'a {
        move |source| ManifestError::Io { action, path: path.to_owned(), source }
    }

    /// Whether the device failed, so that nothing may be tried again. A lack of space or of rights before the manifest was
    /// renamed is no such failure: the temporary file is abandoned, and nothing was promised of it.
    pub(crate) fn device_failure(&self) -> Option<(&'static str, &Path, &io::Error)> {
        match self {
            ManifestError::Io { action, path, source } if is_device_failure(source) => Some((action, path, source)),
            ManifestError::InDoubt { action, path, source } => Some((action, path, source)),
            _ => None,
        }
    }

    /// Returns the SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            ManifestError::Io { source, .. } | ManifestError::InDoubt { source, .. } => io_sqlstate(source),
            ManifestError::Missing { .. } => "58P01",
            ManifestError::Damaged { .. } => "XX001",
            ManifestError::Version { .. } => "0A000",
            ManifestError::DirectoryName { .. } => "22023",
        }
    }
}

impl Manifest {
    /// Returns the manifest of a new database in `dirs` with `streams` streams. Nothing is written yet.
    pub fn new(database: DatabaseId, protocol: Protocol, streams: u32, dirs: &[PathBuf]) -> Manifest {
        let current = Layout {
            incarnation: Incarnation(fastrand::u64(1..)),
            generation: Generation(1),
            protocol,
            logged: Logged::Values,
            floor: Stamp::ZERO,
            epoch_floor: Epoch(0),
            streams: Vec::new(),
        };
        let mut manifest = Manifest {
            database,
            directories: Vec::new(),
            records_newest: true,
            records_begin: true,
            current,
            frozen: Vec::new(),
            begins: Vec::new(),
            checkpoints: Vec::new(),
        };
        manifest.current.streams = manifest.place_streams(protocol, streams, dirs);
        manifest.begins = StreamBegin::of(&manifest.current);
        manifest
    }

    /// Reads the manifest in `home`. `None` where there is none and no log of any database in `dirs` either.
    pub fn load(disk: &dyn Disk, home: &Path, dirs: &[PathBuf]) -> Result<Option<Manifest>, ManifestError> {
        let path = home.join(FILE_NAME);
        if !disk.exists(&path).map_err(ManifestError::io("look for", &path))? {
            return match find_segment(disk, dirs)? {
                Some(log) => Err(ManifestError::Missing { path, log }),
                None => Ok(None),
            };
        }
        let file = disk.open(&path, OpenMode::Read).map_err(ManifestError::io("open", &path))?;
        let length = file.len().map_err(ManifestError::io("measure", &path))?;
        if length > codec::BYTES_MAX {
            return Err(ManifestError::Damaged { path, what: format!("it has {length} bytes") });
        }
        let mut bytes = vec![0; length as usize];
        let read = file.read_at(&mut bytes, 0).map_err(ManifestError::io("read", &path))?;
        Manifest::from_bytes(&path, &bytes[..read]).map(Some)
    }

    /// Reads the bytes of a manifest, found in `path`.
    pub(crate) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Manifest, ManifestError> {
        codec::decode(bytes).map_err(|error| match error {
            codec::Error::Version(found) => ManifestError::Version { path: path.to_owned(), found },
            codec::Error::Damaged(what) => ManifestError::Damaged { path: path.to_owned(), what },
        })
    }

    /// Returns the bytes of the manifest.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, ManifestError> {
        let bytes = codec::encode(self).map_err(|path| ManifestError::DirectoryName { path })?;
        assert!(bytes.len() as u64 <= codec::BYTES_MAX, "a manifest of {} bytes is never read", bytes.len());
        assert_eq!(codec::decode(&bytes).as_ref(), Ok(self), "a manifest that cannot be read again");
        Ok(bytes)
    }

    /// Replaces the manifest in `home`; it is durable when this returns.
    pub fn store(&self, disk: &dyn Disk, home: &Path) -> Result<(), ManifestError> {
        let bytes = self.to_bytes()?;
        let (temporary, path) = (home.join(TEMPORARY_NAME), home.join(FILE_NAME));
        if disk.exists(&temporary).map_err(ManifestError::io("look for", &temporary))? {
            disk.remove(&temporary).map_err(ManifestError::io("remove", &temporary))?;
        }
        let file = disk.open(&temporary, OpenMode::Create).map_err(ManifestError::io("create", &temporary))?;
        file.write_at(&bytes, 0).map_err(ManifestError::io("write", &temporary))?;
        faults::sync_manifest(|| file.sync().map_err(ManifestError::io("sync", &temporary)))?;
        disk.rename(&temporary, &path).map_err(|source| match is_device_failure(&source) {
            true => ManifestError::InDoubt { action: "replace", path: path.clone(), source },
            false => ManifestError::io("replace", &path)(source),
        })?;
        let in_doubt = |source| ManifestError::InDoubt { action: "sync the directory", path: home.to_owned(), source };
        disk.sync_dir(home).map_err(in_doubt)
    }

    /// Returns the directories of the newest generation's streams.
    pub fn current_directories(&self, home: &Path) -> Vec<PathBuf> {
        let streams = (0..self.current.streams.len() as u32).map(StreamId);
        streams.map(|stream| self.stream_directory(home, &self.current, stream)).collect()
    }

    /// Returns the directory of a stream.
    pub fn stream_directory(&self, home: &Path, layout: &Layout, stream: StreamId) -> PathBuf {
        stream_directory(&self.directory(home, layout.streams[stream.0 as usize]), stream)
    }

    /// Returns what was written down of a generation that has ended and whose log is still there.
    pub fn frozen_generation(&self, generation: Generation) -> Option<&FrozenGeneration> {
        self.frozen.iter().find(|frozen| frozen.layout.generation == generation)
    }

    /// Returns where the directory of this index lies, as far as an open has located it; else where it was.
    pub fn directory(&self, home: &Path, index: u32) -> PathBuf {
        match &self.directories[index as usize].path {
            path if path.as_os_str().is_empty() => home.to_owned(),
            path => home.join(path),
        }
    }

    /// Returns the directories that are in use, home first.
    pub fn directories_in_use(&self, home: &Path) -> Vec<PathBuf> {
        let in_use = (0..).zip(&self.directories).filter(|(_, entry)| !entry.is_retired);
        in_use.map(|(index, _)| self.directory(home, index)).collect()
    }

    /// Notes where a directory lies now.
    pub(crate) fn locate(&mut self, index: u32, home: &Path, path: &Path) {
        self.directories[index as usize].path = relative_to(home, path);
    }

    /// Lists a directory that is new; returns its index.
    pub(crate) fn add_directory(&mut self, home: &Path, path: &Path) -> u32 {
        self.directories.push(DirectoryEntry { path: relative_to(home, path), is_retired: false });
        u32::try_from(self.directories.len() - 1).expect("fewer directories than streams")
    }

    /// Returns the incarnation of the open that stored it, or whose checkpoints and close did.
    pub fn incarnation(&self) -> Incarnation {
        self.current.incarnation
    }

    /// Returns which epochs it was taken back to and what that gave up, oldest first.
    pub fn taken_back(&self) -> Vec<TakenBack> {
        let cut = self.frozen.iter().filter(|frozen| frozen.until < frozen.max_epoch);
        let mut found: Vec<TakenBack> = Vec::new();
        for TakenBack { to, last } in cut.map(|frozen| TakenBack { to: frozen.until.0, last: frozen.max_epoch.0 }) {
            let mut back = TakenBack { to, last };
            // One decision gives up the end of a generation and whole later ones.
            while let Some(before) = found.pop_if(|before| back.to <= before.last) {
                back = TakenBack { to: back.to.min(before.to), last: back.last.max(before.last) };
            }
            found.push(back);
        }
        assert!(found.is_sorted_by(|one, next| one.to < one.last && one.last < next.to), "{found:?} lie apart");
        found
    }

    /// Returns the layouts of its generations, oldest first; the current one comes last, also where it is frozen.
    pub fn layouts(&self) -> impl Iterator<Item = &Layout> {
        self.frozen.iter().map(|frozen| &frozen.layout).chain([&self.current])
    }

    /// Whether the current generation ended, so that nothing may be written to it any more.
    pub fn is_closed(&self) -> bool {
        self.frozen.last().is_some_and(|frozen| frozen.layout.generation == self.current.generation)
    }

    /// Whether a segment in `directory`, of a stream, may still be needed.
    pub fn needs(&self, home: &Path, directory: &Path, generation: Generation, sequence: u64) -> bool {
        let lies_here = |layout: &Layout, stream: usize| {
            layout.generation == generation && self.stream_directory(home, layout, StreamId(stream as u32)) == directory
        };
        let of_frozen = self.frozen.iter().flat_map(|frozen| {
            frozen.streams.iter().enumerate().map(move |(at, stream)| (&frozen.layout, at, stream.first_sequence))
        });
        let of_current = self.begins.iter().enumerate().map(|(at, begin)| (&self.current, at, begin.sequence));
        generation > self.current.generation
            || of_frozen.chain(of_current).any(|(layout, at, first)| lies_here(layout, at) && sequence >= first)
    }

    /// Makes `entry` the one checkpoint. With it recovery needs the newest generation from the segments `begins` on, and
    /// of the others only those with records that it does not cover. Returns those that are not needed any more.
    pub(crate) fn supersede(&mut self, entry: CheckpointEntry, begins: Vec<StreamBegin>) -> Vec<FrozenGeneration> {
        assert_eq!(begins.len(), self.begins.len(), "a begin for each stream");
        assert!(self.checkpoints.last().is_none_or(|last| last.number < entry.number), "checkpoint numbers rise");
        let goes_on =
            |(new, old): (&StreamBegin, &StreamBegin)| new.sequence >= old.sequence && new.durable >= old.durable;
        assert!(begins.iter().zip(&self.begins).all(goes_on), "what was given up does not come back");
        let is_covered = |frozen: &mut FrozenGeneration| entry.covers(frozen.max_seen, frozen.max_epoch);
        let superseded = self.frozen.extract_if(.., is_covered).collect();
        (self.begins, self.checkpoints) = (begins, vec![entry]);
        superseded
    }

    /// Takes note of the greatest stamp in the checkpoint. Of one that was taken without a log, earlier versions noted none.
    pub(crate) fn note_loaded(&mut self, greatest: Stamp) {
        for checkpoint in &mut self.checkpoints {
            checkpoint.max_seen = checkpoint.max_seen.max(faults::loaded(greatest));
        }
    }

    /// Returns the greatest stamp and epoch known to the manifest.
    pub fn seen(&self) -> (Stamp, Epoch) {
        let mut seen = self.seen_in_logs();
        for checkpoint in &self.checkpoints {
            seen.0 = seen.0.max(checkpoint.max_seen);
            // No record need have come as far as the epoch that a checkpoint makes recovery skip, or that it read in a row.
            if checkpoint.max_epoch != NEVER {
                seen.1 = seen.1.max(faults::skipped(checkpoint.max_epoch));
            }
        }
        seen
    }

    fn seen_in_logs(&self) -> (Stamp, Epoch) {
        match self.frozen.last() {
            Some(frozen) if self.is_closed() => {
                (self.current.floor.max(frozen.max_seen), self.current.epoch_floor.max(frozen.max_epoch))
            }
            _ => (self.current.floor, self.current.epoch_floor),
        }
    }

    /// Returns what there is to read of the newest generation when its streams end at `ends`, each durable up to a stamp.
    pub(crate) fn frozen_streams(&self, ends: impl Iterator<Item = (LogOffset, Stamp)>) -> Vec<FrozenStream> {
        let stream = |(begin, (end, durable)): (&StreamBegin, (LogOffset, Stamp))| FrozenStream {
            first_sequence: begin.sequence,
            end,
            durable,
        };
        let streams: Vec<_> = self.begins.iter().zip(ends).map(stream).collect();
        assert_eq!(streams.len(), self.begins.len(), "an end for each stream");
        streams
    }

    /// Notes where the streams of a new generation lie, one after the other over `dirs`, of which the first is home.
    pub fn place_streams(&mut self, protocol: Protocol, streams: u32, dirs: &[PathBuf]) -> Vec<u32> {
        assert!(!dirs.is_empty(), "the configuration names a directory");
        let home = &dirs[0];
        let indexes: Vec<u32> = dirs.iter().map(|dir| self.directory_index(home, dir)).collect();
        assert!(
            indexes.iter().all(|index| !self.directories[*index as usize].is_retired),
            "a stream where nothing lies"
        );
        let streams = if protocol == Protocol::None { 0 } else { streams };
        (0..streams as usize).map(|stream| indexes[stream % indexes.len()]).collect()
    }

    /// Returns the index of `dir`, listed now where it is not.
    pub(crate) fn directory_index(&mut self, home: &Path, dir: &Path) -> u32 {
        let relative = relative_to(home, dir);
        let known = self.directories.iter().position(|known| known.path == relative && !known.is_retired);
        known.map_or_else(|| self.add_directory(home, dir), |index| index as u32)
    }
}

/// As a manifest in `home` names `dir`, whether one of them is given as a relative path or not.
fn relative_to(home: &Path, dir: &Path) -> PathBuf {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (home, dir) = (absolute(home), absolute(dir));
    dir.strip_prefix(home).map(Path::to_owned).unwrap_or(dir)
}

/// Freezes the current generation after a clean close: every stream ends where its logger says, and every record
/// counts. Durable when it returns.
pub fn freeze_clean(
    manifest: &Manifest,
    disk: &dyn Disk,
    home: &Path,
    ends: &[StreamEnd],
    max_epoch: Epoch,
) -> Result<Manifest, ManifestError> {
    assert!(!manifest.is_closed(), "generation {} is frozen already", manifest.current.generation);
    assert_eq!(ends.len(), manifest.current.streams.len(), "an end for each stream");
    assert!(ends.iter().enumerate().all(|(at, end)| end.stream.0 as usize == at), "{ends:?}");
    let reaches = |(end, begin): (&StreamEnd, &StreamBegin)| end.stamp >= begin.durable;
    assert!(ends.iter().zip(&manifest.begins).all(reaches), "a stream ends before it begins: {ends:?}");
    let floor = manifest.current.floor;
    let last = ends.iter().map(|end| end.stamp).max().unwrap_or(floor).max(floor);
    let is_within = |entry: &CheckpointEntry| ends.is_empty() || entry.max_seen <= last;
    assert!(manifest.checkpoints.iter().all(is_within), "a checkpoint of what the log never held, up to {last}");
    let frozen = FrozenGeneration {
        layout: manifest.current.clone(),
        cut: last,
        max_seen: last,
        max_epoch: max_epoch.max(manifest.current.epoch_floor),
        clean: true,
        until: NEVER,
        // Everything in them counts.
        streams: manifest.frozen_streams(ends.iter().map(|end| (end.end, last))),
    };
    let mut manifest = manifest.clone();
    manifest.frozen.push(frozen);
    manifest.store(disk, home)?;
    Ok(manifest)
}

/// Any segment in the directories of streams below `dirs`.
fn find_segment(disk: &dyn Disk, dirs: &[PathBuf]) -> Result<Option<PathBuf>, ManifestError> {
    for dir in dirs {
        if !disk.exists(dir).map_err(ManifestError::io("look for", dir))? {
            continue;
        }
        for entry in disk.list(dir).map_err(ManifestError::io("list", dir))? {
            if !segment::is_stream_directory(&entry) {
                continue;
            }
            let files = disk.list(&entry).map_err(ManifestError::io("list", &entry))?;
            let segment = |path: &PathBuf| matches!(segment::FileName::parse(path), Some(FileName::Segment { .. }));
            if let Some(file) = files.into_iter().find(segment) {
                return Ok(Some(file));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
