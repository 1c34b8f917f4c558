//! Values in the binary format of PostgreSQL's protocol: numbers with the highest byte first, times since 2000-01-01.
//!
//! Invariants:
//! - A value takes all bytes that are given; more or fewer are an error.
//! - The infinities of dates and times are the least and the greatest number, and stay that.
//!
//! Absent: rows that are read, and the types of the fields of rows that are written, which are taken from their values.

use std::sync::Arc;

use super::array::field_type;
use super::cast::strip_blanks;
use super::interval::Interval;
use super::json;
use super::network::Network;
use super::numeric::Numeric;
use super::text::{cut_name, push_padded};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::types::{Declared, Type};

/// The days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i32 = 10_957;
/// The microseconds from 1970-01-01 to 2000-01-01.
const EPOCH_US: i64 = EPOCH_DAYS as i64 * 86_400_000_000;
/// The version of the binary format of `jsonb`.
const JSONB_VERSION: u8 = 1;
const NULL_LENGTH: i32 = -1;

#[cold]
fn short() -> SqlError {
    SqlError::new(SqlState::ProtocolViolation, "insufficient data left in message")
}

#[cold]
fn incorrect() -> SqlError {
    SqlError::new(SqlState::InvalidBinaryRepresentation, "incorrect binary data format")
}

/// Returns the bytes of a value that takes `N` of them.
fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| if bytes.len() < N { short() } else { incorrect() })
}

/// Takes `N` bytes off the front.
fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>().ok_or_else(short)?;
    *bytes = rest;
    Ok(*first)
}

fn shift_timestamp(us: i64, by: i64) -> Option<i64> {
    if us == i64::MIN || us == i64::MAX { Some(us) } else { us.checked_add(by) }
}

fn shift_date(days: i32, by: i32) -> Option<i32> {
    if days == i32::MIN || days == i32::MAX { Some(days) } else { days.checked_add(by) }
}

/// Reads bytes as text.
fn utf8(bytes: &[u8]) -> Result<&str> {
    let fail = |bad: &[u8]| {
        let shown: Vec<_> = bad.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
        Err(SqlError::new(SqlState::CharacterNotInRepertoire, message))
    };
    match std::str::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => fail(&[0]),
        Ok(text) => Ok(text),
        Err(error) => {
            let length = error.error_len().unwrap_or(bytes.len() - error.valid_up_to());
            fail(&bytes[error.valid_up_to()..][..length])
        }
    }
}

