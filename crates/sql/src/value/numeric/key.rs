//! Numbers as bytes that compare as the numbers compare, for keys and rows.
//!
//! | Bytes | What |
//! |---|---|
//! | 1 | 0 -Infinity, 1 below zero, 2 zero, 3 above zero, 4 Infinity, 5 NaN |
//! | 3 | of classes 1 and 3: the power of ten of the first digit, plus 2^23, the highest byte first |
//! | n | of classes 1 and 3: two decimal digits a byte, first digit first, each byte the two digits plus 1 (1 to 100) |
//! | 1 | of classes 1 and 3: 0, the end of the digits |
//! | 2 | the scale, the highest byte first |
//!
//! Invariants:
//! - Digits begin with the first that is not zero and end with the last that is not zero; a lone last digit has a 0 behind it.
//! - Below zero, the bytes of the power, of the digits and of the end are complemented, so that greater magnitudes come first.
//! - Numbers that are equal differ in the last two bytes at most ([`SCALE_LENGTH`]): what stands before is equal.

use bigdecimal::num_bigint::BigInt;

use super::{Kind, Numeric, SCALE_MAX, WHOLE_DIGITS_MAX};
use crate::value::text::INT_DIGITS_MAX;

/// The bytes of the scale at the end of an encoding.
pub const SCALE_LENGTH: usize = 2;

const NEGATIVE_INFINITY: u8 = 0;
const NEGATIVE: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 3;
const POSITIVE_INFINITY: u8 = 4;
const NAN: u8 = 5;

/// What is added to the power of ten.
const BIAS: i64 = 1 << 23;
const END: u8 = 0;

impl Numeric {
    /// Appends the encoding that the header of this module draws.
    pub fn encode_key(&self, out: &mut Vec<u8>) {
        let class = match (&self.0, self.sign()) {
            (Kind::NegativeInfinity, _) => NEGATIVE_INFINITY,
            (Kind::PositiveInfinity, _) => POSITIVE_INFINITY,
            (Kind::NaN, _) => NAN,
            (_, -1) => NEGATIVE,
            (_, 0) => ZERO,
            _ => POSITIVE,
        };
        out.push(class);

        if let Some(exponent) = self.exponent() {
            let from = out.len();
            let biased = ((exponent + BIAS) as u32).to_be_bytes();
            out.extend_from_slice(&biased[1..]);
            let mut buffer = [0; INT_DIGITS_MAX];
            let digits = self.digits(&mut buffer);
            let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
            for pair in digits[..digits.len() - zeros].chunks(2) {
                let second = pair.get(1).map_or(0, |digit| digit - b'0');
                out.push((pair[0] - b'0') * 10 + second + 1);
            }
            out.push(END);
            if class == NEGATIVE {
                out[from..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        out.extend_from_slice(&self.scale().to_be_bytes());
    }

    /// Reads what [`Numeric::encode_key`] has written; `None` where the bytes are no such encoding.
    pub fn decode_key(bytes: &[u8]) -> Option<Numeric> {
        let (body, scale) = bytes.split_last_chunk::<SCALE_LENGTH>()?;
        let scale = u16::from_be_bytes(*scale);
        let (class, rest) = body.split_first()?;
        let number = match *class {
            NEGATIVE | POSITIVE => return decode_digits(rest, *class == NEGATIVE, scale),
            NEGATIVE_INFINITY => Numeric::NEGATIVE_INFINITY,
            ZERO if scale <= SCALE_MAX => Numeric(Kind::Small { units: 0, scale }),
            POSITIVE_INFINITY => Numeric::INFINITY,
            NAN => Numeric::NAN,
            _ => return None,
        };
        (rest.is_empty() && number.scale() == scale).then_some(number)
    }
}

/// Reads the power of ten, the digits and their end.
fn decode_digits(bytes: &[u8], is_negative: bool, scale: u16) -> Option<Numeric> {
    let plain = |byte: u8| if is_negative { !byte } else { byte };
    let (power, pairs) = bytes.split_first_chunk::<3>()?;
    let biased = power.iter().fold(0_i64, |biased, byte| biased << 8 | i64::from(plain(*byte)));
    let (end, pairs) = pairs.split_last()?;
    let exponent = biased - BIAS;
    if plain(*end) != END || pairs.is_empty() || scale > SCALE_MAX || exponent >= WHOLE_DIGITS_MAX {
        return None;
    }

    let mut digits = Vec::with_capacity(pairs.len() * 2);
    for pair in pairs {
        let pair = plain(*pair).checked_sub(1).filter(|pair| *pair < 100)?;
        digits.extend_from_slice(&[b'0' + pair / 10, b'0' + pair % 10]);
    }
    // The digits of the units: those from the power of ten of the first one down to that of the scale.
    let length = usize::try_from(exponent + 1 + i64::from(scale)).ok()?;
    if digits.iter().skip(length).any(|digit| *digit != b'0') || digits[0] == b'0' {
        return None;
    }
    digits.resize(length, b'0');
    let units = BigInt::parse_bytes(&digits, 10)?;
    Some(Numeric::from_big(if is_negative { -units } else { units }, scale))
}
