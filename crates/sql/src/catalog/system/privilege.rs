//! Who may do what: the functions `has_..._privilege` and `pg_has_role`.
//!
//! A role with all rights may do everything; any other one what the owner has said.

use super::object::{class_name, class_number};
use super::snapshot::Object;
use super::{Catalog, class, role};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Null};
use crate::error::{Result, SqlError, SqlState};

/// Privileges of each kind of object.
fn known(kind: &str) -> &'static [&'static str] {
    match kind {
        "table" => &["select", "insert", "update", "delete", "truncate", "references", "trigger", "rule"],
        "column" => &["select", "insert", "update", "references"],
        "sequence" => &["usage", "select", "update"],
        "schema" => &["create", "usage"],
        "database" => &["create", "connect", "temporary", "temp"],
        "tablespace" => &["create"],
        "function" => &["execute"],
        _ => &["usage", "member"],
    }
}

/// Answers a question about a privilege; `None` where the function asks for none.
pub(super) fn asked(catalog: &Catalog<'_>, function: &str, arguments: &[Datum]) -> Result<Option<Datum>> {
    let kind = match function {
        "pg_has_role" => "role",
        "has_any_column_privilege" => "column",
        other => match other.strip_prefix("has_").and_then(|rest| rest.strip_suffix("_privilege")) {
            Some(kind) => kind,
            None => return Ok(None),
        },
    };
    let Some((Datum::Text(wanted), rest)) = arguments.split_last() else { return Ok(Some(Null)) };
    for word in wanted.split(',') {
        let bare = word.trim().to_lowercase();
        let bare = bare.strip_suffix(" with grant option").or(bare.strip_suffix(" with admin option")).unwrap_or(&bare);
        if !known(kind).contains(&bare) {
            let message = format!("unrecognized privilege type: \"{}\"", word.trim());
            return Err(SqlError::new(SqlState::InvalidParameterValue, message));
        }
    }
    let count = if function == "has_column_privilege" { 2 } else { 1 };
    let (user, object) = if rest.len() > count { (Some(&rest[0]), &rest[1]) } else { (None, &rest[0]) };
    let user = match user {
        None => catalog.user.to_owned(),
        Some(Datum::Text(name)) => name.to_string(),
        Some(Int(number)) => match role::name_of(catalog, u32::try_from(*number).unwrap_or(0))? {
            Some(name) => name,
            None => return Ok(Some(Bool(false))),
        },
        Some(_) => return Ok(Some(Null)),
    };
    let Some(who) = role::all(catalog)?.into_iter().find(|role| role.name == user) else {
        return Err(SqlError::new(SqlState::UndefinedObject, format!("role \"{user}\" does not exist")));
    };
    let Some(owner) = owner_of(catalog, kind, object)? else { return Ok(Some(Null)) };
    if function == "has_column_privilege" && !has_column(catalog, object, &rest[rest.len() - 1])? {
        return Ok(Some(Null));
    }
    Ok(Some(Bool(may(kind, &who, &owner))))
}

fn may(kind: &str, who: &crate::sql::Role, owner: &str) -> bool {
    let is_open = matches!(kind, "function" | "type" | "language" | "database");
    who.is_superuser || who.name == owner || is_open
}

/// Whether a table has a column, which must be there where it is named.
fn has_column(catalog: &Catalog<'_>, table: &Datum, column: &Datum) -> Result<bool> {
    let number = match table {
        Datum::Text(name) => class_number(catalog, &crate::parse::object_name(name)?)?.unwrap_or(0),
        Int(number) => u32::try_from(*number).unwrap_or(0),
        _ => 0,
    };
    let snapshot = catalog.snapshot()?;
    let Some(Object::Table(at)) = snapshot.object(number) else {
        return Ok(class_name(catalog, number)?.is_some());
    };
    let relation = &snapshot.tables[at].relation;
    match column {
        Datum::Text(name) => relation.need(name).map(|_| true),
        Int(number) => Ok((1..=relation.visible() as i64).contains(number)),
        _ => Ok(false),
    }
}

/// The owner of an object; `None` where nothing has the number.
fn owner_of(catalog: &Catalog<'_>, kind: &str, object: &Datum) -> Result<Option<String>> {
    let first = || Some(crate::sql::Sql::FIRST_ROLE.to_owned());
    let missing =
        |state, what: &str, name: &str| Err(SqlError::new(state, format!("{what} \"{name}\" does not exist")));
    match (kind, object) {
        ("table" | "column" | "sequence", Datum::Text(name)) => {
            let parts = crate::parse::object_name(name)?;
            match class_number(catalog, &parts)? {
                Some(number) => class_owner(catalog, number),
                None => missing(SqlState::UndefinedTable, "relation", &parts.join(".")),
            }
        }
        ("table" | "column" | "sequence", Int(number)) => class_owner(catalog, u32::try_from(*number).unwrap_or(0)),
        ("schema", Datum::Text(name)) => match class::schema_number(catalog, name)? {
            Some(_) => Ok(first()),
            None => missing(SqlState::InvalidSchemaName, "schema", name),
        },
        ("schema", Int(number)) => {
            Ok(class::schemas(catalog)?.iter().any(|(own, ..)| i64::from(*own) == *number).then(first).flatten())
        }
        ("database", Datum::Text(name)) if **name != *crate::session::DATABASE => {
            missing(SqlState::InvalidCatalogName, "database", name)
        }
        ("role", Datum::Text(name)) => Ok(Some(name.to_string())),
        ("role", Int(number)) => role::name_of(catalog, u32::try_from(*number).unwrap_or(0)),
        _ => Ok(first()),
    }
}

fn class_owner(catalog: &Catalog<'_>, number: u32) -> Result<Option<String>> {
    let snapshot = catalog.snapshot()?;
    Ok(match snapshot.object(number) {
        Some(Object::Table(at) | Object::Index(at, _)) => Some(snapshot.tables[at].relation.notes.owner.clone()),
        Some(Object::Sequence(at)) => role::name_of(catalog, class::owner_of(catalog, &snapshot.sequences[at])?)?,
        _ => class_name(catalog, number)?.map(|_| crate::sql::Sql::FIRST_ROLE.to_owned()),
    })
}
