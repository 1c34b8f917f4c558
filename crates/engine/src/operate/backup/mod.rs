//! Backups: a copy of the newest checkpoint and of the log behind it, taken while transactions go on, and what is made of it.
//!
//! ```text
//! backup:   checkpoint, if there is none -> hold truncation -> copy what does not change -> wait until everything that has
//!           ended is durable -> find where the copy ends -> copy the rest -> sync -> read everything back -> judge it as
//!           recovery would -> index
//! restore:  mark the directory -> copy, checking every byte -> sync -> manifest -> recover -> remove the mark
//! ```
//!
//! Invariants: B1 to B3 in docs/protocols.md. Besides, a backup only reads the database: it holds truncation up, nothing else.
//!
//! Deliberately absent: throttling, compression beyond that of checkpoints, and keeping several backups in one target.

mod copy;
mod end;
mod faults;
mod image;
mod index;
mod listed;
mod past;
mod restore;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use restore::{RestoreReport, restore, restore_with};

use crate::config::{Config, Protocol};
use crate::database::Database;
use crate::directory::manifest::{Manifest, NEVER};
use crate::directory::{self, DirectoryError, Lock, TakenBack};
use crate::error::{BackupError, Error};
use crate::ids::{Epoch, LogOffset, Stamp, WallTime};
use crate::io::Disk;
use crate::transaction::shared::Shared;
use crate::units::{bytes, count};
use image::Image;
use index::{Index, ListedFile};

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
    /// Which epochs the database was taken back to; what that gave up cannot be restored.
    #[serde(default)]
    pub taken_back: Vec<TakenBack>,
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
        writeln!(
            f,
            "backup in {}: {} of {all}, {copied} copied{how}",
            self.target.display(),
            count(self.files, "file")
        )?;
        writeln!(f, "  ends    with everything up to epoch {}, at {}", self.epoch, self.taken)?;
        self.taken_back.iter().try_for_each(|back| writeln!(f, "  was     {back} for ever"))?;
        match self.first_epoch {
            Some(epoch) if Epoch(epoch) == NEVER => {
                write!(f, "  begins  with checkpoint {}: it is restored as a whole", self.checkpoint.unwrap_or(0))
            }
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
    pub(crate) config: &'s Config,
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
    /// [`Error::Backup`]; the backup that was in `target` is as it was, or the new one is whole and what it does not need is
    /// still there.
    pub fn backup(&self, target: &Path, checkpoint: bool) -> Result<BackupReport, Error> {
        let inner = &self.inner;
        let (config, shared) = (self.config(), &inner.shared);
        let lock = prepare(config, target)?;
        if checkpoint || config.protocol == Protocol::None || !inner.retention.has_checkpoint() {
            // Before it, while all is there that shows whose backup is in the target.
            if inner.retention.read(|_, _, _| ()).is_some() {
                Hold::take(self, target)?.source(target)?;
            }
            self.checkpoint()?;
        }
        let hold = Hold::take(self, target)?;
        let mut source = hold.source(target)?;
        let mut done = (Vec::new(), 0);
        let mut end = End { epoch: shared.store.epochs().safe().0, stamp: Stamp::ZERO };
        if source.ends.is_some() {
            // In bulk first, so that there is little left to copy behind the end.
            let plan = Image::plan(&source, target, checkpoint, &[])?;
            done = copy::copy(&source, target, &plan)?;
            end = agree(shared)?;
            source.ends = Some(end::find(shared, &source, &plan.manifest.begins, end.stamp)?);
        } else if let Some(entry) = source.manifest.checkpoints.last() {
            end.epoch = entry.boundary;
        }
        let is_open = || match self.inner.retention.is_closed() {
            true => Err(BackupError::Closed { target: target.to_owned() }),
            false => Ok(()),
        };
        let report = write(&source, target, checkpoint, done, end, config, is_open)?;
        drop((hold, lock));
        Ok(report)
    }
}

/// Writes a backup of a database that no process has open; only its files are read. What is missing of its checkpoint does no
/// harm where `target` holds an earlier backup that this one continues.
///
/// # Errors
/// As [`Database::backup`]; also where the database is being restored, or salvaged into, and that has not ended.
pub fn backup_closed(config: &Config, target: &Path) -> Result<BackupReport, Error> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    faults::refuse(|| directory::refuse_unfinished(config))?;
    if !directory::holds_database(config)? {
        return Err(DirectoryError::NoDatabase { home: home.to_owned() }.into());
    }
    let _locks = (directory::lock_to_read(config)?, prepare(config, target)?);
    // A restore may have begun before the locks were taken.
    faults::refuse(|| directory::refuse_unfinished(config))?;
    let manifest = directory::find(config)?;
    let manifest = manifest.ok_or_else(|| DirectoryError::NoDatabase { home: home.to_owned() })?;
    let source = Source { config, disk, home, manifest, ends: None };
    faults::expect_past(|| past::expect(&source, target))?;
    write(&source, target, false, (Vec::new(), 0), End { epoch: u64::MAX, stamp: Stamp::ZERO }, config, || Ok(()))
}

