//! Addition, multiplication, division and rounding.
//!
//! Invariant: results have the scale that PostgreSQL gives them: of sums the greater one, of products both together, of quotients
//! one that shows 16 significant digits at least.

use bigdecimal::num_bigint::BigInt;

use super::{
    DISPLAY_SCALE_MAX, Kind, Numeric, SCALE_MAX, SIGNIFICANT_DIGITS_MIN, aligned, divide_rounded, power_of_ten, rescale,
};
use crate::error::{Result, SqlError, SqlState};
use crate::value::text::INT_DIGITS_MAX;

/// Arithmetic.
impl Numeric {
    /// Adds.
    #[must_use]
    pub fn add(&self, other: &Numeric) -> Numeric {
        if let (Kind::Small { units: a, scale: s }, Kind::Small { units: b, scale: t }) = (&self.0, &other.0)
            && let Some((a, b)) = aligned(*a, *s, *b, *t)
        {
            return Numeric::from_small(a + b, *s.max(t));
        }
        match (self.parts(), other.parts()) {
            (Some((a, s)), Some((b, t))) => {
                let scale = s.max(t);
                Numeric::from_big(rescale(&a, s, scale.into()) + rescale(&b, t, scale.into()), scale)
            }
            _ if self.is_nan() || other.is_nan() => Numeric::NAN,
            (Some(_), None) => other.clone(),
            (None, None) if self.sign() != other.sign() => Numeric::NAN,
            _ => self.clone(),
        }
    }

    /// Subtracts.
    #[must_use]
    pub fn sub(&self, other: &Numeric) -> Numeric {
        self.add(&other.neg())
    }

    /// Multiplies.
    #[must_use]
    pub fn mul(&self, other: &Numeric) -> Numeric {
        if let (Kind::Small { units: a, scale: s }, Kind::Small { units: b, scale: t }) = (&self.0, &other.0)
            && s + t <= SCALE_MAX
        {
            return Numeric::from_small(i128::from(*a) * i128::from(*b), s + t);
        }
        match (self.parts(), other.parts()) {
            (Some((a, s)), Some((b, t))) => {
                let (units, scale) = (a.as_ref() * b.as_ref(), s + t);
                let kept = scale.min(SCALE_MAX);
                Numeric::from_big(if kept < scale { rescale(&units, scale, kept.into()) } else { units }, kept)
            }
            _ if self.is_nan() || other.is_nan() => Numeric::NAN,
            _ => match self.sign() * other.sign() {
                0 => Numeric::NAN,
                1 => Numeric::INFINITY,
                _ => Numeric::NEGATIVE_INFINITY,
            },
        }
    }

    /// Divides. The quotient has at least 16 significant digits.
    ///
    /// # Errors
    /// Division by zero.
    pub fn div(&self, other: &Numeric) -> Result<Numeric> {
        if self.is_nan() || other.is_nan() {
            return Ok(Numeric::NAN);
        }
        if other.is_zero() {
            return Err(SqlError::new(SqlState::DivisionByZero, "division by zero"));
        }
        match (self.parts(), other.parts()) {
            (Some((a, s)), Some((b, t))) => Ok(self.divide_finite((&a, s), other, (&b, t))),
            (None, None) => Ok(Numeric::NAN),
            (Some(_), None) => Ok(Numeric::ZERO),
            (None, Some(_)) if self.sign() == other.sign() => Ok(Numeric::INFINITY),
            (None, Some(_)) => Ok(Numeric::NEGATIVE_INFINITY),
        }
    }

    fn divide_finite(&self, (a, s): (&BigInt, u16), other: &Numeric, (b, t): (&BigInt, u16)) -> Numeric {
        let (weight, first) = self.leading();
        let (other_weight, other_first) = other.leading();
        let quotient_weight = weight - other_weight - i64::from(first <= other_first);
        let scale = (SIGNIFICANT_DIGITS_MIN - quotient_weight * 4).max(s.max(t).into()).min(DISPLAY_SCALE_MAX) as u16;

        let shift = i64::from(scale) - i64::from(s) + i64::from(t);
        if shift >= 0 {
            return Numeric::from_big(divide_rounded(&(a * power_of_ten(shift as u32)), b), scale);
        }
        // An operand that shows more digits than a quotient may have.
        Numeric::from_big(divide_rounded(a, &(b * power_of_ten(shift.unsigned_abs() as u32))), scale)
    }

