//! A log with its background tasks: starting, failing, closing.
//!
//! Invariants:
//! - A log fails once. From then on every stamp and every uncovered receipt reports the reason, and every task ends.
//! - A task that ends in any other way than it should fails the log (a drop guard in each task).
//! - [`RunningLog::close`] returns ends only if everything stamped is durable on every stream and certified so.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use osier_memory::sync::{Mutex, lock};
use osier_memory::{Ring, RingConfig};

use super::metrics::StreamCounters;
use super::protocol::{Frontier, Lag};
use super::{LogError, LogFailure, LogIdentity, LogMetrics, Slot, Stream, batch};
use crate::acknowledge::{Acknowledger, Loggers, ReceiptSource};
use crate::config::Config;
use crate::failpoint::Mutation;
use crate::ids::{DatabaseId, Generation, LogOffset, Stamp, StreamId};
use crate::io::{BLOCK_BYTES, Environment, Joiner, Task};
use crate::persist::baton::Baton;
use crate::persist::logger::Logger;
use crate::persist::manifest::{StreamBegin, StreamEnd};
use crate::persist::preparer::{Preparer, SegmentPool};
use crate::persist::segment;

/// Where a new generation of the log goes.
#[derive(Clone, Debug)]
pub(crate) struct LogLayout {
    /// The database.
    pub(crate) database: DatabaseId,
    /// A generation that no file belongs to yet.
    pub(crate) generation: Generation,
    /// The greatest stamp ever seen, discarded records included: new stamps are above it.
    pub(crate) floor: Stamp,
    /// One directory per stream; each exists.
    pub(crate) dirs: Vec<PathBuf>,
}

/// What the loggers need of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct LogSettings {
    pub(crate) group_commit_interval: Duration,
    pub(crate) segment_bytes: u64,
    pub(crate) record_bytes_max: usize,
    pub(crate) skip_sync: bool,
    pub(crate) volatile_heartbeat: bool,
}

/// The state that workers, loggers and the preparer of one log share.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) environment: Environment,
    pub(crate) settings: LogSettings,
    pub(crate) streams: Box<[Stream]>,
    pub(crate) acknowledger: Arc<Acknowledger>,
    pub(crate) pool: SegmentPool,
    lag: fn(&Log, StreamId) -> Lag,
    closing: AtomicBool,
    loggers: AtomicUsize,
}

impl Log {
    fn new<F: Frontier>(config: &Config, layout: LogLayout) -> Log {
        assert!(!layout.dirs.is_empty(), "a log needs a stream");
        assert!(config.segment_bytes > config.ring_bytes as u64 + BLOCK_BYTES as u64, "a batch must fit a segment");
        let streams = layout.dirs.len() as u32;
        let is_timed = !config.group_commit_interval.is_zero();
        let stream = |id| Stream {
            identity: LogIdentity::new(layout.database, layout.generation, StreamId(id), streams),
            ring: Ring::new(RingConfig {
                capacity_bytes: config.ring_bytes,
                block_bytes: BLOCK_BYTES,
                batch_header_bytes: batch::header_bytes(streams),
                first_offset: segment::FIRST_OFFSET.0,
                floor: layout.floor,
            }),
            baton: Baton::new(),
            // A timed logger looks by itself; workers hurry it only when the ring is filling up.
            wake_bytes: config.ring_bytes as u64 / if is_timed { 2 } else { 16 },
            counters: StreamCounters::default(),
        };
        let streams: Box<[Stream]> = (0..streams).map(stream).collect();
        let signals = streams.iter().map(|stream| Arc::clone(&stream.baton.signal)).collect();
        Log {
            acknowledger: Acknowledger::new(signals, layout.floor, F::may_acknowledge),
            lag: F::lag,
            pool: SegmentPool::new(layout.dirs, config.segment_bytes, config.checkpoint_log_bytes),
            settings: LogSettings {
                group_commit_interval: config.group_commit_interval,
                segment_bytes: config.segment_bytes,
                record_bytes_max: config.transaction_log_bytes_max,
                skip_sync: config.has(Mutation::SkipLogSync),
                volatile_heartbeat: config.has(Mutation::VolatileHeartbeat),
            },
            environment: config.environment.clone(),
            loggers: AtomicUsize::new(streams.len()),
            streams,
            closing: AtomicBool::new(false),
        }
    }

