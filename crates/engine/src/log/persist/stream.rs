//! One log stream: the ring that workers fill, the baton of the logger that drains it, and its identity.
//!
//! Invariants:
//! - {stamp, offset, batch accounting} of a record are drawn in one step under the ring's latch, so stamps rise with
//!   offsets (P1) and a batch is closed either before a reservation or after it, never inside.
//! - A [`Slot`] must be filled or skipped: a hole in the log would end it, so a worker that dies in between ends the process.
//!
//! Absent: what a stamp means (the protocols), and files (device.rs, preparer.rs).

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use osier_memory::{Reservation, Ring};

use super::metrics::StreamCounters;
use super::parts::PartsHeld;
use crate::ids::{LogOffset, Stamp, StreamId};
use crate::log::format::record::write_skip;
use crate::log::format::{LogIdentity, Seal};
use crate::log::persist::baton::Baton;

/// One buffer, one logger, one chain of segments.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) identity: LogIdentity,
    pub(crate) ring: Ring,
    /// Wakes the logger and steps it.
    pub(crate) baton: Arc<Baton>,
    /// Workers wake the logger when the open batch holds more than this many bytes. Below that the receipt does, because a thread
    /// that waits for it can step the logger itself.
    pub(crate) wake_bytes: u64,
    pub(crate) counters: StreamCounters,
    /// Whose parts recovery may need.
    pub(crate) parts: Arc<PartsHeld>,
    /// How many wait until less is on its way to the device.
    pub(crate) hurrying: AtomicUsize,
}

impl Stream {
    /// Returns the number of the stream.
    pub(crate) fn id(&self) -> StreamId {
        self.identity.stream()
    }
}

/// Room in the log, and the order number that came with it; or, without a log, the number alone.
#[must_use = "an unfilled slot is a hole in the log"]
pub(crate) struct Slot<'l> {
    stamp: Stamp,
    room: Option<Room<'l>>,
}

struct Room<'l> {
    stream: &'l Stream,
    reservation: Reservation<'l>,
}

impl<'l> Slot<'l> {
    /// Makes the slot of a protocol without a log.
    pub(crate) fn unlogged(stamp: Stamp) -> Slot<'l> {
        Slot { stamp, room: None }
    }

    /// Makes the slot of a record in the ring of `stream`.
    pub(crate) fn logged(stream: &'l Stream, reservation: Reservation<'l>) -> Slot<'l> {
        Slot { stamp: reservation.stamp(), room: Some(Room { stream, reservation }) }
    }

    /// Returns the transaction's order number.
    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Returns where the record begins in the log; [`LogOffset`] 0, where no record begins, without a log.
    pub(crate) fn offset(&self) -> LogOffset {
        self.room.as_ref().map_or(LogOffset(0), |room| LogOffset(room.reservation.offset()))
    }

    /// Lets `encode` write the record, sealed for its place. Does nothing without a log.
    pub(crate) fn fill(self, encode: impl FnOnce(&mut [u8], Seal)) {
        let Some(Room { stream, reservation }) = self.room else { return };
        let seal = stream.identity.seal(LogOffset(reservation.offset()));
        reservation.fill(|record| encode(record, seal));
        if stream.ring.pending_bytes() > stream.wake_bytes {
            stream.baton.signal.wake();
        }
    }

    /// Writes a skip in place of the record: the transaction that drew the number does not commit.
    pub(crate) fn skip(self) {
        self.fill(|buffer, _seal| write_skip(buffer));
    }
}
