//! Outer joins: which side is kept, or looked up, and by what.
//!
//! Invariants:
//! - A join that keeps the rows of its right is planned as one that keeps those of its left.
//! - Conditions of `ON` stay with the join, but for those on the side that gets NULLs: these are checked before. Where all rows
//!   are kept, all stay.
//! - Conditions of `WHERE` go below where they name columns of a side that is kept as it is.

use std::collections::BTreeSet;

use super::access::{self, Path};
use super::equality::compared_as;
use super::estimate::{Cost, Read};
use super::join::{Planned, Planner, Table, Tree, filtered, is_of, local, sides, take_conditions};
use super::{Access, JoinKind, Plan, RowLock};
use crate::expr::Expr;

/// What holds between the sides.
struct On {
    /// Conditions on the right alone, which are checked there.
    own: Vec<Expr>,
    /// Those that stay with the join.
    both: Vec<Expr>,
    /// Of the latter: equalities, with the left side first.
    keys: Vec<(Expr, Expr)>,
    /// The others.
    others: Vec<Expr>,
}

/// A way to look the right up for a row of the left.
struct Lookup {
    access: Access,
    /// Positions of the conditions of the join that it fulfils.
    fulfils: Vec<usize>,
    is_single: bool,
    /// How many rows it leads to, and what that costs; known where it matters.
    cost: (f64, Cost),
}

/// How the sides are joined.
enum Way {
    Lookup(usize),
    KeepRight,
    KeepLeft,
    Merge,
}

impl On {
    fn new(left: &Planned, right: &Planned, both: Vec<Expr>, own: Vec<Expr>) -> On {
        let columns = |planned: &Planned| planned.layout.iter().copied().collect::<BTreeSet<usize>>();
        let (left, right) = (columns(left), columns(right));
        let (mut keys, mut others) = (Vec::new(), Vec::new());
        for condition in &both {
            match sides(condition) {
                Some((a, b)) if is_of(a, &left) && is_of(b, &right) => keys.push((a.clone(), b.clone())),
                Some((a, b)) if is_of(b, &left) && is_of(a, &right) => keys.push((b.clone(), a.clone())),
                _ => others.push(condition.clone()),
            }
        }
        On { own, both, keys, others }
    }

    /// The conditions that a lookup leaves.
    fn without(&self, fulfilled: &[usize]) -> Vec<Expr> {
        let left = self.both.iter().enumerate().filter(|(at, _)| !fulfilled.contains(at));
        left.map(|(_, condition)| condition.clone()).collect()
    }
}

