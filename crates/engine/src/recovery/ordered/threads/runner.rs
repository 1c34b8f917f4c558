//! One thread that runs transactions of a window. It takes a few more than it runs, whose memory it asks for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use osier_memory::sync::Backoff;

use super::Schedule;
use super::executor::{Ended, Executor, Turns};
use crate::error::RecoveryError;
use crate::io::Clock;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::recovery::ordered::replayer::CommandReplayer;
use crate::recovery::workers::Work;
use crate::sizes::at_once_per_step;
use crate::transaction::shared::Shared;
use crate::transaction::{RowAhead, Session};

/// So often a thread yields that finds nothing to run, before it sleeps: others may wait for what it has taken.
const YIELDS: u32 = 2000;

/// One thread.
pub(super) struct Runner<S: Schedule> {
    /// Of a window that has begun.
    window: Option<(Arc<S>, S::Taken)>,
    executor: Executor,
    /// Asks for memory ahead.
    scout: Session,
    /// One that is to be tried again.
    again: Option<u32>,
    backoff: Backoff,
    clock: Arc<dyn Clock>,
    /// Since when there is nothing to run.
    idle_since: Option<Duration>,
    /// How long there was nothing to run.
    pub(super) waited: Duration,
}

impl<S: Schedule> Runner<S> {
    /// Returns the thread that takes the turn `index`, with sessions of its own.
    pub(super) fn new(
        (index, turns): (usize, Turns),
        shared: &Shared,
        (session, scout): (Session, Session),
        replayer: Box<dyn CommandReplayer + Send>,
        stamp: Arc<ReplayedStamp>,
    ) -> Runner<S> {
        let (acceptance, ended) = Default::default();
        let epochs = Some(shared.store.epochs().clone());
        let executor = Executor { index, session, replayer, stamp, turns, acceptance, ended, epochs, transactions: 0 };
        let (backoff, clock) = (Backoff::yielding(YIELDS), shared.config.environment.clock.clone());
        let (window, again, idle_since) = (None, None, None);
        Runner { window, executor, scout, again, backoff, clock, idle_since, waited: Duration::ZERO }
    }

    /// Which of all threads it is.
    pub(super) fn index(&self) -> usize {
        self.executor.index
    }

    /// From now on the database is open meanwhile.
    pub(super) fn go_on_beside_users(&mut self) {
        self.executor.epochs = None;
    }

    /// Begins a window, as one of so many threads.
    pub(super) fn begin(&mut self, schedule: &Arc<S>, ended: &Ended, place: (usize, usize)) {
        assert!(self.window.is_none(), "every window is run to its end");
        self.window = Some((schedule.clone(), schedule.begin(place)));
        self.executor.ended = ended.clone();
        self.executor.replayer.set_unordered(&schedule.unordered());
    }

    /// Ends it.
    pub(super) fn end(&mut self) {
        self.window = None;
    }
}

impl<S: Schedule> Work for Runner<S> {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        let Runner { window, executor, scout, again, backoff, clock, idle_since, waited } = self;
        let (schedule, taken) = window.as_mut().expect("a window has begun");
        let (transaction, mut rows) = (scout.begin(), Vec::new());
        // Those that were asked for in this step, read already.
        let mut asked = VecDeque::new();
        for _ in 0..at_once_per_step() {
            while again.is_none()
                && let Some(at) = schedule.take(taken)
            {
                let record = schedule.record(at);
                if let Some(command) = &record.command {
                    executor.replayer.ask_ahead(&transaction, command, &mut rows);
                }
                asked.push_back((at, record));
            }
            rows.retain_mut(RowAhead::advance);
            let retried = again.take();
            let next = retried.or_else(|| schedule.ready(taken));
            let is_over = next.is_none() && schedule.is_over_for(taken);
            if (next.is_some() || is_over)
                && let Some(since) = idle_since.take()
            {
                *waited += clock.now().saturating_sub(since);
            }
            let Some(at) = next else {
                if !is_over {
                    idle_since.get_or_insert_with(|| clock.now());
                    backoff.wait();
                }
                return Ok(!is_over);
            };
            let asked = asked.iter().position(|(of, _)| *of == at).and_then(|place| asked.remove(place));
            let record = asked.map_or_else(|| schedule.record(at), |(_, record)| record);
            if !executor.run(schedule.scan(), &record)? {
                *again = Some(at);
                if retried.is_none() {
                    schedule.set_crowded(true);
                }
                backoff.wait();
                return Ok(true);
            }
            if retried.is_some() {
                schedule.set_crowded(false);
            }
            schedule.ran(taken, at);
            *backoff = Backoff::yielding(YIELDS);
        }
        Ok(true)
    }
}
