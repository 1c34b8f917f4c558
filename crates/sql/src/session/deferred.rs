//! Foreign keys that wait for the end of the transaction, and `SET CONSTRAINTS`.
//!
//! Invariants:
//! - What waits when a savepoint is made is not forgotten before the transaction ends: to roll back to the savepoint may undo
//!   what it was found right with.
//! - What waits is of tables as they are now. A definition is refused that changes them so that the key would be another one.

use std::cell::RefCell;
use std::sync::Arc;

use osier::Transaction;
use osier::table::ColumnId;

use super::{Core, Done};
use crate::bind::Binder;
use crate::catalog::relation::Relation;
use crate::ddl;
use crate::error::{Result, SqlError, SqlState};
use crate::parse::foreign::SetConstraints;
use crate::plan::Query;
use crate::plan::foreign::ForeignKey;
use crate::run::Context;
use crate::run::foreign::{Batch, Waiting};
use crate::sql::CatalogNames;

/// What waits in a transaction, and which keys let it wait.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    batches: RefCell<Vec<Batch>>,
    /// How many of them were there when the last savepoint was made. They are not changed any more.
    sealed: usize,
    modes: Modes,
}

/// What `SET CONSTRAINTS` has said.
#[derive(Clone, Debug, Default)]
struct Modes {
    all: Option<bool>,
    /// Tables, as the engine names them, with their keys.
    named: Vec<((String, String), bool)>,
}

/// What there was when a savepoint was made.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    batches: usize,
    modes: Modes,
}

impl Modes {
    fn defers(&self, key: &ForeignKey) -> bool {
        let is_it = |(table, name): &(String, String)| *table == key.child.table.name() && *name == key.note.name;
        let named = self.named.iter().rev().find(|(named, _)| is_it(named));
        key.note.is_deferrable && named.map(|(_, mode)| *mode).or(self.all).unwrap_or(key.note.is_deferred)
    }
}

impl Waiting for Deferred {
    fn take(&self, batch: Batch) -> Option<Batch> {
        if !batch.can_wait() || !self.modes.defers(batch.key()) {
            return Some(batch);
        }
        let mut batches = self.batches.borrow_mut();
        let mut left = Some(batch);
        for known in batches.iter_mut().skip(self.sealed) {
            let Some(batch) = left.take() else { break };
            left = known.absorb(batch);
        }
        batches.extend(left);
        None
    }
}

impl Deferred {
    /// A savepoint is made.
    pub(super) fn mark(&mut self) -> Mark {
        self.sealed = self.batches.get_mut().len();
        Mark { batches: self.sealed, modes: self.modes.clone() }
    }

    /// Goes back to a savepoint.
    pub(super) fn roll_back_to(&mut self, mark: &Mark) {
        self.batches.get_mut().truncate(mark.batches);
        self.modes = mark.modes.clone();
        self.sealed = mark.batches;
    }

    /// The savepoints behind this one are gone; `None`: all are.
    pub(super) fn release_to(&mut self, mark: Option<&Mark>) {
        self.sealed = mark.map_or(0, |mark| mark.batches);
    }
}

impl Core {
    /// Looks at what waits for the end of the transaction, which is about to come.
    pub(super) fn settle_deferred(&self, transaction: &Transaction<'_>) -> Result<()> {
        if self.deferred.batches.borrow().is_empty() {
            return Ok(());
        }
        self.follow_definition(transaction, "COMMIT")?;
        self.with_bare_context(transaction, |context| {
            self.deferred.batches.borrow().iter().try_for_each(|batch| batch.check(context))
        })
    }