/// Copies, reads back and judges; then, unless `is_open` fails, puts the index in its place.
fn write(
    source: &Source<'_>,
    target: &Path,
    checkpoint: bool,
    (done, done_bytes): (Vec<ListedFile>, u64),
    end: End,
    config: &Config,
    is_open: impl FnOnce() -> Result<(), BackupError>,
) -> Result<BackupReport, Error> {
    let plan = Image::plan(source, target, checkpoint, &done)?;
    copy::verify(source.disk, target, &plan.kept)?;
    let (files, copied_bytes) = copy::copy(source, target, &plan)?;
    assert_eq!(files.len(), plan.kept.len() + plan.pieces.len(), "a backup is what was planned");
    let judged = image::judge(config, target, &plan.manifest, &files).map_err(|error| {
        if !image::is_damage(&error) {
            return error;
        }
        let (home, target) = (source.home.to_owned(), target.to_owned());
        BackupError::Unsound { home, target, error: Box::new(error) }.into()
    })?;
    if judged.cut < end.stamp {
        let what = format!("it ends at stamp {} and should reach {}", judged.cut, end.stamp);
        return Err(BackupError::Damaged { path: target.to_owned(), what }.into());
    }
    let now: WallTime = config.environment.clock.wall().into();
    let base = plan.manifest.checkpoints.last();
    let base_epoch = base.filter(|base| base.max_epoch != NEVER).map_or(Epoch(0), |base| base.max_epoch);
    let taken_back = plan.manifest.taken_back();
    let epoch = end.epoch.min(judged.max_epoch.max(base_epoch).0);
    let report = BackupReport {
        target: target.to_owned(),
        taken: now.to_string(),
        epoch: taken_back.iter().find(|back| back.gave_up(epoch)).map_or(epoch, |back| back.to),
        taken_back,
        first_epoch: base.map(|base| base.max_epoch.0),
        checkpoint: base.map(|base| base.number),
        files: files.len() as u64,
        bytes: files.iter().map(|file| file.bytes).sum(),
        copied_bytes: done_bytes + copied_bytes,
        continues: plan.continues,
    };
    assert!(report.epoch <= end.epoch, "epoch {} has not ended", report.epoch);
    let index = Index::new(&plan.manifest, files, report.clone())?;
    is_open()?;
    index.store(source.disk, target)?;
    index.remove_others(source.disk, target)?;
    index::end(source.disk, target)?;
    Ok(report)
}

/// Everything that has ended is durable: what the copy must reach.
fn agree(shared: &Shared) -> Result<End, Error> {
    // In this order: what is of an epoch that is over has its stamp.
    let epochs = shared.store.epochs();
    let epoch = faults::ended(epochs.safe(), epochs.current()).0;
    let stamp = faults::last_stamp(&shared.log);
    assert!(epoch <= epochs.current().0, "epoch {epoch} has not begun");
    shared.durable(stamp).wait()?;
    Ok(End { epoch, stamp })
}

/// Creates the target where it is missing, and locks it. Nothing is written to one that no backup may be written to.
fn prepare(config: &Config, target: &Path) -> Result<Lock, Error> {
    let disk = &*config.environment.disk;
    directory::refuse_overlap(disk, config.dirs.iter().map(PathBuf::as_path), target)?;
    if disk.exists(target).map_err(BackupError::io("look for", target))? {
        index::check_target(disk, target)?;
    }
    directory::create_durably(disk, target)?;
    let lock = directory::lock(disk, target).map_err(|error| match error {
        DirectoryError::InUse { process, .. } => Error::from(BackupError::Busy { target: target.to_owned(), process }),
        error => error.into(),
    })?;
    // Another process may have had the lock before.
    index::check_target(disk, target)?;
    index::begin(disk, target)?;
    Ok(lock)
}

/// While it lives nothing that the manifest speaks of is removed.
struct Hold<'d> {
    db: &'d Database,
    target: PathBuf,
    manifest: Manifest,
}

impl<'d> Hold<'d> {
    fn take(db: &'d Database, target: &Path) -> Result<Hold<'d>, Error> {
        let manifest = db.inner.retention.hold(target)?;
        Ok(Hold { db, target: target.to_owned(), manifest })
    }

    /// What is to be copied, up to what is durable now; fails where `target` holds what is not of its past.
    fn source(&self, target: &Path) -> Result<Source<'d>, Error> {
        // Whose disk fails where other files lie in the place of the database's.
        let (config, log) = (&self.db.inner.shared.config, &self.db.inner.shared.log);
        let mut manifest = self.manifest.clone();
        manifest.begins = faults::begins(manifest.begins, log);
        let ends = (!manifest.current.streams.is_empty()).then(|| log.durable_ends());
        let source = Source { config, disk: &*config.environment.disk, home: &config.dirs[0], manifest, ends };
        faults::expect_past(|| past::expect(&source, target))?;
        Ok(source)
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        if let Some(begins) = self.db.inner.retention.release(&self.target) {
            self.db.inner.shared.log.recycle(&begins, &[]);
            self.db.inner.checkpoints.wake();
        }
    }
}
