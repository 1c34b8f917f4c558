//! `COPY`: rows that the client sends, and rows that it is sent.
//!
//! Invariant: data that comes after the statement has failed changes nothing.

use std::sync::Arc;

use osier::Transaction;
use sqlparser::ast::{self, CopySource, CopyTarget};

use super::{CopyShape, Core, Done, Output, Prepared, Session, State};
use crate::bind::Binder;
use crate::bind::view::Verb;
use crate::catalog::relation::Relation;
use crate::copy::ahead::{Comes, Splitter};
use crate::copy::split::Fields;
use crate::copy::write::Writer;
use crate::copy::{Format, Options, direct};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::parse;
use crate::parse::quote::quoted;
use crate::plan::{Change, Plan, Query, Write};
use crate::run::foreign::Pending;
use crate::run::{Row, open, write};
use crate::sql::CatalogNames;
use crate::types::Declared;
use crate::value;

/// A `COPY ... FROM STDIN` that runs.
pub(super) struct CopyIn {
    relation: Arc<Relation>,
    /// The columns that the data has.
    targets: Vec<usize>,
    options: Options,
    splitter: Splitter,
    /// A value for each column, made of those that the data has; `None`: it has all, in their order.
    row: Option<Vec<Expr>>,
    /// Whether most rows can be written as they came.
    is_direct: bool,
    /// Which rows are written.
    condition: Option<Expr>,
    query: Query,
    count: u64,
    /// What foreign keys look at when all has come.
    pending: Pending,
    /// Whether it is a transaction by itself.
    pub(super) ends_transaction: bool,
}

impl CopyIn {
    pub(super) fn shape(&self) -> CopyShape {
        shape(self.targets.len(), &self.options)
    }
}

/// Refuses to copy the rows of a relation that is no table.
fn refuse_other(binder: &Binder<'_>, source: &CopySource) -> Result<()> {
    let CopySource::Table { table_name, .. } = source else { return Ok(()) };
    if let Some(relation) = binder.find_relation(table_name)? {
        if !relation.is_materialized() {
            return Ok(());
        }
        let message = format!("cannot copy from materialized view \"{}\"", relation.name.name);
        let error = SqlError::new(SqlState::WrongObjectType, message);
        return Err(error.with_hint("Try the COPY (SELECT ...) TO variant."));
    }
    if binder.find_view(table_name)?.is_some() {
        let message = format!("cannot copy from view \"{table_name}\"");
        let error = SqlError::new(SqlState::WrongObjectType, message);
        return Err(error.with_hint("Try the COPY (SELECT ...) TO variant."));
    }
    match binder.find_sequence(table_name)? {
        Some((sequence, _)) => {
            let message = format!("cannot copy from sequence \"{}\"", sequence.name);
            Err(SqlError::new(SqlState::WrongObjectType, message))
        }
        None => Ok(()),
    }
}

fn cannot_match() -> SqlError {
    SqlError::new(SqlState::FeatureNotSupported, "cannot use \"match\" with HEADER in COPY TO")
}

fn shape(columns: usize, options: &Options) -> CopyShape {
    CopyShape { columns: u16::try_from(columns).unwrap_or(u16::MAX), is_binary: options.format == Format::Binary }
}

/// Whether a statement waits for data.
pub(super) fn is_copy_in(prepared: &Prepared) -> bool {
    matches!(prepared.parsed.0.as_deref(), Some(ast::Statement::Copy { to: false, .. }))
}

impl Core {
    pub(super) fn copy(
        &mut self,
        transaction: &Transaction<'_>,
        statement: &ast::Statement,
        output: &mut dyn Output,
    ) -> Result<Done> {
        let ast::Statement::Copy { source, to, target, options, legacy_options, .. } = statement else {
            unreachable!("the statement is a COPY");
        };
        let options = Options::of(options, legacy_options)?;
        match (target, to) {
            (CopyTarget::Stdin, false) => self.copy_in(transaction, source, options, parse::copy::condition(statement)),
            (CopyTarget::Stdout, true) if options.matches_header => Err(cannot_match()),
            (CopyTarget::Stdout, true) => self.copy_out(transaction, source, &options, output),
            _ => Err(SqlError::unsupported("COPY with a file or a program of the server")
                .with_hint("Use STDIN or STDOUT; psql's \\copy does, for files of the client.")),
        }
    }

