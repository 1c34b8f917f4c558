//! Functions and operators of arrays.
//!
//! Invariant: arrays have one dimension, and their first element has number 1.

use super::argument::*;
use super::comparison::contains;
use super::{Call, functions};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Null};
use crate::error::{Result, SqlState};

functions! {
    /// Operators of arrays.
    OPERATORS:
    "@>" (AnyArray, AnyArray) -> Bool = |_, a| Ok(Bool(contains(&a[0], &a[1])));
    "<@" (AnyArray, AnyArray) -> Bool = |_, a| Ok(Bool(contains(&a[1], &a[0])));
    "&&" (AnyArray, AnyArray) -> Bool = |_, a| Ok(Bool(overlap(&a[0], &a[1])));
    "||" (AnyArray, AnyArray) -> AnyArray [lax] = |_, a| Ok(concatenated(a));
    "||" (AnyArray, AnyElement) -> AnyArray [lax] = |_, a| Ok(appended(&a[0], &a[1]));
    "||" (AnyElement, AnyArray) -> AnyArray [lax] = |_, a| Ok(prepended(&a[0], &a[1]));
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
    "array_append" (AnyArray, AnyElement) -> AnyArray [lax] = |_, a| Ok(appended(&a[0], &a[1]));
    "array_prepend" (AnyElement, AnyArray) -> AnyArray [lax] = |_, a| Ok(prepended(&a[0], &a[1]));
    "array_cat" (AnyArray, AnyArray) -> AnyArray [lax] = |_, a| Ok(concatenated(a));
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
            array(elements(value).iter().map(replaced).collect())
        }
    });
    "array_fill" (AnyElement, Int4) -> AnyArray [lax] = |_, a| Ok(array(vec![a[0].clone(); int(&a[1]).max(0) as usize]));
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
    "array_to_string" (AnyArray, Text) -> Text [stable] = |call, a| Ok(joined(call, a, None));
    "array_to_string" (AnyArray, Text, Text) -> Text [lax stable] = |call, a| {
        if a[0].is_null() || a[1].is_null() {
            return Ok(Null);
        }
        Ok(joined(call, a, (!a[2].is_null()).then(|| text(&a[2]))))
    };
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
    let second = elements(second);
    elements(first).iter().any(|element| !element.is_null() && second.contains(element))
}

/// Returns the elements, and none of an array that is NULL.
fn items(datum: &Datum) -> &[Datum] {
    if datum.is_null() { &[] } else { elements(datum) }
}

fn concatenated(a: &[Datum]) -> Datum {
    match (&a[0], &a[1]) {
        (Null, other) | (other, Null) => other.clone(),
        (first, second) => array([items(first), items(second)].concat()),
    }
}

fn appended(value: &Datum, element: &Datum) -> Datum {
    Datum::Array(items(value).iter().chain([element]).cloned().collect())
}

fn prepended(element: &Datum, value: &Datum) -> Datum {
    Datum::Array([element].into_iter().chain(items(value)).cloned().collect())
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

fn joined(call: &Call<'_>, a: &[Datum], null: Option<&str>) -> Datum {
    let element = call.types[0].element().unwrap_or(call.types[0]);
    let pieces = elements(&a[0]).iter().filter_map(|value| match value {
        Null => null.map(str::to_owned),
        value => Some(shown(call, value, element)),
    });
    Datum::text(pieces.collect::<Vec<_>>().join(text(&a[1])))
}
