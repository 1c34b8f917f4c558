//! What a recovery would do, before it does anything: [`explain`] reads and judges, and writes nothing.
//!
//! Invariant: the plan is made by recovery's own scan and cut over the same files (dry_run.rs), so that the
//! recovery that follows does what the plan says, if nobody writes to the files in between.
//!
//! The estimates are as good as what they rest on, which [`RecoveryPlan`] says in print.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::base::Base;
use super::dry_run::{self, DryRun};
use super::ordered::{self, Foreseen};
use super::ordered_log;
use super::tally::Tally;
use crate::checkpoint::{CheckpointStatus, files};
use crate::config::{Config, Protocol};
use crate::directory::manifest::NEVER;
use crate::directory::{self, DatabaseState, TakenBack};
use crate::error::RecoveryError;
use crate::units::{bytes, count};

/// What a row costs beside its key and its bytes: record, version and its share of index nodes. 22 M rows of TPC-C, 3.8 GB with
/// their keys, took 7.1 GB.
const ROW_OVERHEAD_BYTES: u64 = 160;
/// How fast a checkpoint is loaded where nothing was measured: 4.1 GB of such rows in 5 s on two cores.
const CHECKPOINT_BYTES_PER_SECOND: f64 = 800e6;

/// A recovery that has not happened.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RecoveryPlan {
    /// The database.
    pub database: String,
    /// How it was left.
    pub state: DatabaseState,
    /// What it begins with; `None`: with the log alone.
    pub checkpoint: Option<CheckpointStatus>,
    /// Checkpoints on disk that no manifest names: they were never complete, or are superseded. Recovery removes them.
    pub unnamed_checkpoints: Vec<u64>,
    /// The logs to read, oldest first.
    pub generations: Vec<PlannedGeneration>,
    /// The epoch that the database is taken back to.
    pub until: Option<u64>,
    /// What it was taken back to before.
    pub taken_back: Vec<TakenBack>,
    /// Segment files to read.
    pub segments: u64,
    /// Bytes of whole batches in them.
    pub log_bytes: u64,
    /// Transactions in them.
    pub records: u64,
    /// Transactions to replay.
    pub replayed: u64,
    /// Of these, how many are commands, which are run again.
    pub commands: u64,
    /// Of those to replay, how many are run again in their order: those of the first generation that logs commands and of all
    /// that follow it.
    pub ordered: u64,
    /// Of these the longest chain of which each waits for the one before it: what no number of threads goes below. All of
    /// them where that is not known.
    pub chained: u64,
    /// Whether several are run at once as their procedures and arguments allow, so that the chain is not known beforehand.
    pub by_procedures: bool,
    /// Transactions whose effects the checkpoint holds.
    pub covered: u64,
    /// Transactions beyond a cut, which nobody was told of.
    pub beyond_cut: u64,
    /// Transactions that count so far, of later epochs than the one that the database is taken back to.
    pub after: u64,
    /// Transactions that were given up when the database was taken back before.
    pub given_up: u64,
    /// The first and the last epoch in the log; `None` where it holds no record.
    pub epochs: Option<(u64, u64)>,
    /// When the last batch was closed; `None` where that is not known.
    pub closed: Option<String>,
    /// At most so much memory for the rows.
    pub memory_bytes: u64,
    /// How long it may take.
    pub seconds: f64,
}

/// A generation to read.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PlannedGeneration {
    /// Its number.
    pub generation: u64,
    /// Its protocol.
    pub protocol: Protocol,
    /// Whether its end is written down already.
    pub frozen: bool,
    /// Transactions count up to this stamp, and above it as far as the protocol lets them.
    pub cut: u64,
    /// The greatest stamp in it.
    pub max_seen: u64,
    /// The greatest epoch in it.
    pub max_epoch: u64,
    /// Its streams.
    pub streams: Vec<PlannedStream>,
}

