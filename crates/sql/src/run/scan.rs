//! Rows of tables: by key, by ranges of keys, and all.

use osier::Value;
use osier::table::KeyRange;

use smallvec::SmallVec;

use super::former::Merged;
use super::store::Scanned;
use super::{AnyCursor, Context, Cursor, Row, Rows};
use crate::catalog::relation::{Column, Relation};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::plan::{Access, RowLock, Scan, SystemScan};
use crate::types::{Declared, Modifier, Type};
use crate::value::numeric::Numeric;
use crate::value::storage::{self, Stored};

/// Rows of more values are encoded with an allocation.
const VALUES_INLINE: usize = 16;

/// Begins to read a table.
pub(crate) fn open<'c>(scan: &'c Scan, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
    match &scan.access {
        Access::Key(exprs) => keyed(scan, vec![fixed(exprs, context)?], context),
        Access::Keys(exprs) => {
            let keys = fixed(exprs, context)?.into_iter().map(|key| vec![key]);
            keyed(scan, keys.collect(), context)
        }
        Access::KeysOf(array) => match array.evaluate(&[], context)? {
            Datum::Array(elements) => keyed(scan, elements.iter().map(|key| vec![key.clone()]).collect(), context),
            _ => Ok(no_rows()),
        },
        Access::All => {
            let former = context.former.rows(&scan.relation, |_| true);
            ranged(scan, None, KeyRange::all(), former, context)
        }
        Access::Range { index, prefix, low, high } => {
            let relation = &scan.relation;
            let own = index.map_or(&relation.key, |at| &relation.indexes[at].columns);
            let prefix_values = fixed(prefix, context)?;
            let prefix_columns = &own[..prefix_values.len()];
            let next = own.get(prefix_values.len()).copied();
            let bound = |bound: &Option<(Expr, bool)>| -> Result<Option<(Datum, bool)>> {
                let Some((expr, is_included)) = bound else { return Ok(None) };
                Ok(Some((expr.evaluate(&[], context)?, *is_included)))
            };
            let (low, high) = (bound(low)?, bound(high)?);
            let is_null = |bound: &Option<(Datum, bool)>| bound.as_ref().is_some_and(|(value, _)| value.is_null());
            let is_absent = !all_fit(relation, prefix_columns, &prefix_values);
            if is_absent || is_null(&low) || is_null(&high) {
                return Ok(no_rows());
            }
            // A bound that the column cannot hold leaves the range open: the condition stays with the scan.
            let kept = |bound: Option<(Datum, bool)>| {
                bound.filter(|(value, _)| next.is_some_and(|next| fits(value, relation.columns[next].declared)))
            };
            let is_nullable = next.is_some_and(|next| relation.columns[next].is_nullable);
            let excludes_null = is_nullable && (low.is_some() || high.is_some());
            let bounds = Bounds { prefix: prefix_values, next, low: kept(low), high: kept(high), excludes_null };
            bounds.open(scan, *index, context)
        }
    }
}

/// The rows of a relation of the catalog.
pub(crate) fn of_catalog(scan: &SystemScan, context: &Context<'_>) -> Result<Vec<Row>> {
    context.look()?;
    let key = match &scan.key {
        Some((column, expr)) => Some((*column, expr.evaluate(&[], context)?)),
        None => None,
    };
    if key.as_ref().is_some_and(|(_, value)| value.is_null()) {
        return Ok(Vec::new());
    }
    let key = key.as_ref().map(|(column, value)| (*column, value));
    let mut rows = context.environment.catalog_rows(scan.relation.name, key)?;
    // The hidden column `tableoid`.
    rows.iter_mut().for_each(|row| row.push(Datum::Int(scan.relation.oid.into())));
    Ok(rows)
}

/// A range of a key.
struct Bounds {
    prefix: Row,
    /// The column behind those of the prefix.
    next: Option<usize>,
    low: Option<(Datum, bool)>,
    high: Option<(Datum, bool)>,
    /// Whether the range begins behind NULL, of which no condition holds.
    excludes_null: bool,
}

impl Bounds {
    /// Whether a row is in the range of a key with these columns.
    fn has(&self, row: &[Datum], own: &[usize]) -> bool {
        let next = self.next.map_or(&Datum::Null, |at| &row[at]);
        let is_above = |(low, is_in): &(Datum, bool)| *low < *next || *is_in && *low == *next;
        let is_below = |(high, is_in): &(Datum, bool)| *next < *high || *is_in && *high == *next;
        own.iter().zip(&self.prefix).all(|(at, value)| row[*at] == *value)
            && self.low.as_ref().is_none_or(is_above)
            && self.high.as_ref().is_none_or(is_below)
            && !(self.excludes_null && next.is_null())
    }

