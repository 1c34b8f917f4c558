//! Functions of numbers.

use super::argument::*;
use super::functions;
use super::operator::{checked, remainder};
use crate::datum::Datum;
use crate::datum::Datum::{Float, Int};
use crate::error::{Result, SqlState};
use crate::value::numeric::Numeric;

functions! {
    /// Functions of numbers.
    FUNCTIONS:
    "abs" (Int2) -> Int2 = |_, a| int2(int(&a[0]).abs());
    "abs" (Int4) -> Int4 = |_, a| int4(int(&a[0]).abs());
    "abs" (Int8) -> Int8 = |_, a| int8(int(&a[0]).checked_abs());
    "abs" (Float4) -> Float4 = |_, a| Ok(Float(float(&a[0]).abs()));
    "abs" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).abs()));
    "abs" (Numeric) -> Numeric = |_, a| Ok(make_numeric(numeric(&a[0]).abs()));
    "ceil" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).ceil()));
    "ceil" (Numeric) -> Numeric = |_, a| Ok(make_numeric(numeric(&a[0]).ceil()));
    "ceiling" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).ceil()));
    "ceiling" (Numeric) -> Numeric = |_, a| Ok(make_numeric(numeric(&a[0]).ceil()));
    "floor" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).floor()));
    "floor" (Numeric) -> Numeric = |_, a| Ok(make_numeric(numeric(&a[0]).floor()));
    "round" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).round_ties_even()));
    "round" (Numeric) -> Numeric = |_, a| Ok(make_numeric(numeric(&a[0]).round(0)));
    "round" (Numeric, Int4) -> Numeric = |_, a| Ok(make_numeric(numeric(&a[0]).round(digits(&a[1]))));
    "trunc" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).trunc()));
    "trunc" (Numeric) -> Numeric = |_, a| Ok(make_numeric(numeric(&a[0]).trunc(0)));
    "trunc" (Numeric, Int4) -> Numeric = |_, a| Ok(make_numeric(numeric(&a[0]).trunc(digits(&a[1]))));
    "sign" (Float8) -> Float8 = |_, a| Ok(Float(sign(float(&a[0]))));
    "sign" (Numeric) -> Numeric = |_, a| match numeric(&a[0]) {
        value if value.is_nan() => Ok(a[0].clone()),
        value => Ok(make_numeric(Numeric::from_i64(value.sign().into()))),
    };
    "scale" (Numeric) -> Int4 = |_, a| Ok(Int(numeric(&a[0]).scale().into()));
    "sqrt" (Float8) -> Float8 = |_, a| square_root(a);
    "sqrt" (Numeric) -> Numeric = |_, a| match numeric(&a[0]).sign() {
        ..0 => Err(root_of_negative()),
        _ => numeric(&a[0]).sqrt().map(make_numeric),
    };
    "cbrt" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).cbrt()));
    "exp" (Float8) -> Float8 = |_, a| {
        let value = float(&a[0]);
        checked(value.exp(), value.is_infinite(), value.is_infinite())
    };
    "exp" (Numeric) -> Numeric = |_, a| numeric(&a[0]).exp().map(make_numeric);
    "ln" (Float8) -> Float8 = |_, a| positive(float(&a[0])).map(|value| Float(value.ln()));
    "ln" (Numeric) -> Numeric = |_, a| positive_numeric(&a[0])?.ln().map(make_numeric);
    "log" (Float8) -> Float8 = |_, a| positive(float(&a[0])).map(|value| Float(value.log10()));
    "log" (Numeric) -> Numeric = |_, a| logarithm(&Numeric::from_i64(10), positive_numeric(&a[0])?);
    "log" (Numeric, Numeric) -> Numeric = |_, a| logarithm(positive_numeric(&a[0])?, positive_numeric(&a[1])?);
    "log10" (Float8) -> Float8 = |_, a| positive(float(&a[0])).map(|value| Float(value.log10()));
    "log10" (Numeric) -> Numeric = |_, a| logarithm(&Numeric::from_i64(10), positive_numeric(&a[0])?);
    "power" (Float8, Float8) -> Float8 = |_, a| power(a);
    "power" (Numeric, Numeric) -> Numeric = |_, a| numeric(&a[0]).power(numeric(&a[1])).map(make_numeric);
    "pow" (Float8, Float8) -> Float8 = |_, a| power(a);
    "pow" (Numeric, Numeric) -> Numeric = |_, a| numeric(&a[0]).power(numeric(&a[1])).map(make_numeric);
    "mod" (Int2, Int2) -> Int2 = |_, a| remainder(a);
    "mod" (Int4, Int4) -> Int4 = |_, a| remainder(a);
    "mod" (Int8, Int8) -> Int8 = |_, a| remainder(a);
    "mod" (Numeric, Numeric) -> Numeric = |_, a| numeric(&a[0]).rem(numeric(&a[1])).map(make_numeric);
    "div" (Numeric, Numeric) -> Numeric = |_, a| quotient(numeric(&a[0]), numeric(&a[1])).map(make_numeric);
    "gcd" (Int4, Int4) -> Int4 = |_, a| int4(i64::try_from(divisor(a)).unwrap_or(i64::MAX));
    "gcd" (Int8, Int8) -> Int8 = |_, a| int8(i64::try_from(divisor(a)).ok());
    "lcm" (Int4, Int4) -> Int4 = |_, a| int4(multiple(a).unwrap_or(i64::MAX));
    "lcm" (Int8, Int8) -> Int8 = |_, a| int8(multiple(a));
    "factorial" (Int8) -> Numeric = |_, a| factorial(int(&a[0]));
    "pi" () -> Float8 = |_, _| Ok(Float(std::f64::consts::PI));
    "degrees" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]) / (std::f64::consts::PI / 180.0)));
    "radians" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]) * (std::f64::consts::PI / 180.0)));
    "sin" (Float8) -> Float8 = |_, a| finite(float(&a[0])).map(|value| Float(value.sin()));
    "cos" (Float8) -> Float8 = |_, a| finite(float(&a[0])).map(|value| Float(value.cos()));
    "tan" (Float8) -> Float8 = |_, a| finite(float(&a[0])).map(|value| Float(value.tan()));
    "cot" (Float8) -> Float8 = |_, a| finite(float(&a[0])).map(|value| Float(1.0 / value.tan()));
    "asin" (Float8) -> Float8 = |_, a| unit(float(&a[0])).map(|value| Float(value.asin()));
    "acos" (Float8) -> Float8 = |_, a| unit(float(&a[0])).map(|value| Float(value.acos()));
    "atan" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).atan()));
    "atan2" (Float8, Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).atan2(float(&a[1]))));
    "sinh" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).sinh()));
    "cosh" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).cosh()));
    "tanh" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).tanh()));
    "asinh" (Float8) -> Float8 = |_, a| Ok(Float(float(&a[0]).asinh()));
    "acosh" (Float8) -> Float8 = |_, a| match float(&a[0]) {
        value if value < 1.0 => Err(input_out_of_range()),
        value => Ok(Float(value.acosh())),
    };
    "atanh" (Float8) -> Float8 = |_, a| unit(float(&a[0])).map(|value| Float(value.atanh()));
    "min_scale" (Numeric) -> Int4 [lax] = |_, a| Ok(match &a[0] {
        Datum::Numeric(value) if value.is_finite() => Int(value.scale_min().into()),
        _ => Datum::Null,
    });
    "trim_scale" (Numeric) -> Numeric = |_, a| {
        let value = numeric(&a[0]);
        Ok(make_numeric(if value.is_finite() { value.trunc(value.scale_min().into()) } else { value.clone() }))
    };
    "random" () -> Float8 [volatile] = |call, _| Ok(Float(call.environment.random()));
    "setseed" (Float8) -> Void [volatile] = |call, a| set_seed(call, float(&a[0]));
    "width_bucket" (AnyElement, AnyArray) -> Int4 = |_, a| bucket_of_thresholds(&a[0], elements(&a[1]));
    "width_bucket" (Float8, Float8, Float8, Int4) -> Int4 = |_, a| {
        width_bucket(float(&a[0]), float(&a[1]), float(&a[2]), int(&a[3]))
    };
    "width_bucket" (Numeric, Numeric, Numeric, Int4) -> Int4 = |_, a| {
        numeric_width_bucket(numeric(&a[0]), numeric(&a[1]), numeric(&a[2]), int(&a[3]))
    };
}

