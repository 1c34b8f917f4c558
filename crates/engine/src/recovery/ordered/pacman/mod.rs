//! Runs transactions of a log at once that its procedures and arguments allow to (PACMAN, section 4): a stretch of the order
//! after the other, with a graph of who waits for whom.
//!
//! Invariants:
//! - Two transactions that access the same row, of which one modifies it, run in their order (O4 to O9).
//! - Whatever defines something runs alone.
//! - Neither locks nor validation decide about the order: who runs has nobody beside it that it conflicts with.
//!
//! Absent: what a procedure accesses ([`Planner`](crate::call::Planner)), and the threads ([`threads`](super::threads)).

mod accesses;
mod graph;
mod homes;
mod key_table;
mod model;
mod noting;
mod places;
mod plan;
mod queues;
mod waits;

use std::sync::Arc;
use std::time::Duration;

use super::merge::Batch;
use super::notes::{NotedGraph, NotedStretch};
use super::replayer::CommandReplayer;
use super::threads::{Running, Stopped, Threads};
use crate::config::{Config, ReplayKind};
use crate::error::Error;
use crate::io::Clock;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::recovery::faults;
use crate::recovery::log_scan::LogScan;
use crate::sizes::{at_once_min, window_records};
use crate::transaction::Session;
use crate::transaction::shared::Shared;
pub(super) use accesses::Accesses;
pub(super) use graph::Graph;
pub(in crate::recovery) use model::{Costs, Simulated, limits, simulate};
pub(super) use places::{Place, places_from, record};
pub(super) use plan::{Plans, Segment};
pub(super) use waits::Runs;

/// A segment is run by several threads where on average so many hundredths of its transactions can run at once.
const PARALLELISM_MIN_PERCENT: usize = 130;

/// At most so many windows are run in order, and not planned, behind one of which hardly any transactions could run at once.
const UNPLANNED_MAX: u32 = 8;

/// The first window has so many times fewer transactions than later ones, because nothing runs until it is planned. Each of the
/// next ones has twice as many.
const FIRST_WINDOW_SHARE: usize = 16;

/// One thread of so many notes what the next segment accesses, or one alone: that takes about a quarter of the time that calls
/// take to run.
const NOTING_SHARE: usize = 4;

/// How many of so many threads note.
fn noters(threads: usize) -> usize {
    (threads / NOTING_SHARE).max(1)
}

/// Several threads that run transactions of segments. One segment is run while the next one is planned, if that is wanted.
pub(super) struct Pacman {
    kind: ReplayKind,
    /// Dropped first: it has some of the threads.
    running: Option<Running<Graph>>,
    threads: Threads<Graph>,
    plans: Plans,
    /// How many threads note what calls access.
    noters: usize,
    /// How many transactions the next window has.
    window_records: usize,
    /// Whether any of the present window were run at once; `None`: nothing shows whether they could be.
    is_parallel: Option<bool>,
    /// How many windows are not planned, and how many were not the last time: twice as many each time.
    unplanned: u32,
    last_unplanned: u32,
    /// How long planning took so far.
    planned: Duration,
    /// Where notes are wanted.
    noting: Option<Noting>,
}

