//! The catalog: which tables, sequences and procedures there are. Its rows live in the system tables ([`system`]), ordinary
//! tables of the engine: definitions are ordinary writes, logged and recovered like all others.
//!
//! Invariants:
//! - The system tables have no rows of their own.
//! - The handle of a committed definition is published shortly after its row is visible ([`handles`]); a handle is good only
//!   together with the row it was made from.
//! - One version covers all definitions; what a sequence has left is no part of its definition.

pub(crate) mod handles;
pub(crate) mod procedure;
pub(crate) mod sequence;
mod system;

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use osier_memory::sync::{Mutex, lock};

use crate::ids::{Epoch, ProcedureId, Stamp, TableId};
use crate::table::store::Store;
use crate::table::{SchemaError, Table, Value};
use handles::{Handle, Published};
use procedure::Procedure;
use sequence::Sequence;
pub(crate) use system::{PROCEDURE_VERSIONS, PROCEDURES, RESERVED_PREFIX, SEQUENCES, SystemTables, TABLES};

/// One row of `osier_tables`.
pub(crate) struct TableRow {
    pub(crate) id: TableId,
    /// An encoded [`Schema`](crate::Schema) (docs/row-format.md).
    pub(crate) definition: Vec<u8>,
}

impl TableRow {
    /// The row that is encoded in `bytes`, which may come from a disk; `catalog` is the table of tables.
    pub(crate) fn of(catalog: &Table, bytes: &[u8]) -> Result<TableRow, SchemaError> {
        let (id, definition) = (catalog.column("id")?, catalog.column("definition")?);
        catalog.rows.check(bytes)?;
        let row = catalog.rows.row(bytes);
        Ok(TableRow { id: TableId(row.int(id) as u32), definition: row.bytes(definition).to_vec() })
    }

    /// The row of the table named `name`.
    pub(crate) fn values<'r>(&'r self, name: &'r str) -> [Value<'r>; 3] {
        [Value::Text(name), Value::Int(i64::from(self.id.0)), Value::Bytes(&self.definition)]
    }
}

/// A handle on a definition other than a table's.
#[derive(Clone)]
pub(crate) enum DefinitionHandle {
    /// A sequence.
    Sequence(Sequence),
    /// A version of a procedure.
    Procedure(Procedure),
}

impl DefinitionHandle {
    /// Whether it is the same handle.
    pub(crate) fn is_same(&self, other: &DefinitionHandle) -> bool {
        match (self, other) {
            (DefinitionHandle::Sequence(one), DefinitionHandle::Sequence(other)) => one.is_same(other),
            (DefinitionHandle::Procedure(one), DefinitionHandle::Procedure(other)) => one.is_same(other),
            _ => false,
        }
    }

    /// Returns the stamp of the row that it was made from; `None` where that has not committed.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        match self {
            DefinitionHandle::Sequence(sequence) => sequence.stamp(),
            DefinitionHandle::Procedure(procedure) => procedure.stamp(),
        }
    }
}

/// The definitions of a database.
pub(crate) struct Catalog {
    pub(crate) system: SystemTables,
    pub(crate) open_tables: Published<Table>,
    /// Handles that were published until some epoch, no earlier than that of the change, for the snapshots of earlier ones.
    past_tables: Mutex<Vec<(Epoch, Table)>>,
    pub(crate) open_sequences: Published<Sequence>,
    pub(crate) open_procedures: Published<Procedure>,
    /// How many transactions have changed definitions, `<< CHANGING_BITS`, and how many are about to.
    clock: AtomicU64,
    next_table_id: AtomicU32,
    next_sequence_id: AtomicI64,
    next_procedure_id: AtomicU32,
}

impl Catalog {
    const CHANGING_BITS: u32 = 16;

