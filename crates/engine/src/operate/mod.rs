//! Operations on a database beside its transactions: open, status, backup and restore, export and import, salvage,
//! inspection of its files.
//!
//! No other folder of the engine but fuzzing/ imports from this one.

pub mod backup;
pub mod control;
pub mod export;
mod faults;
pub mod inspect;
mod open;
pub mod salvage;
pub mod status;
