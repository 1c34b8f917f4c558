//! What is known of each version of a procedure that was called since the database was opened: how often, how its calls ended and
//! what of them was logged, and, of samples, how long it takes and how much it writes.
//!
//! Invariants:
//! - A call writes to the counters of its session only: no locked instruction, no line that goes from one processor to another.
//! - A sample is taken of few calls, so that the means, which all sessions share, are seldom written. An update that another
//!   thread overwrites is a sample less.
//! - There are at most [`VERSIONS_MAX`] versions: where there are more, those are forgotten that no session holds.
//!
//! Absent: what is decided by them (call/choice.rs).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use osier_memory::sync::{Mutex, lock};
use serde::{Deserialize, Serialize};

use super::debt::LogEntry;
use crate::catalog::procedure::VersionKey;
use crate::units::count;

/// How many versions are remembered at most, unless sessions hold more.
const VERSIONS_MAX: usize = 1024;
/// After so many samples an earlier one counts less and less.
const SAMPLES_MAX: u64 = 16;
/// A sample counts for no more than so many times the mean before it: the thread was not running, or waited for a device.
const OUTLIER: f64 = 8.0;

/// Figures of a version of a procedure, since the database was opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProcedureMetrics {
    /// Its name.
    pub name: String,
    /// Which version.
    pub version: u32,
    /// Calls that ended, those within other transactions included. A call by another procedure is a part of that one.
    pub calls: u64,
    /// Of those, calls that were logged as commands.
    pub commands: u64,
    /// Calls that were logged as values. What is neither a command nor values wrote nothing, gave up, or is logged with the
    /// transaction that it was a part of.
    pub values: u64,
    /// Calls that gave up: `abort` and errors of statements.
    pub aborted: u64,
    /// Attempts that met a conflict, after which the call runs again.
    pub conflicts: u64,
    /// The mean time from the begin of a call to its commit, of samples; zero where there is none yet.
    pub execution_us: f64,
    /// The mean length of a call as a command, of samples; zero where there is none yet.
    pub command_bytes: f64,
    /// The mean length of the rows that a call wrote, as values, of samples; zero where there is none yet.
    pub value_bytes: f64,
    /// The mean number of rows that a call wrote, of samples.
    pub rows: f64,
}

impl fmt::Display for ProcedureMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProcedureMetrics { name, version, calls, commands, values, aborted, conflicts, .. } = self;
        write!(
            f,
            "{name} version {version}: {}, {commands} logged as commands, {values} as values, ",
            count(*calls, "call")
        )?;
        write!(f, "{aborted} gave up, {}", count(*conflicts, "conflict"))?;
        if self.execution_us == 0.0 {
            return Ok(());
        }
        let ProcedureMetrics { execution_us, command_bytes, value_bytes, rows, .. } = self;
        write!(
            f,
            "; {execution_us:.1} us, {command_bytes:.0} bytes as a command and {value_bytes:.0} for {rows:.1} rows"
        )
    }
}

/// The versions of procedures that were called.
#[derive(Default)]
pub(crate) struct Figures {
    versions: Mutex<BTreeMap<VersionKey, Arc<VersionFigures>>>,
}

/// What is known of one version.
pub(crate) struct VersionFigures {
    name: String,
    of: VersionKey,
    means: CachePadded<Means>,
    slots: Mutex<Slots>,
}

/// Of samples, as bits of `f64`.
#[derive(Default)]
struct Means {
    samples: AtomicU64,
    execution_ns: AtomicU64,
    command_bytes: AtomicU64,
    value_bytes: AtomicU64,
    rows: AtomicU64,
}

/// What one call measured, or what calls do on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// From the begin to the commit.
    pub(crate) execution_ns: f64,
    pub(crate) command_bytes: f64,
    pub(crate) value_bytes: f64,
    pub(crate) rows: f64,
}

#[derive(Default)]
struct Slots {
    of_sessions: Vec<Arc<CachePadded<Slot>>>,
    /// Those of sessions that have ended.
    ended: Counts,
}

#[derive(Default)]
struct Slot {
    calls: AtomicU64,
    commands: AtomicU64,
    values: AtomicU64,
    aborted: AtomicU64,
    conflicts: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    calls: u64,
    commands: u64,
    values: u64,
    aborted: u64,
    conflicts: u64,
}

