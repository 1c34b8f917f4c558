//! Reading ranges, forward and backward, over the primary key or a secondary index.
//!
//! Invariants:
//! - A leaf is noted as read before any of its records: a key that appears in it afterwards fails validation.
//! - Records without a row are noted too. They may be placeholders of transactions about to commit, which change no leaf.
//! - A scan sees the transaction's own writes as they are when it comes to them, those that it has made since the scan began too.
//!   So what a procedure does does not depend on where leaves end, which differs from one run to the next.

use osier_memory::{Held, LeafScan, Record, ScanFrom, Version};

use super::access::{Content, EXPECTED_ROW_BYTES, ROWS_AHEAD};
use super::backlog::{Reach, Use};
use super::snapshot_scan::SnapshotScan;
use super::{Transaction, TransactionState, faults, try_access};
use crate::concurrency::{ConcurrencyControl, Intent};
use crate::error::{Error, TransactionError};
use crate::failpoint::{Point, yield_at};
use crate::table::store::RecordTree;
use crate::table::{KeyBounds, KeyRange, Row, Table, Value};

/// How many finished scans leave their memory to the next ones.
const LEAF_SCANS_KEPT: usize = 4;

/// The rows of a range, in key order; made by [`Transaction::scan`] and [`Transaction::scan_index`].
pub struct Scan<'t, 's>(Kind<'t, 's>);

enum Kind<'t, 's> {
    Current(CurrentScan<'t, 's>),
    AtSnapshot(SnapshotScan<'t, 's>),
}

/// A scan of what there is now.
struct CurrentScan<'t, 's> {
    transaction: &'t Transaction<'s>,
    table: &'t Table,
    /// The tree that is walked.
    tree: &'t RecordTree,
    is_index: bool,
    /// What rows are read for.
    intent: Intent,
    bounds: KeyBounds,
    leaf: LeafScan<Record>,
    /// How many records the session had put into trees when the leaf was read.
    placeholders_made: u64,
    /// The record that was given last.
    last: Option<Held<Record>>,
    next_entry: usize,
    /// Entries of the leaf whose rows have been asked for: the first ones.
    expected: usize,
    /// Whether the caller wanted a row: many want no other.
    has_begun: bool,
    is_over: bool,
}

