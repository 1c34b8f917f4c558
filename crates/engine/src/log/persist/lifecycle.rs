//! A log with its background tasks: starting, failing, closing.
//!
//! Invariants:
//! - A task that ends in any other way than it should fails the log (a drop guard in each task).
//! - [`RunningLog::close`] returns ends only if everything stamped is durable on every stream and certified so.

use std::sync::Arc;

use osier_memory::sync::{Mutex, lock};

use super::frontier::Frontier;
use super::{Log, LogLayout, Stream, faults};
use crate::config::Config;
use crate::directory::manifest::{StreamBegin, StreamEnd};
use crate::error::{LogError, LogFailure};
use crate::ids::{LogOffset, Stamp, StreamId};
use crate::io::{Joiner, Signal, Task};
use crate::log::acknowledge::{Loggers, ReceiptSource};
use crate::log::persist::logger::Logger;
use crate::log::persist::preparer::Preparer;

/// A log and its tasks. Dropped without being closed it still drains, without waiting for it.
pub(crate) struct RunningLog {
    log: Arc<Log>,
    tasks: Mutex<Option<Tasks>>,
}

/// The loggers, in order, and last the preparers.
type Tasks = Vec<Box<dyn Joiner>>;

/// A log whose tasks are being started. Dropped before all are, it ends those that run and waits for them.
struct Starting<'l> {
    log: &'l Log,
    tasks: Tasks,
}

impl Starting<'_> {
    fn start(&mut self, name: String, task: Box<dyn Task>, signal: Arc<Signal>) -> Result<(), LogError> {
        let spawned = self.log.environment.spawn.spawn(name.clone(), task, signal);
        self.tasks.push(spawned.map_err(|source| LogFailure::Spawn { task: name, source })?);
        Ok(())
    }

    fn finish(mut self) -> Tasks {
        std::mem::take(&mut self.tasks)
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        if !self.tasks.is_empty() {
            self.log.fail(LogFailure::Stopped("the log could not be started".to_owned()));
            self.tasks.drain(..).for_each(|task| drop(task.join()));
        }
    }
}

impl RunningLog {
    /// Starts the loggers of a new generation; `F` says how its frontier moves. The first segment of every stream is
    /// allocated before this returns, so that a directory that cannot be written fails here. Where it fails no task is left.
    pub(crate) fn start<F: Frontier>(config: &Config, layout: LogLayout) -> Result<RunningLog, LogError> {
        let log = Arc::new(Log::new::<F>(config, layout));
        let mut preparers = Preparer::all(&log);
        preparers.iter_mut().try_for_each(Preparer::prepare_first)?;
        let mut starting = Starting { log: &log, tasks: Vec::new() };
        for stream in &log.streams {
            let logger = Logger::<F>::new(Arc::clone(&log), stream.id());
            let (name, signal) = (logger.name(), Arc::clone(&stream.baton.signal));
            starting.start(name, Box::new(stream.baton.start(Box::new(logger))), signal)?;
        }
        for preparer in preparers {
            let (name, signal) = (preparer.name(), preparer.signal());
            starting.start(name, Box::new(preparer), signal)?;
        }
        let tasks = Mutex::new(Some(starting.finish()));
        Ok(RunningLog { log, tasks })
    }

    /// Returns the shared state.
    pub(crate) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// See `CommitLog::csn`.
    pub(crate) fn csn(&self) -> Stamp {
        self.log.acknowledger.watermark().csn()
    }

    /// See `CommitLog::last_stamp`.
    pub(crate) fn last_stamp(&self) -> Stamp {
        let last = self.log.streams.iter().map(|stream| stream.ring.last()).max();
        last.expect("a log has a stream")
    }

    /// See `CommitLog::begins`.
    pub(crate) fn begins(&self, floor: Option<Stamp>) -> Vec<StreamBegin> {
        let sequences = floor.map_or_else(|| self.log.pool.current(), |floor| self.log.pool.first_above(floor));
        // Read afterwards: whoever is not noted any more has its record before, whoever is not noted yet its parts behind.
        let sequences = faults::before_parts(sequences, || self.before_parts(floor));
        // Read afterwards: it includes all that segments before these have certified.
        let durable = |stream| self.log.acknowledger.watermark().dsn(StreamId(stream));
        (0..).zip(sequences).map(|(at, sequence)| StreamBegin { sequence, durable: durable(at) }).collect()
    }

    /// The segments of the parts that are needed beside what is stamped above `floor`.
    fn before_parts(&self, floor: Option<Stamp>) -> Vec<u64> {
        let of = |stream: &Stream| {
            stream.parts.needed(floor).map_or(u64::MAX, |offset| self.log.pool.holding(stream.id(), offset))
        };
        self.log.streams.iter().map(of).collect()
    }

    /// See `CommitLog::durable_ends`.
    pub(crate) fn durable_ends(&self) -> Vec<LogOffset> {
        self.log.streams.iter().map(|stream| LogOffset(stream.ring.durable_end())).collect()
    }

    /// See `CommitLog::receipts`.
    pub(crate) fn receipts(&self) -> ReceiptSource {
        ReceiptSource::new(Arc::clone(&self.log) as Arc<dyn Loggers>)
    }

    /// See `CommitLog::failure`.
    pub(crate) fn failure(&self) -> Option<LogError> {
        self.log.acknowledger.failure()
    }

    /// Drains, stops the tasks and returns where each stream ends. A second call fails with [`LogError::Closed`].
    pub(crate) fn close(&self) -> Result<Vec<StreamEnd>, LogError> {
        let tasks = lock(&self.tasks).take().ok_or(LogError::Closed)?;
        if self.log.is_own_process() {
            self.log.begin_close();
        }
        // A task that panicked has failed the log through its guard, with its name.
        for task in tasks {
            let _ = task.join();
        }
        let acknowledger = &self.log.acknowledger;
        if let Some(failure) = acknowledger.failure() {
            return Err(failure);
        }
        let watermark = acknowledger.watermark();
        // It was set to the last stamp of all streams when they took no more records.
        assert!(acknowledger.demand() <= watermark.csn(), "closed with something not durable");
        let end = |stream: &Stream| {
            assert!(!stream.ring.has_work(), "closed with something not written");
            let end = LogOffset(stream.ring.durable_end());
            StreamEnd { stream: stream.id(), end, stamp: watermark.dsn(stream.id()) }
        };
        Ok(self.log.streams.iter().map(end).collect())
    }
}

impl Drop for RunningLog {
    fn drop(&mut self) {
        if lock(&self.tasks).is_some() {
            self.log.begin_close();
        }
    }
}
