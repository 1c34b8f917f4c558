//! `pg_describe_object`: what a number of a relation of the catalog is, in words.

use super::comment::{OF_CLASS, OF_CONSTRAINT, OF_DATABASE, OF_EXTENSION, OF_NAMESPACE, OF_ROLE, OF_TYPE};
use super::snapshot::{Object, Snapshot};
use super::{Catalog, DATABASE, class, object, registered, relation, role, routine, server, text};
use crate::datum::Datum;
use crate::datum::Datum::Null;
use crate::error::{Result, SqlError, SqlState};
use crate::parse::quote::quoted;

/// The number of the relation that lists defaults, and of those that list functions and operators.
const OF_DEFAULT: u32 = 2604;
const OF_PROC: u32 = 1255;
const OF_OPERATOR: u32 = 2617;

/// Says what a number means; NULL where nothing has it.
pub(super) fn object(catalog: &Catalog<'_>, relation: u32, number: u32, column: i64) -> Result<Datum> {
    if relation == 0 && number == 0 {
        return Ok(Null);
    }
    let said = match relation {
        OF_CLASS => class(catalog, number, column)?,
        OF_CONSTRAINT => constraint(catalog, number)?,
        OF_DEFAULT => default(catalog, number)?,
        OF_TYPE => registered::type_name(catalog, number)?.map(|name| format!("type {name}")),
        OF_PROC => routine::shown(catalog, number)?.map(|name| format!("function {name}")),
        OF_OPERATOR => routine::operator_shown(number).map(|name| format!("operator {name}")),
        OF_NAMESPACE => {
            let found = class::schemas(catalog)?.into_iter().find(|(own, ..)| *own == number);
            found.map(|(_, name, _)| format!("schema {}", quoted(&name)))
        }
        OF_ROLE => role::name_of(catalog, number)?.map(|name| format!("role {}", quoted(&name))),
        OF_DATABASE => (number == DATABASE).then(|| format!("database {}", crate::session::DATABASE)),
        OF_EXTENSION => {
            let names = catalog.snapshot()?.beside.extensions.keys();
            let mut known = names.filter(|name| server::extension_number(name) == number);
            known.next().map(|name| format!("extension {}", quoted(name)))
        }
        other if relation::of_oid(other).is_some() => None,
        other => {
            let message = format!("unrecognized object class: {other}");
            return Err(SqlError::new(SqlState::InvalidParameterValue, message));
        }
    };
    Ok(said.map_or(Null, text))
}

/// A relation, or a column of it.
fn class(catalog: &Catalog<'_>, number: u32, column: i64) -> Result<Option<String>> {
    let Some(name) = object::class_name(catalog, number)? else { return Ok(None) };
    let snapshot = catalog.snapshot()?;
    let system = relation::of_oid(number);
    let kind = match (system.map(relation::SystemRelation::is_view), snapshot.object(number)) {
        (Some(true), _) | (None, Some(Object::View(_))) => "view",
        (None, Some(Object::Table(at))) => snapshot.tables[at].relation.object().kind(),
        (None, Some(Object::Index(..))) => "index",
        (None, Some(Object::Sequence(_))) => "sequence",
        _ => "table",
    };
    let said = format!("{kind} {}", object::qualified(catalog, number, &name)?);
    let Some(at) = usize::try_from(column - 1).ok() else { return Ok(Some(said)) };
    let column = match (system, snapshot.object(number)) {
        (Some(system), _) => system.columns.get(at).map(|column| column.name),
        (None, Some(Object::Table(table))) => {
            let columns = &snapshot.tables[table].relation.columns;
            columns.get(at).filter(|column| column.computed.is_none()).map(|column| column.name.as_str())
        }
        (None, Some(Object::View(view))) => {
            snapshot.views[view].entry.columns.get(at).map(|column| column.name.as_str())
        }
        _ => None,
    };
    Ok(column.map(|column| format!("column {} of {said}", quoted(column))))
}

/// A table of users, in words.
fn table(catalog: &Catalog<'_>, snapshot: &Snapshot, at: usize) -> Result<String> {
    let table = &snapshot.tables[at];
    Ok(format!("table {}", object::qualified(catalog, table.oid, &table.relation.name)?))
}

fn constraint(catalog: &Catalog<'_>, number: u32) -> Result<Option<String>> {
    let snapshot = catalog.snapshot()?;
    let (at, name) = match snapshot.object(number) {
        Some(Object::Key(at, place)) => (at, &snapshot.tables[at].indexes[place].name),
        Some(Object::Check(at, place)) => (at, &snapshot.tables[at].relation.notes.checks[place].name),
        Some(Object::ForeignKey(at, place)) => (at, &snapshot.tables[at].relation.notes.foreign_keys[place].name),
        _ => return Ok(None),
    };
    Ok(Some(format!("constraint {} on {}", quoted(name), table(catalog, snapshot, at)?)))
}

fn default(catalog: &Catalog<'_>, number: u32) -> Result<Option<String>> {
    let snapshot = catalog.snapshot()?;
    let Some(Object::Default(at, place)) = snapshot.object(number) else { return Ok(None) };
    let column = quoted(&snapshot.tables[at].relation.columns[place].name);
    Ok(Some(format!("default value for column {column} of {}", table(catalog, snapshot, at)?)))
}
