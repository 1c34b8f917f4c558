//! The calls of the operating system that make things durable, one function each: the seam below [`super::os`].
//!
//! The simulated disk is another implementation of [`super::Disk`], so none of its tests sees whether the real one asks the
//! system. Unit tests see what passes here.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Notes that a name was given to a file, which its directory's sync makes durable.
pub(super) fn named(path: &Path) {
    note(Call::Name, path);
}

/// Writes all of `bytes`; `is_synchronous`: the file was opened so that they are durable on return.
pub(super) fn write(file: &fs::File, bytes: &[u8], offset: u64, path: &Path, is_synchronous: bool) -> io::Result<()> {
    note(if is_synchronous { Call::WriteThrough } else { Call::Write }, path);
    file.write_all_at(bytes, offset)
}

/// Reserves space for the first `length` bytes.
pub(super) fn allocate(file: &fs::File, length: u64, path: &Path) -> Result<(), Errno> {
    note(Call::Allocate, path);
    fallocate(file, FallocateFlags::empty(), 0, length)
}

/// `fsync`: of a file or a directory.
pub(super) fn sync_all(file: &fs::File, path: &Path) -> io::Result<()> {
    note(Call::SyncAll, path);
    file.sync_all()
}

/// `fdatasync`: what was written, without what was allocated.
pub(super) fn sync_data(file: &fs::File, path: &Path) -> io::Result<()> {
    note(Call::SyncData, path);
    file.sync_data()
}

/// Gives a file another name.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    note(Call::Rename, from);
    fs::rename(from, to)?;
    note(Call::Name, to);
    Ok(())
}

/// What was asked of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Name,
    Write,
    WriteThrough,
    Allocate,
    SyncAll,
    SyncData,
    Rename,
}

#[cfg(not(test))]
#[inline(always)]
fn note(_: Call, _: &Path) {}

#[cfg(test)]
fn note(call: Call, path: &Path) {
    tests::CALLS.lock().unwrap().push((call, path.to_owned()));
}

#[cfg(test)]
#[path = "system_tests.rs"]
mod tests;