/// Takes notes: each segment has run, by one thread, before the next one is planned as if it were still running.
#[derive(Default)]
struct Noting {
    is_as_if_running: bool,
    graph: Option<NotedGraph>,
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
        kind: ReplayKind,
        threads: usize,
        shared: &Arc<Shared>,
        stamp: &Arc<ReplayedStamp>,
        replayer: &dyn CommandReplayer,
    ) -> Result<Pacman, Error> {
        let threads = Threads::new(threads, shared, stamp, replayer)?;
        let window_records = window_records().div_ceil(FIRST_WINDOW_SHARE);
        let noters = noters(threads.len());
        let plans = Plans::new(shared, (threads.len(), noters), kind != ReplayKind::PacmanStatic, false)?;
        let (running, planned) = (None, Duration::ZERO);
        Ok(Pacman {
            kind,
            threads,
            plans,
            noters,
            running,
            window_records,
            is_parallel: None,
            unplanned: 0,
            last_unplanned: 0,
            planned,
            noting: None,
        })
    }

    /// From now on notes are wanted.
    pub(super) fn note(&mut self) {
        self.noting = Some(Noting::default());
        self.plans.note_homes();
    }

    /// Returns what is noted of the stretch that was begun last, or is to be run in order, which has so many transactions; `None`
    /// where no notes are wanted. `planned` is how long planning had taken before.
    pub(super) fn noted(&mut self, transactions: usize, planned: Duration) -> Option<NotedStretch> {
        let at_once = self.noting.as_mut()?.graph.take();
        let (planned, (groups, noted)) = (self.planned.saturating_sub(planned), self.plans.note_homes());
        Some(NotedStretch { transactions: transactions as u32, planned, noted, groups, at_once })
    }

    /// How long planning took so far, and how long the threads have had nothing to run, all together.
    pub(super) fn spent(&self) -> (Duration, Duration) {
        (self.planned, self.threads.waited())
    }

    /// Returns how many transactions the next window has.
    pub(super) fn next_window(&mut self) -> usize {
        let next = window_records().min(2 * self.window_records);
        std::mem::replace(&mut self.window_records, next)
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
        if from == (0, 0) && !self.is_worth_a_plan() {
            self.end(ran)?;
            self.plans.forget();
            let places = places_from(window, from).collect();
            return Ok(Stretch::InOrder { places, end: (window.len() as u32, 0) });
        }
        if self.kind != ReplayKind::Pacman {
            self.end(ran)?;
        }
        if !self.is_running() {
            self.plans.have_run();
        }
        let clock = &config.environment.clock;
        let begun = clock.now();
        let segment = self.plans.segment(session, (scan, window), from)?;
        self.planned += clock.now().saturating_sub(begun);
        #[cfg(feature = "mutations")]
        let noted = self.plans.noted(session, (scan, window), &segment);
        self.end(ran)?;
        #[cfg(feature = "mutations")]
        assert_eq!(
            noted,
            self.plans.noted(session, (scan, window), &segment),
            "what was running has changed what calls access"
        );
        let Segment { places, chained, .. } = &segment;
        if places.len() < at_once_min() && !faults::is_parallel(false) {
            self.is_parallel.get_or_insert(false);
        }
        if places.is_empty() {
            if record(scan, window, from).command.is_none() {
                // Whatever it defines, nothing is known behind it.
                self.plans.forget();
            }
            return Ok(Stretch::InOrder { places: vec![from], end: places::behind(window, from) });
        }
        let end = places::behind(window, places[places.len() - 1]);
        if places.len() < at_once_min() {
            return Ok(Stretch::InOrder { places: segment.places, end });
        }
        if !faults::is_parallel(100 * places.len() >= PARALLELISM_MIN_PERCENT * *chained as usize) {
            self.is_parallel.get_or_insert(false);
            return Ok(Stretch::InOrder { places: segment.places, end });
        }
        self.is_parallel = Some(true);
        match self.noting.take() {
            Some(noting) => self.run_noted(noting, (scan, window), segment, &**clock, ran)?,
            None => {
                let (graph, _) = Graph::new(scan, window, segment, self.threads.len());
                // Those that note plan meanwhile, in place of as many of them.
                let active = self.threads.len().saturating_sub(self.noters).max(1);
                self.running = Some(self.threads.begin(graph, active));
            }
        }
        Ok(Stretch::AtOnce { end })
    }

    /// Whether a segment is running, or is taken to be.
    fn is_running(&self) -> bool {
        let noted = self.noting.as_ref().is_some_and(|noting| noting.is_as_if_running);
        self.running.is_some() || noted && self.kind == ReplayKind::Pacman
    }

    /// Runs a segment by one thread, and takes notes of it.
    fn run_noted(
        &mut self,
        mut noting: Noting,
        (scan, window): (&Arc<LogScan>, &Arc<Vec<Batch>>),
        segment: Segment,
        clock: &dyn Clock,
        ran: &mut impl FnMut(Ran),
    ) -> Result<(), Stopped> {
        let (edges, begun) = (segment.edges.clone(), clock.now());
        let (graph, _) = Graph::new(scan, window, segment, self.threads.len());
        let queued = clock.now();
        let running = self.threads.begin(graph, 1);
        let running_since = clock.now();
        ran(self.threads.end(running)?.ran());
        let since = |earlier: Duration, later: Duration| later.saturating_sub(earlier);
        noting.graph = Some(NotedGraph {
            edges,
            queued: since(begun, queued),
            begun: since(queued, running_since),
            ran: since(running_since, clock.now()),
        });
        noting.is_as_if_running = true;
        self.noting = Some(noting);
        Ok(())
    }

    /// Whether a window that begins is planned.
    fn is_worth_a_plan(&mut self) -> bool {
        if self.unplanned > 0 {
            self.unplanned -= 1;
            return self.unplanned == 0;
        }
        match self.is_parallel.take() {
            Some(false) => {
                self.last_unplanned = UNPLANNED_MAX.min(2 * self.last_unplanned.max(1));
                self.unplanned = self.last_unplanned;
                false
            }
            Some(true) => {
                self.last_unplanned = 0;
                true
            }
            None => true,
        }
    }

    /// Waits until everything that has begun has run.
    pub(super) fn end(&mut self, ran: &mut impl FnMut(Ran)) -> Result<(), Stopped> {
        self.noting.iter_mut().for_each(|noting| noting.is_as_if_running = false);
        if let Some(mut running) = self.running.take() {
            self.threads.join_in(&mut running);
            ran(self.threads.end(running)?.ran());
        }
        Ok(())
    }
}
