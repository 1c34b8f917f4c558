//! Queries: common table expressions, set operations, `ORDER BY` and `LIMIT`.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sqlparser::ast::{self, LimitClause, OrderByKind, OrderByOptions, SetExpr, SetOperator, SetQuantifier};

use super::scope::{Level, ScopeColumn, Typed, new_register};
use super::select::refuse_width;
use super::{Binder, Common, Meant, OutColumn};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::parse;
use crate::plan::join::Source;
use crate::plan::{CommonTable, Limit, Plan, Recursion, RowLock, SetOperation, SortKey};
use crate::types::{Declared, Type};
use crate::value::Conversion;

/// A query that was bound.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) plan: Plan,
    pub(crate) columns: Vec<OutColumn>,
}

/// A query within another one.
pub(crate) struct Inner {
    pub(crate) plan: Plan,
    pub(crate) columns: Vec<OutColumn>,
    pub(crate) captures: Vec<(usize, Expr)>,
}

/// A key of `ORDER BY`, with its options.
pub(crate) fn sort_key(expr: Expr, options: &OrderByOptions) -> SortKey {
    let is_descending = options.asc == Some(false);
    SortKey { expr, is_descending, nulls_first: options.nulls_first.unwrap_or(is_descending) }
}

/// What `ORDER BY` says.
pub(crate) fn order_of(query: &ast::Query) -> Result<&[ast::OrderByExpr]> {
    match query.order_by.as_ref().map(|order| &order.kind) {
        None => Ok(&[]),
        Some(OrderByKind::Expressions(keys)) => Ok(keys),
        Some(OrderByKind::All(_)) => Err(SqlError::unsupported("ORDER BY ALL")),
    }
}

