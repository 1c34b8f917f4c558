//! Tests of what a reader of the public interface cannot reach without an index: epochs, limbo, locks and records by themselves.
//!
//! Absent: exhaustive orders of memory accesses, which are the models.

mod epochs;
mod locks;
mod records;
mod snapshots;
mod timestamps;
mod usage;
