//! How many rows operators give, about, and what they cost.
//!
//! Invariants:
//! - An operator gives at least one row, as far as anybody relies on that: nothing is multiplied with zero.
//! - What a nested loop has in registers is estimated as the columns that it is from.
//!
//! Deliberately absent: what subqueries in expressions cost.

mod column;
pub(crate) mod cost;
pub(crate) mod selectivity;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use column::Origin;
pub(crate) use cost::{Cost, Input, Preferences, Read};
use selectivity::Origins;

use super::{
    Access, Aggregate, Item, Join, JoinKind, Limit, Method, Plan, RowLock, Scan, Series, SetOperation, SystemScan,
};
use crate::catalog::relation::Relation;
use crate::datum::Datum;
use crate::expr::{Comparison, Expr};
use crate::statistics::Known;

/// How many rows a function gives, a relation of the catalog has, and the last round of a recursion has given.
const SERIES_ROWS: f64 = 1000.0;
const CATALOG_ROWS: f64 = 200.0;
const WORKING_ROWS: f64 = 100.0;
/// How many rounds a recursion has.
const ROUNDS: f64 = 10.0;
/// How many bytes a value has of which nothing is known.
const VALUE_WIDTH: f64 = 8.0;
/// How many values an expression has of which nothing is known.
const DISTINCT: f64 = 200.0;

/// What is known of the rows of an operator.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    pub(crate) rows: f64,
    pub(crate) width: f64,
    pub(crate) cost: Cost,
    /// Which columns of tables its columns are.
    pub(crate) columns: Vec<Option<Origin>>,
}

impl Estimate {
    /// As an operator above reads it.
    pub(crate) fn input(&self) -> Input {
        Input { cost: self.cost, rows: self.rows, width: self.width, columns: self.columns.len() }
    }
}

/// Columns, and what registers hold.
struct Scope<'s> {
    columns: &'s dyn Origins,
    registers: &'s HashMap<usize, Origin>,
}

impl Origins for Scope<'_> {
    fn column(&self, at: usize) -> Option<&Origin> {
        self.columns.column(at)
    }

    fn register(&self, at: usize) -> Option<&Origin> {
        self.registers.get(&at)
    }
}

/// Estimates plans.
pub(crate) struct Estimator<'e> {
    known: &'e dyn Known,
    pub(crate) preferences: Preferences,
    registers: RefCell<HashMap<usize, Origin>>,
    /// What was estimated already, by the address of the operator, where plans stay where they are.
    memory: Option<RefCell<HashMap<usize, Estimate>>>,
}