/// The counters of one session for one version.
pub(crate) struct SessionFigures {
    of: Arc<VersionFigures>,
    slot: Arc<CachePadded<Slot>>,
}

impl Figures {
    /// Returns the counters of a session that begins to call a version.
    pub(crate) fn begin(&self, name: &str, of: VersionKey) -> SessionFigures {
        let mut versions = lock(&self.versions);
        // An id may come back under another name where the transaction that drew it was rolled back.
        if versions.get(&of).is_none_or(|known| known.name != name) {
            if versions.len() >= VERSIONS_MAX {
                versions.retain(|_, version| version.is_held());
            }
            let (means, slots) = Default::default();
            versions.insert(of, Arc::new(VersionFigures { name: name.to_owned(), of, means, slots }));
        }
        let version = versions[&of].clone();
        let slot = Arc::<CachePadded<Slot>>::default();
        lock(&version.slots).of_sessions.push(slot.clone());
        SessionFigures { of: version, slot }
    }

    /// Returns what was counted so far, by name and version.
    pub(crate) fn metrics(&self) -> Vec<ProcedureMetrics> {
        let versions: Vec<_> = lock(&self.versions).values().cloned().collect();
        let mut metrics: Vec<_> = versions.iter().map(|version| version.metrics()).collect();
        metrics.retain(|of| of.calls > 0 || of.conflicts > 0);
        metrics.sort_by(|one, other| (&one.name, one.version).cmp(&(&other.name, other.version)));
        metrics
    }
}

impl VersionFigures {
    /// Whether a session counts for it.
    fn is_held(&self) -> bool {
        !lock(&self.slots).of_sessions.is_empty()
    }

    fn metrics(&self) -> ProcedureMetrics {
        let slots = lock(&self.slots);
        let mut counts = slots.ended;
        slots.of_sessions.iter().for_each(|slot| slot.add_to(&mut counts));
        drop(slots);
        let Counts { calls, commands, values, aborted, conflicts } = counts;
        let Sample { execution_ns, command_bytes, value_bytes, rows } = self.means.get().unwrap_or_default();
        ProcedureMetrics {
            name: self.name.clone(),
            version: self.of.version.0,
            calls,
            commands,
            values,
            aborted,
            conflicts,
            execution_us: execution_ns / 1000.0,
            command_bytes,
            value_bytes,
            rows,
        }
    }
}

impl Means {
    /// Returns them, where there is a sample.
    fn get(&self) -> Option<Sample> {
        let of = |mean: &AtomicU64| f64::from_bits(mean.load(Ordering::Relaxed));
        (self.samples.load(Ordering::Relaxed) > 0).then(|| Sample {
            execution_ns: of(&self.execution_ns),
            command_bytes: of(&self.command_bytes),
            value_bytes: of(&self.value_bytes),
            rows: of(&self.rows),
        })
    }

    fn learn(&self, sample: Sample) {
        let samples = self.samples.load(Ordering::Relaxed);
        let Sample { execution_ns, command_bytes, value_bytes, rows } = sample;
        let before = f64::from_bits(self.execution_ns.load(Ordering::Relaxed));
        let execution_ns = if samples > 0 { execution_ns.min(before * OUTLIER) } else { execution_ns };
        let weight = 1.0 / (samples + 1).min(SAMPLES_MAX) as f64;
        for (mean, sampled) in [
            (&self.execution_ns, execution_ns.max(1.0)),
            (&self.command_bytes, command_bytes),
            (&self.value_bytes, value_bytes),
            (&self.rows, rows),
        ] {
            let before = f64::from_bits(mean.load(Ordering::Relaxed));
            mean.store((before + (sampled - before) * weight).to_bits(), Ordering::Relaxed);
        }
        self.samples.store(samples + 1, Ordering::Relaxed);
    }
}

impl Slot {
    fn add_to(&self, counts: &mut Counts) {
        counts.calls += self.calls.load(Ordering::Relaxed);
        counts.commands += self.commands.load(Ordering::Relaxed);
        counts.values += self.values.load(Ordering::Relaxed);
        counts.aborted += self.aborted.load(Ordering::Relaxed);
        counts.conflicts += self.conflicts.load(Ordering::Relaxed);
    }
}

