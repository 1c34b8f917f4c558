//! Values as text, as PostgreSQL 15 reads and prints them.
//!
//! Invariants:
//! - Numbers, texts and times are appended without an allocation of their own.
//! - Errors quote the text as it was given, blanks included.
//!
//! Absent: names of relations, types and functions for `regclass` and its kin, of which only numbers are read here.

use std::sync::Arc;

use super::cast::{constrain, strip_blanks};
use super::interval::Interval;
use super::network::{self, Network};
use super::numeric::Numeric;
use super::{array, datetime, float, json};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::settings::Settings;
use crate::types::{Declared, Modifier, Type};

/// The most digits of an integer of 64 bits.
pub const INT_DIGITS_MAX: usize = 20;
/// The most bytes of a `name`.
pub const NAME_BYTES_MAX: usize = 63;

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Refuses a zero byte, which no text has.
///
/// # Errors
/// One is there.
pub(crate) fn without_nul(text: &str) -> Result<&str> {
    match memchr::memchr(0, text.as_bytes()) {
        None => Ok(text),
        Some(_) => {
            Err(SqlError::new(SqlState::CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x00"))
        }
    }
}

/// Returns the error of text that is no value of a type.
pub fn invalid_syntax(ty: Type, text: &str) -> SqlError {
    SqlError::new(SqlState::InvalidTextRepresentation, format!("invalid input syntax for type {ty}: \"{text}\""))
}

/// Whether PostgreSQL takes the byte for a blank.
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Removes the blanks around a text.
pub fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_ascii() && is_blank(character as u8))
}

/// Reads a value that was written as text. Text that is too long for the type is an error unless blanks alone are too many.
///
/// # Errors
/// Text that is no value of the type.
pub fn parse(text: &str, to: Declared, settings: &Settings) -> Result<Datum> {
    match to.ty {
        Type::Array(element) => {
            let element = Declared { ty: *element, modifier: to.modifier };
            Ok(Datum::Array(array::parse(text, element, settings)?))
        }
        Type::Interval if to.modifier != Modifier::None => {
            let fields = if let Modifier::Span(fields, _) = to.modifier { Some(fields) } else { None };
            constrain(Datum::Interval(Interval::read(text, fields)?), to, false)
        }
        _ if to.modifier == Modifier::None => parse_scalar(text, to.ty, settings),
        _ => constrain(parse_scalar(text, to.ty, settings)?, to, false),
    }
}

