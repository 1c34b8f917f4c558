//! Joins: the right side is opened for each row of the left, or kept and looked up.

use std::collections::HashMap;
use std::rc::Rc;

use super::set::all;
use super::{AnyCursor, Context, Cursor, Row, merge};
use crate::datum::Datum;
use crate::error::Result;
use crate::expr::Expr;
use crate::plan::{Join, JoinKind, Method};

/// Begins to run a join.
pub(crate) fn open<'c>(join: &'c Join, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
    if let Method::Merge { left, right } = &join.method {
        return merge::open(join, (left, right), context);
    }
    let left = super::open(&join.left, context)?;
    if let Method::Nested(captures) = &join.method {
        return Ok(Box::new(Nested { join, captures, left, current: None, kept: 0, context }));
    }
    let right = all(&join.right, context)?;
    let mut by_key: HashMap<Row, Vec<usize>> = HashMap::new();
    if let Method::Hash { right: keys, .. } = &join.method {
        for (at, row) in right.iter().enumerate() {
            context.tick()?;
            let key = values(keys, row, context)?;
            if !key.iter().any(Datum::is_null) {
                context.keep(size_of::<usize>())?;
                by_key.entry(key).or_default().push(at);
            }
        }
    }
    let by_key = by_key.into_iter().map(|(key, places)| (key, places.into())).collect();
    let is_matched = vec![false; right.len()];
    Ok(Box::new(Kept { join, left, right, by_key, is_matched, current: None, unmatched: None, context }))
}

pub(super) fn values(exprs: &[Expr], row: &[Datum], context: &Context<'_>) -> Result<Row> {
    exprs.iter().map(|expr| expr.evaluate(row, context)).collect()
}

pub(super) fn joined(left: &[Datum], right: &[Datum]) -> Row {
    left.iter().chain(right).cloned().collect()
}

pub(super) fn nulls(count: usize) -> Row {
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
                context.capture(self.captures, &left)?;
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
    by_key: HashMap<Row, Rc<[usize]>>,
    /// Of the right: which rows have had a partner.
    is_matched: Vec<bool>,
    /// The row of the left that is gone through with its partners.
    current: Option<Current>,
    /// Where the rows of the right without a partner are gone through, once the left is over.
    unmatched: Option<usize>,
    context: &'c Context<'c>,
}

/// A row of the left, and how far its partners have been looked at.
struct Current {
    left: Row,
    /// Which rows of the right have its key; `None`: all are looked at.
    candidates: Option<Rc<[usize]>>,
    next: usize,
    has_partner: bool,
}

impl Current {
    fn candidate(&mut self, right: usize) -> Option<usize> {
        let place = match &self.candidates {
            Some(candidates) => candidates.get(self.next).copied(),
            None => Some(self.next).filter(|place| *place < right),
        };
        self.next += 1;
        place
    }
}

impl Kept<'_> {
    /// Begins with a row of the left.
    fn begin(&mut self, left: Row) -> Result<()> {
        let candidates = match &self.join.method {
            Method::Hash { left: keys, .. } => {
                let key = values(keys, &left, self.context)?;
                Some(self.by_key.get(&key).cloned().unwrap_or_default())
            }
            _ => None,
        };
        self.current = Some(Current { left, candidates, next: 0, has_partner: false });
        Ok(())
    }

    /// The next row of the one of the left that is gone through.
    fn partner(&mut self) -> Result<Option<Row>> {
        let (join, context) = (self.join, self.context);
        let Some(current) = &mut self.current else { return Ok(None) };
        while let Some(at) = current.candidate(self.right.len()) {
            context.tick()?;
            let row = joined(&current.left, &self.right[at]);
            if Expr::holds(join.condition.as_ref(), &row, context)? {
                (current.has_partner, self.is_matched[at]) = (true, true);
                return Ok(Some(row));
            }
        }
        let is_alone = matches!(join.kind, JoinKind::Left | JoinKind::Full) && !current.has_partner;
        let alone = is_alone.then(|| joined(&current.left, &nulls(join.right_columns)));
        self.current = None;
        Ok(alone)
    }
}

impl Cursor for Kept<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(row) = self.partner()? {
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
                Some(left) => self.begin(left)?,
                None if matches!(self.join.kind, JoinKind::Right | JoinKind::Full) => self.unmatched = Some(0),
                None => return Ok(None),
            }
        }
    }
}
