//! Colourings: which columns, rows or vertices can share a seed.
//!
//! All colourings are greedy: each vertex in turn gets the smallest colour that is not forbidden. Two orders are tried, the given one and
//! decreasing degree, and the better result is used. The same pattern always gives the same colouring.

use super::Pattern;
use crate::{Error, ErrorKind};
use smallvec::SmallVec;

/// A colour for each column, row or vertex.
///
/// ```
/// use wengert::prelude::*;
/// let banded = Pattern::new(5, 5, (0..5).flat_map(|i: usize| (i.saturating_sub(1)..(i + 2).min(5)).map(move |j| (i, j))));
/// assert_eq!(banded.colour_columns().colours(), [0, 1, 2, 0, 1]);
/// assert_eq!(banded.colour_star().count(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colouring {
    colours: Vec<u32>,
    count: usize,
}

impl Colouring {
    pub(super) fn new(colours: Vec<u32>) -> Colouring {
        let count = colours.iter().max().map_or(0, |&colour| colour as usize + 1);
        Colouring { colours, count }
    }

    /// The colours, numbered from 0.
    pub fn colours(&self) -> &[u32] {
        &self.colours
    }

    /// The number of different colours.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// Not coloured yet.
pub(super) const NONE: u32 = u32::MAX;

/// The colours that a vertex may not have.
pub(super) struct Forbidden {
    /// The vertex for which a colour was last forbidden, plus one.
    by: Vec<u32>,
}

impl Forbidden {
    pub fn new(vertices: usize) -> Forbidden {
        Forbidden { by: vec![0; vertices + 1] }
    }

    pub fn forbid(&mut self, vertex: usize, colour: u32) {
        if colour != NONE {
            self.by[colour as usize] = vertex as u32 + 1;
        }
    }

    /// The smallest colour that is still allowed.
    pub fn smallest(&self, vertex: usize) -> u32 {
        let free = self.by.iter().position(|&by| by != vertex as u32 + 1);
        free.expect("there are more colours than vertices") as u32
    }
}

/// The better of two orders; `fewest` is a lower bound on the number of colours.
pub(super) fn best(degrees: &[usize], fewest: usize, colour: impl Fn(&[usize]) -> Vec<u32>) -> Colouring {
    let mut order: Vec<usize> = (0..degrees.len()).collect();
    let natural = Colouring::new(colour(&order));
    if natural.count <= fewest {
        return natural;
    }
    order.sort_by_key(|&vertex| std::cmp::Reverse(degrees[vertex]));
    let by_degree = Colouring::new(colour(&order));
    if by_degree.count < natural.count { by_degree } else { natural }
}

/// Colours vertices so that no two in one group share a colour. `groups_of` has the groups of each vertex, `groups` the vertices of each
/// group. Groups store their colours as bits, so that a full group costs its colours and not its vertices.
fn partial_distance_two(groups_of: &Pattern, groups: &Pattern) -> Colouring {
    let count = groups_of.rows();
    let fewest = groups.fullest_row();
    if fewest == count {
        return Colouring::new((0..count as u32).collect());
    }
    let degrees: Vec<usize> = (0..count).map(|vertex| groups_of.row(vertex).len()).collect();
    best(&degrees, fewest, |order| {
        let mut colours = vec![NONE; count];
        let mut used: Vec<SmallVec<[u64; 2]>> = vec![SmallVec::new(); groups.rows()];
        let mut forbidden: Vec<u64> = Vec::new();
        for &vertex in order {
            forbidden.clear();
            for &group in groups_of.row(vertex) {
                let used = &used[group as usize];
                forbidden.resize(forbidden.len().max(used.len()), 0);
                forbidden.iter_mut().zip(used).for_each(|(word, used)| *word |= used);
            }
            let word = forbidden.iter().position(|word| *word != u64::MAX).unwrap_or(forbidden.len());
            let bit = forbidden.get(word).map_or(0, |word| word.trailing_ones());
            colours[vertex] = word as u32 * 64 + bit;
            for &group in groups_of.row(vertex) {
                let used = &mut used[group as usize];
                used.resize(used.len().max(word + 1), 0);
                used[word] |= 1 << bit;
            }
        }
        colours
    })
}

impl Pattern {
    /// Colours columns so that no two in one row share a colour (a partial distance-2 colouring): the seeds of forward mode.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let arrow = Pattern::new(4, 4, (0..4).flat_map(|i| [(i, 0), (i, i)]));
    /// assert_eq!(arrow.colour_columns().count(), 2);
    /// ```
    #[track_caller]
    pub fn colour_columns(&self) -> Colouring {
        partial_distance_two(&self.transpose(), self)
    }

    /// Colours rows so that no two in one column share a colour: the seeds of reverse mode.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let arrow = Pattern::new(4, 4, (0..4).flat_map(|i| [(0, i), (i, i)]));
    /// assert_eq!(arrow.colour_rows().count(), 2);
    /// ```
    #[track_caller]
    pub fn colour_rows(&self) -> Colouring {
        partial_distance_two(self, &self.transpose())
    }

    /// Colours the vertices of the graph of a symmetric pattern so that no neighbours share a colour (a distance-1 colouring). The diagonal
    /// is ignored.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let path = Pattern::new(4, 4, (0..3).flat_map(|i| [(i, i + 1), (i + 1, i)]));
    /// assert_eq!(path.colour_vertices().colours(), [0, 1, 0, 1]);
    /// ```
    #[track_caller]
    pub fn colour_vertices(&self) -> Colouring {
        self.expect_symmetric("colour_vertices");
        best(&self.degrees(), 1, |order| {
            let (mut colours, mut forbidden) = (vec![NONE; self.rows()], Forbidden::new(self.rows()));
            for &vertex in order {
                self.neighbours(vertex).for_each(|other| forbidden.forbid(vertex, colours[other]));
                colours[vertex] = forbidden.smallest(vertex);
            }
            colours
        })
    }

    /// Like [`colour_vertices`](Pattern::colour_vertices), but no two vertices within two steps share a colour (a distance-2 colouring).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let path = Pattern::new(4, 4, (0..3).flat_map(|i| [(i, i + 1), (i + 1, i)]));
    /// assert_eq!(path.colour_distance_two().colours(), [0, 1, 2, 0]);
    /// ```
    #[track_caller]
    pub fn colour_distance_two(&self) -> Colouring {
        self.expect_symmetric("colour_distance_two");
        // Two vertices within two steps belong to a common neighbourhood.
        let diagonal = Pattern::new(self.rows(), self.rows(), (0..self.rows()).map(|vertex| (vertex, vertex)));
        let neighbourhoods = self.union(&diagonal);
        partial_distance_two(&neighbourhoods, &neighbourhoods)
    }

    /// The vertices that share an edge with this one.
    pub(super) fn neighbours(&self, vertex: usize) -> impl Iterator<Item = usize> {
        self.row(vertex).iter().map(|&other| other as usize).filter(move |&other| other != vertex)
    }

    pub(super) fn degrees(&self) -> Vec<usize> {
        (0..self.rows()).map(|vertex| self.neighbours(vertex).count()).collect()
    }

    #[track_caller]
    pub(super) fn expect_symmetric(&self, name: &str) {
        if !self.is_symmetric() {
            let message = format!("a pattern of {} x {} is not symmetric", self.rows(), self.columns());
            Error::new(ErrorKind::Argument, name, message)
                .help("unite it with its transpose, or colour its columns")
                .raise();
        }
    }
}
