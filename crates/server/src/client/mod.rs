//! The commands that are clients: `osier shell`, `import` of files, and `dump`. They speak PostgreSQL's protocol, to `osier
//! serve` as well as to PostgreSQL, and to a database that no process has open they speak it within this process
//! ([`crate::serve::embedded`]): there is one way in which a statement is run.
//!
//! `target.rs` says where a client connects, `connection.rs` is the connection, `script.rs` runs statements of texts and files
//! and `split.rs` finds them, `table.rs` and `report.rs` show what comes of them. `shell.rs`, `import.rs`, `copy_file.rs` and
//! `dump.rs` are the commands.

mod backslash;
mod connection;
mod copy_file;
mod dump;
mod error;
mod import;
mod interrupt;
mod report;
mod script;
mod shell;
mod split;
mod table;
mod target;

pub use dump::dump;
pub use import::import;
pub use interrupt::interrupted;
pub use shell::shell;
