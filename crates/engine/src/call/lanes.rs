//! The lanes on which a session interleaves calls, and how many of them are best.

use std::time::Duration;

use crate::transaction::Session;

/// The numbers of lanes that are tried.
const WIDTHS: [usize; 5] = [1, 4, 8, 12, 16];
/// A sample is of so many calls at least, in one batch or several.
const SAMPLE_CALLS: usize = 256;
/// Each number of lanes gets so many samples at first. The least of them counts: one contains the compilation of procedures, and
/// in some the thread did not run.
const FIRST_SAMPLES: usize = 3;
/// Then of so many samples one tries another number of lanes than the best.
const TRIALS_ONE_IN: usize = 64;

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
    /// How many samples there were.
    samples: usize,
    /// Of the sample that is being taken: the place in [`WIDTHS`], and what was measured so far.
    at: usize,
    calls: usize,
    took: Duration,
}

impl Width {
    /// Returns the number of lanes of the next batch.
    pub(super) fn next(&self) -> usize {
        WIDTHS[self.at]
    }

    /// So many calls took so long.
    pub(super) fn learn(&mut self, calls: usize, took: Duration) {
        self.calls += calls;
        self.took += took;
        if self.calls < SAMPLE_CALLS {
            return;
        }
        let calls = std::mem::take(&mut self.calls) as u64;
        let ns = (u64::try_from(std::mem::take(&mut self.took).as_nanos()).unwrap_or(u64::MAX) / calls).max(1);
        let is_first = self.samples < FIRST_SAMPLES * WIDTHS.len();
        // What is seldom tried is believed sooner.
        let weight = if self.samples.is_multiple_of(TRIALS_ONE_IN) { 2 } else { 8 };
        let known = &mut self.call_ns[self.at];
        *known = match *known {
            0 => ns,
            least if is_first => least.min(ns),
            // Where the thread did not run for a while a sample says nothing.
            mean => (mean * (weight - 1) + ns.min(mean * 2)).div_ceil(weight),
        };
        self.samples += 1;
        self.at = self.choose();
    }

    fn choose(&self) -> usize {
        if self.samples < FIRST_SAMPLES * WIDTHS.len() {
            return self.samples % WIDTHS.len();
        }
        // Calls differ, so that a small gain may be none: then fewer lanes, where fewer calls meet.
        let enough = self.call_ns.iter().min().expect("there is a number of lanes") * 21 / 20;
        let best = self.call_ns.iter().position(|ns| *ns <= enough).expect("one of them is the least");
        let (trials, rest) = (self.samples / TRIALS_ONE_IN, self.samples % TRIALS_ONE_IN);
        let step = if rest == 0 { 1 + trials % (WIDTHS.len() - 1) } else { 0 };
        (best + step) % WIDTHS.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes batches of so many calls for which a number of lanes takes what `call_ns` says. Returns the share of calls that had
    /// each number of lanes, of the last half.
    fn shares(width: &mut Width, batch: usize, batches: usize, call_ns: impl Fn(usize) -> u64) -> [f64; WIDTHS.len()] {
        let mut counts = [0_usize; WIDTHS.len()];
        for number in 0..batches {
            let lanes = width.next();
            if number >= batches / 2 {
                counts[WIDTHS.iter().position(|of| *of == lanes).expect("one of the numbers")] += 1;
            }
            width.learn(batch, Duration::from_nanos(call_ns(lanes) * batch as u64));
        }
        counts.map(|count| count as f64 / (batches - batches / 2) as f64)
    }

    #[test]
    fn the_best_number_of_lanes_is_found_for_batches_of_any_size() {
        for batch in [2, 16, 32, 256] {
            for best in WIDTHS {
                let batches = 300 * SAMPLE_CALLS.div_ceil(batch);
                let random = std::cell::RefCell::new(fastrand::Rng::with_seed(best as u64));
                // The first call compiles, one in fifty samples is held up, all differ by a fifth.
                let first = std::cell::Cell::new(true);
                let call_ns = |lanes: usize| {
                    let mut random = random.borrow_mut();
                    let is_held_up = random.usize(0..50 * SAMPLE_CALLS) < batch;
                    let held_up = if first.take() || is_held_up { 2_000_000 / batch as u64 } else { 0 };
                    held_up + random.u64(900..1100) + 500 * u64::from(lanes != best)
                };
                let shares = shares(&mut Width::default(), batch, batches, call_ns);
                let at = WIDTHS.iter().position(|of| *of == best).expect("one of the numbers");
                assert!(shares[at] > 0.7, "batches of {batch}, {best} lanes: {shares:?}");
            }
        }
    }

    #[test]
    fn a_load_that_changes_is_followed() {
        let mut width = Width::default();
        let takes = |best: usize| move |lanes: usize| 1000 + 300 * lanes.abs_diff(best) as u64;
        assert!(shares(&mut width, 256, 200, takes(8))[2] > 0.9);
        assert!(shares(&mut width, 256, 4000, takes(1))[0] > 0.9);
        assert!(shares(&mut width, 256, 4000, takes(16))[4] > 0.9);
    }
}
