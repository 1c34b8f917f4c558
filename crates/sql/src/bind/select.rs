//! `SELECT`: from, where, group by, having, the list, distinct, order by.

use std::collections::BTreeSet;

use sqlparser::ast::{self, Distinct, SelectItem, SelectItemQualifiedWildcardKind};

use super::from::{From, lock_rows};
use super::grouping::Groups;
use super::query::{Bound, number_of, sort_key};
use super::scope::{Aggregates, Level, ScopeColumn, Typed};
use super::window::{calls_in, place_calls};
use super::{Binder, OutColumn};
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Expr, SetCall};
use crate::function::{self, ResolvedSet};
use crate::parse;
use crate::plan::join::Source;
use crate::plan::pull::Simple;
use crate::plan::window::passes;
use crate::plan::{Aggregate, AggregateCall, Item, Plan, SortKey, Window, access};
use crate::types::{Declared, Modifier, Type};
use crate::value::Conversion;

/// The longest list of a query; a row of the protocol has room for no more than 65,535 columns.
const LIST_MAX: usize = 1664;

/// Refuses a list that is too long.
pub(super) fn refuse_width(width: usize) -> Result<()> {
    if width <= LIST_MAX {
        return Ok(());
    }
    let message = format!("target lists can have at most {LIST_MAX} entries");
    Err(SqlError::new(SqlState::TooManyColumns, message))
}

/// An expression of the list.
pub(super) struct Listed {
    pub(super) expr: Expr,
    pub(super) column: OutColumn,
    /// An expression with a subquery as it was written: the same text in `GROUP BY` means it.
    pub(super) written: Option<Box<ast::Expr>>,
}

