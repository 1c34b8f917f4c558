//! Poplar: partially constrained logs on many streams (Poplar, sections 3 and 4; docs/protocols.md).
//!
//! An SSN orders a commit after everything it read or overwrote, and nothing else. A commit is durable when its own
//! stream is durable up to it and every stream up to what it read (`raw_dep`).

mod cut;
mod frontier;
mod replay_order;
mod stamp;

use std::sync::Arc;

use cut::PoplarRule;
pub(crate) use frontier::PoplarFrontier;
pub(crate) use stamp::draw;

use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::acknowledge::Requirement;
use crate::log::gathering::NO_SOURCE;
use crate::log::persist::{Log, Slot};
use crate::log::protocol::{Committed, LogProtocol};

/// The Poplar protocol.
pub(crate) struct Poplar {
    log: Arc<Log>,
}

impl Poplar {
    /// Orders the commits of a log.
    pub(crate) fn new(log: Arc<Log>) -> Poplar {
        Poplar { log }
    }
}

impl LogProtocol for Poplar {
    type Dependency = Stamp;
    type Rule = PoplarRule;

    #[inline]
    fn source(&self) -> &() {
        NO_SOURCE
    }

    fn stamp(&self, stream: StreamId, base: Stamp, record_bytes: usize) -> Result<Option<Slot<'_>>, LogError> {
        stamp::draw(&self.log, stream, base, record_bytes)
    }

    /// The one rule in place of two queues (Poplar, section 4.3): the own record is durable, and so is everything read. A blind
    /// write reads nothing (Qww).
    #[inline]
    fn requirement(&self, committed: &Committed<Stamp>) -> Requirement {
        Requirement { dsn: committed.stamp, csn: committed.raw_dep, ..Requirement::none(committed.stream) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Epoch;
    use crate::log::acknowledge::Watermark;
    use crate::log::world_for_tests::World;

    #[test]
    fn an_acknowledgement_needs_the_own_record_and_everything_read() {
        let log = World::new().poplar(2);
        let watermark = Watermark::new(2, Stamp::ZERO);
        let may = |stamp: u64, stream: u32, raw_dep: u64| {
            let (stamp, raw_dep) = (Stamp(stamp), Stamp(raw_dep));
            let committed = Committed { stamp, stream: StreamId(stream), epoch: Epoch(1), raw_dep };
            let outcome = crate::log::with_protocol!(log, protocol => committed.outcome(protocol));
            outcome.requirement.unmet(&watermark).is_none()
        };
        watermark.raise(StreamId(0), Stamp(7));
        watermark.settle();
        assert!(may(7, 0, 0), "a blind write needs only its own stream");
        assert!(!may(8, 0, 0));
        assert!(!may(7, 0, 3), "what it read may sit on stream 1");
        assert!(!may(0, 0, 3), "a reader waits too");
        assert!(may(0, 1, 0), "nothing written, nothing read");
        watermark.raise(StreamId(1), Stamp(3));
        watermark.settle();
        assert!(may(7, 0, 3));
        assert!(may(0, 0, 3));
        assert!(!may(0, 0, 4));
    }
}