    /// The catalog of an empty database.
    pub(crate) fn new(store: &Store) -> Result<Catalog, SchemaError> {
        Ok(Catalog {
            system: SystemTables::new(store)?,
            open_tables: Published::default(),
            past_tables: Mutex::default(),
            open_sequences: Published::default(),
            open_procedures: Published::default(),
            clock: AtomicU64::new(1 << Catalog::CHANGING_BITS),
            next_table_id: AtomicU32::new(TableId::FIRST_USER.0),
            next_sequence_id: AtomicI64::new(1),
            next_procedure_id: AtomicU32::new(1),
        })
    }

    /// Returns another catalog of the same definitions, with the same handles, which no transaction of either changes while both
    /// are in use.
    pub(crate) fn same(&self) -> Catalog {
        Catalog {
            system: self.system.clone(),
            open_tables: self.open_tables.clone(),
            past_tables: Mutex::default(),
            open_sequences: self.open_sequences.clone(),
            open_procedures: self.open_procedures.clone(),
            clock: AtomicU64::new(self.clock.load(Ordering::Relaxed)),
            next_table_id: AtomicU32::new(self.next_table_id.load(Ordering::Relaxed)),
            next_sequence_id: AtomicI64::new(self.next_sequence_id.load(Ordering::Relaxed)),
            next_procedure_id: AtomicU32::new(self.next_procedure_id.load(Ordering::Relaxed)),
        }
    }

    /// The table `osier_tables`.
    pub(crate) fn tables(&self) -> &Table {
        &self.system.tables
    }

    /// Changes with every transaction that changes definitions.
    pub(crate) fn version(&self) -> u64 {
        self.clock.load(Ordering::Acquire) >> Catalog::CHANGING_BITS
    }

    /// A transaction is about to lock its writes, changed definitions among them.
    pub(crate) fn begin_change(&self) {
        // SeqCst: see `is_unchanged`.
        self.clock.fetch_add(1, Ordering::SeqCst);
    }

    /// It has committed, and its definitions are published; or it has failed.
    pub(crate) fn end_change(&self, has_committed: bool) {
        let change = (u64::from(has_committed) << Catalog::CHANGING_BITS).wrapping_sub(1);
        self.clock.fetch_add(change, Ordering::Release);
    }

    /// Whether every definition is what it was in `version`, but for those of `own` transactions that change some.
    ///
    /// Asked with the write locks held and after a full fence: of a transaction that uses a definition and one that
    /// changes it either the first sees the change coming here, or the second sees the locks when it validates.
    pub(crate) fn is_unchanged(&self, version: u64, own: u64) -> bool {
        self.clock.load(Ordering::Acquire) == version << Catalog::CHANGING_BITS | own
    }

    /// Whether no transaction but `own` ones is changing definitions; asked as [`Catalog::is_unchanged`].
    fn is_quiet(&self, own: u64) -> bool {
        self.clock.load(Ordering::Acquire) & ((1 << Catalog::CHANGING_BITS) - 1) == own
    }

    /// Whether no other transaction is changing definitions and `table` is still what its name means; asked as
    /// [`Catalog::is_unchanged`].
    pub(crate) fn is_current(&self, table: &Table, own: u64) -> bool {
        self.is_quiet(own) && (self.system.holds(table) || self.open_tables.holds(table))
    }

    /// As [`Catalog::is_current`], of a definition other than a table's.
    pub(crate) fn is_current_definition(&self, handle: &DefinitionHandle, own: u64) -> bool {
        self.is_quiet(own)
            && match handle {
                DefinitionHandle::Sequence(sequence) => self.open_sequences.holds(sequence),
                DefinitionHandle::Procedure(procedure) => self.open_procedures.holds(procedure),
            }
    }

    /// An id that no table of this database has or had. Ids of definitions that do not commit are lost.
    pub(crate) fn next_table_id(&self) -> TableId {
        let id = self.next_table_id.fetch_add(1, Ordering::Relaxed);
        assert!(id < u32::MAX, "table ids are exhausted");
        TableId(id)
    }

