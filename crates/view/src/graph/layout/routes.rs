//! Heights, and the points of every line.

use super::layers::Layers;
use super::order::Order;
use super::{Layout, Point, Rectangle, Size};

/// The largest distance between two lines at a box, and the share of the box's width that they use if they are many.
const PORTS_APART: f64 = 30.0;
const PORTS_SHARE: f64 = 0.8;
/// Layers between which lines run far to the side are further apart, by a share of the distance, up to a limit.
const SLANT: f64 = 0.08;
const MOST_SLANT: f64 = 100.0;
/// Points this close are the same but for rounding.
const SAME: f64 = 1e-6;

/// A layer from its upper to its lower end.
#[derive(Clone, Copy)]
struct Band {
    top: f64,
    bottom: f64,
}

/// Places the boxes and bends of every layer, at least `gap` below the one above.
pub(super) fn routes(layers: &Layers, order: &Order, middle: &[f64], gap: f64) -> Layout {
    let bands = bands(layers, order, middle, gap);
    let corner = |vertex: usize| {
        let one = &layers.vertices[vertex];
        Point { x: middle[vertex] - one.size.width / 2.0, y: bands[one.rank].top }
    };
    let boxes = (0..layers.boxes).map(|one| Rectangle { corner: corner(one), size: layers.vertices[one].size });
    let boxes: Vec<Rectangle> = boxes.collect();
    let [starts, ends] = ports(layers, middle);
    let route = |(edge, chain): (usize, &Vec<usize>)| {
        let [first, inner @ .., last] = &chain[..] else { return Vec::new() };
        let (from, to) = (&boxes[*first], &boxes[*last]);
        let band = |vertex: &usize| bands[layers.vertices[*vertex].rank];
        let (start, end) = (Point { x: starts[edge], y: from.bottom() }, Point { x: ends[edge], y: to.corner.y });
        let mut points = vec![start, Point { y: band(first).bottom, ..start }];
        for bend in inner {
            points.push(Point { x: middle[*bend], y: band(bend).top });
            points.push(Point { x: middle[*bend], y: band(bend).bottom });
        }
        points.extend([Point { y: band(last).top, ..end }, end]);
        points.dedup_by(|next, point| (next.x - point.x).abs() + (next.y - point.y).abs() < SAME);
        points
    };
    let routes = layers.chains.iter().enumerate().map(route).collect();
    let right = |vertex: usize| middle[vertex] + layers.vertices[vertex].size.width / 2.0;
    let width = (0..middle.len()).map(right).fold(0.0, f64::max);
    let height = bands.last().map_or(0.0, |band| band.bottom);
    Layout { boxes, routes, size: Size { width, height } }
}

/// The vertical extent of every layer.
fn bands(layers: &Layers, order: &Order, middle: &[f64], gap: f64) -> Vec<Band> {
    let mut bands: Vec<Band> = Vec::with_capacity(layers.count);
    for row in &order.rows {
        let height = row.iter().map(|vertex| layers.vertices[*vertex].size.height).fold(0.0, f64::max);
        let to_the_side = |vertex: &usize| {
            let distance = |other: &usize| (middle[*other] - middle[*vertex]).abs();
            layers.above[*vertex].iter().map(distance).fold(0.0, f64::max)
        };
        let slant = SLANT * row.iter().map(to_the_side).fold(0.0, f64::max);
        let top = bands.last().map_or(0.0, |band| band.bottom + gap + slant.min(MOST_SLANT));
        bands.push(Band { top, bottom: top + height });
    }
    bands
}

/// Where every edge leaves its upper box and enters its lower one: in the order of the other ends, around the middle of the box.
fn ports(layers: &Layers, middle: &[f64]) -> [Vec<f64>; 2] {
    let side = |end: &dyn Fn(&[usize]) -> (usize, usize)| {
        let mut lines: Vec<Vec<(f64, usize)>> = vec![Vec::new(); layers.boxes];
        for (edge, chain) in layers.chains.iter().enumerate().filter(|(_, chain)| !chain.is_empty()) {
            let (own, next) = end(chain);
            lines[own].push((middle[next], edge));
        }
        let mut ports = vec![0.0; layers.chains.len()];
        for (own, mut lines) in lines.into_iter().enumerate() {
            lines.sort_by(|a, b| a.0.total_cmp(&b.0));
            let step = (PORTS_SHARE * layers.vertices[own].size.width / lines.len() as f64).min(PORTS_APART);
            let first = middle[own] - step * (lines.len() as f64 - 1.0) / 2.0;
            lines.iter().enumerate().for_each(|(place, (_, edge))| ports[*edge] = first + step * place as f64);
        }
        ports
    };
    [side(&|chain| (chain[0], chain[1])), side(&|chain| (chain[chain.len() - 1], chain[chain.len() - 2]))]
}
