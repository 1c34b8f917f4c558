//! Operators on sets of rows: lists of values, limits, duplicates, unions, and functions that return sets.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::{AnyCursor, Context, Cursor, Row, evaluate, open, row_bytes};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::function::{ResolvedSet, Rows};
use crate::plan::{CommonTable, Item, Limit, Plan, Recursion, Series, SetOperation};

/// `VALUES`.
pub(crate) struct ValuesCursor<'c> {
    rows: std::slice::Iter<'c, Vec<Expr>>,
    context: &'c Context<'c>,
}

impl<'c> ValuesCursor<'c> {
    pub(crate) fn new(rows: &'c [Vec<Expr>], context: &'c Context<'c>) -> ValuesCursor<'c> {
        ValuesCursor { rows: rows.iter(), context }
    }
}

impl Cursor for ValuesCursor<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        let Some(exprs) = self.rows.next() else { return Ok(None) };
        self.context.tick()?;
        evaluate::values(exprs, &[], self.context).map(Some)
    }
}

/// `LIMIT` and `OFFSET`.
pub(crate) fn open_limit<'c>(limit: &'c Limit, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
    let count = |expr: &Option<Expr>, name: &str, state| match expr.as_ref().map(|expr| expr.evaluate(&[], context)) {
        None => Ok(None),
        Some(Ok(Datum::Int(count))) if count >= 0 => Ok(Some(count as u64)),
        Some(Ok(Datum::Null)) => Ok(None),
        Some(Ok(_)) => Err(SqlError::new(state, format!("{name} must not be negative"))),
        Some(Err(error)) => Err(error),
    };
    let offset = count(&limit.offset, "OFFSET", SqlState::InvalidRowCountInOffsetClause)?.unwrap_or(0);
    let left = count(&limit.limit, "LIMIT", SqlState::InvalidRowCountInLimitClause)?.unwrap_or(u64::MAX);
    Ok(Box::new(Limited { input: open(&limit.input, context)?, offset, left, context }))
}

struct Limited<'c> {
    input: AnyCursor<'c>,
    offset: u64,
    left: u64,
    context: &'c Context<'c>,
}

impl Cursor for Limited<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        if self.left == 0 {
            return Ok(None);
        }
        while self.offset > 0 {
            self.context.tick()?;
            self.offset -= 1;
            if self.input.next()?.is_none() {
                self.left = 0;
                return Ok(None);
            }
        }
        self.left -= 1;
        self.input.next()
    }
}

/// Rows without duplicates. Where a number is given, those with the same first values are duplicates, and they follow each
/// other.
pub(crate) struct Distinct<'c> {
    input: AnyCursor<'c>,
    keys: Option<usize>,
    seen: HashSet<Row>,
    last: Option<Row>,
    context: &'c Context<'c>,
}

impl<'c> Distinct<'c> {
    pub(crate) fn new(input: AnyCursor<'c>, keys: Option<usize>, context: &'c Context<'c>) -> Distinct<'c> {
        Distinct { input, keys, seen: HashSet::new(), last: None, context }
    }
}

impl Cursor for Distinct<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        while let Some(row) = self.input.next()? {
            self.context.tick()?;
            match self.keys {
                Some(keys) if self.last.as_ref().is_some_and(|last| last[..keys] == row[..keys]) => {}
                Some(_) => {
                    self.last = Some(row.clone());
                    return Ok(Some(row));
                }
                None if self.seen.contains(&row) => {}
                None => {
                    self.context.keep(row_bytes(&row))?;
                    self.seen.insert(row.clone());
                    return Ok(Some(row));
                }
            }
        }
        Ok(None)
    }
}

/// The rows of several plans.
pub(crate) struct Appended<'c> {
    plans: std::slice::Iter<'c, Plan>,
    current: Option<AnyCursor<'c>>,
    context: &'c Context<'c>,
}

impl<'c> Appended<'c> {
    pub(crate) fn new(plans: &'c [Plan], context: &'c Context<'c>) -> Appended<'c> {
        Appended { plans: plans.iter(), current: None, context }
    }
}

impl Cursor for Appended<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(current) = &mut self.current
                && let Some(row) = current.next()?
            {
                return Ok(Some(row));
            }
            let Some(plan) = self.plans.next() else { return Ok(None) };
            self.current = Some(open(plan, self.context)?);
        }
    }
}

