//! Directories of a damaged database that the caller did not name: reports and dumps say where they were last.
//!
//! Invariant: no file is looked for there. The manifest at hand has a path for each of them at which nothing lies.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::directory::DirectoryError;
use crate::directory::manifest::Manifest;

/// Those directories.
#[derive(Debug, Default)]
pub(in crate::operate) struct Unnamed(Vec<Directory>);

#[derive(Debug)]
struct Directory {
    index: u32,
    /// Where `manifest` has it.
    stand_in: PathBuf,
    last: PathBuf,
}

impl Unnamed {
    /// Finds the directories of `manifest`, in which those that were named are located, that were not.
    pub(in crate::operate) fn find(damaged: &Config, manifest: &Manifest) -> Result<Unnamed, DirectoryError> {
        let (disk, home) = (&*damaged.environment.disk, &damaged.dirs[0]);
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let named: Vec<PathBuf> = damaged.dirs.iter().map(|path| absolute(path)).collect();
        let Some(stored) = Manifest::load(disk, home, &damaged.dirs)? else { return Ok(Unnamed::default()) };
        let known = 0..manifest.directories.len().min(stored.directories.len()) as u32;
        let directory = |index| {
            let (stand_in, last) = (manifest.directory(home, index), stored.directory(home, index));
            (!named.contains(&absolute(&stand_in))).then_some(Directory { index, stand_in, last })
        };
        Ok(Unnamed(known.filter_map(directory).collect()))
    }

    /// Returns where `path` was last, and what to say of it, if it lies in such a directory.
    pub(in crate::operate) fn last(&self, path: &Path) -> Option<(PathBuf, String)> {
        self.0.iter().find_map(|Directory { index, stand_in, last }| {
            let rest = path.strip_prefix(stand_in).ok()?;
            let last = if rest.as_os_str().is_empty() { last.clone() } else { last.join(rest) };
            Some((last, format!("it was here last, in directory {index}, which is not among those named")))
        })
    }
}
