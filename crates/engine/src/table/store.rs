//! Where the rows are: one ordered tree of records for every table.
//!
//! Invariants:
//! - A tree exists from the first time it is asked for until [`Store::discard`]; replay asks before any schema is known.
//! - Table ids are never reused within the life of a store, so a discarded tree never comes back under another table.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use osier_memory::{Epochs, Record, Tree};

use crate::ids::TableId;

/// An ordered index from keys to records.
pub(crate) type RecordTree = Tree<Record>;

/// All trees of a database. Clones share them.
#[derive(Clone)]
pub(crate) struct Store {
    epochs: Arc<Epochs>,
    trees: Arc<RwLock<HashMap<TableId, Arc<RecordTree>>>>,
}

impl Store {
    pub(crate) fn new(epochs: Arc<Epochs>) -> Store {
        Store { epochs, trees: Arc::default() }
    }

    pub(crate) fn epochs(&self) -> &Arc<Epochs> {
        &self.epochs
    }

    /// The primary tree of a table, created empty where it is new.
    pub(crate) fn tree(&self, table: TableId) -> Arc<RecordTree> {
        if let Some(tree) = self.trees.read().unwrap_or_else(PoisonError::into_inner).get(&table) {
            return tree.clone();
        }
        let mut trees = self.trees.write().unwrap_or_else(PoisonError::into_inner);
        trees.entry(table).or_insert_with(|| self.new_tree()).clone()
    }

    /// A tree that the store does not keep: secondary indexes belong to their table's handle.
    pub(crate) fn new_tree(&self) -> Arc<RecordTree> {
        Arc::new(Tree::new(self.epochs.clone()))
    }

    /// The tables that have a tree, ascending.
    pub(crate) fn table_ids(&self) -> Vec<TableId> {
        let trees = self.trees.read().unwrap_or_else(PoisonError::into_inner);
        let mut ids: Vec<TableId> = trees.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Forgets a table; its memory goes when the last handle does.
    pub(crate) fn discard(&self, table: TableId) {
        self.trees.write().unwrap_or_else(PoisonError::into_inner).remove(&table);
    }
}
