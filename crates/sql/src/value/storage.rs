//! Values as the engine stores them.
//!
//! | Type | Column | Form |
//! |---|---|---|
//! | `smallint`, `integer`, `bigint` | `Int16`, `Int32`, `Int64` | |
//! | `oid` and its kin | `Int64` | |
//! | `real`, `double precision` | `Float64` | |
//! | `numeric(p,s)`, p to 18, s from 0 to p | `Numeric` | units of 10^-s |
//! | any other `numeric` | `Bytes` | [`Numeric::encode_key`] |
//! | texts, `name`, `"char"`, `json` | `Text` | |
//! | `jsonb` | `Text` | the text that `jsonb` has one of |
//! | `bytea`, `uuid`, `macaddr` | `Bytes` | |
//! | `inet`, `cidr` | `Bytes` | see below |
//! | `date`, `time` | `Int32`, `Int64` | days since 1970, microseconds since midnight |
//! | `timestamp`, `timestamptz` | `Timestamp` | |
//! | `interval` | `Bytes` | see below |
//! | enumerations | `Int64` | the number of the label ([`crate::enumeration`]) |
//! | arrays | `Bytes` | see below |
//!
//! An interval takes 32 bytes, the highest byte of each number first: its span in microseconds plus 2^127 (16 bytes; a month has
//! 30 days, a day 24 hours), months (4), days (4), microseconds (8). Bytes compare as spans do; intervals that are equal have
//! equal first 16 bytes.
//!
//! An address is the number 4 or 6, the 4 or 16 bytes of its network, the length of the prefix, and the bytes of the address if
//! it has bits behind the prefix. Bytes compare as addresses do.
//!
//! An array is the number of its elements, then each element: 0 for NULL, or the length of its form plus 1 and the form. Numbers
//! and lengths are LEB128. The form of an element is that of a column: truth values take 1 byte, integers 2, 4 or 8 as the column
//! is wide, floats, units and timestamps 8, the lowest byte first; texts and bytes are themselves.
//!
//! Invariants:
//! - What was stored is loaded as an equal value, scales and parts of intervals included.
//! - Integers, times, texts and bytes are borrowed, not copied, when they are stored.
//!
//! Absent: NaN in a `numeric(p,s)` that is stored in units, which is refused; an order of arrays by their bytes.

use std::sync::Arc;

use osier::table::Type as Column;
use osier::table::Value;

use super::interval::Interval;
use super::json;
use super::network::Network;
use super::numeric::Numeric;
use super::text::without_nul;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::types::{Declared, Modifier, Type};

const DAY_US: i128 = 86_400_000_000;
const MONTH_DAYS: i128 = 30;
/// The bit that makes numbers with a sign compare as bytes.
const SPAN_SIGN: u128 = 1 << 127;

/// A value that is ready to be stored: borrowed from its datum, or put into the scratch bytes.
#[derive(Clone, Copy, Debug)]
pub enum Stored<'d> {
    /// The value.
    Value(Value<'d>),
    /// A text in the scratch bytes.
    Text {
        /// Where it begins.
        from: usize,
        /// Where it ends.
        to: usize,
    },
    /// Bytes in the scratch bytes.
    Bytes {
        /// Where they begin.
        from: usize,
        /// Where they end.
        to: usize,
    },
}

impl<'d> Stored<'d> {
    /// Returns the value. `scratch` is what [`store`] has appended to, once all values of the row are stored.
    pub fn value<'v>(self, scratch: &'v [u8]) -> Value<'v>
    where
        'd: 'v,
    {
        match self {
            Stored::Value(value) => value,
            Stored::Text { from, to } => {
                Value::Text(std::str::from_utf8(&scratch[from..to]).expect("the text of a jsonb is UTF-8"))
            }
            Stored::Bytes { from, to } => Value::Bytes(&scratch[from..to]),
        }
    }
}

