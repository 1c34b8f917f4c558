//! One operator of a plan that is shown, with those below it.

use crate::plan::estimate::Estimate;

/// An operator.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Its kind, as `Node Type` in JSON has it.
    pub(super) kind: &'static str,
    /// What the line of a text begins with.
    pub(super) title: String,
    /// What stands above the line: which subquery or common table expression it is.
    pub(super) label: Option<String>,
    /// What is shown in JSON alone.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) properties: Vec<Property>,
    pub(super) children: Vec<Node>,
    /// What is expected of it.
    pub(super) expected: Expected,
    /// The operator whose rows and times are its own.
    pub(super) address: Option<usize>,
    /// Whether it is `MERGE`, which counts what it does.
    pub(super) is_merge: bool,
}

/// How many rows an operator gives, of how many bytes, and what it costs before the first one and until the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Expected {
    pub(super) startup: f64,
    pub(super) total: f64,
    pub(super) rows: f64,
    pub(super) width: f64,
}

impl Expected {
    pub(super) fn of(estimate: &Estimate) -> Expected {
        let Estimate { rows, width, cost, .. } = estimate;
        Expected { startup: cost.startup, total: cost.total, rows: rows.round(), width: width.round() }
    }
}

/// A line below an operator.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: &'static str,
    pub(super) value: Value,
    /// Whether only `VERBOSE` shows it.
    pub(super) is_verbose: bool,
}

/// What a property is.
#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    List(Vec<String>),
}

impl Node {
    /// An operator whose title is its kind.
    pub(super) fn new(kind: &'static str) -> Node {
        Node::named(kind, kind)
    }

    pub(super) fn named(kind: &'static str, title: impl Into<String>) -> Node {
        Node { kind, title: title.into(), ..Node::default() }
    }

    pub(super) fn over(mut self, children: impl IntoIterator<Item = Node>) -> Node {
        self.children.extend(children);
        self
    }

    pub(super) fn labelled(mut self, label: String) -> Node {
        self.label = Some(label);
        self
    }

    pub(super) fn fact(mut self, name: &'static str, value: impl Into<String>) -> Node {
        self.facts.push((name, value.into()));
        self
    }

    pub(super) fn with(self, name: &'static str, value: impl Into<String>) -> Node {
        self.property(name, Value::Text(value.into()), false)
    }

    pub(super) fn with_list(self, name: &'static str, values: Vec<String>) -> Node {
        self.property(name, Value::List(values), false)
    }

    pub(super) fn verbose(self, name: &'static str, value: impl Into<String>) -> Node {
        self.property(name, Value::Text(value.into()), true)
    }

    fn property(mut self, name: &'static str, value: Value, is_verbose: bool) -> Node {
        self.properties.push(Property { name, value, is_verbose });
        self
    }

    /// Adds a filter to what it has.
    pub(super) fn filtered(mut self, condition: String) -> Node {
        let known = self.properties.iter_mut().find(|property| property.name == "Filter");
        match known.map(|property| &mut property.value) {
            Some(Value::Text(filter)) => *filter = format!("({filter} AND {condition})"),
            _ => return self.with("Filter", condition),
        }
        self
    }
}
