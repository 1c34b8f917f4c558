//! A statement that is a transaction by itself: run again after conflicts, and in the way in which it holds nobody up.
//!
//! Readers wait for no writer. A query reads a snapshot, which holds all that had committed when it was opened. One that asks
//! for a row by its key first reads the row as it is, for which no snapshot is opened: with a lock, if nobody has one that
//! excludes it. A query that a snapshot does not answer, such as one that draws from a sequence, is run again as what writes is.

use std::time::Duration;

use osier::{Transaction, TransactionOptions};
use sqlparser::ast;

use super::run::ATTEMPTS_MAX;
use super::statement::{Planned, Task};
use super::{Core, Done, Output, Prepared};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};

/// How a statement reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// What is there now, and waits for who changes it.
    Current,
    /// What is there now, if nobody changes it.
    AtOnce,
    Snapshot,
}

impl Planned {
    fn reading(&self) -> Reading {
        match &self.task {
            Task::Query(query) if query.is_writing() || query.locks_rows => Reading::Current,
            // A snapshot is no hindrance to others while the statement waits.
            Task::Query(query) if query.takes_advisory => Reading::Snapshot,
            Task::Query(query) if query.plan.is_point() => Reading::AtOnce,
            Task::Query(_) => Reading::Snapshot,
            Task::Utility(statement) if matches!(**statement, ast::Statement::Copy { to: true, .. }) => {
                Reading::Snapshot
            }
            _ => Reading::Current,
        }
    }
}

impl Reading {
    /// How the statement reads when it is run again after an error, if it is.
    fn after(self, error: &SqlError) -> Option<Reading> {
        let is_of_snapshot = || match error.state {
            SqlState::ReadOnlySqlTransaction | SqlState::ObjectNotInPrerequisiteState => true,
            _ => error.code() == "72000",
        };
        match self {
            Reading::AtOnce if error.is_conflict() || error.state == SqlState::LockNotAvailable => {
                Some(Reading::Snapshot)
            }
            Reading::Snapshot if error.is_conflict() || is_of_snapshot() => Some(Reading::Current),
            Reading::Current if error.is_conflict() => Some(Reading::Current),
            _ => None,
        }
    }
}

/// How an attempt failed.
enum Failed {
    /// What it saw was not so, or it saw too little: it may be made again.
    Void(SqlError),
    Last(SqlError),
}

impl Core {
    /// Runs a statement as a transaction by itself.
    pub(super) fn run_alone(
        &mut self,
        session: &mut osier::Session,
        (prepared, planned): (&Prepared, &Planned),
        parameters: &[Datum],
        output: &mut dyn Output,
    ) -> Result<Done> {
        let (mut reading, mut attempt) = (planned.reading(), 0);
        loop {
            session.pause_after(attempt)?;
            self.canceller.wait_for_locks(match reading {
                Reading::AtOnce => Some(Duration::ZERO),
                _ => self.settings.lock_timeout,
            });
            self.begin();
            self.warnings.take();
            let snapshot = reading == Reading::Snapshot;
            let transaction =
                session.begin_with(self.options(TransactionOptions { snapshot, ..TransactionOptions::default() }));
            let executed = self.execute(&transaction, prepared, parameters, output);
            let executed = executed.and_then(|done| self.settle(&transaction).map(|()| done));
            let tried = self.end_alone(transaction, executed, reading);
            self.advisory.end_transaction();
            let error = match tried {
                Ok(done) => {
                    self.settings = self.lasting.clone();
                    self.end_cursors(true);
                    self.tell_of_changes();
                    return Ok(done);
                }
                Err(Failed::Last(error)) => return Err(error),
                Err(Failed::Void(error)) => error,
            };
            self.undo_settings();
            self.end_cursors(false);
            attempt += u32::from(error.is_conflict());
            match reading.after(&error) {
                Some(next) if attempt < ATTEMPTS_MAX && self.advisory.undo_attempt() && output.restart() => {
                    reading = next
                }
                _ => return Err(error),
            }
        }
    }

    /// Ends the transaction of a statement.
    fn end_alone(
        &mut self,
        transaction: Transaction<'_>,
        executed: Result<Done>,
        reading: Reading,
    ) -> std::result::Result<Done, Failed> {
        match executed {
            Ok(done) => {
                let settled = self.notifying.settle(self.sql.exchange());
                let committed = transaction.commit();
                self.notifying.end(self.sql.exchange(), settled, committed.as_ref().ok());
                match committed {
                    Ok(receipt) => Ok(Done { receipt: Some(receipt), ..done }),
                    Err(error) if error.is_conflict() => Err(Failed::Void(error.into())),
                    Err(error) => Err(Failed::Last(error.into())),
                }
            }
            Err(error) if reading.after(&error).is_some() => Err(Failed::Void(error)),
            Err(error) => match transaction.abort() {
                Ok(receipt) => {
                    self.observed = Some(receipt);
                    Err(Failed::Last(error))
                }
                Err(void) if void.is_conflict() => Err(Failed::Void(void.into())),
                // The log has failed: that counts more than what the statement saw.
                Err(failed) => Err(Failed::Last(failed.into())),
            },
        }
    }
}
