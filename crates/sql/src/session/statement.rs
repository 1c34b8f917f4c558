//! A statement that was prepared: what it is, what it takes and gives, and its plan.

use std::sync::{Arc, Mutex, PoisonError};

use osier::Transaction;
use osier::table::Schema;
use sqlparser::ast::{self, SetExpr};

use super::call::{self, Call};
use super::cursor::{self, NewCursor};
use super::explain::{self, Explain};
use super::prepared::Execute;
use super::{Column, Kind, Parsed, Prepared};
use crate::bind::uses::Need;
use crate::bind::{Binder, Names, OutColumn};
use crate::catalog::name::Name;
use crate::catalog::objects;
use crate::catalog::relation::Relation;
use crate::enumeration::EnumType;
use crate::error::{Result, SqlError};
use crate::plan::{Plan, Query};
use crate::settings::Settings;
use crate::sql::{CatalogNames, OWN_SCHEMA, Sql};
use crate::types::{Declared, Type};

/// A plan is made again where a table has so many times as many rows as it had, or so many times fewer.
const GROWTH: f64 = 4.0;
/// Tables with fewer rows are taken to have so many, when a plan is looked at again.
const ROWS_MIN: f64 = 100.0;

/// What running a statement means.
#[derive(Debug)]
pub(crate) enum Task {
    /// No statement.
    Empty,
    /// A query, or a statement that writes.
    Query(Box<Query>),
    /// A call of a procedure that is a statement by itself.
    Call(Box<Call>),
    /// `EXECUTE`.
    Execute(Box<Execute>),
    /// `EXPLAIN`.
    Explain(Box<Explain>),
    /// `DECLARE`.
    Declare(Box<NewCursor>),
    /// Anything else.
    Utility(Box<ast::Statement>),
}

/// A plan, and what it was made for.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) task: Task,
    /// The tables as they were. Where one has changed, the plan is made again.
    pub(super) relations: Vec<Arc<Relation>>,
    /// The tables whose statistics it was chosen by, with how many rows these had.
    pub(super) estimated: Vec<(Arc<Relation>, f64)>,
    /// Names that no table had.
    pub(super) absent: Vec<Name>,
    /// The objects beside tables as they were, if it depends on some.
    pub(super) objects: Option<Arc<Schema>>,
    /// What it needs rights for.
    pub(super) needs: Vec<Need>,
    /// What names meant: the user and the search path.
    pub(super) user: String,
    pub(super) is_superuser: bool,
    pub(super) schemas: Vec<String>,
    pub(super) parameters: Vec<Type>,
    /// The definitions of enumerations that its literals were read with first: these mean the same labels for ever.
    pub(super) known_labels: Vec<EnumType>,
    /// Whether a literal means a label that is called otherwise now.
    pub(super) means_renamed: bool,
    pub(super) columns: Option<Vec<Column>>,
    /// Whether its rows are sent in the binary format, whatever the client asks for.
    pub(super) is_binary: bool,
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
        let planned = Planned::new(sql, transaction, parsed.0.as_ref(), types, &[], settings)?;
        Ok(Prepared::of(parsed, types, planned))
    }

    /// A statement that is prepared already.
    pub(super) fn of(parsed: &Parsed, types: &[Option<Type>], planned: Planned) -> Prepared {
        Prepared {
            kind: kind(parsed.0.as_ref()),
            parameters: planned.parameters.clone(),
            columns: planned.columns.clone(),
            parsed: parsed.clone(),
            types: types.to_vec(),
            planned: Mutex::new(Arc::new(planned)),
        }
    }

    /// The plan as it was made last.
    pub(super) fn known(&self) -> Arc<Planned> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The plan, which is made again where the tables have changed since.
    pub(super) fn planned(
        &self,
        sql: &Sql,
        transaction: &Transaction<'_>,
        settings: &Settings,
    ) -> Result<Arc<Planned>> {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        if planned.is_current(sql, transaction, settings)? {
            return Ok(planned.clone());
        }
        let known = &planned.known_labels;
        let anew = Planned::new(sql, transaction, self.parsed.0.as_ref(), &self.types, known, settings)?;
        let shape = |columns: &Option<Vec<Column>>| {
            columns.as_ref().map(|columns| columns.iter().map(|column| column.declared).collect::<Vec<_>>())
        };
        if shape(&anew.columns) != shape(&self.columns) || anew.parameters != self.parameters {
            return Err(SqlError::changed_shape());
        }
        *planned = Arc::new(anew);
        Ok(planned.clone())
    }
}

