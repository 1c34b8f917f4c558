//! SiloR's frontier: the durable epoch `D`, the least `d` of all streams.
//!
//! A stream says by its stamp which epochs are over in it: closing a batch raises it to the end of the last one, and whatever is
//! drawn later is above. That takes the place of the epochs that SiloR's workers publish for the loggers, each of which writes
//! the buffers of several workers: here the room for a record and its TID are one step. `DSN` is `d`, which moves by whole
//! epochs.
//!
//! Loggers write when an epoch is over, or where a ring fills up; certificates and markers are Poplar's.

use super::stamp;
use crate::ids::{Stamp, StreamId};
use crate::log::format::batch::Certificate;
use crate::log::persist::frontier::{Frontier, Lag};
use crate::log::persist::{Log, tid};
use crate::log::protocol::poplar::PoplarFrontier;

/// SiloR's frontier.
pub(crate) enum SiloFrontier {}

impl Frontier for SiloFrontier {
    fn is_due(log: &Log, own: StreamId) -> bool {
        log.acknowledger.watermark().dsn(own) < stamp::begun(log)
    }

    fn reached(stamp: Stamp) -> Stamp {
        tid::whole_epochs(stamp)
    }

    /// A log that closes ends its epoch.
    fn raise(log: &Log) -> Stamp {
        if log.is_closing() { tid::end_of_epoch(PoplarFrontier::raise(log)) } else { stamp::begun(log) }
    }

    fn certify(log: &Log, own: StreamId, stamp: Stamp, certificates: &mut Vec<Certificate>) {
        PoplarFrontier::certify(log, own, stamp, certificates);
    }

    /// Nobody waits for a stream whose last epoch is not over. What was written before it was, because a ring filled up, counts
    /// only when a later batch says that it is.
    fn lag(log: &Log, own: StreamId) -> Lag {
        let watermark = log.acknowledger.watermark();
        let durable = watermark.dsn(own);
        if !(SiloFrontier::is_due(log, own) || log.is_closing()) {
            Lag::None
        } else if durable < log.acknowledger.demand() {
            Lag::Demanded
        } else if durable < watermark.greatest_dsn().max(log.stream(own).ring.last()) {
            Lag::Behind
        } else {
            Lag::None
        }
    }
}
