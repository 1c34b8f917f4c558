//! Secondary indexes that are kept in step with the rows of a log while these are replayed (LLR in PACMAN, section 6.2).
//!
//! A table can be followed only where its definition is known before its rows come: that of the checkpoint, or of the begin of
//! the log. All other indexes are built from the rows at the end, as those are that turn out to be of another definition.
//!
//! Invariants:
//! - The entries of a row are those of the version that is installed, however many came before it and in whatever order: whoever
//!   installs one holds the row's lock, takes the entry of the version out that is replaced, and adds its own.
//! - A definition counts if it has the stamp of the one that the catalog has in the end, and every row could be read by it.
//! - What was taken out is a tombstone until the machines merge.
//!
//! Absent: unique indexes. Out of order two rows may have one key for a while, and an index whose entries hold one row each has
//! place for one of them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use osier_memory::{Lookup, Pin, Record};

use super::machine::LogBegin;
use crate::catalog::{Catalog, TABLES};
use crate::config::Config;
use crate::error::{Error, RecoveryError};
use crate::ids::{Stamp, TableId};
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::recovery::{faults, indexes, workers};
use crate::table::handle::OpenIndex;
use crate::table::store::{RecordTree, Store};
use crate::table::{IndexId, KeyBuf, Schema, Table};

/// Longer entries cannot be: what was read as one was something else.
const ENTRY_BYTES_MAX: usize = u16::MAX as usize;

/// The indexes of a store that machines keep in step with rows.
pub(crate) struct KeptIndexes {
    store: Store,
    config: Config,
    /// Known before the first record is replayed.
    tables: OnceLock<BTreeMap<TableId, KeptTable>>,
}

/// A table with indexes that are kept.
struct KeptTable {
    table: Table,
    /// A row could not be read by this definition.
    is_unfit: AtomicBool,
}

/// An entry that was taken out of an index, and is to be purged.
pub(crate) struct IndexTombstone {
    tree: Arc<RecordTree>,
    key: KeyBuf,
}

impl IndexTombstone {
    /// Purges the entry, unless it was added again.
    pub(crate) fn purge(&self, pin: &Pin<'_>) {
        let tombstone = |record: &Record, _: &_| record.is_absent().then(|| record.word().stamp());
        self.tree.remove_if(pin, self.key.as_bytes(), tombstone);
    }
}

/// Whether an index can be kept in step with rows that come in any order.
fn can_be_kept(index: &OpenIndex) -> bool {
    !index.codec.is_unique()
}

impl KeptIndexes {
    /// Returns the indexes of a store, of which none is known.
    pub(crate) fn new(config: &Config, store: &Store) -> KeptIndexes {
        KeptIndexes { store: store.clone(), config: config.clone(), tables: OnceLock::new() }
    }

    /// Before the first record is replayed: learns the definitions of the checkpoint and of the begin of the log, and fills their
    /// indexes from the rows of the checkpoint.
    ///
    /// # Errors
    /// [`RecoveryError::Thread`] where the store has no participant left.
    pub(super) fn learn(&self, begin: &LogBegin<'_>) -> Result<(), RecoveryError> {
        if self.tables.get().is_some() {
            return Ok(());
        }
        let mut participant = workers::register(&self.store)?;
        // What is wrong with a definition, or with a row, is told when the tables are opened.
        let tables = self.definitions(begin, &participant.pin()).unwrap_or_default();
        drop(participant);
        let handles: Vec<Table> = tables.values().cloned().collect();
        let is_wanted = |table: &Table, index| table.indexes.iter().any(|open| open.id == index && can_be_kept(open));
        let is_filled = indexes::build(&self.config, &self.store, &handles, is_wanted).is_ok();
        let kept = tables.into_iter().filter(|(_, table)| is_filled && table.indexes.iter().any(can_be_kept));
        let kept = kept.map(|(id, table)| (id, KeptTable { table, is_unfit: AtomicBool::new(false) }));
        assert!(self.tables.set(kept.collect()).is_ok(), "definitions are learnt once");
        Ok(())
    }