    fn open<'c>(self, scan: &'c Scan, index: Option<usize>, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
        let relation = &scan.relation;
        let own = index.map_or(&relation.key, |at| &relation.indexes[at].columns);
        let former = context.former.rows(relation, |row| self.has(row, own));
        let mut columns = own[..self.prefix.len()].to_vec();
        let (is_low_in, is_high_in) = (self.low.as_ref().map(|low| low.1), self.high.as_ref().map(|high| high.1));
        let prefix_count = self.prefix.len();
        let mut values = self.prefix;
        values.extend(self.low.into_iter().chain(self.high).map(|(value, _)| value));
        columns.extend(std::iter::repeat_n(self.next.unwrap_or(0), values.len() - prefix_count));
        with_encoded(relation, &columns, &values, |values| {
            let (prefix, bounds) = values.split_at(prefix_count);
            let (low, high) = bounds.split_at(usize::from(is_low_in.is_some()));
            let range = KeyRange::prefix(prefix);
            let range = match is_low_in {
                Some(true) => range.from_included(low),
                Some(false) => range.from_excluded(low),
                None if self.excludes_null => range.from_excluded(&[Value::Null]),
                None => range,
            };
            let range = match is_high_in {
                Some(true) => range.to_included(high),
                Some(false) => range.to_excluded(high),
                None => range,
            };
            ranged(scan, index, range, former, context)
        })?
    }
}

fn no_rows<'c>() -> AnyCursor<'c> {
    Box::new(Rows(std::iter::empty()))
}

/// Values of expressions that read no column.
fn fixed<'e>(exprs: impl IntoIterator<Item = &'e Expr>, context: &Context<'_>) -> Result<Vec<Datum>> {
    exprs.into_iter().map(|expr| expr.evaluate(&[], context)).collect()
}

