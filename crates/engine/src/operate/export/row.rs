//! Rows as lines: a JSON array with one element for each column, in the order of the schema (docs/export-format.md).
//!
//! Invariants:
//! - `decode(encode(row)) == row` for every value of every type, floats bit by bit.
//! - A value has one spelling, but for numbers that JSON spells in several ways; what is spelled otherwise is refused.
//! - What `decode` gives, the column takes.

use std::io::Write;

use serde_json::value::RawValue;

use crate::procedure::timestamps::{TimestampText, parse_timestamp};
use crate::table::{Column, Datum, Row, Schema, Type, Value};

const NAN: &str = "NaN";
const INFINITY: &str = "Infinity";
const NEGATIVE_INFINITY: &str = "-Infinity";
/// The bits of the NaN that has no others behind its name.
const NAN_BITS: u64 = 0x7ff8_0000_0000_0000;
/// So much of a value that is refused is shown.
const SHOWN_CHARS: usize = 40;

/// Appends a row, without the end of the line.
pub(super) fn encode(row: &Row<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, (column, value)) in row.schema().columns().iter().zip(row.values()).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        encode_value(column.ty(), value, out);
    }
    out.push(b']');
}

fn encode_value(ty: Type, value: Value<'_>, out: &mut Vec<u8>) {
    let written = match value {
        Value::Null => write!(out, "null"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Int(value) => write!(out, "{value}"),
        Value::Float(value) if value.is_finite() => write!(out, "{value:?}"),
        Value::Float(value) if value.is_infinite() && value > 0.0 => write!(out, "\"{INFINITY}\""),
        Value::Float(value) if value.is_infinite() => write!(out, "\"{NEGATIVE_INFINITY}\""),
        Value::Float(value) if value.to_bits() == NAN_BITS => write!(out, "\"{NAN}\""),
        Value::Float(value) => write!(out, "\"{NAN}:{:016x}\"", value.to_bits()),
        Value::Numeric(_) => write!(out, "\"{}\"", ty.shown(value)),
        Value::Timestamp(micros) => write!(out, "\"{}\"", TimestampText(micros)),
        Value::Text(text) => serde_json::to_writer(&mut *out, text).map_err(Into::into),
        Value::Bytes(bytes) => {
            out.push(b'"');
            out.extend(bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(digit));
            out.push(b'"');
            Ok(())
        }
    };
    written.expect("memory takes every byte");
}

fn digit(value: u8) -> u8 {
    b"0123456789abcdef"[usize::from(value)]
}

/// Reads a row of `schema`; the error says what is wrong with which column.
pub(super) fn decode(schema: &Schema, line: &str) -> Result<Vec<Datum>, String> {
    let cells: Vec<&RawValue> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let columns = schema.columns();
    if cells.len() != columns.len() {
        return Err(format!("it has {} values for {} columns", cells.len(), columns.len()));
    }
    cells.iter().zip(columns).map(|(cell, column)| decode_cell(column, cell.get())).collect()
}

fn decode_cell(column: &Column, cell: &str) -> Result<Datum, String> {
    let refused = |what: &str| format!("column {}: {} {what}", column.name(), shown(cell));
    if cell == "null" {
        return if column.is_nullable() { Ok(Datum::Null) } else { Err(refused("in a column that takes none")) };
    }
    let datum = decode_value(column.ty(), cell).ok_or_else(|| refused(&format!("is no {}", column.ty())))?;
    let fits = datum.value().is_some_and(|value| column.ty().takes(value));
    if fits { Ok(datum) } else { Err(refused(&format!("is out of the range of {}", column.ty()))) }
}

fn shown(cell: &str) -> String {
    match cell.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", &cell[..end]),
        None => cell.to_owned(),
    }
}

fn decode_value(ty: Type, cell: &str) -> Option<Datum> {
    let text = || serde_json::from_str::<String>(cell).ok();
    Some(match ty {
        Type::Bool => Datum::Bool(cell.parse().ok()?),
        Type::Int16 | Type::Int32 | Type::Int64 => Datum::Int(cell.parse().ok()?),
        Type::Float64 if cell.starts_with('"') => Datum::Float(special(&text()?)?),
        Type::Float64 => Datum::Float(cell.parse().ok().filter(|float: &f64| float.is_finite())?),
        Type::Numeric { scale, .. } => Datum::Numeric(numeric(ty, scale, &text()?)?),
        Type::Text => Datum::Text(text()?),
        Type::Bytes => Datum::Bytes(bytes(text()?.as_bytes())?),
        Type::Timestamp => {
            let text = text()?;
            let micros = parse_timestamp(&text)?;
            Datum::Timestamp((TimestampText(micros).to_string() == text).then_some(micros)?)
        }
    })
}

/// A float that JSON has no number for.
fn special(text: &str) -> Option<f64> {
    match text {
        INFINITY => Some(f64::INFINITY),
        NEGATIVE_INFINITY => Some(f64::NEG_INFINITY),
        NAN => Some(f64::from_bits(NAN_BITS)),
        text => {
            let digits = text.strip_prefix(NAN)?.strip_prefix(':').filter(|digits| digits.len() == 16)?;
            let is_plain = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            let bits = is_plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()?;
            let float = f64::from_bits(bits);
            (float.is_nan() && bits != NAN_BITS).then_some(float)
        }
    }
}

