//! Calls of procedures by clients.
//!
//! A call that is all of a transaction goes to the engine as it is: one look at the procedure, no plan, and the log holds the
//! call where the database logs commands. Within a transaction block, or with arguments that read the database or draw from a
//! sequence, the call is a part of a transaction of the client, and the log holds rows.
//!
//! Invariant: rows are those of the columns that the client was told of. A procedure that returns others by now is not called.

use std::sync::Arc;

use osier::call::{ListedProcedure, Output as Returned, Signature};
use osier::procedure::program::Results;
use osier::table::{Argument, KeyRange};
use osier::{Error, ProcedureError, Sequence, Table, Transaction, TransactionError, TransactionOptions, Value};
use sqlparser::ast::{self, SelectItem, SetExpr, TableFactor};

use super::environment::{Environment, now_us};
use super::run::ATTEMPTS_MAX;
use super::statement::{Planned, Task};
use super::{Column, Core, Done, Output, Prepared};
use crate::bind::Binder;
use crate::bind::call::{Written, declared, element_of};
use crate::catalog::objects::{self, Objects};
use crate::catalog::system::Seen;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::function::{self, Volatility};
use crate::parse;
use crate::plan::{Plan, Query};
use crate::run::context::Limits;
use crate::run::store::{Scanned, Store};
use crate::run::{Context, Row};
use crate::sql::Sql;
use crate::types::{Declared, Type};
use crate::value::storage::{self, Stored};

/// A call that is a statement by itself.
#[derive(Debug)]
pub(crate) struct Call {
    signature: Signature,
    arguments: Vec<Expr>,
    parameters: Vec<Declared>,
    results: Vec<Declared>,
    written: Written,
    /// What arguments are evaluated with.
    query: Query,
    /// Whether the arguments have their values without a transaction.
    is_direct: bool,
}

/// A call as a statement has it.
struct Asked<'a> {
    call: &'a ast::Function,
    written: Written,
    /// What the result and its columns are called.
    alias: Option<String>,
    columns: Vec<String>,
}

/// What a statement calls that is nothing but a call of something that is no function of SQL.
fn asked(statement: &ast::Statement) -> Option<Asked<'_>> {
    let query = match statement {
        ast::Statement::Call(call) => {
            return Some(Asked { call, written: Written::Call, alias: None, columns: Vec::new() });
        }
        ast::Statement::Query(query) => query,
        _ => return None,
    };
    let SetExpr::Select(select) = &*query.body else { return None };
    let has_more = query.with.is_some()
        || query.order_by.is_some()
        || query.limit_clause.is_some()
        || query.fetch.is_some()
        || !query.locks.is_empty()
        || select.distinct.is_some()
        || select.selection.is_some()
        || select.having.is_some()
        || select.into.is_some()
        || !matches!(&select.group_by, ast::GroupByExpr::Expressions(groups, _) if groups.is_empty());
    let [item] = &select.projection[..] else { return None };
    if has_more {
        return None;
    }
    match (&select.from[..], item) {
        ([], SelectItem::UnnamedExpr(ast::Expr::Function(call))) => {
            Some(Asked { call, written: Written::Value, alias: None, columns: Vec::new() })
        }
        ([], SelectItem::ExprWithAlias { expr: ast::Expr::Function(call), alias }) => {
            Some(Asked { call, written: Written::Value, alias: Some(parse::name(alias)), columns: Vec::new() })
        }
        _ => None,
    }
}

/// As [`asked`], for `SELECT * FROM f()`, which has no node of a call: it is made.
fn asked_of_from(statement: &ast::Statement) -> Option<(ast::Function, Option<String>, Vec<String>)> {
    let ast::Statement::Query(query) = statement else { return None };
    let SetExpr::Select(select) = &*query.body else { return None };
    let ([table], [SelectItem::Wildcard(_)]) = (&select.from[..], &select.projection[..]) else { return None };
    let (name, args, alias) = match &table.relation {
        TableFactor::Table { name, args: Some(args), alias, with_ordinality: false, .. } => (name, &args.args, alias),
        TableFactor::Function { name, args, alias, with_ordinality: false, lateral: false } => (name, args, alias),
        _ => return None,
    };
    let plain = format!("SELECT * FROM {}", table.relation);
    // Whatever else there is would be shown.
    if !table.joins.is_empty() || query.to_string() != plain {
        return None;
    }
    let list = ast::FunctionArgumentList { duplicate_treatment: None, args: args.clone(), clauses: Vec::new() };
    let call = ast::Function {
        name: name.clone(),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    };
    let columns = alias.iter().flat_map(|alias| &alias.columns).map(|column| parse::name(&column.name)).collect();
    Some((call, alias.as_ref().map(|alias| parse::name(&alias.name)), columns))
}

