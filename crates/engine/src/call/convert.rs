//! Values as values of other kinds.

use std::fmt::{self, Write};

use super::failure::Failure;
use super::memory::Arena;
use crate::ids::WallTime;
use crate::procedure::code::{Conversion, Kind};
use crate::procedure::numeric;
use crate::table::{Type, Value};

/// Returns a value as one of another kind.
pub(super) fn convert<'a>(arena: &'a Arena, conversion: &Conversion, value: Value<'a>) -> Result<Value<'a>, Failure> {
    Ok(match (*conversion, value) {
        (_, Value::Null) => Value::Null,
        (Conversion::Check(ty), value) => return check(ty, value),
        (Conversion::Rescale(from, to), Value::Numeric(units)) => numeric_result(numeric::rescale(units, from, to))?,
        (Conversion::IntToNumeric(scale), Value::Int(value)) => numeric_result(numeric::rescale(value, 0, scale))?,
        (Conversion::IntToFloat, Value::Int(value)) => Value::Float(value as f64),
        (Conversion::NumericToFloat(scale), Value::Numeric(units)) => Value::Float(numeric::to_float(units, scale)),
        (Conversion::NumericToInt(scale), Value::Numeric(units)) => match numeric::rescale(units, scale, 0) {
            Some(value) => Value::Int(value),
            None => return Err(Failure::out_of_range("bigint")),
        },
        (Conversion::FloatToInt, Value::Float(value)) => {
            // 2^63 itself is a float and no integer.
            let (rounded, limit) = (value.round_ties_even(), -(i64::MIN as f64));
            match rounded >= -limit && rounded < limit {
                true => Value::Int(rounded as i64),
                false => return Err(Failure::out_of_range("bigint")),
            }
        }
        (Conversion::FloatToNumeric(scale), Value::Float(value)) => numeric_result(numeric::of_float(value, scale))?,
        (Conversion::BoolToInt, Value::Bool(value)) => Value::Int(value.into()),
        (Conversion::IntToTimestamp, Value::Int(micros)) => Value::Timestamp(micros),
        (Conversion::TimestampToInt, Value::Timestamp(micros)) => Value::Int(micros),
        (Conversion::ToText(kind), value) => Value::Text(arena.text(&shown(kind, value)?)?),
        (Conversion::TextTo(ty), Value::Text(text)) => read(arena, ty, text)?,
        (Conversion::BytesToText, Value::Bytes(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::Text(text),
            Err(error) => return Err(Failure::raised("22021", format!("the bytes are no UTF-8: {error}"))),
        },
        (conversion, value) => unreachable!("{conversion:?} was compiled for another kind than {}", value.kind()),
    })
}

/// Returns what arithmetic gives, unless that has too many digits.
pub(super) fn numeric_result<'a>(units: Option<i64>) -> Result<Value<'a>, Failure> {
    numeric_units(units).map(Value::Numeric)
}

/// As [`numeric_result`], without the value around it.
#[inline]
pub(super) fn numeric_units(units: Option<i64>) -> Result<i64, Failure> {
    units.ok_or_else(|| Failure::out_of_range("numeric of 18 digits"))
}

/// Returns the value, if the type takes it.
pub(super) fn check(ty: Type, value: Value<'_>) -> Result<Value<'_>, Failure> {
    let fits = match (ty, value) {
        (Type::Int16, Value::Int(value)) => i16::try_from(value).is_ok(),
        (Type::Int32, Value::Int(value)) => i32::try_from(value).is_ok(),
        (Type::Numeric { precision, .. }, Value::Numeric(units)) => units.unsigned_abs() < 10_u64.pow(precision.into()),
        _ => true,
    };
    if fits { Ok(value) } else { Err(Failure::out_of_range(ty)) }
}

/// Returns a value as SQL shows it, without quotes.
pub(super) fn shown(kind: Kind, value: Value<'_>) -> Result<String, Failure> {
    let mut text = String::new();
    show(&mut text, kind, value).map_err(|_| Failure::raised("22000", "the value cannot be shown"))?;
    Ok(text)
}

fn show(text: &mut String, kind: Kind, value: Value<'_>) -> fmt::Result {
    match (kind, value) {
        (Kind::Numeric(scale), Value::Numeric(units)) if scale > 0 => {
            let unit = 10_u64.pow(scale.into());
            let sign = if units < 0 { "-" } else { "" };
            let (whole, rest) = (units.unsigned_abs() / unit, units.unsigned_abs() % unit);
            write!(text, "{sign}{whole}.{rest:0digits$}", digits = usize::from(scale))
        }
        (_, Value::Text(value)) => text.write_str(value),
        (_, Value::Bytes(bytes)) => {
            text.write_str("\\x")?;
            bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}"))
        }
        (_, Value::Timestamp(micros)) => match u64::try_from(micros) {
            Ok(micros) => {
                text.write_str(WallTime(micros).to_string().trim_end_matches('Z').replacen('T', " ", 1).as_str())
            }
            Err(_) => write!(text, "{micros}"),
        },
        (_, value) => write!(text, "{value}"),
    }
}

/// Returns the value of a type that a text shows.
pub(super) fn read<'a>(arena: &'a Arena, ty: Type, text: &'a str) -> Result<Value<'a>, Failure> {
    let trimmed = text.trim_ascii();
    let value = match ty {
        Type::Bool => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "on" | "1" => Some(Value::Bool(true)),
            "false" | "f" | "no" | "off" | "0" => Some(Value::Bool(false)),
            _ => None,
        },
        Type::Int16 | Type::Int32 | Type::Int64 => trimmed.parse().ok().map(Value::Int),
        Type::Float64 => trimmed.parse().ok().map(Value::Float),
        Type::Numeric { scale, .. } => numeric::parse(trimmed, scale).map(Value::Numeric),
        Type::Text => Some(Value::Text(text)),
        Type::Bytes => match hexadecimal(trimmed) {
            Some(bytes) => Some(Value::Bytes(arena.bytes(&bytes)?)),
            None => None,
        },
        Type::Timestamp => timestamp(trimmed).map(Value::Timestamp),
    };
    match value {
        Some(value) => check(ty, value),
        None => Err(Failure::raised("22P02", format!("'{}' is no {ty}", text.replace('\'', "''")))),
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = digits.chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// `2026-01-31 23:59:00.5`, with a `T` in the middle or a zone at the end.
fn timestamp(text: &str) -> Option<i64> {
    let mut rfc = text.replacen(' ', "T", 1);
    let has_zone = rfc.ends_with(['Z', 'z']) || rfc.get(11..).is_some_and(|time| time.contains(['+', '-']));
    if !has_zone {
        rfc.push('Z');
    }
    let WallTime(micros) = rfc.parse().ok()?;
    i64::try_from(micros).ok()
}
