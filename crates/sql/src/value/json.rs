//! JSON: text that is checked (`json`), and values in one canonical form (`jsonb`).
//!
//! Invariants:
//! - Numbers are exact: they are kept in decimal digits, as `numeric` shows them (`1e2` is 100, `1.50` is 1.50).
//! - An object has each key once; the last one that was written counts. Shorter keys come first, then the order of bytes.
//! - [`compare`] is PostgreSQL's order of `jsonb`, and [`hash`] follows it.
//!
//! Absent: values that are nested deeper than 128 levels.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde::de::IgnoredAny;
use serde_json::{Map, Number, Value};

use super::numeric::Numeric;
use crate::error::{Result, SqlError, SqlState};

/// How much memory the tree of a value may take, by [`bytes`].
pub(crate) const TREE_BYTES_MAX: usize = 512 << 20;

/// The most arrays and objects within each other.
pub(crate) const LEVELS_MAX: usize = 127;

/// Returns how many arrays and objects are within each other.
pub(crate) fn levels(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(levels).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

/// What an element of a tree takes beside its text: its place in its parent, and an allocation.
const NODE_BYTES: usize = 64;

#[cold]
pub(crate) fn too_large() -> SqlError {
    let message = format!("total size of jsonb elements exceeds the maximum of {TREE_BYTES_MAX} bytes");
    SqlError::new(SqlState::ProgramLimitExceeded, message)
}

/// Returns about how many bytes a tree takes.
pub(crate) fn bytes(value: &Value) -> usize {
    NODE_BYTES
        + match value {
            Value::Null | Value::Bool(_) => 0,
            Value::Number(number) => number.as_str().len(),
            Value::String(text) => text.len(),
            Value::Array(elements) => elements.iter().map(bytes).sum(),
            Value::Object(members) => members.iter().map(|(key, member)| NODE_BYTES + key.len() + bytes(member)).sum(),
        }
}

/// Refuses text whose tree would be too large, before it is made: commas and colons outside of strings are counted.
///
/// # Errors
/// 54000.
pub(crate) fn check_size(text: &str) -> Result<()> {
    /// A shorter text has no larger tree, whatever is in it.
    const SURE_LENGTH: usize = TREE_BYTES_MAX / (NODE_BYTES + 1);
    if text.len() <= SURE_LENGTH {
        return Ok(());
    }
    let (mut nodes, mut is_string, mut is_escaped) = (1_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b',' | b':' | b'[' | b'{' => nodes += usize::from(!is_string),
            _ => {}
        }
    }
    if nodes * NODE_BYTES + text.len() > TREE_BYTES_MAX { Err(too_large()) } else { Ok(()) }
}

fn invalid(error: &serde_json::Error) -> SqlError {
    let made = SqlError::new(SqlState::InvalidTextRepresentation, "invalid input syntax for type json");
    if error.is_eof() { made.with_detail("The input string ended unexpectedly.") } else { made }
}

/// Checks that a text is JSON.
///
/// # Errors
/// Text that is not.
pub fn check(text: &str) -> Result<()> {
    if text.contains("\\u") {
        // Pairs of surrogates are checked only where the text is read.
        check_size(text)?;
        return serde_json::from_str::<Value>(text).map(drop).map_err(|error| invalid(&error));
    }
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|error| invalid(&error))
}

/// Reads JSON into its canonical form.
///
/// # Errors
/// Text that is no JSON, numbers that `numeric` does not have, and the character 0.
pub fn parse(text: &str) -> Result<Value> {
    check_size(text)?;
    let mut value = serde_json::from_str(text).map_err(|error| invalid(&error))?;
    normalize(&mut value)?;
    Ok(value)
}

fn normalize(value: &mut Value) -> Result<()> {
    match value {
        Value::Null | Value::Bool(_) => Ok(()),
        Value::Number(number) => {
            if let Some(canonical) = canonical_number(number.as_str())? {
                *number = canonical;
            }
            Ok(())
        }
        Value::String(text) => check_text(text),
        Value::Array(elements) => elements.iter_mut().try_for_each(normalize),
        Value::Object(members) => members.iter_mut().try_for_each(|(key, member)| {
            check_text(key)?;
            normalize(member)
        }),
    }
}

/// Refuses what JSON has and no text: a zero byte.
pub(crate) fn check_text(text: &str) -> Result<()> {
    if !text.contains('\0') {
        return Ok(());
    }
    // PostgreSQL's `untranslatable_character`.
    let error = SqlError::new(SqlState::DataException, "unsupported Unicode escape sequence").with_code("22P05");
    Err(error.with_detail("\\u0000 cannot be converted to text."))
}

/// Returns a number in the form of `numeric`; `None` where it has that form already.
fn canonical_number(text: &str) -> Result<Option<Number>> {
    const SURE_LENGTH: usize = 1_000;
    let is_canonical = !text.contains(['e', 'E']) && !text.starts_with("-0") && text.len() <= SURE_LENGTH;
    if is_canonical {
        return Ok(None);
    }
    Ok(Some(number_of(&Numeric::read(text)?)))
}

/// Makes a JSON number of a numeric; of NaN and infinities 0, which JSON does not have.
pub fn number_of(numeric: &Numeric) -> Number {
    numeric.to_string().parse().unwrap_or_else(|_| Number::from(0))
}

/// Returns a JSON number as a numeric.
pub fn numeric_of(number: &Number) -> Numeric {
    match number.as_i64() {
        Some(whole) => Numeric::from_i64(whole),
        None => Numeric::parse(number.as_str()).unwrap_or(Numeric::NAN),
    }
}

