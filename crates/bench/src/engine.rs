//! Opens Osier as a run asks for it, and reads its counters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use osier::config::SETTINGS;
use osier::recovery::RecoveryPhase;
use osier::{Config, Create, Database, Durability, MemoryUse, Metrics, Protocol, RecoveryReport};
use serde::{Deserialize, Serialize};

use crate::error::BenchError;
use crate::progress::{phase_name, recovery_callback};
use crate::report::{AccountedFigures, CallFigures, RecoveryFigures, ThreadSeconds};
use crate::{CheckpointCounters, Counters, StreamCounters};

/// How the database of a run is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineOptions {
    /// Its directories.
    pub dirs: Vec<PathBuf>,
    /// Settings by name, see [`SETTINGS`].
    pub settings: BTreeMap<String, String>,
    /// Whether commits are acknowledged at once and not when they are durable.
    pub is_relaxed: bool,
}

impl EngineOptions {
    /// The configuration, checked.
    pub fn config(&self, create: Create) -> Result<Config, osier::Error> {
        let mut config = Config::new("").dirs(&self.dirs).create(create);
        config.control_socket = true;
        let config = self.settings.iter().try_fold(config, |config, (name, value)| config.set(name, value))?;
        config.check()?;
        Ok(config)
    }

    /// Opens the database, showing its recovery.
    pub fn open(&self, create: Create) -> Result<Database, BenchError> {
        open(self.config(create)?)
    }

    /// Opens the database.
    pub fn open_quietly(&self, create: Create) -> Result<Database, BenchError> {
        Ok(Database::open(self.config(create)?)?)
    }

    /// When commits are acknowledged.
    pub fn durability(&self) -> Durability {
        if self.is_relaxed { Durability::Relaxed } else { Durability::Durable }
    }

    /// The first directory.
    pub fn home(&self) -> &Path {
        self.dirs.first().map_or(Path::new(""), PathBuf::as_path)
    }

    /// Whether anything reaches a disk.
    pub fn is_logged(&self) -> Result<bool, osier::Error> {
        Ok(self.config(Create::IfMissing)?.protocol != Protocol::None)
    }
}

/// Opens a database, showing its recovery.
pub fn open(config: Config) -> Result<Database, BenchError> {
    Ok(Database::open(config.progress(recovery_callback()))?)
}

/// All settings of a database by name.
pub fn settings(config: &Config) -> BTreeMap<String, String> {
    let dirs: Vec<_> = config.dirs.iter().map(|dir| dir.display().to_string()).collect();
    let named = SETTINGS.iter().map(|setting| (setting.name.to_owned(), (setting.get)(config)));
    named.chain([("dirs".to_owned(), dirs.join(" "))]).collect()
}

/// What the log has counted.
pub fn counters(db: &Database) -> Counters {
    let metrics = db.metrics();
    let streams = metrics.log.streams.iter();
    let streams = streams.map(|s| StreamCounters { bytes: s.bytes, syncs: s.syncs, records: s.records });
    let taken = &metrics.checkpoints;
    let checkpoints = CheckpointCounters {
        taken: taken.taken,
        failed: taken.failed,
        bytes: taken.bytes,
        active_seconds: taken.active_seconds,
    };
    Counters { streams: streams.collect(), checkpoints }
}

/// The memory that the database accounts for.
pub fn accounted(db: &Database) -> AccountedFigures {
    let memory = db.metrics().memory;
    let MemoryUse { rows, keys, nodes, retained, .. } = memory.used;
    AccountedFigures { rows, keys, nodes, retained, total: memory.used.total(), peak: memory.peak_bytes }
}

/// What was counted of calls, and what recovery would take.
pub fn call_figures(db: &Database) -> CallFigures {
    let Metrics { procedures, recovery, .. } = db.metrics();
    CallFigures {
        recovery_debt_seconds: recovery.map(|recovery| recovery.debt.as_secs_f64()),
        recovery_target_seconds: recovery.map(|recovery| recovery.target.as_secs_f64()),
        procedures,
    }
}

/// A recovery's figures.
pub fn recovery_figures(report: &RecoveryReport) -> RecoveryFigures {
    let seconds = report.seconds;
    let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    let phases = [
        (RecoveryPhase::Manifest, report.manifest_seconds),
        (RecoveryPhase::Checkpoint, report.checkpoint_seconds),
        (RecoveryPhase::Scan, report.scan_seconds),
        (RecoveryPhase::Persist, report.persist_seconds),
        (RecoveryPhase::Replay, report.replay_seconds),
        (RecoveryPhase::Index, report.index_seconds),
        (RecoveryPhase::Order, report.ordered_seconds),
        (RecoveryPhase::Check, report.check_seconds),
    ];
    RecoveryFigures {
        seconds,
        log_bytes: report.log_bytes,
        log_bytes_per_s: per_second(report.log_bytes),
        batches: report.batches,
        records: report.records,
        records_per_s: per_second(report.records),
        streams: report.streams.div_ceil(report.generations.max(1)),
        generations: report.generations,
        replayed: report.replayed,
        discarded: report.discarded,
        writes: report.writes,
        accepted: report.accepted.iter().map(ToString::to_string).collect(),
        phases: phases.map(|(phase, seconds)| (phase_name(phase).to_owned(), seconds)).into(),
        left: report.left,
        at_once: report.at_once,
        planned_seconds: report.planned_seconds,
        waited_seconds: report.waited_seconds,
        rows: report.rows.to_string(),
        thread_seconds: ThreadSeconds {
            loading: report.loading_seconds,
            analysis: report.analysis_seconds(),
            scheduling: report.scheduling_seconds,
            execution: report.execution_seconds(),
        },
    }
}
