//! The functions of expressions, of values that are not NULL.

use std::borrow::Cow;

use super::failure::Failure;
use super::floats::float;
use super::memory::Arena;
use crate::procedure::expression::Function;
use crate::table::Value;

/// Functions of values that are not NULL.
pub(super) fn strict<'a>(arena: &'a Arena, function: Function, values: &[Value<'a>]) -> Result<Value<'a>, Failure> {
    Ok(match (function, values) {
        (Function::Abs, [Value::Int(value)]) => {
            Value::Int(value.checked_abs().ok_or_else(|| Failure::out_of_range("bigint"))?)
        }
        (Function::Abs, [Value::Numeric(units)]) => Value::Numeric(units.abs()),
        (Function::Abs, [Value::Float(value)]) => float(value.abs()),
        (Function::Sign, [Value::Int(value) | Value::Numeric(value)]) => Value::Int(value.signum()),
        (Function::Sign, [Value::Float(value)]) => float(if *value == 0.0 { *value } else { value.signum() }),
        (Function::Sqrt, [Value::Float(value)]) if *value < 0.0 => {
            return Err(Failure::raised("2201F", "a negative number has no square root"));
        }
        // IEEE 754 defines its result to the last bit.
        (Function::Sqrt, [Value::Float(value)]) => float(value.sqrt()),
        (Function::Length, [Value::Text(text)]) => Value::Int(text.chars().count() as i64),
        (Function::Length, [Value::Bytes(bytes)]) => Value::Int(bytes.len() as i64),
        (Function::Lower, [Value::Text(text)]) => Value::Text(arena.text(&text.to_ascii_lowercase())?),
        (Function::Upper, [Value::Text(text)]) => Value::Text(arena.text(&text.to_ascii_uppercase())?),
        (Function::Trim, [Value::Text(text)]) => Value::Text(text.trim_matches(' ')),
        (Function::Left, [Value::Text(text), Value::Int(count)]) => {
            let length = text.chars().count() as i64;
            let count = if *count < 0 { length.saturating_add(*count) } else { *count };
            Value::Text(characters(text, 0, count))
        }
        (Function::Right, [Value::Text(text), Value::Int(count)]) => {
            let length = text.chars().count() as i64;
            let skipped = if *count < 0 { count.saturating_neg() } else { length.saturating_sub(*count) };
            Value::Text(characters(text, skipped, i64::MAX))
        }
        (Function::Substring, [Value::Text(text), Value::Int(from), rest @ ..]) => {
            let (skipped, count) = substring(*from, rest)?;
            Value::Text(characters(text, skipped, count))
        }
        (Function::Substring, [Value::Bytes(bytes), Value::Int(from), rest @ ..]) => {
            let (skipped, count) = substring(*from, rest)?;
            let at = |place: i64| usize::try_from(place).unwrap_or(0).min(bytes.len());
            let begin = at(skipped);
            Value::Bytes(&bytes[begin..at(skipped.saturating_add(count)).max(begin)])
        }
        (Function::Position, [Value::Text(text), Value::Text(part)]) => {
            Value::Int(text.find(part).map_or(0, |at| text[..at].chars().count() as i64 + 1))
        }
        (Function::Replace, [Value::Text(text), Value::Text(what), Value::Text(by)]) => match what.is_empty() {
            true => Value::Text(text),
            false => {
                // What it will take is known before it is made.
                let length = text.len() + text.matches(what).count() * by.len();
                arena.take(length)?;
                Value::Text(arena.text(&text.replace(what, by))?)
            }
        },
        (Function::PadLeft, [Value::Text(text), Value::Int(length), Value::Text(fill)]) => {
            Value::Text(match padded(arena, text, *length, fill)? {
                Cow::Borrowed(text) => text,
                Cow::Owned(text) => arena.text(&text)?,
            })
        }
        (function, values) => unreachable!("{} was compiled for other values than {values:?}", function.name()),
    })
}

/// Returns how many characters are skipped and how many are taken at most, as SQL counts them: from 1, and before the first
/// one, too.
fn substring(from: i64, count: &[Value<'_>]) -> Result<(i64, i64), Failure> {
    let skipped = from.saturating_sub(1);
    match count {
        [Value::Int(count)] if *count < 0 => Err(Failure::raised("22011", "a substring has no negative length")),
        [Value::Int(count)] => Ok((skipped.max(0), count.saturating_add(skipped.min(0)).max(0))),
        _ => Ok((skipped.max(0), i64::MAX)),
    }
}

/// Returns up to `count` characters after the first `skipped`.
fn characters(text: &str, skipped: i64, count: i64) -> &str {
    let place = |text: &str, count: i64| {
        let count = usize::try_from(count).unwrap_or(0);
        text.char_indices().nth(count).map_or(text.len(), |(at, _)| at)
    };
    let rest = &text[place(text, skipped)..];
    &rest[..place(rest, count)]
}

fn padded<'a>(arena: &Arena, text: &'a str, length: i64, fill: &str) -> Result<Cow<'a, str>, Failure> {
    let has = text.chars().count() as i64;
    if length <= has || fill.is_empty() {
        return Ok(Cow::Borrowed(characters(text, 0, length.min(has))));
    }
    let missing = usize::try_from(length - has).unwrap_or(usize::MAX);
    // A character takes four bytes at most, and the result is copied once.
    arena.take(missing.saturating_mul(4))?;
    let padding: String = fill.chars().cycle().take(missing).collect();
    Ok(Cow::Owned(padding + text))
}
