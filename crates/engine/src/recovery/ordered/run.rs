//! Runs one transaction of the log again, and commits it.
//!
//! Invariants:
//! - A command does what it did (O3), or what is different is accepted ([`Acceptance`]), or recovery fails.
//! - Of a command that fails, or whose commit is refused, nothing takes effect.
//!
//! Absent: the order of transactions (mod.rs), what runs a procedure ([`CommandReplayer`]).

use super::acceptance::Acceptance;
use super::merge::LiveRecord;
use super::replayer::{CommandError, CommandReplayer};
use crate::catalog::procedure::VersionKey;
use crate::error::{DivergedRow, Error, LogError, RecoveryError};
use crate::ids::{Epoch, ProcedureId, ProcedureVersion, Stamp};
use crate::log::format::parts_reader::RecordInParts;
use crate::log::format::payload::PayloadReader;
use crate::log::format::payload::command::{Command, Listed};
use crate::log::format::payload::values::LoggedWrite;
use crate::recovery::faults;
use crate::recovery::log_scan::LogScan;
use crate::recovery::parts;
use crate::transaction::replayed::{ReplayedError, ValuesReplay};
use crate::transaction::written::{Difference, WrittenRow};
use crate::transaction::{Session, Transaction};

/// Longer arguments are shortened in messages.
const SHOWN_CHARS: usize = 200;

/// Why a transaction is not run again.
pub(super) enum Refusal {
    Recovery(RecoveryError),
    /// It met another one that is run [beside](Company::Others) it, by accident: neither depends on the other.
    Conflict,
    /// It did something else than before, [beside others](Company::Others), who may have purged a key under it: what it does
    /// alone counts.
    Doubtful,
    Missing(Missing),
}

/// Who else runs transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Company {
    /// Nobody: a conflict is an error as any other.
    Nobody,
    /// Other threads: a transaction that meets a conflict may be run once more.
    Others,
    /// Users of the database, and no other thread. They do not come to the rows of the transaction, but to their leaves.
    Users,
}

impl Company {
    /// Whether an error may be that of an accident.
    fn explains(self, error: &Error) -> bool {
        self != Company::Nobody && error.is_conflict()
    }
}

/// There is no such procedure.
pub(super) struct Missing {
    pub(super) stamp: Stamp,
    pub(super) procedure: ProcedureId,
    pub(super) name: Option<String>,
    pub(super) version: ProcedureVersion,
}

impl Missing {
    /// Whether a record needs it, too.
    pub(super) fn is_run_by(&self, record: &LiveRecord<'_>) -> bool {
        let is_it = |command: &Command<'_>| (command.procedure, command.version) == (self.procedure, self.version);
        record.command.as_ref().is_some_and(is_it)
    }

    /// Returns the error, where so many transactions need it.
    pub(super) fn into_error(self, commands: u64) -> RecoveryError {
        let Missing { stamp, procedure, name, version } = self;
        RecoveryError::MissingProcedure { stamp, procedure, name, version, commands }
    }
}

impl From<Box<RecoveryError>> for Refusal {
    fn from(error: Box<RecoveryError>) -> Refusal {
        Refusal::Recovery(*error)
    }
}

impl From<RecoveryError> for Refusal {
    fn from(error: RecoveryError) -> Refusal {
        Refusal::Recovery(error)
    }
}

/// Runs one transaction again, and commits it.
pub(super) fn run(
    session: &mut Session,
    scan: &LogScan,
    record: &LiveRecord<'_>,
    replayer: &mut dyn CommandReplayer,
    acceptance: &mut Acceptance,
    company: Company,
) -> Result<(), Refusal> {
    if let Some(command) = &record.command {
        return run_command(session, (record.stamp, record.epoch), command, replayer, acceptance, company);
    }
    let transaction = session.begin();
    match put_record(&transaction, scan, record, acceptance) {
        Err(_) if company != Company::Nobody && transaction.has_met_conflict() => return Err(Refusal::Conflict),
        put => put?,
    }
    match transaction.commit() {
        Err(error) if company.explains(&error) => Err(Refusal::Conflict),
        Err(error) => Err(RecoveryError::Unfit { stamp: record.stamp, what: error.to_string() }.into()),
        Ok(_) => Ok(()),
    }
}