impl<'e> Estimator<'e> {
    pub(crate) fn new(known: &'e dyn Known, preferences: Preferences) -> Estimator<'e> {
        Estimator { known, preferences, registers: RefCell::default(), memory: None }
    }

    /// One that is asked of each operator of a plan.
    pub(crate) fn remembering(known: &'e dyn Known, preferences: Preferences) -> Estimator<'e> {
        Estimator { memory: Some(RefCell::default()), ..Estimator::new(known, preferences) }
    }

    /// Says what a register holds.
    pub(crate) fn hold(&self, register: usize, origin: Option<&Origin>) {
        if let Some(origin) = origin {
            self.registers.borrow_mut().insert(register, origin.clone());
        }
    }

    /// The columns of a table.
    pub(crate) fn columns(&self, relation: &Arc<Relation>) -> Vec<Option<Origin>> {
        let statistics = self.known.of(relation);
        let is_unique = |at: usize| {
            let is_it = |columns: &[usize]| columns == [at];
            is_it(&relation.key) || relation.indexes.iter().any(|index| index.is_unique && is_it(&index.columns))
        };
        let origin = |column| Origin { statistics: statistics.clone(), column, is_unique: is_unique(column) };
        (0..relation.columns.len()).map(|column| Some(origin(column))).collect()
    }

    /// How many rows a table has.
    pub(crate) fn table_rows(&self, relation: &Arc<Relation>) -> f64 {
        self.known.of(relation).rows
    }

    /// The part of rows with these columns that fulfil the conditions.
    pub(crate) fn selectivity<'c>(&self, conditions: impl IntoIterator<Item = &'c Expr>, columns: &dyn Origins) -> f64 {
        let registers = &*self.registers.borrow();
        selectivity::all(conditions, &Scope { columns, registers })
    }

    /// Estimates an operator with those below it.
    pub(crate) fn plan(&self, plan: &Plan) -> Estimate {
        let address = std::ptr::from_ref(plan).addr();
        if let Some(memory) = &self.memory
            && let Some(known) = memory.borrow().get(&address)
        {
            return known.clone();
        }
        let estimate = self.operator(plan);
        if let Some(memory) = &self.memory {
            memory.borrow_mut().insert(address, estimate.clone());
        }
        estimate
    }

    fn operator(&self, plan: &Plan) -> Estimate {
        match plan {
            Plan::One => rows_given(1.0, 0),
            Plan::Nothing => rows_given(0.0, 0),
            Plan::Values(rows) => self.values(rows),
            Plan::Scan(scan) => self.scan(scan),
            Plan::Filter(input, condition) => self.filter(self.plan(input), condition),
            Plan::Project(input, exprs) => self.project(&self.plan(input), exprs),
            Plan::ProjectSet(input, items) => self.project_set(&self.plan(input), items),
            Plan::Join(join) => self.join(join),
            Plan::Aggregate(aggregate) => self.aggregate(aggregate),
            Plan::Window(window) => {
                let mut input = self.plan(&window.input);
                let calls = window.passes.iter().map(|pass| pass.calls.len()).sum();
                input.cost = cost::each(cost::sorted(input.cost, input.rows), input.rows, calls);
                input.width += calls as f64 * VALUE_WIDTH;
                input.columns.extend(vec![None; calls]);
                input
            }
            Plan::Distinct(input, keys) => self.distinct(self.plan(input), *keys),
            Plan::Sort(input, _) => {
                let input = self.plan(input);
                Estimate { cost: cost::sorted(input.cost, input.rows), ..input }
            }
            Plan::Lock(lock) => self.plan(&lock.input),
            Plan::Limit(limit) => self.limit(limit),
            Plan::Append(plans) => self.append(plans),
            Plan::Intersect(operation) => self.set_operation(operation),
            Plan::Series(series) => series_rows(series),
            Plan::System(scan) => system_rows(scan),
            Plan::Common(_, table) => {
                let first = self.plan(&table.plan);
                let rows = if table.recursion.is_some() { first.rows * ROUNDS } else { first.rows };
                Estimate { rows, cost: cost::given(rows), ..first }
            }
            Plan::Working(_) => rows_given(WORKING_ROWS, 0),
            Plan::Write(write) => {
                let input = self.plan(write.change.input());
                let rows = if write.returning.is_some() { input.rows } else { 0.0 };
                Estimate { rows, width: 0.0, columns: Vec::new(), ..input }
            }
        }
    }

    fn values(&self, rows: &[Vec<Expr>]) -> Estimate {
        let columns = rows.first().map_or(0, Vec::len);
        let estimate = rows_given(rows.len() as f64, columns);
        Estimate { width: rows.first().map_or(0.0, |row| self.width(row, &Vec::<Option<Origin>>::new())), ..estimate }
    }

    fn scan(&self, scan: &Scan) -> Estimate {
        let columns = self.columns(&scan.relation);
        let used = access_conditions(scan);
        let mut filter = Vec::new();
        scan.filter.clone().into_iter().for_each(|condition| condition.split(&mut filter));
        filter.retain(|condition| !used.contains(condition));
        let rows = self.table_rows(&scan.relation);
        let fetched = (rows * self.selectivity(&used, &columns)).max(1.0);
        let kept = (rows * self.selectivity(used.iter().chain(&filter), &columns)).max(1.0).min(fetched);
        let read = Read {
            rows: fetched,
            descents: match &scan.access {
                Access::All => 0.0,
                Access::Keys(keys) => keys.len() as f64,
                Access::KeysOf(_) => fetched,
                Access::Key(_) | Access::Range { .. } => 1.0,
            },
            is_secondary: matches!(scan.access, Access::Range { index: Some(_), .. }),
            is_all: matches!(scan.access, Access::All),
            is_locked: scan.lock != RowLock::None,
            conditions: filter.len(),
        };
        let width = columns_width(&columns);
        Estimate { rows: kept, width, cost: self.preferences.read(read), columns }
    }

    fn filter(&self, input: Estimate, condition: &Expr) -> Estimate {
        let rows = (input.rows * self.selectivity([condition], &input.columns)).max(1.0).min(input.rows);
        Estimate { rows, cost: cost::each(input.cost, input.rows, parts(condition)), ..input }
    }

    fn project(&self, input: &Estimate, exprs: &[Expr]) -> Estimate {
        let registers = &*self.registers.borrow();
        let scope = Scope { columns: &input.columns, registers };
        let columns = exprs.iter().map(|expr| scope.of(expr).cloned()).collect();
        let width = self.width(exprs, &input.columns);
        Estimate { rows: input.rows, width, cost: input.cost, columns }
    }

    fn project_set(&self, input: &Estimate, items: &[Item]) -> Estimate {
        let times = items.iter().map(|item| match item {
            Item::One(_) => 1.0,
            Item::Set(function, arguments) => set_rows(function.name(), arguments),
        });
        let rows = input.rows * times.fold(1.0, f64::max);
        let origin = |item: &Item| match item {
            Item::One(Expr::Column(at)) => input.columns.get(*at).cloned().flatten(),
            _ => None,
        };
        let columns: Vec<_> = items.iter().map(origin).collect();
        let width = columns_width(&columns);
        Estimate { rows, width, cost: cost::each(input.cost, rows, items.len()), columns }
    }

    fn join(&self, join: &Join) -> Estimate {
        let left = self.plan(&join.left);
        if let Method::Nested(captures) = &join.method {
            for (register, expr) in captures {
                if let Expr::Column(at) = expr {
                    self.hold(*register, left.columns.column(*at));
                }
            }
        }
        let right = self.plan(&join.right);
        self.joined(join, &left, &right)
    }

    /// Estimates a join of what is estimated.
    pub(crate) fn joined(&self, join: &Join, left: &Estimate, right: &Estimate) -> Estimate {
        let columns: Vec<_> = left.columns.iter().chain(&right.columns).cloned().collect();
        let keys = match &join.method {
            Method::Hash { left: a, right: b } | Method::Merge { left: a, right: b } => pairs(a, b, left.columns.len()),
            Method::Nested(_) | Method::Loop => Vec::new(),
        };
        let matched = (left.rows * right.rows * self.selectivity(&keys, &columns)).max(1.0);
        let inner = (matched * self.selectivity(&join.condition, &columns)).max(1.0);
        let rows = match join.kind {
            JoinKind::Inner => inner,
            JoinKind::Left => inner.max(left.rows),
            JoinKind::Right => inner.max(right.rows),
            JoinKind::Full => inner.max(left.rows).max(right.rows),
        };
        let conditions = join.condition.as_ref().map_or(0, parts);
        let (a, b) = (left.input(), right.input());
        let cost = match &join.method {
            Method::Nested(_) => self.preferences.nested(a, right.cost, (matched, rows), conditions),
            Method::Hash { .. } => self.preferences.hash(a, b, (matched, rows), conditions),
            Method::Merge { .. } => self.preferences.merge(a, b, (matched, rows), conditions),
            Method::Loop => self.preferences.looked_through(a, b, rows, conditions),
        };
        Estimate { rows, width: left.width + right.width, cost, columns }
    }

    fn aggregate(&self, aggregate: &Aggregate) -> Estimate {
        let input = self.plan(&aggregate.input);
        let of_set = |set: &Vec<usize>| {
            let exprs = set.iter().map(|at| &aggregate.groups[*at]);
            self.groups(exprs, &input)
        };
        let rows = match &aggregate.sets[..] {
            [] => self.groups(&aggregate.groups, &input),
            sets => sets.iter().map(of_set).sum(),
        };
        let calls = aggregate.calls.len();
        let beside = calls + usize::from(aggregate.sets.len() > 1);
        let grouped = self.project(&input, &aggregate.groups);
        let mut columns = grouped.columns;
        columns.extend(vec![None; beside]);
        let cost = cost::grouped(input.cost, input.rows, (rows, calls + aggregate.groups.len()));
        Estimate { rows, width: grouped.width + calls as f64 * VALUE_WIDTH, cost, columns }
    }

    /// How many groups rows have that are grouped by these expressions.
    fn groups<'g>(&self, exprs: impl IntoIterator<Item = &'g Expr>, input: &Estimate) -> f64 {
        let registers = &*self.registers.borrow();
        let scope = Scope { columns: &input.columns, registers };
        let distinct = |expr: &Expr| match expr {
            expr if expr.is_fixed() => 1.0,
            expr => scope.of(expr).map_or(DISTINCT, |origin| {
                // NULL is a group, too.
                origin.distinct() + f64::from(u8::from(origin.null_fraction() > 0.0))
            }),
        };
        exprs.into_iter().map(distinct).product::<f64>().min(input.rows).max(1.0)
    }

