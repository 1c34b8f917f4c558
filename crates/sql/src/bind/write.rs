//! `INSERT`, `UPDATE` and `DELETE`, and their parts that `MERGE` has as well.

use std::sync::Arc;

use sqlparser::ast::{
    self, Assignment, AssignmentTarget, ConflictTarget, FromTable, OnConflictAction, OnInsert, SelectItem, SetExpr,
    Statement, TableFactor, TableObject, TableWithJoins, UpdateTableFromKind,
};

use super::element::Assigned;
use super::from::{From, relation_columns, rename_columns};
use super::query::Bound;
use super::scope::{Level, Typed};
use super::select::Listed;
use super::view::{Target, Verb};
use super::{Binder, OutColumn};
use crate::catalog::notes::{CheckNote, Computed, Identity};
use crate::catalog::objects::ViewEntry;
use crate::catalog::relation::{Column, Index, Meaning, Relation};
use crate::catalog::rights::Rights;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Asks, Case, Expr};
use crate::parse;
use crate::parse::rewrite::{Inference, inference_of};
use crate::plan::computed::ComputedColumns;
use crate::plan::join::Source;
use crate::plan::{Change, Conflict, Plan, Resolution, RowLock, Rules, Write};
use crate::types::{Declared, Type};

/// A statement that writes, with the columns that it returns.
pub(crate) struct BoundWrite {
    pub(crate) write: Write,
    pub(crate) columns: Option<Vec<OutColumn>>,
}

