//! Maps by address.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map from the addresses of shared values, which no client chooses.
pub type AddressMap<V> = HashMap<usize, V, BuildHasherDefault<AddressHasher>>;

/// Spreads addresses; they are distinct already.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    /// Addresses are alike in their lowest bits, and those of one shard of something in more of them: a product's lower half
    /// alone would keep that, and place all of them alike.
    fn write_usize(&mut self, address: usize) {
        let product = u128::from(self.0 ^ address as u64) * 0x9E37_79B9_7F4A_7C15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    /// Tables place by the lowest bits and compare by the highest seven.
    #[test]
    fn addresses_that_are_alike_in_their_lower_bits_are_spread() {
        let hasher = BuildHasherDefault::<AddressHasher>::default();
        for stride in [16, 1 << 5, 1 << 13, 1 << 21] {
            let hashes: Vec<u64> = (0..4096).map(|n| hasher.hash_one(0x7F00_0000_0020_usize + n * stride)).collect();
            let places: HashSet<u64> = hashes.iter().map(|hash| hash % 4096).collect();
            // At random it would be two thirds.
            assert!(places.len() > 2000, "{} places for a stride of {stride}", places.len());
            let tags: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
            assert!(tags.len() > 100, "{} tags for a stride of {stride}", tags.len());
        }
    }
}
