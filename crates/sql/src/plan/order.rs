//! The order in which the parts of an inner join are put together, and how: what costs least.
//!
//! Up to [`EXHAUSTIVE_MAX`] parts all orders are compared in which each step has a condition to join by, each set of parts once
//! (dynamic programming over connected subsets, as in Selinger, with trees of any shape). Of more parts one is added after the
//! other, each time the one that costs least.
//!
//! Invariants:
//! - A part that reads values of others comes behind them.
//! - Of two orders that cost the same the first one is taken: the same estimates give the same order.
//! - Rows of a join come in the order of those of its leftmost part.

use super::access::{self, Path, Sarg};
use super::estimate::{Cost, Input, Preferences, Read};
use crate::catalog::relation::Relation;

/// Of so many parts all orders are compared.
const EXHAUSTIVE_MAX: usize = 10;
/// So many parts can be joined.
const PARTS_MAX: usize = 256;
const WORDS: usize = PARTS_MAX / 64;

/// Some of the parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Set([u64; WORDS]);

impl Set {
    pub(super) fn insert(&mut self, part: usize) {
        self.0[part / 64] |= 1 << (part % 64);
    }

    pub(super) fn one(part: usize) -> Set {
        let mut set = Set::default();
        set.insert(part);
        set
    }

    fn of_mask(mask: u64) -> Set {
        let mut set = Set::default();
        set.0[0] = mask;
        set
    }

    pub(super) fn without(&self, part: usize) -> Set {
        let mut set = *self;
        set.0[part / 64] &= !(1 << (part % 64));
        set
    }

    pub(super) fn has(&self, part: usize) -> bool {
        self.0[part / 64] & 1 << (part % 64) != 0
    }

    pub(super) fn union(&self, other: &Set) -> Set {
        Set(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    pub(super) fn is_within(&self, other: &Set) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own & !other == 0)
    }

    pub(super) fn meets(&self, other: &Set) -> bool {
        self.0.iter().zip(&other.0).any(|(own, other)| own & other != 0)
    }

    fn is_empty(&self) -> bool {
        *self == Set::default()
    }
}

/// A part of an inner join.
pub(super) struct Part<'p> {
    /// As it is read by itself.
    pub(super) input: Input,
    /// What it reads values of.
    pub(super) needs: Set,
    /// Whether it has one row at most.
    pub(super) is_single: bool,
    /// The columns that its rows are ordered by, where a merge can use them.
    pub(super) order: Vec<usize>,
    /// The table that it is, where that can be looked up by values of others.
    pub(super) probe: Option<Probe<'p>>,
}

/// A table that can be looked up.
pub(super) struct Probe<'p> {
    pub(super) relation: &'p Relation,
    /// Whether each row that is looked at is locked.
    pub(super) is_locked: bool,
    pub(super) rows: f64,
    pub(super) sargs: Vec<Sarg<'p>>,
    /// Of each of the conditions: which other parts it names, and which part of the rows it leaves.
    pub(super) conditions: Vec<(Set, f64)>,
    /// How many conditions there are on the table alone.
    pub(super) own: usize,
}

impl Probe<'_> {
    /// The best way to the rows for one row of some parts: how many rows it leads to, and what that costs. None of the ways that
    /// are there without those parts.
    pub(super) fn best(&self, from: &Set, preferences: &Preferences) -> Option<(Path, f64, Cost)> {
        let is_usable = |sarg: &Sarg<'_>| self.conditions[sarg.condition].0.is_within(from);
        let mut best: Option<(Path, f64, Cost)> = None;
        for path in access::paths(self.relation, &self.sargs, &is_usable) {
            let used = || path.sargs().map(|at| self.conditions[self.sargs[at].condition]);
            if used().all(|(needs, _)| needs.is_empty()) {
                continue;
            }
            let part: f64 = used().map(|(_, part)| part).product();
            let rows = if path.is_single { (self.rows * part).min(1.0) } else { (self.rows * part).max(1.0) };
            let read = Read {
                rows: rows.max(1.0),
                descents: 1.0,
                is_secondary: path.index.is_some(),
                is_all: false,
                is_locked: self.is_locked,
                conditions: self.own,
            };
            let cost = preferences.read(read);
            if best.as_ref().is_none_or(|(.., known)| cost.total < known.total) {
                best = Some((path, rows, cost));
            }
        }
        best
    }
}

