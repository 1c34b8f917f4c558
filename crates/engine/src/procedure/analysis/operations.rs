//! The operations of one procedure, and which of them depends on which.
//!
//! Invariants:
//! - Every instruction that accesses rows, or draws what has an order, is an operation. All others only compute: whoever needs
//!   what they give may run them again.
//! - What has to be undone together is together: the operations of a `try` statement with those that catch; so are those of one
//!   scan.
//! - A procedure that is too long to be analysed, and a function of the program, are one whole.

use std::collections::BTreeSet;

use super::effects::{self, Access, Dependencies, Effects};
use super::flow::Flow;
use crate::procedure::code::Code;

/// The most instructions of a procedure that is analysed; a longer one is one slice.
pub(super) const ANALYSED_MAX: usize = 4096;

/// An operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) accesses: Vec<Access>,
    /// The statements of the procedure that it consists of, and those that it needs up to other operations.
    pub(super) statements: BTreeSet<u32>,
}

/// The operations of a procedure, in the order of its code.
#[derive(Debug, Default)]
pub(super) struct Operations {
    pub(super) all: Vec<Operation>,
    /// Flow dependencies: the second one needs the first one's result, to be computed or to be executed at all (PACMAN, section
    /// 4.1.1).
    pub(super) flow: BTreeSet<(usize, usize)>,
    /// Those that have to be executed together.
    pub(super) together: Vec<Vec<usize>>,
}

impl Operations {
    /// Those of a function of the program: it may do anything.
    pub(super) fn of_function() -> Operations {
        let operation = Operation { accesses: vec![Access::of_anything()], statements: BTreeSet::new() };
        Operations { all: vec![operation], ..Operations::default() }
    }

    /// Analyses a procedure.
    pub(super) fn of(code: &Code) -> Operations {
        let effects: Vec<Effects> =
            code.instructions.iter().map(|instruction| Effects::of(code, instruction)).collect();
        let columns = effects::columns_of_rows(&effects);
        let accesses = |at: usize| effects::accesses(code, at, &effects[at], &columns);
        if effects.len() > ANALYSED_MAX {
            return Operations::undivided(code, (0..effects.len()).map(accesses));
        }
        let flow = Flow::of(code, &effects);
        let found: Vec<(usize, Vec<Access>)> = (0..effects.len())
            .filter(|at| flow.is_live[*at])
            .map(|at| (at, accesses(at)))
            .filter(|(_, accesses)| !accesses.is_empty())
            .collect();
        let mut operation_at = vec![None; effects.len()];
        found.iter().enumerate().for_each(|(number, (at, _))| operation_at[*at] = Some(number));

        let mut operations = Operations::default();
        for (number, (at, accesses)) in found.into_iter().enumerate() {
            let mut statements = BTreeSet::from([statement(code, at)]);
            let (mut open, mut seen) = (flow.needs(at, &effects[at]), BTreeSet::from([at]));
            while let Some(needed) = open.pop() {
                match operation_at[needed] {
                    Some(other) if other != number => {
                        operations.flow.insert((other, number));
                    }
                    _ if seen.insert(needed) => {
                        statements.insert(statement(code, needed));
                        open.extend(flow.needs(needed, &effects[needed]));
                    }
                    _ => {}
                }
            }
            operations.all.push(Operation { accesses, statements });
        }
        let within = |range: &std::ops::Range<usize>| operation_at[range.clone()].iter().flatten().copied().collect();
        operations.together = flow.tries.iter().map(within).collect();
        operations.together.extend(scans(code, &operation_at));
        operations
    }

    /// All accesses as one operation.
    fn undivided(code: &Code, accesses: impl Iterator<Item = Vec<Access>>) -> Operations {
        let statements = code.numbers.iter().copied().collect();
        let all = vec![Operation { accesses: accesses.flatten().collect(), statements }];
        Operations { all, ..Operations::default() }
    }

    /// Whether any of them modifies anything.
    pub(super) fn modify(&self) -> bool {
        self.all.iter().any(Operation::modifies)
    }
}

impl Operation {
    /// Whether it changes what others may read.
    pub(super) fn modifies(&self) -> bool {
        self.accesses.iter().any(Access::modifies)
    }

    /// Whether two operations are data-dependent.
    pub(super) fn conflicts(&self, other: &Operation, by: Dependencies) -> bool {
        self.accesses.iter().any(|own| other.accesses.iter().any(|access| own.conflicts(access, by)))
    }
}

/// The statement of the procedure that an instruction belongs to.
fn statement(code: &Code, at: usize) -> u32 {
    code.numbers[usize::from(code.statements[at])]
}

/// The operations of each scan: what opens it, and what takes its rows.
fn scans(code: &Code, operation_at: &[Option<usize>]) -> impl Iterator<Item = Vec<usize>> {
    let of_scan = |at: usize| Some(vec![operation_at[at]?, operation_at[effects::opener(code, at)?]?]);
    (0..code.instructions.len()).filter_map(of_scan)
}