    fn copy_in(
        &mut self,
        transaction: &Transaction<'_>,
        source: &CopySource,
        options: Options,
        condition: Option<&str>,
    ) -> Result<Done> {
        let CopySource::Table { table_name, columns } = source else {
            return Err(SqlError::new(SqlState::SyntaxError, "COPY FROM needs a table"));
        };
        let names = CatalogNames::new(&self.sql, transaction);
        let binder = Binder::new(&names, &self.settings, &[]);
        let found = binder.find_relation(table_name)?;
        if let Some(relation) = found.as_ref().filter(|relation| relation.is_materialized()) {
            let message = format!("cannot copy to materialized view \"{}\"", relation.name.name);
            return Err(SqlError::new(SqlState::WrongObjectType, message));
        }
        if found.is_none() && binder.find_view(table_name)?.is_some() {
            let message = format!("cannot copy to view \"{table_name}\"");
            return Err(SqlError::new(SqlState::WrongObjectType, message)
                .with_hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger."));
        }
        let target = binder.write_target(table_name, None, Verb::Insert)?;
        let relation = target.relation.clone();
        let targets = copied(&relation, columns)?;
        target.marks(Verb::Insert, targets.iter().copied());
        binder.check_rights()?;
        self.objects = binder.objects_for_rights()?;
        let is_whole = targets.iter().copied().eq(0..relation.computed().end);
        let row = if is_whole { None } else { Some(binder.copied_row(&relation, &targets)?) };
        let rules = binder.insert_rules(&relation)?;
        let condition = condition.map(|text| binder.copy_condition(&relation, text)).transpose()?;
        let is_direct = is_whole
            && condition.is_none()
            && direct::is_possible(&relation.columns[..relation.visible()], &options, &rules);
        let change = Change::Insert { input: Plan::Nothing, conflict: None };
        let write = Write { relation: relation.clone(), change, returning: None, rules };
        let query = binder.finish(Plan::Write(Box::new(write)));
        let names = targets.iter().map(|at| relation.columns[*at].name.clone()).collect();
        let splitter = Splitter::new(options.clone(), names);
        let pending = Pending::default();
        let (count, ends_transaction) = (0, false);
        let copy = CopyIn {
            relation,
            targets,
            options,
            splitter,
            row,
            is_direct,
            condition,
            query,
            count,
            pending,
            ends_transaction,
        };
        let done = Done { copy_in: Some(copy.shape()), ..Done::tagged("") };
        self.copy = Some(copy);
        Ok(done)
    }

    fn copy_out(
        &mut self,
        transaction: &Transaction<'_>,
        source: &CopySource,
        options: &Options,
        output: &mut dyn Output,
    ) -> Result<Done> {
        let names = CatalogNames::new(&self.sql, transaction);
        let binder = Binder::new(&names, &self.settings, &[]);
        let text = match source {
            CopySource::Query(query) => query.to_string(),
            CopySource::Table { table_name, columns } => {
                let list = match binder.find_relation(table_name)? {
                    Some(relation) if relation.columns.iter().any(|column| column.is_generated) => {
                        let copied = copied(&relation, columns)?.into_iter();
                        copied.map(|at| quoted(&relation.columns[at].name)).collect::<Vec<_>>().join(", ")
                    }
                    _ if columns.is_empty() => "*".to_owned(),
                    _ => columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                };
                format!("SELECT {list} FROM {table_name}")
            }
        };
        let statements = parse::statements(&text)?;
        let Some(ast::Statement::Query(query)) = statements.first() else {
            return Err(SqlError::unsupported("COPY of anything but a table or a query"));
        };
        refuse_other(&binder, source)?;
        let bound = binder.shown(binder.query(query, None)?)?;
        binder.check_rights()?;
        self.objects = binder.objects_for_rights()?;
        let columns: Vec<(String, Declared)> =
            bound.columns.iter().map(|column| (column.name.clone(), column.declared)).collect();
        let shape = shape(columns.len(), options);
        let query = binder.finish(bound.plan);
        let writer = Writer::new(options, columns, &self.settings);
        output.copy_begin(shape)?;
        self.with_context(transaction, &query, &[], |context| {
            // Clients rely on it that each piece is one record, the first one with what comes before it in binary.
            let (mut count, mut piece) = (0_u64, Vec::new());
            writer.begin(&mut piece);
            if !shape.is_binary && !piece.is_empty() {
                output.copy_data(&piece)?;
                piece.clear();
            }
            let mut cursor = open(&query.plan, context)?;
            while let Some(row) = cursor.next()? {
                writer.record(&row, &mut piece);
                count += 1;
                output.copy_data(&piece)?;
                piece.clear();
            }
            writer.end(&mut piece);
            if !piece.is_empty() {
                output.copy_data(&piece)?;
            }
            Ok(Done { copy_out: Some(shape), ..Done::tagged(format!("COPY {count}")) })
        })
    }

    /// Writes the rows of the data that has come.
    fn copy_more(&self, transaction: &Transaction<'_>, copy: &mut CopyIn, comes: Comes) -> Result<()> {
        let CopyIn { relation, targets, options, splitter, row, is_direct, condition, query, count, pending, .. } =
            copy;
        let Plan::Write(insert) = &query.plan else { unreachable!("a copy writes") };
        self.with_context(transaction, query, &[], |context| {
            // A piece may have fewer rows than it takes for `tick` to look.
            context.look()?;
            context.pending.replace(std::mem::take(pending));
            splitter.run(comes, &mut |line, fields| {
                context.tick()?;
                let place = |error: SqlError| {
                    let column = error.context().unwrap_or_default();
                    let context = format!("COPY {}, line {line}{column}", relation.name.name);
                    error.with_context(context)
                };
                if *is_direct
                    && let Some(values) = direct::values(&relation.columns[..targets.len()], fields, &self.settings)
                    && write::insert_stored(relation, values, context).map_err(place)?
                {
                    *count += 1;
                    return Ok(());
                }
                let values = self.values(relation, targets, options, fields).map_err(place)?;
                let whole = match row {
                    None => Ok(values),
                    Some(exprs) => exprs.iter().map(|expr| expr.evaluate(&values, context)).collect(),
                };
                let whole = whole.map_err(place)?;
                if let Some(condition) = condition
                    && !condition.evaluate(&whole, context).map_err(place)?.is_true()
                {
                    return Ok(());
                }
                *count += 1;
                write::insert_one(insert, whole, context).map_err(place)
            })?;
            if comes != Comes::Nothing {
                *pending = context.pending.take();
            }
            Ok(())
        })
    }

    /// The values of a record.
    fn values(&self, relation: &Relation, targets: &[usize], options: &Options, fields: Fields<'_>) -> Result<Row> {
        // A record of no fields is an empty line.
        if targets.is_empty() && fields.len() == 1 && fields.iter().all(|field| field.is_none_or(<[u8]>::is_empty)) {
            return Ok(Row::new());
        }
        if fields.len() > targets.len() {
            return Err(SqlError::new(SqlState::BadCopyFileFormat, "extra data after last expected column"));
        }
        if let Some(missing) = targets.get(fields.len()) {
            let message = format!("missing data for column \"{}\"", relation.columns[*missing].name);
            return Err(SqlError::new(SqlState::BadCopyFileFormat, message));
        }
        let mut values = Row::with_capacity(fields.len());
        for (field, target) in fields.iter().zip(targets) {
            let column = &relation.columns[*target];
            let is_named = |names: &[String]| names.iter().any(|name| *name == column.name || name == "*");
            let field = match field {
                None if is_named(&options.force_not_null) => Some(options.null.as_slice()),
                Some(bytes) if bytes == options.null && is_named(&options.force_null) => None,
                field => field,
            };
            let place = |error: SqlError| error.with_context(format!(", column {}", column.name));
            values.push(match field {
                None => Datum::Null,
                Some(bytes) if options.format == Format::Binary => {
                    let datum = value::parse_binary(bytes, column.declared.ty).map_err(&place)?;
                    value::cast(datum, column.declared.ty, column.declared, false, &self.settings).map_err(&place)?
                }
                Some(bytes) => {
                    let text = std::str::from_utf8(bytes).map_err(|_| {
                        let message = "invalid byte sequence for encoding \"UTF8\"";
                        SqlError::new(SqlState::CharacterNotInRepertoire, message)
                    });
                    let text = text.and_then(value::text::without_nul);
                    let parsed = text.and_then(|text| value::parse(text, column.declared, &self.settings));
                    parsed.map_err(|error| error.with_context(in_column(&column.name, bytes)))?
                }
            });
        }
        Ok(values)
    }
}

/// Where in a record an error is, as PostgreSQL says it.
fn in_column(name: &str, value: &[u8]) -> String {
    const CHARS_MAX: usize = 100;
    let text = String::from_utf8_lossy(value);
    match text.chars().count() > CHARS_MAX {
        true => format!(", column {name}: \"{}...\"", text.chars().take(CHARS_MAX).collect::<String>()),
        false => format!(", column {name}: \"{text}\""),
    }
}

/// The columns that a copy names; all, if it names none.
fn copied(relation: &Relation, columns: &[ast::Ident]) -> Result<Vec<usize>> {
    match columns {
        [] => Ok((0..relation.visible()).filter(|at| !relation.columns[*at].is_generated).collect()),
        columns => {
            let mut copied = Vec::with_capacity(columns.len());
            for column in columns {
                let at = relation.need(&parse::name(column))?;
                if copied.contains(&at) {
                    return Err(SqlError::named_twice(&parse::name(column)));
                }
                if relation.columns[at].is_generated {
                    let message = format!("column \"{}\" is a generated column", parse::name(column));
                    return Err(SqlError::new(SqlState::InvalidColumnReference, message)
                        .with_detail("Generated columns cannot be used in COPY."));
                }
                copied.push(at);
            }
            Ok(copied)
        }
    }
}

impl Session {
    /// Takes a piece of the data of a `COPY ... FROM STDIN` that runs.
    ///
    /// # Errors
    /// What it makes the statement fail with, which has ended.
    pub fn copy_data(&mut self, bytes: &[u8]) -> Result<()> {
        // So that what waits stays far below what a piece has room for.
        const BYTES_MAX: usize = 1 << 30;
        bytes.chunks(BYTES_MAX).try_for_each(|bytes| {
            self.copy_add(bytes);
            self.copy_run(false)
        })
    }

