//! How `osier` exits: one status for each kind of cure (docs/operations.md).
//!
//! Invariant: a status never changes its meaning; what is not told apart here is [`ERROR`].
//!
//! Absent: 4, nothing was done because the user has to agree first (`operate.rs`); 130, interrupted (`main.rs`).

use osier::Error;
use osier_bench::error::BenchError;

/// An error, which standard error explains.
const ERROR: u8 = 1;
/// A command line that does not parse, or that names what does not fit: options, directories, an epoch or a time.
const USAGE: u8 = 2;
/// Something acknowledged was lost, or the data is inconsistent.
pub const UNSOUND: u8 = 3;
/// A file of the database is damaged, missing, of another database or copy, or of a newer program.
pub const DAMAGED: u8 = 10;
/// Another process has the database open.
const IN_USE: u8 = 11;
/// A device is full.
const FULL: u8 = 12;
/// The operating system refused a file or a directory.
const DEVICE: u8 = 13;
/// There is no database, or something else or half a one where one should be.
const NO_DATABASE: u8 = 14;
/// `memory_limit` is reached.
const MEMORY: u8 = 15;

/// The status for an error.
pub fn status(error: &BenchError) -> u8 {
    // A procedure may fail with any SQLSTATE, and with those of the database it says nothing of its files.
    if let BenchError::Engine(Error::Procedure(_)) = error {
        return ERROR;
    }
    match error.sqlstate() {
        Some("22023") => USAGE,
        Some("XX001" | "58P01" | "0A000") => DAMAGED,
        Some("55006") => IN_USE,
        Some("53100") => FULL,
        Some("58030" | "42501") => DEVICE,
        Some("3D000" | "42P04" | "55000") => NO_DATABASE,
        Some("53200") => MEMORY,
        _ => ERROR,
    }
}
