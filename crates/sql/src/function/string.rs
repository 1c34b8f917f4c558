//! Functions of texts and bytes.
//!
//! Positions and lengths count characters, from 1 on.
//!
//! Absent: `convert_from` for encodings other than UTF8, and Unicode normalization.

use std::collections::{HashMap, HashSet};

use super::argument::*;
use super::bound::{LONGEST, fits, pieces_fit, too_large};
use super::{Call, functions};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Bytes, Int, Null};
use crate::error::{Result, SqlState};
use crate::parse::quote::{literal, quoted};
use crate::types::Type;
use crate::value::text::without_nul;

functions! {
    /// Functions of texts and bytes.
    FUNCTIONS:
    "length" (Text) -> Int4 = |_, a| Ok(length(&a[0]));
    "length" (Char) -> Int4 = |_, a| Ok(length(&a[0]));
    "length" (Bytea) -> Int4 = |_, a| Ok(Int(bytes(&a[0]).len() as i64));
    "char_length" (Text) -> Int4 = |_, a| Ok(length(&a[0]));
    "char_length" (Char) -> Int4 = |_, a| Ok(length(&a[0]));
    "character_length" (Text) -> Int4 = |_, a| Ok(length(&a[0]));
    "octet_length" (Text) -> Int4 = |_, a| Ok(Int(text(&a[0]).len() as i64));
    "octet_length" (Bytea) -> Int4 = |_, a| Ok(Int(bytes(&a[0]).len() as i64));
    "bit_length" (Text) -> Int4 = |_, a| Ok(Int(text(&a[0]).len() as i64 * 8));
    "bit_length" (Bytea) -> Int4 = |_, a| Ok(Int(bytes(&a[0]).len() as i64 * 8));
    "lower" (Text) -> Text = |_, a| Ok(Datum::text(in_case(text(&a[0]), lower)));
    "upper" (Text) -> Text = |_, a| Ok(Datum::text(in_case(text(&a[0]), upper)));
    "initcap" (Text) -> Text = |_, a| Ok(Datum::text(initcap(text(&a[0]))));
    "substr" (Text, Int4) -> Text = |_, a| Ok(Datum::text(slice(text(&a[0]), int(&a[1]), None)?));
    "substr" (Text, Int4, Int4) -> Text = |_, a| Ok(Datum::text(slice(text(&a[0]), int(&a[1]), Some(int(&a[2])))?));
    "substring" (Text, Int4) -> Text = |_, a| Ok(Datum::text(slice(text(&a[0]), int(&a[1]), None)?));
    "substring" (Text, Int4, Int4) -> Text = |_, a| Ok(Datum::text(slice(text(&a[0]), int(&a[1]), Some(int(&a[2])))?));
    "substring" (Bytea, Int4) -> Bytea = |_, a| byte_slice(bytes(&a[0]), int(&a[1]), i64::MAX);
    "substring" (Bytea, Int4, Int4) -> Bytea = |_, a| byte_slice(bytes(&a[0]), int(&a[1]), int(&a[2]));
    "left" (Text, Int4) -> Text = |_, a| Ok(Datum::text(&text(&a[0])[..split_at(text(&a[0]), int(&a[1]))]));
    "right" (Text, Int4) -> Text = |_, a| Ok(right(text(&a[0]), int(&a[1])));
    "lpad" (Text, Int4) -> Text = |_, a| pad(text(&a[0]), int(&a[1]), " ", true);
    "lpad" (Text, Int4, Text) -> Text = |_, a| pad(text(&a[0]), int(&a[1]), text(&a[2]), true);
    "rpad" (Text, Int4) -> Text = |_, a| pad(text(&a[0]), int(&a[1]), " ", false);
    "rpad" (Text, Int4, Text) -> Text = |_, a| pad(text(&a[0]), int(&a[1]), text(&a[2]), false);
    "btrim" (Text) -> Text = |_, a| Ok(trim(&a[0], " ", true, true));
    "btrim" (Text, Text) -> Text = |_, a| Ok(trim(&a[0], text(&a[1]), true, true));
    "ltrim" (Text) -> Text = |_, a| Ok(trim(&a[0], " ", true, false));
    "ltrim" (Text, Text) -> Text = |_, a| Ok(trim(&a[0], text(&a[1]), true, false));
    "rtrim" (Text) -> Text = |_, a| Ok(trim(&a[0], " ", false, true));
    "rtrim" (Text, Text) -> Text = |_, a| Ok(trim(&a[0], text(&a[1]), false, true));
    "position" (Text, Text) -> Int4 = |_, a| Ok(position(text(&a[0]), text(&a[1])));
    "strpos" (Text, Text) -> Int4 = |_, a| Ok(position(text(&a[0]), text(&a[1])));
    "replace" (Text, Text, Text) -> Text = |_, a| match text(&a[1]) {
        "" => Ok(a[0].clone()),
        from => replaced(text(&a[0]), from, text(&a[2])),
    };
    "translate" (Text, Text, Text) -> Text = |_, a| Ok(translate(text(&a[0]), text(&a[1]), text(&a[2])));
    "reverse" (Text) -> Text = |_, a| Ok(Datum::text(text(&a[0]).chars().rev().collect::<String>()));
    "repeat" (Text, Int4) -> Text = |_, a| repeat(text(&a[0]), int(&a[1]));
    "split_part" (Text, Text, Int4) -> Text = |_, a| split_part(text(&a[0]), text(&a[1]), int(&a[2]));
    "concat" (Any) -> Text [lax stable variadic] = |call, a| concat(call, a, 0, "").map(Datum::text);
    "concat_ws" (Text, Any) -> Text [lax stable variadic] = |call, a| match &a[0] {
        Null => Ok(Null),
        separator => concat(call, a, 1, text(separator)).map(Datum::text),
    };
    "format" (Text) -> Text [lax stable] = super::format::format_text;
    "format" (Text, Any) -> Text [lax stable variadic] = super::format::format_text;
    "quote_ident" (Text) -> Text = |_, a| Ok(Datum::text(quoted(text(&a[0]))));
    "quote_literal" (Text) -> Text = |_, a| Ok(Datum::text(literal(text(&a[0]))));
    "quote_literal" (AnyElement) -> Text [stable] = |call, a| {
        Ok(Datum::text(literal(&shown(call, &a[0], call.types[0]))))
    };
    "quote_nullable" (Text) -> Text [lax] = |_, a| Ok(quote_nullable(a[0].clone()));
    "quote_nullable" (AnyElement) -> Text [lax stable] = |call, a| Ok(match &a[0] {
        Null => quote_nullable(Null),
        value => Datum::text(literal(&shown(call, value, call.types[0]))),
    });
    "ascii" (Text) -> Int4 = |_, a| Ok(Int(text(&a[0]).chars().next().map_or(0, |first| i64::from(u32::from(first)))));
    "chr" (Int4) -> Text = |_, a| character(int(&a[0]));
    "encode" (Bytea, Text) -> Text = |_, a| super::format::encode(bytes(&a[0]), text(&a[1]));
    "decode" (Text, Text) -> Bytea = |_, a| super::format::decode(text(&a[0]), text(&a[1]));
    "convert_from" (Bytea, Text) -> Text = |_, a| convert_from(bytes(&a[0]), text(&a[1]));
    "convert_to" (Text, Text) -> Bytea = |_, a| Ok(Bytes(text(&a[0]).as_bytes().into()));
    "get_byte" (Bytea, Int4) -> Int4 = |_, a| get_byte(bytes(&a[0]), int(&a[1]));
    "to_hex" (Int4) -> Text = |_, a| Ok(Datum::text(format!("{:x}", int(&a[0]) as i32)));
    "to_hex" (Int8) -> Text = |_, a| Ok(Datum::text(format!("{:x}", int(&a[0]))));
    "starts_with" (Text, Text) -> Bool = |_, a| Ok(Bool(text(&a[0]).starts_with(text(&a[1]))));
    "string_to_array" (Text, Text) -> TextArray [lax] = |_, a| string_to_array(&a[0], &a[1], &Null);
    "string_to_array" (Text, Text, Text) -> TextArray [lax] = |_, a| string_to_array(&a[0], &a[1], &a[2]);
    "overlay" (Text, Text, Int4) -> Text = |_, a| {
        overlay(text(&a[0]), text(&a[1]), int(&a[2]), text(&a[1]).chars().count() as i64)
    };
    "overlay" (Text, Text, Int4, Int4) -> Text = |_, a| overlay(text(&a[0]), text(&a[1]), int(&a[2]), int(&a[3]));
}

