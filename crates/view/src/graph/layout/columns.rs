//! Horizontal positions.

use super::layers::Layers;
use super::order::Order;

/// How a sweep places boxes.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// By the layer before.
    OneSide,
    /// By both sides. A bend follows the layer before in any case: between both sides a long line would be placed like stairs.
    BothSides,
    /// Only what has neighbours on one side moves.
    Ends,
}

/// The phases, with the number of times that all layers are placed, alternately downward and upward.
const PHASES: [(Phase, usize); 3] = [(Phase::OneSide, 12), (Phase::BothSides, 10), (Phase::Ends, 2)];
/// Free space between two boxes, between a box and a bend, and between two bends.
const BOXES_APART: f64 = 36.0;
const BEND_APART: f64 = 22.0;
const BENDS_APART: f64 = 16.0;
/// How strongly a line keeps its ends below each other: between two bends, a bend and a box, two boxes. A long line should be straight.
const PULLS: [f64; 3] = [8.0, 2.0, 1.0];
/// How strongly a box without neighbours stays where it is, and one that is not to move.
const INERTIA: f64 = 0.01;
const FIXED: f64 = 100.0;

/// The middle of every vertex: close to its neighbours in the layers above and below, without overlaps.
pub(super) fn columns(layers: &Layers, order: &Order) -> Vec<f64> {
    let mut middle = vec![0.0; layers.vertices.len()];
    for row in &order.rows {
        let offsets = offsets(layers, row);
        let half = offsets.last().map_or(0.0, |last| last / 2.0);
        row.iter().zip(&offsets).for_each(|(vertex, offset)| middle[*vertex] = offset - half);
    }
    for (phase, sweeps) in PHASES {
        for sweep in 0..sweeps {
            let (before, after) =
                if sweep % 2 == 0 { (&layers.above, &layers.below) } else { (&layers.below, &layers.above) };
            let mut place = |row: &Vec<usize>| place(layers, row, &mut middle, &Sides { before, after, phase });
            match sweep % 2 {
                0 => order.rows.iter().for_each(&mut place),
                _ => order.rows.iter().rev().for_each(&mut place),
            }
        }
    }
    let left = |vertex: usize| middle[vertex] - layers.vertices[vertex].size.width / 2.0;
    let leftmost = (0..middle.len()).map(left).fold(f64::INFINITY, f64::min);
    middle.iter().map(|x| x - leftmost).collect()
}

/// The neighbours in the layers before and after one, as a sweep meets them.
struct Sides<'l> {
    before: &'l [Vec<usize>],
    after: &'l [Vec<usize>],
    phase: Phase,
}

impl Sides<'_> {
    /// The neighbours that a vertex should be close to; none if it stays where it is.
    fn neighbours(&self, layers: &Layers, vertex: usize) -> impl Iterator<Item = usize> {
        let (before, after) = (&self.before[vertex], &self.after[vertex]);
        let (before, after): (&[usize], &[usize]) = match self.phase {
            Phase::OneSide => (before, &[]),
            Phase::BothSides if layers.is_bend(vertex) => (before, &[]),
            Phase::Ends if !before.is_empty() && !after.is_empty() => (&[], &[]),
            Phase::BothSides | Phase::Ends => (before, after),
        };
        before.iter().chain(after).copied()
    }
}

/// The smallest distance of every vertex of a layer from the first one.
fn offsets(layers: &Layers, row: &[usize]) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(row.len());
    let (mut offset, mut last) = (0.0, None);
    for &vertex in row {
        if let Some(last) = last {
            let apart = match (layers.is_bend(last), layers.is_bend(vertex)) {
                (true, true) => BENDS_APART,
                (false, false) => BOXES_APART,
                _ => BEND_APART,
            };
            let widths = layers.vertices[last].size.width + layers.vertices[vertex].size.width;
            offset += widths / 2.0 + apart;
        }
        offsets.push(offset);
        last = Some(vertex);
    }
    offsets
}

/// Places a layer as close as possible to the weighted mean of its neighbours. With the smallest distances subtracted, positions must not
/// decrease, so this is isotonic regression: neighbours that would overlap form blocks, which are placed at their mean (Ayer et al., 1955).
fn place(layers: &Layers, row: &[usize], middle: &mut [f64], sides: &Sides<'_>) {
    let offsets = offsets(layers, row);
    // The weight of every block, its position times the weight, and its number of vertices.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for (&vertex, offset) in row.iter().zip(&offsets) {
        let (mut weight, mut pull) = (0.0, 0.0);
        for other in sides.neighbours(layers, vertex) {
            let boxes = usize::from(!layers.is_bend(vertex)) + usize::from(!layers.is_bend(other));
            weight += PULLS[boxes];
            pull += PULLS[boxes] * middle[other];
        }
        if weight == 0.0 {
            weight = if sides.phase == Phase::Ends { FIXED } else { INERTIA };
            pull = weight * middle[vertex];
        }
        let mut block = (weight, pull - weight * offset, 1);
        while let Some(last) = blocks.pop_if(|last| last.1 / last.0 >= block.1 / block.0) {
            block = (last.0 + block.0, last.1 + block.1, last.2 + block.2);
        }
        blocks.push(block);
    }
    let positions = blocks.iter().flat_map(|(weight, pull, count)| std::iter::repeat_n(pull / weight, *count));
    for ((position, vertex), offset) in positions.zip(row).zip(&offsets) {
        middle[*vertex] = position + offset;
    }
}
