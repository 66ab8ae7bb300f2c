//! Boxes and bends in layers.

use super::Size;

/// The width of a line, with some air.
const BEND_WIDTH: f64 = 2.0;
/// The number of bends that a graph may have in any case, and for each box and edge.
const BENDS: usize = 20_000;
const BENDS_PER_PART: usize = 2;

/// The boxes of a graph, then the bends of its lines, in layers.
pub(super) struct Layers {
    pub vertices: Vec<Vertex>,
    /// The number of boxes.
    pub boxes: usize,
    /// The parts of the lines to the layer above and to that below, by the vertex at the other end.
    pub above: Vec<Vec<usize>>,
    pub below: Vec<Vec<usize>>,
    /// The vertices of every edge from top to bottom: two boxes, with bends in between. An edge from a box to itself has none.
    pub chains: Vec<Vec<usize>>,
    /// The number of layers.
    pub count: usize,
}

/// A box or a bend.
pub(super) struct Vertex {
    pub rank: usize,
    pub size: Size,
}

impl Layers {
    /// Edges lead from a smaller to a larger rank.
    pub fn new(sizes: &[Size], ranks: &[usize], edges: &[(usize, usize)]) -> Layers {
        let boxes = ranks.iter().zip(sizes).map(|(&rank, &size)| Vertex { rank, size });
        let mut vertices: Vec<Vertex> = boxes.collect();
        let most = most_bends(sizes.len(), ranks, edges);
        let mut chains = Vec::with_capacity(edges.len());
        for &(from, to) in edges {
            if from == to {
                chains.push(Vec::new());
                continue;
            }
            let between = ranks[from] + 1..ranks[to];
            // Bends near both ends: a line that is too long for more runs straight in the middle.
            let first = between.end.min(between.start + most.div_ceil(2));
            let last = first.max(between.end.saturating_sub(most / 2));
            let mut chain = vec![from];
            for rank in (between.start..first).chain(last..between.end) {
                chain.push(vertices.len());
                vertices.push(Vertex { rank, size: Size { width: BEND_WIDTH, height: 0.0 } });
            }
            chain.push(to);
            chains.push(chain);
        }
        let (mut above, mut below) = (vec![Vec::new(); vertices.len()], vec![Vec::new(); vertices.len()]);
        for pair in chains.iter().flat_map(|chain| chain.windows(2)) {
            below[pair[0]].push(pair[1]);
            above[pair[1]].push(pair[0]);
        }
        let count = ranks.iter().max().map_or(0, |rank| rank + 1);
        Layers { vertices, boxes: sizes.len(), above, below, chains, count }
    }

    pub fn is_bend(&self, vertex: usize) -> bool {
        vertex >= self.boxes
    }
}

/// The number of bends that an edge may have so that the sum stays bounded: at least two.
fn most_bends(boxes: usize, ranks: &[usize], edges: &[(usize, usize)]) -> usize {
    let budget = BENDS.max(BENDS_PER_PART * (boxes + edges.len()));
    let needed: Vec<usize> = edges.iter().map(|(from, to)| (ranks[*to] - ranks[*from]).saturating_sub(1)).collect();
    let mut most = needed.iter().copied().max().unwrap_or(0);
    while most > 2 && needed.iter().map(|bends| *bends.min(&most)).sum::<usize>() > budget {
        most = (most * 3 / 4).max(2);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bent_in_every_layer_between_their_ends() {
        let sizes = [Size::default(); 4];
        let layers = Layers::new(&sizes, &[0, 1, 2, 3], &[(0, 1), (1, 2), (2, 3), (0, 3), (1, 1)]);
        assert_eq!(layers.chains, [vec![0, 1], vec![1, 2], vec![2, 3], vec![0, 4, 5, 3], vec![]]);
        assert_eq!((layers.vertices[4].rank, layers.vertices[5].rank), (1, 2));
        assert_eq!((layers.above[3].as_slice(), layers.below[0].as_slice()), ([2, 5].as_slice(), [1, 4].as_slice()));
    }

    #[test]
    fn the_number_of_bends_is_bounded() {
        let ranks: Vec<usize> = (0..5000).collect();
        let edges: Vec<(usize, usize)> = (0..5000).flat_map(|i| [(i, 4999), (i, (i + 1).min(4999))]).collect();
        let layers = Layers::new(&[Size::default(); 5000], &ranks, &edges);
        assert!(layers.vertices.len() <= 5000 + BENDS_PER_PART * 15_000, "{}", layers.vertices.len());
        let longest = layers.chains.iter().find(|chain| chain[0] == 0 && chain.len() > 2).unwrap();
        let bends: Vec<usize> = longest[1..longest.len() - 1].iter().map(|bend| layers.vertices[*bend].rank).collect();
        assert_eq!((bends[0], bends[bends.len() - 1]), (1, 4998));
    }
}
