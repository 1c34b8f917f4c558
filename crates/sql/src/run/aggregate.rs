//! Groups of rows and what aggregate functions make of them.
//!
//! Invariant: without `GROUP BY` there is one group, also where there is no row.

use std::collections::{HashMap, HashSet};

use super::sort::{compare_all, key_of};
use super::{AnyCursor, Context, Row, Rows, open as open_plan, row_bytes};
use crate::datum::Datum;
use crate::error::Result;
use crate::expr::Expr;
use crate::function::Accumulator;
use crate::plan::{Aggregate, AggregateCall};

/// Reads all rows, and gives one for each group, in the order in which groups began.
pub(crate) fn open<'c>(aggregate: &'c Aggregate, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
    let mut input = open_plan(&aggregate.input, context)?;
    let mut places: HashMap<Row, usize> = HashMap::new();
    let mut groups: Vec<Vec<State<'_>>> = Vec::new();
    let begin = || aggregate.calls.iter().map(|call| State::new(call, context)).collect::<Vec<_>>();
    if aggregate.groups.is_empty() {
        places.insert(Row::new(), 0);
        groups.push(begin());
    }
    while let Some(row) = input.next()? {
        context.tick()?;
        let key: Row = aggregate.groups.iter().map(|expr| expr.evaluate(&row, context)).collect::<Result<_>>()?;
        let at = match places.get(&key) {
            Some(at) => *at,
            None => {
                context.keep(row_bytes(&key) + aggregate.calls.len() * size_of::<State<'_>>())?;
                places.insert(key, groups.len());
                groups.push(begin());
                groups.len() - 1
            }
        };
        for state in &mut groups[at] {
            state.add(&row, context)?;
        }
    }
    let mut keys: Vec<(usize, Row)> = places.into_iter().map(|(key, at)| (at, key)).collect();
    keys.sort_by_key(|(at, _)| *at);
    let mut rows = Vec::with_capacity(groups.len());
    for ((_, mut row), states) in keys.into_iter().zip(groups) {
        for state in states {
            row.push(state.finish()?);
        }
        rows.push(row);
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

    fn finish(mut self) -> Result<Datum> {
        self.kept.sort_by(|(a, _), (b, _)| compare_all(&self.call.order, a, b));
        for (_, arguments) in &self.kept {
            self.accumulator.add(arguments)?;
        }
        self.accumulator.finish()
    }
}
