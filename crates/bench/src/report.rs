//! The figures of a run: as JSON for scripts and as text for people.
//!
//! The names of the JSON keys are what others script against; keys may be added, not renamed. `txn_per_s` counts
//! transactions that were acknowledged at the durability asked for, and nothing else.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use osier::ProcedureMetrics;
use serde::Serialize;

use crate::CheckpointCounters;
use crate::latency::Percentiles;
use crate::machine::{GIT_COMMIT, Machine};
use crate::snapshot_scans::ScanFigures;

/// Everything about one run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The name of the workload on the command line.
    pub workload: String,
    /// The variant or mix.
    pub variant: String,
    /// The log protocol.
    pub protocol: String,
    /// The concurrency control.
    pub cc: String,
    /// Log streams.
    pub streams: u32,
    /// Threads that executed transactions.
    pub workers: u32,
    /// Measured time, to the last acknowledgement.
    pub seconds: f64,
    /// Transactions that committed. In a crash test: that were acknowledged, since the killed process cannot tell.
    pub committed: u64,
    /// Outcomes that were acknowledged, rollbacks included.
    pub acknowledged: u64,
    /// Conflicts: executions that were undone and tried again.
    pub aborted: u64,
    /// Transactions that rolled back because their request said so.
    pub rolled_back: u64,
    /// Acknowledged transactions per second.
    pub txn_per_s: f64,
    /// `durable` or `relaxed`.
    pub durability: String,
    /// Whether each commit was waited for before the next transaction.
    pub blocking: bool,
    /// How many calls a worker handed over at a time.
    pub batch: usize,
    /// Transactions per second asked for; none: as many as possible.
    pub rate: Option<f64>,
    /// From start, or due time with a rate, to acknowledgement. None in a crash test.
    pub latency_us: Option<Percentiles>,
    /// One in so many transactions was timed.
    pub latency_every: u32,
    /// Log bytes per acknowledged transaction, padding and headers included.
    pub log_bytes_per_txn: f64,
    /// Log bytes of the run.
    pub log_bytes: u64,
    /// Device syncs of the run; of a crash test, batches in the log that was recovered last: each took one sync.
    pub syncs: u64,
    /// Log bytes of the run by stream.
    pub stream_bytes: Vec<u64>,
    /// Device syncs of the run by stream.
    pub stream_syncs: Vec<u64>,
    /// Checkpoints during the run.
    pub checkpoints: CheckpointCounters,
    /// Seconds of the run, and how many transactions were acknowledged by then, where that is wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<(f64, u64)>,
    /// Committed transactions by type.
    pub transactions: BTreeMap<String, u64>,
    /// New-Order transactions per minute (TPC-C's measure, without its other rules).
    pub new_order_per_minute: Option<f64>,
    /// The load that preceded the run.
    pub load: Option<LoadFigures>,
    /// The recovery that opened the database; in a crash test the last one.
    pub recovery: Option<RecoveryFigures>,
    /// Acknowledged facts that were missing after a crash; none where nothing crashed.
    pub lost: Option<u64>,
    /// Whether the workload's consistency conditions held; none where they were not checked.
    pub consistent: Option<bool>,
    /// Crashes and recoveries; none where nothing crashed.
    pub rounds: Option<u32>,
    /// In all rounds.
    pub kills: Kills,
    /// One entry per crash.
    pub round_details: Vec<RoundFigures>,
    /// What scans at snapshots did beside the run; none where there were none.
    pub snapshot_scans: Option<ScanFigures>,
    /// Calls of procedures since the database was opened.
    pub calls: CallFigures,
    /// Resident memory.
    pub memory: MemoryFigures,
    /// The build.
    pub git_commit: &'static str,
    /// The program's version.
    pub version: &'static str,
    /// Where it ran.
    pub machine: Machine,
    /// All settings.
    pub configuration: BTreeMap<String, String>,
}

/// What loading took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadFigures {
    /// Until all rows were durable.
    pub seconds: f64,
    /// Rows.
    pub rows: u64,
}

