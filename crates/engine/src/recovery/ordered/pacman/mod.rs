//! Runs transactions of a log at once that its procedures and arguments allow to (PACMAN, section 4): a stretch of the order
//! after the other, with a graph of who waits for whom.
//!
//! Invariants:
//! - Two transactions that access the same row, of which one modifies it, run in their order (O4 to O9).
//! - Whatever defines something runs alone.
//! - Neither locks nor validation decide about the order: who runs has nobody beside it that it conflicts with.
//!
//! Absent: what a procedure accesses ([`Planner`](crate::call::Planner)), and the threads ([`threads`](super::threads)).

mod graph;
mod plan;

use std::sync::Arc;

use super::merge::Batch;
use super::replayer::CommandReplayer;
use super::threads::{Running, Stopped, Threads};
use crate::config::Config;
use crate::error::Error;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::recovery::faults;
use crate::recovery::log_scan::LogScan;
use crate::sizes::at_once_min;
use crate::transaction::Session;
use crate::transaction::shared::Shared;
use graph::Graph;
pub(super) use plan::{Place, places_from, record};
use plan::{Plans, Segment};

/// A segment is run by several threads where on average so many hundredths of its transactions can run at once.
const PARALLELISM_MIN_PERCENT: usize = 130;

/// Several threads that run transactions of segments. One segment is run while the next one is planned.
pub(super) struct Pacman {
    threads: Threads<Graph>,
    plans: Plans,
    running: Option<Running<Graph>>,
}

/// What becomes of the transactions of a window from a place on.
pub(super) enum Stretch {
    /// They are being run at once.
    AtOnce { end: Place },
    /// These are to be run one after the other, when nothing is running any more.
    InOrder { places: Vec<Place>, end: Place },
}

/// How many records were run at once, and how many of them are commands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ran {
    pub(super) records: u64,
    pub(super) commands: u64,
}

impl Pacman {
    /// Returns so many threads over what is shared.
    pub(super) fn new(
        threads: usize,
        shared: &Arc<Shared>,
        stamp: &Arc<ReplayedStamp>,
        replayer: &dyn CommandReplayer,
    ) -> Result<Pacman, Error> {
        let threads = Threads::new(threads, shared, stamp, replayer)?;
        Ok(Pacman { threads, plans: Plans::new(shared.clone()), running: None })
    }

    /// Plans those transactions of a window, from a place on, in front of which nothing is defined any more. When those before
    /// them have run, which `ran` is told, it begins to run them; or says that they are to be run in order. `session` reads
    /// definitions.
    pub(super) fn begin(
        &mut self,
        config: &Config,
        session: &mut Session,
        (scan, window): (&Arc<LogScan>, &Arc<Vec<Batch>>),
        from: Place,
        ran: &mut impl FnMut(Ran),
    ) -> Result<Stretch, Stopped> {
        let segment = self.plans.segment(&session.begin(), scan, window, from)?;
        self.end(ran)?;
        let Segment { places, chained, .. } = &segment;
        if places.is_empty() {
            // Whatever it defines, nothing is known behind it.
            self.plans.forget();
            return Ok(Stretch::InOrder { places: vec![from], end: plan::behind(window, from) });
        }
        let end = plan::behind(window, places[places.len() - 1]);
        let is_parallel = faults::is_parallel(100 * places.len() >= PARALLELISM_MIN_PERCENT * *chained as usize);
        if places.len() < at_once_min() || !is_parallel {
            return Ok(Stretch::InOrder { places: segment.places, end });
        }
        let active = self.threads.len();
        self.running = Some(self.threads.begin(config, Graph::new(scan, window, segment, active), active));
        Ok(Stretch::AtOnce { end })
    }

    /// Waits until everything that has begun has run.
    pub(super) fn end(&mut self, ran: &mut impl FnMut(Ran)) -> Result<(), Stopped> {
        if let Some(running) = self.running.take() {
            ran(self.threads.end(running)?.ran());
        }
        Ok(())
    }
}
