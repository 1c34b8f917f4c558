//! Where the simulation makes the start of a database, or a salvage, wrong. What ships gets back what it gave.

use crate::failpoint::{Mutation, has};
use crate::ids::{Epoch, Stamp};

/// The first epoch above the floor: a checkpoint makes recovery skip epochs up to its boundary ([`Mutation::EpochReused`]).
#[inline(always)]
pub(super) fn first_epoch(floor: Epoch) -> Epoch {
    Epoch(floor.0 + u64::from(!has(Mutation::EpochReused)))
}

/// Up to where a stream is durable that lost something ([`Mutation::LossCertified`]).
#[inline(always)]
pub(super) fn damaged_reach(reached: Stamp, certified: Stamp) -> Stamp {
    if has(Mutation::LossCertified) { certified } else { reached }
}