/// What a recovery took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecoveryFigures {
    /// All of it.
    pub seconds: f64,
    /// Bytes of log that were read.
    pub log_bytes: u64,
    /// Over all of it.
    pub log_bytes_per_s: f64,
    /// The batches in them.
    pub batches: u64,
    /// Log records that were read.
    pub records: u64,
    /// Over all of it.
    pub records_per_s: f64,
    /// Log streams of a generation, on average over those that were read, rounded up.
    pub streams: u32,
    /// Generations that were read: one for each time the database was open.
    pub generations: u32,
    /// Records that were replayed.
    pub replayed: u64,
    /// Records of transactions that did not count as committed.
    pub discarded: u64,
    /// Row images and deletes in the replayed records.
    pub writes: u64,
    /// Commands that did something else than before, which was accepted: each in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// Seconds by stage.
    pub phases: BTreeMap<String, f64>,
    /// Transactions that had still to run again when the database was open.
    pub left: u64,
    /// Transactions that several threads ran at once.
    pub at_once: u64,
    /// Planning which these are, by procedures, in seconds; others run meanwhile.
    pub planned_seconds: f64,
    /// How long the threads that run them had nothing to run, all together, in seconds.
    pub waited_seconds: f64,
    /// How the rows of the log were replayed, up to the first call in it.
    pub rows: String,
    /// What the threads did in the steps that replay.
    pub thread_seconds: ThreadSeconds,
}

/// What the threads of a recovery did while they replayed, all together, in seconds (PACMAN, section 6.3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ThreadSeconds {
    /// They read and checked the log.
    pub loading: f64,
    /// They planned what may be run at once, on a thread of its own.
    pub analysis: f64,
    /// They waited for each other.
    pub scheduling: f64,
    /// They installed rows, built indexes and ran calls again.
    pub execution: f64,
}

/// One crash.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundFigures {
    /// From 1.
    pub round: u32,
    /// Until the kill.
    pub seconds: f64,
    /// Transactions acknowledged before it.
    pub acknowledged: u64,
    /// The kill that ended it, and perhaps another one soon after the start of the next.
    pub kills: Kills,
    /// Acknowledged facts looked for.
    pub looked_for: u64,
    /// Those not found.
    pub lost: u64,
    /// Whether the consistency conditions held.
    pub consistent: bool,
    /// The recovery.
    pub recovery: RecoveryFigures,
}

/// When processes were killed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Kills {
    /// All.
    pub total: u32,
    /// While a checkpoint was being written.
    pub in_checkpoint: u32,
    /// While they recovered.
    pub in_recovery: u32,
}

impl Kills {
    /// Adds others.
    pub fn add(&mut self, others: Kills) {
        self.total += others.total;
        self.in_checkpoint += others.in_checkpoint;
        self.in_recovery += others.in_recovery;
    }
}

/// Calls of procedures, and what they make of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallFigures {
    /// How long a recovery would take to replay the log, where commands are logged.
    pub recovery_debt_seconds: Option<f64>,
    /// What that is to be at most.
    pub recovery_target_seconds: Option<f64>,
    /// By name and version.
    pub procedures: Vec<ProcedureMetrics>,
}

/// Resident memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryFigures {
    /// When the run began, after loading.
    pub start_bytes: u64,
    /// When it ended.
    pub end_bytes: u64,
    /// At most, loading included.
    pub peak_bytes: u64,
    /// What the database accounted for when it ended, of which `memory_limit` speaks.
    pub accounted: AccountedFigures,
}

/// Memory as the database accounts for it, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AccountedFigures {
    /// Row images, those that wait for their last reader included.
    pub rows: u64,
    /// Keys with their headers.
    pub keys: u64,
    /// Nodes of the ordered indexes.
    pub nodes: u64,
    /// Row images kept for a checkpoint.
    pub retained: u64,
    /// All of it.
    pub total: u64,
    /// At most.
    pub peak: u64,
}

impl Report {
    /// Facts about the build and the machine, everything else empty.
    pub fn new(workload: &str) -> Report {
        Report {
            workload: workload.to_owned(),
            variant: String::new(),
            protocol: String::new(),
            cc: String::new(),
            streams: 0,
            workers: 0,
            seconds: 0.0,
            committed: 0,
            acknowledged: 0,
            aborted: 0,
            rolled_back: 0,
            txn_per_s: 0.0,
            durability: String::new(),
            blocking: false,
            batch: 1,
            rate: None,
            latency_us: None,
            latency_every: 1,
            log_bytes_per_txn: 0.0,
            log_bytes: 0,
            syncs: 0,
            stream_bytes: Vec::new(),
            stream_syncs: Vec::new(),
            checkpoints: CheckpointCounters::default(),
            timeline: Vec::new(),
            transactions: BTreeMap::new(),
            new_order_per_minute: None,
            load: None,
            recovery: None,
            lost: None,
            consistent: None,
            rounds: None,
            kills: Kills::default(),
            round_details: Vec::new(),
            snapshot_scans: None,
            calls: CallFigures::default(),
            memory: MemoryFigures::default(),
            git_commit: GIT_COMMIT,
            version: env!("CARGO_PKG_VERSION"),
            machine: Machine::detect(),
            configuration: BTreeMap::new(),
        }
    }

