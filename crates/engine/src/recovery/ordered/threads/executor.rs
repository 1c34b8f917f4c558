//! Runs transactions of a window for one thread.
//!
//! Transactions that run at the same time do not depend on each other. Still they may meet, as two do that change the same
//! leaf of an index: then one of them runs once more. What differs from before is run once more, too, while nobody else runs one:
//! only that is believed.

use std::sync::Arc;

use crossbeam_utils::CachePadded;
use osier_memory::Epochs;
use osier_memory::sync::{Backoff, Mutex, MutexGuard, lock};

use super::super::TRANSACTIONS_PER_EPOCH;
use super::super::acceptance::Acceptance;
use super::super::merge::LiveRecord;
use super::super::replayer::CommandReplayer;
use super::super::run::{self, Company, Refusal};
use crate::error::RecoveryError;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::recovery::log_scan::LogScan;
use crate::transaction::Session;

/// So often a transaction is tried that meets one that is run at the same time, by accident; then it waits for a moment at which
/// nobody else runs one, and its conflict is an error.
const TRIES_MAX: u32 = 1000;

/// What ended the window, where it is told once the threads have ended.
pub(super) type Ended = Arc<Mutex<Option<Refusal>>>;

/// What runs transactions.
pub(super) struct Executor {
    pub(super) index: usize,
    pub(super) session: Session,
    pub(super) replayer: Box<dyn CommandReplayer + Send>,
    pub(super) stamp: Arc<ReplayedStamp>,
    pub(super) turns: Turns,
    /// Nothing that diverges is accepted.
    pub(super) acceptance: Acceptance,
    pub(super) ended: Ended,
    /// What the transactions have replaced is freed as they go on; where the database is open, with its own epochs.
    pub(super) epochs: Option<Arc<Epochs>>,
    pub(super) transactions: u64,
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

impl Executor {
    /// Runs a record of the window; `false`: users of the database were in its way, and it is to be tried again.
    pub(super) fn run(&mut self, scan: &LogScan, record: &LiveRecord<'_>) -> Result<bool, RecoveryError> {
        let alone = if self.epochs.is_some() { Company::Nobody } else { Company::Users };
        let Executor { index, session, replayer, turns, acceptance, .. } = self;
        self.stamp.set_of(session.stream(), record.stamp);
        let mut backoff = Backoff::new();
        let mut run = |company| run::run(session, scan, record, &mut **replayer, acceptance, company);
        let beside = (0..TRIES_MAX).find_map(|_| {
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
        let again = match beside {
            None | Some(Err(Refusal::Doubtful)) => {
                let _turns = turns.take_all();
                run(alone)
            }
            Some(again) => again,
        };
        if matches!(again, Err(Refusal::Conflict)) {
            return Ok(false);
        }
        if let Err(refusal) = again {
            lock(&self.ended).get_or_insert(refusal);
            return Err(RecoveryError::Thread { what: "a transaction was refused".to_owned() });
        }
        self.transactions += 1;
        if self.transactions.is_multiple_of(TRANSACTIONS_PER_EPOCH)
            && let Some(epochs) = &self.epochs
        {
            epochs.advance();
        }
        Ok(true)
    }
}
