//! What recovery says about itself, while it runs and afterwards.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Config, Progress, ProgressCallback, RecoveryPhase, RowReplayKind};
use crate::error::RecoveryError;
use crate::ids::{Epoch, Stamp};
use crate::io::Clock;
use crate::units::{bytes, count};

/// Tells the callback of a configuration how a stage goes on.
pub(crate) struct ProgressReporter {
    callback: ProgressCallback,
    clock: Arc<dyn Clock>,
    begun: Duration,
}

impl ProgressReporter {
    /// Returns the reporter of a stage that begins now; `None` where nobody wants to know.
    pub(crate) fn of(config: &Config) -> Option<ProgressReporter> {
        let (callback, clock) = (config.progress.clone()?, config.environment.clock.clone());
        let begun = clock.now();
        Some(ProgressReporter { callback, clock, begun })
    }

    /// Reports that `done` of `total` units of a phase are done.
    pub(crate) fn report(&self, phase: RecoveryPhase, done: u64, total: u64) {
        let elapsed = self.clock.now().saturating_sub(self.begun);
        (self.callback)(&Progress { phase, done, total, elapsed });
    }
}

/// What recovery read and decided, and how long it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecoveryReport {
    /// The whole of it, until the database can be used, in seconds.
    pub seconds: f64,
    /// Reading the manifest and finding the segments, in seconds.
    pub manifest_seconds: f64,
    /// Loading the checkpoint, in seconds.
    pub checkpoint_seconds: f64,
    /// Reading and checking the log, and installing what is certain to live, in seconds.
    pub scan_seconds: f64,
    /// Re-persisting the tails and freezing the generation, in seconds.
    pub persist_seconds: f64,
    /// Installing what only the cut decided, and purging tombstones, in seconds.
    pub replay_seconds: f64,
    /// Checking the result, in seconds.
    pub check_seconds: f64,
    /// Opening the tables and building their secondary indexes, in seconds.
    pub index_seconds: f64,
    /// Running transactions again in their order, in seconds.
    pub ordered_seconds: f64,
    /// Of these, planning which may run at once, by procedures; others run meanwhile. In seconds.
    pub planned_seconds: f64,
    /// How long the threads that ran transactions at once had nothing to run, all together, in seconds.
    pub waited_seconds: f64,
    /// Reading and checking the log, of all threads together, in seconds.
    pub loading_seconds: f64,
    /// How long threads waited for each other, all together, in seconds; also those that ended before the last one.
    pub scheduling_seconds: f64,
    /// How the rows of the log were replayed, up to the first call in it.
    pub rows: RowReplayKind,
    /// Rows that secondary indexes were built from.
    pub indexed: u64,
    /// The number of the checkpoint that was loaded; 0: there was none.
    pub checkpoint: u64,
    /// Rows in it.
    pub checkpoint_rows: u64,
    /// Bytes of log that were read: whole batches.
    pub log_bytes: u64,
    /// Batches in them.
    pub batches: u64,
    /// Transactions in them.
    pub records: u64,
    /// Transactions that count as committed and were replayed.
    pub replayed: u64,
    /// Of these, how many were run again, in their order: those of the first generation that logs commands and of all that follow
    /// it.
    pub ordered: u64,
    /// Of these, how many were run by several threads, as their vectors or procedures allow; the others one after the
    /// other.
    pub at_once: u64,
    /// Of these, how many are logged as commands.
    pub commands: u64,
    /// How many had still to run again when the database could be used (`recovery = instant`).
    pub left: u64,
    /// Transactions whose effects the checkpoint holds: read and not replayed.
    pub covered: u64,
    /// Transactions beyond the cut, which were never acknowledged, and those of later epochs than the one that the
    /// database was taken back to, now or before.
    pub discarded: u64,
    /// Transactions of later epochs than the one that it was taken back to now.
    pub after: u64,
    /// The epoch that the database was taken back to by this recovery.
    pub until: Option<Epoch>,
    /// Row images, changes of rows and deletes in the replayed transactions; what commands wrote is not counted.
    pub writes: u64,
    /// Streams that were read, of all generations together.
    pub streams: u32,
    /// Segment files that were read.
    pub segments: u32,
    /// Generations that were read.
    pub generations: u32,
    /// The cut of the generation that crashed, or the last stamp of one that was closed.
    pub cut: Stamp,
    /// The greatest stamp seen; new ones are above it.
    pub max_seen: Stamp,
    /// Whether the last generation had been closed.
    pub clean: bool,
    /// How many threads worked.
    pub threads: u32,
    /// The commands that did something else than before, which [`Config::accept_divergence`] asked to accept, in their order.
    pub accepted: Vec<AcceptedDivergence>,
}

