//! Poplar's frontier: `DSN` per stream, `CSN = min DSN` (section 4.3), and what keeps it moving.
//!
//! `CSN` stands still while one stream does, so every stream must follow the fastest:
//! - **A stream that flushes** raises its stamp to the greatest of all streams when it closes a batch. `DSN` follows when
//!   the batch, with that stamp in its header, is durable.
//! - **A stream with nothing in flight** is certified by those that flush: under its latch its stamp is raised to that of
//!   the flushing batch, whose header carries the certificate. Its `DSN` follows when that batch is durable. A lone
//!   writer pays one device sync per batch, not one per stream.
//! - **Of every other stream** the header says how far its log is durable: a stream whose end is gone is not taken for idle.
//! - **A stream that was in flight just then** and has nothing to write afterwards is behind. Whoever passed it wakes it, and
//!   it writes a marker: at once if somebody waits for `CSN`, a little later otherwise.
//!
//! A marker draws no number: it raises to what exists. So with no commits coming every stream reaches the greatest
//! stamp after at most one marker each, and all sleep; every reader is acknowledged by then.

use crate::acknowledge::Watermark;
use crate::failpoint::{Mutation, has};
use crate::ids::{LogOffset, Stamp, StreamId};
use crate::io::BLOCK_BYTES;
use crate::log::batch::Certificate;
use crate::log::protocol::{Frontier, Lag};
use crate::log::{Log, Observed, Stream};

/// Poplar's frontier.
pub(crate) enum PoplarFrontier {}

impl Frontier for PoplarFrontier {
    /// The one rule in place of the paper's two queues: the own record is durable, and so is everything read. A blind
    /// write reads nothing (the paper's Qww).
    fn may_acknowledge(watermark: &Watermark, observed: &Observed) -> bool {
        let own = observed.stamp == Stamp::ZERO || watermark.durable(observed.stream) >= observed.stamp;
        own && (has(Mutation::NoCsnWait) || observed.raw_dep == Stamp::ZERO || watermark.stable() >= observed.raw_dep)
    }

    fn raise(log: &Log) -> Stamp {
        let greatest = log.streams.iter().map(|stream| stream.ring.last()).max();
        // What somebody waits for was drawn from a ring; its published copy may be a moment late.
        greatest.expect("a log has a stream").max(log.acknowledger.demand())
    }

    fn certify(log: &Log, own: StreamId, stamp: Stamp, certificates: &mut Vec<Certificate>) {
        let certify = |stream: &Stream| {
            let is_idle =
                !has(Mutation::NoHeartbeat) && (stream.ring.certify_idle(stamp) || has(Mutation::BusyCertified));
            // In this order: what an idle stream has, up to its last byte, is durable.
            let mut reach = LogOffset(stream.ring.durable_end());
            if has(Mutation::EarlyReach) {
                reach.0 += stream.ring.pending_bytes().next_multiple_of(BLOCK_BYTES as u64);
            }
            Certificate { stream: stream.id(), stamp: if is_idle { stamp } else { Stamp::ZERO }, reach }
        };
        certificates.extend(log.streams.iter().filter(|stream| stream.id() != own).map(certify));
    }

    fn lag(log: &Log, own: StreamId) -> Lag {
        let watermark = log.acknowledger.watermark();
        let durable = watermark.durable(own);
        if has(Mutation::NoHeartbeat) {
            Lag::None
        } else if durable < log.acknowledger.demand() {
            Lag::Demanded
        } else if durable < watermark.foremost() {
            Lag::Behind
        } else {
            Lag::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(stamp: u64, stream: u32, raw_dep: u64) -> Observed {
        Observed { stamp: Stamp(stamp), stream: StreamId(stream), raw_dep: Stamp(raw_dep) }
    }

    #[test]
    fn an_acknowledgement_needs_the_own_record_and_everything_read() {
        let watermark = Watermark::new(2, Stamp::ZERO);
        let may = |observed: Observed| PoplarFrontier::may_acknowledge(&watermark, &observed);
        watermark.raise(StreamId(0), Stamp(7));
        watermark.settle();
        assert!(may(observed(7, 0, 0)), "a blind write needs only its own stream");
        assert!(!may(observed(8, 0, 0)));
        assert!(!may(observed(7, 0, 3)), "what it read may sit on stream 1");
        assert!(!may(observed(0, 0, 3)), "a reader waits too");
        assert!(may(observed(0, 1, 0)), "nothing written, nothing read");
        watermark.raise(StreamId(1), Stamp(3));
        watermark.settle();
        assert!(may(observed(7, 0, 3)));
        assert!(may(observed(0, 0, 3)));
        assert!(!may(observed(0, 0, 4)));
    }
}
