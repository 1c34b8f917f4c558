//! Numbers in the binary format of the protocol: digits to base 10000, the weight of the first of them, the sign and the scale.

use bigdecimal::num_bigint::BigInt;

use super::{Kind, Numeric, SCALE_MAX, overflow, power_of_ten};
use crate::error::{Result, SqlError, SqlState};
use crate::value::text::INT_DIGITS_MAX;

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const POSITIVE_INFINITY: u16 = 0xd000;
const NEGATIVE_INFINITY: u16 = 0xf000;

/// The decimal digits in one digit to base 10000.
const GROUP: usize = 4;

fn invalid(what: &str) -> SqlError {
    SqlError::new(SqlState::InvalidBinaryRepresentation, format!("invalid {what} in external \"numeric\" value"))
}

impl Numeric {
    /// Appends the number in the binary format of the protocol.
    pub fn push_binary(&self, out: &mut Vec<u8>) {
        let sign = match (&self.0, self.sign()) {
            (Kind::NaN, _) => NAN,
            (Kind::PositiveInfinity, _) => POSITIVE_INFINITY,
            (Kind::NegativeInfinity, _) => NEGATIVE_INFINITY,
            (_, -1) => NEGATIVE,
            _ => POSITIVE,
        };
        let header = |count: u16, weight: i16, out: &mut Vec<u8>| {
            for word in [count, weight as u16, sign, self.scale()] {
                out.extend_from_slice(&word.to_be_bytes());
            }
        };
        let Some(exponent) = self.exponent() else { return header(0, 0, out) };

        let mut buffer = [0; INT_DIGITS_MAX];
        let digits = self.digits(&mut buffer);
        let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
        let digits = &digits[..digits.len() - zeros];
        // The first group holds the digits down to a power of ten that is a multiple of 4.
        let first = exponent.rem_euclid(GROUP as i64) as usize + 1;
        let (head, tail) = digits.split_at(first.min(digits.len()));
        let count = 1 + tail.len().div_ceil(GROUP);
        header(count as u16, exponent.div_euclid(GROUP as i64) as i16, out);
        let mut push_group = |group: &[u8], width: usize| {
            let ascii = group.iter().copied().chain(std::iter::repeat(b'0')).take(width);
            let value = ascii.fold(0_u16, |value, digit| value * 10 + u16::from(digit - b'0'));
            out.extend_from_slice(&value.to_be_bytes());
        };
        push_group(head, first);
        tail.chunks(GROUP).for_each(|group| push_group(group, GROUP));
    }

    /// Reads a number in the binary format of the protocol.
    ///
    /// # Errors
    /// Bytes that are no number.
    pub fn parse_binary(bytes: &[u8]) -> Result<Numeric> {
        let short = || SqlError::new(SqlState::ProtocolViolation, "insufficient data left in message");
        let words: Vec<u16> = bytes.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]])).collect();
        let [count, weight, sign, scale, digits @ ..] = words.as_slice() else { return Err(short()) };
        if digits.len() < usize::from(*count) {
            return Err(short());
        }
        if digits.len() > usize::from(*count) || !bytes.len().is_multiple_of(2) {
            return Err(SqlError::new(SqlState::InvalidBinaryRepresentation, "incorrect binary data format"));
        }
        let is_negative = match *sign {
            POSITIVE => false,
            NEGATIVE => true,
            NAN => return Ok(Numeric::NAN),
            POSITIVE_INFINITY => return Ok(Numeric::INFINITY),
            NEGATIVE_INFINITY => return Ok(Numeric::NEGATIVE_INFINITY),
            _ => return Err(invalid("sign")),
        };
        if *scale > SCALE_MAX {
            return Err(invalid("scale"));
        }
        compose(digits, *weight as i16, is_negative, *scale)
    }
}

/// Makes a number of digits to base 10000; digits behind the scale are cut off.
fn compose(digits: &[u16], weight: i16, is_negative: bool, scale: u16) -> Result<Numeric> {
    let mut ascii = Vec::with_capacity(digits.len() * GROUP);
    for digit in digits {
        if *digit >= 10_000 {
            return Err(invalid("digit"));
        }
        ascii.extend([1000, 100, 10, 1].map(|place| b'0' + (digit / place % 10) as u8));
    }
    let units = if ascii.is_empty() { BigInt::ZERO } else { BigInt::parse_bytes(&ascii, 10).ok_or_else(overflow)? };

    let power = (i64::from(weight) + 1 - digits.len() as i64) * GROUP as i64 + i64::from(scale);
    let factor = power_of_ten(power.unsigned_abs() as u32);
    let units = if power >= 0 { units * factor } else { units / factor };
    Numeric::from_big(if is_negative { -units } else { units }, scale).checked()
}
