//! SiloR: many streams that are durable by whole epochs (SiloR in Poplar, sections 2 and 6; docs/protocols.md).
//!
//! A TID has its epoch in its upper bits and orders a commit after everything it read or overwrote, as Poplar's SSN does. A
//! commit is durable when its epoch is over and every stream durable up to the end of it: group commit by epochs, for which no
//! record is forced on its own.

mod cut;
mod frontier;
mod replay_order;
mod stamp;

use std::sync::Arc;

use cut::SiloRule;
pub(crate) use frontier::SiloFrontier;

use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::acknowledge::Requirement;
use crate::log::gathering::NO_SOURCE;
use crate::log::persist::{Log, Slot, tid};
use crate::log::protocol::{Committed, LogProtocol};

/// The SiloR protocol.
pub(crate) struct Silo {
    log: Arc<Log>,
}

impl Silo {
    /// Orders the commits of a log.
    pub(crate) fn new(log: Arc<Log>) -> Silo {
        Silo { log }
    }
}

impl LogProtocol for Silo {
    type Dependency = Stamp;
    type Rule = SiloRule;

    #[inline]
    fn source(&self) -> &() {
        NO_SOURCE
    }

    fn stamp(&self, stream: StreamId, base: Stamp, record_bytes: usize) -> Result<Option<Slot<'_>>, LogError> {
        stamp::draw(&self.log, stream, base, record_bytes)
    }

    /// `D` has reached the own epoch, and those of everything read. All who commit in an epoch wait for the same stamp; what
    /// earlier generations left is durable.
    #[inline]
    fn requirement(&self, committed: &Committed<Stamp>) -> Requirement {
        let greatest = committed.stamp.max(committed.raw_dep);
        let is_earlier = self.log.tid_epochs.is_earlier(greatest);
        let csn = if is_earlier { greatest } else { tid::end_of_epoch(greatest) };
        Requirement { csn, ..Requirement::none(committed.stream) }
    }
}

#[cfg(test)]
mod tests {
    use crate::log::persist::tid::end_of_epoch;
    use crate::log::world_for_tests::{World, commit, receipt_of};

    /// A commit of the open epoch is written by nobody before the epoch is over, and then acknowledged on all streams at once.
    #[test]
    fn an_epoch_is_acknowledged_when_it_is_over() {
        let world = World::new();
        let log = world.silo(2);
        let first = commit(&log, 0, 0);
        let second = commit(&log, 1, first.stamp.0);
        let receipts = [&first, &second].map(|committed| receipt_of(&log, committed));
        world.spawn.settle_for_good();
        assert!(receipts.iter().all(|receipt| !receipt.is_acknowledged().unwrap()));
        world.epochs.advance();
        log.nudge();
        world.spawn.settle_for_good();
        assert!(receipts.iter().all(|receipt| receipt.is_acknowledged().unwrap()));
        assert_eq!(log.csn(), end_of_epoch(second.stamp), "D is the end of an epoch");
    }

    /// More commits than the TIDs of an epoch can count: all of them wait for the end of one epoch, and no more.
    #[test]
    fn what_overran_its_epoch_is_acknowledged_with_it() {
        let world = World::new();
        let log = world.silo(2);
        let first = commit(&log, 0, 0);
        let far = commit(&log, 1, end_of_epoch(first.stamp).0 + (5 << 20) + 7);
        for overrun in [far, commit(&log, 0, 0)] {
            let receipt = receipt_of(&log, &overrun);
            world.epochs.advance();
            log.nudge();
            world.spawn.settle_for_good();
            assert!(receipt.is_acknowledged().unwrap(), "{overrun:?}");
        }
        let next = commit(&log, 0, 0);
        assert!(next.stamp > end_of_epoch(far.stamp), "epochs go on from there");
    }
}
