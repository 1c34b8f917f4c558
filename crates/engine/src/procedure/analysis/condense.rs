//! Graphs of numbered nodes: which nodes belong together, and an order of the rest.
//!
//! Invariant: what is condensed has no cycle, and its nodes are numbered in an order in which every edge leads upwards. One pass
//! over strongly connected components is enough for that: to merge the nodes of one closes no further cycle. (The papers'
//! algorithms merge pairs while they look for more.)

use std::collections::BTreeSet;

/// Nodes that are merged with each other.
pub(super) struct Groups {
    parents: Vec<usize>,
}

impl Groups {
    /// Begins with each node by itself.
    pub(super) fn new(count: usize) -> Groups {
        Groups { parents: (0..count).collect() }
    }

    /// Returns the first node of the group that a node is in.
    pub(super) fn first(&self, mut node: usize) -> usize {
        while self.parents[node] != node {
            node = self.parents[node];
        }
        node
    }

    pub(super) fn merge(&mut self, a: usize, b: usize) {
        let (a, b) = (self.first(a), self.first(b));
        self.parents[a.max(b)] = a.min(b);
    }

    /// Merges all of these.
    pub(super) fn merge_all(&mut self, nodes: impl IntoIterator<Item = usize>) {
        let mut nodes = nodes.into_iter();
        let Some(first) = nodes.next() else { return };
        nodes.for_each(|node| self.merge(first, node));
    }
}

/// Groups without cycles among them.
pub(super) struct Condensed {
    /// Of each node its group.
    pub(super) group_of: Vec<usize>,
    /// The nodes of each group, in order.
    pub(super) groups: Vec<Vec<usize>>,
    /// Between groups, each from a smaller number to a greater one.
    pub(super) edges: BTreeSet<(usize, usize)>,
}

impl Condensed {
    /// Merges those groups that are on a cycle of `edges`, and numbers them. Of those that may come next the one with the first
    /// node does.
    pub(super) fn new(mut groups: Groups, edges: &BTreeSet<(usize, usize)>) -> Condensed {
        let count = groups.parents.len();
        for component in components(count, &between(&groups, edges)) {
            groups.merge_all(component);
        }
        let edges = between(&groups, edges);
        let mut waits_for = vec![0; count];
        edges.iter().for_each(|(_, to)| waits_for[*to] += 1);
        let is_first = |node: &usize| groups.first(*node) == *node;
        let mut ready: BTreeSet<usize> = (0..count).filter(is_first).filter(|node| waits_for[*node] == 0).collect();
        let mut number = vec![usize::MAX; count];
        let mut next = 0;
        while let Some(node) = ready.pop_first() {
            number[node] = next;
            next += 1;
            for (_, to) in edges.range((node, 0)..=(node, usize::MAX)) {
                waits_for[*to] -= 1;
                if waits_for[*to] == 0 {
                    ready.insert(*to);
                }
            }
        }
        let group_of: Vec<usize> = (0..count).map(|node| number[groups.first(node)]).collect();
        assert!(group_of.iter().all(|group| *group < next), "no cycle is left");
        let mut members = vec![Vec::new(); next];
        group_of.iter().enumerate().for_each(|(node, group)| members[*group].push(node));
        let edges = edges.iter().map(|(from, to)| (number[*from], number[*to])).collect();
        Condensed { group_of, groups: members, edges }
    }
}

/// The edges between different groups, by their first nodes.
fn between(groups: &Groups, edges: &BTreeSet<(usize, usize)>) -> BTreeSet<(usize, usize)> {
    edges.iter().map(|(from, to)| (groups.first(*from), groups.first(*to))).filter(|(from, to)| from != to).collect()
}

