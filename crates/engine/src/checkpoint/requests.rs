//! Requests for checkpoints, handed from callers to the task that takes them.
//!
//! [`Checkpoints`](super::Checkpoints) is the callers' side. Invariant: a request is answered by a checkpoint that began
//! after it, by the error that ended it, or by what ended the task.

use std::sync::Arc;
use std::time::Duration;

use osier_memory::sync::{Condvar, Mutex, lock, wait};

use super::{CheckpointMetrics, CheckpointReport, CheckpointState};
use crate::error::CheckpointError;
use crate::io::Signal;

/// How one checkpoint ended.
pub(crate) type CheckpointOutcome = Result<CheckpointReport, Arc<CheckpointError>>;

/// Shared by callers and the task.
#[derive(Default)]
pub(crate) struct CheckpointRequests {
    state: Mutex<RequestsState>,
    ended: Condvar,
    /// Wakes the task.
    pub(crate) signal: Arc<Signal>,
}

#[derive(Default)]
struct RequestsState {
    /// Checkpoints that were asked for.
    requested: u64,
    /// Requests that the running checkpoint answers.
    accepted: u64,
    /// Requests that were answered, and how the last was.
    answered: u64,
    outcome: Option<CheckpointOutcome>,
    stop: Stop,
    /// Why the task died, if it did.
    death: Option<Arc<CheckpointError>>,
    metrics: CheckpointMetrics,
    /// When the checkpoint began that is being taken, by the database's clock.
    active_since: Option<Duration>,
}

/// What an idle task does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It begins a checkpoint.
    Begins,
    /// It ends.
    Ends,
    /// It waits.
    Waits,
}

/// What is to become of the task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It goes on.
    #[default]
    No,
    /// It ends once what was asked for is done.
    WhenDone,
    /// It ends, and the checkpoint that it is at with it.
    Now,
    /// It has ended.
    Ended,
}

impl CheckpointRequests {
    /// Asks for a checkpoint; the number is for [`CheckpointRequests::wait`].
    pub(crate) fn request(&self) -> u64 {
        let mut state = lock(&self.state);
        state.requested += 1;
        let request = state.requested;
        drop(state);
        self.signal.wake();
        request
    }

    /// Blocks until a request is answered.
    pub(crate) fn wait(&self, request: u64) -> CheckpointOutcome {
        let mut state = lock(&self.state);
        assert!(request <= state.requested, "request {request} was never made");
        while state.answered < request {
            if state.stop == Stop::Ended {
                return Err(state.death.clone().unwrap_or_else(|| Arc::new(CheckpointError::Closed)));
            }
            state = wait(&self.ended, &self.state, state);
        }
        state.outcome.clone().expect("an answer has an outcome")
    }

    /// For the idle task: begins a checkpoint, `now`, if one is wanted or `due`. It ends only when nothing is wanted, which
    /// is decided in one step: a request that comes with the word to end is still answered.
    pub(super) fn next(&self, due: bool, now: Duration) -> Next {
        let mut state = lock(&self.state);
        if due || state.accepted < state.requested {
            assert!(state.active_since.is_none(), "one checkpoint at a time");
            state.accepted = state.requested;
            state.active_since = Some(now);
            return Next::Begins;
        }
        if state.stop == Stop::No { Next::Waits } else { Next::Ends }
    }

    /// For the task: the checkpoint that was accepted has ended, `now`.
    pub(super) fn answer(&self, outcome: CheckpointOutcome, now: Duration) {
        let mut state = lock(&self.state);
        let since = state.active_since.take();
        assert!(since.is_some(), "what ends was begun");
        state.metrics.active_seconds += active_seconds(since, now);
        match &outcome {
            Ok(report) => {
                state.metrics.taken += 1;
                state.metrics.bytes += report.bytes;
                state.metrics.last = Some(report.clone());
            }
            Err(error) => {
                state.metrics.failed += 1;
                state.metrics.failure = Some(Arc::clone(error));
            }
        }
        state.answered = state.accepted;
        state.outcome = Some(outcome);
        self.ended.notify_all();
    }

    /// Whether a caller waits for a checkpoint, or for the task to end.
    pub(super) fn is_awaited(&self) -> bool {
        let state = lock(&self.state);
        state.answered < state.requested || state.stop != Stop::No
    }

    /// Returns what the task is to do about its end.
    pub(super) fn stop(&self) -> Stop {
        lock(&self.state).stop
    }

    /// Tells the task to end, after one more checkpoint where that is wanted. Returns the number of the last request, for
    /// [`CheckpointRequests::wait`].
    pub(super) fn request_stop(&self, takes_one_more: bool) -> u64 {
        let mut state = lock(&self.state);
        state.requested += u64::from(takes_one_more);
        if state.stop == Stop::No {
            state.stop = if takes_one_more { Stop::WhenDone } else { Stop::Now };
        }
        let last = state.requested;
        drop(state);
        self.signal.wake();
        last
    }

    /// For the task: it has ended; `death` says why, if it died.
    pub(super) fn has_ended(&self, death: Option<CheckpointError>) {
        let mut state = lock(&self.state);
        assert_ne!(state.stop, Stop::Ended, "a task ends once");
        state.stop = Stop::Ended;
        state.metrics.state = CheckpointState::Idle;
        if let Some(death) = death.map(Arc::new) {
            state.metrics.failed += u64::from(state.active_since.take().is_some());
            state.metrics.failure = Some(Arc::clone(&death));
            state.death = Some(death);
        }
        self.ended.notify_all();
    }

    /// Returns why the task died, if it did.
    pub(super) fn death(&self) -> Option<Arc<CheckpointError>> {
        lock(&self.state).death.clone()
    }

    pub(super) fn show(&self, shown: CheckpointState) {
        lock(&self.state).metrics.state = shown;
    }

    pub(crate) fn metrics(&self, now: Duration) -> CheckpointMetrics {
        let state = lock(&self.state);
        let mut metrics = state.metrics.clone();
        metrics.active_seconds += active_seconds(state.active_since, now);
        metrics
    }
}

fn active_seconds(since: Option<Duration>, now: Duration) -> f64 {
    since.map_or(0.0, |since| now.saturating_sub(since).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the task has just found that there is nothing to do: it is asked again before it ends.
    #[test]
    fn the_checkpoint_of_a_close_is_taken() {
        let requests = CheckpointRequests::default();
        let now = Duration::ZERO;
        assert_eq!(requests.next(false, now), Next::Waits);
        assert_eq!(requests.request_stop(true), 1);
        assert_eq!(requests.next(false, now), Next::Begins);
        requests.answer(Err(Arc::new(CheckpointError::Closed)), now);
        assert_eq!(requests.next(false, now), Next::Ends);
        assert!(requests.wait(1).is_err(), "it was answered");
    }
}
