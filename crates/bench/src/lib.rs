//! Workloads that drive Osier and its peers, and what they measure.
//!
//! A [`Workload`] draws requests; a [`Target`] executes them; the [`driver`] runs the one against the other from many
//! threads and counts what was *acknowledged*. The workloads know nothing about the driver, the driver nothing about
//! the workloads.
//!
//! Deliberately absent: anything that ships inside the library `osier`. Nothing but the binary depends on this crate.

pub mod attempt;
pub mod bank;
pub mod calls;
pub mod conditions;
pub mod crash;
pub mod driver;
pub mod engine;
#[cfg(test)]
mod equivalence;
pub mod error;
pub mod experiment;
pub mod fixture;
pub mod in_process;
pub mod journal;
pub mod latency;
mod loading;
pub mod machine;
pub mod progress;
pub mod random;
pub mod report;
pub mod run_directories;
mod schema;
pub mod smallbank;
pub mod snapshot_scans;
pub mod tpcc;
#[cfg(test)]
mod trial;
pub mod voter;
mod workload;
pub mod ycsb;

pub use workload::{
    Acknowledge, CheckpointCounters, Client, Counters, Executed, ExecutedAll, Ledger, NoLedger, Outcome,
    StreamCounters, Target,
};
pub use workload::{TargetError, Workload};
