//! Replays, one after the other and in the order of their stamps, the transactions of the first generation that logs commands and
//! of all generations behind it.
//!
//! A command reads: what it does depends on all transactions before it, and on none behind it. So nothing of these generations is
//! replayed when it is read ([`first_pass`](super::first_pass)), and here each transaction is run again as a transaction, by the
//! code that users' transactions run, under the stamp of its record ([`replayed`](crate::log::protocol::replayed)). What logged
//! values among them are put in their place ([`ValuesReplay`]), definitions too.
//!
//! Invariants:
//! - It begins when everything before is replayed and merged, tables are open and their indexes built. The decision what lives is
//!   durable by then: an error here leaves a database that the next open finds as it was.
//! - The order is that of stamps, and of streams where two are equal: transactions without a conflict may share one (O2).
//! - A command does what it did, or recovery fails (O3, [`RecoveryError::Diverged`]): it wrote something, rests on nothing that
//!   came after it, and wrote the same rows, if their hash is in the log.
//! - No setting that limits transactions applies: they were accepted.
//! - Keys of deleted rows are gone at the end, as after the merge of machines.
//! - What a checkpoint covers is in it wholly, and nothing else is: a fuzzy checkpoint of these generations is refused.
//!
//! Absent: the read and the merge of the streams (merge.rs), what runs a procedure ([`CommandReplayer`]), more than one thread.

mod merge;
mod replayer;

use std::path::Path;
use std::sync::Arc;

pub(crate) use replayer::{CommandError, CommandReplayer};

use super::RecoveryPhase;
use super::base::Base;
use super::cut::Verdict;
use super::faults;
use super::generation_scan::GenerationScan;
use super::log_scan::LogScan;
use super::parts;
use super::report::ProgressReporter;
use crate::catalog::Catalog;
use crate::catalog::procedure::VersionKey;
use crate::config::{CheckpointKind, Config, Logged, Protocol};
use crate::directory::manifest;
use crate::error::{DivergedRow, Error, RecoveryError};
use crate::ids::{Epoch, ProcedureId, ProcedureVersion, Stamp};
use crate::log::CommitLog;
use crate::log::format::parts_reader::RecordInParts;
use crate::log::format::payload::PayloadReader;
use crate::log::format::payload::command::{Command, Listed};
use crate::log::format::payload::values::LoggedWrite;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::table::store::Store;
use crate::transaction::replayed::{ReplayedError, ValuesReplay};
use crate::transaction::shared::Shared;
use crate::transaction::written::{Difference, WrittenRow};
use crate::transaction::{Session, Transaction};
use merge::{LiveRecord, Merge};

/// After so many transactions the memory of what they replaced is freed.
const TRANSACTIONS_PER_EPOCH: u64 = 1024;
/// Longer arguments are shortened in messages.
const SHOWN_CHARS: usize = 200;

/// The generations that are replayed in order: what was read of them, and what lives.
pub(crate) struct OrderedLog {
    scan: Arc<LogScan>,
    /// Of all generations.
    verdicts: Vec<Verdict>,
    /// How many transactions live.
    transactions: u64,
}