/// A numeric with all of its digits after the point.
fn numeric(ty: Type, scale: u8, text: &str) -> Option<i64> {
    let digits: String = text.chars().filter(|c| *c != '.').collect();
    let units = digits.parse().ok()?;
    let is_written_so = ty.shown(Value::Numeric(units)).to_string() == text;
    assert!(scale <= Type::PRECISION_MAX, "a schema was built with scale {scale}");
    is_written_so.then_some(units)
}

fn bytes(text: &[u8]) -> Option<Vec<u8>> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_chunks::<2>();
    let pairs = pairs.iter().map(|[high, low]| Some(value(*high)? << 4 | value(*low)?));
    if rest.is_empty() { pairs.collect() } else { None }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::table::RowCodec;

    const AMOUNT: Type = Type::Numeric { precision: 18, scale: 4 };

    fn schema(ty: Type) -> Arc<Schema> {
        let schema = Schema::builder("t").column("id", Type::Int64).nullable_column("value", ty).primary_key(["id"]);
        Arc::new(schema.build().unwrap())
    }

    fn again(ty: Type, value: Value<'_>) -> (String, Datum) {
        let codec = RowCodec::new(schema(ty));
        let row = codec.encode(&[Value::Int(1), value]).unwrap();
        let mut line = Vec::new();
        encode(&codec.row(&row[..]), &mut line);
        let line = String::from_utf8(line).unwrap();
        let back = decode(codec.schema(), &line).unwrap();
        assert_eq!(back[0], Datum::Int(1));
        (line, back[1].clone())
    }

    #[test]
    fn values_are_spelled_as_the_document_says() {
        for (ty, value, line) in [
            (Type::Bool, Value::Null, "[1,null]"),
            (Type::Bool, Value::Bool(true), "[1,true]"),
            (Type::Int64, Value::Int(i64::MIN), "[1,-9223372036854775808]"),
            (Type::Float64, Value::Float(-0.0), "[1,-0.0]"),
            (Type::Float64, Value::Float(1e300), "[1,1e300]"),
            (Type::Float64, Value::Float(f64::NEG_INFINITY), "[1,\"-Infinity\"]"),
            (AMOUNT, Value::Numeric(-5), "[1,\"-0.0005\"]"),
            (Type::Text, Value::Text("a\"\n\u{1}\u{e9}"), "[1,\"a\\\"\\n\\u0001\u{e9}\"]"),
            (Type::Bytes, Value::Bytes(&[0, 0xff]), "[1,\"00ff\"]"),
            (Type::Timestamp, Value::Timestamp(-1), "[1,\"1969-12-31 23:59:59.999999\"]"),
        ] {
            let (found, back) = again(ty, value);
            assert_eq!(found, line);
            assert_eq!(back, Datum::from(value), "{line}");
        }
    }

    #[test]
    fn floats_come_back_bit_by_bit() {
        let mut random = fastrand::Rng::with_seed(3);
        let named = [0, 1 << 63, 1, NAN_BITS, NAN_BITS | 1, u64::MAX, f64::INFINITY.to_bits(), f64::MAX.to_bits()];
        let drawn: Vec<u64> = (0..20_000).map(|_| random.u64(..)).collect();
        for bits in named.into_iter().chain(drawn) {
            let (line, back) = again(Type::Float64, Value::Float(f64::from_bits(bits)));
            let Datum::Float(back) = back else { panic!("{line}") };
            assert_eq!(back.to_bits(), bits, "{line}");
        }
    }

    #[test]
    fn every_number_comes_back() {
        let mut random = fastrand::Rng::with_seed(4);
        for _ in 0..5_000 {
            let value = random.i64(..) >> random.u32(..64);
            let units = value % 10_i64.pow(18);
            assert_eq!(again(AMOUNT, Value::Numeric(units)).1, Datum::Numeric(units));
            assert_eq!(again(Type::Timestamp, Value::Timestamp(value)).1, Datum::Timestamp(value));
            assert_eq!(again(Type::Int64, Value::Int(value)).1, Datum::Int(value));
        }
    }

    #[test]
    fn other_spellings_are_refused_by_the_name_of_the_column() {
        for (ty, cell) in [
            (Type::Bool, "1"),
            (Type::Int16, "32768"),
            (Type::Int64, "1.0"),
            (Type::Int64, "\"1\""),
            (Type::Float64, "1e999"),
            (Type::Float64, "\"nan\""),
            (Type::Float64, "\"NaN:7ff8000000000000\""),
            (Type::Float64, "\"NaN:3ff0000000000000\""),
            (AMOUNT, "1.5000"),
            (AMOUNT, "\"1.5\""),
            (AMOUNT, "\"+1.5000\""),
            (AMOUNT, "\"100000000000000.0000\""),
            (Type::Text, "1"),
            (Type::Bytes, "\"0\""),
            (Type::Bytes, "\"0F\""),
            (Type::Timestamp, "\"2026-01-01\""),
        ] {
            let error = decode(&schema(ty), &format!("[1,{cell}]")).unwrap_err();
            assert!(error.starts_with("column value: "), "{cell}: {error}");
        }
        let schema = schema(Type::Text);
        assert!(decode(&schema, "[null,null]").unwrap_err().contains("column id"));
        assert!(decode(&schema, "[1]").unwrap_err().contains("1 values for 2 columns"));
        assert!(decode(&schema, "[1,\"a\"").is_err() && decode(&schema, "{}").is_err());
        let long = decode(&schema, &format!("[1,{}1]", "1".repeat(500))).unwrap_err();
        assert!(long.len() < 100, "{long}");
    }
}
