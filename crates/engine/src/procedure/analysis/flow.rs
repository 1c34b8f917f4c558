//! What each instruction of a procedure depends on: the definitions that reach what it uses, and the branches that decide whether
//! it is executed (PACMAN, section 4.1.1: define-use and control relations).
//!
//! Invariants:
//! - Only runs that commit count. An instruction from which the end is not reached is never executed, so a branch that leads
//!   to one decides nothing.
//! - A dependency that one round of a loop has on an earlier one is a dependency as any other.
//! - Whatever may fail within a `try` decides whether what follows it, and what catches it, is executed.
//!
//! Definitions are followed by the classic iteration over sets. A branch decides about an instruction that follows on one of its
//! ways and not on every one: control dependence (J. Ferrante, K. Ottenstein, J. Warren: *The Program Dependence Graph and Its
//! Use in Optimization*, ACM TOPLAS 9(3), 1987), by immediate post-dominators (K. Cooper, T. Harvey, K. Kennedy: *A Simple, Fast
//! Dominance Algorithm*, 2001).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::effects::{Effects, Variable};
use crate::procedure::code::{Code, Instruction};

/// The flow through a procedure.
#[derive(Debug)]
pub(super) struct Flow {
    definitions: Reaching,
    /// For each instruction the branches that decide whether it is executed.
    branches: Vec<BTreeSet<usize>>,
    /// Where each instruction may go on, and where it may come from; the end is behind the last one.
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
    /// For each instruction the last one that every run comes to before it, and the first one behind it.
    dominators: Vec<Option<usize>>,
    post_dominators: Vec<Option<usize>>,
    /// Whether an instruction is executed in any run that commits.
    pub(super) is_live: Vec<bool>,
    /// The instructions of each `try` statement, with those that catch.
    pub(super) tries: Vec<Range<usize>>,
}

impl Flow {
    /// Analyses code, of which `effects` are those of each instruction.
    pub(super) fn of(code: &Code, effects: &[Effects]) -> Flow {
        let tries = Tries::of(code);
        let mut successors: Vec<Vec<usize>> = (0..effects.len()).map(|at| tries.successors(code, at)).collect();
        let exit = successors.len();
        let is_live = live(&successors, exit);
        for (at, successors) in successors.iter_mut().enumerate() {
            successors.retain(|to| is_live[at] && (*to == exit || is_live[*to]));
        }
        let predecessors = predecessors(&successors, exit);
        let definitions = Reaching::new(effects, &successors, &predecessors);
        successors.push(Vec::new());
        let post_dominators = dominators(&successors, &predecessors, exit);
        let branches = deciding(&successors, &post_dominators, exit);
        let dominators = dominators(&predecessors, &successors, 0);
        let tries = tries.ranges;
        Flow { definitions, branches, successors, predecessors, dominators, post_dominators, is_live, tries }
    }

    /// Returns the last instruction that every run comes to before another one; `None` of the first.
    pub(super) fn dominator(&self, at: usize) -> Option<usize> {
        self.dominators[at]
    }

    /// Returns the first instruction that every run comes to behind another one, if that may go on elsewhere than at the one that
    /// follows; the end is behind the last one.
    pub(super) fn goes_on(&self, at: usize) -> Option<usize> {
        let is_straight = !self.is_live[at] || self.successors[at] == [at + 1];
        self.post_dominators[at].filter(|_| !is_straight)
    }

    /// Returns the instructions that may be executed after one: itself among them where it is in a loop.
    pub(super) fn behind(&self, from: usize) -> BTreeSet<usize> {
        reached(&self.successors[from], &self.successors, None)
    }

    /// Returns the instructions that may be executed after one, itself included, and before another one, with no second
    /// execution of the first in between.
    pub(super) fn between(&self, from: usize, to: usize) -> Vec<usize> {
        let behind = reached(&self.successors[from], &self.successors, Some(from));
        let before = reached(&self.predecessors[to], &self.predecessors, Some(from));
        std::iter::once(from).chain(behind.intersection(&before).copied()).collect()
    }

    /// Returns the instructions whose definitions of a variable may be there when an instruction is executed.
    pub(super) fn definitions(&self, variable: Variable, at: usize) -> impl Iterator<Item = usize> {
        self.definitions.of(variable, at)
    }

