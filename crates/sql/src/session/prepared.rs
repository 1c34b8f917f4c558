//! `PREPARE`, `EXECUTE` and `DEALLOCATE`, and the names that these share with the statements of the protocol.

use std::collections::HashMap;
use std::sync::Arc;

use osier::Transaction;
use sqlparser::ast;

use super::environment::now_us;
use super::statement::{Planned, Task};
use super::{Core, Done, Parsed, Prepared, Session};
use crate::bind::Binder;
use crate::bind::scope::Level;
use crate::catalog::system::{PreparedRow, Statements};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::parse;
use crate::plan::{Plan, Query};
use crate::run::Row;
use crate::sql::CatalogNames;
use crate::types::Type;

/// `EXECUTE`: a statement by its name, with values for its parameters.
#[derive(Debug)]
pub(crate) struct Execute {
    name: String,
    pub(super) target: Arc<Prepared>,
    arguments: Vec<Expr>,
    /// What arguments are evaluated with.
    query: Query,
}

/// A statement that has a name.
pub(super) struct Named {
    prepared: Arc<Prepared>,
    /// As the client sent it, with what it sent beside it.
    text: String,
    is_of_sql: bool,
    since_us: i64,
}

impl Statements for HashMap<String, Named> {
    fn listed(&self) -> Vec<PreparedRow> {
        // The statement without a name is the protocol's own.
        let named = self.iter().filter(|(name, _)| !name.is_empty());
        let row = |(name, known): (&String, &Named)| PreparedRow {
            name: name.clone(),
            text: known.text.clone(),
            since_us: known.since_us,
            parameters: known.prepared.parameters().to_vec(),
            is_of_sql: known.is_of_sql,
        };
        named.map(row).collect()
    }
}

