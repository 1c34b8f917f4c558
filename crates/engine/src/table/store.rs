//! Where the rows are: one ordered tree of records for every table.
//!
//! Invariants:
//! - A tree exists from the first time it is asked for until [`Store::discard`]; replay asks before any schema is known.
//! - A tree that a snapshot may read is kept until that is over ([`Store::forget_discarded`]).
//! - Table ids are never reused within the life of a store, so a discarded tree never comes back under another table.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use osier_memory::{Epochs, Record, Tree};

use crate::ids::{Epoch, TableId};

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
    /// Discarded, each in its epoch, while there was a snapshot.
    kept: Vec<(Epoch, TableId, Arc<RecordTree>)>,
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

    /// Forgets a table; its memory is freed with the last handle. `kept_in`, where there is a snapshot, is an epoch no earlier
    /// than that of whoever dropped the table: the tree is kept for the snapshots of earlier ones.
    pub(crate) fn discard(&self, table: TableId, kept_in: Option<Epoch>) {
        let mut trees = self.trees.write().unwrap_or_else(PoisonError::into_inner);
        let discarded = trees.live.remove(&table);
        if let (Some(epoch), Some(tree)) = (kept_in, discarded) {
            trees.kept.push((epoch, table, tree));
        }
    }

    /// Drops the trees that were kept for snapshots with earlier boundaries than `earliest`.
    pub(crate) fn forget_discarded(&self, earliest: Epoch) {
        let mut trees = self.trees.write().unwrap_or_else(PoisonError::into_inner);
        trees.kept.retain(|(epoch, ..)| earliest < *epoch);
    }

    /// Returns all trees that a snapshot of `boundary` may see, those that were discarded since included, ascending.
    pub(crate) fn trees(&self, boundary: Epoch) -> Vec<(TableId, Arc<RecordTree>)> {
        let trees = self.trees.read().unwrap_or_else(PoisonError::into_inner);
        let live = trees.live.iter().map(|(id, tree)| (*id, tree.clone()));
        let kept = trees.kept.iter().filter(|(epoch, ..)| *epoch > boundary).map(|(_, id, tree)| (*id, tree.clone()));
        let mut all: Vec<_> = live.chain(kept).collect();
        all.sort_by_key(|(id, _)| *id);
        all
    }
}
