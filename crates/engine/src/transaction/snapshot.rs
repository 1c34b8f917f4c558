//! Snapshots that users read: the state at the end of an epoch, for as long as somebody holds it, while transactions go on.
//!
//! A transaction at a snapshot reads only, is never aborted by others and locks nothing. It pins for each access and copies what
//! it finds, so that however long it lasts it holds back no memory but the versions that its snapshot sees.
//!
//! Invariants:
//! - A snapshot holds everything that had committed when it was opened, whole transactions only, and nothing later.
//! - It is read from the end of its epoch on: when every transaction of that epoch or an earlier one has ended. The epoch is
//!   ended for it, so that nobody waits for the clock, but not more often than every [`EPOCH_MIN`].
//! - What a transaction at a snapshot has read is durable when everything is that had drawn a stamp when it could be read.
//! - A snapshot that the limits end gives an error from then on, and never a wrong row: each access asks afterwards.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use osier_memory::sync::{Backoff, Mutex, lock};
use osier_memory::{
    EXPECTED_AT_ONCE, Ended, Listed, Lookup, Page, PageStart, Participant, Pin, Reads, ScanFrom, Version,
};

use super::access::EXPECTED_ROW_BYTES;
use super::scan::ROWS_AHEAD;
use super::{Transaction, faults};
use crate::error::{CheckpointError, Error, LogError, SnapshotEnd, TransactionError};
use crate::failpoint::{Point, yield_at};
use crate::ids::{Epoch, Stamp};
use crate::log::acknowledge::Outcome;
use crate::log::acknowledge::Receipt;
use crate::table::store::RecordTree;
use crate::table::{KeyBounds, KeyBuf, Row, Table, Value};
use crate::transaction::shared::Shared;

/// Snapshots end epochs at most so often: epochs are counted in 42 bits, and each one that begins costs every session a cache miss.
const EPOCH_MIN: Duration = Duration::from_micros(200);

/// A scan copies so many rows under one pin, at most, ...
const ROWS_AT_ONCE: usize = 128;
/// ... about so many bytes, ...
const BYTES_AT_ONCE: usize = 256 << 10;
/// ... and looks at so many leaves.
const LEAVES_AT_ONCE: usize = 16;

/// The state of a database at the end of an epoch: [`Database::snapshot`](crate::Database::snapshot). Clones share it; it is kept
/// until the last one, and the last transaction at it, is dropped. It can be used by many threads at once.
///
/// Rows that change meanwhile are kept for it, and count as memory: while it is open, it holds up to a copy of the rows that it sees.
#[derive(Clone)]
pub struct Snapshot {
    parts: Arc<Parts>,
}

struct Parts {
    shared: Arc<Shared>,
    kept: osier_memory::Snapshot,
    /// By the clock of the database.
    opened: Duration,
    /// Nothing in it has a greater one.
    stamp: Stamp,
    /// Why it was ended, if it was.
    end: OnceLock<SnapshotEnd>,
}

/// The snapshots that users hold, and how they end.
#[derive(Default)]
pub(crate) struct OpenSnapshots {
    open: Mutex<BTreeMap<Epoch, Weak<Parts>>>,
    /// When an epoch was ended for a snapshot.
    last_ended: Mutex<Option<Duration>>,
    /// Those that limits have ended.
    ended: AtomicU64,
}

/// The snapshots that are open, and what they cost.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SnapshotMetrics {
    /// How many there are, that of a checkpoint included.
    pub open: usize,
    /// Row images that are kept for them.
    pub versions: u64,
    /// The memory that these take, which counts against `memory_limit`.
    pub bytes: u64,
    /// How many were ended by `snapshot_age_max` or `memory_limit` since the database was opened.
    pub ended: u64,
    /// The one that was opened first of those that users hold.
    pub oldest: Option<OldestSnapshot>,
}

/// The oldest snapshot that a user holds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OldestSnapshot {
    /// The epoch at whose end it is.
    pub epoch: Epoch,
    /// How long it has been open.
    pub seconds: f64,
    /// Row images that are kept for it. A younger snapshot may need some of them, too.
    pub versions: u64,
    /// The memory that they take.
    pub bytes: u64,
}

