//! Inner joins: their parts with what is known of them, the order that is chosen, and the plan that it means.
//!
//! Invariants:
//! - A condition on one part is checked there; one on several where the last of them is joined.
//! - Of columns that are equal to each other each join of two sides checks one pair: within a side they are equal already.
//! - An equality that the key of a lookup or a join is made of is not checked again.

use std::collections::BTreeSet;

use super::access::{self, Path, Sarg};
use super::equality::{self, Equalities, equal};
use super::estimate::Origin;
use super::join::{Planned, Planner, Table, Tree, is_of, sides};
use super::order::{Class, Edge, Graph, How, Order, Part, Probe, Set};
use super::{JoinKind, RowLock};
use crate::expr::Expr;

/// A part of an inner join, planned by itself.
struct Piece {
    planned: Option<Planned>,
    columns: BTreeSet<usize>,
    /// Registers that it reads, and what of other parts they hold.
    captures: Vec<(usize, Expr)>,
    table: Option<Table>,
    /// The conditions on it alone.
    own: Vec<Expr>,
    is_single: bool,
}

/// What the parts of an inner join have to do with each other.
struct Relations {
    /// Columns that are equal.
    classes: Vec<Vec<usize>>,
    /// Conditions on several parts, with these.
    edges: Vec<(Expr, Set)>,
}

/// A condition by which a table can be found.
struct Alternative {
    condition: Expr,
    /// The other parts that it names.
    needs: Set,
    /// The class that it is of.
    class: Option<usize>,
}

