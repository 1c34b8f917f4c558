//! Commands to come: the rows that their arguments name are asked for while those before them run.
//!
//! Invariants:
//! - It changes nothing and observes nothing: what is asked for may be gone, or of a table that is gone, when the command runs.
//! - Each step asks for the next line of all rows that are on their way; between two steps a command runs, which takes longer
//!   than a line of memory.

use std::collections::VecDeque;

use super::merge::LiveRecord;
use super::replayer::CommandReplayer;
use crate::transaction::{RowAhead, Transaction};

/// So many records before a command runs its rows are asked for: bucket, record and row, one after the other.
const DISTANCE: usize = 4;

/// The records of a batch, with a look ahead.
pub(super) struct Ahead<'t, 's, 'b, I> {
    /// Keeps what is asked for alive.
    transaction: &'t Transaction<'s>,
    rows: Vec<RowAhead<'t>>,
    coming: VecDeque<LiveRecord<'b>>,
    records: I,
}

impl<'t, 's, 'b, I: Iterator<Item = LiveRecord<'b>>> Ahead<'t, 's, 'b, I> {
    /// Begins before the first of `records`; `transaction` does nothing else.
    pub(super) fn new(transaction: &'t Transaction<'s>, records: I) -> Ahead<'t, 's, 'b, I> {
        Ahead { transaction, rows: Vec::new(), coming: VecDeque::with_capacity(DISTANCE + 1), records }
    }

    /// Returns the next record.
    pub(super) fn next(&mut self, replayer: &mut dyn CommandReplayer) -> Option<LiveRecord<'b>> {
        self.rows.retain_mut(RowAhead::advance);
        while self.coming.len() <= DISTANCE
            && let Some(record) = self.records.next()
        {
            if let Some(command) = &record.command {
                replayer.ask_ahead(self.transaction, command, &mut self.rows);
            }
            self.coming.push_back(record);
        }
        self.coming.pop_front()
    }

    /// Returns the records that were not given yet.
    pub(super) fn rest(self) -> impl Iterator<Item = LiveRecord<'b>> {
        self.coming.into_iter().chain(self.records)
    }
}