impl Snapshot {
    /// Opens a snapshot of everything that has committed.
    pub(crate) fn open(shared: &Arc<Shared>) -> Result<Snapshot, Error> {
        if shared.is_closed() {
            return Err(LogError::Closed.into());
        }
        let epochs = shared.store.epochs();
        let opened = shared.config.environment.clock.now();
        let kept = shared.snapshots.open(Reads::All).ok_or(TransactionError::EpochsExhausted)?;
        let mut backoff = Backoff::new();
        while !faults::is_readable(kept.is_readable()) {
            if shared.is_closed() {
                return Err(LogError::Closed.into());
            }
            if epochs.current() <= kept.boundary() {
                shared.open_snapshots.end_epoch(shared, kept.boundary());
            } else {
                // For commits, which wait for no device.
                backoff.wait();
            }
        }
        yield_at(Point::Ordered);
        let boundary = kept.boundary();
        let mut open = lock(&shared.open_snapshots.open);
        if kept.has_ended() {
            // Another one of this epoch was ended.
            drop(open);
            return Snapshot::open(shared);
        }
        if let Some(parts) = open.get(&boundary).and_then(Weak::upgrade) {
            return Ok(Snapshot { parts });
        }
        let stamp = faults::snapshot_stamp(shared.log.last_stamp());
        let parts = Arc::new(Parts { shared: shared.clone(), kept, opened, stamp, end: OnceLock::new() });
        open.insert(boundary, Arc::downgrade(&parts));
        Ok(Snapshot { parts })
    }

    /// The epoch at whose end it is: it holds what the transactions up to that one did
    /// ([`Receipt::epoch`](crate::Receipt::epoch)).
    pub fn epoch(&self) -> Epoch {
        self.parts.kept.boundary()
    }

    /// Returns a receipt for all that it holds: it is good when no crash takes any of that back.
    pub fn receipt(&self) -> Receipt {
        self.parts.shared.durable(self.parts.stamp)
    }

    pub(super) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.parts.shared, shared)
    }

    fn outcome(&self) -> Outcome {
        Outcome { epoch: self.epoch(), ..Outcome::stable(self.parts.stamp) }
    }

    /// The row under a key.
    fn look_up<'a>(
        &self,
        pin: &'a Pin<'_>,
        tree: &RecordTree,
        key: &[u8],
    ) -> Result<Option<&'a Version>, TransactionError> {
        let found = match tree.get(pin, key) {
            Lookup::Found(record) => self.parts.kept.read(pin, tree.id(), record),
            Lookup::Absent(_) => self.parts.kept.read_orphan(pin, tree.id(), key),
        };
        found.map_err(|Ended| self.has_ended())
    }

    fn has_ended(&self) -> TransactionError {
        let end = self.parts.end.get().cloned().unwrap_or(SnapshotEnd::Closed);
        TransactionError::SnapshotEnded { epoch: self.epoch(), end }
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("epoch", &self.epoch()).finish_non_exhaustive()
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let mut open = lock(&self.shared.open_snapshots.open);
        // Another one of this epoch may have taken its place.
        if open.get(&self.kept.boundary()).is_some_and(|parts| parts.strong_count() == 0) {
            open.remove(&self.kept.boundary());
        }
    }
}

impl OpenSnapshots {
    /// Ends the epoch `boundary` for a snapshot, or waits where an epoch has ended for another one just now.
    fn end_epoch(&self, shared: &Shared, boundary: Epoch) {
        let clock = &shared.config.environment.clock;
        let pause = {
            let mut last = lock(&self.last_ended);
            let now = clock.now();
            match last.map(|last| (last + EPOCH_MIN).saturating_sub(now)).filter(|pause| !pause.is_zero()) {
                Some(pause) => pause,
                None => {
                    if shared.store.epochs().current() <= boundary {
                        shared.store.epochs().advance();
                        *last = Some(now);
                    }
                    return;
                }
            }
        };
        clock.sleep(pause);
    }

    fn oldest(&self) -> Option<Arc<Parts>> {
        lock(&self.open).values().find_map(Weak::upgrade)
    }

