//! In which order tables are joined, and how.
//!
//! Inner joins are taken apart, and put together in the order that costs least ([`order`](super::order)). Outer joins stay where
//! they are: of each it is chosen how it is joined, and which of its sides is kept.
//!
//! Invariants:
//! - Expressions name columns by their position in `FROM` until they are attached to an operator: [`Planned::layout`] says where
//!   these lie in its rows.
//! - Every condition is checked once, as soon as all that it names is there.
//! - What names columns of other leaves through registers comes behind them.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::access::{self, Path};
use super::estimate::selectivity::Origins;
use super::estimate::{Estimate, Estimator, Origin, Read};
use super::pull::{Pulled, Simple};
use super::{Access, Join, JoinKind, Method, Plan, RowLock, Scan};
use crate::bind::scope::new_register;
use crate::catalog::relation::Relation;
use crate::expr::{Comparison, Expr};
use crate::types::Type;

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
    Table {
        relation: Arc<Relation>,
        alias: Arc<str>,
        lock: RowLock,
    },
    Plan(Plan),
    /// A query that may be a part of the one around it.
    Simple(Box<Simple>),
}

/// How leaves are joined.
#[derive(Debug)]
pub(crate) enum Tree {
    Leaf(usize),
    Join { kind: JoinKind, left: Box<Tree>, right: Box<Tree>, on: Vec<Expr> },
}

impl Tree {
    /// The leaves that it has.
    pub(super) fn leaves(&self, into: &mut Vec<usize>) {
        match self {
            Tree::Leaf(at) => into.push(*at),
            Tree::Join { left, right, .. } => {
                left.leaves(into);
                right.leaves(into);
            }
        }
    }

    /// Changes the places of its leaves.
    pub(super) fn move_leaves(&mut self, place: &dyn Fn(usize) -> usize) {
        match self {
            Tree::Leaf(at) => *at = place(*at),
            Tree::Join { left, right, .. } => {
                left.move_leaves(place);
                right.move_leaves(place);
            }
        }
    }

    pub(super) fn for_each_condition(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        if let Tree::Join { left, right, on, .. } = self {
            left.for_each_condition(visit);
            right.for_each_condition(visit);
            on.iter_mut().for_each(visit);
        }
    }

    /// The leaves that are parts of inner joins alone, and the conditions of these.
    pub(crate) fn inner_parts(&self, leaves: &mut Vec<usize>, conditions: &mut Vec<Expr>) {
        match self {
            Tree::Leaf(at) => leaves.push(*at),
            Tree::Join { kind: JoinKind::Inner, left, right, on } => {
                left.inner_parts(leaves, conditions);
                right.inner_parts(leaves, conditions);
                conditions.extend(on.iter().cloned());
            }
            Tree::Join { .. } => {}
        }
    }

    pub(crate) fn inner(left: Tree, right: Tree, on: Vec<Expr>) -> Tree {
        Tree::Join { kind: JoinKind::Inner, left: Box::new(left), right: Box::new(right), on }
    }
}

/// A plan, and which columns its rows have.
pub(super) struct Planned {
    pub(super) plan: Plan,
    pub(super) layout: Vec<usize>,
    /// What is known of its rows, where somebody has asked.
    estimate: OnceCell<Estimate>,
    /// The columns by which its rows come ordered, where a merge can use that: NULL is first.
    pub(super) order: Vec<usize>,
    /// Whether it gives one row at most.
    pub(super) is_single: bool,
}

impl Planned {
    pub(super) fn new(plan: Plan, layout: Vec<usize>) -> Planned {
        Planned { plan, layout, estimate: OnceCell::new(), order: Vec::new(), is_single: false }
    }

    pub(super) fn estimate(&self, estimator: &Estimator<'_>) -> &Estimate {
        self.estimate.get_or_init(|| estimator.plan(&self.plan))
    }
}

/// Plans one `FROM`.
pub(crate) struct Planner<'p> {
    leaves: Vec<Option<Leaf>>,
    /// The types of the columns of tables.
    types: Vec<(Range<usize>, Arc<Relation>)>,
    registers: &'p Cell<usize>,
    pub(super) estimator: &'p Estimator<'p>,
    /// Which columns of tables the columns are, as far as that was asked for.
    pub(super) origins: Vec<Option<Origin>>,
}

