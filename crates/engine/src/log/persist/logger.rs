//! The logger of one stream: what makes commits durable.
//!
//! One flush, in this order: close the batch (the stream's stamp rises to the heartbeat), certify idle streams, write
//! header and records, sync, publish `DSN` and `CSN`, release the ring's space, wake the waiters that are covered. A flush starts
//! as soon as records are pending and the last flush is over. Only a positive `group_commit_interval` makes it wait, or a rest:
//! where nobody waits for what is pending and the processors are short, transactions need them more than small batches do.
//!
//! Invariants:
//! - Nothing is published before the batch that says it is durable (P2), heartbeats and certificates included.
//! - A batch lies within one segment; batch n + 1 is written only after batch n is durable.
//! - The first error is final: the log fails and the logger ends. A logger that ends in any other way than it should,
//!   by a panic, fails the log too.
//!
//! Each stage of a flush is a step of the task, so that a simulator can interleave two loggers within their flushes.
//! Absent: what raises a stamp, which streams are certified (the protocol's [`Frontier`]), and waiting (acknowledge/).

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use osier_memory::Batch;

use super::device::Device;
use super::faults;
use crate::error::LogFailure;
use crate::failpoint::{Point, yield_at};
use crate::ids::{LogOffset, Stamp, StreamId, WallTime};
use crate::io::in_place::LOOK;
use crate::io::{Step, Task};
use crate::log::acknowledge::queue::{Waiter, wake_all};
use crate::log::format::batch::{self, BatchHeader, Certificate};
use crate::log::format::layout::RecordLayout;
use crate::log::format::newest::{self, Newest};
use crate::log::format::segment::{self, SegmentHeader};
use crate::log::persist::frontier::{Frontier, Lag};
use crate::log::persist::load::ProcessorLoad;
use crate::log::persist::preparer::Blank;
use crate::log::persist::{Log, Stream};

/// A logger that may rest begins a flush so long after the one before.
const REST: Duration = Duration::from_millis(2);
/// How long a stream may stay behind the others, with nobody waiting for it, before it writes a marker.
const LAG_MAX: Duration = Duration::from_millis(1);

/// The task of one stream.
pub(crate) struct Logger<F> {
    log: Arc<Log>,
    id: StreamId,
    stage: BatchStage,
    device: Option<Device>,
    next_sequence: u64,
    /// Where the newest segment is recorded; `None` before the first one.
    newest: Option<Newest>,
    /// Since when the stream is behind.
    lag_since: Option<Duration>,
    /// The stamp of the last durable batch, which may be beyond what counts as durable ([`Frontier::reached`]).
    written: Stamp,
    /// When the last flush began.
    flushed_at: Duration,
    load: ProcessorLoad,
    /// When it is time to look whether the segment lies where it was.
    next_look_at: Duration,
    /// What the batch at hand says of the other streams.
    certificates: Vec<Certificate>,
    /// Kept for their memory.
    certified: Vec<StreamId>,
    covered: Vec<Arc<Waiter>>,
    finished: bool,
    frontier: PhantomData<F>,
}

enum BatchStage {
    /// No batch at hand.
    Gathering,
    /// Closed, not written.
    Closed(Batch),
    /// Written, not known durable.
    Written(Batch),
}

/// What to do with no batch at hand.
enum Move {
    Flush,
    Rest(Duration),
    Wait(Option<Duration>),
    End,
}

impl<F: Frontier> Logger<F> {
    /// Makes the logger of stream `id`.
    pub(crate) fn new(log: Arc<Log>, id: StreamId) -> Logger<F> {
        let streams = log.streams.len();
        Logger {
            load: ProcessorLoad::new(&log.environment),
            log,
            id,
            stage: BatchStage::Gathering,
            device: None,
            next_sequence: segment::FIRST_SEQUENCE,
            newest: None,
            lag_since: None,
            written: Stamp::ZERO,
            flushed_at: Duration::ZERO,
            next_look_at: Duration::ZERO,
            certificates: Vec::with_capacity(streams),
            certified: Vec::with_capacity(streams),
            covered: Vec::new(),
            finished: false,
            frontier: PhantomData,
        }
    }

    /// Returns the task's name.
    pub(crate) fn name(&self) -> String {
        format!("osier-logger-{}", self.id)
    }

    fn stream(&self) -> &Stream {
        self.log.stream(self.id)
    }

