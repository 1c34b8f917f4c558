//! Reading and writing single rows.
//!
//! Invariants:
//! - Every outcome that depends on a row's presence, absence or content notes it in the read set first.
//! - An operation that fails leaves the write set as it was.
//! - *Blind* operations (upsert, delete_blind) read nothing but the table's definition, so the log may order them without what
//!   they overwrite (Poplar's Qww). On a table with secondary indexes nothing is blind: old entries must be found.

use std::borrow::Cow;
use std::sync::Arc;

use osier_memory::{Ahead, EXPECTED_AT_ONCE, Held, LockWord, Lookup, Record, Stamp, Version, VersionBox};

use super::backlog::{Reach, Use};
use super::duplicate::duplicate_key;
use super::{TouchedTable, Transaction, TransactionState, try_access};
use crate::concurrency::write_set::{TreeRef, Write, WriteSet};
use crate::concurrency::{ConcurrencyControl, Found, Intent, with_scheme};
use crate::config::Config;
use crate::error::{Error, TransactionError};
use crate::table::store::RecordTree;
use crate::table::{ColumnId, KeyBuf, Row, Table, Value};

/// How many bytes of a row are asked for. The processor asks for the lines behind them by itself when these are read.
pub(super) const EXPECTED_ROW_BYTES: usize = 256;

/// Rows that a scan asks for ahead of the one that is read.
pub(super) const ROWS_AHEAD: usize = 8;

/// The new values of some columns, gathered by [`Transaction::update_with`].
#[derive(Debug, Default)]
pub struct Changes<'v> {
    values: Vec<(ColumnId, Value<'v>)>,
}

impl<'v> Changes<'v> {
    /// Gives `column` the value; the last one given counts.
    pub fn set(&mut self, column: ColumnId, value: Value<'v>) {
        match self.values.iter_mut().find(|(of, _)| *of == column) {
            Some((_, old)) => *old = value,
            None => self.values.push((column, value)),
        }
    }
}

/// A row as the transaction sees it.
pub(super) enum Content<'a> {
    Committed(&'a Version),
    /// Written by this transaction: a copy, since a later write replaces the pending version.
    Own {
        bytes: Box<[u8]>,
        birth: Option<Stamp>,
    },
}

impl<'a> Content<'a> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Content::Committed(version) => version.bytes(),
            Content::Own { bytes, .. } => bytes,
        }
    }

    /// When the row came to exist; `None`: within this transaction.
    pub(super) fn birth(&self) -> Option<Stamp> {
        match self {
            Content::Committed(version) => Some(version.birth()),
            Content::Own { birth, .. } => *birth,
        }
    }

    /// The committed version whose content this is, for a write that takes its place; [`Stamp::ZERO`]: of this transaction.
    pub(super) fn base(&self) -> Stamp {
        match self {
            Content::Committed(version) => version.stamp(),
            Content::Own { .. } => Stamp::ZERO,
        }
    }

    pub(super) fn into_cow(self) -> Cow<'a, [u8]> {
        match self {
            Content::Committed(version) => Cow::Borrowed(version.bytes()),
            Content::Own { bytes, .. } => Cow::Owned(bytes.into_vec()),
        }
    }
}

/// A record with a row, and when that came to exist at the latest; `None`: within this transaction.
pub(super) struct Existing {
    pub(super) record: Held<Record>,
    birth: Option<Stamp>,
}

/// A row that will be read or written, whose memory is asked for step by step.
pub(crate) struct RowAhead<'t>(Ahead<'t, Record>);

impl RowAhead<'_> {
    /// Asks for what comes next, once what was asked for is there; `false` where there is nothing more.
    pub(crate) fn advance(&mut self) -> bool {
        self.0.advance(|record| record.prefetch_version(EXPECTED_ROW_BYTES))
    }
}

/// A row that was read to be changed or removed: [`Transaction::change_row`], [`Transaction::delete_row`].
pub(crate) struct RowForWrite<'t> {
    tree_ref: TreeRef,
    record: Held<Record>,
    old: Content<'t>,
}

