//! Statements that write rows.
//!
//! Invariants:
//! - A statement does not see its own rows: its input is read before anything is written, and what is read later goes by
//!   [`super::former`].
//! - A row is written at most once by `UPDATE` and `DELETE`, whatever it is joined with; for `MERGE` a second time is an error.
//! - Rows keep the rules of their table, or the statement fails.

use std::collections::HashSet;

use osier::table::KeyRange;
use osier::{Error, TransactionError, Value};

use super::probe::Merged;
use super::scan::{by_key, loaded, with_encoded, with_encoded_row};
use super::set::all_to_write;

use super::{Context, Row, evaluate, foreign};
use crate::catalog::relation::Relation;
use crate::copy::direct;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::plan::{Change, Conflict, MergeAction, MergeClause, Plan, Resolution, Rules, Write};
use crate::settings::Settings;
use crate::value;

/// What a statement has written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) count: u64,
    /// What it returns.
    pub(crate) rows: Vec<Row>,
}

/// Runs the statement.
pub(crate) fn run(write: &Write, context: &Context<'_>) -> Result<Written> {
    let mut writer = Writer { write, context, written: Written::default(), touched: HashSet::new() };
    match &write.change {
        Change::Insert { input, conflict } => writer.insert(input, conflict.as_ref())?,
        Change::Update { input, assignments } => writer.update(input, assignments)?,
        Change::Delete { input } => writer.delete(input)?,
        Change::Merge { input, clauses } => writer.merge(input, clauses)?,
    }
    Ok(writer.written)
}

/// Writes one row of a statement that inserts.
pub(crate) fn insert_one(write: &Write, row: Row, context: &Context<'_>) -> Result<()> {
    Writer { write, context, written: Written::default(), touched: HashSet::new() }.insert_row(row, None)
}

