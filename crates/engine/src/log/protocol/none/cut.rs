//! The cut without a log: no record, no stream, and nothing to decide.

use crate::ids::Stamp;
use crate::log::protocol::cut::StreamEvidence;

/// What it had reached before.
pub(crate) fn durable(stream: &StreamEvidence) -> Stamp {
    stream.floor
}

/// The floor: what earlier generations and checkpoints hold is all there is.
pub(crate) fn cut(floor: Stamp, _durable: &[Stamp]) -> Stamp {
    floor
}

/// What was durable before.
pub(crate) fn certain(_floors: &[Stamp], csn: Stamp) -> Stamp {
    csn
}

/// No record does.
#[inline]
pub(crate) fn lives(_stamp: Stamp, _raw_dep: Stamp, _cut: Stamp) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_follows_the_floor() {
        assert_eq!(cut(Stamp(7), &[]), Stamp(7));
        assert_eq!(certain(&[], Stamp(7)), Stamp(7));
        assert!(!lives(Stamp(8), Stamp(0), Stamp(7)));
    }
}
