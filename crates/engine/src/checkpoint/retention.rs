//! Keeps the files of an open database: owns its manifest, from the end of recovery to the close, and removes what it no longer
//! needs.
//!
//! Invariants:
//! - The manifest has one owner, [`Retention`]: checkpoints and the close replace it one after the other.
//! - What no durable manifest needs any more is removed in pieces, later, and the rest of it by the next checkpoint, at the
//!   close or by the next open.
//! - Nothing is removed while a backup may read it.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::faults::{self, Early};
use super::{files, loader};
use crate::config::{CheckpointKind, Config};
use crate::directory::manifest::{self, CheckpointEntry, FrozenGeneration, Manifest, StreamBegin, StreamEnd};
use crate::directory::{self, Claim, DirectoryError, create_below};
use crate::error::{BackupError, CheckpointError};
use crate::ids::{DatabaseId, Epoch, StreamId};
use crate::io::error::is_full;
use crate::io::in_place::Displaced;
use crate::io::{Disk, FULL_PAUSE, REMOVAL_PAUSE};
use crate::log::format::segment::{self, FileName};

/// A database's files, held for as long as it is open.
pub(crate) struct OpenFiles {
    disk: Arc<dyn Disk>,
    home: PathBuf,
    manifest: Manifest,
    next_checkpoint: u64,
    /// The backups that are being written: meanwhile nothing is removed.
    holds: Vec<PathBuf>,
    /// Checkpoints and generations that become obsolete when the backups have ended.
    held: Vec<(Manifest, Vec<FrozenGeneration>)>,
    /// Obsolete files, to be removed piece by piece.
    doomed: VecDeque<PathBuf>,
    /// The device failed while the manifest was replaced. Nothing is tried again, and nothing is removed that either of the two
    /// may need.
    is_in_doubt: bool,
    claim: Claim,
}

impl OpenFiles {
    /// Takes over the files of the database of `manifest`, which is stored, in the directories of `claim`. Removes what
    /// checkpoints that were cut off have left behind.
    pub(crate) fn new(config: &Config, claim: Claim, manifest: Manifest) -> Result<OpenFiles, CheckpointError> {
        let last_checkpoint = files::remove_leftovers(&*config.environment.disk, &config.dirs[0], &manifest)?;
        Ok(OpenFiles::after(last_checkpoint, config, claim, manifest))
    }

    /// As [`OpenFiles::new`], where nothing is left of any checkpoint but, perhaps, of those up to `last_checkpoint`.
    fn after(last_checkpoint: u64, config: &Config, claim: Claim, manifest: Manifest) -> OpenFiles {
        let (disk, home) = (config.environment.disk.clone(), config.dirs[0].clone());
        let is_before = |entry: &CheckpointEntry| entry.number <= last_checkpoint;
        assert!(manifest.checkpoints.iter().all(is_before), "a checkpoint after the last one, {last_checkpoint}");
        let next_checkpoint = 1 + last_checkpoint;
        let (holds, held, doomed, is_in_doubt) = Default::default();
        OpenFiles { disk, home, manifest, next_checkpoint, holds, held, doomed, is_in_doubt, claim }
    }

    /// Claims directories for a database that runs without them.
    fn claim(config: &Config) -> Result<Claim, DirectoryError> {
        let (claim, found) = Claim::take(config)?;
        directory::refuse_unfinished(config)?;
        match found {
            Some(_) => Err(DirectoryError::Exists { home: config.dirs[0].clone() }),
            None => Ok(claim),
        }
    }

    /// Creates the database in the directories of `begun`, which this claims where they are not yet. The claim stays there
    /// until all is done: what an attempt that failed has stored is this database's own, and the next one goes on from it.
    fn create(config: &Config, begun: &mut Option<Claim>) -> Result<OpenFiles, DirectoryError> {
        let is_displaced = |error: &io::Error| Displaced::of(error).is_some();
        begun.take_if(|claim| claim.expect_in_place().as_ref().is_err_and(is_displaced));
        let claim = match begun {
            Some(claim) => claim,
            None => begun.insert(OpenFiles::claim(config)?),
        };
        let manifest = match Manifest::load(&*config.environment.disk, &config.dirs[0], &config.dirs)? {
            Some(manifest) => claim.store(&manifest).map(|()| manifest)?,
            None => claim.create(config)?,
        };
        let config = claim.hold(config.clone())?;
        let claim = begun.take().expect("it was claimed");
        Ok(OpenFiles::after(0, &config, claim, manifest))
    }