/// Reads a value in the binary format of the protocol.
///
/// # Errors
/// Bytes that are no value of the type.
pub fn parse_binary(bytes: &[u8], ty: Type) -> Result<Datum> {
    let out_of_range = |what: &str| SqlError::new(SqlState::DatetimeFieldOverflow, format!("{what} out of range"));
    Ok(match ty {
        Type::Bool => Datum::Bool(exactly::<1>(bytes)? != [0]),
        Type::Int2 => Datum::Int(i16::from_be_bytes(exactly(bytes)?).into()),
        Type::Int4 => Datum::Int(i32::from_be_bytes(exactly(bytes)?).into()),
        Type::Int8 => Datum::Int(i64::from_be_bytes(exactly(bytes)?)),
        Type::Oid | Type::Xid => Datum::Int(u32::from_be_bytes(exactly(bytes)?).into()),
        Type::RegClass | Type::RegType | Type::RegProc | Type::RegProcedure => {
            Datum::Int(u32::from_be_bytes(exactly(bytes)?).into())
        }
        Type::RegOperator | Type::RegNamespace | Type::RegRole => {
            Datum::Int(u32::from_be_bytes(exactly(bytes)?).into())
        }
        Type::OidVector => parse_elements(bytes, Type::Oid, 0)?,
        Type::Int2Vector => parse_elements(bytes, Type::Int2, 0)?,
        Type::Float4 => Datum::Float(f32::from_be_bytes(exactly(bytes)?).into()),
        Type::Float8 => Datum::Float(f64::from_be_bytes(exactly(bytes)?)),
        Type::Numeric => Datum::Numeric(Arc::new(Numeric::parse_binary(bytes)?)),
        Type::Text | Type::Varchar | Type::Unknown => Datum::text(utf8(bytes)?),
        Type::Char => Datum::text(strip_blanks(utf8(bytes)?)),
        Type::Name => Datum::text(cut_name(utf8(bytes)?)),
        Type::InternalChar => parse_internal_char(exactly(bytes)?)?,
        Type::Bytea => Datum::Bytes(bytes.into()),
        Type::Date => {
            let days = i32::from_be_bytes(exactly(bytes)?);
            Datum::Date(shift_date(days, EPOCH_DAYS).ok_or_else(|| out_of_range("date"))?)
        }
        Type::Time => parse_time(i64::from_be_bytes(exactly(bytes)?)).ok_or_else(|| out_of_range("time"))?,
        Type::Timestamp | Type::Timestamptz => {
            let us = i64::from_be_bytes(exactly(bytes)?);
            Datum::Timestamp(shift_timestamp(us, EPOCH_US).ok_or_else(|| out_of_range("timestamp"))?)
        }
        Type::Interval => parse_interval(exactly(bytes)?),
        Type::Uuid => Datum::Uuid(exactly(bytes)?),
        Type::Inet | Type::Cidr => Datum::Network(Network::parse_binary(bytes, ty)?),
        Type::MacAddr => Datum::MacAddr(exactly(bytes)?),
        Type::Json => {
            let text = utf8(bytes)?;
            json::check(text)?;
            Datum::text(text)
        }
        Type::Jsonb => Datum::Jsonb(Arc::new(parse_jsonb(bytes)?)),
        Type::Array(element) => parse_array(bytes, *element)?,
        Type::Enum(own) => Datum::Enum(own.label(utf8(bytes)?)?),
        Type::Void => Datum::Null,
        Type::Trigger => {
            let message = "cannot accept a value of type trigger";
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        }
        Type::Record => {
            let message = "input of anonymous composite types is not implemented";
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        }
    })
}

fn parse_internal_char([byte]: [u8; 1]) -> Result<Datum> {
    match byte {
        0 => Ok(Datum::text("")),
        _ => Ok(Datum::text(utf8(&[byte])?)),
    }
}

fn parse_time(us: i64) -> Option<Datum> {
    const DAY_US: i64 = 86_400_000_000;
    (0..=DAY_US).contains(&us).then_some(Datum::Time(us))
}

fn parse_interval(bytes: [u8; 16]) -> Datum {
    // Microseconds, days, months.
    let number = u128::from_be_bytes(bytes);
    Datum::Interval(Interval { months: number as i32, days: (number >> 32) as i32, us: (number >> 64) as i64 })
}

fn parse_jsonb(bytes: &[u8]) -> Result<serde_json::Value> {
    let (version, text) = bytes.split_first().ok_or_else(short)?;
    if *version != JSONB_VERSION {
        return Err(SqlError::new(SqlState::InternalError, format!("unsupported jsonb version number {version}")));
    }
    json::parse(utf8(text)?)
}

fn parse_array(bytes: &[u8], element: Type) -> Result<Datum> {
    parse_elements(bytes, element, 1)
}

/// Reads an array whose first element has a subscript.
fn parse_elements(mut bytes: &[u8], element: Type, first: i32) -> Result<Datum> {
    let bytes = &mut bytes;
    let dimensions = i32::from_be_bytes(take(bytes)?);
    let flags = i32::from_be_bytes(take(bytes)?);
    let oid = u32::from_be_bytes(take(bytes)?);
    if !matches!(flags, 0 | 1) {
        return Err(SqlError::new(SqlState::InvalidBinaryRepresentation, "invalid array flags"));
    }
    if oid != element.oid() {
        return Err(SqlError::new(SqlState::DatatypeMismatch, "wrong element type"));
    }
    if dimensions == 0 {
        return if bytes.is_empty() { Ok(Datum::Array([].into())) } else { Err(incorrect()) };
    }
    if dimensions != 1 {
        return Err(SqlError::unsupported("an array of more than one dimension"));
    }
    let length = i32::from_be_bytes(take(bytes)?);
    if i32::from_be_bytes(take(bytes)?) != first {
        return Err(SqlError::unsupported(format!("an array whose first element has another number than {first}")));
    }

    let length = usize::try_from(length).map_err(|_| incorrect())?;
    // Every element takes 4 bytes at least, whatever the length says.
    let mut elements = Vec::with_capacity(length.min(bytes.len() / 4));
    for _ in 0..length {
        let length = i32::from_be_bytes(take(bytes)?);
        if length == NULL_LENGTH {
            elements.push(Datum::Null);
            continue;
        }
        let length = usize::try_from(length).map_err(|_| incorrect())?;
        let (value, rest) = bytes.split_at_checked(length).ok_or_else(short)?;
        elements.push(parse_binary(value, element)?);
        *bytes = rest;
    }
    if bytes.is_empty() { Ok(Datum::Array(elements.into())) } else { Err(incorrect()) }
}

