//! Steps in which others wait for a thread: while it holds locks of rows, commits and publishes definitions, or replays a write.
//!
//! Invariant: a thread that panics in such a step ends the process. What it holds cannot be given back safely: some of its writes
//! may be in place already, others not, and its record may be in the log. A restart recovers; locks that stay would make
//! every other session wait for ever. (Between the reservation and the record [`Ring`](osier_memory::Ring) does the same.)

use super::faults;
use crate::failpoint::is_simulated;
use crate::io;

/// Runs `step`; where that panics, the process ends.
pub(crate) fn critical<T>(step: impl FnOnce() -> T) -> T {
    let bomb = Bomb;
    let result = step();
    std::mem::forget(bomb);
    result
}

/// Ends the process when it is dropped, which only a panic does.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if faults::ends_process(!is_simulated()) {
            io::end_process("a thread died with locks held; open the database again to recover");
        }
    }
}