/// A condition on several parts.
pub(super) struct Edge {
    pub(super) parts: Set,
    pub(super) selectivity: f64,
    /// The parts of its two sides, where they can be keys of a table of hashes.
    pub(super) sides: Option<(Set, Set)>,
}

/// Columns of several parts that are equal to each other.
pub(super) struct Class {
    pub(super) columns: Vec<usize>,
    pub(super) parts: Set,
    /// Of each part that has some of them: how many values, and the part of its rows that has one.
    pub(super) members: Vec<(usize, f64, f64)>,
}

impl Class {
    /// The part of the combinations of rows in which the columns of these parts are equal.
    fn selectivity(&self, set: &Set) -> f64 {
        let (mut least, mut part, mut count) = (f64::INFINITY, 1.0, 0);
        for (_, distinct, present) in self.members.iter().filter(|(part, ..)| set.has(*part)) {
            part *= present / distinct.max(1.0);
            least = least.min(distinct.max(1.0));
            count += 1;
        }
        if count < 2 { 1.0 } else { part * least }
    }
}

/// How two sides are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// The right is a table that is looked up for each row of the left.
    Lookup,
    /// The right reads values of the left, or is read once for the only row of the left.
    Nested,
    Hash,
    Merge,
    /// The right is looked through.
    Through,
}

/// An order.
#[derive(Debug)]
pub(super) enum Order {
    Part(usize),
    Join(Box<Order>, Box<Order>, How),
}

/// All of an inner join.
pub(super) struct Graph<'g> {
    pub(super) parts: Vec<Part<'g>>,
    pub(super) edges: Vec<Edge>,
    pub(super) classes: Vec<Class>,
    pub(super) preferences: Preferences,
}

/// Some parts that are joined.
#[derive(Clone, Copy)]
struct Joined {
    set: Set,
    input: Input,
    /// The leftmost part.
    first: usize,
    /// Whether there is one row at most.
    is_single: bool,
}

/// The best way to a set of parts: what they are then, the parts of its left side, and how that is joined to the others.
type Step = (Joined, u64, How);