impl Planner<'_> {
    /// Tables that are joined in any order.
    pub(super) fn inner(&mut self, trees: Vec<Tree>, conditions: Vec<Expr>) -> Planned {
        let Equalities { classes, conditions } = equality::split(conditions, &|at| self.type_of(at));
        let columns: Vec<BTreeSet<usize>> = trees
            .iter()
            .map(|tree| {
                let mut columns = BTreeSet::new();
                self.columns(tree, &mut columns);
                columns
            })
            .collect();
        let (mut own, relations) = divide(&columns, classes, conditions);
        let mut pieces = Vec::with_capacity(trees.len());
        for (at, (tree, columns)) in trees.into_iter().zip(columns).enumerate() {
            pieces.push(self.piece(tree, columns, std::mem::take(&mut own[at])));
        }
        if pieces.iter().all(|piece| piece.is_single) {
            return self.in_turn(pieces, &relations);
        }
        let alternatives: Vec<Vec<Alternative>> =
            (0..pieces.len()).map(|at| alternatives(&pieces, &relations, at)).collect();
        let tables: Vec<Option<Table>> = pieces.iter().map(|piece| piece.table.clone()).collect();
        let graph = self.graph(&pieces, &relations, &alternatives, &tables);
        let order = graph.order();
        let mut build = Build { graph: &graph, pieces, relations: &relations, alternatives: &alternatives };
        build.order(self, &order).0
    }

    /// Parts of which each gives one row at most: no order is better than another.
    fn in_turn(&mut self, pieces: Vec<Piece>, relations: &Relations) -> Planned {
        let graph = Graph {
            parts: Vec::new(),
            edges: Vec::new(),
            classes: Vec::new(),
            preferences: self.estimator.preferences,
        };
        let order = (1..pieces.len())
            .fold(Order::Part(0), |order, at| Order::Join(Box::new(order), Box::new(Order::Part(at)), How::Nested));
        Build { graph: &graph, pieces, relations, alternatives: &[] }.order(self, &order).0
    }

    fn piece(&mut self, tree: Tree, columns: BTreeSet<usize>, own: Vec<Expr>) -> Piece {
        let captures = self.captures(&tree, &columns);
        if let Tree::Leaf(at) = tree {
            let leaf = self.take(at);
            let table = Table::of(&leaf).filter(|_| leaf.captures.is_empty());
            let planned = self.alone(leaf, own.clone());
            let is_single = planned.is_single && captures.is_empty();
            return Piece { planned: Some(planned), columns, captures, table, own, is_single };
        }
        let planned = self.tree(tree, own.clone());
        Piece { planned: Some(planned), columns, captures, table: None, own, is_single: false }
    }

    /// Takes out of a tree what its leaves read of leaves that are not in it, and has them read that from registers.
    pub(super) fn captures(&mut self, tree: &Tree, columns: &BTreeSet<usize>) -> Vec<(usize, Expr)> {
        let mut leaves = Vec::new();
        tree.leaves(&mut leaves);
        let mut taken: Vec<(usize, Expr)> = Vec::new();
        for at in leaves {
            let captures = std::mem::take(&mut self.leaf(at).captures);
            let (mut inside, mut outside) = (Vec::new(), Vec::new());
            for (register, expr) in captures {
                let mut names = false;
                expr.for_each_column(&mut |at| names |= !columns.contains(&at));
                if !names {
                    inside.push((register, expr));
                } else if matches!(tree, Tree::Leaf(_)) {
                    outside.push((register, expr));
                } else {
                    let expr = self.captured(expr, columns, &mut outside);
                    inside.push((register, expr));
                }
            }
            self.leaf(at).captures = inside;
            taken.extend(outside);
        }
        taken
    }

    /// An expression in which columns that are not among these are read from registers, which are noted.
    fn captured(&self, mut expr: Expr, columns: &BTreeSet<usize>, outside: &mut Vec<(usize, Expr)>) -> Expr {
        if let Expr::Column(at) = expr
            && !columns.contains(&at)
        {
            let register = self.new_register();
            outside.push((register, expr));
            return Expr::Register(register);
        }
        expr.for_each_part_mut(&mut |part| {
            let taken = std::mem::replace(part, Expr::NULL);
            *part = self.captured(taken, columns, outside);
        });
        expr
    }

    /// What the order of the parts is chosen by.
    fn graph<'g>(
        &mut self,
        pieces: &[Piece],
        relations: &Relations,
        alternatives: &'g [Vec<Alternative>],
        tables: &'g [Option<Table>],
    ) -> Graph<'g> {
        for piece in pieces {
            for (register, expr) in &piece.captures {
                if let Expr::Column(at) = expr {
                    self.estimator.hold(*register, self.origins.get(*at).and_then(Option::as_ref));
                }
            }
            self.note(planned(piece));
        }
        let mut parts = Vec::with_capacity(pieces.len());
        for (at, piece) in pieces.iter().enumerate() {
            let estimate = planned(piece).estimate(self.estimator);
            let needs = piece.captures.iter().map(|(_, expr)| named(expr, pieces));
            parts.push(Part {
                input: estimate.input(),
                needs: needs.fold(Set::default(), |all, one| all.union(&one)),
                order: planned(piece).order.clone(),
                is_single: piece.is_single,
                probe: tables[at].as_ref().map(|table| self.probe(table, &alternatives[at], piece.own.len())),
            });
        }
        let edges = relations.edges.iter().map(|(condition, set)| Edge {
            parts: *set,
            selectivity: self.estimator.selectivity([condition], &self.origins),
            sides: sides(condition).map(|(a, b)| (named(a, pieces), named(b, pieces))),
        });
        let edges = edges.collect();
        let classes = relations.classes.iter().map(|columns| self.class(columns, pieces)).collect();
        Graph { parts, edges, classes, preferences: self.estimator.preferences }
    }

    fn probe<'g>(&self, table: &'g Table, alternatives: &'g [Alternative], own: usize) -> Probe<'g> {
        let conditions: Vec<&Expr> = alternatives.iter().map(|one| &one.condition).collect();
        let is_known = |expr: &Expr| {
            let mut is_known = true;
            expr.for_each_column(&mut |at| is_known &= !table.columns.contains(&at));
            is_known
        };
        let sargs = access::sargs((&table.relation, &table.columns), &conditions, &is_known, true);
        let part = |one: &Alternative| (one.needs, self.estimator.selectivity([&one.condition], &self.origins));
        Probe {
            relation: &table.relation,
            is_locked: table.lock != RowLock::None,
            rows: self.estimator.table_rows(&table.relation),
            sargs,
            conditions: alternatives.iter().map(part).collect(),
            own,
        }
    }

    fn class(&self, columns: &[usize], pieces: &[Piece]) -> Class {
        let mut class = Class { columns: columns.to_vec(), parts: Set::default(), members: Vec::new() };
        for (at, piece) in pieces.iter().enumerate() {
            let own = columns.iter().filter(|column| piece.columns.contains(column));
            let origins = own.map(|column| self.origins.get(*column).and_then(Option::as_ref));
            let known = |origin: Option<&Origin>| {
                origin.map_or((200.0, 1.0), |origin| (origin.distinct(), 1.0 - origin.null_fraction()))
            };
            let least = origins.map(known).reduce(|one, other| if other.0 < one.0 { other } else { one });
            if let Some((distinct, present)) = least {
                class.parts.insert(at);
                class.members.push((at, distinct, present));
            }
        }
        class
    }
}

