//! `EXPLAIN`: the plan of a statement, and with `ANALYZE` what its operators did when it was run.

use std::time::{Duration, Instant};

use osier::Transaction;
use sqlparser::ast;

use super::environment::{Environment, now_us};
use super::prepared::Execute;
use super::statement::{Task, is_planned, query_of};
use super::{Column, Core, Done, Output};
use crate::bind::Binder;
use crate::catalog::system::Seen;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::explain::{self, Options, Report};
use crate::parse;
use crate::parse::objects::Own;
use crate::plan::Query;
use crate::plan::estimate::Estimator;
use crate::run::context::Limits;
use crate::run::probe::Probe;
use crate::run::{Context, foreign, open};
use crate::settings::boolean;
use crate::sql::CatalogNames;

/// A statement that is explained.
#[derive(Debug)]
pub(crate) struct Explain {
    options: Options,
    query: Query,
    planning: Duration,
    /// `EXPLAIN EXECUTE`: the plan of this one is shown.
    execute: Option<Execute>,
}

impl Explain {
    /// The plan that is bound with it.
    pub(super) fn query(&self) -> &Query {
        &self.query
    }

    /// Whether it is `EXPLAIN EXECUTE`.
    pub(super) fn is_of_execute(&self) -> bool {
        self.execute.is_some()
    }

    /// Whether the statement is run.
    pub(super) fn is_run(&self) -> bool {
        self.options.analyzes
    }
}

/// Reads `EXPLAIN` of a statement that has a plan.
pub(super) fn task(binder: &Binder<'_>, statement: &ast::Statement) -> Result<(Explain, Column)> {
    let ast::Statement::Explain { statement: inner, .. } = statement else {
        return Err(SqlError::unsupported("EXPLAIN of this"));
    };
    let options = options_of(statement)?;
    let started = Instant::now();
    let query = match &**inner {
        inner if is_planned(inner) => query_of(binder, inner)?.0,
        ast::Statement::Declare { stmts } => match stmts.first().and_then(|declared| declared.for_query.clone()) {
            Some(query) => query_of(binder, &ast::Statement::Query(query))?.0,
            None => return Err(SqlError::unsupported("EXPLAIN of this DECLARE")),
        },
        ast::Statement::CreateView(create) if create.materialized && !options.analyzes => {
            query_of(binder, &ast::Statement::Query(create.query.clone()))?.0
        }
        ast::Statement::CreateTable(create) if create.query.is_some() && !options.analyzes => {
            let Some(query) = create.query.clone() else { unreachable!("it was looked at above") };
            query_of(binder, &ast::Statement::Query(query))?.0
        }
        other if matches!(parse::objects::carried(other), Some(Own::Refresh(_))) => {
            return Err(SqlError::unsupported("EXPLAIN REFRESH MATERIALIZED VIEW")
                .with_hint("Explain the query of the view, which pg_get_viewdef() shows."));
        }
        other => {
            let text = parse::own::text(other);
            let word = text.split_whitespace().next().unwrap_or_default();
            let message = format!("syntax error at or near \"{word}\"");
            let hint = "EXPLAIN takes SELECT, VALUES, INSERT, UPDATE, DELETE, MERGE, DECLARE, CREATE TABLE AS, \
                        CREATE MATERIALIZED VIEW and EXECUTE.";
            return Err(SqlError::new(SqlState::SyntaxError, message).with_hint(hint));
        }
    };
    let column = column(&options);
    Ok((Explain { options, query, planning: started.elapsed(), execute: None }, column))
}

/// Reads `EXPLAIN EXECUTE`.
pub(super) fn of_execute(statement: &ast::Statement, execute: Execute) -> Result<(Explain, Column)> {
    let options = options_of(statement)?;
    let column = column(&options);
    let query = Query::none();
    Ok((Explain { options, query, planning: Duration::ZERO, execute: Some(execute) }, column))
}

fn column(options: &Options) -> Column {
    Column { name: "QUERY PLAN".to_owned(), declared: explain::column_type(options).into(), origin: (0, 0) }
}

