//! How the rows of a table are found: by key where conditions give one, by a range of a key or an index, else all.
//!
//! Invariants:
//! - Conditions stay with the scan. An access only leaves out rows of which they cannot be true.
//! - A condition with a function that gives something else each time finds no rows.

use std::ops::Range;
use std::sync::Arc;

use super::{Access, Plan, Scan, SortKey};
use crate::catalog::relation::Relation;
use crate::expr::{Comparison, Expr};

/// How good an access is: the less the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// At most one row.
    One,
    /// A few keys.
    Few,
    /// Rows with equal first columns.
    Prefix,
    /// Rows between two bounds.
    Bounded,
    All,
}

/// A condition on one column of the table.
struct Sarg<'c> {
    column: usize,
    comparison: Comparison,
    value: &'c Expr,
}

/// Finds the best access to the rows of a table whose columns have these positions in `conditions`. `is_known` says which
/// expressions have a value before the table is read.
pub(crate) fn choose(
    relation: &Relation,
    columns: &Range<usize>,
    conditions: &[Expr],
    is_known: &dyn Fn(&Expr) -> bool,
) -> (Rank, Access) {
    let mut sargs = Vec::new();
    let column_of = |expr: &Expr| match expr {
        Expr::Column(at) if columns.contains(at) => Some(at - columns.start),
        _ => None,
    };
    let is_usable = |expr: &Expr| is_known(expr) && !expr.is_volatile();
    for condition in conditions {
        let Expr::Compare(parts) = condition else { continue };
        let (comparison, left, right) = &**parts;
        if let Some(column) = column_of(left).filter(|_| is_usable(right)) {
            sargs.push(Sarg { column, comparison: *comparison, value: right });
        }
        if let Some(column) = column_of(right).filter(|_| is_usable(left)) {
            sargs.push(Sarg { column, comparison: comparison.swapped(), value: left });
        }
    }
    let mut best = by_columns(relation, None, &sargs);
    if best.0 > Rank::One
        && let Some(found) = by_list(relation, conditions, &column_of, &is_usable)
    {
        best = found;
    }
    for at in 0..relation.indexes.len() {
        let found = by_columns(relation, Some(at), &sargs);
        if is_better(&found, &best) {
            best = found;
        }
    }
    best
}

/// Says which rows of a relation of the catalog are wanted, where conditions say so.
pub(crate) fn choose_key(plan: &mut Plan, columns: &Range<usize>, conditions: &[Expr]) {
    let Plan::System(scan) = plan else { return };
    let is_usable = |expr: &Expr| expr.is_fixed() && !expr.is_volatile();
    scan.key = conditions.iter().find_map(|condition| {
        let Expr::Compare(parts) = condition else { return None };
        let (column, value) = match &**parts {
            (Comparison::Equal, Expr::Column(at), value) | (Comparison::Equal, value, Expr::Column(at)) => (*at, value),
            _ => return None,
        };
        let column = column.checked_sub(columns.start)?;
        (scan.relation.is_key(column) && is_usable(value)).then(|| (column, value.clone()))
    });
}

fn is_better(a: &(Rank, Access), b: &(Rank, Access)) -> bool {
    let prefix = |access: &Access| match access {
        Access::Range { prefix, .. } => prefix.len(),
        _ => 0,
    };
    a.0 < b.0 || (a.0 == b.0 && prefix(&a.1) > prefix(&b.1))
}

