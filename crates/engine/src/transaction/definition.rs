//! Definitions of tables and indexes, as part of transactions.
//!
//! The catalog is a table; its rows are written like any others, logged and recovered like any others. Besides the row a
//! definition has an effect in memory, its trees: they are made at once, private to the transaction, and published or
//! discarded when it ends.
//!
//! Invariants:
//! - A handle made here is usable by no other transaction before the commit gives it the stamp of its catalog row.
//! - Whoever uses a table has read its catalog row, so an index filled within the defining transaction needs no stamps of
//!   its own: its users depend on the definition.

use osier_memory::sync::Backoff;
use osier_memory::{Record, RecordBox, Stamp, VersionBox};

use super::access::Content;
use super::{Transaction, TransactionState};
use crate::catalog::TableRow;
use crate::concurrency::write_set::TreeRef;
use crate::error::{Error, TransactionError};
use crate::ids::TableId;
use crate::table::handle::OpenIndex;
use crate::table::{KeyRange, Schema, Table, Value};
use crate::transaction::shared::Shared;

/// One change of the definitions, by a transaction in progress.
pub(super) enum Definition {
    /// A new table.
    Create(Table),
    /// The present handle of a table whose indexes changed.
    Alter(Table),
    /// A table that is gone.
    Drop(Table),
}

impl Definition {
    fn table(&self) -> &Table {
        let (Definition::Create(table) | Definition::Alter(table) | Definition::Drop(table)) = self;
        table
    }
}

impl Transaction<'_> {
    /// The table of this name, as this transaction sees it.
    ///
    /// # Errors
    /// [`TransactionError::UnknownTable`].
    pub fn table(&self, name: &str) -> Result<Table, Error> {
        let catalog = self.shared.catalog.tables();
        if name == catalog.name() {
            return Ok(catalog.clone());
        }
        let unknown = || TransactionError::UnknownTable { table: name.to_owned() };
        let state = &mut **self.state();
        if let Some(own) = state.definitions.iter().rev().find(|own| own.table().name() == name) {
            return match own {
                Definition::Create(table) | Definition::Alter(table) => Ok(table.clone()),
                Definition::Drop(_) => Err(unknown().into()),
            };
        }
        // Where the definition was committed this very moment its handle is about to be published.
        let mut backoff = Backoff::new();
        loop {
            let stamp = self.definition_stamp(state, name)?.ok_or_else(unknown)?;
            match self.shared.catalog.handle(name, stamp) {
                Some(table) => return Ok(table),
                None => backoff.wait(),
            }
        }
    }

    /// Creates a table. It can be used at once, by this transaction.
    ///
    /// # Errors
    /// [`TransactionError::TableExists`].
    pub fn create_table(&self, schema: Schema) -> Result<Table, Error> {
        let (shared, catalog) = (self.shared, self.shared.catalog.tables());
        let id = shared.catalog.next_table_id();
        assert!(id >= TableId::FIRST_USER, "{id:?} is one of the catalog's");
        let row = TableRow { id, definition: schema.encode() };
        self.write_catalog(schema.name(), |state, tree_ref| {
            let values = row.values(schema.name());
            let key = catalog.keys.of_values(&values)?;
            let version = self.encode(catalog, &values)?;
            self.insert_encoded(state, catalog, tree_ref, &key, version).map_err(|error| match error {
                Error::Transaction(TransactionError::DuplicateKey { .. }) => {
                    TransactionError::TableExists { table: schema.name().to_owned() }.into()
                }
                error => error,
            })
        })?;
        let table = Table::new(id, schema, shared.store.tree(id), |_| shared.store.new_tree(), None)?;
        self.state().definitions.push(Definition::Create(table.clone()));
        Ok(table)
    }

    /// Removes a table and its rows.
    pub fn drop_table(&self, table: &Table) -> Result<(), Error> {
        self.touch(&mut self.state(), table)?;
        self.refuse_catalog(table)?;
        self.write_catalog(table.name(), |state, tree_ref| {
            let catalog = self.shared.catalog.tables();
            let key = catalog.keys.of_key(&[Value::Text(table.name())])?;
            self.delete_encoded(state, catalog, tree_ref, &key).map(|_| ())
        })?;
        let state = &mut **self.state();
        state.definitions.push(Definition::Drop(table.clone()));
        state.forget_checks();
        Ok(())
    }

    /// Adds a secondary index over `columns` and fills it. The handle given is out of date afterwards; use the one that
    /// is returned.
    ///
    /// # Errors
    /// [`TransactionError::DuplicateKey`] where the index is unique and the rows are not.
    pub fn create_index(&self, table: &Table, name: &str, columns: &[&str], is_unique: bool) -> Result<Table, Error> {
        self.touch(&mut self.state(), table)?;
        self.refuse_catalog(table)?;
        let altered = self.alter(table, table.schema.with_index(name, columns, is_unique)?.0)?;
        let index = altered.open_index(name)?;
        for row in self.scan(table, KeyRange::all())? {
            let row = row?;
            self.shared.memory.admit_more()?;
            let row = altered.rows.row(row.as_bytes());
            let (primary_key, key) = (altered.keys.of_row(&row), index.codec.of_row(&row));
            self.check_key(&altered, &key)?;
            let new_entry = |_: Stamp| index_entry(primary_key.as_bytes(), key.as_bytes());
            if index.tree.insert_or_get(&self.pin, key.as_bytes(), new_entry).change.is_none() {
                return Err(duplicate_entry(&altered, index, key.as_bytes()).into());
            }
        }
        self.define_alter(&altered)?;
        Ok(altered)
    }

    /// Removes a secondary index. The handle given is out of date afterwards; use the one that is returned.
    pub fn drop_index(&self, table: &Table, name: &str) -> Result<Table, Error> {
        self.touch(&mut self.state(), table)?;
        self.refuse_catalog(table)?;
        let altered = self.alter(table, table.schema.without_index(name)?)?;
        self.define_alter(&altered)?;
        Ok(altered)
    }

    /// A handle with another schema that keeps the trees of the indexes that both have.
    fn alter(&self, table: &Table, schema: Schema) -> Result<Table, Error> {
        let kept = |id| table.indexes.iter().find(|index| index.id == id && schema.index(&index.name).is_ok());
        let tree = |id| kept(id).map_or_else(|| self.shared.store.new_tree(), |index| index.tree.clone());
        Ok(Table::new(table.id, schema.clone(), table.primary.clone(), tree, None)?)
    }

    fn define_alter(&self, altered: &Table) -> Result<(), Error> {
        let catalog = self.shared.catalog.tables();
        self.write_catalog(altered.name(), |state, tree_ref| {
            let row = TableRow { id: altered.id, definition: altered.schema.encode() };
            let values = row.values(altered.name());
            let key = catalog.keys.of_values(&values)?;
            let version = self.encode(catalog, &values)?;
            match self.replace_encoded(state, catalog, tree_ref, &key, version)? {
                true => Ok(()),
                // Dropped since this transaction touched it.
                false => Err(state.lose(TransactionError::ROW_CONFLICT).into()),
            }
        })?;
        let state = &mut **self.state();
        state.definitions.push(Definition::Alter(altered.clone()));
        state.forget_checks();
        Ok(())
    }

    fn write_catalog(
        &self,
        name: &str,
        write: impl FnOnce(&mut TransactionState, TreeRef) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let catalog = self.shared.catalog.tables();
        if self.options.read_only {
            return Err(TransactionError::ReadOnly { table: name.to_owned() }.into());
        }
        if name == catalog.name() {
            return Err(TransactionError::TableExists { table: name.to_owned() }.into());
        }
        let state = &mut **self.state();
        let tree_ref = self.touch(state, catalog)?;
        write(state, tree_ref)
    }

    /// The catalog's own table is written by definitions only.
    pub(super) fn refuse_catalog(&self, table: &Table) -> Result<(), TransactionError> {
        match table.is_same(self.shared.catalog.tables()) {
            true => Err(TransactionError::ReadOnly { table: table.name().to_owned() }),
            false => Ok(()),
        }
    }

    /// Whether `table` is what its name means to this transaction.
    pub(super) fn check_definition(&self, state: &mut TransactionState, table: &Table) -> Result<(), Error> {
        if table.is_same(self.shared.catalog.tables()) {
            return Ok(());
        }
        let is_current = match state.definitions.iter().rev().find(|own| own.table().id == table.id) {
            Some(Definition::Create(own) | Definition::Alter(own)) => own.is_same(table),
            Some(Definition::Drop(_)) => false,
            None => self.definition_stamp(state, table.name())?.is_some_and(|stamp| table.is_made_from(stamp)),
        };
        if !is_current {
            return Err(TransactionError::TableChanged { table: table.name().to_owned() }.into());
        }
        Ok(())
    }

    /// The stamp of a committed catalog row, noted as read.
    fn definition_stamp(&self, state: &mut TransactionState, name: &str) -> Result<Option<Stamp>, Error> {
        let catalog = self.shared.catalog.tables();
        let key = catalog.keys.of_key(&[Value::Text(name)])?;
        Ok(match self.look_up(state, &catalog.primary, key.as_bytes())? {
            Some((_, Some(Content::Committed(version)))) => Some(version.stamp()),
            _ => None,
        })
    }
}

