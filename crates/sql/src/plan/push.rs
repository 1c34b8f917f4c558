//! Conditions on what a view or a subquery gives go down to the tables that it reads: these are found by their keys, and of
//! rows that are locked there are no more than are meant.
//!
//! Invariants:
//! - A condition goes down if it gives the same for the same row, and what it reads does: nothing is evaluated twice that may
//!   differ, nor a subquery.
//! - It is checked behind the conditions that are there.
//! - An order that something above relies on stays.

use std::collections::BTreeSet;

use super::join::{Planner, is_of, local};
use super::{Access, Changed, JoinKind, Method, Plan, Scan};
use crate::expr::Expr;

impl Planner<'_> {
    /// Puts a condition on the rows of a plan as far down as it goes. `Some`: it goes no further than above the plan.
    pub(super) fn push(&self, plan: &mut Plan, condition: Expr) -> Option<Expr> {
        if is_movable(&condition) { self.push_movable(plan, condition) } else { Some(condition) }
    }

    fn push_movable(&self, plan: &mut Plan, condition: Expr) -> Option<Expr> {
        match plan {
            Plan::Scan(scan) => {
                self.push_to_scan(scan, condition);
                None
            }
            Plan::Filter(input, known) => {
                if let Some(condition) = self.push_movable(input, condition) {
                    let mut all = Vec::new();
                    std::mem::replace(known, Expr::NULL).split(&mut all);
                    all.push(condition);
                    *known = Expr::And(all);
                }
                None
            }
            Plan::Project(input, exprs) => {
                let Some(below) = through(&condition, exprs) else { return Some(condition) };
                self.put(input, below);
                None
            }
            Plan::Sort(input, _) | Plan::Distinct(input, None) => {
                self.put(input, condition);
                None
            }
            Plan::Append(plans) => {
                for plan in plans {
                    self.put(plan, condition.clone());
                }
                None
            }
            Plan::Lock(lock) => {
                if let Changed::Checked(known) = &mut lock.changed {
                    let mut all = Vec::new();
                    known.take().into_iter().for_each(|known| known.split(&mut all));
                    all.push(condition.clone());
                    *known = Expr::all(all);
                }
                self.put(&mut lock.input, condition);
                None
            }
            Plan::Join(join) if !matches!(join.method, Method::Merge { .. }) => {
                let left: BTreeSet<usize> = (0..join.left_columns).collect();
                let right: Vec<usize> = (join.left_columns..join.left_columns + join.right_columns).collect();
                let keeps_left = matches!(join.kind, JoinKind::Inner | JoinKind::Left);
                if keeps_left && is_of(&condition, &left) {
                    self.put(&mut join.left, condition);
                    return None;
                }
                let is_right = is_of(&condition, &right.iter().copied().collect());
                if join.kind != JoinKind::Inner || !is_right || matches!(join.method, Method::Nested(_)) {
                    return Some(condition);
                }
                let below = local(vec![condition], &right)?;
                self.put(&mut join.right, below);
                None
            }
            _ => Some(condition),
        }
    }

    /// Puts a condition into a plan, or above it.
    fn put(&self, plan: &mut Plan, condition: Expr) {
        if let Some(condition) = self.push_movable(plan, condition) {
            let input = std::mem::replace(plan, Plan::Nothing);
            *plan = Plan::Filter(Box::new(input), condition);
        }
    }

    /// One more condition of a scan, which may open a better way to the rows.
    fn push_to_scan(&self, scan: &mut Scan, condition: Expr) {
        let mut all = Vec::new();
        scan.filter.take().into_iter().for_each(|known| known.split(&mut all));
        all.push(condition);
        if matches!(scan.access, Access::All) && !scan.is_reversed && !scan.is_ordered {
            let columns = 0..scan.relation.columns.len();
            scan.access = self.access((&scan.relation, scan.lock), &columns, &all).access;
        }
        scan.filter = Expr::all(all);
    }
}

/// Whether an expression can be evaluated at another place.
fn is_movable(expr: &Expr) -> bool {
    !expr.is_volatile() && !expr.any(&|part| matches!(part, Expr::Subquery(_)))
}

/// A condition on rows of expressions as one on the rows below, if these can be evaluated once more.
fn through(condition: &Expr, exprs: &[Expr]) -> Option<Expr> {
    let mut is_possible = true;
    condition.for_each_column(&mut |at| is_possible &= exprs.get(at).is_some_and(is_movable));
    let mut below = condition.clone();
    below.replace_columns(&|at| exprs.get(at).cloned());
    is_possible.then_some(below)
}
