//! What the database counts while it runs.

use crate::checkpoint::CheckpointMetrics;
use crate::log::persist::LogMetrics;
use crate::transaction::memory_limit::MemoryMetrics;

/// Totals since the database was opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Transactions that committed, read-only ones included.
    pub committed: u64,
    /// Transactions that did not commit: conflicts, refusals, and those that were given up.
    pub aborted: u64,
    /// What the log wrote.
    pub log: LogMetrics,
    /// Checkpoints, and what one waits for.
    pub checkpoints: CheckpointMetrics,
    /// What memory is used for.
    pub memory: MemoryMetrics,
}
