//! Operators of numbers, bits, texts and bytes.
//!
//! Absent: those of dates and times, arrays, JSON and patterns, which stand with their families.

use super::argument::*;
use super::bound::fits;
use super::{Call, functions};
use crate::datum::Datum;
use crate::datum::Datum::{Bytes, Float, Int};
use crate::error::{Result, SqlState};

/// The operators of whole numbers, for each pair of widths and the check of the result.
macro_rules! integers {
    ($($left:ident $right:ident $result:ident $check:ident),* $(,)?) => {
        functions! {
            /// Operators of whole numbers.
            INTEGER_OPERATORS: $(
                "+" ($left, $right) -> $result = |_, a| $check(int(&a[0]).checked_add(int(&a[1])));
                "-" ($left, $right) -> $result = |_, a| $check(int(&a[0]).checked_sub(int(&a[1])));
                "*" ($left, $right) -> $result = |_, a| $check(int(&a[0]).checked_mul(int(&a[1])));
                "/" ($left, $right) -> $result = |_, a| match int(&a[1]) {
                    0 => Err(division_by_zero()),
                    divisor => $check(int(&a[0]).checked_div(divisor)),
                };
            )*
        }
    };
}

fn small(value: Option<i64>) -> Result<Datum> {
    int2(value.unwrap_or(i64::MAX))
}

fn integer(value: Option<i64>) -> Result<Datum> {
    int4(value.unwrap_or(i64::MAX))
}

fn big(value: Option<i64>) -> Result<Datum> {
    int8(value)
}

integers! {
    Int2 Int2 Int2 small, Int2 Int4 Int4 integer, Int4 Int2 Int4 integer, Int4 Int4 Int4 integer,
    Int2 Int8 Int8 big, Int4 Int8 Int8 big, Int8 Int2 Int8 big, Int8 Int4 Int8 big, Int8 Int8 Int8 big,
}

/// What each width of whole numbers has for itself.
macro_rules! widths {
    ($($ty:ident $check:ident $bits:literal),* $(,)?) => {
        functions! {
            /// Operators of whole numbers of one width.
            WIDTH_OPERATORS: $(
                "%" ($ty, $ty) -> $ty = |_, a| remainder(a);
                "+" ($ty) -> $ty = |_, a| Ok(a[0].clone());
                "-" ($ty) -> $ty = |_, a| $check(int(&a[0]).checked_neg());
                "@" ($ty) -> $ty = |_, a| $check(int(&a[0]).checked_abs());
                "~" ($ty) -> $ty = |_, a| Ok(Int(!int(&a[0])));
                "&" ($ty, $ty) -> $ty = |_, a| Ok(Int(int(&a[0]) & int(&a[1])));
                "|" ($ty, $ty) -> $ty = |_, a| Ok(Int(int(&a[0]) | int(&a[1])));
                "#" ($ty, $ty) -> $ty = |_, a| Ok(Int(int(&a[0]) ^ int(&a[1])));
                "<<" ($ty, Int4) -> $ty = |_, a| Ok(Int(shifted(int(&a[0]), int(&a[1]), $bits)));
                ">>" ($ty, Int4) -> $ty = |_, a| Ok(Int(int(&a[0]) >> (int(&a[1]) & ($bits.max(32) - 1))));
            )*
        }
    };
}

widths! { Int2 small 16_i64, Int4 integer 32_i64, Int8 big 64_i64 }

/// The remainder of whole numbers, which has the sign of the dividend.
pub(super) fn remainder(a: &[Datum]) -> Result<Datum> {
    match int(&a[1]) {
        0 => Err(division_by_zero()),
        divisor => Ok(Int(int(&a[0]).wrapping_rem(divisor))),
    }
}

/// Shifts to the left within so many bits.
fn shifted(value: i64, count: i64, bits: i64) -> i64 {
    let shifted = value.wrapping_shl((count & (bits.max(32) - 1)) as u32);
    match bits {
        16 => i64::from(shifted as i16),
        32 => i64::from(shifted as i32),
        _ => shifted,
    }
}

/// Passes the result of floats that were finite, if it is finite.
///
/// # Errors
/// `value out of range: overflow` and `value out of range: underflow`.
pub(super) fn checked(result: f64, may_overflow: bool, may_be_zero: bool) -> Result<Datum> {
    if result.is_infinite() && !may_overflow {
        return Err(error(SqlState::NumericValueOutOfRange, "value out of range: overflow"));
    }
    if result == 0.0 && !may_be_zero {
        return Err(error(SqlState::NumericValueOutOfRange, "value out of range: underflow"));
    }
    Ok(Float(result))
}