    /// Names the files of a new checkpoint, dealt over the configured directories, and creates those directories.
    fn begin_checkpoint(&mut self, config: &Config) -> Result<NewCheckpoint, CheckpointError> {
        if self.is_in_doubt {
            return Err(CheckpointError::InDoubt { home: self.home.clone() });
        }
        let number = self.next_checkpoint;
        assert!(
            self.manifest.checkpoints.iter().all(|entry| entry.number < number),
            "checkpoint {number} has a number of its own"
        );
        self.next_checkpoint += 1;
        let mut parts = Vec::new();
        for (part, dir) in (0..config.checkpoint_parts()).zip(config.dirs.iter().cycle()) {
            let index = self.manifest.directory_index(&self.home, dir);
            let dir = self.manifest.directory(&self.home, index);
            create_below(&*self.disk, &files::part_directory(&dir))?;
            parts.push((index, files::part_path(&dir, number, part)));
        }
        assert_eq!(parts.len(), config.checkpoint_parts() as usize, "a file for each part");
        Ok(NewCheckpoint { disk: self.disk.clone(), database: self.manifest.database, number, parts })
    }

    /// Stores a manifest in which `entry` is the one checkpoint and recovery begins with the segments `begins`. What the
    /// manifest no longer needs becomes obsolete: the checkpoint before, and the logs of earlier generations, of which it
    /// returns the segments that the present streams can use. `None`: a backup is written, so that the log may not be cut. What
    /// was obsolete before is removed by then.
    fn commit_checkpoint(
        &mut self,
        entry: &CheckpointEntry,
        begins: Vec<StreamBegin>,
    ) -> Result<Option<Vec<PathBuf>>, CheckpointError> {
        assert!(!self.is_in_doubt, "nothing follows a manifest that is in doubt");
        assert!(entry.number < self.next_checkpoint, "checkpoint {} was never begun", entry.number);
        assert!(!self.manifest.is_closed(), "the generation that is written has no end yet");
        let is_whole = entry.kind == CheckpointKind::Fuzzy || entry.max_epoch.0 == entry.boundary;
        assert!(is_whole, "an epoch checkpoint ends with its epoch");
        // The manifest lies in one directory, the parts of what it names in all of them.
        self.claim.expect_in_place().map_err(CheckpointError::io("go on in", &self.home))?;
        let mut next = self.manifest.clone();
        let superseded = next.supersede(entry.clone(), begins);
        loader::expect_written(&*self.disk, &self.home, &next, entry)?;
        self.remove_early(&superseded);
        let stored = next.store(&*self.disk, &self.home);
        self.is_in_doubt |= stored.as_ref().is_err_and(|error| error.device_failure().is_some());
        stored?;
        self.remove_doomed();
        let before = std::mem::replace(&mut self.manifest, next);
        assert!(self.names(entry.number) && !before.checkpoints.contains(entry), "one checkpoint follows another");
        if !self.holds.is_empty() {
            self.held.push((before, superseded));
            return Ok(None);
        }
        self.doom(&before, &[]);
        assert!(!self.dooms_needed(), "a part of the newest checkpoint is to be removed");
        let used = self.manifest.current_directories(&self.home);
        let segments = superseded.iter().flat_map(|generation| self.segments_of(generation));
        let is_usable = |path: &PathBuf| path.parent().is_some_and(|parent| used.iter().any(|used| used == parent));
        let (usable, others): (Vec<_>, Vec<_>) = segments.partition(is_usable);
        self.doomed.extend(others);
        Ok(Some(usable))
    }

    /// Whether the manifest has a checkpoint of this number.
    fn names(&self, checkpoint: u64) -> bool {
        self.manifest.checkpoints.iter().any(|entry| entry.number == checkpoint)
    }

    /// Makes the checkpoints of a manifest and generations obsolete. What is not removed by the close is by the next open.
    fn doom(&mut self, before: &Manifest, generations: &[FrozenGeneration]) {
        for generation in generations {
            self.doomed.extend(self.segments_of(generation));
        }
        for old in &before.checkpoints {
            self.doomed.extend(files::parts_of(&self.home, before, old).into_iter().map(|(path, ..)| path));
        }
    }

    /// Whether a part that the manifest names is to be removed.
    fn dooms_needed(&self) -> bool {
        let needed =
            self.manifest.checkpoints.iter().flat_map(|entry| files::parts_of(&self.home, &self.manifest, entry));
        let needed: Vec<_> = needed.map(|(path, ..)| path).collect();
        self.doomed.iter().any(|path| needed.contains(path))
    }

