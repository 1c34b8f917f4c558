//! Keys that are hard for a tree which looks at eight bytes after a common prefix.

use fastrand::Rng;

/// A way to draw keys.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keys {
    /// Eight bytes, dense.
    Dense,
    /// Eight bytes, sparse.
    Sparse,
    /// Short, of zeros, ones, letters and 0xff: prefixes of each other, embedded and trailing zeros, the empty key.
    Padding,
    /// Equal for longer than a prefix and a head, then like `Padding`.
    LongPrefix,
    /// Three numbers in a row, few values of the first two.
    Composite,
    /// Up to more than a kilobyte.
    Long,
}

impl Keys {
    pub(super) const ALL: [Keys; 6] =
        [Keys::Dense, Keys::Sparse, Keys::Padding, Keys::LongPrefix, Keys::Composite, Keys::Long];

    /// A key out of about `variety` different ones.
    pub(super) fn draw(self, rng: &mut Rng, variety: u64) -> Vec<u8> {
        match self {
            Keys::Dense => rng.u64(..variety).to_be_bytes().to_vec(),
            Keys::Sparse => (rng.u64(..variety).wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes().to_vec(),
            Keys::Padding => padding(rng, variety),
            Keys::LongPrefix => {
                let shared = [b"the same for every key".as_slice(), b"the same for every one"][rng.usize(..2)];
                let mut key = shared[..rng.usize(shared.len() - 2..=shared.len())].to_vec();
                key.extend(padding(rng, variety));
                key
            }
            Keys::Composite => {
                let mut key = rng.u32(..4).to_be_bytes().to_vec();
                key.extend(rng.u32(..4).to_be_bytes());
                key.extend((rng.u64(..variety) as u32 / 16).to_be_bytes());
                key
            }
            Keys::Long => {
                let mut key = vec![rng.u8(..2); [0, 7, 8, 9, 300, 1100][rng.usize(..6)]];
                key.extend(padding(rng, variety));
                key
            }
        }
    }
}

fn padding(rng: &mut Rng, variety: u64) -> Vec<u8> {
    let longest = (variety.max(2).ilog2() as usize / 2).clamp(2, 18);
    let len = rng.usize(..=longest);
    let alphabet = [0, 0, 0, 1, b'a', 0xff];
    (0..len).map(|_| alphabet[rng.usize(..alphabet.len())]).collect()
}
