//! What goes into a log: the record of one transaction and the batch that a logger writes at once.
//!
//! Byte by byte in docs/log-format.md.

pub mod batch;
pub(crate) mod bytes;
pub mod record;
mod seal;

pub use seal::{LogIdentity, Seal};