impl TransactionState {
    /// Makes the next use of each table check its definition again.
    pub(super) fn forget_checks(&mut self) {
        self.tables.iter_mut().for_each(|touched| touched.sequence = 0);
    }

    /// Undoes the definitions after the first `keep`.
    pub(super) fn undo_definitions(&mut self, shared: &Shared, keep: usize) {
        assert!(keep <= self.definitions.len(), "what is kept was defined");
        if self.definitions.len() > keep {
            for definition in self.definitions.drain(keep..) {
                if let Definition::Create(table) = definition {
                    shared.store.discard(table.id);
                }
            }
            self.forget_checks();
        }
    }

    /// The transaction has committed: its definitions become everybody's.
    pub(super) fn publish_definitions(&mut self, shared: &Shared, stamp: Stamp) {
        assert!(stamp > Stamp::ZERO, "a definition is a write of the catalog");
        let mut settled = Vec::new();
        for definition in self.definitions.drain(..).rev() {
            let id = definition.table().id;
            if settled.contains(&id) {
                continue;
            }
            settled.push(id);
            match definition {
                Definition::Create(table) | Definition::Alter(table) => {
                    table.committed(stamp);
                    shared.catalog.publish(table);
                }
                Definition::Drop(table) => {
                    shared.catalog.withdraw(&table);
                    shared.store.discard(table.id);
                }
            }
        }
        shared.catalog.end_change(true);
    }
}

/// The entry under `key` of the row with `primary_key`, for an index that nobody else sees yet.
pub(crate) fn index_entry(primary_key: &[u8], key: &[u8]) -> RecordBox {
    let stamp = Stamp::ZERO.next();
    let mut points_to = VersionBox::copy_of(primary_key);
    points_to.set_order(stamp, stamp);
    Record::new_present(key, points_to)
}

/// Two rows have the same key in a unique index.
pub(crate) fn duplicate_entry(table: &Table, index: &OpenIndex, key: &[u8]) -> TransactionError {
    let (table, key) = (table.name().to_owned(), index.codec.describe(key));
    TransactionError::DuplicateKey { table, constraint: format!("unique index `{}`", index.name), key }
}
