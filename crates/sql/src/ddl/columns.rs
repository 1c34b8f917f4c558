//! Columns that come, go, take NULL or do not while the rows stay where they are.
//!
//! Invariant: where a function says `None` it has changed nothing, so that the table can be made anew.

use std::cmp::Ordering;

use osier::table::{self, KeyRange, NewColumn, Schema, SchemaError};
use osier::{Error, Table};

use super::Definer;
use super::blueprint::{Blueprint, ColumnPlan};
use crate::bind::Binder;
use crate::catalog::relation::Relation;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::value::storage;

impl Definer<'_, '_> {
    /// Gives a table the columns of `new`, the schema of `blueprint`, and its notes. `None` where its rows cannot stay, or where
    /// there is none.
    pub(super) fn keep_rows(&self, relation: &Relation, blueprint: &Blueprint, new: &Schema) -> Result<Option<Table>> {
        let old = relation.table.schema();
        let key = |schema: &Schema| -> Vec<String> {
            schema.primary_key().iter().map(|column| schema.column(*column).name().to_owned()).collect()
        };
        // A table without rows is made anew, so that its rows need no layout. One that others fill meanwhile is, too.
        if key(old) != key(new) || self.transaction.scan_unvalidated(&relation.table, KeyRange::all())?.next().is_none()
        {
            return Ok(None);
        }
        let (had, has) = (old.columns().len(), new.columns().len());
        let changed = match had.cmp(&has) {
            Ordering::Less => self.add_columns(relation, blueprint, new)?,
            Ordering::Greater => self.drop_columns(relation, new)?,
            Ordering::Equal => self.set_nullable(relation, new)?,
        };
        // Its notes are those of its columns.
        Ok(changed.map(|table| self.transaction.annotate_table(&table, new.notes())).transpose()?)
    }

    /// Adds the columns that `new` has behind the others that statements see. `None` where they are not all that differs, or do
    /// not hold the same in every row.
    fn add_columns(&self, relation: &Relation, blueprint: &Blueprint, new: &Schema) -> Result<Option<Table>> {
        let (at, columns) = (relation.visible(), new.columns());
        let (before, behind) = relation.table.schema().columns().split_at(at);
        let added = at..columns.len() - behind.len();
        if columns[..at] != *before || columns[added.end..] != *behind {
            return Ok(None);
        }
        let plans = &blueprint.columns[added.clone()];
        let Some(values) = plans.iter().map(|plan| self.value_for_all(plan)).collect::<Result<Option<Vec<_>>>>()?
        else {
            return Ok(None);
        };
        let mut scratch = Vec::new();
        let mut store = |(value, plan): (_, &ColumnPlan)| storage::store(value, plan.declared, &mut scratch);
        let stored = values.iter().zip(plans).map(&mut store).collect::<Result<Vec<_>>>()?;
        let columns = columns[added].iter().zip(stored).map(|(column, stored)| NewColumn {
            name: column.name(),
            ty: column.ty(),
            is_nullable: column.is_nullable(),
            value: stored.value(&scratch),
        });
        let columns: Vec<NewColumn<'_>> = columns.collect();
        let hidden_key = behind.first().map(table::Column::name);
        match self.transaction.add_columns(&relation.table, hidden_key, &columns) {
            Ok(table) => Ok(Some(table)),
            Err(Error::Schema(error)) if is_of_layout(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the columns that `new` has no more; `None` where they are not all that differs.
    fn drop_columns(&self, relation: &Relation, new: &Schema) -> Result<Option<Table>> {
        let old = relation.table.schema();
        let is_gone = |column: &&table::Column| new.column_id(column.name()).is_err();
        if !old.columns().iter().filter(|column| !is_gone(column)).eq(new.columns()) {
            return Ok(None);
        }
        let gone: Vec<&str> = old.columns().iter().filter(is_gone).map(table::Column::name).collect();
        let mut table = self.drop_indexes_with(&relation.table, &gone)?;
        for name in gone {
            table = self.transaction.drop_column(&table, name)?;
        }
        Ok(Some(table))
    }

    /// Lets columns take NULL that do in `new`, and no others; `None` where that is not all that differs. Indexes with them are
    /// dropped.
    fn set_nullable(&self, relation: &Relation, new: &Schema) -> Result<Option<Table>> {
        let old = relation.table.schema();
        let pairs = || old.columns().iter().zip(new.columns());
        if pairs().any(|(old, new)| (old.name(), old.ty()) != (new.name(), new.ty())) {
            return Ok(None);
        }
        let changed = || pairs().filter(|(old, new)| old != new).map(|(_, new)| new);
        let names: Vec<&str> = changed().map(table::Column::name).collect();
        let without = |schema: Schema, index: &str| schema.without_index(index);
        let schema = indexes_with(old, &names).try_fold(Schema::clone(old), without)?;
        let set = |schema: Schema, column: &table::Column| schema.with_nullable(column.name(), column.is_nullable());
        match changed().try_fold(schema, set) {
            Ok(_) => {}
            Err(error) if is_of_layout(&error) => return Ok(None),
            Err(error) => return Err(Error::from(error).into()),
        }
        let mut table = self.drop_indexes_with(&relation.table, &names)?;
        for column in changed() {
            table = match self.transaction.set_nullable(&table, column.name(), column.is_nullable()) {
                Err(Error::Schema(SchemaError::NotNull { .. })) => return Err(holds_null(relation, column.name())),
                table => table?,
            };
        }
        Ok(Some(table))
    }

    /// Drops the indexes with one of these columns.
    fn drop_indexes_with(&self, table: &Table, columns: &[&str]) -> Result<Table> {
        let drop = |table: Table, index: &str| self.transaction.drop_index(&table, index);
        Ok(indexes_with(table.schema(), columns).try_fold(table.clone(), drop)?)
    }

    /// What a new column holds in all rows that are there; `None` where that is not one value that it takes.
    fn value_for_all(&self, column: &ColumnPlan) -> Result<Option<Datum>> {
        if column.is_generated || column.identity.is_some() || column.sequence.is_some() {
            return Ok(None);
        }
        let value = match &column.default {
            None => Datum::Null,
            Some(text) => {
                let names = self.names();
                let binder = Binder::new(&names, self.settings, &[]);
                let default = binder.default_value(text, &column.name, column.declared)?;
                if default.is_volatile() || default.any(&|part| matches!(part, Expr::Subquery(_))) {
                    return Ok(None);
                }
                self.evaluate(&default, &[])?
            }
        };
        let is_taken = column.is_nullable || !matches!(value, Datum::Null);
        Ok(is_taken.then_some(value))
    }
}

/// The names of the indexes with one of these columns.
fn indexes_with<'s>(schema: &'s Schema, columns: &[&str]) -> impl Iterator<Item = &'s str> {
    let has = |index: &&table::Index| index.columns().iter().any(|id| columns.contains(&schema.column(*id).name()));
    schema.indexes().iter().filter(has).map(table::Index::name)
}

/// Whether rows cannot be laid out so.
fn is_of_layout(error: &SchemaError) -> bool {
    matches!(
        error,
        SchemaError::TooManyGroups { .. } | SchemaError::MissingTooLong { .. } | SchemaError::TooManyColumns { .. }
    )
}

/// The error of a column that is not to be NULL and is in some row.
pub(super) fn holds_null(relation: &Relation, column: &str) -> SqlError {
    let table = &relation.name.name;
    let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
    SqlError::new(SqlState::NotNullViolation, message)
        .with_schema(&relation.name.schema)
        .with_table(table)
        .with_column(column)
}
