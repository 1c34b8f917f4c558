//! The serial cut: how far the one stream can be read.
//!
//! A commit is acknowledged when the log is durable up to its LSN. What is durable is read, and what it read has smaller
//! LSNs: the valid prefix of the log is closed under every dependency.

use crate::ids::Stamp;
use crate::log::protocol::cut::StreamEvidence;

/// What was read of it, and what it had reached before. Nobody certifies it.
pub(crate) fn durable(stream: &StreamEvidence) -> Stamp {
    stream.reached.max(stream.floor)
}

/// What the one stream reached.
pub(crate) fn cut(floor: Stamp, durable: &[Stamp]) -> Stamp {
    durable.iter().copied().min().unwrap_or(floor)
}

/// Everything that can be read, since the cut is the last of it.
pub(crate) fn certain(_floors: &[Stamp], _csn: Stamp) -> Stamp {
    Stamp::MAX
}

/// Up to the cut every record does.
#[inline]
pub(crate) fn lives(stamp: Stamp, _raw_dep: Stamp, cut: Stamp) -> bool {
    stamp <= cut
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three records; the log is durable up to the second, and the third is torn off or not.
    #[test]
    fn the_valid_prefix_lives() {
        let (acknowledged, last) = (Stamp(20), Stamp(30));
        for reached in [acknowledged, last] {
            let durable = durable(&StreamEvidence { reached, floor: Stamp(5), ..Default::default() });
            let cut = cut(Stamp(5), &[durable]);
            let records = [(10, 0), (20, 10), (30, 20)].map(|(stamp, raw_dep)| (Stamp(stamp), Stamp(raw_dep)));
            for (stamp, raw_dep) in records.into_iter().filter(|(stamp, _)| *stamp <= reached) {
                assert!(lives(stamp, raw_dep, cut), "{stamp} was read");
            }
            assert!(lives(acknowledged, Stamp(10), cut));
            assert!(certain(&[Stamp(5)], acknowledged) >= cut, "everything that is read is certain");
        }
    }

    #[test]
    fn an_empty_log_leaves_what_was_before() {
        let durable = durable(&StreamEvidence { floor: Stamp(5), ..Default::default() });
        assert_eq!(cut(Stamp(5), &[durable]), Stamp(5));
    }
}