fn set_seed(call: &super::Call<'_>, seed: f64) -> Result<Datum> {
    if !(-1.0..=1.0).contains(&seed) {
        let message = format!("setseed parameter {seed} is out of allowed range [-1,1]");
        return Err(error(SqlState::InvalidParameterValue, message));
    }
    call.environment.set_seed(seed);
    Ok(Datum::text(""))
}

/// Digits behind the point; more than a numeric can have are as many as it can.
fn digits(datum: &Datum) -> i32 {
    int(datum).clamp(-2_000, 2_000) as i32
}

fn sign(value: f64) -> f64 {
    if value > 0.0 {
        1.0
    } else if value < 0.0 {
        -1.0
    } else {
        0.0
    }
}

#[cold]
fn root_of_negative() -> crate::SqlError {
    error(SqlState::InvalidArgumentForPowerFunction, "cannot take square root of a negative number")
}

#[cold]
fn logarithm_of(what: &str) -> crate::SqlError {
    error(SqlState::InvalidArgumentForLogarithm, format!("cannot take logarithm of {what}"))
}

#[cold]
fn input_out_of_range() -> crate::SqlError {
    error(SqlState::NumericValueOutOfRange, "input is out of range")
}

pub(super) fn square_root(a: &[Datum]) -> Result<Datum> {
    let value = float(&a[0]);
    if value < 0.0 { Err(root_of_negative()) } else { Ok(Float(value.sqrt())) }
}

fn positive(value: f64) -> Result<f64> {
    if value == 0.0 {
        return Err(logarithm_of("zero"));
    }
    if value < 0.0 { Err(logarithm_of("a negative number")) } else { Ok(value) }
}