impl Binder<'_> {
    /// Binds a statement that writes within a query.
    pub(crate) fn write_query(&self, statement: &Statement) -> Result<Bound> {
        let BoundWrite { write, columns } = self.write(statement)?;
        Ok(Bound { plan: Plan::Write(Box::new(write)), columns: columns.unwrap_or_default() })
    }

    /// Binds a statement that writes.
    pub(crate) fn write(&self, statement: &Statement) -> Result<BoundWrite> {
        match statement {
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Merge(merge) => self.merge(merge),
            other => Err(SqlError::unsupported(format!("{other}"))),
        }
    }

    fn insert(&self, insert: &ast::Insert) -> Result<BoundWrite> {
        let TableObject::TableName(name) = &insert.table else {
            return Err(SqlError::unsupported("INSERT into anything but a table"));
        };
        let alias = insert.table_alias.as_ref().map(|alias| parse::name(&alias.alias));
        let target = self.write_target(name, alias.as_deref(), Verb::Insert)?;
        let relation = target.relation.clone();
        let targets = named_columns(&target, &insert.columns)?;
        let overriding = Overriding::of(insert);
        let input = self.insert_input(&target, &targets, insert.source.as_deref(), overriding)?;
        let conflict = match &insert.on {
            None => None,
            Some(OnInsert::OnConflict(conflict)) => Some(self.conflict(&target, conflict)?),
            Some(_) => return Err(SqlError::unsupported("ON DUPLICATE KEY")),
        };
        let mut level = Level::new(None, &self.registers);
        level.columns.clone_from(&target.columns);
        let (returning, columns) = self.returning(insert.returning.as_deref(), &level)?;
        let updates = conflict.as_ref().is_some_and(|conflict| conflict.update.is_some());
        let rules = if updates { self.rules(&relation)? } else { self.insert_rules(&relation)? };
        let rules = Rules { view_checks: target.checks, ..rules };
        let change = Change::Insert { input, conflict };
        Ok(BoundWrite { write: Write { relation, change, returning, rules }, columns })
    }

    /// What puts the rows of its query into a materialized view.
    pub(crate) fn filling(&self, relation: &Arc<Relation>, view: &Arc<ViewEntry>) -> Result<Write> {
        let Bound { plan, columns } = self.query_of_view(&relation.name, view)?;
        let all: Vec<usize> = (0..relation.visible()).collect();
        if columns.len() != all.len() {
            let message = format!("materialized view \"{}\" has other columns than its query", relation.name);
            return Err(SqlError::new(SqlState::DataCorrupted, message));
        }
        let mut row = self.defaults(relation, &all)?;
        for (at, (column, to)) in columns.iter().zip(&relation.columns).enumerate() {
            row[at] = self.assign(Typed::new(Expr::Column(at), column.declared), &to.name, to.declared)?;
        }
        let change = Change::Insert { input: Plan::Project(Box::new(plan), row), conflict: None };
        Ok(Write { relation: relation.clone(), change, returning: None, rules: self.insert_rules(relation)? })
    }

    /// The rows that are inserted, with a value for each column.
    fn insert_input(
        &self,
        target: &Target,
        targets: &[usize],
        source: Option<&ast::Query>,
        overriding: Overriding,
    ) -> Result<Plan> {
        let relation = &target.relation;
        let Some(source) = source else {
            return Ok(Plan::Values(vec![self.defaults(relation, &[])?]));
        };
        let given = match &*source.body {
            SetExpr::Values(values) => values.rows.iter().map(|row| row.content.len()).max().unwrap_or(0),
            _ => usize::MAX,
        };
        let all = if targets.is_empty() { target.all_columns(given, Verb::Insert)? } else { Vec::new() };
        let is_list = source.with.is_none() && source.order_by.is_none() && source.limit_clause.is_none();
        if let (true, SetExpr::Values(values)) = (is_list, &*source.body)
            && let [row] = &values.rows[..]
            && row.content.iter().any(super::view::has_set)
        {
            let named = insert_targets(targets, &all, row.content.len())?;
            let (targets, source) = query_of_row(named, &row.content)?;
            return self.insert_input(target, &targets, Some(&source), overriding);
        }
        if let SetExpr::Values(values) = &*source.body
            && is_list
        {
            let level = Level::new(None, &self.registers);
            let mut rows = Vec::with_capacity(values.rows.len());
            if values.rows.iter().any(|row| row.content.len() != given) {
                return Err(SqlError::new(SqlState::SyntaxError, "VALUES lists must all be the same length"));
            }
            for row in &values.rows {
                rows.push(self.insert_values(target, (targets, &all), &row.content, overriding, &level)?);
            }
            return Ok(Plan::Values(rows));
        }
        self.keeps_unknown.set(true);
        let mut bound = self.query(source, None)?;
        let targets = insert_targets(targets, &all, bound.columns.len())?;
        let column = |(target, column): (&usize, &OutColumn)| {
            let declared = relation.columns[*target].declared.ty.into();
            OutColumn { declared, ..column.clone() }
        };
        let wanted: Vec<OutColumn> = targets.iter().zip(&bound.columns).map(column).collect();
        self.read_listed(&mut bound, &wanted)?;
        let Bound { plan, columns } = bound;
        target.marks(Verb::Insert, targets.iter().copied());
        let given: Vec<usize> = targets.iter().copied().filter(|at| overriding.takes(&relation.columns[*at])).collect();
        let mut row = self.defaults(relation, &given)?;
        for (at, (target, column)) in targets.iter().zip(&columns).enumerate() {
            let to = &relation.columns[*target];
            if !overriding.takes(to) {
                continue;
            }
            overriding.refuse(to)?;
            row[*target] = self.assign(Typed::new(Expr::Column(at), column.declared), &to.name, to.declared)?;
        }
        Ok(Plan::Project(Box::new(plan), row))
    }

    /// One row that is inserted: its values are for the columns that are named, or for the first ones of all.
    pub(super) fn insert_values(
        &self,
        target: &Target,
        (named, all): (&[usize], &[usize]),
        exprs: &[ast::Expr],
        overriding: Overriding,
        level: &Level<'_>,
    ) -> Result<Vec<Expr>> {
        let relation = &target.relation;
        let targets = insert_targets(named, all, exprs.len())?;
        target.marks(Verb::Insert, targets.iter().copied());
        level.refuse_aggregates("VALUES");
        let is_given =
            |(target, expr): &(&usize, &ast::Expr)| !is_default(expr) && overriding.takes(&relation.columns[**target]);
        let given: Vec<_> = targets.iter().zip(exprs).filter(is_given).collect();
        let named: Vec<usize> = given.iter().map(|(target, _)| **target).collect();
        let mut row = self.defaults(relation, &named)?;
        for (target, expr) in given {
            let to = &relation.columns[*target];
            overriding.refuse(to)?;
            row[*target] = self.assign_expr(expr, to, level)?;
        }
        Ok(row)
    }

    /// An expression as a value of a column.
    fn assign_expr(&self, expr: &ast::Expr, to: &Column, level: &Level<'_>) -> Result<Expr> {
        let typed = match (expr, to.declared.ty) {
            (ast::Expr::Array(array), Type::Array(_)) if array.elem.is_empty() => {
                Typed::new(Expr::Array(Vec::new()), to.declared.ty)
            }
            _ => self.expr(expr, level)?,
        };
        self.assign(typed, &to.name, to.declared)
    }

    /// The defaults of all columns but some, for which NULL stands.
    pub(super) fn defaults(&self, relation: &Relation, given: &[usize]) -> Result<Vec<Expr>> {
        let default = |at: usize| {
            if given.contains(&at) { Ok(Expr::NULL) } else { self.default_of(relation, at) }
        };
        (0..relation.computed().end).map(default).collect()
    }

    /// A value for each column, of rows that have those of `targets`.
    pub(crate) fn copied_row(&self, relation: &Relation, targets: &[usize]) -> Result<Vec<Expr>> {
        let mut row = self.defaults(relation, targets)?;
        for (at, target) in targets.iter().enumerate() {
            row[*target] = Expr::Column(at);
        }
        Ok(row)
    }

    /// The default of a column.
    pub(crate) fn default_of(&self, relation: &Relation, at: usize) -> Result<Expr> {
        let column = &relation.columns[at];
        if column.is_generated {
            // It is computed when the row is whole.
            return Ok(Expr::NULL);
        }
        let sequence = relation.notes.columns.get(at).and_then(|note| note.sequence.as_deref());
        let typed = match (&column.default, column.identity.and(sequence)) {
            (Some(text), _) => return self.default_value(text, &column.name, column.declared),
            (None, Some(sequence)) => {
                // As bytes it is the name in the engine, which needs no right: no statement can write it so.
                let name = Typed::new(Expr::Constant(Datum::Bytes(sequence.as_bytes().into())), Type::RegClass);
                self.apply("nextval", vec![name])?
            }
            (None, None) => return Ok(Expr::NULL),
        };
        self.assign(typed, &column.name, column.declared)
    }

    /// What `text`, which is kept with the catalog, gives a column.
    pub(crate) fn default_value(&self, text: &str, column: &str, declared: Declared) -> Result<Expr> {
        let level = Level::new(None, &self.registers);
        level.refuse_aggregates("DEFAULT expressions");
        let expr = parse::expression(&parse::sequence::with_public(text))?;
        self.keeping(|| self.assign(self.expr(&expr, &level)?, column, declared))
    }

    fn conflict(&self, target: &Target, conflict: &ast::OnConflict) -> Result<Conflict> {
        let relation = &target.relation;
        if target.through.is_some() && conflict.conflict_target.is_some() {
            return Err(SqlError::unsupported("ON CONFLICT with a target through a view")
                .with_hint("Name the table in place of the view."));
        }
        if let Some(ConflictTarget::Columns(idents)) = &conflict.conflict_target {
            let named = idents.iter().filter_map(|ident| relation.position(&parse::name(ident)));
            named.for_each(|at| target.columns[at].is_read());
        }
        let inference = match &conflict.conflict_target {
            Some(ConflictTarget::Columns(idents)) => idents.first().and_then(inference_of),
            _ => None,
        };
        let key = match (&conflict.conflict_target, inference) {
            (_, Some(inference)) => Some(self.inferred_key(target, &inference)?),
            (wanted, None) => wanted.as_ref().map(|wanted| conflict_key(relation, wanted)).transpose()?,
        };
        let OnConflictAction::DoUpdate(update) = &conflict.action else {
            return Ok(Conflict { key, update: None });
        };
        if key.is_none() {
            let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            return Err(
                SqlError::new(SqlState::SyntaxError, message).with_hint("For example, ON CONFLICT (column_name).")
            );
        }
        let mut level = Level::new(None, &self.registers);
        level.refuse_aggregates("ON CONFLICT");
        level.columns.clone_from(&target.columns);
        let count = relation.columns.len();
        for mut column in relation_columns(relation, "excluded") {
            column.expr.move_columns(&|at| at + count);
            column.is_merged = true;
            level.columns.push(column);
        }
        let mut rows = AssignedRows::Nowhere;
        let assignments = self.assignments(target, &update.assignments, &level, &mut rows)?;
        target.also(Rights::UPDATE);
        let condition = update.selection.as_ref().map(|expr| self.condition(expr, "WHERE", &level)).transpose()?;
        Ok(Conflict { key, update: Some(Resolution { assignments, condition }) })
    }

    /// The key that `ON CONFLICT` means by expressions, or by a condition.
    fn inferred_key(&self, target: &Target, inference: &Inference) -> Result<Option<usize>> {
        let relation = &target.relation;
        let mut level = Level::new(None, &self.registers);
        level.columns.clone_from(&target.columns);
        level.refuse_aggregates("ON CONFLICT");
        let computed = ComputedColumns::of(relation, &(0..relation.columns.len()));
        let is_read = |expr: &Expr| expr.for_each_column(&mut |at| target.columns[at].is_read());
        let mut wanted: Vec<Vec<usize>> = Vec::with_capacity(inference.keys.len());
        for text in &inference.keys {
            let expr = self.expr(&parse::expression(text)?, &level)?.expr;
            is_read(&expr);
            let plain = if let Expr::Column(at) = expr { Some(at) } else { None };
            wanted.push(plain.into_iter().chain(computed.columns_of(&expr)).collect());
        }
        let mut held = Vec::new();
        if let Some(text) = &inference.predicate {
            let condition = self.condition(&parse::expression(text)?, "WHERE", &level)?;
            is_read(&condition);
            held = computed.held(&[&condition], false);
        }
        inferred(relation, wanted, &|first| held.iter().any(|(column, _)| *column == first))
    }

    pub(super) fn assignments(
        &self,
        target: &Target,
        assignments: &[Assignment],
        level: &Level<'_>,
        rows: &mut AssignedRows,
    ) -> Result<Vec<(usize, Expr)>> {
        let mut assigned = Assigned::default();
        let mut assign = |at: usize, given: Given<'_>| self.assign_to(target, at, given, level, &mut assigned);
        let column = |name: &ast::ObjectName| -> Result<usize> {
            let (at, _) = target.position(&parse::parts(name)?.pop().unwrap_or_default(), Verb::Update)?;
            target.marks(Verb::Update, std::iter::once(at));
            Ok(at)
        };
        for Assignment { target: named, value } in assignments {
            match (named, value) {
                (AssignmentTarget::ColumnName(name), value) => assign(column(name)?, Given::Written(value))?,
                (AssignmentTarget::Tuple(names), ast::Expr::Tuple(values)) if names.len() == values.len() => {
                    for (name, value) in names.iter().zip(values) {
                        assign(column(name)?, Given::Written(value))?;
                    }
                }
                (AssignmentTarget::Tuple(_), ast::Expr::Tuple(_)) => return Err(other_count()),
                (AssignmentTarget::Tuple(names), ast::Expr::Function(call)) if row_of(call).is_some() => {
                    let values = row_of(call).unwrap_or_default();
                    if values.len() != names.len() {
                        return Err(other_count());
                    }
                    for (name, value) in names.iter().zip(values) {
                        assign(column(name)?, Given::Written(value))?;
                    }
                }
                (AssignmentTarget::Tuple(names), ast::Expr::Subquery(query)) => {
                    let (row, columns) = self.subquery(query, Asks::Row, level)?;
                    if columns.len() != names.len() {
                        return Err(other_count());
                    }
                    let row = rows.add(row)?;
                    for (place, (name, given)) in names.iter().zip(&columns).enumerate() {
                        let number = Expr::Constant(Datum::Int(place as i64 + 1));
                        let value = Expr::Subscript(Box::new((row.clone(), number)));
                        assign(column(name)?, Given::Bound(Typed::new(value, given.declared)))?;
                    }
                }
                (AssignmentTarget::Tuple(_), _) => {
                    let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                    return Err(SqlError::new(SqlState::FeatureNotSupported, message));
                }
            }
        }
        Ok(assigned.columns)
    }

    /// What is assigned to a column.
    pub(super) fn given_value(
        &self,
        relation: &Relation,
        at: usize,
        given: Given<'_>,
        level: &Level<'_>,
    ) -> Result<Expr> {
        let column = &relation.columns[at];
        match given {
            Given::Written(expr) if is_default(expr) => self.default_of(relation, at),
            Given::Written(expr) => {
                expect_updatable(column)?;
                self.assign_expr(expr, column, level)
            }
            Given::Bound(typed) => {
                expect_updatable(column)?;
                self.assign(typed, &column.name, column.declared)
            }
        }
    }

    fn update(&self, update: &ast::Update) -> Result<BoundWrite> {
        if !update.order_by.is_empty() || update.limit.is_some() {
            return Err(SqlError::unsupported("UPDATE with ORDER BY or LIMIT"));
        }
        let others = match &update.from {
            None => &[][..],
            Some(UpdateTableFromKind::AfterSet(tables)) => tables,
            Some(UpdateTableFromKind::BeforeSet(_)) => return Err(SqlError::unsupported("FROM before SET")),
        };
        let (target, mut from) = self.target(&update.table, others, Verb::Update)?;
        let relation = target.relation.clone();
        let level = target_level(&target, &from, &self.registers);
        level.refuse_aggregates("UPDATE");
        if let Some(condition) = &update.selection {
            self.condition(condition, "WHERE", &level)?.split(&mut from.conditions);
        }
        let mut rows = AssignedRows::Behind { width: from.columns.len(), rows: Vec::new() };
        let assignments = self.assignments(&target, &update.assignments, &level, &mut rows)?;
        let (returning, columns) = self.returning(update.returning.as_deref(), &level)?;
        let rules = Rules { view_checks: target.checks, ..self.rules(&relation)? };
        let input = rows.above(self.plan_written(from)?);
        let change = Change::Update { input, assignments };
        Ok(BoundWrite { write: Write { relation, change, returning, rules }, columns })
    }

    fn delete(&self, delete: &ast::Delete) -> Result<BoundWrite> {
        let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
        let [table] = &tables[..] else { return Err(SqlError::unsupported("DELETE from several tables")) };
        if !delete.tables.is_empty() || !delete.order_by.is_empty() || delete.limit.is_some() {
            return Err(SqlError::unsupported("DELETE with ORDER BY or LIMIT"));
        }
        let (target, mut from) = self.target(table, delete.using.as_deref().unwrap_or_default(), Verb::Delete)?;
        let relation = target.relation.clone();
        let level = target_level(&target, &from, &self.registers);
        level.refuse_aggregates("DELETE");
        if let Some(condition) = &delete.selection {
            self.condition(condition, "WHERE", &level)?.split(&mut from.conditions);
        }
        let (returning, columns) = self.returning(delete.returning.as_deref(), &level)?;
        let input = self.plan_written(from)?;
        let change = Change::Delete { input };
        let rules = Rules { keys: self.keys(&relation, false)?, ..Rules::default() };
        Ok(BoundWrite { write: Write { relation, change, returning, rules }, columns })
    }

    /// The table that is written, and the tables beside it: its columns are the first ones.
    pub(super) fn target(
        &self,
        table: &TableWithJoins,
        others: &[TableWithJoins],
        verb: Verb,
    ) -> Result<(Target, From)> {
        let TableFactor::Table { name, alias, .. } = &table.relation else {
            return Err(SqlError::new(SqlState::SyntaxError, "only a table can be written"));
        };
        if !table.joins.is_empty() {
            return Err(SqlError::new(SqlState::SyntaxError, "what is written is one table, without joins"));
        }
        let shown = alias.as_ref().map(|alias| parse::name(&alias.name));
        let mut target = self.write_target(name, shown.as_deref(), verb)?;
        let last = parse::parts(name)?.pop().unwrap_or_default();
        rename_columns(&mut target.columns, alias.as_ref(), &last)?;
        let mut columns = target.columns.clone();
        if target.through.is_some() {
            columns = relation_columns(&target.relation, "");
            for column in &mut columns {
                (column.is_hidden, column.is_merged, column.table) = (true, true, None);
                column.name.clear();
            }
        }
        let mut from = From::default();
        from.call(&table.relation)?;
        let alias = shown.unwrap_or(last).into();
        let source = Source::Table { relation: target.relation.clone(), alias, lock: RowLock::Wait };
        from.tree = Some(from.add(source, Vec::new(), columns));
        from.conditions.extend(target.conditions.iter().cloned());
        for other in others {
            self.add_tables(&mut from, other, false, None)?;
        }
        Ok((target, from))
    }

    /// The condition of `COPY ... FROM`, over the rows of a table.
    pub(crate) fn copy_condition(&self, relation: &Relation, text: &str) -> Result<Expr> {
        let mut level = Level::new(None, &self.registers);
        level.columns = relation_columns(relation, &relation.name.name);
        level.refuse_aggregates("COPY FROM WHERE conditions");
        let condition = self.condition(&parse::expression(text)?, "WHERE", &level)?;
        if condition.any(&|part| matches!(part, Expr::Subquery(_))) {
            let message = "cannot use subquery in COPY FROM WHERE condition";
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        }
        Ok(condition)
    }

    #[expect(clippy::type_complexity, reason = "two halves of one clause")]
    fn returning(
        &self,
        items: Option<&[SelectItem]>,
        level: &Level<'_>,
    ) -> Result<(Option<Vec<Expr>>, Option<Vec<OutColumn>>)> {
        let Some(items) = items else { return Ok((None, None)) };
        level.refuse_aggregates("RETURNING");
        let mut list: Vec<Listed> = Vec::new();
        for item in items {
            self.list_item(item, level, &mut list)?;
        }
        let (mut exprs, mut columns) = (Vec::new(), Vec::new());
        for Listed { expr, column, .. } in list {
            exprs.push(expr);
            columns.push(column);
        }
        Ok((Some(exprs), Some(columns)))
    }

    /// What rows of a table must keep.
    pub(crate) fn rules(&self, relation: &Arc<Relation>) -> Result<Rules> {
        let (generated, keys) = (self.generated(relation)?, self.keys(relation, false)?);
        Ok(Rules { generated, checks: self.checks(relation)?, keys, view_checks: Vec::new() })
    }

    /// What rows must keep that are added to a table.
    pub(crate) fn insert_rules(&self, relation: &Arc<Relation>) -> Result<Rules> {
        let (generated, keys) = (self.generated(relation)?, self.keys(relation, true)?);
        Ok(Rules { generated, checks: self.checks(relation)?, keys, view_checks: Vec::new() })
    }

    /// The generated columns of a table, and what they are computed by.
    pub(crate) fn generated(&self, relation: &Relation) -> Result<Vec<(usize, Expr)>> {
        if !relation.columns.iter().any(|column| column.is_generated) {
            return Ok(Vec::new());
        }
        let mut level = Level::new(None, &self.registers);
        level.columns = relation_columns(relation, &relation.name.name);
        level.refuse_aggregates("column generation expressions");
        let mut bound = Vec::new();
        for (at, column) in relation.columns.iter().enumerate().filter(|(_, column)| column.is_generated) {
            let text = column.default.as_deref().unwrap_or("NULL");
            let expr = parse::expression(text)?;
            let where_so = |condition: &ast::Expr, value: Expr| {
                let branches = vec![(self.condition(condition, "WHERE", &level)?, value)];
                Ok(Expr::Case(Box::new(Case { operand: None, branches, otherwise: Expr::NULL })))
            };
            let within = column.within.as_ref().and_then(|name| relation.columns.iter().find(|one| one.name == *name));
            let value = self.keeping(|| match (column.computed, within) {
                (Some(Computed::Predicate), _) => where_so(&expr, Expr::Constant(Datum::Bool(true))),
                (_, within) => {
                    let value = self.assign(self.expr(&expr, &level)?, &column.name, column.declared)?;
                    match within.and_then(|within| within.default.as_deref()) {
                        Some(condition) => where_so(&parse::expression(condition)?, value),
                        None => Ok(value),
                    }
                }
            });
            bound.push((at, value?));
        }
        Ok(bound)
    }

    /// What the columns of a table mean that are computed for indexes.
    pub(crate) fn meanings(&self, relation: &Relation) -> Result<Vec<Meaning>> {
        let mut level = Level::new(None, &self.registers);
        level.columns = relation_columns(relation, &relation.name.name);
        let mut meanings = Vec::new();
        for column in relation.computed() {
            let (Some(computed), Some(text)) = (relation.columns[column].computed, relation.expression(column)) else {
                continue;
            };
            let expr = parse::expression(text)?;
            let expr = self.keeping(|| match computed {
                Computed::Predicate => self.condition(&expr, "WHERE", &level),
                Computed::Expression => Ok(self.expr(&expr, &level)?.expr),
            });
            meanings.push(Meaning { column, computed, expr: expr? });
        }
        Ok(meanings)
    }

    /// The check constraints of a table.
    pub(crate) fn checks(&self, relation: &Relation) -> Result<Vec<(String, Expr)>> {
        relation.notes.checks.iter().map(|check| Ok((check.name.clone(), self.check(relation, check)?))).collect()
    }

    /// A check constraint of a table.
    pub(crate) fn check(&self, relation: &Relation, check: &CheckNote) -> Result<Expr> {
        let mut level = Level::new(None, &self.registers);
        level.columns = relation_columns(relation, &relation.name.name);
        level.refuse_aggregates("check constraints");
        let expr = parse::expression(&check.expression)?;
        self.keeping(|| self.condition(&expr, "CHECK", &level))
    }
}

