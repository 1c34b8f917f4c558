//! Where the nodes of a graph without cycles are drawn: in layers from top to bottom, so that every edge leads down (K. Sugiyama,
//! S. Tagawa, M. Toda: *Methods for Visual Understanding of Hierarchical System Structures*, IEEE Transactions on Systems, Man,
//! and Cybernetics 11(2), 1981).
//!
//! An edge over several layers has a small node in each layer between, so that it goes around what lies there. Nodes without
//! edges stand at the end of the first layer.

/// So often nodes are put below the middle of those before them, and above that of those behind them.
const SWEEPS: usize = 8;

/// How wide the place is where an edge passes a layer.
const PASSAGE: f64 = 8.0;

/// A width and a height, or a place.
pub type Point = (f64, f64);

/// Where everything is.
pub struct Layout {
    /// The middle of each node.
    pub nodes: Vec<Point>,
    /// Of each edge the points that it goes through, from below the first node to above the last one.
    pub edges: Vec<Vec<Point>>,
    /// How much room it takes.
    pub size: Point,
}

/// Lays nodes of these sizes out, with a gap between them; an edge leads from a smaller number to a greater one.
pub fn layout(sizes: &[Point], edges: &[(usize, usize)], gap: Point) -> Layout {
    let mut layer = vec![0; sizes.len()];
    for to in 0..sizes.len() {
        let before = edges.iter().filter(|(_, behind)| *behind == to).map(|(from, _)| layer[*from] + 1);
        layer[to] = before.max().unwrap_or(0);
    }
    // Long edges become short ones.
    let (mut sizes, mut short, mut paths) = (sizes.to_vec(), Vec::new(), Vec::new());
    let count = sizes.len();
    for (from, to) in edges {
        let mut path = vec![*from];
        for between in layer[*from] + 1..layer[*to] {
            path.push(sizes.len());
            sizes.push((PASSAGE, 0.0));
            layer.push(between);
        }
        path.push(*to);
        short.extend(path.windows(2).map(|ends| (ends[0], ends[1])));
        paths.push(path);
    }
    let mut layers = vec![Vec::new(); layer.iter().max().map_or(0, |last| last + 1)];
    let is_alone = |node: &usize| edges.iter().all(|(from, to)| from != node && to != node);
    let (alone, joined): (Vec<usize>, Vec<usize>) = (0..sizes.len()).partition(|node| *node < count && is_alone(node));
    joined.iter().for_each(|node| layers[layer[*node]].push(*node));

    let mut x = vec![0.0; sizes.len()];
    layers.iter().for_each(|layer| place(layer, &sizes, gap.0, &mut x));
    for sweep in 0..SWEEPS {
        let is_down = sweep % 2 == 0;
        let mut order: Vec<usize> = (0..layers.len()).collect();
        if !is_down {
            order.reverse();
        }
        for at in order {
            let neighbours = |node: usize| {
                let end = move |(from, to): &(usize, usize)| match is_down {
                    true => (*to == node).then_some(*from),
                    false => (*from == node).then_some(*to),
                };
                short.iter().filter_map(end).collect::<Vec<_>>()
            };
            let middle = |node: &usize| {
                let of = neighbours(*node);
                if of.is_empty() { x[*node] } else { of.iter().map(|of| x[*of]).sum::<f64>() / of.len() as f64 }
            };
            let mut wanted: Vec<(f64, usize)> = layers[at].iter().map(|node| (middle(node), *node)).collect();
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
            layers[at] = wanted.iter().map(|(_, node)| *node).collect();
            wanted.iter().for_each(|(middle, node)| x[*node] = *middle);
            spread(&layers[at], &sizes, gap.0, &mut x);
        }
    }
    let last = layers.first().and_then(|layer| layer.last());
    let mut left = last.map_or(0.0, |node| x[*node] + sizes[*node].0 / 2.0 + gap.0);
    for node in alone {
        x[node] = left + sizes[node].0 / 2.0;
        left += sizes[node].0 + gap.0;
        layers[0].push(node);
    }
    finish(&sizes[..count], &sizes, &layers, &x, &paths, gap)
}

