//! Sorting.

use std::cmp::Ordering;

use super::{AnyCursor, Context, Row, row_bytes};
use crate::datum::Datum;
use crate::error::Result;
use crate::plan::SortKey;

/// Compares two values as a key of `ORDER BY` does.
pub(crate) fn compare_by(key: &SortKey, a: &Datum, b: &Datum) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if key.nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if key.nulls_first => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) if key.is_descending => b.cmp(a),
        (false, false) => a.cmp(b),
    }
}

/// Compares the values of all keys.
pub(crate) fn compare_all(keys: &[SortKey], a: &[Datum], b: &[Datum]) -> Ordering {
    let each = keys.iter().zip(a.iter().zip(b)).map(|(key, (a, b))| compare_by(key, a, b));
    each.fold(Ordering::Equal, Ordering::then)
}

/// The values of the keys of a row.
pub(crate) fn key_of(keys: &[SortKey], row: &[Datum], context: &Context<'_>) -> Result<Vec<Datum>> {
    keys.iter().map(|key| key.expr.evaluate(row, context)).collect()
}

/// All rows, sorted. Rows with equal keys stay in their order.
pub(crate) fn sorted(mut input: AnyCursor<'_>, keys: &[SortKey], context: &Context<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    while let Some(row) = input.next()? {
        context.tick()?;
        let key = key_of(keys, &row, context)?;
        context.keep(row_bytes(&row) + row_bytes(&key))?;
        rows.push((key, row));
    }
    rows.sort_by(|(a, _), (b, _)| compare_all(keys, a, b));
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}