/// Reads a value of a type that is no array.
fn parse_scalar(text: &str, ty: Type, settings: &Settings) -> Result<Datum> {
    Ok(match ty {
        Type::Bool => Datum::Bool(parse_bool(text).ok_or_else(|| invalid_syntax(ty, text))?),
        Type::Int2 | Type::Int4 | Type::Int8 => Datum::Int(parse_int(text, ty)?),
        Type::Oid => Datum::Int(parse_oid(text, ty)?),
        Type::Xid => Datum::Int(parse_oid(text, ty)?),
        Type::RegClass | Type::RegType | Type::RegProc | Type::RegProcedure => Datum::Int(parse_registered(text, ty)?),
        Type::RegOperator | Type::RegNamespace | Type::RegRole => Datum::Int(parse_registered(text, ty)?),
        Type::OidVector | Type::Int2Vector => {
            let element = ty.element().unwrap_or(Type::Oid);
            let elements = text.split_ascii_whitespace().map(|word| parse_scalar(word, element, settings));
            Datum::Array(elements.collect::<Result<_>>()?)
        }
        Type::Float4 => Datum::Float(float::parse_real(text)?.into()),
        Type::Float8 => Datum::Float(float::parse(text)?),
        Type::Numeric => Datum::Numeric(Arc::new(Numeric::read(text)?)),
        Type::Text | Type::Varchar | Type::Unknown => Datum::text(text),
        Type::Char => Datum::text(strip_blanks(text)),
        Type::Name => Datum::text(cut_name(text)),
        Type::InternalChar => Datum::text(first_character(text)),
        Type::Bytea => Datum::Bytes(parse_bytes(text)?.into()),
        Type::Date => Datum::Date(datetime::parse_date(text, &settings.time_zone, settings.date_style.order)?),
        Type::Time => Datum::Time(datetime::parse_time(text, &settings.time_zone, settings.date_style.order)?),
        Type::Timestamp => {
            Datum::Timestamp(datetime::parse_timestamp(text, &settings.time_zone, settings.date_style.order)?)
        }
        Type::Timestamptz => {
            Datum::Timestamp(datetime::parse_timestamptz(text, &settings.time_zone, settings.date_style.order)?)
        }
        Type::Interval => Datum::Interval(Interval::parse(text)?),
        Type::Uuid => Datum::Uuid(parse_uuid(text).ok_or_else(|| invalid_syntax(ty, text))?),
        Type::Inet | Type::Cidr => Datum::Network(Network::parse(text, ty)?),
        Type::MacAddr => Datum::MacAddr(network::parse_mac(text)?),
        Type::Json => {
            json::check(text)?;
            Datum::text(text)
        }
        Type::Jsonb => Datum::Jsonb(Arc::new(json::parse(text)?)),
        Type::Enum(own) => Datum::Enum(own.label(text)?),
        Type::Void => Datum::Null,
        Type::Trigger => {
            let message = "cannot accept a value of type trigger";
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        }
        Type::Record => {
            return Err(SqlError::new(
                SqlState::FeatureNotSupported,
                "input of anonymous composite types is not implemented",
            ));
        }
        Type::Array(_) => return parse(text, ty.into(), settings),
    })
}

/// Reads a truth value: `true`, `false`, `yes`, `no`, what they begin with, `on`, `off`, `of`, `1` and `0`, in any case.
pub fn parse_bool(text: &str) -> Option<bool> {
    let text = trim(text);
    let begins = |word: &str| word.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text));
    match text.as_bytes() {
        [] => None,
        [b't' | b'T', ..] if begins("true") => Some(true),
        [b'f' | b'F', ..] if begins("false") => Some(false),
        [b'y' | b'Y', ..] if begins("yes") => Some(true),
        [b'n' | b'N', ..] if begins("no") => Some(false),
        [b'o' | b'O', b'n' | b'N'] => Some(true),
        [b'o' | b'O', b'f' | b'F', ..] if begins("off") => Some(false),
        b"1" => Some(true),
        b"0" => Some(false),
        _ => None,
    }
}

/// Reads the digits of a number with or without a sign: `None` where it is none, and an error where 128 bits do not hold it.
fn parse_digits(text: &str) -> Option<std::result::Result<i128, ()>> {
    let text = trim(text);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().map_err(|_| ()))
}

fn out_of_range(ty: Type, text: &str) -> SqlError {
    SqlError::new(SqlState::NumericValueOutOfRange, format!("value \"{text}\" is out of range for type {ty}"))
}

