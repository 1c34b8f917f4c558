//! Recovery's first steps alone: reads and judges a database without opening it, and writes nothing.
//!
//! The same scan, cut and fate of every record as in [`super::run`], so that a sound result means that an open would succeed
//! and what it would find. The database is locked meanwhile: a log that grows looks torn.

use super::base::Base;
use super::cut::Verdict;
use super::first_pass::ScannedLog;
use super::{find_generations, read_and_judge, until};
use crate::config::Config;
use crate::directory;
use crate::directory::manifest::Manifest;
use crate::error::RecoveryError;
use crate::ids::{Epoch, Stamp, WallTime};

/// What reading and judging came to.
pub(super) struct DryRun {
    pub(super) manifest: Manifest,
    /// With every record counted as what becomes of it.
    pub(super) scanned: ScannedLog,
    /// By generation.
    pub(super) verdicts: Vec<Verdict>,
    /// The epoch that the configuration asks for.
    pub(super) until: Epoch,
    pub(super) seconds: f64,
}

/// Reads and judges what recovery would; `base` says which records it skips.
pub(super) fn run(config: &Config, base: impl FnOnce(&Manifest) -> Base) -> Result<DryRun, RecoveryError> {
    directory::refuse_unfinished(config)?;
    let manifest = directory::find(config)?;
    let manifest = manifest.ok_or_else(|| RecoveryError::NoDatabase { path: config.dirs[0].clone() })?;
    let base = base(&manifest);
    run_with(config, manifest, base)
}

/// What recovery would make of an image.
pub(crate) struct Judged {
    /// The cut of the newest generation.
    pub(crate) cut: Stamp,
    /// The greatest stamp in its log, discarded records included.
    pub(crate) max_seen: Stamp,
    /// The greatest epoch in the log.
    pub(crate) max_epoch: Epoch,
}

/// Returns what recovery would make of the files of `manifest`.
pub(crate) fn judge_image(config: &Config, manifest: &Manifest) -> Result<Judged, RecoveryError> {
    let dry_run = run_with(config, manifest.clone(), Base::of(manifest))?;
    let floor = manifest.current.floor;
    let (cut, max_seen) = dry_run.verdicts.last().map_or((floor, floor), |verdict| (verdict.cut, verdict.max_seen));
    Ok(Judged { cut, max_seen, max_epoch: dry_run.scanned.total().max_epoch })
}

/// Reads and judges the files of `manifest`, without the records that `base` covers.
fn run_with(config: &Config, manifest: Manifest, base: Base) -> Result<DryRun, RecoveryError> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let until = until::resolve(config, &manifest)?;
    let started = config.environment.clock.now();
    let generations = find_generations(disk, home, &manifest, until)?;
    let (scanned, verdicts) = read_and_judge(config, &manifest, generations, base, WallTime(u64::MAX))?;
    let seconds = config.environment.clock.now().saturating_sub(started).as_secs_f64();
    Ok(DryRun { manifest, scanned, verdicts, until, seconds })
}
