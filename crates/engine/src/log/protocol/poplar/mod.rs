//! Poplar: partially constrained logs on many streams (the paper's sections 3 and 4; docs/protocols.md).
//!
//! An SSN orders a commit after everything it read or overwrote, and nothing else. A commit is durable when its own
//! stream is durable up to it and every stream up to what it read (`raw_dep`).

mod frontier;
mod stamp;

pub(crate) use frontier::PoplarFrontier;

use crate::acknowledge::ReceiptSource;
use crate::config::Config;
use crate::ids::{LogOffset, Stamp, StreamId};
use crate::log::lifecycle::RunningLog;
use crate::log::{LogError, LogLayout, LogMetrics, LogProtocol, Slot};
use crate::persist::manifest::{StreamBegin, StreamEnd};

/// The Poplar protocol.
pub(crate) struct Poplar {
    log: RunningLog,
}

impl Poplar {
    /// Starts a generation.
    pub(crate) fn start(config: &Config, layout: LogLayout) -> Result<Poplar, LogError> {
        Ok(Poplar { log: RunningLog::start::<PoplarFrontier>(config, layout)? })
    }
}

impl LogProtocol for Poplar {
    fn stamp(&self, stream: StreamId, base: Stamp, record_bytes: usize) -> Result<Slot<'_>, LogError> {
        stamp::draw(self.log.log(), stream, base, record_bytes)
    }

    fn stable(&self) -> Stamp {
        self.log.stable()
    }

    fn last_stamp(&self) -> Stamp {
        self.log.last_stamp()
    }

    fn begins(&self, floor: Option<Stamp>) -> Vec<StreamBegin> {
        self.log.begins(floor)
    }

    fn durable_ends(&self) -> Vec<LogOffset> {
        self.log.durable_ends()
    }

    fn recycle(&self, begins: &[StreamBegin]) {
        self.log.recycle(begins);
    }

    fn receipts(&self) -> ReceiptSource {
        self.log.receipts()
    }

    fn nudge(&self) {
        self.log.log().nudge();
    }

    fn failure(&self) -> Option<LogError> {
        self.log.failure()
    }

    fn close(&self) -> Result<Vec<StreamEnd>, LogError> {
        self.log.close()
    }

    fn metrics(&self) -> LogMetrics {
        self.log.log().metrics()
    }
}
