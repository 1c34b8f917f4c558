//! The checkpointer: a background task that takes checkpoints, one at a time, when asked to or when one is due.
//!
//! The stages are the steps of [`super`], in that order. Invariants:
//! - Whatever ends a checkpoint, its threads have ended, its snapshot is closed and, unless a manifest may name them,
//!   its files are removed before the next one begins; later where a full device refuses that.
//! - A commit that stays on its way holds a checkpoint up, never the other way round; the metrics say so.
//! - A checkpointer that ends without being stopped fails the log and every checkpoint, since the directories would be watched
//!   no more.

use std::future::Future;
use std::pin::Pin as Pinned;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, SystemTime};

use osier_memory::{Participant, Reads, Snapshot};

use super::format::PartIdentity;
use super::pace::{Pace, Throttle};
use super::part::{Crew, PartTask};
use super::requests::{CheckpointOutcome, CheckpointRequests, Next, Stop};
use super::retention::{NewCheckpoint, Retention};
use super::scan::{CheckpointScan, ScanCursor};
use super::writer::{PartWriter, WrittenPart};
use super::{CheckpointReport, CheckpointState, faults};
use crate::config::{CheckpointKind, Compression, Config, Logged};
use crate::directory::manifest::{CheckpointEntry, CheckpointPart, StreamBegin};
use crate::error::{CheckpointError, LogFailure};
use crate::failpoint::{Point, yield_at};
use crate::ids::{Epoch, Stamp};
use crate::io::in_place::{Displaced, LOOK};
use crate::io::{Joiner, REMOVAL_PAUSE, Signal, Step, Task};
use crate::log::acknowledge::Receipt;
use crate::sizes::removed_piece_bytes;
use crate::transaction::shared::Shared;
use crate::transaction::ticker::Ticker;

/// How often the amount of log is looked at.
const TRIGGER_POLL: Duration = Duration::from_millis(20);
/// How much faster a checkpoint is removed than the next one was written: that one after it must not catch up.
const REMOVAL_SPEED: f64 = 2.0;
/// How long the last checkpoint waits at close for transactions that are still open.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

/// The task.
pub(crate) struct Checkpointer {
    shared: Arc<Shared>,
    retention: Arc<Retention>,
    requests: Arc<CheckpointRequests>,
    participant: Participant,
    stage: CheckpointStage,
    /// When the last checkpoint began, and how much log there was.
    last_begun: Duration,
    last_log_bytes: u64,
    /// What was owed then, of recovery's time (transaction/debt.rs).
    last_owed_ns: u64,
    inherited: Inherited,
    /// When the next piece of superseded files may be removed, and its bytes.
    next_removal_at: Duration,
    /// When the directories are looked after again.
    next_look_at: Duration,
    removal_bytes: u64,
    /// Whether the task ended as it should, and did not die.
    has_finished: bool,
}

/// What earlier lives of the database have left to the first checkpoint of this one. Lives shorter than an interval, or
/// than a checkpoint takes behind the transactions, must not pile up log from crash to crash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inherited {
    /// Log that the last checkpoint does not cover.
    pub(crate) log_bytes: u64,
    /// A whole life has passed without a checkpoint.
    pub(crate) is_late: bool,
}

enum CheckpointStage {
    Idle,
    /// Until every transaction up to the boundary has ended.
    Waits(CheckpointRun),
    Writes(CheckpointRun, Writing),
    /// Until everything in the files is stable.
    WaitsForLog(CheckpointRun, Vec<WrittenPart>, Receipt),
}

/// One checkpoint.
struct CheckpointRun {
    begun: Duration,
    /// When the wait for transactions began.
    announced: Duration,
    waited: Duration,
    files: NewCheckpoint,
    kind: CheckpointKind,
    /// Of an epoch, until the scan has it.
    snapshot: Option<Snapshot>,
    /// The epoch E, or RSN.
    boundary: u64,
    /// The segments from which on the log has everything that the checkpoint does not cover.
    begins: Vec<StreamBegin>,
    /// What was owed before the boundary was announced.
    owed_ns: u64,
    /// What must be stable before the checkpoint counts; known after the wait, or after the scan of a fuzzy one.
    max_seen: Stamp,
}

struct Writing {
    scan: Arc<CheckpointScan>,
    pace: Arc<Pace>,
    crew: Arc<Crew>,
    joiners: Vec<Box<dyn Joiner>>,
}

impl Checkpointer {
    pub(crate) const NAME: &str = "osier-checkpoint";

