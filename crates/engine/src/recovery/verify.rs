//! Checks the result of recovery against what it rests on, before anybody may build on it.
//!
//! Invariants checked: every record that was read was either replayed or discarded; the manifest on disk is the one that was
//! decided; the next generation begins above everything seen.

use std::path::Path;

use super::{RecoveryError, RecoveryReport};
use crate::io::Disk;
use crate::persist::manifest::{Manifest, ManifestError};

/// Checks `report` and what is on disk after recovery.
pub(crate) fn verify(
    disk: &dyn Disk,
    home: &Path,
    expected: &Manifest,
    report: &RecoveryReport,
) -> Result<(), RecoveryError> {
    assert_eq!(report.records, report.replayed + report.covered + report.discarded, "a record has no fate");
    assert!(report.cut <= report.max_seen, "a cut above the greatest stamp seen");
    assert!(expected.current.floor >= report.max_seen, "the next generation begins below what was seen");
    assert!(!expected.is_closed(), "the next generation is open");
    let found = Manifest::load(disk, home, &[])?;
    if found.as_ref() != Some(expected) {
        let path = home.join(crate::persist::manifest::FILE_NAME);
        let what = "it is not the one that was just written".to_owned();
        return Err(RecoveryError::Manifest(ManifestError::Damaged { path, what }));
    }
    Ok(())
}
