//! The memory of one call: texts that it computes, its variables, what it returns.
//!
//! Invariant: what a call takes is counted, and ends it at a bound.

use std::cell::Cell;

use bumpalo::Bump;

use super::failure::Failure;

/// A call that took more leaves nothing to the next one.
const KEPT_BYTES: usize = 256 << 10;

/// A list in the memory of a call.
pub(super) type List<'a, T> = bumpalo::collections::Vec<'a, T>;

/// Where a call keeps what it computes. All of it is given up together.
pub(super) struct Arena {
    bump: Bump,
    used: Cell<usize>,
    limit: usize,
}

impl Arena {
    /// Returns one of memory that an earlier call has left, and that may take `limit` bytes.
    pub(super) fn new(bump: Bump, limit: usize) -> Arena {
        Arena { bump, used: Cell::new(0), limit }
    }

    /// Gives everything up, and returns the memory for the next call.
    pub(super) fn into_memory(self) -> Bump {
        let mut bump = self.bump;
        if bump.allocated_bytes() > KEPT_BYTES {
            return Bump::new();
        }
        bump.reset();
        bump
    }

    /// Counts bytes that are taken here or elsewhere.
    pub(super) fn take(&self, bytes: usize) -> Result<(), Failure> {
        let used = self.used.get().saturating_add(bytes);
        self.used.set(used);
        if used > self.limit { Err(Failure::memory(used, self.limit)) } else { Ok(()) }
    }

    pub(super) fn text(&self, text: &str) -> Result<&str, Failure> {
        self.take(text.len())?;
        Ok(self.bump.alloc_str(text))
    }

    pub(super) fn bytes(&self, bytes: &[u8]) -> Result<&[u8], Failure> {
        self.take(bytes.len())?;
        Ok(self.bump.alloc_slice_copy(bytes))
    }

    /// Returns an empty list with room for so many items. What the code alone says how long it gets is not counted.
    pub(super) fn list<T>(&self, room: usize) -> List<'_, T> {
        List::with_capacity_in(room, &self.bump)
    }

    pub(super) fn joined(&self, parts: &[&[u8]]) -> Result<&[u8], Failure> {
        let length = parts.iter().map(|part| part.len()).sum();
        self.take(length)?;
        let mut whole = self.list(length);
        whole.extend_from_slices_copy(parts);
        Ok(whole.into_bump_slice())
    }

    /// Returns slots that all hold `value`. They are a part of every call, and not counted.
    pub(super) fn slots<T: Copy>(&self, count: u16, value: T) -> &mut [T] {
        self.bump.alloc_slice_fill_copy(count.into(), value)
    }
}
