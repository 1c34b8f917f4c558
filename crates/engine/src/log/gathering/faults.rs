//! Where the simulation makes LSN vectors wrong. What ships gets back what it gave.

use osier_memory::KeyStamps;

use crate::failpoint::{Mutation, has};
use crate::ids::{Stamp, StreamId};
use crate::log::format::dependency::LsnVector;

/// Those who have read what is overwritten ([`Mutation::ReadersUnmerged`]).
#[inline(always)]
pub(super) fn readers(readers: Option<&KeyStamps>) -> Option<&KeyStamps> {
    readers.filter(|_| !has(Mutation::ReadersUnmerged))
}

/// The stamp of what is overwritten ([`Mutation::OverwrittenUnmerged`]).
#[inline(always)]
pub(super) fn overwritten(stamp: Stamp) -> Stamp {
    if has(Mutation::OverwrittenUnmerged) { Stamp::ZERO } else { stamp }
}

/// What whoever reads the rows depends on beside their writer ([`Mutation::VectorNotHandedOn`]).
#[inline(always)]
pub(super) fn handed_on(vector: &LsnVector) -> impl Iterator<Item = (StreamId, Stamp)> {
    vector.iter().filter(|_| !has(Mutation::VectorNotHandedOn))
}

/// The LSN of whoever writes a row ([`Mutation::OwnLsnForgotten`]).
#[inline(always)]
pub(super) fn own_lsn(lsn: Stamp) -> Stamp {
    if has(Mutation::OwnLsnForgotten) { Stamp::ZERO } else { lsn }
}

/// What whoever reads the rows depends on in all streams ([`Mutation::VectorNotHandedOn`]).
#[inline(always)]
pub(super) fn of_all(all: Stamp) -> Stamp {
    if has(Mutation::VectorNotHandedOn) { Stamp::ZERO } else { all }
}
