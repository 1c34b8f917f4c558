//! Views: what their queries mean, and how rows are written through them.
//!
//! Invariants:
//! - The query of a view means what it meant when it was made: its names are those that were found then, and `*` stands for the
//!   columns of then.
//! - What the query reads is read with the rights of the view's owner.

use std::rc::Rc;
use std::sync::Arc;

use sqlparser::ast::{self, GroupByExpr, SetExpr, TableFactor};

use super::from::relation_columns;
use super::query::{Bound, locking, renamed, scope_of};
use super::scope::{Level, ScopeColumn};
use super::select::Listed;
use super::uses::{Use, UseKind};
use super::{Binder, OutColumn};
use crate::catalog::name::Name;
use crate::catalog::objects::{CheckOption, Reference, ViewEntry};
use crate::catalog::relation::Relation;
use crate::catalog::rights::Rights;
use crate::catalog::system::refuse_change;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::parse;
use crate::plan::RowLock;
use crate::plan::join::Source;

/// Views that are opened within each other, and whose query is bound now.
pub(super) struct Opened {
    name: Name,
    view: Arc<ViewEntry>,
}

/// Views that refer to views that refer to views end here.
const VIEWS_MAX: usize = 32;

/// A table that is written through a view, or by itself.
pub(crate) struct Target {
    pub(crate) relation: Arc<Relation>,
    /// The columns that the statement can name, as expressions over the rows of the table.
    pub(crate) columns: Vec<ScopeColumn>,
    /// Where it is written through a view: what its rows must fulfil to be seen through it.
    pub(crate) conditions: Vec<Expr>,
    /// What rows must fulfil that are written through it, with the view that asks for it.
    pub(crate) checks: Vec<(String, Expr)>,
    /// The view that was named, with its uses and that of the table.
    pub(crate) through: Option<Name>,
    pub(crate) uses: Vec<(Rc<Use>, Vec<Option<usize>>)>,
}

/// What is done to a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Insert,
    Update,
    Delete,
    /// Any of these, row by row: views are not written so.
    Merge,
}

impl Verb {
    fn doing(self) -> &'static str {
        match self {
            Verb::Insert => "insert into",
            Verb::Update => "update",
            Verb::Delete => "delete from",
            Verb::Merge => "merge into",
        }
    }

    fn phrase(self, view: &str) -> String {
        format!("cannot {} view \"{view}\"", self.doing())
    }

    fn hint(self) -> String {
        let (doing, event) = match self {
            Verb::Insert => ("inserting into", "INSERT"),
            Verb::Update => ("updating", "UPDATE"),
            Verb::Delete => ("deleting from", "DELETE"),
            Verb::Merge => ("merging into", "MERGE"),
        };
        format!(
            "To enable {doing} the view, provide an INSTEAD OF {event} trigger or an unconditional ON {event} DO INSTEAD rule."
        )
    }

    pub(crate) fn right(self) -> Rights {
        match self {
            Verb::Insert => Rights::INSERT,
            Verb::Update => Rights::UPDATE,
            Verb::Delete => Rights::DELETE,
            Verb::Merge => Rights::NONE,
        }
    }
}

fn not_merged(name: &Name, what: &str) -> SqlError {
    let message = format!("cannot execute MERGE on relation \"{}\"", name.name);
    SqlError::new(SqlState::FeatureNotSupported, message)
        .with_detail(format!("This operation is not supported for {what}."))
}

impl Target {
    /// The position in the table of a column that is named, and its position in the list of names.
    pub(crate) fn position(&self, name: &str, verb: Verb) -> Result<(usize, usize)> {
        let Some(at) = self.columns.iter().position(|column| !column.is_hidden && column.name == name) else {
            let table = self.through.as_ref().map_or(&self.relation.name.name, |view| &view.name);
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
            return Err(SqlError::new(SqlState::UndefinedColumn, message));
        };
        self.base(at, verb).map(|base| (base, at))
    }

