//! Exact decimal numbers with the rules of PostgreSQL's `numeric`.
//!
//! Invariants:
//! - A finite number is `units * 10^-scale`. The scale is what is shown: 1.50 has scale 2. Order and hash do not see it.
//! - Units that fit an `i64` are held in one, so that small numbers need no allocation.
//! - The order is -Infinity, numbers, Infinity, NaN; NaN equals itself.
//!
//! Absent: a limit on the results of addition, subtraction and multiplication. [`Numeric::checked`] applies PostgreSQL's limit to
//! these, and whoever calls them is to apply it at the end; every other way to make a number applies it by itself. What is stored
//! is checked once more: beyond the limit it could not be read.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::{Signed, ToPrimitive};

use crate::error::{Result, SqlError, SqlState};
use crate::value::text::{INT_DIGITS_MAX, digits_of, trim};

mod arithmetic;
mod functions;
mod key;
mod wire;

pub use key::SCALE_LENGTH;

/// A decimal number.
#[derive(Clone, Debug)]
pub struct Numeric(Kind);

#[derive(Clone, Debug)]
enum Kind {
    NegativeInfinity,
    Small {
        units: i64,
        scale: u16,
    },
    /// Units that no `i64` holds.
    Big {
        units: BigInt,
        scale: u16,
    },
    PositiveInfinity,
    NaN,
}

/// The most digits before the point.
const WHOLE_DIGITS_MAX: i64 = 131_072;
/// The most digits after the point.
const SCALE_MAX: u16 = 16_383;
/// The most digits after the point that a division or a function gives.
const DISPLAY_SCALE_MAX: i64 = 1_000;
/// The fewest significant digits that a division or a function gives.
const SIGNIFICANT_DIGITS_MIN: i64 = 16;
/// The greatest power of ten by which units of 64 bits can be multiplied in 128 bits.
const SMALL_POWER_MAX: u32 = 18;

/// Returns the error of a number with too many digits.
pub(super) fn overflow() -> SqlError {
    SqlError::new(SqlState::NumericValueOutOfRange, "value overflows numeric format")
}

