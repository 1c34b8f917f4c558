//! Poplar: partially constrained logs on many streams (the paper's sections 3 and 4; docs/protocols.md).
//!
//! An SSN orders a commit after everything it read or overwrote, and nothing else. A commit is durable when its own
//! stream is durable up to it and every stream up to what it read (`raw_dep`).

mod frontier;
mod stamp;

pub(crate) use frontier::PoplarFrontier;

use crate::config::Config;
use crate::ids::{Stamp, StreamId};
use crate::log::{LogError, LogLayout, LogProtocol, RunningLog, Slot};

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

    fn running(&self) -> Option<&RunningLog> {
        Some(&self.log)
    }
}