    /// Whether nothing was lost and nothing is inconsistent.
    pub fn is_sound(&self) -> bool {
        self.lost.unwrap_or(0) == 0 && self.consistent.unwrap_or(true)
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report has string keys and finite numbers")
    }
}

/// The summary for people.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, text: String| writeln!(f, "{name:>14}  {text}");
        let is_crash_test = self.rounds.is_some();
        if let Some(load) = self.load.filter(|_| !is_crash_test) {
            line("loaded", format!("{} rows in {:.1} s", count(load.rows), load.seconds))?;
        }
        let how = match (self.rounds, self.durability.as_str()) {
            (Some(rounds), _) => format!("acknowledged transactions before {}", plural(rounds, "kill")),
            _ if self.protocol == "none" => "transactions, not logged: a crash loses all of them".to_owned(),
            (None, "durable") => "acknowledged transactions, durable".to_owned(),
            (None, durability) => format!("transactions, {durability}: a crash may lose the last of them"),
        };
        line("ran", format!("{:.1} s, {} {how}", self.seconds, count(self.acknowledged)))?;
        if is_crash_test {
            let Kills { total, in_checkpoint, in_recovery } = self.kills;
            line("kills", format!("{total}, {in_checkpoint} in a checkpoint, {in_recovery} in a recovery"))?;
        } else {
            line("throughput", format!("{} per second", count(self.txn_per_s as u64)))?;
        }
        if let Some(rate) = self.new_order_per_minute {
            line("new orders", format!("{} per minute", count(rate as u64)))?;
        }
        if !is_crash_test {
            line("conflicts", format!("{} ({} rolled back)", count(self.aborted), count(self.rolled_back)))?;
        }
        if let Some(Percentiles { p50, p99, p999, max }) = self.latency_us {
            let [p50, p99, p999, max] = [p50, p99, p999, max].map(micros);
            let sampled =
                if self.latency_every > 1 { format!(", 1 in {} timed", self.latency_every) } else { String::new() };
            line("acknowledged", format!("p50 {p50}, p99 {p99}, p99.9 {p999}, max {max}{sampled}"))?;
        }
        if self.log_bytes > 0 && !is_crash_test {
            let per_txn = format!("{:.0} bytes per transaction", self.log_bytes_per_txn);
            line("log", format!("{}, {per_txn}, {} syncs", bytes(self.log_bytes), count(self.syncs)))?;
            if self.stream_bytes.len() > 1 {
                let each: Vec<_> = self.stream_bytes.iter().map(|n| bytes(*n)).collect();
                line("streams", each.join(", "))?;
            }
        }
        let CheckpointCounters { taken, failed, bytes: written, active_seconds } = self.checkpoints;
        if active_seconds > 0.0 {
            let failed = if failed > 0 { format!(", {failed} FAILED") } else { String::new() };
            let share = 100.0 * (active_seconds / self.seconds.max(1e-9)).min(1.0);
            line("checkpoints", format!("{taken} ({}){failed}, {share:.0} % of the time", bytes(written)))?;
        }
        let scans = self.snapshot_scans.map(|scans| ("scans", scans.to_string()));
        scans.into_iter().chain(self.calls.lines()).try_for_each(|(name, text)| line(name, text))?;
        if let Some(recovery) = &self.recovery {
            line("recovery", recovery.to_string())?;
        }
        if let Some(lost) = self.lost {
            line("lost", if lost == 0 { "0".to_owned() } else { format!("{lost}: DURABILITY IS BROKEN") })?;
        }
        if let Some(consistent) = self.consistent {
            line("consistent", if consistent { "yes".to_owned() } else { "NO".to_owned() })?;
        }
        let MemoryFigures { start_bytes, end_bytes, peak_bytes, accounted } = self.memory;
        let memory = [start_bytes, end_bytes, peak_bytes].map(bytes);
        line("memory", format!("{} at the start, {} at the end, {} at most", memory[0], memory[1], memory[2]))?;
        if accounted.total > 0 {
            let AccountedFigures { rows, keys, nodes, retained, total, .. } = accounted;
            let [rows, keys, nodes, retained, total] = [rows, keys, nodes, retained, total].map(bytes);
            line(
                "accounted",
                format!("{total}: rows {rows}, keys {keys}, index nodes {nodes}, for checkpoints {retained}"),
            )?;
        }
        Ok(())
    }
}

