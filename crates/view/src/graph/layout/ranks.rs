//! The layer of every box.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A graph whose edges have been turned so that none leads back in a fixed order.
pub(in crate::graph) struct Downward {
    /// The nodes: whatever has an edge to a node comes before it, unless there is a cycle.
    pub order: Vec<usize>,
    /// The edges, from the upper to the lower end. Those against the order are turned.
    pub edges: Vec<(usize, usize)>,
}

impl Downward {
    /// Orders nodes by their edges and then by their numbers. In a cycle the smallest number comes first.
    pub fn new(count: usize, edges: &[(usize, usize)]) -> Downward {
        let mut waits_for = vec![0usize; count];
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
        for &(from, to) in edges.iter().filter(|(from, to)| from != to) {
            waits_for[to] += 1;
            below[from].push(to);
        }
        let ready = (0..count).filter(|node| waits_for[*node] == 0).map(Reverse);
        let mut ready: BinaryHeap<Reverse<usize>> = ready.collect();
        let (mut position, mut order, mut rest) = (vec![usize::MAX; count], Vec::with_capacity(count), 0..count);
        while order.len() < count {
            let mut next_in_cycle = || rest.find(|node| position[*node] == usize::MAX).expect("some nodes are left");
            let node = ready.pop().map_or_else(&mut next_in_cycle, |Reverse(node)| node);
            position[node] = order.len();
            order.push(node);
            for &next in &below[node] {
                waits_for[next] -= 1;
                if waits_for[next] == 0 && position[next] == usize::MAX {
                    ready.push(Reverse(next));
                }
            }
        }
        let turned =
            |&(from, to): &(usize, usize)| if position[from] <= position[to] { (from, to) } else { (to, from) };
        Downward { order, edges: edges.iter().map(turned).collect() }
    }

    /// The layer of every node: the length of the longest path to it. A node to which no more edges lead than from it moves down as far
    /// as the latter allow: the sum of their lengths does not grow, and what is read late stands near its reader.
    pub fn ranks(&self) -> Vec<usize> {
        let count = self.order.len();
        let (mut above, mut below) = (vec![0usize; count], vec![Vec::new(); count]);
        for &(from, to) in self.edges.iter().filter(|(from, to)| from != to) {
            above[to] += 1;
            below[from].push(to);
        }
        let mut ranks = vec![0; count];
        for &node in &self.order {
            for &next in &below[node] {
                ranks[next] = ranks[next].max(ranks[node] + 1);
            }
        }
        for &node in self.order.iter().rev().filter(|node| below[**node].len() >= above[**node]) {
            ranks[node] = below[node].iter().map(|next| ranks[*next] - 1).min().unwrap_or(ranks[node]);
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_longest_paths_and_sources_move_down() {
        let edges = [(0, 2), (2, 3), (3, 4), (1, 4), (0, 4)];
        let graph = Downward::new(5, &edges);
        assert_eq!(graph.order, [0, 1, 2, 3, 4]);
        assert_eq!(graph.edges, edges);
        assert_eq!(graph.ranks(), [0, 2, 1, 2, 3]);
    }

    #[test]
    fn the_order_follows_edges_against_numbers() {
        let graph = Downward::new(3, &[(2, 0), (0, 1)]);
        assert_eq!((graph.order.as_slice(), graph.ranks()), ([2, 0, 1].as_slice(), vec![1, 2, 0]));
    }

    #[test]
    fn a_cycle_is_opened_at_its_smallest_number() {
        let graph = Downward::new(4, &[(0, 1), (1, 2), (2, 1), (2, 3), (3, 0)]);
        assert_eq!(graph.order, [0, 1, 2, 3]);
        assert_eq!(graph.edges, [(0, 1), (1, 2), (1, 2), (2, 3), (0, 3)]);
        assert_eq!(graph.ranks(), [0, 1, 2, 3]);
    }
}
