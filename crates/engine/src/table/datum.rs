//! Values that own what they hold, and arrays of them: what procedures take and return.

use std::fmt;

use super::value::Value;

/// A value or an array, owned.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// SQL's NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer of any width.
    Int(i64),
    /// A float8.
    Float(f64),
    /// A numeric, in units of its last digit.
    Numeric(i64),
    /// A text.
    Text(String),
    /// A byte string.
    Bytes(Vec<u8>),
    /// Microseconds since 1970-01-01 00:00:00.
    Timestamp(i64),
    /// An array of values; none of them is an array.
    Array(Vec<Datum>),
}

impl Datum {
    /// Returns the value; `None` where it is an array.
    pub fn value(&self) -> Option<Value<'_>> {
        Some(match self {
            Datum::Null => Value::Null,
            Datum::Bool(value) => Value::Bool(*value),
            Datum::Int(value) => Value::Int(*value),
            Datum::Float(value) => Value::Float(*value),
            Datum::Numeric(units) => Value::Numeric(*units),
            Datum::Text(text) => Value::Text(text),
            Datum::Bytes(bytes) => Value::Bytes(bytes),
            Datum::Timestamp(micros) => Value::Timestamp(*micros),
            Datum::Array(_) => return None,
        })
    }

    /// Returns the integer; `None` where it is anything else.
    pub fn int(&self) -> Option<i64> {
        match self {
            Datum::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the text; `None` where it is anything else.
    pub fn text(&self) -> Option<&str> {
        match self {
            Datum::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<Value<'_>> for Datum {
    fn from(value: Value<'_>) -> Datum {
        match value {
            Value::Null => Datum::Null,
            Value::Bool(value) => Datum::Bool(value),
            Value::Int(value) => Datum::Int(value),
            Value::Float(value) => Datum::Float(value),
            Value::Numeric(units) => Datum::Numeric(units),
            Value::Text(text) => Datum::Text(text.to_owned()),
            Value::Bytes(bytes) => Datum::Bytes(bytes.to_vec()),
            Value::Timestamp(micros) => Datum::Timestamp(micros),
        }
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Array(elements) => {
                f.write_str("{")?;
                for (at, element) in elements.iter().enumerate() {
                    write!(f, "{}{element}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
            datum => datum.value().expect("all but arrays are values").fmt(f),
        }
    }
}
