//! A sequence as the transaction sees it that has created or restarted it: it draws from here, and nobody else does.
//!
//! Invariant: what was drawn stays drawn for as long as the definition stands, also where a savepoint rolls back who used it.

use crate::catalog::Catalog;
use crate::catalog::sequence::{Sequence, SequenceRow};
use crate::ids::Stamp;

/// A sequence that a transaction has created or restarted.
pub(super) struct OwnSequence {
    pub(super) sequence: Sequence,
    /// What is left of it.
    pub(super) row: SequenceRow,
    /// Whether the transaction has created it.
    pub(super) is_new: bool,
    /// Whether values were drawn that the row in the write set does not know of.
    pub(super) is_drawn: bool,
}

impl OwnSequence {
    /// The transaction has committed.
    pub(super) fn publish(self, catalog: &Catalog, stamp: Stamp) {
        match self.is_new {
            true => {
                self.sequence.committed(stamp);
                catalog.open_sequences.publish(self.sequence);
            }
            false => self.sequence.restarted(),
        }
    }
}
