//! What recovery begins with: the newest checkpoint, loaded in parallel, and which records of the log it makes needless.
//!
//! Invariants:
//! - A checkpoint is used whole or not at all: a part that is missing, damaged or of another checkpoint stops recovery.
//! - Each thread makes leaves out of the blocks that it reads, and looks for no row's place; when all are read, the leaves of
//!   each table become its tree.
//! - Epochs and stamps go on above a checkpoint (K4), so that a record is skipped by its place in the order alone, of
//!   whatever generation it is.
//! - A row counts as born at 0: who relies on its existence relies on nothing that could be lost.
//!
//! Absent: the choice between checkpoints; the manifest names one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use osier_memory::sync::{Mutex, lock};
use osier_memory::{Duplicate, Participant, Record, Run};

use super::RecoveryPhase;
use super::faults;
use super::replay::values::version_of;
use super::report::ProgressReporter;
use super::workers::{self, Work};
use crate::checkpoint::files;
use crate::checkpoint::loader::PartReader;
use crate::config::Config;
use crate::directory::manifest::{CheckpointEntry, Manifest};
use crate::error::{CheckpointError, RecoveryError};
use crate::failpoint::is_cut_off;
use crate::ids::{Epoch, Stamp, TableId};
use crate::sizes::loaded_blocks_per_run;
use crate::table::store::Store;

/// The rows of a block.
type Rows = Run<Record>;

/// What was loaded before the log is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Base {
    /// `None`: the log goes back to the beginning.
    pub(crate) checkpoint: Option<CheckpointEntry>,
}

impl Base {
    /// Returns the base that the newest checkpoint of `manifest` is.
    pub(crate) fn of(manifest: &Manifest) -> Base {
        Base { checkpoint: manifest.checkpoints.last().cloned() }
    }

    /// Whether a record need not be replayed.
    pub(crate) fn covers(&self, stamp: Stamp, epoch: Epoch) -> bool {
        is_cut_off(epoch) || self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.covers(stamp, epoch))
    }

    /// Everything in it has a stamp at or below this.
    pub(crate) fn max_seen(&self) -> Stamp {
        self.checkpoint.as_ref().map_or(Stamp::ZERO, |checkpoint| checkpoint.max_seen)
    }

    /// Loads the checkpoint into `store`, and returns the greatest stamp of its rows.
    pub(crate) fn load(&self, config: &Config, manifest: &Manifest, store: &Store) -> Result<Stamp, RecoveryError> {
        let Some(entry) = &self.checkpoint else { return Ok(Stamp::ZERO) };
        let (disk, home) = (config.environment.disk.clone(), &config.dirs[0]);
        let mut parts = Vec::new();
        for (path, part, length) in files::parts_of(home, manifest, entry) {
            parts.push(Mutex::new(PartReader::open(&*disk, path, part, length)?));
        }
        let load = Arc::new(Load {
            store: store.clone(),
            parts,
            next: AtomicUsize::new(0),
            rows: AtomicU64::new(0),
            greatest: AtomicU64::new(0),
            total: entry.rows,
            progress: ProgressReporter::of(config),
            loaded: Mutex::default(),
        });
        let loader = |_| {
            let participant = workers::register(store)?;
            Ok(Loader { load: load.clone(), participant, run: None, loaded: Vec::new() })
        };
        let loaders = (0..workers::count(config)).map(loader).collect::<Result<Vec<_>, RecoveryError>>()?;
        workers::run(&config.environment, loaders)?;
        let mut load = Arc::into_inner(load).expect("the loaders have ended");
        assert!(load.next.load(Ordering::Acquire) >= load.parts.len(), "a part was not loaded");
        for part in load.parts.drain(..) {
            part.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
        }
        let contradiction = |what| {
            let path = home.join(crate::directory::manifest::FILE_NAME);
            RecoveryError::Contradiction { path, what: format!("checkpoint {} {what}", entry.number) }
        };
        let rows = load.rows.load(Ordering::Acquire);
        if rows != entry.rows {
            return Err(contradiction(format!("holds {rows} rows, the manifest says {}", entry.rows)));
        }
        let greatest = Stamp(load.greatest.load(Ordering::Acquire));
        // Without a log, earlier versions noted none.
        if greatest > entry.max_seen && entry.max_seen != Stamp::ZERO {
            return Err(contradiction(format!("has a row of stamp {greatest}, the manifest says {}", entry.max_seen)));
        }
        let mut participant = workers::register(store)?;
        let pin = participant.pin();
        for (table, rows) in load.into_tables() {
            let twice = |Duplicate| contradiction(format!("has a row of table {} twice", table.0));
            store.tree(table).fill(&pin, rows).map_err(twice)?;
        }
        Ok(greatest)
    }
}

