//! The claim on a database's directories: each is locked and known for what it is, before anything in it is read or written.
//!
//! ```text
//! each directory:  create -> compare with the others -> lock -> read its identity
//! then:            manifest -> find each of its directories among those named
//! store:           sync home -> write identities with the next incarnation -> store the manifest -> write identities with
//!                  that alone
//! ```
//!
//! Invariants:
//! - The directories that the caller names are the truth. Where the manifest remembers them serves messages only; no file is
//!   opened through a remembered path.
//! - Directories are compared by device and number, never by their paths; each is named once.
//! - A directory that is new to the database holds nothing.
//! - A directory is left out only if nothing in it is needed; its index is not given again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::create::on_the_way_to;
use super::identity::{self, Identity};
use super::overlap::refuse_among_files;
use super::{
    CHECKPOINTS_NAME, DirectoryError, LOCK_NAME, SOCKET_NAME, UNFINISHED_NAME, create_durably, create_streams,
};
use crate::config::{Config, Create};
use crate::directory::faults;
use crate::directory::manifest::{self, Layout, Manifest, ManifestError};
use crate::ids::{DatabaseId, Incarnation};
use crate::io::in_place::{DiskInPlace, Guarded};
use crate::io::{Disk, FileStatus};
use crate::log::format::segment::{self, FileName, is_stream_directory};

/// The directories of one database, held until this is dropped.
pub(crate) struct Claim {
    disk: Arc<dyn Disk>,
    /// The database in them; the name of the one to be created where there is none.
    database: DatabaseId,
    /// That of its manifest; [`Incarnation::NONE`] where there is none.
    incarnation: Incarnation,
    directories: Vec<Claimed>,
    /// Their locks.
    guarded: Arc<[Guarded]>,
}

/// A lock on a directory, held until it is dropped.
pub(crate) type Lock = Box<dyn crate::io::Lock>;

struct Claimed {
    path: PathBuf,
    /// Its index in the manifest.
    index: u32,
}

impl Claim {
    /// Creates, locks and identifies the directories of `config`. Returns the manifest of the database in them with its
    /// directories where they lie now; `None` where there is no database, and every directory is fit for a new one.
    pub(crate) fn take(config: &Config) -> Result<(Claim, Option<Manifest>), DirectoryError> {
        let disk = &*config.environment.disk;
        let (mut seen, mut locks) = (Vec::new(), Vec::new());
        for path in named(config) {
            prepare(disk, path, config.create)?;
            let status = disk.status(path).map_err(DirectoryError::io("look at", path))?;
            refuse_twice(&seen, path, status)?;
            locks.push(Guarded::new(&absolute(disk, path)?, lock(disk, path)?));
            seen.push(NamedDirectory::look(disk, path, status)?);
        }
        assert_eq!(locks.len(), seen.len(), "every directory is locked before the manifest is read");
        refuse_other_home(disk, &seen[0])?;
        let mut manifest = Manifest::load(disk, &config.dirs[0], &config.dirs)?;
        let indexes = match &mut manifest {
            Some(manifest) => Matching { disk, manifest, seen: &seen }.open(config.dirs.len())?,
            None => {
                refuse_occupied(disk, &seen)?;
                (0..seen.len() as u32).collect()
            }
        };
        assert!(indexes.len() == seen.len() && indexes[0] == 0, "the first directory holds the manifest");
        let is_new = |at: usize| !indexes[..at].contains(&indexes[at]);
        assert!((0..indexes.len()).all(is_new), "two directories are one of the database's: {indexes:?}");
        let (incarnation, database) = match &manifest {
            Some(manifest) => (manifest.incarnation(), manifest.database),
            // A creation that is begun again has the same name.
            None => (Incarnation::NONE, seen[0].identity.map_or(DatabaseId(fastrand::u128(1..)), |home| home.database)),
        };
        let claimed = |(seen, index): (NamedDirectory, _)| Ok(Claimed { path: absolute(disk, &seen.path)?, index });
        let directories = seen.into_iter().zip(indexes).map(claimed).collect::<Result<_, DirectoryError>>()?;
        let disk = config.environment.disk.clone();
        Ok((Claim { disk, database, incarnation, directories, guarded: locks.into() }, manifest))
    }

