//! The order of replay of SiloR's streams: none is needed. TIDs rise per key, absent keys included, as Poplar's SSNs do.

use crate::log::protocol::replay_order::ReplayOrder;

/// The last writer of a key has its greatest TID, in whatever stream.
pub(super) const ORDER: ReplayOrder = ReplayOrder::PerKey;

#[cfg(test)]
mod tests {
    use crate::log::protocol::replay_order::assert_stamps_follow_commits;
    use crate::log::world_for_tests::World;

    #[test]
    fn tids_of_a_key_follow_its_commits_over_streams() {
        assert_stamps_follow_commits(&World::new().silo(3), 3);
    }
}
