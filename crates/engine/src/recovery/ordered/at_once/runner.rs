//! One thread that runs transactions of a window.
//!
//! It takes records of its own streams as far as there are any, in their order: those of one stream it need not wait for when it
//! is the only one at them. A record that may not run yet is kept until it may; what it waits for is one word. When so many are
//! kept that nothing may run, it takes the first of the order that nobody has taken, for which others may wait.

use std::sync::Arc;

use osier_memory::sync::{Backoff, Mutex, lock};

use super::super::acceptance::Acceptance;
use super::super::replayer::CommandReplayer;
use super::super::run::{self, Refusal};
use super::schedule::{Blocked, Schedule};
use crate::error::RecoveryError;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::recovery::workers::Work;
use crate::transaction::Session;

/// So many records are kept that may not run yet.
const KEPT_MAX: usize = 32;

/// What a transaction that is run beside others is tried, when it meets one by accident.
const TRIES_MAX: u32 = 10_000;

/// What ended the window, where it is told once the threads have ended.
pub(super) type Ended = Arc<Mutex<Option<Refusal>>>;

/// One thread.
pub(super) struct Runner {
    index: usize,
    threads: usize,
    session: Session,
    replayer: Box<dyn CommandReplayer + Send>,
    stamp: Arc<ReplayedStamp>,
    /// Nothing that diverges is accepted.
    acceptance: Acceptance,
    schedule: Option<Arc<Schedule>>,
    ended: Ended,
    kept: Vec<(u32, Blocked)>,
    rlv: Vec<u64>,
    backoff: Backoff,
}

impl Runner {
    /// Returns the thread `index` of so many, with a session of its own.
    pub(super) fn new(
        (index, threads): (usize, usize),
        session: Session,
        replayer: Box<dyn CommandReplayer + Send>,
        stamp: Arc<ReplayedStamp>,
    ) -> Runner {
        let (acceptance, ended, kept, rlv, backoff) = Default::default();
        Runner { index, threads, session, replayer, stamp, acceptance, schedule: None, ended, kept, rlv, backoff }
    }

    /// Begins a window.
    pub(super) fn begin(&mut self, schedule: &Arc<Schedule>, ended: &Ended) {
        assert!(self.kept.is_empty(), "every window is run to its end");
        (self.schedule, self.ended) = (Some(schedule.clone()), ended.clone());
        self.rlv.clear();
        self.rlv.resize(schedule.streams(), 0);
        schedule.look(&mut self.rlv);
    }

    /// Ends it.
    pub(super) fn end(&mut self) {
        self.schedule = None;
    }

    /// Takes a record out of those that are kept which may run by now.
    fn take_kept(&mut self, schedule: &Schedule) -> Option<u32> {
        if self.kept.is_empty() {
            return None;
        }
        schedule.look(&mut self.rlv);
        let mut at = 0;
        while let Some((record, blocked)) = self.kept.get_mut(at) {
            if blocked.is_over(&self.rlv) {
                match schedule.blocked(*record, &self.rlv) {
                    None => return Some(self.kept.remove(at).0),
                    Some(next) => *blocked = next,
                }
            }
            at += 1;
        }
        None
    }

    /// Takes a record that nobody has taken, if there is one that this thread is to take.
    fn take_next(&mut self, schedule: &Schedule) -> Option<u32> {
        let streams = 0..schedule.streams();
        if self.kept.len() < KEPT_MAX {
            let (own, shared) = (self.index % streams.end, self.threads.min(streams.end));
            return schedule.take(streams.clone().skip(own).step_by(shared)).or_else(|| schedule.take(streams));
        }
        let first = streams.clone().map(|stream| schedule.next(stream)).min()?;
        let is_first = self.kept.iter().all(|(kept, _)| schedule.stamp(*kept).0 > first);
        if is_first { schedule.take(streams) } else { None }
    }

    fn run(&mut self, schedule: &Schedule, at: u32) -> Result<(), RecoveryError> {
        let record = schedule.record(at);
        self.stamp.set_of(self.session.stream(), record.stamp);
        for _ in 0..TRIES_MAX {
            let again = run::run(&mut self.session, &schedule.scan, &record, &mut *self.replayer, &mut self.acceptance);
            match again {
                Ok(()) => {
                    schedule.ran(at);
                    self.backoff = Backoff::new();
                    return Ok(());
                }
                Err(Refusal::Conflict) => self.backoff.wait(),
                Err(refusal) => {
                    lock(&self.ended).get_or_insert(refusal);
                    return Err(RecoveryError::Thread { what: "a transaction was refused".to_owned() });
                }
            }
        }
        let what = "it meets others that are run at the same time, again and again".to_owned();
        Err(RecoveryError::Unfit { stamp: record.stamp, what })
    }
}

impl Work for Runner {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        let schedule = self.schedule.clone().expect("a window has begun");
        if let Some(record) = self.take_kept(&schedule) {
            self.run(&schedule, record)?;
            return Ok(true);
        }
        if let Some(record) = self.take_next(&schedule) {
            match schedule.blocked(record, &self.rlv) {
                None => self.run(&schedule, record)?,
                Some(blocked) => self.kept.push((record, blocked)),
            }
            return Ok(true);
        }
        if self.kept.is_empty() {
            return Ok(false);
        }
        self.backoff.wait();
        Ok(true)
    }
}