/// Returns the type of a column that stores values that are declared so.
///
/// # Errors
/// Types that no column has.
pub fn stored_type(declared: Declared) -> Result<Column> {
    Ok(match declared.ty {
        Type::Bool => Column::Bool,
        Type::Int2 => Column::Int16,
        Type::Int4 | Type::Date => Column::Int32,
        Type::Int8 | Type::Time | Type::Oid | Type::Xid | Type::Enum(_) => Column::Int64,
        Type::RegClass | Type::RegType | Type::RegProc | Type::RegProcedure => Column::Int64,
        Type::RegOperator | Type::RegNamespace | Type::RegRole => Column::Int64,
        Type::Float4 | Type::Float8 => Column::Float64,
        Type::Numeric => match units_of(declared.modifier) {
            Some((precision, scale)) => Column::Numeric { precision, scale },
            None => Column::Bytes,
        },
        Type::Text | Type::Varchar | Type::Char | Type::Name | Type::InternalChar => Column::Text,
        Type::Json | Type::Jsonb => Column::Text,
        Type::Bytea | Type::Uuid | Type::Interval | Type::Array(_) => Column::Bytes,
        Type::Inet | Type::Cidr | Type::MacAddr => Column::Bytes,
        Type::OidVector | Type::Int2Vector => Column::Bytes,
        Type::Timestamp | Type::Timestamptz => Column::Timestamp,
        Type::Unknown | Type::Record | Type::Void | Type::Trigger => {
            let message = format!("a column cannot have pseudo-type {}", declared.ty);
            return Err(SqlError::new(SqlState::InvalidTableDefinition, message));
        }
    })
}

/// Returns precision and scale of a numeric that the engine has units for.
fn units_of(modifier: Modifier) -> Option<(u8, u8)> {
    let Modifier::Digits { precision, scale } = modifier else { return None };
    let (precision, scale) = (u8::try_from(precision).ok()?, u8::try_from(scale).ok()?);
    let has_units = (1..=Column::PRECISION_MAX).contains(&precision) && scale <= precision;
    has_units.then_some((precision, scale))
}

/// Returns how SQL declares a column of a table that was made without SQL.
pub fn declared_of(column: Column) -> Declared {
    let ty = match column {
        Column::Bool => Type::Bool,
        Column::Int16 => Type::Int2,
        Column::Int32 => Type::Int4,
        Column::Int64 => Type::Int8,
        Column::Float64 => Type::Float8,
        Column::Numeric { precision, scale } => {
            let modifier = Modifier::Digits { precision: precision.into(), scale: scale.into() };
            return Declared { ty: Type::Numeric, modifier };
        }
        Column::Text => Type::Text,
        Column::Bytes => Type::Bytea,
        Column::Timestamp => Type::Timestamp,
    };
    ty.into()
}

/// Makes a value ready to be stored in a column that is declared so; what cannot be borrowed is appended to `scratch`.
///
/// # Errors
/// NaN in a numeric that is stored in units, numbers that are too large for these, and a value of another type.
#[inline]
pub fn store<'d>(datum: &'d Datum, declared: Declared, scratch: &mut Vec<u8>) -> Result<Stored<'d>> {
    Ok(Stored::Value(match datum {
        Datum::Null => Value::Null,
        Datum::Bool(value) => Value::Bool(*value),
        Datum::Int(value) | Datum::Time(value) => Value::Int(*value),
        Datum::Float(value) => Value::Float(*value),
        Datum::Text(text) => Value::Text(without_nul(text)?),
        Datum::Bytes(bytes) => Value::Bytes(bytes),
        Datum::Date(days) => Value::Int((*days).into()),
        Datum::Timestamp(us) => Value::Timestamp(*us),
        Datum::Uuid(uuid) => Value::Bytes(uuid),
        Datum::MacAddr(octets) => Value::Bytes(octets),
        Datum::Network(address) => return Ok(in_scratch(scratch, |scratch| address.push_stored(scratch))),
        Datum::Enum(label) => Value::Int(label.number),
        Datum::Numeric(numeric) => match units_of(declared.modifier) {
            Some((_, scale)) => {
                Value::Numeric(numeric.to_units(scale).ok_or_else(|| without_units(numeric, declared))?)
            }
            None => {
                numeric.check()?;
                return Ok(in_scratch(scratch, |scratch| numeric.encode_key(scratch)));
            }
        },
        Datum::Interval(interval) => return Ok(in_scratch(scratch, |scratch| push_interval(*interval, scratch))),
        Datum::Jsonb(value) => {
            let from = scratch.len();
            json::push(value, scratch);
            return Ok(Stored::Text { from, to: scratch.len() });
        }
        Datum::Array(elements) => {
            let from = scratch.len();
            push_array(elements, declared, scratch)?;
            return Ok(Stored::Bytes { from, to: scratch.len() });
        }
        Datum::Record(_) => return Err(SqlError::unsupported("a row in a column")),
    }))
}

