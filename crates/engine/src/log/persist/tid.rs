//! The TID of Silo: the epoch in the upper bits, and below them what tells the commits of an epoch apart.
//!
//! An epoch with more commits than its bits can count goes on in the TIDs of the next, which ends with it.

use std::sync::atomic::{AtomicU64, Ordering};

use osier_memory::sync::{Mutex, lock};

use super::Log;
use crate::ids::{Epoch, Stamp};

/// The bits of a TID below its epoch: a million commits.
const SEQUENCE_BITS: u32 = 20;

/// Where the present epoch of TIDs begins.
///
/// Epochs of TIDs end where those of transactions do. They count on from the stamps of earlier generations, and from the last
/// TID where an epoch had more than its bits can count: so whatever was drawn is of an epoch that is over at the next end.
#[derive(Debug)]
pub(crate) struct TidEpochs {
    /// The stamp above which the stamps of the generation are.
    floor: Stamp,
    /// The epoch of transactions that `begun` is for.
    epoch: AtomicU64,
    /// The stamp after which the TIDs of that epoch begin: the end of the one before.
    begun: AtomicU64,
    turn: Mutex<()>,
}

impl TidEpochs {
    /// Begins in an epoch of transactions, above a stamp.
    pub(crate) fn new(epoch: Epoch, floor: Stamp) -> TidEpochs {
        let first = epoch.0.max((floor.0 >> SEQUENCE_BITS) + 1);
        TidEpochs {
            floor,
            epoch: AtomicU64::new(epoch.0),
            begun: AtomicU64::new(first << SEQUENCE_BITS),
            turn: Mutex::new(()),
        }
    }

    /// Whether a stamp is of an earlier generation.
    pub(crate) fn is_earlier(&self, stamp: Stamp) -> bool {
        stamp <= self.floor
    }

    /// Returns the stamp after which the present epoch of TIDs begins; it never falls.
    #[inline]
    pub(crate) fn begun(&self, log: &Log) -> Stamp {
        let epoch = log.epochs.current();
        if self.epoch.load(Ordering::Acquire) < epoch.0 {
            self.turn(log, epoch);
        }
        Stamp(self.begun.load(Ordering::Acquire))
    }

    #[cold]
    fn turn(&self, log: &Log, epoch: Epoch) {
        let _turn = lock(&self.turn);
        let passed = epoch.0.saturating_sub(self.epoch.load(Ordering::Relaxed));
        if passed > 0 {
            let last = log.streams.iter().map(|stream| stream.ring.last()).max().expect("a log has a stream");
            let begun = self.begun.load(Ordering::Relaxed) + (passed << SEQUENCE_BITS);
            self.begun.store(begun.max(end_of_epoch(last).0), Ordering::Release);
            self.epoch.store(epoch.0, Ordering::Release);
        }
    }
}

/// The greatest stamp of the epoch of `stamp`.
pub(crate) fn end_of_epoch(stamp: Stamp) -> Stamp {
    Stamp(stamp.0.next_multiple_of(1 << SEQUENCE_BITS))
}

/// The end of the last epoch that is over when everything up to `stamp` is.
pub(crate) fn whole_epochs(stamp: Stamp) -> Stamp {
    Stamp(stamp.0 >> SEQUENCE_BITS << SEQUENCE_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let of = |epoch: u64, sequence: u64| Stamp((epoch << SEQUENCE_BITS) + sequence);
        assert_eq!(end_of_epoch(of(5, 1)), of(6, 0));
        assert_eq!(end_of_epoch(of(6, 0)), of(6, 0), "the last of its epoch");
        assert_eq!(whole_epochs(of(6, 0)), of(6, 0));
        assert_eq!(whole_epochs(of(6, 1)), of(6, 0));
        assert_eq!(end_of_epoch(Stamp::ZERO), Stamp::ZERO, "nothing is waited for");
    }
}
