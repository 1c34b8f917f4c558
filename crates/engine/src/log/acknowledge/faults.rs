//! Where the simulation makes acknowledgements wrong. Nothing of it ships.

use crate::failpoint::{Mutation, has};

/// Whether a committer in the place of the logger is answered before the sync ([`Mutation::LeaderUnsynced`]).
pub(super) fn answers_unsynced() -> bool {
    has(Mutation::LeaderUnsynced)
}