/// A value that is assigned.
pub(super) enum Given<'g> {
    Written(&'g ast::Expr),
    Bound(Typed),
}

/// The rows of subqueries that are assigned to several columns at once.
pub(super) enum AssignedRows {
    /// Each is a column behind so many of the input, so that it is there once for each row.
    Behind { width: usize, rows: Vec<Expr> },
    /// There is no input in which they could be.
    Nowhere,
}

impl AssignedRows {
    fn add(&mut self, row: Expr) -> Result<Expr> {
        match self {
            AssignedRows::Behind { width, rows } => {
                rows.push(row);
                Ok(Expr::Column(*width + rows.len() - 1))
            }
            AssignedRows::Nowhere => {
                Err(SqlError::unsupported("ON CONFLICT with an assignment of a query to several columns")
                    .with_hint("Assign a query to each column."))
            }
        }
    }

    pub(super) fn into_rows(self) -> Vec<Expr> {
        match self {
            AssignedRows::Behind { rows, .. } => rows,
            AssignedRows::Nowhere => Vec::new(),
        }
    }

    /// Puts the rows beside those of the input.
    fn above(self, input: Plan) -> Plan {
        match self {
            AssignedRows::Behind { width, rows } if !rows.is_empty() => {
                let columns = (0..width).map(Expr::Column);
                Plan::Project(Box::new(input), columns.chain(rows).collect())
            }
            _ => input,
        }
    }
}

