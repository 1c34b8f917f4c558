//! `CREATE EXTENSION`, `ALTER EXTENSION` and `DROP EXTENSION`: which of the extensions that there are programs have asked for.

use super::{Defined, Definer};
use crate::catalog::name::Name;
use crate::catalog::objects::{self, ExtensionEntry, Kind};
use crate::catalog::system::{self, Commented};
use crate::error::{Result, SqlError, SqlState};
use crate::function::{EXTENSIONS, Extension};
use crate::parse::extension::ExtensionStatement;
use crate::parse::quote::quoted;

/// Programs ask for it by habit.
const PLPGSQL: &str = "plpgsql";

impl Definer<'_, '_> {
    pub(super) fn extension_statement(&self, statement: &ExtensionStatement) -> Result<Defined> {
        match statement {
            ExtensionStatement::Create { name, if_not_exists, schema } => {
                self.create_extension(name, *if_not_exists, schema.as_deref())
            }
            ExtensionStatement::Alter { name, schema } => {
                let mut entry = self.own_extension(name)?;
                if let Some(schema) = schema {
                    self.need_create(schema)?;
                    entry.schema.clone_from(schema);
                    objects::put(self.transaction, Kind::Extension, name, &entry)?;
                }
                Ok(Defined::tagged("ALTER EXTENSION"))
            }
            ExtensionStatement::Drop { names, if_exists } => self.drop_extensions(names, *if_exists),
        }
    }

    fn create_extension(&self, name: &str, if_not_exists: bool, schema: Option<&str>) -> Result<Defined> {
        if name == PLPGSQL && if_not_exists {
            let message = "there is no PL/pgSQL: the extension \"plpgsql\" is passed over";
            return Ok(Defined::noticed("CREATE EXTENSION", SqlState::Warning, message.to_owned()));
        }
        if !EXTENSIONS.iter().any(|known| known.name == name) {
            let names: Vec<&str> = EXTENSIONS.iter().map(|known| known.name).collect();
            let message = format!("extension \"{name}\" is not available");
            return Err(SqlError::new(SqlState::FeatureNotSupported, message)
                .with_hint(format!("There are {}.", names.join(" and "))));
        }
        let objects = self.objects()?;
        if objects.extensions.contains_key(name) {
            let message = format!("extension \"{name}\" already exists");
            return match if_not_exists {
                true => {
                    Ok(Defined::noticed("CREATE EXTENSION", SqlState::DuplicateObject, format!("{message}, skipping")))
                }
                false => Err(SqlError::new(SqlState::DuplicateObject, message)),
            };
        }
        let schema = match schema {
            Some(schema) if !objects.has_schema(schema) => {
                let message = format!("schema \"{schema}\" does not exist");
                return Err(SqlError::new(SqlState::InvalidSchemaName, message));
            }
            Some(schema) => schema.to_owned(),
            None => self.schema_to_create_in()?.to_owned(),
        };
        self.need_create(&schema)?;
        let (number, owner) = (objects::new_number(self.transaction)?, self.user.to_owned());
        objects::put(self.transaction, Kind::Extension, name, &ExtensionEntry { number, owner, schema })?;
        Ok(Defined::tagged("CREATE EXTENSION"))
    }

    /// An extension that was created, and that is the user's own.
    pub(super) fn own_extension(&self, name: &str) -> Result<ExtensionEntry> {
        let objects = self.objects()?;
        let Some(entry) = objects.extensions.get(name) else {
            return Err(SqlError::new(SqlState::UndefinedObject, format!("extension \"{name}\" does not exist")));
        };
        match objects.is_owner(self.user, &entry.owner) {
            true => Ok(entry.clone()),
            false => {
                let message = format!("must be owner of extension {name}");
                Err(SqlError::new(SqlState::InsufficientPrivilege, message))
            }
        }
    }

    pub(super) fn drop_extensions(&self, names: &[String], if_exists: bool) -> Result<Defined> {
        let mut defined = Defined::tagged("DROP EXTENSION");
        for name in names {
            if if_exists && !self.objects()?.extensions.contains_key(name) {
                let message = format!("extension \"{name}\" does not exist, skipping");
                defined.notices.push(SqlError::new(SqlState::SuccessfulCompletion, message));
                continue;
            }
            self.own_extension(name)?;
            self.drop_extension(name)?;
        }
        Ok(defined)
    }

    /// Drops an extension, whoever owns it.
    pub(super) fn drop_extension(&self, name: &str) -> Result<()> {
        let known = EXTENSIONS.iter().find(|known| known.name == name);
        known.map_or(Ok(()), |known| self.refuse_used_extension(known))?;
        objects::remove(self.transaction, Kind::Extension, name)?;
        system::forget(self.transaction, Commented::Extension, name)
    }

    /// Refuses to drop an extension whose functions a default, a check or a view calls.
    fn refuse_used_extension(&self, extension: &Extension) -> Result<()> {
        // This one is there without the extension, too.
        let functions = || extension.functions.iter().filter(|function| **function != "gen_random_uuid");
        let calls = |text: &str| functions().any(|function| super::alter::mentions(text, function));
        let mut uses = Vec::new();
        for engine in self.table_names()? {
            let Some(relation) = self.sql.find(self.transaction, &Name::of_engine(&engine))? else { continue };
            let shown = self.shown(&relation.name);
            let is_using = |at: &usize| relation.columns[*at].default.as_deref().is_some_and(calls);
            let columns = (0..relation.visible()).filter(is_using).map(|at| quoted(&relation.columns[at].name));
            uses.extend(columns.map(|column| format!("column {column} of table {shown}")));
            let is_computed = |at: &usize| relation.columns[*at].computed.is_some() && is_using(at);
            let indexes = relation.indexes.iter().filter(|index| index.columns.iter().any(&is_computed));
            uses.extend(
                indexes.map(|index| format!("index {}", self.shown(&Name::new(&relation.name.schema, &index.name)))),
            );
            let checks = relation.notes.checks.iter().filter(|check| calls(&check.expression));
            uses.extend(checks.map(|check| format!("constraint {} on table {shown}", check.name)));
        }
        let objects = self.objects()?;
        let views = objects.queries().filter(|(_, _, view)| calls(&view.query));
        uses.extend(views.map(|(kind, view, _)| format!("{} {}", kind.text(), self.shown(view))));
        if uses.is_empty() {
            return Ok(());
        }
        let name = extension.name;
        let lines: Vec<String> = uses.iter().map(|one| format!("{one} depends on extension {name}")).collect();
        let message = format!("cannot drop extension {name} because other objects depend on it");
        Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
            .with_detail(lines.join("\n"))
            .with_hint("Drop them first, or leave the extension: it takes nothing."))
    }
}
