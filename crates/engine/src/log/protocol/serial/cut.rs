//! The serial cut: how far the one stream can be read.
//!
//! A commit is acknowledged when the log is durable up to its LSN. What is durable is read, and what it read has smaller
//! LSNs: the valid prefix of the log is closed under every dependency.

use super::replay_order;
use crate::directory::manifest::FrozenGeneration;
use crate::ids::Stamp;
use crate::log::protocol::recovery_rule::{RecoveryRule, StreamEvidence};
use crate::log::protocol::replay_order::ReplayOrder;

/// The serial rule.
pub(crate) enum SerialRule {}

impl RecoveryRule for SerialRule {
    type Dependency = Stamp;
    type Cut = Stamp;

    const ORDER: ReplayOrder = replay_order::ORDER;

    /// What was read of it, and what it had reached before. Nobody certifies it.
    fn durable(stream: &StreamEvidence) -> Stamp {
        stream.reached.max(stream.floor)
    }

    /// What the one stream reached.
    fn cut(floor: Stamp, durable: &[Stamp]) -> Stamp {
        durable.iter().copied().min().unwrap_or(floor)
    }

    /// Everything that can be read, since the cut is the last of it.
    fn certain(_floors: &[Stamp], _csn: Stamp) -> Stamp {
        Stamp::MAX
    }

    /// What the stream had reached, as it was written down.
    fn frozen(generation: &FrozenGeneration) -> Stamp {
        generation.cut
    }

    /// Up to the cut every record does.
    #[inline]
    fn lives(stamp: Stamp, _raw_dep: &Stamp, cut: &Stamp) -> bool {
        stamp <= *cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three records; the log is durable up to the second, and the third is torn off or not.
    #[test]
    fn the_valid_prefix_lives() {
        let (acknowledged, last) = (Stamp(20), Stamp(30));
        for reached in [acknowledged, last] {
            let durable = SerialRule::durable(&StreamEvidence { reached, floor: Stamp(5), ..Default::default() });
            let cut = SerialRule::cut(Stamp(5), &[durable]);
            let records = [(10, 0), (20, 10), (30, 20)].map(|(stamp, raw_dep)| (Stamp(stamp), Stamp(raw_dep)));
            for (stamp, raw_dep) in records.into_iter().filter(|(stamp, _)| *stamp <= reached) {
                assert!(SerialRule::lives(stamp, &raw_dep, &cut), "{stamp} was read");
            }
            assert!(SerialRule::lives(acknowledged, &Stamp(10), &cut));
            assert!(SerialRule::certain(&[Stamp(5)], acknowledged) >= cut, "everything that is read is certain");
        }
    }

    #[test]
    fn an_empty_log_leaves_what_was_before() {
        let durable = SerialRule::durable(&StreamEvidence { floor: Stamp(5), ..Default::default() });
        assert_eq!(SerialRule::cut(Stamp(5), &[durable]), Stamp(5));
    }
}