fn power_of_ten(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// Divides and rounds half away from zero.
fn divide_rounded(dividend: &BigInt, divisor: &BigInt) -> BigInt {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    if rest.abs() * 2 < divisor.abs() {
        return quotient;
    }
    if dividend.is_negative() == divisor.is_negative() { quotient + 1 } else { quotient - 1 }
}

/// Divides and rounds half away from zero; the divisor is positive.
fn divide_small(dividend: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    if rest.abs() < divisor - rest.abs() { quotient } else { quotient + dividend.signum() }
}

/// Brings units from one scale to another one; digits that fall off are rounded half away from zero.
fn rescale(units: &BigInt, from: u16, to: i64) -> BigInt {
    let shift = to - i64::from(from);
    let power = power_of_ten(u32::try_from(shift.unsigned_abs()).unwrap_or(u32::MAX));
    if shift >= 0 { units * power } else { divide_rounded(units, &power) }
}

/// Makes a number.
impl Numeric {
    /// NaN, which is no number.
    pub const NAN: Numeric = Numeric(Kind::NaN);
    /// Infinity.
    pub const INFINITY: Numeric = Numeric(Kind::PositiveInfinity);
    /// -Infinity.
    pub const NEGATIVE_INFINITY: Numeric = Numeric(Kind::NegativeInfinity);
    /// Zero, of scale 0.
    pub const ZERO: Numeric = Numeric(Kind::Small { units: 0, scale: 0 });

    fn from_small(units: i128, scale: u16) -> Numeric {
        match i64::try_from(units) {
            Ok(units) => Numeric(Kind::Small { units, scale }),
            Err(_) => Numeric(Kind::Big { units: units.into(), scale }),
        }
    }

    fn from_big(units: BigInt, scale: u16) -> Numeric {
        match units.to_i64() {
            Some(units) => Numeric(Kind::Small { units, scale }),
            None => Numeric(Kind::Big { units, scale }),
        }
    }

    /// Makes a whole number.
    pub fn from_i64(number: i64) -> Numeric {
        Numeric(Kind::Small { units: number, scale: 0 })
    }

    /// Makes a whole number.
    pub fn from_i128(number: i128) -> Numeric {
        Numeric::from_small(number, 0)
    }

    /// Makes the number `units * 10^-scale`, of that scale.
    pub fn from_units(units: i64, scale: u8) -> Numeric {
        Numeric(Kind::Small { units, scale: scale.into() })
    }

    /// Makes a number of the 15 significant digits that a float of 64 bits is sure of.
    pub fn from_f64(float: f64) -> Numeric {
        Numeric::from_float(float, 15)
    }

    /// Makes a number of the 6 significant digits that a float of 32 bits is sure of.
    pub fn from_f32(float: f32) -> Numeric {
        Numeric::from_float(float.into(), 6)
    }

    fn from_float(float: f64, digits: usize) -> Numeric {
        if float.is_nan() {
            return Numeric::NAN;
        }
        if float.is_infinite() {
            return if float > 0.0 { Numeric::INFINITY } else { Numeric::NEGATIVE_INFINITY };
        }
        let shown = format!("{:.*e}", digits - 1, float);
        let (mantissa, exponent) = shown.split_once('e').expect("the format writes an exponent");
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        Numeric::parse(&format!("{mantissa}e{exponent}")).expect("a float is a number within the limits")
    }

    /// Reads a number, as [`Numeric::read`] does; `None` where that fails.
    pub fn parse(text: &str) -> Option<Numeric> {
        Numeric::read(text).ok()
    }

    /// Reads a number as PostgreSQL does: digits with a point and an exponent, `NaN`, `Infinity`, `inf`, with blanks around it.
    ///
    /// # Errors
    /// Text that is no number, and numbers with too many digits.
    pub fn read(text: &str) -> Result<Numeric> {
        let invalid = || {
            let message = format!("invalid input syntax for type numeric: \"{text}\"");
            SqlError::new(SqlState::InvalidTextRepresentation, message)
        };
        let trimmed = trim(text);
        let (is_negative, unsigned) = match trimmed.as_bytes().first() {
            Some(b'-') => (true, &trimmed[1..]),
            Some(b'+') => (false, &trimmed[1..]),
            _ => (false, trimmed),
        };
        if !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return special(trimmed, unsigned, is_negative).ok_or_else(invalid);
        }

        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let exponent_digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if !is_digits(whole) || !is_digits(fraction) || whole.len() + fraction.len() == 0 {
            return Err(invalid());
        }
        if exponent_digits.is_empty() || !is_digits(exponent_digits) {
            return Err(invalid());
        }
        let exponent: i64 = exponent.parse::<i32>().map_err(|_| overflow())?.into();
        compose(is_negative, whole, fraction, exponent)
    }

    /// Gives the number back if it keeps to PostgreSQL's limits: 131072 digits before and 16383 after the point.
    ///
    /// # Errors
    /// A number with more digits.
    pub fn checked(self) -> Result<Numeric> {
        self.check().map(|()| self)
    }

    /// Refuses what [`Numeric::checked`] does.
    pub(crate) fn check(&self) -> Result<()> {
        let Kind::Big { units, scale } = &self.0 else { return Ok(()) };
        // A decimal digit has at least 3 and at most 4 bits.
        let is_short = units.bits() / 3 < WHOLE_DIGITS_MAX as u64;
        let whole = if is_short { 0 } else { units.magnitude().to_string().len() as i64 - i64::from(*scale) };
        if whole > WHOLE_DIGITS_MAX { Err(overflow()) } else { Ok(()) }
    }
}

/// Returns the number that is written as a word.
fn special(trimmed: &str, unsigned: &str, is_negative: bool) -> Option<Numeric> {
    if trimmed.eq_ignore_ascii_case("nan") {
        return Some(Numeric::NAN);
    }
    let is_infinite = unsigned.eq_ignore_ascii_case("infinity") || unsigned.eq_ignore_ascii_case("inf");
    is_infinite.then_some(if is_negative { Numeric::NEGATIVE_INFINITY } else { Numeric::INFINITY })
}

/// Makes a number of its digits before and after the point and its exponent.
fn compose(is_negative: bool, whole: &str, fraction: &str, exponent: i64) -> Result<Numeric> {
    let shift = fraction.len() as i64 - exponent;
    let scale = u16::try_from(shift.max(0)).ok().filter(|scale| *scale <= SCALE_MAX).ok_or_else(overflow)?;
    let length = whole.len() + fraction.len();
    if length <= SMALL_POWER_MAX as usize && shift >= 0 {
        let digits = whole.bytes().chain(fraction.bytes());
        let units = digits.fold(0_i64, |units, digit| units * 10 + i64::from(digit - b'0'));
        return Ok(Numeric(Kind::Small { units: if is_negative { -units } else { units }, scale }));
    }

    let digits = [whole.as_bytes(), fraction.as_bytes()].concat();
    let leading = digits.iter().take_while(|digit| **digit == b'0').count();
    if leading == length {
        return Ok(Numeric(Kind::Small { units: 0, scale }));
    }
    if (length - leading) as i64 - shift > WHOLE_DIGITS_MAX {
        return Err(overflow());
    }
    let magnitude = BigInt::parse_bytes(&digits, 10).expect("digits alone are a number");
    let magnitude = if shift < 0 { magnitude * power_of_ten(shift.unsigned_abs() as u32) } else { magnitude };
    Ok(Numeric::from_big(if is_negative { -magnitude } else { magnitude }, scale))
}

