//! Computations with floats.
//!
//! Invariant: they give the same on every processor, because what they give is part of what a log of commands means.

use super::failure::Failure;
use crate::procedure::code::Arithmetic;
use crate::procedure::numeric::Rounding;
use crate::table::Value;

/// What a computation with floats gives. IEEE 754 does not say which NaN, and processors differ, so that it is always the same
/// one.
#[inline]
pub(super) fn float<'a>(value: f64) -> Value<'a> {
    Value::Float(if value.is_nan() { f64::NAN } else { value })
}

/// Computes with two floats; NULL where one of them is none.
pub(super) fn float_arithmetic<'a>(operator: Arithmetic, a: Value<'a>, b: Value<'a>) -> Result<Value<'a>, Failure> {
    let (Value::Float(a), Value::Float(b)) = (a, b) else { return Ok(Value::Null) };
    let result = match operator {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide | Arithmetic::Remainder if b == 0.0 => return Err(Failure::division_by_zero()),
        Arithmetic::Divide => a / b,
        Arithmetic::Remainder => a % b,
    };
    match result.is_infinite() && a.is_finite() && b.is_finite() {
        true => Err(Failure::out_of_range("double precision")),
        false => Ok(float(result)),
    }
}

/// Rounds a float to an integer.
pub(super) fn round_float(rounding: Rounding, value: f64) -> f64 {
    match rounding {
        // As PostgreSQL rounds floats.
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Truncate => value.trunc(),
        Rounding::Floor => value.floor(),
        Rounding::Ceil => value.ceil(),
    }
}
