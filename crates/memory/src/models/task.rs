//! Stands for `task.rs` in models, which run no fibers: nobody is a task.

use std::task::Waker;
use std::time::Duration;

/// There is none.
pub fn waker() -> Option<Waker> {
    None
}

/// Nothing waits so.
pub fn pause(_limit: Duration) -> bool {
    false
}

/// Nobody is.
pub fn is_to_end() -> bool {
    false
}
