//! What is in a column: NULLs, how many values there are, the most common ones, and between which bounds the others lie.

use std::cmp::Reverse;

use super::width;
use crate::datum::Datum;
use crate::types::Type;

/// So many of the most common values are kept, and so many ranges of the others.
const TARGET: usize = 100;
/// Longer values are counted and not kept.
const VALUE_BYTES_MAX: f64 = 1024.0;
/// A value is common where it is so many times as frequent as values are on average.
const COMMON_FACTOR: f64 = 1.25;

/// What is known of a column.
#[derive(Debug)]
pub(crate) struct ColumnStatistics {
    /// The part of the rows that have NULL.
    pub(crate) null_fraction: f64,
    /// How many bytes a value takes on average.
    pub(crate) width: f64,
    /// How many values there are.
    pub(crate) distinct: f64,
    /// Whether no row has the value of another one, as far as is known.
    pub(crate) is_unique: bool,
    /// The most common values, with the part of the rows that have them, the most frequent first.
    pub(crate) common: Vec<(Datum, f64)>,
    /// Between each two, ascending, about as many of the rows lie that have neither NULL nor a common value.
    pub(crate) bounds: Vec<Datum>,
}

impl ColumnStatistics {
    /// Looks at the values that the rows of a sample have, of a table with so many rows.
    pub(super) fn of(values: Vec<Datum>, ty: Type, rows: f64) -> ColumnStatistics {
        let sampled = values.len() as f64;
        let mut present: Vec<Datum> = values.into_iter().filter(|value| !value.is_null()).collect();
        let count = present.len() as f64;
        let bytes: f64 = present.iter().map(|value| width(value, ty)).sum();
        let before = present.len();
        present.retain(|value| width(value, ty) <= VALUE_BYTES_MAX);
        let long = before - present.len();
        present.sort_unstable();
        let runs = runs(&present);
        // Long values are taken to be different ones.
        let once = runs.iter().filter(|(_, count)| *count == 1).count() + long;
        let different = runs.len() + long;
        let null_fraction = 1.0 - count / sampled;
        let distinct = estimate_distinct(count, different as f64, once as f64, rows * (1.0 - null_fraction));
        let common = common(&runs, count, distinct, once == 0, sampled);
        let bounds = bounds(&runs, &common);
        ColumnStatistics {
            null_fraction,
            width: if count > 0.0 { bytes / count } else { 1.0 },
            distinct,
            is_unique: once == different,
            common,
            bounds,
        }
    }

    /// The part of the rows that have one of the common values.
    pub(crate) fn common_fraction(&self) -> f64 {
        self.common.iter().map(|(_, fraction)| fraction).sum()
    }
}

/// Each value once, ascending, with how often it is there.
fn runs(sorted: &[Datum]) -> Vec<(&Datum, usize)> {
    sorted.chunk_by(|one, next| one == next).map(|run| (&run[0], run.len())).collect()
}

/// How many values `rows` rows have, of which `sampled` have `different` ones, `once` of these one time: the estimator Duj1 of
/// Haas and Stokes.
fn estimate_distinct(sampled: f64, different: f64, once: f64, rows: f64) -> f64 {
    let rows = rows.max(sampled);
    if sampled == 0.0 {
        return 0.0;
    }
    let estimate = sampled * different / (sampled - once + once * sampled / rows);
    estimate.clamp(different, rows)
}

/// The values that are more frequent than others.
fn common(runs: &[(&Datum, usize)], count: f64, distinct: f64, is_all: bool, sampled: f64) -> Vec<(Datum, f64)> {
    let mut candidates: Vec<&(&Datum, usize)> = runs.iter().filter(|(_, times)| *times > 1).collect();
    candidates.sort_by_key(|(_, times)| Reverse(*times));
    let keeps_all = is_all && runs.len() <= TARGET;
    let least = COMMON_FACTOR * count / distinct.max(1.0);
    let is_common = |(_, times): &&&(&Datum, usize)| keeps_all || *times as f64 > least;
    let kept = candidates.iter().take(TARGET).filter(is_common);
    kept.map(|(value, times)| ((*value).clone(), *times as f64 / sampled)).collect()
}

