//! Stored procedures as programs: what they are, how they are built, printed and parsed, checked against the tables and compiled.
//!
//! ```text
//! builder or text -> Program (names) -> check and compile, against the catalog -> Code (slots) -> call/
//!                                                                                            -> analysis/
//! ```
//!
//! Invariants:
//! - A [`Program`](program::Program) says everything about a procedure: its printed form is what the catalog stores, and parses
//!   back to it.
//! - Nothing in a program depends on the order of a hash map, on a clock, on chance or on another session but through the
//!   functions that draw ([`Function::is_drawn`](expression::Function::is_drawn)): what these give is part of the call. So a
//!   program that runs again on the same rows with the same arguments and draws does the same.
//! - Code has no names: a variable is a slot, a column a number, a table a handle.
//!
//! Absent: running ([`call`](crate::call)), and where definitions are kept ([`catalog`](crate::catalog)).

pub mod analysis;
pub mod builder;
pub(crate) mod code;
pub(crate) mod compile;
pub mod expression;
pub mod form;
mod names;
pub(crate) mod numeric;
pub mod parse;
mod print;
pub mod program;
#[cfg(test)]
pub(crate) mod programs_for_tests;
pub(crate) mod stored;
#[cfg(test)]
mod syntax_tests;
#[cfg(test)]
mod text_tests;
pub(crate) mod timestamps;
mod types;
