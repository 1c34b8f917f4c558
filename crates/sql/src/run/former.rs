//! Rows as they were before a statement, for what reads a table that the statement has written already.
//!
//! Invariants:
//! - A statement sees no row that it has written itself, nor that one which it has written is gone: what is read after a write
//!   is read here.
//! - Of a key is kept what it had before the first write of the statement.
//! - A scan is not open while its table is written.
//! - Only tables are kept that the plan says may be read again: [`Query::reread`](crate::plan::Query).

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use osier::ids::TableId;

use super::scan::{loaded, not_at_once};
use super::store::Scanned;
use super::{Context, Cursor, Row, row_bytes};
use crate::catalog::relation::Relation;
use crate::datum::Datum;
use crate::error::Result;
use crate::expr::Expr;
use crate::plan::Scan;

/// What a statement has written over, by table and primary key. A key that had no row has `None`.
#[derive(Debug, Default)]
pub(crate) struct Former {
    tables: RefCell<Vec<(TableId, Versions)>>,
}

type Versions = BTreeMap<Row, Option<Row>>;

impl Former {
    /// Begins to keep rows of some tables.
    pub(crate) fn of(tables: &[TableId]) -> Former {
        let tables = tables.iter().map(|table| (*table, Versions::new()));
        Former { tables: RefCell::new(tables.collect()) }
    }

    /// Keeps what was there of a key that is written.
    pub(crate) fn keep(
        &self,
        relation: &Relation,
        key: impl FnOnce() -> Row,
        row: Option<&[Datum]>,
        context: &Context<'_>,
    ) -> Result<()> {
        let mut tables = self.tables.borrow_mut();
        let Some((_, versions)) = tables.iter_mut().find(|(table, _)| *table == relation.table.id()) else {
            return Ok(());
        };
        if let Entry::Vacant(free) = versions.entry(key()) {
            context.keep(row_bytes(free.key()) + row.map_or(0, row_bytes))?;
            free.insert(row.map(<[Datum]>::to_vec));
        }
        Ok(())
    }

    fn in_table<T>(&self, relation: &Relation, act: impl FnOnce(&Versions) -> T) -> Option<T> {
        let tables = self.tables.borrow();
        let (_, versions) = tables.iter().find(|(table, _)| *table == relation.table.id())?;
        (!versions.is_empty()).then(|| act(versions))
    }

    /// Whether the statement has written the row with a key.
    pub(super) fn has(&self, relation: &Relation, key: &[Datum]) -> bool {
        self.in_table(relation, |versions| versions.contains_key(key)).unwrap_or(false)
    }

    /// The row that had a key, if the statement has written it.
    pub(super) fn by_key(&self, relation: &Relation, key: &[Datum]) -> Option<Option<Row>> {
        self.in_table(relation, |versions| versions.get(key).cloned()).flatten()
    }

    /// The rows that are meant of those that the statement has written over; `None` where it has written none.
    pub(super) fn rows(&self, relation: &Relation, is_meant: impl Fn(&[Datum]) -> bool) -> Option<Vec<Row>> {
        self.in_table(relation, |versions| versions.values().flatten().filter(|row| is_meant(row)).cloned().collect())
    }
}

/// A range of a table that the statement has written.
pub(super) struct Merged<'c> {
    scan: &'c Scan,
    /// The order of the range.
    columns: Vec<usize>,
    rows: Scanned<'c>,
    /// The next one of these.
    row: Option<Row>,
    /// What the statement has written over, in reverse order.
    former: Vec<Row>,
    context: &'c Context<'c>,
}

impl<'c> Merged<'c> {
    /// Puts rows that were written over among those of a range, which are ordered by some columns and then by the key.
    pub(super) fn new(
        scan: &'c Scan,
        mut columns: Vec<usize>,
        rows: Scanned<'c>,
        mut former: Vec<Row>,
        context: &'c Context<'c>,
    ) -> Merged<'c> {
        columns.extend(&scan.relation.key);
        let mut merged = Merged { scan, columns, rows, row: None, former: Vec::new(), context };
        former.sort_by(|a, b| merged.order(b, a));
        merged.former = former;
        merged
    }

    /// The order of the engine: NULL comes first.
    fn order(&self, a: &[Datum], b: &[Datum]) -> Ordering {
        let compare = |at: &usize| match (&a[*at], &b[*at]) {
            (Datum::Null, Datum::Null) => Ordering::Equal,
            (Datum::Null, _) => Ordering::Less,
            (_, Datum::Null) => Ordering::Greater,
            (a, b) => a.cmp(b),
        };
        let order = self.columns.iter().map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal);
        if self.scan.is_reversed { order.reverse() } else { order }
    }

    /// The next row of the range that the statement has not written.
    fn untouched(&mut self) -> Result<Option<Row>> {
        let relation = &self.scan.relation;
        for row in &mut self.rows {
            self.context.tick()?;
            let row = loaded(&row.map_err(|error| not_at_once(self.scan, error.into()))?, relation)?;
            let key: Row = relation.key.iter().map(|at| row[*at].clone()).collect();
            if !self.context.former.has(relation, &key) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

impl Cursor for Merged<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        loop {
            self.context.tick()?;
            if self.row.is_none() {
                self.row = self.untouched()?;
            }
            let is_former = match (&self.row, self.former.last()) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(row), Some(former)) => self.order(former, row).is_lt(),
            };
            let Some(row) = (if is_former { self.former.pop() } else { self.row.take() }) else { return Ok(None) };
            if Expr::holds(self.scan.filter.as_ref(), &row, self.context)? {
                return Ok(Some(row));
            }
        }
    }
}
