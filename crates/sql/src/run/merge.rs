//! Joins of sides that come in the order of their keys: each is read once, side by side.
//!
//! Invariants:
//! - Of the right the rows of one key are kept at a time, as many as there are, which count as memory.
//! - Keys come in rising order on both sides, apart from those with NULL, which nothing is equal to and which come anywhere.
//! - The rows of the left come in the order that they have.

use std::cmp::Ordering;

use super::join::{joined, nulls, values};
use super::{AnyCursor, Context, Cursor, Row, row_bytes};
use crate::datum::Datum;
use crate::error::Result;
use crate::expr::Expr;
use crate::plan::{Join, JoinKind};

/// Begins to run a join of sides with these keys.
pub(crate) fn open<'c>(
    join: &'c Join,
    keys: (&'c [Expr], &'c [Expr]),
    context: &'c Context<'c>,
) -> Result<AnyCursor<'c>> {
    let left = super::open(&join.left, context)?;
    let right = Right { rows: super::open(&join.right, context)?, keys: keys.1, ahead: None, is_over: false, context };
    Ok(Box::new(Merge {
        join,
        left,
        left_keys: keys.0,
        right,
        group: Group::default(),
        waiting: None,
        current: None,
        is_left_over: false,
        context,
    }))
}

/// A row of the right with its key.
type Keyed = (Row, Row);

/// The right side.
struct Right<'c> {
    rows: AnyCursor<'c>,
    keys: &'c [Expr],
    /// The row that was read last, and is not part of a group yet.
    ahead: Option<Keyed>,
    is_over: bool,
    context: &'c Context<'c>,
}

impl Right<'_> {
    /// Reads a row, if there is none ahead.
    fn look_ahead(&mut self) -> Result<Option<&Keyed>> {
        if self.ahead.is_none() && !self.is_over {
            match self.rows.next()? {
                Some(row) => {
                    self.context.tick()?;
                    self.ahead = Some((values(self.keys, &row, self.context)?, row));
                }
                None => self.is_over = true,
            }
        }
        Ok(self.ahead.as_ref())
    }
}

/// The rows of the right with one key.
#[derive(Default)]
struct Group {
    key: Option<Row>,
    rows: Vec<Row>,
    /// Which of them have had a partner.
    is_matched: Vec<bool>,
    /// Up to where those without a partner have been given, once no row of the left has their key any more.
    alone: usize,
    /// What it takes of memory.
    bytes: usize,
}

struct Merge<'c> {
    join: &'c Join,
    left: AnyCursor<'c>,
    left_keys: &'c [Expr],
    right: Right<'c>,
    group: Group,
    /// A row of the left with its key, as long as the right has not come to that.
    waiting: Option<Keyed>,
    /// The row of the left that is gone through with its partners.
    current: Option<Current>,
    is_left_over: bool,
    context: &'c Context<'c>,
}

/// A row of the left with its key, which row of the group is next, and whether it has had a partner.
struct Current {
    row: Row,
    key: Row,
    next: usize,
    has_partner: bool,
}

fn has_null(key: &[Datum]) -> bool {
    key.iter().any(Datum::is_null)
}

impl Merge<'_> {
    /// The next row of the right that will have no partner; the group is given up for that.
    fn unmatched(&mut self) -> Option<Row> {
        let keeps = matches!(self.join.kind, JoinKind::Right | JoinKind::Full);
        while keeps && self.group.alone < self.group.rows.len() {
            let at = self.group.alone;
            self.group.alone += 1;
            if !self.group.is_matched[at] {
                return Some(joined(&nulls(self.join.left_columns), &self.group.rows[at]));
            }
        }
        None
    }

    /// Goes on with the right until its group has this key or a greater one (`None`: to the end). Returns a row on the way that
    /// has no partner.
    fn advance(&mut self, key: Option<&Row>) -> Result<Option<Row>> {
        loop {
            let reached = match (&self.group.key, key) {
                (Some(own), Some(key)) if !has_null(own) => own.cmp(key) != Ordering::Less,
                _ => false,
            };
            if reached {
                return Ok(None);
            }
            if let Some(row) = self.unmatched() {
                return Ok(Some(row));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Reads the next group. Returns whether there is one.
    fn fill(&mut self) -> Result<bool> {
        self.context.release(self.context.kept().saturating_sub(self.group.bytes));
        self.group = Group::default();
        if self.right.look_ahead()?.is_none() {
            return Ok(false);
        }
        while let Some((key, row)) = self.right.ahead.take() {
            let is_first = self.group.key.is_none();
            if !is_first && (has_null(&key) || self.group.key.as_ref() != Some(&key)) {
                self.right.ahead = Some((key, row));
                break;
            }
            debug_assert!(is_first || !has_null(&key), "NULL is equal to nothing");
            let bytes = row_bytes(&row) + row_bytes(&key);
            self.context.keep(bytes)?;
            self.group.bytes += bytes;
            self.group.key = Some(key);
            self.group.rows.push(row);
            self.group.is_matched.push(false);
            self.right.look_ahead()?;
        }
        Ok(true)
    }

    /// The next row of the one of the left that is gone through.
    fn partner(&mut self) -> Result<Option<Row>> {
        let (join, context) = (self.join, self.context);
        let Some(current) = &mut self.current else { return Ok(None) };
        let is_equal = !has_null(&current.key) && self.group.key.as_ref() == Some(&current.key);
        while is_equal && current.next < self.group.rows.len() {
            context.tick()?;
            let at = current.next;
            current.next += 1;
            let row = joined(&current.row, &self.group.rows[at]);
            if Expr::holds(join.condition.as_ref(), &row, context)? {
                (current.has_partner, self.group.is_matched[at]) = (true, true);
                return Ok(Some(row));
            }
        }
        let is_alone = matches!(join.kind, JoinKind::Left | JoinKind::Full) && !current.has_partner;
        let alone = is_alone.then(|| joined(&current.row, &nulls(join.right_columns)));
        self.current = None;
        Ok(alone)
    }
}

impl Cursor for Merge<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(row) = self.partner()? {
                return Ok(Some(row));
            }
            if self.waiting.is_none() && !self.is_left_over {
                match self.left.next()? {
                    Some(row) => {
                        self.context.tick()?;
                        self.waiting = Some((values(self.left_keys, &row, self.context)?, row));
                    }
                    None => self.is_left_over = true,
                }
            }
            let Some((key, row)) = self.waiting.take() else { return self.advance(None) };
            if !has_null(&key)
                && let Some(unmatched) = self.advance(Some(&key))?
            {
                self.waiting = Some((key, row));
                return Ok(Some(unmatched));
            }
            self.current = Some(Current { row, key, next: 0, has_partner: false });
        }
    }
}