fn options_of(statement: &ast::Statement) -> Result<Options> {
    let ast::Statement::Explain { analyze, verbose, options: given, .. } = statement else {
        return Err(SqlError::unsupported("EXPLAIN of this"));
    };
    let mut options = Options {
        analyzes: *analyze,
        is_verbose: *verbose,
        shows_costs: true,
        shows_times: true,
        shows_summary: *analyze,
        is_json: false,
    };
    let (mut times, mut summary, mut wal) = (None, None, false);
    for option in given.iter().flatten() {
        let name = crate::parse::name(&option.name);
        let value = match &option.arg {
            Some(ast::Expr::Identifier(value)) => Some(value.value.to_lowercase()),
            _ => None,
        };
        let is_on = || match value.as_deref() {
            None => Ok(true),
            Some(value) => boolean(value).ok_or_else(|| {
                SqlError::new(SqlState::SyntaxError, format!("{name} requires a Boolean value")).at_ident(&option.name)
            }),
        };
        match name.as_str() {
            "analyze" => options.analyzes = is_on()?,
            "verbose" => options.is_verbose = is_on()?,
            "costs" => options.shows_costs = is_on()?,
            "timing" => times = Some(is_on()?),
            "summary" => summary = Some(is_on()?),
            "wal" => wal = is_on()?,
            // There are no buffers, and no settings that the planner looks at.
            "buffers" | "settings" => drop(is_on()?),
            "format" => options.is_json = is_json(value.as_deref(), &option.name)?,
            _ => {
                let message = format!("unrecognized EXPLAIN option \"{name}\"");
                return Err(SqlError::new(SqlState::SyntaxError, message).at_ident(&option.name));
            }
        }
    }
    for (is_given, what) in [(wal, "WAL"), (times == Some(true), "TIMING")] {
        if is_given && !options.analyzes {
            let message = format!("EXPLAIN option {what} requires ANALYZE");
            return Err(SqlError::new(SqlState::InvalidParameterValue, message));
        }
    }
    options.shows_times = times.unwrap_or(options.analyzes);
    options.shows_summary = summary.unwrap_or(options.analyzes);
    Ok(options)
}

/// Whether a format is JSON, and not text.
fn is_json(format: Option<&str>, option: &ast::Ident) -> Result<bool> {
    match format {
        Some("text") => Ok(false),
        Some("json") => Ok(true),
        Some(format @ ("xml" | "yaml")) => Err(SqlError::unsupported(format!("EXPLAIN as {}", format.to_uppercase()))
            .with_hint("Use FORMAT TEXT or FORMAT JSON.")),
        other => {
            let other = other.unwrap_or_default();
            let message = format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
            Err(SqlError::new(SqlState::InvalidParameterValue, message).at_ident(option))
        }
    }
}

impl Core {
    /// Runs `EXPLAIN`.
    pub(super) fn explain(
        &mut self,
        transaction: &Transaction<'_>,
        explain: &Explain,
        parameters: &[Datum],
        output: &mut dyn Output,
    ) -> Result<Done> {
        let Some(execute) = &explain.execute else {
            return self.explain_query(transaction, explain, &explain.query, (parameters, explain.planning), output);
        };
        let (target, values) = self.execution(transaction, execute, parameters)?;
        let started = Instant::now();
        let planned = target.planned(&self.sql, transaction, &self.settings)?;
        self.check_rights(transaction, &planned)?;
        if explain.is_run() && self.settings.is_read_only && planned.writes() {
            let message = "the transaction is read-only: it cannot write or define";
            return Err(SqlError::new(SqlState::ReadOnlySqlTransaction, message));
        }
        match &planned.task {
            Task::Query(query) => self.explain_query(transaction, explain, query, (&values, started.elapsed()), output),
            _ => Err(SqlError::unsupported("EXPLAIN of a prepared call")),
        }
    }

    fn explain_query(
        &self,
        transaction: &Transaction<'_>,
        explain: &Explain,
        query: &Query,
        (parameters, planning): (&[Datum], Duration),
        output: &mut dyn Output,
    ) -> Result<Done> {
        let options = &explain.options;
        let names = CatalogNames::new(&self.sql, transaction);
        let estimator = Estimator::remembering(&names, self.settings.preferences());
        let node = explain::describe(query, &estimator);
        let started = Instant::now();
        let probe = if options.analyzes { Some(self.watched(transaction, query, parameters)?) } else { None };
        let execution = probe.is_some().then(|| started.elapsed());
        let report = Report { options, probe: probe.as_ref(), planning, execution };
        if options.is_json {
            output.row(&[Datum::text(explain::json(&node, &report))])?;
        } else {
            for line in explain::text(&node, &report) {
                output.row(&[Datum::text(line)])?;
            }
        }
        Ok(Done::tagged("EXPLAIN"))
    }

    /// Runs a plan, and returns what its operators did.
    fn watched(&self, transaction: &Transaction<'_>, query: &Query, parameters: &[Datum]) -> Result<Probe> {
        query.need_populated()?;
        let environment =
            Environment { core: self, store: transaction, statement_start_us: now_us(), seen: Seen::default() };
        let limits = Limits { canceller: &self.canceller, bytes_max: self.settings.work_bytes_max };
        let mut context = Context::new(transaction, &environment, query, parameters, limits);
        context.watch();
        {
            let context = &context;
            super::run::run_first_writes(query, context)?;
            let mut cursor = open(&query.plan, context)?;
            while cursor.next()?.is_some() {}
            super::run::run_writes(query, context)?;
            foreign::settle(context, &self.deferred)?;
        }
        Ok(context.probe.take().unwrap_or_default())
    }
}