    /// Returns the newest definition of each table in the checkpoint or at the begin of the log.
    fn definitions(&self, begin: &LogBegin<'_>, pin: &Pin<'_>) -> Result<BTreeMap<TableId, Table>, Error> {
        let catalog = Catalog::new(&self.store)?;
        let loaded = catalog.open_all(&self.store, pin)?;
        let mut tables: BTreeMap<TableId, Table> = loaded.into_iter().map(|table| (table.id, table)).collect();
        let rows = &catalog.tables().rows;
        let (id, definition) = (catalog.tables().column("id")?, catalog.tables().column("definition")?);
        begin(&mut |stamp, LoggedWrite { table, change, .. }| {
            let Change::Put(bytes) = change else { return };
            if table != TABLES || rows.check(bytes).is_err() {
                return;
            }
            let row = rows.row(bytes);
            let Ok(schema) = Schema::decode(row.bytes(definition)) else { return };
            let id = TableId(row.int(id) as u32);
            let new_tree = |_| self.store.new_tree();
            let Ok(table) = Table::new(id, schema, self.store.tree(id), new_tree, Some(stamp)) else { return };
            match tables.entry(id) {
                Entry::Vacant(place) => drop(place.insert(table)),
                Entry::Occupied(mut known) if known.get().catalog_stamp() < stamp => drop(known.insert(table)),
                Entry::Occupied(_) => {}
            }
        });
        Ok(tables)
    }

    /// Replaces the entries of the row `old` of a key by those of `new`, which has this stamp. The caller holds the row's lock.
    pub(super) fn follow(
        &self,
        pin: &Pin<'_>,
        (table, key): (TableId, &[u8]),
        old: Option<&[u8]>,
        (new, stamp): (Option<&[u8]>, Stamp),
        tombstones: &mut Vec<IndexTombstone>,
    ) {
        let Some(kept) = self.tables.get().and_then(|tables| tables.get(&table)) else { return };
        if kept.is_unfit.load(Ordering::Relaxed) {
            return;
        }
        let rows = &kept.table.rows;
        if new.is_some_and(|new| rows.check(new).is_err()) {
            kept.is_unfit.store(true, Ordering::Relaxed);
            return;
        }
        for index in kept.table.indexes.iter().filter(|index| can_be_kept(index)) {
            let entry_of = |row: Option<&[u8]>| row.and_then(|row| index.codec.entry_of_row(&rows.row(row)));
            let (old, new) = (entry_of(old), entry_of(new));
            if new.as_ref().is_some_and(|new| new.as_bytes().len() > ENTRY_BYTES_MAX) {
                kept.is_unfit.store(true, Ordering::Relaxed);
                return;
            }
            if old.as_ref().map(KeyBuf::as_bytes) == new.as_ref().map(KeyBuf::as_bytes) {
                continue;
            }
            if let Some(old) = faults::leaving_entry(old) {
                if let Lookup::Found(record) = index.tree.get(pin, old.as_bytes()) {
                    assert!(pin.get(record).replay(pin, stamp, None), "an entry is older than what replaces its row");
                }
                tombstones.push(IndexTombstone { tree: index.tree.clone(), key: old });
            }
            if let Some(new) = new {
                let mut points_to = pin.copy_of(key);
                points_to.set_order(stamp, stamp);
                let absent = |_| Record::new_absent(new.as_bytes(), Stamp::ZERO);
                let entry = index.tree.get_or_insert(pin, new.as_bytes(), absent).entry;
                assert!(pin.get(entry).replay(pin, stamp, Some(points_to)), "an entry is older than its row");
            }
        }
    }

    /// Returns the tree of an index that holds the entries of all rows, where the table has the definition of this stamp.
    pub(crate) fn tree(&self, table: TableId, definition: Stamp, index: IndexId) -> Option<Arc<RecordTree>> {
        let kept = self.tables.get()?.get(&table)?;
        let counts = kept.table.catalog_stamp() == definition && !kept.is_unfit.load(Ordering::Acquire);
        let index = kept.table.indexes.iter().find(|open| open.id == index && can_be_kept(open))?;
        counts.then(|| index.tree.clone())
    }
}