impl Binder<'_> {
    /// Binds a `SELECT` with the `ORDER BY` behind it.
    pub(crate) fn select(
        &self,
        select: &ast::Select,
        order: &[ast::OrderByExpr],
        for_update: bool,
        outer: Option<&Level<'_>>,
    ) -> Result<Bound> {
        let parts = self.select_parts(select, order, for_update, outer)?;
        self.output_plan(select.distinct.as_ref(), parts)
    }

    /// As [`Binder::select`], in `FROM`.
    pub(super) fn select_in_from(
        &self,
        select: &ast::Select,
        outer: Option<&Level<'_>>,
    ) -> Result<(Source, Vec<OutColumn>)> {
        let parts = self.select_parts(select, &[], false, outer)?;
        if select.distinct.is_some() || !parts.is_simple() {
            let bound = self.output_plan(select.distinct.as_ref(), parts)?;
            return Ok((Source::Plan(bound.plan), bound.columns));
        }
        let Parts { from: From { leaves, tree: Some(tree), conditions, .. }, output, .. } = parts else {
            unreachable!("what is simple has tables");
        };
        let (list, columns) = output.list.into_iter().map(|listed| (listed.expr, listed.column)).unzip();
        Ok((self.simple(Simple { leaves, tree, conditions, list }), columns))
    }

    fn select_parts(
        &self,
        select: &ast::Select,
        order: &[ast::OrderByExpr],
        for_update: bool,
        outer: Option<&Level<'_>>,
    ) -> Result<Parts> {
        if let Some(what) = unsupported_part(select) {
            return Err(SqlError::unsupported(what));
        }
        let keeps_unknown = self.keeps_unknown.take();
        let mut from = self.tables_of(&select.from, for_update, outer)?;
        let level = from.level(outer, &self.registers);
        let named = self.locked.borrow();
        if for_update
            && let Some(missing) =
                named.iter().filter_map(|(name, _)| name.as_ref()).find(|name| !level.has_table(name))
        {
            let message = format!("relation \"{missing}\" in FOR UPDATE clause not found in FROM clause");
            return Err(SqlError::new(SqlState::UndefinedTable, message));
        }
        if for_update && named.iter().filter_map(|(name, _)| name.as_ref()).any(|name| level.of_using(name).is_some()) {
            let message = "FOR UPDATE cannot be applied to a join";
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        }
        drop(named);
        *level.aggregates.borrow_mut() = Aggregates::Gathered(Vec::new());
        level.keeps_unknown.set(keeps_unknown);
        self.bind_windows(&select.named_window, &level)?;
        let mut list = Vec::new();
        level.taking_sets(|| select.projection.iter().try_for_each(|item| self.list_item(item, &level, &mut list)))?;
        if let Some(condition) = &select.selection {
            // After the list, whose parameters have their types of it.
            let gathered = level.aggregates.replace(Aggregates::Refused("WHERE"));
            self.condition(condition, "WHERE", &level)?.split(&mut from.conditions);
            level.aggregates.replace(gathered);
        }
        let having = select.having.as_ref();
        let having = having.map(|having| level.refusing_windows("HAVING", || self.condition(having, "HAVING", &level)));
        let having = having.transpose()?;
        let keys = level.taking_sets(|| self.order_keys(order, &list, &level))?;
        let distinct_on = level.taking_sets(|| self.distinct_on(select, &list, &level))?;
        let calls = match level.aggregates.replace(Aggregates::Refused("GROUP BY")) {
            Aggregates::Gathered(calls) => calls,
            Aggregates::Refused(_) => Vec::new(),
        };
        let groups = level.taking_sets(|| self.groups(&select.group_by, &list, &level))?;
        let columns = from.columns.clone();
        level.end(outer);
        let output = Output { list, keys, distinct_on, having };
        if for_update {
            output.refuse_locks(select, &groups, &calls)?;
        }
        Ok(Parts { from, output, groups, calls, columns })
    }

    /// The plan of a `SELECT` above its tables.
    fn output_plan(&self, distinct: Option<&Distinct>, parts: Parts) -> Result<Bound> {
        let Parts { from, mut output, mut groups, calls, columns } = parts;
        groups.add_dependent(&from, &output);
        let mut width = columns.len();
        let locked = from.locked_later();
        let mut read = BTreeSet::new();
        let inputs = calls.iter().flat_map(AggregateCall::inputs);
        output.exprs().chain(&groups.exprs).chain(inputs).for_each(|expr| {
            expr.for_each_column(&mut |at| {
                read.insert(at);
            });
        });
        let mut plan = self.plan_read(from, &|at| read.contains(&at))?;
        let is_grouped = output.is_grouped(&groups, &calls);
        if is_grouped {
            groups.rewrite(&calls, &columns, &mut output)?;
            width = groups.width(&calls);
            let Groups { exprs: mut groups, sets, .. } = groups;
            let beside: Vec<&Expr> = calls.iter().flat_map(AggregateCall::inputs).collect();
            plan = expand(plan, columns.len(), &mut groups.iter_mut().collect::<Vec<_>>(), &beside);
            plan = Plan::Aggregate(Box::new(Aggregate { input: plan, groups, sets, calls }));
            if let Some(having) = output.having.take() {
                plan = Plan::Filter(Box::new(plan), having);
            }
        }
        let windows = calls_in(output.exprs());
        let is_windowed = !windows.is_empty();
        if is_windowed {
            let passes = passes(windows);
            let placed: Vec<_> = passes.iter().flat_map(|pass| &pass.calls).cloned().zip(width..).collect();
            width += placed.len();
            output.exprs_mut().for_each(|expr| place_calls(expr, &placed));
            plan = Plan::Window(Box::new(Window { input: plan, passes }));
        }
        plan = expand(plan, width, &mut output.exprs_mut().collect::<Vec<_>>(), &[]);
        let keeps_order = output.distinct_on.is_empty() && !matches!(distinct, Some(Distinct::Distinct));
        let mut is_sorted = false;
        if !is_grouped && !is_windowed && keeps_order {
            let wish: Vec<SortKey> = output.keys.iter().map(|key| key.sort.clone()).collect();
            // What a row is sorted by is what is shown of it.
            let keys_are_of_rows =
                output.keys.iter().all(|key| key.listed.is_none_or(|at| !output.list[at].expr.is_volatile()));
            is_sorted = access::sort_by_index(&mut plan, &wish);
            if !is_sorted && locked.is_some() && keys_are_of_rows && !wish.is_empty() {
                // No more rows are locked than are asked for.
                plan = Plan::Sort(Box::new(plan), wish);
                is_sorted = true;
            }
        }
        plan = lock_rows(plan, locked);
        let columns = output.list.iter().map(|listed| listed.column.clone()).collect();
        let (list, keys) = (std::mem::take(&mut output.list), std::mem::take(&mut output.keys));
        let plan = project(plan, list, keys, (distinct, std::mem::take(&mut output.distinct_on)), is_sorted)?;
        Ok(Bound { plan, columns })
    }

    /// Binds an expression of the list, or what `*` stands for.
    pub(super) fn list_item(&self, item: &SelectItem, level: &Level<'_>, list: &mut Vec<Listed>) -> Result<()> {
        match item {
            SelectItem::UnnamedExpr(expr) => list.push(self.listed(expr, None, level)?),
            SelectItem::ExprWithAlias { expr, alias } => {
                parse::refuse_literal(alias)?;
                list.push(self.listed(expr, Some(parse::name(alias)), level)?);
            }
            SelectItem::Wildcard(options) => {
                let shown = || level.starred().filter(|column| !column.is_merged && !column.is_hidden);
                let before = list.len();
                self.place_star(None, options, shown());
                list.extend(shown().map(|column| star(column, column.bare())));
                if list.len() == before && level.columns.is_empty() {
                    let message = "SELECT * with no tables specified is not valid";
                    return Err(SqlError::new(SqlState::SyntaxError, message));
                }
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                let table = parse::parts(name)?.pop().unwrap_or_default();
                if !level.has_table(&table) {
                    let message = format!("missing FROM-clause entry for table \"{table}\"");
                    return Err(SqlError::new(SqlState::UndefinedTable, message));
                }
                self.place_star(Some(name), options, level.of_table(&table));
                list.extend(level.of_table(&table).map(|column| star(column, (&column.expr, column.declared))));
            }
            other => return Err(SqlError::unsupported(format!("{other}"))),
        }
        refuse_width(list.len())
    }

    fn listed(&self, expr: &ast::Expr, alias: Option<String>, level: &Level<'_>) -> Result<Listed> {
        let is_unnamed = alias.is_none();
        let name = alias.unwrap_or_else(|| name_of(expr));
        let mut bound = match expr {
            ast::Expr::Identifier(ident) => self.named_column(std::slice::from_ref(ident), level, is_unnamed)?,
            ast::Expr::CompoundIdentifier(idents) => self.named_column(idents, level, is_unnamed)?,
            expr => self.expr(expr, level)?,
        };
        if bound.declared.ty == Type::Unknown && !level.keeps_unknown.get() {
            let expr = self.convert(bound, Type::Text, Conversion::Implicit)?;
            bound = Typed::new(expr, Type::Text);
        }
        let named = match &bound.expr {
            Expr::Column(_) => level.columns.iter().find(|column| column.expr == bound.expr),
            _ => None,
        };
        let origin = named.map_or((0, 0), |column| column.origin);
        let column = OutColumn { name, declared: bound.declared, origin };
        let has_query = bound.expr.any(&|part| matches!(part, Expr::Subquery(_)));
        let written = has_query.then(|| Box::new(expr.clone()));
        Ok(Listed { expr: bound.expr, column, written })
    }

    /// A call of a function that returns a set, if it is one.
    pub(super) fn set_call(&self, call: &ast::Function, level: &Level<'_>) -> Result<Option<(ResolvedSet, Vec<Expr>)>> {
        let name = parse::parts(&call.name)?.pop().unwrap_or_default();
        if !function::is_set(&name) {
            return Ok(None);
        }
        let ast::FunctionArguments::List(list) = &call.args else { return Ok(None) };
        let arguments = self.arguments(list, level)?;
        let types: Vec<Type> = arguments.iter().map(|argument| argument.declared.ty).collect();
        let Some(function) = function::resolve_set(&name, &types)? else { return Ok(None) };
        let places = arguments.into_iter().zip(&function.arguments);
        let arguments = places.map(|(argument, to)| self.convert(argument, *to, Conversion::Implicit));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        Ok(Some((function, arguments)))
    }

    /// A call within an expression, if it returns a set.
    pub(super) fn inner_set(&self, call: &ast::Function, level: &Level<'_>) -> Result<Option<Typed>> {
        let Some((function, arguments)) = self.set_call(call, level)? else { return Ok(None) };
        if level.takes_sets.get() {
            return Ok(Some(set(function, arguments)));
        }
        let message = match level.refuses_windows() {
            Some("FROM" | "functions in FROM") | None => {
                "set-returning functions must appear at top level of FROM".to_owned()
            }
            Some(place) => format!("set-returning functions are not allowed in {place}"),
        };
        Err(SqlError::new(SqlState::FeatureNotSupported, message).at_node(&call.name))
    }

    /// What `ORDER BY` names: a column of the list, by name or number, or any expression.
    fn order_keys(&self, order: &[ast::OrderByExpr], list: &[Listed], level: &Level<'_>) -> Result<Vec<OrderKey>> {
        let mut keys = Vec::with_capacity(order.len());
        for key in order {
            let listed = match number_of(&key.expr, list.len())? {
                Some(at) => Some(at),
                None => match &key.expr {
                    ast::Expr::Identifier(ident) => listed_as(list, ident, "ORDER BY")?,
                    _ => None,
                },
            };
            let typed = match listed {
                Some(at) => Typed::new(list[at].expr.clone(), list[at].column.declared),
                None => self.expr(&key.expr, level)?,
            };
            keys.push(OrderKey { sort: sort_key(self.sortable(typed)?, &key.options), listed });
        }
        refuse_width(list.len() + keys.iter().filter(|key| key.listed.is_none()).count())?;
        Ok(keys)
    }

    fn distinct_on(&self, select: &ast::Select, list: &[Listed], level: &Level<'_>) -> Result<Vec<Expr>> {
        let Some(Distinct::On(exprs)) = &select.distinct else { return Ok(Vec::new()) };
        let listed = |expr: &ast::Expr| match expr {
            ast::Expr::Identifier(ident) => listed_as(list, ident, "DISTINCT ON"),
            expr => number_of(expr, list.len()),
        };
        let bind = |expr: &ast::Expr| match listed(expr)? {
            Some(at) => Ok(list[at].expr.clone()),
            None => Ok(self.expr(expr, level)?.expr),
        };
        exprs.iter().map(bind).collect()
    }
}

