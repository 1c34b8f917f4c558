//! The manifest of an export: which files it has, what they hold, and their checksums. It makes an export whole.
//!
//! ```text
//! EXPORT     one line of JSON, then "crc32c " and the checksum of that line in hexadecimal
//! ```
//!
//! Invariants:
//! - It is put in its place when everything that it lists is durable: temporary -> sync -> rename -> sync of the directory.
//! - The temporary is there from the beginning: who creates it has the directory, and where it stays the export did not end.
//! - It lists the tables by name, each once, then the sequences and the procedures, and nothing else lies beside it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::directory::LOCK_NAME;
use crate::error::ExportError;
use crate::io::{Disk, OpenMode};

/// In the directory of the export.
pub(super) const FILE_NAME: &str = "EXPORT";
/// What it is until the export is whole.
pub(super) const TEMPORARY_NAME: &str = "EXPORT.tmp";
/// The format that this program writes.
const VERSION: u32 = 1;
const CHECKSUM: &str = "crc32c ";
/// An export of a million tables has a smaller manifest.
const BYTES_MAX: u64 = 1 << 30;

/// What an export holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    version: u32,
    /// Of which database; `None` where it has never been on disk.
    pub(super) database: Option<String>,
    /// At the end of which epoch.
    pub(super) epoch: u64,
    /// When it was written.
    pub(super) taken: String,
    /// Procedures that are functions of a program, which no file holds.
    pub(super) functions: Vec<String>,
    pub(super) files: Vec<ListedFile>,
}

/// A file of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedFile {
    pub(super) name: String,
    pub(super) holds: Contents,
    /// Rows, sequences or procedures.
    pub(super) rows: u64,
    pub(super) bytes: u64,
    /// CRC-32C of all of its bytes, in hexadecimal.
    pub(super) crc32c: String,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Contents {
    /// The rows of a table.
    Table(String),
    Sequences,
    Procedures,
}

impl Contents {
    /// The name of the file at `position` of the list.
    pub(super) fn file_name(&self, position: usize) -> String {
        match self {
            Contents::Table(_) => format!("table-{}.jsonl", position + 1),
            Contents::Sequences => "sequences.jsonl".to_owned(),
            Contents::Procedures => "procedures.jsonl".to_owned(),
        }
    }
}

/// A checksum as an export writes it.
pub(super) fn checksum_text(checksum: u32) -> String {
    format!("{checksum:08x}")
}

impl Manifest {
    pub(super) fn new(
        database: Option<String>,
        epoch: u64,
        taken: String,
        functions: Vec<String>,
        files: Vec<ListedFile>,
    ) -> Manifest {
        let manifest = Manifest { version: VERSION, database, epoch, taken, functions, files };
        assert_eq!(manifest.flaw(), None, "an export that cannot be imported");
        manifest
    }

    /// What no manifest says of its files, written or read.
    fn flaw(&self) -> Option<String> {
        let [tables @ .., sequences, procedures] = &self.files[..] else {
            return Some("it lists too few files".to_owned());
        };
        let tables: Vec<Option<&str>> = tables.iter().map(ListedFile::table).collect();
        let are_ascending = tables.iter().all(Option::is_some) && tables.is_sorted_by(|one, next| one < next);
        let are_last = sequences.holds == Contents::Sequences && procedures.holds == Contents::Procedures;
        if !are_ascending || !are_last {
            return Some("its files are not those of tables by name, of sequences and of procedures".to_owned());
        }
        let mut named = self.files.iter().enumerate();
        let wrong = named.find(|(position, file)| file.name != file.holds.file_name(*position))?.1;
        Some(format!("`{}` is no name of a file of an export", wrong.name))
    }

    /// What the file holds.
    pub(super) fn text(&self) -> String {
        assert_eq!(self.flaw(), None, "checked when it was made");
        let json = serde_json::to_string(self).expect("a manifest is JSON");
        format!("{json}\n{CHECKSUM}{}\n", checksum_text(crc_fast::crc32_iscsi(json.as_bytes())))
    }

