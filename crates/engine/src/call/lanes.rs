//! The lanes on which a session interleaves calls, and how many of them are best.

use std::time::Duration;

use crate::transaction::Session;

/// The numbers of lanes that are tried.
const WIDTHS: [usize; 5] = [1, 4, 8, 12, 16];
/// Fewer calls tell nothing about a number of lanes.
const CALLS_MIN: usize = 32;
/// Of so many batches one tries another number of lanes than the best.
const TRIALS_ONE_IN: u32 = 16;

/// What a session keeps for batches.
#[derive(Default)]
pub(super) struct Lanes {
    pub(super) sessions: Vec<Session>,
    pub(super) width: Width,
}

/// How many lanes are best, as far as batches have shown.
#[derive(Default)]
pub(super) struct Width {
    /// The time of a call for each of [`WIDTHS`], smoothed; zero where it was not tried.
    call_ns: [u64; WIDTHS.len()],
    batches: u32,
}

impl Width {
    /// Returns the number of lanes of the next batch.
    pub(super) fn next(&mut self) -> usize {
        self.batches = self.batches.wrapping_add(1);
        if let Some(untried) = self.call_ns.iter().position(|ns| *ns == 0) {
            return WIDTHS[untried];
        }
        let best = (0..WIDTHS.len()).min_by_key(|at| self.call_ns[*at]).expect("there is a number of lanes");
        if self.batches.is_multiple_of(TRIALS_ONE_IN) {
            let step = if (self.batches / TRIALS_ONE_IN).is_multiple_of(2) { 1 } else { WIDTHS.len() - 1 };
            return WIDTHS[(best + step) % WIDTHS.len()];
        }
        WIDTHS[best]
    }

    /// So many calls on so many lanes took so long.
    pub(super) fn learn(&mut self, width: usize, calls: usize, took: Duration) {
        let Some(at) = WIDTHS.iter().position(|of| *of == width).filter(|_| calls >= CALLS_MIN) else { return };
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / calls as u64;
        let before = &mut self.call_ns[at];
        *before = if *before == 0 { ns.max(1) } else { (*before * 7 + ns).div_ceil(8) };
    }
}
