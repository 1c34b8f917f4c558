//! Limbo: what a participant has unlinked and may not free yet.
//!
//! Invariants:
//! - Values are tagged in the order in which they were retired, with an epoch that was read after they were unlinked
//!   (see `epoch.rs`); an untagged value is never freed.
//! - Each call of `free_some` may free more values than were retired since the last one, so limbo shrinks whenever the
//!   epochs allow it, and the work of one call stays in proportion.
//!
//! Deliberately absent: the decision which epoch is safe.

use std::collections::VecDeque;
use std::ptr::NonNull;

use crate::Epoch;

/// How many values one `free_some` may free besides twice those that were retired since the last.
const FREED_MIN: u64 = 4;

/// Limbo keeps its buffer up to this many values and gives larger ones back when it is empty.
const KEPT_CAPACITY: usize = 1 << 14;

/// A value that nobody can reach any more and the function that frees it.
#[derive(Debug)]
pub(crate) struct Retired {
    raw: NonNull<()>,
    free: unsafe fn(NonNull<()>),
}

// SAFETY: whoever retires a value promises that it may be freed on any thread.
unsafe impl Send for Retired {}

impl Retired {
    /// The value at `raw`, to be freed by `free`.
    pub(crate) fn new(raw: NonNull<()>, free: unsafe fn(NonNull<()>)) -> Retired {
        Retired { raw, free }
    }

    /// Frees the value.
    ///
    /// # Safety
    /// Nobody refers to the value, and `free` accepts it.
    pub(crate) unsafe fn free(self) {
        // SAFETY: passed on to the caller.
        unsafe { (self.free)(self.raw) }
    }
}

/// Up to the `count`th value ever retired here: retired at or before `epoch`.
#[derive(Debug)]
struct Mark {
    epoch: Epoch,
    count: u64,
}

/// The retired values of one participant, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Limbo {
    values: VecDeque<Retired>,
    marks: VecDeque<Mark>,
    retired: u64,
    freed: u64,
    budget: u64,
}

impl Limbo {
    /// Whether nothing waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// How many values wait.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Takes a value that has just been unlinked.
    pub(crate) fn push(&mut self, retired: Retired) {
        self.values.push_back(retired);
        self.retired += 1;
        self.budget += 2;
    }

    /// Tags everything that has been pushed; `epoch` was read after a fence after the last push.
    pub(crate) fn tag(&mut self, epoch: Epoch) {
        let tagged = self.marks.back().map_or(self.freed, |mark| mark.count);
        debug_assert!(tagged <= self.retired);
        if tagged == self.retired {
            return;
        }
        match self.marks.back_mut() {
            Some(mark) if mark.epoch == epoch => mark.count = self.retired,
            last => {
                assert!(last.is_none_or(|mark| mark.epoch < epoch), "the epoch clock does not go back");
                self.marks.push_back(Mark { epoch, count: self.retired });
            }
        }
    }

    /// Frees a bounded number of the values that were retired at or before `safe`.
    pub(crate) fn free_some(&mut self, safe: Epoch) {
        let mut budget = std::mem::take(&mut self.budget) + FREED_MIN;
        while let Some(mark) = self.marks.front()
            && mark.epoch <= safe
            && budget > 0
        {
            let count = budget.min(mark.count - self.freed);
            let done = self.freed + count == mark.count;
            for _ in 0..count {
                let retired = self.values.pop_front().expect("marks count the values");
                self.freed += 1;
                // SAFETY: E2 of `epoch.rs` for the mark's epoch; it has left the queue, so this happens once.
                unsafe { retired.free() }
            }
            budget -= count;
            if done {
                self.marks.pop_front();
            }
        }
        if self.values.is_empty() && self.values.capacity() > KEPT_CAPACITY {
            self.values = VecDeque::new();
        }
    }

    /// Gives all values away, tagged or not.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Retired> + '_ {
        self.marks.clear();
        self.freed = self.retired;
        self.values.drain(..)
    }
}
