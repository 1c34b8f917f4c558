//! The graphs as a picture: above the local ones, side by side, with slices as ellipses; below the global one, with blocks as
//! dashed boxes around the boxes of their slices.

use std::fmt::Write;

use osier::procedure::analysis::{ProcedureGraph, TableUse};

use super::ends;
use super::layers::{Layout, Point, layout};

/// The room of a letter.
const LETTER: f64 = 7.5;
const LINE: f64 = 16.0;
const PADDING: f64 = 10.0;
const MARGIN: f64 = 24.0;
const ELLIPSE: Point = (64.0, 30.0);
const GAP: Point = (28.0, 40.0);

/// Returns the picture.
pub fn drawn(graph: &ProcedureGraph) -> String {
    let mut picture = Picture::default();
    let (mut left, mut bottom) = (MARGIN, MARGIN);
    for (at, procedure) in graph.procedures.iter().enumerate().filter(|(_, of)| !of.is_read_only) {
        let names: Vec<_> = (0..procedure.slices.len()).map(|slice| graph.slice_name(at, slice)).collect();
        let wide =
            names.iter().map(|name| name.chars().count() as f64 * LETTER + 2.0 * PADDING).fold(ELLIPSE.0, f64::max);
        let placed = layout(&vec![(wide, ELLIPSE.1); names.len()], &procedure.edges, GAP);
        let title = procedure.name.chars().count() as f64 * LETTER;
        let width = placed.size.0.max(title);
        picture.text((left + width / 2.0, MARGIN + LINE / 2.0), &procedure.name, true);
        let origin = (left + (width - placed.size.0) / 2.0, MARGIN + 2.0 * LINE);
        for ((x, y), name) in placed.nodes.iter().zip(&names) {
            picture.ellipse((origin.0 + x, origin.1 + y), (wide, ELLIPSE.1), name);
        }
        placed.edges.iter().for_each(|path| picture.edge(origin, path));
        left += width + 2.0 * MARGIN;
        bottom = f64::max(bottom, origin.1 + placed.size.1 + 2.0 * MARGIN);
    }
    let size = picture.global(graph, (MARGIN, bottom));
    picture.whole((f64::max(left, MARGIN + size.0 + MARGIN), bottom + size.1 + MARGIN))
}

/// A slice in a block: its lines of text.
fn lines(graph: &ProcedureGraph, (procedure, slice): (usize, usize)) -> Vec<String> {
    let show = |of: &TableUse| format!("{} {}", if of.is_modified { "write" } else { "read" }, of.table);
    let of = &graph.procedures[procedure];
    let head = format!("{}  {}", graph.slice_name(procedure, slice), of.name);
    std::iter::once(head).chain(of.slices[slice].tables.iter().map(show)).collect()
}

fn size_of(lines: &[String]) -> Point {
    let wide = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) as f64 * LETTER;
    (wide + 2.0 * PADDING, lines.len() as f64 * LINE + PADDING)
}

#[derive(Default)]
struct Picture {
    text: String,
}

