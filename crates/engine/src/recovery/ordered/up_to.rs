//! Replays transactions up to one, and shows what that one does: for people.
//!
//! Invariants:
//! - Transactions before it run as in a recovery, and end it where they would end that.
//! - Nothing is written, and nothing of it outlives the call.

use std::fmt;
use std::sync::Arc;

use super::acceptance::Acceptance;
use super::merge::{LiveRecord, Merge};
use super::replayer::{CommandError, CommandReplayer};
use super::run::{self, Company, Missing, Refusal};
use super::{OrderedLog, shared};
use crate::call::{Trace, TracedStep};
use crate::catalog::Catalog;
use crate::config::{Config, Protocol};
use crate::error::{Error, RecoveryError};
use crate::ids::{Epoch, Generation, Stamp};
use crate::log::format::payload::command::Command;
use crate::log::format::payload::delta::Delta;
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::recovery::names::Names;
use crate::table::store::Store;
use crate::transaction::Session;
use crate::transaction::written::WrittenRow;

/// Which transaction is to be shown, and how.
#[derive(Clone, Copy)]
pub(in crate::recovery) struct Wanted<'n> {
    pub(in crate::recovery) stamp: Stamp,
    /// Of its log.
    pub(in crate::recovery) generation: Generation,
    pub(in crate::recovery) protocol: Protocol,
    /// Whether each statement is shown.
    pub(in crate::recovery) is_traced: bool,
    pub(in crate::recovery) names: &'n Names,
}

/// A transaction of a log that was run again, and not committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayedTransaction {
    /// Its stamp.
    pub stamp: Stamp,
    /// Its epoch.
    pub epoch: Epoch,
    /// The generation of its log.
    pub generation: Generation,
    /// The protocol that wrote it.
    pub protocol: Protocol,
    /// How it was called; `None`: the log holds the rows that it wrote.
    pub call: Option<String>,
    /// What its statements did, if that was asked for and it is a declared procedure.
    pub steps: Vec<TracedStep>,
    /// The rows that it wrote.
    pub rows: Vec<RowChange>,
    /// Whether it does what it did; of rows that were logged there is nothing to compare.
    pub is_same: bool,
    /// What became of it, in words.
    pub outcome: String,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowChange {
    /// The row: its key and its table.
    pub row: String,
    /// What it held before; `None`: that is not known.
    pub before: Option<String>,
    /// What it holds behind the transaction.
    pub after: String,
}

impl RowChange {
    fn of(row: &WrittenRow) -> RowChange {
        let (before, after) = (row.shown(row.before.as_deref()), row.shown(row.after.as_deref()));
        RowChange { row: row.shown_key(), before: Some(before), after }
    }

    /// What the log alone says of it.
    fn logged(write: &LoggedWrite<'_>, names: &Names) -> RowChange {
        let table = names.table(write.table);
        let row = match table {
            Some(table) => format!("{} of table `{}`", table.keys.describe(write.key), table.name),
            None => format!("{:02x?} of table {}", write.key, write.table.0),
        };
        let after = match (write.change, table) {
            (Change::Put(row), Some(table)) => table.row(row),
            (Change::Put(row), None) => format!("{} bytes", row.len()),
            (Change::Delete, _) => "nothing".to_owned(),
            (Change::Delta(Delta { base, body }), _) => {
                format!("what {} bytes of the log change in its version of transaction {base}", body.len())
            }
        };
        RowChange { row, before: None, after }
    }
}

impl fmt::Display for ReplayedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReplayedTransaction { stamp, epoch, generation, protocol, .. } = self;
        writeln!(f, "transaction {stamp} of epoch {epoch}, generation {generation}, protocol {protocol}")?;
        if let Some(call) = &self.call {
            writeln!(f, "  call     {call}")?;
        }
        for step in &self.steps {
            writeln!(f, "  step     {}", step.to_string().replace('\n', "\n           "))?;
        }
        for RowChange { row, before, after } in &self.rows {
            writeln!(f, "  wrote    {row}")?;
            if let Some(before) = before {
                writeln!(f, "             before {before}")?;
            }
            writeln!(f, "             after  {after}")?;
        }
        write!(f, "  outcome  {}", self.outcome)
    }
}