    /// One stage of a flush, or the decision to begin one.
    fn advance(&mut self) -> Result<Step, LogFailure> {
        match std::mem::replace(&mut self.stage, BatchStage::Gathering) {
            BatchStage::Gathering => match self.decide() {
                Move::Flush => {
                    self.stage = BatchStage::Closed(self.close_batch());
                    Ok(Step::Again)
                }
                Move::Rest(time) => Ok(Step::Rest(time)),
                Move::Wait(timeout) => Ok(Step::Idle(timeout)),
                Move::End => Ok(Step::Done),
            },
            BatchStage::Closed(mut batch) => {
                if !self.make_room(&batch)? {
                    self.stage = BatchStage::Closed(batch);
                    return Ok(Step::Idle(None));
                }
                self.look_after_segment()?;
                self.write(&mut batch)?;
                self.stage = BatchStage::Written(batch);
                Ok(Step::Again)
            }
            BatchStage::Written(batch) => {
                self.sync()?;
                self.publish(batch);
                Ok(Step::Again)
            }
        }
    }

    fn decide(&mut self) -> Move {
        let acknowledger = Arc::clone(&self.log.acknowledger);
        let interval = self.log.settings.group_commit_interval;
        if self.stream().ring.has_work() {
            return self.when_to_flush();
        }
        let lag = F::lag(&self.log, self.id);
        faults::beat_in_memory::<F>(&self.log, self.id, lag, &mut self.covered);
        match lag {
            Lag::Demanded => Move::Flush,
            _ if self.log.is_closing() && acknowledger.watermark().csn() >= acknowledger.demand() => Move::End,
            Lag::None => {
                self.lag_since = None;
                // Workers do not wake a timed logger.
                Move::Wait((!interval.is_zero()).then_some(interval))
            }
            Lag::Behind => {
                let now = self.log.environment.clock.now();
                let since = *self.lag_since.get_or_insert(now);
                let left = (since + LAG_MAX.max(interval)).saturating_sub(now);
                if left.is_zero() { Move::Flush } else { Move::Wait(Some(left)) }
            }
        }
    }

    /// When a batch with records is closed: at once, unless group commits are timed or the logger may rest, and nobody waits for
    /// room.
    fn when_to_flush(&mut self) -> Move {
        let interval = self.log.settings.group_commit_interval;
        let stream = self.log.stream(self.id);
        let is_hurried = stream.hurrying.load(Ordering::SeqCst) > 0;
        if self.log.is_closing() || is_hurried || stream.ring.pending_bytes() > stream.wake_bytes {
            return Move::Flush;
        }
        let now = self.log.environment.clock.now();
        let left = |interval| (self.flushed_at + interval).saturating_sub(now);
        let early = left(interval);
        if !early.is_zero() {
            return Move::Wait(Some(early));
        }
        if !F::is_due(&self.log, self.id) {
            return Move::Wait((!interval.is_zero()).then_some(interval));
        }
        if !interval.is_zero() {
            return Move::Flush;
        }
        let rest = faults::rest(left(REST));
        let is_awaited = || stream.baton.is_led() || self.log.acknowledger.is_awaited(self.id);
        if rest.is_zero() || is_awaited() || !self.load.is_full(&self.log.environment, now) {
            return Move::Flush;
        }
        Move::Rest(rest)
    }

    /// Ends the open batch, with the stream's stamp raised: the heartbeat.
    fn close_batch(&mut self) -> Batch {
        self.flushed_at = self.log.environment.clock.now();
        self.lag_since = None;
        let stamp = F::raise(&self.log);
        yield_at(Point::Beat);
        let batch = self.stream().ring.close_batch(stamp);
        self.stream().ring.wait_filled(&batch);
        batch
    }

    /// Whether the segment has room for `batch`; begins the next segment where not. `false`: there is no blank yet, and
    /// its preparer wakes this task when there is.
    fn make_room(&mut self, batch: &Batch) -> Result<bool, LogFailure> {
        if self.device.as_ref().is_some_and(|device| device.has_room(LogOffset(batch.end()))) {
            return Ok(true);
        }
        let Some(blank) = self.take_blank()? else { return Ok(false) };
        // What was acknowledged since the last look is in it, and the blank lies beside it.
        if let Some(full) = &self.device {
            full.expect_in_place()?;
        }
        let header = SegmentHeader {
            log: self.stream().identity,
            sequence: self.next_sequence,
            base: LogOffset(batch.start()),
            floor: faults::floor(self.log.acknowledger.watermark().dsn(self.id).max(self.written)),
            bytes: self.log.settings.segment_bytes,
        };
        faults::record_early(|| self.record_newest())?;
        let (disk, directory) = (&*self.log.environment.disk, self.log.pool.directory(self.id));
        let device = Device::install(disk, directory, blank, header, faults::open_mode())?;
        faults::record(|| self.record_newest())?;
        assert!(device.has_room(LogOffset(batch.end())), "a batch larger than a segment");
        self.device = Some(device);
        self.log.pool.began(self.id, header);
        self.next_sequence += 1;
        self.stream().counters.segments.add(1);
        self.stream().counters.syncs.add(3);
        Ok(true)
    }