/// A stream to read.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PlannedStream {
    /// The stream.
    pub stream: u32,
    /// Where it lies.
    pub directory: PathBuf,
    /// Its segment files.
    pub segments: u64,
    /// The last stamp that is durable in it.
    pub durable: u64,
    /// Where its last batch ends.
    pub end: u64,
    /// What is wrong with its last batch, where a crash cut that off.
    pub torn: Option<String>,
}

/// Plans the recovery of the database in the configured directories, to the epoch or time that the configuration asks for.
///
/// # Errors
/// What the recovery would fail with. Only the parts of the checkpoint are not read.
pub fn explain(config: &Config) -> Result<RecoveryPlan, RecoveryError> {
    let _locks = directory::lock_to_read(config)?;
    let dry_run = dry_run::run(config, Base::of)?;
    let (manifest, total) = (&dry_run.manifest, dry_run.scanned.total());
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let now = config.environment.clock.wall().into();
    let entry = manifest.checkpoints.last();
    let loaded = entry.map_or(0, |entry| entry.raw_bytes);
    let rows = entry.map_or(0, |entry| entry.rows) + total.writes;
    let replay = dry_run.seconds * if total.records > 0 { 2.0 } else { 1.0 };
    let log = ordered_log(&dry_run.scanned, &dry_run.verdicts, &Tally::default());
    let foreseen = log.map_or(Ok(Foreseen::default()), |log| ordered::foresee(config, &log))?;
    Ok(RecoveryPlan {
        database: format!("{:032x}", manifest.database.0),
        state: DatabaseState::of(manifest),
        checkpoint: entry.map(|entry| CheckpointStatus::of(entry, now)),
        unnamed_checkpoints: files::unnamed(disk, home, manifest)?,
        generations: generations(&dry_run),
        taken_back: manifest.taken_back(),
        until: Some(dry_run.until).filter(|until| *until != NEVER).map(|until| until.0),
        segments: dry_run.scanned.scan.segments() as u64,
        log_bytes: total.bytes,
        records: total.records,
        replayed: total.replayed,
        commands: total.commands,
        ordered: foreseen.transactions,
        chained: foreseen.chained,
        by_procedures: foreseen.by_procedures,
        covered: total.covered,
        beyond_cut: total.beyond_cut(),
        after: total.after,
        given_up: total.given_up,
        epochs: (total.records > 0).then_some((total.min_epoch.0, total.max_epoch.0)),
        closed: (total.closed.0 > 0).then(|| total.closed.to_string()),
        memory_bytes: loaded + total.replayed_bytes + rows * ROW_OVERHEAD_BYTES,
        seconds: replay + loaded as f64 / CHECKPOINT_BYTES_PER_SECOND,
    })
}

/// Returns what is known of each generation.
fn generations(dry_run: &DryRun) -> Vec<PlannedGeneration> {
    let scans = dry_run.scanned.scan.generations.iter().zip(&dry_run.verdicts);
    let generation =
        |(scan, verdict): (&super::generation_scan::GenerationScan, &super::cut::Verdict)| PlannedGeneration {
            generation: scan.layout.generation.0,
            protocol: scan.layout.protocol,
            frozen: scan.frozen.is_some(),
            cut: verdict.cut.0,
            max_seen: verdict.max_seen.0,
            max_epoch: verdict.max_epoch.0,
            streams: scan.streams.iter().zip(&verdict.streams).map(|(scan, verdict)| stream(scan, verdict)).collect(),
        };
    scans.map(generation).collect()
}

/// Returns what is known of one stream.
fn stream(scan: &super::generation_scan::StreamScan, verdict: &super::cut::StreamVerdict) -> PlannedStream {
    let torn = verdict.tail.as_ref().and_then(|tail| tail.torn.as_ref().map(|torn| (tail, torn)));
    PlannedStream {
        stream: scan.chain.log.stream().0,
        directory: scan.chain.directory.clone(),
        segments: scan.chain.segments.len() as u64,
        durable: verdict.durable.0,
        end: verdict.end.0,
        torn: torn.map(|(tail, torn)| {
            let (kept, of) = (torn.record_bytes, tail.batch.header.record_bytes);
            format!("{kept} of the {of} bytes of its last batch are sound: {}", torn.what)
        }),
    }
}

