//! What a checkpoint reads: ranges of the primary trees, and the version of each record that belongs to it.
//!
//! Invariants:
//! - Ranges ascend by (table, key) and are claimed in that order, so that the rows of a part ascend, whichever thread claims
//!   them. A block ends with its range, so that nothing in another part lies between two of its rows, and it is loaded as it
//!   is.
//! - One call pins once and reads a bounded number of leaves: a checkpoint never holds reclamation up.
//! - *Epoch*: the state at the end of an epoch, see `memory/src/snapshots/mod.rs`. *Fuzzy*: each record at a moment at which
//!   nobody held its lock, so that no transaction with a stamp at or below RSN is missed, and its stamp counts in
//!   `max_seen`, absences included.
//!
//! Absent: files, and when the scan may begin (task.rs).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use osier_memory::{
    Held, LeafScan, Listed, Observed, Page, PageStart, Participant, Pin, Record, ScanFrom, Snapshot, Version,
};

use super::faults;
use super::writer::PartWriter;
use crate::ids::{Stamp, TableId};
use crate::sizes::{checkpoint_leaves_per_step, checkpoint_ranges};
use crate::table::store::RecordTree;

/// A scan lists so many orphans at a time.
const ORPHANS_AT_ONCE: usize = 1024;

/// A range of one table.
struct Range {
    table: TableId,
    tree: Arc<RecordTree>,
    low: Box<[u8]>,
    /// Exclusive.
    high: Option<Box<[u8]>>,
    /// Bytes of rows in all ranges before this one, and in it, as one leaf of each has them.
    before: u64,
    bytes: u64,
}

/// All ranges of a checkpoint, shared by its threads.
pub(crate) struct CheckpointScan {
    /// `None`: the scan is fuzzy.
    snapshot: Option<Snapshot>,
    ranges: Vec<Range>,
    next: AtomicUsize,
    /// Of a fuzzy scan: the greatest stamp observed.
    max_seen: AtomicU64,
}

impl CheckpointScan {
    /// A scan of `trees`, which ascend.
    pub(crate) fn new(
        pin: &Pin<'_>,
        snapshot: Option<Snapshot>,
        trees: Vec<(TableId, Arc<RecordTree>)>,
    ) -> CheckpointScan {
        assert!(trees.is_sorted_by(|(one, _), (next, _)| one < next), "tables ascend");
        let leaves: Vec<usize> = trees.iter().map(|(_, tree)| tree.leaves(pin)).collect();
        let all_leaves: usize = leaves.iter().sum();
        let (mut ranges, mut before) = (Vec::new(), 0);
        let mut leaf = LeafScan::default();
        for ((table, tree), leaves) in trees.into_iter().zip(leaves) {
            let mut low: Box<[u8]> = Box::default();
            let highs = tree.partition(pin, (checkpoint_ranges() * leaves).div_ceil(all_leaves));
            let leaves_each = (leaves as u64).div_ceil(highs.len() as u64 + 1);
            for high in highs.into_iter().map(Some).chain([None]) {
                tree.scan_leaf(pin, ScanFrom::AtLeast(&low), &mut leaf);
                let bytes = 1 + leaves_each * leaf.entries.iter().map(|&record| row_bytes(pin, record)).sum::<u64>();
                let next_low = high.clone().unwrap_or_default();
                ranges.push(Range { table, tree: tree.clone(), low, high, before, bytes });
                before += bytes;
                low = next_low;
            }
        }
        assert!(ranges.is_sorted_by(|one, next| (one.table, &one.low) < (next.table, &next.low)), "ranges ascend");
        let meet = |pair: &[Range]| match &pair[0].high {
            Some(high) => pair[0].table == pair[1].table && *high == pair[1].low,
            None => pair[0].table < pair[1].table && pair[1].low.is_empty(),
        };
        assert!(ranges.windows(2).all(meet), "a gap between two ranges");
        CheckpointScan { snapshot, ranges, next: AtomicUsize::new(0), max_seen: AtomicU64::new(0) }
    }

    /// Returns the greatest stamp that a fuzzy scan has observed.
    pub(crate) fn max_seen(&self) -> Stamp {
        Stamp(self.max_seen.load(Ordering::Acquire))
    }

