//! The graphs in the language of Graphviz.

use std::fmt::Write;

use osier::procedure::analysis::ProcedureGraph;

use super::{ends, tables};

/// Returns the local graphs, each in a box, and the global one.
pub fn drawn(graph: &ProcedureGraph) -> String {
    let mut text = String::from("digraph procedures {\n    compound=true;\n    node [fontname=\"sans-serif\"];\n");
    for (at, procedure) in graph.procedures.iter().enumerate() {
        let _ = writeln!(text, "    subgraph cluster_local_{at} {{\n        label={};", quoted(&procedure.name));
        for slice in 0..procedure.slices.len() {
            let name = quoted(&graph.slice_name(at, slice));
            let _ = writeln!(text, "        local_{at}_{slice} [label={name}];");
        }
        for (from, to) in &procedure.edges {
            let _ = writeln!(text, "        local_{at}_{from} -> local_{at}_{to};");
        }
        text.push_str("    }\n");
    }
    text.push_str(
        "    subgraph cluster_global {\n        label=\"global dependency graph\";\n        start [label=\"Start\"];\n",
    );
    for (number, block) in graph.blocks.iter().enumerate() {
        let name = quoted(&format!("Block {}", graph.block_name(number)));
        let _ = writeln!(
            text,
            "        subgraph cluster_block_{number} {{\n            label={name};\n            style=dashed;"
        );
        for (at, slice) in &block.slices {
            let what = tables(&graph.procedures[*at].slices[*slice].tables).replace(", ", "\n");
            let label = quoted(&format!("{}\n{what}", graph.slice_name(*at, *slice)));
            let _ = writeln!(text, "            global_{at}_{slice} [shape=box, label={label}];");
        }
        text.push_str("        }\n");
    }
    text.push_str("        end [label=\"End\"];\n");
    let node = |block: usize| {
        let (at, slice) = graph.blocks[block].slices[0];
        format!("global_{at}_{slice}")
    };
    let (first, last) = ends(&graph.edges, graph.blocks.len());
    for to in first {
        let _ = writeln!(text, "        start -> {} [lhead=cluster_block_{to}];", node(to));
    }
    for (from, to) in &graph.edges {
        let (tail, head) = (node(*from), node(*to));
        let _ = writeln!(text, "        {tail} -> {head} [ltail=cluster_block_{from}, lhead=cluster_block_{to}];");
    }
    for from in last {
        let _ = writeln!(text, "        {} -> end [ltail=cluster_block_{from}];", node(from));
    }
    text.push_str("    }\n}\n");
    text
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
