//! Poplar's frontier: `DSN` per stream, `CSN = min DSN` (Poplar, section 4.3), and what keeps it moving.
//!
//! `CSN` stands still while one stream does, so every stream must follow the fastest:
//! - **A stream that flushes** raises its stamp to the greatest of all streams when it closes a batch. `DSN` follows when
//!   the batch, with that stamp in its header, is durable.
//! - **A stream with nothing in flight** is certified by those that flush: under its latch its stamp is raised to that of
//!   the flushing batch, whose header carries the certificate. Its `DSN` follows when that batch is durable. A lone
//!   writer pays one device sync per batch, not one per stream.
//! - **Of every other stream** the header says how far its log is durable: a stream whose end is gone is not taken for idle.
//! - **A stream that was in flight just then** and has nothing to write afterwards is behind. The logger that could not certify
//!   it wakes it, and it writes a marker: at once if a commit waits for `CSN`, a little later otherwise.
//!
//! A marker draws no number: it raises to what exists. So with no commits coming every stream reaches the greatest
//! stamp after at most one marker each, and all sleep; every reader is acknowledged by then.

use crate::ids::{LogOffset, Stamp, StreamId};
use crate::log::format::batch::Certificate;
use crate::log::persist::frontier::{Frontier, Lag};
use crate::log::persist::{Log, Stream};

/// Poplar's frontier.
pub(crate) enum PoplarFrontier {}

impl Frontier for PoplarFrontier {
    fn raise(log: &Log) -> Stamp {
        let greatest = log.streams.iter().map(|stream| stream.ring.last()).max();
        // A stamp that is waited for was drawn from a ring, whose published copy may be a moment late.
        greatest.expect("a log has a stream").max(log.acknowledger.demand())
    }

    fn certify(log: &Log, own: StreamId, stamp: Stamp, certificates: &mut Vec<Certificate>) {
        let certify = |stream: &Stream| {
            let is_idle = stream.ring.certify_idle(stamp);
            // In this order: what an idle stream has, up to its last byte, is durable.
            let reach = LogOffset(stream.ring.durable_end());
            Certificate { stream: stream.id(), stamp: if is_idle { stamp } else { Stamp::ZERO }, reach }
        };
        certificates.extend(log.streams.iter().filter(|stream| stream.id() != own).map(certify));
    }

    fn lag(log: &Log, own: StreamId) -> Lag {
        let watermark = log.acknowledger.watermark();
        let durable = watermark.dsn(own);
        if durable < log.acknowledger.demand() {
            Lag::Demanded
        } else if durable < watermark.greatest_dsn() {
            Lag::Behind
        } else {
            Lag::None
        }
    }
}
