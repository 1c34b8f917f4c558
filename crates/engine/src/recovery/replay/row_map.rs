//! Rows that one thread owns, by the hash of their keys.
//!
//! Invariants: a key is there once; a row that is there stays until all are taken.

use osier_memory::RecordBox;

/// Slots of the smallest map.
const SLOTS_MIN: usize = 64;

/// The rows of one table.
#[derive(Default)]
pub(super) struct RowMap {
    /// Each with the hash of its key; a power of two, or none.
    slots: Vec<(u32, Option<RecordBox>)>,
    rows: usize,
}

impl RowMap {
    /// Returns the row of a key, which `make` makes where it is new.
    #[inline]
    pub(super) fn get_or_insert(&mut self, hash: u32, key: &[u8], make: impl FnOnce() -> RecordBox) -> &mut RecordBox {
        if self.rows * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match &self.slots[at] {
                (other, Some(row)) if *other == hash && row.key() == key => break,
                (_, Some(_)) => at = (at + 1) & mask,
                (_, None) => {
                    self.slots[at] = (hash, Some(make()));
                    self.rows += 1;
                    break;
                }
            }
        }
        self.slots[at].1.as_mut().expect("the row is in its slot")
    }

    #[cold]
    fn grow(&mut self) {
        let slots = (2 * self.slots.len()).max(SLOTS_MIN);
        let old = std::mem::replace(&mut self.slots, (0..slots).map(|_| (0, None)).collect());
        for (hash, row) in old.into_iter().filter(|(_, row)| row.is_some()) {
            let mut at = hash as usize & (slots - 1);
            while self.slots[at].1.is_some() {
                at = (at + 1) & (slots - 1);
            }
            self.slots[at] = (hash, row);
        }
    }

    /// Takes all rows.
    pub(super) fn into_rows(self) -> impl Iterator<Item = RecordBox> {
        self.slots.into_iter().filter_map(|(_, row)| row)
    }
}

#[cfg(test)]
mod tests {
    use osier_memory::{KeyHash, Record, Stamp};

    use super::*;

    #[test]
    fn a_key_has_one_row_whatever_its_hash() {
        for bits in [0, 3, 32] {
            let mut map = RowMap::default();
            let hash = |key: &[u8]| u64::from(KeyHash::of(key).bits()) & ((1 << bits) - 1);
            for round in 0..2 {
                for n in 0..1000_u32 {
                    let key = n.to_be_bytes();
                    let row = map.get_or_insert(hash(&key) as u32, &key, || {
                        assert_eq!(round, 0, "key {n} is there already");
                        Record::new_absent(&key, Stamp(u64::from(n)))
                    });
                    assert_eq!((row.key(), row.word().stamp()), (&key[..], Stamp(u64::from(n))));
                }
            }
            let mut rows: Vec<_> = map.into_rows().map(|row| row.word().stamp().0).collect();
            rows.sort_unstable();
            assert!(rows.into_iter().eq(0..1000));
        }
    }
}