    /// Removes a piece of what is to be removed; returns how long the next one waits where there is more.
    fn remove_piece(&mut self, bytes: u64) -> Option<Duration> {
        let path = self.doomed.front().filter(|_| !self.is_in_doubt)?;
        let removed = self.disk.remove_piece(path, bytes);
        if removed.as_ref().is_err_and(is_full) {
            return Some(FULL_PAUSE);
        }
        // What cannot be removed is for the next open.
        if removed.unwrap_or(true) {
            self.doomed.pop_front();
        }
        (!self.doomed.is_empty()).then_some(REMOVAL_PAUSE)
    }

    /// Removes the files of a checkpoint that no manifest names.
    fn abandon(&mut self, checkpoint: &NewCheckpoint) {
        assert!(!self.names(checkpoint.number), "checkpoint {} is valid", checkpoint.number);
        let written = checkpoint.parts.iter().map(|(_, path)| path);
        let mut written: VecDeque<_> =
            written.filter(|path| self.disk.exists(path).unwrap_or(false)).cloned().collect();
        remove_all(&*self.disk, &mut written);
        self.doomed.append(&mut written);
    }

    /// Removes what a deliberate fault has removed too early: nothing in what ships.
    fn remove_early(&mut self, superseded: &[FrozenGeneration]) {
        let generations = match faults::removed_early() {
            Early::Nothing => return,
            Early::Checkpoint => &[],
            Early::Log => superseded,
        };
        self.doom(&self.manifest.clone(), generations);
        self.remove_doomed();
    }

    /// Removes all obsolete files, but for those that a full device refuses to remove.
    fn remove_doomed(&mut self) {
        remove_all(&*self.disk, &mut self.doomed);
    }

    /// What is left of a generation's log.
    fn segments_of(&self, superseded: &FrozenGeneration) -> Vec<PathBuf> {
        let (ended, current) = (superseded.layout.generation, self.manifest.current.generation);
        assert!(ended < current, "generation {ended} is being written");
        let mut found = Vec::new();
        for stream in (0..superseded.streams.len() as u32).map(StreamId) {
            let directory = self.manifest.stream_directory(&self.home, &superseded.layout, stream);
            let is_superseded = |path: &PathBuf| {
                matches!(FileName::parse(path), Some(FileName::Segment { generation, .. })
                    if generation == superseded.layout.generation)
            };
            let is_ours = |path: &PathBuf| {
                let owner = segment::owner(&*self.disk, path, FileName::parse(path));
                owner.is_ok_and(|owner| owner.may_go(self.manifest.database, &directory))
            };
            let files = self.disk.list(&directory).unwrap_or_default().into_iter();
            found.extend(files.filter(is_superseded).filter(is_ours));
        }
        found
    }

    /// Freezes the generation of a log that was closed: everything up to `ends` counts.
    pub(crate) fn freeze(mut self, ends: &[StreamEnd], epoch: Epoch) -> Result<(), CheckpointError> {
        if self.is_in_doubt {
            return Err(CheckpointError::InDoubt { home: self.home });
        }
        self.remove_doomed();
        manifest::freeze_clean(&self.manifest, &*self.disk, &self.home, ends, epoch)?;
        Ok(())
    }
}

/// Removes obsolete files. Those that a full device refuses to remove are left in the list: where nothing is
/// overwritten in place, a removal takes space, too. What cannot be removed otherwise is for the next open.
fn remove_all(disk: &dyn Disk, doomed: &mut VecDeque<PathBuf>) {
    doomed.retain(|path| disk.remove(path).as_ref().is_err_and(is_full));
}

/// The files of a checkpoint that is being taken.
pub(crate) struct NewCheckpoint {
    /// Which changes nothing where the directories no longer lie.
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) database: DatabaseId,
    pub(crate) number: u64,
    /// The index of the directory, and the path.
    pub(crate) parts: Vec<(u32, PathBuf)>,
}

impl NewCheckpoint {
    /// Makes the names of the files durable.
    pub(crate) fn sync_directories(&self) -> Result<(), CheckpointError> {
        let mut directories: Vec<&Path> = self.parts.iter().filter_map(|(_, path)| path.parent()).collect();
        directories.sort_unstable();
        directories.dedup();
        let sync = |dir| self.disk.sync_dir(dir).map_err(CheckpointError::io("sync the directory", dir));
        directories.into_iter().try_for_each(sync)
    }
}

/// The files of an open database, shared by checkpoints, backups and reports.
pub(crate) struct Retention {
    state: Mutex<Files>,
}

enum Files {
    /// Nothing is logged, and no checkpoint was begun yet: nothing is on disk but what a first attempt has left under a claim.
    Nowhere(Option<Claim>),
    Open(Box<OpenFiles>),
    Closed,
}

impl Retention {
    pub(crate) fn new(open: Option<OpenFiles>) -> Retention {
        let state = open.map_or(Files::Nowhere(None), |open| Files::Open(Box::new(open)));
        Retention { state: Mutex::new(state) }
    }

