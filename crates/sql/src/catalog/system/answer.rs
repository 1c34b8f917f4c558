//! Functions that the catalog answers.

use super::comment::{OF_CLASS, OF_CONSTRAINT, OF_DATABASE, OF_NAMESPACE, OF_ROLE};
use super::snapshot::Object;
use super::{Catalog, acl, class, comment, definition, describe, object, privilege, registered, role, text, view};
use crate::catalog::rights::Object::Sequence;
use crate::catalog::rights::Rights;
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Null};
use crate::error::{Result, SqlError, SqlState};
use crate::types::Type;

/// The number that an argument has.
fn number(argument: Option<&Datum>) -> u32 {
    match argument {
        Some(Int(number)) => u32::try_from(*number).unwrap_or(0),
        _ => 0,
    }
}

fn words(argument: Option<&Datum>) -> &str {
    match argument {
        Some(Datum::Text(text)) => text,
        _ => "",
    }
}

/// Answers a function; none of the arguments is NULL. `None` where it is none of the catalog's.
pub(crate) fn answer(catalog: &Catalog<'_>, function: &str, arguments: &[Datum]) -> Result<Option<Datum>> {
    if let Some(argument) = arguments.first()
        && let Some(converted) = registered::convert(catalog, function, argument)?
    {
        return Ok(Some(converted));
    }
    if let Some(answer) = privilege::asked(catalog, function, arguments)? {
        return Ok(Some(answer));
    }
    let (first, second) = (arguments.first(), arguments.get(1));
    let is_pretty = matches!(arguments.last(), Some(Bool(true) | Int(_))) && arguments.len() > 1;
    Ok(Some(match function {
        "current_schemas" => schemas(catalog, matches!(first, Some(Bool(true))))?,
        "pg_get_userbyid" => {
            let wanted = number(first);
            text(role::name_of(catalog, wanted)?.unwrap_or_else(|| format!("unknown (OID={wanted})")))
        }
        "pg_get_expr" => {
            definition::expression(catalog, words(first), number(second), arguments.len() > 2 && is_pretty)?
        }
        "pg_get_constraintdef" => definition::constraint(catalog, number(first), is_pretty)?,
        "pg_get_indexdef" => {
            let is_pretty = matches!(arguments.get(2), Some(Bool(true)));
            definition::index(catalog, number(first), number(second).into(), is_pretty)?
        }
        "pg_get_viewdef" => match first {
            Some(Datum::Text(name)) => {
                let Int(number) = registered::read(catalog, Type::RegClass, name)? else { return Ok(Some(Null)) };
                definition::view(catalog, u32::try_from(number).unwrap_or(0))?
            }
            first => definition::view(catalog, number(first))?,
        },
        "pg_get_serial_sequence" => definition::serial_sequence(catalog, words(first), words(second))?,
        "pg_get_functiondef"
        | "pg_get_function_result"
        | "pg_get_function_arguments"
        | "pg_get_function_identity_arguments"
        | "pg_get_function_sqlbody" => definition::function(catalog, function, number(first))?,
        "pg_describe_object" => {
            let column = arguments.get(2).map_or(0, |column| i64::from(number(Some(column))));
            describe::object(catalog, number(first), number(second), column)?
        }
        "acldefault" => acl::default_list(catalog, words(first), number(second))?,
        "obj_description" => {
            let relation = second.map(|_| relation_number(words(second)));
            comment::of(catalog, number(first), relation, 0)?
        }
        "shobj_description" => comment::of(catalog, number(first), Some(relation_number(words(second))), 0)?,
        "col_description" => match second {
            Some(Int(column)) if *column != 0 => comment::of(catalog, number(first), Some(OF_CLASS), *column)?,
            _ => Null,
        },
        "pg_my_temp_schema" => match catalog.settings.temporary().schema() {
            Some(own) => class::schema_number(catalog, own)?.map_or(Int(0), |number| Int(number.into())),
            None => Int(0),
        },
        "pg_is_other_temp_schema" => Bool(class::is_other_temporary(catalog, number(first))?),
        "pg_sequence_last_value" => last_value(catalog, number(first))?,
        "pg_table_is_visible" => object::is_visible(catalog, number(first))?.map_or(Null, Bool),
        "pg_type_is_visible" => registered::is_visible_type(catalog, number(first))?.map_or(Null, Bool),
        other if other.ends_with("_is_visible") => Bool(true),
        "format_type" => text(registered::type_name(catalog, number(first))?.unwrap_or_else(|| "???".to_owned())),
        _ => return others(catalog, function, number(first), (first, second)),
    }))
}

/// The schemas in which names are looked up.
fn schemas(catalog: &Catalog<'_>, with_implicit: bool) -> Result<Datum> {
    let mut names = Vec::new();
    if with_implicit {
        let said: Vec<&str> = catalog.settings.said_schemas().collect();
        let temporary = catalog.settings.temporary().schema();
        names.extend(temporary.filter(|own| !said.contains(own)).map(text));
        names.push(text("pg_catalog"));
    }
    // The catalog's own schemas are always there.
    let own = catalog.schemas()?;
    for schema in catalog.settings.said_schemas() {
        let is_system = matches!(schema, "pg_catalog" | "information_schema");
        if (is_system || own.contains(&schema)) && !names.contains(&text(schema)) {
            names.push(text(schema));
        }
    }
    Ok(Datum::Array(names.into()))
}

