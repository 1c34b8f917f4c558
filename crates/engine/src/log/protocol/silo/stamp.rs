//! A TID is drawn under the stream's latch together with the room for the record, above everything the transaction read or
//! overwrites, above everything in its stream, and above all earlier epochs.

use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::persist::{Log, Slot};

/// Room for a record in `stream`, and its TID; `None` where there is no room.
pub(super) fn draw(
    log: &Log,
    stream: StreamId,
    base: Stamp,
    record_bytes: usize,
) -> Result<Option<Slot<'_>>, LogError> {
    let base = base.max(begun(log));
    log.reserve(stream, record_bytes, |last, _end| last.max(base).next())
}

/// The stamp after which the present epoch begins: the end of the one before.
#[inline]
pub(super) fn begun(log: &Log) -> Stamp {
    log.tid_epochs.begun(log)
}
