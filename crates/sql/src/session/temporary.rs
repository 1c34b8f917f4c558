//! Temporary objects in the life of a session: when it gets a schema for them, and what becomes of them when a transaction
//! commits and when the session ends.
//!
//! Invariants:
//! - The schema is the session's from the statement on that first needs it, also where that is rolled back.
//! - What `ON COMMIT` says is done within the transaction, behind the checks that wait for its end.

use osier::table::KeyRange;
use osier::{Table, Transaction, Value};
use smallvec::SmallVec;
use sqlparser::ast::Statement;

use super::{Core, Session, State};
use crate::catalog::notes::OnCommit;
use crate::catalog::relation::Relation;
use crate::catalog::temporary::{self, ALIAS};
use crate::ddl;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;

impl Core {
    /// Gives the session its temporary schema, if a statement makes something there.
    pub(super) fn need_temporary_schema(&self, transaction: &Transaction<'_>, statement: &Statement) -> Result<()> {
        let (name, is_said) = match statement {
            Statement::CreateTable(create) => (&create.name, create.temporary),
            Statement::CreateView(create) => (&create.name, create.temporary),
            Statement::CreateSequence { name, temporary, .. } => (name, *temporary),
            _ => return Ok(()),
        };
        let is_meant = || -> Result<bool> {
            Ok(match &parse::parts(name)?[..] {
                [_] => {
                    let (_, objects) = self.sql.objects(transaction)?;
                    self.settings.makes_temporary(|schema| objects.has_schema(schema))
                }
                parts => parts.first().is_some_and(|schema| schema == ALIAS),
            })
        };
        if (is_said || is_meant()?) && self.settings.temporary().begin(&self.sql) {
            self.forget_cached();
        }
        Ok(())
    }

    /// Does what `ON COMMIT` says, as the transaction is about to commit.
    pub(super) fn settle_temporary(&self, transaction: &Transaction<'_>) -> Result<()> {
        let temporary = self.settings.temporary();
        if temporary.schema().is_none() {
            return Ok(());
        }
        let (mut emptied, mut dropped) = (Vec::new(), Vec::new());
        for name in temporary.to_settle(self.defines) {
            let relation = self.sql.find(transaction, &name)?;
            match relation.as_ref().and_then(|relation| relation.notes.on_commit) {
                Some(OnCommit::PreserveRows) => {}
                Some(OnCommit::DeleteRows) => emptied.extend(relation),
                Some(OnCommit::Drop) => {
                    temporary.will_be_gone(&name);
                    dropped.push(name.engine());
                }
                None => temporary.will_be_gone(&name),
            }
        }
        for relation in &emptied {
            refuse_references(relation, |table| emptied.iter().any(|other| other.table.name() == table))?;
            delete_rows(transaction, &relation.table)?;
        }
        if dropped.is_empty() {
            return Ok(());
        }
        let Core { sql, settings, .. } = self;
        let definer = ddl::Definer { sql, transaction, settings, user: settings.user(), runner: self };
        definer.drop_for_good(&dropped)
    }

    /// `DISCARD TEMP`: drops all that is temporary.
    pub(super) fn discard_temporary(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        let Some(schema) = self.settings.temporary().schema() else { return Ok(()) };
        self.defines = true;
        temporary::clear(&self.sql, transaction, Some(schema))?;
        self.follow_definition(transaction, "DISCARD")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.core.notifying.leave(self.core.sql.exchange());
        self.core.backend.iter().for_each(|backend| self.core.sql.backends().remove(backend));
        let Some(schema) = self.core.settings.temporary().schema() else { return };
        // What is open holds the tables.
        self.state = State::Between;
        self.core.sql.temporary_schemas().end(&self.core.sql, schema);
    }
}

/// Refuses a table that another one refers to whose rows stay.
fn refuse_references(parent: &Relation, goes_too: impl Fn(&str) -> bool) -> Result<()> {
    let Some(reference) = parent.notes.referenced_by.iter().find(|reference| !goes_too(&reference.table)) else {
        return Ok(());
    };
    let child = crate::catalog::name::Name::of_engine(&reference.table).name;
    let parent = &parent.name.name;
    let detail = format!("Table \"{child}\" references \"{parent}\", but they do not have the same ON COMMIT setting.");
    let message = "unsupported ON COMMIT and foreign key combination";
    Err(SqlError::new(SqlState::FeatureNotSupported, message).with_detail(detail))
}

/// Deletes all rows of a table: those that the transaction has written, as there are no others.
fn delete_rows(transaction: &Transaction<'_>, table: &Table) -> Result<()> {
    let key = table.schema().primary_key();
    let rows = transaction.scan(table, KeyRange::all())?.collect::<std::result::Result<Vec<_>, _>>()?;
    for row in &rows {
        let values: SmallVec<[Value<'_>; 4]> = key.iter().map(|column| row.value(*column)).collect();
        transaction.delete(table, &values)?;
    }
    Ok(())
}
