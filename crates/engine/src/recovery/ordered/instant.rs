//! Instant recovery: a database opens when it is known what is left to run again of its log, and which rows that accesses. The
//! rest runs while transactions of users go on, first what one of them waits for.
//!
//! Beyond PACMAN, whose recovery ends before the first new transaction. Invariants (docs/protocols.md, "Instant recovery"):
//! - What is left defines nothing, and of all its transactions it is known what they access. Whatever stands before the last one
//!   of which that is not so has run when the database opens.
//! - The decision what lives is durable, so that nothing which a new transaction observes is ever undone. A crash on the way
//!   leaves the log as it was, with the new transactions behind it.
//! - Where a transaction of the log does something else than before, or a thread dies, the database fails: nothing is
//!   acknowledged from then on.
//! - New transactions rest on what has run, so that nothing may be accepted that differs: then the recovery is whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use osier_memory::sync::Backoff;
use osier_memory::task;

use super::merge::Batch;
use super::pacman::{self, Accesses, Graph, Plans, Runs, Segment};
use super::replayer::CommandReplayer;
use super::threads::{Running, Stopped, Threads};
use super::{Replay, Replayed};
use crate::config::{Config, RecoveryKind};
use crate::error::{Error, LogFailure, RecoveryError, TransactionError};
use crate::io::{Joiner, Signal, Step, Task};
use crate::log::protocol::replayed::ReplayedStamp;
use crate::recovery::workers;
use crate::sizes::at_once_min;
use crate::table::Table;
use crate::transaction::Purge;
use crate::transaction::backlog::{Backlog, BacklogMetrics, GoesOn, Reach, Use};
use crate::transaction::shared::Shared;

/// So much of the log is looked at together, at most; of more, the first part runs before the database opens.
const LOOKED_AT_BYTES: usize = 1 << 30;

/// How often it is looked whether the rest has run.
const LOOK: Duration = Duration::from_millis(2);

/// Users are told what it takes to run all of it when one transaction in so many has run.
const TOLD_SHARE: u64 = 64;

/// Who waits in a thread with others lets them go on for so long.
const TASK_PAUSE: Duration = Duration::from_millis(1);

/// Whether a database opens before its log has run again.
pub(super) fn is_wanted(config: &Config, replayer: &dyn CommandReplayer) -> bool {
    config.recovery == RecoveryKind::Instant && config.accept_divergence.is_none() && replayer.another().is_some()
}

/// What is left to run again when a database opens.
pub(crate) struct Rest {
    config: Config,
    threads: Threads<Graph>,
    graph: Graph,
    accesses: Accesses,
}

/// What a replay does until its database can open.
pub(super) struct UntilRest {
    threads: Threads<Graph>,
    plans: Plans,
}

impl UntilRest {
    pub(super) fn new(
        config: &Config,
        shared: &Arc<Shared>,
        stamp: &Arc<ReplayedStamp>,
        replayer: &dyn CommandReplayer,
    ) -> Result<UntilRest, Error> {
        let threads = Threads::new(threads(config), shared, stamp, replayer)?;
        let plans = Plans::new(shared, (threads.len(), threads.len()), true, true)?;
        Ok(UntilRest { threads, plans })
    }

    /// Runs what has to run first, and returns the rest, if there is any.
    pub(super) fn run(mut self, replay: &mut Replay<'_>) -> Result<Option<Rest>, Error> {
        let (mut next, threads) = (None, self.threads.len());
        loop {
            let (window, is_last) = gather(replay, &mut next)?;
            if window.is_empty() {
                return Ok(None);
            }
            let (window, mut from) = (Arc::new(window), (0, 0));
            while (from.0 as usize) < window.len() {
                let log = replay.log;
                let segment = self.plans.segment(&mut replay.scout, (&log.scan, &window), from)?;
                let end = segment.end(&window, from);
                if !segment.is_empty() && is_last && end.0 as usize == window.len() {
                    let (graph, accesses) = Graph::new(&log.scan, &window, segment, threads);
                    let accesses = accesses.expect("these plans tell accesses");
                    let config = replay.config.clone();
                    return Ok(Some(Rest { config, threads: self.threads, graph, accesses }));
                }
                self.run_segment(replay, &window, segment, from)?;
                self.plans.have_run();
                from = end;
            }
        }
    }

