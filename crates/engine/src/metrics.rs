//! What the database counts while it runs.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::checkpoint::CheckpointMetrics;
use crate::ids::StreamId;
use crate::limits::MemoryMetrics;
use crate::log::LogMetrics;

/// Commits and aborts, counted per stream so that sessions of different streams share no cache line.
pub(crate) struct Counters {
    per_stream: Box<[CachePadded<StreamCounters>]>,
}

#[derive(Default)]
struct StreamCounters {
    committed: AtomicU64,
    aborted: AtomicU64,
}

impl Counters {
    pub(crate) fn new(streams: u32) -> Counters {
        Counters { per_stream: (0..streams).map(|_| CachePadded::default()).collect() }
    }

    pub(crate) fn committed(&self, stream: StreamId) {
        self.per_stream[stream.0 as usize].committed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn aborted(&self, stream: StreamId) {
        self.per_stream[stream.0 as usize].aborted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, log: LogMetrics, checkpoints: CheckpointMetrics, memory: MemoryMetrics) -> Metrics {
        let sum = |count: fn(&StreamCounters) -> &AtomicU64| {
            self.per_stream.iter().map(|counters| count(counters).load(Ordering::Relaxed)).sum()
        };
        let (committed, aborted) = (sum(|counters| &counters.committed), sum(|counters| &counters.aborted));
        Metrics { committed, aborted, log, checkpoints, memory }
    }
}

/// Totals since the database was opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Transactions that committed, read-only ones included.
    pub committed: u64,
    /// Transactions whose commit failed.
    pub aborted: u64,
    /// What the log wrote.
    pub log: LogMetrics,
    /// Checkpoints, and what one waits for.
    pub checkpoints: CheckpointMetrics,
    /// What memory is used for.
    pub memory: MemoryMetrics,
}
