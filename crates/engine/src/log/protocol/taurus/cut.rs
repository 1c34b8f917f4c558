//! Taurus's cut: `ELV`, how far each stream can be read (section 3.3). A record lives if its vector lies within it.
//!
//! It is judged by itself, wherever the records before it in its stream end up. (The paper's recovery stops a log at its first
//! record that is dead, and its commits do not know of that.)

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::replay_order;
use crate::directory::manifest::FrozenGeneration;
use crate::ids::Stamp;
use crate::log::format::dependency::LsnVector;
use crate::log::protocol::recovery_rule::{Cut, RecoveryRule, StreamEvidence};
use crate::log::protocol::replay_order::ReplayOrder;

/// The LSN up to which each stream was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Elv {
    least: Stamp,
    streams: SmallVec<[Stamp; 8]>,
}

impl Elv {
    fn new(floor: Stamp, streams: impl IntoIterator<Item = Stamp>) -> Elv {
        let streams: SmallVec<_> = streams.into_iter().collect();
        Elv { least: streams.iter().copied().min().unwrap_or(floor), streams }
    }
}

/// By stream, so that two may be neither above nor below each other.
impl PartialOrd for Elv {
    fn partial_cmp(&self, other: &Elv) -> Option<Ordering> {
        assert_eq!(self.streams.len(), other.streams.len(), "cuts of one generation");
        let all = |test: fn(&Stamp, &Stamp) -> bool| self.streams.iter().zip(&other.streams).all(|(a, b)| test(a, b));
        match (all(Stamp::le), all(Stamp::ge)) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}

impl Cut for Elv {
    /// Up to the least of it every record lives: what it depends on has smaller LSNs.
    fn stamp(&self) -> Stamp {
        self.least
    }
}

/// Taurus's rule.
pub(crate) enum TaurusRule {}

impl RecoveryRule for TaurusRule {
    type Dependency = LsnVector;
    type Cut = Elv;

    const ORDER: ReplayOrder = replay_order::ORDER;

    /// The greatest of what was read of it, what it had reached before, and what others certify.
    fn durable(stream: &StreamEvidence) -> Stamp {
        stream.reached.max(stream.floor).max(stream.certified)
    }

    /// It is at least every `PLV` that was ever published: each `DSN` rests on a durable batch, certificate or floor.
    fn cut(floor: Stamp, durable: &[Stamp]) -> Elv {
        Elv::new(floor, durable.iter().copied())
    }

    /// Each stream had reached its floor, and every `CSN` in a batch when that batch was closed. Of a lone stream everything
    /// lives.
    fn certain(floors: &[Stamp], csn: Stamp) -> Elv {
        match floors {
            [_] => Elv::new(csn, [Stamp::MAX]),
            floors => Elv::new(csn, floors.iter().map(|floor| csn.max(*floor))),
        }
    }

    /// ELV, as it was written down.
    fn frozen(generation: &FrozenGeneration) -> Elv {
        Elv::new(generation.cut, generation.streams.iter().map(|stream| stream.durable))
    }

    #[inline]
    fn lives(_stamp: Stamp, vector: &LsnVector, cut: &Elv) -> bool {
        vector.is_within(cut.least, &cut.streams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::StreamId;

    /// What depends on these LSNs of two streams.
    fn reads(lsns: [u64; 2]) -> LsnVector {
        let mut vector = LsnVector::default();
        vector.set_above(lsns.iter().enumerate().map(|(at, lsn)| u64::from(*lsn > 0) << at).sum(), &lsns);
        assert!(vector.iter().all(|(StreamId(stream), lsn)| lsn.0 == lsns[stream as usize]));
        vector
    }

    fn elv(ends: [u64; 2]) -> Elv {
        let read = |reached| TaurusRule::durable(&StreamEvidence { reached: Stamp(reached), ..Default::default() });
        TaurusRule::cut(Stamp::ZERO, &ends.map(read))
    }

    /// Stream 0 ends with 5, stream 1 with 10.
    #[test]
    fn a_record_lives_if_all_that_it_depends_on_was_read() {
        let lives = |lsns| TaurusRule::lives(Stamp(11), &reads(lsns), &elv([5, 10]));
        assert!(
            lives([0, 0]) && lives([5, 10]) && lives([0, 9]),
            "by a scalar 9 might be of stream 0, which has lost it"
        );
        assert!(!lives([6, 0]) && !lives([0, 11]));
        assert!(TaurusRule::lives(Stamp(7), &LsnVector::of_all(Stamp(5)), &elv([5, 10])));
        assert!(!TaurusRule::lives(Stamp(7), &LsnVector::of_all(Stamp(6)), &elv([5, 10])));
    }

    /// Every small case of T of stream `t` and W that read it.
    #[test]
    fn what_lives_is_closed_under_reads_and_holds_what_was_acknowledged() {
        for ends in (0..64).map(|of| [of % 8, of / 8]) {
            let cut = elv(ends);
            for t_reads in (0..16).map(|of| [of % 4, of / 4]) {
                for (t, lsn) in [(0, 5), (1, 5), (0, 7), (1, 7)] {
                    let mut w_reads = t_reads;
                    w_reads[t] = lsn;
                    let w_lives = TaurusRule::lives(Stamp(9), &reads(w_reads), &cut);
                    let t_lives = lsn <= ends[t] && TaurusRule::lives(Stamp(lsn), &reads(t_reads), &cut);
                    assert!(
                        !w_lives || t_lives,
                        "{w_reads:?} lives and read {lsn} of {t}, which read {t_reads:?}: {ends:?}"
                    );
                    let is_acknowledged = w_reads.iter().zip(ends).all(|(lsn, plv)| *lsn <= plv);
                    assert_eq!(is_acknowledged, w_lives, "{w_reads:?} by a PLV of {ends:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_certain_is_at_or_below_the_cut() {
        for ends in (0..64).map(|of| [of % 8, of / 8]) {
            let cut = elv(ends);
            for csn in 0..=cut.least.0 {
                for floors in (0..=ends[0]).map(|floor| [Stamp(floor), Stamp(ends[1])]) {
                    let certain = TaurusRule::certain(&floors, Stamp(csn));
                    assert!(certain <= cut && certain.least >= Stamp(csn), "{floors:?} and {csn} against {ends:?}");
                }
            }
        }
        let everything = TaurusRule::certain(&[Stamp(3)], Stamp(2));
        assert!(TaurusRule::lives(Stamp(1 << 60), &LsnVector::of_all(Stamp(1 << 59)), &everything), "a lone stream");
    }
}
