//! Scans at a snapshot: some rows are copied under a pin, and given one by one; then the next ones are.
//!
//! Invariant: no pin is held while the caller has a row.

use std::collections::VecDeque;

use osier_memory::{Ended, Listed, Page, PageStart, Pin, ScanFrom, Version};

use super::Transaction;
use super::access::{EXPECTED_ROW_BYTES, ROWS_AHEAD};
use super::snapshot::{Snapshot, copy};
use crate::error::{Error, TransactionError};
use crate::failpoint::{Point, yield_at};
use crate::table::store::RecordTree;
use crate::table::{KeyBounds, Row, Table};

/// A scan copies so many rows under one pin, at most, ...
const ROWS_AT_ONCE: usize = 128;
/// ... about so many bytes, ...
const BYTES_AT_ONCE: usize = 256 << 10;
/// ... and looks at so many leaves.
const LEAVES_AT_ONCE: usize = 16;

/// A scan at a snapshot.
pub(super) struct SnapshotScan<'t, 's> {
    transaction: &'t Transaction<'s>,
    table: &'t Table,
    tree: &'t RecordTree,
    is_index: bool,
    bounds: KeyBounds,
    /// Where it goes on; `None`: it has not begun.
    start: Option<PageStart>,
    page: Page,
    rows: VecDeque<Vec<u8>>,
    /// How many rows are copied next: few want more than the first one, and the others want many.
    rows_at_once: usize,
    is_over: bool,
}

impl<'t, 's> SnapshotScan<'t, 's> {
    pub(super) fn new(
        transaction: &'t Transaction<'s>,
        table: &'t Table,
        tree: &'t RecordTree,
        is_index: bool,
        bounds: KeyBounds,
    ) -> SnapshotScan<'t, 's> {
        let (page, rows, is_over) = (Page::default(), VecDeque::new(), bounds.is_empty());
        SnapshotScan { transaction, table, tree, is_index, bounds, start: None, page, rows, rows_at_once: 1, is_over }
    }

    pub(super) fn next(&mut self) -> Result<Option<Row<'t>>, Error> {
        while self.rows.is_empty() && !self.is_over {
            yield_at(Point::Scanning);
            let at = self.transaction.at_snapshot().expect("the scan of a snapshot");
            at.access(|snapshot, pin| self.read_on(snapshot, pin)).inspect_err(|_| {
                self.is_over = true;
                self.rows.clear();
            })?;
            self.rows_at_once = (2 * self.rows_at_once).min(ROWS_AT_ONCE);
        }
        Ok(self.rows.pop_front().map(|row| self.table.rows.row(row)))
    }

    /// Copies the next rows.
    fn read_on(&mut self, snapshot: &Snapshot, pin: &Pin<'_>) -> Result<(), TransactionError> {
        let (kept, is_reversed) = (snapshot.kept(), self.bounds.is_reversed);
        let mut bytes = 0;
        for _ in 0..LEAVES_AT_ONCE {
            let from = match (&self.start, &self.bounds.high) {
                (Some(start), _) => start.from(is_reversed),
                (None, _) if !is_reversed => ScanFrom::AtLeast(self.bounds.low.as_bytes()),
                (None, Some(high)) => ScanFrom::Below(high.as_bytes()),
                (None, None) => ScanFrom::Last,
            };
            self.page.read(pin, self.tree, from, Some((kept, ROWS_AT_ONCE)));
            for (at, listed) in self.page.listed().iter().enumerate() {
                if at % ROWS_AHEAD == 0 {
                    self.expect(pin, at);
                }
                let key = listed.key(pin);
                if !self.bounds.contains(key) {
                    self.is_over = true;
                    return Ok(());
                }
                let found = listed.read(pin, kept, self.tree).map_err(|Ended| snapshot.has_ended())?;
                let row = match found {
                    Some(entry) if self.is_index => snapshot.look_up(pin, &self.table.primary, entry.bytes())?,
                    row => row,
                };
                assert!(row.is_some() || found.is_none(), "in a snapshot an entry of an index leads to its row");
                if let Some(row) = row {
                    bytes += row.bytes().len();
                    self.rows.push_back(copy(row));
                    if self.rows.len() >= self.rows_at_once || bytes >= BYTES_AT_ONCE {
                        self.start = Some(PageStart::Beyond(key.into()));
                        return Ok(());
                    }
                }
            }
            let is_within = |start: &&PageStart| match is_reversed {
                true => start.key() > self.bounds.low.as_bytes(),
                false => self.bounds.high.as_ref().is_none_or(|high| start.key() < high.as_bytes()),
            };
            self.start = self.page.next().filter(is_within).cloned();
            if self.start.is_none() {
                self.is_over = true;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Asks for the memory of the rows from an entry of the page on, as far as they are likely to be read.
    fn expect(&self, pin: &Pin<'_>, from: usize) {
        let listed = self.page.listed()[from..].iter().take(ROWS_AHEAD.min(self.rows_at_once));
        let records = listed.filter_map(|listed| match listed {
            Listed::Record(record) => Some(pin.get(*record)),
            Listed::Orphan(_) => None,
        });
        let bytes = if self.is_index { 1 } else { EXPECTED_ROW_BYTES };
        records.clone().for_each(|record| record.prefetch_version(bytes));
        if self.is_index {
            let primary_keys = records.filter_map(|entry| entry.version(pin)).map(Version::bytes);
            self.table.primary.expect(pin, primary_keys, |record| record.prefetch_version(EXPECTED_ROW_BYTES));
        }
    }
}