    /// Prepares a checkpoint; the first one of a database without a log creates the directories.
    pub(crate) fn begin_checkpoint(&self, config: &Config) -> Result<NewCheckpoint, CheckpointError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Files::Nowhere(begun) = &mut *state {
            *state = Files::Open(Box::new(OpenFiles::create(config, begun)?));
        }
        match &mut *state {
            Files::Open(directory) => directory.begin_checkpoint(config),
            Files::Nowhere(_) | Files::Closed => Err(CheckpointError::Closed),
        }
    }

    /// Makes a checkpoint valid. Returns the segments for [`CommitLog::recycle`](crate::log::CommitLog::recycle); `None` where a
    /// backup is being written, so that they wait for [`Retention::release`].
    pub(crate) fn commit_checkpoint(
        &self,
        entry: &CheckpointEntry,
        begins: Vec<StreamBegin>,
    ) -> Result<Option<Vec<PathBuf>>, CheckpointError> {
        match &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            Files::Open(directory) => directory.commit_checkpoint(entry, begins),
            Files::Nowhere(_) | Files::Closed => Err(CheckpointError::Closed),
        }
    }

    /// Fails where a directory no longer lies where it was claimed.
    pub(crate) fn expect_in_place(&self) -> io::Result<()> {
        self.directory(|directory| directory.claim.expect_in_place()).unwrap_or(Ok(()))
    }

    /// Removes a piece of the obsolete files; returns how long the next one waits where there is more.
    pub(crate) fn remove_piece(&self, bytes: u64) -> Option<Duration> {
        self.directory(|directory| directory.remove_piece(bytes)).flatten()
    }

    /// Removes the files of a checkpoint that failed, and that no manifest names.
    pub(crate) fn abandon(&self, checkpoint: &NewCheckpoint) {
        self.directory(|directory| directory.abandon(checkpoint));
    }

    /// Whether there is a valid checkpoint.
    pub(crate) fn has_checkpoint(&self) -> bool {
        self.directory(|directory| !directory.manifest.checkpoints.is_empty()).unwrap_or(false)
    }

    /// Whether [`Retention::close`] has given the files out.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(*self.state.lock().unwrap_or_else(PoisonError::into_inner), Files::Closed)
    }

    /// Keeps every file that the manifest names, for the backup to `target`, and returns the manifest.
    pub(crate) fn hold(&self, target: &Path) -> Result<Manifest, BackupError> {
        let hold = |directory: &mut OpenFiles| {
            assert!(!directory.holds.iter().any(|held| held == target), "one backup at a time has the target's lock");
            faults::hold(|| directory.holds.push(target.to_owned()));
            directory.manifest.clone()
        };
        self.directory(hold).ok_or_else(|| BackupError::Closed { target: target.to_owned() })
    }

    /// Ends the hold of the backup to `target`. After the last one, what waited for it becomes obsolete, and the log may be cut
    /// to the begins that are returned.
    pub(crate) fn release(&self, target: &Path) -> Option<Vec<StreamBegin>> {
        let release = |directory: &mut OpenFiles| {
            let place = directory.holds.iter().position(|held| held == target)?;
            directory.holds.swap_remove(place);
            if !directory.holds.is_empty() || directory.held.is_empty() {
                return None;
            }
            for (before, generations) in std::mem::take(&mut directory.held) {
                directory.doom(&before, &generations);
            }
            assert!(!directory.dooms_needed(), "a part of the newest checkpoint is to be removed");
            Some(directory.manifest.begins.clone())
        };
        self.directory(release).flatten()
    }

    /// Returns where backups are being written to.
    pub(crate) fn holds(&self) -> Vec<PathBuf> {
        self.directory(|directory| directory.holds.clone()).unwrap_or_default()
    }

    fn directory<T>(&self, with: impl FnOnce(&mut OpenFiles) -> T) -> Option<T> {
        match &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            Files::Open(directory) => Some(with(directory)),
            Files::Nowhere(_) | Files::Closed => None,
        }
    }

    /// Lets `read` look at the files while no checkpoint changes them; `None` where there are none or they were given out.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&dyn Disk, &Path, &Manifest) -> T) -> Option<T> {
        self.directory(|files| read(&*files.disk, &files.home, &files.manifest))
    }

    /// Gives the files out, once, to be frozen; nothing else changes the manifest afterwards.
    pub(crate) fn close(&self) -> Option<OpenFiles> {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(state, Files::Closed) {
            Files::Open(directory) => Some(*directory),
            Files::Nowhere(_) | Files::Closed => None,
        }
    }
}