    /// Returns the configuration to work in the directories with: absolute paths, and a disk that changes nothing unless the
    /// directories still lie where they were claimed.
    pub(crate) fn hold(&self, config: Config) -> Result<Config, DirectoryError> {
        let mut config = anchored(config)?;
        config.environment.disk = self.guard(config.environment.disk);
        Ok(config)
    }

    /// A disk that changes nothing in the directories unless they still lie where they were claimed.
    pub(crate) fn guard(&self, disk: Arc<dyn Disk>) -> Arc<dyn Disk> {
        Arc::new(DiskInPlace::new(disk, &self.guarded))
    }

    /// Fails where a directory no longer lies where it was claimed.
    pub(crate) fn expect_in_place(&self) -> io::Result<()> {
        self.guarded.iter().try_for_each(Guarded::expect_in_place)
    }

    /// Returns any file in the directories, beside what the claim itself created.
    pub(crate) fn occupant(&self) -> Result<Option<PathBuf>, DirectoryError> {
        let on_the_way = on_the_way_to(self.directories.iter().map(|claimed| claimed.path.as_path()));
        for Claimed { path, .. } in &self.directories {
            let entries = self.disk.list(path).map_err(DirectoryError::io("list", path))?;
            let is_ours = |entry: &PathBuf| entry.ends_with(LOCK_NAME) || on_the_way.contains(entry);
            if let Some(entry) = entries.into_iter().find(|entry| !is_ours(entry)) {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Creates a database in the directories, which are empty; returns its manifest, which is stored.
    pub(crate) fn create(&mut self, config: &Config) -> Result<Manifest, DirectoryError> {
        assert_eq!(self.incarnation, Incarnation::NONE, "there is a database already");
        let mut manifest = Manifest::new(self.database, config.protocol, config.streams, &config.dirs);
        manifest.current.logged = config.logged.on_disk();
        self.store(&manifest)?;
        Ok(manifest)
    }

    /// Makes `manifest` the database's. Should this be cut off, the directories belong to the manifest before or to this one.
    pub(crate) fn store(&mut self, manifest: &Manifest) -> Result<(), DirectoryError> {
        let (incarnation, next) = (manifest.incarnation(), Incarnation::NONE);
        let is_listed = |claimed: &Claimed| (claimed.index as usize) < manifest.directories.len();
        assert!(self.directories.iter().all(is_listed), "a manifest lists every directory of its database");
        let is_new = self.incarnation == Incarnation::NONE;
        assert!(is_new || self.database == manifest.database, "{} becomes another database", self.database);
        assert_eq!(self.directories[0].index, 0, "home comes first");
        let identity =
            Identity { database: manifest.database, index: 0, incarnation: self.incarnation, next: incarnation };
        let home = &self.directories[0].path;
        let in_place = || self.expect_in_place().map_err(DirectoryError::io("go on in", home));
        in_place()?;
        // What was read may be a manifest whose name could not be synced: no identity may outlive it.
        let settle = || self.disk.sync_dir(home).map_err(DirectoryError::io("sync the directory", home));
        faults::settle_manifest(settle)?;
        // These fit the manifest before as well as this one.
        faults::identify_first(|| self.identify(&identity))?;
        in_place()?;
        create_streams(&*self.disk, home, manifest)?;
        manifest.store(&*self.disk, home)?;
        self.identify(&Identity { incarnation, next, ..identity })?;
        (self.database, self.incarnation) = (manifest.database, incarnation);
        Ok(())
    }

    /// Writes the identity of every directory, with its own index.
    fn identify(&self, identity: &Identity) -> Result<(), DirectoryError> {
        let of = |claimed: &Claimed| Identity { index: claimed.index, ..*identity };
        self.directories.iter().try_for_each(|claimed| of(claimed).store(&*self.disk, &claimed.path))?;
        self.confirm(identity)
    }

    /// Reads the identity of every directory again: another mount of one directory may look like another directory.
    fn confirm(&self, identity: &Identity) -> Result<(), DirectoryError> {
        for claimed in &self.directories {
            let Some(found) = Identity::load(&*self.disk, &claimed.path)? else {
                return Err(DirectoryError::Vanished { path: claimed.path.clone() });
            };
            if found != (Identity { index: claimed.index, ..*identity }) {
                let other =
                    self.directories.iter().find(|other| other.index == found.index && other.index != claimed.index);
                let second = other.map_or_else(|| claimed.path.join(identity::FILE_NAME), |other| other.path.clone());
                return Err(DirectoryError::SameDirectory { first: claimed.path.clone(), second });
            }
        }
        Ok(())
    }
}

/// Reads the manifest of the database in the directories of `config`, with its directories where they lie now; `None` where
/// there is none. Nothing is created, locked or written.
pub(crate) fn find(config: &Config) -> Result<Option<Manifest>, DirectoryError> {
    let disk = &*config.environment.disk;
    if !disk.exists(&config.dirs[0]).map_err(DirectoryError::io("look for", &config.dirs[0]))? {
        return Ok(None);
    }
    let seen = look_at(disk, named(config), NamedDirectory::look)?;
    refuse_other_home(disk, &seen[0])?;
    let Some(mut manifest) = Manifest::load(disk, &config.dirs[0], &config.dirs)? else { return Ok(None) };
    Matching { disk, manifest: &mut manifest, seen: &seen }.read()?;
    Ok(Some(manifest))
}

/// As [`find`], for a database that may be damaged: directories that contradict the manifest are left out. Says which ones are
/// missing.
pub(crate) fn find_damaged(config: &Config) -> Result<Option<(Manifest, Vec<String>)>, DirectoryError> {
    let disk = &*config.environment.disk;
    let Some(mut manifest) = Manifest::load(disk, &config.dirs[0], &config.dirs)? else { return Ok(None) };
    let seen = look_at(disk, named(config), |disk, path, status| {
        let identity = Identity::load(disk, path).unwrap_or(None);
        Ok(NamedDirectory { path: path.to_owned(), status, identity })
    })?;
    let missing = Matching { disk, manifest: &mut manifest, seen: &seen }.salvage();
    Ok(Some((manifest, missing)))
}

/// Looks at directories, of which no two may be one.
fn look_at<'p>(
    disk: &dyn Disk,
    paths: impl IntoIterator<Item = &'p PathBuf>,
    look: impl Fn(&dyn Disk, &Path, FileStatus) -> Result<NamedDirectory, DirectoryError>,
) -> Result<Vec<NamedDirectory>, DirectoryError> {
    let mut seen = Vec::new();
    for path in paths {
        let status = disk.status(path).map_err(DirectoryError::io("look at", path))?;
        refuse_twice(&seen, path, status)?;
        seen.push(look(disk, path, status)?);
    }
    Ok(seen)
}

/// Locks a directory.
pub(crate) fn lock(disk: &dyn Disk, directory: &Path) -> Result<Lock, DirectoryError> {
    let path = directory.join(LOCK_NAME);
    disk.lock(&path).map_err(not_locked(disk, directory, path))
}

fn not_locked<'a>(
    disk: &'a dyn Disk,
    directory: &'a Path,
    locked: PathBuf,
) -> impl FnOnce(io::Error) -> DirectoryError + 'a {
    move |source| match source.kind() {
        io::ErrorKind::WouldBlock => {
            DirectoryError::InUse { path: directory.to_owned(), process: disk.lock_holder(&locked) }
        }
        _ => DirectoryError::Io { action: "lock", path: locked, source },
    }
}