/// The values of `ROW(...)`, if a call is that.
fn row_of(call: &ast::Function) -> Option<Vec<&ast::Expr>> {
    fn value(argument: &ast::FunctionArg) -> Option<&ast::Expr> {
        match argument {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        }
    }
    let ast::FunctionArguments::List(list) = &call.args else { return None };
    let is_row = parse::parts(&call.name).is_ok_and(|parts| parts == ["row"]);
    if is_row { list.args.iter().map(value).collect() } else { None }
}

fn other_count() -> SqlError {
    SqlError::new(SqlState::SyntaxError, "number of columns does not match number of values")
}

/// The names that a statement which writes can use.
pub(super) fn target_level<'p>(target: &Target, from: &From, registers: &'p std::cell::Cell<usize>) -> Level<'p> {
    let mut level = from.level(None, registers);
    if target.through.is_some() {
        let count = target.columns.len();
        level.columns.splice(0..0, target.columns.iter().cloned());
        level.star = (0..count).chain(level.star.iter().map(|at| at + count)).collect();
    }
    level
}

/// The only row of `VALUES` as the list of a query, without the columns that take their defaults: functions of it give rows.
fn query_of_row(targets: &[usize], row: &[ast::Expr]) -> Result<(Vec<usize>, ast::Query)> {
    let (targets, items) = targets.iter().zip(row).filter(|(_, expr)| !is_default(expr)).unzip::<_, _, _, Vec<_>>();
    let items = items.into_iter().cloned().map(SelectItem::UnnamedExpr).collect();
    Ok((targets, parse::query_of_list(items)?))
}

