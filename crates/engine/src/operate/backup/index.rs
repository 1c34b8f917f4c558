//! The index of a backup: which files it has, how long each counts, and their checksums. It makes a backup whole.
//!
//! ```text
//! BACKUP     one line of JSON, then "crc32c " and the checksum of that line in hexadecimal
//! ```
//!
//! Invariants:
//! - It is replaced as a whole, when everything that it lists is durable: temporary -> sync -> rename -> sync of the directory.
//! - A file that it lists only grows afterwards, beyond the bytes that count, until another index is in its place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::BackupReport;
use super::faults;
use crate::directory::LOCK_NAME;
use crate::directory::manifest::{self, Manifest, ManifestError};
use crate::error::BackupError;
use crate::io::{Disk, OpenMode};
use crate::log::format::segment::is_stream_directory;

/// In the directory of the backup.
pub(super) const FILE_NAME: &str = "BACKUP";
const TEMPORARY_NAME: &str = "BACKUP.tmp";
/// Lies in a directory that a backup is being written to.
const UNFINISHED_NAME: &str = "BACKUP.unfinished";
/// The directory of the parts of checkpoints, in a backup as in a database.
pub(super) const CHECKPOINTS: &str = "checkpoints";
/// The format that this program writes.
pub(super) const VERSION: u32 = 1;
const CHECKSUM: &str = "crc32c ";

/// What a backup holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Index {
    version: u32,
    database: String,
    pub(super) report: BackupReport,
    /// The database's, with everything in one directory; in hexadecimal.
    manifest: String,
    pub(super) files: Vec<ListedFile>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ListedFile {
    /// Relative to the backup.
    pub(super) name: PathBuf,
    /// How many bytes of it count.
    pub(super) bytes: u64,
    /// Its length.
    pub(super) length: u64,
    /// CRC-32C of the bytes that count.
    pub(super) checksum: u32,
}

/// What no index says of its files, written or read: that one is there twice, or counts further than it is long.
fn flaw(files: &[ListedFile]) -> Option<String> {
    let mut names = BTreeSet::new();
    let wrong = files.iter().find(|entry| entry.bytes > entry.length || !names.insert(entry.name.as_path()))?;
    Some(format!("{} is in it twice, or counts further than it is long", wrong.name.display()))
}

impl Index {
    pub(super) fn new(manifest: &Manifest, files: Vec<ListedFile>, report: BackupReport) -> Result<Index, BackupError> {
        let damaged = |what| BackupError::Damaged { path: report.target.clone(), what };
        if let Some(what) = flaw(&files) {
            return Err(damaged(what));
        }
        assert_eq!(report.files, files.len() as u64, "a report counts the files");
        assert_eq!(report.bytes, files.iter().map(|file| file.bytes).sum::<u64>(), "and their bytes");
        let bytes = manifest.to_bytes().map_err(|error| damaged(error.to_string()))?;
        let manifest_hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let database = database(manifest);
        let index = Index { version: VERSION, database, report, manifest: manifest_hex, files };
        let back = index.manifest(&index.report.target);
        assert!(back.is_ok_and(|back| back == *manifest), "an index that cannot be restored");
        Ok(index)
    }

