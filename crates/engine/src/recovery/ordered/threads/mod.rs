//! Several threads that run the transactions of a window at once, as a [`Schedule`] allows.
//!
//! Invariants:
//! - A window is over when each of its transactions has run, and all threads have ended with it.
//! - A key is purged by a session that has its turn, so that it does not go under a transaction that runs alone. Sessions that
//!   begin transactions without one, to ask for memory or to plan, have none to purge.
//! - Whatever differs from before is refused: where divergence may be accepted, transactions are run one after the other.
//!
//! Absent: which transactions may run ([`at_once`](super::at_once), [`pacman`](super::pacman)).

mod executor;
mod runner;

use std::sync::Arc;
use std::time::Duration;

use osier_memory::sync::lock;

use super::merge::LiveRecord;
use super::replayer::CommandReplayer;
use super::run::{Missing, Refusal};
use crate::call::Unordered;
use crate::config::Config;
use crate::error::{Error, RecoveryError};
use crate::ids::Stamp;
use crate::io::Environment;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::recovery::log_scan::LogScan;
use crate::recovery::workers;
use crate::transaction::shared::Shared;
use crate::transaction::{Purge, Session};
use executor::{Ended, Turns};
use runner::Runner;

/// Which transactions of a window may run, for several threads. Each is a record by its number.
pub(super) trait Schedule: Send + Sync + 'static {
    /// What a thread has taken and not run.
    type Taken: Send;

    /// Begins for one of so many threads.
    fn begin(&self, place: (usize, usize)) -> Self::Taken;

    /// Takes one more record, whose memory is to be asked for, if there is one that the thread is to take.
    fn take(&self, taken: &mut Self::Taken) -> Option<u32>;

    /// Returns a record that was taken and may run now.
    fn ready(&self, taken: &mut Self::Taken) -> Option<u32>;

    /// Whether nothing is left for a thread that has nothing to run.
    fn is_over_for(&self, taken: &Self::Taken) -> bool;

    /// A record has run.
    fn ran(&self, taken: &mut Self::Taken, at: u32);

    /// Users of the database are always in the way of a record, or are no more: they stand still meanwhile.
    fn set_crowded(&self, _is_crowded: bool) {}

    /// Whether every record has run.
    fn is_over(&self) -> bool;

    /// Returns a record.
    fn record(&self, at: u32) -> LiveRecord<'_>;

    /// Returns the records that have not run.
    fn rest(&self) -> Box<dyn Iterator<Item = LiveRecord<'_>> + '_>;

    /// Which reads of procedures nobody changes while the window is run.
    fn unordered(&self) -> Arc<Unordered> {
        Arc::default()
    }

    /// The first stamp.
    fn first_stamp(&self) -> Stamp;

    /// The log.
    fn scan(&self) -> &LogScan;
}

/// The threads.
pub(super) struct Threads<S: Schedule> {
    runners: Vec<Runner<S>>,
    shared: Arc<Shared>,
    stamp: Arc<ReplayedStamp>,
    /// Threads of the operating system are kept from a window to the next one.
    environment: Environment,
}

/// Returns how many threads may run transactions at once; zero where there is no use in them.
pub(super) fn count(config: &Config, replayer: &dyn CommandReplayer) -> usize {
    let threads = workers::count(config);
    let is_strict = config.accept_divergence.is_none();
    if threads > 1 && is_strict && replayer.another().is_some() { threads } else { 0 }
}

impl<S: Schedule> Threads<S> {
    /// Returns so many threads over what is shared.
    pub(super) fn new(
        threads: usize,
        shared: &Arc<Shared>,
        stamp: &Arc<ReplayedStamp>,
        replayer: &dyn CommandReplayer,
    ) -> Result<Threads<S>, Error> {
        let turns = Turns::new(threads);
        let runner = |index| {
            let replayer = replayer.another().expect("it was asked before");
            let sessions = (Session::new(shared.clone())?, Session::new(shared.clone())?);
            Ok(Runner::new((index, turns.clone()), shared, sessions, replayer, stamp.clone()))
        };
        let runners = (0..threads).map(runner).collect::<Result<Vec<_>, Error>>()?;
        let environment = shared.config.environment.keeping_threads();
        Ok(Threads { runners, shared: shared.clone(), stamp: stamp.clone(), environment })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.runners.len()
    }

