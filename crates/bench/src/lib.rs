//! Filled in with the first workloads.
