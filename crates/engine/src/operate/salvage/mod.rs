//! Salvage: what a damaged database provably held, as a new database.
//!
//! ```text
//! consistent:  manifest -> checkpoint, whole -> sound prefix of every stream -> the oldest generation that is damaged ends
//!              there, with the cut that follows; later ones do not count -> recovery's own scan and replay -> new database
//! rows:        every sound block and record that is left, the newest version of each key -> new database
//! ```
//!
//! Invariants: V1 to V4 in docs/protocols.md. Besides, the damaged database is only read, and the target does not open until
//! everything is in it.
//!
//! Deliberately absent: salvage without a manifest other than of rows (the cuts of earlier generations are nowhere else), and
//! older checkpoints (none is kept).

mod damage;
mod export;
mod left_out;
mod origin;
mod parts;
mod prefix;
mod reach;
mod report;
mod rows;
mod sound;
mod unnamed;

use std::path::PathBuf;
use std::sync::Arc;

use osier_memory::Epochs;

pub use damage::Damage;
pub use reach::Reach;
pub use report::{LostRows, RowName, SalvageReport, SalvagedTable};
pub(in crate::operate) use sound::next_batch;
pub(in crate::operate) use unnamed::Unnamed;

use crate::call::{Procedures, Replayer};
use crate::checkpoint::files;
use crate::checkpoint::loader::PartReader;
use crate::config::{CheckpointKind, Config, Create};
use crate::directory::DirectoryError;
use crate::directory::manifest::Manifest;
use crate::error::{Error, SalvageError};
use crate::ids::Stamp;
use crate::recovery::verify::verify_locked;
use crate::recovery::workers;
use crate::table::store::Store;
use crate::{directory, recovery};

/// Writes what the database in the directories of `damaged` provably held to a new database in those of `target`, which are
/// empty or missing. With `rows` it writes every row that can still be read instead.
///
/// # Errors
/// [`Error::Salvage`] where no consistent state is proven; [`Error::Directory`] where another process has the database open, or,
/// without `rows`, where it is itself what a restore or a salvage left that did not end.
pub fn salvage(damaged: &Config, target: Config, rows: bool) -> Result<SalvageReport, Error> {
    salvage_with(damaged, target, rows, Procedures::new())
}

/// As [`salvage`], of a database whose log may have calls of functions: those of
/// [`Database::open_with`](crate::Database::open_with). With `rows` none is called.
///
/// # Errors
/// Those of [`salvage`]; [`Error::Recovery`] where the log needs a function that is not among `procedures`, or a call does
/// something else than before.
pub fn salvage_with(
    damaged: &Config,
    target: Config,
    rows: bool,
    procedures: Procedures,
) -> Result<SalvageReport, Error> {
    let (disk, home) = (&*damaged.environment.disk, &damaged.dirs[0]);
    for dir in &target.dirs {
        directory::refuse_overlap(disk, damaged.dirs.iter().map(PathBuf::as_path), dir)?;
        let is_there = disk.exists(dir).map_err(SalvageError::io("look for", dir))?;
        if is_there && directory::holds_anything(disk, dir)? {
            return Err(SalvageError::NotEmpty { path: dir.clone() }.into());
        }
    }
    let _locks = directory::lock_to_read(damaged)?;
    // One follows what commands have defined.
    let store = Store::new(Epochs::new(workers::sessions(workers::count(damaged)) + 1));
    let mut report = SalvageReport::new(home.clone(), target.dirs[0].clone(), !rows);
    match directory::refuse_unfinished(damaged) {
        // What is there may be read, but the report says that it is not all that there was.
        Err(unfinished @ DirectoryError::Unfinished { .. }) if rows => report.damage(home, None, unfinished),
        is_finished => is_finished?,
    }
    if rows {
        rows::read(damaged, &store, &mut report)?;
    } else {
        let manifest = provable(damaged, &mut report)?;
        let recovered = recovery::load(damaged, &manifest, &store, &mut Replayer::new(Arc::new(procedures)))?;
        (report.records, report.replayed) = (recovered.records, recovered.replayed);
        report.checkpoint = manifest.checkpoints.last().map(|entry| entry.number);
    }
    if report.damages.is_empty()
        && let Err(error) = verify_locked(damaged)
    {
        report.damages.push(Damage::of(home, &error));
    }
    export::write(&store, Config { create: Create::New, checkpoint_at_close: true, ..target }, &mut report)?;
    Ok(report)
}