/// What conditions say of the primary key, or of an index.
fn by_columns(relation: &Relation, index: Option<usize>, sargs: &[Sarg<'_>]) -> (Rank, Access) {
    let (columns, is_unique) = match index {
        None => (&relation.key, true),
        Some(at) => (&relation.indexes[at].columns, relation.indexes[at].is_unique),
    };
    let mut prefix = Vec::new();
    for column in columns {
        let equal = sargs.iter().find(|sarg| sarg.column == *column && sarg.comparison == Comparison::Equal);
        let Some(equal) = equal else { break };
        prefix.push(equal.value.clone());
    }
    if prefix.len() == columns.len() && is_unique {
        let access = match index {
            None => Access::Key(prefix),
            Some(_) => Access::Range { index, prefix, low: None, high: None },
        };
        return (Rank::One, access);
    }
    let next = columns.get(prefix.len());
    let bound = |wanted: [Comparison; 2]| {
        let bounds = sargs.iter().find(|sarg| Some(&sarg.column) == next && wanted.contains(&sarg.comparison))?;
        Some((bounds.value.clone(), bounds.comparison == wanted[1]))
    };
    let low = bound([Comparison::Greater, Comparison::GreaterOrEqual]);
    let high = bound([Comparison::Less, Comparison::LessOrEqual]);
    let rank = match (prefix.is_empty(), low.is_some() || high.is_some()) {
        (false, _) => Rank::Prefix,
        (true, true) => Rank::Bounded,
        (true, false) => return (Rank::All, Access::All),
    };
    (rank, Access::Range { index, prefix, low, high })
}

/// What `IN` and `= ANY` say of a primary key of one column.
fn by_list(
    relation: &Relation,
    conditions: &[Expr],
    column_of: &dyn Fn(&Expr) -> Option<usize>,
    is_usable: &dyn Fn(&Expr) -> bool,
) -> Option<(Rank, Access)> {
    let [key] = relation.key[..] else { return None };
    conditions.iter().find_map(|condition| match condition {
        Expr::InList(parts, false) if column_of(&parts.0) == Some(key) && parts.1.iter().all(is_usable) => {
            Some((Rank::Few, Access::Keys(parts.1.clone())))
        }
        Expr::Quantified(parts, false)
            if parts.0 == Comparison::Equal && column_of(&parts.1) == Some(key) && is_usable(&parts.2) =>
        {
            Some((Rank::Few, Access::KeysOf(parts.2.clone())))
        }
        _ => None,
    })
}

/// Calls `visit` with each expression of an access.
pub(crate) fn for_each_expr(access: &mut Access, visit: &mut dyn FnMut(&mut Expr)) {
    match access {
        Access::All => {}
        Access::Key(exprs) | Access::Keys(exprs) => exprs.iter_mut().for_each(visit),
        Access::KeysOf(expr) => visit(expr),
        Access::Range { prefix, low, high, .. } => {
            prefix.iter_mut().for_each(&mut *visit);
            low.iter_mut().chain(high).for_each(|(expr, _)| visit(expr));
        }
    }
}

/// Makes a scan give its rows in the order that is wished, if a key or an index has it. Returns whether it does.
pub(crate) fn sort_by_index(plan: &mut Plan, keys: &[SortKey]) -> bool {
    let Plan::Scan(scan) = plan else { return false };
    let Some(is_descending) = keys.first().map(|key| key.is_descending) else { return false };
    let mut columns = Vec::with_capacity(keys.len());
    for key in keys {
        let Expr::Column(at) = key.expr else { return false };
        // NULL is the least value of an index, and the greatest one here.
        if scan.relation.columns[at].is_nullable || key.is_descending != is_descending {
            return false;
        }
        columns.push(at);
    }
    let is_sorted = match &scan.access {
        Access::Key(_) => true,
        Access::Keys(_) | Access::KeysOf(_) => scan.relation.key == columns,
        Access::Range { index, prefix, .. } => {
            let own = index.map_or(&scan.relation.key, |at| &scan.relation.indexes[at].columns);
            gives(own, prefix.len(), &columns, &scan.relation, *index)
        }
        Access::All => choose_order(scan, &columns),
    };
    if is_sorted {
        scan.is_reversed = is_descending;
    }
    is_sorted
}

/// Whether rows with equal first columns come in the order of `wanted`.
fn gives(own: &[usize], fixed: usize, wanted: &[usize], relation: &Arc<Relation>, index: Option<usize>) -> bool {
    let rest = wanted.iter().filter(|at| !own[..fixed].contains(at));
    let mut follows = own[fixed..].iter();
    // Entries of an index that is not unique are in the order of the primary key within equal columns.
    let key = if index.is_some() { &relation.key[..] } else { &[] };
    let mut behind = key.iter();
    rest.into_iter().all(|at| follows.next().or_else(|| behind.next()) == Some(at))
}

fn choose_order(scan: &mut Scan, wanted: &[usize]) -> bool {
    let relation = &scan.relation;
    if gives(&relation.key, 0, wanted, relation, None) {
        return true;
    }
    let found = (0..relation.indexes.len()).find(|at| {
        let own = &relation.indexes[*at].columns;
        own.iter().all(|column| !relation.columns[*column].is_nullable) && gives(own, 0, wanted, relation, Some(*at))
    });
    if let Some(at) = found {
        scan.access = Access::Range { index: Some(at), prefix: Vec::new(), low: None, high: None };
    }
    found.is_some()
}
