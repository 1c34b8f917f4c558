//! What definitions need rights for, and which names are free.

use std::sync::Arc;

use super::{Defined, Definer};
use crate::catalog::name::Name;
use crate::catalog::objects::{self, Kind, Objects, SequenceEntry};
use crate::catalog::relation::Relation;
use crate::catalog::rights::{Grant, Object, Rights};
use crate::catalog::system::{self, Commented};
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::parse::objects::RoleSpec;
use crate::sql::{OWN_SCHEMA, Sql};

/// What a name of the shared namespace is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Table,
    View,
    Materialized,
    Sequence,
    Index,
}

impl Taken {
    pub(super) fn word(self) -> &'static str {
        match self {
            Taken::Table => "table",
            Taken::View => "view",
            Taken::Materialized => "materialized view",
            Taken::Sequence => "sequence",
            Taken::Index => "index",
        }
    }

    pub(super) fn article(self) -> &'static str {
        if self == Taken::Index { "an" } else { "a" }
    }
}

impl Definer<'_, '_> {
    pub(super) fn objects(&self) -> Result<Arc<Objects>> {
        Ok(self.sql.objects(self.transaction)?.1)
    }

    /// The role that a statement means.
    pub(super) fn role_of(&self, role: &RoleSpec) -> Result<String> {
        let name = match role {
            RoleSpec::Named(name) => name.clone(),
            RoleSpec::Current => self.user.to_owned(),
            RoleSpec::Session => self.settings.session_user().to_owned(),
            RoleSpec::Public => {
                return Err(SqlError::new(SqlState::UndefinedObject, "role \"public\" does not exist"));
            }
        };
        match self.objects()?.roles.contains_key(&name) {
            true => Ok(name),
            false => Err(SqlError::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist"))),
        }
    }

    /// Refuses who does not own a table.
    pub(super) fn need_table(&self, relation: &Relation) -> Result<()> {
        if self.settings.is_superuser() {
            return Ok(());
        }
        let owner = &relation.notes.owner;
        self.objects()?.need_owner(self.user, &relation.object(), owner)
    }

    /// Refuses who owns neither an object nor its schema.
    pub(super) fn need_to_drop(&self, object: &Object, owner: &str, schema: &str) -> Result<()> {
        let objects = self.objects()?;
        match objects.is_owner(self.user, owner) || objects.is_owner(self.user, objects.schema_owner(schema)) {
            true => Ok(()),
            false => Err(object.not_owned()),
        }
    }

    /// Refuses who lacks a right on a table.
    pub(super) fn need_right(&self, relation: &Relation, right: Rights) -> Result<()> {
        if self.settings.is_superuser() {
            return Ok(());
        }
        let (object, owner) = (relation.object(), &relation.notes.owner);
        self.objects()?.need(self.user, &object, owner, right)
    }

    /// Refuses a schema that is not there, or in which the user makes nothing.
    pub(super) fn need_create(&self, schema: &str) -> Result<()> {
        let objects = self.objects()?;
        if schema == OWN_SCHEMA || matches!(schema, "pg_catalog" | "information_schema") {
            let message = format!("permission denied for schema {schema}");
            return Err(SqlError::new(SqlState::InsufficientPrivilege, message));
        }
        if !objects.has_schema(schema) {
            let message = format!("schema \"{schema}\" does not exist");
            return Err(SqlError::new(SqlState::InvalidSchemaName, message));
        }
        objects.need_schema(self.user, schema, Rights::CREATE)
    }

    /// The schema in which things are made whose name says none.
    pub(super) fn schema_to_create_in(&self) -> Result<String> {
        let objects = self.objects()?;
        let is_there = |schema: &&str| self.settings.temporary().is_own(schema) || objects.has_schema(schema);
        let found = self.settings.said_schemas().find(is_there);
        found
            .map(str::to_owned)
            .ok_or_else(|| SqlError::new(SqlState::InvalidSchemaName, "no schema has been selected to create in"))
    }

    /// As [`Definer::taken`], of a name that something is to get: nobody else gives it to anything meanwhile.
    pub(super) fn claim(&self, name: &Name) -> Result<Option<Taken>> {
        self.runner.claim(name)?;
        self.taken(name)
    }

    /// What has a name.
    pub(super) fn taken(&self, name: &Name) -> Result<Option<Taken>> {
        if let Some(relation) = self.sql.find(self.transaction, name)? {
            return Ok(Some(if relation.is_materialized() { Taken::Materialized } else { Taken::Table }));
        }
        if self.objects()?.views.contains_key(name) {
            return Ok(Some(Taken::View));
        }
        if self.transaction.sequence(&name.engine()).is_ok() {
            return Ok(Some(Taken::Sequence));
        }
        Ok(self.table_of_index(name)?.map(|_| Taken::Index))
    }

    /// Refuses a name that something has.
    pub(super) fn need_free(&self, name: &Name) -> Result<()> {
        match self.claim(name)? {
            None => Ok(()),
            Some(_) => {
                let message = format!("relation \"{}\" already exists", name.name);
                Err(SqlError::new(SqlState::DuplicateTable, message))
            }
        }
    }

    /// The names that one in a statement may mean.
    pub(super) fn candidates(&self, parts: &[String]) -> Result<Vec<Name>> {
        let names = self.names();
        let idents: Vec<sqlparser::ast::Ident> =
            parts.iter().map(|part| sqlparser::ast::Ident::with_quote('"', part)).collect();
        crate::bind::Binder::new(&names, self.settings, &[]).candidates(&idents.into())
    }

    /// The first thing in the search path that has a name, but for indexes.
    pub(super) fn named(&self, parts: &[String]) -> Result<Option<(Name, Taken)>> {
        for name in self.candidates(parts)? {
            if !name.is_sound() || name.schema == OWN_SCHEMA {
                continue;
            }
            if let Some(taken) = self.taken(&name)? {
                return Ok(Some((name, taken)));
            }
        }
        Ok(None)
    }

    /// Notes who owns a sequence.
    pub(super) fn own(&self, engine: &str, owner: &str) -> Result<()> {
        let objects = self.objects()?;
        let known = objects.sequences.get(&Name::of_engine(engine));
        self.own_as(engine, owner, known.is_some_and(|entry| entry.is_temporary))
    }

    /// Notes who owns a sequence, and whether it is temporary by itself. As a part of its table a temporary one has the owner of
    /// that: everybody reads what is noted here, so that it is noted for what is permanent if that can be.
    pub(super) fn own_as(&self, engine: &str, owner: &str, is_temporary: bool) -> Result<()> {
        let is_part = self.settings.temporary().is_own(&Name::of_engine(engine).schema);
        if !is_temporary && (owner == Sql::FIRST_ROLE || is_part) {
            return match self.objects()?.sequences.contains_key(&Name::of_engine(engine)) {
                true => objects::remove(self.transaction, Kind::Sequence, engine),
                false => Ok(()),
            };
        }
        let (number, owner) = (objects::new_number(self.transaction)?, owner.to_owned());
        objects::put(self.transaction, Kind::Sequence, engine, &SequenceEntry { number, owner, is_temporary })
    }

    /// Makes an expression with names of sequences and types mean the same under every search path.
    pub(super) fn with_schemas(&self, text: &str, is_always: bool) -> Result<String> {
        let text = self.with_types_named(text)?;
        parse::sequence::renamed(&text, &|name| {
            let parts = parse::object_name(name)?;
            for candidate in self.candidates(&parts)? {
                let is_there = candidate.is_sound() && self.transaction.sequence(&candidate.engine()).is_ok();
                if !is_there {
                    continue;
                }
                return Ok(Some(match is_always {
                    true => parse::sequence::quoted(&candidate.schema, &candidate.name),
                    false => parse::sequence::shown(&candidate),
                }));
            }
            let message = format!("relation \"{}\" does not exist", parts.join("."));
            Err(SqlError::new(SqlState::UndefinedTable, message))
        })
    }

    /// Moves a sequence: it is made again under another name, and goes on where it was. `owner` is the table of its column, which
    /// is made anew, too.
    pub(super) fn move_sequence(&self, from: &str, to: &str, owner: Option<&Name>) -> Result<()> {
        let system = self.transaction.table("osier_sequences")?;
        let Some(row) = self.transaction.get(&system, &[osier::Value::Text(from)])? else { return Ok(()) };
        let number = |column: &str| -> Result<Option<i64>> {
            let column = system.column(column)?;
            Ok((!row.is_null(column)).then(|| row.int(column)))
        };
        let need = |column: &str| Ok::<i64, SqlError>(number(column)?.unwrap_or_default());
        let mut options = osier::SequenceOptions::new(to)
            .increment(need("increment")?)
            .minimum(need("minimum")?)
            .maximum(need("maximum")?)
            .start(need("start")?)
            .cache(need("cache")?);
        if row.boolean(system.column("cycle")?) {
            options = options.cycle(true);
        }
        let next = number("next")?;
        let old = self.transaction.sequence(from)?;
        self.transaction.drop_sequence(&old)?;
        let new = self.transaction.create_sequence(&options)?;
        match next {
            Some(next) => self.transaction.restart_sequence(&new, Some(next))?,
            None => return Err(SqlError::unsupported("moving a sequence that has no value left")),
        }
        let objects = self.objects()?;
        self.move_comment(Commented::Sequence, from, to)?;
        let (from, to) = (Name::of_engine(from), Name::of_engine(to));
        self.sequence_renamed(&from, &to, owner)?;
        if let Some(entry) = objects.sequences.get(&from) {
            objects::remove(self.transaction, Kind::Sequence, &from.engine())?;
            objects::put(self.transaction, Kind::Sequence, &to.engine(), entry)?;
        }
        self.move_rights(&Object::Sequence(from), &Object::Sequence(to))
    }

    /// Gives the comment on something to what it is called now.
    pub(super) fn move_comment(&self, commented: Commented, from: &str, to: &str) -> Result<()> {
        let comments = system::comments(self.transaction, commented)?;
        let Some((_, comment)) = comments.into_iter().find(|(name, _)| name == from) else { return Ok(()) };
        system::forget(self.transaction, commented, from)?;
        system::remark(self.transaction, commented, to, Some(&comment))
    }

    /// Gives the list of an object to what it is called now.
    pub(super) fn move_rights(&self, from: &Object, to: &Object) -> Result<()> {
        if let Some(list) = self.objects()?.lists.get(&from.key()) {
            objects::remove(self.transaction, Kind::Rights, &from.key())?;
            objects::put(self.transaction, Kind::Rights, &to.key(), list)?;
        }
        Ok(())
    }

    /// Forgets the list of an object that is gone.
    pub(super) fn forget_rights(&self, object: &Object) -> Result<()> {
        match self.objects()?.lists.contains_key(&object.key()) {
            true => objects::remove(self.transaction, Kind::Rights, &object.key()),
            false => Ok(()),
        }
    }

    /// Forgets a sequence that is gone.
    pub(super) fn forget_sequence(&self, engine: &str) -> Result<()> {
        let name = Name::of_engine(engine);
        if self.objects()?.sequences.contains_key(&name) {
            objects::remove(self.transaction, Kind::Sequence, engine)?;
        }
        self.forget_rights(&Object::Sequence(name))
    }

    /// Puts another owner into the list of an object.
    pub(super) fn change_owner_in_rights(&self, object: &Object, old: &str, new: &str) -> Result<()> {
        let objects = self.objects()?;
        let Some(list) = objects.lists.get(&object.key()) else { return Ok(()) };
        let mut merged: Vec<Grant> = Vec::with_capacity(list.len());
        for mut grant in list.iter().cloned() {
            if grant.to.as_deref() == Some(old) {
                grant.to = Some(new.to_owned());
            }
            if grant.by == old {
                new.clone_into(&mut grant.by);
            }
            // The new owner may have had some rights before.
            let is_same =
                |known: &&mut Grant| (&known.to, &known.by, &known.column) == (&grant.to, &grant.by, &grant.column);
            match merged.iter_mut().find(is_same) {
                Some(known) => {
                    known.rights = known.rights.and(grant.rights);
                    known.options = known.options.and(grant.options);
                }
                None => merged.push(grant),
            }
        }
        objects::put(self.transaction, Kind::Rights, &object.key(), &merged)
    }

    /// Refuses a change of the owner that the user may not make.
    pub(super) fn need_owner_change(&self, object: &Object, old: &str, new: &str, schema: Option<&str>) -> Result<()> {
        let objects = self.objects()?;
        objects.need_owner(self.user, object, old)?;
        if objects.is_superuser(self.user) {
            return Ok(());
        }
        if !objects.roles_of(self.user, true).contains(new) {
            let message = format!("must be member of role \"{new}\"");
            return Err(SqlError::new(SqlState::InsufficientPrivilege, message));
        }
        match schema {
            Some(schema) => objects.need_schema(new, schema, Rights::CREATE),
            None => Ok(()),
        }
    }

    /// The owner of a sequence.
    pub(super) fn sequence_owner(&self, name: &Name) -> Result<String> {
        let objects = self.objects()?;
        if self.settings.temporary().is_own(&name.schema)
            && !objects.sequences.contains_key(name)
            && let Some((relation, _)) = self.column_of_sequence(name)?
        {
            return Ok(relation.notes.owner.clone());
        }
        Ok(objects.sequence_owner(name).to_owned())
    }

    /// The table and the position of the column that a sequence belongs to.
    pub(super) fn column_of_sequence(&self, sequence: &Name) -> Result<Option<(Arc<Relation>, usize)>> {
        let engine = sequence.engine();
        for name in self.tables_about(&sequence.schema)? {
            let Ok(table) = self.transaction.table(&name) else { continue };
            // A look at the text first: most tables have no such sequence.
            if !table.schema().notes().contains(&sequence.name) {
                continue;
            }
            let relation = self.sql.relation(&table)?;
            let at = relation.notes.columns.iter().position(|note| note.sequence.as_deref() == Some(&engine));
            if let Some(at) = at {
                return Ok(Some((relation, at)));
            }
        }
        Ok(None)
    }

    /// Nothing is there to change.
    pub(super) fn skipped(tag: &'static str, what: &str) -> Defined {
        Defined::noticed(tag, SqlState::SuccessfulCompletion, format!("{what} does not exist, skipping"))
    }
}