fn planned(piece: &Piece) -> &Planned {
    piece.planned.as_ref().expect("it is built once, later")
}

/// The parts whose columns an expression names.
fn named(expr: &Expr, pieces: &[Piece]) -> Set {
    let mut set = Set::default();
    expr.for_each_column(&mut |column| {
        if let Some(at) = pieces.iter().position(|piece| piece.columns.contains(&column)) {
            set.insert(at);
        }
    });
    set
}

/// Gives each condition to the part that it is on, or to several.
fn divide(columns: &[BTreeSet<usize>], classes: Vec<Vec<usize>>, conditions: Vec<Expr>) -> (Vec<Vec<Expr>>, Relations) {
    let mut own: Vec<Vec<Expr>> = vec![Vec::new(); columns.len()];
    let mut edges = Vec::new();
    for condition in conditions {
        // What names no column is checked with the first part.
        match columns.iter().position(|columns| is_of(&condition, columns)) {
            Some(at) => own[at].push(condition),
            None => {
                let mut set = Set::default();
                condition.for_each_column(&mut |column| {
                    columns
                        .iter()
                        .position(|columns| columns.contains(&column))
                        .into_iter()
                        .for_each(|at| set.insert(at));
                });
                edges.push((condition, set));
            }
        }
    }
    let mut between = Vec::new();
    for class in classes {
        let mut count = 0;
        for (at, columns) in columns.iter().enumerate() {
            let mut members = class.iter().filter(|column| columns.contains(column));
            let Some(first) = members.next() else { continue };
            own[at].extend(members.map(|other| equal(Expr::Column(*first), Expr::Column(*other))));
            count += 1;
        }
        if count > 1 {
            between.push(class);
        }
    }
    (own, Relations { classes: between, edges })
}

/// The conditions by which a part can be found, where it is a table.
fn alternatives(pieces: &[Piece], relations: &Relations, at: usize) -> Vec<Alternative> {
    let piece = &pieces[at];
    if piece.table.is_none() {
        return Vec::new();
    }
    let mut found: Vec<Alternative> = Vec::new();
    for (class, columns) in relations.classes.iter().enumerate() {
        for own in columns.iter().filter(|column| piece.columns.contains(column)) {
            for other in columns.iter().filter(|column| !piece.columns.contains(column)) {
                let condition = equal(Expr::Column(*own), Expr::Column(*other));
                let needs = named(&Expr::Column(*other), pieces);
                found.push(Alternative { condition, needs, class: Some(class) });
            }
        }
    }
    for (condition, set) in relations.edges.iter().filter(|(_, set)| set.has(at)) {
        let needs = set.without(at);
        found.push(Alternative { condition: condition.clone(), needs, class: None });
    }
    let own = piece.own.iter().map(|condition| Alternative {
        condition: condition.clone(),
        needs: Set::default(),
        class: None,
    });
    found.extend(own);
    found
}

/// Makes a plan of an order.
struct Build<'b, 'g> {
    graph: &'b Graph<'g>,
    pieces: Vec<Piece>,
    relations: &'b Relations,
    alternatives: &'b [Vec<Alternative>],
}

/// A side of a join that is built.
struct Side {
    planned: Planned,
    set: Set,
    columns: BTreeSet<usize>,
    first: usize,
}

/// What holds between two sides.
#[derive(Default)]
struct Between {
    keys: Vec<(Expr, Expr)>,
    conditions: Vec<Expr>,
}

impl Between {
    /// All of it as conditions.
    fn conditions(self) -> Vec<Expr> {
        self.keys.into_iter().map(|(a, b)| equal(a, b)).chain(self.conditions).collect()
    }
}

impl Build<'_, '_> {
    fn order(&mut self, planner: &Planner<'_>, order: &Order) -> (Planned, Set) {
        let side = self.side(planner, order);
        (side.planned, side.set)
    }

    fn side(&mut self, planner: &Planner<'_>, order: &Order) -> Side {
        match order {
            Order::Part(at) => self.part(*at),
            Order::Join(left, right, how) => {
                let left = self.side(planner, left);
                if let (How::Lookup, Order::Part(at)) = (how, &**right) {
                    return self.looked_up(planner, left, *at);
                }
                let right = self.side(planner, right);
                self.joined(planner, left, right, *how)
            }
        }
    }

    fn part(&mut self, at: usize) -> Side {
        let piece = &mut self.pieces[at];
        let planned = piece.planned.take().expect("a part is joined once");
        Side { planned, set: Set::one(at), columns: piece.columns.clone(), first: at }
    }

