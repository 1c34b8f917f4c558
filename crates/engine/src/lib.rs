//! Osier: a serializable main-memory database whose durability is parallel from end to end.

pub mod ids;
pub mod io;
