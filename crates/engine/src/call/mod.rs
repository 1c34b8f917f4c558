//! Calls of procedures: how code runs within a transaction, what it draws, what it returns.
//!
//! [`session`] is the life of a call: look the procedure up, check the arguments, run it, commit it as a command. [`replay`] is
//! its mirror, for recovery.

mod choice;
mod compiled;
mod convert;
#[cfg(feature = "mutations")]
mod covered;
mod definitions;
mod draws;
mod evaluate;
mod failure;
mod faults;
mod floats;
mod functions;
mod graph;
mod interleave;
mod lanes;
mod listing;
mod literal;
mod machine;
mod memory;
mod opaque;
mod output;
mod planner;
mod replay;
mod run;
mod session;
mod signature;
mod trace;
mod turns;
mod version;

pub use interleave::{Call, Ended};
pub use listing::ListedProcedure;
pub use opaque::{OpaqueCall, OpaqueProcedure, Procedures};
pub use output::Output;
pub(crate) use planner::{Planner, Unordered};
pub(crate) use replay::Replayer;
pub use signature::Signature;
pub(crate) use trace::Trace;
pub use trace::TracedStep;
pub(crate) use version::NotReplayed;