    fn distinct(&self, input: Estimate, keys: Option<usize>) -> Estimate {
        let keys = keys.unwrap_or(input.columns.len());
        let exprs: Vec<Expr> = (0..keys).map(Expr::Column).collect();
        let rows = self.groups(&exprs, &input);
        Estimate { rows, cost: cost::grouped(input.cost, input.rows, (rows, keys)), ..input }
    }

    fn limit(&self, limit: &Limit) -> Estimate {
        let input = self.plan(&limit.input);
        let count = |expr: &Option<Expr>| match expr {
            Some(Expr::Constant(Datum::Int(count))) => Some(*count as f64),
            _ => None,
        };
        let passed = count(&limit.offset).unwrap_or(0.0).min(input.rows);
        let left = (input.rows - passed).max(1.0);
        let rows = match (&limit.limit, count(&limit.limit)) {
            (None, _) => left,
            (Some(_), Some(count)) => count.min(left),
            // A tenth, as PostgreSQL has it.
            (Some(_), None) => (left / 10.0).max(1.0),
        };
        let read = ((passed + rows) / input.rows.max(1.0)).min(1.0);
        let Cost { startup, total } = input.cost;
        Estimate { rows, cost: Cost { startup, total: startup + (total - startup) * read }, ..input }
    }

    fn append(&self, plans: &[Plan]) -> Estimate {
        let inputs: Vec<Estimate> = plans.iter().map(|plan| self.plan(plan)).collect();
        let sum = |value: fn(&Estimate) -> f64| inputs.iter().map(value).sum::<f64>();
        let rows = sum(|input| input.rows);
        let cost = Cost {
            startup: inputs.first().map_or(0.0, |input| input.cost.startup),
            total: sum(|input| input.cost.total),
        };
        let (width, columns) = inputs.first().map_or((0.0, 0), |input| (input.width, input.columns.len()));
        Estimate { rows, width, cost, columns: vec![None; columns] }
    }

