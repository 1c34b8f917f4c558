//! In which order tables are joined, and how.
//!
//! Inner joins are taken apart: their tables are put in order one by one. The first one is that whose rows conditions find best;
//! the next one is that which the tables before find best. Outer joins stay where they are.
//!
//! Invariants:
//! - Expressions name columns by their position in `FROM` until they are attached to an operator: [`Planned::layout`] says where
//!   these lie in its rows.
//! - Every condition is checked once, as soon as all that it names is there.
//! - What names columns of other leaves through registers comes behind them.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::access::{self, Rank};
use super::{Access, Join, JoinKind, Method, Plan, Scan};
use crate::bind::scope::new_register;
use crate::catalog::relation::Relation;
use crate::error::Result;
use crate::expr::{Comparison, Expr};

/// A table, or what stands in place of one.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) source: Source,
    /// Registers that it reads, and what of the leaves before they hold.
    pub(crate) captures: Vec<(usize, Expr)>,
    /// The positions of its columns in `FROM`.
    pub(crate) columns: Range<usize>,
}

/// Where the rows of a leaf come from.
#[derive(Debug)]
pub(crate) enum Source {
    Table { relation: Arc<Relation>, alias: Arc<str>, for_update: bool },
    Plan(Plan),
}

/// How leaves are joined.
#[derive(Debug)]
pub(crate) enum Tree {
    Leaf(usize),
    Join { kind: JoinKind, left: Box<Tree>, right: Box<Tree>, on: Vec<Expr> },
}

impl Tree {
    pub(crate) fn inner(left: Tree, right: Tree, on: Vec<Expr>) -> Tree {
        Tree::Join { kind: JoinKind::Inner, left: Box::new(left), right: Box::new(right), on }
    }
}

/// A plan, and which columns its rows have.
struct Planned {
    plan: Plan,
    layout: Vec<usize>,
}

/// Plans one `FROM`.
pub(crate) struct Planner<'p> {
    leaves: Vec<Option<Leaf>>,
    registers: &'p Cell<usize>,
}

