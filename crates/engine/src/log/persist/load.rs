//! Whether the threads of this process take all the time that its processors have.
//!
//! Absent: what other processes do. They make an idle machine look busy to nobody, and a busy one idle.

use std::time::Duration;

use crate::io::Environment;

/// Processors are looked at over so long a time.
const WINDOW: Duration = Duration::from_millis(10);
/// A look at a longer time says nothing of the present.
const WINDOW_MAX: Duration = Duration::from_millis(100);
/// Processors are short where this share of their time is used.
const SHARE_PERCENT: u32 = 85;

/// The load on the processors, as one logger knows it.
pub(super) struct ProcessorLoad {
    processors: u32,
    looked_at: Duration,
    used: Duration,
    is_full: bool,
}

impl ProcessorLoad {
    /// Nothing is known yet.
    pub(super) fn new(environment: &Environment) -> ProcessorLoad {
        let processors = environment.spawn.parallelism() as u32;
        assert!(processors > 0, "this runs on one");
        ProcessorLoad { processors, looked_at: Duration::ZERO, used: Duration::ZERO, is_full: false }
    }

    /// Whether, over the last few milliseconds, little of the time of all processors was left.
    pub(super) fn is_full(&mut self, environment: &Environment, now: Duration) -> bool {
        let passed = now.saturating_sub(self.looked_at);
        if passed >= WINDOW {
            let used = environment.spawn.processor_time().unwrap_or_default();
            let had = used.saturating_sub(self.used);
            let share = u128::from(self.processors * SHARE_PERCENT) * passed.as_nanos();
            self.is_full = passed <= WINDOW_MAX && had.as_nanos() * 100 >= share;
            (self.looked_at, self.used) = (now, used);
        }
        self.is_full
    }
}