    pub(crate) fn new(
        shared: Arc<Shared>,
        retention: Arc<Retention>,
        requests: Arc<CheckpointRequests>,
        inherited: Inherited,
    ) -> Result<Checkpointer, CheckpointError> {
        let participant = participant(&shared)?;
        let last_begun = shared.config.environment.clock.now();
        let last_log_bytes = shared.log.metrics().total().bytes;
        let (stage, next_removal_at, next_look_at) = (CheckpointStage::Idle, last_begun, last_begun + LOOK);
        Ok(Checkpointer {
            shared,
            retention,
            requests,
            participant,
            stage,
            last_begun,
            last_log_bytes,
            last_owed_ns: 0,
            inherited,
            next_removal_at,
            next_look_at,
            removal_bytes: removed_piece_bytes(),
            has_finished: false,
        })
    }

    fn config(&self) -> &Config {
        &self.shared.config
    }

    fn now(&self) -> Duration {
        self.config().environment.clock.now()
    }

    /// Ends the log where a directory of the database no longer lies where it was: what is written to it may be lost.
    fn look_after_directories(&mut self) {
        let now = self.now();
        if now < self.next_look_at || self.shared.log.failure().is_some() {
            return;
        }
        self.next_look_at = now + LOOK;
        // A directory that could not be looked at may still be there.
        if let Err(error) = self.retention.expect_in_place()
            && let Some(Displaced { directory }) = Displaced::of(&error)
        {
            self.shared.log.fail(LogFailure::Displaced { path: directory.clone() });
        }
    }

    fn advance(&mut self) -> Result<Step, CheckpointError> {
        self.look_after_directories();
        if self.requests.stop() == Stop::Now && !matches!(self.stage, CheckpointStage::Idle) {
            return Err(CheckpointError::Closed);
        }
        match &mut self.stage {
            CheckpointStage::Idle => self.idle(),
            CheckpointStage::Waits(_) => self.wait_for_transactions(),
            CheckpointStage::Writes(..) => self.wait_for_parts(),
            CheckpointStage::WaitsForLog(_, _, receipt) => {
                let waker = Waker::from(Arc::new(WakesSignal(self.requests.signal.clone())));
                match Pinned::new(receipt).poll(&mut Context::from_waker(&waker)) {
                    Poll::Pending => Ok(Step::Idle(None)),
                    Poll::Ready(stable) => {
                        stable?;
                        self.commit()
                    }
                }
            }
        }
    }

    fn idle(&mut self) -> Result<Step, CheckpointError> {
        if self.has_backlog() && self.requests.stop() == Stop::No {
            return Ok(Step::Idle(Some(TRIGGER_POLL)));
        }
        match self.requests.next(self.is_due(), self.now()) {
            Next::Begins => {
                self.begin()?;
                return Ok(Step::Again);
            }
            Next::Ends => return Ok(Step::Done),
            Next::Waits => {}
        }
        let waiting = self.participant.reclaim();
        let config = self.config();
        let reclaim = (waiting > 0).then_some(config.epoch_interval);
        let log_bytes = (config.checkpoint_log_bytes > 0 || config.logged == Logged::Adaptive).then_some(TRIGGER_POLL);
        let interval = (!config.checkpoint_interval.is_zero())
            .then(|| (self.last_begun + config.checkpoint_interval).saturating_sub(self.now()).max(TRIGGER_POLL));
        Ok(Step::Idle([reclaim, log_bytes, interval].into_iter().flatten().min()))
    }

    /// Whether rows still come from the log of earlier lives: no checkpoint could say up to where it has them.
    fn has_backlog(&self) -> bool {
        self.shared.backlog.is_there() && self.shared.log.failure().is_none()
    }

    /// Whether log, time or the time of a recovery calls for a checkpoint.
    fn is_due(&self) -> bool {
        let (config, debt) = (self.config(), &self.shared.debt);
        if config.logged == Logged::Adaptive && debt.owed_ns() - self.last_owed_ns >= debt.due_ns() {
            return true;
        }
        if config.checkpoint_log_bytes == 0 && config.checkpoint_interval.is_zero() {
            return false;
        }
        let metrics = self.shared.log.metrics();
        let written = metrics.total().bytes - self.last_log_bytes + self.inherited.log_bytes;
        let is_log = config.checkpoint_log_bytes > 0 && written >= config.checkpoint_log_bytes;
        let interval = config.checkpoint_interval;
        let is_time = !interval.is_zero() && (self.now() >= self.last_begun + interval || self.inherited.log_bytes > 0);
        is_log || is_time && (written > 0 || metrics.streams.is_empty())
    }

