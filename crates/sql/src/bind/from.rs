//! `FROM`: tables, subqueries, functions, and how they are joined.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use sqlparser::ast::{self, JoinConstraint, JoinOperator, TableFactor, TableWithJoins};

use super::query::{locking, scope_of};
use super::scope::{Level, ScopeColumn};
use super::using::{Called, Sides};
use super::{Binder, OutColumn, undefined_table};
use crate::catalog::name::Name;
use crate::catalog::relation::Relation;
use crate::catalog::rights::Rights;
use crate::catalog::system::{self, Kind, SystemRelation};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::function;
use crate::parse;
use crate::plan::estimate::Estimator;
use crate::plan::join::{Leaf, Planner, Source, Tree};
use crate::plan::pull::Simple;
use crate::plan::{Changed, JoinKind, LockRows, LockedTable, Plan, RowLock, Series, SystemScan};
use crate::types::{Declared, Type};

/// So many tables may be joined in one query: the time to plan them grows with their number to the power of three.
const TABLES_MAX: usize = 256;
/// So many may be in one statement, with those of its views: a view of two views of two views doubles them with each level.
const FACTORS_MAX: usize = 4096;

/// What `FROM` and `WHERE` say.
#[derive(Default)]
pub(crate) struct From {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) tree: Option<Tree>,
    /// The columns of all leaves, one after the other.
    pub(crate) columns: Vec<ScopeColumn>,
    /// Their order in `*`: what `USING` has joined comes first.
    pub(super) star: Vec<usize>,
    pub(crate) conditions: Vec<Expr>,
    /// Which leaves have rows that are locked, those of views and subqueries among them.
    locked: Vec<usize>,
    /// The columns that aliases of `USING` name.
    pub(super) aliases: Vec<ScopeColumn>,
    /// What the tables are called that can be named now.
    pub(super) called: Vec<Called>,
}

