//! `pg_proc`, `pg_operator`, `pg_language`: what can be called.
//!
//! Functions have the numbers of PostgreSQL where these are known, else one by their place in the list of this program.

use osier::procedure::program::{Field, Results};

use super::{Catalog, FIRST_ROLE, PG_CATALOG, PUBLIC, acl, array, definition, kind, oid, text};
use crate::catalog::rights::Object;
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Float, Int, Null};
use crate::error::Result;
use crate::function::{self, Parameter, Returns, Signature, Volatility};
use crate::parse::quote::quoted;
use crate::run::Row;
use crate::types::Type;

/// The language of what is compiled in.
const INTERNAL: u32 = 12;
/// The language of the procedures that a database holds.
const OSIER: u32 = 13_600;
/// Functions that PostgreSQL's numbers are not known of have numbers from here on.
const FUNCTIONS: u32 = 10_000;
/// Procedures have numbers from here on.
const PROCEDURES: u32 = 15_500;

/// Names and numbers of the types that stand for others.
const PSEUDO: [(Parameter, u32); 5] = [
    (Parameter::Any, 2276),
    (Parameter::AnyElement, 2283),
    (Parameter::AnyArray, 2277),
    (Parameter::AnyNonArray, 2776),
    (Parameter::AnyEnum, 3500),
];

