//! `GRANT` and `REVOKE` of rights on objects.

use osier::Error;

use super::authority::Taken;
use super::{Defined, Definer};
use crate::catalog::name::{Name, PUBLIC};
use crate::catalog::objects::{self, Kind, Objects};
use crate::catalog::rights::{Grant, Object, Rights};
use crate::error::{Result, SqlError, SqlState};
use crate::parse::objects::{GrantStatement, Target};
use crate::sql::Sql;

/// Rights on columns, by their names; `None`: on the whole.
type Asked = Vec<(Option<String>, Rights)>;

impl Definer<'_, '_> {
    pub(super) fn grant(&self, statement: &GrantStatement) -> Result<Defined> {
        let mut defined = Defined::tagged(if statement.is_revoke { "REVOKE" } else { "GRANT" });
        let grantees = self.grantees(&statement.grantees)?;
        if !statement.is_revoke && statement.option && grantees.contains(&None) {
            let message = "grant options can only be granted to roles";
            return Err(SqlError::new(SqlState::InvalidGrantOperation, message));
        }
        for (object, owner) in self.targets(&statement.target)? {
            let asked = self.asked(statement, &object)?;
            self.grant_on(statement, &object, &owner, &asked, &grantees, &mut defined)?;
        }
        Ok(defined)
    }

    /// The objects that a statement names, with their owners.
    fn targets(&self, target: &Target) -> Result<Vec<(Object, String)>> {
        match target {
            Target::Tables(names) => names.iter().map(|parts| self.target(parts, false)).collect(),
            Target::Sequences(names) => names.iter().map(|parts| self.target(parts, true)).collect(),
            Target::Procedures(names) => names.iter().map(|parts| self.procedure(parts)).collect(),
            Target::Schemas(names) => {
                let objects = self.objects()?;
                names.iter().map(|name| self.schema_target(&objects, name)).collect()
            }
            Target::AllTables(schemas) => {
                let objects = self.objects()?;
                let mut found = Vec::new();
                for schema in schemas {
                    self.schema_target(&objects, schema)?;
                    for engine in self.table_names()? {
                        let name = Name::of_engine(&engine);
                        if name.schema == *schema && name.schema != crate::sql::OWN_SCHEMA {
                            found.push(self.object_of(&name, Taken::Table)?);
                        }
                    }
                    for name in objects.views.keys().filter(|name| name.schema == *schema) {
                        found.push(self.object_of(name, Taken::View)?);
                    }
                }
                Ok(found)
            }
            Target::AllSequences(schemas) => {
                let objects = self.objects()?;
                let mut found = Vec::new();
                for schema in schemas {
                    self.schema_target(&objects, schema)?;
                    for engine in self.sequence_names()? {
                        let name = Name::of_engine(&engine);
                        if name.schema == *schema && name.schema != crate::sql::OWN_SCHEMA {
                            found.push(self.object_of(&name, Taken::Sequence)?);
                        }
                    }
                }
                Ok(found)
            }
        }
    }

