//! A graph with the places of its parts, as data for the page. The order of the cells in each row is that of `page/data.js`.

use super::row::{Texts, row, unless};
use crate::graph::layout::{Point, Rectangle, Size};
use crate::graph::numbers::short;
use crate::graph::picture::{Picture, Wire};
use crate::graph::{Edge, Graph, Group, Node, NodeKind, Saved, Summary};
use crate::json::{array, number, object, optional, string};
use crate::xml::width;

/// The size of text in a box, and of a row of it.
const TEXT: f64 = 12.0;
const ROW: f64 = 17.0;
/// Free space around the text of a box.
const AROUND: f64 = 12.0;
const ABOVE: f64 = 7.0;
const LEAST_WIDTH: f64 = 64.0;
const MOST_WIDTH: f64 = 280.0;
/// Lines with more points than this together are simplified.
const MOST_POINTS: usize = 100_000;

/// A graph on one level of detail.
pub(super) fn level(name: &str, graph: &Graph) -> String {
    let sizes: Vec<Size> = graph.nodes().iter().map(size).collect();
    let titles: Vec<f64> =
        graph.groups().iter().map(|group| width(&group.label, TEXT).min(MOST_WIDTH) + 3.0 * AROUND).collect();
    let picture = Picture::new(graph, &sizes, &titles);
    let mut texts = Texts::default();
    // The head of a group is where its frame is.
    let place = |node: usize| match (picture.boxes[node], graph.nodes()[node].group) {
        (Some(place), _) => place,
        (None, Some(group)) => picture.frames[group],
        (None, None) => Rectangle::default(),
    };
    let nodes = graph.nodes().iter().enumerate();
    let nodes = array(nodes.map(|(number, one)| node(one, &place(number), &mut texts)));
    let edges = array(graph.edges().iter().map(|one| edge(one, &mut texts)));
    let groups = graph.groups().iter().zip(&picture.frames);
    let most = most_points(&picture.wires);
    object(&[
        ("name", string(name)),
        ("notes", array(graph.notes().iter().map(|note| string(note)))),
        ("size", array([picture.size.width, picture.size.height].into_iter().map(rounded))),
        ("groups", array(groups.map(|(one, frame)| group(one, frame)))),
        ("nodes", nodes),
        ("edges", edges),
        ("wires", array(picture.wires.iter().map(|one| wire(one, most)))),
        ("texts", array(texts.all.iter().map(|text| string(text)))),
    ])
}

/// Room for the label, for the value or what is known instead, and for the adjoint.
fn size(node: &Node) -> Size {
    let second = match (&node.value, node.milliseconds) {
        (Some(value), _) => value.brief(),
        (None, Some(time)) => format!("{} ms", short(time)),
        (None, None) if node.kind == NodeKind::Collapsed => node.operation.clone(),
        (None, None) => node.shape.clone(),
    };
    let adjoint = node.adjoint.as_ref().map_or_else(String::new, Summary::brief);
    let rows = [&node.label, &second, &adjoint];
    let widest = rows.iter().map(|text| width(text, TEXT)).fold(0.0, f64::max);
    let count = rows.iter().filter(|text| !text.is_empty()).count();
    Size { width: (widest + 2.0 * AROUND).clamp(LEAST_WIDTH, MOST_WIDTH), height: count as f64 * ROW + 2.0 * ABOVE }
}

fn node(node: &Node, place: &Rectangle, texts: &mut Texts) -> String {
    let [x, y, wide, high] = [place.corner.x, place.corner.y, place.size.width, place.size.height].map(rounded);
    let (file, line, column) = match node.line {
        Some(line) => (texts.number(line.file()), line.line().to_string(), line.column().to_string()),
        None => ("null".into(), "null".into(), "null".into()),
    };
    row(vec![
        string(&node.id),
        (node.kind as usize).to_string(),
        string(&node.label),
        texts.number(&node.operation),
        texts.number(&node.rule),
        texts.number(&node.shape),
        x,
        y,
        wide,
        high,
        optional(&node.value, |value| summary(value, texts)),
        optional(&node.adjoint, |adjoint| summary(adjoint, texts)),
        optional(&node.reverse, ToString::to_string),
        file,
        line,
        column,
        unless(0, node.saved_bytes),
        match node.saved.is_empty() {
            true => "null".to_string(),
            false => array(node.saved.iter().map(|one| saved(one, texts))),
        },
        if node.from_rule { "1".to_string() } else { "null".to_string() },
        optional(&node.group, ToString::to_string),
        unless(1, node.members),
        optional(&node.cost, |cost| number(cost.flops)),
        optional(&node.cost, |cost| number(cost.bytes)),
        optional(&node.milliseconds, |time| number(*time)),
    ])
}

