//! How the rows of a table are found: by key where conditions give one, by a range of a key or an index, else all.
//!
//! Invariants:
//! - Conditions stay with the scan. An access only leaves out rows of which they cannot be true.
//! - A condition with a function that gives something else each time finds no rows.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::computed::ComputedColumns;
use super::equality::compared_as;
use super::{Access, JoinKind, Method, Plan, Scan, SortKey};
use crate::catalog::relation::Relation;
use crate::datum::Datum;
use crate::expr::{Asks, Comparison, Expr, Subquery};
use crate::types::Type;

/// What the first column of a partial index is.
static TRUE: Expr = Expr::Constant(Datum::Bool(true));

/// A condition on one column of the table.
pub(crate) struct Sarg<'c> {
    pub(crate) column: usize,
    pub(crate) comparison: Comparison,
    value: &'c Expr,
    /// The position of the condition; of the first column of a partial index, that of one which says a part of the predicate.
    pub(crate) condition: usize,
}

/// A way to the rows of a table: by the first columns of its primary key, or of the index with this position.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) index: Option<usize>,
    /// Positions of the conditions on its columns in their order, which are equalities.
    pub(crate) prefix: SmallVec<[usize; 4]>,
    /// Bounds of the column behind them.
    pub(crate) low: Option<usize>,
    pub(crate) high: Option<usize>,
    /// Whether it leads to one row at most.
    pub(crate) is_single: bool,
}

/// Finds the conditions that bound one column of a table, whose columns have these positions in them. `is_known` says which
/// expressions have a value before the table is read. `drops`: what a key says is not looked at again.
pub(crate) fn sargs<'c>(
    (relation, columns): (&Relation, &Range<usize>),
    conditions: &[&'c Expr],
    is_known: &dyn Fn(&Expr) -> bool,
    drops: bool,
) -> Vec<Sarg<'c>> {
    let computed = ComputedColumns::of(relation, columns);
    let is_usable = |expr: &Expr| is_known(expr) && !expr.is_volatile();
    let mut sargs = Vec::new();
    for (at, condition) in conditions.iter().copied().enumerate() {
        let Expr::Compare(parts) = condition else { continue };
        let (comparison, left, right) = &**parts;
        for (expr, value, comparison) in [(left, right, *comparison), (right, left, comparison.swapped())] {
            if is_usable(value) {
                let found = position(columns, expr).into_iter().chain(computed.columns_of(expr));
                sargs.extend(found.map(|column| Sarg { column, comparison, value, condition: at }));
            }
        }
    }
    let held = computed.held(conditions, drops).into_iter();
    sargs.extend(held.map(|(column, condition)| Sarg {
        column,
        comparison: Comparison::Equal,
        value: &TRUE,
        condition,
    }));
    sargs
}

impl Sarg<'_> {
    /// What it says of a computed column, as a condition in which the first column of the table has a position.
    pub(crate) fn of_computed(&self, relation: &Relation, start: usize) -> Option<Expr> {
        let column = Expr::Column(start + self.column);
        relation.columns[self.column].computed?;
        Some(Expr::Compare(Box::new((self.comparison, column, self.value.clone()))))
    }
}

fn position(columns: &Range<usize>, expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column(at) if columns.contains(at) => Some(at - columns.start),
        _ => None,
    }
}

/// The ways that conditions open, of which `is_usable` says which count: the primary key first.
pub(crate) fn paths<'r>(
    relation: &'r Relation,
    sargs: &'r [Sarg<'_>],
    is_usable: &'r dyn Fn(&Sarg<'_>) -> bool,
) -> impl Iterator<Item = Path> + 'r {
    let indexes = std::iter::once(None).chain((0..relation.indexes.len()).map(Some));
    indexes.filter_map(|index| path(relation, index, sargs, is_usable))
}