impl CallFigures {
    /// What it has to say to people, by name.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines: Vec<_> = self.procedures.iter().map(|of| ("procedure", of.to_string())).collect();
        if let (Some(debt), Some(target)) = (self.recovery_debt_seconds, self.recovery_target_seconds) {
            lines.push(("debt", format!("a recovery would replay for about {debt:.1} s; the target is {target:.0} s")));
        }
        lines
    }
}

impl fmt::Display for ScanFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScanFigures { threads, scans, rows_per_s, oldest_seconds, kept_bytes_peak, ended, .. } = *self;
        let (scans, rows) = (count(scans), count(rows_per_s as u64));
        write!(f, "{scans} by {}, {rows} rows per second", plural(threads, "thread"))?;
        write!(f, "; the oldest snapshot was {oldest_seconds:.2} s old, {} kept at most", bytes(kept_bytes_peak))?;
        if ended > 0 { write!(f, "; {} ended by limits", count(ended)) } else { Ok(()) }
    }
}

impl fmt::Display for RecoveryFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of log in {:.2} s ({}/s, {} records/s)",
            bytes(self.log_bytes),
            self.seconds,
            bytes(self.log_bytes_per_s as u64),
            count(self.records_per_s as u64)
        )
    }
}

/// A number with separators: 1,234,567.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: 1 kill, 2 kills.
pub fn plural(number: u32, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A number of bytes with three digits: 1.23 GB.
pub fn bytes(number: u64) -> String {
    let mut value = number as f64;
    let mut text = String::new();
    for unit in ["bytes", "KB", "MB", "GB", "TB"] {
        if value < 999.5 || unit == "TB" {
            let digits = if unit == "bytes" || value >= 99.95 {
                0
            } else if value >= 9.995 {
                1
            } else {
                2
            };
            write!(text, "{value:.digits$} {unit}").expect("writing to a string");
            break;
        }
        value /= 1000.0;
    }
    text
}

/// Microseconds, or milliseconds where there are thousands.
fn micros(us: f64) -> String {
    if us < 1000.0 { format!("{us:.0} us") } else { format!("{:.1} ms", us / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 12, 123, 1234, 1_234_567].map(count), ["0", "12", "123", "1,234", "1,234,567"]);
        let sizes = [0, 999, 1000, 12_345, 123_456, 1_234_567_890].map(bytes);
        assert_eq!(sizes, ["0 bytes", "999 bytes", "1.00 KB", "12.3 KB", "123 KB", "1.23 GB"]);
        assert_eq!([1.0, 999.4, 1500.0].map(micros), ["1 us", "999 us", "1.5 ms"]);
    }

    #[test]
    fn the_keys_that_others_script_against_are_there() {
        let mut report = Report::new("ycsb");
        report.recovery = Some(RecoveryFigures::default());
        report.latency_us = Some(Percentiles::default());
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        let keys = "workload protocol cc streams workers seconds committed acknowledged aborted txn_per_s latency_us \
            log_bytes_per_txn log_bytes syncs recovery lost consistent rounds";
        assert!(keys.split_whitespace().all(|key| json.get(key).is_some()), "{json}");
        let keys = "seconds log_bytes log_bytes_per_s records records_per_s streams";
        assert!(keys.split_whitespace().all(|key| json["recovery"].get(key).is_some()), "{json}");
        assert!("p50 p99 p999 max".split_whitespace().all(|key| json["latency_us"].get(key).is_some()), "{json}");
    }

    #[test]
    fn losses_are_not_sound() {
        let mut report = Report::new("ycsb");
        assert!(report.is_sound());
        report.lost = Some(1);
        assert!(!report.is_sound() && report.to_string().contains("BROKEN"));
        report.lost = Some(0);
        report.consistent = Some(false);
        assert!(!report.is_sound());
    }
}