    /// The first of some boundaries that a user's snapshot has.
    fn first_of(&self, mut boundaries: impl Iterator<Item = Epoch>) -> Option<Arc<Parts>> {
        let open = lock(&self.open);
        boundaries.find_map(|boundary| open.get(&boundary)?.upgrade())
    }

    /// Ends snapshots as the limits ask for it. For the ticker.
    pub(super) fn enforce_limits(&self, shared: &Shared) {
        if lock(&self.open).is_empty() {
            return;
        }
        let (config, now) = (&shared.config, shared.config.environment.clock.now());
        let limit = config.snapshot_age_max;
        while let Some(oldest) = self.oldest().filter(|_| !limit.is_zero()) {
            let age = now.saturating_sub(oldest.opened);
            if age <= limit {
                break;
            }
            self.end(&oldest, SnapshotEnd::Age { age, limit });
        }
        let open = shared.snapshots.list();
        // What is let go of already comes back by itself.
        let kept = open.iter().map(|open| open.bytes as u64).sum();
        if let Err(CheckpointError::MemoryLimit { retained, used, limit }) = shared.memory.admit_retained(kept) {
            let costly = open.iter().filter(|open| open.versions > 0).map(|open| open.boundary);
            if let Some(oldest) = self.first_of(costly) {
                self.end(&oldest, SnapshotEnd::Memory { retained, used, limit });
            }
        }
    }

    fn end(&self, parts: &Parts, end: SnapshotEnd) {
        // Before anybody can miss a row of it.
        let _ = parts.end.set(end);
        parts.shared.snapshots.end(parts.kept.boundary());
        lock(&self.open).remove(&parts.kept.boundary());
        self.ended.fetch_add(1, Relaxed);
    }

    pub(crate) fn metrics(&self, shared: &Shared) -> SnapshotMetrics {
        let now = shared.config.environment.clock.now();
        let oldest = self.oldest();
        let open = shared.snapshots.list();
        let cost = |boundary: Epoch| {
            let of = open.iter().find(|open| open.boundary == boundary);
            of.map_or((0, 0), |open| (open.versions as u64, open.bytes as u64))
        };
        let oldest = oldest.map(|parts| {
            let (epoch, (versions, bytes)) = (parts.kept.boundary(), cost(parts.kept.boundary()));
            OldestSnapshot { epoch, seconds: now.saturating_sub(parts.opened).as_secs_f64(), versions, bytes }
        });
        SnapshotMetrics {
            open: open.len(),
            versions: open.iter().map(|open| open.versions as u64).sum(),
            bytes: open.iter().map(|open| open.bytes as u64).sum(),
            ended: self.ended.load(Relaxed),
            oldest,
        }
    }
}

/// A transaction at a snapshot.
pub(super) struct AtSnapshot<'s> {
    shared: &'s Arc<Shared>,
    participant: RefCell<&'s mut Participant>,
    /// Opened by the first access, unless it was given.
    snapshot: OnceCell<Snapshot>,
    /// Handles that were found to be those of the snapshot.
    tables: RefCell<Vec<Table>>,
}

