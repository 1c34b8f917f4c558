//! Simple queries in `FROM`, views among them: their tables are joined with those around them, as if the query had named these
//! itself. So conditions find rows by indexes through them, and the order of joins is chosen for all tables together.
//!
//! Invariants:
//! - A query is simple if its rows are those of its tables, each with a list of expressions: it does not group, sort, limit or
//!   lock, no expression changes from one evaluation to the next, and there is no subquery in the list.
//! - Its conditions are checked no later than those around it, which may rely on them.
//! - Where an outer join leaves its rows out, its list is NULL: an expression asks first whether there is a row, by a column of a
//!   key, which is NULL only there.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::join::{Leaf, Source, Tree};
use super::{JoinKind, Plan};
use crate::expr::{Case, Expr};

/// So many tables are joined in one order: more are planned query by query.
const TABLES_MAX: usize = 32;
/// So many parts of expressions a list may have, which are repeated wherever its columns are named.
const PARTS_MAX: usize = 200;

/// Tables with conditions on them, and expressions over their rows. Columns are those of all leaves, one after the other.
#[derive(Debug)]
pub(crate) struct Simple {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) tree: Tree,
    pub(crate) conditions: Vec<Expr>,
    pub(crate) list: Vec<Expr>,
}

/// As [`Simple`], without simple queries among the leaves. Those that are gone have left their places empty.
pub(super) struct Pulled {
    pub(super) leaves: Vec<Option<Leaf>>,
    pub(super) tree: Tree,
    pub(super) conditions: Vec<Expr>,
    pub(super) list: Vec<Expr>,
}

impl Simple {
    /// Whether it may be a part of the query around it.
    pub(crate) fn is_apt(&self) -> bool {
        let is_repeatable = |expr: &Expr| !expr.any(&|part| matches!(part, Expr::Subquery(_)));
        let mut exprs = self.conditions.iter().chain(&self.list);
        exprs.all(|expr| !expr.is_volatile()) && self.list.iter().all(is_repeatable) && self.is_short()
    }

    fn is_short(&self) -> bool {
        let count = Cell::new(0);
        self.list.iter().all(|expr| {
            !expr.any(&|_| {
                count.set(count.get() + 1);
                count.get() > PARTS_MAX
            })
        })
    }

    /// A column that is not NULL in any of its rows.
    fn present(&self) -> Option<usize> {
        let mut tree = &self.tree;
        loop {
            match tree {
                Tree::Leaf(at) => {
                    let leaf = &self.leaves[*at];
                    let Source::Table { relation, .. } = &leaf.source else { return None };
                    return Some(leaf.columns.start + relation.key[0]);
                }
                Tree::Join { kind: JoinKind::Inner | JoinKind::Left, left, .. } => tree = left,
                Tree::Join { kind: JoinKind::Right, right, .. } => tree = right,
                Tree::Join { kind: JoinKind::Full, .. } => return None,
            }
        }
    }

    /// Makes all that is not a column of its list NULL where `present` is.
    fn may_be_absent(&mut self, present: usize) {
        for expr in self.list.iter_mut().filter(|expr| !matches!(expr, Expr::Column(_))) {
            let otherwise = std::mem::replace(expr, Expr::NULL);
            let branches = vec![(Expr::IsNull(Box::new(Expr::Column(present))), Expr::NULL)];
            *expr = Expr::Case(Box::new(Case { operand: None, branches, otherwise }));
        }
    }

    fn width(&self) -> usize {
        self.leaves.last().map_or(0, |leaf| leaf.columns.end)
    }

    /// Makes the simple queries among its leaves parts of it; those for which that cannot be are planned by `plan`.
    pub(super) fn pull(self, plan: &dyn Fn(Simple) -> Plan) -> Pulled {
        let next = self.width();
        let leaves = self.leaves.into_iter().map(Some).collect();
        let mut pull = Pull { leaves, next, named: BTreeMap::new(), plan };
        let (mut tree, mut conditions) = pull.tree(self.tree, false, true);
        let outer = conditions.len();
        conditions.extend(self.conditions);
        let Pull { mut leaves, named, .. } = pull;
        let mut list = self.list;
        if !named.is_empty() {
            let meant = |at: usize| named.get(&at).cloned();
            tree.for_each_condition(&mut |expr| expr.replace_columns(&meant));
            let captures = leaves.iter_mut().flatten().flat_map(|leaf| &mut leaf.captures).map(|(_, expr)| expr);
            let others = conditions[outer..].iter_mut().chain(&mut list).chain(captures);
            others.for_each(|expr| expr.replace_columns(&meant));
        }
        Pulled { leaves, tree, conditions, list }
    }
}

