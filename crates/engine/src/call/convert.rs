//! Values as values of other kinds.

use std::fmt::{self, Write};

use super::failure::Failure;
use super::floats::float;
use super::memory::Arena;
use crate::procedure::code::{Conversion, Kind};
use crate::procedure::numeric;
use crate::procedure::timestamps::{TimestampText, parse_timestamp};
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
            // In words of our own: what a message says may be stored.
            Err(error) => {
                let place = error.valid_up_to() + 1;
                return Err(Failure::raised("22021", format!("the bytes are no UTF-8 from byte {place} on")));
            }
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
        (_, Value::Timestamp(micros)) => write!(text, "{}", TimestampText(micros)),
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
        Type::Float64 => trimmed.parse().ok().map(float),
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

/// `2026-01-31 23:59:00.5`, with a `T` in the middle, or `Z` or an offset such as `+01:00` at the end; UTC without one. Decimals
/// beyond microseconds are dropped.
fn timestamp(text: &str) -> Option<i64> {
    let of_date = "2026-01-31 ".len();
    let (local, offset) = match (text.strip_suffix(['Z', 'z']), text.rfind(['+', '-'])) {
        (Some(local), _) => (local, 0),
        (None, Some(at)) if at > of_date => (&text[..at], offset_micros(&text[at..])?),
        _ => (text, 0),
    };
    let known = match local.split_once('.') {
        Some((whole, decimals)) if decimals.bytes().all(|byte| byte.is_ascii_digit()) => {
            whole.len() + 1 + decimals.len().min(6)
        }
        _ => local.len(),
    };
    parse_timestamp(&local[..known])?.checked_sub(offset)
}

/// `+01:00`, `-01` or `+0100`.
fn offset_micros(text: &str) -> Option<i64> {
    let digits = text[1..].replacen(':', "", 1);
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = digits.split_at(2);
    let minutes: i64 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
    let minutes = hours.parse::<i64>().ok()? * 60 + minutes;
    Some(if text.starts_with('-') { -minutes } else { minutes } * 60_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that calls store or compare: they are a part of what a log of commands means, so that no later version changes them.
    #[test]
    fn texts_of_values_stay_as_they_are() {
        let texts = [
            (Kind::Bool, Value::Bool(true), "true"),
            (Kind::Int, Value::Int(-7), "-7"),
            (Kind::Numeric(2), Value::Numeric(-5), "-0.05"),
            (Kind::Numeric(0), Value::Numeric(5), "5"),
            (Kind::Float, Value::Float(0.1), "0.1"),
            (Kind::Float, Value::Float(-0.0), "-0"),
            (Kind::Float, Value::Float(1e21), "1000000000000000000000"),
            (Kind::Float, Value::Float(2.5e-7), "0.00000025"),
            (Kind::Float, Value::Float(f64::NAN), "NaN"),
            (Kind::Float, Value::Float(f64::NEG_INFINITY), "-inf"),
            (Kind::Text, Value::Text("it's"), "it's"),
            (Kind::Bytes, Value::Bytes(&[0, 255]), "\\x00ff"),
            (Kind::Timestamp, Value::Timestamp(1_769_900_340_500_000), "2026-01-31 22:59:00.500000"),
            (Kind::Timestamp, Value::Timestamp(-1), "1969-12-31 23:59:59.999999"),
        ];
        for (kind, value, text) in texts {
            assert_eq!(shown(kind, value).expect("it is shown"), text);
        }
    }

    #[test]
    fn errors_of_values_stay_as_they_are() {
        let arena = Arena::new(bumpalo::Bump::new(), 1 << 20);
        let told = |converted: Result<Value<'_>, Failure>| {
            let failure = converted.expect_err("it is refused");
            let (sqlstate, message) = failure.caught().expect("it can be caught");
            format!("{sqlstate} {message}")
        };
        let read = |ty, text| told(read(&arena, ty, text));
        assert_eq!(read(Type::Int32, "3000000000"), "22003 integer out of range");
        assert_eq!(read(Type::Int64, "it's"), "22P02 'it''s' is no bigint");
        assert_eq!(read(Type::Timestamp, "soon"), "22P02 'soon' is no timestamp");
        let bytes = convert(&arena, &Conversion::BytesToText, Value::Bytes(b"ab\xff"));
        assert_eq!(told(bytes), "22021 the bytes are no UTF-8 from byte 3 on");
        let float = convert(&arena, &Conversion::FloatToInt, Value::Float(f64::NAN));
        assert_eq!(told(float), "22003 bigint out of range");
    }

    #[test]
    fn timestamps_of_every_kind_are_read() {
        for (text, micros) in [
            ("2026-01-31 22:59:00.5", 1_769_900_340_500_000),
            ("2026-01-31T22:59:00.5Z", 1_769_900_340_500_000),
            ("2026-01-31 23:59:00.500000999+01:00", 1_769_900_340_500_000),
            ("2026-01-31T20:29:00.5-0230", 1_769_900_340_500_000),
            ("1969-12-31 23:59:59+00", -1_000_000),
            ("1970-01-01", 0),
        ] {
            assert_eq!(timestamp(text), Some(micros), "{text}");
        }
        for text in ["2026-01-31 23:59:00+1", "2026-01-31 23:59:00.5x", "2026-01-31 23:59+01:00:00", "+01:00", "é+01"]
        {
            assert_eq!(timestamp(text), None, "{text}");
        }
    }
}