fn positive_numeric(datum: &Datum) -> Result<&Numeric> {
    let value = numeric(datum);
    match value.sign() {
        0 if !value.is_nan() => Err(logarithm_of("zero")),
        ..0 => Err(logarithm_of("a negative number")),
        _ => Ok(value),
    }
}

fn logarithm(base: &Numeric, value: &Numeric) -> Result<Datum> {
    value.ln()?.div(&base.ln()?).map(|result| make_numeric(result.round(16)))
}

fn finite(value: f64) -> Result<f64> {
    if value.is_infinite() { Err(input_out_of_range()) } else { Ok(value) }
}

/// Passes what is a sine.
fn unit(value: f64) -> Result<f64> {
    if value.abs() > 1.0 { Err(input_out_of_range()) } else { Ok(value) }
}

pub(super) fn power(a: &[Datum]) -> Result<Datum> {
    let (base, exponent) = (float(&a[0]), float(&a[1]));
    let fault = |message| Err(error(SqlState::InvalidArgumentForPowerFunction, message));
    if base == 0.0 && exponent < 0.0 {
        return fault("zero raised to a negative power is undefined");
    }
    if base < 0.0 && base.is_finite() && exponent.is_finite() && exponent.fract() != 0.0 {
        return fault("a negative number raised to a non-integer power yields a complex result");
    }
    let is_infinite = base.is_infinite() || exponent.is_infinite();
    checked(base.powf(exponent), is_infinite, is_infinite || base == 0.0)
}

fn quotient(dividend: &Numeric, divisor: &Numeric) -> Result<Numeric> {
    let rest = dividend.rem(divisor)?;
    Ok(dividend.sub(&rest).div(divisor)?.round(0))
}

/// The greatest common divisor of two whole numbers.
fn divisor(a: &[Datum]) -> u64 {
    let (mut first, mut second) = (int(&a[0]).unsigned_abs(), int(&a[1]).unsigned_abs());
    while second != 0 {
        (first, second) = (second, first % second);
    }
    first
}

/// The least common multiple of two whole numbers, if it is held.
fn multiple(a: &[Datum]) -> Option<i64> {
    let divisor = divisor(a);
    if divisor == 0 {
        return Some(0);
    }
    let product = (int(&a[0]).unsigned_abs() / divisor).checked_mul(int(&a[1]).unsigned_abs())?;
    i64::try_from(product).ok()
}

fn factorial(value: i64) -> Result<Datum> {
    if value < 0 {
        return Err(error(SqlState::NumericValueOutOfRange, "factorial of a negative number is undefined"));
    }
    if value > 32_177 {
        return Err(error(SqlState::NumericValueOutOfRange, "value overflows numeric format"));
    }
    Ok(make_numeric((2..=value).fold(Numeric::from_i64(1), |product, factor| product.mul(&Numeric::from_i64(factor)))))
}

/// Which of `count` equal parts between two bounds holds a value.
fn width_bucket(value: f64, low: f64, high: f64, count: i64) -> Result<Datum> {
    let fault = |message| Err(error(SqlState::InvalidArgumentForWidthBucket, message));
    if count <= 0 {
        return fault("count must be greater than zero");
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return fault("operand, lower bound, and upper bound cannot be NaN");
    }
    if low.is_infinite() || high.is_infinite() {
        return fault("lower and upper bounds must be finite");
    }
    if low == high {
        return fault("lower bound cannot equal upper bound");
    }
    let position = (value - low) / (high - low);
    Ok(Int(if position < 0.0 {
        0
    } else if position >= 1.0 {
        count + 1
    } else {
        (position * count as f64).floor() as i64 + 1
    }))
}

/// As [`width_bucket`], exactly.
fn numeric_width_bucket(value: &Numeric, low: &Numeric, high: &Numeric, count: i64) -> Result<Datum> {
    let all = [value, low, high];
    if count <= 0 || low == high || all.iter().any(|number| !number.is_finite()) {
        return width_bucket(value.to_f64(), low.to_f64(), high.to_f64(), count);
    }
    let is_falling = low > high;
    let is_before = if is_falling { value > low } else { value < low };
    let is_behind = if is_falling { value <= high } else { value >= high };
    if is_before || is_behind {
        return Ok(Int(if is_before { 0 } else { count + 1 }));
    }
    let position = value.sub(low).mul(&Numeric::from_i64(count));
    let bucket = quotient(&position, &high.sub(low))?;
    int4(bucket.to_i64().unwrap_or(i64::MAX).saturating_add(1))
}

/// How many of the thresholds, which are sorted, are not greater than a value.
fn bucket_of_thresholds(value: &Datum, thresholds: &[Datum]) -> Result<Datum> {
    if thresholds.iter().any(Datum::is_null) {
        return Err(error(SqlState::NullValueNotAllowed, "thresholds array must not contain NULLs"));
    }
    Ok(Int(thresholds.partition_point(|threshold| threshold <= value) as i64))
}
