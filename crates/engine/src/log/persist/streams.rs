//! What workers, loggers and preparers of one log share: its streams, and the frontier over them.
//!
//! Invariants:
//! - A log fails once. From then on every stamp and every uncovered receipt reports the reason, and every task ends.
//! - A log that closes takes no more reservations; its loggers end when everything in it is durable.
//! - A child that was forked from its process writes nothing: there the log fails as soon as a thread waits for it, for room in
//!   it, or closes it. To ask whether a receipt is acknowledged is no wait.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use osier_memory::{Closed, Epochs, Ring, RingConfig};

use super::frontier::{Frontier, Lag};
use super::metrics::StreamCounters;
use super::parts::PartsHold;
use super::tid::TidEpochs;
use super::{LogLayout, LogMetrics, Slot, Stream, faults};
use crate::config::Config;
use crate::directory::manifest::StreamBegin;
use crate::error::{LogError, LogFailure};
use crate::ids::{LogOffset, Stamp, StreamId};
use crate::io::{BLOCK_BYTES, Environment, Process};
use crate::log::acknowledge::{Acknowledger, Loggers};
use crate::log::format::{LogIdentity, batch, segment};
use crate::log::persist::baton::Baton;
use crate::log::persist::preparer::SegmentPool;

/// What the loggers need of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct LogSettings {
    pub(crate) group_commit_interval: Duration,
    pub(crate) segment_bytes: u64,
    pub(crate) record_bytes_max: usize,
}

/// The state that workers, loggers and preparers of one log share.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) environment: Environment,
    pub(crate) settings: LogSettings,
    pub(crate) streams: Box<[Stream]>,
    pub(crate) acknowledger: Arc<Acknowledger>,
    pub(crate) pool: SegmentPool,
    /// The epochs of the transactions.
    pub(crate) epochs: Arc<Epochs>,
    /// The epochs of its stamps, where these have some.
    pub(crate) tid_epochs: TidEpochs,
    lag: fn(&Log, StreamId) -> Lag,
    is_due: fn(&Log, StreamId) -> bool,
    closing: AtomicBool,
    loggers: AtomicUsize,
    /// The process that opened the log.
    pub(super) process: Process,
}

impl Log {
    pub(super) fn new<F: Frontier>(config: &Config, layout: LogLayout) -> Log {
        assert!(!layout.dirs.is_empty(), "a log needs a stream");
        assert!(config.segment_bytes > config.ring_bytes as u64 + BLOCK_BYTES as u64, "a batch must fit a segment");
        let streams = layout.dirs.len() as u32;
        let is_timed = !config.group_commit_interval.is_zero();
        let stream = |id| Stream {
            identity: LogIdentity::new(layout.database, layout.generation, StreamId(id), streams)
                .begun_by(layout.incarnation),
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
            parts: Arc::default(),
            hurrying: AtomicUsize::new(0),
        };
        let streams: Box<[Stream]> = (0..streams).map(stream).collect();
        let signals = streams.iter().map(|stream| Arc::clone(&stream.baton.signal)).collect();
        Log {
            acknowledger: Acknowledger::new(signals, layout.floor),
            tid_epochs: TidEpochs::new(layout.epochs.current(), layout.floor),
            epochs: layout.epochs,
            lag: F::lag,
            is_due: F::is_due,
            pool: SegmentPool::new(layout.dirs, config.segment_bytes, config.checkpoint_log_bytes),
            settings: LogSettings {
                group_commit_interval: config.group_commit_interval,
                segment_bytes: config.segment_bytes,
                record_bytes_max: config.transaction_log_bytes_max,
            },
            environment: config.environment.clone(),
            loggers: AtomicUsize::new(streams.len()),
            streams,
            closing: AtomicBool::new(false),
            process: Process::this(),
        }
    }

    /// One of the streams.
    pub(crate) fn stream(&self, id: StreamId) -> &Stream {
        &self.streams[id.0 as usize]
    }

