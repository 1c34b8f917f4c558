//! Functions that make JSON of other values.
//!
//! Fields of a row that has no names for them are called `f1`, `f2`, and so on.

use std::sync::Arc;

use super::argument::*;
use super::bound::fits;
use super::{Call, functions};
use crate::datum::Datum;
use crate::error::{Result, SqlState};
use crate::record::Record;
use crate::settings::Settings;
use crate::types::{Declared, Type};
use crate::value::array::field_type;
use crate::value::datetime;

functions! {
    /// Functions that make JSON.
    FUNCTIONS:
    "json_build_object" () -> Json [stable] = |_, _| Ok(Datum::text("{}"));
    "json_build_object" (Any) -> Json [lax stable variadic] = |call, a| object(call, a, false);
    "jsonb_build_object" () -> Jsonb [stable] = |_, _| made("{}".to_owned(), true);
    "jsonb_build_object" (Any) -> Jsonb [lax stable variadic] = |call, a| object(call, a, true);
    "json_build_array" () -> Json [stable] = |_, _| Ok(Datum::text("[]"));
    "json_build_array" (Any) -> Json [lax stable variadic] = |call, a| list(call, a, false);
    "jsonb_build_array" () -> Jsonb [stable] = |_, _| made("[]".to_owned(), true);
    "jsonb_build_array" (Any) -> Jsonb [lax stable variadic] = |call, a| list(call, a, true);
    "to_json" (AnyElement) -> Json [stable] = |call, a| one(call, a, false);
    "to_jsonb" (AnyElement) -> Jsonb [stable] = |call, a| one(call, a, true);
    "row_to_json" (Record) -> Json [stable] = |call, a| one(call, a, false);
    "array_to_json" (AnyArray) -> Json [stable] = |call, a| one(call, a, false);
}

/// Turns text that was made here into a `json` or a `jsonb`.
pub(super) fn made(text: String, is_binary: bool) -> Result<Datum> {
    if !is_binary {
        return Ok(Datum::text(text));
    }
    crate::value::json::check_size(&text)?;
    let tree = serde_json::from_str(&text);
    let fault = |_| error(SqlState::InvalidTextRepresentation, "invalid input syntax for type json");
    tree.map(|tree| Datum::Jsonb(Arc::new(tree))).map_err(fault)
}

/// Appends a string in quotes.
fn push_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
}

fn shown_text(value: &Datum, declared: Declared, settings: &Settings) -> String {
    let ty = declared.ty;
    let mut text = Vec::new();
    // JSON has times in one style, whatever is set.
    match value {
        Datum::Date(days) => datetime::push_date(*days, &mut text),
        Datum::Timestamp(us) if ty == Type::Timestamp => datetime::push_timestamp(*us, &mut text),
        Datum::Timestamp(us) => datetime::push_timestamptz(*us, &settings.time_zone, &mut text),
        value => crate::value::push_text(value, declared, settings, &mut text),
    }
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if matches!(ty, Type::Timestamp | Type::Timestamptz) && !text.ends_with("infinity") {
        text = text.replacen(' ', "T", 1);
        let has_minutes = text.rfind(['+', '-']).is_some_and(|at| text[at..].contains(':'));
        if ty == Type::Timestamptz && !has_minutes {
            text.push_str(":00");
        }
    }
    text
}

/// Appends a value as JSON.
///
/// # Errors
/// 54000 where there is too much of it.
pub(super) fn push_json(value: &Datum, declared: Declared, settings: &Settings, out: &mut String) -> Result<()> {
    let ty = declared.ty;
    match (value, ty) {
        (Datum::Null, _) => out.push_str("null"),
        (Datum::Bool(value), _) => out.push_str(if *value { "true" } else { "false" }),
        (Datum::Array(values), _) => {
            let element = ty.element().unwrap_or(Type::Text);
            out.push('[');
            for (place, value) in values.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                push_json(value, Declared { ty: element, ..declared }, settings, out)?;
            }
            out.push(']');
        }
        (Datum::Record(record), _) => push_object(record, settings, out)?,
        (_, Type::Json | Type::Jsonb) => out.push_str(&shown_text(value, declared, settings)),
        (Datum::Int(_) | Datum::Numeric(_) | Datum::Float(_), _) => {
            let text = shown_text(value, declared, settings);
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
            if is_number { out.push_str(&text) } else { push_string(&text, out) }
        }
        _ => push_string(&shown_text(value, declared, settings), out),
    }
    fits(out.len())
}

/// Appends a row.
fn push_object(record: &Record, settings: &Settings, out: &mut String) -> Result<()> {
    out.push('{');
    for (at, value) in record.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        match record.row_type() {
            Some(row_type) => push_string(&row_type.0[at].0, out),
            None => out.push_str(&format!("\"f{}\"", at + 1)),
        }
        out.push(':');
        let declared = record.declared(at).unwrap_or_else(|| field_type(value).into());
        push_json(value, declared, settings, out)?;
    }
    out.push('}');
    Ok(())
}

/// Appends a value as the key of an object.
pub(super) fn push_key(value: &Datum, ty: Type, settings: &Settings, out: &mut String) -> Result<()> {
    if value.is_null() {
        return Err(error(SqlState::NullValueNotAllowed, "field name must not be null"));
    }
    if matches!(ty, Type::Json | Type::Jsonb | Type::Record | Type::Array(_)) {
        return Err(invalid("key value must be scalar, not array, composite, or json"));
    }
    push_string(&shown_text(value, ty.into(), settings), out);
    fits(out.len())
}

fn one(call: &Call<'_>, a: &[Datum], is_binary: bool) -> Result<Datum> {
    let mut out = String::new();
    push_json(&a[0], call.types[0].into(), call.environment.settings(), &mut out)?;
    made(out, is_binary)
}

fn list(call: &Call<'_>, a: &[Datum], is_binary: bool) -> Result<Datum> {
    let mut out = String::from("[");
    for (place, (value, ty)) in a.iter().zip(call.types).enumerate() {
        out.push_str(if place > 0 { ", " } else { "" });
        push_json(value, (*ty).into(), call.environment.settings(), &mut out)?;
    }
    out.push(']');
    made(out, is_binary)
}

fn object(call: &Call<'_>, a: &[Datum], is_binary: bool) -> Result<Datum> {
    if !a.len().is_multiple_of(2) {
        let name = if is_binary { "jsonb_build_object()" } else { "json_build_object()" };
        return Err(invalid("argument list must have even number of elements")
            .with_hint(format!("The arguments of {name} must consist of alternating keys and values.")));
    }
    let settings = call.environment.settings();
    let mut out = String::from("{");
    for (place, (pair, types)) in a.chunks(2).zip(call.types.chunks(2)).enumerate() {
        out.push_str(if place > 0 { ", " } else { "" });
        if pair[0].is_null() {
            return Err(
                invalid(format!("argument {} cannot be null", place * 2 + 1)).with_hint("Object keys should be text.")
            );
        }
        push_key(&pair[0], types[0], settings, &mut out)?;
        out.push_str(" : ");
        push_json(&pair[1], types[1].into(), settings, &mut out)?;
    }
    out.push('}');
    made(out, is_binary)
}
