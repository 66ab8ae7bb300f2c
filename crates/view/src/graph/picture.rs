//! A graph with a place for every node, group and edge.

use super::layout::{Layout, Point, Rectangle, Size, layout};
use super::model::{EdgeKind, Graph};
use super::units::Units;
use std::collections::HashMap;

/// The least distance between layers: more if there are labels beside the lines, less inside of a group.
const GAP: f64 = 46.0;
const LABELLED_GAP: f64 = 66.0;
const INNER_GAP: f64 = 34.0;
/// Free space inside of a frame.
const PADDING: f64 = 14.0;
/// The height of a frame's title.
pub(crate) const FRAME_TITLE: f64 = 28.0;

/// Where everything is.
pub(crate) struct Picture {
    /// By node; the head of a group is the title of its frame.
    pub boxes: Vec<Option<Rectangle>>,
    /// By group.
    pub frames: Vec<Rectangle>,
    pub wires: Vec<Wire>,
    pub size: Size,
}

/// A line for one or several edges, with the adjoint edges that lead back beside it.
pub(crate) struct Wire {
    /// The points from start to end.
    pub route: Vec<Point>,
    pub edges: Vec<usize>,
    pub adjoints: Vec<usize>,
    /// The unit that contains it, and its ends: nodes inside of a unit, or units.
    inside: Option<usize>,
    ends: (usize, usize),
}

impl Picture {
    /// Places nodes of some sizes. Frames are at least as wide as their titles.
    pub fn new(graph: &Graph, sizes: &[Size], titles: &[f64]) -> Picture {
        let units = Units::new(graph);
        let mut wires = wires(graph, &units);
        let mut inner: Vec<Vec<usize>> = vec![Vec::new(); units.members.len()];
        let mut outer: Vec<usize> = Vec::new();
        for (number, wire) in wires.iter().enumerate() {
            match wire.inside {
                Some(unit) => inner[unit].push(number),
                None => outer.push(number),
            }
        }
        let inside = |(unit, inner): (usize, Vec<usize>)| {
            let group = units.groups[unit]?;
            let members = units.members[unit].iter().copied();
            let nodes = members.filter(|node| Some(*node) != graph.groups[group].head).collect();
            Some(Inside::new(group, nodes, inner, sizes, &wires, titles[group]))
        };
        let insides: Vec<Option<Inside>> = inner.into_iter().enumerate().map(inside).collect();

        let size = |(inside, members): (&Option<Inside>, &Vec<usize>)| match inside {
            Some(inside) => inside.size,
            None => sizes[members[0]],
        };
        let outer_sizes: Vec<Size> = insides.iter().zip(&units.members).map(size).collect();
        let edges: Vec<(usize, usize)> = outer.iter().map(|wire| wires[*wire].ends).collect();
        let is_labelled = graph.edges.iter().any(|edge| !edge.label().is_empty());
        let layout = layout(&outer_sizes, &edges, if is_labelled { LABELLED_GAP } else { GAP });

        let (boxes, frames) = (vec![None; graph.nodes.len()], vec![Rectangle::default(); graph.groups.len()]);
        outer.into_iter().zip(layout.routes).for_each(|(wire, route)| wires[wire].route = route);
        let mut picture = Picture { boxes, frames, wires, size: layout.size };
        for ((inside, members), place) in insides.into_iter().zip(&units.members).zip(layout.boxes) {
            match inside {
                Some(inside) => picture.put(inside, place),
                None => picture.boxes[members[0]] = Some(place),
            }
        }
        picture
    }

    /// Puts a group into its place.
    fn put(&mut self, inside: Inside, place: Rectangle) {
        let Inside { group, nodes, wires, layout, start, .. } = inside;
        self.frames[group] = place;
        let (x, y) = (place.corner.x + start.x, place.corner.y + start.y);
        for (node, own) in nodes.into_iter().zip(layout.boxes) {
            self.boxes[node] = Some(Rectangle { corner: own.corner.moved(x, y), ..own });
        }
        for (wire, route) in wires.into_iter().zip(layout.routes) {
            self.wires[wire].route = route.into_iter().map(|point| point.moved(x, y)).collect();
        }
    }
}

/// A group with its members in their places.
struct Inside {
    group: usize,
    nodes: Vec<usize>,
    wires: Vec<usize>,
    layout: Layout,
    /// Where the layout begins in the frame.
    start: Point,
    size: Size,
}

impl Inside {
    fn new(group: usize, nodes: Vec<usize>, wires: Vec<usize>, sizes: &[Size], all: &[Wire], title: f64) -> Inside {
        // Members stand in the order of their numbers.
        let place = |node: usize| nodes.binary_search(&node).expect("the ends are members");
        let ends = wires.iter().map(|wire| all[*wire].ends);
        let edges: Vec<(usize, usize)> = ends.map(|(from, to)| (place(from), place(to))).collect();
        let own: Vec<Size> = nodes.iter().map(|node| sizes[*node]).collect();
        let layout = layout(&own, &edges, INNER_GAP);
        let width = layout.size.width.max(title) + 2.0 * PADDING;
        let size = Size { width, height: layout.size.height + FRAME_TITLE + PADDING };
        let start = Point { x: (width - layout.size.width) / 2.0, y: FRAME_TITLE };
        Inside { group, nodes, wires, layout, start, size }
    }
}

/// The lines to draw. Edges between a group and anything else share one line for each pair of units.
fn wires(graph: &Graph, units: &Units) -> Vec<Wire> {
    let mut wires: Vec<Wire> = Vec::new();
    let mut shared: HashMap<(usize, usize, EdgeKind), usize> = HashMap::new();
    let mut of_edge: HashMap<(usize, usize, usize), usize> = HashMap::new();
    let is_head = |node: usize| graph.nodes[node].group.is_some_and(|group| graph.groups[group].head == Some(node));
    for (number, edge) in graph.edges.iter().enumerate().filter(|(_, edge)| edge.kind != EdgeKind::Adjoint) {
        let (from, to) = (units.of[edge.from], units.of[edge.to]);
        let (inside, ends) = match from == to {
            true if edge.from == edge.to || is_head(edge.from) || is_head(edge.to) => continue,
            true => (Some(from), (edge.from, edge.to)),
            false => (None, (from, to)),
        };
        let is_shared = inside.is_none() && (units.groups[from].is_some() || units.groups[to].is_some());
        let own = wires.len();
        let place = if is_shared { *shared.entry((from, to, edge.kind)).or_insert(own) } else { own };
        if place == own {
            wires.push(Wire { route: Vec::new(), edges: Vec::new(), adjoints: Vec::new(), inside, ends });
        }
        wires[place].edges.push(number);
        of_edge.insert((edge.from, edge.to, edge.operand), place);
    }
    for (number, edge) in graph.edges.iter().enumerate().filter(|(_, edge)| edge.kind == EdgeKind::Adjoint) {
        if let Some(place) = of_edge.get(&(edge.to, edge.from, edge.operand)) {
            wires[*place].adjoints.push(number);
        }
    }
    wires
}