/// Whether an expression is the word `DEFAULT`.
pub(super) fn is_default(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// The columns that `INSERT` names.
pub(super) fn named_columns(target: &Target, columns: &[ast::ObjectName]) -> Result<Vec<usize>> {
    let mut named = Vec::with_capacity(columns.len());
    for column in columns {
        let name = parse::parts(column)?.pop().unwrap_or_default();
        let (at, _) = target.position(&name, Verb::Insert)?;
        if named.contains(&at) {
            return Err(SqlError::named_twice(&name));
        }
        named.push(at);
    }
    Ok(named)
}

/// The columns that so many values are for.
fn insert_targets<'t>(named: &'t [usize], all: &'t [usize], count: usize) -> Result<&'t [usize]> {
    let targets = if named.is_empty() { all } else { named };
    if count > targets.len() {
        return Err(SqlError::new(SqlState::SyntaxError, "INSERT has more expressions than target columns"));
    }
    if count < targets.len() && !named.is_empty() {
        return Err(SqlError::new(SqlState::SyntaxError, "INSERT has more target columns than expressions"));
    }
    Ok(&targets[..count])
}

/// What `OVERRIDING` says of values for identity columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Overriding {
    Nothing,
    /// `OVERRIDING SYSTEM VALUE`: they are taken.
    System,
    /// `OVERRIDING USER VALUE`: they are not.
    User,
}