/// The task of a statement that is nothing but a call of a procedure, with the columns that it returns.
pub(super) fn task(
    transaction: &Transaction<'_>,
    binder: &Binder<'_>,
    statement: &ast::Statement,
) -> Result<Option<(Task, Option<Vec<Column>>)>> {
    let made;
    let asked = match asked(statement) {
        Some(asked) => asked,
        None => match asked_of_from(statement) {
            None => return Ok(None),
            Some((call, alias, columns)) => {
                made = call;
                Asked { call: &made, written: Written::Table, alias, columns }
            }
        },
    };
    let mut parts = parse::parts(&asked.call.name)?;
    let name = parts.pop().unwrap_or_default();
    let is_function = function::exists(&name) || function::is_aggregate(&name) || function::is_set(&name);
    let is_elsewhere = parts.last().is_some_and(|schema| schema != "public");
    if asked.written != Written::Call && (is_function || is_elsewhere || asked.call.over.is_some()) {
        return Ok(None);
    }
    let signature = match transaction.signature(&name) {
        Ok(signature) if !is_elsewhere => signature,
        Err(Error::Transaction(TransactionError::NotAtSnapshot { .. }))
            if asked.written == Written::Call || binder.has_procedure(&name)? =>
        {
            let message = "the transaction is read-only: it cannot call procedures";
            return Err(SqlError::new(SqlState::ReadOnlySqlTransaction, message)
                .with_hint("Call it outside of the block, or in one that may write."));
        }
        // Whatever is wrong, it may still be an expression.
        _ if asked.written != Written::Call => return Ok(None),
        Ok(_) | Err(Error::Procedure(ProcedureError::Unknown { .. })) => {
            return Err(unknown(binder, &name, is_function, asked.call)?);
        }
        Err(error) => return Err(error.into()),
    };
    let arguments = binder.procedure_arguments(&signature, asked.call, asked.written)?;
    let call = Call::new(signature, arguments, asked.written, binder.finish(Plan::Nothing))?;
    let columns = call.columns(asked.alias.as_deref(), &asked.columns)?;
    Ok(Some((Task::Call(Box::new(call)), columns)))
}

/// The error of `CALL` of what is no procedure.
fn unknown(binder: &Binder<'_>, name: &str, is_function: bool, call: &ast::Function) -> Result<SqlError> {
    let types = binder.types_of(call)?;
    let error = binder.no_procedure(name, &types, call, Written::Call);
    if !is_function {
        return Ok(error);
    }
    let types: Vec<String> = types.iter().map(ToString::to_string).collect();
    let message = format!("{name}({}) is not a procedure", types.join(", "));
    Ok(SqlError::new(SqlState::WrongObjectType, message)
        .with_hint("To call a function, use SELECT.")
        .at_node(&call.name))
}

impl Call {
    fn new(signature: Signature, arguments: Vec<Expr>, written: Written, query: Query) -> Result<Call> {
        let types = |fields: &[osier::procedure::program::Field]| {
            fields.iter().map(|field| declared(field.ty)).collect::<Result<Vec<_>>>()
        };
        let (parameters, results) = (types(signature.parameters())?, types(signature.results().fields())?);
        let needs_more = |part: &Expr| match part {
            Expr::Call(call) => call.function.volatility != Volatility::Immutable,
            Expr::Subquery(_) => true,
            _ => false,
        };
        let is_direct = !arguments.iter().any(|argument| argument.any(&needs_more));
        Ok(Call { signature, arguments, parameters, results, written, query, is_direct })
    }

    /// The columns of what it returns.
    fn columns(&self, alias: Option<&str>, names: &[String]) -> Result<Option<Vec<Column>>> {
        let column = |name: &str, declared: Declared| Column { name: name.to_owned(), declared, origin: (0, 0) };
        let fields = self.signature.results().fields();
        let named = fields.iter().zip(&self.results).map(|(field, declared)| column(&field.name, *declared));
        let name = alias.unwrap_or(self.signature.name());
        let mut columns: Vec<Column> = match (self.written, &self.results[..]) {
            (Written::Call, []) => return Ok(None),
            (Written::Call, _) => named.collect(),
            (_, []) => vec![column(name, Type::Void.into())],
            (Written::Value, [one]) => vec![column(name, *one)],
            (Written::Value, _) => vec![column(name, Type::Record.into())],
            (Written::Table, _) => named.collect(),
        };
        if names.len() > columns.len() {
            let (has, given) = (columns.len(), names.len());
            let message = format!("table \"{name}\" has {has} columns available but {given} columns specified");
            return Err(SqlError::new(SqlState::InvalidColumnReference, message));
        }
        for (column, name) in columns.iter_mut().zip(names) {
            column.name.clone_from(name);
        }
        Ok(Some(columns))
    }

