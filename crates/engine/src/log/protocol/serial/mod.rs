//! One stream in one total order of LSNs: the papers' CENTR.
//!
//! A commit is durable when the log is durable up to it. What it read has smaller LSNs in the same stream, so its own
//! LSN says it all; a reader waits for the greatest LSN it read.

mod frontier;
mod stamp;

pub(crate) use frontier::SerialFrontier;

use crate::config::Config;
use crate::ids::{Stamp, StreamId};
use crate::log::{LogError, LogLayout, LogProtocol, RunningLog, Slot};

/// The serial protocol.
pub(crate) struct Serial {
    log: RunningLog,
    /// LSNs count on from here: the greatest stamp of earlier generations.
    floor: Stamp,
}

impl Serial {
    /// Starts a generation.
    pub(crate) fn start(config: &Config, layout: LogLayout) -> Result<Serial, LogError> {
        assert_eq!(layout.dirs.len(), 1, "a total order has one stream");
        let floor = layout.floor;
        Ok(Serial { log: RunningLog::start::<SerialFrontier>(config, layout)?, floor })
    }
}

impl LogProtocol for Serial {
    fn stamp(&self, stream: StreamId, base: Stamp, record_bytes: usize) -> Result<Slot<'_>, LogError> {
        assert_eq!(stream, StreamId(0), "a total order has one stream");
        stamp::draw(self.log.log(), self.floor, base, record_bytes)
    }

    fn running(&self) -> Option<&RunningLog> {
        Some(&self.log)
    }
}
