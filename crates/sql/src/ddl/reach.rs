//! How a table becomes what its blueprint says: where it lies, or anew.
//!
//! Invariant: it is made anew only where its rows have other types or values or another primary key, where they cannot be laid
//! out as they would have to, or where there is no row.

use osier::table::{Index, KeyRange, Schema};
use osier::{Error, Table, TransactionError, Value};
use smallvec::SmallVec;

use super::Definer;
use super::blueprint::Blueprint;
use super::columns::holds_null;
use crate::bind::Binder;
use crate::catalog::notes::CheckNote;
use crate::catalog::relation::{self, Column, Relation};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::plan::Plan;
use crate::run::write::shown_key;
use crate::value::storage::{self, Stored};

impl Definer<'_, '_> {
    /// Makes a table what the blueprint says.
    pub(super) fn reach(
        &self,
        relation: &Relation,
        blueprint: &mut Blueprint,
        values: &[(String, Expr)],
    ) -> Result<Table> {
        self.read_literals(blueprint)?;
        blueprint.forget_unused();
        self.retype_computed(blueprint)?;
        self.note_types(blueprint)?;
        let (old, new) = (relation.table.schema(), blueprint.schema()?);
        // Hidden keys may have the place and the type of a column that was the key.
        let keeps_key = relation.has_hidden_key == blueprint.key.is_none();
        let kept = match values.is_empty() && keeps_key {
            true if has_same_rows(old, &new) => Some(relation.table.clone()),
            true => self.keep_rows(relation, blueprint, &new)?,
            false => None,
        };
        let Some(mut table) = kept else { return self.rewrite(relation, blueprint, values) };
        let old = &table.schema().clone();
        if old.name() != new.name() {
            table = self.transaction.rename_table(&table, new.name())?;
        }
        for (old, new) in old.columns().iter().zip(new.columns()).filter(|(old, new)| old.name() != new.name()) {
            table = self.transaction.rename_column(&table, old.name(), new.name())?;
        }
        table = self.reach_indexes(table, old, &new)?;
        if old.notes() != new.notes() {
            table = self.transaction.annotate_table(&table, new.notes())?;
        }
        self.check_expressions(&table)?;
        if new.columns().len() > relation.columns.len() {
            let grown = Relation::of(&table)?;
            let is_new = |check: &&CheckNote| relation.notes.checks.iter().all(|known| known.name != check.name);
            grown.notes.checks.iter().filter(is_new).try_for_each(|check| self.check_rows(&grown, check))?;
        }
        Ok(table)
    }

    /// Gives a table other indexes.
    fn reach_indexes(&self, mut table: Table, old: &Schema, new: &Schema) -> Result<Table> {
        let kind = |index: &Index| (index.is_unique(), index.is_partial());
        let is_as = |one: &Index, other: &Index| one.columns() == other.columns() && kind(one) == kind(other);
        let has = |schema: &Schema, index: &Index| schema.index(index.name()).is_ok_and(|found| is_as(found, index));
        let mut gone: Vec<&Index> = old.indexes().iter().filter(|index| !has(new, index)).collect();
        for index in new.indexes().iter().filter(|index| !has(old, index)) {
            table = match gone.iter().position(|gone| is_as(gone, index)) {
                Some(at) => self.transaction.rename_index(&table, gone.remove(at).name(), index.name())?,
                None => {
                    let columns: Vec<&str> = index.columns().iter().map(|at| new.column(*at).name()).collect();
                    self.add_index(&table, index.name(), &columns, kind(index))?
                }
            };
        }
        for index in gone {
            table = self.transaction.drop_index(&table, index.name())?;
        }
        Ok(table)
    }

    /// Adds an index.
    pub(super) fn add_index(
        &self,
        table: &Table,
        name: &str,
        columns: &[&str],
        (is_unique, is_partial): (bool, bool),
    ) -> Result<Table> {
        let made = match is_partial {
            true => self.transaction.create_partial_index(table, name, columns, is_unique),
            false => self.transaction.create_index(table, name, columns, is_unique),
        };
        made.or_else(|error| {
            let relation = self.sql.relation(table)?;
            let position = |name: &&str| relation.columns.iter().position(|column| column.name == **name);
            let columns: Vec<usize> = columns.iter().filter_map(position).collect();
            Err(self.not_unique(&relation, name, &columns, error))
        })
    }

    /// The error of an index that rows break which are there.
    fn not_unique(&self, relation: &Relation, name: &str, columns: &[usize], error: Error) -> SqlError {
        let Error::Transaction(TransactionError::DuplicateKey { values, .. }) = &error else { return error.into() };
        let load = |(at, value): (&usize, &osier::table::Datum)| {
            storage::load(value.value()?, relation.columns[*at].declared).ok()
        };
        let keys = relation.keys(columns);
        let values = &values[values.len().saturating_sub(keys.len())..];
        let values: Vec<Datum> = keys.iter().zip(values).filter_map(load).collect();
        let key = shown_key(relation, keys, values.iter(), self.settings);
        SqlError::new(SqlState::UniqueViolation, format!("could not create unique index \"{name}\""))
            .with_detail(format!("Key {key} is duplicated."))
            .with_schema(&relation.name.schema)
            .with_table(&relation.name.name)
            .with_constraint(name)
    }