    /// The position in the table of a column of the view.
    fn base(&self, at: usize, verb: Verb) -> Result<usize> {
        let column = &self.columns[at];
        match column.expr {
            Expr::Column(base) if base < self.relation.visible() => Ok(base),
            _ => {
                let view = self.through.as_ref().map_or("", |view| &view.name);
                let doing = if verb == Verb::Insert { "insert into" } else { "update" };
                let message = format!("cannot {doing} column \"{}\" of view \"{view}\"", column.name);
                Err(SqlError::new(SqlState::FeatureNotSupported, message)
                    .with_detail("View columns that are not columns of their base relation are not updatable."))
            }
        }
    }

    /// The columns that `INSERT` without a list means.
    pub(crate) fn all_columns(&self, count: usize, verb: Verb) -> Result<Vec<usize>> {
        let shown = (0..self.columns.len()).filter(|at| !self.columns[*at].is_hidden);
        match &self.through {
            None => Ok((0..self.relation.visible()).collect()),
            Some(_) => shown.take(count).map(|at| self.base(at, verb)).collect(),
        }
    }

    /// Says for the rights which columns are written.
    pub(crate) fn marks(&self, verb: Verb, bases: impl Iterator<Item = usize>) {
        let bases: Vec<usize> = bases.collect();
        for (one, positions) in &self.uses {
            for (at, base) in positions.iter().enumerate() {
                if base.is_some_and(|base| bases.contains(&base)) {
                    match verb {
                        Verb::Insert => one.inserts(at),
                        _ => one.updates(at),
                    }
                }
            }
        }
    }

    /// It is written so, too.
    pub(crate) fn also(&self, right: Rights) {
        self.uses.iter().for_each(|(one, _)| one.also(right));
    }
}

