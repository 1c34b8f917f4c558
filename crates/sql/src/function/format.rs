//! `format`, and bytes as text.

use super::Call;
use super::argument::*;
use super::bound::fits;
use crate::datum::Datum;
use crate::error::{Result, SqlState};
use crate::parse::quote::{literal, quoted};

/// Replaces `%s`, `%I` and `%L`, with places (`%2$s`) and widths (`%-10s`, `%*s`), by arguments.
pub(super) fn format_text(call: &Call<'_>, a: &[Datum]) -> Result<Datum> {
    if a[0].is_null() {
        return Ok(Datum::Null);
    }
    let mut out = String::new();
    let mut rest = text(&a[0]);
    let mut next = 1;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            out.push('%');
            rest = behind;
            continue;
        }
        rest = specifier(call, a, rest, &mut next, &mut out)?;
        fits(out.len())?;
    }
    out.push_str(rest);
    Ok(Datum::text(out))
}

/// Splits a number off.
fn number(text: &str) -> (Option<usize>, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

/// Returns an argument, and the place behind it.
fn take<'a>(a: &'a [Datum], place: usize, next: &mut usize) -> Result<&'a Datum> {
    *next = place + 1;
    a.get(place).ok_or_else(|| invalid("too few arguments for format()"))
}

/// Appends what follows a `%`, and returns the text behind it.
fn specifier<'t>(call: &Call<'_>, a: &[Datum], text: &'t str, next: &mut usize, out: &mut String) -> Result<&'t str> {
    let (mut place, mut rest) = (None, text);
    if let (Some(number), behind) = number(text)
        && let Some(behind) = behind.strip_prefix('$')
    {
        if number == 0 {
            return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
        }
        (place, rest) = (Some(number), behind);
    }
    let (mut is_left, mut width) = (false, 0_i64);
    if let Some(behind) = rest.strip_prefix('-') {
        (is_left, rest) = (true, behind);
    }
    if let Some(behind) = rest.strip_prefix('*') {
        rest = behind;
        let value = take(a, *next, next)?;
        width = if value.is_null() { 0 } else { shown(call, value, call.types[*next - 1]).parse().unwrap_or(0) };
        (is_left, width) = (is_left || width < 0, width.abs());
    } else if let (Some(number), behind) = number(rest) {
        (width, rest) = (number as i64, behind);
    }
    let Some(kind) = rest.chars().next() else { return Err(invalid("unterminated format() type specifier")) };
    if !matches!(kind, 's' | 'I' | 'L') {
        return Err(invalid(format!("unrecognized format() type specifier \"{kind}\""))
            .with_hint("For a single \"%\" use \"%%\"."));
    }
    let value = take(a, place.unwrap_or(*next), next)?;
    let text = match (kind, value) {
        ('I', Datum::Null) => {
            let message = "null values cannot be formatted as an SQL identifier";
            return Err(error(SqlState::NullValueNotAllowed, message));
        }
        ('L', Datum::Null) => "NULL".to_owned(),
        (_, Datum::Null) => String::new(),
        (_, value) => shown(call, value, call.types[*next - 1]),
    };
    let text = match kind {
        'I' => quoted(&text),
        'L' if !value.is_null() => literal(&text),
        _ => text,
    };
    let blanks = usize::try_from(width).unwrap_or(0).saturating_sub(text.chars().count());
    fits(blanks.saturating_add(text.len()).saturating_add(out.len()))?;
    let padding = std::iter::repeat_n(' ', blanks);
    if is_left {
        out.push_str(&text);
        out.extend(padding);
    } else {
        out.extend(padding);
        out.push_str(&text);
    }
    Ok(&rest[1..])
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cold]
fn unknown_encoding(name: &str) -> crate::SqlError {
    invalid(format!("unrecognized encoding: \"{name}\""))
}

/// Shows bytes as `hex`, `base64` or `escape` has them.
pub(super) fn encode(bytes: &[u8], name: &str) -> Result<Datum> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::new();
    match name.to_ascii_lowercase().as_str() {
        "hex" => {
            fits(bytes.len() * 2)?;
            out.reserve_exact(bytes.len() * 2);
            let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
            bytes.iter().for_each(|byte| out.extend([digit(byte >> 4), digit(byte & 15)]));
        }
        "escape" => {
            let length = |byte: &u8| match byte {
                b'\\' => 2,
                0 | 0x80.. => 4,
                _ => 1,
            };
            fits(bytes.iter().map(length).sum())?;
            bytes.iter().for_each(|byte| match byte {
                b'\\' => out.push_str("\\\\"),
                0 | 0x80.. => out.push_str(&format!("\\{byte:03o}")),
                byte => out.push(char::from(*byte)),
            });
        }
        "base64" => {
            fits(bytes.len() / 2 * 3)?;
            for (place, group) in bytes.chunks(3).enumerate() {
                if place > 0 && place % 19 == 0 {
                    out.push('\n');
                }
                let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
                for digit in 0..4 {
                    let letter = BASE64[(bits >> (18 - 6 * digit) & 63) as usize];
                    out.push(if digit > group.len() { '=' } else { char::from(letter) });
                }
            }
        }
        _ => return Err(unknown_encoding(name)),
    }
    Ok(Datum::text(out))
}

/// Reads bytes as [`encode`] shows them.
pub(super) fn decode(text: &str, name: &str) -> Result<Datum> {
    let bytes = match name.to_ascii_lowercase().as_str() {
        "hex" => decode_hex(text)?,
        "base64" => decode_base64(text)?,
        "escape" => decode_escape(text)?,
        _ => return Err(unknown_encoding(name)),
    };
    Ok(Datum::Bytes(bytes.into()))
}

fn decode_hex(text: &str) -> Result<Vec<u8>> {
    let mut digits = Vec::with_capacity(text.len());
    for character in text.chars().filter(|character| !character.is_whitespace()) {
        let digit = character.to_digit(16);
        digits.push(digit.ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{character}\"")))? as u8);
    }
    if digits.len() % 2 != 0 {
        return Err(invalid("invalid hexadecimal data: odd number of digits"));
    }
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn decode_base64(text: &str) -> Result<Vec<u8>> {
    let (mut bits, mut count, mut out) = (0_u32, 0, Vec::with_capacity(text.len() / 4 * 3));
    for character in text.chars().filter(|character| !character.is_whitespace() && *character != '=') {
        let value = BASE64
            .iter()
            .position(|letter| char::from(*letter) == character)
            .ok_or_else(|| invalid(format!("invalid symbol \"{character}\" found while decoding base64 sequence")))?;
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    let is_whole = text.chars().filter(|character| !character.is_whitespace()).count() % 4 == 0;
    if is_whole {
        Ok(out)
    } else {
        Err(invalid("invalid base64 end sequence")
            .with_hint("Input data is missing padding, is truncated, or is otherwise corrupted."))
    }
}

fn decode_escape(text: &str) -> Result<Vec<u8>> {
    let fault = || error(SqlState::InvalidTextRepresentation, "invalid input syntax for type bytea");
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            out.push(bytes[at]);
            at += 1;
        } else if bytes.get(at + 1) == Some(&b'\\') {
            out.push(b'\\');
            at += 2;
        } else {
            let octal = bytes.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
            out.push(octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()).ok_or_else(fault)?);
            at += 4;
        }
    }
    Ok(out)
}