/// Locks the directories of a database that is only read: nothing is created there. Where a lock file is missing its directory
/// alone is locked, which an open database holds locked, too. On a read-only file system no process has it open.
pub(crate) fn lock_to_read(config: &Config) -> Result<Vec<Lock>, DirectoryError> {
    let disk = &*config.environment.disk;
    // Named twice, a directory would be found locked, by this process.
    look_at(disk, present(config)?, |_, path, status| {
        Ok(NamedDirectory { path: path.to_owned(), status, identity: None })
    })?;
    let mut locks = Vec::new();
    for directory in named(config) {
        let path = directory.join(LOCK_NAME);
        if disk.exists(&path).map_err(DirectoryError::io("look for", &path))? {
            match lock(disk, directory) {
                Err(DirectoryError::Io { source, .. }) if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
                lock => locks.push(lock?),
            }
        } else {
            let locked = disk.lock_directory(directory);
            locks.extend(locked.map_err(not_locked(disk, directory, directory.to_owned()))?);
        }
    }
    Ok(locks)
}

/// Returns the configuration with paths that name the same directories wherever this process goes.
pub(crate) fn anchored(mut config: Config) -> Result<Config, DirectoryError> {
    let disk = &*config.environment.disk;
    for path in config.dirs.iter_mut().chain(&mut config.leaving) {
        *path = absolute(disk, path)?;
    }
    Ok(config)
}

