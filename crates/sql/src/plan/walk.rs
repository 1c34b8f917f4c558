//! Walks through plans, with the subqueries in their expressions and the common table expressions that they name.
//!
//! Invariant: a common table expression is walked through once, where it is named first.

use std::collections::HashSet;

use osier::ids::TableId;

use super::{
    Access, Aggregate, Change, Changed, Conflict, Item, LockRows, MergeClause, Method, Plan, Query, SortKey, Window,
    Write,
};
use crate::expr::Expr;

/// What a walk has come to.
#[derive(Default)]
pub(crate) struct Found {
    /// Numbers of the common table expressions.
    pub(crate) commons: HashSet<usize>,
    /// The tables that are read.
    pub(crate) scanned: HashSet<TableId>,
}

impl Query {
    /// Puts statements in `WITH` that the query reads from before the others.
    pub(crate) fn order_writes(&mut self) {
        let mut found = Found::default();
        if !self.writes.is_empty() {
            found.plan(&self.plan);
        }
        self.writes.sort_by_key(|(at, _)| !found.commons.contains(at));
        self.writes_first = self.writes.iter().filter(|(at, _)| found.commons.contains(at)).count();
    }

    /// Finds the tables that something may read, or write once more, after a statement has written them.
    pub(crate) fn find_reread(&mut self) {
        let main = match &self.plan {
            Plan::Write(write) => Some((None, &**write)),
            _ => None,
        };
        let beside = self.writes.iter().filter_map(|(at, table)| match &table.plan {
            Plan::Write(write) => Some((Some(*at), &**write)),
            _ => None,
        });
        let writes: Vec<(Option<usize>, &Write)> = main.into_iter().chain(beside).collect();
        let is_reread = |(at, write): &(Option<usize>, &Write)| {
            let table = write.relation.table.id();
            let writers = writes.iter().filter(|(_, other)| other.relation.table.id() == table).count();
            writers > 1 || self.outside(*at, write).scanned.contains(&table)
        };
        let reread = writes.iter().filter(|one| is_reread(one)).map(|(_, write)| write.relation.table.id());
        self.reread = reread.collect();
    }

    /// What there is in the query beside what a statement evaluates before it writes.
    fn outside(&self, at: Option<usize>, write: &Write) -> Found {
        let mut found = Found::default();
        found.commons.extend(at);
        found.behind_input(write);
        if at.is_some() {
            found.plan(&self.plan);
        }
        for (other, table) in &self.writes {
            if found.commons.insert(*other) {
                found.plan(&table.plan);
            }
        }
        found
    }
}

impl Found {
    /// Walks through a plan.
    pub(crate) fn plan(&mut self, plan: &Plan) {
        match plan {
            Plan::One | Plan::Nothing | Plan::Working(_) => {}
            Plan::Values(rows) => rows.iter().for_each(|row| self.exprs(row)),
            Plan::Scan(scan) => {
                self.scanned.insert(scan.relation.table.id());
                self.access(&scan.access);
                self.exprs(&scan.filter);
            }
            Plan::Filter(input, condition) => {
                self.plan(input);
                self.expr(condition);
            }
            Plan::Project(input, exprs) => {
                self.plan(input);
                self.exprs(exprs);
            }
            Plan::ProjectSet(input, items) => {
                self.plan(input);
                for item in items {
                    match item {
                        Item::One(expr) => self.expr(expr),
                        Item::Set(_, arguments) => self.exprs(arguments),
                    }
                }
            }
            Plan::Join(join) => {
                self.plan(&join.left);
                self.plan(&join.right);
                self.method(&join.method);
                self.exprs(&join.condition);
            }
            Plan::Aggregate(aggregate) => self.aggregate(aggregate),
            Plan::Window(window) => self.window(window),
            Plan::Distinct(input, _) => self.plan(input),
            Plan::Sort(input, keys) => {
                self.plan(input);
                self.keys(keys);
            }
            Plan::Lock(lock) => self.lock(lock),
            Plan::Limit(limit) => {
                self.plan(&limit.input);
                self.exprs(limit.limit.iter().chain(&limit.offset));
            }
            Plan::Append(plans) => plans.iter().for_each(|plan| self.plan(plan)),
            Plan::Intersect(operation) => {
                self.plan(&operation.left);
                self.plan(&operation.right);
            }
            Plan::Series(series) => self.exprs(series.calls.iter().flat_map(|(_, arguments)| arguments)),
            Plan::System(scan) => self.exprs(scan.key.iter().map(|(_, expr)| expr)),
            Plan::Common(at, table) => {
                if self.commons.insert(*at) {
                    self.plan(&table.plan);
                    table.recursion.iter().for_each(|recursion| self.plan(&recursion.step));
                }
            }
            Plan::Write(write) => {
                self.plan(write.change.input());
                match &write.change {
                    Change::Update { assignments, .. } => self.exprs(assignments.iter().map(|(_, expr)| expr)),
                    Change::Merge { clauses, .. } => self.exprs(clauses.iter().flat_map(MergeClause::exprs)),
                    Change::Insert { .. } | Change::Delete { .. } => {}
                }
                self.behind_input(write);
            }
        }
    }

    /// Walks through what a statement evaluates when it has begun to write.
    fn behind_input(&mut self, write: &Write) {
        self.exprs(write.returning.iter().flatten());
        if let Change::Insert { conflict: Some(Conflict { update: Some(update), .. }), .. } = &write.change {
            self.exprs(update.assignments.iter().map(|(_, expr)| expr).chain(&update.condition));
        }
    }

    fn access(&mut self, access: &Access) {
        match access {
            Access::All => {}
            Access::Key(exprs) | Access::Keys(exprs) => self.exprs(exprs),
            Access::KeysOf(expr) => self.expr(expr),
            Access::Range { prefix, low, high, .. } => {
                self.exprs(prefix);
                self.exprs(low.iter().chain(high).map(|(expr, _)| expr));
            }
        }
    }

    fn method(&mut self, method: &Method) {
        match method {
            Method::Nested(registers) => self.exprs(registers.iter().map(|(_, expr)| expr)),
            Method::Hash { left, right } | Method::Merge { left, right } => self.exprs(left.iter().chain(right)),
            Method::Loop => {}
        }
    }

    fn lock(&mut self, lock: &LockRows) {
        self.plan(&lock.input);
        if let Changed::Checked(condition) = &lock.changed {
            self.exprs(condition);
        }
    }

    fn aggregate(&mut self, aggregate: &Aggregate) {
        self.plan(&aggregate.input);
        self.exprs(&aggregate.groups);
        for call in &aggregate.calls {
            self.exprs(call.arguments.iter().chain(&call.filter).chain(&call.hypothetical));
            self.keys(&call.order);
        }
    }

    fn window(&mut self, window: &Window) {
        self.plan(&window.input);
        for pass in &window.passes {
            self.keys(&pass.keys);
            for call in &pass.calls {
                call.for_each_part(&mut |part| self.expr(part));
            }
        }
    }

    fn keys(&mut self, keys: &[SortKey]) {
        self.exprs(keys.iter().map(|key| &key.expr));
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &Expr) {
        if let Expr::Subquery(subquery) = expr {
            self.plan(&subquery.plan);
        }
        expr.for_each_part(&mut |part| self.expr(part));
    }
}
