//! `DROP` and `TRUNCATE`.

use osier::{Error, TransactionError};
use sqlparser::ast::{ObjectName, ObjectType, Truncate, TruncateIdentityOption};

use super::blueprint::Blueprint;
use super::{Defined, Definer};
use crate::bind::{Binder, undefined_table};
use crate::catalog::relation::Relation;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;

impl Definer<'_, '_> {
    pub(super) fn drop(
        &self,
        ty: ObjectType,
        if_exists: bool,
        names: &[ObjectName],
        _cascade: bool,
    ) -> Result<Defined> {
        let mut defined = Defined::tagged(match ty {
            ObjectType::Table => "DROP TABLE",
            ObjectType::Index => "DROP INDEX",
            ObjectType::Sequence => "DROP SEQUENCE",
            other => return Err(SqlError::unsupported(format!("DROP {other}"))),
        });
        for name in names {
            let was_there = match ty {
                ObjectType::Table => self.drop_table(name)?,
                ObjectType::Index => self.drop_index(name)?,
                _ => self.drop_sequence(name)?,
            };
            if was_there {
                continue;
            }
            let kind = ty.to_string().to_lowercase();
            let shown = parse::parts(name)?.join(".");
            let message = format!("{kind} \"{shown}\" does not exist");
            if !if_exists {
                let state = if ty == ObjectType::Index { SqlState::UndefinedObject } else { SqlState::UndefinedTable };
                return Err(SqlError::new(state, message));
            }
            defined.notices.push(SqlError::new(SqlState::SuccessfulCompletion, format!("{message}, skipping")));
        }
        Ok(defined)
    }

    fn drop_table(&self, name: &ObjectName) -> Result<bool> {
        let Some(relation) = self.find(name)? else { return Ok(false) };
        self.transaction.drop_table(&relation.table)?;
        for sequence in relation.notes.columns.iter().filter_map(|note| note.sequence.as_deref()) {
            self.drop_engine_sequence(sequence)?;
        }
        Ok(true)
    }

    fn drop_index(&self, name: &ObjectName) -> Result<bool> {
        let name = parse::parts(name)?.pop().unwrap_or_default();
        let Some(table) = self.table_of_index(&name)? else { return Ok(false) };
        let relation = Relation::of(&table)?;
        if relation.notes.unique.contains(&name) {
            let table = &relation.name.name;
            let message = format!("cannot drop index {name} because constraint {name} on table {table} requires it");
            return Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
                .with_hint(format!("You can drop constraint {name} on table {table} instead.")));
        }
        self.transaction.drop_index(&table, &name)?;
        Ok(true)
    }

    fn drop_sequence(&self, name: &ObjectName) -> Result<bool> {
        let names = self.names();
        for candidate in Binder::new(&names, self.settings, &[]).candidates(name)? {
            let engine = candidate.engine();
            for table in self.table_names()? {
                let Ok(table) = self.transaction.table(&table) else { continue };
                let relation = Relation::of(&table)?;
                let owner = relation.notes.columns.iter().position(|note| note.sequence.as_deref() == Some(&engine));
                if let Some(at) = owner {
                    let (table, column) = (&relation.name.name, &relation.columns[at].name);
                    let message = format!("cannot drop sequence {engine} because other objects depend on it");
                    return Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
                        .with_detail(format!("default value for column {column} of table {table} depends on it.")));
                }
            }
            if self.drop_engine_sequence(&engine)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Drops a sequence, and returns whether it was there.
    pub(super) fn drop_engine_sequence(&self, name: &str) -> Result<bool> {
        match self.transaction.sequence(name) {
            Ok(sequence) => {
                self.transaction.drop_sequence(&sequence)?;
                Ok(true)
            }
            Err(Error::Transaction(TransactionError::UnknownSequence { .. })) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn truncate(&self, truncate: &Truncate) -> Result<Defined> {
        for target in &truncate.table_names {
            let relation = self.find(&target.name)?.ok_or_else(|| undefined_table(&target.name))?;
            self.transaction.drop_table(&relation.table)?;
            self.transaction.create_table(Blueprint::of(&relation).schema()?)?;
            if truncate.identity == Some(TruncateIdentityOption::Restart) {
                for sequence in relation.notes.columns.iter().filter_map(|note| note.sequence.as_deref()) {
                    let sequence = self.transaction.sequence(sequence)?;
                    self.transaction.restart_sequence(&sequence, None)?;
                }
            }
        }
        Ok(Defined::tagged("TRUNCATE TABLE"))
    }
}