    /// Runs a segment to its end; an empty one stands for the transaction at its place, which runs alone.
    fn run_segment(
        &mut self,
        replay: &mut Replay<'_>,
        window: &Arc<Vec<Batch>>,
        segment: Segment,
        from: pacman::Place,
    ) -> Result<(), Error> {
        let scan = &replay.log.scan;
        let record = |place| pacman::record(scan, window, place);
        let behind = |end| pacman::places_from(window, end).map(record);
        let end = segment.end(window, from);
        if segment.is_empty() {
            replay.in_order(std::iter::once(record(from)), behind(end))?;
            if record(from).command.is_none() {
                // Whatever it defines, nothing is known behind it.
                self.plans.forget();
            }
            return Ok(());
        }
        if segment.len() < at_once_min() {
            return replay.in_order(segment.places().map(record), behind(end));
        }
        let (graph, _) = Graph::new(scan, window, segment, self.threads.len());
        let active = self.threads.len();
        match self.threads.run(graph, active) {
            Ok(graph) => {
                let ran = graph.ran();
                replay.ran_at_once(ran.records, ran.commands);
                Ok(())
            }
            Err(stopped) => Err(replay.stopped(stopped, behind(end))),
        }
    }
}

/// How many threads run the rest.
pub(super) fn threads(config: &Config) -> usize {
    workers::count(config).max(1)
}

/// Gathers the next batches, as many as are looked at together, and says whether they are the last ones.
fn gather(replay: &Replay<'_>, next: &mut Option<Batch>) -> Result<(Vec<Batch>, bool), Error> {
    let (mut window, mut bytes) = (Vec::new(), 0);
    loop {
        let batch = next.take().map_or_else(|| replay.feeder.next(None), |batch| Ok(Some(batch)))?;
        let Some(batch) = batch else { return Ok((window, true)) };
        if !window.is_empty() && bytes + batch.bytes() > LOOKED_AT_BYTES {
            *next = Some(batch);
            return Ok((window, false));
        }
        bytes += batch.bytes();
        window.push(batch);
    }
}

impl Rest {
    /// How many records it has, and how many of them are commands.
    pub(in crate::recovery) fn counts(&self) -> Replayed {
        let ran = self.graph.ran();
        Replayed { transactions: ran.records, commands: ran.commands, ..Replayed::default() }
    }

    /// Begins to run it beside the users of an open database.
    ///
    /// # Errors
    /// A thread could not be started.
    pub(crate) fn begin(self, users: &Arc<Shared>) -> std::io::Result<Replaying> {
        let Rest { config, mut threads, graph, accesses } = self;
        let (total, active) = (graph.left(), threads.len());
        threads.go_on_beside_users();
        // Who begins transactions without a turn would purge them.
        let orphans = threads.take_orphans();
        let begun = config.environment.clock.now();
        let running = threads.begin(graph, active);
        let graph = running.schedule().clone();
        let backlog = Arc::new(Unreplayed { graph, accesses, total, waits: AtomicU64::new(0) });
        users.backlog.begin(backlog);
        let (stop, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(Signal::new()));
        let (users, running, has_ended) = (users.clone(), Some(running), false);
        let (stopped, owed_ns) = (stop.clone(), 0);
        let watch = Watch { users, threads, running, orphans, begun, owed_ns, stop: stopped, has_ended };
        let spawn = &config.environment.spawn;
        let joiner = spawn.spawn(Replaying::NAME.to_owned(), Box::new(watch), signal.clone())?;
        Ok(Replaying { stop, signal, joiner: Some(joiner) })
    }
}

/// The transactions of the rest, for users.
struct Unreplayed {
    graph: Arc<Graph>,
    accesses: Accesses,
    total: usize,
    waits: AtomicU64,
}

impl Unreplayed {
    /// Waits until nothing is left that `first_left` gives.
    fn wait(&self, goes_on: GoesOn<'_>, first_left: impl Fn() -> Option<u32>) -> Result<(), Error> {
        pause_while(goes_on, || Ok(self.graph.is_crowded()))?;
        let mut has_waited = false;
        while let Some(at) = first_left() {
            if !std::mem::replace(&mut has_waited, true) {
                self.waits.fetch_add(1, Ordering::Relaxed);
            }
            // Asked behind a pause of its own alone: before that the answer is about the statement before.
            let mut has_paused = false;
            pause_while(goes_on, || match self.graph.has_run(at) {
                false if std::mem::replace(&mut has_paused, true) && task::is_to_end() => {
                    Err(TransactionError::BacklogTimeout.into())
                }
                has_run => Ok(!has_run),
            })?;
        }
        Ok(())
    }
}

