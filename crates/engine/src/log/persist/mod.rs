//! The streams of a running log, and the tasks that write them: loggers, and preparers that keep segments ready.
//!
//! Absent: what a segment looks like (log/format/), which commit is durable when (log/protocol/), and
//! acknowledgement (log/acknowledge/).

pub(crate) mod baton;
pub(crate) mod device;
mod faults;
pub(crate) mod frontier;
mod layout;
mod lifecycle;
mod load;
pub(crate) mod logger;
mod metrics;
pub(crate) mod parts;
pub(crate) mod preparer;
mod stream;
mod streams;
pub(crate) mod tid;

pub(crate) use layout::LogLayout;
pub(crate) use lifecycle::RunningLog;
pub use metrics::{LogMetrics, StreamMetrics};
pub(crate) use stream::{Slot, Stream};
pub(crate) use streams::Log;

/// Appends of this many bytes gain nothing from zeros.
const LARGE_BATCH_BYTES: u64 = 256 << 10;
