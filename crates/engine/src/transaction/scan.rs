//! Reading ranges, forward and backward, over the primary key or a secondary index.
//!
//! Invariants:
//! - A range that one row has at most, a whole key of a unique index, is looked up as that key, as [`Transaction::get`] does:
//!   what else changes in its leaf is no conflict.
//! - A leaf is noted as read before any of its records: a key that appears in it afterwards fails validation.
//! - Records without a row are noted too. They may be placeholders of transactions about to commit, which change no leaf.
//! - A scan sees the transaction's own writes as they are when it comes to them, those that it has made since the scan began too.
//!   So what a procedure does does not depend on where leaves end, which differs from one run to the next.

use std::sync::Arc;

use osier_memory::{Held, LeafScan, Record, ScanFrom, Version};

use super::access::{Content, EXPECTED_ROW_BYTES, ROWS_AHEAD};
use super::backlog::{Reach, Use};
use super::snapshot_scan::SnapshotScan;
use super::{Transaction, TransactionState, faults, try_access};
use crate::concurrency::{ConcurrencyControl, Intent};
use crate::error::{Error, TransactionError};
use crate::failpoint::{Point, yield_at};
use crate::table::store::RecordTree;
use crate::table::{KeyBounds, KeyBuf, KeyCodec, KeyRange, Row, Table, Value};

/// How many finished scans leave their memory to the next ones.
const LEAF_SCANS_KEPT: usize = 4;

/// The rows of a range, in key order; made by [`Transaction::scan`] and [`Transaction::scan_index`].
pub struct Scan<'t, 's>(Kind<'t, 's>);

enum Kind<'t, 's> {
    Current(CurrentScan<'t, 's>),
    /// Of one key, until it was looked up.
    OfOne(Option<OneKey<'t, 's>>),
    AtSnapshot(SnapshotScan<'t, 's>),
}

/// What a scan does with the rows of one tree.
#[derive(Clone, Copy)]
struct Walk<'t, 's> {
    transaction: &'t Transaction<'s>,
    table: &'t Table,
    tree: &'t Arc<RecordTree>,
    is_index: bool,
    /// What rows are read for.
    intent: Intent,
}

/// A key that one row has at most.
struct OneKey<'t, 's> {
    walk: Walk<'t, 's>,
    key: KeyBuf,
}

/// A scan of what there is now.
struct CurrentScan<'t, 's> {
    walk: Walk<'t, 's>,
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
        let walk = Walk { transaction: self, table, tree: &table.primary, is_index: false, intent };
        walk.start((&table.keys, usize::MAX), range)
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
        let walk = Walk { transaction: self, table, tree: &index.tree, is_index: true, intent };
        walk.start((&index.codec, index.codec.columns_as_of(&table.keys)), range)
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
}

impl<'t, 's> Walk<'t, 's> {
    /// Begins a scan of a range of keys, of whose columns so many are the first ones of the primary key.
    fn start(self, (codec, columns): (&KeyCodec, usize), range: KeyRange<'_>) -> Result<Scan<'t, 's>, Error> {
        let Walk { transaction, table, tree, is_index, intent } = self;
        let bounds = range.encode(codec)?;
        transaction.shared.settle(table, Reach::Range(&bounds, columns), Use::of(intent))?;
        if transaction.at_snapshot().is_some() {
            return Ok(Scan(Kind::AtSnapshot(SnapshotScan::new(transaction, table, tree, is_index, bounds))));
        }
        if range.whole_prefix().is_some_and(|key| codec.finds_one(key)) {
            return Ok(Scan(Kind::OfOne(Some(OneKey { walk: self, key: bounds.low }))));
        }
        let state = &mut **transaction.state();
        let mut scan = CurrentScan {
            walk: self,
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

    /// What is read in the tree is read for this: entries of an index are read, whatever becomes of the rows.
    fn intent_in_tree(&self) -> Intent {
        match self.intent {
            Intent::Unordered => Intent::Unordered,
            _ if self.is_index => Intent::to_read(self.table),
            intent => intent,
        }
    }

    /// The row behind the content of a record; an index entry leads to it.
    fn resolve(&self, state: &mut TransactionState, content: Content<'t>) -> Result<Option<Row<'t>>, TransactionError> {
        let content = match self.is_index {
            false => Some(content),
            // Both are in the read set: where the row has just moved away, validation will tell.
            true => {
                let primary = &self.table.primary;
                let looked = self.transaction.look_up(state, primary, content.bytes(), self.intent)?;
                looked.and_then(|(_, row)| row)
            }
        };
        Ok(content.map(|content| self.table.rows.row(content.into_cow())))
    }
}

impl<'t> OneKey<'t, '_> {
    fn row(self) -> Result<Option<Row<'t>>, TransactionError> {
        let OneKey { walk, key } = self;
        let state = &mut **walk.transaction.state();
        let looked = walk.transaction.look_up(state, walk.tree, key.as_bytes(), walk.intent_in_tree())?;
        match looked {
            Some((_, Some(content))) => walk.resolve(state, content),
            _ => Ok(None),
        }
    }
}

impl<'t> CurrentScan<'t, '_> {
    fn first_leaf(&mut self, state: &mut TransactionState) -> Result<(), TransactionError> {
        self.read_leaf();
        self.enter_leaf(state)
    }

