//! Poplar's SSN: one above everything the transaction read or overwrites and above everything in its stream.
//!
//! Drawn under the stream's latch together with the room for the record (Poplar, Algorithm 1, with its
//! compare-and-swap loop put right). P1: within a stream because `last` only rises, per key because every write lock is
//! held and `base` holds the stamps of what is overwritten, absent keys included.

use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::persist::{Log, Slot};

/// Room for a record in `stream`, and its SSN; `None` where there is no room.
pub(crate) fn draw(
    log: &Log,
    stream: StreamId,
    base: Stamp,
    record_bytes: usize,
) -> Result<Option<Slot<'_>>, LogError> {
    log.reserve(stream, record_bytes, |last, _end| last.max(base).next())
}