impl fmt::Display for RecoveryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "database {}, {}", self.database, self.state)?;
        match &self.checkpoint {
            Some(checkpoint) => writeln!(f, "  begin    {checkpoint}; the newest one that the manifest names")?,
            None => writeln!(f, "  begin    with the log alone: no checkpoint was taken")?,
        }
        for number in &self.unnamed_checkpoints {
            writeln!(
                f,
                "           not checkpoint {number}, which no manifest names: it was never complete, or is superseded"
            )?;
        }
        writeln!(f, "  read     {} of log in {}", bytes(self.log_bytes), count(self.segments, "segment"))?;
        self.generations.iter().try_for_each(|generation| write!(f, "{generation}"))?;
        if let Some((first, last)) = self.epochs {
            let closed =
                self.closed.as_deref().map_or(String::new(), |time| format!(", the last batch closed at {time}"));
            writeln!(f, "  epochs   {first} to {last}{closed}")?;
        }
        self.taken_back.iter().try_for_each(|back| writeln!(f, "  before   {back} for ever"))?;
        if let Some(until) = self.until {
            writeln!(f, "  until    epoch {until}")?;
        }
        writeln!(
            f,
            "  replay   {} of {}{}; {} in the checkpoint",
            self.replayed,
            count(self.records, "transaction"),
            if self.commands > 0 { format!(", {} of them commands", self.commands) } else { String::new() },
            self.covered
        )?;
        if self.ordered > 0 {
            let how = if self.by_procedures {
                "as many at a time as their procedures and arguments allow".to_owned()
            } else if self.chained < self.ordered {
                format!("{:.1} at a time on average, by as many threads", self.ordered as f64 / self.chained as f64)
            } else {
                "one after the other".to_owned()
            };
            writeln!(f, "  order    {} run again, {how}", count(self.ordered, "transaction"))?;
        }
        if self.beyond_cut > 0 {
            let count = self.beyond_cut;
            writeln!(
                f,
                "  discard  {count} beyond the cut: what they rest on may be lost, and nobody was told that they are durable"
            )?;
        }
        if self.given_up > 0 {
            writeln!(f, "  discard  {} that were given up when the database was taken back before", self.given_up)?;
        }
        if self.after > 0 {
            writeln!(f, "  discard  {} of later epochs, for ever", self.after)?;
        }
        let memory = bytes(self.memory_bytes);
        writeln!(
            f,
            "  memory   up to {memory}, were every write another row: keys, rows and {ROW_OVERHEAD_BYTES} bytes for each"
        )?;
        write!(
            f,
            "  time     about {:.1} s: twice what reading the log just took, and \
             {} of checkpoint rows at {}/s; indexes{} come on top",
            self.seconds,
            bytes(self.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.raw_bytes)),
            bytes(CHECKPOINT_BYTES_PER_SECOND as u64),
            if self.commands > 0 { ", and what commands take to run," } else { "" },
        )
    }
}

impl fmt::Display for PlannedGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PlannedGeneration { generation, cut, max_seen, max_epoch, .. } = self;
        let state = if self.frozen { "ended, with the cut that was written down" } else { "crashed" };
        writeln!(
            f,
            "           generation {generation} {state}: cut {cut}, greatest stamp {max_seen}, greatest epoch {max_epoch}"
        )?;
        for PlannedStream { stream, directory, segments, durable, end, torn } in &self.streams {
            let torn = torn.as_deref().map_or(String::new(), |torn| format!("; torn, {torn}"));
            let directory = directory.display();
            writeln!(
                f,
                "             stream {stream} in {directory}: {}, durable up to {durable}, ends at {end}{torn}",
                count(*segments, "segment")
            )?;
        }
        Ok(())
    }
}
