//! Dependencies between transactions, and the shortest cycle among them with the gravest name.
//!
//! Invariant: a cycle lies within a strongly connected component, so only those of more than one transaction are searched.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Anomaly, Id, Key, Version};

/// Why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The other one wrote the next version (ww).
    Replaced,
    /// The other one read its version (wr).
    Seen,
    /// It read what the other one replaced (rw).
    Overwritten,
}

/// One dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) from: Id,
    pub(super) to: Id,
    pub(super) kind: Kind,
    pub(super) object: &'static str,
    pub(super) key: Key,
}

#[derive(Default)]
pub(super) struct Graph {
    after: BTreeMap<Id, BTreeSet<Edge>>,
}

impl Graph {
    pub(super) fn edge(&mut self, edge: Edge) {
        if edge.from != edge.to {
            self.after.entry(edge.from).or_default().insert(edge);
        }
    }

    /// The versions of an object, oldest first.
    pub(super) fn order(&mut self, object: &'static str, key: Key, versions: &[Version]) {
        for pair in versions.windows(2) {
            self.edge(Edge { kind: Kind::Replaced, object, key, from: pair[0].0, to: pair[1].0 });
        }
    }

    /// `reader` saw the versions of an object up to the last of `seen`; `later` ones follow.
    pub(super) fn read(&mut self, object: &'static str, key: Key, reader: Id, seen: &[Version], later: &[Version]) {
        if let Some(last) = seen.last() {
            self.edge(Edge { kind: Kind::Seen, object, key, from: last.0, to: reader });
        }
        // What it wrote itself next replaced what it saw: no dependency on others, but on the one after.
        if let Some(next) = later.iter().find(|version| version.0 != reader) {
            self.edge(Edge { kind: Kind::Overwritten, object, key, from: reader, to: next.0 });
        }
    }

    /// A dependency whose transactions have places in the other order, or one place.
    pub(super) fn misplaced<P: Ord + std::fmt::Debug>(&self, places: &BTreeMap<Id, P>) -> Option<Anomaly> {
        let edges = self.after.values().flatten();
        let placed = edges.filter_map(|edge| Some((edge, places.get(&edge.from)?, places.get(&edge.to)?)));
        placed.into_iter().find(|(_, from, to)| from >= to).map(|(edge, from, to)| {
            let what = format!("{} at {from:?} before {to:?}", describe(&[*edge]));
            Anomaly { name: "an order against a dependency", what }
        })
    }

    /// The first anomaly in the order of their gravity.
    pub(super) fn cycle(&self) -> Option<Anomaly> {
        let components = self.components();
        if components.is_empty() {
            return None;
        }
        let within =
            |limit: Kind, extra: usize| components.iter().find_map(|component| self.shortest(component, limit, extra));
        let found = within(Kind::Replaced, 0).map(|cycle| ("G0, a write cycle", cycle));
        let found = found.or_else(|| within(Kind::Seen, 0).map(|cycle| ("G1c, a circular flow of information", cycle)));
        let found =
            found.or_else(|| within(Kind::Seen, 1).map(|cycle| ("G-single, a read that is too old or too new", cycle)));
        let found = found.or_else(|| within(Kind::Overwritten, 0).map(|cycle| ("G2, an anti-dependency cycle", cycle)));
        let (name, cycle) = found.expect("a component of several has a cycle");
        Some(Anomaly { name, what: describe(&cycle) })
    }

    /// The shortest cycle within a component of edges up to `limit`, with one anti-dependency besides where `extra` is one.
    fn shortest(&self, component: &BTreeSet<Id>, limit: Kind, extra: usize) -> Option<Vec<Edge>> {
        let inside = |edge: &&Edge| component.contains(&edge.to);
        let begins = component.iter().flat_map(|id| self.after.get(id).into_iter().flatten()).filter(inside);
        let begins = begins.filter(|edge| if extra == 1 { edge.kind == Kind::Overwritten } else { edge.kind <= limit });
        let cycles = begins.filter_map(|begin| {
            let mut cycle = self.path(begin.to, begin.from, component, limit)?;
            cycle.insert(0, *begin);
            Some(cycle)
        });
        cycles.min_by_key(Vec::len)
    }

