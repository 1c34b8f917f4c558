//! What of a procedure depends on what, so that a log of calls can be replayed in parallel (PACMAN, section 4.1 and appendix B).
//!
//! ```text
//! code -> effects.rs, flow.rs: what each instruction depends on -> operations.rs: those that access rows
//!      -> graphs.rs: slices, local graphs, blocks and the global graph -> ProcedureGraph: all of it with names
//! ```
//!
//! Invariants:
//! - Only transactions that committed are replayed. So `abort` is never executed but in a `try`, and what decides about it
//!   alone is no dependency.
//! - Hidden accesses are those of their table: the check of a unique index, and the maintenance of indexes. Draws that have an
//!   order are accesses of their own; so is what a function of the program does, to every table.
//!
//! Absent: the replay itself.

mod condense;
mod effects;
mod faults;
mod flow;
mod graphs;
mod keys;
mod operations;
mod shown;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::code::Code;
use effects::Accessed;
pub use effects::Dependencies;
pub use graphs::Decomposition;
use graphs::GlobalGraph;
pub(crate) use keys::{KeySpace, KeySpaces, columns_enough};
use operations::Operations;

/// A table, and what is done with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableUse {
    /// The name of the table; `draws` in angle brackets stands for random numbers and sequences, `anything` for all tables.
    pub table: String,
    /// Whether it is modified.
    pub is_modified: bool,
}

/// A part of a procedure that is executed as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// What it accesses.
    pub tables: Vec<TableUse>,
    /// Its statements, as they are written in the procedure, without `abort` and what is returned. Conditions and computations
    /// that several slices need are in each of them. Empty of a function of the program.
    pub text: String,
}

/// A procedure with its local dependency graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlicedProcedure {
    /// The name.
    pub name: String,
    /// In an order in which they may be executed one after the other.
    pub slices: Vec<Slice>,
    /// Which slice has to be executed before which other one: the direct dependencies, without those that follow from others.
    pub edges: Vec<(usize, usize)>,
    /// Whether it modifies nothing, so that no log has calls of it and no block its slices.
    pub is_read_only: bool,
}

/// Slices that are data-dependent, or depend on each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Each as a procedure, by its place, and a slice of it.
    pub slices: Vec<(usize, usize)>,
    /// What they access.
    pub tables: Vec<TableUse>,
}

/// Procedures, divided into slices, and the global dependency graph of their blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcedureGraph {
    /// The procedures.
    pub procedures: Vec<SlicedProcedure>,
    /// In an order in which they may be executed one after the other.
    pub blocks: Vec<Block>,
    /// Which block has to be executed before which other one, without what follows from others.
    pub edges: Vec<(usize, usize)>,
}

/// The letters of blocks, as in the paper's figures.
const LETTERS: &str = "αβγδεζηθικλμνξοπρστυφχψω";

/// A procedure that is to be analysed: its name, and its code where the database has it.
pub(crate) type Analysed<'c> = (String, Option<&'c Code>);

impl ProcedureGraph {
    /// Returns a short name of a slice: the first letter of its procedure, where no other one begins with it, and a number.
    pub fn slice_name(&self, procedure: usize, slice: usize) -> String {
        let initial = |of: &SlicedProcedure| of.name.chars().next().map(|first| first.to_ascii_uppercase());
        let SlicedProcedure { name, .. } = &self.procedures[procedure];
        let own = initial(&self.procedures[procedure]);
        let is_only = self.procedures.iter().filter(|of| initial(of) == own).count() == 1;
        match own.filter(|_| is_only) {
            Some(letter) => format!("{letter}{}", slice + 1),
            None => format!("{name} {}", slice + 1),
        }
    }

    /// Returns a short name of a block: a Greek letter, or a number where there are too many.
    pub fn block_name(&self, block: usize) -> String {
        match LETTERS.chars().nth(block) {
            Some(letter) => format!("B{letter}"),
            None => format!("B{}", block + 1),
        }
    }

    /// Analyses procedures.
    pub(crate) fn of(procedures: &[Analysed<'_>], by: Dependencies, decomposition: Decomposition) -> ProcedureGraph {
        let operations: Vec<Operations> =
            procedures.iter().map(|(_, code)| code.map_or_else(Operations::of_function, Operations::of)).collect();
        let graph = GlobalGraph::new(&operations, by, decomposition);
        let tables: BTreeMap<_, _> = procedures
            .iter()
            .flat_map(|(_, code)| code.iter().flat_map(|code| code.tables.iter()))
            .map(|table| (table.id, table.name().to_owned()))
            .collect();
        let name = |of: Accessed| match of {
            Accessed::Table(id) => tables[&id].clone(),
            Accessed::Draws => "<draws>".to_owned(),
            Accessed::Anything => "<anything>".to_owned(),
        };
        let uses = |slices: &[(usize, usize)]| {
            let mut uses = BTreeMap::<String, bool>::new();
            for (procedure, slice) in slices {
                let of = graph.locals[*procedure].slices[*slice].iter().map(|at| &operations[*procedure].all[*at]);
                for access in of.flat_map(|operation| &operation.accesses) {
                    *uses.entry(name(access.of)).or_default() |= access.modifies();
                }
            }
            uses.into_iter().map(|(table, is_modified)| TableUse { table, is_modified }).collect::<Vec<_>>()
        };
        let sliced = |(at, (name, code)): (usize, &Analysed<'_>)| {
            let local = &graph.locals[at];
            let text = |slice: &Vec<usize>| {
                let of = slice.iter().flat_map(|operation| &operations[at].all[*operation].statements);
                let kept: BTreeSet<u32> = of.copied().collect();
                code.map_or_else(String::new, |code| shown::text(&code.program, &kept))
            };
            let slices = local.slices.iter().enumerate();
            SlicedProcedure {
                name: name.clone(),
                slices: slices.map(|(of, slice)| Slice { tables: uses(&[(at, of)]), text: text(slice) }).collect(),
                edges: condense::reduced(&local.edges),
                is_read_only: !operations[at].modify(),
            }
        };
        ProcedureGraph {
            procedures: procedures.iter().enumerate().map(sliced).collect(),
            blocks: graph.blocks.iter().map(|slices| Block { slices: slices.clone(), tables: uses(slices) }).collect(),
            edges: condense::reduced(&graph.edges),
        }
    }
}
