//! The frontier without a log: everywhere, since nothing waits for durability.

use super::{Unlogged, stamp};
use crate::acknowledge::ReceiptSource;
use crate::ids::{LogOffset, Stamp, StreamId};
use crate::log::{LogError, LogMetrics, LogProtocol, Slot};
use crate::persist::manifest::{StreamBegin, StreamEnd};

impl LogProtocol for Unlogged {
    fn stamp(&self, _stream: StreamId, base: Stamp, _record_bytes: usize) -> Result<Slot<'_>, LogError> {
        Ok(stamp::draw(base))
    }

    fn stable(&self) -> Stamp {
        Stamp::MAX
    }

    fn last_stamp(&self) -> Stamp {
        Stamp::ZERO
    }

    fn begins(&self, _floor: Option<Stamp>) -> Vec<StreamBegin> {
        Vec::new()
    }

    fn durable_ends(&self) -> Vec<LogOffset> {
        Vec::new()
    }

    fn recycle(&self, _begins: &[StreamBegin]) {}

    fn receipts(&self) -> ReceiptSource {
        ReceiptSource::unlogged()
    }

    fn nudge(&self) {}

    fn failure(&self) -> Option<LogError> {
        None
    }

    fn close(&self) -> Result<Vec<StreamEnd>, LogError> {
        Ok(Vec::new())
    }

    fn metrics(&self) -> LogMetrics {
        LogMetrics::default()
    }
}