impl From {
    /// The names that expressions over the rows can use.
    pub(crate) fn level<'p>(&self, outer: Option<&'p Level<'p>>, registers: &'p Cell<usize>) -> Level<'p> {
        let mut level = Level::new(outer, registers);
        level.columns.clone_from(&self.columns);
        level.columns.extend_from_slice(&self.aliases);
        level.star.clone_from(&self.star);
        level
    }

    /// Adds a leaf with its columns, and returns its tree.
    pub(super) fn add(&mut self, source: Source, captures: Vec<(usize, Expr)>, columns: Vec<ScopeColumn>) -> Tree {
        let start = self.columns.len();
        let count = columns.len();
        for mut column in columns {
            column.expr.move_columns(&|at| at + start);
            self.columns.push(column);
        }
        self.star.extend(start..start + count);
        self.leaves.push(Leaf { source, captures, columns: start..start + count });
        Tree::Leaf(self.leaves.len() - 1)
    }

    /// Puts the columns in front that a join of those from `start` on, and from `middle` on, has made one of two.
    pub(super) fn merge_star(&mut self, start: usize, middle: usize, names: &[String]) {
        let first = self.star.iter().position(|at| *at >= start).unwrap_or(self.star.len());
        let mut others = self.star.split_off(first);
        for name in names {
            let is_it = |at: &usize| self.columns[*at].name == *name && !self.columns[*at].is_merged;
            let merged =
                others.iter().position(|at| *at < middle && is_it(at)).or_else(|| others.iter().position(is_it));
            self.star.extend(merged.map(|place| others.remove(place)));
        }
        self.star.extend(others);
    }

    /// Says that an outer join may leave out the leaves with these columns.
    fn may_be_absent(&mut self, columns: Range<usize>) {
        for leaf in self.leaves.iter().filter(|leaf| columns.contains(&leaf.columns.start)) {
            let present: Rc<[Expr]> = match &leaf.source {
                Source::Table { relation, .. } => [Expr::Column(leaf.columns.start + relation.key[0])].into(),
                _ => leaf.columns.clone().map(Expr::Column).collect(),
            };
            self.columns[leaf.columns.clone()].iter_mut().for_each(|column| column.present = Some(present.clone()));
        }
    }

    /// Refuses to lock rows where an outer join may have none.
    fn refuse_absent_locks(&self, kind: JoinKind, left: usize, right: usize) -> Result<()> {
        let may_be_absent = |leaf: &Leaf| match kind {
            JoinKind::Left => leaf.columns.start >= right,
            JoinKind::Right => (left..right).contains(&leaf.columns.start),
            JoinKind::Full => leaf.columns.start >= left,
            _ => false,
        };
        if !self.locked.iter().any(|at| may_be_absent(&self.leaves[*at])) {
            return Ok(());
        }
        let message = "FOR UPDATE cannot be applied to the nullable side of an outer join";
        Err(SqlError::new(SqlState::FeatureNotSupported, message)
            .with_hint("Name the tables of the other side: FOR UPDATE OF ..."))
    }

    /// Notes that rows of the leaf that was added last are locked.
    fn note_lock(&mut self, lock: RowLock) {
        if lock != RowLock::None {
            self.locked.push(self.leaves.len() - 1);
        }
    }

    /// What locks the rows of tables of which others are skipped, when they have been found.
    pub(super) fn locked_later(&self) -> Option<(Vec<LockedTable>, Changed)> {
        let locked = |leaf: &Leaf| match &leaf.source {
            Source::Table { relation, lock, .. } if lock.is_later() => {
                let (relation, start) = (relation.clone(), leaf.columns.start);
                Some(LockedTable { relation, start, skips: *lock == RowLock::Skip })
            }
            _ => None,
        };
        let tables: Vec<LockedTable> = self.leaves.iter().filter_map(locked).collect();
        if tables.is_empty() {
            return None;
        }
        let changed = self.conditions_on(&tables).map_or(Changed::LeftOut, |all| Changed::Checked(Expr::all(all)));
        Some((tables, changed))
    }

    /// All conditions on tables, where these are parts of an inner join alone, and nothing else reads their rows.
    fn conditions_on(&self, tables: &[LockedTable]) -> Option<Vec<Expr>> {
        let mut conditions = self.conditions.clone();
        let mut inner = Vec::new();
        self.tree.as_ref()?.inner_parts(&mut inner, &mut conditions);
        let is_inner = |table: &LockedTable| inner.iter().any(|at| self.leaves[*at].columns.start == table.start);
        let is_alone = self.leaves.iter().all(|leaf| leaf.captures.is_empty());
        (is_alone && tables.iter().all(is_inner)).then_some(conditions)
    }

    /// Has rows of the first table, which is written, locked when they have been found, if it can be asked again what is meant.
    pub(super) fn find_first(&mut self) {
        let Some(Leaf { source: Source::Table { lock, .. }, .. }) = self.leaves.first_mut() else { return };
        *lock = RowLock::Found;
        if !matches!(self.locked_later(), Some((_, Changed::Checked(_))))
            && let Some(Leaf { source: Source::Table { lock, .. }, .. }) = self.leaves.first_mut()
        {
            *lock = RowLock::Wait;
        }
    }
}

