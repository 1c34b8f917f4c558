//! Which part of the rows fulfils a condition.
//!
//! Invariants:
//! - A part is between 0 and 1.
//! - What is not known is guessed as PostgreSQL guesses it.
//!
//! Deliberately absent: what columns have to do with each other. Conditions are taken to be independent, apart from two bounds of
//! one column.

use super::column::{BETWEEN, EQUAL, ON_ONE_SIDE, Origin};
use crate::datum::Datum;
use crate::expr::{Comparison, Expr};

/// The part for which a condition holds of which nothing is known.
const UNKNOWN: f64 = 1.0 / 3.0;
/// The part for which a condition on two rows, or a subquery, holds.
const HALF: f64 = 0.5;
/// How many elements an array has that is not known.
const ELEMENTS: f64 = 10.0;
/// The part of texts that have one letter at a place.
const LETTER: f64 = 0.2;
/// The part of texts that match a pattern without a letter that is sure at the beginning, at least.
const PATTERN_MIN: f64 = 0.0001;

/// Says from which columns of tables the values of an expression are.
pub(crate) trait Origins {
    /// Of a column of the row at hand.
    fn column(&self, at: usize) -> Option<&Origin>;

    /// Of what the query around has left in a register.
    fn register(&self, _at: usize) -> Option<&Origin> {
        None
    }

    fn of(&self, expr: &Expr) -> Option<&Origin> {
        match expr {
            Expr::Column(at) => self.column(*at),
            Expr::Register(at) => self.register(*at),
            _ => None,
        }
    }
}

impl Origins for Vec<Option<Origin>> {
    fn column(&self, at: usize) -> Option<&Origin> {
        self.get(at)?.as_ref()
    }
}

/// The part of the rows that fulfil all of these conditions.
pub(crate) fn all<'e>(conditions: impl IntoIterator<Item = &'e Expr>, columns: &dyn Origins) -> f64 {
    let mut ranges: Vec<Range> = Vec::new();
    let mut part = 1.0;
    for condition in conditions {
        if let Expr::And(parts) = condition {
            part *= all(parts, columns);
            continue;
        }
        let own = of(condition, columns);
        match bound(condition) {
            Some((column, is_low)) => place(&mut ranges, column, is_low, own),
            None => part *= own,
        }
    }
    for range in ranges {
        let nulls = columns.column(range.column).map_or(0.0, Origin::null_fraction);
        part *= range.part(nulls);
    }
    part
}

/// The bounds of a column.
struct Range {
    column: usize,
    /// The part above the low bound, and the part below the high one.
    low: Option<f64>,
    high: Option<f64>,
}

impl Range {
    fn part(&self, nulls: f64) -> f64 {
        match (self.low, self.high) {
            (Some(low), Some(high)) if is_guess(low) && is_guess(high) => BETWEEN,
            (Some(low), Some(high)) if low + high + nulls > 1.0 => low + high + nulls - 1.0,
            // The bounds cross, or are in one narrow range.
            (Some(low), Some(high)) => (low * high).min(BETWEEN),
            (low, high) => low.or(high).unwrap_or(1.0),
        }
    }
}

/// Whether nothing is known of a bound.
fn is_guess(part: f64) -> bool {
    (part - ON_ONE_SIDE).abs() < f64::EPSILON
}

fn place(ranges: &mut Vec<Range>, column: usize, is_low: bool, part: f64) {
    let at = ranges.iter().position(|range| range.column == column).unwrap_or_else(|| {
        ranges.push(Range { column, low: None, high: None });
        ranges.len() - 1
    });
    let side = if is_low { &mut ranges[at].low } else { &mut ranges[at].high };
    *side = Some(side.map_or(part, |other| other.min(part)));
}

/// The column that a condition bounds, and whether from below.
fn bound(condition: &Expr) -> Option<(usize, bool)> {
    let Expr::Compare(parts) = condition else { return None };
    let (column, comparison) = match &**parts {
        (comparison, Expr::Column(at), other) if other.is_fixed() => (*at, *comparison),
        (comparison, other, Expr::Column(at)) if other.is_fixed() => (*at, comparison.swapped()),
        _ => return None,
    };
    match comparison {
        Comparison::Greater | Comparison::GreaterOrEqual => Some((column, true)),
        Comparison::Less | Comparison::LessOrEqual => Some((column, false)),
        _ => None,
    }
}

/// The part of the rows that fulfil a condition.
pub(crate) fn of(condition: &Expr, columns: &dyn Origins) -> f64 {
    let part = match condition {
        Expr::Constant(value) => f64::from(u8::from(value.is_true())),
        Expr::Column(at) => columns.column(*at).map_or(HALF, |origin| origin.equal(Some(&Datum::Bool(true)))),
        Expr::And(parts) => all(parts, columns),
        Expr::Or(parts) => 1.0 - parts.iter().map(|part| 1.0 - of(part, columns)).product::<f64>(),
        Expr::Not(part) => negated(part, columns),
        Expr::IsNull(part) => match &**part {
            Expr::Column(at) => columns.column(*at).map_or(EQUAL, Origin::null_fraction),
            _ => EQUAL,
        },
        Expr::Is(part, true) => of(part, columns),
        Expr::Is(part, false) => negated(part, columns),
        Expr::Compare(parts) => compared(parts.0, &parts.1, &parts.2, columns),
        Expr::IsDistinct(parts) => 1.0 - compared(Comparison::Equal, &parts.0, &parts.1, columns),
        Expr::InList(parts, is_negated) => {
            let among: f64 =
                parts.1.iter().map(|value| compared(Comparison::Equal, &parts.0, value, columns)).sum::<f64>();
            if *is_negated { 1.0 - among.min(1.0) - nulls(&parts.0, columns) } else { among }
        }
        Expr::Quantified(parts, is_all) => quantified(parts, *is_all, columns),
        Expr::Call(call) if matches!(call.function.name, "~~" | "like") => match &call.arguments[..] {
            [text, Expr::Constant(Datum::Text(pattern))] => like(text, pattern, columns),
            _ => EQUAL,
        },
        Expr::Call(call) if matches!(call.function.name, "!~~" | "notlike") => 1.0 - EQUAL,
        Expr::Subquery(_) => HALF,
        _ => UNKNOWN,
    };
    part.clamp(0.0, 1.0)
}