    /// A blank that is still there: one that somebody has removed is none.
    fn take_blank(&self) -> Result<Option<Blank>, LogFailure> {
        while let Some(blank) = self.log.pool.take(self.id) {
            let is_there = self.log.environment.disk.exists(&blank.path);
            if is_there.map_err(|source| LogFailure::device("look for", &blank.path, source))? {
                return Ok(Some(blank));
            }
        }
        Ok(None)
    }

    /// Records, before anything is written to it, that there is a segment with the next number.
    fn record_newest(&mut self) -> Result<(), LogFailure> {
        let (disk, directory) = (&*self.log.environment.disk, self.log.pool.directory(self.id));
        let recorded = match &mut self.newest {
            Some(newest) => newest.record(self.next_sequence),
            None => Newest::replace(disk, directory, self.log.stream(self.id).identity, self.next_sequence)
                .map(|newest| self.newest = Some(newest)),
        };
        recorded.map_err(|source| LogFailure::device("record the newest segment in", newest::path(directory), source))
    }

    /// Fails, at the latest a second after it, where somebody has moved, removed or replaced the segment or its directory.
    fn look_after_segment(&mut self) -> Result<(), LogFailure> {
        let now = self.log.environment.clock.now();
        if now < self.next_look_at {
            return Ok(());
        }
        self.next_look_at = now + LOOK;
        self.device.as_ref().expect("make_room came before").expect_in_place()
    }

    fn write(&mut self, batch: &mut Batch) -> Result<(), LogFailure> {
        let stream = self.log.stream(self.id);
        self.certificates.clear();
        F::certify(&self.log, self.id, batch.stamp(), &mut self.certificates);
        yield_at(Point::Certified);
        let header = BatchHeader {
            offset: LogOffset(batch.start()),
            length: batch.end() - batch.start(),
            record_bytes: batch::header_bytes(stream.identity.streams()) as u64 + batch.record_bytes(),
            stamp: faults::stamp(batch, &stream.ring),
            csn: self.log.acknowledger.watermark().csn(),
            closed: WallTime::now(&*self.log.environment.clock),
            layout: RecordLayout::Compact,
        };
        faults::count_early(&self.log, &self.certificates);
        let certificates = &self.certificates;
        header.encode(&stream.identity, certificates, stream.ring.header_mut(batch));
        let device = self.device.as_mut().expect("make_room came before");
        device.append(header.offset, stream.ring.parts(batch))
    }

    fn sync(&mut self) -> Result<(), LogFailure> {
        self.stream().counters.syncs.add(1);
        let device = self.device.as_ref().expect("a batch was written");
        faults::sync(|| device.sync())
    }

    /// The batch is durable: moves the frontier, frees the ring, wakes the waiters that are covered.
    fn publish(&mut self, batch: Batch) {
        let stream = self.log.stream(self.id);
        self.certified.clear();
        let idle = self.certificates.iter().filter(|certificate| certificate.stamp > Stamp::ZERO);
        self.certified.extend(idle.map(|certificate| certificate.stream));
        let acknowledger = &self.log.acknowledger;
        self.written = faults::stamp(&batch, &stream.ring);
        let stamp = F::reached(self.written);
        acknowledger.publish(self.id, stamp, &self.certified, &mut self.covered);
        yield_at(Point::Published);
        self.count(&batch);
        stream.ring.release(batch);
        wake_all(&mut self.covered);
        if self.log.is_closing() {
            // Loggers that had nothing left to do waited for this frontier.
            acknowledger.wake_loggers();
        } else if self.certified.len() + 1 < self.log.streams.len() {
            // A sleeper does not know that it fell behind.
            acknowledger.wake_laggards(stamp);
        }
    }

    fn count(&self, batch: &Batch) {
        let counters = &self.stream().counters;
        let bytes = batch.end() - batch.start();
        counters.bytes.add(bytes);
        counters.record_bytes.add(batch.record_bytes());
        counters.records.add(batch.records());
        counters.batches.add(1);
        counters.markers.add(u64::from(batch.record_bytes() == 0));
        counters.certificates.add(self.certified.len() as u64);
        let used = self.device.as_ref().map_or(0, Device::used);
        self.log.pool.report(self.id, bytes, used);
    }
}

impl<F: Frontier> Task for Logger<F> {
    fn step(&mut self) -> Step {
        let step = match self.log.acknowledger.failure() {
            Some(_) => Ok(Step::Done),
            None => self.advance(),
        };
        let step = step.unwrap_or_else(|failure| {
            self.log.fail(failure);
            Step::Done
        });
        self.finished = step == Step::Done;
        step
    }
}

impl<F> Drop for Logger<F> {
    fn drop(&mut self) {
        if faults::has_died(self.finished) {
            let task = format!("osier-logger-{}", self.id);
            self.log.fail(LogFailure::TaskDied { task });
        }
        // A panic may have come between the publication and the waking.
        wake_all(&mut self.covered);
        self.log.logger_ended();
    }
}

#[cfg(test)]
#[path = "logger_tests.rs"]
mod tests;