impl Binder<'_> {
    /// What the query that is bound now calls the table with that name.
    pub(super) fn reference(&self, parts: &[String]) -> Option<Reference> {
        let opened = self.opened.borrow();
        let view = &opened.last()?.view;
        view.tables.iter().find(|reference| reference.text == parts).cloned()
    }

    /// The role whose rights count for what is named now; `None`: who runs the statement.
    pub(super) fn on_behalf_of(&self) -> Option<String> {
        self.opened.borrow().last().map(|opened| opened.view.owner.clone())
    }

    /// Whether the query of a view is bound now.
    pub(super) fn is_within_view(&self) -> bool {
        !self.opened.borrow().is_empty()
    }

    /// Binds the query of a relation of the catalog.
    pub(super) fn within_system<T>(&self, bind: impl FnOnce() -> Result<T>) -> Result<T> {
        // What the query of a view around it calls some table, this one does not.
        let opened = self.opened.take();
        let tables = self.tables.take();
        let bound = bind();
        self.tables.replace(tables);
        self.opened.replace(opened);
        bound
    }

    /// Opens a view, whose query `bind` binds.
    fn within_view<T>(&self, name: &Name, view: &Arc<ViewEntry>, bind: impl FnOnce() -> Result<T>) -> Result<T> {
        let is_nested_in_itself = self.opened.borrow().iter().any(|opened| opened.name == *name);
        if is_nested_in_itself {
            let message = format!("infinite recursion detected in rules for relation \"{}\"", name.name);
            return Err(SqlError::new(SqlState::InvalidObjectDefinition, message));
        }
        if self.opened.borrow().len() == VIEWS_MAX {
            let message = format!("views are nested too deeply at \"{name}\"");
            return Err(SqlError::new(SqlState::StatementTooComplex, message));
        }
        self.opened.borrow_mut().push(Opened { name: name.clone(), view: view.clone() });
        // A view knows nothing of the common table expressions around it.
        let tables = self.tables.take();
        let bound = bind();
        self.tables.replace(tables);
        self.opened.borrow_mut().pop();
        bound
    }

    /// Binds the query of a view.
    pub(super) fn open_view(
        &self,
        name: &Name,
        view: &Arc<ViewEntry>,
        lock: RowLock,
    ) -> Result<(Source, Vec<OutColumn>)> {
        let names: Vec<String> = view.columns.iter().map(|column| column.name.clone()).collect();
        let bind = || self.query_in_from(&locking(&*query_of(name, view)?, lock), None);
        let (source, columns) = self.within_view(name, view, bind)?;
        Ok((source, renamed(columns, &names, &name.name)?))
    }

    /// Binds the query of a view by itself.
    pub(crate) fn query_of_view(&self, name: &Name, view: &Arc<ViewEntry>) -> Result<Bound> {
        self.within_view(name, view, || self.query(&*query_of(name, view)?, None))
    }

    /// Notes that a table is used, and makes its columns those that the query knows.
    pub(super) fn use_table(&self, parts: &[String], relation: &Relation, columns: &mut [ScopeColumn]) -> Rc<Use> {
        let known = relation.columns[..relation.visible()].iter().map(|column| column.name.clone()).collect();
        let kind = if relation.is_materialized() { UseKind::Materialized } else { UseKind::Table };
        self.used(parts, (&relation.name, kind), &relation.notes.owner, known, columns)
    }

    /// Notes that a view is used, and makes its columns those that the query knows.
    pub(super) fn use_view(
        &self,
        parts: &[String],
        name: &Name,
        view: &ViewEntry,
        columns: &mut [ScopeColumn],
    ) -> Rc<Use> {
        let known = view.columns.iter().map(|column| column.name.clone()).collect();
        self.used(parts, (name, UseKind::View), &view.owner, known, columns)
    }

    /// Notes that a sequence is read, and makes its columns those that the query knows.
    pub(super) fn use_sequence(
        &self,
        parts: &[String],
        name: &Name,
        owner: &str,
        columns: &mut [ScopeColumn],
    ) -> Rc<Use> {
        let known = columns.iter().map(|column| column.name.clone()).collect();
        self.used(parts, (name, UseKind::Sequence), owner, known, columns)
    }

    fn used(
        &self,
        parts: &[String],
        (name, kind): (&Name, UseKind),
        owner: &str,
        known: Vec<String>,
        columns: &mut [ScopeColumn],
    ) -> Rc<Use> {
        if let Some(reference) = self.reference(parts) {
            for column in columns.iter_mut() {
                let now = std::mem::take(&mut column.name);
                match reference.columns.iter().find(|known| known.name == now) {
                    Some(known) => column.name.clone_from(&known.text),
                    None => column.is_merged = true,
                }
                // A hidden key is no field, and a new column is one, but can only be named as such.
                column.field = (!column.is_hidden).then_some(now);
                column.is_hidden |= column.is_merged;
            }
        }
        let named = known.into_iter().map(|name| (name.clone(), name)).collect();
        let used = Use::new(parts.to_vec(), name, kind, owner, self.on_behalf_of(), named);
        for (at, column) in columns.iter_mut().enumerate() {
            column.origin_use = Some((used.clone(), at));
        }
        self.uses.borrow_mut().push(used.clone());
        used
    }

    /// What a statement writes that names a table or a view.
    pub(crate) fn write_target(&self, name: &ast::ObjectName, alias: Option<&str>, verb: Verb) -> Result<Target> {
        let parts = parse::parts(name)?;
        if self.reference(&parts).is_none() {
            refuse_change(&parts, &self.settings.search_path, verb.doing())?;
        }
        let shown = alias.map_or_else(|| parts.last().cloned().unwrap_or_default(), str::to_owned);
        match self.find_relation(name)? {
            Some(relation) if relation.is_materialized() && verb == Verb::Merge => {
                return Err(not_merged(&relation.name, "materialized views").at_node(name));
            }
            Some(relation) if relation.is_materialized() => {
                let message = format!("cannot change materialized view \"{}\"", relation.name.name);
                return Err(SqlError::new(SqlState::WrongObjectType, message));
            }
            Some(relation) => return Ok(self.table_target(&parts, relation, &shown, verb)),
            None => {}
        }
        match self.find_view(name)? {
            Some((found, _)) if verb == Verb::Merge => {
                let hint = "Merge into the table that it reads.";
                Err(not_merged(&found, "views").with_hint(hint).at_node(name))
            }
            Some((name, view)) => self.view_target(&parts, &name, &view, &shown, verb),
            None => match self.find_sequence(name)? {
                Some((found, _)) if verb == Verb::Merge => Err(not_merged(&found, "sequences").at_node(name)),
                Some((found, _)) => {
                    let message = format!("cannot change sequence \"{}\"", found.name);
                    Err(SqlError::new(SqlState::WrongObjectType, message).at_node(name))
                }
                None => Err(super::undefined_table(name)),
            },
        }
    }

    fn table_target(&self, parts: &[String], relation: Arc<Relation>, shown: &str, verb: Verb) -> Target {
        let mut columns = relation_columns(&relation, shown);
        let used = self.use_table(parts, &relation, &mut columns);
        used.is_target(verb.right());
        let positions = (0..relation.visible()).map(Some).collect();
        let uses = vec![(used, positions)];
        Target { relation, columns, conditions: Vec::new(), checks: Vec::new(), through: None, uses }
    }

    fn view_target(
        &self,
        parts: &[String],
        name: &Name,
        view: &Arc<ViewEntry>,
        shown: &str,
        verb: Verb,
    ) -> Result<Target> {
        let refused = |why: &str| {
            let error = SqlError::new(SqlState::ObjectNotInPrerequisiteState, verb.phrase(&name.name));
            error.with_detail(why).with_hint(verb.hint())
        };
        let query = query_of(name, view)?;
        let select = updatable(&query).map_err(refused)?;
        let [table] = &select.from[..] else { return Err(refused(NOT_ONE)) };
        let TableFactor::Table { name: below, alias, args: None, .. } = &table.relation else {
            return Err(refused(NOT_ONE));
        };
        if !table.joins.is_empty() {
            return Err(refused(NOT_ONE));
        }
        let (mut target, list) = self.within_view(name, view, || {
            let alias = alias.as_ref();
            let shown = alias.map(|alias| parse::name(&alias.name));
            if self.find_relation(below)?.is_some_and(|relation| relation.is_materialized()) {
                return Err(refused(NOT_ONE));
            }
            let mut target = self.write_target(below, shown.as_deref(), verb)?;
            super::from::rename_columns(&mut target.columns, alias, &name.name)?;
            let mut level = Level::new(None, &self.registers);
            level.columns.clone_from(&target.columns);
            level.refuse_aggregates("WHERE");
            if let Some(condition) = &select.selection {
                let condition = self.condition(condition, "WHERE", &level)?;
                if view.check.is_some() {
                    target.checks.push((name.name.clone(), condition.clone()));
                }
                condition.split(&mut target.conditions);
            }
            let mut list: Vec<Listed> = Vec::new();
            for item in &select.projection {
                self.list_item(item, &level, &mut list)?;
            }
            Ok((target, list))
        })?;
        if view.check == Some(CheckOption::Cascaded) {
            let own: Vec<Expr> = target.conditions.clone();
            let known: Vec<Expr> = target.checks.iter().map(|(_, check)| check.clone()).collect();
            let missing = own.into_iter().filter(|condition| !known.contains(condition));
            let whole = missing.map(|condition| (name.name.clone(), condition)).collect::<Vec<_>>();
            target.checks.extend(whole);
        }
        let mut columns = target_columns(list, name, view, shown)
            .ok_or_else(|| refused("Views that return set-returning functions are not automatically updatable."))??;
        let used = self.use_view(parts, name, view, &mut columns);
        used.is_target(verb.right());
        let visible = target.relation.visible();
        let base = |column: &ScopeColumn| match column.expr {
            Expr::Column(at) if at < visible => Some(at),
            _ => None,
        };
        target.uses.push((used, columns.iter().map(base).collect()));
        target.columns = columns;
        target.through = Some(name.clone());
        Ok(target)
    }
}

