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
/// earlier attempt may have created it and died before it could. Fails, with nothing created, where a directory
/// above may not be opened: what is created in it could not be made durable.
pub(crate) fn create_durably(disk: &dyn Disk, directory: &Path) -> Result<(), DirectoryError> {
    let all: Vec<&Path> = directory.ancestors().map(or_here).collect();
    let is_there = |path: &Path| disk.exists(path).map_err(DirectoryError::io("look for", path));
    let were_there = all.iter().map(|path| is_there(path)).collect::<Result<Vec<bool>, _>>()?;
    let sync = |path: &Path| disk.sync_dir(path);
    let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    if let Some(first) = were_there.iter().position(|was_there| *was_there).filter(|first| *first > 0)
        && let Some(refused) = sync(all[first]).err().filter(is_refused)
    {
        return Err(DirectoryError::io("sync the directory", all[first])(refused));
    }
    disk.create_dir_all(directory).map_err(DirectoryError::io("create", directory))?;
    for (above, was_there) in all[1..].iter().zip(were_there).take(faults::depth_max()) {
        match sync(above) {
            // What is in it was there before, and a user who may not read it cannot sync it.
            Err(error) if was_there && is_refused(&error) => break,
            synced => synced.map_err(DirectoryError::io("sync the directory", above))?,
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
    assert_eq!(manifest.begins.len(), layout.streams.len(), "a begin for each stream");
    for stream in (0..layout.streams.len() as u32).map(StreamId) {
        let directory = manifest.stream_directory(home, layout, stream);
        create_below(disk, &directory)?;
        let recorded = newest::begin(disk, &directory, layout.log(manifest.database, stream));
        recorded.map_err(DirectoryError::io("record the generation in", &newest::path(&directory)))?;
    }
    Ok(())
}

/// Returns the directory that `parent` names: where a relative path ends that is the working directory.
pub(super) fn or_here(parent: &Path) -> &Path {
    if parent.as_os_str().is_empty() { Path::new(".") } else { parent }
}

/// Returns every path on the way to one of `directories`, themselves included.
pub(super) fn on_the_way_to<'p>(directories: impl Iterator<Item = &'p Path>) -> Vec<PathBuf> {
    directories.flat_map(Path::ancestors).map(|path| or_here(path).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::io::{FileStatus, Lock, OpenMode, OsDisk};
    use std::sync::Arc;

    /// The operating system's, for a user who may not read what has no right to read.
    struct Unprivileged;

    impl Disk for Unprivileged {
        fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
            OsDisk.create_dir_all(dir)
        }

        fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
            OsDisk.list(dir)
        }

        fn exists(&self, path: &Path) -> io::Result<bool> {
            OsDisk.exists(path)
        }

        fn status(&self, path: &Path) -> io::Result<FileStatus> {
            OsDisk.status(path)
        }

        fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn crate::io::File>> {
            OsDisk.open(path, mode)
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            OsDisk.rename(from, to)
        }

        fn remove(&self, path: &Path) -> io::Result<()> {
            OsDisk.remove(path)
        }

        fn sync_dir(&self, dir: &Path) -> io::Result<()> {
            match fs::metadata(dir)?.permissions().mode() & 0o444 {
                0 => Err(io::ErrorKind::PermissionDenied.into()),
                _ => OsDisk.sync_dir(dir),
            }
        }

        fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
            OsDisk.lock(path)
        }
    }

    #[test]
    fn nothing_is_created_where_it_cannot_be_made_durable() {
        let root = std::env::temp_dir().join(format!("osier-create-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let closed = root.join("closed");
        fs::create_dir_all(closed.join("there")).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o333)).unwrap();
        for new in ["new", "new/deeper"] {
            for _ in 0..2 {
                let error = create_durably(&Unprivileged, &closed.join(new)).unwrap_err().to_string();
                assert!(error.contains("cannot sync the directory") && !closed.join("new").exists(), "{error}");
            }
        }
        // What lies in it was created by somebody else, who could.
        create_durably(&Unprivileged, &closed.join("there")).unwrap();
        create_durably(&Unprivileged, &closed.join("there/new/deeper")).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o777)).unwrap();
        fs::remove_dir_all(&root).unwrap();
    }
}
