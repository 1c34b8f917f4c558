//! A table as transactions hold it: its schema, its trees and the version of its catalog row that they were made from.
//!
//! Invariant: a handle is usable only by transactions for which the catalog row still has the stamp noted here. The first
//! touch in a session reads the row; later transactions take the session's word for it and check, when they validate,
//! that no definition has changed since (`catalog/mod.rs`). Either way DDL conflicts like any write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ids::{Stamp, TableId};
use crate::table::store::RecordTree;
use crate::table::{ColumnId, Index, IndexId, KeyCodec, RowCodec, Schema, SchemaError};

/// A secondary index of an open table.
pub(crate) struct OpenIndex {
    pub(crate) id: IndexId,
    pub(crate) name: String,
    pub(crate) codec: KeyCodec,
    pub(crate) tree: Arc<RecordTree>,
}

/// What a handle shares with its clones.
pub struct TableParts {
    pub(crate) id: TableId,
    pub(crate) schema: Arc<Schema>,
    pub(crate) rows: RowCodec,
    pub(crate) keys: KeyCodec,
    pub(crate) primary: Arc<RecordTree>,
    pub(crate) indexes: Vec<OpenIndex>,
    /// Stamp of the catalog row, or [`Table::UNCOMMITTED`].
    catalog_stamp: AtomicU64,
}

/// A handle on a table, cheap to clone. It stays valid until the table's definition changes; afterwards each use fails
/// with [`TransactionError::TableChanged`](crate::TransactionError::TableChanged) and the table is to be looked up again.
#[derive(Clone)]
pub struct Table {
    parts: Arc<TableParts>,
}

impl std::ops::Deref for Table {
    type Target = TableParts;

    fn deref(&self) -> &TableParts {
        &self.parts
    }
}

impl Table {
    const UNCOMMITTED: u64 = u64::MAX;

    /// A handle made from a committed catalog row, or (without a stamp) by the transaction that writes that row. The tree
    /// of each secondary index is taken from `index_tree`.
    pub(crate) fn new(
        id: TableId,
        schema: Schema,
        primary: Arc<RecordTree>,
        index_tree: impl Fn(IndexId) -> Arc<RecordTree>,
        catalog_stamp: Option<Stamp>,
    ) -> Result<Table, SchemaError> {
        let schema = Arc::new(schema);
        let open = |index: &Index| {
            let (id, name) = (index.id(), index.name().to_owned());
            let codec = KeyCodec::index(schema.clone(), id)?;
            Ok(OpenIndex { id, name, codec, tree: index_tree(id) })
        };
        let indexes = schema.indexes().iter().map(open).collect::<Result<_, SchemaError>>()?;
        let (rows, keys) = (RowCodec::new(schema.clone()), KeyCodec::primary(schema.clone()));
        let catalog_stamp = AtomicU64::new(catalog_stamp.map_or(Table::UNCOMMITTED, |stamp| stamp.0));
        Ok(Table { parts: Arc::new(TableParts { id, schema, rows, keys, primary, indexes, catalog_stamp }) })
    }

    /// Returns the name it was created with.
    pub fn name(&self) -> &str {
        self.parts.schema.name()
    }

    /// Returns the identity in logs.
    pub fn id(&self) -> TableId {
        self.parts.id
    }

    /// Columns, keys and indexes.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.parts.schema
    }

    /// Returns the position of a column.
    pub fn column(&self, name: &str) -> Result<ColumnId, SchemaError> {
        self.parts.schema.column_id(name)
    }

    pub(crate) fn open_index(&self, name: &str) -> Result<&OpenIndex, SchemaError> {
        let id = self.parts.schema.index(name)?.id();
        Ok(self.parts.indexes.iter().find(|index| index.id == id).expect("a handle opens every index of its schema"))
    }

    /// Returns the stamp of the catalog row that it was made from.
    pub(crate) fn catalog_stamp(&self) -> Stamp {
        let stamp = self.parts.catalog_stamp.load(Ordering::Acquire);
        assert_ne!(stamp, Table::UNCOMMITTED, "others use a table once it is committed");
        Stamp(stamp)
    }

    pub(crate) fn is_made_from(&self, stamp: Stamp) -> bool {
        self.parts.catalog_stamp.load(Ordering::Acquire) == stamp.0
    }

    /// Notes that the transaction that wrote the catalog row has committed with `stamp`.
    pub(crate) fn committed(&self, stamp: Stamp) {
        let before = self.parts.catalog_stamp.swap(stamp.0, Ordering::Release);
        assert_eq!(before, Table::UNCOMMITTED, "a table handle is committed once");
    }

    pub(crate) fn is_same(&self, other: &Table) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts)
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("id", &self.parts.id).field("name", &self.name()).finish_non_exhaustive()
    }
}
