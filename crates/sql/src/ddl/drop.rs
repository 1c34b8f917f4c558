//! `DROP` and `TRUNCATE`.

use std::sync::Arc;

use osier::{Error, TransactionError};
use sqlparser::ast::{CascadeOption, ObjectName, ObjectType, Truncate, TruncateIdentityOption};

use super::blueprint::Blueprint;
use super::{Defined, Definer};
use crate::bind::{Binder, undefined_table};
use crate::catalog::name::Name;
use crate::catalog::notes::{ForeignKeyNote, ReferenceNote};
use crate::catalog::relation::Relation;
use crate::catalog::system::{Commented, forget};
use crate::error::{Result, SqlError, SqlState};
use crate::parse;

impl Definer<'_, '_> {
    pub(super) fn drop(
        &self,
        ty: ObjectType,
        if_exists: bool,
        names: &[ObjectName],
        cascades: bool,
    ) -> Result<Defined> {
        if ty == ObjectType::Table {
            return self.drop_tables(if_exists, names, cascades);
        }
        let mut defined = Defined::tagged(match ty {
            ObjectType::Index => "DROP INDEX",
            ObjectType::Sequence => "DROP SEQUENCE",
            other => return Err(SqlError::unsupported(format!("DROP {other}"))),
        });
        for name in names {
            let was_there = match ty {
                ObjectType::Index => self.drop_index(name, cascades, &mut defined.notices)?,
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

    fn drop_tables(&self, if_exists: bool, names: &[ObjectName], cascades: bool) -> Result<Defined> {
        let mut defined = Defined::tagged("DROP TABLE");
        let mut tables: Vec<String> = Vec::new();
        for name in names {
            match self.find(name)? {
                Some(relation) if tables.iter().any(|known| known == relation.table.name()) => {}
                Some(relation) => tables.push(relation.table.name().to_owned()),
                None => {
                    let message = format!("table \"{}\" does not exist", parse::parts(name)?.join("."));
                    if !if_exists {
                        return Err(SqlError::new(SqlState::UndefinedTable, message));
                    }
                    let message = format!("{message}, skipping");
                    defined.notices.push(SqlError::new(SqlState::SuccessfulCompletion, message));
                }
            }
        }
        // Keys between tables that are dropped go with them.
        for table in &tables {
            let mut blueprint = self.blueprint_of(table)?;
            let what = format!("table {}", blueprint.name);
            let is_lost =
                |_: &Blueprint, reference: &ReferenceNote, _: &ForeignKeyNote| !tables.contains(&reference.table);
            defined.notices.extend(self.drop_references(&mut blueprint, (&what, &what), cascades, &is_lost)?);
            let keys: Vec<_> =
                blueprint.foreign_keys.iter().filter(|key| !tables.contains(&key.table)).cloned().collect();
            for key in keys {
                self.drop_key(&mut blueprint, &key.name)?;
            }
        }
        for table in &tables {
            let sequences = self.blueprint_of(table)?;
            self.transaction.drop_table(&self.transaction.table(table)?)?;
            let of_columns = sequences.columns.iter().filter_map(|column| column.sequence.as_deref());
            for sequence in of_columns.chain(sequences.hidden_sequence.as_deref()) {
                self.drop_engine_sequence(sequence)?;
            }
        }
        Ok(defined)
    }

    fn blueprint_of(&self, table: &str) -> Result<Blueprint> {
        Ok(Blueprint::of(&*self.sql.relation(&self.transaction.table(table)?)?))
    }

    fn drop_index(&self, name: &ObjectName, cascades: bool, notices: &mut Vec<SqlError>) -> Result<bool> {
        let name = parse::parts(name)?.pop().unwrap_or_default();
        let Some(table) = self.table_of_index(&name)? else { return Ok(false) };
        let relation = Relation::of(&table)?;
        if relation.notes.unique.contains(&name) {
            let table = &relation.name.name;
            let message = format!("cannot drop index {name} because constraint {name} on table {table} requires it");
            return Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
                .with_hint(format!("You can drop constraint {name} on table {table} instead.")));
        }
        let mut blueprint = Blueprint::of(&relation);
        blueprint.indexes.retain(|index| index.name != name);
        let what = format!("index {name}");
        notices.extend(self.drop_keyless_references(&mut blueprint, (&what, &name), cascades)?);
        let table = match blueprint.referenced_by.len() == relation.notes.referenced_by.len() {
            true => table,
            false => self.transaction.annotate_table(&table, blueprint.schema()?.notes().to_owned())?,
        };
        let table = self.transaction.drop_index(&table, &name)?;
        if relation.notes.comments.contains_key(&what) {
            let notes = Blueprint::of(&*Relation::of(&table)?).schema()?.notes().to_owned();
            self.transaction.annotate_table(&table, notes)?;
        }
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
                forget(self.transaction, Commented::Sequence, name)?;
                Ok(true)
            }
            Err(Error::Transaction(TransactionError::UnknownSequence { .. })) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn truncate(&self, truncate: &Truncate) -> Result<Defined> {
        let mut relations: Vec<Arc<Relation>> = Vec::new();
        for target in &truncate.table_names {
            let relation = self.find(&target.name)?.ok_or_else(|| undefined_table(&target.name))?;
            if relations.iter().all(|known| known.table.id() != relation.table.id()) {
                relations.push(relation);
            }
        }
        let cascades = truncate.cascade == Some(CascadeOption::Cascade);
        let notices = self.truncate_children(&mut relations, cascades)?;
        for relation in relations {
            self.transaction.drop_table(&relation.table)?;
            self.transaction.create_table(Blueprint::of(&relation).schema()?)?;
            if truncate.identity == Some(TruncateIdentityOption::Restart) {
                for sequence in relation.notes.columns.iter().filter_map(|note| note.sequence.as_deref()) {
                    let sequence = self.transaction.sequence(sequence)?;
                    self.transaction.restart_sequence(&sequence, None)?;
                }
            }
        }
        Ok(Defined { notices, ..Defined::tagged("TRUNCATE TABLE") })
    }

    /// Adds the tables that refer to those which are emptied, or refuses where there is one and the statement does not say
    /// `CASCADE`.
    fn truncate_children(&self, relations: &mut Vec<Arc<Relation>>, cascades: bool) -> Result<Vec<SqlError>> {
        let mut notices = Vec::new();
        let mut at = 0;
        while at < relations.len() {
            let parent = relations[at].clone();
            at += 1;
            for reference in &parent.notes.referenced_by {
                let child = self.sql.find(self.transaction, &Name::of_engine(&reference.table))?;
                let Some(child) = child else { continue };
                let refers = child.notes.foreign_keys.iter().any(|key| key.table == parent.table.name());
                if !refers || relations.iter().any(|known| known.table.id() == child.table.id()) {
                    continue;
                }
                let name = &child.name.name;
                if !cascades {
                    let message = "cannot truncate a table referenced in a foreign key constraint";
                    return Err(SqlError::new(SqlState::FeatureNotSupported, message)
                        .with_detail(format!("Table \"{name}\" references \"{}\".", parent.name.name))
                        .with_hint(format!(
                            "Truncate table \"{name}\" at the same time, or use TRUNCATE ... CASCADE."
                        )));
                }
                let message = format!("truncate cascades to table \"{name}\"");
                notices.push(SqlError::new(SqlState::SuccessfulCompletion, message));
                relations.push(child);
            }
        }
        Ok(notices)
    }
}