/// `INTERSECT` and `EXCEPT`.
pub(crate) fn intersect(operation: &SetOperation, context: &Context<'_>) -> Result<Vec<Row>> {
    let mut right: HashMap<Row, u64> = HashMap::new();
    let mut cursor = open(&operation.right, context)?;
    while let Some(row) = cursor.next()? {
        context.tick()?;
        context.keep(row_bytes(&row))?;
        *right.entry(row).or_default() += 1;
    }
    let mut given = HashSet::new();
    let mut rows = Vec::new();
    let mut left = open(&operation.left, context)?;
    while let Some(row) = left.next()? {
        context.tick()?;
        let count = right.get_mut(&row).filter(|count| **count > 0);
        let is_there = count.is_some();
        if operation.is_all
            && let Some(count) = count
        {
            *count -= 1;
        }
        if is_there != operation.is_except && (operation.is_all || given.insert(row.clone())) {
            context.keep(row_bytes(&row))?;
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Expressions beside functions that return sets.
pub(crate) struct ProjectedSet<'c> {
    input: AnyCursor<'c>,
    items: &'c [Item],
    /// Of the current row: values, and what is left of sets.
    current: Vec<Produced>,
    context: &'c Context<'c>,
}

enum Produced {
    One(Datum),
    Set(Box<dyn Iterator<Item = Result<Datum>>>),
}

impl<'c> ProjectedSet<'c> {
    pub(crate) fn new(input: AnyCursor<'c>, items: &'c [Item], context: &'c Context<'c>) -> ProjectedSet<'c> {
        ProjectedSet { input, items, current: Vec::new(), context }
    }

    fn begin(&mut self, row: &[Datum]) -> Result<()> {
        let context = self.context;
        let produce = |item: &Item| {
            Ok(match item {
                Item::One(expr) => Produced::One(expr.held(row, context)?),
                Item::Set(function, arguments) => {
                    let arguments = evaluate::values(arguments, row, context)?;
                    Produced::Set(function.evaluate(context.environment, &arguments)?)
                }
            })
        };
        let held = context.held();
        let current: Result<Vec<Produced>> = self.items.iter().map(produce).collect();
        context.let_go(held);
        self.current = current?;
        Ok(())
    }
}

impl Cursor for ProjectedSet<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        loop {
            self.context.tick()?;
            let mut has_more = false;
            let mut row = Row::with_capacity(self.current.len());
            for produced in &mut self.current {
                row.push(match produced {
                    Produced::One(value) => value.clone(),
                    Produced::Set(set) => match set.next() {
                        Some(value) => {
                            has_more = true;
                            value?
                        }
                        None => Datum::Null,
                    },
                });
            }
            if has_more {
                return Ok(Some(row));
            }
            let Some(row) = self.input.next()? else { return Ok(None) };
            self.begin(&row)?;
        }
    }
}

/// A function in `FROM`.
pub(crate) fn open_series<'c>(series: &'c Series, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
    let open = |(function, arguments): &(ResolvedSet, Vec<Expr>)| {
        let arguments = evaluate::values(arguments, &[], context)?;
        Ok((function.columns.len(), function.evaluate(context.environment, &arguments)?))
    };
    let values = series.calls.iter().map(open).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(SeriesCursor { series, values, number: 0, context }))
}

struct SeriesCursor<'c> {
    series: &'c Series,
    /// The rows of each function, and how many columns they have.
    values: Vec<(usize, Rows)>,
    number: i64,
    context: &'c Context<'c>,
}

impl Cursor for SeriesCursor<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        self.context.tick()?;
        let (mut row, mut is_there) = (Row::new(), false);
        for (columns, values) in &mut self.values {
            let value = values.next().transpose()?;
            is_there |= value.is_some();
            match value {
                Some(Datum::Record(fields)) if *columns > 1 => row.extend(fields.iter().cloned()),
                Some(value) => row.push(value),
                None => row.extend(std::iter::repeat_n(Datum::Null, *columns)),
            }
        }
        if !is_there {
            return Ok(None);
        }
        if self.series.with_ordinality {
            self.number += 1;
            row.push(Datum::Int(self.number));
        }
        Ok(Some(row))
    }
}

/// Rows of a common table expression.
pub(crate) struct CommonCursor {
    rows: Rc<Vec<Row>>,
    at: usize,
}

impl CommonCursor {
    pub(crate) fn new(rows: Rc<Vec<Row>>) -> CommonCursor {
        CommonCursor { rows, at: 0 }
    }
}

impl Cursor for CommonCursor {
    fn next(&mut self) -> Result<Option<Row>> {
        let row = self.rows.get(self.at).cloned();
        self.at += 1;
        Ok(row)
    }
}

/// What a common table expression gives: it is run once, or again for each row of the query around it, if it depends on these.
pub(crate) fn common(at: usize, table: &CommonTable, context: &Context<'_>) -> Result<Rc<Vec<Row>>> {
    if let Some(known) = context.common(at, &table.captures) {
        return Ok(known);
    }
    let mut rows = all(&table.plan, context)?;
    if let Some(Recursion { step, keeps_duplicates, round }) = &table.recursion {
        let mut seen = HashSet::new();
        if !keeps_duplicates {
            rows.retain(|row| seen.insert(row.clone()));
        }
        let mut last = rows.clone();
        while !last.is_empty() {
            context.look()?;
            context.set_working(at, Rc::new(last));
            context.set_register(*round, Datum::Null);
            last = all(step, context)?;
            if !keeps_duplicates {
                last.retain(|row| seen.insert(row.clone()));
            }
            rows.extend(last.iter().cloned());
        }
    }
    let rows = Rc::new(rows);
    context.set_common(at, &table.captures, rows.clone());
    Ok(rows)
}

/// All rows of a plan.
pub(crate) fn all(plan: &Plan, context: &Context<'_>) -> Result<Vec<Row>> {
    gather(plan, context, Context::keep)
}

/// All rows of a plan, which are to be written.
pub(crate) fn all_to_write(plan: &Plan, context: &Context<'_>) -> Result<Vec<Row>> {
    gather(plan, context, Context::keep_to_write)
}

fn gather<'c>(plan: &Plan, context: &Context<'c>, keep: fn(&Context<'c>, usize) -> Result<()>) -> Result<Vec<Row>> {
    let mut cursor = open(plan, context)?;
    let mut rows = Vec::new();
    while let Some(row) = cursor.next()? {
        context.tick()?;
        keep(context, row_bytes(&row))?;
        rows.push(row);
    }
    Ok(rows)
}
