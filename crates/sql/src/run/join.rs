//! Joins: the right side is opened for each row of the left, or kept and looked up.

use std::collections::HashMap;

use super::set::all;
use super::{AnyCursor, Context, Cursor, Row};
use crate::datum::Datum;
use crate::error::Result;
use crate::expr::Expr;
use crate::plan::{Join, JoinKind, Method};

/// Begins to run a join.
pub(crate) fn open<'c>(join: &'c Join, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
    let left = super::open(&join.left, context)?;
    if let Method::Nested(captures) = &join.method {
        return Ok(Box::new(Nested { join, captures, left, current: None, kept: 0, context }));
    }
    let right = all(&join.right, context)?;
    let mut by_key: HashMap<Row, Vec<usize>> = HashMap::new();
    if let Method::Hash { right: keys, .. } = &join.method {
        for (at, row) in right.iter().enumerate() {
            let key = values(keys, row, context)?;
            if !key.iter().any(Datum::is_null) {
                by_key.entry(key).or_default().push(at);
            }
        }
    }
    let is_matched = vec![false; right.len()];
    Ok(Box::new(Kept {
        join,
        left,
        right,
        by_key,
        is_matched,
        pending: Vec::new().into_iter(),
        unmatched: None,
        context,
    }))
}

fn values(exprs: &[Expr], row: &[Datum], context: &Context<'_>) -> Result<Row> {
    exprs.iter().map(|expr| expr.evaluate(row, context)).collect()
}

fn joined(left: &[Datum], right: &[Datum]) -> Row {
    left.iter().chain(right).cloned().collect()
}

fn nulls(count: usize) -> Row {
    vec![Datum::Null; count]
}

/// The right is opened again for each row of the left.
struct Nested<'c> {
    join: &'c Join,
    captures: &'c [(usize, Expr)],
    left: AnyCursor<'c>,
    /// The row of the left, its partners, and whether it has had one.
    current: Option<(Row, AnyCursor<'c>, bool)>,
    /// What operators kept before the partners were looked for.
    kept: usize,
    context: &'c Context<'c>,
}

impl Cursor for Nested<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        let (join, context) = (self.join, self.context);
        loop {
            let Some((left, right, has_partner)) = &mut self.current else {
                let Some(left) = self.left.next()? else { return Ok(None) };
                for (register, expr) in self.captures {
                    let value = expr.evaluate(&left, context)?;
                    context.set_register(*register, value);
                }
                self.kept = context.kept();
                self.current = Some((left, super::open(&join.right, context)?, false));
                continue;
            };
            context.tick()?;
            let Some(partner) = right.next()? else {
                let is_alone = !*has_partner;
                let (left, ..) = self.current.take().expect("it is there");
                context.release(self.kept);
                if join.kind == JoinKind::Left && is_alone {
                    return Ok(Some(joined(&left, &nulls(join.right_columns))));
                }
                continue;
            };
            let row = joined(left, &partner);
            if !Expr::holds(join.condition.as_ref(), &row, context)? {
                continue;
            }
            *has_partner = true;
            return Ok(Some(row));
        }
    }
}

/// The right is kept, and looked up by key or through.
struct Kept<'c> {
    join: &'c Join,
    left: AnyCursor<'c>,
    right: Vec<Row>,
    by_key: HashMap<Row, Vec<usize>>,
    /// Of the right: which rows have had a partner.
    is_matched: Vec<bool>,
    /// Rows that were made of one of the left.
    pending: std::vec::IntoIter<Row>,
    /// Where the rows of the right without a partner are gone through, once the left is over.
    unmatched: Option<usize>,
    context: &'c Context<'c>,
}

impl Kept<'_> {
    /// What becomes of a row of the left.
    fn partners(&mut self, left: Row) -> Result<Vec<Row>> {
        let (join, context) = (self.join, self.context);
        let found;
        let candidates: &mut dyn Iterator<Item = usize> = match &join.method {
            Method::Hash { left: keys, .. } => {
                found = self.by_key.get(&values(keys, &left, context)?);
                &mut found.into_iter().flatten().copied()
            }
            _ => &mut (0..self.right.len()),
        };
        let (mut rows, mut has_partner) = (Vec::new(), false);
        for at in candidates {
            context.tick()?;
            let row = joined(&left, &self.right[at]);
            if !Expr::holds(join.condition.as_ref(), &row, context)? {
                continue;
            }
            (has_partner, self.is_matched[at]) = (true, true);
            rows.push(row);
        }
        if matches!(join.kind, JoinKind::Left | JoinKind::Full) && !has_partner {
            rows.push(joined(&left, &nulls(join.right_columns)));
        }
        Ok(rows)
    }
}

impl Cursor for Kept<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(row) = self.pending.next() {
                return Ok(Some(row));
            }
            if let Some(at) = &mut self.unmatched {
                let Some(row) = self.right.get(*at) else { return Ok(None) };
                *at += 1;
                if !self.is_matched[*at - 1] {
                    return Ok(Some(joined(&nulls(self.join.left_columns), row)));
                }
                continue;
            }
            match self.left.next()? {
                Some(left) => self.pending = self.partners(left)?.into_iter(),
                None if matches!(self.join.kind, JoinKind::Right | JoinKind::Full) => self.unmatched = Some(0),
                None => return Ok(None),
            }
        }
    }
}
