//! Arguments as the values of Rust that functions work with, and back.
//!
//! Invariant: an argument has the type that its function was resolved with. Another variant is a fault of the binder, and ends
//! the call with a panic.

use std::sync::Arc;

use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::function::Call;
use crate::types::Type;
use crate::value::interval::Interval;
use crate::value::network::Network;
use crate::value::numeric::Numeric;

#[cold]
fn wrong(expected: &str, datum: &Datum) -> ! {
    panic!("a function was given {datum:?} in place of {expected}")
}

pub(super) fn boolean(datum: &Datum) -> bool {
    match datum {
        Datum::Bool(value) => *value,
        _ => wrong("a boolean", datum),
    }
}

pub(super) fn int(datum: &Datum) -> i64 {
    match datum {
        Datum::Int(value) => *value,
        _ => wrong("an integer", datum),
    }
}

pub(super) fn float(datum: &Datum) -> f64 {
    match datum {
        Datum::Float(value) => *value,
        _ => wrong("a float", datum),
    }
}

pub(super) fn numeric(datum: &Datum) -> &Numeric {
    match datum {
        Datum::Numeric(value) => value,
        _ => wrong("a numeric", datum),
    }
}

pub(super) fn text(datum: &Datum) -> &str {
    match datum {
        Datum::Text(value) => value,
        _ => wrong("a text", datum),
    }
}

pub(super) fn bytes(datum: &Datum) -> &[u8] {
    match datum {
        Datum::Bytes(value) => value,
        _ => wrong("bytes", datum),
    }
}

pub(super) fn address(datum: &Datum) -> Network {
    match datum {
        Datum::Network(value) => *value,
        _ => wrong("an address", datum),
    }
}

pub(super) fn mac(datum: &Datum) -> [u8; 6] {
    match datum {
        Datum::MacAddr(value) => *value,
        _ => wrong("an address of a card", datum),
    }
}

pub(super) fn date(datum: &Datum) -> i32 {
    match datum {
        Datum::Date(value) => *value,
        _ => wrong("a date", datum),
    }
}

/// Returns the microseconds of a time or a timestamp.
pub(super) fn moment(datum: &Datum) -> i64 {
    match datum {
        Datum::Time(value) | Datum::Timestamp(value) => *value,
        _ => wrong("a time", datum),
    }
}

pub(super) fn interval(datum: &Datum) -> Interval {
    match datum {
        Datum::Interval(value) => *value,
        _ => wrong("an interval", datum),
    }
}

pub(super) fn elements(datum: &Datum) -> &Arc<[Datum]> {
    match datum {
        Datum::Array(values) => values,
        _ => wrong("an array", datum),
    }
}

pub(super) fn make_numeric(value: Numeric) -> Datum {
    Datum::Numeric(Arc::new(value))
}

pub(super) fn array(values: Vec<Datum>) -> Datum {
    Datum::Array(values.into())
}

/// Makes an array of texts; `None` is NULL.
pub(super) fn texts<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> Datum {
    Datum::Array(values.into_iter().map(|value| value.map_or(Datum::Null, Datum::text)).collect())
}

#[cold]
pub(super) fn error(state: SqlState, message: impl Into<String>) -> SqlError {
    SqlError::new(state, message)
}

#[cold]
pub(super) fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::InvalidParameterValue, message)
}

#[cold]
pub(super) fn division_by_zero() -> SqlError {
    SqlError::new(SqlState::DivisionByZero, "division by zero")
}

#[cold]
pub(super) fn out_of_range(ty: &str) -> SqlError {
    SqlError::new(SqlState::NumericValueOutOfRange, format!("{ty} out of range"))
}

pub(super) fn int2(value: i64) -> Result<Datum> {
    i16::try_from(value).map(|_| Datum::Int(value)).map_err(|_| out_of_range("smallint"))
}

pub(super) fn int4(value: i64) -> Result<Datum> {
    i32::try_from(value).map(|_| Datum::Int(value)).map_err(|_| out_of_range("integer"))
}

pub(super) fn int8(value: Option<i64>) -> Result<Datum> {
    value.map(Datum::Int).ok_or_else(|| out_of_range("bigint"))
}

/// Shows a value, which is not NULL, as text.
pub(super) fn shown(call: &Call<'_>, datum: &Datum, ty: Type) -> String {
    let mut out = Vec::new();
    crate::value::push_text(datum, ty.into(), call.environment.settings(), &mut out);
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
