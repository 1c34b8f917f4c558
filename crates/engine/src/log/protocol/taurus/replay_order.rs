//! The order of replay of LSN vectors: for values none is needed, commands are replayed by their vectors.
//!
//! LSNs rise per key, absent keys included (P1), as Poplar's SSNs do. Where commands are logged they also rise from a transaction
//! to whoever overwrites what it read, and whoever comes first by vectors has the smaller LSN. So by LSN and stream the records
//! are in an order in which the transactions could have run one after the other, and every order that the vectors allow has
//! the same effect.

use crate::log::protocol::replay_order::ReplayOrder;

/// The last writer of a key has its greatest LSN, in whatever stream; of two commands in conflict the one that came first has the
/// smaller one.
pub(super) const ORDER: ReplayOrder = ReplayOrder::Total;

#[cfg(test)]
mod tests {
    use crate::log::protocol::replay_order::assert_stamps_follow_commits;
    use crate::log::world_for_tests::World;

    #[test]
    fn lsns_of_a_key_follow_its_commits_over_streams() {
        assert_stamps_follow_commits(&World::new().taurus(3), 3);
    }
}
