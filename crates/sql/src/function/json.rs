//! Operators and functions that take JSON apart.
//!
//! A `json` is text: its members keep their order and their spelling. A `jsonb` is a tree.
//!
//! Absent: paths of SQL/JSON (`jsonpath`), and `json_populate_record` and its kin.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::argument::*;
use super::bound::{Pace, fits, trees_fit};
use super::{Call, functions};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Jsonb, Null};
use crate::error::{Result, SqlError, SqlState};
use crate::types::Type;
use crate::value::json;

functions! {
    /// Operators of JSON.
    OPERATORS:
    "->" (Json, Text) -> Json = |_, a| Ok(raw(text_member(text(&a[0]), text(&a[1]))));
    "->" (Json, Int4) -> Json = |_, a| Ok(raw(text_element(text(&a[0]), int(&a[1]))));
    "->>" (Json, Text) -> Text = |_, a| raw_text(text_member(text(&a[0]), text(&a[1])));
    "->>" (Json, Int4) -> Text = |_, a| raw_text(text_element(text(&a[0]), int(&a[1])));
    "#>" (Json, TextArray) -> Json = |_, a| Ok(raw(text_path(text(&a[0]), elements(&a[1]))));
    "#>>" (Json, TextArray) -> Text = |_, a| raw_text(text_path(text(&a[0]), elements(&a[1])));
    "->" (Jsonb, Text) -> Jsonb = |_, a| Ok(tree(value(&a[0]).as_object().and_then(|all| all.get(text(&a[1])))));
    "->" (Jsonb, Int4) -> Jsonb = |_, a| Ok(tree(element(value(&a[0]), int(&a[1]))));
    "->>" (Jsonb, Text) -> Text = |call, a| {
        Ok(as_text(call, value(&a[0]).as_object().and_then(|all| all.get(text(&a[1])))))
    };
    "->>" (Jsonb, Int4) -> Text = |call, a| Ok(as_text(call, element(value(&a[0]), int(&a[1]))));
    "#>" (Jsonb, TextArray) -> Jsonb = |_, a| Ok(tree(path(value(&a[0]), elements(&a[1]))));
    "#>>" (Jsonb, TextArray) -> Text = |call, a| Ok(as_text(call, path(value(&a[0]), elements(&a[1]))));
    "@>" (Jsonb, Jsonb) -> Bool = |call, a| {
        contains(value(&a[0]), value(&a[1]), true, &mut Pace::of(call)).map(Bool)
    };
    "<@" (Jsonb, Jsonb) -> Bool = |call, a| {
        contains(value(&a[1]), value(&a[0]), true, &mut Pace::of(call)).map(Bool)
    };
    "?" (Jsonb, Text) -> Bool = |_, a| Ok(Bool(has_key(value(&a[0]), &a[1])));
    "?|" (Jsonb, TextArray) -> Bool = |call, a| has_keys(call, value(&a[0]), elements(&a[1]), false);
    "?&" (Jsonb, TextArray) -> Bool = |call, a| has_keys(call, value(&a[0]), elements(&a[1]), true);
    "||" (Jsonb, Jsonb) -> Jsonb = |_, a| {
        trees_fit(&[value(&a[0]), value(&a[1])])?;
        Ok(Jsonb(Arc::new(concatenated(value(&a[0]), value(&a[1])))))
    };
    "-" (Jsonb, Text) -> Jsonb = |_, a| without_keys(value(&a[0]), std::slice::from_ref(&a[1]));
    "-" (Jsonb, TextArray) -> Jsonb = |_, a| without_keys(value(&a[0]), elements(&a[1]));
    "-" (Jsonb, Int4) -> Jsonb = |_, a| without_element(value(&a[0]), int(&a[1]));
    "#-" (Jsonb, TextArray) -> Jsonb = |_, a| {
        let mut changed = value(&a[0]).clone();
        remove_path(&mut changed, elements(&a[1]));
        Ok(Jsonb(Arc::new(changed)))
    };
}

