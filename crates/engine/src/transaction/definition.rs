//! Definitions of tables and indexes, as part of transactions, and what all definitions share.
//!
//! The catalog is tables; its rows are written like any others, logged and recovered like any others. Besides the row a
//! definition has an effect in memory, a handle, and of a table its trees: they are made at once, private to the transaction, and
//! published or discarded when it ends.
//!
//! Invariants:
//! - A handle made here is usable by no other transaction before the commit gives it the stamp of its catalog row.
//! - Whoever uses a table has read its catalog row, so an index filled within the defining transaction needs no stamps of
//!   its own: its users depend on the definition.

use osier_memory::sync::Backoff;
use osier_memory::{Pin, Record, RecordBox, Stamp, VersionBox};

use super::access::Content;
use super::duplicate::duplicate_entry;
use super::own_sequence::OwnSequence;
use super::{Transaction, TransactionState, UsedDefinition, faults};
use crate::catalog::procedure::Procedure;
use crate::catalog::sequence::Sequence;
use crate::catalog::{DefinitionHandle, RESERVED_PREFIX, TableRow};
use crate::concurrency::write_set::TreeRef;
use crate::concurrency::{ConcurrencyControl, Intent, with_scheme};
use crate::error::{Error, TransactionError};
use crate::ids::{ProcedureId, TableId};
use crate::table::handle::OpenIndex;
use crate::table::{KeyRange, NewColumn, Schema, SchemaError, Table, Value};
use crate::transaction::shared::Shared;

/// One change of the definitions, by a transaction in progress.
pub(super) enum Definition {
    /// A new table.
    Create(Table),
    /// The handle of a table under a name that it has no more. An `Alter` with the new one comes right behind it.
    Rename(Table),
    /// The present handle of a table of which anything else than its rows changed.
    Alter(Table),
    /// A table that is gone.
    Drop(Table),
    /// A sequence that was created or restarted, and what is left of it.
    Sequence(OwnSequence),
    /// A sequence that is gone.
    DropSequence(Sequence),
    /// A new version of a procedure.
    Procedure(Procedure),
    /// A procedure that is gone.
    DropProcedure(Procedure),
}

/// What a definition is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    Table(TableId),
    Sequence(i64),
    Procedure(ProcedureId),
}

impl Definition {
    pub(super) fn table(&self) -> Option<&Table> {
        match self {
            Definition::Create(table)
            | Definition::Rename(table)
            | Definition::Alter(table)
            | Definition::Drop(table) => Some(table),
            _ => None,
        }
    }

    fn subject(&self) -> Subject {
        match self {
            Definition::Create(table)
            | Definition::Rename(table)
            | Definition::Alter(table)
            | Definition::Drop(table) => Subject::Table(table.id),
            Definition::Sequence(own) => Subject::Sequence(own.sequence.id()),
            Definition::DropSequence(sequence) => Subject::Sequence(sequence.id()),
            Definition::Procedure(procedure) | Definition::DropProcedure(procedure) => {
                Subject::Procedure(procedure.version().id)
            }
        }
    }
}