impl Planner<'_> {
    /// An outer join, which keeps the rows of the left, or all.
    pub(super) fn outer(
        &mut self,
        kind: JoinKind,
        (left, right): (Tree, Tree),
        mut on: Vec<Expr>,
        conditions: Vec<Expr>,
    ) -> Planned {
        let (mut left_columns, mut right_columns) = (BTreeSet::new(), BTreeSet::new());
        self.columns(&left, &mut left_columns);
        self.columns(&right, &mut right_columns);
        let mut above = conditions;
        let (mut below_left, mut own) = (Vec::new(), Vec::new());
        if kind == JoinKind::Left {
            below_left = take_conditions(&mut above, &left_columns);
            own = take_conditions(&mut on, &right_columns);
        }
        let left = self.tree(left, below_left);
        let joined = self.join_outer(kind, left, right, on, own);
        match local(above, &joined.layout) {
            None => joined,
            filter => Planned::new(filtered(joined.plan, filter), joined.layout),
        }
    }

    fn join_outer(&mut self, kind: JoinKind, left: Planned, right: Tree, both: Vec<Expr>, own: Vec<Expr>) -> Planned {
        let Tree::Leaf(at) = right else {
            let mut columns = BTreeSet::new();
            self.columns(&right, &mut columns);
            let captures = self.captures(&right, &columns);
            let right = self.tree(right, own.clone());
            if !captures.is_empty() {
                return self.nested(kind, left, right, captures, both);
            }
            let on = On::new(&left, &right, both, own);
            return self.join_best(kind, left, right, None, on);
        };
        let mut leaf = self.take(at);
        if !leaf.captures.is_empty() {
            let captures = std::mem::take(&mut leaf.captures);
            let right = self.alone(leaf, own);
            return self.nested(kind, left, right, captures, both);
        }
        let table = Table::of(&leaf).filter(|_| kind == JoinKind::Left);
        let right = self.alone(leaf, own.clone());
        let on = On::new(&left, &right, both, own);
        self.join_best(kind, left, right, table, on)
    }

    /// Joins the sides in the way that costs least; the table that the right is can be looked up.
    fn join_best(&mut self, kind: JoinKind, left: Planned, right: Planned, table: Option<Table>, on: On) -> Planned {
        let mut lookups = table.as_ref().map_or_else(Vec::new, |table| lookups(table, &left, &on));
        let is_single = left.is_single || gives_one(&left.plan);
        let simple = lookups.iter().position(|lookup| lookup.is_single && is_single);
        let way = match simple {
            // One row looks up one: nothing is better.
            Some(at) => Way::Lookup(at),
            None => self.best(kind, &left, &right, table.as_ref().map(|table| (table, &mut lookups[..])), &on),
        };
        match (way, table) {
            (Way::Lookup(at), Some(table)) => {
                let Lookup { access, fulfils, is_single, .. } = lookups.swap_remove(at);
                // A row that is locked after it was found may have another key by then.
                let fulfils = if table.lock.is_later() { &[][..] } else { &fulfils };
                let both = on.without(fulfils);
                self.looked_up(kind, left, table, (access, is_single), (on.own, both))
            }
            (Way::KeepLeft, _) => {
                let kind = if kind == JoinKind::Left { JoinKind::Right } else { kind };
                let keys = on.keys.into_iter().map(|(a, b)| (b, a)).collect();
                self.kept(kind, right, left, keys, on.others)
            }
            (Way::Merge, _) => {
                let (keys, others) = self.merge_keys(&left, &right, &on);
                self.merged(kind, left, right, keys, others)
            }
            _ => self.kept(kind, left, right, on.keys, on.others),
        }
    }

    /// The way that costs least.
    fn best(
        &mut self,
        kind: JoinKind,
        left: &Planned,
        right: &Planned,
        lookups: Option<(&Table, &mut [Lookup])>,
        on: &On,
    ) -> Way {
        self.note(left);
        self.note(right);
        let preferences = self.estimator.preferences;
        let (a, b) = (left.estimate(self.estimator).input(), right.estimate(self.estimator).input());
        let matched = (a.rows * b.rows * self.estimator.selectivity(&on.both, &self.origins)).max(1.0);
        let rows = if kind == JoinKind::Full { matched.max(a.rows).max(b.rows) } else { matched.max(a.rows) };
        let mut ways: Vec<(f64, Way)> = Vec::new();
        if let Some((table, lookups)) = lookups {
            for (at, lookup) in lookups.iter_mut().enumerate() {
                self.price(table, lookup, on);
                let (found, cost) = lookup.cost;
                let conditions = on.both.len() - lookup.fulfils.len();
                let cost = preferences.nested(a, cost, (a.rows * found, rows), conditions);
                ways.push((cost.total, Way::Lookup(at)));
            }
        }
        let others = on.others.len();
        if on.keys.is_empty() {
            ways.push((preferences.looked_through(a, b, rows, others).total, Way::KeepRight));
            ways.push((preferences.looked_through(b, a, rows, others).total, Way::KeepLeft));
        } else {
            ways.push((preferences.hash(a, b, (matched, rows), others).total, Way::KeepRight));
            ways.push((preferences.hash(b, a, (matched, rows), others).total, Way::KeepLeft));
        }
        if !self.merge_keys(left, right, on).0.is_empty() {
            ways.push((preferences.merge(a, b, (matched, rows), others).total, Way::Merge));
        }
        let best = ways.into_iter().min_by(|(one, _), (other, _)| one.total_cmp(other));
        best.map_or(Way::KeepRight, |(_, way)| way)
    }

    /// Says what a lookup costs.
    fn price(&self, table: &Table, lookup: &mut Lookup, on: &On) {
        let used = lookup.fulfils.iter().map(|at| &on.both[*at]);
        let part = self.estimator.selectivity(used, &self.origins);
        let rows = self.estimator.table_rows(&table.relation) * part;
        let rows = if lookup.is_single { rows.min(1.0) } else { rows.max(1.0) };
        let cost = self.estimator.preferences.read(Read {
            rows: rows.max(1.0),
            descents: 1.0,
            is_secondary: matches!(lookup.access, Access::Range { index: Some(_), .. }),
            is_all: false,
            is_locked: table.lock != RowLock::None,
            conditions: on.own.len(),
        });
        lookup.cost = (rows, cost);
    }

    /// The keys by which both sides come ordered, and what else holds.
    fn merge_keys(&self, left: &Planned, right: &Planned, on: &On) -> (Vec<(Expr, Expr)>, Vec<Expr>) {
        let as_compared = |at: usize| self.type_of(at).map(compared_as);
        let pairs = left.order.iter().zip(&right.order).map(|(a, b)| (Expr::Column(*a), Expr::Column(*b)));
        let types = left.order.iter().zip(&right.order).map(|(a, b)| as_compared(*a) == as_compared(*b));
        let ordered = pairs.zip(types).take_while(|(pair, is_same)| *is_same && on.keys.contains(pair));
        let keys: Vec<(Expr, Expr)> = ordered.map(|(pair, _)| pair).collect();
        let left = on.keys.iter().filter(|key| !keys.contains(key));
        let left = left.map(|(a, b)| super::equality::equal(a.clone(), b.clone()));
        let others = left.chain(on.others.iter().cloned()).collect();
        (keys, others)
    }
}

/// Whether a plan gives one row at most, as that is written.
fn gives_one(plan: &Plan) -> bool {
    match plan {
        Plan::One | Plan::Nothing => true,
        Plan::Values(rows) => rows.len() <= 1,
        Plan::Filter(input, _) | Plan::Project(input, _) => gives_one(input),
        _ => false,
    }
}

/// The ways to look a table up for each row of the left.
fn lookups(table: &Table, left: &Planned, on: &On) -> Vec<Lookup> {
    let known: BTreeSet<usize> = left.layout.iter().copied().collect();
    let all: Vec<&Expr> = on.both.iter().chain(&on.own).collect();
    let sargs = access::sargs((&table.relation, &table.columns), &all, &|expr| is_of(expr, &known), true);
    let reads_left = |path: &Path| path.sargs().any(|at| sargs[at].condition < on.both.len());
    let lookup = |path: Path| {
        let prefix = path.prefix.iter().map(|at| sargs[*at].condition);
        Lookup {
            access: path.access(&sargs),
            fulfils: prefix.filter(|at| *at < on.both.len()).collect(),
            is_single: path.is_single,
            cost: (1.0, Cost::default()),
        }
    };
    access::paths(&table.relation, &sargs, &|_| true).filter(reads_left).map(lookup).collect()
}