fn absolute(disk: &dyn Disk, path: &Path) -> Result<PathBuf, DirectoryError> {
    disk.absolute(path).map_err(DirectoryError::io("look for", path))
}

/// Every directory that `config` names.
fn named(config: &Config) -> impl Iterator<Item = &PathBuf> {
    config.dirs.iter().chain(&config.leaving)
}

/// Those of them that are there.
fn present(config: &Config) -> Result<Vec<&PathBuf>, DirectoryError> {
    let mut present = Vec::new();
    for path in named(config) {
        if config.environment.disk.exists(path).map_err(DirectoryError::io("look for", path))? {
            present.push(path);
        }
    }
    Ok(present)
}

/// Creates a directory, durably, unless nothing is to be created.
fn prepare(disk: &dyn Disk, path: &Path, create: Create) -> Result<(), DirectoryError> {
    let identity = path.join(identity::FILE_NAME);
    if disk.exists(&identity).map_err(DirectoryError::io("look for", &identity))? {
        return Ok(());
    }
    if create == Create::Never && !disk.exists(path).map_err(DirectoryError::io("look for", path))? {
        return Err(DirectoryError::NotThere { path: path.to_owned() });
    }
    create_durably(disk, path)
}

/// What was found at a path that the caller named.
struct NamedDirectory {
    path: PathBuf,
    status: FileStatus,
    identity: Option<Identity>,
}

impl NamedDirectory {
    fn look(disk: &dyn Disk, path: &Path, status: FileStatus) -> Result<NamedDirectory, DirectoryError> {
        for entry in disk.list(path).map_err(DirectoryError::io("list", path))? {
            let is_ours = is_stream_directory(&entry) || entry.ends_with(CHECKPOINTS_NAME);
            if is_ours && disk.status(&entry).map_err(DirectoryError::io("look at", &entry))?.is_symbolic_link {
                return Err(DirectoryError::Link { path: entry });
            }
        }
        Ok(NamedDirectory { path: path.to_owned(), status, identity: Identity::load(disk, path)? })
    }
}

fn refuse_twice(seen: &[NamedDirectory], path: &Path, status: FileStatus) -> Result<(), DirectoryError> {
    match faults::twice(seen.iter().find(|other| other.status.id == status.id)) {
        Some(first) => Err(DirectoryError::SameDirectory { first: first.path.clone(), second: path.to_owned() }),
        None => Ok(()),
    }
}

fn paths(seen: &[NamedDirectory]) -> impl Iterator<Item = &Path> {
    seen.iter().map(|one| one.path.as_path())
}