    /// Notes that every range was read.
    pub(crate) fn complete(&self) {
        self.snapshot.iter().for_each(Snapshot::complete);
    }

    /// How much of it was claimed, from 0 to 1.
    fn claimed(&self) -> f64 {
        let Some(last) = self.ranges.last() else { return 1.0 };
        let all = (last.before + last.bytes) as f64;
        self.ranges.get(self.next.load(Ordering::Relaxed)).map_or(1.0, |range| range.before as f64 / all)
    }

    fn claim(&self) -> Option<(usize, PageStart)> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        Some((at, PageStart::Fence(self.ranges.get(at)?.low.clone())))
    }

    /// The row of a record, or of a key without one, as the checkpoint has it.
    fn observe<'a>(&self, pin: &'a Pin<'_>, tree: &RecordTree, listed: &Listed) -> Option<&'a Version> {
        match (&self.snapshot, listed) {
            (Some(snapshot), _) => listed.read(pin, snapshot, tree).expect("nobody ends the snapshot of a checkpoint"),
            (None, Listed::Record(record)) => {
                let (version, stamp) = match faults::settled(pin, pin.get(*record), |record| record.read_settled(pin)) {
                    Observed::Present(version) => (Some(version), version.stamp()),
                    Observed::Absent(stamp) => (None, stamp),
                    // Purged: its stamp is stable already.
                    Observed::Dead => return None,
                };
                self.max_seen.fetch_max(stamp.0, Ordering::AcqRel);
                version
            }
            (None, Listed::Orphan(_)) => unreachable!("orphans are those of snapshots"),
        }
    }
}

/// What a record's row takes of a part, about.
fn row_bytes(pin: &Pin<'_>, record: Held<Record>) -> u64 {
    let record = pin.get(record);
    record.version(pin).map_or(0, |version| (record.key().len() + version.bytes().len()) as u64)
}

/// One thread's place in a scan.
pub(crate) struct ScanCursor {
    scan: Arc<CheckpointScan>,
    /// The range claimed, and where to go on in it.
    place: Option<(usize, PageStart)>,
}

/// How a step of the scan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// The part has a block of rows, or one must end here.
    Block,
    /// There is more to read.
    More,
    /// No range is left.
    End,
}

impl ScanCursor {
    pub(crate) fn new(scan: Arc<CheckpointScan>) -> ScanCursor {
        ScanCursor { scan, place: None }
    }

    /// How much of the checkpoint is written, about, from 0 to 1.
    pub(super) fn written(&self) -> f64 {
        self.scan.claimed()
    }

    /// Reads on into `part`, until a block is full or for a bounded while.
    pub(crate) fn advance(&mut self, participant: &mut Participant, part: &mut PartWriter) -> Scanned {
        let scan = self.scan.clone();
        let Some((at, from)) = self.place.take().or_else(|| scan.claim()) else { return Scanned::End };
        let range = &scan.ranges[at];
        assert!(*from.key() >= *range.low, "a range is read from its first key on");
        if !part.takes(range.table) {
            self.place = Some((at, from));
            return Scanned::Block;
        }
        let pin = participant.pin();
        let mut page = Page::default();
        let mut start = from;
        for _ in 0..checkpoint_leaves_per_step() {
            let snapshot = scan.snapshot.as_ref().map(|snapshot| (snapshot, ORPHANS_AT_ONCE));
            page.read(&pin, &range.tree, start.from(false), snapshot);
            for listed in page.listed() {
                let key = listed.key(&pin);
                if range.high.as_deref().is_some_and(|high| key >= high) {
                    return Scanned::Block;
                }
                if part.is_full() {
                    self.place = faults::after_block((at, PageStart::Fence(key.into())));
                    return Scanned::Block;
                }
                if let Some(version) = scan.observe(&pin, &range.tree, listed) {
                    part.push(range.table, key, version.stamp(), version.bytes());
                }
            }
            match page.next() {
                Some(next) => start = next.clone(),
                None => return Scanned::Block,
            }
        }
        self.place = faults::after_step((at, start));
        Scanned::More
    }
}
