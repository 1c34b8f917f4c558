//! A transaction whose writes recovery found in the log, made again in its place among others that are run again.
//!
//! What is logged are images of rows by the ids of their tables, in no order. Unlike a transaction of a user this one may put a
//! row where another one of its rows is yet to leave: so it goes through its writes twice, and adds index entries at last.
//!
//! 1. [`define`](ValuesReplay::define): rows of the catalog. Tables are created and dropped; of one whose indexes changed those
//!    that stay are kept. A table whose row is gone under one name and there under another one has been renamed.
//! 2. [`write`](ValuesReplay::write): all other rows, with the entries that go.
//! 3. [`end`](ValuesReplay::end): the entries that come, and new indexes from all rows.
//!
//! Invariants:
//! - A delta is applied to its base and to nothing else.
//! - Rows of a table that was dropped before, by the order of stamps, are let go. Such a transaction used the definition that was
//!   dropped and depends on nothing that came after it.
//!
//! Absent: transactions that log commands; they make their writes themselves.

use osier_memory::{Held, Record, VersionBox};

use super::access::Content;
use super::definition::Definition;
use super::{Transaction, TransactionState, faults};
use crate::catalog::handles::Handle;
use crate::catalog::procedure::{Procedure, VersionKey};
use crate::catalog::sequence::{Sequence, SequenceRow};
use crate::catalog::{PROCEDURES, SEQUENCES, TABLES, TableRow};
use crate::concurrency::Intent;
use crate::concurrency::write_set::{TreeRef, Write};
use crate::error::Error;
use crate::ids::{Stamp, TableId};
use crate::log::format::payload::delta::Delta;
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::table::handle::OpenIndex;
use crate::table::{KeyBuf, KeyCodec, Schema, Table};

/// Why a write of the log cannot be made again.
#[derive(Debug)]
pub(crate) enum ReplayedError {
    /// It says what changed in a version of a row that is not there.
    MissingVersion {
        /// The table.
        table: String,
        /// The row.
        key: String,
        /// The version.
        base: Stamp,
    },
    /// Any other reason.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for ReplayedError {
    fn from(error: E) -> ReplayedError {
        ReplayedError::Failed(error.into())
    }
}

/// The writes of one transaction.
pub(crate) struct ValuesReplay<'t, 's> {
    transaction: &'t Transaction<'s>,
    /// The tables that it writes; `None` where that was dropped before.
    tables: Vec<(TableId, Option<Table>)>,
    /// Of its rows those in tables with indexes, with the position in `tables`.
    rows: Vec<(usize, TreeRef, Held<Record>)>,
    /// Tables with the indexes that they keep, and as they will be.
    altered: Vec<(Table, Schema)>,
    /// Tables that have lost their names. Some have others.
    nameless: Vec<Table>,
}

impl<'t, 's> ValuesReplay<'t, 's> {
    /// Begins.
    pub(crate) fn new(transaction: &'t Transaction<'s>) -> ValuesReplay<'t, 's> {
        let (tables, rows, altered, nameless) = Default::default();
        ValuesReplay { transaction, tables, rows, altered, nameless }
    }

    /// Makes a write of the catalog, and with it the change of the definitions; others are left.
    pub(crate) fn define(&mut self, write: &LoggedWrite<'_>) -> Result<(), ReplayedError> {
        if write.table == PROCEDURES {
            return self.define_procedure(write);
        }
        if write.table != TABLES {
            return Ok(());
        }
        let tx = self.transaction;
        let catalog = tx.shared.catalog.tables().clone();
        let state = &mut **tx.state();
        let tree_ref = tx.touch(state, &catalog)?;
        let Some(Made { record, old, .. }) = tx.replay_row(state, &catalog, tree_ref, write)? else { return Ok(()) };
        let new = state.writes.find(record).and_then(|write| write.pending.as_ref()).map(VersionBox::bytes);
        let defined = |row: &[u8]| TableRow::of(&catalog, row);
        let (old, new) = (old.as_deref().map(defined).transpose()?, new.map(defined).transpose()?);
        let is_kept = old.as_ref().map(|old| old.id) == new.as_ref().map(|new| new.id);
        self.nameless.extend(old.filter(|_| !is_kept).and_then(|row| tx.shared.catalog.table(row.id)));
        if let Some(row) = new {
            let schema = Schema::decode(&row.definition).map_err(Error::from)?;
            match tx.shared.catalog.table(row.id) {
                Some(before) => {
                    if !is_kept {
                        state.definitions.push(Definition::Rename(before.clone()));
                    }
                    self.alter(state, &before, schema)?;
                }
                None => {
                    let (id, store) = (row.id, &tx.shared.store);
                    tx.shared.catalog.take_id(id);
                    let table = Table::new(id, schema, store.tree(id), |_| store.new_tree(), None)?;
                    state.definitions.push(Definition::Create(table));
                }
            }
        }
        state.forget_checks();
        Ok(())
    }

