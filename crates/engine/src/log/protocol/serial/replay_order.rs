//! The order of replay of a serial log: that of the log would do, and none is needed.
//!
//! LSNs rise in the order of all commits, so also per key. Records are replayed as threads read them, segment by segment.

use crate::log::protocol::replay_order::ReplayOrder;

/// The last writer of a key has its greatest LSN.
pub(super) const ORDER: ReplayOrder = ReplayOrder::PerKey;

#[cfg(test)]
mod tests {
    use crate::log::protocol::replay_order::assert_stamps_follow_commits;
    use crate::log::world_for_tests::World;

    #[test]
    fn lsns_of_a_key_follow_its_commits() {
        assert_stamps_follow_commits(&World::new().serial(0), 1);
    }
}
