//! Running plans: operators give rows one at a time, on demand.
//!
//! Invariants:
//! - A statement that was cancelled, or has run too long, ends at the next row of any operator that reads many.
//! - Operators that keep rows count their memory, and end the statement where that is more than it may take.

pub(crate) mod aggregate;
pub(crate) mod context;
pub(crate) mod evaluate;
pub(crate) mod foreign;
pub(crate) mod former;
pub(crate) mod join;
mod lock;
pub(crate) mod materialized;
mod merge;
pub(crate) mod probe;
pub(crate) mod scan;
pub(crate) mod set;
pub(crate) mod sort;
pub(crate) mod store;
pub(crate) mod window;
pub(crate) mod write;

pub(crate) use context::Context;

use crate::datum::Datum;
use crate::error::Result;
use crate::plan::Plan;

/// The values of a row.
pub(crate) type Row = Vec<Datum>;

/// An operator that runs.
pub(crate) trait Cursor {
    /// The next row.
    fn next(&mut self) -> Result<Option<Row>>;
}

/// A cursor of any kind.
pub(crate) type AnyCursor<'c> = Box<dyn Cursor + 'c>;

/// Begins to run a plan.
pub(crate) fn open<'c>(plan: &'c Plan, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
    match &context.probe {
        None => begin(plan, context),
        Some(probe) => probe.open(plan, context),
    }
}

/// As [`open`], where nobody watches.
fn begin<'c>(plan: &'c Plan, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
    Ok(match plan {
        Plan::One => Box::new(Rows(vec![Row::new()].into_iter())),
        Plan::Nothing => Box::new(Rows(Vec::new().into_iter())),
        Plan::Values(rows) => Box::new(set::ValuesCursor::new(rows, context)),
        Plan::Scan(scan) => scan::open(scan, context)?,
        Plan::Filter(input, condition) => Box::new(Filtered { input: open(input, context)?, condition, context }),
        Plan::Project(input, exprs) => Box::new(Projected { input: open(input, context)?, exprs, context }),
        Plan::ProjectSet(input, items) => Box::new(set::ProjectedSet::new(open(input, context)?, items, context)),
        Plan::Join(join) => join::open(join, context)?,
        Plan::Aggregate(aggregate) => aggregate::open(aggregate, context)?,
        Plan::Window(window) => Box::new(Rows(window::rows(window, context)?.into_iter())),
        Plan::Distinct(input, keys) => Box::new(set::Distinct::new(open(input, context)?, *keys, context)),
        Plan::Sort(input, keys) => Box::new(Rows(sort::sorted(open(input, context)?, keys, context)?.into_iter())),
        Plan::Lock(lock) => Box::new(lock::Locked { input: open(&lock.input, context)?, lock, context }),
        Plan::Limit(limit) => set::open_limit(limit, context)?,
        Plan::Append(plans) => Box::new(set::Appended::new(plans, context)),
        Plan::Intersect(operation) => Box::new(Rows(set::intersect(operation, context)?.into_iter())),
        Plan::Series(series) => set::open_series(series, context)?,
        Plan::System(scan) => Box::new(Rows(scan::of_catalog(scan, context)?.into_iter())),
        Plan::Common(at, table) => Box::new(set::CommonCursor::new(set::common(*at, table, context)?)),
        Plan::Working(at) => Box::new(set::CommonCursor::new(context.working(*at))),
        Plan::Write(write) => Box::new(Rows(write::run(write, context)?.rows.into_iter())),
    })
}

/// Rows that are there.
pub(crate) struct Rows<I>(pub(crate) I);

impl<I: Iterator<Item = Row>> Cursor for Rows<I> {
    fn next(&mut self) -> Result<Option<Row>> {
        Ok(self.0.next())
    }
}

struct Filtered<'c> {
    input: AnyCursor<'c>,
    condition: &'c crate::expr::Expr,
    context: &'c Context<'c>,
}

impl Cursor for Filtered<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        while let Some(row) = self.input.next()? {
            self.context.tick()?;
            if self.condition.evaluate(&row, self.context)?.is_true() {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

struct Projected<'c> {
    input: AnyCursor<'c>,
    exprs: &'c [crate::expr::Expr],
    context: &'c Context<'c>,
}

impl Cursor for Projected<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        let Some(row) = self.input.next()? else { return Ok(None) };
        self.context.tick()?;
        evaluate::values(self.exprs, &row, self.context).map(Some)
    }
}

/// About how many bytes a row takes.
pub(crate) fn row_bytes(row: &[Datum]) -> usize {
    size_of::<Row>() + row.iter().map(datum_bytes).sum::<usize>()
}

/// About how many bytes a value takes.
pub(crate) fn datum_bytes(datum: &Datum) -> usize {
    let own = size_of::<Datum>();
    own + match datum {
        Datum::Text(text) => text.len(),
        Datum::Bytes(bytes) => bytes.len(),
        Datum::Numeric(_) => 64,
        Datum::Array(parts) => row_bytes(parts),
        Datum::Record(fields) => row_bytes(fields),
        Datum::Jsonb(value) => crate::value::json::bytes(value),
        _ => 0,
    }
}
