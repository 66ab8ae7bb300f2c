//! The order of boxes and bends in every layer.

use super::crossings::{between, crossings};
use super::layers::Layers;

/// The number of times that all layers are sorted, alternately downward and upward.
const SWEEPS: usize = 16;
/// The number of times that neighbours are exchanged where this removes crossings.
const EXCHANGES: usize = 6;

/// The vertices of every layer from left to right.
#[derive(Clone)]
pub(super) struct Order {
    pub rows: Vec<Vec<usize>>,
    /// The position of every vertex in its layer.
    position: Vec<usize>,
}

impl Order {
    pub fn new(layers: &Layers) -> Order {
        let mut rows = vec![Vec::new(); layers.count];
        let mut position = Vec::with_capacity(layers.vertices.len());
        for (vertex, one) in layers.vertices.iter().enumerate() {
            position.push(rows[one.rank].len());
            rows[one.rank].push(vertex);
        }
        let mut order = Order { rows, position };
        let (mut best, mut fewest) = (order.clone(), order.crossings(layers));
        for sweep in 0..SWEEPS {
            if fewest == 0 {
                break;
            }
            match sweep % 2 {
                0 => (1..layers.count).for_each(|rank| order.sort(rank, &layers.above)),
                _ => (0..layers.count - 1).rev().for_each(|rank| order.sort(rank, &layers.below)),
            }
            let count = order.crossings(layers);
            if count < fewest {
                (best, fewest) = (order.clone(), count);
            }
        }
        best.exchange(layers);
        best
    }

    /// The number of crossings between layers next to each other.
    fn crossings(&self, layers: &Layers) -> usize {
        let count = |rows: &[Vec<usize>]| {
            let mut lines = Vec::new();
            for (position, vertex) in rows[0].iter().enumerate() {
                let is_next = |end: &&usize| layers.vertices[**end].rank == layers.vertices[*vertex].rank + 1;
                let ends = layers.below[*vertex].iter().filter(is_next);
                lines.extend(ends.map(|end| (position, self.position[*end])));
            }
            crossings(lines, rows[1].len())
        };
        self.rows.windows(2).map(count).sum()
    }

    /// Sorts a layer by the mean positions of the neighbours on one side. Vertices without any keep their places.
    fn sort(&mut self, rank: usize, neighbours: &[Vec<usize>]) {
        let row = &self.rows[rank];
        let mean = |vertex: usize| {
            let all = &neighbours[vertex];
            all.iter().map(|other| self.position[*other] as f64).sum::<f64>() / all.len() as f64
        };
        let places: Vec<usize> = (0..row.len()).filter(|place| !neighbours[row[*place]].is_empty()).collect();
        let mut sorted: Vec<(f64, usize)> = places.iter().map(|place| (mean(row[*place]), row[*place])).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (place, (_, vertex)) in places.into_iter().zip(sorted) {
            self.put(rank, place, vertex);
        }
    }

    fn put(&mut self, rank: usize, place: usize, vertex: usize) {
        self.rows[rank][place] = vertex;
        self.position[vertex] = place;
    }

    /// Exchanges neighbours in a layer where this removes crossings.
    fn exchange(&mut self, layers: &Layers) {
        for _ in 0..EXCHANGES {
            let mut is_better = false;
            for rank in 0..layers.count {
                let ends = |order: &Order, vertex: usize| {
                    [&layers.above, &layers.below].map(|side| {
                        let mut ends: Vec<usize> = side[vertex].iter().map(|other| order.position[*other]).collect();
                        ends.sort_unstable();
                        ends
                    })
                };
                for place in 1..self.rows[rank].len() {
                    let (a, b) = (self.rows[rank][place - 1], self.rows[rank][place]);
                    let (left, right) = (ends(self, a), ends(self, b));
                    let count = |left: &[Vec<usize>; 2], right: &[Vec<usize>; 2]| -> usize {
                        left.iter().zip(right).map(|(left, right)| between(left, right)).sum()
                    };
                    if count(&right, &left) < count(&left, &right) {
                        self.put(rank, place - 1, b);
                        self.put(rank, place, a);
                        is_better = true;
                    }
                }
            }
            if !is_better {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Size;
    use super::*;

    fn count(boxes: usize, ranks: &[usize], edges: &[(usize, usize)]) -> usize {
        let layers = Layers::new(&vec![Size::default(); boxes], ranks, edges);
        Order::new(&layers).crossings(&layers)
    }

    #[test]
    fn crossings_that_can_be_avoided_are() {
        assert_eq!(count(4, &[0, 0, 1, 1], &[(0, 3), (1, 2)]), 0);
        assert_eq!(count(6, &[0, 0, 0, 1, 1, 1], &[(0, 5), (1, 4), (2, 3), (0, 4), (1, 3)]), 0);
        // A full binary tree, with its leaves in a bad order.
        let edges: Vec<(usize, usize)> =
            (1..15).map(|child| ((child - 1) / 2, [0, 2, 1, 4, 6, 5, 3, 14, 8, 12, 10, 7, 9, 13, 11][child])).collect();
        let ranks: Vec<usize> = (0..15usize).map(|node| (node + 1).ilog2() as usize).collect();
        assert_eq!(count(15, &ranks, &edges), 0);
        // Two by two boxes with all lines between them.
        assert_eq!(count(4, &[0, 0, 1, 1], &[(0, 2), (0, 3), (1, 2), (1, 3)]), 1);
    }
}