impl Binder<'_> {
    /// Binds a query within the expressions of another one.
    pub(crate) fn inner_query(&self, query: &ast::Query, outer: &Level<'_>) -> Result<Inner> {
        let between = Level::between(Some(outer), &self.registers);
        let (bound, through) = self.through_commons(|| self.query(query, Some(&between)));
        let Bound { plan, columns } = bound?;
        let mut captures = between.captures.into_inner();
        // These registers are written elsewhere; the query must run again when they are.
        captures.extend(through.into_iter().map(|register| (register, Expr::Register(register))));
        Ok(Inner { plan, columns, captures })
    }

    /// Binds something; returns beside it the registers that it depends on through common table expressions that are named in
    /// it and defined outside.
    fn through_commons<T>(&self, bind: impl FnOnce() -> T) -> (T, BTreeSet<usize>) {
        let before = self.common_captures.take();
        let bound = bind();
        let depth = self.tables.borrow().len();
        let mut captures = self.common_captures.replace(before);
        captures.retain(|(list, _)| *list < depth);
        let registers = captures.iter().map(|(_, register)| *register).collect();
        self.common_captures.borrow_mut().append(&mut captures);
        (bound, registers)
    }

    /// Binds a query. `outer` has the names around it.
    pub(crate) fn query(&self, query: &ast::Query, outer: Option<&Level<'_>>) -> Result<Bound> {
        if let Some(what) = unsupported_part(query) {
            return Err(SqlError::unsupported(what));
        }
        let keeps_unknown = self.keeps_unknown.take() && matches!(*query.body, SetExpr::Select(_) | SetExpr::Query(_));
        let depth = self.tables.borrow().len();
        if let Some(with) = &query.with {
            if with.recursive && matches!(*query.body, SetExpr::Merge(_)) {
                let message = "WITH RECURSIVE is not supported for MERGE statement";
                return Err(SqlError::new(SqlState::SyntaxError, message));
            }
            self.tables.borrow_mut().push(HashMap::new());
            for table in &with.cte_tables {
                self.common_table(table, with.recursive, outer)?;
            }
        }
        self.keeps_unknown.set(keeps_unknown);
        let bound = self.body(query, outer);
        self.tables.borrow_mut().truncate(depth);
        bound
    }

    /// Binds a query in `FROM`, for which it may be a part of the query around it.
    pub(super) fn query_in_from(
        &self,
        query: &ast::Query,
        outer: Option<&Level<'_>>,
    ) -> Result<(Source, Vec<OutColumn>)> {
        let is_bare = unsupported_part(query).is_none()
            && query.with.is_none()
            && query.order_by.is_none()
            && query.limit_clause.is_none()
            && query.fetch.is_none()
            && query.locks.is_empty();
        match &*query.body {
            SetExpr::Select(select) if is_bare => self.select_in_from(select, outer),
            _ => self.query(query, outer).map(|bound| (Source::Plan(bound.plan), bound.columns)),
        }
    }

    fn body(&self, query: &ast::Query, outer: Option<&Level<'_>>) -> Result<Bound> {
        let order = order_of(query)?;
        let Bound { plan, columns } = match &*query.body {
            SetExpr::Select(select) if query.locks.is_empty() => self.select(select, order, false, outer)?,
            SetExpr::Select(select) => {
                let before = self.locked.replace(locked_tables(&query.locks)?);
                let is_nowait = |lock: &ast::LockClause| lock.nonblock == Some(ast::NonBlock::Nowait);
                self.waits_not.set(self.waits_not.get() || query.locks.iter().any(is_nowait));
                let bound = self.select(select, order, true, outer);
                self.locked.replace(before);
                bound?
            }
            other => {
                let Bound { plan, columns } = match (other, &query.locks[..]) {
                    (other, []) => self.set_expr(other, outer)?,
                    (SetExpr::Query(inner), locks) => {
                        let mut inner = inner.clone();
                        inner.locks.extend_from_slice(locks);
                        self.query(&inner, outer)?
                    }
                    (SetExpr::SetOperation { .. }, [lock, ..]) => return Err(locked_operation(lock)),
                    (_, [lock, ..]) => {
                        let message = format!("{} cannot be applied to VALUES", lock_words(lock));
                        return Err(SqlError::new(SqlState::FeatureNotSupported, message));
                    }
                };
                let plan = self.order_output(plan, &columns, order)?;
                Bound { plan, columns }
            }
        };
        Ok(Bound { plan: self.limited(plan, query, outer)?, columns })
    }

    fn limited(&self, plan: Plan, query: &ast::Query, outer: Option<&Level<'_>>) -> Result<Plan> {
        let level = Level::new(outer, &self.registers);
        level.refuse_aggregates("LIMIT");
        let count = |expr: &ast::Expr| {
            let bound = self.expr(expr, &level)?;
            self.convert(bound, Type::Int8, Conversion::Assignment)
        };
        let (mut limit, mut offset) = (None, None);
        match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit: rows, offset: skipped, .. }) => {
                limit = rows.as_ref().map(count).transpose()?;
                offset = skipped.as_ref().map(|offset| count(&offset.value)).transpose()?;
            }
            Some(LimitClause::OffsetCommaLimit { .. }) => return Err(SqlError::unsupported("LIMIT #,#")),
            None => {}
        }
        if let Some(fetch) = &query.fetch {
            if fetch.with_ties || fetch.percent {
                return Err(SqlError::unsupported("FETCH with ties or percent"));
            }
            let one = || Ok(Expr::Constant(Datum::Int(1)));
            limit = Some(fetch.quantity.as_ref().map_or_else(one, count)?);
        }
        if !level.captures.borrow().is_empty() {
            return Err(SqlError::new(
                SqlState::InvalidColumnReference,
                "argument of LIMIT must not contain variables",
            ));
        }
        Ok(match (&limit, &offset) {
            (None, None) => plan,
            _ => Plan::Limit(Box::new(Limit { input: plan, limit, offset })),
        })
    }

    fn set_expr(&self, body: &SetExpr, outer: Option<&Level<'_>>) -> Result<Bound> {
        match body {
            SetExpr::Select(select) => self.select(select, &[], false, outer),
            SetExpr::Query(query) => self.query(query, outer),
            SetExpr::Values(values) => self.values(values, outer),
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let part = |part: &SetExpr| {
                    if let SetExpr::Query(query) = part
                        && let [lock, ..] = &query.locks[..]
                    {
                        return Err(locked_operation(lock));
                    }
                    self.keeping_unknown(part, outer)
                };
                let (left, right) = (part(left)?, part(right)?);
                self.set_operation(left, *op, *set_quantifier, right)
            }
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement) => self.write_query(statement),
            SetExpr::Table(_) => {
                Err(SqlError::unsupported("TABLE here").with_hint("Write SELECT * FROM in its place."))
            }
        }
    }

    /// `VALUES`: as many columns as the first row has.
    pub(crate) fn values(&self, values: &ast::Values, outer: Option<&Level<'_>>) -> Result<Bound> {
        let level = Level::new(outer, &self.registers);
        level.refuse_aggregates("VALUES");
        let count = values.rows.first().map_or(0, |row| row.content.len());
        refuse_width(count)?;
        let mut columns: Vec<Vec<Typed>> = vec![Vec::new(); count];
        for row in &values.rows {
            if row.content.len() != count {
                return Err(SqlError::new(SqlState::SyntaxError, "VALUES lists must all be the same length"));
            }
            for (column, expr) in columns.iter_mut().zip(&row.content) {
                column.push(self.expr(expr, &level)?);
            }
        }
        let mut rows = vec![Vec::with_capacity(count); values.rows.len()];
        let mut out = Vec::with_capacity(count);
        for (at, column) in columns.into_iter().enumerate() {
            let (exprs, declared) = self.unify("VALUES", column)?;
            rows.iter_mut().zip(exprs).for_each(|(row, expr)| row.push(expr));
            out.push(OutColumn { name: format!("column{}", at + 1), declared, origin: (0, 0) });
        }
        level.end(outer);
        Ok(Bound { plan: Plan::Values(rows), columns: out })
    }

    fn set_operation(&self, left: Bound, op: SetOperator, quantifier: SetQuantifier, right: Bound) -> Result<Bound> {
        let name = op.to_string();
        if left.columns.len() != right.columns.len() {
            let message = format!("each {name} query must have the same number of columns");
            return Err(SqlError::new(SqlState::SyntaxError, message));
        }
        let is_all = match quantifier {
            SetQuantifier::All => true,
            SetQuantifier::None | SetQuantifier::Distinct => false,
            _ => return Err(SqlError::unsupported(format!("{name} {quantifier}"))),
        };
        let mut columns = Vec::with_capacity(left.columns.len());
        for (a, b) in left.columns.iter().zip(&right.columns) {
            let common = self.common_type(&name, [a.declared.ty, b.declared.ty].into_iter())?;
            let is_known = a.declared.ty != Type::Unknown;
            let declared = if is_known && a.declared == b.declared { a.declared } else { common.into() };
            columns.push(OutColumn { name: a.name.clone(), declared, origin: (0, 0) });
        }
        let (left, right) = (self.converted(left, &columns)?, self.converted(right, &columns)?);
        let plan = match op {
            SetOperator::Union => {
                let both = Plan::Append(vec![left, right]);
                if is_all { both } else { Plan::Distinct(Box::new(both), None) }
            }
            SetOperator::Intersect | SetOperator::Except | SetOperator::Minus => {
                let is_except = op != SetOperator::Intersect;
                Plan::Intersect(Box::new(SetOperation { left, right, is_except, is_all }))
            }
        };
        Ok(Bound { plan, columns })
    }

    /// The rows of a query with the types of other columns.
    pub(crate) fn converted(&self, mut bound: Bound, columns: &[OutColumn]) -> Result<Plan> {
        self.read_listed(&mut bound, columns)?;
        let convert = |(at, (from, to)): (usize, (&OutColumn, &OutColumn))| {
            let input = Typed::new(Expr::Column(at), from.declared);
            self.convert(input, to.declared.ty, Conversion::Implicit)
        };
        let exprs: Vec<Expr> = bound.columns.iter().zip(columns).enumerate().map(convert).collect::<Result<_>>()?;
        let is_plain = exprs.iter().enumerate().all(|(at, expr)| *expr == Expr::Column(at));
        Ok(if is_plain { bound.plan } else { Plan::Project(Box::new(bound.plan), exprs) })
    }

    /// Reads the literals and parameters of a list as values of the types of other columns.
    pub(super) fn read_listed(&self, bound: &mut Bound, columns: &[OutColumn]) -> Result<()> {
        let Plan::Project(_, exprs) = &mut bound.plan else { return Ok(()) };
        for ((expr, from), to) in exprs.iter_mut().zip(&mut bound.columns).zip(columns) {
            let is_literal = matches!(expr, Expr::Constant(Datum::Text(_)) | Expr::Parameter(_));
            if is_literal && from.declared.ty == Type::Unknown && to.declared.ty != Type::Unknown {
                let literal = Typed::new(std::mem::replace(expr, Expr::NULL), Type::Unknown);
                *expr = self.convert(literal, to.declared.ty, Conversion::Implicit)?;
                from.declared = to.declared.ty.into();
            }
        }
        Ok(())
    }

    /// Sorts rows by names and numbers of their columns: all that `ORDER BY` behind a set operation may say.
    fn order_output(&self, plan: Plan, columns: &[OutColumn], order: &[ast::OrderByExpr]) -> Result<Plan> {
        if order.is_empty() {
            return Ok(plan);
        }
        let mut level = Level::new(None, &self.registers);
        level.refuse_aggregates("ORDER BY");
        level.columns = scope_of(None, columns);
        let mut keys = Vec::with_capacity(order.len());
        for key in order {
            if let ast::Expr::Identifier(ident) = &key.expr {
                let name = parse::name(ident);
                if columns.iter().filter(|column| column.name == name).count() > 1 {
                    let message = format!("ORDER BY \"{name}\" is ambiguous");
                    return Err(SqlError::new(SqlState::AmbiguousColumn, message).at_ident(ident));
                }
            }
            let expr = match number_of(&key.expr, columns.len())? {
                Some(at) => Typed::new(Expr::Column(at), columns[at].declared),
                None => self.expr(&key.expr, &level)?,
            };
            keys.push(sort_key(self.sortable(expr)?, &key.options));
        }
        Ok(Plan::Sort(Box::new(plan), keys))
    }

    /// Binds a query whose literals become what the columns are that they stand beside.
    fn keeping_unknown(&self, part: &SetExpr, outer: Option<&Level<'_>>) -> Result<Bound> {
        self.keeps_unknown.set(matches!(part, SetExpr::Select(_)));
        let bound = self.set_expr(part, outer);
        self.keeps_unknown.set(false);
        bound
    }

    /// Binds one common table expression, which can be named from here on.
    fn common_table(&self, table: &ast::Cte, may_recur: bool, outer: Option<&Level<'_>>) -> Result<()> {
        let name = parse::name(&table.alias.name);
        let aliases: Vec<String> = table.alias.columns.iter().map(|column| parse::name(&column.name)).collect();
        let number = self.commons.replace(self.commons.get() + 1);
        let recursion = may_recur.then(|| recursive_parts(&table.query)).flatten();
        let level = Level::between(outer, &self.registers);
        let recursion = recursion.filter(|_| mentions(&table.query, &name));
        let (bound, through) = self.through_commons(|| match recursion {
            None => {
                let bound = self.query(&table.query, Some(&level))?;
                Ok((renamed(bound.columns, &aliases, &name)?, bound.plan, None))
            }
            Some((first, step, keeps_duplicates)) => {
                let first = self.set_expr(first, Some(&level))?;
                let columns = renamed(first.columns, &aliases, &name)?;
                let round = new_register(&self.registers);
                let working = Common { number, columns: columns.clone(), meant: Meant::LastRound(round) };
                self.name_common(&name, working);
                let step = self.keeping_unknown(step, Some(&level))?;
                if step.columns.len() != columns.len() {
                    let message = "each UNION query must have the same number of columns";
                    return Err(SqlError::new(SqlState::SyntaxError, message));
                }
                let step = self.converted(step, &columns)?;
                Ok((columns, first.plan, Some(Recursion { step, keeps_duplicates, round })))
            }
        });
        let (columns, plan, recursion) = bound?;
        let own: BTreeSet<usize> = level.captures.borrow().iter().map(|(register, _)| *register).collect();
        let common = CommonTable { plan, recursion, captures: own.union(&through).copied().collect() };
        if outer.is_some() && matches!(common.plan, Plan::Write(_)) {
            let message = "WITH clause containing a data-modifying statement must be at the top level";
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        }
        level.end(outer);
        let common = Arc::new(common);
        if let Plan::Write(_) = common.plan {
            self.writes.borrow_mut().push((number, common.clone()));
        }
        self.name_common(&name, Common { number, columns, meant: Meant::All(common) });
        Ok(())
    }

    fn name_common(&self, name: &str, common: Common) {
        let mut tables = self.tables.borrow_mut();
        let here = tables.last_mut().expect("WITH has opened a list");
        here.insert(name.to_owned(), common);
    }

    /// The rows of a common table expression, if a name means one.
    pub(crate) fn common(&self, name: &str) -> Option<(Plan, Vec<OutColumn>)> {
        let tables = self.tables.borrow();
        let lists = tables.iter().enumerate().rev();
        let (list, common) = lists.into_iter().find_map(|(list, tables)| Some((list, tables.get(name)?)))?;
        let (plan, captures) = match &common.meant {
            Meant::All(table) => (Plan::Common(common.number, table.clone()), &table.captures[..]),
            Meant::LastRound(round) => (Plan::Working(common.number), std::slice::from_ref(round)),
        };
        self.common_captures.borrow_mut().extend(captures.iter().map(|register| (list, *register)));
        Some((plan, common.columns.clone()))
    }
}