/// Returns the least and the greatest value of a type of integers.
pub(crate) fn int_range(ty: Type) -> (i64, i64) {
    match ty {
        Type::Int2 => (i16::MIN.into(), i16::MAX.into()),
        Type::Int4 => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Reads an integer of a type of integers.
///
/// # Errors
/// Text that is no integer, and integers that the type does not have.
pub fn parse_int(text: &str, ty: Type) -> Result<i64> {
    let (least, greatest) = int_range(ty);
    let number = match text.parse::<i64>() {
        Ok(number) => Some(number),
        // Blanks around it, too large, or no number.
        Err(_) => {
            parse_digits(text).ok_or_else(|| invalid_syntax(ty, text))?.ok().and_then(|number| number.try_into().ok())
        }
    };
    number.filter(|number| (least..=greatest).contains(number)).ok_or_else(|| out_of_range(ty, text))
}

/// Reads a number of the catalog; those below zero count from 2^32 down.
fn parse_oid(text: &str, ty: Type) -> Result<i64> {
    let number = parse_digits(text).ok_or_else(|| invalid_syntax(ty, text))?;
    let is_within = |number: &i128| (i128::from(i32::MIN)..=i128::from(u32::MAX)).contains(number);
    let number = number.ok().filter(is_within).ok_or_else(|| out_of_range(ty, text))?;
    Ok(i64::from(number as u32))
}

/// Reads a number of a relation, a type or a function, or `-` for none.
fn parse_registered(text: &str, ty: Type) -> Result<i64> {
    let missing = |state, what: &str| Err(SqlError::new(state, format!("{what} \"{text}\" does not exist")));
    match text {
        "-" => Ok(0),
        _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => parse_oid(text, Type::Oid),
        _ if ty == Type::RegClass => missing(SqlState::UndefinedTable, "relation"),
        _ if matches!(ty, Type::RegProc | Type::RegProcedure) => missing(SqlState::UndefinedFunction, "function"),
        _ if ty == Type::RegOperator => missing(SqlState::UndefinedFunction, "operator"),
        _ if ty == Type::RegNamespace => missing(SqlState::InvalidSchemaName, "schema"),
        _ if ty == Type::RegRole => missing(SqlState::UndefinedObject, "role"),
        _ => missing(SqlState::UndefinedObject, "type"),
    }
}

/// Cuts a text to the bytes of a `name`, between two characters.
pub(super) fn cut_name(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}

/// Returns the first character of a text, or nothing.
pub(super) fn first_character(text: &str) -> &str {
    let mut indices = text.char_indices();
    indices.next();
    &text[..indices.next().map_or(text.len(), |(end, _)| end)]
}

fn hex_value(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

/// Reads bytes that are written as `hex` or as `escape` has them.
///
/// # Errors
/// Text that is neither.
pub fn parse_bytes(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(hex) => parse_hex(hex),
        None => parse_escaped(text.as_bytes())
            .ok_or_else(|| SqlError::new(SqlState::InvalidTextRepresentation, "invalid input syntax for type bytea")),
    }
}

fn parse_hex(hex: &str) -> Result<Vec<u8>> {
    let refuse = |message: String| Err(SqlError::new(SqlState::InvalidParameterValue, message));
    let mut bytes = Vec::with_capacity(hex.len() / 2);
    let mut characters = hex.chars();
    let value_of = |character: char| character.to_digit(16).map(|value| value as u8);
    while let Some(first) = characters.next() {
        if matches!(first, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let Some(high) = value_of(first) else {
            return refuse(format!("invalid hexadecimal digit: \"{first}\""));
        };
        let Some(second) = characters.next() else {
            return refuse("invalid hexadecimal data: odd number of digits".to_owned());
        };
        let Some(low) = value_of(second) else {
            return refuse(format!("invalid hexadecimal digit: \"{second}\""));
        };
        bytes.push(high << 4 | low);
    }
    Ok(bytes)
}

fn parse_escaped(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        let (byte, length) = match behind {
            _ if *first != b'\\' => (*first, 1),
            [b'\\', ..] => (b'\\', 2),
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), 4)
            }
            _ => return None,
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    Some(bytes)
}

/// Reads a uuid: 32 hexadecimal digits, with a hyphen behind each four of them or not, in braces or not.
pub fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let bare = text.strip_prefix('{').map_or(Some(text), |rest| rest.strip_suffix('}'))?;
    let mut rest = bare.as_bytes();
    let mut uuid = [0; 16];
    for (at, byte) in uuid.iter_mut().enumerate() {
        let [high, low, behind @ ..] = rest else { return None };
        *byte = hex_value(*high)? << 4 | hex_value(*low)?;
        rest = match behind {
            [b'-', behind @ ..] if at % 2 == 1 && at < 15 => behind,
            _ => behind,
        };
    }
    rest.is_empty().then_some(uuid)
}

