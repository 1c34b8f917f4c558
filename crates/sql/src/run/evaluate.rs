//! Expressions become values.

use std::sync::Arc;

use super::{Context, Row, open, row_bytes};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Asks, Call, Case, Comparison, Expr, Subquery};
use crate::function;
use crate::record::Record;
use crate::value;

/// Arguments of most calls fit here.
const ARGUMENTS_INLINE: usize = 4;

/// So many elements are compared between two looks at the clock.
const ELEMENTS_PER_LOOK: usize = 1024;

impl Expr {
    /// The value for a row.
    pub(crate) fn evaluate(&self, row: &[Datum], context: &Context<'_>) -> Result<Datum> {
        Ok(match self {
            Expr::Constant(value) => value.clone(),
            Expr::Parameter(at) => context.parameters[*at].clone(),
            Expr::Column(at) => row[*at].clone(),
            Expr::Register(at) => context.register(*at),
            Expr::Operand => context.operand(),
            Expr::Aggregate(_) | Expr::Window(_) | Expr::Grouping(_) | Expr::Set(_) => {
                unreachable!("it is a column when a query runs")
            }
            Expr::Call(call) => return call.evaluate(row, context),
            Expr::Cast(cast) => {
                let input = cast.input.evaluate(row, context)?;
                return value::cast(input, cast.from, cast.to, cast.is_explicit, context.settings());
            }
            Expr::Compare(parts) => {
                let (left, right) = (parts.1.evaluate(row, context)?, parts.2.evaluate(row, context)?);
                return compared(parts.0, &left, &right);
            }
            Expr::And(parts) => return connect(parts, false, row, context),
            Expr::Or(parts) => return connect(parts, true, row, context),
            Expr::Not(part) => match part.evaluate(row, context)? {
                Datum::Bool(value) => Datum::Bool(!value),
                _ => Datum::Null,
            },
            Expr::IsNull(part) => Datum::Bool(part.evaluate(row, context)?.is_null()),
            Expr::Is(part, wanted) => {
                Datum::Bool(matches!(part.evaluate(row, context)?, Datum::Bool(value) if value == *wanted))
            }
            Expr::IsDistinct(parts) => Datum::Bool(parts.0.evaluate(row, context)? != parts.1.evaluate(row, context)?),
            Expr::Case(case) => return case.evaluate(row, context),
            Expr::Coalesce(parts) => {
                for part in parts {
                    let value = part.evaluate(row, context)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Datum::Null
            }
            Expr::Extreme(parts, is_greatest) => return extreme(parts, *is_greatest, row, context),
            Expr::InList(parts, is_negated) => return in_list(&parts.0, &parts.1, *is_negated, row, context),
            Expr::Array(parts) => Datum::Array(bounded(values(parts, row, context)?)?.into()),
            Expr::Row(parts, row_type) => {
                let fields = bounded(values(parts, row, context)?)?;
                Datum::Record(Arc::new(Record::of_type(fields, row_type.clone())))
            }
            Expr::Quantified(parts, is_all) => {
                let (left, array) = (parts.1.evaluate(row, context)?, parts.2.evaluate(row, context)?);
                match array {
                    Datum::Array(elements) => {
                        quantify(parts.0, &left, elements.iter().cloned().map(Ok), *is_all, context)?
                    }
                    _ => Datum::Null,
                }
            }
            Expr::Subscript(parts) => subscript(&parts.0.evaluate(row, context)?, &parts.1.evaluate(row, context)?),
            Expr::Slice(parts) => {
                let bound = |part: &Option<Expr>| part.as_ref().map(|part| part.evaluate(row, context)).transpose();
                slice(&parts.0.evaluate(row, context)?, bound(&parts.1)?, bound(&parts.2)?)
            }
            Expr::Subquery(subquery) => return subquery.evaluate(row, context),
        })
    }

    /// The value for a row, which is counted among those that the expressions of the row hold.
    pub(super) fn held(&self, row: &[Datum], context: &Context<'_>) -> Result<Datum> {
        let value = self.evaluate(row, context)?;
        let is_there = matches!(self, Expr::Constant(_) | Expr::Parameter(_) | Expr::Column(_))
            || matches!(self, Expr::Register(_) | Expr::Operand);
        if !is_there {
            context.hold(&value)?;
        }
        Ok(value)
    }

    /// Whether a condition is true of a row.
    pub(crate) fn holds(condition: Option<&Expr>, row: &[Datum], context: &Context<'_>) -> Result<bool> {
        condition.map_or(Ok(true), |condition| Ok(condition.evaluate(row, context)?.is_true()))
    }
}

/// The values of several expressions, which are there at the same time.
pub(super) fn values(parts: &[Expr], row: &[Datum], context: &Context<'_>) -> Result<Vec<Datum>> {
    let held = context.held();
    let values = parts.iter().map(|part| part.held(row, context)).collect();
    context.let_go(held);
    values
}

/// Refuses an array or a row that is too large for a value.
fn bounded(values: Vec<Datum>) -> Result<Vec<Datum>> {
    function::check_size(&values)?;
    Ok(values)
}

impl Call {
    fn evaluate(&self, row: &[Datum], context: &Context<'_>) -> Result<Datum> {
        const NULLS: [Datum; ARGUMENTS_INLINE] = [const { Datum::Null }; ARGUMENTS_INLINE];
        let (mut inline, mut longer) = (NULLS, Vec::new());
        let held = context.held();
        let arguments = if self.arguments.len() <= ARGUMENTS_INLINE {
            for (place, argument) in inline.iter_mut().zip(&self.arguments) {
                *place = argument.held(row, context)?;
            }
            &inline[..self.arguments.len()]
        } else {
            longer.extend(values(&self.arguments, row, context)?);
            &longer[..]
        };
        context.let_go(held);
        if self.function.is_strict && arguments.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        let call = function::Call { environment: context.environment, types: &self.types, returns: self.returns };
        (self.function.evaluate)(&call, arguments)
    }
}

impl Case {
    fn evaluate(&self, row: &[Datum], context: &Context<'_>) -> Result<Datum> {
        match &self.operand {
            None => self.decide(row, context),
            Some(operand) => {
                let operand = operand.evaluate(row, context)?;
                context.with_operand(operand, || self.decide(row, context))
            }
        }
    }

