//! Threads beside a run that read everything, over and over, each time at a new snapshot: as reports do beside transactions.
//!
//! Invariants:
//! - A scan is one transaction, and counts when it has read all rows of all tables.
//! - It conflicts with nobody: an error ends the run, but that the limits of the settings have ended its snapshot: that is
//!   counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use osier::table::KeyRange;
use osier::{Database, Error, Transaction, TransactionError, TransactionOptions};
use serde::Serialize;

use crate::TargetError;

/// How often is looked at what is kept.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often a scan looks whether the run is over.
const ROWS_BETWEEN_LOOKS: u64 = 1024;

/// What the scans of a run did, its warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ScanFigures {
    /// Threads that scanned.
    pub threads: u32,
    /// How long they did, in seconds.
    pub seconds: f64,
    /// Scans of all tables that came to their end.
    pub scans: u64,
    /// Rows that were read, those of other scans included.
    pub rows: u64,
    /// The length of these rows.
    pub bytes: u64,
    /// Over all threads.
    pub rows_per_s: f64,
    /// The age that the oldest snapshot reached, in seconds.
    pub oldest_seconds: f64,
    /// Memory of the row images that were kept for snapshots, at most.
    pub kept_bytes_peak: u64,
    /// These row images, at most.
    pub kept_versions_peak: u64,
    /// Scans that a limit of the settings ended.
    pub ended: u64,
}

/// Threads that scan.
pub struct SnapshotScans {
    is_over: Arc<AtomicBool>,
    begun: Instant,
    scanners: Vec<JoinHandle<Result<ScanFigures, TargetError>>>,
    observer: JoinHandle<ScanFigures>,
}

impl SnapshotScans {
    /// Starts so many; `None` where none are wanted.
    pub fn start(db: &Database, threads: u32) -> Option<SnapshotScans> {
        if threads == 0 {
            return None;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let scanner = |_| {
            let (db, is_over) = (db.clone(), is_over.clone());
            thread::spawn(move || scan_on(&db, &is_over))
        };
        let scanners = (0..threads).map(scanner).collect();
        let observer = {
            let (db, is_over) = (db.clone(), is_over.clone());
            thread::spawn(move || observe(&db, &is_over))
        };
        Some(SnapshotScans { is_over, begun: Instant::now(), scanners, observer })
    }

    /// Ends them, and returns what they did.
    ///
    /// # Errors
    /// The first error of any thread.
    pub fn stop(self) -> Result<ScanFigures, TargetError> {
        self.is_over.store(true, Ordering::Relaxed);
        let seconds = self.begun.elapsed().as_secs_f64();
        let threads = self.scanners.len() as u32;
        let mut sum = join(self.observer);
        for scanner in self.scanners {
            let ScanFigures { scans, rows, bytes, oldest_seconds, ended, .. } = join(scanner)?;
            sum.scans += scans;
            sum.rows += rows;
            sum.bytes += bytes;
            sum.ended += ended;
            sum.oldest_seconds = sum.oldest_seconds.max(oldest_seconds);
        }
        Ok(ScanFigures { threads, seconds, rows_per_s: sum.rows as f64 / seconds.max(1e-9), ..sum })
    }
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Looks at what is kept, until the run is over.
fn observe(db: &Database, is_over: &AtomicBool) -> ScanFigures {
    let mut peak = ScanFigures::default();
    while !is_over.load(Ordering::Relaxed) {
        let snapshots = db.metrics().snapshots;
        peak.kept_bytes_peak = peak.kept_bytes_peak.max(snapshots.bytes);
        peak.kept_versions_peak = peak.kept_versions_peak.max(snapshots.versions);
        thread::sleep(LOOK_EVERY);
    }
    peak
}

/// Scans until the run is over.
fn scan_on(db: &Database, is_over: &AtomicBool) -> Result<ScanFigures, TargetError> {
    let mut session = db.session().map_err(TargetError::new)?;
    let mut figures = ScanFigures::default();
    while !is_over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let tx = session.begin_with(TransactionOptions { snapshot: true, ..TransactionOptions::default() });
        let scanned = scan(&tx, is_over, &mut figures);
        figures.oldest_seconds = figures.oldest_seconds.max(begun.elapsed().as_secs_f64());
        match scanned {
            Ok(is_whole) => figures.scans += u64::from(is_whole),
            Err(Error::Transaction(TransactionError::SnapshotEnded { .. })) => figures.ended += 1,
            Err(error) => return Err(TargetError::new(error)),
        }
    }
    Ok(figures)
}

/// Reads all rows of all tables that the snapshot has; `false`: the run was over before.
fn scan(tx: &Transaction<'_>, is_over: &AtomicBool, figures: &mut ScanFigures) -> Result<bool, Error> {
    let catalog = tx.table("osier_tables")?;
    let name = catalog.column("name")?;
    let names: Result<Vec<String>, Error> =
        tx.scan(&catalog, KeyRange::all())?.map(|row| Ok(row?.text(name).to_owned())).collect();
    for name in names? {
        let table = tx.table(&name)?;
        for row in tx.scan(&table, KeyRange::all())? {
            figures.bytes += row?.as_bytes().len() as u64;
            figures.rows += 1;
            if figures.rows.is_multiple_of(ROWS_BETWEEN_LOOKS) && is_over.load(Ordering::Relaxed) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