    /// What the procedure is called.
    pub(super) fn name(&self) -> &str {
        self.signature.name()
    }

    /// Whether the procedure is as it was.
    pub(super) fn is_current(&self, transaction: &Transaction<'_>) -> bool {
        transaction.signature(self.signature.name()).is_ok_and(|now| now == self.signature)
    }

    /// Gives `act` the arguments as the engine takes them.
    fn with_arguments<T>(&self, values: &[Datum], act: impl FnOnce(&[Argument<'_>]) -> T) -> Result<T> {
        let mut scratch = Vec::new();
        let mut stored = Vec::with_capacity(values.len());
        for (value, declared) in values.iter().zip(&self.parameters) {
            let element = element_of(*declared);
            stored.push(match (value, declared.ty) {
                (Datum::Array(elements), Type::Array(_)) => {
                    let elements = elements.iter().map(|value| storage::store(value, element, &mut scratch));
                    Given::Array(elements.collect::<Result<_>>()?)
                }
                _ => Given::One(storage::store(value, element, &mut scratch)?),
            });
        }
        let arguments: Vec<Argument<'_>> = stored.iter().map(|given| given.argument(&scratch)).collect();
        Ok(act(&arguments))
    }

    /// Hands out what a call has returned, and says what the client is told.
    fn hand_out(&self, returned: &Returned, output: &mut dyn Output) -> Result<String> {
        let mut count = 0_u64;
        let mut give = |row: Row| {
            count += 1;
            match (self.written, self.results.len()) {
                (Written::Call, 0) => Ok(()),
                (_, 0) => output.row(&[Datum::text("")]),
                (Written::Value, 2..) => output.row(&[Datum::record(row)]),
                _ => output.row(&row),
            }
        };
        match (self.signature.results(), returned.rows()) {
            // A procedure that ends without a result has returned NULL.
            (Results::Nothing | Results::Values(_), []) => give(vec![Datum::Null; self.results.len()])?,
            (_, rows) => {
                for row in rows {
                    let load = |(value, declared): (&osier::table::Datum, &Declared)| loaded(value, *declared);
                    give(row.iter().zip(&self.results).map(load).collect::<Result<Row>>()?)?;
                }
            }
        }
        Ok(if self.written == Written::Call { "CALL".to_owned() } else { format!("SELECT {count}") })
    }
}

/// An argument that is ready to be given.
enum Given<'d> {
    One(Stored<'d>),
    Array(Vec<Stored<'d>>),
}

impl<'d> Given<'d> {
    fn argument<'a>(&self, scratch: &'a [u8]) -> Argument<'a>
    where
        'd: 'a,
    {
        match self {
            Given::One(stored) => Argument::Scalar(stored.value(scratch)),
            Given::Array(stored) => Argument::Array(stored.iter().map(|stored| stored.value(scratch)).collect()),
        }
    }
}

/// A value that a procedure has returned.
fn loaded(value: &osier::table::Datum, declared: Declared) -> Result<Datum> {
    let element = element_of(declared);
    match value {
        osier::table::Datum::Array(elements) => {
            let elements = elements.iter().map(|value| loaded(value, element));
            Ok(Datum::Array(elements.collect::<Result<Vec<_>>>()?.into()))
        }
        value => storage::load(value.value().unwrap_or(Value::Null), element),
    }
}

impl Planned {
    /// The call that it is, if that needs no transaction of the session.
    pub(super) fn direct_call(&self) -> Option<&Call> {
        match &self.task {
            Task::Call(call) if call.is_direct => Some(call),
            _ => None,
        }
    }
}

impl Core {
    /// Calls a procedure as a transaction by itself, again after conflicts.
    pub(super) fn call_alone(
        &mut self,
        session: &mut osier::Session,
        (prepared, mut planned): (&Prepared, Arc<Planned>),
        parameters: &[Datum],
        output: &mut dyn Output,
    ) -> Result<Done> {
        self.transaction_start_us = now_us();
        let mut attempt = 0;
        loop {
            session.pause_after(attempt)?;
            attempt += 1;
            let Some(call) = planned.direct_call() else { return Err(super::gone()) };
            let values = self.argument_values(call, parameters)?;
            let options = self.options(TransactionOptions::default());
            let called =
                call.with_arguments(&values, |arguments| session.try_call_of(options, &call.signature, arguments))?;
            match called {
                Ok((Ok(returned), receipt)) => {
                    let tag = call.hand_out(&returned, output)?;
                    return Ok(Done { receipt: Some(receipt), ..Done::tagged(tag) });
                }
                Ok((Err(Error::Procedure(ProcedureError::Changed { .. } | ProcedureError::Unknown { .. })), _))
                    if attempt < ATTEMPTS_MAX =>
                {
                    let transaction = session.begin_with(TransactionOptions { read_only: true, ..options });
                    planned = prepared.planned(&self.sql, &transaction, &self.settings)?;
                }
                Ok((Err(error), receipt)) => {
                    self.observed = Some(receipt);
                    return Err(error.into());
                }
                Err(error) if error.is_conflict() && attempt < ATTEMPTS_MAX => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Calls a procedure as a part of a transaction.
    pub(super) fn call_within(
        &self,
        transaction: &Transaction<'_>,
        call: &Call,
        parameters: &[Datum],
        output: &mut dyn Output,
    ) -> Result<Done> {
        let values = self.with_context(transaction, &call.query, parameters, |context| {
            call.arguments.iter().map(|argument| argument.evaluate(&[], context)).collect::<Result<Row>>()
        })?;
        let returned =
            call.with_arguments(&values, |arguments| transaction.call(call.signature.name(), arguments))??;
        Ok(Done::tagged(call.hand_out(&returned, output)?))
    }

    /// The values of arguments that need no transaction.
    fn argument_values(&self, call: &Call, parameters: &[Datum]) -> Result<Row> {
        let (statement_start_us, seen) = (self.transaction_start_us, Seen::default());
        let environment = Environment { core: self, store: &Nowhere, statement_start_us, seen };
        let bytes_max = self.settings.work_bytes_max;
        let limits = Limits { canceller: &self.canceller, bytes_max };
        let context = Context::new(&Nowhere, &environment, &call.query, parameters, limits);
        call.arguments.iter().map(|argument| argument.evaluate(&[], &context)).collect()
    }
}

/// No rows and no sequences: what is evaluated with it asks for none.
struct Nowhere;

/// The error of an expression that asks all the same.
fn none<T>(name: &str) -> std::result::Result<T, Error> {
    Err(TransactionError::UnknownTable { table: name.to_owned() }.into())
}

impl Store for Nowhere {
    fn get<'t>(
        &'t self,
        table: &'t Table,
        _: &[Value<'_>],
        _: bool,
    ) -> std::result::Result<Option<osier::Row<'t>>, Error> {
        none(table.name())
    }

    fn scan<'t>(
        &'t self,
        table: &'t Table,
        _: Option<&str>,
        _: KeyRange<'_>,
        _: bool,
    ) -> std::result::Result<Scanned<'t>, Error> {
        none(table.name())
    }

    fn scan_unvalidated<'t>(&'t self, table: &'t Table) -> std::result::Result<Scanned<'t>, Error> {
        none(table.name())
    }

    fn estimate_rows(&self, _: &Table) -> f64 {
        0.0
    }

    fn get_ahead<'t>(
        &'t self,
        table: &'t Table,
        _: &[Value<'_>],
    ) -> std::result::Result<Option<osier::Row<'t>>, Error> {
        none(table.name())
    }

    fn get_if_free<'t>(
        &'t self,
        table: &'t Table,
        _: &[Value<'_>],
    ) -> std::result::Result<Option<osier::Row<'t>>, Error> {
        none(table.name())
    }

