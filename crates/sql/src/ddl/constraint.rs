//! Constraints of tables that are there: `ALTER TABLE ... ADD`, `DROP`, `RENAME` and `VALIDATE CONSTRAINT`, and which keys
//! `SET CONSTRAINTS` names.

use std::cell::RefCell;

use osier::table::KeyRange;
use sqlparser::ast::{AlterTableOperation, DropBehavior, ForeignKeyConstraint, TableConstraint};

use super::Definer;
use super::alter::Rewrite;
use super::blueprint::Blueprint;
use super::foreign::refuse_types;
use crate::bind::Binder;
use crate::catalog::name::Name;
use crate::catalog::notes::ForeignKeyNote;
use crate::catalog::relation::Relation;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::plan::Plan;
use crate::run::foreign::Batch;
use crate::run::scan::loaded;

impl Definer<'_, '_> {
    /// Makes the change of one operation on a constraint; returns a notice where there is nothing to change.
    pub(super) fn alter_constraint(
        &self,
        relation: &Relation,
        blueprint: &mut Blueprint,
        rewrite: &mut Rewrite,
        operation: &AlterTableOperation,
    ) -> Result<Option<SqlError>> {
        match operation {
            AlterTableOperation::AddConstraint { constraint: TableConstraint::ForeignKey(key), not_valid } => {
                self.add_key(blueprint, rewrite, key, *not_valid)?;
            }
            AlterTableOperation::AddConstraint { constraint, .. } => {
                self.constraint(blueprint, constraint)?;
                if let (TableConstraint::Check(_), Some(last)) = (constraint, blueprint.checks.len().checked_sub(1)) {
                    self.read_literals(blueprint)?;
                    self.check_rows(relation, &blueprint.checks[last])?;
                }
                blueprint.refuse_same_names()?;
            }
            AlterTableOperation::DropConstraint { name, if_exists, drop_behavior } => {
                let name = parse::name(name);
                let cascades = *drop_behavior == Some(DropBehavior::Cascade);
                if self.drop_key(blueprint, &name)? {
                    return Ok(None);
                }
                if !drop_constraint(blueprint, &name) {
                    let error = undefined(blueprint, &name);
                    let message = format!("{}, skipping", error.message);
                    return match if_exists {
                        true => Ok(Some(SqlError::new(SqlState::SuccessfulCompletion, message))),
                        false => Err(error),
                    };
                }
                let dropped = format!("constraint {name} on table {}", blueprint.name);
                rewrite.notices.extend(self.drop_keyless_references(blueprint, (&dropped, &name), cascades)?);
            }
            AlterTableOperation::RenameConstraint { old_name, new_name } => {
                self.rename_constraint(blueprint, &parse::name(old_name), &parse::name(new_name))?;
            }
            AlterTableOperation::ValidateConstraint { name } => {
                self.validate(blueprint, rewrite, &parse::name(name))?
            }
            other => return Err(SqlError::unsupported(format!("ALTER TABLE ... {other}"))),
        }
        Ok(None)
    }

    fn add_key(
        &self,
        blueprint: &mut Blueprint,
        rewrite: &mut Rewrite,
        key: &ForeignKeyConstraint,
        is_not_valid: bool,
    ) -> Result<()> {
        blueprint.declared_keys.push(key.clone());
        let names = self.resolve_keys(blueprint)?;
        if let Some(key) = blueprint.foreign_keys.last_mut() {
            key.is_not_valid = is_not_valid;
        }
        if !is_not_valid {
            let own = blueprint.name.engine();
            rewrite.validate.extend(names.into_iter().map(|name| (own.clone(), name)));
        }
        Ok(())
    }

    fn validate(&self, blueprint: &mut Blueprint, rewrite: &mut Rewrite, name: &str) -> Result<()> {
        if !blueprint.has_constraint(name) {
            return Err(undefined(blueprint, name));
        }
        let own = blueprint.name.engine();
        match blueprint.foreign_keys.iter_mut().find(|key| key.name == name) {
            Some(key) if key.is_not_valid => {
                key.is_not_valid = false;
                rewrite.validate.push((own, name.to_owned()));
                Ok(())
            }
            Some(_) => Ok(()),
            None if blueprint.checks.iter().any(|check| check.name == name) => Ok(()),
            None => {
                let table = &blueprint.name.name;
                let message =
                    format!("constraint \"{name}\" of relation \"{table}\" is not a foreign key or check constraint");
                Err(SqlError::new(SqlState::WrongObjectType, message))
            }
        }
    }

