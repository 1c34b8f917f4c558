//! Where a test makes configurations unsound. What ships gets back what it gave.

use crate::failpoint::{Mutation, has};

/// Whether checkpoints are fuzzy, and need a log that completes them ([`Mutation::FuzzyBaseTaken`]).
#[inline(always)]
pub(super) fn is_fuzzy(is_fuzzy: bool) -> bool {
    is_fuzzy && !has(Mutation::FuzzyBaseTaken)
}
