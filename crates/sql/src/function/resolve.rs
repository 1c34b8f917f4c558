//! Which function a call means, by the rules of PostgreSQL (manual, chapter 10 "Type Conversion").
//!
//! Invariant: the outcome does not depend on the order of the tables.
//!
//! Absent: variadic arguments that are given as one array, and a call by a type's name that means a cast.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Function, Parameter, Resolved, Returns};
use crate::error::{Result, SqlError, SqlState};
use crate::types::{Category, Type};
use crate::value::{Conversion, conversion};

type Index = HashMap<&'static str, Vec<&'static Function>>;

const FUNCTIONS: &[&&[Function]] = &[
    &super::string::FUNCTIONS,
    &super::pattern::FUNCTIONS,
    &super::math::FUNCTIONS,
    &super::datetime::FUNCTIONS,
    &super::extract::FUNCTIONS,
    &super::template::FUNCTIONS,
    &super::interval_template::FUNCTIONS,
    &super::number_template::FUNCTIONS,
    &super::digest::FUNCTIONS,
    &super::element::FUNCTIONS,
    &super::enumeration::FUNCTIONS,
    &super::hash::FUNCTIONS,
    &super::extension::FUNCTIONS,
    &super::array::FUNCTIONS,
    &super::network::FUNCTIONS,
    &super::json::FUNCTIONS,
    &super::json_build::FUNCTIONS,
    &super::size::FUNCTIONS,
    &super::system::FUNCTIONS,
    &super::system::ASKED,
    &super::catalog::FUNCTIONS,
];

const OPERATORS: &[&&[Function]] = &[
    &super::operator::INTEGER_OPERATORS,
    &super::operator::WIDTH_OPERATORS,
    &super::operator::FLOAT_OPERATORS,
    &super::operator::OTHER_OPERATORS,
    &super::comparison::OPERATORS,
    &super::pattern::OPERATORS,
    &super::datetime::OPERATORS,
    &super::array::OPERATORS,
    &super::network::OPERATORS,
    &super::json::OPERATORS,
];

fn index(tables: &'static [&&[Function]]) -> Index {
    let mut index = Index::new();
    for function in tables.iter().flat_map(|table| table.iter()) {
        index.entry(function.name).or_default().push(function);
    }
    index
}

static FUNCTION_INDEX: LazyLock<Index> = LazyLock::new(|| index(FUNCTIONS));
static OPERATOR_INDEX: LazyLock<Index> = LazyLock::new(|| index(OPERATORS));

/// Returns all functions of a value, without operators, aggregates and those that return sets.
pub fn all() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter().flat_map(|table| table.iter())
}

/// Returns all operators; one with one parameter stands before its operand.
pub fn operators() -> impl Iterator<Item = &'static Function> {
    OPERATORS.iter().flat_map(|table| table.iter())
}

/// Whether a function of a value, an aggregate, a window function or one that returns sets has the name.
pub fn exists(name: &str) -> bool {
    FUNCTION_INDEX.contains_key(name)
        || super::aggregate::exists(name)
        || super::set::exists(name)
        || super::window::exists(name)
}

fn list(types: &[Type]) -> String {
    types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ")
}

/// Why no candidate was chosen.
pub(super) enum Failure {
    None,
    Several,
}

pub(super) type Outcome<T> = std::result::Result<T, Failure>;

/// What candidates are chosen by.
pub(super) trait Overload: 'static {
    fn parameters(&self) -> &'static [Parameter];
    fn returns(&self) -> Returns;

    fn is_variadic(&self) -> bool {
        false
    }
}

impl Overload for Function {
    fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    fn returns(&self) -> Returns {
        self.returns
    }

    fn is_variadic(&self) -> bool {
        self.is_variadic
    }
}

/// The error of a call that means no function or several.
pub(super) fn function_error(failure: &Failure, name: &str, arguments: &[Type]) -> SqlError {
    let call = format!("function {name}({})", list(arguments));
    match failure {
        Failure::None => SqlError::new(SqlState::UndefinedFunction, format!("{call} does not exist")).with_hint(
            "No function matches the given name and argument types. You might need to add explicit type casts.",
        ),
        Failure::Several => SqlError::new(SqlState::AmbiguousFunction, format!("{call} is not unique"))
            .with_hint("Could not choose a best candidate function. You might need to add explicit type casts."),
    }
}

/// Finds the function that a call means.
///
/// # Errors
/// 42883 where no function fits, 42725 where several fit equally well.
pub fn resolve(name: &str, arguments: &[Type]) -> Result<Resolved> {
    let candidates = FUNCTION_INDEX.get(name).map_or(&[][..], Vec::as_slice);
    let chosen = choose(candidates, arguments, arguments).and_then(|function| finish(function, arguments));
    chosen.map_err(|failure| function_error(&failure, name, arguments))
}

