//! Definitions as statements: `pg_get_indexdef`, `pg_get_constraintdef`, `pg_get_viewdef`, `pg_get_function_...`.

use super::object::{class_number, qualified};
use super::relation::{self, Kind};
use super::snapshot::{IndexObject, Object, TableObject};
use super::{Catalog, class, deparse, routine, text};
use crate::catalog::name::{Name, PUBLIC};
use crate::catalog::notes::{Action, ForeignKeyNote, shown_order};
use crate::catalog::relation::shown_expression;
use crate::datum::Datum;
use crate::datum::Datum::Null;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::parse::quote::quoted;
use crate::types::Type;

/// `pg_get_expr`.
pub(super) fn expression(catalog: &Catalog<'_>, kept: &str, of: u32, is_pretty: bool) -> Result<Datum> {
    let snapshot = catalog.snapshot()?;
    Ok(match snapshot.object(of) {
        Some(Object::Table(at)) => {
            let kept = parse::sequence::renamed(kept, &|name| shown_sequence(catalog, name))?;
            text(deparse::expression(&snapshot.tables[at].relation, &kept, catalog.settings, is_pretty))
        }
        _ => text(kept),
    })
}

/// A sequence that the catalog keeps the name of, with its schema where that is needed.
fn shown_sequence(catalog: &Catalog<'_>, kept: &str) -> Result<Option<String>> {
    let name = match &parse::object_name(kept)?[..] {
        [name] => Name::new(PUBLIC, name),
        [schema, name] => Name::new(schema, name),
        _ => return Ok(None),
    };
    match catalog.snapshot()?.oid_of(&name) {
        Some(number) => qualified(catalog, number, &name).map(Some),
        None => Ok(None),
    }
}

fn columns(table: &TableObject, index: &IndexObject) -> String {
    let names: Vec<String> = index.columns.iter().map(|at| quoted(&table.relation.columns[*at].name)).collect();
    names.join(", ")
}

/// A column of an index, which may be an expression.
fn key(catalog: &Catalog<'_>, table: &TableObject, at: usize, is_pretty: bool) -> String {
    match table.relation.expression(at) {
        Some(kept) => shown_expression(&deparse::value(&table.relation, kept, catalog.settings, is_pretty)),
        None => quoted(&table.relation.columns[at].name),
    }
}

/// `pg_get_indexdef`; with a column, that column alone.
pub(super) fn index(catalog: &Catalog<'_>, number: u32, column: i64, is_pretty: bool) -> Result<Datum> {
    let snapshot = catalog.snapshot()?;
    let Some(Object::Index(at, place)) = snapshot.object(number) else { return Ok(Null) };
    let table = &snapshot.tables[at];
    let index = &table.indexes[place];
    if column != 0 {
        let at = usize::try_from(column - 1).ok().and_then(|column| index.columns.get(column));
        return Ok(at.map_or_else(|| text(""), |at| text(key(catalog, table, *at, is_pretty))));
    }
    let name = &table.relation.name;
    let of = match is_pretty {
        true => qualified(catalog, table.oid, name)?,
        false => format!("{}.{}", quoted(&name.schema), quoted(&name.name)),
    };
    let ordered =
        |(place, at): (usize, &usize)| key(catalog, table, *at, is_pretty) + shown_order(&index.orders, place);
    let keys: Vec<String> = index.columns.iter().enumerate().map(ordered).collect();
    let predicate = index.predicate.as_ref();
    let predicate = predicate
        .map(|kept| format!(" WHERE {}", deparse::condition(&table.relation, kept, catalog.settings, is_pretty)));
    Ok(text(format!(
        "CREATE {}INDEX {} ON {of} USING btree ({}){}",
        if index.is_unique { "UNIQUE " } else { "" },
        quoted(&index.name),
        keys.join(", "),
        predicate.unwrap_or_default()
    )))
}

/// `pg_get_constraintdef`.
pub(super) fn constraint(catalog: &Catalog<'_>, number: u32, is_pretty: bool) -> Result<Datum> {
    let snapshot = catalog.snapshot()?;
    Ok(match snapshot.object(number) {
        Some(Object::Key(at, place)) => {
            let table = &snapshot.tables[at];
            let index = &table.indexes[place];
            let kind = if index.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
            text(format!("{kind} ({})", columns(table, index)))
        }
        Some(Object::Check(at, place)) => {
            let relation = &snapshot.tables[at].relation;
            let kept = &relation.notes.checks[place].expression;
            let shown = deparse::condition(relation, kept, catalog.settings, is_pretty);
            text(format!("CHECK ({shown})"))
        }
        Some(Object::ForeignKey(at, place)) => {
            text(foreign_key(catalog, &snapshot.tables[at].relation.notes.foreign_keys[place])?)
        }
        _ => Null,
    })
}

fn foreign_key(catalog: &Catalog<'_>, key: &ForeignKeyNote) -> Result<String> {
    let name = Name::of_engine(&key.table);
    let table = match catalog.snapshot()?.oid_of(&name) {
        Some(number) => qualified(catalog, number, &name)?,
        _ => format!("{}.{}", quoted(&name.schema), quoted(&name.name)),
    };
    Ok(foreign_key_to(&table, key))
}