    /// Returns the branches that decide whether an instruction is executed.
    pub(super) fn branches(&self, at: usize) -> impl Iterator<Item = usize> {
        self.branches[at].iter().copied()
    }

    /// Returns what an instruction with these effects depends on: definitions, and branches.
    pub(super) fn needs(&self, at: usize, effects: &Effects) -> Vec<usize> {
        let definitions = effects.uses.iter().flat_map(|variable| self.definitions(*variable, at));
        definitions.chain(self.branches(at)).collect()
    }
}

/// The `try` statements of a procedure.
struct Tries {
    /// The instructions of each, with those that catch.
    ranges: Vec<Range<usize>>,
    /// Of each the instructions whose errors it catches, and where those go on that catch.
    bodies: Vec<(Range<usize>, Vec<usize>)>,
}

impl Tries {
    /// Finds them: a `try` statement is compiled to `BeginTry`, its body, `EndTry`, a jump to its end, and what catches.
    fn of(code: &Code) -> Tries {
        let (mut ranges, mut bodies, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for (at, instruction) in code.instructions.iter().enumerate() {
            match instruction {
                Instruction::BeginTry { handler } => open.push((at, *handler)),
                Instruction::EndTry => {
                    let (begin, handler) = open.pop().expect("what ends has begun");
                    let Instruction::Jump { to } = code.instructions[at + 1] else {
                        unreachable!("the jump to the end follows")
                    };
                    let catches = &code.handlers[usize::from(handler)].catches;
                    ranges.push(begin..to.0 as usize);
                    bodies.push((begin + 1..at, catches.iter().map(|catch| catch.body.0 as usize).collect()));
                }
                _ => {}
            }
        }
        Tries { ranges, bodies }
    }

    /// Returns the instructions that may follow one; the end of the procedure is the one behind the last.
    fn successors(&self, code: &Code, at: usize) -> Vec<usize> {
        let exit = code.instructions.len();
        let instruction = &code.instructions[at];
        let target = instruction.target().map(|target| target.0 as usize);
        let next = match instruction {
            Instruction::Jump { .. } | Instruction::Abort { .. } => None,
            Instruction::Return { .. } | Instruction::End => Some(exit),
            _ => Some(at + 1),
        };
        let mut successors: Vec<usize> = next.into_iter().chain(target).collect();
        let fails = !matches!(
            instruction,
            Instruction::Expect(_)
                | Instruction::Jump { .. }
                | Instruction::BeginTry { .. }
                | Instruction::EndTry
                | Instruction::LeaveTry { .. }
                | Instruction::CloseRows { .. }
                | Instruction::End
        );
        let around = self.bodies.iter().filter(|(body, _)| fails && body.contains(&at));
        successors.extend(around.flat_map(|(_, catches)| catches));
        successors.sort_unstable();
        successors.dedup();
        successors
    }
}

fn predecessors(successors: &[Vec<usize>], exit: usize) -> Vec<Vec<usize>> {
    let mut predecessors = vec![Vec::new(); exit + 1];
    for (at, successors) in successors.iter().enumerate() {
        successors.iter().for_each(|to| predecessors[*to].push(at));
    }
    predecessors
}

/// Which instructions are reached from the first one and reach the end.
fn live(successors: &[Vec<usize>], exit: usize) -> Vec<bool> {
    let reached = |from: usize, edges: &[Vec<usize>]| {
        let (mut is_reached, mut open) = (vec![false; exit + 1], vec![from]);
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut is_reached[at], true) {
                open.extend(edges.get(at).into_iter().flatten());
            }
        }
        is_reached
    };
    let (begun, ends) = (reached(0, successors), reached(exit, &predecessors(successors, exit)));
    begun.into_iter().zip(ends).take(exit).map(|(begun, ends)| begun && ends).collect()
}

/// A set of definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Definitions(Vec<u64>);

impl Definitions {
    fn none(count: usize) -> Definitions {
        Definitions(vec![0; count.div_ceil(64)])
    }

    fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn add_all(&mut self, others: &Definitions) {
        self.0.iter_mut().zip(&others.0).for_each(|(own, other)| *own |= other);
    }

    fn remove(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }
}

/// Which definitions reach which instruction.
#[derive(Debug)]
struct Reaching {
    /// Of each variable its definitions, each with a number.
    of_variables: BTreeMap<Variable, Vec<(usize, usize)>>,
    /// For each instruction the numbers of those that are there before it.
    before: Vec<Definitions>,
}

