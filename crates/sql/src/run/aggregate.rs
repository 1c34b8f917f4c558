//! Groups of rows and what aggregate functions make of them.
//!
//! Invariants:
//! - A grouping set without columns has one group, also where there is no row. So has a query without `GROUP BY`.
//! - All grouping sets are filled in one pass over the input.

use std::collections::{HashMap, HashSet};

use super::sort::{compare_all, key_of};
use super::{AnyCursor, Context, Row, Rows, open as open_plan, row_bytes};
use crate::datum::Datum;
use crate::error::Result;
use crate::expr::Expr;
use crate::function::Accumulator;
use crate::plan::{Aggregate, AggregateCall};

/// The groups of one grouping set, in the order in which they began.
struct Set<'c> {
    columns: &'c [usize],
    places: HashMap<Row, usize>,
    groups: Vec<Vec<State<'c>>>,
}

/// Reads all rows, and gives one for each group, grouping set by grouping set.
pub(crate) fn open<'c>(aggregate: &'c Aggregate, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
    let mut input = open_plan(&aggregate.input, context)?;
    let begin = || aggregate.calls.iter().map(|call| State::new(call, context)).collect::<Vec<_>>();
    let mut sets = Vec::with_capacity(aggregate.sets.len());
    for columns in &aggregate.sets {
        let mut set = Set { columns, places: HashMap::new(), groups: Vec::new() };
        if columns.is_empty() {
            set.places.insert(Row::new(), 0);
            set.groups.push(begin());
        }
        sets.push(set);
    }
    let mut key = Row::new();
    while let Some(row) = input.next()? {
        context.tick()?;
        // Each value once, however many sets have it.
        let values: Row = match sets.len() {
            1 => Row::new(),
            _ => aggregate.groups.iter().map(|expr| expr.evaluate(&row, context)).collect::<Result<_>>()?,
        };
        for set in &mut sets {
            key.clear();
            for column in set.columns {
                key.push(match values.get(*column) {
                    Some(value) => value.clone(),
                    None => aggregate.groups[*column].evaluate(&row, context)?,
                });
            }
            let at = match set.places.get(&key) {
                Some(at) => *at,
                None => {
                    context.keep(row_bytes(&key) + aggregate.calls.len() * size_of::<State<'_>>())?;
                    set.places.insert(std::mem::take(&mut key), set.groups.len());
                    set.groups.push(begin());
                    set.groups.len() - 1
                }
            };
            for state in &mut set.groups[at] {
                state.add(&row, context)?;
            }
        }
    }
    let mut rows = Vec::with_capacity(sets.iter().map(|set| set.groups.len()).sum());
    let has_number = aggregate.sets.len() > 1;
    for (number, set) in sets.into_iter().enumerate() {
        let mut keys: Vec<(usize, Row)> = set.places.into_iter().map(|(key, at)| (at, key)).collect();
        keys.sort_by_key(|(at, _)| *at);
        for ((_, key), states) in keys.into_iter().zip(set.groups) {
            let mut row = vec![Datum::Null; aggregate.groups.len()];
            for (value, column) in key.into_iter().zip(set.columns) {
                row[*column] = value;
            }
            for state in states {
                row.push(state.finish()?);
            }
            row.extend(has_number.then_some(Datum::Int(number as i64 + 1)));
            rows.push(row);
        }
    }
    Ok(Box::new(Rows(rows.into_iter())))
}

/// What one call has made of the rows of a group so far.
struct State<'c> {
    call: &'c AggregateCall,
    accumulator: Box<dyn Accumulator>,
    seen: HashSet<Row>,
    /// Arguments that are to be sorted first, with their keys.
    kept: Vec<(Row, Row)>,
}

impl<'c> State<'c> {
    fn new(call: &'c AggregateCall, context: &Context<'_>) -> State<'c> {
        let accumulator = call.function.accumulator(context.environment);
        State { call, accumulator, seen: HashSet::new(), kept: Vec::new() }
    }

    fn add(&mut self, row: &[Datum], context: &Context<'_>) -> Result<()> {
        if !Expr::holds(self.call.filter.as_ref(), row, context)? {
            return Ok(());
        }
        if !self.call.hypothetical.is_empty() {
            return self.place(row, context);
        }
        let arguments: Row =
            self.call.arguments.iter().map(|expr| expr.evaluate(row, context)).collect::<Result<_>>()?;
        if self.call.is_distinct {
            if self.seen.contains(&arguments) {
                return Ok(());
            }
            context.keep(row_bytes(&arguments))?;
            self.seen.insert(arguments.clone());
        }
        if self.call.order.is_empty() {
            let before = self.accumulator.bytes();
            self.accumulator.add(&arguments)?;
            return context.keep(self.accumulator.bytes().saturating_sub(before));
        }
        let key = key_of(&self.call.order, row, context)?;
        context.keep(row_bytes(&key) + row_bytes(&arguments))?;
        self.kept.push((key, arguments));
        Ok(())
    }

    /// Says how a row compares with the hypothetical one.
    fn place(&mut self, row: &[Datum], context: &Context<'_>) -> Result<()> {
        let values: Row =
            self.call.hypothetical.iter().map(|expr| expr.evaluate(row, context)).collect::<Result<_>>()?;
        let key = key_of(&self.call.order, row, context)?;
        let order = compare_all(&self.call.order, &key, &values);
        let before = self.accumulator.bytes();
        self.accumulator.add(&[Datum::Int(order as i64), Datum::record(key)])?;
        context.keep(self.accumulator.bytes().saturating_sub(before))
    }

    fn finish(mut self) -> Result<Datum> {
        self.kept.sort_by(|(a, _), (b, _)| compare_all(&self.call.order, a, b));
        for (_, arguments) in &self.kept {
            self.accumulator.add(arguments)?;
        }
        self.accumulator.finish()
    }
}