/// Puts the nodes of a layer side by side.
fn place(layer: &[usize], sizes: &[Point], gap: f64, x: &mut [f64]) {
    let mut left = 0.0;
    for node in layer {
        x[*node] = left + sizes[*node].0 / 2.0;
        left += sizes[*node].0 + gap;
    }
}

/// Moves the nodes of a layer apart until none covers another one, and the whole back to where its middle was.
fn spread(layer: &[usize], sizes: &[Point], gap: f64, x: &mut [f64]) {
    let middle = |x: &[f64]| layer.iter().map(|node| x[*node]).sum::<f64>() / layer.len().max(1) as f64;
    let before = middle(x);
    for pair in layer.windows(2) {
        let least = x[pair[0]] + (sizes[pair[0]].0 + sizes[pair[1]].0) / 2.0 + gap;
        x[pair[1]] = x[pair[1]].max(least);
    }
    let moved = middle(x) - before;
    layer.iter().for_each(|node| x[*node] -= moved);
}

fn finish(
    shown: &[Point],
    sizes: &[Point],
    layers: &[Vec<usize>],
    x: &[f64],
    paths: &[Vec<usize>],
    gap: Point,
) -> Layout {
    let left = (0..sizes.len()).map(|node| x[node] - sizes[node].0 / 2.0).fold(f64::INFINITY, f64::min);
    let right = (0..sizes.len()).map(|node| x[node] + sizes[node].0 / 2.0).fold(left, f64::max);
    let (mut at, mut passed, mut top) = (vec![(0.0, 0.0); sizes.len()], vec![0.0; sizes.len()], 0.0);
    for layer in layers {
        let height = layer.iter().map(|node| sizes[*node].1).fold(0.0, f64::max);
        layer.iter().for_each(|node| at[*node] = (x[*node] - left, top + height / 2.0));
        layer.iter().filter(|node| **node >= shown.len()).for_each(|node| passed[*node] = height);
        top += height + gap.1;
    }
    let through = |path: &Vec<usize>| {
        let last = path.len() - 1;
        let points = |(number, node): (usize, &usize)| {
            let ((x, y), half) = (at[*node], sizes[*node].1 / 2.0);
            match number {
                0 => vec![(x, y + half)],
                number if number == last => vec![(x, y - half)],
                // Straight down past the nodes of the layer.
                _ => vec![(x, y - passed[*node] / 2.0), (x, y + passed[*node] / 2.0)],
            }
        };
        path.iter().enumerate().flat_map(points).collect()
    };
    let size = ((right - left).max(0.0), (top - gap.1).max(0.0));
    Layout { nodes: at[..shown.len()].to_vec(), edges: paths.iter().map(through).collect(), size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_lead_down_and_nodes_do_not_cover_each_other() {
        let sizes = [(40.0, 20.0); 6];
        let edges = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (0, 4), (4, 5), (3, 5)];
        let Layout { nodes, edges: paths, size } = layout(&sizes, &edges, (10.0, 30.0));
        for ((from, to), path) in edges.iter().zip(&paths) {
            assert!(path.windows(2).all(|ends| ends[0].1 < ends[1].1), "{from} -> {to}: {path:?}");
        }
        for (a, of) in nodes.iter().enumerate() {
            assert!(of.0 >= 20.0 && of.0 <= size.0 - 20.0 && of.1 >= 10.0 && of.1 <= size.1 - 10.0);
            for other in &nodes[a + 1..] {
                assert!((of.0 - other.0).abs() >= 40.0 || (of.1 - other.1).abs() >= 20.0, "{nodes:?}");
            }
        }
    }

    #[test]
    fn nothing_takes_no_room() {
        let Layout { nodes, edges, size } = layout(&[], &[], (10.0, 10.0));
        assert!(nodes.is_empty() && edges.is_empty() && size == (0.0, 0.0));
    }
}