/// Sets of more bytes are looked up in a table.
const FEW_CHARACTERS: usize = 32;

fn length(datum: &Datum) -> Datum {
    Int(text(datum).chars().count() as i64)
}

/// A text with each letter changed.
pub(super) fn in_case(text: &str, change: fn(char) -> char) -> String {
    text.chars().map(change).collect()
}

/// The small letter of a letter: each has one, as in PostgreSQL.
pub(super) fn lower(letter: char) -> char {
    // Of those of `İ` it is the first one.
    letter.to_lowercase().next().unwrap_or(letter)
}

/// The great letter of a letter, which stays as it is where several letters would be needed.
pub(super) fn upper(letter: char) -> char {
    let mut great = letter.to_uppercase();
    match (great.next(), great.next(), letter) {
        (Some(only), None, _) => only,
        // Letters with an iota below have great ones of their own.
        (.., 'ᾀ'..='ᾇ' | 'ᾐ'..='ᾗ' | 'ᾠ'..='ᾧ') => char::from_u32(u32::from(letter) + 8).unwrap_or(letter),
        (.., 'ᾳ' | 'ῃ' | 'ῳ') => char::from_u32(u32::from(letter) + 9).unwrap_or(letter),
        _ => letter,
    }
}

/// Makes the first letter of each word great and the others small.
fn initcap(text: &str) -> String {
    let mut is_inside = false;
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_inside {
            out.push(lower(character));
        } else {
            out.push(upper(character));
        }
        is_inside = character.is_alphanumeric();
    }
    out
}