    fn decide(&self, row: &[Datum], context: &Context<'_>) -> Result<Datum> {
        for (condition, result) in &self.branches {
            if condition.evaluate(row, context)?.is_true() {
                return result.evaluate(row, context);
            }
        }
        self.otherwise.evaluate(row, context)
    }
}

/// What a comparison gives.
fn compared(comparison: Comparison, left: &Datum, right: &Datum) -> Result<Datum> {
    if let (Datum::Record(left), Datum::Record(right)) = (left, right) {
        match (left.row_type(), right.row_type()) {
            (Some(left), Some(right)) => left.check_comparable(right)?,
            _ => return Ok(compared_values(comparison, left, right)),
        }
    }
    Ok(left.compare(right).map_or(Datum::Null, |order| Datum::Bool(comparison.holds(order))))
}

/// Compares values beside each other: the first values that differ decide, and NULL before them leaves it open.
fn compared_values(comparison: Comparison, left: &[Datum], right: &[Datum]) -> Datum {
    let is_equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
    let mut is_open = false;
    for (left, right) in left.iter().zip(right) {
        match left.compare(right) {
            Some(order) if order.is_ne() => return Datum::Bool(comparison.holds(order)),
            Some(_) => {}
            None if is_equality => is_open = true,
            None => return Datum::Null,
        }
    }
    if is_open { Datum::Null } else { Datum::Bool(comparison.holds(std::cmp::Ordering::Equal)) }
}

/// `AND` (or, with `true`, `OR`): the first value that decides, else NULL where there is one.
fn connect(parts: &[Expr], decides: bool, row: &[Datum], context: &Context<'_>) -> Result<Datum> {
    let mut is_open = false;
    for part in parts {
        match part.evaluate(row, context)? {
            Datum::Bool(value) if value == decides => return Ok(Datum::Bool(decides)),
            Datum::Bool(_) => {}
            _ => is_open = true,
        }
    }
    Ok(if is_open { Datum::Null } else { Datum::Bool(!decides) })
}

fn extreme(parts: &[Expr], is_greatest: bool, row: &[Datum], context: &Context<'_>) -> Result<Datum> {
    let values = values(parts, row, context)?.into_iter().filter(|value| !value.is_null());
    // Of those that are equal the first one.
    let found = if is_greatest { values.rev().max() } else { values.min() };
    Ok(found.unwrap_or(Datum::Null))
}

fn in_list(input: &Expr, list: &[Expr], is_negated: bool, row: &[Datum], context: &Context<'_>) -> Result<Datum> {
    let input = input.evaluate(row, context)?;
    let elements = list.iter().map(|element| element.evaluate(row, context));
    let found = quantify(Comparison::Equal, &input, elements, false, context)?;
    Ok(match found {
        Datum::Bool(found) => Datum::Bool(found != is_negated),
        _ => Datum::Null,
    })
}

/// Whether a comparison holds with some element, or with all.
fn quantify(
    comparison: Comparison,
    left: &Datum,
    elements: impl Iterator<Item = Result<Datum>>,
    is_all: bool,
    context: &Context<'_>,
) -> Result<Datum> {
    let mut is_open = false;
    for (at, element) in elements.enumerate() {
        if at % ELEMENTS_PER_LOOK == ELEMENTS_PER_LOOK - 1 {
            context.look()?;
        }
        match compared(comparison, left, &element?)? {
            Datum::Bool(holds) if holds != is_all => return Ok(Datum::Bool(!is_all)),
            Datum::Bool(_) => {}
            _ => is_open = true,
        }
    }
    Ok(if is_open { Datum::Null } else { Datum::Bool(is_all) })
}

/// The value with a number, from 1 on; NULL where there is none.
fn numbered(values: &[Datum], at: i64) -> Datum {
    let at = usize::try_from(at).ok().and_then(|at| at.checked_sub(1));
    at.and_then(|at| values.get(at)).cloned().unwrap_or(Datum::Null)
}

/// The element or field with a number.
fn subscript(array: &Datum, at: &Datum) -> Datum {
    match (array, at) {
        (Datum::Array(elements), Datum::Int(at)) => numbered(elements, *at),
        (Datum::Record(fields), Datum::Int(at)) => numbered(fields, *at),
        _ => Datum::Null,
    }
}

fn slice(array: &Datum, from: Option<Datum>, to: Option<Datum>) -> Datum {
    let Datum::Array(elements) = array else { return Datum::Null };
    let bound = |bound: Option<Datum>, otherwise: i64| match bound {
        None => Some(otherwise),
        Some(Datum::Int(at)) => Some(at),
        Some(_) => None,
    };
    let count = elements.len() as i64;
    let (Some(from), Some(to)) = (bound(from, 1), bound(to, count)) else { return Datum::Null };
    let (from, to) = (from.clamp(1, count + 1), to.clamp(0, count));
    Datum::Array(if from <= to { elements[from as usize - 1..to as usize].into() } else { Arc::from([]) })
}

impl Subquery {
    fn evaluate(&self, row: &[Datum], context: &Context<'_>) -> Result<Datum> {
        let is_kept = self.captures.is_empty();
        let result = match context.slot(self.slot).filter(|_| is_kept) {
            Some(known) => known,
            None => {
                context.capture(&self.captures, row)?;
                let before = context.kept();
                let result = self.result(context)?;
                if is_kept {
                    context.set_slot(self.slot, result.clone());
                } else {
                    context.release(before);
                }
                result
            }
        };
        let (Asks::Compares(comparison, left, is_all), Datum::Array(rows)) = (&self.asks, &result) else {
            return Ok(result);
        };
        let mut left = values(left, row, context)?;
        let left = if left.len() > 1 { Datum::record(left) } else { left.pop().unwrap_or(Datum::Null) };
        quantify(*comparison, &left, rows.iter().cloned().map(Ok), *is_all, context)
    }

    /// What the subquery gives; of one that rows are compared with, all rows.
    fn result(&self, context: &Context<'_>) -> Result<Datum> {
        let mut cursor = open(&self.plan, context)?;
        let first = |row: Row| row.into_iter().next().unwrap_or(Datum::Null);
        match &self.asks {
            Asks::Exists => Ok(Datum::Bool(cursor.next()?.is_some())),
            Asks::Value | Asks::Row => {
                let Some(row) = cursor.next()? else { return Ok(Datum::Null) };
                if cursor.next()?.is_some() {
                    let message = "more than one row returned by a subquery used as an expression";
                    return Err(SqlError::new(SqlState::CardinalityViolation, message));
                }
                Ok(if matches!(self.asks, Asks::Row) { Datum::record(row) } else { first(row) })
            }
            Asks::Array | Asks::Compares(..) => {
                let is_row = matches!(&self.asks, Asks::Compares(_, left, _) if left.len() > 1);
                let mut elements = Vec::new();
                while let Some(row) = cursor.next()? {
                    context.tick()?;
                    context.keep(row_bytes(&row))?;
                    elements.push(if is_row { Datum::record(row) } else { first(row) });
                }
                Ok(Datum::Array(elements.into()))
            }
        }
    }
}
