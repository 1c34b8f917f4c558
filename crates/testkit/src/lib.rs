//! What proves the engine: a simulated disk, clock and scheduler behind the engine's own seams.
//!
//! Invariants:
//! - A run is a function of its seed: no clock, no thread, no address and no hash order decides anything.
//! - The simulated disk keeps what POSIX promises and nothing more: what was not synced may be lost, torn or reordered.
//!
//! Deliberately absent: anything that ships. Only tests and test programs depend on this crate.

pub mod clock;
pub mod disk;
pub mod fiber;
pub mod history;
pub mod simulation;
pub mod spawn;
pub mod threads;

pub use clock::ManualClock;
pub use disk::{Faults, Kind, LogWrites, SimDisk, is_simulated_crash};
pub use spawn::SimSpawn;
