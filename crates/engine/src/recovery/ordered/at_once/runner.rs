//! One thread that runs transactions of a window.
//!
//! It takes records of its own streams as far as there are any, in their order: those of one stream it need not wait for when
//! it is the only one at them. It takes a few more than it runs, whose memory it asks for. A record that may not run yet is
//! kept until it may; what it waits for is one word. When so many are kept that nothing may run, it takes the first of the
//! order that nobody has taken, for which others may wait.

use std::sync::Arc;

use crossbeam_utils::CachePadded;
use osier_memory::Epochs;
use osier_memory::sync::{Backoff, Mutex, MutexGuard, lock};

use super::super::TRANSACTIONS_PER_EPOCH;
use super::super::acceptance::Acceptance;
use super::super::replayer::CommandReplayer;
use super::super::run::{self, Company, Refusal};
use super::schedule::{Blocked, Schedule};
use crate::error::RecoveryError;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::recovery::workers::Work;
use crate::transaction::shared::Shared;
use crate::transaction::{RowAhead, Session};

/// So many records are kept that may not run yet, ...
const KEPT_MAX: usize = 32;
/// ... and so many that were not looked at yet: their memory is on its way.
const AHEAD: usize = 4;

/// So many transactions are run in one step.
const RUN_PER_STEP: usize = 64;

/// So often a thread yields that finds nothing to run, before it sleeps: others may wait for what it has taken.
const YIELDS: u32 = 2000;

/// So often a transaction is tried that meets one that is run at the same time, by accident; then it waits for a moment at which
/// nobody else runs one, and its conflict is an error.
const TRIES_MAX: u32 = 1000;

/// What ended the window, where it is told once the threads have ended.
pub(super) type Ended = Arc<Mutex<Option<Refusal>>>;

/// One thread.
pub(super) struct Runner {
    taken: Taken,
    executor: Executor,
    /// Asks for memory ahead.
    scout: Session,
    schedule: Option<Arc<Schedule>>,
    backoff: Backoff,
}

/// What runs transactions.
struct Executor {
    index: usize,
    session: Session,
    replayer: Box<dyn CommandReplayer + Send>,
    stamp: Arc<ReplayedStamp>,
    turns: Turns,
    /// Nothing that diverges is accepted.
    acceptance: Acceptance,
    ended: Ended,
    /// What the transactions have replaced is freed as they go on.
    epochs: Arc<Epochs>,
    transactions: u64,
}

/// Who runs a transaction: a thread holds its own lock while it does, which nobody else wants but a thread that takes them all to
/// be alone.
#[derive(Clone)]
pub(super) struct Turns {
    of: Arc<[CachePadded<Mutex<()>>]>,
}

impl Turns {
    /// Those of so many threads.
    pub(super) fn new(threads: usize) -> Turns {
        Turns { of: (0..threads).map(|_| CachePadded::default()).collect() }
    }

    /// Takes the turn of the thread `index`; waits while another one is alone.
    fn take(&self, index: usize) -> MutexGuard<'_, ()> {
        lock(&self.of[index])
    }

    /// Waits until nobody runs a transaction. The caller has no turn.
    fn take_all(&self) -> Vec<MutexGuard<'_, ()>> {
        self.of.iter().map(|turn| lock(turn)).collect()
    }
}

/// The records that a thread has taken and not run.
struct Taken {
    /// Which one it is of so many threads.
    place: (usize, usize),
    /// With what they wait for, if they were looked at.
    kept: Vec<(u32, Option<Blocked>)>,
    /// As it was at the last look.
    rlv: Vec<u64>,
}

impl Taken {
    /// Takes a record out of those that are kept which may run by now.
    fn ready(&mut self, schedule: &Schedule) -> Option<u32> {
        schedule.look(&mut self.rlv);
        for at in 0..self.kept.len() {
            let (record, blocked) = &mut self.kept[at];
            if blocked.is_none_or(|blocked| blocked.is_over(&self.rlv)) {
                *blocked = schedule.blocked(*record, &self.rlv);
                if blocked.is_none() {
                    return Some(self.kept.remove(at).0);
                }
            }
        }
        None
    }

