//! Copies of directories, as `cp -a` makes them.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Copies what lies in `from` to `to`, symbolic links as such.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    let mut entries: Vec<_> = fs::read_dir(from).expect("a listing").map(|entry| entry.expect("an entry")).collect();
    // Last: segments that it does not name any more may be removed meanwhile.
    entries.sort_by_key(|entry| entry.file_name() == "MANIFEST");
    for entry in entries {
        let (kind, target) = (entry.file_type().expect("a type"), to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target);
        } else if kind.is_symlink() {
            symlink(fs::read_link(entry.path()).expect("a link"), target).expect("a link");
        } else {
            // A spare segment may be renamed meanwhile; nobody reads it.
            let gone = |error: io::Error| assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
            fs::copy(entry.path(), target).map_or_else(gone, drop);
        }
    }
}
