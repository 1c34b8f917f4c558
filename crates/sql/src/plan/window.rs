//! Window functions: what is computed for each row from the rows around it.
//!
//! Invariants:
//! - A call reads the rows of the input alone, never what another call of the same query gives.
//! - Calls whose rows are in the same order share a [`WindowPass`], and a pass whose order the one before has left sorts nothing.

use super::{Plan, SortKey};
use crate::expr::Expr;
use crate::function::{self, ResolvedAggregate};

/// The operator: rows of the input, with what each call gives behind them, pass by pass.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) input: Plan,
    pub(crate) passes: Vec<WindowPass>,
}

/// Calls over rows in one order.
#[derive(Debug)]
pub(crate) struct WindowPass {
    /// What partitions are told apart by, followed by what the rows in them are ordered by.
    pub(crate) keys: Vec<SortKey>,
    /// How many of the keys are those of partitions.
    pub(crate) partition: usize,
    /// Whether rows come in this order already.
    pub(crate) is_sorted: bool,
    pub(crate) calls: Vec<WindowCall>,
}

/// A call of a function with `OVER`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WindowCall {
    pub(crate) function: WindowFunction,
    pub(crate) arguments: Vec<Expr>,
    pub(crate) filter: Option<Expr>,
    pub(crate) partition: Vec<Expr>,
    pub(crate) order: Vec<SortKey>,
    pub(crate) frame: Frame,
}

/// What is called.
#[derive(Clone, Debug)]
pub(crate) enum WindowFunction {
    /// An aggregate, by its name.
    Aggregate(String, ResolvedAggregate),
    Own(function::Window),
}

impl PartialEq for WindowFunction {
    fn eq(&self, other: &WindowFunction) -> bool {
        match (self, other) {
            (WindowFunction::Aggregate(a, of_a), WindowFunction::Aggregate(b, of_b)) => {
                a == b && of_a.arguments == of_b.arguments
            }
            (WindowFunction::Own(a), WindowFunction::Own(b)) => a == b,
            _ => false,
        }
    }
}

/// Which rows of a partition a function sees.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) unit: Unit,
    pub(crate) start: Bound,
    pub(crate) end: Bound,
    pub(crate) exclusion: Exclusion,
    /// How offsets of `RANGE` are added to what rows are ordered by.
    pub(crate) distance: Option<Distance>,
}

impl Frame {
    /// `RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW`.
    pub(crate) fn standard() -> Frame {
        Frame {
            unit: Unit::Range,
            start: Bound::UnboundedPreceding,
            end: Bound::CurrentRow,
            exclusion: Exclusion::Nothing,
            distance: None,
        }
    }
}

/// What bounds count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Rows,
    Range,
    Groups,
}

impl Unit {
    /// The keyword.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Rows => "ROWS",
            Unit::Range => "RANGE",
            Unit::Groups => "GROUPS",
        }
    }
}

/// Where a frame starts or ends; offsets read no column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Bound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

impl Bound {
    /// The offset, if there is one.
    pub(crate) fn offset(&self) -> Option<&Expr> {
        match self {
            Bound::Preceding(offset) | Bound::Following(offset) => Some(offset),
            _ => None,
        }
    }

    pub(crate) fn offset_mut(&mut self) -> Option<&mut Expr> {
        match self {
            Bound::Preceding(offset) | Bound::Following(offset) => Some(offset),
            _ => None,
        }
    }
}

/// Which rows of a frame are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exclusion {
    Nothing,
    CurrentRow,
    /// The row and its peers.
    Group,
    /// The peers of the row.
    Ties,
}

/// The kind of values between which `RANGE` measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    Integer,
    Float,
    Numeric,
    Date,
    Timestamp,
    Timestamptz,
    Time,
    Interval,
}

impl WindowCall {
    /// Calls `visit` for each direct part.
    pub(crate) fn for_each_part<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        self.arguments.iter().chain(&self.filter).chain(&self.partition).for_each(&mut *visit);
        self.order.iter().for_each(|key| visit(&key.expr));
        self.frame.start.offset().into_iter().chain(self.frame.end.offset()).for_each(visit);
    }

    /// Calls `visit` for each direct part, to change it.
    pub(crate) fn for_each_part_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.arguments.iter_mut().chain(&mut self.filter).chain(&mut self.partition).for_each(&mut *visit);
        self.order.iter_mut().for_each(|key| visit(&mut key.expr));
        self.frame.start.offset_mut().into_iter().chain(self.frame.end.offset_mut()).for_each(visit);
    }

    /// What rows are sorted by for it.
    fn keys(&self) -> Vec<SortKey> {
        let key = |expr: &Expr| SortKey { expr: expr.clone(), is_descending: false, nulls_first: false };
        self.partition.iter().map(key).chain(self.order.iter().cloned()).collect()
    }
}

/// Orders calls so that rows are sorted as seldom as possible: a pass with the longest keys comes before those whose keys are
/// the first of these.
pub(crate) fn passes(calls: Vec<WindowCall>) -> Vec<WindowPass> {
    let mut rest: Vec<WindowPass> = Vec::new();
    for call in calls {
        let (keys, partition) = (call.keys(), call.partition.len());
        match rest.iter_mut().find(|pass| pass.keys == keys && pass.partition == partition) {
            Some(pass) => pass.calls.push(call),
            None => rest.push(WindowPass { keys, partition, is_sorted: false, calls: vec![call] }),
        }
    }
    // The sort is stable: passes with as many keys stay in the order in which they were written.
    rest.sort_by_key(|pass| std::cmp::Reverse(pass.keys.len()));
    let mut passes: Vec<WindowPass> = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let longest = rest.remove(0);
        let (follow, others) = rest.into_iter().partition(|pass| longest.keys.starts_with(&pass.keys));
        rest = others;
        let mut follow: Vec<WindowPass> = follow;
        follow.iter_mut().for_each(|pass| pass.is_sorted = true);
        passes.push(longest);
        passes.extend(follow);
    }
    passes
}
