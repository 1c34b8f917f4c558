//! Restores a backup: makes a database of it.
//!
//! Invariants:
//! - The target is marked before anything is in it and until recovery has succeeded: until then no open takes it for a
//!   database, neither empty nor in part.
//! - Every byte that is copied was checked against the index.
//! - An epoch or time that the backup does not reach is refused before anything is created.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::BackupReport;
use super::copy::{extend, open_or_create};
use super::faults;
use super::image::{damaged, read};
use super::index::{CHECKPOINTS, Index, ListedFile};
use super::listed::Listed;
use crate::call::{Procedures, Replayer};
use crate::config::{CheckpointKind, Config, Create, RecoveryKind};
use crate::database::Database;
use crate::directory::manifest::{CheckpointEntry, Manifest};
use crate::directory::{self, Claim, DirectoryError};
use crate::error::{BackupError, Error, RecoveryError};
use crate::ids::StreamId;
use crate::io::{Disk, OpenMode};
use crate::log::format::segment::{FileName, stream_directory};
use crate::recovery::{RecoveryReport, until};
use crate::units::{bytes, count};

/// A database that was restored.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RestoreReport {
    /// Its first directory.
    pub home: PathBuf,
    /// What it was restored from.
    pub backup: BackupReport,
    /// What recovery made of it.
    #[serde(skip)]
    pub recovery: RecoveryReport,
}

impl fmt::Display for RestoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BackupReport { files, bytes: size, .. } = &self.backup;
        writeln!(f, "restored {} of {} to {}", count(*files, "file"), bytes(*size), self.home.display())?;
        self.recovery.fmt(f)
    }
}

/// Restores the backup in `backup` to the directories of `config`, which are empty or missing, and to the epoch or time that
/// the configuration asks for. The database is closed when this returns.
///
/// # Errors
/// [`Error::Backup`] where the backup is not whole or a directory is not empty; [`RecoveryError::Until`] where it does not
/// reach that epoch or time, and nothing is created. A restore that fails half way leaves directories that do not open:
/// [`BackupError::RestoreFailed`] with what failed, that of recovery too.
pub fn restore(config: Config, backup: &Path) -> Result<RestoreReport, Error> {
    restore_with(config, backup, Procedures::new())
}

/// As [`restore`], of a backup whose log may have calls of functions: those of [`Database::open_with`].
///
/// # Errors
/// Those of [`restore`]. Where the log needs a function that is not among `procedures` what has failed is
/// [`RecoveryError::MissingProcedure`].
pub fn restore_with(config: Config, backup: &Path, procedures: Procedures) -> Result<RestoreReport, Error> {
    let config = directory::anchored(config)?;
    let disk = config.environment.disk.clone();
    let disk = &*disk;
    let index = Index::find(disk, backup)?;
    let flat = index.manifest(backup)?;
    expect_reached(&config, backup, &index, &flat)?;
    let home = config.dirs[0].clone();
    check_targets(&config, backup)?;
    for dir in &config.dirs {
        directory::create_durably(disk, dir)?;
    }
    let (claim, _) = Claim::take(&config)?;
    // Another process may have used the directories since.
    if let Some(path) = claim.occupant()? {
        directory::refuse_unfinished(&config)?;
        return Err(BackupError::NotEmpty { path }.into());
    }
    let dirs = config.dirs.clone();
    let filled = fill(config, backup, &index, &flat, claim, procedures);
    let recovery = filled.map_err(|error| BackupError::RestoreFailed { dirs, error: Box::new(error) })?;
    Ok(RestoreReport { home, backup: index.report, recovery })
}

/// Fails where a directory is not fit for a new database: nothing is created then.
fn check_targets(config: &Config, backup: &Path) -> Result<(), Error> {
    let disk = &*config.environment.disk;
    let mut places = Vec::new();
    for dir in &config.dirs {
        directory::refuse_overlap(disk, [backup], dir)?;
        let is_there = disk.exists(dir).map_err(BackupError::io("look for", dir))?;
        if is_there && directory::holds_anything(disk, dir)? {
            directory::refuse_unfinished(config)?;
            return Err(BackupError::NotEmpty { path: dir.clone() }.into());
        }
        places.push(whereabouts(disk, dir)?);
        let last = places.len() - 1;
        if let Some(first) = places[..last].iter().position(|place| *place == places[last]) {
            return Err(DirectoryError::SameDirectory { first: config.dirs[first].clone(), second: dir.clone() }.into());
        }
    }
    Ok(())
}

/// What tells directories apart that may be missing: the nearest one that is there, by device and number, and the rest of the
/// way.
fn whereabouts(disk: &dyn Disk, directory: &Path) -> Result<((u64, u64), PathBuf), BackupError> {
    let here = Path::new(".").join(directory);
    for above in here.ancestors() {
        if disk.exists(above).map_err(BackupError::io("look for", above))? {
            let id = disk.status(above).map_err(BackupError::io("look at", above))?.id;
            let rest = here.strip_prefix(above).expect("one of its ancestors");
            return Ok((id, rest.to_owned()));
        }
    }
    Err(BackupError::NotThere { path: directory.to_owned() })
}