/// Writes one row that no rule of its table looks at, as the engine takes it. Returns whether its keys were free.
pub(crate) fn insert_stored(relation: &Relation, mut row: direct::Values<'_>, context: &Context<'_>) -> Result<bool> {
    if let Some(sequence) = hidden_sequence(relation) {
        row.push(Value::Int(context.hidden_key(sequence)?));
    }
    match context.store.insert(&relation.table, &row) {
        Ok(()) => Ok(true),
        Err(Error::Transaction(TransactionError::DuplicateKey { .. })) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

struct Writer<'c> {
    write: &'c Write,
    context: &'c Context<'c>,
    written: Written,
    /// Keys of rows that `ON CONFLICT DO UPDATE` has written.
    touched: HashSet<Row>,
}

impl Writer<'_> {
    fn insert(&mut self, input: &Plan, conflict: Option<&Conflict>) -> Result<()> {
        for row in all_to_write(input, self.context)? {
            self.context.tick()?;
            self.insert_row(row, conflict)?;
        }
        Ok(())
    }

    fn insert_row(&mut self, mut row: Row, conflict: Option<&Conflict>) -> Result<()> {
        let Write { relation, rules, .. } = self.write;
        if let Some(sequence) = hidden_sequence(relation) {
            row.push(Datum::Int(self.context.hidden_key(sequence)?));
        }
        generate(&rules.generated, &mut row, self.context)?;
        check_written(relation, rules, &row, self.context)?;
        if let Some(conflict) = conflict
            && let Some(old) = conflicting(relation, conflict, &row, self.context)?
        {
            return self.resolve(conflict, old, row);
        }
        insert_row(relation, &row, self.context)?;
        if let Some(keys) = &rules.keys {
            foreign::inserted(keys, 0, &row, self.context)?;
        }
        if conflict.is_some_and(|conflict| conflict.update.is_some()) {
            self.touched.insert(key_of(relation, &row));
        }
        self.wrote(&row)
    }

    /// What `ON CONFLICT` asks for.
    fn resolve(&mut self, conflict: &Conflict, old: Row, excluded: Row) -> Result<()> {
        let Some(Resolution { assignments, condition }) = &conflict.update else { return Ok(()) };
        let key = key_of(&self.write.relation, &old);
        if self.touched.contains(&key) || self.context.former.has(&self.write.relation, &key) {
            let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
            let hint =
                "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.";
            return Err(SqlError::new(SqlState::CardinalityViolation, message).with_hint(hint));
        }
        let both: Row = old.iter().chain(&excluded).cloned().collect();
        if !Expr::holds(condition.as_ref(), &both, self.context)? {
            return Ok(());
        }
        let new = self.changed(&old, &both, assignments)?;
        let Write { relation, rules, .. } = self.write;
        replace_row(relation, &old, &new, self.context)?;
        if let Some(keys) = &rules.keys {
            self.context.pending.borrow_mut().begin_step();
            foreign::changed(keys, 0, (&old, &new), self.context)?;
        }
        self.touched.insert(key_of(relation, &new));
        self.wrote(&new)
    }

    fn update(&mut self, input: &Plan, assignments: &[(usize, Expr)]) -> Result<()> {
        let mut seen = HashSet::new();
        let mut changes = Vec::new();
        for row in all_to_write(input, self.context)? {
            self.context.tick()?;
            let old = &row[..self.write.relation.columns.len()];
            if self.is_first(&mut seen, old) {
                let new = self.changed(old, &row, assignments)?;
                self.context.keep_to_write(super::row_bytes(&new))?;
                changes.push((row, new));
            }
        }
        self.replace(changes)
    }

    /// Writes new rows in place of old ones, which may have columns behind those of the table.
    fn replace(&mut self, changes: Vec<(Row, Row)>) -> Result<()> {
        let Write { relation, rules, .. } = self.write;
        replace_rows(relation, &changes, self.context)?;
        self.context.pending.borrow_mut().begin_step();
        for (row, mut new) in changes {
            if let Some(keys) = &rules.keys {
                foreign::changed(keys, 0, (&row, &new), self.context)?;
            }
            new.extend_from_slice(&row[relation.columns.len()..]);
            self.wrote(&new)?;
        }
        Ok(())
    }

    fn delete(&mut self, input: &Plan) -> Result<()> {
        let mut seen = HashSet::new();
        self.context.pending.borrow_mut().begin_step();
        for row in all_to_write(input, self.context)? {
            self.context.tick()?;
            if self.is_first(&mut seen, &row[..self.write.relation.columns.len()]) {
                self.delete_row(&row)?;
            }
        }
        Ok(())
    }

    /// Deletes a row, which may have columns behind those of the table.
    fn delete_row(&mut self, row: &[Datum]) -> Result<()> {
        let Write { relation, rules, .. } = self.write;
        let old = &row[..relation.columns.len()];
        delete_row(relation, old, self.context)?;
        if let Some(keys) = &rules.keys {
            foreign::deleted(keys, 0, old, self.context)?;
        }
        self.wrote(row)
    }

    /// What goes makes room for what comes: rows are deleted first and added last. All is worked out before.
    fn merge(&mut self, input: &Plan, clauses: &[MergeClause]) -> Result<()> {
        let columns = self.write.relation.columns.len();
        let mut seen = HashSet::new();
        let (mut gone, mut changes, mut new) = (Vec::new(), Vec::new(), Vec::new());
        let rows = all_to_write(input, self.context)?;
        let count = rows.len();
        for mut row in rows {
            self.context.tick()?;
            let Some(clause) = self.clause_for(&row, clauses)? else { continue };
            let writes_old = matches!(clause.action, MergeAction::Update { .. } | MergeAction::Delete);
            if writes_old && !self.is_first(&mut seen, &row[..columns]) {
                let hint = "Ensure that not more than one source row matches any one target row.";
                let message = "MERGE command cannot affect row a second time";
                return Err(SqlError::new(SqlState::CardinalityViolation, message).with_hint(hint));
            }
            match &clause.action {
                MergeAction::Nothing => {}
                MergeAction::Delete => gone.push(row),
                MergeAction::Insert(values) => {
                    let values = evaluate::values(values, &row, self.context)?;
                    self.context.keep_to_write(super::row_bytes(&values))?;
                    new.push(values);
                }
                MergeAction::Update { rows, assignments } => {
                    let beside = evaluate::values(rows, &row, self.context)?;
                    row.extend(beside);
                    let changed = self.changed(&row[..columns], &row, assignments)?;
                    row.truncate(columns);
                    self.context.keep_to_write(super::row_bytes(&changed))?;
                    changes.push((row, changed));
                }
            }
        }
        if let Some(probe) = &self.context.probe {
            let (inserted, updated, deleted) = (new.len(), changes.len(), gone.len());
            let skipped = count - inserted - updated - deleted;
            probe.merged.set(Some(Merged { inserted, updated, deleted, skipped }));
        }
        self.context.pending.borrow_mut().begin_step();
        gone.iter().try_for_each(|row| self.delete_row(row))?;
        self.replace(changes)?;
        new.into_iter().try_for_each(|row| self.insert_row(row, None))
    }

    /// The clause that counts for a row of the join.
    fn clause_for<'m>(&self, row: &[Datum], clauses: &'m [MergeClause]) -> Result<Option<&'m MergeClause>> {
        let is_matched = !row[self.write.relation.key[0]].is_null();
        for clause in clauses.iter().filter(|clause| clause.is_matched == is_matched) {
            if Expr::holds(clause.condition.as_ref(), row, self.context)? {
                return Ok(Some(clause));
            }
        }
        Ok(None)
    }

    /// A row as it is after assignments, which read another one that begins with it.
    fn changed(&self, old: &[Datum], row: &[Datum], assignments: &[(usize, Expr)]) -> Result<Row> {
        let Write { relation, rules, .. } = self.write;
        let mut new = assigned(old, row, assignments, self.context)?;
        generate(&rules.generated, &mut new, self.context)?;
        check_written(relation, rules, &new, self.context)?;
        Ok(new)
    }

    /// Whether nothing in the statement has written a row yet: what is written once stays as it is.
    fn is_first(&self, seen: &mut HashSet<Row>, row: &[Datum]) -> bool {
        let key = key_of(&self.write.relation, row);
        !self.context.former.has(&self.write.relation, &key) && seen.insert(key)
    }

    /// Counts a row that was written, and keeps what is returned of it.
    fn wrote(&mut self, row: &[Datum]) -> Result<()> {
        self.written.count += 1;
        if let Some(exprs) = &self.write.returning {
            let returned = exprs.iter().map(|expr| expr.evaluate(row, self.context)).collect::<Result<Row>>()?;
            self.context.keep(super::row_bytes(&returned))?;
            self.written.rows.push(returned);
        }
        Ok(())
    }
}