    fn rename_constraint(&self, blueprint: &mut Blueprint, old: &str, new: &str) -> Result<()> {
        let table = blueprint.name.name.clone();
        if !blueprint.has_constraint(old) {
            let message = format!("constraint \"{old}\" for table \"{table}\" does not exist");
            return Err(SqlError::new(SqlState::UndefinedObject, message));
        }
        if blueprint.has_constraint(new) {
            let message = format!("constraint \"{new}\" for relation \"{table}\" already exists");
            return Err(SqlError::new(SqlState::DuplicateObject, message));
        }
        if blueprint.index_names().any(|name| name == old) {
            return self.rename_index(blueprint, old, new);
        }
        move_comments(blueprint, old, new);
        if self.rename_key(blueprint, old, new)? {
            return Ok(());
        }
        for check in blueprint.checks.iter_mut().filter(|check| check.name == old) {
            new.clone_into(&mut check.name);
        }
        Ok(())
    }

    /// Gives an index another name, with the constraint that it may be.
    pub(super) fn rename_index(&self, blueprint: &mut Blueprint, old: &str, new: &str) -> Result<()> {
        let name = Name::new(&blueprint.name.schema, new);
        name.check()?;
        self.need_free(&name)?;
        move_comments(blueprint, old, new);
        let key = blueprint.key.as_mut().map(|(name, _)| name);
        let indexes = blueprint.indexes.iter_mut().map(|index| &mut index.name);
        for name in key.into_iter().chain(indexes).filter(|name| *name == old) {
            new.clone_into(name);
        }
        Ok(())
    }

    /// Refuses a foreign key whose columns cannot be compared any more, or which a row violates.
    pub(super) fn validate_key(&self, table: &str, name: &str) -> Result<()> {
        let Some(child) = self.sql.find(self.transaction, &Name::of_engine(table))? else { return Ok(()) };
        let Some(note) = child.notes.foreign_keys.iter().find(|note| note.name == name) else { return Ok(()) };
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        let key = binder.foreign_key(&child, note)?;
        let (own, its) = (Blueprint::of(&child), Blueprint::of(&key.parent));
        for (column, referenced) in note.columns.iter().zip(&note.referenced) {
            refuse_types(name, (&own, column), (&its, referenced))?;
        }
        let batch = RefCell::new(Batch::referring(key));
        let query = binder.finish(Plan::Nothing);
        self.runner.with_context(self.transaction, &query, &mut |context| {
            let mut batch = batch.borrow_mut();
            for row in context.store.scan(&child.table, None, KeyRange::all(), false)? {
                context.tick()?;
                batch.add_row(&loaded(&row?, &child)?, context)?;
            }
            batch.check(context)?;
            Ok(Datum::Null)
        })?;
        Ok(())
    }

    /// The foreign keys that `SET CONSTRAINTS` means by a name: those of the first schema that has some. Tables are named as the
    /// engine names them.
    pub(crate) fn deferrable_keys(&self, parts: &[String]) -> Result<Vec<(String, String)>> {
        let (schemas, name) = match parts {
            [name] => (self.settings.schemas().map(str::to_owned).collect(), name),
            [schema, name] => (vec![self.settings.temporary().meant(schema.clone())], name),
            _ => return Err(SqlError::unsupported("the name of a constraint with more than a schema")),
        };
        let mut found: Vec<(String, String, ForeignKeyNote)> = Vec::new();
        for table in self.table_names()? {
            let Some(relation) = self.sql.find(self.transaction, &Name::of_engine(&table))? else { continue };
            let keys = relation.notes.foreign_keys.iter().filter(|key| key.name == *name);
            found.extend(keys.map(|key| (relation.name.schema.clone(), table.clone(), key.clone())));
        }
        for schema in schemas {
            let keys: Vec<_> = found.iter().filter(|(of, ..)| *of == schema).collect();
            if keys.iter().any(|(_, _, key)| !key.is_deferrable) {
                let message = format!("constraint \"{name}\" is not deferrable");
                return Err(SqlError::new(SqlState::WrongObjectType, message));
            }
            if !keys.is_empty() {
                return Ok(keys.into_iter().map(|(_, table, key)| (table.clone(), key.name.clone())).collect());
            }
        }
        let message = format!("constraint \"{name}\" does not exist");
        Err(SqlError::new(SqlState::UndefinedObject, message))
    }
}

/// The comments on an index and a constraint stay with it.
fn move_comments(blueprint: &mut Blueprint, old: &str, new: &str) {
    for kind in ["constraint", "index"] {
        if let Some(comment) = blueprint.comments.remove(&format!("{kind} {old}")) {
            blueprint.comments.insert(format!("{kind} {new}"), comment);
        }
    }
}

fn undefined(blueprint: &Blueprint, name: &str) -> SqlError {
    let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", blueprint.name.name);
    SqlError::new(SqlState::UndefinedObject, message)
}

/// Removes a constraint that is no foreign key, and returns whether it was there.
fn drop_constraint(blueprint: &mut Blueprint, name: &str) -> bool {
    if blueprint.key.as_ref().is_some_and(|(key, _)| key == name) {
        blueprint.key = None;
        return true;
    }
    let before = (blueprint.checks.len(), blueprint.indexes.len());
    blueprint.checks.retain(|check| check.name != name);
    blueprint.indexes.retain(|index| !index.is_constraint || index.name != name);
    (blueprint.checks.len(), blueprint.indexes.len()) != before
}