/// The columns of a view as expressions over the rows of its table; `None` where one is a set.
fn target_columns(list: Vec<Listed>, name: &Name, view: &ViewEntry, shown: &str) -> Option<Result<Vec<ScopeColumn>>> {
    let mut out: Vec<OutColumn> = Vec::with_capacity(list.len());
    let mut exprs = Vec::with_capacity(list.len());
    for Listed { expr, column, .. } in list {
        out.push(column);
        exprs.push(expr);
    }
    let names: Vec<String> = view.columns.iter().map(|column| column.name.clone()).collect();
    Some(renamed(out, &names, &name.name).map(|out| {
        let mut columns = scope_of(Some(shown), &out);
        for (column, expr) in columns.iter_mut().zip(exprs) {
            column.expr = expr;
        }
        columns
    }))
}

const NOT_ONE: &str = "Views that do not select from a single table or view are not automatically updatable.";

/// The query of a view as it was written.
fn query_of(name: &Name, view: &ViewEntry) -> Result<Box<ast::Query>> {
    let mut statements = parse::statements(&view.query)?;
    match statements.pop() {
        Some(ast::Statement::Query(query)) if statements.is_empty() => Ok(query),
        _ => Err(SqlError::new(SqlState::DataCorrupted, format!("view \"{name}\" is no query"))),
    }
}

