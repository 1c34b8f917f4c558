//! What recovery begins with: the newest checkpoint, loaded in parallel, and which records of the log it makes needless.
//!
//! Invariants:
//! - A checkpoint is used whole or not at all: a part that is missing, damaged or of another checkpoint stops recovery.
//! - Epochs and stamps go on above a checkpoint (K4), so that a record is skipped by its place in the order alone, of
//!   whatever generation it is.
//!
//! Absent: the choice between checkpoints; the manifest names one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::RecoveryError;
use super::replay_values::Replayer;
use super::workers::{self, Work};
use super::{Progress, RecoveryPhase};
use crate::checkpoint::{CheckpointError, files, loader::PartReader};
use crate::config::{Config, ProgressCallback};
use crate::ids::{Epoch, Stamp};
use crate::persist::manifest::{CheckpointEntry, Manifest};
use crate::table::store::Store;

/// What was loaded before the log is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Base {
    /// `None`: the log goes back to the beginning.
    pub(crate) checkpoint: Option<CheckpointEntry>,
}

impl Base {
    /// Of the newest checkpoint of `manifest`.
    pub(crate) fn of(manifest: &Manifest) -> Base {
        Base { checkpoint: manifest.checkpoints.last().cloned() }
    }

    /// Whether a record need not be replayed.
    pub(crate) fn covers(&self, stamp: Stamp, epoch: Epoch) -> bool {
        self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.covers(stamp, epoch))
    }

    /// Loads the checkpoint into `store`.
    pub(crate) fn load(&self, config: &Config, manifest: &Manifest, store: &Store) -> Result<(), RecoveryError> {
        let Some(entry) = &self.checkpoint else { return Ok(()) };
        let (disk, home) = (config.environment.disk.clone(), &config.dirs[0]);
        let mut parts = Vec::new();
        for (path, part, length) in files::parts_of(home, manifest, entry) {
            parts.push(std::sync::Mutex::new(Some(PartReader::open(&*disk, path, part, length)?)));
        }
        let threads = config.effective_recovery_threads().clamp(1, parts.len().max(1));
        let (next, rows, progress) = (AtomicUsize::new(0), AtomicU64::new(0), config.progress.clone());
        let load = Arc::new(Load { parts, next, rows, total: entry.rows, progress });
        let loader = |_| Ok(Loader { load: load.clone(), replayer: Replayer::new(store)?, part: None });
        let loaders = (0..threads).map(loader).collect::<Result<Vec<_>, RecoveryError>>()?;
        workers::run(&config.environment, loaders)?;
        let rows = load.rows.load(Ordering::Acquire);
        if rows != entry.rows {
            let path = home.join(crate::persist::manifest::FILE_NAME);
            let what = format!("checkpoint {} holds {rows} rows, the manifest says {}", entry.number, entry.rows);
            return Err(RecoveryError::Contradiction { path, what });
        }
        Ok(())
    }
}

/// The parts, shared by the threads that load them.
struct Load {
    /// Taken by whoever claims it.
    parts: Vec<std::sync::Mutex<Option<PartReader>>>,
    next: AtomicUsize,
    rows: AtomicU64,
    total: u64,
    progress: Option<ProgressCallback>,
}

impl Load {
    fn claim(&self) -> Option<PartReader> {
        let part = self.parts.get(self.next.fetch_add(1, Ordering::Relaxed))?;
        super::scan::locked(part).take()
    }
}

struct Loader {
    load: Arc<Load>,
    replayer: Replayer,
    part: Option<PartReader>,
}

impl Work for Loader {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        let Some(mut part) = self.part.take().or_else(|| self.load.claim()) else { return Ok(false) };
        let (mut session, before) = (self.replayer.session(), part.totals().rows);
        let goes_on = part.next_block(|table, row| session.write(row.stamp, table, row.key, Some(row.row)))?;
        drop(session);
        let rows = part.totals().rows - before;
        let done = self.load.rows.fetch_add(rows, Ordering::AcqRel) + rows;
        if let Some(progress) = &self.load.progress {
            progress(&Progress { phase: RecoveryPhase::Checkpoint, done, total: self.load.total });
        }
        self.part = goes_on.then_some(part);
        Ok(true)
    }
}

impl From<CheckpointError> for RecoveryError {
    fn from(error: CheckpointError) -> RecoveryError {
        RecoveryError::Checkpoint(Box::new(error))
    }
}
