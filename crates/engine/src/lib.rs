//! Osier: a serializable main-memory database whose durability is parallel from end to end.

pub mod config;
pub mod failpoint;
pub mod ids;
pub mod io;
pub mod log;
pub mod persist;
pub mod recovery;
pub mod table;

pub use config::{Config, Protocol};
