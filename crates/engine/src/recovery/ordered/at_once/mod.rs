//! Runs transactions whose records carry vectors at once, as far as these allow (Taurus, section 3.3), a window of the order
//! after the other.
//!
//! Invariants:
//! - What defines something is among them: its vector covers everybody who used the definitions before it, and whoever uses its
//!   own depends on it.
//! - Windows in which most transactions wait for the one before are run by one thread in the order of stamps (section 3.5).
//!
//! Absent: which of a window may run (schedule.rs), and the threads ([`threads`](super::threads)).

mod schedule;

use std::sync::Arc;
use std::time::Duration;

use super::merge::Batch;
use super::replayer::CommandReplayer;
use super::threads::{Stopped, Threads};
use crate::error::Error;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::recovery::faults;
use crate::recovery::log_scan::LogScan;
use crate::sizes::at_once_min;
use crate::transaction::shared::Shared;
use schedule::Vectors;

/// A window is run by several threads where on average so many hundredths of its transactions can run at once.
const PARALLELISM_MIN_PERCENT: usize = 130;

/// So many threads run it for each transaction that can run at once, in hundredths: threads that find nothing to run keep others
/// from what they have taken.
const THREADS_PERCENT: usize = 150;

/// How many windows go by until the parallelism is looked at again.
const WINDOWS_PER_LOOK: u64 = 8;

/// Several threads that run transactions of windows.
pub(super) struct AtOnce {
    threads: Threads<Vectors>,
    windows: u64,
    /// How many threads run a window, by the last look; zero: its records are run one after the other.
    active: usize,
}

impl AtOnce {
    /// Returns so many threads over what is shared.
    pub(super) fn new(
        threads: usize,
        shared: &Arc<Shared>,
        stamp: &Arc<ReplayedStamp>,
        replayer: &dyn CommandReplayer,
    ) -> Result<AtOnce, Error> {
        Ok(AtOnce { threads: Threads::new(threads, shared, stamp, replayer)?, windows: 0, active: 0 })
    }

    /// How long the threads have had nothing to run so far, all together.
    pub(super) fn waited(&self) -> Duration {
        self.threads.waited()
    }

    /// Whether the records of a batch may be run at once.
    pub(super) fn takes(&self, batch: &Batch) -> bool {
        batch.order().all(|(_, found)| found.vector.is_some())
    }

    /// Runs the records of these batches; `false`: they are to be run one after the other.
    pub(super) fn run(&mut self, scan: &Arc<LogScan>, batches: &mut Vec<Batch>) -> Result<bool, Stopped> {
        let records = batches.iter().map(Batch::len).sum::<usize>();
        if records < at_once_min() {
            return Ok(false);
        }
        let streams = scan.generations[batches[0].generation()].streams.len();
        let schedule = Vectors::new(scan, std::mem::take(batches), streams);
        if self.windows.is_multiple_of(WINDOWS_PER_LOOK) {
            let percent = 100 * records / schedule.critical_path();
            let is_parallel = faults::is_parallel(percent >= PARALLELISM_MIN_PERCENT);
            let wanted = percent * THREADS_PERCENT / 100 / 100;
            self.active = if is_parallel { wanted.clamp(2, self.threads.len()) } else { 0 };
        }
        self.windows += 1;
        if self.active == 0 {
            *batches = schedule.batches;
            return Ok(false);
        }
        *batches = self.threads.run(schedule, self.active)?.batches;
        Ok(true)
    }
}

/// Returns the longest chain of the records of a window of which each waits for the one before; `None` where vectors say nothing
/// of that.
pub(super) fn chained(scan: &Arc<LogScan>, window: Vec<Batch>) -> Option<u64> {
    let has_vectors = window.iter().flat_map(Batch::order).all(|(_, found)| found.vector.is_some());
    let streams = scan.generations[window.first().filter(|_| has_vectors)?.generation()].streams.len();
    Some(Vectors::new(scan, window, streams).critical_path() as u64)
}
