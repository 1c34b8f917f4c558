//! Savepoints: rolling back part of a transaction, as a server does when one statement fails.
//!
//! Invariant: what was read since the savepoint stays read. The transaction goes on knowing it, so it must still hold at
//! commit.

use super::Transaction;
use crate::concurrency::write_set::Mark;
use crate::error::TransactionError;

/// A moment within a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    transaction: u64,
    number: u64,
}

/// A savepoint that can be rolled back to.
pub(super) struct Active {
    number: u64,
    writes: Mark,
    definitions: usize,
}

impl Transaction<'_> {
    /// Marks the present moment.
    pub fn savepoint(&self) -> Savepoint {
        let mut state = self.state();
        state.savepoints_made += 1;
        let (number, definitions) = (state.savepoints_made, state.definitions.len());
        let writes = state.writes.mark();
        assert!(state.savepoints.last().is_none_or(|last| last.number < number), "savepoints follow each other");
        state.savepoints.push(Active { number, writes, definitions });
        Savepoint { transaction: state.sequence, number }
    }

    /// Undoes every write since `savepoint`, which stays usable; later savepoints are gone.
    ///
    /// # Errors
    /// [`TransactionError::UnknownSavepoint`].
    pub fn rollback_to(&self, savepoint: Savepoint) -> Result<(), TransactionError> {
        let mut state = self.state();
        let at = state
            .savepoints
            .iter()
            .position(|active| active.number == savepoint.number && savepoint.transaction == state.sequence)
            .ok_or(TransactionError::UnknownSavepoint)?;
        let Active { writes, definitions, .. } = state.savepoints[at];
        state.savepoints.truncate(at + 1);
        if self.at_snapshot().is_some() {
            return Ok(());
        }
        state.observe_discarded(self.pin(), writes);
        state.writes.rollback_to(writes);
        state.undo_definitions(self.shared, definitions);
        assert_eq!(state.definitions.len(), definitions, "what was defined since is undone");
        Ok(())
    }
}
