//! What a plan is, for people: a tree of operators with the names that PostgreSQL has for them.
//!
//! What is expected of an operator is estimated anew of the plan that runs, by the formulas that have chosen it.
//!
//! Invariants:
//! - What is shown is the plan that runs, not the statement.
//! - Conditions that an access to a table answers are shown there, and not as a filter once more.

mod expression;
mod node;
mod show;

use std::collections::{HashMap, HashSet};

use node::{Expected, Node};
pub(crate) use show::{Options, Report, json, text};

use crate::catalog::name::Name;
use crate::catalog::system::SystemRelation;
use crate::datum::Datum;
use crate::expr::Expr;
use crate::function;
use crate::parse::quote::quoted;
use crate::plan::estimate::Estimator;
use crate::plan::{
    Aggregate, Change, CommonTable, Join, JoinKind, Limit, Method, Plan, Query, Recursion, Scan, Series, SetOperation,
    SortKey, SystemScan, Window, Write,
};
use crate::run::probe::address;
use crate::types::Type;

/// A plan with the names of the columns that its rows have.
struct Described {
    node: Node,
    names: Vec<String>,
}

/// Describes a plan, operator by operator.
struct Describer<'d> {
    estimator: &'d Estimator<'d>,
    /// What registers hold, as the operators that write them name it.
    registers: HashMap<usize, String>,
    /// Subqueries in the expressions of the operator at hand, with what they are called.
    subplans: Vec<Node>,
    counted: usize,
    /// Common table expressions that are described.
    known: HashSet<usize>,
    commons: Vec<Node>,
    /// The columns of common table expressions.
    common_names: HashMap<usize, Vec<String>>,
    /// Whether names of columns have their table before them.
    qualifies: bool,
}

/// Describes a query.
pub(crate) fn describe(query: &Query, estimator: &Estimator<'_>) -> Node {
    let mut describer = Describer {
        estimator,
        registers: HashMap::new(),
        subplans: Vec::new(),
        counted: 0,
        known: HashSet::new(),
        commons: Vec::new(),
        common_names: HashMap::new(),
        qualifies: tables(&query.plan) > 1,
    };
    // From the top: what is looked up by values of a join is estimated with these.
    estimator.plan(&query.plan);
    let mut node = describer.plan(&query.plan).node;
    for (at, table) in &query.writes {
        describer.common(*at, table);
    }
    let commons = std::mem::take(&mut describer.commons);
    node.children.splice(0..0, commons);
    node
}

/// How many tables a plan names.
fn tables(plan: &Plan) -> usize {
    match plan {
        Plan::One | Plan::Nothing | Plan::Working(_) => 0,
        Plan::Values(_) | Plan::Scan(_) | Plan::Series(_) | Plan::System(_) | Plan::Common(..) => 1,
        Plan::Filter(input, _) | Plan::Project(input, _) | Plan::ProjectSet(input, _) => tables(input),
        Plan::Distinct(input, _) | Plan::Sort(input, _) => tables(input),
        Plan::Join(join) => tables(&join.left) + tables(&join.right),
        Plan::Aggregate(aggregate) => tables(&aggregate.input),
        Plan::Window(window) => tables(&window.input),
        Plan::Limit(limit) => tables(&limit.input),
        Plan::Lock(lock) => tables(&lock.input),
        Plan::Append(plans) => plans.iter().map(tables).sum(),
        Plan::Intersect(operation) => tables(&operation.left) + tables(&operation.right),
        Plan::Write(write) => tables(write.change.input()),
    }
}

