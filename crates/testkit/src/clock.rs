//! A clock that moves only when it is told to.
//!
//! Invariant: `now` never goes back. Sleeping is the same as advancing; a fiber that sleeps lets others run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use osier::io::Clock;

use crate::fiber;

/// The time of day at the start of every simulation, in seconds after the Unix epoch.
const START_S: u64 = 1_000_000_000;

/// A manual clock.
#[derive(Debug, Default)]
pub struct ManualClock {
    elapsed_ns: AtomicU64,
}

impl ManualClock {
    /// A clock at its start.
    pub fn new() -> ManualClock {
        ManualClock::default()
    }

    /// Moves the clock on.
    pub fn advance(&self, duration: Duration) {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.elapsed_ns.fetch_add(ns, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.elapsed_ns.load(Ordering::SeqCst))
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(START_S) + self.now()
    }

    fn sleep(&self, duration: Duration) {
        self.advance(duration);
        fiber::wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_only_when_told() {
        let clock = ManualClock::new();
        assert_eq!(clock.now(), Duration::ZERO);
        let wall = clock.wall();
        clock.advance(Duration::from_millis(3));
        clock.sleep(Duration::from_millis(2));
        assert_eq!(clock.now(), Duration::from_millis(5));
        assert_eq!(clock.wall().duration_since(wall).unwrap(), Duration::from_millis(5));
    }
}