/// Waits while something is so, and the database goes on.
fn pause_while(goes_on: GoesOn<'_>, mut is_so: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    let mut backoff = Backoff::new();
    while is_so()? {
        goes_on()?;
        match task::waker() {
            Some(_) => _ = task::pause(TASK_PAUSE),
            None => backoff.wait(),
        }
    }
    Ok(())
}

impl Backlog for Unreplayed {
    fn settle(&self, goes_on: GoesOn<'_>, table: &Table, reach: Reach<'_>, to: Use) -> Result<(), Error> {
        self.wait(goes_on, || self.accesses.first_left(&*self.graph, table, reach, to))
    }

    fn settle_all(&self, goes_on: GoesOn<'_>) -> Result<(), Error> {
        self.wait(goes_on, || self.graph.first_left())
    }

    fn metrics(&self) -> BacklogMetrics {
        let (transactions, left) = (self.total as u64, self.graph.left() as u64);
        BacklogMetrics { transactions, left, waits: self.waits.load(Ordering::Relaxed) }
    }
}

/// The recovery that goes on while the database is open.
pub(crate) struct Replaying {
    stop: Arc<AtomicBool>,
    signal: Arc<Signal>,
    joiner: Option<Box<dyn Joiner>>,
}

impl Replaying {
    /// The name of its thread.
    pub(crate) const NAME: &str = "osier-replay";

    /// Ends it, also where something is left, and waits until it has ended.
    pub(crate) fn stop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.signal.wake();
        if let Some(joiner) = self.joiner.take() {
            let _ = joiner.join();
        }
    }
}

impl Drop for Replaying {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Watches over the threads that run the rest.
struct Watch {
    users: Arc<Shared>,
    threads: Threads<Graph>,
    running: Option<Running<Graph>>,
    /// What transactions before have left to be purged.
    orphans: Vec<Purge>,
    begun: Duration,
    /// What users have been told that a recovery would take to run all of it once more.
    owed_ns: u64,
    stop: Arc<AtomicBool>,
    has_ended: bool,
}

impl Watch {
    /// Everything has run, or a thread has failed.
    fn end(&mut self, running: Running<Graph>) {
        let failed = |error: RecoveryError| {
            self.users.log.fail(LogFailure::Recovery { sqlstate: error.sqlstate(), what: error.to_string() });
        };
        match self.threads.join(running) {
            Ok(_) => {
                // What is to be purged by these sessions users take over.
                self.threads.clear();
                self.users.adopt_purges(self.orphans.drain(..).chain(self.threads.take_orphans()));
                self.owe();
                self.users.backlog.is_done();
            }
            Err(Stopped::Recovery(error)) => failed(error),
            Err(Stopped::Missing { missing, not_run }) => failed(missing.into_error(not_run)),
        }
    }

    /// Tells users of the debt: a crash leaves all of it to the next recovery, however much of it has run.
    fn owe(&mut self) {
        let BacklogMetrics { transactions, left, .. } = self.users.backlog.metrics();
        let ran = transactions - left;
        if ran == 0 || ran < transactions / TOLD_SHARE {
            return;
        }
        let took = self.users.config.environment.clock.now().saturating_sub(self.begun).as_nanos();
        let all_ns = (took * u128::from(transactions) / u128::from(ran)) as u64;
        let more_ns = all_ns.saturating_sub(self.owed_ns);
        self.users.debt.add(more_ns);
        self.owed_ns += more_ns;
    }
}

impl Task for Watch {
    fn step(&mut self) -> Step {
        self.owe();
        if let Some(running) = self.running.take_if(|running| running.is_over()) {
            self.end(running);
        } else if !self.stop.load(Ordering::SeqCst) {
            return Step::Idle(Some(LOOK));
        }
        // Where it is to stop, whatever is running ends here.
        self.running = None;
        self.has_ended = true;
        Step::Done
    }
}

/// A thread that dies before its work is done leaves users waiting, if the database does not fail.
impl Drop for Watch {
    fn drop(&mut self) {
        self.running = None;
        if !self.has_ended && !self.stop.load(Ordering::SeqCst) {
            self.users.log.fail(LogFailure::TaskDied { task: Replaying::NAME.to_owned() });
        }
    }
}