    /// Reads the leaf behind the record that was given last; the first one, where none was.
    fn read_leaf(&mut self) {
        let pin = self.walk.transaction.pin();
        let last = self.last.map(|last| pin.get(last).key());
        let from = match (self.bounds.is_reversed, last, &self.bounds.high) {
            (false, Some(last), _) => ScanFrom::Above(last),
            (false, None, _) => ScanFrom::AtLeast(self.bounds.low.as_bytes()),
            (true, Some(last), _) => ScanFrom::Below(last),
            (true, None, Some(high)) => ScanFrom::Below(high.as_bytes()),
            (true, None, None) => ScanFrom::Last,
        };
        self.walk.tree.scan_leaf(pin, from, &mut self.leaf);
    }

    /// Goes on to the next leaf of the range; `false` where there is none.
    fn next_leaf(&mut self, state: &mut TransactionState) -> Result<bool, TransactionError> {
        let within = match self.leaf.next(self.walk.transaction.pin()) {
            None => false,
            Some(fence) if self.bounds.is_reversed => fence > self.bounds.low.as_bytes(),
            Some(fence) => self.bounds.high.as_ref().is_none_or(|high| fence < high.as_bytes()),
        };
        if within {
            yield_at(Point::Scanning);
            self.walk.tree.scan_next(self.walk.transaction.pin(), &mut self.leaf);
            (self.next_entry, self.expected) = (0, 0);
            faults::observe_later_leaf(|| self.enter_leaf(state))?;
        }
        Ok(within)
    }

    fn enter_leaf(&mut self, state: &mut TransactionState) -> Result<(), TransactionError> {
        let pin = self.walk.transaction.pin();
        loop {
            (self.next_entry, self.expected) = (0, 0);
            self.placeholders_made = state.placeholders_made;
            if try_access!(state, control => control.scan(pin, self.leaf.read(), self.walk.intent))? {
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
                let key = self.walk.transaction.pin().get(record).key();
                debug_assert!(
                    self.next_entry < 2 || {
                        let before = self.walk.transaction.pin().get(self.leaf.entries[self.next_entry - 2]).key();
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
        let pin = self.walk.transaction.pin();
        let entries = &self.leaf.entries;
        if !self.walk.is_index {
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
            self.walk.transaction.expect_keys(&self.walk.table.primary, primary_keys);
            self.expected = self.next_entry + ROWS_AHEAD;
        }
    }

    fn next_row(&mut self) -> Result<Option<Row<'t>>, TransactionError> {
        let transaction = self.walk.transaction;
        let (state, intent) = (&mut **transaction.state(), self.walk.intent_in_tree());
        while !self.is_over {
            let Some(record) = self.next_record(state)? else { break };
            // A record that has left the tree had no row: its leaf has changed, and validation will tell.
            let Some(Some(content)) = transaction.read(state, record, intent)? else { continue };
            if let Some(row) = self.walk.resolve(state, content)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

impl Drop for CurrentScan<'_, '_> {
    fn drop(&mut self) {
        // Where somebody has the state, the memory is given up.
        if let Ok(mut state) = self.walk.transaction.state.try_borrow_mut()
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
            Kind::OfOne(key) => key.take()?.row().map_err(Error::from).transpose(),
            Kind::AtSnapshot(scan) => scan.next().transpose(),
        }
    }
}