impl<'s> Transaction<'s> {
    /// The rows whose primary key is in `range`.
    pub fn scan<'t>(&'t self, table: &'t Table, range: KeyRange<'_>) -> Result<Scan<'t, 's>, Error> {
        self.scan_to(table, range, Intent::to_read(table))
    }

    /// As [`Transaction::scan`], for rows that this transaction is about to change or to remove; see
    /// [`Transaction::get_for_update`].
    pub fn scan_for_update<'t>(&'t self, table: &'t Table, range: KeyRange<'_>) -> Result<Scan<'t, 's>, Error> {
        self.refuse_write(table)?;
        self.scan_to(table, range, Intent::to_write(table))
    }

    /// As [`Transaction::scan`], without the promise that the rows are the same when the transaction commits: nobody else who
    /// changes them makes it conflict. It does depend on them: no crash keeps the transaction and loses what it has seen. For
    /// what other means keep from changing, and for messages.
    pub fn scan_unvalidated<'t>(&'t self, table: &'t Table, range: KeyRange<'_>) -> Result<Scan<'t, 's>, Error> {
        // Who runs it again may see others.
        self.log_rows();
        self.scan_to(table, range, Intent::Unvalidated)
    }

    /// The rows whose primary key is in `range`, for a use with this intent.
    pub(crate) fn scan_to<'t>(
        &'t self,
        table: &'t Table,
        range: KeyRange<'_>,
        intent: Intent,
    ) -> Result<Scan<'t, 's>, Error> {
        self.use_for_scan(table)?;
        let bounds = range.encode(&table.keys)?;
        self.start_scan(table, (&table.primary, usize::MAX), (false, intent), bounds)
    }

    /// The rows whose indexed columns are in `range`, in the order of the index.
    pub fn scan_index<'t>(&'t self, table: &'t Table, index: &str, range: KeyRange<'_>) -> Result<Scan<'t, 's>, Error> {
        self.scan_index_to(table, index, range, Intent::to_read(table))
    }

    /// As [`Transaction::scan_index`], for rows that this transaction is about to change or to remove; see
    /// [`Transaction::get_for_update`].
    pub fn scan_index_for_update<'t>(
        &'t self,
        table: &'t Table,
        index: &str,
        range: KeyRange<'_>,
    ) -> Result<Scan<'t, 's>, Error> {
        self.refuse_write(table)?;
        self.scan_index_to(table, index, range, Intent::to_write(table))
    }

    /// The rows whose indexed columns are in `range`, for a use with this intent.
    pub(crate) fn scan_index_to<'t>(
        &'t self,
        table: &'t Table,
        index: &str,
        range: KeyRange<'_>,
        intent: Intent,
    ) -> Result<Scan<'t, 's>, Error> {
        self.use_for_scan(table)?;
        let index = table.open_index(index)?;
        let bounds = range.encode(&index.codec)?;
        let columns = index.codec.columns_as_of(&table.keys);
        self.start_scan(table, (&index.tree, columns), (true, intent), bounds)
    }

    /// The first row whose indexed columns begin with `key`: the only one, where the index is unique and `key` whole.
    pub fn get_by_index<'t>(
        &'t self,
        table: &'t Table,
        index: &str,
        key: &[Value<'_>],
    ) -> Result<Option<Row<'t>>, Error> {
        self.scan_index(table, index, KeyRange::prefix(key))?.next().transpose()
    }

    fn use_for_scan(&self, table: &Table) -> Result<(), Error> {
        match self.at_snapshot() {
            Some(at) => at.check(table),
            None => self.touch(&mut self.state(), table).map(|_| ()),
        }
    }

    /// Begins a scan of a tree, of whose columns so many are the first ones of the primary key.
    fn start_scan<'t>(
        &'t self,
        table: &'t Table,
        (tree, columns): (&'t RecordTree, usize),
        (is_index, intent): (bool, Intent),
        bounds: KeyBounds,
    ) -> Result<Scan<'t, 's>, Error> {
        self.shared.settle(table, Reach::Range(&bounds, columns), Use::of(intent))?;
        if self.at_snapshot().is_some() {
            return Ok(Scan(Kind::AtSnapshot(SnapshotScan::new(self, table, tree, is_index, bounds))));
        }
        let state = &mut **self.state();
        let mut scan = CurrentScan {
            transaction: self,
            table,
            tree,
            is_index,
            intent,
            bounds,
            leaf: state.leaf_scans.pop().unwrap_or_default(),
            placeholders_made: 0,
            last: None,
            next_entry: 0,
            expected: 0,
            has_begun: false,
            is_over: false,
        };
        scan.first_leaf(state)?;
        Ok(Scan(Kind::Current(scan)))
    }
}