/// A value: all elements of a small one, or else its statistics.
fn summary(summary: &Summary, texts: &mut Texts) -> String {
    let shape = texts.number(&summary.shape);
    if let Some(elements) = &summary.elements {
        let sizes = array(summary.sizes.iter().map(ToString::to_string));
        return row(vec![shape, array(elements.iter().copied().map(number)), sizes]);
    }
    let Some(found) = summary.statistics else { return row(vec![shape]) };
    row(vec![
        shape,
        "null".to_string(),
        "null".to_string(),
        found.elements.to_string(),
        number(found.minimum),
        number(found.maximum),
        number(found.mean),
        unless(0, found.nans),
        unless(0, found.infinities),
        match summary.histogram.is_empty() {
            true => "null".to_string(),
            false => array(summary.histogram.iter().map(ToString::to_string)),
        },
    ])
}

/// A kept value; that of a node is shown at the node.
fn saved(saved: &Saved, texts: &mut Texts) -> String {
    let value = saved.value.as_ref().filter(|_| saved.node.is_none());
    row(vec![
        texts.number(&saved.what),
        optional(&saved.node, ToString::to_string),
        unless(0, saved.bytes),
        optional(&value, |value| summary(value, texts)),
    ])
}

fn edge(edge: &Edge, texts: &mut Texts) -> String {
    row(vec![
        edge.from.to_string(),
        edge.to.to_string(),
        (edge.kind as usize).to_string(),
        edge.operand.to_string(),
        if edge.saved { "1".to_string() } else { "null".to_string() },
        optional(&edge.contribution, |contribution| summary(contribution, texts)),
        texts.number(&edge.name),
        unless(1, edge.count),
    ])
}

fn group(group: &Group, frame: &Rectangle) -> String {
    let [x, y, wide, high] = [frame.corner.x, frame.corner.y, frame.size.width, frame.size.height].map(rounded);
    let (kind, head) = ((group.kind as usize).to_string(), optional(&group.head, ToString::to_string));
    row(vec![string(&group.label), kind, x, y, wide, high, head])
}

/// A line: its edges, those that lead back, and its points, each but the first as the distance from the one before.
fn wire(wire: &Wire, most: usize) -> String {
    let list = |numbers: &[usize]| match numbers {
        [] => "null".to_string(),
        [one] => one.to_string(),
        several => array(several.iter().map(ToString::to_string)),
    };
    let (mut points, mut last) = (Vec::new(), (0, 0));
    for Point { x, y } in simplified(&wire.route, most) {
        let (x, y) = (x.round() as i64, y.round() as i64);
        points.extend([(x - last.0).to_string(), (y - last.1).to_string()]);
        last = (x, y);
    }
    row(vec![list(&wire.edges), list(&wire.adjoints), array(points.into_iter())])
}

/// The number of points that every line may have so that all together are not too many: at least two.
fn most_points(wires: &[Wire]) -> usize {
    let mut most = wires.iter().map(|wire| wire.route.len()).max().unwrap_or(0);
    while most > 2 && wires.iter().map(|wire| wire.route.len().min(most)).sum::<usize>() > MOST_POINTS {
        most /= 2;
    }
    most.max(2)
}

/// At most some of the points of a line, with both ends.
fn simplified(route: &[Point], most: usize) -> Vec<Point> {
    if route.len() <= most {
        return route.to_vec();
    }
    (0..most).map(|place| route[place * (route.len() - 1) / (most - 1)]).collect()
}

fn rounded(length: f64) -> String {
    (length.round() + 0.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_keep_their_ends() {
        let route: Vec<Point> = (0..10).map(|i| Point { x: 0.0, y: f64::from(i) }).collect();
        let heights = |most: usize| simplified(&route, most).iter().map(|point| point.y).collect::<Vec<_>>();
        assert_eq!(heights(10).len(), 10);
        assert_eq!(heights(4), [0.0, 3.0, 6.0, 9.0]);
        assert_eq!(heights(2), [0.0, 9.0]);
    }
}
