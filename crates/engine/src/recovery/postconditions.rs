//! Checks the result of recovery against what it rests on, before anybody may build on it.
//!
//! Invariants checked: the manifest on disk is the one that was decided; the next generation begins above every stamp that was
//! read; every row that was changed had the version in which it was changed; a transaction that has records in several streams is
//! replayed with all of them.

use std::path::Path;

use super::first_pass::ScannedLog;
use super::replay::waiting::{WaitingDeltas, WithoutBase};
use super::tally::Tally;
use super::{RecoveryReport, workers};
use crate::catalog::Catalog;
use crate::directory::manifest::{Manifest, ManifestError};
use crate::error::RecoveryError;
use crate::io::Disk;
use crate::table::Table;
use crate::table::store::Store;

/// Checks that nothing waits for a version of a row that never came. Of tables that were dropped a checkpoint may have no
/// rows any
/// more, and the log what changed in them.
///
/// # Errors
/// [`RecoveryError::MissingVersion`].
pub(super) fn expect_bases(store: &Store, waiting: &WaitingDeltas) -> Result<(), RecoveryError> {
    let left = waiting.left();
    if left.is_empty() {
        return Ok(());
    }
    let mut participant = workers::register(store)?;
    let pin = participant.pin();
    let missing = |row: &WithoutBase, table: String, key: String| {
        Err(RecoveryError::MissingVersion { table, key, base: row.base, stamp: row.stamp })
    };
    let catalog = Catalog::new(store).expect("the schema of the catalog is sound");
    let Ok(mut tables) = catalog.open_all(store, &pin) else {
        let (row, hex) = (&left[0], left[0].key.iter().map(|byte| format!("{byte:02x}")).collect());
        return missing(row, row.table.0.to_string(), hex);
    };
    tables.extend(catalog.system.all().map(Table::clone));
    for row in &left {
        if let Some(table) = tables.iter().find(|table| table.id == row.table) {
            return missing(row, table.name().to_owned(), table.keys.describe(&row.key));
        }
    }
    Ok(())
}

/// Checks that of each transaction whose record is divided among streams all records are replayed, in every generation, where
/// `second` is what the second pass counted of the last one.
///
/// # Errors
/// [`RecoveryError::TornTransaction`].
pub(super) fn expect_whole(home: &Path, scanned: &ScannedLog, second: &Tally) -> Result<(), RecoveryError> {
    let last = scanned.tallies.len().wrapping_sub(1);
    for (index, (scan, tally)) in scanned.scan.generations.iter().zip(&scanned.tallies).enumerate() {
        let mut tally = *tally;
        if index == last {
            tally.add(second);
        }
        if !tally.shares.is_whole() {
            return Err(RecoveryError::TornTransaction { path: home.to_owned(), generation: scan.layout.generation });
        }
    }
    Ok(())
}

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