impl<'t> RowForWrite<'t> {
    /// Returns the row, borrowed from the transaction where it is committed.
    pub(crate) fn bytes(&self) -> Result<&'t [u8], &[u8]> {
        match &self.old {
            Content::Committed(version) => Ok(version.bytes()),
            Content::Own { bytes, .. } => Err(bytes),
        }
    }
}

/// A record that was looked at, and the row in it.
pub(super) type Looked<'a> = (Held<Record>, Option<Content<'a>>);

impl<'s> Transaction<'s> {
    /// The row with this primary key.
    pub fn get<'t>(&'t self, table: &'t Table, key: &[Value<'_>]) -> Result<Option<Row<'t>>, Error> {
        self.get_to(table, key, Intent::to_read(table))
    }

    /// Whether there is a row with this primary key. Nothing else of it is read: a transaction that changes other columns in the
    /// meantime is no conflict, one that removes the row is.
    pub fn exists(&self, table: &Table, key: &[Value<'_>]) -> Result<bool, Error> {
        if self.at_snapshot().is_some() {
            return Ok(self.get(table, key)?.is_some());
        }
        let state = &mut **self.state();
        self.touch(state, table)?;
        let key = table.keys.of_key(key)?;
        self.shared.settle(table, Reach::Key(key.as_bytes()), Use::Read)?;
        let existing = self.look_up_existence(state, &table.primary, key.as_bytes(), Intent::to_read(table))?;
        Ok(existing.is_some())
    }

    /// As [`Transaction::get`], for a row that this transaction is about to change or to remove. Where rows are locked it is
    /// locked at once as for the change: of two transactions that read a row and then change it none has to give way.
    pub fn get_for_update<'t>(&'t self, table: &'t Table, key: &[Value<'_>]) -> Result<Option<Row<'t>>, Error> {
        self.refuse_write(table)?;
        self.get_to(table, key, Intent::to_write(table))
    }

    /// The row with this primary key, for a use with this intent.
    pub(crate) fn get_to<'t>(
        &'t self,
        table: &'t Table,
        key: &[Value<'_>],
        intent: Intent,
    ) -> Result<Option<Row<'t>>, Error> {
        if let Some(at) = self.at_snapshot() {
            return at.get(table, key);
        }
        let state = &mut **self.state();
        self.touch(state, table)?;
        let key = table.keys.of_key(key)?;
        self.get_encoded(state, table, &key, intent)
    }

    /// The intent of a read of this table, whose row may be changed then.
    pub(crate) fn intent(&self, table: &Table, may_change: bool) -> Intent {
        match may_change && !self.options.read_only {
            true => Intent::to_write(table),
            false => Intent::to_read(table),
        }
    }

    fn get_encoded<'t>(
        &'t self,
        state: &mut TransactionState,
        table: &'t Table,
        key: &KeyBuf,
        intent: Intent,
    ) -> Result<Option<Row<'t>>, Error> {
        self.shared.settle(table, Reach::Key(key.as_bytes()), Use::of(intent))?;
        let found = self.look_up(state, &table.primary, key.as_bytes(), intent)?;
        Ok(found.and_then(|(_, content)| content).map(|content| table.rows.row(content.into_cow())))
    }

    /// The rows with these primary keys, in their order. Faster than one [`Transaction::get`] after the other: what the
    /// lookups read is asked for side by side.
    pub fn get_many<'t, 'v>(
        &'t self,
        table: &'t Table,
        keys: impl IntoIterator<Item = impl AsRef<[Value<'v>]>>,
    ) -> Result<Vec<Option<Row<'t>>>, Error> {
        let keys = keys.into_iter().map(|key| table.keys.of_key(key.as_ref())).collect::<Result<Vec<_>, _>>()?;
        if let Some(at) = self.at_snapshot() {
            return at.get_many(table, &keys);
        }
        let state = &mut **self.state();
        self.touch(state, table)?;
        let mut rows = Vec::with_capacity(keys.len());
        for keys in keys.chunks(EXPECTED_AT_ONCE) {
            self.expect_keys(&table.primary, keys);
            for key in keys {
                rows.push(self.get_encoded(state, table, key, Intent::to_read(table))?);
            }
        }
        Ok(rows)
    }

    /// Says that the rows with these primary keys will be read or written soon, and asks for their memory side by side, where
    /// the accesses themselves wait for one row after the other. Some dozens of rows at a time, or the last drive the
    /// first out of the processor's caches. It observes nothing and changes no result.
    pub fn expect<'v>(
        &self,
        table: &Table,
        keys: impl IntoIterator<Item = impl AsRef<[Value<'v>]>>,
    ) -> Result<(), Error> {
        if let Some(at) = self.at_snapshot() {
            return at.check(table);
        }
        self.touch(&mut self.state(), table)?;
        let mut wrong = None;
        let keys =
            keys.into_iter().map_while(|key| table.keys.of_key(key.as_ref()).map_err(|err| wrong = Some(err)).ok());
        self.expect_keys(&table.primary, keys);
        wrong.map_or(Ok(()), |wrong| Err(wrong.into()))
    }

    /// Begins to ask for the memory of the row with this key. It observes nothing and changes no result.
    pub(crate) fn ask_ahead<'t>(&'t self, table: &Table, key: &KeyBuf) -> RowAhead<'t> {
        RowAhead(table.primary.ask_ahead(self.pin(), key.as_bytes()))
    }

    /// Asks for the memory of encoded keys' rows.
    #[inline]
    pub(super) fn expect_keys(&self, tree: &RecordTree, keys: impl IntoIterator<Item = impl AsRef<[u8]>>) {
        tree.expect(self.pin(), keys, |record| record.prefetch_version(EXPECTED_ROW_BYTES));
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`TransactionError::DuplicateKey`] where the primary key or a unique index has it.
    pub fn insert(&self, table: &Table, row: &[Value<'_>]) -> Result<(), Error> {
        let state = &mut **self.state();
        let tree_ref = self.writable(state, table)?;
        let key = table.keys.of_values(row)?;
        let version = self.encode(table, row)?;
        self.insert_encoded(state, table, tree_ref, &key, version)
    }

    pub(super) fn insert_encoded(
        &self,
        state: &mut TransactionState,
        table: &Table,
        tree_ref: TreeRef,
        key: &KeyBuf,
        version: VersionBox,
    ) -> Result<(), Error> {
        self.check_key(table, key)?;
        self.shared.settle(table, Reach::Key(key.as_bytes()), Use::Write)?;
        let ((record, content), is_placeholder) =
            self.look_up_or_index(state, &table.primary, tree_ref, key.as_bytes(), Intent::to_write(table))?;
        if content.is_some() {
            return Err(duplicate_key(table, "the primary key".to_owned(), &table.keys, key.as_bytes()).into());
        }
        let write = Write { is_placeholder, ..Write::new(record, tree_ref, Some(version)) };
        self.write(state, table, write, None)
    }

    /// Puts a row in place of the one with its primary key, or adds it where there is none. Returns nothing of what was
    /// there, so that it depends on nothing.
    pub fn upsert(&self, table: &Table, row: &[Value<'_>]) -> Result<(), Error> {
        let state = &mut **self.state();
        let tree_ref = self.writable(state, table)?;
        let key = table.keys.of_values(row)?;
        self.check_key(table, &key)?;
        let version = self.encode(table, row)?;
        if table.indexes.is_empty() {
            return self.write_blind(state, table, tree_ref, &key, Some(version));
        }
        self.shared.settle(table, Reach::Key(key.as_bytes()), Use::Write)?;
        let ((record, old), is_placeholder) =
            self.look_up_or_index(state, &table.primary, tree_ref, key.as_bytes(), Intent::to_write(table))?;
        let write = Write { is_placeholder, ..Write::new(record, tree_ref, Some(version)) };
        let write = match &old {
            Some(old) => Write { birth: old.birth(), base: old.base(), ..write },
            None => write,
        };
        self.write(state, table, write, old.as_ref().map(Content::bytes))
    }

    /// Puts a row in place of the one with its primary key; whether there is one is the result, what was in it is not
    /// read.
    pub fn replace(&self, table: &Table, row: &[Value<'_>]) -> Result<bool, Error> {
        let state = &mut **self.state();
        let tree_ref = self.writable(state, table)?;
        let key = table.keys.of_values(row)?;
        let version = self.encode(table, row)?;
        self.replace_encoded(state, table, tree_ref, &key, version)
    }

    pub(super) fn replace_encoded(
        &self,
        state: &mut TransactionState,
        table: &Table,
        tree_ref: TreeRef,
        key: &KeyBuf,
        version: VersionBox,
    ) -> Result<bool, Error> {
        self.shared.settle(table, Reach::Key(key.as_bytes()), Use::Write)?;
        if table.indexes.is_empty() {
            let existing = self.look_up_existence(state, &table.primary, key.as_bytes(), Intent::to_write(table))?;
            let Some(Existing { record, birth }) = existing else { return Ok(false) };
            let base = || self.pin().get(record).version(self.pin()).map_or(Stamp::ZERO, Version::stamp);
            let write = Write { birth, ..Write::new(record, tree_ref, Some(version)) }.based_on(base, false);
            return self.put(state, write).map(|()| true);
        }
        let looked = self.look_up(state, &table.primary, key.as_bytes(), Intent::to_write(table))?;
        let Some((record, Some(old))) = looked else { return Ok(false) };
        let write = Write { birth: old.birth(), ..Write::new(record, tree_ref, Some(version)) };
        self.write(state, table, write.based_on(|| old.base(), true), Some(old.bytes()))?;
        Ok(true)
    }

    /// Changes some columns of the row with this primary key; `false` where there is none.
    pub fn update(&self, table: &Table, key: &[Value<'_>], changes: &[(ColumnId, Value<'_>)]) -> Result<bool, Error> {
        let state = &mut **self.state();
        let tree_ref = self.writable(state, table)?;
        let key = table.keys.of_key(key)?;
        self.shared.settle(table, Reach::Key(key.as_bytes()), Use::Write)?;
        let Some((record, Some(old))) = self.look_up(state, &table.primary, key.as_bytes(), Intent::to_write(table))?
        else {
            return Ok(false);
        };
        self.change(state, table, tree_ref, record, &old, changes)?;
        Ok(true)
    }

    /// Changes the row with this primary key by what `decide` makes of it; `false` where there is none. Where `decide`
    /// writes that row itself, the changes are made to what it wrote.
    pub fn update_with<E: From<Error>>(
        &self,
        table: &Table,
        key: &[Value<'_>],
        decide: impl for<'r> FnOnce(&'r Row<'r>, &mut Changes<'r>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let key = table.keys.of_key(key).map_err(Error::from)?;
        let look_up = |state: &mut TransactionState| {
            let tree_ref = self.writable(state, table)?;
            self.shared.settle(table, Reach::Key(key.as_bytes()), Use::Write)?;
            let looked = self.look_up(state, &table.primary, key.as_bytes(), Intent::to_write(table))?;
            Ok::<_, Error>(looked.and_then(|(record, content)| content.map(|old| (tree_ref, record, old))))
        };
        let mut state = self.state();
        let (found, puts) = (look_up(&mut state)?, state.writes.puts());
        let Some((tree_ref, record, old)) = found else { return Ok(false) };
        let row = table.rows.row(old.bytes());
        let mut changes = Changes::default();
        drop(state);
        decide(&row, &mut changes)?;
        let mut state = self.state();
        if state.writes.puts() == puts {
            self.change(&mut state, table, tree_ref, record, &old, &changes.values)?;
            return Ok(true);
        }
        let Some((tree_ref, record, old)) = look_up(&mut state)? else { return Ok(false) };
        self.change(&mut state, table, tree_ref, record, &old, &changes.values)?;
        Ok(true)
    }

    /// The row with this primary key, to be changed or removed before anything else is written.
    pub(crate) fn row_for_write<'t>(
        &'t self,
        table: &'t Table,
        key: &[Value<'_>],
    ) -> Result<Option<RowForWrite<'t>>, Error> {
        let state = &mut **self.state();
        let tree_ref = self.writable(state, table)?;
        let key = table.keys.of_key(key)?;
        self.shared.settle(table, Reach::Key(key.as_bytes()), Use::Write)?;
        let looked = self.look_up(state, &table.primary, key.as_bytes(), Intent::to_write(table))?;
        Ok(looked.and_then(|(record, content)| content.map(|old| RowForWrite { tree_ref, record, old })))
    }

    /// Changes some columns of a row.
    pub(crate) fn change_row(
        &self,
        table: &Table,
        row: &RowForWrite<'_>,
        changes: &[(ColumnId, Value<'_>)],
    ) -> Result<(), Error> {
        self.change(&mut self.state(), table, row.tree_ref, row.record, &row.old, changes)
    }

    /// Removes a row.
    pub(crate) fn delete_row(&self, table: &Table, row: &RowForWrite<'_>) -> Result<(), Error> {
        let write = Write { base: row.old.base(), ..Write::new(row.record, row.tree_ref, None) };
        self.write(&mut self.state(), table, write, Some(row.old.bytes()))
    }

    pub(super) fn change(
        &self,
        state: &mut TransactionState,
        table: &Table,
        tree_ref: TreeRef,
        record: Held<Record>,
        old: &Content<'_>,
        changes: &[(ColumnId, Value<'_>)],
    ) -> Result<(), Error> {
        let bytes = old.bytes();
        let mut version = self.pin().new_version(self.check_row(table, table.rows.patched_len(bytes, changes)?)?);
        table.rows.patch_into(bytes, changes, version.bytes_mut());
        if table.keys.depends_on(changes) {
            let key = table.keys.of_row(&table.rows.row(version.bytes()));
            if key.as_bytes() != self.pin().get(record).key() {
                return self.move_row(state, table, tree_ref, record, old, &key, version);
            }
        }
        let write = Write { birth: old.birth(), base: old.base(), ..Write::new(record, tree_ref, Some(version)) };
        if !table.indexes.iter().any(|index| index.codec.depends_on(changes)) {
            return self.put(state, write);
        }
        self.write(state, table, write, Some(bytes))
    }

    /// An update of the primary key: the old key loses its row, the new one gains it.
    #[expect(clippy::too_many_arguments, reason = "one call, from `change`, with what it has at hand")]
    fn move_row(
        &self,
        state: &mut TransactionState,
        table: &Table,
        tree_ref: TreeRef,
        record: Held<Record>,
        old: &Content<'_>,
        key: &KeyBuf,
        version: VersionBox,
    ) -> Result<(), Error> {
        assert_ne!(key.as_bytes(), self.pin().get(record).key(), "a row moves to another key");
        let attempt = state.writes.begin_attempt();
        let write = Write { base: old.base(), ..Write::new(record, tree_ref, None) };
        let moved = self
            .write(state, table, write, Some(old.bytes()))
            .and_then(|()| self.insert_encoded(state, table, tree_ref, key, version));
        state.writes.end_attempt(attempt, moved.is_ok());
        moved
    }

    /// Removes the row with this primary key; `false` where there is none.
    pub fn delete(&self, table: &Table, key: &[Value<'_>]) -> Result<bool, Error> {
        let state = &mut **self.state();
        let tree_ref = self.writable(state, table)?;
        let key = table.keys.of_key(key)?;
        self.delete_encoded(state, table, tree_ref, &key)
    }

    pub(super) fn delete_encoded(
        &self,
        state: &mut TransactionState,
        table: &Table,
        tree_ref: TreeRef,
        key: &KeyBuf,
    ) -> Result<bool, Error> {
        self.shared.settle(table, Reach::Key(key.as_bytes()), Use::Write)?;
        let Some((record, Some(old))) = self.look_up(state, &table.primary, key.as_bytes(), Intent::to_write(table))?
        else {
            return Ok(false);
        };
        let write = Write { base: old.base(), ..Write::new(record, tree_ref, None) };
        self.write(state, table, write, Some(old.bytes()))?;
        Ok(true)
    }

    /// Removes the row with this primary key, if there is one; does not tell, and so depends on nothing.
    pub fn delete_blind(&self, table: &Table, key: &[Value<'_>]) -> Result<(), Error> {
        if !table.indexes.is_empty() {
            return self.delete(table, key).map(|_| ());
        }
        let state = &mut **self.state();
        let tree_ref = self.writable(state, table)?;
        let key = table.keys.of_key(key)?;
        self.check_key(table, &key)?;
        self.write_blind(state, table, tree_ref, &key, None)
    }

    fn write_blind(
        &self,
        state: &mut TransactionState,
        table: &Table,
        tree_ref: TreeRef,
        key: &KeyBuf,
        pending: Option<VersionBox>,
    ) -> Result<(), Error> {
        self.shared.settle(table, Reach::Key(key.as_bytes()), Use::Write)?;
        let (record, is_placeholder) =
            self.index_record(state, &table.primary, tree_ref, key.as_bytes(), (true, Intent::to_write(table)))?;
        self.put(state, Write { is_placeholder, ..Write::new(record, tree_ref, pending) })
    }

    /// Adds a write of a row and those of its index entries, all or none.
    fn write(
        &self,
        state: &mut TransactionState,
        table: &Table,
        write: Write,
        old: Option<&[u8]>,
    ) -> Result<(), Error> {
        if table.indexes.is_empty() {
            return self.put(state, write);
        }
        let attempt = state.writes.begin_attempt();
        let new = write.pending.as_ref().map(VersionBox::bytes);
        let written =
            self.maintain_indexes(state, table, write.tree_ref, old, new).and_then(|()| self.put(state, write));
        state.writes.end_attempt(attempt, written.is_ok());
        written
    }

    /// Adds one write.
    pub(super) fn put(&self, state: &mut TransactionState, write: Write) -> Result<(), Error> {
        let write = self.observe_overwritten(state, write)?;
        let intent = state.intent_to_write(write.tree_ref);
        try_access!(state, control => control.write(self.pin(), write.record, intent))?;
        state.writes.put(write);
        Ok(())
    }

    /// Looks a key up, noting the row or its absence as read.
    pub(super) fn look_up<'a>(
        &'a self,
        state: &mut TransactionState,
        tree: &Arc<RecordTree>,
        key: &[u8],
        intent: Intent,
    ) -> Result<Option<Looked<'a>>, TransactionError> {
        loop {
            match tree.get(self.pin(), key) {
                Lookup::Found(record) => {
                    debug_assert_eq!(self.pin().get(record).key(), key, "a tree leads to the record of the key");
                    if let Some(content) = self.read(state, record, intent)? {
                        return Ok(Some((record, content)));
                    }
                }
                Lookup::Absent(leaf) if intent == Intent::Definition => {
                    with_scheme!(&mut state.scheme, control => control.name_absent(self.pin(), tree, key, leaf));
                    return Ok(None);
                }
                Lookup::Absent(leaf) => {
                    if try_access!(state, control => control.scan(self.pin(), leaf, intent))? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// As [`Transaction::look_up`], noting no more of a committed row than that it exists.
    pub(super) fn look_up_existence(
        &self,
        state: &mut TransactionState,
        tree: &Arc<RecordTree>,
        key: &[u8],
        intent: Intent,
    ) -> Result<Option<Existing>, TransactionError> {
        if let Lookup::Found(record) = tree.get(self.pin(), key)
            && state.writes.find(record).is_none()
        {
            let (durable, log) = (&mut state.known_durable, &self.shared.log);
            let is_durable = |stamp| {
                if stamp > *durable {
                    *durable = log.csn();
                }
                stamp <= *durable
            };
            let read = try_access!(state, control => control.read_existence(self.pin(), record, intent, is_durable));
            if let Some(birth) = read? {
                return Ok(Some(Existing { record, birth: Some(birth) }));
            }
        }
        let looked = self.look_up(state, tree, key, intent)?;
        Ok(looked.and_then(|(record, content)| content.map(|content| Existing { record, birth: content.birth() })))
    }

    /// Looks a key up, noting it as read, and indexes a placeholder where there is no record; tells whether it did.
    pub(super) fn look_up_or_index<'a>(
        &'a self,
        state: &mut TransactionState,
        tree: &RecordTree,
        tree_ref: TreeRef,
        key: &[u8],
        intent: Intent,
    ) -> Result<(Looked<'a>, bool), TransactionError> {
        loop {
            let (record, is_placeholder) = self.index_record(state, tree, tree_ref, key, (false, intent))?;
            // What was just made is in no write set.
            let content = match is_placeholder {
                true => self.read_committed(state, record, intent)?,
                false => self.read(state, record, intent)?,
            };
            if let Some(content) = content {
                return Ok(((record, content), is_placeholder));
            }
        }
    }

    /// The record of a key, a placeholder where there was none, without reading it; for an access with this intent.
    /// `is_expected`: the key probably has a record, so it is looked up before one is made.
    pub(super) fn index_record(
        &self,
        state: &mut TransactionState,
        tree: &RecordTree,
        tree_ref: TreeRef,
        key: &[u8],
        (is_expected, intent): (bool, Intent),
    ) -> Result<(Held<Record>, bool), TransactionError> {
        let (pin, mut stamp) = (self.pin(), Stamp::ZERO);
        let inserted = loop {
            let inserted = with_scheme!(&state.scheme, control => {
                let may_insert = |gap: &LockWord| control.may_insert(gap, intent);
                tree.get_or_insert_if(pin, key, is_expected, may_insert, |max_stamp| {
                    stamp = self.shared.log.counted(max_stamp);
                    control.placeholder(key, stamp, intent)
                })
            });
            match inserted {
                Ok(inserted) => break inserted,
                Err(leaf) => try_access!(state, control => control.wait_to_insert(pin, leaf))?,
            }
        };
        debug_assert_eq!(self.pin().get(inserted.entry).key(), key, "a tree leads to the record of the key");
        if let Some(change) = &inserted.change {
            state.placeholders_made += 1;
            state.writes.note_placeholder(inserted.entry, tree_ref);
            try_access!(state, control => control.inserted(pin, change, inserted.entry, stamp, intent))?;
        }
        Ok((inserted.entry, inserted.change.is_some()))
    }

    /// The row in a record as this transaction sees it; `None` where the record has left its tree.
    #[inline]
    pub(super) fn read<'a>(
        &'a self,
        state: &mut TransactionState,
        record: Held<Record>,
        intent: Intent,
    ) -> Result<Option<Option<Content<'a>>>, TransactionError> {
        if let Some(write) = state.writes.find(record) {
            let own = |version: &VersionBox| Content::Own { bytes: version.bytes().into(), birth: write.birth };
            return Ok(Some(write.pending.as_ref().map(own)));
        }
        self.read_committed(state, record, intent)
    }

    /// As [`Transaction::read`], of a record that the transaction has not written.
    #[inline]
    fn read_committed<'a>(
        &'a self,
        state: &mut TransactionState,
        record: Held<Record>,
        intent: Intent,
    ) -> Result<Option<Option<Content<'a>>>, TransactionError> {
        Ok(match try_access!(state, control => control.read(self.pin(), record, intent))? {
            Found::Present(version) => Some(Some(Content::Committed(version))),
            Found::Absent => Some(None),
            Found::Gone => None,
        })
    }

    pub(super) fn refuse_read_only(&self, table: &Table) -> Result<(), TransactionError> {
        match self.options.read_only {
            true => Err(TransactionError::ReadOnly { table: table.name().to_owned() }),
            false => Ok(()),
        }
    }

    /// Refuses to write a table, whatever is written.
    pub(super) fn refuse_write(&self, table: &Table) -> Result<(), TransactionError> {
        self.refuse_read_only(table)?;
        self.refuse_catalog(table)
    }

    /// [`Transaction::touch`] for a write.
    fn writable(&self, state: &mut TransactionState, table: &Table) -> Result<TreeRef, Error> {
        self.refuse_write(table)?;
        self.check_size(&state.writes)?;
        self.touch(state, table)
    }

    /// The first use of a table in a session reads its catalog row, so that a change of the definition conflicts like any
    /// other. Later transactions rely on the version of the catalog that it was read under.
    pub(super) fn touch(&self, state: &mut TransactionState, table: &Table) -> Result<TreeRef, Error> {
        let at = match state.tables.iter().position(|touched| touched.table.is_same(table)) {
            Some(at) => at,
            None => {
                let table = table.clone();
                state.tables.push(TouchedTable { table, sequence: 0, is_known: false, relied_on_in: 0 });
                state.tables.len() - 1
            }
        };
        if state.tables[at].sequence != state.sequence {
            let is_committed = state.definitions.is_empty();
            if is_committed && state.tables[at].is_known {
                with_scheme!(&mut state.scheme, control => control.depend(table.catalog_stamp()));
                state.relies_on_version = true;
                state.tables[at].relied_on_in = state.sequence;
            } else {
                self.check_definition(state, table)?;
                state.tables[at].is_known = is_committed;
            }
            state.tables[at].sequence = state.sequence;
        }
        Ok(TreeRef { table: at as u32, index: None })
    }

    pub(super) fn encode(&self, table: &Table, row: &[Value<'_>]) -> Result<VersionBox, Error> {
        let mut version = self.pin().new_version(self.check_row(table, table.rows.encoded_len(row)?)?);
        table.rows.encode_into(row, version.bytes_mut());
        Ok(version)
    }

    /// Whether the transaction may take another write.
    fn check_size(&self, writes: &WriteSet) -> Result<(), TransactionError> {
        let Config { transaction_bytes_max, transaction_writes_max, .. } = self.shared.config;
        let (bytes, count) = (writes.memory_bytes(), writes.len());
        if bytes > transaction_bytes_max {
            return self.over_limit(TransactionError::TransactionBytes { bytes, limit: transaction_bytes_max });
        }
        if count >= transaction_writes_max {
            return self
                .over_limit(TransactionError::TransactionWrites { writes: count, limit: transaction_writes_max });
        }
        Ok(())
    }

    fn check_row(&self, table: &Table, bytes: usize) -> Result<usize, TransactionError> {
        let limit = self.shared.config.row_bytes_max;
        if bytes > limit {
            return self.over_limit(TransactionError::RowTooLarge { table: table.name().to_owned(), bytes, limit });
        }
        Ok(bytes)
    }

    pub(super) fn check_key(&self, table: &Table, key: &KeyBuf) -> Result<(), TransactionError> {
        let (bytes, limit) = (key.as_bytes().len(), self.shared.config.key_bytes_max);
        if bytes > limit {
            return self.over_limit(TransactionError::KeyTooLarge { table: table.name().to_owned(), bytes, limit });
        }
        Ok(())
    }

    /// Fails by a limit of the settings.
    #[cold]
    fn over_limit<T>(&self, error: TransactionError) -> Result<T, TransactionError> {
        self.log_rows();
        Err(error)
    }
}