impl Binder<'_> {
    /// Binds `FROM`.
    pub(crate) fn tables_of(
        &self,
        tables: &[TableWithJoins],
        for_update: bool,
        outer: Option<&Level<'_>>,
    ) -> Result<From> {
        let mut from = From::default();
        for table in tables {
            self.add_tables(&mut from, table, for_update, outer)?;
        }
        Ok(from)
    }

    /// Binds one more table of `FROM`, with what is joined to it.
    pub(crate) fn add_tables(
        &self,
        from: &mut From,
        table: &TableWithJoins,
        for_update: bool,
        outer: Option<&Level<'_>>,
    ) -> Result<()> {
        let before = from.tree.take();
        let tree = self.joined(from, table, for_update, outer)?;
        from.tree = Some(match before {
            None => tree,
            Some(before) => Tree::inner(before, tree, Vec::new()),
        });
        Ok(())
    }

    fn joined(
        &self,
        from: &mut From,
        table: &TableWithJoins,
        for_update: bool,
        outer: Option<&Level<'_>>,
    ) -> Result<Tree> {
        let start = from.columns.len();
        let aliases = from.aliases.len();
        let mut tree = self.factor(from, &table.relation, for_update, outer)?;
        for join in &table.joins {
            let (kind, constraint) = join_kind(&join.join_operator)?;
            let middle = from.columns.len();
            let right = self.factor(from, &join.relation, for_update, outer)?;
            let sides = Sides { start, middle, aliases };
            let on = self.join_condition(from, sides, kind, (constraint, &join.relation), outer)?;
            if matches!(kind, JoinKind::Left | JoinKind::Full) {
                from.may_be_absent(middle..from.columns.len());
            }
            if matches!(kind, JoinKind::Right | JoinKind::Full) {
                from.may_be_absent(start..middle);
            }
            from.refuse_absent_locks(kind, start, middle)?;
            tree = match kind {
                JoinKind::Inner => Tree::inner(tree, right, on),
                kind => Tree::Join { kind, left: Box::new(tree), right: Box::new(right), on },
            };
        }
        Ok(tree)
    }

    fn factor(
        &self,
        from: &mut From,
        factor: &TableFactor,
        for_update: bool,
        outer: Option<&Level<'_>>,
    ) -> Result<Tree> {
        self.factors.set(self.factors.get() + 1);
        if from.leaves.len() >= TABLES_MAX || self.factors.get() > FACTORS_MAX {
            let hint = format!("A query joins up to {TABLES_MAX} tables, and a statement has up to {FACTORS_MAX}.");
            return Err(SqlError::new(SqlState::ProgramLimitExceeded, "too many range table entries").with_hint(hint));
        }
        if let TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } = factor
        {
            parse::refuse_literal(&alias.name)?;
        }
        from.call(factor)?;
        match factor {
            TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
                let list = ast::FunctionArgumentList {
                    duplicate_treatment: None,
                    args: args.args.clone(),
                    clauses: Vec::new(),
                };
                self.function(from, name, list, alias.as_ref(), *with_ordinality, outer)
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                let list =
                    ast::FunctionArgumentList { duplicate_treatment: None, args: args.clone(), clauses: Vec::new() };
                self.function(from, name, list, alias.as_ref(), *with_ordinality, outer)
            }
            TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_ordinality, .. } => {
                let argument = |expr: &ast::Expr| ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr.clone()));
                let args = array_exprs.iter().map(argument).collect();
                let list = ast::FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() };
                let name = vec![ast::Ident::new("unnest")].into();
                self.function(from, &name, list, alias.as_ref(), *with_ordinality, outer)
            }
            TableFactor::Table { name, alias, sample: None, version: None, .. } => {
                self.table(from, name, alias.as_ref(), for_update)
            }
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                self.derived(from, *lateral, subquery, alias.as_ref(), (for_update, outer))
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let start = from.columns.len();
                let (aliases, around) = (from.aliases.len(), alias.as_ref().map(|_| std::mem::take(&mut from.called)));
                let tree = self.joined(from, table_with_joins, for_update, outer)?;
                if let (Some(alias), Some(around)) = (alias, around) {
                    from.called = around;
                    from.aliases.truncate(aliases);
                    from.call_as(&parse::name(&alias.name), None)?;
                    let shown = from.columns[start..].iter().filter(|column| !column.is_hidden && !column.is_merged);
                    self.place_named_join(&table_with_joins.relation, alias, shown);
                    name_join(&mut from.columns[start..], alias)?;
                }
                Ok(tree)
            }
            other => Err(SqlError::unsupported(format!("{other} in FROM"))),
        }
    }

    /// A subquery.
    fn derived(
        &self,
        from: &mut From,
        lateral: bool,
        subquery: &ast::Query,
        alias: Option<&ast::TableAlias>,
        (for_update, outer): (bool, Option<&Level<'_>>),
    ) -> Result<Tree> {
        let so_far = from.level(outer, &self.registers);
        let around = if lateral { Some(&so_far) } else { outer };
        let between = Level::between(around, &self.registers);
        let name = alias.map(|alias| parse::name(&alias.name));
        let lock = self.lock_of(name.as_deref().unwrap_or_default(), for_update);
        let (source, columns) = self.query_in_from(&locking(subquery, lock), Some(&between))?;
        let mut captures = between.captures.into_inner();
        if lateral {
            so_far.end(outer);
        } else if let Some(outer) = outer {
            outer.captures.borrow_mut().append(&mut captures);
        }
        let tree = self.derived_as(from, source, columns, captures, alias, "unnamed_subquery")?;
        let has_tables = !matches!(&*subquery.body, ast::SetExpr::Values(_));
        from.note_lock(if has_tables { lock } else { RowLock::None });
        Ok(tree)
    }

    /// A table, a view, or a common table expression.
    fn table(
        &self,
        from: &mut From,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
        for_update: bool,
    ) -> Result<Tree> {
        let parts = parse::parts(name)?;
        if let [name] = &parts[..]
            && let Some((plan, columns)) = self.common(name)
        {
            return self.derived_as(from, Source::Plan(plan), columns, Vec::new(), alias, name);
        }
        let last = parts.last().cloned().unwrap_or_default();
        let table = alias.map_or_else(|| last.clone(), |alias| parse::name(&alias.name));
        let lock = self.lock_of(&table, for_update);
        let for_update = lock != RowLock::None;
        if self.reference(&parts).is_none()
            && let Some(relation) = system::named(&parts, &self.settings.search_path)
        {
            self.place_table(name, alias, &Name::new(relation.schema, relation.name));
            return self.system_relation(from, relation, alias);
        }
        if let Some(relation) = self.find_relation(name)? {
            self.look_at_materialized(name, &relation, for_update)?;
            self.place_table(name, alias, &relation.name);
            let mut columns = relation_columns(&relation, &table);
            let used = self.use_table(&parts, &relation, &mut columns);
            used.pins_all.set(alias.is_some_and(|alias| !alias.columns.is_empty()));
            if for_update && !self.is_within_view() {
                used.also(Rights::UPDATE);
            }
            rename_columns(&mut columns, alias, &last)?;
            let alias = table.into();
            self.locks_rows.set(self.locks_rows.get() || for_update);
            if lock == RowLock::Skip {
                self.skipping.borrow_mut().push(relation.table.id());
            }
            let tree = from.add(Source::Table { relation, alias, lock }, Vec::new(), columns);
            from.note_lock(lock);
            return Ok(tree);
        }
        if let Some((found, view)) = self.find_view(name)? {
            self.place_table(name, alias, &found);
            let (source, columns) = self.open_view(&found, &view, lock)?;
            let mut columns = scope_of(Some(&table), &columns);
            let used = self.use_view(&parts, &found, &view, &mut columns);
            used.pins_all.set(alias.is_some_and(|alias| !alias.columns.is_empty()));
            if for_update && !self.is_within_view() {
                used.also(Rights::UPDATE);
            }
            rename_columns(&mut columns, alias, &last)?;
            let tree = from.add(source, Vec::new(), columns);
            from.note_lock(lock);
            return Ok(tree);
        }
        if let Some((found, owner)) = self.find_sequence(name)? {
            if for_update {
                let message = format!("cannot lock rows in sequence \"{}\"", found.name);
                return Err(SqlError::new(SqlState::WrongObjectType, message).at_node(name));
            }
            self.place_table(name, alias, &found);
            return self.sequence(from, (&parts, &found, &owner), alias);
        }
        Err(undefined_table(name))
    }

    /// Notes that a materialized view is read, if it is one: its rows are locked by nobody, and may not be there yet.
    fn look_at_materialized(&self, name: &ast::ObjectName, relation: &Relation, is_locked: bool) -> Result<()> {
        if is_locked && relation.is_materialized() {
            let message = format!("cannot lock rows in materialized view \"{}\"", relation.name.name);
            return Err(SqlError::new(SqlState::WrongObjectType, message).at_node(name));
        }
        if let Err(unpopulated) = relation.need_populated() {
            self.unpopulated.replace(Some(unpopulated));
        }
        Ok(())
    }

    /// The one row of a sequence.
    fn sequence(
        &self,
        from: &mut From,
        (parts, name, owner): (&[String], &Name, &str),
        alias: Option<&ast::TableAlias>,
    ) -> Result<Tree> {
        let function = function::resolve_set(function::SEQUENCE_ROW, &[Type::Bytea])?
            .ok_or_else(|| SqlError::new(SqlState::InternalError, "sequences have no rows"))?;
        let column =
            |(name, ty): &(&str, Type)| OutColumn { name: (*name).to_owned(), declared: (*ty).into(), origin: (0, 0) };
        let columns: Vec<OutColumn> = function.columns.iter().map(column).collect();
        let table = alias.map_or_else(|| name.name.clone(), |alias| parse::name(&alias.name));
        let mut columns = scope_of(Some(&table), &columns);
        let used = self.use_sequence(parts, name, owner, &mut columns);
        used.pins_all.set(alias.is_some_and(|alias| !alias.columns.is_empty()));
        rename_columns(&mut columns, alias, &table)?;
        let argument = Expr::Constant(Datum::Bytes(name.engine().into_bytes().into()));
        let series = Series { calls: vec![(function, vec![argument])], with_ordinality: false };
        Ok(from.add(Source::Plan(Plan::Series(Box::new(series))), Vec::new(), columns))
    }

    /// How the rows of a table, or of what has its name in `FROM`, are locked.
    fn lock_of(&self, table: &str, for_update: bool) -> RowLock {
        let locked = self.locked.borrow();
        let asked = locked.iter().filter(|(name, _)| name.as_ref().is_none_or(|name| *name == table));
        asked.map(|(_, lock)| *lock).max().filter(|_| for_update).unwrap_or(RowLock::None)
    }

    /// A relation of the catalog.
    fn system_relation(
        &self,
        from: &mut From,
        relation: &'static SystemRelation,
        alias: Option<&ast::TableAlias>,
    ) -> Result<Tree> {
        if let Kind::View(query) = relation.kind {
            let name = Name::new(relation.schema, relation.name);
            let (source, columns) = self.within_system(|| match &parse::statements(query)?[..] {
                [ast::Statement::Query(query)] => self.query_in_from(query, None),
                _ => Err(SqlError::new(SqlState::InternalError, format!("view \"{name}\" is no query"))),
            })?;
            return self.derived_as(from, source, columns, Vec::new(), alias, relation.name);
        }
        let column = |(at, column): (usize, &system::SystemColumn)| OutColumn {
            name: column.name.to_owned(),
            declared: column.ty.into(),
            origin: (relation.oid, at as i16 + 1),
        };
        let mut columns: Vec<OutColumn> = relation.columns.iter().enumerate().map(column).collect();
        columns.push(OutColumn { name: "tableoid".to_owned(), declared: Type::Oid.into(), origin: (0, 0) });
        let plan = Plan::System(Box::new(SystemScan { relation, key: None }));
        let table = alias.map_or_else(|| relation.name.to_owned(), |alias| parse::name(&alias.name));
        let mut columns = scope_of(Some(&table), &columns);
        columns.last_mut().expect("it was added").is_hidden = true;
        rename_columns(&mut columns, alias, &table)?;
        Ok(from.add(Source::Plan(plan), Vec::new(), columns))
    }

    /// Rows of a query, under an alias or else `name`.
    fn derived_as(
        &self,
        from: &mut From,
        source: Source,
        columns: Vec<OutColumn>,
        captures: Vec<(usize, Expr)>,
        alias: Option<&ast::TableAlias>,
        name: &str,
    ) -> Result<Tree> {
        let table = alias.map_or_else(|| name.to_owned(), |alias| parse::name(&alias.name));
        let mut columns = scope_of(Some(&table), &columns);
        rename_columns(&mut columns, alias, &table)?;
        columns.iter_mut().for_each(|column| (column.own_name, column.field) = (None, None));
        Ok(from.add(source, captures, columns))
    }

    /// A function in `FROM`: a set, or one value.
    fn function(
        &self,
        from: &mut From,
        name: &ast::ObjectName,
        list: ast::FunctionArgumentList,
        alias: Option<&ast::TableAlias>,
        with_ordinality: bool,
        outer: Option<&Level<'_>>,
    ) -> Result<Tree> {
        let so_far = from.level(outer, &self.registers);
        let inner = Level::new(Some(&so_far), &self.registers);
        inner.refuse_aggregates("functions in FROM");
        let last = parse::parts(name)?.pop().unwrap_or_default();
        let table = alias.map_or_else(|| last.clone(), |alias| parse::name(&alias.name));
        let column = |name: &str, ty: Type| OutColumn { name: name.to_owned(), declared: ty.into(), origin: (0, 0) };
        let calls = calls_of(name, &last, list)?;
        let sets = calls.iter().filter_map(|call| self.set_call(call, &inner).transpose());
        let sets = sets.collect::<Result<Vec<_>>>()?;
        let (plan, mut columns) = if sets.len() == calls.len() {
            let is_alone = sets.len() == 1;
            let mut columns = Vec::new();
            for (function, _) in &sets {
                match &function.columns[..] {
                    [(_, ty)] if is_alone => columns.push(column(&table, *ty)),
                    [(_, ty)] => columns.push(column(function.name(), *ty)),
                    several => columns.extend(several.iter().map(|(name, ty)| column(name, *ty))),
                }
            }
            (Plan::Series(Box::new(Series { calls: sets, with_ordinality })), columns)
        } else if calls.len() > 1 {
            return Err(SqlError::unsupported("ROWS FROM with a function that returns no set"));
        } else if with_ordinality {
            return Err(SqlError::unsupported("WITH ORDINALITY of a single value"));
        } else {
            let value = self.call(&calls[0], &inner)?;
            let columns = vec![OutColumn { name: table.clone(), declared: value.declared, origin: (0, 0) }];
            (Plan::Project(Box::new(Plan::One), vec![value.expr]), columns)
        };
        if with_ordinality {
            columns.push(column("ordinality", Type::Int8));
        }
        let captures = inner.captures.into_inner();
        so_far.end(outer);
        self.derived_as(from, Source::Plan(plan), columns, captures, alias, &last)
    }

    /// The plan of `FROM` with its conditions; it gives the columns in their order.
    pub(crate) fn plan_from(&self, from: From) -> Result<Plan> {
        self.plan_read(from, &|_| true)
    }

    /// As [`Binder::plan_from`], where some columns are read: of queries no others are worked out.
    pub(super) fn plan_read(&self, from: From, is_read: &dyn Fn(usize) -> bool) -> Result<Plan> {
        let From { leaves, tree, columns, conditions, .. } = from;
        let count = leaves.last().map_or(0, |leaf| leaf.columns.end);
        debug_assert!(columns.len() == count, "every column is one of a leaf");
        let Some(tree) = tree else {
            let plan = Plan::One;
            return Ok(match Expr::all(conditions) {
                Some(condition) => Plan::Filter(Box::new(plan), condition),
                None => plan,
            });
        };
        let mut list: Vec<Expr> = (0..count).map(Expr::Column).collect();
        for leaf in leaves.iter().filter(|leaf| matches!(leaf.source, Source::Simple(_))) {
            list[leaf.columns.clone()].iter_mut().zip(leaf.columns.clone()).for_each(|(expr, at)| {
                if !is_read(at) {
                    *expr = Expr::NULL;
                }
            });
        }
        Ok(Planner::plan(Simple { leaves, tree, conditions, list }, &self.registers, &self.estimator()))
    }

    /// A query that may be a part of the one around it.
    pub(super) fn simple(&self, query: Simple) -> Source {
        Planner::simple(query, &self.registers, &self.estimator())
    }

    fn estimator(&self) -> Estimator<'_> {
        Estimator::new(self.names.statistics(), self.settings.preferences())
    }

    /// As [`Binder::plan_from`], of a statement that writes the first table: it may skip rows of the same table.
    pub(crate) fn plan_written(&self, mut from: From) -> Result<Plan> {
        let skips = |leaf: &Leaf| {
            let Source::Table { relation, .. } = &leaf.source else { return false };
            self.skipping.borrow().contains(&relation.table.id())
        };
        if from.leaves.first().is_some_and(skips) {
            from.find_first();
        }
        let locked = from.locked_later();
        Ok(lock_rows(self.plan_from(from)?, locked))
    }
}

