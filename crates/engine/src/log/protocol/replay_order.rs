//! In which order records that live may be replayed. Recovery asks, by the protocol that wrote the generation.
//!
//! The `replay_order.rs` of each protocol says why its order is enough for logged values.
//!
//! Absent: the order of logged commands, which need a serial one.

use super::{none, poplar, serial};
use crate::config::Protocol;

/// What the replay of logged values has to respect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplayOrder {
    /// There is no record.
    Nothing,
    /// Any order, over all streams and generations, if of the writes of a key the one with the greatest stamp wins.
    LastWriterWins,
}

/// Returns the order of a protocol.
pub(crate) fn of(protocol: Protocol) -> ReplayOrder {
    match protocol {
        Protocol::None => none::replay_order::VALUES,
        Protocol::Serial => serial::replay_order::VALUES,
        Protocol::Poplar => poplar::replay_order::VALUES,
    }
}

/// Commits to one key over the streams of `log` draw stamps in the order of the commits.
#[cfg(test)]
pub(super) fn assert_stamps_follow_commits(log: &crate::log::CommitLog, streams: u32) {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut last = [0; 3];
    for _ in 0..100 {
        let key = rng.usize(..last.len());
        // What it overwrites is part of the base; a serial commit sees all earlier ones.
        let base = if streams == 1 { last.iter().copied().max().unwrap() } else { last[key] };
        let committed = crate::log::world_for_tests::commit(log, rng.u32(..streams), base);
        assert!(committed.stamp.0 > last[key], "{} follows {} of one key", committed.stamp, last[key]);
        last[key] = committed.stamp.0;
    }
}
