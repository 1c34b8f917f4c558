//! Directories that outlive a power failure.

use std::io;
use std::path::{Path, PathBuf};

use super::DirectoryError;
use crate::directory::faults;
use crate::directory::manifest::Manifest;
use crate::ids::StreamId;
use crate::io::Disk;
use crate::log::format::newest;

/// Creates `directory` and what is missing above it, all durable when this returns. Every directory above it is synced: an
/// earlier attempt may have created it and died before it could.
pub(crate) fn create_durably(disk: &dyn Disk, directory: &Path) -> Result<(), DirectoryError> {
    let above: Vec<&Path> = directory.ancestors().skip(1).map(or_here).collect();
    let is_there = |path: &Path| disk.exists(path).map_err(DirectoryError::io("look for", path));
    let were_there = above.iter().map(|path| is_there(path)).collect::<Result<Vec<bool>, _>>()?;
    disk.create_dir_all(directory).map_err(DirectoryError::io("create", directory))?;
    for (path, was_there) in above.into_iter().zip(were_there).take(faults::depth_max()) {
        match disk.sync_dir(path) {
            // Nobody who may not even read it created anything in it.
            Err(error) if was_there && error.kind() == io::ErrorKind::PermissionDenied => break,
            synced => synced.map_err(DirectoryError::io("sync the directory", path))?,
        }
    }
    Ok(())
}

/// Creates a directory in one that is durable itself; durable when this returns.
pub(crate) fn create_below(disk: &dyn Disk, directory: &Path) -> Result<(), DirectoryError> {
    disk.create_dir_all(directory).map_err(DirectoryError::io("create", directory))?;
    let parent = directory.parent().map_or(Path::new("."), or_here);
    disk.sync_dir(parent).map_err(DirectoryError::io("sync the directory", parent))
}

/// Creates the directories of the streams of the newest generation of `manifest`, and records in them that it begins; all durable
/// when this returns.
pub(crate) fn create_streams(disk: &dyn Disk, home: &Path, manifest: &Manifest) -> Result<(), DirectoryError> {
    let layout = &manifest.current;
    for stream in (0..layout.streams.len() as u32).map(StreamId) {
        let directory = manifest.stream_directory(home, layout, stream);
        create_below(disk, &directory)?;
        let recorded = newest::begin(disk, &directory, layout.log(manifest.database, stream));
        recorded.map_err(DirectoryError::io("create", &newest::path(&directory)))?;
    }
    Ok(())
}

/// The directory that `parent` names: where a relative path ends that is the working directory.
pub(super) fn or_here(parent: &Path) -> &Path {
    if parent.as_os_str().is_empty() { Path::new(".") } else { parent }
}

/// Every path on the way to one of `directories`, themselves included.
pub(super) fn on_the_way_to<'p>(directories: impl Iterator<Item = &'p Path>) -> Vec<PathBuf> {
    directories.flat_map(Path::ancestors).map(|path| or_here(path).to_owned()).collect()
}