    /// Returns the weight and the value of the first digit to base 10000, by which PostgreSQL chooses scales.
    pub(super) fn leading(&self) -> (i64, u32) {
        let Some(exponent) = self.exponent() else { return (0, 0) };
        let mut buffer = [0; INT_DIGITS_MAX];
        let digits = self.digits(&mut buffer);
        let count = exponent.rem_euclid(4) as usize + 1;
        let ascii = digits.iter().copied().chain(std::iter::repeat(b'0')).take(count);
        (exponent.div_euclid(4), ascii.fold(0, |first, digit| first * 10 + u32::from(digit - b'0')))
    }

    /// Returns what a division that gives a whole number leaves, with the sign of the dividend.
    ///
    /// # Errors
    /// Division by zero.
    pub fn rem(&self, other: &Numeric) -> Result<Numeric> {
        if self.is_nan() || other.is_nan() {
            return Ok(Numeric::NAN);
        }
        if other.is_zero() {
            return Err(SqlError::new(SqlState::DivisionByZero, "division by zero"));
        }
        if let (Kind::Small { units: a, scale: s }, Kind::Small { units: b, scale: t }) = (&self.0, &other.0)
            && let Some((a, b)) = aligned(*a, *s, *b, *t)
        {
            return Ok(Numeric::from_small(a % b, *s.max(t)));
        }
        match (self.parts(), other.parts()) {
            (Some((a, s)), Some((b, t))) => {
                let scale = s.max(t);
                Ok(Numeric::from_big(rescale(&a, s, scale.into()) % rescale(&b, t, scale.into()), scale))
            }
            (Some(_), None) => Ok(self.clone()),
            (None, _) => Ok(Numeric::NAN),
        }
    }

    /// Changes the sign.
    #[must_use]
    pub fn neg(&self) -> Numeric {
        match &self.0 {
            Kind::NegativeInfinity => Numeric::INFINITY,
            Kind::Small { units, scale } => Numeric::from_small(-i128::from(*units), *scale),
            Kind::Big { units, scale } => Numeric::from_big(-units, *scale),
            Kind::PositiveInfinity => Numeric::NEGATIVE_INFINITY,
            Kind::NaN => Numeric::NAN,
        }
    }

    /// Returns the distance from zero.
    #[must_use]
    pub fn abs(&self) -> Numeric {
        if self.sign() < 0 { self.neg() } else { self.clone() }
    }

    /// Rounds half away from zero to a scale; below 0 it clears digits before the point.
    #[must_use]
    pub fn round(&self, scale: i32) -> Numeric {
        self.cut(scale, rescale)
    }

    /// Drops the digits behind a scale; below 0 it clears digits before the point.
    #[must_use]
    pub fn trunc(&self, scale: i32) -> Numeric {
        self.cut(scale, |units, from, to| {
            let shift = to - i64::from(from);
            if shift >= 0 { rescale(units, from, to) } else { units / power_of_ten(shift.unsigned_abs() as u32) }
        })
    }

    fn cut(&self, scale: i32, rescale_by: impl Fn(&BigInt, u16, i64) -> BigInt) -> Numeric {
        const LIMIT: i32 = 2_000;
        let scale = scale.clamp(-LIMIT, LIMIT.max(self.scale().into()));
        match (self.parts(), u16::try_from(scale)) {
            (None, _) => self.clone(),
            (Some((units, from)), Ok(to)) => Numeric::from_big(rescale_by(&units, from, to.into()), to),
            (Some((units, from)), Err(_)) => {
                Numeric::from_big(rescale_by(&units, from, scale.into()) * power_of_ten(scale.unsigned_abs()), 0)
            }
        }
    }

    /// Returns the least whole number that is not less.
    #[must_use]
    pub fn ceil(&self) -> Numeric {
        let truncated = self.trunc(0);
        if self.is_finite() && truncated < *self { truncated.add(&Numeric::from_i64(1)) } else { truncated }
    }

    /// Returns the greatest whole number that is not greater.
    #[must_use]
    pub fn floor(&self) -> Numeric {
        let truncated = self.trunc(0);
        if self.is_finite() && truncated > *self { truncated.sub(&Numeric::from_i64(1)) } else { truncated }
    }
}