impl<'p> Planner<'p> {
    pub(crate) fn new(leaves: Vec<Leaf>, registers: &'p Cell<usize>) -> Planner<'p> {
        Planner { leaves: leaves.into_iter().map(Some).collect(), registers }
    }

    /// Plans the joins with the conditions of `WHERE`; the rows have the columns of `FROM` in their order.
    pub(crate) fn plan(mut self, tree: Tree, conditions: Vec<Expr>, count: usize) -> Result<Plan> {
        let Planned { plan, layout } = self.tree(tree, conditions);
        if layout.iter().copied().eq(0..count) {
            return Ok(plan);
        }
        let place = |at: usize| Expr::Column(position(&layout, at));
        Ok(Plan::Project(Box::new(plan), (0..count).map(place).collect()))
    }

    fn tree(&mut self, tree: Tree, conditions: Vec<Expr>) -> Planned {
        match tree {
            Tree::Leaf(at) => {
                let leaf = self.take(at);
                self.alone(leaf, conditions)
            }
            Tree::Join { kind: JoinKind::Inner, .. } => {
                let (mut units, mut all) = (Vec::new(), conditions);
                flatten(tree, &mut units, &mut all);
                self.inner(units, all)
            }
            Tree::Join { kind, left, right, on } => self.outer(kind, *left, *right, on, conditions),
        }
    }

    fn take(&mut self, at: usize) -> Leaf {
        self.leaves[at].take().expect("a leaf is joined once")
    }

    /// The columns of a tree.
    fn columns(&self, tree: &Tree, into: &mut BTreeSet<usize>) {
        match tree {
            Tree::Leaf(at) => {
                let leaf = self.leaves[*at].as_ref().expect("a leaf is joined once");
                into.extend(leaf.columns.clone());
            }
            Tree::Join { left, right, .. } => {
                self.columns(left, into);
                self.columns(right, into);
            }
        }
    }

    /// What must be there before a tree can be read.
    fn needs(&self, tree: &Tree, into: &mut BTreeSet<usize>) {
        match tree {
            Tree::Leaf(at) => {
                let leaf = self.leaves[*at].as_ref().expect("a leaf is joined once");
                for (_, expr) in &leaf.captures {
                    expr.for_each_column(&mut |at| {
                        into.insert(at);
                    });
                }
            }
            Tree::Join { left, right, .. } => {
                self.needs(left, into);
                self.needs(right, into);
                let mut own = BTreeSet::new();
                self.columns(tree, &mut own);
                into.retain(|at| !own.contains(at));
            }
        }
    }

    /// A leaf without others: conditions name its columns alone.
    fn alone(&mut self, mut leaf: Leaf, conditions: Vec<Expr>) -> Planned {
        let captures = std::mem::take(&mut leaf.captures);
        let layout: Vec<usize> = leaf.columns.clone().collect();
        let plan = match leaf.source {
            Source::Table { relation, alias, for_update } => {
                let (_, access) = access::choose(&relation, &leaf.columns, &conditions, &Expr::is_fixed);
                let filter = local(conditions, &layout);
                Plan::Scan(Scan { relation, alias, access, filter, is_reversed: false, for_update })
            }
            Source::Plan(mut plan) => {
                access::choose_key(&mut plan, &leaf.columns, &conditions);
                filtered(plan, local(conditions, &layout))
            }
        };
        let planned = Planned { plan, layout };
        if captures.is_empty() {
            return planned;
        }
        // What it reads of the query around is there before the first row of this one.
        let nothing = Planned { plan: Plan::One, layout: Vec::new() };
        nested(JoinKind::Inner, nothing, planned, captures, Vec::new())
    }

    /// Tables that are joined in any order.
    fn inner(&mut self, units: Vec<Tree>, mut conditions: Vec<Expr>) -> Planned {
        let mut left: Vec<Unit> = units.into_iter().map(|tree| self.unit(tree)).collect();
        let mut placed = BTreeSet::new();
        let first = self.best(&left, &placed, &conditions);
        let unit = left.remove(first);
        placed.extend(unit.columns.iter().copied());
        let own = take_conditions(&mut conditions, &placed);
        let mut joined = self.tree(unit.tree, own);
        while !left.is_empty() {
            let next = self.best(&left, &placed, &conditions);
            let unit = left.remove(next);
            let before = placed.clone();
            placed.extend(unit.columns.iter().copied());
            let here = take_conditions(&mut conditions, &placed);
            joined = self.join(JoinKind::Inner, joined, unit, here, &before);
        }
        Planned { plan: filtered(joined.plan, local(conditions, &joined.layout)), layout: joined.layout }
    }

    fn unit(&self, tree: Tree) -> Unit {
        let (mut columns, mut needs) = (BTreeSet::new(), BTreeSet::new());
        self.columns(&tree, &mut columns);
        self.needs(&tree, &mut needs);
        Unit { tree, columns, needs }
    }

    /// Which of the units comes next.
    fn best(&self, units: &[Unit], placed: &BTreeSet<usize>, conditions: &[Expr]) -> usize {
        let ready = units.iter().enumerate().filter(|(_, unit)| unit.needs.is_subset(placed));
        let best = ready.min_by_key(|(at, unit)| (self.cost(unit, placed, conditions), *at));
        best.map_or(0, |(at, _)| at)
    }

    /// How much a unit is to be read, behind those that are placed.
    fn cost(&self, unit: &Unit, placed: &BTreeSet<usize>, conditions: &[Expr]) -> u8 {
        let knows = |expr: &Expr| is_of(expr, placed);
        let rank = match &unit.tree {
            Tree::Leaf(at) => match &self.leaves[*at] {
                Some(Leaf { source: Source::Table { relation, .. }, columns, .. }) => {
                    access::choose(relation, columns, conditions, &knows).0
                }
                _ => Rank::Bounded,
            },
            Tree::Join { .. } => Rank::All,
        };
        let is_connected = placed.is_empty() || equalities(conditions, placed, &unit.columns).next().is_some();
        match (rank, is_connected) {
            (Rank::One, _) => 0,
            (Rank::Few, _) => 1,
            (Rank::Prefix, _) => 2,
            (Rank::Bounded, true) => 3,
            (Rank::All, true) => 4,
            (Rank::Bounded, false) => 5,
            (Rank::All, false) => 6,
        }
    }

    /// Joins a unit to what is there; `conditions` name columns of both, or of the unit alone.
    fn join(
        &mut self,
        kind: JoinKind,
        left: Planned,
        unit: Unit,
        conditions: Vec<Expr>,
        before: &BTreeSet<usize>,
    ) -> Planned {
        let (own, both): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(|expr| is_of(expr, &unit.columns));
        let (own, both) =
            if kind == JoinKind::Full { (Vec::new(), own.into_iter().chain(both).collect()) } else { (own, both) };
        if let Tree::Leaf(at) = unit.tree {
            let mut leaf = self.take(at);
            if !leaf.captures.is_empty() {
                let captures = std::mem::take(&mut leaf.captures);
                let right = self.alone(leaf, own);
                return nested(kind, left, right, captures, both);
            }
            if let Source::Table { relation, .. } = &leaf.source
                && matches!(kind, JoinKind::Inner | JoinKind::Left)
            {
                let all: Vec<Expr> = own.iter().chain(&both).cloned().collect();
                let (rank, access) = access::choose(relation, &leaf.columns, &all, &|expr| is_of(expr, before));
                if rank == Rank::One || rank <= Rank::Prefix && is_selective(&left.plan) {
                    return self.by_index(kind, left, leaf, access, own, both);
                }
            }
            let right = self.alone(leaf, own);
            return kept(kind, left, right, both);
        }
        let right = self.tree(unit.tree, own);
        kept(kind, left, right, both)
    }

    /// The table on the right is looked up for each row of the left.
    fn by_index(
        &mut self,
        kind: JoinKind,
        left: Planned,
        leaf: Leaf,
        mut access: Access,
        own: Vec<Expr>,
        both: Vec<Expr>,
    ) -> Planned {
        let Source::Table { relation, alias, for_update } = leaf.source else { unreachable!("the leaf is a table") };
        let layout: Vec<usize> = leaf.columns.collect();
        let mut captures = Vec::new();
        access::for_each_expr(&mut access, &mut |expr| {
            if !expr.is_fixed() {
                let register = new_register(self.registers);
                captures.push((register, std::mem::replace(expr, Expr::Register(register))));
            }
        });
        let filter = local(own, &layout);
        let plan = Plan::Scan(Scan { relation, alias, access, filter, is_reversed: false, for_update });
        nested(kind, left, Planned { plan, layout }, captures, both)
    }

    /// An outer join: conditions of `WHERE` go below it only where they name columns that it keeps as they are.
    fn outer(&mut self, kind: JoinKind, left: Tree, right: Tree, on: Vec<Expr>, conditions: Vec<Expr>) -> Planned {
        let (mut left_columns, mut right_columns) = (BTreeSet::new(), BTreeSet::new());
        self.columns(&left, &mut left_columns);
        self.columns(&right, &mut right_columns);
        let mut above = conditions;
        let (mut below_left, mut below_right) = (Vec::new(), Vec::new());
        match kind {
            JoinKind::Left => below_left = take_conditions(&mut above, &left_columns),
            JoinKind::Right => below_right = take_conditions(&mut above, &right_columns),
            _ => {}
        }
        let joined = match kind {
            JoinKind::Right => {
                let mut on = on;
                below_left = take_conditions(&mut on, &left_columns);
                let left = self.tree(left, below_left);
                let right = self.tree(right, below_right);
                kept(kind, left, right, on)
            }
            _ => {
                let left = self.tree(left, below_left);
                let unit = self.unit(right);
                self.join(kind, left, unit, on, &left_columns)
            }
        };
        Planned { plan: filtered(joined.plan, local(above, &joined.layout)), layout: joined.layout }
    }
}

/// A part of an inner join.
struct Unit {
    tree: Tree,
    columns: BTreeSet<usize>,
    needs: BTreeSet<usize>,
}

fn flatten(tree: Tree, units: &mut Vec<Tree>, conditions: &mut Vec<Expr>) {
    match tree {
        Tree::Join { kind: JoinKind::Inner, left, right, on } => {
            flatten(*left, units, conditions);
            flatten(*right, units, conditions);
            conditions.extend(on);
        }
        other => units.push(other),
    }
}

/// Whether an expression names columns of a set alone.
fn is_of(expr: &Expr, columns: &BTreeSet<usize>) -> bool {
    let mut is_so = true;
    expr.for_each_column(&mut |at| is_so &= columns.contains(&at));
    is_so
}

/// Takes the conditions out that name columns of a set alone.
fn take_conditions(conditions: &mut Vec<Expr>, columns: &BTreeSet<usize>) -> Vec<Expr> {
    conditions.extract_if(.., |expr| is_of(expr, columns)).collect()
}

/// Conditions that something on the left equals something on the right, with the two sides in this order.
fn equalities<'c>(
    conditions: &'c [Expr],
    left: &'c BTreeSet<usize>,
    right: &'c BTreeSet<usize>,
) -> impl Iterator<Item = (usize, &'c Expr, &'c Expr)> {
    let names = |expr: &Expr| expr.any(&|part| matches!(part, Expr::Column(_)));
    conditions.iter().enumerate().filter_map(move |(at, condition)| {
        let Expr::Compare(parts) = condition else { return None };
        let (Comparison::Equal, a, b) = &**parts else { return None };
        if !names(a) || !names(b) || a.is_volatile() || b.is_volatile() {
            return None;
        }
        match (is_of(a, left) && is_of(b, right), is_of(b, left) && is_of(a, right)) {
            (true, _) => Some((at, a, b)),
            (_, true) => Some((at, b, a)),
            _ => None,
        }
    })
}