    fn procedure(&self, parts: &[String]) -> Result<(Object, String)> {
        let name = match parts {
            [name] => name,
            [schema, name] if schema == PUBLIC => name,
            _ => "",
        };
        match self.transaction.signature(name) {
            Ok(_) => Ok((Object::Procedure(name.to_owned()), Sql::FIRST_ROLE.to_owned())),
            Err(Error::Procedure(_)) => {
                let message = format!("procedure {} does not exist", parts.join("."));
                Err(SqlError::new(SqlState::UndefinedFunction, message))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn schema_target(&self, objects: &Objects, name: &str) -> Result<(Object, String)> {
        if !objects.has_schema(name) {
            let message = format!("schema \"{name}\" does not exist");
            return Err(SqlError::new(SqlState::InvalidSchemaName, message));
        }
        Ok((Object::Schema(name.to_owned()), objects.schema_owner(name).to_owned()))
    }

    fn target(&self, parts: &[String], is_sequence: bool) -> Result<(Object, String)> {
        let shown = parts.join(".");
        let Some((name, taken)) = self.named(parts)? else {
            let message = format!("relation \"{shown}\" does not exist");
            return Err(SqlError::new(SqlState::UndefinedTable, message));
        };
        let is_wrong = match taken {
            Taken::Index => true,
            Taken::Sequence => false,
            Taken::Table | Taken::View | Taken::Materialized => is_sequence,
        };
        if is_wrong {
            let message = match taken {
                Taken::Index => format!("\"{shown}\" is an index"),
                _ => format!("\"{shown}\" is not a sequence"),
            };
            return Err(SqlError::new(SqlState::WrongObjectType, message));
        }
        self.object_of(&name, taken)
    }

    /// What a statement says to grant on an object.
    fn asked(&self, statement: &GrantStatement, object: &Object) -> Result<Asked> {
        if statement.privileges.is_empty() {
            return Ok(vec![(None, object.all())]);
        }
        let mut asked = Asked::new();
        for (word, columns) in &statement.privileges {
            let right = Rights::named(word).ok_or_else(|| {
                SqlError::new(SqlState::SyntaxError, format!("unrecognized privilege type \"{word}\""))
            })?;
            if !object.all().has(right) {
                let message = format!("invalid privilege type {} for {}", word.to_uppercase(), plural(object));
                return Err(SqlError::new(SqlState::InvalidGrantOperation, message));
            }
            if columns.is_empty() {
                asked.push((None, right));
                continue;
            }
            let of_columns = Rights::SELECT.and(Rights::INSERT).and(Rights::UPDATE).and(Rights::REFERENCES);
            if !of_columns.has(right) {
                let message = format!("invalid privilege type {} for column", word.to_uppercase());
                return Err(SqlError::new(SqlState::InvalidGrantOperation, message));
            }
            let known = self.columns_of(object)?;
            for column in columns {
                if !known.contains(column) {
                    let message = format!("column \"{column}\" of relation \"{}\" does not exist", object.name());
                    return Err(SqlError::new(SqlState::UndefinedColumn, message));
                }
                asked.push((Some(column.clone()), right));
            }
        }
        Ok(asked)
    }

    fn columns_of(&self, object: &Object) -> Result<Vec<String>> {
        Ok(match object {
            Object::Table(name) | Object::Materialized(name) => match self.sql.find(self.transaction, name)? {
                Some(relation) => {
                    relation.columns[..relation.visible()].iter().map(|column| column.name.clone()).collect()
                }
                None => Vec::new(),
            },
            Object::View(name) => match self.objects()?.views.get(name) {
                Some(view) => view.columns.iter().map(|column| column.name.clone()).collect(),
                None => Vec::new(),
            },
            _ => Vec::new(),
        })
    }

    fn grant_on(
        &self,
        statement: &GrantStatement,
        object: &Object,
        owner: &str,
        asked: &Asked,
        grantees: &[Option<String>],
        defined: &mut Defined,
    ) -> Result<()> {
        let objects = self.objects()?;
        let mut list = objects.grants(object, owner);
        // Who has the owner's rights grants in the owner's name.
        let is_owner = objects.is_owner(self.user, owner);
        let by = if is_owner { owner } else { self.user };
        let mut has_any = is_owner;
        for (column, rights) in asked {
            let mut rights = *rights;
            if !is_owner {
                let may = grantable(&objects, self.user, &list, column.as_deref());
                if !may.meets(rights) {
                    let has_some = list.iter().any(|grant| {
                        grant.to.as_deref().is_none_or(|to| objects.roles_of(self.user, true).contains(to))
                    });
                    if !has_some {
                        return Err(object.denied());
                    }
                    continue;
                }
                has_any = true;
                rights = rights.common(may);
            }
            for grantee in grantees {
                let one = One { to: grantee.as_deref(), by, column: column.as_deref(), rights };
                match statement.is_revoke {
                    false => add(&mut list, &one, statement.option),
                    true => take(&mut list, &one, statement.option, statement.cascade)?,
                }
            }
        }
        if !has_any {
            let doing = if statement.is_revoke {
                "no privileges could be revoked for"
            } else {
                "no privileges were granted for"
            };
            let message = format!("{doing} \"{}\"", object.name());
            defined.notices.push(SqlError::new(SqlState::Warning, message));
            return Ok(());
        }
        list.retain(|grant| grant.rights != Rights::NONE);
        objects::put(self.transaction, Kind::Rights, &object.key(), &list)
    }
}

/// One right of one role.
struct One<'o> {
    to: Option<&'o str>,
    by: &'o str,
    column: Option<&'o str>,
    rights: Rights,
}

impl One<'_> {
    fn is(&self, grant: &Grant) -> bool {
        grant.to.as_deref() == self.to && grant.by == self.by && grant.column.as_deref() == self.column
    }
}

/// What a role may grant.
fn grantable(objects: &Objects, role: &str, list: &[Grant], column: Option<&str>) -> Rights {
    let roles = objects.roles_of(role, true);
    let own = list.iter().filter(|grant| grant.to.as_deref().is_some_and(|to| roles.contains(to)));
    let of = own.filter(|grant| grant.column.is_none() || grant.column.as_deref() == column);
    of.fold(Rights::NONE, |sum, grant| sum.and(grant.options))
}

fn add(list: &mut Vec<Grant>, one: &One<'_>, with_option: bool) {
    let options = if with_option { one.rights } else { Rights::NONE };
    match list.iter_mut().find(|grant| one.is(grant)) {
        Some(grant) => {
            grant.rights = grant.rights.and(one.rights);
            grant.options = grant.options.and(options);
        }
        None => list.push(Grant {
            to: one.to.map(str::to_owned),
            by: one.by.to_owned(),
            column: one.column.map(str::to_owned),
            rights: one.rights,
            options,
        }),
    }
}

/// Takes rights, or only the right to grant them, and what was granted by them.
fn take(list: &mut Vec<Grant>, one: &One<'_>, only_option: bool, cascade: bool) -> Result<()> {
    let mut lost = Rights::NONE;
    // A right on the whole goes from the columns, too.
    let covers = |grant: &Grant| {
        grant.to.as_deref() == one.to
            && grant.by == one.by
            && (one.column.is_none() || grant.column.as_deref() == one.column)
    };
    for grant in list.iter_mut().filter(|grant| covers(grant)) {
        lost = lost.and(grant.options.common(one.rights));
        grant.options = grant.options.without(one.rights);
        if !only_option {
            grant.rights = grant.rights.without(one.rights);
        }
    }
    let Some(to) = one.to else { return Ok(()) };
    let has = |list: &[Grant]| {
        list.iter()
            .filter(|grant| grant.to.as_deref() == Some(to))
            .fold(Rights::NONE, |sum, grant| sum.and(grant.options))
    };
    let gone = lost.without(has(list));
    let depends = |grant: &Grant| grant.by == to && grant.to.as_deref() != Some(to) && grant.rights.meets(gone);
    let dependent: Vec<Grant> = list.iter().filter(|grant| depends(grant)).cloned().collect();
    if to == one.by || dependent.is_empty() {
        return Ok(());
    }
    if !cascade {
        return Err(SqlError::new(SqlState::DependentObjectsStillExist, "dependent privileges exist")
            .with_hint("Use CASCADE to revoke them too."));
    }
    for grant in dependent {
        let next =
            One { to: grant.to.as_deref(), by: to, column: grant.column.as_deref(), rights: grant.rights.common(gone) };
        take(list, &next, false, true)?;
    }
    Ok(())
}

fn plural(object: &Object) -> &'static str {
    match object {
        Object::Table(_) | Object::View(_) | Object::Materialized(_) => "relation",
        Object::Sequence(_) => "sequence",
        Object::Schema(_) => "schema",
        Object::Procedure(_) => "procedure",
        Object::Type(_) => "type",
    }
}
