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
    /// Only syncs of files in directories below this one count, where there is one.
    pub sync_error_below: Option<&'static str>,
    /// This sync of a directory fails with EIO, once.
    pub dir_sync_error_at: Option<u64>,
    /// The power fails in the middle of this operation of this kind.
    pub crash_in: Option<(Kind, u64)>,
    /// From this changing operation on, whatever needs space fails with ENOSPC.
    pub full_at: Option<u64>,
    /// Nothing is overwritten in place: writes and removals need space, allocated or not.
    pub copies_on_write: bool,
    /// What would fail with EIO fails with ENOSPC instead, and loses as much.
    pub errors_are_full: bool,
}

/// A changing operation that a fault can pick out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The sync of a directory.
    DirSync,
    /// A write to a file that was opened for the log.
    LogWrite,
    /// A file goes, or becomes a spare one.
    Removal,
    /// Anything else.
    Other,
}

/// How many operations there were, and of which kinds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) changes: u64,
    of: [u64; Kind::Other as usize + 1],
}

impl Counts {
    fn add(&mut self, kind: Kind) {
        self.changes += 1;
        self.of[kind as usize] += 1;
    }
}

/// Whether an operation needs space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    /// Where nothing is overwritten in place.
    Copy,
    Always,
}

impl Need {
    fn counts_with(self, faults: &Faults) -> bool {
        self == Need::Always || self == Need::Copy && faults.copies_on_write
    }
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
    /// Judges the next changing operation, which is of this kind.
    pub(super) fn judge(&self, counts: &mut Counts, kind: Kind, needs: Need) -> Verdict {
        counts.add(kind);
        let (position, of_kind) = (counts.changes, counts.of[kind as usize]);
        if self.crash_at.is_some_and(|at| position >= at) || self.crash_in == Some((kind, of_kind)) {
            Verdict::Crash
        } else if self.io_error_at == Some(position) || kind == Kind::DirSync && self.dir_sync_error_at == Some(of_kind)
        {
            Verdict::IoError
        } else if needs.counts_with(self) && self.full_at.is_some_and(|at| position >= at) {
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