/// The `SELECT` of a view through which rows can be written, or why there is none, in PostgreSQL's words.
pub(crate) fn updatable(query: &ast::Query) -> std::result::Result<&ast::Select, &'static str> {
    let select = match &*query.body {
        SetExpr::Select(select) => select,
        SetExpr::Query(inner) if query.with.is_none() => return updatable(inner),
        SetExpr::SetOperation { .. } => {
            return Err("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.");
        }
        _ => return Err(NOT_ONE),
    };
    if select.distinct.is_some() {
        return Err("Views containing DISTINCT are not automatically updatable.");
    }
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(exprs, _) if exprs.is_empty());
    if is_grouped {
        return Err("Views containing GROUP BY are not automatically updatable.");
    }
    if select.having.is_some() {
        return Err("Views containing HAVING are not automatically updatable.");
    }
    if query.with.is_some() {
        return Err("Views containing WITH are not automatically updatable.");
    }
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return Err("Views containing LIMIT or OFFSET are not automatically updatable.");
    }
    let has = |is_so: &dyn Fn(&ast::Function) -> bool| {
        select.projection.iter().any(|item| match item {
            ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => calls(expr, is_so),
            _ => false,
        })
    };
    let name =
        |call: &ast::Function| parse::parts(&call.name).ok().and_then(|mut parts| parts.pop()).unwrap_or_default();
    if has(&|call| call.over.is_some()) {
        return Err("Views that return window functions are not automatically updatable.");
    }
    if has(&|call| crate::function::is_aggregate(&name(call))) {
        return Err("Views that return aggregate functions are not automatically updatable.");
    }
    if has(&|call| crate::function::is_set(&name(call))) {
        return Err("Views that return set-returning functions are not automatically updatable.");
    }
    Ok(select)
}

/// Whether an expression calls a function that returns a set; not within subqueries.
pub(super) fn has_set(expr: &ast::Expr) -> bool {
    let last = |call: &ast::Function| parse::parts(&call.name).ok().and_then(|mut parts| parts.pop());
    calls(expr, &|call| last(call).is_some_and(|name| crate::function::is_set(&name)))
}

/// Whether an expression calls such a function; not within subqueries.
fn calls(expr: &ast::Expr, is_so: &dyn Fn(&ast::Function) -> bool) -> bool {
    match expr {
        ast::Expr::Function(call) => {
            is_so(call)
                || match &call.args {
                    ast::FunctionArguments::List(list) => list.args.iter().any(|argument| match argument {
                        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => calls(expr, is_so),
                        _ => false,
                    }),
                    _ => false,
                }
        }
        ast::Expr::BinaryOp { left, right, .. } => calls(left, is_so) || calls(right, is_so),
        ast::Expr::Nested(inner) | ast::Expr::UnaryOp { expr: inner, .. } | ast::Expr::Cast { expr: inner, .. } => {
            calls(inner, is_so)
        }
        _ => false,
    }
}