    /// Ends their sessions.
    pub(super) fn clear(&mut self) {
        self.runners.clear();
    }

    /// Takes over the keys to be purged that sessions have left.
    pub(super) fn take_orphans(&self) -> Vec<Purge> {
        self.shared.take_orphans()
    }

    /// How long they have had nothing to run so far, all together.
    pub(super) fn waited(&self) -> Duration {
        self.runners.iter().map(|runner| runner.waited).sum()
    }

    /// Runs a window by so many of them, and gives its schedule back.
    pub(super) fn run(&mut self, schedule: S, active: usize) -> Result<S, Stopped> {
        let running = self.begin(schedule, active);
        self.end(running)
    }

    /// Begins to run a window by so many of them.
    pub(super) fn begin(&mut self, schedule: S, active: usize) -> Running<S> {
        debug_assert!(!self.shared.has_orphans(), "keys are purged by those who have their turn");
        self.stamp.begin_at_once(schedule.first_stamp());
        let (schedule, ended) = (Arc::new(schedule), Ended::default());
        let mut runners: Vec<Runner<S>> = self.runners.drain(..active).collect();
        let begin = |(index, runner): (usize, &mut Runner<S>)| runner.begin(&schedule, &ended, (index, active));
        runners.iter_mut().enumerate().for_each(begin);
        Running { threads: workers::begin(&self.environment, runners), active, schedule, ended }
    }

    /// Those that have not begun run the window, too.
    pub(super) fn join_in(&mut self, running: &mut Running<S>) {
        let Running { threads, active, schedule, ended } = running;
        for mut runner in self.runners.drain(..) {
            runner.begin(schedule, ended, (*active, *active + 1));
            *active += 1;
            threads.add(&self.environment, runner);
        }
    }

    /// Waits for the end of a window, and gives its schedule back.
    pub(super) fn end(&mut self, running: Running<S>) -> Result<S, Stopped> {
        let schedule = self.join(running)?;
        Ok(Arc::into_inner(schedule).expect("the threads have ended"))
    }

    /// From now on the database is open while they run transactions.
    pub(super) fn go_on_beside_users(&mut self) {
        self.runners.iter_mut().for_each(Runner::go_on_beside_users);
    }

    /// Waits for the end of a window, and gives back what may be others' as well.
    pub(super) fn join(&mut self, Running { threads, schedule, ended, .. }: Running<S>) -> Result<Arc<S>, Stopped> {
        let ran = threads.end();
        let refusal = lock(&ended).take();
        match (ran, refusal) {
            (Ok(runners), None) => self.runners.extend(runners),
            (Err(error), None) => return Err(error.into()),
            (_, Some(Refusal::Recovery(error))) => return Err(error.into()),
            (_, Some(Refusal::Missing(missing))) => {
                let not_run = schedule.rest().filter(|record| missing.is_run_by(record)).count() as u64;
                return Err(Stopped::Missing { missing, not_run });
            }
            (_, Some(Refusal::Conflict | Refusal::Doubtful)) => unreachable!("what one does alone is told"),
        }
        assert!(schedule.is_over(), "no record of a window is left out");
        self.runners.iter_mut().for_each(Runner::end);
        // Each has the same place in every window, and what is at home there.
        self.runners.sort_unstable_by_key(Runner::index);
        Ok(schedule)
    }
}

/// A window that is being run.
pub(super) struct Running<S: Schedule> {
    threads: workers::Running<Runner<S>>,
    active: usize,
    schedule: Arc<S>,
    ended: Ended,
}

impl<S: Schedule> Running<S> {
    /// Its transactions, and who of them may run.
    pub(super) fn schedule(&self) -> &Arc<S> {
        &self.schedule
    }

    /// Whether nothing is running any more, for whatever reason.
    pub(super) fn is_over(&self) -> bool {
        self.schedule.is_over() || self.threads.has_failed()
    }
}

/// Why a window was not run to its end.
pub(super) enum Stopped {
    Recovery(RecoveryError),
    /// A procedure is missing, which so many transactions of the window need.
    Missing {
        missing: Missing,
        not_run: u64,
    },
}

impl From<RecoveryError> for Stopped {
    fn from(error: RecoveryError) -> Stopped {
        Stopped::Recovery(error)
    }
}
