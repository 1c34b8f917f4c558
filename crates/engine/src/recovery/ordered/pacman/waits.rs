//! Transactions of a segment that somebody waits for who comes after all of it.
//!
//! Invariant: who has learned from another thread that one has run sees what it did.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What runs a segment.
pub(in super::super) trait Runs {
    /// Whether a transaction has run.
    fn has_run(&self, at: u32) -> bool;

    /// Lets a transaction that somebody waits for, and those that it waits for, go before others.
    fn ask_for(&self, at: u32);
}

/// Transactions of a segment that are waited for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    numbers: Box<[u32]>,
    /// So many of the first ones have run.
    run: AtomicUsize,
    /// Whether somebody has asked for all of them.
    is_asked_for: AtomicBool,
}

impl Waits {
    pub(super) fn new(numbers: impl IntoIterator<Item = u32>) -> Waits {
        Waits { numbers: numbers.into_iter().collect(), ..Waits::default() }
    }

    /// Returns the first that has not run, and asks for all that have not.
    pub(super) fn first_left(&self, graph: &impl Runs) -> Option<u32> {
        // What has run is seen by whoever learns that from another one, too.
        let run = self.run.load(Ordering::Acquire);
        let more = self.numbers[run..].iter().take_while(|number| graph.has_run(**number)).count();
        if more > 0 {
            self.run.fetch_max(run + more, Ordering::AcqRel);
        }
        let left = &self.numbers[run + more..];
        if !left.is_empty() && !self.is_asked_for.swap(true, Ordering::Relaxed) {
            left.iter().for_each(|number| graph.ask_for(*number));
        }
        left.first().copied()
    }
}