impl<'t> CurrentScan<'t, '_> {
    fn first_leaf(&mut self, state: &mut TransactionState) -> Result<(), TransactionError> {
        self.read_leaf();
        self.enter_leaf(state)
    }

    /// Reads the leaf behind the record that was given last; the first one, where none was.
    fn read_leaf(&mut self) {
        let pin = self.transaction.pin();
        let last = self.last.map(|last| pin.get(last).key());
        let from = match (self.bounds.is_reversed, last, &self.bounds.high) {
            (false, Some(last), _) => ScanFrom::Above(last),
            (false, None, _) => ScanFrom::AtLeast(self.bounds.low.as_bytes()),
            (true, Some(last), _) => ScanFrom::Below(last),
            (true, None, Some(high)) => ScanFrom::Below(high.as_bytes()),
            (true, None, None) => ScanFrom::Last,
        };
        self.tree.scan_leaf(pin, from, &mut self.leaf);
    }

    /// Goes on to the next leaf of the range; `false` where there is none.
    fn next_leaf(&mut self, state: &mut TransactionState) -> Result<bool, TransactionError> {
        let within = match self.leaf.next(self.transaction.pin()) {
            None => false,
            Some(fence) if self.bounds.is_reversed => fence > self.bounds.low.as_bytes(),
            Some(fence) => self.bounds.high.as_ref().is_none_or(|high| fence < high.as_bytes()),
        };
        if within {
            yield_at(Point::Scanning);
            self.tree.scan_next(self.transaction.pin(), &mut self.leaf);
            (self.next_entry, self.expected) = (0, 0);
            faults::observe_later_leaf(|| self.enter_leaf(state))?;
        }
        Ok(within)
    }

    fn enter_leaf(&mut self, state: &mut TransactionState) -> Result<(), TransactionError> {
        let pin = self.transaction.pin();
        loop {
            (self.next_entry, self.expected) = (0, 0);
            self.placeholders_made = state.placeholders_made;
            if try_access!(state, control => control.scan(pin, self.leaf.read(), self.intent))? {
                return Ok(());
            }
            self.read_leaf();
        }
    }

    /// The next record of the range.
    fn next_record(&mut self, state: &mut TransactionState) -> Result<Option<Held<Record>>, TransactionError> {
        if faults::is_outdated(self.placeholders_made != state.placeholders_made) {
            // The transaction has put records into trees since: it may be another leaf.
            self.read_leaf();
            self.enter_leaf(state)?;
        }
        loop {
            if let Some(record) = self.leaf.entries.get(self.next_entry).copied() {
                if std::mem::replace(&mut self.has_begun, true) {
                    self.expect();
                }
                self.next_entry += 1;
                let key = self.transaction.pin().get(record).key();
                debug_assert!(
                    self.next_entry < 2 || {
                        let before = self.transaction.pin().get(self.leaf.entries[self.next_entry - 2]).key();
                        if self.bounds.is_reversed { before > key } else { before < key }
                    },
                    "a leaf is walked in the order of its keys"
                );
                if !self.bounds.contains(key) {
                    self.is_over = true;
                    return Ok(None);
                }
                self.last = Some(record);
                return Ok(Some(record));
            }
            if !self.next_leaf(state)? {
                self.is_over = true;
                return Ok(None);
            }
        }
    }

    /// Asks for the memory of the rows that come next, which lie anywhere: they are on the way together.
    #[inline]
    fn expect(&mut self) {
        let pin = self.transaction.pin();
        let entries = &self.leaf.entries;
        if !self.is_index {
            let soon = entries.len().min(self.next_entry + ROWS_AHEAD);
            entries[self.expected.min(soon)..soon]
                .iter()
                .for_each(|row| pin.get(*row).prefetch_version(EXPECTED_ROW_BYTES));
            self.expected = soon;
        } else if self.next_entry >= self.expected {
            let is_within = |entry: &&Held<Record>| self.bounds.contains(pin.get(**entry).key());
            let next = || entries[self.next_entry..].iter().take(ROWS_AHEAD).take_while(is_within);
            next().for_each(|entry| pin.get(*entry).prefetch_version(1));
            let primary_keys = next().filter_map(|entry| pin.get(*entry).version(pin)).map(Version::bytes);
            self.transaction.expect_keys(&self.table.primary, primary_keys);
            self.expected = self.next_entry + ROWS_AHEAD;
        }
    }

    /// The row behind the content of a record; an index entry leads to it.
    fn resolve(
        &self,
        state: &mut TransactionState,
        content: Content<'t>,
    ) -> Result<Option<Content<'t>>, TransactionError> {
        if !self.is_index {
            return Ok(Some(content));
        }
        // Both are in the read set: where the row has just moved away, validation will tell.
        let looked = self.transaction.look_up(state, &self.table.primary, content.bytes(), self.intent)?;
        Ok(looked.and_then(|(_, row)| row))
    }

    fn next_row(&mut self) -> Result<Option<Row<'t>>, TransactionError> {
        let transaction = self.transaction;
        let state = &mut **transaction.state();
        // Entries of an index are read, whatever becomes of the rows.
        let intent = match self.intent {
            Intent::Unordered => Intent::Unordered,
            _ if self.is_index => Intent::to_read(self.table),
            intent => intent,
        };
        while !self.is_over {
            let Some(record) = self.next_record(state)? else { break };
            // A record that has left the tree had no row: its leaf has changed, and validation will tell.
            let Some(Some(content)) = transaction.read(state, record, intent)? else { continue };
            if let Some(row) = self.resolve(state, content)? {
                return Ok(Some(self.table.rows.row(row.into_cow())));
            }
        }
        Ok(None)
    }
}

impl Drop for CurrentScan<'_, '_> {
    fn drop(&mut self) {
        // Where somebody has the state, the memory is given up.
        if let Ok(mut state) = self.transaction.state.try_borrow_mut()
            && state.leaf_scans.len() < LEAF_SCANS_KEPT
        {
            state.leaf_scans.push(std::mem::take(&mut self.leaf));
        }
    }
}

impl<'t> Iterator for Scan<'t, '_> {
    type Item = Result<Row<'t>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Kind::Current(scan) => {
                let row = scan.next_row();
                scan.is_over |= row.is_err();
                row.map_err(Error::from).transpose()
            }
            Kind::AtSnapshot(scan) => scan.next().transpose(),
        }
    }
}