/// What conditions say of the primary key, or of an index.
fn path(
    relation: &Relation,
    index: Option<usize>,
    sargs: &[Sarg<'_>],
    is_usable: &dyn Fn(&Sarg<'_>) -> bool,
) -> Option<Path> {
    let (columns, is_unique) = match index {
        None => (&relation.key, true),
        Some(at) => (&relation.indexes[at].columns, relation.indexes[at].is_unique),
    };
    let find = |column: usize, wanted: [Comparison; 2]| {
        let is_meant = |sarg: &Sarg<'_>| sarg.column == column && wanted.contains(&sarg.comparison) && is_usable(sarg);
        sargs.iter().position(is_meant)
    };
    let mut prefix = SmallVec::new();
    for column in columns {
        let Some(equal) = find(*column, [Comparison::Equal; 2]) else { break };
        prefix.push(equal);
    }
    let is_single = prefix.len() == columns.len() && is_unique;
    let next = columns.get(prefix.len()).copied();
    let low = next.and_then(|next| find(next, [Comparison::Greater, Comparison::GreaterOrEqual]));
    let high = next.and_then(|next| find(next, [Comparison::Less, Comparison::LessOrEqual]));
    let leads = !prefix.is_empty() || low.is_some() || high.is_some();
    leads.then_some(Path { index, prefix, low, high, is_single })
}

impl Path {
    /// Positions of the conditions that it relies on.
    pub(crate) fn sargs(&self) -> impl Iterator<Item = usize> {
        self.prefix.iter().copied().chain(self.low).chain(self.high)
    }

    /// The access by it.
    pub(crate) fn access(&self, sargs: &[Sarg<'_>]) -> Access {
        let prefix = self.prefix.iter().map(|at| sargs[*at].value.clone()).collect();
        if self.is_single && self.index.is_none() {
            return Access::Key(prefix);
        }
        let bound = |at: Option<usize>| {
            let sarg = &sargs[at?];
            let is_included = matches!(sarg.comparison, Comparison::GreaterOrEqual | Comparison::LessOrEqual);
            Some((sarg.value.clone(), is_included))
        };
        Access::Range { index: self.index, prefix, low: bound(self.low), high: bound(self.high) }
    }
}

/// The way to the rows of a table that conditions on it alone open.
pub(crate) struct Chosen {
    pub(crate) access: Access,
    /// Whether it leads to one row at most.
    pub(crate) is_single: bool,
}

/// Chooses how the rows of a table are found whose columns have these positions in `conditions`: `cost` compares ways where it
/// matters how many rows there are; `None` is the way to all rows.
pub(crate) fn choose(
    relation: &Relation,
    columns: &Range<usize>,
    conditions: &[Expr],
    cost: &mut dyn FnMut(Option<&Path>, &[Sarg<'_>]) -> f64,
) -> Chosen {
    let all: SmallVec<[&Expr; 8]> = conditions.iter().collect();
    let sargs = sargs((relation, columns), &all, &Expr::is_fixed, false);
    let mut ways: SmallVec<[Path; 4]> = SmallVec::new();
    for path in paths(relation, &sargs, &|_| true) {
        if path.is_single {
            return Chosen { access: path.access(&sargs), is_single: true };
        }
        ways.push(path);
    }
    if let Some(access) = by_list(relation, columns, conditions) {
        return Chosen { access, is_single: false };
    }
    let best = match &ways[..] {
        [] => None,
        // A part of the tree takes no longer than all of it.
        [only] if only.index.is_none() => Some(only),
        ways => {
            let every = ways.iter().map(Some).chain([None]);
            let costs = every.map(|way| (cost(way, &sargs), way));
            costs.min_by(|(one, _), (other, _)| one.total_cmp(other)).and_then(|(_, way)| way)
        }
    };
    Chosen { access: best.map_or(Access::All, |way| way.access(&sargs)), is_single: false }
}

/// What `IN` and `= ANY` say of a primary key of one column.
fn by_list(relation: &Relation, columns: &Range<usize>, conditions: &[Expr]) -> Option<Access> {
    let [key] = relation.key[..] else { return None };
    let is_usable = |expr: &Expr| expr.is_fixed() && !expr.is_volatile();
    conditions.iter().find_map(|condition| match condition {
        Expr::InList(parts, false) if position(columns, &parts.0) == Some(key) && parts.1.iter().all(is_usable) => {
            Some(Access::Keys(parts.1.clone()))
        }
        Expr::Quantified(parts, false)
            if parts.0 == Comparison::Equal && position(columns, &parts.1) == Some(key) && is_usable(&parts.2) =>
        {
            Some(Access::KeysOf(parts.2.clone()))
        }
        Expr::Subquery(subquery) => {
            Some(Access::KeysOf(rows_of(subquery, &|left| position(columns, left) == Some(key))?))
        }
        _ => None,
    })
}

/// The array of the values of `IN (SELECT ...)`, if its left is the key and it is the same for all rows.
fn rows_of(subquery: &Subquery, is_key: &dyn Fn(&Expr) -> bool) -> Option<Expr> {
    match &subquery.asks {
        Asks::Compares(Comparison::Equal, left, false) if subquery.captures.is_empty() => {
            let [left] = &left[..] else { return None };
            is_key(left).then(|| Expr::Subquery(Box::new(Subquery { asks: Asks::Array, ..subquery.clone() })))
        }
        _ => None,
    }
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

/// Whether values of a type have the order of SQL in a key, too.
fn is_ordered_as_key(ty: Type) -> bool {
    matches!(
        compared_as(ty),
        Type::Int8 | Type::Text | Type::Date | Type::Timestamp | Type::Timestamptz | Type::Enum(_)
    )
}

/// The positions of the columns by which the rows of an access come ordered, as far as values compare as they do in a key.
pub(super) fn order<'r>(relation: &'r Relation, access: &Access) -> impl Iterator<Item = usize> + 'r {
    let columns: &[usize] = match access {
        Access::All => &relation.key,
        Access::Range { index, prefix, .. } => {
            &index.map_or(&relation.key, |at| &relation.indexes[at].columns)[prefix.len()..]
        }
        Access::Key(_) | Access::Keys(_) | Access::KeysOf(_) => &[],
    };
    columns.iter().copied().take_while(|at| is_ordered_as_key(relation.columns[*at].declared.ty))
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

/// Makes a plan give its rows in the order that is wished, if a key or an index has it. Returns whether it does.
pub(crate) fn sort_by_index(plan: &mut Plan, keys: &[SortKey]) -> bool {
    match plan {
        Plan::Scan(scan) => sort_scan(scan, keys, true),
        Plan::Join(_) | Plan::Project(..) | Plan::Filter(..) => sort_first(plan, keys),
        _ => false,
    }
}

/// As [`sort_by_index`], of joins that give their rows in the order of the first table of all.
fn sort_first(plan: &mut Plan, keys: &[SortKey]) -> bool {
    match plan {
        Plan::Scan(scan) => sort_scan(scan, keys, false),
        Plan::Filter(input, _) => sort_first(input, keys),
        Plan::Join(join) => {
            let is_merge = matches!(join.method, Method::Merge { .. });
            let is_kept = matches!(join.kind, JoinKind::Inner | JoinKind::Left)
                && !(is_merge && keys.iter().any(|key| key.is_descending))
                && keys.iter().all(|key| matches!(key.expr, Expr::Column(at) if at < join.left_columns));
            is_kept && sort_first(&mut join.left, keys)
        }
        Plan::Project(input, exprs) => {
            let below = |key: &SortKey| match key.expr {
                Expr::Column(at) => Some(SortKey { expr: exprs.get(at)?.clone(), ..key.clone() }),
                _ => None,
            };
            let keys: Option<Vec<SortKey>> = keys.iter().map(below).collect();
            keys.is_some_and(|keys| sort_first(input, &keys))
        }
        _ => false,
    }
}

/// `chooses`: another index may be read for the order.
fn sort_scan(scan: &mut Scan, keys: &[SortKey], chooses: bool) -> bool {
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
        Access::All if chooses => choose_order(scan, &columns),
        Access::All => gives(&scan.relation.key, 0, &columns, &scan.relation, None),
    };
    if is_sorted {
        (scan.is_reversed, scan.is_ordered) = (is_descending, true);
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
