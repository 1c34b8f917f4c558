//! The order of replay of Plover's streams: none is needed. GSNs rise per key, absent keys included, wherever the key is logged.
//!
//! All rows of a key that one generation logged are in one stream, in order, unless a transaction was too large for one record.
//! So streams could be replayed without a look at each other; by GSN it comes out the same, and over generations too.

use crate::log::protocol::replay_order::ReplayOrder;

/// The last writer of a key has its greatest GSN.
pub(super) const ORDER: ReplayOrder = ReplayOrder::PerKey;

#[cfg(test)]
mod tests {
    use crate::log::protocol::replay_order::assert_stamps_follow_commits;
    use crate::log::world_for_tests::World;

    #[test]
    fn gsns_of_a_key_follow_its_commits_over_streams() {
        assert_stamps_follow_commits(&World::new().plover(3), 3);
    }
}