    fn set_operation(&self, operation: &SetOperation) -> Estimate {
        let (left, right) = (self.plan(&operation.left), self.plan(&operation.right));
        let rows = if operation.is_except { left.rows } else { left.rows.min(right.rows) };
        let read = Cost { startup: 0.0, total: left.cost.total + right.cost.total };
        let keys = left.columns.len();
        Estimate { rows, cost: cost::grouped(read, left.rows + right.rows, (rows, keys)), ..left }
    }

    /// How many bytes the values of expressions have.
    fn width(&self, exprs: &[Expr], columns: &dyn Origins) -> f64 {
        let one = |expr: &Expr| {
            let fixed = |length: i16| if length > 0 { f64::from(length) } else { VALUE_WIDTH };
            match expr {
                Expr::Column(at) => column_width(columns.column(*at)),
                Expr::Constant(Datum::Text(text)) => text.len() as f64 + 1.0,
                Expr::Constant(Datum::Int(_)) => fixed(4),
                Expr::Call(call) => fixed(call.returns.wire_length()),
                Expr::Cast(cast) => fixed(cast.to.ty.wire_length()),
                Expr::Compare(_) | Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::IsNull(_) => 1.0,
                _ => VALUE_WIDTH,
            }
        };
        exprs.iter().map(one).sum()
    }
}

