//! Recovery's first three steps alone: reads and judges a database without opening it, and writes nothing.
//!
//! The same checkpoint, scan and cut as in [`super::run`]; a sound report means that an open would succeed and what it would
//! find. The database must not be open meanwhile: a log that grows looks torn.

use std::fmt;
use std::path::PathBuf;

use super::base::Base;
use super::cut::Verdict;
use super::{Found, RecoveryError, find_generations, judge_all, scan_all, schedule, until};
use crate::checkpoint::loader;
use crate::config::{Config, Protocol};
use crate::ids::{DatabaseId, Epoch, Generation, LogOffset, Stamp, StreamId, WallTime};
use crate::persist::manifest::Manifest;

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
    /// Transactions beyond the cut.
    pub discarded: u64,
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

/// Reads the database in the configured directories and checks every byte that an open would rely on.
///
/// # Errors
/// What an open would fail with.
pub fn verify(config: &Config) -> Result<VerifyReport, RecoveryError> {
    let examined = examine(config, |_| Base::default())?;
    let Examined { manifest, found, verdicts, seconds, .. } = &examined;
    let (disk, clock) = (&*config.environment.disk, &config.environment.clock);
    let (started, checkpoint) = (clock.now(), Base::of(manifest).checkpoint);
    if let Some(entry) = &checkpoint {
        loader::check(disk, &config.dirs[0], manifest, entry)?;
    }
    let reports = verdicts.iter().enumerate().map(|(index, verdict)| describe(found, index, verdict));
    Ok(VerifyReport {
        database: manifest.database,
        clean: manifest.is_closed(),
        checkpoint: checkpoint.map(|entry| (entry.number, entry.rows)),
        generations: reports.collect(),
        seconds: *seconds + clock.now().saturating_sub(started).as_secs_f64(),
    })
}

/// What reading and judging found.
pub(super) struct Examined {
    pub(super) manifest: Manifest,
    /// With every record counted as what becomes of it.
    pub(super) found: Found,
    pub(super) verdicts: Vec<Verdict>,
    /// The epoch that the configuration asks for.
    pub(super) until: Epoch,
    pub(super) seconds: f64,
}

/// Reads and judges what recovery would; `base` says which records it skips.
pub(super) fn examine(config: &Config, base: impl FnOnce(&Manifest) -> Base) -> Result<Examined, RecoveryError> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let manifest = Manifest::load(disk, home, &config.dirs)?;
    let mut manifest = manifest.ok_or_else(|| RecoveryError::NoDatabase { path: home.to_owned() })?;
    manifest.relocate(disk, &config.dirs)?;
    let base = base(&manifest);
    examine_with(config, manifest, base)
}

/// What recovery would make of the files of `manifest`: the cut, and the greatest epoch in the log.
pub(crate) fn judge_image(config: &Config, manifest: &Manifest) -> Result<(Stamp, Epoch), RecoveryError> {
    let examined = examine_with(config, manifest.clone(), Base::of(manifest))?;
    let cut = examined.verdicts.last().map_or(manifest.current.floor, |verdict| verdict.cut);
    Ok((cut, examined.found.total().max_epoch))
}

fn examine_with(config: &Config, manifest: Manifest, base: Base) -> Result<Examined, RecoveryError> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let until = until::resolve(config, &manifest)?;
    let started = config.environment.clock.now();
    let generations = find_generations(disk, home, &manifest, until)?;
    let mut found = scan_all(config, generations, base, WallTime(u64::MAX), None)?;
    let verdicts = judge_all(&found)?;
    let crashed = verdicts.last().filter(|_| !manifest.is_closed());
    let (deferred, threads) = (std::mem::take(&mut found.deferred), std::mem::take(&mut found.replayers));
    let (late, _) = schedule::replay_deferred(config, &found.scan, deferred, crashed, threads)?;
    if let Some(last) = found.tallies.last_mut() {
        last.add(&late);
    }
    let seconds = config.environment.clock.now().saturating_sub(started).as_secs_f64();
    Ok(Examined { manifest, found, verdicts, until, seconds })
}

fn describe(found: &Found, index: usize, verdict: &Verdict) -> GenerationReport {
    let (generation, tally) = (&found.scan.generations[index], &found.tallies[index]);
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
        discarded: tally.records - tally.replayed,
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
        let mib = self.log_bytes() as f64 / (1 << 20) as f64;
        writeln!(f, "database {:032x}, {state}: sound", self.database.0)?;
        if let Some((number, rows)) = self.checkpoint {
            writeln!(f, "  checkpoint {number}: {rows} rows")?;
        }
        for generation in &self.generations {
            write!(f, "{generation}")?;
        }
        write!(f, "{} records in {mib:.1} MiB, read in {:.3} s", self.records(), self.seconds)
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
        writeln!(
            f,
            "    {} records ({} beyond the cut) in {} batches, {} bytes",
            self.records, self.discarded, self.batches, self.log_bytes
        )?;
        for stream in &self.streams {
            let torn = if stream.torn { ", its last batch torn" } else { "" };
            writeln!(
                f,
                "    stream {}: {} segments in {}, durable up to stamp {}, ends at {}{torn}",
                stream.stream,
                stream.segments,
                stream.directory.display(),
                stream.durable,
                stream.end
            )?;
        }
        Ok(())
    }
}
