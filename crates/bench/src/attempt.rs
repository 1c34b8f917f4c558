//! Runs one request as a transaction of Osier until it does not conflict, and counts the conflicts.
//!
//! As [`osier::Session::run`], but for two things a measurement needs: conflicts are counted, and a rollback is not
//! waited for; its receipt goes to the driver like that of a commit.

use osier::call::{Ended, Output};
use osier::table::Value;
use osier::{Durability, Receipt, Session, Transaction, TransactionOptions};

use crate::calls::Call;
use crate::{Acknowledge, Executed, ExecutedAll, Outcome, TargetError};

/// Conflicts in a row after which a request counts as failed.
const CONFLICTS_MAX: u32 = 100_000;
/// What a transaction's body wants to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision<T> {
    /// Keep what was written.
    Commit(T),
    /// Undo it.
    RollBack(T),
}

/// Why a transaction's body cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The database says no.
    #[error(transparent)]
    Engine(#[from] osier::Error),
    /// A row is missing that was loaded and is never removed.
    #[error("table {table} has no row with key {key}, which was loaded and is never removed: the database is damaged")]
    Missing {
        /// The table.
        table: &'static str,
        /// The key.
        key: String,
    },
}

impl Failure {
    fn is_conflict(&self) -> bool {
        matches!(self, Failure::Engine(error) if error.is_conflict())
    }
}

/// Returns a row that was loaded and is never removed.
pub fn found<T>(row: Option<T>, table: &'static str, key: &[Value<'_>]) -> Result<T, Failure> {
    row.ok_or_else(|| missing(table, key))
}

/// Checks that a row that was loaded and is never removed was there to be changed.
pub fn changed(is_there: bool, table: &'static str, key: &[Value<'_>]) -> Result<(), Failure> {
    if is_there { Ok(()) } else { Err(missing(table, key)) }
}

#[cold]
fn missing(table: &'static str, key: &[Value<'_>]) -> Failure {
    let key = key.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Failure::Missing { table, key: format!("({key})") }
}

impl From<Failure> for TargetError {
    fn from(failure: Failure) -> TargetError {
        TargetError::new(failure)
    }
}

impl Acknowledge for Receipt {
    fn is_acknowledged(&self) -> Result<bool, TargetError> {
        Receipt::is_acknowledged(self).map_err(TargetError::new)
    }

    fn wait(&self) -> Result<(), TargetError> {
        Receipt::wait(self).map_err(TargetError::new)
    }
}

/// Runs `body` until it does not conflict.
///
/// # Errors
/// What `body` returned, once what it had read has proved valid; or the database's own errors.
pub fn execute<T>(
    session: &mut Session,
    options: TransactionOptions,
    mut body: impl FnMut(&Transaction<'_>) -> Result<Decision<T>, Failure>,
) -> Result<Executed<Receipt, T>, TargetError> {
    for conflicts in 0..CONFLICTS_MAX {
        session.pause_after(conflicts).map_err(TargetError::new)?;
        let tx = session.begin_with(options);
        let (ended, outcome) = match body(&tx) {
            Ok(Decision::Commit(evidence)) => (tx.commit().map(|receipt| (receipt, Ok(evidence))), Outcome::Committed),
            Ok(Decision::RollBack(evidence)) => {
                (tx.abort().map(|receipt| (receipt, Ok(evidence))), Outcome::RolledBack)
            }
            Err(failure) if failure.is_conflict() => continue,
            Err(failure) => (tx.abort().map(|receipt| (receipt, Err(failure))), Outcome::RolledBack),
        };
        match ended {
            Ok((receipt, Ok(evidence))) => return Ok(Executed { receipt, outcome, conflicts, evidence }),
            Ok((_, Err(failure))) => return Err(failure.into()),
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(TargetError::new(error)),
        }
    }
    Err(too_many_conflicts())
}

fn too_many_conflicts() -> TargetError {
    TargetError::new(format!("a transaction met a conflict {CONFLICTS_MAX} times in a row; use fewer workers"))
}

/// Calls a procedure until it does not conflict. What the procedure said to give up is a result, too.
///
/// # Errors
/// The database's own errors.
pub fn execute_call(
    session: &mut Session,
    options: TransactionOptions,
    call: &Call<'_>,
) -> Result<Executed<Receipt, Result<Output, osier::Error>>, TargetError> {
    for conflicts in 0..CONFLICTS_MAX {
        session.pause_after(conflicts).map_err(TargetError::new)?;
        match session.try_call(options, call.procedure, &call.arguments) {
            Ok((result, receipt)) => {
                let outcome = if result.is_ok() { Outcome::Committed } else { Outcome::RolledBack };
                return Ok(Executed { receipt, outcome, conflicts, evidence: result });
            }
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(TargetError::new(error)),
        }
    }
    Err(too_many_conflicts())
}

/// Calls procedures that take turns on this thread, each until it does not conflict.
///
/// # Errors
/// The database's own errors.
pub fn execute_calls(
    session: &mut Session,
    options: TransactionOptions,
    calls: &[Call<'_>],
) -> ExecutedAll<Receipt, Result<Output, osier::Error>> {
    let calls: Vec<_> =
        calls.iter().map(|call| osier::call::Call { procedure: call.procedure, arguments: &call.arguments }).collect();
    let ended = session.try_call_all(options, &calls).into_iter().map(|ended| {
        let Ended { result, receipt, conflicts } = ended.map_err(TargetError::new)?;
        let outcome = if result.is_ok() { Outcome::Committed } else { Outcome::RolledBack };
        Ok(Executed { receipt, outcome, conflicts, evidence: result })
    });
    ended.collect()
}

/// Options for a transaction that writes, or one that only reads.
pub fn options(read_only: bool, durability: Durability) -> TransactionOptions {
    TransactionOptions { read_only, durability, ..TransactionOptions::default() }
}
