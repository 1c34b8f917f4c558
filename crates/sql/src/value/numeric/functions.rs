//! Square root, exponential function, logarithm and power.
//!
//! Invariants:
//! - Results have the scale that PostgreSQL gives them, and are right to at least 16 significant digits where they show so many.
//! - Series run over binary fractions of a fixed width, whose spare bits outweigh what the steps lose.

use bigdecimal::num_bigint::BigInt;
use bigdecimal::{One, Signed, ToPrimitive, Zero};

use super::{
    DISPLAY_SCALE_MAX, Numeric, SIGNIFICANT_DIGITS_MIN, WHOLE_DIGITS_MAX, divide_rounded, overflow, power_of_ten,
    rescale,
};
use crate::error::{Result, SqlError, SqlState};

/// Arguments of the exponential function beyond which it overflows, or is zero.
const EXP_MAX: f64 = 6_000.0;
/// Decimal digits beyond those that are asked for.
const SPARE_DIGITS: i64 = 20;

/// Chooses a scale for a result whose first digit has about this power of ten.
fn result_scale(power: i64, scales: [u16; 2]) -> u16 {
    let shown = scales.into_iter().max().map_or(0, i64::from);
    (SIGNIFICANT_DIGITS_MIN - power).max(shown).clamp(0, DISPLAY_SCALE_MAX) as u16
}

/// Returns how many bits hold so many decimal digits.
fn bits_of(digits: i64) -> usize {
    (digits.max(1) as f64 * std::f64::consts::LOG2_10) as usize + 32
}

fn zero(scale: u16) -> Numeric {
    Numeric::from_big(BigInt::ZERO, scale)
}

impl Numeric {
    /// Returns the square root.
    ///
    /// # Errors
    /// The root of a number below zero.
    pub fn sqrt(&self) -> Result<Numeric> {
        if self.sign() < 0 {
            let message = "cannot take square root of a negative number";
            return Err(SqlError::new(SqlState::InvalidArgumentForPowerFunction, message));
        }
        let (weight, _) = self.leading();
        Ok(self.root(result_scale((weight + 1) * 2 - 1, [self.scale(), 0])))
    }

    /// Returns the square root of a number that is not below zero, with as many digits behind the point as the number has.
    pub fn sqrt_of_same_scale(&self) -> Numeric {
        debug_assert!(self.sign() >= 0, "the caller has looked");
        self.root(self.scale())
    }

    fn root(&self, result: u16) -> Numeric {
        let Some((units, scale)) = self.parts() else { return self.clone() };
        let square = rescale(&units, scale, 2 * i64::from(result));
        let root = square.sqrt();
        let is_above_half = &square - &root * &root > root;
        Numeric::from_big(if is_above_half { root + 1 } else { root }, result)
    }

    /// Returns Euler's number to this power.
    ///
    /// # Errors
    /// A result with too many digits.
    pub fn exp(&self) -> Result<Numeric> {
        let Some((units, scale)) = self.parts() else {
            return Ok(if self.sign() < 0 { Numeric::ZERO } else { self.clone() });
        };
        let natural = self.to_f64();
        let power = (natural * std::f64::consts::LOG10_E) as i64;
        let result = result_scale(power, [self.scale(), 0]);
        if natural >= EXP_MAX {
            return Err(overflow());
        }
        if natural <= -EXP_MAX {
            return Ok(zero(result));
        }
        let bits = bits_of(i64::from(result) + power.abs() * 2 + SPARE_DIGITS);
        let argument = (units.as_ref() << bits) / power_of_ten(scale.into());
        Ok(from_fixed(&exp_fixed(&argument, bits), bits, result))
    }

    /// Returns the natural logarithm.
    ///
    /// # Errors
    /// The logarithm of zero and of numbers below it.
    pub fn ln(&self) -> Result<Numeric> {
        let refuse = |what: &str| {
            let message = format!("cannot take logarithm of {what}");
            Err(SqlError::new(SqlState::InvalidArgumentForLogarithm, message))
        };
        match self.sign() {
            _ if self.is_nan() => return Ok(Numeric::NAN),
            0 => return refuse("zero"),
            -1 => return refuse("a negative number"),
            _ => {}
        }
        let result = result_scale(self.ln_power(), [self.scale(), 0]);
        let bits = bits_of(i64::from(result) + SPARE_DIGITS);
        Ok(self.ln_fixed(bits).map_or(Numeric::INFINITY, |fixed| from_fixed(&fixed, bits, result)))
    }

    /// Estimates the power of ten of the first digit of the logarithm.
    fn ln_power(&self) -> i64 {
        let distance = self.sub(&Numeric::from_i64(1));
        if distance.abs() <= Numeric::from_units(1, 1) {
            return distance.exponent().unwrap_or(0);
        }
        let estimate = self.decimal_logarithm() * std::f64::consts::LN_10;
        if estimate == 0.0 { 0 } else { estimate.abs().log10() as i64 }
    }

