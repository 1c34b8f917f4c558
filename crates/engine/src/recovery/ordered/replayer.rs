//! What runs a procedure again that a command names: given to recovery by whoever opens the database, because recovery knows no
//! procedures.

use std::any::Any;
use std::sync::Arc;

use crate::call::{NotReplayed, Procedures, Replayer, Trace, Unordered};
use crate::error::Error;
use crate::log::format::payload::command::Command;
use crate::transaction::{RowAhead, Transaction};

/// Runs procedures again.
pub(crate) trait CommandReplayer {
    /// Returns what transactions are to find registered.
    fn registered(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::new(Procedures::new())
    }

    /// Returns another one that may be used at the same time; `None`: transactions are run one after the other.
    fn another(&self) -> Option<Box<dyn CommandReplayer + Send>> {
        None
    }

    /// Says which reads of procedures nobody changes from now on.
    fn set_unordered(&mut self, _unordered: &Arc<Unordered>) {}

    /// Does in `transaction` what `command` did, by nothing but its arguments, what it drew, and what the transaction reads. It
    /// does not commit. The tables, and so the procedures among them, are as they were before the command.
    fn replay(&mut self, transaction: &Transaction<'_>, command: &Command<'_>) -> Result<(), CommandError>;

    /// Begins to ask for the memory of rows that `command` will use, as far as its arguments say: a guess that changes nothing.
    fn ask_ahead<'t>(
        &mut self,
        _transaction: &'t Transaction<'_>,
        _command: &Command<'_>,
        _rows: &mut Vec<RowAhead<'t>>,
    ) {
    }

    /// As [`CommandReplayer::replay`], and traces what it can of it.
    fn replay_traced(
        &mut self,
        transaction: &Transaction<'_>,
        command: &Command<'_>,
        _trace: &mut Trace,
    ) -> Result<(), CommandError> {
        self.replay(transaction, command)
    }
}

/// Why a command did not run again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// There is no such procedure, or not in this version.
    #[error("there is no such procedure")]
    Missing,
    /// It does something else than before.
    #[error("{0}")]
    Diverged(String),
    /// The order of the log has another version of the procedure there.
    #[error("{0}")]
    Superseded(String),
    /// It failed: only what has committed is in the log, so that it should not.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Runs declared procedures, and functions that are registered.
impl CommandReplayer for Replayer {
    fn registered(&self) -> Arc<dyn Any + Send + Sync> {
        self.procedures().clone()
    }

    fn another(&self) -> Option<Box<dyn CommandReplayer + Send>> {
        Some(Box::new(Replayer::new(self.procedures().clone())))
    }

    fn set_unordered(&mut self, unordered: &Arc<Unordered>) {
        self.set_unordered(unordered);
    }

    fn replay(&mut self, transaction: &Transaction<'_>, command: &Command<'_>) -> Result<(), CommandError> {
        Ok(self.run(transaction, command)?)
    }

    fn ask_ahead<'t>(&mut self, transaction: &'t Transaction<'_>, command: &Command<'_>, rows: &mut Vec<RowAhead<'t>>) {
        self.ask_ahead(transaction, command, rows);
    }

    fn replay_traced(
        &mut self,
        transaction: &Transaction<'_>,
        command: &Command<'_>,
        trace: &mut Trace,
    ) -> Result<(), CommandError> {
        Ok(self.run_traced(transaction, command, trace)?)
    }
}

impl From<NotReplayed> for CommandError {
    fn from(error: NotReplayed) -> CommandError {
        match error {
            NotReplayed::Missing => CommandError::Missing,
            NotReplayed::Diverged(what) => CommandError::Diverged(what),
            NotReplayed::Superseded(what) => CommandError::Superseded(what),
            NotReplayed::Failed(error) => CommandError::Failed(error),
        }
    }
}
