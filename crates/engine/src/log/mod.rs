//! Seam 2: how a commit is ordered, and when it is durable.
//!
//! A commit's life here: [`LogProtocol::stamp`](protocol::LogProtocol::stamp) draws its order number and its room in a
//! stream's ring, [`Slot::fill`](persist::Slot::fill) writes the record, the stream's logger (log/persist/logger.rs)
//! makes it durable and moves the frontier (log/acknowledge/watermark.rs), a [`Receipt`](crate::Receipt) tells.
//!
//! Invariants: P1 to P5 in docs/protocols.md, with the arguments. Besides, after the first failure nothing is acknowledged and
//! nothing is tried again.
//!
//! Absent: which records survive a crash (recovery/), the manifest (directory/).

pub(crate) mod acknowledge;
mod commit_log;
#[cfg(test)]
mod crash_tests;
pub mod format;
pub(crate) mod gathering;
pub(crate) mod persist;
pub(crate) mod protocol;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod world_for_tests;

#[cfg(test)]
pub(crate) use commit_log::with_protocol;
pub(crate) use commit_log::{ActiveProtocol, CommitLog};
