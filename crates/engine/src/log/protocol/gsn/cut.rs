//! The cut of GSN streams: RSNe, the least stamp that all streams durably reached, as Poplar's.
//!
//! What lives is a prefix of the total order, and nothing beyond it does: a commit was acknowledged when `CSN` had reached its
//! stamp. So the state is one that the database was in, and a log of commands could be replayed up to it.

use super::replay_order;
use crate::directory::manifest::FrozenGeneration;
use crate::ids::Stamp;
use crate::log::protocol::recovery_rule::{RecoveryRule, StreamEvidence};
use crate::log::protocol::replay_order::ReplayOrder;

/// The rule of GSNs.
pub(crate) enum GsnRule {}

impl RecoveryRule for GsnRule {
    type Dependency = Stamp;
    type Cut = Stamp;

    const ORDER: ReplayOrder = replay_order::ORDER;

    /// The greatest of what was read of it, what it had reached before, and what others certify.
    fn durable(stream: &StreamEvidence) -> Stamp {
        stream.reached.max(stream.floor).max(stream.certified)
    }

    /// RSNe: at least every `CSN` that was ever published, as in Poplar's cut.
    fn cut(floor: Stamp, durable: &[Stamp]) -> Stamp {
        durable.iter().copied().min().unwrap_or(floor)
    }

    /// Each stream had reached its floor, and every `CSN` in a batch when that batch was closed. Of a lone stream everything
    /// lives, since RSNe is its last stamp. Where the device lost what a batch promised, recovery fails.
    fn certain(floors: &[Stamp], csn: Stamp) -> Stamp {
        match floors {
            [_] => Stamp::MAX,
            floors => floors.iter().copied().min().map_or(csn, |floor| floor.max(csn)),
        }
    }

    /// RSNe, as it was written down.
    fn frozen(generation: &FrozenGeneration) -> Stamp {
        generation.cut
    }

    /// The prefix of the total order, which is closed under every dependency, anti-dependencies included.
    #[inline]
    fn lives(stamp: Stamp, _raw_dep: &Stamp, cut: &Stamp) -> bool {
        stamp <= *cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two streams. The second wrote further than the first, so RSNe is where the first ends.
    #[test]
    fn nothing_lives_beyond_the_cut() {
        let read = |reached| GsnRule::durable(&StreamEvidence { reached: Stamp(reached), ..Default::default() });
        let cut = GsnRule::cut(Stamp::ZERO, &[read(5), read(10)]);
        assert_eq!(cut, Stamp(5));
        for stamp in 1..12 {
            for raw_dep in 0..stamp {
                let is_live = GsnRule::lives(Stamp(stamp), &Stamp(raw_dep), &cut);
                assert_eq!(is_live, stamp <= 5, "{stamp} that read {raw_dep}");
            }
        }
    }

    #[test]
    fn whatever_shows_that_a_stream_was_durable_counts() {
        for (reached, floor, certified) in [(9, 2, 3), (2, 9, 3), (2, 3, 9)] {
            let [reached, floor, certified] = [reached, floor, certified].map(Stamp);
            assert_eq!(GsnRule::durable(&StreamEvidence { reached, floor, certified }), Stamp(9));
        }
        assert_eq!(GsnRule::cut(Stamp(4), &[]), Stamp(4), "without a stream nothing follows the floor");
    }

    #[test]
    fn what_is_certain_is_at_or_below_the_cut() {
        for durable in (0..64).map(|of| [Stamp(of % 8), Stamp(of / 8)]) {
            let cut = GsnRule::cut(Stamp::ZERO, &durable);
            for csn in 0..=cut.0 {
                for floors in (0..=durable[0].0).map(|floor| [Stamp(floor), durable[1]]) {
                    let certain = GsnRule::certain(&floors, Stamp(csn));
                    assert!(certain <= cut && certain >= Stamp(csn), "{floors:?} and {csn} against {durable:?}");
                }
            }
        }
        let everything = GsnRule::certain(&[Stamp(3)], Stamp(2));
        assert!(GsnRule::lives(Stamp(1 << 60), &Stamp::ZERO, &everything), "a lone stream");
    }
}
