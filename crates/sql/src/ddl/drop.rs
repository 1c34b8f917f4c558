//! `DROP` and `TRUNCATE`.

use std::sync::Arc;

use osier::{Error, Table, TransactionError};
use sqlparser::ast::{CascadeOption, ObjectName, ObjectType, Truncate, TruncateIdentityOption};

use super::authority::Taken;
use super::blueprint::Blueprint;
use super::{Defined, Definer};
use crate::bind::undefined_table;
use crate::catalog::name::Name;
use crate::catalog::notes::{ForeignKeyNote, ReferenceNote};
use crate::catalog::relation::Relation;
use crate::catalog::rights::{Object, Rights};
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
        match ty {
            ObjectType::Table => return self.drop_tables(if_exists, names, cascades),
            ObjectType::Schema => return self.drop_schemas(names, if_exists, cascades),
            ObjectType::View => return self.drop_views(Taken::View, names, if_exists, cascades),
            ObjectType::MaterializedView => {
                return self.drop_views(Taken::Materialized, names, if_exists, cascades);
            }
            _ => {}
        }
        let mut defined = Defined::tagged(match ty {
            ObjectType::Index => "DROP INDEX",
            ObjectType::Sequence => "DROP SEQUENCE",
            other => return Err(SqlError::unsupported(format!("DROP {other}"))),
        });
        defined.is_private = true;
        for name in names {
            let was_there = match ty {
                ObjectType::Index => self.drop_index(name, cascades, &mut defined)?,
                _ => self.drop_sequence(name, cascades, &mut defined)?,
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

    /// What a statement drops, so that what of it depends on the rest does not keep it.
    fn going(&self, names: &[ObjectName]) -> Result<Vec<Name>> {
        let mut going = Vec::with_capacity(names.len());
        for name in names {
            going.extend(self.named(&parse::parts(name)?)?.map(|(name, _)| name));
        }
        Ok(going)
    }

    fn drop_tables(&self, if_exists: bool, names: &[ObjectName], cascades: bool) -> Result<Defined> {
        let mut defined = Defined { is_private: true, ..Defined::tagged("DROP TABLE") };
        let mut tables: Vec<String> = Vec::new();
        for name in names {
            let found = self.find_any(name)?;
            let Some(relation) = found.filter(|relation| !relation.is_materialized()) else {
                self.refuse_other_kind(name, Taken::Table)?;
                let message = format!("table \"{}\" does not exist", parse::parts(name)?.join("."));
                if !if_exists {
                    return Err(SqlError::new(SqlState::UndefinedTable, message));
                }
                let message = format!("{message}, skipping");
                defined.notices.push(SqlError::new(SqlState::SuccessfulCompletion, message));
                continue;
            };
            let object = Object::Table(relation.name.clone());
            self.need_to_drop(&object, &relation.notes.owner, &relation.name.schema)?;
            defined.is_private &= self.settings.temporary().is_own(&relation.name.schema);
            if tables.iter().all(|known| known != relation.table.name()) {
                tables.push(relation.table.name().to_owned());
            }
        }
        let going = self.going(names)?;
        self.drop_all(&tables, cascades, &going, &mut defined)?;
        Ok(defined)
    }

    /// Drops tables with their sequences, and what depends on them. `going` is what the statement drops beside.
    pub(super) fn drop_all(
        &self,
        tables: &[String],
        cascades: bool,
        going: &[Name],
        defined: &mut Defined,
    ) -> Result<()> {
        for table in tables {
            let name = Name::of_engine(table);
            self.release(&format!("table {}", self.shown(&name)), &name, None, cascades, going, defined)?;
        }
        let names: Vec<Name> = tables.iter().map(|table| Name::of_engine(table)).collect();
        for table in tables {
            let blueprint = self.blueprint_of(table)?;
            let dropped = format!("table {}", self.shown(&blueprint.name));
            for sequence in blueprint.columns.iter().filter_map(|column| column.sequence.as_deref()) {
                let sequence = Name::of_engine(sequence);
                self.release_sequence_of(&dropped, &sequence, &names, cascades, defined)?;
            }
        }
        // Keys between tables that are dropped go with them.
        for table in tables {
            let mut blueprint = self.blueprint_of(table)?;
            let what = format!("table {}", self.shown(&blueprint.name));
            let is_lost =
                |_: &Blueprint, reference: &ReferenceNote, _: &ForeignKeyNote| !tables.contains(&reference.table);
            defined.notices.extend(self.drop_references(&mut blueprint, (&what, &what), cascades, &is_lost)?);
            let keys: Vec<_> =
                blueprint.foreign_keys.iter().filter(|key| !tables.contains(&key.table)).cloned().collect();
            for key in keys {
                self.drop_key(&mut blueprint, &key.name)?;
            }
        }
        for table in tables {
            let sequences = self.blueprint_of(table)?;
            self.transaction.drop_table(&self.transaction.table(table)?)?;
            let of_columns = sequences.columns.iter().filter_map(|column| column.sequence.as_deref());
            for sequence in of_columns.chain(sequences.hidden_sequence.as_deref()) {
                self.drop_engine_sequence(sequence)?;
            }
            self.forget_rights(&Object::Table(Name::of_engine(table)))?;
        }
        Ok(())
    }

    /// Drops tables with all that depends on them, and tells nobody.
    pub(crate) fn drop_for_good(&self, tables: &[String]) -> Result<()> {
        self.drop_all(tables, true, &[], &mut Defined::tagged("DROP TABLE"))
    }

    /// Refuses to drop something as what it is not.
    fn refuse_other_kind(&self, name: &ObjectName, wanted: Taken) -> Result<()> {
        let parts = parse::parts(name)?;
        if let Some((_, taken)) = self.named(&parts)?
            && taken != wanted
        {
            let (name, article) = (parts.last().map_or("", String::as_str), wanted.article());
            let message = format!("\"{name}\" is not {article} {}", wanted.word());
            return Err(SqlError::new(SqlState::WrongObjectType, message).with_hint(format!(
                "Use DROP {} to remove {} {}.",
                taken.word().to_uppercase(),
                taken.article(),
                taken.word()
            )));
        }
        Ok(())
    }

    /// Drops views, or materialized ones.
    fn drop_views(&self, wanted: Taken, names: &[ObjectName], if_exists: bool, cascade: bool) -> Result<Defined> {
        let (tag, word) = match wanted {
            Taken::Materialized => ("DROP MATERIALIZED VIEW", wanted.word()),
            _ => ("DROP VIEW", wanted.word()),
        };
        let mut defined = Defined { is_private: true, ..Defined::tagged(tag) };
        let going = self.going(names)?;
        for object in names {
            let parts = parse::parts(object)?;
            let Some((name, taken)) = self.named(&parts)? else {
                let message = format!("{word} \"{}\" does not exist", parts.join("."));
                if !if_exists {
                    return Err(SqlError::new(SqlState::UndefinedTable, message));
                }
                defined.notices.push(SqlError::new(SqlState::SuccessfulCompletion, format!("{message}, skipping")));
                continue;
            };
            if taken != wanted {
                self.refuse_other_kind(object, wanted)?;
            }
            let (object, owner) = self.object_of(&name, wanted)?;
            self.need_to_drop(&object, &owner, &name.schema)?;
            defined.is_private &= self.settings.temporary().is_own(&name.schema);
            self.release(&format!("{word} {}", self.shown(&name)), &name, None, cascade, &going, &mut defined)?;
            match wanted {
                Taken::Materialized => self.remove_materialized(&name)?,
                _ => self.remove_view(&name)?,
            }
        }
        Ok(defined)
    }

    fn blueprint_of(&self, table: &str) -> Result<Blueprint> {
        Ok(Blueprint::of(&*self.sql.relation(&self.transaction.table(table)?)?))
    }

    fn drop_index(&self, object: &ObjectName, cascades: bool, defined: &mut Defined) -> Result<bool> {
        for index in self.candidates(&parse::parts(object)?)? {
            let Some(table) = self.table_of_index(&index)? else { continue };
            let (relation, name) = (Relation::of(&table)?, &index.name);
            if self.need_to_drop(&Object::Table(index.clone()), &relation.notes.owner, &index.schema).is_err() {
                let message = format!("must be owner of index {name}");
                return Err(SqlError::new(SqlState::InsufficientPrivilege, message));
            }
            if relation.notes.unique.contains(name) || relation.key_name == *name {
                let table = &relation.name.name;
                let message =
                    format!("cannot drop index {name} because constraint {name} on table {table} requires it");
                return Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
                    .with_hint(format!("You can drop constraint {name} on table {table} instead.")));
            }
            defined.is_private &= relation.is_temporary();
            self.drop_index_of(table, &relation, name, cascades, &mut defined.notices)?;
            return Ok(true);
        }
        self.refuse_other_kind(object, Taken::Index)?;
        Ok(false)
    }

    fn drop_index_of(
        &self,
        table: Table,
        relation: &Relation,
        name: &str,
        cascades: bool,
        notices: &mut Vec<SqlError>,
    ) -> Result<()> {
        let mut blueprint = Blueprint::of(relation);
        blueprint.indexes.retain(|index| index.name != name);
        let what = format!("index {name}");
        notices.extend(self.drop_keyless_references(&mut blueprint, (&what, name), cascades)?);
        if !relation.computed().is_empty() {
            return self.reach(relation, &mut blueprint, &[]).map(|_| ());
        }
        let table = match blueprint.referenced_by.len() == relation.notes.referenced_by.len() {
            true => table,
            false => self.transaction.annotate_table(&table, blueprint.schema()?.notes().to_owned())?,
        };
        let table = self.transaction.drop_index(&table, name)?;
        if relation.notes.comments.contains_key(&what) || relation.notes.orders.contains_key(name) {
            let notes = Blueprint::of(&*Relation::of(&table)?).schema()?.notes().to_owned();
            self.transaction.annotate_table(&table, notes)?;
        }
        Ok(())
    }

    fn drop_sequence(&self, name: &ObjectName, cascades: bool, defined: &mut Defined) -> Result<bool> {
        for candidate in self.candidates(&parse::parts(name)?)? {
            if !candidate.is_sound() || self.transaction.sequence(&candidate.engine()).is_err() {
                continue;
            }
            let owner = self.sequence_owner(&candidate)?;
            self.need_to_drop(&Object::Sequence(candidate.clone()), &owner, &candidate.schema)?;
            defined.is_private &= self.settings.temporary().is_own(&candidate.schema);
            if let Some((relation, at)) = self.column_of_sequence(&candidate)? {
                let column = &relation.columns[at];
                let uses = column.default.as_deref().is_some_and(|default| default.contains(&candidate.name));
                if column.identity.is_none() && !uses {
                    let mut blueprint = Blueprint::of(&relation);
                    blueprint.columns[at].sequence = None;
                    self.transaction.annotate_table(&relation.table, blueprint.schema()?.notes().to_owned())?;
                    self.release_sequence(&candidate, cascades, defined)?;
                    return self.drop_engine_sequence(&candidate.engine());
                }
                let (table, column) = (&relation.name.name, &column.name);
                let shown = self.shown(&candidate);
                let message = format!("cannot drop sequence {shown} because other objects depend on it");
                return Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
                    .with_detail(format!("default value for column {column} of table {table} depends on it.")));
            }
            self.release_sequence(&candidate, cascades, defined)?;
            return self.drop_engine_sequence(&candidate.engine());
        }
        self.refuse_other_kind(name, Taken::Sequence)?;
        Ok(false)
    }

    /// Drops a sequence, and returns whether it was there.
    pub(super) fn drop_engine_sequence(&self, name: &str) -> Result<bool> {
        match self.transaction.sequence(name) {
            Ok(sequence) => {
                self.transaction.drop_sequence(&sequence)?;
                forget(self.transaction, Commented::Sequence, name)?;
                self.forget_sequence(name)?;
                Ok(true)
            }
            Err(Error::Transaction(TransactionError::UnknownSequence { .. })) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn truncate(&self, truncate: &Truncate) -> Result<Defined> {
        let mut relations: Vec<Arc<Relation>> = Vec::new();
        for target in &truncate.table_names {
            let found = self.find(&target.name)?;
            if let Some(relation) = found.as_ref().filter(|relation| relation.is_materialized()) {
                let message = format!("\"{}\" is not a table", relation.name.name);
                return Err(SqlError::new(SqlState::WrongObjectType, message));
            }
            let Some(relation) = found else {
                self.refuse_other_kind(&target.name, Taken::Table)?;
                return Err(undefined_table(&target.name));
            };
            if relations.iter().all(|known| known.table.id() != relation.table.id()) {
                relations.push(relation);
            }
        }
        let cascades = truncate.cascade == Some(CascadeOption::Cascade);
        let notices = self.truncate_children(&mut relations, cascades)?;
        let is_private = relations.iter().all(|relation| relation.is_temporary());
        relations.iter().try_for_each(|relation| self.need_right(relation, Rights::TRUNCATE))?;
        for relation in relations {
            self.transaction.drop_table(&relation.table)?;
            self.transaction.create_table(Blueprint::of(&relation).schema()?)?;
            if truncate.identity == Some(TruncateIdentityOption::Restart) {
                self.need_table(&relation)?;
                for sequence in relation.notes.columns.iter().filter_map(|note| note.sequence.as_deref()) {
                    let sequence = self.transaction.sequence(sequence)?;
                    self.transaction.restart_sequence(&sequence, None)?;
                }
            }
        }
        Ok(Defined { notices, is_private, ..Defined::tagged("TRUNCATE TABLE") })
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
