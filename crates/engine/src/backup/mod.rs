//! Backups: a copy of the newest checkpoint and of the log behind it, taken while transactions go on, and what is made of it.
//!
//! ```text
//! backup:   checkpoint, if there is none -> hold truncation -> copy what does not change -> wait until everything that has
//!           ended is durable -> find where the copy ends -> copy the rest -> sync -> read everything back -> judge it as
//!           recovery would -> index
//! restore:  mark the directory -> copy, checking every byte -> sync -> manifest -> recover -> remove the mark
//! ```
//!
//! Invariants:
//! - **B1** A backup is what its index lists. The index is replaced as a whole when everything in it is durable and was read
//!   back; a backup that was interrupted leaves the one before, or none.
//! - **B2** What a backup copies is a database that crashed where the copy ends: for every batch in it everything that this
//!   batch knew to be durable is in it, too. It holds every transaction that had ended when its end was determined.
//! - **B3** A directory that is being restored does not open until everything is in place and recovery has succeeded.
//! - A backup only reads the database. It holds truncation up, nothing else.
//!
//! Deliberately absent: throttling, compression beyond that of checkpoints, and keeping several backups in one target.

mod copy;
mod end;
mod error;
mod image;
mod index;
mod restore;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use error::BackupError;
pub use restore::{RestoreReport, restore};

use crate::config::{Config, Protocol};
use crate::database::{Database, Shared};
use crate::directory::{Directory, DirectoryError};
use crate::error::Error;
use crate::failpoint::{Mutation, has};
use crate::ids::{Epoch, LogOffset, Stamp, WallTime};
use crate::io::Disk;
use crate::persist::manifest::{self, Manifest, NEVER};
use crate::recovery::bytes;
use image::Image;
use index::{Entry, Index};

/// A backup that is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BackupReport {
    /// Where it is.
    pub target: PathBuf,
    /// When it ended.
    pub taken: String,
    /// Every transaction of an epoch up to this one is in it; some of later ones may be.
    pub epoch: u64,
    /// The earliest epoch that it can be restored to; `None`: any.
    pub first_epoch: Option<u64>,
    /// The checkpoint that it begins with.
    pub checkpoint: Option<u64>,
    /// Its files.
    pub files: u64,
    /// Of its files.
    pub bytes: u64,
    /// Of these, what was copied just now.
    pub copied_bytes: u64,
    /// Whether it continues the backup that was there; else it replaced that, if there was one.
    pub continues: bool,
}

impl fmt::Display for BackupReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, copied) = (bytes(self.bytes), bytes(self.copied_bytes));
        let how = if self.continues { ", continuing the one that was there" } else { "" };
        writeln!(f, "backup in {}: {} files of {all}, {copied} copied{how}", self.target.display(), self.files)?;
        writeln!(f, "  ends    with everything up to epoch {}, at {}", self.epoch, self.taken)?;
        match self.first_epoch {
            Some(epoch) => write!(
                f,
                "  begins  with checkpoint {}: it can be restored to epoch {epoch} or later",
                self.checkpoint.unwrap_or(0)
            ),
            None => write!(f, "  begins  with the first transaction"),
        }
    }
}

/// What of a database is to be copied.
pub(crate) struct Source<'s> {
    pub(crate) disk: &'s dyn Disk,
    pub(crate) home: &'s Path,
    pub(crate) manifest: Manifest,
    /// Where the copy of each stream of the generation that is being written ends; `None`: as far as it is sound.
    pub(crate) ends: Option<Vec<LogOffset>>,
}

/// What is known about the end of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// Every transaction of an epoch up to this one has ended.
    pub(crate) epoch: u64,
    /// Everything up to this stamp must be in the copy.
    pub(crate) stamp: Stamp,
}

impl Database {
    /// Writes a backup to `target`, a directory that is empty, missing, or holds an earlier backup of this database: that
    /// one is continued where the log still has what came after it, else replaced. Transactions go on meanwhile. With
    /// `checkpoint` it begins with a new checkpoint.
    ///
    /// # Errors
    /// [`Error::Backup`]; the backup that was in `target` is as it was.
    pub fn backup(&self, target: &Path, checkpoint: bool) -> Result<BackupReport, Error> {
        let inner = &self.inner;
        let (config, shared) = (self.config(), &inner.shared);
        let lock = prepare(config, target)?;
        if checkpoint || config.protocol == Protocol::None || !inner.home.has_checkpoint() {
            self.checkpoint()?;
        }
        let hold = Hold::take(self, target)?;
        let mut source = Source {
            disk: &*config.environment.disk,
            home: &config.dirs[0],
            manifest: hold.manifest.clone(),
            ends: None,
        };
        if has(Mutation::BackupBeginsLate) {
            source.manifest.begins = shared.log_begins(None);
        }
        let mut done = (Vec::new(), 0);
        let mut end = End { epoch: shared.store.epochs().safe().0, stamp: Stamp::ZERO };
        if !source.manifest.current.streams.is_empty() {
            // In bulk first, so that there is little left to copy behind the end.
            let first = shared.durable_ends();
            source.ends = Some(first);
            let plan = Image::plan(&source, target, checkpoint, &[])?;
            done = copy::copy(&source, target, &plan)?;
            end = agree(shared)?;
            source.ends = Some(end::find(shared, &source, end.stamp)?);
        } else if let Some(entry) = source.manifest.checkpoints.last() {
            end.epoch = entry.boundary;
        }
        let report = write(&source, target, checkpoint, done, end, config)?;
        if self.inner.home.is_closed() {
            return Err(BackupError::Closed { target: target.to_owned() }.into());
        }
        drop((hold, lock));
        Ok(report)
    }
}

