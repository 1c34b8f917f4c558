//! Window functions.
//!
//! Invariants:
//! - All rows of the input are there before the first call: they are sorted for a pass, cut into partitions, and each call gives
//!   one value for each row of a partition.
//! - What a call gives stands behind the columns of the input, and calls read these alone.
//! - A frame moves forward only: an aggregate whose frames begin where the partition does takes each row once.

mod frame;

use frame::{Bounds, Frames};

use super::sort::{compare_all, key_of};
use super::{Context, Row, datum_bytes, open, row_bytes};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::function::{self, Accumulator, ResolvedAggregate};
use crate::plan::window::{Exclusion, Window, WindowCall, WindowFunction, WindowPass};

/// All rows, with what the calls give.
pub(super) fn rows(window: &Window, context: &Context<'_>) -> Result<Vec<Row>> {
    let count: usize = window.passes.iter().map(|pass| pass.calls.len()).sum();
    let mut input = open(&window.input, context)?;
    let mut rows = Vec::new();
    while let Some(mut row) = input.next()? {
        context.tick()?;
        context.keep(row_bytes(&row) + count * size_of::<Datum>())?;
        row.reserve_exact(count);
        rows.push(row);
    }
    window.passes.iter().try_fold(rows, |rows, pass| run(pass, rows, context))
}

/// Makes one pass; rows leave it in its order.
fn run(pass: &WindowPass, rows: Vec<Row>, context: &Context<'_>) -> Result<Vec<Row>> {
    let before = context.kept();
    let mut keyed = Vec::with_capacity(rows.len());
    for row in rows {
        context.tick()?;
        let key = key_of(&pass.keys, &row, context)?;
        context.keep(row_bytes(&key))?;
        keyed.push((key, row));
    }
    if !pass.is_sorted {
        keyed.sort_by(|(a, _), (b, _)| compare_all(&pass.keys, a, b));
    }
    let (keys, mut rows): (Vec<Row>, Vec<Row>) = keyed.into_iter().unzip();
    let bounds = match rows.is_empty() {
        true => Vec::new(),
        false => pass.calls.iter().map(|call| Bounds::new(&call.frame, context)).collect::<Result<Vec<_>>>()?,
    };
    let (mut start, mut bytes) = (0, 0);
    while start < rows.len() {
        let by = &pass.keys[..pass.partition];
        let is_same = |key: &Row| compare_all(by, &keys[start], key).is_eq();
        let end = start + keys[start..].iter().take_while(|key| is_same(key)).count();
        let partition = Partition::new(pass, &keys[start..end], &rows[start..end], context);
        let mut results = Vec::with_capacity(pass.calls.len());
        for (call, bounds) in pass.calls.iter().zip(&bounds) {
            results.push(partition.results(call, bounds)?.into_iter());
        }
        for row in &mut rows[start..end] {
            let values = results.iter_mut().filter_map(Iterator::next);
            let width = row.len();
            row.extend(values);
            bytes += row[width..].iter().map(datum_bytes).sum::<usize>();
        }
        start = end;
    }
    context.release(before);
    context.keep(bytes)?;
    Ok(rows)
}

/// Rows of a partition in their order, with the groups of peers in it.
pub(super) struct Partition<'p> {
    pass: &'p WindowPass,
    keys: &'p [Row],
    rows: &'p [Row],
    /// The first row of each group, and the count of rows behind the last one.
    starts: Vec<usize>,
    /// The group of each row.
    groups: Vec<usize>,
    context: &'p Context<'p>,
}

