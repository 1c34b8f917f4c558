//! What operators do, counted and timed for `EXPLAIN ANALYZE`.
//!
//! Invariant: a statement that nobody asks about has no probe; its operators are not wrapped.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::{AnyCursor, Context, Cursor, Row, begin};
use crate::error::Result;
use crate::plan::Plan;

/// What an operator has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stats {
    /// How often it was opened.
    pub(crate) loops: u64,
    pub(crate) rows: u64,
    /// Until the first row, over all loops.
    pub(crate) startup: Duration,
    pub(crate) total: Duration,
}

/// What `MERGE` has done for the rows of its join.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Merged {
    pub(crate) inserted: usize,
    pub(crate) updated: usize,
    pub(crate) deleted: usize,
    /// Those for which there was nothing to do.
    pub(crate) skipped: usize,
}

/// What the operators of a statement have done, by the address of their plan.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    stats: RefCell<HashMap<usize, Stats>>,
    /// A statement has one `MERGE` at most, and nothing is above it.
    pub(crate) merged: Cell<Option<Merged>>,
}

/// Which operator it is.
pub(crate) fn address(plan: &Plan) -> usize {
    std::ptr::from_ref(plan).addr()
}

impl Probe {
    /// What an operator has done, if it was opened.
    pub(crate) fn stats(&self, address: usize) -> Option<Stats> {
        self.stats.borrow().get(&address).copied()
    }

    fn change(&self, address: usize, change: impl FnOnce(&mut Stats)) {
        change(self.stats.borrow_mut().entry(address).or_default());
    }

    /// Begins to run a plan that is watched.
    pub(super) fn open<'c>(&'c self, plan: &'c Plan, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
        let (address, started) = (address(plan), Instant::now());
        let input = begin(plan, context);
        let spent = started.elapsed();
        self.change(address, |stats| {
            stats.loops += 1;
            stats.startup += spent;
            stats.total += spent;
        });
        Ok(Box::new(Watched { input: input?, probe: self, address, is_first: true }))
    }
}

struct Watched<'c> {
    input: AnyCursor<'c>,
    probe: &'c Probe,
    address: usize,
    is_first: bool,
}

impl Cursor for Watched<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        let started = Instant::now();
        let row = self.input.next()?;
        let spent = started.elapsed();
        let is_first = std::mem::replace(&mut self.is_first, false);
        self.probe.change(self.address, |stats| {
            stats.rows += u64::from(row.is_some());
            stats.total += spent;
            if is_first {
                stats.startup += spent;
            }
        });
        Ok(row)
    }
}
