//! A statement that was prepared: what it is, what it takes and gives, and its plan.

use std::sync::{Arc, Mutex, PoisonError};

use osier::Transaction;
use sqlparser::ast;

use super::{Column, Kind, Parsed, Prepared};
use crate::bind::{Binder, OutColumn};
use crate::catalog::relation::Relation;
use crate::error::{Result, SqlError, SqlState};
use crate::plan::{Change, Plan, Query};
use crate::settings::Settings;
use crate::sql::{CatalogNames, Sql};
use crate::types::{Declared, Type};

/// What running a statement means.
#[derive(Debug)]
pub(crate) enum Task {
    /// No statement.
    Empty,
    /// A query, or a statement that writes.
    Query(Box<Query>),
    /// Anything else.
    Utility(Box<ast::Statement>),
}

/// A plan, and what it was made for.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) task: Task,
    /// The tables as they were. Where one has changed, the plan is made again.
    relations: Vec<Arc<Relation>>,
    parameters: Vec<Type>,
    columns: Option<Vec<Column>>,
}

impl Prepared {
    /// Prepares a statement.
    pub(super) fn new(
        sql: &Sql,
        transaction: &Transaction<'_>,
        parsed: &Parsed,
        types: &[Option<Type>],
        settings: &Settings,
    ) -> Result<Prepared> {
        let planned = Planned::new(sql, transaction, parsed.0.as_ref(), types, settings)?;
        Ok(Prepared {
            kind: kind(parsed.0.as_ref()),
            parameters: planned.parameters.clone(),
            columns: planned.columns.clone(),
            parsed: parsed.clone(),
            types: types.to_vec(),
            planned: Mutex::new(Arc::new(planned)),
        })
    }

    /// The plan, which is made again where the tables have changed since.
    pub(super) fn planned(
        &self,
        sql: &Sql,
        transaction: &Transaction<'_>,
        settings: &Settings,
    ) -> Result<Arc<Planned>> {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        if planned.is_current(transaction) {
            return Ok(planned.clone());
        }
        let anew = Planned::new(sql, transaction, self.parsed.0.as_ref(), &self.types, settings)?;
        let shape = |columns: &Option<Vec<Column>>| {
            columns.as_ref().map(|columns| columns.iter().map(|column| column.declared).collect::<Vec<_>>())
        };
        if shape(&anew.columns) != shape(&self.columns) || anew.parameters != self.parameters {
            return Err(SqlError::new(SqlState::FeatureNotSupported, "cached plan must not change result type")
                .with_hint("Prepare the statement again."));
        }
        *planned = Arc::new(anew);
        Ok(planned.clone())
    }
}

impl Planned {
    fn new(
        sql: &Sql,
        transaction: &Transaction<'_>,
        statement: Option<&Arc<ast::Statement>>,
        types: &[Option<Type>],
        settings: &Settings,
    ) -> Result<Planned> {
        let Some(statement) = statement else {
            return Ok(Planned { task: Task::Empty, relations: Vec::new(), parameters: Vec::new(), columns: None });
        };
        let names = CatalogNames::new(sql, transaction);
        let binder = Binder::new(&names, settings, types);
        let (task, columns) = match &**statement {
            ast::Statement::Query(query) => {
                let bound = binder.shown(binder.query(query, None)?)?;
                (Task::Query(Box::new(binder.finish(bound.plan))), Some(shown(&bound.columns)))
            }
            statement @ (ast::Statement::Insert(_) | ast::Statement::Update(_) | ast::Statement::Delete(_)) => {
                let bound = binder.write(statement)?;
                let query = binder.finish(Plan::Write(Box::new(bound.write)));
                (Task::Query(Box::new(query)), bound.columns.as_deref().map(shown))
            }
            other => (Task::Utility(Box::new(other.clone())), utility_columns(other)),
        };
        let parameters = binder.parameter_types();
        let mut relations = names.used();
        if let Task::Query(query) = &task {
            refuse_mixed(query, &relations)?;
        }
        relations.extend(names.used_beside());
        Ok(Planned { task, relations, parameters, columns })
    }

    /// Whether it writes rows or definitions.
    pub(super) fn writes(&self) -> bool {
        match &self.task {
            Task::Empty => false,
            Task::Query(query) => matches!(query.plan, Plan::Write(_)) || !query.writes.is_empty(),
            Task::Utility(statement) => !matches!(
                **statement,
                ast::Statement::Set(_)
                    | ast::Statement::Reset(_)
                    | ast::Statement::ShowVariable { .. }
                    | ast::Statement::Explain { .. }
                    | ast::Statement::Discard { .. }
                    | ast::Statement::Vacuum(_)
                    | ast::Statement::Analyze(_)
                    | ast::Statement::Copy { to: true, .. }
            ),
        }
    }

    fn is_current(&self, transaction: &Transaction<'_>) -> bool {
        self.relations.iter().all(|relation| {
            let now = transaction.table(relation.table.name());
            now.is_ok_and(|now| Arc::ptr_eq(now.schema(), relation.table.schema()))
        })
    }
}

/// Refuses a statement in `WITH` that writes a table which something else in the statement names: each would have to see the
/// table as it was before.
fn refuse_mixed(query: &Query, named: &[Arc<Relation>]) -> Result<()> {
    for (_, table) in &query.writes {
        let Plan::Write(write) = &table.plan else { continue };
        // What it names itself.
        let own = if let Change::Insert { .. } = write.change { 1 } else { 2 };
        let count = named.iter().filter(|named| named.table.id() == write.relation.table.id()).count();
        if count > own {
            let name = &write.relation.name;
            return Err(SqlError::unsupported(format!(
                "naming table \"{name}\" beside a statement in WITH that writes it"
            )));
        }
    }
    Ok(())
}

fn shown(columns: &[OutColumn]) -> Vec<Column> {
    let show =
        |column: &OutColumn| Column { name: column.name.clone(), declared: column.declared, origin: column.origin };
    columns.iter().map(show).collect()
}

/// The columns of what is neither a query nor writes.
fn utility_columns(statement: &ast::Statement) -> Option<Vec<Column>> {
    let text = |name: &str| Column { name: name.to_owned(), declared: Declared::from(Type::Text), origin: (0, 0) };
    match statement {
        ast::Statement::ShowVariable { variable } => {
            let name = super::setting::shown_name(variable);
            Some(match name.as_str() {
                crate::dump::SHOWN => crate::dump::COLUMNS.map(text).to_vec(),
                "all" => vec![text("name"), text("setting"), text("description")],
                name => vec![text(name)],
            })
        }
        ast::Statement::Explain { .. } => Some(vec![text("QUERY PLAN")]),
        _ => None,
    }
}

fn kind(statement: Option<&Arc<ast::Statement>>) -> Kind {
    match statement.map(|statement| &**statement) {
        None => Kind::Empty,
        Some(
            ast::Statement::StartTransaction { .. }
            | ast::Statement::Commit { .. }
            | ast::Statement::Rollback { .. }
            | ast::Statement::Savepoint { .. }
            | ast::Statement::ReleaseSavepoint { .. },
        ) => Kind::Transaction,
        Some(_) => Kind::Other,
    }
}