/// The entry of a list with a name, behind the words of a clause. Two entries that are not the same leave open which is meant.
pub(super) fn listed_as(list: &[Listed], ident: &ast::Ident, clause: &str) -> Result<Option<usize>> {
    let name = parse::name(ident);
    let mut found = list.iter().enumerate().filter(|(_, listed)| listed.column.name == name);
    let Some((at, first)) = found.next() else { return Ok(None) };
    if found.any(|(_, other)| first.expr != other.expr) {
        let message = format!("{clause} \"{name}\" is ambiguous");
        return Err(SqlError::new(SqlState::AmbiguousColumn, message).at_ident(ident));
    }
    Ok(Some(at))
}

/// A `SELECT` that was bound.
struct Parts {
    from: From,
    output: Output,
    groups: Groups,
    calls: Vec<AggregateCall>,
    /// The columns that its expressions name.
    columns: Vec<ScopeColumn>,
}

impl Parts {
    /// Whether it is tables with conditions, and one value for each entry of the list, apart from `DISTINCT`.
    fn is_simple(&self) -> bool {
        let Parts { from, output, groups, calls, .. } = self;
        from.tree.is_some()
            && !output.is_grouped(groups, calls)
            && output.list.iter().all(|listed| !listed.expr.has_set())
            && calls_in(output.exprs()).is_empty()
    }
}

