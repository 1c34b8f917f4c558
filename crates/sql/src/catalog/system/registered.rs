//! Names of numbers, and numbers of names: `regclass` and its kin.

use super::object::{class_name, class_number, qualified};
use super::{Catalog, class, role, routine, text};
use crate::catalog::name::Name;
use crate::datum::Datum;
use crate::datum::Datum::{Int, Null};
use crate::enumeration::EnumType;
use crate::error::{Result, SqlError, SqlState};
use crate::parse::quote::quoted;
use crate::types::Type;

/// The number that a text means, which is a name or a number; `None` where nothing has the name.
pub(super) fn number(catalog: &Catalog<'_>, ty: Type, given: &str) -> Result<Option<u32>> {
    if given == "-" {
        return Ok(Some(0));
    }
    if let Ok(number) = given.parse::<u32>() {
        return Ok(Some(number));
    }
    match ty {
        Type::RegClass => class_number(catalog, &crate::parse::object_name(given)?),
        Type::RegType => type_number(catalog, given),
        Type::RegNamespace => class::schema_number(catalog, &single(given)?),
        Type::RegRole => {
            let name = single(given)?;
            Ok(role::all(catalog)?.iter().any(|role| role.name == name).then(|| role::number(&name)))
        }
        Type::RegProcedure => {
            let (name, types) = signature(catalog, given)?;
            let parts = crate::parse::object_name(name)?;
            let found = routine::named(catalog, &parts)?.into_iter().find(|known| known.arguments == types);
            Ok(found.map(|known| known.oid))
        }
        Type::RegOperator => {
            let (name, types) = signature(catalog, given)?;
            let [left, right] = types[..] else { return Err(operands(types.len())) };
            let sign = name.strip_prefix("pg_catalog.").unwrap_or(name).trim();
            Ok(routine::operator_number(sign, left, right))
        }
        _ => function_number(catalog, given),
    }
}

/// The name and the types of `name(type, type)`; `none` is the type of an operand that there is not.
fn signature<'g>(catalog: &Catalog<'_>, given: &'g str) -> Result<(&'g str, Vec<u32>)> {
    let wrong =
        |what: &str| SqlError::new(SqlState::InvalidTextRepresentation, format!("expected a {what} parenthesis"));
    let (name, rest) = given.split_once('(').ok_or_else(|| wrong("left"))?;
    let list = rest.trim_end().strip_suffix(')').ok_or_else(|| wrong("right"))?;
    if list.trim().is_empty() {
        return Ok((name.trim(), Vec::new()));
    }
    let mut types = Vec::new();
    let mut depth = 0;
    // A comma within parentheses belongs to a type, as in `numeric(10,2)`.
    let is_end = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    };
    for ty in list.split(is_end).map(str::trim) {
        if ty.eq_ignore_ascii_case("none") {
            types.push(0);
            continue;
        }
        let missing = || SqlError::new(SqlState::UndefinedObject, format!("type \"{ty}\" does not exist"));
        types.push(type_number(catalog, ty)?.ok_or_else(missing)?);
    }
    Ok((name.trim(), types))
}

/// Refuses a signature of an operator with another number of operands than two.
fn operands(count: usize) -> SqlError {
    match count {
        0 | 1 => SqlError::new(SqlState::UndefinedParameter, "missing argument")
            .with_hint("Use NONE to denote the missing argument of a unary operator."),
        _ => SqlError::new(SqlState::TooManyArguments, "too many arguments")
            .with_hint("Provide two argument types for operator."),
    }
}

/// A name without a schema.
fn single(given: &str) -> Result<String> {
    let mut parts = crate::parse::object_name(given)?;
    match parts.len() {
        1 => Ok(parts.remove(0)),
        _ => Err(SqlError::new(SqlState::InvalidName, "invalid name syntax")),
    }
}

/// The number of the type that a text names.
pub(super) fn type_number(catalog: &Catalog<'_>, given: &str) -> Result<Option<u32>> {
    let ty = crate::parse::named_type(given)?;
    match crate::parse::data_type(&ty) {
        Ok(declared) => return Ok(Some(declared.ty.oid())),
        Err(error) if error.state == SqlState::UndefinedObject => {}
        Err(error) => return Err(error),
    }
    let Some((name, is_array)) = crate::parse::types::custom(&ty) else { return Ok(None) };
    let mut parts = crate::parse::parts(&name)?;
    if let Some(found) = user_type(catalog, &parts)? {
        return Ok(Some(if is_array { found.array_oid() } else { found.oid() }));
    }
    let Some(last) = parts.last_mut() else { return Ok(None) };
    let Some(element) = crate::parse::types::element(last).map(str::to_owned) else { return Ok(None) };
    *last = element;
    Ok(user_type(catalog, &parts)?.map(EnumType::array_oid))
}

/// The type of users that a name means.
fn user_type(catalog: &Catalog<'_>, parts: &[String]) -> Result<Option<EnumType>> {
    let types = &catalog.snapshot()?.beside.types;
    let find = |schema: &str, name: &str| types.get(&Name::new(schema, name)).map(|known| known.ty);
    Ok(match parts {
        [name] => catalog.schemas()?.iter().find_map(|schema| find(schema, name)),
        [schema, name] => find(schema, name),
        _ => None,
    })
}

