//! How many bytes a value takes in PostgreSQL.
//!
//! Absent: what PostgreSQL saves in rows, where short texts take 3 bytes less and long ones are compressed.

use serde_json::Value;

use super::functions;
use crate::datum::Datum;
use crate::datum::Datum::Int;
use crate::types::Type;
use crate::value::array::field_type;
use crate::value::push_binary;

functions! {
    /// Sizes.
    FUNCTIONS:
    "pg_column_size" (Any) -> Int4 [stable] = |call, a| Ok(Int(size(&a[0], call.types[0]) as i64));
}

/// What a value without a fixed length begins with.
const HEADER: usize = 4;
/// What a row begins with.
const ROW_HEADER: usize = 23;
/// Texts up to this length take a header of one byte in a row.
const SHORT_MAX: usize = 126;

fn aligned(bytes: usize, to: usize) -> usize {
    bytes.next_multiple_of(to)
}

/// By how many bytes values of a type are aligned.
fn alignment(ty: Type) -> usize {
    match ty.wire_length() {
        2 => 2,
        8 => 8,
        16 if ty == Type::Interval => 8,
        1 | 16 | 64 => 1,
        _ => 4,
    }
}

fn size(datum: &Datum, ty: Type) -> usize {
    if let Ok(fixed @ 1..) = usize::try_from(ty.wire_length()) {
        return fixed;
    }
    match datum {
        Datum::Text(text) if ty == Type::Unknown => text.len() + 1,
        Datum::Text(text) => HEADER + text.len(),
        Datum::Bytes(bytes) => HEADER + bytes.len(),
        Datum::Network(address) => HEADER + if address.family() == 4 { 6 } else { 18 },
        Datum::Numeric(_) => size_of_numeric(datum),
        Datum::Jsonb(value) => match &**value {
            Value::Array(_) | Value::Object(_) => behind_tree(value, HEADER),
            scalar => behind_tree(&Value::Array(vec![scalar.clone()]), HEADER),
        },
        Datum::Array(elements) => size_of_array(elements, ty.element().unwrap_or(Type::Text)),
        Datum::Record(fields) => {
            let has_null = fields.iter().any(Datum::is_null);
            let bitmap = if has_null { fields.len().div_ceil(8) } else { 0 };
            let mut at = aligned(ROW_HEADER + bitmap, 8);
            for (number, field) in fields.iter().enumerate().filter(|(_, field)| !field.is_null()) {
                let ty = fields.declared(number).map_or_else(|| field_type(field), |declared| declared.ty);
                let bytes = size(field, ty);
                at = match ty.wire_length() {
                    -1 if bytes - HEADER < SHORT_MAX => at + bytes - HEADER + 1,
                    _ => aligned(at, alignment(ty)) + bytes,
                };
            }
            at
        }
        _ => HEADER,
    }
}

/// Digits to the base of 10,000 behind a header that is short where the number is not very large or small.
fn size_of_numeric(datum: &Datum) -> usize {
    let mut sent = Vec::new();
    push_binary(datum, Type::Numeric.into(), &mut sent);
    let word = |at: usize| i16::from_be_bytes([sent[at * 2], sent[at * 2 + 1]]);
    let (digits, weight, scale) = (word(0), word(1), word(3));
    let is_short = (-64..=63).contains(&weight) && scale <= 63;
    HEADER + if is_short { 2 } else { 4 } + usize::try_from(digits).unwrap_or(0) * 2
}

fn size_of_array(elements: &[Datum], ty: Type) -> usize {
    if elements.is_empty() {
        return 16;
    }
    let has_null = elements.iter().any(Datum::is_null);
    let start = if has_null { aligned(24 + elements.len().div_ceil(8), 8) } else { 24 };
    let known = elements.iter().filter(|element| !element.is_null());
    known.fold(start, |at, element| aligned(at + size(element, ty), alignment(ty)))
}

/// The place behind a tree that begins at a place: its header, an entry for each key and value, and these.
fn behind_tree(value: &Value, at: usize) -> usize {
    let behind = |value: &Value, at: usize| match value {
        Value::Null | Value::Bool(_) => at,
        Value::String(text) => at + text.len(),
        Value::Number(number) => {
            let number = crate::value::numeric::Numeric::read(&number.to_string());
            let bytes = number.map_or(HEADER, |number| size_of_numeric(&Datum::Numeric(number.into())));
            aligned(at, 4) + bytes
        }
        Value::Array(_) | Value::Object(_) => behind_tree(value, aligned(at, 4)),
    };
    match value {
        Value::Array(all) => all.iter().fold(at + 4 + 4 * all.len(), |at, element| behind(element, at)),
        Value::Object(all) => {
            let keys = all.keys().map(String::len).sum::<usize>();
            let start = at + 4 + 8 * all.len() + keys;
            super::json::sorted(all).into_iter().fold(start, |at, (_, member)| behind(member, at))
        }
        scalar => behind(scalar, at),
    }
}
