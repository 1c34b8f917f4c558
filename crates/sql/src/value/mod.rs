//! Values as text, as bytes of the protocol, as other types, and as what the engine stores.
//!
//! Invariants:
//! - A `char(n)` holds no blanks at its end; whoever shows it pads it to `n` characters ([`push_text`], [`push_binary`]).
//! - What is written as text or bytes is read back as a value that is equal.
//! - A `real` is a float that 32 bits hold.
//!
//! Absent: the names behind `regclass`, `regtype` and `regproc`, which only the catalog knows. Here they are numbers.

pub mod array;
mod binary;
mod cast;
pub mod date_style;
pub mod datetime;
pub mod float;
pub mod interval;
pub mod interval_style;
pub mod json;
pub mod network;
pub mod numeric;
pub mod storage;
pub mod text;

pub use binary::{parse_binary, push_binary};
pub use cast::{Conversion, cast, constrain, conversion};
pub(crate) use cast::{fitting_text, is_immutable, listed};
pub use text::{parse, push_text};

#[cfg(test)]
#[path = "round_trip_tests.rs"]
mod round_trip_tests;
