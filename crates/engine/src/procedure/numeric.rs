//! Exact decimal arithmetic on numerics whose digits after the point are known beforehand.
//!
//! Invariants:
//! - A result is exact, or it is rounded half away from zero to the digits asked for. One of more than 18 digits is `None`.
//! - Intermediate results have 128 bits; what overflows them is `None`.

use crate::table::Type;

/// The most digits after the point that a product or a quotient gets by itself.
pub(crate) const SCALE_MAX: u8 = 12;

/// How many more digits after the point a quotient has than its operands.
const QUOTIENT_DIGITS: u8 = 6;

const UNITS_MAX: i128 = 10_i128.pow(Type::PRECISION_MAX as u32) - 1;

/// Returns how many digits after the point a product has.
pub(crate) fn product_scale(a: u8, b: u8) -> u8 {
    (a + b).min(SCALE_MAX.max(a).max(b))
}

/// Returns how many digits after the point a quotient has.
pub(crate) fn quotient_scale(a: u8, b: u8) -> u8 {
    (a.max(b) + QUOTIENT_DIGITS).min(SCALE_MAX.max(a).max(b))
}

const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut digits = 1;
    while digits < powers.len() {
        powers[digits] = 10 * powers[digits - 1];
        digits += 1;
    }
    powers
};

#[inline]
fn power(digits: u8) -> i128 {
    POWERS[usize::from(digits)]
}

/// Powers up to the 22nd are floats without rounding.
fn float_power(digits: u8) -> f64 {
    10_u64.pow(digits.into()) as f64
}

fn checked(units: i128) -> Option<i64> {
    (-UNITS_MAX..=UNITS_MAX).contains(&units).then_some(units as i64)
}

/// Divides, rounding half away from zero. Most numbers have 64 bits, which processors divide by themselves.
#[inline]
fn divide_rounded(a: i128, b: i128) -> i128 {
    let (quotient, rest) = match (i64::try_from(a), i64::try_from(b)) {
        (_, Ok(1)) => return a,
        (Ok(a), Ok(b)) if b != -1 => (i128::from(a / b), i128::from(a % b)),
        _ => (a / b, a % b),
    };
    let is_half = rest.unsigned_abs() * 2 >= b.unsigned_abs();
    if is_half { quotient + if (a < 0) == (b < 0) { 1 } else { -1 } } else { quotient }
}

/// Returns `units` of scale `from` in units of scale `to`.
#[inline]
pub(crate) fn rescale(units: i64, from: u8, to: u8) -> Option<i64> {
    let units = i128::from(units);
    match from.cmp(&to) {
        std::cmp::Ordering::Equal => checked(units),
        std::cmp::Ordering::Less => checked(units * power(to - from)),
        std::cmp::Ordering::Greater => checked(divide_rounded(units, power(from - to))),
    }
}

/// Returns the sum of two numerics of one scale.
#[inline]
pub(crate) fn add(a: i64, b: i64) -> Option<i64> {
    checked(i128::from(a) + i128::from(b))
}

/// Returns the product, in units of `product_scale`.
#[inline]
pub(crate) fn multiply((a, of): (i64, u8), (b, to): (i64, u8)) -> Option<i64> {
    let (exact, scale) = (i128::from(a) * i128::from(b), product_scale(of, to));
    checked(divide_rounded(exact, power(of + to - scale)))
}

/// Returns the quotient, in units of `quotient_scale`; the divisor is not zero.
pub(crate) fn divide((a, of): (i64, u8), (b, to): (i64, u8)) -> Option<i64> {
    assert_ne!(b, 0, "division by zero is told before");
    // a / 10^of / (b / 10^to) * 10^scale, and scale + to >= of.
    let scale = quotient_scale(of, to);
    // What does not fit into 128 bits has more than 18 digits when it is divided, too.
    let exact = i128::from(a).checked_mul(power(scale + to - of))?;
    checked(divide_rounded(exact, i128::from(b)))
}

