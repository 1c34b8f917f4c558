//! Schemas, and `ALTER` of names, owners and schemas.

use sqlparser::ast::{self, ObjectName};

use super::authority::Taken;
use super::blueprint::Blueprint;
use super::{Defined, Definer};
use crate::catalog::name::{Name, PUBLIC};
use crate::catalog::objects::{self, Kind as Row, SchemaEntry};
use crate::catalog::relation::Relation;
use crate::catalog::rights::Object;
use crate::catalog::system::{self, Commented};
use crate::catalog::temporary::ALIAS;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::parse::objects::{Change, Kind, RoleSpec};
use crate::sql::OWN_SCHEMA;

impl Definer<'_, '_> {
    pub(super) fn create_schema(&self, name: &ast::SchemaName, if_not_exists: bool) -> Result<Defined> {
        let (name, owner) = match name {
            ast::SchemaName::Simple(name) => (Some(name), None),
            ast::SchemaName::UnnamedAuthorization(owner) => (None, Some(owner)),
            ast::SchemaName::NamedAuthorization(name, owner) => (Some(name), Some(owner)),
        };
        let owner = match owner {
            None => self.user.to_owned(),
            Some(ident) => self.role_of(&spec(ident))?,
        };
        let objects = self.objects()?;
        let name = match name {
            Some(name) => schema_name(name)?,
            None => owner.clone(),
        };
        if !objects.is_superuser(self.user) {
            let message = format!("permission denied for database {}", crate::session::DATABASE);
            return Err(SqlError::new(SqlState::InsufficientPrivilege, message)
                .with_hint("A superuser makes schemas for others with AUTHORIZATION."));
        }
        self.need_new_schema(&name)?;
        if objects.has_schema(&name) {
            let message = format!("schema \"{name}\" already exists");
            return match if_not_exists {
                true => {
                    Ok(Defined::noticed("CREATE SCHEMA", SqlState::DuplicateSchema, format!("{message}, skipping")))
                }
                false => Err(SqlError::new(SqlState::DuplicateSchema, message)),
            };
        }
        let entry = SchemaEntry { number: objects::new_number(self.transaction)?, owner };
        objects::put(self.transaction, Row::Schema, &name, &entry)?;
        Ok(Defined::tagged("CREATE SCHEMA"))
    }

    /// Refuses a name that no schema can have.
    fn need_new_schema(&self, name: &str) -> Result<()> {
        if name.starts_with("pg_") || name == "information_schema" || name == OWN_SCHEMA {
            let message = format!("unacceptable schema name \"{name}\"");
            return Err(SqlError::new(SqlState::ReservedName, message).with_detail(
                "The names of schemas of the system begin with \"pg_\", or are \"information_schema\" and \"osier\".",
            ));
        }
        Name::new(name, "t").check()
    }

    pub(super) fn drop_schemas(&self, names: &[ObjectName], if_exists: bool, cascade: bool) -> Result<Defined> {
        let mut defined = Defined::tagged("DROP SCHEMA");
        for name in names {
            let name = schema_name(name)?;
            let objects = self.objects()?;
            if !objects.has_schema(&name) {
                let message = format!("schema \"{name}\" does not exist");
                if !if_exists {
                    return Err(SqlError::new(SqlState::InvalidSchemaName, message));
                }
                defined.notices.push(SqlError::new(SqlState::SuccessfulCompletion, format!("{message}, skipping")));
                continue;
            }
            objects.need_owner(self.user, &Object::Schema(name.clone()), objects.schema_owner(&name))?;
            if name == PUBLIC {
                return Err(SqlError::unsupported("dropping the schema public")
                    .with_hint("Tables that programs make are there. Drop its tables instead."));
            }
            self.empty_schema(&name, cascade, &mut defined)?;
            objects::remove(self.transaction, Row::Schema, &name)?;
            system::forget(self.transaction, Commented::Schema, &name)?;
            self.forget_rights(&Object::Schema(name))?;
        }
        Ok(defined)
    }

