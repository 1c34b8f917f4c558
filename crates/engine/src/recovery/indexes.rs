//! Builds the secondary indexes of tables from their rows, when all rows are in, wherever they came from.
//!
//! Entries are sorted, not inserted, in two stages on all threads:
//! 1. *Collect*: a worker takes the next range of keys of a table, makes the index entries of its rows, and sorts those of
//!    each index by the *chunk*.
//! 2. *Merge*: samples of all chunks cut the keys of an index into ranges; a worker sorts what the chunks have of one range, a
//!    *piece*, and puts it into leaves.
//!
//! Invariants:
//! - Every row is taken by exactly one worker, which the count of rows checks at the end. A worker takes a range under the
//!   lock of its table and does the rest outside it: several tables keep several workers busy, and so does one large table.
//! - Equal keys are in the same piece, where a unique index finds them.
//! - Nobody writes the tables meanwhile, and nobody sees the indexes until all are built.
//! - Rows are as the log held them: they are checked before anything is read from them.
//!
//! Absent: a limit of memory for the entries that are being sorted: 24 bytes each, besides what the index will take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use osier_memory::sync::{Mutex, lock};
use osier_memory::{Held, LeafScan, Observed, Participant, Pin, Record, Run, ScanFrom};

use super::RecoveryPhase;
use super::faults;
use super::report::ProgressReporter;
use super::sorted::{self, Entry};
use super::workers::{self, Work};
use crate::config::Config;
use crate::error::Error;
use crate::sizes::{indexed_chunk_entries, indexed_range_rows};
use crate::table::store::Store;
use crate::table::{IndexId, Table};
use crate::transaction::{duplicate_entry, index_entry};

/// Fills those indexes of `tables` that `is_wanted` tells, with as many workers as recovery has threads; returns how many rows
/// the tables of these have.
pub(crate) fn build(
    config: &Config,
    store: &Store,
    tables: &[Table],
    is_wanted: impl Fn(&Table, IndexId) -> bool,
) -> Result<u64, Error> {
    let sources = tables.iter().map(|table| Source::new(table, |index| is_wanted(table, index)));
    let sources: Vec<_> = sources.filter(|source| !source.targets.is_empty()).collect();
    let mut participant = workers::register(store)?;
    let rows = |source: &Source| source.table.primary.len(&participant.pin()) as u64;
    let rows: Vec<u64> = sources.iter().map(rows).collect();
    let total: u64 = rows.iter().sum();
    let entries = sources.iter().zip(&rows).map(|(source, rows)| rows * source.targets.len() as u64);
    let work = total + entries.sum::<u64>();
    let build = Arc::new(Build {
        store: store.clone(),
        sources,
        done: AtomicU64::new(0),
        work,
        progress: ProgressReporter::of(config),
    });
    let threads = config.effective_recovery_threads().min(total.div_ceil(indexed_range_rows() as u64) as usize);

    let collector = |_| Collector::new(&build);
    workers::run(&config.environment, (0..threads).map(collector).collect::<Result<Vec<_>, Error>>()?)?;
    assert_eq!(build.done.load(Ordering::Acquire), total, "every row is taken once");
    let pieces = Arc::new(Mutex::new(build.cut()));
    let merger =
        |_| Ok(Merger { build: build.clone(), participant: workers::register(store)?, pieces: pieces.clone() });
    workers::run(&config.environment, (0..threads).map(merger).collect::<Result<Vec<_>, Error>>()?)?;

    let is_empty = |piece: &Piece| piece.parts.iter().all(Vec::is_empty);
    assert!(lock(&pieces).iter().all(is_empty), "every entry is merged");
    let pin = participant.pin();
    for source in &build.sources {
        for target in &source.targets {
            let runs = std::mem::take(&mut *lock(&target.runs));
            source.table.indexes[target.index]
                .tree
                .fill(&pin, runs)
                .expect("the pieces of an index have no key in common");
        }
    }
    Ok(total)
}

/// What the workers share.
struct Build {
    store: Store,
    sources: Vec<Source>,
    /// Rows that were collected and entries that were merged, of all.
    done: AtomicU64,
    work: u64,
    progress: Option<ProgressReporter>,
}

/// A table with indexes to fill.
struct Source {
    table: Table,
    /// Where the rows begin that nobody has taken; `None` when all are.
    next: Mutex<Option<Box<[u8]>>>,
    /// One for each index that is to be filled.
    targets: Vec<Target>,
}

/// An index that is being filled.
struct Target {
    /// Which one of the table.
    index: usize,
    /// Sorted, each for itself.
    chunks: Mutex<Vec<Vec<Entry>>>,
    runs: Mutex<Vec<Run<Record>>>,
}

/// What the chunks of an index have of one range of its keys.
struct Piece {
    source: usize,
    /// Of its targets.
    target: usize,
    parts: Vec<Vec<Entry>>,
}

impl Build {
    /// Counts `work` rows or entries as done.
    fn advance(&self, work: usize) {
        let done = self.done.fetch_add(work as u64, Ordering::AcqRel) + work as u64;
        if let Some(progress) = &self.progress {
            progress.report(RecoveryPhase::Index, done, self.work);
        }
    }

    /// Cuts the chunks of all indexes into pieces.
    fn cut(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (number, source) in self.sources.iter().enumerate() {
            for (at, target) in source.targets.iter().enumerate() {
                let chunks = std::mem::take(&mut *lock(&target.chunks));
                pieces.extend(sorted::cut(chunks).into_iter().map(|parts| Piece { source: number, target: at, parts }));
            }
        }
        pieces
    }
}

