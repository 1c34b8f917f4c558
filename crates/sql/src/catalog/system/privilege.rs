//! Who may do what: the functions `has_..._privilege` and `pg_has_role`.

use super::object::{class_name, class_number};
use super::snapshot::Object;
use super::{Catalog, class, registered, role, routine};
use crate::catalog::objects::Objects;
use crate::catalog::rights::{Object as Thing, Rights};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Null};
use crate::error::{Result, SqlError, SqlState};
use crate::sql::Sql;

/// What a question is about.
enum About {
    /// Something with rights, its owner, and the column that is meant.
    Thing(Thing, String, Option<String>),
    /// A role.
    Role(String),
    /// What is of the system: everybody may do this with it, a superuser everything.
    System(Rights),
}

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
        "type" | "language" => &["usage"],
        _ => &["usage", "member", "set"],
    }
}

/// Rights with their words, and whether each may be granted, too.
type Wanted = Vec<(String, Rights, bool)>;

fn wanted(kind: &str, words: &str) -> Result<Wanted> {
    let mut found = Wanted::new();
    for word in words.split(',') {
        let bare = word.trim().to_lowercase();
        let cut = bare.strip_suffix(" with grant option").or(bare.strip_suffix(" with admin option"));
        let name = cut.unwrap_or(&bare);
        if !known(kind).contains(&name) {
            let message = format!("unrecognized privilege type: \"{}\"", word.trim());
            return Err(SqlError::new(SqlState::InvalidParameterValue, message));
        }
        found.push((name.to_owned(), Rights::named(name).unwrap_or(Rights::NONE), cut.is_some()));
    }
    Ok(found)
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
    let Some((Datum::Text(words), rest)) = arguments.split_last() else { return Ok(Some(Null)) };
    let wanted = wanted(kind, words)?;
    let count = if function == "has_column_privilege" { 2 } else { 1 };
    let (user, object) = if rest.len() > count { (Some(&rest[0]), &rest[1]) } else { (None, &rest[0]) };
    let objects = &catalog.snapshot()?.beside;
    let user = match user {
        None => catalog.user.to_owned(),
        // Everybody.
        Some(Datum::Text(name)) if **name == *"public" => String::new(),
        Some(Datum::Text(name)) => name.to_string(),
        Some(Int(number)) => match role::name_of(catalog, u32::try_from(*number).unwrap_or(0))? {
            Some(name) => name,
            None => return Ok(Some(Bool(false))),
        },
        Some(_) => return Ok(Some(Null)),
    };
    if !user.is_empty() && !objects.roles.contains_key(&user) {
        return Err(SqlError::new(SqlState::UndefinedObject, format!("role \"{user}\" does not exist")));
    }
    let column = (function == "has_column_privilege").then(|| &rest[rest.len() - 1]);
    let Some(about) = about(catalog, kind, object, column)? else { return Ok(Some(Null)) };
    let is_any_column = function == "has_any_column_privilege";
    Ok(Some(Bool(wanted.iter().any(|right| has(objects, &user, &about, right, is_any_column)))))
}

fn has(objects: &Objects, user: &str, about: &About, wanted: &(String, Rights, bool), is_any_column: bool) -> bool {
    let (word, right, with_option) = wanted;
    if objects.is_superuser(user) {
        return true;
    }
    match about {
        About::System(_) if matches!(word.as_str(), "connect" | "temporary" | "temp") => !with_option,
        About::System(open) => open.has(*right) && *right != Rights::NONE && !with_option,
        About::Role(role) if *with_option => {
            objects.roles.get(user).is_some_and(|own| own.member_of.get(role) == Some(&true))
        }
        About::Role(role) => objects.roles_of(user, word == "usage").contains(role.as_str()),
        About::Thing(thing, owner, column) => {
            let held = |column: Option<&str>| objects.held(user, thing, owner, column, *with_option).has(*right);
            *right != Rights::NONE
                && (held(None)
                    || column.as_deref().is_some_and(|column| held(Some(column)))
                    || (is_any_column && objects.has_on_any_column(user, thing, *right)))
        }
    }
}

fn missing<T>(state: SqlState, what: &str, name: &str) -> Result<T> {
    Err(SqlError::new(state, format!("{what} \"{name}\" does not exist")))
}

