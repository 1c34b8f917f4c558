//! Between those who want a checkpoint and the task that takes it.
//!
//! [`Checkpoints`] is the callers' side. Invariant: a request is answered by a checkpoint that began after it, or by the error that ended it.

use std::sync::Arc;
use std::time::Duration;

use osier_memory::sync::{Condvar, Mutex, lock, wait};

use super::task::{Checkpointer, Inherited};
use super::{CheckpointError, CheckpointMetrics, CheckpointReport, CheckpointState};
use crate::database::Shared;
use crate::directory::Home;
use crate::error::Error;
use crate::io::{Joiner, Signal};

/// How one checkpoint ended.
pub(crate) type Outcome = Result<CheckpointReport, Arc<CheckpointError>>;

/// Shared by callers and the task.
#[derive(Default)]
pub(crate) struct Control {
    state: Mutex<State>,
    ended: Condvar,
    /// Wakes the task.
    pub(crate) signal: Arc<Signal>,
}

#[derive(Default)]
struct State {
    /// Checkpoints that were asked for.
    requested: u64,
    /// Requests that the running checkpoint answers.
    accepted: u64,
    /// Requests that were answered, and how the last was.
    answered: u64,
    outcome: Option<Outcome>,
    stop: Stop,
    metrics: CheckpointMetrics,
    /// When the checkpoint began that is being taken, by the database's clock.
    active_since: Option<Duration>,
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

impl Control {
    /// Asks for a checkpoint; the number is for [`Control::wait`].
    pub(crate) fn request(&self) -> u64 {
        let mut state = lock(&self.state);
        state.requested += 1;
        let request = state.requested;
        drop(state);
        self.signal.wake();
        request
    }

    /// Blocks until a request is answered.
    pub(crate) fn wait(&self, request: u64) -> Outcome {
        let mut state = lock(&self.state);
        while state.answered < request {
            if state.stop == Stop::Ended {
                return Err(Arc::new(CheckpointError::Closed));
            }
            state = wait(&self.ended, &self.state, state);
        }
        state.outcome.clone().expect("an answer has an outcome")
    }

    /// For the task: begins a checkpoint, `now`, if one is wanted or `due`.
    pub(super) fn accept(&self, due: bool, now: Duration) -> bool {
        let mut state = lock(&self.state);
        let wanted = due || state.accepted < state.requested;
        if wanted {
            state.accepted = state.requested;
            state.active_since = Some(now);
        }
        wanted
    }

    /// For the task: the checkpoint that was accepted has ended, `now`.
    pub(super) fn answer(&self, outcome: Outcome, now: Duration) {
        let mut state = lock(&self.state);
        let since = state.active_since.take();
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

    /// Whether somebody waits for a checkpoint, or for the end of all.
    pub(super) fn is_awaited(&self) -> bool {
        let state = lock(&self.state);
        state.answered < state.requested || state.stop != Stop::No
    }

    /// What the task is to do about its end.
    pub(super) fn stop(&self) -> Stop {
        lock(&self.state).stop
    }

    /// Tells the task to end, after one more checkpoint where that is wanted.
    pub(crate) fn request_stop(&self, takes_one_more: bool) {
        let mut state = lock(&self.state);
        if state.stop == Stop::No {
            state.requested += u64::from(takes_one_more);
            state.stop = if takes_one_more { Stop::WhenDone } else { Stop::Now };
        }
        drop(state);
        self.signal.wake();
    }

    /// The task is over, however that came.
    pub(super) fn has_ended(&self) {
        lock(&self.state).stop = Stop::Ended;
        self.ended.notify_all();
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

/// The checkpointer of an open database.
pub(crate) struct Checkpoints {
    control: Arc<Control>,
    /// `None` once stopped.
    joiner: Mutex<Option<Box<dyn Joiner>>>,
    takes_one_more: bool,
}

impl Checkpoints {
    pub(crate) fn start(shared: &Arc<Shared>, home: &Arc<Home>, inherited: Inherited) -> Result<Checkpoints, Error> {
        let control = Arc::<Control>::default();
        let task = Checkpointer::new(shared.clone(), home.clone(), control.clone(), inherited).map_err(Arc::new)?;
        let spawn = &shared.config.environment.spawn;
        let joiner = spawn.spawn(Checkpointer::NAME.to_owned(), Box::new(task), control.signal.clone());
        let joiner = joiner.map_err(|source| Error::Spawn { task: Checkpointer::NAME, source })?;
        let takes_one_more = shared.config.checkpoint_at_close;
        Ok(Checkpoints { control, joiner: Mutex::new(Some(joiner)), takes_one_more })
    }

    /// See [`Control::request`].
    pub(crate) fn request(&self) -> u64 {
        self.control.request()
    }

    /// See [`Control::wait`].
    pub(crate) fn wait(&self, request: u64) -> Outcome {
        self.control.wait(request)
    }

    /// There are files to be removed.
    pub(crate) fn wake(&self) {
        self.control.signal.wake();
    }

    pub(crate) fn metrics(&self, now: Duration) -> CheckpointMetrics {
        self.control.metrics(now)
    }

    /// Ends the task, after a last checkpoint where the configuration wants one; fails where that one does.
    pub(crate) fn stop(&self) -> Result<(), Arc<CheckpointError>> {
        let Some(joiner) = lock(&self.joiner).take() else { return Ok(()) };
        self.control.request_stop(self.takes_one_more);
        let _ = joiner.join();
        match lock(&self.control.state).outcome.clone() {
            Some(Err(error)) if self.takes_one_more => Err(error),
            _ => Ok(()),
        }
    }
}
