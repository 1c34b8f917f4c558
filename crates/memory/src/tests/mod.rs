//! Tests of what a reader of the public interface cannot reach without an index: epochs, limbo and records by themselves.
//!
//! Absent: exhaustive orders of memory accesses, which are the models.

mod epochs;
mod records;
mod snapshots;
mod usage;