/// The columns that a query gives, as names for expressions over its rows.
pub(crate) fn scope_of(table: Option<&str>, columns: &[OutColumn]) -> Vec<ScopeColumn> {
    let name = |(at, column): (usize, &OutColumn)| ScopeColumn {
        table: table.map(str::to_owned),
        name: column.name.clone(),
        expr: Expr::Column(at),
        declared: column.declared,
        origin: column.origin,
        is_merged: false,
        is_hidden: false,
        present: None,
        origin_use: None,
        merged: None,
        own_name: None,
        is_of_join: false,
        of_using: None,
        field: None,
    };
    columns.iter().enumerate().map(name).collect()
}

/// The column that a number in `ORDER BY` or `GROUP BY` means.
pub(crate) fn number_of(expr: &ast::Expr, count: usize) -> Result<Option<usize>> {
    let (sign, expr) = match expr {
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => ("-", &**expr),
        expr => ("", expr),
    };
    let ast::Expr::Value(value) = expr else { return Ok(None) };
    let ast::Value::Number(text, _) = &value.value else { return Ok(None) };
    match text.parse::<usize>() {
        Ok(number) if sign.is_empty() && (1..=count).contains(&number) => Ok(Some(number - 1)),
        _ => {
            let message = format!("ORDER BY position {sign}{text} is not in select list");
            Err(SqlError::new(SqlState::InvalidColumnReference, message))
        }
    }
}

