//! Seam 2: how a commit is ordered, and when it is durable.
//!
//! A commit's life here: [`LogProtocol::stamp`] draws its order number and its room in a stream's ring, [`Slot::fill`]
//! writes the record, the stream's logger (persist/logger.rs) makes it durable and moves the frontier
//! (acknowledge/watermark.rs), a [`Receipt`](crate::Receipt) tells.
//!
//! Invariants (docs/protocols.md has the arguments):
//! - **P1** Stamps rise strictly within a stream, and per key, absent keys included.
//! - **P2** A stream durable up to `d` never receives a record at or below `d` again.
//! - After the first failure nothing is acknowledged and nothing is tried again.
//!
//! Absent: which records survive a crash (recovery/), files and their format (persist/).

pub mod batch;
pub(crate) mod bytes;
#[cfg(test)]
mod crash_tests;
mod error;
pub mod inspect;
mod lifecycle;
mod metrics;
pub(crate) mod protocol;
pub mod record;
mod seal;
mod stream;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod world_for_tests;

pub use error::{LogError, LogFailure};
pub(crate) use lifecycle::{Log, LogLayout, RunningLog};
pub use metrics::{LogMetrics, StreamMetrics};
pub use seal::{LogIdentity, Seal};
pub(crate) use stream::{Slot, Stream};

use std::path::PathBuf;

use crate::acknowledge::ReceiptSource;
use crate::ids::{LogOffset, Stamp, StreamId};
use crate::persist::manifest::{StreamBegin, StreamEnd};

/// What a transaction wrote and read, as far as durability is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Observed {
    /// Its own order number; zero where it logged nothing.
    pub(crate) stamp: Stamp,
    /// Where its record is.
    pub(crate) stream: StreamId,
    /// The greatest stamp of everything it read, absences included; zero for a blind write.
    pub(crate) raw_dep: Stamp,
}

/// A log protocol: how commits are ordered and when they are durable.
pub(crate) trait LogProtocol: Send + Sync + 'static {
    /// Draws the order number of a commit and the room for its record, as one step.
    ///
    /// The caller holds every write lock and has validated the read set; `base` is the greatest stamp over both. Blocks
    /// while the ring is full. The slot must be filled. Fails where the log failed or is closed, with nothing drawn.
    fn stamp(&self, stream: StreamId, base: Stamp, record_bytes: usize) -> Result<Slot<'_>, LogError>;

    /// The streams; `None` where nothing is logged. All that follows is the same for every protocol that has some.
    fn running(&self) -> Option<&RunningLog>;

    /// Everything at or below it is durable whatever happens: tombstones up to here may be purged.
    fn stable(&self) -> Stamp {
        self.running().map_or(Stamp::MAX, RunningLog::stable)
    }

    /// The greatest stamp drawn so far, at least that of every transaction that is known to have ended.
    fn last_stamp(&self) -> Stamp {
        self.running().map_or(Stamp::ZERO, RunningLog::last_stamp)
    }

    /// Where in each stream there are all records above `floor`, or without one all that are stamped from now on.
    fn begins(&self, floor: Option<Stamp>) -> Vec<StreamBegin> {
        self.running().map_or_else(Vec::new, |log| log.begins(floor))
    }

    /// Where what is durable ends in each stream.
    fn durable_ends(&self) -> Vec<LogOffset> {
        self.running().map_or_else(Vec::new, RunningLog::durable_ends)
    }

    /// Recovery needs only the segments from these on, and none of earlier generations like `others`: a durable manifest
    /// says so.
    fn recycle(&self, begins: &[StreamBegin], others: &[PathBuf]) {
        self.running().inspect(|log| log.log().pool.recycle(begins, others));
    }

    /// Makes the receipts of one session.
    fn receipts(&self) -> ReceiptSource {
        self.running().map_or_else(ReceiptSource::unlogged, RunningLog::receipts)
    }

    /// Has records written that nobody asked about so far.
    fn nudge(&self) {
        self.running().inspect(|log| log.log().nudge());
    }

    /// What ended the log, if anything did.
    fn failure(&self) -> Option<LogError> {
        self.running().and_then(RunningLog::failure)
    }

    /// Ends the log: nothing is acknowledged from now on.
    fn fail(&self, failure: LogFailure) {
        self.running().inspect(|log| log.log().fail(failure));
    }

    /// Drains the streams, stops the background tasks and returns where each stream ends. New commits fail with
    /// [`LogError::Closed`]; those that were stamped are durable when this returns.
    fn close(&self) -> Result<Vec<StreamEnd>, LogError> {
        self.running().map_or_else(|| Ok(Vec::new()), RunningLog::close)
    }

    /// What was written so far.
    fn metrics(&self) -> LogMetrics {
        self.running().map_or_else(LogMetrics::default, |log| log.log().metrics())
    }
}