/// The expressions of a `SELECT` that are evaluated above its groups and windows.
pub(super) struct Output {
    pub(super) list: Vec<Listed>,
    keys: Vec<OrderKey>,
    distinct_on: Vec<Expr>,
    pub(super) having: Option<Expr>,
}

impl Output {
    /// All expressions; `HAVING` as long as it is there.
    pub(super) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let listed = self.list.iter().map(|listed| &listed.expr);
        listed.chain(self.keys.iter().map(|key| &key.sort.expr)).chain(&self.having).chain(&self.distinct_on)
    }

    /// As [`Output::exprs`], to change them.
    pub(super) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let listed = self.list.iter_mut().map(|listed| &mut listed.expr);
        let keys = self.keys.iter_mut().map(|key| &mut key.sort.expr);
        listed.chain(keys).chain(&mut self.having).chain(&mut self.distinct_on)
    }

    /// Whether rows are put together.
    fn is_grouped(&self, groups: &Groups, calls: &[AggregateCall]) -> bool {
        let has_grouping = || self.exprs().any(|expr| expr.any(&|part| matches!(part, Expr::Grouping(_))));
        groups.is_there || !calls.is_empty() || self.having.is_some() || has_grouping()
    }

    /// Refuses `FOR UPDATE` where a row of the result is not one of a table.
    fn refuse_locks(&self, select: &ast::Select, groups: &Groups, calls: &[AggregateCall]) -> Result<()> {
        let parts = [
            (select.distinct.is_some(), "DISTINCT clause"),
            (groups.is_there, "GROUP BY clause"),
            (self.having.is_some(), "HAVING clause"),
            (!calls.is_empty(), "aggregate functions"),
            (!calls_in(self.exprs()).is_empty(), "window functions"),
            (self.exprs().any(Expr::has_set), "set-returning functions in the target list"),
        ];
        match parts.into_iter().find(|(is_there, _)| *is_there) {
            Some((_, what)) => {
                let message = format!("FOR UPDATE is not allowed with {what}");
                Err(SqlError::new(SqlState::FeatureNotSupported, message))
            }
            None => Ok(()),
        }
    }
}

