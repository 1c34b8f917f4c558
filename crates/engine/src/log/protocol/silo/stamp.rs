//! The TID of Silo: the epoch in the upper bits, and below them what tells the commits of an epoch apart.
//!
//! It is drawn under the stream's latch together with the room for the record, above everything the transaction read or
//! overwrites, above everything in its stream, and above all earlier epochs. An epoch with more commits than its bits can
//! count goes on in those of the next: its last commits are durable an epoch later, and nothing else changes.

use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::persist::{Log, Slot};

/// The bits of a TID below its epoch: a million commits.
const SEQUENCE_BITS: u32 = 20;

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
///
/// The epochs of TIDs are those of transactions, unless the stamps of earlier generations are beyond them: then they count on
/// from those.
pub(super) fn begun(log: &Log) -> Stamp {
    let (opened, floor) = log.begun;
    let first = opened.0.max((floor.0 >> SEQUENCE_BITS) + 1);
    Stamp((first + (log.epochs.current().0 - opened.0)) << SEQUENCE_BITS)
}

/// The greatest stamp of the epoch of `stamp`.
pub(crate) fn end_of_epoch(stamp: Stamp) -> Stamp {
    Stamp(stamp.0.next_multiple_of(1 << SEQUENCE_BITS))
}

/// The end of the last epoch that is over when everything up to `stamp` is.
pub(super) fn whole_epochs(stamp: Stamp) -> Stamp {
    Stamp(stamp.0 >> SEQUENCE_BITS << SEQUENCE_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let of = |epoch: u64, sequence: u64| Stamp((epoch << SEQUENCE_BITS) + sequence);
        assert_eq!(end_of_epoch(of(5, 1)), of(6, 0));
        assert_eq!(end_of_epoch(of(6, 0)), of(6, 0), "the last of its epoch");
        assert_eq!(whole_epochs(of(6, 0)), of(6, 0));
        assert_eq!(whole_epochs(of(6, 1)), of(6, 0));
        assert_eq!(end_of_epoch(Stamp::ZERO), Stamp::ZERO, "nothing is waited for");
    }
}