    /// Reads the index in `target`; `None` where there is none.
    pub(super) fn load(disk: &dyn Disk, target: &Path) -> Result<Option<Index>, BackupError> {
        let path = target.join(FILE_NAME);
        if !disk.exists(&path).map_err(BackupError::io("look for", &path))? {
            return Ok(None);
        }
        let file = disk.open(&path, OpenMode::Read).map_err(BackupError::io("open", &path))?;
        let mut bytes = vec![0; file.len().map_err(BackupError::io("measure", &path))? as usize];
        let read = file.read_at(&mut bytes, 0).map_err(BackupError::io("read", &path))?;
        let damaged = |what: &str| BackupError::Damaged { path: path.clone(), what: what.to_owned() };
        let text = std::str::from_utf8(&bytes[..read]).map_err(|_| damaged("it is not text"))?;
        let (json, rest) = text.split_once('\n').ok_or_else(|| damaged("it is cut short"))?;
        let expected = format!("{CHECKSUM}{:08x}\n", crc_fast::crc32_iscsi(json.as_bytes()));
        if rest != expected {
            return Err(damaged("its checksum does not fit"));
        }
        let value: serde_json::Value = serde_json::from_str(json).map_err(|error| damaged(&error.to_string()))?;
        match value["version"].as_u64() {
            Some(version) if version == u64::from(VERSION) => {}
            version => return Err(BackupError::Version { path, found: version.unwrap_or(0) as u32, newest: VERSION }),
        }
        let index: Index = serde_json::from_value(value).map_err(|error| damaged(&error.to_string()))?;
        match flaw(&index.files) {
            Some(what) => Err(damaged(&what)),
            None => Ok(Some(index)),
        }
    }

    /// Puts the index in its place: from here on the backup is this one.
    pub(super) fn store(&self, disk: &dyn Disk, target: &Path) -> Result<(), BackupError> {
        assert_eq!(flaw(&self.files), None, "checked when it was made");
        let json = serde_json::to_string(self).expect("an index is JSON");
        let text = format!("{json}\n{CHECKSUM}{:08x}\n", crc_fast::crc32_iscsi(json.as_bytes()));
        let (temporary, path) = (target.join(TEMPORARY_NAME), target.join(FILE_NAME));
        if disk.exists(&temporary).map_err(BackupError::io("look for", &temporary))? {
            disk.remove(&temporary).map_err(BackupError::io("remove", &temporary))?;
        }
        let file = disk.open(&temporary, OpenMode::Create).map_err(BackupError::io("create", &temporary))?;
        file.write_at(text.as_bytes(), 0).map_err(BackupError::io("write", &temporary))?;
        faults::sync_index(|| file.sync().map_err(BackupError::io("sync", &temporary)))?;
        disk.rename(&temporary, &path).map_err(BackupError::io("rename", &temporary))?;
        disk.sync_dir(target).map_err(BackupError::io("sync the directory", target))
    }

    /// Reads the index in `target`; where there is none the error says what is there instead.
    pub(super) fn find(disk: &dyn Disk, target: &Path) -> Result<Index, BackupError> {
        if let Some(index) = Index::load(disk, target)? {
            return Ok(index);
        }
        let path = target.to_owned();
        if !disk.exists(target).map_err(BackupError::io("look for", target))? {
            return Err(BackupError::NotThere { path });
        }
        let listed = disk.list(target).map_err(BackupError::io("list", target))?;
        let holds = |name: &str| listed.iter().any(|path| path.ends_with(name));
        if holds(manifest::FILE_NAME) {
            return Err(BackupError::Database { path });
        }
        let is_begun =
            holds(UNFINISHED_NAME) || holds(CHECKPOINTS) || listed.iter().any(|path| is_stream_directory(path));
        Err(if is_begun { BackupError::NotWhole { path, index: FILE_NAME } } else { BackupError::NoBackup { path } })
    }

    /// Returns the manifest of what was copied.
    pub(super) fn manifest(&self, target: &Path) -> Result<Manifest, BackupError> {
        let path = target.join(FILE_NAME);
        let digit = |at: usize| self.manifest.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let bytes: Option<Vec<u8>> = (0..self.manifest.len()).step_by(2).map(digit).collect();
        let damaged = |what: String| BackupError::Damaged { path: path.clone(), what };
        let bytes = bytes.ok_or_else(|| damaged("its manifest is not hexadecimal".to_owned()))?;
        Manifest::from_bytes(&path, &bytes).map_err(|error| match error {
            ManifestError::Version { path, found } => {
                BackupError::Version { path, found, newest: manifest::codec::VERSION }
            }
            error => damaged(error.to_string()),
        })
    }

    /// Returns what it says about a file.
    pub(super) fn entry(&self, name: &Path) -> Option<&ListedFile> {
        self.files.iter().find(|entry| entry.name == name)
    }

