//! Which types become which others, and how.
//!
//! Invariants:
//! - [`conversion`] holds PostgreSQL's catalog of casts for the types that there are. Where it has none, a value becomes text by
//!   assignment and text becomes any value by a cast, the way they are read and shown.
//! - [`cast`] converts what [`conversion`] allows, and applies what is declared beside the type.
//!
//! Absent: casts to and from rows, other than to show them.

use std::sync::Arc;

use serde_json::Value;

use super::interval::Interval;
use super::numeric::Numeric;
use super::text::{cut_name, first_character, int_range, parse, push_text};
use super::{datetime, json};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::settings::Settings;
use crate::types::{Category, Declared, Modifier, Type};

const DAY_US: i64 = 86_400_000_000;

/// Where one type may become another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conversion {
    /// Wherever an expression needs it.
    Implicit,
    /// Where a value is assigned to a column.
    Assignment,
    /// Only where a cast asks for it.
    Explicit,
}

/// Returns where `from` may become `to`; `None`: nowhere.
pub fn conversion(from: Type, to: Type) -> Option<Conversion> {
    if from == to || from == Type::Unknown {
        return Some(Conversion::Implicit);
    }
    if let (Some(from), Type::Array(to)) = (from.element(), to) {
        return conversion(from, *to);
    }
    listed(from, to).or_else(|| by_text(from, to))
}

/// Returns the casts that PostgreSQL's catalog lists.
pub(crate) fn listed(from: Type, to: Type) -> Option<Conversion> {
    use Conversion::{Assignment, Explicit, Implicit};
    use Type::{
        Bool, Char, Cidr, Date, Float4, Float8, Inet, Int2, Int4, Int8, InternalChar, Interval, Json, Jsonb, Name,
        Numeric, Oid, RegClass, RegProc, RegProcedure, Text, Time, Timestamp, Timestamptz, Varchar,
    };
    Some(match (from, to) {
        (Bool, Int4) | (Int4, Bool) | (Int4, InternalChar) | (InternalChar, Int4) => Explicit,
        (Bool, Text | Varchar | Char) => Assignment,

        (Int2, Int4 | Int8 | Float4 | Float8 | Numeric) => Implicit,
        (Int4, Int8 | Float4 | Float8 | Numeric) => Implicit,
        (Int8, Float4 | Float8 | Numeric) | (Numeric, Float4 | Float8) | (Float4, Float8) => Implicit,
        (Int4 | Int8, Int2) | (Int8, Int4) | (Float8, Float4) => Assignment,
        (Float4 | Float8, Int2 | Int4 | Int8 | Numeric) | (Numeric, Int2 | Int4 | Int8) => Assignment,

        (Int2 | Int4 | Int8 | Oid, to) if to.is_registered() => Implicit,
        (Int2 | Int4 | Int8, Oid) => Implicit,
        (from, Oid) if from.is_registered() => Implicit,
        (Oid, Int4 | Int8) => Assignment,
        (from, Int4 | Int8) if from.is_registered() => Assignment,
        (RegProc, RegProcedure) | (RegProcedure, RegProc) => Implicit,
        (Text | Varchar, RegClass) => Implicit,

        (Text | Varchar | Char, Text | Varchar | Char | Name) | (InternalChar | Name, Text) => Implicit,
        (InternalChar | Name, Varchar | Char) | (Text | Varchar | Char, InternalChar) => Assignment,

        (Date, Timestamp | Timestamptz) | (Timestamp, Timestamptz) | (Time, Interval) => Implicit,
        (Timestamp | Timestamptz, Date | Time) | (Timestamptz, Timestamp) | (Interval, Time) => Assignment,

        (Cidr, Inet) => Implicit,
        (Inet, Cidr) | (Inet | Cidr, Text | Varchar | Char) => Assignment,

        (Json, Jsonb) | (Jsonb, Json) => Assignment,
        (Jsonb, Bool | Int2 | Int4 | Int8 | Float4 | Float8 | Numeric) => Explicit,
        _ => return None,
    })
}