/// Every directory is fit for a new database.
fn refuse_occupied(disk: &dyn Disk, seen: &[NamedDirectory]) -> Result<(), DirectoryError> {
    seen.iter().try_for_each(|one| refuse_among_files(disk, paths(seen), &one.path))?;
    seen.iter().try_for_each(|one| {
        refuse_identified(one, seen.first())?;
        refuse_file(disk, one, seen)
    })
}

/// Fails where one of the directories that are there is one of a database. Its manifest is not in the first.
pub(super) fn refuse_known(config: &Config) -> Result<(), DirectoryError> {
    let disk = &*config.environment.disk;
    let seen = look_at(disk, present(config)?, |disk, path, status| {
        Ok(NamedDirectory { path: path.to_owned(), status, identity: Identity::load(disk, path)? })
    })?;
    let home = seen.iter().find(|one| one.path == config.dirs[0]);
    home.map_or(Ok(()), |home| refuse_other_home(disk, home))?;
    seen.iter().try_for_each(|one| refuse_identified(one, home))
}

/// Fails where a directory is one of a database, whose manifest is not in `home`.
fn refuse_identified(one: &NamedDirectory, home: Option<&NamedDirectory>) -> Result<(), DirectoryError> {
    match &one.identity {
        None => Ok(()),
        // A creation of the same database was begun, home first, and did not come to its manifest.
        Some(identity)
            if identity.incarnation == Incarnation::NONE
                && home.and_then(|home| home.identity).is_some_and(|home| home.database == identity.database) =>
        {
            Ok(())
        }
        Some(_) if home.is_some_and(|home| home.path == one.path) => {
            let log = one.path.join(identity::FILE_NAME);
            Err(ManifestError::Missing { path: one.path.join(manifest::FILE_NAME), log }.into())
        }
        Some(_) => Err(foreign(one, one.path.join(identity::FILE_NAME))),
    }
}

/// The first directory is the one that holds the manifest.
fn refuse_other_home(disk: &dyn Disk, home: &NamedDirectory) -> Result<(), DirectoryError> {
    let path = home.path.clone();
    match home.identity {
        Some(Identity { index: 0, .. }) | None => Ok(()),
        Some(Identity { index, .. }) if disk.exists(&path.join(manifest::FILE_NAME)).unwrap_or(false) => {
            Err(DirectoryError::Mixed { home: path, what: format!("the first is of directory {index} of a database") })
        }
        Some(Identity { index, database, .. }) => Err(DirectoryError::NotHome { path, index, database }),
    }
}

fn foreign(seen: &NamedDirectory, file: PathBuf) -> DirectoryError {
    DirectoryError::ForeignFile { path: seen.path.clone(), file }
}

/// A directory that is new holds nothing but what an open that did not end left behind, and the way to other directories.
fn refuse_file(disk: &dyn Disk, seen: &NamedDirectory, all: &[NamedDirectory]) -> Result<(), DirectoryError> {
    let on_the_way = on_the_way_to(all.iter().map(|one| one.path.as_path()));
    let on_the_way: Vec<_> =
        on_the_way.iter().filter_map(|path| disk.status(path).ok()).map(|found| found.id).collect();
    for entry in disk.list(&seen.path).map_err(DirectoryError::io("list", &seen.path))? {
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if NAMES_OF_NEW.contains(&name) {
            continue;
        }
        let status = disk.status(&entry).map_err(DirectoryError::io("look at", &entry))?;
        if !status.is_symbolic_link && on_the_way.contains(&status.id) {
            continue;
        }
        if !is_stream_directory(&entry) {
            return Err(foreign(seen, entry));
        }
        let files = disk.list(&entry).map_err(DirectoryError::io("list", &entry))?;
        if let Some(file) = files.into_iter().find(|file| FileName::parse(file).is_some()) {
            return Err(foreign(seen, file));
        }
    }
    Ok(())
}

/// What a directory may hold that is none of a database yet.
const NAMES_OF_NEW: [&str; 7] = [
    LOCK_NAME,
    UNFINISHED_NAME,
    SOCKET_NAME,
    identity::FILE_NAME,
    identity::TEMPORARY_NAME,
    manifest::TEMPORARY_NAME,
    "lost+found",
];