    fn joined(&mut self, planner: &Planner<'_>, left: Side, right: Side, how: How) -> Side {
        let mut between = self.between(&left, &right, &[]);
        let set = left.set.union(&right.set);
        let columns = left.columns.iter().chain(&right.columns).copied().collect();
        let first = left.first;
        let planned = match how {
            How::Nested => {
                let captures = std::mem::take(&mut self.pieces[right.first].captures);
                planner.nested(JoinKind::Inner, left.planned, right.planned, captures, between.conditions())
            }
            How::Merge => {
                let pairs = self.graph.merged(left.first, right.first);
                let keys: Vec<(Expr, Expr)> = pairs.iter().map(|(a, b)| (Expr::Column(*a), Expr::Column(*b))).collect();
                let classes = &self.relations.classes;
                let is_merged = |a: &Expr, b: &Expr| {
                    let (Expr::Column(a), Expr::Column(b)) = (a, b) else { return false };
                    let of_both = |class: &&Vec<usize>| class.contains(a) && class.contains(b);
                    classes.iter().find(of_both).is_some_and(|class| pairs.iter().any(|(a, _)| class.contains(a)))
                };
                between.keys.retain(|(a, b)| !is_merged(a, b));
                planner.merged(JoinKind::Inner, left.planned, right.planned, keys, between.conditions())
            }
            _ => planner.kept(JoinKind::Inner, left.planned, right.planned, between.keys, between.conditions),
        };
        Side { planned, set, columns, first }
    }

    /// What holds between two sides, without these classes.
    fn between(&self, left: &Side, right: &Side, without: &[usize]) -> Between {
        let mut between = Between::default();
        for (at, class) in self.relations.classes.iter().enumerate() {
            let member = |side: &Side| class.iter().find(|column| side.columns.contains(column)).copied();
            if let (Some(a), Some(b), false) = (member(left), member(right), without.contains(&at)) {
                between.keys.push((Expr::Column(a), Expr::Column(b)));
            }
        }
        let both = left.set.union(&right.set);
        for (condition, set) in &self.relations.edges {
            if !set.is_within(&both) || set.is_within(&left.set) || set.is_within(&right.set) {
                continue;
            }
            match sides(condition) {
                Some((a, b)) if is_of(a, &left.columns) && is_of(b, &right.columns) => {
                    between.keys.push((a.clone(), b.clone()));
                }
                Some((a, b)) if is_of(b, &left.columns) && is_of(a, &right.columns) => {
                    between.keys.push((b.clone(), a.clone()));
                }
                _ => between.conditions.push(condition.clone()),
            }
        }
        between
    }

    fn looked_up(&mut self, planner: &Planner<'_>, left: Side, at: usize) -> Side {
        let probe = self.graph.parts[at].probe.as_ref().expect("it is a table that can be looked up");
        let (path, ..) = probe.best(&left.set, &planner.estimator.preferences).expect("there is a way to look it up");
        let right = self.part(at);
        let mut used = used(&path, &probe.sargs, &self.alternatives[at]);
        if self.pieces[at].table.as_ref().is_some_and(|table| table.lock.is_later()) {
            // A row that is locked after it was found may have another key by then.
            used.clear();
        }
        let classes: Vec<usize> = used.iter().filter_map(|one| one.class).collect();
        let between = self.between(&left, &right, &classes);
        let conditions = between.conditions().into_iter().filter(|condition| {
            !used.iter().any(|one| one.condition == *condition || is_swapped(&one.condition, condition))
        });
        let both = conditions.collect();
        let piece = &mut self.pieces[at];
        let table = piece.table.take().expect("it is a table");
        let access = path.access(&probe.sargs);
        let own = std::mem::take(&mut piece.own);
        let set = left.set.union(&right.set);
        let columns = left.columns.iter().chain(&right.columns).copied().collect();
        let planned = planner.looked_up(JoinKind::Inner, left.planned, table, (access, path.is_single), (own, both));
        Side { planned, set, columns, first: left.first }
    }
}

/// The equalities that a key is made of.
fn used<'a>(path: &Path, sargs: &[Sarg<'_>], alternatives: &'a [Alternative]) -> Vec<&'a Alternative> {
    path.prefix.iter().map(|at| &alternatives[sargs[*at].condition]).collect()
}

/// Whether two equalities are the same, with their sides exchanged.
fn is_swapped(one: &Expr, other: &Expr) -> bool {
    match (sides(one), sides(other)) {
        (Some((a, b)), Some((c, d))) => a == d && b == c,
        _ => false,
    }
}