/// Whether a conversion gives the same whatever is set: the time zone, or how dates are written.
pub(crate) fn is_immutable(from: Type, to: Type) -> bool {
    // An array is shown and read as its elements are, and PostgreSQL looks no closer.
    let is_array = |ty: Type| matches!(ty, Type::Array(_));
    if is_array(from) != is_array(to) {
        return false;
    }
    let of_element = |ty: Type| ty.element().unwrap_or(ty);
    let (from, to) = (of_element(from), of_element(to));
    let is_text = |ty: Type| matches!(ty, Type::Text | Type::Varchar | Type::Char);
    let depends = |ty: Type| match ty {
        Type::Date | Type::Timestamp | Type::Timestamptz | Type::Interval | Type::Record => true,
        // A label may get another text.
        Type::Enum(_) => true,
        ty => ty.is_registered(),
    };
    let other_zone = (from == Type::Timestamptz) != (to == Type::Timestamptz) && depends(from) | depends(to);
    let to_text = is_text(to) && depends(from);
    let of_text = is_text(from) && (depends(to) || to == Type::Time);
    from == to || !(to_text || of_text || other_zone)
}

/// Returns the casts that show and read a value.
fn by_text(from: Type, to: Type) -> Option<Conversion> {
    if to.is_string() {
        return Some(Conversion::Assignment);
    }
    let is_readable = !matches!(to.category(), Category::Pseudo | Category::Unknown);
    (from.is_string() && is_readable).then_some(Conversion::Explicit)
}

/// Converts a value; NULL stays NULL. Where the cast is `explicit`, text that is too long is cut off.
///
/// # Errors
/// A value that the other type does not have.
pub fn cast(datum: Datum, from: Type, to: Declared, explicit: bool, settings: &Settings) -> Result<Datum> {
    if datum.is_null() {
        return Ok(Datum::Null);
    }
    let converted = match &datum {
        _ if from == to.ty => datum,
        // What is declared says what a number in a literal is.
        Datum::Text(text) if from == Type::Unknown && to.ty == Type::Interval => return parse(text, to, settings),
        _ => convert(datum, from, to.ty, settings)?,
    };
    constrain(converted, to, explicit)
}

fn convert(datum: Datum, from: Type, to: Type, settings: &Settings) -> Result<Datum> {
    let is_text = from == Type::Unknown || from.is_string();
    match (&datum, to) {
        (_, Type::Text | Type::Varchar | Type::Char | Type::Name) => Ok(to_text(datum, from, to, settings)),
        (Datum::Text(text), Type::InternalChar) => Ok(Datum::text(first_character(text))),
        (Datum::Text(text), Type::Int4) if from == Type::InternalChar => {
            Ok(Datum::Int(text.bytes().next().map_or(0, |byte| i64::from(byte as i8))))
        }
        (Datum::Text(text), _) if is_text => parse(text, to.into(), settings),

        (Datum::Int(number), Type::Bool) => Ok(Datum::Bool(*number != 0)),
        (Datum::Int(number), Type::InternalChar) => internal_char(*number),
        (_, Type::Int2 | Type::Int4 | Type::Int8) => to_integer(&datum, from, to),
        (Datum::Int(number), Type::Oid) => to_oid(*number, from),
        (Datum::Int(number), to) if to.is_registered() => to_oid(*number, from),
        (_, Type::Float4 | Type::Float8) => to_float(&datum, to),
        (_, Type::Numeric) => to_numeric(&datum, from),
        (Datum::Jsonb(value), Type::Bool) => value.as_bool().map(Datum::Bool).ok_or_else(|| jsonb_mismatch(value, to)),

        (_, Type::Date | Type::Time | Type::Timestamp | Type::Timestamptz | Type::Interval) => {
            to_time(&datum, from, to, settings)
        }
        (Datum::Text(text), Type::Jsonb) => Ok(Datum::Jsonb(Arc::new(json::parse(text)?))),
        (Datum::Jsonb(_), Type::Json) => Ok(Datum::text(shown(&datum, from, settings))),
        (Datum::Network(_), Type::Inet) => Ok(datum),
        (Datum::Network(address), Type::Cidr) => Ok(Datum::Network(address.network())),
        (Datum::Array(elements), Type::Array(to)) => {
            let from = from.element().unwrap_or(Type::Unknown);
            let elements: Result<Vec<_>> =
                elements.iter().map(|element| cast(element.clone(), from, (*to).into(), true, settings)).collect();
            Ok(Datum::Array(elements?.into()))
        }
        _ => Err(cannot_cast(from, to)),
    }
}