impl Source {
    /// Returns a source of which no row was taken.
    fn new(table: &Table, is_wanted: impl Fn(IndexId) -> bool) -> Source {
        let wanted = table.indexes.iter().enumerate().filter(|(_, index)| is_wanted(index.id));
        let target = |(index, _)| Target { index, chunks: Mutex::default(), runs: Mutex::default() };
        let targets = wanted.map(target).collect();
        Source { table: table.clone(), next: Mutex::new(Some(Box::default())), targets }
    }

    /// Takes the next range.
    fn take(&self, pin: &Pin<'_>) -> Option<Vec<Held<Record>>> {
        let mut next = lock(&self.next);
        let begin = next.take()?;
        let (mut rows, mut leaf) = (Vec::with_capacity(2 * indexed_range_rows()), LeafScan::new());
        self.table.primary.scan_leaf(pin, ScanFrom::AtLeast(&begin), &mut leaf);
        rows.extend_from_slice(&leaf.entries);
        while rows.len() < indexed_range_rows() && self.table.primary.scan_next(pin, &mut leaf) {
            rows.extend_from_slice(&leaf.entries);
        }
        *next = leaf.next(pin).map(Box::from);
        assert!(next.as_ref().is_none_or(|next| *next > begin), "ranges of keys ascend");
        Some(rows)
    }

    /// Makes the entries of `rows`; `chunks` are those of this table's indexes.
    fn collect(&self, pin: &Pin<'_>, rows: &[Held<Record>], chunks: &mut [Vec<Entry>]) -> Result<(), Error> {
        let mut row_bytes = 0;
        for (at, record) in rows.iter().enumerate() {
            let soon = |ahead: usize| rows.get(at + ahead).map(|record| pin.get(*record));
            sorted::prefetch(soon, row_bytes);
            let record = pin.get(*record);
            let Observed::Present(version) = record.read(pin) else { continue };
            row_bytes = version.memory_bytes();
            self.table.rows.check(version.bytes())?;
            let row = self.table.rows.row(version.bytes());
            for (target, chunk) in self.targets.iter().zip(&mut *chunks) {
                let entry = faults::entry(&self.table.indexes[target.index].codec, &row);
                chunk.extend(entry.map(|key| Entry::new(index_entry(record.key(), key.as_bytes()))));
            }
        }
        Ok(())
    }
}

impl Target {
    /// Sorts a chunk and takes it over.
    fn add(&self, chunk: &mut Vec<Entry>) {
        let mut chunk = std::mem::take(chunk);
        chunk.sort_unstable_by(Entry::compare);
        lock(&self.chunks).push(chunk);
    }
}

/// A worker of the first stage.
struct Collector {
    build: Arc<Build>,
    participant: Participant,
    /// What it has of each index of each source.
    chunks: Vec<Vec<Vec<Entry>>>,
}

impl Collector {
    /// Returns a worker that has collected nothing.
    fn new(build: &Arc<Build>) -> Result<Collector, Error> {
        let of = |source: &Source| source.targets.iter().map(|_| Vec::new()).collect();
        let chunks = build.sources.iter().map(of).collect();
        Ok(Collector { build: build.clone(), participant: workers::register(&build.store)?, chunks })
    }

    /// Hands over the chunks that have `least` entries.
    fn hand_over(&mut self, least: usize) {
        for (source, chunks) in self.build.sources.iter().zip(&mut self.chunks) {
            let full = source.targets.iter().zip(chunks).filter(|(_, chunk)| chunk.len() >= least);
            full.for_each(|(target, chunk)| target.add(chunk));
        }
    }
}

impl Work for Collector {
    type Error = Error;

    fn advance(&mut self) -> Result<bool, Error> {
        let pin = self.participant.pin();
        let mut sources = self.build.sources.iter().zip(&mut self.chunks);
        let taken = sources.find_map(|(source, chunks)| Some((source, chunks, source.take(&pin)?)));
        let Some((source, chunks, rows)) = taken else {
            drop(pin);
            self.hand_over(1);
            assert!(self.chunks.iter().flatten().all(Vec::is_empty), "entries were not handed over");
            return Ok(false);
        };
        source.collect(&pin, &rows, chunks)?;
        drop(pin);
        self.build.advance(rows.len());
        self.hand_over(indexed_chunk_entries());
        Ok(true)
    }
}

/// A worker of the second stage.
struct Merger {
    build: Arc<Build>,
    participant: Participant,
    pieces: Arc<Mutex<Vec<Piece>>>,
}

impl Work for Merger {
    type Error = Error;

    fn advance(&mut self) -> Result<bool, Error> {
        let Some(Piece { source, target, parts }) = lock(&self.pieces).pop() else { return Ok(false) };
        let source = &self.build.sources[source];
        let target = &source.targets[target];
        let (pin, count) = (self.participant.pin(), parts.iter().map(Vec::len).sum());
        let run = sorted::into_run(&self.build.store, &pin, parts);
        let twice = |key: &[u8]| duplicate_entry(&source.table, &source.table.indexes[target.index], key);
        let run = run.map_err(|entry| twice(entry.key()))?;
        drop(pin);
        lock(&target.runs).push(run);
        self.build.advance(count);
        Ok(true)
    }
}