/// Gives columns other names: the first ones, if there are fewer.
pub(crate) fn renamed(mut columns: Vec<OutColumn>, names: &[String], table: &str) -> Result<Vec<OutColumn>> {
    if names.len() > columns.len() {
        let (has, given) = (columns.len(), names.len());
        let message = format!("table \"{table}\" has {has} columns available but {given} columns specified");
        return Err(SqlError::new(SqlState::InvalidColumnReference, message));
    }
    for (column, name) in columns.iter_mut().zip(names) {
        column.name.clone_from(name);
    }
    for column in &mut columns {
        if column.declared.ty == Type::Unknown {
            column.declared = Declared::from(Type::Text);
        }
    }
    Ok(columns)
}

/// The two parts of a recursive query, and whether duplicates stay.
fn recursive_parts(query: &ast::Query) -> Option<(&SetExpr, &SetExpr, bool)> {
    match &*query.body {
        SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } => {
            Some((left, right, *set_quantifier == SetQuantifier::All))
        }
        _ => None,
    }
}

/// Whether a query may name a table: its text has the name in it.
fn mentions(query: &ast::Query, name: &str) -> bool {
    query.to_string().to_lowercase().contains(&name.to_lowercase())
}

/// The tables whose rows are locked, and how; `None`: all.
fn locked_tables(locks: &[ast::LockClause]) -> Result<Vec<(Option<String>, RowLock)>> {
    let mut tables = Vec::new();
    for lock in locks {
        let how = match lock.nonblock {
            Some(ast::NonBlock::SkipLocked) => RowLock::Skip,
            Some(ast::NonBlock::Nowait) => RowLock::AtOnce,
            None => RowLock::Wait,
        };
        match &lock.of {
            Some(name) => match &parse::parts(name)?[..] {
                [name] => tables.push((Some(name.clone()), how)),
                _ => {
                    let message = format!("{} must specify unqualified relation names", lock_words(lock));
                    return Err(SqlError::new(SqlState::SyntaxError, message));
                }
            },
            None => tables.push((None, how)),
        }
    }
    Ok(tables)
}

