//! The order of replay of a serial log: that of the log would do, and none is needed.
//!
//! LSNs rise in the order of all commits, so also per key. Records of values are replayed as threads read them, segment by
//! segment. A transaction that logs a command has drawn its LSN before it validated: above those of all that it read or
//! overwrites, and below those of all that overwrite what it read (O1).

use crate::log::protocol::replay_order::ReplayOrder;

/// The last writer of a key has its greatest LSN, and of two commands the one that came first has the smaller one.
pub(super) const ORDER: ReplayOrder = ReplayOrder::Total;

#[cfg(test)]
mod tests {
    use crate::log::protocol::replay_order::assert_stamps_follow_commits;
    use crate::log::world_for_tests::World;

    #[test]
    fn lsns_of_a_key_follow_its_commits() {
        assert_stamps_follow_commits(&World::new().serial(0), 1);
    }
}