    /// An id that no sequence has, and none had since the database was opened: nothing that remembers one outlives that.
    pub(crate) fn next_sequence_id(&self) -> i64 {
        next(&self.next_sequence_id)
    }

    /// An id that no procedure of this database has or had.
    pub(crate) fn next_procedure_id(&self) -> ProcedureId {
        let id = self.next_procedure_id.fetch_add(1, Ordering::Relaxed);
        assert!(id < u32::MAX, "ids of procedures are exhausted");
        ProcedureId(id)
    }

    /// Returns the first id that no procedure got so far.
    pub(crate) fn first_free_procedure_id(&self) -> ProcedureId {
        ProcedureId(self.next_procedure_id.load(Ordering::Relaxed))
    }

    /// No table gets one of these ids any more.
    pub(crate) fn take_ids(&self, taken: impl Iterator<Item = TableId>) {
        let next = taken.map(|id| id.0 + 1).fold(TableId::FIRST_USER.0, u32::max);
        self.next_table_id.store(next, Ordering::Relaxed);
    }

    /// No sequence gets this id any more.
    pub(crate) fn take_sequence_id(&self, taken: i64) {
        self.next_sequence_id.fetch_max(taken.saturating_add(1), Ordering::Relaxed);
    }

    /// No procedure gets this id any more.
    pub(crate) fn take_procedure_id(&self, taken: ProcedureId) {
        self.next_procedure_id.fetch_max(taken.0.saturating_add(1), Ordering::Relaxed);
    }

    /// No table gets this id any more.
    pub(crate) fn take_id(&self, taken: TableId) {
        self.next_table_id.fetch_max(taken.0 + 1, Ordering::Relaxed);
    }

    /// A table, or a change of one, has committed, which had the names of `before`; `kept_in`: see [`Store::discard`].
    pub(crate) fn publish_table(&self, table: Table, before: &[Table], kept_in: Option<Epoch>) {
        match before {
            [] => self.keep(self.open_tables.publish(table), kept_in),
            before => self.keep(self.open_tables.publish_renamed(table, before), kept_in),
        }
    }

    /// A table has been dropped, which had the names of `before`, too; `kept_in`: see [`Store::discard`].
    pub(crate) fn withdraw_table(&self, table: &Table, before: &[Table], kept_in: Option<Epoch>) {
        for name in before.iter().chain([table]) {
            self.keep(self.open_tables.withdraw(name), kept_in);
        }
    }

    fn keep(&self, past: impl IntoIterator<Item = Table>, kept_in: Option<Epoch>) {
        if let Some(epoch) = kept_in {
            lock(&self.past_tables).extend(past.into_iter().map(|table| (epoch, table)));
        }
    }

    /// Drops the handles that were kept for snapshots with earlier boundaries than `earliest`.
    pub(crate) fn forget_past(&self, earliest: Epoch) {
        lock(&self.past_tables).retain(|(epoch, _)| earliest < *epoch);
    }

    /// The handle that was made from a row of `osier_tables` which a snapshot sees, once it is published.
    pub(crate) fn table_of_snapshot(&self, name: &str, stamp: Stamp) -> Option<Table> {
        let is_sought = |table: &Table| table.name() == name && table.is_made_from(stamp);
        // In this order: a handle goes from the first place to the second. In between it is in neither.
        self.open_tables.find(name, |table| is_sought(table)).or_else(|| {
            lock(&self.past_tables).iter().find(|(_, table)| is_sought(table)).map(|(_, table)| table.clone())
        })
    }

    /// The handle of the table with this id, once it is published; `None` where it was dropped.
    pub(crate) fn table(&self, id: TableId) -> Option<Table> {
        let system = self.system.all().into_iter().find(|table| table.id == id);
        system.cloned().or_else(|| self.open_tables.find_by(|table| table.id == id))
    }
}

fn next(ids: &AtomicI64) -> i64 {
    let id = ids.fetch_add(1, Ordering::Relaxed);
    assert!(id > 0 && id < i64::MAX, "ids are exhausted");
    id
}
