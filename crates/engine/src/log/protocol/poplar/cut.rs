//! Poplar's cut: RSNe, the least stamp that all streams durably reached (section 5), with `raw_dep` in place of the two queues.
//!
//! A record beyond it lives all the same if what it read does not lie beyond: a blind write needs its own stream only.

use super::replay_order;
use crate::directory::manifest::FrozenGeneration;
use crate::ids::Stamp;
use crate::log::protocol::recovery_rule::{RecoveryRule, StreamEvidence};
use crate::log::protocol::replay_order::ReplayOrder;

/// Poplar's rule.
pub(crate) enum PoplarRule {}

impl RecoveryRule for PoplarRule {
    type Dependency = Stamp;
    type Cut = Stamp;

    const ORDER: ReplayOrder = replay_order::ORDER;

    /// The greatest of what was read of it, what it had reached before, and what others certify.
    fn durable(stream: &StreamEvidence) -> Stamp {
        stream.reached.max(stream.floor).max(stream.certified)
    }

    /// RSNe. It is at least every `CSN` that was ever published: that is the least `DSN`, and each `DSN` rests on a durable
    /// batch, certificate or floor.
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

    /// P3: `stamp <= RSNe || raw_dep <= RSNe` is closed under reads-from.
    #[inline]
    fn lives(stamp: Stamp, raw_dep: &Stamp, cut: &Stamp) -> bool {
        stamp <= *cut || raw_dep <= cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps<const N: usize>(stamps: [u64; N]) -> [Stamp; N] {
        stamps.map(Stamp)
    }

    fn lives(stamp: u64, raw_dep: u64, cut: u64) -> bool {
        PoplarRule::lives(Stamp(stamp), &Stamp(raw_dep), &Stamp(cut))
    }

    /// Two streams. The second wrote further than the first, so RSNe is where the first ends.
    #[test]
    fn a_record_beyond_the_cut_lives_if_what_it_read_does_not_lie_beyond() {
        let read = |reached| PoplarRule::durable(&StreamEvidence { reached: Stamp(reached), ..Default::default() });
        let cut = PoplarRule::cut(Stamp::ZERO, &[read(5), read(10)]);
        assert_eq!(cut, Stamp(5));
        let live = [(1, 0), (5, 1), (3, 0), (9, 4), (10, 0)];
        assert!(live.iter().all(|(stamp, raw_dep)| lives(*stamp, *raw_dep, cut.0)));
        assert!(!lives(8, 6, cut.0), "what 6 wrote may have been lost with the first stream");
    }

    #[test]
    fn whatever_shows_that_a_stream_was_durable_counts() {
        for (reached, floor, certified) in [(9, 2, 3), (2, 9, 3), (2, 3, 9)] {
            let [reached, floor, certified] = stamps([reached, floor, certified]);
            assert_eq!(PoplarRule::durable(&StreamEvidence { reached, floor, certified }), Stamp(9));
        }
    }

    /// Every small case: RSNe `0..9`, T of stamp `t`, and W of stamp `w` that read up to `raw_dep`.
    #[test]
    fn what_lives_is_closed_under_reads_and_holds_what_was_acknowledged() {
        for cut in 0..9 {
            for w in 1..12 {
                for raw_dep in 0..w {
                    let is_live = lives(w, raw_dep, cut);
                    for t in (1..=raw_dep).filter(|_| is_live) {
                        assert!(lives(t, t - 1, cut), "{w} lives and read {t}, cut {cut}");
                    }
                    for csn in 0..=cut {
                        assert!(is_live || raw_dep > csn, "{w} was acknowledged by CSN {csn}, cut {cut}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_certain_is_at_or_below_the_cut() {
        for durable in (0..64).map(|of| stamps([of % 8, of / 8])) {
            let cut = PoplarRule::cut(Stamp::ZERO, &durable);
            for csn in 0..=cut.0 {
                for floors in (0..=durable[0].0).map(|floor| [Stamp(floor), durable[1]]) {
                    assert!(
                        PoplarRule::certain(&floors, Stamp(csn)) <= cut,
                        "{floors:?} and {csn} against {durable:?}"
                    );
                    assert!(PoplarRule::certain(&floors, Stamp(csn)) >= Stamp(csn));
                }
            }
        }
        assert_eq!(PoplarRule::certain(&[Stamp(3)], Stamp(2)), Stamp::MAX, "a lone stream");
    }
}