    fn with_bare_context(
        &self,
        transaction: &Transaction<'_>,
        act: impl FnOnce(&Context<'_>) -> Result<()>,
    ) -> Result<()> {
        let query = Query::none();
        self.with_context(transaction, &query, &[], act)
    }

    /// `SET CONSTRAINTS`.
    pub(super) fn set_constraints(&mut self, transaction: &Transaction<'_>, set: &SetConstraints) -> Result<Done> {
        let Core { sql, settings, user, .. } = &*self;
        let definer = ddl::Definer { sql, transaction, settings, user, runner: &*self };
        let mut named = Vec::new();
        for name in &set.names {
            named.extend(definer.deferrable_keys(name)?);
        }
        let modes = &mut self.deferred.modes;
        match set.names.is_empty() {
            true => *modes = Modes { all: Some(set.is_deferred), named: Vec::new() },
            false => modes.named.extend(named.into_iter().map(|name| (name, set.is_deferred))),
        }
        if !set.is_deferred {
            self.settle_immediate(transaction)?;
        }
        Ok(Done::tagged("SET CONSTRAINTS"))
    }

    /// Looks at what waits and must not wait any more.
    fn settle_immediate(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        self.follow_definition(transaction, "SET CONSTRAINTS")?;
        let waits = |batch: &Batch| self.deferred.modes.defers(batch.key());
        self.with_bare_context(transaction, |context| {
            let batches = self.deferred.batches.borrow();
            batches.iter().filter(|batch| !waits(batch)).try_for_each(|batch| batch.check(context))
        })?;
        let Deferred { batches, sealed, modes } = &mut self.deferred;
        let mut at = 0;
        batches.get_mut().retain(|batch| {
            at += 1;
            at <= *sealed || modes.defers(batch.key())
        });
        Ok(())
    }

    /// After a definition: what waits is of the tables as they are now, or the definition is refused.
    pub(super) fn follow_definition(&self, transaction: &Transaction<'_>, tag: &str) -> Result<()> {
        for batch in self.deferred.batches.borrow_mut().iter_mut() {
            let key = batch.key();
            let is_current = |relation: &Relation| {
                let now = transaction.table(relation.table.name());
                now.is_ok_and(|now| Arc::ptr_eq(now.schema(), relation.table.schema()))
            };
            if is_current(&key.child) && is_current(&key.parent) {
                continue;
            }
            let Some(now) = self.key_now(transaction, key)? else {
                let table = if is_current(&key.child) { &key.parent } else { &key.child };
                let message = format!("cannot {tag} \"{}\" because it has pending trigger events", table.name.name);
                return Err(SqlError::new(SqlState::ObjectInUse, message)
                    .with_detail(format!("Foreign key \"{}\" waits for the end of the transaction.", key.note.name))
                    .with_hint("Run SET CONSTRAINTS ALL IMMEDIATE before, or commit."));
            };
            batch.set_key(now);
        }
        Ok(())
    }

    /// The key as it is now, if it is the same one of the same tables.
    fn key_now(&self, transaction: &Transaction<'_>, key: &ForeignKey) -> Result<Option<ForeignKey>> {
        let child = self.sql.find(transaction, &key.child.name)?;
        let Some(child) = child.filter(|child| child.table.id() == key.child.table.id()) else { return Ok(None) };
        let is_it = |note: &&crate::catalog::notes::ForeignKeyNote| note.name == key.note.name;
        let Some(note) = child.notes.foreign_keys.iter().find(is_it) else { return Ok(None) };
        let names = CatalogNames::new(&self.sql, transaction);
        let Ok(now) = Binder::new(&names, &self.settings, &[]).foreign_key(&child, note) else { return Ok(None) };
        let is_same = now.parent.table.id() == key.parent.table.id()
            && (&now.columns, &now.referenced) == (&key.columns, &key.referenced)
            && places(&now.child, &now.columns) == places(&key.child, &key.columns)
            && places(&now.parent, &now.referenced) == places(&key.parent, &key.referenced);
        Ok(is_same.then_some(now))
    }
}

/// Where columns lie in the rows of a table: another one of the same name lies elsewhere.
fn places(relation: &Relation, columns: &[usize]) -> Vec<(usize, usize)> {
    let schema = relation.table.schema();
    columns.iter().map(|column| schema.place(ColumnId(*column as u16))).collect()
}
