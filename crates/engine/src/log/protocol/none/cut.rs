//! The cut without a log: no record, no stream, and nothing to decide.

use super::replay_order;
use crate::directory::manifest::FrozenGeneration;
use crate::ids::Stamp;
use crate::log::protocol::recovery_rule::{RecoveryRule, StreamEvidence};
use crate::log::protocol::replay_order::ReplayOrder;

/// The rule without a log.
pub(crate) enum NoRule {}

impl RecoveryRule for NoRule {
    type Dependency = Stamp;
    type Cut = Stamp;

    const ORDER: ReplayOrder = replay_order::ORDER;

    /// What it had reached before.
    fn durable(stream: &StreamEvidence) -> Stamp {
        stream.floor
    }

    /// The floor: what earlier generations and checkpoints hold is all there is.
    fn cut(floor: Stamp, _durable: &[Stamp]) -> Stamp {
        floor
    }

    /// What was durable before.
    fn certain(_floors: &[Stamp], csn: Stamp) -> Stamp {
        csn
    }

    /// What was durable before.
    fn frozen(generation: &FrozenGeneration) -> Stamp {
        generation.cut
    }

    /// No record does.
    #[inline]
    fn lives(_stamp: Stamp, _raw_dep: &Stamp, _cut: &Stamp) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_follows_the_floor() {
        assert_eq!(NoRule::cut(Stamp(7), &[]), Stamp(7));
        assert_eq!(NoRule::certain(&[], Stamp(7)), Stamp(7));
        assert!(!NoRule::lives(Stamp(8), &Stamp(0), &Stamp(7)));
    }
}