/// Returns what PostgreSQL calls the kind of a value.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the members of an object in their order.
pub fn members(object: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = object.iter().collect();
    members.sort_unstable_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
    members
}

/// Appends a value as PostgreSQL prints `jsonb`.
pub fn push(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => out.extend_from_slice(number.as_str().as_bytes()),
        Value::String(text) => push_string(text, out),
        Value::Array(elements) => {
            out.push(b'[');
            for (at, element) in elements.iter().enumerate() {
                out.extend_from_slice(if at == 0 { b"" } else { b", " });
                push(element, out);
            }
            out.push(b']');
        }
        Value::Object(object) => {
            out.push(b'{');
            for (at, (key, member)) in members(object).into_iter().enumerate() {
                out.extend_from_slice(if at == 0 { b"" } else { b", " });
                push_string(key, out);
                out.extend_from_slice(b": ");
                push(member, out);
            }
            out.push(b'}');
        }
    }
}

/// Appends a text in quotes, with PostgreSQL's escapes.
pub fn push_string(text: &str, out: &mut Vec<u8>) {
    const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            0..0x20 => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Compares two values in PostgreSQL's order, from the least: null, strings, numbers, booleans, arrays, objects. An empty array
/// that is no element comes before all of them.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    let is_scalar = |value: &Value| !value.is_array() && !value.is_object();
    match (is_empty(a) && is_scalar(b), is_scalar(a) && is_empty(b)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => compare_inner(a, b),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::String(_) => 1,
        Value::Number(_) => 2,
        Value::Bool(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

fn compare_inner(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => numeric_of(a).cmp(&numeric_of(b)),
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let pairs = || a.iter().zip(b).map(|(a, b)| compare_inner(a, b));
            a.len().cmp(&b.len()).then_with(|| first_difference(pairs()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let (a, b) = (members(a), members(b));
            let pairs = || a.iter().zip(&b).map(|(a, b)| a.0.cmp(b.0).then_with(|| compare_inner(a.1, b.1)));
            a.len().cmp(&b.len()).then_with(|| first_difference(pairs()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Hashes a value; equal ones alike.
pub fn hash<H: Hasher>(value: &Value, state: &mut H) {
    rank(value).hash(state);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(state),
        Value::Number(number) => numeric_of(number).hash(state),
        Value::String(text) => text.hash(state),
        Value::Array(elements) => {
            elements.len().hash(state);
            elements.iter().for_each(|element| hash(element, state));
        }
        Value::Object(object) => {
            object.len().hash(state);
            for (key, member) in members(object) {
                key.hash(state);
                hash(member, state);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;

    fn canonical(text: &str) -> String {
        let mut out = Vec::new();
        push(&parse(text).unwrap(), &mut out);
        String::from_utf8(out).unwrap()
    }

    fn hashed(text: &str) -> u64 {
        let mut state = DefaultHasher::new();
        hash(&parse(text).unwrap(), &mut state);
        state.finish()
    }

    #[test]
    fn jsonb_has_one_form() {
        let cases = [
            (r#"{"bb":1, "a":2,"a":3,"c":[]}"#, r#"{"a": 3, "c": [], "bb": 1}"#),
            (r#"[1,[2,{}],null,true,"x"]"#, r#"[1, [2, {}], null, true, "x"]"#),
            ("1.50", "1.50"),
            ("1e2", "100"),
            ("-0", "0"),
            ("-0.0", "0.0"),
            ("-0.5", "-0.5"),
            ("123456789012345678901234567890.5", "123456789012345678901234567890.5"),
            (r#""a\u0001\t/\u007f\u00e9\"\\""#, "\"a\\u0001\\t/\u{7f}é\\\"\\\\\""),
        ];
        for (text, form) in cases {
            assert_eq!(canonical(text), form);
        }
    }

    #[test]
    fn values_order_as_in_postgresql() {
        let ordered = [
            "[]",
            "null",
            r#""""#,
            r#""a""#,
            r#""b""#,
            "-1",
            "0",
            "1.5",
            "2",
            "1e30",
            "false",
            "true",
            "[null]",
            "[1]",
            "[true]",
            "[[]]",
            "[1, 2]",
            "{}",
            r#"{"a":1}"#,
            r#"{"a":2}"#,
            r#"{"b":0}"#,
            r#"{"a":1,"b":1}"#,
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(compare(&parse(a).unwrap(), &parse(b).unwrap()), i.cmp(&j), "{a} {b}");
            }
        }
    }

    #[test]
    fn equal_values_have_equal_hashes() {
        for (a, b) in [("1.0", "1"), ("100", "1e2"), (r#"{"a":1,"b":2.50}"#, r#"{"b":2.5,"a":1}"#)] {
            assert_eq!(compare(&parse(a).unwrap(), &parse(b).unwrap()), Ordering::Equal);
            assert_eq!(hashed(a), hashed(b), "{a} {b}");
        }
        assert_ne!(hashed("1"), hashed("2"));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{a", "[1,]", "01", r#""\ud800""#, "\"\u{1}\"", "1 2", "nul"] {
            let message = "invalid input syntax for type json";
            assert_eq!(check(text).unwrap_err().message, message, "{text}");
            assert_eq!(parse(text).unwrap_err().message, message, "{text}");
        }
        assert!(check(r#"{"a": 1e999, "a": "\u0000"}"#).is_ok());
        assert_eq!(parse(r#""\u0000""#).unwrap_err().code(), "22P05");
    }
}