    /// One of the streams.
    pub(crate) fn stream(&self, id: StreamId) -> &Stream {
        &self.streams[id.0 as usize]
    }

    /// Reserves room in a stream; `order` turns the stream's last stamp and the record's end into its stamp.
    pub(crate) fn reserve(
        &self,
        stream: StreamId,
        record_bytes: usize,
        order: impl FnOnce(Stamp, LogOffset) -> Stamp,
    ) -> Result<Slot<'_>, LogError> {
        let limit = self.settings.record_bytes_max;
        if record_bytes > limit {
            return Err(LogError::RecordTooLarge { bytes: record_bytes, limit });
        }
        let stream = self.stream(stream);
        let end = |offset: u64| LogOffset(offset + record_bytes as u64);
        match stream.ring.reserve(record_bytes, |last, offset| order(last, end(offset))) {
            Ok(reservation) => Ok(Slot::logged(stream, reservation)),
            Err(_closed) => Err(self.acknowledger.failure().unwrap_or(LogError::Closed)),
        }
    }

    /// Ends the log for `failure`: the first one counts.
    pub(crate) fn fail(&self, failure: LogFailure) {
        self.acknowledger.fail(failure.into());
        // Only now: a reserver that is turned away finds the reason.
        self.streams.iter().for_each(|stream| stream.ring.close());
        self.acknowledger.wake_loggers();
        self.pool.stop();
    }

    /// A logger is gone; the last one takes the preparer along.
    pub(crate) fn logger_ended(&self) {
        if self.loggers.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.pool.stop();
        }
    }

    /// Whether the loggers are to end when everything is durable.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Wakes the loggers that sleep over records: those of receipts that are kept and never asked.
    pub(crate) fn nudge(&self) {
        let has_work = |stream: &&Stream| stream.ring.has_work();
        self.streams.iter().filter(has_work).for_each(|stream| self.remind(stream.id()));
    }

    /// Takes no more reservations and has the loggers make everything durable and end.
    fn begin_close(&self) {
        self.streams.iter().for_each(|stream| stream.ring.close());
        let last = self.streams.iter().map(|stream| stream.ring.last()).max();
        // The demand comes first: a logger that sees the flag ends as soon as the demand is met.
        self.acknowledger.require(last.expect("a log has a stream"));
        self.closing.store(true, Ordering::SeqCst);
        self.acknowledger.wake_loggers();
    }

    /// What was written so far.
    pub(crate) fn metrics(&self) -> LogMetrics {
        let streams = self.streams.iter().map(|stream| stream.counters.read()).collect();
        LogMetrics { streams, retained_bytes: self.pool.retained_bytes() }
    }
}

impl Loggers for Log {
    fn acknowledger(&self) -> &Acknowledger {
        &self.acknowledger
    }

    fn take_lead(&self, stream: StreamId) -> bool {
        // The interval of a timed log is its logger's to keep.
        self.settings.group_commit_interval.is_zero() && self.stream(stream).baton.take_lead()
    }

    fn lead(&self, stream: StreamId) -> bool {
        self.stream(stream).baton.lead()
    }

    fn remind(&self, stream: StreamId) {
        // A timed logger looks by itself.
        if self.settings.group_commit_interval.is_zero() {
            self.stream(stream).baton.remind();
        }
    }

    fn hand_over(&self, stream: StreamId) {
        let Stream { baton, ring, .. } = self.stream(stream);
        baton.give_lead_back();
        if !ring.is_idle() || self.is_closing() || (self.lag)(self, stream) != Lag::None {
            baton.signal.wake();
        }
    }
}

/// A log and its tasks. Dropped without being closed it still drains, without waiting for it.
pub(crate) struct RunningLog {
    log: Arc<Log>,
    tasks: Mutex<Option<Tasks>>,
}

struct Tasks {
    loggers: Vec<Box<dyn Joiner>>,
    preparer: Box<dyn Joiner>,
}