fn rounded(
    a: &[Datum],
    is_single: bool,
    apply: fn(f64, f64) -> f64,
    may_be_zero: fn(f64, f64) -> bool,
) -> Result<Datum> {
    let (left, right) = (float(&a[0]), float(&a[1]));
    let result = apply(left, right);
    let result = if is_single { f64::from(result as f32) } else { result };
    checked(result, left.is_infinite() || right.is_infinite(), may_be_zero(left, right))
}

fn divided(a: &[Datum], is_single: bool) -> Result<Datum> {
    if float(&a[1]) == 0.0 && !float(&a[0]).is_nan() {
        return Err(division_by_zero());
    }
    rounded(a, is_single, |left, right| left / right, |left, right| left == 0.0 || right.is_infinite())
}

/// The operators of floats, for each pair of widths.
macro_rules! floats {
    ($($left:ident $right:ident $result:ident $is_single:literal),* $(,)?) => {
        functions! {
            /// Operators of floats.
            FLOAT_OPERATORS: $(
                "+" ($left, $right) -> $result = |_, a| rounded(a, $is_single, |x, y| x + y, |_, _| true);
                "-" ($left, $right) -> $result = |_, a| rounded(a, $is_single, |x, y| x - y, |_, _| true);
                "*" ($left, $right) -> $result = |_, a| {
                    rounded(a, $is_single, |x, y| x * y, |x, y| x == 0.0 || y == 0.0)
                };
                "/" ($left, $right) -> $result = |_, a| divided(a, $is_single);
            )*
        }
    };
}

floats! {
    Float4 Float4 Float4 true, Float4 Float8 Float8 false, Float8 Float4 Float8 false, Float8 Float8 Float8 false,
}

functions! {
    /// Operators of numerics, of floats alone, of texts and of bytes.
    OTHER_OPERATORS:
    "+" (Numeric, Numeric) -> Numeric = |_, a| numeric(&a[0]).add(numeric(&a[1])).checked().map(make_numeric);
    "-" (Numeric, Numeric) -> Numeric = |_, a| numeric(&a[0]).sub(numeric(&a[1])).checked().map(make_numeric);
    "*" (Numeric, Numeric) -> Numeric = |_, a| numeric(&a[0]).mul(numeric(&a[1])).checked().map(make_numeric);
    "/" (Numeric, Numeric) -> Numeric = |_, a| numeric(&a[0]).div(numeric(&a[1])).map(make_numeric);
    "%" (Numeric, Numeric) -> Numeric = |_, a| numeric(&a[0]).rem(numeric(&a[1])).map(make_numeric);
    "^" (Numeric, Numeric) -> Numeric = |_, a| numeric(&a[0]).power(numeric(&a[1])).map(make_numeric);
    "^" (Float8, Float8) -> Float8 = |_, a| super::math::power(a);
    "+" (Numeric) -> Numeric = |_, a| Ok(a[0].clone());
    "-" (Numeric) -> Numeric = |_, a| Ok(make_numeric(numeric(&a[0]).neg()));
    "@" (Numeric) -> Numeric = |_, a| Ok(make_numeric(numeric(&a[0]).abs()));
    "+" (Float4) -> Float4 = |_, a| Ok(a[0].clone());
    "+" (Float8) -> Float8 = |_, a| Ok(a[0].clone());
    "-" (Float4) -> Float4 = |_, a| Ok(Float(-float(&a[0])));
    "-" (Float8) -> Float8 = |_, a| Ok(Float(-float(&a[0])));
    "@" (Float4) -> Float4 = |_, a| Ok(Float(float(&a[0]).abs()));
    "@" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).abs()));
    "|/" (Float8) -> Float8 = |_, a| super::math::square_root(a);
    "||/" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).cbrt()));
    "||" (Text, Text) -> Text = |_, a| joined(text(&a[0]), text(&a[1]));
    "||" (Text, AnyNonArray) -> Text [stable] = |call, a| joined(text(&a[0]), &as_text(call, a, 1));
    "||" (AnyNonArray, Text) -> Text [stable] = |call, a| joined(&as_text(call, a, 0), text(&a[1]));
    "||" (Bytea, Bytea) -> Bytea = |_, a| {
        fits(bytes(&a[0]).len() + bytes(&a[1]).len())?;
        Ok(Bytes([bytes(&a[0]), bytes(&a[1])].concat().into()))
    };
}

/// An argument as it is cast to `text`.
fn as_text(call: &Call<'_>, arguments: &[Datum], at: usize) -> String {
    match &arguments[at] {
        Datum::Bool(value) => value.to_string(),
        Datum::Network(address) => {
            let mut text = String::new();
            address.push(true, &mut text);
            text
        }
        other => shown(call, other, call.types[at]),
    }
}

fn joined(first: &str, second: &str) -> Result<Datum> {
    fits(first.len() + second.len())?;
    let mut text = String::with_capacity(first.len() + second.len());
    text.push_str(first);
    text.push_str(second);
    Ok(Datum::text(text))
}