    fn begin(&mut self) -> Result<(), CheckpointError> {
        assert!(matches!(self.stage, CheckpointStage::Idle), "one checkpoint at a time");
        self.last_begun = self.now();
        self.last_log_bytes = self.shared.log.metrics().total().bytes;
        self.last_owed_ns = self.shared.debt.owed_ns();
        self.inherited.log_bytes = 0;
        // A device that failed is asked for nothing more.
        if let Some(failure) = self.shared.log.failure() {
            return Err(failure.into());
        }
        if self.has_backlog() {
            return Err(CheckpointError::Closed);
        }
        let files = self.retention.begin_checkpoint(self.config())?;
        let kind = self.config().checkpoint_kind;
        let (begins, boundary, snapshot) = match kind {
            CheckpointKind::Epoch => {
                // In this order: whatever is stamped before the log begins here has an epoch up to the boundary.
                yield_at(Point::HalfBegun);
                let begins = self.shared.log.begins(None);
                yield_at(Point::HalfBegun);
                let snapshot = self.shared.snapshots.open(Reads::RowsOnce).ok_or(CheckpointError::EpochsExhausted)?;
                (faults::begins_after_boundary(begins, &self.shared.log), snapshot.boundary().0, Some(snapshot))
            }
            // RSN, before any row is read.
            CheckpointKind::Fuzzy => {
                let rsn = self.shared.log.csn();
                (self.shared.log.begins(Some(rsn)), rsn.0, None)
            }
        };
        self.stage = CheckpointStage::Waits(CheckpointRun {
            begun: self.last_begun,
            announced: self.now(),
            waited: Duration::ZERO,
            files,
            kind,
            snapshot,
            boundary,
            begins,
            owed_ns: self.last_owed_ns,
            max_seen: Stamp::ZERO,
        });
        Ok(())
    }

    fn wait_for_transactions(&mut self) -> Result<Step, CheckpointError> {
        let CheckpointStage::Waits(run) = &self.stage else { unreachable!("called in this stage") };
        if let Some(snapshot) = &run.snapshot
            && !faults::have_ended(snapshot.is_readable())
        {
            let is_closing = self.requests.stop() == Stop::WhenDone;
            if is_closing && self.now() >= run.announced + CLOSE_PATIENCE {
                return Err(CheckpointError::Closed);
            }
            if self.shared.has_no_ticker.load(Ordering::SeqCst) {
                return Err(CheckpointError::TaskDied { task: Ticker::NAME });
            }
            self.shared.memory.admit_snapshot()?;
            self.requests.show(CheckpointState::WaitsForCommits(snapshot.boundary()));
            return Ok(Step::Idle(Some(self.config().epoch_interval)));
        }
        let CheckpointStage::Waits(mut run) = std::mem::replace(&mut self.stage, CheckpointStage::Idle) else {
            unreachable!()
        };
        run.waited = self.now() - run.announced;
        // Every transaction of the snapshot has ended, so it has its stamp.
        run.max_seen = if run.kind == CheckpointKind::Epoch { self.shared.log.last_stamp() } else { Stamp::ZERO };
        let pin = self.participant.pin();
        let seen_from = run.snapshot.as_ref().map_or_else(|| self.shared.store.epochs().current(), Snapshot::boundary);
        let (trees, threads) = (self.shared.store.trees(seen_from), self.shared.config.checkpoint_threads);
        let scan = Arc::new(CheckpointScan::new(&pin, run.snapshot.take(), trees));
        drop(pin);
        let crew = Crew::new(self.requests.signal.clone());
        let sources: Vec<_> = (0..threads).map(|_| ScanCursor::new(scan.clone())).collect();
        let (begun, is_late) = ((run.begun, self.last_log_bytes, run.owed_ns), self.inherited.is_late);
        let pace = Arc::new(Pace::new(&self.shared, &self.requests, begun, is_late));
        let writing = Writing { scan, pace, crew, joiners: Vec::new() };
        self.stage = CheckpointStage::Writes(run, writing);
        self.requests.show(CheckpointState::Writes);
        self.start_parts(sources)?;
        Ok(Step::Again)
    }

