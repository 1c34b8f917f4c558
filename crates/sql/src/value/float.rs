//! Floats as text: the fewest digits that give the same float again, or a fixed number of digits.
//!
//! Invariant: exponents are shown where PostgreSQL shows them: below -4, and from the digits on that the type is sure of.

use std::io::Write;

use super::text::{invalid_syntax, trim};
use crate::error::{Result, SqlError, SqlState};
use crate::types::Type;

/// The decimal digits that 64 bits are sure of.
const DOUBLE_DIGITS: i32 = 15;
/// The decimal digits that 32 bits are sure of.
const REAL_DIGITS: i32 = 6;
/// The longest text of a float with an exponent, and a little more.
const TEXT_BYTES_MAX: usize = 64;

/// Returns what can be read as a float in Rust; `None` for what PostgreSQL refuses.
fn admitted(text: &str) -> Option<&str> {
    let text = trim(text);
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_word = ["nan", "inf", "infinity"].iter().any(|word| word.eq_ignore_ascii_case(unsigned));
    (is_word || unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.')).then_some(text)
}

/// Whether a number that was read as zero or as infinite was written as another one.
fn is_beyond(text: &str, is_zero: bool, is_infinite: bool) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let is_number = text.bytes().any(|byte| byte.is_ascii_digit());
    (is_infinite && is_number) || (is_zero && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9')))
}

fn out_of_range(text: &str, ty: Type) -> SqlError {
    SqlError::new(SqlState::NumericValueOutOfRange, format!("\"{text}\" is out of range for type {ty}"))
}

/// Reads a `double precision`.
///
/// # Errors
/// Text that is no number, and numbers whose magnitude is too large or too small.
pub fn parse(text: &str) -> Result<f64> {
    let invalid = || invalid_syntax(Type::Float8, text);
    let trimmed = admitted(text).ok_or_else(invalid)?;
    let float: f64 = trimmed.parse().map_err(|_| invalid())?;
    let is_beyond = is_beyond(trimmed, float == 0.0, float.is_infinite());
    if is_beyond { Err(out_of_range(trimmed, Type::Float8)) } else { Ok(float) }
}

/// Reads a `real`.
///
/// # Errors
/// Text that is no number, and numbers whose magnitude is too large or too small.
pub fn parse_real(text: &str) -> Result<f32> {
    let invalid = || invalid_syntax(Type::Float4, text);
    let trimmed = admitted(text).ok_or_else(invalid)?;
    let float: f32 = trimmed.parse().map_err(|_| invalid())?;
    let is_beyond = is_beyond(trimmed, float == 0.0, float.is_infinite());
    if is_beyond { Err(out_of_range(trimmed, Type::Float4)) } else { Ok(float) }
}

/// Appends a `double precision`; `extra_digits` is the setting `extra_float_digits`.
pub fn push(float: f64, extra_digits: i32, out: &mut Vec<u8>) {
    if push_special(float, out) {
        return;
    }
    let mut buffer = [0; TEXT_BYTES_MAX];
    if extra_digits > 0 {
        let text = written(&mut buffer, |mut to| write!(to, "{float:e}"));
        return push_decimal(text, DOUBLE_DIGITS, out);
    }
    push_fixed(float, (DOUBLE_DIGITS + extra_digits).max(1), out);
}

/// Appends a `real`; `extra_digits` is the setting `extra_float_digits`.
pub fn push_real(float: f32, extra_digits: i32, out: &mut Vec<u8>) {
    if push_special(float.into(), out) {
        return;
    }
    let mut buffer = [0; TEXT_BYTES_MAX];
    if extra_digits > 0 {
        let text = written(&mut buffer, |mut to| write!(to, "{float:e}"));
        return push_decimal(text, REAL_DIGITS, out);
    }
    push_fixed(float.into(), (REAL_DIGITS + extra_digits).max(1), out);
}

/// Appends a float that is no finite number; returns whether it was one.
fn push_special(float: f64, out: &mut Vec<u8>) -> bool {
    let word: &[u8] = match float {
        _ if float.is_nan() => b"NaN",
        f64::INFINITY => b"Infinity",
        f64::NEG_INFINITY => b"-Infinity",
        _ => return false,
    };
    out.extend_from_slice(word);
    true
}

/// Appends a float with so many significant digits.
fn push_fixed(float: f64, digits: i32, out: &mut Vec<u8>) {
    let mut buffer = [0; TEXT_BYTES_MAX];
    let text = written(&mut buffer, |mut to| write!(to, "{:.*e}", digits as usize - 1, float));
    push_decimal(text, digits, out);
}

/// Returns the text that a format has written into a buffer.
fn written(buffer: &mut [u8; TEXT_BYTES_MAX], write: impl FnOnce(&mut [u8]) -> std::io::Result<()>) -> &[u8] {
    // A float with an exponent is shorter than the buffer, so that this cannot fail.
    let _ = write(buffer.as_mut_slice());
    let length = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    &buffer[..length]
}

/// Appends a number of the form `-1.25e10`, with an exponent only below -4 and from `exponent_from` on.
fn push_decimal(text: &[u8], exponent_from: i32, out: &mut Vec<u8>) {
    let (is_negative, unsigned) = text.strip_prefix(b"-").map_or((false, text), |unsigned| (true, unsigned));
    let split = unsigned.iter().position(|byte| *byte == b'e').unwrap_or(unsigned.len());
    let (mantissa, exponent_text) = unsigned.split_at(split);
    let exponent = std::str::from_utf8(exponent_text).ok().and_then(|text| text.get(1..)?.parse::<i32>().ok());
    let exponent = exponent.unwrap_or(0);

    let mut digits = [0; TEXT_BYTES_MAX];
    let mut length = 0;
    for digit in mantissa.iter().filter(|byte| **byte != b'.') {
        digits[length] = *digit;
        length += 1;
    }
    while length > 1 && digits[length - 1] == b'0' {
        length -= 1;
    }
    if is_negative {
        out.push(b'-');
    }
    push_digits(&digits[..length], exponent, exponent_from, out);
}

fn push_digits(digits: &[u8], exponent: i32, exponent_from: i32, out: &mut Vec<u8>) {
    if exponent < -4 || exponent >= exponent_from {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.abs() < 10 {
            out.push(b'0');
        }
        super::text::push_int(exponent.abs().into(), out);
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + exponent.unsigned_abs() as usize - 1, b'0');
        out.extend_from_slice(digits);
    } else {
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            out.extend_from_slice(digits);
            out.resize(out.len() + whole - digits.len(), b'0');
        } else {
            out.extend_from_slice(&digits[..whole]);
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(float: f64) -> String {
        let mut out = Vec::new();
        push(float, 1, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn shown_real(float: f32, extra_digits: i32) -> String {
        let mut out = Vec::new();
        push_real(float, extra_digits, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_shown_as_postgresql_does() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (100.0, "100"),
            (1e14, "100000000000000"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1e20, "1e+20"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-1.25e-7, "-1.25e-07"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
            (0.1 + 0.2, "0.30000000000000004"),
        ];
        for (float, text) in cases {
            assert_eq!(shown(float), text);
        }
        assert_eq!(shown_real(123_456.0, 1), "123456");
        assert_eq!(shown_real(1e6, 1), "1e+06");
        assert_eq!(shown_real(1_234_567.0, 1), "1.234567e+06");
        assert_eq!(shown_real(123_456_789.0, 0), "1.23457e+08");
    }

    #[test]
    fn fewer_digits_are_rounded() {
        let mut out = Vec::new();
        push(0.1 + 0.2, 0, &mut out);
        out.push(b' ');
        push(2.0 / 3.0, -12, &mut out);
        assert_eq!(out, b"0.3 0.667");
    }

    #[test]
    fn floats_are_read_within_their_range() {
        assert_eq!(parse(" 1.5e3 ").unwrap(), 1500.0);
        assert_eq!((parse(".5").unwrap(), parse("5.").unwrap()), (0.5, 5.0));
        assert!(parse("nan").unwrap().is_nan() && parse("-Inf").unwrap() == f64::NEG_INFINITY);
        let message = |text| parse(text).unwrap_err().message;
        assert_eq!(message("1e400"), "\"1e400\" is out of range for type double precision");
        assert_eq!(message("1e-400"), "\"1e-400\" is out of range for type double precision");
        assert_eq!(message("abc"), "invalid input syntax for type double precision: \"abc\"");
        assert_eq!(message(""), "invalid input syntax for type double precision: \"\"");
        assert_eq!(parse_real("1e50").unwrap_err().message, "\"1e50\" is out of range for type real");
        assert_eq!(parse("0e5").unwrap(), 0.0);
    }
}
