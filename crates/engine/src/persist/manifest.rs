//! The manifest: which database this is, where its streams lie, and how far each of its generations counts.
//!
//! Invariants:
//! - It is replaced as a whole: temporary -> sync -> rename -> sync of the directory ([`Manifest::store`]). Whatever a
//!   new manifest no longer needs is removed only afterwards.
//! - A generation is *frozen* before any record of a later one is written. Its records are judged by the frozen cut and
//!   read up to the frozen ends for ever; without that, discarded transactions would come back after the next crash.
//! - The floor of the current generation is at or above every stamp ever seen, discarded records included.
//! - Generations grow; a directory, once listed, keeps its index.
//!
//! Absent: any knowledge of what the logs hold (recovery/cut.rs decides, recovery/freeze.rs writes).

use std::io;
use std::path::{Path, PathBuf};

use crate::config::{CheckpointKind, Protocol};
use crate::failpoint::{Mutation, has};
use crate::ids::{DatabaseId, Epoch, Generation, LogOffset, Stamp, StreamId};
use crate::io::{Disk, OpenMode};
use crate::log::LogIdentity;
use crate::persist::segment::{self, FIRST_SEQUENCE, FileName, io_cure, io_sqlstate, stream_directory};

pub(crate) mod codec;

/// The manifest's name in the home directory.
pub const FILE_NAME: &str = "MANIFEST";
/// What the manifest is written as before it takes its place.
pub(crate) const TEMPORARY_NAME: &str = "MANIFEST.tmp";

/// The epoch that never comes.
pub(crate) const NEVER: Epoch = Epoch(u64::MAX);

/// What the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The database.
    pub database: DatabaseId,
    /// Where streams lie: absolute, or relative to the home directory, which is the first and empty.
    pub directories: Vec<PathBuf>,
    /// The newest generation. It is being written, or crashed, unless it is also the last of `frozen`.
    pub current: Layout,
    /// Generations that ended and whose logs are still needed, in order.
    pub frozen: Vec<FrozenGeneration>,
    /// Where recovery begins to read each stream of the newest generation.
    pub begins: Vec<StreamBegin>,
    /// Valid checkpoints, oldest first. So far there is at most one: the newest is what recovery begins with.
    pub checkpoints: Vec<CheckpointEntry>,
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
    /// Everything in it is of this epoch or an earlier one; the last epoch of all where that is not known.
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
    /// The begin of a whole generation.
    pub(crate) fn of(layout: &Layout) -> Vec<StreamBegin> {
        vec![StreamBegin { sequence: FIRST_SEQUENCE, durable: layout.floor }; layout.streams.len()]
    }
}

/// How a generation is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its number.
    pub generation: Generation,
    /// How it orders its log.
    pub protocol: Protocol,
    /// Every earlier stamp is at or below this, every one of this generation above.
    pub floor: Stamp,
    /// Every earlier epoch is at or below this.
    pub epoch_floor: Epoch,
    /// For each stream the index of its directory in [`Manifest::directories`]. Empty where nothing is logged.
    pub streams: Vec<u32>,
}

impl Layout {
    /// The log of `stream`.
    pub fn log(&self, database: DatabaseId, stream: StreamId) -> LogIdentity {
        LogIdentity::new(database, self.generation, stream, self.streams.len() as u32)
    }
}

/// A generation that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenGeneration {
    /// How it was laid out.
    pub layout: Layout,
    /// A record lives iff its stamp or its `raw_dep` is at or below the cut (Poplar's RSNe).
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
    #[error("cannot {action} {}: {source}{}", path.display(), io_cure(source))]
    Io {
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
    #[error("{} is damaged: {what}; restore the database from a copy", path.display())]
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

    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            ManifestError::Io { source, .. } => io_sqlstate(source),
            ManifestError::Missing { .. } => "58P01",
            ManifestError::Damaged { .. } => "XX001",
            ManifestError::Version { .. } => "0A000",
            ManifestError::DirectoryName { .. } => "22023",
        }
    }
}

