//! Elements of arrays and of `jsonb` that are assigned. No statement can call these functions
//! ([`is_internal`](super::is_internal)): they are given a path that is an array, and whether it begins with a number.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::argument::*;
use super::bound::fits;
use super::functions;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::value::json::{LEVELS_MAX, levels};

functions! {
    /// Values with one element changed.
    FUNCTIONS:
    "array element set" (AnyArray, Int4, AnyElement) -> AnyArray [lax] = |_, a| array_element_set(a);
    "jsonb element set" (Jsonb, TextArray, Jsonb, Bool) -> Jsonb [lax] = |_, a| jsonb_element_set(a);
}

fn null_subscript(what: &str) -> SqlError {
    error(SqlState::NullValueNotAllowed, format!("{what} subscript in assignment must not be null"))
}

/// Puts a value at a place of an array; between it and the last one are NULLs.
fn array_element_set(a: &[Datum]) -> Result<Datum> {
    if a[1].is_null() {
        return Err(null_subscript("array"));
    }
    let before = if a[0].is_null() { &[][..] } else { elements(&a[0]) };
    let place = usize::try_from(int(&a[1]) - 1).ok().filter(|place| *place == 0 || !before.is_empty());
    let Some(place) = place else {
        return Err(SqlError::unsupported("an array whose first element has another number than 1"));
    };
    let length = before.len().max(place + 1);
    fits(length.saturating_mul(size_of::<Datum>()))?;
    let mut after = Vec::with_capacity(length);
    after.extend_from_slice(before);
    after.resize(length, Datum::Null);
    after[place] = a[2].clone();
    Ok(Datum::Array(after.into()))
}

/// Puts a value where a path leads to, and makes the way there.
fn jsonb_element_set(a: &[Datum]) -> Result<Datum> {
    let path = elements(&a[1]);
    let steps = path.iter().map(|step| if let Datum::Text(step) = step { Some(&**step) } else { None });
    let steps = steps.collect::<Option<Vec<_>>>().ok_or_else(|| null_subscript("jsonb"))?;
    let mut value = match &a[0] {
        Datum::Jsonb(value) => Value::clone(value),
        _ if boolean(&a[3]) => Value::Array(Vec::new()),
        _ => Value::Object(Map::new()),
    };
    let new = if let Datum::Jsonb(new) = &a[2] { Value::clone(new) } else { Value::Null };
    if steps.len() + levels(&new) > LEVELS_MAX {
        return Err(error(SqlState::StatementTooComplex, format!("a jsonb has up to {LEVELS_MAX} levels")));
    }
    let (mut at, mut is_made) = (&mut value, false);
    for number in 0..steps.len() {
        (at, is_made) = descend(at, is_made, &steps, number)?;
    }
    *at = new;
    Ok(Datum::Jsonb(Arc::new(value)))
}

/// The member or element that a step of a path leads to, and whether it was made, because there was none. `is_made`: so was what
/// it is in.
fn descend<'v>(at: &'v mut Value, is_made: bool, steps: &[&str], number: usize) -> Result<(&'v mut Value, bool)> {
    let step = steps[number];
    let position = number + 1;
    // What is made is what the step behind it asks for.
    let made = || match steps.get(position) {
        Some(next) if next.parse::<i32>().is_ok() => Value::Array(Vec::new()),
        Some(_) => Value::Object(Map::new()),
        None => Value::Null,
    };
    match at {
        Value::Object(members) => {
            let is_new = !members.contains_key(step);
            Ok((members.entry(step).or_insert_with(made), is_new))
        }
        Value::Array(all) => {
            let index: i32 = step.parse().map_err(|_| {
                let message = format!("path element at position {position} is not an integer: \"{step}\"");
                error(SqlState::InvalidTextRepresentation, message)
            })?;
            let place = if index < 0 { i64::from(index) + all.len() as i64 } else { index.into() };
            let place = usize::try_from(if is_made { place.max(0) } else { place }).map_err(|_| {
                let message = format!("path element at position {position} is out of range: {index}");
                error(SqlState::InvalidParameterValue, message)
            })?;
            let is_new = place >= all.len();
            if is_new {
                fits(place.saturating_mul(size_of::<Value>()))?;
                all.resize(place, Value::Null);
                all.push(made());
            }
            Ok((&mut all[place], is_new))
        }
        _ => Err(error(SqlState::InvalidParameterValue, "cannot replace existing key")
            .with_detail("The path assumes key is a composite object, but it is a scalar value.")),
    }
}
