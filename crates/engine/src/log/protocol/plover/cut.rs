//! Plover's cut: the least GSN that all streams durably reached. A commit lives with all its records, or with none.
//!
//! A commit has records in several streams, and one that reached its GSN has its record. So up to the cut every commit is
//! whole. To replay a stream as far as it goes would leave half of some behind.

use super::replay_order;
use crate::directory::manifest::FrozenGeneration;
use crate::ids::Stamp;
use crate::log::protocol::faults;
use crate::log::protocol::gsn::GsnRule;
use crate::log::protocol::recovery_rule::{RecoveryRule, StreamEvidence};
use crate::log::protocol::replay_order::ReplayOrder;

/// The rule of Plover's GSNs: that of GSNs, whose order they do not have.
pub(crate) enum PloverRule {}

impl RecoveryRule for PloverRule {
    type Dependency = Stamp;
    type Cut = Stamp;

    const ORDER: ReplayOrder = replay_order::ORDER;

    fn durable(stream: &StreamEvidence) -> Stamp {
        GsnRule::durable(stream)
    }

    fn cut(floor: Stamp, durable: &[Stamp]) -> Stamp {
        GsnRule::cut(floor, durable)
    }

    fn certain(floors: &[Stamp], csn: Stamp) -> Stamp {
        GsnRule::certain(floors, csn)
    }

    fn frozen(generation: &FrozenGeneration) -> Stamp {
        GsnRule::frozen(generation)
    }

    /// Of what is beyond the cut some records may be lost that belong to one that was read.
    #[inline]
    fn lives(stamp: Stamp, raw_dep: &Stamp, cut: &Stamp) -> bool {
        faults::is_whole(GsnRule::lives(stamp, raw_dep, cut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A commit of GSN 7 has records in both streams, and one of them is lost.
    #[test]
    fn half_a_commit_does_not_live() {
        let read = |reached| PloverRule::durable(&StreamEvidence { reached: Stamp(reached), ..Default::default() });
        let cut = PloverRule::cut(Stamp::ZERO, &[read(6), read(7)]);
        assert!(PloverRule::lives(Stamp(6), &Stamp(5), &cut));
        assert!(!PloverRule::lives(Stamp(7), &Stamp::ZERO, &cut));
    }
}