impl Manifest {
    /// The manifest of a new database in `dirs` with `streams` streams. Nothing is written yet.
    pub fn new(database: DatabaseId, protocol: Protocol, streams: u32, dirs: &[PathBuf]) -> Manifest {
        let current = Layout {
            generation: Generation(1),
            protocol,
            floor: Stamp::ZERO,
            epoch_floor: Epoch(0),
            streams: Vec::new(),
        };
        let mut manifest = Manifest {
            database,
            directories: Vec::new(),
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

    /// The bytes of the manifest.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, ManifestError> {
        let bytes = codec::encode(self).map_err(|path| ManifestError::DirectoryName { path })?;
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
        if !has(Mutation::ManifestNotSynced) {
            file.sync().map_err(ManifestError::io("sync", &temporary))?;
        }
        disk.rename(&temporary, &path).map_err(ManifestError::io("replace", &path))?;
        disk.sync_dir(home).map_err(ManifestError::io("sync the directory", home))
    }

    /// Creates the directories of the current generation's streams and then the manifest, all durable when this
    /// returns: the birth of a database.
    pub fn create(&self, disk: &dyn Disk, home: &Path) -> Result<(), ManifestError> {
        create_directory(disk, home)?;
        self.create_stream_directories(disk, home)?;
        self.store(disk, home)
    }

    /// Creates what is missing of the directories of the current generation's streams, durably.
    pub fn create_stream_directories(&self, disk: &dyn Disk, home: &Path) -> Result<(), ManifestError> {
        self.current_directories(home).iter().try_for_each(|directory| create_directory(disk, directory))
    }

    /// The directories of the newest generation's streams.
    pub fn current_directories(&self, home: &Path) -> Vec<PathBuf> {
        let streams = (0..self.current.streams.len() as u32).map(StreamId);
        streams.map(|stream| self.stream_directory(home, &self.current, stream)).collect()
    }

    /// The directory of a stream.
    pub fn stream_directory(&self, home: &Path, layout: &Layout, stream: StreamId) -> PathBuf {
        let index = layout.streams[stream.0 as usize];
        stream_directory(&home.join(&self.directories[index as usize]), stream)
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

    /// Where streams lie, as far as `dirs` say otherwise: a directory that was moved is found at the place in `dirs` that
    /// it had when it was first given. The first of `dirs` is home.
    pub fn relocate(&mut self, disk: &dyn Disk, dirs: &[PathBuf]) -> Result<(), ManifestError> {
        let home = &dirs[0];
        for (index, dir) in dirs.iter().enumerate().take(self.directories.len()).skip(1) {
            let known = home.join(&self.directories[index]);
            let is_there = |path: &Path| disk.exists(path).map_err(ManifestError::io("look for", path));
            if is_there(&known)? || !is_there(dir)? {
                continue;
            }
            let moved = relative_to(home, dir);
            if !self.directories.contains(&moved) {
                self.directories[index] = moved;
            }
        }
        Ok(())
    }

    /// Makes `entry` the one checkpoint. With it recovery needs the newest generation from the segments `begins` on, and
    /// of the others only those with records that it does not cover. Returns those that are not needed any more.
    pub(crate) fn supersede(&mut self, entry: CheckpointEntry, begins: Vec<StreamBegin>) -> Vec<FrozenGeneration> {
        assert_eq!(begins.len(), self.begins.len(), "a begin for each stream");
        let goes_on =
            |(new, old): (&StreamBegin, &StreamBegin)| new.sequence >= old.sequence && new.durable >= old.durable;
        assert!(begins.iter().zip(&self.begins).all(goes_on), "what was given up does not come back");
        let is_covered = |frozen: &mut FrozenGeneration| entry.covers(frozen.max_seen, frozen.max_epoch);
        let superseded = self.frozen.extract_if(.., is_covered).collect();
        (self.begins, self.checkpoints) = (begins, vec![entry]);
        superseded
    }

    /// The greatest stamp and epoch known to the manifest.
    pub fn seen(&self) -> (Stamp, Epoch) {
        let mut seen = self.seen_in_logs();
        for checkpoint in &self.checkpoints {
            seen.0 = seen.0.max(checkpoint.max_seen);
            // No record need have come as far as the epoch that a checkpoint makes recovery skip.
            if checkpoint.kind == CheckpointKind::Epoch && !has(Mutation::EpochFloorForgotten) {
                seen.1 = seen.1.max(Epoch(checkpoint.boundary));
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

    /// What there is to read of the newest generation when its streams end at `ends`.
    pub(crate) fn frozen_streams(&self, ends: impl Iterator<Item = LogOffset>) -> Vec<FrozenStream> {
        self.begins.iter().zip(ends).map(|(begin, end)| FrozenStream { first_sequence: begin.sequence, end }).collect()
    }

    /// Notes where the streams of a new generation lie, one after the other over `dirs`, of which the first is home.
    pub fn place_streams(&mut self, protocol: Protocol, streams: u32, dirs: &[PathBuf]) -> Vec<u32> {
        assert!(!dirs.is_empty(), "the configuration names a directory");
        let home = &dirs[0];
        let indexes: Vec<u32> = dirs.iter().map(|dir| self.directory_index(home, dir)).collect();
        let streams = if protocol == Protocol::None { 0 } else { streams };
        (0..streams as usize).map(|stream| indexes[stream % indexes.len()]).collect()
    }

    /// The index of `dir`, listed now where it is not.
    pub(crate) fn directory_index(&mut self, home: &Path, dir: &Path) -> u32 {
        let relative = relative_to(home, dir);
        let known = self.directories.iter().position(|known| *known == relative);
        let index = known.unwrap_or_else(|| {
            self.directories.push(relative);
            self.directories.len() - 1
        });
        u32::try_from(index).expect("fewer directories than streams")
    }
}

/// Creates `directory`, durably: its entry, and those of the directories that may have been created with it.
pub(crate) fn create_directory(disk: &dyn Disk, directory: &Path) -> Result<(), ManifestError> {
    disk.create_dir_all(directory).map_err(ManifestError::io("create", directory))?;
    let mut parents = directory.ancestors().skip(1).take(3).map(or_here);
    parents.try_for_each(|parent| disk.sync_dir(parent).map_err(ManifestError::io("sync the directory", parent)))
}

/// The directory that `parent` names: where a relative path ends that is the working directory.
pub(crate) fn or_here(parent: &Path) -> &Path {
    if parent.as_os_str().is_empty() { Path::new(".") } else { parent }
}

/// As a manifest in `home` names `dir`.
fn relative_to(home: &Path, dir: &Path) -> PathBuf {
    match dir.strip_prefix(home) {
        Ok(relative) => relative.to_owned(),
        Err(_) => std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()),
    }
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
    let floor = manifest.current.floor;
    let last = ends.iter().map(|end| end.stamp).max().unwrap_or(floor).max(floor);
    let frozen = FrozenGeneration {
        layout: manifest.current.clone(),
        cut: last,
        max_seen: last,
        max_epoch: max_epoch.max(manifest.current.epoch_floor),
        clean: true,
        until: NEVER,
        streams: manifest.frozen_streams(ends.iter().map(|end| end.end)),
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
