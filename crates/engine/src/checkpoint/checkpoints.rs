//! The checkpoints of an open database: the task is started, asked and stopped here.

use std::sync::Arc;
use std::time::Duration;

use osier_memory::sync::{Mutex, lock};

use super::CheckpointMetrics;
use super::requests::{CheckpointOutcome, CheckpointRequests};
use super::retention::Retention;
use super::task::{Checkpointer, Inherited};
use crate::error::{CheckpointError, Error};
use crate::io::{Joiner, Process};
use crate::transaction::shared::Shared;

/// The checkpointer of an open database.
pub(crate) struct Checkpoints {
    requests: Arc<CheckpointRequests>,
    /// `None` once stopped.
    joiner: Mutex<Option<Box<dyn Joiner>>>,
    takes_one_more: bool,
    /// The process that has the task.
    process: Process,
}

impl Checkpoints {
    pub(crate) fn start(
        shared: &Arc<Shared>,
        retention: &Arc<Retention>,
        inherited: Inherited,
    ) -> Result<Checkpoints, Error> {
        let requests = Arc::<CheckpointRequests>::default();
        let task =
            Checkpointer::new(shared.clone(), retention.clone(), requests.clone(), inherited).map_err(Arc::new)?;
        let spawn = &shared.config.environment.spawn;
        let joiner = spawn.spawn(Checkpointer::NAME.to_owned(), Box::new(task), requests.signal.clone());
        let joiner = joiner.map_err(|source| Error::Spawn { task: Checkpointer::NAME, source })?;
        let takes_one_more = shared.config.checkpoint_at_close;
        Ok(Checkpoints { requests, joiner: Mutex::new(Some(joiner)), takes_one_more, process: Process::this() })
    }

    /// See [`CheckpointRequests::request`].
    pub(crate) fn request(&self) -> u64 {
        self.requests.request()
    }

    /// See [`CheckpointRequests::wait`]. In a child of the process nobody would answer.
    pub(crate) fn wait(&self, request: u64) -> CheckpointOutcome {
        match self.process.is_this() {
            true => self.requests.wait(request),
            false => Err(Arc::new(CheckpointError::Thread { what: Process::FORKED.to_owned() })),
        }
    }

    /// Wakes the task, because there are files to be removed.
    pub(crate) fn wake(&self) {
        self.requests.signal.wake();
    }

    pub(crate) fn metrics(&self, now: Duration) -> CheckpointMetrics {
        self.requests.metrics(now)
    }

    /// Ends the task, after a last checkpoint if the configuration wants one and recovery has left nothing to do. Fails if
    /// that checkpoint does, or if the task had died.
    pub(crate) fn stop(&self, has_backlog: bool) -> Result<(), Arc<CheckpointError>> {
        let Some(joiner) = lock(&self.joiner).take() else { return Ok(()) };
        let takes_one_more = self.takes_one_more && !has_backlog;
        let last = self.requests.request_stop(takes_one_more);
        // A task that dies has said so.
        let _ = joiner.join();
        match takes_one_more {
            true => self.wait(last).map(drop),
            false => self.requests.death().map_or(Ok(()), Err),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Protocol};
    use crate::database::Database;
    use crate::io::as_child;

    #[test]
    fn a_child_waits_for_no_checkpoint() {
        let home = std::env::temp_dir().join(format!("osier-checkpoint-child-{}", std::process::id()));
        let db = Database::open(Config::new(&home).protocol(Protocol::None)).unwrap();
        let error = as_child(|| db.checkpoint()).unwrap_err().to_string();
        assert!(error.contains("this process was forked from the one that opened the database"), "{error}");
        db.checkpoint().unwrap();
        db.close().unwrap();
        std::fs::remove_dir_all(home).unwrap();
    }
}
