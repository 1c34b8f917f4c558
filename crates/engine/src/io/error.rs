//! What a failed file operation means to people: its SQLSTATE, and what to do about it.

use std::io;
use std::path::Path;

use super::in_place::Displaced;
use super::os::said_of;

/// What the system said, for a message that names `path` and what was tried.
pub(crate) fn cause<'e>(error: &'e io::Error, path: &Path) -> &'e io::Error {
    said_of(error, path).unwrap_or(error)
}

/// Whether a device, or a user's quota, is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The SQLSTATE of a failed file operation.
pub(crate) fn io_sqlstate(error: &io::Error) -> &'static str {
    match error.kind() {
        _ if is_full(error) => "53100",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "42501",
        io::ErrorKind::NotFound => "58P01",
        _ => "58030",
    }
}

/// Whether the device failed, and did not only refuse: what it had taken before may be lost as well.
pub(crate) fn is_device_failure(error: &io::Error) -> bool {
    let is_refused = matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::NotFound
    );
    !is_refused && !is_full(error) && Displaced::of(error).is_none()
}

/// What to do about a failed write of an open database; begins with the punctuation that appends it to a message.
pub(crate) fn io_cure(error: &io::Error) -> &'static str {
    match error.kind() {
        _ if is_full(error) => "; make room on the device and try that again, nothing is lost",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; opening a database writes to its directories: make them writable, or open a copy"
        }
        _ => "",
    }
}

/// As [`io_cure`], for what reads one place and writes to another.
pub(crate) fn copy_cure(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; let this user read and write there, or name another directory"
        }
        _ => io_cure(error),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::database::Database;
    use crate::directory::DirectoryError;
    use crate::io::{Disk, OsDisk};

    #[test]
    fn a_path_is_named_once() {
        let path = std::env::temp_dir().join("osier-is-not-here");
        let error = OsDisk.status(&path).map_err(DirectoryError::io("look at", &path)).unwrap_err().to_string();
        assert_eq!(error.matches("osier-is-not-here").count(), 1, "{error}");
        assert!(error.starts_with("cannot look at ") && error.contains("No such file"), "{error}");
    }

    #[test]
    fn an_empty_path_is_said_to_be_empty() {
        let error = Database::open(Config::new("")).map(drop).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("the directory whose name is empty: No such file") && text.contains("check the path"),
            "{text}"
        );
        assert_eq!(error.sqlstate(), "3D000");
    }
}
