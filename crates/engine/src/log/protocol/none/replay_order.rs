//! The order of replay without a log.

use crate::log::protocol::replay_order::ReplayOrder;

/// Nothing is replayed: a stamp that two transactions share is in no log.
pub(super) const ORDER: ReplayOrder = ReplayOrder::Unknown;
