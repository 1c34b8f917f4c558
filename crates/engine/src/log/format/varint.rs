//! Integers in as few bytes as they need: seven bits to a byte, the lowest first, the eighth bit set in all but the last
//! (LEB128).
//!
//! Invariant: of each integer there is one encoding. Longer ones are refused.

/// The most bytes that an integer takes.
pub(crate) const VARINT_BYTES_MAX: usize = 10;

/// Returns how many bytes `value` takes.
#[inline]
pub(crate) fn varint_len(value: u64) -> usize {
    let bits = u64::BITS - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// Writes `value` to the start of `bytes`, and returns how many bytes it took.
#[inline]
pub(crate) fn put_varint(bytes: &mut [u8], mut value: u64) -> usize {
    let mut at = 0;
    while value >= 0x80 {
        bytes[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    bytes[at] = value as u8;
    at + 1
}

/// Appends `value`.
#[inline]
pub(crate) fn push_varint(bytes: &mut Vec<u8>, value: u64) {
    let mut buffer = [0; VARINT_BYTES_MAX];
    let length = put_varint(&mut buffer, value);
    bytes.extend_from_slice(&buffer[..length]);
}

/// Reads the integer at the start of `bytes`, and returns what is behind it; `None` where there is none.
#[inline]
pub(crate) fn split_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    if *first < 0x80 {
        return Some((u64::from(*first), rest));
    }
    split_long(bytes)
}

#[inline]
fn split_long(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(VARINT_BYTES_MAX).enumerate() {
        let (shift, bits) = (7 * at as u32, u64::from(byte & 0x7f));
        // The last byte of the longest has room for one bit.
        if at + 1 == VARINT_BYTES_MAX && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return (bits > 0).then_some((value, &bytes[at + 1..]));
        }
    }
    None
}

/// Returns the integer that stands for a signed one: small ones, of either sign, are small.
#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Returns the inverse of [`zigzag`].
#[inline]
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_integers_of_either_sign_are_small() {
        for (value, stands_for) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (i64::MAX, u64::MAX - 1), (i64::MIN, u64::MAX)] {
            assert_eq!((zigzag(value), unzigzag(stands_for)), (stands_for, value));
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let edges = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for value in edges.chain([u64::MAX]) {
            let mut bytes = Vec::new();
            push_varint(&mut bytes, value);
            assert_eq!(bytes.len(), varint_len(value), "{value}");
            bytes.push(7);
            assert_eq!(split_varint(&bytes), Some((value, &[7][..])), "{value}");
            for length in 0..bytes.len() - 1 {
                assert_eq!(split_varint(&bytes[..length]), None, "{value} cut off at {length}");
            }
        }
    }

    #[test]
    fn there_is_one_encoding() {
        let overlong: [&[u8]; 4] = [&[0x80, 0], &[0xff, 0x80, 0], &[0x80; 11], &[0xff; 10]];
        for bytes in overlong {
            assert_eq!(split_varint(bytes), None, "{bytes:x?}");
        }
        let too_large = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert_eq!(split_varint(&too_large), None);
    }
}