/// A call of a function that returns a set.
pub(super) fn set(function: ResolvedSet, arguments: Vec<Expr>) -> Typed {
    let declared = match &function.columns[..] {
        [(_, ty)] => (*ty).into(),
        _ => Declared { ty: Type::Record, modifier: Modifier::Fields(function.fields()) },
    };
    Typed::new(Expr::Set(Box::new(SetCall { function, arguments })), declared)
}

/// Refuses sets within what has one value.
pub(super) fn refuse_sets<'e>(exprs: impl IntoIterator<Item = &'e Expr>, message: &str) -> Result<()> {
    match exprs.into_iter().any(Expr::has_set) {
        true => Err(SqlError::new(SqlState::FeatureNotSupported, message).with_hint(TO_FROM)),
        false => Ok(()),
    }
}

/// What to do with a set where there may be none.
const TO_FROM: &str = "You might be able to move the set-returning function into a LATERAL FROM item.";

/// A key of `ORDER BY`, and the column of the list that it is.
struct OrderKey {
    sort: SortKey,
    listed: Option<usize>,
}

/// A column that `*` stands for.
fn star(column: &ScopeColumn, (expr, declared): (&Expr, Declared)) -> Listed {
    column.is_read();
    let ScopeColumn { name, origin, .. } = column;
    let declared = if declared.ty == Type::Unknown { Declared::from(Type::Text) } else { declared };
    Listed { expr: expr.clone(), column: OutColumn { name: name.clone(), declared, origin: *origin }, written: None }
}

/// What an index calls a column that is an expression.
pub(crate) fn index_label(expr: &ast::Expr) -> String {
    match name_of(expr) {
        name if name == "?column?" => "expr".to_owned(),
        name => name,
    }
}