/// Makes the writes of a record of values again.
pub(super) fn put_record(
    transaction: &Transaction<'_>,
    scan: &LogScan,
    record: &LiveRecord<'_>,
    acceptance: &Acceptance,
) -> Result<(), RecoveryError> {
    let feed = |each: &mut dyn FnMut(LoggedWrite<'_>)| for_each_write(scan, record, each);
    put_values(transaction, record.stamp, acceptance, feed)
        .map_err(|error| acceptance.explain(error, (record.stamp, record.epoch)))
}

/// Gives the writes of a record of values to `each`.
pub(super) fn for_each_write(
    scan: &LogScan,
    record: &LiveRecord<'_>,
    each: &mut dyn FnMut(LoggedWrite<'_>),
) -> Result<(), RecoveryError> {
    let LiveRecord { segment, offset, stamp, writes, .. } = *record;
    let all = std::iter::once((segment, &record.payload)).chain(record.others.iter().map(|(of, other)| (*of, other)));
    for (segment, payload) in all {
        match payload {
            PayloadReader::Values(logged) => logged.clone().for_each(&mut *each),
            PayloadReader::Physiological(images) => images.clone().writes().for_each(&mut *each),
            PayloadReader::InParts(named) => {
                let record = RecordInParts { offset, stamp, writes, named: *named };
                parts::for_each_write(scan, segment, &record, &mut *each)?;
            }
            PayloadReader::Command(_) => unreachable!("a command holds no writes"),
        }
    }
    Ok(())
}

/// Makes the writes again that `feed` gives.
fn put_values(
    transaction: &Transaction<'_>,
    stamp: Stamp,
    acceptance: &Acceptance,
    feed: impl Fn(&mut dyn FnMut(LoggedWrite<'_>)) -> Result<(), RecoveryError>,
) -> Result<(), RecoveryError> {
    let refused = |error| match error {
        ReplayedError::MissingVersion { table, key, base } => RecoveryError::MissingVersion { table, key, base, stamp },
        ReplayedError::Failed(error) => RecoveryError::Unfit { stamp, what: error.to_string() },
    };
    let mut replay = ValuesReplay::new(transaction);
    let lost = faults::lost_name(|note| drop(feed(note)));
    for step in [ValuesReplay::define, ValuesReplay::write] {
        let mut made = Ok(());
        feed(&mut |write| {
            if made.is_ok()
                && let Some(base) = acceptance.uncertain_base(&write)
            {
                let row = transaction.shown_key(write.table, write.key);
                let what =
                    format!("it changed what transaction {base} wrote in {row}, and that is not certain any more");
                made = Err(RecoveryError::Unfit { stamp, what });
            }
            if made.is_ok() && !faults::is_lost(lost, &write) {
                made = step(&mut replay, &write).map_err(refused);
            }
        })?;
        made?;
        replay.settle();
    }
    replay.end().map_err(refused)
}

/// How a command does something else than before, and what becomes of it if that is accepted.
struct Diverged {
    difference: Difference,
    effect: Effect,
}

/// What counts of a command that does something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// What it does now.
    Now,
    /// Nothing of it.
    Nothing,
    /// It is not accepted.
    Refused,
}

impl Diverged {
    fn new(what: impl Into<String>, effect: Effect) -> Diverged {
        Diverged { difference: Difference::new(what), effect }
    }

    fn into_error(
        self,
        (stamp, epoch): (Stamp, Epoch),
        command: &Command<'_>,
        name: Option<String>,
    ) -> Box<RecoveryError> {
        let Difference { what, row } = self.difference;
        Box::new(RecoveryError::Diverged {
            stamp,
            epoch,
            procedure: command.procedure,
            name,
            version: command.version,
            arguments: shortened(Listed(&command.arguments).to_string()),
            what,
            row: row.map(|row| DivergedRow::of(&row)).map(Box::new),
            can_be_accepted: self.effect != Effect::Refused,
        })
    }
}

/// Runs a command again, compares what it wrote, and commits it.
fn run_command(
    session: &mut Session,
    at: (Stamp, Epoch),
    command: &Command<'_>,
    replayer: &mut dyn CommandReplayer,
    acceptance: &mut Acceptance,
    company: Company,
) -> Result<(), Refusal> {
    let (stamp, procedure, version) = (at.0, command.procedure, command.version);
    let transaction = session.begin();
    let ran = match replayer.replay(&transaction, command) {
        Err(CommandError::Missing) => {
            let name = name_of(&transaction, command);
            return Err(Refusal::Missing(Missing { stamp, procedure, name, version }));
        }
        Err(CommandError::Failed(error)) if company.explains(&error) => return Err(Refusal::Conflict),
        ran => ran,
    };
    let diverged = compare(&transaction, command, ran);
    if diverged.is_some() && company == Company::Others {
        return Err(Refusal::Doubtful);
    }
    let is_accepted = diverged.is_some();
    match diverged {
        None => acceptance.ran(stamp, command.hash.is_some()),
        Some(diverged) => {
            let counts = diverged.effect == Effect::Now;
            acceptance.accept(diverged.into_error(at, command, name_of(&transaction, command)), counts)?;
            if !counts {
                return Ok(());
            }
        }
    }
    let Err(error) = transaction.commit() else { return Ok(()) };
    if company.explains(&error) {
        return Err(Refusal::Conflict);
    }
    if is_accepted {
        acceptance.take_back();
    }
    let is_out_of_order = matches!(error, Error::Log(LogError::OutOfOrder { .. }));
    let effect = if is_out_of_order { Effect::Nothing } else { Effect::Refused };
    let name = name_of(&session.begin(), command);
    acceptance.accept(Diverged::new(error.to_string(), effect).into_error(at, command, name), false)?;
    Ok(())
}

/// Compares what a command did, when it was run again, with what the log says of it; `None`: nothing tells them apart.
fn compare(transaction: &Transaction<'_>, command: &Command<'_>, ran: Result<(), CommandError>) -> Option<Diverged> {
    let drew = match ran {
        Ok(()) => None,
        Err(CommandError::Diverged(what)) => Some(what),
        Err(CommandError::Failed(error)) => {
            return Some(Diverged::new(format!("it failed: {error}"), Effect::Nothing));
        }
        Err(error @ (CommandError::Missing | CommandError::Superseded(_))) => {
            return Some(Diverged::new(error.to_string(), Effect::Refused));
        }
    };
    if transaction.has_defined() {
        return Some(Diverged::new("it changed definitions, which no command does", Effect::Refused));
    }
    if !transaction.has_written() {
        return Some(Diverged::new("it wrote nothing, and had written something", Effect::Nothing));
    }
    let difference = command.hash.as_ref().and_then(|hash| transaction.difference(hash));
    let difference = match (drew, faults::difference(difference)) {
        (Some(drew), Some(Difference { what, row })) => Difference { what: format!("{drew}; {what}"), row },
        (Some(drew), None) => Difference::new(drew),
        (None, difference) => difference?,
    };
    Some(Diverged { difference, effect: Effect::Now })
}

/// Returns how what a command did differs from what the log says of it, and whether what it does now would count.
pub(super) fn difference(
    transaction: &Transaction<'_>,
    command: &Command<'_>,
    ran: Result<(), CommandError>,
) -> Option<(String, bool)> {
    compare(transaction, command, ran).map(|diverged| (diverged.difference.what, diverged.effect == Effect::Now))
}

/// The name of what a command runs, where the catalog knows it.
pub(super) fn name_of(transaction: &Transaction<'_>, command: &Command<'_>) -> Option<String> {
    let key = VersionKey::of_command(command);
    transaction.procedure_version(key).ok().flatten().map(|of| of.name)
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