    /// Whether the backup is of the database of `manifest`.
    pub(super) fn expect(&self, target: &Path, manifest: &Manifest) -> Result<(), BackupError> {
        let expected = database(manifest);
        if self.database == expected {
            return Ok(());
        }
        Err(BackupError::OtherDatabase { target: target.to_owned(), found: self.database.clone(), expected })
    }

    /// Removes what it does not list: the rest of earlier backups, and of such as were interrupted.
    pub(super) fn remove_others(&self, disk: &dyn Disk, target: &Path) -> Result<(), BackupError> {
        for directory in directories(disk, target)? {
            for path in disk.list(&directory).map_err(BackupError::io("list", &directory))? {
                let name = path.strip_prefix(target).unwrap_or(&path);
                if self.entry(name).is_none() {
                    disk.remove(&path).map_err(BackupError::io("remove", &path))?;
                }
            }
        }
        Ok(())
    }
}

fn database(manifest: &Manifest) -> String {
    format!("{:032x}", manifest.database.0)
}

/// The directories of a backup that hold its files.
fn directories(disk: &dyn Disk, target: &Path) -> Result<Vec<PathBuf>, BackupError> {
    let listed = disk.list(target).map_err(BackupError::io("list", target))?;
    Ok(listed.into_iter().filter(|path| is_stream_directory(path) || path.ends_with(CHECKPOINTS)).collect())
}

/// Fails where no backup may be written to `target`: it is neither empty nor holds a backup or the rest of one.
pub(super) fn check_target(disk: &dyn Disk, target: &Path) -> Result<(), BackupError> {
    let listed = disk.list(target).map_err(BackupError::io("list", target))?;
    let is_named = |path: &PathBuf, names: &[&str]| names.iter().any(|name| path.ends_with(name));
    let is_backup = listed.iter().any(|path| is_named(path, &[FILE_NAME, UNFINISHED_NAME]));
    let is_ours = |path: &&PathBuf| {
        let is_file_of_backup = is_stream_directory(path) || is_named(path, &[FILE_NAME, UNFINISHED_NAME, CHECKPOINTS]);
        is_named(path, &[LOCK_NAME, TEMPORARY_NAME]) || (is_backup && is_file_of_backup)
    };
    if let Some(path) = listed.iter().find(|path| !is_ours(path)) {
        return Err(BackupError::Foreign { path: path.clone() });
    }
    refuse_links(disk, &listed)?;
    for directory in directories(disk, target)? {
        let files = disk.list(&directory).map_err(BackupError::io("list", &directory))?;
        refuse_links(disk, &files)?;
        if let Some(path) = files.into_iter().find(|path| disk.list(path).is_ok()) {
            return Err(BackupError::Foreign { path });
        }
    }
    Ok(())
}

/// Whatever a backup writes or removes lies in its target.
fn refuse_links(disk: &dyn Disk, paths: &[PathBuf]) -> Result<(), BackupError> {
    for path in paths {
        if disk.status(path).map_err(BackupError::io("look at", path))?.is_symbolic_link {
            return Err(BackupError::Link { path: path.clone() });
        }
    }
    Ok(())
}

/// Marks `target` as a directory that a backup is written to, durably.
pub(super) fn begin(disk: &dyn Disk, target: &Path) -> Result<(), BackupError> {
    let mark = target.join(UNFINISHED_NAME);
    if !disk.exists(&mark).map_err(BackupError::io("look for", &mark))? {
        disk.open(&mark, OpenMode::Create).map_err(BackupError::io("create", &mark))?;
    }
    disk.sync_dir(target).map_err(BackupError::io("sync the directory", target))
}

/// Removes the mark: the index tells what the directory is.
pub(super) fn end(disk: &dyn Disk, target: &Path) -> Result<(), BackupError> {
    let mark = target.join(UNFINISHED_NAME);
    disk.remove(&mark).map_err(BackupError::io("remove", &mark))
}
