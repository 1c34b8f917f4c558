//! What runs a procedure again that a command names: given to recovery by whoever opens the database, because recovery knows no
//! procedures.

use crate::error::Error;
use crate::log::format::payload::command::Command;
use crate::transaction::Transaction;

/// Runs procedures again.
pub(crate) trait CommandReplayer {
    /// Does in `transaction` what `command` did, by nothing but its arguments, what it drew, and what the transaction reads. It
    /// does not commit. The tables, and so the procedures among them, are as they were before the command.
    fn replay(&mut self, transaction: &Transaction<'_>, command: &Command<'_>) -> Result<(), CommandError>;
}

/// Why a command did not run again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// There is no such procedure, or not in this version.
    #[error("there is no such procedure")]
    Missing,
    /// It failed: only what has committed is in the log, so that it should not.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Knows no procedure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoProcedures;

impl CommandReplayer for NoProcedures {
    fn replay(&mut self, _transaction: &Transaction<'_>, _command: &Command<'_>) -> Result<(), CommandError> {
        Err(CommandError::Missing)
    }
}