/// A command that did something else when it was run again, which was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcceptedDivergence {
    /// Of its transaction.
    pub stamp: Stamp,
    /// Of its transaction, too.
    pub epoch: Epoch,
    /// The procedure, its version and its arguments.
    pub call: String,
    /// What was different.
    pub what: String,
    /// Whether what it does now counts, else nothing of it.
    pub counts: bool,
}

impl AcceptedDivergence {
    /// Returns what a [`RecoveryError::Diverged`] tells of.
    pub(super) fn of(
        error: &RecoveryError,
        (stamp, epoch): (Stamp, Epoch),
        counts: bool,
    ) -> Option<AcceptedDivergence> {
        let RecoveryError::Diverged { what, .. } = error else { return None };
        Some(AcceptedDivergence { stamp, epoch, call: error.call()?, what: what.clone(), counts })
    }
}

impl fmt::Display for AcceptedDivergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AcceptedDivergence { stamp, epoch, call, what, counts } = self;
        let fate = if *counts { "what it does now counts" } else { "nothing of it counts" };
        write!(f, "transaction {stamp} of epoch {epoch}: {call}: {what}; {fate}")
    }
}

impl RecoveryReport {
    /// Whether commands did something else than before and that was accepted. What is in memory then is not what the next
    /// replay of the same log would make.
    pub(crate) fn has_accepted(&self) -> bool {
        !self.accepted.is_empty()
    }

    /// Bytes of log per second of the whole.
    pub fn log_bytes_per_second(&self) -> f64 {
        self.log_bytes as f64 / self.seconds.max(1e-9)
    }

    /// Transactions per second of the whole.
    pub fn records_per_second(&self) -> f64 {
        self.records as f64 / self.seconds.max(1e-9)
    }

    /// Planning what may be run at once, on a thread of its own, in seconds.
    pub fn analysis_seconds(&self) -> f64 {
        self.planned_seconds
    }

    /// What threads did in the steps that replay but load and wait, all together, in seconds: they installed rows, built indexes
    /// and ran calls again.
    pub fn execution_seconds(&self) -> f64 {
        let ordered_threads = if self.at_once > 0 { self.threads } else { 1 };
        let passes = f64::from(self.threads) * (self.scan_seconds + self.replay_seconds + self.index_seconds);
        let all = passes + f64::from(ordered_threads) * self.ordered_seconds;
        (all - self.loading_seconds - self.scheduling_seconds).max(0.0)
    }

    /// Where the time went: of the threads, and of the steps.
    fn fmt_seconds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  threads  loading {:.3}, analysis {:.3}, scheduling {:.3}, execution {:.3} s, all together; rows by {}",
            self.loading_seconds,
            self.analysis_seconds(),
            self.scheduling_seconds,
            self.execution_seconds(),
            self.rows,
        )?;
        write!(
            f,
            "  seconds  manifest {:.3}, checkpoint {:.3}, scan {:.3}, persist {:.3}, replay {:.3}, check {:.3}, indexes {:.3}",
            self.manifest_seconds,
            self.checkpoint_seconds,
            self.scan_seconds,
            self.persist_seconds,
            self.replay_seconds,
            self.check_seconds,
            self.index_seconds,
        )
    }

    /// Transactions per second of those that were run again in their order.
    pub fn ordered_per_second(&self) -> f64 {
        self.ordered as f64 / self.ordered_seconds.max(1e-9)
    }
}