impl<'p> Planner<'p> {
    /// Plans joins with the conditions of `WHERE`; the rows are those of the list.
    pub(crate) fn plan(query: Simple, registers: &'p Cell<usize>, estimator: &'p Estimator<'p>) -> Plan {
        let Pulled { leaves, tree, conditions, list } = pulled(query, registers, estimator);
        let table = |leaf: &Leaf| match &leaf.source {
            Source::Table { relation, .. } => Some((leaf.columns.clone(), relation.clone())),
            Source::Plan(_) | Source::Simple(_) => None,
        };
        let is_joined = leaves.iter().flatten().count() > 1;
        let types = if is_joined { leaves.iter().flatten().filter_map(table).collect() } else { Vec::new() };
        let mut planner = Planner { leaves, types, registers, estimator, origins: Vec::new() };
        let Planned { plan, layout, .. } = planner.tree(tree, conditions);
        if layout.len() == list.len() && layout.iter().zip(&list).all(|(at, expr)| *expr == Expr::Column(*at)) {
            return plan;
        }
        Plan::Project(Box::new(plan), list.into_iter().map(|expr| moved(expr, &layout)).collect())
    }

    /// Makes the simple queries in `FROM` parts of a query which is that, too; if it is too long for that, it is planned.
    pub(crate) fn simple(query: Simple, registers: &Cell<usize>, estimator: &Estimator<'_>) -> Source {
        let query = Simple::from(pulled(query, registers, estimator));
        match query.is_apt() {
            true => Source::Simple(Box::new(query)),
            false => Source::Plan(Planner::plan(query, registers, estimator)),
        }
    }