/// Finds the directories of a manifest among those that the caller named, of which the first is home.
struct Matching<'m> {
    disk: &'m dyn Disk,
    manifest: &'m mut Manifest,
    seen: &'m [NamedDirectory],
}

impl Matching<'_> {
    /// The index of every named directory; new ones get the next ones, except behind the first `places`: they are leaving.
    fn open(&mut self, places: usize) -> Result<Vec<u32>, DirectoryError> {
        let found = self.assign()?;
        assert!(places <= found.len(), "who leaves is named last");
        self.leave_out(&found)?;
        let mut indexes = Vec::with_capacity(found.len());
        for (position, (seen, index)) in self.seen.iter().zip(found).enumerate() {
            indexes.push(match index {
                Some(index) => index,
                None if position >= places => {
                    return Err(DirectoryError::NotPart { path: seen.path.clone(), home: self.home().to_owned() });
                }
                None => {
                    refuse_among_files(self.disk, paths(self.seen), &seen.path)?;
                    refuse_file(self.disk, seen, self.seen)?;
                    self.manifest.add_directory(&self.seen[0].path, &seen.path)
                }
            });
        }
        let is_listed =
            |index: &u32| self.manifest.directories.get(*index as usize).is_some_and(|directory| !directory.is_retired);
        assert!(indexes.iter().all(is_listed), "a directory that the manifest left out: {indexes:?}");
        Ok(indexes)
    }

    /// Notes where the directories lie, for callers that only read.
    fn read(&mut self) -> Result<(), DirectoryError> {
        let found = self.assign()?;
        self.leave_out(&found)
    }

    /// The index of every named directory; `None` for one that is new.
    fn assign(&mut self) -> Result<Vec<Option<u32>>, DirectoryError> {
        let mut found: Vec<Option<u32>> = Vec::with_capacity(self.seen.len());
        for (position, seen) in self.seen.iter().enumerate() {
            let index = match &seen.identity {
                Some(identity) => self.identified(seen, identity)?,
                None if self.manifest.incarnation() == Incarnation::NONE => {
                    self.unidentified(position, seen, &found)?
                }
                None if position == 0 => {
                    return Err(DirectoryError::IdentityMissing { path: seen.path.join(identity::FILE_NAME) });
                }
                None if self.holds_files(seen)? => {
                    return Err(DirectoryError::IdentityMissing { path: seen.path.join(identity::FILE_NAME) });
                }
                None => None,
            };
            if let Some(first) = index.and_then(|_| found.iter().position(|other| *other == index)) {
                let (first, second) = (self.seen[first].path.clone(), seen.path.clone());
                return Err(DirectoryError::SameIdentity { first, second, index: index.unwrap_or_default() });
            }
            found.push(index);
        }
        assert_eq!(found.len(), self.seen.len(), "an index or none for each directory");
        for (seen, index) in self.seen.iter().zip(&found) {
            if let Some(index) = index {
                self.manifest.locate(*index, &self.seen[0].path, &seen.path);
            }
        }
        Ok(found)
    }

    fn home(&self) -> &Path {
        &self.seen[0].path
    }

    fn identified(&self, seen: &NamedDirectory, identity: &Identity) -> Result<Option<u32>, DirectoryError> {
        let (path, home) = (seen.path.clone(), self.home().to_owned());
        let (found, expected) = (identity.database, self.manifest.database);
        if found != expected {
            return Err(DirectoryError::OtherDatabase { path, home, found, expected });
        }
        let entry = self.manifest.directories.get(identity.index as usize);
        match entry {
            Some(entry) if entry.is_retired => Err(DirectoryError::Retired { path, home }),
            Some(_) if identity.fits(self.manifest.incarnation()) => Ok(Some(identity.index)),
            // An open that was to add it did not end.
            None if identity.incarnation == self.manifest.incarnation() => Ok(None),
            // An open that was to add it did not end, and later opens went on without it.
            _ if !self.is_missed(identity.index) && refuse_file(self.disk, seen, self.seen).is_ok() => Ok(None),
            _ => Err(DirectoryError::OtherCopy { path, home }),
        }
    }

    /// Whether the manifest lists a directory of this index, and it is not among those named.
    fn is_missed(&self, index: u32) -> bool {
        let is_it = |identity: Identity| identity.index == index && identity.fits(self.manifest.incarnation());
        let is_listed = (index as usize) < self.manifest.directories.len();
        is_listed && !self.seen.iter().filter_map(|seen| seen.identity).any(is_it)
    }

    /// The index of a directory of a database from before there were identities: the one that it has where the manifest
    /// remembers it, else the one at its place in the list. What it holds must be of this database.
    fn unidentified(
        &self,
        position: usize,
        seen: &NamedDirectory,
        found: &[Option<u32>],
    ) -> Result<Option<u32>, DirectoryError> {
        assert_eq!(
            self.manifest.incarnation(),
            Incarnation::NONE,
            "since there are identities, each directory has one"
        );
        if position == 0 {
            return Ok(Some(0));
        }
        let is_it = |path: &Path| self.disk.status(path).is_ok_and(|status| status.id == seen.status.id);
        let known = 1..self.manifest.directories.len() as u32;
        let mut remembered = known.clone().filter(|index| is_it(&self.manifest.directory(self.home(), *index)));
        let at_its_place = u32::try_from(position).ok().filter(|index| known.contains(index));
        let index = remembered.next().or(at_its_place).filter(|index| !found.contains(&Some(*index)));
        if refuse_file(self.disk, seen, self.seen).is_ok() {
            return Ok(index.filter(|index| is_it(&self.manifest.directory(self.home(), *index))));
        }
        match first_segment(self.disk, &seen.path)? {
            Some((_, database)) if database != self.manifest.database => Err(DirectoryError::OtherDatabase {
                path: seen.path.clone(),
                home: self.home().to_owned(),
                found: database,
                expected: self.manifest.database,
            }),
            _ if index.is_some() && self.holds_files(seen)? => Ok(index),
            _ => refuse_file(self.disk, seen, self.seen).map(|()| None),
        }
    }

    /// Whether a directory looks like one of a database.
    fn holds_files(&self, seen: &NamedDirectory) -> Result<bool, DirectoryError> {
        let entries = self.disk.list(&seen.path).map_err(DirectoryError::io("list", &seen.path))?;
        let is_ours = |entry: &PathBuf| is_stream_directory(entry) || entry.ends_with(CHECKPOINTS_NAME);
        Ok(entries.iter().any(is_ours))
    }

    /// Retires the directories that were not named, if nothing in them is needed.
    fn leave_out(&mut self, found: &[Option<u32>]) -> Result<(), DirectoryError> {
        for index in 0..self.manifest.directories.len() as u32 {
            if found.contains(&Some(index)) || self.manifest.directories[index as usize].is_retired {
                continue;
            }
            if let Some(what) = needs(self.manifest, index) {
                let (home, last) = (self.home().to_owned(), self.manifest.directory(self.home(), index));
                let there = self.disk.status(&last).ok().map(|status| status.id);
                let is_emptied =
                    |(seen, found): (&NamedDirectory, &Option<u32>)| found.is_none() && there == Some(seen.status.id);
                if self.seen.iter().zip(found).any(is_emptied) {
                    return Err(DirectoryError::Emptied { path: last, home, index, what });
                }
                return Err(DirectoryError::Missing { home, index, last, what });
            }
            assert_ne!(index, 0, "the first directory is needed as long as there is a database");
            self.manifest.directories[index as usize].is_retired = true;
        }
        Ok(())
    }

    /// Puts what fits in its place. Says which directories are missing; none of them is looked for elsewhere.
    fn salvage(&mut self) -> Vec<String> {
        let count = self.manifest.directories.len() as u32;
        let mut places: Vec<Option<&Path>> = vec![None; count as usize];
        for (position, seen) in self.seen.iter().enumerate() {
            let index = match &seen.identity {
                _ if position == 0 => Some(0),
                Some(identity) if identity.database == self.manifest.database => {
                    Some(identity.index as usize).filter(|_| identity.fits(self.manifest.incarnation()))
                }
                Some(_) => None,
                None => Some(position),
            };
            if let Some(place) = index.and_then(|index| places.get_mut(index))
                && place.is_none()
            {
                *place = Some(&seen.path);
            }
        }
        let home = self.seen[0].path.clone();
        let mut missing = Vec::new();
        for (index, place) in (0..count).zip(places) {
            match place {
                Some(path) => self.manifest.locate(index, &home, path),
                None => {
                    let last = self.manifest.directory(&home, index);
                    if let Some(what) = needs(self.manifest, index) {
                        missing.push(format!(
                            "directory {index} is not among those named, and {what}; it was last at {}",
                            last.display()
                        ));
                    }
                    self.manifest.directories[index as usize].path = format!("directory-{index}-was-not-named").into();
                }
            }
        }
        missing
    }
}

