//! What a log is on disk: payloads in records, records in batches, batches in segments, each sealed for its place
//! (docs/log-format.md).
//!
//! Absent: who writes them (log/persist/), who reads them (recovery/), and which segments count (directory/).

pub mod batch;
pub(crate) mod bytes;
pub mod dependency;
mod faults;
#[cfg(test)]
pub(crate) mod fixed_for_tests;
pub mod layout;
pub(crate) mod newest;
pub mod part;
pub(crate) mod parts_reader;
pub mod payload;
pub(crate) mod promises;
pub mod record;
pub mod records;
mod seal;
pub mod segment;
pub(crate) mod varint;

pub(crate) use seal::mix;
pub use seal::{LogIdentity, Seal};
