//! Where the simulation makes calls wrong. What ships gets back what it gave, and does what it meant to.

use crate::catalog::procedure::VersionKey;
use crate::failpoint::{Mutation, has, logs_command};
use crate::ids::ProcedureVersion;

/// What is logged of the values of sequences that a call drew ([`Mutation::ValuesUnlogged`]).
#[inline(always)]
pub(super) fn logged_values(values: Vec<i64>) -> Vec<i64> {
    if has(Mutation::ValuesUnlogged) { Vec::new() } else { values }
}

/// The seed that is logged ([`Mutation::SeedUnlogged`]).
#[inline(always)]
pub(super) fn logged_seed(seed: Option<u64>) -> Option<u64> {
    seed.filter(|_| !has(Mutation::SeedUnlogged))
}

/// The time of a call that is run again ([`Mutation::ClockReadAgain`]).
#[inline(always)]
pub(super) fn time(logged: i64) -> i64 {
    if has(Mutation::ClockReadAgain) { logged + 1 } else { logged }
}

/// Where the random numbers of a call begin that is run again ([`Mutation::RandomDiffers`], [`Mutation::HashUncompared`]).
#[inline(always)]
pub(super) fn random(seed: u64, is_again: bool) -> u64 {
    let differs = is_again && (has(Mutation::RandomDiffers) || has(Mutation::HashUncompared));
    if differs { !seed } else { seed }
}

/// The version that is run again ([`Mutation::FirstVersionRun`]).
#[inline(always)]
pub(super) fn version(of: VersionKey) -> VersionKey {
    if has(Mutation::FirstVersionRun) { VersionKey { version: ProcedureVersion(1), ..of } } else { of }
}

/// Whether a call is logged as a command, where the database decides that: by chance where time says nothing.
#[inline(always)]
pub(super) fn is_command(decided: impl FnOnce() -> bool) -> bool {
    logs_command().unwrap_or_else(decided)
}

/// Whether a table or a sequence that a procedure was compiled for is what its name means ([`Mutation::StaleCodeRun`]).
#[inline(always)]
pub(super) fn is_current(is_current: bool) -> bool {
    is_current || has(Mutation::StaleCodeRun)
}
