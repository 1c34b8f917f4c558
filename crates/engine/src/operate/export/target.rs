//! The directory that an export is written to.
//!
//! Invariants:
//! - The temporary manifest is created first, exclusively, and is open until the export is whole: so no other file can have its
//!   identity, and who finds that in its place has the directory.
//! - Before each change that is looked for. What happens between the look and the change nobody can see.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::LineWriter;
use super::manifest::{FILE_NAME, Manifest, TEMPORARY_NAME};
use crate::directory;
use crate::error::{Error, ExportError};
use crate::io::{Disk, File, OpenMode};

/// A directory in which an export is being written.
pub(super) struct Target<'d> {
    disk: &'d dyn Disk,
    dir: &'d Path,
    /// Open, so that its identity is its own.
    manifest: Arc<dyn File>,
    id: (u64, u64),
    created: RefCell<Vec<PathBuf>>,
}

impl<'d> Target<'d> {
    /// Creates the directory where it is missing, and the temporary manifest in it.
    pub(super) fn claim(disk: &'d dyn Disk, dir: &'d Path) -> Result<Target<'d>, Error> {
        let not_empty = || ExportError::NotEmpty { path: dir.to_owned() };
        let list = || disk.list(dir).map_err(ExportError::io("list", dir));
        directory::create_durably(disk, dir)?;
        if !list()?.is_empty() {
            return Err(not_empty().into());
        }
        let path = dir.join(TEMPORARY_NAME);
        let manifest = match disk.open(&path, OpenMode::Create) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(not_empty().into()),
            created => created.map_err(ExportError::io("create", &path))?,
        };
        let id = disk.status(&path).map_err(ExportError::io("look at", &path))?.id;
        let target = Target { disk, dir, manifest, id, created: RefCell::default() };
        // Another export may have come and ended since the first look.
        if list()?.len() != 1 {
            target.remove();
            return Err(not_empty().into());
        }
        disk.sync_dir(dir).map_err(ExportError::io("sync the directory", dir))?;
        Ok(target)
    }

    /// Whether the directory is still the one that was claimed.
    fn is_in_place(&self) -> bool {
        self.disk.status(&self.dir.join(TEMPORARY_NAME)).is_ok_and(|status| status.id == self.id)
    }

    fn expect_in_place(&self) -> Result<(), ExportError> {
        match self.is_in_place() {
            true => Ok(()),
            false => Err(ExportError::Displaced { path: self.dir.to_owned() }),
        }
    }

    /// Creates a file of the export.
    pub(super) fn create(&self, name: String) -> Result<LineWriter, ExportError> {
        self.expect_in_place()?;
        let path = self.dir.join(&name);
        let writer = LineWriter::create(self.disk, self.dir, name)?;
        self.created.borrow_mut().push(path);
        Ok(writer)
    }

    /// Puts the manifest in place of the temporary one: from here on the export is whole.
    pub(super) fn complete(&self, manifest: &Manifest) -> Result<(), ExportError> {
        let (temporary, path) = (self.dir.join(TEMPORARY_NAME), self.dir.join(FILE_NAME));
        let synced = || self.disk.sync_dir(self.dir).map_err(ExportError::io("sync the directory", self.dir));
        self.expect_in_place()?;
        synced()?;
        self.manifest.write_at(manifest.text().as_bytes(), 0).map_err(ExportError::io("write", &temporary))?;
        self.manifest.sync().map_err(ExportError::io("sync", &temporary))?;
        self.expect_in_place()?;
        self.disk.rename(&temporary, &path).map_err(ExportError::io("rename", &temporary))?;
        synced()
    }

    /// Removes what an export wrote that failed, the temporary manifest last: as long as that lies there, it says what the rest
    /// is.
    pub(super) fn remove(&self) {
        let created = self.created.borrow();
        for path in created.iter().chain([&self.dir.join(TEMPORARY_NAME)]) {
            if !self.is_in_place() || self.disk.remove(path).is_err() {
                return;
            }
        }
    }
}