impl Reaching {
    fn new(effects: &[Effects], successors: &[Vec<usize>], predecessors: &[Vec<usize>]) -> Reaching {
        let mut of_variables = BTreeMap::<Variable, Vec<(usize, usize)>>::new();
        let mut count = 0;
        for (at, effects) in effects.iter().enumerate() {
            for variable in &effects.defines {
                of_variables.entry(*variable).or_default().push((at, count));
                count += 1;
            }
        }
        let none = Definitions::none(count);
        let (mut before, mut after) = (vec![none.clone(); effects.len()], vec![none; effects.len()]);
        let mut open: BTreeSet<usize> = (0..effects.len()).collect();
        while let Some(at) = open.pop_first() {
            predecessors[at].iter().for_each(|from| before[at].add_all(&after[*from]));
            let mut then = before[at].clone();
            for (from, number) in effects[at].defines.iter().flat_map(|variable| &of_variables[variable]) {
                match *from == at {
                    true => then.add(*number),
                    // Where there are several ways to go on, the definition may not have been made on one of them.
                    false if successors[at].len() <= 1 => then.remove(*number),
                    false => {}
                }
            }
            if then != after[at] {
                after[at] = then;
                open.extend(successors[at].iter().filter(|to| **to < effects.len()));
            }
        }
        Reaching { of_variables, before }
    }

    fn of(&self, variable: Variable, at: usize) -> impl Iterator<Item = usize> {
        let definitions = self.of_variables.get(&variable).into_iter().flatten();
        definitions.filter(move |(_, number)| self.before[at].has(*number)).map(|(from, _)| *from)
    }
}

/// Returns, for each instruction, the branches that decide whether it is executed; `next` are the post-dominators.
fn deciding(successors: &[Vec<usize>], next: &[Option<usize>], exit: usize) -> Vec<BTreeSet<usize>> {
    let mut deciding = vec![BTreeSet::new(); exit];
    for (branch, ways) in successors.iter().enumerate().filter(|(_, ways)| ways.len() > 1) {
        for way in ways {
            let mut at = *way;
            while Some(at) != next[branch] && at != exit {
                deciding[at].insert(branch);
                at = next[at].expect("every way leads to the end");
            }
        }
    }
    deciding
}

/// What is reached from some over edges, not through one of them.
fn reached(begin: &[usize], edges: &[Vec<usize>], not_through: Option<usize>) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::new(), begin.to_vec());
    while let Some(at) = open.pop() {
        if Some(at) != not_through && seen.insert(at) {
            open.extend(&edges[at]);
        }
    }
    seen
}

/// Returns the immediate dominator of each instruction in the graph that begins at `root`, with these edges into and out of each
/// instruction: the last one that every way from the root comes to before it. `None` of what is not reached, and of the
/// root. With edges turned round and the end as the root it is the first one that every run comes to behind an instruction.
fn dominators(into: &[Vec<usize>], out: &[Vec<usize>], root: usize) -> Vec<Option<usize>> {
    let count = into.len();
    let (mut order, mut is_seen, mut open) = (Vec::new(), vec![false; count], vec![(root, 0)]);
    is_seen[root] = true;
    while let Some((at, way)) = open.pop() {
        match out[at].get(way) {
            Some(to) => {
                open.push((at, way + 1));
                if !std::mem::replace(&mut is_seen[*to], true) {
                    open.push((*to, 0));
                }
            }
            None => order.push(at),
        }
    }
    let mut number = vec![0; count];
    order.iter().enumerate().for_each(|(at, of)| number[*of] = at);
    let mut next: Vec<Option<usize>> = vec![None; count];
    next[root] = Some(root);
    let meet = |next: &[Option<usize>], mut a: usize, mut b: usize| {
        while a != b {
            let behind = if number[a] < number[b] { &mut a } else { &mut b };
            *behind = next[*behind].expect("it is known already");
        }
        a
    };
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for at in order.iter().rev().skip(1) {
            let known = into[*at].iter().copied().filter(|from| next[*from].is_some());
            let met = known.reduce(|a, b| meet(&next, a, b));
            has_changed |= next[*at] != met;
            next[*at] = met;
        }
    }
    next[root] = None;
    next
}
