//! The stamp without a log: one above everything the transaction read or overwrites.
//!
//! That is P1 per key, which validation needs, and nothing more: two transactions without a conflict may share a stamp.

use crate::ids::Stamp;
use crate::log::persist::Slot;

/// Returns the slot of a commit over `base`.
pub(super) fn draw<'l>(base: Stamp) -> Slot<'l> {
    Slot::unlogged(base.next())
}
