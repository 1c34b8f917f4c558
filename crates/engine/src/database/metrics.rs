//! What the database counts while it runs.

use crate::checkpoint::CheckpointMetrics;
use crate::log::persist::LogMetrics;
use crate::transaction::backlog::BacklogMetrics;
use crate::transaction::debt::RecoveryDebt;
use crate::transaction::figures::ProcedureMetrics;
use crate::transaction::memory_limit::MemoryMetrics;
use crate::transaction::open_snapshots::SnapshotMetrics;

/// Totals since the database was opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Transactions that committed, read-only ones included.
    pub committed: u64,
    /// Transactions that did not commit: conflicts, refusals, and those that were given up.
    pub aborted: u64,
    /// Transactions that met a conflict, in an access or at the commit: run again or given up.
    pub conflicts: u64,
    /// What the log wrote.
    pub log: LogMetrics,
    /// Checkpoints, and what one waits for.
    pub checkpoints: CheckpointMetrics,
    /// What memory is used for.
    pub memory: MemoryMetrics,
    /// Snapshots that are open, and what is kept for them.
    pub snapshots: SnapshotMetrics,
    /// Calls of procedures, by name and version.
    pub procedures: Vec<ProcedureMetrics>,
    /// How long a recovery would take, where commands are logged.
    pub recovery: Option<RecoveryDebt>,
    /// What the recovery at the open left to do (`recovery = instant`).
    pub backlog: BacklogMetrics,
}