    /// A step has been taken for all writes: tables that have no name now are gone.
    pub(crate) fn settle(&mut self) {
        let state = &mut **self.transaction.state();
        for table in self.nameless.drain(..) {
            if !state.has_defined(table.id) {
                state.definitions.push(Definition::Drop(table));
            }
        }
        state.forget_checks();
    }

    /// Makes a write of the current version of a procedure.
    fn define_procedure(&mut self, write: &LoggedWrite<'_>) -> Result<(), ReplayedError> {
        let tx = self.transaction;
        let catalog = tx.shared.catalog.system.procedures.clone();
        let state = &mut **tx.state();
        let tree_ref = tx.touch(state, &catalog)?;
        let Some(Made { record, old, .. }) = tx.replay_row(state, &catalog, tree_ref, write)? else { return Ok(()) };
        let new = state.writes.find(record).and_then(|write| write.pending.as_ref());
        let current = |bytes: &[u8]| {
            let row = catalog.rows.row(bytes);
            let (name, of) = VersionKey::of_current(&row);
            Procedure::new(name, of, None)
        };
        let definition = match (new.map(|row| current(row.bytes())), old.as_deref().map(current)) {
            (Some(procedure), _) => Definition::Procedure(procedure),
            (None, Some(gone)) => match tx.shared.catalog.open_procedures.find(gone.name(), |_| true) {
                Some(procedure) => Definition::DropProcedure(procedure),
                None => return Ok(()),
            },
            (None, None) => return Ok(()),
        };
        state.definitions.push(definition);
        state.forget_checks();
        Ok(())
    }

    /// The table `before` gets `schema`, which has other indexes: those that stay now, new ones at the end.
    fn alter(&mut self, state: &mut TransactionState, before: &Table, schema: Schema) -> Result<(), Error> {
        let mut kept = schema.clone();
        for index in schema.indexes() {
            if before.indexes.iter().all(|old| old.id != index.id()) {
                kept = kept.without_index(index.name())?;
            }
        }
        let is_whole = kept.indexes().len() == schema.indexes().len();
        let table = self.transaction.alter(before, kept)?;
        state.definitions.push(Definition::Alter(table.clone()));
        if !is_whole {
            self.altered.push((table, schema));
        }
        Ok(())
    }

    /// Makes a write of a row, and removes the index entries that go with it; writes of the catalog are made already.
    pub(crate) fn write(&mut self, write: &LoggedWrite<'_>) -> Result<(), ReplayedError> {
        if write.table == TABLES || write.table == PROCEDURES {
            return Ok(());
        }
        let tx = self.transaction;
        let state = &mut **tx.state();
        let at = self.position(state, write.table);
        let Some(table) = &self.tables[at].1 else { return Ok(()) };
        let tree_ref = tx.touch(state, table)?;
        let Some(Made { record, old, new }) = tx.replay_row(state, table, tree_ref, write)? else { return Ok(()) };
        if write.table == SEQUENCES {
            tx.follow_sequence(state, table, record, old.as_deref());
        }
        if table.indexes.is_empty() {
            return Ok(());
        }
        for (index, tree_ref) in indexes(table, tree_ref) {
            let entry_of = |row: &Option<Box<[u8]>>| row.as_deref().and_then(|row| entry(table, &index.codec, row));
            let is_written = new.is_some();
            let (old, new) = (entry_of(&old), entry_of(&new));
            let old = faults::leaving_again(old, is_written && new.is_none());
            if let Some(old) = old.filter(|old| new.as_ref() != Some(old)) {
                tx.remove_entry(state, index, tree_ref, old.as_bytes())?;
            }
        }
        self.rows.push((at, tree_ref, record));
        Ok(())
    }

    /// Adds the entries that rows have now, and fills new indexes.
    pub(crate) fn end(self) -> Result<(), ReplayedError> {
        let tx = self.transaction;
        for (at, tree_ref, record) in self.rows {
            let state = &mut **tx.state();
            let table = self.tables[at].1.as_ref().expect("rows of dropped tables are let go");
            let written = state.writes.find(record).expect("it was written");
            let Some(new) = written.pending.as_ref().map(|row| Box::<[u8]>::from(row.bytes())) else { continue };
            let old = tx.pin().get(record).version(tx.pin());
            for (index, tree_ref) in indexes(table, tree_ref) {
                let old = old.and_then(|old| entry(table, &index.codec, old.bytes()));
                let new_key = entry(table, &index.codec, &new).filter(|new| old.as_ref() != Some(new));
                if let Some(new_key) = new_key {
                    let primary_key = table.keys.of_row(&table.rows.row(&*new));
                    tx.add_entry(state, table, index, tree_ref, new_key.as_bytes(), primary_key.as_bytes())?;
                }
            }
        }
        for (table, schema) in self.altered {
            let altered = tx.alter(&table, schema)?;
            for index in altered.indexes.iter().filter(|new| table.indexes.iter().all(|old| old.id != new.id)) {
                tx.fill_index(&table, &altered, index)?;
            }
            let state = &mut **tx.state();
            state.definitions.push(Definition::Alter(altered));
            state.forget_checks();
        }
        Ok(())
    }

