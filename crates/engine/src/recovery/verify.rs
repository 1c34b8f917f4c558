//! Verification for people: whether every byte is sound that an open would rely on, and what is there.
//!
//! The log is read and judged by a dry run of recovery (dry_run.rs), the checkpoint block by block.

use std::fmt;
use std::path::PathBuf;

use super::base::Base;
use super::cut::Verdict;
use super::dry_run;
use super::first_pass::ScannedLog;
use crate::checkpoint::loader;
use crate::config::{Config, Protocol};
use crate::directory;
use crate::error::RecoveryError;
use crate::ids::{DatabaseId, Epoch, Generation, LogOffset, Stamp, StreamId};
use crate::units::{bytes, count};

/// What a database's files hold.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyReport {
    /// The database.
    pub database: DatabaseId,
    /// Whether it was closed.
    pub clean: bool,
    /// The checkpoint that recovery begins with, and its rows.
    pub checkpoint: Option<(u64, u64)>,
    /// Every generation that may hold records, oldest first.
    pub generations: Vec<GenerationReport>,
    /// How long reading took, in seconds.
    pub seconds: f64,
}

/// What one generation holds.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerationReport {
    /// Its number.
    pub generation: Generation,
    /// Its protocol.
    pub protocol: Protocol,
    /// Whether its end is written down in the manifest.
    pub frozen: bool,
    /// Which transactions count as committed.
    pub cut: Stamp,
    /// The greatest stamp in it.
    pub max_seen: Stamp,
    /// The greatest epoch in it.
    pub max_epoch: Epoch,
    /// Bytes of whole batches.
    pub log_bytes: u64,
    /// Batches.
    pub batches: u64,
    /// Transactions.
    pub records: u64,
    /// Of these, how many are commands that live.
    pub commands: u64,
    /// Transactions beyond the cut.
    pub discarded: u64,
    /// Transactions after an epoch to which the database was taken back.
    pub given_up: u64,
    /// Its streams.
    pub streams: Vec<StreamReport>,
}

/// What one stream of a generation holds.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamReport {
    /// The stream.
    pub stream: StreamId,
    /// Where it lies.
    pub directory: PathBuf,
    /// Its segment files.
    pub segments: usize,
    /// The last stamp that is durable in it.
    pub durable: Stamp,
    /// The end of its last batch.
    pub end: LogOffset,
    /// Whether that batch was cut off by a crash.
    pub torn: bool,
}

/// Reads the database in the configured directories and checks every byte that an open would rely on. What rows mean, it does not
/// ask: an open also reads the catalog and checks rows against it.
///
/// # Errors
/// What an open would fail with before it looks at rows, also where another process has the database open.
pub fn verify(config: &Config) -> Result<VerifyReport, RecoveryError> {
    let _locks = directory::lock_to_read(config)?;
    verify_locked(config)
}

/// As [`verify`], for whoever holds the locks of the directories.
pub(crate) fn verify_locked(config: &Config) -> Result<VerifyReport, RecoveryError> {
    let dry_run::DryRun { manifest, scanned, verdicts, seconds, .. } = &dry_run::run(config, |_| Base::default())?;
    let (disk, clock) = (&*config.environment.disk, &config.environment.clock);
    let (started, checkpoint) = (clock.now(), Base::of(manifest).checkpoint);
    if let Some(entry) = &checkpoint {
        loader::check(disk, &config.dirs[0], manifest, entry)?;
    }
    let reports = verdicts.iter().enumerate().map(|(index, verdict)| describe(scanned, index, verdict));
    Ok(VerifyReport {
        database: manifest.database,
        clean: manifest.is_closed(),
        checkpoint: checkpoint.map(|entry| (entry.number, entry.rows)),
        generations: reports.collect(),
        seconds: *seconds + clock.now().saturating_sub(started).as_secs_f64(),
    })
}

/// Returns what is known of the generation at `index`.
fn describe(scanned: &ScannedLog, index: usize, verdict: &Verdict) -> GenerationReport {
    let (generation, tally) = (&scanned.scan.generations[index], &scanned.tallies[index]);
    let stream = |(stream, verdict): (usize, &super::cut::StreamVerdict)| {
        let chain = &generation.streams[stream].chain;
        StreamReport {
            stream: chain.log.stream(),
            directory: chain.directory.clone(),
            segments: chain.segments.len(),
            durable: verdict.durable,
            end: verdict.end,
            torn: verdict.tail.as_ref().is_some_and(|tail| tail.torn.is_some()),
        }
    };
    GenerationReport {
        generation: generation.layout.generation,
        protocol: generation.layout.protocol,
        frozen: generation.frozen.is_some(),
        cut: verdict.cut,
        max_seen: verdict.max_seen,
        max_epoch: verdict.max_epoch,
        log_bytes: tally.bytes,
        batches: tally.batches,
        records: tally.records,
        commands: tally.commands,
        discarded: tally.beyond_cut(),
        given_up: tally.given_up,
        streams: verdict.streams.iter().enumerate().map(stream).collect(),
    }
}

impl VerifyReport {
    /// Bytes of log in all generations.
    pub fn log_bytes(&self) -> u64 {
        self.generations.iter().map(|generation| generation.log_bytes).sum()
    }

    /// Transactions in all generations.
    pub fn records(&self) -> u64 {
        self.generations.iter().map(|generation| generation.records).sum()
    }
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.clean { "closed" } else { "not closed" };
        writeln!(f, "database {:032x}, {state}: sound", self.database.0)?;
        if let Some((number, rows)) = self.checkpoint {
            writeln!(f, "  checkpoint {number}: {rows} rows")?;
        }
        for generation in &self.generations {
            write!(f, "{generation}")?;
        }
        write!(f, "{} in {}, read in {:.3} s", count(self.records(), "record"), bytes(self.log_bytes()), self.seconds)
    }
}

impl fmt::Display for GenerationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.frozen { "frozen" } else { "crashed" };
        writeln!(
            f,
            "  generation {} ({:?}, {state}): cut {}, greatest stamp {}, greatest epoch {}",
            self.generation, self.protocol, self.cut, self.max_seen, self.max_epoch
        )?;
        let commands = if self.commands > 0 { format!("{} of them commands, ", self.commands) } else { String::new() };
        let given_up = if self.given_up > 0 { format!(", {} given up", self.given_up) } else { String::new() };
        writeln!(
            f,
            "    {} ({commands}{} beyond the cut{given_up}) in {}, {}",
            count(self.records, "record"),
            self.discarded,
            count(self.batches, "batch"),
            bytes(self.log_bytes)
        )?;
        for stream in &self.streams {
            let torn = if stream.torn { ", its last batch torn" } else { "" };
            writeln!(
                f,
                "    stream {}: {} in {}, durable up to stamp {}, ends at {}{torn}",
                stream.stream,
                count(stream.segments as u64, "segment"),
                stream.directory.display(),
                stream.durable,
                stream.end
            )?;
        }
        Ok(())
    }
}
