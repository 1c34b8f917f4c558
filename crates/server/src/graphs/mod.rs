//! The dependency graphs of procedures as a text and as pictures, which look as those in PACMAN (figures 3 to 5 and 21).

mod dot;
mod layers;
mod svg;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use osier::procedure::analysis::{ProcedureGraph, SlicedProcedure, TableUse};
use osier_bench::error::BenchError;

/// How a picture is written.
#[derive(Clone, Copy)]
pub enum Drawing {
    Svg,
    Dot,
}

impl Drawing {
    /// Returns what the name of a file asks for, with that file.
    pub fn of(path: &Path) -> Result<(&Path, Drawing), BenchError> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("svg") => Ok((path, Drawing::Svg)),
            Some("dot" | "gv") => Ok((path, Drawing::Dot)),
            _ => Err(BenchError::Usage(format!(
                "`--draw {}`: a picture is a file whose name ends with .svg or .dot",
                path.display()
            ))),
        }
    }

    /// Draws the graphs.
    pub fn draw(self, graph: &ProcedureGraph) -> String {
        match self {
            Drawing::Svg => svg::drawn(graph),
            Drawing::Dot => dot::drawn(graph),
        }
    }
}

/// Returns slices, local graphs and the global graph as a text.
pub fn text(graph: &ProcedureGraph) -> String {
    let mut text = String::new();
    for (at, SlicedProcedure { name, slices, edges, is_read_only }) in graph.procedures.iter().enumerate() {
        let why = if *is_read_only { ", which modifies nothing, so that no log has calls of it" } else { "" };
        let _ = writeln!(text, "procedure {name}{why}");
        for (number, slice) in slices.iter().enumerate() {
            let before = before(edges, number).map(|of| graph.slice_name(at, of));
            let _ = writeln!(
                text,
                "  slice {}: {}{}",
                graph.slice_name(at, number),
                tables(&slice.tables),
                after(before.collect())
            );
            slice.text.lines().for_each(|line| text.extend(["      ", line, "\n"]));
        }
        text.push('\n');
    }
    let _ = writeln!(text, "global dependency graph");
    for (number, block) in graph.blocks.iter().enumerate() {
        let slices: Vec<_> = block.slices.iter().map(|(at, slice)| graph.slice_name(*at, *slice)).collect();
        let before = before(&graph.edges, number).map(|of| graph.block_name(of));
        let _ = writeln!(
            text,
            "  block {}: {}; {}{}",
            graph.block_name(number),
            slices.join(", "),
            tables(&block.tables),
            after(before.collect())
        );
    }
    text
}

/// The tables that are accessed, with what is done with them.
fn tables(uses: &[TableUse]) -> String {
    let show = |of: &TableUse| format!("{} {}", if of.is_modified { "modifies" } else { "reads" }, of.table);
    uses.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn after(names: Vec<String>) -> String {
    if names.is_empty() { String::new() } else { format!("; after {}", names.join(", ")) }
}

/// Which nodes have an edge to this one.
fn before(edges: &[(usize, usize)], node: usize) -> impl Iterator<Item = usize> {
    edges.iter().filter(move |(_, to)| *to == node).map(|(from, _)| *from)
}

/// Of so many nodes those that no edge leads to, and those that none leaves.
fn ends(edges: &[(usize, usize)], count: usize) -> (Vec<usize>, Vec<usize>) {
    let (from, to): (BTreeSet<usize>, BTreeSet<usize>) = edges.iter().copied().unzip();
    ((0..count).filter(|at| !to.contains(at)).collect(), (0..count).filter(|at| !from.contains(at)).collect())
}
