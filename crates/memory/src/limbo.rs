//! Limbo: what a participant has unlinked and may not free yet.
//!
//! Invariants:
//! - Values are tagged in the order in which they were retired, with an epoch that was read after they were unlinked
//!   (see `epoch.rs`); an untagged value is never freed.
//! - Each call of `free_some` may free more values than were retired since the last one, so limbo shrinks whenever the
//!   epochs allow it, and the work of one call stays in proportion.
//!
//! Deliberately absent: the decision which epoch is safe, and what freeing means.

use std::collections::VecDeque;
use std::ptr::NonNull;

use crate::Epoch;
use crate::usage::Tally;

/// `free_some` may free twice the values that were retired since the last time and at least so many more, ...
const FREED_MIN: u64 = 4;

/// ... or one in so many of those that wait: where much was retired at once, it is not safe yet the next time.
const FREED_ONE_IN: u64 = 64;

/// Limbo keeps its buffer up to this many values and gives larger ones back when it is empty.
const KEPT_CAPACITY: usize = 1 << 14;

/// A value that nobody can reach any more and the function that frees it, and takes off what it was counted for.
#[derive(Debug)]
pub(crate) struct Retired {
    raw: NonNull<()>,
    free: FreeFn,
}

/// Frees a value.
type FreeFn = unsafe fn(NonNull<()>, &Tally);

// SAFETY: whoever retires a value promises that it may be freed on any thread.
unsafe impl Send for Retired {}

impl Retired {
    /// The value at `raw`, to be freed by `free`.
    pub(crate) fn new(raw: NonNull<()>, free: FreeFn) -> Retired {
        Retired { raw, free }
    }

    /// Frees the value.
    ///
    /// # Safety
    /// Nobody refers to the value, and `free` accepts it.
    pub(crate) unsafe fn free(self, tally: &Tally) {
        // SAFETY: passed on to the caller.
        unsafe { (self.free)(self.raw, tally) }
    }
}

/// Up to the `count`th value ever retired here: retired at or before `epoch`.
#[derive(Debug)]
struct Mark {
    epoch: Epoch,
    count: u64,
}

/// The retired values of one participant, oldest first.
#[derive(Debug)]
pub(crate) struct Limbo<T> {
    values: VecDeque<T>,
    marks: VecDeque<Mark>,
    retired: u64,
    freed: u64,
    budget: u64,
}

impl<T> Default for Limbo<T> {
    fn default() -> Self {
        Limbo { values: VecDeque::new(), marks: VecDeque::new(), retired: 0, freed: 0, budget: 0 }
    }
}

impl<T> Limbo<T> {
    /// How many values wait.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Takes a value that has just been unlinked.
    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        self.values.push_back(value);
        self.retired += 1;
        self.budget += 2;
    }

    /// Tags everything that has been pushed; `epoch` was read after a fence after the last push.
    #[inline]
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

    /// Gives out the oldest value if it was retired at or before `safe`: nobody can reach it, and it is the caller's to
    /// free.
    #[inline]
    pub(crate) fn take(&mut self, safe: Epoch) -> Option<T> {
        let mark = self.marks.front().filter(|mark| mark.epoch <= safe)?;
        self.freed += 1;
        if self.freed == mark.count {
            self.marks.pop_front();
        }
        Some(self.values.pop_front().expect("marks count the values"))
    }

    /// The oldest value, safe or not.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<&T> {
        self.values.front()
    }

    /// Has a bounded number of the values freed that were retired at or before `safe`.
    #[inline]
    pub(crate) fn free_some(&mut self, safe: Epoch, mut free: impl FnMut(T)) {
        if self.values.is_empty() {
            return;
        }
        let budget = std::mem::take(&mut self.budget) + FREED_MIN.max(self.values.len() as u64 / FREED_ONE_IN);
        for _ in 0..budget {
            match self.take(safe) {
                Some(value) => free(value),
                None => break,
            }
        }
        if self.values.is_empty() && self.values.capacity() > KEPT_CAPACITY {
            self.values = VecDeque::new();
        }
    }

    /// Gives all values away, tagged or not.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.marks.clear();
        self.freed = self.retired;
        self.values.drain(..)
    }
}
