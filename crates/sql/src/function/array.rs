//! Functions and operators of arrays.
//!
//! Invariant: arrays have one dimension, and their first element has number 1.

use std::collections::HashSet;

use super::argument::*;
use super::bound::fits;
use super::comparison::{FEW_COMPARISONS, contains};
use super::{Call, functions};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Null};
use crate::error::{Result, SqlState};
use crate::run::{datum_bytes, row_bytes};

functions! {
    /// Operators of arrays.
    OPERATORS:
    "@>" (AnyArray, AnyArray) -> Bool = |_, a| Ok(Bool(contains(&a[0], &a[1])));
    "<@" (AnyArray, AnyArray) -> Bool = |_, a| Ok(Bool(contains(&a[1], &a[0])));
    "&&" (AnyArray, AnyArray) -> Bool = |_, a| Ok(Bool(overlap(&a[0], &a[1])));
    "||" (AnyArray, AnyArray) -> AnyArray [lax] = |_, a| concatenated(a);
    "||" (AnyArray, AnyElement) -> AnyArray [lax] = |_, a| appended(&a[0], &a[1]);
    "||" (AnyElement, AnyArray) -> AnyArray [lax] = |_, a| prepended(&a[0], &a[1]);
}

functions! {
    /// Functions of arrays.
    FUNCTIONS:
    "array_length" (AnyArray, Int4) -> Int4 = |_, a| Ok(bound(a, 0));
    "array_upper" (AnyArray, Int4) -> Int4 = |call, a| Ok(bound(a, first(call) - 1));
    "array_lower" (AnyArray, Int4) -> Int4 = |call, a| {
        Ok(if bound(a, 0).is_null() { Null } else { Int(first(call)) })
    };
    "array_ndims" (AnyArray) -> Int4 = |_, a| Ok(if elements(&a[0]).is_empty() { Null } else { Int(1) });
    "array_dims" (AnyArray) -> Text = |_, a| Ok(match elements(&a[0]).len() {
        0 => Null,
        length => Datum::text(format!("[1:{length}]")),
    });
    "cardinality" (AnyArray) -> Int4 = |_, a| Ok(Int(elements(&a[0]).len() as i64));
    "array_append" (AnyArray, AnyElement) -> AnyArray [lax] = |_, a| appended(&a[0], &a[1]);
    "array_prepend" (AnyElement, AnyArray) -> AnyArray [lax] = |_, a| prepended(&a[0], &a[1]);
    "array_cat" (AnyArray, AnyArray) -> AnyArray [lax] = |_, a| concatenated(a);
    "array_position" (AnyArray, AnyElement) -> Int4 [lax] = |call, a| {
        position(&a[0], &a[1], &Int(first(call)), first(call))
    };
    "array_position" (AnyArray, AnyElement, Int4) -> Int4 [lax] = |call, a| {
        position(&a[0], &a[1], &a[2], first(call))
    };
    "array_positions" (AnyArray, AnyElement) -> Int4Array [lax] = |_, a| Ok(match &a[0] {
        Null => Null,
        value => array(positions(value, &a[1]).map(Int).collect()),
    });
    "array_remove" (AnyArray, AnyElement) -> AnyArray [lax] = |_, a| Ok(match &a[0] {
        Null => Null,
        value => array(elements(value).iter().filter(|element| **element != a[1]).cloned().collect()),
    });
    "array_replace" (AnyArray, AnyElement, AnyElement) -> AnyArray [lax] = |_, a| Ok(match &a[0] {
        Null => Null,
        value => {
            let replaced = |element: &Datum| if *element == a[1] { a[2].clone() } else { element.clone() };
            let replaced: Vec<Datum> = elements(value).iter().map(replaced).collect();
            fits(row_bytes(&replaced))?;
            array(replaced)
        }
    });
    "array_fill" (AnyElement, Int4Array) -> AnyArray [lax] = |_, a| filled(&a[0], &a[1]);
    "num_nulls" (Any) -> Int4 [lax variadic] = |_, a| {
        Ok(Int(a.iter().filter(|value| value.is_null()).count() as i64))
    };
    "num_nonnulls" (Any) -> Int4 [lax variadic] = |_, a| {
        Ok(Int(a.iter().filter(|value| !value.is_null()).count() as i64))
    };
    "trim_array" (AnyArray, Int4) -> AnyArray = |_, a| {
        let (all, count) = (elements(&a[0]), int(&a[1]));
        match usize::try_from(count).ok().and_then(|count| all.len().checked_sub(count)) {
            Some(kept) => Ok(array(all[..kept].to_vec())),
            None => Err(error(
                SqlState::ArraySubscriptError,
                format!("number of elements to trim must be between 0 and {}", all.len()),
            )),
        }
    };
    "array_to_string" (AnyArray, Text) -> Text [stable] = |call, a| joined(call, a, None);
    "array_to_string" (AnyArray, Text, Text) -> Text [lax stable] = |call, a| {
        if a[0].is_null() || a[1].is_null() {
            return Ok(Null);
        }
        joined(call, a, (!a[2].is_null()).then(|| text(&a[2])))
    };
}