impl Planned {
    /// Whether the plan is the same for all literals of the statement.
    pub(super) fn is_of_all_literals(&self) -> bool {
        self.estimated.is_empty() && self.relations.iter().all(|relation| relation.computed().is_empty())
    }

    /// A task that asks nothing of tables.
    pub(super) fn plain(task: Task, parameters: Vec<Type>, columns: Option<Vec<Column>>) -> Planned {
        Planned {
            task,
            relations: Vec::new(),
            estimated: Vec::new(),
            absent: Vec::new(),
            objects: None,
            needs: Vec::new(),
            user: String::new(),
            is_superuser: false,
            schemas: Vec::new(),
            parameters,
            known_labels: Vec::new(),
            means_renamed: false,
            columns,
            is_binary: false,
        }
    }

    fn new(
        sql: &Sql,
        transaction: &Transaction<'_>,
        statement: Option<&Arc<ast::Statement>>,
        types: &[Option<Type>],
        known_labels: &[EnumType],
        settings: &Settings,
    ) -> Result<Planned> {
        let Some(statement) = statement else {
            return Ok(Planned::plain(Task::Empty, Vec::new(), None));
        };
        let names = CatalogNames::new(sql, transaction);
        let mut types = types.to_vec();
        if types.iter().flatten().any(|ty| ty.enumeration().is_some()) {
            let objects = names.objects()?;
            types.iter_mut().flatten().for_each(|ty| *ty = objects.renewed(*ty));
        }
        let binder = Binder::new(&names, settings, &types).with_known_labels(known_labels);
        if let Some((task, columns)) = call::task(transaction, &binder, statement)? {
            return Ok(Planned::plain(task, binder.parameter_types(), columns));
        }
        let (task, columns) = match &**statement {
            ast::Statement::Explain { .. } => {
                let (explain, column) = explain::task(&binder, statement)?;
                (Task::Explain(Box::new(explain)), Some(vec![column]))
            }
            ast::Statement::Declare { stmts } => (Task::Declare(Box::new(cursor::task(&binder, stmts)?)), None),
            statement if is_planned(statement) => {
                let (query, columns) = query_of(&binder, statement)?;
                (Task::Query(Box::new(query)), columns)
            }
            other => (Task::Utility(Box::new(other.clone())), utility_columns(other)),
        };
        let parameters = binder.parameter_types();
        let mut relations = names.used();
        relations.extend(names.used_beside());
        Ok(Planned {
            relations,
            estimated: names.estimated(),
            absent: names.absent().into_iter().filter(|name| name.schema != OWN_SCHEMA).collect(),
            objects: names.used_objects(),
            needs: binder.needs(),
            known_labels: binder.known_labels(),
            means_renamed: binder.means_renamed(),
            user: settings.user().to_owned(),
            is_superuser: settings.is_superuser(),
            schemas: settings.schemas().map(str::to_owned).collect(),
            ..Planned::plain(task, parameters, columns)
        })
    }

    /// Whether rights have to be looked at: a superuser may do everything, but the owner of a view may not.
    pub(super) fn needs_rights(&self) -> bool {
        !self.needs.is_empty() && (!self.is_superuser || self.needs.iter().any(Need::is_of_other))
    }

