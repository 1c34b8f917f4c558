//! GSN, after NVM-D (Poplar, sections 2 and 6; docs/protocols.md): many streams in one total order, which is a serialization
//! order.
//!
//! A GSN orders a commit after everything it read or overwrote *and* after everybody who read what it overwrites. So the records
//! of all streams, by GSN and stream, are in an order in which the transactions could have run one after the other. A commit is
//! durable when every stream is durable up to it (passive group commit).

mod cut;
mod frontier;
mod replay_order;
mod stamp;

use std::sync::Arc;

use osier_memory::KeyStamps;

pub(crate) use cut::GsnRule;
pub(crate) use frontier::GsnFrontier;

use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::acknowledge::Requirement;
use crate::log::gathering::NO_SOURCE;
use crate::log::persist::{Log, Slot};
use crate::log::protocol::{Committed, LogProtocol, StampOrder};
use crate::sizes::read_stamp_slots;

/// The GSN protocol.
pub(crate) struct Gsn {
    log: Arc<Log>,
    /// Those of earlier generations are below every stamp of this one.
    read_stamps: KeyStamps,
}

impl Gsn {
    /// Orders the commits of a log.
    pub(crate) fn new(log: Arc<Log>) -> Gsn {
        Gsn { log, read_stamps: KeyStamps::new(read_stamp_slots(), 1) }
    }
}

impl LogProtocol for Gsn {
    type Dependency = Stamp;
    type Rule = GsnRule;

    /// Drawn after validation, a GSN could be above that of a transaction that overwrites what was read (docs/protocols.md).
    #[inline]
    fn stamp_order(&self) -> StampOrder {
        StampOrder::BeforeValidation
    }

    #[inline]
    fn read_stamps(&self) -> Option<&KeyStamps> {
        Some(&self.read_stamps)
    }

    #[inline]
    fn source(&self) -> &() {
        NO_SOURCE
    }

    fn stamp(&self, stream: StreamId, base: Stamp, record_bytes: usize) -> Result<Option<Slot<'_>>, LogError> {
        stamp::draw(&self.log, stream, base, record_bytes)
    }

    /// Passive group commit: every stream is durable up to the commit, and so up to everything it read. `CSN` implies `DSN`,
    /// which is named so that who waits leads its own stream first.
    #[inline]
    fn requirement(&self, committed: &Committed<Stamp>) -> Requirement {
        let csn = committed.stamp.max(committed.raw_dep);
        Requirement { dsn: committed.stamp, csn, ..Requirement::none(committed.stream) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Epoch;
    use crate::log::acknowledge::Watermark;
    use crate::log::world_for_tests::World;

    #[test]
    fn an_acknowledgement_needs_every_stream() {
        let log = World::new().gsn(2);
        let watermark = Watermark::new(2, Stamp::ZERO);
        let may = |stamp: u64, stream: u32, raw_dep: u64| {
            let (stamp, raw_dep) = (Stamp(stamp), Stamp(raw_dep));
            let committed = Committed { stamp, stream: StreamId(stream), epoch: Epoch(1), raw_dep };
            let outcome = crate::log::with_protocol!(log, protocol => committed.outcome(protocol));
            outcome.requirement.unmet(&watermark).is_none()
        };
        watermark.raise(StreamId(0), Stamp(7));
        watermark.settle();
        assert!(!may(7, 0, 0), "a blind write needs every stream, too");
        assert!(!may(0, 0, 3), "a reader waits for what it read");
        assert!(may(0, 1, 0), "nothing written, nothing read");
        watermark.raise(StreamId(1), Stamp(3));
        watermark.settle();
        assert!(may(3, 0, 2) && may(3, 1, 0));
        assert!(!may(4, 0, 0) && !may(4, 1, 0));
        assert!(may(0, 0, 3) && !may(0, 0, 4));
    }
}