impl fmt::Display for RecoveryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.clean { "had been closed" } else { "had crashed" };
        let threads = count(self.threads, "thread");
        writeln!(f, "the database {state}; recovered in {:.3} s with {threads}", self.seconds)?;
        if self.checkpoint > 0 {
            let rows = count(self.checkpoint_rows, "row");
            writeln!(f, "  base     checkpoint {} with {rows}", self.checkpoint)?;
        }
        writeln!(
            f,
            "  log      {} in {} of {} ({}/s); {}, with {} together",
            bytes(self.log_bytes),
            count(self.batches, "batch"),
            count(self.segments, "segment"),
            bytes(self.log_bytes_per_second() as u64),
            count(self.generations, "generation"),
            count(self.streams, "stream"),
        )?;
        writeln!(
            f,
            "  records  {} read ({:.0}/s), {} replayed with {}, {} in the checkpoint, {} discarded beyond the cut",
            self.records,
            self.records_per_second(),
            self.replayed,
            count(self.writes, "write"),
            self.covered,
            self.discarded,
        )?;
        if self.ordered > 0 {
            writeln!(
                f,
                "  order    {} run again in {:.3} s ({:.0}/s), {} of them by command; {} at once, the others in turn",
                count(self.ordered, "transaction"),
                self.ordered_seconds,
                self.ordered_per_second(),
                self.commands,
                self.at_once,
            )?;
        }
        if self.left > 0 {
            writeln!(f, "  left     {} to run again while the database is open", count(self.left, "transaction"))?;
        }
        if self.at_once > 0 {
            writeln!(
                f,
                "  at once  planned in {:.3} s, while others ran; threads had nothing to run for {:.3} s in all",
                self.planned_seconds, self.waited_seconds,
            )?;
        }
        self.accepted.iter().try_for_each(|accepted| writeln!(f, "  accepted {accepted}"))?;
        if let Some(until) = self.until {
            writeln!(
                f,
                "  until    epoch {until}: {} of later epochs gone for ever",
                count(self.after, "transaction")
            )?;
        }
        writeln!(f, "  stamps   cut {}, greatest seen {}", self.cut, self.max_seen)?;
        self.fmt_seconds(f)
    }
}

/// Measures phases one after the other.
pub(crate) struct Stopwatch<'c> {
    clock: &'c dyn crate::io::Clock,
    start: Duration,
    lap: Duration,
}

impl<'c> Stopwatch<'c> {
    /// Starts the first lap.
    pub(crate) fn start(clock: &'c dyn crate::io::Clock) -> Stopwatch<'c> {
        let now = clock.now();
        Stopwatch { clock, start: now, lap: now }
    }

    /// Seconds since the last lap.
    pub(crate) fn lap(&mut self) -> f64 {
        let now = self.clock.now();
        let lap = now.saturating_sub(self.lap);
        self.lap = now;
        lap.as_secs_f64()
    }

    /// Seconds since the start.
    pub(crate) fn total(&self) -> f64 {
        self.clock.now().saturating_sub(self.start).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::log::world_for_tests::ManualClock;

    /// Each stage is told from its own begin.
    #[test]
    fn what_is_left_of_a_stage_is_told_by_the_clock() {
        let (clock, told) = (Arc::new(ManualClock::default()), Arc::new(Mutex::new(Vec::new())));
        let (listener, mut config) = (told.clone(), Config::new(""));
        config.environment.clock = clock.clone();
        let config = config.progress(move |progress| {
            listener.lock().expect("nobody panics").push((progress.elapsed, progress.remaining()));
        });
        clock.advance(Duration::from_secs(100));
        let reporter = ProgressReporter::of(&config).expect("somebody listens");
        reporter.report(RecoveryPhase::Order, 0, 80);
        for (seconds, done) in [(3, 20), (3, 40), (9, 80)] {
            clock.advance(Duration::from_secs(seconds));
            reporter.report(RecoveryPhase::Order, done, 80);
        }
        let of = |elapsed, remaining: Option<u64>| (Duration::from_secs(elapsed), remaining.map(Duration::from_secs));
        let expected = [of(0, None), of(3, Some(9)), of(6, Some(6)), of(15, Some(0))];
        assert_eq!(*told.lock().expect("nobody panics"), expected);
    }
}