/// Appends a value, which is not NULL, in the binary format of the protocol.
pub fn push_binary(datum: &Datum, declared: Declared, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => {}
        Datum::Bool(value) => out.push(u8::from(*value)),
        Datum::Int(value) => match declared.ty.wire_length() {
            2 => out.extend_from_slice(&(*value as i16).to_be_bytes()),
            4 => out.extend_from_slice(&(*value as i32).to_be_bytes()),
            _ => out.extend_from_slice(&value.to_be_bytes()),
        },
        Datum::Float(value) if declared.ty == Type::Float4 => out.extend_from_slice(&(*value as f32).to_be_bytes()),
        Datum::Float(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Numeric(value) => value.push_binary(out),
        Datum::Text(text) if declared.ty == Type::InternalChar => out.push(text.bytes().next().unwrap_or(0)),
        Datum::Text(text) => push_padded(text, declared, out),
        Datum::Bytes(bytes) => out.extend_from_slice(bytes),
        Datum::Date(days) => {
            out.extend_from_slice(&shift_date(*days, -EPOCH_DAYS).unwrap_or(i32::MIN).to_be_bytes());
        }
        Datum::Time(us) => out.extend_from_slice(&us.to_be_bytes()),
        Datum::Timestamp(us) => {
            out.extend_from_slice(&shift_timestamp(*us, -EPOCH_US).unwrap_or(i64::MIN).to_be_bytes());
        }
        Datum::Interval(Interval { months, days, us }) => {
            out.extend_from_slice(&us.to_be_bytes());
            out.extend_from_slice(&days.to_be_bytes());
            out.extend_from_slice(&months.to_be_bytes());
        }
        Datum::Uuid(uuid) => out.extend_from_slice(uuid),
        Datum::Network(address) => address.push_binary(declared.ty, out),
        Datum::MacAddr(octets) => out.extend_from_slice(octets),
        Datum::Enum(label) => out.extend_from_slice(label.text.as_bytes()),
        Datum::Jsonb(value) => {
            out.push(JSONB_VERSION);
            json::push(value, out);
        }
        Datum::Array(elements) => {
            let element = declared.ty.element().unwrap_or(Type::Text);
            let first = if declared.ty.is_vector() { 0 } else { 1 };
            push_array(elements, Declared { ty: element, modifier: declared.modifier }, first, out);
        }
        Datum::Record(fields) if declared.ty.is_registered() => push_binary(&fields[0], declared, out),
        Datum::Record(fields) => {
            out.extend_from_slice(&(fields.len() as i32).to_be_bytes());
            for (at, field) in fields.iter().enumerate() {
                let declared = fields.declared(at).unwrap_or_else(|| field_type(field).into());
                out.extend_from_slice(&declared.ty.oid().to_be_bytes());
                push_sized(field, declared, out);
            }
        }
    }
}

fn push_array(elements: &[Datum], declared: Declared, first: i32, out: &mut Vec<u8>) {
    let dimensions = i32::from(!elements.is_empty());
    let has_null = elements.iter().any(Datum::is_null);
    out.extend_from_slice(&dimensions.to_be_bytes());
    out.extend_from_slice(&i32::from(has_null).to_be_bytes());
    out.extend_from_slice(&declared.ty.oid().to_be_bytes());
    if elements.is_empty() {
        return;
    }
    out.extend_from_slice(&(elements.len() as i32).to_be_bytes());
    out.extend_from_slice(&first.to_be_bytes());
    elements.iter().for_each(|element| push_sized(element, declared, out));
}