impl Graph<'_> {
    /// Chooses an order.
    pub(super) fn order(&self) -> Order {
        if self.parts.len() <= EXHAUSTIVE_MAX { self.compare_all() } else { self.add_one_by_one() }
    }

    fn part(&self, at: usize) -> Joined {
        let Part { input, is_single, .. } = self.parts[at];
        Joined { set: Set::one(at), input, first: at, is_single }
    }

    /// How many rows parts have that are joined.
    fn rows(&self, set: &Set) -> f64 {
        let parts = self.parts.iter().enumerate().filter(|(at, _)| set.has(*at));
        let rows: f64 = parts.map(|(_, part)| part.input.rows.max(1.0)).product();
        let edges = self.edges.iter().filter(|edge| edge.parts.is_within(set));
        let kept: f64 = edges.map(|edge| edge.selectivity).product();
        let equal: f64 = self.classes.iter().map(|class| class.selectivity(set)).product();
        (rows * kept * equal).max(1.0)
    }

    /// Whether there is a condition on both of two sets, or one reads values of the other.
    fn is_connected(&self, a: &Set, b: &Set) -> bool {
        let both = a.union(b);
        self.classes.iter().any(|class| class.parts.meets(a) && class.parts.meets(b))
            || self.edges.iter().any(|edge| edge.parts.is_within(&both) && edge.parts.meets(a) && edge.parts.meets(b))
            || self.reads(a, b)
            || self.reads(b, a)
    }

    fn reads(&self, reader: &Set, from: &Set) -> bool {
        self.parts.iter().enumerate().any(|(at, part)| reader.has(at) && part.needs.meets(from))
    }

    /// Whether there is an equality to look rows of one side up by.
    fn has_key(&self, a: &Set, b: &Set) -> bool {
        let fits = |(one, other): &(Set, Set)| {
            one.is_within(a) && other.is_within(b) || one.is_within(b) && other.is_within(a)
        };
        self.classes.iter().any(|class| class.parts.meets(a) && class.parts.meets(b))
            || self.edges.iter().filter_map(|edge| edge.sides.as_ref()).any(fits)
    }

    /// The columns that rows of both sides are ordered by and that are equal to each other.
    pub(super) fn merged(&self, left: usize, right: usize) -> Vec<(usize, usize)> {
        let is_equal = |(a, b): &(usize, usize)| {
            self.classes.iter().any(|class| class.columns.contains(a) && class.columns.contains(b))
        };
        let pairs = self.parts[left].order.iter().copied().zip(self.parts[right].order.iter().copied());
        pairs.take_while(is_equal).collect()
    }

    /// The best way to join the right to the left; `None`: there is none, as long as something that it reads is missing.
    fn join(&self, left: &Joined, right: &Joined, rows: f64) -> Option<(Joined, How)> {
        let preferences = &self.preferences;
        let set = left.set.union(&right.set);
        let is_part = right.set == Set::one(right.first);
        let part = &self.parts[right.first];
        let mut ways: [Option<(Cost, How)>; 4] = [None; 4];
        let mut is_single = left.is_single && right.is_single;
        if is_part && !part.needs.is_empty() {
            if !part.needs.is_within(&left.set) {
                return None;
            }
            ways[0] = Some((preferences.nested(left.input, right.input.cost, (rows, rows), 0), How::Nested));
        } else {
            let probe = part.probe.as_ref().filter(|_| is_part);
            if let Some((path, matched, cost)) = probe.and_then(|probe| probe.best(&left.set, preferences)) {
                is_single |= left.is_single && path.is_single;
                let matched = (left.input.rows * matched, rows);
                ways[0] = Some((preferences.nested(left.input, cost, matched, 0), How::Lookup));
            }
            if left.is_single {
                ways[3] =
                    Some((preferences.nested(left.input, right.input.cost, (right.input.rows, rows), 1), How::Nested));
            }
            if !self.has_key(&left.set, &right.set) {
                ways[1] = Some((preferences.looked_through(left.input, right.input, rows, 1), How::Through));
            } else {
                ways[1] = Some((preferences.hash(left.input, right.input, (rows, rows), 0), How::Hash));
                if !self.merged(left.first, right.first).is_empty() {
                    ways[2] = Some((preferences.merge(left.input, right.input, (rows, rows), 0), How::Merge));
                }
            }
        }
        let best = ways.into_iter().flatten().min_by(|(a, _), (b, _)| a.total.total_cmp(&b.total));
        let (cost, how) = best?;
        let (width, columns) = (left.input.width + right.input.width, left.input.columns + right.input.columns);
        Some((Joined { set, input: Input { cost, rows, width, columns }, first: left.first, is_single }, how))
    }

    fn compare_all(&self) -> Order {
        let all = (1_u64 << self.parts.len()) - 1;
        let mut best: Vec<Option<Step>> = vec![None; all as usize + 1];
        for (at, _) in self.parts.iter().enumerate().filter(|(_, part)| part.needs.is_empty()) {
            best[1 << at] = Some((self.part(at), 0, How::Through));
        }
        if self.is_one() {
            self.compare(&mut best, all, true);
        }
        if best[all as usize].is_none() {
            self.compare(&mut best, all, false);
        }
        order_of(&best, all)
    }

    /// Finds the best way to each set of parts; `is_one`: each step has a condition to join by.
    fn compare(&self, best: &mut [Option<Step>], all: u64, is_one: bool) {
        for mask in 1..=all {
            if mask.is_power_of_two() {
                continue;
            }
            let rows = self.rows(&Set::of_mask(mask));
            // The first parts come first, so that of what costs the same the order of FROM is taken.
            let mut left_mask = mask & mask.wrapping_neg();
            while left_mask != mask {
                let right_mask = mask ^ left_mask;
                let right = match right_mask.is_power_of_two() {
                    true => Some(self.part(right_mask.trailing_zeros() as usize)),
                    false => best[right_mask as usize].map(|(joined, ..)| joined),
                };
                let known = best[mask as usize].map_or(f64::INFINITY, |(joined, ..)| joined.input.cost.total);
                if let (Some((left, ..)), Some(right)) = (best[left_mask as usize], right)
                    && left.input.cost.total < known
                    && (!is_one || self.is_connected(&left.set, &right.set))
                    && let Some((joined, how)) = self.join(&left, &right, rows)
                    && joined.input.cost.total < known
                {
                    best[mask as usize] = Some((joined, left_mask, how));
                }
                left_mask = left_mask.wrapping_sub(mask) & mask;
            }
        }
    }

    /// Whether conditions lead from each part to each other one.
    fn is_one(&self) -> bool {
        let mut reached = Set::one(0);
        loop {
            let next =
                (0..self.parts.len()).find(|at| !reached.has(*at) && self.is_connected(&reached, &Set::one(*at)));
            match next {
                Some(next) => reached.insert(next),
                None => return (0..self.parts.len()).all(|at| reached.has(at)),
            }
        }
    }

    fn add_one_by_one(&self) -> Order {
        let mut left: Vec<usize> = (0..self.parts.len()).collect();
        let is_first = |at: &&usize| self.parts[**at].needs.is_empty();
        let cost = |at: &usize| self.parts[*at].input.rows * 0.01 + self.parts[*at].input.cost.total;
        let first = left.iter().filter(is_first).min_by(|a, b| cost(a).total_cmp(&cost(b))).copied().unwrap_or(0);
        left.retain(|at| *at != first);
        let (mut joined, mut order) = (self.part(first), Order::Part(first));
        while !left.is_empty() {
            let (next, at, how) = self.next(&joined, &left);
            left.retain(|other| *other != at);
            joined = next;
            order = Order::Join(Box::new(order), Box::new(Order::Part(at)), how);
        }
        order
    }

    /// The part that is best joined next.
    fn next(&self, joined: &Joined, left: &[usize]) -> (Joined, usize, How) {
        let mut best: Option<(bool, Joined, usize, How)> = None;
        for at in left {
            let right = self.part(*at);
            // One that nothing connects multiplies all rows: as late as can be.
            let is_apart = !self.is_connected(&joined.set, &right.set);
            let rows = self.rows(&joined.set.union(&right.set));
            let Some((next, how)) = self.join(joined, &right, rows) else { continue };
            let weight = |joined: &Joined| joined.input.cost.total + joined.input.rows * 0.01;
            let is_better = best.as_ref().is_none_or(|(is_known_apart, known, ..)| {
                (is_apart, weight(&next))
                    .partial_cmp(&(*is_known_apart, weight(known)))
                    .is_some_and(|order| order.is_lt())
            });
            if is_better {
                best = Some((is_apart, next, *at, how));
            }
        }
        let (_, next, at, how) = best.expect("what a part reads comes before it in FROM");
        (next, at, how)
    }
}

fn order_of(best: &[Option<Step>], mask: u64) -> Order {
    if mask.is_power_of_two() {
        return Order::Part(mask.trailing_zeros() as usize);
    }
    let (_, left, how) = best[mask as usize].expect("what a part reads comes before it in FROM");
    Order::Join(Box::new(order_of(best, left)), Box::new(order_of(best, mask ^ left)), how)
}
