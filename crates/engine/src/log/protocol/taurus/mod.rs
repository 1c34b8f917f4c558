//! Taurus: vectors of LSNs, one for each stream, for values and for commands (Taurus, sections 3 and 4; docs/protocols.md).
//!
//! A vector says of each stream the last record that a transaction depends on. A commit is durable when its own stream is
//! durable up to it and every other one up to what the vector says of it. Where commands are logged, vectors cover writes after
//! writes and writes after reads besides, so that they say in which order transactions are to be run again, and which may run
//! at once.

mod cut;
mod frontier;
mod replay_order;
mod stamp;

use std::sync::Arc;

use osier_memory::KeyStamps;

use cut::TaurusRule;
pub(crate) use frontier::TaurusFrontier;

use crate::config::Logged;
use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::acknowledge::Requirement;
use crate::log::format::dependency::LsnVector;
use crate::log::gathering::lsns::Lsns;
use crate::log::persist::{Log, Slot};
use crate::log::protocol::{Committed, LogProtocol, StampOrder};
use crate::sizes::lsn_slots;

/// The Taurus protocol.
pub(crate) struct Taurus {
    log: Arc<Log>,
    /// Those of earlier generations are durable: nothing is known of them.
    lsns: Lsns,
}

impl Taurus {
    /// Orders the commits of a log whose records hold `logged`.
    pub(crate) fn new(log: Arc<Log>, logged: Logged) -> Taurus {
        let lsns = Lsns::new(log.streams.len(), lsn_slots(), logged.has_commands());
        Taurus { log, lsns }
    }
}

impl LogProtocol for Taurus {
    type Dependency = LsnVector;
    type Rule = TaurusRule;

    /// Commands need the vectors of those who have read what is overwritten, and these are known when readers raise what they
    /// read before they validate.
    #[inline]
    fn stamp_order(&self) -> StampOrder {
        match self.lsns.read() {
            None => StampOrder::AfterValidation,
            Some(_) => StampOrder::BeforeValidation,
        }
    }

    #[inline]
    fn read_stamps(&self) -> Option<&KeyStamps> {
        self.lsns.read()
    }

    #[inline]
    fn source(&self) -> &Lsns {
        &self.lsns
    }

    fn stamp(&self, stream: StreamId, base: Stamp, record_bytes: usize) -> Result<Option<Slot<'_>>, LogError> {
        stamp::draw(&self.log, stream, base, record_bytes)
    }

    /// `PLV >= LV`: the own record, and of every other stream what the vector says.
    fn requirement(&self, committed: &Committed<LsnVector>) -> Requirement {
        let is_covered = |stream: StreamId| stream == committed.stream && committed.stamp > Stamp::ZERO;
        let streams = committed.raw_dep.iter().filter(|(stream, _)| !is_covered(*stream)).collect();
        Requirement { stream: committed.stream, dsn: committed.stamp, streams, csn: committed.raw_dep.all() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Epoch;
    use crate::log::acknowledge::Watermark;
    use crate::log::format::dependency::Dependency;
    use crate::log::world_for_tests::World;

    #[test]
    fn an_acknowledgement_needs_the_own_record_and_what_the_vector_names() {
        let log = World::new().taurus(3);
        let watermark = Watermark::new(3, Stamp::ZERO);
        let may = |stamp: u64, stream: u32, lanes: [u64; 3]| {
            let mut raw_dep = LsnVector::default();
            raw_dep.set_above((0..3).filter(|at| lanes[*at] > 0).map(|at| 1 << at).sum(), &lanes);
            assert!(stamp == 0 || raw_dep.greatest().0 < stamp);
            let committed = Committed { stamp: Stamp(stamp), stream: StreamId(stream), epoch: Epoch(1), raw_dep };
            let crate::log::ActiveProtocol::Taurus(protocol) = log.protocol() else { panic!("it was asked for") };
            committed.outcome(protocol).requirement.unmet(&watermark).is_none()
        };
        watermark.raise(StreamId(0), Stamp(7));
        watermark.settle();
        assert!(may(7, 0, [6, 0, 0]), "what precedes it in its stream is durable");
        assert!(!may(8, 0, [0; 3]));
        assert!(!may(7, 0, [0, 3, 0]) && !may(0, 0, [0, 3, 0]));
        assert!(may(0, 1, [7, 0, 0]) && !may(0, 0, [8, 0, 0]), "who wrote nothing has no record");
        watermark.raise(StreamId(1), Stamp(3));
        watermark.settle();
        assert!(may(7, 0, [0, 3, 0]), "nobody waits for stream 2");
        assert!(!may(7, 0, [0, 4, 0]) && !may(7, 0, [0, 0, 1]));
    }
}