/// Locks rows of a plan, where that is wanted.
pub(super) fn lock_rows(input: Plan, locked: Option<(Vec<LockedTable>, Changed)>) -> Plan {
    match locked {
        Some((tables, changed)) => Plan::Lock(Box::new(LockRows { input, tables, changed })),
        None => input,
    }
}

/// The calls that a function in `FROM` stands for: `unnest` of several arrays is one of each, side by side.
fn calls_of(name: &ast::ObjectName, last: &str, list: ast::FunctionArgumentList) -> Result<Vec<ast::Function>> {
    let call = |list: ast::FunctionArgumentList| ast::Function {
        name: name.clone(),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    };
    let single = |argument: ast::FunctionArg| {
        call(ast::FunctionArgumentList { duplicate_treatment: None, args: vec![argument], clauses: Vec::new() })
    };
    if last == "unnest" && list.args.len() > 1 {
        return Ok(list.args.into_iter().map(single).collect());
    }
    if last != parse::ROWS_FROM {
        return Ok(vec![call(list)]);
    }
    let function = |argument: ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Function(call))) => Ok(call),
        _ => Err(SqlError::new(SqlState::SyntaxError, "ROWS FROM takes calls of functions")),
    };
    list.args.into_iter().map(function).collect()
}

fn join_kind(operator: &JoinOperator) -> Result<(JoinKind, &JoinConstraint)> {
    let joined = kind_and_constraint(operator)?;
    if matches!(joined.1, JoinConstraint::None) && !matches!(operator, JoinOperator::CrossJoin(_)) {
        return Err(SqlError::new(SqlState::SyntaxError, "syntax error: a join needs ON or USING")
            .with_hint("Say which rows belong together, or write CROSS JOIN."));
    }
    Ok(joined)
}