impl From<Pulled> for Simple {
    /// Gives the leaves that are there the places one after the other.
    fn from(pulled: Pulled) -> Simple {
        let Pulled { leaves, mut tree, mut conditions, mut list } = pulled;
        let mut places = Vec::with_capacity(leaves.len());
        let mut columns: BTreeMap<usize, usize> = BTreeMap::new();
        let (mut kept, mut next) = (Vec::new(), 0);
        for leaf in leaves {
            places.push(kept.len());
            let Some(mut leaf) = leaf else { continue };
            columns.insert(leaf.columns.start, next);
            leaf.columns = next..next + leaf.columns.len();
            next = leaf.columns.end;
            kept.push(leaf);
        }
        let moved = |at: usize| match columns.range(..=at).next_back() {
            Some((from, to)) => to + (at - from),
            None => at,
        };
        tree.move_leaves(&|at| places[at]);
        tree.for_each_condition(&mut |expr| expr.move_columns(&moved));
        conditions.iter_mut().chain(&mut list).for_each(|expr| expr.move_columns(&moved));
        kept.iter_mut().flat_map(|leaf| &mut leaf.captures).for_each(|(_, expr)| expr.move_columns(&moved));
        Simple { leaves: kept, tree, conditions, list }
    }
}

struct Pull<'p> {
    leaves: Vec<Option<Leaf>>,
    /// The next position of a column that is free.
    next: usize,
    /// What the columns of queries are that are parts now.
    named: BTreeMap<usize, Expr>,
    plan: &'p dyn Fn(Simple) -> Plan,
}

impl Pull<'_> {
    /// Returns the tree with the tables of simple queries, and what must hold of its rows. `is_absent`: a join around may leave
    /// its rows out. `filters`: something may be asked of its rows.
    fn tree(&mut self, tree: Tree, is_absent: bool, filters: bool) -> (Tree, Vec<Expr>) {
        let (kind, left, right, on) = match tree {
            Tree::Leaf(at) => return self.leaf(at, is_absent, filters),
            Tree::Join { kind, left, right, on } => (kind, left, right, on),
        };
        let (left_absent, right_absent, filters_left, filters_right) = match kind {
            JoinKind::Inner => (is_absent, is_absent, true, true),
            JoinKind::Left => (is_absent, true, filters, true),
            JoinKind::Right => (true, is_absent, true, filters),
            JoinKind::Full => (true, true, false, false),
        };
        let (left, mut of_left) = self.tree(*left, left_absent, filters_left);
        let (right, mut of_right) = self.tree(*right, right_absent, filters_right);
        // Of rows that the join keeps in any case something is asked above it, of all others within.
        let above = match kind {
            JoinKind::Left => std::mem::take(&mut of_left),
            JoinKind::Right => std::mem::take(&mut of_right),
            JoinKind::Inner | JoinKind::Full => Vec::new(),
        };
        let on = of_left.into_iter().chain(of_right).chain(on).collect();
        (Tree::Join { kind, left: Box::new(left), right: Box::new(right), on }, above)
    }

    fn leaf(&mut self, at: usize, is_absent: bool, filters: bool) -> (Tree, Vec<Expr>) {
        let tables = self.leaves.iter().flatten().count();
        match self.leaves[at].take() {
            Some(Leaf { source: Source::Simple(mut simple), captures, columns }) => {
                let is_of_columns = simple.list.iter().all(|expr| matches!(expr, Expr::Column(_)));
                let present = if is_absent && !is_of_columns { simple.present() } else { None };
                let fits = captures.is_empty()
                    && (filters || simple.conditions.is_empty())
                    && (!is_absent || is_of_columns || present.is_some())
                    && tables + simple.leaves.len() <= TABLES_MAX;
                if fits {
                    present.into_iter().for_each(|present| simple.may_be_absent(present));
                    return self.splice(columns.start, *simple);
                }
                let source = Source::Plan((self.plan)(*simple));
                self.leaves[at] = Some(Leaf { source, captures, columns });
            }
            other => self.leaves[at] = other,
        }
        (Tree::Leaf(at), Vec::new())
    }

    /// Adds the leaves of a query whose first column was at `start`.
    fn splice(&mut self, start: usize, simple: Simple) -> (Tree, Vec<Expr>) {
        let (columns, leaves) = (self.next, self.leaves.len());
        self.next += simple.width();
        let moved = |mut expr: Expr| {
            expr.move_columns(&|at| at + columns);
            expr
        };
        for mut leaf in simple.leaves {
            leaf.columns = leaf.columns.start + columns..leaf.columns.end + columns;
            leaf.captures = leaf.captures.into_iter().map(|(register, expr)| (register, moved(expr))).collect();
            self.leaves.push(Some(leaf));
        }
        self.named.extend(simple.list.into_iter().enumerate().map(|(at, expr)| (start + at, moved(expr))));
        let mut tree = simple.tree;
        tree.move_leaves(&|at| at + leaves);
        tree.for_each_condition(&mut |expr| expr.move_columns(&|at| at + columns));
        (tree, simple.conditions.into_iter().map(moved).collect())
    }
}