/// Appends the length of a value and the value, or the length that stands for NULL.
fn push_sized(datum: &Datum, declared: Declared, out: &mut Vec<u8>) {
    let at = out.len();
    out.extend_from_slice(&NULL_LENGTH.to_be_bytes());
    if !datum.is_null() {
        push_binary(datum, declared, out);
        let length = (out.len() - at - size_of::<i32>()) as i32;
        out[at..][..size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Modifier;

    fn bytes_of(datum: &Datum, declared: impl Into<Declared>) -> Vec<u8> {
        let mut out = Vec::new();
        push_binary(datum, declared.into(), &mut out);
        out
    }

    #[test]
    fn values_have_the_bytes_of_the_protocol() {
        assert_eq!(bytes_of(&Datum::Int(-2), Type::Int2), [0xff, 0xfe]);
        assert_eq!(bytes_of(&Datum::Int(4_294_967_295), Type::Oid), [0xff; 4]);
        assert_eq!(bytes_of(&Datum::Float(1.5), Type::Float4), [0x3f, 0xc0, 0, 0]);
        assert_eq!(bytes_of(&Datum::Date(10_958), Type::Date), [0, 0, 0, 1]);
        assert_eq!(bytes_of(&Datum::Date(i32::MAX), Type::Date), i32::MAX.to_be_bytes());
        assert_eq!(bytes_of(&Datum::Timestamp(EPOCH_US + 1), Type::Timestamptz), 1_i64.to_be_bytes());
        let interval = Interval { months: 1, days: 2, us: 3 };
        let expected = [0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1];
        assert_eq!(bytes_of(&Datum::Interval(interval), Type::Interval), expected);
        let padded = Declared { ty: Type::Char, modifier: Modifier::Length(4) };
        assert_eq!(bytes_of(&Datum::text("é"), padded), "é   ".as_bytes());
        let numeric = |text| bytes_of(&Datum::Numeric(Arc::new(Numeric::parse(text).unwrap())), Type::Numeric);
        assert_eq!(numeric("-12345.670"), [0, 3, 0, 1, 0x40, 0, 0, 3, 0, 1, 0x09, 0x29, 0x1a, 0x2c]);
        assert_eq!(numeric("0.00"), [0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(numeric("0.00012"), [0, 2, 0xff, 0xff, 0, 0, 0, 5, 0, 1, 0x07, 0xd0]);
        let array = Datum::Array([Datum::Int(1), Datum::Null].into());
        let expected =
            [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 255, 255, 255, 255];
        assert_eq!(bytes_of(&array, Type::Array(&Type::Int4)), expected);
    }

    #[test]
    fn bytes_that_are_no_value_are_refused() {
        let state = |bytes: &[u8], ty| parse_binary(bytes, ty).unwrap_err().state;
        assert_eq!(state(&[1, 2], Type::Int4), SqlState::ProtocolViolation);
        assert_eq!(state(&[1, 2, 3], Type::Int2), SqlState::InvalidBinaryRepresentation);
        assert_eq!(state(&[0xff], Type::Text), SqlState::CharacterNotInRepertoire);
        assert_eq!(state(b"a\0", Type::Text), SqlState::CharacterNotInRepertoire);
        assert_eq!(state(b"\x02{}", Type::Jsonb), SqlState::InternalError);
        assert_eq!(state(&[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10], Type::Numeric), SqlState::InvalidBinaryRepresentation);
        assert_eq!(state(&[0, 0, 0, 0, 0x12, 0, 0, 0], Type::Numeric), SqlState::InvalidBinaryRepresentation);
        assert_eq!(state(&(-1_i64).to_be_bytes(), Type::Time), SqlState::DatetimeFieldOverflow);
        assert_eq!(state(&[], Type::Record), SqlState::FeatureNotSupported);
        // An array that claims more elements than there are bytes.
        let mut array = bytes_of(&Datum::Array([Datum::Int(1)].into()), Type::Array(&Type::Int4));
        array[12..16].copy_from_slice(&i32::MAX.to_be_bytes());
        assert_eq!(state(&array, Type::Array(&Type::Int4)), SqlState::ProtocolViolation);
        assert_eq!(state(&array, Type::Array(&Type::Int8)), SqlState::DatatypeMismatch);
    }
}
