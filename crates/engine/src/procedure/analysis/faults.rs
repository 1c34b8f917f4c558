//! Where the simulation makes the analysis wrong. What ships gets back what it gave.

use crate::failpoint::{Mutation, has};

/// Whether an access is noted of which so many columns of the key are known ([`Mutation::KeysGuessed`]), and about which nothing
/// decides that is not known ([`Mutation::BranchesGuessed`]).
#[inline(always)]
pub(super) fn is_noted(columns: usize, is_certain: bool) -> bool {
    (columns > 0 || !has(Mutation::KeysGuessed)) && (is_certain || !has(Mutation::BranchesGuessed))
}

/// Whether a column tells rows apart that exclude each other ([`Mutation::UniqueIndexesForgotten`]).
#[inline(always)]
pub(super) fn is_enough(is_enough: bool) -> bool {
    is_enough || has(Mutation::UniqueIndexesForgotten)
}

/// Whether a jump is kept, back or not ([`Mutation::RoundsForgotten`]).
#[inline(always)]
pub(super) fn goes_back(is_back: bool) -> bool {
    !is_back || !has(Mutation::RoundsForgotten)
}
