//! Where the rows are: one ordered tree of records for every table.
//!
//! Invariants:
//! - A tree exists from the first time it is asked for until [`Store::discard`]; replay asks before any schema is known.
//! - While a checkpoint is taken ([`Store::keep_discarded`]) no tree is dropped: it may hold rows of the boundary.
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
    trees: Arc<RwLock<Trees>>,
}

#[derive(Default)]
struct Trees {
    live: HashMap<TableId, Arc<RecordTree>>,
    /// Discarded since the last [`Store::keep_discarded`].
    kept: Option<Vec<(TableId, Arc<RecordTree>)>>,
}

impl Store {
    pub(crate) fn new(epochs: Arc<Epochs>) -> Store {
        Store { epochs, trees: Arc::default() }
    }

    pub(crate) fn epochs(&self) -> &Arc<Epochs> {
        &self.epochs
    }

    /// Returns the primary tree of a table, created empty where it is new.
    pub(crate) fn tree(&self, table: TableId) -> Arc<RecordTree> {
        if let Some(tree) = self.trees.read().unwrap_or_else(PoisonError::into_inner).live.get(&table) {
            return tree.clone();
        }
        let mut trees = self.trees.write().unwrap_or_else(PoisonError::into_inner);
        trees.live.entry(table).or_insert_with(|| self.new_tree()).clone()
    }

    /// A tree that the store does not keep: secondary indexes belong to their table's handle.
    pub(crate) fn new_tree(&self) -> Arc<RecordTree> {
        Arc::new(Tree::new(self.epochs.clone()))
    }

    /// Returns the tables that have a tree, ascending.
    pub(crate) fn table_ids(&self) -> Vec<TableId> {
        let trees = self.trees.read().unwrap_or_else(PoisonError::into_inner);
        let mut ids: Vec<TableId> = trees.live.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Forgets a table; its memory is freed with the last handle.
    pub(crate) fn discard(&self, table: TableId) {
        let mut trees = self.trees.write().unwrap_or_else(PoisonError::into_inner);
        let discarded = trees.live.remove(&table);
        if let (Some(kept), Some(tree)) = (&mut trees.kept, discarded) {
            kept.push((table, tree));
        }
    }

    /// Keeps the trees of tables that are discarded from now on, until [`Store::forget_discarded`].
    pub(crate) fn keep_discarded(&self) {
        self.trees.write().unwrap_or_else(PoisonError::into_inner).kept = Some(Vec::new());
    }

    /// Drops the trees that were kept.
    pub(crate) fn forget_discarded(&self) {
        self.trees.write().unwrap_or_else(PoisonError::into_inner).kept = None;
    }

    /// Returns all trees, those that were discarded and kept included, ascending.
    pub(crate) fn trees(&self) -> Vec<(TableId, Arc<RecordTree>)> {
        let trees = self.trees.read().unwrap_or_else(PoisonError::into_inner);
        let live = trees.live.iter().map(|(id, tree)| (*id, tree.clone()));
        let mut all: Vec<_> = live.chain(trees.kept.iter().flatten().cloned()).collect();
        all.sort_by_key(|(id, _)| *id);
        all
    }
}
