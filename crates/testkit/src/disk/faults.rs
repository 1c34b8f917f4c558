//! When a simulated disk fails, and how.
//!
//! Invariant: a fault is a position in the sequence of operations, so a seed repeats it.

use std::fmt;
use std::io;

/// The faults to come. Positions count from 1 at the moment they are set; `None` is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The power fails in the middle of this changing operation (create, write, allocate, sync, rename, unlink, ...).
    pub crash_at: Option<u64>,
    /// This changing operation fails with EIO, once.
    pub io_error_at: Option<u64>,
    /// This read fails with EIO, once.
    pub read_error_at: Option<u64>,
    /// This sync of a file fails with EIO, once.
    pub sync_error_at: Option<u64>,
    /// This sync of a directory fails with EIO, once.
    pub dir_sync_error_at: Option<u64>,
    /// The power fails in the middle of this sync of a directory.
    pub crash_at_dir_sync: Option<u64>,
    /// From this changing operation on, whatever needs space fails with ENOSPC.
    pub full_at: Option<u64>,
}

/// What becomes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Proceed,
    Crash,
    IoError,
    Full,
}

impl Faults {
    /// Judges the changing operation at `position`.
    pub(super) fn judge(&self, position: u64, needs_space: bool) -> Verdict {
        if self.crash_at.is_some_and(|at| position >= at) {
            Verdict::Crash
        } else if self.io_error_at == Some(position) {
            Verdict::IoError
        } else if needs_space && self.full_at.is_some_and(|at| position >= at) {
            Verdict::Full
        } else {
            Verdict::Proceed
        }
    }
}

/// The error of every operation at and after a simulated crash.
#[derive(Debug)]
struct SimulatedCrash;

impl fmt::Display for SimulatedCrash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulated machine has crashed")
    }
}

impl std::error::Error for SimulatedCrash {}

pub(super) fn crash() -> io::Error {
    io::Error::other(SimulatedCrash)
}

pub(super) fn io_error() -> io::Error {
    const EIO: i32 = 5;
    io::Error::from_raw_os_error(EIO)
}

pub(super) fn full() -> io::Error {
    const ENOSPC: i32 = 28;
    io::Error::from_raw_os_error(ENOSPC)
}

/// Whether `error` is the one that a crashed simulated disk returns.
pub fn is_simulated_crash(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<SimulatedCrash>())
}