functions! {
    /// Functions of JSON.
    FUNCTIONS:
    "json_typeof" (Json) -> Text = |_, a| Ok(Datum::text(type_name(&parsed(text(&a[0]))?)));
    "jsonb_typeof" (Jsonb) -> Text = |_, a| Ok(Datum::text(type_name(value(&a[0]))));
    "json_array_length" (Json) -> Int4 = |_, a| array_length(&parsed(text(&a[0]))?);
    "jsonb_array_length" (Jsonb) -> Int4 = |_, a| array_length(value(&a[0]));
    "json_extract_path" (Json, Text) -> Json [variadic] = |_, a| Ok(raw(text_path(text(&a[0]), &a[1..])));
    "json_extract_path_text" (Json, Text) -> Text [variadic] = |_, a| raw_text(text_path(text(&a[0]), &a[1..]));
    "jsonb_extract_path" (Jsonb, Text) -> Jsonb [variadic] = |_, a| Ok(tree(path(value(&a[0]), &a[1..])));
    "jsonb_extract_path_text" (Jsonb, Text) -> Text [variadic] = |call, a| Ok(as_text(call, path(value(&a[0]), &a[1..])));
    "jsonb_set" (Jsonb, TextArray, Jsonb) -> Jsonb = |_, a| changed(a, true, Change::Set);
    "jsonb_set" (Jsonb, TextArray, Jsonb, Bool) -> Jsonb = |_, a| changed(a, boolean(&a[3]), Change::Set);
    "jsonb_insert" (Jsonb, TextArray, Jsonb) -> Jsonb = |_, a| changed(a, true, Change::InsertBefore);
    "jsonb_insert" (Jsonb, TextArray, Jsonb, Bool) -> Jsonb = |_, a| {
        changed(a, true, if boolean(&a[3]) { Change::InsertAfter } else { Change::InsertBefore })
    };
    "jsonb_strip_nulls" (Jsonb) -> Jsonb = |_, a| {
        let mut stripped = value(&a[0]).clone();
        strip_nulls(&mut stripped);
        Ok(Jsonb(Arc::new(stripped)))
    };
    "json_strip_nulls" (Json) -> Json = |_, a| {
        let mut stripped = parsed(text(&a[0]))?;
        strip_nulls(&mut stripped);
        Ok(Datum::text(stripped.to_string()))
    };
    "jsonb_pretty" (Jsonb) -> Text = |_, a| {
        let mut out = String::new();
        push_pretty(value(&a[0]), 0, &mut out)?;
        Ok(Datum::text(out))
    };
}

fn value(datum: &Datum) -> &Value {
    match datum {
        Jsonb(value) => value,
        _ => panic!("a function was given {datum:?} in place of a jsonb"),
    }
}

fn parsed(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|_| malformed())
}

#[cold]
fn malformed() -> SqlError {
    error(SqlState::InvalidTextRepresentation, "invalid input syntax for type json")
}

/// Collects the members of an object as they were written.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

/// Returns the members of an object; `None` for anything else.
fn members(text: &str) -> Option<Vec<(String, &RawValue)>> {
    serde_json::Deserializer::from_str(text).deserialize_map(Members).ok()
}

fn items(text: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(text).ok()
}

fn text_member<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    members(text)?.into_iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.get())
}

/// Returns the place of an element; negative numbers count from the end.
fn place(index: i64, length: usize) -> Option<usize> {
    let place = if index < 0 { index + length as i64 } else { index };
    usize::try_from(place).ok().filter(|place| *place < length)
}

fn text_element(text: &str, index: i64) -> Option<&str> {
    let items = items(text)?;
    Some(items[place(index, items.len())?].get())
}

fn text_path<'a>(text: &'a str, path: &[Datum]) -> Option<&'a str> {
    path.iter().try_fold(text, |at, step| {
        let Datum::Text(step) = step else { return None };
        if at.trim_start().starts_with('[') { text_element(at, step.parse().ok()?) } else { text_member(at, step) }
    })
}