    pub(super) fn tree(&mut self, tree: Tree, conditions: Vec<Expr>) -> Planned {
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
            Tree::Join { kind: JoinKind::Right, left, right, on } => {
                self.outer(JoinKind::Left, (*right, *left), on, conditions)
            }
            Tree::Join { kind, left, right, on } => self.outer(kind, (*left, *right), on, conditions),
        }
    }

    pub(super) fn take(&mut self, at: usize) -> Leaf {
        self.leaves[at].take().expect("a leaf is joined once")
    }

    pub(super) fn leaf(&mut self, at: usize) -> &mut Leaf {
        self.leaves[at].as_mut().expect("a leaf is joined once")
    }

    pub(super) fn new_register(&self) -> usize {
        new_register(self.registers)
    }

    /// The type of a column, if a table has it.
    pub(super) fn type_of(&self, column: usize) -> Option<Type> {
        let at = self.types.partition_point(|(columns, _)| columns.end <= column);
        let (columns, relation) = self.types.get(at).filter(|(columns, _)| columns.contains(&column))?;
        Some(relation.columns[column - columns.start].declared.ty)
    }

    /// Notes which columns of tables those of a plan are.
    pub(super) fn note(&mut self, planned: &Planned) {
        let estimate = planned.estimate(self.estimator);
        let end = planned.layout.iter().max().map_or(0, |last| last + 1);
        if self.origins.len() < end {
            self.origins.resize(end, None);
        }
        for (at, origin) in planned.layout.iter().zip(&estimate.columns) {
            self.origins[*at].clone_from(origin);
        }
    }

    /// The columns of a tree.
    pub(super) fn columns(&self, tree: &Tree, into: &mut BTreeSet<usize>) {
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

    /// A leaf without others: conditions name its columns alone.
    pub(super) fn alone(&mut self, mut leaf: Leaf, conditions: Vec<Expr>) -> Planned {
        let captures = std::mem::take(&mut leaf.captures);
        let layout: Vec<usize> = leaf.columns.clone().collect();
        let (mut is_single, mut order) = (false, Vec::new());
        let plan = match leaf.source {
            Source::Table { relation, alias, lock } => {
                let chosen = self.access((&relation, lock), &leaf.columns, &conditions);
                is_single = chosen.is_single;
                // A row that is locked after it was found may have moved by then.
                if !self.types.is_empty() && !lock.is_later() {
                    order = access::order(&relation, &chosen.access).map(|at| leaf.columns.start + at).collect();
                }
                let filter = local(conditions, &layout);
                let access = chosen.access;
                Plan::Scan(Scan { relation, alias, access, filter, is_reversed: false, is_ordered: false, lock })
            }
            Source::Plan(mut plan) => {
                access::choose_key(&mut plan, &leaf.columns, &conditions);
                let conditions = conditions.into_iter().filter_map(|condition| local(vec![condition], &layout));
                let above = conditions.filter_map(|condition| self.push(&mut plan, condition)).collect();
                filtered(plan, Expr::all(above))
            }
            Source::Simple(_) => unreachable!("it is a part of the query, or planned"),
        };
        let planned = Planned { is_single, order, ..Planned::new(plan, layout) };
        if captures.is_empty() {
            return planned;
        }
        // What it reads of the query around is there before the first row of this one.
        let nothing = Planned { is_single: true, ..Planned::new(Plan::One, Vec::new()) };
        self.nested(JoinKind::Inner, nothing, planned, captures, Vec::new())
    }

    /// How the rows of a table are found that conditions on it leave.
    pub(super) fn access(
        &self,
        (relation, lock): (&Arc<Relation>, RowLock),
        columns: &Range<usize>,
        conditions: &[Expr],
    ) -> access::Chosen {
        let mut known: Option<Columns> = None;
        access::choose(relation, columns, conditions, &mut |path, sargs| {
            let known = known.get_or_insert_with(|| {
                let origins = self.estimator.columns(relation);
                Columns { start: columns.start, origins }
            });
            let used: Vec<&access::Sarg<'_>> = path.into_iter().flat_map(Path::sargs).map(|at| &sargs[at]).collect();
            let computed: Vec<Option<Expr>> =
                used.iter().map(|sarg| sarg.of_computed(relation, columns.start)).collect();
            let said = used.iter().zip(&computed);
            let said = said.map(|(sarg, computed)| computed.as_ref().unwrap_or(&conditions[sarg.condition]));
            let rows = self.estimator.table_rows(relation);
            let read = Read {
                rows: (rows * self.estimator.selectivity(said, known)).max(1.0),
                descents: f64::from(u8::from(path.is_some())),
                is_secondary: path.is_some_and(|path| path.index.is_some()),
                is_all: path.is_none(),
                is_locked: lock != RowLock::None,
                conditions: conditions.len() - used.len().min(conditions.len()),
            };
            self.estimator.preferences.read(read).total
        })
    }

    /// A join in which the right is opened for each row of the left.
    pub(super) fn nested(
        &self,
        kind: JoinKind,
        left: Planned,
        right: Planned,
        captures: Vec<(usize, Expr)>,
        conditions: Vec<Expr>,
    ) -> Planned {
        let captures = captures.into_iter().map(|(register, expr)| (register, moved(expr, &left.layout))).collect();
        self.join(kind, left, right, Method::Nested(captures), conditions)
    }

    /// The table on the right is looked up for each row of the left.
    pub(super) fn looked_up(
        &self,
        kind: JoinKind,
        left: Planned,
        table: Table,
        (mut access, is_single): (Access, bool),
        (own, both): (Vec<Expr>, Vec<Expr>),
    ) -> Planned {
        let Table { relation, alias, lock, columns } = table;
        let layout: Vec<usize> = columns.collect();
        let mut captures = Vec::new();
        access::for_each_expr(&mut access, &mut |expr| {
            if !expr.is_fixed() {
                let register = self.new_register();
                if let Expr::Column(at) = expr {
                    self.estimator.hold(register, self.origins.column(*at));
                }
                captures.push((register, std::mem::replace(expr, Expr::Register(register))));
            }
        });
        let filter = local(own, &layout);
        let plan = Plan::Scan(Scan { relation, alias, access, filter, is_reversed: false, is_ordered: false, lock });
        let right = Planned { is_single, ..Planned::new(plan, layout) };
        self.nested(kind, left, right, captures, both)
    }

    /// A join whose right is kept and looked up by keys, or through where there are none.
    pub(super) fn kept(
        &self,
        kind: JoinKind,
        left: Planned,
        right: Planned,
        keys: Vec<(Expr, Expr)>,
        conditions: Vec<Expr>,
    ) -> Planned {
        let method = match keys.is_empty() {
            true => Method::Loop,
            false => {
                let (left_keys, right_keys) = keys_of(keys, &left.layout, &right.layout);
                Method::Hash { left: left_keys, right: right_keys }
            }
        };
        self.join(kind, left, right, method, conditions)
    }

    /// A join of sides that come in the order of keys.
    pub(super) fn merged(
        &self,
        kind: JoinKind,
        left: Planned,
        right: Planned,
        keys: Vec<(Expr, Expr)>,
        conditions: Vec<Expr>,
    ) -> Planned {
        let (left_keys, right_keys) = keys_of(keys, &left.layout, &right.layout);
        self.join(kind, left, right, Method::Merge { left: left_keys, right: right_keys }, conditions)
    }

    fn join(&self, kind: JoinKind, left: Planned, right: Planned, method: Method, conditions: Vec<Expr>) -> Planned {
        let (left_columns, right_columns) = (left.layout.len(), right.layout.len());
        let layout: Vec<usize> = left.layout.iter().chain(&right.layout).copied().collect();
        let condition = local(conditions, &layout);
        let known = left.estimate.get().is_some();
        let (left_known, right_known) = match known {
            true => (left.estimate.get().cloned(), Some(right.estimate(self.estimator).clone())),
            false => (None, None),
        };
        let is_single = left.is_single && right.is_single && kind != JoinKind::Full;
        let keeps_order = matches!(kind, JoinKind::Inner | JoinKind::Left);
        let order = if keeps_order { left.order } else { Vec::new() };
        let (left, right) = (left.plan, right.plan);
        let join = Join { kind, left, right, left_columns, right_columns, method, condition };
        let estimate = OnceCell::new();
        if let (Some(left), Some(right)) = (left_known, right_known) {
            drop(estimate.set(self.estimator.joined(&join, &left, &right)));
        }
        Planned { estimate, order, is_single, ..Planned::new(Plan::Join(Box::new(join)), layout) }
    }
}