/// The relation of the catalog with a name, for comments.
fn relation_number(name: &str) -> u32 {
    match name {
        "pg_class" => OF_CLASS,
        "pg_constraint" => OF_CONSTRAINT,
        "pg_namespace" => OF_NAMESPACE,
        "pg_database" => OF_DATABASE,
        "pg_authid" => OF_ROLE,
        other => super::relation::find("pg_catalog", other).map_or(u32::MAX, |system| system.oid),
    }
}

/// What a sequence has given last: the value before the next one that no session has taken.
fn last_value(catalog: &Catalog<'_>, number: u32) -> Result<Datum> {
    let snapshot = catalog.snapshot()?;
    let Some(Object::Sequence(at)) = snapshot.object(number) else { return Ok(Null) };
    let owner = snapshot.owner_of(&snapshot.sequences[at]);
    let sequence = &snapshot.sequences[at].listed;
    let (beside, rights) = (&snapshot.beside, Rights::USAGE.and(Rights::SELECT));
    if !beside.rights(catalog.user, &Sequence(sequence.name.clone()), owner, None).meets(rights) {
        return Ok(Null);
    }
    Ok(sequence.last_value().map_or(Null, Int))
}

/// Functions about what there is none of, and about sizes.
fn others(
    catalog: &Catalog<'_>,
    function: &str,
    number: u32,
    (first, column): (Option<&Datum>, Option<&Datum>),
) -> Result<Option<Datum>> {
    Ok(Some(match function {
        // Rules, triggers, partitions and statistics have no numbers.
        "pg_get_ruledef"
        | "pg_get_triggerdef"
        | "pg_get_partkeydef"
        | "pg_get_partition_constraintdef"
        | "pg_get_statisticsobjdef"
        | "pg_get_statisticsobjdef_columns" => Null,
        "pg_relation_is_publishable" => match catalog.snapshot()?.object(number) {
            Some(Object::Table(at)) => Bool(is_changed(catalog, at)?),
            Some(_) => Bool(false),
            None => object::class_name(catalog, number)?.map_or(Null, |_| Bool(false)),
        },
        // Inserts, updates and deletes are the bits 3, 2 and 4.
        "pg_relation_is_updatable" => Int(match catalog.snapshot()?.object(number) {
            Some(Object::Table(at)) if is_changed(catalog, at)? => 28,
            Some(Object::View(at)) => {
                match &view::written_columns(catalog.snapshot()?, &catalog.snapshot()?.views[at])[..] {
                    [] => 0,
                    _ => 28,
                }
            }
            _ => 0,
        }),
        "pg_column_is_updatable" => match catalog.snapshot()?.object(number) {
            Some(Object::Table(at)) => Bool(is_changed(catalog, at)?),
            Some(Object::View(at)) => {
                let snapshot = catalog.snapshot()?;
                let written = view::written_columns(snapshot, &snapshot.views[at]);
                let column = match column {
                    Some(Int(column)) => usize::try_from(*column - 1).ok(),
                    _ => None,
                };
                Bool(column.and_then(|at| written.get(at)).copied().unwrap_or(false))
            }
            _ => Bool(false),
        },
        "pg_relation_filenode" => match catalog.snapshot()?.object(number) {
            Some(Object::Table(_) | Object::Index(..) | Object::Sequence(_)) => Int(number.into()),
            _ => Null,
        },
        // Rows lie in memory that all tables share; nothing counts them by table.
        "pg_relation_size" | "pg_total_relation_size" | "pg_table_size" | "pg_indexes_size" => Null,
        "pg_database_size" | "pg_tablespace_size" => {
            let is_known = match first {
                Some(Datum::Text(name)) => **name == *crate::session::DATABASE || &**name == "pg_default",
                _ => matches!(number, super::DATABASE | 1663),
            };
            if is_known { Int(catalog.sql.bytes()) } else { Null }
        }
        _ => return Ok(None),
    }))
}

/// Whether statements change a table, as they do unless it is a materialized view.
fn is_changed(catalog: &Catalog<'_>, at: usize) -> Result<bool> {
    Ok(!catalog.snapshot()?.tables[at].relation.is_materialized())
}

/// What the engine calls the sequence with a number.
pub(crate) fn sequence_name(catalog: &Catalog<'_>, argument: &Datum) -> Result<String> {
    let wanted = number(Some(argument));
    let snapshot = catalog.snapshot()?;
    match snapshot.object(wanted) {
        Some(Object::Sequence(at)) => Ok(snapshot.sequences[at].listed.name.engine()),
        Some(_) => {
            let shown = registered::show(catalog, Type::RegClass, wanted)?;
            Err(SqlError::new(SqlState::WrongObjectType, format!("\"{shown}\" is not a sequence")))
        }
        None => {
            let message = format!("could not open relation with OID {wanted}");
            Err(SqlError::new(SqlState::UndefinedTable, message))
        }
    }
}