    /// Estimates the logarithm to base 10 of the distance from zero, of a finite number that is not zero.
    fn decimal_logarithm(&self) -> f64 {
        const LEADING: usize = 17;
        let mut buffer = [0; super::INT_DIGITS_MAX];
        let digits = self.digits(&mut buffer);
        let leading = &digits[..digits.len().min(LEADING)];
        let mantissa = leading.iter().fold(0.0, |sum, digit| sum * 10.0 + f64::from(digit - b'0'));
        mantissa.log10() - (leading.len() - 1) as f64 + self.exponent().unwrap_or(0) as f64
    }

    /// Returns the logarithm of a number above zero as a fraction with so many bits; `None` for Infinity.
    fn ln_fixed(&self, bits: usize) -> Option<BigInt> {
        let (units, scale) = self.parts()?;
        let ten_power = power_of_ten(scale.into());
        // The number is 2^twos times a number from 1/2 to 2.
        let twos = units.bits() as i64 - ten_power.bits() as i64;
        let one = BigInt::one() << bits;
        let shift = bits as i64 - twos;
        let near_one = if shift >= 0 {
            (units.as_ref() << shift as usize) / ten_power
        } else {
            (units.as_ref() >> shift.unsigned_abs() as usize) / ten_power
        };
        let ln_two = inverse_tangent(&(&one / 3), bits) * 2;
        let ratio = ((&near_one - &one) << bits) / (&near_one + &one);
        Some(inverse_tangent(&ratio, bits) * 2 + ln_two * twos)
    }

    /// Raises the number to a power.
    ///
    /// # Errors
    /// Zero to a power below zero, a number below zero to a power that is not whole, and a result with too many digits.
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        let refuse = |message: &str| Err(SqlError::new(SqlState::InvalidArgumentForPowerFunction, message));
        let one = Numeric::from_i64(1);
        if self.is_nan() || exponent.is_nan() {
            let is_one = exponent.is_zero() || (exponent.is_nan() && *self == one);
            return Ok(if is_one { one } else { Numeric::NAN });
        }
        if self.is_zero() && exponent.sign() < 0 {
            return refuse("zero raised to a negative power is undefined");
        }
        if self.sign() < 0 && exponent.is_finite() && !exponent.is_integral() {
            return refuse("a negative number raised to a non-integer power yields a complex result");
        }
        if !self.is_finite() || !exponent.is_finite() {
            return Ok(self.power_infinite(exponent));
        }
        match exponent.is_integral().then(|| exponent.to_i64()).flatten().and_then(|whole| i32::try_from(whole).ok()) {
            Some(whole) => self.power_whole(whole),
            None => self.power_real(exponent),
        }
    }

    /// Raises to a power where one of both numbers is infinite and none is NaN.
    fn power_infinite(&self, exponent: &Numeric) -> Numeric {
        let one = Numeric::from_i64(1);
        if exponent.is_finite() {
            let is_odd =
                exponent.is_integral() && exponent.rem(&Numeric::from_i64(2)).is_ok_and(|rest| !rest.is_zero());
            return match exponent.sign() {
                0 => one,
                -1 => Numeric::ZERO,
                _ if self.sign() < 0 && is_odd => Numeric::NEGATIVE_INFINITY,
                _ => Numeric::INFINITY,
            };
        }
        let magnitude = self.abs();
        match (magnitude.cmp(&one), exponent.sign() > 0) {
            (std::cmp::Ordering::Equal, _) => one,
            (std::cmp::Ordering::Greater, true) | (std::cmp::Ordering::Less, false) => Numeric::INFINITY,
            _ => Numeric::ZERO,
        }
    }

    /// Raises to a whole power: squares and multiplies, and keeps the digits that count.
    fn power_whole(&self, exponent: i32) -> Result<Numeric> {
        let scale = result_scale(0, [self.scale(), 0]);
        if exponent == 0 || self.is_zero() {
            let number = if exponent == 0 { Numeric::from_i64(1) } else { Numeric::ZERO };
            return Ok(number.round(scale.into()));
        }
        let power = self.decimal_logarithm() * f64::from(exponent);
        if power > WHOLE_DIGITS_MAX as f64 {
            return Err(overflow());
        }
        if power + 1.0 < -f64::from(scale) {
            return Ok(zero(scale));
        }

        let kept = (power.max(0.0) as i64 + i64::from(scale) + 2 * SPARE_DIGITS) as u64;
        let (units, own_scale) = self.parts().expect("the power of an infinite number is taken elsewhere");
        let (units, ten_power) = raise(&units, -i64::from(own_scale), exponent.unsigned_abs(), kept);
        // Units and power of ten of the result at its scale.
        let places = i64::from(scale) + if exponent < 0 { -ten_power } else { ten_power };
        let factor = power_of_ten(u32::try_from(places.unsigned_abs()).map_err(|_| overflow())?);
        let result = match (exponent < 0, places >= 0) {
            (false, true) => units * factor,
            (false, false) => divide_rounded(&units, &factor),
            (true, true) => divide_rounded(&factor, &units),
            (true, false) => divide_rounded(&BigInt::one(), &(units * factor)),
        };
        Numeric::from_big(result, scale).checked()
    }

    /// Raises to a power that is not whole, or too large for the other way.
    fn power_real(&self, exponent: &Numeric) -> Result<Numeric> {
        if self.is_zero() {
            return Ok(zero(SIGNIFICANT_DIGITS_MIN as u16));
        }
        let is_odd = self.sign() < 0 && !exponent.rem(&Numeric::from_i64(2))?.is_zero();
        let base = self.abs();
        let natural = ln_estimate(&base) * exponent.to_f64();
        if natural > EXP_MAX {
            return Err(overflow());
        }
        if natural < -EXP_MAX {
            return Ok(zero(DISPLAY_SCALE_MAX as u16));
        }

        let power = (natural * std::f64::consts::LOG10_E) as i64;
        let scale = result_scale(power, [self.scale(), exponent.scale()]);
        let exponent_digits = exponent.exponent().unwrap_or(0).max(0);
        let bits = bits_of(i64::from(scale) + power.abs() * 2 + exponent_digits + SPARE_DIGITS);
        let ln = base.ln_fixed(bits).unwrap_or_default();
        let (units, exponent_scale) = exponent.parts().unwrap_or_default();
        let argument = ln * units.as_ref() / power_of_ten(exponent_scale.into());
        let result = from_fixed(&exp_fixed(&argument, bits), bits, scale);
        Ok(if is_odd { result.neg() } else { result })
    }
}