/// The part of the rows for which a condition is false.
fn negated(condition: &Expr, columns: &dyn Origins) -> f64 {
    let nulls = match condition {
        Expr::Compare(parts) => nulls(&parts.1, columns).max(nulls(&parts.2, columns)),
        Expr::Column(_) => nulls(condition, columns),
        _ => 0.0,
    };
    1.0 - of(condition, columns) - nulls
}

fn nulls(expr: &Expr, columns: &dyn Origins) -> f64 {
    match expr {
        Expr::Column(at) => columns.column(*at).map_or(0.0, Origin::null_fraction),
        _ => 0.0,
    }
}

/// The value of an expression, where it is known.
fn value_of(expr: &Expr) -> Option<&Datum> {
    match expr {
        Expr::Constant(value) => Some(value),
        _ => None,
    }
}

fn compared(comparison: Comparison, left: &Expr, right: &Expr, columns: &dyn Origins) -> f64 {
    let is_row = |expr: &Expr| !expr.is_fixed();
    match (columns.of(left), columns.of(right)) {
        (Some(a), Some(b)) => columns_compared(comparison, a, b),
        (Some(column), None) if !is_row(right) => column.compared(comparison, value_of(right)),
        (None, Some(column)) if !is_row(left) => column.compared(comparison.swapped(), value_of(left)),
        (Some(column), None) | (None, Some(column)) if comparison == Comparison::Equal => column.equal(None),
        _ => match comparison {
            Comparison::Equal => EQUAL,
            Comparison::NotEqual => 1.0 - EQUAL,
            _ => ON_ONE_SIDE,
        },
    }
}

/// The part of the pairs in which two columns compare so.
fn columns_compared(comparison: Comparison, a: &Origin, b: &Origin) -> f64 {
    let present = (1.0 - a.null_fraction()) * (1.0 - b.null_fraction());
    let equal = present / a.distinct().max(b.distinct()).max(1.0);
    match comparison {
        Comparison::Equal => equal,
        Comparison::NotEqual => present - equal,
        _ => present * ON_ONE_SIDE,
    }
}

fn quantified(parts: &(Comparison, Expr, Expr), is_all: bool, columns: &dyn Origins) -> f64 {
    let (comparison, left, array) = parts;
    let each = |value: &Expr| compared(*comparison, left, value, columns);
    let parts: Vec<f64> = match array {
        Expr::Constant(Datum::Array(values)) => {
            values.iter().map(|value| each(&Expr::Constant(value.clone()))).collect()
        }
        Expr::Array(exprs) => exprs.iter().map(each).collect(),
        _ => vec![each(&Expr::Register(0)); ELEMENTS as usize],
    };
    match (is_all, *comparison) {
        (true, _) => parts.iter().product(),
        (false, Comparison::Equal) => parts.iter().sum(),
        (false, _) => 1.0 - parts.iter().map(|part| 1.0 - part).product::<f64>(),
    }
}

/// The part of texts that match a pattern: those that begin as it does, and then a guess by what follows.
fn like(text: &Expr, pattern: &str, columns: &dyn Origins) -> f64 {
    let end = pattern.find(['%', '_', '\\']).unwrap_or(pattern.len());
    let (prefix, rest) = pattern.split_at(end);
    let begin = |part: f64| part * following(rest);
    let Expr::Column(at) = text else { return begin(LETTER.powi(prefix.chars().count() as i32)).max(PATTERN_MIN) };
    let Some(origin) = columns.column(*at) else { return EQUAL };
    if rest.is_empty() {
        return origin.equal(Some(&Datum::text(prefix)));
    }
    let Some(above) = successor(prefix) else { return begin(1.0 - origin.null_fraction()) };
    let low = origin.compared(Comparison::GreaterOrEqual, Some(&Datum::text(prefix)));
    let high = origin.compared(Comparison::Less, Some(&Datum::text(above)));
    let range = Range { column: *at, low: Some(low), high: Some(high) };
    begin(range.part(origin.null_fraction())).max(PATTERN_MIN)
}

/// The part of texts that match the rest of a pattern, which begins with a sign that stands for others.
fn following(rest: &str) -> f64 {
    let letters = rest.chars().filter(|sign| !matches!(sign, '%' | '_' | '\\')).count();
    // What stands anywhere is found more often.
    let anywhere = rest.chars().filter(|sign| *sign == '%').count().saturating_sub(1);
    (LETTER.powi(letters as i32) * 5.0_f64.powi(anywhere as i32)).min(1.0)
}

/// The least text above all that begin with this one.
fn successor(prefix: &str) -> Option<String> {
    let mut above = prefix.to_owned();
    let last = above.pop()?;
    let next = (last as u32 + 1..=char::MAX as u32).find_map(char::from_u32)?;
    above.push(next);
    Some(above)
}