fn raw(found: Option<&str>) -> Datum {
    found.map_or(Null, Datum::text)
}

/// Returns a piece of JSON as text: a string without its quotes, `null` as NULL.
fn raw_text(found: Option<&str>) -> Result<Datum> {
    Ok(match found.map(str::trim) {
        None | Some("null") => Null,
        Some(text) if text.starts_with('"') => match serde_json::from_str::<String>(text) {
            Ok(text) => {
                json::check_text(&text)?;
                Datum::text(text)
            }
            Err(_) => Null,
        },
        Some(text) => Datum::text(text),
    })
}

fn element(value: &Value, index: i64) -> Option<&Value> {
    let all = value.as_array()?;
    all.get(place(index, all.len())?)
}

fn path<'a>(value: &'a Value, path: &[Datum]) -> Option<&'a Value> {
    path.iter().try_fold(value, |at, step| {
        let Datum::Text(step) = step else { return None };
        match at {
            Value::Object(all) => all.get(&**step),
            Value::Array(_) => element(at, step.parse().ok()?),
            _ => None,
        }
    })
}

fn tree(found: Option<&Value>) -> Datum {
    found.map_or(Null, |value| Jsonb(Arc::new(value.clone())))
}

fn as_text(call: &Call<'_>, found: Option<&Value>) -> Datum {
    match found {
        None | Some(Value::Null) => Null,
        Some(Value::String(text)) => Datum::text(text.as_str()),
        Some(value) => Datum::text(shown(call, &Jsonb(Arc::new(value.clone())), Type::Jsonb)),
    }
}