impl Overriding {
    /// How the parser has it: [`crate::parse::rewrite`].
    fn of(insert: &ast::Insert) -> Overriding {
        match (insert.overwrite, insert.has_table_keyword) {
            (true, _) => Overriding::System,
            (false, true) => Overriding::User,
            (false, false) => Overriding::Nothing,
        }
    }

    /// What the word behind `OVERRIDING` says.
    pub(super) fn named(word: Option<&str>) -> Overriding {
        match word {
            Some("system") => Overriding::System,
            Some(_) => Overriding::User,
            None => Overriding::Nothing,
        }
    }

    /// Whether a value that is given for a column counts.
    fn takes(self, column: &Column) -> bool {
        self != Overriding::User || column.identity.is_none()
    }

    /// Refuses a value for a column that is `GENERATED ALWAYS`.
    fn refuse(self, column: &Column) -> Result<()> {
        if column.is_generated {
            let message = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
            return Err(generated_always(column, message));
        }
        if self == Overriding::System || column.identity != Some(Identity::Always) {
            return Ok(());
        }
        let message = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
        Err(generated_always(column, message).with_hint("Use OVERRIDING SYSTEM VALUE to override."))
    }
}

/// Refuses to assign anything but its default to a column that takes that alone.
pub(super) fn expect_updatable(column: &Column) -> Result<()> {
    if column.is_generated || column.identity == Some(Identity::Always) {
        let message = format!("column \"{}\" can only be updated to DEFAULT", column.name);
        return Err(generated_always(column, message));
    }
    Ok(())
}