    /// Takes a piece of the data, which waits for [`Session::copy_run`].
    pub fn copy_add(&mut self, bytes: &[u8]) {
        if let Some(copy) = &mut self.core.copy {
            copy.splitter.add(bytes);
        }
    }

    /// Writes the rows of the data that has been taken. Where the next piece `is_coming` already, what was taken last may be left
    /// for the call that follows it.
    ///
    /// # Errors
    /// As those of [`Session::copy_data`].
    pub fn copy_run(&mut self, is_coming: bool) -> Result<()> {
        self.copy_some(if is_coming { Comes::More } else { Comes::Later }).map(|_| ())
    }

    /// Ends the data of a `COPY ... FROM STDIN` that runs.
    ///
    /// # Errors
    /// As those of [`Session::run`].
    pub fn copy_done(&mut self) -> Result<Done> {
        let (count, ends_transaction) = self.copy_some(Comes::Nothing)?;
        self.core.copy = None;
        let receipt = if ends_transaction { self.commit()? } else { None };
        Ok(Done { receipt, ..Done::tagged(format!("COPY {count}")) })
    }

    /// Ends a `COPY ... FROM STDIN` that runs, as the client wishes, and returns what it fails with.
    pub fn copy_fail(&mut self, reason: &str) -> SqlError {
        self.fail(SqlError::new(SqlState::QueryCanceled, format!("COPY from stdin failed: {reason}")))
    }

    fn copy_some(&mut self, comes: Comes) -> Result<(u64, bool)> {
        let missing = || SqlError::new(SqlState::ProtocolViolation, "no COPY from stdin is in progress");
        let mut copy = self.core.copy.take().ok_or_else(missing)?;
        let result = match &self.state {
            State::Open(block) => {
                block.transaction.with(|transaction| self.core.copy_more(transaction, &mut copy, comes))
            }
            _ => Err(missing()),
        };
        result.map_err(|error| {
            let error = self.fail(error);
            self.core.canceller.explain(error)
        })?;
        let state = (copy.count, copy.ends_transaction);
        self.core.copy = Some(copy);
        Ok(state)
    }
}
