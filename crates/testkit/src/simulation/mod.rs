//! The crash simulation: sessions, background tasks and a disk, interleaved and broken by one seed, judged by an oracle.

pub mod executor;
pub mod model;
pub mod operation;
pub mod oracle;
#[cfg(test)]
mod oracle_tests;
pub mod plan;
