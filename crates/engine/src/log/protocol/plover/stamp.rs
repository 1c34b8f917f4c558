//! Plover's GSN: one above everything the transaction read or overwrites, and above everything in each stream that it writes to.
//!
//! Drawn under the latches of all these streams together, which are taken in the order of their numbers, with the room for a
//! record in each. So in every stream GSNs rise, and a stream that is durable up to a GSN has the records of all commits up to
//! it.

pub(super) use crate::log::protocol::poplar::draw;

use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::persist::{Log, Slot};

/// Room for a record in each of several streams, and the GSN of all of them; `None` where one of them has no room.
pub(super) fn draw_together<'l>(
    log: &'l Log,
    shares: &[(StreamId, usize)],
    base: Stamp,
) -> Result<Option<Vec<Slot<'l>>>, LogError> {
    log.reserve_together(shares, |last| last.max(base).next())
}
