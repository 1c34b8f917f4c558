//! Plover: many streams with a partition of the keys each, in one total order of commits (Plover in Taurus, section 5;
//! docs/protocols.md).
//!
//! A commit is divided: every stream in whose partition it writes gets a record with its rows of that partition, and all of these
//! records have one GSN. What it read and overwrote is below that, wherever it was, so nothing but the streams that it writes to
//! takes part. A commit is durable when every stream is durable up to its GSN, as all its records then are.

mod cut;
mod frontier;
mod partitions;
mod replay_order;
mod stamp;

use std::sync::Arc;

use cut::PloverRule;
pub(crate) use frontier::PloverFrontier;
pub(crate) use partitions::Partitions;

use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::acknowledge::Requirement;
use crate::log::gathering::NO_SOURCE;
use crate::log::persist::{Log, Slot};
use crate::log::protocol::{Committed, LogProtocol};

/// The Plover protocol.
pub(crate) struct Plover {
    log: Arc<Log>,
    partitions: Partitions,
}

impl Plover {
    /// Orders the commits of a log.
    pub(crate) fn new(log: Arc<Log>) -> Plover {
        let partitions = Partitions::new(log.streams.len() as u32);
        Plover { log, partitions }
    }
}

impl LogProtocol for Plover {
    type Dependency = Stamp;
    type Rule = PloverRule;

    #[inline]
    fn source(&self) -> &() {
        NO_SOURCE
    }

    #[inline]
    fn partitions(&self) -> Option<&Partitions> {
        Some(&self.partitions)
    }

    fn stamp(&self, stream: StreamId, base: Stamp, record_bytes: usize) -> Result<Option<Slot<'_>>, LogError> {
        stamp::draw(&self.log, stream, base, record_bytes)
    }

    fn stamp_shares(&self, shares: &[(StreamId, usize)], base: Stamp) -> Result<Option<Vec<Slot<'_>>>, LogError> {
        stamp::draw_together(&self.log, shares, base)
    }

    /// Every stream is durable up to the commit, and so is each of its records, and everything that it read.
    #[inline]
    fn requirement(&self, committed: &Committed<Stamp>) -> Requirement {
        let csn = committed.stamp.max(committed.raw_dep);
        Requirement { csn, ..Requirement::none(committed.stream) }
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
        let log = World::new().plover(2);
        let watermark = Watermark::new(2, Stamp::ZERO);
        let may = |stamp: u64, raw_dep: u64| {
            let (stamp, raw_dep) = (Stamp(stamp), Stamp(raw_dep));
            let committed = Committed { stamp, stream: StreamId(0), epoch: Epoch(1), raw_dep };
            let outcome = crate::log::with_protocol!(log, protocol => committed.outcome(protocol));
            outcome.requirement.unmet(&watermark).is_none()
        };
        watermark.raise(StreamId(0), Stamp(7));
        watermark.settle();
        assert!(!may(7, 0), "the record in the other stream may be lost");
        assert!(!may(0, 3), "a reader waits for all records of what it read");
        watermark.raise(StreamId(1), Stamp(3));
        watermark.settle();
        assert!(may(3, 2) && !may(4, 0) && may(0, 3) && !may(0, 4));
    }
}
