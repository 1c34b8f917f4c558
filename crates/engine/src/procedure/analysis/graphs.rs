//! Slices, local dependency graphs and the global one (PACMAN, section 4.1 and appendix B), of operations that were analysed.
//!
//! Invariants:
//! - Operations of one procedure that are data-dependent are in one slice, and slices that are data-dependent in one block. So
//!   everything that is done with a table that any procedure modifies belongs to one block.
//! - Neither graph has a cycle, and an edge leads from a smaller number to a greater one.
//! - A procedure has at most one slice in a block.
//!
//! Absent: procedures that modify nothing. No log has calls of them.

use std::collections::{BTreeMap, BTreeSet};

use super::condense::{Condensed, Groups};
use super::effects::Dependencies;
use super::operations::{Operation, Operations};

/// How procedures are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decomposition {
    /// Into as many slices as flow and data dependencies of one procedure allow (PACMAN, section 4.1.1).
    #[default]
    Slices,
    /// Into pieces that any order of their executions under locks leaves serializable, with which PACMAN is compared (section
    /// 6.3.1; D. Shasha, F. Llirbat, E. Simon, P. Valduriez: *Transaction Chopping: Algorithms and Performance Studies*, ACM TODS
    /// 20(3), 1995).
    Chopping,
}

/// A procedure, divided: operations are numbered as they were given.
pub(super) struct LocalGraph {
    pub(super) slices: Vec<Vec<usize>>,
    pub(super) edges: BTreeSet<(usize, usize)>,
}

/// All procedures.
pub(super) struct GlobalGraph {
    /// In the order of the procedures.
    pub(super) locals: Vec<LocalGraph>,
    /// Of each block its slices, as a procedure and a slice of it.
    pub(super) blocks: Vec<Vec<(usize, usize)>>,
    pub(super) edges: BTreeSet<(usize, usize)>,
}

impl GlobalGraph {
    /// Divides these procedures, and puts their slices into blocks.
    pub(super) fn new(procedures: &[Operations], by: Dependencies, decomposition: Decomposition) -> GlobalGraph {
        let local = |at: usize| {
            let operations = &procedures[at];
            let mut groups = Groups::new(operations.all.len());
            operations.together.iter().for_each(|together| groups.merge_all(together.iter().copied()));
            for (a, b) in pairs(operations.all.len()) {
                if operations.all[a].conflicts(&operations.all[b], by) {
                    groups.merge(a, b);
                }
            }
            if decomposition == Decomposition::Chopping {
                chopped(procedures, at, by).into_iter().for_each(|piece| groups.merge_all(piece));
            }
            let Condensed { groups: slices, edges, .. } = Condensed::new(groups, &operations.flow);
            LocalGraph { slices, edges }
        };
        let is_logged = |at: usize| procedures[at].modify();
        let locals: Vec<LocalGraph> = (0..procedures.len()).map(local).collect();

        let slices: Vec<(usize, usize)> = (0..locals.len())
            .filter(|at| is_logged(*at))
            .flat_map(|at| (0..locals[at].slices.len()).map(move |slice| (at, slice)))
            .collect();
        let number: BTreeMap<(usize, usize), usize> = slices.iter().copied().zip(0..).collect();
        let operations = |(procedure, slice): (usize, usize)| {
            locals[procedure].slices[slice].iter().map(move |operation| &procedures[procedure].all[*operation])
        };
        let mut groups = Groups::new(slices.len());
        for (a, b) in pairs(slices.len()) {
            if conflict(operations(slices[a]), || operations(slices[b]), by) {
                groups.merge(a, b);
            }
        }
        let flow = (0..locals.len()).filter(|at| is_logged(*at)).flat_map(|at| {
            let number = &number;
            locals[at].edges.iter().map(move |(from, to)| (number[&(at, *from)], number[&(at, *to)]))
        });
        let Condensed { groups: blocks, edges, .. } = Condensed::new(groups, &flow.collect());
        let blocks = blocks.into_iter().map(|block| block.into_iter().map(|slice| slices[slice]).collect()).collect();
        GlobalGraph { locals, blocks, edges }.with_merged_slices()
    }

    /// Merges the slices of one procedure that are in one block.
    fn with_merged_slices(mut self) -> GlobalGraph {
        for procedure in 0..self.locals.len() {
            let of_block = |block: &Vec<(usize, usize)>| {
                block.iter().filter(|(of, _)| *of == procedure).map(|(_, slice)| *slice).collect::<Vec<_>>()
            };
            let local = &self.locals[procedure];
            let mut groups = Groups::new(local.slices.len());
            self.blocks.iter().for_each(|block| groups.merge_all(of_block(block)));
            let Condensed { group_of, groups, edges } = Condensed::new(groups, &local.edges);
            let operations = |slices: &Vec<usize>| {
                let mut operations: Vec<_> = slices.iter().flat_map(|slice| &local.slices[*slice]).copied().collect();
                operations.sort_unstable();
                operations
            };
            let slices = groups.iter().map(operations).collect();
            self.locals[procedure] = LocalGraph { slices, edges };
            for block in &mut self.blocks {
                block.iter_mut().filter(|(of, _)| *of == procedure).for_each(|(_, slice)| *slice = group_of[*slice]);
                block.dedup();
            }
        }
        self
    }
}

/// Whether any of these is data-dependent on any of the others.
fn conflict<'o, O: Iterator<Item = &'o Operation>>(
    mut these: impl Iterator<Item = &'o Operation>,
    others: impl Fn() -> O,
    by: Dependencies,
) -> bool {
    these.any(|own| others().any(|other| own.conflicts(other, by)))
}

/// Returns which operations of a procedure may not be in different pieces: those that conflicts connect where all other
/// procedures, and another call of this one, are whole (the finest private chopping).
fn chopped(procedures: &[Operations], at: usize, by: Dependencies) -> Vec<Vec<usize>> {
    let own = &procedures[at].all;
    let others: Vec<&Operations> = procedures.iter().filter(|of| of.modify()).collect();
    let mut groups = Groups::new(own.len() + others.len());
    for (number, other) in (own.len()..).zip(&others) {
        for (operation, of) in own.iter().enumerate() {
            if other.all.iter().any(|theirs| of.conflicts(theirs, by)) {
                groups.merge(operation, number);
            }
        }
    }
    for (a, b) in pairs(others.len()) {
        if conflict(others[a].all.iter(), || others[b].all.iter(), by) {
            groups.merge(own.len() + a, own.len() + b);
        }
    }
    let mut pieces = BTreeMap::<usize, Vec<usize>>::new();
    (0..own.len()).for_each(|operation| pieces.entry(groups.first(operation)).or_default().push(operation));
    pieces.into_values().collect()
}

/// All pairs of different numbers below one.
fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
}