/// Copies the files of a backup to directories that are claimed and empty, and recovers what they hold.
fn fill(
    config: Config,
    backup: &Path,
    index: &Index,
    flat: &Manifest,
    mut claim: Claim,
    procedures: Procedures,
) -> Result<RecoveryReport, Error> {
    let (disk, home) = (config.environment.disk.clone(), config.dirs[0].clone());
    let (disk, manifest) = (&*disk, spread(flat, &config.dirs));
    faults::mark(|| directory::mark_unfinished(disk, &home))?;
    for entry in &index.files {
        let path = place(&manifest, &home, entry).ok_or_else(|| damaged(backup, "its index lists a foreign file"))?;
        assert!(config.dirs.iter().any(|dir| path.starts_with(dir)), "{} lies outside the database", path.display());
        copy_back(disk, &backup.join(&entry.name), &path, entry)?;
    }
    for layout in manifest.frozen.iter().map(|frozen| &frozen.layout).chain([&manifest.current]) {
        for stream in (0..layout.streams.len() as u32).map(StreamId) {
            let directory = manifest.stream_directory(&home, layout, stream);
            disk.create_dir_all(&directory).map_err(BackupError::io("create", &directory))?;
        }
    }
    claim.store(&manifest)?;
    let (protocol, streams) = (manifest.current.protocol, manifest.current.streams.len().max(1) as u32);
    let logged = manifest.current.logged;
    // What is asked for of the log and of checkpoints may not go with the protocol of the backup.
    let is_fuzzy = protocol.completes_fuzzy_checkpoints() && config.checkpoint_kind == CheckpointKind::Fuzzy;
    let checkpoint_kind = if is_fuzzy { CheckpointKind::Fuzzy } else { CheckpointKind::Epoch };
    let config = Config { create: Create::Never, protocol, streams, logged, checkpoint_kind, ..config };
    config.check()?;
    let mut replayer = Replayer::new(Arc::new(procedures));
    // What is closed next has run again.
    let config = config.recovery(RecoveryKind::Whole);
    let db = Database::open_claimed(config, Some((claim, Some(manifest))), &mut replayer)?;
    let recovery = db.recovery().cloned().unwrap_or_default();
    db.close()?;
    faults::mark(|| directory::unmark(disk, &home))?;
    Ok(recovery)
}

/// Fails where the backup does not reach the epoch or time that is asked for: nothing is created then.
fn expect_reached(config: &Config, backup: &Path, index: &Index, flat: &Manifest) -> Result<(), Error> {
    let Some(asked) = config.until else { return Ok(()) };
    let (report, mut of_backup) = (&index.report, config.clone());
    of_backup.environment.disk = Arc::new(Listed::new(config.environment.disk.clone(), backup, &index.files));
    (of_backup.dirs, of_backup.progress) = (vec![backup.to_owned()], None);
    match until::resolve(&of_backup, flat) {
        Ok(epoch) if epoch.0 > report.epoch => {
            let what = format!(
                "everything up to epoch {} is in it, but not all of later ones; ask for that epoch, or for none to restore \
                 all that is in it",
                report.epoch
            );
            Err(RecoveryError::Until { path: backup.to_owned(), until: asked, what }.into())
        }
        Err(error @ RecoveryError::Until { .. }) => Err(error.into()),
        // What is damaged the copying finds.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The manifest of a backup for a database in `dirs`.
fn spread(flat: &Manifest, dirs: &[PathBuf]) -> Manifest {
    let mut manifest = flat.clone();
    let indexes: Vec<u32> = dirs.iter().map(|dir| manifest.directory_index(&dirs[0], dir)).collect();
    let deal = |places: &mut dyn Iterator<Item = &mut u32>| {
        places.zip(indexes.iter().cycle()).for_each(|(place, index)| *place = *index);
    };
    deal(&mut manifest.current.streams.iter_mut());
    manifest.frozen.iter_mut().for_each(|frozen| deal(&mut frozen.layout.streams.iter_mut()));
    let parts = |entry: &mut CheckpointEntry| {
        deal(&mut entry.parts.iter_mut().map(|part| &mut part.directory));
    };
    manifest.checkpoints.iter_mut().for_each(parts);
    assert!(manifest.current.streams.iter().all(|index| indexes.contains(index)), "streams lie where the caller says");
    manifest
}

/// Where a file of a backup belongs.
fn place(manifest: &Manifest, home: &Path, entry: &ListedFile) -> Option<PathBuf> {
    let (directory, name) = (entry.name.parent()?.to_str()?, entry.name.file_name()?);
    if let Some(stream) = directory.strip_prefix("stream-") {
        let stream: u32 = stream.parse().ok()?;
        let FileName::Segment { generation, .. } = FileName::parse(&entry.name)? else { return None };
        let layouts = manifest.frozen.iter().map(|frozen| &frozen.layout).chain([&manifest.current]);
        let layout = layouts.into_iter().find(|layout| layout.generation == generation)?;
        let index = *layout.streams.get(stream as usize)?;
        return Some(stream_directory(&manifest.directory(home, index), StreamId(stream)).join(name));
    }
    if directory != CHECKPOINTS {
        return None;
    }
    let part: usize = entry.name.file_stem()?.to_str()?.rsplit_once('-')?.1.parse().ok()?;
    let index = manifest.checkpoints.last()?.parts.get(part)?.directory;
    Some(manifest.directory(home, index).join(directory).join(name))
}

fn copy_back(disk: &dyn Disk, from: &Path, to: &Path, entry: &ListedFile) -> Result<(), BackupError> {
    let parent = to.parent().expect("a file lies in a directory");
    disk.create_dir_all(parent).map_err(BackupError::io("create", parent))?;
    let source = disk.open(from, OpenMode::Read).map_err(BackupError::io("open", from))?;
    let file = open_or_create(disk, to)?;
    let checksum = read(&*source, from, entry.bytes, |offset, bytes| {
        file.write_at(bytes, offset).map_err(BackupError::io("write", to))
    })?;
    if checksum != entry.checksum {
        return Err(damaged(from, "its checksum is not the one in the index"));
    }
    extend(&*file, to, entry.length)?;
    faults::sync_restored(|| file.sync().map_err(BackupError::io("sync", to)))?;
    for directory in parent.ancestors().take(2) {
        disk.sync_dir(directory).map_err(BackupError::io("sync the directory", directory))?;
    }
    Ok(())
}
