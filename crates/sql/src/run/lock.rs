//! Rows that are locked when they have been found: `SKIP LOCKED`, and what is written beside it.
//!
//! Invariants:
//! - A row is given as it is now that it is locked.
//! - One that has changed since it was found is given only if it is still meant, or if that cannot be asked not at all.

use super::scan::{by_key, loaded, with_encoded};
use super::{AnyCursor, Context, Cursor, Row};
use crate::datum::Datum;
use crate::error::Result;
use crate::expr::Expr;
use crate::plan::{Changed, LockRows, LockedTable};

/// Locks the rows of tables that those of the input are made of.
pub(super) struct Locked<'c> {
    pub(super) input: AnyCursor<'c>,
    pub(super) lock: &'c LockRows,
    pub(super) context: &'c Context<'c>,
}

impl Cursor for Locked<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        while let Some(row) = self.input.next()? {
            if let Some(row) = lock_row(self.lock, row, self.context)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

/// Locks all that a row is made of; returns it as it is now, if it is still meant.
fn lock_row(lock: &LockRows, mut row: Row, context: &Context<'_>) -> Result<Option<Row>> {
    let mut has_changed = false;
    for table in &lock.tables {
        let columns = table.start..table.start + table.relation.columns.len();
        let Some(now) = lock_part(table, &row[columns.clone()], context)? else { return Ok(None) };
        has_changed |= now != row[columns.clone()];
        row.splice(columns, now);
    }
    let is_meant = match &lock.changed {
        Changed::Checked(condition) => !has_changed || Expr::holds(condition.as_ref(), &row, context)?,
        Changed::LeftOut => !has_changed,
    };
    Ok(is_meant.then_some(row))
}

/// Locks the row of one table; returns it as it is now, if it is there and, where others are skipped, free.
fn lock_part(table: &LockedTable, found: &[Datum], context: &Context<'_>) -> Result<Option<Row>> {
    let LockedTable { relation, skips, .. } = table;
    let key: Row = relation.key.iter().map(|at| found[*at].clone()).collect();
    if context.former.has(relation, &key) {
        return Ok(Some(found.to_vec()));
    }
    if !skips {
        return by_key(relation, &key, true, context);
    }
    let row = with_encoded(relation, &relation.key, &key, |key| context.store.get_if_free(&relation.table, key))?;
    row?.map(|row| loaded(&row, relation)).transpose()
}
