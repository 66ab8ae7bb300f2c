//! Where the boxes and lines of a picture go: layers from top to bottom, so that all lines lead downward (Sugiyama, Tagawa and Toda,
//! "Methods for visual understanding of hierarchical system structures", 1981).
//!
//! 1. `ranks`: the layer of every box is the length of the longest path to it; sources move down to what reads them.
//! 2. `layers`: a line across several layers is bent in the layers in between.
//! 3. `order`: the order in every layer follows the neighbours' mean positions, in a fixed number of sweeps.
//! 4. `columns`: horizontal positions close to the neighbours', by regression with minimum distances.
//! 5. `routes`: heights, and the points of every line.
//!
//! Everything is a loop over dense arrays, near linear in the size of the graph, and the same on every run.

mod columns;
mod crossings;
mod layers;
mod order;
mod ranks;
mod routes;

pub(super) use ranks::Downward;

/// A width and a height.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Size {
    pub width: f64,
    pub height: f64,
}

/// A place in a picture; `y` grows downward.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
}

/// A box, by its upper left corner and its size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rectangle {
    pub corner: Point,
    pub size: Size,
}

impl Point {
    pub fn moved(self, x: f64, y: f64) -> Point {
        Point { x: self.x + x, y: self.y + y }
    }
}

impl Rectangle {
    pub fn right(&self) -> f64 {
        self.corner.x + self.size.width
    }

    pub fn bottom(&self) -> f64 {
        self.corner.y + self.size.height
    }

    pub fn middle(&self) -> f64 {
        self.corner.x + self.size.width / 2.0
    }
}

/// Boxes and lines in their places.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Layout {
    pub boxes: Vec<Rectangle>,
    /// The points of every edge, from its start to its end: at the lower side of a box, then downward to the upper side of another. An edge
    /// of a cycle may run upward. An edge from a box to itself has no points.
    pub routes: Vec<Vec<Point>>,
    pub size: Size,
}

