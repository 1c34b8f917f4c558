//! What is durable: `DSN` per stream and `CSN` over all of them (Poplar, section 4.3).
//!
//! Invariants:
//! - `dsn(b) = d` means that every record of stream `b` with a stamp `<= d` is durable and that every later one has
//!   a stamp `> d` (P2). Only a logger raises it, after the sync of the batch that says so.
//! - `csn() <= dsn(b)` for every `b`, and neither ever falls: both are published by fetch-max. The minimum is
//!   computed from infinity each time; `csn = min(csn, ..)` (Poplar, Algorithm 2) would never rise.
//! - Every word sits on its own cache line. To ask loads one or two of them and writes none.
//!
//! Absent: the waiters ([`super::queue`]), when to raise (the loggers), and what a commit needs (the protocols' frontier.rs).

use crossbeam_utils::CachePadded;
use osier_memory::sync::atomic::{AtomicU64, Ordering, fence};

use crate::ids::{Stamp, StreamId};

/// The durable frontier of one log.
#[derive(Debug)]
pub(crate) struct Watermark {
    /// `DSN_b`.
    dsn: Box<[CachePadded<AtomicU64>]>,
    /// `CSN`.
    csn: CachePadded<AtomicU64>,
}

impl Watermark {
    /// A frontier where everything up to `floor` is durable on each of `streams` streams.
    pub(crate) fn new(streams: usize, floor: Stamp) -> Watermark {
        assert!(streams > 0, "a frontier needs a stream");
        let word = || CachePadded::new(AtomicU64::new(floor.0));
        Watermark { dsn: (0..streams).map(|_| word()).collect(), csn: word() }
    }

    /// `DSN` of one stream.
    pub(crate) fn dsn(&self, stream: StreamId) -> Stamp {
        Stamp(self.dsn[stream.0 as usize].load(Ordering::SeqCst))
    }

    /// `CSN`: everything up to it is durable on every stream.
    pub(crate) fn csn(&self) -> Stamp {
        Stamp(self.csn.load(Ordering::SeqCst))
    }

    /// Returns the largest `DSN`: how far the frontier could be if no stream lagged.
    pub(crate) fn greatest_dsn(&self) -> Stamp {
        let highest = self.dsn.iter().map(|durable| durable.load(Ordering::SeqCst)).max();
        Stamp(highest.expect("a frontier has a stream"))
    }

    /// Raises `DSN` of one stream. The caller has synced the batch or the certificate that says so.
    pub(crate) fn raise(&self, stream: StreamId, stamp: Stamp) {
        assert!(stamp <= Stamp::MAX, "stamp {stamp} does not fit a record word");
        self.dsn[stream.0 as usize].fetch_max(stamp.0, Ordering::SeqCst);
    }

    /// Computes the minimum over all streams and publishes it; returns `CSN`.
    ///
    /// Two loggers may do this at once, each after its raise: the one whose fence comes last sees both raises, and its
    /// minimum is the true one.
    pub(crate) fn settle(&self) -> Stamp {
        fence(Ordering::SeqCst);
        let lowest = self.dsn.iter().map(|durable| durable.load(Ordering::SeqCst)).fold(u64::MAX, u64::min);
        assert!(lowest <= Stamp::MAX.0, "the minimum over no stream is no frontier");
        let before = self.csn.fetch_max(lowest, Ordering::SeqCst);
        Stamp(before.max(lowest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csn_is_the_minimum_and_never_falls() {
        let watermark = Watermark::new(3, Stamp(10));
        assert_eq!(watermark.csn(), Stamp(10));
        watermark.raise(StreamId(0), Stamp(30));
        watermark.raise(StreamId(1), Stamp(20));
        assert_eq!(watermark.settle(), Stamp(10), "stream 2 holds it back");
        watermark.raise(StreamId(2), Stamp(25));
        assert_eq!(watermark.settle(), Stamp(20));
        watermark.raise(StreamId(1), Stamp(5));
        assert_eq!(watermark.dsn(StreamId(1)), Stamp(20), "a late raise lowers nothing");
        assert_eq!(watermark.settle(), Stamp(20));
        assert_eq!(watermark.greatest_dsn(), Stamp(30));
    }
}