    /// Reserves room in a stream, where there is any; `order` turns the stream's last stamp and the record's end into its stamp.
    pub(crate) fn reserve(
        &self,
        stream: StreamId,
        record_bytes: usize,
        order: impl FnOnce(Stamp, LogOffset) -> Stamp,
    ) -> Result<Option<Slot<'_>>, LogError> {
        let limit = self.settings.record_bytes_max;
        if record_bytes > limit {
            return Err(LogError::RecordTooLarge { bytes: record_bytes, limit });
        }
        let stream = self.stream(stream);
        let end = |offset: u64| LogOffset(offset + record_bytes as u64);
        let order = |last, offset| order(last, end(offset));
        faults::await_room(&stream.ring, record_bytes);
        let reserved = stream.ring.try_reserve(record_bytes, order);
        let slot = |reservation| Slot::logged(stream, reservation);
        reserved.map(|reservation| reservation.map(slot)).map_err(|Closed| self.why_closed())
    }

    /// Reserves room for a record in each of several streams, in the order of their numbers, where all of them have some;
    /// `order` turns the greatest of their last stamps into the stamp of all of these records.
    pub(crate) fn reserve_together(
        &self,
        shares: &[(StreamId, usize)],
        order: impl FnOnce(Stamp) -> Stamp,
    ) -> Result<Option<Vec<Slot<'_>>>, LogError> {
        assert!(shares.is_sorted_by_key(|(stream, _)| *stream), "the streams {shares:?} are out of order");
        let limit = self.settings.record_bytes_max;
        if let Some(&(_, bytes)) = shares.iter().find(|(_, bytes)| *bytes > limit) {
            return Err(LogError::RecordTooLarge { bytes, limit });
        }
        let wanted: Vec<_> = shares.iter().map(|&(stream, bytes)| (&self.stream(stream).ring, bytes)).collect();
        wanted.iter().for_each(|&(ring, bytes)| faults::await_room(ring, bytes));
        let reserved = Ring::try_reserve_together(&wanted, order).map_err(|Closed| self.why_closed())?;
        let slot = |(reservation, &(stream, _)): (_, &_)| Slot::logged(self.stream(stream), reservation);
        Ok(reserved.map(|reserved| reserved.into_iter().zip(shares).map(slot).collect()))
    }

    /// Blocks until there is room for a record in a stream.
    pub(crate) fn wait_for_room(&self, stream: StreamId, record_bytes: usize) -> Result<(), LogError> {
        self.fail_in_child();
        self.stream(stream).ring.wait_for_room(record_bytes).map_err(|Closed| self.why_closed())
    }

    /// Begins to write the parts of a large transaction to a stream.
    pub(crate) fn hold_parts(&self, stream: StreamId) -> PartsHold {
        let Stream { parts, ring, .. } = self.stream(stream);
        parts.hold(|| LogOffset(ring.durable_end()))
    }

    /// Blocks until no more than `bytes` are on their way to the device of a stream, so that what others write next waits for
    /// no more than that.
    pub(crate) fn wait_until_calm(&self, stream: StreamId, bytes: u64) -> Result<(), LogError> {
        self.fail_in_child();
        let Stream { ring, baton, hurrying, .. } = self.stream(stream);
        if ring.is_calm(bytes) {
            return Ok(());
        }
        // Before the logger is woken, which would rest again where nobody waits for a receipt.
        hurrying.fetch_add(1, Ordering::SeqCst);
        baton.signal.wake();
        let waited = ring.wait_until_calm(bytes);
        hurrying.fetch_sub(1, Ordering::SeqCst);
        waited.map_err(|Closed| self.why_closed())
    }

    /// Takes back the segments before `begins`, and those of earlier generations, `others`.
    pub(crate) fn recycle(&self, begins: &[StreamBegin], others: &[PathBuf]) {
        self.pool.recycle(begins, others);
        for (stream, base) in self.streams.iter().zip(self.pool.bases()) {
            stream.parts.forget_before(base);
        }
    }

    fn why_closed(&self) -> LogError {
        self.acknowledger.failure().unwrap_or(LogError::Closed)
    }

    /// Ends the log for `failure`: the first one counts.
    pub(crate) fn fail(&self, failure: LogFailure) {
        self.acknowledger.fail(failure.into());
        // Only now, so that a reserver that is refused finds the reason.
        self.streams.iter().for_each(|stream| stream.ring.close());
        self.acknowledger.wake_loggers();
        self.pool.stop();
    }

    /// Whether what is pending in `stream` is to be written as soon as anybody waits for it. A timed logger looks by itself, and
    /// when an epoch ends its loggers are woken ([`Log::nudge`]).
    fn wants_writing(&self, stream: StreamId) -> bool {
        self.settings.group_commit_interval.is_zero() && (self.is_due)(self, stream)
    }

    /// Whether this is the process that opened the log; fails the log in a child of it.
    pub(super) fn is_own_process(&self) -> bool {
        let is_own_process = self.process.is_this();
        if !is_own_process {
            self.fail(LogFailure::Stopped(Process::FORKED.to_owned()));
        }
        is_own_process
    }

    /// Notes that a logger has ended; the last one stops the preparers.
    pub(crate) fn logger_ended(&self) {
        if self.loggers.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.pool.stop();
        }
    }

    /// Whether the loggers are to end when everything is durable.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Wakes the loggers that sleep over records, which nobody has asked about, and those whose streams are behind since an epoch
    /// has ended.
    pub(crate) fn nudge(&self) {
        let is_behind = |stream: &&Stream| stream.ring.has_work() || (self.lag)(self, stream.id()) != Lag::None;
        self.streams.iter().filter(is_behind).for_each(|stream| self.hint(stream.id()));
    }

    /// Takes no more reservations, and lets the loggers make everything durable and end.
    pub(super) fn begin_close(&self) {
        self.streams.iter().for_each(|stream| stream.ring.close());
        let last = self.streams.iter().map(|stream| stream.ring.last()).max();
        // The demand comes first: a logger that sees the flag ends as soon as the demand is met.
        self.acknowledger.require(last.expect("a log has a stream"));
        self.closing.store(true, Ordering::SeqCst);
        self.acknowledger.wake_loggers();
    }

    /// Returns what was written so far.
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
        self.is_own_process() && self.wants_writing(stream) && self.stream(stream).baton.take_lead()
    }

    fn fail_in_child(&self) {
        self.is_own_process();
    }

    fn lead(&self, stream: StreamId) -> bool {
        self.stream(stream).baton.lead()
    }

    fn remind(&self, stream: StreamId) {
        if self.wants_writing(stream) {
            self.stream(stream).baton.remind();
        }
    }

    fn hint(&self, stream: StreamId) {
        if self.wants_writing(stream) {
            self.stream(stream).baton.hint();
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