fn kind_and_constraint(operator: &JoinOperator) -> Result<(JoinKind, &JoinConstraint)> {
    Ok(match operator {
        JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (JoinKind::Inner, constraint),
        JoinOperator::CrossJoin(constraint) => (JoinKind::Inner, constraint),
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (JoinKind::Left, constraint),
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (JoinKind::Right, constraint),
        JoinOperator::FullOuter(constraint) => (JoinKind::Full, constraint),
        _ => return Err(SqlError::unsupported("this kind of join")),
    })
}

/// The columns of a table, as names for expressions over its rows.
pub(crate) fn relation_columns(relation: &crate::catalog::relation::Relation, table: &str) -> Vec<ScopeColumn> {
    let name = |(at, column): (usize, &crate::catalog::relation::Column)| ScopeColumn {
        table: Some(table.to_owned()),
        name: column.name.clone(),
        expr: Expr::Column(at),
        declared: column.declared,
        origin: (relation.oid(), i16::try_from(at + 1).unwrap_or(0)),
        is_merged: at >= relation.visible(),
        is_hidden: at >= relation.visible(),
        present: None,
        origin_use: None,
        merged: None,
        own_name: None,
        is_of_join: false,
        of_using: None,
        field: None,
    };
    relation.columns.iter().enumerate().map(name).collect()
}

