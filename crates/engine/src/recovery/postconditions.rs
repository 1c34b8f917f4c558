//! Checks the result of recovery against what it rests on, before anybody may build on it.
//!
//! Invariants checked: the manifest on disk is the one that was decided; the next generation begins above every stamp that was
//! read.

use std::path::Path;

use super::RecoveryReport;
use super::tally::Tally;
use crate::directory::manifest::{Manifest, ManifestError};
use crate::error::RecoveryError;
use crate::io::Disk;

/// Checks `report` and what is on disk after recovery, which has read `log`.
///
/// # Errors
/// [`RecoveryError::Manifest`] where another manifest is on disk than `expected`.
pub(super) fn check(
    disk: &dyn Disk,
    home: &Path,
    expected: &Manifest,
    report: &RecoveryReport,
    log: &Tally,
) -> Result<(), RecoveryError> {
    let current = &expected.current;
    assert!(report.cut <= report.max_seen, "a cut of {} above the greatest stamp seen", report.cut);
    assert!(log.max_stamp <= current.floor, "stamp {} was read, the next are above {}", log.max_stamp, current.floor);
    assert!(report.after <= report.discarded, "what came after the epoch gone back to is discarded");
    assert_eq!(expected.begins.len(), current.streams.len(), "every stream of the next generation begins");
    assert!(expected.begins.iter().all(|begin| begin.durable >= current.floor), "a stream begins below the floor");
    assert!(!expected.is_closed(), "the next generation is open");
    let found = Manifest::load(disk, home, &[])?;
    if found.as_ref() != Some(expected) {
        let path = home.join(crate::directory::manifest::FILE_NAME);
        let what = "it is not the one that was just written".to_owned();
        return Err(RecoveryError::Manifest(ManifestError::Damaged { path, what }));
    }
    Ok(())
}
