//! A thread of a checkpoint: reads ranges and writes one part, a block per step.
//!
//! Invariant: a part is reported once, complete and synced or with the error that ended it, whatever becomes of the task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use osier_memory::Participant;
use osier_memory::sync::{Mutex, lock};

use super::pace::{Pace, Throttle};
use super::scan::{ScanCursor, Scanned};
use super::writer::{PartWriter, WrittenPart};
use crate::error::CheckpointError;
use crate::io::{Signal, Step, Task};
use crate::transaction::shared::Shared;

/// What the threads of a checkpoint share.
#[derive(Default)]
pub(crate) struct Crew {
    cancelled: AtomicBool,
    reported: Mutex<Vec<Result<WrittenPart, CheckpointError>>>,
    /// Of the checkpointer.
    signal: Arc<Signal>,
}

impl Crew {
    pub(super) fn new(signal: Arc<Signal>) -> Arc<Crew> {
        Arc::new(Crew { signal, ..Crew::default() })
    }

    /// Tells the threads to end early.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    fn report(&self, part: Result<WrittenPart, CheckpointError>) {
        lock(&self.reported).push(part);
        self.signal.wake();
    }

    /// Returns how many threads have reported.
    pub(super) fn count(&self) -> usize {
        lock(&self.reported).len()
    }

    /// Returns all parts, or the first error.
    pub(super) fn take(&self) -> Result<Vec<WrittenPart>, CheckpointError> {
        std::mem::take(&mut *lock(&self.reported)).into_iter().collect()
    }
}

/// The task.
pub(super) struct PartTask {
    pub(super) shared: Arc<Shared>,
    pub(super) crew: Arc<Crew>,
    pub(super) participant: Participant,
    pub(super) source: ScanCursor,
    pub(super) pace: Arc<Pace>,
    pub(super) throttle: Throttle,
    /// `None` while it is at work, and once the part is reported.
    pub(super) writer: Option<PartWriter>,
    pub(super) is_reported: bool,
}

impl PartTask {
    fn advance(&mut self, writer: &mut PartWriter) -> Result<bool, CheckpointError> {
        let began = self.pace.now();
        let scanned = self.source.advance(&mut self.participant, writer);
        let bytes = if scanned == Scanned::Block { writer.flush()? } else { 0 };
        self.throttle.pay(began, self.pace.now(), bytes);
        Ok(scanned != Scanned::End)
    }

    fn report(&mut self, part: Result<WrittenPart, CheckpointError>) -> Step {
        assert!(!self.is_reported && self.writer.is_none(), "a part is reported once, and no longer written");
        self.is_reported = true;
        self.crew.report(part);
        Step::Done
    }
}

impl Task for PartTask {
    fn step(&mut self) -> Step {
        let Some(mut writer) = self.writer.take() else { return Step::Done };
        if self.crew.cancelled.load(Ordering::Acquire) {
            return self.report(Err(CheckpointError::Closed));
        }
        let rest = self.throttle.rest(self.pace.now(), || self.pace.is_ahead(self.source.written()));
        let room = self.shared.memory.admit_snapshot();
        match room.and_then(|()| rest.map_or_else(|| self.advance(&mut writer), |_| Ok(true))) {
            Ok(true) => self.writer = Some(writer),
            Ok(false) => return self.report(writer.finish()),
            Err(error) => return self.report(Err(error)),
        }
        // Not for long: memory may run short meanwhile.
        rest.map_or(Step::Again, |rest| Step::Idle(Some(rest.min(self.shared.config.epoch_interval))))
    }
}

impl Drop for PartTask {
    fn drop(&mut self) {
        if !self.is_reported {
            self.crew.report(Err(CheckpointError::Thread { what: "a thread that writes a part died".to_owned() }));
        }
    }
}
