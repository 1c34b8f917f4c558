//! The catalog: which tables there are. Its rows live in the table `osier_tables`, an ordinary table of the engine:
//! definitions are ordinary writes, logged and recovered like all others.
//!
//! ```text
//! osier_tables (name text primary key, id bigint, definition bytes)
//! ```
//!
//! Invariants:
//! - `osier_tables` itself has a fixed id and schema and no row.
//! - The handle of a committed definition is in `handles` shortly after its row is visible; a handle is good only together
//!   with the stamp of the row it was made from.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use crate::ids::{Stamp, TableId};
use crate::table::store::Store;
use crate::table::{Schema, SchemaError, Table, Type, Value};

/// The table of tables.
pub(crate) const TABLES: TableId = TableId(1);

/// One row of the catalog.
pub(crate) struct TableRow {
    pub(crate) id: TableId,
    /// An encoded [`Schema`] (docs/row-format.md).
    pub(crate) definition: Vec<u8>,
}

impl TableRow {
    /// The row of the table named `name`.
    pub(crate) fn values<'r>(&'r self, name: &'r str) -> [Value<'r>; 3] {
        [Value::Text(name), Value::Int(i64::from(self.id.0)), Value::Bytes(&self.definition)]
    }
}

/// The tables of a database.
pub(crate) struct Catalog {
    tables: Table,
    handles: RwLock<HashMap<String, Table>>,
    /// How many transactions have changed definitions, `<< CHANGING_BITS`, and how many are about to.
    clock: AtomicU64,
    next_table_id: AtomicU32,
}

impl Catalog {
    const CHANGING_BITS: u32 = 16;

    /// The catalog of an empty database.
    pub(crate) fn new(store: &Store) -> Result<Catalog, SchemaError> {
        let schema = Schema::builder("osier_tables")
            .column("name", Type::Text)
            .column("id", Type::Int64)
            .column("definition", Type::Bytes)
            .primary_key(["name"])
            .build()?;
        let tables = Table::new(TABLES, schema, store.tree(TABLES), |_| store.new_tree(), Some(Stamp::ZERO))?;
        Ok(Catalog {
            tables,
            handles: RwLock::default(),
            clock: AtomicU64::new(1 << Catalog::CHANGING_BITS),
            next_table_id: AtomicU32::new(TableId::FIRST_USER.0),
        })
    }

    /// The table `osier_tables`.
    pub(crate) fn tables(&self) -> &Table {
        &self.tables
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

    /// Whether no other transaction is changing definitions and `table` is still what its name means; asked as
    /// [`Catalog::is_unchanged`].
    pub(crate) fn is_current(&self, table: &Table, own: u64) -> bool {
        let changing = self.clock.load(Ordering::Acquire) & ((1 << Catalog::CHANGING_BITS) - 1);
        changing == own
            && (table.is_same(&self.tables)
                || self.handles_read().get(table.name()).is_some_and(|held| held.is_same(table)))
    }

    /// An id that no table of this database has or had. Ids of definitions that do not commit are lost.
    pub(crate) fn next_table_id(&self) -> TableId {
        let id = self.next_table_id.fetch_add(1, Ordering::Relaxed);
        assert!(id < u32::MAX, "table ids are exhausted");
        TableId(id)
    }

    /// No table gets one of these ids any more.
    pub(crate) fn take_ids(&self, taken: impl Iterator<Item = TableId>) {
        let next = taken.map(|id| id.0 + 1).fold(TableId::FIRST_USER.0, u32::max);
        self.next_table_id.store(next, Ordering::Relaxed);
    }

    /// The handle made from the catalog row with this stamp, once it is published.
    pub(crate) fn handle(&self, name: &str, stamp: Stamp) -> Option<Table> {
        self.handles_read().get(name).filter(|table| table.is_made_from(stamp)).cloned()
    }

    fn handles_read(&self) -> RwLockReadGuard<'_, HashMap<String, Table>> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A definition has committed.
    pub(crate) fn publish(&self, table: Table) {
        let mut handles = self.handles.write().unwrap_or_else(PoisonError::into_inner);
        handles.insert(table.name().to_owned(), table);
    }

    /// A table has been dropped. Its name may be another table's by now.
    pub(crate) fn withdraw(&self, table: &Table) {
        let mut handles = self.handles.write().unwrap_or_else(PoisonError::into_inner);
        if handles.get(table.name()).is_some_and(|held| held.id == table.id) {
            handles.remove(table.name());
        }
    }
}
