//! Rows that are found first and locked then, if nobody has them: what a queue of jobs needs (`SKIP LOCKED`).
//!
//! Where rows are locked, what is found here is a hint: it is neither observed nor locked, and who decides by it decides by
//! nothing that a commit validates. [`Transaction::get_if_free`] then reads one row as any access does that is about to write
//! it. So a transaction depends on the rows that it got, and not on the others: that a row is left out says nothing, neither
//! that another transaction has it nor that there is none.
//!
//! Where rows are not locked, what is found is observed as by any scan, and every row is free: of two transactions that change
//! the same one the second to commit meets a conflict.

use super::backlog::{Reach, Use};
use super::{Transaction, try_access};
use crate::concurrency::{ConcurrencyControl, Intent, with_scheme};
use crate::error::Error;
use crate::table::{KeyRange, Row, Table, Value};
use crate::transaction::scan::Scan;
use osier_memory::Lookup;

impl<'s> Transaction<'s> {
    /// The rows whose primary key, or whose columns of an index, are in `range`, to be locked one by one with
    /// [`Transaction::get_if_free`]. Nothing is locked yet, and nobody is waited for.
    pub fn scan_ahead<'t>(
        &'t self,
        table: &'t Table,
        index: Option<&str>,
        range: KeyRange<'_>,
    ) -> Result<Scan<'t, 's>, Error> {
        self.refuse_write(table)?;
        let intent = self.intent_ahead(table);
        match index {
            None => self.scan_to(table, range, intent),
            Some(index) => self.scan_index_to(table, index, range, intent),
        }
    }

    /// The row with this primary key, to be locked with [`Transaction::get_if_free`].
    pub fn get_ahead<'t>(&'t self, table: &'t Table, key: &[Value<'_>]) -> Result<Option<Row<'t>>, Error> {
        self.refuse_write(table)?;
        self.get_to(table, key, self.intent_ahead(table))
    }

    /// As [`Transaction::get_for_update`], if no other transaction has the row locked: it waits for none. `None` where there is
    /// no row, or it is not free.
    pub fn get_if_free<'t>(&'t self, table: &'t Table, key: &[Value<'_>]) -> Result<Option<Row<'t>>, Error> {
        self.refuse_write(table)?;
        if !self.locks_rows() {
            return self.get_to(table, key, Intent::to_write(table));
        }
        let state = &mut **self.state();
        self.touch(state, table)?;
        let key = table.keys.of_key(key)?;
        self.shared.settle(table, Reach::Key(key.as_bytes()), Use::Write)?;
        let Lookup::Found(record) = table.primary.get(self.pin(), key.as_bytes()) else { return Ok(None) };
        if !try_access!(state, control => control.try_lock(self.pin(), record))? {
            return Ok(None);
        }
        let content = self.read(state, record, Intent::to_write(table))?.flatten();
        Ok(content.map(|content| table.rows.row(content.into_cow())))
    }

    fn intent_ahead(&self, table: &Table) -> Intent {
        if self.locks_rows() { Intent::Unordered } else { Intent::to_write(table) }
    }

    fn locks_rows(&self) -> bool {
        self.at_snapshot().is_none() && with_scheme!(&self.state().scheme, control => control.owner().is_some())
    }
}