/// The columns of a table that is yet to be made, as names for expressions over its rows.
pub(crate) fn columns_of<'c>(table: &str, columns: impl Iterator<Item = (&'c str, Declared)>) -> Vec<ScopeColumn> {
    let columns: Vec<OutColumn> =
        columns.map(|(name, declared)| OutColumn { name: name.to_owned(), declared, origin: (0, 0) }).collect();
    scope_of(Some(table), &columns)
}

/// Gives a join in parentheses a name, which takes the place of those of its tables.
fn name_join(columns: &mut [ScopeColumn], alias: &ast::TableAlias) -> Result<()> {
    let table = parse::name(&alias.name);
    let mut names = alias.columns.iter();
    let visible = columns.iter().filter(|column| !column.is_hidden && !column.is_merged).count();
    if names.len() > visible {
        let message =
            format!("table \"{table}\" has {visible} columns available but {} columns specified", names.len());
        return Err(SqlError::new(SqlState::InvalidColumnReference, message));
    }
    for column in columns {
        // What USING has joined with another column has no name any more.
        if column.is_merged || column.is_hidden {
            (column.table, column.is_hidden, column.is_merged) = (None, true, true);
            continue;
        }
        column.table = Some(table.clone());
        (column.own_name, column.field, column.is_of_join) = (None, None, true);
        if let Some(merged) = column.merged.take() {
            (column.expr, column.declared) = (merged.expr.clone(), merged.declared);
        }
        if let Some(name) = names.next() {
            column.name = parse::name(&name.name);
        }
    }
    Ok(())
}

pub(super) fn rename_columns(columns: &mut [ScopeColumn], alias: Option<&ast::TableAlias>, table: &str) -> Result<()> {
    let names = alias.map_or(&[][..], |alias| &alias.columns);
    let visible = columns.iter().filter(|column| !column.is_hidden).count();
    if names.len() > visible {
        let message =
            format!("table \"{table}\" has {visible} columns available but {} columns specified", names.len());
        return Err(SqlError::new(SqlState::InvalidColumnReference, message));
    }
    for (column, name) in columns.iter_mut().zip(names) {
        let own = std::mem::replace(&mut column.name, parse::name(&name.name));
        // The fields of a row of a table are its columns, whatever they are called here.
        column.field.get_or_insert_with(|| own.clone());
        column.own_name = Some(own);
    }
    Ok(())
}
