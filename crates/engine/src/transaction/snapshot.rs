//! Snapshots that users read: the state at the end of an epoch, for as long as somebody holds it, while transactions go on.
//!
//! A transaction at a snapshot reads only, is never aborted by others and locks nothing. It pins for each access and copies what
//! it finds, so that however long it lasts it holds back no memory but the versions that its snapshot sees.
//!
//! Invariants:
//! - A snapshot holds everything that had committed when it was opened, whole transactions only, and nothing later.
//! - It is read from the end of its epoch on: when every transaction of that epoch or an earlier one has ended.
//! - What a transaction at a snapshot has read is durable when everything is that had drawn a stamp when it could be read.
//! - A snapshot that the limits end gives an error from then on, and never a wrong row: each access asks afterwards.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use osier_memory::sync::Backoff;
use osier_memory::{EXPECTED_AT_ONCE, Ended, Lookup, Participant, Pin, Reads, Version};

use super::access::EXPECTED_ROW_BYTES;
use super::backlog::{Reach, Use};
use super::faults;
use super::open_snapshots::Parts;
use crate::error::{Error, LogError, TransactionError};
use crate::failpoint::{Point, yield_at};
use crate::ids::{Epoch, Stamp};
use crate::log::acknowledge::{Outcome, Receipt};
use crate::table::store::RecordTree;
use crate::table::{KeyBuf, Row, Table, Value};
use crate::transaction::shared::Shared;

/// The state of a database at the end of an epoch: [`Database::snapshot`](crate::Database::snapshot). Clones share it; it is kept
/// until the last one, and the last transaction at it, is dropped. It can be used by many threads at once.
///
/// Rows that change meanwhile are kept for it, and count as memory: while it is open, it holds up to a copy of the rows that it
/// sees.
#[derive(Clone)]
pub struct Snapshot {
    shared: Arc<Shared>,
    parts: Arc<Parts>,
}

impl Snapshot {
    /// Opens a snapshot of everything that has committed.
    pub(crate) fn open(shared: &Arc<Shared>) -> Result<Snapshot, Error> {
        if shared.is_closed() {
            return Err(LogError::Closed.into());
        }
        let (clock, epochs) = (&*shared.config.environment.clock, shared.store.epochs());
        let opened = clock.now();
        let kept = shared.snapshots.open(Reads::All).ok_or(TransactionError::EpochsExhausted)?;
        let mut backoff = Backoff::new();
        while !faults::is_readable(kept.is_readable()) {
            if shared.is_closed() {
                return Err(LogError::Closed.into());
            }
            if epochs.current() <= kept.boundary() {
                shared.open_snapshots.end_epoch(clock, epochs, kept.boundary());
            } else {
                // For commits, which wait for no device.
                backoff.wait();
            }
        }
        yield_at(Point::Ordered);
        let stamp = faults::snapshot_stamp(shared.log.last_stamp());
        let parts = shared.open_snapshots.share(kept, opened, stamp);
        if parts.kept.has_ended() {
            // One of the same epoch was ended.
            return Snapshot::open(shared);
        }
        Ok(Snapshot { shared: shared.clone(), parts })
    }

    /// The epoch at whose end it is: it holds what the transactions up to that one did
    /// ([`Receipt::epoch`](crate::Receipt::epoch)).
    pub fn epoch(&self) -> Epoch {
        self.parts.kept.boundary()
    }

    /// Returns a receipt for all that it holds: it is good when no crash takes any of that back.
    pub fn receipt(&self) -> Receipt {
        self.shared.durable(self.parts.stamp)
    }

    pub(super) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    /// What keeps it.
    pub(super) fn kept(&self) -> &osier_memory::Snapshot {
        &self.parts.kept
    }

    fn outcome(&self) -> Outcome {
        Outcome { epoch: self.epoch(), ..Outcome::stable(self.parts.stamp) }
    }

    /// The row under a key.
    pub(super) fn look_up<'a>(
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

    pub(super) fn has_ended(&self) -> TransactionError {
        let end = self.parts.end.get().expect("whoever ends a snapshot says why before it does");
        TransactionError::SnapshotEnded { epoch: self.epoch(), end: end.clone() }
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("epoch", &self.epoch()).finish_non_exhaustive()
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
    pub(super) fn access<T>(
        &self,
        access: impl FnOnce(&Snapshot, &Pin<'_>) -> Result<T, TransactionError>,
    ) -> Result<T, Error> {
        let snapshot = self.snapshot()?;
        let mut participant = self.participant.borrow_mut();
        let found = access(snapshot, &participant.pin())?;
        // What it missed may be gone because nothing was kept.
        if snapshot.parts.kept.has_ended() { Err(snapshot.has_ended().into()) } else { Ok(found) }
    }

    /// Looks at what there is now, under a pin of its own: what is found is no part of the snapshot.
    pub(super) fn pinned<T>(&self, look: impl FnOnce(&Pin<'_>) -> T) -> T {
        look(&self.participant.borrow_mut().pin())
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
            self.shared.wait_for_handle(&mut backoff)?;
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
        self.shared.settle(table, Reach::Key(key.as_bytes()), Use::Read)?;
        let found =
            self.access(|snapshot, pin| Ok(snapshot.look_up(pin, &table.primary, key.as_bytes())?.map(copy)))?;
        Ok(found.map(|row| table.rows.row(row)))
    }

    pub(super) fn get_many<'t>(&self, table: &'t Table, keys: &[KeyBuf]) -> Result<Vec<Option<Row<'t>>>, Error> {
        self.check(table)?;
        let mut rows = Vec::with_capacity(keys.len());
        for keys in keys.chunks(EXPECTED_AT_ONCE) {
            let mut all = keys.iter().map(KeyBuf::as_bytes);
            all.try_for_each(|key| self.shared.settle(table, Reach::Key(key), Use::Read))?;
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

pub(super) fn copy(version: &Version) -> Vec<u8> {
    version.bytes().to_vec()
}