impl Describer<'_> {
    fn plan(&mut self, plan: &Plan) -> Described {
        let before = std::mem::take(&mut self.subplans);
        let Described { mut node, names } = self.operator(plan);
        node.address = Some(address(plan));
        node.expected = Expected::of(&self.estimator.plan(plan));
        node.children.splice(0..0, std::mem::replace(&mut self.subplans, before));
        Described { node, names }
    }

    fn operator(&mut self, plan: &Plan) -> Described {
        match plan {
            Plan::One => Described { node: Node::new("Result"), names: Vec::new() },
            Plan::Nothing => {
                let node = Node::new("Result").with("One-Time Filter", "false");
                Described { node, names: Vec::new() }
            }
            Plan::Values(rows) => values(rows),
            Plan::Scan(scan) => self.scan(scan),
            Plan::Filter(input, condition) => {
                let inner = self.plan(input);
                let shown = self.expr(condition, &inner.names);
                Described { node: inner.node.filtered(shown), names: inner.names }
            }
            Plan::Project(input, exprs) => {
                let inner = self.plan(input);
                let names = exprs.iter().map(|expr| self.expr(expr, &inner.names)).collect();
                Described { node: inner.node, names }
            }
            Plan::ProjectSet(input, items) => {
                let inner = self.plan(input);
                let names = items.iter().map(|item| self.item(item, &inner.names)).collect();
                Described { node: Node::new("ProjectSet").over([inner.node]), names }
            }
            Plan::Join(join) => self.join(join),
            Plan::Aggregate(aggregate) => self.aggregate(aggregate),
            Plan::Window(window) => self.window(window),
            Plan::Distinct(input, None) => {
                let inner = self.plan(input);
                let node = Node::new("HashAggregate").with_list("Group Key", inner.names.clone());
                Described { node: node.over([inner.node]), names: inner.names }
            }
            Plan::Distinct(input, Some(_)) => {
                let inner = self.plan(input);
                Described { node: Node::new("Unique").over([inner.node]), names: inner.names }
            }
            Plan::Sort(input, keys) => self.sort(input, keys),
            Plan::Lock(lock) => {
                let inner = self.plan(&lock.input);
                Described { node: Node::new("LockRows").over([inner.node]), names: inner.names }
            }
            Plan::Limit(limit) => self.limit(limit),
            Plan::Append(plans) => self.append(plans),
            Plan::Intersect(operation) => self.set_operation(operation),
            Plan::Series(series) => self.series(series),
            Plan::System(scan) => self.system(scan),
            Plan::Common(at, table) => {
                let names = self.common(*at, table);
                Described { node: Node::named("CTE Scan", format!("CTE Scan on cte{}", at + 1)), names }
            }
            Plan::Working(at) => {
                let names = self.common_names.get(at).cloned().unwrap_or_default();
                let node = Node::named("WorkTable Scan", format!("WorkTable Scan on cte{}", at + 1));
                Described { node, names }
            }
            Plan::Write(write) => self.write(write),
        }
    }

    fn sort(&mut self, input: &Plan, keys: &[SortKey]) -> Described {
        let inner = self.plan(input);
        let keys = keys.iter().map(|key| self.sort_key(key, &inner.names)).collect();
        let node = Node::new("Sort").with_list("Sort Key", keys).over([inner.node]);
        Described { node, names: inner.names }
    }

    fn append(&mut self, plans: &[Plan]) -> Described {
        let inner: Vec<Described> = plans.iter().map(|plan| self.plan(plan)).collect();
        let names = inner.first().map_or_else(Vec::new, |first| first.names.clone());
        Described { node: Node::new("Append").over(inner.into_iter().map(|inner| inner.node)), names }
    }

    fn set_operation(&mut self, operation: &SetOperation) -> Described {
        let (left, right) = (self.plan(&operation.left), self.plan(&operation.right));
        let what = if operation.is_except { "Except" } else { "Intersect" };
        let all = if operation.is_all { " All" } else { "" };
        let node = Node::named("SetOp", format!("HashSetOp {what}{all}")).over([left.node, right.node]);
        Described { node, names: left.names }
    }

    fn series(&mut self, series: &Series) -> Described {
        let (mut calls, mut names) = (Vec::new(), Vec::new());
        for (function, arguments) in &series.calls {
            let arguments = arguments.iter().map(|expr| self.expr(expr, &[])).collect::<Vec<_>>();
            calls.push(format!("{}({})", function.name(), arguments.join(", ")));
            match &function.columns[..] {
                [_] => names.push(function.name().to_owned()),
                several => names.extend(several.iter().map(|(name, _)| (*name).to_owned())),
            }
        }
        let call = calls.join(", ");
        if let [(function, arguments)] = &series.calls[..]
            && function.name() == function::SEQUENCE_ROW
            && let [Expr::Constant(Datum::Bytes(sequence))] = &arguments[..]
        {
            let sequence = Name::of_engine(&String::from_utf8_lossy(sequence));
            let node = Node::named("Seq Scan", format!("Seq Scan on {}", quoted(&sequence.name)));
            return Described { node: node.fact("Relation Name", sequence.name), names };
        }
        let node = Node::named("Function Scan", format!("Function Scan on {}", series.calls[0].0.name()));
        names.extend(series.with_ordinality.then(|| "ordinality".to_owned()));
        Described { node: node.verbose("Function Call", call), names }
    }

    fn system(&mut self, scan: &SystemScan) -> Described {
        let SystemRelation { name, columns, .. } = scan.relation;
        let names: Vec<String> = columns.iter().map(|column| quoted(column.name)).collect();
        let node = Node::named("Seq Scan", format!("Seq Scan on {}", quoted(name)));
        let mut node = node.fact("Relation Name", *name);
        if let Some((at, value)) = &scan.key {
            let shown = self.expr(value, &[]);
            node = node.with("Cond", format!("({} = {shown})", names[*at]));
        }
        Described { node, names }
    }

    /// Describes a common table expression once, and returns the names of its columns.
    fn common(&mut self, at: usize, table: &CommonTable) -> Vec<String> {
        if self.known.insert(at) {
            let first = self.plan(&table.plan);
            self.common_names.insert(at, first.names.clone());
            let mut node = first.node;
            if let Some(Recursion { step, .. }) = &table.recursion {
                let step = self.plan(step).node;
                node = Node::new("Recursive Union").over([node, step]);
            }
            self.commons.push(node.labelled(format!("CTE cte{}", at + 1)));
        }
        self.common_names.get(&at).cloned().unwrap_or_default()
    }

    fn scan(&mut self, scan: &Scan) -> Described {
        let relation = &scan.relation;
        let qualifier = if self.qualifies { format!("{}.", quoted(&scan.alias)) } else { String::new() };
        let name = |column: &crate::catalog::relation::Column| format!("{qualifier}{}", quoted(&column.name));
        let names: Vec<String> = relation.columns.iter().map(name).collect();
        let mut on = quoted(&relation.name.name);
        if *scan.alias != *relation.name.name {
            on = format!("{on} {}", quoted(&scan.alias));
        }
        let (index, conditions) = self.access(scan, &names);
        let node = match index {
            None => Node::named("Seq Scan", format!("Seq Scan on {on}")),
            Some(index) => {
                let backward = if scan.is_reversed { " Backward" } else { "" };
                let shown = quoted(&index);
                let node = Node::named("Index Scan", format!("Index Scan{backward} using {shown} on {on}"));
                node.fact("Index Name", index)
            }
        };
        let mut node = node.fact("Relation Name", &relation.name.name).fact("Alias", &*scan.alias);
        if !conditions.is_empty() {
            node = node.with("Index Cond", expression::all(&conditions));
        }
        let mut parts = Vec::new();
        if let Some(filter) = scan.filter.clone() {
            filter.split(&mut parts);
        }
        let filter: Vec<String> =
            parts.iter().map(|part| self.expr(part, &names)).filter(|part| !conditions.contains(part)).collect();
        if !filter.is_empty() {
            node = node.with("Filter", expression::all(&filter));
        }
        Described { node, names }
    }

    fn join(&mut self, join: &Join) -> Described {
        let left = self.plan(&join.left);
        if let Method::Nested(captures) = &join.method {
            for (register, expr) in captures {
                let held = self.expr(expr, &left.names);
                self.registers.insert(*register, held);
            }
        }
        let right = self.plan(&join.right);
        let kind = match join.kind {
            JoinKind::Inner => "",
            JoinKind::Left => " Left",
            JoinKind::Right => " Right",
            JoinKind::Full => " Full",
        };
        let (name, is_kept) = match &join.method {
            Method::Nested(_) => ("Nested Loop", None),
            Method::Loop => ("Nested Loop", Some("Materialize")),
            Method::Hash { .. } => ("Hash", Some("Hash")),
            Method::Merge { .. } => ("Merge", None),
        };
        let shown = match (name, kind) {
            ("Nested Loop", "") => name.to_owned(),
            (name, kind) => format!("{name}{kind} Join"),
        };
        let kind_shown = match name {
            "Hash" => "Hash Join",
            "Merge" => "Merge Join",
            other => other,
        };
        let mut node = Node::named(kind_shown, shown);
        node = node.fact("Join Type", if kind.is_empty() { "Inner" } else { kind.trim() });
        if let Method::Hash { left: left_keys, right: right_keys }
        | Method::Merge { left: left_keys, right: right_keys } = &join.method
        {
            let pairs: Vec<String> = left_keys
                .iter()
                .zip(right_keys)
                .map(|(a, b)| format!("({} = {})", self.expr(a, &left.names), self.expr(b, &right.names)))
                .collect();
            node = node.with(if name == "Hash" { "Hash Cond" } else { "Merge Cond" }, expression::all(&pairs));
        }
        let names: Vec<String> = left.names.into_iter().chain(right.names).collect();
        if let Some(condition) = &join.condition {
            let shown = self.expr(condition, &names);
            node = node.with("Join Filter", shown);
        }
        let right = match is_kept {
            None => right.node,
            Some(keeper) => Node { address: right.node.address, expected: right.node.expected, ..Node::new(keeper) }
                .over([right.node]),
        };
        Described { node: node.over([left.node, right]), names }
    }

    fn aggregate(&mut self, aggregate: &Aggregate) -> Described {
        let inner = self.plan(&aggregate.input);
        let groups: Vec<String> = aggregate.groups.iter().map(|expr| self.expr(expr, &inner.names)).collect();
        let calls: Vec<String> = aggregate.calls.iter().map(|call| self.aggregate_call(call, &inner.names)).collect();
        let set = |set: &Vec<usize>| {
            let groups: Vec<&str> = set.iter().map(|at| groups[*at].as_str()).collect();
            format!("({})", groups.join(", "))
        };
        let node = match (groups.is_empty(), aggregate.sets.len()) {
            (true, 0..=1) => Node::new("Aggregate"),
            (false, 0..=1) => Node::new("HashAggregate").with_list("Group Key", groups.clone()),
            _ => Node::new("HashAggregate").with_list("Grouping Sets", aggregate.sets.iter().map(set).collect()),
        };
        let mut names: Vec<String> = groups.into_iter().chain(calls).collect();
        names.extend((aggregate.sets.len() > 1).then(|| "grouping set".to_owned()));
        Described { node: node.over([inner.node]), names }
    }

    fn window(&mut self, window: &Window) -> Described {
        let inner = self.plan(&window.input);
        let (mut node, mut names) = (Node::new("WindowAgg"), inner.names.clone());
        for pass in &window.passes {
            if !pass.is_sorted && !pass.keys.is_empty() {
                let keys = pass.keys.iter().map(|key| self.sort_key(key, &inner.names)).collect();
                node = node.with_list("Sort Key", keys);
            }
            names.extend(pass.calls.iter().map(|call| self.window_call(call, &inner.names)));
        }
        Described { node: node.over([inner.node]), names }
    }

    fn limit(&mut self, limit: &Limit) -> Described {
        let inner = self.plan(&limit.input);
        Described { node: Node::new("Limit").over([inner.node]), names: inner.names }
    }

    fn write(&mut self, write: &Write) -> Described {
        let relation = &write.relation;
        let (what, input) = match &write.change {
            Change::Insert { input, .. } => ("Insert", input),
            Change::Update { input, .. } => ("Update", input),
            Change::Delete { input } => ("Delete", input),
            Change::Merge { input, .. } => ("Merge", input),
        };
        let inner = self.plan(input);
        let table = quoted(&relation.name.name);
        let mut node = Node::named("ModifyTable", format!("{what} on {table}"));
        node.is_merge = matches!(write.change, Change::Merge { .. });
        node = node.fact("Operation", what).fact("Relation Name", &relation.name.name);
        if let Change::Insert { conflict: Some(conflict), .. } = &write.change {
            let resolution = if conflict.update.is_some() { "UPDATE" } else { "NOTHING" };
            node = node.with("Conflict Resolution", resolution);
            let arbiter = conflict.key.map(|key| key.map_or(&relation.key_name, |at| &relation.indexes[at].name));
            if let Some(arbiter) = arbiter {
                node = node.with("Conflict Arbiter Indexes", quoted(arbiter));
            }
        }
        // Returned expressions see the row that was written, then what stood beside it.
        let own = relation.columns.iter().map(|column| quoted(&column.name));
        let behind = inner.names.iter().skip(relation.columns.len()).cloned();
        let row: Vec<String> = own.chain(behind).collect();
        let returned = write.returning.iter().flatten();
        let names = returned.map(|expr| self.expr(expr, &row)).collect();
        Described { node: node.over([inner.node]), names }
    }

    fn sort_key(&mut self, key: &SortKey, names: &[String]) -> String {
        let shown = self.expr(&key.expr, names);
        let direction = if key.is_descending { " DESC" } else { "" };
        let nulls = match (key.is_descending, key.nulls_first) {
            (false, true) => " NULLS FIRST",
            (true, false) => " NULLS LAST",
            _ => "",
        };
        format!("{shown}{direction}{nulls}")
    }
}

fn values(rows: &[Vec<crate::expr::Expr>]) -> Described {
    let node = match rows.len() {
        1 => Node::new("Result"),
        _ => Node::named("Values Scan", "Values Scan on \"*VALUES*\""),
    };
    let columns = rows.first().map_or(0, Vec::len);
    let names = (1..=columns).map(|number| format!("\"*VALUES*\".column{number}")).collect();
    Described { node, names }
}

/// The type of a column of `EXPLAIN`.
pub(crate) fn column_type(options: &Options) -> Type {
    if options.is_json { Type::Json } else { Type::Text }
}
