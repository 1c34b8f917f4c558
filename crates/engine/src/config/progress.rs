//! What the callback of a configuration gets while recovery goes on.

use std::time::Duration;

/// A stage of recovery, in order. [`Checkpoint`](RecoveryPhase::Checkpoint), [`Scan`](RecoveryPhase::Scan),
/// [`Replay`](RecoveryPhase::Replay), [`Index`](RecoveryPhase::Index) and [`Order`](RecoveryPhase::Order) are reported to the
/// callback. The report at the end has the time that each took, where that of [`Cut`](RecoveryPhase::Cut) is a part of
/// [`Persist`](RecoveryPhase::Persist).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecoveryPhase {
    /// Reading the manifest.
    Manifest,
    /// Loading the checkpoint.
    Checkpoint,
    /// Finding the valid prefix of every stream, and installing the rows that are certain to live.
    Scan,
    /// Deciding which transactions count as committed.
    Cut,
    /// Making the tails durable and freezing the generation.
    Persist,
    /// Installing the other rows.
    Replay,
    /// Checking the result.
    Check,
    /// Building secondary indexes.
    Index,
    /// Running transactions again, as if one after the other, where commands are logged.
    Order,
}

/// How far recovery has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The present stage.
    pub phase: RecoveryPhase,
    /// What is done of it, in bytes (scan, replay), rows (checkpoint), rows and their entries (index), or transactions (order).
    pub done: u64,
    /// What there is to do in it.
    pub total: u64,
    /// Since the stage began.
    pub elapsed: Duration,
}

impl Progress {
    /// How long the rest of the stage takes if it goes on as it did so far; `None` before there is anything to go by, and where
    /// more is done than there was to do.
    pub fn remaining(&self) -> Option<Duration> {
        let left = self.total.checked_sub(self.done)? as f64 / self.done.max(1) as f64;
        let remaining = Duration::try_from_secs_f64(self.elapsed.as_secs_f64() * left);
        remaining.ok().filter(|_| self.done > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remaining(done: u64, total: u64, elapsed_secs: u64) -> Option<Duration> {
        Progress { phase: RecoveryPhase::Order, done, total, elapsed: Duration::from_secs(elapsed_secs) }.remaining()
    }

    #[test]
    fn what_remains_takes_as_long_as_what_was_done_and_never_less_than_nothing() {
        assert_eq!(remaining(25, 100, 2), Some(Duration::from_secs(6)));
        assert_eq!(remaining(100, 100, 2), Some(Duration::ZERO));
        // Nothing to go by, or more than there was.
        for (done, total) in [(0, 100), (0, 0), (101, 100)] {
            assert_eq!(remaining(done, total, 2), None, "{done} of {total}");
        }
        assert_eq!(remaining(1, u64::MAX, u64::MAX / 2), None, "longer than can be told");
    }
}
