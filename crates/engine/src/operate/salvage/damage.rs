//! What is wrong with one file or directory, in the words of a report: the file is named once, and no cure is.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::directory::DirectoryError;
use crate::error::RecoveryError;
use crate::log::format::segment::SegmentError;

/// Something that is not as it was written.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Damage {
    /// The file or directory.
    pub path: PathBuf,
    /// Where in the file, where that is known.
    pub position: Option<u64>,
    /// What is wrong.
    pub what: String,
}

impl Damage {
    pub(super) fn new(path: impl Into<PathBuf>, position: Option<u64>, what: impl fmt::Display) -> Damage {
        Damage { path: path.into(), position, what: what.to_string() }
    }

    /// Returns the damage that recovery refuses; `near` stands for the file where the error names none.
    pub(super) fn of(near: &Path, error: &RecoveryError) -> Damage {
        match error {
            RecoveryError::MissingDirectory { path, .. } | RecoveryError::MissingSegment { path, promised: None } => {
                Damage::new(path, None, "it is missing")
            }
            RecoveryError::MissingSegment { path, promised: Some(promised) } => {
                let what = format!("it is missing, and others knew its stream to be durable up to {promised}");
                Damage::new(path, None, what)
            }
            RecoveryError::Segment(SegmentError::Short { path, found, expected }) => {
                Damage::short(path, *found, *expected)
            }
            RecoveryError::Segment(SegmentError::Header { path, source }) => Damage::new(path, Some(0), source),
            RecoveryError::Newest { path, what } => Damage::new(path, None, format!("it {what}")),
            RecoveryError::Chain { path, what } => {
                Damage::new(path, None, format!("it does not continue its stream: {what}"))
            }
            RecoveryError::Damaged { path, position, what, .. } => Damage::new(path, Some(*position), what),
            RecoveryError::LostDurable { path, .. }
            | RecoveryError::Contradiction { path, .. }
            | RecoveryError::ManifestTooOld { path, .. }
            | RecoveryError::NewestVersion { path, .. } => Damage::new(path, None, error),
            RecoveryError::Directory(error) => Damage::of_directory(near, error),
            error => Damage::new(near, None, error),
        }
    }

    /// Returns the damage for which an open refuses directories.
    pub(super) fn of_directory(near: &Path, error: &DirectoryError) -> Damage {
        match error {
            DirectoryError::IdentityMissing { path } => Damage::new(path, None, "it is missing"),
            DirectoryError::IdentityDamaged { path, what } => Damage::new(path, None, format!("it is damaged: {what}")),
            DirectoryError::OtherDatabase { path, found, expected, .. } => {
                Damage::new(path, None, format!("it belongs to database {found}, and MANIFEST to database {expected}"))
            }
            error => Damage::new(near, None, error),
        }
    }

    /// A segment that ends too early.
    pub(super) fn short(path: &Path, found: u64, expected: u64) -> Damage {
        Damage::new(path, Some(found), format!("the file ends here, and was created with {expected} bytes"))
    }
}