/// Returns the strongly connected components of more than one node (R. Tarjan: *Depth-First Search and Linear Graph Algorithms*,
/// SIAM Journal on Computing 1(2), 1972), without a recursion.
fn components(count: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let ways: Vec<Vec<usize>> =
        (0..count).map(|node| edges.range((node, 0)..=(node, usize::MAX)).map(|(_, to)| *to).collect()).collect();
    let (mut index, mut low) = (vec![usize::MAX; count], vec![0; count]);
    let (mut is_open, mut path, mut found, mut next) = (vec![false; count], Vec::new(), Vec::new(), 0);
    for root in 0..count {
        let mut visits = if index[root] == usize::MAX { vec![(root, 0)] } else { Vec::new() };
        while let Some((node, way)) = visits.pop() {
            if way == 0 {
                (index[node], low[node], is_open[node]) = (next, next, true);
                next += 1;
                path.push(node);
            } else {
                let child = ways[node][way - 1];
                if is_open[child] {
                    low[node] = low[node].min(low[child]);
                }
            }
            if let Some(to) = ways[node].get(way) {
                visits.push((node, way + 1));
                if index[*to] == usize::MAX {
                    visits.push((*to, 0));
                }
                continue;
            }
            if low[node] == index[node] {
                let begin = path.iter().rposition(|of| *of == node).expect("it is on the path");
                let component = path.split_off(begin);
                component.iter().for_each(|of| is_open[*of] = false);
                found.extend((component.len() > 1).then_some(component));
            }
        }
    }
    found
}

/// Returns the edges of a graph without cycles that do not follow from others.
pub(super) fn reduced(edges: &BTreeSet<(usize, usize)>) -> Vec<(usize, usize)> {
    let reaches = |from: usize, to: usize| {
        let (mut open, mut seen) = (vec![from], BTreeSet::new());
        while let Some(at) = open.pop() {
            if at == to {
                return true;
            }
            if seen.insert(at) {
                open.extend(edges.range((at, 0)..=(at, usize::MAX)).map(|(_, next)| *next));
            }
        }
        false
    };
    let is_needed = |(from, to): &&(usize, usize)| {
        let mut others = edges.range((*from, 0)..=(*from, usize::MAX)).filter(|(_, next)| next != to);
        !others.any(|(_, next)| reaches(*next, *to))
    };
    edges.iter().filter(is_needed).copied().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Which nodes are reached from which, by trying all ways.
    fn reached(count: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<Vec<bool>> {
        let mut reached = vec![vec![false; count]; count];
        edges.iter().for_each(|(from, to)| reached[*from][*to] = true);
        for between in 0..count {
            for from in 0..count {
                for to in 0..count {
                    reached[from][to] |= reached[from][between] && reached[between][to];
                }
            }
        }
        reached
    }

    fn graph() -> impl Strategy<Value = (usize, BTreeSet<(usize, usize)>)> {
        (1..9_usize)
            .prop_flat_map(|count| (Just(count), proptest::collection::btree_set((0..count, 0..count), 0..2 * count)))
    }

    proptest! {
        /// Exactly the nodes that reach each other are merged, and every edge that is left leads upwards.
        #[test]
        fn cycles_are_condensed((count, edges) in graph()) {
            let condensed = Condensed::new(Groups::new(count), &edges);
            let reached = reached(count, &edges);
            let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
            for (a, b) in pairs {
                let is_cycle = a == b || reached[a][b] && reached[b][a];
                prop_assert_eq!(condensed.group_of[a] == condensed.group_of[b], is_cycle);
            }
            prop_assert!(condensed.edges.iter().all(|(from, to)| from < to));
        }

        /// Edges that are left out follow from those that stay.
        #[test]
        fn what_follows_is_left_out((count, edges) in graph()) {
            let edges: BTreeSet<_> = edges.into_iter().filter(|(from, to)| from < to).collect();
            let kept: BTreeSet<_> = reduced(&edges).into_iter().collect();
            prop_assert!(kept.is_subset(&edges));
            prop_assert_eq!(reached(count, &kept), reached(count, &edges));
            for edge in &kept {
                let mut fewer = kept.clone();
                fewer.remove(edge);
                prop_assert_ne!(reached(count, &fewer), reached(count, &edges));
            }
        }
    }
}
