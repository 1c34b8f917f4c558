//! The crash simulation: sessions, background tasks and a disk, interleaved and broken by one seed, judged by an oracle.
//!
//! Invariants:
//! - A run is a function of its seed: one thread of the system, in which sessions and tasks are fibers; drawn order, simulated
//!   clock. A failed seed repeats, with its trace.
//! - Everything goes through the public API of the engine and its seams; nothing in the engine knows that it is simulated.
//!
//! Deliberately absent: preemption anywhere but at the points that the engine names. Races between single loads and stores
//! are found by the models of `osier-memory` and by the crash test with real threads.

mod backups;
mod checkpoints;
pub mod coverage;
mod directories;
mod early;
pub mod executor;
pub mod model;
pub mod mutations;
pub mod operation;
pub mod oracle;
#[cfg(test)]
mod oracle_tests;
pub mod plan;
pub mod procedures;
mod run;
mod salvages;
mod sequences;
mod session;
mod settings;
mod tables;
mod until;

pub use plan::{Choices, Profile};
pub use run::{Failure, Summary, run};
