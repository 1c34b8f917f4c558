//! Directories that must lie apart: what is written to one may not fall into the other.
//!
//! Invariant: they are compared by device and number, all the way up, and not by how their paths are spelled.

use std::path::Path;

use super::create::or_here;
use super::{CHECKPOINTS_NAME, DirectoryError};
use crate::io::Disk;
use crate::log::format::segment::is_stream_directory;

/// Fails where `target`, which may be missing, is one of `directories`, or lies in one, or one in it.
pub(crate) fn refuse_overlap<'p>(
    disk: &dyn Disk,
    directories: impl IntoIterator<Item = &'p Path>,
    target: &Path,
) -> Result<(), DirectoryError> {
    let above_target = Ancestry::of(disk, target)?;
    for directory in directories {
        let above = Ancestry::of(disk, directory)?;
        let (path, within) = match (above_target.own, above.own) {
            (Some(one), Some(other)) if one == other => {
                let (first, second) = (directory.to_owned(), target.to_owned());
                return Err(DirectoryError::SameDirectory { first, second });
            }
            (_, Some(own)) if above_target.places.contains(&own) => (target, directory),
            (Some(own), _) if above.places.contains(&own) => (directory, target),
            _ => continue,
        };
        return Err(DirectoryError::Within { path: path.to_owned(), within: within.to_owned() });
    }
    Ok(())
}

/// Fails where `path` is, or lies in, a directory in which a database keeps files in one of `directories`.
pub(super) fn refuse_among_files<'p>(
    disk: &dyn Disk,
    directories: impl IntoIterator<Item = &'p Path>,
    path: &Path,
) -> Result<(), DirectoryError> {
    let above = Ancestry::of(disk, path)?;
    for directory in directories {
        for within in disk.list(directory).map_err(DirectoryError::io("list", directory))? {
            let has_files = is_stream_directory(&within) || within.ends_with(CHECKPOINTS_NAME);
            if has_files
                && above.places.contains(&disk.status(&within).map_err(DirectoryError::io("look at", &within))?.id)
            {
                return Err(DirectoryError::Within { path: path.to_owned(), within });
            }
        }
    }
    Ok(())
}

/// A directory, and those that it lies in.
struct Ancestry {
    /// `None` where it is missing.
    own: Option<(u64, u64)>,
    /// By name, and as the file system leads up, which differs behind a symbolic link.
    places: Vec<(u64, u64)>,
}

impl Ancestry {
    fn of(disk: &dyn Disk, path: &Path) -> Result<Ancestry, DirectoryError> {
        let mut ancestry = Ancestry { own: None, places: Vec::new() };
        for (depth, place) in path.ancestors().map(or_here).enumerate() {
            if !disk.exists(place).map_err(DirectoryError::io("look for", place))? {
                continue;
            }
            let id = disk.status(place).map_err(DirectoryError::io("look at", place))?.id;
            if depth == 0 {
                ancestry.own = Some(id);
            }
            if ancestry.places.is_empty() {
                ancestry.climb(disk, place);
            }
            ancestry.places.push(id);
            // The rest of its name leads down to it and not up; where it lies was seen from it.
            if place.ends_with("..") {
                break;
            }
        }
        assert!(!ancestry.places.is_empty(), "{} lies nowhere, not even below the working directory", path.display());
        Ok(ancestry)
    }

    /// Up to the root, or as far as this user may look.
    fn climb(&mut self, disk: &dyn Disk, from: &Path) {
        let mut place = from.to_owned();
        while let Ok(status) = disk.status(&place)
            && self.places.last() != Some(&status.id)
        {
            self.places.push(status.id);
            place.push("..");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::io::OsDisk;

    #[test]
    fn directories_that_overlap_are_told_however_they_are_spelled() {
        let root = std::env::temp_dir().join(format!("osier-overlap-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let [db, inner, other] = ["db", "db/checkpoints/a", "other"].map(|name| root.join(name));
        [&inner, &other].into_iter().for_each(|path| fs::create_dir_all(path).unwrap());
        symlink(&inner, root.join("link")).unwrap();
        let refused = |target: &str| {
            let dirs = [other.as_path(), db.as_path()];
            refuse_overlap(&OsDisk, dirs, &root.join(target)).map_err(|error| error.to_string()).err()
        };
        for target in ["db/checkpoints/a", "db/new/deeper", "link", "link/new", "other/../db/x", ""] {
            let error = refused(target).unwrap_or_else(|| panic!("{target} lies apart"));
            assert!(error.contains("lies in") && error.contains("name a directory outside"), "{error}");
        }
        assert!(refused("db/.").is_some_and(|error| error.contains("are the same directory")));
        for target in ["copy", "db2", "new/deeper", "db/../copy", "db/checkpoints/../../new/deeper"] {
            assert_eq!(refused(target), None, "{target}");
        }
        fs::remove_dir_all(&root).unwrap();
    }
}