impl RunningLog {
    /// Starts the loggers of a new generation; `F` says how its frontier moves. The first segment of every stream is
    /// allocated before this returns, so that a directory that cannot be written fails here.
    pub(crate) fn start<F: Frontier>(config: &Config, layout: LogLayout) -> Result<RunningLog, LogError> {
        let log = Arc::new(Log::new::<F>(config, layout));
        let mut preparer = Preparer::new(Arc::clone(&log));
        preparer.prepare_first()?;
        let spawn = &log.environment.spawn;
        let start = |name: String, task: Box<dyn Task>, signal| {
            let spawned = spawn.spawn(name.clone(), task, signal);
            spawned.map_err(|source| LogError::from(LogFailure::Spawn { task: name, source }))
        };
        let mut loggers = Vec::new();
        for stream in &log.streams {
            let logger = Logger::<F>::new(Arc::clone(&log), stream.id());
            let (name, signal) = (logger.name(), Arc::clone(&stream.baton.signal));
            loggers.push(start(name, Box::new(stream.baton.start(Box::new(logger))), signal)?);
        }
        let signal = log.pool.signal();
        let preparer = start(Preparer::NAME.to_owned(), Box::new(preparer), signal)?;
        let tasks = Mutex::new(Some(Tasks { loggers, preparer }));
        Ok(RunningLog { log, tasks })
    }

    /// The shared state.
    pub(crate) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// See [`LogProtocol::stable`](super::LogProtocol::stable).
    pub(crate) fn stable(&self) -> Stamp {
        self.log.acknowledger.watermark().stable()
    }

    /// See [`LogProtocol::last_stamp`](super::LogProtocol::last_stamp).
    pub(crate) fn last_stamp(&self) -> Stamp {
        let last = self.log.streams.iter().map(|stream| stream.ring.last()).max();
        last.expect("a log has a stream")
    }

    /// See [`LogProtocol::begins`](super::LogProtocol::begins).
    pub(crate) fn begins(&self, floor: Option<Stamp>) -> Vec<StreamBegin> {
        let sequences = floor.map_or_else(|| self.log.pool.current(), |floor| self.log.pool.first_above(floor));
        // Read afterwards: it includes all that segments before these have certified.
        let durable = |stream| self.log.acknowledger.watermark().durable(StreamId(stream));
        (0..).zip(sequences).map(|(at, sequence)| StreamBegin { sequence, durable: durable(at) }).collect()
    }

    /// See [`LogProtocol::durable_ends`](super::LogProtocol::durable_ends).
    pub(crate) fn durable_ends(&self) -> Vec<LogOffset> {
        self.log.streams.iter().map(|stream| LogOffset(stream.ring.durable_end())).collect()
    }

    /// See [`LogProtocol::receipts`](super::LogProtocol::receipts).
    pub(crate) fn receipts(&self) -> ReceiptSource {
        ReceiptSource::new(Arc::clone(&self.log) as Arc<dyn Loggers>)
    }

    /// See [`LogProtocol::failure`](super::LogProtocol::failure).
    pub(crate) fn failure(&self) -> Option<LogError> {
        self.log.acknowledger.failure()
    }

    /// Drains, stops the tasks and returns where each stream ends. A second call fails with [`LogError::Closed`].
    pub(crate) fn close(&self) -> Result<Vec<StreamEnd>, LogError> {
        let tasks = lock(&self.tasks).take().ok_or(LogError::Closed)?;
        self.log.begin_close();
        // A task that panicked has failed the log through its guard, with its name.
        for logger in tasks.loggers {
            let _ = logger.join();
        }
        let _ = tasks.preparer.join();
        if let Some(failure) = self.log.acknowledger.failure() {
            return Err(failure);
        }
        let watermark = self.log.acknowledger.watermark();
        let end = |stream: &Stream| {
            assert!(stream.ring.last() <= watermark.stable(), "closed with something not durable");
            assert!(!stream.ring.has_work(), "closed with something not written");
            let end = LogOffset(stream.ring.durable_end());
            StreamEnd { stream: stream.id(), end, stamp: watermark.durable(stream.id()) }
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
