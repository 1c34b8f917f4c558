//! Calls of procedures: how code runs within a transaction, what it draws, what it returns.

mod convert;
mod draws;
mod evaluate;
mod failure;
mod functions;
mod interleave;
mod machine;
mod memory;
mod output;

pub use output::Output;