    /// Drops what is in a schema, or refuses to.
    fn empty_schema(&self, schema: &str, cascade: bool, defined: &mut Defined) -> Result<()> {
        let objects = self.objects()?;
        let within = |engine: String| Some(Name::of_engine(&engine)).filter(|name| name.schema == schema);
        let is_table = |name: &Name| !objects.materialized.contains_key(name);
        let tables: Vec<Name> = self.table_names()?.into_iter().filter_map(within).filter(is_table).collect();
        let materialized = objects.materialized.keys().filter(|view| view.schema == schema);
        let materialized: Vec<Name> = materialized.cloned().collect();
        let views: Vec<Name> = objects.views.keys().filter(|view| view.schema == schema).cloned().collect();
        let types: Vec<Name> = objects.types.keys().filter(|ty| ty.schema == schema).cloned().collect();
        let extensions = objects.extensions.iter().filter(|(_, entry)| entry.schema == schema);
        let extensions: Vec<String> = extensions.map(|(name, _)| name.clone()).collect();
        let mut free: Vec<Name> = Vec::new();
        for name in self.sequence_names()?.into_iter().filter_map(within) {
            if self.column_of_sequence(&name)?.is_none() {
                free.push(name);
            }
        }
        let shown =
            |kind: &str, names: &[Name]| names.iter().map(|name| format!("{kind} {}", self.shown(name))).collect();
        let mut all: Vec<String> = shown("table", &tables);
        all.extend::<Vec<String>>(shown("view", &views));
        all.extend::<Vec<String>>(shown("materialized view", &materialized));
        all.extend::<Vec<String>>(shown("sequence", &free));
        all.extend::<Vec<String>>(shown("type", &types));
        all.extend(extensions.iter().map(|name| format!("extension {name}")));
        if all.is_empty() {
            return Ok(());
        }
        if !cascade {
            let lines: Vec<String> = all.iter().map(|one| format!("{one} depends on schema {schema}")).collect();
            let message = format!("cannot drop schema {schema} because other objects depend on it");
            return Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(lines.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let going: Vec<Name> = views.iter().chain(&materialized).cloned().collect();
        for view in &views {
            self.release(&format!("view {}", self.shown(view)), view, None, true, &going, defined)?;
            self.remove_view(view)?;
        }
        for view in &materialized {
            self.release(&format!("materialized view {}", self.shown(view)), view, None, true, &going, defined)?;
            self.remove_materialized(view)?;
        }
        let tables: Vec<String> = tables.iter().map(Name::engine).collect();
        self.drop_all(&tables, true, &going, defined)?;
        for sequence in &free {
            self.release_sequence(sequence, true, defined)?;
            self.drop_engine_sequence(&sequence.engine())?;
        }
        for name in &types {
            if let Some(known) = self.objects()?.types.get(name) {
                self.release_type(name, known.ty, true, defined)?;
            }
            self.remove_type(name)?;
        }
        extensions.iter().try_for_each(|name| self.drop_extension(name))?;
        self.say_gone(&all, defined);
        Ok(())
    }

    /// `ALTER` of a name, an owner or a schema.
    pub(super) fn alter_named(
        &self,
        kind: Kind,
        if_exists: bool,
        parts: &[String],
        change: &Change,
    ) -> Result<Defined> {
        let tag = match kind {
            Kind::Table => "ALTER TABLE",
            Kind::View => "ALTER VIEW",
            Kind::Materialized => "ALTER MATERIALIZED VIEW",
            Kind::Sequence => "ALTER SEQUENCE",
            Kind::Schema => return self.alter_schema(parts, change),
            Kind::Index => return self.alter_index(if_exists, parts, change),
        };
        let Some((name, taken)) = self.named(parts)? else {
            let what = format!("relation \"{}\"", parts.join("."));
            return match if_exists {
                true => Ok(Self::skipped(tag, &what)),
                false => Err(SqlError::new(SqlState::UndefinedTable, format!("{what} does not exist"))),
            };
        };
        let wanted = super::materialized::wanted(kind);
        if taken == Taken::Index || wanted.is_some_and(|wanted| wanted != taken) {
            let article = wanted.map_or("table", Taken::word);
            let message = format!("\"{}\" is not a {article}", name.name);
            return Err(SqlError::new(SqlState::WrongObjectType, message));
        }
        let (object, owner) = self.object_of(&name, taken)?;
        self.objects()?.need_owner(self.user, &object, &owner)?;
        match change {
            Change::Owner(role) => {
                let new = self.role_of(role)?;
                self.need_owner_change(&object, &owner, &new, Some(&name.schema))?;
                self.change_owner(&name, taken, &owner, &new)?;
            }
            Change::Options(options) => return self.alter_sequence(&name, options),
            Change::Column { .. } => self.alter_materialized_column(&name, change)?,
            Change::Name(new) => self.move_relation(&name, taken, Name::new(&name.schema, new))?,
            Change::Schema(schema) => {
                let objects = self.objects()?;
                if schema == ALIAS || objects.is_temporary(schema) || objects.is_temporary(&name.schema) {
                    let message = "cannot move objects into or out of temporary schemas";
                    return Err(SqlError::new(SqlState::FeatureNotSupported, message));
                }
                self.need_create(schema)?;
                let new = Name::new(schema, &name.name);
                if new != name {
                    self.move_relation(&name, taken, new)?;
                }
            }
        }
        Ok(Defined::tagged(tag))
    }

    /// An object with its owner.
    pub(super) fn object_of(&self, name: &Name, taken: Taken) -> Result<(Object, String)> {
        let objects = self.objects()?;
        Ok(match taken {
            Taken::View => {
                let owner = objects.views.get(name).map(|view| view.owner.clone()).unwrap_or_default();
                (Object::View(name.clone()), owner)
            }
            Taken::Sequence => (Object::Sequence(name.clone()), self.sequence_owner(name)?),
            Taken::Table | Taken::Materialized | Taken::Index => match self.sql.find(self.transaction, name)? {
                Some(relation) => (relation.object(), relation.notes.owner.clone()),
                None => (Object::Table(name.clone()), String::new()),
            },
        })
    }

    fn change_owner(&self, name: &Name, taken: Taken, old: &str, new: &str) -> Result<()> {
        match taken {
            Taken::View => {
                self.change_view(name, |view| new.clone_into(&mut view.owner))?;
                self.change_owner_in_rights(&Object::View(name.clone()), old, new)
            }
            Taken::Sequence => {
                if let Some((relation, at)) = self.column_of_sequence(name)? {
                    let table = &relation.name.name;
                    let message = "cannot change owner of sequence";
                    let detail = format!("Sequence \"{}\" is linked to table \"{table}\".", name.name);
                    debug_assert!(at < relation.columns.len(), "the column is one of the table");
                    return Err(SqlError::new(SqlState::FeatureNotSupported, message).with_detail(detail));
                }
                self.own(&name.engine(), new)?;
                self.change_owner_in_rights(&Object::Sequence(name.clone()), old, new)
            }
            Taken::Table | Taken::Materialized | Taken::Index => match self.sql.find(self.transaction, name)? {
                Some(relation) => self.change_table_owner(&relation, new),
                None => Ok(()),
            },
        }
    }

    /// Gives a table to another role, with the sequences of its columns.
    pub(super) fn change_table_owner(&self, relation: &Relation, new: &str) -> Result<()> {
        let old = relation.notes.owner.clone();
        let mut blueprint = Blueprint::of(relation);
        new.clone_into(&mut blueprint.owner);
        self.transaction.annotate_table(&relation.table, blueprint.schema()?.notes().to_owned())?;
        for sequence in relation.notes.columns.iter().filter_map(|note| note.sequence.as_deref()) {
            if Name::of_engine(sequence).schema != OWN_SCHEMA {
                self.own(sequence, new)?;
                self.change_owner_in_rights(&Object::Sequence(Name::of_engine(sequence)), &old, new)?;
            }
        }
        self.change_materialized(&relation.name, |entry| new.clone_into(&mut entry.owner))?;
        self.change_owner_in_rights(&relation.object(), &old, new)
    }

    fn move_relation(&self, old: &Name, taken: Taken, new: Name) -> Result<()> {
        new.check()?;
        match taken {
            Taken::View => self.move_view(old, &new),
            Taken::Sequence => {
                self.need_free(&new)?;
                let Some((relation, at)) = self.column_of_sequence(old)? else {
                    return self.move_sequence(&old.engine(), &new.engine(), None);
                };
                if new.schema != old.schema {
                    let detail = format!("Sequence \"{}\" is linked to table \"{}\".", old.name, relation.name.name);
                    let message = "cannot move an owned sequence into another schema";
                    return Err(SqlError::new(SqlState::FeatureNotSupported, message).with_detail(detail));
                }
                let mut blueprint = Blueprint::of(&relation);
                self.move_own_sequence(&mut blueprint, at, &new)?;
                self.reach(&relation, &mut blueprint, &[]).map(|_| ())
            }
            Taken::Table | Taken::Materialized | Taken::Index => {
                let Some(relation) = self.sql.find(self.transaction, old)? else { return Ok(()) };
                self.move_table(&relation, new)
            }
        }
    }

    /// `ALTER INDEX`.
    fn alter_index(&self, if_exists: bool, parts: &[String], change: &Change) -> Result<Defined> {
        let Change::Name(new) = change else {
            return Err(SqlError::unsupported("ALTER INDEX with anything but RENAME TO"));
        };
        for index in self.candidates(parts)? {
            let Some(table) = self.table_of_index(&index)? else { continue };
            let relation = self.sql.relation(&table)?;
            if !self.objects()?.is_owner(self.user, &relation.notes.owner) {
                let message = format!("must be owner of index {}", index.name);
                return Err(SqlError::new(SqlState::InsufficientPrivilege, message));
            }
            let mut blueprint = Blueprint::of(&relation);
            self.rename_index(&mut blueprint, &index.name, new)?;
            self.reach(&relation, &mut blueprint, &[])?;
            return Ok(Defined { is_private: relation.is_temporary(), ..Defined::tagged("ALTER INDEX") });
        }
        // Whatever else is called so gets the name, as in PostgreSQL.
        Ok(Defined { tag: "ALTER INDEX", ..self.alter_named(Kind::Table, if_exists, parts, change)? })
    }

    fn alter_schema(&self, parts: &[String], change: &Change) -> Result<Defined> {
        let [name] = parts else { return Err(SqlError::new(SqlState::SyntaxError, "a schema has a simple name")) };
        let objects = self.objects()?;
        if !objects.has_schema(name) {
            let message = format!("schema \"{name}\" does not exist");
            return Err(SqlError::new(SqlState::InvalidSchemaName, message));
        }
        let object = Object::Schema(name.clone());
        let owner = objects.schema_owner(name).to_owned();
        objects.need_owner(self.user, &object, &owner)?;
        match change {
            Change::Owner(role) => {
                let new = self.role_of(role)?;
                self.need_owner_change(&object, &owner, &new, None)?;
                let number = match objects.schemas.get(name) {
                    Some(entry) => entry.number,
                    None => objects::new_number(self.transaction)?,
                };
                objects::put(self.transaction, Row::Schema, name, &SchemaEntry { number, owner: new.clone() })?;
                self.change_owner_in_rights(&object, &owner, &new)?;
            }
            Change::Name(new) => self.rename_schema(name, new)?,
            Change::Schema(_) | Change::Options(_) | Change::Column { .. } => {
                return Err(SqlError::new(SqlState::SyntaxError, "a schema is in no schema"));
            }
        }
        Ok(Defined::tagged("ALTER SCHEMA"))
    }

    fn rename_schema(&self, old: &str, new: &str) -> Result<()> {
        if old == PUBLIC {
            return Err(SqlError::unsupported("renaming the schema public")
                .with_hint("Make a schema and move its tables there with ALTER TABLE ... SET SCHEMA."));
        }
        self.need_new_schema(new)?;
        let objects = self.objects()?;
        if objects.has_schema(new) {
            let message = format!("schema \"{new}\" already exists");
            return Err(SqlError::new(SqlState::DuplicateSchema, message));
        }
        let Some(entry) = objects.schemas.get(old) else { return Ok(()) };
        objects::put(self.transaction, Row::Schema, new, entry)?;
        for (name, known) in objects.types.iter().filter(|(name, _)| name.schema == old) {
            self.move_type(known, &Name::new(new, &name.name))?;
        }
        for (name, entry) in objects.extensions.iter().filter(|(_, entry)| entry.schema == old) {
            let entry = objects::ExtensionEntry { schema: new.to_owned(), ..entry.clone() };
            objects::put(self.transaction, Row::Extension, name, &entry)?;
        }
        let within = |engine: String| Some(Name::of_engine(&engine)).filter(|name| name.schema == old);
        for table in self.table_names()?.into_iter().filter_map(within) {
            if let Some(relation) = self.sql.find(self.transaction, &table)? {
                self.move_table(&relation, Name::new(new, &table.name))?;
            }
        }
        for view in objects.views.keys().filter(|view| view.schema == old) {
            self.move_view(view, &Name::new(new, &view.name))?;
        }
        for sequence in self.sequence_names()?.into_iter().filter_map(within) {
            self.move_sequence(&sequence.engine(), &Name::new(new, &sequence.name).engine(), None)?;
        }
        objects::remove(self.transaction, Row::Schema, old)?;
        self.move_comment(Commented::Schema, old, new)?;
        self.move_rights(&Object::Schema(old.to_owned()), &Object::Schema(new.to_owned()))
    }
}

/// The name of a schema as a statement has it.
pub(super) fn schema_name(name: &ObjectName) -> Result<String> {
    let mut parts = parse::parts(name)?;
    match parts.len() {
        1 => Ok(parts.remove(0)),
        _ => Err(SqlError::new(SqlState::SyntaxError, format!("{name} is not the name of a schema"))),
    }
}

fn spec(ident: &ast::Ident) -> RoleSpec {
    match (ident.quote_style, parse::name(ident).as_str()) {
        (None, "current_user" | "current_role") => RoleSpec::Current,
        (None, "session_user") => RoleSpec::Session,
        (_, name) => RoleSpec::Named(name.to_owned()),
    }
}