fn in_scratch<'d>(scratch: &mut Vec<u8>, push: impl FnOnce(&mut Vec<u8>)) -> Stored<'d> {
    let from = scratch.len();
    push(scratch);
    Stored::Bytes { from, to: scratch.len() }
}

#[cold]
fn without_units(numeric: &Numeric, declared: Declared) -> SqlError {
    if numeric.is_nan() {
        return SqlError::unsupported(format!("NaN in a column of type {declared}"));
    }
    SqlError::new(SqlState::NumericValueOutOfRange, "numeric field overflow")
}

fn push_interval(interval: Interval, out: &mut Vec<u8>) {
    let Interval { months, days, us } = interval;
    let span = (i128::from(months) * MONTH_DAYS + i128::from(days)) * DAY_US + i128::from(us);
    out.extend_from_slice(&(span as u128 ^ SPAN_SIGN).to_be_bytes());
    out.extend_from_slice(&months.to_be_bytes());
    out.extend_from_slice(&days.to_be_bytes());
    out.extend_from_slice(&us.to_be_bytes());
}

fn push_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

fn push_array(elements: &[Datum], declared: Declared, out: &mut Vec<u8>) -> Result<()> {
    let element_type = Declared { ty: declared.ty.element().unwrap_or(declared.ty), modifier: declared.modifier };
    let column = stored_type(element_type)?;
    let mut scratch = Vec::new();
    push_length(elements.len(), out);
    for element in elements {
        scratch.clear();
        let mut push_form = |form: &[u8]| {
            push_length(form.len() + 1, out);
            out.extend_from_slice(form);
        };
        match store(element, element_type, &mut scratch)?.value(&scratch) {
            Value::Null => out.push(0),
            Value::Bool(value) => push_form(&[value.into()]),
            Value::Int(value) => push_form(&value.to_le_bytes()[..column.width().unwrap_or(size_of::<i64>())]),
            Value::Float(value) => push_form(&value.to_le_bytes()),
            Value::Numeric(value) | Value::Timestamp(value) => push_form(&value.to_le_bytes()),
            Value::Text(text) => push_form(text.as_bytes()),
            Value::Bytes(bytes) => push_form(bytes),
        }
    }
    Ok(())
}

#[cold]
fn corrupted(declared: Declared) -> SqlError {
    SqlError::new(SqlState::DataCorrupted, format!("a stored value is not of type {declared}"))
}