/// The name of a column of the list without an alias, as PostgreSQL gives it.
pub(super) fn name_of(expr: &ast::Expr) -> String {
    match expr {
        ast::Expr::Identifier(ident) => parse::name(ident),
        ast::Expr::CompoundIdentifier(idents) => idents.last().map(parse::name).unwrap_or_default(),
        ast::Expr::Function(call) => {
            parse::parts(&call.name).ok().and_then(|mut parts| parts.pop()).unwrap_or_default()
        }
        // The type, unless there is a better name within.
        ast::Expr::Cast { expr, data_type, .. } => match (&**expr, name_of(expr)) {
            (ast::Expr::Cast { .. } | ast::Expr::TypedString(_), _) => type_name(data_type),
            (ast::Expr::Subquery(_), name) => name,
            (_, name) if name == "?column?" => type_name(data_type),
            (_, name) => name,
        },
        ast::Expr::Nested(inner) => name_of(inner),
        ast::Expr::Case { else_result, .. } => match else_result.as_deref().map(name_of) {
            Some(name) if name != "?column?" => name,
            _ => "case".to_owned(),
        },
        ast::Expr::Array(_) => "array".to_owned(),
        ast::Expr::BinaryOp { op: ast::BinaryOperator::Overlaps, .. } => "overlaps".to_owned(),
        ast::Expr::Collate { expr, .. } => name_of(expr),
        ast::Expr::Exists { .. } => "exists".to_owned(),
        ast::Expr::Extract { .. } => "extract".to_owned(),
        ast::Expr::Substring { shorthand: true, .. } => "substr".to_owned(),
        ast::Expr::Substring { .. } => "substring".to_owned(),
        ast::Expr::Overlay { .. } => "overlay".to_owned(),
        ast::Expr::Trim { .. } => "btrim".to_owned(),
        ast::Expr::Position { .. } => "position".to_owned(),
        ast::Expr::Ceil { .. } => "ceil".to_owned(),
        ast::Expr::Floor { .. } => "floor".to_owned(),
        ast::Expr::AtTimeZone { .. } => "timezone".to_owned(),
        ast::Expr::Interval(_) => "interval".to_owned(),
        ast::Expr::TypedString(typed) => type_name(&typed.data_type),
        ast::Expr::Subquery(query) => match &*query.body {
            ast::SetExpr::Select(select) => match select.projection.first() {
                Some(SelectItem::UnnamedExpr(expr)) => name_of(expr),
                Some(SelectItem::ExprWithAlias { alias, .. }) => parse::name(alias),
                _ => "?column?".to_owned(),
            },
            _ => "?column?".to_owned(),
        },
        ast::Expr::CompoundFieldAccess { root, access_chain } => match access_chain.last() {
            Some(ast::AccessExpr::Dot(ast::Expr::Identifier(field))) => parse::name(field),
            _ => name_of(root),
        },
        _ => "?column?".to_owned(),
    }
}

/// A type as the name of a column: that of its elements, if it is one of arrays.
fn type_name(ty: &ast::DataType) -> String {
    let name = |ty: Type| ty.element().filter(|_| !ty.is_vector()).unwrap_or(ty).catalog_name();
    match (parse::data_type(ty), parse::types::custom(ty)) {
        (Ok(ty), _) => name(ty.ty),
        (Err(_), Some((own, _))) => parse::parts(&own).ok().and_then(|mut parts| parts.pop()).unwrap_or_default(),
        (Err(_), None) => "?column?".to_owned(),
    }
}

/// The list, with what it is sorted by beside it as long as that is needed.
fn project(
    plan: Plan,
    list: Vec<Listed>,
    keys: Vec<OrderKey>,
    (distinct, distinct_on): (Option<&Distinct>, Vec<Expr>),
    is_sorted: bool,
) -> Result<Plan> {
    let count = list.len();
    let mut items: Vec<Expr> = list.into_iter().map(|listed| listed.expr).collect();
    let is_distinct = matches!(distinct, Some(Distinct::Distinct));
    let mut sort = Vec::new();
    for key in keys.into_iter().filter(|_| !is_sorted) {
        let position = match key.listed {
            Some(at) => at,
            None => place(&mut items, key.sort.expr),
        };
        if is_distinct && position >= count {
            let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
            return Err(SqlError::new(SqlState::InvalidColumnReference, message));
        }
        sort.push(SortKey { expr: Expr::Column(position), ..key.sort });
    }
    let on: Vec<usize> = distinct_on.into_iter().map(|expr| place(&mut items, expr)).collect();
    let width = items.len();
    let mut plan = Plan::Project(Box::new(plan), items);
    if is_distinct {
        plan = Plan::Distinct(Box::new(plan), None);
    }
    if !on.is_empty() {
        return distinct_on_plan(plan, &on, sort, (count, width));
    }
    if !sort.is_empty() {
        plan = Plan::Sort(Box::new(plan), sort);
    }
    Ok(first_columns(plan, count, width))
}

