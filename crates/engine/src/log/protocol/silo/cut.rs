//! SiloR's cut: `D`, the last epoch that is over and durable in every stream. Of later epochs nothing lives.

use super::replay_order;
use crate::directory::manifest::FrozenGeneration;
use crate::ids::Stamp;
use crate::log::persist::tid::whole_epochs;
use crate::log::protocol::faults;
use crate::log::protocol::recovery_rule::{RecoveryRule, StreamEvidence};
use crate::log::protocol::replay_order::ReplayOrder;

/// SiloR's rule.
pub(crate) enum SiloRule {}

impl RecoveryRule for SiloRule {
    type Dependency = Stamp;
    type Cut = Stamp;

    const ORDER: ReplayOrder = replay_order::ORDER;

    /// As with Poplar: what was read of it, what it had reached before, and what others certify.
    fn durable(stream: &StreamEvidence) -> Stamp {
        stream.reached.max(stream.floor).max(stream.certified)
    }

    /// `D`: at least every one that was ever published, which is the end of an epoch at or below all that was durable.
    fn cut(floor: Stamp, durable: &[Stamp]) -> Stamp {
        let least = durable.iter().copied().min().unwrap_or(floor);
        whole_epochs(least).max(floor)
    }

    /// What every stream had reached when its segment began, or when a batch that was read was closed. A lone stream has no more:
    /// the epoch of its last records need not be over.
    fn certain(floors: &[Stamp], csn: Stamp) -> Stamp {
        let reached = floors.iter().copied().min().map_or(csn, |floor| floor.max(csn));
        whole_epochs(reached)
    }

    /// `D`, as it was written down.
    fn frozen(generation: &FrozenGeneration) -> Stamp {
        generation.cut
    }

    /// A TID is above all it depends on, so whole epochs are closed under reads-from.
    #[inline]
    fn lives(stamp: Stamp, _raw_dep: &Stamp, cut: &Stamp) -> bool {
        stamp <= faults::whole_epochs(*cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: u64 = 1 << 20;

    #[test]
    fn of_the_epoch_that_one_stream_had_not_ended_nothing_lives() {
        let read = |reached| SiloRule::durable(&StreamEvidence { reached: Stamp(reached), ..Default::default() });
        let cut = SiloRule::cut(Stamp::ZERO, &[read(5 * EPOCH + 7), read(6 * EPOCH + 1)]);
        assert_eq!(cut, Stamp(5 * EPOCH));
        assert!(SiloRule::lives(Stamp(5 * EPOCH), &Stamp(1), &cut), "the last of an epoch that is over");
        assert!(!SiloRule::lives(Stamp(5 * EPOCH + 1), &Stamp::ZERO, &cut), "a blind write, too");
    }

    /// A generation that ended in its first epoch leaves what was before, wherever the stamps of earlier ones had ended.
    #[test]
    fn the_floor_lives() {
        let floor = Stamp(3 * EPOCH + 99);
        assert_eq!(SiloRule::cut(floor, &[floor, Stamp(4 * EPOCH - 1)]), floor);
        assert_eq!(SiloRule::cut(floor, &[floor, Stamp(4 * EPOCH)]), floor);
        assert_eq!(SiloRule::cut(floor, &[Stamp(4 * EPOCH + 1), Stamp(4 * EPOCH)]), Stamp(4 * EPOCH));
    }

    #[test]
    fn what_is_certain_is_at_or_below_the_cut() {
        let at = |halves: u64| Stamp(halves * EPOCH / 2);
        for durable in (0..64).map(|of| [at(of % 8), at(of / 8)]) {
            let cut = SiloRule::cut(Stamp::ZERO, &durable);
            for csn in (0..=cut.0 / EPOCH).map(|epoch| Stamp(epoch * EPOCH)) {
                for floors in (0..=7).map(|floor| [at(floor).min(durable[0]), durable[1]]) {
                    let certain = SiloRule::certain(&floors, csn);
                    assert!(certain <= cut && certain >= csn, "{floors:?} and {csn} against {durable:?}");
                }
            }
        }
    }
}
