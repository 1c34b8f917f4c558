//! Replays, one after the other and in the order of their stamps, the transactions of the first generation that logs commands and
//! of all generations behind it.
//!
//! A command reads: what it does depends on all transactions before it, and on none behind it. So nothing of these generations is
//! replayed when it is read ([`first_pass`](super::first_pass)), and here each transaction is run again as a transaction, by the
//! code that users' transactions run, under the stamp of its record ([`replayed`](crate::log::protocol::replayed)). What logged
//! values among them are put in their place (transaction/replayed.rs), definitions too.
//!
//! Invariants:
//! - It begins when everything before is replayed and merged, tables are open and their indexes built. The decision what lives is
//!   durable by then: an error here leaves a database that the next open finds as it was.
//! - The order is that of stamps, and of streams where two are equal: transactions without a conflict may share one (O2).
//! - A command does what it did, or recovery fails (O3, [`RecoveryError::Diverged`]): it wrote something, rests on nothing that
//!   came after it, and wrote the same rows, if their hash is in the log. Recovery goes on only where whoever opens the database
//!   has accepted that ([`Acceptance`]); what cannot be found at all is accepted by nobody.
//! - No setting that limits transactions applies: they were accepted.
//! - Keys of deleted rows are gone at the end, as after the merge of machines.
//! - What a checkpoint covers is in it wholly, and nothing else is: a fuzzy checkpoint of these generations is refused.
//!
//! Absent: the read and the merge of the streams (merge.rs), in a thread of its own (feeder.rs); the look ahead (ahead.rs); one
//! transaction (run.rs); what runs a procedure ([`CommandReplayer`]); more than one thread that runs them.

mod acceptance;
mod ahead;
mod feeder;
mod merge;
mod replayer;
mod run;
mod up_to;

use std::path::Path;
use std::sync::Arc;

pub(super) use acceptance::Acceptance;
pub(crate) use replayer::{CommandError, CommandReplayer};
pub use up_to::{ReplayedTransaction, RowChange};
pub(super) use up_to::{Wanted, look_at, replay_up_to};

use super::RecoveryPhase;
use super::base::Base;
use super::cut::Verdict;
use super::faults;
use super::generation_scan::GenerationScan;
use super::log_scan::LogScan;
use super::report::ProgressReporter;
use crate::catalog::Catalog;
use crate::config::{CheckpointKind, ConcurrencyControlKind, Config, Logged, Protocol};
use crate::directory::manifest;
use crate::error::{Error, RecoveryError};
use crate::ids::{ProcedureId, ProcedureVersion};
use crate::log::CommitLog;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::table::store::Store;
use crate::transaction::Session;
use crate::transaction::shared::Shared;
use ahead::Ahead;
use feeder::Feeder;
use merge::{LiveRecord, Merge};
use run::Refusal;

/// After so many transactions the memory of what they replaced is freed.
const TRANSACTIONS_PER_EPOCH: u64 = 1024;

/// The generations that are replayed in order: what was read of them, and what lives.
pub(crate) struct OrderedLog {
    scan: Arc<LogScan>,
    /// Of all generations.
    verdicts: Arc<[Verdict]>,
    /// How many transactions live.
    transactions: u64,
}

impl OrderedLog {
    /// Returns what is to be replayed in order of a log that was read, `transactions` in number; `None` where that is none.
    pub(super) fn of(scan: &Arc<LogScan>, verdicts: &[Verdict], transactions: u64) -> Option<OrderedLog> {
        (transactions > 0).then(|| OrderedLog { scan: scan.clone(), verdicts: verdicts.into(), transactions })
    }
}

/// Refuses a base upon which no command can be run again: a fuzzy checkpoint that may hold what came after a transaction that it
/// does not hold.
pub(super) fn expect_base(base: &Base, generations: &[GenerationScan], home: &Path) -> Result<(), RecoveryError> {
    let first = generations.iter().find(|generation| generation.layout.logged == Logged::Commands);
    let fuzzy = base.checkpoint.as_ref().filter(|checkpoint| checkpoint.kind == CheckpointKind::Fuzzy);
    match (first, fuzzy) {
        (Some(first), Some(fuzzy)) if faults::is_no_base(fuzzy.max_seen > first.layout.floor) => {
            Err(RecoveryError::Contradiction {
                path: home.join(manifest::FILE_NAME),
                what: format!(
                    "checkpoint {} is fuzzy, and generation {}, which it does not hold wholly, logs commands",
                    fuzzy.number, first.layout.generation
                ),
            })
        }
        _ => Ok(()),
    }
}