/// Makes rows of the sets in expressions: their values stand behind the columns of the rows, `width` many, and their calls become
/// columns. All sets of a row give rows at the same time; what has sets as arguments comes behind these.
/// Of the columns of the rows, those stay that are read then, by the expressions or by what stands `beside` them.
fn expand(mut plan: Plan, mut width: usize, exprs: &mut [&mut Expr], beside: &[&Expr]) -> Plan {
    loop {
        let mut calls: Vec<SetCall> = Vec::new();
        exprs.iter().for_each(|expr| innermost_sets(expr, &mut calls));
        if calls.is_empty() {
            return plan;
        }
        let placed: Vec<_> = calls.iter().cloned().zip(width..).collect();
        exprs.iter_mut().for_each(|expr| place_sets(expr, &placed));
        let mut read = BTreeSet::new();
        let mut note = |at| {
            read.insert(at);
        };
        let readers = exprs.iter().map(|expr| &**expr).chain(beside.iter().copied());
        readers.for_each(|expr| expr.for_each_column(&mut note));
        let column = |at| Item::One(if read.contains(&at) { Expr::Column(at) } else { Expr::NULL });
        let sets = calls.into_iter().map(|SetCall { function, arguments }| Item::Set(function, arguments));
        let items = (0..width).map(column).chain(sets).collect();
        width += placed.len();
        plan = Plan::ProjectSet(Box::new(plan), items);
    }
}

/// Gathers the calls that return sets and have none as an argument, each once.
fn innermost_sets(expr: &Expr, calls: &mut Vec<SetCall>) {
    match expr {
        Expr::Set(call) if !call.arguments.iter().any(Expr::has_set) => {
            if !calls.contains(call) {
                calls.push((**call).clone());
            }
        }
        expr => expr.for_each_part(&mut |part| innermost_sets(part, calls)),
    }
}

/// Puts the columns in which sets leave their values in the place of their calls.
fn place_sets(expr: &mut Expr, columns: &[(SetCall, usize)]) {
    if let Expr::Set(call) = expr
        && let Some((_, at)) = columns.iter().find(|(known, _)| *known == **call)
    {
        *expr = Expr::Column(*at);
        return;
    }
    expr.for_each_part_mut(&mut |part| place_sets(part, columns));
}

/// The position of an expression in the list, where it is added if it is not there.
fn place(items: &mut Vec<Expr>, expr: Expr) -> usize {
    let known = items.iter().position(|known| *known == expr && !expr.is_volatile());
    known.unwrap_or_else(|| {
        items.push(expr);
        items.len() - 1
    })
}

fn first_columns(plan: Plan, count: usize, width: usize) -> Plan {
    if count == width { plan } else { Plan::Project(Box::new(plan), (0..count).map(Expr::Column).collect()) }
}

/// `DISTINCT ON`: sorted with the keys first, the first row of each.
fn distinct_on_plan(plan: Plan, on: &[usize], sort: Vec<SortKey>, (count, width): (usize, usize)) -> Result<Plan> {
    let leads = sort.iter().take(on.len()).all(|key| matches!(key.expr, Expr::Column(at) if on.contains(&at)));
    if !leads {
        let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
        return Err(SqlError::new(SqlState::InvalidColumnReference, message));
    }
    let sorted = |at: &usize| sort.iter().any(|key| key.expr == Expr::Column(*at));
    let unsorted: Vec<usize> = on.iter().copied().filter(|at| !sorted(at)).collect();
    let mut keys = sort;
    let lead = on.len() - unsorted.len();
    for at in unsorted {
        let key = SortKey { expr: Expr::Column(at), is_descending: false, nulls_first: false };
        keys.insert(lead.min(keys.len()), key);
    }
    let plan = Plan::Sort(Box::new(plan), keys);
    // The keys first, so that they can be compared.
    let front: Vec<Expr> = on.iter().copied().chain(0..width).map(Expr::Column).collect();
    let plan = Plan::Distinct(Box::new(Plan::Project(Box::new(plan), front)), Some(on.len()));
    Ok(Plan::Project(Box::new(plan), (on.len()..on.len() + count).map(Expr::Column).collect()))
}

fn unsupported_part(select: &ast::Select) -> Option<&'static str> {
    let parts = [
        (select.into.is_some(), "SELECT INTO"),
        (select.top.is_some(), "TOP"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (!select.cluster_by.is_empty() || !select.distribute_by.is_empty(), "CLUSTER BY"),
        (!select.sort_by.is_empty(), "SORT BY"),
        (select.qualify.is_some(), "QUALIFY"),
        (select.exclude.is_some(), "EXCLUDE"),
    ];
    parts.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}