/// Finds the operator that an expression means; without a `left` operand it stands before the other one.
///
/// # Errors
/// 42883 where no operator fits, 42725 where several fit equally well.
pub fn resolve_operator(symbol: &str, left: Option<Type>, right: Type) -> Result<Resolved> {
    let symbol = if symbol == "!=" { "<>" } else { symbol };
    let arguments: Vec<Type> = left.into_iter().chain([right]).collect();
    let candidates = OPERATOR_INDEX.get(symbol).map_or(&[][..], Vec::as_slice);

    // A literal is taken to be of the type of the other operand first.
    let exact = match arguments[..] {
        [Type::Unknown, right] => vec![right, right],
        [left, Type::Unknown] => vec![left, left],
        _ => arguments.clone(),
    };
    let chosen = choose(candidates, &exact, &arguments).and_then(|function| finish(function, &arguments));
    chosen.map_err(|failure| {
        let shown = match left {
            Some(left) => format!("{left} {symbol} {right}"),
            None => format!("{symbol} {right}"),
        };
        match failure {
            Failure::None => {
                let message = format!("operator does not exist: {shown}");
                let what = if left.is_some() { "types" } else { "type" };
                SqlError::new(SqlState::UndefinedFunction, message).with_hint(format!(
                    "No operator matches the given name and argument {what}. You might need to add \
                     {}.",
                    if left.is_some() { "explicit type casts" } else { "an explicit type cast" }
                ))
            }
            Failure::Several => SqlError::new(SqlState::AmbiguousFunction, format!("operator is not unique: {shown}"))
                .with_hint("Could not choose a best candidate operator. You might need to add explicit type casts."),
        }
    })
}

/// Returns what a function takes in a place.
fn parameter<F: Overload>(function: &F, place: usize) -> Parameter {
    function.parameters()[place.min(function.parameters().len() - 1)]
}

fn takes<F: Overload>(function: &F, count: usize) -> bool {
    let least = function.parameters().len();
    count == least || function.is_variadic() && count > least
}

fn coerces(from: Type, to: Type) -> bool {
    from == Type::Unknown || conversion(from, to) == Some(Conversion::Implicit)
}

/// Whether arguments can become what a function takes.
fn is_applicable<F: Overload>(function: &F, arguments: &[Type]) -> bool {
    let fits = |(place, argument): (usize, &Type)| match parameter(function, place) {
        Parameter::Exact(ty) => coerces(*argument, ty),
        _ => true,
    };
    takes(function, arguments.len())
        && arguments.iter().enumerate().all(fits)
        && polymorphic_element(function, arguments).is_some()
}

/// Returns what `AnyElement` stands for; `None` where the arguments do not agree. `Unknown`: nothing says it.
fn polymorphic_element<F: Overload>(function: &F, arguments: &[Type]) -> Option<Type> {
    let mut found = Type::Unknown;
    for (place, argument) in arguments.iter().enumerate().filter(|(_, argument)| **argument != Type::Unknown) {
        let element = match parameter(function, place) {
            Parameter::Exact(_) | Parameter::Any => continue,
            Parameter::AnyElement => *argument,
            Parameter::AnyNonArray if argument.element().is_none() => *argument,
            Parameter::AnyEnum if matches!(argument, Type::Enum(_)) => *argument,
            Parameter::AnyArray => argument.element()?,
            Parameter::AnyNonArray | Parameter::AnyEnum => return None,
        };
        if found != Type::Unknown && found != element {
            return None;
        }
        found = element;
    }
    Some(found)
}

/// Returns the types of arguments and result, with polymorphic types replaced by those of the arguments.
pub(super) fn signature<F: Overload>(function: &F, arguments: &[Type]) -> Outcome<(Vec<Type>, Type)> {
    let mut element = polymorphic_element(function, arguments).ok_or(Failure::None)?;
    if element == Type::Unknown {
        element = Type::Text;
    }
    let array = || element.array().ok_or(Failure::None);
    let concrete = |(place, argument): (usize, &Type)| {
        Ok(match parameter(function, place) {
            Parameter::Exact(ty) => ty,
            Parameter::Any if *argument == Type::Unknown => Type::Text,
            Parameter::Any => *argument,
            Parameter::AnyEnum if !matches!(element, Type::Enum(_)) => return Err(Failure::None),
            Parameter::AnyElement | Parameter::AnyNonArray | Parameter::AnyEnum => element,
            Parameter::AnyArray if argument.is_vector() => *argument,
            Parameter::AnyArray => array()?,
        })
    };
    let types = arguments.iter().enumerate().map(concrete).collect::<Outcome<Vec<_>>>()?;
    let returns = match function.returns() {
        Returns::Exact(ty) => ty,
        Returns::AnyElement => element,
        Returns::AnyArray => array()?,
    };
    Ok((types, returns))
}