    /// Returns the position in `tables` of the one with this id, as the transaction sees it.
    fn position(&mut self, state: &TransactionState, id: TableId) -> usize {
        if let Some(at) = self.tables.iter().position(|(known, _)| *known == id) {
            return at;
        }
        let catalog = &self.transaction.shared.catalog;
        let table = match state.definitions.iter().rev().find(|own| own.table().is_some_and(|own| own.id == id)) {
            Some(Definition::Create(table) | Definition::Alter(table)) => Some(table.clone()),
            Some(_) => None,
            None => catalog.table(id),
        };
        catalog.take_id(id);
        self.tables.push((id, table));
        self.tables.len() - 1
    }
}

/// The indexes of a table, each with its tree; `tree_ref` is the primary one.
fn indexes(table: &Table, tree_ref: TreeRef) -> impl Iterator<Item = (&OpenIndex, TreeRef)> {
    (0..).zip(&table.indexes).map(move |(at, index)| (index, TreeRef { index: Some(at), ..tree_ref }))
}

/// The entry that an index has of a row, if it has one.
fn entry(table: &Table, codec: &KeyCodec, row: &[u8]) -> Option<KeyBuf> {
    codec.entry_of_row(&table.rows.row(row))
}

/// A write of a row that was made again.
struct Made {
    record: Held<Record>,
    /// The row before.
    old: Option<Box<[u8]>>,
    new: Option<Box<[u8]>>,
}

impl Transaction<'_> {
    /// Whether the transaction has written anything.
    pub(crate) fn has_written(&self) -> bool {
        !self.state().writes.is_empty()
    }

    /// Whether one of its accesses met a conflict.
    pub(crate) fn has_met_conflict(&self) -> bool {
        self.state().conflict.is_some()
    }

    /// Whether it has changed definitions.
    pub(crate) fn has_defined(&self) -> bool {
        !self.state().definitions.is_empty()
    }

    /// Makes a write of a row, without its index entries; `None` where it deletes what is not there.
    fn replay_row(
        &self,
        state: &mut TransactionState,
        table: &Table,
        tree_ref: TreeRef,
        write: &LoggedWrite<'_>,
    ) -> Result<Option<Made>, ReplayedError> {
        let LoggedWrite { key, change, .. } = *write;
        if change == Change::Delete {
            let looked = self.look_up(state, &table.primary, key, Intent::to_write(table))?;
            let Some((record, Some(old))) = looked else { return Ok(None) };
            self.put(state, Write::new(record, tree_ref, None))?;
            return Ok(Some(Made { record, old: Some(old.bytes().into()), new: None }));
        }
        let intent = Intent::to_write(table);
        let ((record, old), is_placeholder) = self.look_up_or_index(state, &table.primary, tree_ref, key, intent)?;
        let missing = |base| {
            let (table, key) = (table.name().to_owned(), table.keys.describe(key));
            ReplayedError::MissingVersion { table, key, base }
        };
        let version = match change {
            Change::Put(row) => self.version_of(row),
            Change::Delta(delta) => self.changed(delta, old.as_ref()).ok_or_else(|| missing(delta.base))?,
            Change::Delete => unreachable!("deletes are made above"),
        };
        table.rows.check(version.bytes())?;
        let new = (!table.indexes.is_empty()).then(|| version.bytes().into());
        let birth = old.as_ref().and_then(Content::birth);
        let old = old.map(|old| old.bytes().into());
        self.put(state, Write { birth, is_placeholder, ..Write::new(record, tree_ref, Some(version)) })?;
        Ok(Some(Made { record, old, new }))
    }

    /// Opens or forgets the sequence whose row was made again. Where there is one more or one less then, nobody else
    /// is at work: it need not wait for the commit.
    fn follow_sequence(&self, state: &TransactionState, table: &Table, record: Held<Record>, old: Option<&[u8]>) {
        let open = |bytes: &[u8]| {
            let row = table.rows.row(bytes);
            Sequence::new(SequenceRow::name(&row), SequenceRow::of(&row).id, Some(Stamp::ZERO))
        };
        let sequences = &self.shared.catalog.open_sequences;
        let new = state.writes.find(record).and_then(|write| write.pending.as_ref());
        match (new.map(|row| open(row.bytes())), old.map(open)) {
            (Some(sequence), _) if sequences.find(sequence.name(), |known| known.id() == sequence.id()).is_none() => {
                sequences.publish(sequence);
            }
            (None, Some(gone)) => drop(sequences.withdraw(&gone)),
            _ => {}
        }
    }

    fn version_of(&self, row: &[u8]) -> VersionBox {
        let mut version = self.pin().new_version(row.len());
        version.bytes_mut().copy_from_slice(row);
        version
    }

    /// What a delta makes of its base; `None` where `old` is not that.
    fn changed(&self, delta: Delta<'_>, old: Option<&Content<'_>>) -> Option<VersionBox> {
        let Some(Content::Committed(base)) = old else { return None };
        if base.stamp() != delta.base {
            return None;
        }
        let mut version = self.pin().new_version(delta.new_len(base.bytes().len())?);
        delta.apply(base.bytes(), version.bytes_mut());
        Some(version)
    }
}