/// The name of a type, with its schema where it is needed to be found; `None` where there is none with the number.
pub(super) fn type_name(catalog: &Catalog<'_>, number: u32) -> Result<Option<String>> {
    if let Some(system) = Type::of_oid(number) {
        return Ok(Some(system.to_string()));
    }
    let Some(found) = catalog.snapshot()?.beside.type_of_oid(number) else { return Ok(None) };
    let Some(own) = found.enumeration() else { return Ok(None) };
    let is_bare =
        user_type(catalog, &[own.name().to_owned()])? == Some(own) && Type::of_catalog_name(own.name()).is_none();
    let name = if is_bare { quoted(own.name()) } else { own.qualified() };
    Ok(Some(if number == own.oid() { name } else { format!("{name}[]") }))
}

/// Whether a name without its schema means the type with a number.
pub(super) fn is_visible_type(catalog: &Catalog<'_>, number: u32) -> Result<Option<bool>> {
    if Type::of_oid(number).is_some() {
        return Ok(Some(true));
    }
    let found = catalog.snapshot()?.beside.type_of_oid(number).and_then(Type::enumeration);
    let Some(own) = found else { return Ok(None) };
    Ok(Some(user_type(catalog, &[own.name().to_owned()])? == Some(own)))
}

fn function_number(catalog: &Catalog<'_>, given: &str) -> Result<Option<u32>> {
    let parts = crate::parse::object_name(given)?;
    let (Some(name), found) = (parts.last(), routine::named(catalog, &parts)?) else { return Ok(None) };
    let found: Vec<u32> = found.iter().map(|known| known.oid).collect();
    match found[..] {
        [] => Ok(None),
        [number] => Ok(Some(number)),
        _ => {
            let message = format!("more than one function named \"{name}\"");
            Err(SqlError::new(SqlState::AmbiguousFunction, message))
        }
    }
}

/// The number that a text means, which must be there.
pub(super) fn read(catalog: &Catalog<'_>, ty: Type, given: &str) -> Result<Datum> {
    let missing = || match ty {
        Type::RegClass => (SqlState::UndefinedTable, "relation"),
        Type::RegType => (SqlState::UndefinedObject, "type"),
        Type::RegNamespace => (SqlState::InvalidSchemaName, "schema"),
        Type::RegRole => (SqlState::UndefinedObject, "role"),
        _ => (SqlState::UndefinedFunction, "function"),
    };
    if ty == Type::RegOperator {
        let unknown = || SqlError::new(SqlState::UndefinedFunction, format!("operator does not exist: {given}"));
        return number(catalog, ty, given)?.map(|number| Int(number.into())).ok_or_else(unknown);
    }
    let found = number(catalog, ty, given)?;
    if found.is_none()
        && ty == Type::RegClass
        && let [schema, _] = &crate::parse::object_name(given)?[..]
        && class::schema_number(catalog, schema)?.is_none()
    {
        return Err(SqlError::new(SqlState::InvalidSchemaName, format!("schema \"{schema}\" does not exist")));
    }
    found.map(|number| Int(number.into())).ok_or_else(|| {
        let (state, what) = missing();
        let is_whole = ty == Type::RegProcedure;
        let parts = if is_whole { Ok(vec![given.to_owned()]) } else { crate::parse::object_name(given) };
        let shown = parts.map_or_else(|_| given.to_owned(), |parts| parts.join("."));
        SqlError::new(state, format!("{what} \"{shown}\" does not exist"))
    })
}

/// The name of what has a number; the number itself where nothing has it.
pub(super) fn show(catalog: &Catalog<'_>, ty: Type, number: u32) -> Result<String> {
    if number == 0 {
        return Ok("-".to_owned());
    }
    let found = match ty {
        Type::RegClass => match class_name(catalog, number)? {
            Some(name) => Some(qualified(catalog, number, &name)?),
            None => None,
        },
        Type::RegType => type_name(catalog, number)?,
        Type::RegNamespace => {
            class::schemas(catalog)?.into_iter().find(|(own, ..)| *own == number).map(|(_, name, _)| quoted(&name))
        }
        Type::RegRole => role::name_of(catalog, number)?.map(|name| quoted(&name)),
        Type::RegProcedure => routine::shown(catalog, number)?,
        Type::RegOperator => routine::operator_shown(number),
        _ => {
            let compiled = routine::compiled().into_iter().find(|known| known.oid == number);
            let own = || Ok::<_, SqlError>(routine::procedures(catalog)?.into_iter().find(|known| known.oid == number));
            match compiled {
                Some(known) => Some(quoted(&known.name)),
                None => own()?.map(|known| quoted(&known.name)),
            }
        }
    };
    Ok(found.unwrap_or_else(|| number.to_string()))
}

/// What a function of conversions gives; `None` where the name is that of no such function.
pub(super) fn convert(catalog: &Catalog<'_>, function: &str, argument: &Datum) -> Result<Option<Datum>> {
    let (name, direction) = match function.split_once(' ') {
        Some(parts) => parts,
        None => match function.strip_prefix("to_") {
            Some(name) => (name, "to"),
            None => return Ok(None),
        },
    };
    let Some(ty) = Type::of_name(name).filter(|ty| ty.is_registered()) else { return Ok(None) };
    Ok(Some(match (direction, argument) {
        ("in", Datum::Text(given)) => read(catalog, ty, given)?,
        ("to", Datum::Text(given)) => number(catalog, ty, given)?.map_or(Null, |number| Int(number.into())),
        ("out", Int(number)) => text(show(catalog, ty, u32::try_from(*number).unwrap_or(0))?),
        ("shown", Int(number)) => {
            let name = show(catalog, ty, u32::try_from(*number).unwrap_or(0))?;
            Datum::record(vec![Int(*number), text(name)])
        }
        _ => return Ok(None),
    }))
}