/// Makes a datum of a stored value of a column that is declared so.
///
/// # Errors
/// `data_corrupted` for values that [`store`] does not make of this type.
#[inline]
pub fn load(value: Value<'_>, declared: Declared) -> Result<Datum> {
    Ok(match value {
        Value::Null => Datum::Null,
        Value::Int(int) => match declared.ty {
            Type::Date => Datum::Date(i32::try_from(int).map_err(|_| corrupted(declared))?),
            Type::Time => Datum::Time(int),
            Type::Enum(own) => Datum::Enum(own.numbered(int).ok_or_else(|| corrupted(declared))?),
            _ => Datum::Int(int),
        },
        Value::Text(text) if declared.ty == Type::Jsonb => {
            let value = serde_json::from_str(text).map_err(|_| corrupted(declared))?;
            Datum::Jsonb(Arc::new(value))
        }
        Value::Text(text) => Datum::text(text),
        Value::Bool(value) => Datum::Bool(value),
        Value::Float(value) => Datum::Float(value),
        Value::Numeric(units) => {
            let (_, scale) = units_of(declared.modifier).ok_or_else(|| corrupted(declared))?;
            Datum::Numeric(Arc::new(Numeric::from_units(units, scale)))
        }
        Value::Timestamp(us) => Datum::Timestamp(us),
        Value::Bytes(bytes) => load_bytes(bytes, declared).ok_or_else(|| corrupted(declared))?,
    })
}

fn load_bytes(bytes: &[u8], declared: Declared) -> Option<Datum> {
    Some(match declared.ty {
        Type::Bytea => Datum::Bytes(bytes.into()),
        Type::Uuid => Datum::Uuid(bytes.try_into().ok()?),
        Type::Inet | Type::Cidr => Datum::Network(Network::load(bytes)?),
        Type::MacAddr => Datum::MacAddr(bytes.try_into().ok()?),
        Type::Numeric => Datum::Numeric(Arc::new(Numeric::decode_key(bytes)?)),
        Type::Interval => Datum::Interval(load_interval(bytes.try_into().ok()?)),
        ty => load_array(bytes, Declared { ty: ty.element()?, modifier: declared.modifier })?,
    })
}

fn load_interval(bytes: &[u8; 32]) -> Interval {
    let (_, parts) = bytes.split_at(size_of::<u128>());
    let parts = parts.iter().fold(0_u128, |parts, byte| parts << 8 | u128::from(*byte));
    Interval { months: (parts >> 96) as i32, days: (parts >> 64) as i32, us: parts as i64 }
}

/// Takes a number off the front.
fn take_length(bytes: &mut &[u8]) -> Option<usize> {
    let mut length = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        length |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return usize::try_from(length).ok();
        }
    }
    None
}

fn load_array(mut bytes: &[u8], declared: Declared) -> Option<Datum> {
    let column = stored_type(declared).ok()?;
    let count = take_length(&mut bytes)?;
    // Every element takes a byte at least, whatever the count says.
    let mut elements = Vec::with_capacity(count.min(bytes.len()));
    for _ in 0..count {
        let Some(length) = take_length(&mut bytes)?.checked_sub(1) else {
            elements.push(Datum::Null);
            continue;
        };
        let (form, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        elements.push(load(element_value(form, column)?, declared).ok()?);
    }
    bytes.is_empty().then(|| Datum::Array(elements.into()))
}

/// Returns the value of an element of its form.
fn element_value(form: &[u8], column: Column) -> Option<Value<'_>> {
    Some(match column {
        Column::Bool => Value::Bool(*form == [1]),
        Column::Int16 => Value::Int(i16::from_le_bytes(form.try_into().ok()?).into()),
        Column::Int32 => Value::Int(i32::from_le_bytes(form.try_into().ok()?).into()),
        Column::Int64 => Value::Int(i64::from_le_bytes(form.try_into().ok()?)),
        Column::Float64 => Value::Float(f64::from_le_bytes(form.try_into().ok()?)),
        Column::Numeric { .. } => Value::Numeric(i64::from_le_bytes(form.try_into().ok()?)),
        Column::Timestamp => Value::Timestamp(i64::from_le_bytes(form.try_into().ok()?)),
        Column::Text => Value::Text(std::str::from_utf8(form).ok()?),
        Column::Bytes => Value::Bytes(form),
    })
}

#[cfg(test)]
#[path = "storage_tests.rs"]
mod tests;