fn pulled(query: Simple, registers: &Cell<usize>, estimator: &Estimator<'_>) -> Pulled {
    query.pull(&|part| Planner::plan(part, registers, estimator))
}

/// What is known of the columns of one table among those of `FROM`.
struct Columns {
    start: usize,
    origins: Vec<Option<Origin>>,
}

impl Origins for Columns {
    fn column(&self, at: usize) -> Option<&Origin> {
        self.origins.column(at.checked_sub(self.start)?)
    }
}

/// A table that can be looked up.
#[derive(Clone)]
pub(super) struct Table {
    pub(super) relation: Arc<Relation>,
    alias: Arc<str>,
    pub(super) lock: RowLock,
    pub(super) columns: Range<usize>,
}

impl Table {
    pub(super) fn of(leaf: &Leaf) -> Option<Table> {
        let Source::Table { relation, alias, lock } = &leaf.source else { return None };
        let (relation, alias) = (relation.clone(), alias.clone());
        Some(Table { relation, alias, lock: *lock, columns: leaf.columns.clone() })
    }
}

/// The keys of both sides, on their rows.
fn keys_of(keys: Vec<(Expr, Expr)>, left: &[usize], right: &[usize]) -> (Vec<Expr>, Vec<Expr>) {
    keys.into_iter().map(|(a, b)| (moved(a, left), moved(b, right))).unzip()
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
pub(super) fn is_of(expr: &Expr, columns: &BTreeSet<usize>) -> bool {
    let mut is_so = true;
    expr.for_each_column(&mut |at| is_so &= columns.contains(&at));
    is_so
}

/// Takes the conditions out that name columns of a set alone.
pub(super) fn take_conditions(conditions: &mut Vec<Expr>, columns: &BTreeSet<usize>) -> Vec<Expr> {
    conditions.extract_if(.., |expr| is_of(expr, columns)).collect()
}

/// The sides of a condition that something equals something else, where they can be keys.
pub(super) fn sides(condition: &Expr) -> Option<(&Expr, &Expr)> {
    let names = |expr: &Expr| expr.any(&|part| matches!(part, Expr::Column(_)));
    let Expr::Compare(parts) = condition else { return None };
    let (Comparison::Equal, a, b) = &**parts else { return None };
    (names(a) && names(b) && !a.is_volatile() && !b.is_volatile()).then_some((a, b))
}

/// Where a column lies in rows with this layout.
fn position(layout: &[usize], column: usize) -> usize {
    layout.iter().position(|at| *at == column).expect("the row has the column")
}

/// All of the conditions, on rows with this layout.
pub(super) fn local(conditions: Vec<Expr>, layout: &[usize]) -> Option<Expr> {
    Expr::all(conditions).map(|expr| moved(expr, layout))
}

fn moved(mut expr: Expr, layout: &[usize]) -> Expr {
    expr.move_columns(&|at| position(layout, at));
    expr
}

pub(super) fn filtered(plan: Plan, condition: Option<Expr>) -> Plan {
    match condition {
        Some(condition) => Plan::Filter(Box::new(plan), condition),
        None => plan,
    }
}
