//! The order of replay of GSN streams: for values none is needed, commands are replayed by GSN and stream.
//!
//! GSNs rise per key, absent keys included (P1), as Poplar's SSNs do. By GSN and stream the records are in a serialization order
//! besides, which values do not need.

use crate::log::protocol::replay_order::ReplayOrder;

/// The last writer of a key has its greatest GSN, in whatever stream; of two transactions in conflict the one that came first has
/// the smaller one.
pub(super) const ORDER: ReplayOrder = ReplayOrder::Total;

#[cfg(test)]
mod tests {
    use crate::log::protocol::replay_order::assert_stamps_follow_commits;
    use crate::log::world_for_tests::World;

    #[test]
    fn gsns_of_a_key_follow_its_commits_over_streams() {
        assert_stamps_follow_commits(&World::new().gsn(3), 3);
    }
}