/// How many transactions were replayed in order, and how many of them are commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Replayed {
    pub(super) transactions: u64,
    pub(super) commands: u64,
}

/// Replays `log` upon the tables of `catalog`, which it returns; `replayer` runs the procedures. `acceptance` says what becomes
/// of those that do something else, and is told.
pub(super) fn replay(
    config: &Config,
    store: &Store,
    catalog: Catalog,
    log: &OrderedLog,
    replayer: &mut dyn CommandReplayer,
    acceptance: &mut Acceptance,
) -> Result<(Catalog, Replayed), Error> {
    let (stamp, shared) = shared(config, store, catalog, replayer);
    let (mut session, mut scout) = (Session::new(shared.clone())?, Session::new(shared.clone())?);
    let feeder = Feeder::new(config, Merge::new(log.scan.clone(), log.verdicts.clone()));
    let (mut replayed, progress) = (Replayed::default(), ProgressReporter::of(config));
    let mut done = None;
    while let Some(batch) = feeder.next(done.take())? {
        let transaction = scout.begin();
        let mut coming = Ahead::new(&transaction, batch.records(&log.scan));
        while let Some(record) = coming.next(replayer) {
            stamp.set(record.stamp);
            let again = run::run(&mut session, &log.scan, &record, replayer, acceptance);
            replayed.transactions += 1;
            replayed.commands += u64::from(record.command.is_some());
            match again {
                Ok(()) => {}
                Err(Refusal::Recovery(error)) => return Err(error.into()),
                Err(Refusal::Missing { stamp, procedure, name, version }) => {
                    let commands = 1 + count(log, &feeder, coming.rest(), (procedure, version))?;
                    return Err(RecoveryError::MissingProcedure { stamp, procedure, name, version, commands }.into());
                }
            }
            if replayed.transactions % TRANSACTIONS_PER_EPOCH == 0 {
                store.epochs().advance();
                report(&progress, replayed.transactions, log);
            }
        }
        drop(coming);
        drop(transaction);
        done = Some(batch);
    }
    assert_eq!(replayed.transactions, log.transactions, "the passes over the log find the same transactions");
    report(&progress, replayed.transactions, log);
    // With the stamps of their rows, which nobody needed until now.
    shared.catalog.follow_replay(store)?;
    session.purge_all();
    drop((session, scout));
    store.epochs().advance();
    let shared = Arc::into_inner(shared).expect("the only sessions have ended");
    Ok((shared.catalog, replayed))
}

/// Counts the records to come that run a version of a procedure: the rest of a batch and all batches behind it.
fn count<'b>(
    log: &OrderedLog,
    feeder: &Feeder,
    rest: impl Iterator<Item = LiveRecord<'b>>,
    version: (ProcedureId, ProcedureVersion),
) -> Result<u64, RecoveryError> {
    let runs = |record: &LiveRecord<'_>| {
        record.command.as_ref().is_some_and(|command| (command.procedure, command.version) == version)
    };
    let mut count = rest.filter(runs).count();
    while let Some(batch) = feeder.next(None)? {
        count += batch.records(&log.scan).filter(runs).count();
    }
    Ok(count as u64)
}

/// What transactions that are run again share, and the stamp of the present one.
fn shared(
    config: &Config,
    store: &Store,
    catalog: Catalog,
    replayer: &dyn CommandReplayer,
) -> (Arc<ReplayedStamp>, Arc<Shared>) {
    let stamp = Arc::new(ReplayedStamp::default());
    let log = CommitLog::replaying(&stamp);
    let shared = Shared::new(unlimited(config), store.clone(), catalog, log, replayer.registered());
    (stamp, Arc::new(shared))
}

fn report(progress: &Option<ProgressReporter>, done: u64, log: &OrderedLog) {
    if let Some(progress) = progress {
        progress.report(RecoveryPhase::Order, done, log.transactions);
    }
}

/// What transactions are run again under: they were accepted under the settings of their time.
fn unlimited(config: &Config) -> Config {
    let mut config = config.clone();
    config.concurrency_control = ConcurrencyControlKind::Optimistic;
    (config.protocol, config.streams, config.logged) = (Protocol::None, 1, Logged::Values);
    (config.memory_limit, config.transaction_bytes_max, config.transaction_writes_max) = (0, usize::MAX, usize::MAX);
    (config.key_bytes_max, config.row_bytes_max) = (usize::MAX, usize::MAX);
    (config.procedure_steps_max, config.procedure_bytes_max) = (u64::MAX, usize::MAX);
    // One runs transactions, one asks ahead.
    config.sessions_max = config.sessions_max.max(2);
    config
}
