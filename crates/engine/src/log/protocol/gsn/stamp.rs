//! The GSN: one above everything the transaction read or overwrites, above everybody who read what it overwrites, and above
//! everything in its stream.
//!
//! Drawn under the stream's latch together with the room for the record, as Poplar's SSN. What is more is in `base`: the read
//! stamps of the write set (`LogProtocol::read_stamps`). They are read while every write lock is held; those of the read set are
//! raised to the GSN before validation (transaction/lifecycle.rs).

use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::persist::{Log, Slot};

/// Room for a record in `stream`, and its GSN; `None` where there is no room.
pub(super) fn draw(
    log: &Log,
    stream: StreamId,
    base: Stamp,
    record_bytes: usize,
) -> Result<Option<Slot<'_>>, LogError> {
    log.reserve(stream, record_bytes, |last, _end| last.max(base).next())
}