/// Gives `act` values of these columns as the engine takes them.
pub(crate) fn with_encoded<T>(
    relation: &Relation,
    columns: &[usize],
    values: &[Datum],
    act: impl FnOnce(&[Value<'_>]) -> T,
) -> Result<T> {
    encoded(values.iter().zip(columns.iter().map(|at| &relation.columns[*at])), act)
}

/// As [`with_encoded`], of a whole row.
pub(super) fn with_encoded_row<T>(
    relation: &Relation,
    row: &[Datum],
    act: impl FnOnce(&[Value<'_>]) -> T,
) -> Result<T> {
    encoded(row.iter().zip(&relation.columns), act)
}

fn encoded<'d, T>(
    values: impl Iterator<Item = (&'d Datum, &'d Column)>,
    act: impl FnOnce(&[Value<'_>]) -> T,
) -> Result<T> {
    let mut scratch = Vec::new();
    let mut stored: SmallVec<[Stored<'_>; VALUES_INLINE]> = SmallVec::new();
    for (value, column) in values {
        stored.push(storage::store(value, column.declared, &mut scratch)?);
    }
    let values: SmallVec<[Value<'_>; VALUES_INLINE]> =
        stored.into_iter().map(|stored| stored.value(&scratch)).collect();
    Ok(act(&values))
}

/// Whether a column that is declared so can hold exactly this value.
fn fits(value: &Datum, declared: Declared) -> bool {
    match (value, declared.ty) {
        (Datum::Int(value), Type::Int2) => i16::try_from(*value).is_ok(),
        (Datum::Int(value), Type::Int4) => i32::try_from(*value).is_ok(),
        (Datum::Float(value), Type::Float4) => f64::from(*value as f32) == *value,
        (Datum::Numeric(value), Type::Numeric) => match declared.modifier {
            Modifier::Digits { precision, scale } => {
                Numeric::clone(value).constrain(precision, scale).is_ok_and(|same| same == **value)
            }
            _ => true,
        },
        _ => true,
    }
}

/// Whether there can be a row with these values: none is NULL, and all fit.
pub(crate) fn all_fit(relation: &Relation, columns: &[usize], values: &[Datum]) -> bool {
    let fits = |(value, at): (&Datum, &usize)| !value.is_null() && fits(value, relation.columns[*at].declared);
    values.iter().zip(columns).all(fits)
}

/// A row of the engine as one of SQL.
pub(crate) fn loaded(row: &osier::Row<'_>, relation: &Relation) -> Result<Row> {
    let load = |(value, column): (Value<'_>, &Column)| storage::load(value, column.declared);
    row.values().zip(&relation.columns).map(load).collect()
}

/// The row with a primary key.
pub(crate) fn by_key(
    relation: &Relation,
    key: &[Datum],
    for_update: bool,
    context: &Context<'_>,
) -> Result<Option<Row>> {
    if !all_fit(relation, &relation.key, key) {
        return Ok(None);
    }
    let row = with_encoded(relation, &relation.key, key, |key| context.store.get(&relation.table, key, for_update))?;
    row?.map(|row| loaded(&row, relation)).transpose()
}

/// The rows with these primary keys, each once.
fn keyed<'c>(scan: &'c Scan, mut keys: Vec<Vec<Datum>>, context: &'c Context<'c>) -> Result<AnyCursor<'c>> {
    if keys.len() > 1 {
        keys.sort();
        keys.dedup();
    }
    if scan.is_reversed {
        keys.reverse();
    }
    Ok(Box::new(Keyed { scan, keys: keys.into_iter(), context }))
}

struct Keyed<'c> {
    scan: &'c Scan,
    keys: std::vec::IntoIter<Vec<Datum>>,
    context: &'c Context<'c>,
}

impl Cursor for Keyed<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        let Keyed { scan, keys, context } = self;
        for key in keys {
            if let Some(former) = context.former.by_key(&scan.relation, &key) {
                match former {
                    Some(row) if Expr::holds(scan.filter.as_ref(), &row, context)? => return Ok(Some(row)),
                    _ => continue,
                }
            }
            let found = match scan.lock {
                lock if lock.is_later() => ahead_by_key(&scan.relation, &key, context),
                lock => by_key(&scan.relation, &key, lock != RowLock::None, context),
            };
            if let Some(row) = found.map_err(|error| not_at_once(scan, error))?
                && Expr::holds(scan.filter.as_ref(), &row, context)?
            {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

fn ranged<'c>(
    scan: &'c Scan,
    index: Option<usize>,
    range: KeyRange<'_>,
    former: Option<Vec<Row>>,
    context: &'c Context<'c>,
) -> Result<AnyCursor<'c>> {
    let own = index.map_or(&[][..], |at| &scan.relation.indexes[at].columns);
    let range = if scan.is_reversed { range.reverse() } else { range };
    let index = index.map(|at| scan.relation.indexes[at].name.as_str());
    let (store, table) = (context.store, &scan.relation.table);
    let rows = match scan.lock {
        lock if lock.is_later() => store.scan_ahead(table, index, range),
        lock => store.scan(table, index, range, lock != RowLock::None),
    };
    let rows = rows.map_err(|error| not_at_once(scan, error.into()))?;
    Ok(match former {
        None => Box::new(Ranged { scan, rows, context }),
        Some(former) => Box::new(Merged::new(scan, own.to_vec(), rows, former, context)),
    })
}

struct Ranged<'c> {
    scan: &'c Scan,
    rows: Scanned<'c>,
    context: &'c Context<'c>,
}

impl Cursor for Ranged<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        let Ranged { scan, rows, context } = self;
        for row in rows {
            context.tick()?;
            let row = loaded(&row.map_err(|error| not_at_once(scan, error.into()))?, &scan.relation)?;
            if Expr::holds(scan.filter.as_ref(), &row, context)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

/// The error of a lock that `NOWAIT` did not get, with the name of the table.
pub(super) fn not_at_once(scan: &Scan, error: SqlError) -> SqlError {
    if scan.lock != RowLock::AtOnce || error.state != SqlState::LockNotAvailable {
        return error;
    }
    let name = &scan.relation.name.name;
    SqlError::new(SqlState::LockNotAvailable, format!("could not obtain lock on row in relation \"{name}\""))
        .with_table(name.as_str())
}

/// The row with a primary key, to be locked.
fn ahead_by_key(relation: &Relation, key: &[Datum], context: &Context<'_>) -> Result<Option<Row>> {
    if !all_fit(relation, &relation.key, key) {
        return Ok(None);
    }
    let row = with_encoded(relation, &relation.key, key, |key| context.store.get_ahead(&relation.table, key))?;
    row?.map(|row| loaded(&row, relation)).transpose()
}