/// What of the database lies in a directory; `None` if nothing does.
fn needs(manifest: &Manifest, index: u32) -> Option<String> {
    let log = |layout: &Layout| {
        let stream = layout.streams.iter().position(|directory| *directory == index)?;
        Some(format!("holds stream {stream} of generation {}", layout.generation))
    };
    let current = Some(&manifest.current).filter(|_| !manifest.is_closed());
    let layouts = manifest.frozen.iter().map(|frozen| &frozen.layout).chain(current);
    let part = |entry: &manifest::CheckpointEntry| {
        let holds = entry.parts.iter().any(|part| part.directory == index);
        holds.then(|| format!("holds a part of checkpoint {}", entry.number))
    };
    let home = (index == 0).then(|| "is the first one".to_owned());
    home.or_else(|| manifest.checkpoints.iter().find_map(part)).or_else(|| layouts.into_iter().find_map(log))
}

/// Any segment below `directory` whose header can be read, and the database that it says it is of.
fn first_segment(disk: &dyn Disk, directory: &Path) -> Result<Option<(PathBuf, DatabaseId)>, DirectoryError> {
    for stream in disk.list(directory).map_err(DirectoryError::io("list", directory))? {
        if !is_stream_directory(&stream) {
            continue;
        }
        for file in disk.list(&stream).map_err(DirectoryError::io("list", &stream))? {
            if let Some(FileName::Segment { .. }) = FileName::parse(&file)
                && let Ok((header, _)) = segment::read_header(disk, &file)
            {
                return Ok(Some((file, header.log.database())));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::disk_for_tests::TestDisk;

    #[test]
    fn a_directory_that_goes_away_is_no_other_one() {
        let (disk, paths) = (Arc::new(TestDisk::new()), ["/db", "/more"].map(PathBuf::from));
        paths.iter().for_each(|path| disk.create_dir_all(path).unwrap());
        let directories = (0..).zip(paths.clone()).map(|(index, path)| Claimed { path, index }).collect();
        let (database, incarnation) = (DatabaseId(7), Incarnation(8));
        let claim = Claim { disk: disk.clone(), database, incarnation, directories, guarded: [].into() };
        let identity = Identity { database, index: 0, incarnation, next: Incarnation::NONE };
        claim.identify(&identity).unwrap();
        // What a mount of the first one would show.
        identity.store(&*disk, &paths[1]).unwrap();
        let error = claim.confirm(&identity).unwrap_err().to_string();
        assert!(error.starts_with("/more and /db are the same directory"), "{error}");
        disk.remove(&paths[1].join(identity::FILE_NAME)).unwrap();
        let error = claim.confirm(&identity).unwrap_err().to_string();
        assert!(error.starts_with("what was just written to /more is gone"), "{error}");
    }
}
