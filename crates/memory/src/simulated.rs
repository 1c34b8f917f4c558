//! What a simulation changes in the structures: sizes, which it makes small, and deliberate faults.
//!
//! Invariants:
//! - Without the cargo feature `simulated` every size is a constant and there is no fault.
//! - With it both belong to a thread. A thread that nobody has told anything has the sizes that ship, and no fault: what an
//!   ordinary test runs is the shipped variant, whatever features its build has.
//!
//! Deliberately absent: sizes of what lies in memory. A small node is a large one of which fewer slots are used.

/// Sizes of trees, for the thread that works on them.
#[cfg(feature = "simulated")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeSizes {
    /// Slots of a leaf that are used at most; four or more.
    pub leaf_slots: usize,
    /// Slots of an inner node that are used at most; four or more.
    pub inner_slots: usize,
    /// Leaves of a tree from which on it has hints.
    pub hinted_leaves_min: usize,
}

#[cfg(feature = "simulated")]
impl TreeSizes {
    /// The sizes that ship.
    pub const SHIPPED: TreeSizes =
        TreeSizes { leaf_slots: usize::MAX, inner_slots: usize::MAX, hinted_leaves_min: HINTED_LEAVES_MIN };
}

/// A step of the structures that a test takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeFault {
    /// A scan goes on to the next slot of a parent that has changed.
    StaleParentScanned,
}

/// Smaller trees have no hints: their way down is short and warm.
const HINTED_LEAVES_MIN: usize = if cfg!(test) { 2 } else { 8 };

#[cfg(feature = "simulated")]
mod of_thread {
    use std::cell::Cell;

    use super::{TreeFault, TreeSizes};

    thread_local! {
        pub(super) static SIZES: Cell<TreeSizes> = const { Cell::new(TreeSizes::SHIPPED) };
        pub(super) static FAULT: Cell<Option<TreeFault>> = const { Cell::new(None) };
        /// The state of the numbers drawn; none are.
        pub(super) static TIMEOUTS: Cell<Option<u64>> = const { Cell::new(None) };
    }
}

/// Sets the sizes of the trees that the calling thread works on from now on.
///
/// # Panics
/// Where a node has fewer than four slots: two halves of it must not be empty.
#[cfg(feature = "simulated")]
pub fn set_tree_sizes(sizes: TreeSizes) {
    assert!(sizes.leaf_slots >= 4 && sizes.inner_slots >= 4, "a node has at least four slots: {sizes:?}");
    of_thread::SIZES.set(sizes);
}

/// In a thread whose waits may pass their limit, one of so many times that a waiting thread lets others run is the last.
#[cfg(feature = "simulated")]
const TIMES_OUT_ONE_IN: u64 = 24;

/// Lets waits of the calling thread that have a limit pass it now and then, drawn from this seed; or never.
#[cfg(feature = "simulated")]
pub fn set_timeouts(seed: Option<u64>) {
    // A state of 0 would stay.
    of_thread::TIMEOUTS.set(seed.map(|seed| seed | 1));
}

/// Builds a fault into the trees that the calling thread works on from now on, or none.
#[cfg(feature = "simulated")]
pub fn set_tree_fault(fault: Option<TreeFault>) {
    of_thread::FAULT.set(fault);
}

/// How many slots of a leaf that has `built` are used.
#[inline(always)]
pub(crate) fn leaf_slots(built: usize) -> usize {
    #[cfg(feature = "simulated")]
    return built.min(of_thread::SIZES.get().leaf_slots);
    #[cfg(not(feature = "simulated"))]
    built
}

/// How many slots of an inner node that has `built` are used.
#[inline(always)]
pub(crate) fn inner_slots(built: usize) -> usize {
    #[cfg(feature = "simulated")]
    return built.min(of_thread::SIZES.get().inner_slots);
    #[cfg(not(feature = "simulated"))]
    built
}

/// Leaves of a tree from which on it has hints.
#[inline(always)]
pub(crate) fn hinted_leaves_min() -> usize {
    #[cfg(feature = "simulated")]
    return of_thread::SIZES.get().hinted_leaves_min;
    #[cfg(not(feature = "simulated"))]
    HINTED_LEAVES_MIN
}

/// Whether a wait of a simulated thread, during which others have run, has passed its limit.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub(crate) fn times_out() -> bool {
    #[cfg(feature = "simulated")]
    return of_thread::TIMEOUTS.get().is_some_and(|state| {
        // Marsaglia's xorshift, 2003.
        let state = state ^ state << 13;
        let state = state ^ state >> 7;
        let state = state ^ state << 17;
        of_thread::TIMEOUTS.set(Some(state));
        state % TIMES_OUT_ONE_IN == 0
    });
    #[cfg(not(feature = "simulated"))]
    false
}

/// Whether the fault is built into what this thread runs.
#[inline(always)]
pub(crate) fn has(fault: TreeFault) -> bool {
    #[cfg(feature = "simulated")]
    return of_thread::FAULT.get() == Some(fault);
    #[cfg(not(feature = "simulated"))]
    {
        let _ = fault;
        false
    }
}