    /// Takes a record that nobody has taken, if there is one that this thread is to take.
    fn next(&mut self, schedule: &Schedule) -> Option<u32> {
        let streams = 0..schedule.streams();
        let ahead = self.kept.iter().filter(|(_, blocked)| blocked.is_none()).count();
        let is_wanted = ahead < AHEAD && self.kept.len() < KEPT_MAX;
        let taken = if is_wanted {
            let (index, threads) = self.place;
            let (own, shared) = (index % streams.end, threads.min(streams.end));
            schedule.take(streams.clone().skip(own).step_by(shared)).or_else(|| schedule.take(streams))
        } else {
            let first = streams.clone().map(|stream| schedule.next(stream)).min()?;
            let is_first = ahead == 0 && self.kept.iter().all(|(kept, _)| schedule.stamp(*kept).0 > first);
            if is_first { schedule.take(streams) } else { None }
        };
        self.kept.extend(taken.map(|record| (record, None)));
        taken
    }
}

impl Runner {
    /// Returns the thread that takes the turn `index`, with sessions of its own.
    pub(super) fn new(
        (index, turns): (usize, Turns),
        shared: &Shared,
        (session, scout): (Session, Session),
        replayer: Box<dyn CommandReplayer + Send>,
        stamp: Arc<ReplayedStamp>,
    ) -> Runner {
        let taken = Taken { kept: Vec::new(), rlv: Vec::new(), place: (0, 1) };
        let (acceptance, ended) = Default::default();
        let epochs = shared.store.epochs().clone();
        let executor = Executor { index, session, replayer, stamp, turns, acceptance, ended, epochs, transactions: 0 };
        Runner { taken, executor, scout, schedule: None, backoff: Backoff::yielding(YIELDS) }
    }

    /// Begins a window, as one of so many threads.
    pub(super) fn begin(&mut self, schedule: &Arc<Schedule>, ended: &Ended, place: (usize, usize)) {
        assert!(self.taken.kept.is_empty(), "every window is run to its end");
        (self.schedule, self.executor.ended) = (Some(schedule.clone()), ended.clone());
        self.taken.rlv = vec![0; schedule.streams()];
        self.taken.place = place;
    }

    /// Ends it.
    pub(super) fn end(&mut self) {
        self.schedule = None;
    }
}

impl Executor {
    /// Runs a record of the window.
    fn run(&mut self, schedule: &Schedule, at: u32) -> Result<(), RecoveryError> {
        let Executor { index, session, replayer, turns, acceptance, .. } = self;
        let record = schedule.record(at);
        self.stamp.set_of(session.stream(), record.stamp);
        let mut backoff = Backoff::new();
        let mut run = |company| run::run(session, &schedule.scan, &record, &mut **replayer, acceptance, company);
        let again = (0..TRIES_MAX).find_map(|_| {
            let turn = turns.take(*index);
            let again = run(Company::Others);
            drop(turn);
            match again {
                Err(Refusal::Conflict) => {
                    backoff.wait();
                    None
                }
                again => Some(again),
            }
        });
        let alone = || {
            let _turns = turns.take_all();
            run(Company::Nobody)
        };
        if let Err(refusal) = again.unwrap_or_else(alone) {
            lock(&self.ended).get_or_insert(refusal);
            return Err(RecoveryError::Thread { what: "a transaction was refused".to_owned() });
        }
        schedule.ran(at);
        self.transactions += 1;
        if self.transactions.is_multiple_of(TRANSACTIONS_PER_EPOCH) {
            self.epochs.advance();
        }
        Ok(())
    }
}

impl Work for Runner {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        let schedule = self.schedule.clone().expect("a window has begun");
        let Runner { taken, executor, scout, backoff, .. } = self;
        let (transaction, mut rows) = (scout.begin(), Vec::new());
        for _ in 0..RUN_PER_STEP {
            while let Some(record) = taken.next(&schedule) {
                if let Some(command) = &schedule.record(record).command {
                    executor.replayer.ask_ahead(&transaction, command, &mut rows);
                }
            }
            rows.retain_mut(RowAhead::advance);
            let Some(record) = taken.ready(&schedule) else {
                if taken.kept.is_empty() {
                    return Ok(false);
                }
                backoff.wait();
                return Ok(true);
            };
            executor.run(&schedule, record)?;
            *backoff = Backoff::yielding(YIELDS);
        }
        Ok(true)
    }
}