/// Appends a value, which is not NULL, as text.
pub fn push_text(datum: &Datum, declared: Declared, settings: &Settings, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => {}
        Datum::Bool(value) => out.push(if *value { b't' } else { b'f' }),
        Datum::Int(0) if declared.ty.is_registered() => out.push(b'-'),
        Datum::Int(value) => push_int(*value, out),
        Datum::Float(value) if declared.ty == Type::Float4 => {
            float::push_real(*value as f32, settings.extra_float_digits, out);
        }
        Datum::Float(value) => float::push(*value, settings.extra_float_digits, out),
        Datum::Numeric(value) => value.push(out),
        Datum::Text(text) => push_padded(text, declared, out),
        Datum::Bytes(bytes) if settings.escapes_bytea => push_escaped(bytes, out),
        Datum::Bytes(bytes) => {
            out.extend_from_slice(b"\\x");
            push_hex(bytes, out);
        }
        Datum::Date(days) => settings.date_style.push_date(*days, out),
        Datum::Time(us) => datetime::push_time(*us, out),
        Datum::Timestamp(us) if declared.ty == Type::Timestamptz => {
            settings.date_style.push_timestamptz(*us, &settings.time_zone, out);
        }
        Datum::Timestamp(us) => settings.date_style.push_timestamp(*us, out),
        Datum::Interval(value) => settings.interval_style.push(value, out),
        Datum::Uuid(uuid) => push_uuid(uuid, out),
        Datum::Network(address) => {
            let mut shown = String::new();
            address.push(declared.ty == Type::Cidr, &mut shown);
            out.extend_from_slice(shown.as_bytes());
        }
        Datum::MacAddr(octets) => network::push_mac(*octets, out),
        Datum::Enum(label) => out.extend_from_slice(label.text.as_bytes()),
        Datum::Jsonb(value) => json::push(value, out),
        Datum::Array(elements) if declared.ty.is_vector() => {
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(b' ');
                }
                push_text(element, Type::Int8.into(), settings, out);
            }
        }
        Datum::Array(elements) => {
            let element = declared.ty.element().unwrap_or(Type::Text);
            array::push(elements, Declared { ty: element, modifier: declared.modifier }, settings, out);
        }
        // A number of the catalog with its name ([`crate::function::named`]).
        Datum::Record(fields) if declared.ty.is_registered() => {
            push_text(&fields[1], Type::Text.into(), settings, out);
        }
        Datum::Record(record) => array::push_record(record, settings, out),
    }
}

/// Returns the digits of a number in ASCII, without leading zeros.
pub(super) fn digits_of(mut number: u64, buffer: &mut [u8; INT_DIGITS_MAX]) -> &[u8] {
    let mut from = INT_DIGITS_MAX;
    loop {
        from -= 1;
        buffer[from] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &buffer[from..];
        }
    }
}

/// Appends an integer.
pub fn push_int(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(digits_of(number.unsigned_abs(), &mut [0; INT_DIGITS_MAX]));
}

/// Appends a text, and the blanks that a `char(n)` lacks.
pub(super) fn push_padded(text: &str, declared: Declared, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    if let (Type::Char, Modifier::Length(length)) = (declared.ty, declared.modifier) {
        let missing = (length as usize).saturating_sub(text.chars().count());
        out.resize(out.len() + missing, b' ');
    }
}

fn push_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.extend_from_slice(&[HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]]);
    }
}

fn push_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b' '..=b'~' => out.push(*byte),
            _ => out.extend_from_slice(&[b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]),
        }
    }
}

fn push_uuid(uuid: &[u8; 16], out: &mut Vec<u8>) {
    const HYPHENS_BEFORE: [usize; 4] = [4, 6, 8, 10];
    for (at, byte) in uuid.iter().enumerate() {
        if HYPHENS_BEFORE.contains(&at) {
            out.push(b'-');
        }
        push_hex(&[*byte], out);
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
