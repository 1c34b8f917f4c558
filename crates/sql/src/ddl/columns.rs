//! `ADD COLUMN` that leaves the rows where they are: they hold in the column what its default gives now.

use osier::table::{KeyRange, NewColumn, Schema, SchemaError};
use osier::{Error, Table};

use super::Definer;
use super::blueprint::{Blueprint, ColumnPlan};
use crate::bind::Binder;
use crate::catalog::relation::Relation;
use crate::datum::Datum;
use crate::error::Result;
use crate::expr::Expr;
use crate::value::storage;

impl Definer<'_, '_> {
    /// Adds the columns to a table that `blueprint`, with the schema `new`, has behind the others that statements see. `None`
    /// where that is not all that rows differ in, where the columns do not hold the same in every row, or where there is no row.
    pub(super) fn add_columns(
        &self,
        relation: &Relation,
        blueprint: &Blueprint,
        new: &Schema,
    ) -> Result<Option<Table>> {
        let (old, at) = (relation.table.schema(), relation.visible());
        let Some(count) = new.columns().len().checked_sub(old.columns().len()) else { return Ok(None) };
        let (before, behind) = old.columns().split_at(at);
        let names = |schema: &Schema| -> Vec<String> {
            schema.primary_key().iter().map(|column| schema.column(*column).name().to_owned()).collect()
        };
        let is_all = new.columns().starts_with(before) && new.columns()[at + count..] == *behind;
        if !is_all || names(old) != names(new) {
            return Ok(None);
        }
        // Rows that others write meanwhile may stay as well; none is copied sooner than one.
        if self.transaction.scan_unvalidated(&relation.table, KeyRange::all())?.next().is_none() {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(count);
        for column in &blueprint.columns[at..] {
            match self.value_for_all(column)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        let mut scratch = Vec::new();
        let stored = values.iter().zip(&blueprint.columns[at..]);
        let stored: Vec<_> = stored
            .map(|(value, column)| storage::store(value, column.declared, &mut scratch))
            .collect::<Result<_>>()?;
        let columns = new.columns()[at..].iter().zip(stored).map(|(column, stored)| NewColumn {
            name: column.name(),
            ty: column.ty(),
            is_nullable: column.is_nullable(),
            value: stored.value(&scratch),
        });
        let columns: Vec<NewColumn<'_>> = columns.collect();
        let hidden_key = behind.first().map(osier::table::Column::name);
        match self.transaction.add_columns(&relation.table, hidden_key, &columns) {
            // Its notes are those of its columns.
            Ok(table) => Ok(Some(self.transaction.annotate_table(&table, new.notes())?)),
            Err(Error::Schema(SchemaError::TooManyGroups { .. } | SchemaError::MissingTooLong { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
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
