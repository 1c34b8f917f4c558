//! Columns that are added to a table while its rows stay as they are.
//!
//! Invariant: a row of a schema is a row of that schema with columns added, and holds in them what was given for them.
//!
//! Deliberately absent: values that differ from row to row, which have to be written to each.

use std::sync::Arc;

use super::bounds::{COLUMNS_MAX, LATER_GROUPS_MAX};
use super::error::SchemaError;
use super::row_codec::RowCodec;
use super::schema::{Column, LaterGroup, Schema, column_id_at};
use super::value::{Type, Value};
use crate::ids::ColumnId;

/// A column that a table with rows is to get.
#[derive(Clone, Copy, Debug)]
pub struct NewColumn<'v> {
    /// Its name.
    pub name: &'v str,
    /// Its type.
    pub ty: Type,
    /// Whether it takes NULL.
    pub is_nullable: bool,
    /// What the rows hold in it that are there.
    pub value: Value<'v>,
}

impl Schema {
    /// Returns the schema with more columns, before the one at position `at` or behind the last one. Rows of this schema are rows
    /// of the one returned.
    ///
    /// # Errors
    /// [`SchemaError::TooManyGroups`], [`MissingTooLong`](SchemaError::MissingTooLong),
    /// [`TooManyColumns`](SchemaError::TooManyColumns); what is wrong with a name; as [`RowCodec::encode`] for the values.
    ///
    /// # Panics
    /// Where there are fewer than `at` columns, or none is added.
    pub fn with_columns(&self, at: usize, columns: &[NewColumn<'_>]) -> Result<Schema, SchemaError> {
        assert!(!columns.is_empty(), "no columns were given for table {}", self.name);
        let count = self.columns.len() + columns.len();
        if count > COLUMNS_MAX {
            return Err(SchemaError::TooManyColumns { table: self.name.clone(), count });
        }
        if self.later.len() == LATER_GROUPS_MAX {
            return Err(SchemaError::TooManyGroups { table: self.name.clone() });
        }
        let mut schema = self.clone();
        let moved = |column: &mut ColumnId| {
            let position = usize::from(column.0);
            *column = column_id_at(position + if position < at { 0 } else { columns.len() });
        };
        schema.primary_key.iter_mut().for_each(moved);
        schema.indexes.iter_mut().flat_map(|index| &mut index.columns).for_each(moved);
        schema.later.iter_mut().flat_map(|group| &mut group.columns).for_each(moved);
        let new = |column: &NewColumn<'_>| {
            let (name, ty, is_nullable) = (column.name.to_owned(), column.ty, column.is_nullable);
            Column { name, ty, is_nullable }
        };
        schema.columns.splice(at..at, columns.iter().map(new));
        let ids = (at..at + columns.len()).map(column_id_at).collect();
        schema.later.push(LaterGroup { columns: ids, missing: Vec::new() });
        schema.check()?;
        let values: Vec<Value<'_>> = columns.iter().map(|column| column.value).collect();
        let missing = RowCodec::new(Arc::new(schema.clone())).encode_last_group(&values)?;
        if let Some(group) = schema.later.last_mut() {
            group.missing = missing;
        }
        schema.check()?;
        Ok(schema)
    }

    /// Whether what rows hold in the columns that they end before is what encoding some values gives.
    pub(super) fn check_missing(&self) -> Result<(), SchemaError> {
        match self.later.is_empty() {
            true => Ok(()),
            false => RowCodec::new(Arc::new(self.clone())).check_missing(),
        }
    }
}