/// An array of one value, as long as the only one of `lengths` says.
fn filled(value: &Datum, lengths: &Datum) -> Result<Datum> {
    let length = match lengths {
        Null => None,
        lengths => match &elements(lengths)[..] {
            [] => return Ok(array(Vec::new())),
            [length] => Some(length).filter(|length| !length.is_null()),
            _ => return Err(crate::SqlError::unsupported("an array of several dimensions")),
        },
    };
    let Some(length) = length else {
        return Err(error(SqlState::NullValueNotAllowed, "dimension values cannot be null"));
    };
    let Ok(count) = usize::try_from(int(length)) else {
        return Err(error(SqlState::ProgramLimitExceeded, "the length of an array must not be negative"));
    };
    fits(count.saturating_mul(datum_bytes(value)))?;
    Ok(array(vec![value.clone(); count]))
}

/// The subscript of the first element.
pub(super) fn first(call: &Call<'_>) -> i64 {
    if call.types[0].is_vector() { 0 } else { 1 }
}

fn bound(a: &[Datum], shift: i64) -> Datum {
    let length = elements(&a[0]).len() as i64;
    if int(&a[1]) == 1 && length > 0 { Int(length + shift) } else { Null }
}

fn overlap(first: &Datum, second: &Datum) -> bool {
    let (first, second) = (elements(first), elements(second));
    if first.len().saturating_mul(second.len()) <= FEW_COMPARISONS {
        return first.iter().any(|element| !element.is_null() && second.contains(element));
    }
    let second: HashSet<&Datum> = second.iter().collect();
    first.iter().any(|element| !element.is_null() && second.contains(element))
}

/// Returns the elements, and none of an array that is NULL.
fn items(datum: &Datum) -> &[Datum] {
    if datum.is_null() { &[] } else { elements(datum) }
}

fn concatenated(a: &[Datum]) -> Result<Datum> {
    match (&a[0], &a[1]) {
        (Null, other) | (other, Null) => Ok(other.clone()),
        (first, second) => {
            fits(datum_bytes(first) + datum_bytes(second))?;
            Ok(array([items(first), items(second)].concat()))
        }
    }
}

fn appended(value: &Datum, element: &Datum) -> Result<Datum> {
    fits(datum_bytes(value) + datum_bytes(element))?;
    Ok(Datum::Array(items(value).iter().chain([element]).cloned().collect()))
}

fn prepended(element: &Datum, value: &Datum) -> Result<Datum> {
    fits(datum_bytes(value) + datum_bytes(element))?;
    Ok(Datum::Array([element].into_iter().chain(items(value)).cloned().collect()))
}

/// Returns the numbers of the elements that are a value, or NULL where it is NULL.
fn positions<'a>(value: &'a Datum, wanted: &'a Datum) -> impl Iterator<Item = i64> + 'a {
    elements(value).iter().zip(1..).filter(move |(element, _)| *element == wanted).map(|(_, position)| position)
}

fn position(value: &Datum, wanted: &Datum, from: &Datum, first: i64) -> Result<Datum> {
    if from.is_null() {
        return Err(error(SqlState::NullValueNotAllowed, "initial position must not be null"));
    }
    if value.is_null() {
        return Ok(Null);
    }
    let mut found = positions(value, wanted).map(|position| position + first - 1);
    Ok(found.find(|position| *position >= int(from)).map_or(Null, Int))
}

fn joined(call: &Call<'_>, a: &[Datum], null: Option<&str>) -> Result<Datum> {
    let element = call.types[0].element().unwrap_or(call.types[0]);
    let (mut out, mut is_first) = (String::new(), true);
    for value in elements(&a[0]).iter() {
        let made;
        let piece = match value {
            Null => null,
            Datum::Text(piece) => Some(&**piece),
            value => {
                made = shown(call, value, element);
                Some(&*made)
            }
        };
        let Some(piece) = piece else { continue };
        let separator = if is_first { "" } else { text(&a[1]) };
        fits(out.len() + separator.len() + piece.len())?;
        out.push_str(separator);
        out.push_str(piece);
        is_first = false;
    }
    Ok(Datum::text(out))
}