fn contains(outer: &Value, inner: &Value, is_top: bool, pace: &mut Pace<'_>) -> Result<bool> {
    /// What a comparison counts as work.
    const WORK: usize = 32;
    pace.step(WORK)?;
    match (outer, inner) {
        (Value::Object(outer), Value::Object(inner)) => {
            for (key, value) in inner {
                let Some(other) = outer.get(key) else { return Ok(false) };
                if !contains(other, value, false, pace)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Array(outer), Value::Array(inner)) => {
            for value in inner {
                let mut is_there = false;
                for other in outer {
                    is_there = contains(other, value, false, pace)?;
                    if is_there {
                        break;
                    }
                }
                if !is_there {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Array(outer), scalar) if is_top && !scalar.is_object() => Ok(outer.contains(scalar)),
        _ => Ok(crate::value::json::compare(outer, inner).is_eq()),
    }
}

/// Whether it has some of these keys, or all.
fn has_keys(call: &Call<'_>, value: &Value, keys: &[Datum], is_all: bool) -> Result<Datum> {
    let mut pace = Pace::of(call);
    for key in keys.iter().filter(|key| !key.is_null()) {
        pace.step(value.as_array().map_or(1, Vec::len))?;
        if has_key(value, key) != is_all {
            return Ok(Bool(!is_all));
        }
    }
    Ok(Bool(is_all))
}

fn has_key(value: &Value, key: &Datum) -> bool {
    let Datum::Text(key) = key else { return false };
    match value {
        Value::Object(all) => all.contains_key(&**key),
        Value::Array(all) => all.iter().any(|element| element.as_str() == Some(key)),
        Value::String(text) => **text == **key,
        _ => false,
    }
}

fn concatenated(first: &Value, second: &Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (first, second) {
        return Value::Object(first.iter().chain(second).map(|(key, value)| (key.clone(), value.clone())).collect());
    }
    let items = |value: &Value| match value {
        Value::Array(items) => items.clone(),
        other => vec![other.clone()],
    };
    Value::Array([items(first), items(second)].concat())
}

fn without_keys(value: &Value, keys: &[Datum]) -> Result<Datum> {
    let removed = keys.iter().filter_map(|key| match key {
        Datum::Text(key) => Some(&**key),
        _ => None,
    });
    let removed: HashSet<&str> = removed.collect();
    let is_kept = |name: &str| !removed.contains(name);
    let mut changed = value.clone();
    match &mut changed {
        Value::Object(all) => all.retain(|key, _| is_kept(key)),
        Value::Array(all) => all.retain(|element| element.as_str().is_none_or(is_kept)),
        _ => return Err(invalid("cannot delete from scalar")),
    }
    Ok(Jsonb(Arc::new(changed)))
}

fn without_element(value: &Value, index: i64) -> Result<Datum> {
    let mut changed = value.clone();
    match &mut changed {
        Value::Array(all) => {
            if let Some(place) = place(index, all.len()) {
                all.remove(place);
            }
        }
        Value::Object(_) => return Err(invalid("cannot delete from object using integer index")),
        _ => return Err(invalid("cannot delete from scalar")),
    }
    Ok(Jsonb(Arc::new(changed)))
}

/// Returns the parent of what a path leads to.
fn parent<'a>(value: &'a mut Value, path: &[Datum]) -> Option<&'a mut Value> {
    let mut at = value;
    for step in path {
        let Datum::Text(step) = step else { return None };
        at = match at {
            Value::Object(all) => all.get_mut(&**step)?,
            Value::Array(all) => {
                let place = place(step.parse().ok()?, all.len())?;
                all.get_mut(place)?
            }
            _ => return None,
        };
    }
    Some(at)
}

fn remove_path(value: &mut Value, path: &[Datum]) {
    let Some((Datum::Text(last), steps)) = path.split_last() else { return };
    match parent(value, steps) {
        Some(Value::Object(all)) => {
            all.remove(&**last);
        }
        Some(Value::Array(all)) => {
            if let Some(place) = last.parse().ok().and_then(|index| place(index, all.len())) {
                all.remove(place);
            }
        }
        _ => {}
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Change {
    Set,
    InsertBefore,
    InsertAfter,
}

/// Sets or inserts what a path leads to.
fn changed(a: &[Datum], may_create: bool, change: Change) -> Result<Datum> {
    let mut changed = value(&a[0]).clone();
    if !changed.is_object() && !changed.is_array() {
        return Err(invalid("cannot set path in scalar"));
    }
    trees_fit(&[&changed, value(&a[2])])?;
    let new = value(&a[2]).clone();
    let Some((Datum::Text(last), steps)) = elements(&a[1]).split_last() else { return Ok(a[0].clone()) };
    match parent(&mut changed, steps) {
        Some(Value::Object(all)) => {
            let is_known = all.contains_key(&**last);
            if is_known && change != Change::Set {
                return Err(invalid("cannot replace existing key")
                    .with_hint("Try using the function jsonb_set to replace key value."));
            }
            if is_known || may_create {
                all.insert(last.to_string(), new);
            }
        }
        Some(Value::Array(all)) => {
            let index: i64 = last.parse().map_err(|_| {
                let message = format!("path element at position {} is not an integer: \"{last}\"", steps.len() + 1);
                error(SqlState::InvalidTextRepresentation, message)
            })?;
            match (place(index, all.len()), change) {
                (Some(place), Change::Set) => all[place] = new,
                (Some(place), Change::InsertBefore) => all.insert(place, new),
                (Some(place), Change::InsertAfter) => all.insert(place + 1, new),
                (None, _) if may_create && index < 0 => all.insert(0, new),
                (None, _) if may_create => all.push(new),
                (None, _) => {}
            }
        }
        _ => {}
    }
    Ok(Jsonb(Arc::new(changed)))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn array_length(value: &Value) -> Result<Datum> {
    match value {
        Value::Array(all) => Ok(Int(all.len() as i64)),
        Value::Object(_) => Err(invalid("cannot get array length of a non-array")),
        _ => Err(invalid("cannot get array length of a scalar")),
    }
}

fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(all) => {
            all.retain(|_, member| !member.is_null());
            all.values_mut().for_each(strip_nulls);
        }
        Value::Array(all) => all.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}

/// Appends a tree with one member or element a line.
///
/// # Errors
/// 54000 where there is too much of it.
fn push_pretty(value: &Value, depth: usize, out: &mut String) -> Result<()> {
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', depth * 4));
        fits(out.len())
    };
    match value {
        Value::Object(all) => {
            out.push('{');
            for (place, (key, member)) in sorted(all).into_iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                line(depth + 1, out)?;
                out.push_str(&Value::String(key.clone()).to_string());
                out.push_str(": ");
                push_pretty(member, depth + 1, out)?;
            }
            line(depth, out)?;
            out.push('}');
        }
        Value::Array(all) => {
            out.push('[');
            for (place, element) in all.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                line(depth + 1, out)?;
                push_pretty(element, depth + 1, out)?;
            }
            line(depth, out)?;
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
    Ok(())
}

/// Returns the members in the order of `jsonb`: short keys first.
pub(super) fn sorted(all: &serde_json::Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = all.iter().collect();
    members.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
    members
}

#[cold]
fn no_array(function: &str, text: &str) -> SqlError {
    let what = if text.trim_start().starts_with('{') { "a non-array" } else { "a scalar" };
    invalid(format!("cannot {function} {what}"))
}

/// Returns the elements of a `json`.
pub(super) fn text_elements(text: &str, as_text: bool) -> Result<Vec<Datum>> {
    let items = items(text).ok_or_else(|| no_array("extract elements from", text))?;
    items.iter().map(|item| if as_text { raw_text(Some(item.get())) } else { Ok(raw(Some(item.get()))) }).collect()
}

#[cold]
fn no_object(function: &str) -> SqlError {
    invalid(format!("cannot call {function} on a non-object"))
}

/// Returns the members of a `json` as rows of key and value.
pub(super) fn text_pairs(text: &str, as_text: bool) -> Result<Vec<Datum>> {
    let members = members(text).ok_or_else(|| no_object(if as_text { "json_each_text" } else { "json_each" }))?;
    let pair = |(key, value): (String, &RawValue)| {
        let value = if as_text { raw_text(Some(value.get()))? } else { raw(Some(value.get())) };
        Ok(Datum::record(vec![Datum::text(key), value]))
    };
    members.into_iter().map(pair).collect()
}

/// Returns the keys of a `json`.
pub(super) fn text_keys(text: &str) -> Result<Vec<Datum>> {
    let members = members(text).ok_or_else(|| no_object("json_object_keys"))?;
    Ok(members.into_iter().map(|(key, _)| Datum::text(key)).collect())
}

/// Returns the elements of a `jsonb`.
pub(super) fn elements_of(call: &Call<'_>, datum: &Datum, is_text: bool) -> Result<Vec<Datum>> {
    match value(datum) {
        Value::Array(all) => {
            Ok(all.iter().map(|item| if is_text { as_text(call, Some(item)) } else { tree(Some(item)) }).collect())
        }
        Value::Object(_) => Err(invalid("cannot extract elements from an object")),
        _ => Err(invalid("cannot extract elements from a scalar")),
    }
}

/// Returns the members of a `jsonb` as rows of key and value.
pub(super) fn pairs_of(call: &Call<'_>, datum: &Datum, is_text: bool) -> Result<Vec<Datum>> {
    let name = if is_text { "jsonb_each_text" } else { "jsonb_each" };
    let all = value(datum).as_object().ok_or_else(|| no_object(name))?;
    let pair = |(key, member): (&String, &Value)| {
        let member = if is_text { as_text(call, Some(member)) } else { tree(Some(member)) };
        Datum::record(vec![Datum::text(key.as_str()), member])
    };
    Ok(sorted(all).into_iter().map(pair).collect())
}

/// Returns the keys of a `jsonb`.
pub(super) fn keys_of(datum: &Datum) -> Result<Vec<Datum>> {
    let all = value(datum).as_object().ok_or_else(|| no_object("jsonb_object_keys"))?;
    Ok(sorted(all).into_iter().map(|(key, _)| Datum::text(key.as_str())).collect())
}