impl<'p> Partition<'p> {
    fn new(pass: &'p WindowPass, keys: &'p [Row], rows: &'p [Row], context: &'p Context<'p>) -> Partition<'p> {
        let (mut starts, mut groups) = (Vec::new(), Vec::with_capacity(rows.len()));
        for at in 0..keys.len() {
            if at == 0 || compare_all(&pass.keys, &keys[at - 1], &keys[at]).is_ne() {
                starts.push(at);
            }
            groups.push(starts.len() - 1);
        }
        starts.push(rows.len());
        Partition { pass, keys, rows, starts, groups, context }
    }

    /// Where the peers of a row begin.
    fn peers_start(&self, at: usize) -> usize {
        self.starts[self.groups[at]]
    }

    /// Where the peers of a row end.
    fn peers_end(&self, at: usize) -> usize {
        self.starts[self.groups[at] + 1]
    }

    /// What a call gives for each row.
    fn results(&self, call: &WindowCall, bounds: &Bounds<'_>) -> Result<Vec<Datum>> {
        use function::Window;
        let own = match &call.function {
            WindowFunction::Aggregate(_, function) => return self.aggregate(call, function, bounds),
            WindowFunction::Own(own) => own,
        };
        let mut results = Results::new(self.rows.len(), self.context);
        let count = self.rows.len();
        let mut frames = Frames::new(bounds, self);
        let mut buckets = Buckets::default();
        for at in 0..count {
            self.context.tick()?;
            results.push(match own {
                Window::RowNumber => Datum::Int(at as i64 + 1),
                Window::Rank => Datum::Int(self.peers_start(at) as i64 + 1),
                Window::DenseRank => Datum::Int(self.groups[at] as i64 + 1),
                Window::PercentRank if count == 1 => Datum::Float(0.0),
                Window::PercentRank => Datum::Float(self.peers_start(at) as f64 / (count - 1) as f64),
                Window::CumeDist => Datum::Float(self.peers_end(at) as f64 / count as f64),
                Window::Ntile => buckets.next(|| self.argument(call, 0, at), count)?,
                Window::Lag => self.neighbour(call, at, -1)?,
                Window::Lead => self.neighbour(call, at, 1)?,
                Window::FirstValue => match frames.spans(at)?.iter().find(|span| !span.is_empty()) {
                    Some(span) => self.argument(call, 0, span.start)?,
                    None => Datum::Null,
                },
                Window::LastValue => match frames.spans(at)?.iter().rfind(|span| !span.is_empty()) {
                    Some(span) => self.argument(call, 0, span.end - 1)?,
                    None => Datum::Null,
                },
                Window::NthValue => self.nth_value(call, at, &mut frames)?,
            })?;
        }
        Ok(results.values)
    }

    fn argument(&self, call: &WindowCall, place: usize, at: usize) -> Result<Datum> {
        call.arguments[place].evaluate(&self.rows[at], self.context)
    }

    /// `lag` and `lead`: the value of a row before or behind, or what stands for a row that is not there.
    fn neighbour(&self, call: &WindowCall, at: usize, direction: i64) -> Result<Datum> {
        let offset = match call.arguments.len() {
            1 => 1,
            _ => match self.argument(call, 1, at)? {
                Datum::Int(offset) => offset,
                _ => return Ok(Datum::Null),
            },
        };
        let place = usize::try_from(at as i64 + direction * offset).ok().filter(|place| *place < self.rows.len());
        match place {
            Some(place) => self.argument(call, 0, place),
            None if call.arguments.len() == 3 => self.argument(call, 2, at),
            None => Ok(Datum::Null),
        }
    }

    fn nth_value(&self, call: &WindowCall, at: usize, frames: &mut Frames<'_>) -> Result<Datum> {
        let Datum::Int(number) = self.argument(call, 1, at)? else { return Ok(Datum::Null) };
        let Some(mut rest) = usize::try_from(number).ok().and_then(|number| number.checked_sub(1)) else {
            let message = "argument of nth_value must be greater than zero";
            return Err(SqlError::new(SqlState::InvalidArgumentForNthValue, message));
        };
        for span in frames.spans(at)? {
            if rest < span.len() {
                return self.argument(call, 0, span.start + rest);
            }
            rest -= span.len();
        }
        Ok(Datum::Null)
    }

    fn aggregate(&self, call: &WindowCall, function: &ResolvedAggregate, bounds: &Bounds<'_>) -> Result<Vec<Datum>> {
        let mut results = Results::new(self.rows.len(), self.context);
        let mut frames = Frames::new(bounds, self);
        let mut running = Running { partition: self, call, function, state: None, start: 0, end: 0, value: None };
        for at in 0..self.rows.len() {
            self.context.tick()?;
            let value = if call.frame.exclusion == Exclusion::Nothing {
                let frame = frames.frame(at)?;
                running.over(frame.start, frame.end, &mut results)?
            } else {
                running.restart(0, &mut results);
                let spans = frames.spans(at)?;
                for row in spans.into_iter().flatten() {
                    running.add(row, &results)?;
                }
                running.finish()?
            };
            results.push(value)?;
        }
        Ok(results.values)
    }
}

/// The results of a call, and the memory that they take.
struct Results<'p> {
    values: Vec<Datum>,
    /// What was kept before there was anything of the call.
    before: usize,
    bytes: usize,
    context: &'p Context<'p>,
}