impl<'s> AtSnapshot<'s> {
    pub(super) fn new(
        shared: &'s Arc<Shared>,
        participant: &'s mut Participant,
        snapshot: Option<Snapshot>,
    ) -> AtSnapshot<'s> {
        let snapshot = snapshot.map_or_else(OnceCell::new, OnceCell::from);
        AtSnapshot { shared, participant: RefCell::new(participant), snapshot, tables: RefCell::default() }
    }

    /// What was observed, if anything was.
    pub(super) fn outcome(&self) -> Outcome {
        self.snapshot.get().map_or_else(|| Outcome::stable(Stamp::ZERO), Snapshot::outcome)
    }

    fn snapshot(&self) -> Result<&Snapshot, Error> {
        if let Some(snapshot) = self.snapshot.get() {
            return Ok(snapshot);
        }
        let opened = Snapshot::open(self.shared)?;
        Ok(self.snapshot.get_or_init(|| opened))
    }

    /// Makes one access, under a pin of its own.
    fn access<T>(&self, access: impl FnOnce(&Snapshot, &Pin<'_>) -> Result<T, TransactionError>) -> Result<T, Error> {
        let snapshot = self.snapshot()?;
        let mut participant = self.participant.borrow_mut();
        let found = access(snapshot, &participant.pin())?;
        // What it missed may be gone because nothing was kept.
        if snapshot.parts.kept.has_ended() { Err(snapshot.has_ended().into()) } else { Ok(found) }
    }

    /// The stamp of the catalog row of a table.
    fn definition_stamp(&self, name: &str) -> Result<Option<Stamp>, Error> {
        let catalog = self.shared.catalog.tables();
        let key = catalog.keys.of_key(&[Value::Text(name)])?;
        self.access(|snapshot, pin| {
            let row = snapshot.look_up(pin, &catalog.primary, key.as_bytes())?;
            Ok(row.map(Version::stamp))
        })
    }

    /// The table that has this name in the snapshot.
    pub(super) fn table(&self, name: &str) -> Result<Table, Error> {
        let mut backoff = Backoff::new();
        loop {
            let unknown = || TransactionError::UnknownTable { table: name.to_owned() };
            let stamp = self.definition_stamp(name)?.ok_or_else(unknown)?;
            if let Some(table) = self.shared.catalog.table_of_snapshot(name, stamp) {
                self.tables.borrow_mut().push(table.clone());
                return Ok(table);
            }
            // It is about to be published, or to go where those of snapshots are.
            backoff.wait();
        }
    }

    /// Checks that a handle is the one that its name has in the snapshot.
    pub(super) fn check(&self, table: &Table) -> Result<(), Error> {
        if self.tables.borrow().iter().any(|checked| checked.is_same(table)) {
            return Ok(());
        }
        let is_ours = self.shared.catalog.system.holds(table)
            || self.definition_stamp(table.name())?.is_some_and(|stamp| table.is_made_from(stamp))
                && table.primary.is_protected(&self.participant.borrow_mut().pin());
        if !is_ours {
            return Err(TransactionError::TableNotOfSnapshot { table: table.name().to_owned() }.into());
        }
        self.tables.borrow_mut().push(table.clone());
        Ok(())
    }

    pub(super) fn get<'t>(&self, table: &'t Table, key: &[Value<'_>]) -> Result<Option<Row<'t>>, Error> {
        self.check(table)?;
        let key = table.keys.of_key(key)?;
        let found =
            self.access(|snapshot, pin| Ok(snapshot.look_up(pin, &table.primary, key.as_bytes())?.map(copy)))?;
        Ok(found.map(|row| table.rows.row(row)))
    }

    pub(super) fn get_many<'t>(&self, table: &'t Table, keys: &[KeyBuf]) -> Result<Vec<Option<Row<'t>>>, Error> {
        self.check(table)?;
        let mut rows = Vec::with_capacity(keys.len());
        for keys in keys.chunks(EXPECTED_AT_ONCE) {
            self.access(|snapshot, pin| {
                table.primary.expect(pin, keys, |record| record.prefetch_version(EXPECTED_ROW_BYTES));
                for key in keys {
                    let found = snapshot.look_up(pin, &table.primary, key.as_bytes())?;
                    rows.push(found.map(|version| table.rows.row(copy(version))));
                }
                Ok(())
            })?;
        }
        Ok(rows)
    }
}

fn copy(version: &Version) -> Vec<u8> {
    version.bytes().to_vec()
}

/// A scan at a snapshot: rows that were copied under one pin are given, then the next ones are.
pub(super) struct SnapshotScan<'t, 's> {
    transaction: &'t Transaction<'s>,
    table: &'t Table,
    tree: &'t RecordTree,
    is_index: bool,
    bounds: KeyBounds,
    /// Where it goes on; `None`: it has not begun.
    start: Option<PageStart>,
    page: Page,
    rows: VecDeque<Vec<u8>>,
    /// How many rows are copied next: few want more than the first one, and the others want many.
    rows_at_once: usize,
    is_over: bool,
}