/// The parts, shared by the threads that load them.
struct Load {
    store: Store,
    parts: Vec<Mutex<PartReader>>,
    /// The first one of which not all runs are claimed.
    next: AtomicUsize,
    rows: AtomicU64,
    greatest: AtomicU64,
    total: u64,
    progress: Option<ProgressReporter>,
    loaded: Mutex<Vec<(TableId, Rows)>>,
}

impl Load {
    /// Returns the next run and its part's index.
    fn claim(&self) -> Result<Option<(usize, PartReader)>, RecoveryError> {
        loop {
            let at = self.next.load(Ordering::Acquire);
            let Some(part) = self.parts.get(at) else { return Ok(None) };
            if let Some(run) = lock(part).take_run(loaded_blocks_per_run())? {
                return Ok(Some((at, run)));
            }
            self.next.fetch_max(at + 1, Ordering::AcqRel);
        }
    }

    /// Returns what was loaded, by table.
    fn into_tables(self) -> BTreeMap<TableId, Vec<Rows>> {
        let mut tables: BTreeMap<TableId, Vec<Rows>> = BTreeMap::new();
        let loaded = self.loaded.into_inner().unwrap_or_else(PoisonError::into_inner);
        loaded.into_iter().for_each(|(table, rows)| tables.entry(table).or_default().push(rows));
        tables
    }
}

/// One thread that loads.
struct Loader {
    load: Arc<Load>,
    participant: Participant,
    run: Option<(usize, PartReader)>,
    /// The blocks of this run.
    loaded: Vec<(TableId, Rows)>,
}

impl Work for Loader {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        if self.run.is_none() {
            assert!(self.loaded.is_empty(), "blocks of a run that ended were not handed over");
            self.run = self.load.claim()?;
        }
        let Some((part, mut run)) = self.run.take() else { return Ok(false) };
        let (pin, before) = (self.participant.pin(), run.totals().rows);
        // All rows of a block are of one table, and most blocks of one range of its keys.
        let (mut loaded, mut greatest) = (None, Stamp::ZERO);
        let goes_on = run.next_block(|table, row| {
            greatest = greatest.max(row.stamp);
            let (_, rows) = loaded.get_or_insert_with(|| (table, Run::new(self.load.store.epochs().clone())));
            // The checkpoint does not say when a row was born. Its stamp will not do: a transaction behind the checkpoint that
            // relied on the row's existence may have a smaller one (O2).
            let version = version_of(&pin, (row.stamp, faults::birth_in_checkpoint(row.stamp)), row.row);
            let record = Record::new_present(row.key, version);
            assert!(rows.push(&pin, record).is_ok(), "the reader hands rows out in ascending order");
        })?;
        self.loaded.extend(loaded);
        drop(pin);
        self.load.greatest.fetch_max(greatest.0, Ordering::AcqRel);
        let rows = run.totals().rows - before;
        let done = self.load.rows.fetch_add(rows, Ordering::AcqRel) + rows;
        if let Some(progress) = &self.load.progress {
            progress.report(RecoveryPhase::Checkpoint, done, self.load.total);
        }
        if goes_on {
            self.run = Some((part, run));
        } else {
            lock(&self.load.parts[part]).join(run);
            lock(&self.load.loaded).append(&mut self.loaded);
        }
        Ok(true)
    }
}

impl From<CheckpointError> for RecoveryError {
    fn from(error: CheckpointError) -> RecoveryError {
        RecoveryError::Checkpoint(Box::new(error))
    }
}
