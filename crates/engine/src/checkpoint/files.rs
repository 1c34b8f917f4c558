//! Where the parts of checkpoints lie, and which of them may go.
//!
//! Invariant: a part that no manifest names is never read. It is removed when it is superseded (after the new manifest is
//! durable), when its checkpoint fails, or at the next open.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::faults;
use super::format::{HEADER_BYTES, PartIdentity};
use crate::directory::CHECKPOINTS_NAME;
use crate::directory::manifest::{CheckpointEntry, Manifest};
use crate::error::CheckpointError;
use crate::io::{Disk, OpenMode};

const SUFFIX: &str = ".ckpt";

/// Returns where the parts in `directory` lie.
pub(crate) fn part_directory(directory: &Path) -> PathBuf {
    directory.join(CHECKPOINTS_NAME)
}

fn part_name(checkpoint: u64, part: u32) -> String {
    format!("{checkpoint:08}-{part:04}{SUFFIX}")
}

/// Returns the path of a part.
pub(crate) fn part_path(directory: &Path, checkpoint: u64, part: u32) -> PathBuf {
    let path = part_directory(directory).join(part_name(checkpoint, part));
    assert_eq!(number_of(&path), Some(checkpoint), "a name says whose part it is");
    path
}

/// Returns the parts of a checkpoint that the manifest names, with their lengths.
pub(crate) fn parts_of(home: &Path, manifest: &Manifest, entry: &CheckpointEntry) -> Vec<(PathBuf, PartIdentity, u64)> {
    let parts = entry.parts.len() as u32;
    let one = |(part, place): (u32, &crate::directory::manifest::CheckpointPart)| {
        let directory = manifest.directory(home, place.directory);
        let identity = PartIdentity {
            database: manifest.database,
            checkpoint: entry.number,
            part,
            parts,
            kind: entry.kind,
            boundary: faults::named_boundary(entry.boundary),
        };
        (part_path(&directory, entry.number, part), identity, place.bytes)
    };
    (0..parts).zip(&entry.parts).map(one).collect()
}

/// The number of the checkpoint that a path is a part of.
fn number_of(path: &Path) -> Option<u64> {
    let (number, part) = path.file_name()?.to_str()?.strip_suffix(SUFFIX)?.split_once('-')?;
    part.parse::<u32>().ok()?;
    number.parse().ok()
}

/// Returns the numbers of checkpoints that have parts on disk and no place in the manifest.
pub(crate) fn unnamed(disk: &dyn Disk, home: &Path, manifest: &Manifest) -> Result<Vec<u64>, CheckpointError> {
    let mut numbers = BTreeSet::new();
    for directory in manifest.directories_in_use(home) {
        let directory = part_directory(&directory);
        if disk.exists(&directory).map_err(CheckpointError::io("look for", &directory))? {
            let files = disk.list(&directory).map_err(CheckpointError::io("list", &directory))?;
            numbers.extend(files.iter().filter_map(|path| number_of(path)));
        }
    }
    let named: BTreeSet<u64> = manifest.checkpoints.iter().map(|entry| entry.number).collect();
    Ok(numbers.difference(&named).copied().collect())
}

/// Removes every part of a checkpoint that `manifest` does not name; returns the greatest number seen, named or not.
pub(crate) fn remove_leftovers(disk: &dyn Disk, home: &Path, manifest: &Manifest) -> Result<u64, CheckpointError> {
    let known: BTreeSet<u64> = manifest.checkpoints.iter().map(|entry| entry.number).collect();
    let mut greatest = known.last().copied().unwrap_or(0);
    for directory in manifest.directories_in_use(home) {
        let directory = part_directory(&directory);
        if !disk.exists(&directory).map_err(CheckpointError::io("look for", &directory))? {
            continue;
        }
        let files = disk.list(&directory).map_err(CheckpointError::io("list", &directory))?;
        let numbered = files.iter().filter_map(|path| number_of(path).map(|number| (path, number)));
        let mut has_changed = false;
        for (path, number) in numbered {
            greatest = greatest.max(number);
            if !known.contains(&number) && is_ours(disk, path, manifest)? {
                disk.remove(path).map_err(CheckpointError::io("remove", path))?;
                has_changed = true;
            }
        }
        if has_changed {
            // Else a number could be given again to a name that a crash brings back.
            disk.sync_dir(&directory).map_err(CheckpointError::io("sync the directory", &directory))?;
        }
    }
    Ok(greatest)
}

/// Whether a file that is named like a part may be removed: it is of this database, or has no sound header, as one whose
/// checkpoint was cut off.
fn is_ours(disk: &dyn Disk, path: &Path, manifest: &Manifest) -> Result<bool, CheckpointError> {
    let file = disk.open(path, OpenMode::Read).map_err(CheckpointError::io("open", path))?;
    let mut header = vec![0; HEADER_BYTES];
    let read = file.read_at(&mut header, 0).map_err(CheckpointError::io("read", path))?;
    let part = PartIdentity::decode(&header[..read]);
    Ok(faults::may_go(part.is_none_or(|part| part.database == manifest.database)))
}