/// A manifest whose frozen generations are what counts.
fn provable(damaged: &Config, report: &mut SalvageReport) -> Result<Manifest, Error> {
    let (disk, home) = (&*damaged.environment.disk, &damaged.dirs[0]);
    let (mut manifest, unnamed) = origin::provable(damaged, report)?;
    report.database = Some(manifest.database.to_string());
    let mut reach = manifest.checkpoints.last().and_then(Reach::of_checkpoint);
    let generations = manifest.frozen.len() + usize::from(!manifest.is_closed());
    for index in 0..generations {
        let judged = prefix::judge(disk, home, &manifest, index, &unnamed, report)?;
        let frozen = manifest.frozen.get(index);
        let layout = frozen.map_or(&manifest.current, |frozen| &frozen.layout);
        assert_eq!(judged.frozen.layout, *layout, "what was judged is the generation in question");
        assert_eq!(judged.frozen.streams.len(), layout.streams.len(), "an end for each stream");
        assert!(frozen.is_none_or(|frozen| judged.frozen.cut <= frozen.cut), "damage raises no cut");
        reach = reach.max(judged.reach);
        if judged.is_whole {
            continue;
        }
        report.left_out = judged.left_out;
        left_out::count(damaged, &manifest, &judged, report)?;
        let layouts = manifest.frozen.iter().map(|frozen| &frozen.layout).chain([&manifest.current]);
        let later =
            layouts.map(|layout| layout.generation.0).filter(|number| *number > judged.frozen.layout.generation.0);
        report.skipped_generations = later.collect();
        report.skipped_generations.dedup();
        assert!(report.skipped_generations.is_sorted(), "generations grow");
        report.cut = Some(judged.frozen.cut.0);
        manifest.frozen.truncate(index);
        manifest.frozen.push(judged.frozen);
        break;
    }
    report.reach = reach.map(|(epoch, time)| Reach::new(epoch, time));
    check_base(damaged, &manifest, &unnamed, report)?;
    Ok(manifest)
}

/// The checkpoint must be whole, and the cut must reach what a fuzzy one may hold.
fn check_base(
    damaged: &Config,
    manifest: &Manifest,
    unnamed: &Unnamed,
    report: &mut SalvageReport,
) -> Result<(), Error> {
    let (disk, home) = (&*damaged.environment.disk, &damaged.dirs[0]);
    let Some(entry) = manifest.checkpoints.last() else { return Ok(()) };
    for (path, part, length) in files::parts_of(home, manifest, entry) {
        if let Some((last, what)) = unnamed.last(&path) {
            report.damage(last, None, what);
        } else if let Err(error) = PartReader::read_all(disk, path.clone(), part, length) {
            report.damage(path, None, error);
        }
    }
    let refuse = |what| Err(SalvageError::NothingProven { path: home.clone(), what }.into());
    let cut = report.cut.map_or(Stamp::MAX, Stamp);
    match report.damages.iter().find(|damage| damage.path.extension().is_some_and(|extension| extension == "ckpt")) {
        Some(damage) => {
            refuse(format!("checkpoint {} is damaged ({}: {})", entry.number, damage.path.display(), damage.what))
        }
        None if entry.kind == CheckpointKind::Fuzzy && entry.max_seen > cut => {
            let what = "is fuzzy and may hold parts of transactions that are lost";
            refuse(format!("checkpoint {} {what}", entry.number))
        }
        None => Ok(()),
    }
}