    /// The shortest path of edges up to `limit`.
    fn path(&self, from: Id, to: Id, component: &BTreeSet<Id>, limit: Kind) -> Option<Vec<Edge>> {
        let mut reached: BTreeMap<Id, Edge> = BTreeMap::new();
        let mut open = VecDeque::from([from]);
        while let Some(id) = open.pop_front() {
            if id == to {
                let mut path = Vec::new();
                let mut at = to;
                while at != from {
                    let edge = reached[&at];
                    path.push(edge);
                    at = edge.from;
                }
                path.reverse();
                return Some(path);
            }
            for edge in self.after.get(&id).into_iter().flatten() {
                let is_new = edge.to != from && !reached.contains_key(&edge.to);
                if is_new && edge.kind <= limit && component.contains(&edge.to) {
                    reached.insert(edge.to, *edge);
                    open.push_back(edge.to);
                }
            }
        }
        None
    }

    /// The strongly connected components of more than one transaction (Tarjan, without recursion).
    fn components(&self) -> Vec<BTreeSet<Id>> {
        let mut search = Search {
            graph: self,
            numbers: BTreeMap::new(),
            low: BTreeMap::new(),
            stack: Vec::new(),
            found: Vec::new(),
        };
        for &id in self.after.keys() {
            if !search.numbers.contains_key(&id) {
                search.visit(id);
            }
        }
        search.found
    }
}

struct Search<'g> {
    graph: &'g Graph,
    numbers: BTreeMap<Id, usize>,
    /// The least number that is reached from those on the stack; gone with their component.
    low: BTreeMap<Id, usize>,
    stack: Vec<Id>,
    found: Vec<BTreeSet<Id>>,
}

impl Search<'_> {
    fn enter(&mut self, id: Id) -> (Id, std::vec::IntoIter<Id>) {
        let number = self.numbers.len();
        self.numbers.insert(id, number);
        self.low.insert(id, number);
        self.stack.push(id);
        let next: BTreeSet<Id> = self.graph.after.get(&id).into_iter().flatten().map(|edge| edge.to).collect();
        (id, next.into_iter().collect::<Vec<_>>().into_iter())
    }

    fn visit(&mut self, root: Id) {
        let mut calls = vec![self.enter(root)];
        while let Some((id, next)) = calls.last_mut() {
            let id = *id;
            match next.next() {
                Some(other) if !self.numbers.contains_key(&other) => calls.push(self.enter(other)),
                Some(other) => {
                    if self.low.contains_key(&other) {
                        let reached = self.numbers[&other].min(self.low[&id]);
                        self.low.insert(id, reached);
                    }
                }
                None => {
                    calls.pop();
                    self.leave(id, calls.last().map(|(caller, _)| *caller));
                }
            }
        }
    }

    fn leave(&mut self, id: Id, caller: Option<Id>) {
        let low = self.low[&id];
        if low == self.numbers[&id] {
            let at = self.stack.iter().rposition(|other| *other == id).expect("it is on the stack");
            let component: BTreeSet<Id> = self.stack.drain(at..).collect();
            self.low.retain(|member, _| !component.contains(member));
            if component.len() > 1 {
                self.found.push(component);
            }
        }
        if let Some(caller) = caller {
            let reached = low.min(self.low[&caller]);
            self.low.insert(caller, reached);
        }
    }
}

/// ```text
/// T1 read register 3, which T2 overwrote; T2 ...
/// ```
fn describe(cycle: &[Edge]) -> String {
    let one = |Edge { from, to, kind, object, key }: &Edge| match kind {
        Kind::Replaced => format!("T{to} wrote {object} {key} after T{from}"),
        Kind::Seen => format!("T{to} read {object} {key} as T{from} left it"),
        Kind::Overwritten => format!("T{to} wrote {object} {key} after T{from} had read it"),
    };
    let ids: Vec<String> = cycle.iter().map(|edge| format!("T{}", edge.from)).collect();
    format!("{} -> T{}: {}", ids.join(" -> "), cycle[0].from, cycle.iter().map(one).collect::<Vec<_>>().join("; "))
}