    fn scan_ahead<'t>(
        &'t self,
        table: &'t Table,
        _: Option<&str>,
        _: KeyRange<'_>,
    ) -> std::result::Result<Scanned<'t>, Error> {
        none(table.name())
    }

    fn insert(&self, table: &Table, _: &[Value<'_>]) -> std::result::Result<(), Error> {
        none(table.name())
    }

    fn replace(&self, table: &Table, _: &[Value<'_>]) -> std::result::Result<bool, Error> {
        none(table.name())
    }

    fn delete(&self, table: &Table, _: &[Value<'_>]) -> std::result::Result<bool, Error> {
        none(table.name())
    }

    fn sequence(&self, name: &str) -> std::result::Result<Sequence, Error> {
        none(name)
    }

    fn next_value(&self, sequence: &Sequence) -> std::result::Result<i64, Error> {
        none(sequence.name())
    }

    fn exists(&self, table: &Table, _: &[Value<'_>]) -> std::result::Result<bool, Error> {
        none(table.name())
    }

    fn table(&self, name: &str) -> std::result::Result<Table, Error> {
        none(name)
    }

    fn table_unvalidated(&self, name: &str) -> std::result::Result<Table, Error> {
        none(name)
    }

    fn procedures(&self) -> std::result::Result<Vec<ListedProcedure>, Error> {
        Ok(Vec::new())
    }

    fn procedure_text(&self, name: &str) -> std::result::Result<Option<String>, Error> {
        none(name)
    }

    fn set_sequence(&self, sequence: &str, _: i64, _: bool) -> std::result::Result<(), Error> {
        none(sequence)
    }

    fn has_sequence(&self, _: &str) -> bool {
        false
    }

    fn objects(&self, _: &Sql) -> Result<Arc<Objects>> {
        Ok(none(objects::TABLE)?)
    }
}