    /// Starts a thread for each of `sources`, which write the parts.
    fn start_parts(&mut self, sources: Vec<ScanCursor>) -> Result<(), CheckpointError> {
        let CheckpointStage::Writes(run, writing) = &mut self.stage else { unreachable!("called in this stage") };
        let config = &self.shared.config;
        let parts = run.files.parts.len() as u32;
        let compress = config.checkpoint_compression == Compression::Lz4;
        let threads = sources.len() as u64;
        assert_eq!(sources.len(), run.files.parts.len(), "each source writes a part of its own");
        for ((part, (_, path)), source) in (0..parts).zip(&run.files.parts).zip(sources) {
            let identity = PartIdentity {
                database: run.files.database,
                checkpoint: run.files.number,
                part,
                parts,
                kind: run.kind,
                boundary: faults::named_boundary(run.boundary),
            };
            let task = PartTask {
                writer: Some(PartWriter::create(&*run.files.disk, path.clone(), identity, compress)?),
                source,
                participant: participant(&self.shared)?,
                pace: writing.pace.clone(),
                throttle: Throttle::new(config.checkpoint_bytes_per_second.div_ceil(threads)),
                shared: self.shared.clone(),
                crew: writing.crew.clone(),
                is_reported: false,
            };
            let name = format!("{}-{part}", Checkpointer::NAME);
            let joiner = config.environment.spawn.spawn(name, Box::new(task), Arc::new(Signal::new()));
            let no_thread = |error| CheckpointError::Thread { what: format!("a thread could not be started: {error}") };
            writing.joiners.push(joiner.map_err(no_thread)?);
        }
        Ok(())
    }

    fn wait_for_parts(&mut self) -> Result<Step, CheckpointError> {
        let CheckpointStage::Writes(run, writing) = &mut self.stage else { unreachable!("called in this stage") };
        if writing.crew.count() < writing.joiners.len() {
            return Ok(Step::Idle(None));
        }
        assert_eq!(writing.crew.count(), writing.joiners.len(), "each thread reports once");
        join(&mut writing.joiners);
        let written = writing.crew.take()?;
        assert_eq!(written.len(), run.files.parts.len(), "each source writes one part");
        writing.scan.complete();
        // Without a log the greatest stamp is known from the rows alone.
        let greatest = written.iter().map(|part| part.max_stamp).max().unwrap_or(Stamp::ZERO);
        run.max_seen = run.max_seen.max(faults::greatest(greatest));
        if run.kind == CheckpointKind::Fuzzy {
            let (greatest, seen) = (written.iter().map(|part| part.max_stamp).max(), writing.scan.max_seen());
            assert!(greatest <= Some(seen), "what was written was seen: {greatest:?} and {seen}");
            run.max_seen = run.max_seen.max(seen);
            run.boundary = faults::boundary(run.boundary, &self.shared.log);
        }
        faults::sync(|| run.files.sync_directories())?;
        let receipt = self.shared.durable(faults::awaited(run.max_seen));
        self.requests.show(CheckpointState::WaitsForLog(run.max_seen));
        // With the scan goes its snapshot.
        if let CheckpointStage::Writes(run, _) = std::mem::replace(&mut self.stage, CheckpointStage::Idle) {
            self.stage = CheckpointStage::WaitsForLog(run, written, receipt);
        }
        Ok(Step::Again)
    }

    fn commit(&mut self) -> Result<Step, CheckpointError> {
        let CheckpointStage::WaitsForLog(mut run, mut parts, _) =
            std::mem::replace(&mut self.stage, CheckpointStage::Idle)
        else {
            unreachable!("called in this stage")
        };
        parts.sort_by_key(|part| part.part);
        assert!(
            (0..run.files.parts.len() as u32).eq(parts.iter().map(|part| part.part)),
            "every part was written once"
        );
        let places = run.files.parts.iter().zip(&parts);
        let clock = &self.config().environment.clock;
        let taken = clock.wall().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let entry = CheckpointEntry {
            number: run.files.number,
            kind: run.kind,
            boundary: run.boundary,
            max_seen: run.max_seen,
            max_epoch: match run.kind {
                CheckpointKind::Epoch => Epoch(run.boundary),
                // Read after every row was.
                CheckpointKind::Fuzzy => self.shared.store.epochs().current(),
            },
            taken_seconds: taken.as_secs(),
            rows: parts.iter().map(|part| part.totals.rows).sum(),
            raw_bytes: parts.iter().map(|part| part.totals.raw_bytes).sum(),
            parts: places
                .map(|((directory, _), part)| CheckpointPart { directory: *directory, bytes: part.bytes })
                .collect(),
        };
        run.begins = faults::begins(run.begins, &self.shared.log);
        yield_at(Point::Complete);
        let committed = self.retention.commit_checkpoint(&entry, run.begins.clone());
        if let Err(error) = &committed {
            if let Some(failure) = faults::device_failure(error) {
                self.shared.log.fail(failure);
            }
            // Where the device failed, a manifest may name the files: they stay.
            if error.log_failure().is_none() {
                self.retention.abandon(&run.files);
            }
        }
        if let Some(others) = committed? {
            self.shared.log.recycle(&run.begins, &others);
        }
        self.inherited.is_late = false;
        self.shared.debt.cover(run.owed_ns);
        if run.kind == CheckpointKind::Epoch {
            self.shared.superseded.checkpointed(Epoch(run.boundary));
        }
        let report = report(&entry, (self.now() - run.begun).as_secs_f64(), run.waited);
        let bytes_per_pause = report.bytes as f64 / report.seconds * REMOVAL_PAUSE.as_secs_f64();
        self.removal_bytes = removed_piece_bytes().max((REMOVAL_SPEED * bytes_per_pause) as u64);
        self.end(Ok(report));
        Ok(Step::Again)
    }

