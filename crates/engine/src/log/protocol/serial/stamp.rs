//! The serial LSN: the byte position where the record ends, counted over all generations.
//!
//! It is drawn under the latch with the position itself, so LSNs rise strictly with positions. Earlier generations end at
//! or below the floor, so they rise over restarts too.

use crate::error::LogError;
use crate::ids::{LogOffset, Stamp, StreamId};
use crate::log::persist::{Log, Slot};

/// Room for a record, and its LSN; `None` where there is no room.
pub(super) fn draw(log: &Log, floor: Stamp, base: Stamp, record_bytes: usize) -> Result<Option<Slot<'_>>, LogError> {
    log.reserve(StreamId(0), record_bytes, |last, end| {
        let lsn = lsn(floor, end);
        assert!(lsn > base, "LSN {lsn} is not above {base}, which was drawn before it from the same log");
        assert!(lsn > last, "LSN {lsn} is not above the log's last, {last}");
        lsn
    })
}

fn lsn(floor: Stamp, end: LogOffset) -> Stamp {
    Stamp(floor.0 + end.0)
}
