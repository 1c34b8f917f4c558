//! From a backup to a database.
//!
//! Invariants:
//! - The target is marked before anything is in it and until recovery has succeeded: until then no open takes it for a
//!   database, neither empty nor in part.
//! - Every byte that is copied was checked against the index.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::copy::{extend, open_or_create};
use super::image::{damaged, read};
use super::index::{Entry, Index};
use super::{BackupError, BackupReport};
use crate::config::{Config, Create};
use crate::database::Database;
use crate::directory::{self, Directory, DirectoryError};
use crate::error::Error;
use crate::failpoint::{Mutation, has};
use crate::ids::StreamId;
use crate::io::{Disk, OpenMode};
use crate::persist::manifest::{self, CheckpointEntry, Manifest};
use crate::persist::segment::{FileName, stream_directory};
use crate::recovery::{RecoveryReport, bytes};

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
        writeln!(f, "restored {files} files of {} to {}", bytes(*size), self.home.display())?;
        self.recovery.fmt(f)
    }
}

/// Restores the backup in `backup` to the directories of `config`, which are empty or missing, and to the epoch or time that
/// the configuration asks for. The database is closed when this returns.
///
/// # Errors
/// [`Error::Backup`] where the backup is not whole or a directory is not empty; what recovery fails with. A restore that
/// fails half way leaves directories that do not open.
pub fn restore(config: Config, backup: &Path) -> Result<RestoreReport, Error> {
    let disk = config.environment.disk.clone();
    let disk = &*disk;
    let index = Index::load(disk, backup)?.ok_or_else(|| BackupError::NotWhole { path: backup.to_owned() })?;
    let manifest = spread(&index.manifest(backup)?, &config.dirs);
    let home = config.dirs[0].clone();
    for dir in &config.dirs {
        manifest::create_directory(disk, dir).map_err(DirectoryError::from)?;
        if !disk.list(dir).map_err(BackupError::io("list", dir))?.is_empty() {
            return Err(BackupError::NotEmpty { path: dir.clone() }.into());
        }
    }
    if !has(Mutation::RestoreUnmarked) {
        directory::mark_unfinished(disk, &home)?;
    }
    let lock = Directory::lock(disk, &home)?;
    for entry in &index.files {
        let path = place(&manifest, &home, entry).ok_or_else(|| damaged(backup, "its index lists a foreign file"))?;
        copy_back(disk, &backup.join(&entry.name), &path, entry)?;
    }
    for layout in manifest.frozen.iter().map(|frozen| &frozen.layout).chain([&manifest.current]) {
        for stream in (0..layout.streams.len() as u32).map(StreamId) {
            let directory = manifest.stream_directory(&home, layout, stream);
            disk.create_dir_all(&directory).map_err(BackupError::io("create", &directory))?;
        }
    }
    manifest.create_stream_directories(disk, &home).map_err(DirectoryError::from)?;
    manifest.store(disk, &home).map_err(DirectoryError::from)?;
    drop(lock);
    let (protocol, streams) = (manifest.current.protocol, manifest.current.streams.len().max(1) as u32);
    let config = Config { create: Create::Never, protocol, streams, ..config };
    let db = Database::open_unfinished(config)?;
    let recovery = db.recovery().cloned().unwrap_or_default();
    db.close()?;
    if !has(Mutation::RestoreUnmarked) {
        directory::unmark(disk, &home)?;
    }
    Ok(RestoreReport { home, backup: index.report, recovery })
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
    manifest
}

/// Where a file of a backup belongs.
fn place(manifest: &Manifest, home: &Path, entry: &Entry) -> Option<PathBuf> {
    let (directory, name) = (entry.name.parent()?.to_str()?, entry.name.file_name()?);
    if let Some(stream) = directory.strip_prefix("stream-") {
        let stream: u32 = stream.parse().ok()?;
        let FileName::Segment { generation, .. } = FileName::parse(&entry.name)? else { return None };
        let layouts = manifest.frozen.iter().map(|frozen| &frozen.layout).chain([&manifest.current]);
        let layout = layouts.into_iter().find(|layout| layout.generation == generation)?;
        let index = *layout.streams.get(stream as usize)?;
        return Some(stream_directory(&home.join(&manifest.directories[index as usize]), StreamId(stream)).join(name));
    }
    let part: usize = entry.name.file_stem()?.to_str()?.rsplit_once('-')?.1.parse().ok()?;
    let index = manifest.checkpoints.last()?.parts.get(part)?.directory;
    Some(home.join(&manifest.directories[index as usize]).join(directory).join(name))
}

fn copy_back(disk: &dyn Disk, from: &Path, to: &Path, entry: &Entry) -> Result<(), BackupError> {
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
    if !has(Mutation::RestoreUnsynced) {
        file.sync().map_err(BackupError::io("sync", to))?;
    }
    for directory in parent.ancestors().take(2) {
        disk.sync_dir(directory).map_err(BackupError::io("sync the directory", directory))?;
    }
    Ok(())
}
