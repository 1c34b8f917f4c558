//! Foreign keys as statements keep them: which tables they bind together, and how each side finds the rows of the other one.
//!
//! Invariants:
//! - The first table is the one that is written. The others are those whose rows a foreign key may write in turn.
//! - Tables and keys name each other by their positions, because they may refer to each other in circles.

use std::sync::Arc;

use crate::catalog::notes::{Action, ForeignKeyNote};
use crate::catalog::relation::Relation;
use crate::expr::Expr;

/// What a statement that writes a table has to keep, or to do, because of foreign keys.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    pub(crate) tables: Vec<KeyedTable>,
    pub(crate) keys: Vec<ForeignKey>,
}

/// A table that may be written.
#[derive(Debug)]
pub(crate) struct KeyedTable {
    pub(crate) relation: Arc<Relation>,
    pub(crate) checks: Vec<(String, Expr)>,
    /// The columns that are computed of the others, and how.
    pub(crate) generated: Vec<(usize, Expr)>,
    /// The keys that it has.
    pub(crate) own: Vec<usize>,
    /// The keys that refer to it, in the order in which they were made.
    pub(crate) referring: Vec<usize>,
}

/// A foreign key.
#[derive(Debug)]
pub(crate) struct ForeignKey {
    pub(crate) note: ForeignKeyNote,
    /// The table that refers.
    pub(crate) child: Arc<Relation>,
    /// Which of the tables that is, where the key may write it.
    pub(crate) child_table: Option<usize>,
    pub(crate) columns: Vec<usize>,
    /// What the columns are set to by default.
    pub(crate) defaults: Vec<Expr>,
    /// The positions in `columns` of those that `ON DELETE` sets.
    pub(crate) set_on_delete: Vec<usize>,
    /// The table that is referred to.
    pub(crate) parent: Arc<Relation>,
    pub(crate) referenced: Vec<usize>,
    /// How the row is found that is referred to.
    pub(crate) parent_lookup: Lookup,
    /// How the rows are found that refer to one; `None`: the table is read.
    pub(crate) child_lookup: Option<Lookup>,
}

/// A primary key or an index that begins with the columns of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookup {
    /// `None`: the primary key.
    pub(crate) index: Option<usize>,
    /// Its first columns.
    pub(crate) columns: Vec<usize>,
    /// Which value of the foreign key each of them has.
    pub(crate) order: Vec<usize>,
}

impl Lookup {
    /// Finds what begins with these columns in any order; with nothing behind them and one row each, if it is to be unique.
    pub(crate) fn find(relation: &Relation, wanted: &[usize], is_unique: bool) -> Option<Lookup> {
        let usable = |index: Option<usize>, columns: &[usize]| {
            let first = columns.get(..wanted.len())?;
            let order =
                first.iter().map(|column| wanted.iter().position(|at| at == column)).collect::<Option<Vec<_>>>()?;
            let is_whole = columns.len() == wanted.len() || !is_unique;
            let names_all = (0..wanted.len()).all(|at| order.contains(&at));
            (is_whole && names_all).then(|| Lookup { index, columns: first.to_vec(), order })
        };
        usable(None, &relation.key).or_else(|| {
            let mut indexes = relation.indexes.iter().enumerate();
            indexes.find_map(
                |(at, index)| {
                    if index.is_unique || !is_unique { usable(Some(at), &index.columns) } else { None }
                },
            )
        })
    }
}

impl ForeignKey {
    /// What becomes of rows that refer to a row that is deleted, or whose key changes.
    pub(crate) fn action(&self, is_delete: bool) -> Action {
        if is_delete { self.note.on_delete } else { self.note.on_update }
    }
}