/// Places boxes of some sizes, with at least `gap` between layers.
pub(super) fn layout(sizes: &[Size], edges: &[(usize, usize)], gap: f64) -> Layout {
    let downward = Downward::new(sizes.len(), edges);
    let layers = layers::Layers::new(sizes, &downward.ranks(), &downward.edges);
    let order = order::Order::new(&layers);
    let columns = columns::columns(&layers, &order);
    let mut layout = routes::routes(&layers, &order, &columns, gap);
    for (route, (given, down)) in layout.routes.iter_mut().zip(edges.iter().zip(&downward.edges)) {
        if given != down {
            route.reverse();
        }
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudorandom numbers below `n`.
    fn random(state: &mut u64, n: usize) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % n
    }

    /// Boxes of various sizes; each has up to three edges from earlier ones, most of them from close ones.
    fn tangled(count: usize, state: &mut u64) -> (Vec<Size>, Vec<(usize, usize)>) {
        let size =
            |state: &mut u64| Size { width: 40.0 + random(state, 200) as f64, height: 20.0 + random(state, 80) as f64 };
        let sizes = (0..count).map(|_| size(state)).collect();
        let mut edges = Vec::new();
        for to in 1..count {
            for _ in 0..random(state, 4) {
                let reach = if random(state, 10) == 0 { to } else { to.min(20) };
                edges.push((to - 1 - random(state, reach), to));
            }
        }
        (sizes, edges)
    }

    fn overlap(a: &Rectangle, b: &Rectangle) -> bool {
        a.corner.x < b.right() && b.corner.x < a.right() && a.corner.y < b.bottom() && b.corner.y < a.bottom()
    }

    #[test]
    fn boxes_never_overlap_and_lines_lead_from_bottom_to_top() {
        let mut state = 1;
        for count in [1, 2, 3, 10, 60, 200] {
            let (sizes, edges) = tangled(count, &mut state);
            let Layout { boxes, routes, size } = layout(&sizes, &edges, 40.0);
            for (place, (a, expected)) in boxes.iter().zip(&sizes).enumerate() {
                assert_eq!(a.size, *expected);
                assert!(a.corner.x >= 0.0 && a.corner.y >= 0.0 && a.right() <= size.width && a.bottom() <= size.height);
                assert!(!boxes[..place].iter().any(|b| overlap(a, b)), "{count}: box {place}");
            }
            for (route, (from, to)) in routes.iter().zip(&edges) {
                let (start, end) = (route[0], route[route.len() - 1]);
                assert!((start.y - boxes[*from].bottom()).abs() < 1e-6 && (end.y - boxes[*to].corner.y).abs() < 1e-6);
                assert!((boxes[*from].corner.x..=boxes[*from].right()).contains(&start.x));
                assert!((boxes[*to].corner.x..=boxes[*to].right()).contains(&end.x));
                assert!(route.windows(2).all(|pair| pair[0].y <= pair[1].y + 1e-9), "{count}: from {from} to {to}");
                assert!(start.y + 40.0 <= end.y, "{count}: from {from} to {to}");
            }
        }
    }

    #[test]
    fn lines_keep_out_of_boxes() {
        let (sizes, edges) = tangled(60, &mut 5);
        let Layout { boxes, routes, .. } = layout(&sizes, &edges, 40.0);
        for (route, edge) in routes.iter().zip(&edges) {
            // Between layers there are no boxes, so only the vertical parts inside of a layer matter.
            for pair in route.windows(2).filter(|pair| pair[0].x == pair[1].x) {
                let part = Rectangle { corner: pair[0], size: Size { width: 0.0, height: pair[1].y - pair[0].y } };
                let inner = |own: &Rectangle| Rectangle {
                    corner: own.corner.moved(0.0, 1e-6),
                    size: Size { height: own.size.height - 2e-6, ..own.size },
                };
                assert!(!boxes.iter().any(|other| overlap(&part, &inner(other))), "{edge:?}: {part:?}");
            }
        }
    }

    #[test]
    fn the_same_graph_looks_the_same() {
        let (sizes, edges) = tangled(100, &mut 9);
        assert_eq!(layout(&sizes, &edges, 40.0), layout(&sizes, &edges, 40.0));
    }

    #[test]
    fn a_chain_is_straight() {
        let sizes: Vec<Size> = (0..50).map(|i| Size { width: 50.0 + f64::from(i % 7), height: 20.0 }).collect();
        let edges: Vec<(usize, usize)> = (1..50).map(|i| (i - 1, i)).collect();
        let layout = layout(&sizes, &edges, 40.0);
        assert!(layout.boxes.iter().all(|one| (one.middle() - layout.size.width / 2.0).abs() < 1e-6));
        assert_eq!(layout.size, Size { width: 56.0, height: 50.0 * 20.0 + 49.0 * 40.0 });
    }

    #[test]
    fn a_square_of_two_paths_is_symmetric() {
        let sizes = [Size { width: 60.0, height: 20.0 }; 4];
        let layout = layout(&sizes, &[(0, 1), (0, 2), (1, 3), (2, 3)], 40.0);
        let middle: Vec<f64> = layout.boxes.iter().map(Rectangle::middle).collect();
        assert!((middle[0] - middle[3]).abs() < 1e-6 && middle[1] < middle[2]);
        assert!((middle[1] + middle[2] - 2.0 * middle[0]).abs() < 1e-6, "{middle:?}");
    }

    #[test]
    fn cycles_and_loops_have_a_picture() {
        let sizes = [Size { width: 60.0, height: 20.0 }; 3];
        let layout = layout(&sizes, &[(0, 1), (1, 2), (2, 0), (1, 1)], 40.0);
        let back = &layout.routes[2];
        assert!(back[0].y > back[back.len() - 1].y, "it runs upward: {back:?}");
        assert!(layout.routes[3].is_empty());
        assert_eq!(super::layout(&[], &[], 40.0), Layout::default());
    }

    #[test]
    fn ten_thousand_boxes_are_placed() {
        let chain: Vec<(usize, usize)> = (1..10_000).map(|i| (i - 1, i)).collect();
        let star: Vec<(usize, usize)> = (1..10_000).map(|i| (i, 0)).collect();
        let (_, random) = tangled(10_000, &mut 3);
        let sizes = vec![Size { width: 100.0, height: 40.0 }; 10_000];
        for (name, edges) in [("chain", chain), ("star", star), ("random", random)] {
            let layout = layout(&sizes, &edges, 40.0);
            let points: usize = layout.routes.iter().map(Vec::len).sum();
            assert!(points < 400_000, "{name}: {points} points");
            assert!(
                layout.size.width.is_finite() && layout.size.height < 10_000.0 * 250.0,
                "{name}: {:?}",
                layout.size
            );
        }
    }
}
