//! Workloads that drive Osier and its peers, and what they measure.
//!
//! A [`Workload`] draws requests; a [`Target`] executes them; the [`driver`] runs the one against the other from many
//! threads and counts what was *acknowledged*. The workloads know nothing about the driver, the driver nothing about
//! the workloads.
//!
//! Deliberately absent: anything that ships inside the library `osier`. Nothing but the binary depends on this crate.

pub mod driver;
pub mod latency;
pub mod random;
mod workload;

pub use workload::{Acknowledge, Counters, Executed, Ledger, NoLedger, Outcome, Session, StreamCounters, Target};
pub use workload::{TargetError, Workload};
