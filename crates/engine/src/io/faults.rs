//! Where the tests make the real disk wrong. What ships does what it meant to.

use crate::failpoint::{Mutation, has};

/// Whether a locked directory lies in its place ([`Mutation::PlaceUnwatched`]).
#[inline(always)]
pub(super) fn is_in_place(is_in_place: bool) -> bool {
    is_in_place || has(Mutation::PlaceUnwatched)
}

/// Whether the sync of a file is left out ([`Mutation::DirectUnsynced`]).
#[inline(always)]
pub(super) fn is_unsynced(is_direct: bool) -> bool {
    is_direct && has(Mutation::DirectUnsynced)
}
