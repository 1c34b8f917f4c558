//! SQL on Osier: statements are parsed, bound to what the catalog knows, planned, and run as transactions of the engine.
//!
//! The server knows [`session::Session`] and [`sql::Sql`] and what these give, and nothing below them.

mod backends;
mod bind;
mod catalog;
mod copy;
pub mod datum;
mod ddl;
mod dump;
mod enumeration;
pub mod error;
mod explain;
mod expr;
pub mod function;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod notify;
mod parse;
mod plan;
pub mod record;
mod run;
pub mod scram;
pub mod session;
pub mod settings;
pub mod sql;
mod statistics;
pub mod types;
pub mod value;

pub use datum::Datum;
pub use enumeration::{EnumType, Label};
pub use error::{Result, SqlError, SqlState};
pub use session::Session;
pub use sql::Sql;
pub use types::{Declared, Modifier, Type};
