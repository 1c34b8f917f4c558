//! What a column of rows is taken to hold: the values of a column of a table, wherever a plan has carried them.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::datum::Datum;
use crate::expr::Comparison;
use crate::statistics::{ColumnStatistics, TableStatistics};

/// The part of the rows that are equal to some value, where nothing is known.
pub(super) const EQUAL: f64 = 0.005;
/// The part of the rows that lie on one side of some value.
pub(super) const ON_ONE_SIDE: f64 = 1.0 / 3.0;
/// The part of the rows that lie between two values.
pub(super) const BETWEEN: f64 = 0.005;
/// How many values a column has.
const DISTINCT: f64 = 200.0;

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) statistics: Arc<TableStatistics>,
    pub(crate) column: usize,
    /// Whether it is a key by itself.
    pub(crate) is_unique: bool,
}

impl Origin {
    fn known(&self) -> Option<&ColumnStatistics> {
        self.statistics.column(self.column)
    }

    /// How many values the column has in the table.
    pub(crate) fn distinct(&self) -> f64 {
        if self.is_unique {
            return self.statistics.rows;
        }
        match self.known() {
            Some(column) => column.distinct.max(1.0),
            None => DISTINCT.min(self.statistics.rows),
        }
    }

    /// The part of the rows that have NULL.
    pub(crate) fn null_fraction(&self) -> f64 {
        self.known().map_or(0.0, |column| column.null_fraction)
    }

    /// How many bytes a value takes.
    pub(crate) fn width(&self) -> Option<f64> {
        self.known().map(|column| column.width)
    }

    /// The part of the rows that are equal to a value; `None`: which value is not known.
    pub(super) fn equal(&self, value: Option<&Datum>) -> f64 {
        let (Some(column), Some(value), false) = (self.known(), value, self.is_unique) else {
            return (1.0 - self.null_fraction()) / self.distinct();
        };
        if value.is_null() {
            return 0.0;
        }
        if let Some((_, fraction)) = column.common.iter().find(|(common, _)| common == value) {
            return *fraction;
        }
        let others = column.distinct - column.common.len() as f64;
        let left = (1.0 - column.null_fraction - column.common_fraction()).max(0.0);
        let least = column.common.last().map_or(1.0, |(_, fraction)| *fraction);
        (left / others.max(1.0)).min(least)
    }

    /// The part of the rows that compare so with a value; `None`: which value is not known.
    pub(super) fn compared(&self, comparison: Comparison, value: Option<&Datum>) -> f64 {
        let nulls = self.null_fraction();
        match comparison {
            Comparison::Equal => self.equal(value),
            Comparison::NotEqual => (1.0 - nulls - self.equal(value)).max(0.0),
            Comparison::Less => self.below(value, false).unwrap_or(ON_ONE_SIDE),
            Comparison::LessOrEqual => self.below(value, true).unwrap_or(ON_ONE_SIDE),
            Comparison::Greater => self.below(value, true).map_or(ON_ONE_SIDE, |below| 1.0 - nulls - below),
            Comparison::GreaterOrEqual => self.below(value, false).map_or(ON_ONE_SIDE, |below| 1.0 - nulls - below),
        }
        .clamp(0.0, 1.0)
    }

    /// The part of the rows that are below a value, or equal to it where `or_equal`.
    fn below(&self, value: Option<&Datum>, or_equal: bool) -> Option<f64> {
        let (column, value) = (self.known()?, value?);
        if value.is_null() {
            return None;
        }
        let is_below = |other: &Datum| match other.cmp(value) {
            Ordering::Less => true,
            Ordering::Equal => or_equal,
            Ordering::Greater => false,
        };
        let common: f64 = column.common.iter().filter(|(other, _)| is_below(other)).map(|(_, fraction)| fraction).sum();
        let others = (1.0 - column.null_fraction - column.common_fraction()).max(0.0);
        if column.bounds.len() < 2 {
            // Where there are common values alone, these say all.
            return (!column.common.is_empty()).then_some(common + others / 2.0);
        }
        Some(common + others * position(&column.bounds, value))
    }
}

/// Which part of the values between bounds is below a value.
fn position(bounds: &[Datum], value: &Datum) -> f64 {
    let below = bounds.partition_point(|bound| bound < value);
    let ranges = (bounds.len() - 1) as f64;
    if below == 0 {
        return 0.0;
    }
    let Some(high) = bounds.get(below) else { return 1.0 };
    let low = &bounds[below - 1];
    let within = match (number(low), number(value), number(high)) {
        (Some(low), Some(value), Some(high)) if high > low => ((value - low) / (high - low)).clamp(0.0, 1.0),
        _ => 0.5,
    };
    ((below - 1) as f64 + within) / ranges
}

/// A value on a line, where it has a place there.
fn number(value: &Datum) -> Option<f64> {
    let number = match value {
        Datum::Int(value) | Datum::Time(value) | Datum::Timestamp(value) => *value as f64,
        Datum::Enum(label) => label.number as f64,
        Datum::Float(value) => *value,
        Datum::Numeric(value) => value.to_f64(),
        Datum::Date(value) => f64::from(*value),
        _ => return None,
    };
    number.is_finite().then_some(number)
}
