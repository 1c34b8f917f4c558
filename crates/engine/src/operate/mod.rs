//! What people do with a database beside its transactions: open it, ask it, back it up, look into its files.
//!
//! Nothing of the engine below knows of this floor.

pub mod backup;
pub mod control;
pub mod inspect;
mod open;
pub mod salvage;
pub mod status;