/// Where a column lies in rows with this layout.
fn position(layout: &[usize], column: usize) -> usize {
    layout.iter().position(|at| *at == column).expect("the row has the column")
}

/// All of the conditions, on rows with this layout.
fn local(conditions: Vec<Expr>, layout: &[usize]) -> Option<Expr> {
    Expr::all(conditions).map(|expr| moved(expr, layout))
}

fn moved(mut expr: Expr, layout: &[usize]) -> Expr {
    expr.move_columns(&|at| position(layout, at));
    expr
}

fn filtered(plan: Plan, condition: Option<Expr>) -> Plan {
    match condition {
        Some(condition) => Plan::Filter(Box::new(plan), condition),
        None => plan,
    }
}

/// Whether a plan is likely to give few rows.
fn is_selective(plan: &Plan) -> bool {
    match plan {
        Plan::One | Plan::Values(_) | Plan::Limit(_) | Plan::Series(_) => true,
        Plan::Scan(scan) => !matches!(scan.access, Access::All),
        Plan::Filter(input, _) | Plan::Project(input, _) => is_selective(input),
        Plan::Join(join) => is_selective(&join.left),
        _ => false,
    }
}

/// The right is opened for each row of the left.
fn nested(
    kind: JoinKind,
    left: Planned,
    right: Planned,
    captures: Vec<(usize, Expr)>,
    conditions: Vec<Expr>,
) -> Planned {
    let captures = captures.into_iter().map(|(register, expr)| (register, moved(expr, &left.layout))).collect();
    join(kind, left, right, Method::Nested(captures), conditions)
}