    /// Reads the manifest in `dir`, and checks that nothing but what it lists lies there. Where there is none, the error says
    /// what is there instead.
    pub(super) fn load(disk: &dyn Disk, dir: &Path) -> Result<Manifest, ExportError> {
        let (path, of_directory) = (dir.join(FILE_NAME), || dir.to_owned());
        if !disk.exists(dir).map_err(ExportError::io("look for", dir))? {
            return Err(ExportError::NotThere { path: of_directory() });
        }
        let listed = disk.list(dir).map_err(ExportError::io("list", dir))?;
        let holds = |name: &str| listed.contains(&dir.join(name));
        if !holds(FILE_NAME) {
            return Err(match holds(TEMPORARY_NAME) {
                true => ExportError::NotWhole { path: of_directory() },
                false => ExportError::NoExport { path: of_directory() },
            });
        }
        let manifest = Manifest::read(disk, &path)?;
        // Somebody may have tried to open the export as a database.
        let is_lock = |found: &Path| found.ends_with(LOCK_NAME);
        let is_listed = |found: &Path| manifest.files.iter().any(|file| dir.join(&file.name) == *found);
        let is_ours = |found: &&PathBuf| **found == path || is_lock(found) || is_listed(found);
        match listed.iter().find(|found| !is_ours(found)) {
            Some(foreign) => Err(ExportError::Foreign { path: foreign.clone() }),
            None => Ok(manifest),
        }
    }

    fn read(disk: &dyn Disk, path: &Path) -> Result<Manifest, ExportError> {
        let damaged = |what: String| ExportError::Damaged { path: path.to_owned(), what };
        let file = disk.open(path, OpenMode::Read).map_err(ExportError::io("open", path))?;
        let length = file.len().map_err(ExportError::io("measure", path))?;
        if length > BYTES_MAX {
            return Err(damaged(format!("{length} bytes are too many")));
        }
        let mut bytes = vec![0; length as usize];
        let read = file.read_at(&mut bytes, 0).map_err(ExportError::io("read", path))?;
        let text = std::str::from_utf8(&bytes[..read]).map_err(|_| damaged("it is not text".to_owned()))?;
        let (json, rest) = text.split_once('\n').ok_or_else(|| damaged("it is cut short".to_owned()))?;
        let checksum = checksum_text(crc_fast::crc32_iscsi(json.as_bytes()));
        if rest != format!("{CHECKSUM}{checksum}\n") {
            return Err(damaged("its checksum does not fit".to_owned()));
        }
        let value: serde_json::Value = serde_json::from_str(json).map_err(|error| damaged(error.to_string()))?;
        match value["version"].as_u64() {
            Some(version) if version == u64::from(VERSION) => {}
            version => {
                let found = version.and_then(|version| u32::try_from(version).ok()).unwrap_or(0);
                return Err(ExportError::Version { path: path.to_owned(), found, newest: VERSION });
            }
        }
        let manifest: Manifest = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        match manifest.flaw() {
            Some(what) => Err(damaged(what)),
            None => Ok(manifest),
        }
    }
}

impl ListedFile {
    /// The table whose rows it holds.
    pub(super) fn table(&self) -> Option<&str> {
        match &self.holds {
            Contents::Table(name) => Some(name),
            Contents::Sequences | Contents::Procedures => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(holds: Contents, position: usize) -> ListedFile {
        let name = holds.file_name(position);
        ListedFile { name, holds, rows: 0, bytes: 0, crc32c: checksum_text(0) }
    }

    #[test]
    fn a_list_that_no_export_writes_is_refused() {
        let table = |name: &str| Contents::Table(name.to_owned());
        let flaw = |holds: Vec<Contents>| {
            let files = holds.into_iter().enumerate().map(|(at, holds)| listed(holds, at)).collect();
            let manifest =
                Manifest { version: 1, database: None, epoch: 1, taken: String::new(), functions: vec![], files };
            manifest.flaw()
        };
        let (sequences, procedures) = (Contents::Sequences, Contents::Procedures);
        assert_eq!(flaw(vec![sequences.clone(), procedures.clone()]), None);
        assert_eq!(flaw(vec![table("a"), table("b"), sequences.clone(), procedures.clone()]), None);
        assert!(flaw(vec![table("a"), table("a"), sequences.clone(), procedures.clone()]).is_some());
        assert!(flaw(vec![table("b"), table("a"), sequences.clone(), procedures.clone()]).is_some());
        assert!(flaw(vec![sequences.clone(), table("a"), procedures.clone()]).is_some());
        assert!(flaw(vec![procedures, sequences]).is_some() && flaw(vec![]).is_some());
        let mut away = vec![listed(Contents::Sequences, 0), listed(Contents::Procedures, 1)];
        away[0].name = "../sequences.jsonl".to_owned();
        let of =
            Manifest { version: 1, database: None, epoch: 1, taken: String::new(), functions: vec![], files: away };
        assert!(of.flaw().is_some());
    }
}
