//! The order of replay of Poplar's streams: none is needed, and none is recorded (Poplar, section 5).
//!
//! SSNs rise per key, absent keys included (P1), because a commit draws its SSN above what it overwrites while it holds
//! the key's lock. Between different keys an SSN orders only what was read or overwritten; values need no more.

use crate::log::protocol::replay_order::ReplayOrder;

/// The last writer of a key has its greatest SSN, in whatever stream.
pub(super) const ORDER: ReplayOrder = ReplayOrder::PerKey;

#[cfg(test)]
mod tests {
    use crate::log::protocol::replay_order::assert_stamps_follow_commits;
    use crate::log::world_for_tests::World;

    #[test]
    fn ssns_of_a_key_follow_its_commits_over_streams() {
        assert_stamps_follow_commits(&World::new().poplar(3), 3);
    }
}