/// The right is kept, by key where there are equalities.
fn kept(kind: JoinKind, left: Planned, right: Planned, mut conditions: Vec<Expr>) -> Planned {
    let left_columns = left.layout.iter().copied().collect();
    let right_columns = right.layout.iter().copied().collect();
    let (mut used, mut left_keys, mut right_keys) = (Vec::new(), Vec::new(), Vec::new());
    for (at, a, b) in equalities(&conditions, &left_columns, &right_columns) {
        used.push(at);
        left_keys.push(moved(a.clone(), &left.layout));
        right_keys.push(moved(b.clone(), &right.layout));
    }
    let mut at = 0;
    conditions.retain(|_| {
        at += 1;
        !used.contains(&(at - 1))
    });
    let method = match used.is_empty() {
        true => Method::Loop,
        false => Method::Hash { left: left_keys, right: right_keys },
    };
    join(kind, left, right, method, conditions)
}

fn join(kind: JoinKind, left: Planned, right: Planned, method: Method, conditions: Vec<Expr>) -> Planned {
    let (left_columns, right_columns) = (left.layout.len(), right.layout.len());
    let layout: Vec<usize> = left.layout.iter().chain(&right.layout).copied().collect();
    let condition = local(conditions, &layout);
    let (left, right) = (left.plan, right.plan);
    let plan = Plan::Join(Box::new(Join { kind, left, right, left_columns, right_columns, method, condition }));
    Planned { plan, layout }
}
