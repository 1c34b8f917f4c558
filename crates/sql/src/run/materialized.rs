//! Materialized views that are refreshed while others read them: rows that the query gives again stay where they are.
//!
//! Invariant: rows are the same where what is stored of them is. So 1.0 takes the place of 1.00, as in PostgreSQL.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use osier::Value;
use osier::table::KeyRange;

use super::scan::{loaded, with_encoded_row};
use super::set::all_to_write;
use super::write::{delete_row, insert_one};
use super::{Context, Row};
use crate::catalog::relation::Relation;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::plan::{Plan, Write};
use crate::record::{Record, RowType};
use crate::types::Type;
use crate::value;

/// Makes the rows of a materialized view those of a query.
pub(crate) fn renew(write: &Write, input: &Plan, context: &Context<'_>) -> Result<()> {
    let relation = &write.relation;
    let mut rows: Vec<Option<Row>> = all_to_write(input, context)?.into_iter().map(Some).collect();
    let mut found = positions(relation, &rows, context)?;
    let mut gone = Vec::new();
    for old in context.store.scan(&relation.table, None, KeyRange::all(), false)? {
        context.tick()?;
        let old = old?;
        let image = image_of(old.values().take(relation.visible()));
        match found.get_mut(&image).and_then(Vec::pop) {
            // Nothing is to be done for the new one.
            Some(at) => rows[at] = None,
            None => {
                let old = loaded(&old, relation)?;
                context.keep_to_write(super::row_bytes(&old))?;
                gone.push(old);
            }
        }
    }
    for old in &gone {
        context.tick()?;
        delete_row(relation, old, context)?;
    }
    for row in rows.into_iter().flatten() {
        context.tick()?;
        insert_one(write, row, context)?;
    }
    Ok(())
}

/// The places of new rows, by what will be stored of them. Several may be the same only where one of their columns is NULL.
fn positions(relation: &Relation, rows: &[Option<Row>], context: &Context<'_>) -> Result<HashMap<Vec<u8>, Vec<usize>>> {
    let mut found: HashMap<Vec<u8>, Vec<usize>> = HashMap::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let Some(row) = row else { continue };
        let visible = &row[..relation.visible()];
        let image = with_encoded_row(relation, visible, |values| image_of(values.iter().copied()))?;
        context.keep_to_write(image.len() + size_of::<Vec<u8>>() + size_of::<Vec<usize>>())?;
        match found.entry(image) {
            Entry::Occupied(_) if !visible.iter().any(Datum::is_null) => {
                return Err(twice(relation, visible, context));
            }
            entry => entry.or_default().push(at),
        }
    }
    Ok(found)
}

/// What is stored of a row, as bytes that no other row has.
fn image_of<'v>(values: impl Iterator<Item = Value<'v>>) -> Vec<u8> {
    let mut image = Vec::new();
    let mut add = |kind: u8, bytes: &[u8]| {
        image.push(kind);
        image.extend_from_slice(&bytes.len().to_le_bytes());
        image.extend_from_slice(bytes);
    };
    for value in values {
        match value {
            Value::Null => add(0, &[]),
            Value::Bool(value) => add(1, &[u8::from(value)]),
            Value::Int(value) | Value::Numeric(value) | Value::Timestamp(value) => add(2, &value.to_le_bytes()),
            Value::Float(value) => add(3, &value.to_bits().to_le_bytes()),
            Value::Text(text) => add(4, text.as_bytes()),
            Value::Bytes(bytes) => add(5, bytes),
        }
    }
    image
}

/// The error of a row that the query gives twice.
fn twice(relation: &Relation, row: &[Datum], context: &Context<'_>) -> SqlError {
    let columns = relation.columns[..row.len()].iter().map(|column| (column.name.clone(), column.declared));
    let row_type = Some(Arc::new(RowType(columns.collect())));
    let record = Datum::Record(Arc::new(Record::of_type(row.to_vec(), row_type)));
    let mut shown = Vec::new();
    value::push_text(&record, Type::Record.into(), context.settings(), &mut shown);
    let name = &relation.name.name;
    let message = format!("new data for materialized view \"{name}\" contains duplicate rows without any null columns");
    SqlError::new(SqlState::CardinalityViolation, message)
        .with_detail(format!("Row: {}", String::from_utf8_lossy(&shown)))
}