/// Of how many conditions one is made.
fn parts(condition: &Expr) -> usize {
    match condition {
        Expr::And(parts) | Expr::Or(parts) => parts.iter().map(self::parts).sum(),
        _ => 1,
    }
}

fn column_width(origin: Option<&Origin>) -> f64 {
    origin.and_then(Origin::width).unwrap_or(VALUE_WIDTH)
}

fn columns_width(columns: &[Option<Origin>]) -> f64 {
    columns.iter().map(|origin| column_width(origin.as_ref())).sum()
}

fn rows_given(rows: f64, columns: usize) -> Estimate {
    Estimate { rows, width: columns as f64 * VALUE_WIDTH, cost: cost::given(rows), columns: vec![None; columns] }
}

fn series_rows(series: &Series) -> Estimate {
    let columns: usize = series.calls.iter().map(|(function, _)| function.columns.len()).sum();
    let rows =
        series.calls.iter().map(|(function, arguments)| set_rows(function.name(), arguments)).fold(0.0, f64::max);
    rows_given(rows, columns + usize::from(series.with_ordinality))
}

/// How many rows a function gives.
fn set_rows(name: &str, arguments: &[Expr]) -> f64 {
    let number = |at: usize| match arguments.get(at) {
        Some(Expr::Constant(Datum::Int(number))) => Some(*number as f64),
        None if at == 2 => Some(1.0),
        _ => None,
    };
    match (name, number(0), number(1), number(2)) {
        ("generate_series", Some(from), Some(to), Some(step)) if step != 0.0 => {
            ((to - from) / step).floor().max(0.0) + 1.0
        }
        ("unnest", ..) => match arguments.first() {
            Some(Expr::Constant(Datum::Array(values))) => values.len() as f64,
            Some(Expr::Array(values)) => values.len() as f64,
            _ => 10.0,
        },
        _ => SERIES_ROWS,
    }
}

fn system_rows(scan: &SystemScan) -> Estimate {
    let rows = if scan.key.is_some() { 1.0 } else { CATALOG_ROWS };
    // The hidden column `tableoid` is one more.
    rows_given(rows, scan.relation.columns.len() + 1)
}

/// That the keys of a join are equal, of rows with the columns of both sides.
fn pairs(left: &[Expr], right: &[Expr], left_columns: usize) -> Vec<Expr> {
    let equal = |(a, b): (&Expr, &Expr)| {
        let mut b = b.clone();
        b.move_columns(&|at| at + left_columns);
        Expr::Compare(Box::new((Comparison::Equal, a.clone(), b)))
    };
    left.iter().zip(right).map(equal).collect()
}

/// The conditions that an access fulfils.
pub(crate) fn access_conditions(scan: &Scan) -> Vec<Expr> {
    let relation = &scan.relation;
    let compare = |comparison, column: usize, value: &Expr| {
        Expr::Compare(Box::new((comparison, Expr::Column(column), value.clone())))
    };
    let equal = |(column, value): (&usize, &Expr)| compare(Comparison::Equal, *column, value);
    match &scan.access {
        Access::All => Vec::new(),
        Access::Key(values) => relation.key.iter().zip(values).map(equal).collect(),
        Access::Keys(values) => vec![Expr::InList(Box::new((Expr::Column(relation.key[0]), values.clone())), false)],
        Access::KeysOf(array) => {
            let parts = (Comparison::Equal, Expr::Column(relation.key[0]), array.clone());
            vec![Expr::Quantified(Box::new(parts), false)]
        }
        Access::Range { index, prefix, low, high } => {
            let own = index.map_or(&relation.key, |at| &relation.indexes[at].columns);
            let mut conditions: Vec<Expr> = own.iter().zip(prefix).map(equal).collect();
            for (bound, [or_equal, strict]) in [
                (low, [Comparison::GreaterOrEqual, Comparison::Greater]),
                (high, [Comparison::LessOrEqual, Comparison::Less]),
            ] {
                if let Some((value, is_included)) = bound {
                    conditions.push(compare(if *is_included { or_equal } else { strict }, own[prefix.len()], value));
                }
            }
            conditions
        }
    }
}