/// Replays `log` upon the tables of `catalog` up to a transaction, and returns what that does. Without conflict two may have its
/// stamp: both are shown. `None`: none that lives has it.
pub(in crate::recovery) fn replay_up_to(
    config: &Config,
    store: &Store,
    catalog: Catalog,
    log: &OrderedLog,
    replayer: &mut dyn CommandReplayer,
    wanted: Wanted<'_>,
) -> Result<Vec<ReplayedTransaction>, Error> {
    let (stamp, shared) = shared(config, store, catalog, replayer, 0);
    let mut session = Session::new(Arc::clone(&shared))?;
    let mut merge = Merge::new(log.scan.clone(), log.verdicts.clone());
    let mut acceptance = Acceptance::new(config.accept_divergence);
    let (mut shown, mut transactions) = (Vec::new(), 0);
    while let Some(record) = merge.next()? {
        if record.stamp > wanted.stamp {
            break;
        }
        stamp.set(record.stamp);
        let ran = match record.stamp == wanted.stamp {
            false => run::run(&mut session, &log.scan, &record, replayer, &mut acceptance, Company::Nobody),
            true => show(&mut session, log, &record, replayer, &acceptance, wanted).map(|one| shown.push(one)),
        };
        ran.map_err(|refusal| match refusal {
            Refusal::Recovery(error) => error,
            Refusal::Conflict | Refusal::Doubtful => unreachable!("nobody else runs transactions"),
            Refusal::Missing(missing) => missing.into_error(1),
        })?;
        transactions += 1;
        if transactions % super::TRANSACTIONS_PER_EPOCH == 0 {
            store.epochs().advance();
        }
    }
    Ok(shown)
}

/// Runs one transaction again, and shows what it did.
fn show(
    session: &mut Session,
    log: &OrderedLog,
    record: &LiveRecord<'_>,
    replayer: &mut dyn CommandReplayer,
    acceptance: &Acceptance,
    wanted: Wanted<'_>,
) -> Result<ReplayedTransaction, Refusal> {
    let transaction = session.begin();
    let mut shown = bare(record, wanted);
    match &record.command {
        Some(command) => {
            let mut trace = Trace::default();
            let ran = match wanted.is_traced {
                true => replayer.replay_traced(&transaction, command, &mut trace),
                false => replayer.replay(&transaction, command),
            };
            if let Err(CommandError::Missing) = ran {
                let Command { procedure, version, .. } = *command;
                let name = run::name_of(&transaction, command);
                return Err(Refusal::Missing(Missing { stamp: record.stamp, procedure, name, version }));
            }
            shown.steps = trace.into_steps();
            let difference = run::difference(&transaction, command, ran);
            let counts = difference.as_ref().is_none_or(|(_, counts)| *counts);
            if counts {
                shown.rows = transaction.written_rows().iter().map(RowChange::of).collect();
            }
            shown.is_same = difference.is_none();
            shown.outcome = match (difference, &command.hash) {
                (Some((what, _)), _) => format!("it does something else than before: {what}"),
                (None, Some(hash)) => format!("it does what it did, by the {hash}"),
                (None, None) => "it runs to its end; the log has no hash of what it wrote to compare".to_owned(),
            };
            if !counts {
                return Ok(shown);
            }
        }
        None => {
            run::put_record(&transaction, &log.scan, record, acceptance)?;
            shown.rows = transaction.written_rows().iter().map(RowChange::of).collect();
            shown.outcome = "its rows are in the log, and were put in their place".to_owned();
        }
    }
    // For another one of the same stamp.
    match transaction.commit() {
        Ok(_) => {}
        Err(error) => {
            shown.is_same = false;
            shown.outcome = format!("{}; it cannot be committed there: {error}", shown.outcome);
        }
    }
    Ok(shown)
}

/// Returns what the log alone says of a transaction with a stamp, of a protocol whose stamps order no reads.
pub(in crate::recovery) fn look_at(
    log: &OrderedLog,
    wanted: Wanted<'_>,
) -> Result<Vec<ReplayedTransaction>, RecoveryError> {
    let mut merge = Merge::new(log.scan.clone(), log.verdicts.clone());
    let mut shown = Vec::new();
    while let Some(record) = merge.next()? {
        if record.stamp > wanted.stamp {
            break;
        }
        if record.stamp < wanted.stamp {
            continue;
        }
        let mut one = bare(&record, wanted);
        run::for_each_write(&log.scan, &record, &mut |write| one.rows.push(RowChange::logged(&write, wanted.names)))?;
        one.outcome = format!(
            "its rows are in the log; what was there before is not shown: stamps of protocol {} order no read before the write \
             that follows it, so that there is no state just before a transaction. Protocols serial, gsn and taurus have one",
            wanted.protocol
        );
        shown.push(one);
    }
    Ok(shown)
}

/// What is known of a transaction before it runs.
fn bare(record: &LiveRecord<'_>, wanted: Wanted<'_>) -> ReplayedTransaction {
    ReplayedTransaction {
        stamp: record.stamp,
        epoch: record.epoch,
        generation: wanted.generation,
        protocol: wanted.protocol,
        call: record.command.as_ref().map(|command| wanted.names.call(command)),
        steps: Vec::new(),
        rows: Vec::new(),
        is_same: true,
        outcome: String::new(),
    }
}
