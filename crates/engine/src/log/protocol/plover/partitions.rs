//! Which stream a row is logged to: that of its key.
//!
//! Whatever the division is, every replay comes out the same, as stamps rise per key over all streams. So it may change from one
//! open to the next, with the number of streams.

use osier_memory::KeyHash;

use crate::ids::StreamId;

/// The division of keys among the streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partitions {
    streams: u32,
}

impl Partitions {
    /// Divides keys among so many streams.
    pub(crate) fn new(streams: u32) -> Partitions {
        assert!(streams > 0, "a log has a stream");
        Partitions { streams }
    }

    /// Returns how many there are: one for each stream.
    pub(crate) fn count(&self) -> u32 {
        self.streams
    }

    /// Returns the stream of the rows with this key, in whatever table.
    #[inline]
    pub(crate) fn of(&self, key: &[u8]) -> StreamId {
        // The upper bits of the product are the hash's share of the streams: no stream gets more than another, and no division.
        StreamId(((u64::from(KeyHash::of(key).bits()) * u64::from(self.streams)) >> u32::BITS) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_spread_over_all_streams() {
        for streams in [1, 2, 3, 7, 64] {
            let partitions = Partitions::new(streams);
            let mut found = vec![0; streams as usize];
            (0..10_000u64).for_each(|key| found[partitions.of(&key.to_be_bytes()).0 as usize] += 1);
            let fair = 10_000 / streams;
            assert!(found.iter().all(|&keys| keys > fair / 2 && keys <= fair * 2), "{found:?}");
        }
    }
}
