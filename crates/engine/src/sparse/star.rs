//! Star colouring: neighbours have different colours, and every path of four vertices has at least three colours.
//!
//! Then any two colours induce stars, and every entry of a symmetric matrix can be read off a product with the seeds directly: one of the
//! two vertices of an edge is the other's only neighbour of its colour.

use super::colour::{Forbidden, NONE, best};
use super::{Colouring, Pattern};
use rustc_hash::FxHashMap;

impl Pattern {
    /// A star colouring of the graph of a symmetric pattern: the seeds of a Hessian. The diagonal is ignored.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let arrow = Pattern::new(9, 9, (0..9).flat_map(|i| [(0, i), (i, 0), (i, i)]));
    /// assert_eq!(arrow.colour_star().count(), 2);
    /// ```
    #[track_caller]
    pub fn colour_star(&self) -> Colouring {
        self.expect_symmetric("colour_star");
        best(&self.degrees(), 2, |order| colour(self, order))
    }
}

/// A path of four coloured vertices is checked when the last of them is coloured. If that is an end of `v - w - x - y`, x is a hub of w, a
/// vertex with several neighbours of w's colour, so its colour is forbidden. If it is an inner vertex of `u - v - w - x`, u and w have the
/// same colour, so the colour of every neighbour x of either is forbidden.
fn colour(pattern: &Pattern, order: &[usize]) -> Vec<u32> {
    let count = pattern.rows();
    let (mut colours, mut forbidden) = (vec![NONE; count], Forbidden::new(count));
    // For each vertex, its neighbours that have a second neighbour of its colour.
    let mut hubs: Vec<Vec<u32>> = vec![Vec::new(); count];
    // For a vertex and a colour, the only neighbour of that colour so far, or `NONE` where there are several.
    let mut only: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for &v in order {
        for w in pattern.neighbours(v).filter(|&w| colours[w] != NONE) {
            forbidden.forbid(v, colours[w]);
            hubs[w].iter().for_each(|&x| forbidden.forbid(v, colours[x as usize]));
            if only[&(v as u32, colours[w])] == NONE {
                pattern.neighbours(w).for_each(|x| forbidden.forbid(v, colours[x]));
            }
        }
        let own = forbidden.smallest(v);
        colours[v] = own;
        for w in pattern.neighbours(v) {
            // For w, v is one more neighbour of its colour.
            match only.insert((w as u32, own), v as u32) {
                None => {}
                Some(first) => {
                    only.insert((w as u32, own), NONE);
                    if colours[w] != NONE {
                        hubs[v].push(w as u32);
                        if first != NONE {
                            hubs[first as usize].push(w as u32);
                        }
                    }
                }
            }
            // For v, whose colour is now known: it is a hub of every neighbour whose colour occurs more than once.
            if colours[w] != NONE && only[&(v as u32, colours[w])] == NONE {
                hubs[w].push(v as u32);
            }
        }
    }
    colours
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks every path of four different vertices.
    pub fn is_star(pattern: &Pattern, colours: &[u32]) -> bool {
        let other = |a: usize, b: usize| colours[a] != colours[b];
        let n = pattern.rows();
        (0..n).all(|v| {
            pattern.neighbours(v).all(|w| {
                other(v, w)
                    && pattern.neighbours(w).filter(|&x| x != v).all(|x| {
                        let mut ends = pattern.neighbours(x).filter(|&y| y != w && y != v);
                        other(v, x) || ends.all(|y| other(w, y))
                    })
            })
        })
    }

    #[test]
    fn a_path_of_two_colours_is_no_star() {
        let path = Pattern::new(4, 4, (0..3).flat_map(|i| [(i, i + 1), (i + 1, i)]));
        assert!(!is_star(&path, &[0, 1, 0, 1]));
        assert!(is_star(&path, &[0, 1, 0, 2]));
        assert!(!is_star(&path, &[0, 0, 1, 2]));
    }

    #[test]
    fn star_colourings_of_random_graphs_are_valid() {
        let mut state = 7u64;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for n in [1, 2, 5, 12, 40, 90] {
            for degree in [1, 2, 4, 9] {
                let edges: Vec<(usize, usize)> = (0..n * degree / 2).map(|_| (random(n), random(n))).collect();
                let pattern = Pattern::new(n, n, edges.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]));
                let order: Vec<usize> = (0..n).rev().collect();
                assert!(is_star(&pattern, pattern.colour_star().colours()));
                assert!(is_star(&pattern, &colour(&pattern, &order)));
            }
        }
    }
}