fn cannot_cast(from: Type, to: Type) -> SqlError {
    SqlError::new(SqlState::CannotCoerce, format!("cannot cast type {from} to {to}"))
}

fn out_of_range(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::NumericValueOutOfRange, message)
}

fn shown(datum: &Datum, ty: Type, settings: &Settings) -> String {
    let mut out = Vec::new();
    push_text(datum, ty.into(), settings, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn to_text(datum: Datum, from: Type, to: Type, settings: &Settings) -> Datum {
    match (&datum, to) {
        (Datum::Text(text), Type::Name) => Datum::text(cut_name(text)),
        (Datum::Text(_), _) => datum,
        (Datum::Bool(value), Type::Text | Type::Varchar | Type::Char) => {
            Datum::text(if *value { "true" } else { "false" })
        }
        // Not as it is shown.
        (Datum::Network(address), Type::Text | Type::Varchar | Type::Char) => {
            let mut text = String::new();
            address.push(true, &mut text);
            Datum::text(text)
        }
        (_, Type::Name) => Datum::text(cut_name(&shown(&datum, from, settings))),
        _ => Datum::text(shown(&datum, from, settings)),
    }
}

fn internal_char(number: i64) -> Result<Datum> {
    match u8::try_from(number) {
        Ok(0) => Ok(Datum::text("")),
        Ok(byte) if byte.is_ascii() => Ok(Datum::text(char::from(byte).to_string())),
        _ => Err(out_of_range("\"char\" out of range")),
    }
}

fn within(number: i64, ty: Type) -> Result<Datum> {
    let (least, greatest) = int_range(ty);
    let is_within = (least..=greatest).contains(&number);
    if is_within { Ok(Datum::Int(number)) } else { Err(out_of_range(format!("{ty} out of range"))) }
}

fn to_integer(datum: &Datum, from: Type, to: Type) -> Result<Datum> {
    match datum {
        Datum::Bool(value) => Ok(Datum::Int((*value).into())),
        // A number of the catalog takes the same 32 bits as an integer.
        Datum::Int(number) if to == Type::Int4 && !from.is_integer() => Ok(Datum::Int((*number as i32).into())),
        Datum::Int(number) => within(*number, to),
        Datum::Float(float) => float_to_integer(*float, to),
        Datum::Numeric(numeric) => numeric_to_integer(numeric, to),
        Datum::Jsonb(value) => numeric_to_integer(&jsonb_number(value, to)?, to),
        _ => Err(cannot_cast(from, to)),
    }
}

fn float_to_integer(float: f64, to: Type) -> Result<Datum> {
    /// 2^63, the least float that 64 bits do not hold.
    const BEYOND: f64 = -(i64::MIN as f64);
    let rounded = float.round_ties_even();
    if (-BEYOND..BEYOND).contains(&rounded) {
        return within(rounded as i64, to);
    }
    Err(out_of_range(format!("{to} out of range")))
}

fn numeric_to_integer(numeric: &Numeric, to: Type) -> Result<Datum> {
    if !numeric.is_finite() {
        let what = if numeric.is_nan() { "NaN" } else { "infinity" };
        return Err(SqlError::new(SqlState::FeatureNotSupported, format!("cannot convert {what} to {to}")));
    }
    let number = numeric.to_i64().ok_or_else(|| out_of_range(format!("{to} out of range")))?;
    within(number, to)
}

fn to_oid(number: i64, from: Type) -> Result<Datum> {
    match (from, u32::try_from(number)) {
        (_, Ok(oid)) => Ok(Datum::Int(oid.into())),
        (Type::Int2 | Type::Int4, Err(_)) => Ok(Datum::Int((number as i32 as u32).into())),
        _ => Err(out_of_range("OID out of range")),
    }
}

fn to_float(datum: &Datum, to: Type) -> Result<Datum> {
    let float = match datum {
        Datum::Int(number) if to == Type::Float4 => return Ok(Datum::Float((*number as f32).into())),
        Datum::Int(number) => *number as f64,
        Datum::Float(float) if to == Type::Float4 => return narrowed(*float),
        Datum::Float(float) => *float,
        Datum::Numeric(numeric) => return numeric_to_float(numeric, to),
        Datum::Jsonb(value) => return numeric_to_float(&jsonb_number(value, to)?, to),
        _ => return Err(cannot_cast(Type::Unknown, to)),
    };
    Ok(Datum::Float(float))
}

fn narrowed(float: f64) -> Result<Datum> {
    let narrow = float as f32;
    if narrow.is_infinite() && float.is_finite() {
        return Err(out_of_range("value out of range: overflow"));
    }
    if narrow == 0.0 && float != 0.0 {
        return Err(out_of_range("value out of range: underflow"));
    }
    Ok(Datum::Float(narrow.into()))
}

fn numeric_to_float(numeric: &Numeric, to: Type) -> Result<Datum> {
    let float = numeric.to_f64();
    // Rounded from the digits, and not from a float that was rounded before.
    let real = || numeric.to_string().parse::<f32>().unwrap_or(f32::NAN);
    let float = if to == Type::Float4 && float.is_finite() { f64::from(real()) } else { float };
    let is_beyond = (float.is_infinite() && numeric.is_finite()) || (float == 0.0 && numeric.sign() != 0);
    if is_beyond {
        return Err(out_of_range(format!("\"{numeric}\" is out of range for type {to}")));
    }
    Ok(Datum::Float(float))
}

fn to_numeric(datum: &Datum, from: Type) -> Result<Datum> {
    let numeric = match datum {
        Datum::Int(number) => Numeric::from_i64(*number),
        Datum::Float(float) if from == Type::Float4 => Numeric::from_f32(*float as f32),
        Datum::Float(float) => Numeric::from_f64(*float),
        Datum::Jsonb(value) => jsonb_number(value, Type::Numeric)?,
        _ => return Err(cannot_cast(from, Type::Numeric)),
    };
    Ok(Datum::Numeric(Arc::new(numeric)))
}

fn jsonb_mismatch(value: &Value, to: Type) -> SqlError {
    let kind = if value.is_number() { "numeric" } else { json::kind(value) };
    SqlError::new(SqlState::InvalidParameterValue, format!("cannot cast jsonb {kind} to type {to}"))
}

fn jsonb_number(value: &Value, to: Type) -> Result<Numeric> {
    match value {
        Value::Number(number) => Ok(json::numeric_of(number)),
        _ => Err(jsonb_mismatch(value, to)),
    }
}

fn to_time(datum: &Datum, from: Type, to: Type, settings: &Settings) -> Result<Datum> {
    let zone = &settings.time_zone;
    // The infinities are the same in every zone.
    let is_infinite = |us: i64| us == i64::MIN || us == i64::MAX;
    let local_to_utc = |us| if is_infinite(us) { Ok(us) } else { datetime::local_to_utc(us, zone) };
    let utc_to_local = |us| if is_infinite(us) { Ok(us) } else { datetime::utc_to_local(us, zone) };
    Ok(match (datum, from, to) {
        (Datum::Date(days), _, Type::Timestamp) => Datum::Timestamp(datetime::date_to_timestamp(*days)?),
        (Datum::Date(days), _, Type::Timestamptz) => {
            Datum::Timestamp(local_to_utc(datetime::date_to_timestamp(*days)?)?)
        }
        (Datum::Timestamp(us), Type::Timestamp, Type::Timestamptz) => Datum::Timestamp(local_to_utc(*us)?),
        (Datum::Timestamp(us), _, Type::Timestamp) => Datum::Timestamp(utc_to_local(*us)?),
        (Datum::Timestamp(us), _, Type::Time) if is_infinite(*us) => Datum::Null,
        (Datum::Timestamp(us), _, Type::Date | Type::Time) => {
            let local = if from == Type::Timestamptz { utc_to_local(*us)? } else { *us };
            match to {
                Type::Date => Datum::Date(datetime::timestamp_to_date(local)?),
                _ => Datum::Time(datetime::timestamp_to_time(local)?),
            }
        }
        (Datum::Time(us), _, Type::Interval) => Datum::Interval(Interval { us: *us, ..Interval::default() }),
        (Datum::Interval(interval), _, Type::Time) => Datum::Time(interval.us.rem_euclid(DAY_US)),
        _ => return Err(cannot_cast(from, to)),
    })
}

/// Removes the blanks at the end of a `char(n)`.
pub(super) fn strip_blanks(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// Applies what is declared beside a type to a value of the type: lengths, digits, fractions of seconds.
///
/// # Errors
/// Text that is too long, unless the cast is `explicit` or blanks alone are too many; numbers with too many digits.
pub fn constrain(datum: Datum, declared: Declared, explicit: bool) -> Result<Datum> {
    let Declared { ty, modifier } = declared;
    match (&datum, modifier) {
        (Datum::Text(text), _) if ty == Type::Char => {
            let kept = fitting_text(text, declared, explicit)?;
            Ok(if kept.len() == text.len() { datum } else { Datum::text(kept) })
        }
        (_, Modifier::None) => Ok(datum),
        (Datum::Text(text), Modifier::Length(_)) => {
            let kept = fitting_text(text, declared, explicit)?;
            Ok(if kept.len() == text.len() { datum } else { Datum::text(kept) })
        }
        (Datum::Numeric(numeric), Modifier::Digits { precision, scale }) => {
            Ok(Datum::Numeric(Arc::new(numeric.as_ref().clone().constrain(precision, scale)?)))
        }
        (Datum::Time(us), Modifier::Fraction(digits)) => Ok(Datum::Time(datetime::round_fraction(*us, digits))),
        (Datum::Timestamp(i64::MIN | i64::MAX), _) => Ok(datum),
        (Datum::Timestamp(us), Modifier::Fraction(digits)) => {
            Ok(Datum::Timestamp(datetime::round_fraction(*us, digits)))
        }
        (Datum::Interval(interval), Modifier::Fraction(digits)) => {
            Ok(Datum::Interval(Interval { us: datetime::round_fraction(interval.us, digits), ..*interval }))
        }
        (Datum::Interval(interval), Modifier::Span(fields, digits)) => {
            let kept = fields.keep(*interval);
            let us = digits.map_or(kept.us, |digits| datetime::round_fraction(kept.us, digits));
            Ok(Datum::Interval(Interval { us, ..kept }))
        }
        (Datum::Array(elements), _) => {
            let element = Declared { ty: ty.element().unwrap_or(ty), modifier };
            let elements: Result<Vec<_>> =
                elements.iter().map(|datum| constrain(datum.clone(), element, explicit)).collect();
            Ok(Datum::Array(elements?.into()))
        }
        _ => Ok(datum),
    }
}

/// Returns what a column that is declared so keeps of a text.
///
/// # Errors
/// As [`constrain`].
pub(crate) fn fitting_text(text: &str, declared: Declared, explicit: bool) -> Result<&str> {
    match declared.ty {
        Type::Char => Ok(strip_blanks(cut(strip_blanks(text), declared, explicit)?)),
        _ => cut(text, declared, explicit),
    }
}

/// Cuts a text to its declared length.
fn cut(text: &str, declared: Declared, explicit: bool) -> Result<&str> {
    let Modifier::Length(length) = declared.modifier else { return Ok(text) };
    let length = length as usize;
    if text.len() <= length {
        return Ok(text);
    }
    let Some((end, _)) = text.char_indices().nth(length) else { return Ok(text) };
    if !explicit && !strip_blanks(&text[end..]).is_empty() {
        let message = format!("value too long for type {declared}");
        return Err(SqlError::new(SqlState::StringDataRightTruncation, message));
    }
    Ok(&text[..end])
}

#[cfg(test)]
#[path = "cast_tests.rs"]
mod tests;