/// What a number is, and what it becomes as another type.
impl Numeric {
    /// Returns units and scale of a finite number.
    fn parts(&self) -> Option<(Cow<'_, BigInt>, u16)> {
        match &self.0 {
            Kind::Small { units, scale } => Some((Cow::Owned(BigInt::from(*units)), *scale)),
            Kind::Big { units, scale } => Some((Cow::Borrowed(units), *scale)),
            _ => None,
        }
    }

    /// Returns the digits of the units, without sign and leading zeros, in ASCII.
    fn digits<'b>(&self, buffer: &'b mut [u8; INT_DIGITS_MAX]) -> Cow<'b, [u8]> {
        match &self.0 {
            Kind::Small { units, .. } => Cow::Borrowed(digits_of(units.unsigned_abs(), buffer)),
            Kind::Big { units, .. } => Cow::Owned(units.magnitude().to_string().into_bytes()),
            _ => Cow::Borrowed(b"0"),
        }
    }

    /// Returns the power of ten of the first digit of a finite number that is not zero.
    fn exponent(&self) -> Option<i64> {
        let digits = self.digits(&mut [0; INT_DIGITS_MAX]).len() as i64;
        (!self.is_zero() && self.is_finite()).then(|| digits - 1 - i64::from(self.scale()))
    }

    /// Whether it is NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self.0, Kind::NaN)
    }

    /// Whether it is neither NaN nor infinite.
    pub fn is_finite(&self) -> bool {
        matches!(self.0, Kind::Small { .. } | Kind::Big { .. })
    }

    fn is_zero(&self) -> bool {
        matches!(self.0, Kind::Small { units: 0, .. })
    }

    /// Whether it is finite and has no digits other than zero after the point.
    pub fn is_integral(&self) -> bool {
        self.is_finite() && self.trunc(0) == *self
    }

    /// Returns how many digits after the point are shown.
    pub fn scale(&self) -> u16 {
        match self.0 {
            Kind::Small { scale, .. } | Kind::Big { scale, .. } => scale,
            _ => 0,
        }
    }

    /// Returns the fewest digits after the point that hold the value.
    pub fn scale_min(&self) -> u16 {
        let mut buffer = [0; INT_DIGITS_MAX];
        let digits = self.digits(&mut buffer);
        let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
        if self.is_zero() { 0 } else { self.scale().saturating_sub(zeros.min(usize::from(u16::MAX)) as u16) }
    }

    /// Returns -1, 0 or 1; of NaN 0.
    pub fn sign(&self) -> i32 {
        match &self.0 {
            Kind::NegativeInfinity => -1,
            Kind::Small { units, .. } => units.signum() as i32,
            Kind::Big { units, .. } => {
                if units.sign() == Sign::Minus {
                    -1
                } else {
                    1
                }
            }
            Kind::PositiveInfinity => 1,
            Kind::NaN => 0,
        }
    }

    /// Returns the float that is nearest.
    pub fn to_f64(&self) -> f64 {
        const EXACT_UNITS: u64 = 1 << f64::MANTISSA_DIGITS;
        const EXACT_POWER: u16 = 22;
        match &self.0 {
            Kind::NegativeInfinity => f64::NEG_INFINITY,
            Kind::PositiveInfinity => f64::INFINITY,
            Kind::NaN => f64::NAN,
            // Both are exact, so that the quotient is rounded once.
            Kind::Small { units, scale } if units.unsigned_abs() <= EXACT_UNITS && *scale <= EXACT_POWER => {
                *units as f64 / 10_f64.powi(i32::from(*scale))
            }
            _ => self.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// Returns the nearest whole number, the one farther from zero of two; `None` for NaN and where 64 bits do not hold it.
    pub fn to_i64(&self) -> Option<i64> {
        self.to_units(0)
    }

    /// Returns the number in units of `10^-scale`, rounded; `None` for NaN and where 64 bits do not hold it.
    pub fn to_units(&self, scale: u8) -> Option<i64> {
        match &self.0 {
            Kind::Small { units, scale: own } if *own == u16::from(scale) => Some(*units),
            Kind::Small { units, scale: own } => {
                let (units, shift) = (i128::from(*units), i32::from(scale) - i32::from(*own));
                let power = 10_i128.checked_pow(shift.unsigned_abs());
                let rescaled = match power {
                    Some(power) if shift >= 0 => units.checked_mul(power)?,
                    Some(power) => divide_small(units, power),
                    None if units == 0 || shift < 0 => 0,
                    None => return None,
                };
                i64::try_from(rescaled).ok()
            }
            Kind::Big { units, scale: own } => rescale(units, *own, scale.into()).to_i64(),
            _ => None,
        }
    }

    /// Rounds to the scale of `numeric(precision, scale)`.
    ///
    /// # Errors
    /// A number with more digits than the precision, and an infinite one.
    pub fn constrain(self, precision: u16, scale: i16) -> Result<Numeric> {
        let overflow = |detail: String| {
            let error = SqlError::new(SqlState::NumericValueOutOfRange, "numeric field overflow");
            Err(error.with_detail(format!("A field with precision {precision}, scale {scale} {detail}")))
        };
        if self.is_nan() {
            return Ok(self);
        }
        if !self.is_finite() {
            return overflow("cannot hold an infinite value.".to_owned());
        }

        let is_kept = i32::from(self.scale()) == i32::from(scale);
        let rounded = if is_kept { self } else { self.round(scale.into()) };
        let whole = i64::from(precision) - i64::from(scale);
        if rounded.exponent().is_some_and(|exponent| exponent >= whole) {
            let power = if whole == 0 { "1".to_owned() } else { format!("10^{whole}") };
            return overflow(format!("must round to an absolute value less than {power}."));
        }
        Ok(rounded)
    }

    /// Appends the number as text.
    pub fn push(&self, out: &mut Vec<u8>) {
        match self.0 {
            Kind::NegativeInfinity => return out.extend_from_slice(b"-Infinity"),
            Kind::PositiveInfinity => return out.extend_from_slice(b"Infinity"),
            Kind::NaN => return out.extend_from_slice(b"NaN"),
            _ => {}
        }
        let mut buffer = [0; INT_DIGITS_MAX];
        let (digits, scale) = (self.digits(&mut buffer), usize::from(self.scale()));
        if self.sign() < 0 {
            out.push(b'-');
        }
        let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
        out.extend_from_slice(if whole.is_empty() { b"0" } else { whole });
        if scale > 0 {
            out.push(b'.');
            out.resize(out.len() + scale - fraction.len(), b'0');
            out.extend_from_slice(fraction);
        }
    }
}

/// Brings two numbers to one scale, where 128 bits hold both and their sum.
fn aligned(a: i64, a_scale: u16, b: i64, b_scale: u16) -> Option<(i128, i128)> {
    let (a, b, distance) = (i128::from(a), i128::from(b), u32::from(a_scale.abs_diff(b_scale)));
    if distance > SMALL_POWER_MAX {
        return None;
    }
    let power = 10_i128.pow(distance);
    Some(if a_scale < b_scale { (a * power, b) } else { (a, b * power) })
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.push(&mut text);
        f.pad(&String::from_utf8_lossy(&text))
    }
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Numeric) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Numeric {}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Numeric) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Numeric {
    fn cmp(&self, other: &Numeric) -> Ordering {
        if let (Kind::Small { units: a, scale: s }, Kind::Small { units: b, scale: t }) = (&self.0, &other.0)
            && let Some((a, b)) = aligned(*a, *s, *b, *t)
        {
            return a.cmp(&b);
        }
        match (self.is_nan(), other.is_nan()) {
            (false, false) => {}
            (a, b) => return a.cmp(&b),
        }
        let by_sign = self.sign().cmp(&other.sign());
        if by_sign != Ordering::Equal {
            return by_sign;
        }
        match (self.parts(), other.parts()) {
            (Some((a, s)), Some((b, t))) => {
                let scale = i64::from(s.max(t));
                rescale(&a, s, scale).cmp(&rescale(&b, t, scale))
            }
            (None, None) => Ordering::Equal,
            // The infinite one is farther from zero.
            (None, Some(_)) => self.sign().cmp(&0),
            (Some(_), None) => 0.cmp(&self.sign()),
        }
    }
}

impl Hash for Numeric {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut buffer = [0; INT_DIGITS_MAX];
        match self.exponent() {
            Some(exponent) => {
                let digits = self.digits(&mut buffer);
                let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
                (self.sign(), exponent).hash(state);
                state.write(&digits[..digits.len() - zeros]);
            }
            None => (self.is_nan(), self.is_finite(), self.sign()).hash(state),
        }
    }
}

#[cfg(test)]
#[path = "numeric_tests.rs"]
mod tests;