fn unknown(name: &str) -> SqlError {
    let message = match name {
        "" => "unnamed prepared statement does not exist".to_owned(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    SqlError::new(SqlState::InvalidSqlStatementName, message)
}

impl Session {
    /// Keeps a statement under a name, which `EXECUTE` knows, too; `text` is what it was prepared of.
    ///
    /// # Errors
    /// A name that is taken.
    pub fn keep(&mut self, name: &str, text: &str, prepared: Arc<Prepared>) -> Result<()> {
        let text = if name.is_empty() { String::new() } else { text.to_owned() };
        self.core.keep(name, Named { prepared, text, is_of_sql: false, since_us: now_us() })
    }

    /// Refuses a name that a statement has already.
    ///
    /// # Errors
    /// A name that is taken.
    pub fn refuse_kept(&self, name: &str) -> Result<()> {
        self.core.refuse_kept(name)
    }

    /// Returns the statement that is kept under a name.
    ///
    /// # Errors
    /// A name that no statement has.
    pub fn kept(&self, name: &str) -> Result<&Arc<Prepared>> {
        self.core.prepared.get(name).map(|known| &known.prepared).ok_or_else(|| unknown(name))
    }

    /// Forgets the statement that is kept under a name, and returns it if there is one.
    pub fn forget(&mut self, name: &str) -> Option<Arc<Prepared>> {
        self.core.prepared.remove(name).map(|known| known.prepared)
    }
}

impl Core {
    fn refuse_kept(&self, name: &str) -> Result<()> {
        if !self.prepared.contains_key(name) {
            return Ok(());
        }
        let message = format!("prepared statement \"{name}\" already exists");
        Err(SqlError::new(SqlState::DuplicatePreparedStatement, message))
    }

    fn keep(&mut self, name: &str, known: Named) -> Result<()> {
        self.refuse_kept(name)?;
        self.prepared.insert(name.to_owned(), known);
        Ok(())
    }

    /// Prepares a statement with what the session knows of names.
    pub(super) fn prepare(
        &self,
        transaction: &Transaction<'_>,
        parsed: &Parsed,
        types: &[Option<Type>],
    ) -> Result<Prepared> {
        match parsed.0.as_deref() {
            Some(ast::Statement::Execute { name, parameters, .. }) => {
                let (execute, parameters) = self.executed(transaction, name.as_ref(), parameters, types)?;
                let columns = execute.target.columns.clone();
                let task = Task::Execute(Box::new(execute));
                Ok(Prepared::of(parsed, types, Planned::plain(task, parameters, columns)))
            }
            Some(ast::Statement::Fetch { name, into, .. }) => {
                let planned = self.fetch_planned(parsed, &parse::name(name), parse::own::is_move(into.as_ref()))?;
                Ok(Prepared::of(parsed, types, planned))
            }
            Some(ast::Statement::Explain { statement, .. })
                if matches!(**statement, ast::Statement::Execute { .. }) =>
            {
                self.prepare_explained(transaction, parsed, types, statement)
            }
            _ => Prepared::new(&self.sql, transaction, parsed, types, &self.settings),
        }
    }

    /// `EXPLAIN EXECUTE`.
    fn prepare_explained(
        &self,
        transaction: &Transaction<'_>,
        parsed: &Parsed,
        types: &[Option<Type>],
        inner: &ast::Statement,
    ) -> Result<Prepared> {
        let ast::Statement::Execute { name, parameters, .. } = inner else { unreachable!("that is what it explains") };
        let (execute, parameters) = self.executed(transaction, name.as_ref(), parameters, types)?;
        let Some(outer) = parsed.0.as_deref() else { return Err(super::gone()) };
        let (explain, column) = super::explain::of_execute(outer, execute)?;
        let task = Task::Explain(Box::new(explain));
        Ok(Prepared::of(parsed, types, Planned::plain(task, parameters, Some(vec![column]))))
    }

    /// The statement that `EXECUTE` names, with its arguments, and the types of the parameters that these have.
    fn executed(
        &self,
        transaction: &Transaction<'_>,
        name: Option<&ast::ObjectName>,
        arguments: &[ast::Expr],
        types: &[Option<Type>],
    ) -> Result<(Execute, Vec<Type>)> {
        let name = name.map(parse::parts).transpose()?.and_then(|mut parts| parts.pop()).unwrap_or_default();
        let target = self.prepared.get(&name).ok_or_else(|| unknown(&name))?.prepared.clone();
        let names = CatalogNames::new(&self.sql, transaction);
        let binder = Binder::new(&names, &self.settings, types);
        let wanted = target.parameters();
        if arguments.len() != wanted.len() {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail = format!("Expected {} parameters but got {}.", wanted.len(), arguments.len());
            return Err(SqlError::new(SqlState::SyntaxError, message).with_detail(detail));
        }
        let objects = self.sql.objects(transaction)?.1;
        let wanted: Vec<Type> = wanted.iter().map(|ty| objects.renewed(*ty)).collect();
        let bound = binder.execute_arguments(arguments, &wanted)?;
        let query = binder.finish(Plan::Nothing);
        Ok((Execute { name, target, arguments: bound, query }, binder.parameter_types()))
    }

    /// The statement that `EXECUTE` runs, with the values of its parameters.
    pub(super) fn execution(
        &self,
        transaction: &Transaction<'_>,
        execute: &Execute,
        parameters: &[Datum],
    ) -> Result<(Arc<Prepared>, Row)> {
        let now = &self.prepared.get(&execute.name).ok_or_else(|| unknown(&execute.name))?.prepared;
        // The name may mean another statement since.
        if now.columns() != execute.target.columns() || now.parameters() != execute.target.parameters() {
            return Err(SqlError::changed_shape());
        }
        let values = self.with_context(transaction, &execute.query, parameters, |context| {
            execute.arguments.iter().map(|argument| argument.evaluate(&[], context)).collect::<Result<Row>>()
        })?;
        Ok((now.clone(), values))
    }

    /// `PREPARE`.
    pub(super) fn prepare_statement(&mut self, transaction: &Transaction<'_>, whole: &ast::Statement) -> Result<Done> {
        let ast::Statement::Prepare { name, data_types, statement } = whole else { return Err(super::gone()) };
        let name = parse::name(name);
        self.refuse_kept(&name)?;
        let names = CatalogNames::new(&self.sql, transaction);
        let binder = Binder::new(&names, &self.settings, &[]);
        let known = |ty: &ast::DataType| Ok(Some(binder.data_type(ty)?.ty).filter(|ty| *ty != Type::Unknown));
        let types = data_types.iter().map(known).collect::<Result<Vec<_>>>()?;
        let parsed = Parsed(Some(Arc::new(ast::Statement::clone(statement))));
        let prepared = Prepared::new(&self.sql, transaction, &parsed, &types, &self.settings)?;
        let text = match &self.backend {
            Some(backend) => backend.activity().text(),
            None => whole.to_string(),
        };
        self.keep(&name, Named { prepared: Arc::new(prepared), text, is_of_sql: true, since_us: now_us() })?;
        Ok(Done::tagged("PREPARE"))
    }

    /// `DEALLOCATE`.
    pub(super) fn deallocate(&mut self, name: &ast::Ident) -> Result<Done> {
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all") {
            // The statement without a name is the protocol's own.
            self.prepared.retain(|name, _| name.is_empty());
            return Ok(Done::tagged("DEALLOCATE ALL"));
        }
        let name = parse::name(name);
        self.prepared.remove(&name).ok_or_else(|| unknown(&name))?;
        Ok(Done::tagged("DEALLOCATE"))
    }
}

impl Binder<'_> {
    /// Binds the arguments of `EXECUTE` as values of these types.
    fn execute_arguments(&self, arguments: &[ast::Expr], types: &[Type]) -> Result<Vec<Expr>> {
        let level = Level::new(None, self.registers());
        level.refuse_aggregates("EXECUTE parameters");
        let mut bound = Vec::with_capacity(arguments.len());
        for (at, (expr, ty)) in arguments.iter().zip(types).enumerate() {
            let typed = self.expr(expr, &level)?;
            if typed.expr.any(&|part| matches!(part, Expr::Subquery(_))) {
                return Err(SqlError::new(SqlState::FeatureNotSupported, "cannot use subquery in EXECUTE parameter")
                    .at_node(expr));
            }
            let from = typed.declared.ty;
            let converted = self.convert(typed, *ty, crate::value::Conversion::Assignment);
            bound.push(converted.map_err(|error| match error.state {
                SqlState::DatatypeMismatch => {
                    let number = at + 1;
                    let message =
                        format!("parameter ${number} of type {from} cannot be coerced to the expected type {ty}");
                    SqlError::new(SqlState::DatatypeMismatch, message)
                        .with_hint("You will need to rewrite or cast the expression.")
                        .at_node(expr)
                }
                _ => error.at_node(expr),
            })?);
        }
        Ok(bound)
    }
}