/// Returns the byte at which a character starts, counted from 0; the end where there are fewer.
fn byte_of(text: &str, character: i64) -> usize {
    let Ok(character) = usize::try_from(character) else { return 0 };
    if text.is_ascii() {
        return character.min(text.len());
    }
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

/// Returns characters from a position on, which may lie before the first one.
fn slice(text: &str, from: i64, count: Option<i64>) -> Result<&str> {
    let end = match count {
        Some(..0) => return Err(error(SqlState::SubstringError, "negative substring length not allowed")),
        Some(count) => byte_of(text, from.saturating_add(count) - 1),
        None => text.len(),
    };
    let start = byte_of(text, from - 1);
    Ok(&text[start.min(end)..end])
}

fn byte_slice(value: &[u8], from: i64, count: i64) -> Result<Datum> {
    if count < 0 {
        return Err(error(SqlState::SubstringError, "negative substring length not allowed"));
    }
    let clamp = |at: i64| at.clamp(0, value.len() as i64) as usize;
    let end = clamp(from.saturating_add(count) - 1);
    Ok(Bytes(value[clamp(from - 1).min(end)..end].into()))
}

/// Returns the byte behind so many characters; a negative count leaves out so many at the end.
fn split_at(text: &str, count: i64) -> usize {
    if count >= 0 { byte_of(text, count) } else { byte_of(text, text.chars().count() as i64 + count) }
}

fn right(text: &str, count: i64) -> Datum {
    let skipped = if count >= 0 { text.chars().count() as i64 - count } else { -count };
    Datum::text(&text[byte_of(text, skipped)..])
}

fn replaced(whole: &str, from: &str, to: &str) -> Result<Datum> {
    let longer = to.len().saturating_sub(from.len());
    if longer > 0 {
        fits(whole.matches(from).count().saturating_mul(longer).saturating_add(whole.len()))?;
    }
    Ok(Datum::text(whole.replace(from, to)))
}

fn pad(text: &str, length: i64, fill: &str, is_left: bool) -> Result<Datum> {
    let length = length.max(0);
    if length > LONGEST as i64 / 4 {
        return Err(too_large());
    }
    let missing = length - text.chars().count() as i64;
    if missing <= 0 || fill.is_empty() {
        return Ok(Datum::text(&text[..byte_of(text, length)]));
    }
    let filling: String = fill.chars().cycle().take(missing as usize).collect();
    Ok(Datum::text(if is_left { filling + text } else { format!("{text}{filling}") }))
}

fn trim(datum: &Datum, set: &str, at_start: bool, at_end: bool) -> Datum {
    let whole = text(datum);
    let mut trimmed = whole;
    let many: HashSet<char> = if set.len() > FEW_CHARACTERS { set.chars().collect() } else { HashSet::new() };
    let is_in = |character| if many.is_empty() { set.contains(character) } else { many.contains(&character) };
    if at_start {
        trimmed = trimmed.trim_start_matches(is_in);
    }
    if at_end {
        trimmed = trimmed.trim_end_matches(is_in);
    }
    if trimmed.len() == whole.len() { datum.clone() } else { Datum::text(trimmed) }
}

fn position(text: &str, part: &str) -> Datum {
    Int(text.find(part).map_or(0, |at| text[..at].chars().count() as i64 + 1))
}

fn translate(text: &str, from: &str, to: &str) -> Datum {
    let mut targets = to.chars();
    let pairs = from.chars().map(|character| (character, targets.next()));
    let replaced: String = if from.len() <= FEW_CHARACTERS {
        let pairs: Vec<_> = pairs.collect();
        let target = |character| pairs.iter().find(|(known, _)| *known == character).map(|(_, target)| *target);
        text.chars().filter_map(|character| target(character).unwrap_or(Some(character))).collect()
    } else {
        // The first of two that are alike counts.
        let mut known = HashMap::new();
        pairs.for_each(|(character, target)| {
            known.entry(character).or_insert(target);
        });
        text.chars().filter_map(|character| known.get(&character).copied().unwrap_or(Some(character))).collect()
    };
    Datum::text(replaced)
}

fn repeat(text: &str, count: i64) -> Result<Datum> {
    let count = count.max(0);
    if count.saturating_mul(text.len() as i64) > LONGEST as i64 {
        return Err(too_large());
    }
    Ok(Datum::text(text.repeat(count as usize)))
}

fn split_part(text: &str, separator: &str, field: i64) -> Result<Datum> {
    let position = field.unsigned_abs() as usize;
    let found = match (field, separator) {
        (0, _) => return Err(invalid("field position must not be zero")),
        (1 | -1, "") => Some(text),
        (_, "") => None,
        (1.., _) => text.split(separator).nth(position - 1),
        _ => text.rsplit(separator).nth(position - 1),
    };
    Ok(Datum::text(found.unwrap_or("")))
}

/// Joins what is not NULL, from a place on.
fn concat(call: &Call<'_>, arguments: &[Datum], from: usize, separator: &str) -> Result<String> {
    let mut out = Vec::new();
    let values = arguments.iter().zip(call.types).skip(from).filter(|(value, _)| !value.is_null());
    for (place, (value, ty)) in values.enumerate() {
        if place > 0 {
            out.extend_from_slice(separator.as_bytes());
        }
        push_shown(call, value, *ty, &mut out);
        fits(out.len())?;
    }
    Ok(String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

fn push_shown(call: &Call<'_>, value: &Datum, ty: Type, out: &mut Vec<u8>) {
    match value {
        Datum::Text(text) => out.extend_from_slice(text.as_bytes()),
        _ => crate::value::push_text(value, ty.into(), call.environment.settings(), out),
    }
}

fn quote_nullable(datum: Datum) -> Datum {
    match datum {
        Null => Datum::text("NULL"),
        value => Datum::text(literal(text(&value))),
    }
}

fn character(code: i64) -> Result<Datum> {
    if code == 0 {
        return Err(error(SqlState::ProgramLimitExceeded, "null character not permitted"));
    }
    if code < 0 {
        return Err(error(SqlState::ProgramLimitExceeded, "character number must be positive"));
    }
    let character = u32::try_from(code).ok().and_then(char::from_u32);
    let fault = || error(SqlState::ProgramLimitExceeded, format!("requested character not valid for encoding: {code}"));
    character.map(|character| Datum::text(character.to_string())).ok_or_else(fault)
}

fn convert_from(value: &[u8], encoding: &str) -> Result<Datum> {
    if !matches!(encoding.to_ascii_lowercase().as_str(), "utf8" | "utf-8" | "unicode") {
        return Err(invalid(format!("invalid source encoding name \"{encoding}\"")));
    }
    let text = std::str::from_utf8(value).map_err(|fault| {
        let byte = value[fault.valid_up_to()];
        let message = format!("invalid byte sequence for encoding \"UTF8\": 0x{byte:02x}");
        error(SqlState::CharacterNotInRepertoire, message)
    })?;
    without_nul(text).map(Datum::text)
}

fn get_byte(value: &[u8], index: i64) -> Result<Datum> {
    let byte = usize::try_from(index).ok().and_then(|index| value.get(index));
    let last = value.len() as i64 - 1;
    byte.map(|byte| Int(i64::from(*byte)))
        .ok_or_else(|| error(SqlState::ArraySubscriptError, format!("index {index} out of valid range, 0..{last}")))
}

fn string_to_array(value: &Datum, separator: &Datum, null: &Datum) -> Result<Datum> {
    if value.is_null() {
        return Ok(Null);
    }
    pieces(value, separator, null).map(array)
}

/// Splits a text, which is not NULL, into texts. A separator that is NULL splits at each character.
///
/// # Errors
/// 54000 where there are too many for one value.
pub(super) fn pieces(value: &Datum, separator: &Datum, null: &Datum) -> Result<Vec<Datum>> {
    let value = text(value);
    let piece = |piece: &str| match null {
        Datum::Text(null) if **null == *piece => Null,
        _ => Datum::text(piece),
    };
    Ok(match separator {
        _ if value.is_empty() => Vec::new(),
        Null => {
            pieces_fit(value.chars().count(), value.len())?;
            value.chars().map(|character| piece(character.encode_utf8(&mut [0; 4]))).collect()
        }
        separator if text(separator).is_empty() => vec![piece(value)],
        separator => {
            pieces_fit(value.matches(text(separator)).count(), value.len())?;
            value.split(text(separator)).map(piece).collect()
        }
    })
}

fn overlay(text: &str, part: &str, from: i64, count: i64) -> Result<Datum> {
    if from <= 0 {
        return Err(error(SqlState::SubstringError, "negative substring length not allowed"));
    }
    let start = byte_of(text, from - 1);
    let end = byte_of(text, (from - 1).saturating_add(count));
    fits(start + part.len() + text.len() - end)?;
    Ok(Datum::text(format!("{}{part}{}", &text[..start], &text[end..])))
}