/// The bounds of ranges with about equally many of the values that are not common.
fn bounds(runs: &[(&Datum, usize)], common: &[(Datum, f64)]) -> Vec<Datum> {
    let mut known: Vec<&Datum> = common.iter().map(|(value, _)| value).collect();
    known.sort_unstable();
    let others: Vec<&(&Datum, usize)> = runs.iter().filter(|(value, _)| known.binary_search(value).is_err()).collect();
    if others.len() < 2 {
        return Vec::new();
    }
    let total: usize = others.iter().map(|(_, times)| times).sum();
    let ranges = TARGET.min(others.len() - 1);
    let (mut bounds, mut passed) = (Vec::with_capacity(ranges + 1), 0);
    for (value, times) in others {
        // The first value is the first bound, the last one is the last.
        while bounds.len() <= ranges && bounds.len() * (total - 1) / ranges < passed + times {
            bounds.push((*value).clone());
        }
        passed += times;
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: impl IntoIterator<Item = i64>) -> Vec<Datum> {
        values.into_iter().map(Datum::Int).collect()
    }

    #[test]
    fn all_values_are_known_where_all_rows_are() {
        let mut values = ints((0..300).map(|at| at % 3));
        values.extend(std::iter::repeat_n(Datum::Null, 100));
        let column = ColumnStatistics::of(values, Type::Int8, 400.0);
        assert_eq!((column.null_fraction, column.distinct, column.is_unique), (0.25, 3.0, false));
        assert_eq!(column.common, ints(0..3).into_iter().map(|value| (value, 0.25)).collect::<Vec<_>>());
        assert!(column.bounds.is_empty());
    }

    #[test]
    fn unique_values_have_bounds_of_equal_ranges() {
        let column = ColumnStatistics::of(ints(0..1001), Type::Int8, 1001.0);
        assert!(column.is_unique && column.common.is_empty());
        assert_eq!(column.bounds, ints((0..=100).map(|at| at * 10)));
        assert_eq!(column.distinct, 1001.0);
    }

    #[test]
    fn a_sample_of_unique_values_means_that_all_are_different() {
        let column = ColumnStatistics::of(ints((0..1000).map(|at| at * 1000)), Type::Int8, 1_000_000.0);
        assert_eq!(column.distinct, 1_000_000.0);
    }

    #[test]
    fn a_sample_of_few_values_means_that_there_are_few() {
        let column = ColumnStatistics::of(ints((0..4000).map(|at| at * 7919 % 500)), Type::Int8, 1_000_000.0);
        assert!((450.0..=550.0).contains(&column.distinct), "{}", column.distinct);
    }

    #[test]
    fn a_value_that_most_rows_have_is_common_beside_rare_ones() {
        let column =
            ColumnStatistics::of(ints((0..1000).map(|at| if at % 2 == 0 { -1 } else { at })), Type::Int8, 100_000.0);
        assert_eq!(column.common, vec![(Datum::Int(-1), 0.5)]);
        assert_eq!(column.bounds.first(), Some(&Datum::Int(1)));
        assert_eq!(column.bounds.last(), Some(&Datum::Int(999)));
    }

    #[test]
    fn a_column_of_nulls_has_no_values() {
        let column = ColumnStatistics::of(vec![Datum::Null; 10], Type::Int8, 10.0);
        assert_eq!((column.null_fraction, column.distinct, column.common.len()), (1.0, 0.0, 0));
    }

    #[test]
    fn long_values_are_counted_and_not_kept() {
        let long = (0..20).map(|at| Datum::text(format!("{at}").repeat(2000)));
        let column = ColumnStatistics::of(long.collect(), Type::Text, 20.0);
        assert!(column.common.is_empty() && column.bounds.is_empty() && column.is_unique);
        assert_eq!(column.distinct, 20.0);
    }
}