/// A function.
pub(super) struct Routine {
    pub(super) oid: u32,
    pub(super) name: String,
    schema: u32,
    language: u32,
    pub(super) kind: &'static str,
    is_strict: bool,
    is_set: bool,
    volatility: &'static str,
    variadic: u32,
    pub(super) returns: u32,
    pub(super) arguments: Vec<u32>,
    /// Types, modes and names of all arguments, with those that are results.
    pub(super) all: Option<Vec<(u32, &'static str, String)>>,
}

fn number_of(parameter: Parameter) -> u32 {
    match parameter {
        Parameter::Exact(ty) => ty.oid(),
        other => PSEUDO.iter().find(|(known, _)| *known == other).map_or(0, |(_, number)| *number),
    }
}

fn number_of_result(returns: Returns) -> u32 {
    match returns {
        Returns::Exact(ty) => ty.oid(),
        Returns::AnyElement => 2283,
        Returns::AnyArray => 2277,
    }
}

/// The functions that are compiled in.
pub(super) fn compiled() -> Vec<Routine> {
    let routine = |name: &str, kind| Routine {
        oid: 0,
        name: name.to_owned(),
        schema: PG_CATALOG,
        language: INTERNAL,
        kind,
        is_strict: false,
        is_set: false,
        volatility: "i",
        variadic: 0,
        returns: 0,
        arguments: Vec::new(),
        all: None,
    };
    let signed = |signature: Signature, kind| {
        let (name, parameters, returns) = signature;
        let arguments = parameters.iter().map(|parameter| number_of(*parameter)).collect();
        Routine { arguments, returns: number_of_result(returns), ..routine(name, kind) }
    };
    let own = function::all().filter(|function| !function::is_internal(function.name)).map(|function| Routine {
        is_strict: function.is_strict,
        volatility: match function.volatility {
            Volatility::Immutable => "i",
            Volatility::Stable => "s",
            Volatility::Volatile => "v",
        },
        variadic: if function.is_variadic { 2276 } else { 0 },
        ..signed((function.name, function.parameters, function.returns), "f")
    });
    let aggregates = function::aggregates().map(|signature| signed(signature, "a"));
    let sets = function::sets().map(|signature| Routine { is_set: true, ..signed(signature, "f") });
    let mut routines: Vec<Routine> = own.chain(aggregates).chain(sets).collect();
    for (place, routine) in routines.iter_mut().enumerate() {
        routine.oid = FUNCTIONS + place as u32;
    }
    let of_types = kind::functions().map(|(number, name)| Routine { oid: number, ..routine(name, "f") });
    routines.extend(of_types);
    routines.sort_by_key(|routine| routine.oid);
    routines.dedup_by_key(|routine| routine.oid);
    debug_assert!(routines.len() < (PROCEDURES - FUNCTIONS) as usize, "numbers of functions meet those of procedures");
    routines
}

/// The procedures that the database holds, or that the program has registered.
pub(super) fn procedures(catalog: &Catalog<'_>) -> Result<Vec<Routine>> {
    let listed = catalog.store.procedures()?;
    let number = |field: &Field| crate::parse::declared(&field.ty.to_string()).map_or(0, |declared| declared.ty.oid());
    let routine = |(place, procedure): (usize, &osier::call::ListedProcedure)| {
        let parameters = procedure.parameters.as_deref().unwrap_or_default();
        let (results, is_set): (&[Field], bool) = match &procedure.results {
            Some(Results::Values(fields)) => (fields, false),
            Some(Results::Set(fields)) => (fields, true),
            Some(Results::Nothing) | None => (&[], false),
        };
        let given = parameters.iter().map(|field| (number(field), "i", field.name.clone()));
        let returned = results.iter().map(|field| (number(field), "o", field.name.clone()));
        Routine {
            oid: PROCEDURES + place as u32,
            name: procedure.name.clone(),
            schema: PUBLIC,
            language: OSIER,
            kind: "p",
            is_strict: false,
            is_set,
            volatility: "v",
            variadic: 0,
            returns: if results.is_empty() { Type::Void.oid() } else { Type::Record.oid() },
            arguments: parameters.iter().map(number).collect(),
            all: Some(given.chain(returned).collect()),
        }
    };
    Ok(listed.iter().enumerate().map(routine).collect())
}

/// The functions that a name means: those of the system, or else procedures.
pub(super) fn named(catalog: &Catalog<'_>, parts: &[String]) -> Result<Vec<Routine>> {
    let (schema, name) = match parts {
        [name] => (None, name),
        [schema, name] => (Some(schema.as_str()), name),
        _ => return Ok(Vec::new()),
    };
    let mut found = Vec::new();
    if schema.is_none_or(|schema| schema == "pg_catalog") {
        found.extend(compiled().into_iter().filter(|known| known.name == *name));
    }
    if found.is_empty() && schema.is_none_or(|schema| schema == "public") {
        found.extend(procedures(catalog)?.into_iter().filter(|known| known.name == *name));
    }
    Ok(found)
}

/// A function with the types of its arguments, as `lower(text)`.
pub(super) fn shown(catalog: &Catalog<'_>, number: u32) -> Result<Option<String>> {
    let compiled = compiled().into_iter().find(|known| known.oid == number);
    let found = match compiled {
        Some(known) => Some(known),
        None => procedures(catalog)?.into_iter().find(|known| known.oid == number),
    };
    let Some(found) = found else { return Ok(None) };
    let types: Vec<String> = found.arguments.iter().map(|number| definition::type_name(*number)).collect();
    Ok(Some(format!("{}({})", quoted(&found.name), types.join(","))))
}

/// The types of the operands of an operator; 0 is that of the left one of a prefix.
fn operands(operator: &function::Function) -> (u32, u32) {
    let number = |place: usize| operator.parameters.get(place).map_or(0, |parameter| number_of(*parameter));
    if operator.parameters.len() == 1 { (0, number(0)) } else { (number(0), number(1)) }
}

/// The number of the operator with these operands.
pub(super) fn operator_number(sign: &str, left: u32, right: u32) -> Option<u32> {
    let place = function::operators().position(|known| known.name == sign && operands(known) == (left, right))?;
    Some(FUNCTIONS + place as u32)
}

/// An operator with the types of its operands, as `+(integer,integer)`.
pub(super) fn operator_shown(number: u32) -> Option<String> {
    let found = function::operators().nth(number.checked_sub(FUNCTIONS)? as usize)?;
    let (left, right) = operands(found);
    let left = if left == 0 { "NONE".to_owned() } else { definition::type_name(left) };
    Some(format!("{}({left},{})", found.name, definition::type_name(right)))
}

/// `pg_proc`.
pub(super) fn routines(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let acl_of = |routine: &Routine| match routine.kind {
        "p" => acl::list(catalog, &Object::Procedure(routine.name.clone()), None),
        _ => Ok(Null),
    };
    compiled().iter().chain(&procedures(catalog)?).map(|routine| Ok(row(routine, acl_of(routine)?))).collect()
}

fn row(routine: &Routine, acl: Datum) -> Row {
    let all = routine.all.as_ref();
    let listed = |show: &dyn Fn(&(u32, &'static str, String)) -> Datum| {
        all.map_or(Null, |all| if all.is_empty() { Null } else { array(all.iter().map(show)) })
    };
    vec![
        oid(routine.oid),
        text(&routine.name),
        oid(routine.schema),
        oid(FIRST_ROLE),
        oid(routine.language),
        Float(1.0),
        Float(if routine.is_set { 1000.0 } else { 0.0 }),
        oid(routine.variadic),
        Int(0),
        text(routine.kind),
        Bool(false),
        Bool(false),
        Bool(routine.is_strict),
        Bool(routine.is_set),
        text(routine.volatility),
        text("u"),
        Int(routine.arguments.len() as i64),
        Int(0),
        oid(routine.returns),
        array(routine.arguments.iter().map(|number| oid(*number))),
        listed(&|(number, ..)| oid(*number)),
        listed(&|(_, mode, _)| text(mode)),
        listed(&|(.., name)| text(name)),
        Null,
        Null,
        text(&routine.name),
        Null,
        Null,
        Null,
        acl,
    ]
}

/// `pg_operator`.
pub(super) fn operators() -> Vec<Row> {
    let row = |(place, operator): (usize, &'static function::Function)| {
        let (left, right) = operands(operator);
        let is_prefix = left == 0;
        vec![
            Int(i64::from(FUNCTIONS) + place as i64),
            text(operator.name),
            oid(PG_CATALOG),
            oid(FIRST_ROLE),
            text(if is_prefix { "l" } else { "b" }),
            Bool(false),
            Bool(false),
            oid(left),
            oid(right),
            oid(number_of_result(operator.returns)),
            Int(0),
            Int(0),
            Int(0),
            Int(0),
            Int(0),
        ]
    };
    function::operators().enumerate().map(row).collect()
}

/// `pg_language`.
pub(super) fn languages() -> Vec<Row> {
    let row = |(number, name, is_for_users): (u32, &str, bool)| {
        vec![
            oid(number),
            text(name),
            oid(FIRST_ROLE),
            Bool(is_for_users),
            Bool(is_for_users),
            Int(0),
            Int(0),
            Int(0),
            Null,
        ]
    };
    [(INTERNAL, "internal", false), (OSIER, "osier", true)].into_iter().map(row).collect()
}