impl Transaction<'_> {
    /// The table of this name, as this transaction sees it.
    ///
    /// # Errors
    /// [`TransactionError::UnknownTable`]; [`Error::Log`] where the database has failed or is closed, and the table was defined
    /// this very moment.
    pub fn table(&self, name: &str) -> Result<Table, Error> {
        self.table_to(name, Intent::Definition)
    }

    /// As [`Transaction::table`], without the promise that the table is the same when the transaction commits; see
    /// [`Transaction::scan_unvalidated`]. For messages and lists of tables. Whoever uses the handle for more makes the promise
    /// then.
    ///
    /// # Errors
    /// [`TransactionError::UnknownTable`].
    pub fn table_unvalidated(&self, name: &str) -> Result<Table, Error> {
        // Who runs it again may see another.
        self.log_rows();
        self.table_to(name, Intent::Unvalidated)
    }

    fn table_to(&self, name: &str, intent: Intent) -> Result<Table, Error> {
        if let Some(system) = self.shared.catalog.system.named(name) {
            return Ok(system.clone());
        }
        if let Some(at) = self.at_snapshot() {
            return at.table(name);
        }
        let unknown = || TransactionError::UnknownTable { table: name.to_owned() };
        let state = &mut **self.state();
        let is_named = |own: &&Definition| own.table().is_some_and(|table| table.name() == name);
        if let Some(own) = state.definitions.iter().rev().find(is_named) {
            return match own {
                Definition::Create(table) | Definition::Alter(table) => Ok(table.clone()),
                _ => Err(unknown().into()),
            };
        }
        // Where the definition was committed this very moment its handle is about to be published.
        let mut backoff = Backoff::new();
        loop {
            let stamp = self.definition_stamp(state, self.shared.catalog.tables(), (name, intent))?;
            let stamp = stamp.ok_or_else(unknown)?;
            match self.shared.catalog.open_tables.find(name, |table| table.is_made_from(stamp)) {
                // Somebody has given another name to a table that this transaction has changed.
                Some(table) if state.has_defined(table.id) => {
                    return Err(state.lose(TransactionError::ROW_CONFLICT).into());
                }
                Some(table) => return Ok(table),
                None => self.shared.wait_for_handle(&mut backoff)?,
            }
        }
    }

    /// Creates a table. It can be used at once, by this transaction.
    ///
    /// # Errors
    /// [`TransactionError::TableExists`]; [`TransactionError::ReservedName`] for a name that begins as those of system tables.
    pub fn create_table(&self, schema: Schema) -> Result<Table, Error> {
        refuse_reserved(schema.name())?;
        let shared = self.shared;
        let id = shared.catalog.next_table_id();
        assert!(id >= TableId::FIRST_USER, "{id:?} is one of the catalog's");
        self.insert_table_row(id, &schema)?;
        let table = Table::new(id, schema, shared.store.tree(id), |_| shared.store.new_tree(), None)?;
        self.state().definitions.push(Definition::Create(table.clone()));
        Ok(table)
    }

    /// Removes a table and its rows.
    pub fn drop_table(&self, table: &Table) -> Result<(), Error> {
        self.refuse_read_only(table)?;
        self.touch(&mut self.state(), table)?;
        self.refuse_catalog(table)?;
        self.delete_table_row(table)?;
        let state = &mut **self.state();
        state.definitions.push(Definition::Drop(table.clone()));
        state.forget_checks();
        Ok(())
    }

    /// Adds the row of a table to the table of tables.
    fn insert_table_row(&self, id: TableId, schema: &Schema) -> Result<(), Error> {
        let catalog = self.shared.catalog.tables();
        let row = TableRow { id, definition: schema.encode() };
        self.write_catalog(catalog, |state, tree_ref| {
            let values = row.values(schema.name());
            let key = catalog.keys.of_values(&values)?;
            let version = self.encode(catalog, &values)?;
            self.insert_encoded(state, catalog, tree_ref, &key, version).map_err(|error| match error {
                Error::Transaction(TransactionError::DuplicateKey { .. }) => {
                    TransactionError::TableExists { table: schema.name().to_owned() }.into()
                }
                error => error,
            })
        })
    }

    /// Removes the row of a table from the table of tables.
    fn delete_table_row(&self, table: &Table) -> Result<(), Error> {
        let catalog = self.shared.catalog.tables();
        self.write_catalog(catalog, |state, tree_ref| {
            let key = catalog.keys.of_key(&[Value::Text(table.name())])?;
            self.delete_encoded(state, catalog, tree_ref, &key).map(|_| ())
        })
    }

    /// Adds a secondary index over `columns` and fills it. The handle given is out of date afterwards; use the one that
    /// is returned.
    ///
    /// # Errors
    /// [`TransactionError::DuplicateKey`] where the index is unique and the rows are not.
    pub fn create_index(&self, table: &Table, name: &str, columns: &[&str], is_unique: bool) -> Result<Table, Error> {
        self.add_index(table, name, |schema| Ok(schema.with_index(name, columns, is_unique)?.0))
    }

    /// As [`Transaction::create_index`], of an index that has no entries of rows in which its first column is NULL.
    ///
    /// # Errors
    /// As those of [`Transaction::create_index`].
    pub fn create_partial_index(
        &self,
        table: &Table,
        name: &str,
        columns: &[&str],
        is_unique: bool,
    ) -> Result<Table, Error> {
        self.add_index(table, name, |schema| Ok(schema.with_partial_index(name, columns, is_unique)?.0))
    }

    fn add_index(
        &self,
        table: &Table,
        name: &str,
        change: impl FnOnce(&Schema) -> Result<Schema, SchemaError>,
    ) -> Result<Table, Error> {
        self.refuse_read_only(table)?;
        self.touch(&mut self.state(), table)?;
        self.refuse_catalog(table)?;
        // An error of this tells of the table, which is observed by now.
        let altered = self.alter(table, change(&table.schema)?)?;
        self.fill_index(table, &altered, altered.open_index(name)?)?;
        self.define_alter(&altered)?;
        Ok(altered)
    }

    /// Fills `index`, which is empty, of `altered` with entries of the rows of `table`, which is the same with other indexes.
    pub(super) fn fill_index(&self, table: &Table, altered: &Table, index: &OpenIndex) -> Result<(), Error> {
        for row in self.scan(table, KeyRange::all())? {
            let row = row?;
            self.shared.memory.admit_more(self.pin()).inspect_err(|_| self.log_rows())?;
            let row = altered.rows.row(row.as_bytes());
            let Some(key) = faults::filled(&index.codec, &row) else { continue };
            let primary_key = altered.keys.of_row(&row);
            self.check_key(altered, &key)?;
            let new_entry = |_: Stamp| index_entry(primary_key.as_bytes(), key.as_bytes());
            if index.tree.insert_or_get(self.pin(), key.as_bytes(), new_entry).change.is_none() {
                return Err(duplicate_entry(altered, index, key.as_bytes()).into());
            }
        }
        Ok(())
    }

    /// Removes a secondary index. The handle given is out of date afterwards; use the one that is returned.
    pub fn drop_index(&self, table: &Table, name: &str) -> Result<Table, Error> {
        self.redefine(table, |schema| schema.without_index(name))
    }

    /// Changes the [notes](Schema::notes) of a table. The handle given is out of date afterwards; use the one that is returned.
    ///
    /// # Errors
    /// [`SchemaError::NotesTooLong`].
    pub fn annotate_table(&self, table: &Table, notes: impl Into<String>) -> Result<Table, Error> {
        self.redefine(table, |schema| schema.clone().with_notes(notes))
    }

    /// Gives a table another name. The handle given is out of date afterwards; use the one that is returned. Procedures that
    /// name the table are not changed.
    ///
    /// # Errors
    /// [`TransactionError::TableExists`]; [`TransactionError::ReservedName`] for a name that begins as those of system tables.
    pub fn rename_table(&self, table: &Table, name: &str) -> Result<Table, Error> {
        refuse_reserved(name)?;
        self.refuse_read_only(table)?;
        self.touch(&mut self.state(), table)?;
        self.refuse_catalog(table)?;
        let altered = self.alter(table, table.schema.with_name(name)?)?;
        self.insert_table_row(altered.id, &altered.schema)?;
        self.delete_table_row(table)?;
        let state = &mut **self.state();
        state.definitions.extend([Definition::Rename(table.clone()), Definition::Alter(altered.clone())]);
        state.forget_checks();
        Ok(altered)
    }

    /// Adds columns, before the one named `before` or behind the last one. Rows stay as they are, and hold in them what is given.
    /// The handle given is out of date afterwards; use the one that is returned.
    ///
    /// # Errors
    /// As [`Schema::with_columns`].
    pub fn add_columns(&self, table: &Table, before: Option<&str>, columns: &[NewColumn<'_>]) -> Result<Table, Error> {
        let schema = table.schema();
        let at = before.map(|name| schema.column_id(name)).transpose()?;
        let at = at.map_or(schema.columns().len(), |column| usize::from(column.0));
        self.redefine(table, |schema| schema.with_columns(at, columns))
    }

    /// Removes a column, which no key has. Rows stay as they are. The handle given is out of date afterwards; use the one that is
    /// returned.
    ///
    /// # Errors
    /// As [`Schema::without_column`].
    pub fn drop_column(&self, table: &Table, column: &str) -> Result<Table, Error> {
        self.redefine(table, |schema| schema.without_column(column))
    }

    /// Says whether a column, which no key has, takes NULL. Rows stay as they are. The handle given is out of date afterwards;
    /// use the one that is returned.
    ///
    /// # Errors
    /// As [`Schema::with_nullable`]; [`SchemaError::NotNull`] where a row holds NULL in a column that is not to take it.
    pub fn set_nullable(&self, table: &Table, column: &str, is_nullable: bool) -> Result<Table, Error> {
        if !is_nullable {
            self.refuse_null(table, column)?;
        }
        self.redefine(table, |schema| schema.with_nullable(column, is_nullable))
    }

    /// Refuses a column that holds NULL in a row.
    fn refuse_null(&self, table: &Table, name: &str) -> Result<(), Error> {
        let column = table.column(name)?;
        for row in self.scan(table, KeyRange::all())? {
            if row?.is_null(column) {
                let (table, column) = (table.name().to_owned(), name.to_owned());
                return Err(SchemaError::NotNull { table, column }.into());
            }
        }
        Ok(())
    }

    /// Gives a column another name. The handle given is out of date afterwards; use the one that is returned. Procedures that
    /// name the column are not changed.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`] and
    /// [`DuplicateColumn`](crate::SchemaError::DuplicateColumn).
    pub fn rename_column(&self, table: &Table, column: &str, name: &str) -> Result<Table, Error> {
        self.redefine(table, |schema| schema.with_column_name(column, name))
    }

    /// Gives a secondary index another name. The handle given is out of date afterwards; use the one that is returned.
    ///
    /// # Errors
    /// [`SchemaError::UnknownIndex`] and
    /// [`DuplicateIndex`](crate::SchemaError::DuplicateIndex).
    pub fn rename_index(&self, table: &Table, index: &str, name: &str) -> Result<Table, Error> {
        self.redefine(table, |schema| schema.with_index_name(index, name))
    }

    /// Changes the schema of a table, but for its name. Indexes that it has not had are not filled here.
    fn redefine(
        &self,
        table: &Table,
        change: impl FnOnce(&Schema) -> Result<Schema, SchemaError>,
    ) -> Result<Table, Error> {
        self.refuse_read_only(table)?;
        self.touch(&mut self.state(), table)?;
        self.refuse_catalog(table)?;
        let altered = self.alter(table, change(&table.schema)?)?;
        self.define_alter(&altered)?;
        Ok(altered)
    }

    /// A handle with another schema that keeps the trees of the indexes that both have.
    pub(super) fn alter(&self, table: &Table, schema: Schema) -> Result<Table, Error> {
        let kept = |id| table.indexes.iter().find(|index| index.id == id);
        let tree = |id| kept(id).map_or_else(|| self.shared.store.new_tree(), |index| index.tree.clone());
        Ok(Table::new(table.id, schema, table.primary.clone(), tree, None)?)
    }

    fn define_alter(&self, altered: &Table) -> Result<(), Error> {
        let catalog = self.shared.catalog.tables();
        self.write_catalog(catalog, |state, tree_ref| {
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

    /// Writes to a system table, as a part of a definition. What runs again from a log relies on definitions as they are, and
    /// goes first.
    pub(super) fn write_catalog<T>(
        &self,
        system: &Table,
        write: impl FnOnce(&mut TransactionState, TreeRef) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.refuse_read_only(system)?;
        self.shared.settle_all()?;
        self.write_system(system, write)
    }

    /// Writes to a system table.
    pub(super) fn write_system<T>(
        &self,
        system: &Table,
        write: impl FnOnce(&mut TransactionState, TreeRef) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let state = &mut **self.state();
        let tree_ref = self.touch(state, system)?;
        write(state, tree_ref)
    }

    /// Adds a row to a system table as it was in another database; nothing is published.
    pub(crate) fn copy_system_row(&self, system: &Table, row: &[Value<'_>]) -> Result<(), Error> {
        assert!(self.shared.catalog.system.holds(system), "the other tables are written as any");
        self.write_catalog(system, |state, tree_ref| {
            let key = system.keys.of_values(row)?;
            let version = self.encode(system, row)?;
            self.insert_encoded(state, system, tree_ref, &key, version)
        })
    }

    /// The system tables are written by definitions only.
    pub(super) fn refuse_catalog(&self, table: &Table) -> Result<(), TransactionError> {
        match table.id < TableId::FIRST_USER {
            true => Err(TransactionError::SystemTable { table: table.name().to_owned() }),
            false => Ok(()),
        }
    }

    /// Whether `table` is what its name means to this transaction.
    pub(super) fn check_definition(&self, state: &mut TransactionState, table: &Table) -> Result<(), Error> {
        let catalog = &self.shared.catalog;
        if catalog.system.holds(table) {
            return Ok(());
        }
        let is_own = |own: &&Definition| own.table().is_some_and(|own| own.id == table.id);
        let is_current = match state.definitions.iter().rev().find(is_own) {
            Some(Definition::Create(own) | Definition::Alter(own)) => own.is_same(table),
            Some(_) => false,
            None => {
                let stamp = self.definition_stamp(state, catalog.tables(), (table.name(), Intent::Definition))?;
                stamp.is_some_and(|stamp| table.is_made_from(stamp))
            }
        };
        // The stamps of another database, or of an earlier open, say nothing here.
        if !is_current || !table.primary.is_protected(self.pin()) {
            if state.is_in_function {
                // It kept the handle, and may keep another one when it is called again.
                self.log_rows();
            }
            return Err(TransactionError::TableChanged { table: table.name().to_owned() }.into());
        }
        Ok(())
    }

    /// Notes the use of a definition other than a table's, as [`Transaction::touch`] does of a table's; `false`: it is not what
    /// its name means to this transaction.
    pub(super) fn touch_definition(
        &self,
        state: &mut TransactionState,
        handle: &DefinitionHandle,
    ) -> Result<bool, Error> {
        let at = match state.used.iter().position(|used| used.handle.is_same(handle)) {
            Some(at) => at,
            None => {
                let handle = handle.clone();
                state.used.push(UsedDefinition { handle, sequence: 0, is_known: false, relied_on_in: 0 });
                state.used.len() - 1
            }
        };
        if state.used[at].sequence == state.sequence {
            return Ok(true);
        }
        let is_committed = state.definitions.is_empty();
        match handle.stamp() {
            Some(stamp) if is_committed && state.used[at].is_known => {
                with_scheme!(&mut state.scheme, control => control.depend(stamp));
                state.relies_on_version = true;
                state.used[at].relied_on_in = state.sequence;
            }
            _ => {
                let is_current = match handle {
                    DefinitionHandle::Sequence(sequence) => self.is_current_sequence(state, sequence)?,
                    DefinitionHandle::Procedure(procedure) => self.is_current_procedure(state, procedure)?,
                };
                if !is_current {
                    return Ok(false);
                }
                state.used[at].is_known = is_committed;
            }
        }
        state.used[at].sequence = state.sequence;
        Ok(true)
    }

    /// The stamp of the committed row of `name` in a system table, noted as read.
    pub(super) fn definition_stamp(
        &self,
        state: &mut TransactionState,
        catalog: &Table,
        (name, intent): (&str, Intent),
    ) -> Result<Option<Stamp>, Error> {
        let key = catalog.keys.of_key(&[Value::Text(name)])?;
        Ok(match self.look_up(state, &catalog.primary, key.as_bytes(), intent)? {
            Some((_, Some(Content::Committed(version)))) => Some(version.stamp()),
            _ => None,
        })
    }
}

impl TransactionState {
    /// Whether the transaction has made, changed or dropped a table.
    pub(super) fn has_defined(&self, table: TableId) -> bool {
        self.definitions.iter().any(|own| own.table().is_some_and(|own| own.id == table))
    }

    /// Makes the next use of each definition check it again.
    pub(super) fn forget_checks(&mut self) {
        self.tables.iter_mut().for_each(|touched| touched.sequence = 0);
        self.used.iter_mut().for_each(|used| used.sequence = 0);
    }

    /// Undoes the definitions after the first `keep`.
    pub(super) fn undo_definitions(&mut self, shared: &Shared, keep: usize) {
        assert!(keep <= self.definitions.len(), "what is kept was defined");
        if self.definitions.len() > keep {
            for definition in self.definitions.drain(keep..) {
                if let Definition::Create(table) = definition {
                    shared.store.discard(table.id, None);
                }
            }
            self.forget_checks();
        }
    }

    /// The transaction has committed: its definitions become everybody's.
    pub(super) fn publish_definitions(&mut self, shared: &Shared, pin: &Pin<'_>, stamp: Stamp) {
        assert!(stamp > Stamp::ZERO, "a definition is a write of the catalog");
        // No earlier than the transaction's. A snapshot that is opened from now on sees what it has done.
        let epoch = pin.current_epoch();
        let kept_in = shared.snapshots.is_open(pin).then_some(epoch);
        let rename = |own: &Definition| if let Definition::Rename(before) = own { Some(before.clone()) } else { None };
        let renamed: Vec<Table> = self.definitions.iter().filter_map(rename).collect();
        let before = |id| renamed.iter().filter(|table| table.id == id).cloned().collect::<Vec<_>>();
        let mut settled = Vec::new();
        for definition in self.definitions.drain(..).rev() {
            let subject = definition.subject();
            if settled.contains(&subject) {
                continue;
            }
            settled.push(subject);
            match definition {
                Definition::Create(table) | Definition::Alter(table) => {
                    table.committed(stamp);
                    let before = before(table.id);
                    shared.catalog.publish_table(table, &before, kept_in);
                }
                Definition::Drop(table) => {
                    shared.catalog.withdraw_table(&table, &before(table.id), kept_in);
                    shared.store.discard(table.id, kept_in);
                }
                Definition::Rename(_) => unreachable!("what the table is then comes behind"),
                Definition::Sequence(own) => own.publish(&shared.catalog, stamp),
                Definition::DropSequence(sequence) => drop(shared.catalog.open_sequences.withdraw(&sequence)),
                Definition::Procedure(procedure) => {
                    procedure.committed(stamp);
                    shared.catalog.open_procedures.publish(procedure);
                }
                Definition::DropProcedure(procedure) => {
                    shared.catalog.open_procedures.withdraw(&procedure);
                    shared.superseded.dropped(procedure.version().id);
                }
            }
        }
        shared.catalog.end_change(true);
        if kept_in.is_some() && !shared.snapshots.is_open(pin) {
            // Nobody may look at what was kept.
            shared.snapshots.sweep_again();
        }
    }
}

/// Names that begin as those of system tables are theirs.
pub(super) fn refuse_reserved(name: &str) -> Result<(), TransactionError> {
    match name.starts_with(RESERVED_PREFIX) {
        true => Err(TransactionError::ReservedName { name: name.to_owned() }),
        false => Ok(()),
    }
}

/// The entry under `key` of the row with `primary_key`, for an index that nobody else sees yet.
pub(crate) fn index_entry(primary_key: &[u8], key: &[u8]) -> RecordBox {
    let stamp = Stamp::ZERO.next();
    let mut points_to = VersionBox::copy_of(primary_key);
    points_to.set_order(stamp, stamp);
    Record::new_present(key, points_to)
}