    fn end(&mut self, outcome: CheckpointOutcome) {
        self.stage = CheckpointStage::Idle;
        self.requests.show(CheckpointState::Idle);
        self.requests.answer(outcome, self.now());
    }

    /// Ends a checkpoint that failed; the manifest does not name its files.
    fn fail(&mut self, error: CheckpointError) {
        let stage = std::mem::replace(&mut self.stage, CheckpointStage::Idle);
        let run = match stage {
            CheckpointStage::Writes(run, mut writing) => {
                writing.crew.cancel();
                join(&mut writing.joiners);
                Some(run)
            }
            CheckpointStage::Waits(run) | CheckpointStage::WaitsForLog(run, ..) => Some(run),
            CheckpointStage::Idle => None,
        };
        if let Some(run) = run {
            self.retention.abandon(&run.files);
        }
        self.end(Err(Arc::new(error)));
    }

    /// Removes a piece of superseded files where one is due; returns when the next one is.
    fn remove_piece(&mut self) -> Option<Duration> {
        let now = self.now();
        if now >= self.next_removal_at {
            self.next_removal_at = now + self.retention.remove_piece(self.removal_bytes)?;
        }
        Some(self.next_removal_at - now)
    }
}

fn report(entry: &CheckpointEntry, seconds: f64, waited: Duration) -> CheckpointReport {
    CheckpointReport {
        number: entry.number,
        kind: entry.kind,
        boundary: entry.boundary,
        max_seen: entry.max_seen,
        rows: entry.rows,
        raw_bytes: entry.raw_bytes,
        bytes: entry.parts.iter().map(|part| part.bytes).sum(),
        parts: entry.parts.len() as u32,
        seconds,
        waited_seconds: waited.as_secs_f64(),
    }
}

fn participant(shared: &Shared) -> Result<Participant, CheckpointError> {
    shared.store.epochs().register().ok_or_else(|| CheckpointError::Thread {
        what: "all sessions are taken: close one or raise sessions_max".to_owned(),
    })
}

/// Threads report how they ended; one that panicked did so through its guard.
fn join(joiners: &mut Vec<Box<dyn Joiner>>) {
    for joiner in joiners.drain(..) {
        let _ = joiner.join();
    }
}

impl Task for Checkpointer {
    fn step(&mut self) -> Step {
        let step = self.advance().unwrap_or_else(|error| {
            self.fail(error);
            Step::Again
        });
        let removal = self.remove_piece();
        self.has_finished = step == Step::Done;
        match step {
            Step::Idle(pause) => Step::Idle(pause.into_iter().chain(removal).chain([LOOK]).min()),
            busy => busy,
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        let death = (!self.has_finished).then_some(CheckpointError::TaskDied { task: Checkpointer::NAME });
        if death.is_some() {
            self.shared.log.fail(LogFailure::TaskDied { task: Checkpointer::NAME.to_owned() });
        }
        // If the task died, its threads must end.
        if let CheckpointStage::Writes(_, writing) = &mut self.stage {
            writing.crew.cancel();
            join(&mut writing.joiners);
        }
        self.requests.has_ended(death);
    }
}

struct WakesSignal(Arc<Signal>);

impl Wake for WakesSignal {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }
}