impl Picture {
    /// Draws the global graph, and returns the room that it takes.
    fn global(&mut self, graph: &ProcedureGraph, (left, top): Point) -> Point {
        let title = "Global dependency graph";
        let slices: Vec<Vec<Vec<String>>> =
            graph.blocks.iter().map(|block| block.slices.iter().map(|slice| lines(graph, *slice)).collect()).collect();
        let block = |slices: &Vec<Vec<String>>| {
            let sizes = slices.iter().map(|lines| size_of(lines));
            let (wide, high) = sizes.fold((0.0, 0.0), |(wide, high), (w, h)| (wide + w + PADDING, f64::max(high, h)));
            (wide + PADDING, high + LINE + 2.0 * PADDING)
        };
        // Start and end are the first and the last node.
        let end = graph.blocks.len() + 1;
        let (first, last) = ends(&graph.edges, graph.blocks.len());
        let mut sizes = vec![ELLIPSE];
        sizes.extend(slices.iter().map(block));
        sizes.push(ELLIPSE);
        let mut edges: Vec<(usize, usize)> = first.iter().map(|to| (0, to + 1)).collect();
        edges.extend(graph.edges.iter().map(|(from, to)| (from + 1, to + 1)));
        edges.extend(last.iter().map(|from| (from + 1, end)));

        let Layout { nodes, edges: paths, size } = layout(&sizes, &edges, GAP);
        let wide = f64::max(size.0, title.len() as f64 * LETTER);
        let origin = (left + (wide - size.0) / 2.0, top + 2.0 * LINE);
        self.text((left + wide / 2.0, top + LINE / 2.0), title, true);
        let at = |node: usize| (origin.0 + nodes[node].0, origin.1 + nodes[node].1);
        self.ellipse(at(0), ELLIPSE, "Start");
        self.ellipse(at(end), ELLIPSE, "End");
        for (number, slices) in slices.iter().enumerate() {
            self.block(at(number + 1), sizes[number + 1], &format!("Block {}", graph.block_name(number)), slices);
        }
        paths.iter().for_each(|path| self.edge(origin, path));
        (wide, size.1 + 2.0 * LINE)
    }

    fn block(&mut self, (x, y): Point, (wide, high): Point, name: &str, slices: &[Vec<String>]) {
        let (mut left, top) = (x - wide / 2.0, y - high / 2.0);
        self.rectangle((left, top), (wide, high), "dash");
        self.text((x, top + LINE / 2.0 + PADDING / 2.0), name, true);
        left += PADDING;
        for lines in slices {
            let (wide, high) = size_of(lines);
            self.rectangle((left, top + LINE + PADDING), (wide, high), "box");
            for (line, number) in lines.iter().zip(1..) {
                let y = top + LINE + PADDING + f64::from(number) * LINE - LINE / 2.0 + PADDING / 2.0;
                self.text((left + wide / 2.0, y), line, number == 1);
            }
            left += wide + PADDING;
        }
    }

    fn rectangle(&mut self, (x, y): Point, (wide, high): Point, class: &str) {
        let _ = writeln!(
            self.text,
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{wide:.1}" height="{high:.1}"/>"#
        );
    }

    fn ellipse(&mut self, (x, y): Point, (wide, high): Point, name: &str) {
        let (wide, high) = (wide / 2.0, high / 2.0);
        let _ = writeln!(self.text, r#"<ellipse class="box" cx="{x:.1}" cy="{y:.1}" rx="{wide:.1}" ry="{high:.1}"/>"#);
        self.text((x, y), name, false);
    }

    fn text(&mut self, (x, y): Point, text: &str, is_bold: bool) {
        let class = if is_bold { r#" class="name""# } else { "" };
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(self.text, r#"<text x="{x:.1}" y="{y:.1}" dy="0.35em"{class}>{text}</text>"#);
    }

    fn edge(&mut self, origin: Point, path: &[Point]) {
        let points: Vec<_> = path.iter().map(|(x, y)| format!("{:.1},{:.1}", origin.0 + x, origin.1 + y)).collect();
        let _ =
            writeln!(self.text, r#"<polyline class="edge" points="{}" marker-end="url(#arrow)"/>"#, points.join(" "));
    }

    fn whole(self, (wide, high): Point) -> String {
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0} {high:.0}" width="{wide:.0}" height="{high:.0}">
<defs>
<marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0,0 L10,5 L0,10 z"/>
</marker>
</defs>
<style>
svg {{ background: #ffffff; }}
text {{ font: 13px sans-serif; text-anchor: middle; fill: #1a1a1a; }}
.name {{ font-weight: bold; }}
.box, .dash {{ fill: #ffffff; stroke: #1a1a1a; }}
.dash {{ stroke-dasharray: 6 4; fill: #f6f6f6; }}
.edge {{ fill: none; stroke: #1a1a1a; }}
</style>
{}</svg>
"##,
            self.text
        )
    }
}