/// The sequence that gives the hidden keys of a table, if it has some.
fn hidden_sequence(relation: &Relation) -> Option<&str> {
    relation.has_hidden_key.then(|| relation.notes.columns.last()?.sequence.as_deref()).flatten()
}

fn key_of(relation: &Relation, row: &[Datum]) -> Row {
    relation.key.iter().map(|at| row[*at].clone()).collect()
}

fn assigned(old: &[Datum], row: &[Datum], assignments: &[(usize, Expr)], context: &Context<'_>) -> Result<Row> {
    let mut new = old.to_vec();
    for (at, expr) in assignments {
        new[*at] = expr.evaluate(row, context)?;
    }
    Ok(new)
}

/// Computes the columns of a row that are generated of the others.
pub(crate) fn generate(generated: &[(usize, Expr)], row: &mut [Datum], context: &Context<'_>) -> Result<()> {
    for (at, expr) in generated {
        row[*at] = expr.evaluate(row, context)?;
    }
    Ok(())
}

/// Refuses a row that breaks a rule of its table.
pub(super) fn check_row(
    relation: &Relation,
    checks: &[(String, Expr)],
    row: &[Datum],
    context: &Context<'_>,
) -> Result<()> {
    for (column, value) in relation.columns.iter().zip(row) {
        if value.is_null() && !column.is_nullable {
            let table = &relation.name.name;
            let message = format!(
                "null value in column \"{}\" of relation \"{table}\" violates not-null constraint",
                column.name
            );
            let error = SqlError::new(SqlState::NotNullViolation, message).with_column(&column.name);
            return Err(failing(error, relation, row, context));
        }
    }
    for (name, check) in checks {
        if let Datum::Bool(false) = check.evaluate(row, context)? {
            let table = &relation.name.name;
            let message = format!("new row for relation \"{table}\" violates check constraint \"{name}\"");
            let error = SqlError::new(SqlState::CheckViolation, message).with_constraint(name);
            return Err(failing(error, relation, row, context));
        }
    }
    Ok(())
}

/// Refuses a row that breaks a rule of its table, or of the view through which it is written.
fn check_written(relation: &Relation, rules: &Rules, row: &[Datum], context: &Context<'_>) -> Result<()> {
    check_row(relation, &rules.checks, row, context)?;
    for (view, check) in &rules.view_checks {
        if check.evaluate(row, context)? != Datum::Bool(true) {
            let message = format!("new row violates check option for view \"{view}\"");
            let error = SqlError::new(SqlState::WithCheckOptionViolation, message);
            return Err(failing(error, relation, row, context));
        }
    }
    Ok(())
}

/// An error of a row, with the row.
fn failing(error: SqlError, relation: &Relation, row: &[Datum], context: &Context<'_>) -> SqlError {
    let mut shown = Vec::new();
    for (column, value) in relation.columns[..relation.visible()].iter().zip(row) {
        if !shown.is_empty() {
            shown.extend(b", ");
        }
        match value {
            Datum::Null => shown.extend(b"null"),
            value => value::push_text(value, column.declared, context.settings(), &mut shown),
        }
    }
    let detail = format!("Failing row contains ({}).", String::from_utf8_lossy(&shown));
    error.with_detail(detail).with_schema(&relation.name.schema).with_table(&relation.name.name)
}

