//! Lines: values downward, adjoints upward beside them, with their labels.

use super::TEXT;
use crate::graph::layout::{Point, Rectangle, Size};
use crate::graph::model::{Edge, EdgeKind, Graph};
use crate::graph::picture::Wire;
use crate::graph::style::{ADJOINT, FORWARD, QUIET, SAVED};
use crate::svg::{number_text, text};
use crate::xml::{shortened, width};
use std::collections::HashMap;

/// Arrows.
pub(super) const MARKERS: &str = "<defs>\
    <marker id=\"wengert-forward\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
    <path d=\"M0 0L8 4L0 8z\" fill=\"#1f5fa8\"/></marker>\
    <marker id=\"wengert-adjoint\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
    <path d=\"M0 0L8 4L0 8z\" fill=\"#b3401f\"/></marker>\
    <marker id=\"wengert-body\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
    <path d=\"M0 0L8 4L0 8z\" fill=\"#57606a\"/></marker></defs>\n";

/// Half the distance between a line and the adjoint line beside it.
const BESIDE: f64 = 5.0;
/// How far above the end of a line its mark for a saved value is.
const MARK: f64 = 13.0;
/// A part of a line this high runs between layers.
const FREE: f64 = 30.0;
const LABEL: f64 = 11.0;
const MOST_LABEL: f64 = 160.0;

/// The attributes of a line for an edge of some kind.
pub(super) fn stroke(kind: EdgeKind) -> String {
    let (colour, dashes) = match kind {
        EdgeKind::Forward => (FORWARD, ""),
        EdgeKind::Adjoint => (ADJOINT, " stroke-dasharray=\"5 3\""),
        EdgeKind::Body => (QUIET, " stroke-dasharray=\"1.5 3\""),
    };
    format!("stroke=\"{colour}\" stroke-width=\"1.5\"{dashes} marker-end=\"url(#wengert-{})\"", kind.name())
}

/// The lines, and apart from them their labels, which belong above everything else.
pub(super) fn drawn_lines(graph: &Graph, wires: &[Wire]) -> (String, String) {
    let (mut lines, mut marks, mut labels) = (String::from("<g fill=\"none\">\n"), String::new(), Labels::default());
    for wire in wires {
        let edges = |numbers: &[usize]| numbers.iter().map(|number| &graph.edges[*number]).collect::<Vec<&Edge>>();
        let (forward, adjoint) = (edges(&wire.edges), edges(&wire.adjoints));
        let aside = if adjoint.is_empty() { 0.0 } else { BESIDE };
        let route: Vec<Point> = wire.route.iter().map(|point| point.moved(-aside, 0.0)).collect();
        lines += &path(&route, forward[0].kind);
        if adjoint.is_empty() {
            labels.add(&route, &label(&forward), FORWARD);
        }
        if forward.iter().any(|edge| edge.saved) {
            let end = route[route.len() - 1];
            marks += &mark(end.x, end.y - MARK);
        }
        if !adjoint.is_empty() {
            let mut route: Vec<Point> = wire.route.iter().map(|point| point.moved(aside, 0.0)).collect();
            labels.add(&route, &label(&adjoint), ADJOINT);
            route.reverse();
            lines += &path(&route, EdgeKind::Adjoint);
        }
    }
    (lines + "</g>\n" + &marks, labels.drawn)
}

/// The mark of a saved value.
pub(super) fn mark(x: f64, y: f64) -> String {
    format!("<circle cx=\"{}\" cy=\"{}\" r=\"3.5\" fill=\"{SAVED}\"/>\n", number_text(x), number_text(y))
}

/// A smooth line: vertical at every point.
fn path(route: &[Point], kind: EdgeKind) -> String {
    let mut d = format!("M{} {}", number_text(route[0].x), number_text(route[0].y));
    for pair in route.windows(2) {
        let [x, y] = [pair[1].x, pair[1].y].map(number_text);
        match (pair[0].x - pair[1].x).abs() < 0.5 {
            true => d += &format!("L{x} {y}"),
            false => {
                let (from, middle) = (number_text(pair[0].x), number_text((pair[0].y + pair[1].y) / 2.0));
                d += &format!("C{from} {middle} {x} {middle} {x} {y}");
            }
        }
    }
    format!("<path d=\"{d}\" {}/>\n", stroke(kind))
}

/// The point of such a line between two points, at a share of its length.
fn between(from: Point, to: Point, share: f64) -> Point {
    let (rest, middle) = (1.0 - share, (from.y + to.y) / 2.0);
    let [a, b, c, d] = [rest.powi(3), 3.0 * rest * rest * share, 3.0 * rest * share * share, share.powi(3)];
    Point { x: (a + b) * from.x + (c + d) * to.x, y: a * from.y + (b + c) * middle + d * to.y }
}

/// What stands beside a line: the different labels of its edges.
fn label(edges: &[&Edge]) -> String {
    let mut labels: Vec<String> = edges.iter().map(|edge| edge.label()).filter(|label| !label.is_empty()).collect();
    labels.dedup();
    shortened(&labels.join("; "), LABEL, MOST_LABEL)
}

/// Labels that keep out of each other's way.
#[derive(Default)]
struct Labels {
    drawn: String,
    /// The labels that touch each cell of a grid.
    cells: HashMap<(i64, i64), Vec<Rectangle>>,
}

/// The size of a cell of the grid.
const CELL: (f64, f64) = (100.0, 50.0);

impl Labels {
    /// Adds the label of a line, beside its last part between layers.
    fn add(&mut self, route: &[Point], label: &str, colour: &str) {
        let free = route.windows(2).rev().find(|pair| (pair[1].y - pair[0].y).abs() >= FREE);
        let Some(&[from, to]) = free.filter(|_| !label.is_empty()) else { return };
        let size = Size { width: width(label, LABEL) + 4.0, height: LABEL + 4.0 };
        let at = |share: f64, x: f64| Rectangle { corner: between(from, to, share).moved(x, -size.height / 2.0), size };
        let (left, right) = (-4.0 - size.width, 4.0);
        let places = [0.5, 0.36, 0.64, 0.25, 0.75].map(|share| [at(share, right), at(share, left)]).concat();
        let place = places.iter().find(|place| self.is_free(place)).unwrap_or(&places[0]);
        for cell in cells(place) {
            self.cells.entry(cell).or_default().push(*place);
        }
        let [x, y, wide, high] = [place.corner.x, place.corner.y, size.width, size.height].map(number_text);
        self.drawn += &format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" rx=\"3\" fill=\"#ffffff\" fill-opacity=\"0.85\"/>\n{}",
            text(
                place.corner.x + 2.0,
                place.corner.y + TEXT - 1.0,
                &format!("font-size=\"{LABEL}\" fill=\"{colour}\""),
                label
            )
        );
    }

    fn is_free(&self, place: &Rectangle) -> bool {
        let overlaps = |other: &Rectangle| {
            place.corner.x < other.right()
                && other.corner.x < place.right()
                && place.corner.y < other.bottom()
                && other.corner.y < place.bottom()
        };
        !cells(place).any(|cell| self.cells.get(&cell).is_some_and(|all| all.iter().any(overlaps)))
    }
}

/// The cells that a label touches.
fn cells(place: &Rectangle) -> impl Iterator<Item = (i64, i64)> + use<> {
    let cell = |x: f64, y: f64| ((x / CELL.0).floor() as i64, (y / CELL.1).floor() as i64);
    let (first, last) = (cell(place.corner.x, place.corner.y), cell(place.right(), place.bottom()));
    (first.0..=last.0).flat_map(move |column| (first.1..=last.1).map(move |row| (column, row)))
}
