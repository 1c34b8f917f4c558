//! What begins, ends and divides transaction blocks beyond `BEGIN` and `COMMIT`, and what stands beside them: `AND CHAIN`,
//! `SET TRANSACTION`, `LOCK TABLE`, `CHECKPOINT`.
//!
//! Invariant: the rules of a block are those of its engine transaction where nothing was asked of it yet; else SQL keeps them.

use std::sync::Arc;

use osier::{Transaction, TransactionOptions};
use sqlparser::ast::{self, TransactionAccessMode, TransactionIsolationLevel, TransactionMode};

use super::run::has_failed;
use super::statement::{Planned, Task};
use super::{Core, Done, Session, State};
use crate::bind::Binder;
use crate::catalog::rights::{Object, Rights};
use crate::error::{Result, SqlError, SqlState};
use crate::sql::CatalogNames;

/// What `modes` say of writes.
pub(super) fn read_only(modes: &[TransactionMode]) -> Option<bool> {
    modes.iter().rev().find_map(|mode| match mode {
        TransactionMode::AccessMode(access) => Some(*access == TransactionAccessMode::ReadOnly),
        TransactionMode::IsolationLevel(_) => None,
    })
}

impl Session {
    /// `SET TRANSACTION`.
    pub(super) fn set_transaction(&mut self, modes: &[TransactionMode]) -> Result<Done> {
        if let State::Failed(_) = &self.state {
            return Err(has_failed());
        }
        let State::Open(block) = &self.state else {
            let warning = "SET TRANSACTION can only be used in transaction blocks";
            self.core.notices.push(SqlError::new(SqlState::NoActiveSqlTransaction, warning));
            return Ok(Done::tagged("SET"));
        };
        if block.has_failed {
            return Err(has_failed());
        }
        let (is_explicit, has_begun) = (block.is_explicit, block.has_begun || !block.savepoints.is_empty());
        let refused = |message: &str| Err(SqlError::new(SqlState::ActiveSqlTransaction, message));
        // Whatever is asked for, what runs is serializable.
        let asks_other = modes.iter().any(|mode| {
            matches!(mode, TransactionMode::IsolationLevel(level) if *level != TransactionIsolationLevel::Serializable)
        });
        if asks_other && has_begun {
            return refused("SET TRANSACTION ISOLATION LEVEL must be called before any query");
        }
        let Some(is_read_only) = read_only(modes) else { return Ok(Done::tagged("SET")) };
        if has_begun {
            if !is_read_only && self.core.settings.is_read_only {
                return refused("transaction read-write mode must be set before any query");
            }
        } else {
            let before = std::mem::replace(&mut self.state, State::Between);
            let State::Open(block) = before else { return Err(super::gone()) };
            self.state = State::Idle(block.transaction.roll_back());
            self.begin_as(is_explicit, Some(is_read_only))?;
            return Ok(Done::tagged("SET"));
        }
        Arc::make_mut(&mut self.core.settings)
            .set("transaction_read_only", Some(if is_read_only { "on" } else { "off" }))?;
        Ok(Done::tagged("SET"))
    }

    /// Begins a transaction that may write, or may not; as the session has set, if nothing is said.
    pub(super) fn begin_as(&mut self, is_explicit: bool, is_read_only: Option<bool>) -> Result<()> {
        if let Some(is_read_only) = is_read_only {
            Arc::make_mut(&mut self.core.settings)
                .set("transaction_read_only", Some(if is_read_only { "on" } else { "off" }))?;
        }
        self.begin(is_explicit, TransactionOptions::default())
    }

    /// `CHECKPOINT`. It is asked for and not waited for: a transaction that is open holds it up, which may be one of a client
    /// that is served by the same thread.
    pub(super) fn checkpoint(&mut self) -> Result<Done> {
        match &self.state {
            State::Failed(_) => return Err(has_failed()),
            State::Open(block) if block.has_failed => return Err(has_failed()),
            State::Open(block) if block.is_explicit => {
                let message = "CHECKPOINT cannot run inside a transaction block";
                return Err(SqlError::new(SqlState::ActiveSqlTransaction, message));
            }
            _ => {}
        }
        if self.core.settings.show("is_superuser")? != "on" {
            let message = "must be superuser to do CHECKPOINT";
            return Err(SqlError::new(SqlState::InsufficientPrivilege, message));
        }
        self.core.sql.database().request_checkpoint();
        Ok(Done::tagged("CHECKPOINT"))
    }

    /// Refuses statements that mean nothing outside of a transaction block.
    pub(super) fn refuse_alone(planned: &Planned) -> Result<()> {
        let what = match &planned.task {
            Task::Declare(new) if !new.is_held => "DECLARE CURSOR",
            Task::Utility(statement) if matches!(**statement, ast::Statement::Lock(_)) => "LOCK TABLE",
            _ => return Ok(()),
        };
        let message = format!("{what} can only be used in transaction blocks");
        Err(SqlError::new(SqlState::NoActiveSqlTransaction, message))
    }
}

impl Core {
    /// `LOCK TABLE`: the tables must be there. Nothing is locked, because a transaction sees no change of others anyway.
    pub(super) fn lock(&self, transaction: &Transaction<'_>, lock: &ast::Lock) -> Result<Done> {
        let names = CatalogNames::new(&self.sql, transaction);
        let binder = Binder::new(&names, &self.settings, &[]);
        let write = Rights::UPDATE.and(Rights::DELETE).and(Rights::TRUNCATE);
        let needed = match lock.lock_mode {
            Some(ast::LockTableMode::AccessShare) => Rights::SELECT,
            Some(ast::LockTableMode::RowExclusive) => write.and(Rights::INSERT),
            _ => write,
        };
        let (_, objects) = self.sql.objects(transaction)?;
        for target in &lock.tables {
            let (object, owner) = match (binder.find_relation(&target.name)?, binder.find_view(&target.name)?) {
                (Some(relation), _) if relation.is_materialized() => {
                    let message = format!("cannot lock relation \"{}\"", relation.name.name);
                    return Err(SqlError::new(SqlState::WrongObjectType, message)
                        .with_detail("This operation is not supported for materialized views."));
                }
                (Some(relation), _) => (relation.object(), relation.notes.owner.clone()),
                (None, Some((name, view))) => (Object::View(name), view.owner.clone()),
                (None, None) => return Err(crate::bind::undefined_table(&target.name)),
            };
            if !objects.rights(self.settings.user(), &object, &owner, None).meets(needed) {
                return Err(object.denied());
            }
        }
        Ok(Done::tagged("LOCK TABLE"))
    }
}
