//! Builds the secondary indexes of tables from their rows, when all rows are in, wherever they came from.
//!
//! Invariants:
//! - Every row is taken by exactly one worker, which the count of rows checks at the end. A worker takes the next range of
//!   keys of a table under that table's lock and fills the indexes outside it: several tables keep several workers
//!   busy, and so does one large table.
//! - Nobody writes the tables meanwhile, and nobody sees the indexes until all are built.
//! - Rows are as the log held them: they are checked before anything is read from them.
//!
//! Absent: a sort of the entries. They go into an ordinary tree, by ordinary inserts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use osier_memory::{Held, LeafScan, Observed, Participant, Pin, Record, ScanFrom};

use super::RecoveryPhase;
use super::report::Pace;
use super::scan::locked;
use super::workers::{self, Work};
use crate::config::Config;
use crate::error::Error;
use crate::table::Table;
use crate::table::store::Store;
use crate::transaction::fill_index;

/// A range holds at least so many rows, save the last of a table: work that is far longer than taking the range.
const RANGE_ROWS: usize = 2048;

/// Fills the indexes of `tables`, with as many workers as recovery has threads; returns how many rows these tables have.
pub(crate) fn build(config: &Config, store: &Store, tables: &[Table]) -> Result<u64, Error> {
    let sources: Vec<_> = tables.iter().filter(|table| !table.indexes.is_empty()).map(Source::new).collect();
    let mut participant = workers::register(store)?;
    let rows = |pin: &Pin<'_>| sources.iter().map(|source| source.table.primary.len(pin) as u64).sum();
    let total: u64 = rows(&participant.pin());
    drop(participant);
    let progress = Pace::of(config);
    let build = Arc::new(Build { store: store.clone(), sources, done: AtomicU64::new(0), total, progress });
    let ranges = total.div_ceil(RANGE_ROWS as u64) as usize;
    let worker = |_| Ok(Builder { build: build.clone(), participant: workers::register(store)? });
    let builders =
        (0..config.effective_recovery_threads().min(ranges)).map(worker).collect::<Result<Vec<_>, Error>>()?;
    workers::run(&config.environment, builders)?;
    assert_eq!(build.done.load(Ordering::Acquire), total, "every row is taken once");
    Ok(total)
}

/// What the workers share.
struct Build {
    store: Store,
    sources: Vec<Source>,
    /// In rows.
    done: AtomicU64,
    total: u64,
    progress: Option<Pace>,
}

/// A table with indexes to fill.
struct Source {
    table: Table,
    /// Where the rows begin that nobody has taken; `None` when all are.
    next: Mutex<Option<Box<[u8]>>>,
}

impl Source {
    fn new(table: &Table) -> Source {
        Source { table: table.clone(), next: Mutex::new(Some(Box::default())) }
    }

    /// Takes the next range.
    fn take(&self, pin: &Pin<'_>) -> Option<Vec<Held<Record>>> {
        let mut next = locked(&self.next);
        let begin = next.take()?;
        let (mut rows, mut leaf) = (Vec::with_capacity(2 * RANGE_ROWS), LeafScan::new());
        self.table.primary.scan_leaf(pin, ScanFrom::AtLeast(&begin), &mut leaf);
        rows.extend_from_slice(&leaf.entries);
        while rows.len() < RANGE_ROWS && self.table.primary.scan_next(pin, &mut leaf) {
            rows.extend_from_slice(&leaf.entries);
        }
        *next = leaf.next(pin).map(Box::from);
        Some(rows)
    }

    fn fill(&self, pin: &Pin<'_>, rows: &[Held<Record>]) -> Result<(), Error> {
        for record in rows {
            let Observed::Present(version) = pin.get(*record).read(pin) else { continue };
            self.table.rows.check(version.bytes())?;
            for index in &self.table.indexes {
                fill_index(pin, &self.table, index, version.bytes())?;
            }
        }
        Ok(())
    }
}

/// One worker.
struct Builder {
    build: Arc<Build>,
    participant: Participant,
}

impl Work for Builder {
    type Error = Error;

    fn advance(&mut self) -> Result<bool, Error> {
        let build = &*self.build;
        let pin = self.participant.pin();
        let taken = build.sources.iter().find_map(|source| Some((source, source.take(&pin)?)));
        let Some((source, rows)) = taken else { return Ok(false) };
        source.fill(&pin, &rows)?;
        drop(pin);
        // Lets go of the leaves that were replaced as the indexes grew.
        build.store.epochs().advance();
        self.participant.reclaim();
        let done = build.done.fetch_add(rows.len() as u64, Ordering::AcqRel) + rows.len() as u64;
        if let Some(progress) = &build.progress {
            progress.report(RecoveryPhase::Index, done, build.total);
        }
        Ok(true)
    }
}
