//! A described plan as text or as JSON.

use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::node::{Expected, Node, Property, Value};
use crate::run::probe::{Merged, Probe, Stats};

/// What is shown.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The statement is run.
    pub(crate) analyzes: bool,
    pub(crate) is_verbose: bool,
    /// What is expected of operators.
    pub(crate) shows_costs: bool,
    pub(crate) shows_times: bool,
    pub(crate) shows_summary: bool,
    pub(crate) is_json: bool,
}

/// What is known when the plan is shown.
pub(crate) struct Report<'r> {
    pub(crate) options: &'r Options,
    /// What operators did, where the statement was run.
    pub(crate) probe: Option<&'r Probe>,
    pub(crate) planning: Duration,
    pub(crate) execution: Option<Duration>,
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// What an operator did, on average over its loops.
struct Average {
    startup: f64,
    total: f64,
    rows: u64,
    loops: u64,
}

impl Average {
    fn of(stats: Stats) -> Average {
        let loops = stats.loops.max(1);
        let each = |duration| milliseconds(duration) / loops as f64;
        let rows = (stats.rows as f64 / loops as f64).round() as u64;
        Average { startup: each(stats.startup), total: each(stats.total), rows, loops: stats.loops }
    }
}

impl Report<'_> {
    /// What the node's operator did; `None` where nothing was run, or the node is a part of another operator.
    fn average(&self, node: &Node) -> Option<Option<Average>> {
        let (probe, address) = (self.probe?, node.address?);
        Some(probe.stats(address).map(Average::of))
    }

    /// How many rows a `MERGE` has treated in each way.
    fn merged(&self, node: &Node) -> Option<[(&'static str, usize); 4]> {
        let Merged { inserted, updated, deleted, skipped } = self.probe.filter(|_| node.is_merge)?.merged.get()?;
        Some([("inserted", inserted), ("updated", updated), ("deleted", deleted), ("skipped", skipped)])
    }

    fn properties<'n>(&self, node: &'n Node) -> impl Iterator<Item = &'n Property> {
        let is_verbose = self.options.is_verbose;
        node.properties.iter().filter(move |property| is_verbose || !property.is_verbose)
    }
}

/// The lines of a plan.
pub(crate) fn text(node: &Node, report: &Report<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    push_lines(node, report, 0, true, &mut lines);
    if report.options.shows_summary {
        lines.push(format!("Planning Time: {:.3} ms", milliseconds(report.planning)));
        if let Some(execution) = report.execution {
            lines.push(format!("Execution Time: {:.3} ms", milliseconds(execution)));
        }
    }
    lines
}

fn push_lines(node: &Node, report: &Report<'_>, indent: usize, is_root: bool, lines: &mut Vec<String>) {
    let mut indent = indent;
    if let Some(label) = &node.label {
        lines.push(format!("{:indent$}{label}", ""));
        indent += 2;
    }
    let mut line = String::new();
    if !is_root {
        line.push_str(&format!("{:indent$}->  ", ""));
    }
    line.push_str(&node.title);
    if report.options.shows_costs {
        let Expected { startup, total, rows, width } = node.expected;
        line.push_str(&format!("  (cost={startup:.2}..{total:.2} rows={rows} width={width})"));
    }
    match report.average(node) {
        None => {}
        Some(None) => line.push_str(" (never executed)"),
        Some(Some(Average { startup, total, rows, loops })) if report.options.shows_times => {
            line.push_str(&format!(" (actual time={startup:.3}..{total:.3} rows={rows} loops={loops})"));
        }
        Some(Some(Average { rows, loops, .. })) => line.push_str(&format!(" (actual rows={rows} loops={loops})")),
    }
    lines.push(line);
    let below = if is_root { 2 } else { indent + 6 };
    let merged = report.merged(node).into_iter().flatten().filter(|(_, count)| *count > 0);
    let merged: Vec<String> = merged.map(|(what, count)| format!("{what}={count}")).collect();
    if !merged.is_empty() {
        lines.push(format!("{:below$}Tuples: {}", "", merged.join(" ")));
    }
    for property in report.properties(node) {
        let shown = match &property.value {
            Value::Text(text) => text.clone(),
            Value::List(values) => values.join(", "),
        };
        lines.push(format!("{:below$}{}: {shown}", "", property.name));
    }
    for child in &node.children {
        push_lines(child, report, below, false, lines);
    }
}

/// A plan as JSON.
pub(crate) fn json(node: &Node, report: &Report<'_>) -> String {
    let mut top = Map::new();
    top.insert("Plan".to_owned(), object(node, report));
    if report.options.shows_summary {
        top.insert("Planning Time".to_owned(), rounded(milliseconds(report.planning)));
        if let Some(execution) = report.execution {
            top.insert("Execution Time".to_owned(), rounded(milliseconds(execution)));
        }
    }
    let shown = Json::Array(vec![Json::Object(top)]);
    serde_json::to_string_pretty(&shown).unwrap_or_default()
}

fn rounded(milliseconds: f64) -> Json {
    json!((milliseconds * 1000.0).round() / 1000.0)
}

fn object(node: &Node, report: &Report<'_>) -> Json {
    let mut object = Map::new();
    object.insert("Node Type".to_owned(), json!(node.kind));
    if let Some(label) = &node.label {
        object.insert("Subplan Name".to_owned(), json!(label));
    }
    for (name, value) in &node.facts {
        object.insert((*name).to_owned(), json!(value));
    }
    if report.options.shows_costs {
        let Expected { startup, total, rows, width } = node.expected;
        let cost = |cost: f64| json!((cost * 100.0).round() / 100.0);
        object.insert("Startup Cost".to_owned(), cost(startup));
        object.insert("Total Cost".to_owned(), cost(total));
        object.insert("Plan Rows".to_owned(), json!(rows as u64));
        object.insert("Plan Width".to_owned(), json!(width as u64));
    }
    if let Some(average) = report.average(node) {
        let Average { startup, total, rows, loops } =
            average.unwrap_or(Average { startup: 0.0, total: 0.0, rows: 0, loops: 0 });
        if report.options.shows_times {
            object.insert("Actual Startup Time".to_owned(), rounded(startup));
            object.insert("Actual Total Time".to_owned(), rounded(total));
        }
        object.insert("Actual Rows".to_owned(), json!(rows));
        object.insert("Actual Loops".to_owned(), json!(loops));
    }
    for (what, count) in report.merged(node).into_iter().flatten() {
        let (first, rest) = what.split_at(1);
        object.insert(format!("Tuples {}{rest}", first.to_uppercase()), json!(count));
    }
    for property in report.properties(node) {
        let value = match &property.value {
            Value::Text(text) => json!(text),
            Value::List(values) => json!(values),
        };
        object.insert(property.name.to_owned(), value);
    }
    if !node.children.is_empty() {
        let children = node.children.iter().map(|child| self::object(child, report)).collect();
        object.insert("Plans".to_owned(), Json::Array(children));
    }
    Json::Object(object)
}