/// What a question is about; `None` where nothing has the number.
fn about(catalog: &Catalog<'_>, kind: &str, object: &Datum, column: Option<&Datum>) -> Result<Option<About>> {
    let as_number = |number: i64| u32::try_from(number).unwrap_or(0);
    match (kind, object) {
        ("table" | "column" | "sequence", Datum::Text(name)) => {
            let parts = crate::parse::object_name(name)?;
            match class_number(catalog, &parts)? {
                Some(number) => relation(catalog, number, column),
                None => missing(SqlState::UndefinedTable, "relation", &parts.join(".")),
            }
        }
        ("table" | "column" | "sequence", Int(number)) => relation(catalog, as_number(*number), column),
        ("schema", Datum::Text(name)) => match class::schema_number(catalog, name)? {
            Some(_) => Ok(Some(schema(catalog, name)?)),
            None => missing(SqlState::InvalidSchemaName, "schema", name),
        },
        ("schema", Int(number)) => {
            let found = class::schemas(catalog)?.into_iter().find(|(own, ..)| *own == as_number(*number));
            found.map(|(_, name, _)| schema(catalog, &name)).transpose()
        }
        ("database", Datum::Text(name)) if **name != *crate::session::DATABASE => {
            missing(SqlState::InvalidCatalogName, "database", name)
        }
        ("role", Datum::Text(name)) => match catalog.snapshot()?.beside.roles.contains_key(&**name) {
            true => Ok(Some(About::Role(name.to_string()))),
            false => missing(SqlState::UndefinedObject, "role", name),
        },
        ("role", Int(number)) => Ok(role::name_of(catalog, as_number(*number))?.map(About::Role)),
        ("type", Datum::Text(name)) => match registered::type_number(catalog, name)? {
            // Everybody may use a type.
            Some(_) => Ok(Some(About::System(Rights::USAGE))),
            None => missing(SqlState::UndefinedObject, "type", name),
        },
        ("type", Int(number)) => {
            let found = registered::type_name(catalog, as_number(*number))?;
            Ok(found.map(|_| About::System(Rights::USAGE)))
        }
        ("function", argument) => Ok(Some(function(catalog, argument)?)),
        // To connect and to make temporary tables have no bits of their own here.
        _ => Ok(Some(About::System(Rights::NONE))),
    }
}

fn schema(catalog: &Catalog<'_>, name: &str) -> Result<About> {
    if matches!(name, "pg_catalog" | "information_schema") {
        return Ok(About::System(Rights::USAGE));
    }
    let owner = catalog.snapshot()?.beside.schema_owner(name).to_owned();
    Ok(About::Thing(Thing::Schema(name.to_owned()), owner, None))
}

/// A function that is compiled in, which everybody may call, or a procedure.
fn function(catalog: &Catalog<'_>, argument: &Datum) -> Result<About> {
    let is_meant = |routine: &routine::Routine| match argument {
        Datum::Text(name) => routine.name == name.split('(').next().unwrap_or_default().trim(),
        Int(number) => i64::from(routine.oid) == *number,
        _ => false,
    };
    let procedure = routine::procedures(catalog)?.into_iter().find(|routine| is_meant(routine));
    Ok(match procedure {
        Some(routine) => About::Thing(Thing::Procedure(routine.name), Sql::FIRST_ROLE.to_owned(), None),
        None => About::System(Rights::EXECUTE),
    })
}

fn relation(catalog: &Catalog<'_>, number: u32, column: Option<&Datum>) -> Result<Option<About>> {
    let snapshot = catalog.snapshot()?;
    let named = |columns: &[String], relation: &str| -> Result<Option<Option<String>>> {
        match column {
            None => Ok(Some(None)),
            Some(Datum::Text(name)) if columns.iter().any(|own| **own == **name) => Ok(Some(Some(name.to_string()))),
            Some(Datum::Text(name)) => {
                let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
                Err(SqlError::new(SqlState::UndefinedColumn, message))
            }
            Some(Int(at)) => Ok(usize::try_from(*at - 1).ok().and_then(|at| columns.get(at)).cloned().map(Some)),
            Some(_) => Ok(None),
        }
    };
    Ok(match snapshot.object(number) {
        Some(Object::Table(at) | Object::Index(at, _)) => {
            let relation = &snapshot.tables[at].relation;
            let visible = relation.columns[..relation.visible()].iter();
            let columns: Vec<String> = visible.map(|column| column.name.clone()).collect();
            let (name, owner) = (&relation.name, relation.notes.owner.clone());
            named(&columns, &name.name)?.map(|column| About::Thing(relation.object(), owner, column))
        }
        Some(Object::View(at)) => {
            let view = &snapshot.views[at];
            let columns: Vec<String> = view.entry.columns.iter().map(|column| column.name.clone()).collect();
            let (name, owner) = (view.name.clone(), view.entry.owner.clone());
            named(&columns, &name.name)?.map(|column| About::Thing(Thing::View(name), owner, column))
        }
        Some(Object::Sequence(at)) => {
            let sequence = &snapshot.sequences[at];
            let (name, owner) = (sequence.listed.name.clone(), snapshot.owner_of(sequence).to_owned());
            Some(About::Thing(Thing::Sequence(name), owner, None))
        }
        _ => class_name(catalog, number)?.map(|_| About::System(Rights::SELECT)),
    })
}