/// A foreign key as a statement has it, with the table that it refers to as it is shown.
pub(crate) fn foreign_key_to(table: &str, key: &ForeignKeyNote) -> String {
    let list = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let mut shown = format!("FOREIGN KEY ({}) REFERENCES {table}({})", list(&key.columns), list(&key.referenced));
    if key.is_full {
        shown.push_str(" MATCH FULL");
    }
    for (event, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
        let action = match action {
            Action::None => continue,
            Action::Restrict => "RESTRICT",
            Action::Cascade => "CASCADE",
            Action::SetNull => "SET NULL",
            Action::SetDefault => "SET DEFAULT",
        };
        shown.push_str(&format!(" ON {event} {action}"));
    }
    if !key.set_columns.is_empty() {
        shown.push_str(&format!(" ({})", list(&key.set_columns)));
    }
    for (is_said, words) in
        [(key.is_deferrable, " DEFERRABLE"), (key.is_deferred, " INITIALLY DEFERRED"), (key.is_not_valid, " NOT VALID")]
    {
        shown.push_str(if is_said { words } else { "" });
    }
    shown
}

/// `pg_get_viewdef`: the query of a view as it was written.
pub(super) fn view(catalog: &Catalog<'_>, number: u32) -> Result<Datum> {
    let snapshot = catalog.snapshot()?;
    if let Some(found) = snapshot.queries().find(|view| view.oid == number) {
        return Ok(text(super::view::definition(catalog, found.entry)?));
    }
    Ok(match relation::of_oid(number).map(|system| system.kind) {
        Some(Kind::View(query)) => text(format!(" {query};")),
        _ => Null,
    })
}

/// `pg_get_serial_sequence`.
pub(super) fn serial_sequence(catalog: &Catalog<'_>, table: &str, column: &str) -> Result<Datum> {
    let parts = crate::parse::object_name(table)?;
    let snapshot = catalog.snapshot()?;
    let Some(number) = class_number(catalog, &parts)? else {
        let message = format!("relation \"{}\" does not exist", parts.join("."));
        return Err(SqlError::new(SqlState::UndefinedTable, message));
    };
    let Some(Object::Table(at)) = snapshot.object(number) else {
        // Of what is no table every column is without a sequence.
        if class::has_column(catalog, number, column)? {
            return Ok(Null);
        }
        let shown = parts.last().map_or("", String::as_str);
        let message = format!("column \"{column}\" of relation \"{shown}\" does not exist");
        return Err(SqlError::new(SqlState::UndefinedColumn, message));
    };
    let place = snapshot.tables[at].relation.need(column)?;
    let own = snapshot.sequences.iter().find(|sequence| sequence.owner == Some((at, place)));
    Ok(own.map_or(Null, |sequence| {
        text(format!("{}.{}", quoted(&sequence.listed.name.schema), quoted(&sequence.listed.name.name)))
    }))
}

/// What a function returns or takes: `pg_get_function_result` and its kin.
pub(super) fn function(catalog: &Catalog<'_>, asked: &str, number: u32) -> Result<Datum> {
    let mut all = routine::compiled();
    all.extend(routine::procedures(catalog)?);
    let Some(routine) = all.into_iter().find(|routine| routine.oid == number) else { return Ok(Null) };
    let listed = |modes: &[&str]| match &routine.all {
        None => routine.arguments.iter().map(|number| type_name(*number)).collect::<Vec<_>>(),
        Some(all) => {
            let wanted = all.iter().filter(|(_, mode, _)| modes.contains(mode));
            let show = |(number, mode, name): &(u32, &str, String)| {
                let out = if *mode == "o" {
                    "OUT "
                } else if routine.kind == "p" {
                    "IN "
                } else {
                    ""
                };
                format!("{out}{} {}", quoted(name), type_name(*number))
            };
            wanted.map(show).collect()
        }
    };
    Ok(match asked {
        "pg_get_function_result" if routine.kind == "p" => Null,
        "pg_get_function_result" => text(type_name(routine.returns)),
        "pg_get_function_arguments" => text(listed(&["i", "o"]).join(", ")),
        "pg_get_function_identity_arguments" => text(listed(&["i"]).join(", ")),
        "pg_get_functiondef" if routine.kind == "p" => match catalog.store.procedure_text(&routine.name)? {
            Some(found) => text(found),
            None => Null,
        },
        _ => Null,
    })
}

/// The name of a type, also of those that stand for others.
pub(super) fn type_name(number: u32) -> String {
    match number {
        2276 => "\"any\"".to_owned(),
        2277 => "anyarray".to_owned(),
        2283 => "anyelement".to_owned(),
        2776 => "anynonarray".to_owned(),
        3500 => "anyenum".to_owned(),
        0 => "-".to_owned(),
        other => Type::of_oid(other).map_or_else(|| "???".to_owned(), |ty| ty.to_string()),
    }
}