/// How a number loses digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest, half away from zero.
    Nearest,
    /// Towards zero.
    Truncate,
    /// Downwards.
    Floor,
    /// Upwards.
    Ceil,
}

/// Returns `units` of scale `from` in units of the scale `to`, which is not greater.
pub(crate) fn round(units: i64, from: u8, to: u8, rounding: Rounding) -> Option<i64> {
    assert!(to <= from, "rounding drops digits");
    let (units, unit) = (i128::from(units), power(from - to));
    checked(match rounding {
        Rounding::Nearest => divide_rounded(units, unit),
        Rounding::Truncate => units / unit,
        Rounding::Floor => units.div_euclid(unit),
        Rounding::Ceil => -(-units).div_euclid(unit),
    })
}

/// Returns the units of the scale that are nearest to a float.
pub(crate) fn of_float(float: f64, scale: u8) -> Option<i64> {
    let units = (float * float_power(scale)).round();
    // Beyond 18 digits, or not a number.
    (units.abs() <= UNITS_MAX as f64).then_some(units as i64).filter(|units| checked(i128::from(*units)).is_some())
}

/// Returns the float that is nearest.
pub(crate) fn to_float(units: i64, scale: u8) -> f64 {
    units as f64 / float_power(scale)
}

/// Returns the units of the scale that a text shows; `None` where it shows no number, or one of too many digits.
pub(crate) fn parse(text: &str, scale: u8) -> Option<i64> {
    let text = text.trim_ascii();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = !(whole.is_empty() && fraction.is_empty())
        && whole.len() + fraction.len() <= 2 * usize::from(Type::PRECISION_MAX)
        && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !is_number {
        return None;
    }
    let all: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let all = if is_negative { -all } else { all };
    let (from, to) = (fraction.len() as u32, u32::from(scale));
    match from <= to {
        true => checked(all.checked_mul(10_i128.pow(to - from))?),
        false => checked(divide_rounded(all, 10_i128.pow(from - to))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_half_away_from_zero() {
        assert_eq!([15, 14, -15, -14, 25].map(|units| rescale(units, 1, 0)), [2, 1, -2, -1, 3].map(Some));
        assert_eq!(rescale(7, 0, 2), Some(700));
        assert_eq!(round(-15, 1, 0, Rounding::Floor), Some(-2));
        assert_eq!(round(-15, 1, 0, Rounding::Ceil), Some(-1));
        assert_eq!(round(15, 1, 0, Rounding::Ceil), Some(2));
        assert_eq!(round(-19, 1, 0, Rounding::Truncate), Some(-1));
    }

    #[test]
    fn products_and_quotients_have_the_digits_that_are_said() {
        assert_eq!((product_scale(2, 4), product_scale(10, 4), product_scale(14, 0)), (6, 12, 14));
        assert_eq!(multiply((150, 2), (2, 0)), Some(300));
        assert_eq!(multiply((15, 1), (15, 1)), Some(225));
        assert_eq!(quotient_scale(2, 0), 8);
        assert_eq!(divide((100, 2), (3, 0)), Some(33_333_333));
        assert_eq!(divide((-200, 2), (3, 0)), Some(-66_666_667));
    }

    #[test]
    fn more_than_18_digits_are_refused() {
        let most = 999_999_999_999_999_999;
        assert_eq!(add(most, 0), Some(most));
        assert_eq!(add(most, 1), None);
        assert_eq!(rescale(most, 0, 1), None);
        assert_eq!(multiply((most, 0), (most, 0)), None);
        assert_eq!(of_float(1e18, 0), None);
        assert_eq!(of_float(f64::NAN, 0), None);
        assert_eq!(of_float(-2.5, 0), Some(-3));
    }

    #[test]
    fn texts_are_read_exactly() {
        let cases =
            [("1.5", Some(150)), ("-.005", Some(-1)), ("+2", Some(200)), ("", None), ("1e3", None), ("1.2.3", None)];
        cases.into_iter().for_each(|(text, units)| assert_eq!(parse(text, 2), units, "{text}"));
        assert_eq!(parse("9999999999999999999", 0), None);
    }
}
