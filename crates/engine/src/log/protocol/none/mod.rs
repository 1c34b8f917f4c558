//! No log: commits are ordered, never durable. The upper bound that measurements compare with.
//!
//! Invariant: nothing is shared between workers, and every receipt is born acknowledged.

mod frontier;
mod stamp;

/// The protocol without a log.
#[derive(Debug)]
pub(crate) struct Unlogged;