/// Writes a backup of a database that nobody has open; only its files are read. What is missing of its checkpoint does no
/// harm where `target` holds an earlier backup that this one continues.
///
/// # Errors
/// [`Error::Backup`]; the backup that was in `target` is as it was.
pub fn backup_closed(config: &Config, target: &Path) -> Result<BackupReport, Error> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    if !Directory::holds_database(config)? {
        return Err(DirectoryError::NoDatabase { home: home.to_owned() }.into());
    }
    let _locks = (Directory::lock(disk, home)?, prepare(config, target)?);
    let manifest = Manifest::load(disk, home, &config.dirs).map_err(DirectoryError::from)?;
    let mut manifest = manifest.ok_or_else(|| DirectoryError::NoDatabase { home: home.to_owned() })?;
    manifest.relocate(disk, &config.dirs).map_err(DirectoryError::from)?;
    let source = Source { disk, home, manifest, ends: None };
    write(&source, target, false, (Vec::new(), 0), End { epoch: u64::MAX, stamp: Stamp::ZERO }, config)
}

/// Copies, reads back, judges, and lists.
fn write(
    source: &Source<'_>,
    target: &Path,
    checkpoint: bool,
    (done, done_bytes): (Vec<Entry>, u64),
    end: End,
    config: &Config,
) -> Result<BackupReport, Error> {
    let plan = Image::plan(source, target, checkpoint, &done)?;
    let (files, copied_bytes) = copy::copy(source, target, &plan)?;
    let judged = image::judge(config, target, &plan.manifest)?;
    if judged.cut < end.stamp {
        let what = format!("it ends at stamp {} and should reach {}", judged.cut, end.stamp);
        return Err(BackupError::Damaged { path: target.to_owned(), what }.into());
    }
    let now: WallTime = config.environment.clock.wall().into();
    let base = plan.manifest.checkpoints.last();
    let reached = base.filter(|base| base.max_epoch != NEVER).map_or(Epoch(0), |base| base.max_epoch);
    let report = BackupReport {
        target: target.to_owned(),
        taken: now.to_string(),
        epoch: end.epoch.min(judged.max_epoch.max(reached).0),
        first_epoch: base.map(|base| base.max_epoch.0),
        checkpoint: base.map(|base| base.number),
        files: files.len() as u64,
        bytes: files.iter().map(|file| file.bytes).sum(),
        copied_bytes: done_bytes + copied_bytes,
        continues: plan.continues,
    };
    let index = Index::new(&plan.manifest, files, report.clone())?;
    index.store(source.disk, target)?;
    index.remove_others(source.disk, target)?;
    Ok(report)
}

/// Everything that has ended is durable: what the copy must reach.
fn agree(shared: &Shared) -> Result<End, Error> {
    // In this order: what is of an epoch that is over has its stamp.
    let epochs = shared.store.epochs();
    let epoch = if has(Mutation::BackupEpochAhead) { epochs.current() } else { epochs.safe() }.0;
    let stamp = if has(Mutation::BackupEndsEarly) { shared.stable() } else { shared.last_stamp() };
    shared.durable(stamp).wait()?;
    Ok(End { epoch, stamp })
}

/// Creates the target where it is missing, and locks it.
fn prepare(config: &Config, target: &Path) -> Result<Box<dyn std::any::Any + Send + Sync>, Error> {
    let disk = &*config.environment.disk;
    manifest::create_directory(disk, target).map_err(DirectoryError::from)?;
    index::check_target(disk, target)?;
    Ok(Directory::lock(disk, target)?)
}

/// While it lives nothing that the manifest speaks of is removed.
struct Hold<'d> {
    db: &'d Database,
    target: PathBuf,
    manifest: Manifest,
}

impl<'d> Hold<'d> {
    fn take(db: &'d Database, target: &Path) -> Result<Hold<'d>, Error> {
        let manifest = db.inner.home.hold(target)?;
        Ok(Hold { db, target: target.to_owned(), manifest })
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        if let Some(begins) = self.db.inner.home.release(&self.target) {
            self.db.inner.shared.recycle_log(&begins, &[]);
            self.db.inner.checkpoints.wake();
        }
    }
}