/// By the only thread that writes to it.
#[inline]
fn increment(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl SessionFigures {
    /// How many attempts the session has made.
    #[inline]
    pub(crate) fn attempts(&self) -> u64 {
        self.slot.calls.load(Ordering::Relaxed) + self.slot.conflicts.load(Ordering::Relaxed)
    }

    /// Counts a call that has ended.
    #[inline]
    pub(crate) fn ended(&self) {
        increment(&self.slot.calls);
    }

    /// Counts a call that gave up.
    #[inline]
    pub(crate) fn aborted(&self) {
        increment(&self.slot.aborted);
    }

    /// Counts an attempt that met a conflict.
    #[inline]
    pub(crate) fn conflicted(&self) {
        increment(&self.slot.conflicts);
    }

    /// Counts what was logged of a call.
    #[inline]
    pub(crate) fn logged(&self, entry: LogEntry) {
        match entry {
            LogEntry::Nothing => {}
            LogEntry::Values { .. } => increment(&self.slot.values),
            LogEntry::Command { .. } => increment(&self.slot.commands),
        }
    }

    /// Adds a sample to what all sessions know.
    pub(crate) fn learn(&self, sample: Sample) {
        self.of.means.learn(sample);
    }

    /// Returns the means of all sessions, where there is a sample.
    pub(crate) fn means(&self) -> Option<Sample> {
        self.of.means.get()
    }
}

impl Drop for SessionFigures {
    fn drop(&mut self) {
        let slots = &mut *lock(&self.of.slots);
        let at = slots.of_sessions.iter().position(|slot| Arc::ptr_eq(slot, &self.slot));
        slots.of_sessions.swap_remove(at.expect("a session ends once")).add_to(&mut slots.ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{ProcedureId, ProcedureVersion};

    fn key(id: u32, version: u32) -> VersionKey {
        VersionKey { id: ProcedureId(id), version: ProcedureVersion(version) }
    }

    #[test]
    fn what_an_ended_session_counted_stays() {
        let figures = Figures::default();
        let [one, other] = [figures.begin("pay", key(1, 2)), figures.begin("pay", key(1, 2))];
        (0..3).for_each(|_| one.ended());
        one.logged(LogEntry::Command { rows: 1 });
        one.logged(LogEntry::Values { rows: 1, bytes: 8 });
        one.logged(LogEntry::Nothing);
        drop(one);
        other.ended();
        other.aborted();
        other.conflicted();
        let _uncalled = figures.begin("ask", key(2, 1));
        let [pay] = &figures.metrics()[..] else { panic!("one version was called") };
        assert_eq!((pay.name.as_str(), pay.version), ("pay", 2));
        assert_eq!((pay.calls, pay.commands, pay.values, pay.aborted, pay.conflicts), (4, 1, 1, 1, 1));
        assert_eq!(other.attempts(), 2, "of this session");
    }

    #[test]
    fn a_thread_that_stood_still_hardly_counts() {
        let figures = Figures::default();
        let (one, other) = (figures.begin("pay", key(1, 1)), figures.begin("pay", key(1, 1)));
        assert_eq!(one.means(), None);
        let sample = |ns| Sample { execution_ns: ns, command_bytes: 30.0, value_bytes: 90.0, rows: 2.0 };
        (0..30).for_each(|_| one.learn(sample(1000.0)));
        one.learn(sample(1e9));
        let means = other.means().expect("samples");
        assert!(means.execution_ns < 1500.0, "{means:?}");
        assert_eq!((means.command_bytes, means.value_bytes, means.rows), (30.0, 90.0, 2.0));
        (0..200).for_each(|_| one.learn(sample(1e6)));
        assert!(other.means().is_some_and(|means| means.execution_ns > 9e5), "what lasts is believed");
    }

    #[test]
    fn versions_that_nobody_holds_are_forgotten_where_there_are_many() {
        let figures = Figures::default();
        let held = figures.begin("held", key(0, 1));
        held.ended();
        for version in 1..=2 * VERSIONS_MAX as u32 {
            figures.begin("pay", key(1, version)).ended();
        }
        let metrics = figures.metrics();
        assert!(metrics.len() <= VERSIONS_MAX, "{}", metrics.len());
        assert_eq!(metrics[0].name, "held");
    }
}
