//! Where the simulation makes the start of a database wrong. What ships gets back what it gave.

use crate::failpoint::{Mutation, has};
use crate::ids::Epoch;

/// The first epoch above the floor: a checkpoint makes recovery skip epochs up to its boundary ([`Mutation::EpochReused`]).
#[inline(always)]
pub(super) fn first_epoch(floor: Epoch) -> Epoch {
    Epoch(floor.0 + u64::from(!has(Mutation::EpochReused)))
}
