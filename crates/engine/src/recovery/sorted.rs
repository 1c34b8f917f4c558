//! Records on their way into a tree: sorted in chunks by whoever has them, cut into ranges of keys that no two threads share, and
//! put into leaves range by range.
//!
//! Invariant: equal keys are in the same piece, where [`into_run`] finds them.

use std::cmp::Ordering as Order;

use osier_memory::{Pin, Record, RecordBox, Run};

use super::faults;
use crate::sizes::{indexed_chunk_entries, indexed_sampled_one_in};
use crate::table::store::Store;

/// How many records ahead a version is asked for; its record twice as many.
const PREFETCHED_RECORDS: usize = 16;

/// An entry of an index that is not in its tree yet.
pub(super) struct Entry {
    /// The first bytes of its key, zeros where there are none: most comparisons end here.
    head: [u64; 2],
    record: RecordBox,
}

/// The key of one entry of many behind its head: both sort as the entries do.
type Sample = ([u64; 2], Box<[u8]>);

impl Entry {
    /// Returns the entry of `record`.
    pub(super) fn new(record: RecordBox) -> Entry {
        let mut head = [0; 16];
        let bytes = record.key().len().min(head.len());
        head[..bytes].copy_from_slice(&record.key()[..bytes]);
        let [high, low] = [0, 8].map(|at| u64::from_be_bytes(*head[at..].first_chunk().expect("two words")));
        Entry { head: [high, low], record }
    }

    /// Gives the record back.
    pub(super) fn into_record(self) -> RecordBox {
        self.record
    }

    /// Compares the keys.
    pub(super) fn compare(&self, other: &Entry) -> Order {
        self.head.cmp(&other.head).then_with(|| self.record.key().cmp(other.record.key()))
    }
}

/// Cuts sorted chunks into ranges of keys.
pub(super) fn cut(mut chunks: Vec<Vec<Entry>>) -> Vec<Vec<Vec<Entry>>> {
    let mut samples: Vec<Sample> = Vec::new();
    for chunk in &chunks {
        samples.extend(
            chunk.iter().step_by(indexed_sampled_one_in()).map(|entry| (entry.head, entry.record.key().into())),
        );
    }
    samples.sort_unstable();
    let begins = samples.iter().step_by(indexed_chunk_entries() / indexed_sampled_one_in()).skip(1).rev();
    let behind = |chunk: &mut Vec<Entry>, (head, key): &Sample| {
        let is_before = |entry: &Entry| entry.head.cmp(head).then_with(|| entry.record.key().cmp(key)).is_lt();
        chunk.split_off(chunk.partition_point(is_before))
    };
    let mut pieces: Vec<_> =
        begins.map(|begin| chunks.iter_mut().map(|chunk| behind(chunk, begin)).collect()).collect();
    if pieces.is_empty() || faults::builds_last_piece() {
        pieces.push(chunks);
    }
    pieces
}

/// Asks for the memory of records to come, of whose versions `bytes` will be read; `soon` is the one that so many others precede.
pub(super) fn prefetch<'r>(soon: impl Fn(usize) -> Option<&'r Record>, bytes: usize) {
    if let Some(record) = soon(2 * PREFETCHED_RECORDS) {
        record.prefetch();
    }
    if let Some(record) = soon(PREFETCHED_RECORDS) {
        record.prefetch_version(bytes);
    }
}

/// Puts what sorted chunks have of one range of keys into leaves; fails with a record whose key comes twice.
pub(super) fn into_run(store: &Store, pin: &Pin<'_>, parts: Vec<Vec<Entry>>) -> Result<Run<Record>, RecordBox> {
    let mut entries: Vec<Entry> = parts.into_iter().flatten().collect();
    // Stable: it finds the parts, which are sorted, and merges them.
    entries.sort_by(Entry::compare);
    let mut run = Run::new(store.epochs().clone());
    let mut entries = entries.into_iter();
    while let Some(entry) = entries.next() {
        prefetch(|ahead| entries.as_slice().get(ahead).map(|entry| &*entry.record), 1);
        run.push(pin, entry.record)?;
    }
    Ok(run)
}