    /// Makes a table anew, with the rows that it has.
    fn rewrite(&self, relation: &Relation, blueprint: &mut Blueprint, values: &[(String, Expr)]) -> Result<Table> {
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        let old =
            self.transaction.scan(&relation.table, KeyRange::all())?.collect::<std::result::Result<Vec<_>, _>>()?;
        self.transaction.drop_table(&relation.table)?;
        if blueprint.key.is_some()
            && let Some(sequence) = blueprint.hidden_sequence.take()
        {
            self.drop_engine_sequence(&sequence)?;
        }
        let table = self.make(blueprint)?;
        let new = Relation::of(&table)?;
        let mut exprs = Vec::with_capacity(new.columns.len());
        for (at, column) in new.columns[..new.computed().end].iter().enumerate() {
            let value = values.iter().find(|(name, _)| *name == column.name);
            let is_it = |old: &Column| old.name == column.name && old.computed.is_some() == column.computed.is_some();
            exprs.push(match (value, relation.columns[..relation.computed().end].iter().position(is_it)) {
                (Some((_, value)), _) => value.clone(),
                (None, Some(at)) => Expr::Column(at),
                (None, None) => binder.default_of(&new, at)?,
            });
        }
        // What is only copied is not read. A column that takes the values of another one is more than that: what is computed of
        // it changes, and checks look at it.
        let column = |expr: &Expr| if let Expr::Column(at) = expr { Some(*at) } else { None };
        let is_copied = values.is_empty() && !new.has_hidden_key;
        let copied = exprs.iter().map(column).collect::<Option<Vec<_>>>().filter(|_| is_copied);
        let generated = binder.generated(&new)?;
        let checks = binder.checks(&new)?;
        let query = binder.finish(Plan::Nothing);
        self.runner.with_context(self.transaction, &query, &mut |context| {
            for row in &old {
                context.tick()?;
                if let Some(copied) = &copied {
                    let old: SmallVec<[Value<'_>; 16]> = row.values().collect();
                    let values: SmallVec<[Value<'_>; 16]> = copied.iter().map(|at| old[*at]).collect();
                    self.insert_stored(&new, &values)?;
                    continue;
                }
                let row = crate::run::scan::loaded(row, relation)?;
                let mut values = exprs.iter().map(|expr| expr.evaluate(&row, context)).collect::<Result<Vec<_>>>()?;
                if let Some(sequence) = new.notes.columns.last().filter(|_| new.has_hidden_key) {
                    let sequence = sequence.sequence.as_deref().unwrap_or_default();
                    values.push(Datum::Int(context.hidden_key(sequence)?));
                }
                crate::run::write::generate(&generated, &mut values, context)?;
                for (name, check) in &checks {
                    if let Datum::Bool(false) = check.evaluate(&values, context)? {
                        return Err(violated_by_some_row(&new, name));
                    }
                }
                self.insert(&new, &values)?;
            }
            Ok(Datum::Null)
        })?;
        Ok(table)
    }

    fn insert(&self, relation: &Relation, values: &[Datum]) -> Result<()> {
        let mut scratch = Vec::new();
        let mut stored: SmallVec<[Stored<'_>; 16]> = SmallVec::new();
        for (value, column) in values.iter().zip(&relation.columns) {
            stored.push(storage::store(value, column.declared, &mut scratch)?);
        }
        let values: SmallVec<[Value<'_>; 16]> = stored.into_iter().map(|stored| stored.value(&scratch)).collect();
        self.insert_stored(relation, &values)
    }

    fn insert_stored(&self, relation: &Relation, values: &[Value<'_>]) -> Result<()> {
        let is_missing = |(column, value): &(&Column, &Value<'_>)| value.is_null() && !column.is_nullable;
        if let Some((column, _)) = relation.columns.iter().zip(values).find(is_missing) {
            return Err(holds_null(relation, &column.name));
        }
        let Err(error) = self.transaction.insert(&relation.table, values) else { return Ok(()) };
        let is_broken = |index: &&relation::Index| match &error {
            Error::Transaction(TransactionError::DuplicateKey { constraint, .. }) => {
                *constraint == format!("unique index `{}`", index.name)
            }
            _ => false,
        };
        Err(match relation.indexes.iter().find(is_broken) {
            Some(index) => self.not_unique(relation, &index.name, &index.columns, error),
            None => self.not_unique(relation, &relation.key_name, &relation.key, error),
        })
    }
}

/// The error of a check that rows break which are there.
pub(super) fn violated_by_some_row(relation: &Relation, check: &str) -> SqlError {
    let table = &relation.name.name;
    let message = format!("check constraint \"{check}\" of relation \"{table}\" is violated by some row");
    SqlError::new(SqlState::CheckViolation, message)
        .with_schema(&relation.name.schema)
        .with_table(table)
        .with_constraint(check)
}

/// Whether rows of one schema are rows of another one, as all their columns are the same.
fn has_same_rows(old: &Schema, new: &Schema) -> bool {
    let is_as = |old: &osier::table::Column, new: &osier::table::Column| {
        old.ty() == new.ty() && old.is_nullable() == new.is_nullable()
    };
    old.columns().len() == new.columns().len()
        && old.columns().iter().zip(new.columns()).all(|(old, new)| is_as(old, new))
        && old.primary_key() == new.primary_key()
}