fn finish(function: &'static Function, arguments: &[Type]) -> Outcome<Resolved> {
    let (arguments, returns) = signature(function, arguments)?;
    Ok(Resolved { function, arguments, returns })
}

/// Chooses a candidate. `exact` is what to look for first.
pub(super) fn choose<F: Overload>(
    candidates: &[&'static F],
    exact: &[Type],
    arguments: &[Type],
) -> Outcome<&'static F> {
    let is_exact = |function: &&&'static F| {
        function.parameters().len() == exact.len()
            && function.parameters().iter().zip(exact).all(|(parameter, ty)| *parameter == Parameter::Exact(*ty))
    };
    if let Some(function) = candidates.iter().find(is_exact) {
        return Ok(function);
    }
    let applicable = candidates.iter().copied().filter(|function| is_applicable(*function, arguments)).collect();
    let mut rest = best(applicable, |function| exact_matches(function, arguments));
    if rest.len() > 1 {
        rest = best(rest, |function| preferred_matches(function, arguments));
    }
    if rest.len() > 1 && arguments.contains(&Type::Unknown) {
        rest = by_category(rest, arguments);
    }
    if rest.len() > 1 {
        rest = by_known_type(rest, arguments);
    }
    match rest[..] {
        [] => Err(Failure::None),
        [function] => Ok(function),
        _ => Err(Failure::Several),
    }
}

/// Keeps those with the highest score.
fn best<F: Overload>(functions: Vec<&'static F>, score: impl Fn(&F) -> usize) -> Vec<&'static F> {
    let highest = functions.iter().map(|function| score(function)).max().unwrap_or(0);
    functions.into_iter().filter(|function| score(function) == highest).collect()
}

fn known(arguments: &[Type]) -> impl Iterator<Item = (usize, Type)> {
    arguments.iter().copied().enumerate().filter(|(_, argument)| *argument != Type::Unknown)
}

fn exact_matches<F: Overload>(function: &F, arguments: &[Type]) -> usize {
    known(arguments).filter(|(place, argument)| parameter(function, *place) == Parameter::Exact(*argument)).count()
}

fn preferred_matches<F: Overload>(function: &F, arguments: &[Type]) -> usize {
    let is_match = |(place, argument): &(usize, Type)| match parameter(function, *place) {
        Parameter::Exact(ty) => ty == *argument || ty.is_preferred() && ty.category() == argument.category(),
        _ => false,
    };
    known(arguments).filter(is_match).count()
}

fn category<F: Overload>(function: &F, place: usize) -> Category {
    match parameter(function, place) {
        Parameter::Exact(ty) => ty.category(),
        _ => Category::Pseudo,
    }
}

/// Chooses a category for each literal: strings where a candidate takes them, else the one that all candidates agree on.
fn by_category<F: Overload>(functions: Vec<&'static F>, arguments: &[Type]) -> Vec<&'static F> {
    let mut chosen = Vec::new();
    for place in (0..arguments.len()).filter(|place| arguments[*place] == Type::Unknown) {
        let mut categories = functions.iter().map(|function| category(*function, place));
        let first = category(functions[0], place);
        let wanted = if categories.clone().any(|category| category == Category::String) {
            Category::String
        } else if categories.all(|category| category == first) {
            first
        } else {
            return functions;
        };
        let is_preferred = |function: &F| match parameter(function, place) {
            Parameter::Exact(ty) => ty.is_preferred() && ty.category() == wanted,
            _ => false,
        };
        let has_preferred = functions.iter().any(|function| is_preferred(function));
        chosen.push((place, wanted, has_preferred));
    }
    let keeps = |function: &&&'static F| {
        chosen.iter().all(|(place, wanted, has_preferred)| match parameter(**function, *place) {
            Parameter::Exact(ty) => ty.category() == *wanted && (!has_preferred || ty.is_preferred()),
            _ => *wanted == Category::Pseudo,
        })
    };
    let kept: Vec<_> = functions.iter().filter(keeps).copied().collect();
    if kept.is_empty() { functions } else { kept }
}

/// Takes literals to be of the one type that all other arguments have.
fn by_known_type<F: Overload>(functions: Vec<&'static F>, arguments: &[Type]) -> Vec<&'static F> {
    let Some((_, first)) = known(arguments).next() else { return functions };
    if !arguments.contains(&Type::Unknown) || known(arguments).any(|(_, argument)| argument != first) {
        return functions;
    }
    let assumed = vec![first; arguments.len()];
    let kept: Vec<_> = functions.iter().copied().filter(|function| is_applicable(*function, &assumed)).collect();
    if kept.len() == 1 { kept } else { functions }
}
