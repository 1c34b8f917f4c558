//! What recovery begins with: the newest checkpoint, loaded in parallel, and which records of the log it makes needless.
//!
//! Invariants:
//! - A checkpoint is used whole or not at all: a part that is missing, damaged or of another checkpoint stops recovery.
//! - Epochs and stamps go on above a checkpoint (K4), so that a record is skipped by its place in the order alone, of
//!   whatever generation it is.
//!
//! Absent: the choice between checkpoints; the manifest names one.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::RecoveryError;
use super::RecoveryPhase;
use super::replay_values::Replayer;
use super::report::Pace;
use super::scan::locked;
use super::workers::{self, Work};
use crate::checkpoint::{CheckpointError, files, loader::PartReader};
use crate::config::Config;
use crate::failpoint::is_cut_off;
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
        is_cut_off(epoch) || self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.covers(stamp, epoch))
    }

    /// Loads the checkpoint into `store`.
    pub(crate) fn load(&self, config: &Config, manifest: &Manifest, store: &Store) -> Result<(), RecoveryError> {
        let Some(entry) = &self.checkpoint else { return Ok(()) };
        let (disk, home) = (config.environment.disk.clone(), &config.dirs[0]);
        let mut parts = Vec::new();
        for (path, part, length) in files::parts_of(home, manifest, entry) {
            parts.push(Mutex::new(PartReader::open(&*disk, path, part, length)?));
        }
        let threads = config.effective_recovery_threads();
        let (next, rows, progress) = (AtomicUsize::new(0), AtomicU64::new(0), Pace::of(config));
        let load = Arc::new(Load { parts, next, rows, total: entry.rows, progress });
        let loader = |_| Ok(Loader { load: load.clone(), replayer: Replayer::new(store, config)?, run: None });
        let loaders = (0..threads).map(loader).collect::<Result<Vec<_>, RecoveryError>>()?;
        workers::run(&config.environment, loaders)?;
        let load = Arc::into_inner(load).expect("the loaders have ended");
        for part in load.parts {
            part.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
        }
        let rows = load.rows.load(Ordering::Acquire);
        if rows != entry.rows {
            let path = home.join(crate::persist::manifest::FILE_NAME);
            let what = format!("checkpoint {} holds {rows} rows, the manifest says {}", entry.number, entry.rows);
            return Err(RecoveryError::Contradiction { path, what });
        }
        Ok(())
    }
}

/// Blocks that a thread loads at a time: neighbours in the index for the most part.
const BLOCKS_PER_RUN: u64 = 64;

/// The parts, shared by the threads that load them.
struct Load {
    parts: Vec<Mutex<PartReader>>,
    /// The first one of which not all runs are claimed.
    next: AtomicUsize,
    rows: AtomicU64,
    total: u64,
    progress: Option<Pace>,
}

impl Load {
    /// The next run and its part's index.
    fn claim(&self) -> Result<Option<(usize, PartReader)>, RecoveryError> {
        loop {
            let at = self.next.load(Ordering::Acquire);
            let Some(part) = self.parts.get(at) else { return Ok(None) };
            if let Some(run) = locked(part).take_run(BLOCKS_PER_RUN)? {
                return Ok(Some((at, run)));
            }
            self.next.fetch_max(at + 1, Ordering::AcqRel);
        }
    }
}

struct Loader {
    load: Arc<Load>,
    replayer: Replayer,
    run: Option<(usize, PartReader)>,
}

impl Work for Loader {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        if self.run.is_none() {
            self.run = self.load.claim()?;
        }
        let Some((part, mut run)) = self.run.take() else { return Ok(false) };
        let (mut session, before) = (self.replayer.session(), run.totals().rows);
        let goes_on = run.next_block(|table, row| session.load(row.stamp, table, row.key, row.row))?;
        drop(session);
        let rows = run.totals().rows - before;
        let done = self.load.rows.fetch_add(rows, Ordering::AcqRel) + rows;
        if let Some(progress) = &self.load.progress {
            progress.report(RecoveryPhase::Checkpoint, done, self.load.total);
        }
        if goes_on {
            self.run = Some((part, run));
        } else {
            locked(&self.load.parts[part]).join(run);
        }
        Ok(true)
    }
}

impl From<CheckpointError> for RecoveryError {
    fn from(error: CheckpointError) -> RecoveryError {
        RecoveryError::Checkpoint(Box::new(error))
    }
}