impl OrderedLog {
    /// Returns what is to be replayed in order of a log that was read, `transactions` in number; `None` where that is none.
    pub(super) fn of(scan: &Arc<LogScan>, verdicts: &[Verdict], transactions: u64) -> Option<OrderedLog> {
        (transactions > 0).then(|| OrderedLog { scan: scan.clone(), verdicts: verdicts.to_vec(), transactions })
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

/// Replays `log` upon the tables of `catalog`, which it returns; `replayer` runs the procedures.
pub(super) fn replay(
    config: &Config,
    store: &Store,
    catalog: Catalog,
    log: &OrderedLog,
    replayer: &mut dyn CommandReplayer,
) -> Result<(Catalog, Replayed), Error> {
    let stamp = Arc::new(ReplayedStamp::default());
    let commit_log = CommitLog::replaying(&stamp);
    let shared = Arc::new(Shared::new(unlimited(config), store.clone(), catalog, commit_log, replayer.registered()));
    let mut session = Session::new(shared.clone())?;
    let mut merge = Merge::new(log.scan.clone(), &log.verdicts);
    let (mut replayed, progress) = (Replayed::default(), ProgressReporter::of(config));
    while let Some(record) = merge.next()? {
        stamp.set(record.stamp);
        let again = run(&mut session, &log.scan, &record, replayer);
        replayed.transactions += 1;
        replayed.commands += u64::from(matches!(record.payload, PayloadReader::Command(_)));
        match again {
            Ok(()) => {}
            Err(Refusal::Recovery(error)) => return Err(error.into()),
            Err(Refusal::Missing { stamp, procedure, name, version }) => {
                let commands = 1 + merge.count_commands(procedure, version)?;
                return Err(RecoveryError::MissingProcedure { stamp, procedure, name, version, commands }.into());
            }
        }
        if replayed.transactions % TRANSACTIONS_PER_EPOCH == 0 {
            store.epochs().advance();
            report(&progress, replayed.transactions, log);
        }
    }
    assert_eq!(replayed.transactions, log.transactions, "the passes over the log find the same transactions");
    report(&progress, replayed.transactions, log);
    // With the stamps of their rows, which nobody needed until now.
    shared.catalog.follow_replay(store)?;
    session.purge_all();
    drop(session);
    store.epochs().advance();
    let shared = Arc::into_inner(shared).expect("the only session has ended");
    Ok((shared.catalog, replayed))
}

fn report(progress: &Option<ProgressReporter>, done: u64, log: &OrderedLog) {
    if let Some(progress) = progress {
        progress.report(RecoveryPhase::Order, done, log.transactions);
    }
}

/// What transactions are run again under: they were accepted under the settings of their time.
fn unlimited(config: &Config) -> Config {
    let mut config = config.clone();
    (config.protocol, config.streams, config.logged) = (Protocol::None, 1, Logged::Values);
    (config.memory_limit, config.transaction_bytes_max, config.transaction_writes_max) = (0, usize::MAX, usize::MAX);
    (config.key_bytes_max, config.row_bytes_max) = (usize::MAX, usize::MAX);
    (config.procedure_steps_max, config.procedure_bytes_max) = (u64::MAX, usize::MAX);
    config
}

/// Why a transaction is not run again.
enum Refusal {
    Recovery(RecoveryError),
    /// There is no such procedure.
    Missing {
        stamp: Stamp,
        procedure: ProcedureId,
        name: Option<String>,
        version: ProcedureVersion,
    },
}

impl From<RecoveryError> for Refusal {
    fn from(error: RecoveryError) -> Refusal {
        Refusal::Recovery(error)
    }
}

/// Runs one transaction again, and commits it.
fn run(
    session: &mut Session,
    scan: &LogScan,
    record: &LiveRecord<'_>,
    replayer: &mut dyn CommandReplayer,
) -> Result<(), Refusal> {
    let LiveRecord { segment, offset, stamp, writes, .. } = *record;
    let transaction = session.begin();
    let unfit = |error: Error| RecoveryError::Unfit { stamp, what: error.to_string() };
    match &record.payload {
        PayloadReader::Command(command) => {
            return run_command(transaction, (stamp, record.epoch), &command.command(), replayer);
        }
        PayloadReader::Values(logged) => {
            let feed = |each: &mut dyn FnMut(LoggedWrite<'_>)| {
                logged.clone().for_each(each);
                Ok(())
            };
            put_values(&transaction, stamp, feed)?;
        }
        PayloadReader::Physiological(images) => {
            let feed = |each: &mut dyn FnMut(LoggedWrite<'_>)| {
                images.clone().writes().for_each(each);
                Ok(())
            };
            put_values(&transaction, stamp, feed)?;
        }
        PayloadReader::InParts(named) => {
            let record = RecordInParts { offset, stamp, writes, named: *named };
            let feed = |each: &mut dyn FnMut(LoggedWrite<'_>)| parts::for_each_write(scan, segment, &record, each);
            put_values(&transaction, stamp, feed)?;
        }
    }
    transaction.commit().map_err(unfit)?;
    Ok(())
}

/// Makes the writes again that `feed` gives.
fn put_values(
    transaction: &Transaction<'_>,
    stamp: Stamp,
    feed: impl Fn(&mut dyn FnMut(LoggedWrite<'_>)) -> Result<(), RecoveryError>,
) -> Result<(), RecoveryError> {
    let refused = |error| match error {
        ReplayedError::MissingVersion { table, key, base } => RecoveryError::MissingVersion { table, key, base, stamp },
        ReplayedError::Failed(error) => RecoveryError::Unfit { stamp, what: error.to_string() },
    };
    let mut replay = ValuesReplay::new(transaction);
    for step in [ValuesReplay::define, ValuesReplay::write] {
        let mut made = Ok(());
        feed(&mut |write| {
            if made.is_ok() {
                made = step(&mut replay, &write);
            }
        })?;
        made.map_err(refused)?;
    }
    replay.end().map_err(refused)
}

/// Runs a command again, compares what it wrote, and commits it.
fn run_command(
    transaction: Transaction<'_>,
    (stamp, epoch): (Stamp, Epoch),
    command: &Command<'_>,
    replayer: &mut dyn CommandReplayer,
) -> Result<(), Refusal> {
    let Command { procedure, version, .. } = *command;
    let name_in = |transaction: &Transaction<'_>| {
        let definition = transaction.procedure_version(VersionKey { id: procedure, version });
        definition.ok().flatten().map(|of| of.name)
    };
    let diverged = |name, Difference { what, row }: Difference| {
        let arguments = shortened(Listed(&command.arguments).to_string());
        let row = row.map(|row| DivergedRow::of(&row)).map(Box::new);
        Refusal::from(RecoveryError::Diverged { stamp, epoch, procedure, name, version, arguments, what, row })
    };
    let refused = |what: &str| Err(diverged(name_in(&transaction), Difference::new(what)));
    match replayer.replay(&transaction, command) {
        Ok(()) => {}
        Err(CommandError::Missing) => {
            let name = name_in(&transaction);
            return Err(Refusal::Missing { stamp, procedure, name, version });
        }
        Err(CommandError::Diverged(what)) => return refused(&what),
        Err(CommandError::Failed(error)) => return refused(&format!("it failed: {error}")),
    }
    if transaction.has_defined() {
        return refused("it changed definitions, which no command does");
    }
    if !transaction.has_written() {
        return refused("it wrote nothing, and had written something");
    }
    let difference = command.hash.as_ref().and_then(|hash| transaction.difference(hash));
    if let Some(difference) = faults::difference(difference) {
        return Err(diverged(name_in(&transaction), difference));
    }
    transaction.commit().map_err(|error| diverged(None, Difference::new(error.to_string())))?;
    Ok(())
}

impl DivergedRow {
    fn of(row: &WrittenRow) -> DivergedRow {
        let (table, key) = (row.table.name().to_owned(), row.table.keys.describe(&row.key));
        DivergedRow { table, key, now: row.after.as_deref().map(|after| row.table.rows.describe(after)) }
    }
}

/// Cuts a text that is too long for a message.
fn shortened(text: String) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