fn generated_always(column: &Column, message: String) -> SqlError {
    let what =
        if column.is_generated { "a generated column" } else { "an identity column defined as GENERATED ALWAYS" };
    SqlError::new(SqlState::SyntaxError, message)
        .with_code("428C9")
        .with_detail(format!("Column \"{}\" is {what}.", column.name))
}

/// The key that a conflict is about.
fn conflict_key(relation: &Relation, target: &ConflictTarget) -> Result<Option<usize>> {
    match target {
        ConflictTarget::Columns(idents) => {
            let wanted = idents.iter().map(|ident| Ok(vec![relation.need(&parse::name(ident))?]));
            inferred(relation, wanted.collect::<Result<Vec<_>>>()?, &|_| false)
        }
        ConflictTarget::OnConstraint(name) => {
            let name = parse::parts(name)?.pop().unwrap_or_default();
            if !relation.has_hidden_key && name == relation.key_name {
                return Ok(None);
            }
            let found = relation.indexes.iter().position(|index| index.is_unique && index.name == name);
            found.map(Some).ok_or_else(|| {
                let table = &relation.name.name;
                let message = format!("constraint \"{name}\" for table \"{table}\" does not exist");
                SqlError::new(SqlState::UndefinedObject, message)
            })
        }
    }
}

/// The key that has some columns, in any order, each of which may be one of several; `holds` says which first columns of partial
/// indexes are true in the rows that are meant.
fn inferred(relation: &Relation, wanted: Vec<Vec<usize>>, holds: &dyn Fn(usize) -> bool) -> Result<Option<usize>> {
    let is_wanted = |columns: &[usize]| {
        columns.iter().all(|column| wanted.iter().any(|one| one.contains(column)))
            && wanted.iter().all(|one| one.iter().any(|column| columns.contains(column)))
    };
    if is_wanted(&relation.key) {
        return Ok(None);
    }
    let is_partial = |index: &Index| relation.predicate(&index.columns).is_some();
    let is_it = |index: &Index| {
        let is_meant = !is_partial(index) || holds(index.columns[0]);
        index.is_unique && is_meant && is_wanted(relation.keys(&index.columns))
    };
    let found = |partial: bool| relation.indexes.iter().position(|index| is_partial(index) == partial && is_it(index));
    found(false).or_else(|| found(true)).map(Some).ok_or_else(|| {
        let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
        SqlError::new(SqlState::InvalidColumnReference, message)
    })
}
