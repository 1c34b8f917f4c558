//! In which order records that live may be replayed: what a protocol gives, and what a machine of replay needs.
//!
//! The passes of recovery feed machines in no order, so what the stamps of records say is all there is. The
//! `replay_order.rs` of each protocol says why its stamps say that; a machine names what it needs
//! ([`ReplayMachine::NEEDS`](crate::recovery::replay::machine::ReplayMachine::NEEDS)), and recovery feeds no machine that needs
//! more than the protocol gives.
//!
//! Commands need the whole order of their transactions, and are replayed in it (recovery/ordered/).

/// What the stamps of records say of the order of their transactions. Each says what those before it say, and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReplayOrder {
    /// Nothing.
    Unknown,
    /// Which of the writes of a key is the last: that of the greatest stamp, over all streams and generations.
    PerKey,
    /// Which of any two transactions comes first in a serial order of all, where stamps are drawn before validation
    /// ([`StampOrder::BeforeValidation`](super::StampOrder)), as they are where commands are logged.
    Total,
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