fn insert_row(relation: &Relation, row: &[Datum], context: &Context<'_>) -> Result<()> {
    context.former.keep(relation, || key_of(relation, row), None, context)?;
    let insert = |values: &[Value<'_>]| context.store.insert(&relation.table, values);
    let inserted = with_encoded_row(relation, row, insert)?;
    inserted.map_err(|error| duplicate(relation, row, error.into(), context))
}

/// Writes other rows in place of some, all at once: the old ones may have columns behind those of the table.
pub(super) fn replace_rows(relation: &Relation, changes: &[(Row, Row)], context: &Context<'_>) -> Result<()> {
    // Keys that move away make room for those that move in.
    let moves = |(row, new): &(Row, Row)| key_of(relation, row) != key_of(relation, new);
    for (row, _) in changes.iter().filter(|change| moves(change)) {
        delete_row(relation, row, context)?;
    }
    for change in changes {
        context.tick()?;
        match moves(change) {
            true => insert_row(relation, &change.1, context)?,
            false => replace_row(relation, &change.0, &change.1, context)?,
        }
    }
    Ok(())
}

/// Writes another row in place of one with the same key.
fn replace_row(relation: &Relation, old: &[Datum], new: &[Datum], context: &Context<'_>) -> Result<()> {
    if key_of(relation, old) != key_of(relation, new) {
        delete_row(relation, old, context)?;
        return insert_row(relation, new, context);
    }
    let columns = relation.columns.len();
    context.former.keep(relation, || key_of(relation, old), Some(&old[..columns]), context)?;
    let replace = |values: &[Value<'_>]| context.store.replace(&relation.table, values);
    let replaced = with_encoded_row(relation, new, replace)?;
    replaced.map_err(|error| duplicate(relation, new, error.into(), context)).map(|_| ())
}

pub(super) fn delete_row(relation: &Relation, row: &[Datum], context: &Context<'_>) -> Result<()> {
    let key = key_of(relation, row);
    context.former.keep(relation, || key.clone(), Some(&row[..relation.columns.len()]), context)?;
    with_encoded(relation, &relation.key, &key, |key| context.store.delete(&relation.table, key))??;
    Ok(())
}

/// Says of a duplicate key which columns it has, as PostgreSQL does.
fn duplicate(relation: &Relation, row: &[Datum], error: SqlError, context: &Context<'_>) -> SqlError {
    if error.state != SqlState::UniqueViolation {
        return error;
    }
    let index = relation.indexes.iter().find(|index| Some(index.name.as_str()) == error.constraint());
    let (name, columns) = match index {
        Some(index) => (&index.name, relation.keys(&index.columns)),
        None => (&relation.key_name, &relation.key[..]),
    };
    let key = shown_key(relation, columns, columns.iter().map(|at| &row[*at]), context.settings());
    let message = format!("duplicate key value violates unique constraint \"{name}\"");
    SqlError::new(SqlState::UniqueViolation, message)
        .with_detail(format!("Key {key} already exists."))
        .with_schema(&relation.name.schema)
        .with_table(&relation.name.name)
        .with_constraint(name)
}

/// Columns of a key and their values, as errors show them.
pub(crate) fn shown_key<'d>(
    relation: &Relation,
    columns: &[usize],
    values: impl Iterator<Item = &'d Datum>,
    settings: &Settings,
) -> String {
    let names: Vec<String> = columns.iter().map(|at| relation.key_text(*at)).collect();
    let shown = columns.iter().zip(values).map(|(at, value)| {
        let mut out = Vec::new();
        value::push_text(value, relation.columns[*at].declared, settings, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    });
    format!("({})=({})", names.join(", "), shown.collect::<Vec<_>>().join(", "))
}

/// The row that has a key of a new one already.
fn conflicting(relation: &Relation, conflict: &Conflict, row: &[Datum], context: &Context<'_>) -> Result<Option<Row>> {
    let means = |key: Option<usize>| conflict.key.is_none_or(|wanted| wanted == key);
    if means(None)
        && let Some(old) = by_key(relation, &key_of(relation, row), true, context)?
    {
        return Ok(Some(old));
    }
    for (at, index) in relation.indexes.iter().enumerate() {
        if !index.is_unique || !means(Some(at)) {
            continue;
        }
        let key: Row = index.columns.iter().map(|at| row[*at].clone()).collect();
        if key.iter().any(Datum::is_null) {
            continue;
        }
        let first = |key: &[Value<'_>]| {
            let mut rows = context.store.scan(&relation.table, Some(&index.name), KeyRange::prefix(key), true)?;
            rows.next().transpose()
        };
        if let Some(old) = with_encoded(relation, &index.columns, &key, first)?? {
            return loaded(&old, relation).map(Some);
        }
    }
    Ok(None)
}
