//! Osier: a serializable main-memory database whose durability is parallel from end to end.

mod acknowledge;
pub mod config;
pub mod failpoint;
pub mod ids;
pub mod io;
pub mod log;
pub mod persist;
pub mod recovery;
pub mod table;

pub use acknowledge::Receipt;
pub use config::{Config, Protocol};
