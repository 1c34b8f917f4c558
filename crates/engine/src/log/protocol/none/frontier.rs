//! The frontier without a log: everywhere, since nothing waits for durability.

use super::{Unlogged, stamp};
use crate::ids::{Stamp, StreamId};
use crate::log::{LogError, LogProtocol, RunningLog, Slot};

impl LogProtocol for Unlogged {
    fn stamp(&self, _stream: StreamId, base: Stamp, _record_bytes: usize) -> Result<Slot<'_>, LogError> {
        Ok(stamp::draw(base))
    }

    fn running(&self) -> Option<&RunningLog> {
        None
    }
}