/// A query whose rows are locked as those of the query around it are.
pub(super) fn locking(query: &ast::Query, lock: RowLock) -> Cow<'_, ast::Query> {
    if lock == RowLock::None || matches!(&*query.body, SetExpr::Values(_)) {
        return Cow::Borrowed(query);
    }
    let nonblock = match lock {
        RowLock::Skip => Some(ast::NonBlock::SkipLocked),
        RowLock::AtOnce => Some(ast::NonBlock::Nowait),
        RowLock::None | RowLock::Wait | RowLock::Found => None,
    };
    let mut query = query.clone();
    query.locks.push(ast::LockClause { lock_type: ast::LockType::Update, of: None, nonblock });
    Cow::Owned(query)
}

fn locked_operation(lock: &ast::LockClause) -> SqlError {
    let message = format!("{} is not allowed with UNION/INTERSECT/EXCEPT", lock_words(lock));
    SqlError::new(SqlState::FeatureNotSupported, message)
}

/// What a lock is called.
fn lock_words(lock: &ast::LockClause) -> &'static str {
    match lock.lock_type {
        ast::LockType::Share => "FOR SHARE",
        ast::LockType::Update => "FOR UPDATE",
    }
}

fn unsupported_part(query: &ast::Query) -> Option<&'static str> {
    let parts = [
        (query.for_clause.is_some(), "FOR XML and FOR JSON"),
        (query.settings.is_some(), "SETTINGS"),
        (query.format_clause.is_some(), "FORMAT"),
        (!query.pipe_operators.is_empty(), "|>"),
    ];
    parts.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}