/// Estimates a logarithm to the digits of a float.
fn ln_estimate(base: &Numeric) -> f64 {
    const BITS: usize = 192;
    let fixed = base.ln_fixed(BITS).and_then(|fixed| fixed.to_f64()).unwrap_or(f64::INFINITY);
    fixed / 2_f64.powi(BITS as i32)
}

/// Returns units and power of ten of a number to a power, to so many digits at least.
fn raise(units: &BigInt, ten_power: i64, exponent: u32, kept: u64) -> (BigInt, i64) {
    let (mut square, mut square_power) = (units.clone(), ten_power);
    let (mut result, mut result_power) = (BigInt::one(), 0);
    let mut rest = exponent;
    loop {
        if rest & 1 == 1 {
            (result, result_power) = shorten(result * &square, result_power + square_power, kept);
        }
        rest >>= 1;
        if rest == 0 {
            return (result, result_power);
        }
        (square, square_power) = shorten(&square * &square, square_power * 2, kept);
    }
}

/// Drops digits of units beyond those that are kept; returns the units and their power of ten.
fn shorten(units: BigInt, power: i64, kept: u64) -> (BigInt, i64) {
    let digits = (units.bits() as f64 / std::f64::consts::LOG2_10) as u64;
    let dropped = digits.saturating_sub(kept);
    if dropped == 0 {
        return (units, power);
    }
    (divide_rounded(&units, &power_of_ten(dropped as u32)), power + dropped as i64)
}

/// Makes a number of a binary fraction, rounded to a scale.
fn from_fixed(fixed: &BigInt, bits: usize, scale: u16) -> Numeric {
    Numeric::from_big(divide_rounded(&(fixed * power_of_ten(scale.into())), &(BigInt::one() << bits)), scale)
}

/// Returns the area tangent of a fraction well below 1: x + x^3/3 + x^5/5 and so on.
fn inverse_tangent(ratio: &BigInt, bits: usize) -> BigInt {
    let square = (ratio * ratio) >> bits;
    let (mut power, mut sum, mut divisor) = (ratio.clone(), ratio.clone(), 1_u32);
    loop {
        power = (power * &square) >> bits;
        divisor += 2;
        let term = &power / divisor;
        if term.is_zero() {
            return sum;
        }
        sum += term;
    }
}

/// Returns Euler's number to the power of a fraction: the series of a fraction that was halved often, squared as often.
fn exp_fixed(argument: &BigInt, bits: usize) -> BigInt {
    const HALVINGS: u64 = 8;
    let halvings = (argument.bits() + HALVINGS).saturating_sub(bits as u64).max(HALVINGS) as usize;
    // Each squaring doubles the error.
    let bits_inside = bits + 2 * halvings;
    let fraction = (argument.abs() << (bits_inside - bits)) >> halvings;

    let one = BigInt::one() << bits_inside;
    let (mut term, mut sum, mut divisor) = (one.clone(), one.clone(), 0_u32);
    while !term.is_zero() {
        divisor += 1;
        term = ((term * &fraction) >> bits_inside) / divisor;
        sum += &term;
    }
    for _ in 0..halvings {
        sum = (&sum * &sum) >> bits_inside;
    }
    if argument.is_negative() {
        sum = (&one << bits_inside) / sum;
    }
    sum >> (bits_inside - bits)
}