impl<'p> Results<'p> {
    fn new(count: usize, context: &'p Context<'p>) -> Results<'p> {
        Results { values: Vec::with_capacity(count), before: context.kept(), bytes: 0, context }
    }

    fn push(&mut self, value: Datum) -> Result<()> {
        let bytes = datum_bytes(&value);
        self.bytes += bytes;
        self.context.keep(bytes)?;
        self.values.push(value);
        Ok(())
    }

    /// Gives back what states have taken.
    fn release_states(&self) {
        self.context.release(self.before + self.bytes);
    }
}

/// An aggregate over a frame that moves.
struct Running<'r> {
    partition: &'r Partition<'r>,
    call: &'r WindowCall,
    function: &'r ResolvedAggregate,
    state: Option<Box<dyn Accumulator>>,
    /// The rows that the state has taken.
    start: usize,
    end: usize,
    /// The result for these.
    value: Option<Datum>,
}

impl Running<'_> {
    /// The result for the rows from `start` to `end`, neither of which is less than for the row before.
    fn over(&mut self, start: usize, end: usize, results: &mut Results<'_>) -> Result<Datum> {
        if let Some(value) = self.value.as_ref().filter(|_| (self.start, self.end) == (start, end)) {
            return Ok(value.clone());
        }
        if start >= self.end || self.state.is_none() || !self.remove_until(start)? {
            self.restart(start, results);
        }
        for row in self.end..end {
            self.add(row, results)?;
        }
        self.end = self.end.max(end);
        self.finish()
    }

    fn restart(&mut self, start: usize, results: &mut Results<'_>) {
        results.release_states();
        self.state = Some(self.function.accumulator(self.partition.context.environment));
        (self.start, self.end, self.value) = (start, start, None);
    }

    /// The arguments for a row, if the filter lets it pass.
    fn arguments(&self, row: usize) -> Result<Option<Row>> {
        let (row, context) = (&self.partition.rows[row], self.partition.context);
        if !Expr::holds(self.call.filter.as_ref(), row, context)? {
            return Ok(None);
        }
        self.call.arguments.iter().map(|expr| expr.evaluate(row, context)).collect::<Result<_>>().map(Some)
    }

    fn add(&mut self, row: usize, results: &Results<'_>) -> Result<()> {
        results.context.tick()?;
        let Some(arguments) = self.arguments(row)? else { return Ok(()) };
        let Some(state) = &mut self.state else { return Ok(()) };
        let before = state.bytes();
        state.add(&arguments)?;
        results.context.keep(state.bytes().saturating_sub(before))
    }

    /// Takes rows before `start` out of the state again; `false` where it cannot do that.
    fn remove_until(&mut self, start: usize) -> Result<bool> {
        while self.start < start {
            if let Some(arguments) = self.arguments(self.start)?
                && !self.state.as_mut().is_some_and(|state| state.remove(&arguments))
            {
                return Ok(false);
            }
            self.start += 1;
        }
        Ok(true)
    }

    fn finish(&mut self) -> Result<Datum> {
        let value = self.state.as_ref().map_or(Ok(Datum::Null), |state| state.finish())?;
        self.value = Some(value.clone());
        Ok(value)
    }
}

/// The buckets of `ntile`: as many rows in each, and one more in the first of them.
#[derive(Default)]
struct Buckets {
    number: i64,
    rows: i64,
    rows_max: i64,
    /// How many buckets have one row more.
    larger: i64,
}

impl Buckets {
    fn next(&mut self, count: impl FnOnce() -> Result<Datum>, rows: usize) -> Result<Datum> {
        if self.number == 0 {
            let Datum::Int(buckets) = count()? else { return Ok(Datum::Null) };
            if buckets <= 0 {
                let message = "argument of ntile must be greater than zero";
                return Err(SqlError::new(SqlState::InvalidArgumentForNtile, message));
            }
            (self.number, self.rows_max) = (1, rows as i64 / buckets);
            if self.rows_max == 0 {
                self.rows_max = 1;
            } else {
                self.larger = rows as i64 % buckets;
                self.rows_max += i64::from(self.larger != 0);
            }
        }
        self.rows += 1;
        if self.rows > self.rows_max {
            if self.larger != 0 && self.number == self.larger {
                (self.larger, self.rows_max) = (0, self.rows_max - 1);
            }
            (self.number, self.rows) = (self.number + 1, 1);
        }
        Ok(Datum::Int(self.number))
    }
}
