//! Finds out which database the files in the damaged directories belong to, and whether the manifest is of that database.
//!
//! Invariants:
//! - A manifest of which there is no other file, beside files of another database, is not this database's.
//! - Files of two databases are never read together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::damage::Damage;
use super::report::SalvageReport;
use super::unnamed::Unnamed;
use crate::checkpoint::files::part_directory;
use crate::checkpoint::format::{HEADER_BYTES, PartIdentity};
use crate::config::Config;
use crate::directory::manifest::{self, Manifest};
use crate::directory::{self, DirectoryError};
use crate::error::{Error, RecoveryError, SalvageError};
use crate::ids::{DatabaseId, Generation};
use crate::io::{Disk, OpenMode};
use crate::log::format::segment::{self, FileName, is_stream_directory};

/// What the files are of.
pub(super) struct Origin {
    /// `None` where no file tells.
    pub(super) database: Option<DatabaseId>,
    /// `None` where there is none that can be read and is of this database.
    pub(super) manifest: Option<Manifest>,
    pub(super) unnamed: Unnamed,
}

/// How many files of a database there are, and one of them.
struct Owned {
    files: u64,
    example: PathBuf,
}

/// Finds the manifest, which must be there and be of the same database as the other files.
pub(super) fn provable(damaged: &Config, report: &mut SalvageReport) -> Result<(Manifest, Unnamed), Error> {
    let home = &damaged.dirs[0];
    let found = directory::find_damaged(damaged)?;
    let (manifest, missing) = found.ok_or_else(|| RecoveryError::NoDatabase { path: home.clone() })?;
    let owners = owners(damaged)?;
    let other = match owners.contains_key(&manifest.database) {
        true => None,
        false => most(&owners).map(|(database, owned)| (database, owned.example.clone())).or_else(|| identity(damaged)),
    };
    if let Some((database, file)) = other {
        let (path, manifest) = (home.join(manifest::FILE_NAME), manifest.database);
        return Err(SalvageError::OtherManifest { path, manifest, file, database }.into());
    }
    let unnamed = examine(damaged, &manifest, missing, report)?;
    Ok((manifest, unnamed))
}

/// Finds the database whose rows are to be read: the manifest's if any other file is of it, else the one with most files.
pub(super) fn of_rows(damaged: &Config, report: &mut SalvageReport) -> Result<Origin, Error> {
    let home = &damaged.dirs[0];
    let found = directory::find_damaged(damaged).unwrap_or_else(|error| {
        report.damage(home, None, error);
        None
    });
    let (owners, named) = (owners(damaged)?, found.as_ref().map(|(manifest, _)| manifest.database));
    let database = match named {
        Some(named) if owners.is_empty() || owners.contains_key(&named) => Some(named),
        _ => most(&owners).map(|(database, _)| database),
    };
    if database.is_none() && !owners.is_empty() {
        let databases = owners.into_keys().collect();
        return Err(SalvageError::SeveralDatabases { path: home.clone(), databases }.into());
    }
    match (found, named, database) {
        (Some((manifest, missing)), _, Some(database)) if manifest.database == database => {
            let unnamed = examine(damaged, &manifest, missing, report)?;
            Ok(Origin { database: Some(database), manifest: Some(manifest), unnamed })
        }
        (_, Some(named), Some(database)) => {
            let what =
                format!("it is of database {named} and was not used: the other files are of database {database}");
            report.damage(home.join(manifest::FILE_NAME), None, what);
            Ok(Origin { database: Some(database), manifest: None, unnamed: Unnamed::default() })
        }
        _ => Ok(Origin { database, manifest: None, unnamed: Unnamed::default() }),
    }
}

/// Reports which directories are missing, or what else an open would refuse them with.
fn examine(
    damaged: &Config,
    manifest: &Manifest,
    missing: Vec<String>,
    report: &mut SalvageReport,
) -> Result<Unnamed, Error> {
    let home = &damaged.dirs[0];
    if missing.is_empty()
        && let Err(error) = directory::find(damaged)
    {
        report.damages.push(Damage::of_directory(home, &error));
    }
    missing.into_iter().for_each(|what| report.damage(home, None, what));
    Ok(Unnamed::find(damaged, manifest)?)
}

/// The one database with the most files; `None` where two have as many.
fn most(owners: &BTreeMap<DatabaseId, Owned>) -> Option<(DatabaseId, &Owned)> {
    let (database, most) = owners.iter().max_by_key(|(_, owned)| owned.files)?;
    let is_alone = owners.values().filter(|owned| owned.files == most.files).count() == 1;
    is_alone.then_some((*database, most))
}

/// The database that the first directory's identity names, where it is not the manifest's.
fn identity(damaged: &Config) -> Option<(DatabaseId, PathBuf)> {
    match directory::find(damaged) {
        Err(DirectoryError::OtherDatabase { path, found, .. }) => Some((found, path)),
        _ => None,
    }
}

/// The databases that segments and parts of checkpoints say they are of.
fn owners(damaged: &Config) -> Result<BTreeMap<DatabaseId, Owned>, SalvageError> {
    let disk = &*damaged.environment.disk;
    let mut owners: BTreeMap<DatabaseId, Owned> = BTreeMap::new();
    let mut count = |database, path: &Path| {
        let owned = owners.entry(database).or_insert_with(|| Owned { files: 0, example: path.to_owned() });
        owned.files += 1;
    };
    for (path, ..) in segments(damaged)? {
        if let Ok((header, _)) = segment::read_header(disk, &path) {
            count(header.log.database(), &path);
        }
    }
    for path in parts(damaged)? {
        // What cannot be read tells nothing.
        if let Ok(Some(part)) = read_part(disk, &path) {
            count(part.database, &path);
        }
    }
    Ok(owners)
}

/// Returns the segments of all streams.
pub(super) fn segments(damaged: &Config) -> Result<Vec<(PathBuf, Generation, u64)>, SalvageError> {
    let (disk, mut found) = (&*damaged.environment.disk, Vec::new());
    for directory in &damaged.dirs {
        for stream in list(disk, directory)?.iter().filter(|path| is_stream_directory(path)) {
            found.extend(list(disk, stream)?.into_iter().filter_map(|path| match FileName::parse(&path) {
                Some(FileName::Segment { generation, sequence }) => Some((path, generation, sequence)),
                _ => None,
            }));
        }
    }
    Ok(found)
}

/// Returns the parts of checkpoints, named by the manifest or not.
pub(super) fn parts(damaged: &Config) -> Result<Vec<PathBuf>, SalvageError> {
    let mut found = Vec::new();
    for directory in &damaged.dirs {
        found.extend(list(&*damaged.environment.disk, &part_directory(directory))?);
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "ckpt"));
    Ok(found)
}

/// Returns which part of which checkpoint a file is; `None` where its header is damaged.
pub(super) fn read_part(disk: &dyn Disk, path: &Path) -> Result<Option<PartIdentity>, SalvageError> {
    let file = disk.open(path, OpenMode::Read).map_err(SalvageError::io("open", path))?;
    let mut header = vec![0; HEADER_BYTES];
    let read = file.read_at(&mut header, 0).map_err(SalvageError::io("read", path))?;
    Ok(PartIdentity::decode(&header[..read]))
}

fn list(disk: &dyn Disk, directory: &Path) -> Result<Vec<PathBuf>, SalvageError> {
    match disk.exists(directory).map_err(SalvageError::io("look for", directory))? {
        true => disk.list(directory).map_err(SalvageError::io("list", directory)),
        false => Ok(Vec::new()),
    }
}