impl<'t, 's> SnapshotScan<'t, 's> {
    pub(super) fn new(
        transaction: &'t Transaction<'s>,
        table: &'t Table,
        tree: &'t RecordTree,
        is_index: bool,
        bounds: KeyBounds,
    ) -> SnapshotScan<'t, 's> {
        let (page, rows, is_over) = (Page::default(), VecDeque::new(), bounds.is_empty());
        SnapshotScan { transaction, table, tree, is_index, bounds, start: None, page, rows, rows_at_once: 1, is_over }
    }

    pub(super) fn next(&mut self) -> Result<Option<Row<'t>>, Error> {
        while self.rows.is_empty() && !self.is_over {
            yield_at(Point::Scanning);
            let at = self.transaction.at_snapshot().expect("the scan of a snapshot");
            at.access(|snapshot, pin| self.read_on(snapshot, pin)).inspect_err(|_| {
                self.is_over = true;
                self.rows.clear();
            })?;
            self.rows_at_once = (2 * self.rows_at_once).min(ROWS_AT_ONCE);
        }
        Ok(self.rows.pop_front().map(|row| self.table.rows.row(row)))
    }

    /// Copies the next rows.
    fn read_on(&mut self, snapshot: &Snapshot, pin: &Pin<'_>) -> Result<(), TransactionError> {
        let (kept, is_reversed) = (&snapshot.parts.kept, self.bounds.is_reversed);
        let mut bytes = 0;
        for _ in 0..LEAVES_AT_ONCE {
            let from = match (&self.start, &self.bounds.high) {
                (Some(start), _) => start.from(is_reversed),
                (None, _) if !is_reversed => ScanFrom::AtLeast(self.bounds.low.as_bytes()),
                (None, Some(high)) => ScanFrom::Below(high.as_bytes()),
                (None, None) => ScanFrom::Last,
            };
            self.page.read(pin, self.tree, from, Some((kept, ROWS_AT_ONCE)));
            for (at, listed) in self.page.listed().iter().enumerate() {
                if at % ROWS_AHEAD == 0 {
                    self.expect(pin, at);
                }
                let key = listed.key(pin);
                if !self.bounds.contains(key) {
                    self.is_over = true;
                    return Ok(());
                }
                let found = listed.read(pin, kept, self.tree).map_err(|Ended| snapshot.has_ended())?;
                let row = match found {
                    Some(entry) if self.is_index => snapshot.look_up(pin, &self.table.primary, entry.bytes())?,
                    row => row,
                };
                assert!(row.is_some() || found.is_none(), "in a snapshot an entry of an index leads to its row");
                if let Some(row) = row {
                    bytes += row.bytes().len();
                    self.rows.push_back(copy(row));
                    if self.rows.len() >= self.rows_at_once || bytes >= BYTES_AT_ONCE {
                        self.start = Some(PageStart::Beyond(key.into()));
                        return Ok(());
                    }
                }
            }
            let is_within = |start: &&PageStart| match is_reversed {
                true => start.key() > self.bounds.low.as_bytes(),
                false => self.bounds.high.as_ref().is_none_or(|high| start.key() < high.as_bytes()),
            };
            self.start = self.page.next().filter(is_within).cloned();
            if self.start.is_none() {
                self.is_over = true;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Asks for the memory of the rows from an entry of the page on, as far as they are likely to be read.
    fn expect(&self, pin: &Pin<'_>, from: usize) {
        let listed = self.page.listed()[from..].iter().take(ROWS_AHEAD.min(self.rows_at_once));
        let records = listed.filter_map(|listed| match listed {
            Listed::Record(record) => Some(pin.get(*record)),
            Listed::Orphan(_) => None,
        });
        let bytes = if self.is_index { 1 } else { EXPECTED_ROW_BYTES };
        records.clone().for_each(|record| record.prefetch_version(bytes));
        if self.is_index {
            let primary_keys = records.filter_map(|entry| entry.version(pin)).map(Version::bytes);
            self.table.primary.expect(pin, primary_keys, |record| record.prefetch_version(EXPECTED_ROW_BYTES));
        }
    }
}