    /// Whether it may write rows or definitions.
    pub(super) fn writes(&self) -> bool {
        match &self.task {
            Task::Empty => false,
            Task::Query(query) => query.is_writing(),
            Task::Call(_) => true,
            Task::Execute(execute) => execute.target.known().writes(),
            Task::Explain(explain) => explain.is_run() && explain.query().is_writing(),
            Task::Declare(_) => false,
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
                    | ast::Statement::Prepare { .. }
                    | ast::Statement::Deallocate { .. }
                    | ast::Statement::Fetch { .. }
                    | ast::Statement::Close { .. }
                    | ast::Statement::LISTEN { .. }
                    | ast::Statement::UNLISTEN { .. }
                    | ast::Statement::NOTIFY { .. }
                    | ast::Statement::Lock(_)
            ),
        }
    }

    /// Whether the statement means what it meant.
    pub(super) fn is_current(&self, sql: &Sql, transaction: &Transaction<'_>, settings: &Settings) -> Result<bool> {
        match &self.task {
            Task::Call(call) => return Ok(call.is_current(transaction)),
            Task::Empty | Task::Execute(_) | Task::Utility(_) => return Ok(true),
            Task::Explain(explain) if explain.is_of_execute() => return Ok(true),
            Task::Query(_) | Task::Explain(_) | Task::Declare(_) => {}
        }
        let is_same = self.relations.iter().all(|relation| {
            let now = transaction.table(relation.table.name());
            now.is_ok_and(|now| Arc::ptr_eq(now.schema(), relation.table.schema()))
        });
        let is_of_user = self.user == settings.user()
            && self.is_superuser == settings.is_superuser()
            && settings.schemas().eq(self.schemas.iter().map(String::as_str));
        if !is_same || !is_of_user || self.absent.iter().any(|name| transaction.table(&name.engine()).is_ok()) {
            return Ok(false);
        }
        let has_grown = |(relation, rows): &(Arc<Relation>, f64)| {
            let now = sql.statistics().of(transaction, relation).rows.max(ROWS_MIN);
            let then = rows.max(ROWS_MIN);
            now > then * GROWTH || then > now * GROWTH
        };
        if self.estimated.iter().any(has_grown) {
            return Ok(false);
        }
        match &self.objects {
            None => Ok(true),
            Some(objects) => Ok(Arc::ptr_eq(objects, transaction.table(objects::TABLE)?.schema())),
        }
    }
}

impl Query {
    /// Whether it writes rows.
    pub(super) fn is_writing(&self) -> bool {
        matches!(self.plan, Plan::Write(_)) || !self.writes.is_empty()
    }
}

/// Whether a statement has a plan.
pub(super) fn is_planned(statement: &ast::Statement) -> bool {
    matches!(
        statement,
        ast::Statement::Query(_)
            | ast::Statement::Insert(_)
            | ast::Statement::Update(_)
            | ast::Statement::Delete(_)
            | ast::Statement::Merge(_)
    )
}

/// Binds a statement that has a plan, with the columns of its result.
pub(super) fn query_of(binder: &Binder<'_>, statement: &ast::Statement) -> Result<(Query, Option<Vec<Column>>)> {
    if let ast::Statement::Query(query) = statement {
        let bound = binder.shown(binder.query(query, None)?)?;
        // A write behind WITH returns no rows, not rows without columns.
        let is_write =
            matches!(&*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_));
        let columns = Some(shown(&bound.columns)).filter(|columns| !is_write || !columns.is_empty());
        return Ok((binder.finish(bound.plan), columns));
    }
    let bound = binder.write(statement)?;
    Ok((binder.finish(Plan::Write(Box::new(bound.write))), bound.columns.as_deref().map(shown)))
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
        _ => None,
    }
}

/// Whether a statement is one that a failed block takes: it ends the block, or goes back to a savepoint. No statement is, too.
pub(super) fn ends_block(parsed: &Parsed) -> bool {
    matches!(parsed.0.as_deref(), None | Some(ast::Statement::Commit { .. } | ast::Statement::Rollback { .. }))
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
