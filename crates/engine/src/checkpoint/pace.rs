//! How fast a checkpoint is written.
//!
//! One that was due is spread over most of the time until the next one will be: what it costs, its own work and the copies
//! that transactions make for it, is then spread as well. One that a caller waits for is not.
//!
//! Invariants:
//! - A thread that has fallen behind does not rest, so that log never piles up because of the pace; nor does one at the limit of
//!   memory, so that old versions do not pile up either.
//! - A thread works a twentieth of the time at least: old versions are kept for as long as a checkpoint takes.

use std::sync::Arc;
use std::time::Duration;

use super::requests::CheckpointRequests;
use crate::config::Logged;
use crate::transaction::shared::Shared;

/// The share of the time until the next checkpoint in which this one is to be written.
const COMPLETION: f64 = 0.9;
/// How long a thread rests at most, in times of what it has worked.
const RESTS_MAX: u32 = 19;
/// How long it rests before it looks again.
const REST: Duration = Duration::from_millis(2);

/// The plan of one checkpoint.
pub(super) struct Pace {
    shared: Arc<Shared>,
    requests: Arc<CheckpointRequests>,
    begun: Duration,
    /// How much log there was when it began, and what was owed (transaction/debt.rs).
    log_bytes: u64,
    owed_ns: u64,
    never_rests: bool,
}

impl Pace {
    pub(super) fn new(
        shared: &Arc<Shared>,
        requests: &Arc<CheckpointRequests>,
        (begun, log_bytes, owed_ns): (Duration, u64, u64),
        never_rests: bool,
    ) -> Pace {
        Pace { shared: shared.clone(), requests: requests.clone(), begun, log_bytes, owed_ns, never_rests }
    }

    /// Returns the time of the database's clock.
    pub(super) fn now(&self) -> Duration {
        self.shared.config.environment.clock.now()
    }

    /// Whether a thread may rest with so much, from 0 to 1, of the checkpoint `written`.
    pub(super) fn is_ahead(&self, written: f64) -> bool {
        let config = &self.shared.config;
        let log_bytes = self.shared.log.metrics().total().bytes - self.log_bytes;
        let by_log = share(log_bytes as f64, config.checkpoint_log_bytes as f64);
        let by_time = share((self.now() - self.begun).as_secs_f64(), config.checkpoint_interval.as_secs_f64());
        let due_ns = if config.logged == Logged::Adaptive { self.shared.debt.due_ns() } else { 0 };
        let by_debt = share((self.shared.debt.owed_ns() - self.owed_ns) as f64, due_ns as f64);
        let is_urgent = self.never_rests || self.requests.is_awaited() || self.shared.memory.is_exceeded();
        written * COMPLETION > by_log.max(by_time).max(by_debt) && !is_urgent
    }
}

/// How much of what lies between two checkpoints has passed; nothing where this does not bring the next one.
fn share(passed: f64, all: f64) -> f64 {
    if all > 0.0 { passed / all } else { 0.0 }
}

/// Keeps one thread to the pace, and to its share of `checkpoint_bytes_per_second`.
#[derive(Default)]
pub(super) struct Throttle {
    bytes_per_second: u64,
    /// When what was written is paid for.
    due: Duration,
    /// How long it may rest for what it has worked.
    rests_until: Duration,
}

impl Throttle {
    pub(super) fn new(bytes_per_second: u64) -> Throttle {
        Throttle { bytes_per_second, ..Throttle::default() }
    }

    /// A step from `began` to `now` has written `bytes`.
    pub(super) fn pay(&mut self, began: Duration, now: Duration, bytes: u64) {
        self.rests_until = now + (now - began) * RESTS_MAX;
        if self.bytes_per_second > 0 {
            let price = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
            self.due = self.due.max(now) + price;
        }
    }

    /// How long to rest before the next step.
    pub(super) fn rest(&self, now: Duration, is_ahead: impl FnOnce() -> bool) -> Option<Duration> {
        if self.due > now {
            return Some(self.due - now);
        }
        (self.rests_until > now && is_ahead()).then(|| REST.min(self.rests_until - now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn who_is_ahead_rests_but_works_a_twentieth_of_the_time() {
        let mut throttle = Throttle::new(0);
        assert_eq!(throttle.rest(ms(5), || true), None, "nothing was done yet");
        throttle.pay(ms(10), ms(11), 1 << 20);
        assert_eq!(throttle.rest(ms(11), || true), Some(REST));
        assert_eq!(throttle.rest(ms(11), || false), None, "it is behind");
        assert_eq!(throttle.rest(ms(29), || true), Some(ms(1)));
        assert_eq!(throttle.rest(ms(30), || true), None, "it has rested nineteen times as long");
    }

    #[test]
    fn bytes_are_paid_for_by_whoever_is_behind_too() {
        let mut throttle = Throttle::new(1_000_000);
        throttle.pay(ms(0), ms(1), 10_000);
        assert_eq!(throttle.rest(ms(4), || false), Some(ms(7)));
        throttle.pay(ms(4), ms(4), 10_000);
        assert_eq!(throttle.rest(ms(4), || false), Some(ms(17)), "debts add up");
        assert_eq!(throttle.rest(ms(21), || false), None);
    }

    #[test]
    fn what_has_passed_is_a_share_of_what_is_set() {
        assert_eq!(share(1.0, 4.0), 0.25);
        assert_eq!(share(1.0, 0.0), 0.0, "not a reason for checkpoints");
    }
}
