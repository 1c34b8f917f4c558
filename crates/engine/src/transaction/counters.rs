//! How transactions ended, counted where their sessions are.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::ids::StreamId;

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
        assert!(streams > 0, "sessions are dealt to streams");
        Counters { per_stream: (0..streams).map(|_| CachePadded::default()).collect() }
    }

    pub(crate) fn committed(&self, stream: StreamId) {
        self.per_stream[stream.0 as usize].committed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn aborted(&self, stream: StreamId) {
        self.per_stream[stream.0 as usize].aborted.fetch_add(1, Ordering::Relaxed);
    }

    /// How many transactions committed, and how many did not.
    pub(crate) fn totals(&self) -> (u64, u64) {
        let sum = |count: fn(&StreamCounters) -> &AtomicU64| {
            self.per_stream.iter().map(|counters| count(counters).load(Ordering::Relaxed)).sum()
        };
        (sum(|counters| &counters.committed), sum(|counters| &counters.aborted))
    }
}
